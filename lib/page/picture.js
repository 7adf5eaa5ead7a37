// @ts-check
// A picture of a graph that can be moved: canvas, pointer, wheel, minimap. What nodes mean is the caller's.
import {Camera} from './camera.js';
import {drawScene, wireBounds} from './draw.js';
import {el, oncePerFrame, sizedCanvas} from './dom.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./scene.js').SceneNode} SceneNode */
/** @typedef {import('./draw.js').Looks} Looks */
/**
 * @typedef {Object} PictureHooks
 * @property {(v: SceneNode|null, e: {shiftKey: boolean}) => void} choose
 * @property {(v: SceneNode) => void} toggle
 * @property {(v: SceneNode) => boolean} holds     can it be opened?
 * @property {(v: SceneNode) => (globalThis.Node|string)[]} tip
 * @property {() => import('./theme.js').Palette} palette
 * @property {() => void} [moved]
 */

const MAP_W = 180;
const MAP_H = 130;
// A frame that takes longer is drawn once, larger than the window, and moved about.
const SLOW_MS = 10;
const MARGIN = 0.35;

export class Picture {
    /** @param {HTMLElement} host @param {string} title @param {PictureHooks} hooks */
    constructor(host, title, hooks) {
        this.hooks = hooks;
        this.camera = new Camera();
        /** @type {Scene} */
        this.scene = {
            nodes: [],
            width: 0,
            height: 0,
            wire: {
                from: new Int32Array(0),
                to: new Int32Array(0),
                via: new Int32Array(0),
                first: new Uint32Array(1),
                point: new Float32Array(0),
            },
        };
        /** @type {Float32Array} */
        this.bounds = new Float32Array(0);
        /** @type {Looks} */
        this.looks = {
            fill: [],
            heat: new Float32Array(0),
            strip: [],
            badge: [],
            border: [],
            dim: null,
            strong: null,
            chosen: -1,
            hovered: -1,
        };
        /** @type {Map<string, number>} */
        this.byPath = new Map();
        this.canvas = el('canvas', {class: 'picture', tabindex: '0', role: 'application', 'aria-label': title});
        this.map = el('canvas', {class: 'minimap', 'aria-hidden': 'true', title: 'Overview: drag to move'});
        this.tip = el('div', {class: 'tip', hidden: true});
        host.append(this.canvas, this.map, this.tip);
        /** @type {HTMLCanvasElement|null} */
        this.mapImage = null;
        this.mapScale = 1;
        this.buffer = document.createElement('canvas');
        /** @type {{x: number, y: number, k: number}|null} */
        this.bufferAt = null;
        this.lastMs = 0;
        this.frames = 0;
        this.redraw = oncePerFrame(() => this.draw());
        this.refine = 0;
        this.listen();
        new ResizeObserver(() => {
            this.bufferAt = null;
            this.redraw();
        }).observe(this.canvas);
    }

    get size() {
        return {w: this.canvas.clientWidth, h: this.canvas.clientHeight};
    }

    /** Takes a new layout; what stood at `anchor` stays there on the screen. @param {Scene} scene @param {string} [anchor] */
    setScene(scene, anchor) {
        const old = anchor === undefined ? undefined : this.scene.nodes[this.byPath.get(anchor) ?? -1];
        this.scene = scene;
        this.bounds = wireBounds(scene);
        this.byPath = new Map(scene.nodes.map((v, i) => [v.path, i]));
        const now = anchor === undefined ? undefined : scene.nodes[this.byPath.get(anchor) ?? -1];
        if (old && now) {
            this.camera.x += (old.x - now.x) * this.camera.k;
            this.camera.y += (old.y - now.y) * this.camera.k;
        }
        this.mapImage = null;
    }

    /** @param {Looks} looks */
    setLooks(looks) {
        this.looks = looks;
        this.mapImage = null;
        this.bufferAt = null;
        this.redraw();
    }

    fit() {
        const {w, h} = this.size;
        this.camera.fit({x: 0, y: 0, w: this.scene.width, h: this.scene.height}, w, h);
        this.moved();
    }

    /** The first look: whole if it can be read so, else its upper end. */
    open() {
        const {w, h} = this.size;
        this.camera.fit({x: 0, y: 0, w: this.scene.width, h: this.scene.height}, w, h);
        if (this.camera.k < 0.55) {
            this.camera.k = Math.min(0.8, Math.max(0.55, (w - 48) / Math.max(this.scene.width, 1)));
            this.camera.x = (w - this.scene.width * this.camera.k) / 2;
            this.camera.y = 24;
            if (this.scene.width * this.camera.k > w) this.showTop();
        }
        this.moved();
    }

