// @ts-check
// Colours. Families take Okabe and Ito's colours, which the colour-blind can tell apart; heat goes along one lightness,
// as cividis does, so that it reads in grey as well.

/** @typedef {{dark: boolean, back: string, node: string, text: string, soft: string, line: string, wire: string, wireStrong: string, box: string[], accent: string, leaf: string, shared: string, warn: string}} Palette */

/** @type {Palette} */
const LIGHT = {
    dark: false,
    back: '#fbfbfa',
    node: '#ffffff',
    text: '#1b1f24',
    soft: '#5d6570',
    line: '#8a929c',
    wire: '#9aa2ac',
    wireStrong: '#0b62c4',
    box: ['#f1f3f5', '#e9edf1', '#e1e6ec'],
    accent: '#0b62c4',
    leaf: '#eef3fa',
    shared: '#fdf3dc',
    warn: '#b3261e',
};
/** @type {Palette} */
const DARK = {
    dark: true,
    back: '#14171a',
    node: '#22272c',
    text: '#e8eaed',
    soft: '#a2abb5',
    line: '#6b7580',
    wire: '#5f6973',
    wireStrong: '#6db3ff',
    box: ['#1b1f23', '#21262b', '#282e34'],
    accent: '#6db3ff',
    leaf: '#1d2a3a',
    shared: '#3a3018',
    warn: '#ff8a80',
};

const FAMILY_COLOURS = [
    '#0072b2',
    '#e69f00',
    '#009e73',
    '#cc79a7',
    '#56b4e9',
    '#d55e00',
    '#8c7a00',
    '#7b5cc4',
    '#5d6570',
    '#a0522d',
];
const HEAT_LIGHT = ['#ffffe5', '#fee391', '#fe9929', '#cc4c02', '#662506'];
const HEAT_DARK = ['#1d2330', '#3d3d6e', '#8c4a77', '#dd7a52', '#ffe08a'];
/** By state of a comparison: equal, changed, only its inputs, no partner. */
export const DIFF_COLOURS = ['', '#e69f00', '#56b4e9', '#d55e00'];
export const DIFF_WORDS = ['equal', 'changed', 'other inputs', 'only here'];

/** @param {string} choice */
export function isDark(choice) {
    return choice === 'dark';
}

/** @param {string} choice @returns {Palette} */
export function paletteOf(choice) {
    return isDark(choice) ? DARK : LIGHT;
}

/** @param {import('./model.js').Model} m @returns {Map<string, string>} */
export function familyColours(m) {
    /** @type {Map<string, number>} */
    const uses = new Map();
    for (const g of m.graphs)
        for (let a = 0; a < g.n; a++) {
            const f = m.ops[g.op[a]].family;
            uses.set(f, (uses.get(f) || 0) + 1);
        }
    const sorted = Array.from(uses.keys()).sort();
    return new Map(sorted.map((f, i) => [f, FAMILY_COLOURS[i % FAMILY_COLOURS.length]]));
}

/** @param {string} hex */
function channels(hex) {
    return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
}

/** @param {string} a @param {string} b @param {number} t */
export function mix(a, b, t) {
    const x = channels(a);
    const y = channels(b);
    return 'rgb(' + x.map((v, i) => Math.round(v + (y[i] - v) * t)).join(',') + ')';
}

/** A colour of heat for 0 .. 1. @param {number} t @param {boolean} dark */
export function heatColour(t, dark) {
    const stops = dark ? HEAT_DARK : HEAT_LIGHT;
    const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return mix(stops[k], stops[k + 1], at - k);
}

/** Text that can be read on a colour of heat. @param {number} t @param {boolean} dark */
export function heatText(t, dark) {
    if (dark) return t > 0.7 ? '#14171a' : '#ffffff';
    return t > 0.6 ? '#ffffff' : '#1b1f24';
}

/** Better (−1) to worse (1): blue over grey to orange. @param {number} t @param {boolean} dark */
export function changeColour(t, dark) {
    const middle = dark ? '#22272c' : '#ffffff';
    return mix(middle, t < 0 ? '#3a8fd0' : '#e07b1a', Math.min(Math.abs(t), 1));
}
