/* Guards: which gradients are there on one side of an ifelse only. */
#include "ad/guard.h"

enum {
    NEAR = 16
}; /* parts that are looked at for one that goes together with another */

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
    Guard g = {up, q->all.p[up].depth + 1, condition, then};
    vec_push(q->b->s, &q->all, g);
    map_put(&q->number, key, made);
    return made;
}

GuardId guard_common(const Guards *q, GuardId x, GuardId y) {
    while (x != y) {
        GuardId *deeper = q->all.p[x].depth > q->all.p[y].depth ? &x : &y;
        *deeper = q->all.p[*deeper].up;
    }
    return x;
}

static Var either(Guards *q, Var condition, bool then, Var taken, Var other) {
    return then ? call3(q->b, "ifelse", condition, taken, other)
                : call3(q->b, "ifelse", condition, other, taken);
}

Var guard_leave(Guards *q, Var x, Var gradient, GuardId from, GuardId to) {
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
    uint32_t at = q->more[x];
    if (*guard == under) return (*sum = ad_add(q->b, *sum, gradient)) != VAR_NONE;
    for (size_t i = 0; at && i < NEAR; i++, at = q->part.p[at].next) {
        Var *part = &q->part.p[at].sum;
        if (q->part.p[at].guard != under) continue;
        return (*part = ad_add(q->b, *part, gradient)) != VAR_NONE;
    }
    uint32_t made = (uint32_t)q->part.n;
    vec_push(q->b->s, &q->part, ((GuardPart){gradient, under, q->more[x]}));
    q->more[x] = made;
    return true;
}

static bool are_sides(const Guards *q, GuardId x, GuardId y) {
    const Guard *a = &q->all.p[x], *b = &q->all.p[y];
    return x && y && a->up == b->up && a->condition == b->condition;
}

/* Takes the next part, the other side of `guard` if it is near. */
static GuardPart take_part(Guards *q, Var x, GuardId guard) {
    uint32_t *found = &q->more[x], *at = found;
    for (size_t i = 0; *at && i < NEAR; i++, at = &q->part.p[*at].next) {
        if (!are_sides(q, guard, q->part.p[*at].guard)) continue;
        found = at;
        break;
    }
    GuardPart p = q->part.p[*found];
    *found = p.next;
    return p;
}

bool guard_join(Guards *q, Var x, Var *sum, GuardId *guard) {
    while (q->more[x] && *sum != VAR_NONE) {
        GuardPart p = take_part(q, x, *guard);
        GuardId to = guard_common(q, *guard, p.guard);
        if (are_sides(q, *guard, p.guard)) {
            Guard g = q->all.p[*guard];
            *sum = either(q, g.condition, g.then, *sum, p.sum);
        } else {
            Var a = guard_leave(q, x, *sum, *guard, to),
                b = guard_leave(q, x, p.sum, p.guard, to);
            bool ok = a != VAR_NONE && b != VAR_NONE;
            *sum = ok ? ad_add(q->b, a, b) : VAR_NONE;
        }
        *guard = to;
    }
    return *sum != VAR_NONE;
}
