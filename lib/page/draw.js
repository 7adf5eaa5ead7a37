// @ts-check
// Draws a scene on a canvas. Far away, nodes are plain rectangles and wires straight lines.
import {heatText} from './theme.js';
import {visibleLine} from './format.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./scene.js').SceneNode} SceneNode */
/** @typedef {import('./theme.js').Palette} Palette */
/**
 * How nodes look: by node the fill (''; the kind's own), whether its text is light on it, the strip of the family, a badge
 * at its corner, 1 where it is dimmed; wires that are marked.
 * @typedef {{fill: string[], heat: Float32Array, strip: string[], badge: string[], border: string[], dim: Uint8Array|null, strong: Uint8Array|null, chosen: number, hovered: number}} Looks
 */
/** @typedef {{x: number, y: number, k: number}} Place */

const TEXT_SCALE = 0.36;
const PLAIN_SCALE = 0.14;
const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const SMALL_FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

/** @param {Scene} scene @returns {Float32Array} left, top, right, bottom by wire */
export function wireBounds(scene) {
    const {first, point} = scene.wire;
    const n = first.length - 1;
    const out = new Float32Array(4 * n);
    for (let i = 0; i < n; i++) {
        let [l, t, r, b] = [Infinity, Infinity, -Infinity, -Infinity];
        for (let j = first[i]; j < first[i + 1]; j += 2) {
            l = Math.min(l, point[j]);
            r = Math.max(r, point[j]);
            t = Math.min(t, point[j + 1]);
            b = Math.max(b, point[j + 1]);
        }
        out.set([l, t, r, b], 4 * i);
    }
    return out;
}

/** @param {CanvasRenderingContext2D} ctx @param {Float32Array} p @param {number} from @param {number} end @param {boolean} curved */
function traceWire(ctx, p, from, end, curved) {
    ctx.moveTo(p[from], p[from + 1]);
    for (let j = from + 2; j < end; j += 2) {
        const [x0, y0, x1, y1] = [p[j - 2], p[j - 1], p[j], p[j + 1]];
        if (curved && x0 !== x1) ctx.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
        else ctx.lineTo(x1, y1);
    }
}

/** @param {CanvasRenderingContext2D} ctx @param {Float32Array} p @param {number} end */
function traceArrow(ctx, p, end) {
    const up = p[end - 1] < p[end - 3] ? -1 : 1;
    const [x, y] = [p[end - 2], p[end - 1]];
    ctx.moveTo(x - 3, y - 5 * up);
    ctx.lineTo(x, y);
    ctx.lineTo(x + 3, y - 5 * up);
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Float32Array} bounds @param {Place} at @param {number[]} view @param {(i: number) => boolean} which */
function strokeWires(ctx, scene, bounds, at, view, which) {
    const {first, point, to} = scene.wire;
    const curved = at.k > PLAIN_SCALE;
    const arrows = at.k > 0.5;
    ctx.beginPath();
    for (let i = 0; i < first.length - 1; i++) {
        if (
            bounds[4 * i] > view[2] ||
            bounds[4 * i + 2] < view[0] ||
            bounds[4 * i + 1] > view[3] ||
            bounds[4 * i + 3] < view[1]
        )
            continue;
        if (!which(i)) continue;
        traceWire(ctx, point, first[i], first[i + 1], curved);
        if (arrows && to[i] >= 0) traceArrow(ctx, point, first[i + 1]);
    }
    ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Float32Array} bounds @param {Looks} looks @param {Palette} p @param {Place} at @param {number[]} view */
function drawWires(ctx, scene, bounds, looks, p, at, view) {
    const {strong} = looks;
    ctx.lineWidth = Math.max(1, 0.6 / at.k);
    ctx.strokeStyle = p.wire;
    ctx.globalAlpha = strong ? 0.45 : at.k < PLAIN_SCALE ? 0.5 : 0.9;
    strokeWires(ctx, scene, bounds, at, view, i => !strong || !strong[i]);
    ctx.globalAlpha = 1;
    if (!strong) return;
    ctx.lineWidth = Math.max(2, 1.2 / at.k);
    ctx.strokeStyle = p.wireStrong;
    strokeWires(ctx, scene, bounds, at, view, i => strong[i] === 1);
}

