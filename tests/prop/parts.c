/* What lib/part says of a call: if a result can be put together from parts of the rows,
 * then doing so gives what the call gives for all rows; so does what it becomes in
 * shards. Every call is tried with each choice of inputs that are cut, alone and within
 * other ops, with its gradients. */
#include "parts.h"

static void add_output(Case *c, const char *label, Var v) {
    if (v == VAR_NONE || var_type(c->g, v)->kind != TYPE_TENSOR) return;
    Output o = {sym(c->s, label), v};
    vec_push(c->s, &c->g->outputs, o);
}

static void add_text(Case *c, const char *text) {
    Bind bind = {sym(c->s, "f"), c->out};
    Env env = {.n = 1, .bind = &bind};
    bool ok = true;
    Var v = template_build(&c->b, text, &env, &ok);
    if (ok) add_output(c, text, v);
    diag_clear(c->s);
}

static void add_gradients(Case *c, const char *text) {
    static const GradOptions how = {.disconnected = GRAD_IGNORE,
                                    .return_disconnected = GRAD_NONE,
                                    .null = NULL_RETURN};
    Var wrt[INPUTS], grad[INPUTS] = {VAR_NONE, VAR_NONE, VAR_NONE};
    Bind bind = {sym(c->s, "f"), c->out};
    Env env = {.n = 1, .bind = &bind};
    size_t n = 0;
    bool ok = true;
    Var cost = template_build(&c->b, text, &env, &ok);
    for (size_t i = 0; i < c->nin; i++)
        if (spec_varies(&c->spec[i])) wrt[n++] = c->in[i];
    if (!ok || cost == VAR_NONE || !n ||
        !ad_grad(&c->b, cost, (VarList){n, wrt}, &how, grad))
        n = 0;
    for (size_t i = 0; i < n; i++)
        add_output(c, text, grad[i]);
    diag_clear(c->s);
}

/* Builds the call with the leading dims of the chosen inputs named. */
static bool build(Case *c, unsigned cut, bool named) {
    static const char *const around[] = {
        "(f + 1) * f - 2 * f", "sum(f)", "mean(f)", "max(f)", "any(f > 0)",
        "stack([sum(f), 0])"};
    Bind bind[INPUTS];
    bool ok = true;
    c->g = graph_new(c->s);
    c->b = builder(c->g, true);
    for (size_t i = 0; i < c->nin; i++) {
        Dim dim[MAX_NDIM];
        const Spec *q = &c->spec[i];
        for (int k = 0; k < q->ndim; k++)
            dim[k] =
                named && q->shape[k] != 1 ? size_name(c->s, q->shape[k]) : q->shape[k];
        if (cut >> i & 1) dim[0] = DIM_NAMED(sym(c->s, "rows"));
        Sym name = sym(c->s, (const char *[]){"a", "b", "c"}[i]);
        c->in[i] =
            graph_input(c->g, name, type_tensor(c->s, case_dtype(c, i), q->ndim, dim));
        bind[i] = (Bind){name, c->in[i]};
    }
    Env env = {.n = c->nin, .bind = bind};
    c->out = template_build(&c->b, c->row->text, &env, &ok);
    if (!ok || c->out == VAR_NONE || var_type(c->g, c->out)->kind != TYPE_TENSOR)
        return false;
    add_output(c, "call", c->out);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        add_text(c, around[i]);
    if (dtype_is_inexact(c->dtype) &&
        !dtype_is_complex(var_type(c->g, c->out)->dtype) &&
        dtype_is_inexact(var_type(c->g, c->out)->dtype) && !(c->row->flags & NO_GRAD)) {
        add_gradients(c, "mean(f * f)");
        add_gradients(c, "sum(f * f)");
    }
    return true;
}

static void test_cut(Session *s, const Sample *row, DType d, unsigned cut, bool named) {
    Case c = case_of(s, row, d);
    int64_t n = common_rows(&c, cut);
    if (n < 2 || n > 7) return;
    bool flag[INPUTS] = {cut & 1, cut >> 1 & 1, cut >> 2 & 1};
    Arena *a = arena_new(s);
    Part *p = build(&c, cut, named) ? part_graph(c.g, a, flag) : NULL;
    diag_clear(s);
    if (p) case_tensors(&c, 0);
    if (p) compare_outputs(&c, cut, p, n);
    arena_free(a);
    case_close(&c);
}

static void test_row(Session *s, const Sample *row) {
    static const DType dtypes[] = {DT_FLOAT64, DT_FLOAT32,    DT_INT64, DT_INT8,
                                   DT_UINT8,   DT_COMPLEX128, DT_BOOL};
    Spec spec[INPUTS];
    size_t nin = read_specs(row->in, spec);
    for (unsigned cut = 1; cut < 1u << nin; cut++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            test_cut(s, row, dtypes[d], cut, false);
        test_cut(s, row, DT_FLOAT64, cut, true);
    }
}

int main(int argc, char **argv) {
    int failed = rows_test(argc, argv, 1, test_row, "prop parts");
    CHECK(argc > 1 || merged > 10000, "only %llu results were put together", merged);
    CHECK(argc > 1 || sharded > 5000, "only %llu results were split", sharded);
    CHECK(argc > 1 || blocked > 5000, "only %llu results came by rows", blocked);
    return failed || TEST_END("prop parts, counted");
}
