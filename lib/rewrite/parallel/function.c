/* The functions of the shards: what they take from outside, copies of Applies that
 * treat rows, and their calls. */
#include "rewrite/parallel/build.h"

#include <string.h>

static ShardCopy *copy_of(ShardFunction *f, Var v) {
    ShardCopy *c = &f->copy[v];
    if (c->rows == VAR_NONE && c->local == VAR_NONE && c->offset == VAR_NONE)
        vec_push(f->fn->s, &f->touched, v);
    return c;
}

static Var copy_in(SplitBuild *q, ShardFunction *f, Var v);
static bool rows_apply(SplitBuild *q, ShardFunction *f, const SplitApply *p);

/* ---- inputs ---- */

static Var add_input(SplitBuild *q, ShardFunction *f, Var of, const Type *t,
                     const char *otherwise) {
    Session *s = q->w->s;
    Sym name = of == VAR_NONE ? 0 : var_name(q->w->g, of);
    if (!name || graph_find(f->fn, name) != VAR_NONE || graph_has_dim(f->fn, name) ||
        graph_has_dim(q->w->g, name)) {
        Str text = STR(s);
        for (size_t i = f->fn->inputs.n;; i++) {
            text.n = 0;
            str_printf(&text, "%s%zu", otherwise, i);
            name = sym(s, str_text(&text));
            if (graph_find(f->fn, name) == VAR_NONE && !graph_has_dim(f->fn, name))
                break;
        }
        str_free(&text);
    }
    return graph_input(f->fn, name, t);
}

/* A whole value, computed outside. */
static Var whole_in(SplitBuild *q, ShardFunction *f, Var v) {
    Graph *g = q->w->g;
    if (var_is_const(g, v)) return graph_share_const(f->fn, g, v, true);
    vec_push(q->w->s, &f->arg, split_whole(q, v));
    return add_input(q, f, v, var_type(g, v), "v");
}

/* Rows that come from outside: an input's, or another function's. */
static Var rows_in(SplitBuild *q, ShardFunction *f, Var v) {
    Session *s = q->w->s;
    const Type *t = var_type(q->w->g, v);
    int axis = q->w->spread[v].axis;
    Var from = q->joined[v];
    if (from == VAR_NONE) bug("rows of variable %u are not there", v);
    Dim dim[MAX_NDIM];
    int n = 0;
    dim[n++] = t->dim[axis];
    for (int k = 0; k < t->ndim; k++)
        if (k != axis) dim[n++] = t->dim[k];
    vec_push(s, &f->split, (int64_t)f->arg.n);
    vec_push(s, &f->arg, from);
    Var x = add_input(q, f, v, type_tensor(s, t->dtype, n, dim), "x");
    return split_transposed(&f->b, x, n, 0, axis);
}

/* The number of rows of all ranks, in a function. */
static Var all_rows(SplitBuild *q, ShardFunction *f) {
    Session *s = q->w->s;
    if (f->rows == VAR_NONE) {
        vec_push(s, &f->arg, q->rows);
        f->rows = add_input(q, f, VAR_NONE, type_tensor(s, DT_INT64, 0, NULL), "rows");
    }
    return f->rows;
}

/* Positions of rows count from the first of all, except where they are an index. */
static Var whole_position(SplitBuild *q, ShardFunction *f, Var v, Var local) {
    Session *s = q->w->s;
    if (copy_of(f, v)->offset != VAR_NONE) return copy_of(f, v)->offset;
    Bind bind[] = {{sym(s, "x"), local},
                   {sym(s, "n"), all_rows(q, f)},
                   {sym(s, "i"), f->number},
                   {sym(s, "s"), const_int(&f->b, q->w->o->shards)}};
    Env env = {.n = 4, .bind = bind};
    bool ok = true;
    return copy_of(f, v)->offset = template_build(
               &f->b, "x + cast(n // s * i + n % s * i // s, 'int64')", &env, &ok);
}

/* ---- the number of rows as a shape ---- */

