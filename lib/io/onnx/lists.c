/* Lists (ONNX's sequences) and optional values. A list whose number of items is known
 * while a model is read is kept as its items, so that loops over it are written out and
 * it may begin empty; it becomes a value of type list where a result or an op needs
 * one. An optional value is its value, or nothing. */
#include "io/onnx/onnx_impl.h"
#include "value/object.h"

static const char list_mark[] = "list", nothing_mark[] = "nothing";

bool onnx_is_list(const Node *n) {
    return n->kind == NODE_LIST && n->data == list_mark;
}

bool onnx_is_nothing(const Node *n) {
    return n->kind == NODE_NONE && n->data == nothing_mark;
}

static bool make_known_list(Compiler *c, size_t n, const Node *item, Node *out) {
    if (!compiler_tree(c, n, item, NULL, NOWHERE, out)) return false;
    out->data = list_mark;
    return true;
}

bool onnx_variable(Compiler *c, const Node *n, const Type *elem, Var *out) {
    if (onnx_is_nothing(n))
        return onnx_fail_call(c, "an optional value that isn't there can't be a value");
    if (!onnx_is_list(n)) return compiler_var(c, n, DT_NONE, out);
    if (n->n == 0 && !elem)
        return onnx_fail_call(
            c, "an empty list as a value, whose items nothing tells the dims of");
    return node_list(c, n, n->n ? NULL : elem, DT_NONE, out);
}

/* known_list([a, b]) */
static bool f_known_list(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    const Node *x = &a->arg[0];
    if (x->kind == NODE_LIST) return make_known_list(c, x->n, x->item, out);
    return make_known_list(c, x->kind != NODE_NONE, x, out);
}

/* list_value(xs): a variable */
static bool f_list_value(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    Var v;
    if (!onnx_variable(c, &a->arg[0], NULL, &v)) return false;
    *out = node_var(v, NOWHERE);
    return true;
}

/* The items of a constant list. */
static bool items_of_value(Compiler *c, Var v, bool *known, Node *out) {
    Value value = {0};
    if (!compiler_constant(c, v, known, &value)) return false;
    if (!*known) return true;
    Graph *g = c->b->g;
    const ListObject *list = value.obj;
    Node *item = NEW_N(compiler_arena(c), list->n + 1, Node);
    for (size_t i = 0; i < list->n; i++) { /* each with its own shape */
        const Value *x = &list->item[i];
        item[i] = node_var(x->kind == TYPE_TENSOR
                               ? graph_const(g, &x->t, false)
                               : graph_const_value(g, var_type(g, v)->elem, x),
                           NOWHERE);
    }
    bool ok = make_known_list(c, list->n, item, out);
    value_unref(&value);
    return ok;
}

static bool is_list_var(Compiler *c, const Node *n) {
    return n->kind == NODE_VAR && var_type(c->b->g, n->var)->kind == TYPE_LIST;
}

static bool find_items(Compiler *c, const Node *n, bool *known, Node *out) {
    *known = onnx_is_list(n);
    if (*known) return *out = *n, true;
    return !is_list_var(c, n) || items_of_value(c, n->var, known, out);
}

/* items(xs): a list of known items, None: they aren't known */
static bool f_items(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    bool known;
    *out = (Node){.kind = NODE_NONE, .var = VAR_NONE};
    return find_items(c, &a->arg[0], &known, out);
}

static bool fail_count(Compiler *c, const char *what) {
    fail(c->s, NOWHERE, E_ARG, "%s must be known when the graph is read", what);
    return hint(c->s, HINT_FIX_INPUT);
}

/* has_lists([v, ...]): is one a list, or nothing? */
static bool f_has_lists(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    const Node *v = &a->arg[0];
    bool any = false;
    for (size_t i = 0; v->kind == NODE_LIST && i < v->n; i++)
        any |= onnx_is_list(&v->item[i]) || onnx_is_nothing(&v->item[i]) ||
               is_list_var(c, &v->item[i]);
    *out = node_literal((Literal){.kind = K_BOOL, .u = any}, NOWHERE);
    return true;
}

/* is_list(x): a list of numbers or nodes, not a number or a variable */
static bool f_is_list(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)c, (void)f;
    bool yes = a->arg[0].kind == NODE_LIST;
    *out = node_literal((Literal){.kind = K_BOOL, .u = yes}, NOWHERE);
    return true;
}

/* nothing(): an optional value that isn't there */
static bool f_nothing(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)c, (void)f, (void)a;
    *out = (Node){.kind = NODE_NONE, .var = VAR_NONE, .data = nothing_mark};
    return true;
}

/* Results of calls, by call, as one list for each result. */
static bool lists_of_results(Compiler *c, size_t calls, const Node *result, size_t n,
                             Node *out) {
    Node *list = NEW_N(compiler_arena(c), n + 1, Node),
         *item = NEW_N(compiler_arena(c), calls + 1, Node);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < calls; i++)
            item[i] = result[i].item[k];
        if (!make_known_list(c, calls, item, &list[k])) return false;
    }
    return node_tree(c, n, list, NULL, NOWHERE, out);
}

/* map_items(body, xs, more, n): body for each item of xs, with the items of the lists
 * among `more` and its other values; n lists */
