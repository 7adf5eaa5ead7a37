/* Row blocks in three files: row_blocks.c finds groups of Applies, parts.c
 * says how each of them treats rows, function.c makes calls of functions of
 * them. */
#ifndef REWRITE_ROW_BLOCKS_H
#define REWRITE_ROW_BLOCKS_H

#include "part/part.h"
#include "rewrite/rewrite_impl.h"

enum { MOST_INPUTS = 64 }; /* of an Apply, and of a group */

/* How an Apply is cut. */
typedef struct Cut {
    const Part *x;     /* by input */
    const Part *out;   /* by output */
    const bool *drawn; /* by input: made anew in the function, of the number of rows */
} Cut;
typedef struct Member {
    ApplyId id;
    Cut cut;
    bool kept;
} Member;
typedef struct Maker {
    ApplyId id;
    const Part *due; /* what its result must be */
} Maker;
typedef struct Blocks {
    Rewriter *r;
    Graph *g;
    Arena *a;
    const uint8_t *live, *root;
    const uint8_t *init; /* by variable: an initial value needs it, which must not come
                          * to depend on inputs */
    Clients clients;
    uint32_t *scope; /* NULL: all are always needed */
    ApplyId napply;  /* when the pass began */
    size_t work;     /* left */
    ApplyId floor;   /* groups that were made end before it: none depends on a later
                      * one */
    /* the group: by Apply, its number if it is a member, or held up */
    uint32_t number, *member, *held;
    Map part;  /* results of members: Part * */
    Map drawn; /* what is made of constants and dims alone: Part *, or 0 */
    Vec(Maker) makers;
    Vec(Member) members; /* in order */
    Dim rows;            /* of the axis, in the graph */
    double large;
} Blocks;

static inline bool blocks_makes(const Blocks *b, Var v) {
    ApplyId maker = var_owner(b->g, v);
    return maker != APPLY_NONE && b->member[maker] == b->number;
}
const Part *blocks_part_of(const Blocks *b, Var v); /* NULL: no member makes it */
/* Does anything besides members read v? */
bool blocks_is_result(const Blocks *b, Var v);
/* Finds how the inputs from outside may be cut so that the Apply treats rows alone, or
 * sums over them; due: what output 0 must be, or NULL. False: not at all. */
bool blocks_cut_inputs(Blocks *b, ApplyId id, const Part *due, Cut *cut);
/* A constant or a dim that is the number of rows, or a vector of sizes with it: fills
 * in what it is. */
bool blocks_count(const Blocks *b, Var v, Part *out);
/* Replaces the members by a call. False: it can't be built, and nothing has changed. */
bool blocks_call(Blocks *b);

#endif
