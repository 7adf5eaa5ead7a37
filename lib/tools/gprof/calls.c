/* Measures a machine: first calls without hooks, for the total time, then as many calls
 * with hooks, for its parts. */
#include "tools/gprof/gprof.h"

enum { CALLS = 10 };
static const double LONG_ENOUGH = 0.2; /* seconds */

typedef struct Measuring {
    Profile *p;
    const Graph *g;
    Machine *m;
    const MeasuredCalls *how;
} Measuring;

static bool timed_call(const Measuring *f, double *seconds) {
    double start = clock_seconds();
    bool ok = vm_run(f->m);
    *seconds = clock_seconds() - start;
    return ok;
}

static bool first_calls(const Measuring *f) {
    double t;
    for (int64_t i = 0; i < f->how->warmup; i++) {
        if (!timed_call(f, &t)) return false;
        if (i == 0) profile_set(f->p, PF_first_time_s, t);
    }
    return true;
}

static bool measured_calls(const Measuring *f, int64_t *n) {
    double all = 0, t;
    int64_t most = f->how->repeat ? f->how->repeat : CALLS;
    for (*n = 0; *n < most; ++*n) {
        if (!f->how->repeat && all >= LONG_ENOUGH) break;
        if (!timed_call(f, &t)) return false;
        if (*n == 0 && !f->how->warmup) profile_set(f->p, PF_first_time_s, t);
        profile_call(f->p, t);
        all += t;
    }
    return true;
}

static bool watched_calls(const Measuring *f, int64_t n) {
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        VmHooks h = profile_hooks(f->p);
        vm_set_hooks(f->m, &h);
        ok = vm_run(f->m);
        if (ok) profile_watched(f->p);
    }
    vm_set_hooks(f->m, NULL);
    return ok;
}

/* Computes the initial values of shared variables, so that no measured call includes
 * them. */
static bool settle_shared(const Measuring *f) {
    for (size_t i = 0; i < f->g->shared.n; i++)
        if (!vm_shared(f->m, i)) return false;
    return true;
}

/* The machine keeps the memory that it holds at the end between calls, too. */
static void measured_memory(const Measuring *f, uint64_t peak) {
    VmMemory m = vm_memory(f->m);
    uint64_t results = m.arena + m.grown, known = results + m.scratch;
    profile_set(f->p, PF_measured_peak_bytes, (double)peak);
    profile_set(f->p, PF_measured_results_bytes, (double)results);
    profile_set(f->p, PF_measured_workspace_bytes, (double)m.scratch);
    profile_set(f->p, PF_measured_other_bytes,
                peak > known ? (double)(peak - known) : 0);
}

bool profile_measure(Profile *p, const Graph *g, Machine *m, const MeasuredCalls *how) {
    Measuring f = {p, g, m, how};
    int64_t n;
    if (!settle_shared(&f)) return false;
    for (size_t i = 0; i < g->inputs.n; i++)
        profile_input(p, i, vm_input(m, i));
    uint64_t before = buffer_bytes_used(g->s);
    buffer_reset_peak(g->s);
    if (!first_calls(&f) || !measured_calls(&f, &n)) return false;
    uint64_t peak = buffer_bytes_peak(g->s);
    measured_memory(&f, peak > before ? peak - before : 0);
    return watched_calls(&f, n);
}
