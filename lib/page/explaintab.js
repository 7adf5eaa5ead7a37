// @ts-check
// A rewriting, step by step: what the graph was after any of its steps.
import {button, el, replace} from './dom.js';
import {GraphPane} from './graphpane.js';
import {APPLY, isResult} from './model.js';
import {NONE} from './columns.js';
import {viewSwitch} from './graphtab.js';
import {eachInBox} from './reach.js';
import {opensFor} from './paths.js';
import {countedText} from './format.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {{epoch: number, rule: string, before: number[], after: number[], textBefore: string, textAfter: string}} RewriteStep */

const OPEN_WHOLE = 80;
const LISTED_STEPS = 3000;

/** @param {import('./model.js').Model} m @returns {RewriteStep[]} */
export function readSteps(m) {
    const text = (/** @type {number|string|null} */ s) => (typeof s === 'number' ? m.strings[s] : s || '');
    return (m.raw.explain.steps || []).map((/** @type {any} */ s) => ({
        epoch: s[0],
        rule: text(s[1]),
        before: [s[2], ...(s[4] || [])],
        after: [s[3], ...(s[5] || [])],
        textBefore: text(s[6]),
        textAfter: text(s[7]),
    }));
}

/** What each variable of an epoch stands for after some steps of the list. @param {RewriteStep[]} steps @param {number} epoch @param {number} done @param {number} nvar */
export function substitution(steps, epoch, done, nvar) {
    const to = Uint32Array.from({length: nvar}, (_, v) => v);
    for (let k = 0; k < done; k++) {
        const s = steps[k];
        if (s.epoch === epoch)
            s.before.forEach((v, i) => {
                if (v < nvar && s.after[i] !== undefined && s.after[i] !== NONE) to[v] = s.after[i];
            });
    }
    for (let v = 0; v < nvar; v++) {
        let w = to[v];
        for (let hops = 0; to[w] !== w && hops < nvar; hops++) w = to[w];
        to[v] = w;
    }
    return to;
}

/** Applies that outputs and updates need after a substitution, and effects. @param {import('./model.js').Graph} g @param {Uint32Array} instead @param {number} done @returns {Uint8Array} */
export function neededApplies(g, instead, done) {
    const alive = new Uint8Array(g.n);
    /** @type {number[]} */
    const todo = [];
    const need = (/** @type {number} */ v) => {
        const w = instead[v];
        if (!isResult(g, w) || alive[g.varOwner[w]]) return;
        alive[g.varOwner[w]] = 1;
        todo.push(g.varOwner[w]);
    };
    for (const [, v] of g.outputs) need(v);
    for (const [, v] of g.updates) need(v);
    for (let a = 0; a < g.n; a++)
        if (g.flags[a] & APPLY.effect && (!g.born || g.born[a] <= done) && instead[g.out[a]] === g.out[a])
            need(g.out[a]);
    while (todo.length) {
        const a = /** @type {number} */ (todo.pop());
        for (let i = g.inFirst[a]; i < g.inFirst[a + 1]; i++) need(g.input[i]);
    }
    return alive;
}

