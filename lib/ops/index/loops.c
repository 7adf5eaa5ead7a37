/* The inner loops for the session's CPU level. */
#include "ops/index/loops.h"

#include "base/cpu.h"

extern const IndexLoops index_loops_0;
#ifdef __x86_64__
extern const IndexLoops index_loops_1, index_loops_2;
#endif

const IndexLoops *index_loops(Session *s) {
    return FOR_CPU_LEVEL(s, index_loops_);
}

/* CPUs that gather by an instruction as fast as it can be: those of this level whose
 * microcode doesn't guard it against others' looking on are the ones with both of these
 * extensions. */
static bool gathers_fast(void) {
#ifdef __x86_64__
    return CPU_HAS(AVX512_BF16) && CPU_HAS(AVX512_VBMI2);
#else
    return false;
#endif
}

static bool gathers_far(size_t bytes) {
    enum { NEAR = 1 << 20 }; /* what the caches of a core hold */
    return bytes > NEAR && gathers_fast();
}

GatherFn *index_gather(Session *s, int size, size_t bytes) {
    const IndexLoops *l = index_loops(s);
    return gathers_far(bytes) ? l->gather_far[size] : l->gather[size];
}

GatherFn *index_pick(Session *s, int size, size_t bytes) {
    const IndexLoops *l = index_loops(s);
    return gathers_far(bytes) ? l->pick_far[size] : l->pick[size];
}

int index_size_class(size_t item) {
    return item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : item == 8 ? 3 : 4;
}
