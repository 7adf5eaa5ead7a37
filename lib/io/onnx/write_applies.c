/* Writes variables and Applies as nodes of a model. A value is written when it is asked
 * for, its inputs first, without recursion over the depth of the graph. */
#include "io/onnx/write_impl.h"
#include "op/services.h"
#include "userop/userop.h"

/* ---- frames, regions, values ---- */

bool onnx_open_frame(OnnxWriting *w, OutFrame *f, Graph *g, OutGraph *out) {
    *f = (OutFrame){.up = w->frame, .g = g, .b = builder(g, true)};
    f->c = compiler_new(&f->b);
    f->root = f->region = out_region(w, NULL, out);
    f->napply = g->napply;
    w->frame = f;
    onnx_bind_write_functions(w, f);
    onnx_place_applies(w, f);
    return true;
}

void onnx_close_frame(OnnxWriting *w) {
    compiler_free(w->frame->c);
    w->frame = w->frame->up;
}

static OutName *written_name(const OutRegion *r, Var v) {
    uint64_t p;
    for (; r; r = r->up)
        if (map_get(&r->name, v, &p)) return (OutName *)(uintptr_t)p;
    return NULL;
}

static bool is_main(const OnnxWriting *w) {
    return !w->frame->up;
}

Sym onnx_model_name(const OnnxWriting *w, const Graph *g, Var v, Sym own) {
    Sym alias = graph_alias_of(g, v);
    return alias && !map_get(&w->taken, alias, NULL) ? alias : own;
}

/* A name of the graph's own, unless another value of the model has it. */
static void name_value(OnnxWriting *w, Var v, OutName *n) {
    uint64_t label;
    const Graph *g = w->frame->g;
    Sym name = map_get(&w->label, v, &label) ? (Sym)label
                                             : onnx_model_name(w, g, v, var_name(g, v));
    if (n->name || !name) return;
    if (!map_get(&w->label, v, NULL) && map_get(&w->taken, name, NULL)) return;
    map_put(&w->taken, name, 1);
    n->name = sym_text(w->s, name);
}

void onnx_set_var(OnnxWriting *w, OutRegion *r, Var v, OutName *name) {
    if (is_main(w)) name_value(w, v, name);
    map_put(&r->name, v, (uintptr_t)name);
}

/* The region of an Apply: where all its readers see it, if we are within; else here. */
static OutRegion *place_of(const OutFrame *f, ApplyId a) {
    OutRegion *home = a < f->napply ? f->home[a] : NULL;
    for (OutRegion *r = f->region; r && home; r = r->up)
        if (r == home) return home;
    return f->region;
}

/* ---- leaves ---- */

/* The size of a dim, as an input or a shared variable shows it. */
static bool write_dim(OnnxWriting *w, Var v, OutName **out) {
    OutFrame *f = w->frame;
    Sym dim = var_leafrec(f->g, v)->name;
    for (uint32_t i = 0; i < f->g->nleaf; i++) {
        Var x = f->g->leaf[i].var;
        LeafKind kind = var_leaf(f->g, x);
        const Type *t = var_type(f->g, x);
        OutName *in[2] = {written_name(f->root, x)};
        if ((kind != LEAF_INPUT && kind != LEAF_SHARED) || !in[0]) continue;
        for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++) {
            if (!dim_is_named(t->dim[k]) || dim_sym(t->dim[k]) != dim) continue;
            OutRegion *at = f->region;
            f->region = f->root;
            in[0] = out_call(w, "Shape", 1, in);
            in[1] = out_ints(w, 0, 1, &(int64_t){k});
            *out = out_call(w, "Gather", 2, in);
            f->region = at;
            return true;
        }
    }
    return fail(w->s, NOWHERE, E_NAME, "no input shows the dim %s",
                sym_text(w->s, dim));
}

static OutName *write_leaf(OnnxWriting *w, Var v) {
    OutFrame *f = w->frame;
    OutName *n = NULL;
    const Tensor *t = var_const(f->g, v);
    if (t && out_check_type(w, var_type(f->g, v), "a constant")) n = out_constant(w, t);
    if (!t && var_leaf(f->g, v) == LEAF_CONST)
        fail(w->s, NOWHERE, E_TYPE, "a constant is %s, a type that ONNX does not have",
             type_str(w->s, var_type(f->g, v)));
    if (var_leaf(f->g, v) == LEAF_DIM && !write_dim(w, v, &n)) return NULL;
    if (n) map_put(&f->root->name, v, (uintptr_t)n);
    return n;
}

/* ---- rows ---- */