/** @param {CanvasRenderingContext2D} ctx @param {SceneNode} v @param {Looks} looks @param {number} i @param {Palette} p @param {number} k */
function drawOpenNode(ctx, v, looks, i, p, k) {
    ctx.globalAlpha = looks.dim && looks.dim[i] ? 0.5 : 1;
    ctx.fillStyle = p.box[Math.min(v.depth, 2)];
    ctx.strokeStyle = looks.border[i] || p.line;
    ctx.lineWidth = Math.max(1, 0.6 / k);
    ctx.beginPath();
    ctx.roundRect(v.x, v.y, v.w, v.h, 6);
    ctx.fill();
    ctx.stroke();
    ctx.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} ctx @param {SceneNode} v @param {Palette} p */
function drawHeader(ctx, v, p) {
    ctx.font = FONT;
    ctx.fillStyle = p.soft;
    ctx.fillText('−', v.x + 9, v.y + 16);
    ctx.fillStyle = p.text;
    ctx.fillText(visibleLine(v.lines[0]), v.x + 24, v.y + 16, v.w - 32);
}

/** @param {SceneNode} v @param {Looks} looks @param {number} i @param {Palette} p */
function fillOf(v, looks, i, p) {
    if (looks.fill[i]) return looks.fill[i];
    if (v.kind === 'leaf') return p.leaf;
    return v.kind === 'box' || v.kind === 'part' ? p.box[2] : p.node;
}

/** @param {CanvasRenderingContext2D} ctx @param {SceneNode} v @param {Looks} looks @param {number} i @param {Palette} p @param {boolean} holds */
function drawShape(ctx, v, looks, i, p, holds) {
    ctx.fillStyle = fillOf(v, looks, i, p);
    ctx.strokeStyle = looks.border[i] || p.line;
    ctx.lineWidth = looks.border[i] ? 2 : 1;
    if (holds) {
        ctx.beginPath();
        ctx.roundRect(v.x + 3, v.y + 3, v.w, v.h, 5);
        ctx.fill();
        ctx.stroke();
    }
    ctx.beginPath();
    ctx.roundRect(v.x, v.y, v.w, v.h, v.kind === 'leaf' ? 19 : 5);
    ctx.fill();
    ctx.stroke();
    if (looks.strip[i]) {
        ctx.fillStyle = looks.strip[i];
        ctx.beginPath();
        ctx.roundRect(v.x, v.y, 5, v.h, [5, 0, 0, 5]);
        ctx.fill();
    }
}

/** @param {CanvasRenderingContext2D} ctx @param {SceneNode} v @param {Looks} looks @param {number} i @param {Palette} p @param {boolean} holds */
function drawText(ctx, v, looks, i, p, holds) {
    const hot = looks.fill[i] && !Number.isNaN(looks.heat[i]);
    ctx.fillStyle = hot ? heatText(looks.heat[i], p.dark) : p.text;
    ctx.font = FONT;
    ctx.textAlign = 'center';
    const middle = v.x + v.w / 2 + 2;
    ctx.fillText(visibleLine(v.lines[0]), middle, v.y + (v.lines[1] ? 16 : 23), v.w - 12);
    if (!hot) ctx.fillStyle = p.soft;
    ctx.font = SMALL_FONT;
    if (v.lines[1]) ctx.fillText(visibleLine(v.lines[1]), middle, v.y + 30, v.w - 12);
    ctx.textAlign = 'left';
    if (holds) ctx.fillText('+', v.x + v.w - 12, v.y + 31);
    if (looks.badge[i]) drawBadge(ctx, v, looks.badge[i], p);
}

