/* Scans over segments. n steps in segments of k make m = n / k segments, which follow r
 * = n % k steps:
 *
 *     front    = scan(fn, x, h0, n_steps=r)
 *     result   = scan(segment, x[r:] as [m, k, ...], last(front), n_steps=m)
 *     segment  : x [k, ...], h -> scan(fn, x, h, n_steps=k)
 *
 * The rows of all steps are those of front, then [m, k, ...] as [m * k, ...]. A state
 * is passed from segment to segment as its last value or, with deeper taps, its last
 * rows. */
#include "scan/checkpoint.h"

#include "scan/builder.h"

#include <math.h>

typedef struct ScanSegments {
    Builder *b;
    Session *s;
    Arena *a;
    ScanForm f;
    const Op *op;
    const Props *props;
    const Var *arg;
    const Type **type;   /* of the results */
    const int64_t *keep; /* by output */
    bool known;          /* n and k are known statically */
    int64_t rest;        /* r, if known */
    Var n, k, m, r;
    /* for the body of the scan over segments: */
    ScanBuilder make;
    Var steps, *in; /* in: arguments of the inner scan */
    size_t nin;
    size_t *rows, *carry; /* by output: index in make.out, or NO_OUTPUT */
    Var *init;            /* by output: initial value of a state, after the front */
    Var *front;           /* by output: the rows of the front */
} ScanSegments;
#define NO_OUTPUT SIZE_MAX

const char *scan_why_no_segments(const ScanForm *f) {
    bool state = false, object = false;
    for (size_t o = 0; o < f->nout; o++) {
        state |= f->out[o].ntap > 0;
        object |= scan_out_is_object(f, o);
    }
    return f->fn->until != VAR_NONE ? "it may end early"
           : f->truncate != -1      ? "its gradient goes back only some of the steps"
           : f->fn->effects.n       ? "its body has effects"
           : f->checkpoint          ? "it already has a checkpoint"
           : object                 ? "a result is not a tensor, so it has no rows"
           : !state                 ? "it has no state"
                                    : NULL;
}

static Var build_formula(Builder *b, const char *text, Var x, Var y, Var n) {
    Bind bind[] = {{sym(b->s, "x"), x}, {sym(b->s, "y"), y}, {sym(b->s, "n"), n}};
    Env env = {.n = 3, .bind = bind};
    bool ok = x != VAR_NONE && y != VAR_NONE && n != VAR_NONE;
    Var v = ok ? template_build(b, text, &env, &ok) : VAR_NONE;
    return ok ? v : VAR_NONE;
}

/* ---- the length of segments ---- */

/* About the square root of n; preferably a divisor of n, so that no steps are left
 * over. */
static int64_t length_near_root(int64_t n) {
    int64_t root = (int64_t)ceil(sqrt((double)n));
    if (n < 1) return 1;
    for (int64_t d = 0; 3 * d <= root; d++) {
        if (n % (root + d) == 0) return root + d;
        if (n % (root - d) == 0) return root - d;
    }
    return root;
}

static Var symbolic_length(ScanSegments *q, int64_t every) {
    Var one = const_int(q->b, 1);
    if (every != STRETCH_SQRT)
        return build_formula(q->b, "minimum(maximum(x, n), y)", q->n,
                             const_int(q->b, every), one);
    return build_formula(q->b, "maximum(cast(ceil(sqrt(x)), 'int64'), y)", q->n, one,
                         one);
}

