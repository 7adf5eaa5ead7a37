/* ifelse as If, scan as Loop. */
#include "io/onnx/write_impl.h"
#include "scan/scan.h"

/* ---- where Applies go ---- */

static int depth_of(const OutRegion *r) {
    int n = 0;
    for (; r; r = r->up)
        n++;
    return n;
}

/* The innermost region around both; either may be NULL. */
static OutRegion *common_region(OutRegion *a, OutRegion *b) {
    if (!a || !b) return a ? a : b;
    int da = depth_of(a), db = depth_of(b);
    for (; da > db; da--)
        a = a->up;
    for (; db > da; db--)
        b = b->up;
    for (; a != b; a = a->up)
        b = b->up;
    return a;
}

static OutBranches open_branches(OnnxWriting *w, OutRegion *up) {
    return (OutBranches){out_region(w, up, out_graph(w, "then")),
                         out_region(w, up, out_graph(w, "else"))};
}

static void want_in(OutFrame *f, Var v, OutRegion *r) {
    ApplyId a = var_owner(f->g, v);
    if (a != APPLY_NONE) f->home[a] = common_region(f->home[a], r);
}

/* Readers of protocol buffers follow messages to some depth only, so deeper than this a
 * branch has no more than names what is computed outside of it. */
enum { BRANCH_DEPTH = 8 };

/* Readers come after what they read, so the last Apply is the first to have its place.
 * What only one branch of an ifelse reads goes into that branch. */
void onnx_place_applies(OnnxWriting *w, OutFrame *f) {
    VarList roots = graph_roots(f->g, w->a, ROOTS_RUN);
    f->home = NEW_N(w->a, f->napply + 1, OutRegion *);
    f->branches = NEW_N(w->a, f->napply + 1, OutBranches);
    for (size_t i = 0; i < roots.n; i++)
        want_in(f, roots.p[i], f->root);
    for (ApplyId a = f->napply; a-- > 0;) {
        const Apply *ap = &f->g->apply[a];
        OutRegion *home = f->home[a];
        if (!home) continue;
        size_t n = op_is(w->s, ap->op, OP_IFELSE) ? ap->nout : 0;
        if (n && depth_of(home) > BRANCH_DEPTH) n = 0;
        if (n) f->branches[a] = open_branches(w, home);
        for (size_t i = 0; i < ap->nin; i++)
            want_in(f, apply_in(f->g, a)[i],
                    n == 0 || i == 0 ? home
                    : i <= n         ? f->branches[a].then
                                     : f->branches[a].otherwise);
    }
}

/* ---- ifelse ---- */

/* A branch's results must be its own, so each is a copy. */
static bool write_branch(OnnxWriting *w, OutRegion *branch, ApplyId a, size_t from) {
    OutFrame *f = w->frame;
    OutRegion *here = f->region;
    bool ok = true;
    f->region = branch;
    for (size_t i = 0; ok && i < f->g->apply[a].nout; i++) {
        OutName *n = onnx_write_var(w, apply_in(f->g, a)[from + i]);
        ok = n && out_check_type(w, var_type(f->g, f->g->apply[a].out + (Var)i),
                                 "a value of ifelse");
        if (!ok) break;
        OutValue v = {out_call(w, "Identity", 1, &n),
                      var_type(f->g, f->g->apply[a].out + (Var)i)};
        vec_push(w->s, &branch->out->output, v);
    }
    f->region = here;
    return ok;
}

static Var as_bool(Builder *b, Var x) {
    DType d = var_type(b->g, x)->dtype;
    return d == DT_BOOL ? x : op_call2(b, "not_equal", x, const_number(b, d, 0));
}

bool onnx_write_ifelse(OnnxWriting *w, ApplyId a) {
    OutFrame *f = w->frame;
    size_t nout = f->g->apply[a].nout;
    OutBranches b = a < f->napply ? f->branches[a] : (OutBranches){NULL, NULL};
    if (!b.then || b.then->up != f->region) b = open_branches(w, f->region);
    Var condition = as_bool(&f->b, apply_in(f->g, a)[0]);
    OutName *c = condition == VAR_NONE ? NULL : onnx_write_var(w, condition);
    if (!c || !write_branch(w, b.then, a, 1) ||
        !write_branch(w, b.otherwise, a, 1 + nout))
        return false;
    OutNode *n = out_node(w, "If", 1, nout);
    n->in[0] = c;
    n->nsub = 2;
    n->sub[0] = (OutSub){"then_branch", b.then->out};
    n->sub[1] = (OutSub){"else_branch", b.otherwise->out};
    out_append(w, n);
    for (size_t i = 0; i < nout; i++)
        onnx_set_var(w, f->region, f->g->apply[a].out + (Var)i, n->out[i]);
    return true;
}

