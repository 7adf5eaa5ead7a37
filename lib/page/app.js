// @ts-check
// What all parts of the page share: the data, what is chosen, and how to choose something else.
import {Costs} from './costs.js';
import {Layouts} from './layouts.js';
import {Search} from './search.js';
import {NONE} from './columns.js';
import {BOX, KIND, labelOf, nameOfVar, typeOf} from './model.js';
import {boxOfItem, callersOf, choiceOfPath, itemOfVar, opensFor, prefixOfGraph} from './paths.js';
import {ancestors, between, descendants, marksOfNode, union} from './reach.js';
import {familyColours, isDark, paletteOf} from './theme.js';

/** @typedef {import('./store.js').Choice} Choice */

/** @param {import('./model.js').Model} m @returns {number[]} */
function rootsOf(m) {
    const {diff, explain} = m.raw;
    if (diff) return [0, diff.nleft];
    if (explain) return m.graphs.filter(g => g.what === 'main').map(g => g.index);
    return [0];
}

export class App {
    /** @param {import('./model.js').Model} m @param {import('./store.js').Store} store @param {string} workerCode */
    constructor(m, store, workerCode) {
        this.m = m;
        this.store = store;
        this.layouts = new Layouts(m, workerCode);
        this.costs = new Costs(m);
        this.search = new Search(m);
        this.callers = callersOf(m);
        this.families = familyColours(m);
        // Graphs that are no functions of others, ascending: two of a comparison, those of a rewriting.
        this.roots = rootsOf(m);
        this.root = m.raw.explain ? this.roots[this.roots.length - 1] : 0;
    }

    get state() {
        return this.store.state;
    }

    palette() {
        return paletteOf(this.state.theme);
    }

    dark() {
        return isDark(this.state.theme);
    }

    /** @param {number} graph */
    rootOf(graph) {
        return this.roots.reduce((found, r) => (r <= graph ? r : found), 0);
    }

    /** Which set has what is open of a root. @param {number} root @returns {'open'|'openRight'} */
    openKey(root) {
        return root === this.root ? 'open' : 'openRight';
    }

    /** What is in a graph, as a choice: with its path, if the picture can show it. @param {number} graph @param {string} kind @param {number} id @returns {Choice} */
    choice(graph, kind, id) {
        const root = this.rootOf(graph);
        const prefix = prefixOfGraph(this.m, root, graph, this.callers);
        const letter = kind === 'apply' ? 'a' : kind === 'leaf' ? 'v' : 'b';
        return {root, path: prefix === null ? '' : prefix + letter + id, graph, kind, id};
    }

    /** @param {number} graph @param {number} v @returns {Choice} */
    choiceOfVar(graph, v) {
        const item = itemOfVar(this.m.graphs[graph], v);
        return this.choice(graph, item.kind, item.id);
    }

    /** Chooses and opens what is around it; where the other end of a path is asked for, it is that. @param {Choice|null} c @param {string} [tab] */
    choose(c, tab) {
        const {chosen, reach} = this.state;
        if (c && chosen && reach && reach.kind === 'path' && !reach.to && c.path !== chosen.path) {
            this.store.set({reach: {kind: 'path', to: c}, ...this.opened(c), ...(tab ? {tab} : {})});
            return;
        }
        /** @type {Partial<import('./store.js').State>} */
        const patch = {chosen: c, reach: null};
        if (tab) patch.tab = tab;
        if (c) Object.assign(patch, this.opened(c));
        this.store.set(patch);
    }

    /** What is open once a choice can be seen. @param {Choice} c @returns {Partial<import('./store.js').State>} */
    opened(c) {
        const key = this.openKey(c.root);
        const open = this.state[key];
        const more = opensFor(this.m, c.root, c.path).filter(p => !open.has(p));
        return {...(more.length ? {[key]: new Set([...open, ...more])} : {}), ...this.unhidden(c)};
    }

