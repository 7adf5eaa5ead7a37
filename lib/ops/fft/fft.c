/* Plans: how a length is cut into passes, and the roots of unity that they multiply
 * with. */
#include "ops/fft/fft.h"

#include <math.h>
#include <string.h>

enum { KEPT = 16, STAGGER = 1088 };
static const size_t KEPT_BYTES = (size_t)256 << 20;

/* ---- roots of unity ---- */
/* e^(-2 pi i k / n), 0 <= k < n, as a product of two tables of about sqrt(n) numbers
 * each. */
typedef struct RootTable {
    int64_t n;
    int shift;
    long double *low, *high; /* pairs: powers 0 .. 2^shift - 1, and of 2^shift */
} RootTable;

/* By the octant of the angle, so that multiples of a right angle are exact. */
void fft_root(int64_t k, int64_t n, long double z[2]) {
    static const long double turn = 6.283185307179586476925286766559L;
    int64_t eighth = 8 * k / n, rest = 8 * k - eighth * n; /* 0 <= rest < n */
    if (eighth & 1) rest = n - rest;
    long double a = turn / 8 * (long double)rest / (long double)n, c = cosl(a),
                s = sinl(a);
    bool swap = ((eighth + 1) >> 1) & 1;
    long double re = swap ? s : c, im = swap ? c : s;
    z[0] = eighth >= 2 && eighth < 6 ? -re : re;
    z[1] = eighth < 4 ? -im : im;
}

static void open_roots(Session *s, int64_t n, RootTable *t) {
    *t = (RootTable){.n = n};
    while (((int64_t)1 << 2 * t->shift) < n)
        t->shift++;
    int64_t low = (int64_t)1 << t->shift, high = n / low + 1;
    t->low = mem_alloc(s, (size_t)(2 * (low + high)) * sizeof *t->low);
    t->high = t->low + 2 * low;
    for (int64_t i = 0; i < low; i++)
        fft_root(i % n, n, t->low + 2 * i);
    for (int64_t i = 0; i < high; i++)
        fft_root(i * low % n, n, t->high + 2 * i);
}

/* k in [0, n) */
static void table_root(const RootTable *t, int64_t k, long double z[2]) {
    const long double *a = t->low + 2 * (k & (((int64_t)1 << t->shift) - 1)),
                      *b = t->high + 2 * (k >> t->shift);
    z[0] = a[0] * b[0] - a[1] * b[1];
    z[1] = a[0] * b[1] + a[1] * b[0];
}

static void set_element(DType d, const FftLine *x, int64_t i, const long double z[2]) {
    if (d == DT_FLOAT32) {
        ((float *)x->re)[i] = (float)z[0];
        ((float *)x->im)[i] = (float)z[1];
    } else {
        ((double *)x->re)[i] = (double)z[0];
        ((double *)x->im)[i] = (double)z[1];
    }
}

/* ---- passes ---- */
/* The factors of n, 8 and 4 first; 0: one of them is too large. */
static int factorize(int64_t n, int radix[FFT_PASSES]) {
    static const int known[] = {8,  4,  2,  5,  3,  7,  11, 13, 17,
                                19, 23, 29, 31, 37, 41, 43, 47};
    int k = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (; n % known[i] == 0; n /= known[i])
            radix[k++] = known[i];
    /* two passes of radix 4 are faster than one of 8 and one of 2 */
    for (int i = 0; i + 1 < k; i++)
        if (radix[i] == 8 && radix[i + 1] == 2) radix[i] = radix[i + 1] = 4;
    return n == 1 ? k : 0;
}

/* Carves arrays for n numbers out of the plan's memory, whose size is counted first,
 * without any. */
static FftLine take_line(FftPlan *p, int64_t n) {
    size_t bytes = ((size_t)n * dtype_size(p->dtype) + 63) & ~(size_t)63;
    FftLine x = {0};
    if (p->memory) {
        x.re = (char *)p->memory + p->bytes;
        x.im = (char *)x.re + bytes;
    }
    p->bytes += 2 * bytes;
    return x;
}

