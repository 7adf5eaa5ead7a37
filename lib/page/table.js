// @ts-check
// A table that sorts and filters, and draws only the rows that are seen.
import {el, replace} from './dom.js';
import {countedText} from './format.js';

/**
 * @template R
 * @typedef {Object} TableColumn
 * @property {string} title
 * @property {string} [note]            what the column says, in full
 * @property {boolean} [number]         right-aligned, largest first
 * @property {(r: R) => string|number} value   what it is sorted by
 * @property {(r: R) => string} [text]  what it shows
 * @property {(r: R) => number} [bar]   0 .. 1
 */

const ROW = 25;
const SPARE = 12;

/** @template R */
export class DataTable {
    /** @param {HTMLElement} host @param {string} caption @param {TableColumn<R>[]} columns @param {{choose: (r: R) => void, isChosen: (r: R) => boolean}} hooks @param {HTMLElement[]} [tools] */
    constructor(host, caption, columns, hooks, tools) {
        this.columns = columns;
        this.hooks = hooks;
        /** @type {R[]} */
        this.rows = [];
        /** @type {R[]} */
        this.seen = [];
        const first = columns.findIndex(c => c.number);
        this.sortBy = Math.max(first, 0);
        this.down = first >= 0;
        this.filter = el('input', {
            type: 'search',
            placeholder: 'Filter',
            'aria-label': 'Filter the rows: ' + caption,
            oninput: () => this.arrange(),
        });
        this.count = el('span', {class: 'soft', role: 'status'});
        this.head = el('tr', {'aria-rowindex': '1'});
        this.body = el('tbody', {});
        this.table = el('table', {}, el('caption', {class: 'unseen'}, caption), el('thead', {}, this.head), this.body);
        this.scroller = el(
            'div',
            {
                class: 'scroller',
                tabindex: '0',
                onscroll: () => this.draw(),
                onkeydown: (/** @type {KeyboardEvent} */ e) => this.key(e),
            },
            this.table,
        );
        host.append(el('div', {class: 'tools'}, tools, this.filter, this.count), this.scroller);
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        this.drawHead();
    }

    /** @param {R[]} rows */
    setRows(rows) {
        this.rows = rows;
        this.arrange();
    }

    /** @param {TableColumn<R>} c @param {R} r */
    cell(c, r) {
        return c.text ? c.text(r) : String(c.value(r));
    }

    arrange() {
        const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        const fits = (/** @type {R} */ r) => {
            const text = this.columns
                .map(c => this.cell(c, r))
                .join(' ')
                .toLowerCase();
            return words.every(w => text.includes(w));
        };
        this.seen = words.length ? this.rows.filter(fits) : this.rows.slice();
        const {value} = this.columns[this.sortBy];
        const key = new Map(this.seen.map(r => [r, value(r)]));
        const sign = this.down ? -1 : 1;
        this.seen.sort((a, b) => compareKeys(key.get(a), key.get(b), sign));
        this.count.textContent =
            (words.length ? this.seen.length.toLocaleString('en') + ' of ' : '') + countedText(this.rows.length, 'row');
        this.scroller.scrollTop = 0;
        this.table.setAttribute('aria-rowcount', String(this.seen.length + 1));
        this.drawHead();
        this.draw();
    }

    drawHead() {
        replace(
            this.head,
            this.columns.map((c, i) =>
                el(
                    'th',
                    {
                        scope: 'col',
                        class: c.number ? 'number' : '',
                        'aria-sort': i !== this.sortBy ? 'none' : this.down ? 'descending' : 'ascending',
                        title: c.note || '',
                    },
                    el(
                        'button',
                        {type: 'button', onclick: () => this.sort(i)},
                        c.title + (i !== this.sortBy ? '' : this.down ? ' ▾' : ' ▴'),
                    ),
                ),
            ),
        );
    }

    /** @param {number} i */
    sort(i) {
        if (this.sortBy === i) this.down = !this.down;
        else {
            this.sortBy = i;
            this.down = !!this.columns[i].number;
        }
        this.arrange();
    }

    draw() {
        const from = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - SPARE);
        const end = Math.min(this.seen.length, from + Math.ceil((this.scroller.clientHeight || 600) / ROW) + 2 * SPARE);
        replace(
            this.body,
            this.space(from),
            this.seen.slice(from, end).map((r, i) => this.drawRow(r, from + i)),
            this.space(this.seen.length - end),
        );
    }

    /** @param {number} rows */
    space(rows) {
        if (rows <= 0) return null;
        const td = el('td', {colspan: String(this.columns.length)});
        td.style.height = rows * ROW + 'px';
        return el('tr', {'aria-hidden': 'true', class: 'space'}, td);
    }

    /** @param {R} r @param {number} i */
    drawRow(r, i) {
        const chosen = this.hooks.isChosen(r);
        return el(
            'tr',
            {
                'aria-rowindex': String(i + 2),
                'aria-selected': String(chosen),
                class: chosen ? 'chosen' : '',
                onclick: () => this.hooks.choose(r),
            },
            this.columns.map(c => {
                const text = this.cell(c, r);
                const td = el('td', {class: c.number ? 'number' : '', title: text.length > 30 ? text : null}, text);
                if (c.bar) td.style.setProperty('--part', String(Math.round(100 * c.bar(r)) || 0) + '%');
                return td;
            }),
        );
    }

    /** @param {KeyboardEvent} e */
    key(e) {
        const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
        if (!step || !this.seen.length) return;
        e.preventDefault();
        const at = this.seen.findIndex(r => this.hooks.isChosen(r));
        const next = Math.min(Math.max(at < 0 ? 0 : at + step, 0), this.seen.length - 1);
        this.hooks.choose(this.seen[next]);
        const top = next * ROW;
        if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
        if (top + 3 * ROW > this.scroller.scrollTop + this.scroller.clientHeight)
            this.scroller.scrollTop = top + 3 * ROW - this.scroller.clientHeight;
        this.draw();
    }
}

/** Unknown numbers come last, whichever way. @param {any} a @param {any} b @param {number} sign */
function compareKeys(a, b, sign) {
    if (typeof a === 'number' && typeof b === 'number') {
        if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
        return sign * (a - b);
    }
    return sign * String(a).localeCompare(String(b), 'en', {numeric: true});
}
