/* grewrite --prove: each rule asked for as certificate or counter-example, a line each.
 */
#include "prove/prove.h"

#include "tools/tools.h"

#include <stdlib.h>
#include <string.h>

static bool is_word_of(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = strstr(list, word); p && n; p = strstr(p + 1, word))
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0)) return true;
    return false;
}

static bool is_asked(const RewriteEntry *e, const RewriteQuery *q, const char *what) {
    if (e->is_pass) return false;
    if (*what) return strcmp(e->name, what) == 0 || is_word_of(e->tags, what);
    return q->nrules == 0 || is_word_of(e->tags, "user");
}

/* ---- text ---- */

static void put_proof(Session *s, const RuleProof *p, Str *out) {
    static const char *const promises[] = {"exact", "stable", "rounded", "algebra",
                                           "fast"};
    uint32_t line, column;
    str_printf(out, "%-26s %-8s ", p->rule->name, promises[p->promise]);
    switch (p->verdict) {
    case VERDICT_UNTYPED:
        str_puts(out, "undecided: no types were found that it fits");
        break;
    case VERDICT_PROVED:
        str_printf(out, "proved: rational identity; %llu points, worst %.2g ulp, %s",
                   (unsigned long long)p->points, p->worst, p->domain);
        break;
    case VERDICT_HOLDS:
        str_printf(out, "holds: %llu points, worst %.2g ulp, %s",
                   (unsigned long long)p->points, p->worst, p->domain);
        break;
    case VERDICT_FALSE:
        span_place(s, p->rule->at, &line, &column);
        str_printf(out, "counter-example: %s  (%s:%u)", p->counter,
                   source_get(s, p->rule->at.source)->name, line);
        break;
    }
    if (p->verdict == VERDICT_PROVED || p->verdict == VERDICT_HOLDS)
        str_printf(out, "; %s", p->dtypes);
    str_putc(out, '\n');
}

/* ---- the rules asked for ---- */

typedef struct Proofs {
    size_t wrong;
    const RewriteEntry *first; /* that is false */
} Proofs;

static bool prove_one(Session *s, const RewriteEntry *e, uint64_t seed, Proofs *all,
                      Str *out) {
    RuleProof p;
    if (!rule_prove(s, e, seed, &p)) return note(s, e->at, "in rule %s", e->name);
    put_proof(s, &p, out);
    if (p.verdict != VERDICT_FALSE) return true;
    if (!all->wrong++) all->first = e;
    return true;
}

static bool fail_unknown(Session *s, const RewriteEntry *e, size_t n,
                         const char *what) {
    Vec(const char *) names = {0};
    for (size_t i = 0; i < n; i++)
        if (!e[i].is_pass) vec_push(s, &names, e[i].name);
    const char *near = str_nearest(s, what, names.p, names.n);
    vec_free(&names);
    return fail(s, NOWHERE, E_UNKNOWN, "there is no rule and no tag of rules %s%s%s%s",
                what, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int compare_places(const void *a, const void *b) {
    const RewriteEntry *x = a, *y = b;
    if (x->at.source != y->at.source) return x->at.source < y->at.source ? -1 : 1;
    return (x->at.begin > y->at.begin) - (x->at.begin < y->at.begin);
}

/* In the order of their files. */
static RewriteEntry *asked_rules(Session *s, const RewriteQuery *q, const char *what,
                                 const RewriteEntry *e, size_t n, size_t *count) {
    RewriteEntry *asked = NEW_N(session_arena(s), n + 1, RewriteEntry);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (is_asked(&e[i], q, what)) asked[(*count)++] = e[i];
    if (*count) qsort(asked, *count, sizeof *asked, compare_places);
    return asked;
}

static bool fail_false(Session *s, const Proofs *all) {
    const char *name = all->first->name;
    if (all->wrong == 1)
        return fail(s, all->first->at, E_VERDICT, "rule %s is false", name);
    return fail(s, all->first->at, E_VERDICT, "rule %s is false, and so %s", name,
                all->wrong == 2
                    ? "is another one"
                    : arena_printf(session_arena(s), "are %zu others", all->wrong - 1));
}

bool rules_prove(Session *s, const RewriteQuery *q, const char *what, Str *out) {
    enum { SEED = 1 };
    const RewriteEntry *e;
    size_t n, count;
    Proofs all = {0};
    if (!rewrite_list(s, q, &e, &n)) return false;
    RewriteEntry *asked = asked_rules(s, q, what, e, n, &count);
    if (count == 0 && *what) return fail_unknown(s, e, n, what);
    for (size_t i = 0; i < count; i++)
        if (!prove_one(s, &asked[i], SEED, &all, out)) return false;
    return all.wrong == 0 || fail_false(s, &all);
}
