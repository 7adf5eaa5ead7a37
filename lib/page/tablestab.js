// @ts-check
// The tables: Applies, ops, lines of the file, boxes, values. Without a profile they say what the graph has.
import {el, replace} from './dom.js';
import {bytesOf, labelOf, lineOf, nameOfApply, nameOfVar, outputBytes, typeOf} from './model.js';
import {bytesText, countText, percentText, secondsText} from './format.js';
import {DataTable} from './table.js';
import {itemOfVar} from './paths.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {{graph: number, kind: string, id: number}} NodeRow */
/** Applies that have something in common. @typedef {{key: string, note: string, sample: NodeRow, n: number, time: number, flops: number, bytes: number, calls: number}} GroupRow */

/** Columns of costs; `formula` says what an amount is that depends on open dims. @param {App} app @param {(r: any) => number} time @param {(r: any) => number} flops @param {(r: any) => number} bytes @param {(r: any, field: string) => string} formula @returns {import('./table.js').TableColumn<any>[]} */
function costColumns(app, time, flops, bytes, formula) {
    const {costs} = app;
    if (!costs.has) return [];
    const total = {time: costs.total('time'), flops: costs.total('flops')};
    /** @type {import('./table.js').TableColumn<any>[]} */
    const out = [];
    if (costs.hasTime()) {
        out.push(
            {title: 'time', number: true, value: time, text: r => secondsText(time(r))},
            {
                title: '%',
                note: 'of the time',
                number: true,
                value: time,
                text: r => percentText(time(r), total.time),
                bar: r => time(r) / total.time,
            },
        );
    }
    out.push({
        title: 'flops',
        number: true,
        value: flops,
        text: r => (Number.isNaN(flops(r)) ? formula(r, 'flops') : countText(flops(r))),
        bar: r => (costs.hasTime() ? 0 : flops(r) / total.flops),
    });
    if (!costs.hasTime())
        out.push({
            title: '%',
            note: 'of the flops',
            number: true,
            value: flops,
            text: r => percentText(flops(r), total.flops),
        });
    out.push(
        {
            title: 'moved',
            note: 'bytes read and written',
            number: true,
            value: bytes,
            text: r => (Number.isNaN(bytes(r)) ? formula(r, 'read') : bytesText(bytes(r))),
        },
        {
            title: 'flops/byte',
            number: true,
            value: r => flops(r) / bytes(r),
            text: r => (Number.isNaN(flops(r) / bytes(r)) ? '' : (flops(r) / bytes(r)).toPrecision(2)),
        },
    );
    return out;
}

/** @param {App} app @returns {import('./table.js').TableColumn<NodeRow>[]} */
function applyColumns(app) {
    const {m, costs} = app;
    const g = (/** @type {NodeRow} */ r) => m.graphs[r.graph];
    const cost = (/** @type {import('./costs.js').Measure} */ k) => (/** @type {NodeRow} */ r) =>
        costs.ofApply(k, r.graph, r.id);
    const inFunction = m.graphs.length > 1;
    return [
        {title: 'op', value: r => labelOf(m, g(r), r.id)},
        {title: 'name', value: r => nameOfApply(m, g(r), r.id)},
        {title: 'type', value: r => (g(r).nout[r.id] ? typeOf(m, g(r), g(r).out[r.id]) : '')},
        {
            title: 'line',
            note: 'of the graph file',
            value: r => (lineOf(m, g(r), r.id) || {line: 0}).line,
            text: r => String((lineOf(m, g(r), r.id) || {line: ''}).line),
        },
        ...costColumns(app, cost('time'), cost('flops'), cost('bytes'), (r, field) =>
            costs.formula(r.graph, r.id, field),
        ),
        ...(costs.measures().includes('change')
            ? [
                  {
                      title: 'now/before',
                      number: true,
                      value: cost('change'),
                      text: (/** @type {NodeRow} */ r) =>
                          Number.isNaN(cost('change')(r)) ? '' : cost('change')(r).toPrecision(3),
                  },
              ]
            : []),
        {
            title: 'output',
            note: 'bytes of the outputs',
            number: true,
            value: r => outputBytes(m, g(r), r.id),
            text: r => (Number.isNaN(outputBytes(m, g(r), r.id)) ? '' : bytesText(outputBytes(m, g(r), r.id))),
        },
        {title: 'made by', value: r => m.strings[g(r).rule[r.id]]},
        {title: 'number', value: r => r.graph * 1e7 + r.id, text: r => String(r.id)},
        ...(inFunction
            ? [{title: 'in', value: (/** @type {NodeRow} */ r) => (r.graph ? g(r).name || 'function ' + r.graph : '')}]
            : []),
    ];
}

/** @param {App} app @returns {NodeRow[]} */
function applyRows(app) {
    /** @type {NodeRow[]} */
    const rows = [];
    app.m.graphs.forEach((g, graph) => {
        if (app.costs.has && !app.costs.graphs[graph]) return;
        for (let id = 0; id < g.n; id++) rows.push({graph, kind: 'apply', id});
    });
    return rows;
}

/** Sums over what `keyOf` gives the same text. @param {App} app @param {(r: NodeRow) => [string, string]} keyOf @returns {GroupRow[]} */
function groupRows(app, keyOf) {
    /** @type {Map<string, GroupRow>} */
    const groups = new Map();
    for (const r of applyRows(app)) {
        const [key, note] = keyOf(r);
        let row = groups.get(key);
        if (!row) groups.set(key, (row = {key, note, sample: r, n: 0, time: 0, flops: 0, bytes: 0, calls: 0}));
        row.n++;
        row.time += app.costs.ofApply('time', r.graph, r.id) || 0;
        row.flops += app.costs.ofApply('flops', r.graph, r.id) || 0;
        row.bytes += app.costs.ofApply('bytes', r.graph, r.id) || 0;
        if (
            (app.costs.ofApply('time', r.graph, r.id) || 0) >
            (app.costs.ofApply('time', row.sample.graph, row.sample.id) || 0)
        )
            row.sample = r;
    }
    return Array.from(groups.values()).filter(r => r.key);
}

