/* Builds a rule's two sides over given variables, for the tests of rules. The left side
 * is built and then matched, so that guards, operand order and props are those of a
 * real run. */
#include "rewrite/rewrite_impl.h"

static bool fill_match(const Rule *rule, size_t n, const Var *hole, Match *m) {
    size_t k = 0;
    *m = (Match){0};
    for (size_t i = 0; i < rule->nhole; i++) {
        if (rule->prop_hole[i] || rule->rest_hole[i]) continue;
        if (k == n) return false;
        m->var[i] = hole[k++];
        m->bound[i] = true;
    }
    return k == n;
}

bool rule_sides(const Rule *rule, Graph *g, size_t n, const Var *hole, Var *lhs,
                Var *rhs) {
    Rewriter r;
    Match m;
    uint32_t number = 0;
    RewriteOptions o = {0};
    size_t mark = diag_count(g->s);
    if (rule->broken || !fill_match(rule, n, hole, &m)) return false;
    rewriter_open(&r, g, NULL, &o, &number);
    DType like = var_type(g, hole[0])->dtype;
    *lhs = rule_build(&r, rule, rule->lhs, &m, like);
    *rhs = *lhs == VAR_NONE ? VAR_NONE : rule_fire(&r, rule, *lhs);
    rewriter_close(&r);
    diag_rewind(g->s, mark);
    return *rhs != VAR_NONE;
}
