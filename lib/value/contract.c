/* The Type contract on values of every kind: filter, equality, sharing, size. Lists
 * nest as deep as their type, so these may recurse. */
#include "value/object.h"
#include "value/value_impl.h"

#include <math.h>
#include <string.h>

static const char *kind_name(TypeKind k) {
    static const char *const names[] = {
        "a tensor", "a sparse matrix", "a random state",
        "a list",   "a slice",         "no value",
        "null",     "nothing",         "a plugin's value"};
    return names[k];
}

static bool wrong_kind(Session *s, const Type *t, const Value *v, const char *what,
                       Span at) {
    return fail(s, at, E_TYPE, "%s: expected %s, got %s", what, type_str(s, t),
                kind_name(v->kind));
}

static bool filter_random(Session *s, const Type *t, const Value *v, Filter how,
                          const char *what, Span at, Value *out) {
    const int64_t words = 4;
    if (v->kind != TYPE_RANDOM && (how.strict || v->kind != TYPE_TENSOR))
        return wrong_kind(s, t, v, what, at);
    const Type *state = type_tensor(s, DT_UINT64, 1, &words);
    out->kind = TYPE_RANDOM;
    return tensor_filter(s, state, &v->t, (Filter){true, 0}, what, at, &out->t);
}

static bool filter_list(Session *s, const Type *t, const Value *v, Filter how,
                        const char *what, Span at, Value *out) {
    if (v->kind != TYPE_LIST) return wrong_kind(s, t, v, what, at);
    const ListObject *list = v->obj;
    Value *item = mem_zalloc(s, list->n, sizeof *item);
    size_t n = 0;
    while (n < list->n &&
           value_filter(s, t->elem, &list->item[n], how, what, at, &item[n]))
        n++;
    bool ok = n == list->n;
    if (ok) *out = (Value){.kind = TYPE_LIST, .obj = list_new_take(s, n, item)};
    for (size_t i = 0; !ok && i < n; i++)
        value_unref(&item[i]);
    mem_free(item);
    return ok || note(s, at, "in item %zu of the list", n);
}

static bool filter_sparse(Session *s, const Type *t, const Value *v, const char *what,
                          Span at, Value *out) {
    if (v->kind != TYPE_SPARSE) return wrong_kind(s, t, v, what, at);
    const SparseObject *m = v->obj;
    const char *format = m->csc ? "csc" : "csr";
    bool fits = m->data.dtype == t->dtype && strcmp(format, t->why) == 0;
    for (int i = 0; i < 2; i++)
        fits = fits && (!dim_is_known(t->dim[i]) || t->dim[i] == m->shape[i]);
    if (!fits)
        return fail(s, at, E_TYPE, "%s: expected %s, got sparse('%s', %s[%lld, %lld])",
                    what, type_str(s, t), format, dtype_name(m->data.dtype),
                    (long long)m->shape[0], (long long)m->shape[1]);
    value_copy_view(out, v);
    return true;
}

bool value_filter(Session *s, const Type *t, const Value *v, Filter how,
                  const char *what, Span at, Value *out) {
    switch (t->kind) {
    case TYPE_TENSOR:
        if (v->kind != TYPE_TENSOR) return wrong_kind(s, t, v, what, at);
        out->kind = TYPE_TENSOR;
        out->obj = NULL;
        return tensor_filter(s, t, &v->t, how, what, at, &out->t);
    case TYPE_RANDOM:
        return filter_random(s, t, v, how, what, at, out);
    case TYPE_LIST:
        return filter_list(s, t, v, how, what, at, out);
    case TYPE_SPARSE:
        return filter_sparse(s, t, v, what, at, out);
    case TYPE_SLICE:
    case TYPE_NONE:
    case TYPE_PLUGIN:
        if (v->kind != t->kind) return wrong_kind(s, t, v, what, at);
        value_copy_view(out, v);
        return true;
    case TYPE_NULL:
        return fail(s, at, E_NULL, "%s is undefined and can't hold a value: %s", what,
                    t->why);
    case TYPE_DISCONNECTED:
        return wrong_kind(s, t, v, what, at);
    }
    bug("a type of kind %d", (int)t->kind);
}

/* ---- equality ---- */

static bool equal_slices(const SliceObject *a, const SliceObject *b) {
    for (int i = 0; i < 3; i++)
        if (a->has[i] != b->has[i] || a->part[i] != b->part[i]) return false;
    return true;
}

static bool same_matrix_type(const SparseObject *a, const SparseObject *b) {
    return a->csc == b->csc && a->shape[0] == b->shape[0] &&
           a->shape[1] == b->shape[1] && a->data.dtype == b->data.dtype;
}

