/* What derivatives, rows and rewriting do when a part of what they build can't be had:
 * each call that builds an Apply or a constant for them fails once, wherever it is
 * first come to by the same innermost calls. The result is as usual, made otherwise,
 * or there is none and exactly one error.
 *
 *     building [OP]      DEPTH=n: as many calls tell one way from another
 *
 * The linker gives us the calls (Makefile: BUILD_WRAP). */
#include "failing_calls.h"
#include "gen.h"
#include "rewrite/rewrite.h"
#include "vmap/vmap.h"

enum { DEPTH = 6, ROWS_N = 3 };

/* ---- what is built ---- */

typedef enum Stage { REVERSE, FORWARD, FORWARD_BY_PULLBACKS, BATCH, REWRITE } Stage;
static const char *const stage_names[] = {"reverse", "forward", "forward by pullbacks",
                                          "batch", "rewrite"};
typedef struct Kind {
    Stage stage;
    DType dtype;
    bool known;
    unsigned mask; /* inputs with rows */
} Kind;

/* ---- expressions with declarations ---- */

/* Loops that passes change; algebra.tsv has the rest. */
static const Sample loops[] = {
    {NULL, "sum(scan(lambda r: r * sum(w ** 2), sequences=[x]))",
     "x: float64[n, 3]; w: float64[3]", 0},
    {NULL, "scan(lambda r, a: a + r @ w, sequences=[x], outputs_info=[y])[-1]",
     "x: float64[n, 3, 3]; w: float64[3, 3]; y: float64[3, 3]", 0},
    {NULL, "sum(scan(lambda r, a: a * 0.5 + exp(r), sequences=[x], outputs_info=[y]))",
     "x: float64[4, 3]; y: float64[3]", 0},
    {NULL, "scan(lambda r: sin(r) @ w, sequences=[x])[2]",
     "x: float64[n, 3]; w: float64[3, 2]", 0},
    {NULL,
     "scan(lambda r, a: [a + r, r * 2.], sequences=[x], outputs_info=[y, None])[1]",
     "x: float64[n, 3]; y: float64[3]", 0},
    {NULL, "scan(lambda a: [a * 2., until(sum(a) > 9)], outputs_info=[y], n_steps=7)",
     "y: float64[3]", 0},
    {NULL, "scan(lambda p, q: p + q, sequences=[taps(x, [-1, 0])])[1:]",
     "x: float64[n]", 0},
    {NULL,
     "scan(lambda a, b: a * b + x[0], outputs_info=[taps(x, [-2, -1])], n_steps=5)",
     "x: float64[2]", 0},
    {NULL, "sum(map(lambda r: r * 2., x)) + sum(map(lambda r: r + 1., x))",
     "x: float64[n, 3]", 0},
    {NULL, "foldl(lambda r, a: a + outer(r, r), x, zeros((3, 3)))", "x: float64[n, 3]",
     0},
    {NULL,
     "reduce(lambda r, a: a * sum(r), x, 1.) + foldr(lambda r, a: a * r[0], x, 1.)",
     "x: float64[n, 3]", 0},
    {NULL,
     "map(lambda r: scan(lambda e, q: q + e * w, sequences=[r], "
     "outputs_info=[w])[-1], x)",
     "x: float64[n, 3]; w: float64[2]", 0},
    {NULL, "scan(lambda a: a @ w, outputs_info=[y], n_steps=0)[:1]",
     "y: float64[2]; w: float64[2, 2]", 0},
    {NULL, "ifelse(sum(x) > 0, exp(x) * 2., x * sum(w))",
     "x: float64[n]; w: float64[n]", 0},
    {NULL, "ifelse(sum(x) > 0, [x, w], [w, x])[0] + vectorize(lambda e: e * sum(w))(x)",
     "x: float64[n]; w: float64[n]", 0},
    {NULL, "jacobian(sin(x) * sum(w), x) @ w", "x: float64[3]; w: float64[3]", 0},
    {NULL,
     "grad(sum(scan(lambda r, a: tanh(a @ w + r), sequences=[x], "
     "outputs_info=[y])), w)",
     "x: float64[n, 3]; y: float64[3]; w: float64[3, 3]", 0},
    {NULL, "reap(lambda v: sow(v * w, tag='t', name='k'), tag='t')(x)['k']",
     "x: float64[n]; w: float64", 0},
    {NULL, "csr_from_dense(x) @ w", "x: float64[n, 3]; w: float64[3, 2]", 0},
    {NULL, "list_stack(list_append(make_list(x, w), x * 2.))",
     "x: float64[3]; w: float64[3]", 0}};

