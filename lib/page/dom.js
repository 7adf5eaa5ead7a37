// @ts-check
// Elements of the page. Texts come from graphs that nobody has to trust: they are set as text, never as markup.
import {visible} from './format.js';

/** @typedef {Record<string, string|number|boolean|null|undefined|((e: any) => void)>} Attributes */
/** @typedef {globalThis.Node|string|number|null|undefined|false} Piece */
/** @typedef {Piece|(Piece|Piece[])[]} Child */

/** @param {Element} e @param {string} key @param {any} value */
function setAttribute(e, key, value) {
    if (value === null || value === undefined || value === false) return;
    if (typeof value === 'function') e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? '' : visible(String(value)));
}

/** @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Attributes} [attributes] @param {...Child} children @returns {HTMLElementTagNameMap[K]} */
export function el(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const key in attributes || {}) setAttribute(e, key, /** @type {Attributes} */ (attributes)[key]);
    addChildren(e, children);
    return e;
}

/** @param {string} tag @param {Attributes} [attributes] @param {...Child} children @returns {SVGElement} */
export function svg(tag, attributes, ...children) {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const key in attributes || {}) setAttribute(e, key, /** @type {Attributes} */ (attributes)[key]);
    addChildren(e, children);
    return e;
}

/** @param {Element} e @param {Child[]} children */
export function addChildren(e, children) {
    for (const c of children) {
        if (c === null || c === undefined || c === false) continue;
        if (Array.isArray(c)) addChildren(e, c);
        else e.append(c instanceof globalThis.Node ? c : visible(String(c)));
    }
}

/** @param {Element} e @param {...Child} children */
export function replace(e, ...children) {
    e.replaceChildren();
    addChildren(e, children);
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
    const e = document.getElementById(id);
    if (!e) throw new Error('the page has no ' + id);
    return e;
}

/** A button that does something. @param {Child} text @param {(e: MouseEvent) => void} act @param {Attributes} [attributes] */
export function button(text, act, attributes) {
    return el('button', {type: 'button', ...attributes, onclick: act}, text);
}

/** A canvas as large as its element, in the screen's own pixels. @param {HTMLCanvasElement} canvas @returns {{ctx: CanvasRenderingContext2D, w: number, h: number}} */
export function sizedCanvas(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const w = canvas.clientWidth;
    const h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio);
        canvas.height = Math.round(h * ratio);
    }
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, h);
    return {ctx, w, h};
}

/** Calls once a frame, however often it is asked. @param {() => void} act */
export function oncePerFrame(act) {
    let asked = false;
    return () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            act();
        });
    };
}
