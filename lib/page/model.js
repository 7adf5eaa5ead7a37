// @ts-check
// What the page knows: the JSON of the data as tables of typed arrays. Plain objects, so that a worker can be sent them.
import {NONE, column, freeColumn, listOrColumn, prefixSums} from './columns.js';

/** @typedef {import('./columns.js').Column} Column */
/**
 * @typedef {Object} Graph
 * @property {number} index
 * @property {string} name
 * @property {string} doc
 * @property {string} what
 * @property {number[]} inputs
 * @property {number[]} shared
 * @property {[number, number][]} outputs   label (a string's number), variable
 * @property {[number, number][]} updates   shared variable, its new value
 * @property {number} n                     Applies
 * @property {number} nvar
 * @property {Column} op
 * @property {Column} label
 * @property {Column} props
 * @property {Uint32Array} inFirst
 * @property {Column} input
 * @property {Column} out
 * @property {Column} nout
 * @property {Column} line
 * @property {Column} source
 * @property {Column} rule
 * @property {Column} flags
 * @property {Column} box
 * @property {Column} varName
 * @property {Column} varType
 * @property {Column} varKind
 * @property {Column} varText
 * @property {Column} varBox
 * @property {Column} varFlags
 * @property {Column} varAlias           the name in the model that it was read from
 * @property {Uint32Array} varOwner      NONE: a leaf
 * @property {Uint8Array|Column} outputOf   1: an output, 2: a new value of a shared variable, by variable
 * @property {ArrayLike<number>} boxTitle
 * @property {Column} boxKind
 * @property {Column} boxParent
 * @property {Column} boxApplies
 * @property {Column} boxShared
 * @property {Column} boxLeaves
 * @property {Column} itemFirst
 * @property {Column} item
 * @property {Map<number, {graphs: number[]}>} calls   functions that an Apply opens into
 * @property {Column|null} born             explain: steps of the list after which an Apply is there
 */
/**
 * @typedef {Object} Model
 * @property {any} raw
 * @property {string} kind
 * @property {string} title
 * @property {string[]} strings
 * @property {ArrayLike<number>} typeText
 * @property {Column} typeBytes
 * @property {{name: string, family: string, doc: string}[]} ops
 * @property {{name: string, text: Map<number, number>}[]} sources   texts by line
 * @property {Graph[]} graphs
 */

export const APPLY = {detail: 1, cast: 2, effect: 4, derivative: 8, idle: 16, wide: 32};
export const VAR = {detail: 1, idle: 16};
export const KIND = {result: 0, input: 1, shared: 2, constant: 3, dim: 4};
export const BOX = {root: 0, forward: 1, gradient: 2, update: 3, names: 4, part: 5, branch: 6};

/** The columns of one table. @param {any} t @param {string[]} names @param {number} n @param {string} prefix */
function columnsOf(t, names, n, prefix) {
    /** @type {any} */
    const out = {};
    for (const name of names) {
        const to = prefix ? prefix + name[0].toUpperCase() + name.slice(1) : name;
        out[to] = column(t && t[name], n);
    }
    return out;
}

/** @param {any} g @returns {Column} */
function outputMarks(g) {
    const marks = new Uint8Array(g.nvar);
    for (const [, v] of g.outputs || []) marks[v] |= 1;
    for (const [, v] of g.updates || []) marks[v] |= 2;
    return marks;
}

/** By variable, the Apply that makes it. @param {Column} out @param {Column} nout @param {number} nvar */
function ownersOf(out, nout, nvar) {
    const owner = new Uint32Array(nvar).fill(NONE);
    for (let a = 0; a < out.length; a++) for (let k = 0; k < nout[a]; k++) owner[out[a] + k] = a;
    return owner;
}

/** @param {any[]} raw @param {Graph[]} graphs */
function linkCalls(raw, graphs) {
    raw.forEach((g, i) => {
        const {calls} = graphs[i];
        for (const [apply, graph] of g.calls || []) {
            const call = calls.get(apply);
            if (call) call.graphs.push(graph);
            else calls.set(apply, {graphs: [graph]});
        }
    });
}

/** @param {any} s */
function readSource(s) {
    const line = freeColumn(s.line);
    const text = column(s.text, line.length);
    return {name: s.name, text: new Map(Array.from(line, (l, i) => [l, text[i]]))};
}

