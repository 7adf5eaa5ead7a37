// @ts-check
// Memory over the instructions of a call: a band for each storage, and what is alive at one of them.
import {button, el, replace} from './dom.js';
import {Chart, fitted, roundTicks} from './chart.js';
import {bytesText, countedText, percentText, visibleLine} from './format.js';
import {NONE} from './columns.js';
import {labelOf, nameOfVar, typeOf} from './model.js';
import {aliveAt, heldByFunctions, stepOfApply, valueInStore} from './memorydata.js';
import {linkTo, linkToVar} from './parts.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./memorydata.js').Memory} Memory */
/** @typedef {{store: number, low: Float64Array, high: Float64Array}} StackBand */

const MOST_BANDS = 240;
const MOST_SAMPLES = 1600;
const LISTED = 400;
const LISTED_HOVERING = 40;
const ROOM = {left: 62, bottom: 24, top: 14};

/** Instructions at which the chart looks: all, or some of them with the peak among them. @param {Memory} mem */
export function samplesOf(mem) {
    const n = mem.live.length;
    if (n <= MOST_SAMPLES) return Array.from({length: n}, (_, i) => i);
    const out = new Set([mem.peakAt]);
    for (let k = 0; k < MOST_SAMPLES; k++) out.add(Math.floor((k * n) / MOST_SAMPLES));
    return Array.from(out).sort((a, b) => a - b);
}

/** Bands of the storages that take most room, long-lived ones below; the rest is one band. @param {Memory} mem @param {number[]} samples @returns {StackBand[]} */
export function stackBands(mem, samples) {
    const area = (/** @type {number} */ s) => mem.bytes[s] * (mem.dies[s] - mem.born[s] + 1);
    const stores = Array.from(mem.bytes, (_, s) => s)
        .filter(s => mem.bytes[s] > 0)
        .sort((a, b) => area(b) - area(a))
        .slice(0, MOST_BANDS);
    const span = (/** @type {number} */ s) => mem.dies[s] - mem.born[s];
    stores.sort(
        (a, b) =>
            Number(span(b) > mem.step.length * 0.9) - Number(span(a) > mem.step.length * 0.9) ||
            mem.born[a] - mem.born[b] ||
            a - b,
    );
    const held = heldByFunctions(mem);
    const base = Float64Array.from(samples, () => held);
    const bands = stores.map(store => {
        const low = base.slice();
        samples.forEach((at, i) => {
            if (mem.born[store] <= at && at <= mem.dies[store]) base[i] += mem.bytes[store];
        });
        return {store, low, high: base.slice()};
    });
    const rest = {
        store: -1,
        low: base.slice(),
        high: Float64Array.from(samples, (at, i) => Math.max(base[i], mem.live[at] + held)),
    };
    return [...bands, rest];
}

export class MemoryTab {
    /** @param {App} app @param {HTMLElement} host @param {Memory} memory */
    constructor(app, host, memory) {
        this.app = app;
        this.mem = memory;
        this.samples = samplesOf(memory);
        this.bands = stackBands(memory, this.samples);
        this.held = heldByFunctions(memory);
        this.most = Array.from(memory.live).reduce((a, b) => Math.max(a, b), 0) + this.held;
        this.at = memory.peakAt;
        this.listed = '';
        this.list = el('div', {class: 'alive'});
        const chart = el('div', {class: 'chart-host'});
        host.append(
            el(
                'div',
                {class: 'tools'},
                button('Peak', () => this.pin(memory.peakAt), {title: 'What is alive at the peak'}),
                el(
                    'span',
                    {class: 'soft'},
                    'Bytes that are alive while each instruction runs. Point at the chart: the list below says what they are; a click keeps the list and chooses the tensor.',
                ),
            ),
            chart,
            this.list,
        );
        this.chart = new Chart(chart, 'Memory over the instructions of a call; the list below says what is alive', {
            draw: (ctx, w, h) => this.draw(ctx, w, h),
            hover: (x, y) => this.hover(x, y),
            leave: () => this.list && this.listAlive(this.at, LISTED),
            click: (x, y) => this.click(x, y),
        });
        app.store.watch(['chosen', 'theme', 'tab'], () => this.follow());
        this.pin(this.at);
    }

