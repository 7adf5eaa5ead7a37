/* The messages of onnx.proto that are written: nodes, graphs, types, tensors. */
#include "io/onnx/write_impl.h"

#include <stdio.h>

OutName *out_name(OnnxWriting *w) {
    return NEW(w->a, OutName);
}

OutGraph *out_graph(OnnxWriting *w, const char *name) {
    OutGraph *g = NEW(w->a, OutGraph);
    g->name = name;
    g->initializer = proto_out(w->a);
    vec_push(w->s, &w->graphs, g);
    return g;
}

OutRegion *out_region(OnnxWriting *w, OutRegion *up, OutGraph *g) {
    OutRegion *r = NEW(w->a, OutRegion);
    *r = (OutRegion){up, g, MAP(w->s)};
    vec_push(w->s, &w->regions, r);
    return r;
}

OutNode *out_node(OnnxWriting *w, const char *op, size_t nin, size_t nout) {
    OutNode *n = NEW(w->a, OutNode);
    n->op = op;
    n->nin = nin;
    n->nout = nout;
    n->in = NEW_N(w->a, nin + 1, OutName *);
    n->out = NEW_N(w->a, nout + 1, OutName *);
    for (size_t i = 0; i < nout; i++)
        n->out[i] = out_name(w);
    n->attribute = proto_out(w->a);
    return n;
}

void out_append(OnnxWriting *w, OutNode *n) {
    vec_push(w->s, &w->frame->region->out->node, n);
}

OutName *out_call(OnnxWriting *w, const char *op, size_t nin, OutName *const *in) {
    OutNode *n = out_node(w, op, nin, 1);
    memcpy(n->in, in, nin * sizeof *in);
    out_append(w, n);
    return n->out[0];
}

/* ---- attributes ---- */

enum {
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I,
    ATTRIBUTE_S,
    ATTRIBUTE_T,
    ATTRIBUTE_G,
    ATTRIBUTE_FLOATS,
    ATTRIBUTE_INTS,
    ATTRIBUTE_TYPE = 20
};

static ProtoOut open_attribute(const OutNode *n, const char *name, int64_t type) {
    ProtoOut m = proto_out(n->attribute.a);
    proto_put_text(&m, 1, name);
    proto_put_int(&m, ATTRIBUTE_TYPE, type);
    return m;
}

void out_attribute_int(OutNode *n, const char *name, int64_t v) {
    ProtoOut m = open_attribute(n, name, ONNX_INT);
    proto_put_int(&m, ATTRIBUTE_I, v);
    proto_put_message(&n->attribute, NODE_ATTRIBUTE, &m);
}

void out_attribute_float(OutNode *n, const char *name, double v) {
    ProtoOut m = open_attribute(n, name, ONNX_FLOAT);
    proto_put_float(&m, ATTRIBUTE_F, (float)v);
    proto_put_message(&n->attribute, NODE_ATTRIBUTE, &m);
}

void out_attribute_text(OutNode *n, const char *name, const char *text) {
    ProtoOut m = open_attribute(n, name, ONNX_STRING);
    proto_put_text(&m, ATTRIBUTE_S, text);
    proto_put_message(&n->attribute, NODE_ATTRIBUTE, &m);
}

void out_attribute_ints(OutNode *n, const char *name, size_t count, const int64_t *v) {
    ProtoOut m = open_attribute(n, name, ONNX_INTS);
    for (size_t i = 0; i < count; i++)
        proto_put_int(&m, ATTRIBUTE_INTS, v[i]);
    proto_put_message(&n->attribute, NODE_ATTRIBUTE, &m);
}

void out_attribute_floats(OutNode *n, const char *name, size_t count, const double *v) {
    ProtoOut m = open_attribute(n, name, ONNX_FLOATS);
    for (size_t i = 0; i < count; i++)
        proto_put_float(&m, ATTRIBUTE_FLOATS, (float)v[i]);
    proto_put_message(&n->attribute, NODE_ATTRIBUTE, &m);
}

/* ---- tensors ---- */

