// @ts-check
// How the nodes of a scene look: families or heat, what is chosen, what is marked, outputs, differences.
import {APPLY} from './model.js';
import {DIFF_COLOURS, changeColour, heatColour} from './theme.js';
import {eachInBox} from './reach.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./scene.js').SceneNode} SceneNode */
/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./costs.js').Costs} Costs */
/** @typedef {import('./draw.js').Looks} Looks */
/**
 * @typedef {Object} LookInputs
 * @property {Model} m
 * @property {Costs} costs
 * @property {Map<string, string>} families
 * @property {string} heat
 * @property {boolean} dark
 * @property {boolean} casts
 * @property {string} chosen           path, or empty
 * @property {import('./reach.js').Marks|null} marks
 * @property {number} marksGraph
 * @property {string} marksPrefix      of the paths of nodes of that graph
 * @property {((v: SceneNode) => number)|null} [stateOf]   of a comparison: 0 equal and so on
 * @property {((v: SceneNode) => {border: string, badge: string}|null)|null} [extra]
 */

/** @param {Costs} costs @param {import('./costs.js').Measure} measure @param {SceneNode} v */
export function costOfNode(costs, measure, v) {
    if (v.kind === 'apply') return costs.ofApply(measure, v.graph, v.id);
    if (v.kind === 'box') return costs.ofBox(measure, v.graph, v.id);
    return v.kind === 'part' ? costs.ofBox(measure, v.graph, 0) : NaN;
}

/** @param {string} measure @param {number} x @param {number} most @returns {number} 0 .. 1 */
export function heatOf(measure, x, most) {
    if (Number.isNaN(x)) return NaN;
    if (measure === 'intensity') return Math.min(Math.max((Math.log10(x) + 2) / 5, 0), 1);
    return most > 0 ? Math.sqrt(x / most) : 0;
}

/** @param {Scene} scene @param {LookInputs} q @param {Looks} out */
function paintHeat(scene, q, out) {
    const measure = /** @type {import('./costs.js').Measure} */ (q.heat);
    const cost = scene.nodes.map(v => (v.open ? NaN : costOfNode(q.costs, measure, v)));
    let most = 0;
    for (const c of cost) if (c > most && Number.isFinite(c)) most = c;
    cost.forEach((c, i) => {
        if (Number.isNaN(c)) return;
        if (measure === 'change') {
            out.fill[i] = changeColour(Math.log2(c) / 2 || 0, q.dark);
            return;
        }
        out.heat[i] = heatOf(measure, c, most);
        out.fill[i] = heatColour(out.heat[i], q.dark);
    });
}

/** The family of most of what a node holds. @param {Model} m @param {SceneNode} v */
function familyOf(m, v) {
    const g = m.graphs[v.graph];
    if (v.kind === 'apply') return m.ops[g.op[v.id]].family;
    return '';
}

/** Labels of outputs and updates, by the node that shows their variable. @param {Scene} scene @param {LookInputs} q @param {Looks} out */
function addBadges(scene, q, out) {
    /** @type {Map<string, string[]>} */
    const labels = new Map();
    const g = q.m.graphs[scene.nodes.length ? rootGraph(scene) : 0];
    if (!g) return;
    const add = (/** @type {number} */ v, /** @type {string} */ text) => {
        let a = g.varOwner[v];
        while (!q.casts && a < g.n && g.flags[a] & APPLY.cast) {
            v = g.input[g.inFirst[a]];
            a = g.varOwner[v];
        }
        const path = a < g.n ? 'a' + a : 'v' + v;
        labels.set(path, [...(labels.get(path) || []), text]);
    };
    for (const [label, v] of g.outputs) add(v, '→ ' + q.m.strings[label]);
    for (const [shared, v] of g.updates) add(v, '→ ' + q.m.strings[g.varName[shared]]);
    scene.nodes.forEach((v, i) => {
        const found = labels.get(v.path);
        if (found && !v.open) out.badge[i] = found.slice(0, 3).join(' ') + (found.length > 3 ? ' …' : '');
    });
}

/** @param {Scene} scene */
function rootGraph(scene) {
    for (const v of scene.nodes) if (v.parent < 0) return v.graph;
    return 0;
}

/** @param {LookInputs} q @param {SceneNode} v @returns {boolean} */
function isMarked(q, v) {
    const marks = /** @type {import('./reach.js').Marks} */ (q.marks);
    if (v.kind === 'apply') return !!marks.apply[v.id];
    if (v.kind === 'leaf') return !!marks.leaf[v.id];
    let any = false;
    if (v.kind === 'box')
        eachInBox(
            q.m.graphs[v.graph],
            v.id,
            a => {
                any = any || !!marks.apply[a];
            },
            u => {
                any = any || !!marks.leaf[u];
            },
        );
    return any;
}

