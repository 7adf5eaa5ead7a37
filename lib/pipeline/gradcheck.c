/* ggrad --check: gradients against one-sided finite differences, by verify_grad's
 * procedure: the function is the cost, or the sum of f times its cotangent; the step
 * and the tolerance go by the least precise float dtype that takes part, and an element
 * fails only if its absolute and its relative error are both too large. */
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
    size_t nwrt, projected; /* outputs 0..nwrt-1 are gradients */
    Var *wrt;
    Precision p;
} Check;

static Value *value_of(Check *c, Var v) {
    for (size_t i = 0; i < c->g->inputs.n; i++)
        if (c->g->inputs.p[i] == v) return &c->t.input[i];
    for (size_t i = 0; i < c->g->shared.n; i++)
        if (c->g->shared.p[i] == v) return &c->t.shared[i];
    return NULL;
}

static bool project(Check *c, double *y) {
    if (!trial_feed(&c->t, c->m) || !vm_run(c->m)) return false;
    *y = tensor_f64(&vm_output(c->m, c->projected)->t, 0);
    return isfinite(*y) ||
           fail(c->s, NOWHERE, E_VALUE,
                "the function is not finite at this point; give values");
}

static void nudge(Tensor *x, int64_t i, double by) {
    size_t size = dtype_size(x->dtype);
    double v = tensor_f64(x, i) + by;
    element_cast(x->dtype, (char *)x->data + (size_t)i * size, DT_FLOAT64, &v, 1, 0, 0);
}

static bool mismatch(Check *c, size_t k, int64_t i, double have, double want) {
    Sym y = var_name(c->g, c->wrt[k]);
    fail(c->s, NOWHERE, E_VERDICT, "the gradient of %s is wrong at flat index %lld",
         sym_text(c->s, y), (long long)i);
    return note(c->s, NOWHERE,
                "it says %.9g, finite differences say %.9g (tolerance %g)", have, want,
                c->p.tolerance);
}

static bool check_element(Check *c, size_t k, int64_t i, const Tensor *grad,
                          double base) {
    Tensor *x = &value_of(c, c->wrt[k])->t;
    double was = tensor_f64(x, i), y;
    nudge(x, i, c->p.step);
    double step = tensor_f64(x, i) - was; /* as it was rounded */
    bool ok = project(c, &y);
    nudge(x, i, was - tensor_f64(x, i));
    if (!ok || step == 0) return ok;
    double want = (y - base) / step, have = tensor_f64(grad, i),
           error = fabs(want - have);
    double relative = error / fmax(fabs(want) + fabs(have), 1e-8);
    if (!(error > c->p.tolerance && relative > c->p.tolerance) && isfinite(have))
        return true;
    return mismatch(c, k, i, have, want);
}

static bool check_all(Check *c) {
    double base;
    Tensor *grad = NEW_N(c->t.a, c->nwrt, Tensor);
    bool ok = project(c, &base);
    for (size_t k = 0; ok && k < c->nwrt; k++)
        ok = tensor_clone(c->s, &vm_output(c->m, k)->t, &grad[k]);
    for (size_t k = 0; ok && k < c->nwrt; k++)
        for (int64_t i = 0, n = tensor_size(&grad[k]); ok && i < n; i++)
            ok = check_element(c, k, i, &grad[k], base);
    for (size_t k = 0; k < c->nwrt; k++)
        tensor_unref(&grad[k]);
    return ok;
}

/* Every wrt has a value of its own to nudge: contiguous, with one owner. */
static bool own_values(Check *c) {
    for (size_t k = 0; k < c->nwrt; k++) {
        Value *v = value_of(c, c->wrt[k]);
        const Type *t = var_type(c->g, c->wrt[k]);
        if (!v || t->kind != TYPE_TENSOR || !dtype_is_float(t->dtype))
            return fail(c->s, NOWHERE, E_USAGE,
                        "--check takes float inputs and shared variables as --wrt");
        for (size_t i = 0; !v->t.data && i < c->g->shared.n; i++)
            if (c->g->shared.p[i] == c->wrt[k]) {
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
    PlanOptions how = {.no_updates = true};
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

/* The number whose derivatives the gradients claim to be: the cost, or sum(f *
 * cotangent). */
static bool add_projection(Check *c, const Derived *made) {
    Builder b = builder(c->g, true);
    Var y = made->of;
    if (made->cotangent != VAR_NONE) {
        y = call2(&b, "multiply", y, made->cotangent);
        y = y == VAR_NONE ? y : call1(&b, "sum", y);
    }
    if (y == VAR_NONE) return false;
    Output out = {sym(c->s, "projection"), y};
    c->projected = c->g->outputs.n;
    vec_push(c->s, &c->g->outputs, out);
    return true;
}

bool graph_check_grad(Graph *g, const Derive *d, const Values *given, uint64_t seed) {
    Derive how = *d;
    Derived made = {0};
    Check c = {.g = g, .s = g->s, .p = {0, 0}};
    if (d->jvp) return fail(g->s, d->at, E_USAGE, "--check goes with --cost or --vjp");
    how.only = true;
    how.made = &made;
    if (!graph_derive(g, &how) || !add_projection(&c, &made)) return false;
    c.nwrt = made.nwrt;
    c.wrt = made.wrt;
    for (size_t k = 0; k < c.nwrt; k++) {
        Precision p = precision(var_type(g, c.wrt[k])->dtype);
        c.p.step = fmax(c.p.step, p.step);
        c.p.tolerance = fmax(c.p.tolerance, p.tolerance);
    }
    for (uint64_t i = 0; i < 2; i++) /* verify_grad's n_tests */
        if (!run_point(&c, given, seed + i)) return false;
    return true;
}
