/* The functions that rows of *.to may call, besides those of the reader's rows: nodes
 * of ONNX, and questions about types. */
#include "io/onnx/write_impl.h"

static bool fail_row(Compiler *c, const char *why) {
    return fail(c->s, NOWHERE, E_ARG, "%s", why);
}

static bool int_of(Compiler *c, const Node *n, int64_t *v) {
    return (n->kind == NODE_LITERAL && literal_i64(&n->lit, v)) ||
           fail_row(c,
                    "an integer that is known when the graph is written is expected");
}

/* A number that a row makes itself. */
static int64_t row_number(const Node *n) {
    int64_t v;
    if (n->kind != NODE_LITERAL || !literal_i64(&n->lit, &v))
        bug("a number of a row is not known");
    return v;
}

/* ---- values of the model ---- */

/* A value that is no variable of ours is a text with a pointer. */
Node onnx_value_node(OutName *name) {
    return (Node){.kind = NODE_STRING, .var = VAR_NONE, .data = name};
}

static OutName *literal_value(OnnxWriting *w, const Node *n, DType like) {
    int64_t v;
    if (n->lit.kind == K_BOOL) {
        Tensor t = {.dtype = DT_BOOL,
                    .data = arena_copy(w->a, &(bool){n->lit.u != 0}, sizeof(bool))};
        return out_constant(w, &t);
    }
    if (literal_i64(&n->lit, &v)) return out_ints(w, 0, 1, &v);
    OutFrame *f = w->frame;
    return onnx_write_var(w, const_number(&f->b, like, literal_f64(&n->lit)));
}

/* A list of integers, of which some may be known only in a run, is a vector. */
static OutName *vector_value(OnnxWriting *w, const Node *n) {
    Var v;
    if (!node_is_literal(n))
        return compiler_ints(w->frame->c, n, &v) ? onnx_write_var(w, v) : NULL;
    int64_t *item = NEW_N(w->a, row_count_of(n) + 1, int64_t);
    for (size_t i = 0; i < row_count_of(n); i++)
        if (!int_of(w->frame->c, row_item_of(n, i), &item[i])) return NULL;
    return out_ints(w, 1, row_count_of(n), item);
}

OutName *onnx_node_value(OnnxWriting *w, const Node *n) {
    if (n->kind == NODE_STRING && n->data) return (OutName *)(uintptr_t)n->data;
    if (n->kind == NODE_VAR) return onnx_write_var(w, n->var);
    if (n->kind == NODE_LITERAL) return literal_value(w, n, DT_FLOAT32);
    if (n->kind == NODE_LIST) return vector_value(w, n);
    fail_row(w->frame->c, "a value of the model is expected");
    return NULL;
}

/* ---- nodes ---- */

/* What floats among a node's inputs are: as the first tensor. */
static DType dtype_of_inputs(OnnxWriting *w, const Arguments *a) {
    for (size_t i = 0; i < a->n; i++) {
        const Node *n = &a->arg[i];
        const Type *t = n->kind == NODE_VAR ? var_type(w->frame->g, n->var) : NULL;
        if (t && t->kind == TYPE_TENSOR) return t->dtype;
    }
    return DT_FLOAT32;
}

typedef Vec(OutName *) OutNames;

static bool add_input(OnnxWriting *w, const Node *n, DType like, OutNames *in) {
    OutName *x = NULL;
    bool list = n->kind == NODE_LIST && !node_is_literal(n);
    for (size_t i = 0; list && i < n->n; i++)
        if (!add_input(w, &n->item[i], like, in)) return false;
    if (list) return true;
    if (n->kind != NODE_NONE) {
        x = n->kind == NODE_LITERAL ? literal_value(w, n, like) : onnx_node_value(w, n);
        if (!x) return false;
    }
    vec_push(w->s, in, x);
    return true;
}

