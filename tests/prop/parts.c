/* What lib/part says of a call: if a result can be put together from parts of the rows,
 * then doing so gives what the call gives for all rows; so does what it becomes in
 * shards. Every call is tried with each choice of inputs that are cut, alone and within
 * other ops, with its gradients. */
#include "gen.h"
#include "part/part.h"
#include "rewrite/rewrite.h"

enum { SHARDS = 4 };
static unsigned long long merged, sharded;

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

/* Runs the graph on rows [from, to) of the inputs that are cut. */
static bool run_rows(Case *c, unsigned cut, int64_t from, int64_t to, size_t n,
                     const Var *want, Tensor *out) {
    Tensor all[INPUTS];
    Job j;
    memcpy(all, c->t, sizeof all);
    for (size_t i = 0; i < c->nin; i++)
        if (cut >> i & 1) {
            c->t[i].data = (char *)c->t[i].data + from * c->t[i].stride[0];
            c->t[i].shape[0] = to - from;
        }
    bool ok = job_open(&j, c, n, want, false) && job_run(&j, c);
    for (size_t i = 0; ok && i < n; i++)
        ok = tensor_clone(c->s, &vm_output(j.m, i)->t, &out[i]);
    job_close(&j);
    memcpy(c->t, all, sizeof all);
    return ok;
}

static Approx tolerance(DType d) {
    double r = d == DT_FLOAT16                        ? 5e-2
               : d == DT_FLOAT32 || d == DT_COMPLEX64 ? 1e-4
                                                      : 1e-9;
    return (Approx){.rtol = r, .atol = r};
}

/* Puts output k together from parts with these bounds. */
static void compare(Case *c, unsigned cut, size_t k, const Part *how,
                    const int64_t *bound, size_t n) {
    const Output *o = &c->g->outputs.p[k];
    Tensor whole = {0}, piece[8] = {{0}}, made = {0};
    int64_t rows[8];
    bool ok = run_rows(c, cut, 0, bound[n], 1, &o->var, &whole);
    diag_clear(c->s);
    for (size_t i = 0; ok && i < n; i++) {
        rows[i] = bound[i + 1] - bound[i];
        bool ran = run_rows(c, cut, bound[i], bound[i + 1], 1, &o->var, &piece[i]);
        CHECK(ran, "%s of %s, cut %u: %s of a part: %s", c->row->text, c->row->in, cut,
              sym_text(c->s, o->label), why(c->s));
        ok = ran;
    }
    if (ok && part_merge(c->s, how, n, piece, rows, &made)) {
        merged++;
        CHECK(tensor_approx(&made, &whole, tolerance(whole.dtype), NULL),
              "%s of %s (%s), cut %u in %zu: %s, %s, is %s, not %s", c->row->text,
              c->row->in, dtype_name(c->dtype), cut, n, sym_text(c->s, o->label),
              part_text(session_arena(c->s), how), shown(c->s, &made),
              shown(c->s, &whole));
    }
    tensor_unref(&whole);
    tensor_unref(&made);
    for (size_t i = 0; i < n; i++)
        tensor_unref(&piece[i]);
}

/* Output k alone, of inputs in shards; NULL: it can't be split. */
static Graph *in_shards(Case *c, unsigned cut, size_t k) {
    Var split[INPUTS];
    size_t n = 0;
    for (size_t i = 0; i < c->nin; i++)
        if (cut >> i & 1) split[n++] = c->in[i];
    Output *all = c->g->outputs.p;
    size_t nall = c->g->outputs.n;
    c->g->outputs.p = &all[k];
    c->g->outputs.n = 1;
    Graph *g = rewrite_parallel(c->g, &(ParallelOptions){{n, split}, SHARDS, 0});
    c->g->outputs.p = all;
    c->g->outputs.n = nall;
    return g;
}

/* Each shard draws from a stream of its own. */
static void compare_shards(Case *c, unsigned cut, size_t k, int64_t rows) {
    if (strcmp(c->row->op, "draw") == 0) return;
    const Output *o = &c->g->outputs.p[k];
    Tensor whole = {0}, made = {0};
    Case in = *c;
    in.g = in_shards(c, cut, k);
    diag_clear(c->s);
    if (in.g && run_rows(c, cut, 0, rows, 1, &o->var, &whole)) {
        bool ran = run_rows(&in, cut, 0, rows, 1, &in.g->outputs.p[0].var, &made);
        bool narrow = strstr(c->row->text, "float32"); /* on the way */
        sharded++;
        CHECK(ran && tensor_approx(&made, &whole,
                                   tolerance(narrow ? DT_FLOAT32 : whole.dtype), NULL),
              "%s of %s (%s), cut %u: %s in shards is %s, not %s", c->row->text,
              c->row->in, dtype_name(c->dtype), cut, sym_text(c->s, o->label),
              ran ? shown(c->s, &made) : why(c->s), shown(c->s, &whole));
    }
    tensor_unref(&whole);
    tensor_unref(&made);
    graph_free(in.g);
}

/* The rows that these inputs have in common; 0: none. */
static int64_t common_rows(const Case *c, unsigned cut) {
    int64_t n = 0;
    for (size_t i = 0; i < c->nin; i++) {
        if (!(cut >> i & 1)) continue;
        if (!c->spec[i].ndim || (n && c->spec[i].shape[0] != n)) return 0;
        n = c->spec[i].shape[0];
    }
    return n;
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
    int64_t two[] = {0, n - 1, n}, each[9];
    for (int64_t i = 0; i <= n; i++)
        each[i] = i;
    for (size_t k = 0; p && k < c.g->outputs.n; k++) {
        const Part *how = &p[c.g->outputs.p[k].var];
        compare_shards(&c, cut, k, n);
        if (!part_can_merge(how)) continue;
        compare(&c, cut, k, how, two, 2);
        compare(&c, cut, k, how, each, (size_t)n);
    }
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
    return failed || TEST_END("prop parts, counted");
}