/* "x: float64[n]; w: int64": false: there are more inputs than there is room for. */
static bool declare(Case *c) {
    const char *p = c->row->in;
    for (c->nin = 0; *p; c->nin++) {
        size_t end = strcspn(p, ";"), name = strcspn(p, ":");
        if (c->nin == INPUTS) return false;
        const Type *t = type_parse(c->s, p + name + 1, end - name - 1, NOWHERE);
        CHECK(t != NULL, "%s: %s", c->row->in, why(c->s));
        if (!t) return false;
        Sym y = sym_n(c->s, p, name);
        c->in[c->nin] = graph_input(c->g, y, t);
        c->spec[c->nin].kind = dtype_is_inexact(t->dtype) ? 'r' : 'i';
        p += end;
        p += strspn(p, "; ");
    }
    return true;
}

static bool expression_build(Case *c) {
    c->g = graph_new(c->s);
    c->b = builder(c->g, true);
    if (!declare(c)) return c->nin = 0, false;
    Compiler *k = compiler_new(&c->b);
    size_t n = strlen(c->row->text);
    Span at = {source_add(c->s, "row", c->row->text, n), 0, (uint32_t)n};
    bool ok = compiler_expr(k, at, NULL, &c->out);
    compiler_free(k);
    CHECK(ok, "%s: %s", c->row->text, why(c->s));
    return ok;
}

/* ---- derivatives, rows, rewriting ---- */

static Var cost_of(Case *c, Var f) {
    bool complex = dtype_is_complex(var_type(c->g, f)->dtype), ok = true;
    Bind bind = {sym(c->s, "f"), f};
    Env env = {.n = 1, .bind = &bind};
    Var v = template_build(
        &c->b, complex ? "sum(real(f) ** 2 + 3 * imag(f))" : "sum(f * f)", &env, &ok);
    return ok ? v : VAR_NONE;
}

static size_t varying(const Case *c, Var wrt[INPUTS]) {
    size_t n = 0;
    for (size_t i = 0; i < c->nin; i++)
        if (spec_varies(&c->spec[i])) wrt[n++] = c->in[i];
    return n;
}

static bool differentiate(Case *c, Stage stage, Var grad[INPUTS]) {
    static const GradOptions how = {.disconnected = GRAD_IGNORE,
                                    .return_disconnected = GRAD_NONE,
                                    .null = NULL_RETURN};
    Var wrt[INPUTS], tangent[INPUTS], cost = cost_of(c, c->out);
    size_t n = varying(c, wrt);
    if (cost == VAR_NONE || n == 0) return diag_clear(c->s), true; /* nothing to do */
    for (size_t i = 0; i < n; i++) {
        grad[i] = VAR_NONE;
        tangent[i] = wrt[i];
    }
    failing_begin();
    return stage == REVERSE ? ad_grad(&c->b, cost, (VarList){n, wrt}, &how, grad)
                            : ad_jvp(&c->b, (VarList){1, &cost}, (VarList){n, wrt},
                                     tangent, stage == FORWARD_BY_PULLBACKS, grad);
}

static bool batch(Case *c, unsigned mask) {
    Var var[INPUTS], with[INPUTS], out;
    size_t n = 0;
    bool rows;
    for (size_t i = 0; i < c->nin; i++) {
        if (!(mask >> i & 1)) continue;
        const Type *t = var_type(c->g, c->in[i]);
        Dim dim[MAX_NDIM + 1] = {ROWS_N};
        for (int k = 0; k < t->ndim; k++)
            dim[k + 1] = t->dim[k];
        Sym name = sym(c->s, (const char *[]){"a_rows", "b_rows", "c_rows"}[i]);
        var[n] = c->in[i];
        with[n++] =
            graph_input(c->g, name, type_tensor(c->s, t->dtype, t->ndim + 1, dim));
    }
    Var size = shape_of(&c->b, with[0], 0);
    failing_begin();
    return vmap_graph(&c->b, &(VmapRows){{n, var}, with, NULL, size, false},
                      &(VmapWant){{1, &c->out}, 1}, &out, &rows);
}

static void add_output(Case *c, const char *label, Var v) {
    if (v == VAR_NONE || var_is_null(c->g, v)) return;
    Output o = {sym(c->s, label), v};
    vec_push(c->s, &c->g->outputs, o);
}

