// @ts-check
// What counts in the whole: size, outputs, what is slow, what memory is full of. Shown while nothing is chosen.
import {button, el} from './dom.js';
import {nameOfVar, typeOf, lineOf, bytesOf} from './model.js';
import {bytesText, countText, countedText, percentText, secondsText} from './format.js';
import {heldByFunctions} from './memorydata.js';
import {facts, linkTo, section, shortList} from './parts.js';
import {costText} from './graphpane.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./memorydata.js').Memory} Memory */
/** @typedef {{graph: number, a: number, cost: number}} Cost */

const TOP = 6;
const HOLDERS_SHOWN = 40;

/** The Applies that cost most. @param {App} app @param {import('./costs.js').Measure} measure @param {number} most @returns {Cost[]} */
export function costliest(app, measure, most) {
    /** @type {Cost[]} */
    const all = [];
    app.m.graphs.forEach((g, graph) => {
        if (!app.costs.graphs[graph]) return;
        for (let a = 0; a < g.n; a++) {
            const cost = app.costs.ofApply(measure, graph, a);
            if (cost > 0) all.push({graph, a, cost});
        }
    });
    return all.sort((x, y) => y.cost - x.cost).slice(0, most);
}

/** Two lines of a list: a node and an amount, its type and the line that it comes from. @param {App} app @param {import('./store.js').Choice} c @param {string} name @param {string} amount */
function amountRow(app, c, name, amount) {
    const g = app.m.graphs[c.graph];
    const place = c.kind === 'apply' ? lineOf(app.m, g, c.id) : null;
    return el(
        'div',
        {class: 'entry'},
        el('div', {class: 'row'}, linkTo(app, c, name), el('span', {class: 'amount'}, amount)),
        el(
            'div',
            {class: 'row'},
            el('span', {class: 'type'}, app.typeOf(c)),
            place ? el('span', {class: 'amount soft', title: place.text.trim()}, 'line ' + place.line) : null,
        ),
    );
}

/** Applies whose flops depend on open dims. @param {App} app */
function openAmounts(app) {
    let n = 0;
    app.costs.graphs.forEach((c, i) => {
        for (let a = 0; c && app.costs.symbolic[i].size && a < app.m.graphs[i].n; a++)
            if (app.costs.formula(i, a, 'flops')) n++;
    });
    return n;
}

/** @param {App} app */
function slowest(app) {
    const measure = app.costs.hasTime() ? 'time' : 'flops';
    const total = app.costs.total(measure);
    const rows = costliest(app, measure, TOP).map(r => {
        const c = app.choice(r.graph, 'apply', r.a);
        return amountRow(app, c, app.titleOf(c), costText(measure, r.cost) + ' · ' + percentText(r.cost, total));
    });
    const open = openAmounts(app);
    if (!rows.length && !open) return null;
    return section(
        measure === 'time' ? 'Slowest' : 'Most flops',
        shortList(rows),
        open
            ? el(
                  'p',
                  {class: 'note'},
                  countedText(open, 'Apply', 'Applies') +
                      ' left out: what they cost depends on dims that are open. gprof --dim NAME=SIZE gives them a size.',
              )
            : null,
        button('All costs', () => app.store.set({tab: 'tables', table: 'applies'}), {class: 'link'}),
    );
}

/** @param {App} app @param {Memory|null} mem */
function fullest(app, mem) {
    if (!mem || !mem.bytes.length) return null;
    const g = app.m.graphs[0];
    const rows = mem.holders
        .slice(0, HOLDERS_SHOWN)
        .map(([v, name, bytes]) =>
            v >= 0
                ? amountRow(app, app.choiceOfVar(0, v), nameOfVar(app.m, g, v), bytesText(bytes))
                : el('div', {class: 'row'}, el('b', {}, name), el('span', {class: 'amount'}, bytesText(bytes))),
        );
    const peak = mem.live[mem.peakAt] + heldByFunctions(mem);
    return section(
        'Largest at the peak of memory',
        el(
            'p',
            {},
            el('b', {}, bytesText(peak)),
            ' at instruction ' + mem.peakAt + ' of ' + mem.step.length,
            ', ',
            mem.peakAt < mem.step.length ? linkTo(app, app.choice(0, 'apply', mem.step[mem.peakAt])) : 'the end',
        ),
        shortList(rows, TOP),
        button('Memory over time', () => app.store.set({tab: 'memory'}), {class: 'link'}),
    );
}