static bool set_segment_lengths(ScanSegments *q, int64_t every) {
    const Tensor *c = var_const(q->b->g, q->n);
    q->known = c != NULL;
    if (c) {
        int64_t n = tensor_i64(c, 0),
                k = every == STRETCH_SQRT ? length_near_root(n) : every;
        if (k < 1) k = 1;
        if (k > n && n > 0) k = n;
        q->rest = n % k;
        q->k = const_int(q->b, k);
        q->m = const_int(q->b, n / k);
        q->r = const_int(q->b, q->rest);
        return q->k != VAR_NONE && q->m != VAR_NONE && q->r != VAR_NONE;
    }
    q->k = symbolic_length(q, every);
    q->m = build_formula(q->b, "x // y", q->n, q->k, q->k);
    q->r = build_formula(q->b, "x % y", q->n, q->k, q->k);
    return q->k != VAR_NONE && q->m != VAR_NONE && q->r != VAR_NONE;
}

static bool has_front(const ScanSegments *q) {
    return !q->known || q->rest > 0;
}

/* ---- the steps before the first full segment ---- */

static const Props *segment_props(ScanSegments *q, const int64_t *keep,
                                  Prop sequences) {
    PropArg p[] = {{"fn", {.kind = P_GRAPH, .sym = q->f.fn->name}},
                   {"sequences", sequences},
                   {"states", *op_prop(q->s, q->op, q->props, "states")},
                   {"keep", PROP_INTS(keep, q->f.nout)}};
    return props_make(q->s, q->op, 4, p);
}

static bool wants_rows(const ScanSegments *q, size_t o) {
    return q->keep[o] == SCAN_ALL || q->keep[o] > 1;
}

/* What a scan over single steps keeps of an output: all rows, or what the next
 * segment's state needs. */
static int64_t keep_of_steps(const ScanSegments *q, size_t o) {
    const ScanOut *out = &q->f.out[o];
    if (wants_rows(q, o)) return SCAN_ALL;
    return out->ntap && !scan_one_row(out) ? out->depth : SCAN_LAST;
}

/* A state after some steps; `rows` is what those steps kept of it. */
static Var state_after_steps(Builder *b, const ScanSegments *q, size_t o, Var init,
                             Var rows, bool some) {
    const ScanOut *out = &q->f.out[o];
    bool one = scan_one_row(out);
    if (one && keep_of_steps(q, o) == SCAN_LAST) return rows;
    Var depth = const_int(b, -out->depth);
    if (!one) return build_formula(b, "concatenate([x, y[n:]])[n:]", init, rows, depth);
    return build_formula(b, some ? "y[n]" : "concatenate([x[None], y[n:]])[n]", init,
                         rows, depth);
}

/* Of an output that isn't a state, keep rows only: if no step runs it has no last
 * value. */
static bool make_front(ScanSegments *q) {
    int64_t *keep = NEW_N(q->a, q->f.nout, int64_t);
    Var *in = arena_copy(q->a, q->arg, (q->f.other_arg + q->f.nother) * sizeof *in);
    for (size_t o = 0; o < q->f.nout; o++)
        keep[o] = !q->f.out[o].ntap && !wants_rows(q, o) ? 1 : keep_of_steps(q, o);
    in[0] = q->r;
    if (!op_apply(q->b, q->op,
                  segment_props(q, keep, *op_prop(q->s, q->op, q->props, "sequences")),
                  q->f.other_arg + q->f.nother, in, q->front))
        return false;
    for (size_t o = 0; o < q->f.nout; o++)
        if (q->f.out[o].ntap &&
            (q->init[o] = state_after_steps(q->b, q, o, q->init[o], q->front[o],
                                            q->known)) == VAR_NONE)
            return false;
    return true;
}

/* ---- the body of the scan over segments ---- */

static const Type *body_input_type(const ScanSegments *q, size_t input) {
    return var_type(q->f.fn, q->f.fn->inputs.p[input]);
}

static Sym body_input_name(const ScanSegments *q, size_t input) {
    return var_name(q->f.fn, q->f.fn->inputs.p[input]);
}

static Var add_const(ScanSegments *q, Var x, int64_t y) {
    const Tensor *c = var_const(q->b->g, x);
    if (c) return const_int(q->b, tensor_i64(c, 0) + y);
    return y ? build_formula(q->b, "x + y", x, const_int(q->b, y), x) : x;
}

