// @ts-check
// Asks the worker for layouts. Where a browser gives no worker to a page from a file, the page computes them itself.
import {layoutPart} from './model.js';
import {makeScene} from './scene.js';
import {alignScenes} from './align.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./shown.js').View} View */

export class Layouts {
    /** @param {import('./model.js').Model} m @param {string} code of the worker */
    constructor(m, code) {
        this.m = m;
        this.asked = 0;
        /** @type {Map<number, {done: (scenes: Scene[]) => void, views: View[], pairs: any}>} */
        this.waiting = new Map();
        /** @type {Worker|null} */
        this.worker = null;
        try {
            const url = URL.createObjectURL(new Blob([code], {type: 'text/javascript'}));
            this.worker = new Worker(url);
            this.worker.onmessage = e => this.answer(e.data);
            this.worker.onerror = () => this.giveUp();
            this.worker.postMessage({model: layoutPart(m)});
        } catch {
            this.worker = null;
        }
    }

    /** @param {View[]} views @param {any} [pairs] @returns {Promise<Scene[]>} */
    ask(views, pairs) {
        const ask = ++this.asked;
        return new Promise(done => {
            this.waiting.set(ask, {done, views, pairs: pairs || null});
            if (this.worker) this.worker.postMessage({ask, views, pairs: pairs || null});
            else this.compute(ask);
        });
    }

    /** @param {{ask: number, scenes?: Scene[], error?: string}} reply */
    answer(reply) {
        const w = this.waiting.get(reply.ask);
        this.waiting.delete(reply.ask);
        if (!w) return;
        if (!reply.scenes) throw new Error(reply.error);
        w.done(reply.scenes);
    }

    giveUp() {
        this.worker = null;
        for (const ask of Array.from(this.waiting.keys())) this.compute(ask);
    }

    /** @param {number} ask */
    compute(ask) {
        const w = this.waiting.get(ask);
        this.waiting.delete(ask);
        if (!w) return;
        const scenes = w.views.map(v => makeScene(this.m, v));
        if (scenes.length === 2 && w.pairs) alignScenes(scenes[0], scenes[1], w.pairs);
        w.done(scenes);
    }
}
