/* Shared by the files of lib/ops/random: a draw from a distribution with broadcast
 * parameters, made in chunks for threads. */
#ifndef OPS_RANDOM_RANDOM_H
#define OPS_RANDOM_RANDOM_H

#include "op/build.h"
#include "op/infer.h"
#include "value/rng.h"

enum {
    DRAW_CHUNK = 1 << 12, /* elements per chunk: a multiple of every block of words */
    DRAW_PARAMS = 3       /* the maximum */
};

typedef struct Draw Draw;
/* Elements [from, from + n) of a draw. */
typedef struct DrawPart {
    uint64_t from;
    size_t n;
    const void *const *p; /* the parameters from there on, as float64 or int64: */
    int step;             /* one per element, or one for all (step 0) */
    char *out;
} DrawPart;
typedef void DrawFn(const Draw *w, const DrawPart *part);
typedef bool DrawCheck(Call *c, const Draw *w); /* checks the parameters' values */
struct Draw {
    Rng rng;
    int level; /* of CPU */
    DType dtype, param;
    Tensor *out;
    size_t nparam;
    Tensor p[DRAW_PARAMS];  /* of dtype `param`, contiguous: all of one element, or all
                             * of the full shape */
    bool wide[DRAW_PARAMS]; /* was uint64, whose bits are kept in the int64 */
    DrawFn *fn;
};
/* The positions of the parameters among the inputs. */
typedef struct DrawForm {
    size_t first, nparam;
    size_t size; /* input, or SIZE_MAX: the parameters' broadcast shape */
    size_t out;  /* output */
    DType param;
    DrawFn *fn;
    DrawCheck *check; /* may be NULL */
} DrawForm;
/* The shape of a draw, and its type as output `out` of the Apply. */
bool draw_type(Infer *in, const DrawForm *f, DType d);
bool draw_run(Call *c, const DrawForm *f, Rng rng);
int64_t draw_nparams(const Draw *w); /* elements of each parameter */

/* The gradient by parameter i (an input) of the draw at output `out`: a formula in its
 * cotangent g and z, the same draw with parameters 0 and 1, which is accurate where (r
 * - loc) / scale is not. */
bool draw_pull_by(Pull *p, size_t i, size_t out, const char *text);

/* A random order of 0 .. n - 1; input i is n. */
bool random_permutation_type(Infer *in, size_t i, size_t out);
bool random_permutation_run(Call *c, size_t i, size_t out, Rng rng);

DrawFn draw_uniform, draw_open, draw_normal, draw_integers;
DrawCheck check_range, check_scale, check_integers;

/* Does this distribution of the op `draw` return integers? */
bool draw_counts(const char *dist);

#endif