/* The rows of x that the segments read through one tap, as [m, k, ...]. */
static Var split_into_segments(ScanSegments *q, Var x, int64_t from) {
    Builder *b = q->b;
    Var shape[MAX_NDIM], begin = add_const(q, q->r, from),
                         end = add_const(q, q->n, from);
    const Tensor *n = var_const(b->g, q->n);
    bool whole = n && !has_front(q) && var_type(b->g, x)->dim[0] == tensor_i64(n, 0);
    Var rows = whole ? x : build_formula(b, "x[y:n]", x, begin, end);
    if (rows == VAR_NONE) return rows;
    int ndim = var_type(b->g, rows)->ndim;
    shape[0] = q->m;
    shape[1] = q->k;
    for (int i = 1; i < ndim; i++)
        if ((shape[i + 1] = shape_of(b, x, i)) == VAR_NONE) return VAR_NONE;
    return op_call2(b, "reshape", rows, ints_stack(b, (size_t)ndim + 1, shape));
}

static void add_inner_input(ScanSegments *q, Var v) {
    q->in[q->nin++] = v;
}

/* A dim for the steps of a segment: their number, or a name that no dim of the function
 * has. */
static Dim segment_dim(const ScanSegments *q) {
    const Tensor *k = var_const(q->b->g, q->k);
    if (k) return tensor_i64(k, 0);
    for (unsigned number = 0;; number++) {
        Sym y = sym(q->s, arena_printf(q->a, number ? "steps_%u" : "steps", number));
        bool taken = false;
        for (size_t i = 0; i < q->f.nin; i++) {
            const Type *t = body_input_type(q, i);
            for (int d = 0; t->kind == TYPE_TENSOR && d < t->ndim; d++)
                taken |= t->dim[d] == DIM_NAMED(y);
        }
        if (!taken) return DIM_NAMED(y);
    }
}

/* The steps of a segment are the length of its sequences; without sequences they are an
 * argument. */
static bool add_segment_sequences(ScanSegments *q) {
    Dim dim = segment_dim(q);
    q->steps = dim_is_known(dim) ? const_int(&q->make.in, dim) : VAR_NONE;
    if (dim_is_known(dim) && q->steps == VAR_NONE) return false;
    for (size_t i = 0; i < q->f.nseq; i++)
        for (size_t t = 0; t < q->f.seq[i].ntap; t++) {
            const ScanSeq *s = &q->f.seq[i];
            Var x = split_into_segments(q, q->arg[s->arg], s->tap[t] - s->low);
            const Type *type = type_of_rows(q->s, dim, body_input_type(q, s->in + t));
            if (x == VAR_NONE) return false;
            size_t at = scan_builder_add_seq(&q->make, body_input_name(q, s->in + t),
                                             scan_fit_arg(q->b, x, type, 1), 0, type);
            Var row = q->make.seq.p[at].tap.p[0].in;
            if (q->make.seq.p[at].x == VAR_NONE) return false;
            if (q->steps == VAR_NONE &&
                (q->steps = shape_of(&q->make.in, row, 0)) == VAR_NONE)
                return false;
            add_inner_input(q, row);
        }
    if (q->steps != VAR_NONE) return true;
    size_t at = scan_builder_add_other(&q->make, sym(q->s, "steps"), q->k,
                                       type_tensor(q->s, DT_INT64, 0, NULL));
    q->steps = q->make.other.p[at].tap.p[0].in;
    return true;
}

