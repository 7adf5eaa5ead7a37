/* Nodes as variables: decides the dtype of weak numbers and lists that meet a tensor
 * parameter. */
#include "lang/compile_impl.h"
#include "op/infer.h"
#include "op/services.h"

#include <string.h>

Node node_var(Var v, Span at) {
    return (Node){.kind = NODE_VAR, .at = at, .var = v};
}
Node node_literal(Literal l, Span at) {
    return (Node){.kind = NODE_LITERAL, .at = at, .var = VAR_NONE, .lit = l};
}

bool node_is_literal(const Node *n) {
    if (n->kind == NODE_LITERAL) return true;
    if (n->kind != NODE_LIST || n->sym) return false;
    for (size_t i = 0; i < n->n; i++)
        if (!node_is_literal(&n->item[i])) return false;
    return true;
}

bool node_is_weak(const Node *n) {
    if (n->kind == NODE_LITERAL) return true;
    if (n->kind == NODE_VAR) return n->weak;
    if (n->kind != NODE_LIST || n->sym) return false;
    for (size_t i = 0; i < n->n; i++)
        if (!node_is_weak(&n->item[i])) return false;
    return true;
}

const char *node_kind_text(const Node *n) {
    static const char *const text[] = {[NODE_VAR] = "a variable",
                                       [NODE_LIST] = "a list",
                                       [NODE_DICT] = "a dict",
                                       [NODE_STRING] = "a string",
                                       [NODE_NONE] = "None",
                                       [NODE_DTYPE] = "a dtype",
                                       [NODE_FUNCTION] = "a function",
                                       [NODE_LITERAL] = "a number",
                                       [NODE_DISCONNECTED] = "`disconnected`"};
    return text[n->kind];
}

bool node_fail_not_tensor(Compiler *c, const Node *n) {
    fail(c->s, n->at, E_TYPE, "%s where a tensor is expected", node_kind_text(n));
    if (n->kind == NODE_FUNCTION)
        note(c->s, NOWHERE, "write what it gives: f(x), not f");
    return false;
}

/* ---- trees ---- */

bool node_tree(Compiler *c, size_t n, Node *item, Sym *key, Span at, Node *out) {
    uint64_t leaves = n == 0;
    uint32_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        bool tree = item[i].kind == NODE_LIST || item[i].kind == NODE_DICT;
        leaves += tree ? item[i].leaves : 1;
        if (tree && item[i].depth > depth) depth = item[i].depth;
    }
    if (leaves > TREE_LEAVES)
        return fail(
            c->s, at, E_LIMIT,
            "the list has more than %d elements: put them in a file and load it",
            TREE_LEAVES);
    if (depth >= EXPR_DEPTH)
        return fail(c->s, at, E_LIMIT, "lists are nested more than %d deep",
                    EXPR_DEPTH);
    *out =
        (Node){.kind = key ? NODE_DICT : NODE_LIST, .at = at, .var = VAR_NONE, .n = n};
    out->leaves = (uint32_t)leaves;
    out->depth = depth + 1;
    out->item = item;
    out->key = key;
    return true;
}

bool compiler_tree(Compiler *c, size_t n, const Node *item, const Sym *key, Span at,
                   Node *out) {
    Node *items = arena_copy(c->nodes, item, n * sizeof *item);
    Sym *keys = key ? arena_copy(c->nodes, key, n * sizeof *key) : NULL;
    return node_tree(c, n, items, keys, at, out);
}

bool compiler_tuple(Compiler *c, size_t n, const Node *item, Span at, Node *out) {
    if (!compiler_tree(c, n, item, NULL, at, out)) return false;
    out->tuple = true;
    return true;
}

/* ---- dtypes ---- */

static bool fail_many_outputs(Compiler *c, const Node *n) {
    return fail(c->s, n->at, E_ARITY,
                "%s has %zu outputs: write `a, b = ...`, or take one with [0]",
                sym_text(c->s, n->sym), n->n);
}

static void add_strong(OperandParts *p, DType d) {
    p->strong = p->strong == DT_NONE ? d : dtype_promote(p->strong, d);
}
static void add_weak(OperandParts *p, DKind k) {
    k = dkind_weak(k);
    if ((int)k > p->weak) p->weak = (int)k;
}

