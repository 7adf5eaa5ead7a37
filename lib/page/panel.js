// @ts-check
// The side panel: all that is known of the chosen node, or what counts in the whole if none is chosen.
import {button, el, replace} from './dom.js';
import {bytesOf, lineOf, nameOfVar, readersOf, typeOf} from './model.js';
import {column} from './columns.js';
import {bytesText, countText, countedText, percentText, secondsText, valueText} from './format.js';
import {aliveAt, stepOfApply} from './memorydata.js';
import {MEASURE_WORDS} from './costs.js';
import {costText} from './graphpane.js';
import {leafWord} from './search.js';
import {eachInBox, shortestWay} from './reach.js';
import {overview} from './overview.js';
import {facts, linkTo, linkToVar, section, shortList} from './parts.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./store.js').Choice} Choice */
/** @typedef {import('./model.js').Graph} Graph */

// What a trace counts in a value: said only where there is any.
const COUNTS = new Set(['nan', 'inf']);

export class Panel {
    /** @param {App} app @param {HTMLElement} host @param {import('./memorydata.js').Memory|null} memory */
    constructor(app, host, memory) {
        this.app = app;
        this.host = host;
        this.memory = memory;
        /** @type {{graph: number, rows: {first: Uint32Array, apply: Uint32Array}}|null} */
        this.readers = null;
        this.lastPath = '';
        /** @type {((c: Choice) => any)[]} */
        this.more = [];
        app.store.watch(['chosen', 'reach', 'open', 'openRight'], () => this.show());
        this.show();
    }

    show() {
        const {chosen} = this.app.state;
        if (!chosen) {
            replace(this.host, overview(this.app, this.memory));
            this.host.dataset.shows = '';
            return;
        }
        const top = this.host.scrollTop;
        replace(
            this.host,
            this.heading(chosen),
            this.buttons(chosen),
            this.reachNote(chosen),
            this.body(chosen),
            this.more.map(f => f(chosen)),
        );
        this.host.scrollTop = this.lastPath === chosen.path ? top : 0;
        this.lastPath = chosen.path;
        this.host.dataset.shows = chosen.path;
    }

    /** @param {Choice} c */
    heading(c) {
        const around = this.app
            .around(c)
            .map(a => [linkTo(this.app, a), ' › '])
            .flat();
        return el(
            'div',
            {class: 'heading'},
            around.length ? el('div', {class: 'trail'}, ...around) : null,
            el('h2', {}, this.app.titleOf(c)),
            el(
                'button',
                {
                    type: 'button',
                    class: 'close',
                    title: 'Choose nothing (Esc)',
                    'aria-label': 'Choose nothing',
                    onclick: () => this.app.choose(null),
                },
                '×',
            ),
        );
    }

    /** @param {Choice} c */
    buttons(c) {
        const {app} = this;
        const reach = app.state.reach;
        const mark = (
            /** @type {'up'|'down'|'both'|'path'} */ kind,
            /** @type {string} */ text,
            /** @type {string} */ title,
        ) =>
            button(
                text,
                () => {
                    app.store.set({reach: app.state.reach && app.state.reach.kind === kind ? null : {kind}});
                },
                {title, 'aria-pressed': String(!!reach && reach.kind === kind)},
            );
        return el(
            'div',
            {class: 'tools'},
            c.path && app.state.tab !== 'graph' && c.root === app.root && !app.m.raw.diff
                ? button('Show in graph', () => app.choose(c, 'graph'))
                : null,
            app.holds(c) && c.path
                ? button(app.isOpen(c) ? 'Close' : 'Open', () => app.toggle(c), {title: 'Enter'})
                : null,
            c.kind === 'part'
                ? null
                : [
                      mark('up', 'Ancestors', 'All that it needs (a)'),
                      mark('down', 'Descendants', 'All that needs it (d)'),
                      mark('path', 'Path to …', 'Then choose the other node, or hold Shift (p)'),
                  ],
        );
    }

