/* Writes a graph as an ONNX model: inputs and weights, the results with all that they
 * need (write_applies.c), and the bytes (write_model.c). */
#include "io/onnx/write_impl.h"
#include "op/services.h"

/* ---- the interface of the model ---- */

static void take_name(OnnxWriting *w, Var v, OutName *n) {
    Sym name = onnx_model_name(w, w->g, v, var_leafrec(w->g, v)->name);
    n->name = sym_text(w->s, name);
    n->fixed = true;
    map_put(&w->taken, name, 1);
    map_put(&w->frame->root->name, v, (uintptr_t)n);
}

static bool add_input(OnnxWriting *w, OutGraph *out, Var v, OutName *n) {
    const Type *t = var_type(w->g, v);
    const char *what = arena_printf(w->a, "the input '%s'",
                                    sym_text(w->s, var_leafrec(w->g, v)->name));
    if (!out_check_type(w, t, what)) return false;
    vec_push(w->s, &out->input, ((OutValue){n, t}));
    return true;
}

/* The value that it has, or that its initial expression gives. */
static bool shared_value(OnnxWriting *w, Var v, Value *out) {
    const Leaf *l = var_leafrec(w->g, v);
    *out = (Value){0};
    if (l->init != VAR_NONE) return services(w->s)->eval(w->g, 1, &l->init, out);
    if (l->value) value_copy_view(out, l->value);
    return true;
}

/* A weight; one that is updated is an input, too, whose value may be given. */
static bool add_shared(OnnxWriting *w, OutGraph *out, Var v) {
    OutName *n = out_name(w);
    Value value;
    take_name(w, v, n);
    const char *what = arena_printf(w->a, "the shared variable '%s'", n->name);
    if (!out_check_type(w, var_type(w->g, v), what) || !shared_value(w, v, &value))
        return false;
    bool has = value.kind == TYPE_TENSOR && value.t.data, ok = true;
    if (!has || graph_update(w->g, v) != VAR_NONE) ok = add_input(w, out, v, n);
    if (ok && has) ok = out_initializer(w, out, n, &value.t);
    if (has && ok) {
        vec_push(w->s, &w->copies, value.t); /* its bytes are written later */
        return true;
    }
    value_unref(&value);
    return ok;
}

static bool add_dims(OnnxWriting *w, OutGraph *out) {
    VarList dims = graph_free_dims(w->g, w->a);
    for (size_t i = 0; i < dims.n; i++) {
        OutName *n = out_name(w);
        take_name(w, dims.p[i], n);
        if (!add_input(w, out, dims.p[i], n)) return false;
    }
    return true;
}

static bool add_interface(OnnxWriting *w, OutGraph *out) {
    for (size_t i = 0; i < w->g->inputs.n; i++) {
        OutName *n = out_name(w);
        take_name(w, w->g->inputs.p[i], n);
        if (!add_input(w, out, w->g->inputs.p[i], n)) return false;
    }
    for (size_t i = 0; i < w->g->shared.n; i++)
        if (!add_shared(w, out, w->g->shared.p[i])) return false;
    return add_dims(w, out);
}

/* The name of a result, or one like it. */
static Sym free_label(OnnxWriting *w, Sym label) {
    const char *text = sym_text(w->s, label);
    for (int i = 1; map_get(&w->taken, label, NULL); i++)
        label = sym(w->s, arena_printf(w->a, "%s_%d", text, i));
    map_put(&w->taken, label, 1);
    return label;
}

typedef struct Result {
    Sym label;
    Var var;
} Result;

/* A result has its label as a name, where it has no other. */
static bool add_result(OnnxWriting *w, OutGraph *out, const Result *r) {
    const Type *t = var_type(w->g, r->var);
    const char *what = arena_printf(w->a, "the output '%s'", sym_text(w->s, r->label));
    if (!out_check_type(w, t, what)) return false;
    OutName *n = onnx_write_var(w, r->var);
    if (!n) return false;
    const char *label = sym_text(w->s, r->label);
    if (n->name && strcmp(n->name, label) != 0) {
        n = out_call(w, "Identity", 1, &n);
        n->name = label;
    }
    n->name = label;
    vec_push(w->s, &out->output, ((OutValue){n, t}));
    return true;
}

