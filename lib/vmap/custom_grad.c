/* vmap of a function's custom pullback or pushforward: the derivative is vmapped like
 * the function itself, and a wrapper function gives its results the right shapes. An
 * input without rows has a single gradient, the sum over all rows; a result that is the
 * same for all rows is broadcast. */
#include "vmap/kit.h"
#include "vmap/vmap.h"

#include <stdio.h>

typedef struct CustomGrad {
    Graph *main, *fn; /* fn: already vmapped; all its outputs have rows */
    const Graph *by;  /* the custom pullback or pushforward of one row */
    const bool *rows; /* by input of fn */
    bool pull;
    size_t n; /* inputs of `by`: those of fn, then cotangents or tangents */
    Graph *made;
    Builder b;
    Arena *tmp;
} CustomGrad;

static Sym free_grad_name(const CustomGrad *o) {
    Session *s = o->main->s;
    Str text = STR(s);
    const char *what = o->pull ? "own_pullback" : "own_pushforward";
    str_printf(&text, "%s_%s", sym_text(s, o->fn->name), what);
    Sym y = sym(s, str_text(&text));
    for (unsigned i = 1; graph_function(o->main, y); i++) {
        str_clear(&text);
        str_printf(&text, "%s_%s_%u", sym_text(s, o->fn->name), what, i);
        y = sym(s, str_text(&text));
    }
    str_free(&text);
    return y;
}

/* The variable of fn that argument i of `by` belongs to: an input, or the output whose
 * cotangent it is. */
static Var primal_of(const CustomGrad *o, size_t i) {
    size_t nin = o->fn->inputs.n;
    if (i < nin) return o->fn->inputs.p[i];
    return o->pull ? o->fn->outputs.p[i - nin].var : o->fn->inputs.p[i - nin];
}

static Var add_grad_input(CustomGrad *o, size_t i) {
    Session *s = o->main->s;
    Var x = primal_of(o, i);
    const Type *t = var_type(o->fn, x);
    if (i < o->fn->inputs.n) return graph_input(o->made, var_name(o->fn, x), t);
    char name[40];
    snprintf(name, sizeof name, "d%zu", i);
    for (unsigned k = 0; graph_find(o->made, sym(s, name)) != VAR_NONE; k++)
        snprintf(name, sizeof name, "d%zu_%u", i, k);
    if (dtype_is_discrete(t->dtype)) t = type_with_dtype(s, t, o->b.floatX);
    return graph_input(o->made, sym(s, name), t);
}

/* Gives result k of the vmapped derivative the shape of the variable it belongs to. */
static Var fit_result(CustomGrad *o, size_t k, Var x, Var size) {
    const Type *t = var_type(o->made, x),
               *row = var_type(o->by, o->by->outputs.p[k].var);
    if (t->kind != TYPE_TENSOR) return x;
    bool has = t->ndim > row->ndim, wanted = !o->pull || o->rows[k];
    if (has && !wanted) {
        int64_t first = 0;
        PropArg axis = {"axis", PROP_INTS(&first, 1)};
        return apply_named(&o->b, "sum", 1, &x, 1, &axis);
    }
    if (has) return x;
    return wanted ? vmap_broadcast(&o->b, x, size)
                  : op_call2(&o->b, "multiply", x, op_cast_to(&o->b, size, t->dtype));
}

static bool build_rows_grad(CustomGrad *o) {
    Session *s = o->main->s;
    size_t nin = o->fn->inputs.n, nout = o->by->outputs.n;
    Var *arg = NEW_N(o->tmp, o->n, Var), *out = NEW_N(o->tmp, nout, Var);
    bool *rows = NEW_N(o->tmp, o->n, bool);
    Var first = VAR_NONE;
    for (size_t i = 0; i < o->n; i++) {
        rows[i] = i < nin ? o->rows[i] : o->pull || o->rows[i - nin];
        arg[i] = add_grad_input(o, i);
        if (rows[i] && first == VAR_NONE) first = arg[i];
    }
    const Graph *all = vmap_function(o->main, o->by, rows);
    const Op *call = op_known(s, OP_CALL);
    if (!all) return false;
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = all->name}};
    if (!op_apply(&o->b, call, props_make(s, call, 1, &which), o->n, arg, out))
        return false;
    Var size = shape_of(&o->b, first, 0);
    for (size_t k = 0; k < nout; k++) {
        Var x = fit_result(o, k, out[k], size);
        if (x == VAR_NONE) return false;
        vec_push(s, &o->made->outputs, ((Output){o->by->outputs.p[k].label, x}));
    }
    return true;
}

/* A derivative that doesn't fit its function stays as it is; whoever uses it reports
 * that. */
static bool fits_function(const CustomGrad *o) {
    size_t nin = o->fn->inputs.n, nout = o->fn->outputs.n;
    return o->by->inputs.n == o->n && o->by->outputs.n == (o->pull ? nin : nout);
}

static bool derive_for_rows(Graph *main, Graph *fn, const bool *rows, bool pull,
                            Sym from, Sym *to) {
    size_t nin = fn->inputs.n;
    CustomGrad o = {.main = main,
                    .fn = fn,
                    .by = graph_function(main, from),
                    .rows = rows,
                    .pull = pull,
                    .n = nin + (pull ? fn->outputs.n : nin)};
    *to = from;
    if (from == 0 || !o.by || !fits_function(&o)) return true;
    o.made = graph_function_new(main, free_grad_name(&o));
    o.made->derived = true;
    o.b = builder(o.made, true);
    o.tmp = arena_new(main->s);
    *to = o.made->name;
    bool ok = build_rows_grad(&o);
    arena_free(o.tmp);
    return ok;
}

bool vmap_custom_grad(Graph *main, const Graph *fn, const bool *rows, Graph *made) {
    return derive_for_rows(main, made, rows, true, fn->pullback, &made->pullback) &&
           derive_for_rows(main, made, rows, false, fn->pushforward,
                           &made->pushforward);
}