/* ---- scan ---- */

/* A loop while it is written. States reach back `depth` steps: so many values are
 * carried, the oldest first. */
typedef struct LoopWriting {
    OnnxWriting *w;
    ApplyId id;
    ScanForm form;
    OutName **arg;    /* of the Apply's inputs */
    OutName ***carry; /* by output, of the body */
    Vec(OutName *) start;
    OutGraph *body;
    OutName *step, *go;
    size_t *result; /* by output: where the node has its value */
} LoopWriting;

static bool write_arguments(LoopWriting *q) {
    OutFrame *f = q->w->frame;
    size_t n = f->g->apply[q->id].nin;
    q->arg = NEW_N(q->w->a, n + 1, OutName *);
    for (size_t i = 0; i < n; i++)
        if (!(q->arg[i] = onnx_write_var(q->w, apply_in(f->g, q->id)[i]))) return false;
    return true;
}

static OutName *row_at(OnnxWriting *w, OutName *x, OutName *at) {
    return out_call(w, "Gather", 2, (OutName *[]){x, at});
}

static size_t count_carried(const ScanOut *o) {
    return o->ntap ? (size_t)o->depth : 0;
}

/* The values before the first step. */
static void write_initial(LoopWriting *q) {
    for (size_t o = 0; o < q->form.nout; o++) {
        const ScanOut *s = &q->form.out[o];
        for (size_t k = 0; k < count_carried(s); k++) {
            OutName *x = q->arg[s->arg];
            if (!scan_one_row(s))
                x = row_at(q->w, x, out_ints(q->w, 0, 1, &(int64_t){(int64_t)k}));
            vec_push(q->w->s, &q->start, x);
        }
    }
}

static OutName *body_input(LoopWriting *q, const Type *t) {
    OutName *n = out_name(q->w);
    vec_push(q->w->s, &q->body->input, ((OutValue){n, t}));
    return n;
}

static bool check_states(LoopWriting *q) {
    for (size_t o = 0; o < q->form.nout; o++) {
        const Type *t = var_type(q->form.fn, q->form.fn->outputs.p[o].var);
        if (t->kind != TYPE_TENSOR)
            return fail(q->w->s, NOWHERE, E_TYPE,
                        "a value of a loop is %s: loops of ONNX have tensors",
                        type_str(q->w->s, t));
        if (!out_check_type(q->w, t, "a value of a loop")) return false;
    }
    return true;
}

/* The inputs of the body's graph; the frame is the body's. */
static void open_body(LoopWriting *q) {
    OnnxWriting *w = q->w;
    q->step = body_input(q, type_scalar(w->s, DT_INT64));
    q->go = body_input(q, type_scalar(w->s, DT_BOOL));
    q->carry = NEW_N(w->a, q->form.nout + 1, OutName **);
    for (size_t o = 0; o < q->form.nout; o++) {
        const ScanOut *s = &q->form.out[o];
        q->carry[o] = NEW_N(w->a, count_carried(s) + 1, OutName *);
        for (size_t k = 0; k < count_carried(s); k++)
            q->carry[o][k] =
                body_input(q, var_type(q->form.fn, q->form.fn->inputs.p[s->in]));
    }
}

static void give_input(LoopWriting *q, size_t in, OutName *n) {
    onnx_set_var(q->w, q->w->frame->root, q->form.fn->inputs.p[in], n);
}

static void give_inputs(LoopWriting *q) {
    OnnxWriting *w = q->w;
    const ScanForm *f = &q->form;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++) {
            int64_t by = f->seq[i].tap[k] - f->seq[i].low;
            OutName *at[2] = {q->step};
            if (by) {
                at[1] = out_ints(w, 0, 1, &by);
                at[0] = out_call(w, "Add", 2, at);
            }
            give_input(q, f->seq[i].in + k, row_at(w, q->arg[f->seq[i].arg], at[0]));
        }
    for (size_t o = 0; o < f->nout; o++)
        for (size_t k = 0; k < f->out[o].ntap; k++)
            give_input(q, f->out[o].in + k,
                       q->carry[o][f->out[o].depth + f->out[o].tap[k]]);
    for (size_t i = 0; i < f->nother; i++)
        give_input(q, f->other_in + i, q->arg[f->other_arg + i]);
}

