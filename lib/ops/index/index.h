/* Indexing: what an index (op/index_text.h) reads of a tensor and writes to it. */
#ifndef OPS_INDEX_INDEX_H
#define OPS_INDEX_INDEX_H

#include "op/index_text.h"
#include "op/infer.h"
#include "ops/index/loops.h"
#include "vmap/kit.h"

/* An index array that is read where it is needed. */
typedef struct LateArray {
    const char *data;
    DType dtype;
    int axis;
    int64_t size, stride;   /* of x's axis */
    int64_t step[MAX_NDIM]; /* bytes, along each late dim; 0: broadcast */
} LateArray;

/* An index applied to a tensor: a view `base` after slices, None and (without arrays)
 * integers, and the dims gathered by arrays. Result dims: base's [0, front), then the
 * arrays' common shape, then base's [front, ndim). */
typedef struct Indexed {
    Tensor base;   /* without the gathered dims */
    bool advanced; /* there are arrays or masks */
    int front;
    int adv_ndim;
    int64_t adv_shape[MAX_NDIM];
    int64_t adv_count;
    const int64_t
        *offset; /* bytes from base.data, adv_count of them; in the Call's scratch */
    /* Instead of offset, unless there are masks: the arrays, and their common shape
     * with dims merged where all arrays allow it. */
    bool late;
    WrapFn *wrap;
    WithinFn *within;
    int narray, late_ndim;
    const LateArray *array; /* in the Call's scratch */
    int64_t late_shape[MAX_NDIM];
} Indexed;
/* Index inputs begin at input `first`. *mem gets `extra` bytes of scratch for the
 * caller (may be 0 and NULL). The first axis out of range is diagnosed. may_be_late:
 * the arrays may be left for index_offsets to read. */
bool index_apply(Call *c, const Tensor *x, size_t first, Indexed *ix, bool may_be_late,
                 size_t extra, void **mem);
/* Offsets [first, first + n) of a late index; false if one is out of range, which
 * index_refuse diagnoses. */
bool index_offsets(const Indexed *ix, int64_t first, int64_t n, int64_t *offset);
/* Of [first, first + n), the first ones whose offsets are those of `*v`, in elements of
 * `unit` bytes from *base on; returns how many. 0: they are to be computed. */
int64_t index_direct(const Indexed *ix, int64_t first, int64_t n, int64_t unit,
                     const int64_t **v, int64_t *base);
/* How many offsets come again and again, if only what the others add to them changes,
 * as in x[i[:, None], j], an open mesh; 0: none do. */
int64_t index_mesh(const Indexed *ix);
/* These offsets, and what the others add to those from `first` on; false as above. */
bool index_mesh_offsets(const Indexed *ix, int64_t *offset);
bool index_mesh_base(const Indexed *ix, int64_t first, int64_t *base);
/* The offsets that all rows have in common: those of a mesh, or all of them if they
 * aren't late. */
typedef struct OffsetRun {
    int64_t at, n;
} OffsetRun;
typedef struct OffsetList {
    int64_t n; /* 0: there are none, or a list isn't worth it */
    const int64_t *offset;
    OffsetRun *run; /* what is adjacent, as in padding and in a[:, [3, 4, 5, 0, 1, 2]];
                     * NULL: too few are */
    int64_t *own;
} OffsetList;
/* fronts: how often all offsets serve; bytes: between adjacent ones, 0: don't look for
 * runs. False: an index is out of range. To be freed in any case. */
bool index_list(Session *s, const Indexed *ix, int64_t fronts, int64_t bytes,
                OffsetList *l);
void index_list_free(OffsetList *l);
/* The run that has number `at`. */
const OffsetRun *index_run_at(const OffsetList *l, int64_t at);
bool index_refuse(Call *c, const Indexed *ix);
/* An index out of range is an error also where nothing is read or written with it. */
bool index_check_late(Call *c, const Indexed *ix);
int index_result(const Indexed *ix, int64_t shape[MAX_NDIM]);

/* vmap of x[index], and of x with y set or added there. */
bool index_subtensor_vmap(Vmap *q);
bool index_inc_vmap(Vmap *q);

/* The typing rule for x indexed by the inputs from `first` on. */
bool index_infer(Infer *in, const Type *x, size_t first, int *ndim, Dim dim[MAX_NDIM]);

#endif
