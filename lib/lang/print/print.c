/* Graphs as text: names for all variables, one statement per Apply. */
#include "lang/compile_impl.h"
#include "lang/print/print_impl.h"
#include "type/word.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static Sym given_name(const Printer *p, Var v) {
    LeafKind leaf = var_leaf(p->g, v);
    Sym y = var_name(p->g, v);
    if (!y && leaf != LEAF_NOT && leaf != LEAF_CONST) y = var_leafrec(p->g, v)->name;
    const char *text = sym_text(p->s, y);
    return word_is_name(text, strlen(text)) ? y : 0;
}

/* The next of _1, _2, ... that is free. */
static Sym fresh_var_name(Printer *p) {
    char buf[24];
    for (;;) {
        int n = snprintf(buf, sizeof buf, "_%u", ++p->fresh);
        Sym y = sym_n(p->s, buf, (size_t)n);
        if (graph_find(p->g, y) == VAR_NONE) return y;
    }
}

static bool is_var_live(const Printer *p, Var v) {
    return !p->live || v >= p->nvar || p->live[v];
}

static bool is_apply_live(const Printer *p, ApplyId a) {
    const Apply *ap = &p->g->apply[a];
    for (uint32_t i = 0; i < ap->nout; i++)
        if (is_var_live(p, ap->out + i)) return true;
    return false;
}

Sym printer_name(Printer *p, Var v) {
    if (v >= p->nvar) return given_name(p, v);
    if (!p->name[v]) p->name[v] = given_name(p, v);
    if (!p->name[v] && !var_is_const(p->g, v)) p->name[v] = fresh_var_name(p);
    return p->name[v];
}

bool print_is_inline(Printer *p, Var v) {
    if (var_is_const(p->g, v)) return given_name(p, v) == 0;
    return v < p->nvar && p->in_place && p->in_place[v];
}

/* ---- inlining for readable formulas ---- */

enum { DEPTH_MAX = 24, NODES_MAX = 40 };

static bool may_stand_in_place(const Printer *p, ApplyId a, const uint32_t *uses) {
    const Apply *ap = &p->g->apply[a];
    return ap->nout == 1 && !ap->serial && uses[ap->out] == 1 &&
           !given_name(p, ap->out);
}

static void count_uses_from(const Printer *p, ApplyId first, uint32_t *uses) {
    for (ApplyId a = first; a < p->napply; a++)
        for (uint32_t i = 0; is_apply_live(p, a) && i < p->g->apply[a].nin; i++)
            uses[apply_in(p->g, a)[i]]++;
}

/* By variable. */
static uint32_t *count_uses(const Printer *p) {
    uint32_t *uses = NEW_N(p->arena, p->nvar + 1, uint32_t);
    count_uses_from(p, 0, uses);
    for (size_t i = 0; i < p->g->outputs.n; i++)
        if (p->g->outputs.p[i].var < p->nvar) uses[p->g->outputs.p[i].var]++;
    for (size_t i = 0; i < p->g->updates.n; i++)
        if (p->g->updates.p[i].value < p->nvar) uses[p->g->updates.p[i].value]++;
    return uses;
}

/* Inlines a single-use Apply while the expression stays short, which also bounds the
 * printer's recursion. */
static void choose_in_place(Printer *p, ApplyId a) {
    unsigned d = 0, n = 1;
    Var out = p->g->apply[a].out;
    if (out >= p->nvar || !may_stand_in_place(p, a, p->uses)) return;
    for (uint32_t i = 0; i < p->g->apply[a].nin; i++) {
        Var v = apply_in(p->g, a)[i];
        if (!p->in_place[v]) continue;
        d = p->depth[v] > d ? p->depth[v] : d;
        n += p->nodes[v];
    }
    if (d >= DEPTH_MAX || n > NODES_MAX) return;
    p->in_place[out] = 1;
    p->depth[out] = (uint16_t)(d + 1);
    p->nodes[out] = (uint16_t)n;
}

