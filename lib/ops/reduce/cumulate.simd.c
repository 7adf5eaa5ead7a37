/* Lines one beside the other: vectors go across them where their elements are packed;
 * else eight of them at a time, so that an element needn't wait for the one before it.
 * Floats are summed in float64; extremes need no wider state. */
#include "ops/reduce/cumulate.h"

#include "base/complex.h"
#include "op/vector.h"
#include "ops/elemwise/vmath.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTOR_LOOP _Pragma("GCC ivdep")
#endif

enum { SIDE = 8 };

#define TIMES(a, b) ((a) * (b))
/* x s, whose x may be turned before s is known. */
VINLINE double _Complex times_c128(double _Complex x, double _Complex s) {
    double re = RE(x) * RE(s) + turned_c128(IM(x)) * IM(s),
           im = RE(x) * IM(s) + IM(x) * RE(s);
    return __builtin_complex(re, im);
}
/* nan wins, and stays; of equal ones the first. The first choice is an instruction of
 * CPUs, the second one a branch that is hardly ever taken. */
#define NAN_OR(x, r) ((x) != (x) ? (x) : (r))
#define MORE(x, s)   NAN_OR(x, (x) > (s) ? (x) : (s))
#define LESS(x, s)   NAN_OR(x, (x) < (s) ? (x) : (s))

/* What becomes of the state s by x (and y), and what is stored: LOOP(first element,
 * next state, element of the output). */
#define EACH_FOLD(LOOP, MUL)                                                           \
    switch (g->what * 2 + g->exclusive) {                                              \
    case RUN_SUM * 2:                                                                  \
        LOOP(0, s + x, r);                                                             \
        break;                                                                         \
    case RUN_SUM * 2 + 1:                                                              \
        LOOP(0, s + x, s);                                                             \
        break;                                                                         \
    case RUN_PROD * 2:                                                                 \
        LOOP(0, MUL(x, s), r);                                                         \
        break;                                                                         \
    case RUN_PROD * 2 + 1:                                                             \
        LOOP(0, MUL(x, s), s);                                                         \
        break;                                                                         \
    default:                                                                           \
        LOOP(1, MUL(x, s) + y, r);                                                     \
        break;                                                                         \
    }
#define EACH_EXTREME(LOOP, MUL)                                                        \
    if (g->what == RUN_MAX) {                                                          \
        LOOP(1, MORE(x, s), r);                                                        \
    } else {                                                                           \
        LOOP(1, LESS(x, s), r);                                                        \
    }

/* ---- across: element i of all lines ---- */

#define ACROSS(NAME, X, S, R, EACH, MUL)                                               \
    static void across_##NAME(const CumGroup *g) {                                     \
        typedef X In;                                                                  \
        typedef S State;                                                               \
        typedef R Out;                                                                 \
        _Alignas(64) State state[CUM_LINES];                                           \
        const size_t n = (size_t)g->lines;                                             \
        const In *const y0 = (const In *)(const void *)g->y;                           \
        Out *const out0 = (Out *)(void *)g->out;                                       \
        const bool from_y = g->what >= RUN_RECURRENCE;                                 \
        for (size_t k = 0; k < n; k++)                                                 \
            state[k] = from_y ? (State)y0[k] : (State)(g->what == RUN_PROD);           \
        for (size_t k = 0; from_y && k < n; k++)                                       \
            out0[k] = (Out)y0[k];                                                      \
        EACH(ACROSS_LOOP, MUL)                                                         \
    }
#define ACROSS_LOOP(first, NEXT, RESULT)                                               \
    for (int64_t i = first; i < g->n; i++) {                                           \
        const In *px = (const In *)(const void *)(g->x + i * g->x_step);               \
        const In *py = (const In *)(const void *)(g->y + i * g->y_step);               \
        Out *to = (Out *)(void *)(g->out + i * g->out_step);                           \
        VECTOR_LOOP for (size_t k = 0; k < n; k++) {                                   \
            const State x = (State)px[k], s = state[k],                                \
                        y __attribute__((unused)) = (State)py[k];                      \
            const State r = NEXT;                                                      \
            state[k] = r;                                                              \
            to[k] = (Out)(RESULT);                                                     \
        }                                                                              \
    }

/* ---- along: SIDE lines, and what is left, one by one ---- */

#define ALONG(NAME, X, S, R, EACH, MUL)                                                \
    VINLINE void lines_##NAME(const CumGroup *g, int64_t at, const size_t side) {      \
        typedef X In;                                                                  \
        typedef S State;                                                               \
        typedef R Out;                                                                 \
        const char *px = g->x + at * g->x_next, *py = g->y + at * g->y_next;           \
        char *to = g->out + at * g->out_next;                                          \
        State state[SIDE];                                                             \
        const bool from_y = g->what >= RUN_RECURRENCE;                                 \
        UNROLLED (k, side) {                                                           \
            const In *y0 = (const In *)(const void *)(py + (ptrdiff_t)k * g->y_next);  \
            state[k] = from_y ? (State)*y0 : (State)(g->what == RUN_PROD);             \
            if (from_y) *(Out *)(void *)(to + (ptrdiff_t)k * g->out_next) = (Out)*y0;  \
        }                                                                              \
        EACH(ALONG_LOOP, MUL)                                                          \
    }                                                                                  \
    static void along_##NAME(const CumGroup *g) {                                      \
        int64_t at = 0;                                                                \
        for (; at + SIDE <= g->lines; at += SIDE)                                      \
            lines_##NAME(g, at, SIDE);                                                 \
        for (; at + 2 <= g->lines; at += 2)                                            \
            lines_##NAME(g, at, 2);                                                    \
        for (; at < g->lines; at++)                                                    \
            lines_##NAME(g, at, 1);                                                    \
    }
