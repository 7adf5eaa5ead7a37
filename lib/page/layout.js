// @ts-check
// A layered layout of one container: nodes in ranks from top to bottom, wires through the ranks between. layout.c
// computes the same doubles, for pictures without a browser: whatever is changed here changes there, too.

/** What leads from one node to others. @typedef {{source: number, targets: number[], out: number, into: number[]}} LayoutNet
 *  `out`: where it leaves the source, from its centre; `into`: where it ends, by target */
/** Nodes in the order in which wires should lead: ports above, items, ports below; `x` are centres, `y` upper ends.
 *  @typedef {{nin: number, nitem: number, nout: number, w: number[], h: number[], nets: LayoutNet[]}} LayoutTask */
/** @typedef {{x: Float64Array, y: Float64Array, width: number, height: number, lines: number[][][]}} LayoutResult
 *  `lines`: by net and target, x, y, x, y, ... */
/** @typedef {{upper: number, lower: number, net: number, target: number, back: boolean, far: boolean, chain: number}} LayoutEdge */
/** Dummies of consecutive ranks below a node: numbers first, first + 1, ... @typedef {{upper: number, first: number, n: number}} Chain */
/** @typedef {{first: Uint32Array, list: Uint32Array}} Rows */

const SWEEPS = 8;
const DUMMY_WEIGHT = 8;
const GAP_X = 16;
const GAP_DUMMY = 8;
const GAP_Y = 34;
const GAP_ROW = 16;
const LONG = 24;
const ROW_WIDTH = 900;
const LOOSE = -1;

/** Rows of what `keyOf` gives the same number: a stable sort by counting. @param {number} rows @param {number} n @param {(i: number) => number} keyOf @returns {Rows} */
function groupBy(rows, n, keyOf) {
    const first = new Uint32Array(rows + 2);
    const list = new Uint32Array(n);
    for (let i = 0; i < n; i++) first[keyOf(i) + 2]++;
    for (let v = 2; v < rows + 2; v++) first[v] += first[v - 1];
    for (let i = 0; i < n; i++) list[first[keyOf(i) + 1]++] = i;
    return {first, list};
}

class Finding {
    /** @param {LayoutTask} task */
    constructor(task) {
        this.task = task;
        this.n = task.nin + task.nitem + task.nout;
        this.total = this.n;
        /** @type {LayoutEdge[]} */
        this.edges = [];
        /** @type {Chain[]} */
        this.chains = [];
        /** @type {number[]} */
        this.rank = new Array(this.n).fill(0);
        this.nrank = 0;
        // What leads from a rank to the next, and where it leaves and enters, from the centres.
        /** @type {number[]} */
        this.pieceUpper = [];
        /** @type {number[]} */
        this.pieceLower = [];
        /** @type {number[]} */
        this.pieceOut = [];
        /** @type {number[]} */
        this.pieceInto = [];
        /** @type {Rows} */
        this.above = {first: new Uint32Array(0), list: new Uint32Array(0)};
        /** @type {Rows} */
        this.below = this.above;
        this.first = new Uint32Array(0);
        this.order = new Uint32Array(0);
        this.pos = new Uint32Array(0);
        this.x = new Float64Array(0);
        this.top = new Float64Array(0);
        this.height = new Float64Array(0);
    }

    /** @param {number} v */
    width(v) {
        return v < this.n ? this.task.w[v] : 0;
    }

    /** @param {number} a @param {number} b */
    gap(a, b) {
        return (this.width(a) + this.width(b)) / 2 + (a < this.n && b < this.n ? GAP_X : GAP_DUMMY);
    }
}

/** @param {Finding} f */
function findEdges(f) {
    f.task.nets.forEach((net, k) =>
        net.targets.forEach((t, i) => {
            const back = t < net.source;
            f.edges.push({
                upper: back ? t : net.source,
                lower: back ? net.source : t,
                net: k,
                target: i,
                back,
                far: false,
                chain: -1,
            });
        }),
    );
}

