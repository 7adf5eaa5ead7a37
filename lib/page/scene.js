// @ts-check
// The layout of a whole view: open containers from the inside out, then all of it in one system of coordinates.
import {codePoints, showView} from './shown.js';
import {makeNets} from './wires.js';
import {findLayout} from './layout.js';

/** @typedef {import('./shown.js').Container} Container */
/** @typedef {import('./shown.js').Node} Node */
/** @typedef {import('./shown.js').View} View */
/**
 * A node as it is drawn: `parent` is the number of the open node around it, or -1; an open node stands before those in it.
 * @typedef {{path: string, kind: string, graph: number, id: number, lines: string[], x: number, y: number, w: number, h: number, open: boolean, parent: number, depth: number}} SceneNode
 */
/**
 * Wires are pieces within one container: `from` is the node whose value it carries, `to` the node in the container at
 * which it ends (-1: a port on the lower border), `via` the open node around both (-1: none).
 * @typedef {{nodes: SceneNode[], width: number, height: number, wire: {from: Int32Array, to: Int32Array, via: Int32Array, first: Uint32Array, point: Float32Array}, left?: number}} Scene
 */

const HEAD = 24;
const PAD = 12;

/** @typedef {{c: Container, lines: number[][][], nets: import('./shown.js').Net[]}} Placed */

/** Where a wire passes the border of a node, from the node's centre. @param {Node} node @param {Node} source @param {boolean} input */
function borderOffset(node, source, input) {
    if (!node.inner) return 0;
    const port = (input ? node.inner.inPorts : node.inner.outPorts).get(source);
    return port ? PAD + port.x + port.w / 2 - node.w / 2 : 0;
}

/** Places what a container holds; those that are open in it come first. @param {Container} c @param {Placed[]} placed */
function placeContainer(c, placed) {
    for (const node of c.items) if (node.inner) placeContainer(node.inner, placed);
    const order = [...c.ports.filter(p => p.input), ...c.items, ...c.ports.filter(p => !p.input)];
    order.forEach((v, i) => {
        v.place = i;
    });
    const nets = Array.from(c.nets.values());
    const nin = c.inPorts.size;
    const result = findLayout({
        nin,
        nitem: c.items.length,
        nout: c.outPorts.size,
        w: order.map(v => v.w),
        h: order.map(v => v.h),
        nets: nets.map(net => ({
            source: net.source.place,
            targets: net.targets.map(t => t.place),
            out: borderOffset(net.source, net.of, false),
            into: net.targets.map(t => borderOffset(t, net.of, true)),
        })),
    });
    order.forEach((v, i) => {
        v.x = result.x[i] - v.w / 2;
        v.y = result.y[i];
    });
    sizeContainer(c, result.width, result.height);
    placed.push({c, lines: result.lines, nets});
}

/** @param {Container} c @param {number} width @param {number} height */
function sizeContainer(c, width, height) {
    c.w = width;
    c.h = height;
    if (!c.node) return;
    c.w = Math.max(width + 2 * PAD, 7 * codePoints(c.node.lines[0]) + 40);
    c.h = HEAD + height + PAD;
    c.node.w = c.w;
    c.node.h = c.h;
}

/** @param {Container} c @param {number} x @param {number} y @param {number} parent @param {SceneNode[]} out @param {Map<Container, {x: number, y: number, node: number}>} at */
function flatten(c, x, y, parent, out, at) {
    at.set(c, {x, y, node: parent});
    for (const v of c.items) {
        const number = out.length;
        out.push({
            path: v.path,
            kind: v.kind,
            graph: v.graph,
            id: v.id,
            lines: v.lines,
            x: x + v.x,
            y: y + v.y,
            w: v.w,
            h: v.h,
            open: !!v.inner,
            parent,
            depth: c.depth,
        });
        v.index = number;
        if (v.inner) flatten(v.inner, x + v.x + PAD, y + v.y + HEAD, number, out, at);
    }
}

/** @param {Placed[]} placed @param {Map<Container, {x: number, y: number, node: number}>} at */
function collectWires(placed, at) {
    /** @type {number[]} */
    const from = [];
    /** @type {number[]} */
    const to = [];
    /** @type {number[]} */
    const via = [];
    /** @type {number[]} */
    const first = [0];
    /** @type {number[]} */
    const point = [];
    for (const p of placed) {
        const base = at.get(p.c);
        if (!base) continue;
        p.nets.forEach((net, k) =>
            net.targets.forEach((t, i) => {
                const line = p.lines[k][i];
                // The content begins a little below the border and ends a little above it: wires go on to the border.
                if (net.source.kind === 'port') point.push(base.x + line[0], base.y - HEAD);
                for (let j = 0; j < line.length; j += 2) point.push(base.x + line[j], base.y + line[j + 1]);
                if (t.kind === 'port') point.push(point[point.length - 2], point[point.length - 1] + PAD);
                from.push(net.of.index);
                to.push(t.index);
                via.push(base.node);
                first.push(point.length);
            }),
        );
    }
    return {
        from: Int32Array.from(from),
        to: Int32Array.from(to),
        via: Int32Array.from(via),
        first: Uint32Array.from(first),
        point: Float32Array.from(point),
    };
}

/** @param {import('./model.js').Model} m @param {View} view @returns {Scene} */
export function makeScene(m, view) {
    const shown = showView(m, view);
    makeNets(shown, view);
    /** @type {Placed[]} */
    const placed = [];
    placeContainer(shown.root, placed);
    /** @type {SceneNode[]} */
    const nodes = [];
    const at = new Map();
    flatten(shown.root, 0, 0, -1, nodes, at);
    return {nodes, width: shown.root.w, height: shown.root.h, wire: collectWires(placed, at)};
}
