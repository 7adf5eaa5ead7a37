/* A node: by its row, or as a function of the model. */
#include "io/onnx/onnx_impl.h"

/* ---- by a row ---- */

static bool note_node(OnnxReading *r, const OnnxNode *n) {
    return note(r->s, NOWHERE, "in %s of %s", onnx_node_text(r, n), r->in->name);
}

static bool fail_unknown_value(OnnxReading *r, const OnnxRow *row, const OnnxParam *p) {
    fail(r->s, NOWHERE, E_ARG,
         "%s: the input %s of %s must be known when the graph is read, and this "
         "is known "
         "when it runs",
         r->in->name, sym_text(r->s, p->name), row->op);
    return hint(r->s, HINT_FIX_INPUT);
}

static bool bind_input(OnnxReading *r, OnnxScope *x, const OnnxRow *row,
                       const OnnxParam *p, ProtoText name, Node *out) {
    bool known = false;
    if (name.n == 0) {
        *out = (Node){.kind = NODE_NONE, .var = VAR_NONE};
        return p->optional ||
               fail(r->s, NOWHERE, E_ARITY, "%s: the input %s of %s is missing",
                    r->in->name, sym_text(r->s, p->name), row->op);
    }
    if (!onnx_lookup(r, x, name, out)) return false;
    if (onnx_is_nothing(out) && !p->optional)
        return fail(r->s, NOWHERE, E_ARG,
                    "%s: the input %s of %s is an optional value that isn't there",
                    r->in->name, sym_text(r->s, p->name), row->op);
    if (!p->known && !p->maybe) return true;
    return onnx_make_known(r->c, out, &known) &&
           (known || !p->known || fail_unknown_value(r, row, p));
}

static bool bind_rest(OnnxReading *r, OnnxScope *x, const OnnxNode *n, size_t first,
                      Node *out) {
    size_t count = n->input.n > first ? n->input.n - first : 0;
    Node *item = NEW_N(compiler_arena(r->c), count + 1, Node);
    for (size_t i = 0; i < count; i++) {
        ProtoText name = n->input.p[first + i];
        item[i] = (Node){.kind = NODE_NONE, .var = VAR_NONE};
        if (name.n && !onnx_lookup(r, x, name, &item[i])) return false;
    }
    return node_tree(r->c, count, item, NULL, NOWHERE, out);
}

static bool bind_inputs(OnnxReading *r, OnnxScope *x, const OnnxNode *n,
                        const OnnxRow *row, BoundNames *names) {
    bool rest = row->nparam && row->param[row->nparam - 1].rest;
    if (n->input.n > row->nparam && !rest)
        return fail(r->s, NOWHERE, E_ARITY, "%s: %s takes %s, not %zu", r->in->name,
                    row->op, str_counted(r->s, row->nparam, "input"), n->input.n);
    for (size_t i = 0; i < row->nparam; i++) {
        const OnnxParam *p = &row->param[i];
        ProtoText name = i < n->input.n ? n->input.p[i] : (ProtoText){0};
        Node v;
        if (p->rest ? !bind_rest(r, x, n, i, &v) : !bind_input(r, x, row, p, name, &v))
            return false;
        bound_names_add(r->a, names, p->name, v);
    }
    return true;
}

/* An attribute that the row doesn't know would be ignored without a word. Up to opset
 * 5, consumed_inputs said what might be overwritten. */
static bool check_attributes(OnnxReading *r, const OnnxScope *x, const OnnxNode *n,
                             const OnnxRow *row) {
    for (size_t i = 0; i < n->attribute.n; i++) {
        Sym name = onnx_sym(r, n->attribute.p[i].name);
        bool known = onnx_opset(x, n->domain) < 6 &&
                     proto_text_is(n->attribute.p[i].name, "consumed_inputs");
        for (size_t k = 0; k < row->nattribute; k++)
            known |= row->attribute[k].name == name;
        if (!known)
            return fail(r->s, NOWHERE, E_ARG,
                        "%s: %s has no attribute '%s' that thunkline knows",
                        r->in->name, row->op, onnx_text(r, n->attribute.p[i].name));
    }
    return true;
}

