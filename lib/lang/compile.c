/* Compiles the texts of one graph: definitions, outputs, updates. */
#include "lang/compile_impl.h"
#include "op/convert.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Compiler *compiler_new(Builder *b) {
    Compiler *c = mem_zalloc(b->s, 1, sizeof *c);
    c->filter = (Filter){.allow_downcast = -1};
    c->s = b->s;
    c->b = b;
    c->arena = arena_new(b->s);
    c->tmp = arena_new(b->s);
    c->nodes = arena_new(b->s);
    c->line = arena_new(b->s);
    c->top.b = b;
    c->frame = &c->top;
    c->named = c->definition = c->lambda = c->dims = c->expected = c->warned =
        MAP(b->s);
    return c;
}

void compiler_free(Compiler *c) {
    if (!c) return;
    map_free(&c->named);
    map_free(&c->definition);
    map_free(&c->lambda);
    map_free(&c->warned);
    map_free(&c->dims);
    map_free(&c->expected);
    vec_free(&c->defs);
    vec_free(&c->defined);
    arena_free(c->arena);
    arena_free(c->tmp);
    arena_free(c->nodes);
    arena_free(c->line);
    mem_free(c);
}

void compiler_set_filter(Compiler *c, Filter how, const char *what) {
    c->filter = how;
    c->filter_what = what;
}

Builder *compiler_builder(Compiler *c) {
    return c->b;
}
Arena *compiler_arena(Compiler *c) {
    return c->arena;
}
void compiler_auto_inputs(Compiler *c, bool on) {
    c->auto_inputs = on;
}
void compiler_set_load(Compiler *c, LoadFn *load, void *ctx) {
    c->load = load;
    c->load_ctx = ctx;
}

/* ---- definitions ---- */

static const char *leaf_kind_text(LeafKind k) {
    static const char *const text[] = {"a variable", "an input", "shared", "a constant",
                                       "a dim"};
    return text[k];
}

static size_t count_targets(const Ast *e) {
    return e->kind == AST_ANNOT ? 1 : e->nkid - 1;
}
static const Ast *target(const Ast *e, size_t i) {
    return e->kind == AST_ANNOT ? e : e->kid[i];
}

static Span target_place(const Ast *e, Sym name) {
    size_t i = 0;
    while (target(e, i)->sym != name)
        i++;
    return target(e, i)->at;
}

static bool fail_defined_twice(Compiler *c, Sym name, Span at, Span first) {
    fail(c->s, at, E_DUPLICATE, "`%s` is defined twice", sym_text(c->s, name));
    return note(c->s, first, "it is defined first here");
}

bool compiler_check_name(Compiler *c, Sym name, Span at) {
    const Graph *g = c->top.b->g;
    Var v = graph_find(g, name);
    uint64_t d;
    if (map_get(&c->definition, name, &d))
        return fail_defined_twice(c, name, at, target_place(c->defs.p[d].ast, name));
    for (size_t i = v == VAR_NONE && !map_get(&c->named, name, NULL) ? c->defined.n : 0;
         i < c->defined.n; i++)
        if (c->defined.p[i].name == name)
            return fail_defined_twice(c, name, at, c->defined.p[i].at);
    if (v != VAR_NONE)
        return fail(c->s, at, E_DUPLICATE, "`%s` is already %s of the graph",
                    sym_text(c->s, name), leaf_kind_text(var_leaf(g, v)));
    return !compiler_is_dim_name(c, name) ||
           fail(c->s, at, E_DUPLICATE,
                "`%s` is already a dim of the graph: a dim and a variable can't have "
                "the same name",
                sym_text(c->s, name));
}

bool compiler_check_dims(Compiler *c, const Type *t, Sym name, Span at) {
    const Graph *g = c->top.b->g;
    for (int i = 0; i < t->ndim; i++) {
        if (!dim_is_named(t->dim[i])) continue;
        Sym dim = dim_sym(t->dim[i]);
        Var v = graph_find(g, dim);
        if (dim == name)
            return fail(c->s, at, E_DUPLICATE, "`%s` can't be a dim of itself",
                        sym_text(c->s, dim));
        if (v != VAR_NONE && var_leaf(g, v) != LEAF_DIM)
            return fail(c->s, at, E_DUPLICATE,
                        "`%s` is already %s of the graph: a dim and a variable can't "
                        "have the same name",
                        sym_text(c->s, dim), leaf_kind_text(var_leaf(g, v)));
    }
    return true;
}

