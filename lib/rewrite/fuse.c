/* Fusion: elementwise Applies over one iteration shape become one call of a fused
 * function.
 *
 * Every live Apply gets a rank that never falls from an Apply to its clients and rises
 * wherever the two can't share a group. A group is a connected set of Applies of equal
 * shape and rank. A path that leaves a group raises the rank and can't come back, so
 * groups never depend on each other in a cycle. Ranks start as low as possible. Then,
 * from the last Apply to the first, an Apply is lifted to the rank of its clients if no
 * other client needs it earlier and fewer bytes stay alive in between: 1 - h * h, where
 * h is kept anyway, belongs with the gradient that reads it. Whole groups are then
 * lifted in the same way. Finally a group absorbs one op that takes a value it computes
 * in pieces (fuse_end.c), preferably a value with no other client, which is then never
 * stored. What is made of smaller operands alone, such as all differences x[:, None] -
 * y, is cheaper computed than read: each group that reads it computes it. The whole
 * pass is linear.
 */
#include "rewrite/fuse.h"

#include "lang/lazy_scope.h"

#include <string.h>

enum { MOST_NUMBERS = 64, SHAPE_VECTOR = 64 };
/* So many Applies are forgotten together. */
enum { GONE_BLOCK = 128 };
#define NONE UINT32_MAX

/* ---- shapes ---- */

bool fuse_has_open_dim(const Type *t) {
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++)
        if (t->dim[i] == DIM_UNKNOWN) return true;
    return false;
}

/* The variable that stands for those of v's shape. */
static Var shape_root(const Fuse *f, Var v) {
    while (f->same[v] != v)
        v = f->same[v] = f->same[f->same[v]];
    return v;
}

/* A shape without unknown dims is numbered by the id of a bool type of that shape; any
 * other, and what isn't a tensor, by a variable that has it. */
static uint32_t shape_number(Fuse *f, Var v) {
    static const uint32_t by_variable = UINT32_C(1) << 31;
    if (f->known[v]) return f->known[v];
    Var root = shape_root(f, v);
    return f->known[root] ? f->known[root] : by_variable | root;
}

static void unite_shapes(Fuse *f, Var v, Var w) {
    Var a = shape_root(f, v), b = shape_root(f, w);
    if (a == b || (f->known[a] && f->known[b])) return;
    if (f->known[a]) f->known[b] = f->known[a];
    f->same[a] = b;
}

/* Does no dim stretch? Then a run compares them with the result's. */
static bool is_unstretched(const Type *t, const Type *to) {
    if (t->kind != TYPE_TENSOR || t->ndim != to->ndim) return false;
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i] == 1 && to->dim[i] != 1) return false;
    return true;
}

/* The id of the bool type of t's shape; 0: a dim isn't known, or it isn't a tensor. */
static uint32_t known_shape(const Fuse *f, const Type *t) {
    if (t->kind != TYPE_TENSOR || fuse_has_open_dim(t)) return 0;
    return type_tensor(f->g->s, DT_BOOL, t->ndim, t->dim)->id;
}

/* A graph has few types: each is looked at once. False: some shapes aren't known. */
static bool know_shapes(Fuse *f) {
    const Graph *g = f->g;
    uint32_t last = 0;
    bool all = true;
    for (Var v = 0; v < g->nvar; v++)
        if (var_type(g, v)->id > last) last = var_type(g, v)->id;
    uint32_t *of_type = NEW_N(f->lists, (size_t)last + 1, uint32_t);
    for (Var v = 0; v < g->nvar; v++) {
        uint32_t *shape = &of_type[var_type(g, v)->id]; /* 1 more than it is */
        if (!*shape) *shape = known_shape(f, var_type(g, v)) + 1;
        f->known[v] = *shape - 1;
        all &= f->known[v] != 0;
    }
    return all;
}

/* Where types leave dims open, ops tell that shapes are equal: u[1:] and u[:-1] are
 * added, or the run fails. */
static void compare_shapes(Fuse *f) {
    const Graph *g = f->g;
    f->same = NEW_N(f->a, g->nvar, Var);
    f->known = NEW_N(f->grouping, g->nvar, uint32_t);
    for (Var v = 0; v < g->nvar; v++)
        f->same[v] = v;
    f->all_known = know_shapes(f);
    if (f->all_known) return;
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *a = &g->apply[id];
        const Type *to = var_type(g, a->out);
        if (!a->op->elemwise || a->nout != 1 || !f->live[a->out] ||
            to->kind != TYPE_TENSOR)
            continue;
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(g, id)[i];
            if (f->known[v] && f->known[a->out]) continue;
            if (is_unstretched(var_type(g, v), to)) unite_shapes(f, v, a->out);
        }
    }
}

