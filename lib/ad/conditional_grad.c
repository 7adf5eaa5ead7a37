/* Guards: which gradients are there on one side of an ifelse only. */
#include "ad/conditional_grad.h"

#include <stdlib.h>

enum { NESTED = 3 }; /* guards that are left one by one: ifelse in ifelse */

Guards guards_new(Builder *b, Arena *a, size_t n) {
    Guards q = {.b = b, .number = MAP(b->s), .more = NEW_N(a, n, uint32_t)};
    vec_push(b->s, &q.all, (Guard){.condition = VAR_NONE});
    vec_push(b->s, &q.part, (GuardPart){.sum = VAR_NONE});
    return q;
}

void guards_free(Guards *q) {
    vec_free(&q->all);
    vec_free(&q->part);
    map_free(&q->number);
}

GuardId guard_side(Guards *q, GuardId up, Var condition, bool then) {
    uint64_t key = (uint64_t)up << 33 | (uint64_t)condition << 1 | then, have;
    if (map_get(&q->number, key, &have)) return (GuardId)have;
    GuardId made = (GuardId)q->all.n;
    const Guard *u = &q->all.p[up];
    const Guard *far = &q->all.p[u->jump];
    bool even = u->depth - far->depth == far->depth - q->all.p[far->jump].depth;
    Guard g = {.up = up,
               .jump = even ? far->jump : up,
               .depth = u->depth + 1,
               .condition = condition,
               .then = then,
               .holds = VAR_NONE};
    vec_push(q->b->s, &q->all, g);
    map_put(&q->number, key, made);
    return made;
}

/* The guard at this depth that x is under, or x. Jumps double, so that chains of
 * guards are climbed in logarithmic time. */
static GuardId above(const Guards *q, GuardId x, uint32_t depth) {
    while (q->all.p[x].depth > depth) {
        GuardId jump = q->all.p[x].jump;
        x = q->all.p[jump].depth >= depth ? jump : q->all.p[x].up;
    }
    return x;
}

GuardId guard_common(const Guards *q, GuardId x, GuardId y) {
    x = above(q, x, q->all.p[y].depth);
    y = above(q, y, q->all.p[x].depth);
    while (x != y) {
        const Guard *a = &q->all.p[x], *b = &q->all.p[y];
        bool far = a->jump != b->jump;
        x = far ? a->jump : a->up;
        y = far ? b->jump : b->up;
    }
    return x;
}

static Var either(Guards *q, Var condition, bool then, Var taken, Var other) {
    return then ? call3(q->b, "ifelse", condition, taken, other)
                : call3(q->b, "ifelse", condition, other, taken);
}

/* Is the guard's own condition as it asks? */
static Var as_asked(Guards *q, const Guard *g) {
    return g->then ? cast_to(q->b, g->condition, DT_BOOL)
                   : call1(q->b, "logical_not", g->condition);
}

/* Do this guard and all that it is under hold? Said once for each guard; a condition is
 * looked at only where the ones around it hold. */
static Var holds(Guards *q, GuardId id) {
    GuardId below = id;
    while (q->all.p[below].depth > 1 && q->all.p[below].holds == VAR_NONE) {
        q->all.p[q->all.p[below].up].below = below;
        below = q->all.p[below].up;
    }
    Var all = q->all.p[below].holds;
    if (all == VAR_NONE) all = as_asked(q, &q->all.p[below]);
    q->all.p[below].holds = all;
    while (below != id && all != VAR_NONE) {
        below = q->all.p[below].below;
        Var own = as_asked(q, &q->all.p[below]), no = const_number(q->b, DT_BOOL, 0);
        bool ok = own != VAR_NONE && no != VAR_NONE;
        all = ok ? call3(q->b, "ifelse", all, own, no) : VAR_NONE;
        q->all.p[below].holds = all;
    }
    return all;
}

/* From deep below: one ifelse, so that many gradients that leave many guards stay
 * linear in both. */
static Var leave_all(Guards *q, Var x, Var gradient, GuardId from) {
    Var condition = holds(q, from), zero = ad_zero(q->b, x);
    if (condition == VAR_NONE || zero == VAR_NONE) return VAR_NONE;
    return either(q, condition, true, gradient, zero);
}

Var guard_leave(Guards *q, Var x, Var gradient, GuardId from, GuardId to) {
    if (q->all.p[from].depth > q->all.p[to].depth + NESTED)
        return leave_all(q, x, gradient, from);
    for (; from != to && gradient != VAR_NONE; from = q->all.p[from].up) {
        Guard g = q->all.p[from];
        Var zero = ad_zero(q->b, x);
        if (zero == VAR_NONE) return zero;
        gradient = either(q, g.condition, g.then, gradient, zero);
    }
    return gradient;
}

bool guard_add(Guards *q, Var x, Var *sum, GuardId *guard, Var gradient,
               GuardId under) {
    if (*guard == under) return (*sum = ad_add(q->b, *sum, gradient)) != VAR_NONE;
    uint32_t made = (uint32_t)q->part.n;
    vec_push(q->b->s, &q->part, ((GuardPart){gradient, under, made, q->more[x]}));
    q->more[x] = made;
    return true;
}

/* Later guards first, so that those inside come before those around them; parts of one
 * guard in the order in which they came. */
static int innermost(const void *x, const void *y) {
    const GuardPart *a = x, *b = y;
    if (a->guard != b->guard) return a->guard < b->guard ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

/* One gradient of two: of two sides of one ifelse, the taken one. */
static GuardPart merged(Guards *q, Var x, GuardPart a, GuardPart b) {
    GuardId to = guard_common(q, a.guard, b.guard);
    uint32_t below = q->all.p[to].depth + 1;
    GuardId at = above(q, a.guard, below), bt = above(q, b.guard, below);
    Guard g = q->all.p[at];
    bool sides = at != to && bt != to && g.condition == q->all.p[bt].condition;
    a.sum = guard_leave(q, x, a.sum, a.guard, sides ? at : to);
    b.sum = guard_leave(q, x, b.sum, b.guard, sides ? bt : to);
    GuardPart r = {.sum = VAR_NONE, .guard = to};
    if (a.sum != VAR_NONE && b.sum != VAR_NONE)
        r.sum = sides ? either(q, g.condition, g.then, a.sum, b.sum)
                      : ad_add(q->b, a.sum, b.sum);
    return r;
}

bool guard_join(Guards *q, Var x, Var *sum, GuardId *guard) {
    size_t n = 1, i = 1;
    if (!q->more[x]) return *sum != VAR_NONE;
    for (uint32_t at = q->more[x]; at; at = q->part.p[at].next)
        n++;
    GuardPart *part = mem_alloc(q->b->s, n * sizeof *part);
    part[0] = (GuardPart){.sum = *sum, .guard = *guard};
    for (uint32_t at = q->more[x]; at; at = q->part.p[at].next)
        part[i++] = q->part.p[at];
    qsort(part, n, sizeof *part, innermost);
    GuardPart all = part[0];
    for (i = 1; i < n && all.sum != VAR_NONE; i++)
        all = merged(q, x, all, part[i]);
    mem_free(part);
    q->more[x] = 0;
    *sum = all.sum;
    *guard = all.guard;
    return *sum != VAR_NONE;
}
