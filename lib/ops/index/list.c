/* A list of offsets that serves many times, and the runs in it: found once, they take
 * the place of reading or writing row by row. */
#include "ops/index/index.h"

enum { USES = 8, RUN_LEAST = 16 };
static bool serves_often(int64_t n, int64_t uses) {
    return uses >= USES && n >= 2 * RUN_LEAST;
}

static OffsetRun *find_runs(Session *s, const OffsetList *l, int64_t bytes) {
    int64_t runs = 1;
    for (int64_t i = 1; i < l->n; i++)
        runs += l->offset[i] != l->offset[i - 1] + bytes;
    if (runs > l->n / RUN_LEAST) return NULL;
    OffsetRun *run = mem_alloc(s, (size_t)runs * sizeof *run), *r = run;
    *r = (OffsetRun){0, 1};
    for (int64_t i = 1; i < l->n; i++) {
        if (l->offset[i] != l->offset[i - 1] + bytes) *++r = (OffsetRun){i, 0};
        r->n++;
    }
    return run;
}

bool index_list(Session *s, const Indexed *ix, int64_t fronts, int64_t bytes,
                OffsetList *l) {
    *l = (OffsetList){.n = ix->late ? index_mesh(ix) : ix->adv_count,
                      .offset = ix->offset};
    bool often = l->n && serves_often(l->n, ix->adv_count / l->n * fronts);
    if (ix->late && !often) l->n = 0;
    if (l->n && ix->late) {
        l->offset = l->own = mem_alloc(s, (size_t)l->n * sizeof *l->own);
        if (!index_mesh_offsets(ix, l->own)) return false;
    }
    if (often && bytes) l->run = find_runs(s, l, bytes);
    return true;
}

void index_list_free(OffsetList *l) {
    mem_free(l->own);
    mem_free(l->run);
}

const OffsetRun *index_run_at(const OffsetList *l, int64_t at) {
    const OffsetRun *r = l->run;
    while (r->at + r->n <= at)
        r++;
    return r;
}
