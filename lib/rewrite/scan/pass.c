/* Takes each scan of a graph apart, lets a pass change it and puts it back together. */
#include "rewrite/scan/pass.h"

#include "lang/lazy_scope.h"

#include <string.h>

/* ---- all scans of a graph ---- */

static bool rewrite_one_scan(Scan l, ScanFn *fn) {
    Rewriter *r = l.r;
    ApplyId id = l.id;
    bool ok = true, intern = r->b.intern;
    l.a = arena_new(r->s);
    Origin from = r->b.from;
    r->b.intern = true;
    r->b.from = (Origin){r->g->origin[id].at, r->db->entry.p[r->current].name};
    fn(&l, &ok);
    scan_builder_close(&l.m);
    vec_free(&l.before);
    vec_free(&l.after);
    rewriter_grow(r);
    r->b.intern = intern;
    r->b.from = from;
    arena_free(l.a);
    return ok;
}

void scan_spread_invariants(const Graph *fn, uint8_t *fixed) {
    for (Var v = 0; v < fn->nvar; v++)
        fixed[v] |= var_is_const(fn, v) || var_leaf(fn, v) == LEAF_DIM;
    for (ApplyId a = 0; a < fn->napply; a++) {
        const Apply *ap = &fn->apply[a];
        bool all = !ap->serial && ap->nin > 0;
        for (size_t i = 0; all && i < ap->nin; i++)
            all = fixed[apply_in(fn, a)[i]];
        memset(fixed + ap->out, all, ap->nout);
    }
}

/* Of each body of a loop in g, marks the inputs that are the same in each step. */
static void note_bodies(LoopBodies *l, const Graph *g) {
    for (ApplyId id = 0; id < g->napply; id++) {
        if (!op_is(g->s, g->apply[id].op, OP_SCAN)) continue;
        ScanForm f = scan_form_of(g, id, l->arena);
        uint64_t had;
        if (!f.fn) continue;
        bool again = map_get(&l->steady, (uintptr_t)f.fn, &had);
        uint8_t *steady = again ? (uint8_t *)(uintptr_t)had
                                : NEW_N(l->arena, f.fn->inputs.n + 1, uint8_t);
        for (size_t k = 0; k < f.fn->inputs.n; k++) {
            bool other = k >= f.other_in && k < f.other_in + f.nother;
            steady[k] = other && (!again || steady[k]);
        }
        if (!again) map_put(&l->steady, (uintptr_t)f.fn, (uintptr_t)steady);
    }
}

uint8_t *scan_body_invariants(Rewriter *r, Arena *a) {
    const Graph *fn = r->g, *main = fn->main;
    LoopBodies *l = r->bodies;
    uint64_t steady;
    if (fn == main || !l) return NULL;
    if (!l->arena) {
        l->arena = arena_new(r->s);
        l->steady = MAP(r->s);
        note_bodies(l, main);
        for (size_t i = 0; i < main->functions.n; i++)
            note_bodies(l, main->functions.p[i]);
    }
    if (!map_get(&l->steady, (uintptr_t)fn, &steady)) return NULL;
    uint8_t *fixed = NEW_N(a, fn->nvar + 1, uint8_t);
    for (size_t k = 0; k < fn->inputs.n; k++)
        fixed[fn->inputs.p[k]] = ((uint8_t *)(uintptr_t)steady)[k];
    scan_spread_invariants(fn, fixed);
    return fixed;
}

void scan_bodies_close(LoopBodies *l) {
    if (!l->arena) return;
    map_free(&l->steady);
    arena_free(l->arena);
    l->arena = NULL;
}

bool scan_any(const Graph *g) {
    const Op *scan = op_known(g->s, OP_SCAN);
    for (ApplyId a = 0; a < g->napply; a++)
        if (g->apply[a].op == scan) return true;
    return false;
}

