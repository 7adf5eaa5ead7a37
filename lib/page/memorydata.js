// @ts-check
// Memory of a call, instruction by instruction, as the plan has it.
import {NONE, column, freeColumn} from './columns.js';

/** @typedef {import('./columns.js').Column} Column */
/**
 * @typedef {Object} Memory
 * @property {Column} step            Apply by instruction
 * @property {Column} live            bytes, by instruction, and at the end
 * @property {number} peakAt
 * @property {number} unknown         bytes of what nobody knows the size of: how many values
 * @property {Column} born            of storages
 * @property {Column} dies
 * @property {Column} bytes
 * @property {Column} var
 * @property {Map<number, number>} storeOfVar
 * @property {Map<number, string>} howOfVar
 * @property {[string, number][]} functions
 * @property {[number, string, number][]} holders
 */

const HOW = ['its own storage', 'written in place', 'a view', 'the storage of a shared variable'];

/** @param {import('./model.js').Model} m @returns {Memory|null} */
export function readMemory(m) {
    const t = m.raw.profile && m.raw.profile.memory;
    if (!t) return null;
    const store = t.store || {};
    const bytes = freeColumn(store.bytes);
    const value = t.value || {};
    const vars = freeColumn(value.var);
    const n = vars.length;
    const stores = column(value.store, n);
    const how = column(value.how, n);
    const storeOfVar = new Map();
    const howOfVar = new Map();
    for (let i = 0; i < n; i++) {
        if (stores[i] !== NONE) storeOfVar.set(vars[i], stores[i]);
        howOfVar.set(vars[i], HOW[how[i]] || '');
    }
    const name = (/** @type {number|string} */ s) => typeof s === 'number' ? m.strings[s] : s;
    return {
        step: freeColumn(t.step), live: freeColumn(t.live), peakAt: t.peak_at || 0, unknown: t.unknown || 0, born: column(store.born, bytes.length),
        dies: column(store.dies, bytes.length), bytes, var: column(store.var, bytes.length), storeOfVar, howOfVar,
        functions: (t.functions || []).map((/** @type {any} */ f) => [name(f[0]), f[1]]), holders: (t.holders || []).map((/** @type {any} */ h) => [h[0], name(h[1]), h[2]]),
    };
}

/** Storages that are alive at an instruction, the largest first. @param {Memory} mem @param {number} at @returns {number[]} */
export function aliveAt(mem, at) {
    const out = [];
    for (let s = 0; s < mem.bytes.length; s++) if (mem.born[s] <= at && at <= mem.dies[s] && mem.bytes[s] > 0) out.push(s);
    return out.sort((a, b) => mem.bytes[b] - mem.bytes[a] || a - b);
}

/** What functions hold during the whole call. @param {Memory} mem */
export function heldByFunctions(mem) {
    return mem.functions.reduce((sum, f) => sum + f[1], 0);
}

/** The instruction at which an Apply runs; -1: none. @param {Memory} mem @param {number} apply */
export function stepOfApply(mem, apply) {
    return mem.step.indexOf(/** @type {any} */ (apply));
}
