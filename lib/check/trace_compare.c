/* A run compared with a trace, value by value, in the order in which they are computed:
 * the first that differs has inputs that don't. */
#include "check/trace_impl.h"
#include "lang/print/print.h"
#include "value/class.h"

#include <math.h>
#include <string.h>

/* ---- finding frames ---- */
#define SEVERAL UINT64_MAX

static uint64_t frame_hash(uint32_t parent, uint32_t label, int64_t step) {
    return hash_mix(hash_mix(parent, label), (uint64_t)step);
}

static void index_frame(Trace *t, size_t i) {
    TraceBatch b;
    TraceFrame f = trace_file_frame(t->in, t->call, i, &b);
    uint64_t by = (uint64_t)f.parent << 32 | f.fn, label;
    index_add(&t->frame_at, frame_hash(f.parent, f.label, f.step), (uint32_t)i);
    if (!map_get(&t->label_of, by, &label))
        map_put(&t->label_of, by, f.label);
    else if (label != f.label)
        map_put(&t->label_of, by, SEVERAL);
}

void trace_index_call(Trace *t) {
    bool has = t->call < trace_file_calls(t->in);
    TraceBatch none = {0};
    index_free(&t->frame_at);
    map_free(&t->label_of);
    mem_free(t->used);
    t->frame_at = INDEX(t->s);
    t->label_of = MAP(t->s);
    t->frame.p[0].records = has ? trace_file_call(t->in, t->call) : none;
    t->used = mem_zalloc(t->s, t->frame.p[0].records.n + 1, 1);
    for (size_t i = 0; has && i < trace_file_frames(t->in, t->call); i++)
        index_frame(t, i);
}

typedef struct Wanted {
    const Trace *t;
    TraceFrame f;
} Wanted;

static bool is_wanted(const void *ctx, uint32_t i) {
    const Wanted *q = ctx;
    TraceBatch b;
    TraceFrame f = trace_file_frame(q->t->in, q->t->call, i, &b);
    return f.parent == q->f.parent && f.label == q->f.label && f.step == q->f.step;
}

static bool find_labelled(const Trace *t, uint64_t label, Frame *f) {
    if (label >= NO_NUMBER) return false;
    Wanted q = {
        t, {.parent = trace_here(t)->id, .label = (uint32_t)label, .step = f->step}};
    uint32_t i = index_find(&t->frame_at, frame_hash(q.f.parent, q.f.label, q.f.step),
                            is_wanted, &q);
    if (i == UINT32_MAX) return false;
    f->id = trace_file_frame(t->in, t->call, i, &f->records).id;
    return true;
}

/* By a name of a result; else by the function, if only one Apply runs it, here and
 * there. */
bool trace_find_frame(Trace *t, ApplyId id, Frame *f) {
    const Frame *here = trace_here(t);
    const Scope *around = here->scope;
    const Apply *p = &around->g->apply[id];
    for (Var v = p->out; v < p->out + p->nout; v++)
        for (uint32_t k = around->first[v]; k; k = around->traced.p[k - 1].next)
            if (find_labelled(t, around->traced.p[k - 1].no, f)) return true;
    uint64_t label;
    return f->scope->no != NO_NUMBER &&
           map_get(&t->label_of, (uint64_t)here->id << 32 | f->scope->no, &label) &&
           find_labelled(t, label, f) && trace_sites(around, f->scope->base) == 1;
}

/* ---- finding records ---- */
static void map_records(const Trace *t, Frame *f) {
    f->at = MAP(t->s);
    for (size_t i = 0; i < f->records.n; i++)
        map_put(&f->at, trace_file_record(t->in, &f->records, i).name, i);
}

static bool find_record(const Trace *t, const Traced *x, size_t *at, TraceRecord *r) {
    Frame *f = trace_here(t);
    uint64_t i = f->next;
    if (x->no == NO_NUMBER) return false;
    bool next = i < f->records.n;
    if (next) *r = trace_file_record(t->in, &f->records, i);
    if (!next || r->name != x->no) {
        if (!f->at.n) map_records(t, f);
        if (!map_get(&f->at, x->no, &i)) return false;
        *r = trace_file_record(t->in, &f->records, i);
    }
    f->next = i + 1;
    *at = i;
    return true;
}

/* ---- messages ---- */
/* What a value is called in messages. */
static void put_label(Trace *t, const Traced *x, Str *out) {
    const Graph *g = trace_here(t)->scope->g;
    if (trace_is_named(t->s, x->name))
        str_puts(out, sym_text(t->s, x->name));
    else
        print_apply(g, var_owner(g, x->var), out);
}