static bool bind_attributes(OnnxReading *r, OnnxScope *x, const OnnxNode *n,
                            const OnnxRow *row, BoundNames *names) {
    if (!check_attributes(r, x, n, row)) return false;
    for (size_t i = 0; i < row->nattribute; i++) {
        const OnnxDefault *d = &row->attribute[i];
        const OnnxAttribute *a = onnx_attribute(x, n, sym_text(r->s, d->name));
        Node v;
        if (a ? !onnx_attribute_node(r, x, a, &v)
              : !bound_names_compile(r->c, d->value, names, true, &v))
            return false;
        bound_names_add(r->a, names, d->name, v);
    }
    return true;
}

bool onnx_define_line(Compiler *c, Arena *a, const Ast *line, BoundNames *names) {
    size_t targets = line->nkid - 1;
    Node v;
    if (!bound_names_compile(c, line->kid[targets], names, true, &v)) return false;
    if (targets == 1) {
        bound_names_add(a, names, line->kid[0]->sym, v);
        return true;
    }
    if (v.kind != NODE_LIST || v.n < targets)
        return fail(c->s, line->at, E_ARITY,
                    "the right side has fewer parts than the left");
    for (size_t i = 0; i < targets; i++)
        bound_names_add(a, names, line->kid[i]->sym, v.item[i]);
    return true;
}

static bool bind_output(OnnxReading *r, OnnxScope *x, const OnnxNode *n, size_t i,
                        const Node *v) {
    Var var;
    if (n->output.p[i].n == 0) return true;
    if (v && (onnx_is_list(v) || onnx_is_nothing(v)))
        return onnx_bind(r, x, n->output.p[i], *v), true;
    if (!v || v->kind == NODE_NONE)
        return fail(r->s, NOWHERE, E_ARG,
                    "%s: thunkline does not make output %zu of %s", r->in->name, i + 1,
                    onnx_text(r, n->op));
    if (!compiler_var(r->c, v, DT_NONE, &var)) return false;
    onnx_bind(r, x, n->output.p[i], node_var(var, NOWHERE));
    return true;
}

static bool bind_outputs(OnnxReading *r, OnnxScope *x, const OnnxNode *n,
                         const OnnxRow *row, const BoundNames *names) {
    size_t plain = row->nout - row->rest_out;
    for (size_t i = 0; i < n->output.n; i++) {
        const Node *v = i < plain ? bound_names_find(names, row->out[i]) : NULL;
        if (i >= plain && row->rest_out) {
            v = bound_names_find(names, row->out[plain]);
            bool has = v && v->kind == NODE_LIST && i - plain < v->n;
            v = has                                      ? &v->item[i - plain]
                : v && v->kind == NODE_VAR && i == plain ? v
                                                         : NULL;
        }
        if (!bind_output(r, x, n, i, v)) return false;
    }
    return true;
}

static size_t count_targets(const OnnxRow *row) {
    size_t n = 0;
    for (size_t i = 0; i < row->nline; i++)
        n += row->line[i]->nkid - 1;
    return n;
}

bool onnx_apply_row(OnnxReading *r, OnnxScope *x, const OnnxNode *n,
                    const OnnxRow *row) {
    enum { MORE = 2 }; /* opset, outputs */
    BoundNames names;
    bound_names_open(r->c, r->a, &names,
                     row->nparam + row->nattribute + count_targets(row) + MORE,
                     &r->helpers);
    bound_names_add(r->a, &names, sym(r->s, "opset"),
                    node_literal(literal_int(onnx_opset(x, n->domain)), NOWHERE));
    bound_names_add(r->a, &names, sym(r->s, "noutputs"),
                    node_literal(literal_int((int64_t)n->output.n), NOWHERE));
    bool ok =
        bind_inputs(r, x, n, row, &names) && bind_attributes(r, x, n, row, &names);
    for (size_t i = 0; ok && i < row->nline; i++)
        ok = onnx_define_line(r->c, r->a, row->line[i], &names);
    return ok && bind_outputs(r, x, n, row, &names);
}

/* ---- as a function of the model ---- */

