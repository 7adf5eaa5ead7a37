// @ts-check
// Two graphs side by side, with equal parts at the same height.
import {button, el} from './dom.js';
import {NONE, column} from './columns.js';
import {GraphPane} from './graphpane.js';
import {viewSwitch} from './graphtab.js';
import {eachInBox} from './reach.js';
import {section, linkTo} from './parts.js';
import {countedText} from './format.js';
import {DIFF_COLOURS, DIFF_WORDS} from './theme.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./columns.js').Column} Column */
/** @typedef {{left: number, right: number, pair: Column, state: Column, stateRight: Column, back: Uint32Array}} PairTable */

const STATE = {equal: 0, changed: 1, inputs: 2, alone: 3};

/** @param {import('./model.js').Model} m @returns {PairTable[]} */
export function readPairs(m) {
    return (m.raw.diff.pairs || []).map((/** @type {any} */ p) => {
        const [left, right] = p;
        const pair = p[2] ? column(p[2], m.graphs[left].n) : new Uint32Array(m.graphs[left].n).fill(NONE);
        const back = new Uint32Array(m.graphs[right].n).fill(NONE);
        pair.forEach((/** @type {number} */ r, /** @type {number} */ l) => {
            if (r !== NONE && r < back.length) back[r] = l;
        });
        return {
            left,
            right,
            pair,
            state: column(p[3], m.graphs[left].n),
            stateRight: column(p[4], m.graphs[right].n),
            back,
        };
    });
}

/** The outermost node that shows an Apply: a box of the root, or itself. @param {import('./model.js').Graph} g @param {number} a */
function outermost(g, a) {
    let b = g.box[a];
    if (b === 0) return 'a' + a;
    while (g.boxParent[b] !== 0) b = g.boxParent[b];
    return 'b' + b;
}

/** How many Applies boxes of the two sides have in common, `left * boxes + right`. @param {import('./model.js').Graph} l @param {import('./model.js').Graph} r @param {Column} pair */
function sharedByBoxes(l, r, pair) {
    /** @type {Map<number, number>} */
    const shared = new Map();
    const n = r.boxTitle.length;
    for (let a = 0; a < l.n; a++) {
        if (pair[a] === NONE) continue;
        for (let b = l.box[a]; b !== 0; b = l.boxParent[b]) {
            for (let c = r.box[pair[a]]; c !== 0; c = r.boxParent[c])
                shared.set(b * n + c, (shared.get(b * n + c) || 0) + 1);
        }
    }
    return shared;
}

/** By box of the left, the one of the right that is most like it. @param {import('./model.js').Graph} l @param {import('./model.js').Graph} r @param {Column} pair @returns {Map<number, number>} */
export function boxPartners(l, r, pair) {
    const n = r.boxTitle.length;
    /** @type {[number, number, number][]} */
    const likeness = [];
    for (const [key, count] of sharedByBoxes(l, r, pair)) {
        const b = Math.floor(key / n);
        const c = key % n;
        const sameTitle = l.boxTitle[b] === r.boxTitle[c] ? 1 : 0;
        likeness.push([b, c, sameTitle + count / (l.boxApplies[b] + r.boxApplies[c])]);
    }
    likeness.sort((x, y) => y[2] - x[2]);
    /** @type {Map<number, number>} */
    const partner = new Map();
    const taken = new Set();
    for (const [b, c] of likeness) {
        if (partner.has(b) || taken.has(c)) continue;
        partner.set(b, c);
        taken.add(c);
    }
    return partner;
}

/** The state of what holds several Applies: the gravest, as a change. @param {Set<number>} states */
function stateOfMany(states) {
    if (states.has(STATE.changed)) return STATE.changed;
    if (states.has(STATE.alone)) return states.size === 1 ? STATE.alone : STATE.changed;
    return states.has(STATE.inputs) ? STATE.inputs : STATE.equal;
}

