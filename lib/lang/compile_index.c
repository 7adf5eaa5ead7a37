/* x[...]: picks from a list or dict at build time; of a tensor it is a subtensor, whose
 * prop `index` is the text between the brackets with `$` for each part that is an
 * input. */
#include "lang/compile_impl.h"
#include "value/object.h"

#include <string.h>

typedef struct IndexSpec {
    Compiler *c;
    Var of;   /* the indexed variable */
    int axis; /* the axis of the next part; -1 after an ellipsis */
    Str text;
    Vec(Var) in;
} IndexSpec;

static bool add_index_input(IndexSpec *sp, Var v) {
    vec_push(sp->c->s, &sp->in, v);
    str_putc(&sp->text, '$');
    return true;
}

static bool fail_index(Compiler *c, const Node *n, const char *what) {
    return fail(c->s, n->at, E_TYPE,
                "an index must be an integer, a slice, None, `...` or an array, not %s",
                what);
}

static bool is_bool_list(const Node *n) {
    while (n->kind == NODE_LIST && n->n > 0)
        n = &n->item[0];
    return n->kind == NODE_LITERAL && n->lit.kind == K_BOOL;
}

/* A slice that is a value: its parts for this axis are computed at run time. */
static bool add_slice_value(IndexSpec *sp, const Node *n) {
    Compiler *c = sp->c;
    const Op *op = op_known(c->s, OP_SLICE_INDICES);
    const Type *t = var_type(c->b->g, sp->of);
    Node r;
    if (sp->axis < 0 || sp->axis >= t->ndim)
        return fail(c->s, n->at, E_TYPE,
                    sp->axis < 0 ? "a slice that is a value can't follow `...`"
                                 : "there are more indices than dims (%d)",
                    t->ndim);
    Var in[2] = {n->var, shape_of(c->b, sp->of, sp->axis)};
    if (in[1] == VAR_NONE ||
        !compiler_apply_op(c, op, NULL, (VarList){2, in}, n->at, &r))
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (i) str_putc(&sp->text, ':');
        add_index_input(sp, r.item[i].var);
    }
    return true;
}

/* The number of axes that a part takes. */
static int count_index_axes(const IndexSpec *sp, const Node *n) {
    const Type *t = n->kind == NODE_VAR ? var_type(sp->c->b->g, n->var) : NULL;
    if (n->kind == NODE_NONE) return 0;
    return t && t->kind == TYPE_TENSOR && t->dtype == DT_BOOL ? t->ndim : 1;
}

/* A part that is not a slice. */
static bool add_index_part(IndexSpec *sp, const Node *n) {
    Compiler *c = sp->c;
    Var v;
    if (n->kind == NODE_NONE) {
        str_puts(&sp->text, "None");
        return true;
    }
    if (n->kind == NODE_LITERAL) {
        if (n->lit.kind != K_INT)
            return fail_index(c, n,
                              n->lit.kind == K_BOOL ? "a single bool" : "a float");
        return node_const(c, n, &(ConstForm){.dtype = DT_INT64, .ndim = -1}, &v) &&
               add_index_input(sp, v);
    }
    if (n->kind == NODE_LIST) {
        OperandParts p;
        if (!node_parts(c, n, &p)) return false;
        bool mask = node_is_literal(n) && is_bool_list(n);
        DType d = mask ? DT_BOOL : p.strong != DT_NONE ? p.strong : DT_INT64;
        if (!mask && p.weak > (int)K_INT && n->n > 0) return fail_index(c, n, "floats");
        return node_to_dtype(c, n, d, &v) && add_index_input(sp, v);
    }
    if (n->kind != NODE_VAR) return fail_index(c, n, node_kind_text(n));
    const Type *t = var_type(c->b->g, n->var);
    if (t->kind == TYPE_SLICE) return add_slice_value(sp, n);
    if (t->kind == TYPE_TENSOR && !dtype_is_discrete(t->dtype))
        return fail_index(c, n, dtype_name(t->dtype)) ||
               (t->ndim == 0 && dtype_is_float(t->dtype) &&
                note(c->s, NOWHERE, "`//` divides integers: x[n // 2]") && false);
    return add_index_input(sp, n->var);
}

static bool add_slice_part(IndexSpec *sp, const Ast *e) {
    Node n;
    Var v;
    if (!e || e->kind == AST_NONE) return true;
    if (!compile(sp->c, e, DT_NONE, &n)) return false;
    bool fits = n.kind == NODE_LITERAL ? n.lit.kind == K_INT : n.kind == NODE_VAR;
    if (fits && n.kind == NODE_VAR) {
        const Type *t = var_type(sp->c->b->g, n.var);
        fits = t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype);
    }
    if (!fits)
        return fail(sp->c->s, n.at, E_TYPE, "the parts of a slice must be integers");
    return compiler_var(sp->c, &n, DT_NONE, &v) && add_index_input(sp, v);
}

