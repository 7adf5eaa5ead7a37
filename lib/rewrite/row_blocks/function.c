/* Makes the function of a group, and its call. */
#include "rewrite/row_blocks/row_blocks.h"
#include "scan/builder.h"

#include <string.h>

typedef struct BlockFunction {
    Blocks *b;
    Graph *fn;
    Builder in;
    Sym rows;
    Map var;   /* of members: their results in fn */
    Map drawn; /* what is made anew */
    Vec(Var) arg, result;
    Vec(int64_t) axis; /* by arg */
} BlockFunction;

/* t with the rows of a block along the axis, if there is one. */
static const Type *type_of_block(const BlockFunction *f, const Type *t, int64_t axis) {
    if (axis < 0 || t->kind != TYPE_TENSOR) return t;
    Dim dim[MAX_NDIM];
    memcpy(dim, t->dim, (size_t)t->ndim * sizeof *dim);
    dim[axis] = DIM_NAMED(f->rows);
    return type_tensor(f->b->r->s, t->dtype, t->ndim, dim);
}

static const Type *type_inside(const BlockFunction *f, Var v, int64_t axis) {
    return type_of_block(f, var_type(f->b->g, v), axis);
}

static void name_inside(const BlockFunction *f, Var v, Var inside) {
    Sym name = var_name(f->b->g, v);
    if (name && !graph_has_dim(f->fn, name) && name != f->rows)
        graph_try_name(f->fn, inside, name);
}

static Sym input_name(const BlockFunction *f, Var v) {
    Sym name = var_name(f->b->g, v);
    bool taken = !name || name == f->rows || graph_find(f->fn, name) != VAR_NONE ||
                 graph_has_dim(f->b->g, name);
    if (!taken) return name;
    Str text = STR(f->b->r->s);
    str_printf(&text, "x%zu", f->arg.n);
    while (graph_find(f->fn, sym(f->b->r->s, str_text(&text))) != VAR_NONE)
        str_putc(&text, '_');
    name = sym(f->b->r->s, str_text(&text));
    str_free(&text);
    return name;
}

static Var input_inside(BlockFunction *f, Var v, int64_t axis) {
    if (var_is_const(f->b->g, v) && axis < 0)
        return graph_share_const(f->fn, f->b->g, v, true);
    for (size_t i = 0; i < f->arg.n; i++)
        if (f->arg.p[i] == v && f->axis.p[i] == axis) return f->fn->inputs.p[i];
    Var in = graph_input(f->fn, input_name(f, v), type_inside(f, v, axis));
    vec_push(f->b->r->s, &f->arg, v);
    vec_push(f->b->r->s, &f->axis, axis);
    return in;
}

/* A dim of an input of the function is one of the function, which typing rules read. */
static Var leaf_inside(BlockFunction *f, Var v, int64_t axis) {
    if (var_leaf(f->b->g, v) != LEAF_DIM) return input_inside(f, v, axis);
    Sym name = var_leafrec(f->b->g, v)->name;
    return graph_has_dim(f->fn, name) ? graph_dim(f->fn, name) : input_inside(f, v, -1);
}

/* The number of rows is a dim of the function. */
static Var count_inside(BlockFunction *f, Var v, const Part *p) {
    const Tensor *t = var_const(f->b->g, v);
    Var rows = graph_dim(f->fn, f->rows), item[MAX_NDIM];
    if (p->kind != PART_SHAPE) return rows;
    for (int64_t i = 0; i < tensor_size(t); i++)
        item[i] = i == p->axis ? rows : const_int(&f->in, tensor_i64(t, i));
    return ints_stack(&f->in, (size_t)tensor_size(t), item);
}

static Var draw_inside(BlockFunction *f, Var v) {
    const Graph *g = f->b->g;
    uint64_t made;
    Part p;
    if (map_get(&f->drawn, v, &made)) return (Var)made;
    Var in[MOST_INPUTS], out = VAR_NONE;
    ApplyId id = var_owner(g, v);
    if (blocks_count(f->b, v, &p)) {
        out = count_inside(f, v, &p);
    } else if (var_is_const(g, v)) {
        out = graph_share_const(f->fn, g, v, true);
    } else if (id == APPLY_NONE) {
        out = leaf_inside(f, v, -1);
    } else {
        const Apply *a = &g->apply[id];
        for (size_t i = 0; i < a->nin; i++)
            if ((in[i] = draw_inside(f, apply_in(g, id)[i])) == VAR_NONE)
                return VAR_NONE;
        f->in.from = g->origin[id];
        if (!op_apply(&f->in, a->op, a->props, a->nin, in, &out)) return VAR_NONE;
    }
    map_put(&f->drawn, v, out);
    return out;
}

static int64_t axis_of_rows(const Part *p) {
    return p->kind == PART_ROWS ? p->axis : -1;
}

