/* --expect NAME=VALUE: outputs compared with values under the dtype's tolerances. */
#include "tools/compare.h"
#include "tools/grun/grun_impl.h"

/* The variable's own comparison, overridden by the command line. */
static Approx comparison_of(const GraphRun *r, Var v) {
    const Approx *own = graph_approx(r->g, v);
    Approx how = own ? *own : APPROX_DEFAULT;
    if (r->spec->rtol >= 0) how.rtol = r->spec->rtol;
    if (r->spec->atol >= 0) how.atol = r->spec->atol;
    return how;
}

static bool check_expectation(GraphRun *r, Span text) {
    Span name, value;
    if (!grun_split_expected(r->s, text, &name, &value)) return false;
    const char *p = arena_str(r->a, source_get(r->s, name.source)->text + name.begin,
                              name.end - name.begin);
    size_t i = grun_output(r, sym(r->s, p));
    const Value *got = grun_result(r, i);
    Var v = r->g->outputs.p[i].var;
    const Type *t = r->collect ? value_type(r->s, got) : NULL;
    const Type *loose = type_of_any_shape(r->s, t ? t : var_type(r->g, v));
    Value want = {0};
    if (!value_compile(r->s, value, loose, (Filter){.allow_downcast = 1}, p, &want))
        return false;
    int64_t where;
    bool same = compare_values(r->s, got, &want, comparison_of(r, v), &where);
    if (!same) {
        fail(r->s, text, E_VERDICT, "%s is not as expected", p);
        compare_note(r->s, got, "got", &want, "expected", where);
    }
    value_unref(&want);
    return same;
}

bool grun_check_expected(GraphRun *r) {
    bool ok = true;
    for (size_t i = 0; i < r->spec->nexpect; i++) {
        size_t before = diag_count(r->s);
        if (check_expectation(r, r->spec->expect[i])) continue;
        ok = false;
        if (diag_get(r->s, before)->code != E_VERDICT)
            return false; /* report all mismatches, but stop at a usage error */
    }
    return ok;
}
