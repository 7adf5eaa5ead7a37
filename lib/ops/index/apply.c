/* Applies an index to a tensor at run time: slices and integers become a view; arrays
 * and masks become one list of byte offsets, checked and wrapped, so that gathering and
 * scattering are plain loops over it. The list exists as a whole only where it is used
 * several times or comes from masks; else it is made part by part, which stays in the
 * nearest cache. */
#include "ops/index/index.h"
#include "ops/index/loops.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <string.h>

/* An index array, for one axis of x. */
typedef struct IndexArray {
    Tensor t; /* the integers; for one dim of a mask, the positions of its true
               * elements, int64 [count] */
    size_t arg;
    bool mask;
    int64_t size, stride; /* of x's axis */
    int axis;
} IndexArray;

/* Lists filled from the front; too large to clear. */
typedef struct IndexLists {
    IndexItems items;
    int64_t shape[ITEMS_MAX], stride[ITEMS_MAX];
    int64_t mask_count[MAX_NDIM];
    IndexArray array[MAX_NDIM];
} IndexLists;

typedef struct IndexState {
    Call *c;
    const Tensor *x;
    size_t first;
    const IndexItems *items;
    bool arrays;
    int axis, nbase, narray;
    int64_t *shape, *stride;
    char *data;
    int front;
    bool any, open, apart;
    IndexArray *array;
    int64_t *mask_count; /* number of true elements, by mask in input order */
    int nmask;
    bool late;          /* see Indexed */
    bool none;          /* a 0-d mask is false */
    int64_t *positions; /* scratch for the masks' positions */
} IndexState;

static bool tensor_is_mask(const Tensor *t) {
    return t->dtype == DT_BOOL;
}

static const Tensor *index_input(const IndexState *s, int input) {
    return call_in(s->c, s->first + (size_t)input);
}

static bool out_of_range(Call *c, int64_t v, int axis, int64_t size) {
    return call_fail(
        c, E_INDEX, "index %lld%s is out of range for axis %d of size %lld",
        (long long)v, v == INT64_MAX ? " or more" : "", axis, (long long)size);
}

/* n indices, each as tensor_index has it: in place if they are int64, else in `block`.
 */
static const int64_t *read_indices(DType d, const char *p, ptrdiff_t step, int64_t n,
                                   int64_t *block) {
    if (d == DT_INT64 && step == 8) return (const int64_t *)(const void *)p;
    tensor_cast_elements(DT_INT64, block, d, p, (size_t)n, 8, step);
    for (int64_t k = 0; d == DT_UINT64 && k < n; k++)
        if (block[k] < 0) block[k] = INT64_MAX;
    return block;
}

static int64_t part_or(const IndexState *s, int input, int64_t otherwise) {
    return input < 0 ? otherwise : tensor_index(index_input(s, input), 0);
}

static bool apply_slice(IndexState *s, const IndexItem *it) {
    int64_t size = s->x->shape[s->axis], stride = s->x->stride[s->axis],
            step = part_or(s, it->step, 1);
    if (step == 0) return call_fail(s->c, E_INDEX, "the step of a slice can't be 0");
    Slice sl = slice_of(size, it->start >= 0, part_or(s, it->start, 0), it->stop >= 0,
                        part_or(s, it->stop, 0), step);
    if (sl.length) s->data += sl.start * stride;
    s->shape[s->nbase] = sl.length;
    s->stride[s->nbase++] = sl.step * stride;
    s->axis++;
    s->open = false;
    return true;
}

static void note_index_array(IndexState *s) {
    if (!s->any)
        s->front = s->nbase;
    else if (!s->open)
        s->apart = true;
    s->any = s->open = true;
}

static void add_array(IndexState *s, const Tensor *t, size_t arg, bool mask) {
    s->array[s->narray++] = (IndexArray){.t = *t,
                                         .arg = arg,
                                         .mask = mask,
                                         .size = s->x->shape[s->axis],
                                         .stride = s->x->stride[s->axis],
                                         .axis = s->axis};
    s->axis++;
}

