/* From the inputs on: which variables have rows, and where results cross them. */
#include "rewrite/parallel/parallel.h"

#include <string.h>

bool split_fail(const SplitApply *p, const char *fmt, ...) {
    const Split *w = p->w;
    Str why = STR(w->s), text = STR(w->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&why, fmt, ap);
    va_end(ap);
    uint32_t line = apply_line(w->g, p->id);
    fail(w->s, w->g->origin[p->id].at, E_ARG, "%s can't be computed shard by shard: %s",
         p->op->name, str_text(&why));
    Sym name = var_name(w->g, p->out);
    if (name) str_printf(&text, "%s = ", sym_text(w->s, name));
    language.print_apply(w->g, p->id, NULL, APPLY_NONE, &text);
    if (line)
        note(w->s, NOWHERE, "line %u: %s", line, str_text(&text));
    else
        note(w->s, NOWHERE, "in %s", str_text(&text));
    str_free(&why);
    str_free(&text);
    return false;
}

bool split_is_row_dim(const Split *w, Dim d) {
    for (size_t i = 0; i < w->nname; i++)
        if (w->name[i] == d) return true;
    return false;
}

const Spread *split_of_apply(const Split *w, ApplyId id) {
    const Apply *r = &w->g->apply[id];
    for (Var k = 0; k < r->nout; k++)
        if (w->spread[r->out + k].rows) return &w->spread[r->out + k];
    for (Var k = 0; k < r->nout; k++)
        if (w->spread[r->out + k].part) return &w->spread[r->out + k];
    return &w->spread[r->out];
}

int split_row_axis(const Split *w, const Type *t) {
    int found = -1;
    for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++) {
        if (!split_is_row_dim(w, t->dim[k])) continue;
        if (found >= 0) return -1;
        found = k;
    }
    return found;
}

/* ---- inputs ---- */

static bool mark_inputs(Split *w) {
    Graph *g = w->g;
    for (size_t i = 0; i < w->o->inputs.n; i++) {
        Var v = w->o->inputs.p[i];
        const Type *t = var_type(g, v);
        const char *name = sym_text(w->s, var_name(g, v));
        if (t->kind != TYPE_TENSOR || t->ndim == 0)
            return fail(w->s, NOWHERE, E_USAGE,
                        "%s is %s: only arrays with rows can be split", name,
                        type_str(w->s, t));
        if (dim_is_known(t->dim[0])) {
            fail(w->s, NOWHERE, E_USAGE,
                 "%s always has %lld rows: %s, of which a shard can't have fewer", name,
                 (long long)t->dim[0], type_str(w->s, t));
            return note(w->s, NOWHERE, "give its leading dim a name, such as n");
        }
        w->spread[v] = (Spread){.rows = true};
        if (dim_is_named(t->dim[0])) w->name[w->nname++] = t->dim[0];
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        Var v = g->inputs.p[i];
        w->split[i] = w->spread[v].rows;
        if (w->split[i] && w->first == VAR_NONE) w->first = v;
        if (w->split[i] || split_row_axis(w, var_type(g, v)) < 0) continue;
        fail(w->s, NOWHERE, E_USAGE, "%s has as many rows as what is split: %s",
             sym_text(w->s, var_name(g, v)), type_str(w->s, var_type(g, v)));
        return note(w->s, NOWHERE, "split it, too");
    }
    return true;
}

static bool mark_leaves(Split *w) {
    Graph *g = w->g;
    if (!mark_inputs(w)) return false;
    for (Var v = 0; v < g->nvar; v++) {
        if (var_leaf(g, v) == LEAF_DIM)
            w->spread[v].counts =
                split_is_row_dim(w, DIM_NAMED(var_leafrec(g, v)->name));
        if (var_leaf(g, v) == LEAF_SHARED && split_row_axis(w, var_type(g, v)) >= 0)
            return fail(w->s, NOWHERE, E_ARG,
                        "the shared variable %s has a value for each row, which ranks "
                        "don't exchange",
                        sym_text(w->s, var_leafrec(g, v)->name));
    }
    return true;
}

/* ---- Applies ---- */

