// A headless Chromium, driven over its DevTools protocol through a pipe: node and the browser are all that tests need.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const PATIENCE_MS = 120000;

export class Browser {
    /** @param {{width?: number, height?: number, dark?: boolean}} options */
    static async start(options = {}) {
        const b = new Browser();
        b.home = mkdtempSync(join(tmpdir(), 'page-'));
        const size = `--window-size=${options.width || 1280},${options.height || 800}`;
        b.child = spawn(process.env.CHROMIUM || 'chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
            '--disable-dev-shm-usage', '--disable-background-networking', '--mute-audio', size, `--user-data-dir=${b.home}`, '--remote-debugging-pipe', 'about:blank'],
        {stdio: ['ignore', 'ignore', process.env.CHROMIUM_LOG ? 'inherit' : 'ignore', 'pipe', 'pipe']});
        b.asked = 0;
        b.waiting = new Map();
        b.listeners = [];
        let rest = '';
        b.child.stdio[4].setEncoding('utf8');
        b.child.stdio[4].on('data', text => {
            const parts = (rest + text).split('\0');
            rest = parts.pop();
            for (const p of parts) b.take(JSON.parse(p));
        });
        b.child.stdio[3].on('error', () => {});
        const {targetInfos} = await b.send('Target.getTargets');
        const page = targetInfos.find(t => t.type === 'page');
        const {sessionId} = await b.send('Target.attachToTarget', {targetId: page.targetId, flatten: true});
        b.session = sessionId;
        b.watch();
        for (const d of ['Page', 'Runtime', 'Log', 'Network']) await b.page(d + '.enable');
        await b.page('Emulation.setDeviceMetricsOverride', {width: options.width || 1280, height: options.height || 800, deviceScaleFactor: 1, mobile: false});
        await b.page('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: options.dark ? 'dark' : 'light'}]});
        return b;
    }

    take(message) {
        const w = this.waiting.get(message.id);
        if (w) {
            this.waiting.delete(message.id);
            clearTimeout(w.timer);
            if (message.error) w.fail(new Error(w.method + ': ' + message.error.message));
            else w.done(message.result);
        } else for (const l of this.listeners) l(message);
    }

    send(method, params = {}, sessionId = undefined) {
        const id = ++this.asked;
        this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
        return new Promise((done, fail) => {
            const timer = setTimeout(() => fail(new Error(method + ': no answer')), PATIENCE_MS);
            this.waiting.set(id, {done, fail, method, timer});
        });
    }

    page(method, params) { return this.send(method, params, this.session); }

    /** Keeps what a page should not do: messages on the console, errors, requests other than for itself. */
    watch() {
        this.messages = [];
        this.requests = [];
        this.listeners.push(m => {
            if (m.method === 'Runtime.consoleAPICalled') this.messages.push(m.params.type + ': ' + m.params.args.map(a => a.value || a.description).join(' '));
            if (m.method === 'Runtime.exceptionThrown') this.messages.push('exception: ' + (m.params.exceptionDetails.exception?.description || m.params.exceptionDetails.text));
            if (m.method === 'Log.entryAdded') this.messages.push(m.params.entry.level + ': ' + m.params.entry.text);
            if (m.method === 'Network.requestWillBeSent') this.requests.push(m.params.request.url);
            if (m.method === 'Page.javascriptDialogOpening') {
                this.messages.push('dialog: ' + m.params.message);
                this.page('Page.handleJavaScriptDialog', {accept: true}).catch(() => {});
            }
        });
    }

    /** Opens a file and waits until its first picture stands. */
    async open(file, hash = '') {
        this.messages = [];
        this.requests = [];
        await this.page('Page.navigate', {url: 'about:blank'});
        await this.page('Page.navigate', {url: pathToFileURL(file).href + hash});
        await this.until(() => document.documentElement.dataset.ready !== undefined);
        return Number(await this.run(() => document.documentElement.dataset.ready));
    }

    /** Runs a function in the page. */
    async run(f, ...args) {
        const expression = typeof f === 'string' ? f : `(${f})(...${JSON.stringify(args)})`;
        const r = await this.page('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
        if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
        return r.result.value;
    }

    async until(f, ...args) {
        const end = Date.now() + PATIENCE_MS;
        while (!await this.run(f, ...args).catch(() => false)) {
            if (Date.now() > end) throw new Error('the page never came to: ' + f + '\n' + this.messages.join('\n'));
            await new Promise(done => setTimeout(done, 25));
        }
    }

    async key(key, modifiers = 0) {
        const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;
        const code = {Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39}[key];
        await this.page('Input.dispatchKeyEvent', {type: 'keyDown', key, text, modifiers, windowsVirtualKeyCode: code});
        await this.page('Input.dispatchKeyEvent', {type: 'keyUp', key, modifiers, windowsVirtualKeyCode: code});
    }

    async type(text) { await this.page('Input.insertText', {text}); }

    async click(x, y, {count = 1, modifiers = 0} = {}) {
        for (let i = 1; i <= count; i++) {
            await this.page('Input.dispatchMouseEvent', {type: 'mousePressed', x, y, button: 'left', buttons: 1, clickCount: i, modifiers});
            await this.page('Input.dispatchMouseEvent', {type: 'mouseReleased', x, y, button: 'left', clickCount: i, modifiers});
        }
    }

    async move(x, y, buttons = 0) {
        await this.page('Input.dispatchMouseEvent', {type: 'mouseMoved', x, y, buttons, button: buttons ? 'left' : 'none'});
    }

    async wheel(x, y, deltaY) {
        await this.page('Input.dispatchMouseEvent', {type: 'mouseWheel', x, y, deltaX: 0, deltaY});
    }

    async screenshot(file) {
        const {data} = await this.page('Page.captureScreenshot', {format: 'png'});
        writeFileSync(file, Buffer.from(data, 'base64'));
    }

    async close() {
        const gone = new Promise(done => this.child.once('exit', done));
        this.send('Browser.close').catch(() => {});
        const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000);
        await gone;
        clearTimeout(timer);
        for (const w of this.waiting.values()) clearTimeout(w.timer);
        rmSync(this.home, {recursive: true, force: true, maxRetries: 5});
    }
}
