/* Ranks: the processes that run one graph together, each on its share of the rows. What
 * they exchange goes from one to one other, in pairs that the rank numbers determine
 * (0 and 1, 2 and 3; then 0 and 2, 1 and 3; ...), so that a sum follows the same binary
 * tree whatever carries the messages. Every exchange begins with what each rank is
 * about to do: one that has failed, or is elsewhere in the graph, is noticed by all
 * instead of waited for. The transport is another's: Open MPI's is tl_mpi.so.
 *
 * All functions are collective: all ranks call the same ones in the same order. With
 * one rank they do nothing. */
#ifndef OP_RANKS_H
#define OP_RANKS_H

#include "op/op.h"

#include <stdatomic.h>

/* The end of a run as the ranks agreed on it. */
typedef struct RanksEnd {
    bool known;    /* some rank has failed */
    unsigned rank; /* the first of them, which reports it */
    int status;    /* the exit status of all */
} RanksEnd;
typedef struct Ranks {
    unsigned rank, n; /* n: a power of two */
    void *ctx;
    /* Sends n bytes to the peer and receives at most `room`; *got is what came. False:
     * the connection is lost. */
    bool (*swap)(void *ctx, unsigned peer, const void *send, size_t n, void *receive,
                 size_t room, size_t *got);
    bool threads;  /* any thread may call swap, one at a time */
    bool own_rows; /* what split inputs are given are this rank's rows already */
    RanksEnd end;
    bool lost; /* messages don't arrive any more */
    /* Of exchanges beside other work: */
    struct Worker *worker; /* makes them; NULL until there is one */
    unsigned begun;        /* how many have not been ended */
    atomic_bool patient;   /* nobody waits for swap now: let other threads have the
                            * cores */
} Ranks;
void ranks_close(Ranks *r); /* frees what they use */
/* services(s)->ranks, which is NULL where a process runs alone. */
unsigned ranks_count(Session *s);
unsigned ranks_rank(Session *s);

/* Of n rows, those of part i of `parts` are [ranks_bound(n, i, parts), ranks_bound(n,
 * i + 1, parts)). A part that is divided again has the rows of its parts. */
int64_t ranks_bound(int64_t n, int64_t part, int64_t parts);

/* What a rank is about to do, for the others to compare. */
typedef struct RankDoing {
    const char *what; /* "all_sum (line 7)"; at most 47 characters are kept */
    uint64_t mark;    /* equal on all ranks that do the same */
    Span at;          /* for errors */
} RankDoing;
/* Gathers `size` bytes of each rank, in the order of ranks; own and all may overlap at
 * this rank's place. */
bool ranks_gather(Session *s, const RankDoing *doing, const void *own, size_t size,
                  void *all);
/* The same for any number of bytes each: from[r] to from[r + 1] are those of rank r.
 * This rank's are in their place already. */
bool ranks_gather_parts(Session *s, const RankDoing *doing, void *all,
                        const size_t *from);
/* Adjacent elements of one dtype. */
typedef struct RankSegment {
    DType dtype;
    size_t n;
} RankSegment;
/* data[i] becomes op(data of one half of the ranks, data of the other), each half in
 * the same way; op: add or maximum. `room` holds as many bytes as data. Both are
 * aligned for the first segment; those of larger elements come first. */
bool ranks_reduce(Session *s, const RankDoing *doing, KnownOp op, size_t nseg,
                  const RankSegment *seg, void *data, void *room);
/* The same beside other work, for RANKS_OVERLAP bytes or more, or what would wait for
 * as many: data and room are not to be touched until it is ended. NULL: that can't
 * be, or isn't worth it; nothing was begun. Exchanges happen in the order in which they
 * begin, and any other function of this header first waits for those that were begun.
 */
typedef struct RankFlight RankFlight;
RankFlight *ranks_reduce_begin(Session *s, const RankDoing *doing, KnownOp op,
                               size_t nseg, const RankSegment *seg, void *data,
                               void *room);
bool ranks_reduce_end(RankFlight *f); /* frees it */
/* Would ranks_reduce_begin begin, with so many bytes? Up to RANKS_SHORT are a short
 * message; fewer than RANKS_OVERLAP are exchanged sooner than a thread takes over. */
enum { RANKS_SHORT = 16384, RANKS_OVERLAP = 1 << 20 };
bool ranks_reduce_overlaps(Session *s, size_t bytes);
/* Tells all others, at whatever they are about to do next, that this rank has failed;
 * then all know who of them reports it. */
void ranks_fail(Session *s, int status);

/* ---- what exchanges cost, for profiles ---- */
typedef struct RankLink { /* between any two ranks, in both directions at once */
    double bytes_per_s, latency_s;
} RankLink;
/* What the rank that sends most sends, and the time until all ranks have everything if
 * they begin together; without that of adding. */
typedef struct RankCost {
    double bytes, messages, time_s;
} RankCost;
/* Add the cost of one exchange of n ranks: ranks_reduce of so many bytes, a gathering
 * of so many from all ranks together, and of bytes that one rank alone has. */
void ranks_cost_reduce(unsigned n, double bytes, const RankLink *link, RankCost *cost);
void ranks_cost_gather(unsigned n, double bytes, const RankLink *link, RankCost *cost);
void ranks_cost_spread(unsigned n, double bytes, const RankLink *link, RankCost *cost);

/* Combines in pairs what comes one after the other, as the same tree does: item 0 with
 * 1, 2 with 3, then the pairs. `carry` is called as often as pairs are complete when
 * item i has come. */
static inline unsigned ranks_pairs_after(uint64_t i) {
    return (unsigned)__builtin_ctzll(i + 1);
}
/* out[k] = op(low[k], high[k]), elements of one dtype; out may be either. */
void ranks_combine(Session *s, KnownOp op, DType d, size_t n, const void *low,
                   const void *high, void *out);

#endif
