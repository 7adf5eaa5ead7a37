// @ts-check
// Where time (or, without a run, flops) goes: by function and loop as a flame chart, and in the order in which it went.
import {button, el} from './dom.js';
import {Chart, fitted, roundTicks} from './chart.js';
import {NONE, column, rowsOf} from './columns.js';
import {countText, countedText, percentText, secondsText, visibleLine} from './format.js';
import {labelOf, nameOfApply} from './model.js';

/** @typedef {import('./app.js').App} App */
/** A bar of the chart: x and w in the chart's own unit. @typedef {{x: number, w: number, depth: number, graph: number, apply: number, calls: number, box: number}} Bar */

const BAR_H = 20;
const AXIS_H = 22;

/** Bars of a tree, the largest child first. @param {Bar[]} bars whose parents come before them @param {ArrayLike<number>} parent */
function placeBars(bars, parent) {
    /** @type {number[][]} */
    const children = bars.map(() => []);
    bars.forEach((b, i) => {
        if (i > 0) children[parent[i]].push(i);
    });
    bars.forEach((b, i) => {
        let x = b.x;
        for (const k of children[i].sort((p, q) => bars[q].w - bars[p].w || p - q)) {
            bars[k].x = x;
            bars[k].depth = b.depth + 1;
            x += bars[k].w;
        }
    });
    return bars;
}

/** @param {any} t @returns {Bar[]} */
export function flameBars(t) {
    const n = rowsOf(t, 'value');
    const graph = column(t.graph, n);
    const apply = column(t.apply, n);
    const value = column(t.value, n);
    const calls = column(t.calls, n);
    const bars = Array.from({length: n}, (_, i) => ({
        x: 0,
        w: value[i],
        depth: 0,
        graph: graph[i],
        apply: apply[i],
        calls: calls[i],
        box: NONE,
    }));
    return placeBars(bars, column(t.parent, n));
}

/** The same by the boxes of the graph: forward and gradient, names. @param {App} app @returns {Bar[]} */
function partBars(app) {
    const measure = app.costs.hasTime() ? 'time' : 'flops';
    const g = app.m.graphs[0];
    const sums = app.costs.boxSums(measure, 0);
    /** @type {Bar[]} */
    const bars = [];
    /** @type {number[]} */
    const parent = [];
    const add = (/** @type {number} */ b, /** @type {number} */ above) => {
        const me = bars.length;
        bars.push({x: 0, w: sums[b], depth: 0, graph: 0, apply: NONE, calls: 0, box: b});
        parent.push(above);
        for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++) {
            const id = g.item[i] >>> 2;
            if ((g.item[i] & 3) === 2) add(id, me);
            else if ((g.item[i] & 3) === 0 && app.costs.add(measure, 0, id) > 0) {
                bars.push({x: 0, w: app.costs.add(measure, 0, id), depth: 0, graph: 0, apply: id, calls: 0, box: NONE});
                parent.push(me);
            }
        }
    };
    add(0, 0);
    return placeBars(bars, parent);
}

/** @param {any} t @returns {Bar[]} */
function eventBars(t) {
    const n = rowsOf(t, 'start');
    const start = column(t.start, n);
    const dur = column(t.dur, n);
    const depth = column(t.depth, n);
    const graph = column(t.graph, n);
    const apply = column(t.apply, n);
    return Array.from(start, (x, i) => ({
        x,
        w: dur[i],
        depth: depth[i],
        graph: graph[i],
        apply: apply[i],
        calls: 1,
        box: NONE,
    }));
}