/* The shape number shared by the operands that need no broadcasting, else the result's
 * own. */
static uint32_t result_shape(Fuse *f, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    const Type *to = var_type(f->g, a->out);
    if (f->known[a->out] || !fuse_has_open_dim(to)) return shape_number(f, a->out);
    uint32_t shape = 0;
    bool found = false;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(f->g, id)[i];
        if (rewrite_dims_fit(var_type(f->g, v), to))
            continue; /* dims that fit statically */
        if (found && shape != f->shape[v]) return shape_number(f, a->out);
        shape = f->shape[v];
        found = true;
    }
    return found ? shape : shape_number(f, a->out);
}

/* Leaves shape arithmetic alone: typing rules read it. */
static bool is_shape_arithmetic(const Type *t) {
    if (t->dtype != DT_INT64 || t->ndim > 1) return false;
    int64_t n = type_size(t);
    return n >= 0 && n <= SHAPE_VECTOR;
}

static bool can_fuse(Fuse *f, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    const Type *to = var_type(f->g, a->out);
    if (!a->op->elemwise || a->nout != 1 || a->serial || !f->live[a->out] ||
        f->init[a->out] || a->nin == 0 || a->nin > MOST_INPUTS ||
        to->kind != TYPE_TENSOR || (is_shape_arithmetic(to) && !f->small))
        return false;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(f->g, id)[i];
        const Type *t = var_type(f->g, v);
        if (t->kind != TYPE_TENSOR) return false;
        if (f->shape[v] != f->shape[a->out] && !rewrite_dims_fit(t, to)) return false;
    }
    return true;
}

/* ---- what is computed again ---- */

/* Is the operand repeated along a dim of the result? */
static bool is_repeated(const Type *t, const Type *to) {
    int lead = to->ndim - t->ndim;
    for (int k = 0; k < to->ndim; k++)
        if (to->dim[k] != 1 && (k < lead || t->dim[k - lead] == 1)) return true;
    return false;
}

/* Is a member better computed by each that reads it? */
static bool is_again(const Fuse *f, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    const Type *to = var_type(f->g, a->out);
    uint32_t first = f->clients.first[a->out], last = f->clients.first[a->out + 1];
    if (last - first < 2 || f->root[a->out] || a->op->math || a->nin > AGAIN_INPUTS)
        return false;
    for (size_t i = 0; i < a->nin; i++)
        if (!is_repeated(var_type(f->g, apply_in(f->g, id)[i]), to)) return false;
    for (uint32_t k = first; k < last; k++)
        if (f->g->apply[f->clients.client[k]].nin > AGAIN_INPUTS) return false;
    return true;
}

/* ---- ranks ---- */

static bool fusible_is_live(const Fuse *f, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    for (Var k = 0; k < a->nout; k++)
        if (f->live[a->out + k]) return true;
    return false;
}

/* Can both be in one group? `user` reads what `maker` computes. */
static inline bool can_share_group(const Fuse *f, ApplyId maker, ApplyId user) {
    return f->room[maker] && f->room[maker] == f->room[user] &&
           (!f->scope || f->scope[maker] == f->scope[user]);
}

static void assign_low_ranks(Fuse *f) {
    for (ApplyId id = 0; id < f->g->napply; id++) {
        const Apply *a = &f->g->apply[id];
        bool live = fusible_is_live(f, id);
        for (Var k = 0; k < a->nout; k++)
            f->shape[a->out + k] = live && a->op->elemwise && a->nout == 1
                                       ? result_shape(f, id)
                                       : shape_number(f, a->out + k);
        if (!live) continue;
        f->is[id].member = can_fuse(f, id);
        if (f->is[id].member) f->room[id] = f->shape[a->out];
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(f->g, id)[i];
            ApplyId maker = var_owner(f->g, v);
            if (maker == APPLY_NONE) continue;
            uint32_t least = f->rank[maker] + !can_share_group(f, maker, id) +
                             fuse_is_written(a, (uint32_t)i);
            if (f->rank[id] < least) f->rank[id] = least;
        }
    }
}