export class ExplainTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        this.steps = readSteps(app.m);
        this.epochs = app.m.raw.explain.epochs || [];
        this.slider = el('input', {
            type: 'range',
            min: '0',
            max: String(this.steps.length),
            'aria-label': 'Step',
            oninput: () => this.go(Number(this.slider.value)),
        });
        this.count = el('span', {class: 'soft', role: 'status'});
        this.filter = el('input', {
            type: 'search',
            placeholder: 'Filter rules',
            'aria-label': 'Filter the steps by rule',
            oninput: () => this.listSteps(),
        });
        this.list = el('ol', {});
        this.change = el('div', {class: 'change'});
        const canvas = el('div', {class: 'canvas-host'});
        host.append(
            el(
                'div',
                {class: 'tools'},
                button('|◂', () => this.go(0), {title: 'Before all steps', 'aria-label': 'Before all steps'}),
                button('◂', () => this.go(this.at - 1), {title: 'One step back ([)', 'aria-label': 'One step back'}),
                button('▸', () => this.go(this.at + 1), {
                    title: 'One step forward (])',
                    'aria-label': 'One step forward',
                }),
                button('▸|', () => this.go(this.steps.length), {
                    title: 'After all steps',
                    'aria-label': 'After all steps',
                }),
                this.slider,
                this.count,
                button('Fit', () => this.pane.picture.fit()),
                viewSwitch(app, 'details', 'details', 'Constants, dims, shapes'),
                viewSwitch(app, 'casts', 'casts', 'Changes of dtype'),
            ),
            el(
                'div',
                {class: 'split'},
                el('div', {class: 'list'}, el('div', {class: 'tools'}, this.filter), this.list),
                el('div', {class: 'rest'}, this.change, canvas),
            ),
        );
        /** @type {{made: Set<number>, next: Set<number>}} */
        this.changed = {made: new Set(), next: new Set()};
        this.pane = new GraphPane(app, canvas, {
            root: this.epochs[0] || 0,
            openKey: 'openRight',
            title: 'The graph after the step',
            filter: () => this.state,
            extra: v => this.mark(v),
        });
        /** @type {{alive: Uint8Array|null, instead: Uint32Array|null}} */
        this.state = {alive: null, instead: null};
        this.asked = 0;
        this.drawn = -1;
        this.listSteps();
        app.store.watch(['step'], () => this.show());
        app.store.watch(['openRight', 'details', 'casts'], () => this.layout());
        this.ready = this.show();
    }

    get at() {
        return Math.min(this.app.state.step, this.steps.length);
    }

    /** @param {number} k */
    go(k) {
        this.app.store.set({step: Math.min(Math.max(k, 0), this.steps.length)});
    }

    /** The epoch that holds after k steps. @param {number} k */
    epochAt(k) {
        return k > 0 ? this.steps[k - 1].epoch : this.steps.length ? this.steps[0].epoch : 0;
    }

    async show() {
        if (this.app.state.step > this.steps.length) return this.go(this.steps.length);
        const k = this.at;
        const epoch = this.epochAt(k);
        const root = this.epochs[epoch];
        const g = this.app.m.graphs[root];
        const instead = substitution(this.steps, epoch, k, g.nvar);
        this.state = {alive: neededApplies(g, instead, k), instead};
        this.slider.value = String(k);
        this.count.textContent = k + ' of ' + countedText(this.steps.length, 'step');
        this.describe(k);
        this.markList(k);
        this.changed = this.changedApplies(k, g, instead);
        if (this.pane.root !== root) this.app.store.state.openRight = new Set();
        this.pane.root = root;
        const open = this.opens(g, root);
        const before = this.app.state.openRight;
        if (open.every(p => before.has(p))) return this.layout();
        this.app.store.set({openRight: new Set([...before, ...open])});
    }

    /** Boxes that are open so that the change is seen. @param {import('./model.js').Graph} g @param {number} root @returns {string[]} */
    opens(g, root) {
        const alive = /** @type {Uint8Array} */ (this.state.alive);
        let n = 0;
        for (const x of alive) n += x;
        if (n <= OPEN_WHOLE) return Array.from({length: g.boxTitle.length - 1}, (_, b) => 'b' + (b + 1));
        return [...this.changed.made, ...this.changed.next].flatMap(a => opensFor(this.app.m, root, 'a' + a));
    }

    /** Applies that the step made, and that the next one replaces. @param {number} k @param {import('./model.js').Graph} g @param {Uint32Array} instead */
    changedApplies(k, g, instead) {
        const owners = (/** @type {number[]} */ vars) =>
            vars
                .map(v => instead[v])
                .filter(v => v !== undefined && isResult(g, v))
                .map(v => g.varOwner[v]);
        const step = k > 0 ? this.steps[k - 1] : null;
        const next = this.steps[k];
        const made = new Set(step ? owners(step.after) : []);
        if (g.born && step)
            for (let a = 0; a < g.n; a++)
                if (g.born[a] === k && /** @type {Uint8Array} */ (this.state.alive)[a]) made.add(a);
        return {made, next: new Set(next && next.epoch === this.epochAt(k) ? owners(next.before) : [])};
    }

    /** @param {import('./scene.js').SceneNode} v */
    mark(v) {
        if (v.graph !== this.pane.root || v.path.includes('/') || v.open) return null;
        const has = (/** @type {Set<number>} */ set) => {
            if (v.kind === 'apply') return set.has(v.id);
            let any = false;
            if (v.kind === 'box' && set.size)
                eachInBox(this.app.m.graphs[v.graph], v.id, a => {
                    any = any || set.has(a);
                });
            return any;
        };
        if (has(this.changed.made)) return {border: '#009e73', badge: 'new'};
        return has(this.changed.next) ? {border: '#d55e00', badge: 'next'} : null;
    }

    async layout() {
        const ask = ++this.asked;
        const [scene] = await this.app.layouts.ask([this.pane.view()]);
        if (ask !== this.asked) return;
        const anchor = scene.nodes.find(v => this.mark(v));
        this.pane.setScene(scene);
        if (this.drawn !== this.at && anchor) this.pane.picture.show(anchor.path);
        this.drawn = this.at;
    }

    /** @param {number} k */
    describe(k) {
        const s = k > 0 ? this.steps[k - 1] : null;
        if (!s)
            replace(
                this.change,
                el('span', {class: 'soft'}, 'start'),
                el('span', {}, 'The graph as it was given. Orange: what the next step replaces.'),
            );
        else
            replace(
                this.change,
                el('span', {class: 'soft'}, 'rule'),
                el('b', {}, s.rule),
                el('span', {class: 'soft'}, 'before'),
                el('pre', {}, s.textBefore),
                el('span', {class: 'soft'}, 'after'),
                el('pre', {}, s.textAfter),
            );
    }

    listSteps() {
        const word = this.filter.value.toLowerCase();
        const items = this.steps
            .map((s, i) => ({s, i}))
            .filter(({s}) => (s.rule + ' ' + s.textBefore + ' ' + s.textAfter).toLowerCase().includes(word))
            .slice(0, LISTED_STEPS);
        replace(
            this.list,
            items.map(({s, i}) =>
                el(
                    'li',
                    {'data-step': i + 1, onclick: () => this.go(i + 1)},
                    el('span', {class: 'soft'}, i + 1 + ' '),
                    el('b', {}, s.rule),
                    el('div', {class: 'type clamped'}, s.textBefore + ' ⇒ ' + s.textAfter),
                ),
            ),
        );
        this.markList(this.at);
    }

    /** @param {number} k */
    markList(k) {
        for (const li of this.list.children) {
            const chosen = li.getAttribute('data-step') === String(k);
            li.classList.toggle('chosen', chosen);
            if (chosen) li.scrollIntoView({block: 'nearest'});
        }
    }
}
