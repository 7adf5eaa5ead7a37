/* Fusion in three files: fuse.c finds groups of Applies, fuse_end.c what they may end
 * in, fuse_function.c makes calls of functions of them. */
#ifndef REWRITE_FUSE_H
#define REWRITE_FUSE_H

#include "rewrite/rewrite_impl.h"

/* What one function may have. The machine runs it block by block, and keeps what is
 * computed in between in registers of a block each: these limits keep a block of all
 * operands in the second cache. */
enum { MOST_INPUTS = 48, MOST_OUTPUTS = 48 };

/* A function that was made, and what it computes. */
typedef struct FusedFunction {
    const Graph *fn;
    const uint8_t *key; /* NULL: an earlier function has the same */
    size_t n;
} FusedFunction;

typedef struct FuseMarks {
    bool member : 1; /* may be fused */
    bool again : 1;  /* computed anew by each group that reads it */
    bool extra : 1;  /* in the current chunk for that reason */
    bool end : 1;    /* a group may end in it */
} FuseMarks;

typedef struct Fuse {
    Rewriter *r;
    Graph *g;
    Arena *a;
    Arena *grouping; /* until the groups are known */
    Arena *lists;    /* until the next lists of groups */
    bool small;      /* a function's body without large values */
    uint8_t *live;   /* by variable */
    uint8_t *init;   /* by variable: an initial value needs it, which must not come to
                        depend on inputs by being in a group with what does */
    Clients clients;
    uint8_t *root;   /* by variable: an output, update, ... */
    uint32_t *shape; /* by variable: equal numbers mean equal shapes */
    Var *same;       /* by variable: union-find of those whose shapes ops compare */
    uint32_t *known; /* by root of these: the number of their known shape; 0: none */
    FuseMarks *is;   /* by Apply */
    bool any_again;
    uint32_t *scope; /* by Apply: groups stay within a branch; NULL: no branches */
    uint32_t *rank;  /* by Apply */
    uint32_t *set;   /* by Apply: union-find of groups */
    uint32_t *mark;  /* by Apply: 1 + the number of its chunk */
    uint32_t *seen;  /* by variable: the chunk whose inputs include it */
    union {          /* by variable */
        uint32_t
            *outside; /* of the chunk that is cut: how often it is read elsewhere */
        Var *inner;   /* its counterpart in the function being built */
    };
    uint32_t chunk;
    Vec(FusedFunction) made;
    Index made_index; /* by key */
    Vec(uint8_t) key; /* of the group that is being described */
} Fuse;

/* Does anything read v besides the current chunk, whose members are marked? */
bool fuse_is_output(const Fuse *f, Var v);
/* The variable that stands for those of v's shape. */
Var fuse_shape_root(const Fuse *f, Var v);
/* A number that functions hold themselves. */
bool fuse_is_constant(const Fuse *f, Var v);
/* Is input k read by an op that may end a group, besides what it takes in pieces? Ranks
 * leave room for the group behind it. */
bool fuse_is_written(const Graph *g, ApplyId id, uint32_t k);
/* Fills in f->end, by ranks. */
void fuse_find_ends(Fuse *f);
/* The op that n members, which are marked, may end in; APPLY_NONE: none. */
ApplyId fuse_end_of(const Fuse *f, const ApplyId *member, uint32_t n);
/* Replaces n members and, if there is one, the op at their end by a call. */
bool fuse_call_function(Fuse *f, const ApplyId *member, uint32_t n, ApplyId end);

#endif