/* The elements in order; false: E_MEM. */
static bool in_order(OnnxWriting *w, const Tensor *t, Tensor *out) {
    *out = *t;
    if (tensor_is_contiguous(t)) return true;
    if (!tensor_clone(w->s, t, out)) return false;
    vec_push(w->s, &w->copies, *out);
    return true;
}

static ProtoOut tensor_message(OnnxWriting *w, const char *name, const Tensor *t) {
    ProtoOut m = proto_out(w->a);
    for (int i = 0; i < t->ndim; i++)
        proto_put_int(&m, 1, t->shape[i]);
    proto_put_int(&m, 2, onnx_dtype_code(t->dtype));
    if (name) proto_put_text(&m, 8, name);
    proto_put_bytes(&m, 9, t->data, tensor_bytes(t));
    return m;
}

bool out_initializer(OnnxWriting *w, OutGraph *g, OutName *name, const Tensor *t) {
    Tensor v;
    if (!in_order(w, t, &v)) return false;
    ProtoOut m = tensor_message(w, name->name, &v);
    proto_put_message(&g->initializer, 5, &m);
    return true;
}

/* The bytes of a constant are kept until the model is written: small ones are copied
 * into the message. */
OutName *out_constant(OnnxWriting *w, const Tensor *t) {
    Tensor v;
    if (!in_order(w, t, &v)) return NULL;
    OutRegion *at = w->frame->region;
    OutNode *n = out_node(w, "Constant", 0, 1);
    ProtoOut m = open_attribute(n, "value", ONNX_TENSOR),
             value = tensor_message(w, NULL, &v);
    proto_put_message(&m, ATTRIBUTE_T, &value);
    proto_put_message(&n->attribute, NODE_ATTRIBUTE, &m);
    w->frame->region = w->frame->root;
    out_append(w, n);
    w->frame->region = at;
    return n->out[0];
}

OutName *out_ints(OnnxWriting *w, int ndim, size_t n, const int64_t *v) {
    Tensor t = {.dtype = DT_INT64,
                .ndim = ndim,
                .data = arena_copy(w->a, v, n * sizeof *v),
                .shape = {(int64_t)n},
                .stride = {sizeof *v}};
    return out_constant(w, &t);
}

/* ---- types ---- */

static bool has_type(const Type *t) {
    return t->kind == TYPE_LIST     ? has_type(t->elem)
           : t->kind == TYPE_TENSOR ? onnx_dtype_code(t->dtype) != 0
                                    : false;
}

bool out_check_type(OnnxWriting *w, const Type *t, const char *what) {
    return has_type(t) ||
           fail(w->s, NOWHERE, E_TYPE, "%s is %s, a type that ONNX does not have", what,
                type_str(w->s, t));
}

static ProtoOut shape_message(OnnxWriting *w, const Type *t) {
    ProtoOut m = proto_out(w->a);
    for (int i = 0; i < t->ndim; i++) {
        ProtoOut dim = proto_out(w->a);
        if (dim_is_known(t->dim[i])) proto_put_int(&dim, 1, t->dim[i]);
        if (dim_is_named(t->dim[i]))
            proto_put_text(&dim, 2, sym_text(w->s, dim_sym(t->dim[i])));
        proto_put_message(&m, 1, &dim);
    }
    return m;
}

static ProtoOut type_message(OnnxWriting *w, const Type *t) {
    ProtoOut m = proto_out(w->a), inner = proto_out(w->a);
    if (t->kind == TYPE_LIST) {
        ProtoOut elem = type_message(w, t->elem);
        proto_put_message(&inner, 1, &elem);
        proto_put_message(&m, 4, &inner);
        return m;
    }
    ProtoOut shape = shape_message(w, t);
    proto_put_int(&inner, 1, onnx_dtype_code(t->dtype));
    proto_put_message(&inner, 2, &shape);
    proto_put_message(&m, 1, &inner);
    return m;
}

static void put_value(OnnxWriting *w, ProtoOut *m, uint32_t number, const OutValue *v) {
    ProtoOut value = proto_out(w->a), type = type_message(w, v->type);
    proto_put_text(&value, 1, v->name->name);
    proto_put_message(&value, 2, &type);
    proto_put_message(m, number, &value);
}

/* ---- what is needed, and names ---- */