static bool add_list(OnnxWriting *w, OutNode *node, const char *name, const Node *n) {
    int64_t *ints = NEW_N(w->a, n->n + 1, int64_t);
    double *floats = NEW_N(w->a, n->n + 1, double);
    bool real = false;
    for (size_t i = 0; i < n->n; i++) {
        if (n->item[i].kind != NODE_LITERAL)
            return fail_row(w->frame->c, arena_printf(w->a, "%s must be known", name));
        real |= !literal_i64(&n->item[i].lit, &ints[i]);
        floats[i] = literal_f64(&n->item[i].lit);
    }
    if (real)
        out_attribute_floats(node, name, n->n, floats);
    else
        out_attribute_ints(node, name, n->n, ints);
    return true;
}

static bool add_attribute(OnnxWriting *w, OutNode *node, const char *name,
                          const Node *n) {
    int64_t code;
    switch ((int)n->kind) {
    case NODE_NONE:
        return true;
    case NODE_LITERAL:
        if (n->lit.kind == K_FLOAT)
            out_attribute_float(node, name, literal_f64(&n->lit));
        else
            out_attribute_int(node, name,
                              n->lit.kind == K_BOOL ? n->lit.u != 0
                              : n->lit.negative     ? -(int64_t)n->lit.u
                                                    : (int64_t)n->lit.u);
        return true;
    case NODE_STRING:
        out_attribute_text(node, name, sym_text(w->s, n->sym));
        return true;
    case NODE_LIST:
        return add_list(w, node, name, n);
    case NODE_DTYPE:
        code = onnx_dtype_code(n->dtype);
        out_attribute_int(node, name, code);
        return code ||
               fail(w->s, NOWHERE, E_DTYPE, "ONNX has no %s", dtype_name(n->dtype));
    default:
        return fail_row(w->frame->c, arena_printf(w->a, "%s must be known", name));
    }
}

static bool add_arguments(OnnxWriting *w, OutNode *node, const Arguments *a,
                          OutNames *in) {
    DType like = dtype_of_inputs(w, a);
    for (size_t i = 0; i < a->n; i++) {
        Sym key = a->key ? a->key[i] : 0;
        const char *name = sym_text(w->s, key);
        if (strcmp(name, "outputs") == 0) continue;
        if (key ? !add_attribute(w, node, name, &a->arg[i])
                : !add_input(w, &a->arg[i], like, in))
            return false;
    }
    while (in->n && !in->p[in->n - 1])
        in->n--;
    return true;
}

static size_t outputs_of(OnnxWriting *w, const Arguments *a) {
    int64_t n = 1;
    for (size_t i = 0; a->key && i < a->n; i++)
        if (strcmp(sym_text(w->s, a->key[i]), "outputs") == 0)
            n = row_number(&a->arg[i]);
    return (size_t)n;
}

/* Name(x, y, attribute=z, outputs=n) */
bool onnx_call_node(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    OnnxWriting *w = (OnnxWriting *)(uintptr_t)f->data;
    OutNames in = {0};
    size_t nout = outputs_of(w, a);
    OutNode *n = out_node(w, sym_text(w->s, f->sym), 0, nout);
    bool ok = add_arguments(w, n, a, &in);
    n->nin = in.n;
    n->in = arena_copy(w->a, in.p ? in.p : n->in, in.n * sizeof *n->in);
    vec_free(&in);
    if (!ok) return false;
    out_append(w, n);
    *out = onnx_value_node(n->out[0]);
    if (nout == 1) return true;
    Node *item = NEW_N(compiler_arena(c), nout, Node);
    for (size_t i = 0; i < nout; i++)
        item[i] = onnx_value_node(n->out[i]);
    return node_tree(c, nout, item, NULL, NOWHERE, out);
}

/* ---- the functions ---- */

/* reduced('ReduceMax', x, axis, keepdims): the axes are an attribute up to opset 17, an
 * input from there on; over no axis, x itself */
static bool f_reduced(OnnxWriting *w, const Arguments *a, Node *out) {
    enum { AXES_ARE_INPUT = 18 };
    const Node *axis = &a->arg[2];
    bool none = axis->kind == NODE_LIST && axis->n == 0;
    OutName *x = onnx_node_value(w, &a->arg[1]), *axes = NULL;
    if (!x) return false;
    if (none) return *out = onnx_value_node(x), true;
    bool input = axis->kind != NODE_NONE && w->opset >= AXES_ARE_INPUT;
    if (input && !(axes = vector_value(w, axis))) return false;
    OutNode *n = out_node(w, sym_text(w->s, a->arg[0].sym), input ? 2 : 1, 1);
    n->in[0] = x;
    if (input) n->in[1] = axes;
    if (!input && !add_attribute(w, n, "axes", axis)) return false;
    out_attribute_int(n, "keepdims", a->arg[3].lit.u != 0);
    out_append(w, n);
    return *out = onnx_value_node(n->out[0]), true;
}

