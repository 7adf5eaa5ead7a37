/* Which op may end a group: one that takes a value of the group in pieces, so that it
 * is never stored. That is a reduction of it, or what writes it into another array,
 * which then has to be there before the group. */
#include "op/index_text.h"
#include "rewrite/fuse.h"

#include <stdlib.h>

static uint32_t streamed_input(const Graph *g, ApplyId id) {
    return op_rare(g->apply[id].op)->streamed;
}

/* Is all that the op reads besides made before the group that makes what it takes? By
 * ranks: what has a lower one never depends on what has a higher one. */
static bool others_come_before(const Fuse *f, ApplyId id, ApplyId maker) {
    for (uint32_t k = 0; k < f->g->apply[id].nin; k++) {
        ApplyId other = var_owner(f->g, apply_in(f->g, id)[k]);
        if (k != streamed_input(f->g, id) && other != APPLY_NONE &&
            f->rank[other] >= f->rank[maker])
            return false;
    }
    return true;
}

static bool may_end(const Fuse *f, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    const OpRare *rare = op_rare(a->op);
    uint32_t k = rare->streamed;
    if (!rare->streams || a->nin <= k || a->nin > STREAM_INPUTS || a->nout != 1 ||
        a->serial || !f->live[a->out])
        return false;
    for (uint32_t i = 0; i < a->nin; i++)
        if (var_type(f->g, apply_in(f->g, id)[i])->kind != TYPE_TENSOR) return false;
    ApplyId maker = var_owner(f->g, apply_in(f->g, id)[k]);
    return maker != APPLY_NONE && f->is[maker].member &&
           (!f->scope || f->scope[maker] == f->scope[id]) &&
           (a->nin == 1 || (!f->small && others_come_before(f, id, maker)));
}

static int compare_ends(const void *a, const void *b) {
    const FuseEnd *x = a, *y = b;
    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void fuse_find_ends(Fuse *f) {
    for (ApplyId id = 0; id < f->g->napply; id++) {
        if (!may_end(f, id)) continue;
        Var v = apply_in(f->g, id)[streamed_input(f->g, id)];
        f->is[var_owner(f->g, v)].ends = true;
        vec_push(f->g->s, &f->ends, ((FuseEnd){v, id}));
    }
    if (f->ends.n) qsort(f->ends.p, f->ends.n, sizeof *f->ends.p, compare_ends);
}

/* The number of v's first end. */
static size_t first_end(const Fuse *f, Var v) {
    size_t at = 0, end = f->ends.n;
    while (at < end) {
        size_t half = at + (end - at) / 2;
        if (f->ends.p[half].v < v)
            at = half + 1;
        else
            end = half;
    }
    return at;
}

/* ---- arrays that are written to ---- */

/* The variable whose storage v has. A call's results are no views. */
static Var storage_of(const Fuse *f, Var v) {
    const Graph *g = f->g;
    for (ApplyId a; (a = var_owner(g, v)) != APPLY_NONE && !f->is[a].gone;) {
        int k = op_view(g, a, v - g->apply[a].out);
        if (k < 0) break;
        v = apply_in(g, a)[k];
    }
    return v;
}

/* Do the members, which are marked, read the storage of v? */
static bool members_read(const Fuse *f, const ApplyId *member, uint32_t n, Var v) {
    Var root = storage_of(f, v);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < f->g->apply[member[i]].nin; k++) {
            Var in = apply_in(f->g, member[i])[k];
            if (!fuse_is_made(f, in) && storage_of(f, in) == root) return true;
        }
    return false;
}

/* Is the bound of a slice left out, or a number that leaves out a few elements at that
 * end? */
static bool is_near_end(const Graph *g, const Var *index, int bound, bool start) {
    enum { FEW = 8 };
    if (bound < 0) return true;
    const Tensor *t = var_const(g, index[bound]);
    int64_t n = t ? tensor_i64(t, 0) : 0;
    return t && (start ? n >= 0 && n <= FEW : n < 0 && n >= -FEW);
}

/* Does the op write almost all of its first input? */
static bool writes_most(const Graph *g, ApplyId id) {
    enum { LARGE = 32 }; /* a dim of which a few elements are little */
    const Apply *a = &g->apply[id];
    const Type *x = var_type(g, apply_in(g, id)[0]);
    const Var *index = apply_in(g, id) + 2;
    IndexItems items;
    if (!index_parse(sym_text(g->s, op_prop(g->s, a->op, a->props, "index")->sym),
                     &items))
        return false;
    for (int k = 0; k < x->ndim; k++)
        if (dim_is_known(x->dim[k]) && x->dim[k] < LARGE) return false;
    for (int i = 0; i < items.n; i++) {
        const IndexItem *it = &items.item[i];
        if (it->kind == IX_INPUT ||
            (it->kind == IX_SLICE &&
             (it->step >= 0 || !is_near_end(g, index, it->start, true) ||
              !is_near_end(g, index, it->stop, false))))
            return false;
    }
    return true;
}

/* What is written to would have to be copied if a member reads it: worth it where
 * little is left as it was. */
static bool may_write(const Fuse *f, const ApplyId *member, uint32_t n, ApplyId id) {
    return !members_read(f, member, n, apply_in(f->g, id)[0]) || writes_most(f->g, id);
}

/* ---- of a group ---- */

/* May `id`, an end, take the elements of v? */
static bool takes(const Fuse *f, ApplyId id, Var v) {
    const Type *t = var_type(f->g, v);
    return op_rare(f->g->apply[id].op)->streams(f->g, id, t->ndim, t->dim);
}

ApplyId fuse_end_of(const Fuse *f, const ApplyId *member, uint32_t n) {
    ApplyId found = APPLY_NONE;
    for (uint32_t i = n; i-- > 0;) {
        if (!f->is[member[i]].ends) continue;
        Var v = f->g->apply[member[i]].out;
        bool alone = f->reads[v] == 1;
        for (size_t k = first_end(f, v); k < f->ends.n && f->ends.p[k].v == v; k++) {
            ApplyId id = f->ends.p[k].id;
            bool reduces = f->g->apply[id].nin == 1;
            if (!takes(f, id, v) ||
                (!reduces && !(alone && may_write(f, member, n, id))))
                continue;
            if (alone) return id;
            if (found == APPLY_NONE) found = id;
        }
    }
    return found;
}