#define ALONG_LOOP(first, NEXT, RESULT)                                                \
    for (int64_t i = first; i < g->n; i++) {                                           \
        const char *ax = px + i * g->x_step, *ay = py + i * g->y_step;                 \
        char *ar = to + i * g->out_step;                                               \
        UNROLLED (k, side) {                                                           \
            const State x =                                                            \
                (State) * (const In *)(const void *)(ax + (ptrdiff_t)k * g->x_next);   \
            const State y __attribute__((unused)) =                                    \
                (State) * (const In *)(const void *)(ay + (ptrdiff_t)k * g->y_next);   \
            const State s = state[k], r = NEXT;                                        \
            state[k] = r;                                                              \
            *(Out *)(void *)(ar + (ptrdiff_t)k * g->out_next) = (Out)(RESULT);         \
        }                                                                              \
    }

#define LINES(NAME, X, S, R, EACH, MUL)                                                \
    ACROSS(NAME, X, S, R, EACH, MUL)                                                   \
    ALONG(NAME, X, S, R, EACH, MUL)
LINES(f32, float, double, float, EACH_FOLD, TIMES)
LINES(f64, double, double, double, EACH_FOLD, TIMES)
LINES(i32, int32_t, uint64_t, uint64_t, EACH_FOLD, TIMES)
LINES(u64, uint64_t, uint64_t, uint64_t, EACH_FOLD, TIMES)
LINES(c64, float _Complex, double _Complex, float _Complex, EACH_FOLD, times_c128)
LINES(c128, double _Complex, double _Complex, double _Complex, EACH_FOLD, times_c128)
LINES(max_f32, float, float, float, EACH_EXTREME, TIMES)
LINES(max_f64, double, double, double, EACH_EXTREME, TIMES)
LINES(max_i32, int32_t, int32_t, int32_t, EACH_EXTREME, TIMES)
LINES(max_i64, int64_t, int64_t, int64_t, EACH_EXTREME, TIMES)

/* ---- logarithms of sums of exponentials ---- */

/* e^-|x - most|, which the sum gains, or by which it counts less beside a larger x. */
VINLINE double exponent_of(double x, double most) {
    return exp_f64(x == most ? 0 : -fabs(x - most));
}
static void exponents_across(double *most, double *rest, const double *x, double *out,
                             size_t n) {
    VECTOR_LOOP for (size_t i = 0; i < n; i++) {
        const double m = MORE(x[i], most[i]), e = exponent_of(x[i], most[i]);
        const double r = MADD64(rest[i], x[i] > most[i] ? e : 1, e);
        most[i] = m;
        rest[i] = r;
        out[i] = m + log1p_f64(r);
    }
}
static void exponents_along(double *most, double *rest, const double *x, double *out,
                            size_t n) {
    _Alignas(64) double m[CUM_BLOCK + 1], e[CUM_BLOCK], by[CUM_BLOCK];
    double r = *rest, top = *most;
    m[0] = top;
    for (size_t i = 0; i < n; i++) { /* a branch, which CPUs foresee */
        if ((x[i] > top) | (x[i] != x[i])) top = x[i];
        m[i + 1] = top;
    }
    VECTOR_LOOP for (size_t i = 0; i < n; i++) {
        e[i] = exponent_of(x[i], m[i]);
        by[i] = x[i] > m[i] ? e[i] : 1;
    }
    for (size_t i = 0; i < n; i++)
        e[i] = r = MADD64(r, by[i], e[i]);
    VECTOR_LOOP for (size_t i = 0; i < n; i++) {
        out[i] = m[i + 1] + log1p_f64(e[i]);
    }
    *most = m[n];
    *rest = r;
}

#define LOOPS(dtype, NAME)                                                             \
    { dtype, across_##NAME, along_##NAME }
const CumTable LEVEL(cum_table) = {
    .fold = {[DT_FLOAT32] = LOOPS(DT_FLOAT32, f32),
             [DT_FLOAT64] = LOOPS(DT_FLOAT64, f64),
             [DT_INT32] = LOOPS(DT_INT64, i32),
             [DT_INT64] = LOOPS(DT_INT64, u64),
             [DT_UINT64] = LOOPS(DT_UINT64, u64),
             [DT_COMPLEX64] = LOOPS(DT_COMPLEX64, c64),
             [DT_COMPLEX128] = LOOPS(DT_COMPLEX128, c128)},
    .extreme = {[DT_FLOAT32] = LOOPS(DT_FLOAT32, max_f32),
                [DT_FLOAT64] = LOOPS(DT_FLOAT64, max_f64),
                [DT_INT32] = LOOPS(DT_INT32, max_i32),
                [DT_INT64] = LOOPS(DT_INT64, max_i64)},
    .exponents_across = exponents_across,
    .exponents_along = exponents_along,
};