/* ints(list): an int64 vector */
static bool f_ints(OnnxWriting *w, const Arguments *a, Node *out) {
    OutName *n = vector_value(w, &a->arg[0]);
    return n && (*out = onnx_value_node(n), true);
}

/* known(x): a number or a list where it is known, else x */
static bool f_known(OnnxWriting *w, const Arguments *a, Node *out) {
    bool known;
    *out = a->arg[0];
    return onnx_make_known(w->frame->c, out, &known);
}

static const Type *type_of(OnnxWriting *w, const Node *n) {
    return n->kind == NODE_VAR ? var_type(w->frame->g, n->var) : NULL;
}

/* is_kind(x, 'bool|int|uint|float|complex') */
static bool f_is_kind(OnnxWriting *w, const Arguments *a, Node *out) {
    static const char *const kinds[] = {"bool", "uint", "int", "float", "complex"};
    const Type *t = type_of(w, &a->arg[0]);
    const char *word = sym_text(w->s, a->arg[1].sym);
    bool yes =
        t && t->kind == TYPE_TENSOR && strcmp(kinds[dtype_kind(t->dtype)], word) == 0;
    return *out = row_bool_node(yes), true;
}

/* is_size(x): is it a single int64, as sizes are? */
static bool f_is_size(OnnxWriting *w, const Arguments *a, Node *out) {
    const Type *t = type_of(w, &a->arg[0]);
    bool yes = t && t->kind == TYPE_TENSOR && t->dtype == DT_INT64 && t->ndim == 0;
    return *out = row_bool_node(yes), true;
}

/* sizes(x, from): those of its dims from there on, None if one is not known */
static bool f_sizes(OnnxWriting *w, const Arguments *a, Node *out) {
    const Type *t = type_of(w, &a->arg[0]);
    if (!t) return false;
    int64_t from = row_number(&a->arg[1]);
    size_t n = (size_t)(t->ndim - from);
    Node *item = NEW_N(compiler_arena(w->frame->c), n + 1, Node);
    *out = (Node){.kind = NODE_NONE, .var = VAR_NONE};
    for (size_t i = 0; i < n; i++) {
        Dim d = t->dim[(size_t)from + i];
        if (!dim_is_known(d)) return true;
        item[i] = row_int_node(d);
    }
    return node_tree(w->frame->c, n, item, NULL, NOWHERE, out);
}

/* fit(list, n): a single number stands for all */
static bool f_fit(OnnxWriting *w, const Arguments *a, Node *out) {
    int64_t n = row_number(&a->arg[1]);
    const Node *x = &a->arg[0];
    if (x->kind == NODE_NONE || row_count_of(x) == (size_t)n) return *out = *x, true;
    Node *item = NEW_N(compiler_arena(w->frame->c), (size_t)n + 1, Node);
    for (int64_t i = 0; i < n; i++)
        item[i] = *row_item_of(x, 0);
    return node_tree(w->frame->c, (size_t)n, item, NULL, NOWHERE, out);
}

/* ---- padding ---- */

typedef struct Padding {
    int64_t size, window, stride, dilation, before, after;
} Padding;

/* As much as makes the result's size that of x divided by the stride. */
static void pad_same(Padding *p, bool upper) {
    int64_t n = (p->size + p->stride - 1) / p->stride,
            all = (n - 1) * p->stride + (p->window - 1) * p->dilation + 1 - p->size;
    if (all < 0) all = 0;
    p->before = upper ? all / 2 : all - all / 2;
    p->after = all - p->before;
}

