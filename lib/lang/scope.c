/* What names mean: parameters of lambdas, names of trees, variables, dims, functions,
 * dtypes; and functions as values. A lambda that is applied is compiled in place. One
 * that must be a graph of its own gets a frame: variables of outer frames that its body
 * uses become additional inputs. */
#include "lang/compile_impl.h"
#include "op/convert.h"
#include "op/rowwise.h"
#include "type/word.h"

#include <stdio.h>
#include <string.h>

/* ---- capturing ---- */

/* A name for an input. Types of functions use the dims of the surrounding graph, so
 * names of those dims are taken. */
static Sym free_input_name(Compiler *c, const Graph *g, Sym want,
                           const char *otherwise) {
    Session *s = g->s;
    const char *base = want ? sym_text(s, want) : otherwise;
    Sym y = sym(s, base);
    Str b = STR(s);
    for (int i = 1; graph_find(g, y) != VAR_NONE || compiler_is_dim_name(c, y); i++) {
        str_clear(&b);
        str_printf(&b, "%s_%d", base, i);
        y = sym(s, str_text(&b));
    }
    str_free(&b);
    return y;
}

/* Makes variable v of frame `home` available in frame f, which is inside of it. */
static Var capture_var(Compiler *c, CompileFrame *f, const CompileFrame *home, Var v) {
    if (f == home) return v;
    Var outer = capture_var(c, f->up, home, v);
    Graph *from = f->up->b->g, *to = f->b->g;
    uint64_t have;
    if (map_get(&f->inner, outer, &have)) return (Var)have;
    Var inner;
    const Tensor *t = var_const(from, outer);
    if (t) {
        inner = graph_const(to, t, false);
    } else {
        Sym name = var_leaf(from, outer) == LEAF_DIM ? var_leafrec(from, outer)->name
                                                     : var_name(from, outer);
        inner = graph_input(to, free_input_name(c, to, name, "captured"),
                            var_type(from, outer));
        vec_push(c->s, &f->captured, outer);
    }
    map_put(&f->inner, outer, inner);
    return inner;
}

bool compiler_capture(Compiler *c, const CompileFrame *home, const Node *n, Span at,
                      Node *out) {
    *out = *n;
    out->at = at;
    if (home == c->frame) return true;
    if (n->kind == NODE_VAR) out->var = capture_var(c, c->frame, home, n->var);
    if (n->kind != NODE_LIST && n->kind != NODE_DICT) return true;
    out->item = arena_alloc(c->nodes, (n->n + 1) * sizeof *out->item);
    for (size_t i = 0; i < n->n; i++)
        if (!compiler_capture(c, home, &n->item[i], at, &out->item[i])) return false;
    return true;
}

/* ---- names ---- */

static void record_dim_names(Compiler *c, const Type *t) {
    for (int i = 0; i < t->ndim; i++)
        if (dim_is_named(t->dim[i])) map_put(&c->dims, dim_sym(t->dim[i]), 1);
}

bool compiler_is_dim_name(Compiler *c, Sym name) {
    const Graph *g = c->top.b->g;
    for (; c->ninputs < g->inputs.n; c->ninputs++)
        record_dim_names(c, var_type(g, g->inputs.p[c->ninputs]));
    for (; c->nshared < g->shared.n; c->nshared++)
        record_dim_names(c, var_type(g, g->shared.p[c->nshared]));
    return map_get(&c->dims, name, NULL) || graph_declares_dim(g, name);
}

/* The innermost lambda that has the name. */
static const LambdaScope *scope_of_name(const Compiler *c, Sym name) {
    const LambdaScope *k = c->scope;
    while (k && !lambda_binds(k->lambda, name))
        k = k->up;
    return k;
}

bool scope_has_param(const Compiler *c, Sym name) {
    return scope_of_name(c, name) != NULL;
}

/* NULL: := comes further on. */
static const Node *value_in_scope(const LambdaScope *k, Sym name) {
    for (size_t i = 0; i + 1 < k->lambda->nkid; i++)
        if (k->lambda->kid[i]->sym == name) return &k->value[i];
    const LambdaLocal *l = k->local;
    while (l && l->name != name)
        l = l->up;
    return l ? &l->value : NULL;
}

bool scope_awaits(const Compiler *c, Sym name) {
    const LambdaScope *k = scope_of_name(c, name);
    return k && !value_in_scope(k, name);
}

