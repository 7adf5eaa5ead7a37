// @ts-check
// The page: a table of the Applies.
import {column} from './data.js';

const text = /** @type {HTMLElement} */ (document.getElementById('data')).textContent;
const data = JSON.parse(text || '');

/**
 * @param {HTMLElement} row
 * @param {string} tag
 * @param {string} words
 */
function addCell(row, tag, words) {
    const cell = document.createElement(tag);
    const isolated = document.createElement('bdi');
    isolated.textContent = words;
    cell.append(isolated);
    row.append(cell);
}

const graph = data.graphs[0];
const op = column(graph.apply.op, graph.n);
const out = column(graph.apply.out, graph.n);
const line = column(graph.apply.line, graph.n);
const name = column(graph.var.name, graph.nvar);
const type = column(graph.var.type, graph.nvar);
const types = column(data.types.text, data.types.n);
const table = document.createElement('table');
for (let id = 0; id < graph.n; id++) {
    const row = document.createElement('tr');
    addCell(row, 'th', data.ops[op[id]].name);
    addCell(row, 'td', data.strings[name[out[id]]]);
    addCell(row, 'td', data.strings[types[type[out[id]]]]);
    addCell(row, 'td', line[id] ? `line ${line[id]}` : '');
    table.append(row);
}
/** @type {HTMLElement} */ (document.getElementById('main')).append(table);