static Node prop_node(OnnxWriting *w, Compiler *c, const Prop *p) {
    Node out = {.kind = NODE_NONE, .var = VAR_NONE};
    switch (p->kind) {
    case P_NONE:
        break;
    case P_BOOL:
        return node_literal((Literal){.kind = K_BOOL, .u = p->i != 0}, NOWHERE);
    case P_INT:
        return node_literal(literal_int(p->i), NOWHERE);
    case P_FLOAT:
        return node_literal((Literal){.kind = K_FLOAT, .re = p->f}, NOWHERE);
    case P_DTYPE:
        return (Node){.kind = NODE_DTYPE, .var = VAR_NONE, .dtype = (DType)p->i};
    case P_STR:
    case P_GRAPH:
        return (Node){.kind = NODE_STRING, .var = VAR_NONE, .sym = p->sym};
    case P_INTS: {
        Node *item = NEW_N(w->a, p->ints.n + 1, Node);
        for (size_t i = 0; i < p->ints.n; i++)
            item[i] = node_literal(literal_int(p->ints.p[i]), NOWHERE);
        node_tree(c, p->ints.n, item, NULL, NOWHERE, &out);
        break;
    }
    }
    return out;
}

/* A prop is NAME_text where an input has its name. */
static Sym prop_name(OnnxWriting *w, const Signature *sig, size_t i) {
    Sym name = sig->prop[i].name;
    for (size_t k = 0; k < sig->nin; k++)
        if (sig->in[k].name == name)
            return sym(w->s, arena_printf(w->a, "%s_text", sym_text(w->s, name)));
    return name;
}

/* The inputs by their names in the op's signature, then its props; `self` is the first
 * output, of which a row may ask the type. */
static void bind_apply(OnnxWriting *w, ApplyId a, BoundNames *names) {
    OutFrame *f = w->frame;
    const Apply ap = f->g->apply[a];
    const Signature *sig = op_signature(w->s, ap.op);
    const Var *in = apply_in(f->g, a);
    size_t fixed = signature_fixed(sig);
    for (size_t i = 0; i < sig->nin; i++) {
        Node v = {.kind = NODE_NONE, .var = VAR_NONE};
        if (i < fixed && i < ap.nin) v = node_var(in[i], NOWHERE);
        if (i >= fixed) {
            size_t n = ap.nin > fixed ? ap.nin - fixed : 0;
            Node *item = NEW_N(w->a, n + 1, Node);
            for (size_t k = 0; k < n; k++)
                item[k] = node_var(in[fixed + k], NOWHERE);
            node_tree(f->c, n, item, NULL, NOWHERE, &v);
        }
        bound_names_add(w->a, names, sig->in[i].name, v);
    }
    for (size_t i = 0; i < sig->nprop; i++)
        bound_names_add(w->a, names, prop_name(w, sig, i),
                        prop_node(w, f->c, &ap.props->p[i]));
    bound_names_add(w->a, names, sym(w->s, "self"), node_var(ap.out, NOWHERE));
    bound_names_add(w->a, names, sym(w->s, "nout"),
                    node_literal(literal_int(ap.nout), NOWHERE));
}

static void bind_calls(OnnxWriting *w, const OnnxRow *row, BoundNames *names) {
    for (size_t i = 0; i < row->ncall; i++)
        bound_names_add(w->a, names, row->call[i],
                        (Node){.kind = NODE_FUNCTION,
                               .var = VAR_NONE,
                               .sym = row->call[i],
                               .apply = onnx_call_node,
                               .data = w});
}

/* Where only numbers decided the dtype of an expression, it is cast. */
static bool set_output(OnnxWriting *w, Var v, const Node *n) {
    OutFrame *f = w->frame;
    Node cast = n ? *n : (Node){.kind = NODE_NONE};
    const Type *want = var_type(f->g, v);
    if (cast.kind == NODE_LITERAL && !node_to_dtype(f->c, n, want->dtype, &cast.var))
        return false;
    if (cast.kind == NODE_LITERAL) cast.kind = NODE_VAR;
    if (cast.kind == NODE_VAR && want->kind == TYPE_TENSOR &&
        (cast.var = op_cast_to(&f->b, cast.var, want->dtype)) == VAR_NONE)
        return false;
    OutName *value = onnx_node_value(w, &cast);
    if (!value) return false;
    onnx_set_var(w, w->frame->region, v, value);
    return true;
}

