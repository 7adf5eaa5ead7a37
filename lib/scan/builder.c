/* Building a scan. The body grows in a function of its own; finally its live part is
 * copied into another one, with the inputs in the order that scan requires. */
#include "scan/builder.h"

#include "op/strip_effects.h"
#include "type/word.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static Sym free_function_name(Graph *main, const char *base) {
    char text[160];
    snprintf(text, sizeof text, "%.120s", base);
    for (unsigned i = 1; graph_function(main, sym(main->s, text)); i++)
        snprintf(text, sizeof text, "%.120s_%u", base, i);
    return sym(main->s, text);
}

void scan_builder_open(ScanBuilder *m, Builder *b, Var steps) {
    *m = (ScanBuilder){.b = b, .steps = steps, .until = VAR_NONE, .truncate = -1};
    m->seq_of = m->other_of = MAP(b->s);
    m->body =
        graph_function_new(b->g->main, free_function_name(b->g->main, "unfinished"));
    m->body->floatX = b->floatX;
    m->in = builder(m->body, true);
    m->in.floatX = b->floatX;
    m->in.from = b->from;
}

static void free_args(ScanBuilderArg *arg, size_t n) {
    for (size_t i = 0; i < n; i++)
        vec_free(&arg[i].tap);
}

void scan_builder_close(ScanBuilder *m) {
    free_args(m->seq.p, m->seq.n);
    free_args(m->out.p, m->out.n);
    free_args(m->other.p, m->other.n);
    vec_free(&m->seq);
    vec_free(&m->out);
    vec_free(&m->other);
    map_free(&m->seq_of);
    map_free(&m->other_of);
    if (m->body) graph_function_drop(m->body);
    m->body = NULL;
}

/* ---- parts ---- */

static Sym numbered_input_name(const ScanBuilder *m, char letter) {
    char text[32];
    snprintf(text, sizeof text, "%c%zu", letter, m->body->inputs.n);
    return sym(m->b->s, text);
}

Var scan_builder_add_tap(ScanBuilder *m, ScanBuilderArg *of, int64_t tap,
                         const Type *type) {
    for (size_t i = 0; i < of->tap.n; i++)
        if (of->tap.p[i].tap == tap) return of->tap.p[i].in;
    /* a provisional name: the finished body has its own */
    ScanBuilderTap t = {.tap = tap,
                        .in = graph_input(m->body, numbered_input_name(m, '#'), type)};
    vec_push(m->b->s, &of->tap, t);
    return t.in;
}

static ScanBuilderArg new_scan_arg(Sym hint, Var x) {
    return (ScanBuilderArg){.hint = hint, .x = x, .made = VAR_NONE, .result = VAR_NONE};
}

#define NO_ARG SIZE_MAX

static size_t last_arg_for(const Map *of, Var x) {
    uint64_t at = NO_ARG;
    map_get(of, x, &at);
    return at;
}

static ScanBuilderArg *add_arg(ScanBuilder *m, ScanBuilderArgs *list, Map *of, Sym hint,
                               Var x) {
    ScanBuilderArg arg = new_scan_arg(hint, x);
    arg.same = last_arg_for(of, x);
    map_put(of, x, list->n);
    vec_push(m->b->s, list, arg);
    return &list->p[list->n - 1];
}

size_t scan_builder_add_seq(ScanBuilder *m, Sym hint, Var x, int64_t tap,
                            const Type *type) {
    scan_builder_add_tap(m, add_arg(m, &m->seq, &m->seq_of, hint, x), tap, type);
    return m->seq.n - 1;
}

size_t scan_builder_add_other(ScanBuilder *m, Sym hint, Var x, const Type *type) {
    scan_builder_add_tap(m, add_arg(m, &m->other, &m->other_of, hint, x), 0, type);
    return m->other.n - 1;
}

size_t scan_builder_add_out(ScanBuilder *m, Sym hint, int64_t keep) {
    ScanBuilderArg a = new_scan_arg(hint, VAR_NONE);
    a.keep = keep;
    vec_push(m->b->s, &m->out, a);
    return m->out.n - 1;
}

bool scan_is_opaque(const Graph *fn) {
    return fn->until == VAR_NONE && (fn->pullback || fn->pushforward);
}

