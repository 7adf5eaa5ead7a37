// A graph whose texts are made to do harm does none: it is shown as what it is. usage: node hostile.mjs PAGE.html TEXT...
import assert from 'node:assert/strict';
import {Browser} from './browser.mjs';

const [, , file, ...texts] = process.argv;
const b = await Browser.start();
try {
    await b.open(file);
    assert.equal(await b.run(() => document.querySelectorAll('script').length), 3, 'no script but the page\'s own');
    assert.equal(await b.run(() => document.querySelectorAll('img, iframe, link, object, embed').length), 0);
    const seen = [];
    const look = async () => { seen.push(await b.run(() => document.body.innerText + Array.from(document.querySelectorAll('#found li'), li => li.textContent).join('\n'))); };
    await look();
    const tabs = await b.run(() => document.querySelectorAll('nav button').length);
    for (let i = 0; i < tabs; i++) {
        await b.key(String(i + 1));
        await b.run(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
        await look();
    }
    await b.key('1');
    const applies = await b.run(() => Number(document.querySelector('.status').textContent.match(/of (\d+)/)[1]));
    for (let a = 0; a < applies; a++) {
        await b.run(path => { location.hash = '#show=details&at=' + path; }, 'a' + a);
        await b.until(path => document.querySelector('#panel').dataset.shows === path, 'a' + a);
        await look();
    }
    await b.key('/');
    await b.type('script');
    await look();
    const all = seen.join('\n');
    for (const t of texts) assert.ok(all.includes(t), 'shown as text: ' + t);
    // eslint-disable-next-line no-control-regex
    assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(all), 'no text turns the direction of others');
    assert.equal(await b.run(() => window.harm), undefined, 'nothing ran');
    assert.equal(await b.run(() => document.title.includes('\n')), false);
    assert.deepEqual(b.messages, []);
    assert.deepEqual(b.requests.filter(r => !r.startsWith('file:') && !r.startsWith('blob:')), []);
    console.log('harmless in ' + seen.length + ' looks');
} finally {
    await b.close();
}
