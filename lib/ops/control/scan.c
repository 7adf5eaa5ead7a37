/* scan(steps, sequences..., initials..., others..., fn=body): runs a function of the
 * graph once per step (op/scan.h). The language's scan(...) builds it (scan_call.c),
 * the VM runs it (vm/scan.c). */
#include "scan/scan.h"

#include "ops/control/scan.h"
#include "ops/control/unify.h"

#include <string.h>

/* ---- typing ---- */

typedef struct ScanTyping {
    Infer *in;
    ScanForm f;
    Arena *a;
    Unify u;
    bool steps_known;
    int64_t steps;
    Dim steps_dim;
    const Type **row; /* of the body's inputs */
} ScanTyping;

static const char *body_name(const ScanTyping *t) {
    return sym_text(t->in->s, t->f.fn->name);
}

static const char *output_label(const ScanTyping *t, size_t k) {
    return sym_text(t->in->s, t->f.fn->outputs.p[k].label);
}

static bool body_fits(ScanTyping *t) {
    const ScanForm *f = &t->f;
    const Graph *fn = f->fn;
    size_t nin = t->in->nin;
    if (!fn)
        return infer_fail(t->in, E_NAME, nin, "there is no function %s",
                          sym_text(t->in->s, infer_prop(t->in, "fn")->sym));
    if (fn->inputs.n != f->nin)
        return infer_fail(t->in, E_ARITY, nin,
                          "%s takes %s, but gets %zu: one for each tap of "
                          "the sequences, one for each tap of the states, then the "
                          "non-sequences",
                          body_name(t), str_counted(t->in->s, fn->inputs.n, "argument"),
                          f->nin);
    if (fn->outputs.n == 0)
        return infer_fail(t->in, E_ARITY, nin,
                          "%s returns nothing: a step must have a result",
                          body_name(t));
    if (fn->outputs.n != f->nout || f->nout > OUT_MAX)
        return infer_fail(t->in, E_ARITY, nin, "%s has %s, but outputs_info has %s",
                          body_name(t), str_counted(t->in->s, fn->outputs.n, "output"),
                          str_counted(t->in->s, f->nout, "entry"));
    return fn->shared.n == 0 ||
           infer_fail(t->in, E_ARG, nin, "the body %s has shared variables",
                      body_name(t));
}

static bool type_steps(ScanTyping *t) {
    t->steps_known = infer_int(t->in, 0, &t->steps);
    if (infer_dims(t->in, 0, &t->steps_dim, NULL) != 1) t->steps_dim = DIM_UNKNOWN;
    return !t->steps_known || t->steps >= 0 ||
           infer_fail(t->in, E_VALUE, 0,
                      "the number of steps is %lld: it must not be negative",
                      (long long)t->steps);
}

static bool type_sequence(ScanTyping *t, size_t i) {
    const ScanSeq *q = &t->f.seq[i];
    const Type *x = t->in->type[q->arg];
    if (x->kind != TYPE_TENSOR || x->ndim == 0)
        return infer_fail(t->in, E_TYPE, q->arg,
                          "sequence %zu must be a tensor with an axis for steps, not "
                          "%s",
                          i + 1, type_str(t->in->s, x));
    int64_t have = x->dim[0], need = t->steps + q->high - q->low;
    if (t->steps_known && dim_is_known(have) && have < need && t->steps > 0)
        return infer_fail(t->in, E_SHAPE, q->arg,
                          "sequence %zu has %lld rows, but %lld steps%s need %lld",
                          i + 1, (long long)have, (long long)t->steps,
                          q->high > q->low ? " with its taps" : "", (long long)need);
    for (size_t k = 0; k < q->ntap; k++)
        t->row[q->in + k] = type_of_row(t->in->s, x);
    return true;
}

/* A state without rows: a random state, a list, a sparse matrix, ... */
static bool type_rowless(ScanTyping *t, size_t i, const Type *x) {
    const ScanOut *o = &t->f.out[i];
    Session *s = t->in->s;
    const char *label = output_label(t, i);
    if (x->kind != TYPE_RANDOM && !scan_is_object(x))
        return infer_fail(
            t->in, E_TYPE, o->arg,
            "the state %s is %s, which has no values: a state must have a value", label,
            type_str(s, x));
    t->row[o->in] = x;
    if (scan_one_row(o)) return true;
    infer_fail(t->in, E_TYPE, o->arg,
               "the state %s is %s, which has no rows: its only tap must be -1", label,
               type_str(s, x));
    return note(s, NOWHERE, "carry the value of an earlier step as a state of its own");
}

