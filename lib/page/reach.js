// @ts-check
// What a node needs, and what needs it, within its graph.
import {isResult, readersOf} from './model.js';

/** @typedef {import('./model.js').Graph} Graph */
/** Marked Applies and leaves. @typedef {{apply: Uint8Array, leaf: Uint8Array, count: number}} Marks */

/** @param {Graph} g @returns {Marks} */
function noMarks(g) {
    return {apply: new Uint8Array(g.n), leaf: new Uint8Array(g.nvar), count: 0};
}

/** Applies and leaves in a box, with those in boxes of it. @param {Graph} g @param {number} b @param {(a: number) => void} act @param {(v: number) => void} [leaf] */
export function eachInBox(g, b, act, leaf) {
    for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++) {
        const id = g.item[i] >>> 2;
        const sort = g.item[i] & 3;
        if (sort === 2) eachInBox(g, id, act, leaf);
        else if (sort === 0) act(id);
        else if (leaf) leaf(id);
    }
}

/** What a node stands for. @param {Graph} g @param {string} kind @param {number} id @returns {Marks} */
export function marksOfNode(g, kind, id) {
    const m = noMarks(g);
    if (kind === 'apply') m.apply[id] = 1;
    else if (kind === 'leaf') m.leaf[id] = 1;
    else if (kind === 'box')
        eachInBox(
            g,
            id,
            a => {
                m.apply[a] = 1;
            },
            v => {
                m.leaf[v] = 1;
            },
        );
    return m;
}

/** @param {Graph} g @param {Marks} from @returns {Marks} */
export function ancestors(g, from) {
    const m = {apply: from.apply.slice(), leaf: from.leaf.slice(), count: 0};
    for (let a = g.n - 1; a >= 0; a--) {
        if (!m.apply[a]) continue;
        for (let i = g.inFirst[a]; i < g.inFirst[a + 1]; i++) {
            const v = g.input[i];
            if (isResult(g, v)) m.apply[g.varOwner[v]] = 1;
            else m.leaf[v] = 1;
        }
    }
    return counted(m);
}

/** @param {Graph} g @param {Marks} from @returns {Marks} */
export function descendants(g, from) {
    const m = {apply: from.apply.slice(), leaf: from.leaf.slice(), count: 0};
    for (let a = 0; a < g.n; a++) {
        for (let i = g.inFirst[a]; i < g.inFirst[a + 1] && !m.apply[a]; i++) {
            const v = g.input[i];
            m.apply[a] = isResult(g, v) ? m.apply[g.varOwner[v]] : m.leaf[v];
        }
    }
    return counted(m);
}

/** @param {Graph} g @param {Marks} a @param {Marks} b @returns {Marks} */
export function union(g, a, b) {
    const m = noMarks(g);
    for (let i = 0; i < g.n; i++) m.apply[i] = a.apply[i] | b.apply[i];
    for (let i = 0; i < g.nvar; i++) m.leaf[i] = a.leaf[i] | b.leaf[i];
    return counted(m);
}

/** All that lies on a way from one to the other, whichever comes first; null: there is none. @param {Graph} g @param {Marks} a @param {Marks} b @returns {Marks|null} */
export function between(g, a, b) {
    for (const [from, to] of [
        [a, b],
        [b, a],
    ]) {
        const down = descendants(g, from);
        const up = ancestors(g, to);
        const m = noMarks(g);
        for (let i = 0; i < g.n; i++) m.apply[i] = down.apply[i] & up.apply[i];
        for (let i = 0; i < g.nvar; i++) m.leaf[i] = down.leaf[i] & up.leaf[i];
        if (counted(m).count) return m;
    }
    return null;
}

/** @param {Marks} m */
function counted(m) {
    m.count = 0;
    for (const x of m.apply) m.count += x;
    for (const x of m.leaf) m.count += x;
    return m;
}

/** The shortest way from one Apply to another along results, both included; empty: none. @param {Graph} g @param {number} from @param {number} to @returns {number[]} */
export function shortestWay(g, from, to) {
    if (from > to) [from, to] = [to, from];
    const readers = readersOf(g);
    const before = new Int32Array(g.n).fill(-1);
    before[from] = from;
    const queue = [from];
    for (let k = 0; k < queue.length && before[to] < 0; k++) {
        const a = queue[k];
        for (let v = g.out[a]; v < g.out[a] + g.nout[a]; v++) {
            for (let i = readers.first[v]; i < readers.first[v + 1]; i++) {
                const r = readers.apply[i];
                if (before[r] >= 0) continue;
                before[r] = a;
                queue.push(r);
            }
        }
    }
    if (before[to] < 0) return [];
    const way = [to];
    while (way[0] !== from) way.unshift(before[way[0]]);
    return way;
}