bool compiler_is_own_function(const Compiler *c, Sym name) {
    const LambdaScope *k = c->env ? NULL : scope_of_name(c, name);
    const Node *value = k ? value_in_scope(k, name) : NULL;
    if (k) return value && value->kind == NODE_FUNCTION;
    return !c->env && compiler_names_function(c, name);
}

static bool lookup_local(Compiler *c, const LambdaScope *k, Sym name, Span at,
                         Node *out) {
    const Node *value = value_in_scope(k, name);
    return value && compiler_capture(c, k->frame, value, at, out);
}

bool compile_binding(Compiler *c, const Ast *e, Node *out) {
    LambdaScope *k = c->scope;
    const char *name = sym_text(c->s, e->sym);
    Var v;
    if (!compile(c, e->kid[0], DT_NONE, out)) return false;
    for (size_t i = 0; i + 1 < k->lambda->nkid; i++)
        if (k->lambda->kid[i]->sym == e->sym)
            return fail(c->s, e->at, E_DUPLICATE,
                        "`%s` is a parameter of this lambda: names are given once, so "
                        "choose another one",
                        name);
    if (value_in_scope(k, e->sym))
        return fail(c->s, e->at, E_DUPLICATE,
                    "`%s` is named twice in this lambda: choose another name", name);
    if (node_is_weak(out) && out->kind != NODE_LIST) {
        if (!compiler_var(c, out, DT_NONE, &v)) return false;
        *out = node_var(v, e->at);
    }
    LambdaLocal *l = NEW(c->nodes, LambdaLocal);
    *l = (LambdaLocal){k->local, e->sym, *out};
    k->local = l;
    return true;
}

static bool lookup_variable(Compiler *c, Sym name, Span at, Node *out) {
    Graph *g = c->top.b->g;
    Var v = graph_find(g, name);
    if (v == VAR_NONE && compiler_is_dim_name(c, name)) v = graph_dim(g, name);
    if (v == VAR_NONE) return false;
    Node n = node_var(v, at);
    n.weak = var_leaf(g, v) == LEAF_DIM;
    return compiler_capture(c, &c->top, &n, at, out);
}

/* ---- trees stored in the graph ---- */

typedef Vec(VarName) Leaves;

/* The leaves below a name, by their relative paths; from outputs of that name if no
 * definition is left. */
static void collect_leaves_below(Compiler *c, Sym name, Leaves *leaf) {
    const Graph *g = c->top.b->g;
    const char *text = sym_text(c->s, name);
    size_t n = strlen(text);
    for (int outputs = 0; outputs < 2 && leaf->n == 0; outputs++)
        for (size_t i = 0; i < (outputs ? g->outputs.n : g->trees.n); i++) {
            VarName x = outputs ? (VarName){g->outputs.p[i].var, g->outputs.p[i].label}
                                : g->trees.p[i];
            const char *path = sym_text(c->s, x.name);
            if (strncmp(path, text, n) != 0 || path[n] != '/') continue;
            x.name = sym(c->s, path + n + 1);
            vec_push(c->s, leaf, x);
        }
}

/* The next n leaves that share the first part of their paths, `part`, which is cut off.
 * Path 0: the leaf itself. */
static size_t take_path_part(Compiler *c, size_t n, VarName *leaf, Sym *part) {
    const char *first = sym_text(c->s, leaf[0].name);
    size_t same = strcspn(first, "/"), k = 0;
    *part = sym(c->s, arena_str(c->arena, first, same));
    for (; k < n; k++) {
        const char *path = sym_text(c->s, leaf[k].name);
        if (strncmp(path, first, same) != 0 || (path[same] && path[same] != '/')) break;
        leaf[k].name = path[same] ? sym(c->s, path + same + 1) : 0;
    }
    return k;
}

/* Builds a tree from leaves; parts 0, 1, ... make a list. Trees deeper than the limit
 * don't occur. */