static bool type_initial(ScanTyping *t, size_t i) {
    const ScanOut *o = &t->f.out[i];
    if (o->ntap == 0) return true;
    const Type *x = t->in->type[o->arg];
    const char *label = output_label(t, i);
    bool one = scan_one_row(o);
    if (x->kind != TYPE_TENSOR) return type_rowless(t, i, x);
    if (!one && x->ndim == 0)
        return infer_fail(t->in, E_SHAPE, o->arg,
                          "the initial value of %s needs %lld rows, for its taps, but "
                          "it is a scalar",
                          label, (long long)o->depth);
    if (!one && dim_is_known(x->dim[0]) && x->dim[0] != o->depth)
        return infer_fail(t->in, E_SHAPE, o->arg,
                          "the initial value of %s needs %lld rows, for its taps, but "
                          "it has %lld",
                          label, (long long)o->depth, (long long)x->dim[0]);
    for (size_t k = 0; k < o->ntap; k++)
        t->row[o->in + k] = one ? x : type_of_row(t->in->s, x);
    return true;
}

static bool unify_inputs(ScanTyping *t) {
    const Graph *fn = t->f.fn;
    Misfit why;
    for (size_t k = 0; k < t->f.nin; k++) {
        const Type *want = var_type(fn, fn->inputs.p[k]);
        if (unify_type(&t->u, want, t->row[k], k, &why)) continue;
        infer_fail(t->in, why.code, scan_arg(&t->f, k),
                   "the body %s gets %s as argument %zu, but its input %s is %s",
                   body_name(t), type_str(t->in->s, t->row[k]), k + 1,
                   sym_text(t->in->s, var_name(fn, fn->inputs.p[k])),
                   type_str(t->in->s, want));
        if (why.name)
            note(t->in->s, NOWHERE, "%s is %lld by argument %zu and %lld by this one",
                 sym_text(t->in->s, why.name), (long long)why.was, why.by + 1,
                 (long long)why.is);
        return false;
    }
    return true;
}

/* Notes where the body computes output k. */
static bool note_where_made(const ScanTyping *t, size_t k) {
    const Graph *fn = t->f.fn;
    ApplyId a = var_owner(fn, fn->outputs.p[k].var);
    if (a != APPLY_NONE) note(t->in->s, fn->origin[a].at, "the new value is made here");
    return false;
}

/* The body's input type for a state that is an object. */
static const Type *state_input_type(const ScanTyping *t, size_t i) {
    const Graph *fn = t->f.fn;
    return var_type(fn, fn->inputs.p[t->f.out[i].in]);
}

/* A named dim is one number in all steps, but a list's items may change. */
static bool check_no_dim_names(ScanTyping *t) {
    for (size_t i = 0; i < t->f.nout; i++) {
        const ScanOut *o = &t->f.out[i];
        const Type *type = o->ntap ? state_input_type(t, i) : NULL;
        if (!type || !scan_is_object(type) || type_unnamed(t->in->s, type) == type)
            continue;
        return infer_fail(t->in, E_TYPE, o->arg,
                          "the state %s of %s is declared %s, but the dims of a state "
                          "that is not a tensor have no names: write ? for them",
                          output_label(t, i), body_name(t), type_str(t->in->s, type));
    }
    return true;
}

/* The type of a state must not change between steps. */
static bool check_state(ScanTyping *t, size_t i, const Type *was, const Type *is) {
    const ScanOut *o = &t->f.out[i];
    Session *s = t->in->s;
    const char *label = output_label(t, i), *what = NULL;
    if (was->kind != is->kind)
        what = "type";
    else if (was->kind == TYPE_TENSOR && was->dtype != is->dtype)
        what = "dtype";
    else if (was->ndim != is->ndim)
        what = "number of dims";
    else if (scan_is_object(was) && !type_meet(s, state_input_type(t, i), is))
        what = "type";
    for (int d = 0; !what && d < was->ndim; d++)
        if (!dim_may_equal(was->dim[d], is->dim[d])) what = "shape";
    if (!what) return true;
    DiagCode code = strcmp(what, "dtype") == 0  ? E_DTYPE
                    : strcmp(what, "type") == 0 ? E_TYPE
                                                : E_SHAPE;
    infer_fail(
        t->in, code, o->arg,
        "the state %s starts as %s, but %s turns it into %s: its %s must not change",
        label, type_str(s, was), body_name(t), type_str(s, is), what);
    if (code == E_DTYPE)
        note(s, NOWHERE,
             "cast one of them: the initial value with %s(...), or the new value with "
             "%s(...)",
             dtype_name(is->dtype), dtype_name(was->dtype));
    return note_where_made(t, i);
}

