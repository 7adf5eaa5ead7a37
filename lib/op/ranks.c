/* The exchange between ranks: recursive doubling for what is short, else recursive
 * halving with distance doubling and the way back. Both combine the data of ranks 2k
 * and 2k + 1 first, then those of such pairs: the tree of ranks.h. */
#include "op/ranks.h"

#include "base/worker.h"
#include "op/services.h"

#include <string.h>

enum { WHAT = 48, SHORT_BYTES = RANKS_SHORT, MARK_FAILED = 1 };

/* Begins each message. */
typedef struct Head {
    uint64_t mark, bytes;
    uint32_t failed; /* 0, or MARK_FAILED */
    uint32_t rank;   /* if failed: the one that reports it */
    int64_t status;
    char what[WHAT];
} Head;
enum { MESSAGE = sizeof(Head) + SHORT_BYTES };

unsigned ranks_count(Session *s) {
    const Ranks *r = services(s)->ranks;
    return r ? r->n : 1;
}

unsigned ranks_rank(Session *s) {
    const Ranks *r = services(s)->ranks;
    return r ? r->rank : 0;
}

/* floor(n part / parts), without an overflow. */
int64_t ranks_bound(int64_t n, int64_t part, int64_t parts) {
    return n / parts * part + n % parts * part / parts;
}

/* ---- one exchange ---- */
/* What is wrong, to be said when the exchange is over: a thread that can't report may
 * make it. */
typedef enum Trouble {
    TROUBLE_NONE,
    TROUBLE_APART, /* ranks do different things */
    TROUBLE_LOST,  /* a rank can't be reached */
    TROUBLE_OTHERS /* another rank says why */
} Trouble;
typedef struct Exchange {
    Session *s;
    Ranks *r;
    Span at;
    Head own;
    Trouble trouble;
    unsigned peer; /* with which */
    Head other;    /* what it does instead */
} Exchange;

static Exchange exchange_new(Session *s, const RankDoing *doing, size_t bytes) {
    Exchange x = {.s = s, .r = services(s)->ranks, .at = doing->at};
    x.own = (Head){.mark = doing->mark, .bytes = bytes};
    strncpy(x.own.what, doing->what, WHAT - 1);
    return x;
}

/* Waits for a job, or for all; then swap needn't leave the cores to anybody. */
static void wait_for_flight(Ranks *r, const WorkerJob *job) {
    if (!r->begun) return;
    atomic_store(&r->patient, false);
    worker_wait(r->worker, job);
    if (job && r->begun > 1) atomic_store(&r->patient, true);
}

static Exchange exchange_begin(Session *s, const RankDoing *doing, size_t bytes) {
    wait_for_flight(services(s)->ranks, NULL);
    return exchange_new(s, doing, bytes);
}

/* Of two failures, all ranks keep the one of the smaller rank. */
static void take_failure(Exchange *x, const Head *h) {
    if (x->own.failed && x->own.rank <= h->rank) return;
    x->own.failed = MARK_FAILED;
    x->own.rank = h->rank;
    x->own.status = h->status;
    x->trouble = TROUBLE_OTHERS;
    x->r->end = (RanksEnd){true, h->rank, (int)h->status};
}

/* Compares what both are about to do. The first rank of the two groups that meet here
 * reports a difference: all their members see it. */
static void compare_heads(Exchange *x, unsigned peer, const Head *h) {
    if (h->failed) {
        take_failure(x, h);
    } else if (!x->own.failed && (x->own.mark != h->mark || x->own.bytes != h->bytes)) {
        unsigned group = (x->r->rank ^ peer) * 2;
        x->own.failed = MARK_FAILED;
        x->own.rank = x->r->rank & ~(group - 1);
        x->own.status = diag_exit(E_RUN);
        x->trouble = x->own.rank == x->r->rank ? TROUBLE_APART : TROUBLE_OTHERS;
        x->peer = peer;
        x->other = *h;
    }
}

static bool fail_lost(Exchange *x, unsigned peer) {
    x->r->end = (RanksEnd){true, x->r->rank, diag_exit(E_RUN)};
    x->r->lost = true;
    x->trouble = TROUBLE_LOST;
    x->peer = peer;
    return false;
}

static void report_apart(const Exchange *x) {
    const Head *own = &x->own, *h = &x->other;
    bool same = own->mark == h->mark && strcmp(own->what, h->what) == 0;
    if (same)
        fail(x->s, x->at, E_RUN_SHAPE,
             "rank %u has %llu bytes for %s, but rank %u has %llu", x->r->rank,
             (unsigned long long)own->bytes, own->what, x->peer,
             (unsigned long long)h->bytes);
    else
        fail(x->s, x->at, E_RUN,
             "the ranks do different things: rank %u is at %s, rank %u at %s",
             x->r->rank, own->what, x->peer, h->what);
    note(x->s, NOWHERE,
         "all ranks must run the same graph in the same way, with arrays of the same "
         "shapes");
}

