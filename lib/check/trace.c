/* A run that writes a trace, or is compared with one, value by value. */
#include "check/trace_impl.h"

#include <stdio.h>
#include <string.h>

/* Records within the functions of one call: 64 MB. */
enum { INNER_MOST = 1 << 20, STEPS_LOG = 8 };

int64_t trace_stride(int64_t step) {
    int64_t stride = 1;
    for (int64_t q = step >> STEPS_LOG; q > 0; q >>= 1)
        stride *= 2;
    return stride;
}

/* ---- recording ---- */
static void take_samples(Trace *t, const Tensor *v) {
    for (uint32_t i = 0; i < t->spec.samples; i++)
        t->sample[i] = trace_sampled(v, i, t->spec.samples);
}

static uint32_t number_of(Trace *t, Traced *x) {
    if (x->no != NO_NUMBER) return x->no;
    const char *name = sym_text(t->s, x->name);
    return x->no = trace_writer_name(t->out, name, strlen(name));
}

static void write_value(Trace *t, Traced *x, const Tensor *v, const Digest *d) {
    if (x->layout == NO_NUMBER || !trace_writer_has(t->out, x->layout, v))
        x->layout = trace_writer_layout(t->out, v);
    TraceRecord r = {.name = number_of(t, x), .layout = x->layout, .d = *d};
    r.sample = (const unsigned char *)t->sample;
    trace_writer_add(t->out, &r);
    t->inner += t->frame.n > 1;
}

static bool record_value(Trace *t, const Call *c, Var v, const Value *value) {
    Scope *in = trace_here(t)->scope;
    if (in->seen[v] || !in->first[v]) return true;
    if (value->kind != TYPE_TENSOR || !value->t.data) return true;
    in->seen[v] = 1;
    Digest d = tensor_digest(&t->digester, &value->t);
    if (t->out) take_samples(t, &value->t);
    bool ok = true;
    for (uint32_t k = in->first[v]; ok && k; k = in->traced.p[k - 1].next)
        if (t->out)
            write_value(t, &in->traced.p[k - 1], &value->t, &d);
        else
            ok = trace_compare_value(t, c, &in->traced.p[k - 1], &value->t, &d);
    return ok;
}

static bool record_leaf(Trace *t, Var v, const Value *value) {
    Call c = {.s = t->s, .g = t->g};
    return !t->needed[v] || !value || record_value(t, &c, v, value);
}

/* Before the call, which may overwrite shared variables. */
static bool record_leaves(Trace *t, Machine *m) {
    const Graph *g = t->g;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!record_leaf(t, g->inputs.p[i], vm_input(m, i))) return false;
    for (size_t i = 0; i < g->shared.n; i++) {
        if (!t->needed[g->shared.p[i]]) continue;
        const Value *now = vm_shared(m, i);
        if (!now || !record_leaf(t, g->shared.p[i], now)) return false;
    }
    for (size_t i = 0; i < g->names.n; i++) {
        Var v = g->names.p[i].var;
        const Tensor *x = var_const(g, v);
        if (x && !record_leaf(t, v, &(Value){.kind = TYPE_TENSOR, .t = *x}))
            return false;
    }
    return true;
}

static bool record_results(void *ctx, size_t step, const Call *c, double seconds) {
    Trace *t = ctx;
    (void)step, (void)seconds;
    if (c->g != trace_here(t)->scope->g) return true;
    for (size_t i = 0; i < c->nout; i++)
        if (!record_value(t, c, c->g->apply[c->id].out + (Var)i, &c->out[i]))
            return false;
    return true;
}

/* ---- functions and loops ---- */
static void begin_frame(Trace *t, Frame f) {
    const Scope *x = f.scope;
    memset(x->seen, 0, x->g->nvar);
    for (Var v = 0; t->in && v < x->g->nvar; v++)
        x->deviation[v] = -1;
    vec_push(t->s, &t->frame, f);
}

static void end_frame(Trace *t) {
    Frame *f = &t->frame.p[--t->frame.n];
    if (f->at.n) map_free(&f->at);
}