/* Names of outputs as the row has them, or r: then a list, where there are several. */
static bool set_outputs(OnnxWriting *w, ApplyId a, const BoundNames *names) {
    const Apply ap = w->frame->g->apply[a];
    const Signature *sig = op_signature(w->s, ap.op);
    const Node *r = bound_names_find(names, sym(w->s, "r"));
    for (size_t i = 0; i < ap.nout; i++) {
        const Node *n = r                     ? r
                        : i < sig->nout && !r ? bound_names_find(names, sig->out[i])
                                              : NULL;
        if (r && r->kind == NODE_LIST && i < r->n) n = &r->item[i];
        if (!set_output(w, ap.out + (Var)i, n)) return false;
    }
    return true;
}

static bool write_by_row(OnnxWriting *w, ApplyId a, const OnnxRow *row) {
    enum { MORE = 2 };
    BoundNames names;
    OutFrame *f = w->frame;
    const Signature *sig = op_signature(w->s, f->g->apply[a].op);
    size_t room = sig->nin + sig->nprop + row->ncall + MORE;
    for (size_t i = 0; i < row->nline; i++)
        room += row->line[i]->nkid;
    bound_names_open(f->c, w->a, &names, room, &f->helpers);
    bind_apply(w, a, &names);
    bind_calls(w, row, &names);
    for (size_t i = 0; i < row->nline; i++)
        if (!onnx_define_line(f->c, w->a, row->line[i], &names)) return false;
    return set_outputs(w, a, &names);
}

/* ---- rows of the reader, from right to left ---- */

static const Op *op_of_ast(OnnxWriting *w, const Ast *e) {
    if (e->kind == AST_CALL) {
        const char *name = sym_text(w->s, e->sym);
        return op_find(w->s, name, strlen(name));
    }
    if (e->kind == AST_BINARY || e->kind == AST_UNARY)
        return infix_op(w->s, infix_of(e->op, e->kind == AST_UNARY));
    return NULL;
}

/* Which input of the row a part of the expression names; -1: it does more. */
static int param_of(const OnnxRow *row, const Ast *e) {
    for (size_t i = 0; e->kind == AST_NAME && i < row->nparam; i++)
        if (row->param[i].name == e->sym && !row->param[i].rest) return (int)i;
    return -1;
}

/* Does a row say only that its op is one of ours, with the same inputs? What has
 * attributes has a row in *.to, which knows their defaults. */
static const Op *op_meant(OnnxWriting *w, const OnnxRow *row) {
    if (row->nline != 1 || row->nout != 1 || row->line[0]->nkid != 2 || row->nattribute)
        return NULL;
    const Ast *e = row->line[0]->kid[1];
    const Op *op = op_of_ast(w, e);
    if (!op || op->def || op->expand || op->body) return NULL;
    for (size_t i = 0; i < e->nkid; i++)
        if (param_of(row, e->kid[i]) < 0) return NULL;
    return e->nkid == row->nparam && op_signature(w->s, op)->nin == e->nkid ? op : NULL;
}

void onnx_turn_rows(OnnxWriting *w) {
    for (OnnxRow *row = onnx_rows_next(w->reading, NULL, w->opset); row;
         row = onnx_rows_next(w->reading, row, w->opset)) {
        const Op *op = op_meant(w, row);
        if (op && !map_get(&w->turned, (uintptr_t)op, NULL))
            map_put(&w->turned, (uintptr_t)op, (uintptr_t)row);
    }
}

static bool write_turned(OnnxWriting *w, ApplyId a, const OnnxRow *row) {
    OutFrame *f = w->frame;
    const Apply ap = f->g->apply[a];
    const Ast *e = row->line[0]->kid[1];
    OutNode *n = out_node(w, row->op, row->nparam, 1);
    for (size_t i = 0; i < e->nkid; i++) {
        OutName *x = onnx_write_var(w, apply_in(f->g, a)[i]);
        if (!x) return false;
        n->in[param_of(row, e->kid[i])] = x;
    }
    out_append(w, n);
    onnx_set_var(w, f->region, ap.out, n->out[0]);
    return true;
}

/* ---- dtypes that ONNX has an op for ---- */

static bool write_as(OnnxWriting *w, ApplyId a, const Var *is) {
    const Apply ap = w->frame->g->apply[a];
    for (size_t i = 0; i < ap.nout; i++) {
        OutName *n = onnx_write_var(w, is[i]);
        if (!n) return false;
        onnx_set_var(w, w->frame->region, ap.out + (Var)i, n);
    }
    return true;
}

static DType wider_accepted(uint64_t accepted, DType d) {
    static const DType order[] = {DT_INT32, DT_INT64, DT_UINT64, DT_FLOAT32,
                                  DT_FLOAT64};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if ((accepted >> order[i] & 1) && dtype_promote(d, order[i]) == order[i])
            return order[i];
    bool wraps = dtype_is_integer(d) && (accepted >> DT_INT64 & 1);
    return wraps ? DT_INT64 : accepted >> DT_FLOAT64 & 1 ? DT_FLOAT64 : DT_NONE;
}

