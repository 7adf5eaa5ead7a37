// @ts-check
// Paths of nodes in a view: `a12` an Apply, `v7` a leaf, `b3` a box; after a call `/` and what is in it, `f0` the first
// of its functions.
import {NONE} from './columns.js';
import {isResult} from './model.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./model.js').Graph} Graph */
/** @typedef {import('./store.js').Choice} Choice */

const KIND_OF_LETTER = new Map([
    ['a', 'apply'],
    ['v', 'leaf'],
    ['b', 'box'],
    ['f', 'part'],
]);

/** What a path says; null: nothing of this graph. @param {Model} m @param {number} root @param {string} path @returns {Choice|null} */
export function choiceOfPath(m, root, path) {
    let graph = root;
    /** @type {Choice|null} */
    let found = null;
    /** @type {{graphs: number[]}|undefined} */
    let call;
    for (const part of path.split('/')) {
        const kind = KIND_OF_LETTER.get(part[0]);
        const id = /^\d+$/.test(part.slice(1)) ? Number(part.slice(1)) : -1;
        if (!kind || id < 0) return null;
        if (call && kind !== 'part') graph = call.graphs[0];
        if (kind === 'part') {
            if (!call || id >= call.graphs.length) return null;
            graph = call.graphs[id];
            call = {graphs: [graph]};
        } else {
            const g = m.graphs[graph];
            if (!g || id >= (kind === 'apply' ? g.n : kind === 'leaf' ? g.nvar : g.boxTitle.length)) return null;
            call = kind === 'apply' ? g.calls.get(id) : undefined;
        }
        found = {root, path, graph, kind, id};
    }
    return found;
}

/** The box that an item stands in. @param {Graph} g @param {string} kind @param {number} id */
export function boxOfItem(g, kind, id) {
    if (kind === 'box') return g.boxParent[id];
    return kind === 'apply' ? g.box[id] : g.varBox[id];
}

/** What has to be open for a node to be seen. @param {Model} m @param {number} root @param {string} path @returns {string[]} */
export function opensFor(m, root, path) {
    /** @type {string[]} */
    const out = [];
    const parts = path.split('/');
    for (let k = 0; k < parts.length; k++) {
        const here = choiceOfPath(m, root, parts.slice(0, k + 1).join('/'));
        if (!here) return out;
        if (here.kind !== 'part') {
            const prefix = parts
                .slice(0, k)
                .map(p => p + '/')
                .join('');
            for (
                let b = boxOfItem(m.graphs[here.graph], here.kind, here.id);
                b !== NONE && b !== 0;
                b = m.graphs[here.graph].boxParent[b]
            ) {
                out.push(prefix + 'b' + b);
            }
        }
        if (k < parts.length - 1) out.push(here.path);
    }
    return out;
}

/** By graph, the Apply that calls it first. @param {Model} m @returns {({graph: number, apply: number, part: number}|null)[]} */
export function callersOf(m) {
    /** @type {({graph: number, apply: number, part: number}|null)[]} */
    const out = m.graphs.map(() => null);
    m.graphs.forEach((g, gi) => {
        for (const [apply, call] of g.calls) {
            call.graphs.forEach((f, k) => {
                if (!out[f] && f !== gi) out[f] = {graph: gi, apply, part: call.graphs.length > 1 ? k : -1};
            });
        }
    });
    return out;
}

/** The path to what is in a graph, with a slash at its end; null: nothing calls it from there. @param {Model} m @param {number} root @param {number} graph @param {({graph: number, apply: number, part: number}|null)[]} callers @returns {string|null} */
export function prefixOfGraph(m, root, graph, callers) {
    let prefix = '';
    for (let steps = 0; graph !== root; steps++) {
        const c = callers[graph];
        if (!c || steps > m.graphs.length) return null;
        prefix = 'a' + c.apply + '/' + (c.part >= 0 ? 'f' + c.part + '/' : '') + prefix;
        graph = c.graph;
    }
    return prefix;
}

/** The number of the node that shows a variable: its Apply, or itself. @param {Graph} g @param {number} v @returns {{kind: string, id: number}} */
export function itemOfVar(g, v) {
    return isResult(g, v) ? {kind: 'apply', id: g.varOwner[v]} : {kind: 'leaf', id: v};
}