static bool tree_from_leaves(Compiler *c, size_t n, VarName *leaf, Span at,
                             unsigned depth, Node *out) {
    if (leaf[0].name == 0 || depth > EXPR_DEPTH) {
        bool empty = var_type(c->top.b->g, leaf[0].var)->kind == TYPE_EMPTY;
        if (empty) return node_tree(c, 0, NULL, NEW(c->arena, Sym), at, out);
        *out = node_var(leaf[0].var, at);
        return true;
    }
    Node *item = NEW_N(c->arena, n, Node);
    Sym *key = NEW_N(c->arena, n, Sym);
    size_t count = 0;
    bool list = true;
    for (size_t i = 0; i < n; count++) {
        size_t k = take_path_part(c, n - i, leaf + i, &key[count]);
        if (!tree_from_leaves(c, k, leaf + i, at, depth + 1, &item[count]))
            return false;
        list &= strcmp(sym_text(c->s, key[count]),
                       arena_printf(c->arena, "%zu", count)) == 0;
        i += k;
    }
    return node_tree(c, count, item, list ? NULL : key, at, out);
}

static bool lookup_tree(Compiler *c, Sym name, Span at, Node *out) {
    Leaves leaf = {0};
    Node n;
    collect_leaves_below(c, name, &leaf);
    bool ok = leaf.n && tree_from_leaves(c, leaf.n, leaf.p, at, 0, &n) &&
              compiler_capture(c, &c->top, &n, at, out);
    vec_free(&leaf);
    return ok;
}

static bool lookup_dtype(Compiler *c, Sym name, Span at, Node *out) {
    const char *text = sym_text(c->s, name);
    DType d =
        strcmp(text, "floatX") == 0 ? c->b->floatX : dtype_find(text, strlen(text));
    if (d != DT_NONE)
        *out = (Node){.kind = NODE_DTYPE, .at = at, .var = VAR_NONE, .dtype = d};
    return d != DT_NONE;
}

Node node_from_prop(Compiler *c, const Prop *p, Span at) {
    Node n = {.kind = NODE_NONE, .at = at, .var = VAR_NONE};
    switch (p->kind) {
    case P_NONE:
        break;
    case P_BOOL:
        n = node_literal((Literal){.kind = K_BOOL, .u = p->i != 0}, at);
        break;
    case P_INT:
        n = node_literal(literal_int(p->i), at);
        break;
    case P_FLOAT:
        n = node_literal((Literal){.kind = K_FLOAT, .re = p->f}, at);
        break;
    case P_STR:
    case P_GRAPH:
        n.kind = NODE_STRING;
        n.sym = p->sym;
        break;
    case P_DTYPE:
        n.kind = NODE_DTYPE;
        n.dtype = (DType)p->i;
        break;
    case P_INTS:
        n.item = arena_alloc(c->arena, (p->ints.n + 1) * sizeof *n.item);
        for (size_t i = 0; i < p->ints.n; i++)
            n.item[i] = node_literal(literal_int(p->ints.p[i]), at);
        node_tree(c, p->ints.n, n.item, NULL, at, &n);
        break;
    }
    return n;
}

/* Looks a name up in the text of a row: its inputs, outputs and props. */
static bool lookup_env(Compiler *c, Sym name, Span at, Node *out) {
    const Env *env = c->env;
    for (size_t i = 0; i < env->n; i++) {
        if (env->bind[i].name != name) continue;
        Var v = env->bind[i].var;
        *out = v == VAR_NONE ? node_disconnected(at) : node_var(v, at);
        return true;
    }
    if (env->lines && text_lines_param(c, name, out)) return true;
    if (!env->op || !env->props) return false;
    const Signature *sig = op_signature(c->s, env->op);
    for (size_t i = 0; i < sig->nprop; i++) {
        if (sig->prop[i].name != name) continue;
        *out = node_from_prop(c, &env->props->p[i], at);
        return true;
    }
    return false;
}

bool compiler_lookup(Compiler *c, Sym name, Span at, Node *out) {
    uint64_t p;
    const LambdaScope *k = scope_of_name(c, name);
    if (k) return lookup_local(c, k, name, at, out);
    if (c->env) return lookup_env(c, name, at, out) || lookup_dtype(c, name, at, out);
    if (map_get(&c->named, name, &p))
        return compiler_capture(c, &c->top, (const Node *)(uintptr_t)p, at, out);
    if (lookup_variable(c, name, at, out) || lookup_tree(c, name, at, out)) return true;
    Graph *fn = graph_function(c->b->g, name);
    if (fn) {
        *out = (Node){.kind = NODE_FUNCTION, .at = at, .var = VAR_NONE, .fn = fn};
        return true;
    }
    if (lookup_dtype(c, name, at, out)) return true;
    if (!c->auto_inputs) return false;
    type_make_variable(c->top.b->g, type_scalar(c->s, c->b->floatX), name);
    return lookup_variable(c, name, at, out);
}