/* How far an Apply or a group may rise, and the client found at that rank. */
typedef struct LiftRoom {
    uint32_t most; /* the highest rank that its clients allow */
    uint32_t near; /* rank of the nearest client that could join */
    ApplyId client;
} LiftRoom;

static uint32_t find_set(Fuse *f, uint32_t x);

/* own: the group whose members are ignored as clients, or NONE. */
static void look_at_clients(Fuse *f, ApplyId id, uint32_t own, LiftRoom *x) {
    Var v = f->g->apply[id].out;
    for (uint32_t k = f->clients.first[v]; k < f->clients.first[v + 1]; k++) {
        ApplyId user = f->clients.client[k];
        if (own != NONE && f->is[user].member && find_set(f, user) == own) continue;
        bool join = can_share_group(f, id, user);
        uint32_t most = f->rank[user] - !join;
        if (most < x->most) x->most = most;
        if (join && f->rank[user] < x->near) {
            x->near = f->rank[user];
            x->client = user;
        }
    }
}

/* Does anything besides `id` and the group of v's maker need v? */
static bool is_needed_beside(const Fuse *f, Var v, ApplyId id) {
    ApplyId maker = var_owner(f->g, v);
    if (f->root[v]) return true;
    for (uint32_t k = f->clients.first[v]; k < f->clients.first[v + 1]; k++) {
        ApplyId user = f->clients.client[k];
        if (user == id) continue;
        if (!can_share_group(f, maker, user) || f->rank[user] != f->rank[maker])
            return true;
    }
    return false;
}

/* Bytes per element that would have to be kept for `id` if it left its rank. */
static size_t bytes_below(const Fuse *f, ApplyId id) {
    size_t bytes = 0;
    for (size_t i = 0; i < f->g->apply[id].nin; i++) {
        Var v = apply_in(f->g, id)[i];
        ApplyId maker = var_owner(f->g, v);
        if (maker == APPLY_NONE || !can_share_group(f, maker, id)) continue;
        if (f->rank[maker] == f->rank[id] && !is_needed_beside(f, v, id))
            bytes += dtype_size(var_type(f->g, v)->dtype);
    }
    return bytes;
}

static void lift_members(Fuse *f) {
    for (ApplyId id = f->g->napply; id-- > 0;) {
        LiftRoom x = {NONE, NONE, APPLY_NONE};
        Var v = f->g->apply[id].out;
        if (!f->is[id].member || f->root[v]) continue;
        look_at_clients(f, id, NONE, &x);
        if (x.client == APPLY_NONE || x.most < x.near || x.near <= f->rank[id])
            continue;
        if (bytes_below(f, id) <= dtype_size(var_type(f->g, v)->dtype))
            f->rank[id] = x.near;
    }
}

static uint32_t find_set(Fuse *f, uint32_t x) {
    while (f->set[x] != x)
        x = f->set[x] = f->set[f->set[x]];
    return x;
}

/* The place of shapes serves: nothing asks for them once ranks are known. */
static void begin_sets(Fuse *f) {
    f->set = f->shape;
    f->shape = NULL;
    for (ApplyId id = 0; id < f->g->napply; id++)
        f->set[id] = id;
}

static void unite_sets(Fuse *f, uint32_t x, uint32_t y) {
    x = find_set(f, x), y = find_set(f, y);
    if (x < y)
        f->set[y] = x;
    else
        f->set[x] = y;
}

static void unite_equal_ranks(Fuse *f) {
    for (ApplyId id = 0; id < f->g->napply; id++) {
        if (!f->is[id].member) continue;
        for (size_t i = 0; i < f->g->apply[id].nin; i++) {
            Var v = apply_in(f->g, id)[i];
            ApplyId maker = var_owner(f->g, v);
            if (maker != APPLY_NONE && can_share_group(f, maker, id) &&
                f->rank[maker] == f->rank[id])
                unite_sets(f, maker, id);
        }
    }
}

/* ---- members of groups ---- */

typedef struct FuseGroups {
    uint32_t n;
    uint32_t
        *first; /* members of group k: member[first[k] .. first[k + 1]), ascending */
    ApplyId *member;
} FuseGroups;

/* Numbers the groups by their first member. Lists that are there have room: sets only
 * grow. */