enum { BLOCK = 256 };

/* The positions of the true ones among up to BLOCK elements of a row, from `first` on.
 */
static int64_t mask_positions(const IndexLoops *l, const Tensor *m, const char *row,
                              int64_t first, int64_t *to, int64_t room) {
    int64_t step = m->stride[m->ndim - 1], n = m->shape[m->ndim - 1] - first;
    uint8_t flag[BLOCK];
    const char *p = row + first * step;
    if (n > BLOCK) n = BLOCK;
    if (step == 1) return l->positions((const uint8_t *)p, n, first, to, room);
    for (int64_t i = 0; i < n; i++)
        flag[i] = (uint8_t)p[i * step];
    return l->positions(flag, n, first, to, room);
}

/* Appends the positions of a mask's true elements to s->positions, one int64 vector per
 * dim. */
static bool apply_mask(IndexState *s, const Tensor *m) {
    for (int k = 0; k < m->ndim; k++)
        if (m->shape[k] != s->x->shape[s->axis + k])
            return call_fail(
                s->c, E_INDEX,
                "dim %d of the mask has size %lld, but axis %d has size %lld", k,
                (long long)m->shape[k], s->axis + k,
                (long long)s->x->shape[s->axis + k]);
    note_index_array(s);
    int64_t count = s->mask_count[s->nmask++], at[MAX_NDIM] = {0}, found = 0;
    if (m->ndim == 0) {
        s->none |= count == 0;
        return true;
    }
    const char *p = m->data;
    int last = m->ndim - 1;
    const IndexLoops *l = index_loops(s->c->s);
    while (found < count) {
        int64_t before = found, *to = s->positions + last * count;
        for (int64_t i = 0; i < m->shape[last] && found < count; i += BLOCK)
            found += mask_positions(l, m, p, i, to + found, count - found);
        for (int k = 0; k < last; k++)
            for (int64_t i = before; i < found; i++)
                s->positions[k * count + i] = at[k];
        for (int k = last - 1; k >= 0; k--) {
            p += m->stride[k];
            if (++at[k] < m->shape[k]) break;
            p -= at[k] * m->stride[k];
            at[k] = 0;
        }
    }
    for (int k = 0; k < m->ndim; k++) {
        Tensor t = {.dtype = DT_INT64,
                    .ndim = 1,
                    .data = s->positions,
                    .shape = {count},
                    .stride = {8}};
        add_array(s, &t, 0, true);
        s->positions += count;
    }
    return true;
}

static bool apply_input(IndexState *s, const IndexItem *it) {
    const Tensor *t = index_input(s, it->input);
    size_t arg = s->first + (size_t)it->input;
    if (tensor_is_mask(t)) return apply_mask(s, t);
    if (s->arrays) {
        note_index_array(s);
        add_array(s, t, arg, false);
        return true;
    }
    int64_t v = tensor_index(t, 0), size = s->x->shape[s->axis];
    if (v < -size || v >= size) return out_of_range(s->c, v, s->axis, size);
    s->data += (v < 0 ? v + size : v) * s->x->stride[s->axis++];
    return true;
}

static void keep_axis(IndexState *s) {
    s->shape[s->nbase] = s->x->shape[s->axis];
    s->stride[s->nbase++] = s->x->stride[s->axis++];
}

static bool apply_items(IndexState *s, int spare) {
    for (int i = 0; i < s->items->n; i++) {
        const IndexItem *it = &s->items->item[i];
        switch (it->kind) {
        case IX_NEW:
            s->shape[s->nbase] = 1;
            s->stride[s->nbase++] = 0;
            s->open = false;
            break;
        case IX_ELLIPSIS:
            for (int k = 0; k < spare; k++)
                keep_axis(s);
            s->open = false;
            break;
        case IX_SLICE:
            if (!apply_slice(s, it)) return false;
            break;
        case IX_INPUT:
            if (!apply_input(s, it)) return false;
            break;
        }
    }
    while (s->axis < s->x->ndim)
        keep_axis(s);
    return true;
}