static bool check_definition(Compiler *c, const Ast *e) {
    if (e->kind == AST_ANNOT && e->nkid == 0)
        return fail(c->s, e->at, E_SYNTAX,
                    "`%s` has no value here: write `%s: type = expression`",
                    sym_text(c->s, e->sym), sym_text(c->s, e->sym));
    for (size_t i = 0; i < count_targets(e); i++)
        if (!compiler_check_name(c, target(e, i)->sym, target(e, i)->at)) return false;
    return true;
}

static void record_definition(Compiler *c, const Ast *e) {
    for (size_t i = 0; i < count_targets(e); i++)
        map_put(&c->definition, target(e, i)->sym, c->defs.n);
    vec_push(c->s, &c->defs, ((Definition){.ast = e}));
}

static bool compile_at_once(Compiler *c, const Ast *e) {
    for (size_t i = 0; i < count_targets(e); i++)
        vec_push(c->s, &c->defined,
                 ((DefinedName){target(e, i)->sym, target(e, i)->at}));
    arena_reset(c->tmp);
    arena_rewind(c->nodes, c->named_nodes);
    return compile_definition(c, e);
}

/* Is the value of a definition seen to be a function? */
static bool is_function(const Compiler *c, const Ast *e) {
    const char *name = sym_text(c->s, e->sym);
    bool known = map_get(&c->lambda, e->sym, NULL);
    if (e->kind == AST_LAMBDA) return true;
    if (e->kind == AST_NAME) return known || graph_function(c->b->g, e->sym);
    if (e->kind != AST_CALL || known) return false;
    const Macro *m = macro_find(name, strlen(name));
    size_t n = 0;
    for (size_t i = 0; i < e->nkid; i++)
        n += e->kid[i]->kind != AST_KEYWORD;
    return m && n > 0 && n <= m->gives_function;
}

/* A second name of a function may stand above it: `sin = f`, then `f = lambda ...`. */
bool compiler_names_function(const Compiler *c, Sym name) {
    uint64_t d;
    for (size_t n = 0; n <= c->defs.n; n++) {
        if (map_get(&c->lambda, name, NULL)) return true;
        if (!map_get(&c->definition, name, &d)) return false;
        const Ast *e = c->defs.p[d].ast;
        if (e->kind != AST_ASSIGN || e->nkid != 2 || e->kid[1]->kind != AST_NAME)
            return false;
        name = e->kid[1]->sym;
    }
    return false;
}

bool compiler_define_made(Compiler *c, StatementFn *make, void *ctx) {
    arena_reset(c->line);
    const Ast *e = make(ctx, c->line);
    if (!e || !check_definition(c, e)) return false;
    if (e->kind == AST_ASSIGN && e->nkid == 2 && is_function(c, e->kid[1]))
        map_put(&c->lambda, e->kid[0]->sym, true);
    bool kept, ready = definition_is_ready(c, e, &kept);
    if (kept || !ready) e = make(ctx, c->arena);
    if (ready) return compile_at_once(c, e);
    record_definition(c, e);
    return true;
}

void compiler_expect(Compiler *c, Sym name) {
    map_put(&c->expected, name, true);
    c->complete = true;
}

static const Ast *statement_of_block(void *ctx, Arena *a) {
    return ast_block_statement(ctx, a);
}

bool compiler_define(Compiler *c, Span text, bool all) {
    AstBlock *b = ast_block_open(c->s, c->arena, text);
    bool ok = true;
    c->lines = source_get(c->s, text.source)->text + text.begin;
    c->lines_end = c->lines + (text.end - text.begin);
    c->complete = all;
    while (ok && ast_block_next(b))
        ok = compiler_define_made(c, statement_of_block, b);
    ast_block_close(b);
    return ok;
}

/* ---- types ---- */

/* Converts v to type t as filter_variable does, except that a dim which is not yet in
 * the graph matches anything. */
static bool conform_to_type(Compiler *c, const char *what, const Type *t, Span at,
                            Var *v) {
    Dim dim[MAX_NDIM];
    for (int i = 0; i < t->ndim; i++) {
        bool known =
            !dim_is_named(t->dim[i]) || compiler_is_dim_name(c, dim_sym(t->dim[i]));
        dim[i] = known ? t->dim[i] : DIM_UNKNOWN;
    }
    Span outer = c->b->from.at;
    c->b->from.at = at;
    *v = type_filter_variable(c->b, type_clone(c->s, t, DT_NONE, t->ndim, dim), *v,
                              what);
    c->b->from.at = outer;
    return *v != VAR_NONE;
}

