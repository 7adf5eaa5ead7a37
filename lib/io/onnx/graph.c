/* From a model's graph to ours: interface, weights, nodes in order. */
#include "io/onnx/onnx_impl.h"
#include "lang/lazy_scope.h"
#include "op/rowwise.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- texts and names ---- */

bool onnx_text_equal(ProtoText a, ProtoText b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

const char *onnx_text(OnnxReading *r, ProtoText t) {
    return arena_str(r->a, t.p ? t.p : "", t.n);
}

Sym onnx_sym(OnnxReading *r, ProtoText t) {
    return sym_n(r->s, t.p ? t.p : "", t.n);
}

const char *onnx_node_text(OnnxReading *r, const OnnxNode *n) {
    Str b = STR(r->s);
    ProtoText name = n->name.n ? n->name : n->output.n ? n->output.p[0] : n->name;
    str_puts(&b, "the node '");
    str_visible(&b, name.p ? name.p : "", name.n);
    str_puts(&b, "' (");
    if (n->domain.n) str_visible(&b, n->domain.p, n->domain.n);
    if (n->domain.n) str_putc(&b, '.');
    str_visible(&b, n->op.p ? n->op.p : "", n->op.n);
    str_putc(&b, ')');
    const char *text = arena_str(r->a, b.p, b.n);
    str_free(&b);
    return text;
}

static void put_identifier(Str *b, ProtoText t) {
    for (size_t i = 0; i < t.n; i++) {
        bool word = ascii_is_word(t.p[i]);
        if (!word && (b->n == 0 || b->p[b->n - 1] == '_')) continue;
        if (b->n == 0 && ascii_is_digit(t.p[i])) str_putc(b, 'v');
        str_putc(b, word ? t.p[i] : '_');
    }
    while (b->n && b->p[b->n - 1] == '_')
        b->n--;
}

static bool is_free_name(const Graph *g, const char *p, size_t n) {
    Sym y = sym_n(g->s, p, n);
    return word_is_name(p, n) && graph_find(g, y) == VAR_NONE && !graph_has_dim(g, y) &&
           graph_function(g, y) == NULL;
}

Sym onnx_free_name(OnnxReading *r, ProtoText t, const char *otherwise) {
    Str b = STR(r->s);
    if (is_free_name(r->g, t.p ? t.p : "", t.n)) return onnx_sym(r, t);
    put_identifier(&b, t);
    if (b.n == 0) str_puts(&b, otherwise);
    size_t n = b.n;
    for (unsigned i = 1; !is_free_name(r->g, b.p, b.n); i++) {
        b.n = n;
        str_printf(&b, "_%u", i);
    }
    Sym y = sym_n(r->s, b.p, b.n);
    str_free(&b);
    return y;
}

/* ---- types ---- */

static Dim read_dim(OnnxReading *r, const OnnxDim *d) {
    if (d->has_value) return d->value;
    bool name = d->param.n && word_is_name(d->param.p, d->param.n);
    return name ? DIM_NAMED(onnx_sym(r, d->param)) : DIM_UNKNOWN;
}

static bool fail_type(OnnxReading *r, const char *what, const char *why) {
    return fail(r->s, NOWHERE, E_TYPE, "%s: %s %s", r->in->name, what, why);
}

static const Type *read_tensor_type(OnnxReading *r, const OnnxTensorType *t,
                                    const char *what) {
    const char *name;
    DType d = onnx_dtype(t->elem, &name);
    Dim dim[MAX_NDIM];
    if (d == DT_NONE)
        return fail(r->s, NOWHERE, E_DTYPE,
                    "%s: %s has elements of type %s, which thunkline does not have",
                    r->in->name, what, name ? name : "0"),
               NULL;
    if (!t->shape)
        return fail_type(r, what,
                         "has no shape: thunkline needs the number of dims; "
                         "onnx.shape_inference can add it"),
               NULL;
    if (t->shape->dim.n > MAX_NDIM)
        return fail_type(r, what, "has more than 32 dims"), NULL;
    for (size_t i = 0; i < t->shape->dim.n; i++) {
        dim[i] = read_dim(r, &t->shape->dim.p[i]);
        if (t->shape->dim.p[i].has_value && dim[i] < 0)
            dim[i] = DIM_UNKNOWN; /* what some writers mean by -1 */
    }
    return type_tensor(r->s, d, (int)t->shape->dim.n, dim);
}

const Type *onnx_type(OnnxReading *r, const OnnxType *t, const char *what) {
    if (t && t->tensor) return read_tensor_type(r, t->tensor, what);
    if (t && t->optional && t->optional->elem)
        return onnx_type(r, t->optional->elem, what);
    const Type *elem = t && t->sequence && t->sequence->elem
                           ? onnx_type(r, t->sequence->elem, what)
                           : NULL;
    if (elem) return type_list(r->s, elem);
    if (t && t->sequence && t->sequence->elem) return NULL;
    return fail_type(r, what,
                     !t       ? "has no type"
                     : t->map ? "is a map, which thunkline does not have"
                              : "has a type that thunkline does not have"),
           NULL;
}

/* ---- scopes ---- */

void onnx_bind(OnnxReading *r, OnnxScope *x, ProtoText name, Node value) {
    Node *own = NEW(r->a, Node);
    *own = value;
    map_put(&x->value, onnx_sym(r, name), (uintptr_t)own);
    if (!x->named || value.kind != NODE_VAR) return;
    Graph *g = r->g;
    bool leaf = var_leaf(g, value.var) != LEAF_NOT && !var_is_const(g, value.var);
    if (!leaf && !var_name(g, value.var))
        graph_name(g, value.var, onnx_free_name(r, name, "v"));
    Sym text = onnx_sym(r, name);
    if (var_name(g, value.var) != text && io_is_label(name.p ? name.p : "", name.n))
        graph_alias(g, value.var, text);
}

bool onnx_lookup(OnnxReading *r, const OnnxScope *x, ProtoText name, Node *out) {
    Sym y = onnx_sym(r, name);
    uint64_t p;
    const OnnxScope *at = x;
    while (at && !map_get(&at->value, y, &p))
        at = at->up;
    if (at)
        return compiler_capture(r->c, at->frame, (const Node *)(uintptr_t)p, NOWHERE,
                                out);
    Str shown = STR(r->s);
    str_visible(&shown, name.p ? name.p : "", name.n);
    fail(r->s, NOWHERE, E_NAME, "%s: no node before makes '%s'", r->in->name,
         str_text(&shown));
    str_free(&shown);
    return false;
}

int64_t onnx_opset(const OnnxScope *x, ProtoText domain) {
    bool own = domain.n == 0 || proto_text_is(domain, "ai.onnx");
    for (size_t i = 0; i < x->nopset; i++) {
        ProtoText d = x->opset[i].domain;
        bool same =
            own ? d.n == 0 || proto_text_is(d, "ai.onnx") : onnx_text_equal(d, domain);
        if (same) return x->opset[i].version;
    }
    return 0;
}

/* ---- attributes ---- */

static const OnnxAttribute *find_attribute(const OnnxAttribute *p, size_t n,
                                           ProtoText name) {
    for (size_t i = 0; i < n; i++)
        if (p[i].name.n == name.n && memcmp(p[i].name.p, name.p, name.n) == 0)
            return &p[i];
    return NULL;
}

const OnnxAttribute *onnx_attribute(const OnnxScope *x, const OnnxNode *n,
                                    const char *name) {
    const OnnxAttribute *a =
        find_attribute(n->attribute.p, n->attribute.n, (ProtoText){name, strlen(name)});
    while (a && a->ref.n) {
        ProtoText ref = a->ref;
        if (!x->call) return NULL;
        a = find_attribute(x->call->attribute.p, x->call->attribute.n, ref);
        if (!a)
            return find_attribute(x->function->defaults.p, x->function->defaults.n,
                                  ref);
        x = x->of;
    }
    return a;
}

/* As the shortest text that gives the same float32: what was meant, for any dtype. */
static Node float_node(float f) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)f);
    if (strtof(text, NULL) != f) snprintf(text, sizeof text, "%.9g", (double)f);
    return node_literal((Literal){.kind = K_FLOAT, .re = strtod(text, NULL)}, NOWHERE);
}

