/* What the files of lib/ops/random share: a draw of a distribution by one pair of
 * parameters, made in chunks that threads may take. */
#ifndef OPS_RANDOM_RANDOM_H
#define OPS_RANDOM_RANDOM_H

#include "op/build.h"
#include "op/infer.h"
#include "value/rng.h"

enum {
    DRAW_CHUNK = 1 << 12, /* elements at a time: a multiple of every block of words */
    DRAW_PARAMS = 3       /* at most */
};

typedef struct Draw Draw;
/* Elements [from, from + n) of the draw; p are the parameters from there on, as float64
 * or int64, for each element, or one for all (step 0). */
typedef void DrawFn(const Draw *w, uint64_t from, size_t n, const void *const *p,
                    int step, char *out);
typedef bool DrawCheck(Call *c, const Draw *w); /* of the parameters' values */
struct Draw {
    Rng rng;
    DType dtype, param;
    Tensor *out;
    size_t nparam;
    Tensor p[DRAW_PARAMS]; /* of dtype `param`, contiguous: all of one element or all of
                              the whole shape */
    bool wide[DRAW_PARAMS]; /* was uint64, which is kept bit for bit as int64 */
    DrawFn *fn;
};
/* Where the parameters are among the inputs. */
typedef struct DrawForm {
    size_t first, nparam;
    size_t size; /* input, or SIZE_MAX: the broadcast shape of the parameters */
    size_t out;  /* output */
    DType param;
    DrawFn *fn;
    DrawCheck *check; /* may be NULL */
} DrawForm;
/* The shape of a draw, and its type as output `out` of the Apply. */
bool draw_type(Infer *in, const DrawForm *f, DType d);
bool draw_run(Call *c, const DrawForm *f, Rng rng);
int64_t draw_nparams(const Draw *w); /* elements of each parameter */

/* The gradient by parameter i (an input) of the draw that is output `out`: a text in
 * its cotangent g and z, the same draw by the parameters 0 and 1, which has all digits
 * where (r - loc) / scale has not. */
bool draw_pull_by(Pull *p, size_t i, size_t out, const char *text);

/* The order of 0 .. n - 1: input i is n. */
bool random_permutation_type(Infer *in, size_t i, size_t out);
bool random_permutation_run(Call *c, size_t i, size_t out, Rng rng);

DrawFn draw_uniform, draw_open, draw_normal, draw_integers;
DrawCheck check_range, check_scale, check_integers;

/* Draws of the op `draw` that are whole numbers. */
bool draw_counts(const char *dist);

#endif