static bool shows_dim(const Type *t, Sym name) {
    for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++)
        if (t->dim[k] == DIM_NAMED(name)) return true;
    return false;
}

/* A dim of the function needs an input that has it. */
static bool bring_dim(SplitBuild *q, ShardFunction *f, Sym name) {
    Graph *g = q->w->g;
    if (graph_has_dim(f->fn, name)) return true;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (shows_dim(var_type(g, g->inputs.p[i]), name))
            return copy_in(q, f, g->inputs.p[i]) != VAR_NONE;
    for (size_t i = 0; i < g->shared.n; i++)
        if (shows_dim(var_type(g, g->shared.p[i]), name))
            return copy_in(q, f, g->shared.p[i]) != VAR_NONE;
    return true;
}

static Var local_dim(SplitBuild *q, ShardFunction *f, Var v) {
    Sym name = var_leafrec(q->w->g, v)->name;
    return bring_dim(q, f, name) ? graph_dim(f->fn, name) : VAR_NONE;
}

/* From an input: what has these rows may be of another function. */
static Var local_shape(SplitBuild *q, ShardFunction *f, const SplitApply *p) {
    const Type *t = split_type(p, 0);
    for (int k = 0; k < t->ndim; k++)
        if (dim_is_named(t->dim[k]) && !bring_dim(q, f, dim_sym(t->dim[k])))
            return VAR_NONE;
    Var x = copy_in(q, f, q->w->first);
    return x == VAR_NONE ? x : split_shape_with(p, &f->b, shape_of(&f->b, x, 0));
}

/* Sizes that the type of what has them shows: a number from outside wouldn't. */
static bool tells_sizes(const SplitBuild *q, Var v) {
    const Graph *g = q->w->g;
    if (q->w->spread[v].counts) return true;
    if (q->w->spread[v].rows || var_leaf(g, v) != LEAF_NOT) return false;
    const Op *op = g->apply[var_owner(g, v)].op;
    return op_is(g->s, op, OP_STACK) || op_is(g->s, op, OP_SHAPE) ||
           op_is(g->s, op, OP_SHAPE_I);
}

static Var local_in(SplitBuild *q, ShardFunction *f, Var v) {
    Graph *g = q->w->g;
    if (copy_of(f, v)->local != VAR_NONE) return copy_of(f, v)->local;
    if (var_leaf(g, v) == LEAF_DIM) return copy_of(f, v)->local = local_dim(q, f, v);
    if (!tells_sizes(q, v)) return copy_in(q, f, v);
    ApplyId id = var_owner(g, v);
    SplitApply p = split_apply_at(q, id);
    if (split_is_shape_of_rows(&p)) return copy_of(f, v)->local = local_shape(q, f, &p);
    Var *in = NEW_N(q->w->a, p.nin, Var);
    for (size_t i = 0; i < p.nin; i++)
        if ((in[i] = local_in(q, f, p.in[i])) == VAR_NONE) return VAR_NONE;
    Var out = graph_copy_apply(f->fn, g, id, in, true);
    for (Var k = 0; k < p.nout; k++)
        copy_of(f, p.out + k)->local = out + k;
    return copy_of(f, v)->local;
}

/* ---- Applies ---- */

/* Positions are counted anew in each function, from the shard's first row on. */
static bool positions_in(SplitBuild *q, ShardFunction *f, Var v) {
    SplitApply p = split_apply_at(q, var_owner(q->w->g, v));
    return rows_apply(q, f, &p);
}

static Var copy_in(SplitBuild *q, ShardFunction *f, Var v) {
    const Spread *x = &q->w->spread[v];
    if (copy_of(f, v)->rows != VAR_NONE) return copy_of(f, v)->rows;
    if (x->position) return positions_in(q, f, v) ? copy_of(f, v)->rows : VAR_NONE;
    return copy_of(f, v)->rows = x->rows ? rows_in(q, f, v) : whole_in(q, f, v);
}