static bool exchange_report(const Exchange *x, bool ok) {
    if (ok) return true;
    if (x->trouble == TROUBLE_APART)
        report_apart(x);
    else if (x->trouble == TROUBLE_LOST)
        fail(x->s, x->at, E_RUN, "rank %u can't reach rank %u any more, at %s",
             x->r->rank, x->peer, x->own.what);
    else if (x->trouble == TROUBLE_OTHERS)
        fail(x->s, x->at, E_RUN, "rank %u has failed", x->own.rank);
    return false;
}

static bool swap_bytes(Exchange *x, unsigned peer, const void *send, size_t n,
                       void *receive, size_t room) {
    size_t got = 0;
    return (x->r->swap(x->r->ctx, peer, send, n, receive, room, &got) && got == room) ||
           fail_lost(x, peer);
}

/* Sends n bytes that begin with this rank's head. A peer that does something else may
 * send as much as any short message has. */
static bool swap_heads(Exchange *x, unsigned peer, const void *send, size_t n,
                       char receive[MESSAGE]) {
    Head other;
    size_t got = 0;
    if (!x->r->swap(x->r->ctx, peer, send, n, receive, MESSAGE, &got) ||
        got < sizeof other)
        return fail_lost(x, peer);
    memcpy(&other, receive, sizeof other);
    other.what[WHAT - 1] = '\0';
    compare_heads(x, peer, &other);
    return true;
}

static bool swap_only_heads(Exchange *x, unsigned peer) {
    _Alignas(16) char receive[MESSAGE];
    return swap_heads(x, peer, &x->own, sizeof x->own, receive);
}

/* After the last step: did all ranks do the same? */
static bool exchange_end(Exchange *x) {
    if (!x->own.failed) return true;
    x->r->end = (RanksEnd){true, x->own.rank, (int)x->own.status};
    return false;
}

/* ---- gathering ---- */
/* A short block goes in one message with the head. */
static bool swap_short_blocks(Exchange *x, unsigned peer, const char *own, size_t n,
                              char *theirs, size_t room) {
    _Alignas(16) char send[MESSAGE], receive[MESSAGE];
    memcpy(send, &x->own, sizeof x->own);
    memcpy(send + sizeof(Head), own, n);
    if (!swap_heads(x, peer, send, sizeof(Head) + (x->own.failed ? 0 : n), receive))
        return false;
    if (!x->own.failed) memcpy(theirs, receive + sizeof(Head), room);
    return true;
}

/* Steps from which on all have failed exchange heads only. */
static bool swap_blocks(Exchange *x, unsigned step, char *all, const size_t *from) {
    unsigned peer = x->r->rank ^ step, mine = x->r->rank & ~(step - 1),
             other = peer & ~(step - 1);
    if (from[x->r->n] <= SHORT_BYTES)
        return swap_short_blocks(x, peer, all + from[mine],
                                 from[mine + step] - from[mine], all + from[other],
                                 from[other + step] - from[other]);
    if (!swap_only_heads(x, peer)) return false;
    return x->own.failed ||
           swap_bytes(x, peer, all + from[mine], from[mine + step] - from[mine],
                      all + from[other], from[other + step] - from[other]);
}

bool ranks_gather_parts(Session *s, const RankDoing *doing, void *all,
                        const size_t *from) {
    if (ranks_count(s) == 1) return true;
    Exchange x = exchange_begin(s, doing, from[ranks_count(s)]);
    bool ok = true;
    for (unsigned step = 1; ok && step < x.r->n; step *= 2)
        ok = swap_blocks(&x, step, all, from);
    return exchange_report(&x, ok && exchange_end(&x));
}

bool ranks_gather(Session *s, const RankDoing *doing, const void *own, size_t size,
                  void *all) {
    unsigned n = ranks_count(s);
    size_t *from = mem_alloc(s, (n + 1) * sizeof *from);
    for (unsigned i = 0; i <= n; i++)
        from[i] = i * size;
    memmove((char *)all + ranks_rank(s) * size, own, size);
    bool ok = ranks_gather_parts(s, doing, all, from);
    mem_free(from);
    return ok;
}

/* ---- reductions ---- */
void ranks_combine(Session *s, KnownOp op, DType d, size_t n, const void *low,
                   const void *high, void *out) {
    enum { MOST = 1 << 20 };
    Loop *loop = op_loop(s, op_known(s, op), d, d);
    size_t size = dtype_size(d);
    for (size_t at = 0; at < n; at += MOST) {
        size_t some = n - at < MOST ? n - at : MOST, offset = at * size;
        const void *in[] = {(const char *)low + offset, (const char *)high + offset};
        loop(some, in, &(void *){(char *)out + offset});
    }
}