/** @param {any} g @param {number} index @param {string[]} strings @returns {Graph} */
function readGraph(g, index, strings) {
    const t = g.apply || {};
    const b = g.box || {};
    const titles = listOrColumn(b.title);
    const out = column(t.out, g.n);
    const nout = column(t.nout, g.n);
    return {
        index,
        name: strings[g.name] || '',
        doc: strings[g.doc] || '',
        what: g.what || 'function',
        inputs: g.inputs || [],
        shared: g.shared || [],
        outputs: g.outputs || [],
        updates: g.updates || [],
        n: g.n,
        nvar: g.nvar,
        ...columnsOf(t, ['op', 'label', 'props', 'line', 'source', 'rule', 'flags', 'box'], g.n, ''),
        out,
        nout,
        varOwner: ownersOf(out, nout, g.nvar),
        inFirst: prefixSums(column(t.nin, g.n)),
        input: freeColumn(t.in),
        ...columnsOf(g.var, ['name', 'alias', 'type', 'kind', 'text', 'box', 'flags'], g.nvar, 'var'),
        outputOf: outputMarks(g),
        boxTitle: titles,
        ...columnsOf(b, ['kind', 'parent', 'applies', 'shared', 'leaves'], titles.length, 'box'),
        itemFirst: freeColumn(b.first),
        item: freeColumn(b.item),
        calls: new Map(),
        born: g.born || t.born ? column(g.born || t.born, g.n) : null,
    };
}

/** @param {any} raw @returns {Model} */
export function readModel(raw) {
    const strings = raw.strings || [''];
    const types = raw.types || {};
    const typeText = listOrColumn(types.text);
    const graphs = (raw.graphs || []).map((/** @type {any} */ g, /** @type {number} */ i) => readGraph(g, i, strings));
    linkCalls(raw.graphs || [], graphs);
    return {
        raw,
        kind: raw.kind,
        title: raw.title || '',
        strings,
        typeText,
        typeBytes: column(types.bytes, typeText.length),
        ops: raw.ops || [],
        sources: (raw.sources || []).map(readSource),
        graphs,
    };
}

/** What the worker needs of it. @param {Model} m @returns {Model} */
export function layoutPart(m) {
    return {...m, raw: null, sources: []};
}

/** @param {Model} m @param {Graph} g @param {number} v */
export function typeOf(m, g, v) {
    return m.strings[m.typeText[g.varType[v]]] || '';
}

/** Bytes of a variable's value; NaN: its dims are open. @param {Model} m @param {Graph} g @param {number} v */
export function bytesOf(m, g, v) {
    return m.typeBytes[g.varType[v]];
}

/** The label of an Apply: its op, or what it does where that differs. @param {Model} m @param {Graph} g @param {number} a */
export function labelOf(m, g, a) {
    return m.strings[g.label[a]] || m.ops[g.op[a]].name;
}

/** The name of an Apply: that of its first output that has one. @param {Model} m @param {Graph} g @param {number} a */
export function nameOfApply(m, g, a) {
    return g.nout[a] ? m.strings[g.varName[g.out[a]]] : '';
}

/** @param {Model} m @param {Graph} g @param {number} v */
export function nameOfVar(m, g, v) {
    const name = m.strings[g.varName[v]];
    if (name) return name;
    if (g.varKind[v] === KIND.constant) return m.strings[g.varText[v]] || 'constant';
    const a = g.varOwner[v];
    if (a === NONE || g.varKind[v] !== KIND.result) return 'variable ' + v;
    return labelOf(m, g, a) + ' #' + a + (v > g.out[a] ? ':' + (v - g.out[a]) : '');
}

/** Is it the result of an Apply? @param {Graph} g @param {number} v */
export function isResult(g, v) {
    return g.varKind[v] === KIND.result && g.varOwner[v] !== NONE;
}

/** The bytes of an Apply's outputs. @param {Model} m @param {Graph} g @param {number} a */
export function outputBytes(m, g, a) {
    let sum = 0;
    for (let k = 0; k < g.nout[a]; k++) sum += bytesOf(m, g, g.out[a] + k);
    return sum;
}

/** The line of the file that an Apply comes from. @param {Model} m @param {Graph} g @param {number} a */
export function lineOf(m, g, a) {
    if (!g.line[a]) return null;
    const source = m.sources[g.source[a]];
    if (!source) return null;
    return {file: source.name, line: g.line[a], text: m.strings[source.text.get(g.line[a]) || 0]};
}

/** Which Applies read each variable: rows of one table. @param {Graph} g @returns {{first: Uint32Array, apply: Uint32Array}} */
export function readersOf(g) {
    const count = new Uint32Array(g.nvar + 1);
    for (let i = 0; i < g.input.length; i++) count[g.input[i]]++;
    const first = prefixSums(count);
    const apply = new Uint32Array(g.input.length);
    const at = first.slice();
    for (let a = 0; a < g.n; a++) for (let i = g.inFirst[a]; i < g.inFirst[a + 1]; i++) apply[at[g.input[i]]++] = a;
    return {first, apply};
}
