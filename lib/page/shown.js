// @ts-check
// What of the graphs a view shows: open containers with the nodes in them. A container is a graph, an open box or an
// open call. Runs in the worker and under the tests; knows nothing of pixels but the sizes of nodes.
import {NONE} from './columns.js';
import {APPLY, BOX, KIND, VAR, isResult, labelOf, typeOf} from './model.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./model.js').Graph} Graph */
/**
 * What to show.
 * @typedef {Object} View
 * @property {number} graph             the graph that is looked at
 * @property {string[]} open            paths of boxes and calls
 * @property {boolean} [details]        shapes, constants, and what follows from them
 * @property {boolean} [casts]
 * @property {boolean} [idle]           what nothing needs
 * @property {Uint8Array|null} [alive]  by Apply of that graph: only these (a step of a rewriting)
 * @property {Uint32Array|null} [instead]   by variable of that graph: what is read in its place
 */
/**
 * @typedef {Object} Node
 * @property {number} index             in all nodes of the view; ports have none
 * @property {string} path
 * @property {'apply'|'leaf'|'box'|'part'|'port'} kind
 * @property {number} graph
 * @property {number} id                Apply, variable or box; of a part: the number of its graph
 * @property {string[]} lines
 * @property {number} w
 * @property {number} h
 * @property {Container} home           where it stands
 * @property {Container|null} inner     what it holds, if it is open
 * @property {boolean} input            of a port: a way in
 * @property {Node|null} source         of a port: whose values pass it
 * @property {number} x                 left edge, in its home
 * @property {number} y
 * @property {number} place             in the order of its home
 */
/**
 * @typedef {Object} Container
 * @property {Node|null} node           the node that is open; the root has none
 * @property {Container|null} home
 * @property {number} depth
 * @property {Node[]} items
 * @property {Node[]} ports
 * @property {Map<Node, Net>} nets      by source
 * @property {Map<Node, Node>} inPorts
 * @property {Map<Node, Node>} outPorts
 * @property {number} w
 * @property {number} h
 */
/** @typedef {{source: Node, of: Node, targets: Node[], seen: Set<Node>}} Net */
/** One graph at one place of the view. @typedef {{g: Graph, nodeOfApply: (Node|null)[], nodeOfLeaf: Map<number, Node>}} Instance */
/** @typedef {{root: Container, nodes: Node[], instances: Instance[]}} Shown */

export const LABEL_LIMIT = 28;

/** @param {string} s */
export function codePoints(s) {
    let n = 0;
    for (let i = 0; i < s.length; i++) if ((s.charCodeAt(i) & 0xfc00) !== 0xdc00) n++;
    return n;
}

/** A label's line: cut where it is long. @param {string} s */
export function cutLabel(s) {
    if (s.length <= LABEL_LIMIT || codePoints(s) <= LABEL_LIMIT) return s;
    return (
        Array.from(s)
            .slice(0, LABEL_LIMIT - 1)
            .join('') + '…'
    );
}

/** @param {Node|null} node @param {Container|null} home @returns {Container} */
function newContainer(node, home) {
    return {
        node,
        home,
        depth: home ? home.depth + 1 : 0,
        items: [],
        ports: [],
        nets: new Map(),
        inPorts: new Map(),
        outPorts: new Map(),
        w: 0,
        h: 0,
    };
}

/** @param {Shown} all @param {Container} home @param {Node['kind']} kind @param {string} path @param {number} graph @param {number} id @param {string[]} lines @returns {Node} */
function addNode(all, home, kind, path, graph, id, lines) {
    const cut = lines.map(cutLabel);
    const w = Math.max(40, 7 * Math.max(...cut.map(codePoints)) + 16);
    /** @type {Node} */
    const node = {
        index: all.nodes.length,
        path,
        kind,
        graph,
        id,
        lines: cut,
        w,
        h: 38,
        home,
        inner: null,
        input: false,
        source: null,
        x: 0,
        y: 0,
        place: 0,
    };
    all.nodes.push(node);
    home.items.push(node);
    return node;
}

/** What a box holds, in a few words. @param {Graph} g @param {number} b */
function boxText(g, b) {
    const n = g.boxApplies[b];
    if (n) return n === 1 ? '1 Apply' : n + ' Applies';
    return g.boxLeaves[b] === 1 ? '1 variable' : g.boxLeaves[b] + ' variables';
}

