/* Rewriting changes no result: every call, elementwise work around it and its gradient
 * give the same before and after each mode, with sizes known and unknown. */
#include "gen.h"
#include "rewrite/rewrite.h"

enum { OUTPUTS = 2 + INPUTS };
typedef enum Kind { USUAL, UNKNOWN_SIZES, NAMED_SIZES, SPECIAL_VALUES } Kind;

/* What is run: the call, the call among elementwise ops (they fuse), gradients. */
static void add_output(Case *c, const char *label, Var v) {
    if (v == VAR_NONE || var_is_null(c->g, v)) return;
    Output o = {sym(c->s, label), v};
    vec_push(c->s, &c->g->outputs, o);
}

static Var text_of(Case *c, const char *text, Var f) {
    Bind bind = {sym(c->s, "f"), f};
    Env env = {.n = 1, .bind = &bind};
    bool ok = true;
    Var v = template_build(&c->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

static void add_gradients(Case *c) {
    static const GradOptions how = {.disconnected = GRAD_IGNORE,
                                    .return_disconnected = GRAD_NONE,
                                    .null = NULL_RETURN};
    static const char *const label[] = {"grad_a", "grad_b", "grad_c"};
    Var wrt[INPUTS], grad[INPUTS];
    size_t n = 0;
    bool complex = dtype_is_complex(var_type(c->g, c->out)->dtype);
    Var cost =
        text_of(c, complex ? "sum(real(f) ** 2 + 3 * imag(f))" : "sum(f * f)", c->out);
    for (size_t i = 0; i < c->nin; i++)
        if (spec_varies(&c->spec[i])) wrt[n++] = c->in[i];
    if (cost == VAR_NONE || !ad_grad(&c->b, cost, (VarList){n, wrt}, &how, grad))
        return;
    for (size_t i = 0; i < n; i++)
        add_output(c, label[i], grad[i]);
}

static bool build(Case *c, Kind kind) {
    if (!case_build(c, kind != UNKNOWN_SIZES && kind != NAMED_SIZES)) return false;
    add_output(c, "call", c->out);
    DType d = var_type(c->g, c->out)->dtype;
    if (d != DT_BOOL)
        add_output(c, "around", text_of(c, "(f + 1) * f - 2 * f", c->out));
    if (kind != SPECIAL_VALUES && dtype_is_inexact(c->dtype) && dtype_is_inexact(d) &&
        !(c->row->flags & NO_GRAD) && c->nin > 0)
        add_gradients(c);
    diag_clear(c->s);
    return true;
}

static size_t run_outputs(Case *c, Graph *g, Value out[OUTPUTS], bool *ok) {
    Job j = {.plan = plan_new(g, &(PlanOptions){.threads = 1})};
    *ok = j.plan != NULL;
    if (!*ok) return 0;
    j.m = vm_new(j.plan);
    *ok = job_run(&j, c);
    for (size_t i = 0; *ok && i < g->outputs.n; i++)
        value_copy_view(&out[i], vm_output(j.m, i));
    job_close(&j);
    return g->outputs.n;
}

static Approx tolerance(DType d) {
    double r = d == DT_FLOAT16                        ? 5e-2
               : d == DT_FLOAT32 || d == DT_COMPLEX64 ? 1e-4
                                                      : 1e-9;
    return (Approx){.rtol = r, .atol = r};
}

static void compare(Case *c, Graph *h, const char *mode, const Value *want, size_t n) {
    Value have[OUTPUTS] = {{0}};
    bool ok;
    size_t m = run_outputs(c, h, have, &ok);
    CHECK(ok && m == n, "%s of %s (%s), %s: %s", c->row->text, c->row->in,
          dtype_name(c->dtype), mode, why(c->s));
    for (size_t i = 0; ok && i < n; i++) {
        CHECK(tensor_approx(&have[i].t, &want[i].t, tolerance(want[i].t.dtype), NULL),
              "%s of %s (%s), %s: %s is %s, not %s", c->row->text, c->row->in,
              dtype_name(c->dtype), mode, sym_text(c->s, c->g->outputs.p[i].label),
              shown(c->s, &have[i].t), shown(c->s, &want[i].t));
        value_unref(&have[i]);
    }
}

static void test_case(Session *s, const Sample *row, DType d, Kind kind,
                      uint64_t *fired) {
    static const char *const modes[] = {"FAST_RUN", "FAST_COMPILE", "STABILIZE"};
    Case c = case_of(s, row, d);
    Value want[OUTPUTS] = {{0}};
    bool ok = false;
    size_t n = 0;
    c.named = kind == NAMED_SIZES;
    if (build(&c, kind)) {
        case_tensors(&c, 0);
        for (size_t i = 0; kind == SPECIAL_VALUES && i < c.nin; i++)
            if (spec_varies(&c.spec[i])) fill_special(&c.t[i], i, true);
        n = run_outputs(&c, c.g, want, &ok);
    }
    size_t nmodes = d == DT_FLOAT64 ? sizeof modes / sizeof *modes : 1;
    for (size_t k = 0; ok && k < nmodes; k++) {
        RewriteOptions how = {.query = {.mode = modes[k]}};
        RewriteResult r = {0};
        Graph *h = rewrite_run(c.g, &how, &r);
        *fired += r.fired;
        CHECK(h != NULL, "%s of %s (%s), %s: %s", row->text, row->in, dtype_name(d),
              modes[k], why(s));
        if (!h) continue;
        compare(&c, h, modes[k], want, n);
        graph_free(h);
    }
    for (size_t i = 0; i < n; i++)
        value_unref(&want[i]);
    case_close(&c);
}

int main(int argc, char **argv) {
    static const DType dtypes[] = {DT_FLOAT64, DT_FLOAT32, DT_FLOAT16,    DT_INT64,
                                   DT_INT8,    DT_UINT8,   DT_COMPLEX128, DT_BOOL};
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    Samples *rows = all_rows(s);
    uint64_t before = buffer_bytes_used(s), fired = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (argc > 1 && strcmp(argv[1], rows->row[i].op) != 0) continue;
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            test_case(s, &rows->row[i], dtypes[d], USUAL, &fired);
        test_case(s, &rows->row[i], DT_FLOAT64, UNKNOWN_SIZES, &fired);
        test_case(s, &rows->row[i], DT_FLOAT32, NAMED_SIZES, &fired);
        test_case(s, &rows->row[i], DT_FLOAT64, SPECIAL_VALUES, &fired);
        test_case(s, &rows->row[i], DT_FLOAT32, SPECIAL_VALUES, &fired);
        test_case(s, &rows->row[i], DT_INT32, SPECIAL_VALUES, &fired);
    }
    CHECK(fired > rows->n || argc > 1, "only %llu rewrites", (unsigned long long)fired);
    CHECK(buffer_bytes_used(s) == before, "tensors are left over");
    free(rows);
    session_free(s);
    return TEST_END("prop ops_rewrite");
}
