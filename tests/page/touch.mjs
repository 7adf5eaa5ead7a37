// A page under the hand: clicks choose what the layout says stands there, boxes open and close, search finds, the address
// brings a view back, keys work. usage: node touch.mjs PAGE.html NAME OTHER (two nodes, one leads to the other)
import assert from 'node:assert/strict';
import {Browser} from './browser.mjs';
import {pageData, pageModule} from './modules.mjs';

const [, , file, name, other] = process.argv;
const {readModel, makeScene} = pageModule('scene.js', ['readModel', 'makeScene']);
const data = pageData(file);
const model = readModel(data);
const b = await Browser.start();

/** What stands where on the screen, with what is open. */
async function screenOf(open) {
    const scene = makeScene(model, {graph: 0, open});
    await b.until(() => /view=/.test(location.hash));
    const [x, y, k] = (await b.run(() => decodeURIComponent(location.hash))).match(/view=([^&]*)/)[1].split(',').map(Number);
    const r = await b.run(() => { const c = document.querySelector('.picture').getBoundingClientRect(); return [c.left, c.top, c.width, c.height]; });
    return {scene, at: v => [r[0] + r[2] / 2 + (v.x + v.w / 2 - x) * k, r[1] + r[3] / 2 + (v.y + (v.open ? 12 : v.h / 2) - y) * k], inside: ([px, py]) => px > r[0] && px < r[0] + r[2] && py > r[1] && py < r[1] + r[3]};
}

const hash = () => b.run(() => decodeURIComponent(location.hash));
const shown = () => b.run(() => document.querySelector('.status').textContent);

async function clicksChoose() {
    await b.open(file);
    await b.key('f');
    await b.key('-');
    await b.until(() => /view=/.test(location.hash));
    await new Promise(done => setTimeout(done, 400));
    const {scene, at, inside} = await screenOf(data.open);
    let n = 0;
    for (const v of scene.nodes) {
        const p = at(v);
        if (!inside(p)) continue;
        await b.click(...p);
        await b.until(path => decodeURIComponent(location.hash).match(/at=([^&]*)/)?.[1] === path, v.path);
        n++;
    }
    assert.ok(n > 5, 'nodes were clicked');
    console.log(n + ' nodes chosen by a click');
}

async function boxesOpenAndClose() {
    await b.open(file, '#open=');
    const closed = await shown();
    await b.key('f');
    await new Promise(done => setTimeout(done, 400));
    const {scene, at} = await screenOf([]);
    const box = scene.nodes.find(v => v.kind === 'box');
    await b.click(...at(box), {count: 2});
    await b.until(text => document.querySelector('.status').textContent !== text, closed);
    await b.until(path => decodeURIComponent(location.hash).includes('open=' + path), box.path);
    const open = makeScene(model, {graph: 0, open: [box.path]});
    assert.ok((await shown()).startsWith(open.nodes.filter(v => !v.open).length + ' node'), 'as many nodes as the layout has');
    await b.key('Enter');
    await b.until(text => document.querySelector('.status').textContent === text, closed);
    console.log('a box opens and closes');
}

async function searchFinds() {
    await b.open(file, '#open=');
    await b.key('/');
    await b.type(name);
    await b.until(() => document.querySelectorAll('#found li').length > 0);
    await b.key('Enter');
    await b.until(() => /at=/.test(location.hash));
    assert.ok((await b.run(() => document.querySelector('#panel h2').textContent)).includes(name), 'the panel has it');
    const path = (await hash()).match(/at=([^&]*)/)[1];
    await b.key('/');
    await b.run(() => { document.querySelector('#search').value = ''; });
    await b.type('nothing has this name');
    await b.until(() => /nothing has/.test(document.querySelector('#found').textContent));
    // A link to it opens what is around it.
    await b.open(file, '#at=' + path);
    assert.ok((await b.run(() => document.querySelector('#panel h2').textContent)).includes(name), 'a link leads to it');
    console.log('search and links find ' + name);
}

async function marks() {
    await b.open(file);
    await b.key('/');
    await b.type(name);
    await b.key('Enter');
    await b.until(() => document.querySelector('#panel h2') && /at=/.test(location.hash));
    await b.run(() => document.querySelector('#search').blur());
    await b.key('a');
    await b.until(() => document.querySelector('#panel .note'));
    const text = await b.run(() => document.querySelector('#panel .note').textContent);
    const path = (await hash()).match(/at=([^&]*)/)[1];
    assert.match(path, /^a\d+$/);
    const count = needed(Number(path.slice(1))).size;
    assert.ok(text.startsWith(count + ' Appl'), text + ' is ' + count);
    await b.key('Escape');
    await b.until(() => !document.querySelector('#panel .note'));
    await b.key('Escape');
    await b.until(() => !document.querySelector('#panel .close'));
    console.log('ancestors: ' + text);
}

const g = data.graphs[0];
const {column} = pageModule('columns.js', ['column']);
const [nin, out, nout] = ['nin', 'out', 'nout'].map(k => column(g.apply[k], g.n));
const input = column(g.apply.in, 0);
const owner = new Map();
const first = [0];
for (let a = 0; a < g.n; a++) {
    for (let k = 0; k < nout[a]; k++) owner.set(out[a] + k, a);
    first.push(first[a] + nin[a]);
}

/** All that an Apply needs, with it: found here by other means than in the page. */
function needed(of) {
    const set = new Set([of]);
    for (const a of set) for (let i = first[a]; i < first[a + 1]; i++) if (owner.has(input[i])) set.add(owner.get(input[i]));
    return set;
}

async function paths() {
    const find = async what => {
        await b.key('/');
        await b.run(() => { document.querySelector('#search').value = ''; });
        await b.type('name:' + what);
        await b.until(() => document.querySelectorAll('#found li').length > 0);
        await b.key('Enter');
        await b.run(() => document.querySelector('#search').blur());
    };
    await find(name);
    await b.until(text => document.querySelector('#panel h2').textContent.startsWith(text), name);
    const from = Number((await b.run(() => document.querySelector('#panel').dataset.shows)).slice(1));
    await b.key('p');
    await b.until(() => /Choose the other/.test(document.querySelector('#panel .note')?.textContent));
    await find(other);
    await b.until(() => /shortest way/.test(document.querySelector('#panel .note')?.textContent));
    const to = Number((await b.run(() => decodeURIComponent(location.hash).match(/to=a(\d+)/)?.[1] || new Promise(done => setTimeout(() => done(decodeURIComponent(location.hash).match(/to=a(\d+)/)[1]), 400)))));
    const between = Array.from(needed(to)).filter(a => needed(a).has(from));
    const text = await b.run(() => document.querySelector('#panel .note').textContent);
    assert.ok(text.startsWith(between.length + ' Appl'), text + ' is ' + between.length);
    console.log('paths from ' + name + ' to ' + other + ': ' + between.length + ' Applies');
}

async function dress() {
    assert.equal(await b.run(() => document.documentElement.classList.contains('dark')), false);
    await b.page('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]});
    await b.until(() => document.documentElement.classList.contains('dark'));
    await b.run(() => document.querySelector('#corner button').click());
    await b.until(() => !document.documentElement.classList.contains('dark'));
    console.log('dark and light');
}

try {
    await clicksChoose();
    await boxesOpenAndClose();
    await searchFinds();
    await marks();
    await paths();
    await dress();
    assert.deepEqual(b.messages, []);
} finally {
    await b.close();
}
