// @ts-check
// A run: curves of what it reported, its results, settings and time.
import {el, replace, svg} from './dom.js';
import {column, rowsOf} from './columns.js';
import {powersOfTen, roundTicks} from './chart.js';
import {countText, secondsText, valueText} from './format.js';
import {section} from './parts.js';
import {provenance} from './overview.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./columns.js').Column} Column */
/** @typedef {{name: string, type: string, value: Column}} Series */

const W = 420;
const H = 210;
const PLOT = {left: 56, right: 10, top: 10, bottom: 24};

/** @param {number} lo @param {number} hi @param {boolean} log @returns {number[]} */
function ticksBetween(lo, hi, log) {
    if (log) return powersOfTen(lo, hi);
    const steps = roundTicks(hi - lo, 4);
    const step = steps[1] || 1;
    const out = [];
    for (let t = Math.ceil(lo / step) * step; t <= hi + step * 1e-9; t += step)
        out.push(Math.abs(t) < step * 1e-9 ? 0 : t);
    return out;
}

/** A curve as an image; what it has under the pointer goes to `said`. @param {Series} s @param {Column} x @param {string} xTitle @param {boolean} log @param {HTMLElement} said */
function curveImage(s, x, xTitle, log, said) {
    const points = Array.from(x, (at, i) => [at, s.value[i]]).filter(([, y]) => Number.isFinite(y) && (!log || y > 0));
    if (!points.length) return el('p', {class: 'soft'}, 'nothing to draw');
    const xs = points.map(p => p[0]);
    const ys = points.map(p => p[1]);
    const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
    let [y0, y1] = [Math.min(...ys), Math.max(...ys)];
    if (y0 === y1) [y0, y1] = log ? [y0 / 2, y1 * 2] : [y0 - Math.abs(y0 || 1) / 2, y1 + Math.abs(y1 || 1) / 2];
    const px = (/** @type {number} */ v) =>
        PLOT.left + (x1 > x0 ? (v - x0) / (x1 - x0) : 0.5) * (W - PLOT.left - PLOT.right);
    const f = log ? Math.log10 : (/** @type {number} */ v) => v;
    const py = (/** @type {number} */ v) =>
        H - PLOT.bottom - ((f(v) - f(y0)) / (f(y1) - f(y0))) * (H - PLOT.top - PLOT.bottom);
    const image = svg('svg', {
        viewBox: `0 0 ${W} ${H}`,
        role: 'img',
        'aria-label': s.name + ': from ' + valueText(ys[0]) + ' to ' + valueText(ys[ys.length - 1]),
    });
    for (const t of ticksBetween(y0, y1, log)) {
        image.append(
            svg('line', {class: 'axis', x1: PLOT.left, x2: W - PLOT.right, y1: py(t), y2: py(t)}),
            svg('text', {class: 'tick', x: PLOT.left - 5, y: py(t) + 4, 'text-anchor': 'end'}, countText(t)),
        );
    }
    for (const t of ticksBetween(x0, x1, false))
        image.append(
            svg(
                'text',
                {class: 'tick', x: px(t), y: H - 7, 'text-anchor': 'middle'},
                xTitle === 'calls' ? countText(t) : secondsText(t),
            ),
        );
    image.append(
        svg('path', {
            class: 'curve-line',
            d: points.map((p, i) => (i ? 'L' : 'M') + px(p[0]).toFixed(1) + ' ' + py(p[1]).toFixed(1)).join(''),
        }),
    );
    addReading(image, said, points, px, py, xTitle);
    return image;
}

/** Says what a curve has where the pointer is, and at its end otherwise. @param {SVGElement} image @param {HTMLElement} said @param {number[][]} points @param {(v: number) => number} px @param {(v: number) => number} py @param {string} xTitle */
function addReading(image, said, points, px, py, xTitle) {
    const dot = svg('circle', {
        class: 'curve-point',
        r: 3.5,
        cx: px(points[points.length - 1][0]),
        cy: py(points[points.length - 1][1]),
    });
    const read = (/** @type {number[]} */ p) => {
        dot.setAttribute('cx', String(px(p[0])));
        dot.setAttribute('cy', String(py(p[1])));
        said.textContent =
            (xTitle === 'calls' ? 'call ' + valueText(p[0]) : secondsText(p[0])) + ': ' + valueText(p[1]);
    };
    image.append(dot);
    read(points[points.length - 1]);
    image.addEventListener('pointermove', e => {
        const box = image.getBoundingClientRect();
        const at = ((/** @type {PointerEvent} */ (e).clientX - box.left) / box.width) * W;
        read(points.reduce((best, p) => (Math.abs(px(p[0]) - at) < Math.abs(px(best[0]) - at) ? p : best)));
    });
    image.addEventListener('pointerleave', () => read(points[points.length - 1]));
}

