/* Gradients that only one side of an ifelse has. What flows back into a branch is not
 * made zero where the branch is not taken: it stands under a guard, and so does all
 * that is made of it. Where it meets a gradient from elsewhere, or is asked for, it
 * becomes ifelse(condition, gradient, zeros): the work on the way is part of that
 * branch, and is not done where the branch is not taken. */
#ifndef AD_CONDITIONAL_GRAD_H
#define AD_CONDITIONAL_GRAD_H

#include "ad/term.h"
#include "base/map.h"

typedef uint32_t PathCondId; /* NO_GUARD: always there */
enum { NO_GUARD = 0 };
typedef struct PathCond {
    PathCondId up;    /* the guard that the ifelse itself stands under */
    PathCondId jump;  /* one of those around it, far up */
    PathCondId below; /* one of those under it: a note for who goes back down */
    uint32_t depth;
    Var condition;
    bool then;
    Var holds; /* this one and those around it do; VAR_NONE: not asked yet */
} PathCond;
/* A gradient, or a part of one; next: number of another, 0: none. */
typedef struct PathCondPart {
    Var sum;
    PathCondId guard;
    uint32_t number, next;
} PathCondPart;
typedef struct PathConds {
    Builder *b;
    Vec(PathCond) all; /* by number; the first is none */
    Map number;
    Vec(PathCondPart) part; /* the first is none */
    uint32_t *more;         /* by variable: parts beside the first sum */
} PathConds;

/* For the gradients of n variables; memory of a. */
PathConds path_conds_new(Builder *b, Arena *a, size_t n);
void path_conds_free(PathConds *q);
/* The guard of one side of an ifelse whose gradient is under `up`. */
PathCondId path_cond_side(PathConds *q, PathCondId up, Var condition, bool then);
/* The innermost guard that both are under. */
PathCondId path_cond_common(const PathConds *q, PathCondId x, PathCondId y);
/* A gradient of x under `from` as one under `to`, which `from` is under. VAR_NONE:
 * diagnosed. */
Var path_cond_leave(PathConds *q, Var x, Var gradient, PathCondId from, PathCondId to);
/* Adds a gradient to the sum of x, or keeps it beside it where it is under another
 * guard. False: diagnosed. */
bool path_cond_add(PathConds *q, Var x, Var *sum, PathCondId *guard, Var gradient,
                   PathCondId under);
/* Puts together what was kept apart: of two sides of one ifelse, the taken one. */
bool path_cond_join(PathConds *q, Var x, Var *sum, PathCondId *guard);

#endif
