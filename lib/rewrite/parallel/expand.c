/* Replaces ops by what others say, of which rules are known. A variance is a mean of
 * squares around a mean: two sums, one after the other. */
#include "rewrite/parallel/parallel.h"

#include <string.h>

typedef struct Expansion {
    const char *op, *text;
    const char *corrected; /* if its ddof isn't 0 */
} Expansion;
#define DEVIATION "d = x - mean(x, axis=axis, keepdims=True)\n"
#define VARIANCE  "v = mean(square(abs(d)), axis=axis, keepdims=keepdims)\n"
#define CORRECTED                                                                      \
    DEVIATION "n = cast(x.size // sum(x, axis=axis).size, 'float64')\n"                \
              "m = mean(square(abs(d)), axis=axis, keepdims=keepdims)\n"               \
              "v = m * cast(n / (n - ddof), m.dtype)\n"
static const Expansion expansions[] = {
    {"gemm", "beta * c + alpha * (a @ b)", NULL},
    {"var", DEVIATION VARIANCE "r = v", CORRECTED "r = v"},
    {"std", DEVIATION VARIANCE "r = sqrt(v)", CORRECTED "r = sqrt(v)"},
};

static const Expansion *expansion_of(const Op *op) {
    for (size_t i = 0; i < sizeof expansions / sizeof *expansions; i++)
        if (strcmp(expansions[i].op, op->name) == 0) return &expansions[i];
    return NULL;
}

/* Statistics of integers are those of floats. */
static Var as_result(Builder *b, Var x, DType d) {
    const Type *t = var_type(b->g, x);
    return t->kind == TYPE_TENSOR && !dtype_is_complex(t->dtype) ? op_cast_to(b, x, d)
                                                                 : x;
}

static bool expand_apply(Graph *g, ApplyId id, const Expansion *e, Var *forward) {
    enum { INPUTS = 5 };
    Builder b = builder(g, true);
    const Apply r = g->apply[id];
    const Signature *sig = op_signature(g->s, r.op);
    Bind bind[INPUTS];
    b.from = g->origin[id];
    for (size_t i = 0; i < r.nin && i < INPUTS; i++)
        bind[i] = (Bind){sig->in[i].name,
                         as_result(&b, apply_in(g, id)[i], var_type(g, r.out)->dtype)};
    Env env = {.n = r.nin, .bind = bind, .op = r.op, .props = r.props};
    bool ok = true,
         corrected = e->corrected && op_prop(g->s, r.op, r.props, "ddof")->f != 0;
    return (forward[r.out] = definition_build(&b, corrected ? e->corrected : e->text,
                                              &env, &ok)) != VAR_NONE;
}

bool split_expand(Graph *g, Arena *a) {
    const ApplyId n = g->napply;
    const Var nvar = g->nvar;
    Var *made = NEW_N(a, nvar, Var);
    bool any = false;
    for (Var v = 0; v < nvar; v++)
        made[v] = v;
    for (ApplyId id = 0; id < n; id++) {
        const Expansion *e = expansion_of(g->apply[id].op);
        if (e && !expand_apply(g, id, e, made)) return false;
        any |= e != NULL;
    }
    if (!any) return true;
    Var *forward = NEW_N(a, g->nvar, Var);
    for (Var v = 0; v < g->nvar; v++)
        forward[v] = v < nvar ? made[v] : v;
    graph_compact(g, ROOTS_RUN | ROOTS_INIT, forward, true);
    return true;
}