static void need_graph(OutGraph *g);

static void need_node(OutNode *n) {
    for (size_t i = 0; i < n->nout; i++)
        n->needed |= n->out[i]->needed;
    if (!n->needed) return;
    for (size_t i = 0; i < n->nin; i++)
        if (n->in[i]) n->in[i]->needed = true;
    for (size_t i = 0; i < n->nsub; i++)
        need_graph(n->sub[i].graph);
}

static void need_graph(OutGraph *g) {
    for (size_t i = 0; i < g->output.n; i++)
        g->output.p[i].name->needed = true;
    for (size_t i = g->node.n; i-- > 0;)
        need_node(g->node.p[i]);
}

static void give_name(OnnxWriting *w, OutName *n, uint64_t *count) {
    char text[32];
    if (n->name) return;
    do
        snprintf(text, sizeof text, "v%llu", (unsigned long long)++*count);
    while (map_get(&w->taken, sym(w->s, text), NULL));
    n->name = sym_text(w->s, sym(w->s, text));
}

static void give_names(OnnxWriting *w, OutGraph *g, uint64_t *count) {
    for (size_t i = 0; i < g->input.n; i++)
        give_name(w, g->input.p[i].name, count);
    for (size_t i = 0; i < g->node.n; i++) {
        OutNode *n = g->node.p[i];
        if (!n->needed) continue;
        for (size_t k = 0; k < n->nsub; k++)
            give_names(w, n->sub[k].graph, count);
        for (size_t k = 0; k < n->nout; k++)
            give_name(w, n->out[k], count);
    }
}

/* ---- graphs ---- */

static ProtoOut graph_message(OnnxWriting *w, const OutGraph *g);

static void put_node(OnnxWriting *w, ProtoOut *m, const OutNode *n) {
    ProtoOut node = proto_out(w->a);
    for (size_t i = 0; i < n->nin; i++)
        proto_put_text(&node, 1, n->in[i] ? n->in[i]->name : "");
    for (size_t i = 0; i < n->nout; i++)
        proto_put_text(&node, 2, n->out[i]->name);
    proto_put_text(&node, 3, n->out[0]->name);
    proto_put_text(&node, 4, n->op);
    proto_append(&node, &n->attribute);
    for (size_t i = 0; i < n->nsub; i++) {
        ProtoOut a = open_attribute(n, n->sub[i].attribute, ONNX_GRAPH),
                 inner = graph_message(w, n->sub[i].graph);
        proto_put_message(&a, ATTRIBUTE_G, &inner);
        proto_put_message(&node, NODE_ATTRIBUTE, &a);
    }
    proto_put_message(m, 1, &node);
}

static ProtoOut graph_message(OnnxWriting *w, const OutGraph *g) {
    ProtoOut m = proto_out(w->a);
    for (size_t i = 0; i < g->node.n; i++)
        if (g->node.p[i]->needed) put_node(w, &m, g->node.p[i]);
    proto_put_text(&m, 2, g->name);
    proto_append(&m, &g->initializer);
    if (g->doc) proto_put_text(&m, 10, g->doc);
    for (size_t i = 0; i < g->input.n; i++)
        put_value(w, &m, 11, &g->input.p[i]);
    for (size_t i = 0; i < g->output.n; i++)
        put_value(w, &m, 12, &g->output.p[i]);
    return m;
}

/* The version of the format that came with an opset. */
static int64_t ir_version(int64_t opset) {
    return opset <= 18 ? 8 : opset <= 20 ? 9 : 10;
}

void out_model(OnnxWriting *w, OutGraph *g, ProtoOut *out) {
    uint64_t count = 0;
    need_graph(g);
    give_names(w, g, &count);
    ProtoOut graph = graph_message(w, g), opset = proto_out(w->a);
    proto_put_text(&opset, 1, "");
    proto_put_int(&opset, 2, w->opset);
    proto_put_int(out, 1, ir_version(w->opset));
    proto_put_text(out, 2, "thunkline");
    proto_put_text(out, 3, TL_VERSION);
    proto_put_message(out, 7, &graph);
    proto_put_message(out, 8, &opset);
}
