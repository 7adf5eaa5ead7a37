// @ts-check
// The address holds the view, so that a link to a node can be sent: #tab=graph&at=a12&open=b3,a5/f0&...
import {choiceOfPath, opensFor} from './paths.js';

/** @typedef {import('./app.js').App} App */

const SWITCHES = /** @type {('details'|'casts'|'idle')[]} */ (['details', 'casts', 'idle']);
// Longer ones are cut off by programs that pass links on.
const LONGEST = 4000;

/** @param {Set<string>} a @param {string[]} b */
function sameSet(a, b) {
    return a.size === b.length && b.every(x => a.has(x));
}

/** Escapes what would end a value; paths stay readable. @param {string} s */
function escaped(s) {
    return encodeURIComponent(s).replace(/%2F/g, '/').replace(/%2C/g, ',');
}

/** @param {App} app @param {string} first the tab that is shown without being named @param {{x: number, y: number, k: number}|null} place @returns {string} */
export function addressOf(app, first, place) {
    const s = app.state;
    /** @type {[string, string][]} */
    const parts = [];
    if (s.tab !== first) parts.push(['tab', s.tab]);
    if (s.chosen && s.chosen.path && (s.chosen.root === app.root || app.m.raw.diff))
        parts.push([s.chosen.root === app.root ? 'at' : 'right', s.chosen.path]);
    const raw = app.m.raw;
    if (!sameSet(s.open, raw.open || [])) parts.push(['open', Array.from(s.open).join(',')]);
    if (raw.diff && !sameSet(s.openRight, raw.diff.open_right || []))
        parts.push(['openright', Array.from(s.openRight).join(',')]);
    const on = SWITCHES.filter(k => s[k]);
    if (on.length) parts.push(['show', on.join(',')]);
    if (s.heat !== 'family') parts.push(['heat', s.heat]);
    if (s.reach && s.reach.kind !== 'path') parts.push(['reach', s.reach.kind]);
    if (s.reach && s.reach.to) parts.push(['to', s.reach.to.path]);
    if (s.step) parts.push(['step', String(s.step)]);
    if (s.tab === 'tables') parts.push(['table', s.table]);
    if (place) parts.push(['view', [place.x.toFixed(0), place.y.toFixed(0), place.k.toPrecision(3)].join(',')]);
    const text = parts.map(([k, v]) => k + '=' + escaped(v)).join('&');
    return text.length > LONGEST
        ? parts
              .filter(p => !p[0].startsWith('open'))
              .map(([k, v]) => k + '=' + escaped(v))
              .join('&')
        : text;
}

/** @param {string} hash @returns {Map<string, string>} */
function valuesOf(hash) {
    /** @type {Map<string, string>} */
    const out = new Map();
    for (const part of hash.replace(/^#/, '').split('&')) {
        const at = part.indexOf('=');
        if (at <= 0) continue;
        try {
            out.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
        } catch {
            // A mangled escape says nothing that could be shown.
        }
    }
    return out;
}

/** What an address says; all that it doesn't is as at first. @param {App} app @param {string} hash @param {string[]} tabs @returns {Partial<import('./store.js').State>} */
export function stateOfAddress(app, hash, tabs) {
    const v = valuesOf(hash);
    const raw = app.m.raw;
    const paths = (/** @type {string} */ key, /** @type {string[]} */ first) =>
        new Set(v.has(key) ? (v.get(key) || '').split(',').filter(Boolean) : first);
    const chosen =
        v.has('right') && app.m.raw.diff
            ? choiceOfPath(app.m, app.roots[1], v.get('right') || '')
            : v.has('at')
              ? choiceOfPath(app.m, app.root, v.get('at') || '')
              : null;
    const shown = (v.get('show') || '').split(',');
    const to = chosen && v.has('to') ? choiceOfPath(app.m, chosen.root, v.get('to') || '') : null;
    const reach = v.get('reach');
    /** @type {Partial<import('./store.js').State>} */
    const state = {
        tab: tabs.includes(v.get('tab') || '') ? v.get('tab') : tabs[0],
        chosen,
        open: paths('open', raw.open || []),
        heat: /** @type {string[]} */ (app.costs.measures()).includes(v.get('heat') || '') ? v.get('heat') : 'family',
        table: v.get('table') || 'applies',
        step: Math.max(0, Number(v.get('step')) || 0),
        reach: to ? {kind: 'path', to} : reach === 'up' || reach === 'down' || reach === 'both' ? {kind: reach} : null,
    };
    if (raw.diff) state.openRight = paths('openright', raw.diff.open_right || []);
    const around = chosen ? state[app.openKey(chosen.root)] : null;
    if (chosen && around) for (const p of opensFor(app.m, chosen.root, chosen.path)) around.add(p);
    for (const k of SWITCHES) state[k] = shown.includes(k);
    return state;
}

/** Where the address says the picture stands. @param {string} hash @returns {{x: number, y: number, k: number}|null} */
export function placeOfAddress(hash) {
    const [x, y, k] = (valuesOf(hash).get('view') || '').split(',').map(Number);
    return Number.isFinite(x) && Number.isFinite(y) && k > 0 && k < 10 ? {x, y, k} : null;
}