static void list_groups(Fuse *f, FuseGroups *x) {
    arena_reset(f->lists);
    uint32_t n = f->g->napply, *number = NEW_N(f->lists, n, uint32_t);
    uint32_t *at = NEW_N(f->lists, n + 2, uint32_t);
    x->n = 0;
    for (ApplyId id = 0; id < n; id++) {
        if (!f->is[id].member) continue;
        uint32_t root = find_set(f, id); /* the first of its set */
        number[id] = root == id ? x->n++ : number[root];
        at[number[id] + 1]++;
    }
    for (uint32_t k = 0; k < x->n; k++)
        at[k + 1] += at[k];
    if (!x->first) {
        x->first = NEW_N(f->a, x->n + 1U, uint32_t);
        x->member = NEW_N(f->a, at[x->n], ApplyId);
    }
    memcpy(x->first, at, (x->n + 1) * sizeof *at);
    for (ApplyId id = 0; id < n; id++)
        if (f->is[id].member) x->member[at[number[id]]++] = id;
}

/* ---- lifting ---- */

/* The rank that the group needs to end in an op that writes what it makes into an
 * array: above all that this op reads besides. 0: there is none, or the rank will do.
 */
static uint32_t rank_to_write(Fuse *f, const FuseGroups *groups, uint32_t k) {
    const ApplyId *member = groups->member + groups->first[k];
    uint32_t own = find_set(f, member[0]), most = 0;
    for (uint32_t i = 0; i < groups->first[k + 1] - groups->first[k]; i++) {
        Var v = f->g->apply[member[i]].out;
        uint32_t at = f->clients.first[v];
        if (f->root[v] || f->clients.first[v + 1] - at != 1) continue;
        ApplyId end = f->clients.client[at];
        const Apply *a = &f->g->apply[end];
        for (uint32_t j = 0; fuse_writes(a) && j < a->nin; j++) {
            ApplyId other = var_owner(f->g, apply_in(f->g, end)[j]);
            if (other == APPLY_NONE || !fuse_is_written(a, j)) continue;
            if (f->is[other].member && find_set(f, other) == own) return 0;
            if (f->rank[other] >= most) most = f->rank[other] + 1;
        }
    }
    return most > f->rank[member[0]] ? most : 0;
}

static bool lift_group(Fuse *f, const FuseGroups *groups, uint32_t k) {
    LiftRoom x = {NONE, NONE, APPLY_NONE};
    uint32_t own = find_set(f, groups->member[groups->first[k]]);
    for (uint32_t i = groups->first[k]; i < groups->first[k + 1]; i++)
        look_at_clients(f, groups->member[i], own, &x);
    bool joins = x.client != APPLY_NONE && x.most >= x.near;
    uint32_t rank = joins ? x.near : rank_to_write(f, groups, k);
    if (!rank || rank > x.most) return false;
    for (uint32_t i = groups->first[k]; i < groups->first[k + 1]; i++)
        f->rank[groups->member[i]] = rank;
    if (joins) unite_sets(f, own, x.client);
    return true;
}

/* Groups by descending rank (a counting sort). False: none was lifted. */
static bool lift_groups(Fuse *f, const FuseGroups *groups) {
    uint32_t top = 0;
    for (ApplyId id = 0; id < f->g->napply; id++)
        if (f->rank[id] > top) top = f->rank[id];
    uint32_t *at = NEW_N(f->lists, (size_t)top + 2, uint32_t);
    uint32_t *order = NEW_N(f->lists, groups->n, uint32_t);
    for (uint32_t k = 0; k < groups->n; k++)
        at[top - f->rank[groups->member[groups->first[k]]] + 1]++;
    for (uint32_t i = 0; i <= top; i++)
        at[i + 1] += at[i];
    for (uint32_t k = 0; k < groups->n; k++)
        order[at[top - f->rank[groups->member[groups->first[k]]]]++] = k;
    bool any = false;
    for (uint32_t i = 0; i < groups->n; i++)
        any |= lift_group(f, groups, order[i]);
    return any;
}

/* ---- groups of numbers ---- */