/* Effects that are seen outside: all others only check. */
static bool op_is_shown(const Op *op) {
    static const char *const shown[] = {"print"};
    return strcmp(op->name, shown[0]) == 0;
}

static bool is_effect_on_rows(const SplitApply *p, bool rows) {
    Session *s = p->w->s;
    if (op_is(s, p->op, OP_SOW) || op_is(s, p->op, OP_SOW_COND)) return false;
    return op_has_effect(p->w->g, p->op, p->props) &&
           (rows || !p->op->identity || op_is_shown(p->op));
}

/* All outputs of what only whole values go into are whole. */
static void spread_whole(const SplitApply *p, Spread *out) {
    *out = (Spread){0};
    for (size_t i = 0; i < p->nin; i++) {
        const Spread *x = split_of(p, i);
        out->counts |= x->counts;
        if (x->level > out->level) out->level = x->level;
    }
}

/* Parts may be added to parts, and nothing else: that is what states that add up do. A
 * state may be found to be one later. */
static bool spread_part(const SplitApply *p, Spread *out) {
    bool all = op_is(p->w->s, p->op, OP_ADD);
    for (size_t i = 0; i < p->nin; i++)
        all &= split_of(p, i)->part ||
               (!p->w->sure && var_leaf(p->w->g, p->in[i]) == LEAF_INPUT &&
                !split_of(p, i)->rows);
    *out = (Spread){.part = true};
    return all ||
           split_fail(p, "a sum over rows is used in a step of a loop, where ranks "
                         "can't meet");
}

static bool analyse_apply(SplitApply *p) {
    Split *w = p->w;
    Spread out;
    bool rows = false, part = false;
    for (size_t i = 0; i < p->nin; i++) {
        rows |= split_of(p, i)->rows;
        part |= split_of(p, i)->part;
    }
    if (part && w->steps) {
        if (!spread_part(p, &out)) return false;
        for (size_t k = 0; k < p->nout; k++)
            w->spread[p->out + k] = out;
        return true;
    }
    if (is_effect_on_rows(p, rows))
        return split_fail(p, rows ? "it is an effect on rows"
                                  : "each rank would have the effect");
    spread_whole(p, &out);
    if (!split_rule(p, &out, &w->crossing[p->id])) return false;
    if (w->steps && w->crossing[p->id] == CROSS_SUM) {
        w->crossing[p->id] = CROSS_NONE;
        out.part = true;
    }
    if (w->crossing[p->id] != CROSS_NONE) out.level++;
    if (out.level + 1 > w->levels) w->levels = out.level + 1;
    if (op_is(w->s, p->op, OP_SCAN) && rows) return true; /* it did that */
    for (size_t k = 0; k < p->nout; k++)
        w->spread[p->out + k] = out;
    if (op_is(w->s, p->op, OP_DRAW)) { /* the next state */
        Spread *next = &w->spread[p->out];
        *next = *split_of(p, 0);
        next->counts = out.rows || next->counts; /* it is made anew */
    }
    return true;
}

bool split_analyse_applies(Split *w) {
    Graph *g = w->g;
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *r = &g->apply[id];
        bool needed = false;
        for (Var k = 0; k < r->nout; k++)
            needed |= w->live[r->out + k];
        SplitApply p = {w,      id,      r->op,           r->props,
                        r->nin, r->nout, apply_in(g, id), r->out};
        if (needed && !analyse_apply(&p)) return false;
    }
    return true;
}

bool split_analyse(Split *w) {
    Graph *g = w->g;
    w->name = NEW_N(w->a, w->o->inputs.n + 1, Dim);
    w->levels = 1;
    if (!mark_leaves(w) || !split_analyse_applies(w)) return false;
    for (size_t i = 0; i < g->updates.n; i++) {
        const Update *u = &g->updates.p[i];
        if (w->spread[u->value].rows)
            return fail(w->s, NOWHERE, E_ARG,
                        "the new value of %s has a value for each row, which ranks "
                        "don't exchange",
                        sym_text(w->s, var_leafrec(g, u->shared)->name));
    }
    return true;
}
