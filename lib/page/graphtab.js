// @ts-check
// The picture of the graph, with its tools and legend.
import {button, el, replace} from './dom.js';
import {GraphPane, costText} from './graphpane.js';
import {MEASURE_WORDS} from './costs.js';
import {costOfNode} from './looks.js';
import {heatColour} from './theme.js';
import {countedText} from './format.js';

/** @typedef {import('./app.js').App} App */

// More would neither be seen nor be laid out while one waits.
const MOST_OPEN = 6000;

/** @param {App} app @param {'details'|'casts'|'idle'} key @param {string} text @param {string} title */
export function viewSwitch(app, key, text, title) {
    const box = el('input', {type: 'checkbox', onchange: () => app.store.set({[key]: box.checked})});
    const show = () => {
        box.checked = app.state[key];
    };
    app.store.watch([key], show);
    show();
    return el('label', {title}, box, text);
}

/** What nodes are coloured by. @param {App} app */
export function heatChoice(app) {
    const measures = app.costs.measures();
    if (!measures.length) return null;
    const select = el(
        'select',
        {title: 'What colours say (h)', onchange: () => app.store.set({heat: select.value})},
        el('option', {value: 'family'}, 'colour: kind of op'),
        measures.map(k => el('option', {value: k}, 'colour: ' + MEASURE_WORDS[k])),
    );
    const show = () => {
        select.value = app.state.heat;
    };
    app.store.watch(['heat'], show);
    show();
    return select;
}

export class GraphTab {
    /** @param {App} app @param {HTMLElement} host */
    constructor(app, host) {
        this.app = app;
        this.legend = el('div', {class: 'legend'});
        this.status = el('div', {class: 'status', role: 'status'});
        this.host = el('div', {class: 'canvas-host'});
        host.append(this.tools(), this.host, el('div', {class: 'below'}, this.legend, this.status));
        this.pane = new GraphPane(app, this.host, {
            root: app.root,
            openKey: 'open',
            title: 'The graph',
            moved: () => this.onMoved(),
        });
        app.store.watch(['open', 'details', 'casts', 'idle'], () => this.layout());
        app.store.watch(['heat', 'theme'], () => this.showLegend());
        this.onMoved = () => {};
        this.asked = 0;
        this.ready = this.layout();
    }

    tools() {
        const {app} = this;
        return el(
            'div',
            {class: 'tools', role: 'toolbar', 'aria-label': 'The picture'},
            button('Fit', () => this.pane.picture.fit(), {title: 'Show all (f)'}),
            button('+', () => this.pane.picture.zoom(1.3), {title: 'Nearer (+)'}),
            button('−', () => this.pane.picture.zoom(1 / 1.3), {title: 'Further away (-)'}),
            button('Open more', () => this.openMore(), {title: 'Open the outermost boxes that are closed (o)'}),
            button('Close all', () => app.store.set({open: new Set()}), {title: 'Close all boxes (c)'}),
            button('Start', () => app.store.set({open: new Set(app.m.raw.open || [])}), {
                title: 'Open what was open at first',
            }),
            viewSwitch(app, 'details', 'details', 'Constants, dims, shapes and what follows from them'),
            viewSwitch(app, 'casts', 'casts', 'Changes of dtype'),
            viewSwitch(app, 'idle', 'idle', 'What no output needs'),
            heatChoice(app),
        );
    }

    async layout() {
        const ask = ++this.asked;
        this.pane.waiting = true;
        const [scene] = await this.app.layouts.ask([this.pane.view()]);
        if (ask !== this.asked) return;
        this.pane.setScene(scene);
        this.showLegend();
        const closed = scene.nodes.filter(v => !v.open).length;
        this.status.textContent =
            countedText(closed, 'node') + ' of ' + countedText(this.app.m.graphs[this.app.root].n, 'Apply', 'Applies');
    }

    openMore() {
        const {nodes} = this.pane.picture.scene;
        const closed = nodes.filter(v => !v.open && this.app.holds(v));
        if (!closed.length || nodes.length > MOST_OPEN) return;
        const least = Math.min(...closed.map(v => v.depth));
        this.app.store.set({
            open: new Set([...this.app.state.open, ...closed.filter(v => v.depth === least).map(v => v.path)]),
        });
    }

    showLegend() {
        const {app} = this;
        if (app.state.heat === 'family' || !app.costs.has) {
            const used = new Set(this.pane.picture.looks.strip);
            const items = Array.from(app.families).filter(([, colour]) => used.has(colour));
            replace(
                this.legend,
                items.map(([family, colour]) => {
                    const swatch = el('span', {class: 'swatch'});
                    swatch.style.background = colour;
                    return el('span', {class: 'key'}, swatch, family);
                }),
            );
            return;
        }
        replace(this.legend, this.ramp());
    }

    ramp() {
        const {app} = this;
        const measure = /** @type {import('./costs.js').Measure} */ (app.state.heat);
        if (measure === 'change') return el('span', {class: 'key'}, 'blue: less than before; orange: more');
        if (measure === 'intensity') return el('span', {class: 'key'}, 'light: 0.01 flops per byte; dark: 1000');
        let most = 0;
        for (const v of this.pane.picture.scene.nodes)
            if (!v.open) most = Math.max(most, costOfNode(app.costs, measure, v) || 0);
        const canvas = el('canvas', {width: '90', height: '10'});
        const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
        for (let x = 0; x < 90; x++) {
            ctx.fillStyle = heatColour(x / 89, app.dark());
            ctx.fillRect(x, 0, 1, 10);
        }
        return el('span', {class: 'key'}, MEASURE_WORDS[measure] + ': 0 ', canvas, ' ' + costText(measure, most));
    }
}