typedef struct Reduction {
    Exchange x;
    KnownOp op;
    size_t nseg;
    const RankSegment *seg;
    char *data, *room;
} Reduction;

/* Elements are numbered through all segments. */
static size_t byte_of(const Reduction *w, size_t element) {
    size_t at = 0;
    for (size_t i = 0; i < w->nseg; i++) {
        size_t size = dtype_size(w->seg[i].dtype);
        if (element <= w->seg[i].n) return at + element * size;
        element -= w->seg[i].n;
        at += w->seg[i].n * size;
    }
    return at;
}

/* data[from..to) with the peer's elements at `theirs`; the lower rank's come first. */
static void combine_range(Reduction *w, size_t from, size_t to, unsigned peer,
                          const char *theirs) {
    size_t first = 0, at = byte_of(w, from);
    const char *other = theirs;
    for (size_t i = 0; i < w->nseg; first += w->seg[i++].n) {
        size_t lo = from > first ? from : first, end = first + w->seg[i].n,
               hi = to < end ? to : end;
        if (lo >= hi) continue;
        char *own = w->data + at;
        bool low = w->x.r->rank < peer;
        ranks_combine(w->x.s, w->op, w->seg[i].dtype, hi - lo, low ? own : other,
                      low ? other : own, own);
        at += (hi - lo) * dtype_size(w->seg[i].dtype);
        other += (hi - lo) * dtype_size(w->seg[i].dtype);
    }
}

/* Everything to everybody, with the head in the same message. */
static bool reduce_short(Reduction *w, size_t n, size_t bytes) {
    Exchange *x = &w->x;
    _Alignas(16) char send[MESSAGE], receive[MESSAGE];
    for (unsigned step = 1; step < x->r->n; step *= 2) {
        unsigned peer = x->r->rank ^ step;
        memcpy(send, &x->own, sizeof x->own);
        memcpy(send + sizeof(Head), w->data, bytes);
        if (!swap_heads(x, peer, send, sizeof(Head) + (x->own.failed ? 0 : bytes),
                        receive))
            return false;
        if (!x->own.failed) combine_range(w, 0, n, peer, receive + sizeof(Head));
    }
    return exchange_end(x);
}

/* Halves the range with each step, to what this rank alone sums up; then back. */
static bool reduce_long(Reduction *w, size_t n) {
    Exchange *x = &w->x;
    size_t from[32], to[32];
    unsigned k = 0;
    for (unsigned step = 1; step < x->r->n; step *= 2)
        if (!swap_only_heads(x, x->r->rank ^ step)) return false;
    if (!exchange_end(x)) return false;
    from[0] = 0, to[0] = n;
    for (unsigned step = 1; step < x->r->n; step *= 2, k++) {
        unsigned peer = x->r->rank ^ step;
        size_t middle = from[k] + (to[k] - from[k]) / 2;
        bool low = x->r->rank < peer;
        from[k + 1] = low ? from[k] : middle;
        to[k + 1] = low ? middle : to[k];
        size_t own = byte_of(w, from[k + 1]), mine = byte_of(w, to[k + 1]) - own,
               other = byte_of(w, low ? middle : from[k]),
               theirs = byte_of(w, low ? to[k] : middle) - other;
        if (!swap_bytes(x, peer, w->data + other, theirs, w->room, mine)) return false;
        combine_range(w, from[k + 1], to[k + 1], peer, w->room);
    }
    while (k > 0) {
        unsigned peer = x->r->rank ^ 1U << --k;
        bool low = x->r->rank < peer;
        size_t own = byte_of(w, from[k + 1]), mine = byte_of(w, to[k + 1]) - own,
               other = byte_of(w, low ? to[k + 1] : from[k]),
               theirs = byte_of(w, low ? to[k] : from[k + 1]) - other;
        if (!swap_bytes(x, peer, w->data + own, mine, w->data + other, theirs))
            return false;
    }
    return true;
}

static Reduction reduction_of(KnownOp op, size_t nseg, const RankSegment *seg,
                              void *data, void *room, size_t *n) {
    *n = 0;
    for (size_t i = 0; i < nseg; i++)
        *n += seg[i].n;
    return (Reduction){.op = op, .nseg = nseg, .seg = seg, .data = data, .room = room};
}

static bool reduce(Reduction *w, size_t n) {
    size_t bytes = w->x.own.bytes;
    return bytes <= SHORT_BYTES ? reduce_short(w, n, bytes) : reduce_long(w, n);
}