    /** Shows details, casts or idle parts, if the choice is one. @param {Choice} c @returns {Partial<import('./store.js').State>} */
    unhidden(c) {
        const g = this.m.graphs[c.graph];
        if (c.kind === 'leaf') {
            const isDetail = g.varFlags[c.id] & 1 || g.varKind[c.id] === KIND.constant || g.varKind[c.id] === KIND.dim;
            return {...(isDetail ? {details: true} : {}), ...(g.varFlags[c.id] & 16 ? {idle: true} : {})};
        }
        if (c.kind !== 'apply') return {};
        const f = g.flags[c.id];
        return {...(f & 1 ? {details: true} : {}), ...(f & 2 ? {casts: true} : {}), ...(f & 16 ? {idle: true} : {})};
    }

    /** Opens or closes a box or call. @param {Choice} c */
    toggle(c) {
        const key = this.openKey(c.root);
        const open = new Set(this.state[key]);
        if (open.has(c.path)) for (const p of this.openWithin(c, open)) open.delete(p);
        else open.add(c.path);
        this.store.set({[key]: open});
    }

    /** What closes with a node: what is open in it. @param {Choice} c @param {Set<string>} open */
    openWithin(c, open) {
        return Array.from(open).filter(
            p => p === c.path || (p.startsWith(c.path + '/') && c.path) || opensFor(this.m, c.root, p).includes(c.path),
        );
    }

    /** @param {Choice} c */
    isOpen(c) {
        return this.state[this.openKey(c.root)].has(c.path);
    }

    /** Can it be opened? @param {{kind: string, graph: number, id: number}} v */
    holds(v) {
        return v.kind === 'box' || v.kind === 'part' || (v.kind === 'apply' && this.m.graphs[v.graph].calls.has(v.id));
    }

    /** Applies and leaves that are marked, of the graph of the choice. @returns {import('./reach.js').Marks|null} */
    marks() {
        const {chosen, reach} = this.state;
        if (!chosen || !reach) return null;
        const g = this.m.graphs[chosen.graph];
        const from = marksOfNode(g, chosen.kind, chosen.id);
        if (reach.kind === 'up') return ancestors(g, from);
        if (reach.kind === 'down') return descendants(g, from);
        if (reach.kind === 'both') return union(g, ancestors(g, from), descendants(g, from));
        if (!reach.to || reach.to.graph !== chosen.graph) return null;
        return between(g, from, marksOfNode(g, reach.to.kind, reach.to.id));
    }

    /** The title of a choice. @param {Choice} c @returns {string} */
    titleOf(c) {
        const g = this.m.graphs[c.graph];
        if (c.kind === 'box') return this.m.strings[g.boxTitle[c.id]] || 'all';
        if (c.kind === 'part') return g.name;
        if (c.kind === 'leaf') return nameOfVar(this.m, g, c.id);
        const name = g.nout[c.id] ? this.m.strings[g.varName[g.out[c.id]]] : '';
        return (name ? name + ' = ' : '') + labelOf(this.m, g, c.id);
    }

    /** @param {Choice} c */
    typeOf(c) {
        const g = this.m.graphs[c.graph];
        if (c.kind === 'leaf') return typeOf(this.m, g, c.id);
        return c.kind === 'apply' && g.nout[c.id] ? typeOf(this.m, g, g.out[c.id]) : '';
    }

    /** Boxes and calls around a choice, from the outermost. @param {Choice} c @returns {Choice[]} */
    around(c) {
        if (!c.path) return [];
        /** @type {Choice[]} */
        const out = [];
        for (const p of opensFor(this.m, c.root, c.path)) {
            const found = choiceOfPath(this.m, c.root, p);
            if (found) out.push(found);
        }
        return out.sort((a, b) => this.depth(a) - this.depth(b));
    }

    /** @param {Choice} c */
    depth(c) {
        return opensFor(this.m, c.root, c.path).length;
    }

    /** The part of the graph that an Apply belongs to: forward, gradient, update. @param {number} graph @param {string} kind @param {number} id */
    partOf(graph, kind, id) {
        const g = this.m.graphs[graph];
        for (let b = boxOfItem(g, kind, id); b !== NONE && b !== 0; b = g.boxParent[b]) {
            const k = g.boxKind[b];
            if (k === BOX.forward || k === BOX.gradient || k === BOX.update) return this.m.strings[g.boxTitle[b]];
        }
        return '';
    }
}
