/* gprof --solve: the largest size of a dim for which a formula holds. Each size that is
 * tried is profiled as --static and --dim would, so the answer is theirs. */
#include "tools/gprof/gprof.h"

#include <string.h>

enum {
    BEYOND = 8, /* sizes tried past one that fails: packing is not quite monotone */
    SIZES = 40  /* powers of 2 tried */
};

typedef struct Solving {
    Session *s;
    const Graph *g;
    const ProfileSpec *q;
    Span name, formula;
    Span *dim; /* those of the spec, and one for the size that is tried */
} Solving;

static Span without_blanks(const char *text, Span t) {
    while (t.begin < t.end && text[t.begin] == ' ')
        t.begin++;
    while (t.end > t.begin && text[t.end - 1] == ' ')
        t.end--;
    return t;
}

/* "n: peak_bytes <= 16e9" */
static bool split_question(Solving *v, Span text) {
    const char *all = source_get(v->s, text.source)->text, *p = all + text.begin,
               *colon = memchr(p, ':', text.end - text.begin);
    uint32_t at = text.begin + (uint32_t)(colon ? colon - p : 0);
    v->name = without_blanks(all, (Span){text.source, text.begin, at});
    if (v->name.begin == v->name.end) {
        fail(v->s, text, E_USAGE, "--solve takes NAME: FORMULA");
        return note(v->s, NOWHERE, "as in --solve 'n: peak_bytes <= 16e9'");
    }
    v->formula = without_blanks(all, (Span){text.source, at + 1, text.end});
    return profile_assert_check(v->s, v->formula);
}

static bool holds_at(Solving *v, int64_t n, bool *yes) {
    const char *name = source_get(v->s, v->name.source)->text + v->name.begin;
    const char *text =
        arena_printf(session_arena(v->s), "%.*s=%lld",
                     (int)(v->name.end - v->name.begin), name, (long long)n);
    size_t len = strlen(text);
    ProfileSpec q = *v->q;
    v->dim[q.run.ndim] =
        (Span){source_add(v->s, "--solve", text, len), 0, (uint32_t)len};
    q.run.dim = v->dim;
    q.run.ndim++;
    q.is_static = true;
    Graph *g =
        graph_copy(v->g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    bool ok = graph_profile_holds(g, &q, v->formula, yes);
    graph_free(g);
    return ok || note(v->s, NOWHERE, "at %s", text);
}

/* yes, from low on, and no at high: the largest below it for which it holds. */
static bool bisect_sizes(Solving *v, int64_t *low, int64_t high) {
    while (high - *low > 1) {
        int64_t middle = *low + (high - *low) / 2;
        bool yes;
        if (!holds_at(v, middle, &yes)) return false;
        *(yes ? low : &high) = middle;
    }
    return true;
}

static bool find_largest(Solving *v, int64_t *n) {
    int64_t next = 1;
    bool yes = true;
    for (int i = 0; yes && i < SIZES; i++, next *= 2) {
        if (!holds_at(v, next, &yes)) return false;
        if (yes) *n = next;
        if (!yes) break;
    }
    if (yes || !*n) return true;
    if (!bisect_sizes(v, n, next)) return false;
    for (int64_t k = *n + 2, end = *n + BEYOND; k <= end; k++) {
        if (!holds_at(v, k, &yes)) return false;
        if (yes) *n = k, end = k + BEYOND;
    }
    return true;
}

bool graph_solve(Graph *g, const ProfileSpec *q, Span text, Str *out) {
    Solving v = {.s = g->s, .g = g, .q = q};
    int64_t n = 0;
    v.dim = NEW_N(session_arena(g->s), q->run.ndim + 1, Span);
    for (size_t i = 0; i < q->run.ndim; i++)
        v.dim[i] = q->run.dim[i];
    if (!split_question(&v, text) || !find_largest(&v, &n)) return false;
    const char *p = source_get(g->s, text.source)->text;
    int name = (int)(v.name.end - v.name.begin),
        formula = (int)(v.formula.end - v.formula.begin);
    if (!n)
        return fail(g->s, text, E_VERDICT, "%.*s does not hold for %.*s=1", formula,
                    p + v.formula.begin, name, p + v.name.begin);
    if (n == 1LL << (SIZES - 1))
        return fail(g->s, text, E_VERDICT, "%.*s holds for %.*s=%lld, and larger ones",
                    formula, p + v.formula.begin, name, p + v.name.begin, (long long)n);
    str_printf(out, "%.*s=%lld\n", name, p + v.name.begin, (long long)n);
    return true;
}
