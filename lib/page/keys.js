// @ts-check
// The keyboard.
import {el, replace} from './dom.js';

/** @typedef {{keys: string[], shown: string, text: string, act: (e: KeyboardEvent) => void}} Key */

/** @param {Key[]} keys */
export function listenToKeys(keys) {
    const byKey = new Map(keys.flatMap(k => k.keys.map(name => [name, k])));
    document.addEventListener('keydown', e => {
        const target = /** @type {HTMLElement} */ (e.target);
        if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
        if (target.matches('input, select, textarea, dialog *') && e.key !== 'Escape') return;
        if (target.matches('.scroller, #panel') && e.key.startsWith('Arrow')) return;
        if (target.matches('button') && (e.key === 'Enter' || e.key === ' ')) return;
        const key = byKey.get(e.key);
        if (!key) return;
        e.preventDefault();
        key.act(e);
    });
}

/** @param {HTMLDialogElement} dialog @param {Key[]} keys */
export function fillHelp(dialog, keys) {
    const rows = keys.map(k =>
        el(
            'tr',
            {},
            el(
                'td',
                {},
                k.shown.split(' ').map(x => [el('kbd', {}, x), ' ']),
            ),
            el('td', {}, k.text),
        ),
    );
    replace(
        dialog,
        el(
            'form',
            {method: 'dialog'},
            el('h2', {}, 'Keys'),
            el('table', {class: 'plain'}, el('tbody', {}, rows)),
            el(
                'p',
                {},
                'Drag moves the picture, the wheel zooms, a click chooses, a double click opens and closes. Shift and a click on a second node marks the paths between the two.',
            ),
            el(
                'p',
                {},
                'Boxes hold several Applies (op calls). Details (constants, dims, shapes), casts and idle parts are hidden until asked for.',
            ),
            el('button', {}, 'Close'),
        ),
    );
}
