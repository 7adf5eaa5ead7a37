/* The read of a reshaped tensor as the reshape of a read: reshape(x, [3, 4])[1] is
 * x[4:8], and of [n, 6] as [n, 2, 3], y[k] is reshape(x[k], [2, 3]). */
#include "op/build.h"
#include "rewrite/read/read.h"

/* A tensor and its reshape: the first axes are the same, the rest have known sizes. */
typedef struct Reshaped {
    Read *q;
    const Type *from, *to;
    int same;     /* first axes that both have */
    int picked;   /* axes of `to` after those that are read at an integer */
    int64_t at;   /* the element of the rest at which the read begins */
    int64_t size; /* the elements that it takes */
} Reshaped;

/* The elements of the axes from `first` on. */
static bool count_rest(const Type *t, int first, int64_t *n) {
    *n = 1;
    for (int k = first; k < t->ndim; k++)
        if (!dim_is_known(t->dim[k]) || !i64_mul(*n, t->dim[k], n)) return false;
    return true;
}

/* Integers for the first axes that differ, all of the others. */
static bool find_picked(Reshaped *s) {
    const Type *to = s->to;
    int64_t from, next, flat = 0;
    int k = s->same;
    for (; k < to->ndim && s->q->item[k].is_at; k++) {
        if (!read_constant_rows(s->q, k, &from, &next)) return false;
        flat = flat * to->dim[k] + from; /* less than the elements, which are counted */
    }
    s->picked = k - s->same;
    for (; k < to->ndim; k++)
        if (!read_takes_all(&s->q->item[k])) return false;
    return count_rest(to, s->same + s->picked, &s->size) &&
           i64_mul(flat, s->size, &s->at);
}

/* The elements [at, at + size) of the rest as whole rows of one of its axes. */
static bool find_box(const Reshaped *s, ReadItem *item) {
    Rewriter *r = s->q->r;
    int64_t inner = 1, at = s->at, size = s->size;
    int k = s->from->ndim;
    while (k > s->same && size % inner == 0 && size > inner) {
        int64_t n = s->from->dim[--k];
        if (size <= inner * n) {
            if (inner * n % size != 0) return false;
            int64_t first = at / inner % n, rows = size / inner;
            item[k] = rows == n ? read_all : read_item_slice(r, first, first + rows, n);
            inner *= n;
            size = inner;
            break;
        }
        item[k] = read_all;
        inner *= n;
    }
    if (size != inner) return false;
    at /= inner;
    while (k > s->same) {
        int64_t n = s->from->dim[--k];
        item[k] = read_item_at(r, at % n);
        at /= n;
    }
    return true;
}

static Var shape_of_type(Rewriter *r, const Type *t) {
    Var item[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++) {
        if (t->dim[k] == DIM_UNKNOWN) return VAR_NONE;
        item[k] = dim_is_known(t->dim[k]) ? const_int(&r->b, t->dim[k])
                                          : graph_dim(r->g, dim_sym(t->dim[k]));
    }
    Var shape = ints_stack(&r->b, (size_t)t->ndim, item);
    rewriter_grow(r);
    return shape;
}

Var read_reshaped(Read *q) {
    Rewriter *r = q->r;
    const Type *out = var_type(r->g, r->g->apply[q->id].out);
    Var x = read_input(q, 0);
    Reshaped s = {.q = q, .from = var_type(r->g, x), .to = q->t};
    ReadItem item[MAX_NDIM];
    int64_t have, want;
    while (s.same < s.from->ndim && s.same < s.to->ndim &&
           s.from->dim[s.same] == s.to->dim[s.same] &&
           s.from->dim[s.same] != DIM_UNKNOWN) {
        item[s.same] = q->item[s.same];
        s.same++;
    }
    if (q->nadd || !count_rest(s.from, s.same, &have) ||
        !count_rest(s.to, s.same, &want) || have != want || have == 0 ||
        !find_picked(&s) || !find_box(&s, item))
        return VAR_NONE;
    Var part = read_of(r, x, s.from->ndim, item);
    if (part == VAR_NONE || type_keeps(out, var_type(r->g, part))) return part;
    Var in[2] = {part, shape_of_type(r, out)};
    return rewriter_apply(r, op_known(r->s, OP_RESHAPE), NULL, 2, in);
}