/* The same op on inputs of another dtype, and its results as they were. */
static bool write_widened(OnnxWriting *w, ApplyId a, DType from, DType to) {
    OutFrame *f = w->frame;
    const Apply ap = f->g->apply[a];
    Var *in = arena_copy(w->a, apply_in(f->g, a), ap.nin * sizeof *in), out[OUT_MAX];
    const Signature *sig = op_signature(w->s, ap.op);
    for (size_t i = 0; i < ap.nin; i++) {
        const Type *t = var_type(f->g, in[i]);
        bool cast = t->kind == TYPE_TENSOR && t->dtype == from &&
                    (i >= sig->nin || param_has_dtype(sig->in[i].kind));
        if (cast && (in[i] = op_cast_to(&f->b, in[i], to)) == VAR_NONE) return false;
    }
    if (!op_apply(&f->b, ap.op, ap.props, ap.nin, in, out)) return false;
    for (size_t i = 0; i < ap.nout; i++) {
        const Type *t = var_type(f->g, ap.out + (Var)i);
        if (t->kind == TYPE_TENSOR &&
            (out[i] = op_cast_to(&f->b, out[i], t->dtype)) == VAR_NONE)
            return false;
    }
    return write_as(w, a, out);
}

/* *done: it was written with other dtypes, or can't be. */
static bool widen_apply(OnnxWriting *w, ApplyId a, bool *done) {
    OutFrame *f = w->frame;
    const Op *op = f->g->apply[a].op;
    uint64_t accepted;
    *done = false;
    if (f->g->apply[a].nin == 0 ||
        !map_get(&w->accepts, sym(w->s, op->name), &accepted))
        return true;
    const Type *t = var_type(f->g, apply_in(f->g, a)[0]);
    if (t->kind != TYPE_TENSOR || (accepted >> t->dtype & 1)) return true;
    *done = true;
    DType to =
        dtype_is_complex(t->dtype) ? DT_NONE : wider_accepted(accepted, t->dtype);
    return to != DT_NONE ? write_widened(w, a, t->dtype, to)
                         : fail(w->s, NOWHERE, E_DTYPE, "ONNX has no %s of %s numbers",
                                op->name, dtype_name(t->dtype));
}

/* ---- Applies ---- */

/* The Applies of a function again, whose types and dims are now those of the call. */
static bool inline_call(OnnxWriting *w, const Graph *fn, const Var *in, Var *out) {
    Builder *b = &w->frame->b;
    Var *map = graph_import_map(fn, w->a, in);
    for (uint32_t i = 0; i < fn->nleaf; i++) {
        Var v = fn->leaf[i].var;
        if (map[v] != VAR_NONE) continue;
        map[v] = var_leaf(fn, v) == LEAF_DIM
                     ? shape_of_call_dim(b, fn, in, fn->leaf[i].name)
                     : graph_copy_leaf(b->g, fn, v, true);
        if (map[v] == VAR_NONE) return false;
    }
    for (ApplyId a = 0; a < fn->napply; a++) {
        const Apply *ap = &fn->apply[a];
        Var *arg = NEW_N(w->a, ap->nin + 1u, Var);
        for (uint32_t i = 0; i < ap->nin; i++)
            arg[i] = map[apply_in(fn, a)[i]];
        if (!op_apply(b, ap->op, ap->props, ap->nin, arg, map + ap->out)) return false;
    }
    for (size_t i = 0; i < fn->outputs.n; i++)
        out[i] = map[fn->outputs.p[i].var];
    return true;
}

/* The function or the op's body in place of its call. */
static bool write_inlined(OnnxWriting *w, ApplyId a, const Graph *fn) {
    OutFrame *f = w->frame;
    const Apply ap = f->g->apply[a];
    Var *in = arena_copy(w->a, apply_in(f->g, a), ap.nin * sizeof *in),
        *out = NEW_N(w->a, ap.nout + 1u, Var);
    if (fn->effects.n)
        return fail(w->s, NOWHERE, E_TYPE, "ONNX has no effects, such as %s",
                    fn->apply[fn->effects.p[0]].op->name);
    bool ok = ap.op->body ? graph_inline(f->g, fn, in, true, out)
                          : inline_call(w, fn, in, out);
    return ok && write_as(w, a, out);
}