/* std(x) of integers is float64 in a graph. Where floatX is float32 the text std(x)
 * means float32(std(x)): that is how such a pair is printed. */
static void find_implied_casts(Printer *p) {
    const Graph *g = p->g;
    uint32_t *uses = NULL;
    if (p->style != PRINT_STATEMENTS || p->floatX == DT_FLOAT64) return;
    for (ApplyId a = 0; a < p->napply; a++) {
        if (!is_apply_live(p, a) || !op_is(p->s, g->apply[a].op, OP_CAST)) continue;
        Var x = apply_in(g, a)[0];
        ApplyId of = var_owner(g, x);
        if (of == APPLY_NONE || given_name(p, x) ||
            op_dtype_by_floatX(g, of, p->floatX) != var_type(g, g->apply[a].out)->dtype)
            continue;
        if (!uses) uses = count_uses(p);
        if (uses[x] != 1) continue;
        if (!p->in_place) p->in_place = NEW_N(p->arena, p->nvar + 1, uint8_t);
        p->in_place[x] = true;
    }
}

Printer *printer_new(const Graph *g, PrintStyle style, const uint8_t *live, Arena *a) {
    Printer *p = NEW(a, Printer);
    p->s = g->s;
    p->g = g;
    p->arena = a;
    p->style = style;
    p->live = live;
    p->nvar = g->nvar;
    p->napply = g->napply;
    p->name = NEW_N(a, g->nvar + 1, Sym);
    p->cap = g->nvar + 1;
    p->room = p->nroom = UINT32_MAX;
    p->floatX = builder((Graph *)(uintptr_t)g, false).floatX;
    if (style == PRINT_MATH) {
        p->uses = count_uses(p);
        p->depth = NEW_N(a, p->cap, uint16_t);
        p->nodes = NEW_N(a, p->cap, uint16_t);
        p->in_place = NEW_N(a, p->cap, uint8_t);
        for (ApplyId k = 0; k < g->napply; k++)
            choose_in_place(p, k);
    }
    find_implied_casts(p);
    for (ApplyId k = 0; k < g->napply; k++)
        for (uint32_t i = 0; is_apply_live(p, k) && i < g->apply[k].nout; i++)
            if (!print_is_inline(p, g->apply[k].out + i))
                printer_name(p, g->apply[k].out + i);
    return p;
}

static void *grown(const Printer *p, const void *old, size_t cap, size_t size) {
    return memcpy(arena_zalloc(p->arena, cap, size), old, p->cap * size);
}

static void reserve_vars(Printer *p, uint32_t nvar) {
    if (nvar < p->cap) return;
    size_t cap = 2 * (size_t)nvar + 1;
    p->name = grown(p, p->name, cap, sizeof *p->name);
    p->in_place = grown(p, p->in_place, cap, sizeof *p->in_place);
    p->uses = grown(p, p->uses, cap, sizeof *p->uses);
    p->depth = grown(p, p->depth, cap, sizeof *p->depth);
    p->nodes = grown(p, p->nodes, cap, sizeof *p->nodes);
    p->cap = (uint32_t)cap;
}

/* v has a new client: the first one, in which it may stand, or one more. */
static void look_at_use(Printer *p, Var v) {
    ApplyId a = var_owner(p->g, v);
    if (p->uses[v] > 1)
        p->in_place[v] = 0;
    else if (a != APPLY_NONE && !p->in_place[v])
        choose_in_place(p, a);
}

void printer_follow(Printer *p) {
    enum { ROOM = 200 }; /* Applies that were there may have other inputs by now */
    ApplyId first = p->napply;
    p->nroom = ROOM;
    reserve_vars(p, p->g->nvar);
    p->nvar = p->g->nvar;
    p->napply = p->g->napply;
    count_uses_from(p, first, p->uses);
    for (ApplyId a = first; a < p->napply; a++)
        for (uint32_t i = 0; i < p->g->apply[a].nin; i++)
            look_at_use(p, apply_in(p->g, a)[i]);
}

