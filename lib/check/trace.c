/* A run that writes a trace, or is compared with one, value by value, in the order in
 * which they are computed: the first that differs has inputs that don't. */
#include "check/trace.h"

#include "lang/print/print.h"
#include "value/class.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_RECORD UINT32_MAX

/* A name of a variable; variables that were merged have several. */
typedef struct Traced {
    Var var;
    Sym name;
    uint32_t next; /* 1 + the next of the same variable */
    uint32_t no;   /* written: the name's number in the file; NO_RECORD: none yet */
} Traced;
struct Trace {
    Session *s;
    const Graph *g;
    TraceSpec spec;
    Arena *a;
    Digester digester;
    Vec(Traced) traced;
    uint32_t *first;   /* by variable: 1 + its first name */
    uint8_t *seen;     /* by variable: recorded in this call */
    double *deviation; /* by variable, of this call; negative: it wasn't compared */
    size_t call;
    double *sample; /* written */
    TraceWriter *out;
    TraceFile *in;
    Map at;        /* compared: name -> record of this call */
    uint8_t *used; /* by record of this call */
    size_t nused, compared;
    Sym extra; /* the first named value that the trace doesn't have */
};

/* ---- names for values without one ---- */
static uint64_t text_hash(const char *p) {
    return hash_bytes(p, strlen(p), 0);
}

static uint64_t op_hash(const Graph *g, const Apply *p, Map *known) {
    uint64_t at = hash_mix((uint64_t)(uintptr_t)p->op, (uint64_t)(uintptr_t)p->props);
    uint64_t h;
    if (map_get(known, at, &h)) return h;
    Str text = STR(g->s);
    print_op(g->s, p->op, p->props, &text);
    map_put(known, at, h = text_hash(str_text(&text)));
    str_free(&text);
    return h;
}

static uint64_t leaf_hash(const Graph *g, Var v) {
    const Tensor *t = var_const(g, v);
    const Leaf *leaf = var_leafrec(g, v);
    return t ? tensor_hash(t) : text_hash(sym_text(g->s, leaf->name));
}

static void hash_applies(const Graph *g, uint64_t *key) {
    Map known = MAP(g->s);
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *p = &g->apply[a];
        uint64_t h = op_hash(g, p, &known);
        for (size_t i = 0; i < p->nin; i++)
            h = hash_mix(h, key[apply_in(g, a)[i]]);
        for (Var k = 0; k < p->nout; k++)
            if (!key[p->out + k]) key[p->out + k] = hash_mix(h, k);
    }
    map_free(&known);
}

static void add_name(Trace *t, Var v, Sym name) {
    vec_push(t->s, &t->traced, ((Traced){v, name, t->first[v], NO_RECORD}));
    t->first[v] = (uint32_t)t->traced.n;
}

static void name_values(Trace *t) {
    const Graph *g = t->g;
    uint64_t *key = NEW_N(t->a, g->nvar, uint64_t);
    for (size_t i = 0; i < g->names.n; i++) {
        VarName n = g->names.p[i];
        add_name(t, n.var, n.name);
        if (!key[n.var]) key[n.var] = text_hash(sym_text(t->s, n.name));
    }
    for (Var v = 0; v < g->nvar; v++)
        if (!key[v] && var_leaf(g, v)) key[v] = leaf_hash(g, v);
    hash_applies(g, key);
    char text[24];
    for (Var v = 0; v < g->nvar; v++) {
        if (t->first[v] || var_leaf(g, v)) continue;
        snprintf(text, sizeof text, "#%016llx", (unsigned long long)key[v]);
        add_name(t, v, sym(t->s, text));
    }
}

static bool is_named(Session *s, Sym name) {
    return *sym_text(s, name) != '#';
}