/* An index that counts rows is one of the shard if it reads rows. */
static bool input_in(SplitBuild *q, ShardFunction *f, const SplitApply *p, size_t i,
                     Var *out) {
    const Spread *x = split_of(p, i);
    if (!x->rows && split_gives_shape(q->w->s, p->op, p->nin, i))
        return (*out = local_in(q, f, p->in[i])) != VAR_NONE;
    *out = copy_in(q, f, p->in[i]);
    bool local = split_is_index_op(q->w->s, p->op) && i > 0 && split_of(p, 0)->rows;
    if (x->position && !local && *out != VAR_NONE)
        *out = whole_position(q, f, p->in[i], *out);
    return *out != VAR_NONE;
}

static bool inputs_in(SplitBuild *q, ShardFunction *f, const SplitApply *p, Var *in) {
    for (size_t i = 0; i < p->nin; i++)
        if (!input_in(q, f, p, i, &in[i])) return false;
    return true;
}

static void name_copies(SplitBuild *q, ShardFunction *f, const SplitApply *p, Var out) {
    for (Var k = 0; k < p->nout; k++) {
        Sym name = var_name(q->w->g, p->out + k);
        copy_of(f, p->out + k)->rows = out + k;
        if (name && !graph_has_dim(f->fn, name)) graph_try_name(f->fn, out + k, name);
    }
}

/* Each shard draws from a stream of its own. */
static bool fork_stream(ShardFunction *f, Var *state) {
    Var in[2] = {*state, f->number};
    return (*state = apply_named(&f->b, "rng_fork", 2, in, 0, NULL)) != VAR_NONE;
}

/* Of no elements, as a shard without rows has, a size left open can't be told beside
 * another one that is 0: all but that of the rows are given, if they are known. */
static Var shape_in(SplitBuild *q, ShardFunction *f, const SplitApply *p, Var shape) {
    const Type *t = var_type(q->w->g, p->out);
    int64_t size[MAX_NDIM];
    int open = 0;
    for (int k = 0; k < t->ndim; k++) {
        bool known = dim_is_known(t->dim[k]);
        size[k] = known ? t->dim[k] : -1;
        open += known ? t->dim[k] == 0 : 1;
    }
    return open == 1 ? const_ints(&f->b, (size_t)t->ndim, size) : shape;
}

static bool rows_apply(SplitBuild *q, ShardFunction *f, const SplitApply *p) {
    Session *s = q->w->s;
    Var *in = NEW_N(q->w->a, p->nin + 1, Var);
    if (!inputs_in(q, f, p, in)) return false;
    if (op_is(s, p->op, OP_SOW) || op_is(s, p->op, OP_SOW_COND)) {
        copy_of(f, p->out)->rows = in[0];
        return true;
    }
    if (op_is(s, p->op, OP_DRAW) && !fork_stream(f, &in[0])) return false;
    if (op_is(s, p->op, OP_RESHAPE) && (in[1] = shape_in(q, f, p, in[1])) == VAR_NONE)
        return false;
    f->b.from = q->w->g->origin[p->id];
    name_copies(q, f, p, graph_copy_apply(f->fn, q->w->g, p->id, in, true));
    return true;
}

static bool cross_rows(SplitBuild *q, ShardFunction *f, const SplitApply *p) {
    Crossing how = q->w->crossing[p->id];
    Var *in = NEW_N(q->w->a, p->nin, Var);
    if (!inputs_in(q, f, p, in)) return false;
    f->b.from = q->w->g->origin[p->id];
    bool counts = how == CROSS_MAX || how == CROSS_MIN;
    Var part = crossing_part(p, &f->b, in, counts ? all_rows(q, f) : VAR_NONE);
    bool sum = how == CROSS_SUM || how == CROSS_MEAN || how == CROSS_INC;
    vec_push(q->w->s, &f->out,
             ((ShardOutput){p->out, part, sum ? SHARD_SUM : SHARD_STACK, VAR_NONE}));
    return part != VAR_NONE;
}