static bool inline_scan_body(ScanBuilder *m, const Graph *fn, const Var *in, bool whole,
                             Arena *a, Var *map) {
    for (size_t i = 0; i < fn->inputs.n; i++)
        if (map[fn->inputs.p[i]] == VAR_NONE) map[fn->inputs.p[i]] = in[i];
    if (!graph_import(m->body, fn, graph_roots(fn, a, ROOTS_RUN), true, map))
        return false;
    if (whole && fn->until != VAR_NONE) m->until = map[fn->until];
    return true;
}

static bool call_opaque_body(ScanBuilder *m, const Graph *fn, const Var *in, Var *y) {
    Session *s = m->b->s;
    const Op *call = op_known(s, OP_CALL);
    PropArg arg = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    return op_apply(&m->in, call, props_make(s, call, 1, &arg), fn->inputs.n, in, y);
}

bool scan_builder_add_body(ScanBuilder *m, const ScanForm *f, const Var *in, bool whole,
                           Var *y) {
    Arena *a = arena_new(m->b->s);
    ScanBuilderPart p = {.f = *f, .in = (Var *)(uintptr_t)in, .y = y, .whole = whole};
    Graph *main = m->body->main;
    const Graph *quiet = graph_strip_effects(main, f->fn);
    if (!quiet) return arena_free(a), false;
    p.f.fn = graph_function(main, quiet->name);
    p.map = graph_import_map(p.f.fn, a, NULL);
    bool ok = scan_part_body(m, &p);
    arena_free(a);
    return ok;
}

/* ---- reusing other scans ---- */

static Var add_row_tap(ScanBuilder *m, const ScanBuilderPart *p, const ScanSeq *q,
                       size_t i) {
    Var x = p->arg[q->arg], v = p->f.fn->inputs.p[q->in + i];
    const Type *t = var_type(p->f.fn, v);
    for (size_t k = last_arg_for(&m->seq_of, x); k != NO_ARG; k = m->seq.p[k].same) {
        ScanBuilderArg *have = &m->seq.p[k];
        if (have->low != q->low) continue;
        Var in = scan_builder_add_tap(m, have, q->tap[i], t);
        if (var_type(m->body, in) == t) return in;
    }
    size_t at = scan_builder_add_seq(m, var_name(p->f.fn, v), x, q->tap[i], t);
    m->seq.p[at].low = q->low;
    return m->seq.p[at].tap.p[0].in;
}

static Var add_other_arg(ScanBuilder *m, const ScanBuilderPart *p, size_t i) {
    Var x = p->arg[p->f.other_arg + i], v = p->f.fn->inputs.p[p->f.other_in + i];
    const Type *t = var_type(p->f.fn, v);
    const Tensor *c = var_const(m->b->g, x);
    if (c && c->ndim == 0) return graph_share_const(m->body, m->b->g, x, true);
    for (size_t k = last_arg_for(&m->other_of, x); k != NO_ARG;
         k = m->other.p[k].same) {
        Var in = m->other.p[k].tap.p[0].in;
        if (var_type(m->body, in) == t) return in;
    }
    size_t at = scan_builder_add_other(m, var_name(p->f.fn, v), x, t);
    return m->other.p[at].tap.p[0].in;
}

static void add_scan_output(ScanBuilder *m, ScanBuilderPart *p, size_t o) {
    const ScanOut *out = &p->f.out[o];
    const Graph *fn = p->f.fn;
    size_t at = scan_builder_add_out(m, fn->outputs.p[o].label, out->keep);
    m->out.p[at].wanted = true;
    if (out->ntap) m->out.p[at].x = p->arg[out->arg];
    for (size_t k = 0; k < out->ntap; k++)
        p->in[out->in + k] = scan_builder_add_tap(
            m, &m->out.p[at], out->tap[k], var_type(fn, fn->inputs.p[out->in + k]));
}

ScanBuilderPart scan_part(ScanBuilder *m, Arena *a, ScanForm f, const Var *arg) {
    ScanBuilderPart p = {.f = f, .arg = arg, .listed = true, .whole = true};
    p.in = NEW_N(a, p.f.nin, Var);
    p.y = NEW_N(a, p.f.nout, Var);
    p.map = graph_import_map(p.f.fn, a, NULL);
    p.first = m->out.n;
    for (size_t i = 0; i < p.f.nseq; i++)
        for (size_t k = 0; k < p.f.seq[i].ntap; k++)
            p.in[p.f.seq[i].in + k] = add_row_tap(m, &p, &p.f.seq[i], k);
    for (size_t o = 0; o < p.f.nout; o++)
        add_scan_output(m, &p, o);
    for (size_t i = 0; i < p.f.nother; i++)
        p.in[p.f.other_in + i] = add_other_arg(m, &p, i);
    m->truncate = p.f.truncate;
    m->checkpoint = p.f.checkpoint;
    m->rows = p.f.rows;
    return p;
}

