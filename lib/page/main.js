// @ts-check
// The page begins here: reads its data, makes the views that the data has something for, and lets the address and the
// keyboard drive them.
import {readModel} from './model.js';
import {Store} from './store.js';
import {App} from './app.js';
import {byId, button, el} from './dom.js';
import {Panel, spoken} from './panel.js';
import {SearchBox} from './searchbox.js';
import {GraphTab} from './graphtab.js';
import {TablesTab} from './tablestab.js';
import {readMemory} from './memorydata.js';
import {MemoryTab} from './memorytab.js';
import {FlameTab} from './flametab.js';
import {RooflineTab, rooflinePoints} from './rooflinetab.js';
import {CompareTab} from './comparetab.js';
import {DiffTab} from './difftab.js';
import {ExplainTab} from './explaintab.js';
import {RunTab} from './runtab.js';
import {addressOf, placeOfAddress, stateOfAddress} from './address.js';
import {fillHelp, listenToKeys} from './keys.js';
import {choiceOfPath} from './paths.js';

/** @typedef {{id: string, title: string, make: (host: HTMLElement) => any}} Tab */

const model = readModel(JSON.parse(byId('data').textContent || '{}'));
byId('data').textContent = '';

/** @returns {import('./store.js').State} */
function firstState() {
    return {
        tab: '',
        chosen: null,
        open: new Set(model.raw.open || []),
        openRight: new Set((model.raw.diff && model.raw.diff.open_right) || []),
        details: false,
        casts: false,
        idle: false,
        heat: 'family',
        reach: null,
        step: 0,
        table: 'applies',
        theme: 'light',
    };
}

const app = new App(model, new Store(firstState()), byId('worker').textContent || '');
const memory = readMemory(model);
/** @type {GraphTab|null} */
let graphTab = null;

/** @returns {Tab[]} */
function tabsOfData() {
    const {run, diff, explain, profile, compare} = model.raw;
    const mem = memory;
    /** @type {Tab[]} */
    const all = [];
    const add = (
        /** @type {any} */ there,
        /** @type {string} */ id,
        /** @type {string} */ title,
        /** @type {(host: HTMLElement) => any} */ make,
    ) => {
        if (there) all.push({id, title, make});
    };
    add(run, 'run', 'Run', host => new RunTab(app, host));
    add(diff, 'diff', 'Side by side', makeDiff);
    add(explain, 'explain', 'Steps', host => new ExplainTab(app, host));
    add(model.graphs.length && !diff, 'graph', explain ? 'Result' : 'Graph', host => {
        graphTab = new GraphTab(app, host);
        return graphTab;
    });
    add(model.graphs.length, 'tables', profile ? 'Costs' : 'Table', host => new TablesTab(app, host));
    add(
        mem && mem.live.length,
        'memory',
        'Memory',
        host => new MemoryTab(app, host, /** @type {import('./memorydata.js').Memory} */ (mem)),
    );
    add(profile && profile.flame, 'flame', 'Flame', host => new FlameTab(app, host));
    add(app.costs.hasTime() && rooflinePoints(app).length, 'roofline', 'Roofline', host => new RooflineTab(app, host));
    add(compare, 'compare', 'Compare', host => new CompareTab(app, host));
    return all;
}

/** @param {HTMLElement} host */
function makeDiff(host) {
    const tab = new DiffTab(app, host);
    panel.more.push(c => tab.panelPart(c));
    return tab;
}

const tabs = tabsOfData();
/** @type {Map<string, HTMLElement>} */
const views = new Map();
// When the view that was made last stands.
let shown = Promise.resolve();

function showTab() {
    const id = app.state.tab;
    for (const t of tabs) {
        const chosen = t.id === id;
        byId('tab-' + t.id).setAttribute('aria-selected', String(chosen));
        const view = views.get(t.id);
        if (view) view.hidden = !chosen;
        if (!chosen || view) continue;
        const host = el('div', {class: 'view', role: 'tabpanel', 'aria-labelledby': 'tab-' + id});
        views.set(id, host);
        byId('stage').append(host);
        shown = Promise.resolve(t.make(host)).then(tab => tab.ready);
    }
}

const DARK_WISH = matchMedia('(prefers-color-scheme: dark)');