/* Adds the parts of n. */
static bool add_node_parts(Compiler *c, const Node *n, OperandParts *p) {
    if (n->kind == NODE_LITERAL) {
        add_weak(p, n->lit.kind);
    } else if (n->kind == NODE_VAR) {
        const Type *t = var_type(c->b->g, n->var);
        if (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE) return true;
        p->variable |= n->weak;
        if (n->weak)
            add_weak(p, dtype_kind(t->dtype));
        else
            add_strong(p, t->dtype);
    } else if (n->kind == NODE_LIST) {
        if (n->sym) return fail_many_outputs(c, n);
        for (size_t i = 0; i < n->n; i++)
            if (!add_node_parts(c, &n->item[i], p)) return false;
        if (n->n == 0) add_weak(p, K_FLOAT);
    } else {
        return node_fail_not_tensor(c, n);
    }
    return true;
}

bool node_parts(Compiler *c, const Node *n, OperandParts *p) {
    *p = (OperandParts){DT_NONE, -1, false};
    return add_node_parts(c, n, p);
}

DType operand_dtype(const Compiler *c, OperandParts p, Promote promote) {
    DType d = p.strong, floatX = c->b->floatX;
    if (d == DT_NONE && p.weak < 0) return DT_NONE;
    if (d == DT_NONE)
        d = literal_dtype_of_kind((DKind)p.weak, floatX);
    else if (p.weak >= 0)
        d = dtype_weak(d, (DKind)p.weak, floatX);
    return promote == PROMOTE_INEXACT ? dtype_inexact(d, floatX) : d;
}

/* ---- constants ---- */

static bool store_literal(Compiler *c, const Node *n, const ConstForm *form, char **p) {
    if (!literal_store(c->s, &n->lit, form->dtype, form->convert, n->at, *p))
        return false;
    return *p += dtype_size(form->dtype), true;
}

/* Writes the leaves of a list of literals row by row; form->shape is that of the first
 * items. */
static bool store_nested_literals(Compiler *c, const Node *n, const ConstForm *form,
                                  int depth, char **p) {
    if (n->kind == NODE_LITERAL && depth == form->ndim)
        return store_literal(c, n, form, p);
    if (n->kind == NODE_LITERAL || depth == form->ndim ||
        (int64_t)n->n != form->shape[depth])
        return fail(c->s, n->at, E_SHAPE,
                    "the rows of a nested list must all have the same shape");
    for (size_t i = 0; i < n->n; i++)
        if (!store_nested_literals(c, &n->item[i], form, depth + 1, p)) return false;
    return true;
}

static bool list_shape(Compiler *c, const Node *n, int *ndim, int64_t *shape) {
    Span at = n->at;
    for (*ndim = 0; n->kind == NODE_LIST; n = &n->item[0]) {
        if (!type_ndim_fits(c->s, at, NULL, *ndim + 1)) return false;
        shape[(*ndim)++] = (int64_t)n->n;
        if (n->n == 0) break;
    }
    return true;
}

static bool store_flat_literals(Compiler *c, const Node *n, const ConstForm *form,
                                char **p) {
    if (n->kind == NODE_LITERAL) return store_literal(c, n, form, p);
    for (size_t i = 0; n->kind == NODE_LIST && i < n->n; i++)
        if (!store_flat_literals(c, &n->item[i], form, p)) return false;
    return true;
}

static bool number_const(Compiler *c, const Node *n, const ConstForm *form, Var *out) {
    _Alignas(16) char bytes[16];
    *out = literal_store(c->s, &n->lit, form->dtype, form->convert, n->at, bytes)
               ? graph_const_number(c->b->g, form->dtype, bytes, false)
               : VAR_NONE;
    return *out != VAR_NONE;
}

