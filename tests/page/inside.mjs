// What boxes show inside: names without the box's own, the ops of a fused group; and a wide picture opens where nodes are.
// usage: node inside.mjs PAGE.html
import assert from 'node:assert/strict';
import {Browser} from './browser.mjs';
import {pageData, pageModule} from './modules.mjs';

const [, , file] = process.argv;
const {readModel, makeScene} = pageModule('scene.js', ['readModel', 'makeScene']);
const data = pageData(file);
const model = readModel(data);
const g = model.graphs[0];
const nodesOf = open => makeScene(model, {graph: 0, open}).nodes;

const all = nodesOf(data.open);
const short = all.filter(v => v.kind === 'leaf' && v.lines[0].startsWith('…'));
assert.ok(short.length > 3, 'names in boxes leave out what the box says');
for (const v of short) {
    const whole = model.strings[g.varName[v.id]];
    const rest = v.lines[0].slice(1);
    assert.equal(whole, model.strings[g.boxTitle[all[v.parent].id]] + '_' + rest);
}

const fused = Array.from(g.calls).find(([, call]) => model.graphs[call.graphs[0]].what === 'fused');
assert.ok(fused, 'there is a fused group');
const path = 'a' + fused[0];
const around = [];
for (let box = g.box[fused[0]]; box !== 0; box = g.boxParent[box]) around.push('b' + box);
const ops = model.graphs[fused[1].graphs[0]].n;
const inner = nodesOf([...around, path]).filter(v => v.path.startsWith(path + '/') && v.kind !== 'leaf');
assert.ok(inner.length > 0 && ops > 1, 'a fused group opens');

const b = await Browser.start({width: 700, height: 500});
try {
    await b.open(file, '#open=' + [...around, path].join(',') + '&at=' + path);
    await b.until(() => /^\d+ nodes/.test(document.querySelector('.status').textContent));
    const want = nodesOf([...around, path]).filter(v => !v.open).length;
    assert.ok((await b.run(() => document.querySelector('.status').textContent)).startsWith(want + ' nodes'), 'as many nodes as the layout has');
    await b.open(file);
    await b.until(() => /view=/.test(location.hash));
    const [x, y, k] = (await b.run(() => decodeURIComponent(location.hash))).match(/view=([^&]*)/)[1].split(',').map(Number);
    const seen = all.filter(v => !v.open && Math.abs(v.x + v.w / 2 - x) * k < 350 && Math.abs(v.y + v.h / 2 - y) * k < 250);
    assert.ok(seen.length > 2, 'the first view has nodes');
    assert.deepEqual(b.messages, []);
    console.log(short.length + ' names, ' + ops + ' ops in a fused group, ' + seen.length + ' nodes at first');
} finally {
    await b.close();
}
