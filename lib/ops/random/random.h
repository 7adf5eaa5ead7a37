/* What the files of lib/ops/random share: a draw of a distribution by one pair of
 * parameters, made in chunks that threads may take. */
#ifndef OPS_RANDOM_RANDOM_H
#define OPS_RANDOM_RANDOM_H

#include "op/infer.h"
#include "value/rng.h"

enum {
    DRAW_CHUNK = 1 << 12
}; /* elements at a time: a multiple of every block of words */

typedef struct Draw Draw;
/* Elements [from, from + n) of the draw; a and b are the parameters as float64 (or
 * int64) for each, or one for all (step 0). */
typedef void DrawFn(const Draw *w, uint64_t from, size_t n, const void *a,
                    const void *b, int step, char *out);
struct Draw {
    Rng rng;
    DType dtype, param;
    Tensor *out;
    const Tensor *a, *b; /* parameters of dtype `param`, contiguous: one element or the
                            whole shape */
    DrawFn *fn;
};
/* Where the parameters are among the inputs. */
typedef struct DrawForm {
    size_t a, b; /* inputs; the same one where there is one parameter */
    size_t size; /* input, or SIZE_MAX: the broadcast shape of the parameters */
    size_t out;  /* output */
    bool (*check)(Call *c, const Draw *w); /* of the parameters' values; may be NULL */
} DrawForm;
/* The shape of a draw, and its type as output `out` of the Apply. */
bool draw_type(Infer *in, const DrawForm *f, DType d);
bool draw_run(Call *c, const DrawForm *f, DrawFn *fn, DType param, Rng rng);

DrawFn draw_uniform, draw_normal, draw_integers;
bool draw_check_ranges(Call *c, const Draw *w);

#endif