/* ---- comparing ---- */
/* What a value is called in messages. */
static void put_label(Trace *t, const Traced *x, Str *out) {
    ApplyId a = var_owner(t->g, x->var);
    if (is_named(t->s, x->name))
        str_puts(out, sym_text(t->s, x->name));
    else
        print_apply(t->g, a, out);
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

/* Number i of `of` elements, evenly spread; of fewer, some come again. */
static double sampled(const Tensor *v, uint32_t i, uint32_t of) {
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
        far = fmax(far, apart(trace_sample(was, i), sampled(v, i, of), size));
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
    return var_leaf(t->g, x->var) ? NOWHERE : c->at;
}

static bool fail_layout(Trace *t, const Call *c, const Traced *x, const TraceLayout *l,
                        const Tensor *v) {
    Str label = STR(t->s), was = STR(t->s), now = STR(t->s);
    put_label(t, x, &label);
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
    double worst = 0;
    bool all = true;
    Str text = STR(t->s);
    for (size_t i = 0; i < c->nin; i++) {
        Var v = apply_in(t->g, c->id)[i];
        double d = var_is_const(t->g, v) ? 0 : t->deviation[v];
        if (i < 8) {
            str_puts(&text, i ? ", " : "");
            if (t->first[v])
                put_label(t, &t->traced.p[t->first[v] - 1], &text);
            else
                str_puts(&text, var_is_const(t->g, v) ? "a constant" : "a dim");
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

static bool fail_value(Trace *t, const Call *c, const Traced *x, const TraceRecord *was,
                       const TraceLayout *l, const Tensor *v, const Digest *now,
                       double own) {
    Str text = STR(t->s);
    put_label(t, x, &text);
    static const char *const kind[] = {[LEAF_NOT] = "",
                                       [LEAF_INPUT] = "the input ",
                                       [LEAF_SHARED] = "the shared variable ",
                                       [LEAF_CONST] = "the constant ",
                                       [LEAF_DIM] = "the dim "};
    bool leaf = var_leaf(t->g, x->var);
    Sym rule = leaf ? 0 : t->g->origin[c->id].rule;
    fail(t->s, place_of(t, c, x), E_VERDICT,
         "%s%s is the first value that differs from the trace, by %.3g of its size",
         kind[var_leaf(t->g, x->var)], str_text(&text), own);
    str_clear(&text);
    if (!leaf) {
        print_apply(t->g, c->id, &text);
        note(t->s, NOWHERE, "it is %s%s%s", str_text(&text), rule ? ", made by " : "",
             sym_text(t->s, rule));
        note_inputs(t, c, own);
    }
    str_clear(&text);
    put_digest(t->s, l, &was->d, &text);
    note(t->s, NOWHERE, "in the trace: %s", str_text(&text));
    str_clear(&text);
    TraceLayout here = {.dtype = v->dtype, .ndim = v->ndim};
    memcpy(here.shape, v->shape, sizeof *v->shape * (size_t)v->ndim);
    put_digest(t->s, &here, now, &text);
    note(t->s, NOWHERE, "here:         %s", str_text(&text));
    str_free(&text);
    return false;
}

static bool compare_value(Trace *t, const Call *c, const Traced *x, const Tensor *v,
                          const Digest *now) {
    uint64_t i;
    if (t->call >= trace_file_calls(t->in)) return true;
    if (!map_get(&t->at, x->name, &i)) {
        if (!t->extra && is_named(t->s, x->name)) t->extra = x->name;
        return true;
    }
    t->nused += !t->used[i];
    t->used[i] = 1;
    t->compared++;
    TraceRecord was = trace_file_record(t->in, t->call, i);
    const TraceLayout *l = trace_file_layout(t->in, was.layout);
    if (!same_shape(l, v)) return fail_layout(t, c, x, l, v);
    bool same_bytes = l->dtype == v->dtype && was.d.hash == now->hash;
    double far = same_bytes ? 0 : deviation(t, &was, now, v);
    t->deviation[x->var] = far;
    bool discrete = l->dtype == v->dtype && dtype_is_discrete(v->dtype);
    double size = fmax(extent(&was.d), extent(now));
    if (same_bytes || (!discrete && far <= tolerance(t, l->dtype, v->dtype, size)))
        return true;
    return fail_value(t, c, x, &was, l, v, now, far);
}

/* ---- recording ---- */
static void take_samples(Trace *t, const Tensor *v) {
    for (uint32_t i = 0; i < t->spec.samples; i++)
        t->sample[i] = sampled(v, i, t->spec.samples);
}

static void write_value(Trace *t, Traced *x, const Tensor *v, const Digest *d) {
    const char *name = sym_text(t->s, x->name);
    TraceLayout l = {.dtype = v->dtype, .ndim = v->ndim};
    memcpy(l.shape, v->shape, sizeof *v->shape * (size_t)v->ndim);
    if (x->no == NO_RECORD) x->no = trace_writer_name(t->out, name, strlen(name));
    TraceRecord r = {.name = x->no, .layout = trace_writer_layout(t->out, &l), .d = *d};
    r.sample = (const unsigned char *)t->sample;
    trace_writer_add(t->out, &r);
}

static bool record_value(Trace *t, const Call *c, Var v, const Value *value) {
    if (t->seen[v] || !t->first[v]) return true;
    if (value->kind != TYPE_TENSOR || !value->t.data) return true;
    t->seen[v] = 1;
    Digest d = tensor_digest(&t->digester, &value->t);
    if (t->out) take_samples(t, &value->t);
    bool ok = true;
    for (uint32_t k = t->first[v]; ok && k; k = t->traced.p[k - 1].next)
        if (t->out)
            write_value(t, &t->traced.p[k - 1], &value->t, &d);
        else
            ok = compare_value(t, c, &t->traced.p[k - 1], &value->t, &d);
    return ok;
}

static bool record_leaves(void *ctx, size_t step, const Call *c) {
    Trace *t = ctx;
    (void)step;
    if (c->g != t->g) return true;
    for (size_t i = 0; i < c->nin; i++) {
        Var v = apply_in(c->g, c->id)[i];
        if (var_leaf(c->g, v) && !record_value(t, c, v, c->in[i])) return false;
    }
    return true;
}

static bool record_results(void *ctx, size_t step, const Call *c, double seconds) {
    Trace *t = ctx;
    (void)step, (void)seconds;
    if (c->g != t->g) return true;
    for (size_t i = 0; i < c->nout; i++)
        if (!record_value(t, c, c->g->apply[c->id].out + (Var)i, &c->out[i]))
            return false;
    return true;
}

VmHooks trace_hooks(Trace *t) {
    return (VmHooks){t, record_leaves, record_results};
}

/* ---- calls ---- */
static void index_call(Trace *t) {
    size_t n = t->call < trace_file_calls(t->in) ? trace_file_count(t->in, t->call) : 0;
    map_free(&t->at);
    t->at = MAP(t->s);
    mem_free(t->used);
    t->used = mem_zalloc(t->s, n + 1, 1);
    t->nused = 0;
    for (size_t i = 0; i < n; i++)
        map_put(&t->at,
                trace_file_name(t->in, trace_file_record(t->in, t->call, i).name), i);
}

void trace_begin(Trace *t) {
    memset(t->seen, 0, t->g->nvar);
    for (Var v = 0; v < t->g->nvar; v++)
        t->deviation[v] = -1;
    if (t->in) index_call(t);
}

/* The first named value of the trace that the run doesn't have; 0: none. */
static Sym missing_name(const Trace *t) {
    for (size_t i = 0; i < trace_file_count(t->in, t->call); i++) {
        Sym name = trace_file_name(t->in, trace_file_record(t->in, t->call, i).name);
        if (!t->used[i] && is_named(t->s, name) && graph_find(t->g, name) == VAR_NONE)
            return name;
    }
    return 0;
}

static bool check_names(Trace *t) {
    if (!trace_file_calls(t->in))
        return fail(t->s, NOWHERE, E_VERDICT, "%s has no calls", t->spec.path);
    Sym missing = missing_name(t);
    const char *theirs = sym_text(t->s, missing), *ours = sym_text(t->s, t->extra);
    if (!t->compared && trace_file_count(t->in, 0)) {
        fail(t->s, NOWHERE, E_VERDICT, "%s is a trace of another graph", t->spec.path);
        return note(t->s, NOWHERE, "no value has the name of one in the trace%s%s",
                    missing ? ", which begins with " : "", theirs);
    }
    if (missing && t->extra)
        warn(t->s, NOWHERE, E_VERDICT,
             "%s is a trace of another graph: only it has %s, and only this one has %s",
             t->spec.path, theirs, ours);
    return true;
}

/* Outputs that no instruction reads: leaves passed on. */
static bool record_passed_on(Trace *t, const Machine *m) {
    Call c = {.s = t->s, .g = t->g};
    for (size_t i = 0; i < t->g->outputs.n; i++) {
        Var v = t->g->outputs.p[i].var;
        if (var_leaf(t->g, v) && !record_value(t, &c, v, vm_output(m, i))) return false;
    }
    return true;
}

bool trace_end(Trace *t, const Machine *m) {
    if (!record_passed_on(t, m)) return false;
    bool ok = t->out ? trace_writer_call(t->out) : t->call || check_names(t);
    t->call++;
    return ok;
}

bool trace_finish(Trace *t) {
    if (t->out) {
        TraceWriter *out = t->out;
        t->out = NULL; /* committing frees it, even on failure */
        return trace_writer_commit(out);
    }
    session_log(t->s, "compared %s in %zu of the %s of %s",
                str_counted(t->s, t->compared, "value"), t->call,
                str_counted(t->s, trace_file_calls(t->in), "call"), t->spec.path);
    return true;
}

/* ---- opening ---- */
Trace *trace_open(const Graph *ran, const TraceSpec *spec) {
    Session *s = ran->s;
    TraceFile *in = spec->against ? trace_file_open(s, spec->path) : NULL;
    TraceWriter *out =
        spec->against ? NULL : trace_writer_open(s, spec->path, spec->samples);
    if (!in && !out) return NULL;
    Arena *a = arena_new(s);
    Trace *t = NEW(a, Trace);
    *t = (Trace){.s = s, .g = ran, .spec = *spec, .a = a, .in = in, .out = out};
    t->at = MAP(s);
    t->first = NEW_N(a, ran->nvar, uint32_t);
    t->seen = NEW_N(a, ran->nvar, uint8_t);
    t->deviation = NEW_N(a, ran->nvar, double);
    t->sample = NEW_N(a, spec->samples, double);
    digester_init(&t->digester, s);
    name_values(t);
    return t;
}

void trace_close(Trace *t) {
    if (!t) return;
    trace_writer_abort(t->out);
    trace_file_close(t->in);
    map_free(&t->at);
    mem_free(t->used);
    vec_free(&t->traced);
    arena_free(t->a);
}
