/* Discrete Fourier transforms of one line: plans, and the loops that run them.
 *
 * A line is transformed in split form, real parts and imaginary parts apart, by passes
 * between two such lines (Stockham's sorted form of Cooley and Tukey's algorithm,
 * 1965): every loop runs over neighbours, so that the compiler vectorises it. A pass of
 * radix r joins r transforms of a length s into one of r s; n is the product of the
 * radices. A length with a large prime factor becomes a convolution with a chirp, which
 * a longer transform computes (Bluestein, 1970). */
#ifndef OPS_FFT_FFT_H
#define OPS_FFT_FFT_H

#include "op/op.h"

/* One pass: y[q + s (r p + k)] = w^(p k) * the sum over j of x[q + s (p + m j)] * (r-th
 * root)^(j k), for q < s, p < m, with w the root of order r m. */
typedef struct FftPass {
    int radix;
    int64_t s, m;
    const void *w_re, *w_im;       /* w^(p k) at m (k - 1) + p, for k from 1 on */
    const void *root_re, *root_im; /* of radices without a loop of their own */
} FftPass;

typedef struct FftLine {
    void *re, *im;
} FftLine;

/* The loops of one dtype at one CPU level. */
typedef struct FftLoops {
    void (*pass)(const FftPass *p, const FftLine *x, const FftLine *y);
    /* n complex numbers in a row to a line, and back, times scale; with swap, real and
     * imaginary parts change places, which makes a transform an inverse one */
    void (*split)(const void *from, int64_t n, const FftLine *to);
    void (*join)(const FftLine *from, int64_t n, double scale, void *to);
    /* x *= w, or x *= conj(w) */
    void (*multiply)(const FftLine *x, const FftLine *w, int64_t n, bool conj);
    /* From z, the transform of the n / 2 complex numbers that n real ones are in pairs,
     * the first n / 2 + 1 of their transform; and z (twice) from those. w: roots of
     * order n. */
    void (*from_pairs)(const FftLine *z, const FftLine *w, int64_t n, double scale,
                       void *to);
    void (*to_pairs)(const void *from, const FftLine *w, int64_t n, const FftLine *z);
} FftLoops;
extern const FftLoops fft_loops0[2], fft_loops1[2], fft_loops2[2]; /* f32, f64 */

enum { FFT_PASSES = 64 };
typedef struct FftPlan {
    int64_t n;
    DType dtype; /* of the parts */
    int npass;
    FftPass pass[FFT_PASSES];
    struct FftPlan *longer;  /* Bluestein's; else NULL, and so are these: */
    FftLine chirp, spectrum; /* e^(i pi k^2 / n); the transform of its wrapped copy */
    FftLine half;            /* roots of order n for pairs of reals, if asked for */
    size_t bytes;
    void *memory;
} FftPlan;

/* The plan for lines of n numbers, which the session keeps until others need its place.
 * pairs: for 2 n real numbers in pairs. Not for several threads at a time. NULL: it
 * does not fit into memory, diagnosed. */
const FftPlan *fft_plan(Session *s, int64_t n, DType part, bool pairs);
/* With real and imaginary parts changing places, a transform is an inverse one. */
static inline FftLine fft_swap_parts(FftLine x) {
    return (FftLine){x.im, x.re};
}
/* A line for n numbers in the memory at base, which takes fft_line_bytes. */
FftLine fft_line(void *base, DType part, int64_t n);
size_t fft_line_bytes(DType part, int64_t n);
/* Bytes of room that fft_run needs, beside the line. */
size_t fft_room(const FftPlan *p);
/* Transforms x in place, which is at the start of a line; the result is in one of x and
 * the room. */
FftLine fft_run(const FftPlan *p, const FftLoops *loops, FftLine x, void *room);
/* The same of `lines` lines at once, number k of all of them side by side: no more than
 * longer runs of neighbours, for plans without a longer one. The bits are those of each
 * line by itself. */
FftLine fft_run_beside(const FftPlan *p, const FftLoops *loops, int64_t lines,
                       FftLine x, void *room);
const FftLoops *fft_loops(Session *s, DType part);
/* e^(-2 pi i k / n) for 0 <= k < n. */
void fft_root(int64_t k, int64_t n, long double z[2]);

#endif
