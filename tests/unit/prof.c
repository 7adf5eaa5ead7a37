/* Profiles against hand counts: polynomials, flops of ops, bytes, functions, the
 * timeline of memory; the same figures from types and from watched runs. */
#include "io/io.h"
#include "prof/prof_impl.h"
#include "test.h"
#include "tools/tools.h"

#include <math.h>

/* ---- polynomials ---- */
static const char *shown(Session *s, const Poly *p) {
    Str b = STR(s);
    poly_text(s, p, &b);
    const char *text = arena_str(session_arena(s), str_text(&b), b.n);
    str_free(&b);
    return text;
}

static void test_poly(Session *s) {
    Arena *a = session_arena(s);
    const Poly *n = poly_dim(a, sym(s, "n")), *m = poly_dim(a, sym(s, "m")),
               *two = poly_number(a, 2), *minus = poly_number(a, -1);
    double v;
    CHECK_STR(shown(s, n), "n");
    CHECK_STR(shown(s, poly_mul(a, poly_mul(a, n, m), poly_mul(a, two, n))),
              "2*m*n**2");
    CHECK_STR(shown(s, poly_add(a, poly_mul(a, n, n), poly_add(a, two, m))),
              "n**2 + m + 2");
    const Poly *sum = poly_add(a, n, m),
               *difference = poly_add(a, n, poly_mul(a, m, minus));
    CHECK_STR(shown(s, poly_mul(a, sum, difference)), "-m**2 + n**2");
    CHECK_STR(shown(s, poly_add(a, sum, poly_mul(a, sum, minus))), "0");
    CHECK(poly_is_number(poly_add(a, sum, poly_mul(a, sum, minus)), &v) && v == 0);
    CHECK(poly_is_number(two, &v) && v == 2);
    CHECK(!poly_is_number(n, &v) && !poly_is_number(NULL, &v));
    CHECK_STR(shown(s, NULL), "?");
    CHECK(poly_add(a, n, NULL) == NULL && poly_mul(a, NULL, n) == NULL);
    CHECK_STR(shown(s, poly_mul(a, poly_number(a, 0), NULL)), "0");
    CHECK_STR(shown(s, poly_number(a, 0.5)), "0.5");
    CHECK_STR(shown(s, poly_mul(a, poly_number(a, -1.5), n)), "-1.5*n");
    CHECK(poly_at(poly_add(a, poly_mul(a, n, n), two), 10) == 102);
    const Poly *high = n;
    for (int i = 0; i < 20; i++)
        high = poly_mul(a, high, n);
    CHECK(high == NULL);
    CHECK(poly_copy(a, NULL) == NULL);
    CHECK_STR(shown(s, poly_copy(a, sum)), "m + n");
    CHECK_STR(shown(s, poly_power(a, n, 0)), "1");
    CHECK_STR(shown(s, poly_power(a, sum, 2)), "m**2 + 2*m*n + n**2");
    CHECK(!poly_power(a, n, 0.5) && !poly_power(a, n, -1) && !poly_power(a, n, 1e9) &&
          !poly_power(a, n, (double)NAN));
    CHECK_STR(shown(s, poly_mul(a, poly_number(a, 0x1p60), n)),
              "1.152921504606847e+18*n");
    /* what is larger than any number is not known */
    const Poly *big = poly_number(a, 1e308), *line = poly_add(a, n, poly_number(a, 1)),
               *square = poly_add(a, poly_mul(a, n, n), line);
    CHECK(!poly_mul(a, big, big) && !poly_add(a, big, big));
    CHECK(!poly_mul(a, square, poly_mul(a, big, square)));
    const Poly *many = poly_number(a, 0);
    for (int i = 0; i <= POLY_TERMS; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        CHECK(many != NULL, "%d terms", i);
        many = poly_add(a, many, poly_dim(a, sym(s, name)));
    }
    CHECK(many == NULL);
}