bool scan_part_body(ScanBuilder *m, ScanBuilderPart *p) {
    const Graph *fn = p->f.fn;
    Arena *a = arena_new(m->b->s);
    bool opaque = scan_is_opaque(fn), ok;
    if (opaque)
        ok = call_opaque_body(m, fn, p->in, p->y);
    else
        ok = inline_scan_body(m, fn, p->in, p->whole, a, p->map);
    for (size_t o = 0; ok && !opaque && o < fn->outputs.n; o++)
        p->y[o] = p->map[fn->outputs.p[o].var];
    for (size_t o = 0; ok && p->listed && o < fn->outputs.n; o++)
        m->out.p[p->first + o].made = p->y[o];
    arena_free(a);
    return ok;
}

Var scan_fit_arg(Builder *b, Var x, const Type *want, int rows) {
    if (x == VAR_NONE || want->kind != TYPE_TENSOR) return x;
    const Type *have = var_type(b->g, x);
    int64_t shape[MAX_NDIM];
    bool same = true;
    for (int i = 0; i < have->ndim; i++) {
        Dim d = i < rows ? DIM_UNKNOWN : want->dim[i - rows];
        shape[i] = dim_is_known(d) ? d : -1;
        same &= !dim_is_known(d) || have->dim[i] == d;
    }
    return same ? x
                : op_call2(b, "specify_shape", x,
                           const_ints(b, (size_t)have->ndim, shape));
}

Var scan_dim_outside(Builder *b, const ScanForm *f, const Var *arg, Sym name) {
    for (size_t k = 0; k < f->nin; k++) {
        Var v = shape_of_dim(b, var_type(f->fn, f->fn->inputs.p[k]),
                             arg[scan_arg(f, k)], name);
        if (v != VAR_NONE) return v;
    }
    return VAR_NONE;
}

/* ---- liveness ---- */

typedef struct ScanLive {
    ScanBuilder *m;
    uint8_t *need; /* by variable of the body */
} ScanLive;

static void mark_body_var(ScanLive *l, Var v) {
    if (v != VAR_NONE) l->need[v] = 1;
}

static bool any_tap_live(ScanLive *l, ScanBuilderArg *arg) {
    bool any = false;
    for (size_t k = 0; k < arg->tap.n; k++)
        any |= arg->tap.p[k].live = l->need[arg->tap.p[k].in];
    return any;
}

/* If no step runs, the last value of a state is its initial value: it stays a state
 * even if no step reads it. */
static void keep_initial(const ScanBuilder *m, ScanBuilderArg *out) {
    const Tensor *steps = m->steps == VAR_NONE ? NULL : var_const(m->b->g, m->steps);
    bool runs = steps && tensor_i64(steps, 0) > 0;
    for (size_t k = 0; out->keep == SCAN_LAST && !runs && k < out->tap.n; k++)
        out->tap.p[k].live = true;
}

/* Marks states that live Applies read as live, too. This may take several rounds. */
static bool mark_needed_states(ScanLive *l) {
    bool more = false;
    for (size_t i = 0; i < l->m->out.n; i++) {
        ScanBuilderArg *o = &l->m->out.p[i];
        bool read = any_tap_live(l, o);
        if (o->wanted) keep_initial(l->m, o);
        if (!o->live && (o->wanted || read)) {
            o->live = more = true;
            mark_body_var(l, o->made);
        }
    }
    return more;
}

/* An input of the body that has the dim; `needed`: only one that is live. */
static Var find_dim_input(const ScanLive *l, Dim dim, bool needed) {
    const Graph *g = l->m->body;
    for (size_t i = g->inputs.n; i-- > 0;) { /* non-sequences come last */
        Var v = g->inputs.p[i];
        const Type *t = var_type(g, v);
        for (int k = 0; k < t->ndim; k++)
            if (t->dim[k] == dim && (!needed || l->need[v])) return v;
    }
    return VAR_NONE;
}

