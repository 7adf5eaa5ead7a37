/* lib/rewrite: what is tried at an Apply by its form. */
#include "op/build.h"
#include "rewrite/rewrite.h"
#include "test.h"
#include "vm/vm.h"

#include <stdlib.h>

static Session *s;

static void die(void *ctx, DiagCode code, const char *message) {
    (void)ctx;
    fprintf(stderr, "panic: %s\n", message);
    exit(diag_exit(code));
}

/* More forms of Applies than are numbered at a time: what comes after them is tried as
 * well. */
static void test_many_forms(void) {
    static const char *const of[] = {
        "negative", "sign",   "square",   "reciprocal", "floor",   "ceil",   "trunc",
        "round",    "exp",    "exp2",     "expm1",      "log",     "log2",   "log10",
        "log1p",    "sqrt",   "cbrt",     "erf",        "erfc",    "erfinv", "erfcinv",
        "erfcx",    "ndtr",   "log_ndtr", "tanh",       "sigmoid", "gamma",  "softplus",
        "log1mexp", "arctan", "gammaln",  "digamma",    "sin",     "cos",    "tan",
        "arcsin",   "arccos", "sinh",     "cosh",       "arcsinh", "arctanh"};
    enum { MADE = sizeof of / sizeof *of, FORMS = MADE * MADE * MADE };
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    Var x = graph_input(g, sym(s, "x"), type_parse(s, "float64[k]", 10, NOWHERE)),
        y[MADE], one = const_number(&b, DT_FLOAT64, 1);
    for (int i = 0; i < MADE; i++)
        y[i] = op_call1(&b, of[i], x);
    for (int i = 0; i < FORMS + MADE; i++) {
        Var v = i < FORMS ? op_call3(&b, "clip", y[i % MADE], y[i / MADE % MADE],
                                     y[i / MADE / MADE])
                          : op_call2(&b, "multiply", y[i - FORMS], one);
        char name[20];
        snprintf(name, sizeof name, "out%d", i);
        vec_push(s, &g->outputs, ((Output){sym(s, name), v}));
    }
    const char *const no[] = {"fusion"};
    RewriteResult r;
    Graph *h =
        rewrite_run(g, &(RewriteOptions){.query = {.nexclude = 1, .exclude = no}}, &r);
    CHECK(h != NULL, "%zu diagnostics", diag_count(s));
    for (size_t i = FORMS; h && i < FORMS + MADE; i++) {
        ApplyId a = var_owner(h, h->outputs.p[i].var);
        CHECK(strcmp(h->apply[a].op->name, "multiply") != 0, "output %zu", i);
    }
    graph_free(h);
    graph_free(g);
}

int main(void) {
    s = session_new(die, NULL);
    vm_open(s);
    test_many_forms();
    session_free(s);
    return TEST_END("form");
}