/* The number of rows kept: a known number, the dim of the steps, or unknown. */
static Dim kept_rows_dim(const ScanTyping *t, const ScanOut *o) {
    bool fixed = t->f.fn->until == VAR_NONE;
    if (o->keep == SCAN_ALL) return fixed ? t->steps_dim : DIM_UNKNOWN;
    if (!fixed || !t->steps_known) return DIM_UNKNOWN;
    return t->steps < o->keep ? t->steps : o->keep;
}

/* An object: the last one itself, or the list of those kept. */
static bool type_object(ScanTyping *t, size_t i, const Type *row) {
    const ScanOut *o = &t->f.out[i];
    Session *s = t->in->s;
    if (o->ntap)
        row = type_join(s, t->row[o->in], type_meet(s, state_input_type(t, i), row));
    if (o->keep != SCAN_LAST && type_depth(row) >= TYPE_DEPTH_MAX)
        return infer_fail(t->in, E_LIMIT, t->in->nin,
                          "output %s would be a list of %s, but lists nest at most %d "
                          "deep: keep its last value (keep='last')",
                          output_label(t, i), type_str(s, row), TYPE_DEPTH_MAX);
    t->in->out[i] = o->keep == SCAN_LAST ? row : type_list(s, row);
    return true;
}

static bool type_output(ScanTyping *t, size_t i) {
    const ScanOut *o = &t->f.out[i];
    const Graph *fn = t->f.fn;
    const Type *row = unify_result(&t->u, var_type(fn, fn->outputs.p[i].var));
    Dim dim[MAX_NDIM];
    if (o->ntap && !check_state(t, i, t->row[o->in], row)) return false;
    if (scan_is_object(row) || row->kind == TYPE_RANDOM) return type_object(t, i, row);
    if (row->kind != TYPE_TENSOR)
        return infer_fail(t->in, E_TYPE, t->in->nin,
                          "output %s is %s, which has no values to keep",
                          output_label(t, i), type_str(t->in->s, row));
    int rows = o->keep != SCAN_LAST;
    if (!infer_ndim(t->in, row->ndim + rows))
        return note(t->in->s, NOWHERE, "for output %s with one more dim, for rows",
                    output_label(t, i));
    dim[0] = kept_rows_dim(t, o);
    for (int d = 0; d < row->ndim; d++)
        dim[rows + d] =
            o->ntap ? dim_meet(t->row[o->in]->dim[d], row->dim[d]) : row->dim[d];
    return infer_out_tensor(t->in, i, row->dtype, rows + row->ndim, dim);
}

/* A keep of all zeros is normalised to the empty list. */
static void settle_keep(ScanTyping *t) {
    const Prop *keep = infer_prop(t->in, "keep");
    for (size_t i = 0; i < t->f.nout; i++)
        if (t->f.out[i].keep != SCAN_ALL) return;
    if (keep->ints.n) infer_settle_prop(t->in, "keep", PROP_INTS(NULL, 0));
}

static bool type_whole_scan(ScanTyping *t) {
    const ScanForm *f = &t->f;
    if (!body_fits(t) || !type_steps(t)) return false;
    t->row = NEW_N(t->a, f->nin, const Type *);
    for (size_t i = 0; i < f->nseq; i++)
        if (!type_sequence(t, i)) return false;
    for (size_t i = 0; i < f->nout; i++)
        if (!type_initial(t, i)) return false;
    for (size_t i = 0; i < f->nother; i++)
        t->row[f->other_in + i] = t->in->type[f->other_arg + i];
    if (!unify_inputs(t) || !check_no_dim_names(t)) return false;
    t->in->nout = f->nout;
    for (size_t i = 0; i < f->nout; i++)
        if (!type_output(t, i)) return false;
    settle_keep(t);
    return true;
}

static bool scan_type(Infer *in) {
    if (!infer_graph(in)) return infer_fail(in, E_TYPE, in->nin, "it needs a graph");
    ScanTyping t = {.in = in, .a = arena_new(in->s)};
    unify_open(&t.u, in->s);
    const char *why = scan_form(infer_graph(in), in->op, in->props, in->nin, t.a, &t.f);
    bool ok = why ? infer_fail(in, E_ARG, in->nin, "%s", why) : type_whole_scan(&t);
    unify_close(&t.u);
    arena_free(t.a);
    return ok;
}

/* ---- influence of inputs on outputs ---- */

