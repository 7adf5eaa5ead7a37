// @ts-check
// Parts of panels: links to nodes, lists, rows of facts.
import {button, el} from './dom.js';
import {nameOfVar} from './model.js';
import {countedText} from './format.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./store.js').Choice} Choice */

const SHOWN = 12;
const MOST = 2000;

/** A link to a node. @param {App} app @param {Choice} c @param {string} [text] */
export function linkTo(app, c, text) {
    return el('button', {type: 'button', class: 'link', onclick: () => app.choose(c)}, text || app.titleOf(c));
}

/** @param {App} app @param {number} graph @param {number} v */
export function linkToVar(app, graph, v) {
    return linkTo(app, app.choiceOfVar(graph, v), nameOfVar(app.m, app.m.graphs[graph], v));
}

/** @param {string} title @param {...any} children */
export function section(title, ...children) {
    return el('section', {}, el('h3', {}, title), ...children);
}

/** Rows of a name and what it is; empty ones stay out. @param {[string, any][]} rows */
export function facts(rows) {
    const dl = el('dl', {});
    for (const [name, value] of rows) {
        if (value === '' || value === null || value === undefined || (Array.isArray(value) && !value.length)) continue;
        dl.append(el('dt', {}, name), el('dd', {}, ...(Array.isArray(value) ? value : [value])));
    }
    return dl;
}

/** A list that says how much it leaves out, and shows it when asked. @param {any[]} items @param {number} [shown] */
export function shortList(items, shown = SHOWN) {
    const ul = el(
        'ul',
        {class: 'links'},
        items.slice(0, shown).map(i => el('li', {}, i)),
    );
    if (items.length > shown) {
        const more = el(
            'li',
            {},
            button(
                countedText(items.length - shown, 'more', 'more'),
                () => {
                    more.remove();
                    for (const i of items.slice(shown, MOST)) ul.append(el('li', {}, i));
                },
                {class: 'link soft'},
            ),
        );
        ul.append(more);
    }
    return ul;
}
