/* The type of an indexed tensor. */
#include "ops/index/index.h"
#include "ops/shape/linear.h"

#include <string.h>

/* The dims determined by the items of an index, from left to right. */
typedef struct IndexWalk {
    Infer *in;
    const Type *x;
    size_t first;
    int axis; /* next axis of x */
    int n;
    Dim dim[ITEMS_MAX];
    bool arrays; /* some index is an array or a mask: integers then count as arrays */
    int front;   /* position of the arrays' dims in the result: that of the first array,
                  * or 0 once they are separated */
    bool open, apart; /* the last item was an array; arrays are separated */
    bool any;
    int adv; /* common shape of the arrays */
    Dim adv_dim[MAX_NDIM];
} IndexWalk;

static const Type *input_type(const IndexWalk *w, int input) {
    return w->in->type[w->first + (size_t)input];
}

static bool part_int(const IndexWalk *w, int input, bool *known, int64_t *v) {
    if (input < 0) return true;
    size_t arg = w->first + (size_t)input;
    const Type *t = w->in->type[arg];
    if (t->kind != TYPE_TENSOR || t->ndim != 0 || !dtype_is_integer(t->dtype))
        return infer_fail(w->in, E_TYPE, arg,
                          "a part of a slice must be an int, not %s",
                          type_str(w->in->s, t));
    *known = infer_int(w->in, arg, v);
    return true;
}

static bool walk_slice(IndexWalk *w, const IndexItem *it) {
    bool start_known = it->start < 0, stop_known = it->stop < 0,
         step_known = it->step < 0;
    int64_t start = 0, stop = 0, step = 1;
    if (!part_int(w, it->start, &start_known, &start) ||
        !part_int(w, it->stop, &stop_known, &stop) ||
        !part_int(w, it->step, &step_known, &step))
        return false;
    if (step_known && step == 0)
        return infer_fail(w->in, E_VALUE, w->first + (size_t)it->step,
                          "the step of a slice can't be 0");
    Dim size = w->x->dim[w->axis++], len = DIM_UNKNOWN;
    bool whole =
        it->start < 0 && it->stop < 0 && step_known && (step == 1 || step == -1);
    bool from_zero =
        start_known && start == 0 && it->stop < 0 && step_known && step == 1;
    if (whole || from_zero)
        len = size;
    else if (dim_is_known(size) && start_known && stop_known && step_known)
        len = slice_of(size, it->start >= 0, start, it->stop >= 0, stop, step).length;
    else if (size == 0 ||
             (start_known && stop_known && it->stop >= 0 && start == stop &&
              (it->start >= 0 || (step_known && step > 0))))
        len = 0; /* an omitted start is 0 only for a positive step */
    w->dim[w->n++] = len;
    w->open = false;
    return true;
}

/* Broadcasts an index array's shape with the others'; only a static 1 is broadcast. */
static bool join_shape(IndexWalk *w, size_t arg, int ndim, const Dim *dim) {
    int n = shape_broadcast(w->adv, w->adv_dim, ndim, dim, w->adv_dim);
    if (n < 0)
        return infer_fail(w->in, E_SHAPE, arg,
                          "index arrays do not broadcast together");
    w->adv = n;
    return true;
}

static void note_array_dim(IndexWalk *w) {
    if (!w->any)
        w->front = w->n;
    else if (!w->open)
        w->apart = true;
    w->any = w->open = true;
}

static bool walk_mask(IndexWalk *w, size_t arg, const Type *t) {
    for (int k = 0; k < t->ndim; k++) {
        Dim have = w->x->dim[w->axis + k];
        if (!dim_may_equal(have, t->dim[k]))
            return infer_fail(w->in, E_SHAPE, arg,
                              "dim %d of the mask has size %lld, but x has %lld there",
                              k, (long long)t->dim[k], (long long)have);
    }
    w->axis += t->ndim;
    note_array_dim(w);
    Dim count = DIM_UNKNOWN;
    return join_shape(w, arg, 1, &count);
}

