/* The proof of one rule, in its one or two directions. */
#include "prove/prove_impl.h"

#include <math.h>
#include <string.h>

static bool has_tag(const char *tags, const char *tag) {
    size_t n = strlen(tag);
    for (const char *p = strstr(tags, tag); p; p = strstr(p + 1, tag))
        if ((p == tags || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0)) return true;
    return false;
}

static Promise promise_of(const char *tags) {
    if (has_tag(tags, "fast")) return PROMISE_FAST;
    if (has_tag(tags, "algebra")) return PROMISE_ALGEBRA;
    if (has_tag(tags, "reassociate")) return PROMISE_ROUNDED;
    return has_tag(tags, "stabilize") ? PROMISE_STABLE : PROMISE_EXACT;
}

static const char *dtype_names(const Prover *p) {
    Str out = STR(p->s);
    for (int d = 0; d < DT_N; d++)
        if (p->dtypes >> d & 1)
            str_printf(&out, "%s%s", out.n ? " " : "", dtype_name((DType)d));
    const char *text = arena_str(session_arena(p->s), str_text(&out), out.n);
    str_free(&out);
    return text;
}

bool prover_forget(Prover *p, size_t mark) {
    for (size_t i = mark; i < diag_count(p->s); i++)
        if (diag_get(p->s, i)->code == E_MEM) {
            diag_rewind(p->s, i + 1);
            diag_remove(p->s, mark, i);
            return !(p->failed = true);
        }
    diag_rewind(p->s, mark);
    return true;
}

static void finish_proof(Prover *p, RuleProof *out) {
    out->typings = p->typings;
    out->points = p->points;
    out->worst = p->worst;
    out->dtypes = dtype_names(p);
    out->domain = domain_text(p);
    out->counter = p->counter;
    out->verdict = p->counter                    ? VERDICT_FALSE
                   : p->typings == 0             ? VERDICT_UNTYPED
                   : p->certain && !p->uncertain ? VERDICT_PROVED
                                                 : VERDICT_HOLDS;
}

const char *counter_text(Session *s, const CounterExample *c) {
    Str out = STR(s);
    for (size_t i = 0; i < c->ninput; i++) {
        const CounterInput *x = &c->input[i];
        str_printf(&out, "%s = %s", x->name, x->value);
        str_printf(&out, *x->type ? " (%s), " : "%s, ", x->type);
    }
    if (c->failure)
        str_printf(&out, "right fails: %s", c->failure);
    else
        str_printf(&out, "left = %s, right = %s", c->left, c->right);
    if (c->at >= 0) str_printf(&out, " at element %lld", (long long)c->at);
    const char *text = arena_str(session_arena(s), str_text(&out), out.n);
    str_free(&out);
    return text;
}

static void prove_direction(Prover *p, const Rule *r) {
    p->rule = r;
    p->nhole = rule_holes(r, p->hole, HOLES);
    p->elementwise = rule_is_elementwise(r);
    if (p->nhole >= 1 && p->nhole <= HOLES) try_all_typings(p);
}

bool rule_prove(Session *s, const RewriteEntry *e, uint64_t seed, RuleProof *out) {
    Prover p = {.s = s,
                .promise = promise_of(e->tags),
                .random = hash_mix(seed, 0x9E3779B97F4A7C15),
                .domains = domain_all()};
    *out = (RuleProof){.rule = e, .promise = p.promise};
    const Rule *r = rule_parse(s, e->at);
    if (!r) return false;
    prove_direction(&p, r);
    if (rule_reverse(r) && !prover_done(&p)) prove_direction(&p, rule_reverse(r));
    if (!p.failed) finish_proof(&p, out);
    evaluate_free_structures(&p);
    return !p.failed;
}
