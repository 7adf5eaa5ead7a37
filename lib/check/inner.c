/* Functions run by kernels (call, loops): in the first runs of an op the log computes
 * its function, with checks; later the machine does, as usual. */
#include "check/check_impl.h"

enum { RUNS_CHECKED = 3 };

typedef struct Checked {
    Check *c;
    RewriteLog *b;
    const Graph *fn;
    struct Inner *vm;
} Checked;

static struct Inner *checked_new(Session *s, const Graph *fn) {
    Check *c = session_slot(s, SLOT_CHECK);
    RewriteLog *b = rewrite_log_get(c, fn);
    Checked *x = mem_zalloc(s, 1, sizeof *x);
    *x = (Checked){c, b, fn, NULL};
    return (struct Inner *)(void *)x;
}

static bool run_by_vm(Checked *x, const Value *const *in, Value *out, Span at) {
    Services kept;
    inner_swap(x->c, &kept, false);
    if (!x->vm) x->vm = x->c->real.inner_new(x->c->s, x->fn);
    bool ok = x->vm && x->c->real.inner_run(x->vm, in, out, at);
    inner_restore(x->c, &kept);
    return ok;
}

static bool copy_reference_outputs(ReferenceRun *f, Value *out) {
    const Graph *g = f->g;
    size_t n = g->outputs.n + (g->until != VAR_NONE);
    for (size_t i = 0; i < n; i++) {
        if (!reference_copy(f, i < g->outputs.n ? g->outputs.p[i].var : g->until,
                            &out[i])) {
            while (i-- > 0)
                value_unref(&out[i]);
            return false;
        }
    }
    return true;
}

static bool run_by_log(Checked *x, const Value *const *in, Value *out) {
    ReferenceRun f;
    const Graph *g = x->b->g;
    bool ok = true;
    if (!session_enter(x->c->s)) return false;
    reference_open(&f, x->c, x->b);
    for (size_t i = 0; ok && i < g->inputs.n; i++) {
        ok = reference_set(&f, g->inputs.p[i], in[i]);
        if (ok) reference_bind(&f, var_type(g, g->inputs.p[i]), in[i]);
    }
    if (ok) reference_run(&f, true);
    ok = ok && copy_reference_outputs(&f, out);
    reference_close(&f);
    session_leave(x->c->s);
    return ok;
}

/* What the log can't compute is left to the machine, which reports why it fails. */
static bool checked_run(struct Inner *r, const Value *const *in, Value *out, Span at) {
    Checked *x = (Checked *)(void *)r;
    size_t mark = diag_count(x->c->s);
    if (x->b && x->b->checked++ < RUNS_CHECKED && run_by_log(x, in, out)) return true;
    if (diag_count(x->c->s) > mark) check_forget(x->c, mark);
    return run_by_vm(x, in, out, at);
}

static void checked_free(struct Inner *r) {
    Checked *x = (Checked *)(void *)r;
    if (!x) return;
    x->c->real.inner_free(x->vm);
    mem_free(x);
}

void inner_swap(Check *c, Services *kept, bool watched) {
    Services *s = services(c->s);
    *kept = *s;
    *s = c->real;
    s->debugging = true;
    s->print = NULL; /* kernels run many times, but output is wanted once */
    if (!watched) return;
    s->inner_new = checked_new;
    s->inner_run = checked_run;
    s->inner_free = checked_free;
}

void inner_restore(Check *c, const Services *kept) {
    *services(c->s) = *kept;
}
