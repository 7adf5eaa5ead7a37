/* ggrad's Jacobians, Hessians and Hessian-vector products. */
#include "ad/jacobian.h"
#include "tools/ggrad_impl.h"

#include <string.h>

bool derive_jacobian(Derivation *d) {
    GradOptions how;
    size_t nf;
    Var *f;
    Span at = derive_span(d, "--jacobian", d->d->jacobian);
    if (!derive_options(d, &how) || !names_find_vars(d->g, d->a, at, &nf, &f) ||
        !derive_wrt(d, f[0]))
        return false;
    Var *j = NEW_N(d->a, nf * d->nwrt, Var);
    if (!ad_jacobian(&d->b, nf, f, d->nwrt, d->wrt, &how, JACOBIAN_AUTO, j))
        return false;
    for (size_t k = 0; k < nf; k++)
        for (size_t i = 0; i < d->nwrt; i++)
            if (!derive_output(d, "jacobian_{cost}_{wrt}", derive_shown(d, f[k]),
                               derive_shown(d, d->wrt[i]), j[k * d->nwrt + i], f[k], i))
                return false;
    return true;
}

/* Finds the cost for --hessian and --hvp, and its gradients if the check needs them. */
static bool begin_second_order(Derivation *d, const char *name, GradOptions *how,
                               Var *cost, Var **grad) {
    if (!derive_options(d, how) ||
        !names_find_var(d->g, name, strlen(name), d->d->at, cost) ||
        !derive_wrt(d, *cost))
        return false;
    *grad = NEW_N(d->a, d->nwrt, Var);
    return !d->d->made || ad_grad(&d->b, *cost, d->nwrt, d->wrt, how, *grad);
}

bool derive_hessian(Derivation *d) {
    GradOptions how;
    Var cost, *grad;
    if (!begin_second_order(d, d->d->hessian, &how, &cost, &grad)) return false;
    size_t n = d->nwrt, each = d->d->mixed ? n : 1;
    Var *h = NEW_N(d->a, n * n, Var);
    if (!ad_hessian(&d->b, cost, n, d->wrt, &how, d->d->mixed, h)) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < each; k++) {
            const char *wrt = derive_shown(d, d->wrt[i]);
            if (d->d->mixed)
                wrt = arena_printf(d->a, "%s_%s", wrt, derive_shown(d, d->wrt[k]));
            if (!derive_output(d, "hessian_{cost}_{wrt}", derive_shown(d, cost), wrt,
                               h[i * each + k], grad[i], d->d->mixed ? k : i))
                return false;
        }
    return true;
}

bool derive_hvp(Derivation *d) {
    GradOptions how;
    Var cost, *grad;
    if (!begin_second_order(d, d->d->hvp, &how, &cost, &grad)) return false;
    Var *r = NEW_N(d->a, d->nwrt, Var);
    d->along = NEW_N(d->a, d->nwrt, Var);
    if (!derive_companions(d, d->d->vector, "--vector", "v_", d->nwrt, d->wrt,
                           d->along) ||
        !ad_hvp(&d->b, cost, d->nwrt, d->wrt, d->along, &how, r))
        return false;
    for (size_t i = 0; i < d->nwrt; i++)
        if (!derive_output(d, "hvp_{cost}_{wrt}", derive_shown(d, cost),
                           derive_shown(d, d->wrt[i]), r[i], grad[i], d->nwrt))
            return false;
    return true;
}
