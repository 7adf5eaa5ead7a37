// The page's layout beside that of -O svg: all nodes have the same places, all wires the same ends and bends.
// usage: node layout.mjs PAGE.html PICTURE.svg
import {readFileSync} from 'node:fs';

import {readModel} from '../../lib/page/model.js';
import {makeScene} from '../../lib/page/scene.js';

const MARGIN = 20;
const [page, picture] = process.argv.slice(2).map(f => readFileSync(f, 'utf8'));
const data = JSON.parse(/<script type="application\/json" id="data">([^]*?)<\/script>/.exec(page)[1]);
const scene = makeScene(readModel(data), {graph: 0, open: data.open});

function sameLists(what, a, b) {
    a.sort();
    b.sort();
    const at = a.findIndex((x, i) => x !== b[i]);
    if (a.length === b.length && at < 0) return;
    console.log(`${what}: ${a.length} in the page, ${b.length} in the picture; the first that differs: ${a[at]} and ${b[at]}`);
    process.exitCode = 1;
}

const nodes = scene.nodes.map(n => [n.path, n.x, n.y, n.w, n.h].join(' '));
const rect = /data-path="([^"]*)" x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/g;
sameLists('nodes', nodes, Array.from(picture.matchAll(rect), m => [m[1], m[2] - MARGIN, m[3] - MARGIN, +m[4], +m[5]].join(' ')));

// M x y, V y, C x y x y x y
function pointsOf(d) {
    const points = [];
    for (const [, kind, rest] of d.matchAll(/([MVC])([^MVC]*)/g)) {
        const n = rest.trim().split(/\s+/).map(Number);
        const x = kind === 'V' ? points[points.length - 1][0] : n[n.length - 2] - MARGIN;
        points.push([x, n[n.length - 1] - MARGIN]);
    }
    return points;
}

const drawn = Array.from(picture.matchAll(/<path d="(M[^"]*)"/g), m => m[1]).filter(d => d !== 'M0 0L8 4L0 8z').map(pointsOf);
const bends = new Set(drawn.flat().map(String));
const {first, point} = scene.wire;
const ends = [];
for (let w = 0; w + 1 < first.length; w++) {
    const p = Array.from(point.slice(first[w], first[w + 1]));
    ends.push([p[0], p[1], p[p.length - 2], p[p.length - 1]].join(' '));
    for (let i = 0; i < p.length; i += 2) {
        if (bends.has(p[i] + ',' + p[i + 1])) continue;
        console.log(`no wire of the picture passes ${p[i]}, ${p[i + 1]}`);
        process.exitCode = 1;
    }
}
sameLists('wires', ends, drawn.map(p => [...p[0], ...p[p.length - 1]].join(' ')));
console.log(`${nodes.length} nodes, ${ends.length} wires`);