static bool add_results(OnnxWriting *w, OutGraph *out) {
    size_t n = w->g->outputs.n, nup = w->g->updates.n;
    Result *r = NEW_N(w->a, n + nup + 1, Result);
    for (size_t i = 0; i < n; i++) {
        Output o = w->g->outputs.p[i];
        bool own =
            o.label == var_name(w->g, o.var) && var_owner(w->g, o.var) != APPLY_NONE;
        r[i] =
            (Result){own ? onnx_model_name(w, w->g, o.var, o.label) : o.label, o.var};
    }
    for (size_t i = 0; i < nup; i++) {
        const Update *u = &w->g->updates.p[i];
        uint64_t p = 0;
        map_get(&w->frame->root->name, u->shared, &p);
        const char *name = ((const OutName *)(uintptr_t)p)->name;
        r[n + i] = (Result){sym(w->s, arena_printf(w->a, "%s_new", name)), u->value};
    }
    for (size_t i = 0; i < n + nup; i++) {
        r[i].label = free_label(w, r[i].label);
        bool first = !map_get(&w->label, r[i].var, NULL);
        if (first && var_leaf(w->g, r[i].var) == LEAF_NOT)
            map_put(&w->label, r[i].var, r[i].label);
    }
    for (size_t i = 0; i < n + nup; i++)
        if (!add_result(w, out, &r[i])) return false;
    return true;
}

/* ---- the whole ---- */

static bool check_effects(OnnxWriting *w) {
    if (w->g->effects.n == 0) return true;
    return fail(w->s, w->g->origin[w->g->effects.p[0]].at, E_TYPE,
                "ONNX has no effects, such as %s",
                w->g->apply[w->g->effects.p[0]].op->name);
}

static bool write_graph(OnnxWriting *w, ProtoOut *out) {
    OutGraph *main = out_graph(w, w->g->name ? sym_text(w->s, w->g->name) : "graph");
    OutFrame frame;
    main->doc = w->g->doc;
    if (!check_effects(w)) return false;
    onnx_open_frame(w, &frame, w->g, main);
    bool ok = add_interface(w, main) && add_results(w, main);
    while (w->frame)
        onnx_close_frame(w);
    if (ok) out_model(w, main, out);
    return ok;
}

static void close_writing(OnnxWriting *w) {
    for (size_t i = 0; i < w->regions.n; i++)
        map_free(&w->regions.p[i]->name);
    for (size_t i = 0; i < w->graphs.n; i++) {
        vec_free(&w->graphs.p[i]->node);
        vec_free(&w->graphs.p[i]->input);
        vec_free(&w->graphs.p[i]->output);
    }
    for (size_t i = 0; i < w->copies.n; i++)
        tensor_unref(&w->copies.p[i]);
    vec_free(&w->regions);
    vec_free(&w->graphs);
    vec_free(&w->copies);
    onnx_rows_free(w->rows);
    onnx_rows_free(w->reading);
    Map *maps[] = {&w->turned, &w->accepts, &w->taken, &w->label};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_free(maps[i]);
    graph_free(w->g);
    arena_free(w->a);
}

static bool put_model(Session *s, const ProtoOut *m, Sink *k) {
    if (m->n > PROTO_MOST_BYTES) {
        fail(s, NOWHERE, E_LIMIT,
             "the model would have %llu bytes, and files of ONNX end at 2 GB",
             (unsigned long long)m->n);
        return note(s, NOWHERE, "the form tlg has no such limit");
    }
    for (size_t i = 0; i < m->npiece; i++)
        sink_add(k, m->piece[i].p, m->piece[i].n);
    return true;
}

bool onnx_write(Graph *g, Sink *k, const WriteOptions *o) {
    Session *s = g->s;
    int64_t opset = o->opset ? o->opset : ONNX_OPSET;
    if (opset < ONNX_OLDEST_WRITTEN || opset > ONNX_NEWEST_OPSET)
        return fail(s, NOWHERE, E_VALUE, "opset %lld: models are written for %d to %d",
                    (long long)opset, ONNX_OLDEST_WRITTEN, ONNX_NEWEST_OPSET);
    OnnxWriting w = {.s = s, .a = arena_new(s), .opset = opset};
    w.g = graph_copy(g, ROOTS_RUN | ROOTS_INIT, NULL, true, NULL);
    w.rows = onnx_rows_new(s, w.a, onnx_write_texts);
    w.reading = onnx_rows_new(s, w.a, onnx_texts);
    w.turned = w.accepts = w.taken = w.label = MAP(s);
    onnx_rows_accepts(w.rows, &w.accepts);
    onnx_turn_rows(&w);
    ProtoOut m = proto_out(w.a);
    bool ok = write_graph(&w, &m) && put_model(s, &m, k);
    close_writing(&w);
    return ok;
}