    /** Of the upper end of a wide picture, brings the part into view that has most nodes. */
    showTop() {
        const wide = this.size.w / this.camera.k;
        const high = (this.size.h - this.camera.y) / this.camera.k;
        const seen = this.scene.nodes.filter(v => !v.open && v.y + v.h <= high).sort((a, b) => a.x - b.x);
        let [from, to] = [0, 0];
        for (let i = 0, k = 0; k < seen.length; k++) {
            while (seen[k].x + seen[k].w - seen[i].x > wide) i++;
            if (k - i > to - from || k === 0) [from, to] = [i, k];
        }
        if (!seen.length) return;
        const right = seen.slice(from, to + 1).reduce((most, v) => Math.max(most, v.x + v.w), 0);
        this.camera.x = (this.size.w - (seen[from].x + right) * this.camera.k) / 2;
    }

    /** @param {number} factor */
    zoom(factor) {
        this.camera.zoomAt(factor, this.size.w / 2, this.size.h / 2);
        this.moved();
    }

    /** Brings a node into view, readable. @param {string} path @param {boolean} [always] */
    show(path, always) {
        const v = this.scene.nodes[this.byPath.get(path) ?? -1];
        if (!v) return false;
        const {w, h} = this.size;
        const {camera} = this;
        const [x, y] = [v.x * camera.k + camera.x, v.y * camera.k + camera.y];
        const inside = x >= 0 && y >= 0 && x + v.w * camera.k <= w && y + v.h * camera.k <= h;
        if (inside && camera.k > 0.4 && !always) return true;
        if (camera.k < 0.7) camera.k = 0.9;
        camera.centre(v.x + v.w / 2, v.y + Math.min(v.h / 2, h / 3 / camera.k), w, h);
        this.moved();
        return true;
    }

    moved() {
        this.redraw();
        if (this.hooks.moved) this.hooks.moved();
    }

    /** @param {number} sx @param {number} sy @returns {number} */
    hit(sx, sy) {
        const [x, y] = this.camera.toPicture(sx, sy);
        const {nodes} = this.scene;
        for (let i = nodes.length - 1; i >= 0; i--) {
            const v = nodes[i];
            if (x >= v.x && x <= v.x + v.w && y >= v.y && y <= v.y + v.h) return i;
        }
        return -1;
    }

