/* Gradients that only one side of an ifelse has. What flows back into a branch is not
 * made zero where the branch is not taken: it stands under a guard, and so does all
 * that is made of it. Where it meets a gradient from elsewhere, or is asked for, it
 * becomes ifelse(condition, gradient, zeros): the work on the way is part of that
 * branch, and is not done where the branch is not taken. */
#ifndef AD_CONDITIONAL_GRAD_H
#define AD_CONDITIONAL_GRAD_H

#include "ad/term.h"
#include "base/map.h"

typedef uint32_t GuardId; /* NO_GUARD: always there */
enum { NO_GUARD = 0 };
typedef struct Guard {
    GuardId up;    /* the guard that the ifelse itself stands under */
    GuardId jump;  /* one of those around it, far up */
    GuardId below; /* one of those under it: a note for who goes back down */
    uint32_t depth;
    Var condition;
    bool then;
    Var holds; /* this one and those around it do; VAR_NONE: not asked yet */
} Guard;
/* A gradient, or a part of one; next: number of another, 0: none. */
typedef struct GuardPart {
    Var sum;
    GuardId guard;
    uint32_t number, next;
} GuardPart;
typedef struct Guards {
    Builder *b;
    Vec(Guard) all; /* by number; the first is none */
    Map number;
    Vec(GuardPart) part; /* the first is none */
    uint32_t *more;      /* by variable: parts beside the first sum */
} Guards;

/* For the gradients of n variables; memory of a. */
Guards guards_new(Builder *b, Arena *a, size_t n);
void guards_free(Guards *q);
/* The guard of one side of an ifelse whose gradient is under `up`. */
GuardId guard_side(Guards *q, GuardId up, Var condition, bool then);
/* The innermost guard that both are under. */
GuardId guard_common(const Guards *q, GuardId x, GuardId y);
/* A gradient of x under `from` as one under `to`, which `from` is under. VAR_NONE:
 * diagnosed. */
Var guard_leave(Guards *q, Var x, Var gradient, GuardId from, GuardId to);
/* Adds a gradient to the sum of x, or keeps it beside it where it is under another
 * guard. False: diagnosed. */
bool guard_add(Guards *q, Var x, Var *sum, GuardId *guard, Var gradient, GuardId under);
/* Puts together what was kept apart: of two sides of one ifelse, the taken one. */
bool guard_join(Guards *q, Var x, Var *sum, GuardId *guard);

#endif
