/* Paths: the branches in which a gradient exists. */
#include "ad/conditional_grad.h"

#include <stdlib.h>

enum { NESTED = 3 }; /* up to so many branches are left one ifelse at a time */

PathConds path_conds_new(Builder *b, Arena *a, size_t n) {
    PathConds q = {.b = b, .number = MAP(b->s), .more = NEW_N(a, n, uint32_t)};
    vec_push(b->s, &q.all, (PathCond){.condition = VAR_NONE});
    vec_push(b->s, &q.part, (PathCondPart){.sum = VAR_NONE});
    return q;
}

void path_conds_free(PathConds *q) {
    vec_free(&q->all);
    vec_free(&q->part);
    map_free(&q->number);
}

PathCondId path_cond_side(PathConds *q, PathCondId up, Var condition, bool then) {
    uint64_t key = (uint64_t)up << 33 | (uint64_t)condition << 1 | then, have;
    if (map_get(&q->number, key, &have)) return (PathCondId)have;
    PathCondId made = (PathCondId)q->all.n;
    const PathCond *u = &q->all.p[up];
    const PathCond *far = &q->all.p[u->jump];
    bool even = u->depth - far->depth == far->depth - q->all.p[far->jump].depth;
    PathCond g = {.up = up,
                  .jump = even ? far->jump : up,
                  .depth = u->depth + 1,
                  .condition = condition,
                  .then = then,
                  .holds = VAR_NONE};
    vec_push(q->b->s, &q->all, g);
    map_put(&q->number, key, made);
    return made;
}

/* The path at this depth among x and those around it. Jumps double in length, so
 * climbing takes logarithmic time. */
static PathCondId ancestor_at_depth(const PathConds *q, PathCondId x, uint32_t depth) {
    while (q->all.p[x].depth > depth) {
        PathCondId jump = q->all.p[x].jump;
        x = q->all.p[jump].depth >= depth ? jump : q->all.p[x].up;
    }
    return x;
}

PathCondId path_cond_common(const PathConds *q, PathCondId x, PathCondId y) {
    x = ancestor_at_depth(q, x, q->all.p[y].depth);
    y = ancestor_at_depth(q, y, q->all.p[x].depth);
    while (x != y) {
        const PathCond *a = &q->all.p[x], *b = &q->all.p[y];
        bool far = a->jump != b->jump;
        x = far ? a->jump : a->up;
        y = far ? b->jump : b->up;
    }
    return x;
}

static Var ifelse_by_side(PathConds *q, Var condition, bool then, Var taken,
                          Var other) {
    return then ? op_call3(q->b, "ifelse", condition, taken, other)
                : op_call3(q->b, "ifelse", condition, other, taken);
}

/* Is the innermost branch of the path taken? */
static Var path_cond_own(PathConds *q, const PathCond *g) {
    return g->then ? op_cast_to(q->b, g->condition, DT_BOOL)
                   : op_call1(q->b, "logical_not", g->condition);
}

/* Are all branches of the path taken? Built once for each path; the ifelse evaluates a
 * condition only where the outer ones hold. */
static Var path_cond_holds(PathConds *q, PathCondId id) {
    PathCondId below = id;
    while (q->all.p[below].depth > 1 && q->all.p[below].holds == VAR_NONE) {
        q->all.p[q->all.p[below].up].below = below;
        below = q->all.p[below].up;
    }
    Var all = q->all.p[below].holds;
    if (all == VAR_NONE) all = path_cond_own(q, &q->all.p[below]);
    q->all.p[below].holds = all;
    while (below != id && all != VAR_NONE) {
        below = q->all.p[below].below;
        Var own = path_cond_own(q, &q->all.p[below]),
            no = const_number(q->b, DT_BOOL, 0);
        bool ok = own != VAR_NONE && no != VAR_NONE;
        all = ok ? op_call3(q->b, "ifelse", all, own, no) : VAR_NONE;
        q->all.p[below].holds = all;
    }
    return all;
}

/* Leaves a long path by a single ifelse on the conjunction of its conditions, so that
 * many gradients that leave many branches stay linear in both numbers. */
static Var leave_deep_path(PathConds *q, Var x, Var gradient, PathCondId from) {
    Var condition = path_cond_holds(q, from), zero = ad_zero(q->b, x);
    if (condition == VAR_NONE || zero == VAR_NONE) return VAR_NONE;
    return ifelse_by_side(q, condition, true, gradient, zero);
}

Var path_cond_leave(PathConds *q, Var x, Var gradient, PathCondId from, PathCondId to) {
    if (q->all.p[from].depth > q->all.p[to].depth + NESTED)
        return leave_deep_path(q, x, gradient, from);
    for (; from != to && gradient != VAR_NONE; from = q->all.p[from].up) {
        PathCond g = q->all.p[from];
        Var zero = ad_zero(q->b, x);
        if (zero == VAR_NONE) return zero;
        gradient = ifelse_by_side(q, g.condition, g.then, gradient, zero);
    }
    return gradient;
}

bool path_cond_add(PathConds *q, Var x, Var *sum, PathCondId *path, Var gradient,
                   PathCondId under) {
    if (*path == under) return (*sum = ad_add(q->b, *sum, gradient)) != VAR_NONE;
    uint32_t made = (uint32_t)q->part.n;
    vec_push(q->b->s, &q->part, ((PathCondPart){gradient, under, made, q->more[x]}));
    q->more[x] = made;
    return true;
}

/* Later paths first, so that inner ones precede those around them; parts of one path
 * keep their order. */
static int compare_innermost_first(const void *x, const void *y) {
    const PathCondPart *a = x, *b = y;
    if (a->path != b->path) return a->path < b->path ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

/* Merges two gradients into one: those of the two branches of one ifelse become an
 * ifelse, others a sum. */
static PathCondPart merge_parts(PathConds *q, Var x, PathCondPart a, PathCondPart b) {
    PathCondId to = path_cond_common(q, a.path, b.path);
    uint32_t below = q->all.p[to].depth + 1;
    PathCondId at = ancestor_at_depth(q, a.path, below),
               bt = ancestor_at_depth(q, b.path, below);
    PathCond g = q->all.p[at];
    bool sides = at != to && bt != to && g.condition == q->all.p[bt].condition;
    a.sum = path_cond_leave(q, x, a.sum, a.path, sides ? at : to);
    b.sum = path_cond_leave(q, x, b.sum, b.path, sides ? bt : to);
    PathCondPart r = {.sum = VAR_NONE, .path = to};
    if (a.sum != VAR_NONE && b.sum != VAR_NONE)
        r.sum = sides ? ifelse_by_side(q, g.condition, g.then, a.sum, b.sum)
                      : ad_add(q->b, a.sum, b.sum);
    return r;
}

bool path_cond_join(PathConds *q, Var x, Var *sum, PathCondId *path) {
    size_t n = 1, i = 1;
    if (!q->more[x]) return *sum != VAR_NONE;
    for (uint32_t at = q->more[x]; at; at = q->part.p[at].next)
        n++;
    PathCondPart *part = mem_alloc(q->b->s, n * sizeof *part);
    part[0] = (PathCondPart){.sum = *sum, .path = *path};
    for (uint32_t at = q->more[x]; at; at = q->part.p[at].next)
        part[i++] = q->part.p[at];
    qsort(part, n, sizeof *part, compare_innermost_first);
    PathCondPart all = part[0];
    for (i = 1; i < n && all.sum != VAR_NONE; i++)
        all = merge_parts(q, x, all, part[i]);
    mem_free(part);
    q->more[x] = 0;
    *sum = all.sum;
    *path = all.path;
    return *sum != VAR_NONE;
}
