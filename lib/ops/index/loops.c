/* The inner loops for the session's CPU level. */
#include "ops/index/loops.h"

extern const IndexLoops index_loops_0;
#ifdef __x86_64__
extern const IndexLoops index_loops_1, index_loops_2;
#endif

const IndexLoops *index_loops(Session *s) {
#ifdef __x86_64__
    int level = session_cpu_level(s);
    return level >= 2 ? &index_loops_2 : level == 1 ? &index_loops_1 : &index_loops_0;
#else
    (void)s;
    return &index_loops_0;
#endif
}

int index_size_class(size_t item) {
    return item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : item == 8 ? 3 : 4;
}
