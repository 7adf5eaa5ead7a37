// @ts-check
// The roofline: how fast each Apply computes for how much it computes with each byte, and what the machine could do.
import {el} from './dom.js';
import {Chart, powersOfTen} from './chart.js';
import {APPLY} from './model.js';
import {bytesText, countText, secondsText} from './format.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {{graph: number, a: number, x: number, y: number, time: number, wide: boolean}} Point */

const ROOF = {left: 66, bottom: 34, right: 16, top: 16};

/** @param {App} app @returns {Point[]} */
export function rooflinePoints(app) {
    /** @type {Point[]} */
    const out = [];
    app.m.graphs.forEach((g, graph) => {
        if (!app.costs.graphs[graph]) return;
        for (let a = 0; a < g.n; a++) {
            const time = app.costs.ofApply('time', graph, a);
            const flops = app.costs.ofApply('flops', graph, a);
            const bytes = app.costs.ofApply('bytes', graph, a);
            if (time > 0 && flops > 0 && bytes > 0)
                out.push({graph, a, x: flops / bytes, y: flops / time, time, wide: !!(g.flags[a] & APPLY.wide)});
        }
    });
    return out.sort((p, q) => q.time - p.time);
}

export class RooflineTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        this.points = rooflinePoints(app);
        this.peaks = app.m.raw.profile.peaks || {};
        const chart = el('div', {class: 'chart-host'});
        const says = this.peaks.memory
            ? [
                  'Peaks of this machine: ' + bytesText(this.peaks.memory) + '/s from memory',
                  this.peaks.cache ? bytesText(this.peaks.cache) + '/s from the cache' : '',
                  this.peaks.flops32 ? countText(this.peaks.flops32) + ' flops/s in float32' : '',
                  this.peaks.flops64 ? countText(this.peaks.flops64) + ' in float64' : '',
              ]
                  .filter(Boolean)
                  .join(', ') + '.'
            : 'The peaks of the machine were not measured.';
        host.append(
            el(
                'div',
                {class: 'tools'},
                el(
                    'span',
                    {class: 'soft'},
                    says +
                        ' A point is an Apply, as large as its share of the time; below the slope it waits for memory, below the flat part it computes.',
                ),
            ),
            chart,
        );
        this.range();
        this.chart = new Chart(chart, 'Roofline; the table of costs has the same as text', {
            draw: (ctx, w, h) => this.draw(ctx, w, h),
            hover: (x, y) => this.hover(x, y),
            click: (x, y) => this.click(x, y),
        });
        app.store.watch(['chosen', 'theme', 'tab'], () => this.chart.redraw());
    }

    range() {
        const xs = this.points.map(p => p.x);
        const ys = this.points.map(p => p.y);
        const peak = Math.max(this.peaks.flops32 || 0, this.peaks.flops64 || 0);
        const ridge = peak && this.peaks.memory ? peak / this.peaks.memory : 1;
        this.x0 = 10 ** Math.floor(Math.log10(Math.min(0.1, ...xs)));
        this.x1 = 10 ** Math.ceil(Math.log10(Math.max(10 * ridge, ...xs)));
        this.y1 = 10 ** Math.ceil(Math.log10(Math.max(peak, ...ys, 1)));
        this.y0 = Math.max(10 ** Math.floor(Math.log10(Math.min(this.y1 / 1000, ...ys))), this.y1 / 1e7);
        this.total = this.points.reduce((sum, p) => sum + p.time, 0) || 1;
    }

    /** @param {number} x @param {number} w */
    px(x, w) {
        return (
            ROOF.left +
            (Math.log10(x / (this.x0 || 1)) / Math.log10((this.x1 || 1) / (this.x0 || 1))) *
                (w - ROOF.left - ROOF.right)
        );
    }

    /** @param {number} y @param {number} h */
    py(y, h) {
        return (
            h -
            ROOF.bottom -
            (Math.log10(y / (this.y0 || 1)) / Math.log10((this.y1 || 1) / (this.y0 || 1))) *
                (h - ROOF.bottom - ROOF.top)
        );
    }

    /** @param {Point} p */
    radius(p) {
        return 3 + 22 * Math.sqrt(p.time / (this.total || 1));
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h */
    draw(ctx, w, h) {
        const p = this.app.palette();
        this.drawAxes(ctx, w, h, p);
        ctx.save();
        ctx.beginPath();
        ctx.rect(ROOF.left, ROOF.top - 8, w - ROOF.left - ROOF.right, h - ROOF.bottom - ROOF.top + 8);
        ctx.clip();
        this.drawRoof(ctx, w, h, p.text, this.peaks.memory, this.peaks.flops32, 'float32', []);
        this.drawRoof(ctx, w, h, p.text, this.peaks.memory, this.peaks.flops64, 'float64', [6, 4]);
        if (this.peaks.cache) this.drawRoof(ctx, w, h, p.soft, this.peaks.cache, this.peaks.flops32, 'cache', [2, 3]);
        ctx.restore();
        this.drawPoints(ctx, w, h, p);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {import('./theme.js').Palette} p */
    drawAxes(ctx, w, h, p) {
        ctx.strokeStyle = p.box[2];
        ctx.fillStyle = p.soft;
        ctx.lineWidth = 1;
        ctx.beginPath();
        ctx.textAlign = 'center';
        for (const t of powersOfTen(this.x0 || 1, this.x1 || 1)) {
            ctx.moveTo(this.px(t, w), ROOF.top);
            ctx.lineTo(this.px(t, w), h - ROOF.bottom);
            ctx.fillText(countText(t), this.px(t, w), h - ROOF.bottom + 14);
        }
        ctx.fillText('flops per byte', (ROOF.left + w) / 2, h - 4);
        ctx.textAlign = 'right';
        for (const t of powersOfTen(this.y0 || 1, this.y1 || 1)) {
            ctx.moveTo(ROOF.left, this.py(t, h));
            ctx.lineTo(w - ROOF.right, this.py(t, h));
            ctx.fillText(countText(t), ROOF.left - 5, this.py(t, h) + 4);
        }
        ctx.stroke();
        ctx.textAlign = 'left';
        ctx.fillText('flops per second', 4, 11);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {string} colour @param {number} memory @param {number} flops @param {string} label @param {number[]} dash */
    drawRoof(ctx, w, h, colour, memory, flops, label, dash) {
        if (!memory || !flops) return;
        const ridge = flops / memory;
        ctx.strokeStyle = colour;
        ctx.setLineDash(dash);
        ctx.lineWidth = 1.5;
        ctx.beginPath();
        ctx.moveTo(this.px(this.x0 || 1, w), this.py((this.x0 || 1) * memory, h));
        ctx.lineTo(this.px(ridge, w), this.py(flops, h));
        ctx.lineTo(this.px(this.x1 || 1, w), this.py(flops, h));
        ctx.stroke();
        ctx.setLineDash([]);
        ctx.fillStyle = colour;
        if (label === 'cache') ctx.fillText(label, this.px(ridge, w) - 40, this.py(flops, h) + 12);
        else {
            ctx.textAlign = 'right';
            ctx.fillText(label, w - ROOF.right - 6, this.py(flops, h) - 5);
            ctx.textAlign = 'left';
        }
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h @param {import('./theme.js').Palette} p */
    drawPoints(ctx, w, h, p) {
        const c = this.app.state.chosen;
        for (const point of this.points) {
            const chosen = !!c && c.kind === 'apply' && c.graph === point.graph && c.id === point.a;
            const {m} = this.app;
            ctx.fillStyle = this.app.families.get(m.ops[m.graphs[point.graph].op[point.a]].family) || p.line;
            ctx.globalAlpha = 0.7;
            ctx.beginPath();
            ctx.arc(this.px(point.x, w), this.py(point.y, h), this.radius(point), 0, 2 * Math.PI);
            ctx.fill();
            ctx.globalAlpha = 1;
            ctx.strokeStyle = chosen ? p.accent : p.back;
            ctx.lineWidth = chosen ? 4 : 1;
            ctx.stroke();
        }
    }

    /** @param {number} x @param {number} y @returns {Point|null} */
    pointAt(x, y) {
        const w = this.chart.canvas.clientWidth;
        const h = this.chart.canvas.clientHeight;
        /** @type {Point|null} */
        let best = null;
        let least = Infinity;
        for (const p of this.points) {
            const d = Math.hypot(this.px(p.x, w) - x, this.py(p.y, h) - y) - this.radius(p);
            if (d < least && d < 6) {
                least = d;
                best = p;
            }
        }
        return best;
    }

    /** @param {number} x @param {number} y */
    hover(x, y) {
        const p = this.pointAt(x, y);
        if (!p) return null;
        const roof = Math.min(
            (p.wide ? this.peaks.flops64 : this.peaks.flops32) || Infinity,
            (this.peaks.memory || Infinity) * p.x,
        );
        return [
            el('b', {}, this.app.titleOf(this.app.choice(p.graph, 'apply', p.a))),
            el('div', {}, secondsText(p.time)),
            el('div', {}, countText(p.y) + ' flops per second, ' + p.x.toPrecision(2) + ' per byte'),
            el('div', {class: 'soft'}, Number.isFinite(roof) ? ((100 * p.y) / roof).toFixed(0) + ' % of the roof' : ''),
        ];
    }

    /** @param {number} x @param {number} y */
    click(x, y) {
        const p = this.pointAt(x, y);
        if (p) this.app.choose(this.app.choice(p.graph, 'apply', p.a));
    }
}