static const Type *parse_declared_type(Compiler *c, Span at) {
    const char *p = source_get(c->s, at.source)->text + at.begin;
    return type_parse(c->s, p, at.end - at.begin, at);
}

/* ---- named trees ---- */

/* Can the leaf of a tree be a variable? Doesn't diagnose. */
static bool is_value_leaf(const Compiler *c, const Node *n) {
    int64_t i;
    if (n->kind != NODE_LITERAL) return n->kind == NODE_VAR || n->kind == NODE_NONE;
    if (n->lit.kind == K_INT) return literal_i64(&n->lit, &i);
    double x = fabs(literal_f64(&n->lit));
    return n->lit.kind == K_BOOL || c->b->floatX != DT_FLOAT32 ||
           !(x > (double)FLT_MAX);
}

static bool is_tree_of_values(const Compiler *c, const Node *n) {
    if (n->kind != NODE_LIST && n->kind != NODE_DICT) return is_value_leaf(c, n);
    for (size_t i = 0; i < n->n; i++)
        if (!is_tree_of_values(c, &n->item[i])) return false;
    return true;
}

/* PATH/key or PATH/number. */
static const char *tree_path(Compiler *c, const char *path, const Node *n, size_t i) {
    if (n->kind == NODE_DICT)
        return arena_printf(c->arena, "%s/%s", path, sym_text(c->s, n->key[i]));
    return arena_printf(c->arena, "%s/%zu", path, i);
}

/* {} or [] as a whole result. */
static bool is_empty_tree(const Node *n) {
    return (n->kind == NODE_DICT || n->kind == NODE_LIST) && n->n == 0;
}

Var compiler_empty_var(Compiler *c) {
    Value empty = {.kind = TYPE_EMPTY};
    return graph_const_value(c->b->g, type_simple(c->s, TYPE_EMPTY), &empty);
}

/* As a value, an empty list is an array. */
static bool empty_tree_var(Compiler *c, const Node *n, Var *v) {
    if (n->kind == NODE_LIST) return compiler_var(c, n, DT_NONE, v);
    *v = compiler_empty_var(c);
    return true;
}

static bool record_tree_leaves(Compiler *c, const char *path, const Node *n) {
    Var v;
    bool empty = is_empty_tree(n);
    if (empty || (n->kind != NODE_LIST && n->kind != NODE_DICT)) {
        if (empty ? !empty_tree_var(c, n, &v) : !compiler_var(c, n, DT_NONE, &v))
            return false;
        vec_push(c->s, &c->top.b->g->trees, ((VarName){v, sym(c->s, path)}));
        return true;
    }
    for (size_t i = 0; i < n->n; i++)
        if (!record_tree_leaves(c, tree_path(c, path, n, i), &n->item[i])) return false;
    return true;
}

/* Records the leaves of a tree that a name of the main graph is bound to. */
static bool record_named_tree(Compiler *c, Sym name, const Node *n) {
    const Graph *g = c->top.b->g;
    bool tree = n->kind == NODE_LIST || n->kind == NODE_DICT;
    return !tree || g->main != g || !is_tree_of_values(c, n) ||
           record_tree_leaves(c, sym_text(c->s, name), n);
}

/* ---- compiling one ---- */

static bool bind_definition(Compiler *c, Sym name, Span at, const Node *n) {
    Graph *g = c->top.b->g;
    Var v = n->var;
    if (graph_find(g, name) != VAR_NONE || compiler_is_dim_name(c, name))
        return fail(c->s, at, E_DUPLICATE, "`%s` is defined twice",
                    sym_text(c->s, name));
    if (n->kind == NODE_LITERAL || n->kind == NODE_VAR) {
        if (node_is_weak(n) && !compiler_var(c, n, DT_NONE, &v)) return false;
        graph_name(g, v, name);
        return true;
    }
    Node *keep = NEW(c->arena, Node);
    *keep = *n;
    c->named_nodes = arena_mark(c->nodes);
    map_put(&c->named, name, (uintptr_t)keep);
    return record_named_tree(c, name, n);
}

/* Is it what one calls indices? */
static bool is_index_name(const char *name) {
    static const char *const parts[] = {"ind", "idx", "arg", "pos", "perm", "order"};
    bool is = strcmp(name, "i") == 0 || strcmp(name, "_") == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        is |= strstr(name, parts[i]) != NULL;
    return is;
}

