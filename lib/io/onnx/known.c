/* Values that are known while a model is read: constants, and integers that types tell,
 * as numbers and lists of the language. */
#include "io/onnx/onnx_impl.h"
#include "op/infer.h"

static Node node_of_element(const Tensor *t, int64_t i) {
    Literal l = {.kind = K_FLOAT};
    if (dtype_is_discrete(t->dtype)) {
        l = literal_int(tensor_i64(t, i));
        if (t->dtype == DT_BOOL)
            l = (Literal){.kind = K_BOOL, .u = (uint64_t)tensor_i64(t, i)};
    } else {
        l.re = tensor_f64(t, i);
    }
    return node_literal(l, NOWHERE);
}

static bool node_of_tensor(Compiler *c, const Tensor *t, Node *out) {
    int64_t n = tensor_size(t);
    if (t->ndim == 0) return *out = node_of_element(t, 0), true;
    Node *item = NEW_N(compiler_arena(c), (size_t)n + 1, Node);
    for (int64_t i = 0; i < n; i++)
        item[i] = node_of_element(t, i);
    return node_tree(c, (size_t)n, item, NULL, NOWHERE, out);
}

bool onnx_known_by_types(Compiler *c, Var v, bool *known, Node *out) {
    Graph *g = c->b->g;
    const Type *t = var_type(g, v);
    int64_t raw[MAX_NDIM];
    Infer in = {.s = c->s, .graph = g, .nin = 1, .type = &t, .in = &v};
    int n = dtype_is_integer(t->dtype) ? infer_dims(&in, 0, NULL, raw) : -1;
    *known = n >= 0 && n <= MAX_NDIM;
    for (int i = 0; *known && i < n; i++)
        *known = raw[i] != INT64_MIN;
    if (!*known) return true;
    if (t->ndim == 0) return *out = node_literal(literal_int(raw[0]), NOWHERE), true;
    Node *item = NEW_N(compiler_arena(c), (size_t)n + 1, Node);
    for (int i = 0; i < n; i++)
        item[i] = node_literal(literal_int(raw[i]), NOWHERE);
    return node_tree(c, (size_t)n, item, NULL, NOWHERE, out);
}

bool onnx_make_known(Compiler *c, Node *n, bool *known) {
    enum { ELEMENTS = 1 << 12 };
    Value v = {0};
    *known = node_is_literal(n);
    if (*known || n->kind != NODE_VAR) return true;
    const Type *t = var_type(c->b->g, n->var);
    if (t->kind != TYPE_TENSOR || t->ndim > 1 || dtype_is_complex(t->dtype))
        return true;
    int64_t size = type_size(t);
    if (size > ELEMENTS) return true;
    if (!onnx_known_by_types(c, n->var, known, n) || *known) return true;
    if (size < 0) return true;
    if (!compiler_constant(c, n->var, known, &v)) return false;
    bool ok = !*known || node_of_tensor(c, &v.t, n);
    value_unref(&v);
    return ok;
}
