/* Functions of the language that draw counts or elements: multinomial,
 * multivariate_hypergeometric, permutation, shuffle, choice; and rng, an initial
 * state. */
#include "ops/random/sample.h"

#include <string.h>

enum { MOST_CATEGORIES = 1024 };

/* Checks the probabilities bound as p, with a tolerance for rounding in their sum. */
static bool need_probabilities(Sample *q) {
    DType d = var_type(q->b->g, q->bind[q->nbind - 1].var)->dtype;
    bool narrow = d == DT_FLOAT32 || d == DT_FLOAT16;
    return sample_need(q, "p >= 0", "probabilities must be at least 0") &&
           sample_need(q,
                       narrow ? "abs(sum(p, axis=-1) - 1.0) <= 5e-4"
                              : "abs(sum(p, axis=-1) - 1.0) <= 2e-8",
                       "probabilities must sum to 1");
}

/* ---- counts ---- */
/* The last dim of p, the categories; -1: diagnosed. */
static int64_t count_categories(Sample *q, Var p, const char *name) {
    const Type *t = var_type(q->b->g, p);
    Dim k = t->ndim ? t->dim[t->ndim - 1] : DIM_UNKNOWN;
    if (dim_is_known(k) && k >= 1 && k <= MOST_CATEGORIES) return k;
    fail(q->b->s, q->call->at, E_SHAPE,
         "the number of categories must be known, from 1 to %d, but %s is %s",
         MOST_CATEGORIES, name, type_str(q->b->s, t));
    if (t->ndim == 0 && strcmp(name, "pvals") == 0)
        note(q->b->s, NOWHERE,
             "n comes first; categorical(p, size) draws indices, as PyTorch's "
             "multinomial(p, size) does");
    return -1;
}

/* For category i of those left: how many of `left` fall into it. */
typedef Var CountFn(Sample *q, Var left);

static Var by_probability(Sample *q, Var left) {
    Var p =
        sample_text(q, "clip(p[..., i] / maximum(sum(p[..., i:], axis=-1), 1e-300), "
                       "0.0, 1.0)");
    if (p == VAR_NONE) return VAR_NONE;
    return sample_draw(q, "binomial", 2, (const Var[]){left, p}, DT_INT64);
}

static Var by_color(Sample *q, Var left) {
    Var good = sample_text(q, "p[..., i]");
    Var bad = sample_text(q, "sum(p[..., i + 1:], axis=-1)");
    if (good == VAR_NONE || bad == VAR_NONE) return VAR_NONE;
    return sample_draw(q, "hypergeometric", 3, (const Var[]){good, bad, left},
                       DT_INT64);
}

/* One category at a time; the remainder falls into the last. */
static bool draw_counts_in_turn(Sample *q, Var left, int64_t k, CountFn *one,
                                Node *out) {
    Var *counts = NEW_N(compiler_arena(q->c), (size_t)k, Var);
    size_t nbind = q->nbind;
    for (int64_t i = 0; i < k; i++) {
        counts[i] = left;
        if (i == k - 1 && k > 1) break;
        q->nbind = nbind;
        sample_bind(q, "i", const_int(q->b, i));
        if ((counts[i] = one(q, left)) == VAR_NONE) return false;
        left = op_call2(q->b, "subtract", left, counts[i]);
        if (left == VAR_NONE) return false;
    }
    const Op *stack = op_known(q->b->s, OP_STACK);
    PropArg axis = {"axis", PROP_INT(-1)};
    const Props *props = props_make(q->b->s, stack, 1, &axis);
    return sample_give(q, op_apply1(q->b, stack, props, (size_t)k, counts), out);
}

/* Arguments: n, pvals, size, rng, seed. */
static bool multinomial_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                               Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call, .dtype = DT_INT64};
    if (!sample_state(&q, arg[3], arg[4]) || !sample_param(&q, "n", arg[0], NULL))
        return false;
    q.dtype = q.b->floatX;
    if (!sample_param(&q, "p", arg[1], NULL) || !sample_size(&q, arg[2])) return false;
    int64_t k = count_categories(&q, q.bind[1].var, "pvals");
    return k > 0 && need_probabilities(&q) &&
           draw_counts_in_turn(&q, q.bind[0].var, k, by_probability, out);
}