/* ---- the arrays' common shape ---- */
static bool array_broadcasts(const IndexState *s, const IndexArray *a, int k) {
    return !a->mask && call_is_one(s->c, a->arg, k);
}

/* A dim that is 1 by the array's type broadcasts; all others must agree. */
static bool common_shape(IndexState *s, Indexed *ix) {
    bool set[MAX_NDIM] = {false};
    ix->adv_ndim = s->nmask ? 1 : 0;
    for (int i = 0; i < s->narray; i++)
        if (s->array[i].t.ndim > ix->adv_ndim) ix->adv_ndim = s->array[i].t.ndim;
    for (int k = 0; k < ix->adv_ndim; k++)
        ix->adv_shape[k] = 1;
    for (int i = 0; i < s->narray; i++) {
        const Tensor *t = &s->array[i].t;
        for (int k = 0; k < t->ndim; k++) {
            int at = ix->adv_ndim - t->ndim + k;
            if (array_broadcasts(s, &s->array[i], k)) continue;
            if (set[at] && ix->adv_shape[at] != t->shape[k])
                return call_fail(s->c, E_RUN_SHAPE,
                                 "index arrays have different sizes: %lld and %lld",
                                 (long long)ix->adv_shape[at], (long long)t->shape[k]);
            set[at] = true;
            ix->adv_shape[at] = t->shape[k];
        }
    }
    if (s->none && !set[ix->adv_ndim - 1]) ix->adv_shape[ix->adv_ndim - 1] = 0;
    ix->adv_count = 1;
    for (int k = 0; k < ix->adv_ndim; k++)
        if (!i64_mul(ix->adv_count, ix->adv_shape[k], &ix->adv_count))
            return call_fail(s->c, E_LIMIT,
                             "the index arrays have too many elements together");
    return true;
}

static void add_to_offsets(int64_t n, int64_t *restrict offset,
                           const int64_t *restrict more) {
    for (int64_t k = 0; k < n; k++)
        offset[k] = (int64_t)((uint64_t)offset[k] + (uint64_t)more[k]);
}

static bool add_wrapped_offsets(WrapFn *wrap, const int64_t *v, int64_t n,
                                const IndexArray *a, int64_t *offset) {
    int64_t block[BLOCK];
    bool ok = wrap(v, n, a->size, a->stride, 0, block);
    add_to_offsets(n, offset, block);
    return ok;
}

/* Adds one array's share to every offset. The index is read in runs of the innermost
 * dim; offset comes first in the iteration, so that it is filled in order. */
static bool add_offsets(IndexState *s, const IndexArray *a, const Indexed *ix,
                        bool first, int64_t *offset) {
    Tensor want = {.dtype = a->t.dtype, .ndim = ix->adv_ndim, .data = a->t.data};
    int lead = ix->adv_ndim - a->t.ndim;
    for (int k = 0; k < ix->adv_ndim; k++) {
        want.shape[k] = ix->adv_shape[k];
        want.stride[k] =
            k < lead || a->t.shape[k - lead] == 1 ? 0 : a->t.stride[k - lead];
    }
    Tensor to = {.dtype = DT_INT64, .ndim = ix->adv_ndim, .data = offset};
    memcpy(to.shape, want.shape, (size_t)to.ndim * sizeof *to.shape);
    move_strides(8, to.ndim, to.shape, to.stride);
    Iter it;
    const Tensor *op[2] = {&to, &want};
    WrapFn *wrap = index_loops(s->c->s)->wrap;
    int64_t block[BLOCK];
    for (iter_init(&it, ix->adv_ndim, ix->adv_shape, 2, op); !it.done; iter_next(&it)) {
        if (it.step[1] == 0) { /* one index for the whole run */
            const int64_t *v = read_indices(a->t.dtype, it.ptr[1], 0, 1, block);
            int64_t *to_offset = (int64_t *)(void *)it.ptr[0], one;
            if (!wrap(v, 1, a->size, a->stride, 0, &one))
                return out_of_range(s->c, *v, a->axis, a->size);
            for (int64_t i = 0; i < it.inner; i++)
                to_offset[i] =
                    first ? one : (int64_t)((uint64_t)to_offset[i] + (uint64_t)one);
            continue;
        }
        for (int64_t i = 0; i < it.inner; i += BLOCK) {
            int64_t n = it.inner - i < BLOCK ? it.inner - i : BLOCK;
            const int64_t *v = read_indices(a->t.dtype, it.ptr[1] + i * it.step[1],
                                            it.step[1], n, block);
            int64_t *to_offset = (int64_t *)(void *)it.ptr[0] + i;
            bool ok = first ? wrap(v, n, a->size, a->stride, 0, to_offset)
                            : add_wrapped_offsets(wrap, v, n, a, to_offset);
            for (int64_t k = 0; !ok && k < n; k++)
                if (v[k] < -a->size || v[k] >= a->size)
                    return out_of_range(s->c, v[k], a->axis, a->size);
        }
    }
    return true;
}

