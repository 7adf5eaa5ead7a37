/* The sows of one level: which modes may share a name, which values are planted, which
 * are collected. */
#include "harvest/walk.h"

#include <string.h>

static const char *const mode_text[] = {"strict", "append", "clobber", "cond_clobber",
                                        "scope"};

/* Is `part` the whole path or one of its leading scopes? With `anywhere`, any run of
 * names in the path matches. */
static bool is_path_part(const char *path, const char *part, bool anywhere) {
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
        taken |= is_path_part(path, sym_text(s, h->allow[i]), false);
    for (size_t i = 0; i < h->nblock; i++)
        taken &= !is_path_part(path, sym_text(s, h->block[i]), true);
    return taken;
}

static size_t find_plant(const HarvestWalk *w, Sym name) {
    size_t k = 0;
    while (k < w->h->nplant && w->h->plant[k] != name)
        k++;
    return k;
}

SowEntry *level_find(const Level *l, Sym name) {
    for (size_t i = 0; l && i < l->entry.n; i++)
        if (l->entry.p[i].name == name) return &l->entry.p[i];
    return NULL;
}

static SowEntry *find_or_add_entry(HarvestWalk *w, Level *l, Sym name, SowMode mode,
                                   Span at, bool *fresh) {
    SowEntry *e = level_find(l, name);
    *fresh = !e;
    if (e) return e;
    vec_push(w->b->s, &l->entry, ((SowEntry){.name = name, .mode = mode, .at = at}));
    return &l->entry.p[l->entry.n - 1];
}

static bool modes_may_share(SowMode a, SowMode b) {
    return (sow_keeps_last(a) && sow_keeps_last(b)) ||
           (a == SOW_APPEND && b == SOW_APPEND);
}

static bool fail_sown_again(HarvestWalk *w, const SowEntry *e, SowMode mode, Span at,
                            const char *done) {
    Session *s = w->b->s;
    fail(s, at, E_DUPLICATE, "%s%s has already been %s",
         mode == SOW_SCOPE || e->mode == SOW_SCOPE ? "the scope " : "",
         sym_text(s, e->name), done);
    note(s, e->at, "here first, in mode %s; this one is in mode %s", mode_text[e->mode],
         mode_text[mode]);
    return note(
        s, NOWHERE,
        "sow with mode='append' to collect all values or with mode='clobber' to keep "
        "the last, or give each call a scope of its own with nest(f, scope='...')");
}

/* May the name be sown at this level, again? Adds its entry. False: diagnosed. */
static bool open_entry(HarvestWalk *w, Level *l, Sym name, SowMode mode, Span at,
                       const char *done) {
    bool fresh;
    const SowEntry *e = find_or_add_entry(w, l, name, mode, at, &fresh);
    return fresh || modes_may_share(e->mode, mode) ||
           fail_sown_again(w, e, mode, at, done);
}

static size_t next_part(const SowEntry *e, SowMode mode) {
    return e && mode == SOW_APPEND ? e->part.n : 0;
}

/* The n-th sow of the other branch, which has the slot that the n-th of this one gets,
 * since only one of the two runs; NULL: there is none yet. */
static const SowPart *same_in_twin(const Level *l, Sym name, SowMode mode) {
    const SowEntry *other = level_find(l->twin, name);
    size_t k = next_part(level_find(l, name), mode);
    return other && k < other->part.n ? &other->part.p[k] : NULL;
}

/* Appends a part to those of its name, or replaces the last one. */
static SowPart *put_part(HarvestWalk *w, SowEntry *e, SowMode mode, SowPart p) {
    size_t k = next_part(e, mode);
    if (k == e->part.n) {
        vec_push(w->b->s, &e->part, p);
        return &e->part.p[k];
    }
    const SowPart *last = &e->part.p[k];
    bool open = last->branch && last->var == VAR_NONE,
         mine = open && p.branch && sow_is_of_branch(last, p.branch);
    p.was = last->var != VAR_NONE ? last->var : last->was;
    p.was_open = mine ? last->was_open : open;
    e->part.p[k] = p;
    return &e->part.p[k];
}

/* Enters a sow at level l. In a branch it also takes a slot at each enclosing level, up
 * to one where the other branch has taken it already. NULL: diagnosed. */
