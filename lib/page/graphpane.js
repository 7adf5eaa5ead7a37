// @ts-check
// A picture of one graph of the data: its layout comes from outside, its looks follow what is chosen.
import {el} from './dom.js';
import {choiceOfPath} from './paths.js';
import {costOfNode, makeLooks} from './looks.js';
import {Picture} from './picture.js';
import {bytesText, countText, secondsText} from './format.js';
import {DIFF_WORDS} from './theme.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./scene.js').SceneNode} SceneNode */
/**
 * @typedef {Object} PaneOptions
 * @property {number} root
 * @property {'open'|'openRight'} openKey
 * @property {string} title
 * @property {(v: SceneNode) => number} [stateOf]
 * @property {(v: SceneNode) => {border: string, badge: string}|null} [extra]
 * @property {() => Partial<import('./shown.js').View>} [filter]
 * @property {() => void} [moved]
 */

/** A cost, in its unit. @param {string} measure @param {number} x */
export function costText(measure, x) {
    if (Number.isNaN(x)) return '';
    if (measure === 'time') return secondsText(x);
    if (measure === 'bytes') return bytesText(x);
    if (measure === 'flops') return countText(x) + ' flops';
    if (measure === 'change') return 'now ' + x.toPrecision(3) + ' × before';
    return x.toPrecision(2) + ' flops per byte';
}

export class GraphPane {
    /** @param {App} app @param {HTMLElement} host @param {PaneOptions} options */
    constructor(app, host, options) {
        this.app = app;
        this.options = options;
        this.root = options.root;
        this.picture = new Picture(host, options.title, {
            choose: (v, e) => this.choose(v, e),
            toggle: v => this.toggle(v),
            holds: v => app.holds(v),
            tip: v => this.tip(v),
            palette: () => app.palette(),
            moved: options.moved,
        });
        app.store.watch(['chosen', 'reach', 'heat', 'theme', 'casts', 'tab'], () => this.refresh());
        /** @type {string|undefined} */
        this.anchor = undefined;
        this.waiting = false;
    }

    /** @returns {import('./shown.js').View} */
    view() {
        const {details, casts, idle} = this.app.state;
        return {
            graph: this.root,
            open: Array.from(this.app.state[this.options.openKey]),
            details,
            casts,
            idle,
            ...(this.options.filter ? this.options.filter() : {}),
        };
    }

    /** @param {SceneNode} v */
    choiceOfNode(v) {
        return choiceOfPath(this.app.m, this.root, v.path);
    }

    /** @param {SceneNode|null} v @param {{shiftKey: boolean}} e */
    choose(v, e) {
        const c = v ? this.choiceOfNode(v) : null;
        const {chosen, reach} = this.app.state;
        const wanted = e.shiftKey || (reach && reach.kind === 'path' && !reach.to);
        if (c && chosen && wanted && c.path !== chosen.path) this.app.store.set({reach: {kind: 'path', to: c}});
        else this.app.store.set({chosen: c, reach: null});
    }

    /** @param {SceneNode} v */
    toggle(v) {
        const c = this.choiceOfNode(v);
        if (!c) return;
        this.anchor = v.path;
        this.app.toggle(c);
    }

    /** @param {SceneNode} v @returns {(globalThis.Node|string)[]} */
    tip(v) {
        const c = this.choiceOfNode(v);
        if (!c) return [];
        const out = [el('b', {}, this.app.titleOf(c))];
        const type = c.kind === 'box' || c.kind === 'part' ? v.lines[1] : this.app.typeOf(c);
        if (type) out.push(el('div', {}, type));
        for (const measure of this.app.costs.measures()) {
            const text = costText(measure, costOfNode(this.app.costs, measure, v));
            if (text) out.push(el('div', {class: measure === this.app.state.heat ? 'on' : 'soft'}, text));
        }
        const state = this.options.stateOf ? this.options.stateOf(v) : 0;
        if (state > 0) out.push(el('div', {class: 'on'}, DIFF_WORDS[state]));
        return out;
    }

    refresh() {
        const {app} = this;
        const {chosen} = app.state;
        const mine = chosen && chosen.root === this.root ? chosen : null;
        this.picture.setLooks(
            makeLooks(
                this.picture.scene,
                {
                    m: app.m,
                    costs: app.costs,
                    families: app.families,
                    heat: app.state.heat,
                    dark: app.dark(),
                    casts: app.state.casts,
                    chosen: mine ? mine.path : '',
                    marks: mine ? app.marks() : null,
                    marksGraph: mine ? mine.graph : -1,
                    marksPrefix: mine ? mine.path.slice(0, mine.path.lastIndexOf('/') + 1) : '',
                    stateOf: this.options.stateOf,
                    extra: this.options.extra,
                },
                this.picture.looks.hovered,
            ),
        );
        if (mine && !this.waiting) this.picture.show(mine.path);
    }

    /** @param {import('./scene.js').Scene} scene */
    setScene(scene) {
        const first = !this.picture.scene.nodes.length;
        this.waiting = false;
        this.picture.setScene(scene, this.anchor);
        if (first) this.picture.open();
        this.anchor = undefined;
        this.refresh();
    }
}