static bool rewrite(Case *c) {
    static const char *const label[] = {"grad_a", "grad_b", "grad_c"};
    Var grad[INPUTS] = {VAR_NONE, VAR_NONE, VAR_NONE};
    bool was = ways.noting;
    size_t at = plan.at;
    ways.noting = false, plan.at = 0;
    bool ok = differentiate(c, REVERSE, grad);
    ways.noting = was, plan.at = at;
    add_output(c, "call", c->out);
    for (size_t i = 0; ok && i < INPUTS; i++)
        add_output(c, label[i], grad[i]);
    diag_clear(c->s);
    failing_begin();
    Graph *h = rewrite_run(c->g, &(RewriteOptions){.query = {.mode = "FAST_RUN"}},
                           &(RewriteResult){0});
    if (h) graph_free(h);
    return h != NULL;
}

static bool work(Case *c, const Kind *k) {
    Var grad[INPUTS];
    switch (k->stage) {
    case REVERSE:
    case FORWARD:
    case FORWARD_BY_PULLBACKS:
        return differentiate(c, k->stage, grad);
    case BATCH:
        return batch(c, k->mask);
    case REWRITE:
        return rewrite(c);
    }
    return false;
}

/* ---- one try ---- */

typedef struct Trial {
    Session *s;
    const Sample *row;
    const Kind *k;
    Case *c;
} Trial;

static bool work_on(void *ctx) {
    const Trial *t = ctx;
    return work(t->c, t->k);
}

static void attempt(void *ctx, size_t at) {
    Trial t = *(Trial *)ctx;
    const Sample *row = t.row;
    Case c = row->op ? case_of(t.s, row, t.k->dtype) : (Case){.row = row, .s = t.s};
    if (row->op ? case_build(&c, t.k->known) : expression_build(&c)) {
        char name[1000];
        snprintf(name, sizeof name, "%s of %s (%s), %s", row->text, row->in,
                 dtype_name(t.k->dtype), stage_names[t.k->stage]);
        diag_clear(t.s);
        t.c = &c;
        failing_try(t.s, at, name, work_on, &t);
    }
    case_close(&c);
}

static void test_kind(Session *s, const Sample *row, const Kind *k, const void *of) {
    failing_each(of, attempt, &(Trial){.s = s, .row = row, .k = k});
}

static void test_row(Session *s, const Sample *row) {
    static const DType dtypes[] = {DT_FLOAT64, DT_COMPLEX128};
    const void *of = op_find(s, row->op, strlen(row->op));
    Spec spec[INPUTS];
    size_t nin = read_specs(row->in, spec);
    for (int i = 0; i < 4; i++) {
        DType d = dtypes[i / 2];
        bool known = i % 2 == 0;
        for (Stage t = REVERSE; t <= FORWARD_BY_PULLBACKS; t++)
            if (!(row->flags & NO_GRAD)) test_kind(s, row, &(Kind){t, d, known, 0}, of);
        for (unsigned mask = 1; mask < 1U << nin; mask++)
            test_kind(s, row, &(Kind){BATCH, d, known, mask}, of);
        test_kind(s, row, &(Kind){REWRITE, d, known, 0}, of);
    }
}

static void test_expression(Session *s, const Sample *row) {
    for (Stage t = REVERSE; t <= FORWARD_BY_PULLBACKS; t++)
        test_kind(s, row, &(Kind){t, DT_FLOAT64, true, 0}, row->text);
    test_kind(s, row, &(Kind){REWRITE, DT_FLOAT64, true, 0}, row->text);
}

/* inputs|expression|... */
static void test_table(Session *s, const char *path) {
    FILE *f = fopen(path, "r");
    char line[2000];
    size_t n = 0;
    CHECK(f != NULL, "%s can't be read", path);
    while (f && fgets(line, sizeof line, f)) {
        char *text = strchr(line, '|'), *end = text ? strchr(text + 1, '|') : NULL;
        if (*line == '#' || !end) continue;
        *text = *end = '\0';
        Sample row = {NULL, arena_str(session_arena(s), text + 1, strlen(text + 1)),
                      arena_str(session_arena(s), line, strlen(line)), 0};
        test_expression(s, &row);
        n++;
    }
    CHECK(n > 100, "%s has %zu rows", path, n);
    if (f) fclose(f);
}

static void test_expressions(void) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        test_expression(s, &loops[i]);
    test_table(s, "tests/bats/algebra.tsv");
    session_free(s);
}

int main(int argc, char **argv) {
    failing_open(argv, DEPTH);
    if (argc < 2) test_expressions();
    return rows_test(argc, argv, 1, test_row, "prop building");
}
