/* What rows call for functions: the body of a Loop or Scan as a step of our scan, the
 * activations of recurrent layers by name. */
#include "io/onnx/onnx_impl.h"
#include "op/build.h"

/* ---- steps of loops ---- */

static bool list_of_results(Compiler *c, const Node *body, const Arguments *args,
                            Node *out) {
    return compiler_apply(c, body, args, out) &&
           ((out->kind == NODE_LIST && out->n) ||
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

typedef struct Activation {
    const char *name, *text; /* of x, alpha a and beta b */
    double a, b;             /* if the model doesn't say */
    bool takes_a, takes_b;
} Activation;
static const Activation activations[] = {
    {"Tanh", "tanh(x)", 0, 0, false, false},
    {"Sigmoid", "sigmoid(x)", 0, 0, false, false},
    {"Relu", "relu(x)", 0, 0, false, false},
    {"Softsign", "x / (1 + abs(x))", 0, 0, false, false},
    {"Softplus", "softplus(x)", 0, 0, false, false},
    {"Affine", "a * x + b", 1, 0, true, true},
    {"Elu", "where(x < 0, a * expm1(x), x)", 1, 0, true, false},
    {"HardSigmoid", "maximum(0, minimum(1, a * x + b))", 0.2, 0.5, true, true},
    {"LeakyRelu", "where(x < 0, a * x, x)", 0.01, 0, true, false},
    {"ScaledTanh", "a * tanh(b * x)", 1, 1, true, true},
    {"ThresholdedRelu", "where(x < a, 0, x)", 1, 0, true, false}};

/* One of a layer's activations, with its numbers. */
typedef struct Activated {
    const Activation *f;
    double clip, a, b;
} Activated;

static bool apply_activation(Compiler *c, const Node *f, const Arguments *args,
                             Node *out) {
    const Activated *k = f->data;
    Bind bind[3] = {{sym(c->s, "x"), VAR_NONE},
                    {sym(c->s, "a"), VAR_NONE},
                    {sym(c->s, "b"), VAR_NONE}};
    Var x;
    bool ok = true;
    if (!compiler_var(c, &args->arg[0], DT_NONE, &x)) return false;
    DType d = var_type(c->b->g, x)->dtype;
    if (k->clip != 0)
        x = op_call3(c->b, "clip", x, const_number(c->b, d, -k->clip),
                     const_number(c->b, d, k->clip));
    bind[0].var = x;
    bind[1].var = const_number(c->b, d, k->a);
    bind[2].var = const_number(c->b, d, k->b);
    for (size_t i = 0; i < 3; i++)
        if (bind[i].var == VAR_NONE) return false;
    Var r = template_build(c->b, k->f->text, &(Env){.n = 3, .bind = bind}, &ok);
    *out = node_var(r, NOWHERE);
    return ok && r != VAR_NONE;
}

static const Activation *find_activation(Compiler *c, const Node *name) {
    const char *text = name->kind == NODE_STRING ? sym_text(c->s, name->sym) : "";
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(text, activations[i].name) == 0) return &activations[i];
    fail(c->s, NOWHERE, E_ARG,
         "thunkline does not have the activation '%s' of recurrent layers", text);
    return NULL;
}

static void take_number(const Node *list, size_t *at, double *v) {
    if (list->kind == NODE_LIST && *at < list->n && node_is_literal(&list->item[*at]))
        *v = literal_f64(&list->item[(*at)++].lit);
}

/* activation(names, i, 'Tanh', clip, alphas, betas): the i-th named function, of
 * numbers between -clip and clip. Those that take an alpha or a beta have the next
 * ones, in the order of the names. Where a layer names those of one direction, both
 * have them. */
static bool f_activation(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    const Node *names = &a->arg[0];
    size_t na = 0, nb = 0, n = names->kind == NODE_LIST ? names->n : 0;
    int64_t i;
    if (!onnx_int_of(c, &a->arg[1], &i)) return false;
    Activated *k = NEW(compiler_arena(c), Activated);
    for (size_t j = 0, at = n ? (size_t)i % n : 0; j <= at; j++) {
        k->f = find_activation(c, n ? &names->item[j] : &a->arg[2]);
        if (!k->f) return false;
        k->a = k->f->a;
        k->b = k->f->b;
        if (k->f->takes_a) take_number(&a->arg[4], &na, &k->a);
        if (k->f->takes_b) take_number(&a->arg[5], &nb, &k->b);
    }
    k->clip = a->arg[3].kind == NODE_LITERAL ? literal_f64(&a->arg[3].lit) : 0;
    *out = (Node){
        .kind = NODE_FUNCTION, .var = VAR_NONE, .apply = apply_activation, .data = k};
    return true;
}

const OnnxRowFunction onnx_body_functions[] = {{"loop_step", f_loop_step, 2},
                                               {"scan_step", f_scan_step, 2},
                                               {"activation", f_activation, 6}};
const size_t onnx_body_function_count =
    sizeof onnx_body_functions / sizeof *onnx_body_functions;
