/* Harvesting through scan: what the body sows becomes additional outputs of the scan,
 * what is planted becomes additional arguments. Appended values become rows, one for
 * each step; a clobbered name keeps the value of the last step, or zeros if the scan
 * runs no step. */
#include "harvest/branch.h"
#include "scan/scan.h"

#include <stdio.h>
#include <string.h>

/* An additional argument of the scan, and the body input that receives it. */
typedef struct ScanArg {
    Var outer, inner;
} ScanArg;
/* An additional output: a state with its initial value, or collected step by step. */
typedef struct HarvestedOut {
    Var var;       /* in the body */
    ScanArg state; /* outer VAR_NONE: not a state */
    Sym name;
    SowMode mode;
    bool array;
    Span at;
} HarvestedOut;
struct Scanned {
    size_t number; /* among the loops of `outer`, from 1 */
    HarvestWalk *outer;
    Level *level; /* around the scan */
    HarvestWalk in;
    Builder b;
    Graph *fn; /* the new body */
    const Graph *old;
    const Var *map; /* by argument of the scan: its variable in the outer graph */
    const ScanForm *form;
    ApplyId id;
    const Graph *src;
    Vec(ScanArg) sequence, other, state; /* state: names that keep their last value */
    Vec(Sym) state_name;
    Vec(HarvestedOut) out;
    uint32_t fresh;
};

/* ---- inputs of the new body ---- */
static Var new_body_input(Scanned *p, const char *what, const Type *t) {
    char buf[32];
    Sym y;
    do {
        snprintf(buf, sizeof buf, "%s_%u", what, ++p->fresh);
        y = sym(p->b.s, buf);
    } while (graph_find(p->fn, y) != VAR_NONE);
    return graph_input(p->fn, y, t);
}

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
    Session *s = p->b.s;
    bool rows = p->form->rows;
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
    fail(s, p->b.from.at, E_TYPE,
         "what is planted for an appended name of many rows is %s, not %s",
         type_str(s, all), type_str(s, have));
    return VAR_NONE;
}

/* The value to plant for name k inside the loop: a new input of the body. */
Var scanned_planted(Scanned *p, size_t k, const Type *t, bool append) {
    Session *s = p->b.s;
    bool each = append || p->form->rows; /* one row for each step */
    if (each && !ndim_fits(s, p->b.from.at, NULL, t->ndim + 1)) return VAR_NONE;
    if (each && t->kind != TYPE_TENSOR) {
        fail(s, p->b.from.at, E_TYPE, "%s can't be planted row by row", type_str(s, t));
        return VAR_NONE;
    }
    if (append && !p->form->rows && !level_takes_rows(p->outer, p->level, k, p->number))
        return VAR_NONE;
    Var outer = planted_outside(p, k, t, append);
    if (outer == VAR_NONE) return outer;
    const Type *have = var_type(p->outer->b->g, outer);
    if (each && (have->kind != TYPE_TENSOR || have->ndim == 0)) {
        fail(
            s, p->b.from.at, E_TYPE,
            "what is planted for an appended name in a loop needs a row a step, not %s",
            type_str(s, have));
        return VAR_NONE;
    }
    Var inner = new_body_input(p, "planted", each ? type_of_row(s, have) : have);
    if (each)
        vec_push(s, &p->sequence, ((ScanArg){outer, inner}));
    else
        vec_push(s, &p->other, ((ScanArg){outer, inner}));
    return inner;
}

/* The size of a dim of the body, as a variable of the outer graph; VAR_NONE: only the
 * body knows it. */