static Node text_node(OnnxReading *r, ProtoText t) {
    return (Node){.kind = NODE_STRING, .var = VAR_NONE, .sym = onnx_sym(r, t)};
}

/* Long lists of numbers are constants: as nodes they would take much more room. */
static bool constant_of(OnnxReading *r, const OnnxAttribute *a, size_t n, int64_t type,
                        Node *out) {
    Tensor t;
    int64_t shape = (int64_t)n;
    DType d = type == ONNX_FLOATS ? DT_FLOAT32 : DT_INT64;
    if (!tensor_new(r->s, d, 1, &shape, &t)) return false;
    for (size_t i = 0; i < n; i++)
        if (type == ONNX_FLOATS)
            ((float *)t.data)[i] = a->floats.p[i];
        else
            ((int64_t *)t.data)[i] = a->ints.p[i];
    *out = node_var(graph_const(r->c->b->g, &t, false), NOWHERE);
    tensor_unref(&t);
    return true;
}

static bool list_of(OnnxReading *r, const OnnxAttribute *a, size_t n, int64_t type,
                    Node *out) {
    enum { LONG = 1 << 12 };
    if (n > LONG && type != ONNX_STRINGS) return constant_of(r, a, n, type, out);
    Node *item = NEW_N(compiler_arena(r->c), n + 1, Node);
    for (size_t i = 0; i < n; i++)
        item[i] = type == ONNX_FLOATS ? float_node(a->floats.p[i])
                  : type == ONNX_INTS ? node_literal(literal_int(a->ints.p[i]), NOWHERE)
                                      : text_node(r, a->strings.p[i]);
    return node_tree(r->c, n, item, NULL, NOWHERE, out);
}

