// The report of a run has what the run printed. usage: node run.mjs PAGE.html TABLE.tsv
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {Browser} from './browser.mjs';

const [, , file, table] = process.argv;
const [head, ...rows] = readFileSync(table, 'utf8').trim().split('\n').map(l => l.split('\t'));
const b = await Browser.start();
try {
    await b.open(file);
    const shown = await b.run(() => Array.from(document.querySelectorAll('details tr'), tr => Array.from(tr.children, td => td.textContent)));
    assert.deepEqual([shown[0][0], ...shown[0].slice(2)], head);
    assert.equal(shown.length - 1, rows.length);
    rows.forEach((r, i) => r.forEach((x, k) => assert.ok(Math.abs(Number(shown[i + 1][k ? k + 1 : 0]) - Number(x)) <= 1e-6 * Math.abs(Number(x)), `row ${i}: ${shown[i + 1]} is ${r}`)));
    assert.equal(await b.run(() => document.querySelectorAll('.curve svg path').length), head.length - 1, 'a curve for each output');
    await b.run(() => document.querySelectorAll('.view input[type=checkbox]').forEach(e => e.click()));
    assert.equal(await b.run(() => document.querySelectorAll('.curve svg path').length), head.length - 1, 'logarithmic, over time');
    assert.match(await b.run(() => document.querySelector('.view').textContent), /Settings.*Made by/s);
    assert.deepEqual(b.messages, []);
    console.log(rows.length + ' reports of ' + (head.length - 1) + ' outputs');
} finally {
    await b.close();
}
