/* vectorize of a function: applies it to the first row of each argument, then rebuilds
 * what that added to the graph for all rows. */
#include "vmap/vmap.h"

#include <string.h>

enum { AXIS_NONE = INT32_MAX }; /* the argument has no rows */
typedef struct RowFunction {
    Node f;
    const Ast *call;
    bool one; /* a single axis, for all arguments */
    size_t naxis;
    int64_t *axis;
} RowFunction;

/* ---- in_axes ---- */
static bool read_in_axis(Compiler *c, const Node *n, int64_t *axis) {
    bool number =
        n->kind == NODE_LITERAL && n->lit.kind == K_INT && n->lit.u < MAX_NDIM;
    *axis =
        number ? (n->lit.negative ? -(int64_t)n->lit.u : (int64_t)n->lit.u) : AXIS_NONE;
    return number || n->kind == NODE_NONE ||
           fail(compiler_builder(c)->s, n->at, E_ARG,
                "in_axes must be an axis, None, or a list of one for each argument");
}

static bool read_in_axes(Compiler *c, const Ast *arg, RowFunction *t) {
    Node n, zero = {.kind = NODE_LITERAL, .lit = {.kind = K_INT}};
    if (arg && !compiler_ast(c, arg, &n)) return false;
    if (!arg) n = zero;
    t->one = n.kind != NODE_LIST;
    t->naxis = t->one ? 1 : n.n;
    t->axis = NEW_N(compiler_arena(c), t->naxis + 1, int64_t);
    for (size_t i = 0; i < t->naxis; i++)
        if (!read_in_axis(c, t->one ? &n : &n.item[i], &t->axis[i])) return false;
    return true;
}

/* ---- applying ---- */
typedef struct VectorizeCall {
    const RowFunction *t;
    Compiler *c;
    Builder *b;
    Span at;
    size_t nrow; /* arguments with rows */
    Var *row, *rows;
    Node *arg; /* the arguments f is applied to */
} VectorizeCall;

static bool move_rows_first(VectorizeCall *p, size_t i, int64_t axis, Var *v) {
    const Type *t = var_type(p->b->g, *v);
    if (t->kind != TYPE_TENSOR)
        return fail(p->b->s, p->at, E_TYPE, "only tensors have rows, not %s",
                    type_str(p->b->s, t));
    if (axis < -t->ndim || axis >= t->ndim)
        return fail(p->b->s, p->at, E_SHAPE,
                    "argument %zu is %s: it has no axis %lld for the rows", i + 1,
                    type_str(p->b->s, t), (long long)axis);
    if (axis < 0) axis += t->ndim;
    PropArg from[] = {{"source", PROP_INT(axis)}, {"destination", PROP_INT(0)}};
    if (axis) *v = apply_named(p->b, "moveaxis", 1, v, 2, from);
    return *v != VAR_NONE;
}

/* A row to apply f to, for its type only: it is never computed. Where there are
 * statically no rows, a sum over none has the type. */
static Var first_row_of(Builder *b, Var v) {
    const Type *t = var_type(b->g, v);
    if (t->dim[0] != 0) return op_first_row(b, v);
    PropArg axis = {"axis", PROP_INTS((int64_t[]){0}, 1)};
    Var row = apply_named(b, "sum", 1, &v, 1, &axis);
    return row == VAR_NONE ? row : op_cast_to(b, row, t->dtype);
}

/* Argument i: its first row, or itself if it has no rows. */
static bool read_row_argument(VectorizeCall *p, size_t i, const Node *arg) {
    const RowFunction *t = p->t;
    int64_t axis = t->axis[t->one ? 0 : i];
    p->arg[i] = *arg;
    if (axis == AXIS_NONE) return true;
    const Graph *fn = t->f.fn;
    DType like = DT_NONE;
    if (fn && i < fn->inputs.n) like = var_type(fn, fn->inputs.p[i])->dtype;
    Var v;
    if (!compiler_var(p->c, arg, like, &v) || !move_rows_first(p, i, axis, &v))
        return false;
    Var row = first_row_of(p->b, v);
    if (row == VAR_NONE) return false;
    p->arg[i] = node_var(row, arg->at);
    p->row[p->nrow] = row;
    p->rows[p->nrow++] = v;
    return true;
}

