/* Makes calls of functions of groups. Messages and profiles tell the place of an Apply
 * in a function, so each group gets a function of its own, as long as there are not so
 * many that nobody looks at each: then groups that compute the same share one, and the
 * call tells the place. */
#include "rewrite/fuse.h"

#include <string.h>

enum { OWN_FUNCTIONS = 1000, TOLD_MOST = 10 };

/* ---- what a group is ---- */

bool fuse_is_output(const Fuse *f, Var v) {
    ApplyId maker = var_owner(f->g, v);
    if (f->is[maker].extra) return false;
    if (f->root[v]) return true;
    for (uint32_t k = f->clients.first[v]; k < f->clients.first[v + 1]; k++) {
        ApplyId user = f->clients.client[k];
        if (f->mark[user] != f->chunk && !(f->is[maker].again && f->is[user].member))
            return true;
    }
    return false;
}

bool fuse_is_constant(const Fuse *f, Var v) {
    const Tensor *t = var_const(f->g, v);
    return t && t->ndim == 0;
}

typedef struct FuseGroup {
    uint32_t n; /* with the end */
    const ApplyId *member;
    ApplyId end;
    Var arg[MOST_INPUTS + STREAM_INPUTS], result[MOST_OUTPUTS];
    Var shape; /* of its members, by fuse_shape_root */
    size_t narg, nres;
} FuseGroup;

static ApplyId member_of(const FuseGroup *x, uint32_t i) {
    return i + 1 == x->n && x->end != APPLY_NONE ? x->end : x->member[i];
}

static void mark_members(Fuse *f, const FuseGroup *x) {
    f->chunk++;
    for (uint32_t i = 0; i < x->n; i++)
        f->mark[member_of(x, i)] = f->chunk;
}

/* Seven bits a byte: most numbers are small, and keys may be all that is left of a
 * large graph. */
static void tell(Fuse *f, uint64_t number) {
    vec_reserve(f->g->s, &f->key, TOLD_MOST);
    for (; number > 127; number >>= 7)
        f->key.p[f->key.n++] = (uint8_t)(number | 128);
    f->key.p[f->key.n++] = (uint8_t)number;
}

/* Inputs are told by number, the first time with their type; constants by variable. */
enum { TOLD_INPUT = 1, TOLD_CONSTANT, TOLD_MEMBER };
static void describe_input(Fuse *f, FuseGroup *x, Var v) {
    if (f->seen[v] != f->chunk && fuse_is_constant(f, v)) {
        tell(f, (uint64_t)v << 2 | TOLD_CONSTANT);
        return;
    }
    if (f->seen[v] != f->chunk) {
        f->seen[v] = f->chunk;
        f->inner[v] = (Var)x->narg << 2 | TOLD_INPUT;
        x->arg[x->narg++] = v;
        tell(f, (uint64_t)var_type(f->g, v)->id << 1 |
                    (fuse_shape_root(f, v) == x->shape));
    }
    tell(f, f->inner[v]);
}

/* Fills in inputs, results and the key: groups with one key compute the same. */
static void describe_group(Fuse *f, FuseGroup *x) {
    f->key.n = 0;
    mark_members(f, x);
    for (uint32_t i = 0; i < x->n; i++) {
        ApplyId id = member_of(x, i);
        const Apply *a = &f->g->apply[id];
        bool out = fuse_is_output(f, a->out);
        tell(f, f->r->op_at[id]);
        tell(f, a->props->id);
        tell(f,
             (uint64_t)var_type(f->g, a->out)->id << 17 | (uint64_t)a->nin << 1 | out);
        for (size_t k = 0; k < a->nin; k++)
            describe_input(f, x, apply_in(f->g, id)[k]);
        f->seen[a->out] = f->chunk;
        f->inner[a->out] = i << 2 | TOLD_MEMBER;
        if (out) x->result[x->nres++] = a->out;
    }
}

/* ---- the function ---- */

static Sym numbered_name(Fuse *f, char letter, size_t k) {
    char text[NUM_MAX + 1] = {letter};
    size_t n = num_write_uint(text + 1, k);
    return sym_n(f->g->s, text, n + 1);
}

/* Before all else, so that the graph's table of names ends with them. */
static void add_inputs(Fuse *f, Graph *fn, const FuseGroup *x) {
    for (size_t i = 0; i < x->narg; i++) {
        Var v = x->arg[i];
        f->seen[v] = f->chunk;
        f->inner[v] = graph_input(fn, numbered_name(f, 'x', i), var_type(f->g, v));
    }
}

/* v inside fn; on first use a constant is made there. */
static Var var_inside(Fuse *f, Graph *fn, Var v) {
    if (f->seen[v] == f->chunk) return f->inner[v];
    f->seen[v] = f->chunk;
    return f->inner[v] = graph_share_const(fn, f->g, v, true);
}

static void copy_member(Fuse *f, Graph *fn, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    Var in[MOST_INPUTS];
    for (size_t i = 0; i < a->nin; i++)
        in[i] = var_inside(f, fn, apply_in(f->g, id)[i]);
    f->inner[a->out] = graph_copy_apply(fn, f->g, id, in, true);
    f->seen[a->out] = f->chunk;
}

static bool names_dim(const Graph *fn, Sym name) {
    for (size_t i = 0; i < fn->inputs.n; i++) {
        const Type *t = var_type(fn, fn->inputs.p[i]);
        for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++)
            if (t->dim[k] == DIM_NAMED(name)) return true;
    }
    return false;
}