export class FlameTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        const profile = app.m.raw.profile;
        this.flame = flameBars(profile.flame);
        this.events = profile.events ? eventBars(profile.events) : [];
        this.leftOut = (profile.events && profile.events.left_out) || 0;
        this.bars = this.flame;
        this.isTime = app.costs.hasTime();
        const chart = el('div', {class: 'chart-host'});
        const choices = [
            ['parts', 'by part of the graph'],
            ['sum', 'by function and loop'],
            ['order', 'the last call, in order'],
        ];
        if (app.m.graphs[0].boxTitle.length < 2) choices.shift();
        if (!this.events.length) choices.pop();
        this.which = el(
            'select',
            {'aria-label': 'Which chart', onchange: () => this.choose(this.which.value)},
            choices.map(([value, text]) => el('option', {value}, text)),
        );
        this.note = el('span', {class: 'soft'});
        host.append(
            el(
                'div',
                {class: 'tools'},
                this.which,
                button('All', () => this.show(0, this.whole)),
                this.note,
            ),
            chart,
        );
        this.from = 0;
        this.span = 1;
        this.whole = 1;
        this.chart = new Chart(chart, 'Time by function and loop; the table of costs has the same as text', {
            draw: (ctx, w, h) => this.draw(ctx, w, h),
            hover: (x, y) => this.hover(x, y),
            click: (x, y) => this.click(x, y),
            drag: dx => this.show(this.from - (dx / this.chart.canvas.clientWidth) * this.span, this.span),
            zoom: (f, x) => this.zoom(f, x),
        });
        app.store.watch(['chosen', 'theme', 'tab'], () => this.chart.redraw());
        this.choose(app.m.graphs.length > 1 && app.m.graphs.some(g => g.what === 'function') ? 'sum' : choices[0][0]);
    }

    /** @param {string} which */
    choose(which) {
        this.which.value = which;
        this.bars = which === 'order' ? this.events : which === 'parts' ? partBars(this.app) : this.flame;
        this.whole = this.bars.reduce((most, b) => Math.max(most, b.x + b.w), 0) || 1;
        this.note.textContent =
            (which === 'order' && this.leftOut ? countedText(this.leftOut, 'event') + ' left out. ' : '') +
            'The wheel zooms, a drag moves; a click chooses, and brings a bar to full width.';
        this.show(0, this.whole);
    }

    /** @param {number} from @param {number} span */
    show(from, span) {
        this.span = Math.min(Math.max(span, this.whole * 1e-7), this.whole);
        this.from = Math.min(Math.max(from, 0), this.whole - this.span);
        this.chart.redraw();
    }

    /** @param {number} factor @param {number} x */
    zoom(factor, x) {
        const at = this.from + (x / this.chart.canvas.clientWidth) * this.span;
        const span = this.span / factor;
        this.show(at - ((at - this.from) * span) / this.span, span);
    }

    /** @param {number} x */
    amount(x) {
        return this.isTime ? secondsText(x) : countText(x) + ' flops';
    }

    /** @param {Bar} b */
    title(b) {
        const {m} = this.app;
        const g = m.graphs[b.graph];
        if (!g) return '';
        if (b.box !== NONE) return m.strings[g.boxTitle[b.box]] || g.name || 'the call';
        if (b.apply === NONE || b.apply >= g.n) return g.name || (b.graph ? 'function ' + b.graph : 'the call');
        const name = nameOfApply(m, g, b.apply);
        return (name ? name + ' = ' : '') + labelOf(m, g, b.apply);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h */
    draw(ctx, w, h) {
        const p = this.app.palette();
        const k = w / this.span;
        const c = this.app.state.chosen;
        for (const b of this.bars) {
            const x = (b.x - this.from) * k;
            const y = AXIS_H + b.depth * BAR_H;
            const width = b.w * k;
            if (x + width < 0 || x > w || y > h || width < 0.3) continue;
            const chosen = !!c && c.kind === 'apply' && c.graph === b.graph && c.id === b.apply;
            ctx.fillStyle = chosen ? p.accent : this.colourOf(b, p);
            ctx.globalAlpha = chosen ? 1 : 0.8;
            ctx.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.5), BAR_H - 1);
            ctx.globalAlpha = 1;
            if (width > 24) this.label(ctx, b, Math.max(x, 0), Math.min(x + width, w) - Math.max(x, 0), y);
        }
        this.drawAxis(ctx, w, p, k);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {Bar} b @param {number} x @param {number} room @param {number} y */
    label(ctx, b, x, room, y) {
        ctx.fillStyle = '#ffffff';
        ctx.strokeStyle = '#00000066';
        ctx.lineWidth = 2;
        const text = fitted(ctx, visibleLine(this.title(b)), room - 6);
        ctx.strokeText(text, x + 3, y + 14);
        ctx.fillText(text, x + 3, y + 14);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {import('./theme.js').Palette} p @param {number} k */
    drawAxis(ctx, w, p, k) {
        ctx.fillStyle = p.soft;
        ctx.textAlign = 'center';
        for (const t of roundTicks(this.span, 8))
            ctx.fillText(this.amount(this.from + t), Math.min(Math.max(t * k, 24), w - 30), 14);
        ctx.textAlign = 'left';
    }

    /** @param {Bar} b @param {import('./theme.js').Palette} p */
    colourOf(b, p) {
        const g = this.app.m.graphs[b.graph];
        if (!g || b.apply === NONE || b.apply >= g.n) return p.line;
        return this.app.families.get(this.app.m.ops[g.op[b.apply]].family) || p.line;
    }

    /** @param {number} x @param {number} y @returns {Bar|null} */
    barAt(x, y) {
        const depth = Math.floor((y - AXIS_H) / BAR_H);
        const at = this.from + (x / this.chart.canvas.clientWidth) * this.span;
        return this.bars.find(b => b.depth === depth && b.x <= at && at < b.x + b.w) || null;
    }

    /** @param {number} x @param {number} y */
    hover(x, y) {
        const b = this.barAt(x, y);
        if (!b) return null;
        const rows = [
            el('b', {}, this.title(b)),
            el('div', {}, this.amount(b.w) + ' · ' + percentText(b.w, this.whole)),
        ];
        if (b.calls > 1)
            rows.push(
                el('div', {class: 'soft'}, countedText(b.calls, 'call') + ', ' + this.amount(b.w / b.calls) + ' each'),
            );
        return rows;
    }

    /** @param {number} x @param {number} y */
    click(x, y) {
        const b = this.barAt(x, y);
        if (!b) return;
        this.show(b.x, b.w || this.span);
        if (b.box !== NONE && b.box !== 0) this.app.choose(this.app.choice(b.graph, 'box', b.box));
        else if (b.apply !== NONE && this.app.m.graphs[b.graph])
            this.app.choose(this.app.choice(b.graph, 'apply', b.apply));
    }
}
