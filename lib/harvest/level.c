/* The sows of one level: which may share a name, what is planted for them, what is
 * collected. */
#include "harvest/walk.h"

#include <string.h>

static const char *const mode_text[] = {"strict", "append", "clobber", "cond_clobber",
                                        "scope"};

/* Is `part` the path, or a scope that it is in? Anywhere: or any names in a row of it.
 */
static bool is_part(const char *path, const char *part, bool anywhere) {
    size_t n = strlen(part);
    while (path) {
        if (strncmp(path, part, n) == 0 && (path[n] == '\0' || path[n] == '/'))
            return true;
        const char *slash = anywhere ? strchr(path, '/') : NULL;
        path = slash ? slash + 1 : NULL;
    }
    return false;
}

bool harvest_takes(Session *s, const HarvestSpec *h, Sym name) {
    const char *path = sym_text(s, name);
    bool all = h->nallow == 0 && !h->allow, taken = all;
    for (size_t i = 0; i < h->nallow; i++)
        taken |= is_part(path, sym_text(s, h->allow[i]), false);
    for (size_t i = 0; i < h->nblock; i++)
        taken &= !is_part(path, sym_text(s, h->block[i]), true);
    return taken;
}

static size_t planted_as(const Walk *w, Sym name) {
    size_t k = 0;
    while (k < w->h->nplant && w->h->plant[k] != name)
        k++;
    return k;
}

static Entry *entry_of(Walk *w, Level *l, Sym name, SowMode mode, Span at,
                       bool *fresh) {
    for (size_t i = 0; i < l->entry.n; i++)
        if (l->entry.p[i].name == name) return *fresh = false, &l->entry.p[i];
    vec_push(w->b->s, &l->entry, ((Entry){.name = name, .mode = mode, .at = at}));
    *fresh = true;
    return &l->entry.p[l->entry.n - 1];
}

static bool may_share(SowMode a, SowMode b) {
    bool clobbers =
        (a == SOW_CLOBBER || a == SOW_COND) && (b == SOW_CLOBBER || b == SOW_COND);
    return clobbers || (a == SOW_APPEND && b == SOW_APPEND);
}

static bool fail_again(Walk *w, const Entry *e, SowMode mode, Span at,
                       const char *done) {
    Session *s = w->b->s;
    fail(s, at, E_DUPLICATE, "%s%s has already been %s",
         mode == SOW_SCOPE || e->mode == SOW_SCOPE ? "the scope " : "",
         sym_text(s, e->name), done);
    note(s, e->at, "here first, in mode %s; this one is in mode %s", mode_text[e->mode],
         mode_text[mode]);
    return note(
        s, NOWHERE,
        "sow with mode='append' to collect all, with mode='clobber' to keep the "
        "last, or give the calls scopes of their own by nest(f, scope='...')");
}

