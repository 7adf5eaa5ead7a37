// @ts-check
// Two profiles: totals and ops, before and now.
import {el} from './dom.js';
import {DataTable} from './table.js';
import {bytesText, countText, secondsText} from './format.js';

/** @typedef {import('./app.js').App} App */

/** An amount, by what its name says it is. @param {string} name @param {number|null} x */
function amountText(name, x) {
    if (x === null || x === undefined || Number.isNaN(x)) return '?';
    if (/per_s$/.test(name)) return countText(x);
    if (/time|seconds|_s$/.test(name)) return secondsText(x);
    return /bytes|memory|peak|read|written|moved/.test(name) ? bytesText(x) : countText(x);
}

/** @param {number|null} before @param {number|null} now */
function ratioText(before, now) {
    if (before === null || now === null) return '';
    if (before === now) return 'same';
    if (!(before > 0)) return 'new';
    return now / before < 0.001 ? '< 0.001 ×' : (now / before).toPrecision(3) + ' ×';
}

/** @param {any} compare @param {any[]} t a total: its name, before, now, whether more is worse */
function totalRow(compare, t) {
    const [name, before, now, worseIfLarger] = t;
    const worse = worseIfLarger && before !== null && now > before * (compare.limit || 1);
    return el(
        'tr',
        {},
        el('th', {scope: 'row'}, name),
        el('td', {class: 'number'}, amountText(name, before)),
        el('td', {class: 'number'}, amountText(name, now)),
        el('td', {class: worse ? 'number worse' : 'number'}, ratioText(before, now) + (worse ? ', worse' : '')),
    );
}

/** @param {any} compare @param {any[]} totals */
function totalTable(compare, totals) {
    return el(
        'table',
        {class: 'plain'},
        el(
            'thead',
            {},
            el(
                'tr',
                {},
                ['', 'before', 'now', 'now/before'].map(t => el('th', {scope: 'col'}, t)),
            ),
        ),
        el(
            'tbody',
            {},
            totals.map(t => totalRow(compare, t)),
        ),
    );
}

export class CompareTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        const compare = app.m.raw.compare;
        const totals = compare.total || [];
        host.append(
            el(
                'div',
                {class: 'tools'},
                el(
                    'span',
                    {},
                    'Before: ',
                    el('b', {}, compare.file || 'the other profile'),
                    '. In the graph, “colour: change” shows where it is less (blue) or more (orange) than before.',
                ),
            ),
            el(
                'div',
                {class: 'totals'},
                totalTable(
                    compare,
                    totals.filter((/** @type {any} */ t) => t[3]),
                ),
                el(
                    'details',
                    {},
                    el('summary', {}, 'All totals'),
                    totalTable(
                        compare,
                        totals.filter((/** @type {any} */ t) => !t[3]),
                    ),
                ),
            ),
        );
        const s = app.m.strings;
        const opRows = (compare.ops || []).map((/** @type {any} */ o) => ({
            op: typeof o[0] === 'number' ? s[o[0]] : o[0],
            cost: o[1],
            before: o[2],
            now: o[3],
        }));
        const holder = el('div', {class: 'table-host'});
        host.append(holder);
        const difference = (/** @type {any} */ r) => (r.now || 0) - (r.before || 0);
        const table = new DataTable(
            holder,
            'Ops before and now',
            [
                {title: 'op', value: r => r.op},
                {title: 'cost', value: r => r.cost},
                {title: 'before', number: true, value: r => r.before ?? NaN, text: r => amountText(r.cost, r.before)},
                {title: 'now', number: true, value: r => r.now ?? NaN, text: r => amountText(r.cost, r.now)},
                {
                    title: 'now/before',
                    number: true,
                    value: r => r.now / r.before,
                    text: r => ratioText(r.before, r.now),
                },
                {
                    title: 'difference',
                    number: true,
                    value: r => Math.abs(difference(r)),
                    text: r => (difference(r) > 0 ? '+' : '') + amountText(r.cost, difference(r)),
                },
            ],
            {
                choose: r => app.store.set({tab: 'tables', table: 'ops', chosen: firstOfOp(app, r.op)}),
                isChosen: () => false,
            },
        );
        table.sortBy = 5;
        table.setRows(opRows);
    }
}

/** @param {App} app @param {string} op */
function firstOfOp(app, op) {
    for (const g of app.m.graphs)
        for (let a = 0; a < g.n; a++) if (app.m.ops[g.op[a]].name === op) return app.choice(g.index, 'apply', a);
    return null;
}
