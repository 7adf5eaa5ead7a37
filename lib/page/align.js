// @ts-check
// Two layouts side by side: rows that hold equal parts are brought to the same height, by room between rows on the side
// that is ahead.

/** @typedef {import('./scene.js').Scene} Scene */
/** By a number of a node on the left, that of its partner on the right. @typedef {Record<string, string>} Pairs */
/** @typedef {{top: number, bottom: number, nodes: number[]}} Band */

const MOST_ROWS = 3000;

/** Bands of the outermost nodes that overlap in height. @param {Scene} s @returns {Band[]} */
function bandsOf(s) {
    /** @type {number[]} */
    const outer = [];
    s.nodes.forEach((v, i) => {
        if (v.parent < 0) outer.push(i);
    });
    outer.sort((a, b) => s.nodes[a].y - s.nodes[b].y);
    /** @type {Band[]} */
    const bands = [];
    for (const i of outer) {
        const v = s.nodes[i];
        const last = bands[bands.length - 1];
        if (last && v.y < last.bottom) {
            last.nodes.push(i);
            last.bottom = Math.max(last.bottom, v.y + v.h);
        } else bands.push({top: v.y, bottom: v.y + v.h, nodes: [i]});
    }
    return bands;
}

/** How many partners bands have in each other, by `left * rows + right`. @param {Scene} l @param {Scene} r @param {Band[]} lb @param {Band[]} rb @param {Pairs} pairs */
function partnersOf(l, r, lb, rb, pairs) {
    /** @type {Map<string, number>} */
    const bandOfPath = new Map();
    rb.forEach((b, k) => {
        for (const i of b.nodes) bandOfPath.set(r.nodes[i].path, k);
    });
    /** @type {Map<number, number>} */
    const count = new Map();
    lb.forEach((b, k) => {
        for (const i of b.nodes) {
            const partner = bandOfPath.get(pairs[l.nodes[i].path]);
            if (partner === undefined) continue;
            const key = k * rb.length + partner;
            count.set(key, (count.get(key) || 0) + 1);
        }
    });
    return count;
}

/** The pairs of bands, both ascending, with the most partners. @param {number} n @param {number} m @param {Map<number, number>} weight @returns {[number, number][]} */
function bestChain(n, m, weight) {
    const best = new Uint32Array((n + 1) * (m + 1));
    const w = (/** @type {number} */ i, /** @type {number} */ j) => weight.get(i * m + j) || 0;
    for (let i = n - 1; i >= 0; i--) {
        for (let j = m - 1; j >= 0; j--) {
            const take = w(i, j) ? w(i, j) + best[(i + 1) * (m + 1) + j + 1] : 0;
            best[i * (m + 1) + j] = Math.max(take, best[(i + 1) * (m + 1) + j], best[i * (m + 1) + j + 1]);
        }
    }
    /** @type {[number, number][]} */
    const chain = [];
    for (let i = 0, j = 0; i < n && j < m;) {
        const here = best[i * (m + 1) + j];
        if (w(i, j) && here === w(i, j) + best[(i + 1) * (m + 1) + j + 1]) chain.push([i++, j++]);
        else if (here === best[(i + 1) * (m + 1) + j]) i++;
        else j++;
    }
    return chain;
}

/** Moves everything by what `shiftAt` says for its height. @param {Scene} s @param {Band[]} bands @param {Float64Array} shift */
function moveBands(s, bands, shift) {
    const shiftAt = (/** @type {number} */ y) => {
        let lo = 0;
        let hi = bands.length - 1;
        while (lo < hi) {
            const mid = (lo + hi + 1) >> 1;
            if (bands[mid].top <= y) lo = mid;
            else hi = mid - 1;
        }
        return shift[lo];
    };
    for (const v of s.nodes) v.y += shiftAt(v.y);
    const {point} = s.wire;
    for (let i = 1; i < point.length; i += 2) point[i] += shiftAt(point[i]);
    s.height += shift[shift.length - 1] || 0;
}

/** @param {Scene} s @param {number} dx */
function moveRight(s, dx) {
    for (const v of s.nodes) v.x += dx;
    const {point} = s.wire;
    for (let i = 0; i < point.length; i += 2) point[i] += dx;
    s.width += dx;
}

/** Brings partners to the same place from left to right, in the mean; without any, the middles. @param {Scene} l @param {Scene} r @param {Pairs} pairs */
function alignColumns(l, r, pairs) {
    const middle = new Map(r.nodes.map(v => [v.path, v.x + v.w / 2]));
    let sum = 0;
    let n = 0;
    for (const v of l.nodes) {
        const x = v.parent < 0 ? middle.get(pairs[v.path]) : undefined;
        if (x === undefined) continue;
        sum += v.x + v.w / 2 - x;
        n++;
    }
    const dx = Math.round(n ? sum / n : (l.width - r.width) / 2);
    if (dx > 0) moveRight(r, dx);
    else moveRight(l, -dx);
    l.width = r.width = Math.max(l.width, r.width);
}

/** @param {Scene} l @param {Scene} r @param {Pairs} pairs */
export function alignScenes(l, r, pairs) {
    alignColumns(l, r, pairs);
    alignRows(l, r, pairs);
}

/** @param {Scene} l @param {Scene} r @param {Pairs} pairs */
function alignRows(l, r, pairs) {
    const lb = bandsOf(l);
    const rb = bandsOf(r);
    if (!lb.length || !rb.length || lb.length > MOST_ROWS || rb.length > MOST_ROWS) return;
    const chain = bestChain(lb.length, rb.length, partnersOf(l, r, lb, rb, pairs));
    const ls = new Float64Array(lb.length);
    const rs = new Float64Array(rb.length);
    let li = 0;
    let ri = 0;
    let left = 0;
    let right = 0;
    for (const [i, j] of chain) {
        for (; li < i; li++) ls[li] = left;
        for (; ri < j; ri++) rs[ri] = right;
        const ahead = lb[i].top + left - rb[j].top - right;
        if (ahead > 0) right += ahead;
        else left -= ahead;
    }
    for (; li < lb.length; li++) ls[li] = left;
    for (; ri < rb.length; ri++) rs[ri] = right;
    moveBands(l, lb, ls);
    moveBands(r, rb, rs);
}
