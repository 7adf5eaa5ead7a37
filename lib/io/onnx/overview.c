/* Counts the nodes of a model by op, with those of graphs in attributes. */
#include "io/onnx/onnx_impl.h"
#include "value/file/file.h"

typedef struct Counting {
    Session *s;
    OnnxRows *rows;
    OnnxModel m;
    Map at; /* name -> index + 1 in op */
    Vec(ModelOp) op;
    ModelOverview *out;
} Counting;

static bool has_function(const OnnxModel *m, const OnnxNode *n) {
    for (size_t i = 0; i < m->function.n; i++)
        if (onnx_text_equal(m->function.p[i].name, n->op) &&
            onnx_text_equal(m->function.p[i].domain, n->domain))
            return true;
    return false;
}

static void count_node(Counting *k, const OnnxNode *n) {
    Str name = STR(k->s);
    uint64_t i;
    if (n->domain.n) str_add(&name, n->domain.p, n->domain.n);
    if (n->domain.n) str_putc(&name, '.');
    str_add(&name, n->op.p ? n->op.p : "", n->op.n);
    Sym y = sym_n(k->s, name.p, name.n);
    if (!map_get(&k->at, y, &i)) {
        OnnxScope x = {.opset = k->m.opset.p, .nopset = k->m.opset.n};
        ModelOp op = {.name = arena_str(k->out->a, name.p, name.n)};
        op.known = has_function(&k->m, n) ||
                   onnx_row(k->rows, n->domain, n->op, onnx_opset(&x, n->domain));
        vec_push(k->s, &k->op, op);
        map_put(&k->at, y, i = k->op.n);
    }
    k->op.p[i - 1].count++;
    str_free(&name);
}

static void count_nodes(Counting *k, const OnnxNode *node, size_t n, int depth) {
    for (size_t i = 0; i < n; i++) {
        count_node(k, &node[i]);
        for (size_t j = 0; j < node[i].attribute.n && depth < ONNX_DEPTH; j++) {
            const OnnxGraph *g = node[i].attribute.p[j].g;
            if (g) count_nodes(k, g->node.p, g->node.n, depth + 1);
        }
    }
}

static void count_weights(const OnnxGraph *g, ModelOverview *out) {
    out->nweight = g->initializer.n;
    for (size_t i = 0; i < g->initializer.n; i++) {
        const OnnxTensor *t = &g->initializer.p[i];
        const char *name;
        DType d = onnx_dtype(t->dtype, &name);
        int64_t bytes = d == DT_NONE ? 0 : (int64_t)dtype_size(d);
        for (size_t k = 0; k < t->dims.n; k++)
            if (!i64_mul(bytes, t->dims.p[k], &bytes)) bytes = 0;
        out->weight_bytes += bytes > 0 ? (uint64_t)bytes : 0;
    }
}

static bool look_at(Session *s, Input *in, ModelOverview *out) {
    Counting k = {
        .s = s, .rows = onnx_rows_new(s, out->a, onnx_texts), .at = MAP(s), .out = out};
    bool ok = onnx_read_model(s, out->a, in->name, in->p, in->n, &k.m) &&
              (k.m.graph ||
               fail(s, NOWHERE, E_FORMAT, "%s: the model has no graph", in->name));
    if (ok) {
        count_nodes(&k, k.m.graph->node.p, k.m.graph->node.n, 0);
        for (size_t i = 0; i < k.m.function.n; i++)
            count_nodes(&k, k.m.function.p[i].node.p, k.m.function.p[i].node.n, 0);
        count_weights(k.m.graph, out);
        ProtoText name = k.m.graph->name, by = k.m.producer;
        out->name = arena_str(out->a, name.p ? name.p : "", name.n);
        out->producer = arena_str(out->a, by.p ? by.p : "", by.n);
        out->ninput = k.m.graph->input.n;
        out->noutput = k.m.graph->output.n;
        out->nop = k.op.n;
        out->op = arena_copy(out->a, k.op.p, k.op.n * sizeof *k.op.p);
        for (size_t i = 0; i < out->nop; i++)
            out->unknown += !out->op[i].known;
    }
    vec_free(&k.op);
    map_free(&k.at);
    onnx_rows_free(k.rows);
    return ok;
}

bool io_model_overview(Session *s, const char *path, bool *is, ModelOverview *out) {
    *is = false;
    *out = (ModelOverview){0};
    if (value_is_stdin(path, strlen(path))) return true;
    size_t mark = diag_count(s);
    Input *in = input_open(s, path, NULL, 0, 0);
    if (!in) return diag_rewind(s, mark), true; /* reading it says why */
    *is = onnx_is_model(in->p, in->n);
    bool ok = true;
    if (*is) out->a = arena_new(s);
    if (*is) ok = look_at(s, in, out);
    input_close(in);
    return ok;
}

void io_model_overview_free(ModelOverview *v) {
    arena_free(v->a);
}