/* x is [n, 64], v is [3, 5], u is [?, 5], k is the number 4. */
static bool look_poly(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    Session *s = ctx;
    const char *text = sym_text(s, name);
    const Poly **dim = NEW_N(a, 2, const Poly *);
    *v = (FormulaValue){.is_shape = true, .ndim = 2, .shape = dim};
    if (strcmp(text, "x") == 0)
        dim[0] = poly_dim(a, sym(s, "n")), dim[1] = poly_number(a, 64);
    else if (strcmp(text, "v") == 0)
        *v = formula_shape(a, 2, (int64_t[]){3, 5});
    else if (strcmp(text, "u") == 0)
        dim[1] = poly_number(a, 5);
    else
        *v = formula_number(a, 4);
    return strcmp(text, "nothing") != 0;
}

static const Poly *poly_of(Session *s, const char *text) {
    size_t n = strlen(text);
    Span at = {source_add(s, "formula", text, n), 0, (uint32_t)n};
    const Ast *e = ast_parse(s, session_arena(s), at);
    return formula_poly(s, session_arena(s), e, look_poly, s);
}

static const char *text_of(Session *s, const char *text) {
    return shown(s, poly_of(s, text));
}

static void test_formula(Session *s) {
    static const struct {
        const char *text, *is;
    } rows[] = {
        {"x.size", "64*n"},
        {"2 * x.size * v.shape[-1]", "640*n"},
        {"x.shape[0]**2 / 4 - 3", "0.25*n**2 - 3"},
        {"prod(x.shape[:1]) + x.ndim", "n + 2"},
        {"prod(x.shape[1:]) * k", "256"},
        {"sum(x.shape, 1)", "n + 65"},
        {"-x.shape[0] + n.size", "-n + 1"},
        {"max(v.shape) + min(2, k)", "7"},
        {"sqrt(k) + log2(8) + floor(2.5) + ceil(2.5) + abs(-1)", "11"},
        {"7 // 2 + 7 % 4 + (k > 3) + (k == 3)", "7"},
        {"prod([2, k, x.shape[0]])", "8*n"},
        {"~k + ~0 + +3 + (k > 3 & 1) + (0 | 0)", "5"},
        {"+x.shape[0] + (k & 2) * n.size", "n + 1"},
        {"~x.size", "?"},
        {"x.size & 1", "?"},
        {"max(x.shape)", "?"},
        {"x.shape[0] / x.shape[1]", "0.015625*n"},
        {"1 / x.shape[0]", "?"},
        {"u.size", "?"},
        {"u.shape[1]", "5"},
        {"0 * u.size", "0"},
        {"nothing + 1", "?"},
        {"1 / 0", "?"},
        {"x.shape[2]", "?"},
        {"(x.ndim > 2) * x.shape[2] + x.ndim", "2"},
        {"x.shape[k - x.shape[0]]", "?"},
        {"sum(x.shape[x.shape[0]:])", "?"},
        {"max(7, x.shape[0])", "?"},
        {"min(x.shape[0], 2)", "?"},
        {"sqrt(k, 2) + 1", "?"},
        {"max() + 1", "?"},
        {"sum(x.shape[::2])", "?"},
        {"sin(k)", "?"},
        {"k.shape", "?"},
        {"2 if x.size else 3", "?"},
        {"2 if k > 3 else x.size", "2"},
        {"2 if v else 3", "?"},
        {"not x.size", "?"},
        {"not k", "0"},
        {"x.size and 1", "?"},
        {"k and x.size", "64*n"},
        {"0 < x.size < 2", "?"},
        {"0 < k < x.size", "?"},
        {"5 < k < x.size", "0"},
        {"sqrt(v) + sin(k) + k @ k + k.shape + k[0] + None", "?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_STR(text_of(s, rows[i].text), rows[i].is);
    CHECK(poly_is_negative(poly_of(s, "-x.size")));
    CHECK(poly_is_negative(poly_of(s, "-x.size - 1")));
    CHECK(!poly_is_negative(poly_of(s, "x.size - 1")));
    CHECK(!poly_is_negative(poly_of(s, "0 * x.size")));
    CHECK(!poly_is_negative(poly_of(s, "u.size")));
    CHECK(diag_count(s) == 0);
}

/* The flops of all rows of the catalogue are formulas, with nothing that is unknown. */
typedef struct OfOp {
    Session *s;
    const Op *op;
} OfOp;

static bool names_shape(const OfOp *o, Sym name) {
    const Signature *sig = op_signature(o->s, o->op);
    bool yes = strcmp(sym_text(o->s, name), "r") == 0;
    for (size_t i = 0; i < sig->nin; i++)
        yes |= sig->in[i].name == name && !sig->in[i].rest;
    for (size_t i = 0; o->op->out && i < sig->nout; i++)
        yes |= sig->out[i] == name;
    return yes;
}

static bool names_prop(const OfOp *o, Sym name) {
    const Signature *sig = op_signature(o->s, o->op);
    bool yes = false;
    for (size_t i = 0; i < sig->nprop; i++)
        yes |= sig->prop[i].name == name;
    return yes;
}

static bool look_number(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    *v = names_shape(ctx, name) ? formula_shape(a, 3, (int64_t[]){3, 4, 4})
                                : formula_number(a, 2);
    return names_shape(ctx, name) || names_prop(ctx, name);
}

static void test_catalogue(Session *s) {
    size_t n = 0;
    for (size_t i = 0; i < op_count(s); i++) {
        OfOp o = {s, op_get(s, i)};
        const char *text = o.op->flops;
        double got = -1;
        if (!text) continue;
        Span at = {source_add(s, "flops", text, strlen(text)), 0,
                   (uint32_t)strlen(text)};
        CHECK(formula_span(s, at, look_number, &o, &got) && got >= 0, "%s: %s is %g",
              o.op->name, text, got);
        n++;
    }
    CHECK(n > 20, "%zu", n);
}

/* ---- hand counts ---- */
static Graph *graph_of(Session *s, const char *text) {
    Str b = STR(s);
    str_printf(&b, "thunkline: 1\nname: t\n%s", text);
    Graph *g = io_read_mem(s, "t.yaml", str_text(&b), b.n, NULL);
    str_free(&b);
    CHECK(g != NULL, "%s: %s", text,
          diag_first_error(s) ? diag_first_error(s)->text : "no graph");
    return g;
}

static const char *amount(const Profile *p, ProfileField f) {
    Amount x = p->total[f];
    x.sym =
        poly_add(p->a, x.sym ? x.sym : poly_number(p->a, 0), poly_number(p->a, x.v));
    const char *text = shown(p->s, x.sym);
    return x.unknown ? arena_printf(session_arena(p->s), "%s + ?", text) : text;
}

typedef struct Case {
    const char *graph;
    const char *flops, *math, *read, *written;
} Case;
static const Case cases[] = {
    {"inputs: {a: 'float32[m, k]', b: 'float32[k, n]'}\noutputs: {o: a @ b}\n",
     "2*k*m*n", "0", "4*k*m + 4*k*n", "4*m*n"},
    {"inputs: {a: 'float64[3, 4]', b: 'float64[4, 5]'}\noutputs: {o: a @ b}\n", "120",
     "0", "256", "120"},
    {"inputs: {a: 'float64[3, 4]', b: 'float64[4]'}\noutputs: {o: a @ b}\n", "24", "0",
     "128", "24"},
    {"inputs: {x: 'float64[10]'}\noutputs: {o: exp(x) + x * x}\n", "30", "10", "320",
     "240"},
    {"inputs: {x: 'float32[n]'}\noutputs: {o: sigmoid(x)}\n", "3*n", "n", "4*n", "4*n"},
    {"inputs: {x: 'float32[n, 3]'}\noutputs: {o: 'sum(x, axis=1)'}\n", "3*n", "0",
     "12*n", "4*n"},
    {"inputs: {x: 'float32[n, 3]', b: 'float32[3]'}\noutputs: {o: x - b}\n", "3*n", "0",
     "12*n + 12", "12*n"},
    {"inputs: {x: 'float32[n, 3]'}\noutputs: {o: x.T}\n", "0", "0", "0", "0"},
    {"inputs: {x: 'float32[n, 3]'}\noutputs: {o: x.T @ x}\n", "18*n", "0", "24*n",
     "36"},
    {"inputs: {x: 'float32[n]', y: 'bool[n]'}\noutputs: {o: 'where(y, x, -x)'}\n", "n",
     "0", "13*n", "8*n"},
    {"inputs: {x: 'float32[?]'}\noutputs: {o: x + 1}\n", "0 + ?", "0", "0 + ?",
     "0 + ?"},
    {"inputs: {x: 'float32[n]'}\nfunctions:\n  f:\n    inputs: {a: 'float32[q]'}\n    "
     "let: r = "
     "tanh(a) * a\n    outputs: [r]\nlet: |\n  y = f(x)\n  z = f(y[:4])\noutputs: "
     "[z]\n",
     "2*n + ?", "n + ?", NULL, NULL},
};

static void check_case(Session *s, const Case *c) {
    Graph *g = graph_of(s, c->graph);
    Plan *plan = g ? plan_new(g, &(PlanOptions){0}) : NULL;
    CHECK(plan != NULL);
    if (plan) {
        Profile *p = profile_new(plan, &(PlanOptions){0}, 0, NULL);
        profile_static(p);
        profile_finish(p);
        CHECK_STR(amount(p, PF_flops), c->flops);
        CHECK_STR(amount(p, PF_math_calls), c->math);
        if (c->read) CHECK_STR(amount(p, PF_read_bytes), c->read);
        if (c->written) CHECK_STR(amount(p, PF_written_bytes), c->written);
        profile_free(p);
    }
    plan_free(plan);
    graph_free(g);
    diag_clear(s);
}

/* ---- the same from types and from a run ---- */
static const char *const runnable[] = {
    "inputs: {x: 'float64[n, 6]'}\nshared: {W: 'float64[6, 4] = ones((6, 4))'}\nlet: "
    "|\n"
    "  h = tanh(x @ W)\n  s = sum(exp(h) * h + x[:, :4], axis=0)\n"
    "outputs: [s, h]\nupdates: {W: 0.5 * W}\n",
    "inputs: {x: 'float64[n, 6]'}\nfunctions:\n  f:\n    inputs: {a: 'float64[q, 6]'}\n"
    "    let: r = tanh(a) * a.sum()\n    outputs: [r]\n"
    "let: |\n  y = f(f(x))\n  z = f(y) + y\noutputs: [z]\n",
    "inputs: {x: 'float64[n, 6]'}\noutputs: [x]\n",
};

static void run(Machine *m, Profile *p, int times) {
    for (int i = 0; i < times; i++) {
        VmHooks h = profile_hooks(p);
        profile_call(p, 0.5 + i);
        vm_set_hooks(m, &h);
        CHECK(vm_run(m));
        profile_watched(p);
    }
    vm_set_hooks(m, NULL);
}

static void check_timeline(const Profile *p) {
    Arena *a = arena_new(p->s);
    Timeline t = timeline_new(p, a);
    double most = t.live[t.peak_at].bytes, least = p->total[PF_least_bytes].v;
    if (!p->functions.n) CHECK(most == least, "%g, %g", most, least);
    for (size_t i = 0; i < p->functions.n; i++)
        most += p->functions.p[i].bytes;
    CHECK(most >= least, "%g, %g", most, least);
    arena_free(a);
}

static void check_same(const Profile *x, const Profile *y) {
    static const ProfileField same[] = {PF_flops,         PF_math_calls, PF_read_bytes,
                                        PF_written_bytes, PF_calls,      PF_applies,
                                        PF_peak_bytes,    PF_least_bytes};
    double u, v;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        CHECK(profile_field_number(x, same[i], &u) &&
                  profile_field_number(y, same[i], &v) && u == v,
              "%s: %g, %g", profile_field_name(same[i]), u, v);
}

static void check_run(Session *s, const char *text) {
    Graph *g = graph_of(s, text);
    Plan *plan = plan_new(g, &(PlanOptions){.threads = 1});
    Machine *m = vm_new(plan);
    Value x = {.kind = TYPE_TENSOR};
    double v;
    tensor_zeros(s, DT_FLOAT64, 2, (int64_t[]){7, 6}, &x.t);
    CHECK(vm_set_input(m, 0, &x));
    Profile *ran = profile_new(plan, &(PlanOptions){0}, 0, NULL), *told;
    told = profile_new(plan, &(PlanOptions){0}, 1, &(DimValue){sym(s, "n"), 7});
    if (!plan_steps(plan))
        profile_free(ran),
            ran = profile_new(plan, &(PlanOptions){0}, 1, &(DimValue){sym(s, "n"), 7});
    run(m, ran, 3);
    profile_finish(ran);
    profile_static(told);
    profile_finish(told);
    check_same(ran, told);
    check_timeline(ran);
    check_timeline(told);
    CHECK(profile_field_number(ran, PF_time_s, &v) && v == 1.5);
    CHECK(profile_field_number(ran, PF_time_max_s, &v) && v == 2.5);
    CHECK(!profile_field_number(told, PF_time_s, &v));
    profile_free(ran);
    profile_free(told);
    vm_free(m);
    plan_free(plan);
    value_unref(&x);
    graph_free(g);
}

/* ---- verdicts ---- */
static DiagCode verdict(const Profile *p, const char *text) {
    Session *s = p->s;
    size_t n = strlen(text);
    Span at = {source_add(s, "--assert", text, n), 0, (uint32_t)n};
    diag_clear(s);
    bool ok = profile_assert_check(s, at) && profile_assert(p, at);
    CHECK(ok == (diag_first_error(s) == NULL));
    DiagCode code = ok ? DIAG_N : diag_first_error(s)->code;
    diag_clear(s);
    return code;
}

static void test_verdicts(Session *s) {
    Graph *g = graph_of(s, cases[0].graph);
    Plan *plan = plan_new(g, &(PlanOptions){0});
    DimValue d[] = {{sym(s, "m"), 3}, {sym(s, "k"), 4}, {sym(s, "n"), 5}};
    Profile *p = profile_new(plan, &(PlanOptions){0}, 3, d);
    profile_static(p);
    profile_finish(p);
    CHECK(verdict(p, "flops == 120") == DIAG_N);
    CHECK(verdict(p, "(flops > 119) & (bytes < 1e3)") == DIAG_N);
    CHECK(verdict(p, "flops < 120") == E_VERDICT);
    CHECK(verdict(p, "peak_bytes <= 64") == DIAG_N);
    CHECK(verdict(p, "peak_byte <= 64") == E_UNKNOWN);
    CHECK(verdict(p, "time_s < 1") == E_MISSING);
    CHECK(verdict(p, "flops <") == E_SYNTAX);
    profile_free(p);
    p = profile_new(plan, &(PlanOptions){0}, 1, d);
    profile_static(p);
    profile_finish(p);
    CHECK(verdict(p, "flops < 120") == E_MISSING);
    CHECK(verdict(p, "peak_bytes < 120") == E_MISSING);
    CHECK(verdict(p, "math_calls == 0") == DIAG_N);
    profile_free(p);
    plan_free(plan);
    graph_free(g);
}

int main(void) {
    Session *s = tools_session(NULL, NULL);
    test_poly(s);
    test_formula(s);
    test_catalogue(s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(s, &cases[i]);
    for (size_t i = 0; i < sizeof runnable / sizeof *runnable; i++)
        check_run(s, runnable[i]);
    test_verdicts(s);
    session_free(s);
    return TEST_END("prof");
}
