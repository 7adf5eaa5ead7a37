#include "ops/random/sample.h"

#include "op/services.h"
#include "value/rng.h"

#include <string.h>

/* ---- arguments ---- */
Var sample_seeded(Builder *b, uint64_t seed) {
    Rng rng = rng_seed(seed);
    Value v = {.kind = TYPE_RANDOM};
    if (!rng_to_tensor(b->s, &rng, &v.t)) return VAR_NONE;
    Var out = graph_const_value(b->g, type_simple(b->s, TYPE_RANDOM), &v);
    tensor_unref(&v.t);
    return out;
}

bool sample_seed(Compiler *c, const Ast *arg, uint64_t *seed) {
    Node n;
    if (!compiler_ast(c, arg, &n)) return false;
    *seed = n.lit.u;
    return (n.kind == NODE_LITERAL && n.lit.kind == K_INT && !n.lit.negative) ||
           fail(compiler_builder(c)->s, arg->at, E_ARG,
                "a seed must be an integer literal");
}

bool sample_is_given(const Ast *arg) {
    return arg && arg->kind != AST_NONE;
}

/* Neither rng= nor seed=, or both, as where one argument too many stands in front. */
static bool fail_state(const Sample *q, const Ast *rng) {
    const char *name = sym_text(q->b->s, q->call->sym);
    fail(q->b->s, q->pair ? rng->at : q->call->at, E_ARG,
         "%s needs either rng=, a random state, or seed=, a number%s", name,
         q->pair ? ", not both" : "");
    const Macro *m = macro_find(name, strlen(name));
    return q->pair && m &&
           note(q->b->s, NOWHERE, "its arguments are %s(%s)", name, m->signature);
}

bool sample_state(Sample *q, const Ast *rng, const Ast *seed) {
    q->pair = sample_is_given(rng);
    if (q->pair == sample_is_given(seed)) return fail_state(q, rng);
    q->rng = VAR_NONE;
    q->state = rng;
    if (q->pair) return true;
    return sample_seed(q->c, seed, &q->seed) &&
           (q->rng = sample_seeded(q->b, q->seed)) != VAR_NONE;
}

/* The state that rng= says, read after the parameters, which may name values for it. */
static bool read_state(Sample *q) {
    const Ast *rng = q->state;
    Session *s = q->b->s;
    Node n;
    if (q->rng != VAR_NONE) return true;
    if (!compiler_ast(q->c, rng, &n)) return false;
    if (n.kind == NODE_VAR && var_type(q->b->g, n.var)->kind == TYPE_RANDOM)
        return (q->rng = n.var), true;
    fail(s, rng->at, E_TYPE, "rng must be the state of a random stream");
    return note(s, NOWHERE,
                "declare an input or a shared variable of type random, or write "
                "rng(seed); seed=5 draws from a stream of its own");
}

bool sample_size(Sample *q, const Ast *arg) {
    Node n;
    q->size = VAR_NONE;
    return !sample_is_given(arg) ||
           (compiler_ast(q->c, arg, &n) && compiler_ints(q->c, &n, &q->size));
}

void sample_bind(Sample *q, const char *name, Var v) {
    if (q->nbind == SAMPLE_BINDS)
        bug("a distribution has more than %d names", SAMPLE_BINDS);
    q->bind[q->nbind++] = (Bind){sym(q->b->s, name), v};
}

/* Is it a whole number without a dtype, or a list of them, as sizes are? */
static bool is_count(const Sample *q, const Node *n) {
    bool all = n->n > 0;
    if (n->kind == NODE_LITERAL) return n->lit.kind == K_INT;
    if (n->kind == NODE_VAR)
        return n->weak && dtype_is_integer(var_type(q->b->g, n->var)->dtype);
    if (n->kind != NODE_LIST) return false;
    for (size_t i = 0; i < n->n; i++)
        all &= is_count(q, &n->item[i]);
    return all;
}

bool sample_param(Sample *q, const char *name, const Ast *arg, const char *value) {
    DType d = dtype_is_float(q->dtype) ? q->dtype : q->b->floatX;
    Node n;
    bool ok = true;
    Var v;
    q->counts = false;
    if (arg) {
        if (!compiler_ast(q->c, arg, &n)) return false;
        DType like = DT_NONE;
        q->counts = is_count(q, &n);
        if (node_is_weak(&n) && dtype_is_float(q->dtype)) like = q->dtype;
        if (!compiler_var(q->c, &n, like, &v)) return false;
    } else {
        v = template_build(q->b, value, &(Env){0}, &ok);
        if (ok) v = op_cast_to(q->b, v, d);
    }
    sample_bind(q, name, v);
    return ok && v != VAR_NONE;
}