static Var size_outside(Scanned *p, Dim d) {
    Builder *b = p->outer->b;
    const ScanForm *f = p->form;
    if (dim_is_known(d)) return const_int(b, d);
    if (!dim_is_named(d)) return VAR_NONE;
    for (size_t k = 0; k < f->nin; k++) {
        const Type *t = var_type(p->old, p->old->inputs.p[k]);
        for (int i = 0; i < t->ndim; i++) {
            if (t->dim[i] != d) continue;
            size_t arg = scan_arg(f, k);
            const Type *have = var_type(b->g, p->map[arg]);
            return shape_of(b, p->map[arg], i + (have->ndim - t->ndim));
        }
    }
    return VAR_NONE;
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

/* The value that a name had after the previous step; VAR_NONE: its shape isn't known
 * before the first step, so there is no initial value. */
Var scanned_before(Scanned *p, Sym name, const Type *t) {
    for (size_t i = 0; i < p->state_name.n; i++)
        if (p->state_name.p[i] == name) return p->state.p[i].inner;
    Var zeros = zeros_outside(p, t);
    if (zeros == VAR_NONE) return zeros;
    ScanArg a = {zeros, new_body_input(p, "before", t)};
    vec_push(p->b.s, &p->state_name, name);
    vec_push(p->b.s, &p->state, a);
    return a.inner;
}

bool scanned_is_vmap(const Scanned *p) {
    return p->form->rows;
}

bool scanned_is_sown_often(const Scanned *p, Sym name) {
    return sown_often(p->old, p->in.h->tag, name);
}

/* ---- additional outputs ---- */
static bool add_harvested_out(Scanned *p, const SowEntry *e) {
    Session *s = p->b.s;
    HarvestedOut o = {
        .name = e->name, .mode = e->mode, .at = e->at, .state = {VAR_NONE, VAR_NONE}};
    if (e->mode == SOW_APPEND) {
        bool one = e->part.n == 1 && !p->form->rows;
        o.var = one ? e->part.p[0].var : level_concatenate(&p->in, e);
        o.array = true;
    } else {
        o.var = e->part.p[0].var;
        const Type *t = var_type(p->fn, o.var);
        if (t->kind == TYPE_TENSOR && !p->form->rows &&
            scanned_before(p, e->name, t) != VAR_NONE)
            for (size_t i = 0; i < p->state_name.n; i++)
                if (p->state_name.p[i] == e->name) o.state = p->state.p[i];
    }
    if (o.var == VAR_NONE) return false;
    vec_push(s, &p->out, o);
    return true;
}

static bool collect_body_sows(Scanned *p, Level *l, bool ok) {
    for (size_t i = 0; i < l->entry.n; i++) {
        p->b.from.at = l->entry.p[i].at;
        const SowEntry *e = &l->entry.p[i];
        if (ok && e->part.n && e->part.p[0].var != VAR_NONE)
            ok = add_harvested_out(p, e);
        vec_free(&l->entry.p[i].part);
    }
    vec_free(&l->entry);
    return ok;
}

/* ---- the new scan ---- */
static void order_body_inputs(Scanned *p, const Var *body) {
    const ScanForm *f = p->form;
    Graph *g = p->fn;
    Session *s = p->b.s;
    g->inputs.n = 0;
    size_t k = 0, first_state = f->other_in;
    for (size_t i = 0; i < f->nout; i++)
        if (f->out[i].ntap && f->out[i].in < first_state) first_state = f->out[i].in;
    for (; k < first_state; k++)
        vec_push(s, &g->inputs, body[p->old->inputs.p[k]]);
    for (size_t i = 0; i < p->sequence.n; i++)
        vec_push(s, &g->inputs, p->sequence.p[i].inner);
    for (; k < f->other_in; k++)
        vec_push(s, &g->inputs, body[p->old->inputs.p[k]]);
    for (size_t i = 0; i < p->out.n; i++)
        if (p->out.p[i].state.outer != VAR_NONE)
            vec_push(s, &g->inputs, p->out.p[i].state.inner);
    for (; k < f->nin; k++)
        vec_push(s, &g->inputs, body[p->old->inputs.p[k]]);
    for (size_t i = 0; i < p->other.n; i++)
        vec_push(s, &g->inputs, p->other.p[i].inner);
}

static void add_body_outputs(Scanned *p, const Var *body) {
    Session *s = p->b.s;
    for (size_t i = 0; i < p->old->outputs.n; i++) {
        Output o = p->old->outputs.p[i];
        vec_push(s, &p->fn->outputs, ((Output){o.label, body[o.var]}));
    }
    for (size_t i = 0; i < p->out.n; i++) {
        Str label = STR(s);
        str_puts(&label, sym_text(s, p->out.p[i].name));
        while (graph_output(p->fn, sym(s, str_text(&label))) != VAR_NONE)
            str_putc(&label, '_');
        vec_push(s, &p->fn->outputs,
                 ((Output){sym(s, str_text(&label)), p->out.p[i].var}));
        str_free(&label);
    }
    if (p->old->until != VAR_NONE) p->fn->until = body[p->old->until];
}

typedef Vec(int64_t) Ints;
static const Props *new_scan_props(Scanned *p, Ints *seq, Ints *states, Ints *keep) {
    Session *s = p->b.s;
    const Apply *a = &p->src->apply[p->id];
    const Prop *q = op_prop(s, a->op, a->props, "sequences");
    for (size_t i = 0; i < q->ints.n; i++)
        vec_push(s, seq, q->ints.p[i]);
    for (size_t i = 0; i < p->sequence.n; i++) {
        vec_push(s, seq, 1);
        vec_push(s, seq, 0);
    }
    q = op_prop(s, a->op, a->props, "states");
    for (size_t i = 0; i < q->ints.n; i++)
        vec_push(s, states, q->ints.p[i]);
    for (size_t i = 0; i < p->form->nout; i++)
        vec_push(s, keep, p->form->out[i].keep);
    for (size_t i = 0; i < p->out.n; i++) {
        const HarvestedOut *o = &p->out.p[i];
        bool fed = o->state.outer != VAR_NONE;
        vec_push(s, states, fed);
        if (fed) vec_push(s, states, -1);
        bool all = p->form->rows || o->mode == SOW_APPEND;
        vec_push(s, keep, all ? SCAN_ALL : SCAN_LAST);
    }
    PropArg arg[] = {
        {"fn", {.kind = P_GRAPH, .sym = p->fn->name}},
        {"sequences", PROP_INTS(seq->p, seq->n)},
        {"states", PROP_INTS(states->p, states->n)},
        {"keep", PROP_INTS(keep->p, keep->n)},
        {"truncate", PROP_INT(op_prop(s, a->op, a->props, "truncate")->i)},
        {"checkpoint", PROP_BOOL(op_prop(s, a->op, a->props, "checkpoint")->i)},
        {"rows", PROP_BOOL(p->form->rows)},
    };
    return props_make(s, a->op, sizeof arg / sizeof *arg, arg);
}

static size_t new_scan_args(Scanned *p, Var *in) {
    const ScanForm *f = p->form;
    size_t n = 0, k = 0, nin = p->src->apply[p->id].nin;
    for (; k < 1 + f->nseq; k++)
        in[n++] = p->map[k];
    for (size_t i = 0; i < p->sequence.n; i++)
        in[n++] = p->sequence.p[i].outer;
    for (; k < f->other_arg; k++)
        in[n++] = p->map[k];
    for (size_t i = 0; i < p->out.n; i++)
        if (p->out.p[i].state.outer != VAR_NONE) in[n++] = p->out.p[i].state.outer;
    for (; k < nin; k++)
        in[n++] = p->map[k];
    for (size_t i = 0; i < p->other.n; i++)
        in[n++] = p->other.p[i].outer;
    return n;
}

static bool apply_new_scan(Scanned *p, Var *out) {
    const Apply *a = &p->src->apply[p->id];
    Ints seq = {0}, states = {0}, keep = {0};
    Var *in =
        NEW_N(p->outer->arena, a->nin + p->sequence.n + p->out.n + p->other.n, Var);
    const Props *props = new_scan_props(p, &seq, &states, &keep);
    size_t n = new_scan_args(p, in);
    bool ok = op_apply(p->outer->b, a->op, props, n, in, out);
    vec_free(&seq);
    vec_free(&states);
    vec_free(&keep);
    return ok;
}

static bool adopt_scan_outputs(Scanned *p, const Var *out) {
    for (size_t i = 0; i < p->out.n; i++) {
        const HarvestedOut *o = &p->out.p[i];
        Var v = out[p->form->nout + i];
        if (p->form->rows && o->array) v = swap_leading_axes(p->outer->b, v);
        if (v == VAR_NONE ||
            !level_adopt(p->outer, p->level, o->name, o->mode, v, o->array, o->at))
            return false;
    }
    return true;
}

/* ---- the walk ---- */
static Graph *new_scan_body(HarvestWalk *w, const Graph *old) {
    Session *s = w->b->s;
    Str name = STR(s);
    for (unsigned i = 1;; i++) {
        str_clear(&name);
        str_printf(&name, "%s_%s_%u", sym_text(s, old->name), sym_text(s, w->h->tag),
                   i);
        if (!graph_function(w->b->g, sym(s, str_text(&name)))) break;
    }
    Graph *fn = graph_function_new(w->b->g->main, sym(s, str_text(&name)));
    fn->floatX = old->floatX;
    str_free(&name);
    return fn;
}

static void bind_body_leaves(Scanned *p, Var *body) {
    for (uint32_t i = 0; i < p->old->nleaf; i++) {
        Var v = p->old->leaf[i].var;
        if (var_is_const(p->old, v))
            body[v] = graph_share_const(p->fn, p->old, v, false);
        else if (var_leaf(p->old, v) == LEAF_DIM)
            body[v] = graph_dim(p->fn, p->old->leaf[i].name);
        else
            body[v] = graph_input(p->fn, p->old->leaf[i].name, var_type(p->old, v));
    }
}

bool walk_scan(HarvestWalk *w, Level *l, const Graph *src, ApplyId a, Graph *fn,
               const Var *in, Var *map) {
    Session *s = w->b->s;
    Arena *arena = w->arena;
    ScanForm form = scan_form_of(src, a, arena);
    Scanned p = {.number = ++w->loops,
                 .outer = w,
                 .level = l,
                 .old = fn,
                 .fn = new_scan_body(w, fn),
                 .map = in,
                 .form = &form,
                 .src = src,
                 .id = a};
    p.b = builder(p.fn, false);
    p.in = (HarvestWalk){.b = &p.b,
                         .h = w->h,
                         .arena = arena,
                         .depth = w->depth + 1,
                         .calls = w->calls,
                         .moved = MAP(s),
                         .touched = MAP(s)};
    Level inner = {.up = l, .scope = l->scope, .loop = &p};
    Var *body = NEW_N(arena, fn->nvar, Var), out[OUT_MAX];
    bind_body_leaves(&p, body);
    uint8_t *live = graph_live(fn, arena, ROOTS_RUN);
    branches_wake(fn, arena, 0, live);
    bool ok = walk_all(&p.in, &inner, fn, live, body);
    ok = collect_body_sows(&p, &inner, ok);
    if (ok) {
        add_body_outputs(&p, body);
        order_body_inputs(&p, body);
        w->b->from = (Origin){src->origin[a].at, src->origin[a].rule};
        ok = apply_new_scan(&p, out) && adopt_scan_outputs(&p, out);
    }
    for (size_t i = 0; ok && i < form.nout; i++)
        map[src->apply[a].out + i] = out[i];
    if (!ok) note(s, src->origin[a].at, "in this scan");
    vec_free(&p.sequence);
    vec_free(&p.other);
    vec_free(&p.state);
    vec_free(&p.state_name);
    vec_free(&p.out);
    map_free(&p.in.moved);
    map_free(&p.in.touched);
    vec_free(&p.in.planted);
    vec_free(&p.in.planted_to);
    return ok;
}
