// @ts-check
// What Applies cost, by measure; boxes cost what is in them.
import {column} from './columns.js';

/** @typedef {import('./columns.js').Column} Column */
/** @typedef {import('./model.js').Model} Model */
/** @typedef {{time: Column|null, calls: Column, flops: Column, math: Column, read: Column, written: Column}} GraphCosts */
/** @typedef {'time'|'flops'|'bytes'|'intensity'|'change'} Measure */

/** @param {any} c @param {number} n @returns {GraphCosts} */
function readCosts(c, n) {
    return {
        time: c.time_s ? column(c.time_s, n) : null,
        calls: column(c.calls, n),
        flops: column(c.flops, n),
        math: column(c.math, n),
        read: column(c.read, n),
        written: column(c.written, n),
    };
}

export class Costs {
    /** @param {Model} m */
    constructor(m) {
        this.m = m;
        const profile = m.raw.profile;
        this.has = !!profile;
        this.isStatic = !!(profile && profile.static);
        const cost = (profile && profile.cost) || [];
        /** @type {(GraphCosts|null)[]} */
        this.graphs = m.graphs.map((g, i) => (cost[i] ? readCosts(cost[i], g.n) : null));
        /** @type {Map<string, string>[]} */
        this.symbolic = m.graphs.map(
            (g, i) =>
                new Map(((cost[i] && cost[i].sym) || []).map((/** @type {any} */ s) => [s[0] + ' ' + s[1], s[2]])),
        );
        const before = (m.raw.compare && m.raw.compare.applies) || [];
        this.before = m.graphs.map((g, i) =>
            before[i]
                ? {
                      time: column(before[i].time_s, g.n),
                      flops: column(before[i].flops, g.n),
                      bytes: column(before[i].bytes, g.n),
                  }
                : null,
        );
        /** @type {Map<string, Float64Array>} */
        this.sums = new Map();
    }

    hasTime() {
        return this.has && this.graphs.some(c => c && c.time);
    }

    /** @returns {Measure[]} */
    measures() {
        /** @type {Measure[]} */
        const out = [];
        if (!this.has) return out;
        if (this.hasTime()) out.push('time');
        out.push('flops', 'bytes', 'intensity');
        if (this.before.some(b => b)) out.push('change');
        return out;
    }

    /** Known and additive: what sums of boxes are made of. @param {'time'|'flops'|'bytes'|'timeBefore'} what @param {number} graph @param {number} a @returns {number} */
    add(what, graph, a) {
        if (what === 'timeBefore') {
            const b = this.before[graph];
            return b ? b[this.hasTime() ? 'time' : 'flops'][a] : NaN;
        }
        const c = this.graphs[graph];
        if (!c) return NaN;
        if (what === 'bytes') return c.read[a] + c.written[a];
        return what === 'time' ? (c.time ? c.time[a] : NaN) : c.flops[a];
    }

    /** @param {Measure} measure @param {number} graph @param {number} a @returns {number} */
    ofApply(measure, graph, a) {
        return this.combine(measure, what => this.add(what, graph, a));
    }

    /** @param {Measure} measure @param {number} graph @param {number} b @returns {number} */
    ofBox(measure, graph, b) {
        return this.combine(measure, what => this.boxSums(what, graph)[b]);
    }

    /** @param {Measure} measure @param {(what: 'time'|'flops'|'bytes'|'timeBefore') => number} get */
    combine(measure, get) {
        if (measure === 'intensity') return get('flops') / get('bytes');
        if (measure !== 'change') return get(measure);
        const now = get(this.hasTime() ? 'time' : 'flops');
        return now / get('timeBefore');
    }

    /** Sums by box; what is unknown counts nothing. @param {'time'|'flops'|'bytes'|'timeBefore'} what @param {number} graph */
    boxSums(what, graph) {
        const key = what + graph;
        let sums = this.sums.get(key);
        if (sums) return sums;
        const g = this.m.graphs[graph];
        sums = new Float64Array(g.boxTitle.length);
        for (let a = 0; a < g.n; a++) sums[g.box[a]] += this.add(what, graph, a) || 0;
        this.addInnerSums(g, sums, 0);
        this.sums.set(key, sums);
        return sums;
    }

    /** @param {import('./model.js').Graph} g @param {Float64Array} sums @param {number} b @returns {number} */
    addInnerSums(g, sums, b) {
        for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++) {
            if ((g.item[i] & 3) === 2) sums[b] += this.addInnerSums(g, sums, g.item[i] >>> 2);
        }
        return sums[b];
    }

    /** An amount that depends on open dims, as a text. @param {number} graph @param {number} a @param {string} field */
    formula(graph, a, field) {
        return this.symbolic[graph].get(a + ' ' + field) || '';
    }

    /** The sum over all Applies. @param {'time'|'flops'|'bytes'} what */
    total(what) {
        let sum = 0;
        this.m.graphs.forEach((g, i) => {
            if (!this.graphs[i]) return;
            for (let a = 0; a < g.n; a++) sum += this.add(what, i, a) || 0;
        });
        return sum;
    }
}

export const MEASURE_WORDS = {
    time: 'time',
    flops: 'flops',
    bytes: 'bytes moved',
    intensity: 'flops per byte',
    change: 'change',
};