static bool equal_sparse(const SparseObject *a, const SparseObject *b) {
    return same_matrix_type(a, b) && tensor_equal(&a->data, &b->data) &&
           tensor_equal(&a->indices, &b->indices) &&
           tensor_equal(&a->indptr, &b->indptr);
}

bool value_equal(const Value *a, const Value *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == TYPE_TENSOR || a->kind == TYPE_RANDOM)
        return tensor_equal(&a->t, &b->t);
    if (a->obj == b->obj) return true;
    if (!a->obj || !b->obj) return false;
    if (a->kind == TYPE_SLICE) return equal_slices(a->obj, b->obj);
    if (a->kind == TYPE_SPARSE) return equal_sparse(a->obj, b->obj);
    if (a->kind != TYPE_LIST) return false;
    const ListObject *x = a->obj, *y = b->obj;
    bool ok = x->n == y->n;
    for (size_t i = 0; ok && i < x->n; i++)
        ok = value_equal(&x->item[i], &y->item[i]);
    return ok;
}

/* Adds sign * (row or column number i) to a dense line of complex numbers. */
static void add_line(const SparseObject *m, int64_t i, double sign, double (*line)[2]) {
    int64_t end = tensor_i64(&m->indptr, i + 1);
    size_t size = dtype_size(m->data.dtype);
    for (int64_t k = tensor_i64(&m->indptr, i); k < end; k++) {
        double z[2];
        char element[16];
        int64_t j = tensor_i64(&m->indices, k);
        tensor_gather(&m->data, k, 1, element);
        element_cast(DT_COMPLEX128, z, m->data.dtype, element, 1, 16, (ptrdiff_t)size);
        line[j][0] += sign * z[0];
        line[j][1] += sign * z[1];
    }
}

/* Patterns may differ: a zero that is stored equals one that is not. */
static bool approx_sparse(Session *s, const SparseObject *a, const SparseObject *b) {
    if (!same_matrix_type(a, b)) return false;
    int64_t lines = a->shape[a->csc], width = a->shape[!a->csc];
    double(*line)[2] = mem_zalloc(s, (size_t)width, sizeof *line);
    bool ok = true;
    for (int64_t i = 0; i < lines && ok; i++) {
        if (width) memset(line, 0, (size_t)width * sizeof *line);
        add_line(a, i, 1, line);
        add_line(b, i, -1, line);
        for (int64_t j = 0; j < width && ok; j++)
            ok = hypot(line[j][0], line[j][1]) < 1e-6;
    }
    mem_free(line);
    return ok;
}

bool value_approx(Session *s, const Value *a, const Value *b, Approx how) {
    if (a->kind != b->kind) return false;
    if (a->kind == TYPE_TENSOR) return tensor_approx(&a->t, &b->t, how, NULL);
    if (a->kind == TYPE_SPARSE) return approx_sparse(s, a->obj, b->obj);
    if (a->kind != TYPE_LIST) return value_equal(a, b);
    const ListObject *x = a->obj, *y = b->obj;
    bool ok = x->n == y->n;
    for (size_t i = 0; ok && i < x->n; i++)
        ok = value_approx(s, &x->item[i], &y->item[i], how);
    return ok;
}

/* ---- memory ---- */

/* The tensors that a value holds itself, not through items. */
static int held(const Value *v, const Tensor *out[3]) {
    if (v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM) return out[0] = &v->t, 1;
    if (v->kind != TYPE_SPARSE) return 0;
    const SparseObject *m = v->obj;
    out[0] = &m->data;
    out[1] = &m->indices;
    out[2] = &m->indptr;
    return 3;
}

bool value_may_share_memory(const Value *a, const Value *b) {
    if (b->kind == TYPE_LIST) {
        const Value *t = a;
        a = b;
        b = t;
    }
    if (a->kind == TYPE_LIST) { /* any pair */
        const ListObject *list = a->obj;
        for (size_t i = 0; i < list->n; i++)
            if (value_may_share_memory(b, &list->item[i])) return true;
        return false;
    }
    const Tensor *x[3], *y[3];
    int nx = held(a, x), ny = held(b, y);
    if (nx == 0 && a->kind == b->kind) return a->obj && a->obj == b->obj;
    for (int i = 0; i < nx; i++)
        for (int k = 0; k < ny; k++)
            if (tensor_may_share_memory(x[i], y[k])) return true;
    return false;
}

size_t value_bytes(const Value *v) {
    const Tensor *t[3];
    size_t sum = 0;
    for (int i = 0, n = held(v, t); i < n; i++)
        sum += tensor_bytes(t[i]);
    const ListObject *list = v->kind == TYPE_LIST ? v->obj : NULL;
    for (size_t i = 0; list && i < list->n; i++)
        sum += value_bytes(&list->item[i]);
    return sum;
}