static void declare_inputs(BlockFunction *f, const Member *m) {
    const Blocks *b = f->b;
    for (size_t i = 0; i < b->g->apply[m->id].nin; i++) {
        Var v = apply_in(b->g, m->id)[i];
        if (!blocks_makes(b, v) && !m->cut.drawn[i] && var_leaf(b->g, v) != LEAF_DIM)
            input_inside(f, v, axis_of_rows(&m->cut.x[i]));
    }
}

/* ---- loops ---- */

/* The axis of the rows in each input of a loop's body, or -1. */
static int64_t *axes_inside(const BlockFunction *f, const ScanForm *l, const Part *x) {
    int64_t *axis = NEW_N(f->b->a, l->nin + 1, int64_t);
    for (size_t i = 0; i < l->nseq; i++)
        for (size_t k = 0; k < l->seq[i].ntap; k++)
            axis[l->seq[i].in + k] = axis_of_rows(&x[l->seq[i].arg]) - 1;
    for (size_t o = 0; o < l->nout; o++)
        for (size_t k = 0; k < l->out[o].ntap; k++)
            axis[l->out[o].in + k] =
                axis_of_rows(&x[l->out[o].arg]) - !scan_one_row(&l->out[o]);
    for (size_t i = 0; i < l->nother; i++)
        axis[l->other_in + i] = axis_of_rows(&x[l->other_arg + i]);
    return axis;
}

/* Do inputs of the body have as many rows as all blocks together, by a number or by the
 * name of a dim? */
static void look_at_rows(const BlockFunction *f, const Graph *body, const int64_t *axis,
                         bool *known, bool *named) {
    *known = *named = false;
    for (size_t i = 0; i < body->inputs.n; i++) {
        const Type *t = var_type(body, body->inputs.p[i]);
        if (axis[i] < 0 || t->kind != TYPE_TENSOR) continue;
        Dim rows = t->dim[axis[i]];
        *known |= dim_is_known(rows);
        *named |= dim_is_named(rows) && rows != DIM_NAMED(f->rows);
    }
}

/* Copies the Applies of a body, which are typed anew. */
static bool copy_applies(Builder *b, const Graph *body, Var *map) {
    Var in[MOST_INPUTS], out[OUT_MAX];
    for (ApplyId id = 0; id < body->napply; id++) {
        const Apply *a = &body->apply[id];
        if (a->nin > MOST_INPUTS) return false;
        for (size_t i = 0; i < a->nin; i++)
            in[i] = map[apply_in(body, id)[i]];
        b->from = body->origin[id];
        if (!op_apply(b, a->op, a->props, a->nin, in, out)) return false;
        for (Var k = 0; k < a->nout; k++)
            map[a->out + k] = out[k];
    }
    return true;
}

/* The body for the rows of a block. NULL: it can't be typed for them. */
static const Graph *body_of_block(const BlockFunction *f, const Graph *body,
                                  const int64_t *axis) {
    if (scan_is_opaque(body) || body->effects.n || body->until != VAR_NONE) return NULL;
    Graph *main = f->b->g->main,
          *fn = graph_function_new(
              main, graph_function_name(main, sym_text(main->s, body->name)));
    Builder b = builder(fn, true);
    Var *map = NEW_N(f->b->a, body->nvar, Var);
    fn->floatX = body->floatX;
    for (uint32_t i = 0; i < body->nleaf; i++) {
        Var v = body->leaf[i].var;
        if (var_leaf(body, v) != LEAF_INPUT)
            map[v] = graph_copy_leaf(fn, body, v, true);
    }
    for (size_t i = 0; i < body->inputs.n; i++) {
        Var v = body->inputs.p[i];
        map[v] = graph_input(fn, var_leafrec(body, v)->name,
                             type_of_block(f, var_type(body, v), axis[i]));
    }
    if (!copy_applies(&b, body, map)) return NULL;
    scan_carry_names(fn, body, map);
    for (size_t i = 0; i < body->outputs.n; i++) {
        Output y = body->outputs.p[i];
        vec_push(fn->s, &fn->outputs, ((Output){y.label, map[y.var]}));
    }
    graph_trim(fn);
    return fn;
}

static const Props *props_with_function(Session *s, const Props *old, Sym fn) {
    Arena *a = arena_new(s);
    Prop *p = arena_copy(a, old->p, old->n * sizeof *p);
    for (uint32_t i = 0; i < old->n; i++)
        if (p[i].kind == P_GRAPH) p[i].sym = fn;
    const Props *made = props_intern(s, old->n, p);
    arena_free(a);
    return made;
}

/* The member's props in the function. The body of a loop becomes that of a block: if
 * its types have the number of rows, it must (NULL: it can't); if they have the name of
 * a dim, plans then know that its values are those of a block. */