static void fill_pass(FftPlan *p, FftPass *f, const RootTable *t) {
    FftLine w = take_line(p, (f->radix - 1) * f->m), root = {0};
    bool own = f->radix > 5 && f->radix != 8;
    if (own) root = take_line(p, f->radix);
    f->w_re = w.re, f->w_im = w.im;
    f->root_re = root.re, f->root_im = root.im;
    if (!p->memory) return;
    long double z[2];
    for (int64_t k = 1; k < f->radix; k++)
        for (int64_t i = 0; i < f->m; i++) {
            table_root(t, 2 * i * k * f->s, z);
            set_element(p->dtype, &w, (k - 1) * f->m + i, z);
        }
    for (int64_t k = 0; own && k < f->radix; k++) {
        fft_root(k, f->radix, z);
        set_element(p->dtype, &root, k, z);
    }
}

static void fill_passes(FftPlan *p, int n, const int *radix, const RootTable *t) {
    int64_t s = 1;
    p->npass = n;
    for (int i = 0; i < n; i++) {
        p->pass[i] = (FftPass){.radix = radix[i], .s = s, .m = p->n / s / radix[i]};
        fill_pass(p, &p->pass[i], t);
        s *= radix[i];
    }
}

/* ---- Bluestein ---- */
/* The first length from n on that is a product of 2, 3 and 5 only. */
static int64_t good_length(int64_t n) {
    int64_t best = INT64_MAX;
    for (int64_t a = 1; a < 2 * n; a *= 5)
        for (int64_t b = a; b < 2 * n; b *= 3) {
            int64_t c = b;
            while (c < n)
                c *= 2;
            if (c < best) best = c;
        }
    return best;
}

/* e^(i pi k^2 / n): the root of order 2 n with the exponent -k^2. */
static void fill_chirp(FftPlan *p, const RootTable *t) {
    p->chirp = take_line(p, p->n);
    p->spectrum = take_line(p, p->longer ? p->longer->n : 0);
    if (!p->memory) return;
    uint64_t square = 0, order = 2 * (uint64_t)p->n;
    for (int64_t k = 0; k < p->n; k++) {
        long double z[2];
        table_root(t, (int64_t)square, z);
        z[1] = -z[1];
        set_element(p->dtype, &p->chirp, k, z);
        square = (square + 2 * (uint64_t)k + 1) % order;
    }
}

static void copy_line(DType d, const FftLine *to, int64_t at, const FftLine *from,
                      int64_t first, int64_t n) {
    size_t size = dtype_size(d);
    memcpy((char *)to->re + (size_t)at * size, (char *)from->re + (size_t)first * size,
           (size_t)n * size);
    memcpy((char *)to->im + (size_t)at * size, (char *)from->im + (size_t)first * size,
           (size_t)n * size);
}

static void clear_line(DType d, const FftLine *x, int64_t at, int64_t n) {
    size_t size = dtype_size(d);
    memset((char *)x->re + (size_t)at * size, 0, (size_t)n * size);
    memset((char *)x->im + (size_t)at * size, 0, (size_t)n * size);
}

static void scale_line(DType d, const FftLine *x, int64_t n, double f) {
    for (int64_t i = 0; i < n; i++)
        if (d == DT_FLOAT32) {
            ((float *)x->re)[i] = (float)((double)((float *)x->re)[i] * f);
            ((float *)x->im)[i] = (float)((double)((float *)x->im)[i] * f);
        } else {
            ((double *)x->re)[i] *= f;
            ((double *)x->im)[i] *= f;
        }
}

/* Parts and lines of powers of two are kept apart by less than a page, so that they do
 * not all fall into the same places of the cache. */
static size_t part_bytes(DType d, int64_t n) {
    return (((size_t)n * dtype_size(d) + 63) & ~(size_t)63) + STAGGER;
}

FftLine fft_line(void *base, DType d, int64_t n) {
    return (FftLine){base, (char *)base + part_bytes(d, n)};
}