function makeCorner() {
    let own = false;
    const turn = () => {
        own = true;
        app.store.set({theme: app.dark() ? 'light' : 'dark'});
    };
    const dress = () => {
        document.documentElement.classList.toggle('dark', app.dark());
    };
    DARK_WISH.addEventListener('change', () => {
        if (!own) app.store.set({theme: DARK_WISH.matches ? 'dark' : 'light'});
    });
    app.store.watch(['theme'], dress);
    dress();
    // Paper is white.
    let screen = app.state.theme;
    window.addEventListener('beforeprint', () => {
        screen = app.state.theme;
        app.store.set({theme: 'light'});
    });
    window.addEventListener('afterprint', () => app.store.set({theme: screen}));
    byId('corner').append(
        button('◐', turn, {title: 'Dark or light', 'aria-label': 'Dark or light'}),
        button('?', showHelp, {title: 'Keys (?)', 'aria-label': 'Keys'}),
    );
}

function showHelp() {
    const dialog = /** @type {HTMLDialogElement} */ (byId('help'));
    fillHelp(dialog, keys);
    dialog.showModal();
}

/** Drags the border between picture and panel. */
function makeDivider() {
    const divider = byId('divider');
    const panel = byId('panel');
    const setWidth = (/** @type {number} */ w) => {
        panel.style.width = Math.min(Math.max(w, 200), window.innerWidth - 200) + 'px';
    };
    divider.addEventListener('pointerdown', e => divider.setPointerCapture(e.pointerId));
    divider.addEventListener('pointermove', e => {
        if (e.buttons) setWidth(window.innerWidth - e.clientX);
    });
    divider.addEventListener('keydown', e => {
        const step = e.key === 'ArrowLeft' ? 20 : e.key === 'ArrowRight' ? -20 : 0;
        if (step) {
            setWidth(panel.offsetWidth + step);
            e.preventDefault();
        }
    });
}

/** Chooses what stands in a direction. @param {(p: import('./picture.js').Picture, path: string) => import('./scene.js').SceneNode|null} next */
function step(next) {
    const pane = graphTab && app.state.tab === 'graph' ? graphTab.pane : null;
    if (!pane) return;
    const {chosen} = app.state;
    const first = pane.picture.scene.nodes.find(v => !v.open);
    const found = chosen && pane.picture.byPath.has(chosen.path) ? next(pane.picture, chosen.path) : first;
    if (found) app.store.set({chosen: choiceOfPath(app.m, pane.root, found.path), reach: null});
}

/** @param {'up'|'down'|'both'|'path'} kind */
function mark(kind) {
    if (!app.state.chosen) return;
    app.store.set({reach: app.state.reach && app.state.reach.kind === kind ? null : {kind}});
}

function nextHeat() {
    const all = ['family', ...app.costs.measures()];
    app.store.set({heat: all[(all.indexOf(app.state.heat) + 1) % all.length]});
}

function escape() {
    if (app.state.reach) app.store.set({reach: null});
    else app.choose(null);
}

/** @param {(t: GraphTab) => void} act */
function inGraph(act) {
    if (graphTab && app.state.tab === 'graph') act(graphTab);
}

