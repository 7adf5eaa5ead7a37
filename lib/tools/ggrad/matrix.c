/* ggrad's Jacobians, Hessians and Hessian-vector products. */
#include "ad/jacobian.h"
#include "tools/ggrad/ggrad_impl.h"

#include <string.h>

bool derive_jacobian(Derivation *d) {
    GradOptions how;
    VarList f;
    if (!derive_options(d, &how) || !derive_find(d, "--jacobian", d->d->jacobian, &f) ||
        !derive_wrt(d, f.p[0]))
        return false;
    Var *j = NEW_N(d->a, f.n * d->wrt.n, Var);
    if (!ad_jacobian(&d->b, f, d->wrt, &how, JACOBIAN_AUTO, j)) return false;
    for (size_t k = 0; k < f.n; k++)
        for (size_t i = 0; i < d->wrt.n; i++) {
            OutputName name = {"jacobian_{cost}_{wrt}", derive_shown(d, f.p[k]),
                               derive_shown(d, d->wrt.p[i])};
            if (!derive_output(d, name, j[k * d->wrt.n + i], f.p[k], i)) return false;
        }
    return true;
}

/* Finds the cost for --hessian and --hvp, and its gradients if the check needs them. */
static bool begin_second_order(Derivation *d, const char *name, GradOptions *how,
                               Var *cost, Var **grad) {
    if (!derive_options(d, how) || !derive_find_one(d, name, cost) ||
        !derive_wrt(d, *cost))
        return false;
    *grad = NEW_N(d->a, d->wrt.n, Var);
    return !d->d->made || ad_grad(&d->b, *cost, d->wrt, how, *grad);
}

bool derive_hessian(Derivation *d) {
    GradOptions how;
    Var cost, *grad;
    if (!begin_second_order(d, d->d->hessian, &how, &cost, &grad)) return false;
    size_t n = d->wrt.n, each = d->d->mixed ? n : 1;
    Var *h = NEW_N(d->a, n * n, Var);
    if (!ad_hessian(&d->b, cost, d->wrt, &how, d->d->mixed, h)) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < each; k++) {
            const char *wrt = derive_shown(d, d->wrt.p[i]);
            if (d->d->mixed)
                wrt = arena_printf(d->a, "%s_%s", wrt, derive_shown(d, d->wrt.p[k]));
            OutputName name = {"hessian_{cost}_{wrt}", derive_shown(d, cost), wrt};
            if (!derive_output(d, name, h[i * each + k], grad[i], d->d->mixed ? k : i))
                return false;
        }
    return true;
}

bool derive_hvp(Derivation *d) {
    GradOptions how;
    Var cost, *grad;
    if (!begin_second_order(d, d->d->hvp, &how, &cost, &grad)) return false;
    Companions vector = {"--vector", d->d->vector, "v_"};
    Var *r = NEW_N(d->a, d->wrt.n, Var);
    d->along = NEW_N(d->a, d->wrt.n, Var);
    if (!derive_companions(d, &vector, d->wrt, d->along) ||
        !ad_hvp(&d->b, cost, d->wrt, d->along, &how, r))
        return false;
    for (size_t i = 0; i < d->wrt.n; i++) {
        OutputName name = {"hvp_{cost}_{wrt}", derive_shown(d, cost),
                           derive_shown(d, d->wrt.p[i])};
        if (!derive_output(d, name, r[i], grad[i], d->wrt.n)) return false;
    }
    return true;
}