/* Arguments: colors, nsample, size, rng, seed. */
static bool multivariate_hypergeometric_expand(Compiler *c, const Ast *call,
                                               const Ast *const *arg, Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call, .dtype = DT_INT64};
    if (!sample_state(&q, arg[3], arg[4]) ||
        !sample_param(&q, "nsample", arg[1], NULL) ||
        !sample_param(&q, "p", arg[0], NULL) || !sample_size(&q, arg[2]))
        return false;
    int64_t k = count_categories(&q, q.bind[1].var, "colors");
    return k > 0 && sample_need(&q, "p >= 0", "colors must be at least 0") &&
           sample_need(&q, "nsample <= sum(p, axis=-1)",
                       "nsample must be at most the sum of colors") &&
           draw_counts_in_turn(&q, q.bind[0].var, k, by_color, out);
}

/* ---- elements ---- */
/* Elements of a; for a 0-d a, of 0 .. a - 1. */
static Var pick_elements(Sample *q, Var a, Var index) {
    if (index == VAR_NONE || var_type(q->b->g, a)->ndim == 0) return index;
    sample_bind(q, "a", a);
    sample_bind(q, "index", index);
    return sample_text(q, "take(a, index, axis=0)");
}

static Var length_of(Sample *q, Var a) {
    return var_type(q->b->g, a)->ndim == 0 ? a : shape_of(q->b, a, 0);
}

/* A random order of n elements. */
static Var random_order(Sample *q, Var n) {
    if (q->pair) return sample_draw(q, "permutation", 1, &n, DT_INT64);
    const Op *op = op_known(q->b->s, OP_PERMUTATION);
    PropArg seed = {"seed", PROP_INT((int64_t)q->seed)};
    const char *outer = sample_asked(q);
    Var v = op_apply1(q->b, op, props_make(q->b->s, op, 1, &seed), 1, &n);
    q->b->asked = outer;
    return v;
}

/* Arguments: x, rng, seed. */
static bool permutation_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                               Node *out) {
    Sample q = {.c = c,
                .b = compiler_builder(c),
                .call = call,
                .size = VAR_NONE,
                .dtype = DT_INT64};
    if (!sample_state(&q, arg[1], arg[2]) || !sample_param(&q, "x", arg[0], NULL))
        return false;
    Var x = q.bind[0].var, n = length_of(&q, x);
    if (n == VAR_NONE) return false;
    return sample_give(&q, pick_elements(&q, x, random_order(&q, n)), out);
}

/* Indices with probabilities: independent draws, or without replacement the order in
 * which exponential clocks, one per index, ring (Efraimidis and Spirakis, "Weighted
 * random sampling with a reservoir", 2006). */
static Var index_by_p(Sample *q, const Ast *p, bool replace, bool sized) {
    q->dtype = q->b->floatX;
    if (!sample_param(q, "p", p, NULL)) return VAR_NONE;
    if (var_type(q->b->g, q->bind[q->nbind - 1].var)->ndim != 1) {
        fail(q->b->s, p->at, E_SHAPE, "p must be a vector of probabilities");
        return VAR_NONE;
    }
    if (!need_probabilities(q) ||
        !sample_need(q, "p.size == length",
                     "p must have as many probabilities as there are elements"))
        return VAR_NONE;
    if (!replace &&
        !sample_need(q, sized ? "sum(p > 0) >= prod(size)" : "sum(p > 0) >= 1",
                     "without replacement no more can be taken than have a probability "
                     "above 0"))
        return VAR_NONE;
    DType d = q->dtype;
    const Var unit[] = {const_number(q->b, d, 0), const_number(q->b, d, 1)};
    if (!replace) q->size = shape_vector(q->b, q->bind[q->nbind - 1].var);
    Var u = sample_draw(q, replace ? "uniform" : "open", 2, unit, d);
    if (u == VAR_NONE) return u;
    sample_bind(q, "u", u);
    return sample_text(q, replace
                              ? "minimum(sum(expand_dims(u, -1) * sum(p) >= cumsum(p), "
                                "axis=-1), p.shape[0] - 1)"
                              : "argsort(-log(u) / p)");
}