    /** @param {Choice} c */
    reachNote(c) {
        const {reach} = this.app.state;
        if (!reach) return null;
        if (reach.kind === 'path' && !reach.to) return el('p', {class: 'note'}, 'Choose the other node.');
        const marks = this.app.marks();
        if (!marks)
            return el(
                'p',
                {class: 'note'},
                reach.to && reach.to.graph !== c.graph
                    ? 'The two are in different graphs.'
                    : 'There is no path between the two.',
            );
        const g = this.app.m.graphs[c.graph];
        let n = 0;
        for (const x of marks.apply) n += x;
        const cost = this.app.costs
            .measures()
            .filter(k => k === 'time' || k === 'flops' || k === 'bytes')
            .map(k => {
                let sum = 0;
                for (let a = 0; a < g.n; a++) if (marks.apply[a]) sum += this.app.costs.ofApply(k, c.graph, a) || 0;
                return costText(k, sum);
            });
        return el(
            'div',
            {class: 'note'},
            countedText(n, 'Apply', 'Applies') + ' marked' + (cost.length ? ': ' + cost.join(', ') : ''),
            this.way(c, reach),
        );
    }

    /** @param {Choice} c @param {import('./store.js').Reach} reach */
    way(c, reach) {
        if (reach.kind !== 'path' || !reach.to || c.kind !== 'apply' || reach.to.kind !== 'apply') return null;
        const way = shortestWay(this.app.m.graphs[c.graph], c.id, reach.to.id);
        return el(
            'div',
            {},
            'The shortest way:',
            shortList(way.map(a => linkTo(this.app, this.app.choice(c.graph, 'apply', a)))),
        );
    }

    /** @param {Choice} c */
    body(c) {
        if (c.kind === 'apply') return this.applyBody(c);
        if (c.kind === 'leaf') return this.leafBody(c);
        return this.boxBody(c, c.kind === 'part' ? 0 : c.id);
    }

    /** @param {Choice} c */
    applyBody(c) {
        const {m} = this.app;
        const g = m.graphs[c.graph];
        const a = c.id;
        const op = m.ops[g.op[a]];
        const outs = Array.from({length: g.nout[a]}, (_, k) => g.out[a] + k);
        const ins = Array.from(g.input.subarray(g.inFirst[a], g.inFirst[a + 1]));
        const call = g.calls.get(a);
        const place = lineOf(m, g, a);
        return [
            place ? section('From', this.sourceLine(place)) : null,
            facts([
                ['op', [el('b', {}, op.name), op.family ? ' · ' + op.family : '']],
                ['props', m.strings[g.props[a]]],
                ['number', c.graph ? a + ' of ' + (g.name || 'function ' + c.graph) : String(a)],
                ['made by', m.strings[g.rule[a]]],
                [
                    'in the model',
                    outs
                        .map(v => m.strings[g.varAlias[v]])
                        .filter(Boolean)
                        .join(', '),
                ],
                ['part', this.app.partOf(c.graph, 'apply', a)],
                ['calls', call ? call.graphs.map(f => el('div', {}, m.graphs[f].name || 'function ' + f)) : ''],
            ]),
            this.costSection(c),
            this.memorySection(c, outs),
            section(
                ins.length === 1 ? 'Input' : 'Inputs',
                ins.length ? shortList(ins.map(v => this.varLine(c.graph, v))) : el('p', {class: 'soft'}, 'none'),
            ),
            section(outs.length === 1 ? 'Output' : 'Outputs', shortList(outs.map(v => this.outputLine(c.graph, v)))),
            this.readersSection(c.graph, outs),
            outs.map(v => this.valuesSection(c.graph, v)),
            op.doc ? section(op.name, el('p', {class: 'doc'}, op.doc)) : null,
        ];
    }

    /** @param {{file: string, line: number, text: string}} place */
    sourceLine(place) {
        return [
            el('div', {class: 'soft'}, place.file + ', line ' + place.line),
            place.text ? el('pre', {}, place.text.trim()) : null,
        ];
    }

    /** @param {number} graph @param {number} v */
    varLine(graph, v) {
        const g = this.app.m.graphs[graph];
        return el(
            'span',
            {},
            linkToVar(this.app, graph, v),
            ' ',
            el('span', {class: 'type'}, typeOf(this.app.m, g, v)),
        );
    }

    /** @param {number} graph @param {number} v */
    outputLine(graph, v) {
        const {m} = this.app;
        const g = m.graphs[graph];
        const name = m.strings[g.varName[v]];
        const labels = [
            ...g.outputs.filter(o => o[1] === v).map(o => 'output ' + m.strings[o[0]]),
            ...g.updates.filter(u => u[1] === v).map(u => 'new value of ' + nameOfVar(m, g, u[0])),
        ];
        const bytes = bytesOf(m, g, v);
        return el(
            'span',
            {},
            name ? name + ' ' : '',
            el('span', {class: 'type'}, typeOf(m, g, v)),
            Number.isNaN(bytes) ? '' : ', ' + bytesText(bytes),
            labels.length ? el('b', {}, ' ' + labels.join(', ')) : null,
        );
    }

