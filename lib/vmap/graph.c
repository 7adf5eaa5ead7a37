/* vmap of the graph between some variables and others. Ids are in topological order: a
 * walk back from the results marks what they need, and a walk forward rebuilds it,
 * Apply by Apply, with each op's rule. */
#include "vmap/vmap.h"

#include <stdio.h>

typedef struct VmapRebuild {
    Builder *b;
    Arena *tmp, *scratch; /* for the whole rebuild; for one Apply */
    Var first;            /* the lowest variable that is replaced */
    uint32_t n, napply;   /* counts when the walk began */
    Var size;
    uint8_t *needed; /* by variable, from `first` on */
    Var *now;        /* its replacement; itself where nothing changed */
    bool *rows;
    Var *pattern; /* of sparse variables with rows */
    bool no_form; /* some op has no rule for many rows */
} VmapRebuild;

static Var replacement_of(const VmapRebuild *r, Var v) {
    return v < r->first ? v : r->now[v - r->first];
}

static bool var_has_rows(const VmapRebuild *r, Var v) {
    return v >= r->first && r->rows[v - r->first];
}

/* Is it needed, and not one of the variables that are given? */
static bool is_still_wanted(const VmapRebuild *r, Var v) {
    return r->needed[v - r->first] && r->now[v - r->first] == v;
}

static bool any_still_wanted(const VmapRebuild *r, const Apply *ap) {
    bool any = false;
    for (size_t k = 0; k < ap->nout; k++)
        any |= is_still_wanted(r, ap->out + (Var)k);
    return any;
}

static void mark_rebuild_needs(VmapRebuild *r, VarList want) {
    const Graph *g = r->b->g;
    for (size_t k = 0; k < want.n; k++)
        if (want.p[k] >= r->first) r->needed[want.p[k] - r->first] = 1;
    for (ApplyId a = r->napply; a-- > 0 && g->apply[a].out >= r->first;) {
        const Apply *ap = &g->apply[a];
        bool any = any_still_wanted(r, ap);
        for (size_t i = 0; any && i < ap->nin; i++)
            if (apply_in(g, a)[i] >= r->first)
                r->needed[apply_in(g, a)[i] - r->first] = 1;
    }
}

/* Values other than tensors represent rows in their own way, which few ops know. */
static bool check_takes_rows(Vmap *q) {
    const Op *op = q->op;
    for (size_t i = 0; i < q->nin; i++) {
        const Type *t = var_type(q->g, q->was[i]);
        bool known = t->kind == TYPE_TENSOR || op->identity ||
                     (t->kind == TYPE_SPARSE && op->vmap == vmap_sparse) ||
                     (t->kind == TYPE_LIST && op->vmap == vmap_lists);
        if (q->rows[i] && !known)
            return vmap_refuse(q, t->kind == TYPE_SPARSE ? "its inputs are sparse"
                                                         : "its inputs are lists");
    }
    return true;
}

static bool apply_vmap_rule(Vmap *q) {
    const Op *op = q->op;
    size_t mark = diag_count(q->b->s);
    if (!check_takes_rows(q)) return false;
    if (op->vmap) return op->vmap(q) && !diag_failed(q->b->s, mark);
    if (op->elemwise) return vmap_elementwise(q);
    return op->identity ? vmap_pass_first(q) : vmap_by_scan(q);
}

/* An effect that a vectorize made for one row is replaced by one for all rows. If this
 * rebuild is nested in another vectorize, the new effect is one row's too. */
static void note_rowwise(Graph *g, Var effect, Var made) {
    bool again = graph_is_rowwise(g, effect) && made != effect;
    if (!graph_is_rowwise(g, effect)) vec_push(g->s, &g->rowwise, effect);
    if (again) vec_push(g->s, &g->rowwise, made);
}