/** @param {CanvasRenderingContext2D} ctx @param {SceneNode} v @param {string} badge @param {Palette} p */
function drawBadge(ctx, v, badge, p) {
    const text = visibleLine(badge);
    ctx.font = SMALL_FONT;
    const w = Math.min(ctx.measureText(text).width + 8, v.w);
    ctx.fillStyle = p.accent;
    ctx.beginPath();
    ctx.roundRect(v.x + v.w - w + 4, v.y + v.h - 6, w, 14, 4);
    ctx.fill();
    ctx.fillStyle = p.dark ? '#14171a' : '#ffffff';
    ctx.fillText(text, v.x + v.w - w + 8, v.y + v.h + 5, w - 8);
}

/** @param {CanvasRenderingContext2D} ctx @param {SceneNode} v @param {string} colour @param {number} width */
function drawOutline(ctx, v, colour, width) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.roundRect(v.x - 2, v.y - 2, v.w + 4, v.h + 4, 7);
    ctx.stroke();
}

/**
 * @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Float32Array} bounds @param {Looks} looks @param {Palette} p
 * @param {Place} at @param {number} w @param {number} h @param {(v: SceneNode) => boolean} holds
 */
export function drawScene(ctx, scene, bounds, looks, p, at, w, h, holds) {
    ctx.fillStyle = p.back;
    ctx.fillRect(0, 0, w, h);
    ctx.save();
    ctx.translate(at.x, at.y);
    ctx.scale(at.k, at.k);
    const view = [-at.x / at.k, -at.y / at.k, (w - at.x) / at.k, (h - at.y) / at.k];
    const seen = (/** @type {SceneNode} */ v) =>
        v.x <= view[2] && v.x + v.w >= view[0] && v.y <= view[3] && v.y + v.h >= view[1];
    const {nodes} = scene;
    for (let i = 0; i < nodes.length; i++)
        if (nodes[i].open && seen(nodes[i])) drawOpenNode(ctx, nodes[i], looks, i, p, at.k);
    drawWires(ctx, scene, bounds, looks, p, at, view);
    if (at.k < PLAIN_SCALE) drawPlain(ctx, scene, looks, p, seen);
    else drawNodes(ctx, scene, looks, p, at, seen, holds);
    if (looks.hovered >= 0 && nodes[looks.hovered])
        drawOutline(ctx, nodes[looks.hovered], p.soft, Math.max(1.5, 1 / at.k));
    if (looks.chosen >= 0 && nodes[looks.chosen])
        drawOutline(ctx, nodes[looks.chosen], p.accent, Math.max(3, 3 / at.k));
    ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Looks} looks @param {Palette} p @param {Place} at @param {(v: SceneNode) => boolean} seen @param {(v: SceneNode) => boolean} holds */
function drawNodes(ctx, scene, looks, p, at, seen, holds) {
    scene.nodes.forEach((v, i) => {
        if (!seen(v)) return;
        if (v.open) {
            if (at.k > TEXT_SCALE / 2) drawHeader(ctx, v, p);
            return;
        }
        ctx.globalAlpha = looks.dim && looks.dim[i] ? 0.25 : 1;
        const inside = holds(v);
        drawShape(ctx, v, looks, i, p, inside);
        if (at.k > TEXT_SCALE) drawText(ctx, v, looks, i, p, inside);
        ctx.globalAlpha = 1;
    });
}

/** Rectangles only, colour by colour. @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Looks} looks @param {Palette} p @param {(v: SceneNode) => boolean} seen */
function drawPlain(ctx, scene, looks, p, seen) {
    /** @type {Map<string, number[]>} */
    const byColour = new Map();
    scene.nodes.forEach((v, i) => {
        if (v.open || !seen(v)) return;
        const colour =
            looks.dim && looks.dim[i]
                ? p.box[2]
                : looks.border[i] || looks.fill[i] || looks.strip[i] || (v.kind === 'leaf' ? p.soft : p.line);
        const list = byColour.get(colour);
        if (list) list.push(i);
        else byColour.set(colour, [i]);
    });
    for (const [colour, list] of byColour) {
        ctx.fillStyle = colour;
        for (const i of list) ctx.fillRect(scene.nodes[i].x, scene.nodes[i].y, scene.nodes[i].w, scene.nodes[i].h);
    }
}
