// @ts-check
// The field that finds nodes, and its list.
import {el, replace} from './dom.js';
import {countedText} from './format.js';

const HITS_SHOWN = 40;

export class SearchBox {
    /** @param {import('./app.js').App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        /** @type {import('./search.js').Hit[]} */
        this.hits = [];
        this.at = 0;
        this.input = el('input', {
            type: 'search',
            id: 'search',
            placeholder: 'Find: name, op, dtype, [shape]  (/)',
            'aria-label': 'Find nodes by name, op, dtype or shape',
            role: 'combobox',
            'aria-expanded': 'false',
            'aria-controls': 'found',
            autocomplete: 'off',
            spellcheck: 'false',
            title: 'Words that a node must have; name:, op:, type:, rule: and line: look in one place only',
            oninput: () => this.find(),
            onkeydown: (/** @type {KeyboardEvent} */ e) => this.key(e),
            onfocus: () => this.find(),
            onblur: () => setTimeout(() => this.close(), 150),
        });
        this.list = el('ul', {
            id: 'found',
            role: 'listbox',
            hidden: true,
            onmousedown: (/** @type {Event} */ e) => e.preventDefault(),
        });
        host.append(this.input, this.list);
    }

    find() {
        const {hits, count} = this.app.search.find(this.input.value, HITS_SHOWN, () => true);
        this.hits = hits;
        this.at = 0;
        const items = hits.map((h, i) =>
            el(
                'li',
                {role: 'option', id: 'found' + i, onclick: () => this.take(i)},
                el('b', {}, h.title),
                el('span', {}, h.note),
            ),
        );
        const more =
            count > hits.length ? el('li', {class: 'soft'}, countedText(count - hits.length, 'more', 'more')) : null;
        const none =
            this.input.value.trim() && !count ? el('li', {class: 'soft'}, 'nothing has all these words') : null;
        replace(this.list, items, more, none);
        this.list.hidden = !this.input.value.trim();
        this.input.setAttribute('aria-expanded', String(!this.list.hidden));
        this.mark();
    }

    mark() {
        Array.from(this.list.children).forEach((li, i) => li.setAttribute('aria-selected', String(i === this.at)));
        const li = this.list.children[this.at];
        if (li) li.scrollIntoView({block: 'nearest'});
        if (this.hits.length) this.input.setAttribute('aria-activedescendant', 'found' + this.at);
    }

    /** @param {KeyboardEvent} e */
    key(e) {
        const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
        if (step && this.hits.length) {
            this.at = (this.at + step + this.hits.length) % this.hits.length;
            this.mark();
            e.preventDefault();
        } else if (e.key === 'Enter') this.take(this.at);
        else if (e.key === 'Escape') {
            e.preventDefault();
            this.close();
            this.input.blur();
        }
    }

    /** @param {number} i */
    take(i) {
        const h = this.hits[i];
        if (!h) return;
        this.app.choose(this.app.choice(h.graph, h.kind, h.id));
        this.close();
    }

    close() {
        this.list.hidden = true;
        this.input.setAttribute('aria-expanded', 'false');
    }

    focus() {
        this.input.focus();
        this.input.select();
    }
}