static bool add_node(IndexSpec *sp, const Node *n) {
    if (sp->text.n) str_puts(&sp->text, ", ");
    if (!add_index_part(sp, n)) return false;
    if (sp->axis >= 0) sp->axis += count_index_axes(sp, n);
    return true;
}

static bool add_slice(IndexSpec *sp, const Ast *e) {
    sp->axis += sp->axis >= 0;
    if (!add_slice_part(sp, e->kid[0])) return false;
    str_putc(&sp->text, ':');
    if (!add_slice_part(sp, e->kid[1])) return false;
    if (!e->kid[2] || e->kid[2]->kind == AST_NONE) return true;
    str_putc(&sp->text, ':');
    return add_slice_part(sp, e->kid[2]);
}

/* ---- results that stand for their parts ---- */

/* r[i] of a tensor r whose row i is known to be there. */
bool index_row(Compiler *c, const Node *r, size_t i, Node *out) {
    const Ast row = {.kind = AST_INT, .at = r->at, .u = i}, *kid[2] = {NULL, &row};
    Ast index = {.kind = AST_INDEX, .at = r->at, .nkid = 2, .kid = kid};
    return compile_index(c, &index, r, out);
}

/* Ops whose result has a row for each dim, where NumPy's functions give a tuple. */
static bool gives_positions(const char *op) {
    return strcmp(op, "nonzero") == 0 || strcmp(op, "unravel_index") == 0;
}

static bool is_index_tensor(Compiler *c, const Node *n) {
    const Type *t = n->kind == NODE_VAR ? var_type(c->b->g, n->var) : NULL;
    return t && t->kind == TYPE_TENSOR && dtype_is_integer(t->dtype);
}

/* A name loses what it was called by: y = nonzero(m); x[y] is of rows of x. */
static void warn_of_positions(Compiler *c, const Ast *e, const Node *n) {
    ApplyId a = var_owner(c->b->g, n->var);
    if (a == APPLY_NONE || e->kind != AST_NAME || c->env) return;
    const char *op = c->b->g->apply[a].op->name, *name = sym_text(c->s, e->sym);
    if (!gives_positions(op)) return;
    warn(c->s, e->at, E_ARG,
         "`%s` is the matrix that %s gives, not a tuple: its numbers pick rows", name,
         op);
    note(c->s, NOWHERE, "for its positions write x[%s(...)], or x[%s[0], ...]", op,
         name);
}

/* An index alone: x[nonzero(m)] and x[triu_indices(n)] are of positions, as in NumPy.
 */
static bool open_positions(Compiler *c, const Ast *e, Node *n) {
    bool ints = n->kind == NODE_LIST && n->sym;
    for (size_t i = 0; ints && i < n->n; i++)
        ints = is_index_tensor(c, &n->item[i]);
    n->tuple |= ints;
    if (n->tuple || !is_index_tensor(c, n)) return true;
    warn_of_positions(c, e, n);
    bool call = e->kind == AST_CALL || e->kind == AST_METHOD;
    const Type *t = var_type(c->b->g, n->var);
    if (!call || !gives_positions(sym_text(c->s, e->sym)) || t->ndim == 0 ||
        !dim_is_known(t->dim[0]) || t->dim[0] == 0)
        return true;
    size_t count = (size_t)t->dim[0];
    Node *row = arena_alloc(c->tmp, count * sizeof *row);
    for (size_t i = 0; i < count; i++)
        if (!index_row(c, n, i, &row[i])) return false;
    return compiler_tuple(c, count, row, n->at, n);
}

/* ---- a part ---- */

static bool add_subscript(IndexSpec *sp, const Ast *e, bool alone) {
    Node n;
    if (e->kind == AST_ELLIPSIS || e->kind == AST_SLICE) {
        if (sp->text.n) str_puts(&sp->text, ", ");
        if (e->kind == AST_SLICE) return add_slice(sp, e);
        str_puts(&sp->text, "...");
        sp->axis = -1;
        return true;
    }
    if (!compile(sp->c, e, DT_NONE, &n)) return false;
    if (alone && !open_positions(sp->c, e, &n)) return false;
    if (!alone || !n.tuple) return add_node(sp, &n);
    for (size_t i = 0; i < n.n; i++)
        if (!add_node(sp, &n.item[i])) return false;
    return true;
}