bool scan_each(Rewriter *r, ScanFn *fn) {
    Graph *g = r->g;
    if (!scan_any(g)) return true;
    Arena *a = arena_new(r->s);
    uint8_t *live = graph_live(g, a, ROOTS_RUN | ROOTS_INIT),
            *root = graph_root_marks(g, a, ROOTS_RESULTS | ROOTS_INIT);
    Clients c = graph_clients(g, a, live);
    bool ok = true;
    ScanPass pass = {.arena = a, .napply = g->napply};
    Scan l = {.r = r, .clients = &c, .root = root, .pass = &pass};
    for (ApplyId id = 0; ok && id < pass.napply; id++) {
        const Apply *ap = &g->apply[id];
        bool used = ap->serial != 0;
        if (!op_is(g->s, ap->op, OP_SCAN) || ap->serial || rewriter_limit_reached(r))
            continue;
        for (Var k = 0; k < ap->nout; k++)
            used |= live[ap->out + k];
        l.id = id;
        if (used) ok = rewrite_one_scan(l, fn);
    }
    arena_free(a);
    return ok;
}

/* ---- what is needed under a condition ---- */

const uint32_t *scan_scopes(Scan *l) {
    const Graph *g = l->r->g;
    if (!l->pass->scope && lazy_scope_any(g))
        l->pass->scope = lazy_scope_find(g, l->pass->arena, (VarList){0});
    return l->pass->scope;
}

uint8_t *scan_needed_always(const Scan *l, const Graph *fn) {
    uint8_t *always = NEW_N(l->a, fn->nvar, uint8_t);
    const uint32_t *scope =
        lazy_scope_any(fn) ? lazy_scope_find(fn, l->a, (VarList){0}) : NULL;
    for (Var v = 0; v < fn->nvar; v++) {
        ApplyId a = var_owner(fn, v);
        always[v] = !scope || a == APPLY_NONE || scope[a] == 0;
    }
    return always;
}

bool scan_is_fill(const Graph *fn, Var v) {
    ApplyId id = var_owner(fn, v);
    if (id == APPLY_NONE || var_type(fn, v)->ndim == 0) return false;
    const Op *op = fn->apply[id].op;
    const Var *in = apply_in(fn, id);
    if (op_is(fn->s, op, OP_FULL) || op_is(fn->s, op, OP_FULL_LIKE))
        return var_is_const(fn, in[1]);
    if (op_is(fn->s, op, OP_BROADCAST_TO)) return var_is_const(fn, in[0]);
    return op_is(fn->s, op, OP_ZEROS_LIKE) || op_is(fn->s, op, OP_ONES_LIKE);
}

/* ---- recomputation ---- */

static const Prop *loop_prop(const Graph *g, ApplyId id, const char *name) {
    return op_prop(g->s, g->apply[id].op, g->apply[id].props, name);
}

static bool is_over_segments(const Graph *g, ApplyId id) {
    return op_is(g->s, g->apply[id].op, OP_SCAN) && loop_prop(g, id, "checkpoint")->i;
}

static bool is_in_segment(const Graph *fn) {
    const Graph *main = fn->main;
    for (size_t i = 0; fn != main && i <= main->functions.n; i++) {
        const Graph *g = i ? main->functions.p[i - 1] : main;
        for (ApplyId id = 0; id < g->napply; id++)
            if (op_is(g->s, g->apply[id].op, OP_SCAN) &&
                loop_prop(g, id, "fn")->sym == fn->name &&
                (is_over_segments(g, id) || is_in_segment(g)))
                return true;
    }
    return false;
}

static bool has_segments(const Graph *g) {
    for (ApplyId id = 0; id < g->napply; id++)
        if (is_over_segments(g, id) || op_is(g->s, g->apply[id].op, OP_AFTER))
            return true;
    return false;
}

bool scan_recomputes(Scan *l) {
    const Graph *g = l->r->g;
    if (!l->pass->asked) l->pass->recomputes = has_segments(g) || is_in_segment(g);
    l->pass->asked = true;
    return l->pass->recomputes;
}

/* ---- one scan ---- */

static const Var *resolve_scan_args(Scan *l) {
    const Apply *ap = &l->r->g->apply[l->id];
    Var *arg = NEW_N(l->a, ap->nin, Var);
    for (size_t i = 0; i < ap->nin; i++)
        arg[i] = rewriter_input(l->r, l->id, i);
    return arg;
}

void scan_take_apart(Scan *l) {
    const Var *arg = resolve_scan_args(l);
    if (l->m.body) scan_builder_close(&l->m);
    scan_builder_open(&l->m, &l->r->b, arg[0]);
    l->part = scan_part(&l->m, l->a, scan_form_of(l->r->g, l->id, l->a), arg);
    rewriter_grow(l->r);
}

