// The steps of a rewriting: as many as the tool printed, and the state after all of them is the graph that came out.
// usage: node explain.mjs PAGE.html STEPS.txt
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {Browser} from './browser.mjs';
import {pageData, pageModule} from './modules.mjs';

const [, , file, printed] = process.argv;
const {readModel, readSteps, substitution, neededApplies} = pageModule('explaintab.js', ['readModel', 'readSteps', 'substitution', 'neededApplies']);
const model = readModel(pageData(file));
const steps = readSteps(model);
const lines = readFileSync(printed, 'utf8').split('\n').filter(l => /^\d+ /.test(l));
assert.equal(steps.length, lines.length, 'a step for each line');
steps.forEach((s, i) => assert.ok(lines[i].startsWith((i + 1) + ' ' + s.rule + ': '), lines[i] + ' is by ' + s.rule));

/** Ops of what a state needs, sorted. */
function opsAfter(k) {
    const epoch = k ? steps[k - 1].epoch : 0;
    const g = model.graphs[model.raw.explain.epochs[epoch]];
    const alive = neededApplies(g, substitution(steps, epoch, k, g.nvar), k);
    return Array.from({length: g.n}, (_, a) => a).filter(a => alive[a]).map(a => model.ops[g.op[a]].name).sort();
}
const result = model.graphs.filter(g => g.what === 'main').pop();
const whole = neededApplies(result, Uint32Array.from({length: result.nvar}, (_, v) => v), steps.length);
assert.deepEqual(opsAfter(steps.length), Array.from({length: result.n}, (_, a) => a).filter(a => whole[a]).map(a => model.ops[result.op[a]].name).sort());
assert.notDeepEqual(opsAfter(0), opsAfter(steps.length));

const b = await Browser.start();
try {
    await b.open(file);
    const shown = k => b.until((n, rule) => document.querySelector('.tools [role=status]').textContent.startsWith(n + ' of ') && document.querySelector('.change').textContent.includes(rule), k, k ? steps[k - 1].rule : 'as it was given');
    await shown(0);
    for (let k = 1; k <= Math.min(steps.length, 12); k++) {
        await b.key(']');
        await shown(k);
    }
    await b.key('[');
    await shown(Math.min(steps.length, 12) - 1);
    await b.run(k => { location.hash = '#step=' + k; }, steps.length);
    await shown(steps.length);
    assert.deepEqual(b.messages, []);
    console.log(steps.length + ' steps, forward and back');
} finally {
    await b.close();
}
