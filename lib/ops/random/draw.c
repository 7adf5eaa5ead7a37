/* draw(rng, parameters..., size): the next state of a stream, and the draw made from
 * the old one. distributions.c builds the language's normal(..., rng=r), gamma(...) and
 * the like from it. A pure function: one state gives one draw, and equal draws
 * merge. */
#include "ops/elemwise/deriv.h"
#include "ops/random/reject.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

typedef struct DrawDist {
    const char *name;
    size_t nparam;
    DType param; /* dtype of the parameters in the kernel */
    unsigned in, out;
    DrawFn *fn;
    DrawCheck *check;
    const char *partial[2]; /* of the draw by each parameter; NULL: undefined */
} DrawDist;

enum { NUMBER = KIND_BOOL | KIND_REAL, KIND_COUNT = KIND_BOOL | KIND_INT };
#define ALONG "g * (1 - z)", "g * z"
static const DrawDist dists[] = {
#define DIST(NAME, NPARAM, PARAM, IN, OUT, CHECK, ...)                                 \
    {#NAME, NPARAM, DT_##PARAM, IN, KIND_##OUT, draw_##NAME, CHECK, {__VA_ARGS__}},
    DIST(uniform, 2, FLOAT64, NUMBER, FLOAT, check_range,
         ALONG) DIST(open, 2, FLOAT64, NUMBER, FLOAT, check_range, ALONG)
        DIST(normal, 2, FLOAT64, NUMBER, FLOAT, check_scale, "g",
             "g * z") DIST(integers, 2, INT64, KIND_INT, COUNT, check_integers, NULL)
            DIST(gamma, 1, FLOAT64, KIND_REAL, FLOAT, check_gamma,
                 NULL) DIST(loggamma, 1, FLOAT64, KIND_REAL, FLOAT, check_gamma, NULL)
                DIST(vonmises, 1, FLOAT64, KIND_REAL, FLOAT, check_vonmises,
                     NULL) DIST(zipf, 1, FLOAT64, KIND_REAL, INT, check_zipf, NULL)
                    DIST(poisson, 1, FLOAT64, KIND_REAL, INT, check_poisson, NULL) DIST(
                        binomial, 2, FLOAT64, KIND_REAL, INT, check_binomial, NULL)
                        DIST(hypergeometric, 3, FLOAT64, KIND_REAL,
                             INT, check_hypergeometric, NULL){"permutation",
                                                              1,
                                                              DT_INT64,
                                                              KIND_INT,
                                                              KIND_INT,
                                                              NULL,
                                                              NULL,
                                                              {NULL}},
#undef DIST
};

static const DrawDist *dist_named(const char *name) {
    for (size_t i = 0; i < sizeof dists / sizeof *dists; i++)
        if (strcmp(dists[i].name, name) == 0) return &dists[i];
    return NULL;
}

static const DrawDist *dist_of(Session *s, const Op *op, const Props *p) {
    return dist_named(sym_text(s, op_prop(s, op, p, "dist")->sym));
}

bool draw_counts(const char *name) {
    const DrawDist *d = dist_named(name);
    return d && (d->out & KIND_INT);
}

/* Inputs: rng, the parameters, then the size if given. */
static DrawForm draw_form(const DrawDist *d, size_t nin) {
    return (DrawForm){.first = 1,
                      .nparam = d->nparam,
                      .size = nin > 1 + d->nparam ? 1 + d->nparam : SIZE_MAX,
                      .out = 1,
                      .param = d->param,
                      .fn = d->fn,
                      .check = d->check};
}

/* ---- typing ---- */
static bool draw_type_of_dist(Infer *in) {
    const DrawDist *d = dist_of(in->s, in->op, in->props);
    DType dtype = (DType)infer_prop(in, "dtype")->i;
    if (!d)
        return infer_fail(in, E_ARG, in->nin, "there is no distribution '%s'",
                          sym_text(in->s, infer_prop(in, "dist")->sym));
    if (in->type[0]->kind != TYPE_RANDOM) {
        infer_fail(in, E_TYPE, 0, "expected the state of a random stream, not %s",
                   type_str(in->s, in->type[0]));
        return note(in->s, NOWHERE,
                    "declare an input or a shared variable of type random, or write "
                    "rng(seed)");
    }
    if (in->nin != 1 + d->nparam && in->nin != 2 + d->nparam)
        return infer_fail(in, E_ARITY, in->nin, "%s takes %zu parameters and the size",
                          d->name, d->nparam);
    for (size_t i = 1; i <= d->nparam; i++)
        if (!infer_want_kinds(in, i, d->in)) return false;
    if (!(d->out >> dtype_kind(dtype) & 1))
        return infer_fail(in, E_DTYPE, in->nin, "draws of %s can't be %s", d->name,
                          dtype_name(dtype));
    in->out[0] = type_simple(in->s, TYPE_RANDOM);
    if (!d->fn) return random_permutation_type(in, 1, 1);
    DrawForm f = draw_form(d, in->nin);
    return draw_type(in, &f, dtype);
}

/* ---- running ---- */
static bool next_state(Call *c, const Rng *rng) {
    Rng next = rng_next(rng);
    int64_t four = 4;
    Tensor *t = call_out(c, 0, 1, &four);
    if (!t) return false;
    const uint64_t word[4] = {next.seed, next.stream, next.position, 0};
    memcpy(t->data, word, sizeof word);
    return true;
}

static bool draw_perform(Call *c) {
    const DrawDist *d = dist_of(c->s, c->op, c->props);
    Rng rng = rng_from_tensor(call_in(c, 0));
    if (!d) bug("a draw can't run here");
    if (!next_state(c, &rng)) return false;
    if (!d->fn) return random_permutation_run(c, 1, 1, rng);
    DrawForm f = draw_form(d, c->nin);
    return draw_run(c, &f, rng);
}

/* ---- derivatives: the draw as a function of its parameters, for fixed random words
 * ---- */
static bool draw_pull(Pull *p) {
    const DrawDist *d = dist_of(p->b->s, p->op, p->props);
    for (size_t i = 0; i < p->nin; i++)
        p->grad[i] = GRAD_DISCONNECTED;
    if (!d || p->cotangent[1] == VAR_NONE) return true;
    for (size_t i = 0; i < d->nparam; i++) {
        const char *text = i < 2 ? d->partial[i] : NULL;
        if (text && !draw_pull_by(p, 1 + i, 1, text)) return false;
        if (text || !p->wanted[1 + i]) continue;
        p->grad[1 + i] =
            grad_undefined(p->b, "draws of this distribution are not differentiable "
                                 "with respect to its parameters");
    }
    return true;
}

static bool draw_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    const Apply *r = &g->apply[a];
    const DrawDist *d = dist_of(g->s, r->op, r->props);
    return d && d->fn && out == 1 && in >= 1 && in <= d->nparam;
}