bool scan_copy_body(Scan *l) {
    bool ok = scan_part_body(&l->m, &l->part);
    if (ok) scan_carry_names(l->m.body, l->part.f.fn, l->part.map);
    rewriter_grow(l->r);
    return ok;
}

bool scan_output_is_read(const Scan *l, size_t o) {
    Var v = scan_output(l, o);
    return l->root[v] || l->clients->first[v] != l->clients->first[v + 1];
}

bool scan_fired(Scan *l) {
    Rewriter *r = l->r;
    if (l->before.n == 0) return true;
    r->dirty = true;
    return rewriter_fired(r, r->current, l->before.n, l->before.p, l->after.p);
}

bool scan_forward_var(Scan *l, Var v, Var x) {
    Rewriter *r = l->r;
    if (x == VAR_NONE || !type_keeps(var_type(r->g, v), var_type(r->g, x)))
        return false;
    r->forward[v] = x;
    vec_push(r->s, &l->before, v);
    vec_push(r->s, &l->after, x);
    return true;
}

bool scan_replace_output(Scan *l, size_t o, Var x) {
    return scan_forward_var(l, scan_output(l, o), x);
}

static bool is_unchanged_scan(const Graph *g, ApplyId x, ApplyId y) {
    const Apply *a = &g->apply[x], *b = &g->apply[y];
    if (x == y) return true;
    return a->props == b->props && a->nin == b->nin &&
           memcmp(g->in + a->in, g->in + b->in, a->nin * sizeof *g->in) == 0;
}

static Var result_for_output(const Scan *l, const size_t *as, size_t o) {
    return l->m.out.p[l->part.first + (as ? as[o] : o)].result;
}

static bool any_output_is_live(Scan *l) {
    scan_builder_mark_live(&l->m);
    for (size_t i = 0; i < l->m.out.n; i++)
        if (l->m.out.p[i].live) return true;
    return false;
}

bool scan_rebuild(Scan *l) {
    bool ok = !any_output_is_live(l) ||
              scan_builder_apply(&l->m, sym_text(l->r->s, l->part.f.fn->name));
    rewriter_grow(l->r);
    return ok;
}

bool scan_install(Scan *l, const size_t *as, bool *ok) {
    Var any = VAR_NONE;
    if (!(*ok = scan_rebuild(l))) return false;
    for (size_t o = 0; o < l->part.f.nout; o++) {
        Var x = result_for_output(l, as, o);
        if (x == VAR_NONE) continue;
        if (!type_keeps(var_type(l->r->g, scan_output(l, o)), var_type(l->r->g, x)))
            return false;
        any = x;
    }
    if (any != VAR_NONE && is_unchanged_scan(l->r->g, var_owner(l->r->g, any), l->id))
        return false;
    for (size_t o = 0; o < l->part.f.nout; o++)
        if (result_for_output(l, as, o) != VAR_NONE)
            scan_replace_output(l, o, result_for_output(l, as, o));
    return *ok = scan_fired(l);
}

/* ---- rows ---- */

Var scan_build_expr(Scan *l, const char *text, Var x, Var y, Var n) {
    Session *s = l->r->s;
    const Bind all[] = {{sym(s, "x"), x}, {sym(s, "y"), y}, {sym(s, "n"), n}};
    Bind bind[3];
    Env env = {.bind = bind};
    bool ok = true;
    for (size_t i = 0; i < 3; i++) /* binds only the names that the text uses */
        if (all[i].var != VAR_NONE) bind[env.n++] = all[i];
    size_t mark = diag_count(s);
    Var v = template_build(&l->r->b, text, &env, &ok);
    rewriter_grow(l->r);
    if (ok) return v;
    rewriter_forget(l->r, mark);
    return VAR_NONE;
}

/* Is n the number of x's rows? */
static bool is_rows_of(const Scan *l, Var n, Var x) {
    const Graph *g = l->r->g;
    Dim d = var_type(g, x)->dim[0];
    const Tensor *c = var_const(g, n);
    if (c) return d == tensor_i64(c, 0);
    if (var_leaf(g, n) == LEAF_DIM)
        return dim_is_named(d) && var_leafrec(g, n)->name == dim_sym(d);
    ApplyId a = var_owner(g, n);
    if (a == APPLY_NONE || !op_is(g->s, g->apply[a].op, OP_SHAPE_I)) return false;
    const Prop *axis = op_prop(g->s, g->apply[a].op, g->apply[a].props, "axis");
    return axis->i == 0 && rewriter_resolve(l->r, g->in[g->apply[a].in]) == x;
}

