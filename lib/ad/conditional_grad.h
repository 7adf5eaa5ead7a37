/* Gradients that exist in one branch of an ifelse only. A gradient that flows back into
 * a branch is not set to zero where the branch isn't taken. Instead a path, the
 * branches that must be taken, is attached to it and to everything computed from it.
 * Where it meets another gradient, or is a result, it becomes ifelse(condition,
 * gradient, zeros): all work up to there is part of that branch and is skipped if the
 * branch isn't taken. */
#ifndef AD_CONDITIONAL_GRAD_H
#define AD_CONDITIONAL_GRAD_H

#include "ad/term.h"
#include "base/map.h"

typedef uint32_t PathCondId; /* the branches in which a gradient exists */
enum { PATH_ALWAYS = 0 };    /* outside all branches */
typedef struct PathCond {
    PathCondId up;    /* the path of the ifelse itself */
    PathCondId jump;  /* a path some way up, for logarithmic search */
    PathCondId below; /* one inside it: the way back down */
    uint32_t depth;
    Var condition;
    bool then;
    Var holds; /* all branches of the path are taken; VAR_NONE: not built yet */
} PathCond;
/* A gradient, or one part of a sum; next: number of the next part, 0: none. */
typedef struct PathCondPart {
    Var sum;
    PathCondId path;
    uint32_t number, next;
} PathCondPart;
typedef struct PathConds {
    Builder *b;
    Vec(PathCond) all; /* by number; the first is PATH_ALWAYS */
    Map number;
    Vec(PathCondPart) part; /* the first is unused */
    uint32_t *more;         /* by variable: list of parts beside the first sum */
} PathConds;

/* For the gradients of n variables; allocates from a. */
PathConds path_conds_new(Builder *b, Arena *a, size_t n);
void path_conds_free(PathConds *q);
/* The path into one branch of an ifelse whose own gradient has the path `up`. */
PathCondId path_cond_side(PathConds *q, PathCondId up, Var condition, bool then);
/* The longest path that begins both x and y, which may be x or y. */
PathCondId path_cond_common(const PathConds *q, PathCondId x, PathCondId y);
/* Turns a gradient of x with the path `from` into one with `to`, which begins `from`.
 * VAR_NONE: diagnosed. */
Var path_cond_leave(PathConds *q, Var x, Var gradient, PathCondId from, PathCondId to);
/* Adds a gradient to the sum of x, or stores it as another part if its path
 * differs. False: diagnosed. */
bool path_cond_add(PathConds *q, Var x, Var *sum, PathCondId *path, Var gradient,
                   PathCondId under);
/* Merges all parts of x's gradient into one. False: diagnosed. */
bool path_cond_join(PathConds *q, Var x, Var *sum, PathCondId *path);

#endif