/* Adds group k to the numbers of equal rank and scope, if one function holds both. */
static void join_numbers(Fuse *f, const FuseGroups *groups, uint32_t k, ApplyId *joined,
                         uint32_t *n) {
    const ApplyId *member = groups->member + groups->first[k];
    uint32_t more = groups->first[k + 1] - groups->first[k];
    if (more > MOST_NUMBERS) more = MOST_NUMBERS;
    if (*n && *n + more <= MOST_NUMBERS) {
        memcpy(joined + *n, member, more * sizeof *joined);
        if (fuse_chunk_fits(f, joined, *n + more)) {
            unite_sets(f, joined[0], member[0]);
            *n += more;
            return;
        }
    }
    memcpy(joined, member, more * sizeof *joined);
    *n = more;
}

/* In the body of a loop, operations on numbers cost less than another call does. Groups
 * of one rank never depend on each other. */
static void unite_numbers(Fuse *f, const FuseGroups *groups) {
    Map of = MAP(f->g->s);
    ApplyId *joined = NEW_N(f->lists, ((size_t)groups->n + 1) * MOST_NUMBERS, ApplyId);
    uint32_t *n = NEW_N(f->lists, (size_t)groups->n + 1, uint32_t);
    for (uint32_t k = 0; k < groups->n; k++) {
        ApplyId id = groups->member[groups->first[k]];
        uint64_t key = (uint64_t)f->rank[id] << 32 | (f->scope ? f->scope[id] : 0);
        uint64_t at = k;
        if (var_type(f->g, f->g->apply[id].out)->ndim > 0) continue;
        if (!map_get(&of, key, &at)) map_put(&of, key, at);
        join_numbers(f, groups, k, joined + at * MOST_NUMBERS, &n[at]);
    }
    map_free(&of);
}

/* ---- what is gone ---- */

/* Does nothing look at an Apply once a call took its place? Typing rules do where
 * shapes aren't known, effects ask which branch they are in, and who watches may print
 * any. */
static bool may_forget(const Fuse *f) {
    return f->all_known && !f->small && !f->g->effects.n && !f->r->o->explain;
}

static void forget_gone(Fuse *f) {
    uint32_t blocks = f->napply / GONE_BLOCK;
    for (uint32_t b = 0, end; b < blocks; b = end + 1) {
        for (end = b; end < blocks && f->gone[end] == GONE_BLOCK;)
            end++;
        if (end > b) graph_forget_applies(f->g, b * GONE_BLOCK, end * GONE_BLOCK);
    }
    f->ngone = 0;
}

void fuse_let_go(Fuse *f, const ApplyId *member, uint32_t n) {
    enum { TIMES = 8 };
    if (!may_forget(f)) return;
    for (uint32_t i = 0; i < n; i++) {
        if (f->is[member[i]].again) continue;
        f->is[member[i]].gone = true;
        f->gone[member[i] / GONE_BLOCK]++;
        f->ngone++;
    }
    if (f->ngone > f->napply / TIMES) forget_gone(f);
}

/* ---- the pass ---- */

enum { SMALL = 64 };

static bool is_small_value(const Graph *g, Var v) {
    const Type *t = var_type(g, v);
    int64_t n = t->kind == TYPE_TENSOR ? type_size(t) : -1;
    return n >= 0 && n <= SMALL;
}

/* Has a function nothing large or of unknown size? Then it doesn't matter how long a
 * value is kept, and no typing rule reads sizes. */
static bool is_small_body(const Fuse *f) {
    bool small = f->g != f->g->main;
    for (Var v = 0; small && v < f->g->nvar; v++)
        small = !f->live[v] || is_small_value(f->g, v);
    return small;
}

static uint8_t *needed_by_initial_values(const Graph *g, Arena *a) {
    uint8_t *need = NEW_N(a, (size_t)g->nvar + 1, uint8_t);
    VarList init = graph_roots(g, a, ROOTS_INIT);
    for (size_t i = 0; i < init.n; i++)
        need[init.p[i]] = 1;
    if (init.n) graph_spread_needs(g, 0, need);
    return need;
}

static void count_reads(Fuse *f) {
    const uint32_t *first = f->clients.first;
    f->reads = NEW_N(f->a, f->g->nvar, uint16_t);
    for (Var v = 0; v < f->g->nvar; v++) {
        uint32_t n = first[v + 1] - first[v];
        f->reads[v] = n < UINT16_MAX && !f->root[v] ? (uint16_t)n : UINT16_MAX;
    }
}