bool node_const(Compiler *c, const Node *n, const ConstForm *want, Var *out) {
    int64_t own[MAX_NDIM];
    bool flat = want->ndim >= 0;
    ConstForm form = *want;
    Tensor t;
    if (!flat && n->kind == NODE_LITERAL && !c->b->intern)
        return number_const(c, n, &form, out);
    if (!flat) form.shape = own;
    if (!flat && !list_shape(c, n, &form.ndim, own)) return false;
    if (!tensor_new(c->s, form.dtype, form.ndim, form.shape, &t)) return false;
    char *p = t.data;
    bool ok = flat ? store_flat_literals(c, n, &form, &p)
                   : store_nested_literals(c, n, &form, 0, &p);
    if (ok) *out = graph_const(c->b->g, &t, c->b->intern);
    tensor_unref(&t);
    return ok;
}

/* ---- variables ---- */

static bool stack_items(Compiler *c, const Node *n, DType d, Var *out) {
    const Op *stack = op_known(c->s, OP_STACK);
    Var *in = mem_alloc(c->s, (n->n + 1) * sizeof *in);
    bool ok = true;
    for (size_t i = 0; i < n->n && ok; i++)
        ok = node_to_dtype(c, &n->item[i], d, &in[i]);
    Node r;
    const char *outer = c->b->asked;
    if (!outer) c->b->asked = "a list of tensors";
    ok = ok && compiler_apply_op(c, stack, NULL, (VarList){n->n, in}, n->at, &r);
    c->b->asked = outer;
    mem_free(in);
    if (ok) *out = r.var;
    if (!ok && n->n == 2 && n->item[0].kind == NODE_VAR &&
        var_type(c->b->g, n->item[0].var)->kind == TYPE_RANDOM)
        note(c->s, NOWHERE,
             "a draw with rng= is a pair, the next state and the numbers: write "
             "state, y = ..., or take [1]");
    return ok;
}

/* Is v computed from constants only? `budget` limits the search. */
static bool made_of_constants(const Graph *g, Var v, int *budget) {
    if (var_is_const(g, v)) return true;
    ApplyId a = var_owner(g, v);
    if (a == APPLY_NONE || --*budget < 0) return false;
    for (size_t i = 0; i < g->apply[a].nin; i++)
        if (!made_of_constants(g, apply_in(g, a)[i], budget)) return false;
    return true;
}

/* Integers computed from literals must fit as a literal must: a cast would wrap
 * around. */
static bool check_int_fits(Compiler *c, const Node *n, DType d) {
    int budget = 64;
    Graph *g = c->b->g;
    const Type *t = var_type(g, n->var);
    bool narrows = t->kind == TYPE_TENSOR && t->dtype == DT_INT64 &&
                   dtype_is_integer(d) && d != DT_INT64;
    Value v = {0};
    _Alignas(16) char bytes[16];
    if (!n->weak || c->env || !narrows || !services(c->s)->eval ||
        !made_of_constants(g, n->var, &budget))
        return true;
    bool ok = services(c->s)->eval(g, 1, &n->var, &v);
    int64_t size = ok ? tensor_size(&v.t) : 0;
    for (int64_t i = 0; ok && i < size; i++) {
        Literal l = literal_int(tensor_i64(&v.t, i));
        ok = literal_store(c->s, &l, d, false, n->at, bytes);
    }
    value_unref(&v);
    return ok;
}

bool node_to_dtype(Compiler *c, const Node *n, DType d, Var *out) {
    if (node_is_literal(n))
        return node_const(c, n, &(ConstForm){.dtype = d, .ndim = -1}, out);
    if (n->kind == NODE_LIST)
        return n->sym ? fail_many_outputs(c, n) : stack_items(c, n, d, out);
    if (n->kind != NODE_VAR) return node_fail_not_tensor(c, n);
    const Type *t = var_type(c->b->g, n->var);
    *out = n->var;
    bool array = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
    if (!check_int_fits(c, n, d)) return false;
    if (array && t->dtype != d) *out = op_cast_to(c->b, n->var, d);
    return *out != VAR_NONE;
}