export class DiffTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        this.tables = readPairs(app.m);
        const {diff} = app.m.raw;
        const names = diff.names || ['left', 'right'];
        this.differences = this.listDifferences();
        this.at = -1;
        this.where = el('span', {class: 'soft'});
        const sides = el('div', {class: 'sides'});
        host.append(
            el(
                'div',
                {class: 'tools'},
                el('b', {}, diff.equal ? 'The graphs are equal.' : diff.why || 'The graphs differ.'),
                this.legend(),
            ),
            el(
                'div',
                {class: 'tools'},
                button('Previous difference', () => this.go(-1)),
                button('Next difference', () => this.go(1)),
                this.where,
                button('Fit', () => this.fit()),
                viewSwitch(app, 'details', 'details', 'Constants, dims, shapes'),
                viewSwitch(app, 'casts', 'casts', 'Changes of dtype'),
                viewSwitch(app, 'idle', 'idle', 'What no output needs'),
            ),
            sides,
        );
        this.panes = [0, 1].map(k => {
            const canvas = el('div', {class: 'canvas-host'});
            sides.append(el('div', {class: 'side'}, el('h2', {}, names[k]), canvas));
            const pane = new GraphPane(app, canvas, {
                root: app.roots[k],
                openKey: k ? 'openRight' : 'open',
                title: names[k],
                stateOf: v => this.stateOf(v),
                extra: v => this.partnerMark(v, k),
                moved: () => this.follow(k),
            });
            return pane;
        });
        const main = this.tables.find(t => t.left === app.roots[0] && t.right === app.roots[1]);
        const boxes = main ? boxPartners(app.m.graphs[main.left], app.m.graphs[main.right], main.pair) : new Map();
        // What opens on one side opens on the other: by box of a side, its partner.
        this.partnerBox = [boxes, new Map(Array.from(boxes, ([b, c]) => [c, b]))];
        this.openBoth();
        this.wasOpen = [app.state.open, app.state.openRight];
        app.store.watch(['open', 'openRight', 'details', 'casts', 'idle'], () => {
            if (!this.mirror()) this.layout();
        });
        this.asked = 0;
        this.following = false;
        this.shift = 0; // of the right picture, in units of it
        this.ready = this.layout();
    }

    legend() {
        return [1, 2, 3].map(k => {
            const swatch = el('span', {class: 'swatch'});
            swatch.style.background = DIFF_COLOURS[k];
            return el('span', {class: 'key'}, swatch, DIFF_WORDS[k]);
        });
    }

    /** The partner of a box, by path; empty: none. @param {number} side @param {string} path */
    otherBox(side, path) {
        const b = /^b\d+$/.test(path) ? this.partnerBox[side].get(Number(path.slice(1))) : undefined;
        return b === undefined ? '' : 'b' + b;
    }

    /** At first each side has open what either should have. */
    openBoth() {
        const {raw} = this.app.m;
        const first = [raw.open || [], raw.diff.open_right || []];
        const both = first.map((own, k) =>
            Array.from(
                new Set([
                    ...own,
                    ...first[1 - k].map((/** @type {string} */ p) => this.otherBox(1 - k, p)).filter(Boolean),
                ]),
            ),
        );
        const isFirst = [this.app.state.open, this.app.state.openRight].every(
            (s, k) => s.size === first[k].length && first[k].every((/** @type {string} */ p) => s.has(p)),
        );
        [raw.open, raw.diff.open_right] = both;
        if (isFirst) this.app.store.set({open: new Set(both[0]), openRight: new Set(both[1])});
    }

    /** Opens and closes on each side what was opened or closed on the other. @returns {boolean} whether anything changed */
    mirror() {
        const {store} = this.app;
        const open = [store.state.open, store.state.openRight];
        const now = open.map(s => new Set(s));
        const sizes = now.map(s => s.size);
        [0, 1].forEach(k => {
            for (const p of open[k])
                if (!this.wasOpen[k].has(p) && this.otherBox(k, p)) now[1 - k].add(this.otherBox(k, p));
            for (const p of this.wasOpen[k]) if (!open[k].has(p)) now[1 - k].delete(this.otherBox(k, p));
        });
        this.wasOpen = now;
        const changed = now.some((s, k) => s.size !== sizes[k]);
        if (changed) store.set({open: now[0], openRight: now[1]});
        return changed;
    }

    async layout() {
        const ask = ++this.asked;
        for (const p of this.panes) p.waiting = true;
        const scenes = await this.app.layouts.ask(
            this.panes.map(p => p.view()),
            this.alignment(),
        );
        if (ask !== this.asked) return;
        const first = !this.panes[0].picture.scene.nodes.length;
        this.panes.forEach((p, k) => p.setScene(scenes[k]));
        if (first) this.fit();
    }

    fit() {
        const [l, r] = this.panes.map(p => p.picture);
        const width = Math.max(l.scene.width, r.scene.width);
        const height = Math.max(l.scene.height, r.scene.height);
        const {w, h} = l.size;
        l.camera.fit({x: 0, y: 0, w: width, h: height}, w, h);
        this.shift = 0;
        if (l.camera.k < 0.4) {
            l.camera.k = Math.max(Math.min(0.7, (w - 40) / width), 0.4);
            l.camera.y = 16;
            Object.assign(r.camera, {y: l.camera.y, k: l.camera.k});
            for (const p of [l, r]) p.showTop();
            this.shift = (r.camera.x - l.camera.x) / l.camera.k;
        }
        l.moved();
    }

    /** What one side does the other does. @param {number} k */
    follow(k) {
        if (this.following || !this.panes || this.panes.length < 2) return;
        this.following = true;
        const [from, to] = [this.panes[k].picture, this.panes[1 - k].picture];
        const shift = (k === 0 ? this.shift : -this.shift) * from.camera.k;
        Object.assign(to.camera, {x: from.camera.x + shift, y: from.camera.y, k: from.camera.k});
        if (from.refine) to.settleSoon();
        to.redraw();
        this.following = false;
    }

    /** @param {number} graph @returns {{table: PairTable, right: boolean}|null} */
    tableOf(graph) {
        for (const table of this.tables) {
            if (table.left === graph) return {table, right: false};
            if (table.right === graph) return {table, right: true};
        }
        return null;
    }

    /** @param {import('./scene.js').SceneNode} v */
    stateOf(v) {
        const found = this.tableOf(v.graph);
        if (!found) return v.kind === 'apply' ? STATE.alone : STATE.equal;
        const states = found.right ? found.table.stateRight : found.table.state;
        if (v.kind === 'apply') return states[v.id];
        if (v.kind === 'leaf' || v.open) return STATE.equal;
        const set = new Set();
        eachInBox(this.app.m.graphs[v.graph], v.kind === 'box' ? v.id : 0, a => set.add(states[a]));
        return stateOfMany(set);
    }

    /** The partner of an Apply on the other side, as a choice. @param {{graph: number, kind: string, id: number}} c */
    partner(c) {
        const found = c.kind === 'apply' ? this.tableOf(c.graph) : null;
        if (!found) return null;
        const other = (found.right ? found.table.back : found.table.pair)[c.id];
        return other === NONE || other === undefined
            ? null
            : this.app.choice(found.right ? found.table.left : found.table.right, 'apply', other);
    }

    /** @param {import('./scene.js').SceneNode} v @param {number} k */
    partnerMark(v, k) {
        const c = this.app.state.chosen;
        if (!c || c.root === this.app.roots[k]) return null;
        const partner = this.partner(c);
        return partner && partner.path === v.path ? {border: this.app.palette().accent, badge: 'the same'} : null;
    }

    /** By outermost node of the left, the one of the right that most of its parts are in. */
    alignment() {
        /** @type {Record<string, string>} */
        const out = {};
        const table = this.tables.find(t => t.left === this.app.roots[0] && t.right === this.app.roots[1]);
        if (!table) return out;
        const [l, r] = [this.app.m.graphs[table.left], this.app.m.graphs[table.right]];
        /** @type {Map<string, Map<string, number>>} */
        const votes = new Map();
        table.pair.forEach((/** @type {number} */ b, /** @type {number} */ a) => {
            if (b === NONE) return;
            const from = outermost(l, a);
            const to = outermost(r, b);
            const count = votes.get(from) || new Map();
            votes.set(from, count.set(to, (count.get(to) || 0) + 1));
        });
        for (const [from, count] of votes)
            out[from] = Array.from(count).reduce((best, x) => (x[1] > best[1] ? x : best))[0];
        return out;
    }

    listDifferences() {
        /** @type {import('./store.js').Choice[]} */
        const out = [];
        const add = (/** @type {number} */ graph, /** @type {Column} */ states) =>
            states.forEach((/** @type {number} */ s, /** @type {number} */ a) => {
                if (s === STATE.changed || s === STATE.alone) out.push(this.app.choice(graph, 'apply', a));
            });
        for (const t of this.tables) {
            add(t.left, t.state);
            t.stateRight.forEach((/** @type {number} */ s, /** @type {number} */ a) => {
                if (s === STATE.alone) out.push(this.app.choice(t.right, 'apply', a));
            });
        }
        return out;
    }

    /** @param {number} step */
    go(step) {
        const n = this.differences.length;
        if (!n) return;
        this.at = this.at < 0 ? (step > 0 ? 0 : n - 1) : (this.at + step + n) % n;
        this.where.textContent = this.at + 1 + ' of ' + countedText(n, 'difference');
        this.app.choose(this.differences[this.at]);
    }

    /** What the panel says of a choice here. @param {import('./store.js').Choice} c */
    panelPart(c) {
        const found = c.kind === 'apply' ? this.tableOf(c.graph) : null;
        if (!found) return null;
        const state = (found.right ? found.table.stateRight : found.table.state)[c.id];
        const partner = this.partner(c);
        return section(
            'On the other side',
            el('p', {}, DIFF_WORDS[state]),
            partner ? linkTo(this.app, partner) : el('p', {class: 'soft'}, 'nothing like it'),
        );
    }
}