static bool pad_axis(OnnxWriting *w, const Arguments *a, size_t n, size_t i,
                     Padding *p) {
    Compiler *c = w->frame->c;
    const Node *how = &a->arg[0];
    size_t count = row_count_of(how);
    if (how->kind != NODE_STRING)
        return int_of(c,
                      row_item_of(how, count == 2 * n ? 2 * i
                                       : count == n   ? i
                                                      : 0),
                      &p->before) &&
               int_of(c,
                      row_item_of(how, count == 2 * n ? 2 * i + 1
                                       : count == n   ? i
                                                      : 0),
                      &p->after);
    const char *word = sym_text(w->s, how->sym);
    if (strcmp(word, "valid") == 0) return true;
    int64_t *known[] = {&p->size, &p->window, &p->stride, &p->dilation};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const Node *x = row_item_of(&a->arg[k + 1], i);
        if (x->kind != NODE_LITERAL || !literal_i64(&x->lit, known[k]))
            return fail_row(c, "padding='same' needs sizes that are known");
    }
    return pad_same(p, strcmp(word, "same_lower") != 0), true;
}

/* pads(padding, sizes of x, window, strides, dilations): before each axis, then after
 * each */
static bool f_pads(OnnxWriting *w, const Arguments *a, Node *out) {
    size_t n = row_count_of(&a->arg[3]);
    Node *item = NEW_N(compiler_arena(w->frame->c), 2 * n + 1, Node);
    for (size_t i = 0; i < n; i++) {
        Padding p = {0};
        if (!pad_axis(w, a, n, i, &p)) return false;
        item[i] = row_int_node(p.before);
        item[n + i] = row_int_node(p.after);
    }
    return node_tree(w->frame->c, 2 * n, item, NULL, NOWHERE, out);
}

/* sides(padding, n): as calls of ops take it: pairs instead of 2 n numbers */
static bool f_sides(OnnxWriting *w, const Arguments *a, Node *out) {
    const Node *x = &a->arg[0];
    Compiler *c = w->frame->c;
    size_t n = row_count_of(x) / 2;
    int64_t axes = row_number(&a->arg[1]);
    *out = *x;
    if (axes == 1 || x->kind != NODE_LIST || x->n != 2 * (size_t)axes) return true;
    Node *item = NEW_N(compiler_arena(c), n + 1, Node);
    for (size_t i = 0; i < n; i++)
        if (!node_tree(c, 2, x->item + 2 * i, NULL, NOWHERE, &item[i])) return false;
    return node_tree(c, n, item, NULL, NOWHERE, out);
}

/* above(pads): those that add; nodes of ONNX have no others */
static bool f_above(OnnxWriting *w, const Arguments *a, Node *out) {
    const Node *x = &a->arg[0];
    Node *item = NEW_N(compiler_arena(w->frame->c), x->n + 1, Node);
    for (size_t i = 0; i < x->n; i++) {
        int64_t v = row_number(&x->item[i]);
        item[i] = row_int_node(v < 0 ? 0 : v);
    }
    return node_tree(w->frame->c, x->n, item, NULL, NOWHERE, out);
}

/* cut(x, pads): without what pads below zero take off */
static bool f_cut(OnnxWriting *w, const Arguments *a, Node *out) {
    const Node *p = &a->arg[1];
    size_t n = p->n / 2;
    int64_t *all = NEW_N(w->a, 2 * n + 4, int64_t);
    bool any = false;
    for (size_t i = 0; i < 2 * n; i++) {
        int64_t v = row_number(&p->item[i]);
        all[i < n ? 2 + i : 4 + i] = v < 0 ? v : 0;
        any |= v < 0;
    }
    OutName *in[2] = {onnx_node_value(w, &a->arg[0]), NULL};
    if (any) in[1] = out_ints(w, 1, 2 * n + 4, all);
    if (any && in[0]) in[0] = out_call(w, "Pad", 2, in);
    return in[0] && (*out = onnx_value_node(in[0]), true);
}

/* any_below(list, n): is a number of it less than n? */
static bool f_any_below(OnnxWriting *w, const Arguments *a, Node *out) {
    (void)w;
    bool yes = false;
    for (size_t i = 0; i < row_count_of(&a->arg[0]); i++)
        yes |= row_number(row_item_of(&a->arg[0], i)) < row_number(&a->arg[1]);
    return *out = row_bool_node(yes), true;
}