bool compiler_var(Compiler *c, const Node *n, DType like, Var *out) {
    if (n->kind == NODE_VAR && !n->weak) {
        *out = n->var;
        return true;
    }
    if (n->kind == NODE_NONE) {
        Value none = {.kind = TYPE_NONE};
        *out = graph_const_value(c->b->g, type_simple(c->s, TYPE_NONE), &none);
        return true;
    }
    OperandParts p;
    if (!node_parts(c, n, &p)) return false;
    if (like != DT_NONE && p.strong == DT_NONE) {
        bool lit = node_is_literal(n);
        return node_to_dtype(
            c, n, lit ? like : dtype_weak(like, (DKind)p.weak, c->b->floatX), out);
    }
    return node_to_dtype(c, n, operand_dtype(c, p, PROMOTE_NONE), out);
}

bool node_weak_as_itypes(Compiler *c, const Op *op, size_t n, Node *in) {
    for (size_t i = 0; op_rare(op)->itypes && i < n; i++) {
        bool weak = node_is_weak(&in[i]) && !node_is_literal(&in[i]);
        DType d = weak ? itypes_dtype(c->s, op, i) : DT_NONE;
        Var v;
        if (d == DT_NONE) continue;
        if (!compiler_var(c, &in[i], d, &v)) return false;
        in[i] = node_var(v, in[i].at);
    }
    return true;
}

bool compiler_vars(Compiler *c, const Node *n, size_t *count, Var **vars) {
    bool list = n->kind == NODE_LIST || n->kind == NODE_DICT;
    *count = list ? n->n : 1;
    *vars = arena_alloc(c->nodes, (*count + 1) * sizeof(Var));
    for (size_t i = 0; i < *count; i++)
        if (!compiler_var(c, list ? &n->item[i] : n, DT_NONE, &(*vars)[i]))
            return false;
    return true;
}

/* ---- integers: shapes, sizes ---- */

static bool check_int_node(Compiler *c, const Node *n) {
    if (n->kind == NODE_LITERAL && n->lit.kind == K_INT) return true;
    if (n->kind == NODE_VAR) {
        const Type *t = var_type(c->b->g, n->var);
        if (t->kind == TYPE_TENSOR && dtype_is_integer(t->dtype)) return true;
        return fail(c->s, n->at, E_DTYPE, "expected an integer, not %s",
                    type_str(c->s, t));
    }
    return fail(c->s, n->at, E_TYPE, "expected an integer, not %s",
                n->kind != NODE_LITERAL ? node_kind_text(n)
                : n->lit.kind == K_BOOL ? "a bool"
                                        : "a float");
}

static bool is_wide_index(const Compiler *c, const Node *n) {
    return n->kind == NODE_VAR && var_type(c->b->g, n->var)->dtype == DT_UINT64;
}

static bool items_to_index(Compiler *c, Node *list) {
    for (size_t i = 0; i < list->n; i++) {
        Node *n = &list->item[i];
        if (!is_wide_index(c, n)) continue;
        n->var = op_cast_to_index(c->b, n->var);
        if (n->var == VAR_NONE) return false;
    }
    return true;
}

/* Only what is cast needs a list of its own. */
static bool list_to_ints(Compiler *c, const Node *n, Var *out) {
    Node own;
    bool cast = false;
    for (size_t i = 0; i < n->n; i++) {
        if (!check_int_node(c, &n->item[i])) return false;
        cast |= is_wide_index(c, &n->item[i]);
    }
    if (cast && (!compiler_tree(c, n->n, n->item, NULL, n->at, &own) ||
                 !items_to_index(c, &own)))
        return false;
    return node_to_dtype(c, cast ? &own : n, DT_INT64, out);
}

bool node_ints(Compiler *c, const Node *n, Var *out) {
    if (n->kind == NODE_LIST)
        return n->sym ? fail_many_outputs(c, n) : list_to_ints(c, n, out);
    if (!check_int_node(c, n)) return false;
    if (n->kind == NODE_VAR && var_type(c->b->g, n->var)->ndim > 0) {
        *out = n->var;
        return true;
    }
    Node item = *n, list;
    return node_tree(c, 1, &item, NULL, n->at, &list) && items_to_index(c, &list) &&
           node_to_dtype(c, &list, DT_INT64, out);
}

bool compiler_ints(Compiler *c, const Node *n, Var *out) {
    return node_ints(c, n, out);
}