static const Props *props_inside(const BlockFunction *f, const Member *m) {
    const Graph *g = f->b->g;
    const Apply *a = &g->apply[m->id];
    if (!op_is(g->s, a->op, OP_SCAN)) return a->props;
    ScanForm l = scan_form_of(g, m->id, f->b->a);
    const int64_t *axis = axes_inside(f, &l, m->cut.x);
    bool known, named;
    look_at_rows(f, l.fn, axis, &known, &named);
    if (!known && !named) return a->props;
    size_t mark = diag_count(g->s);
    const Graph *body = body_of_block(f, l.fn, axis);
    if (body) return props_with_function(g->s, a->props, body->name);
    if (known) return NULL;
    rewriter_forget(f->b->r, mark);
    return a->props;
}

static bool member_inside(BlockFunction *f, const Member *m) {
    Blocks *b = f->b;
    const Apply *a = &b->g->apply[m->id];
    Var in[MOST_INPUTS], out[OUT_MAX];
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(b->g, m->id)[i];
        uint64_t made;
        in[i] = map_get(&f->var, v, &made) ? (Var)made
                : m->cut.drawn[i]          ? draw_inside(f, v)
                                  : leaf_inside(f, v, axis_of_rows(&m->cut.x[i]));
        if (in[i] == VAR_NONE) return false;
    }
    const Props *props = props_inside(f, m);
    f->in.from = b->g->origin[m->id];
    if (!props || !op_apply(&f->in, a->op, props, a->nin, in, out)) return false;
    for (Var k = 0; k < a->nout; k++) {
        map_put(&f->var, a->out + k, out[k]);
        name_inside(f, a->out + k, out[k]);
        if (blocks_is_result(b, a->out + k)) vec_push(b->r->s, &f->result, a->out + k);
    }
    return true;
}

static void label_results(BlockFunction *f) {
    for (size_t k = 0; k < f->result.n; k++) {
        uint64_t inside;
        Str label = STR(f->b->r->s);
        str_printf(&label, "y%zu", k);
        map_get(&f->var, f->result.p[k], &inside);
        vec_push(f->fn->s, &f->fn->outputs,
                 ((Output){sym(f->b->r->s, str_text(&label)), (Var)inside}));
        str_free(&label);
    }
    graph_outputs_changed(f->fn);
    graph_trim(f->fn);
}

static bool call_function(BlockFunction *f) {
    Rewriter *r = f->b->r;
    Var out[OUT_MAX];
    const Op *call = op_known(r->s, OP_CALL);
    PropArg prop[] = {{"fn", {.kind = P_GRAPH, .sym = f->fn->name}},
                      {"rows", PROP_INTS(f->axis.p, f->axis.n)}};
    r->b.from = (Origin){f->b->g->origin[f->b->members.p[0].id].at,
                         r->db->entry.p[r->current].name};
    if (!op_apply(&r->b, call, props_make(r->s, call, 2, prop), f->arg.n, f->arg.p,
                  out))
        return false;
    rewriter_grow(r);
    for (size_t k = 0; k < f->result.n; k++)
        if (!type_keeps(var_type(f->b->g, f->result.p[k]), var_type(f->b->g, out[k])))
            return false;
    for (size_t k = 0; k < f->result.n; k++)
        r->forward[f->result.p[k]] = out[k];
    return rewriter_fired(r, r->current, f->result.n, f->result.p, out);
}

static Sym free_dim(const Graph *g) {
    Str text = STR(g->s);
    str_puts(&text, "rows");
    while (graph_has_dim(g, sym(g->s, str_text(&text))))
        str_putc(&text, '_');
    Sym name = sym(g->s, str_text(&text));
    str_free(&text);
    return name;
}

bool blocks_call(Blocks *b) {
    Graph *main = b->g->main;
    BlockFunction f = {.b = b,
                       .fn =
                           graph_function_new(main, graph_function_name(b->g, "rows")),
                       .rows = free_dim(b->g),
                       .var = MAP(b->r->s),
                       .drawn = MAP(b->r->s)};
    f.fn->floatX = b->g->floatX;
    f.in = builder(f.fn, true);
    size_t mark = diag_count(b->r->s);
    bool ok = true;
    for (size_t m = 0; m < b->members.n; m++)
        declare_inputs(&f, &b->members.p[m]);
    for (size_t m = 0; ok && m < b->members.n; m++)
        ok = member_inside(&f, &b->members.p[m]);
    ok = ok && f.result.n > 0 && f.result.n <= OUT_MAX && f.arg.n <= MOST_INPUTS;
    if (ok) label_results(&f);
    ok = ok && call_function(&f);
    if (!ok) rewriter_forget(b->r, mark);
    map_free(&f.var);
    map_free(&f.drawn);
    vec_free(&f.arg);
    vec_free(&f.axis);
    vec_free(&f.result);
    return ok;
}