/* values, indices = sort(x) is PyTorch's, where these functions give a pair. */
static void note_no_indices(Compiler *c, const Ast *e, const Node *x, bool rows) {
    static const char *const pairs[][2] = {{"sort", "argsort"}, {"max", "argmax"},
                                           {"min", "argmin"},   {"cummax", NULL},
                                           {"cummin", NULL},    {"median", NULL}};
    const Ast *call = e->kid[e->nkid - 1];
    if (e->nkid != 3 || (call->kind != AST_CALL && call->kind != AST_METHOD)) return;
    const char *name = sym_text(c->s, call->sym);
    size_t i = 0, n = sizeof pairs / sizeof *pairs;
    while (i < n && strcmp(pairs[i][0], name) != 0)
        i++;
    if (i == n) return;
    if (rows && !is_index_name(sym_text(c->s, e->kid[1]->sym))) return;
    if (rows)
        warn(c->s, x->at, E_ARG, "%s gives the values alone: the names are of its rows",
             name);
    if (pairs[i][1])
        note(c->s, NOWHERE, "%s(x, ...) has the indices", pairs[i][1]);
    else if (!rows)
        note(c->s, NOWHERE, "%s gives the values alone", name);
}

static bool fail_rows(Compiler *c, const Ast *e, const Node *x, size_t want) {
    const Type *t = var_type(c->b->g, x->var);
    if (!dim_is_known(t->dim[0]))
        fail(c->s, x->at, E_ARITY,
             "%zu names for the rows of %s, whose number is not known", want,
             type_str(c->s, t));
    else
        fail(c->s, x->at, E_ARITY, "%zu names for the %lld rows of %s", want,
             (long long)t->dim[0], type_str(c->s, t));
    note_no_indices(c, e, x, false);
    const Ast *call = e->kid[e->nkid - 1];
    if (call->kind == AST_CALL && e->nkid == 3 &&
        strcmp(sym_text(c->s, call->sym), "scan") == 0)
        note(c->s, NOWHERE, "scan gives its results alone: there are no updates");
    return false;
}

/* r0, r1 = C: the rows of a tensor, whose number must be known. */
static bool bind_rows(Compiler *c, const Ast *e, const Node *x) {
    size_t want = e->nkid - 1;
    const Type *t = var_type(c->b->g, x->var);
    if (t->dim[0] != (Dim)want) return fail_rows(c, e, x, want);
    note_no_indices(c, e, x, true);
    for (size_t i = 0; i < want; i++) {
        Node item;
        if (!index_row(c, x, i, &item) ||
            !bind_definition(c, e->kid[i]->sym, e->kid[i]->at, &item))
            return false;
    }
    return true;
}

static bool has_rows(const Compiler *c, const Node *n) {
    const Type *t = n->kind == NODE_VAR ? var_type(c->b->g, n->var) : NULL;
    return t && t->kind == TYPE_TENSOR && t->ndim > 0;
}

static bool bind_targets(Compiler *c, const Ast *e, const Node *n) {
    size_t want = e->nkid - 1;
    bool all = n->kind == NODE_VAR && n->n > 1; /* the default output of several */
    if (!all && has_rows(c, n)) return bind_rows(c, e, n);
    if (n->kind != NODE_LIST && !all)
        return fail(c->s, n->at, E_ARITY, "%zu names for one value (%s)", want,
                    node_kind_text(n));
    if (n->n != want)
        return fail(c->s, n->at, E_ARITY, "%zu names for %s", want,
                    str_counted(c->s, n->n, "value"));
    for (size_t i = 0; i < want; i++)
        if (!bind_definition(c, e->kid[i]->sym, e->kid[i]->at, &n->item[i]))
            return false;
    return true;
}

static bool define_annotated(Compiler *c, const Ast *e) {
    Node n;
    Var v;
    if (e->type.begin == e->type.end)
        return fail(c->s, e->at, E_SYNTAX,
                    "`%s` has no type here: write `%s = expression`",
                    sym_text(c->s, e->sym), sym_text(c->s, e->sym));
    const Type *t = parse_declared_type(c, e->type);
    if (!t || !compile(c, e->kid[0], compiler_receiver_dtype(t), &n) ||
        !node_to_type(c, &n, t, &v) ||
        !conform_to_type(c, "the declared type", t, e->kid[0]->at, &v))
        return false;
    n = node_var(v, e->at);
    return bind_definition(c, e->sym, e->at, &n);
}

