// @ts-check
// The data of the page: texts, and columns of numbers in base64.

/** @typedef {Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array} Column */

/**
 * A column `KIND:BASE64`, least byte first; one that is absent is all zero.
 * @param {string | undefined} text
 * @param {number} n
 * @returns {Column}
 */
export function column(text, n) {
    if (!text) return new Uint8Array(n);
    const at = text.indexOf(':');
    const raw = atob(text.slice(at + 1));
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    switch (text.slice(0, at)) {
        case 'u8':
            return bytes;
        case 'u16':
            return new Uint16Array(bytes.buffer);
        case 'u32':
            return new Uint32Array(bytes.buffer);
        case 'f32':
            return new Float32Array(bytes.buffer);
        default:
            return new Float64Array(bytes.buffer);
    }
}