void printer_set_ref(Printer *p, const char *(*ref)(void *ctx, const Graph *g, Var v),
                     void *ctx) {
    p->ref = ref;
    p->ref_ctx = ctx;
}

/* ---- statements ---- */

/* A client that was there may have got v since it was counted. */
static void note_use(Printer *p, Var v) {
    if (p->nroom == UINT32_MAX || v >= p->nvar || p->uses[v] > 0) return;
    p->uses[v] = 1;
    if (var_owner(p->g, v) != APPLY_NONE) choose_in_place(p, var_owner(p->g, v));
}

void print_operand(Printer *p, Var v, bool bare, Prec need, Str *out) {
    note_use(p, v);
    if (!print_is_inline(p, v))
        str_puts(out, sym_text(p->s, printer_name(p, v)));
    else if (var_is_const(p->g, v))
        print_const(p, v, bare, need, out);
    else if (p->room == 0)
        str_puts(out, sym_text(p->s, printer_name(p, v)));
    else {
        p->room--;
        print_apply_expr(p, var_owner(p->g, v), need, out);
    }
}

void print_definition(Printer *p, Var v, Str *out) {
    ApplyId a = var_owner(p->g, v);
    p->room = p->nroom;
    if (a == APPLY_NONE || p->g->apply[a].nout != 1)
        print_expression(p, v, out);
    else
        print_apply_expr(p, a, BIND_ANY, out);
}

void print_expression(Printer *p, Var v, Str *out) {
    bool whole = const_is_scalar(p->g, v) && (var_type(p->g, v)->dtype == DT_INT64 ||
                                              var_type(p->g, v)->dtype == DT_BOOL);
    print_operand(p, v, whole || p->style == PRINT_MATH, BIND_ANY, out);
}

void print_statement(Printer *p, ApplyId a, Str *out) {
    const Apply *ap = &p->g->apply[a];
    for (uint32_t i = 0; i < ap->nout; i++)
        str_printf(out, "%s%s", i ? ", " : "",
                   sym_text(p->s, printer_name(p, ap->out + i)));
    str_puts(out, " = ");
    print_apply_expr(p, a, BIND_ANY, out);
}

/* A named constant is a statement of its own. */
static void print_constants(Printer *p, const char *indent, Str *out) {
    for (uint32_t i = 0; i < p->g->nleaf; i++) {
        Var v = p->g->leaf[i].var;
        if (!var_is_const(p->g, v) || !is_var_live(p, v) || print_is_inline(p, v))
            continue;
        bool whole =
            const_is_scalar(p->g, v) && (var_type(p->g, v)->dtype == DT_INT64 ||
                                         var_type(p->g, v)->dtype == DT_BOOL);
        str_printf(out, "%s%s = ", indent, sym_text(p->s, printer_name(p, v)));
        print_const(p, v, whole, BIND_ANY, out);
        str_putc(out, '\n');
    }
}

/* Prints further names of variables. */
static void print_aliases(Printer *p, const char *indent, Str *out) {
    for (size_t i = 0; i < p->g->names.n; i++) {
        VarName n = p->g->names.p[i];
        const char *text = sym_text(p->s, n.name);
        if (n.var >= p->nvar || !is_var_live(p, n.var) || print_is_inline(p, n.var))
            continue;
        if (graph_find(p->g, n.name) != n.var || printer_name(p, n.var) == n.name ||
            !word_is_name(text, strlen(text)))
            continue;
        str_printf(out, "%s%s = %s\n", indent, text,
                   sym_text(p->s, printer_name(p, n.var)));
    }
}

void print_block(Printer *p, const char *indent, Str *out) {
    print_constants(p, indent, out);
    for (ApplyId a = 0; a < p->napply; a++) {
        const Apply *ap = &p->g->apply[a];
        if (!is_apply_live(p, a) || (ap->nout == 1 && print_is_inline(p, ap->out)))
            continue;
        str_puts(out, indent);
        print_statement(p, a, out);
        str_putc(out, '\n');
    }
    print_aliases(p, indent, out);
}
