/* Makes calls of functions of groups. Messages and profiles tell the place of an Apply
 * in a function, so each group gets a function of its own, as long as there are not so
 * many that nobody looks at each: then groups that compute the same share one, and the
 * call tells the place. */
#include "graph/append.h"
#include "rewrite/fuse.h"
#include "value/class.h"

#include <string.h>

enum { OWN_FUNCTIONS = 1000, TOLD_MOST = 10 };

/* ---- what a group is ---- */

typedef struct FuseGroup {
    uint32_t n;
    const ApplyId *member;
    Var arg[MOST_INPUTS + STREAM_INPUTS], result[MOST_OUTPUTS];
    Var shape; /* of its members, as f->same numbers them */
    size_t narg, nres;
    uint32_t nin, nconst; /* inputs of all members, and the constants among them */
    bool open;            /* an argument has a dim that its type leaves open */
} FuseGroup;

/* Seven bits a byte: most numbers are small. The key has room. */
static inline void tell(Fuse *f, uint64_t number) {
    for (; number > 127; number >>= 7)
        f->key.p[f->key.n++] = (uint8_t)(number | 128);
    f->key.p[f->key.n++] = (uint8_t)number;
}

/* Inputs are told by number, the first time with their type; constants by variable. */
enum { TOLD_INPUT = 1, TOLD_CONSTANT, TOLD_MEMBER };
static void describe_input(Fuse *f, FuseGroup *x, Var v) {
    if (fuse_is_constant(f, v)) {
        x->nconst += f->seen[v] != f->chunk;
        f->seen[v] = f->chunk;
        tell(f, (uint64_t)v << 2 | TOLD_CONSTANT);
        return;
    }
    if (f->seen[v] != f->chunk && !fuse_is_made(f, v)) {
        const Type *t = var_type(f->g, v);
        f->seen[v] = f->chunk;
        f->inner[v] = (Var)x->narg << 2 | TOLD_INPUT;
        x->arg[x->narg++] = v;
        x->open |= fuse_has_open_dim(t);
        tell(f, (uint64_t)t->id << 1 | (f->same[v] == x->shape));
    }
    tell(f, f->inner[v]);
}

