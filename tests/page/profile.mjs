// The page of a static profile says what `gprof --static -O json` says. usage: node profile.mjs PAGE.html PROFILE.json
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {Browser} from './browser.mjs';
import {pageModule} from './modules.mjs';

const [, , file, report] = process.argv;
const want = JSON.parse(readFileSync(report, 'utf8'));
const {bytesText, countText} = pageModule('format.js', ['bytesText', 'countText']);
const b = await Browser.start();
try {
    await b.open(file);
    const sections = await b.run(() => Object.fromEntries(Array.from(document.querySelectorAll('#panel section'), s => [s.querySelector('h3').textContent, s.innerText])));
    const peak = sections['LARGEST AT THE PEAK OF MEMORY'] || sections['Largest at the peak of memory'];
    assert.ok(peak.includes(bytesText(want.at_peak.reduce((sum, p) => sum + p.bytes, 0))), 'the peak: ' + peak);
    const largest = want.at_peak[0];
    assert.ok(peak.includes(bytesText(largest.bytes)), 'its largest: ' + peak);
    const most = want.apply.reduce((m, a) => a.flops > m.flops ? a : m);
    assert.ok((sections['Most flops'] || '').includes(countText(most.flops) + ' flops'), 'most flops: ' + sections['Most flops']);
    // The table of costs, sorted as it opens: the first row costs most; sorted the other way, least.
    await b.key('2');
    const rows = () => b.run(() => Array.from(document.querySelectorAll('.scroller tbody tr:not(.space)'), r => Array.from(r.children, c => c.textContent)));
    await b.until(() => document.querySelectorAll('.scroller tbody tr').length > 1);
    assert.equal((await rows())[0][0], most.op);
    assert.ok((await rows())[0].includes(countText(most.flops)));
    await b.run(() => { const f = document.querySelector('.scroller').parentElement.querySelector('input'); f.value = 'no such row'; f.dispatchEvent(new Event('input')); });
    assert.equal((await rows()).length, 0, 'the filter leaves nothing out of nothing');
    await b.run(word => { const f = document.querySelector('.scroller').parentElement.querySelector('input'); f.value = word; f.dispatchEvent(new Event('input')); }, most.op);
    assert.ok((await rows()).every(r => r.join(' ').toLowerCase().includes(most.op)), 'the filter keeps what has its words');
    // A row chooses its node; the memory view says what is alive at the peak.
    await b.run(() => document.querySelector('.scroller tbody tr:not(.space)').click());
    await b.until(() => /^a\d+/.test(document.querySelector('#panel').dataset.shows));
    assert.ok((await b.run(() => document.querySelector('#panel').textContent)).includes(countText(most.flops)));
    await b.key('3');
    await b.until(() => document.querySelector('.alive h3'));
    const first = await b.run(() => { Array.from(document.querySelectorAll('.view .tools button')).find(e => e.textContent === 'Peak').click(); return document.querySelector('.alive tbody tr').textContent; });
    assert.ok(first.startsWith(bytesText(largest.bytes)), first);
    assert.deepEqual(b.messages, []);
    console.log('peak, largest tensor and costliest Apply are those of the report');
} finally {
    await b.close();
}