static void write_frame(Trace *t, ApplyId id, const Frame *f) {
    const Scope *around = trace_here(t)->scope;
    const Traced *site = trace_site_name(t, around, id);
    const char *base = sym_text(t->s, f->scope->base);
    if (f->scope->no == NO_NUMBER)
        f->scope->no = trace_writer_name(t->out, base, strlen(base));
    uint32_t label = number_of(t, &around->traced.p[site - around->traced.p]);
    trace_writer_enter(t->out, label, f->scope->no, f->step);
}

/* Is this step of a loop one that a trace keeps? */
static bool is_kept(const Trace *t, int64_t step) {
    return t->inner < INNER_MOST && step % trace_stride(step) == 0;
}

static bool enter_function(void *ctx, const Graph *g, ApplyId id, const Graph *fn,
                           int64_t step) {
    Trace *t = ctx;
    if (g != trace_here(t)->scope->g || fn->fused) return false;
    if (t->out && (t->stopped || !is_kept(t, step))) return false;
    Frame f = {.scope = trace_scope(t, fn), .made = id, .step = step};
    if (t->in && !trace_find_frame(t, id, &f)) return false;
    if (t->out) write_frame(t, id, &f);
    begin_frame(t, f);
    return true;
}

static void leave_function(void *ctx) {
    Trace *t = ctx;
    if (t->out) t->stopped |= !trace_writer_leave(t->out);
    end_frame(t);
}

VmHooks trace_hooks(Trace *t) {
    return (VmHooks){.ctx = t,
                     .after = record_results,
                     .enter = enter_function,
                     .leave = leave_function,
                     .untimed = true};
}

/* ---- calls ---- */
bool trace_begin(Trace *t, Machine *m) {
    while (t->frame.n)
        end_frame(t);
    begin_frame(t, (Frame){.scope = trace_scope(t, t->g), .step = -1});
    t->inner = 0;
    if (t->in) trace_index_call(t);
    return record_leaves(t, m);
}

/* The first named value of the trace that the run doesn't have; 0: none. */
static Sym missing_name(const Trace *t) {
    const TraceBatch *b = &t->frame.p[0].records;
    for (size_t i = 0; i < b->n; i++) {
        Sym name = trace_file_name(t->in, trace_file_record(t->in, b, i).name);
        if (!t->used[i] && trace_is_named(t->s, name) &&
            graph_find(t->g, name) == VAR_NONE)
            return name;
    }
    return 0;
}

static bool check_names(Trace *t) {
    if (!trace_file_calls(t->in))
        return fail(t->s, NOWHERE, E_VERDICT, "%s has no calls", t->spec.path);
    Sym missing = missing_name(t);
    const char *theirs = sym_text(t->s, missing), *ours = sym_text(t->s, t->extra);
    if (!t->compared && trace_file_call(t->in, 0).n) {
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

bool trace_end(Trace *t) {
    if (t->stopped) return false;
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
    size_t calls = trace_file_calls(t->in);
    if (t->call > calls)
        warn(t->s, NOWHERE, E_VERDICT,
             "%s has %s, and here were %zu: the later ones were not compared",
             t->spec.path, str_counted(t->s, calls, "call"), t->call);
    session_log(t->s, "compared %s in %zu of the %s of %s",
                str_counted(t->s, t->compared, "value"),
                t->call < calls ? t->call : calls, str_counted(t->s, calls, "call"),
                t->spec.path);
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
    t->needed = graph_live(ran, a, ROOTS_RUN);
    t->scope_of = MAP(s);
    t->number = MAP(s);
    t->frame_at = INDEX(s);
    t->label_of = MAP(s);
    for (uint32_t i = 0; in && i < trace_file_names(in); i++)
        map_put(&t->number, trace_file_name(in, i), i);
    t->sample = NEW_N(a, spec->samples, double);
    digester_init(&t->digester, s, spec->threads);
    return t;
}

void trace_close(Trace *t) {
    if (!t) return;
    trace_writer_abort(t->out);
    trace_file_close(t->in);
    while (t->frame.n)
        end_frame(t);
    vec_free(&t->frame);
    map_free(&t->scope_of);
    map_free(&t->number);
    index_free(&t->frame_at);
    map_free(&t->label_of);
    mem_free(t->used);
    for (size_t i = 0; i < t->scope.n; i++)
        vec_free(&t->scope.p[i]->traced);
    vec_free(&t->scope);
    arena_free(t->a);
}