    /** @param {number} graph @param {number[]} vars */
    readersSection(graph, vars) {
        const g = this.app.m.graphs[graph];
        if (!this.readers || this.readers.graph !== graph) this.readers = {graph, rows: readersOf(g)};
        const {first, apply} = this.readers.rows;
        const readers = new Set(vars.flatMap(v => Array.from(apply.subarray(first[v], first[v + 1]))));
        const links = Array.from(readers, a =>
            el(
                'span',
                {},
                linkTo(this.app, this.app.choice(graph, 'apply', a)),
                ' ',
                el('span', {class: 'type'}, this.app.m.graphs[graph].nout[a] ? typeOf(this.app.m, g, g.out[a]) : ''),
            ),
        );
        return section('Read by', links.length ? shortList(links) : el('p', {class: 'soft'}, 'nothing'));
    }

    /** @param {Choice} c */
    costSection(c) {
        const {costs} = this.app;
        const table = costs.graphs[c.graph];
        if (!table) return null;
        const a = c.id;
        const get = (/** @type {import('./costs.js').Measure} */ k) => costs.ofApply(k, c.graph, a);
        const time = get('time');
        const flops = get('flops');
        const bytes = get('bytes');
        const or = (/** @type {string} */ field, /** @type {string} */ text) =>
            costs.formula(c.graph, a, field) || text;
        return section(
            'Cost',
            facts([
                [
                    'time',
                    costs.hasTime()
                        ? [el('b', {}, secondsText(time)), ' ' + percentText(time, costs.total('time'))]
                        : '',
                ],
                ['calls', costs.hasTime() || table.calls[a] !== 1 ? valueText(table.calls[a]) : ''],
                [
                    'flops',
                    [
                        or('flops', countText(flops)),
                        costs.hasTime() && flops / time > 0 ? ', ' + countText(flops / time) + ' per second' : '',
                    ],
                ],
                ['math calls', table.math[a] ? or('math', countText(table.math[a])) : ''],
                [
                    'moved',
                    [
                        or('bytes', bytesText(bytes)) +
                            ' (read ' +
                            or('read', bytesText(table.read[a])) +
                            ', written ' +
                            or('written', bytesText(table.written[a])) +
                            ')',
                        costs.hasTime() && bytes / time > 0 ? ', ' + bytesText(bytes / time) + ' per second' : '',
                    ],
                ],
                ['intensity', Number.isNaN(get('intensity')) ? '' : costText('intensity', get('intensity'))],
                ['before', this.beforeText(c)],
            ]),
        );
    }

    /** @param {Choice} c */
    beforeText(c) {
        const before = this.app.costs.before[c.graph];
        if (!before) return '';
        if (Number.isNaN(before.time[c.id]) && Number.isNaN(before.flops[c.id])) return 'not in the other profile';
        const ratio = costText('change', this.app.costs.ofApply('change', c.graph, c.id));
        return [
            this.app.costs.hasTime() ? secondsText(before.time[c.id]) : '',
            countText(before.flops[c.id]) + ' flops',
            ratio,
        ]
            .filter(Boolean)
            .join(', ');
    }

    /** @param {Choice} c @param {number[]} outs */
    memorySection(c, outs) {
        const mem = this.memory;
        if (!mem || c.graph !== 0) return null;
        const step = c.kind === 'apply' ? stepOfApply(mem, c.id) : -1;
        const lines = outs.map(v => {
            const s = mem.storeOfVar.get(v);
            if (s === undefined) return null;
            const peak = mem.born[s] <= mem.peakAt && mem.peakAt <= mem.dies[s];
            return el(
                'li',
                {},
                nameOfVar(this.app.m, this.app.m.graphs[0], v) +
                    ': ' +
                    bytesText(mem.bytes[s]) +
                    ', ' +
                    mem.howOfVar.get(v) +
                    ', alive from instruction ' +
                    mem.born[s] +
                    ' to ' +
                    mem.dies[s],
                peak ? el('b', {}, ', at the peak') : null,
            );
        });
        const live =
            step >= 0
                ? 'Runs as instruction ' +
                  step +
                  ', with ' +
                  bytesText(mem.live[step]) +
                  ' alive in ' +
                  countedText(aliveAt(mem, step).length, 'storage')
                : '';
        if (!live && !lines.some(Boolean)) return null;
        return section('Memory', live ? el('p', {}, live) : null, el('ul', {class: 'links'}, lines));
    }