/** Ranks by longest paths; what nothing leads to comes down to those that it leads to. @param {Finding} f */
function findRanks(f) {
    const {nin, nitem, nout} = f.task;
    const {rank, edges} = f;
    const below = groupBy(f.n, edges.length, i => edges[i].upper);
    const above = new Uint32Array(f.n);
    let last = 0;
    for (let v = 0; v < f.n; v++) {
        for (let i = below.first[v]; i < below.first[v + 1]; i++) {
            const to = edges[below.list[i]].lower;
            above[to]++;
            if (rank[to] < rank[v] + 1) rank[to] = rank[v] + 1;
        }
    }
    for (let v = 0; v < nin + nitem; v++) if (rank[v] > last) last = rank[v];
    for (let v = nin + nitem; v < f.n; v++) rank[v] = last + 1;
    f.nrank = last + 1 + (nout > 0 ? 1 : 0);
    for (let v = nin + nitem - 1; v >= nin; v--) {
        let least = Infinity;
        for (let i = below.first[v]; i < below.first[v + 1]; i++)
            least = Math.min(least, rank[edges[below.list[i]].lower]);
        if (!above[v]) rank[v] = least === Infinity ? LOOSE : least - 1;
    }
}

/** @param {Finding} f @param {number} upper @param {number} last */
function addChain(f, upper, last) {
    const c = {upper, first: f.total, n: 0};
    for (let r = f.rank[upper] + 1; r <= last; r++, c.n++, f.total++) f.rank.push(r);
    f.chains.push(c);
    return c;
}

/** @param {Finding} f @param {number} upper @param {number} lower @param {number} out @param {number} into */
function addPiece(f, upper, lower, out, into) {
    f.pieceUpper.push(upper);
    f.pieceLower.push(lower);
    f.pieceOut.push(out);
    f.pieceInto.push(into);
}

/** @param {Finding} f @param {Chain} c @param {number} out */
function addChainPieces(f, c, out) {
    for (let i = 0; i < c.n; i++) addPiece(f, i ? c.first + i - 1 : c.upper, c.first + i, i ? 0 : out, 0);
}

/** The edges of a net whose targets are below: they share one chain. @param {Finding} f @param {LayoutNet} net @param {LayoutEdge[]} edges */
function addForward(f, net, edges) {
    if (!edges.length) return;
    let last = -1;
    for (const e of edges) last = Math.max(last, f.rank[e.lower] - 1);
    const c = addChain(f, net.source, last);
    const number = f.chains.length - 1;
    addChainPieces(f, c, net.out);
    for (const e of edges) {
        const k = f.rank[e.lower] - 1 - f.rank[c.upper];
        e.chain = number;
        addPiece(f, k > 0 ? c.first + k - 1 : c.upper, e.lower, k > 0 ? 0 : net.out, net.into[e.target]);
    }
}

/** @param {Finding} f @param {LayoutNet} net @param {LayoutEdge} e */
function addBack(f, net, e) {
    const c = addChain(f, e.upper, f.rank[e.lower] - 1);
    const out = net.into[e.target];
    e.chain = f.chains.length - 1;
    addChainPieces(f, c, out);
    addPiece(f, c.n ? c.first + c.n - 1 : c.upper, e.lower, c.n ? 0 : out, net.out);
}

/** @param {Finding} f */
function addDummies(f) {
    let at = 0;
    for (const net of f.task.nets) {
        const edges = f.edges.slice(at, at + net.targets.length);
        at += net.targets.length;
        for (const e of edges) e.far = f.rank[e.lower] - f.rank[e.upper] > LONG;
        addForward(
            f,
            net,
            edges.filter(e => !e.far && !e.back),
        );
        for (const e of edges) if (!e.far && e.back) addBack(f, net, e);
    }
    f.above = groupBy(f.total, f.pieceLower.length, i => f.pieceLower[i]);
    f.below = groupBy(f.total, f.pieceUpper.length, i => f.pieceUpper[i]);
}

/** @param {Finding} f */
function firstOrder(f) {
    f.first = new Uint32Array(f.nrank + 1);
    f.order = new Uint32Array(f.total);
    f.pos = new Uint32Array(f.total);
    for (let v = 0; v < f.total; v++) if (f.rank[v] !== LOOSE) f.first[f.rank[v] + 1]++;
    for (let r = 0; r < f.nrank; r++) f.first[r + 1] += f.first[r];
    const next = f.first.slice();
    const place = (/** @type {number} */ v) => {
        const r = f.rank[v];
        f.pos[v] = next[r] - f.first[r];
        f.order[next[r]++] = v;
    };
    const chains = groupBy(f.n, f.chains.length, i => f.chains[i].upper);
    for (let v = 0; v < f.n; v++) {
        if (f.rank[v] === LOOSE) continue;
        place(v);
        for (let i = chains.first[v]; i < chains.first[v + 1]; i++) {
            const c = f.chains[chains.list[i]];
            for (let k = 0; k < c.n; k++) place(c.first + k);
        }
    }
}