/* Rebuilds an Apply whose inputs changed; any_rows: some of them have rows. */
static bool rebuild_apply(VmapRebuild *r, ApplyId a, bool any_rows) {
    const Apply ap = r->b->g->apply[a];
    Arena *tmp = r->scratch;
    arena_reset(tmp);
    Var *in = NEW_N(tmp, ap.nin, Var), *out = NEW_N(tmp, ap.nout, Var);
    Var *was = arena_copy(tmp, apply_in(r->b->g, a), ap.nin * sizeof *was);
    bool *rows = NEW_N(tmp, ap.nin, bool), *out_rows = NEW_N(tmp, ap.nout, bool);
    Var *pattern = NEW_N(tmp, ap.nin, Var), *out_pattern = NEW_N(tmp, ap.nout, Var);
    for (size_t i = 0; i < ap.nin; i++) {
        in[i] = replacement_of(r, was[i]);
        rows[i] = var_has_rows(r, was[i]);
        pattern[i] = rows[i] ? r->pattern[was[i] - r->first] : VAR_NONE;
    }
    for (size_t k = 0; k < ap.nout; k++) {
        out_rows[k] = any_rows;
        out_pattern[k] = k == 0 && ap.op->identity && ap.nin ? pattern[0] : VAR_NONE;
    }
    Vmap q = {.b = r->b,
              .g = r->b->g,
              .id = a,
              .op = ap.op,
              .props = ap.props,
              .nin = ap.nin,
              .nout = ap.nout,
              .was = was,
              .in = in,
              .rows = rows,
              .pattern = pattern,
              .size = r->size,
              .out = out,
              .out_rows = out_rows,
              .out_pattern = out_pattern};
    bool ok = any_rows ? apply_vmap_rule(&q)
                       : op_apply(r->b, ap.op, ap.props, ap.nin, in, out);
    r->no_form |= q.no_form;
    if (ok && ap.serial) note_rowwise(r->b->g, ap.out, out[0]);
    for (size_t k = 0; ok && k < ap.nout; k++) {
        Var at = ap.out + (Var)k - r->first;
        if (r->now[at] != ap.out + (Var)k) continue; /* given */
        r->now[at] = out[k];
        r->rows[at] = out_rows[k];
        r->pattern[at] = out_pattern[k];
    }
    return ok;
}

static bool rebuild_all(VmapRebuild *r) {
    const Graph *g = r->b->g;
    ApplyId a = r->napply;
    while (a > 0 && g->apply[a - 1].out >= r->first)
        a--;
    for (; a < r->napply; a++) {
        const Apply *ap = &g->apply[a];
        bool needed = any_still_wanted(r, ap), changed = false, rows = false;
        for (size_t i = 0; needed && i < ap->nin; i++) {
            Var x = apply_in(g, a)[i];
            changed |= replacement_of(r, x) != x;
            rows |= var_has_rows(r, x);
        }
        if (!changed && !rows) continue;
        Origin was = r->b->from;
        r->b->from = g->origin[a];
        if (!rebuild_apply(r, a, rows)) return false;
        r->b->from = was;
    }
    return true;
}

/* ---- row by row ---- */
/* The fallback where an op has no rule: one loop whose body is everything that depends
 * on the rows. */
typedef struct RowByRow {
    VmapRebuild *r;
    Graph *body;
    Builder b;
    Var *inner; /* by variable of the graph: its variable in the body, or VAR_NONE */
    Var *seq, *other;
    size_t nseq, nother;
} RowByRow;

static Var body_input(RowByRow *l, Var of, const Type *t) {
    char name[32];
    snprintf(name, sizeof name, "x%zu", l->body->inputs.n);
    return l->inner[of] = graph_input(l->body, sym(l->body->s, name), t);
}

/* v's variable in the body: a constant, or an argument that is the same in each
 * step. */
static Var body_value_of(RowByRow *l, Var v) {
    const Graph *g = l->r->b->g;
    if (l->inner[v] != VAR_NONE) return l->inner[v];
    if (var_is_const(g, v)) return l->inner[v] = graph_share_const(l->body, g, v, true);
    l->other[l->nother++] = v;
    return body_input(l, v, var_type(g, v));
}

static bool rebuild_in_body(RowByRow *l, ApplyId a) {
    VmapRebuild *r = l->r;
    const Apply ap = r->b->g->apply[a];
    if (ap.serial) vec_push(r->b->s, &r->b->g->rowwise, ap.out);
    arena_reset(r->scratch);
    Var *in = NEW_N(r->scratch, ap.nin, Var), *out = NEW_N(r->scratch, ap.nout, Var);
    for (size_t i = 0; i < ap.nin; i++)
        in[i] = body_value_of(l, apply_in(r->b->g, a)[i]);
    l->b.from = r->b->g->origin[a];
    if (!op_copy_destroyed(&l->b, r->b->g, a, in) ||
        !op_apply(&l->b, ap.op, ap.props, ap.nin, in, out))
        return false;
    for (size_t k = 0; k < ap.nout; k++)
        if (l->inner[ap.out + k] == VAR_NONE) l->inner[ap.out + k] = out[k];
    return true;
}

/* Body inputs for the given variables, those with rows first. */
static void add_given_inputs(RowByRow *l, const VmapRows *given) {
    const Graph *g = l->r->b->g;
    const Var *var = given->var.p, *with = given->with;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < given->var.n; i++) {
            const Type *t = var_type(g, with[i]);
            bool rows = !given->has || given->has[i];
            if (rows != (k == 0)) continue;
            body_input(l, var[i], rows ? type_of_row(g->s, t) : t);
            if (rows)
                l->seq[l->nseq++] = with[i];
            else
                l->other[l->nother++] = with[i];
        }
}