export class RunTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        const run = app.m.raw.run;
        this.calls = column(run.calls, rowsOf(run, 'calls'));
        this.time = column(run.time_s, this.calls.length);
        this.series = (run.series || []).map((/** @type {any} */ s) => ({
            name: textOf(app, s.name),
            type: textOf(app, s.type),
            value: column(s.value, this.calls.length),
        }));
        this.curves = el('div', {class: 'curves'});
        this.log = el('input', {type: 'checkbox', onchange: () => this.show()});
        this.byTime = el('input', {type: 'checkbox', onchange: () => this.show()});
        host.append(
            el(
                'div',
                {class: 'tools'},
                el('label', {}, this.log, 'logarithmic'),
                el('label', {}, this.byTime, 'over time'),
                el('span', {class: 'soft'}, this.summary(run)),
            ),
            el(
                'div',
                {class: 'page'},
                this.curves,
                this.results(run),
                this.settings(run),
                this.reported(),
                provenance(app),
            ),
        );
        this.show();
    }

    /** @param {any} run */
    summary(run) {
        return [run.seconds !== undefined ? secondsText(run.seconds) : '', run.ended ? 'ended: ' + run.ended : '']
            .filter(Boolean)
            .join('; ');
    }

    show() {
        const x = this.byTime.checked ? this.time : this.calls;
        const title = this.byTime.checked ? 'seconds' : 'calls';
        replace(
            this.curves,
            this.series.map((/** @type {Series} */ s) => {
                const said = el('span', {class: 'said'});
                return el(
                    'figure',
                    {class: 'curve'},
                    el('figcaption', {class: 'row'}, el('b', {}, s.name), el('span', {class: 'type'}, s.type), said),
                    curveImage(s, x, title, this.log.checked, said),
                );
            }),
        );
    }

    /** @param {any} run */
    results(run) {
        const rows = (run.results || []).map((/** @type {any} */ r) =>
            el(
                'tr',
                {},
                el('th', {scope: 'row'}, textOf(this.app, r[0])),
                el('td', {class: 'type'}, textOf(this.app, r[1])),
                el('td', {}, el('code', {}, textOf(this.app, r[2]))),
            ),
        );
        return rows.length ? section('Results', el('table', {class: 'plain'}, el('tbody', {}, rows))) : null;
    }

    /** @param {any} run */
    settings(run) {
        const rows = (run.settings || []).map((/** @type {any} */ r) =>
            el(
                'tr',
                {},
                el('th', {scope: 'row'}, textOf(this.app, r[0])),
                el('td', {}, el('code', {}, textOf(this.app, r[1]))),
            ),
        );
        return rows.length ? section('Settings', el('table', {class: 'plain'}, el('tbody', {}, rows))) : null;
    }

    /** The curves as numbers. */
    reported() {
        if (!this.series.length) return null;
        const head = ['call', 'time', ...this.series.map((/** @type {Series} */ s) => s.name)];
        const rows = Array.from(this.calls, (call, i) =>
            el(
                'tr',
                {},
                el('td', {}, valueText(call)),
                el('td', {}, secondsText(this.time[i])),
                this.series.map((/** @type {Series} */ s) => el('td', {}, valueText(s.value[i]))),
            ),
        );
        return el(
            'details',
            {},
            el('summary', {}, 'All that was reported'),
            el(
                'table',
                {class: 'plain'},
                el(
                    'thead',
                    {},
                    el(
                        'tr',
                        {},
                        head.map(t => el('th', {scope: 'col'}, t)),
                    ),
                ),
                el('tbody', {}, rows.slice(0, 5000)),
            ),
        );
    }
}

/** @param {App} app @param {number|string|null|undefined} s */
function textOf(app, s) {
    return typeof s === 'number' ? app.m.strings[s] : s || '';
}