/** Sorts a rank by the means of the neighbours' places on one side. @param {Finding} f @param {number} r @param {Rows} side @param {number[]} far @param {Float64Array} key */
function sortRank(f, r, side, far, key) {
    const from = f.first[r];
    const nodes = f.order.subarray(from, f.first[r + 1]);
    for (let i = 0; i < nodes.length; i++) {
        const v = nodes[i];
        const count = side.first[v + 1] - side.first[v];
        let sum = 0;
        for (let k = side.first[v]; k < side.first[v + 1]; k++) sum += f.pos[far[side.list[k]]];
        key[v] = count ? sum / count : i;
    }
    nodes.sort((a, b) => key[a] - key[b] || f.pos[a] - f.pos[b]);
    for (let i = 0; i < nodes.length; i++) f.pos[nodes[i]] = i;
}

/** @param {Finding} f */
function sortRanks(f) {
    const key = new Float64Array(f.total);
    for (let k = 0; k < SWEEPS; k++) {
        if (k % 2 === 0) for (let r = 1; r < f.nrank; r++) sortRank(f, r, f.above, f.pieceUpper, key);
        else for (let r = f.nrank - 2; r >= 0; r--) sortRank(f, r, f.below, f.pieceLower, key);
    }
}

/**
 * Puts a rank where its neighbours would have it, by least squares, with its order and gaps as they are: those that would
 * be too near become a block, which goes to the mean of what its members want.
 * @param {Finding} f @param {number} r @param {boolean} above @param {boolean} below @param {{sum: Float64Array, weight: Float64Array, n: Uint32Array}} block
 */
function placeRank(f, r, above, below, block) {
    const from = f.first[r];
    const n = f.first[r + 1] - from;
    const {x, order} = f;
    let nblock = 0;
    let shift = 0;
    for (let i = 0; i < n; i++) {
        const v = order[from + i];
        if (i) shift += f.gap(order[from + i - 1], v);
        let sum = 0;
        let count = 0;
        if (above) {
            for (let k = f.above.first[v]; k < f.above.first[v + 1]; k++, count++) {
                const p = f.above.list[k];
                sum += x[f.pieceUpper[p]] + f.pieceOut[p] - f.pieceInto[p];
            }
        }
        if (below) {
            for (let k = f.below.first[v]; k < f.below.first[v + 1]; k++, count++) {
                const p = f.below.list[k];
                sum += x[f.pieceLower[p]] + f.pieceInto[p] - f.pieceOut[p];
            }
        }
        const wish = count > 0 ? sum / count : x[v];
        const weight = count > 0 ? (v < f.n ? count : count * DUMMY_WEIGHT) : 0.125;
        block.sum[nblock] = weight * (wish - shift);
        block.weight[nblock] = weight;
        block.n[nblock++] = 1;
        nblock = mergeBlocks(block, nblock);
    }
    shift = 0;
    for (let i = 0, b = 0, left = 0; i < n; i++) {
        const v = order[from + i];
        if (i) shift += f.gap(order[from + i - 1], v);
        if (!left) left = block.n[b++];
        left--;
        x[v] = block.sum[b - 1] / block.weight[b - 1] + shift;
    }
}

/** @param {{sum: Float64Array, weight: Float64Array, n: Uint32Array}} block @param {number} nblock */
function mergeBlocks(block, nblock) {
    const {sum, weight, n} = block;
    while (nblock > 1 && sum[nblock - 2] / weight[nblock - 2] > sum[nblock - 1] / weight[nblock - 1]) {
        sum[nblock - 2] += sum[nblock - 1];
        weight[nblock - 2] += weight[nblock - 1];
        n[nblock - 2] += n[nblock - 1];
        nblock--;
    }
    return nblock;
}