bool onnx_constant(OnnxReading *r, const OnnxTensor *t, Node *out) {
    Tensor v;
    if (!onnx_value(r, t, ELEMENTS_COMPUTED, &v)) return false;
    *out = node_var(graph_const(r->c->b->g, &v, false), NOWHERE);
    tensor_unref(&v);
    return true;
}

/* What is set tells the type where early writers left it out. */
static int64_t attribute_type(const OnnxAttribute *a) {
    if (a->type) return a->type;
    return a->t           ? ONNX_TENSOR
           : a->g         ? ONNX_GRAPH
           : a->s.n       ? ONNX_STRING
           : a->floats.n  ? ONNX_FLOATS
           : a->ints.n    ? ONNX_INTS
           : a->strings.n ? ONNX_STRINGS
           : a->f != 0    ? ONNX_FLOAT
                          : ONNX_INT;
}

bool onnx_attribute_node(OnnxReading *r, const OnnxScope *x, const OnnxAttribute *a,
                         Node *out) {
    int64_t type = attribute_type(a);
    switch (type) {
    case ONNX_FLOAT:
        return *out = float_node(a->f), true;
    case ONNX_INT:
        return *out = node_literal(literal_int(a->i), NOWHERE), true;
    case ONNX_STRING:
        return *out = text_node(r, a->s), true;
    case ONNX_FLOATS:
        return list_of(r, a, a->floats.n, type, out);
    case ONNX_INTS:
        return list_of(r, a, a->ints.n, type, out);
    case ONNX_STRINGS:
        return list_of(r, a, a->strings.n, type, out);
    case ONNX_TENSOR:
        if (a->t) return onnx_constant(r, a->t, out);
        break;
    case ONNX_GRAPH:
        if (a->g) return *out = onnx_graph_function(r, x, a->g), true;
        break;
    case ONNX_TYPE: /* what the values around it tell as well */
        return *out = (Node){.kind = NODE_NONE, .var = VAR_NONE}, true;
    default:
        break;
    }
    return fail(r->s, NOWHERE, E_FORMAT,
                "%s: the attribute '%s' is of a kind that thunkline does "
                "not have",
                r->in->name, onnx_text(r, a->name));
}

/* ---- weights ---- */