bool compiler_fail_unknown(Compiler *c, Sym name, Span at) {
    const Graph *g = c->top.b->g;
    if (scope_awaits(c, name))
        return fail(c->s, at, E_NAME,
                    "`%s` has no value here: `:=` has not named it yet",
                    sym_text(c->s, name));
    size_t n = g->names.n + c->defs.n, k = 0; /* what is compiled has its name in g */
    const char **of = mem_alloc(c->s, (n + 1) * sizeof *of);
    for (size_t i = 0; i < g->names.n; i++)
        of[k++] = sym_text(c->s, g->names.p[i].name);
    for (size_t i = 0; i < c->defs.n; i++) {
        const Ast *e = c->defs.p[i].ast;
        of[k++] = sym_text(c->s, e->kind == AST_ANNOT ? e->sym : e->kid[0]->sym);
    }
    const char *text = sym_text(c->s, name);
    Str advice = STR(c->s);
    if (!word_advise(&advice, WORD_NAME, text, of, k))
        word_advise(&advice, WORD_TYPE, text, NULL, 0);
    fail(c->s, at, E_NAME, "`%s` is not defined%s", text, str_text(&advice));
    str_free(&advice);
    if (op_find(c->s, text, strlen(text)))
        note(c->s, NOWHERE, "there is a function %s: call it, as in %s(x)", text, text);
    mem_free(of);
    return false;
}

bool compile_name(Compiler *c, const Ast *e, Node *out) {
    bool is = false;
    const LambdaScope *k = scope_of_name(c, e->sym);
    if (k)
        return lookup_local(c, k, e->sym, e->at, out) ||
               compiler_fail_unknown(c, e->sym, e->at);
    if (c->env && c->env->lines && !text_lines_name(c, e->sym, &is, out)) return false;
    if (is) return true;
    if (compiler_lookup(c, e->sym, e->at, out)) return true;
    if (c->env && strcmp(sym_text(c->s, e->sym), "disconnected") == 0) {
        *out = node_disconnected(e->at);
        return true;
    }
    return compiler_fail_unknown(c, e->sym, e->at);
}

/* ---- functions as values ---- */

/* Sorts arguments by parameter; given[i] stays NULL if there is none. */
static bool order_arguments(Compiler *c, size_t n, const Sym *param,
                            const Arguments *args, const Node **given) {
    const Sym *key = args->key;
    size_t positional = 0;
    for (size_t i = 0; i < args->n; i++) {
        size_t k = positional;
        if (key && key[i]) {
            for (k = 0; k < n && param[k] != key[i];)
                k++;
            if (k == n)
                return fail(c->s, args->arg[i].at, E_ARG, "there is no parameter `%s`",
                            sym_text(c->s, key[i]));
        } else {
            positional++;
        }
        if (k >= n) break;
        if (given[k])
            return fail(c->s, args->arg[i].at, E_ARG,
                        "the parameter `%s` is given twice", sym_text(c->s, param[k]));
        given[k] = &args->arg[i];
    }
    for (size_t k = 0; k < n; k++)
        if (!given[k] && args->n < n)
            return fail(c->s, args->at, E_ARITY,
                        "the function takes %s, not %zu: `%s` is missing",
                        str_counted(c->s, n, "argument"), args->n,
                        sym_text(c->s, param[k]));
    return args->n == n ||
           fail(c->s, args->at, E_ARITY, "the function takes %s, not %zu",
                str_counted(c->s, n, "argument"), args->n);
}

