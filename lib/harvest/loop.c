/* Harvesting through scan: what the body sows becomes additional outputs of the scan,
 * what is planted becomes additional arguments. Appended values become rows, one for
 * each step; a clobbered name keeps the value of the last step, or zeros if the scan
 * runs no step. */
#include "harvest/branch.h"
#include "scan/builder.h"

#include <string.h>

struct Scanned {
    size_t number; /* among the loops of `outer`, from 1 */
    HarvestWalk *outer, in;
    Level *level; /* around the scan */
    ScanBuilder m;
    ScanBuilderPart part; /* the scan as it was; its outputs come first */
};

/* The type in the outer graph of a body value with `rows` leading dims. The body's dim
 * names mean nothing out there, so they become unknown. */
static const Type *type_outside(Session *s, const Type *t, int rows) {
    Dim dim[MAX_NDIM + 1] = {DIM_UNKNOWN};
    if (t->kind != TYPE_TENSOR) return t;
    for (int i = 0; i < t->ndim; i++)
        dim[rows + i] = dim_is_named(t->dim[i]) ? DIM_UNKNOWN : t->dim[i];
    return type_tensor(s, t->dtype, t->ndim + rows, dim);
}

/* Turns rows of appended values into appended values of rows, and back. */
static Var swap_leading_axes(Builder *b, Var x) {
    PropArg axes[] = {{"axis1", PROP_INT(0)}, {"axis2", PROP_INT(1)}};
    return apply_named(b, "swapaxes", 1, &x, 2, axes);
}

/* The outer value to plant for a name that has type t in the steps. */
static Var planted_outside(Scanned *p, size_t k, const Type *t, bool append) {
    Session *s = p->m.b->s;
    bool rows = p->part.f.rows;
    const Type *all = type_outside(s, t, append || rows);
    if (rows && append) {
        Dim dim[MAX_NDIM];
        memcpy(dim, all->dim, sizeof *dim * (size_t)all->ndim);
        dim[0] = all->dim[1], dim[1] = all->dim[0];
        all = type_tensor(s, t->dtype, all->ndim, dim);
    }
    Var v = level_plant_value(p->outer, p->level, k, all, append);
    if (v == VAR_NONE || !rows || !append) return v;
    const Type *have = var_type(p->outer->b->g, v);
    if (have->kind == TYPE_TENSOR && have->ndim > 1)
        return swap_leading_axes(p->outer->b, v);
    fail(s, p->m.in.from.at, E_TYPE,
         "the value planted for an appended name with many rows must be %s, not %s",
         type_str(s, all), type_str(s, have));
    return VAR_NONE;
}

/* The value to plant for name k inside the loop: a new input of the body. */
Var scanned_planted(Scanned *p, size_t k, const Type *t, bool append) {
    Session *s = p->m.b->s;
    bool each = append || p->part.f.rows; /* one row for each step */
    if (each && !type_ndim_fits(s, p->m.in.from.at, NULL, t->ndim + 1)) return VAR_NONE;
    if (each && t->kind != TYPE_TENSOR) {
        fail(s, p->m.in.from.at, E_TYPE, "%s can't be planted row by row",
             type_str(s, t));
        return VAR_NONE;
    }
    if (append && !p->part.f.rows &&
        !level_takes_rows(p->outer, p->level, k, p->number))
        return VAR_NONE;
    Var outer = planted_outside(p, k, t, append);
    if (outer == VAR_NONE) return outer;
    const Type *have = var_type(p->outer->b->g, outer);
    if (each && (have->kind != TYPE_TENSOR || have->ndim == 0)) {
        fail(s, p->m.in.from.at, E_TYPE,
             "the value planted for an appended name in a loop must have a row for "
             "each step, not %s",
             type_str(s, have));
        return VAR_NONE;
    }
    Sym hint = sym(s, "planted");
    size_t i = each ? scan_builder_add_seq(&p->m, hint, outer, 0, type_of_row(s, have))
                    : scan_builder_add_other(&p->m, hint, outer, have);
    return each ? p->m.seq.p[i].tap.p[0].in : p->m.other.p[i].tap.p[0].in;
}

/* The size of a dim of the body, as a variable of the outer graph; VAR_NONE: only the
 * body knows it. */
static Var size_outside(Scanned *p, Dim d) {
    if (dim_is_known(d)) return const_int(p->outer->b, d);
    if (!dim_is_named(d)) return VAR_NONE;
    return scan_dim_outside(p->outer->b, &p->part.f, p->part.arg, dim_sym(d));
}

static Var zeros_outside(Scanned *p, const Type *t) {
    Builder *b = p->outer->b;
    Session *s = b->s;
    Var size[MAX_NDIM];
    if (t->kind != TYPE_TENSOR) return VAR_NONE;
    if (t->ndim == 0) return const_number(b, t->dtype, 0);
    for (int i = 0; i < t->ndim; i++)
        if ((size[i] = size_outside(p, t->dim[i])) == VAR_NONE) return VAR_NONE;
    Var shape = op_apply1(b, op_known(s, OP_STACK), NULL, (size_t)t->ndim, size);
    if (shape == VAR_NONE) return shape;
    const Op *zeros = op_known(s, OP_ZEROS);
    PropArg dtype = {"dtype", PROP_DTYPE(t->dtype)};
    return op_apply1(b, zeros, props_make(s, zeros, 1, &dtype), 1, &shape);
}

/* ---- additional outputs ---- */
/* The output that collects the name. */
static ScanBuilderArg *find_or_add_out(Scanned *p, Sym name) {
    ScanBuilder *m = &p->m;
    for (size_t i = p->part.first + p->part.f.nout; i < m->out.n; i++)
        if (m->out.p[i].hint == name) return &m->out.p[i];
    size_t added = scan_builder_add_out(m, name, SCAN_LAST);
    return &m->out.p[added];
}