/* The outputs that influence output k of a step or of a later one. */
static bool *influencing_outputs(const ScanForm *f, Arena *a, size_t k) {
    bool *on = NEW_N(a, f->nout, bool);
    size_t *todo = NEW_N(a, f->nout, size_t), n = 0;
    on[k] = true;
    todo[n++] = k;
    while (n > 0) {
        size_t to = todo[--n];
        for (size_t j = 0; j < f->nout; j++) {
            if (on[j] || !scan_reads(f->fn, f->out[j].in, f->out[j].ntap, to)) continue;
            on[j] = true;
            todo[n++] = j;
        }
    }
    return on;
}

static bool inputs_reach(const ScanForm *f, const bool *on, size_t first, size_t n) {
    for (size_t j = 0; j < f->nout; j++)
        if (on[j] && scan_reads(f->fn, first, n, j)) return true;
    return false;
}

static bool arg_reaches_output(const ScanForm *f, const bool *on, size_t arg,
                               size_t out) {
    for (size_t i = 0; i < f->nseq; i++)
        if (f->seq[i].arg == arg)
            return inputs_reach(f, on, f->seq[i].in, f->seq[i].ntap);
    for (size_t i = 0; i < f->nout; i++)
        if (f->out[i].ntap && f->out[i].arg == arg)
            return (i == out && f->out[i].keep == SCAN_LAST) ||
                   inputs_reach(f, on, f->out[i].in, f->out[i].ntap);
    if (arg < f->other_arg) return false; /* the number of steps */
    return inputs_reach(f, on, f->other_in + (arg - f->other_arg), 1);
}

static bool scan_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    Arena *tmp = arena_new(g->s);
    ScanForm f = scan_form_of(g, a, tmp);
    bool yes = arg_reaches_output(&f, influencing_outputs(&f, tmp, out), in, out);
    arena_free(tmp);
    return yes;
}

/* ---- shapes ---- */

/* The dims of a row: those of a state's initial value, or those of the type. */
static bool row_dims(const ShapeOf *q, const ScanOut *o, const Type *t, Var *dim) {
    int rows = o->keep != SCAN_LAST;
    int from = o->ntap && !scan_one_row(o);
    for (int i = rows; i < t->ndim; i++) {
        if (o->ntap)
            dim[i] = q->in_shape[o->arg][i - rows + from];
        else if (dim_is_known(t->dim[i]))
            dim[i] = const_int(q->b, t->dim[i]);
        else
            return false;
    }
    return true;
}

/* There is one row per step, unless the loop may end early. */
static bool scan_shape(ShapeOf *q) {
    Arena *tmp = arena_new(q->b->s);
    ScanForm f = scan_form_of(q->g, q->id, tmp);
    bool ok = f.fn->until == VAR_NONE;
    for (size_t i = 0; ok && i < f.nout; i++) {
        const ScanOut *o = &f.out[i];
        const Type *t = var_type(q->g, q->g->apply[q->id].out + (Var)i);
        Var dim[MAX_NDIM] = {VAR_NONE};
        if (t->kind != TYPE_TENSOR || !row_dims(q, o, t, dim)) continue;
        if (o->keep != SCAN_LAST) dim[0] = q->in[0];
        if (o->keep > 0)
            dim[0] = op_call2(q->b, "minimum", q->in[0], const_int(q->b, o->keep));
        for (int k = 0; k < t->ndim; k++)
            q->out_shape[i][k] = dim[k];
        ok = t->ndim == 0 || dim[0] != VAR_NONE;
    }
    arena_free(tmp);
    return ok;
}

static const Op table[] = {
    {.name = OP_ROW("scan"),
     .varies = true,
     .doc = "Runs the function fn once for each step: scan(fn, sequences, "
            "outputs_info, non_sequences, n_steps). fn gets a row of each sequence, "
            "the values that its outputs had in the previous step, and the "
            "non-sequences. Its outputs are collected as rows, or as a list if they "
            "are not tensors. Of a state that is not a tensor, the last value is kept.",
     .in = "steps: int, *args: any",
     .props = "fn: graph, sequences: ints = [], states: ints = [], keep: ints = [], "
              "truncate: int = -1, checkpoint: bool = False, rows: bool = False",
     .type = scan_type,
     RARE(.print = scan_print, .infer_shape = scan_shape, .connect = scan_connect),
     .perform = scan_perform,
     .debug = scan_perform,
     .flops = "0",
     .by_macro = true,
     .pull = scan_pull,
     .push = scan_push,
     .vmap = scan_vmap},
};
const OpList ops_control_scan = LIST_OF(table);