/* ---- planting ---- */
static Var build(Walk *w, const char *text, const char *a, Var va, const char *b,
                 Var vb) {
    Bind bind[] = {{sym(w->b->s, a), va}, {sym(w->b->s, b), vb}};
    Env env = {.n = 2, .bind = bind};
    bool ok = true;
    Var v = build_text(w->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

/* As a value of type t: a narrower one is one, a wider one is checked at run time. */
static Var fit(Walk *w, Var v, const Type *t, Sym name) {
    Session *s = w->b->s;
    const Type *have = var_type(w->b->g, v);
    if (type_is_super(t, have)) return v;
    const Type *meet = type_meet(s, have, t);
    if (!meet || t->kind != TYPE_TENSOR) {
        fail(s, w->b->from.at, E_TYPE,
             "the planted value of %s is %s, what is sown is %s", sym_text(s, name),
             type_str(s, have), type_str(s, t));
        return VAR_NONE;
    }
    Var dim[MAX_NDIM];
    for (int i = 0; i < t->ndim; i++)
        dim[i] = dim_is_known(t->dim[i])   ? const_int(w->b, t->dim[i])
                 : dim_is_named(t->dim[i]) ? graph_dim(w->b->g, dim_sym(t->dim[i]))
                                           : shape_of(w->b, v, i);
    const Op *stack = op_find(s, "stack", 5);
    Var shape = op_apply1(w->b, stack, NULL, (size_t)t->ndim, dim);
    return shape == VAR_NONE ? VAR_NONE : call2(w->b, "specify_shape", v, shape);
}

Var level_value(Walk *w, Level *l, size_t k, const Type *t, bool append) {
    return l->loop ? loop_planted(l->loop, k, t, append)
                   : w->h->value(w->h->ctx, k, w->b, t);
}

/* Row `row` of what is planted for an appended name; the steps of a loop are rows
 * already. */
static Var planted_row(Walk *w, Level *l, size_t k, size_t row, const Type *t,
                       Sym name) {
    Dim dim[MAX_NDIM + 1] = {DIM_UNKNOWN};
    if (t->kind != TYPE_TENSOR || t->ndim == MAX_NDIM) {
        fail(w->b->s, w->b->from.at, E_TYPE, "%s can't be planted row by row",
             type_str(w->b->s, t));
        return VAR_NONE;
    }
    for (int i = 0; i < t->ndim; i++)
        dim[i + 1] = t->dim[i];
    if (l->loop && !loop_often(l->loop, name)) return level_value(w, l, k, t, true);
    const Type *rows = type_tensor(w->b->s, t->dtype, t->ndim + 1, dim);
    Var v = level_value(w, l, k, rows, true);
    if (v == VAR_NONE) return v;
    return build(w, "planted[row]", "planted", v, "row", const_int(w->b, (int64_t)row));
}

static Var plant(Walk *w, Level *l, const SowCall *q, Sym name, size_t k) {
    bool fresh;
    const Type *t = var_type(w->b->g, q->value);
    Entry *e = entry_of(w, l, name, q->mode, q->at, &fresh);
    if (!fresh && !may_share(e->mode, q->mode)) {
        fail_again(w, e, q->mode, q->at, "planted");
        return VAR_NONE;
    }
    size_t row = e->nplanted++;
    if (w->h->used) w->h->used[k] = true;
    Var v = q->mode == SOW_APPEND ? planted_row(w, l, k, row, t, q->name)
                                  : level_value(w, l, k, t, false);
    return v == VAR_NONE ? VAR_NONE : fit(w, v, t, name);
}

/* ---- reaping ---- */
static Var zeros_of(Walk *w, Var v) {
    return zeros_like(w->b, v, var_type(w->b->g, v)->dtype);
}

/* The value where the predicate held, what was there before elsewhere. */
static Var conditional(Walk *w, Level *l, const SowCall *q, Sym name, Var before) {
    const Type *t = var_type(w->b->g, q->value);
    if (t->kind != TYPE_TENSOR) {
        fail(w->b->s, q->at, E_TYPE, "sow_cond takes tensors, not %s",
             type_str(w->b->s, t));
        return VAR_NONE;
    }
    if (before == VAR_NONE && l->loop) {
        before = loop_before(l->loop, name, t);
        if (before == VAR_NONE)
            fail(w->b->s, q->at, E_SHAPE,
                 "%s is %s: its shape must be known before the loop, which begins with "
                 "zeros",
                 sym_text(w->b->s, name), type_str(w->b->s, t));
    } else if (before == VAR_NONE) {
        before = zeros_of(w, q->value);
    }
    return before == VAR_NONE ? before
                              : call3(w->b, "where", q->pred, q->value, before);
}

static bool collect(Walk *w, Level *l, const SowCall *q, Sym name) {
    bool fresh;
    Entry *e = entry_of(w, l, name, q->mode, q->at, &fresh);
    if (!fresh && !may_share(e->mode, q->mode))
        return fail_again(w, e, q->mode, q->at, "reaped");
    if (q->mode == SOW_APPEND) {
        vec_push(w->b->s, &e->part, ((Part){q->value, false}));
        return true;
    }
    Var v = q->value;
    if (q->mode == SOW_COND) {
        v = conditional(w, l, q, name, e->part.n ? e->part.p[0].var : VAR_NONE);
        if (v == VAR_NONE) return false;
    }
    e->part.n = 0;
    vec_push(w->b->s, &e->part, ((Part){v, false}));
    return true;
}

bool level_adopt(Walk *w, Level *l, Sym name, SowMode mode, Var var, bool array,
                 Span at) {
    bool fresh;
    Entry *e = entry_of(w, l, name, mode, at, &fresh);
    if (!fresh && !may_share(e->mode, mode))
        return fail_again(w, e, mode, at, "reaped");
    if (mode != SOW_APPEND) e->part.n = 0;
    vec_push(w->b->s, &e->part, ((Part){var, array}));
    return true;
}

Var level_sow(Walk *w, Level *l, const SowCall *q) {
    Sym name = harvest_path(w->b->s, l->scope, q->name);
    size_t k = planted_as(w, name);
    if (!harvest_takes(w->b->s, w->h, name)) return q->value;
    if (l->loop && q->mode == SOW_STRICT) {
        fail(
            w->b->s, q->at, E_DUPLICATE,
            "can't use mode strict for %s inside of a scan, which sows it in each step",
            sym_text(w->b->s, name));
        note(w->b->s, NOWHERE,
             "sow with mode='append' for a row a step, with mode='clobber' for the "
             "last");
        return VAR_NONE;
    }
    if (k < w->h->nplant) return plant(w, l, q, name, k);
    return collect(w, l, q, name) ? q->value : VAR_NONE;
}

/* ---- levels ---- */
Level *level_open(Walk *w, Level *l, Sym scope, Span at) {
    bool fresh;
    Sym name = harvest_path(w->b->s, l->scope, scope);
    if (l->loop) {
        fail(w->b->s, at, E_DUPLICATE,
             "can't nest the scope %s inside of a scan: a scope stands once (mode "
             "strict)",
             sym_text(w->b->s, name));
        return NULL;
    }
    Entry *e = entry_of(w, l, name, SOW_SCOPE, at, &fresh);
    if (!fresh) {
        fail_again(w, e, SOW_SCOPE, at, "reaped");
        return NULL;
    }
    Level *in = NEW(w->arena, Level);
    *in = (Level){.up = l, .scope = name};
    return in;
}

/* The parts one after the other along a new or their leading axis. */
Var level_grown(Walk *w, const Entry *e) {
    Session *s = w->b->s;
    Arena *a = w->arena;
    Var *v = NEW_N(a, e->part.n, Var);
    bool arrays = false;
    for (size_t i = 0; i < e->part.n; i++)
        arrays |= e->part.p[i].array;
    for (size_t i = 0; i < e->part.n; i++) {
        v[i] = e->part.p[i].var;
        if (arrays && !e->part.p[i].array)
            v[i] = op_apply1(w->b, op_find(s, "stack", 5), NULL, 1, &v[i]);
        if (v[i] == VAR_NONE) return VAR_NONE;
    }
    if (arrays && e->part.n == 1) return v[0];
    const Op *op = arrays ? op_find(s, "concatenate", 11) : op_find(s, "stack", 5);
    Var out = op_apply1(w->b, op, NULL, e->part.n, v);
    if (out == VAR_NONE)
        note(s, e->at,
             "rows that are sown as %s make one array: they need one dtype and shape",
             sym_text(s, e->name));
    return out;
}

bool level_close(Walk *w, Level *l, Reaps *out) {
    bool ok = true;
    for (size_t i = 0; i < l->entry.n; i++) {
        Entry *e = &l->entry.p[i];
        if (ok && e->part.n) {
            w->b->from.at = e->at;
            Var v = e->mode == SOW_APPEND ? level_grown(w, e) : e->part.p[0].var;
            ok = v != VAR_NONE;
            vec_push(w->b->s, out, ((Reap){e->name, v, e->at}));
        }
        vec_free(&e->part);
    }
    vec_free(&l->entry);
    return ok;
}