/** @type {import('./keys.js').Key[]} */
const keys = [
    {keys: ['/'], shown: '/', text: 'find a node by name, op, dtype or [shape]', act: () => searchBox.focus()},
    {
        keys: ['ArrowUp'],
        shown: '↑',
        text: 'the node that the chosen one reads',
        act: () => step((p, path) => p.along(path, 'up')),
    },
    {
        keys: ['ArrowDown'],
        shown: '↓',
        text: 'a node that reads the chosen one',
        act: () => step((p, path) => p.along(path, 'down')),
    },
    {
        keys: ['ArrowLeft'],
        shown: '←',
        text: 'the node to the left',
        act: () => step((p, path) => p.beside(path, 'left')),
    },
    {
        keys: ['ArrowRight'],
        shown: '→',
        text: 'the node to the right',
        act: () => step((p, path) => p.beside(path, 'right')),
    },
    {
        keys: ['Enter'],
        shown: 'Enter',
        text: 'open or close the chosen box',
        act: () => {
            const c = app.state.chosen;
            if (c && app.holds(c) && c.path) app.toggle(c);
        },
    },
    {keys: ['a'], shown: 'a', text: 'mark all that the chosen node needs', act: () => mark('up')},
    {keys: ['d'], shown: 'd', text: 'mark all that needs the chosen node', act: () => mark('down')},
    {keys: ['b'], shown: 'b', text: 'mark both', act: () => mark('both')},
    {keys: ['p'], shown: 'p', text: 'mark the paths to the node that is chosen next', act: () => mark('path')},
    {keys: ['f'], shown: 'f', text: 'show all', act: () => inGraph(t => t.pane.picture.fit())},
    {keys: ['+', '='], shown: '+', text: 'nearer', act: () => inGraph(t => t.pane.picture.zoom(1.3))},
    {keys: ['-'], shown: '-', text: 'further away', act: () => inGraph(t => t.pane.picture.zoom(1 / 1.3))},
    {keys: ['o'], shown: 'o', text: 'open the outermost closed boxes', act: () => inGraph(t => t.openMore())},
    {keys: ['c'], shown: 'c', text: 'close all boxes', act: () => app.store.set({open: new Set()})},
    {keys: ['h'], shown: 'h', text: 'colour by the next measure of cost', act: nextHeat},
    {
        keys: ['['],
        shown: '[',
        text: 'one rewriting step back',
        act: () => app.store.set({step: Math.max(0, app.state.step - 1)}),
    },
    {keys: [']'], shown: ']', text: 'one rewriting step forward', act: () => app.store.set({step: app.state.step + 1})},
    {
        keys: tabs.map((_, i) => String(i + 1)),
        shown: '1 2 …',
        text: 'the views',
        act: e => app.store.set({tab: tabs[Number(e.key) - 1].id}),
    },
    {keys: ['Escape'], shown: 'Esc', text: 'unmark; choose nothing', act: escape},
    {keys: ['?'], shown: '?', text: 'this list', act: showHelp},
];

/** @type {SearchBox} */
let searchBox;
/** @type {Panel} */
let panel;
let writing = 0;

/** The place of the picture belongs to the address once somebody has moved it. */
function placeOfPicture() {
    const p = graphTab && app.state.tab === 'graph' ? graphTab.pane.picture : null;
    if (!p || !p.size.w) return null;
    const [x, y] = p.camera.toPicture(p.size.w / 2, p.size.h / 2);
    return {x, y, k: p.camera.k};
}

function writeAddress() {
    clearTimeout(writing);
    writing = window.setTimeout(() => {
        const text = addressOf(app, tabs[0].id, placeOfPicture());
        if (text !== location.hash.slice(1))
            history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
    }, 250);
}

/** @param {GraphTab} tab */
function placeFromAddress(tab) {
    const place = placeOfAddress(location.hash);
    if (!place) return;
    const p = tab.pane.picture;
    p.camera.k = place.k;
    p.camera.centre(place.x, place.y, p.size.w, p.size.h);
    p.moved();
}

async function readAddress() {
    app.store.set(
        stateOfAddress(
            app,
            location.hash,
            tabs.map(t => t.id),
        ),
    );
    const tab = graphTab;
    await shown;
    if (!tab) return;
    placeFromAddress(tab);
    tab.onMoved = writeAddress;
}

function begin() {
    byId('title').textContent = document.title;
    byId('title').title = model.raw.command || '';
    byId('tabs').append(
        ...tabs.map(t =>
            button(t.title, () => app.store.set({tab: t.id}), {
                id: 'tab-' + t.id,
                role: 'tab',
                'aria-selected': 'false',
            }),
        ),
    );
    app.store.state.theme = DARK_WISH.matches ? 'dark' : 'light';
    makeCorner();
    makeDivider();
    searchBox = new SearchBox(app, byId('find'));
    app.store.state = {
        ...app.store.state,
        ...stateOfAddress(
            app,
            location.hash,
            tabs.map(t => t.id),
        ),
    };
    app.store.watch(['tab'], showTab);
    app.store.watch(['chosen'], () => {
        byId('spoken').textContent = spoken(app, app.state.chosen);
    });
    panel = new Panel(app, byId('panel'), memory);
    showTab();
    app.store.watch(
        ['tab', 'chosen', 'open', 'openRight', 'details', 'casts', 'idle', 'heat', 'reach', 'step', 'table'],
        writeAddress,
    );
    window.addEventListener('hashchange', readAddress);
    listenToKeys(keys);
    // For tests, and for those who want to know: what the page took until its first picture was drawn.
    const drawn = () => {
        document.documentElement.dataset.ready = performance.now().toFixed(0);
    };
    readAddress().then(() => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}

if (tabs.length) begin();