/** @param {App} app */
function timeText(app) {
    const total = app.m.raw.profile.total || {};
    const inside = secondsText(app.costs.total('time')) + ' in Applies';
    return total.time_s
        ? [
              el('b', {}, secondsText(total.time_s)),
              ' a call, ' + inside + (total.runs ? ', ' + countedText(total.runs, 'run') : ''),
          ]
        : inside;
}

/** @param {App} app */
function totals(app) {
    const {m, costs} = app;
    const g = m.graphs[app.root];
    const functions = m.graphs.filter(f => f.what === 'function').length;
    const parameters = g.shared.reduce((sum, v) => sum + (bytesOf(m, g, v) || 0), 0);
    return facts([
        [
            'graph',
            [
                g.name || m.title,
                ' · ' +
                    countedText(g.n, 'Apply', 'Applies') +
                    (functions ? ', ' + countedText(functions, 'function') : ''),
            ],
        ],
        [
            'shared',
            g.shared.length
                ? countedText(g.shared.length, 'variable') + (parameters ? ', ' + bytesText(parameters) : '')
                : '',
        ],
        ['time', costs.hasTime() ? timeText(app) : ''],
        ['flops', costs.has ? countText(costs.total('flops')) : ''],
        ['moved', costs.has ? bytesText(costs.total('bytes')) : ''],
        ['made by', m.raw.command || m.raw.made_by || ''],
        [
            'dims',
            m.raw.profile && m.raw.profile.dims
                ? Object.entries(m.raw.profile.dims)
                      .map(([k, v]) => k + '=' + v)
                      .join(', ')
                : '',
        ],
    ]);
}

/** @param {App} app */
function interfaceOf(app) {
    const {m} = app;
    const g = m.graphs[app.root];
    const line = (/** @type {number} */ v, /** @type {string} */ text) =>
        el(
            'span',
            {class: 'row'},
            linkTo(app, app.choiceOfVar(app.root, v), text || nameOfVar(m, g, v)),
            el('span', {class: 'type'}, typeOf(m, g, v)),
        );
    return [
        g.outputs.length
            ? section(
                  'Outputs',
                  shortList(
                      g.outputs.map(([label, v]) => line(v, m.strings[label])),
                      TOP,
                  ),
              )
            : null,
        g.updates.length
            ? section(
                  'Updates',
                  shortList(
                      g.updates.map(([s]) => line(s, '')),
                      TOP,
                  ),
              )
            : null,
        g.inputs.length
            ? section(
                  'Inputs',
                  shortList(
                      g.inputs.map(v => line(v, '')),
                      TOP,
                  ),
              )
            : null,
        g.shared.length && !g.updates.length
            ? section(
                  'Shared variables',
                  shortList(
                      g.shared.map(v => line(v, '')),
                      TOP,
                  ),
              )
            : null,
    ];
}

/** The commands that made the graph. @param {App} app */
export function provenance(app) {
    const steps = app.m.raw.steps || [];
    if (!steps.length) return null;
    return section(
        'Made by',
        el(
            'ol',
            {class: 'steps'},
            steps.map((/** @type {any} */ s) =>
                el(
                    'li',
                    {},
                    el('code', {}, s.tool + ' ' + (s.args || '')),
                    s.version ? el('span', {class: 'soft'}, ' ' + s.version) : null,
                ),
            ),
        ),
    );
}

/** @param {App} app @param {Memory|null} mem */
export function overview(app, mem) {
    const g = app.m.graphs[app.root];
    if (!g) return [];
    return [
        el('div', {class: 'heading'}, el('h2', {}, g.name || app.m.title)),
        g.doc ? el('p', {class: 'doc'}, g.doc) : null,
        slowest(app),
        fullest(app, mem),
        totals(app),
        interfaceOf(app),
        provenance(app),
        el(
            'p',
            {class: 'soft hint'},
            'Click a node for what it is and costs; double click, or its +, opens a box. / finds, ? lists all keys.',
        ),
    ];
}
