/* ggrad --memory-budget: tries ways to recompute, measures each as gprof --static
 * would, and takes the cheapest that fits. */
#include "base/num.h"
#include "scan/scan.h"
#include "tools/ggrad/ggrad_impl.h"
#include "tools/gprof/gprof.h"
#include "tools/retype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 64, STEPS_MOST = 1024, STATES_MOST = 32, STATES_LEAST = 3 };

typedef struct Way {
    Recomputation how;
    double bytes, flops;
} Way;
typedef struct Ways {
    Session *s;
    const Graph *g;
    const Derive *d;
    Vec(Way) way;
} Ways;

/* ---- one way ---- */
static bool fail_unknown(const Ways *w) {
    fail(w->s, NOWHERE, E_MISSING,
         "the peak of memory or the flops depend on sizes that are not known");
    Str dims = {.s = w->s};
    graph_list_dims(w->g, &dims);
    if (dims.n)
        note(
            w->s, NOWHERE,
            "--dim n=1000 gives the size of a dim for the comparison; the graph's dims "
            "are %s",
            str_text(&dims));
    note(w->s, NOWHERE, "gprof --static shows what depends on which");
    str_free(&dims);
    return false;
}

/* The bytes and the flops of a way; blocks: of rows that go through loops in blocks. */
static bool measure(Ways *w, Recomputation how, bool blocks, double v[2]) {
    static const char *const field[] = {"peak_bytes", "flops"}, *const out[] = {
                                                                    "row-blocks"};
    Derive d = *w->d;
    d.checkpoint = NULL;
    d.recompute = &how;
    d.made = NULL;
    ProfileSpec q = {.run = {.filter = {.allow_downcast = -1},
                             .series = {.shuffle = -1},
                             .ndim = d.ndim,
                             .dim = d.dim},
                     .is_static = true};
    if (!blocks) q.run.rewrites.nexclude = 1, q.run.rewrites.exclude = out;
    Graph *g =
        graph_copy(w->g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    size_t mark = diag_count(w->s);
    bool ok = graph_derive(g, &d) && graph_profile_totals(g, &q, 2, field, v);
    graph_free(g);
    if (ok)
        diag_rewind(w->s, mark); /* warnings come once, from the way that is taken */
    return ok;
}

/* What runs has the graph's own dims, for which values may be whole that with sizes
 * would be computed in blocks, or the other way round: sizes that are only compared
 * with count on neither. */
static bool measure_way(Ways *w, Recomputation how) {
    double v[2] = {0, 0}, whole[2] = {0, 0};
    if (!measure(w, how, true, v)) return false;
    if (w->d->ndim && !measure(w, how, false, whole)) return false;
    if (whole[0] > v[0]) v[0] = whole[0];
    if (isnan(v[0]) || isnan(v[1])) return fail_unknown(w);
    vec_push(w->s, &w->way, ((Way){how, v[0], v[1]}));
    session_log(w->s, "%.0f bytes, %.0f flops: %zu parts, loops %s %lld", v[0], v[1],
                how.parts ? how.parts : (size_t)1, how.loops ? "in" : "kept",
                (long long)how.steps);
    return true;
}

/* ---- all ways ---- */
static bool has_loops(const Graph *g) {
    for (ApplyId id = 0; id < g->napply; id++)
        if (op_is(g->s, g->apply[id].op, OP_SCAN)) return true;
    return false;
}

/* Within the budget, nothing takes fewer flops than to recompute nothing. */
static bool measure_all(Ways *w, uint64_t budget) {
    bool ok = measure_way(w, (Recomputation){0});
    if (ok && w->way.p[0].bytes <= (double)budget) return true;
    for (size_t parts = 2; ok && parts <= PARTS_MOST && parts < w->g->napply;
         parts += 1 + parts / 3)
        for (int i = 4; ok && i > 0; i--)
            ok = measure_way(w, (Recomputation){.parts = parts, .share = 0.25 * i});
    if (!has_loops(w->g)) return ok;
    ok = ok && measure_way(w, (Recomputation){.loops = true});
    for (int64_t k = 2; ok && k <= STEPS_MOST; k *= 2)
        ok = measure_way(w, (Recomputation){.loops = true, .steps = k}) &&
             (k % 3 != 1 ||
              measure_way(w, (Recomputation){.parts = 4, .loops = true, .steps = k}));
    for (int64_t k = STATES_LEAST; ok && k <= STATES_MOST; k += 1 + k / 4)
        ok = measure_way(w, (Recomputation){.loops = true, .steps = -k});
    return ok;
}

static int fewer_bytes(const void *a, const void *b) {
    const Way *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return x->flops < y->flops ? -1 : x->flops > y->flops;
}

/* Leaves those that none other beats in both, so that more bytes take fewer flops. */
static void keep_best(Ways *w) {
    size_t n = 0;
    qsort(w->way.p, w->way.n, sizeof *w->way.p, fewer_bytes);
    for (size_t i = 0; i < w->way.n; i++)
        if (!n || w->way.p[i].flops < w->way.p[n - 1].flops)
            w->way.p[n++] = w->way.p[i];
    w->way.n = n;
}

static void list_ways(const Ways *w, Str *list) {
    str_puts(list, "bytes\tflops\tparts\tof\tloops\n");
    for (size_t i = 0; i < w->way.n; i++) {
        const Way *x = &w->way.p[i];
        str_printf(list, "%.0f\t%.0f\t%zu\t%g\t", x->bytes, x->flops,
                   x->how.parts ? x->how.parts : (size_t)1,
                   x->how.share > 0 ? x->how.share : 1);
        if (!x->how.loops)
            str_puts(list, "kept\n");
        else if (x->how.steps)
            str_printf(list, "%lld %s\n", (long long)i64_abs(x->how.steps),
                       x->how.steps < 0 ? "states" : "steps");
        else
            str_puts(list, "sqrt\n");
    }
}

static bool take_way(Graph *g, const Ways *w, uint64_t budget) {
    size_t n = 0;
    while (n < w->way.n && w->way.p[n].bytes <= (double)budget)
        n++;
    if (!n) {
        fail(w->s, NOWHERE, E_VERDICT,
             "no way was found to compute this within %s: the least is %.0f bytes",
             w->d->budget, w->way.p[0].bytes);
        return note(w->s, NOWHERE, "--memory-budget list shows all");
    }
    Derive d = *w->d;
    d.recompute = &w->way.p[n - 1].how;
    session_log(w->s, "the gradient takes %.0f bytes and %.0f flops",
                w->way.p[n - 1].bytes, w->way.p[n - 1].flops);
    return graph_derive(g, &d);
}

bool graph_derive_within(Graph *g, const Derive *d, Str *list) {
    Ways w = {.s = g->s, .g = g, .d = d};
    uint64_t budget = 0;
    bool all = strcmp(d->budget, "list") == 0;
    if (!all && !num_read_size(d->budget, &budget))
        return fail(g->s, NOWHERE, E_USAGE,
                    "--memory-budget takes a size such as 200MB, or list, not '%s'",
                    d->budget);
    bool ok = measure_all(&w, budget);
    if (ok) keep_best(&w);
    if (ok && all)
        list_ways(&w, list);
    else
        ok = ok && take_way(g, &w, budget);
    vec_free(&w.way);
    return ok;
}
