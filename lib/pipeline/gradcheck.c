/* ggrad --check: derivatives against one-sided finite differences, by verify_grad's
 * procedure: the step and the tolerance go by the least precise float dtype that takes
 * part, and an element fails only if its absolute and its relative error are both too
 * large. A second derivative is held against differences of the first. */
#include "pipeline/trial.h"

#include <math.h>

typedef struct Precision {
    double step, tolerance;
} Precision;

static Precision precision(DType d) {
    switch (dtype_size(dtype_real(d))) {
    case 2:
        return (Precision){1e-1, 5e-2};
    case 4:
        return (Precision){3e-4, 1e-2};
    default:
        return (Precision){1e-7, 1e-4};
    }
}

typedef struct Check {
    Graph *g;
    Session *s;
    Machine *m;
    Trial t;
    const Derived *d;
    Vec(Var) want;
    Tensor *base; /* by want, at the point itself */
    Precision p;
} Check;

static Value *value_of(Check *c, Var v) {
    for (size_t i = 0; i < c->g->inputs.n; i++)
        if (c->g->inputs.p[i] == v) return &c->t.input[i];
    for (size_t i = 0; i < c->g->shared.n; i++)
        if (c->g->shared.p[i] == v) return &c->t.shared[i];
    return NULL;
}

static size_t place_of(const Check *c, Var v) {
    size_t i = 0;
    while (c->want.p[i] != v)
        i++;
    return i;
}

static bool run(Check *c) {
    return trial_feed(&c->t, c->m) && vm_run(c->m);
}

static void nudge(Tensor *x, int64_t i, double by) {
    size_t size = dtype_size(x->dtype);
    double v = tensor_f64(x, i) + by;
    element_cast(x->dtype, (char *)x->data + (size_t)i * size, DT_FLOAT64, &v, 1, 0, 0);
}

static bool mismatch(Check *c, const Claim *k, int64_t i, double have, double want) {
    fail(c->s, NOWHERE, E_VERDICT, "%s is wrong at flat index %lld",
         sym_text(c->s, k->name), (long long)i);
    return note(c->s, NOWHERE,
                "it says %.9g, finite differences say %.9g (tolerance %g)", have, want,
                c->p.tolerance);
}

/* The elements of a claim that belong to one nudge by `step`: at, at + by, ... */
static bool check_claim(Check *c, const Claim *k, int64_t at, int64_t by, double step) {
    size_t of = place_of(c, k->of);
    const Tensor *says = &c->base[place_of(c, k->says)];
    const Tensor *was = &c->base[of], *is = &vm_output(c->m, of)->t;
    for (int64_t o = 0, n = tensor_size(was); o < n; o++) {
        double want = (tensor_f64(is, o) - tensor_f64(was, o)) / step,
               have = tensor_f64(says, at + o * by), error = fabs(want - have);
        double relative = error / fmax(fabs(want) + fabs(have), 1e-8);
        bool off = error > c->p.tolerance && relative > c->p.tolerance;
        if (off || !isfinite(have)) return mismatch(c, k, at + o * by, have, want);
    }
    return true;
}

static bool check_element(Check *c, size_t by, int64_t i) {
    Tensor *x = &value_of(c, c->d->wrt[by])->t;
    double was = tensor_f64(x, i);
    nudge(x, i, c->p.step);
    double step = tensor_f64(x, i) - was; /* as it was rounded */
    bool ok = run(c);
    nudge(x, i, was - tensor_f64(x, i));
    for (size_t k = 0; ok && step != 0 && k < c->d->nclaim; k++)
        if (c->d->claim[k].by == by)
            ok = check_claim(c, &c->d->claim[k], i, tensor_size(x), step);
    return ok;
}

/* All variables go a step along their directions. */
static bool check_along(Check *c) {
    for (size_t k = 0; k < c->d->nwrt; k++) {
        Tensor *x = &value_of(c, c->d->wrt[k])->t;
        const Tensor *v = &c->base[place_of(c, c->d->along[k])];
        for (int64_t i = 0; i < tensor_size(x); i++)
            nudge(x, i, c->p.step * tensor_f64(v, i));
    }
    bool ok = run(c);
    for (size_t k = 0; ok && k < c->d->nclaim; k++)
        ok = check_claim(c, &c->d->claim[k], 0, 1, c->p.step);
    return ok;
}

static bool is_finite(Check *c, const Tensor *t) {
    for (int64_t i = 0, n = tensor_size(t); i < n; i++)
        if (!isfinite(tensor_f64(t, i)))
            return fail(c->s, NOWHERE, E_VALUE,
                        "the function is not finite at this point; give values");
    return true;
}

