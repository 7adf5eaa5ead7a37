// @ts-check
// What the page shows at the moment, and who wants to know when it changes.

/** What is chosen: an Apply, a leaf, a box or a function of a call. `path` is empty where no picture holds it.
 *  @typedef {{root: number, path: string, graph: number, kind: string, id: number}} Choice */
/** What is marked around the chosen node. @typedef {{kind: 'up'|'down'|'both'|'path', to?: Choice}} Reach */
/**
 * @typedef {Object} State
 * @property {string} tab
 * @property {Choice|null} chosen
 * @property {Set<string>} open
 * @property {Set<string>} openRight
 * @property {boolean} details
 * @property {boolean} casts
 * @property {boolean} idle
 * @property {string} heat
 * @property {Reach|null} reach
 * @property {number} step
 * @property {string} table
 * @property {string} theme          'light' or 'dark'
 */

export class Store {
    /** @param {State} state */
    constructor(state) {
        this.state = state;
        /** @type {{keys: (keyof State)[], act: () => void}[]} */
        this.watchers = [];
    }

    /** @param {Partial<State>} patch */
    set(patch) {
        const changed = new Set();
        for (const key in patch) {
            const k = /** @type {keyof State} */ (key);
            if (this.state[k] !== patch[k]) changed.add(k);
        }
        if (!changed.size) return;
        this.state = {...this.state, ...patch};
        for (const w of this.watchers) if (w.keys.some(k => changed.has(k))) w.act();
    }

    /** @param {(keyof State)[]} keys @param {() => void} act */
    watch(keys, act) {
        this.watchers.push({keys, act});
    }
}