/* A float is a weight, which may be trained; what decides shapes is a constant. */
static bool is_weight(const OnnxScope *x, const OnnxTensor *t, uint64_t uses) {
    const char *name;
    DType d = onnx_dtype(t->dtype, &name);
    return x->named && d != DT_NONE && dtype_is_float(d) && !(uses & ONNX_USE_KNOWN);
}

static bool add_initializer(OnnxReading *r, OnnxScope *x, const OnnxTensor *t) {
    Tensor v;
    uint64_t uses = 0;
    Graph *g = r->c->b->g;
    map_get(&r->uses, onnx_sym(r, t->name), &uses);
    bool weight = is_weight(x, t, uses), ignored = r->o->use == ELEMENTS_IGNORED;
    ElementUse use = weight || ignored ? r->o->use : ELEMENTS_COMPUTED;
    if (!onnx_value(r, t, use, &v)) return false;
    Var var;
    if (weight) {
        const Type *type = type_tensor(r->s, v.dtype, v.ndim, v.shape);
        Value value = {.kind = TYPE_TENSOR, .t = v};
        var = graph_shared(g, onnx_free_name(r, t->name, "w"), type);
        value_copy_view(var_leafrec(g, var)->value, &value);
        if (uses == ONNX_USE_STATISTIC) graph_mark_statistic(g, var);
    } else {
        var = graph_const(g, &v, false);
    }
    tensor_unref(&v);
    onnx_bind(r, x, t->name, node_var(var, NOWHERE));
    file_mapped_pass(r->s, t->raw.p, t->raw.n); /* its name lies before it */
    return true;
}

static bool add_initializers(OnnxReading *r, OnnxScope *x) {
    for (size_t i = 0; i < x->graph->initializer.n; i++)
        if (!add_initializer(r, x, &x->graph->initializer.p[i])) return false;
    if (x->graph->sparse.n)
        return fail(r->s, NOWHERE, E_TYPE,
                    "%s: a weight is sparse, which thunkline does not read: "
                    "make it dense first",
                    r->in->name);
    return true;
}

static bool is_initializer(const OnnxGraph *g, ProtoText name) {
    for (size_t i = 0; i < g->initializer.n; i++)
        if (onnx_text_equal(g->initializer.p[i].name, name)) return true;
    return false;
}

/* What a node reads an input for; Identity, for what its output is read. */
static uint64_t uses_of_input(OnnxReading *r, const OnnxNode *n, const OnnxRow *row,
                              size_t k) {
    uint64_t uses = ONNX_USE_OTHER;
    if (proto_text_is(n->op, "Identity") && n->domain.n == 0 && n->output.n)
        map_get(&r->uses, onnx_sym(r, n->output.p[0]), &uses);
    else if (row && k < row->nparam)
        uses = row->param[k].known || row->param[k].maybe ? ONNX_USE_KNOWN
               : row->param[k].statistic                  ? ONNX_USE_STATISTIC
                                                          : ONNX_USE_OTHER;
    return uses;
}

/* Readers come after what they read, so the nodes are walked from the last one. */
static void mark_uses(OnnxReading *r, const OnnxScope *x, const OnnxGraph *g,
                      int depth) {
    for (size_t i = g->node.n; i-- > 0;) {
        const OnnxNode *n = &g->node.p[i];
        const OnnxRow *row =
            onnx_row(r->rows, n->domain, n->op, onnx_opset(x, n->domain));
        for (size_t k = 0; k < n->input.n; k++) {
            Sym name = onnx_sym(r, n->input.p[k]);
            uint64_t uses = 0;
            map_get(&r->uses, name, &uses);
            map_put(&r->uses, name, uses | uses_of_input(r, n, row, k));
        }
        for (size_t k = 0; k < n->attribute.n && depth < ONNX_DEPTH; k++)
            if (n->attribute.p[k].g) mark_uses(r, x, n->attribute.p[k].g, depth + 1);
    }
}

/* ---- the interface ---- */

static const OnnxTensorType *declared_tensor(const OnnxGraph *g, ProtoText name) {
    const OnnxType *t = NULL;
    for (size_t i = 0; i < g->info.n; i++)
        if (onnx_text_equal(g->info.p[i].name, name)) t = g->info.p[i].type;
    for (size_t i = 0; i < g->input.n; i++)
        if (onnx_text_equal(g->input.p[i].name, name)) t = g->input.p[i].type;
    return t && t->tensor && t->tensor->shape ? t->tensor : NULL;
}

