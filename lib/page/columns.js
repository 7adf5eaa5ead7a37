// @ts-check
// Columns of the data: numbers as base64, little endian, `KIND:BASE64`. A column that is absent is all zero.

/** @typedef {Uint8Array|Uint16Array|Uint32Array|Int32Array|Float32Array|Float64Array} Column */

/** No Apply, no variable, no box: what a u32 column says for "none". */
export const NONE = 0xffffffff;

/** @param {string} text @returns {Uint8Array} */
function bytesOfBase64(text) {
    const native = /** @type {any} */ (Uint8Array).fromBase64;
    if (native) return native.call(Uint8Array, text);
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
}

/** @param {string} kind @param {ArrayBuffer} b @param {number} n @returns {Column} */
function arrayOfKind(kind, b, n) {
    switch (kind) {
        case 'u8':
            return new Uint8Array(b, 0, n);
        case 'u16':
            return new Uint16Array(b, 0, n);
        case 'u32':
            return new Uint32Array(b, 0, n);
        case 'i32':
            return new Int32Array(b, 0, n);
        case 'f32':
            return new Float32Array(b, 0, n);
        case 'f64':
            return new Float64Array(b, 0, n);
    }
    throw new Error('a column of kind ' + kind + ' is not known to this page');
}

const BYTES = new Map([
    ['u8', 1],
    ['u16', 2],
    ['u32', 4],
    ['i32', 4],
    ['f32', 4],
    ['f64', 8],
]);

/** @param {string|null|undefined} text @param {number} n @returns {Column} */
export function column(text, n) {
    if (!text) return new Uint8Array(n);
    const at = text.indexOf(':');
    const kind = text.slice(0, at);
    const bytes = bytesOfBase64(text.slice(at + 1));
    return arrayOfKind(
        kind,
        /** @type {ArrayBuffer} */ (bytes.buffer),
        Math.floor(bytes.length / (BYTES.get(kind) || 1)),
    );
}

/** How many rows a table has: it says so, or its key column does. @param {any} table @param {string} key */
export function rowsOf(table, key) {
    return table.n !== undefined ? table.n : freeColumn(table[key]).length;
}

/** The length that a column has by itself. @param {string|null|undefined} text */
export function freeColumn(text) {
    return column(text, 0);
}

/** What may be written as a list or as a column. @param {string|number[]|null|undefined} x @returns {ArrayLike<number>} */
export function listOrColumn(x) {
    return Array.isArray(x) ? x : freeColumn(x);
}

/** First places of rows with the given lengths, and the end. @param {Column} lengths */
export function prefixSums(lengths) {
    const first = new Uint32Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; i++) first[i + 1] = first[i] + lengths[i];
    return first;
}