/* ---- arrays that are read late ---- */
static const char *late_position(const Indexed *ix, const LateArray *a,
                                 const int64_t *at) {
    const char *p = a->data;
    for (int k = 0; k < ix->late_ndim; k++)
        p += at[k] * a->step[k];
    return p;
}

/* The share in every offset of a run of the arrays that are broadcast along it. */
static inline bool late_base(const Indexed *ix, const int64_t *at, int64_t *base) {
    bool ok = true;
    int64_t block[1], one;
    *base = 0;
    for (int i = 0; i < ix->narray; i++) {
        const LateArray *a = &ix->array[i];
        if (a->step[ix->late_ndim - 1]) continue;
        const int64_t *v =
            read_indices(a->dtype, late_position(ix, a, at), 8, 1, block);
        ok &= ix->wrap(v, 1, a->size, a->stride, *base, &one);
        *base = one;
    }
    return ok;
}

/* n offsets of a run along the last late dim, from position at[] on. */
static bool late_run(const Indexed *ix, const int64_t *at, int64_t n, int64_t *offset) {
    int64_t block[BLOCK], more[BLOCK], base;
    bool ok = late_base(ix, at, &base), any = false;
    for (int i = 0; i < ix->narray; i++) {
        const LateArray *a = &ix->array[i];
        int64_t step = a->step[ix->late_ndim - 1];
        const char *p = late_position(ix, a, at);
        if (!step) continue;
        for (int64_t k = 0, m; k < n; k += m) {
            m = n - k < BLOCK ? n - k : BLOCK;
            const int64_t *v = read_indices(a->dtype, p + k * step, step, m, block);
            ok &= ix->wrap(v, m, a->size, a->stride, any ? 0 : base,
                           any ? more : offset + k);
            if (any) add_to_offsets(m, offset + k, more);
        }
        any = true;
    }
    for (int64_t k = 0; !any && k < n; k++)
        offset[k] = base;
    return ok;
}

static void find_late(const Indexed *ix, int64_t i, int64_t *at) {
    for (int k = ix->late_ndim - 1; k >= 0; k--) {
        at[k] = i % ix->late_shape[k];
        i /= ix->late_shape[k];
    }
}

bool index_offsets(const Indexed *ix, int64_t first, int64_t n, int64_t *offset) {
    int64_t at[MAX_NDIM];
    int last = ix->late_ndim - 1;
    bool ok = true;
    find_late(ix, first, at);
    for (int64_t m; n > 0; n -= m, offset += m) {
        m = ix->late_shape[last] - at[last];
        if (m > n) m = n;
        ok &= late_run(ix, at, m, offset);
        at[last] += m;
        for (int k = last; k > 0 && at[k] == ix->late_shape[k]; k--) {
            at[k] = 0;
            at[k - 1]++;
        }
    }
    return ok;
}

/* The only array that runs along the last late dim; NULL: there are several, or none.
 */
static const LateArray *array_along(const Indexed *ix) {
    const LateArray *along = NULL;
    for (int i = 0; i < ix->narray; i++) {
        if (!ix->array[i].step[ix->late_ndim - 1]) continue;
        if (along) return NULL;
        along = &ix->array[i];
    }
    return along;
}