/* A list whose items are of any shape has items of as many dims as what is inserted. */
static const Type *type_by_insertion(OnnxReading *r, const OnnxGraph *g,
                                     const OnnxValue *v, const char *what) {
    const OnnxType *item =
        v->type && v->type->sequence ? v->type->sequence->elem : NULL;
    if (!item || !item->tensor || item->tensor->shape) return NULL;
    for (size_t i = 0; i < g->node.n; i++) {
        const OnnxNode *n = &g->node.p[i];
        if (!proto_text_is(n->op, "SequenceInsert") || n->input.n < 2 ||
            !onnx_text_equal(n->input.p[0], v->name))
            continue;
        const OnnxTensorType *one = declared_tensor(g, n->input.p[1]);
        if (!one) continue;
        OnnxDim *open = NEW_N(r->a, one->shape->dim.n + 1, OnnxDim);
        OnnxShape shape = {.dim = {.p = open, .n = one->shape->dim.n}};
        OnnxTensorType t = {item->tensor->elem, &shape};
        const Type *elem = read_tensor_type(r, &t, what);
        return elem ? type_list(r->s, elem) : NULL;
    }
    return NULL;
}

static bool add_input(OnnxReading *r, OnnxScope *x, const OnnxValue *v) {
    const char *what = arena_printf(r->a, "the input '%s'", onnx_text(r, v->name));
    const Type *t = type_by_insertion(r, x->graph, v, what);
    if (!t) t = onnx_type(r, v->type, what);
    if (!t) return false;
    if (v->type->optional)
        warn(r->s, NOWHERE, E_TYPE,
             "%s: %s is optional; it is read as one that is always there", r->in->name,
             what);
    Graph *g = r->c->b->g;
    Sym name = onnx_free_name(r, v->name, "x");
    bool fixed = false;
    if (r->o->fix) {
        Value value = {0};
        if (!r->o->fix->value(r->o->fix->ctx, r->s, sym_text(r->s, name), t, &fixed,
                              &value))
            return false;
        if (fixed)
            onnx_bind(r, x, v->name,
                      node_var(value.kind == TYPE_TENSOR
                                   ? graph_const(g, &value.t, false)
                                   : graph_const_value(g, t, &value),
                               NOWHERE));
        value_unref(&value);
        if (fixed) return true;
    }
    Var in = graph_input(g, name, t);
    onnx_bind(r, x, v->name, node_var(in, NOWHERE));
    return true;
}

/* Inputs whose dims are named come first to the names: a dim keeps its name. */
static bool add_inputs(OnnxReading *r, OnnxScope *x) {
    for (size_t i = 0; i < x->graph->input.n; i++) {
        const OnnxValue *v = &x->graph->input.p[i];
        if (!is_initializer(x->graph, v->name) && !add_input(r, x, v)) return false;
    }
    return true;
}

/* Warns where the file says another type than the nodes make. */
static bool check_declared(OnnxReading *r, const OnnxValue *v, Var out) {
    const Type *have = var_type(r->g, out);
    if (!v->type || !v->type->tensor || have->kind != TYPE_TENSOR) return true;
    const OnnxTensorType *t = v->type->tensor;
    const char *name;
    DType d = onnx_dtype(t->elem, &name);
    bool rank = !t->shape || t->shape->dim.n == (size_t)have->ndim;
    bool texts = name && strcmp(name, "string") == 0; /* said where they are made */
    if ((d == have->dtype || t->elem == 0 || texts) && rank) return true;
    warn(r->s, NOWHERE, E_TYPE,
         "%s: the file says that the output '%s' is %s of %zu dims, but its "
         "nodes make %s",
         r->in->name, onnx_text(r, v->name), name ? name : "nothing",
         t->shape ? t->shape->dim.n : 0, type_str(r->s, have));
    return true;
}

