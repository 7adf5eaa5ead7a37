/* Fusion in four files: fuse.c finds groups of Applies, fuse_end.c what they may end
 * in, fuse_cut.c cuts them, fuse_function.c makes calls of functions of them. */
#ifndef REWRITE_FUSE_H
#define REWRITE_FUSE_H

#include "rewrite/rewrite_impl.h"

/* What one function may have. The machine runs it block by block, and keeps what is
 * computed in between in registers of a block each: these limits keep a block of all
 * operands in the second cache. */
enum { MOST_INPUTS = 48, MOST_OUTPUTS = 48 };
/* Of what is computed again and of its clients: a group must hold all of them. */
enum { AGAIN_INPUTS = 4 };

/* A function that was made, the props of calls of it, and what it computes. */
typedef struct FusedFunction {
    const Graph *fn;
    const Props *props;
    const uint8_t *key; /* NULL: the function tells itself */
    size_t n;
} FusedFunction;

typedef struct FuseMarks {
    bool member : 1; /* may be fused */
    bool again : 1;  /* computed anew by each group that reads it */
    bool extra : 1;  /* in the current chunk for that reason */
    bool used : 1;   /* read by the current chunk, which computes it */
    bool ends : 1;   /* a group may end in what reads it */
    bool gone : 1;   /* a call took its place */
} FuseMarks;

#define SHAPE_KNOWN (UINT32_C(1) << 31)

/* An op that may end a group, and what it takes in pieces. */
typedef struct FuseEnd {
    Var v;
    ApplyId id;
} FuseEnd;

typedef struct Fuse {
    Rewriter *r;
    Graph *g;
    Arena *a;
    Arena *grouping; /* until the groups are known */
    Arena *lists;    /* until the next lists of groups */
    bool small;      /* a function's body without large values */
    uint16_t *reads; /* by variable: how often Applies read it, but for those that
                        compute it again; UINT16_MAX: or more, or it is a result */
    bool all_known;  /* the shapes of all variables */
    FuseMarks *is;   /* by Apply */
    uint32_t napply; /* before fusion */
    uint8_t *gone;   /* by block of Applies: how many */
    uint32_t ngone;  /* since the last were forgotten */
    bool any_again;
    Vec(FuseEnd) ends; /* by variable */
    /* until the groups are known */
    Clients clients;
    uint8_t *live;   /* by variable */
    uint8_t *root;   /* by variable: an output, update, ... */
    uint8_t *init;   /* by variable: an initial value needs it, which must not come to
                        depend on inputs by being in a group with what does */
    uint32_t *shape; /* by variable: equal numbers mean equal shapes */
    uint32_t *known; /* by root of `same`: the number of their known shape; 0: none */
    /* By variable: union-find of those whose shapes ops compare. Once the groups are
     * known, one number for each set, with SHAPE_KNOWN if types tell its shape. */
    Var *same;
    uint32_t
        *room; /* by Apply: of a member its shape, in which a group stays; else 0 */
    uint32_t *scope; /* by Apply: groups stay within a branch; NULL: no branches */
    uint32_t *rank;  /* by Apply */
    uint32_t *set;   /* by Apply: union-find of groups */
    uint32_t *seen; /* by variable: the chunk that reads it, or 1 more: that makes it */
    union {         /* by variable */
        uint32_t
            *outside; /* of the chunk that is cut: how often it is read elsewhere */
        Var *inner;   /* its counterpart in the function being built */
    };
    uint32_t chunk; /* even */
    Sym input_name[MOST_INPUTS + STREAM_INPUTS], result_name[MOST_OUTPUTS];
    Vec(FusedFunction) made;
    Index made_index; /* by key */
    Vec(uint8_t) key; /* of the group that is being described */
} Fuse;

static inline void fuse_new_chunk(Fuse *f) {
    f->chunk += 2;
}
/* Does a member of the chunk make v? */
static inline bool fuse_is_made(const Fuse *f, Var v) {
    return f->seen[v] == f->chunk + 1;
}
/* Begins a chunk: marks the members, and counts how often what they make is read
 * elsewhere. */
void fuse_look_at_chunk(Fuse *f, const ApplyId *member, uint32_t n);
/* Does anything read what the member of the chunk makes, besides the chunk? As long as
 * f->outside is there. */
static inline bool fuse_is_output(const Fuse *f, ApplyId member) {
    return !f->is[member].extra && f->outside[f->g->apply[member].out] > 0;
}
bool fuse_has_open_dim(const Type *t); /* a tensor's type */
/* A number that functions hold themselves. */
static inline bool fuse_is_constant(const Fuse *f, Var v) {
    return var_is_const(f->g, v) && var_type(f->g, v)->kind == TYPE_TENSOR &&
           var_type(f->g, v)->ndim == 0;
}
/* May the op end a group, and does it read inputs besides what it takes in pieces? */
static inline bool fuse_writes(const Apply *a) {
    return op_rare(a->op)->streams && a->nin > 1;
}
/* Is input k one of these? Ranks leave room for the group behind it. */
static inline bool fuse_is_written(const Apply *a, uint32_t k) {
    return fuse_writes(a) && k != op_rare(a->op)->streamed;
}
/* Finds the ops that may end a group, by ranks. */
void fuse_find_ends(Fuse *f);
/* The op that n members, which are marked, may end in; APPLY_NONE: none. */
ApplyId fuse_end_of(const Fuse *f, const ApplyId *member, uint32_t n);
/* Do n members, in order, fit in one function? */
bool fuse_chunk_fits(Fuse *f, const ApplyId *member, uint32_t n);
/* The members' places were taken. */
void fuse_let_go(Fuse *f, const ApplyId *member, uint32_t n);
/* Replaces a group of n members, in order, by calls as large as the limits allow; the
 * members may change places. */
bool fuse_cut_group(Fuse *f, ApplyId *member, uint32_t n);
/* Replaces n members, of which the last may be the op that ends them, by a call. */
bool fuse_call_function(Fuse *f, const ApplyId *member, uint32_t n);

#endif