/* Collects the variables of a result; replace_results puts their replacements in the
 * same places. */
typedef Vec(Var) Vars;
static bool collect_results(VectorizeCall *p, Node *n, Vars *want) {
    if (n->kind == NODE_LIST || n->kind == NODE_DICT) {
        n->item = arena_copy(compiler_arena(p->c), n->item, n->n * sizeof *n->item);
        for (size_t i = 0; i < n->n; i++)
            if (!collect_results(p, &n->item[i], want)) return false;
        return true;
    }
    Var v;
    if (!compiler_var(p->c, n, DT_NONE, &v)) return false;
    vec_push(p->b->s, want, v);
    return true;
}

static void replace_results(Node *n, Span at, const Var **result) {
    bool tree = n->kind == NODE_LIST || n->kind == NODE_DICT;
    for (size_t i = 0; tree && i < n->n; i++)
        replace_results(&n->item[i], at, result);
    if (!tree) *n = node_var(*(*result)++, at);
}

/* Rebuilds f's results, then its effects, for all rows. */
static bool vmap_results(VectorizeCall *p, size_t from, Node *out) {
    Graph *g = p->b->g;
    Vars want = {0};
    bool ok = collect_results(p, out, &want);
    size_t nout = want.n;
    for (size_t i = from; ok && i < g->effects.n; i++) {
        Var effect = g->apply[g->effects.p[i]].out;
        if (!graph_is_rowwise(g, effect)) vec_push(p->b->s, &want, effect);
    }
    Var *result = NEW_N(compiler_arena(p->c), want.n + 1, Var);
    const Var *next = result;
    Expansion e = expansion_begin(p->c, p->t->call);
    VarList row = {p->nrow, p->row};
    VmapWant all = {{want.n, want.p}, nout};
    ok = ok && vmap_nested(e.b, row, p->rows, &all, result);
    expansion_end(&e);
    vec_free(&want);
    if (ok) replace_results(out, p->at, &next);
    return ok;
}

static bool apply_vectorized(Compiler *c, const Node *f, const Arguments *args,
                             Node *out) {
    size_t n = args->n;
    const RowFunction *t = f->data;
    Arena *a = compiler_arena(c);
    VectorizeCall p = {.t = t,
                       .c = c,
                       .b = compiler_builder(c),
                       .at = args->at,
                       .row = NEW_N(a, n + 1, Var),
                       .rows = NEW_N(a, n + 1, Var),
                       .arg = NEW_N(a, n + 1, Node)};
    Session *s = p.b->s;
    if (!t->one && t->naxis != n)
        return fail(s, args->at, E_ARITY, "in_axes has %s for %s",
                    str_counted(s, t->naxis, "entry"), str_counted(s, n, "argument"));
    for (size_t i = 0; i < n; i++)
        if (!read_row_argument(&p, i, &args->arg[i])) return false;
    if (!p.nrow) return fail(s, args->at, E_ARG, "no argument has rows");
    size_t effects = p.b->g->effects.n;
    return compiler_apply(c, &t->f, &(Arguments){n, p.arg, args->key, args->at}, out) &&
           vmap_results(&p, effects, out);
}

bool vmap_macro_function(Compiler *c, const Ast *call, const Node *f,
                         const Ast *const *arg, Node *out) {
    if (arg[1] || arg[2])
        return fail(compiler_builder(c)->s, call->at, E_ARITY,
                    "apply vectorize of a function to the rows: vectorize(f)(rows)");
    RowFunction *t = NEW(compiler_arena(c), RowFunction);
    t->f = *f;
    t->call = call;
    *out = (Node){.kind = NODE_FUNCTION,
                  .at = call->at,
                  .var = VAR_NONE,
                  .apply = apply_vectorized,
                  .data = t};
    return read_in_axes(c, arg[3], t);
}