static bool bind_function_inputs(OnnxReading *r, OnnxScope *x, OnnxScope *body) {
    const OnnxFunction *f = body->function;
    const OnnxNode *n = body->call;
    for (size_t i = 0; i < f->input.n; i++) {
        Node v = {.kind = NODE_NONE, .var = VAR_NONE};
        if (i < n->input.n && n->input.p[i].n && !onnx_lookup(r, x, n->input.p[i], &v))
            return false;
        onnx_bind(r, body, f->input.p[i], v);
    }
    return true;
}

static bool bind_function_outputs(OnnxReading *r, OnnxScope *x, OnnxScope *body) {
    for (size_t i = 0; i < body->call->output.n; i++) {
        Node v;
        if (body->call->output.p[i].n == 0) continue;
        if (i >= body->function->output.n)
            return fail(r->s, NOWHERE, E_ARITY, "%s: the function has %s", r->in->name,
                        str_counted(r->s, body->function->output.n, "output"));
        if (!onnx_lookup(r, body, body->function->output.p[i], &v)) return false;
        onnx_bind(r, x, body->call->output.p[i], v);
    }
    return true;
}

static bool apply_function(OnnxReading *r, OnnxScope *x, const OnnxNode *n,
                           const OnnxFunction *f) {
    OnnxScope body = {
        .of = x, .call = n, .function = f, .frame = r->c->frame, .value = MAP(r->s)};
    body.opset = f->opset.n ? f->opset.p : x->opset;
    body.nopset = f->opset.n ? f->opset.n : x->nopset;
    if (r->depth >= ONNX_DEPTH)
        return fail(r->s, NOWHERE, E_LIMIT,
                    "%s: graphs and functions are nested more than %d deep",
                    r->in->name, ONNX_DEPTH);
    r->depth++;
    bool ok = bind_function_inputs(r, x, &body) &&
              onnx_read_nodes(r, &body, f->node.p, f->node.n) &&
              bind_function_outputs(r, x, &body);
    r->depth--;
    map_free(&body.value);
    return ok;
}

/* ---- nodes ---- */

static bool fail_unknown_op(OnnxReading *r, OnnxScope *x, const OnnxNode *n) {
    int64_t from, to;
    const char *op = onnx_text(r, n->op),
               *domain = n->domain.n ? onnx_text(r, n->domain) : "ai.onnx";
    int64_t opset = onnx_opset(x, n->domain);
    if (onnx_row_versions(r->rows, n->domain, n->op, &from, &to))
        return fail(r->s, NOWHERE, E_VERSION,
                    "%s: thunkline reads %s from opset %lld on, but the file is of "
                    "opset %lld of %s",
                    r->in->name, op, (long long)from, (long long)opset, domain);
    fail(r->s, NOWHERE, E_NAME,
         "%s: thunkline has no op %s of the domain %s (opset %lld)", r->in->name, op,
         domain, (long long)opset);
    return hint(r->s, HINT_ONNX_INFO);
}

static bool read_node(OnnxReading *r, OnnxScope *x, const OnnxNode *n) {
    uint64_t f;
    if (r->depth && ++r->inner > ONNX_INNER_NODES)
        return fail(r->s, NOWHERE, E_LIMIT,
                    "%s: its functions and inner graphs come to more than %d nodes",
                    r->in->name, ONNX_INNER_NODES);
    if (map_get(&r->functions, onnx_op_key(r->s, n->domain, n->op), &f))
        return apply_function(r, x, n, (const OnnxFunction *)(uintptr_t)f);
    const OnnxRow *row = onnx_row(r->rows, n->domain, n->op, onnx_opset(x, n->domain));
    return row ? onnx_apply_row(r, x, n, row) : fail_unknown_op(r, x, n);
}

bool onnx_read_nodes(OnnxReading *r, OnnxScope *x, const OnnxNode *node, size_t n) {
    for (size_t i = 0; i < n; i++) {
        Builder *b = r->c->b;
        Origin outer = b->from;
        if (!b->from.rule) b->from.rule = sym(r->s, onnx_node_text(r, &node[i]));
        bool ok = read_node(r, x, &node[i]);
        b->from = outer;
        if (!ok && r->depth <= 1) note_node(r, &node[i]);
        if (!ok) return false;
    }
    return true;
}