/** @param {Scene} scene @param {LookInputs} q @returns {Uint8Array} 1: dimmed */
function dimmed(scene, q) {
    const dim = new Uint8Array(scene.nodes.length);
    scene.nodes.forEach((v, i) => {
        const own =
            v.graph === q.marksGraph &&
            v.path.startsWith(q.marksPrefix) &&
            !v.path.slice(q.marksPrefix.length).includes('/');
        if (own && v.kind !== 'part') dim[i] = isMarked(q, v) ? 0 : 1;
        else dim[i] = v.parent >= 0 ? dim[v.parent] : 1;
        if (!own && q.marksPrefix.startsWith(v.path)) dim[i] = 0;
    });
    return dim;
}

/** Open nodes around a node, with it. @param {Scene} scene @param {number} i */
function around(scene, i) {
    const set = new Set();
    for (; i >= 0; i = scene.nodes[i].parent) set.add(i);
    return set;
}

/** Wires of the chosen node: what it gives, and the ways to it. @param {Scene} scene @param {number} chosen @returns {Uint8Array} */
function wiresOfNode(scene, chosen) {
    const {from, to, via} = scene.wire;
    const strong = new Uint8Array(from.length);
    const outer = around(scene, chosen);
    const sources = new Set();
    for (let e = 0; e < from.length; e++) if (to[e] === chosen) sources.add(from[e]);
    for (let e = 0; e < from.length; e++) {
        const comes =
            sources.has(from[e]) && (to[e] === chosen || outer.has(to[e]) || (to[e] < 0 && !outer.has(via[e])));
        strong[e] = from[e] === chosen || comes ? 1 : 0;
    }
    return strong;
}

/** Pieces of the wires between marked nodes: those that end at one, and those on the way to it. @param {Scene} scene @param {Uint8Array} dim @returns {Uint8Array} */
function wiresOfMarks(scene, dim) {
    const {from, to, via} = scene.wire;
    const strong = new Uint8Array(from.length);
    /** @type {Map<number, Set<number>[]>} by source, what is around each marked target */
    const targets = new Map();
    for (let e = 0; e < from.length; e++) {
        if (to[e] < 0 || (scene.nodes[to[e]].open && holdsInside(scene, to[e])) || dim[from[e]] || dim[to[e]]) continue;
        strong[e] = 1;
        targets.set(from[e], [...(targets.get(from[e]) || []), around(scene, to[e])]);
    }
    for (let e = 0; e < from.length; e++) {
        if (strong[e]) continue;
        const reached = targets.get(from[e]) || [];
        strong[e] = reached.some(a => (to[e] < 0 ? !a.has(via[e]) : a.has(to[e]))) ? 1 : 0;
    }
    return strong;
}

/** Do wires go on inside an open node? Those of a call end at its border. @param {Scene} scene @param {number} i */
function holdsInside(scene, i) {
    return scene.nodes[i].kind === 'box';
}

/** @param {Scene} scene @param {LookInputs} q @param {Looks} out */
function paintStates(scene, q, out) {
    scene.nodes.forEach((v, i) => {
        const state = q.stateOf ? q.stateOf(v) : 0;
        if (state > 0) out.border[i] = DIFF_COLOURS[state];
        const extra = q.extra ? q.extra(v) : null;
        if (!extra) return;
        out.border[i] = extra.border || out.border[i];
        out.badge[i] = extra.badge || out.badge[i];
    });
}

/** @param {Scene} scene @param {LookInputs} q @param {number} hovered @returns {Looks} */
export function makeLooks(scene, q, hovered) {
    const n = scene.nodes.length;
    /** @type {Looks} */
    const out = {
        fill: new Array(n).fill(''),
        heat: new Float32Array(n).fill(NaN),
        strip: scene.nodes.map(v => q.families.get(familyOf(q.m, v)) || ''),
        badge: new Array(n).fill(''),
        border: new Array(n).fill(''),
        dim: null,
        strong: null,
        chosen: q.chosen ? scene.nodes.findIndex(v => v.path === q.chosen) : -1,
        hovered,
    };
    if (q.heat !== 'family' && q.costs.has) paintHeat(scene, q, out);
    addBadges(scene, q, out);
    paintStates(scene, q, out);
    if (q.marks) {
        out.dim = dimmed(scene, q);
        out.strong = wiresOfMarks(scene, out.dim);
    } else if (out.chosen >= 0) out.strong = wiresOfNode(scene, out.chosen);
    return out;
}