/* x[(a, b)] is x[a, b]. */
static void get_subscripts(const Ast *e, size_t *n, const Ast ***kid) {
    *n = e->nkid - 1;
    *kid = e->kid + 1;
    if (*n == 1 && e->kid[1]->kind == AST_TUPLE) {
        *n = e->kid[1]->nkid;
        *kid = e->kid[1]->kid;
    }
}

bool index_spec(Compiler *c, const Ast *e, Var of, Sym *spec, size_t *n, Var **in) {
    IndexSpec sp = {.c = c, .of = of, .text = STR(c->s)};
    size_t nkid;
    const Ast **kid;
    bool ok = true;
    get_subscripts(e, &nkid, &kid);
    for (size_t i = 0; i < nkid && ok; i++)
        ok = add_subscript(&sp, kid[i], nkid == 1 && kid == e->kid + 1);
    *spec = sym_n(c->s, str_text(&sp.text), sp.text.n);
    *n = sp.in.n;
    *in = arena_copy(c->tmp, sp.in.p, sp.in.n * sizeof(Var));
    str_free(&sp.text);
    vec_free(&sp.in);
    return ok;
}

/* x[i] and x[a:b] of a list value. */
static bool index_value(Compiler *c, const Ast *e, Var x, Node *out) {
    const Op *get = op_known(c->s, OP_LIST_GET), *make = op_known(c->s, OP_MAKE_SLICE);
    size_t nkid;
    const Ast **kid;
    Node n;
    Var in[3], pair[2] = {x, VAR_NONE};

    get_subscripts(e, &nkid, &kid);
    if (nkid != 1)
        return fail(c->s, e->at, E_TYPE,
                    "a list takes one index: an integer or a slice");
    if (kid[0]->kind == AST_SLICE) {
        const Node none = {.kind = NODE_NONE, .at = e->at, .var = VAR_NONE};
        for (size_t i = 0; i < 3; i++) {
            n = none;
            if ((kid[0]->kid[i] && !compile(c, kid[0]->kid[i], DT_NONE, &n)) ||
                !compiler_var(c, &n, DT_NONE, &in[i]))
                return false;
        }
        if (!compiler_evaluate_or_apply(c, make, NULL, (VarList){3, in}, e->at, &n))
            return false;
    } else if (!compile(c, kid[0], DT_NONE, &n)) {
        return false;
    }
    return compiler_var(c, &n, DT_NONE, &pair[1]) &&
           compiler_apply_op(c, get, NULL, (VarList){2, pair}, e->at, out);
}

static bool index_tensor(Compiler *c, const Ast *e, const Node *x, Node *out) {
    Var v, *in;
    Sym spec;
    size_t n;
    const Op *op = op_known(c->s, OP_SUBTENSOR);
    if (!compiler_var(c, x, DT_NONE, &v)) return false;
    if (var_type(c->b->g, v)->kind == TYPE_LIST) return index_value(c, e, v, out);
    if (!index_spec(c, e, v, &spec, &n, &in)) return false;
    if (spec == sym_n(c->s, "", 0)) {
        *out = node_var(v, e->at);
        return true;
    }
    Var *all = arena_alloc(c->tmp, (n + 1) * sizeof *all);
    all[0] = v;
    if (n) memcpy(all + 1, in, n * sizeof *in);
    PropArg prop = {"index", PROP_STR(spec)};
    return compiler_apply_op(c, op, props_make(c->s, op, 1, &prop),
                             (VarList){n + 1, all}, e->at, out);
}

/* ---- lists and dicts ---- */

static bool index_dict(Compiler *c, const Ast *e, const Node *x, Node *out) {
    Node key;
    if (e->nkid == 2 && !compile(c, e->kid[1], DT_NONE, &key)) return false;
    if (e->nkid != 2 || key.kind != NODE_STRING)
        return fail(c->s, e->at, E_TYPE, "a dict takes one index: a string");
    for (size_t i = 0; i < x->n; i++) {
        if (x->key[i] != key.sym) continue;
        *out = x->item[i];
        return true;
    }
    const char **of = mem_alloc(c->s, (x->n + 1) * sizeof *of);
    for (size_t i = 0; i < x->n; i++)
        of[i] = sym_text(c->s, x->key[i]);
    const char *near = str_nearest(c->s, sym_text(c->s, key.sym), of, x->n);
    fail(c->s, key.at, E_NAME, "the dict has no key '%s'%s%s%s",
         sym_text(c->s, key.sym), near ? ": did you mean '" : "", near ? near : "",
         near ? "'?" : "");
    mem_free(of);
    return false;
}

