// Two graphs side by side: differences are gone through, partners point at each other, equal parts are at one height.
// usage: node diff.mjs PAGE.html equal|differ
import assert from 'node:assert/strict';
import {Browser} from './browser.mjs';
import {pageData, pageModule} from './modules.mjs';

const [, , file, verdict] = process.argv;
const {readModel, readPairs} = pageModule('difftab.js', ['readModel', 'readPairs']);
const {makeScene, alignScenes} = pageModule('layouts.js', ['makeScene', 'alignScenes']);
const model = readModel(pageData(file));
const [table] = readPairs(model);
const none = 0xffffffff;
table.pair.forEach((r, l) => { if (r !== none) assert.equal(table.back[r], l, 'partners are each other\'s'); });

const scenes = [0, model.raw.diff.nleft].map((graph, k) => makeScene(model, {graph, open: k ? model.raw.diff.open_right : model.raw.open}));
const paths = Object.fromEntries(scenes[0].nodes.filter(v => v.parent < 0 && scenes[1].nodes.some(u => u.path === v.path)).map(v => [v.path, v.path]));
if (verdict === 'equal') {
    alignScenes(scenes[0], scenes[1], paths);
    for (const v of scenes[0].nodes) assert.equal(scenes[1].nodes.find(u => u.path === v.path)?.y, v.y, v.path + ' is at the same height');
}

const b = await Browser.start();
try {
    await b.open(file);
    const said = await b.run(() => document.querySelector('.view .tools').textContent);
    assert.equal(/The graphs are equal/.test(said), verdict === 'equal', said);
    if (verdict === 'differ') {
        await b.run(() => Array.from(document.querySelectorAll('.tools button')).find(e => e.textContent === 'Next difference').click());
        await b.until(() => /^a\d/.test(document.querySelector('#panel').dataset.shows || ''));
        assert.match(await b.run(() => document.querySelector('#panel').textContent), /On the other side(changed|only here)/);
        assert.match(await b.run(() => document.querySelector('.view .tools + .tools').textContent), /1 of \d+ difference/);
    }
    assert.deepEqual(b.messages, []);
    console.log('side by side: ' + said);
} finally {
    await b.close();
}
