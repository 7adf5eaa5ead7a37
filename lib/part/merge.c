/* The whole, from what the parts give. */
#include "op/services.h"
#include "part/part_impl.h"

#include <string.h>

typedef struct PartMerge {
    Session *s;
    const Part *how;
    size_t n;
    const Tensor *t;
    const int64_t *rows;
    DType dtype; /* of the computation */
    const char *op;
} PartMerge;

static bool join_rows(const PartMerge *m, Tensor *out) {
    int axis = m->how->axis;
    int64_t shape[MAX_NDIM], at = 0;
    memcpy(shape, m->t[0].shape, sizeof shape);
    for (size_t i = 1; i < m->n; i++)
        if (__builtin_add_overflow(shape[axis], m->t[i].shape[axis], &shape[axis]))
            return fail(m->s, NOWHERE, E_LIMIT, "too many rows");
    if (!tensor_new(m->s, m->t[0].dtype, m->t[0].ndim, shape, out)) return false;
    for (size_t i = 0; i < m->n; i++) {
        Tensor part = *out;
        part.shape[axis] = m->t[i].shape[axis];
        if (!tensor_size(&part)) continue;
        part.data = (char *)part.data + at * part.stride[axis];
        tensor_assign(&part, &m->t[i]);
        at += part.shape[axis];
    }
    return true;
}

/* op(a, b), both of one dtype. */
static bool combine_two(Session *s, const char *op, const Tensor *a, const Tensor *b,
                        Tensor *out) {
    Graph *g = graph_new(s);
    Builder build = builder(g, false);
    Var r = op_call2(&build, op, graph_const(g, a, false), graph_const(g, b, false));
    Value v = {0};
    bool ok = r != VAR_NONE && services(s)->eval(g, 1, &r, &v);
    graph_free(g);
    if (ok) *out = v.t;
    return ok;
}

static bool scale_by(Session *s, const char *op, int64_t by, Tensor *t) {
    Tensor number = {0}, scaled = {0};
    bool ok = tensor_scalar(s, t->dtype, (double)by, 0, &number) &&
              combine_two(s, op, t, &number, &scaled);
    tensor_unref(&number);
    tensor_unref(t);
    *t = scaled;
    return ok;
}

static bool is_mean(const Part *how) {
    return how->kind == PART_TERM && how->power < 0;
}

/* Sums are computed in float64, as those over rows are. */
static DType dtype_of_sums(const Part *how, DType d) {
    if (how->kind == PART_TERM && how->term != TERM_SUM && how->term != TERM_PROD &&
        how->term != TERM_LOGSUMEXP)
        return d;
    if (dtype_is_complex(d)) return DT_COMPLEX128;
    return dtype_is_float(d) ? DT_FLOAT64 : d;
}

/* Parts [from, to), as a binary tree. A mean counts by its rows. */
static bool combine(const PartMerge *m, size_t from, size_t to, Tensor *out) {
    Tensor half[2] = {{0}, {0}};
    size_t mid = from + (to - from) / 2;
    *out = (Tensor){0};
    if (to - from == 1)
        return tensor_cast(m->s, &m->t[from], m->dtype, out) &&
               (!is_mean(m->how) || scale_by(m->s, "multiply", m->rows[from], out));
    bool ok = combine(m, from, mid, &half[0]) && combine(m, mid, to, &half[1]) &&
              combine_two(m->s, m->op, &half[0], &half[1], out);
    tensor_unref(&half[0]);
    tensor_unref(&half[1]);
    return ok;
}

static bool join_terms(PartMerge *m, Tensor *out) {
    Tensor all = {0};
    int64_t rows = 0;
    for (size_t i = 0; i < m->n; i++)
        rows += m->rows[i];
    if (is_mean(m->how) && !rows) return tensor_clone(m->s, &m->t[0], out);
    bool ok = combine(m, 0, m->n, &all) &&
              (!is_mean(m->how) || scale_by(m->s, "true_divide", rows, &all)) &&
              tensor_cast(m->s, &all, m->t[0].dtype, out);
    tensor_unref(&all);
    return ok;
}

bool part_merge(Session *s, const Part *how, size_t n, const Tensor *t,
                const int64_t *rows, Tensor *out) {
    static const char *const ops[] = {"add",      "multiply",    "maximum",
                                      "minimum",  "logical_and", "logical_or",
                                      "logaddexp"};
    PartMerge m = {.s = s, .how = how, .n = n, .t = t, .rows = rows, .op = ops[0]};
    *out = (Tensor){0};
    if (how->kind == PART_ROWS) return join_rows(&m, out);
    if (how->kind == PART_SAME && !how->power) return tensor_clone(s, &t[0], out);
    if (how->kind == PART_TERM) m.op = ops[how->term];
    m.dtype = dtype_of_sums(how, t[0].dtype);
    return join_terms(&m, out);
}