static SowPart *take_entry_slot(HarvestWalk *w, Level *l, const SowPart *part, Sym name,
                                SowMode mode, const char *done) {
    Vec(Level *) path = {0};
    SowPart *put = NULL;
    bool ok = true, more = true;
    for (Level *k = l; ok && more; k = k->up) {
        ok = open_entry(w, k, name, mode, part->at, done);
        more = ok && k->twin && !same_in_twin(k, name, mode);
        vec_push(w->b->s, &path, k);
    }
    for (size_t i = path.n; ok && i-- > 0;) {
        Level *k = path.p[i];
        SowEntry *e = level_find(k, name);
        SowPart p = {.var = VAR_NONE, .was = VAR_NONE};
        if (i)
            p.branch = path.p[i - 1];
        else
            p = *part;
        p.at = part->at;
        p.row = next_part(e, mode);
        if (k->twin) {
            const SowPart *same = same_in_twin(k, name, mode);
            const SowEntry *around = level_find(k->up, name);
            p.slot = same ? same->slot : mode == SOW_APPEND ? around->part.n - 1 : 0;
            p.row = around->part.p[p.slot].row;
        }
        put = put_part(w, e, mode, p);
    }
    vec_free(&path);
    return put;
}

/* ---- planting ---- */
static Var build_from_two(HarvestWalk *w, const char *text, const char *a, Var va,
                          const char *b, Var vb) {
    Bind bind[] = {{sym(w->b->s, a), va}, {sym(w->b->s, b), vb}};
    Env env = {.n = 2, .bind = bind};
    bool ok = true;
    Var v = template_build(w->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

/* Fits v to type t: a subtype passes, a wider type is checked at run time. */
static Var fit_planted(HarvestWalk *w, Var v, const Type *t, Sym name) {
    Session *s = w->b->s;
    const Type *have = var_type(w->b->g, v);
    if (type_is_super(t, have)) return v;
    const Type *meet = type_meet(s, have, t);
    if (!meet || t->kind != TYPE_TENSOR) {
        fail(s, w->b->from.at, E_TYPE,
             "the planted value of %s is %s, but the sown value is %s",
             sym_text(s, name), type_str(s, have), type_str(s, t));
        return VAR_NONE;
    }
    Var dim[MAX_NDIM];
    for (int i = 0; i < t->ndim; i++)
        dim[i] = dim_is_known(t->dim[i])   ? const_int(w->b, t->dim[i])
                 : dim_is_named(t->dim[i]) ? graph_dim(w->b->g, dim_sym(t->dim[i]))
                                           : shape_of(w->b, v, i);
    const Op *stack = op_known(s, OP_STACK);
    Var shape = op_apply1(w->b, stack, NULL, (size_t)t->ndim, dim);
    return op_call2(w->b, "specify_shape", v, shape);
}

Var level_plant_value(HarvestWalk *w, Level *l, size_t k, const Type *t, bool append) {
    return l->loop ? scanned_planted(l->loop, k, t, append)
                   : w->h->value(w->h->ctx, k, w->b, t);
}

/* Records how many rows were planted for a name of this level; level_close compares. */
static void note_planted_rows(Level *l, Sym name, Dim rows) {
    SowEntry *e = level_find(l, name);
    if (!e) bug("rows are planted for a name that is not there");
    e->rows = rows;
}

/* All rows planted for an appended name: one variable, which all its sows share. */
static Var planted_rows(HarvestWalk *w, Level *l, size_t k, const Type *rows) {
    for (size_t i = 0; i < w->planted.n; i++)
        if (w->planted.p[i].number == k && w->planted.p[i].type == rows)
            return w->planted.p[i].var;
    Var v = level_plant_value(w, l, k, rows, true);
    vec_push(w->b->s, &w->planted, ((PlantedRows){k, rows, v}));
    return v;
}

static Var fail_too_few_rows(HarvestWalk *w, Sym name, Dim rows) {
    fail(w->b->s, w->b->from.at, E_SHAPE,
         "%s is sown more often than the number of rows planted for it, %lld",
         sym_text(w->b->s, name), (long long)rows);
    return VAR_NONE;
}

bool level_takes_rows(HarvestWalk *w, const Level *l, size_t k, size_t loop) {
    Session *s = w->b->s;
    if (l->twin && loop)
        loop = SIZE_MAX; /* the loop in the other branch takes the same rows */
    for (size_t i = 0; i < w->planted_to.n; i++) {
        if (w->planted_to.p[i].number != k) continue;
        if (w->planted_to.p[i].loop == loop) return true;
        fail(s, w->b->from.at, E_DUPLICATE,
             "%s is appended by a loop and elsewhere, so it is unknown which planted "
             "rows belong to which",
             sym_text(s, w->h->plant[k]));
        return note(s, NOWHERE,
                    "give one of them a scope of its own with nest(f, scope='...')");
    }
    vec_push(s, &w->planted_to, ((PlantedTo){k, loop}));
    return true;
}

/* Row `row` of the value planted for an appended name; in a loop, the planted value is
 * a sequence whose row arrives with each step. */
static Var planted_row(HarvestWalk *w, Level *l, size_t k, size_t row, const Type *t,
                       Sym name) {
    if (!type_ndim_fits(w->b->s, w->b->from.at, sym_text(w->b->s, name), t->ndim + 1))
        return VAR_NONE;
    if (t->kind != TYPE_TENSOR) {
        fail(w->b->s, w->b->from.at, E_TYPE, "%s can't be planted row by row",
             type_str(w->b->s, t));
        return VAR_NONE;
    }
    if (!level_takes_rows(w, l, k, 0)) return VAR_NONE;
    if (l->loop && !scanned_is_vmap(l->loop) && !scanned_is_sown_often(l->loop, name))
        return level_plant_value(w, l, k, t, true);
    const Type *rows = type_of_rows(w->b->s, DIM_UNKNOWN, t), *have;
    Var v = planted_rows(w, l, k, rows);
    if (v == VAR_NONE) return v;
    have = var_type(w->b->g, v);
    if (have->kind != TYPE_TENSOR || have->ndim != t->ndim + 1) {
        fail(w->b->s, w->b->from.at, E_SHAPE,
             "the value planted for the appended name %s must have a row for each sow: "
             "expected %s, not %s",
             sym_text(w->b->s, name), type_str(w->b->s, rows), type_str(w->b->s, have));
        return VAR_NONE;
    }
    if (!l->loop && dim_is_known(have->dim[0])) {
        if (have->dim[0] <= (Dim)row) return fail_too_few_rows(w, name, have->dim[0]);
        note_planted_rows(l, harvest_path(w->b->s, l->scope, name), have->dim[0]);
    }
    return build_from_two(w, "planted[row]", "planted", v, "row",
                          const_int(w->b, (int64_t)row));
}

static Var plant_sow(HarvestWalk *w, Level *l, const SowCall *q, Sym name, size_t k) {
    const Type *t = var_type(w->b->g, q->value);
    const SowPart part = {.var = VAR_NONE, .was = VAR_NONE, .at = q->at};
    const SowPart *place = take_entry_slot(w, l, &part, name, q->mode, "planted");
    if (!place) return VAR_NONE;
    if (w->h->used) w->h->used[k] = true;
    Var v = q->mode == SOW_APPEND ? planted_row(w, l, k, place->row, t, q->name)
                                  : level_plant_value(w, l, k, t, false);
    return v == VAR_NONE ? VAR_NONE : fit_planted(w, v, t, name);
}

/* ---- reaping ---- */
static Var zeros_as_sown(HarvestWalk *w, Var v) {
    return op_zeros_like(w->b, v, var_type(w->b->g, v)->dtype);
}

/* Sets *v to the value last sown under the name on the path through the branches to
 * this point; VAR_NONE: none yet. False: diagnosed. */
static bool value_before(HarvestWalk *w, const Level *l, Sym name, Span at, Var *v) {
    Session *s = w->b->s;
    const Level *from = NULL; /* the branch we come from */
    for (*v = VAR_NONE; *v == VAR_NONE; from = l, l = l->up) {
        const SowEntry *e = level_find(l, name);
        const SowPart *p = e && e->part.n ? &e->part.p[0] : NULL;
        bool own = p && from && sow_is_of_branch(p, from);
        if (p) *v = own ? p->was : p->var;
        if (p && *v == VAR_NONE && (own ? p->was_open : p->branch != NULL)) {
            fail(s, at, E_DUPLICATE,
                 "%s is sown on a condition amid the branches of an ifelse that sow it",
                 sym_text(s, name));
            return note(s, NOWHERE,
                        "with key=, the sow depends on the result of the ifelse and "
                        "comes after it");
        }
        if (!l->twin) break;
    }
    return true;
}

/* The value that a conditional sow keeps if its predicate fails. */
static Var fallback_value(HarvestWalk *w, Level *l, const SowCall *q, Sym name) {
    Session *s = w->b->s;
    const Type *t = var_type(w->b->g, q->value);
    Var v;
    if (!value_before(w, l, name, q->at, &v)) return VAR_NONE;
    if (v != VAR_NONE) return v;
    if (!l->loop || scanned_is_vmap(l->loop)) return zeros_as_sown(w, q->value);
    size_t mark = diag_count(s);
    v = scanned_before(l->loop, name, t);
    if (v == VAR_NONE && !diag_failed(s, mark))
        fail(s, q->at, E_SHAPE,
             "%s is %s: its shape must be known before the loop, which starts with "
             "zeros",
             sym_text(s, name), type_str(s, t));
    return v;
}

/* The sown value where the predicate held, the previous value elsewhere. */
static Var conditional_value(HarvestWalk *w, Level *l, const SowCall *q, Sym name) {
    const Type *t = var_type(w->b->g, q->value);
    if (t->kind != TYPE_TENSOR) {
        fail(w->b->s, q->at, E_TYPE, "sow_cond takes tensors, not %s",
             type_str(w->b->s, t));
        return VAR_NONE;
    }
    Var before = fallback_value(w, l, q, name), pred = q->pred;
    int n = var_type(w->b->g, pred)->ndim;
    if (n > 0) pred = op_insert_axes(w->b, pred, n, t->ndim - n);
    return op_call3(w->b, "where", pred, q->value, before);
}

static bool collect_sow(HarvestWalk *w, Level *l, const SowCall *q, Sym name) {
    const SowEntry *e = level_find(l, name);
    bool fits = !e || modes_may_share(e->mode, q->mode); /* else reported below */
    Var v = q->value;
    if (q->mode == SOW_COND && fits &&
        (v = conditional_value(w, l, q, name)) == VAR_NONE)
        return false;
    return level_adopt(w, l, name, q->mode, &(SowPart){.var = v, .at = q->at});
}

bool level_adopt(HarvestWalk *w, Level *l, Sym name, SowMode mode,
                 const SowPart *from) {
    const SowPart part = {
        .var = from->var, .array = from->array, .was = VAR_NONE, .at = from->at};
    return take_entry_slot(w, l, &part, name, mode, "reaped") != NULL;
}

/* Are we inside the steps of a scan? Loops that are rows of a vectorize don't count,
 * but a scan around them does. */
static bool is_in_scan_steps(const Level *l) {
    while (l->loop && scanned_is_vmap(l->loop) && l->up)
        l = l->up;
    return l->loop && !scanned_is_vmap(l->loop);
}

Var level_sow(HarvestWalk *w, Level *l, const SowCall *q) {
    Sym name = harvest_path(w->b->s, l->scope, q->name);
    size_t k = find_plant(w, name);
    if (!harvest_takes(w->b->s, w->h, name)) return q->value;
    if (is_in_scan_steps(l) && q->mode == SOW_STRICT) {
        fail(w->b->s, q->at, E_DUPLICATE,
             "can't use mode strict for %s inside a scan, which sows it in each step",
             sym_text(w->b->s, name));
        note(w->b->s, NOWHERE,
             "sow with mode='append' for a row for each step, or with mode='clobber' "
             "for the last");
        return VAR_NONE;
    }
    if (k < w->h->nplant) return plant_sow(w, l, q, name, k);
    return collect_sow(w, l, q, name) ? q->value : VAR_NONE;
}

/* ---- levels ---- */
void level_free(Level *l) {
    for (size_t i = 0; i < l->entry.n; i++)
        vec_free(&l->entry.p[i].part);
    vec_free(&l->entry);
}

Level *level_open(HarvestWalk *w, Level *l, Sym scope, Span at) {
    bool fresh;
    Sym name = harvest_path(w->b->s, l->scope, scope);
    if (is_in_scan_steps(l)) {
        fail(w->b->s, at, E_DUPLICATE,
             "can't nest the scope %s inside a scan: a scope can be used only once "
             "(mode strict)",
             sym_text(w->b->s, name));
        return NULL;
    }
    SowEntry *e = find_or_add_entry(w, l, name, SOW_SCOPE, at, &fresh);
    if (!fresh) {
        fail_sown_again(w, e, SOW_SCOPE, at, "reaped");
        return NULL;
    }
    Level *in = NEW(w->arena, Level);
    *in = (Level){.up = l, .loop = l->loop, .scope = name};
    return in;
}

bool level_leave(HarvestWalk *w, Level *scope, bool ok, Level *l) {
    for (size_t i = 0; i < scope->entry.n; i++) {
        SowEntry *e = &scope->entry.p[i];
        for (size_t k = 0; ok && k < e->part.n; k++)
            ok = level_adopt(w, l, e->name, e->mode, &e->part.p[k]);
        if (ok && e->part.n && e->rows) note_planted_rows(l, e->name, e->rows);
    }
    level_free(scope);
    return ok;
}

/* The type of one row of a collected part; NULL: not a tensor. */
static const Type *appended_row_type(HarvestWalk *w, const SowPart *p) {
    const Type *t = var_type(w->b->g, p->var);
    if (t->kind != TYPE_TENSOR) return NULL;
    return p->array ? type_of_row(w->b->s, t) : t;
}

/* Do the parts have one dtype and compatible shapes, so that they can form one
 * array? */
static bool check_rows_fit(HarvestWalk *w, const SowEntry *e) {
    Session *s = w->b->s;
    const Type *first = appended_row_type(w, &e->part.p[0]);
    for (size_t i = 0; i < e->part.n; i++) {
        const SowPart *p = &e->part.p[i];
        const Type *t = appended_row_type(w, p);
        if (t && first && (i == 0 || type_meet(s, t, first))) continue;
        bool dtype = t && first && t->dtype != first->dtype;
        fail(s, p->at, t && first ? dtype ? E_DTYPE : E_SHAPE : E_TYPE,
             "%s is sown as %s here: appended rows form one array and must have the "
             "same dtype and shape",
             sym_text(s, e->name), type_str(s, t ? t : var_type(w->b->g, p->var)));
        if (i && first) note(s, e->part.p[0].at, "here it is %s", type_str(s, first));
        return false;
    }
    return true;
}

/* Joins all parts into one array. An Apply takes only so many inputs, so this joins in
 * rounds. */
static Var join_parts(HarvestWalk *w, const SowEntry *e, bool arrays, Var *v) {
    const Op *op = op_known(w->b->s, arrays ? OP_CONCATENATE : OP_STACK);
    size_t n = e->part.n, most = 1 << 15;
    do {
        size_t made = 0;
        for (size_t i = 0; i < n; i += most, made++) {
            size_t some = n - i < most ? n - i : most;
            v[made] = op_apply1(w->b, op, NULL, some, v + i);
            if (v[made] == VAR_NONE) {
                note(w->b->s, e->at,
                     "the rows sown as %s form one array: they must have the same "
                     "dtype and shape",
                     sym_text(w->b->s, e->name));
                return VAR_NONE;
            }
        }
        n = made;
        op = op_known(w->b->s, OP_CONCATENATE);
    } while (n > 1);
    return v[0];
}

/* Concatenates the parts along the leading axis, which is new unless the parts are
 * arrays of rows. */
Var level_concatenate(HarvestWalk *w, const SowEntry *e) {
    Session *s = w->b->s;
    Arena *a = w->arena;
    if (!check_rows_fit(w, e)) return VAR_NONE;
    Var *v = NEW_N(a, e->part.n, Var);
    bool arrays = false;
    for (size_t i = 0; i < e->part.n; i++)
        arrays |= e->part.p[i].array;
    for (size_t i = 0; i < e->part.n; i++) {
        v[i] = e->part.p[i].var;
        if (arrays && !e->part.p[i].array)
            v[i] = op_apply1(w->b, op_known(s, OP_STACK), NULL, 1, &v[i]);
        if (v[i] == VAR_NONE) return VAR_NONE;
    }
    return arrays && e->part.n == 1 ? v[0] : join_parts(w, e, arrays, v);
}

bool level_close(HarvestWalk *w, Level *l, bool ok, Reaps *out) {
    for (size_t i = 0; i < l->entry.n; i++) {
        SowEntry *e = &l->entry.p[i];
        if (ok && e->rows && e->rows != (Dim)e->part.n)
            ok = fail(w->b->s, e->at, E_SHAPE,
                      "%s is sown %zu times, but %lld rows are planted for it",
                      sym_text(w->b->s, e->name), e->part.n, (long long)e->rows);
        if (ok && e->part.n && e->part.p[0].var != VAR_NONE) {
            w->b->from.at = e->at;
            Var v = e->mode == SOW_APPEND ? level_concatenate(w, e) : e->part.p[0].var;
            ok = v != VAR_NONE;
            vec_push(w->b->s, out, ((Reap){e->name, v, e->at}));
        }
    }
    level_free(l);
    return ok;
}