/** In a box of names that begin alike, what they begin with is said by the box alone. @param {Model} m @param {Graph} g @param {Container} home @param {string} name */
function nameInside(m, g, home, name) {
    let b = home.node && home.node.kind === 'box' ? home.node.id : 0;
    while (b && g.boxKind[b] !== BOX.names) b = g.boxParent[b];
    const all = b ? m.strings[g.boxTitle[b]] : '';
    const inside =
        all && name.startsWith(all) && name.length > all.length + 1 && '_./'.includes(name[all.length]);
    return inside ? '…' + name.slice(all.length + 1) : name;
}

/** @param {Model} m @param {Graph} g @param {Container} home @param {number} a */
function applyLines(m, g, home, a) {
    const name = g.nout[a] ? m.strings[g.varName[g.out[a]]] : '';
    const label = labelOf(m, g, a);
    return [name ? nameInside(m, g, home, name) + ' = ' + label : label, g.nout[a] ? typeOf(m, g, g.out[a]) : ''];
}

/** @param {Model} m @param {Graph} g @param {Container} home @param {number} v */
function leafLines(m, g, home, v) {
    const name = m.strings[g.varName[v]] || '';
    const text = g.varKind[v] === KIND.constant ? m.strings[g.varText[v]] : '';
    return [text || nameInside(m, g, home, name), typeOf(m, g, v)];
}

/** Is an Apply drawn, in an open box or as part of a closed one? @param {Graph} g @param {View} view @param {number} a @param {boolean} isMain */
function applyShown(g, view, a, isMain) {
    const f = g.flags[a];
    if (isMain && view.alive && !view.alive[a]) return false;
    return (
        (!(f & APPLY.detail) || !!view.details) &&
        (!(f & APPLY.cast) || !!view.casts) &&
        (!(f & APPLY.idle) || !!view.idle)
    );
}

/** @param {Graph} g @param {View} view @param {number} v @param {Set<number>|null} read */
function leafShown(g, view, v, read) {
    if (read && !read.has(v)) return false;
    const k = g.varKind[v];
    if ((k === KIND.constant || k === KIND.dim || g.varFlags[v] & VAR.detail) && !view.details) return false;
    return !(g.varFlags[v] & VAR.idle) || !!view.idle;
}

/** The leaves that a step of a rewriting reads. @param {Graph} g @param {View} view @returns {Set<number>|null} */
function leavesRead(g, view) {
    if (!view.alive) return null;
    const read = new Set();
    const instead = view.instead;
    const add = (/** @type {number} */ v) => {
        const w = instead ? instead[v] : v;
        if (!isResult(g, w)) read.add(w);
    };
    for (let a = 0; a < g.n; a++)
        if (view.alive[a]) for (let i = g.inFirst[a]; i < g.inFirst[a + 1]; i++) add(g.input[i]);
    for (const [, v] of g.outputs) add(v);
    for (const [, v] of g.updates) add(v);
    return read;
}

/** How many items of each box are shown, with those inside. @param {Graph} g @param {(item: number) => boolean} isShown */
function shownCounts(g, isShown) {
    const nbox = g.boxTitle.length;
    const count = new Uint32Array(nbox);
    for (let b = nbox - 1; b >= 0; b--) {
        for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++)
            if ((g.item[i] & 3) !== 2 && isShown(g.item[i])) count[b]++;
    }
    addInner(g, count, 0);
    return count;
}

/** @param {Graph} g @param {Uint32Array} count @param {number} b */
function addInner(g, count, b) {
    for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++) {
        if ((g.item[i] & 3) === 2) count[b] += addInner(g, count, g.item[i] >>> 2);
    }
    return count[b];
}

/** @param {Model} m @param {View} view @returns {Shown} */
export function showView(m, view) {
    const root = newContainer(null, null);
    /** @type {Shown} */
    const all = {root, nodes: [], instances: []};
    const open = new Set(view.open);
    showGraph(m, view, open, all, root, view.graph, '');
    return all;
}

/** The items of a graph's root, into a container. @param {Model} m @param {View} view @param {Set<string>} open @param {Shown} all @param {Container} home @param {number} gi @param {string} prefix */
function showGraph(m, view, open, all, home, gi, prefix) {
    const g = m.graphs[gi];
    const isMain = prefix === '';
    const read = isMain ? leavesRead(g, view) : null;
    /** @type {Instance} */
    const inst = {g, nodeOfApply: new Array(g.n).fill(null), nodeOfLeaf: new Map()};
    all.instances.push(inst);
    const isShown = (/** @type {number} */ item) =>
        (item & 3) === 0 ? applyShown(g, view, item >>> 2, isMain) : leafShown(g, view, item >>> 2, read);
    const count = shownCounts(g, isShown);
    const walk = {m, view, open, all, inst, prefix, isShown, count};
    showBox(walk, home, 0);
}