/* " in step 17 of hs in the call of f" */
static void put_frames(const Trace *t, Str *out) {
    for (size_t i = t->frame.n; i-- > 1;) {
        const Frame *f = &t->frame.p[i];
        const Traced *x = trace_site_name(t, t->frame.p[i - 1].scope, f->made);
        if (f->step >= 0) str_printf(out, " in step %lld of", (long long)f->step);
        if (f->step >= 0 && x && trace_is_named(t->s, x->name))
            str_printf(out, " %s", sym_text(t->s, x->name));
        else
            str_printf(out, "%s %s", f->step >= 0 ? " the loop over" : " in a call of",
                       sym_text(t->s, f->scope->g->name));
    }
}

static void put_layout(Session *s, DType d, int ndim, const int64_t *shape, Str *out) {
    str_puts(out, dtype_name(d));
    shape_text(s, ndim, shape, out);
}

static void put_digest(Session *s, const TraceLayout *l, const Digest *d, Str *out) {
    put_layout(s, l->dtype, l->ndim, l->shape, out);
    str_printf(out, " min=%.9g max=%.9g mean=%.9g rms=%.9g", d->min, d->max, d->mean,
               d->rms);
    if (d->nans) str_printf(out, " nan=%u", d->nans);
    if (d->infs) str_printf(out, " inf=%u", d->infs);
    str_printf(out, " hash=%016llx", (unsigned long long)d->hash);
}

/* Of two numbers, relative to the size of the value; inf where one is no number. */
static double apart(double a, double b, double size) {
    if (a == b || (isnan(a) && isnan(b))) return 0;
    double d = fabs(a - b);
    return isfinite(d) ? (size > 0 ? d / size : d) : (double)INFINITY;
}

static double extent(const Digest *d) {
    double low = fabs(d->min), high = fabs(d->max);
    if (!isfinite(low)) low = 0;
    if (!isfinite(high)) high = 0;
    return fmax(fmax(low, high), isfinite(d->rms) ? d->rms : 0);
}

double trace_sampled(const Tensor *v, uint32_t i, uint32_t of) {
    int64_t n = tensor_size(v), step = n / of;
    return n ? tensor_f64(v, step ? i * step : i % n) : 0;
}

/* How far a value is from the trace's, relative to its size. */
static double deviation(Trace *t, const TraceRecord *was, const Digest *now,
                        const Tensor *v) {
    double size = fmax(extent(&was->d), extent(now));
    double far = apart(was->d.min, now->min, size);
    far = fmax(far, apart(was->d.max, now->max, size));
    far = fmax(far, apart(was->d.mean, now->mean, size));
    far = fmax(far, apart(was->d.rms, now->rms, size));
    far = fmax(far, apart(was->d.mix, now->mix, size));
    if (was->d.nans != now->nans || was->d.infs != now->infs) far = (double)INFINITY;
    for (uint32_t i = 0, of = trace_file_samples(t->in); i < of; i++)
        far = fmax(far, apart(trace_sample(was, i), trace_sampled(v, i, of), size));
    return far;
}

/* The deviation that passes: the coarser dtype's. */
static double tolerance(const Trace *t, DType a, DType b, double size) {
    Approx how = {.rtol = t->spec.rtol, .atol = t->spec.atol};
    double rtol = 0, atol = 0, r, q;
    for (int i = 0; i < 2; i++) {
        tensor_tolerance(i ? b : a, how, &r, &q);
        rtol = fmax(rtol, r);
        atol = fmax(atol, q);
    }
    return rtol + (size > 0 ? atol / size : atol);
}

static bool same_shape(const TraceLayout *l, const Tensor *v) {
    return l->ndim == v->ndim &&
           memcmp(l->shape, v->shape, sizeof *l->shape * (size_t)l->ndim) == 0;
}

/* A leaf isn't at the place of the Apply that reads it. */
static Span place_of(const Trace *t, const Call *c, const Traced *x) {
    return var_leaf(trace_here(t)->scope->g, x->var) ? NOWHERE : c->at;
}

static bool fail_layout(Trace *t, const Call *c, const Traced *x, const TraceLayout *l,
                        const Tensor *v) {
    Str label = STR(t->s), was = STR(t->s), now = STR(t->s);
    put_label(t, x, &label);
    put_frames(t, &label);
    put_layout(t->s, l->dtype, l->ndim, l->shape, &was);
    put_layout(t->s, v->dtype, v->ndim, v->shape, &now);
    fail(t->s, place_of(t, c, x), E_VERDICT, "%s is %s, but %s in the trace",
         str_text(&label), str_text(&now), str_text(&was));
    note(t->s, NOWHERE, "%s is a trace of another graph, or of other inputs",
         t->spec.path);
    str_free(&label);
    str_free(&was);
    str_free(&now);
    return false;
}

