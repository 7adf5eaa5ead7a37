/* Cuts groups into chunks, each of which one function holds, with what it computes
 * again and the op that it ends in. */
#include "rewrite/fuse.h"

#include <string.h>

enum { MOST_OPS = 512 };

/* ---- chunks: the limits of one function ---- */

/* Is v, which an Apply makes, computed again where `id` reads it? */
static bool computes_again(const Fuse *f, Var v, ApplyId id) {
    return f->any_again && f->is[var_owner(f->g, v)].again && f->is[id].member;
}

void fuse_look_at_chunk(Fuse *f, const ApplyId *member, uint32_t n) {
    const Graph *g = f->g;
    fuse_new_chunk(f);
    for (uint32_t i = 0; i < n; i++) {
        const Apply *a = &g->apply[member[i]];
        for (const Var *v = g->in + a->in, *end = v + a->nin; v < end; v++)
            if (fuse_is_made(f, *v) && !computes_again(f, *v, member[i]))
                f->outside[*v]--;
        f->seen[a->out] = f->chunk + 1;
        f->outside[a->out] = f->reads[a->out];
    }
}

/* Do n members, in order, fit in one function? */
bool fuse_chunk_fits(Fuse *f, const ApplyId *member, uint32_t n) {
    uint32_t nin = 0, nout = 0;
    fuse_look_at_chunk(f, member, n);
    for (uint32_t i = 0; i < n; i++) {
        const Apply *a = &f->g->apply[member[i]];
        for (size_t k = 0; k < a->nin; k++) {
            Var v = f->g->in[a->in + k];
            if (fuse_is_made(f, v) || f->seen[v] == f->chunk || fuse_is_constant(f, v))
                continue;
            f->seen[v] = f->chunk;
            nin++;
        }
        nout += fuse_is_output(f, member[i]);
    }
    return nin <= MOST_INPUTS && nout < MOST_OUTPUTS;
}

/* ---- groups to functions ---- */

enum { MOST_EXTRA = MOST_OPS * AGAIN_INPUTS };
typedef struct Chunk {
    ApplyId all[MOST_EXTRA + MOST_OPS + 1]; /* what is computed again comes first, and
                                               the op that ends the group last */
    uint32_t n, extra;
} Chunk;

/* Marks what the chunk computes again for the Apply; with `add`, what isn't in the
 * chunk yet becomes a member. */
static void use_inputs(Fuse *f, Chunk *c, ApplyId id, bool add) {
    for (size_t i = 0; i < f->g->apply[id].nin; i++) {
        Var v = apply_in(f->g, id)[i];
        ApplyId maker = var_owner(f->g, v);
        if (maker == APPLY_NONE || !f->is[maker].again) continue;
        if (!fuse_is_made(f, v)) {
            if (!add) continue;
            f->seen[v] = f->chunk + 1;
            f->is[maker].extra = 1;
            c->all[c->n++] = maker;
        }
        f->is[maker].used = 1;
    }
}

/* Does the chunk need the member? */
static bool is_of_use(const Fuse *f, ApplyId member) {
    return !f->is[member].again || f->is[member].used || fuse_is_output(f, member);
}

static void open_chunk(Fuse *f, Chunk *c, const ApplyId *member, uint32_t n) {
    c->n = c->extra = 0;
    if (!f->any_again) {
        memcpy(c->all, member, (c->n = n) * sizeof *member);
        return;
    }
    fuse_look_at_chunk(f, member, n);
    for (uint32_t i = 0; i < n; i++)
        use_inputs(f, c, member[i], true);
    c->extra = c->n;
    for (uint32_t i = 0; i < c->extra; i++)
        use_inputs(f, c, c->all[i], false);
    for (uint32_t i = 0; i < n; i++)
        if (is_of_use(f, member[i])) c->all[c->n++] = member[i];
    for (uint32_t i = 0; i < n; i++)
        f->is[member[i]].used = 0;
    for (uint32_t i = 0; i < c->extra; i++)
        f->is[c->all[i]].used = 0;
}

static void close_chunk(Fuse *f, const Chunk *c) {
    for (uint32_t i = 0; i < c->extra; i++)
        f->is[c->all[i]].extra = 0;
}