bool split_function_apply(SplitBuild *q, ShardFunction *f, const SplitApply *p) {
    const Spread *x = split_of_apply(q->w, p->id);
    if (q->w->crossing[p->id] != CROSS_NONE) return cross_rows(q, f, p);
    if (!x->rows && !x->part) return true;
    if (!rows_apply(q, f, p)) return false;
    for (Var v = p->out; v < p->out + p->nout; v++) {
        if (q->w->spread[v].part && q->w->live[v])
            vec_push(q->w->s, &f->out,
                     ((ShardOutput){v, copy_of(f, v)->rows, SHARD_SUM, VAR_NONE}));
        if (!q->leaves[v]) continue;
        const Spread *r = &q->w->spread[v];
        Var out = copy_of(f, v)->rows;
        if (r->position) out = whole_position(q, f, v, out);
        if (out != VAR_NONE)
            out = split_transposed(&f->b, out, var_type(q->w->g, v)->ndim, r->axis, 0);
        if (out == VAR_NONE) return false;
        vec_push(q->w->s, &f->out, ((ShardOutput){v, out, SHARD_ROWS, VAR_NONE}));
    }
    return true;
}

/* ---- a function and its call ---- */

void split_function_open(SplitBuild *q, ShardFunction *f) {
    Session *s = q->w->s;
    *f = (ShardFunction){
        .fn = graph_function_new(q->w->g, graph_function_name(q->w->g, "shard")),
        .copy = q->copy,
        .rows = VAR_NONE};
    f->fn->floatX = q->w->g->floatX;
    f->b = builder(f->fn, true);
    f->number = graph_input(f->fn, sym(s, "shard"), type_tensor(s, DT_INT64, 0, NULL));
}

bool split_function_call(SplitBuild *q, ShardFunction *f) {
    Session *s = q->w->s;
    Vec(int64_t) sum = {0}, stack = {0};
    Vec(Var) in = {0};
    Var *out = NEW_N(q->w->a, f->out.n, Var);
    vec_push(s, &in, q->rows);
    for (size_t i = 0; i < f->arg.n; i++)
        vec_push(s, &in, f->arg.p[i]);
    for (size_t k = 0; k < f->out.n; k++) {
        Str label = STR(s);
        Sym name = var_name(f->fn, f->out.p[k].part);
        if (!name) str_printf(&label, "r%zu", k);
        if (!name) name = sym(s, str_text(&label));
        str_free(&label);
        vec_push(s, &f->fn->outputs, ((Output){name, f->out.p[k].part}));
        if (f->out.p[k].how == SHARD_SUM) vec_push(s, &sum, (int64_t)k);
        if (f->out.p[k].how == SHARD_STACK) vec_push(s, &stack, (int64_t)k);
    }
    graph_outputs_changed(f->fn);
    const Op *op = op_known(s, OP_EACH_SHARD);
    PropArg prop[] = {{"fn", {.kind = P_GRAPH, .sym = f->fn->name}},
                      {"shards", PROP_INT(q->w->o->shards)},
                      {"split", PROP_INTS(f->split.p, f->split.n)},
                      {"sum", PROP_INTS(sum.p, sum.n)},
                      {"stack", PROP_INTS(stack.p, stack.n)}};
    bool ok = op_apply(&q->b, op, props_make(s, op, 5, prop), in.n, in.p, out);
    for (size_t k = 0; ok && k < f->out.n; k++)
        f->out.p[k].value = out[k];
    vec_free(&sum);
    vec_free(&stack);
    vec_free(&in);
    return ok;
}

void split_function_close(ShardFunction *f) {
    for (size_t i = 0; i < f->touched.n; i++)
        f->copy[f->touched.p[i]] = (ShardCopy){VAR_NONE, VAR_NONE, VAR_NONE};
    vec_free(&f->touched);
    vec_free(&f->arg);
    vec_free(&f->split);
    vec_free(&f->out);
}