/* A slice bound known at build time; leaves *v alone if it is absent. */
static bool read_known_bound(Compiler *c, const Ast *e, int64_t *v, bool *known) {
    Node n;
    if (!e || e->kind == AST_NONE) return true;
    if (!compile(c, e, DT_NONE, &n)) return false;
    *known = *known && n.kind == NODE_LITERAL && literal_i64(&n.lit, v);
    return true;
}

static bool slice_list(Compiler *c, const Ast *e, const Node *x, Node *out) {
    int64_t n = (int64_t)x->n, step = 1, from, to;
    bool known = true;
    const Ast *const *part = e->kid;
    if (!read_known_bound(c, part[2], &step, &known)) return false;
    from = step < 0 ? n - 1 : 0;
    to = step < 0 ? -n - 1 : n;
    if (!read_known_bound(c, part[0], &from, &known) ||
        !read_known_bound(c, part[1], &to, &known))
        return false;
    if (!known || step == 0)
        return fail(c->s, e->at, E_VALUE,
                    "the parts of a list's slice must be literals, and the step not 0");
    from = step < 0 ? slice_clamp(from, n, -1, n - 1) : slice_clamp(from, n, 0, n);
    to = step < 0 ? slice_clamp(to, n, -1, n - 1) : slice_clamp(to, n, 0, n);
    Node *item = arena_alloc(c->nodes, (x->n + 1) * sizeof *item);
    size_t count = 0;
    for (int64_t i = from; step < 0 ? i > to : i < to; i += step) {
        item[count++] = x->item[i];
        if (step > n || step < -n) break;
    }
    return node_tree(c, count, item, NULL, e->at, out);
}

/* *is: can the index be applied at build time? */
static bool index_list(Compiler *c, const Ast *e, const Node *x, bool *is, Node *out) {
    size_t n;
    const Ast **kid;
    Node k;
    int64_t i;
    get_subscripts(e, &n, &kid);
    *is = n == 1;
    if (*is && kid[0]->kind == AST_SLICE) return slice_list(c, kid[0], x, out);
    bool name = *is && kid[0]->kind == AST_NAME; /* a prop, for one */
    *is = *is && (name || kid[0]->kind == AST_INT || kid[0]->kind == AST_UNARY ||
                  kid[0]->kind == AST_BINARY || kid[0]->kind == AST_IF);
    if (!*is) return true;
    if (!compile(c, kid[0], DT_NONE, &k)) return false;
    *is = k.kind == NODE_LITERAL && literal_i64(&k.lit, &i);
    if (!*is && name) return true;
    if (!*is)
        return fail(c->s, e->at, E_TYPE,
                    "the index of a list must be an integer literal or a slice");
    int64_t len = (int64_t)x->n;
    if (i < -len || i >= len)
        return fail(c->s, k.at, E_VALUE,
                    "index %lld is out of range for a list of length %lld",
                    (long long)i, (long long)len);
    *out = x->item[i < 0 ? i + len : i];
    return true;
}

bool compile_index(Compiler *c, const Ast *e, const Node *x, Node *out) {
    bool is = false;
    if (x->kind == NODE_DICT) return index_dict(c, e, x, out);
    if (x->kind == NODE_LIST) {
        bool ok = index_list(c, e, x, &is, out);
        if (is || !ok) return ok;
    }
    return index_tensor(c, e, x, out);
}

/* set_subtensor(x[...], y), inc_subtensor(x[...], y) */
bool call_subtensor(Compiler *c, const Op *op, const Ast *e, Node *out) {
    const Ast *place = e->kid[0];
    Node x, y;
    Sym spec;
    size_t n;
    Var *index, xv, yv;
    if (e->nkid != 2 || e->kid[1]->kind == AST_KEYWORD)
        return fail(c->s, e->at, E_ARITY, "write %s(x[...], y)", op->name);
    if (!compile(c, place->kid[0], DT_NONE, &x) || !compiler_var(c, &x, DT_NONE, &xv) ||
        !compile(c, e->kid[1], DT_NONE, &y) ||
        !compiler_var(c, &y, var_type(c->b->g, xv)->dtype, &yv) ||
        !index_spec(c, place, xv, &spec, &n, &index))
        return false;
    Var *in = arena_alloc(c->tmp, (n + 2) * sizeof *in);
    in[0] = xv;
    in[1] = yv;
    if (n) memcpy(in + 2, index, n * sizeof *in);
    PropArg prop = {"index", PROP_STR(spec)};
    return compiler_apply_op(c, op, props_make(c->s, op, 1, &prop),
                             (VarList){n + 2, in}, e->at, out);
}