size_t fft_line_bytes(DType d, int64_t n) {
    return 2 * part_bytes(d, n);
}

/* The chirp from -n to n, wrapped around, transformed and divided by the length. */
static void fill_spectrum(Session *s, FftPlan *p) {
    int64_t n = p->n, l = p->longer->n;
    size_t bytes = fft_line_bytes(p->dtype, l);
    char *room = mem_alloc(s, bytes + fft_room(p->longer));
    FftLine x = fft_line(room, p->dtype, l);
    clear_line(p->dtype, &x, 0, l);
    copy_line(p->dtype, &x, 0, &p->chirp, 0, n);
    for (int64_t k = 1; k < n; k++)
        copy_line(p->dtype, &x, l - k, &p->chirp, k, 1);
    FftLine r = fft_run(p->longer, fft_loops(s, p->dtype), x, room + bytes);
    scale_line(p->dtype, &r, l, 1 / (double)l);
    copy_line(p->dtype, &p->spectrum, 0, &r, 0, l);
    mem_free(room);
}

/* ---- plans ---- */
typedef struct FftKept {
    FftPlan plan;
    struct FftKept *longer; /* of plan.longer */
    uint64_t used;          /* when last */
} FftKept;
typedef struct FftPlans {
    FftKept *kept[KEPT];
    uint64_t clock;
} FftPlans;

static void forget_plan(FftKept *k) {
    if (!k) return;
    forget_plan(k->longer);
    mem_free(k->plan.memory);
    mem_free(k);
}

static void free_plans(void *p) {
    FftPlans *all = p;
    for (int i = 0; i < KEPT; i++)
        forget_plan(all->kept[i]);
    mem_free(all);
}

static FftPlans *session_plans(Session *s) {
    FftPlans *p = session_slot(s, SLOT_FFT);
    if (p) return p;
    p = mem_zalloc(s, 1, sizeof *p);
    session_set_slot(s, SLOT_FFT, p, free_plans);
    return p;
}

/* Sets up the arrays, or only counts their bytes while there is no memory. */
static void lay_out(FftPlan *p, bool pairs, int nradix, const int *radix,
                    const RootTable *t) {
    p->bytes = 0;
    if (p->longer)
        fill_chirp(p, t);
    else
        fill_passes(p, nradix, radix, t);
    if (!pairs) return;
    p->half = take_line(p, p->n);
    for (int64_t k = 0; p->memory && k < p->n; k++) {
        long double z[2];
        table_root(t, k, z);
        set_element(p->dtype, &p->half, k, z);
    }
}

/* The plan, and the room in which it is made. */
static bool plan_fits(Session *s, const FftPlan *p) {
    const FftPlan *q = p->longer;
    size_t room = q ? fft_line_bytes(p->dtype, q->n) + fft_room(q) : 0;
    return buffer_fits(s, p->bytes + room);
}

/* NULL: diagnosed */
static FftKept *make_plan(Session *s, int64_t n, DType part, bool pairs) {
    int radix[FFT_PASSES], nradix = factorize(n, radix);
    FftKept *k = mem_zalloc(s, 1, sizeof *k);
    FftPlan *p = &k->plan;
    *p = (FftPlan){.n = n, .dtype = part};
    if (nradix == 0 && n > 1) {
        k->longer = make_plan(s, good_length(2 * n - 1), part, false);
        if (!k->longer) return forget_plan(k), NULL;
        p->longer = &k->longer->plan;
    }
    lay_out(p, pairs, nradix, radix, NULL);
    if (!plan_fits(s, p)) return forget_plan(k), NULL;
    p->memory = mem_alloc(s, p->bytes);
    RootTable t;
    open_roots(s, 2 * n, &t);
    lay_out(p, pairs, nradix, radix, &t);
    mem_free(t.low);
    if (p->longer) fill_spectrum(s, p);
    return k;
}