static bool apply_lambda(Compiler *c, const Node *f, const Arguments *args, Node *out) {
    size_t n = f->lambda->nkid - 1;
    Sym *param = arena_alloc(c->nodes, (n + 1) * sizeof *param);
    const Node **given = NEW_N(c->nodes, n + 1, const Node *);
    Node *value = arena_alloc(c->nodes, (n + 1) * sizeof *value);
    for (size_t i = 0; i < n; i++)
        param[i] = f->lambda->kid[i]->sym;
    if (!order_arguments(c, n, param, args, given)) return false;
    for (size_t i = 0; i < n; i++)
        value[i] = *given[i];
    if (c->depth >= LAMBDA_DEPTH)
        return fail(c->s, args->at, E_LIMIT,
                    "lambdas call each other more than %d deep", LAMBDA_DEPTH);
    LambdaScope *scope = NEW(c->nodes, LambdaScope), *outer = c->scope;
    *scope = (LambdaScope){f->scope, f->lambda, value, c->frame, NULL};
    c->scope = scope;
    c->depth++;
    bool ok = compile(c, f->lambda->kid[n], DT_NONE, out);
    c->depth--;
    c->scope = outer;
    return ok;
}

/* Adds an Apply of the op `call`. */
static bool apply_graph(Compiler *c, const Node *f, const Arguments *args, Node *out) {
    const Graph *fn = f->fn;
    size_t n = fn->inputs.n, own = n - f->ncaptured;
    Sym *param = arena_alloc(c->nodes, (n + 1) * sizeof *param);
    const Node **given = NEW_N(c->nodes, own + 1, const Node *);
    Var *in = arena_alloc(c->nodes, (n + 1) * sizeof *in);
    const Op *op = op_known(c->s, OP_CALL);
    for (size_t i = 0; i < own; i++)
        param[i] = var_leafrec(fn, fn->inputs.p[i])->name;
    if (!order_arguments(c, own, param, args, given))
        return note(c->s, NOWHERE, "in a call of `%s`", sym_text(c->s, fn->name));
    for (size_t i = 0; i < own; i++)
        if (!node_to_type(c, given[i], var_type(fn, fn->inputs.p[i]), &in[i]))
            return false;
    for (size_t i = own; i < n; i++)
        in[i] = f->captured[i - own];
    PropArg prop[] = {{"fn", {.kind = P_GRAPH, .sym = fn->name}},
                      {"scope", PROP_STR(f->call_scope)}};
    size_t nprop = f->call_scope ? 2 : 1;
    if (!compiler_apply_op(c, op, props_make(c->s, op, nprop, prop), (VarList){n, in},
                           args->at, out))
        return false;
    if (out->kind == NODE_LIST)
        out->sym = 0; /* a tuple of results, rather than unpacked outputs */
    return true;
}

bool compiler_apply(Compiler *c, const Node *f, const Arguments *args, Node *out) {
    if (f->kind != NODE_FUNCTION)
        return fail(c->s, args->at, E_TYPE, "%s can't be called", node_kind_text(f));
    if (f->apply) return f->apply(c, f, args, out);
    return f->fn ? apply_graph(c, f, args, out) : apply_lambda(c, f, args, out);
}

/* ---- lambdas as graphs ---- */

static bool add_lambda_outputs(Compiler *c, const Node *n) {
    size_t count;
    Var *v;
    char buf[24];
    if (!compiler_vars(c, n, &count, &v)) return false;
    bool list = n->kind == NODE_LIST || n->kind == NODE_DICT;
    for (size_t i = 0; i < count; i++) {
        snprintf(buf, sizeof buf, "%zu", i);
        Sym label = n->kind == NODE_DICT && n->n == count
                        ? n->key[i]
                        : sym(c->s, list ? buf : "out");
        vec_push(c->s, &c->b->g->outputs, ((Output){label, v[i]}));
    }
    return true;
}

static bool is_until(const Compiler *c, const Node *n) {
    return n->kind == NODE_DICT && n->n == 1 &&
           strcmp(sym_text(c->s, n->key[0]), "until") == 0;
}

/* The stop condition, last among a loop body's results: [x, until(x > 3)]. */
static bool take_until(Compiler *c, Node *body) {
    const Node *last =
        body->kind == NODE_LIST && body->n ? &body->item[body->n - 1] : body;
    Var v;
    for (size_t i = 0; body->kind == NODE_LIST && i + 1 < body->n; i++)
        if (is_until(c, &body->item[i]))
            return fail(
                c->s, body->item[i].at, E_ARG,
                "until must occur once, as the last of the results: [x, until(x > 3)]");
    if (!is_until(c, last)) return true;
    if (last == body || body->n == 1)
        return fail(c->s, last->at, E_ARG,
                    "until must come after a result of the step: [x, until(x > 3)]");
    if (!compiler_var(c, &last->item[0], DT_BOOL, &v)) return false;
    const Type *t = var_type(c->b->g, v);
    if (t->kind != TYPE_TENSOR || t->ndim != 0 || !dtype_is_discrete(t->dtype))
        return fail(c->s, last->at, E_TYPE, "until takes one bool, not %s",
                    type_str(c->s, t));
    c->b->g->until = op_cast_to(c->b, v, DT_BOOL);
    body->n--;
    return c->b->g->until != VAR_NONE;
}