/** @typedef {{m: Model, view: View, open: Set<string>, all: Shown, inst: Instance, prefix: string, isShown: (item: number) => boolean, count: Uint32Array}} BoxWalk */

/** @param {BoxWalk} walk @param {Container} home @param {number} b */
function showBox(walk, home, b) {
    const g = walk.inst.g;
    for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++) {
        const sort = g.item[i] & 3;
        const id = g.item[i] >>> 2;
        if (sort === 2) {
            if (walk.count[id]) showInnerBox(walk, home, id);
        } else if (walk.isShown(g.item[i])) {
            if (sort === 0) showApply(walk, home, id);
            else showLeaf(walk, home, id);
        }
    }
}

/** @param {BoxWalk} walk @param {Container} home @param {number} b */
function showInnerBox(walk, home, b) {
    const g = walk.inst.g;
    const path = walk.prefix + 'b' + b;
    const lines = [nameInside(walk.m, g, home, walk.m.strings[g.boxTitle[b]]), boxText(g, b)];
    const node = addNode(walk.all, home, 'box', path, g.index, b, lines);
    if (walk.open.has(path)) {
        node.inner = newContainer(node, home);
        showBox(walk, node.inner, b);
    } else placeInside(walk, node, b);
}

/** All that a closed box holds is drawn as the box. @param {BoxWalk} walk @param {Node} node @param {number} b */
function placeInside(walk, node, b) {
    const g = walk.inst.g;
    for (let i = g.itemFirst[b]; i < g.itemFirst[b + 1]; i++) {
        const sort = g.item[i] & 3;
        const id = g.item[i] >>> 2;
        if (sort === 2) placeInside(walk, node, id);
        else if (!walk.isShown(g.item[i])) continue;
        else if (sort === 0) walk.inst.nodeOfApply[id] = node;
        else walk.inst.nodeOfLeaf.set(id, node);
    }
}

/** @param {BoxWalk} walk @param {Container} home @param {number} a */
function showApply(walk, home, a) {
    const g = walk.inst.g;
    const path = walk.prefix + 'a' + a;
    const node = addNode(walk.all, home, 'apply', path, g.index, a, applyLines(walk.m, g, home, a));
    walk.inst.nodeOfApply[a] = node;
    const call = g.calls.get(a);
    if (call && walk.open.has(path)) showCall(walk, node, call);
}

/** @param {BoxWalk} walk @param {Node} node @param {{graphs: number[]}} call */
function showCall(walk, node, call) {
    const {m, view, open, all} = walk;
    const inner = (node.inner = newContainer(node, node.home));
    if (call.graphs.length === 1) return showGraph(m, view, open, all, inner, call.graphs[0], node.path + '/');
    call.graphs.forEach((gi, k) => {
        const path = node.path + '/f' + k;
        const part = addNode(all, inner, 'part', path, gi, k, [m.graphs[gi].name, boxText(m.graphs[gi], 0)]);
        if (!open.has(path)) return;
        part.inner = newContainer(part, inner);
        showGraph(m, view, open, all, part.inner, gi, path + '/');
    });
}

/** @param {BoxWalk} walk @param {Container} home @param {number} v */
function showLeaf(walk, home, v) {
    const g = walk.inst.g;
    walk.inst.nodeOfLeaf.set(
        v,
        addNode(walk.all, home, 'leaf', walk.prefix + 'v' + v, g.index, v, leafLines(walk.m, g, home, v)),
    );
}

/** The node that shows a variable, through casts that are hidden. @param {View} view @param {Instance} inst @param {number} v @param {boolean} isMain @returns {Node|null} */
export function nodeOfVar(view, inst, v, isMain) {
    const g = inst.g;
    for (;;) {
        if (isMain && view.instead) v = view.instead[v];
        if (!isResult(g, v)) return inst.nodeOfLeaf.get(v) || null;
        const a = g.varOwner[v];
        if (a === NONE) return null;
        if (!(g.flags[a] & APPLY.cast) || view.casts || g.inFirst[a] === g.inFirst[a + 1]) return inst.nodeOfApply[a];
        v = g.input[g.inFirst[a]];
    }
}
