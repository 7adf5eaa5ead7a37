/* An op defined by a formula under DebugMode: its definition runs op by op, unfused and
 * unrewritten, and each of its ops is checked like those of the graph. */
#include "check/check_impl.h"
#include "userop/userop.h"

enum { RUNS_CHECKED = 3 };

static bool take_userop_outputs(KernelTrial *x, OpRun *r, const ReferenceRun *f) {
    for (size_t i = 0; i < x->nout; i++) {
        Var out = f->g->outputs.p[i].var;
        value_unref(&r->out_value[i]);
        if (!reference_copy(f, out, &r->out_value[i]))
            return r->why = reference_reason(f, out), false;
    }
    return true;
}

/* Dims that the definition takes from its call. */
static void take_dims(const KernelTrial *x, ReferenceRun *f) {
    for (uint32_t i = 0; i < f->g->nleaf; i++) {
        const Leaf *l = &f->g->leaf[i];
        uint64_t n;
        if (var_leaf(f->g, l->var) == LEAF_DIM && !map_get(&f->dim, l->name, NULL) &&
            map_get(&x->f->dim, l->name, &n))
            map_put(&f->dim, l->name, n);
    }
}

bool userop_trial(KernelTrial *x, OpRun *r) {
    ReferenceRun f;
    Graph *body = userop_body(x->g, x->id);
    if (!body) return false;
    RewriteLog *b = rewrite_log_of_body(x->c, body);
    bool ok = true;
    reference_open(&f, x->c, b);
    for (size_t i = 0; ok && i < body->inputs.n; i++) {
        Var v = body->inputs.p[i];
        ok = reference_set(&f, v, r->given_p[i]);
        if (ok) reference_bind(&f, var_type(body, v), r->given_p[i]);
    }
    take_dims(x, &f);
    if (ok) reference_run(&f, r->kind == KIND_FIRST && b->checked++ < RUNS_CHECKED);
    ok = ok && take_userop_outputs(x, r, &f);
    reference_close(&f);
    return ok;
}
