/* The clauses of the contract documents as tests. contract.def is the table; each row
 * names the document, the clause, what carries it here, and the statements that show
 * it. A program runs the rows of its name:
 *
 *     #define CLAUSE_check CLAUSE_RUN
 *     #include "contract.h"
 *     static void test_clauses(void) {
 *     #include "contract.def"
 *     }
 *
 * Rows whose statements are lines for the shell, or name a test for it, are run by
 * tests/bats/contract.bats. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "test.h"

#define CLAUSE(program, ...) CLAUSE_##program(__VA_ARGS__)
/* At least one check, and none that fails. */
#define CLAUSE_RUN(documents, clause, carrier, ...)                                    \
    {                                                                                  \
        int failed_ = test_failed, passed_ = test_passed;                              \
        __VA_ARGS__;                                                                   \
        CHECK(test_failed == failed_ && test_passed > passed_, "%s: %s (%s)",          \
              documents, clause, carrier);                                             \
    }
#define SHELL(...)
#define SHELL_BAD(...)
#define TEST(...)
#ifndef CLAUSE_op
#define CLAUSE_op(...)
#endif
#ifndef CLAUSE_grad
#define CLAUSE_grad(...)
#endif
#ifndef CLAUSE_run
#define CLAUSE_run(...)
#endif
#ifndef CLAUSE_type
#define CLAUSE_type(...)
#endif
#ifndef CLAUSE_plugin
#define CLAUSE_plugin(...)
#endif
#ifndef CLAUSE_check
#define CLAUSE_check(...)
#endif
#ifndef CLAUSE_vm_destroy
#define CLAUSE_vm_destroy(...)
#endif
#ifndef CLAUSE_vm_lazy
#define CLAUSE_vm_lazy(...)
#endif
#ifndef CLAUSE_filter
#define CLAUSE_filter(...)
#endif
#ifndef CLAUSE_value
#define CLAUSE_value(...)
#endif

#endif