static bool compile_body(Compiler *c, const Node *f, size_t n, const Type *const *arg) {
    Node *value = arena_alloc(c->nodes, (n + 1) * sizeof *value), body;
    char buf[24];
    for (size_t i = 0; i < n; i++) {
        snprintf(buf, sizeof buf, "arg%zu", i);
        Sym name =
            free_input_name(c, c->b->g, f->lambda ? f->lambda->kid[i]->sym : 0, buf);
        value[i] = node_var(graph_input(c->b->g, name, arg[i]), f->at);
    }
    if (!f->lambda)
        return f->apply(c, f, &(Arguments){n, value, NULL, f->at}, &body) &&
               take_until(c, &body) && add_lambda_outputs(c, &body);
    LambdaScope scope = {f->scope, f->lambda, value, c->frame, NULL}, *outer = c->scope;
    c->scope = &scope;
    bool ok = compile(c, f->lambda->kid[n], DT_NONE, &body) && take_until(c, &body) &&
              add_lambda_outputs(c, &body);
    c->scope = outer;
    return ok;
}

static Sym new_lambda_name(Compiler *c) {
    Str b = STR(c->s);
    do {
        str_clear(&b);
        str_printf(&b, "%s_%u", c->lambda_name ? c->lambda_name : "lambda",
                   ++c->lambdas);
    } while (graph_function(c->b->g, sym(c->s, str_text(&b))));
    Sym y = sym(c->s, str_text(&b));
    str_free(&b);
    return y;
}

bool compiler_function(Compiler *c, Node *f, size_t n, const Type *const *arg) {
    if (f->kind != NODE_FUNCTION)
        return fail(c->s, f->at, E_TYPE, "%s where a function is expected",
                    node_kind_text(f));
    size_t have = f->fn       ? f->fn->inputs.n - f->ncaptured
                  : f->lambda ? f->lambda->nkid - 1
                              : n;
    if (have != n)
        return fail(c->s, f->at, E_ARITY, "the function takes %s, but gets %zu",
                    str_counted(c->s, have, "argument"), n);
    if (f->fn) return true;
    Graph *fn = graph_function_new(c->b->g->main, new_lambda_name(c));
    Builder b = *c->b;
    CompileFrame frame = {.up = c->frame, .b = &b, .inner = MAP(c->s)};
    b.g = fn;
    fn->floatX = b.floatX;
    c->frame = &frame;
    c->b = &b;
    bool ok = compile_body(c, f, n, arg);
    if (ok) rowwise_settle(fn);
    c->frame = frame.up;
    c->b = c->frame->b;
    if (ok) {
        f->fn = fn;
        f->ncaptured = frame.captured.n;
        f->captured =
            arena_copy(c->arena, frame.captured.p, frame.captured.n * sizeof(Var));
    }
    map_free(&frame.inner);
    vec_free(&frame.captured);
    return ok;
}

CompilerTrial compiler_try(Compiler *c) {
    return (CompilerTrial){diag_count(c->s), c->b->g->main->functions.n, c->lambdas};
}

void compiler_undo(Compiler *c, CompilerTrial t) {
    Graph *main = c->b->g->main;
    if (diag_count(c->s) > t.diags) {
        c->noted_all_axes = c->noted_one_axis = false;
        map_free(&c->warned);
        c->warned = MAP(c->s);
    }
    diag_rewind(c->s, t.diags);
    while (main->functions.n > t.functions)
        graph_function_drop(main->functions.p[main->functions.n - 1]);
    c->lambdas = t.lambdas;
}

bool compiler_warns(Compiler *c, Span at) {
    uint64_t place = (uint64_t)at.source << 32 | at.begin;
    bool said = map_get(&c->warned, place, NULL);
    map_put(&c->warned, place, true);
    return !said;
}
