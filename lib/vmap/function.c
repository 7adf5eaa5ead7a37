/* vmap of a function of the graph, as a function: made once for each choice of inputs
 * that have rows. fn's body is imported on the first row, then rebuilt for all rows. */
#include "vmap/kit.h"
#include "vmap/vmap.h"

#include <stdio.h>

typedef struct VmapFunction {
    Graph *main, *made;
    const Graph *fn;
    const bool *rows;
    Builder b;
    Arena *tmp;
    Sym dim;        /* the number of rows */
    Var *all, *one; /* inputs with rows, and the first row of each; nrows of them */
    size_t nrows;
} VmapFunction;

/* "f_rows_101". */
static Sym vmapped_name(Session *s, const Graph *fn, const bool *rows) {
    Str text = STR(s);
    str_printf(&text, "%s_rows_", sym_text(s, fn->name));
    for (size_t i = 0; i < fn->inputs.n; i++)
        str_putc(&text, rows[i] ? '1' : '0');
    Sym y = sym(s, str_text(&text));
    str_free(&text);
    return y;
}

/* A name for the rows' dim that fn doesn't use. */
static Sym free_rows_dim(const Graph *fn) {
    char name[32] = "rows";
    for (unsigned i = 1; graph_find(fn, sym(fn->s, name)) != VAR_NONE; i++)
        snprintf(name, sizeof name, "rows_%u", i);
    return sym(fn->s, name);
}

static bool add_row_inputs(VmapFunction *r, Var *map) {
    const Graph *fn = r->fn;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var x = fn->inputs.p[i];
        const Type *t = var_type(fn, x);
        Var *to = &map[x];
        if (!r->rows[i]) {
            *to = graph_input(r->made, var_name(fn, x), t);
            continue;
        }
        if (!type_ndim_fits(fn->s, r->b.from.at, NULL, t->ndim + 1))
            return note(fn->s, NOWHERE, "input %s of %s with one more dim, for rows",
                        sym_text(fn->s, var_name(fn, x)), sym_text(fn->s, fn->name));
        Var all = graph_input(r->made, var_name(fn, x),
                              type_of_rows(fn->s, DIM_NAMED(r->dim), t));
        *to = op_first_row(&r->b, all);
        if (*to == VAR_NONE) return false;
        r->all[r->nrows] = all;
        r->one[r->nrows++] = *to;
    }
    return true;
}

/* Removes the effects of the body on the first row; those on all rows have replaced
 * them. */
static void drop_first_row_effects(VmapFunction *r, size_t n, const Var *was,
                                   const Var *now) {
    Graph *g = r->made;
    size_t kept = 0;
    for (size_t i = 0; i < g->effects.n; i++) {
        bool gone = i < n && was[i] != now[i];
        if (!gone) g->effects.p[kept++] = g->effects.p[i];
    }
    g->effects.n = kept;
    g->rowwise.n = 0;
}

/* Repeats a value that is the same for all rows. */
static Var broadcast_over_rows(VmapFunction *r, Var x) {
    Var size = graph_dim(r->made, r->dim);
    return var_type(r->made, x)->kind == TYPE_TENSOR ? vmap_broadcast(&r->b, x, size)
                                                     : x;
}

static bool build_vmapped_body(VmapFunction *r) {
    const Graph *fn = r->fn;
    size_t nout = fn->outputs.n, neffect = fn->effects.n, n = nout + neffect;
    Var *map = graph_import_map(fn, r->tmp, NULL);
    Var *want = NEW_N(r->tmp, n, Var), *now = NEW_N(r->tmp, n, Var);
    bool *rows = NEW_N(r->tmp, n, bool);
    for (size_t k = 0; k < n; k++)
        want[k] =
            k < nout ? fn->outputs.p[k].var : fn->apply[fn->effects.p[k - nout]].out;
    if (!add_row_inputs(r, map) ||
        !graph_import(r->made, fn, (VarList){n, want}, true, map))
        return false;
    for (size_t k = 0; k < n; k++)
        want[k] = map[want[k]];
    VmapRows given = {
        {r->nrows, r->one}, r->all, NULL, graph_dim(r->made, r->dim), false};
    if (!vmap_graph(&r->b, &given, &(VmapWant){{n, want}, nout}, now, rows))
        return false;
    drop_first_row_effects(r, neffect, want + nout, now + nout);
    bool own = fn->pullback || fn->pushforward; /* they need rows in all outputs */
    for (size_t k = 0; k < nout; k++) {
        if (own && !rows[k] && (now[k] = broadcast_over_rows(r, now[k])) == VAR_NONE)
            return false;
        Output out = {fn->outputs.p[k].label, now[k]};
        vec_push(fn->s, &r->made->outputs, out);
    }
    return true;
}

Graph *vmap_function(Graph *main, const Graph *fn, const bool *rows) {
    Sym name = vmapped_name(main->s, fn, rows);
    Graph *old = graph_function(main, name);
    if (old) return old;
    if (!session_enter(main->s))
        return session_too_deep(main->s, graph_place(fn)), NULL;
    VmapFunction r = {.main = main,
                      .fn = fn,
                      .rows = rows,
                      .dim = free_rows_dim(fn),
                      .tmp = arena_new(main->s)};
    r.made = graph_function_new(main, name);
    r.made->derived = r.made->litter = true;
    r.b = builder(r.made, true);
    r.all = NEW_N(r.tmp, fn->inputs.n, Var);
    r.one = NEW_N(r.tmp, fn->inputs.n, Var);
    bool ok = build_vmapped_body(&r) && vmap_custom_grad(main, fn, rows, r.made);
    arena_free(r.tmp);
    session_leave(main->s);
    return ok ? r.made : NULL;
}
