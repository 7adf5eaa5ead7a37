/* Distributions as functions of the language: each is one or two draws of the op `draw`
 * and a text that makes the result of them, so that gradients by location, scale and
 * the like come by themselves. With rng=r the result is the pair (next state, draw);
 * with seed=n, of a stream of its own, the draw. */
#include "op/build.h"
#include "op/macro.h"
#include "value/rng.h"

#include <string.h>

typedef struct DrawStep {
    const char *name, *dist, *param[2]; /* param: texts in the parameters and earlier
                                           steps */
} DrawStep;
/* What the last dim of the first parameter is: one more element, part of each draw, or
 * gone. */
typedef enum Core { CORE_NONE, CORE_KEPT, CORE_GONE } Core;
typedef struct Row {
    const char *name;
    const char *param[3];
    DrawStep step[2];
    const char *result;
    DType out; /* DT_NONE: the float that dtype says */
    Core core;
} Row;

static const Row rows[] = {
    {"uniform", {"low", "high"}, {{"u", "uniform", {"low", "high"}}}, "u", DT_NONE, 0},
    {"normal", {"loc", "scale"}, {{"z", "normal", {"loc", "scale"}}}, "z", DT_NONE, 0},
    {"integers",
     {"low", "high"},
     {{"k", "integers", {"low", "high"}}},
     "k",
     DT_INT64,
     0},
    {"bernoulli", {"p"}, {{"u", "uniform", {"0.0", "1.0"}}}, "u < p", DT_BOOL, 0},
    {"exponential",
     {"scale"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "-scale * log1p(-u)",
     DT_NONE,
     0},
    {"gamma", {"shape", "scale"}, {{"g", "gamma", {"shape"}}}, "scale * g", DT_NONE, 0},
    {"beta",
     {"a", "b"},
     {{"x", "gamma", {"a"}}, {"y", "gamma", {"b"}}},
     "x / (x + y)",
     DT_NONE,
     0},
    {"chisquare", {"df"}, {{"g", "gamma", {"df / 2"}}}, "2 * g", DT_NONE, 0},
    {"standard_t",
     {"df"},
     {{"z", "normal", {"0.0", "1.0"}}, {"g", "gamma", {"df / 2"}}},
     "z / sqrt(2 * g / df)",
     DT_NONE,
     0},
    {"inverse_gamma",
     {"shape", "scale"},
     {{"g", "gamma", {"shape"}}},
     "scale / g",
     DT_NONE,
     0},
    {"poisson", {"lam"}, {{"k", "poisson", {"lam"}}}, "k", DT_INT64, 0},
    {"binomial", {"n", "p"}, {{"k", "binomial", {"n", "p"}}}, "k", DT_INT64, 0},
    {"negative_binomial",
     {"n", "p"},
     {{"g", "gamma", {"n"}}, {"k", "poisson", {"g * (1 - p) / p"}}},
     "k",
     DT_INT64,
     0},
    {"geometric",
     {"p"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "maximum(ceil(log1p(-u) / log1p(-p)), 1)",
     DT_INT64,
     0},
    {"laplace",
     {"loc", "scale"},
     {{"u", "uniform", {"-0.5", "0.5"}}},
     "loc - scale * sign(u) * log1p(-2 * abs(u))",
     DT_NONE,
     0},
    {"logistic",
     {"loc", "scale"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "loc + scale * (log(u) - log1p(-u))",
     DT_NONE,
     0},
    {"gumbel",
     {"loc", "scale"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "loc - scale * log(-log1p(-u))",
     DT_NONE,
     0},
    {"cauchy",
     {"loc", "scale"},
     {{"u", "uniform", {"-0.5", "0.5"}}},
     "loc + scale * tan(pi * u)",
     DT_NONE,
     0},
    {"weibull",
     {"a", "scale"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "scale * (-log1p(-u)) ** (1 / a)",
     DT_NONE,
     0},
    {"pareto",
     {"a"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "expm1(-log1p(-u) / a)",
     DT_NONE,
     0},
    {"rayleigh",
     {"scale"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "scale * sqrt(-2 * log1p(-u))",
     DT_NONE,
     0},
    {"lognormal",
     {"mean", "sigma"},
     {{"z", "normal", {"mean", "sigma"}}},
     "exp(z)",
     DT_NONE,
     0},
    {"halfnormal",
     {"scale"},
     {{"z", "normal", {"0.0", "1.0"}}},
     "scale * abs(z)",
     DT_NONE,
     0},
    {"halfcauchy",
     {"scale"},
     {{"u", "uniform", {"0.0", "0.5"}}},
     "scale * tan(pi * u)",
     DT_NONE,
     0},
    {"triangular",
     {"left", "mode", "right"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "where(u * (right - left) < mode - left, "
     "left + sqrt(u * (right - left) * (mode - left)), "
     "right - sqrt((1 - u) * (right - left) * (right - mode)))",
     DT_NONE,
     0},
    {"dirichlet",
     {"alpha"},
     {{"g", "gamma", {"alpha"}}},
     "g / sum(g, axis=-1, keepdims=True)",
     DT_NONE,
     CORE_KEPT},
    {"multivariate_normal",
     {"mean", "cov"},
     {{"z", "normal", {"0.0", "1.0"}}},
     "mean + matmul(cholesky(cov), expand_dims(z, -1))[..., 0]",
     DT_NONE,
     CORE_KEPT},
    {"categorical",
     {"p"},
     {{"u", "uniform", {"0.0", "1.0"}}},
     "minimum(sum(expand_dims(u, -1) * sum(p, axis=-1, keepdims=True) >= "
     "cumsum(p, axis=-1), axis=-1), p.shape[-1] - 1)",
     DT_INT64,
     CORE_GONE},
};
enum { PARAM_MAX = 3, STEP_MAX = 2 };

/* One call of a distribution. */
typedef struct Sample {
    Compiler *c;
    Builder *b;
    const Ast *call;
    const Row *row;
    bool pair;     /* rng=: the next state is a result too */
    Var rng, size; /* size VAR_NONE: as the parameters */
    DType dtype;   /* of floats */
    Bind bind[PARAM_MAX + STEP_MAX];
    size_t nbind, nparam;
} Sample;

/* ---- arguments ---- */
static Var state_of(Builder *b, uint64_t seed) {
    Rng rng = rng_seed(seed);
    Value v = {.kind = TYPE_RANDOM};
    if (!rng_to_tensor(b->s, &rng, &v.t)) return VAR_NONE;
    Var out = graph_const_value(b->g, type_simple(b->s, TYPE_RANDOM), &v);
    tensor_unref(&v.t);
    return out;
}

static bool seed_of(Compiler *c, const Ast *arg, uint64_t *seed) {
    Node n;
    if (!compiler_ast(c, arg, &n)) return false;
    *seed = n.lit.u;
    return (n.kind == NODE_LITERAL && n.lit.kind == K_INT && !n.lit.negative) ||
           fail(compiler_builder(c)->s, arg->at, E_ARG,
                "a seed is a whole number that is written out");
}

static bool is_given(const Ast *arg) {
    return arg && arg->kind != AST_NONE;
}

static bool read_state(Sample *q, const Ast *rng, const Ast *seed) {
    Session *s = q->b->s;
    Node n;
    uint64_t number;
    q->pair = is_given(rng);
    if (q->pair == is_given(seed))
        return fail(s, q->call->at, E_ARG,
                    "%s needs either rng=, a random state, or seed=, a number",
                    sym_text(s, q->call->sym));
    if (!q->pair)
        return seed_of(q->c, seed, &number) &&
               (q->rng = state_of(q->b, number)) != VAR_NONE;
    return compiler_ast(q->c, rng, &n) && compiler_var(q->c, &n, DT_NONE, &q->rng);
}

static bool read_dtype(Sample *q, const Ast *arg) {
    Node n;
    q->dtype = q->row && q->row->out != DT_NONE ? q->row->out : q->b->floatX;
    if (!is_given(arg)) return true;
    if (!compiler_ast(q->c, arg, &n)) return false;
    q->dtype = n.dtype;
    return n.kind == NODE_DTYPE ||
           fail(q->b->s, arg->at, E_ARG, "dtype must be a dtype, such as float32");
}

static bool read_size(Sample *q, const Ast *arg) {
    Node n;
    q->size = VAR_NONE;
    return !is_given(arg) ||
           (compiler_ast(q->c, arg, &n) && compiler_ints(q->c, &n, &q->size));
}

static bool read_param(Sample *q, const char *name, const Ast *arg, const char *value) {
    Session *s = q->b->s;
    Node n;
    bool ok = true;
    Var v;
    if (arg) {
        if (!compiler_ast(q->c, arg, &n)) return false;
        DType like = DT_NONE;
        if (n.kind == NODE_LITERAL && dtype_is_float(q->dtype)) like = q->dtype;
        if (!compiler_var(q->c, &n, like, &v)) return false;
    } else {
        v = build_text(q->b, value, &(Env){0}, &ok);
        if (ok)
            v = cast_to(q->b, v, dtype_is_float(q->dtype) ? q->dtype : q->b->floatX);
    }
    q->bind[q->nbind++] = (Bind){sym(s, name), v};
    return ok && v != VAR_NONE;
}

/* ---- building ---- */
static Var text(Sample *q, const char *t) {
    Env env = {.n = q->nbind, .bind = q->bind};
    bool ok = true;
    Var v = build_text(q->b, t, &env, &ok);
    return ok ? v : VAR_NONE;
}

/* The broadcast shape of the parameters, where a draw could not tell it alone. */
static bool default_size(Sample *q) {
    Var all = VAR_NONE;
    if (q->size != VAR_NONE) return true;
    for (size_t i = 0; i < q->nparam; i++) {
        Var v = q->bind[i].var;
        if (var_type(q->b->g, v)->ndim == 0) continue;
        all = all == VAR_NONE ? v : call2(q->b, "add", all, v);
        if (all == VAR_NONE) return false;
    }
    if (all != VAR_NONE) q->size = shape_vector(q->b, all);
    return all == VAR_NONE || q->size != VAR_NONE;
}

static Var slice_text(Sample *q, const char *t, Var x) {
    Bind bind[] = {{sym(q->b->s, "p"), x}};
    Env env = {.n = 1, .bind = bind};
    bool ok = true;
    Var v = build_text(q->b, t, &env, &ok);
    return ok ? v : VAR_NONE;
}

static bool core_size(Sample *q) {
    Var p = q->bind[0].var;
    if (var_type(q->b->g, p)->ndim == 0)
        return fail(q->b->s, q->call->at, E_SHAPE, "%s must have at least one dim",
                    sym_text(q->b->s, q->bind[0].name));
    if (q->row->core == CORE_GONE) {
        if (q->size == VAR_NONE && var_type(q->b->g, p)->ndim > 1)
            q->size = slice_text(q, "shape(p)[:-1]", p);
        return q->size != VAR_NONE || var_type(q->b->g, p)->ndim == 1;
    }
    if (q->size == VAR_NONE) return (q->size = shape_vector(q->b, p)) != VAR_NONE;
    Var last = slice_text(q, "shape(p)[-1:]", p);
    if (last == VAR_NONE) return false;
    Var both[] = {q->size, last};
    q->size = op_apply1(q->b, op_find(q->b->s, "concatenate", 11), NULL, 2, both);
    return q->size != VAR_NONE;
}

/* One draw; q->rng moves on. VAR_NONE: diagnosed. */
static Var draw(Sample *q, const char *dist, size_t n, const Var *param, DType d) {
    Session *s = q->b->s;
    const Op *op = op_find(s, "draw", 4);
    Var in[4] = {q->rng}, out[2];
    size_t nin = 1;
    for (size_t i = 0; i < n; i++)
        in[nin++] = param[i];
    if (q->size != VAR_NONE) in[nin++] = q->size;
    PropArg props[] = {{"dist", PROP_STR(sym(s, dist))}, {"dtype", PROP_DTYPE(d)}};
    if (!op_apply(q->b, op, props_make(s, op, 2, props), nin, in, out)) return VAR_NONE;
    q->rng = out[0];
    return out[1];
}

static bool is_counted(const char *dist) {
    return strcmp(dist, "uniform") != 0 && strcmp(dist, "normal") != 0 &&
           strcmp(dist, "gamma") != 0;
}

static bool take_steps(Sample *q) {
    for (size_t k = 0; k < STEP_MAX && q->row->step[k].name; k++) {
        const DrawStep *step = &q->row->step[k];
        Var param[2];
        size_t n = 0;
        for (; n < 2 && step->param[n]; n++)
            if ((param[n] = text(q, step->param[n])) == VAR_NONE) return false;
        DType d = is_counted(step->dist)     ? DT_INT64
                  : dtype_is_float(q->dtype) ? q->dtype
                                             : q->b->floatX;
        if (is_counted(step->dist) && dtype_is_integer(q->dtype)) d = q->dtype;
        Var v = draw(q, step->dist, n, param, d);
        if (v == VAR_NONE) return false;
        q->bind[q->nbind++] = (Bind){sym(q->b->s, step->name), v};
    }
    return true;
}

static bool give(Sample *q, Var v, Node *out) {
    if (v == VAR_NONE) return false;
    Node pair[] = {node_var(q->rng, q->call->at), node_var(v, q->call->at)};
    if (q->pair) return compiler_tree(q->c, 2, pair, NULL, q->call->at, out);
    *out = pair[1];
    return true;
}

static const Row *row_of(Compiler *c, const Ast *call) {
    const char *name = sym_text(compiler_builder(c)->s, call->sym);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    bug("there is no distribution %s", name);
}

/* "scale=1.0": the default of parameter i. */
static const char *default_of(const Macro *m, const char *name) {
    const char *p = strstr(m->signature, name);
    return p ? p + strlen(name) + 1 : "";
}

static bool sample(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call, .row = row_of(c, call)};
    const Macro *m = macro_find(q.row->name, strlen(q.row->name));
    while (q.nparam < PARAM_MAX && q.row->param[q.nparam])
        q.nparam++;
    size_t n = q.nparam;
    if (!read_dtype(&q, arg[n + 3]) || !read_state(&q, arg[n + 1], arg[n + 2]) ||
        !read_size(&q, arg[n]))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *value =
            arg[i] ? NULL
                   : arena_printf(compiler_arena(c), "%.*s",
                                  (int)strcspn(default_of(m, q.row->param[i]), ","),
                                  default_of(m, q.row->param[i]));
        if (!read_param(&q, q.row->param[i], arg[i], value)) return false;
    }
    bool ok = q.row->core == CORE_NONE ? default_size(&q) : core_size(&q);
    if (!ok || !take_steps(&q)) return false;
    Var v = text(&q, q.row->result);
    return v != VAR_NONE && give(&q, cast_to(q.b, v, q.dtype), out);
}

/* ---- what is no row ---- */
/* Counts of n draws among the categories of pvals, by one binomial after the other. */
static bool multinomial(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call};
    q.dtype = DT_INT64;
    if (!read_state(&q, arg[3], arg[4]) || !read_size(&q, arg[2])) return false;
    if (!read_param(&q, "n", arg[0], NULL)) return false;
    q.dtype = q.b->floatX;
    if (!read_param(&q, "p", arg[1], NULL)) return false;
    const Type *t = var_type(q.b->g, q.bind[1].var);
    if (t->ndim == 0 || !dim_is_known(t->dim[t->ndim - 1]) || t->dim[t->ndim - 1] < 1 ||
        t->dim[t->ndim - 1] > 1024)
        return fail(q.b->s, call->at, E_SHAPE,
                    "the number of categories must be known, from 1 to 1024, but pvals "
                    "is %s",
                    type_str(q.b->s, t));
    int64_t k = t->dim[t->ndim - 1];
    Var *count = NEW_N(compiler_arena(c), (size_t)k, Var);
    Var left = q.bind[0].var;
    for (int64_t i = 0; i < k; i++) {
        q.nbind = 2;
        q.bind[q.nbind++] = (Bind){sym(q.b->s, "i"), const_int(q.b, i)};
        Var p = text(&q, "clip(p[..., i] / maximum(sum(p[..., i:], axis=-1), 1e-300), "
                         "0.0, 1.0)");
        if (p == VAR_NONE) return false;
        Var param[] = {left, p};
        count[i] = i == k - 1 ? left : draw(&q, "binomial", 2, param, DT_INT64);
        if (count[i] == VAR_NONE) return false;
        if (i < k - 1) left = call2(q.b, "subtract", left, count[i]);
        if (left == VAR_NONE) return false;
    }
    const Op *stack = op_find(q.b->s, "stack", 5);
    PropArg axis = {"axis", PROP_INT(-1)};
    const Props *props = props_make(q.b->s, stack, 1, &axis);
    return give(&q, op_apply1(q.b, stack, props, (size_t)k, count), out);
}

/* Elements of a, or of 0 .. a - 1. */
static Var picked(Sample *q, Var a, Var index) {
    Bind bind[] = {{sym(q->b->s, "a"), a}, {sym(q->b->s, "index"), index}};
    Env env = {.n = 2, .bind = bind};
    bool ok = true;
    if (var_type(q->b->g, a)->ndim == 0) return index;
    Var v = build_text(q->b, "take(a, index, axis=0)", &env, &ok);
    return ok ? v : VAR_NONE;
}

static Var length_of(Sample *q, Var a) {
    return var_type(q->b->g, a)->ndim == 0 ? a : shape_of(q->b, a, 0);
}

static bool permutation(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call, .size = VAR_NONE};
    q.dtype = DT_INT64;
    if (!read_state(&q, arg[1], arg[2]) || !read_param(&q, "x", arg[0], NULL))
        return false;
    Var x = q.bind[0].var, n = length_of(&q, x);
    Var order = draw(&q, "permutation", 1, &n, DT_INT64);
    return order != VAR_NONE && give(&q, picked(&q, x, order), out);
}

static bool choice(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call};
    q.dtype = DT_INT64;
    bool replace = !arg[2] || arg[2]->u;
    if (arg[2] && arg[2]->kind != AST_BOOL)
        return fail(q.b->s, arg[2]->at, E_ARG, "replace must be True or False");
    if (!read_state(&q, arg[4], arg[5]) || !read_size(&q, arg[1]) ||
        !read_param(&q, "a", arg[0], NULL))
        return false;
    Var a = q.bind[0].var, n = length_of(&q, a), index;
    if (is_given(arg[3])) {
        if (!replace)
            return fail(q.b->s, arg[3]->at, E_ARG,
                        "p can be given only where replace is True");
        q.row = NULL;
        q.dtype = q.b->floatX;
        if (!read_param(&q, "p", arg[3], NULL)) return false;
        Var unit[] = {const_number(q.b, q.dtype, 0), const_number(q.b, q.dtype, 1)};
        Var u = draw(&q, "uniform", 2, unit, q.dtype);
        if (u == VAR_NONE) return false;
        q.bind[q.nbind++] = (Bind){sym(q.b->s, "u"), u};
        index = text(&q, "minimum(sum(expand_dims(u, -1) * sum(p) >= cumsum(p), "
                         "axis=-1), p.shape[0] - 1)");
    } else if (replace) {
        Var range[] = {const_int(q.b, 0), n};
        index = draw(&q, "integers", 2, range, DT_INT64);
    } else {
        Var size = q.size;
        q.size = VAR_NONE;
        index = draw(&q, "permutation", 1, &n, DT_INT64);
        if (index == VAR_NONE) return false;
        Bind bind[] = {{sym(q.b->s, "order"), index}, {sym(q.b->s, "size"), size}};
        Env env = {.n = size == VAR_NONE ? 1 : 2, .bind = bind};
        bool ok = true;
        index = build_text(
            q.b, size == VAR_NONE ? "order[0]" : "reshape(order[:prod(size)], size)",
            &env, &ok);
        if (!ok) return false;
    }
    return index != VAR_NONE && give(&q, picked(&q, a, index), out);
}

/* A state to begin with. */
static bool rng(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    uint64_t seed;
    if (!seed_of(c, arg[0], &seed)) return false;
    Var v = state_of(compiler_builder(c), seed);
    if (v != VAR_NONE) *out = node_var(v, call->at);
    return v != VAR_NONE;
}

#define HOW ", size=None, rng=None, seed=None, dtype=None"
#define DIST(NAME, PARAMS, DOC)                                                        \
    {                                                                                  \
        .name = NAME, .doc = DOC, .signature = PARAMS HOW, .expand = sample,           \
        .creates = true                                                                \
    }
static const Macro table[] = {
    {.name = "rng",
     .doc = "The state of a random stream that begins with a seed.",
     .signature = "seed",
     .expand = rng},
    DIST("uniform", "low=0.0, high=1.0", "Uniform draws from [low, high)."),
    DIST("normal", "loc=0.0, scale=1.0",
         "Normal draws with mean loc and standard deviation scale."),
    DIST("integers", "low, high", "Whole numbers from [low, high)."),
    DIST("bernoulli", "p=0.5", "True with probability p."),
    DIST("exponential", "scale=1.0", "Exponential draws with mean scale."),
    DIST("gamma", "shape, scale=1.0",
         "Gamma draws; the gradient by shape is undefined."),
    DIST("beta", "a, b", "Beta draws."),
    DIST("chisquare", "df", "Chi-square draws."),
    DIST("standard_t", "df", "Student's t draws."),
    DIST("inverse_gamma", "shape, scale=1.0", "Inverse gamma draws."),
    DIST("poisson", "lam=1.0", "Poisson draws with mean lam."),
    DIST("binomial", "n, p", "Successes among n trials."),
    DIST("negative_binomial", "n, p", "Failures before n successes."),
    DIST("geometric", "p", "Trials up to the first success, from 1."),
    DIST("laplace", "loc=0.0, scale=1.0", "Laplace draws."),
    DIST("logistic", "loc=0.0, scale=1.0", "Logistic draws."),
    DIST("gumbel", "loc=0.0, scale=1.0", "Gumbel draws."),
    DIST("cauchy", "loc=0.0, scale=1.0", "Cauchy draws."),
    DIST("weibull", "a, scale=1.0", "Weibull draws with shape a."),
    DIST("pareto", "a", "Pareto (Lomax) draws with shape a, as NumPy's."),
    DIST("rayleigh", "scale=1.0", "Rayleigh draws."),
    DIST("lognormal", "mean=0.0, sigma=1.0", "exp of normal draws."),
    DIST("halfnormal", "scale=1.0", "Absolute values of normal draws."),
    DIST("halfcauchy", "scale=1.0", "Absolute values of Cauchy draws."),
    DIST("triangular", "left, mode, right", "Triangular draws from [left, right]."),
    DIST("dirichlet", "alpha", "Dirichlet draws; the last dim of alpha is one draw."),
    DIST("multivariate_normal", "mean, cov", "Normal vectors with a covariance."),
    DIST("categorical", "p",
         "Indices with probabilities in proportion to the last dim of p."),
    {.name = "multinomial",
     .doc = "Counts of n draws among the categories of pvals.",
     .signature = "n, pvals, size=None, rng=None, seed=None",
     .expand = multinomial},
    {.name = "permutation",
     .doc = "The numbers 0 to x - 1, or the rows of x, in a random order.",
     .signature = "x, rng=None, seed=None",
     .expand = permutation},
    {.name = "choice",
     .doc = "Elements of a, or of 0 to a - 1, with the probabilities p.",
     .signature = "a, size=None, replace=True, p=None, rng=None, seed=None",
     .expand = choice},
};
const MacroList macros_random = {table, sizeof table / sizeof *table};