/* ---- conditions ---- */
/* Does the name occur as a word in the text? */
static bool text_mentions(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n) {
        static const char word[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
        if ((p == text || !strchr(word, p[-1])) && (!p[n] || !strchr(word, p[n])))
            return true;
    }
    return false;
}

/* The first non-constant parameter in the text. */
static Bind *unknown_of(Sample *q, const char *text) {
    for (size_t i = 0; i < q->nbind; i++)
        if (!var_is_const(q->b->g, q->bind[i].var) &&
            text_mentions(text, sym_text(q->b->s, q->bind[i].name)))
            return &q->bind[i];
    return NULL;
}

static bool condition_holds(Sample *q, Var condition, bool *yes) {
    Value v = {0};
    if (!services(q->b->s)->eval(q->b->g, 1, &condition, &v)) return false;
    *yes = true;
    for (int64_t i = 0, n = tensor_size(&v.t); i < n; i++)
        *yes &= tensor_f64(&v.t, i) != 0;
    value_unref(&v);
    return true;
}

bool sample_need(Sample *q, const char *condition, const char *says) {
    Session *s = q->b->s;
    const char *name = sym_text(s, q->call->sym);
    Bind *unknown = unknown_of(q, condition);
    Var is = sample_text(q, condition);
    bool yes;
    if (is == VAR_NONE) return false;
    if (!unknown && services(s)->eval) {
        q->b->g->litter = true;
        return condition_holds(q, is, &yes) &&
               (yes || fail(s, q->call->at, E_VALUE, "%s: %s", name, says));
    }
    if (!unknown) unknown = &q->bind[0];
    const Op *op = op_known(s, OP_REQUIRE);
    const char *text = arena_printf(compiler_arena(q->c), "%s: %s", name, says);
    PropArg msg = {"msg", PROP_STR(sym(s, text))};
    Var in[] = {unknown->var, is};
    unknown->var = op_apply1(q->b, op, props_make(s, op, 1, &msg), 2, in);
    return unknown->var != VAR_NONE;
}

bool sample_needs(Sample *q, const char *conditions) {
    Arena *a = compiler_arena(q->c);
    while (*conditions) {
        size_t n = strcspn(conditions, ";");
        char *one = arena_printf(a, "%.*s", (int)n, conditions);
        if (!sample_need(q, one, arena_printf(a, "it needs %s", one))) return false;
        conditions += n;
        conditions += strspn(conditions, "; ");
    }
    return true;
}

/* ---- building ---- */
const char *sample_asked(Sample *q) {
    const char *outer = q->b->asked;
    if (!outer) q->b->asked = sym_text(q->b->s, q->call->sym);
    return outer;
}

Var sample_text(Sample *q, const char *t) {
    Env env = {.n = q->nbind, .bind = q->bind};
    bool ok = true;
    const char *outer = sample_asked(q);
    Var v = template_build(q->b, t, &env, &ok);
    q->b->asked = outer;
    return ok ? v : VAR_NONE;
}

Var sample_draw(Sample *q, const char *dist, size_t n, const Var *param, DType d) {
    Session *s = q->b->s;
    const Op *op = op_known(s, OP_DRAW);
    if (!read_state(q)) return VAR_NONE;
    Var in[6] = {q->rng}, out[2];
    size_t nin = 1;
    for (size_t i = 0; i < n; i++)
        in[nin++] = param[i];
    if (q->size != VAR_NONE) in[nin++] = q->size;
    PropArg props[] = {{"dist", PROP_STR(sym(s, dist))}, {"dtype", PROP_DTYPE(d)}};
    const char *outer = sample_asked(q);
    bool ok = op_apply(q->b, op, props_make(s, op, 2, props), nin, in, out);
    q->b->asked = outer;
    if (!ok) return VAR_NONE;
    q->rng = out[0];
    return out[1];
}

bool sample_give(Sample *q, Var v, Node *out) {
    if (v == VAR_NONE || !read_state(q)) return false;
    Node pair[] = {node_var(q->rng, q->call->at), node_var(v, q->call->at)};
    if (q->pair) return compiler_tree(q->c, 2, pair, NULL, q->call->at, out);
    *out = pair[1];
    return true;
}