static size_t kept_bytes(const FftKept *k) {
    return k ? k->plan.bytes + kept_bytes(k->longer) : 0;
}

/* A place for one more plan: drops those that were not used for longest, while they are
 * too many or too large. */
static FftKept **place_for_plan(FftPlans *all) {
    for (;;) {
        size_t bytes = 0;
        int empty = -1, oldest = -1;
        for (int i = 0; i < KEPT; i++) {
            FftKept *k = all->kept[i];
            bytes += kept_bytes(k);
            if (!k)
                empty = i;
            else if (oldest < 0 || k->used < all->kept[oldest]->used)
                oldest = i;
        }
        if (empty >= 0 && (bytes <= KEPT_BYTES || oldest < 0)) return &all->kept[empty];
        forget_plan(all->kept[oldest]);
        all->kept[oldest] = NULL;
    }
}

const FftPlan *fft_plan(Session *s, int64_t n, DType part, bool pairs) {
    FftPlans *all = session_plans(s);
    all->clock++;
    for (int i = 0; i < KEPT; i++) {
        FftKept *k = all->kept[i];
        if (!k || k->plan.n != n || k->plan.dtype != part ||
            (pairs && !k->plan.half.re))
            continue;
        k->used = all->clock;
        return &k->plan;
    }
    FftKept **place = place_for_plan(all), *k = make_plan(s, n, part, pairs);
    if (!k) return NULL;
    k->used = all->clock;
    *place = k;
    return &k->plan;
}

/* ---- running ---- */
size_t fft_room(const FftPlan *p) {
    return p->longer ? fft_line_bytes(p->dtype, p->longer->n) + fft_room(p->longer)
                     : fft_line_bytes(p->dtype, p->n);
}

static FftLine run_passes(const FftPlan *p, const FftLoops *loops, int64_t lines,
                          FftLine x, FftLine y) {
    for (int i = 0; i < p->npass; i++) {
        FftPass pass = p->pass[i];
        pass.s *= lines;
        loops->pass(&pass, &x, &y);
        FftLine swap = x;
        x = y;
        y = swap;
    }
    return x;
}

/* x times the conjugate chirp, convolved with the chirp, times the conjugate chirp. */
static FftLine run_chirp(const FftPlan *p, const FftLoops *loops, FftLine x,
                         void *room) {
    int64_t l = p->longer->n;
    FftLine y = fft_line(room, p->dtype, l);
    char *rest = (char *)room + fft_line_bytes(p->dtype, l);
    loops->multiply(&x, &p->chirp, p->n, true);
    copy_line(p->dtype, &y, 0, &x, 0, p->n);
    clear_line(p->dtype, &y, p->n, l - p->n);
    FftLine z = fft_run(p->longer, loops, y, rest);
    loops->multiply(&z, &p->spectrum, l, false);
    void *free_room = z.re == y.re ? (void *)rest : y.re;
    FftLine r = fft_swap_parts(fft_run(p->longer, loops, fft_swap_parts(z), free_room));
    copy_line(p->dtype, &x, 0, &r, 0, p->n);
    loops->multiply(&x, &p->chirp, p->n, true);
    return x;
}

FftLine fft_run(const FftPlan *p, const FftLoops *loops, FftLine x, void *room) {
    if (p->longer) return run_chirp(p, loops, x, room);
    return run_passes(p, loops, 1, x, fft_line(room, p->dtype, p->n));
}

FftLine fft_run_beside(const FftPlan *p, const FftLoops *loops, int64_t lines,
                       FftLine x, void *room) {
    return run_passes(p, loops, lines, x, fft_line(room, p->dtype, p->n * lines));
}

const FftLoops *fft_loops(Session *s, DType part) {
    int wide = part == DT_FLOAT64;
#if defined(__x86_64__)
    int level = session_cpu_level(s);
    return level == 2   ? &fft_loops2[wide]
           : level == 1 ? &fft_loops1[wide]
                        : &fft_loops0[wide];
#else
    (void)s;
    return &fft_loops0[wide];
#endif
}
