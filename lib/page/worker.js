// @ts-check
// The worker: it is sent the graphs once, then views, and sends back where everything stands.
import {makeScene} from './scene.js';
import {alignScenes} from './align.js';

/** @typedef {{model?: import('./model.js').Model, ask?: number, views?: import('./shown.js').View[], pairs?: import('./align.js').Pairs|null}} WorkerRequest */

/** @type {import('./model.js').Model|null} */
let workerModel = null;

self.onmessage = (/** @type {MessageEvent<WorkerRequest>} */ event) => {
    const {model, ask, views, pairs} = event.data;
    if (model) workerModel = model;
    if (!views || !workerModel) return;
    const m = workerModel;
    try {
        const scenes = views.map(view => makeScene(m, view));
        if (scenes.length === 2 && pairs) alignScenes(scenes[0], scenes[1], pairs);
        self.postMessage({ask, scenes});
    } catch (e) {
        self.postMessage({ask, error: String(e)});
    }
};