/* Keeps an input alive for each dim that is read as a value. */
static bool mark_needed_dims(ScanLive *l) {
    const Graph *g = l->m->body;
    bool more = false;
    for (uint32_t i = 0; i < g->nleaf; i++) {
        Var v = g->leaf[i].var, from;
        Dim dim = DIM_NAMED(g->leaf[i].name);
        if (var_leaf(g, v) != LEAF_DIM || !l->need[v] ||
            find_dim_input(l, dim, true) != VAR_NONE)
            continue;
        mark_body_var(l, from = find_dim_input(l, dim, false));
        more |= from != VAR_NONE;
    }
    return more;
}

void scan_builder_mark_live(ScanBuilder *m) {
    const Graph *g = m->body;
    ScanLive l = {m, mem_zalloc(m->b->s, g->nvar, 1)};
    mark_body_var(&l, m->until);
    for (size_t i = 0; i < g->effects.n; i++)
        mark_body_var(&l, g->apply[g->effects.p[i]].out);
    do
        graph_spread_needs(g, 0, l.need);
    while (mark_needed_states(&l) || mark_needed_dims(&l));
    for (size_t i = 0; i < m->seq.n; i++)
        m->seq.p[i].live = any_tap_live(&l, &m->seq.p[i]);
    for (size_t i = 0; i < m->other.n; i++)
        m->other.p[i].live = any_tap_live(&l, &m->other.p[i]);
    mem_free(l.need);
    m->live = true;
}

static void mark_all_args(ScanBuilderArg *arg, size_t n) {
    for (size_t i = 0; i < n; i++) {
        arg[i].live = true;
        for (size_t k = 0; k < arg[i].tap.n; k++)
            arg[i].tap.p[k].live = true;
    }
}

void scan_builder_mark_all(ScanBuilder *m) {
    mark_all_args(m->seq.p, m->seq.n);
    mark_all_args(m->out.p, m->out.n);
    mark_all_args(m->other.p, m->other.n);
    m->live = true;
}

/* ---- the finished function ---- */

typedef Vec(int64_t) Ints;
typedef struct ScanFinish {
    ScanBuilder *m;
    Session *s;
    Arena *a;
    Graph *fn;
    Var *map;                      /* by variable of the body: that of fn */
    Map dims;                      /* dim names, which inputs must not have */
    Map labels;                    /* of the outputs */
    Map tried_names, tried_labels; /* by base: how many of its names are taken */
    Vec(Var) in;
    Ints seqs, states, keep;
} ScanFinish;

static void reserve_dim_names(ScanFinish *f, const Type *t) {
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++)
        if (dim_is_named(t->dim[i])) map_put(&f->dims, dim_sym(t->dim[i]), 1);
}

/* Turns a hint into a name that the language accepts; a label may be any text. */
static const char *clean_name(ScanFinish *f, Sym hint) {
    const char *text = hint ? sym_text(f->s, hint) : "x";
    bool digit = ascii_is_digit(*text);
    char *name = arena_printf(f->a, "%s%.100s", digit || !*text ? "y" : "", text);
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (!ascii_is_word(name[i])) name[i] = '_';
    return word_is_reserved(name, n) ? arena_printf(f->a, "%s_", name) : name;
}

/* base, base_1, base_2 ...: the first that isn't taken. The caller takes it, so that
 * the next search of this base begins behind it. */
static Sym first_free(ScanFinish *f, const char *base, Map *tried,
                      bool (*is_taken)(const ScanFinish *f, Sym name)) {
    char text[160];
    Sym key = sym(f->s, base), name = key;
    uint64_t n = 0;
    map_get(tried, key, &n);
    do {
        if (n > 0) {
            snprintf(text, sizeof text, "%.120s_%" PRIu64, base, n);
            name = sym(f->s, text);
        }
        n++;
    } while (is_taken(f, name));
    map_put(tried, key, n);
    return name;
}

static bool is_taken_name(const ScanFinish *f, Sym name) {
    return graph_find(f->fn, name) != VAR_NONE ||
           graph_find(f->m->body, name) != VAR_NONE || map_get(&f->dims, name, NULL);
}

static Sym fresh_input_name(ScanFinish *f, Sym hint) {
    return first_free(f, clean_name(f, hint), &f->tried_names, is_taken_name);
}

/* How far to shift the taps of a sequence: the row that the first step reads must not
 * change when the least tap is removed. */