/** @param {Finding} f */
function placeInX(f) {
    const block = {sum: new Float64Array(f.total), weight: new Float64Array(f.total), n: new Uint32Array(f.total)};
    const x = (f.x = new Float64Array(f.total));
    for (let r = 0; r < f.nrank; r++) {
        for (let i = f.first[r]; i < f.first[r + 1]; i++) {
            const v = f.order[i];
            x[v] = i === f.first[r] ? f.width(v) / 2 : x[f.order[i - 1]] + f.gap(f.order[i - 1], v);
        }
    }
    for (let k = 0; k <= SWEEPS; k++) {
        if (k % 2 === 0) for (let r = 0; r < f.nrank; r++) placeRank(f, r, true, k === SWEEPS, block);
        else for (let r = f.nrank - 1; r >= 0; r--) placeRank(f, r, false, true, block);
    }
    let least = Infinity;
    for (let v = 0; v < f.total; v++) if (f.rank[v] !== LOOSE) least = Math.min(least, x[v] - f.width(v) / 2);
    let width = 0;
    for (let v = 0; v < f.total; v++) {
        if (f.rank[v] === LOOSE) continue;
        x[v] = Math.floor(x[v] - least + 0.5);
        width = Math.max(width, x[v] + f.width(v) / 2);
    }
    return width;
}

/** @param {Finding} f @param {LayoutResult} out */
function placeInY(f, out) {
    const {h} = f.task;
    f.top = new Float64Array(f.nrank);
    f.height = new Float64Array(f.nrank);
    for (let v = 0; v < f.n; v++) if (f.rank[v] !== LOOSE && h[v] > f.height[f.rank[v]]) f.height[f.rank[v]] = h[v];
    let y = 0;
    for (let r = 0; r < f.nrank; r++) {
        f.top[r] = y;
        if (f.first[r] < f.first[r + 1]) out.height = y + f.height[r];
        y += f.height[r] + GAP_Y;
    }
    for (let v = 0; v < f.n; v++) {
        const r = f.rank[v];
        if (r === LOOSE) continue;
        out.x[v] = f.x[v];
        out.y[v] = f.top[r] + Math.floor((f.height[r] - h[v]) / 2);
    }
}

/** What has no wires stands below the rest, in rows. @param {Finding} f @param {LayoutResult} out */
function placeLoose(f, out) {
    const {w, h} = f.task;
    const limit = Math.max(out.width, ROW_WIDTH);
    let x = 0;
    let y = out.height > 0 ? out.height + GAP_Y : 0;
    let row = 0;
    for (let v = 0; v < f.n; v++) {
        if (f.rank[v] !== LOOSE) continue;
        if (x > 0 && x + w[v] > limit) {
            x = 0;
            y += row + GAP_ROW;
            row = 0;
        }
        out.x[v] = x + w[v] / 2;
        out.y[v] = y;
        x += w[v] + GAP_X;
        out.width = Math.max(out.width, x - GAP_X);
        row = Math.max(row, h[v]);
        out.height = Math.max(out.height, y + row);
    }
}

/** @param {Finding} f @param {LayoutEdge} e @param {LayoutResult} out */
function lineOfEdge(f, e, out) {
    const net = f.task.nets[e.net];
    const s = net.source;
    const t = net.targets[e.target];
    const {h} = f.task;
    const span = f.rank[e.lower] - f.rank[e.upper];
    const n = e.chain >= 0 && span > 1 ? span - 1 : 0;
    const line = [out.x[s] + net.out, e.back ? out.y[s] : out.y[s] + h[s]];
    for (let i = 0; i < n; i++) {
        const v = f.chains[e.chain].first + (e.back ? n - 1 - i : i);
        const r = f.rank[v];
        const bottom = f.top[r] + f.height[r];
        line.push(f.x[v], e.back ? bottom : f.top[r]);
        if (f.height[r] > 0) line.push(f.x[v], e.back ? f.top[r] : bottom);
    }
    line.push(out.x[t] + net.into[e.target], e.back ? out.y[t] + h[t] : out.y[t]);
    return line;
}

/** @param {LayoutTask} task @returns {LayoutResult} */
export function findLayout(task) {
    const f = new Finding(task);
    /** @type {LayoutResult} */
    const out = {
        x: new Float64Array(f.n),
        y: new Float64Array(f.n),
        width: 0,
        height: 0,
        lines: task.nets.map(() => []),
    };
    findEdges(f);
    findRanks(f);
    addDummies(f);
    firstOrder(f);
    sortRanks(f);
    out.width = placeInX(f);
    placeInY(f, out);
    placeLoose(f, out);
    for (const e of f.edges) out.lines[e.net][e.target] = lineOfEdge(f, e, out);
    return out;
}