    /** What a trace says of a value. @param {number} graph @param {number} v */
    valuesSection(graph, v) {
        const {m} = this.app;
        const table = m.raw.values && m.raw.values[graph];
        if (!table) return null;
        const rows = Object.keys(table)
            .map(k => /** @type {[string, string]} */ ([k, valueText(column(table[k], m.graphs[graph].nvar)[v])]))
            .filter(r => r[1] !== 'NaN' && !(r[1] === '0' && COUNTS.has(r[0])));
        return rows.length ? section('Values in the run', facts(rows)) : null;
    }

    /** @param {Choice} c */
    leafBody(c) {
        const {m} = this.app;
        const g = m.graphs[c.graph];
        const v = c.id;
        const update = g.updates.find(u => u[0] === v);
        return [
            facts([
                ['kind', leafWord(g.varKind[v])],
                ['type', typeOf(m, g, v)],
                ['size', Number.isNaN(bytesOf(m, g, v)) ? '' : bytesText(bytesOf(m, g, v))],
                ['value', m.strings[g.varText[v]]],
                ['in the model', m.strings[g.varAlias[v]]],
                ['new value', update ? [this.varLine(c.graph, update[1])] : ''],
                [
                    'output',
                    g.outputs
                        .filter(o => o[1] === v)
                        .map(o => m.strings[o[0]])
                        .join(', '),
                ],
            ]),
            this.memorySection(c, [v]),
            this.readersSection(c.graph, [v]),
            this.valuesSection(c.graph, v),
        ];
    }

    /** @param {Choice} c @param {number} b */
    boxBody(c, b) {
        const {m, costs} = this.app;
        const g = m.graphs[c.graph];
        /** @type {number[]} */
        const inside = [];
        eachInBox(g, b, a => inside.push(a));
        const measures = costs.measures().filter(k => k !== 'change');
        const rank = measures[0];
        if (rank)
            inside.sort((x, y) => (costs.ofApply(rank, c.graph, y) || 0) - (costs.ofApply(rank, c.graph, x) || 0));
        const note = (/** @type {number} */ a) =>
            rank ? costText(rank, costs.ofApply(rank, c.graph, a)) : g.nout[a] ? typeOf(m, g, g.out[a]) : '';
        return [
            facts([
                ['holds', countedText(g.boxApplies[b], 'Apply', 'Applies')],
                ['parameters', g.boxShared[b] ? countedText(g.boxShared[b], 'shared variable') : ''],
                ['doc', c.kind === 'part' ? g.doc : ''],
            ]),
            measures.length
                ? section(
                      'Cost of all in it',
                      facts(
                          measures.map(k => [
                              MEASURE_WORDS[k],
                              costText(k, costs.ofBox(k, c.graph, b)) + share(costs, k, c.graph, b),
                          ]),
                      ),
                  )
                : null,
            section(
                rank ? 'What costs most' : 'Holds',
                shortList(
                    inside.map(a =>
                        el(
                            'span',
                            {},
                            linkTo(this.app, this.app.choice(c.graph, 'apply', a)),
                            ' ',
                            el('span', {class: 'type'}, note(a)),
                        ),
                    ),
                ),
            ),
        ];
    }
}

/** @param {import('./costs.js').Costs} costs @param {import('./costs.js').Measure} k @param {number} graph @param {number} b */
function share(costs, k, graph, b) {
    if (k === 'intensity' || k === 'change') return '';
    return ' · ' + percentText(costs.ofBox(k, graph, b), costs.total(k));
}

/** What a screen reader is told of a choice. @param {App} app @param {Choice|null} c */
export function spoken(app, c) {
    if (!c) return 'nothing chosen';
    const g = app.m.graphs[c.graph];
    if (c.kind === 'leaf') return app.titleOf(c) + ', ' + leafWord(g.varKind[c.id]) + ' ' + app.typeOf(c);
    if (c.kind !== 'apply')
        return app.titleOf(c) + ', ' + countedText(c.kind === 'box' ? g.boxApplies[c.id] : g.n, 'Apply', 'Applies');
    const ins = Array.from(g.input.subarray(g.inFirst[c.id], g.inFirst[c.id + 1]), v => nameOfVar(app.m, g, v));
    return app.titleOf(c) + ' of ' + ins.join(', ') + ', ' + app.typeOf(c);
}