static bool is_free_label(OnnxReading *r, Sym label) {
    return label && graph_output(r->g, label) == VAR_NONE;
}

/* Names that are no identifiers may become what another output is called. */
static Sym output_label(OnnxReading *r, ProtoText name, Var v) {
    Sym given = word_is_name(name.p, name.n) ? onnx_sym(r, name) : 0,
        own = var_name(r->g, v);
    if (is_free_label(r, given)) return given;
    return is_free_label(r, own) ? own : onnx_free_name(r, name, "output");
}

static bool is_listed_before(const OnnxGraph *g, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (onnx_text_equal(g->output.p[k].name, g->output.p[i].name)) return true;
    return false;
}

static bool add_output(OnnxReading *r, const OnnxScope *x, size_t i, Var v) {
    ProtoText name = x->graph->output.p[i].name;
    Sym own = var_name(r->g, v), given = onnx_sym(r, name);
    bool taken = graph_output(r->g, given) != VAR_NONE ||
                 (own && graph_output(r->g, own) != VAR_NONE);
    if (taken && is_listed_before(x->graph, i))
        return fail(r->s, NOWHERE, E_FORMAT, "%s: the output '%s' is listed twice",
                    r->in->name, onnx_text(r, name));
    Output o = {output_label(r, name, v), v};
    vec_push(r->s, &r->g->outputs, o);
    return true;
}

/* An empty list has the items that the file says. */
static bool output_variable(OnnxReading *r, const OnnxValue *v, const Node *n,
                            Var *out) {
    const Type *t = NULL;
    if (onnx_is_list(n) && n->n == 0) {
        const char *what = arena_printf(r->a, "the output '%s'", onnx_text(r, v->name));
        if (!(t = onnx_type(r, v->type, what))) return false;
    }
    return onnx_variable(r->c, n, t && t->kind == TYPE_LIST ? t->elem : NULL, out);
}

static bool add_outputs(OnnxReading *r, OnnxScope *x) {
    for (size_t i = 0; i < x->graph->output.n; i++) {
        const OnnxValue *v = &x->graph->output.p[i];
        Node n;
        Var var;
        if (!onnx_lookup(r, x, v->name, &n) || !output_variable(r, v, &n, &var) ||
            !check_declared(r, v, var) || !add_output(r, x, i, var))
            return false;
    }
    return true;
}

/* ---- graphs in attributes ---- */

typedef struct OnnxClosure {
    OnnxReading *r;
    const OnnxScope *up;
    const OnnxGraph *graph;
} OnnxClosure;

static bool bind_arguments(OnnxReading *r, OnnxScope *x, const Arguments *args) {
    if (args->n != x->graph->input.n)
        return fail(r->s, NOWHERE, E_ARITY, "%s: the graph '%s' takes %s, not %zu",
                    r->in->name, onnx_text(r, x->graph->name),
                    str_counted(r->s, x->graph->input.n, "input"), args->n);
    for (size_t i = 0; i < args->n; i++)
        onnx_bind(r, x, x->graph->input.p[i].name, args->arg[i]);
    return true;
}

static bool inner_results(OnnxReading *r, OnnxScope *x, Node *out) {
    size_t n = x->graph->output.n;
    Node *item = NEW_N(compiler_arena(r->c), n + 1, Node);
    for (size_t i = 0; i < n; i++)
        if (!onnx_lookup(r, x, x->graph->output.p[i].name, &item[i])) return false;
    return node_tree(r->c, n, item, NULL, NOWHERE, out);
}

static bool apply_inner_graph(Compiler *c, const Node *f, const Arguments *args,
                              Node *out) {
    const OnnxClosure *k = f->data;
    OnnxReading *r = k->r;
    OnnxScope x = *k->up;
    if (r->depth >= ONNX_DEPTH)
        return fail(r->s, NOWHERE, E_LIMIT,
                    "%s: graphs and functions are nested more than %d deep",
                    r->in->name, ONNX_DEPTH);
    x.up = k->up;
    x.graph = k->graph;
    x.frame = c->frame;
    x.named = false;
    x.value = MAP(r->s);
    r->depth++;
    bool ok = bind_arguments(r, &x, args) && add_initializers(r, &x) &&
              onnx_read_nodes(r, &x, k->graph->node.p, k->graph->node.n) &&
              inner_results(r, &x, out);
    r->depth--;
    map_free(&x.value);
    return ok;
}

