/* A graph that measures its own rounding: beside each Apply stand the same in a wider
 * dtype on the same inputs, and the same on values that were never rounded. Nothing is
 * kept but the largest differences, so that memory stays that of a few values. */
#include "op/build.h"
#include "tools/gprof/ulp.h"

#include <string.h>

typedef enum Version { NARROW, WIDE, VERSIONS } Version;

typedef struct Ulp {
    Session *s;
    const Graph *from;
    Graph *g;
    Arena *a;
    bool native;        /* g is narrow as it is */
    Var *at[VERSIONS];  /* by Var of `from`; VAR_NONE: dead */
    Map made[VERSIONS]; /* functions' names, by the name of what they were made from */
    UlpRows *rows;
} Ulp;

/* ---- dtypes ---- */
static bool is_narrow(DType d) {
    return d == DT_FLOAT16 || d == DT_FLOAT32 || d == DT_COMPLEX64;
}

static DType dtype_in(Version v, DType d) {
    if (v == WIDE)
        return d == DT_COMPLEX64 ? DT_COMPLEX128 : is_narrow(d) ? DT_FLOAT64 : d;
    return d == DT_FLOAT64 ? DT_FLOAT32 : d == DT_COMPLEX128 ? DT_COMPLEX64 : d;
}

static bool is_inexact(const Type *t) {
    return t->kind == TYPE_TENSOR && dtype_is_inexact(t->dtype);
}

static Var cast_in(Builder *b, Version v, Var x) {
    if (x == VAR_NONE) return VAR_NONE;
    const Type *t = var_type(b->g, x);
    return is_inexact(t) ? op_cast_to(b, x, dtype_in(v, t->dtype)) : x;
}

/* ---- one Apply in another dtype ---- */
static Graph *function_in(Ulp *u, Version v, const Graph *fn);

static bool props_in(Ulp *u, Version v, const Graph *from, const Props *p,
                     const Props **out) {
    *out = p;
    if (!p || !p->n) return true;
    Prop *q = arena_copy(u->a, p->p, p->n * sizeof *q);
    for (size_t i = 0; i < p->n; i++) {
        if (q[i].kind == P_DTYPE) q[i].i = (int64_t)dtype_in(v, (DType)q[i].i);
        if (q[i].kind != P_GRAPH || !q[i].sym) continue;
        const Graph *fn = graph_function(from, q[i].sym);
        Graph *made = fn ? function_in(u, v, fn) : NULL;
        if (!made) return false;
        q[i].sym = made->name;
    }
    *out = props_intern(u->s, p->n, q);
    return true;
}

/* Draws would differ, effects would happen again. */
static bool has_other_form(const Graph *g, const Apply *a) {
    bool any = false;
    for (size_t i = 0; i < a->nin; i++)
        if (var_type(g, g->in[a->in + i])->kind != TYPE_TENSOR) return false;
    for (Var k = 0; k < a->nout; k++) {
        if (var_type(g, a->out + k)->kind != TYPE_TENSOR) return false;
        any |= is_inexact(var_type(g, a->out + k));
    }
    return any && !a->serial && !a->op->plugin;
}

/* May the values of floats decide sizes, as in unique(x)? */
static bool sizes_depend_on_values(const Graph *g, const Apply *a) {
    bool open = false;
    for (size_t i = 0; i < a->nin; i++) {
        const Type *t = var_type(g, g->in[a->in + i]);
        for (int k = 0; k < t->ndim; k++)
            open |= t->dim[k] == DIM_UNKNOWN;
    }
    for (Var k = 0; !open && k < a->nout; k++) {
        const Type *t = var_type(g, a->out + k);
        for (int d = 0; d < t->ndim; d++)
            if (is_inexact(t) && t->dim[d] == DIM_UNKNOWN && !op_rare(a->op)->shape &&
                !op_rare(a->op)->infer_shape)
                return true;
    }
    return false;
}

/* False without a diagnostic: there is no such form. */
static bool apply_in_dtype(Ulp *u, Version v, Builder *b, const Graph *from,
                           const Apply *a, const Var *in, Var *out) {
    size_t mark = diag_count(u->s);
    const Props *props;
    Var got[OUT_MAX];
    bool ok = has_other_form(from, a) && !sizes_depend_on_values(from, a) &&
              props_in(u, v, from, a->props, &props) &&
              op_apply(b, a->op, props, a->nin, in, got);
    for (Var k = 0; ok && k < a->nout; k++) {
        const Type *was = var_type(from, a->out + k), *t = var_type(b->g, got[k]);
        ok = t->kind == TYPE_TENSOR && t->ndim == was->ndim;
        out[k] = ok && is_inexact(was) ? op_cast_to(b, got[k], dtype_in(v, was->dtype))
                                       : got[k];
        ok = ok && out[k] != VAR_NONE;
    }
    if (!ok && !diag_hit_limit(u->s, mark)) diag_rewind(u->s, mark);
    return ok;
}

