/* What rows call for functions: the body of a Loop or Scan as a step of our scan, the
 * activations of recurrent layers by name. */
#include "io/onnx/onnx_impl.h"
#include "op/build.h"

/* ---- steps of loops ---- */

static bool list_of_results(Compiler *c, const Node *body, const Arguments *args,
                            Node *out) {
    return compiler_apply(c, body, args, out) &&
           (out->kind == NODE_LIST ||
            onnx_fail_call(c, "a graph without results as the body of a loop"));
}

/* Calls the body of Loop, (i, cond, v...) -> (cond, v..., rows...), as a step of scan,
 * (i, v...) -> (i + 1, v..., rows..., until). */
static bool apply_loop_step(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    const Node *body = f->data;
    Node *arg = NEW_N(compiler_arena(c), a->n + 1, Node), r;
    Var one = const_int(c->b, 1), next;
    arg[0] = a->arg[0];
    arg[1] = node_var(const_number(c->b, DT_BOOL, 1), NOWHERE);
    if (arg[1].var == VAR_NONE) return false;
    for (size_t i = 1; i < a->n; i++)
        arg[i + 1] = a->arg[i];
    if (!list_of_results(c, body, &(Arguments){a->n + 1, arg, NULL, NOWHERE}, &r))
        return false;
    Node *item = NEW_N(compiler_arena(c), r.n + 2, Node),
         *stop = NEW(compiler_arena(c), Node);
    next = op_call2(c->b, "add", a->arg[0].var, one);
    if (next == VAR_NONE) return false;
    item[0] = node_var(next, NOWHERE);
    for (size_t i = 1; i < r.n; i++)
        item[i] = r.item[i];
    size_t n = r.n;
    if (body->weak) { /* it has a condition */
        Var go;
        if (!compiler_var(c, &r.item[0], DT_BOOL, &go)) return false;
        if (var_type(c->b->g, go)->ndim)
            go = op_call2(c->b, "reshape", go, const_ints(c->b, 0, NULL));
        go = op_call1(c->b, "logical_not", go);
        if (go == VAR_NONE) return false;
        *stop = node_var(go, NOWHERE);
        Sym *key = NEW(compiler_arena(c), Sym);
        *key = sym(c->s, "until");
        if (!node_tree(c, 1, stop, key, NOWHERE, &item[n++])) return false;
    }
    return node_tree(c, n, item, NULL, NOWHERE, out);
}

/* Calls the body of Scan, (states..., rows...), as a step of scan, (rows...,
 * states...). */
static bool apply_scan_step(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    const Node *body = f->data;
    size_t rows = (size_t)body->n, states = a->n - rows;
    Node *arg = NEW_N(compiler_arena(c), a->n + 1, Node);
    for (size_t i = 0; i < a->n; i++)
        arg[i] = a->arg[i < states ? rows + i : i - states];
    return list_of_results(c, body, &(Arguments){a->n, arg, NULL, NOWHERE}, out);
}

static bool make_step(Compiler *c, const Node *body, NodeApply *apply, Node *out) {
    if (body->kind != NODE_FUNCTION) return onnx_fail_call(c, "a loop without a body");
    *out = (Node){.kind = NODE_FUNCTION,
                  .var = VAR_NONE,
                  .apply = apply,
                  .data = arena_copy(compiler_arena(c), body, sizeof *body)};
    return true;
}

/* loop_step(body, has a condition) */
static bool f_loop_step(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    Node body = a->arg[0];
    body.weak = a->arg[1].lit.u != 0;
    return make_step(c, &body, apply_loop_step, out);
}

/* scan_step(body, number of rows) */
static bool f_scan_step(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    Node body = a->arg[0];
    int64_t n;
    if (!onnx_int_of(c, &a->arg[1], &n)) return false;
    body.n = (size_t)n;
    return make_step(c, &body, apply_scan_step, out);
}

/* ---- activations of recurrent layers ---- */

static bool apply_activation(Compiler *c, const Node *f, const Arguments *a,
                             Node *out) {
    const char *op = f->data;
    Var x;
    if (!compiler_var(c, &a->arg[0], DT_NONE, &x)) return false;
    DType d = var_type(c->b->g, x)->dtype;
    if (f->lit.re != 0)
        x = op_call3(c->b, "clip", x, const_number(c->b, d, -f->lit.re),
                     const_number(c->b, d, f->lit.re));
    if (x == VAR_NONE) return false;
    *out = node_var(op_call1(c->b, op, x), NOWHERE);
    return out->var != VAR_NONE;
}

/* activation(names, i, 'Tanh', clip): the i-th named function, of numbers between -clip
 * and clip; both directions have the same. */
static bool f_activation(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    static const char *const names[][2] = {{"Tanh", "tanh"},
                                           {"Sigmoid", "sigmoid"},
                                           {"Relu", "relu"},
                                           {"Softsign", "softsign"},
                                           {"Softplus", "softplus"}};
    int64_t i;
    if (!onnx_int_of(c, &a->arg[1], &i)) return false;
    const Node *name = a->arg[0].kind == NODE_LIST && (size_t)i < a->arg[0].n
                           ? &a->arg[0].item[i]
                           : &a->arg[2];
    const char *text = name->kind == NODE_STRING ? sym_text(c->s, name->sym) : "";
    Literal clip =
        a->arg[3].kind == NODE_LITERAL ? a->arg[3].lit : (Literal){.kind = K_FLOAT};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(text, names[k][0]) != 0) continue;
        *out = (Node){.kind = NODE_FUNCTION,
                      .var = VAR_NONE,
                      .apply = apply_activation,
                      .data = names[k][1]};
        out->lit.re = literal_f64(&clip);
        return true;
    }
    return fail(c->s, NOWHERE, E_ARG,
                "thunkline does not have the activation '%s' of recurrent layers",
                text);
}

const OnnxRowFunction onnx_body_functions[] = {{"loop_step", f_loop_step, 2},
                                               {"scan_step", f_scan_step, 2},
                                               {"activation", f_activation, 4}};
const size_t onnx_body_function_count =
    sizeof onnx_body_functions / sizeof *onnx_body_functions;
