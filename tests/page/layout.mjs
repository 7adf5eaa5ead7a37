// The layout in C and the one in the page are the same: every node of `gload -O svg` stands where the page puts it, and
// every wire ends where the page's does. usage: node layout.mjs PAGE.html PICTURE.svg
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {pageData, pageModule} from './modules.mjs';

const MARGIN = 20;
const {readModel, makeScene} = pageModule('scene.js', ['readModel', 'makeScene']);
const [, , page, picture] = process.argv;
const data = pageData(page);
const scene = makeScene(readModel(data), {graph: 0, open: data.open});
const svg = readFileSync(picture, 'utf8');

/** @type {Map<string, number[]>} */
const rects = new Map();
for (const [, attributes] of svg.matchAll(/<rect ([^>]*data-path=[^>]*)>/g)) {
    const get = name => attributes.match(new RegExp('(?:^| )' + name + '="([^"]*)"'))[1];
    rects.set(get('data-path'), ['x', 'y', 'width', 'height'].map(k => Number(get(k))));
}
assert.equal(scene.nodes.length, rects.size, 'as many nodes');
assert.ok(rects.size > 0);
for (const v of scene.nodes) assert.deepEqual([v.path, ...(rects.get(v.path) || [])], [v.path, v.x + MARGIN, v.y + MARGIN, v.w, v.h]);

/** The points of a path of M, C and V, in the page's coordinates. @param {string} d */
function pointsOf(d) {
    const points = [];
    for (const [, command, rest] of d.matchAll(/([MCV])([^MCV]*)/g)) {
        const n = rest.trim().split(/[\s,]+/).map(Number);
        points.push(command === 'V' ? [points[points.length - 1][0], n[0] - MARGIN] : n.slice(-2).map(x => x - MARGIN));
    }
    return points.map(p => p.map(x => x.toFixed(2)).join(' '));
}

const drawn = Array.from(svg.matchAll(/<path (?![^>]*fill="#)[^>]*\bd="([^"]*)"/g), ([, d]) => d).filter(d => !d.endsWith('z')).map(pointsOf);
const bends = new Set(drawn.flat());
const {first, point} = scene.wire;
const wires = Array.from({length: first.length - 1}, (_, i) => {
    const points = [];
    for (let j = first[i]; j < first[i + 1]; j += 2) points.push(point[j].toFixed(2) + ' ' + point[j + 1].toFixed(2));
    for (const p of points) assert.ok(bends.has(p), 'no wire of the picture passes ' + p);
    return points[0] + ' ' + points[points.length - 1];
});
assert.deepEqual(wires.sort(), drawn.map(p => p[0] + ' ' + p[p.length - 1]).sort());
console.log(rects.size + ' nodes and ' + wires.length + ' wires agree');
