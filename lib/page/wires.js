// @ts-check
// Wires between the nodes of a view, as nets of its containers: what a node gives to others in a container, with ports
// where a wire passes a border. The order in which nets and ports are made decides the layout (see layout.js).
import {nodeOfVar} from './shown.js';

/** @typedef {import('./shown.js').Node} Node */
/** @typedef {import('./shown.js').Container} Container */
/** @typedef {import('./shown.js').Net} Net */

/** @param {Container} c @param {Node} source @param {boolean} input @returns {Node} */
function portOf(c, source, input) {
    const ports = input ? c.inPorts : c.outPorts;
    let port = ports.get(source);
    if (!port) {
        port = {
            index: -1,
            path: '',
            kind: 'port',
            graph: -1,
            id: -1,
            lines: [],
            w: 8,
            h: 0,
            home: c,
            inner: null,
            input,
            source,
            x: 0,
            y: 0,
            place: 0,
        };
        ports.set(source, port);
        c.ports.push(port);
    }
    return port;
}

/** @param {Container} c @param {Node} of @param {Node} source @param {Node} target */
function connect(c, of, source, target) {
    let net = c.nets.get(of);
    if (!net) c.nets.set(of, (net = {source, of, targets: [], seen: new Set()}));
    if (net.seen.has(target)) return;
    net.seen.add(target);
    net.targets.push(target);
}

/** The innermost container that holds both. @param {Node} s @param {Node} t @returns {Container} */
function common(s, t) {
    let a = s.home;
    let b = t.home;
    while (a.depth > b.depth) a = /** @type {Container} */ (a.home);
    while (b.depth > a.depth) b = /** @type {Container} */ (b.home);
    while (a !== b) {
        a = /** @type {Container} */ (a.home);
        b = /** @type {Container} */ (b.home);
    }
    return a;
}

/** @param {Node} s @param {Node} t */
function addWire(s, t) {
    const top = common(s, t);
    let child = s;
    for (let x = s.home; x !== top; x = /** @type {Container} */ (x.home)) {
        connect(x, s, child, portOf(x, s, false));
        child = /** @type {Node} */ (x.node);
    }
    /** @type {Container[]} */
    const down = [];
    for (let y = t.home; y !== top; y = /** @type {Container} */ (y.home)) down.push(y);
    down.reverse();
    const around = (/** @type {number} */ k) => (k < down.length ? /** @type {Node} */ (down[k].node) : t);
    connect(top, s, child, around(0));
    down.forEach((y, k) => connect(y, s, portOf(y, s, true), around(k + 1)));
}

/** Makes all nets. @param {import('./shown.js').Shown} shown @param {import('./shown.js').View} view */
export function makeNets(shown, view) {
    const done = new Set();
    const count = shown.nodes.length;
    shown.instances.forEach((inst, k) => {
        const g = inst.g;
        for (let a = 0; a < g.n; a++) {
            const t = inst.nodeOfApply[a];
            if (!t) continue;
            for (let i = g.inFirst[a]; i < g.inFirst[a + 1]; i++) {
                const s = nodeOfVar(view, inst, g.input[i], k === 0);
                if (!s || s === t) continue;
                const key = s.index * count + t.index;
                if (done.has(key)) continue;
                done.add(key);
                addWire(s, t);
            }
        }
    });
}
