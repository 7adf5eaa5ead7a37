/* The functions of the shards, their calls, and what follows from sums over shards. All
 * is appended to the graph; what it replaces is then left out. */
#include "rewrite/parallel/parallel.h"

#include <string.h>

/* A result of a function that leaves it. */
typedef struct Leaving {
    Var of;   /* in the main graph: with rows, or what a crossing makes */
    Var part; /* in the function */
    ShardResult how;
    Var value; /* in the main graph, once the function is called */
} Leaving;
/* What a function has of a variable; VAR_NONE: nothing so far. */
typedef struct Copy {
    Var rows;   /* its copy, with this shard's rows */
    Var local;  /* of what counts rows: with the shard's number of them */
    Var offset; /* of positions: the same from the first row of all shards on */
} Copy;
typedef struct Phase {
    Graph *fn;
    Builder b;
    Var number;       /* of the shard: its first input */
    Copy *copy;       /* by variable of the main graph */
    Vec(Var) touched; /* those that may have some */
    Var rows;         /* of all ranks, as an input; VAR_NONE so far */
    Vec(Var) arg;
    Vec(int64_t) split;
    Vec(Leaving) out;
} Phase;
typedef struct Build {
    Split *w;
    Builder b;
    Var rows;    /* of all ranks */
    Var *main;   /* by variable: the whole value that replaces it */
    Var *joined; /* by variable with rows: this rank's, rows first */
    bool
        *leaves; /* by variable with rows: something outside of its function needs it */
    uint8_t *dropped;  /* by Apply: an effect that was made anew */
    Copy *copy;        /* by variable: of the function that is being made */
    ApplyId *of_level; /* Applies in their order, by the levels that they concern */
    size_t *first;     /* by level: the first of these */
} Build;

static Copy *copy_of(Phase *f, Var v) {
    Copy *c = &f->copy[v];
    if (c->rows == VAR_NONE && c->local == VAR_NONE && c->offset == VAR_NONE)
        vec_push(f->fn->s, &f->touched, v);
    return c;
}

static Var main_of(Build *q, Var v);
static Var copy_in(Build *q, Phase *f, Var v);
static bool rows_apply(Build *q, Phase *f, const SplitApply *p);

/* Its inputs are a copy: the graph's move when it grows. */
static SplitApply apply_at(Build *q, ApplyId id) {
    const Apply *r = &q->w->g->apply[id];
    Var *in = NEW_N(q->w->a, r->nin + 1, Var);
    memcpy(in, apply_in(q->w->g, id), r->nin * sizeof *in);
    return (SplitApply){q->w, id, r->op, r->props, r->nin, r->nout, in, r->out};
}

static bool is_live(const Build *q, const SplitApply *p) {
    for (Var k = 0; k < p->nout; k++)
        if (q->w->live[p->out + k]) return true;
    return false;
}

static Var transposed(Builder *b, Var x, int ndim, int from, int to) {
    int64_t axes[MAX_NDIM];
    int n = 0;
    if (from == to) return x;
    for (int k = 0; k < ndim; k++)
        if (k != from) axes[n++] = k;
    memmove(axes + to + 1, axes + to, (size_t)(n - to) * sizeof *axes);
    axes[to] = from;
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)ndim)};
    return apply_named(b, "transpose", 1, &x, 1, &arg);
}

/* ---- inputs of a function ---- */

