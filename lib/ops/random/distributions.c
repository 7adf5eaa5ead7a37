/* Distributions as functions of the language: each consists of one or more draws by the
 * op `draw` and a formula for the result, so gradients by location, scale and the like
 * need no code. With rng=r the result is the pair (next state, draw); with seed=n it is
 * the draw, from a stream of its own. */
#include "ops/random/random.h"
#include "ops/random/sample.h"

#include <string.h>

enum { STEP_MAX = 4 };
/* Texts have room in the rows, which the loader then needn't fill with addresses. */
typedef struct DrawStep {
    char name[4], dist[20];      /* dist "": param[0] is a formula for a value */
    char param[DRAW_PARAMS][48]; /* formulas in the parameters and earlier steps */
} DrawStep;
/* The role of the first parameter's last dim: an ordinary element, kept in each draw
 * (MATRIX: the second parameter's last two dims match it), or dropped. */
typedef enum SampleCore { CORE_NONE, CORE_KEPT, CORE_MATRIX, CORE_GONE } SampleCore;
typedef struct DistributionRow {
    char name[24];
    DType out; /* DT_NONE: the float dtype given by dtype= */
    SampleCore core;
    char needs[56], result[144];
    DrawStep step[STEP_MAX];
} DistributionRow;

static const DistributionRow rows[] = {
#define DIST(NAME, PARAMS, OUT, CORE, NEEDS, RESULT, DOC, ...)                         \
    {#NAME, OUT, CORE, NEEDS, RESULT, {__VA_ARGS__}},
#include "ops/random/distributions.def"
};

/* ---- arguments ---- */
static bool read_draw_dtype(Sample *q, const DistributionRow *row, const Ast *arg) {
    Session *s = q->b->s;
    Node n;
    q->dtype = row->out != DT_NONE ? row->out : q->b->floatX;
    if (!arg || arg->kind == AST_NONE) return true;
    if (!compiler_ast(q->c, arg, &n)) return false;
    if (n.kind != NODE_DTYPE)
        return fail(s, arg->at, E_ARG, "dtype must be a dtype such as float32");
    q->dtype = n.dtype;
    return row->out != DT_NONE || dtype_is_float(n.dtype) ||
           fail(s, arg->at, E_DTYPE, "draws of %s can't be %s: they are floats",
                row->name, dtype_name(n.dtype));
}

/* "low=0.0, high=1.0, size=None, ...": reads the name of the parameter at *p and its
 * default, NULL if it has none, and advances *p. False: none left. */
static bool next_param(Arena *a, const char **p, const char **name,
                       const char **value) {
    if (strncmp(*p, "size=", 5) == 0) return false;
    size_t n = strcspn(*p, ",="), end = strcspn(*p, ",");
    *name = arena_printf(a, "%.*s", (int)n, *p);
    *value = n < end ? arena_printf(a, "%.*s", (int)(end - n - 1), *p + n + 1) : NULL;
    *p += end + strspn(*p + end, ", ");
    return true;
}

/* ---- sizes ---- */
/* The broadcast shape of the parameters, where a draw alone could not determine it. */
static bool default_size(Sample *q) {
    Var all = VAR_NONE;
    if (q->size != VAR_NONE) return true;
    const char *outer = sample_asked(q);
    bool ok = true;
    for (size_t i = 0; ok && i < q->nbind; i++) {
        Var v = q->bind[i].var;
        if (var_type(q->b->g, v)->ndim == 0) continue;
        all = all == VAR_NONE ? v : op_call2(q->b, "add", all, v);
        ok = all != VAR_NONE;
    }
    q->b->asked = outer;
    if (!ok) return false;
    if (all != VAR_NONE) q->size = shape_vector(q->b, all);
    return all == VAR_NONE || q->size != VAR_NONE;
}

static Var part_of_shape(Sample *q, const char *t, Var x) {
    Bind bind[] = {{sym(q->b->s, "p"), x}};
    Env env = {.n = 1, .bind = bind};
    bool ok = true;
    Var v = template_build(q->b, t, &env, &ok);
    return ok ? v : VAR_NONE;
}

/* Checks that the first two parameters are a vector and a symmetric matrix of its
 * size. */
static bool check_matrix(Sample *q) {
    const Type *v = var_type(q->b->g, q->bind[0].var),
               *m = var_type(q->b->g, q->bind[1].var);
    Dim n = v->ndim ? v->dim[v->ndim - 1] : DIM_UNKNOWN;
    bool fits = m->ndim >= 2;
    for (int i = m->ndim - 2; fits && i < m->ndim; i++)
        fits = !dim_is_known(n) || !dim_is_known(m->dim[i]) || m->dim[i] == n;
    if (!fits)
        return fail(q->b->s, q->call->at, E_SHAPE,
                    "%s must be a matrix with a row and a column for each element of "
                    "%s, but they are %s and %s",
                    sym_text(q->b->s, q->bind[1].name),
                    sym_text(q->b->s, q->bind[0].name), type_str(q->b->s, m),
                    type_str(q->b->s, v));
    /* up to rounding and finite differences */
    return sample_need(q,
                       "abs(cov - swapaxes(cov, -1, -2)) <= 1e-3 * sum(abs(cov)) / "
                       "cov.shape[-1]",
                       "cov must be symmetric");
}

/* Checks that no parameter broadcasts the draws beyond the size. */
static bool size_fits(const Sample *q, size_t nparam, Var result) {
    const Type *draw = var_type(q->b->g, q->bind[nparam].var),
               *all = var_type(q->b->g, result);
    bool fits = draw->ndim == all->ndim;
    for (int i = 0; fits && i < all->ndim; i++)
        fits = !dim_is_known(draw->dim[i]) || !dim_is_known(all->dim[i]) ||
               draw->dim[i] == all->dim[i];
    return fits || fail(q->b->s, q->call->at, E_SHAPE,
                        "draws with these parameters are %s, but the size asks for %s",
                        type_str(q->b->s, all), type_str(q->b->s, draw));
}

static bool has_core(const Sample *q, SampleCore core) {
    const Bind *p = &q->bind[0];
    return core == CORE_NONE || var_type(q->b->g, p->var)->ndim > 0 ||
           fail(q->b->s, q->call->at, E_SHAPE, "%s: %s must have at least one dim",
                sym_text(q->b->s, q->call->sym), sym_text(q->b->s, p->name));
}

static bool core_size(Sample *q, SampleCore core) {
    Var p = q->bind[0].var;
    if (core == CORE_MATRIX && q->size == VAR_NONE &&
        var_type(q->b->g, q->bind[1].var)->ndim > 2)
        p = sample_text(q, "mean + cov[..., 0]");
    if (p == VAR_NONE) return false;
    if (core == CORE_GONE) {
        if (q->size == VAR_NONE && var_type(q->b->g, p)->ndim > 1)
            q->size = part_of_shape(q, "shape(p)[:-1]", p);
        return q->size != VAR_NONE || var_type(q->b->g, p)->ndim == 1;
    }
    if (q->size == VAR_NONE) return (q->size = shape_vector(q->b, p)) != VAR_NONE;
    Var last = part_of_shape(q, "shape(p)[-1:]", p);
    if (last == VAR_NONE) return false;
    Var both[] = {q->size, last};
    q->size = op_apply1(q->b, op_known(q->b->s, OP_CONCATENATE), NULL, 2, both);
    return q->size != VAR_NONE;
}

/* ---- the steps ---- */
static DType step_dtype(const Sample *q, const DrawStep *step) {
    if (!draw_counts(step->dist))
        return dtype_is_float(q->dtype) ? q->dtype : q->b->floatX;
    bool fits = dtype_is_integer(q->dtype) ||
                (q->dtype == DT_BOOL && strcmp(step->dist, "integers") == 0);
    return fits ? q->dtype : DT_INT64;
}

static bool take_step(Sample *q, const DrawStep *step) {
    Var param[DRAW_PARAMS], v;
    size_t n = 0;
    for (; n < DRAW_PARAMS && *step->param[n]; n++)
        if ((param[n] = sample_text(q, step->param[n])) == VAR_NONE) return false;
    v = *step->dist ? sample_draw(q, step->dist, n, param, step_dtype(q, step))
                    : param[0];
    sample_bind(q, step->name, v);
    return v != VAR_NONE;
}

static const DistributionRow *distribution_row(Compiler *c, const Ast *call) {
    const char *name = sym_text(compiler_builder(c)->s, call->sym);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    bug("there is no distribution %s", name);
}

static size_t count_positional(const Ast *call) {
    size_t n = 0;
    while (n < call->nkid && call->kid[n]->kind != AST_KEYWORD &&
           call->kid[n]->kind != AST_STARS)
        n++;
    return n;
}

/* weibull(a, 5) is five draws in NumPy. */
static bool is_no_size(Sample *q, const char *name, const Ast *arg, const Ast *size) {
    const char *call = sym_text(q->b->s, q->call->sym);
    if (size || strcmp(call, "weibull") != 0 || strcmp(name, "scale") != 0 ||
        count_positional(q->call) != 2)
        return true;
    fail(q->b->s, arg->at, E_ARG, "%s takes the scale here, not the size", call);
    return note(q->b->s, NOWHERE, "write %s(a, size=...), or scale= if it is one",
                call);
}

/* halfnormal(0, 1), halfcauchy(0, 1) and gengamma(a, c, 0, 1) have a location in front
 * of the scale in SciPy: here they would be a draw of scale 0. */
static bool has_no_location(const Sample *q) {
    const char *call = sym_text(q->b->s, q->call->sym);
    size_t n = count_positional(q->call), k = strcmp(call, "gengamma") == 0 ? 2 : 0;
    if ((k == 0 && strncmp(call, "half", 4) != 0) || n < k + 2) return true;
    const Ast *loc = q->call->kid[k];
    if (!(loc->kind == AST_INT || loc->kind == AST_FLOAT) || loc->u != 0) return true;
    fail(q->b->s, loc->at, E_ARG, "%s takes the scale here, and has no location", call);
    return note(q->b->s, NOWHERE, "write %s(%sscale, size=...)", call,
                k ? "a, c, " : "");
}

/* Arguments: the parameters, then size, rng, seed, dtype. */
static bool sample_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                          Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call};
    const DistributionRow *row = distribution_row(c, call);
    const char *p = macro_find(row->name, strlen(row->name))->signature, *name, *value;
    const Ast *const *how = arg;
    for (const char *at = p; next_param(compiler_arena(c), &at, &name, &value);)
        how++;
    if (!has_no_location(&q) || !read_draw_dtype(&q, row, how[3]) ||
        !sample_state(&q, how[1], how[2]))
        return false;
    for (; next_param(compiler_arena(c), &p, &name, &value); arg++)
        if (!sample_param(&q, name, *arg, value) ||
            (q.counts && !is_no_size(&q, name, *arg, how[0])))
            return false;
    size_t nparam = q.nbind;
    if (!sample_size(&q, how[0])) return false;
    if (!has_core(&q, row->core) || !sample_needs(&q, row->needs) ||
        (row->core == CORE_MATRIX && !check_matrix(&q)))
        return false;
    if (!(row->core == CORE_NONE ? default_size(&q) : core_size(&q, row->core)))
        return false;
    for (size_t i = 0; i < STEP_MAX && *row->step[i].name; i++)
        if (!take_step(&q, &row->step[i])) return false;
    Var v = sample_text(&q, row->result);
    return v != VAR_NONE && (row->core == CORE_NONE || size_fits(&q, nparam, v)) &&
           sample_give(&q, op_cast_to(q.b, v, q.dtype), out);
}

static const Macro table[] = {
#define DIST(NAME, PARAMS, OUT, CORE, NEEDS, RESULT, DOC, ...)                         \
    {.name = #NAME,                                                                    \
     .doc = DOC,                                                                       \
     .signature = PARAMS "size=None, rng=None, seed=None, dtype=None",                 \
     .expand = sample_expand,                                                          \
     .creates = true},
#include "ops/random/distributions.def"
};
const MacroList macros_random_distributions = LIST_OF(table);