/* Fills in inputs, results and the key: groups with one key compute the same. */
static void describe_group(Fuse *f, FuseGroup *x) {
    f->key.n = 0;
    fuse_look_at_chunk(f, x->member, x->n);
    for (uint32_t i = 0; i < x->n; i++) {
        ApplyId id = x->member[i];
        const Apply *a = &f->g->apply[id];
        bool out = fuse_is_output(f, id);
        vec_reserve(f->g->s, &f->key, (3 + 2U * a->nin) * TOLD_MOST);
        tell(f, f->r->op_at[id]);
        tell(f, a->props->id);
        tell(f,
             (uint64_t)var_type(f->g, a->out)->id << 17 | (uint64_t)a->nin << 1 | out);
        x->nin += a->nin;
        for (size_t k = 0; k < a->nin; k++)
            describe_input(f, x, apply_in(f->g, id)[k]);
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

static void name_arguments(Fuse *f) {
    for (size_t i = 0; i < MOST_INPUTS + STREAM_INPUTS; i++)
        f->input_name[i] = numbered_name(f, 'x', i);
    for (size_t i = 0; i < MOST_OUTPUTS; i++)
        f->result_name[i] = numbered_name(f, 'y', i);
}

static void add_inputs(Fuse *f, Graph *fn, const FuseGroup *x) {
    const Type *type[MOST_INPUTS + STREAM_INPUTS];
    for (size_t i = 0; i < x->narg; i++) {
        type[i] = var_type(f->g, x->arg[i]);
        f->seen[x->arg[i]] = f->chunk;
        f->inner[x->arg[i]] = (Var)i;
    }
    if (!f->input_name[0]) name_arguments(f);
    graph_first_inputs(fn, x->narg, f->input_name, type);
}

/* v inside fn; on first use a constant is made there. */
static Var var_inside(Fuse *f, Graph *fn, Var v) {
    if (f->seen[v] == f->chunk) return f->inner[v];
    f->seen[v] = f->chunk;
    return f->inner[v] = graph_share_const(fn, f->g, v, !f->r->merged);
}

/* fn has room. Where no two Applies of the graph are equal, none is looked for. */
static void copy_member(Fuse *f, Graph *fn, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    const Type *type = var_type(f->g, a->out);
    Var in[MOST_INPUTS], out = VAR_NONE;
    for (size_t i = 0; i < a->nin; i++)
        in[i] = var_inside(f, fn, apply_in(f->g, id)[i]);
    if (f->r->merged) {
        out = fn->nvar;
        graph_append(fn, a->op, a->props, a->nin, in, 1, &type, f->g->origin[id]);
    } else {
        out = graph_apply(fn, a->op, a->props, a->nin, in, 1, &type, true, false,
                          f->g->origin[id]);
    }
    f->seen[a->out] = f->chunk;
    f->inner[a->out] = out;
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
        const Apply *a = &f->g->apply[x->member[i]];
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
    if (x->shape & SHAPE_KNOWN || !names_of_dims(f, x, name)) return;
    for (int k = 0; k < MAX_NDIM; k++)
        if (names_dim(fn, numbered_name(f, 'd', (size_t)k))) return;
    for (size_t i = 0; i < fn->inputs.n; i++)
        if (f->same[x->arg[i]] == x->shape) any |= name_open_dims(f, fn, i, name);
    if (any) graph_reinfer(fn);
}

static const Graph *make_function(Fuse *f, const FuseGroup *x) {
    Graph *fn = graph_function_new(f->g->main, graph_function_name(f->g, "fused"));
    fn->fused = true;
    fuse_new_chunk(f);
    uint32_t nleaf = (uint32_t)x->narg + x->nconst;
    graph_reserve_last(fn, x->n, x->n + nleaf, x->nin, nleaf);
    add_inputs(f, fn, x);
    for (uint32_t i = 0; i < x->n; i++)
        copy_member(f, fn, x->member[i]);
    vec_reserve(fn->s, &fn->outputs, x->nres);
    for (size_t k = 0; k < x->nres; k++)
        vec_push(fn->s, &fn->outputs,
                 ((Output){f->result_name[k], f->inner[x->result[k]]}));
    name_dims(f, fn, x);
    graph_trim(fn);
    return fn;
}

/* ---- functions that are there ---- */

/* What a variable of the group is in the function, which is made of such a group. */
static Var expected_inside(Fuse *f, const Graph *fn, Var v, Var in) {
    if (f->seen[v] == f->chunk) return f->inner[v];
    if (var_leaf(fn, in) != LEAF_CONST || var_type(fn, in) != var_type(f->g, v) ||
        !value_identical(var_leafrec(fn, in)->value, var_leafrec(f->g, v)->value))
        return VAR_NONE;
    f->seen[v] = f->chunk;
    return f->inner[v] = in;
}

static bool is_member_alike(Fuse *f, const Graph *fn, ApplyId id, ApplyId inside) {
    const Apply *a = &f->g->apply[id], *b = &fn->apply[inside];
    if (a->op != b->op || a->props != b->props || a->nin != b->nin ||
        var_type(f->g, a->out) != var_type(fn, b->out))
        return false;
    for (size_t k = 0; k < a->nin; k++) {
        Var in = apply_in(fn, inside)[k];
        if (expected_inside(f, fn, apply_in(f->g, id)[k], in) != in) return false;
    }
    f->seen[a->out] = f->chunk;
    f->inner[a->out] = b->out;
    return true;
}

/* Is this the function that the group would get? */
static bool is_function_of(Fuse *f, const FuseGroup *x, const Graph *fn) {
    bool alike =
        fn->napply == x->n && fn->inputs.n == x->narg && fn->outputs.n == x->nres;
    fuse_new_chunk(f);
    for (size_t i = 0; alike && i < x->narg; i++) {
        alike = var_type(fn, (Var)i) == var_type(f->g, x->arg[i]);
        f->seen[x->arg[i]] = f->chunk;
        f->inner[x->arg[i]] = (Var)i;
    }
    for (uint32_t i = 0; alike && i < x->n; i++)
        alike = is_member_alike(f, fn, x->member[i], i);
    for (size_t k = 0; alike && k < x->nres; k++)
        alike = fn->outputs.p[k].var == f->inner[x->result[k]];
    return alike;
}

typedef struct FuseLookup {
    Fuse *f;
    const FuseGroup *x;
} FuseLookup;

static bool is_same_group(const void *ctx, uint32_t i) {
    const FuseLookup *q = ctx;
    const FusedFunction *have = &q->f->made.p[i];
    if (!have->key) return !q->x->open && is_function_of(q->f, q->x, have->fn);
    return have->n == q->f->key.n && memcmp(have->key, q->f->key.p, have->n) == 0;
}

/* For the group with the current key. Of functions that compute the same, the first one
 * is found. A key is kept only where the function doesn't tell it: if dims are open,
 * which it names, and if members may have been merged. */
static FusedFunction find_or_make_function(Fuse *f, const FuseGroup *x) {
    FuseLookup q = {f, x};
    uint64_t hash = hash_bytes(f->key.p, f->key.n, 0);
    uint32_t have = index_find(&f->made_index, hash, is_same_group, &q);
    if (have != UINT32_MAX && f->made.n >= OWN_FUNCTIONS) return f->made.p[have];
    FusedFunction made = {.fn = make_function(f, x)};
    PropArg prop = {"fn", {.kind = P_GRAPH, .sym = made.fn->name}};
    made.props = props_make(f->g->s, f->r->known[OP_CALL], 1, &prop);
    if (have == UINT32_MAX) {
        if (x->open || !f->r->merged)
            made.key = arena_copy(f->a, f->key.p, made.n = f->key.n);
        index_add(&f->made_index, hash, (uint32_t)f->made.n);
    }
    vec_push(f->g->s, &f->made, made);
    return made;
}

/* The call's results; where no dim is open they are of the members' types. False: it
 * isn't typed. */
static bool append_call(Fuse *f, const Props *fn, const FuseGroup *x, Var *out) {
    Rewriter *r = f->r;
    const Op *call = r->known[OP_CALL];
    size_t mark = diag_count(r->s);
    r->b.from = (Origin){f->g->origin[var_owner(f->g, x->result[0])].at,
                         r->db->entry.p[r->current].name};
    if (x->open) {
        if (op_apply(&r->b, call, fn, x->narg, x->arg, out)) return true;
        rewriter_forget(r, mark);
        return false;
    }
    const Type *type[MOST_OUTPUTS];
    for (size_t k = 0; k < x->nres; k++)
        type[k] = var_type(f->g, x->result[k]);
    Var first = graph_apply(f->g, call, fn, x->narg, x->arg, x->nres, type, false,
                            false, r->b.from);
    for (size_t k = 0; k < x->nres; k++)
        out[k] = first + (Var)k;
    return true;
}

/* Replaces the members' results by the call. */
static bool call_fused(Fuse *f, const Props *fn, const FuseGroup *x) {
    Rewriter *r = f->r;
    Var out[OUT_MAX];
    if (!append_call(f, fn, x, out)) return true;
    rewriter_grow(r);
    for (size_t k = 0; k < x->nres; k++)
        if (var_type(f->g, out[k]) != var_type(f->g, x->result[k])) return true;
    for (size_t k = 0; k < x->nres; k++)
        r->forward[x->result[k]] = out[k];
    fuse_let_go(f, x->member, x->n);
    return rewriter_fired(r, r->current, x->nres, x->result, out);
}

bool fuse_call_function(Fuse *f, const ApplyId *member, uint32_t n) {
    FuseGroup x = {
        .n = n, .member = member, .shape = f->same[f->g->apply[member[0]].out]};
    describe_group(f, &x);
    if (x.nres == 0) return true; /* all who read it compute it */
    return call_fused(f, find_or_make_function(f, &x).props, &x);
}