/* The names that the members' types have for dims, the last dim last; 0: none. Members
 * stretch to each other from the right, and an open dim never stretches. False: there
 * are two for one, as where a typing rule took either. */
static bool names_of_dims(Fuse *f, const FuseGroup *x, Dim name[MAX_NDIM]) {
    memset(name, 0, MAX_NDIM * sizeof *name);
    for (uint32_t i = 0; i < x->n; i++) {
        const Apply *a = &f->g->apply[member_of(x, i)];
        const Type *t = var_type(f->g, a->out);
        if (!a->op->elemwise) continue;
        Dim *to = name + MAX_NDIM - t->ndim;
        for (int k = 0; k < t->ndim; k++) {
            if (!dim_is_named(t->dim[k])) continue;
            if (to[k] && to[k] != t->dim[k]) return false;
            to[k] = t->dim[k];
        }
    }
    return true;
}

static bool name_open_dims(Fuse *f, Graph *fn, size_t i, const Dim *name) {
    const Type *t = var_type(fn, fn->inputs.p[i]);
    Dim dim[MAX_NDIM];
    bool any = false;
    name += MAX_NDIM - t->ndim;
    for (int k = 0; k < t->ndim; k++) {
        dim[k] = t->dim[k];
        if (dim[k] != DIM_UNKNOWN) continue;
        dim[k] = name[k] ? name[k] : DIM_NAMED(numbered_name(f, 'd', (size_t)k));
        any = true;
    }
    if (any)
        graph_retype_leaf(fn, fn->inputs.p[i],
                          type_clone(fn->s, t, DT_NONE, t->ndim, dim));
    return any;
}

/* Dims that types leave open are the same in all inputs of the group's shape: with
 * names, any of them that is known at a call tells the sizes of results. */
static void name_dims(Fuse *f, Graph *fn, const FuseGroup *x) {
    bool any = false;
    Dim name[MAX_NDIM];
    if (f->known[x->shape] || !names_of_dims(f, x, name)) return;
    for (int k = 0; k < MAX_NDIM; k++)
        if (names_dim(fn, numbered_name(f, 'd', (size_t)k))) return;
    for (size_t i = 0; i < fn->inputs.n; i++)
        if (fuse_shape_root(f, x->arg[i]) == x->shape)
            any |= name_open_dims(f, fn, i, name);
    if (any) graph_reinfer(fn);
}

static const Graph *make_function(Fuse *f, const FuseGroup *x) {
    Graph *fn = graph_function_new(f->g->main, graph_function_name(f->g, "fused"));
    fn->fused = true;
    mark_members(f, x);
    add_inputs(f, fn, x);
    for (uint32_t i = 0; i < x->n; i++)
        copy_member(f, fn, member_of(x, i));
    for (size_t k = 0; k < x->nres; k++)
        vec_push(fn->s, &fn->outputs,
                 ((Output){numbered_name(f, 'y', k), f->inner[x->result[k]]}));
    name_dims(f, fn, x);
    graph_trim(fn);
    return fn;
}

/* ---- functions that are there ---- */

static bool is_same_key(const void *ctx, uint32_t i) {
    const Fuse *f = ctx;
    const FusedFunction *have = &f->made.p[i];
    return have->n == f->key.n && memcmp(have->key, f->key.p, have->n) == 0;
}

/* For the group with the current key. Of functions that compute the same, the first one
 * is found. */
static const Graph *find_or_make_function(Fuse *f, const FuseGroup *x) {
    uint64_t hash = hash_bytes(f->key.p, f->key.n, 0);
    uint32_t have = index_find(&f->made_index, hash, is_same_key, f);
    if (have != UINT32_MAX && f->made.n >= OWN_FUNCTIONS) return f->made.p[have].fn;
    FusedFunction made = {.fn = make_function(f, x)};
    if (have == UINT32_MAX) {
        made.key = arena_copy(f->a, f->key.p, made.n = f->key.n);
        index_add(&f->made_index, hash, (uint32_t)f->made.n);
    }
    vec_push(f->g->s, &f->made, made);
    return made.fn;
}

/* Replaces the members' results by the call. */
static bool call_fused(Fuse *f, const Graph *fn, const FuseGroup *x) {
    Rewriter *r = f->r;
    Var out[OUT_MAX];
    const Op *call = op_known(r->s, OP_CALL);
    PropArg prop = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    size_t mark = diag_count(r->s);
    r->b.from = (Origin){f->g->origin[var_owner(f->g, x->result[0])].at,
                         r->db->entry.p[r->current].name};
    if (!op_apply(&r->b, call, props_make(r->s, call, 1, &prop), x->narg, x->arg, out))
        return rewriter_forget(r, mark), true;
    rewriter_grow(r);
    for (size_t k = 0; k < x->nres; k++)
        if (var_type(f->g, out[k]) != var_type(f->g, x->result[k])) return true;
    for (size_t k = 0; k < x->nres; k++)
        r->forward[x->result[k]] = out[k];
    return rewriter_fired(r, r->current, x->nres, x->result, out);
}

bool fuse_call_function(Fuse *f, const ApplyId *member, uint32_t n, ApplyId end) {
    FuseGroup x = {.n = n + (end != APPLY_NONE),
                   .member = member,
                   .end = end,
                   .shape = fuse_shape_root(f, f->g->apply[member[0]].out)};
    describe_group(f, &x);
    if (x.nres == 0) return true; /* all who read it compute it */
    return call_fused(f, find_or_make_function(f, &x), &x);
}