static bool add_segment_states(ScanSegments *q) {
    for (size_t o = 0; o < q->f.nout; o++) {
        const ScanOut *out = &q->f.out[o];
        Sym label = q->f.fn->outputs.p[o].label;
        q->rows[o] = q->carry[o] = NO_OUTPUT;
        if (out->ntap) {
            const Type *t = body_input_type(q, out->in);
            if (!scan_one_row(out)) t = type_of_rows(q->s, out->depth, t);
            q->carry[o] = scan_builder_add_out(&q->make, label, SCAN_LAST);
            Var init = scan_fit_arg(q->b, q->init[o], t, 0);
            if (init == VAR_NONE) return false;
            q->make.out.p[q->carry[o]].x = init;
            q->make.out.p[q->carry[o]].wanted = q->keep[o] == SCAN_LAST;
            add_inner_input(
                q, scan_builder_add_tap(&q->make, &q->make.out.p[q->carry[o]], -1, t));
        }
        if (out->ntap && q->keep[o] == SCAN_LAST) continue;
        q->rows[o] = scan_builder_add_out(&q->make, label,
                                          q->keep[o] > 1 ? SCAN_ALL : q->keep[o]);
        q->make.out.p[q->rows[o]].wanted = true;
    }
    return true;
}

static void add_segment_others(ScanSegments *q) {
    for (size_t i = 0; i < q->f.nother; i++) {
        Var x = q->arg[q->f.other_arg + i];
        size_t in = q->f.other_in + i;
        const Tensor *c = var_const(q->b->g, x);
        if (c && c->ndim == 0) {
            add_inner_input(q, graph_share_const(q->make.body, q->b->g, x, true));
            continue;
        }
        size_t at = scan_builder_add_other(&q->make, body_input_name(q, in), x,
                                           body_input_type(q, in));
        add_inner_input(q, q->make.other.p[at].tap.p[0].in);
    }
}

/* In a segment, every tap of a sequence becomes a sequence of its own. */
static Prop single_tap_sequences(ScanSegments *q) {
    size_t n = 0;
    for (size_t i = 0; i < q->f.nseq; i++)
        n += q->f.seq[i].ntap;
    int64_t *v = NEW_N(q->a, 2 * n, int64_t);
    for (size_t i = 0; i < n; i++)
        v[2 * i] = 1;
    return PROP_INTS(v, 2 * n);
}

static bool make_segment_body(ScanSegments *q) {
    int64_t *keep = NEW_N(q->a, q->f.nout, int64_t);
    Var *y = NEW_N(q->a, OUT_MAX, Var);
    Builder *b = &q->make.in;
    for (size_t o = 0; o < q->f.nout; o++)
        keep[o] = keep_of_steps(q, o);
    q->in[0] = q->steps;
    if (!op_apply(b, q->op, segment_props(q, keep, single_tap_sequences(q)), q->nin,
                  q->in, y))
        return false;
    for (size_t o = 0, state = 1 + q->make.seq.n; o < q->f.nout; o++) {
        Var tail = q->carry[o] == NO_OUTPUT
                       ? VAR_NONE
                       : state_after_steps(b, q, o, q->in[state++], y[o], true);
        if (q->carry[o] != NO_OUTPUT && tail == VAR_NONE) return false;
        if (q->carry[o] != NO_OUTPUT) q->make.out.p[q->carry[o]].made = tail;
        if (q->rows[o] == NO_OUTPUT) continue;
        bool window = q->carry[o] != NO_OUTPUT && !scan_one_row(&q->f.out[o]);
        q->make.out.p[q->rows[o]].made =
            window && !wants_rows(q, o)
                ? build_formula(b, "x[n]", tail, tail, const_int(b, -1))
                : y[o];
    }
    return true;
}

/* ---- results ---- */

/* Reshapes [m, k, ...] to [m * k, ...]. */
static Var join_segment_rows(ScanSegments *q, Var x) {
    Builder *b = q->b;
    Var shape[MAX_NDIM];
    int ndim = var_type(b->g, x)->ndim;
    shape[0] = q->known ? add_const(q, q->n, -q->rest)
                        : build_formula(b, "x * y", q->m, q->k, q->k);
    for (int i = 2; i < ndim; i++)
        shape[i - 1] = shape_of(b, x, i);
    for (int i = 0; i < ndim - 1; i++)
        if (shape[i] == VAR_NONE) return VAR_NONE;
    return op_call2(b, "reshape", x, ints_stack(b, (size_t)ndim - 1, shape));
}