/* Adds a member to the chunk: how many inputs and outputs there are then. */
static void count_member(Fuse *f, ApplyId id, uint32_t *nin, uint32_t *nout) {
    const Apply *a = &f->g->apply[id];
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(f->g, id)[i];
        if (fuse_is_made(f, v)) {
            if (!computes_again(f, v, id)) *nout -= --f->outside[v] == 0;
        } else if (f->seen[v] != f->chunk && !fuse_is_constant(f, v)) {
            f->seen[v] = f->chunk;
            ++*nin;
        }
    }
    f->seen[a->out] = f->chunk + 1;
    f->outside[a->out] = f->reads[a->out];
    *nout += f->outside[a->out] > 0;
}

/* How many of the first members fit in one function. A value that is an output may
 * become an inner one with a later member, so there may be too many for a while. */
static uint32_t largest_chunk(Fuse *f, const ApplyId *member, uint32_t n) {
    uint32_t nin = 0, nout = 0, best = 1;
    fuse_new_chunk(f);
    for (uint32_t i = 0; i < n; i++) {
        count_member(f, member[i], &nin, &nout);
        if (nin > MOST_INPUTS || nout > 2 * MOST_OUTPUTS) break;
        if (nout < MOST_OUTPUTS) best = i + 1;
    }
    return best;
}

/* As large a chunk of the first members as the limits allow: returns how many. */
static uint32_t take_chunk(Fuse *f, Chunk *c, const ApplyId *member, uint32_t n) {
    uint32_t k = largest_chunk(f, member, n < MOST_OPS ? n : MOST_OPS);
    open_chunk(f, c, member, k);
    while (f->any_again && k > 1 && !fuse_chunk_fits(f, c->all, c->n)) {
        close_chunk(f, c);
        k = k * 3 / 4;
        open_chunk(f, c, member, k);
    }
    return k;
}

/* ---- an order in which to cut ---- */

typedef struct OrderFrame {
    ApplyId id;
    uint32_t next; /* the next input to visit */
} OrderFrame;
typedef struct MemberOrder {
    Fuse *f;
    ApplyId *to;
    uint32_t n;
    Vec(OrderFrame) stack;
} MemberOrder;

/* Lists a member behind all that it needs and that isn't listed yet. */
static void list_with_inputs(MemberOrder *o, ApplyId id) {
    Fuse *f = o->f;
    vec_push(f->g->s, &o->stack, ((OrderFrame){id, 0}));
    while (o->stack.n > 0) {
        OrderFrame *top = &o->stack.p[o->stack.n - 1];
        const Apply *a = &f->g->apply[top->id];
        if (top->next < a->nin) {
            Var v = f->g->in[a->in + top->next++];
            if (fuse_is_made(f, v))
                vec_push(f->g->s, &o->stack, ((OrderFrame){var_owner(f->g, v), 0}));
            continue;
        }
        f->seen[a->out] = f->chunk;
        o->to[o->n++] = top->id;
        o->stack.n--;
    }
}

/* Each member comes behind what it needs, and that just before it unless it is there:
 * a part of a tree is then a branch of it, not some of a level, and few values pass
 * from one part to another. */
static void order_members(Fuse *f, ApplyId *member, uint32_t n) {
    MemberOrder o = {.f = f, .to = mem_alloc(f->g->s, n * sizeof *o.to)};
    fuse_look_at_chunk(f, member, n);
    for (uint32_t i = 0; i < n; i++) {
        Var v = f->g->apply[member[i]].out;
        if (f->outside[v] == f->reads[v] && fuse_is_made(f, v))
            list_with_inputs(&o, member[i]);
    }
    memcpy(member, o.to, n * sizeof *member);
    vec_free(&o.stack);
    mem_free(o.to);
}

/* Cuts a group into functions as large as the limits allow: in the graph's order if one
 * holds it. */
bool fuse_cut_group(Fuse *f, ApplyId *member, uint32_t n) {
    Chunk c;
    bool ok = true, ordered = false;
    for (uint32_t at = 0; ok && at < n && !rewriter_limit_reached(f->r);) {
        uint32_t k = take_chunk(f, &c, member + at, n - at);
        if (k < n && !ordered) {
            close_chunk(f, &c);
            order_members(f, member, n);
            ordered = true;
            continue;
        }
        ApplyId end = fuse_end_of(f, member + at, k);
        if (end != APPLY_NONE) c.all[c.n++] = end;
        if (c.n > 1) ok = fuse_call_function(f, c.all, c.n);
        close_chunk(f, &c);
        at += k;
    }
    return ok;
}