static int64_t tap_shift(const ScanBuilderArg *seq) {
    int64_t all = seq->low, live = 0;
    for (size_t k = 0; k < seq->tap.n; k++) {
        const ScanBuilderTap *t = &seq->tap.p[k];
        if (t->tap < all) all = t->tap;
        if (t->live && t->tap < live) live = t->tap;
    }
    return all == live ? 0 : -all;
}

/* Adds inputs for the live taps, and the taps to the list for the props. */
static size_t add_taps(ScanFinish *f, const ScanBuilderArg *arg, int64_t move,
                       Ints *list) {
    size_t at = list->n, n = 0;
    vec_push(f->s, list, 0);
    for (size_t k = 0; k < arg->tap.n; k++) {
        const ScanBuilderTap *t = &arg->tap.p[k];
        if (!t->live) continue;
        const Type *type = var_type(f->m->body, t->in);
        f->map[t->in] = graph_input(f->fn, fresh_input_name(f, arg->hint), type);
        vec_push(f->s, list, t->tap + move);
        n++;
    }
    list->p[at] = (int64_t)n;
    return n;
}

static int64_t tap_depth(const ScanBuilderArg *o, bool all) {
    int64_t depth = 0;
    for (size_t k = 0; k < o->tap.n; k++)
        if ((all || o->tap.p[k].live) && -o->tap.p[k].tap > depth)
            depth = -o->tap.p[k].tap;
    return depth;
}

/* Adds the initial rows that the remaining taps reach back to. */
static bool add_initial_rows(ScanFinish *f, const ScanBuilderArg *o, size_t taps) {
    Builder *b = f->m->b;
    int64_t was = tap_depth(o, true), is = tap_depth(o, false);
    Bind bind[] = {{sym(f->s, "x"), o->x}, {sym(f->s, "n"), VAR_NONE}};
    Env env = {.n = 1, .bind = bind};
    bool rows = o->tap.n > 1 || was > 1, one = taps == 1 && is == 1, ok = true;
    Var x = o->x;
    if (rows && one)
        x = template_build(b, "x[-1]", &env, &ok);
    else if (was != is) {
        bind[env.n++].var = const_int(b, was - is);
        x = template_build(b, "x[n:]", &env, &ok);
    }
    vec_push(f->s, &f->in, x);
    return ok && x != VAR_NONE;
}

static bool add_scan_inputs(ScanFinish *f) {
    ScanBuilder *m = f->m;
    Ints none = {0};
    bool ok = true;
    vec_push(f->s, &f->in, m->steps);
    for (size_t i = 0; i < m->seq.n; i++) {
        if (!m->seq.p[i].live) continue;
        add_taps(f, &m->seq.p[i], tap_shift(&m->seq.p[i]), &f->seqs);
        vec_push(f->s, &f->in, m->seq.p[i].x);
    }
    for (size_t i = 0; i < m->out.n; i++) {
        const ScanBuilderArg *o = &m->out.p[i];
        if (!o->live) continue;
        vec_push(f->s, &f->keep, o->wanted ? o->keep : SCAN_LAST);
        size_t taps = add_taps(f, o, 0, &f->states);
        if (taps && ok) ok = add_initial_rows(f, o, taps);
    }
    for (size_t i = 0; i < m->other.n; i++) {
        if (!m->other.p[i].live) continue;
        add_taps(f, &m->other.p[i], 0, &none);
        vec_push(f->s, &f->in, m->other.p[i].x);
    }
    vec_free(&none);
    return ok;
}

static bool is_taken_label(const ScanFinish *f, Sym label) {
    return map_get(&f->labels, label, NULL);
}

static void add_output(ScanFinish *f, Sym hint, Var v) {
    const char *base = arena_printf(f->a, "%.120s", hint ? sym_text(f->s, hint) : "y");
    Output out = {first_free(f, base, &f->tried_labels, is_taken_label), v};
    map_put(&f->labels, out.label, 1);
    vec_push(f->s, &f->fn->outputs, out);
}

void scan_carry_names(Graph *to, const Graph *from, const Var *map) {
    for (size_t i = 0; i < from->names.n; i++) {
        VarName n = from->names.p[i];
        Var v = map[n.var];
        if (v != VAR_NONE && !var_leaf(to, v) && !graph_has_dim(to, n.name))
            graph_try_name(to, v, n.name);
    }
}

