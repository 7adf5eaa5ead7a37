/* Loops: the number of steps, as far as sizes determine it, and the inputs of a
 * step. */
#include "prof/prof_impl.h"
#include "scan/scan.h"

#include <math.h>
#include <string.h>

/* ---- values computed from sizes ---- */

const Poly *value_of_leaf(Arena *a, const Graph *g, Var v, const Map *dims,
                          bool symbols) {
    const Tensor *c = var_const(g, v);
    uint64_t bound;
    if (c && c->ndim == 0 && dtype_is_discrete(c->dtype) && c->dtype != DT_UINT64)
        return poly_number(a, (double)tensor_i64(c, 0));
    if (var_leaf(g, v) != LEAF_DIM) return NULL;
    Sym name = var_leafrec(g, v)->name;
    if (map_get(dims, name, &bound)) return (const Poly *)(uintptr_t)bound;
    return symbols ? poly_dim(a, name) : NULL;
}

static const Poly *numbers_result(Arena *a, Session *s, const Op *op, double x,
                                  double y) {
    const struct {
        KnownOp op;
        double r;
    } r[] = {{OP_FLOOR_DIVIDE, floor(x / y)},
             {OP_REMAINDER, x - y * floor(x / y)},
             {OP_MINIMUM, x < y ? x : y},
             {OP_MAXIMUM, x > y ? x : y},
             {OP_SQRT, sqrt(x)},
             {OP_CEIL, ceil(x)},
             {OP_FLOOR, floor(x)}};
    for (size_t i = 0; i < sizeof r / sizeof *r; i++)
        if (op_is(s, op, r[i].op) && isfinite(r[i].r)) return poly_number(a, r[i].r);
    return NULL;
}

static const Poly *polys_result(Arena *a, Session *s, const Op *op, const Poly *x,
                                const Poly *y) {
    double v, w = 1;
    if (op_is(s, op, OP_ADD)) return poly_add(a, x, y);
    if (op_is(s, op, OP_MULTIPLY)) return poly_mul(a, x, y);
    if (op_is(s, op, OP_SUBTRACT))
        return poly_add(a, x, poly_mul(a, poly_number(a, -1), y));
    bool numbers = x && poly_is_number(x, &v) && (!y || poly_is_number(y, &w));
    return numbers ? numbers_result(a, s, op, v, w) : NULL;
}

static const Poly *truncate_number(Arena *a, const Poly *x) {
    double v;
    return x && poly_is_number(x, &v) ? poly_number(a, trunc(v)) : x;
}

static const Poly *fused_value(Arena *a, const Graph *g, ApplyId id, const Shape *in) {
    const Apply *ap = &g->apply[id];
    const Graph *fn = graph_function(g, op_prop(g->s, ap->op, ap->props, "fn")->sym);
    if (!fn || !fn->fused) return NULL;
    Map none = MAP(g->s);
    Shape *h = cost_shapes(a, fn, &none, false, ap->nin, in);
    map_free(&none);
    return h[fn->outputs.p[0].var].value;
}

const Poly *value_of_result(Arena *a, const Graph *g, ApplyId id, const Shape *in) {
    const Apply *ap = &g->apply[id];
    const Type *t = var_type(g, ap->out);
    Session *s = g->s;
    if (ap->nout != 1 || t->kind != TYPE_TENSOR || t->ndim != 0 || ap->nin == 0)
        return NULL;
    if (op_is(s, ap->op, OP_SHAPE_I)) {
        int64_t k = op_prop(g->s, ap->op, ap->props, "axis")->i;
        return k >= 0 && k < in[0].ndim ? in[0].dim[k] : NULL;
    }
    if (op_is(s, ap->op, OP_CALL)) return fused_value(a, g, id, in);
    if (!in[0].value || ap->nin > 2 || (ap->nin == 2 && !in[1].value)) return NULL;
    if (op_is(s, ap->op, OP_CAST))
        return dtype_is_discrete(t->dtype) ? truncate_number(a, in[0].value)
                                           : in[0].value;
    return polys_result(a, s, ap->op, in[0].value, ap->nin == 2 ? in[1].value : NULL);
}

/* ---- a step ---- */

static Shape without_rows(Shape x) {
    if (!x.is_tensor || x.ndim == 0) return x;
    x.ndim--;
    x.dim++;
    x.value = NULL;
    return x;
}

/* Bytes of one row of an output; 0: unknown. */
static const Poly *row_bytes_of(Arena *a, const ScanOut *o, const Shape *out) {
    Shape row = o->keep == SCAN_LAST ? *out : without_rows(*out);
    const Poly *n = bytes_of_shape(a, &row);
    return n ? n : poly_number(a, 0);
}

/* Bytes of rows that a loop keeps in a ring, as vm/scan.c does, for outputs that are
 * not returned whole. */
static const Poly *ring_bytes(Arena *a, const ScanOut *o, const Shape *out) {
    int64_t kept = o->keep > 0 ? o->keep : 1, read = o->depth + 1;
    if (o->keep == SCAN_ALL) return poly_number(a, 0);
    double rows = (double)(o->ntap && read > kept ? read : kept);
    return poly_mul(a, poly_number(a, rows), row_bytes_of(a, o, out));
}

LoopStep loop_step(Arena *a, const Costed *c) {
    ScanForm f = scan_form_of(c->g, c->id, a);
    LoopStep l = {.fn = f.fn, .nin = f.nin, .steps = c->in[0].value};
    l.in = NEW_N(a, f.nin, Shape);
    for (size_t k = 0; k < f.nin; k++) {
        l.in[k] = c->in[scan_arg(&f, k)];
        bool rows = k < f.other_in;
        for (size_t o = 0; o < f.nout; o++)
            if (k - f.out[o].in < f.out[o].ntap) rows = !scan_one_row(&f.out[o]);
        if (rows) l.in[k] = without_rows(l.in[k]);
    }
    l.rings = poly_number(a, 0);
    for (size_t o = 0; o < f.nout; o++)
        l.rings = poly_add(a, l.rings, ring_bytes(a, &f.out[o], &c->out[o]));
    ScanState *state = NEW_N(a, f.nout, ScanState);
    l.nstate = scan_last_states(&f, state);
    l.state = state;
    l.ring = NEW_N(a, l.nstate, const Poly *);
    for (size_t k = 0; k < l.nstate; k++)
        l.ring[k] = ring_bytes(a, &f.out[state[k].out], &c->out[state[k].out]);
    return l;
}