/* Of a run: see index_direct. */
static int64_t direct_run(const Indexed *ix, const LateArray *along, int64_t first,
                          int64_t n, const int64_t **v, int64_t *base) {
    int64_t at[MAX_NDIM] = {0}, left;
    int last = ix->late_ndim - 1;
    find_late(ix, first, at);
    left = ix->late_shape[last] - at[last];
    if (n > left) n = left;
    *v = (const int64_t *)(const void *)late_position(ix, along, at);
    return ix->within(*v, n, along->size) && late_base(ix, at, base) ? n : 0;
}

int64_t index_direct(const Indexed *ix, int64_t first, int64_t n, int64_t unit,
                     const int64_t **v, int64_t *base) {
    enum { LEAST = 128 }; /* of a run, for which all this pays */
    int last = ix->late_ndim - 1;
    if (ix->late_shape[last] < LEAST) return 0;
    const LateArray *along = array_along(ix);
    if (!along || along->dtype != DT_INT64 || along->step[last] != 8 ||
        along->stride != unit)
        return 0;
    return direct_run(ix, along, first, n, v, base);
}

int64_t index_mesh(const Indexed *ix) {
    const LateArray *along = ix->late ? array_along(ix) : NULL;
    if (!along) return 0;
    for (int k = 0; k < ix->late_ndim - 1; k++)
        if (along->step[k]) return 0;
    return ix->late_shape[ix->late_ndim - 1];
}

bool index_mesh_offsets(const Indexed *ix, int64_t *offset) {
    const LateArray *a = array_along(ix);
    int64_t block[BLOCK], n = index_mesh(ix);
    bool ok = true;
    for (int64_t k = 0, m; a && k < n; k += m) {
        int64_t step = a->step[ix->late_ndim - 1];
        m = n - k < BLOCK ? n - k : BLOCK;
        const int64_t *v = read_indices(a->dtype, a->data + k * step, step, m, block);
        ok &= ix->wrap(v, m, a->size, a->stride, 0, offset + k);
    }
    return ok;
}

bool index_mesh_base(const Indexed *ix, int64_t first, int64_t *base) {
    int64_t at[MAX_NDIM];
    find_late(ix, first, at);
    return late_base(ix, at, base);
}

bool index_refuse(Call *c, const Indexed *ix) {
    int64_t block[1], at[MAX_NDIM];
    for (int k = 0; k < ix->narray; k++) {
        const LateArray *a = &ix->array[k];
        for (int64_t i = 0; i < ix->adv_count; i++) {
            find_late(ix, i, at);
            int64_t v = *read_indices(a->dtype, late_position(ix, a, at), 8, 1, block);
            if (v < -a->size || v >= a->size)
                return out_of_range(c, v, a->axis, a->size);
        }
    }
    bug("an index that is in range was refused");
}

bool index_check_late(Call *c, const Indexed *ix) {
    enum { PART = 512 };
    int64_t part[PART];
    for (int64_t i = 0; ix->late && i < ix->adv_count; i += PART)
        if (!index_offsets(ix, i, ix->adv_count - i < PART ? ix->adv_count - i : PART,
                           part))
            return index_refuse(c, ix);
    return true;
}

/* Can late dim `outer` extend the dim after it, for every array? */
static bool merges_late(const Indexed *ix, const LateArray *array, int outer) {
    for (int i = 0; i < ix->narray; i++)
        if (array[i].step[outer] !=
            array[i].step[outer + 1] * ix->late_shape[outer + 1])
            return false;
    return true;
}

static void merge_late_dims(Indexed *ix, LateArray *array) {
    for (int k = ix->late_ndim - 2; k >= 0; k--) {
        if (!merges_late(ix, array, k)) continue;
        ix->late_shape[k] *= ix->late_shape[k + 1];
        for (int i = 0; i < ix->narray; i++)
            array[i].step[k] = array[i].step[k + 1];
        ix->late_ndim--;
        for (int d = k + 1; d < ix->late_ndim; d++) {
            ix->late_shape[d] = ix->late_shape[d + 1];
            for (int i = 0; i < ix->narray; i++)
                array[i].step[d] = array[i].step[d + 1];
        }
    }
}

