/* The timeline: which storage is live at each instruction of the plan. Values that
 * overwrite or view one another share a store; one that uses a shared variable's
 * storage needs none. */
#include "prof/prof_impl.h"

#include <stdlib.h>

int64_t var_bytes(const Profile *p, Var v) {
    if (p->bytes[v] >= 0) return p->bytes[v];
    return plan_bytes(p->plan, v, p->dims.n, p->dims.p);
}

/* A store's first value determines its size. */
static void store_add(const Profile *p, Timeline *t, const PlanVar *x) {
    Store *st = &t->store[x->store];
    int64_t n = x->how == PLAN_VIEW ? 0 : var_bytes(p, x->var);
    bool is_first = st->first == VAR_NONE;
    if (is_first) *st = (Store){x->born, x->dies, n, x->var};
    if (is_first && x->how != PLAN_OWN) st->bytes = 0;
    if (x->dies > st->dies) st->dies = x->dies;
    if (n < 0 && x->how != PLAN_VIEW) t->unknown++;
}

static size_t count_stores(const Profile *p) {
    size_t n = 0;
    for (size_t i = 0; i < plan_vars(p->plan); i++) {
        PlanVar x = plan_var(p->plan, i);
        if (x.store != UINT32_MAX && x.store >= n) n = x.store + (size_t)1;
    }
    return n;
}

static void find_stores(const Profile *p, Arena *a, Timeline *t) {
    t->nstore = count_stores(p);
    t->store = NEW_N(a, t->nstore, Store);
    for (size_t i = 0; i < t->nstore; i++)
        t->store[i].first = VAR_NONE;
    for (size_t i = 0; i < plan_vars(p->plan); i++) {
        PlanVar x = plan_var(p->plan, i);
        if (x.store != UINT32_MAX) store_add(p, t, &x);
        int64_t n = x.copied ? var_bytes(p, x.var) : 0;
        if (n > 0) t->live[t->nstep].bytes += (double)n;
    }
}

Timeline timeline_new(const Profile *p, Arena *a) {
    Timeline t = {.nstep = plan_steps(p->plan)};
    t.live = NEW_N(a, t.nstep + 1, Live); /* one more at the end, where results are
                                           * copied */
    find_stores(p, a, &t);
    double *change = NEW_N(a, t.nstep + 2, double), now = 0;
    for (size_t i = 0; i < t.nstore; i++) {
        const Store *st = &t.store[i];
        if (st->first == VAR_NONE || st->bytes < 0) continue;
        change[st->born] += (double)st->bytes;
        change[st->dies + 1] -= (double)st->bytes;
        t.live[st->born].made++;
    }
    for (size_t i = 0; i <= t.nstep; i++) {
        t.live[i].bytes += now += change[i];
        if (t.live[i].bytes > t.live[t.peak_at].bytes) t.peak_at = (uint32_t)i;
    }
    return t;
}

/* ---- who holds the peak ---- */
static int larger_holder(const void *a, const void *b) {
    const Holder *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->var != y->var) return x->var < y->var ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

/* A store holds the last of its values that was born by then. */
Holders memory_peak_holders(Profile *p, const Timeline *t, Arena *a) {
    Var *value = NEW_N(a, t->nstore, Var);
    size_t vars = plan_vars(p->plan), n = 0;
    Holder *h = NEW_N(a, t->nstore + vars + p->functions.n, Holder);
    for (size_t i = 0; i < vars; i++) {
        PlanVar x = plan_var(p->plan, i);
        if (x.store != UINT32_MAX && x.how != PLAN_VIEW && x.born <= t->peak_at)
            value[x.store] = x.var;
        int64_t copy = x.copied && t->peak_at == t->nstep ? var_bytes(p, x.var) : 0;
        if (copy > 0) h[n++] = (Holder){x.var, 0, (double)copy};
    }
    for (size_t i = 0; i < t->nstore; i++) {
        const Store *st = &t->store[i];
        if (st->first == VAR_NONE || st->bytes <= 0) continue;
        if (st->born <= t->peak_at && t->peak_at <= st->dies)
            h[n++] = (Holder){value[i], 0, (double)st->bytes};
    }
    for (size_t i = 0; i < p->functions.n; i++)
        h[n++] = p->functions.p[i];
    qsort(h, n, sizeof *h, larger_holder);
    return (Holders){h, n};
}

/* ---- instructions ---- */
Map plan_var_map(const Profile *p) {
    Map m = MAP(p->s);
    for (size_t i = 0; i < plan_vars(p->plan); i++)
        map_put(&m, plan_var(p->plan, i).var, i);
    return m;
}

void step_codes(const Profile *p, const Map *vars, const PlanStep *st, Str *out) {
    for (size_t k = 0; k < st->nout; k++) {
        uint64_t i;
        if (!map_get(vars, st->out[k], &i)) continue;
        PlanHow how = plan_var(p->plan, i).how;
        str_putc(out, how == PLAN_INPLACE ? 'i' : how == PLAN_VIEW ? 'v' : 'c');
    }
}

uint64_t step_bytes(const Profile *p, const PlanStep *st, bool *unknown) {
    uint64_t sum = 0;
    *unknown = false;
    for (size_t k = 0; k < st->nout; k++) {
        int64_t n = var_bytes(p, st->out[k]);
        *unknown |= n < 0;
        if (n > 0) sum += (uint64_t)n;
    }
    return sum;
}
