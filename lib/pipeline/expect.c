/* --expect NAME=VALUE: outputs compared with values under the dtype's tolerances. */
#include "pipeline/run_impl.h"

#include <string.h>

static void say_difference(GraphRun *r, const Tensor *got, const Tensor *want,
                           int64_t where) {
    Str text = STR(r->s);
    if (!tensor_same_shape(got, want)) {
        shape_text(r->s, got->ndim, got->shape, &text);
        str_puts(&text, " against ");
        shape_text(r->s, want->ndim, want->shape, &text);
        note(r->s, NOWHERE, "the shapes are %s", str_text(&text));
    } else if (tensor_size(got) <= 8) {
        str_puts(&text, "got ");
        tensor_text(r->s, got, -1, &text);
        str_puts(&text, ", expected ");
        tensor_text(r->s, want, -1, &text);
        note(r->s, NOWHERE, "%s", str_text(&text));
    } else {
        note(r->s, NOWHERE,
             "the worst difference is at flat index %lld: got %.17g, expected %.17g",
             (long long)where, tensor_f64(got, where), tensor_f64(want, where));
    }
    str_free(&text);
}

static bool expectation(GraphRun *r, Span text) {
    Span name, value;
    if (!label_split(r->s, text, &name, &value))
        return fail(r->s, text, E_USAGE, "--expect takes NAME=VALUE");
    const char *p = arena_str(r->a, source_get(r->s, name.source)->text + name.begin,
                              name.end - name.begin);
    size_t i = 0;
    while (i < r->g->outputs.n &&
           strcmp(sym_text(r->s, r->g->outputs.p[i].label), p) != 0)
        i++;
    if (i == r->g->outputs.n) {
        Var v;
        return find_var(r->g, p, strlen(p), name, &v) &&
               fail(r->s, name, E_UNKNOWN, "%s is no output of the graph", p);
    }
    const Value *got = vm_output(r->m, i);
    const Type *t = var_type(r->g, r->g->outputs.p[i].var);
    Dim any[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++)
        any[k] = DIM_UNKNOWN; /* another shape is a verdict, no error */
    const Type *loose = type_tensor(r->s, t->dtype, t->ndim, any);
    Value want = {0};
    if (!value_compile(r->s, value, loose, (Filter){.allow_downcast = 1}, p, &want))
        return false;
    Approx how = APPROX_DEFAULT;
    how.rtol = r->spec->rtol;
    how.atol = r->spec->atol;
    int64_t where = 0;
    bool same = tensor_same_shape(&got->t, &want.t) &&
                tensor_approx(&got->t, &want.t, how, &where);
    if (!same) {
        fail(r->s, text, E_VERDICT, "%s is not as expected", p);
        say_difference(r, &got->t, &want.t, where);
    }
    value_unref(&want);
    return same;
}

bool check_expectations(GraphRun *r) {
    bool ok = true;
    for (size_t i = 0; i < r->spec->nexpect; i++) {
        size_t before = diag_count(r->s);
        if (expectation(r, r->spec->expect[i])) continue;
        ok = false;
        if (diag_get(r->s, before)->code != E_VERDICT)
            return false; /* say all that differ, but one usage error */
    }
    return ok;
}
