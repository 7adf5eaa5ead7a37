/* A run of several ranks (op/ranks.h): each takes its share of the rows, all do the
 * same calls, and what one notices between two calls all know before the next. */
#include "base/map.h"
#include "op/shards.h"
#include "tools/grun/digest.h"
#include "tools/grun/grun_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- do all run the same? ---- */

typedef struct RankDigest {
    uint64_t graph, how;
    int64_t cpu;
} RankDigest;

/* What the calls depend on, besides the graph and its data. */
static uint64_t how_digest(const GraphRun *r) {
    const RunSpec *q = r->spec;
    const Series *c = &q->series;
    Str text = STR(r->s);
    str_printf(&text,
               "%d %lld %lld %d %lld %lld %lld %lld %lld %d %d %d %lld each %s until "
               "%s "
               "outputs %s",
               (int)q->mode, (long long)c->steps, (long long)c->batch, c->drop_last,
               (long long)c->epochs, (long long)c->shuffle, (long long)c->every,
               (long long)c->save_every, (long long)q->seed, q->no_updates,
               q->receipt || q->verify, services(r->s)->ranks->own_rows,
               (long long)r->rows, c->each ? c->each : "", q->until ? q->until : "",
               q->outputs ? q->outputs : "");
    for (size_t i = 0; i < r->g->outputs.n; i++)
        str_printf(&text, " %s", sym_text(r->s, r->g->outputs.p[i].label));
    uint64_t h = hash_bytes(str_text(&text), text.n, 1);
    str_free(&text);
    return h;
}

static bool fail_difference(GraphRun *r, unsigned other, const char *what,
                            const char *advice) {
    fail(r->s, NOWHERE, E_USAGE, "rank %u %s than rank 0", other, what);
    return note(r->s, NOWHERE, "%s", advice);
}

static bool compare_digests(GraphRun *r, const RankDigest *d, unsigned n) {
    for (unsigned i = 1; i < n; i++) {
        if (d[i].graph != d[0].graph)
            return fail_difference(r, i, "runs another graph",
                                   "give all ranks the same file");
        if (d[i].how != d[0].how)
            return fail_difference(r, i, "runs it in another way",
                                   "give all ranks the same options and as many rows");
        if (d[i].cpu != d[0].cpu)
            return fail_difference(r, i, "has another kind of CPU",
                                   "THUNKLINE_CPU=baseline, or avx2, on all ranks "
                                   "makes their results the same");
    }
    return true;
}

static bool has_collectives(const Graph *g) {
    static const char *const names[] = {"all_gather", "all_max",        "all_sum",
                                        "broadcast",  "reduce_scatter", "rank",
                                        "ranks"};
    for (ApplyId id = 0; id < g->napply; id++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(g->apply[id].op->name, names[i]) == 0) return true;
    return false;
}

static void warn_of_apart(GraphRun *r) {
    bool any = has_collectives(r->g);
    for (size_t i = 0; i < r->g->functions.n; i++)
        any |= has_collectives(r->g->functions.p[i]);
    if (any) return;
    warn(r->s, NOWHERE, E_USAGE,
         "the graph is not split: each of %u ranks computes all of it",
         ranks_count(r->s));
    note(r->s, NOWHERE, "grewrite --parallel NAMES splits it");
}

bool grun_ranks_begin(GraphRun *r) {
    unsigned n = ranks_count(r->s);
    if (n == 1) return true;
    warn_of_apart(r);
    Sha256 x;
    char hex[SHA256_HEX + 1];
    if (!digest_graph(r->spec->saved ? r->spec->saved : r->g, &x, hex)) return false;
    RankDigest own = {.graph = hash_bytes(hex, SHA256_HEX, 1),
                      .how = how_digest(r),
                      .cpu = session_cpu_level(r->s)},
               *all = NEW_N(r->a, n, RankDigest);
    RankDoing doing = {.what = "the first call"};
    return ranks_gather(r->s, &doing, &own, sizeof own, all) &&
           compare_digests(r, all, n);
}

/* ---- rows ---- */

/* Are the rows of input i divided among the ranks? */
static bool is_shared_out(const GraphRun *r, size_t i) {
    return ranks_count(r->s) > 1 && r->split[i] && !services(r->s)->ranks->own_rows;
}

