// Pages load and all their views can be looked at: nothing is said on the console, nothing is asked of any network.
// usage: node pages.mjs PAGE.html...
import assert from 'node:assert/strict';
import {Browser} from './browser.mjs';

const b = await Browser.start();
try {
    for (const file of process.argv.slice(2)) {
        const ms = await b.open(file);
        const tabs = await b.run(() => Array.from(document.querySelectorAll('nav button'), e => e.textContent));
        assert.ok(tabs.length > 0, file + ' has views');
        for (let i = 0; i < tabs.length; i++) {
            await b.key(String(i + 1));
            await b.until(n => document.querySelectorAll('nav button')[n].getAttribute('aria-selected') === 'true', i);
            await b.run(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
            const said = await b.run(() => {
                const view = Array.from(document.querySelectorAll('.view')).find(v => !v.hidden);
                const canvas = view.querySelector('canvas');
                if (!canvas || !canvas.width) return view.textContent.trim().length;
                const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(data.buffer)).size - 1;
            });
            assert.ok(said > 0, file + ': ' + tabs[i] + ' shows something');
        }
        for (const key of ['h', 'h', 'h', 'o', 'c', '?']) await b.key(key);
        await b.key('Escape');
        await new Promise(done => setTimeout(done, 50));
        assert.deepEqual(b.messages, [], file);
        assert.deepEqual(b.requests.filter(r => !r.startsWith('file:') && !r.startsWith('blob:')), [], file);
        assert.equal(b.requests.filter(r => r.startsWith('file:')).length, 1, file + ' is one file');
        console.log(file + ': ' + tabs.join(', ') + '; first picture after ' + ms + ' ms');
    }
} finally {
    await b.close();
}