bool scan_has_rows(const Scan *l, Var x) {
    return is_rows_of(l, l->part.arg[0], x);
}

bool scan_counts_rows(const Scan *l, Var x) {
    enum { PARTS = 32 };
    const Graph *g = l->r->g;
    Var todo[PARTS] = {l->part.arg[0]};
    for (size_t n = 1; n > 0;) {
        Var v = todo[--n];
        ApplyId a = var_owner(g, v);
        if (is_rows_of(l, v, x)) return true;
        bool least = a != APPLY_NONE && op_is(g->s, g->apply[a].op, OP_MINIMUM);
        for (uint32_t i = 0; least && i < g->apply[a].nin && n < PARTS; i++)
            todo[n++] = rewriter_input(l->r, a, i);
    }
    return false;
}

/* ---- the graph outside ---- */

Outside outside_new(Scan *l) {
    const Graph *fn = l->part.f.fn;
    Outside o = {l, arena_alloc(l->a, (fn->nvar + 1) * sizeof(Var)),
                 NEW_N(l->a, fn->nvar, uint8_t)};
    for (Var v = 0; v < fn->nvar; v++) {
        o.var[v] = VAR_NONE;
        if (var_is_const(fn, v)) o.var[v] = graph_share_const(l->r->g, fn, v, true);
        if (var_leaf(fn, v) == LEAF_DIM)
            o.var[v] = scan_dim_outside(&l->r->b, &l->part.f, l->part.arg,
                                        var_leafrec(fn, v)->name);
    }
    for (size_t i = 0; i < l->part.f.nother; i++)
        o.var[fn->inputs.p[l->part.f.other_in + i]] =
            l->part.arg[l->part.f.other_arg + i];
    rewriter_grow(l->r);
    return o;
}

void outside_note(Outside *o, ApplyId id) {
    const Graph *fn = o->l->part.f.fn, *g = o->l->r->g;
    const Apply *ap = &fn->apply[id];
    ApplyId made = var_owner(g, o->var[ap->out]);
    bool fails = made != APPLY_NONE && op_may_fail(g, made);
    for (size_t i = 0; i < ap->nin; i++)
        fails |= o->fails[apply_in(fn, id)[i]] != 0;
    memset(o->fails + ap->out, fails, ap->nout);
}

bool outside_apply(Outside *o, ApplyId id) {
    const Graph *fn = o->l->part.f.fn;
    const Apply *ap = &fn->apply[id];
    Rewriter *r = o->l->r;
    Var in[16], *many = ap->nin <= 16 ? in : NEW_N(o->l->a, ap->nin, Var);
    Var *out = NEW_N(o->l->a, ap->nout > OUT_MAX ? ap->nout : OUT_MAX, Var);
    for (size_t i = 0; i < ap->nin; i++)
        if ((many[i] = o->var[apply_in(fn, id)[i]]) == VAR_NONE) return false;
    size_t mark = diag_count(r->s);
    bool ok = op_apply(&r->b, ap->op, ap->props, ap->nin, many, out);
    rewriter_grow(r);
    if (!ok) rewriter_forget(r, mark);
    for (Var k = 0; ok && k < ap->nout; k++)
        o->var[ap->out + k] = out[k];
    if (ok) outside_note(o, id);
    return ok;
}

Var outside_make(Outside *o, Var v) {
    const Graph *fn = o->l->part.f.fn;
    if (o->var[v] != VAR_NONE) return o->var[v];
    uint8_t *need = NEW_N(o->l->a, fn->napply, uint8_t);
    ApplyId last = var_owner(fn, v);
    if (last == APPLY_NONE) return VAR_NONE;
    need[last] = 1;
    for (ApplyId a = last + 1; a-- > 0;)
        for (size_t i = 0; need[a] && i < fn->apply[a].nin; i++) {
            Var x = apply_in(fn, a)[i];
            ApplyId maker = var_owner(fn, x);
            if (o->var[x] != VAR_NONE) continue;
            if (maker == APPLY_NONE) return VAR_NONE;
            need[maker] = 1;
        }
    for (ApplyId a = 0; a <= last; a++)
        if (need[a] && !outside_apply(o, a)) return VAR_NONE;
    return o->var[v];
}
