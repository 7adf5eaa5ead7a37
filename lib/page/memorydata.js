// @ts-check
// Memory of a call, instruction by instruction, as the plan has it.
import {NONE, column, rowsOf} from './columns.js';

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
 * @property {Map<number, {var: number, born: number}[]>} valuesOfStore   those that aren't views, in the order in which they are written
 * @property {[string, number][]} functions
 * @property {[number, string, number][]} holders
 */

const HOW = ['its own storage', 'written in place', 'a view', 'the storage of a shared variable'];
const VIEW = 2;

/** @param {any} t */
function readValues(t) {
    const n = rowsOf(t, 'var');
    const vars = column(t.var, n);
    const stores = column(t.store, n);
    const born = column(t.born, n);
    const how = column(t.how, n);
    /** @type {Map<number, number>} */
    const storeOfVar = new Map();
    /** @type {Map<number, string>} */
    const howOfVar = new Map();
    /** @type {Map<number, {var: number, born: number}[]>} */
    const valuesOfStore = new Map();
    for (let i = 0; i < n; i++) {
        howOfVar.set(vars[i], HOW[how[i]] || '');
        if (stores[i] === NONE) continue;
        storeOfVar.set(vars[i], stores[i]);
        if (how[i] === VIEW) continue;
        const list = valuesOfStore.get(stores[i]) || [];
        list.push({var: vars[i], born: born[i]});
        valuesOfStore.set(stores[i], list);
    }
    for (const list of valuesOfStore.values()) list.sort((a, b) => a.born - b.born);
    return {storeOfVar, howOfVar, valuesOfStore};
}

/** The variable whose value a storage has at an instruction; NONE: room for work. @param {Memory} mem @param {number} store @param {number} at */
export function valueInStore(mem, store, at) {
    let found = mem.var[store];
    for (const v of mem.valuesOfStore.get(store) || []) if (v.born <= at) found = v.var;
    return found;
}

/** @param {import('./model.js').Model} m @returns {Memory|null} */
export function readMemory(m) {
    const t = m.raw.profile && m.raw.profile.memory;
    if (!t) return null;
    const store = t.store || {};
    const bytes = column(store.bytes, rowsOf(store, 'bytes'));
    const step = column(t.step, rowsOf(t, 'step'));
    const name = (/** @type {number|string} */ s) => (typeof s === 'number' ? m.strings[s] : s);
    return {
        step,
        live: column(t.live, step.length + 1),
        peakAt: t.peak_at || 0,
        unknown: t.unknown || 0,
        born: column(store.born, bytes.length),
        dies: column(store.dies, bytes.length),
        bytes,
        var: column(store.var, bytes.length),
        ...readValues(t.value || {}),
        functions: (t.functions || []).map((/** @type {any} */ f) => [name(f[0]), f[1]]),
        holders: (t.holders || []).map((/** @type {any} */ h) => [h[0], name(h[1]), h[2]]),
    };
}

/** Storages that are alive at an instruction, the largest first. @param {Memory} mem @param {number} at @returns {number[]} */
export function aliveAt(mem, at) {
    const out = [];
    for (let s = 0; s < mem.bytes.length; s++)
        if (mem.born[s] <= at && at <= mem.dies[s] && mem.bytes[s] > 0) out.push(s);
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
