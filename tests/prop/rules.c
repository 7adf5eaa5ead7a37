/* Every rule of the house is proved, or holds in a dense search, as its tags promise;
 * and every rule finds types that it fits. */
#include "../unit/test.h"
#include "prove/prove.h"
#include "vm/vm.h"

#include <string.h>

static void test_rule(Session *s, const RewriteEntry *e) {
    RuleProof p = {0};
    bool ok = rule_prove(s, e, 1, &p);
    CHECK(ok, "rule %s: %s", e->name,
          diag_count(s) ? diag_get(s, 0)->text : "can't be tried");
    if (!ok) return;
    CHECK(p.verdict != VERDICT_UNTYPED, "rule %s: %s: no types that it fits", e->name,
          e->text);
    CHECK(p.verdict != VERDICT_FALSE, "rule %s: %s: %s", e->name, e->text,
          p.counter ? counter_text(s, p.counter) : "");
}

int main(int argc, char **argv) {
    Session *s = session_new(NULL, NULL);
    vm_open(s);
    const RewriteEntry *entry;
    size_t n, tested = 0;
    bool ok = rewrite_list(s, &(RewriteQuery){0}, &entry, &n);
    CHECK(ok);
    for (size_t i = 0; ok && i < n; i++) {
        if (entry[i].is_pass || (argc > 1 && strcmp(argv[1], entry[i].name) != 0))
            continue;
        test_rule(s, &entry[i]);
        diag_clear(s);
        tested++;
    }
    CHECK(argc > 1 || tested > 100, "%zu rules", tested);
    session_free(s);
    return TEST_END("rules");
}