/* ---- functions: of loops, calls, branches ---- */
/* Not of one that decides by its values when its loop ends. */
static bool fill_function(Ulp *u, Version v, const Graph *fn, Graph *made) {
    if (fn->until != VAR_NONE) return false;
    Builder b = builder(made, true);
    Var *map = NEW_N(u->a, fn->nvar, Var);
    for (Var x = 0; x < fn->nvar; x++)
        map[x] = VAR_NONE;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var x = fn->inputs.p[i];
        const Type *t = var_type(fn, x);
        if (t->kind != TYPE_TENSOR) return false;
        map[x] =
            graph_input(made, var_name(fn, x),
                        type_clone(u->s, t, dtype_in(v, t->dtype), t->ndim, t->dim));
    }
    for (uint32_t i = 0; i < fn->nleaf; i++) {
        Var x = fn->leaf[i].var;
        if (map[x] == VAR_NONE)
            map[x] = cast_in(&b, v, graph_copy_leaf(made, fn, x, true));
        if (map[x] == VAR_NONE) return false;
    }
    for (ApplyId id = 0; id < fn->napply; id++) {
        const Apply a = fn->apply[id];
        Var *in = NEW_N(u->a, a.nin + 1, Var);
        for (size_t i = 0; i < a.nin; i++)
            in[i] = map[apply_in(fn, id)[i]];
        b.from = fn->origin[id];
        bool ok = has_other_form(fn, &a)
                      ? apply_in_dtype(u, v, &b, fn, &a, in, &map[a.out])
                      : !a.serial && !a.op->plugin &&
                            op_apply(&b, a.op, a.props, a.nin, in, &map[a.out]);
        if (!ok) return false;
    }
    for (size_t i = 0; i < fn->outputs.n; i++) {
        Output out = {fn->outputs.p[i].label, map[fn->outputs.p[i].var]};
        vec_push(u->s, &made->outputs, out);
    }
    return true;
}

static Graph *function_in(Ulp *u, Version v, const Graph *fn) {
    uint64_t name;
    if (map_get(&u->made[v], fn->name, &name))
        return name ? graph_function(u->g, (Sym)name) : NULL;
    map_put(&u->made[v], fn->name, 0); /* also while it is being made */
    if (fn->fused || !session_enter(u->s)) return NULL;
    Sym y =
        graph_function_name(u->g, arena_printf(u->a, "%s_%s", sym_text(u->s, fn->name),
                                               v == WIDE ? "wide" : "narrow"));
    Graph *made = graph_function_new(u->g, y);
    made->derived = made->litter = true;
    bool ok = fill_function(u, v, fn, made);
    session_leave(u->s);
    if (ok)
        map_put(&u->made[v], fn->name, y);
    else
        graph_function_drop(made);
    return ok ? made : NULL;
}

/* ---- differences ---- */
/* How far x is from y, which is exact, in units in the last place of `d` at y. */
static Var error_in_ulp(Builder *b, Var x, Var y, DType d) {
    static const char text[] =
        "where((x == y) | (isnan(x) & isnan(y)), 0., abs(x - y) / spacing_at)";
    DType real = dtype_is_complex(d) ? DT_FLOAT32 : d;
    Var size = op_call1(b, "abs", y), at = op_cast_to(b, size, real);
    at = op_cast_to(b, op_call1(b, "spacing", at), DT_FLOAT64);
    Bind bind[] = {
        {sym(b->s, "x"), x}, {sym(b->s, "y"), y}, {sym(b->s, "spacing_at"), at}};
    Env env = {.n = 3, .bind = bind};
    bool ok;
    return at == VAR_NONE ? VAR_NONE : template_build(b, text, &env, &ok);
}

/* 0 of no elements, inf where an error is nan: one of both values is. */
static Var figure(Builder *b, const char *text, Var e) {
    Bind bind = {sym(b->s, "e"), e};
    Env env = {.n = 1, .bind = &bind};
    bool ok;
    return e == VAR_NONE ? VAR_NONE : template_build(b, text, &env, &ok);
}
static Var largest(Builder *b, Var e) {
    return figure(b, "max(concatenate([ravel(where(isnan(e), inf, e)), zeros([1])]))",
                  e);
}
static Var average(Builder *b, Var e) {
    return figure(b, "sum(where(isnan(e), inf, e)) / maximum(sum(ones_like(e)), 1.)",
                  e);
}

/* The result as it is, from the wider Apply on the same inputs, and without any
 * rounding. */
static bool add_row(Ulp *u, Builder *b, Var var, Var is, Var local, Var exact) {
    DType d = var_type(u->g, is)->dtype;
    Var wide = cast_in(b, WIDE, is), own = error_in_ulp(b, wide, local, d);
    Var part[] = {largest(b, own), average(b, own),
                  largest(b, error_in_ulp(b, local, exact, d)),
                  largest(b, error_in_ulp(b, wide, exact, d))};
    for (int i = 0; i < 4; i++)
        if (part[i] == VAR_NONE) return false;
    Output out = {sym(u->s, arena_printf(u->a, "row_%zu", u->rows->n)),
                  op_apply1(b, op_named(u->s, "stack"), NULL, 4, part)};
    if (out.var == VAR_NONE) return false;
    vec_push(u->s, &u->g->outputs, out);
    vec_push(u->s, u->rows, ((UlpRow){.var = var, .dtype = d}));
    return true;
}

