/* grewrite --verify: checks that a graph gives the same outputs and new shared values
 * before and after rewriting. */
#include "check/drift.h"
#include "tools/compare.h"
#include "tools/random_inputs.h"

typedef struct MachinePair {
    Graph *before, *after;
    Plan *plan[2];
    Machine *m[2];
    uint64_t seed;   /* of the random run */
    const Trial *at; /* its values */
} MachinePair;

static bool machine_pair_open(MachinePair *p) {
    /* what the graph claims is checked before, and trusted after */
    PlanOptions plain = {.no_fuse = true,
                         .no_inplace = true,
                         .no_reuse = true,
                         .debugging = true},
                usual = {0};
    p->plan[0] = plan_new(p->before, &plain);
    p->plan[1] = p->plan[0] ? plan_new(p->after, &usual) : NULL;
    for (int i = 0; p->plan[1] && i < 2; i++)
        p->m[i] = vm_new(p->plan[i]);
    return p->plan[1] != NULL;
}

static void machine_pair_close(MachinePair *p) {
    for (int i = 0; i < 2; i++) {
        vm_free(p->m[i]);
        plan_free(p->plan[i]);
        p->m[i] = NULL;
        p->plan[i] = NULL;
    }
}

/* The values at which a computation starts again: of a machine that hasn't run, whose
 * shared variables are still as they were. */
typedef struct Start {
    const Graph *g;
    const Trial *at;
    Machine *m;
    int64_t size; /* of a dim */
} Start;

static bool dim_value(Start *q, Sym name, Value *out) {
    for (size_t i = 0; i < q->at->ndim; i++) {
        if (q->at->dim[i].name != name) continue;
        q->size = q->at->dim[i].value;
        *out = (Value){.kind = TYPE_TENSOR};
        out->t.dtype = DT_INT64;
        out->t.data = &q->size;
        return true;
    }
    return false;
}

static bool start_value(void *ctx, Var v, Value *out) {
    Start *q = ctx;
    const Graph *g = q->g;
    const Value *have = NULL;
    if (var_leaf(g, v) == LEAF_DIM) return dim_value(q, var_leafrec(g, v)->name, out);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.p[i] == v) have = vm_input(q->m, i);
    for (size_t i = 0; i < g->shared.n; i++)
        if (g->shared.p[i] == v) have = vm_shared(q->m, i);
    if (have) *out = *have;
    return have != NULL;
}

static bool is_rounding(const MachinePair *p, Var v, const Value *want,
                        const Value *got, Approx how) {
    Start q = {.g = p->before, .at = p->at, .m = vm_new(p->plan[0])};
    DriftOf of = {p->before, v, NULL, start_value, &q};
    bool ok =
        trial_feed(p->at, q.m) && drift_explains(p->before->s, &of, want, got, how);
    vm_free(q.m);
    return ok;
}

/* The rewritten graph's variable determines the comparison: its rewrites may have
 * loosened it. */
static bool same_after_rewrite(MachinePair *p, const char *kind, const char *name,
                               Var was, Var v, const Value *a, const Value *b) {
    Session *s = p->before->s;
    const Approx *own = graph_approx(p->after, v);
    Approx how = own ? *own : APPROX_DEFAULT;
    int64_t where;
    if (compare_values(s, a, b, how, &where) || is_rounding(p, was, a, b, how))
        return true;
    fail(s, NOWHERE, E_VERDICT, "%s %s differs after rewriting (random run %llu)", kind,
         name, (unsigned long long)p->seed);
    compare_note(s, a, "before", b, "after", where);
    return note(s, NOWHERE, "--bisect finds the replacement, --explain lists them");
}

static bool compare_results(MachinePair *p) {
    Graph *g = p->before, *h = p->after;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!same_after_rewrite(p, "output", sym_text(g->s, g->outputs.p[i].label),
                                g->outputs.p[i].var, h->outputs.p[i].var,
                                vm_output(p->m[0], i), vm_output(p->m[1], i)))
            return false;
    for (size_t i = 0; i < g->shared.n; i++) {
        const Value *a = vm_shared(p->m[0], i), *b = vm_shared(p->m[1], i);
        if (!a || !b) return false;
        Var was = graph_update(g, g->shared.p[i]),
            new = graph_update(h, h->shared.p[i]);
        if (!same_after_rewrite(p, "shared variable",
                                sym_text(g->s, var_name(g, g->shared.p[i])),
                                was == VAR_NONE ? g->shared.p[i] : was,
                                new == VAR_NONE ? h->shared.p[i] : new, a, b))
            return false;
    }
    return true;
}

/* Did the run fail for lack of memory, which other inputs wouldn't avoid? */
static bool at_limit(Session *s, size_t mark) {
    enum { NO_ROOM = 6 };
    return diag_count(s) > mark && diag_exit(diag_get(s, mark)->code) == NO_ROOM;
}

/* One random point. A run that fails before rewriting proves nothing; one that fails
 * only afterwards is a mismatch. */
static bool run_trial(MachinePair *p, const Values *given, uint64_t seed, size_t *ran) {
    Session *s = p->before->s;
    Trial t;
    size_t mark = diag_count(s);
    p->seed = seed;
    p->at = &t;
    if (!trial_new(p->before, given, seed, &t)) return false;
    bool ok = true, first = trial_feed(&t, p->m[0]) && vm_run(p->m[0]);
    if (!first && at_limit(s, mark))
        ok = false;
    else if (!first)
        diag_rewind(s, mark);
    else if (!trial_feed(&t, p->m[1]) || !vm_run(p->m[1]))
        ok = note(s, NOWHERE, "this happens only after rewriting");
    else
        ok = compare_results(p);
    *ran += first;
    trial_free(&t);
    return ok;
}

bool graph_verify(Graph *before, Graph *after, const Values *given, uint64_t runs) {
    MachinePair p = {.before = before, .after = after};
    size_t ran = 0;
    bool ok = true;
    for (uint64_t i = 0; ok && i < runs;
         i++) { /* fresh machines: a run's updates must not reach the next one */
        ok = machine_pair_open(&p) && run_trial(&p, given, i, &ran);
        machine_pair_close(&p);
    }
    if (ok && runs && !ran) {
        fail(before->s, NOWHERE, E_VALUE, "none of the %llu random runs was possible",
             (unsigned long long)runs);
        return note(before->s, NOWHERE,
                    "give inputs that work, as in --verify 3 x=@x.npy");
    }
    return ok;
}