static bool walk_input(IndexWalk *w, const IndexItem *it) {
    size_t arg = w->first + (size_t)it->input;
    const Type *t = w->in->type[arg];
    if (dtype_kind(t->dtype) == K_BOOL) return walk_mask(w, arg, t);
    Dim size = w->x->dim[w->axis];
    int64_t v;
    if (t->ndim == 0 && dim_is_known(size) && infer_int(w->in, arg, &v) &&
        (v >= size || v < -size))
        return infer_fail(w->in, E_VALUE, arg,
                          "index %lld is out of range for axis %d of size %lld",
                          (long long)v, w->axis, (long long)size);
    w->axis++;
    if (!w->arrays) return true;
    note_array_dim(w);
    return join_shape(w, arg, t->ndim, t->dim);
}

/* Number of x's dims that the items consume; checks the index inputs' types. -1:
 * diagnosed. */
static int count_consumed_dims(IndexWalk *w, const IndexItems *items, bool *ellipsis) {
    int n = 0;
    for (int i = 0; i < items->n; i++) {
        const IndexItem *it = &items->item[i];
        if (it->kind == IX_ELLIPSIS) {
            if (*ellipsis)
                return infer_fail(w->in, E_ARG, w->in->nin,
                                  "an index can hold only one ..."),
                       -1;
            *ellipsis = true;
        }
        if (it->kind == IX_SLICE) n++;
        if (it->kind != IX_INPUT) continue;
        const Type *t = input_type(w, it->input);
        bool mask = t->kind == TYPE_TENSOR && dtype_kind(t->dtype) == K_BOOL;
        if (t->kind != TYPE_TENSOR || !(mask || dtype_is_integer(t->dtype)))
            return infer_fail(w->in, E_TYPE, w->first + (size_t)it->input,
                              "an index must be int or bool, not %s",
                              type_str(w->in->s, t)),
                   -1;
        n += mask ? t->ndim : 1;
        w->arrays |= mask || t->ndim > 0;
    }
    return n;
}

static bool walk_items(IndexWalk *w, const IndexItems *items, int spare) {
    for (int i = 0; i < items->n; i++) {
        const IndexItem *it = &items->item[i];
        switch (it->kind) {
        case IX_NEW:
            w->dim[w->n++] = 1;
            w->open = false;
            break;
        case IX_ELLIPSIS:
            for (int k = 0; k < spare; k++)
                w->dim[w->n++] = w->x->dim[w->axis++];
            w->open = false;
            break;
        case IX_SLICE:
            if (!walk_slice(w, it)) return false;
            break;
        case IX_INPUT:
            if (!walk_input(w, it)) return false;
            break;
        }
    }
    while (w->axis < w->x->ndim)
        w->dim[w->n++] = w->x->dim[w->axis++];
    return true;
}

bool index_infer(Infer *in, const Type *x, size_t first, int *ndim, Dim dim[MAX_NDIM]) {
    IndexItems items;
    IndexWalk w = {.in = in, .x = x, .first = first};
    const char *text = sym_text(in->s, infer_prop(in, "index")->sym);
    if (!index_parse(text, &items))
        return infer_fail(in, E_VALUE, in->nin,
                          "\"%s\" is not an index, such as \"$:$, None, $\"", text);
    if ((size_t)items.inputs != in->nin - first)
        return infer_fail(in, E_ARITY, in->nin,
                          "the index \"%s\" takes %d inputs, not %zu", text,
                          items.inputs, in->nin - first);
    bool ellipsis = false;
    int used = count_consumed_dims(&w, &items, &ellipsis);
    if (used < 0) return false;
    if (used > x->ndim)
        return infer_fail(in, E_SHAPE, 0,
                          "too many indices: x has %s, but %d are indexed",
                          str_counted(in->s, (size_t)x->ndim, "dim"), used);
    if (!walk_items(&w, &items, ellipsis ? x->ndim - used : 0)) return false;
    if (!infer_ndim(in, w.n + w.adv)) return false;
    int front = w.apart ? 0 : w.front, n = 0;
    for (int k = 0; k < front; k++)
        dim[n++] = w.dim[k];
    for (int k = 0; k < w.adv; k++)
        dim[n++] = w.adv_dim[k];
    for (int k = front; k < w.n; k++)
        dim[n++] = w.dim[k];
    *ndim = n;
    return true;
}