/* ---- all ---- */
static void leaf_versions(Ulp *u, Builder *b, const Var *copy) {
    for (uint32_t i = 0; i < u->from->nleaf; i++) {
        Var v = u->from->leaf[i].var, x = copy[v];
        if (x == VAR_NONE) continue;
        u->at[NARROW][v] = u->native ? x : cast_in(b, NARROW, x);
        u->at[WIDE][v] = cast_in(b, WIDE, u->at[NARROW][v]);
    }
}

/* Sets the results' versions, and adds their rows where both other forms exist. */
static bool apply_versions(Ulp *u, Builder *b, ApplyId id, const Var *copy) {
    const Apply a = u->from->apply[id];
    Var *in[VERSIONS], *same = NEW_N(u->a, a.nin + 1, Var);
    Var local[OUT_MAX], exact[OUT_MAX], *narrow = &u->at[NARROW][a.out];
    for (int v = 0; v < VERSIONS; v++)
        in[v] = NEW_N(u->a, a.nin + 1, Var);
    for (size_t i = 0; i < a.nin; i++) {
        Var x = apply_in(u->from, id)[i];
        in[NARROW][i] = u->at[NARROW][x];
        in[WIDE][i] = u->at[WIDE][x];
        same[i] = cast_in(b, WIDE, in[NARROW][i]);
    }
    b->from = u->from->origin[id];
    bool made =
        u->native || apply_in_dtype(u, NARROW, b, u->from, &a, in[NARROW], narrow);
    for (Var k = 0; k < a.nout; k++)
        if (u->native || !made) {
            narrow[k] = copy[a.out + k];
            if (!u->native && narrow[k] != VAR_NONE)
                narrow[k] = cast_in(b, NARROW, narrow[k]);
        }
    bool both = made && apply_in_dtype(u, WIDE, b, u->from, &a, same, local) &&
                apply_in_dtype(u, WIDE, b, u->from, &a, in[WIDE], exact);
    for (Var k = 0; k < a.nout; k++) {
        if (narrow[k] == VAR_NONE) continue;
        bool rounds = both && is_inexact(var_type(u->g, narrow[k]));
        u->at[WIDE][a.out + k] = rounds ? exact[k] : cast_in(b, WIDE, narrow[k]);
        if (rounds && is_narrow(var_type(u->g, narrow[k])->dtype) &&
            !add_row(u, b, a.out + k, narrow[k], local[k], exact[k]))
            return false;
    }
    return true;
}

/* Not what computes initial values alone. */
static bool is_run(const Graph *g, ApplyId id, const uint8_t *live) {
    bool any = false;
    for (Var k = 0; k < g->apply[id].nout; k++)
        any |= live[g->apply[id].out + k];
    return any;
}

static bool any_narrow(const Graph *g) {
    for (Var v = 0; v < g->nvar; v++) {
        const Type *t = var_type(g, v);
        if (var_owner(g, v) != APPLY_NONE && t->kind == TYPE_TENSOR &&
            is_narrow(t->dtype))
            return true;
    }
    return false;
}

Graph *ulp_graph(const Graph *g, UlpRows *rows, bool *narrowed) {
    Ulp u = {.s = g->s, .from = g, .a = arena_new(g->s), .rows = rows};
    Var *copy = NEW_N(u.a, g->nvar, Var);
    u.native = any_narrow(g);
    *narrowed = !u.native;
    u.g = graph_copy(g, ROOTS_RUN | ROOTS_INIT, NULL, false, copy);
    u.g->outputs.n = u.g->updates.n = 0;
    for (int v = 0; v < VERSIONS; v++) {
        u.at[v] = NEW_N(u.a, g->nvar, Var);
        u.made[v] = MAP(g->s);
        for (Var x = 0; x < g->nvar; x++)
            u.at[v][x] = VAR_NONE;
    }
    Builder b = builder(u.g, true);
    size_t mark = diag_count(g->s);
    leaf_versions(&u, &b, copy);
    bool ok = !diag_failed(g->s, mark);
    const uint8_t *live = graph_live(g, u.a, ROOTS_RUN);
    for (ApplyId id = 0; ok && id < g->napply; id++)
        if (is_run(g, id, live))
            ok = apply_versions(&u, &b, id, copy) && !diag_failed(g->s, mark);
    if (!ok) diag_rewind(g->s, mark + 1); /* what failed later failed for the first */
    graph_outputs_changed(u.g);
    graph_updates_changed(u.g);
    for (int v = 0; v < VERSIONS; v++)
        map_free(&u.made[v]);
    arena_free(u.a);
    if (ok) return u.g;
    graph_free(u.g);
    return NULL;
}
