/* What lib/part and --parallel say of random chains of ops, each a step from the last
 * result or from two: sums of sums, rows of terms, numbers of rows and positions among
 * them. What they take is what the whole gives.
 *
 *     parts_chains         some thousand chains
 *     parts_chains SEED    others */
#include "parts.h"

enum { CHAINS = 6000, STEPS = 4, ROWS_N = 6 };

static uint64_t seed = 1;

static size_t draw(size_t n) {
    return (size_t)(mix(seed++) >> 11) % n;
}

#define N   "shape(a)[0]"
#define COL "int64(abs(b)) % 3"
static const char *const firsts[] = {"a",
                                     "b",
                                     "c",
                                     "a.T",
                                     "a > 0",
                                     "sum(a, axis=0)",
                                     "mean(a, axis=0)",
                                     "max(a, axis=0)",
                                     "min(b)",
                                     "all(a > -1, axis=0)",
                                     "any(a > 2)",
                                     "logsumexp(a, axis=0)",
                                     "prod(b)",
                                     "a.T @ a",
                                     "a.T @ b",
                                     "sum(zeros_like(a), axis=0)",
                                     "zeros((3,))",
                                     "zeros_like(a)",
                                     "zeros((" N ", 3))",
                                     N,
                                     "2 * " N,
                                     "1. / " N,
                                     "shape(a)",
                                     "arange(" N ")",
                                     "inc_subtensor(zeros((3,))[" COL "], b)"};
static const char *const steps[] = {
    /* one value for each */
    "-f", "f * 2", "2 / (f + 9)", "f + 1", "f - c", "f * c", "c / (f * f + 1)", "f * f",
    "f + f", "f - 2 * f", "abs(f)", "sqrt(abs(f))", "f ** 2", "conj(f)", "float32(f)",
    "int64(f)", "complex128(f)", "f > 0", "~(f > 0)", "f == g", "minimum(f, c)",
    "minimum(f, g)", "maximum(f, g)", "maximum(f, f)", "(f > 0) & (g > 0)",
    "(f > 0) | (f < 1)", "where(f > 0, f, 0)", "where(c > 0, f, c)", "f + g", "f - g",
    "f * g", "f / (g * g + 1)", "f * " N, "f / " N, "f * arange(" N ")[:, None]",
    "f + a", "a * f", "f * b",
    /* axes */
    "f.T", "flip(f, axis=-1)", "flip(f, axis=0)", "cumsum(f, axis=-1)",
    "cumsum(f, axis=0)", "sort(f, axis=-1)", "argmax(f, axis=0)", "argmax(f, axis=-1)",
    "softmax(f, axis=-1)", "expand_dims(f, axis=0)", "expand_dims(f, axis=-1)",
    "squeeze(expand_dims(f, axis=0), axis=0)", "squeeze(expand_dims(f, axis=1))",
    "transpose(expand_dims(f, axis=0))", "diagonal(f)", "split(f, [1, 2], axis=-1)[0]",
    "split(f, [1, 2], axis=0)[1]", "repeat(f, 2, axis=-1)", "tril(f)",
    /* reductions */
    "sum(f)", "sum(f, axis=0)", "sum(f, axis=-1)", "sum(f, axis=0, keepdims=True)",
    "mean(f)", "mean(f, axis=0)", "mean(f, axis=-1)", "max(f)", "max(f, axis=0)",
    "min(f, axis=0)", "min(f, axis=-1)", "prod(f, axis=0)", "any(f > 0, axis=0)",
    "all(f > -3)", "logsumexp(f, axis=0)", "logsumexp(f, axis=-1)", "sum(f > 0)",
    /* shapes */
    "reshape(f, (-1,))", "reshape(f, (" N ", -1))", "reshape(f, (-1, 3))",
    "reshape(f, (3, -1))", "broadcast_to(f, (" N ", 3))", "broadcast_to(f, (2, 6, 3))",
    "zeros_like(f)", "f + zeros_like(g)", "full_like(f, 2)", "shape(f)[0]",
    "f * shape(f)[-1]", "full((" N ",), sum(f))", "specify_shape(f, (" N ", 3))",
    /* several of them */
    "concatenate([f, f], axis=0)", "concatenate([f, g], axis=-1)",
    "concatenate([f, c])", "stack([f, f])", "stack([f, g])", "stack([f, f], axis=-1)",
    "stack([f, c])", "ifelse(sum(c) > 0, f, -f)",
    "ifelse(sum(c) > 0, f, zeros_like(f))", "ifelse(sum(c) > 99, f, g)",
    /* reading and writing */
    "f[0]", "f[1:]", "f[::-1]", "f[..., 0]", "f[:, 1]", "f[None]", "f[:, ::-1]",
    "f[" COL "]", "f[:, [2, 0]]", "c[int64(abs(f)) % 3]",
    "a[arange(" N "), " COL "] * f", "a[int64(abs(f)) % 2]",
    "set_subtensor(f[..., 0], 1)", "set_subtensor(f[0], 1)", "inc_subtensor(f[0], g)",
    "inc_subtensor(f[0], 1)", "inc_subtensor(f[..., 0], b)",
    "inc_subtensor(f[:, 1], f[:, 0])", "inc_subtensor(zeros((3,))[" COL "], f)",
    "inc_subtensor(zeros_like(f)[1:], f[1:])", "inc_subtensor(f[" COL "], b)",
    "inc_subtensor(a[arange(" N "), " COL "], f)",
    /* products */
    "f @ c", "c @ f", "f @ f", "f @ f.T", "f.T @ f", "f @ g", "f.T @ a", "a @ f",
    "outer(f, c)", "f[..., None] @ f[..., None, :]", "einsum('i,i', f, f)",
    "(f.T @ f + 9 * eye(3)) * 0.5", "inv(a.T @ a + eye(3)) @ f",
    /* functions */
    "grad(sum(f * f), a)", "grad(mean(f * f), b)", "map(lambda r: r * r, f)",
    "vectorize(lambda r: sum(r) * r)(f)",
    "scan(lambda s, r: s + r * r, sequences=[f.T], outputs_info=[zeros_like(f.T[0])])"};