static bool build_row_body(RowByRow *l) {
    VmapRebuild *r = l->r;
    const Graph *g = r->b->g;
    for (ApplyId a = 0; a < r->napply; a++) {
        const Apply *ap = &g->apply[a];
        bool inside = false, needed = false;
        if (ap->out + ap->nout <= r->first) continue;
        for (Var v = ap->out; v < ap->out + ap->nout; v++)
            needed |= v >= r->first && r->needed[v - r->first];
        for (size_t i = 0; needed && i < ap->nin; i++) {
            Var x = apply_in(g, a)[i];
            inside |= x >= r->first && r->rows[x - r->first];
        }
        if (!inside) continue;
        if (!rebuild_in_body(l, a)) return false;
        for (Var v = ap->out; v < ap->out + ap->nout; v++)
            r->rows[v - r->first] = true;
    }
    return true;
}

static bool row_by_row(VmapRebuild *r, const VmapRows *given, const VmapWant *want,
                       Var *result, bool *rows) {
    Builder *b = r->b;
    size_t n = given->var.n, nwant = want->var.n;
    RowByRow l = {.r = r};
    l.body = graph_function_new(b->g->main, vmap_body_name(b->g->main, "each"));
    l.body->derived = true;
    l.b = builder(l.body, true);
    l.inner = NEW_N(r->tmp, r->n, Var);
    l.seq = NEW_N(r->tmp, n, Var);
    l.other = NEW_N(r->tmp, n + r->n, Var);
    for (Var v = 0; v < r->n; v++)
        l.inner[v] = VAR_NONE;
    for (Var v = r->first; v < r->n; v++)
        r->rows[v - r->first] = false;
    for (size_t i = 0; i < n; i++)
        r->rows[given->var.p[i] - r->first] = true; /* mark it as part of the body */
    add_given_inputs(&l, given);
    if (!build_row_body(&l)) return false;
    Var *out = NEW_N(r->tmp, nwant, Var);
    bool any = false;
    for (size_t k = 0; k < nwant; k++) {
        char name[32];
        Var v = want->var.p[k];
        rows[k] = v >= r->first && r->rows[v - r->first];
        result[k] = rows[k] && k >= want->nout && any ? VAR_NONE : v;
        if (!rows[k] || result[k] == VAR_NONE) continue;
        any = true;
        snprintf(name, sizeof name, "r%zu", k);
        vec_push(b->s, &l.body->outputs, ((Output){sym(b->s, name), l.inner[v]}));
    }
    VarList seq = {l.nseq, l.seq}, other = {l.nother, l.other};
    if (!vmap_scan(b, l.body, r->size, seq, other, out)) return false;
    for (size_t k = 0, at = 0; k < nwant; k++)
        if (rows[k] && result[k] != VAR_NONE) result[k] = out[at++];
    return true;
}

bool vmap_graph(Builder *b, const VmapRows *given, const VmapWant *want, Var *result,
                bool *rows) {
    VarList var = given->var;
    VmapRebuild r = {.b = b,
                     .tmp = arena_new(b->s),
                     .scratch = arena_new(b->s),
                     .first = b->g->nvar,
                     .n = b->g->nvar,
                     .napply = b->g->napply,
                     .size = given->size};
    for (size_t i = 0; i < var.n; i++)
        if (var.p[i] < r.first) r.first = var.p[i];
    uint32_t room = r.n - r.first;
    r.needed = NEW_N(r.tmp, room, uint8_t);
    r.now = NEW_N(r.tmp, room, Var);
    r.rows = NEW_N(r.tmp, room, bool);
    r.pattern = NEW_N(r.tmp, room, Var);
    for (uint32_t i = 0; i < room; i++)
        r.now[i] = r.first + i;
    for (size_t i = 0; i < var.n; i++) {
        r.now[var.p[i] - r.first] = given->with[i];
        r.rows[var.p[i] - r.first] = !given->has || given->has[i];
    }
    b->g->litter = true; /* the Applies of the single row remain, unused */
    mark_rebuild_needs(&r, want->var);
    size_t mark = diag_count(b->s), effects = b->g->effects.n;
    size_t rowwise = b->g->rowwise.n;
    Origin from = b->from;
    bool ok = rebuild_all(&r);
    for (size_t k = 0; ok && k < want->var.n; k++) {
        result[k] = replacement_of(&r, want->var.p[k]);
        rows[k] = var_has_rows(&r, want->var.p[k]);
    }
    if (!ok && r.no_form && !given->at_once && !diag_hit_limit(b->s, mark)) {
        size_t failed = diag_count(b->s);
        b->from = from;
        b->g->effects.n = effects;
        b->g->rowwise.n = rowwise;
        ok = row_by_row(&r, given, want, result, rows);
        if (!ok && diag_hit_limit(b->s, failed))
            diag_remove(b->s, mark, failed);
        else
            diag_rewind(b->s, ok ? mark : failed);
    }
    arena_free(r.tmp);
    arena_free(r.scratch);
    return ok;
}