static void note_inputs(Trace *t, const Call *c, double own) {
    const Scope *in = trace_here(t)->scope;
    double worst = 0;
    bool all = true;
    Str text = STR(t->s);
    for (size_t i = 0; i < c->nin; i++) {
        Var v = apply_in(in->g, c->id)[i];
        bool constant = var_is_const(in->g, v);
        double d = constant ? 0 : in->deviation[v];
        if (i < 8) {
            str_puts(&text, i ? ", " : "");
            if (in->first[v])
                put_label(t, &in->traced.p[in->first[v] - 1], &text);
            else
                str_puts(&text, constant ? "a constant"
                                : var_name(in->g, v)
                                    ? sym_text(t->s, var_name(in->g, v))
                                    : "a dim");
            str_printf(&text, d < 0 ? ": not in the trace" : ": %.3g", d);
        }
        all &= d >= 0;
        worst = fmax(worst, d);
    }
    if (c->nin) note(t->s, NOWHERE, "deviation of its inputs: %s", str_text(&text));
    if (worst > 0)
        note(t->s, NOWHERE, "own deviation %.3g, amplified %.3g times", own,
             own / worst);
    else
        note(t->s, NOWHERE, "own deviation %.3g%s", own,
             all ? ", although its inputs are equal" : "");
    str_free(&text);
}

/* Of a long loop, the steps before this one need not be in the trace. */
static void note_stride(Trace *t) {
    for (size_t i = t->frame.n; i-- > 1;) {
        int64_t step = t->frame.p[i].step, stride = trace_stride(step);
        if (stride == 1) continue;
        note(t->s, NOWHERE,
             "the trace has one step in %lld here: it may begin after step %lld",
             (long long)stride, (long long)(step - stride));
    }
}

/* What the trace has of a value, and what the value is here. */
typedef struct Divergence {
    const TraceRecord *was;
    const TraceLayout *layout; /* of was */
    const Tensor *v;
    const Digest *now;
    double far; /* by how much of its size they differ */
} Divergence;

static bool fail_value(Trace *t, const Call *c, const Traced *x, const Divergence *d) {
    const Graph *g = trace_here(t)->scope->g;
    Str text = STR(t->s);
    put_label(t, x, &text);
    static const char *const kind[] = {[LEAF_NOT] = "",
                                       [LEAF_INPUT] = "the input ",
                                       [LEAF_SHARED] = "the shared variable ",
                                       [LEAF_CONST] = "the constant ",
                                       [LEAF_DIM] = "the dim "};
    bool leaf = var_leaf(g, x->var);
    Sym rule = leaf ? 0 : g->origin[c->id].rule;
    put_frames(t, &text);
    fail(t->s, place_of(t, c, x), E_VERDICT,
         "%s%s is the first value that differs from the trace, by %.3g of its size",
         kind[var_leaf(g, x->var)], str_text(&text), d->far);
    str_clear(&text);
    if (!leaf) {
        print_apply(g, c->id, &text);
        note(t->s, NOWHERE, "it is %s%s%s", str_text(&text), rule ? ", made by " : "",
             sym_text(t->s, rule));
        note_inputs(t, c, d->far);
    }
    note_stride(t);
    str_clear(&text);
    put_digest(t->s, d->layout, &d->was->d, &text);
    note(t->s, NOWHERE, "in the trace: %s", str_text(&text));
    str_clear(&text);
    TraceLayout here = {.dtype = d->v->dtype, .ndim = d->v->ndim};
    memcpy(here.shape, d->v->shape, sizeof *d->v->shape * (size_t)d->v->ndim);
    put_digest(t->s, &here, d->now, &text);
    note(t->s, NOWHERE, "here:         %s", str_text(&text));
    str_free(&text);
    return false;
}

bool trace_compare_value(Trace *t, const Call *c, const Traced *x, const Tensor *v,
                         const Digest *now) {
    size_t i;
    TraceRecord was;
    bool inner = t->frame.n > 1;
    if (t->call >= trace_file_calls(t->in)) return true;
    if (!find_record(t, x, &i, &was)) {
        if (!t->extra && !inner && trace_is_named(t->s, x->name)) t->extra = x->name;
        return true;
    }
    if (!inner) t->used[i] = 1;
    t->compared++;
    const TraceLayout *l = trace_file_layout(t->in, was.layout);
    if (!same_shape(l, v)) return fail_layout(t, c, x, l, v);
    bool same_bytes = l->dtype == v->dtype && was.d.hash == now->hash;
    double far = same_bytes ? 0 : deviation(t, &was, now, v);
    trace_here(t)->scope->deviation[x->var] = far;
    bool discrete = l->dtype == v->dtype && dtype_is_discrete(v->dtype);
    double size = fmax(extent(&was.d), extent(now));
    if (same_bytes || (!discrete && far <= tolerance(t, l->dtype, v->dtype, size)))
        return true;
    return fail_value(t, c, x, &(Divergence){&was, l, v, now, far});
}