static bool import_scan_body(ScanFinish *f) {
    ScanBuilder *m = f->m;
    const Graph *g = m->body;
    Vec(Var) want = {0};
    for (size_t i = 0; i < m->out.n; i++)
        if (m->out.p[i].live) vec_push(f->s, &want, m->out.p[i].made);
    for (size_t i = 0; i < g->effects.n; i++)
        vec_push(f->s, &want, g->apply[g->effects.p[i]].out);
    if (m->until != VAR_NONE) vec_push(f->s, &want, m->until);
    bool ok = graph_import(f->fn, g, (VarList){want.n, want.p}, true, f->map);
    vec_free(&want);
    if (ok) scan_carry_names(f->fn, g, f->map);
    for (size_t i = 0; ok && i < m->out.n; i++)
        if (m->out.p[i].live) add_output(f, m->out.p[i].hint, f->map[m->out.p[i].made]);
    if (ok && m->until != VAR_NONE) f->fn->until = f->map[m->until];
    return ok;
}

/* Gives the function a name of its own, or replaces it by an existing one that computes
 * the same. */
static void name_or_reuse(ScanFinish *f, const char *name) {
    Graph *main = f->fn->main;
    char text[160];
    snprintf(text, sizeof text, "%.120s", name);
    for (unsigned i = 1;; i++) {
        Graph *have = graph_function(main, sym(f->s, text));
        ApplyId x, y;
        if (!have && !graph_name_taken(main, sym(f->s, text))) {
            graph_function_rename(f->fn, sym(f->s, text));
            return;
        }
        if (have && have->pullback == f->fn->pullback && have->fused == f->fn->fused &&
            graph_equal(have, f->fn, &x, &y, NULL)) {
            graph_function_drop(f->fn);
            f->fn = have;
            return;
        }
        snprintf(text, sizeof text, "%.120s_%u", name, i);
    }
}

static bool apply_finished_scan(ScanFinish *f) {
    ScanBuilder *m = f->m;
    const Op *op = op_known(f->s, OP_SCAN);
    Var *out = NEW_N(f->a, OUT_MAX, Var);
    PropArg p[] = {{"fn", {.kind = P_GRAPH, .sym = f->fn->name}},
                   {"sequences", PROP_INTS(f->seqs.p, f->seqs.n)},
                   {"states", PROP_INTS(f->states.p, f->states.n)},
                   {"keep", PROP_INTS(f->keep.p, f->keep.n)},
                   {"truncate", PROP_INT(m->truncate)},
                   {"checkpoint", PROP_BOOL(m->checkpoint)},
                   {"rows", PROP_BOOL(m->rows)}};
    if (!op_apply(m->b, op, props_make(f->s, op, 7, p), f->in.n, f->in.p, out))
        return false;
    for (size_t i = 0, k = 0; i < m->out.n; i++) {
        ScanBuilderArg *o = &m->out.p[i];
        if (o->live && o->wanted) o->result = out[k];
        k += o->live;
    }
    return true;
}

static void reserve_all_dims(ScanFinish *f) {
    const Graph *g = f->m->body;
    for (size_t i = 0; i < g->inputs.n; i++)
        reserve_dim_names(f, var_type(g, g->inputs.p[i]));
}

bool scan_builder_apply(ScanBuilder *m, const char *name) {
    Session *s = m->b->s;
    if (!m->live) scan_builder_mark_live(m);
    ScanFinish f = {.m = m,
                    .s = s,
                    .a = arena_new(s),
                    .dims = MAP(s),
                    .labels = MAP(s),
                    .tried_names = MAP(s),
                    .tried_labels = MAP(s)};
    f.fn = graph_function_new(m->b->g->main,
                              free_function_name(m->b->g->main, "unfinished"));
    f.fn->floatX = m->body->floatX;
    f.map = graph_import_map(m->body, f.a, NULL);
    reserve_all_dims(&f);
    bool ok = add_scan_inputs(&f) && import_scan_body(&f);
    if (ok) name_or_reuse(&f, name);
    ok = ok && apply_finished_scan(&f);
    map_free(&f.dims);
    map_free(&f.labels);
    map_free(&f.tried_names);
    map_free(&f.tried_labels);
    vec_free(&f.in);
    vec_free(&f.seqs);
    vec_free(&f.states);
    vec_free(&f.keep);
    arena_free(f.a);
    return ok;
}