static bool fail_no_op(OnnxWriting *w, const Op *op) {
    bool own = op->from && !op->body;
    return fail(w->s, NOWHERE, E_NAME, "ONNX has no op for %s%s", op->name,
                own          ? ", which comes from a plugin"
                : op->effect ? ", an effect"
                             : "");
}

static bool write_apply(OnnxWriting *w, ApplyId a) {
    OutFrame *f = w->frame;
    const Apply ap = f->g->apply[a];
    const Graph *fn = op_called_function(f->g, &f->g->apply[a]);
    uint64_t turned;
    bool done;
    if (op_is(w->s, ap.op, OP_IFELSE)) return onnx_write_ifelse(w, a);
    if (op_is(w->s, ap.op, OP_SCAN)) return onnx_write_scan(w, a);
    if (ap.op->body) {
        fn = userop_body(f->g, a);
        if (!fn) return false;
    }
    if (fn) return write_inlined(w, a, fn);
    if (!widen_apply(w, a, &done)) return false;
    if (done) return true;
    const OnnxRow *row =
        onnx_row(w->rows, (ProtoText){0}, (ProtoText){ap.op->name, strlen(ap.op->name)},
                 w->opset);
    if (row) return write_by_row(w, a, row);
    if (map_get(&w->turned, (uintptr_t)ap.op, &turned))
        return write_turned(w, a, (const OnnxRow *)(uintptr_t)turned);
    return fail_no_op(w, ap.op);
}

/* Which output of the main graph needs the value that failed. */
static void note_apply(OnnxWriting *w, ApplyId a) {
    OutFrame *f = w->frame;
    const Graph *g = w->g;
    const Op *op = f->g->apply[a].op;
    for (size_t i = 0; is_main(w) && i < g->outputs.n; i++) {
        uint8_t *need = NEW_N(w->a, f->g->nvar + 1u, uint8_t);
        need[g->outputs.p[i].var] = 1;
        graph_spread_needs(f->g, 0, need);
        if (!need[f->g->apply[a].out]) continue;
        note(w->s, f->g->origin[a].at, "in %s, which the output '%s' needs", op->name,
             sym_text(w->s, g->outputs.p[i].label));
        return;
    }
    note(w->s, f->g->origin[a].at, "in %s", op->name);
}

/* Integers that the types tell, such as sizes, are constants: who reads the model then
 * knows as much of its shapes. *is false: they are not known. */
static bool write_known(OnnxWriting *w, ApplyId a, bool *is) {
    OutFrame *f = w->frame;
    Var v = f->g->apply[a].out;
    const Type *t = var_type(f->g, v);
    Node n;
    *is = false;
    if (f->g->apply[a].nout != 1 || t->kind != TYPE_TENSOR || t->dtype != DT_INT64 ||
        t->ndim > 1 || (t->ndim == 1 && t->dim[0] > MAX_NDIM))
        return true;
    if (!onnx_known_by_types(f->c, v, is, &n)) return false;
    if (!*is) return true;
    OutName *value = onnx_node_value(w, &n);
    if (value) onnx_set_var(w, f->root, v, value);
    return value != NULL;
}

static bool write_placed(OnnxWriting *w, ApplyId a, OutRegion *at) {
    OutFrame *f = w->frame;
    OutRegion *here = f->region;
    size_t diags = diag_count(w->s);
    f->region = at;
    bool ok = write_apply(w, a);
    f->region = here;
    if (!ok && a < f->napply && diag_failed(w->s, diags)) note_apply(w, a);
    return ok;
}

OutName *onnx_write_var(OnnxWriting *w, Var want) {
    OutFrame *f = w->frame;
    Vec(Var) todo = {0};
    bool ok = true;
    vec_push(w->s, &todo, want);
    while (ok && todo.n) {
        Var v = todo.p[todo.n - 1];
        if (written_name(f->region, v)) {
            todo.n--;
            continue;
        }
        ApplyId a = var_owner(f->g, v);
        if (a == APPLY_NONE) {
            ok = write_leaf(w, v) != NULL;
            continue;
        }
        bool known;
        ok = write_known(w, a, &known);
        if (!ok || known) continue;
        OutRegion *at = place_of(f, a);
        size_t n = todo.n, nin = f->g->apply[a].nin;
        bool lazy = a < f->napply && f->branches[a].then;
        for (size_t i = 0; i < (lazy ? 1 : nin); i++) {
            Var x = apply_in(f->g, a)[i];
            if (var_owner(f->g, x) != APPLY_NONE && !written_name(at, x))
                vec_push(w->s, &todo, x);
        }
        if (todo.n == n) ok = write_placed(w, a, at);
    }
    vec_free(&todo);
    return ok ? written_name(f->region, want) : NULL;
}