/* The value that a name had after the previous step, which makes its output a state.
 * VAR_NONE: its shape isn't known before the first step, so there is no initial
 * value. */
Var scanned_before(Scanned *p, Sym name, const Type *t) {
    ScanBuilderArg *out = find_or_add_out(p, name);
    if (out->x == VAR_NONE) out->x = zeros_outside(p, t);
    return out->x == VAR_NONE ? VAR_NONE : scan_builder_add_tap(&p->m, out, -1, t);
}

bool scanned_is_vmap(const Scanned *p) {
    return p->part.f.rows;
}

bool scanned_is_sown_often(const Scanned *p, Sym name) {
    return sown_often(p->part.f.fn, p->in.h->tag, name);
}

static bool is_collected(const SowEntry *e) {
    return e->part.n && e->part.p[0].var != VAR_NONE;
}

static bool add_collected_out(Scanned *p, const SowEntry *e) {
    bool rows = p->part.f.rows, append = e->mode == SOW_APPEND;
    Var v = e->part.p[0].var;
    p->m.in.from.at = e->at;
    if (append && (rows || e->part.n > 1)) v = level_concatenate(&p->in, e);
    if (v == VAR_NONE) return false;
    const Type *t = var_type(p->m.body, v);
    size_t mark = diag_count(p->outer->b->s);
    if (!append && !rows && t->kind == TYPE_TENSOR) scanned_before(p, e->name, t);
    if (diag_failed(p->outer->b->s, mark)) return false;
    ScanBuilderArg *out = find_or_add_out(p, e->name);
    out->made = v;
    out->keep = rows || append ? SCAN_ALL : SCAN_LAST;
    return out->wanted = true;
}

static bool adopt_collected_out(Scanned *p, const SowEntry *e) {
    bool append = e->mode == SOW_APPEND;
    Var v = find_or_add_out(p, e->name)->result;
    if (p->part.f.rows && append) v = swap_leading_axes(p->outer->b, v);
    return v != VAR_NONE &&
           level_adopt(p->outer, p->level, e->name, e->mode,
                       &(SowPart){.var = v, .array = append, .at = e->at});
}

/* ---- the walk ---- */
/* Maps the leaves of the old body to those of the new one. */
static void bind_body_leaves(Scanned *p) {
    const Graph *old = p->part.f.fn;
    Var *map = p->part.map;
    for (uint32_t i = 0; i < old->nleaf; i++) {
        Var v = old->leaf[i].var;
        if (var_leaf(old, v) != LEAF_INPUT)
            map[v] = graph_copy_leaf(p->m.body, old, v, false);
    }
    for (size_t k = 0; k < old->inputs.n; k++)
        map[old->inputs.p[k]] = p->part.in[k];
}

static bool walk_scan_body(Scanned *p, Level *inner) {
    const Graph *fn = p->part.f.fn;
    uint8_t *live = graph_live(fn, p->in.arena, ROOTS_RUN);
    branches_wake(fn, p->in.arena, 0, live);
    bind_body_leaves(p);
    if (!walk_all(&p->in, inner, fn, live, p->part.map)) return false;
    for (size_t o = 0; o < fn->outputs.n; o++)
        p->m.out.p[p->part.first + o].made = p->part.map[fn->outputs.p[o].var];
    if (fn->until != VAR_NONE) p->m.until = p->part.map[fn->until];
    for (size_t i = 0; i < inner->entry.n; i++)
        if (is_collected(&inner->entry.p[i]) &&
            !add_collected_out(p, &inner->entry.p[i]))
            return false;
    return true;
}

static bool apply_new_scan(Scanned *p, const Level *inner, Origin from) {
    Session *s = p->m.b->s;
    Str name = STR(s);
    str_printf(&name, "%s_%s", sym_text(s, p->part.f.fn->name),
               sym_text(s, p->in.h->tag));
    p->outer->b->from = from;
    scan_builder_mark_all(&p->m); /* planted rows that nothing reads are counted, too */
    bool ok = scan_builder_apply(&p->m, str_text(&name));
    for (size_t i = 0; ok && i < inner->entry.n; i++)
        if (is_collected(&inner->entry.p[i]))
            ok = adopt_collected_out(p, &inner->entry.p[i]);
    str_free(&name);
    return ok;
}

bool walk_scan(HarvestWalk *w, Level *l, const Graph *src, ApplyId a, const Var *in,
               Var *map) {
    Session *s = w->b->s;
    Scanned p = {.number = ++w->loops, .outer = w, .level = l};
    Level inner = {.up = l, .scope = l->scope, .loop = &p};
    scan_builder_open(&p.m, w->b, in[0]);
    p.part = scan_part(&p.m, w->arena, scan_form_of(src, a, w->arena), in);
    p.m.body->floatX = p.m.in.floatX = p.part.f.fn->floatX;
    p.in = (HarvestWalk){.b = &p.m.in,
                         .h = w->h,
                         .arena = w->arena,
                         .depth = w->depth + 1,
                         .calls = w->calls,
                         .moved = MAP(s),
                         .touched = MAP(s)};
    bool ok = walk_scan_body(&p, &inner) && apply_new_scan(&p, &inner, src->origin[a]);
    for (size_t i = 0; ok && i < p.part.f.nout; i++)
        map[src->apply[a].out + i] = p.m.out.p[p.part.first + i].result;
    if (!ok) note(s, src->origin[a].at, "in this scan");
    level_free(&inner);
    scan_builder_close(&p.m);
    map_free(&p.in.moved);
    map_free(&p.in.touched);
    vec_free(&p.in.planted);
    vec_free(&p.in.planted_to);
    return ok;
}