static void leave_late(const IndexState *s, Indexed *ix, LateArray *array) {
    ix->late = true;
    ix->wrap = index_loops(s->c->s)->wrap;
    ix->within = index_loops(s->c->s)->within;
    ix->narray = s->narray;
    ix->array = array;
    for (int k = 0; k < ix->adv_ndim; k++) {
        if (ix->adv_shape[k] == 1) continue;
        ix->late_shape[ix->late_ndim] = ix->adv_shape[k];
        for (int i = 0; i < s->narray; i++) {
            const Tensor *t = &s->array[i].t;
            int own = k - (ix->adv_ndim - t->ndim);
            array[i].step[ix->late_ndim] =
                own < 0 || t->shape[own] == 1 ? 0 : t->stride[own];
        }
        ix->late_ndim++;
    }
    for (int i = 0; i < s->narray; i++) {
        const IndexArray *a = &s->array[i];
        array[i].data = a->t.data;
        array[i].dtype = a->t.dtype;
        array[i].axis = a->axis;
        array[i].size = a->size;
        array[i].stride = a->stride;
        if (!ix->late_ndim) array[i].step[0] = 0;
    }
    if (!ix->late_ndim) ix->late_shape[ix->late_ndim++] = 1;
    merge_late_dims(ix, array);
}

static bool make_offsets(IndexState *s, Indexed *ix, int64_t *offset) {
    if (s->narray == 0) memset(offset, 0, (size_t)ix->adv_count * 8);
    for (int i = 0; i < s->narray && ix->adv_count; i++)
        if (!add_offsets(s, &s->array[i], ix, i == 0, offset)) return false;
    ix->offset = offset;
    return true;
}

/* ---- sizes, computed first so that scratch is allocated once ---- */
static int64_t mask_true(Session *s, const Tensor *m) {
    int64_t n = 0;
    if (tensor_is_contiguous(m)) return index_loops(s)->count(m->data, tensor_size(m));
    Iter it;
    const Tensor *op[1] = {m};
    for (iter_init(&it, m->ndim, m->shape, 1, op); !it.done; iter_next(&it))
        for (int64_t i = 0; i < it.inner; i++)
            n += it.ptr[0][i * it.step[0]] != 0;
    return n;
}

typedef struct IndexSizes {
    int used;
    bool ellipsis;
    int64_t positions;
    int arrays; /* or integers; without masks */
    bool masks;
    bool behind; /* a dim of x that isn't indexed, or a new one, is before them all */
} IndexSizes;

static IndexSizes measure_index(IndexState *s) {
    IndexSizes z = {0};
    int masks = 0;
    for (int i = 0; i < s->items->n; i++) {
        const IndexItem *it = &s->items->item[i];
        z.ellipsis |= it->kind == IX_ELLIPSIS;
        z.used += it->kind == IX_SLICE;
        z.behind |= it->kind != IX_INPUT && !z.arrays && !z.masks;
        if (it->kind != IX_INPUT) continue;
        const Tensor *t = index_input(s, it->input);
        z.used += tensor_is_mask(t) ? t->ndim : 1;
        s->arrays |= tensor_is_mask(t) || t->ndim > 0;
        z.arrays += !tensor_is_mask(t);
        z.masks |= tensor_is_mask(t);
        if (!tensor_is_mask(t) || masks == MAX_NDIM) continue;
        s->mask_count[masks] = mask_true(s->c->s, t);
        z.positions += s->mask_count[masks++] * t->ndim;
    }
    return z;
}

/* An upper bound of the arrays' common count: the product over dims of the largest
 * size. */