bool compile_definition(Compiler *c, const Ast *e) {
    Node n;
    c->busy++;
    bool ok;
    if (e->kind == AST_ANNOT)
        ok = define_annotated(c, e);
    else
        ok = compile(c, e->kid[e->nkid - 1], DT_NONE, &n) &&
             (e->nkid == 2 ? bind_definition(c, e->kid[0]->sym, e->kid[0]->at, &n)
                           : bind_targets(c, e, &n));
    c->busy--;
    return ok;
}

static bool compile_whole(Compiler *c, const Ast *e, DType want, Node *out) {
    if (!compile_needed(c, e)) return false;
    if (!c->busy) arena_reset(c->tmp);
    c->busy++;
    bool ok = compile(c, e, want, out);
    c->busy--;
    return ok;
}

bool compiler_ast(Compiler *c, const Ast *e, Node *out) {
    if (c->busy) return compile(c, e, DT_NONE, out);
    return compile_whole(c, e, DT_NONE, out);
}

bool compiler_expr(Compiler *c, Span text, const Type *receiver, Var *out) {
    const Ast *e = ast_parse(c->s, c->arena, text);
    Node n;
    return e && compile_whole(c, e, compiler_receiver_dtype(receiver), &n) &&
           node_to_type(c, &n, receiver, out);
}

/* ---- outputs ---- */

static bool add_labelled_output(Compiler *c, const char *label, const Node *n) {
    Var v;
    Sym y = sym(c->s, label);
    if (graph_output(c->top.b->g, y) != VAR_NONE)
        return fail(c->s, n->at, E_DUPLICATE, "there are two outputs `%s`", label);
    if (is_empty_tree(n) ? !empty_tree_var(c, n, &v) : !compiler_var(c, n, DT_NONE, &v))
        return false;
    vec_push(c->s, &c->top.b->g->outputs, ((Output){y, v}));
    return true;
}

/* Adds a tree's leaves as LABEL/key; node_tree has limited the depth. */
static bool add_tree_outputs(Compiler *c, const char *label, const Node *n) {
    if (is_empty_tree(n) || (n->kind != NODE_LIST && n->kind != NODE_DICT))
        return add_labelled_output(c, label, n);
    for (size_t i = 0; i < n->n; i++) {
        if (!add_tree_outputs(c, tree_path(c, label, n, i), &n->item[i])) return false;
    }
    return true;
}

bool compiler_output(Compiler *c, Sym label, Span text) {
    Node n;
    const Ast *e = ast_parse(c->s, c->arena, text);
    if (!e) return false;
    if (!label && e->kind != AST_NAME)
        return fail(c->s, e->at, E_NAME,
                    "an output that is an expression needs a label");
    return compile_whole(c, e, DT_NONE, &n) &&
           add_tree_outputs(c, sym_text(c->s, label ? label : e->sym), &n);
}

bool compiler_output_defined(Compiler *c, Span name) {
    Node n;
    const Ast *e = ast_parse(c->s, c->arena, name);
    if (!e || !compile_whole(c, e, DT_NONE, &n)) return false;
    return n.kind == NODE_FUNCTION || add_tree_outputs(c, sym_text(c->s, e->sym), &n);
}

/* ---- updates ---- */

static bool compile_update(Compiler *c, const Ast *e) {
    Graph *g = c->top.b->g;
    Sym name = e->kind == AST_ANNOT ? e->sym : e->kid[0]->sym;
    const char *text = sym_text(c->s, name);
    Var w = graph_find(g, name), v;
    Node n;
    if (e->kind != AST_ASSIGN || e->nkid != 2)
        return fail(c->s, e->at, E_SYNTAX, "an update is `name = expression`");
    if (w == VAR_NONE || var_leaf(g, w) != LEAF_SHARED)
        return fail(c->s, e->kid[0]->at, E_NAME,
                    "`%s` can't be updated: it is not a shared variable", text);
    if (graph_update(g, w) != VAR_NONE)
        return fail(c->s, e->at, E_DUPLICATE, "`%s` is updated twice", text);
    const Type *t = var_type(g, w);
    if (!compile_whole(c, e->kid[1], compiler_receiver_dtype(t), &n) ||
        !node_to_type(c, &n, t, &v) || !conform_to_type(c, text, t, e->kid[1]->at, &v))
        return false;
    vec_push(c->s, &g->updates, ((Update){w, v}));
    return true;
}

bool compiler_update(Compiler *c, Span text) {
    const Ast **e;
    size_t n;
    if (!ast_parse_block(c->s, c->arena, text, &e, &n)) return false;
    for (size_t i = 0; i < n; i++)
        if (!compile_update(c, e[i])) return false;
    return true;
}