/* Specifies that x has n rows. */
static Var specify_length(ScanSegments *q, Var x) {
    Builder *b = q->b;
    Var shape[MAX_NDIM];
    int ndim = var_type(b->g, x)->ndim;
    for (int i = 0; i < ndim; i++)
        shape[i] = i ? const_int(b, -1) : q->n;
    return op_call2(b, "specify_shape", x, ints_stack(b, (size_t)ndim, shape));
}

static Var segment_result(ScanSegments *q, size_t o) {
    size_t at = q->rows[o] != NO_OUTPUT ? q->rows[o] : q->carry[o];
    Var x = q->make.out.p[at].result;
    if (q->keep[o] == SCAN_LAST)
        return q->rows[o] == NO_OUTPUT && !scan_one_row(&q->f.out[o])
                   ? build_formula(q->b, "x[n]", x, x, const_int(q->b, -1))
                   : x;
    if (q->keep[o] == 1) return x;
    x = join_segment_rows(q, x);
    if (has_front(q)) x = build_formula(q->b, "concatenate([x, y])", q->front[o], x, x);
    if (x == VAR_NONE || q->keep[o] == SCAN_ALL)
        return x == VAR_NONE ? x : specify_length(q, x);
    return build_formula(q->b, "x[n:]", x, x, const_int(q->b, -q->keep[o]));
}

/* ---- the whole ---- */

static bool scan_over_segments(ScanSegments *q, Var *out) {
    size_t n = 1 + q->f.nin;
    q->in = NEW_N(q->a, n, Var);
    q->nin = 1;
    q->make.steps = q->m;
    q->make.checkpoint = true;
    if (!add_segment_sequences(q) || !add_segment_states(q)) return false;
    add_segment_others(q);
    const char *name = arena_printf(q->a, "%s_stretch", sym_text(q->s, q->f.fn->name));
    if (!make_segment_body(q) || !scan_builder_apply(&q->make, name)) return false;
    for (size_t o = 0; o < q->f.nout; o++)
        if ((out[o] = segment_result(q, o)) == VAR_NONE) return false;
    return true;
}

static void read_scan_apply(ScanSegments *q, ApplyId id, const int64_t *keep) {
    const Graph *g = q->b->g;
    const Apply *ap = &g->apply[id];
    int64_t *all = NEW_N(q->a, ap->nout, int64_t);
    q->f = scan_form_of(g, id, q->a);
    q->op = ap->op;
    q->props = ap->props;
    q->arg = arena_copy(q->a, apply_in(g, id), ap->nin * sizeof(Var));
    q->n = q->arg[0];
    q->init = NEW_N(q->a, ap->nout, Var);
    q->front = NEW_N(q->a, OUT_MAX, Var);
    q->rows = NEW_N(q->a, ap->nout, size_t);
    q->carry = NEW_N(q->a, ap->nout, size_t);
    for (size_t o = 0; o < ap->nout; o++) {
        all[o] = keep ? keep[o] : q->f.out[o].keep;
        q->init[o] = q->f.out[o].ntap ? q->arg[q->f.out[o].arg] : VAR_NONE;
    }
    q->keep = all;
}

bool scan_in_segments(Builder *b, ApplyId id, int64_t every, const int64_t *keep,
                      Var *out) {
    ScanSegments q = {.b = b, .s = b->s, .a = arena_new(b->s)};
    read_scan_apply(&q, id, keep);
    scan_builder_open(&q.make, b, VAR_NONE);
    bool ok = set_segment_lengths(&q, every) && (!has_front(&q) || make_front(&q)) &&
              scan_over_segments(&q, out);
    scan_builder_close(&q.make);
    arena_free(q.a);
    return ok;
}