bool grun_ranks_inputs(GraphRun *r) {
    r->split = shards_inputs(r->g, r->a);
    r->whole = NEW_N(r->a, r->g->inputs.n, Tensor);
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        Value *v = &r->feed[i].value;
        if (v->kind == TYPE_TENSOR) r->whole[i] = v->t;
        if (!is_shared_out(r, i) || !r->feed[i].given || r->feed[i].each) continue;
        if (v->kind != TYPE_TENSOR || v->t.ndim == 0) continue;
        grun_ranks_rows(r, i, &v->t);
    }
    if (ranks_count(r->s) == 1 || !services(r->s)->ranks->own_rows ||
        !r->spec->series.each)
        return true;
    return fail(r->s, r->spec->series.each_at, E_USAGE,
                "--own-rows takes all rows in each call: it doesn't go with --each");
}

static void take_rows(const GraphRun *r, unsigned rank, Tensor *t) {
    unsigned n = ranks_count(r->s);
    int64_t all = t->shape[0], from = ranks_bound(all, rank, n);
    t->data = (char *)t->data + from * t->stride[0];
    t->shape[0] = ranks_bound(all, rank + 1, n) - from;
}

void grun_ranks_rows(const GraphRun *r, size_t i, Tensor *t) {
    if (is_shared_out(r, i)) take_rows(r, ranks_rank(r->s), t);
}

const char *grun_ranks_path(const GraphRun *r, const char *path) {
    unsigned rank = ranks_rank(r->s);
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (rank == 0 || strcmp(path, "-") == 0) return path;
    if (!dot || (slash && dot < slash)) dot = path + strlen(path);
    return arena_printf(r->a, "%.*s.%u%s", (int)(dot - path), path, rank, dot);
}

/* ---- receipts ---- */

Value grun_ranks_given(const GraphRun *r, size_t i) {
    Value v = r->feed[i].value;
    if (v.kind == TYPE_TENSOR) v.t = r->whole[i];
    return v;
}

/* Digests of what a rank needs of the data: of split inputs, its rows. */
static bool digest_share(GraphRun *r, unsigned rank, char hex[SHA256_HEX + 1]) {
    Sha256 x;
    sha256_init(&x);
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        Value v = grun_ranks_given(r, i);
        if (!r->feed[i].given) continue;
        if (is_shared_out(r, i) && v.kind == TYPE_TENSOR && v.t.ndim)
            take_rows(r, rank, &v.t);
        const char *digest = digest_value(r->s, r->a, &v);
        if (!digest) return false;
        sha256_add(&x, digest, strlen(digest));
    }
    sha256_end(&x, hex);
    return true;
}

/* Each rank reads what it has read before; rank 0 reads what all have. */
bool grun_ranks_same_data(GraphRun *r) {
    unsigned n = ranks_count(r->s), rank = ranks_rank(r->s);
    char due[SHA256_HEX + 1], own[SHA256_HEX + 1];
    char(*all)[SHA256_HEX + 1] = arena_zalloc(r->a, n, sizeof *all);
    RankDoing doing = {.what = "the receipt"};
    if (n == 1) return true;
    if (!digest_share(r, rank, own) ||
        !ranks_gather(r->s, &doing, own, sizeof own, all))
        return false;
    for (unsigned i = 1; i < n && rank == 0; i++) {
        if (!digest_share(r, i, due)) return false;
        if (strcmp(all[i], due) != 0)
            return fail(r->s, NOWHERE, E_VERDICT,
                        "rank %u was given other data than rank 0, of which a receipt "
                        "can't tell",
                        i);
    }
    return true;
}

/* ---- between calls ---- */

/* Shall the run end? A rank that was told so tells the others. */
bool grun_ranks_agree(GraphRun *r, bool *stop) {
    unsigned n = ranks_count(r->s);
    if (n == 1) return true;
    char own = *stop, *all = mem_zalloc(r->s, n, 1);
    RankDoing doing = {.what = "the end of a call", .mark = (uint64_t)r->now.done};
    bool ok = ranks_gather(r->s, &doing, &own, 1, all);
    for (unsigned i = 0; ok && i < n; i++)
        *stop |= all[i];
    mem_free(all);
    return ok;
}