/** @param {App} app @param {string} first @param {string} second @returns {import('./table.js').TableColumn<GroupRow>[]} */
function groupColumns(app, first, second) {
    return [
        {title: first, value: r => r.key},
        {title: 'Applies', number: !app.costs.has, value: r => r.n},
        ...costColumns(
            app,
            r => r.time,
            r => r.flops,
            r => r.bytes,
            () => '?',
        ),
        ...(second ? [{title: second, value: (/** @type {GroupRow} */ r) => r.note}] : []),
    ];
}

/** @param {App} app @returns {NodeRow[]} */
function varRows(app) {
    /** @type {NodeRow[]} */
    const rows = [];
    app.m.graphs.forEach((g, graph) => {
        for (let id = 0; id < g.nvar; id++) rows.push({graph, kind: 'var', id});
    });
    return rows;
}

/** @param {App} app @returns {import('./table.js').TableColumn<NodeRow>[]} */
function varColumns(app) {
    const {m} = app;
    const g = (/** @type {NodeRow} */ r) => m.graphs[r.graph];
    const size = (/** @type {NodeRow} */ r) => bytesOf(m, g(r), r.id);
    return [
        {title: 'name', value: r => nameOfVar(m, g(r), r.id)},
        {title: 'kind', value: r => ['result', 'input', 'shared', 'constant', 'dim'][g(r).varKind[r.id]]},
        {title: 'type', value: r => typeOf(m, g(r), r.id)},
        {title: 'size', number: true, value: size, text: r => (Number.isNaN(size(r)) ? '' : bytesText(size(r)))},
        ...(m.graphs.length > 1
            ? [{title: 'in', value: (/** @type {NodeRow} */ r) => (r.graph ? g(r).name || 'function ' + r.graph : '')}]
            : []),
    ];
}

export class TablesTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        this.host = el('div', {class: 'table-host'});
        /** @type {HTMLElement[]} */
        this.tools = [];
        this.select = el(
            'select',
            {'aria-label': 'Which table', onchange: () => app.store.set({table: this.select.value})},
            [
                ['applies', 'Applies, one by one'],
                ['ops', 'by op'],
                ['lines', 'by line of the file'],
                ['parts', 'by part'],
                ['functions', 'by function'],
                ['values', 'values, by size'],
            ].map(([value, text]) => el('option', {value}, text)),
        );
        host.append(this.host);
        app.store.watch(['table'], () => this.show());
        app.store.watch(['chosen'], () => {
            if (this.table) this.table.draw();
        });
        this.show();
    }

    show() {
        const {app} = this;
        const {m} = app;
        replace(this.host);
        this.tools = [el('label', {}, 'Table: ', this.select)];
        this.select.value = app.state.table;
        switch (app.state.table) {
            case 'ops':
                return this.groups('op', 'kind', r => [
                    labelOf(m, m.graphs[r.graph], r.id),
                    m.ops[m.graphs[r.graph].op[r.id]].family,
                ]);
            case 'lines':
                return this.groups('line', 'text', r => this.lineKey(r));
            case 'parts':
                return this.groups('part', '', r => [
                    app.partOf(r.graph, 'apply', r.id) || (r.graph ? 'functions' : 'the graph'),
                    '',
                ]);
            case 'functions':
                return this.groups('function', '', r => [
                    m.graphs[r.graph].name || (r.graph ? 'function ' + r.graph : 'main'),
                    '',
                ]);
            case 'values':
                return this.nodes('Values', varColumns(app), varRows(app));
        }
        return this.nodes('Applies', applyColumns(app), applyRows(app));
    }

    /** @param {NodeRow} r @returns {[string, string]} */
    lineKey(r) {
        const place = lineOf(this.app.m, this.app.m.graphs[r.graph], r.id);
        return place ? [place.file + ':' + place.line, place.text.trim()] : ['', ''];
    }

    /** @param {string} caption @param {import('./table.js').TableColumn<NodeRow>[]} columns @param {NodeRow[]} rows */
    nodes(caption, columns, rows) {
        const item = (/** @type {NodeRow} */ r) =>
            r.kind === 'var' ? {...itemOfVar(this.app.m.graphs[r.graph], r.id)} : r;
        const table = new DataTable(
            this.host,
            caption,
            columns,
            {
                choose: r => this.app.choose(this.app.choice(r.graph, item(r).kind, item(r).id)),
                isChosen: r => {
                    const c = this.app.state.chosen;
                    return !!c && c.graph === r.graph && c.kind === item(r).kind && c.id === item(r).id;
                },
            },
            this.tools,
        );
        this.table = table;
        table.setRows(rows);
    }

    /** @param {string} first @param {string} second @param {(r: NodeRow) => [string, string]} keyOf */
    groups(first, second, keyOf) {
        const table = new DataTable(
            this.host,
            'Costs by ' + first,
            groupColumns(this.app, first, second),
            {
                choose: r => this.app.choose(this.app.choice(r.sample.graph, 'apply', r.sample.id)),
                isChosen: r => {
                    const c = this.app.state.chosen;
                    return !!c && c.kind === 'apply' && keyOf({graph: c.graph, kind: 'apply', id: c.id})[0] === r.key;
                },
            },
            this.tools,
        );
        this.table = table;
        table.setRows(groupRows(this.app, keyOf));
    }
}