/* indexed(x, index, at): the subtensor of this index */
static bool f_indexed(OnnxWriting *w, const Arguments *a, Node *out) {
    OutFrame *f = w->frame;
    size_t n = row_count_of(&a->arg[2]);
    Var *in = NEW_N(w->a, n + 2, Var);
    if (!compiler_var(f->c, &a->arg[0], DT_NONE, &in[0])) return false;
    for (size_t i = 0; i < n; i++)
        in[i + 1] = row_item_of(&a->arg[2], i)->var;
    PropArg index = {"index", PROP_STR(a->arg[1].sym)};
    *out = node_var(apply_named(&f->b, "subtensor", n + 1, in, 1, &index), NOWHERE);
    return out->var != VAR_NONE;
}

/* coordinates(places): resample's table of rows [p, a, b, q] in ONNX's words, None if
 * it has none for it */
static bool f_coordinates(OnnxWriting *w, const Arguments *a, Node *out) {
    static const struct {
        const char *name;
        double p, q;
    } words[] = {{"half_pixel", 0.5, -0.5}, {"asymmetric", 0, 0}};
    Value v = {0};
    bool known;
    *out = (Node){.kind = NODE_NONE, .var = VAR_NONE};
    if (!compiler_constant(w->frame->c, a->arg[0].var, &known, &v)) return false;
    for (size_t i = 0; known && v.kind == TYPE_TENSOR && i < 2; i++) {
        bool same = v.t.ndim == 2;
        for (int64_t k = 0; same && k < v.t.shape[0]; k++)
            same = tensor_f64(&v.t, 4 * k) == words[i].p &&
                   tensor_f64(&v.t, 4 * k + 3) == words[i].q;
        if (same)
            *out = (Node){
                .kind = NODE_STRING, .var = VAR_NONE, .sym = sym(w->s, words[i].name)};
    }
    value_unref(&v);
    return true;
}

/* lacks('text'): ONNX can't say it */
static bool f_lacks(OnnxWriting *w, const Arguments *a, Node *out) {
    (void)out;
    return fail(w->s, NOWHERE, E_ARG, "ONNX has no %s", sym_text(w->s, a->arg[0].sym));
}

typedef bool WriteFunction(OnnxWriting *w, const Arguments *a, Node *out);
static const struct WriteRow {
    const char *name;
    WriteFunction *call;
    size_t least;
} write_rows[] = {{"reduced", f_reduced, 4},
                  {"ints", f_ints, 1},
                  {"known", f_known, 1},
                  {"is_kind", f_is_kind, 2},
                  {"sizes", f_sizes, 2},
                  {"is_size", f_is_size, 1},
                  {"fit", f_fit, 2},
                  {"pads", f_pads, 5},
                  {"any_below", f_any_below, 2},
                  {"sides", f_sides, 2},
                  {"above", f_above, 1},
                  {"cut", f_cut, 2},
                  {"indexed", f_indexed, 3},
                  {"at_index", onnx_write_index, 3},
                  {"coordinates", f_coordinates, 1},
                  {"lacks", f_lacks, 1}};
enum { WRITE_ROWS = sizeof write_rows / sizeof *write_rows };

/* The function's place in the table goes with the node, what is written with its data.
 */
static bool call_write_row(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)c;
    const struct WriteRow *r = &write_rows[f->n];
    if (a->n < r->least) bug("a row calls %s without all arguments", r->name);
    return r->call((OnnxWriting *)(uintptr_t)f->data, a, out);
}

void onnx_bind_write_functions(OnnxWriting *w, OutFrame *f) {
    BoundNames *reader = NEW(w->a, BoundNames);
    onnx_bind_functions(f->c, w->a, reader);
    bound_names_open(f->c, w->a, &f->helpers, WRITE_ROWS + 1, reader);
    for (size_t i = 0; i < WRITE_ROWS; i++)
        bound_names_add(w->a, &f->helpers, sym(w->s, write_rows[i].name),
                        (Node){.kind = NODE_FUNCTION,
                               .var = VAR_NONE,
                               .n = i,
                               .apply = call_write_row,
                               .data = w});
    bound_names_add(w->a, &f->helpers, sym(w->s, "opset"), row_int_node(w->opset));
}