/* ---- vmap ---- */
/* The next state doesn't depend on the parameters: it is that after an empty draw. */
static Var state_after_draw(Vmap *q) {
    Session *s = q->b->s;
    PropArg arg[] = {{"dist", PROP_STR(sym(s, "uniform"))},
                     {"dtype", PROP_DTYPE(DT_FLOAT64)}};
    int64_t none = 0;
    Var in[4] = {q->in[0], const_number(q->b, DT_FLOAT64, 0),
                 const_number(q->b, DT_FLOAT64, 1), const_ints(q->b, 1, &none)},
        out[2];
    return op_apply(q->b, q->op, props_make(s, q->op, 2, arg), 4, in, out) ? out[0]
                                                                           : VAR_NONE;
}

/* Every row draws from the same state, as it would alone. */
static bool draw_vmap(Vmap *q) {
    q->out_rows[0] = false;
    q->out[0] = state_after_draw(q);
    return q->out[0] != VAR_NONE && vmap_by_scan(q);
}

static const Op table[] = {
    {.name = OP_ROW("draw"),
     .internal = true,
     .doc = "The next state of a random stream, and a draw of dist with the old one. "
            "normal(..., rng=r) and the other distributions expand to this.",
     .in = "rng: any, *params",
     .out = "next, r",
     .props = "dist: str, dtype: dtype",
     .type = draw_type_of_dist,
     .perform = draw_perform,
     .flops = "2 * r.size",
     .math = 2,
     .pull = draw_pull,
     .vmap = draw_vmap,
     RARE(.connect = draw_connect),
     .example = "draw(rng(1), 3, 4, dist='integers', dtype=int64)[1] -> 3"},
};
const OpList ops_random_draw = LIST_OF(table);