static int64_t count_bound(const IndexState *s) {
    int64_t dim[MAX_NDIM], n = 1;
    int masks = 0;
    for (int k = 0; k < MAX_NDIM; k++)
        dim[k] = 1;
    for (int i = 0; i < s->items->n; i++) {
        if (s->items->item[i].kind != IX_INPUT) continue;
        const Tensor *t = index_input(s, s->items->item[i].input);
        if (tensor_is_mask(t)) {
            int64_t count = masks < MAX_NDIM ? s->mask_count[masks++] : 0;
            if (count > dim[0]) dim[0] = count;
            continue;
        }
        for (int k = 0; k < t->ndim; k++)
            if (t->shape[t->ndim - 1 - k] > dim[k]) dim[k] = t->shape[t->ndim - 1 - k];
    }
    for (int k = 0; k < MAX_NDIM; k++)
        if (!i64_mul(n, dim[k], &n)) return INT64_MAX / 64;
    return n;
}

/* The whole list of offsets is better if it is small and used at several positions of
 * dims before the arrays'. */
static bool may_leave_late(const IndexState *s, const IndexSizes *z) {
    enum { FEW = 1 << 15 };
    return s->arrays && !z->masks && (!z->behind || count_bound(s) > FEW);
}

/* Only what is used: all dims are hundreds of bytes, and a view costs little else. */
static void start_indexed(Indexed *ix, const IndexState *s) {
    Tensor *base = &ix->base;
    base->dtype = s->x->dtype;
    base->ndim = s->nbase;
    base->data = s->data;
    base->buf = s->x->buf;
    for (int k = 0; k < s->nbase && k < MAX_NDIM; k++) {
        base->shape[k] = s->shape[k];
        base->stride[k] = s->stride[k];
    }
    ix->advanced = s->any;
    ix->front = s->apart ? 0 : s->front;
    ix->adv_ndim = 0;
    ix->adv_count = 1;
    ix->offset = NULL;
    ix->late = false;
    ix->narray = ix->late_ndim = 0;
}

bool index_apply(Call *c, const Tensor *x, size_t first, Indexed *ix, bool may_be_late,
                 size_t extra, void **mem) {
    IndexLists list;
    IndexState s = {.c = c,
                    .x = x,
                    .first = first,
                    .items = &list.items,
                    .shape = list.shape,
                    .stride = list.stride,
                    .data = x->data,
                    .array = list.array,
                    .mask_count = list.mask_count};
    if (!index_parse(sym_text(c->s, op_prop(c->s, c->op, c->props, "index")->sym),
                     &list.items))
        bug("an index that is none was typed");
    IndexSizes z = measure_index(&s);
    s.late = may_be_late && may_leave_late(&s, &z);
    size_t offsets = s.arrays && !s.late ? (size_t)count_bound(&s) : 0, bytes = 0;
    if (s.late) offsets = (size_t)z.arrays * (sizeof(LateArray) / 8);
    extra = (extra + 63) / 64 * 64;
    if (!size_add(offsets, (size_t)z.positions, &bytes) ||
        !size_mul(bytes, 8, &bytes) || !size_add(bytes, extra, &bytes))
        return call_fail(c, E_LIMIT,
                         "the index arrays have too many elements together");
    char *scratch = call_scratch(c, bytes);
    if (!scratch) return false;
    if (mem) *mem = scratch;
    int64_t *offset = (int64_t *)(void *)(scratch + extra);
    s.positions = offset + offsets;
    if (!apply_items(&s, z.ellipsis ? x->ndim - z.used : 0)) return false;
    start_indexed(ix, &s);
    if (!s.any) return true;
    if (!common_shape(&s, ix)) return false;
    if (!s.late) return make_offsets(&s, ix, offset);
    leave_late(&s, ix, (LateArray *)(void *)offset);
    return true;
}

int index_result(const Indexed *ix, int64_t shape[MAX_NDIM]) {
    int n = 0;
    for (int k = 0; k < ix->front; k++)
        shape[n++] = ix->base.shape[k];
    for (int k = 0; k < ix->adv_ndim; k++)
        shape[n++] = ix->adv_shape[k];
    for (int k = ix->front; k < ix->base.ndim; k++)
        shape[n++] = ix->base.shape[k];
    return n;
}
