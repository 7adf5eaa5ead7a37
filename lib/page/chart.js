// @ts-check
// What charts on a canvas share: size, axes, the pointer.
import {el, oncePerFrame, sizedCanvas} from './dom.js';

export const CHART_FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

/** Round numbers from 0 to `most`. @param {number} most @param {number} wanted @returns {number[]} */
export function roundTicks(most, wanted) {
    if (!(most > 0)) return [0];
    const raw = most / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw) || raw;
    const out = [];
    for (let k = 0; k * step <= most * 1.0001; k++) out.push(k * step);
    return out;
}

/** Powers of ten between two numbers. @param {number} from @param {number} to @returns {number[]} */
export function powersOfTen(from, to) {
    const out = [];
    for (let e = Math.ceil(Math.log10(from)); e <= Math.floor(Math.log10(to)); e++) out.push(10 ** e);
    return out;
}

/**
 * @typedef {Object} ChartHooks
 * @property {(ctx: CanvasRenderingContext2D, w: number, h: number) => void} draw
 * @property {(x: number, y: number) => (globalThis.Node|string)[]|null} hover   what to say of a point; null: nothing
 * @property {(x: number, y: number) => void} click
 * @property {() => void} [leave]
 * @property {(dx: number, x: number) => void} [drag]
 * @property {(factor: number, x: number) => void} [zoom]
 */

export class Chart {
    /** @param {HTMLElement} host @param {string} title @param {ChartHooks} hooks */
    constructor(host, title, hooks) {
        this.hooks = hooks;
        this.canvas = el('canvas', {class: 'chart', tabindex: '0', role: 'img', 'aria-label': title});
        this.tip = el('div', {class: 'tip', hidden: true});
        this.x = -1;
        this.y = -1;
        host.append(this.canvas, this.tip);
        this.redraw = oncePerFrame(() => this.draw());
        new ResizeObserver(() => this.redraw()).observe(this.canvas);
        this.listen();
    }

    draw() {
        const {ctx, w, h} = sizedCanvas(this.canvas);
        if (!w || !h) return;
        ctx.font = CHART_FONT;
        this.hooks.draw(ctx, w, h);
    }

    listen() {
        const c = this.canvas;
        let from = -1;
        let moved = 0;
        c.addEventListener('pointerdown', e => {
            from = e.offsetX;
            moved = 0;
            c.setPointerCapture(e.pointerId);
        });
        c.addEventListener('pointermove', e => {
            if (e.buttons && from >= 0 && this.hooks.drag) {
                moved += Math.abs(e.offsetX - from);
                this.hooks.drag(e.offsetX - from, e.offsetX);
                from = e.offsetX;
            }
            this.point(e.offsetX, e.offsetY);
        });
        c.addEventListener('pointerup', e => {
            from = -1;
            if (moved < 5) this.hooks.click(e.offsetX, e.offsetY);
        });
        c.addEventListener('pointerleave', () => {
            this.point(-1, -1);
            if (this.hooks.leave) this.hooks.leave();
        });
        c.addEventListener(
            'wheel',
            e => {
                if (!this.hooks.zoom) return;
                e.preventDefault();
                this.hooks.zoom(Math.exp(-e.deltaY * 0.0015), e.offsetX);
            },
            {passive: false},
        );
    }

    /** @param {number} x @param {number} y */
    point(x, y) {
        this.x = x;
        this.y = y;
        const said = x < 0 ? null : this.hooks.hover(x, y);
        this.tip.hidden = !said;
        if (said) {
            this.tip.replaceChildren(...said);
            this.tip.style.left =
                Math.max(0, Math.min(x + 14, this.canvas.clientWidth - this.tip.offsetWidth - 4)) + 'px';
            this.tip.style.top =
                Math.max(0, Math.min(y + 16, this.canvas.clientHeight - this.tip.offsetHeight - 4)) + 'px';
        }
        this.redraw();
    }
}

/** A text no wider than there is room. @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} room */
export function fitted(ctx, text, room) {
    if (ctx.measureText(text).width <= room) return text;
    const keep = Math.floor((text.length * room) / ctx.measureText(text).width) - 1;
    return keep > 1 ? text.slice(0, keep) + '…' : '';
}