Node onnx_graph_function(OnnxReading *r, const OnnxScope *x, const OnnxGraph *g) {
    OnnxClosure *k = NEW(r->a, OnnxClosure);
    *k = (OnnxClosure){r, x, g};
    return (Node){
        .kind = NODE_FUNCTION, .var = VAR_NONE, .apply = apply_inner_graph, .data = k};
}

/* ---- the whole ---- */

static bool check_versions(OnnxReading *r) {
    enum { NEWEST_IR = 10 };
    const OnnxModel *m = &r->model;
    if (!m->graph)
        return fail(r->s, NOWHERE, E_FORMAT, "%s: the model has no graph", r->in->name);
    if (m->ir_version > NEWEST_IR)
        warn(r->s, NOWHERE, E_VERSION,
             "%s is of ONNX's ir_version %lld; thunkline knows up to %d", r->in->name,
             (long long)m->ir_version, NEWEST_IR);
    for (size_t i = 0; i < m->opset.n; i++)
        if (m->opset.p[i].domain.n == 0 && m->opset.p[i].version > ONNX_NEWEST_OPSET)
            warn(r->s, NOWHERE, E_VERSION,
                 "%s is of ONNX's opset %lld; thunkline knows up to %d", r->in->name,
                 (long long)m->opset.p[i].version, ONNX_NEWEST_OPSET);
    return true;
}

static void add_functions(OnnxReading *r) {
    for (size_t i = 0; i < r->model.function.n; i++) {
        const OnnxFunction *f = &r->model.function.p[i];
        map_put(&r->functions, onnx_op_key(r->s, f->domain, f->name), (uintptr_t)f);
    }
}

static void read_head(OnnxReading *r) {
    Graph *g = r->g;
    ProtoText name = r->model.graph->name,
              doc = r->model.doc.n ? r->model.doc : r->model.graph->doc;
    if (name.n && io_is_label(name.p, name.n)) g->name = onnx_sym(r, name);
    if (doc.n && str_is_utf8(doc.p, doc.n)) g->doc = arena_str(g->arena, doc.p, doc.n);
    g->floatX = r->o->floatX;
}

static bool read_into_graph(OnnxReading *r) {
    if (!onnx_read_model(r->s, r->a, r->in->name, r->in->p, r->in->n, &r->model) ||
        !check_versions(r))
        return false;
    OnnxScope x = {.graph = r->model.graph,
                   .opset = r->model.opset.p,
                   .nopset = r->model.opset.n,
                   .frame = r->c->frame,
                   .named = true,
                   .value = MAP(r->s)};
    read_head(r);
    add_functions(r);
    mark_uses(r, &x, x.graph, 0);
    bool ok = add_inputs(r, &x) && add_initializers(r, &x) &&
              onnx_read_nodes(r, &x, x.graph->node.p, x.graph->node.n) &&
              add_outputs(r, &x);
    map_free(&x.value);
    if (ok) rowwise_settle(r->g);
    if (ok) lazy_scope_keep_all(r->g);
    if (ok) graph_sweep(r->g);
    return ok;
}

Graph *onnx_read(Session *s, Input *in, const char *folder, const ReadOptions *o) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    OnnxReading r = {.s = s, .in = in, .o = o, .g = g};
    r.files = (DataFiles){.s = s, .folder = folder};
    r.a = arena_new(s);
    file_mapped_lend(s, in->p);
    r.c = compiler_new(&b);
    r.rows = onnx_rows_new(s, r.a, onnx_texts);
    r.functions = r.uses = MAP(s);
    onnx_bind_functions(r.c, r.a, &r.helpers);
    bool ok = read_into_graph(&r);
    data_files_close(&r.files);
    onnx_rows_free(r.rows);
    map_free(&r.functions);
    map_free(&r.uses);
    compiler_free(r.c);
    arena_free(r.a);
    if (ok) return g;
    graph_free(g);
    return NULL;
}