    /** A chosen Apply is where the list looks. */
    follow() {
        const c = this.app.state.chosen;
        const step = c && c.graph === 0 && c.kind === 'apply' ? stepOfApply(this.mem, c.id) : -1;
        if (step >= 0 && this.app.state.tab !== 'memory') this.pin(step);
        this.chart.redraw();
    }

    /** @param {number} at */
    pin(at) {
        this.at = at;
        this.listAlive(at, LISTED);
        this.chart.redraw();
    }

    /** @param {number} w */
    scaleX(w) {
        return (w - ROOM.left - 10) / Math.max(this.mem.live.length, 1);
    }

    /** @param {number} h */
    scaleY(h) {
        return (h - ROOM.bottom - ROOM.top) / Math.max(this.most, 1);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h */
    draw(ctx, w, h) {
        const p = this.app.palette();
        this.drawAxes(ctx, w, h, p);
        const chosen = this.chosenStore();
        for (const band of this.bands) this.drawBand(ctx, w, h, band, p, band.store >= 0 && band.store === chosen);
        if (this.held > 0) {
            ctx.fillStyle = p.soft;
            const y = h - ROOM.bottom - this.held * this.scaleY(h);
            ctx.fillRect(ROOM.left, y, w - ROOM.left - 10, h - ROOM.bottom - y);
        }
        this.drawMark(ctx, w, h, this.mem.peakAt, p.warn, 'peak ' + bytesText(this.most));
        if (this.at !== this.mem.peakAt) this.drawMark(ctx, w, h, this.at, p.accent, '');
        const hovered = this.stepAt(this.chart.x, w);
        if (this.chart.x >= ROOM.left && hovered >= 0) this.drawMark(ctx, w, h, hovered, p.soft, '');
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {import('./theme.js').Palette} p */
    drawAxes(ctx, w, h, p) {
        ctx.lineWidth = 1;
        for (const t of roundTicks(this.most, 5)) {
            const y = Math.round(h - ROOM.bottom - t * this.scaleY(h)) + 0.5;
            ctx.strokeStyle = p.box[2];
            ctx.beginPath();
            ctx.moveTo(ROOM.left, y);
            ctx.lineTo(w - 10, y);
            ctx.stroke();
            ctx.fillStyle = p.soft;
            ctx.textAlign = 'right';
            ctx.fillText(bytesText(t), ROOM.left - 6, y + 4);
        }
        ctx.textAlign = 'center';
        for (const t of roundTicks(this.mem.live.length, 8))
            if (Number.isInteger(t)) ctx.fillText(String(t), ROOM.left + t * this.scaleX(w), h - 8);
        ctx.textAlign = 'left';
    }

    /** @param {StackBand} band @returns {string} */
    colourOf(band) {
        const p = this.app.palette();
        if (band.store < 0) return p.box[2];
        const v = this.mem.var[band.store];
        const g = this.app.m.graphs[0];
        if (v === NONE || v >= g.nvar || g.varOwner[v] === NONE) return p.line;
        return this.app.families.get(this.app.m.ops[g.op[g.varOwner[v]]].family) || p.line;
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {StackBand} band @param {import('./theme.js').Palette} p @param {boolean} chosen */
    drawBand(ctx, w, h, band, p, chosen) {
        const sx = this.scaleX(w);
        const sy = this.scaleY(h);
        const x = (/** @type {number} */ i) =>
            ROOM.left + (i < this.samples.length ? this.samples[i] : this.mem.live.length) * sx;
        ctx.beginPath();
        for (let i = 0; i < this.samples.length; i++) {
            if (band.high[i] <= band.low[i]) continue;
            let end = i;
            while (end + 1 < this.samples.length && band.high[end + 1] > band.low[end + 1]) end++;
            ctx.moveTo(x(i), h - ROOM.bottom - band.low[i] * sy);
            for (let k = i; k <= end; k++) {
                ctx.lineTo(x(k), h - ROOM.bottom - band.high[k] * sy);
                ctx.lineTo(x(k + 1), h - ROOM.bottom - band.high[k] * sy);
            }
            for (let k = end; k >= i; k--) {
                ctx.lineTo(x(k + 1), h - ROOM.bottom - band.low[k] * sy);
                ctx.lineTo(x(k), h - ROOM.bottom - band.low[k] * sy);
            }
            i = end;
        }
        ctx.fillStyle = chosen ? p.accent : this.colourOf(band);
        ctx.globalAlpha = chosen ? 1 : 0.75;
        ctx.fill();
        ctx.globalAlpha = 1;
        ctx.strokeStyle = p.back;
        ctx.lineWidth = 0.7;
        ctx.stroke();
        this.labelBand(ctx, w, h, band);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {StackBand} band */
    labelBand(ctx, w, h, band) {
        if (band.store < 0) return;
        const from = this.samples.findIndex(s => s >= this.mem.born[band.store]);
        const height = (band.high[from] - band.low[from]) * this.scaleY(h);
        const room =
            (Math.min(this.mem.dies[band.store] + 1, this.mem.live.length) - this.mem.born[band.store]) *
                this.scaleX(w) -
            6;
        if (from < 0 || height < 12 || room < 30) return;
        ctx.fillStyle = '#ffffff';
        ctx.strokeStyle = '#00000088';
        ctx.lineWidth = 2;
        const text = fitted(ctx, visibleLine(this.bandName(band.store)), room);
        const y = h - ROOM.bottom - ((band.low[from] + band.high[from]) / 2) * this.scaleY(h) + 4;
        ctx.strokeText(text, ROOM.left + this.mem.born[band.store] * this.scaleX(w) + 3, y);
        ctx.fillText(text, ROOM.left + this.mem.born[band.store] * this.scaleX(w) + 3, y);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {number} at @param {string} colour @param {string} text */
    drawMark(ctx, w, h, at, colour, text) {
        const x = ROOM.left + (at + 0.5) * this.scaleX(w);
        ctx.strokeStyle = colour;
        ctx.lineWidth = 1.5;
        ctx.beginPath();
        ctx.moveTo(x, 2);
        ctx.lineTo(x, h - ROOM.bottom);
        ctx.stroke();
        if (!text) return;
        ctx.fillStyle = colour;
        ctx.textAlign = x > w / 2 ? 'right' : 'left';
        ctx.fillText(text, x + (x > w / 2 ? -5 : 5), 12);
        ctx.textAlign = 'left';
    }

    /** @param {number} x @param {number} w */
    stepAt(x, w) {
        const at = Math.floor((x - ROOM.left) / this.scaleX(w));
        return at >= 0 && at < this.mem.live.length ? at : -1;
    }

    /** @param {number} x @param {number} y @returns {number} the storage under a point; -1: none */
    storeAt(x, y) {
        const w = this.chart.canvas.clientWidth;
        const h = this.chart.canvas.clientHeight;
        const at = this.stepAt(x, w);
        if (at < 0) return -1;
        let i = this.samples.findIndex(s => s > at) - 1;
        if (i < 0) i = this.samples.length - 1;
        const bytes = (h - ROOM.bottom - y) / this.scaleY(h);
        const band = this.bands.find(b => b.store >= 0 && b.low[i] <= bytes && bytes < b.high[i]);
        return band ? band.store : -1;
    }

    /** What a storage is called over its life: a name that one of its values has, else what makes the first. @param {number} store */
    bandName(store) {
        const {m} = this.app;
        const named = (this.mem.valuesOfStore.get(store) || []).find(v => m.graphs[0].varName[v.var]);
        return named ? nameOfVar(m, m.graphs[0], named.var) : this.nameOfStore(store, this.mem.born[store]);
    }

    /** @param {number} store @param {number} at */
    nameOfStore(store, at) {
        const v = valueInStore(this.mem, store, at);
        return v === NONE ? 'room for work' : nameOfVar(this.app.m, this.app.m.graphs[0], v);
    }

    /** @param {number} x @param {number} y */
    hover(x, y) {
        const at = this.stepAt(x, this.chart.canvas.clientWidth);
        if (at < 0) return null;
        this.listAlive(at, LISTED_HOVERING);
        const store = this.storeAt(x, y);
        /** @type {globalThis.Node[]} */
        const out = [el('div', {}, this.stepTitle(at))];
        if (store >= 0) {
            const v = valueInStore(this.mem, store, at);
            out.unshift(
                el('b', {}, this.nameOfStore(store, at)),
                el('div', {class: 'type'}, v === NONE ? '' : typeOf(this.app.m, this.app.m.graphs[0], v)),
                el(
                    'div',
                    {},
                    bytesText(this.mem.bytes[store]) + ', from ' + this.mem.born[store] + ' to ' + this.mem.dies[store],
                ),
            );
        }
        return out;
    }

    /** @param {number} at */
    stepTitle(at) {
        const g = this.app.m.graphs[0];
        const op = at < this.mem.step.length ? labelOf(this.app.m, g, this.mem.step[at]) : 'the end';
        return 'instruction ' + at + ' (' + op + '): ' + bytesText(this.mem.live[at] + this.held) + ' alive';
    }

    /** @param {number} x @param {number} y */
    click(x, y) {
        const at = this.stepAt(x, this.chart.canvas.clientWidth);
        if (at < 0) return;
        this.pin(at);
        const store = this.storeAt(x, y);
        const v = store < 0 ? NONE : valueInStore(this.mem, store, at);
        if (v !== NONE) this.app.choose(this.app.choiceOfVar(0, v));
    }

    chosenStore() {
        const c = this.app.state.chosen;
        if (!c || c.graph !== 0) return -1;
        const g = this.app.m.graphs[0];
        const v = c.kind === 'leaf' ? c.id : c.kind === 'apply' && g.nout[c.id] ? g.out[c.id] : NONE;
        const s = this.mem.storeOfVar.get(v);
        return s === undefined ? -1 : s;
    }

    /** @param {number} at @param {number} most */
    listAlive(at, most) {
        const {app, mem} = this;
        if (this.listed === at + ' ' + most) return;
        this.listed = at + ' ' + most;
        const g = app.m.graphs[0];
        const alive = aliveAt(mem, at);
        const whole = mem.live[at] + this.held;
        const rows = alive.slice(0, most).map(s => {
            const v = valueInStore(mem, s, at);
            return el(
                'tr',
                {},
                el('td', {class: 'number'}, bytesText(mem.bytes[s])),
                el('td', {class: 'number'}, percentText(mem.bytes[s], whole)),
                el('td', {}, v === NONE ? 'room for work' : linkToVar(app, 0, v)),
                el('td', {class: 'type'}, v === NONE ? '' : typeOf(app.m, g, v)),
                el('td', {class: 'soft'}, mem.born[s] + ' – ' + mem.dies[s]),
            );
        });
        const held = mem.functions.map(([name, bytes]) =>
            el(
                'tr',
                {},
                el('td', {class: 'number'}, bytesText(bytes)),
                el('td', {class: 'number'}, percentText(bytes, whole)),
                el('td', {}, name),
                el('td', {class: 'soft'}, 'held during the call'),
                el('td', {}),
            ),
        );
        replace(
            this.list,
            el(
                'h3',
                {},
                (at === mem.peakAt ? 'At the peak, ' : 'At ') +
                    'instruction ' +
                    at +
                    ': ' +
                    bytesText(whole) +
                    ' in ' +
                    countedText(alive.length, 'storage'),
            ),
            at < mem.step.length
                ? el('p', {}, 'It runs ', linkTo(app, app.choice(0, 'apply', mem.step[at])), '.')
                : null,
            el(
                'table',
                {class: 'plain'},
                el(
                    'thead',
                    {},
                    el(
                        'tr',
                        {},
                        ['size', '', 'tensor', 'type', 'alive'].map(t => el('th', {scope: 'col'}, t)),
                    ),
                ),
                el('tbody', {}, held, rows),
            ),
            alive.length > most ? el('p', {class: 'soft'}, countedText(alive.length - most, 'smaller one')) : null,
            mem.unknown
                ? el('p', {class: 'soft'}, countedText(mem.unknown, 'value') + ' of unknown size not counted')
                : null,
        );
    }
}