static bool f_map_items(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    Node xs;
    bool known;
    int64_t nout;
    const Node *more = &a->arg[2];
    if (!onnx_int_of(c, &a->arg[3], &nout) || !find_items(c, &a->arg[1], &known, &xs))
        return false;
    if (!known) return fail_count(c, "the number of items that SequenceMap goes over");
    Node *arg = NEW_N(compiler_arena(c), more->n + 1, Node),
         *result = NEW_N(compiler_arena(c), xs.n + 1, Node),
         *list = NEW_N(compiler_arena(c), more->n + 1, Node);
    for (size_t k = 0; k < more->n; k++) {
        if (!find_items(c, &more->item[k], &known, &list[k])) return false;
        bool is_list = onnx_is_list(&more->item[k]) || is_list_var(c, &more->item[k]);
        if (is_list && !known)
            return fail_count(c, "the items of a list of SequenceMap");
        if (is_list && list[k].n != xs.n)
            return onnx_fail_call(c, "lists of different lengths");
        if (!is_list) list[k].kind = NODE_NONE;
    }
    for (size_t i = 0; i < xs.n; i++) {
        arg[0] = xs.item[i];
        for (size_t k = 0; k < more->n; k++)
            arg[k + 1] = list[k].kind == NODE_LIST ? list[k].item[i] : more->item[k];
        if (!compiler_apply(c, &a->arg[0],
                            &(Arguments){more->n + 1, arg, NULL, NOWHERE}, &result[i]))
            return false;
        if (result[i].kind != NODE_LIST || result[i].n != (size_t)nout)
            return onnx_fail_call(c, "a body with another number of results");
    }
    return lists_of_results(c, xs.n, result, (size_t)nout, out);
}

/* ---- loops whose steps are written out ---- */

typedef struct Unrolled {
    const Node *body;
    Node go;     /* the condition so far: a boolean that is known */
    Node *state; /* nstate of them */
    size_t nstate, nrow;
    Vec(Node) row; /* nrow for each step */
} Unrolled;

static bool known_bool(Compiler *c, Node *n, bool *v) {
    bool known = n->kind == NODE_NONE;
    if (known) return *v = true, true;
    if (!onnx_make_known(c, n, &known)) return false;
    if (known && n->kind == NODE_LIST && n->n == 1) *n = n->item[0];
    if (!known || n->kind != NODE_LITERAL)
        return fail_count(c, "the condition of a Loop that makes lists");
    return *v = n->lit.u != 0, true;
}

static bool unroll_step(Compiler *c, Unrolled *u, int64_t i) {
    Node *arg = NEW_N(compiler_arena(c), u->nstate + 3, Node), r;
    arg[0] = node_var(const_int(c->b, i), NOWHERE);
    arg[1] = node_var(const_number(c->b, DT_BOOL, 1), NOWHERE);
    if (arg[0].var == VAR_NONE || arg[1].var == VAR_NONE) return false;
    for (size_t k = 0; k < u->nstate; k++)
        arg[k + 2] = u->state[k];
    if (!compiler_apply(c, u->body, &(Arguments){u->nstate + 2, arg, NULL, NOWHERE},
                        &r))
        return false;
    if (r.kind != NODE_LIST || r.n != 1 + u->nstate + u->nrow)
        return onnx_fail_call(c, "a body with another number of results");
    u->go = r.item[0];
    for (size_t k = 0; k < u->nstate; k++)
        u->state[k] = r.item[k + 1];
    for (size_t k = 0; k < u->nrow; k++)
        vec_push(c->s, &u->row, r.item[1 + u->nstate + k]);
    return true;
}

static bool unroll_steps(Compiler *c, Unrolled *u, const Node *most, size_t *steps) {
    enum { STEPS = 1 << 14 };
    int64_t n = STEPS + 1;
    bool go;
    if (most->kind == NODE_VAR)
        return fail_count(c, "the number of steps of a Loop that makes lists");
    if (most->kind != NODE_NONE && !onnx_int_of(c, most, &n)) return false;
    for (*steps = 0;; ++*steps) {
        if (!known_bool(c, &u->go, &go)) return false;
        if (!go || (int64_t)*steps >= n) return true;
        if (*steps == STEPS)
            return fail(c->s, NOWHERE, E_LIMIT,
                        "a Loop that makes lists has more than %d steps", STEPS);
        if (!unroll_step(c, u, (int64_t)*steps)) return false;
    }
}

/* unrolled(body, M, cond, states, noutputs): the states, then the rows of each further
 * result as a list, to be stacked */
static bool f_unrolled(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t nout;
    size_t steps;
    const Node *v = &a->arg[3];
    if (!onnx_int_of(c, &a->arg[4], &nout)) return false;
    if ((size_t)nout < v->n) return onnx_fail_call(c, "a Loop with too few outputs");
    Unrolled u = {.body = &a->arg[0],
                  .go = a->arg[2],
                  .state = NEW_N(compiler_arena(c), (size_t)nout + 1, Node),
                  .nstate = v->n,
                  .nrow = (size_t)nout - v->n};
    for (size_t k = 0; k < v->n; k++)
        u.state[k] = v->item[k];
    bool ok = unroll_steps(c, &u, &a->arg[1], &steps);
    Node *row = NEW_N(compiler_arena(c), ok ? steps + 1 : 1, Node);
    for (size_t k = 0; ok && k < u.nrow; k++) {
        for (size_t i = 0; i < steps; i++)
            row[i] = u.row.p[i * u.nrow + k];
        ok = node_tree(c, steps, row, NULL, NOWHERE, &u.state[u.nstate + k]);
    }
    vec_free(&u.row);
    return ok && node_tree(c, (size_t)nout, u.state, NULL, NOWHERE, out);
}

const OnnxRowFunction onnx_list_functions[] = {
    {"known_list", f_known_list, 1}, {"list_value", f_list_value, 1},
    {"items", f_items, 1},           {"has_lists", f_has_lists, 1},
    {"is_list", f_is_list, 1},       {"nothing", f_nothing, 0},
    {"map_items", f_map_items, 4},   {"unrolled", f_unrolled, 5}};
const size_t onnx_list_function_count =
    sizeof onnx_list_functions / sizeof *onnx_list_functions;