static Var apply(Case *c, const char *text, Var f, Var g) {
    Bind bind[] = {{sym(c->s, "a"), c->in[0]},
                   {sym(c->s, "b"), c->in[1]},
                   {sym(c->s, "c"), c->in[2]},
                   {sym(c->s, "f"), f},
                   {sym(c->s, "g"), g}};
    Env env = {.n = f == VAR_NONE ? 3 : 5, .bind = bind};
    bool ok = true;
    Var v = template_build(&c->b, text, &env, &ok);
    diag_clear(c->s);
    return ok ? v : VAR_NONE;
}

static void open_case(Case *c, Session *s, DType d) {
    static const Sample sample = {"chain", "chain", "r[6,3] r[6] p[3]", 0};
    static const char *const names[] = {"a", "b", "c"};
    *c = case_of(s, &sample, d);
    c->g = graph_new(s);
    c->b = builder(c->g, true);
    for (size_t i = 0; i < c->nin; i++) {
        Dim dim[] = {i < 2 ? DIM_NAMED(sym(s, "rows")) : 3, 3};
        c->in[i] = graph_input(c->g, sym(s, names[i]),
                               type_tensor(s, case_dtype(c, i), c->spec[i].ndim, dim));
    }
}

/* All values of the chain are outputs. */
static void add_steps(Case *c) {
    Var f = VAR_NONE, g = VAR_NONE;
    Str label = STR(c->s);
    for (size_t i = 0, tries = 0; i <= STEPS && tries < 40; tries++) {
        const char *text = i ? steps[draw(sizeof steps / sizeof *steps)]
                             : firsts[draw(sizeof firsts / sizeof *firsts)];
        if (i == 1)
            g = apply(c, firsts[draw(sizeof firsts / sizeof *firsts)], VAR_NONE, g);
        Var v = apply(c, text, f, g == VAR_NONE ? f : g);
        if (v == VAR_NONE || var_type(c->g, v)->kind != TYPE_TENSOR) continue;
        if (var_type(c->g, v)->ndim > 4) continue;
        if (i > 1) g = f;
        f = v;
        str_printf(&label, "%s%s", i++ ? " | " : "", text);
        vec_push(c->s, &c->g->outputs, ((Output){sym(c->s, str_text(&label)), v}));
    }
    str_free(&label);
}

static void chain(Session *s) {
    static const DType dtypes[] = {DT_FLOAT64, DT_FLOAT64,    DT_FLOAT64, DT_FLOAT64,
                                   DT_INT64,   DT_COMPLEX128, DT_BOOL};
    const unsigned cut = 3;
    bool flag[INPUTS] = {true, true, false};
    Case c;
    Arena *a = arena_new(s);
    open_case(&c, s, dtypes[draw(sizeof dtypes / sizeof *dtypes)]);
    add_steps(&c);
    const Part *p = part_graph(c.g, a, flag);
    diag_clear(s);
    case_tensors(&c, 0);
    if (p) compare_outputs(&c, cut, p, ROWS_N);
    arena_free(a);
    case_close(&c);
}

int main(int argc, char **argv) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    if (argc > 1) seed = strtoull(argv[1], NULL, 10) * UINT64_C(1000003);
    uint64_t before = buffer_bytes_used(s);
    for (int i = 0; i < CHAINS; i++)
        chain(s);
    CHECK(buffer_bytes_used(s) == before, "tensors are left over");
    session_free(s);
    CHECK(merged > 5000 && sharded > 5000, "%llu put together, %llu in shards", merged,
          sharded);
    return TEST_END("prop parts_chains");
}
