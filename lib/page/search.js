// @ts-check
// Finds Applies and leaves by name, op, dtype, shape or line. Words are looked for in each text of the data once; then
// rows are compared by numbers.
import {KIND, isResult, labelOf, nameOfVar, typeOf} from './model.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {{graph: number, kind: 'apply'|'leaf', id: number, score: number, title: string, note: string}} Hit */
/** @typedef {{field: string, word: string}} Term */

const FIELDS = new Set(['name', 'op', 'type', 'line', 'rule']);

/** @param {string} query @returns {Term[]} */
export function parseQuery(query) {
    // A shape in brackets is one word, whatever blanks it has.
    const words = query.toLowerCase().match(/(?:[^\s[]|\[[^\]]*\]?)+/g) || [];
    return words.map(word => {
        const at = word.indexOf(':');
        const field = at > 0 ? word.slice(0, at) : '';
        return FIELDS.has(field) && at < word.length - 1 ? {field, word: word.slice(at + 1)} : {field: '', word};
    });
}

/** How well a word fits a text: 0 not at all, 3 wholly. @param {string} text @param {string} word */
function fit(text, word) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    return text.length === word.length ? 3 : at === 0 ? 2 : 1;
}

class TermTable {
    /** @param {Model} m @param {Term} term @param {string[]} lower */
    constructor(m, term, lower) {
        const word = term.word.replace(/\s+/g, '');
        this.term = term;
        this.text = Uint8Array.from(lower, s => fit(s, term.word));
        this.type = Uint8Array.from(m.typeText, t => (fit(lower[t].replace(/\s+/g, ''), word) ? 1 : 0));
        this.op = Uint8Array.from(m.ops, o => fit(o.name, term.word));
        this.line = /^\d+$/.test(term.word) ? Number(term.word) : -1;
    }

    /** @param {import('./model.js').Graph} g @param {number} a */
    ofApply(g, a) {
        const {field} = this.term;
        let score = 0;
        for (let v = g.out[a]; v < g.out[a] + g.nout[a]; v++) {
            if (!field || field === 'name') score = Math.max(score, 2 * this.text[g.varName[v]]);
            if (!field || field === 'type') score = Math.max(score, this.type[g.varType[v]]);
        }
        if (!field || field === 'op') score = Math.max(score, 2 * this.op[g.op[a]] - 1, this.text[g.label[a]]);
        if (field === 'line' && g.line[a] === this.line) score = 3;
        if (field === 'rule') score = this.text[g.rule[a]];
        return score;
    }

    /** @param {import('./model.js').Graph} g @param {number} v */
    ofLeaf(g, v) {
        const {field} = this.term;
        let score = 0;
        if (!field || field === 'name') score = Math.max(2 * this.text[g.varName[v]], this.text[g.varText[v]]);
        if (!field || field === 'type') score = Math.max(score, this.type[g.varType[v]]);
        return score;
    }
}

export class Search {
    /** @param {Model} m */
    constructor(m) {
        this.m = m;
        /** @type {string[]|null} */
        this.lower = null;
    }

    /** The best of what fits all words. @param {string} query @param {number} most @param {(graph: number) => boolean} within @returns {{hits: Hit[], count: number}} */
    find(query, most, within) {
        this.lower = this.lower || this.m.strings.map(s => s.toLowerCase());
        const lower = this.lower;
        const tables = parseQuery(query).map(t => new TermTable(this.m, t, lower));
        /** @type {Hit[]} */
        const hits = [];
        if (!tables.length) return {hits, count: 0};
        this.m.graphs.forEach((g, graph) => {
            if (!within(graph)) return;
            for (let a = 0; a < g.n; a++) addHit(hits, tables, graph, 'apply', a, t => t.ofApply(g, a));
            for (let v = 0; v < g.nvar; v++)
                if (!isResult(g, v)) addHit(hits, tables, graph, 'leaf', v, t => t.ofLeaf(g, v));
        });
        hits.sort((a, b) => b.score - a.score || a.graph - b.graph || a.id - b.id);
        const best = hits.slice(0, most);
        for (const h of best) this.describe(h);
        return {hits: best, count: hits.length};
    }

    /** @param {Hit} h */
    describe(h) {
        const g = this.m.graphs[h.graph];
        const where = h.graph && g.name ? ' in ' + g.name : '';
        if (h.kind === 'leaf') {
            h.title = nameOfVar(this.m, g, h.id);
            h.note =
                ['result', 'input', 'shared', 'constant', 'dim'][g.varKind[h.id]] +
                ' ' +
                typeOf(this.m, g, h.id) +
                where;
            return;
        }
        const name = g.nout[h.id] ? this.m.strings[g.varName[g.out[h.id]]] : '';
        h.title = (name ? name + ' = ' : '') + labelOf(this.m, g, h.id);
        h.note =
            (g.nout[h.id] ? typeOf(this.m, g, g.out[h.id]) : '') +
            where +
            (g.line[h.id] ? ', line ' + g.line[h.id] : '');
    }
}

/** @param {Hit[]} hits @param {TermTable[]} tables @param {number} graph @param {'apply'|'leaf'} kind @param {number} id @param {(t: TermTable) => number} scoreOf */
function addHit(hits, tables, graph, kind, id, scoreOf) {
    let sum = 0;
    for (const t of tables) {
        const score = scoreOf(t);
        if (score <= 0) return;
        sum += score;
    }
    hits.push({graph, kind, id, score: sum, title: '', note: ''});
}

/** @param {number} kind */
export function leafWord(kind) {
    return kind === KIND.input
        ? 'input'
        : kind === KIND.shared
          ? 'shared variable'
          : kind === KIND.constant
            ? 'constant'
            : kind === KIND.dim
              ? 'dim'
              : 'variable';
}
