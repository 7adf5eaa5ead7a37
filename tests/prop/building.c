/* What derivatives, rows and rewriting do when a part of what they build can't be had:
 * each call that builds an Apply or a constant for them fails once, wherever it is
 * first come to by the same innermost calls. The result is as usual, made otherwise,
 * or there is none and exactly one error.
 *
 *     building [OP]      DEPTH=n: as many calls tell one way from another
 *
 * The linker gives us the calls (Makefile: BUILD_WRAP). */
#include "failing_build.h"
#include "gen.h"
#include "rewrite/rewrite.h"
#include "vmap/vmap.h"
#include "ways.h"

#include <setjmp.h>
#include <signal.h>

enum { DEPTH = 6, ROWS_N = 3 };

/* ---- what fails ---- */

static struct {
    bool running;
    size_t at, n;            /* 0: none; so far */
    void *from[WAY_DEEPEST]; /* where it struck */
    int nfrom;
} plan;

static bool build_fails(void) {
    if (!plan.running) return false;
    way_note(++plan.n);
    if (plan.n != plan.at) return false;
    plan.nfrom = backtrace(plan.from, WAY_DEEPEST);
    return true;
}

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
    if (cost == VAR_NONE || n == 0) return true; /* nothing to do */
    for (size_t i = 0; i < n; i++) {
        grad[i] = VAR_NONE;
        tangent[i] = wrt[i];
    }
    plan.running = plan.at || ways.noting;
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
    plan.running = plan.at || ways.noting;
    return vmap_graph(&c->b, &(VmapRows){{n, var}, with, NULL, size},
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
    plan.running = plan.at || ways.noting;
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

static const char *program;
static sigjmp_buf back;
static void on_crash(int sig) {
    if (plan.running) siglongjmp(back, sig);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void attempt(Session *s, const Sample *row, const Kind *k, size_t at) {
    Case c = case_of(s, row, k->dtype);
    if (case_build(&c, k->known)) {
        diag_clear(s);
        plan.at = at, plan.n = 0;
        bool crashed = sigsetjmp(back, 1) != 0, ok = !crashed && work(&c, k);
        plan.running = false;
        size_t errors = 0;
        for (size_t i = 0; i < diag_count(s); i++)
            errors += diag_get(s, i)->severity == DIAG_ERROR;
        if (at)
            CHECK(!crashed && errors == (ok ? 0u : 1u),
                  "%s of %s (%s), %s, call %zu: %zu errors, and it %s: %s", row->text,
                  row->in, dtype_name(k->dtype), stage_names[k->stage], at, errors,
                  crashed ? "crashes"
                  : ok    ? "works"
                          : "fails",
                  way_names(program, plan.nfrom, plan.from));
        plan.at = 0;
    }
    case_close(&c);
}

static void test_kind(Session *s, const Sample *row, const Kind *k) {
    ways.nfresh = 0;
    attempt(s, row, k, 0); /* fills what lasts as long as the session */
    ways.noting = true;
    attempt(s, row, k, 0);
    ways.noting = false;
    for (size_t i = 0; i < ways.nfresh; i++)
        attempt(s, row, k, ways.fresh[i]);
}

static void test_row(Session *s, const Sample *row) {
    static const DType dtypes[] = {DT_FLOAT64, DT_COMPLEX128};
    ways.of = op_find(s, row->op, strlen(row->op));
    Spec spec[INPUTS];
    size_t nin = read_specs(row->in, spec);
    for (int i = 0; i < 4; i++) {
        DType d = dtypes[i / 2];
        bool known = i % 2 == 0;
        for (Stage t = REVERSE; t <= FORWARD_BY_PULLBACKS; t++)
            if (!(row->flags & NO_GRAD)) test_kind(s, row, &(Kind){t, d, known, 0});
        for (unsigned mask = 1; mask < 1U << nin; mask++)
            test_kind(s, row, &(Kind){BATCH, d, known, mask});
        test_kind(s, row, &(Kind){REWRITE, d, known, 0});
    }
}

int main(int argc, char **argv) {
    const char *depth = getenv("DEPTH");
    ways_open(depth ? strtoul(depth, NULL, 10) : DEPTH);
    program = argv[0];
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    return rows_test(argc, argv, 1, test_row, "prop building");
}