static bool check_all(Check *c) {
    c->base = NEW_N(c->t.a, c->want.n, Tensor);
    bool ok = run(c);
    for (size_t i = 0; ok && i < c->want.n; i++)
        ok = tensor_clone(c->s, &vm_output(c->m, i)->t, &c->base[i]);
    for (size_t k = 0; ok && k < c->d->nclaim; k++)
        ok = is_finite(c, &c->base[place_of(c, c->d->claim[k].of)]);
    for (size_t by = 0; ok && !c->d->along && by < c->d->nwrt; by++)
        for (int64_t i = 0; ok && i < tensor_size(&value_of(c, c->d->wrt[by])->t); i++)
            ok = check_element(c, by, i);
    if (ok && c->d->along) ok = check_along(c);
    for (size_t i = 0; i < c->want.n; i++)
        tensor_unref(&c->base[i]);
    return ok;
}

/* Every wrt has a value of its own to nudge: contiguous, with one owner. */
static bool own_values(Check *c) {
    for (size_t k = 0; k < c->d->nwrt; k++) {
        Value *v = value_of(c, c->d->wrt[k]);
        const Type *t = var_type(c->g, c->d->wrt[k]);
        if (!v || t->kind != TYPE_TENSOR || !dtype_is_float(t->dtype))
            return fail(c->s, NOWHERE, E_USAGE,
                        "--check takes float inputs and shared variables as --wrt");
        for (size_t i = 0; !v->t.data && i < c->g->shared.n; i++)
            if (c->g->shared.p[i] == c->d->wrt[k]) {
                const Value *now = vm_shared(c->m, i);
                if (!now) return false;
                value_copy_view(v, now);
            }
        Tensor own;
        if (!tensor_clone(c->s, &v->t, &own)) return false;
        tensor_unref(&v->t);
        v->t = own;
    }
    return true;
}

static bool run_point(Check *c, const Values *given, uint64_t seed) {
    PlanOptions how = {.nwant = c->want.n, .want = c->want.p, .no_updates = true};
    Plan *plan = plan_new(c->g, &how);
    if (!plan) return false;
    c->m = vm_new(plan);
    bool ok = trial_new(c->g, given, seed, &c->t);
    ok = ok && own_values(c) && check_all(c);
    trial_free(&c->t);
    vm_free(c->m);
    plan_free(plan);
    return ok;
}

static void takes_part(Check *c, Var v) {
    const Type *t = var_type(c->g, v);
    if (t->kind != TYPE_TENSOR || !dtype_is_inexact(t->dtype)) return;
    Precision p = precision(t->dtype);
    c->p.step = fmax(c->p.step, p.step);
    c->p.tolerance = fmax(c->p.tolerance, p.tolerance);
}

/* What lies between the wrt and what is differentiated. */
static void choose_precision(Check *c) {
    const Graph *g = c->g;
    Arena *tmp = arena_new(c->s);
    uint8_t *below = NEW_N(tmp, g->nvar, uint8_t),
            *above = NEW_N(tmp, g->nvar, uint8_t);
    for (size_t k = 0; k < c->d->nwrt; k++) {
        below[c->d->wrt[k]] = 1;
        takes_part(c, c->d->wrt[k]);
    }
    for (size_t k = 0; k < c->d->nclaim; k++)
        above[c->d->claim[k].of] = 1;
    for (ApplyId a = 0; a < g->napply; a++)
        for (size_t i = 0; i < g->apply[a].nin; i++)
            for (Var k = 0; below[apply_in(g, a)[i]] && k < g->apply[a].nout; k++)
                below[g->apply[a].out + k] = 1;
    for (ApplyId a = g->napply; a-- > 0;) {
        bool on = false;
        for (Var v = g->apply[a].out; v < g->apply[a].out + g->apply[a].nout; v++) {
            on |= above[v];
            if (above[v] && below[v]) takes_part(c, v);
        }
        for (size_t i = 0; on && i < g->apply[a].nin; i++)
            above[apply_in(g, a)[i]] = 1;
    }
    arena_free(tmp);
}

static void choose_values(Check *c) {
    for (size_t k = 0; k < c->d->nclaim; k++) {
        vec_push(c->s, &c->want, c->d->claim[k].says);
        vec_push(c->s, &c->want, c->d->claim[k].of);
    }
    for (size_t k = 0; c->d->along && k < c->d->nwrt; k++)
        vec_push(c->s, &c->want, c->d->along[k]);
}

bool graph_check_grad(Graph *g, const Derive *d, const Values *given, uint64_t seed) {
    Derive how = *d;
    Derived made = {0};
    Check c = {.g = g, .s = g->s, .d = &made, .p = {0, 0}};
    how.only = true;
    how.made = &made;
    if (!graph_derive(g, &how)) return false;
    choose_values(&c);
    choose_precision(&c);
    bool ok = true;
    for (uint64_t i = 0; ok && i < 2; i++) /* verify_grad's n_tests */
        ok = run_point(&c, given, seed + i);
    vec_free(&c.want);
    return ok;
}