static Var add_input(Build *q, Phase *f, Var of, const Type *t, const char *otherwise) {
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
static Var whole_in(Build *q, Phase *f, Var v) {
    Graph *g = q->w->g;
    if (var_is_const(g, v)) return graph_share_const(f->fn, g, v, true);
    Var from = main_of(q, v);
    if (from == VAR_NONE) return VAR_NONE;
    vec_push(q->w->s, &f->arg, from);
    return add_input(q, f, v, var_type(g, v), "v");
}

/* Rows that come from outside: an input's, or another function's. */
static Var rows_in(Build *q, Phase *f, Var v) {
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
    return transposed(&f->b, x, n, 0, axis);
}

/* The number of rows of all ranks, in a function. */
static Var all_rows(Build *q, Phase *f) {
    Session *s = q->w->s;
    if (f->rows == VAR_NONE) {
        vec_push(s, &f->arg, q->rows);
        f->rows = add_input(q, f, VAR_NONE, type_tensor(s, DT_INT64, 0, NULL), "rows");
    }
    return f->rows;
}

/* Positions of rows count from the first of all, except where they are an index. */
static Var whole_position(Build *q, Phase *f, Var v, Var local) {
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
static bool bring_dim(Build *q, Phase *f, Sym name) {
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

static Var local_dim(Build *q, Phase *f, Var v) {
    Sym name = var_leafrec(q->w->g, v)->name;
    return bring_dim(q, f, name) ? graph_dim(f->fn, name) : VAR_NONE;
}

/* What an Apply of shape or shape_i gives of something with rows, where there are
 * `rows` of them: of all ranks, or of a shard. */
static Var shape_with(const SplitApply *p, Builder *b, Var rows) {
    const Type *t = split_type(p, 0);
    Var item[MAX_NDIM];
    int only = -1;
    if (rows == VAR_NONE) return VAR_NONE;
    if (op_is(b->s, p->op, OP_SHAPE_I))
        only = (int)op_prop(b->s, p->op, p->props, "axis")->i;
    for (int k = 0; k < t->ndim; k++) {
        if (only >= 0 && k != only) continue;
        item[k] = crossing_size(p, b, rows, k);
        if (item[k] == VAR_NONE) return VAR_NONE;
    }
    return only >= 0 ? item[only] : ints_stack(b, (size_t)t->ndim, item);
}

static bool is_shape_of_rows(const SplitApply *p) {
    Session *s = p->w->s;
    return (op_is(s, p->op, OP_SHAPE) || op_is(s, p->op, OP_SHAPE_I)) &&
           split_of(p, 0)->rows;
}

/* From an input: what has these rows may be of another function. */
static Var local_shape(Build *q, Phase *f, const SplitApply *p) {
    const Type *t = split_type(p, 0);
    for (int k = 0; k < t->ndim; k++)
        if (dim_is_named(t->dim[k]) && !bring_dim(q, f, dim_sym(t->dim[k])))
            return VAR_NONE;
    Var x = copy_in(q, f, q->w->first);
    return x == VAR_NONE ? x : shape_with(p, &f->b, shape_of(&f->b, x, 0));
}

/* Sizes that the type of what has them shows: a number from outside wouldn't. */
static bool tells_sizes(const Build *q, Var v) {
    const Graph *g = q->w->g;
    if (q->w->spread[v].counts) return true;
    if (q->w->spread[v].rows || var_leaf(g, v) != LEAF_NOT) return false;
    const Op *op = g->apply[var_owner(g, v)].op;
    return op_is(g->s, op, OP_STACK) || op_is(g->s, op, OP_SHAPE) ||
           op_is(g->s, op, OP_SHAPE_I);
}

static Var local_in(Build *q, Phase *f, Var v) {
    Graph *g = q->w->g;
    if (copy_of(f, v)->local != VAR_NONE) return copy_of(f, v)->local;
    if (var_leaf(g, v) == LEAF_DIM) return copy_of(f, v)->local = local_dim(q, f, v);
    if (!tells_sizes(q, v)) return copy_in(q, f, v);
    ApplyId id = var_owner(g, v);
    SplitApply p = apply_at(q, id);
    if (is_shape_of_rows(&p)) return copy_of(f, v)->local = local_shape(q, f, &p);
    Var *in = NEW_N(q->w->a, p.nin, Var);
    for (size_t i = 0; i < p.nin; i++)
        if ((in[i] = local_in(q, f, p.in[i])) == VAR_NONE) return VAR_NONE;
    Var out = graph_copy_apply(f->fn, g, id, in, true);
    for (Var k = 0; k < p.nout; k++)
        copy_of(f, p.out + k)->local = out + k;
    return copy_of(f, v)->local;
}

/* ---- a function's Applies ---- */

/* Positions are counted anew in each function, from the shard's first row on. */
static bool positions_in(Build *q, Phase *f, Var v) {
    SplitApply p = apply_at(q, var_owner(q->w->g, v));
    return rows_apply(q, f, &p);
}

static Var copy_in(Build *q, Phase *f, Var v) {
    const Spread *x = &q->w->spread[v];
    if (copy_of(f, v)->rows != VAR_NONE) return copy_of(f, v)->rows;
    if (x->position) return positions_in(q, f, v) ? copy_of(f, v)->rows : VAR_NONE;
    return copy_of(f, v)->rows = x->rows ? rows_in(q, f, v) : whole_in(q, f, v);
}

/* An index that counts rows is one of the shard if it reads rows. */
static bool input_in(Build *q, Phase *f, const SplitApply *p, size_t i, Var *out) {
    const Spread *x = split_of(p, i);
    if (!x->rows && split_gives_shape(q->w->s, p->op, p->nin, i))
        return (*out = local_in(q, f, p->in[i])) != VAR_NONE;
    *out = copy_in(q, f, p->in[i]);
    bool local = split_is_index_op(q->w->s, p->op) && i > 0 && split_of(p, 0)->rows;
    if (x->position && !local && *out != VAR_NONE)
        *out = whole_position(q, f, p->in[i], *out);
    return *out != VAR_NONE;
}

static bool inputs_in(Build *q, Phase *f, const SplitApply *p, Var *in) {
    for (size_t i = 0; i < p->nin; i++)
        if (!input_in(q, f, p, i, &in[i])) return false;
    return true;
}

static void name_copies(Build *q, Phase *f, const SplitApply *p, Var out) {
    for (Var k = 0; k < p->nout; k++) {
        Sym name = var_name(q->w->g, p->out + k);
        copy_of(f, p->out + k)->rows = out + k;
        if (name && !graph_has_dim(f->fn, name)) graph_try_name(f->fn, out + k, name);
    }
}

/* Each shard draws from a stream of its own. */
static bool fork_stream(Phase *f, Var *state) {
    Var in[2] = {*state, f->number};
    return (*state = apply_named(&f->b, "rng_fork", 2, in, 0, NULL)) != VAR_NONE;
}

/* Of no elements, as a shard without rows has, a size left open can't be told beside
 * another one that is 0: all but that of the rows are given, if they are known. */
static Var shape_in(Build *q, Phase *f, const SplitApply *p, Var shape) {
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

static bool rows_apply(Build *q, Phase *f, const SplitApply *p) {
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

static bool cross_rows(Build *q, Phase *f, const SplitApply *p) {
    Crossing how = q->w->crossing[p->id];
    Var *in = NEW_N(q->w->a, p->nin, Var);
    if (!inputs_in(q, f, p, in)) return false;
    f->b.from = q->w->g->origin[p->id];
    bool counts = how == CROSS_MAX || how == CROSS_MIN;
    Var part = crossing_part(p, &f->b, in, counts ? all_rows(q, f) : VAR_NONE);
    bool sum = how == CROSS_SUM || how == CROSS_MEAN || how == CROSS_INC;
    vec_push(q->w->s, &f->out,
             ((Leaving){p->out, part, sum ? SHARD_SUM : SHARD_STACK, VAR_NONE}));
    return part != VAR_NONE;
}

/* ---- a function and its call ---- */

/* The level of the function in which an Apply is computed, if it is from rows. */
static uint32_t function_level(const Build *q, ApplyId id) {
    const Spread *x = split_of_apply(q->w, id);
    return x->level - (q->w->crossing[id] != CROSS_NONE || x->part);
}

/* An Apply concerns its function, and the level at which a whole value is made. */
static void sort_by_level(Build *q, ApplyId n) {
    const Split *w = q->w;
    size_t *at = NEW_N(w->a, w->levels + 2, size_t);
    q->first = NEW_N(w->a, w->levels + 2, size_t);
    q->of_level = NEW_N(w->a, 2 * (size_t)n + 1, ApplyId);
    for (int fill = 0; fill < 2; fill++) {
        for (ApplyId id = 0; id < n; id++) {
            uint32_t in = function_level(q, id),
                     whole = w->spread[w->g->apply[id].out].level;
            if (fill) q->of_level[at[in]] = id;
            at[in]++;
            if (whole == in) continue;
            if (fill) q->of_level[at[whole]] = id;
            at[whole]++;
        }
        for (uint32_t k = 0; !fill && k <= w->levels; k++)
            q->first[k + 1] = q->first[k] + at[k];
        memcpy(at, q->first, (w->levels + 2) * sizeof *at);
    }
}

/* Is the variable computed in the function of this level, from rows? */
static bool emit_apply(Build *q, Phase *f, const SplitApply *p, uint32_t level) {
    const Spread *x = split_of_apply(q->w, p->id);
    if (function_level(q, p->id) != level) return true;
    if (q->w->crossing[p->id] != CROSS_NONE) return cross_rows(q, f, p);
    if (!x->rows && !x->part) return true;
    if (!rows_apply(q, f, p)) return false;
    for (Var v = p->out; v < p->out + p->nout; v++) {
        if (q->w->spread[v].part && q->w->live[v])
            vec_push(q->w->s, &f->out,
                     ((Leaving){v, copy_of(f, v)->rows, SHARD_SUM, VAR_NONE}));
        if (!q->leaves[v]) continue;
        const Spread *r = &q->w->spread[v];
        Var out = copy_of(f, v)->rows;
        if (r->position) out = whole_position(q, f, v, out);
        if (out != VAR_NONE)
            out = transposed(&f->b, out, var_type(q->w->g, v)->ndim, r->axis, 0);
        if (out == VAR_NONE) return false;
        vec_push(q->w->s, &f->out, ((Leaving){v, out, SHARD_ROWS, VAR_NONE}));
    }
    return true;
}

static bool call_function(Build *q, Phase *f) {
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

/* ---- exchanges ---- */

/* Of a result with a known shape; 0: nothing is known. */
static int64_t bytes_of(const Type *t) {
    int64_t n = (int64_t)dtype_size(t->dtype);
    for (int k = 0; k < t->ndim; k++)
        if (!dim_is_known(t->dim[k]) || !i64_mul(n, t->dim[k], &n)) return 0;
    return n;
}

/* Replaces each by its sum over all ranks, in one exchange. */
static bool sum_bucket(Build *q, size_t n, Leaving **x) {
    Var *in = NEW_N(q->w->a, n, Var), *out = NEW_N(q->w->a, n, Var);
    const Op *op = op_known(q->w->s, OP_ALL_SUM);
    for (size_t i = 0; i < n; i++)
        in[i] = x[i]->value;
    if (n && !op_apply(&q->b, op, props_make(q->w->s, op, 0, NULL), n, in, out))
        return false;
    for (size_t i = 0; i < n; i++)
        x[i]->value = out[i];
    return true;
}

typedef struct Bucket {
    Leaving **x;
    size_t n;
    int64_t bytes;
} Bucket;

static bool close_bucket(Build *q, Bucket *b) {
    bool ok = sum_bucket(q, b->n, b->x);
    b->n = 0;
    b->bytes = 0;
    return ok;
}

/* The sums of a function in few exchanges, in the order in which it makes them: each
 * large one by itself, then the small ones together. They begin as soon as the last
 * shard has made them, and some are computed with while others are under way. */
static bool sum_over_ranks(Build *q, Phase *f) {
    enum { BUCKET_BYTES = 4 << 20 };
    int64_t most = q->w->o->bucket ? q->w->o->bucket : BUCKET_BYTES;
    Bucket b = {.x = NEW_N(q->w->a, f->out.n, Leaving *)};
    bool ok = true;
    for (int small = 0; small < 2; small++) {
        for (size_t i = 0; ok && i < f->out.n; i++) {
            Leaving *x = &f->out.p[i];
            if (x->how != SHARD_SUM) continue;
            int64_t own = bytes_of(var_type(q->w->g, x->value));
            if ((own < most) != (small == 1)) continue;
            if (b.n && own > most - b.bytes) ok = close_bucket(q, &b);
            b.x[b.n++] = x;
            b.bytes += own;
        }
        ok = ok && close_bucket(q, &b);
    }
    return ok;
}

/* ---- the main graph ---- */

static bool take_results(Build *q, Phase *f) {
    for (size_t i = 0; i < f->out.n; i++) {
        const Leaving *x = &f->out.p[i];
        if (x->how == SHARD_ROWS) {
            q->joined[x->of] = x->value;
            continue;
        }
        SplitApply p = apply_at(q, var_owner(q->w->g, x->of));
        q->b.from = q->w->g->origin[p.id];
        bool adds = q->w->crossing[p.id] == CROSS_INC;
        Var whole = adds ? main_of(q, p.in[0]) : VAR_NONE;
        if (adds && whole == VAR_NONE) return false;
        q->main[x->of] = crossing_finish(&p, &q->b, x->value, q->rows, whole);
        if (q->main[x->of] == VAR_NONE) return false;
    }
    return true;
}

/* The state after a draw, which doesn't depend on what is drawn. */
static Var next_state(Build *q, Var state) {
    Session *s = q->w->s;
    const Op *draw = op_known(s, OP_DRAW);
    PropArg arg[] = {{"dist", PROP_STR(sym(s, "uniform"))},
                     {"dtype", PROP_DTYPE(DT_FLOAT64)}};
    int64_t none = 0;
    Var in[4] = {main_of(q, state), const_number(&q->b, DT_FLOAT64, 0),
                 const_number(&q->b, DT_FLOAT64, 1), const_ints(&q->b, 1, &none)},
        out[2];
    return in[0] != VAR_NONE &&
                   op_apply(&q->b, draw, props_make(s, draw, 2, arg), 4, in, out)
               ? out[0]
               : VAR_NONE;
}

static bool whole_apply(Build *q, const SplitApply *p) {
    Graph *g = q->w->g;
    Session *s = q->w->s;
    if (is_shape_of_rows(p))
        return (q->main[p->out] = shape_with(p, &q->b, q->rows)) != VAR_NONE;
    if (op_is(s, p->op, OP_DRAW) && q->w->spread[p->out + 1].rows)
        return (q->main[p->out] = next_state(q, p->in[0])) != VAR_NONE;
    Var *in = NEW_N(q->w->a, p->nin + 1, Var);
    for (size_t i = 0; i < p->nin; i++)
        if ((in[i] = main_of(q, p->in[i])) == VAR_NONE) return false;
    Var out = graph_copy_apply(g, g, p->id, in, true);
    q->dropped[p->id] = p->op->effect;
    for (Var k = 0; k < p->nout; k++)
        q->main[p->out + k] = out + k;
    return true;
}

static bool is_made_anew(const Build *q, Var v) {
    const Spread *x = &q->w->spread[v];
    return !x->rows && (x->counts || x->level > 0);
}

static Var main_of(Build *q, Var v) {
    if (q->main[v] == VAR_NONE) {
        if (is_made_anew(q, v)) bug("variable %u is needed before it is made", v);
        q->main[v] = v;
    }
    return q->main[v];
}

/* Whole values of a level, in their order. */
static bool whole_applies(Build *q, uint32_t level) {
    for (size_t i = q->first[level]; i < q->first[level + 1]; i++) {
        ApplyId id = q->of_level[i];
        SplitApply p = apply_at(q, id);
        if (!is_live(q, &p) || q->w->crossing[id] != CROSS_NONE) continue;
        const Spread *x = split_of_apply(q->w, id);
        if (x->part || (x->rows && op_is(q->w->s, p.op, OP_SCAN))) continue;
        if (!is_made_anew(q, p.out) || q->w->spread[p.out].level != level) continue;
        q->b.from = q->w->g->origin[id];
        if (!whole_apply(q, &p)) return false;
    }
    return true;
}

/* ---- all of it ---- */

static Var *none_of(Build *q) {
    Var *v = NEW_N(q->w->a, q->w->g->nvar, Var);
    memset(v, 0xff, q->w->g->nvar * sizeof *v);
    return v;
}

static void phase_open(Build *q, Phase *f) {
    Session *s = q->w->s;
    *f = (Phase){.fn =
                     graph_function_new(q->w->g, graph_function_name(q->w->g, "shard")),
                 .copy = q->copy,
                 .rows = VAR_NONE};
    f->fn->floatX = q->w->g->floatX;
    f->b = builder(f->fn, true);
    f->number = graph_input(f->fn, sym(s, "shard"), type_tensor(s, DT_INT64, 0, NULL));
}

static void phase_close(Phase *f) {
    for (size_t i = 0; i < f->touched.n; i++)
        f->copy[f->touched.p[i]] = (Copy){VAR_NONE, VAR_NONE, VAR_NONE};
    vec_free(&f->touched);
    vec_free(&f->arg);
    vec_free(&f->split);
    vec_free(&f->out);
}

static bool build_phase(Build *q, uint32_t level) {
    Phase f;
    bool ok = true;
    phase_open(q, &f);
    for (size_t i = q->first[level]; ok && i < q->first[level + 1]; i++) {
        SplitApply p = apply_at(q, q->of_level[i]);
        ok = !is_live(q, &p) || emit_apply(q, &f, &p, level);
    }
    if (ok && f.out.n)
        ok = call_function(q, &f) && sum_over_ranks(q, &f) && take_results(q, &f);
    else if (ok)
        graph_function_drop(f.fn);
    phase_close(&f);
    return ok;
}

/* Which rows are needed outside of the function that computes them? */
static bool find_leaving(Build *q, ApplyId n, Var nvar) {
    const Graph *g = q->w->g;
    for (ApplyId id = 0; id < n; id++) {
        SplitApply p = apply_at(q, id);
        if (!is_live(q, &p)) continue;
        const Spread *x = split_of_apply(q->w, id);
        uint32_t level = function_level(q, id);
        bool inside = x->rows || q->w->crossing[id] != CROSS_NONE || x->part;
        for (size_t i = 0; inside && i < p.nin; i++) {
            const Spread *in = split_of(&p, i);
            if (in->rows && !in->position && in->level < level)
                q->leaves[p.in[i]] = true;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        if (q->w->spread[g->outputs.p[i].var].rows)
            q->leaves[g->outputs.p[i].var] = true;
    for (Var v = 0; v < nvar; v++) {
        if (!q->leaves[v] || !split_is_merged(&q->w->spread[v])) continue;
        SplitApply p = apply_at(q, var_owner(g, v));
        return split_fail(&p,
                          "its rows are merged with another axis, and are needed as "
                          "they are");
    }
    return true;
}

/* The rows of all ranks, for outputs. */
static bool gather_output(Build *q, Var v) {
    if (q->main[v] != VAR_NONE) return true;
    Var all = op_call1(&q->b, "all_gather", q->joined[v]);
    if (all != VAR_NONE)
        all =
            transposed(&q->b, all, var_type(q->w->g, v)->ndim, 0, q->w->spread[v].axis);
    q->main[v] = all;
    return all != VAR_NONE;
}

static void drop_effects(Build *q, ApplyId n) {
    Graph *g = q->w->g;
    size_t kept = 0;
    for (size_t i = 0; i < g->effects.n; i++) {
        ApplyId id = g->effects.p[i];
        bool rows = id < n && q->w->spread[g->apply[id].out].rows;
        if (id >= n || (!q->dropped[id] && !rows)) g->effects.p[kept++] = id;
    }
    g->effects.n = kept;
}

static bool build_all(Build *q) {
    Graph *g = q->w->g;
    const ApplyId n = g->napply;
    const Var nvar = g->nvar;
    Var own = shape_of(&q->b, q->w->first, 0);
    if (own == VAR_NONE) return false;
    if ((q->rows = op_call1(&q->b, "all_sum", own)) == VAR_NONE) return false;
    for (Var v = 0; v < nvar; v++)
        if (var_leaf(g, v) == LEAF_DIM && q->w->spread[v].counts) q->main[v] = q->rows;
    for (size_t i = 0; i < q->w->o->inputs.n; i++)
        q->joined[q->w->o->inputs.p[i]] = q->w->o->inputs.p[i];
    if (!find_leaving(q, n, nvar)) return false;
    sort_by_level(q, n);
    for (uint32_t level = 0; level < q->w->levels; level++)
        if (!whole_applies(q, level) || !build_phase(q, level)) return false;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (q->w->spread[g->outputs.p[i].var].rows &&
            !gather_output(q, g->outputs.p[i].var))
            return false;
    Var *forward = NEW_N(q->w->a, g->nvar, Var);
    for (Var v = 0; v < g->nvar; v++)
        forward[v] = v < nvar && q->main[v] != VAR_NONE ? q->main[v] : v;
    for (Var v = 0; v < nvar; v++) /* the rank's own number of rows stays its own */
        if (var_leaf(g, v) == LEAF_DIM) forward[v] = v;
    drop_effects(q, n);
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.p[i].var = forward[g->outputs.p[i].var];
    graph_outputs_changed(g);
    for (size_t i = 0; i < g->updates.n; i++)
        g->updates.p[i].value = forward[g->updates.p[i].value];
    graph_updates_changed(g);
    graph_compact(g, ROOTS_RUN | ROOTS_INIT, NULL, false);
    return true;
}

bool split_build(Split *w) {
    Build q = {.w = w, .b = builder(w->g, true)};
    q.main = none_of(&q);
    q.joined = none_of(&q);
    q.copy = NEW_N(w->a, w->g->nvar, Copy);
    memset(q.copy, 0xff, w->g->nvar * sizeof *q.copy);
    q.leaves = NEW_N(w->a, w->g->nvar, bool);
    q.dropped = NEW_N(w->a, w->g->napply + 1, uint8_t);
    return build_all(&q);
}