static void body_output(LoopWriting *q, OutName *n, const Type *t) {
    OutValue v = {out_call(q->w, "Identity", 1, &n), t};
    vec_push(q->w->s, &q->body->output, v);
}

static bool has_rows(const ScanOut *o) {
    return o->keep != SCAN_LAST || o->ntap == 0;
}

/* What goes on: the condition, the states, the rows; result[o] counts the node's
 * outputs, which have no condition. */
static bool write_results(LoopWriting *q) {
    OnnxWriting *w = q->w;
    const ScanForm *f = &q->form;
    OutName *go = q->go, **value = NEW_N(w->a, f->nout + 1, OutName *);
    size_t n = 0;
    if (f->fn->until != VAR_NONE) {
        Var stop = as_bool(&w->frame->b, f->fn->until);
        if (stop == VAR_NONE || !(go = onnx_write_var(w, stop))) return false;
        go = out_call(w, "Not", 1, &go);
    }
    for (size_t o = 0; o < f->nout; o++)
        if (!(value[o] = onnx_write_var(w, f->fn->outputs.p[o].var))) return false;
    body_output(q, go, type_scalar(w->s, DT_BOOL));
    for (size_t o = 0; o < f->nout; o++) {
        const Type *t = var_type(f->fn, f->fn->outputs.p[o].var);
        for (size_t k = 0; k < count_carried(&f->out[o]); k++, n++)
            body_output(
                q, k + 1 < count_carried(&f->out[o]) ? q->carry[o][k + 1] : value[o],
                t);
        q->result[o] = n - 1;
    }
    for (size_t o = 0; o < f->nout; o++) {
        if (!has_rows(&f->out[o])) continue;
        body_output(q, value[o], var_type(f->fn, f->fn->outputs.p[o].var));
        q->result[o] = n++;
    }
    return true;
}

static bool write_body(LoopWriting *q) {
    OutFrame frame;
    q->body = out_graph(q->w, "body");
    onnx_open_frame(q->w, &frame, q->form.fn, q->body);
    open_body(q);
    give_inputs(q);
    bool ok = write_results(q);
    onnx_close_frame(q->w);
    return ok;
}

/* The rows that are kept, of all. */
static OutName *kept_rows(OnnxWriting *w, const ScanOut *o, OutName *rows) {
    int64_t from = -o->keep, to = INT64_MAX, axis = 0;
    if (o->keep == SCAN_ALL || !has_rows(o)) return rows;
    if (o->keep == SCAN_LAST) return row_at(w, rows, out_ints(w, 0, 1, &(int64_t){-1}));
    OutName *in[4] = {rows, out_ints(w, 1, 1, &from), out_ints(w, 1, 1, &to),
                      out_ints(w, 1, 1, &axis)};
    return out_call(w, "Slice", 4, in);
}

static void write_loop(LoopWriting *q) {
    OnnxWriting *w = q->w;
    OutFrame *f = w->frame;
    Tensor yes = {.dtype = DT_BOOL,
                  .data = arena_copy(w->a, &(bool){true}, sizeof(bool))};
    OutNode *n = out_node(w, "Loop", 2 + q->start.n, q->body->output.n - 1);
    n->in[0] = q->arg[0];
    n->in[1] = out_constant(w, &yes);
    for (size_t i = 0; i < q->start.n; i++)
        n->in[2 + i] = q->start.p[i];
    n->nsub = 1;
    n->sub[0] = (OutSub){"body", q->body};
    out_append(w, n);
    for (size_t o = 0; o < q->form.nout; o++)
        onnx_set_var(w, f->region, f->g->apply[q->id].out + (Var)o,
                     kept_rows(w, &q->form.out[o], n->out[q->result[o]]));
}

bool onnx_write_scan(OnnxWriting *w, ApplyId a) {
    LoopWriting q = {.w = w, .id = a, .form = scan_form_of(w->frame->g, a, w->a)};
    q.result = NEW_N(w->a, q.form.nout + 1, size_t);
    if (q.form.fn->effects.n)
        return fail(w->s, NOWHERE, E_TYPE, "ONNX has no effects, such as %s",
                    q.form.fn->apply[q.form.fn->effects.p[0]].op->name);
    bool ok = check_states(&q) && write_arguments(&q);
    if (ok) write_initial(&q);
    ok = ok && write_body(&q);
    if (ok) write_loop(&q);
    vec_free(&q.start);
    return ok;
}