/* The first elements of an order, as many as size asks for. */
static Var first_of(Sample *q, Var all, Var size) {
    if (all == VAR_NONE) return all;
    sample_bind(q, "order", all);
    if (size == VAR_NONE) return sample_text(q, "order[0]");
    return sample_text(q, "reshape(order[:prod(size)], size)");
}

/* If a condition is checked at run time, the bound variables wait for the check. */
static Var index_of(Sample *q, const Ast *p, bool replace, Var length) {
    bool sized = q->size != VAR_NONE;
    sample_bind(q, "length", length);
    if (sized) sample_bind(q, "size", q->size);
    if (!sample_need(q, sized ? "(length >= 1) | (prod(size) == 0)" : "length >= 1",
                     "there are no elements to take from") ||
        (sized && !replace &&
         !sample_need(q, "prod(size) <= length",
                      "without replacement no more can be taken than there are")))
        return VAR_NONE;
    length = q->bind[0].var;
    Var size = q->size = sized ? q->bind[1].var : VAR_NONE;
    if (replace && !sample_is_given(p)) {
        Var range[] = {const_int(q->b, 0), length};
        return sample_draw(q, "integers", 2, range, DT_INT64);
    }
    if (replace) return index_by_p(q, p, true, sized);
    q->size = VAR_NONE;
    return first_of(q,
                    sample_is_given(p) ? index_by_p(q, p, false, sized)
                                       : random_order(q, length),
                    size);
}

/* Arguments: a, size, replace, p, rng, seed. */
static bool choice_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                          Node *out) {
    Sample q = {.c = c, .b = compiler_builder(c), .call = call, .dtype = DT_INT64};
    bool replace = !arg[2] || arg[2]->u;
    if (arg[2] && arg[2]->kind != AST_BOOL)
        return fail(q.b->s, arg[2]->at, E_ARG, "replace must be True or False");
    if (!sample_state(&q, arg[4], arg[5]) || !sample_param(&q, "a", arg[0], NULL) ||
        !sample_size(&q, arg[1]))
        return false;
    Var a = q.bind[0].var, length = length_of(&q, a);
    if (length == VAR_NONE) return false;
    q.nbind = 0;
    return sample_give(&q, pick_elements(&q, a, index_of(&q, arg[3], replace, length)),
                       out);
}

/* An initial state. */
static bool rng_expand(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    uint64_t seed;
    if (!sample_seed(c, arg[0], &seed)) return false;
    Var v = sample_seeded(compiler_builder(c), seed);
    if (v != VAR_NONE) *out = node_var(v, call->at);
    return v != VAR_NONE;
}

static const Macro table[] = {
    {.name = "rng",
     .doc = "The state of a random stream that begins with a seed.",
     .signature = "seed",
     .expand = rng_expand},
    {.name = "multinomial",
     .doc = "Counts of n draws among the categories of pvals, which sum to 1.",
     .signature = "n, pvals, size=None, rng=None, seed=None",
     .expand = multinomial_expand},
    {.name = "multivariate_hypergeometric",
     .doc = "How many of each color are among nsample taken from colors.",
     .signature = "colors, nsample, size=None, rng=None, seed=None",
     .expand = multivariate_hypergeometric_expand},
    {.name = "permutation",
     .doc = "The numbers 0 to x - 1, or the rows of x, in a random order.",
     .signature = "x, rng=None, seed=None",
     .expand = permutation_expand},
    {.name = "shuffle",
     .doc = "The same as permutation.",
     .signature = "x, rng=None, seed=None",
     .expand = permutation_expand},
    {.name = "choice",
     .doc = "Elements of a, or of 0 to a - 1, with the probabilities p; without "
            "replacement each is taken at most once.",
     .signature = "a, size=None, replace=True, p=None, rng=None, seed=None",
     .expand = choice_expand},
};
const MacroList macros_random_categories = LIST_OF(table);
