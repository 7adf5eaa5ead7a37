// @ts-check
// Where the picture stands: screen = picture * k + (x, y).

const MIN_SCALE = 0.005;
const MAX_SCALE = 4;

export class Camera {
    constructor() {
        this.x = 0;
        this.y = 0;
        this.k = 1;
    }

    /** @param {number} sx @param {number} sy @returns {[number, number]} */
    toPicture(sx, sy) {
        return [(sx - this.x) / this.k, (sy - this.y) / this.k];
    }

    /** Zooms so that what is under a point stays there. @param {number} factor @param {number} sx @param {number} sy */
    zoomAt(factor, sx, sy) {
        const k = Math.min(Math.max(this.k * factor, MIN_SCALE), MAX_SCALE);
        this.x = sx - ((sx - this.x) * k) / this.k;
        this.y = sy - ((sy - this.y) * k) / this.k;
        this.k = k;
    }

    /** Shows a part of the picture whole, at most at `most`. @param {{x: number, y: number, w: number, h: number}} r @param {number} w @param {number} h @param {number} [most] */
    fit(r, w, h, most = 1) {
        const room = 24;
        this.k = Math.max(
            Math.min((w - 2 * room) / Math.max(r.w, 1), (h - 2 * room) / Math.max(r.h, 1), most),
            MIN_SCALE,
        );
        this.x = (w - r.w * this.k) / 2 - r.x * this.k;
        this.y = (h - r.h * this.k) / 2 - r.y * this.k;
    }

    /** @param {number} px @param {number} py @param {number} w @param {number} h */
    centre(px, py, w, h) {
        this.x = w / 2 - px * this.k;
        this.y = h / 2 - py * this.k;
    }
}
