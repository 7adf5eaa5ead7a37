// @ts-check
// Numbers and texts as people read them.

/** @param {number} x @param {string[]} units @param {number} base */
function scaled(x, units, base) {
    if (Number.isNaN(x)) return '?';
    if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
    let k = 0;
    let y = Math.abs(x);
    while (y >= base && k < units.length - 1) {
        y /= base;
        k++;
    }
    const digits = k === 0 && Number.isInteger(y) ? String(y) : threeDigits(y);
    return (x < 0 ? '−' : '') + digits + units[k];
}

/** @param {number} y */
function threeDigits(y) {
    if (y === 0) return '0';
    if (y >= 100) return y.toFixed(0);
    if (y >= 10) return y.toFixed(1);
    return y >= 0.01 ? y.toFixed(2) : y.toPrecision(2);
}

/** @param {number} x */
export function bytesText(x) {
    return scaled(x, [' B', ' kB', ' MB', ' GB', ' TB', ' PB'], 1000);
}

/** @param {number} x */
export function countText(x) {
    return scaled(x, ['', 'k', 'M', 'G', 'T', 'P'], 1000);
}

/** @param {number} s */
export function secondsText(s) {
    if (Number.isNaN(s)) return '?';
    if (s === 0) return '0';
    const a = Math.abs(s);
    if (a >= 1) return scaled(s, [' s'], 1000);
    if (a >= 1e-3) return scaled(s * 1e3, [' ms'], 1000);
    return a >= 1e-6 ? scaled(s * 1e6, [' µs'], 1000) : scaled(s * 1e9, [' ns'], 1000);
}

/** @param {number} part @param {number} whole */
export function percentText(part, whole) {
    if (!(whole > 0) || Number.isNaN(part)) return '';
    return ((100 * part) / whole).toFixed(1) + ' %';
}

/** A value of a result, with the digits that tell it from others. @param {number} x */
export function valueText(x) {
    if (Number.isInteger(x) && Math.abs(x) < 1e15) return String(x);
    return Number.isFinite(x) ? String(Number(x.toPrecision(7))) : String(x);
}

/** @param {number} n @param {string} one @param {string} [many] */
export function countedText(n, one, many) {
    return n === 1 ? '1 ' + one : n.toLocaleString('en') + ' ' + (many || one + 's');
}

// Controls that turn the direction of what follows, or can't be seen, would let a name show what it is not.
// eslint-disable-next-line no-control-regex
const UNSEEN =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text of which each character can be seen. @param {string} s */
export function visible(s) {
    return s.replace(UNSEEN, '\ufffd');
}

/** @param {string} s */
export function visibleLine(s) {
    return visible(s).replace(/[\n\t]/g, ' ');
}
