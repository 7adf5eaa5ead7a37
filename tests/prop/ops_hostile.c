/* Applies as a file may hold them: each op on inputs of any types, as many as it may
 * take, with props of the right kinds and any values. Nobody coerced them. Its typing
 * rule says what comes of it, the same each time, or one error; and whatever it accepts
 * passes graph_check, is written and read back, and can be differentiated, batched,
 * rewritten and run, each with a valid result or one error. */
#include "gen.h"
#include "io/io.h"
#include "rewrite/rewrite.h"
#include "tools/tools.h"
#include "value/class.h"

enum { TRIALS = 600, FOLLOWED = 30 };

static Session *s;
static uint64_t seed = 1;
static uint32_t rnd(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

/* ---- what there is no error for, or one ---- */
static bool one_error(bool ok, const char *op, const char *doing) {
    size_t errors = 0;
    for (size_t i = 0; i < diag_count(s); i++)
        errors += diag_get(s, i)->severity == DIAG_ERROR;
    const char *text = errors ? diag_first_error(s)->text : "";
    CHECK(errors == !ok, "%s, %s: %s with %zu errors: %s", op, doing,
          ok ? "well" : "failed", errors, text);
    /* require says what it is told, which may be nothing */
    CHECK(ok || strlen(text) >= strlen("require: "), "%s, %s: says \"%s\"", op, doing,
          text);
    diag_clear(s);
    return ok;
}

/* ---- types ---- */
static bool vast; /* are there sizes that no array can have? */

static const Type *some_tensor(int ndim, DType d) {
    static const Dim sizes[] = {DIM_UNKNOWN, DIM_UNKNOWN, 0, 1, 2, 2, 3};
    static const Dim most[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2 + 1,
                               (INT64_C(1) << 31) - 1};
    Dim dim[4];
    for (int i = 0; i < ndim; i++) {
        uint32_t k = rnd(8);
        dim[i] = k == 7 ? DIM_NAMED(sym(s, "n")) : sizes[k];
        if (vast && rnd(2)) dim[i] = most[rnd(4)];
    }
    return type_tensor(s, d, ndim, dim);
}

static const Type *some_type(DType usual) {
    static const char *const others[] = {"none",
                                         "slice",
                                         "random",
                                         "list(float64[?])",
                                         "list(list(int64))",
                                         "sparse('csr', float64[2, 3])",
                                         "sparse('csc', complex64[?, ?])",
                                         "sparse('csr', float64[2, 2])",
                                         "list(float64[2])"};
    uint32_t k = rnd(40);
    if (k < 9) return type_parse(s, others[k], strlen(others[k]), NOWHERE);
    DType d = k < 30 ? usual : (DType)rnd(DT_N);
    return some_tensor((int)(k % 4 == 3 ? rnd(5) : rnd(3)), d);
}

/* ---- props: what a reader would accept ---- */
static Prop some_ints(void) {
    static const int64_t any[] = {0, 1, -1, 2, 0, 1, 3, -2, INT64_MAX, INT64_MIN};
    static const int64_t pool[][3] = {
        {0, 1, 2}, {1, 0, 2}, {-1, 0, 1}, {2, 3, 1}, {0, 0, 0}};
    if (rnd(3) == 0) return (Prop){.kind = P_INTS, .ints = {any + rnd(7), rnd(4)}};
    return (Prop){.kind = P_INTS, .ints = {pool[rnd(5)], rnd(4)}};
}

static Sym some_text(const char *text) {
    return sym_n(s, text, strlen(text));
}

static Prop some_prop(const PropDef *d) {
    static const int64_t ints[] = {0, 1, -1, 2, 3, -2, 7, 40, INT64_MAX, INT64_MIN};
    static const double floats[] = {0, 1, -1, 0.5, 2, HUGE_VAL, (double)NAN, 1e300};
    static const char *const texts[] = {
        "",    "x",    "sum",   "add",  "max",  ":",     "$",     "0:2",        "...",
        "csr", "csc",  "raise", "clip", "wrap", "lower", "full",  "r",          "fro",
        "$:$", "None", "set",   "auto", "left", "S",     "valid", "same_upper", "edge"};
    if (rnd(3) == 0 && !d->required) return d->value;
    if (d->none && rnd(4) == 0) return (Prop){.kind = P_NONE};
    switch (d->type) {
    case T_BOOL:
        return (Prop){.kind = P_BOOL, .i = rnd(2)};
    case T_INT:
    case T_AXIS:
        return (Prop){.kind = P_INT, .i = ints[rnd(10)]};
    case T_FLOAT:
        return (Prop){.kind = P_FLOAT, .f = floats[rnd(8)]};
    case T_KEY:
        if (rnd(2)) return (Prop){.kind = P_FLOAT, .f = floats[rnd(8)]};
        return (Prop){.kind = P_STR, .sym = some_text(texts[rnd(27)])};
    case T_STR:
        return (Prop){.kind = P_STR, .sym = some_text(texts[rnd(27)])};
    case T_DTYPE:
        return (Prop){.kind = P_DTYPE, .i = rnd(DT_N)};
    case T_AXES:
        if (rnd(3) == 0) return (Prop){.kind = P_INT, .i = ints[rnd(10)]};
        return some_ints();
    case T_SIDES:
        if (rnd(2)) return (Prop){.kind = P_STR, .sym = some_text(texts[rnd(27)])};
        return some_ints();
    case T_INTS:
        return some_ints();
    case T_GRAPH:
        return (Prop){.kind = P_GRAPH, .sym = sym(s, rnd(3) ? "f" : "h")};
    }
    return d->value;
}

static const Props *some_props(const Signature *sig) {
    Prop p[64];
    for (size_t i = 0; i < sig->nprop; i++)
        p[i] = some_prop(&sig->prop[i]);
    return props_intern(s, sig->nprop, p);
}

/* ---- a graph of one Apply ---- */
typedef struct Hostile {
    const Op *op;
    Graph *g;
    const Props *props;
    size_t nin, nout;
    Var in[8], out;
    const Type *type[OUT_MAX];
} Hostile;

static void add_functions(Graph *g) {
    const Type *t = type_scalar(s, DT_FLOAT64);
    Graph *f = graph_function_new(g, sym(s, "f")),
          *h = graph_function_new(g, sym(s, "h"));
    Builder b = builder(f, false);
    Var x = graph_input(f, sym(s, "a"), t);
    vec_push(s, &f->outputs, ((Output){sym(s, "r"), op_call2(&b, "multiply", x, x)}));
    b = builder(h, false);
    Var y = graph_input(h, sym(s, "a"), t), z = graph_input(h, sym(s, "b"), t);
    vec_push(s, &h->outputs, ((Output){sym(s, "q"), op_call2(&b, "add", y, z)}));
    vec_push(s, &h->outputs, ((Output){sym(s, "p"), op_call2(&b, "less", y, z)}));
}

/* Some value of a type: what is not known is 2. */
static Var some_constant(Graph *g, const Type *t) {
    static const char *const of[] = {"slice(0, 2)", "rng_state([1, 0, 0, 0])"};
    Value v = {.kind = t->kind};
    Filter how = {.allow_downcast = 1};
    if (t->kind == TYPE_TENSOR) {
        int64_t shape[MAX_NDIM];
        for (int i = 0; i < t->ndim; i++)
            shape[i] = dim_is_known(t->dim[i]) ? t->dim[i] : 2;
        if (!tensor_new(s, t->dtype, t->ndim, shape, &v.t)) abort();
        t = type_tensor(s, t->dtype, t->ndim, shape);
        for (int64_t i = 0; i < tensor_size(&v.t); i++) {
            double x = (double)rnd(5) - (dtype_is_discrete(t->dtype) ? 0 : 1.5);
            tensor_cast_elements(t->dtype,
                                 (char *)v.t.data + (size_t)i * dtype_size(t->dtype),
                                 DT_FLOAT64, &x, 1, 0, 0);
        }
    } else if (t->kind != TYPE_NONE) {
        const char *text = t->kind == TYPE_SLICE            ? of[0]
                           : t->kind == TYPE_RANDOM         ? of[1]
                           : t->kind == TYPE_LIST           ? "[]"
                           : t->ndim == 2 && t->dim[1] == 3 ? "[[1, 0, 2], [0, 3, 0]]"
                                                            : "[[1, 0], [0, 3]]";
        Span at = {source_add(s, "t", text, strlen(text)), 0, (uint32_t)strlen(text)};
        if (!value_compile(s, at, t, how, "x", &v)) abort();
    }
    Var c = graph_const_value(g, t, &v);
    value_unref(&v);
    return c;
}

static Hostile make(const Op *op, const Signature *sig, bool constants) {
    Hostile h = {.op = op, .g = graph_new(s), .props = some_props(sig)};
    size_t least = sig->least, most = sig->nrest ? sig->nin + 2 : sig->nin;
    h.nin = least + rnd((uint32_t)(most - least + 1));
    if (rnd(20) == 0) h.nin = rnd(8); /* too many, too few */
    if (h.nin > 8) h.nin = 8;
    DType usual = rnd(3) ? DT_FLOAT64 : (DType)rnd(DT_N);
    add_functions(h.g);
    vast = !constants && rnd(6) == 0;
    for (size_t i = 0; i < h.nin; i++) {
        size_t at = i < sig->nin ? i : sig->nin - 1; /* too many: as the last one */
        ParamKind k = sig->nin ? sig->in[at].kind : IN_TENSOR;
        const Type *t =
            some_type((k == IN_INTS || k == IN_INT) && rnd(4) ? DT_INT64 : usual);
        h.in[i] = constants
                      ? some_constant(h.g, t)
                      : graph_input(h.g,
                                    sym(s, (const char *[]){"a", "b", "c", "d", "e",
                                                            "i", "j", "k"}[i]),
                                    t);
    }
    h.nout = op_infer(h.g, op, h.props, (VarList){h.nin, h.in}, NOWHERE, h.type);
    if (!one_error(h.nout > 0, op->name, "typing")) return h;
    const Type *again[OUT_MAX];
    size_t n = op_infer(h.g, op, h.props, (VarList){h.nin, h.in}, NOWHERE, again);
    CHECK(n == h.nout && memcmp(again, h.type, n * sizeof *again) == 0,
          "%s: types differ", op->name);
    h.out = graph_apply(h.g, op, h.props, h.nin, h.in, h.nout, h.type, false,
                        op->effect, (Origin){NOWHERE, 0});
    for (size_t k = 0; k < h.nout && k < 3; k++)
        vec_push(
            s, &h.g->outputs,
            ((Output){sym(s, (const char *[]){"r", "q", "p"}[k]), h.out + (Var)k}));
    return h;
}

/* ---- what follows ---- */
static bool checks(const Hostile *h, Graph *g, const char *doing) {
    bool ok = graph_check(g);
    CHECK(ok, "%s, %s: %s", h->op->name, doing, ok ? "" : diag_first_error(s)->text);
    diag_clear(s);
    return ok;
}

static void written(Hostile *h) {
    Str a = STR(s), b = STR(s);
    WriteOptions o = {.format = IO_TLG};
    bool ok = io_text(h->g, &o, &a);
    Graph *again = ok ? io_read_mem(s, "again", a.p, a.n, NULL) : NULL;
    ok = one_error(again != NULL, h->op->name, "writing and reading") && again;
    CHECK(ok && io_text(again, &o, &b) && a.n == b.n && memcmp(a.p, b.p, a.n) == 0,
          "%s: reads back", h->op->name);
    graph_free(again);
    str_free(&a);
    str_free(&b);
}

static void differentiated(Hostile *h) {
    Builder b = builder(h->g, true);
    Var f[3], wrt[8], by[8], dot[3];
    size_t nf = 0, nwrt = 0;
    for (size_t k = 0; k < h->nout && k < 3; k++)
        if (h->type[k]->kind == TYPE_TENSOR && dtype_is_inexact(h->type[k]->dtype))
            f[nf++] = h->out + (Var)k;
    for (size_t i = 0; i < h->nin; i++) {
        const Type *t = var_type(h->g, h->in[i]);
        if (t->kind == TYPE_TENSOR && dtype_is_inexact(t->dtype))
            wrt[nwrt++] = h->in[i];
    }
    if (!nf || !nwrt) return;
    GradOptions how = {.disconnected = GRAD_IGNORE, .null = NULL_RETURN};
    bool ok = services(s)->vjp(&b, (VarList){nf, f}, f, (VarList){nwrt, wrt}, &how, by);
    if (one_error(ok, h->op->name, "pullback")) checks(h, h->g, "pullback");
    ok = services(s)->jvp(&b, (VarList){nf, f}, (VarList){nwrt, wrt}, wrt, false, dot);
    if (one_error(ok, h->op->name, "pushforward")) checks(h, h->g, "pushforward");
}

static void batched(Hostile *h) {
    Graph *fn = graph_function_new(h->g, sym(s, "body"));
    bool rows[8];
    Var in[8];
    for (size_t i = 0; i < h->nin; i++) {
        const Type *t = var_type(h->g, h->in[i]);
        in[i] = graph_input(
            fn, sym(s, (const char *[]){"a", "b", "c", "d", "e", "i", "j", "k"}[i]), t);
        rows[i] = t->kind == TYPE_TENSOR && rnd(3);
    }
    Var out = graph_apply(fn, h->op, h->props, h->nin, in, h->nout, h->type, false,
                          h->op->effect, (Origin){NOWHERE, 0});
    for (size_t k = 0; k < h->nout && k < 3; k++)
        vec_push(s, &fn->outputs,
                 ((Output){sym(s, (const char *[]){"r", "q", "p"}[k]), out + (Var)k}));
    if (!checks(h, h->g, "as a function")) return;
    Graph *made = services(s)->vmap(h->g, fn, rows);
    if (one_error(made != NULL, h->op->name, "vmap")) checks(h, h->g, "vmap");
}

static void rewritten(Hostile *h) {
    Graph *r = rewrite_run(h->g, &(RewriteOptions){0}, NULL);
    if (one_error(r != NULL, h->op->name, "rewriting")) checks(h, r, "rewriting");
    graph_free(r);
}

static void run(Hostile *h) {
    Value v = {0};
    bool ok = services(s)->eval(h->g, 1, &h->out, &v);
    if (one_error(ok, h->op->name, "running"))
        CHECK(h->type[0]->kind == TYPE_NONE || value_is_valid(s, h->type[0], &v),
              "%s: the result is no %s", h->op->name, type_str(s, h->type[0]));
    value_unref(&v);
}

static void test_op(const Op *op) {
    const Signature *sig = op_signature(s, op);
    unsigned followed[2] = {0};
    for (int i = 0; i < TRIALS; i++) {
        bool constants = i % 2;
        Hostile h = make(op, sig, constants);
        if (h.nout && followed[constants]++ < FOLLOWED && checks(&h, h.g, "typed")) {
            if (constants) {
                run(&h);
            } else {
                written(&h);
                rewritten(&h);
                differentiated(&h);
                batched(&h);
            }
        }
        diag_clear(s);
        graph_free(h.g);
    }
}

int main(int argc, char **argv) {
    s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    session_options(s)->max_memory = 1 << 26;
    vm_open(s);
    ad_open(s);
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        if (argc < 2 || strcmp(argv[1], op->name) == 0) test_op(op);
    }
    session_free(s);
    return TEST_END("prop ops_hostile");
}