    draw() {
        const {ctx, w, h} = sizedCanvas(this.canvas);
        if (!w || !h) return;
        this.frames++;
        if (this.lastMs > SLOW_MS) this.drawBuffered(ctx, w, h);
        else {
            const start = performance.now();
            drawScene(
                ctx,
                this.scene,
                this.bounds,
                this.looks,
                this.hooks.palette(),
                this.camera,
                w,
                h,
                this.hooks.holds,
            );
            this.lastMs = performance.now() - start;
            this.bufferAt = null;
        }
        this.drawMap(w, h);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {number} w @param {number} h */
    drawBuffered(ctx, w, h) {
        const {camera} = this;
        const mx = Math.round(w * MARGIN);
        const my = Math.round(h * MARGIN);
        const at = this.bufferAt;
        const outside =
            !at ||
            Math.abs(camera.x - (at.x * camera.k) / at.k) > 1e7 ||
            at.k !== camera.k ||
            Math.abs(camera.x - at.x) > mx ||
            Math.abs(camera.y - at.y) > my;
        if (outside && (!at || at.k === camera.k || this.refine === 0)) this.paintBuffer(w, h, mx, my);
        const from = /** @type {{x: number, y: number, k: number}} */ (this.bufferAt);
        const scale = camera.k / from.k;
        ctx.fillStyle = this.hooks.palette().back;
        ctx.fillRect(0, 0, w, h);
        ctx.drawImage(
            this.buffer,
            camera.x - (from.x + mx) * scale,
            camera.y - (from.y + my) * scale,
            (w + 2 * mx) * scale,
            (h + 2 * my) * scale,
        );
    }

    /** @param {number} w @param {number} h @param {number} mx @param {number} my */
    paintBuffer(w, h, mx, my) {
        const ratio = window.devicePixelRatio || 1;
        this.buffer.width = Math.round((w + 2 * mx) * ratio);
        this.buffer.height = Math.round((h + 2 * my) * ratio);
        const ctx = /** @type {CanvasRenderingContext2D} */ (this.buffer.getContext('2d'));
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        const {x, y, k} = this.camera;
        const start = performance.now();
        drawScene(
            ctx,
            this.scene,
            this.bounds,
            this.looks,
            this.hooks.palette(),
            {x: x + mx, y: y + my, k},
            w + 2 * mx,
            h + 2 * my,
            this.hooks.holds,
        );
        this.lastMs = (performance.now() - start) / (1 + 2 * MARGIN) ** 2;
        this.bufferAt = {x, y, k};
    }

    /** While the wheel turns, a picture of another scale will do; afterwards it is drawn anew. */
    settleSoon() {
        clearTimeout(this.refine);
        this.refine = window.setTimeout(() => {
            this.refine = 0;
            this.bufferAt = null;
            this.redraw();
        }, 120);
    }

    /** @param {number} w @param {number} h */
    drawMap(w, h) {
        const {camera, scene} = this;
        const whole =
            camera.x >= 0 &&
            camera.y >= 0 &&
            scene.width * camera.k + camera.x <= w &&
            scene.height * camera.k + camera.y <= h;
        this.map.hidden = whole || !scene.nodes.length || w < 3 * MAP_W;
        if (this.map.hidden) return;
        const k = Math.min(MAP_W / scene.width, MAP_H / scene.height);
        this.mapScale = k;
        this.map.style.width = Math.max(24, Math.round(scene.width * k)) + 'px';
        this.map.style.height = Math.max(24, Math.round(scene.height * k)) + 'px';
        const {ctx} = sizedCanvas(this.map);
        if (!this.mapImage) this.mapImage = this.paintMap(k);
        ctx.drawImage(this.mapImage, 0, 0, this.map.clientWidth, this.map.clientHeight);
        this.drawMapFrame(ctx, k, w, h);
    }

    /** What the window shows is framed, the rest is veiled. @param {CanvasRenderingContext2D} ctx @param {number} k @param {number} w @param {number} h */
    drawMapFrame(ctx, k, w, h) {
        const {camera} = this;
        const [mw, mh] = [this.map.clientWidth, this.map.clientHeight];
        const left = Math.max((-camera.x / camera.k) * k, 1);
        const top = Math.max((-camera.y / camera.k) * k, 1);
        const right = Math.min(((w - camera.x) / camera.k) * k, mw - 1);
        const bottom = Math.min(((h - camera.y) / camera.k) * k, mh - 1);
        const p = this.hooks.palette();
        ctx.fillStyle = p.dark ? '#00000070' : '#ffffff90';
        ctx.beginPath();
        ctx.rect(0, 0, mw, mh);
        ctx.rect(left, top, right - left, bottom - top);
        ctx.fill('evenodd');
        ctx.strokeStyle = p.accent;
        ctx.lineWidth = 2;
        ctx.strokeRect(left, top, Math.max(right - left, 2), Math.max(bottom - top, 2));
    }

    /** @param {number} k */
    paintMap(k) {
        const image = document.createElement('canvas');
        image.width = this.map.width;
        image.height = this.map.height;
        const ratio = window.devicePixelRatio || 1;
        const ctx = /** @type {CanvasRenderingContext2D} */ (image.getContext('2d'));
        ctx.scale(ratio * k, ratio * k);
        const p = this.hooks.palette();
        const {looks} = this;
        this.scene.nodes.forEach((v, i) => {
            ctx.fillStyle = v.open
                ? p.box[Math.min(v.depth, 2)]
                : looks.dim && looks.dim[i]
                  ? p.box[2]
                  : looks.border[i] || looks.fill[i] || looks.strip[i] || p.line;
            ctx.fillRect(v.x, v.y, Math.max(v.w, 1 / k), Math.max(v.h, 1 / k));
        });
        return image;
    }

    listen() {
        const c = this.canvas;
        /** @type {Map<number, {x: number, y: number}>} */
        const down = new Map();
        let moved = 0;
        c.addEventListener('pointerdown', e => {
            c.setPointerCapture(e.pointerId);
            down.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
            moved = 0;
        });
        c.addEventListener('pointermove', e => {
            const from = down.get(e.pointerId);
            if (!from) return this.hover(e.offsetX, e.offsetY);
            moved += Math.abs(e.offsetX - from.x) + Math.abs(e.offsetY - from.y);
            this.drag(down, e, from);
            down.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
            return undefined;
        });
        c.addEventListener('pointerup', e => {
            const single = down.size === 1;
            down.delete(e.pointerId);
            if (single && moved < 5) this.click(e);
        });
        c.addEventListener('pointercancel', e => {
            down.delete(e.pointerId);
        });
        c.addEventListener('pointerleave', () => this.hover(-1, -1));
        c.addEventListener('dblclick', e => {
            const v = this.scene.nodes[this.hit(e.offsetX, e.offsetY)];
            if (v && this.hooks.holds(v)) this.hooks.toggle(v);
        });
        c.addEventListener('wheel', e => this.wheel(e), {passive: false});
        this.map.addEventListener('pointerdown', e => {
            this.map.setPointerCapture(e.pointerId);
            this.mapTo(e);
        });
        this.map.addEventListener('pointermove', e => {
            if (e.buttons) this.mapTo(e);
        });
    }

    /** @param {Map<number, {x: number, y: number}>} down @param {PointerEvent} e @param {{x: number, y: number}} from */
    drag(down, e, from) {
        if (down.size === 2) {
            const other = Array.from(down).filter(([id]) => id !== e.pointerId)[0][1];
            const before = Math.hypot(from.x - other.x, from.y - other.y);
            const after = Math.hypot(e.offsetX - other.x, e.offsetY - other.y);
            if (before > 0) this.camera.zoomAt(after / before, other.x, other.y);
            this.settleSoon();
        } else {
            this.camera.x += e.offsetX - from.x;
            this.camera.y += e.offsetY - from.y;
        }
        this.moved();
    }

    /** @param {PointerEvent} e */
    click(e) {
        const i = this.hit(e.offsetX, e.offsetY);
        const v = i < 0 ? null : this.scene.nodes[i];
        if (v && this.hooks.holds(v) && this.onSign(v, e)) this.hooks.toggle(v);
        else this.hooks.choose(v, e);
    }

    /** Is the plus or minus of a node meant? @param {SceneNode} v @param {PointerEvent} e */
    onSign(v, e) {
        const [x, y] = this.camera.toPicture(e.offsetX, e.offsetY);
        if (this.camera.k < TEXT_LIMIT) return false;
        return v.open ? y < v.y + 24 && x < v.x + 24 : x > v.x + v.w - 18 && y > v.y + 16;
    }

    /** @param {number} x @param {number} y */
    hover(x, y) {
        const i = x < 0 ? -1 : this.hit(x, y);
        const v = i < 0 ? null : this.scene.nodes[i];
        this.tip.hidden = !v || v.open;
        if (v && !v.open) {
            this.tip.style.left = Math.min(x + 14, this.size.w - 220) + 'px';
            this.tip.style.top = Math.min(y + 16, this.size.h - 60) + 'px';
        }
        if (i === this.looks.hovered) return;
        this.looks.hovered = i;
        if (v && !v.open) this.tip.replaceChildren(...this.hooks.tip(v));
        if (this.lastMs <= SLOW_MS) this.redraw();
    }

    /** @param {WheelEvent} e */
    wheel(e) {
        e.preventDefault();
        if (e.shiftKey) this.camera.x -= e.deltaY + e.deltaX;
        else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.camera.x -= e.deltaX;
        else
            this.camera.zoomAt(
                Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.05 : e.ctrlKey ? 0.01 : 0.0015)),
                e.offsetX,
                e.offsetY,
            );
        this.settleSoon();
        this.moved();
    }

    /** @param {PointerEvent} e */
    mapTo(e) {
        const k = this.mapScale;
        this.camera.centre(e.offsetX / k, e.offsetY / k, this.size.w, this.size.h);
        this.moved();
    }

    /** The neighbour of a node in a direction, by where they stand. @param {string} path @param {'left'|'right'} side @returns {SceneNode|null} */
    beside(path, side) {
        const v = this.scene.nodes[this.byPath.get(path) ?? -1];
        if (!v) return null;
        /** @type {SceneNode|null} */
        let best = null;
        for (const u of this.scene.nodes) {
            if (u === v || u.parent !== v.parent) continue;
            if (u.y + u.h <= v.y || u.y >= v.y + v.h) continue;
            const ahead = side === 'right' ? u.x - v.x : v.x - u.x;
            if (ahead > 0 && (!best || ahead < Math.abs(best.x - v.x))) best = u;
        }
        return best;
    }

    /** The first node that a wire leads to, or comes from. @param {string} path @param {'up'|'down'} way @returns {SceneNode|null} */
    along(path, way) {
        const i = this.byPath.get(path);
        if (i === undefined) return null;
        const {from, to} = this.scene.wire;
        for (let e = 0; e < from.length; e++) {
            if (way === 'down' && from[e] === i && to[e] >= 0) return this.scene.nodes[to[e]];
            if (way === 'up' && to[e] === i && from[e] >= 0) return this.scene.nodes[from[e]];
        }
        return null;
    }
}

const TEXT_LIMIT = 0.36;