bool ranks_reduce(Session *s, const RankDoing *doing, KnownOp op, size_t nseg,
                  const RankSegment *seg, void *data, void *room) {
    size_t n;
    Reduction w = reduction_of(op, nseg, seg, data, room, &n);
    if (ranks_count(s) == 1) return true;
    w.x = exchange_begin(s, doing, byte_of(&w, n));
    return exchange_report(&w.x, reduce(&w, n));
}

/* ---- beside other work ---- */
struct RankFlight {
    Reduction w;
    size_t n;
    WorkerJob job;
    bool ok;
};

bool ranks_reduce_overlaps(Session *s, size_t bytes) {
    Ranks *r = services(s)->ranks;
    if (!r || r->n == 1 || !r->threads || (bytes < RANKS_OVERLAP && !r->begun))
        return false;
    if (!r->worker) r->threads = (r->worker = worker_new(s)) != NULL;
    return r->threads;
}

/* Reads the session, and changes nothing of it. After a failure nothing more is
 * exchanged. */
static void fly(void *ctx) {
    RankFlight *f = ctx;
    const RanksEnd *end = &f->w.x.r->end;
    if (!end->known) {
        f->ok = reduce(&f->w, f->n);
        return;
    }
    f->w.x.own.rank = end->rank;
    f->w.x.trouble = TROUBLE_OTHERS;
}

RankFlight *ranks_reduce_begin(Session *s, const RankDoing *doing, KnownOp op,
                               size_t nseg, const RankSegment *seg, void *data,
                               void *room) {
    size_t n;
    Reduction w = reduction_of(op, nseg, seg, data, room, &n);
    if (!ranks_reduce_overlaps(s, byte_of(&w, n))) return NULL;
    RankFlight *f = mem_zalloc(s, 1, sizeof *f);
    w.x = exchange_new(s, doing, byte_of(&w, n));
    *f = (RankFlight){.w = w, .n = n, .job = {.fn = fly, .ctx = f}};
    w.x.r->begun++;
    atomic_store(&w.x.r->patient, true);
    worker_give(w.x.r->worker, &f->job);
    return f;
}

bool ranks_reduce_end(RankFlight *f) {
    Ranks *r = f->w.x.r;
    wait_for_flight(r, &f->job);
    r->begun--;
    bool ok = exchange_report(&f->w.x, f->ok);
    mem_free(f);
    return ok;
}

void ranks_close(Ranks *r) {
    worker_free(r->worker);
    r->worker = NULL;
}

/* ---- costs ---- */
/* A swap with one peer: both send at the same time. */
static void cost_swap(double bytes, const RankLink *link, RankCost *cost) {
    cost->messages++;
    cost->bytes += bytes;
    cost->time_s += link->latency_s + bytes / link->bytes_per_s;
}

void ranks_cost_reduce(unsigned n, double bytes, const RankLink *link, RankCost *cost) {
    bool is_short = bytes <= SHORT_BYTES;
    double part = bytes;
    for (unsigned step = 1; step < n; step *= 2)
        cost_swap(sizeof(Head) + (is_short ? bytes : 0), link, cost);
    if (is_short) return;
    for (unsigned step = 1; step < n; step *= 2)
        cost_swap(part /= 2, link, cost);
    for (unsigned step = 1; step < n; step *= 2, part *= 2)
        cost_swap(part, link, cost);
}

/* A block with its head: in one message where all blocks together are short. */
static void cost_block(double block, double all, const RankLink *link, RankCost *cost) {
    bool is_short = all <= SHORT_BYTES;
    cost_swap(sizeof(Head) + (is_short ? block : 0), link, cost);
    if (!is_short) cost_swap(block, link, cost);
}

void ranks_cost_gather(unsigned n, double bytes, const RankLink *link, RankCost *cost) {
    for (unsigned step = 1; step < n; step *= 2)
        cost_block(bytes / n * step, bytes, link, cost);
}

void ranks_cost_spread(unsigned n, double bytes, const RankLink *link, RankCost *cost) {
    for (unsigned step = 1; step < n; step *= 2)
        cost_block(bytes, bytes, link, cost);
}

/* ---- failing ---- */
void ranks_fail(Session *s, int status) {
    Ranks *r = services(s)->ranks;
    if (!r || r->n == 1) return;
    wait_for_flight(r, NULL);
    if (r->end.known) return;
    RankDoing doing = {.what = "its end"};
    Exchange x = exchange_begin(s, &doing, 0);
    x.own.failed = MARK_FAILED;
    x.own.rank = r->rank;
    x.own.status = status;
    for (unsigned step = 1; step < r->n; step *= 2) {
        if (!swap_only_heads(&x, r->rank ^ step)) return;
    }
    r->end = (RanksEnd){true, x.own.rank, (int)x.own.status};
}
