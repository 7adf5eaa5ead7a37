/* Costs as single numbers, for choosing between equal graphs: flops, with the calls of
 * mathematical functions and the bytes that move weighed as flops. Unknown sizes
 * count as large. */
#include "prof/prof_impl.h"

#include <math.h>

/* As tests/bench/weights.c measured them: a flop of a product of matrices took 0.02 ns,
 * a byte 0.0044 ns where arrays stay in the caches, exp, tanh, sin and log1p 0.9 ns on
 * average, an Apply of a few elements 7 ns (float64, one thread of an x86-64 with
 * AVX-512 at 2.6 GHz and OpenBLAS). They stand here and aren't measured again, so that
 * equal graphs become equal graphs on all machines. */
const CostWeights cost_weights = {.apply = 350, .math = 45, .byte = 0.22};
static const double large = 1000;

struct CostModel {
    Session *s;
    Arena *a, *tmp;
    Costing costing;
    Map dims; /* name -> Poly */
    size_t ndim;
    const DimValue *dim;
};

CostModel *cost_model_new(Session *s, size_t ndim, const DimValue *dim) {
    CostModel *m = mem_zalloc(s, 1, sizeof *m);
    m->s = s;
    m->a = arena_new(s);
    m->tmp = arena_new(s);
    m->costing = (Costing){s, m->a, MAP(s), MAP(s)};
    m->dims = MAP(s);
    m->ndim = ndim;
    m->dim = arena_copy(m->a, dim, ndim * sizeof *dim);
    for (size_t i = 0; i < ndim; i++)
        map_put(&m->dims, dim[i].name,
                (uintptr_t)poly_number(m->a, (double)dim[i].value));
    return m;
}

void cost_model_free(CostModel *m) {
    if (!m) return;
    map_free(&m->costing.parsed);
    map_free(&m->costing.negative);
    map_free(&m->dims);
    arena_free(m->a);
    arena_free(m->tmp);
    mem_free(m);
}

static Shape likely_shape(CostModel *m, const Type *t) {
    Shape h = shape_of_type(m->tmp, t, &m->dims, true);
    const Poly **dim = NEW_N(m->tmp, (size_t)h.ndim, const Poly *);
    for (int i = 0; i < h.ndim; i++)
        dim[i] = h.dim[i] ? h.dim[i] : poly_number(m->tmp, large);
    h.dim = dim;
    return h;
}

/* What is unknown costs nothing: it is the same in all forms, as a rule. */
static double at_large(const Poly *p) {
    return p ? poly_at(p, large) : 0;
}

double cost_model_apply(void *model, const Graph *g, ApplyId id) {
    CostModel *m = model;
    const Apply *ap = &g->apply[id];
    arena_reset(m->tmp);
    Shape *in = NEW_N(m->tmp, ap->nin, Shape), *out = NEW_N(m->tmp, ap->nout, Shape);
    bool *view = NEW_N(m->tmp, ap->nout, bool);
    for (size_t i = 0; i < ap->nin; i++)
        in[i] = likely_shape(m, var_type(g, apply_in(g, id)[i]));
    for (Var k = 0; k < ap->nout; k++) {
        out[k] = likely_shape(m, var_type(g, ap->out + k));
        view[k] = op_view(g, id, k) >= 0;
    }
    Costed what = {g, id, ap->nin, ap->nout, in, out, view, false};
    Cost cost = cost_apply(&m->costing, m->tmp, &what);
    return cost_weights.apply + at_large(cost.flops) +
           cost_weights.math * at_large(cost.math) +
           cost_weights.byte * (at_large(cost.read) + at_large(cost.written));
}

static double total_at_large(const Profile *p, ProfileField f) {
    const Amount *x = &p->total[f];
    return x->v + at_large(x->sym);
}

double cost_model_graph(CostModel *m, Graph *g) {
    PlanOptions usual = {0};
    size_t mark = diag_count(m->s);
    Plan *plan = plan_new(g, &usual);
    diag_rewind(m->s, mark);
    if (!plan) return HUGE_VAL;
    Profile *p = profile_new(plan, &usual, m->ndim, m->dim);
    profile_static(p);
    profile_finish(p);
    double cost = cost_weights.apply * total_at_large(p, PF_calls) +
                  total_at_large(p, PF_flops) +
                  cost_weights.math * total_at_large(p, PF_math_calls) +
                  cost_weights.byte * total_at_large(p, PF_bytes);
    profile_free(p);
    plan_free(plan);
    return cost;
}
