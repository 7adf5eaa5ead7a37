/* Layouts: everything about a tensor except its data, interned, so that a step prepared
 * for certain shapes and strides can check by comparing pointers that they haven't
 * changed. */
#include "vm/vm_impl.h"

#include <string.h>

void layouts_init(Layouts *l, Session *s) {
    *l = (Layouts){.s = s, .arena = arena_new(s), .index = INDEX(s)};
}

void layouts_free(Layouts *l) {
    index_free(&l->index);
    vec_free(&l->all);
    arena_free(l->arena);
}

typedef struct Key {
    const Layouts *l;
    DType dtype;
    int ndim;
    const int64_t *shape, *stride;
} Key;

static bool same_dims(int n, const int64_t *a, const int64_t *b) {
    for (int i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static bool same_layout(const void *ctx, uint32_t id) {
    const Key *k = ctx;
    const Layout *l = k->l->all.p[id];
    return l->dtype == k->dtype && l->ndim == k->ndim &&
           same_dims(k->ndim, l->shape, k->shape) &&
           same_dims(k->ndim, l->stride, k->stride);
}

static void contiguous_strides(DType d, int ndim, const int64_t *shape,
                               int64_t *stride) {
    int64_t step = (int64_t)dtype_size(d);
    for (int i = ndim; i-- > 0;) {
        stride[i] = step;
        if (shape[i] > 1 && !i64_mul(step, shape[i], &step)) step = INT64_MAX;
    }
}

/* SIZE_MAX if they can't be addressed. */
static size_t layout_bytes(const Key *k) {
    size_t bytes = dtype_size(k->dtype);
    bool fits = true;
    for (int i = 0; i < k->ndim; i++) {
        if (k->shape[i] == 0) return 0;
        fits = fits && size_mul(bytes, (size_t)k->shape[i], &bytes);
    }
    return fits && bytes < PTRDIFF_MAX ? bytes : SIZE_MAX;
}

static Layout *layout_add(Layouts *l, const Key *k) {
    size_t n = (size_t)k->ndim;
    Layout *out = NEW(l->arena, Layout);
    int64_t *dims = NEW_N(l->arena, 2 * n, int64_t);
    if (n) memcpy(dims, k->shape, n * sizeof *dims);
    if (n) memcpy(dims + n, k->stride, n * sizeof *dims);
    *out =
        (Layout){.dtype = k->dtype, .ndim = k->ndim, .shape = dims, .stride = dims + n};
    Tensor t = {.dtype = k->dtype, .ndim = k->ndim};
    if (n) memcpy(t.shape, k->shape, n * sizeof *dims);
    if (n) memcpy(t.stride, k->stride, n * sizeof *dims);
    out->contiguous = tensor_is_contiguous(&t);
    out->bytes = layout_bytes(k);
    out->size = out->bytes == SIZE_MAX ? INT64_MAX
                                       : (int64_t)(out->bytes / dtype_size(t.dtype));
    return out;
}

const Layout *layout_get(Layouts *l, DType d, int ndim, const int64_t *shape,
                         const int64_t *stride) {
    int64_t own[MAX_NDIM];
    if (!stride) contiguous_strides(d, ndim, shape, own);
    Key k = {l, d, ndim, shape, stride ? stride : own};
    uint64_t h = hash_mix((uint64_t)d, (uint64_t)ndim);
    for (int i = 0; i < ndim; i++)
        h = hash_mix(hash_mix(h, (uint64_t)k.shape[i]), (uint64_t)k.stride[i]);
    uint32_t id = index_find(&l->index, h, same_layout, &k);
    if (id != NONE) return l->all.p[id];
    index_add(&l->index, h, (uint32_t)l->all.n);
    Layout *out = layout_add(l, &k);
    vec_push(l->s, &l->all, out);
    return out;
}

bool layout_is(const Layout *l, const Tensor *t) {
    return l && l->dtype == t->dtype && l->ndim == t->ndim &&
           same_dims(t->ndim, l->shape, t->shape) &&
           same_dims(t->ndim, l->stride, t->stride);
}

void layout_shape_text(const Layout *l, Str *out) {
    shape_text(out->s, l->ndim, l->shape, out);
}
