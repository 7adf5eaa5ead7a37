/* grewrite --prove: each rule asked for as certificate or counter-example: a line each,
 * or JSON (schemas/proof.schema.json). */
#include "prove/prove.h"

#include "format/json.h"
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

static const char *const promises[] = {[PROMISE_EXACT] = "exact",
                                       [PROMISE_STABLE] = "stable",
                                       [PROMISE_ROUNDED] = "rounded",
                                       [PROMISE_ALGEBRA] = "algebra",
                                       [PROMISE_FAST] = "fast"};

/* "my.rules:3" */
static const char *rule_place(Session *s, const RewriteEntry *e) {
    uint32_t line, column;
    span_place(s, e->at, &line, &column);
    return arena_printf(session_arena(s), "%s:%u", source_get(s, e->at.source)->name,
                        line);
}

static void text_proof(Session *s, const RuleProof *p, Str *out) {
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
        str_printf(out, "counter-example: %s  (%s)", counter_text(s, p->counter),
                   rule_place(s, p->rule));
        break;
    }
    if (p->verdict == VERDICT_PROVED || p->verdict == VERDICT_HOLDS)
        str_printf(out, "; %s", p->dtypes);
    str_putc(out, '\n');
}

/* ---- JSON ---- */

static void json_counter(const CounterExample *c, JsonWriter *w) {
    json_put_key(w, "counter");
    json_open(w, '{');
    json_put_key(w, "inputs");
    json_open(w, '[');
    for (size_t i = 0; i < c->ninput; i++) {
        json_open(w, '{');
        json_member(w, "name", c->input[i].name);
        json_member(w, "value", c->input[i].value);
        if (*c->input[i].type) json_member(w, "type", c->input[i].type);
        json_close(w, "}");
    }
    json_close(w, "]");
    if (c->left) json_member(w, "left", c->left);
    if (c->right) json_member(w, "right", c->right);
    if (c->failure) json_member(w, "failure", c->failure);
    if (c->at >= 0) {
        json_put_key(w, "element");
        json_put_int(w, c->at);
    }
    json_close(w, "}");
}

static void json_words(const char *key, const char *words, JsonWriter *w) {
    json_put_key(w, key);
    json_open(w, '[');
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        json_put_n(w, p, n);
        p += n + (p[n] == ' ');
    }
    json_close(w, "]");
}

/* What a rule that isn't false or undecided holds for. */
static void json_certificate(const RuleProof *p, JsonWriter *w) {
    json_put_key(w, "points");
    json_put_int(w, (int64_t)p->points);
    json_put_key(w, "typings");
    json_put_int(w, (int64_t)p->typings);
    json_member_number(w, "worst", p->worst);
    json_member(w, "domain", p->domain);
    json_words("dtypes", p->dtypes, w);
}

static void json_proof(Session *s, const RuleProof *p, JsonWriter *w) {
    static const char *const verdicts[] = {[VERDICT_UNTYPED] = "undecided",
                                           [VERDICT_HOLDS] = "holds",
                                           [VERDICT_PROVED] = "proved",
                                           [VERDICT_FALSE] = "false"};
    json_line(w, "  ");
    json_open(w, '{');
    json_member(w, "rule", p->rule->name);
    json_member(w, "text", p->rule->text);
    json_words("tags", p->rule->tags, w);
    json_member(w, "line", rule_place(s, p->rule));
    json_member(w, "promise", promises[p->promise]);
    json_member(w, "verdict", verdicts[p->verdict]);
    if (p->verdict == VERDICT_PROVED || p->verdict == VERDICT_HOLDS)
        json_certificate(p, w);
    if (p->counter) json_counter(p->counter, w);
    json_close(w, "}");
}

/* ---- the rules asked for ---- */

typedef struct Proofs {
    size_t wrong;
    const RewriteEntry *first; /* that is false */
} Proofs;

static bool prove_one(Session *s, const RewriteEntry *e, uint64_t seed, Proofs *all,
                      JsonWriter *json, Str *out) {
    RuleProof p;
    if (!rule_prove(s, e, seed, &p)) return note(s, e->at, "in rule %s", e->name);
    if (json)
        json_proof(s, &p, json);
    else
        text_proof(s, &p, out);
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

static bool prove_all(Session *s, const RewriteEntry *e, size_t n, Proofs *all,
                      JsonWriter *json, Str *out) {
    enum { SEED = 1 };
    for (size_t i = 0; i < n; i++)
        if (!prove_one(s, &e[i], SEED, all, json, out)) return false;
    return true;
}

/* What was decided before a rule failed is lines on their own, but no JSON. */
static bool prove_as_json(Session *s, const RewriteEntry *e, size_t n, Proofs *all,
                          Str *out) {
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    json_put_key(&w, "proof");
    json_put_int(&w, 1); /* version of this form */
    json_put_key(&w, "rules");
    json_open(&w, '[');
    if (!prove_all(s, e, n, all, &w, out)) return str_clear(out), false;
    json_close(&w, n ? "\n]" : "]");
    json_close(&w, "}");
    str_putc(out, '\n');
    return true;
}

bool grewrite_prove(Session *s, const RewriteQuery *q, const char *what, bool json,
                    Str *out) {
    const RewriteEntry *e;
    size_t n, count;
    Proofs all = {0};
    if (!rewrite_list(s, q, &e, &n)) return false;
    RewriteEntry *asked = asked_rules(s, q, what, e, n, &count);
    if (count == 0 && *what) return fail_unknown(s, e, n, what);
    bool ok = json ? prove_as_json(s, asked, count, &all, out)
                   : prove_all(s, asked, count, &all, NULL, out);
    return ok && (all.wrong == 0 || fail_false(s, &all));
}