static void fuse_open(Fuse *f, Rewriter *r) {
    Graph *g = r->g;
    rewriter_begin_fusion(r);
    *f = (Fuse){.r = r,
                .g = g,
                .a = arena_new(r->s),
                .grouping = arena_new(r->s),
                .lists = arena_new(r->s)};
    f->made_index = INDEX(r->s);
    f->live = graph_live(g, f->grouping, ROOTS_RUN);
    f->init = needed_by_initial_values(g, f->grouping);
    f->small = is_small_body(f);
    f->clients = graph_clients(g, f->grouping, f->live);
    f->root = graph_root_marks(g, f->grouping, ROOTS_RESULTS | ROOTS_INIT);
    count_reads(f);
    f->shape = NEW_N(f->grouping, g->nvar, uint32_t);
    f->napply = g->napply;
    f->gone = NEW_N(f->a, g->napply / GONE_BLOCK + 1U, uint8_t);
    f->is = NEW_N(f->a, g->napply, FuseMarks);
    if (lazy_scope_any(g)) f->scope = lazy_scope_find(g, f->grouping, (VarList){0});
    f->room = NEW_N(f->grouping, g->napply, uint32_t);
    f->rank = NEW_N(f->grouping, g->napply, uint32_t);
    f->seen = NEW_N(f->a, g->nvar, uint32_t);
    f->outside = NEW_N(f->a, g->nvar, uint32_t); /* and inner */
    compare_shapes(f);
    for (Var v = 0; v < g->nvar; v++)
        if (var_owner(g, v) == APPLY_NONE) f->shape[v] = shape_number(f, v);
}

static FuseGroups find_groups(Fuse *f) {
    FuseGroups x = {0};
    assign_low_ranks(f);
    lift_members(f);
    begin_sets(f);
    unite_equal_ranks(f);
    list_groups(f, &x);
    bool lifted = lift_groups(f, &x);
    if (lifted) unite_equal_ranks(f); /* neighbours may have equal ranks now */
    if (f->small) {
        list_groups(f, &x);
        unite_numbers(f, &x);
    }
    fuse_find_ends(f);
    if (lifted || f->small) list_groups(f, &x);
    return x;
}

/* Only other ops read what each group that reads it computes itself. */
static void find_again(Fuse *f) {
    for (ApplyId id = 0; id < f->g->napply; id++) {
        Var v = f->g->apply[id].out;
        if (!f->is[id].member || !is_again(f, id)) continue;
        f->is[id].again = f->any_again = true;
        f->reads[v] = 0;
        for (uint32_t k = f->clients.first[v]; k < f->clients.first[v + 1]; k++)
            if (!f->is[f->clients.client[k]].member && f->reads[v] < UINT16_MAX)
                f->reads[v]++;
    }
}

static void number_shapes(Fuse *f) {
    for (Var v = 0; v < f->g->nvar; v++)
        f->same[v] = shape_root(f, v);
    for (Var v = f->g->nvar; v-- > 0;)
        if (f->known[f->same[v]]) f->same[v] |= SHAPE_KNOWN;
}

/* Memory is at its peak when the last function stands beside what it replaces: what
 * only found the groups goes before the first is made. */
static void open_cutting(Fuse *f) {
    find_again(f);
    number_shapes(f);
    arena_free(f->grouping);
    arena_free(f->lists);
    f->grouping = f->lists = NULL;
    f->clients = (Clients){0};
    f->live = f->root = f->init = NULL, f->known = NULL;
    f->scope = f->shape = f->room = f->rank = f->set = NULL;
}

/* About as many calls as will come, each of which makes one or two results. */
enum { USUAL_OPS = 32 };
static void reserve_calls(const Fuse *f, const FuseGroups *groups) {
    uint32_t calls = groups->n + groups->first[groups->n] / USUAL_OPS;
    graph_reserve_last(f->g, calls, 2 * calls, 0, 0);
}

bool fuse_pass(Rewriter *r) {
    Fuse f;
    fuse_open(&f, r);
    FuseGroups groups = find_groups(&f);
    open_cutting(&f);
    reserve_calls(&f, &groups);
    bool ok = true;
    for (uint32_t k = 0; ok && k < groups.n; k++)
        ok = fuse_cut_group(&f, groups.member + groups.first[k],
                            groups.first[k + 1] - groups.first[k]);
    if (f.ngone) forget_gone(&f);
    vec_free(&f.made);
    vec_free(&f.ends);
    vec_free(&f.key);
    index_free(&f.made_index);
    arena_free(f.a);
    rewriter_end_fusion(r);
    return ok;
}
