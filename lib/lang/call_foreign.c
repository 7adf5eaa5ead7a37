/* Calls as NumPy, SciPy and PyTorch have them, where a function of the same name has
 * its arguments in another order here: taken as they are meant where that is the only
 * sense, else refused, or warned of where they could mean both. */
#include "lang/call_impl.h"

#include <stdlib.h>
#include <string.h>

static bool is_literal(const Node *n, DKind k) {
    return n->kind == NODE_LITERAL && n->lit.kind == k;
}
static bool is_bool(const Node *n) {
    return is_literal(n, K_BOOL);
}
static bool is_int(const Node *n) {
    return is_literal(n, K_INT);
}

static const Type *type_of(Compiler *c, const Node *n) {
    return n->kind == NODE_VAR ? var_type(c->b->g, n->var) : NULL;
}

/* Dims of a value, -1 where it is none, or none yet. */
static int ndim_of(Compiler *c, const Node *n) {
    const Type *t = type_of(c, n);
    if (n->kind == NODE_LITERAL) return 0;
    return t && t->kind == TYPE_TENSOR ? t->ndim : -1;
}

static void drop(Positional *p, size_t k) {
    memmove(&p->arg[k], &p->arg[k + 1], (--p->n - k) * sizeof *p->arg);
}

/* Argument k is the prop of this name, and those behind it move up. */
static bool take_as_prop(Compiler *c, CallArgs *a, Positional *p, size_t k,
                         const char *prop) {
    size_t i = 0;
    while (strcmp(sym_text(c->s, a->sig->prop[i].name), prop) != 0)
        i++;
    if (p->arg[k].kind != NODE_NONE &&
        !call_args_put(c, a, a->sig->nin + i, &p->arg[k]))
        return false;
    drop(p, k);
    return true;
}

/* average(x, axis, weights): one weight for all would say nothing. */
static bool order_average(Compiler *c, CallArgs *a, Positional *p) {
    bool axis = p->n > 1 && (is_int(&p->arg[1]) || p->arg[1].kind == NODE_NONE);
    if (!axis || (p->n > 2 && is_int(&p->arg[2]))) return true;
    return take_as_prop(c, a, p, 1, "axis");
}

/* histogram(x, bins, range, density, weights) */
static bool order_density(Compiler *c, CallArgs *a, Positional *p, size_t k) {
    bool none = p->n > k + 1 && p->arg[k].kind == NODE_NONE && !is_bool(&p->arg[k + 1]);
    if (p->n <= k || !(none || is_bool(&p->arg[k]))) return true;
    return take_as_prop(c, a, p, k, "density");
}
static bool order_histogram(Compiler *c, CallArgs *a, Positional *p) {
    return order_density(c, a, p, 3);
}
static bool order_histogram2d(Compiler *c, CallArgs *a, Positional *p) {
    return order_density(c, a, p, 4);
}

/* nan_to_num(x, copy, nan, ...) */
static bool order_nan_to_num(Compiler *c, CallArgs *a, Positional *p) {
    (void)c, (void)a;
    if (p->n > 1 && is_bool(&p->arg[1])) drop(p, 1);
    return true;
}

/* linspace(start, stop, num, endpoint, ...) */
static bool order_endpoint(Compiler *c, CallArgs *a, Positional *p) {
    if (p->n < 4 || !is_bool(&p->arg[3])) return true;
    if (p->arg[3].lit.u) return drop(p, 3), true;
    call_args_fail(c, a, p->arg[3].at, E_ARG, "has no argument", "endpoint");
    return call_args_advise(c, a, "endpoint");
}

/* lu_solve((lu, piv), b), cho_solve((c, lower), b) */
static bool order_lu_solve(Compiler *c, CallArgs *a, Positional *p) {
    (void)c, (void)a;
    if (p->n != 2 || p->arg[0].kind != NODE_LIST || p->arg[0].n != 2) return true;
    const Node *item = p->arg[0].item;
    memmove(&p->arg[2], &p->arg[1], (p->n++ - 1) * sizeof *p->arg);
    p->arg[0] = item[0];
    p->arg[1] = item[1];
    return true;
}
static bool order_cho_solve(Compiler *c, CallArgs *a, Positional *p) {
    bool pair = p->n > 0 && p->arg[0].kind == NODE_LIST && p->arg[0].n == 2 &&
                is_bool(&p->arg[0].item[1]);
    if (!pair) return true;
    return order_lu_solve(c, a, p) && take_as_prop(c, a, p, 1, "lower");
}

/* Is it an integer without a dtype of its own that might be the size of dim k? */
static bool may_be_size(Compiler *c, const Node *n, const Type *x, int k) {
    int64_t v;
    if (k < 0) return false;
    if (n->kind == NODE_LITERAL)
        return is_int(n) && literal_i64(&n->lit, &v) && dim_is_known(x->dim[k]) &&
               v == x->dim[k] && v != 1; /* a scale of 1 says nothing */
    const Type *t = type_of(c, n);
    return n->weak && t && t->ndim == 0 && dtype_is_discrete(t->dtype);
}

/* layer_norm(x, shape of the last dims, scale, bias) */
static bool order_norm(Compiler *c, CallArgs *a, Positional *p) {
    const Type *x = p->n > 1 ? type_of(c, &p->arg[0]) : NULL;
    if (!x || x->kind != TYPE_TENSOR) return true;
    const Node *given = &p->arg[1];
    bool list = given->kind == NODE_LIST, sizes = !list || given->n > 0;
    const Node *item = list ? given->item : given;
    int n = list ? (int)given->n : 1;
    for (int i = 0; i < n && sizes; i++)
        sizes = may_be_size(c, &item[i], x, x->ndim - n + i);
    if (!sizes) return true;
    fail(c->s, given->at, E_ARG,
         "%s takes the scale here, and this is the shape of the last dim%s",
         a->op->name, n > 1 ? "s" : "");
    Str axes = STR(c->s);
    for (int i = n; i > 0; i--)
        str_printf(&axes, "%s-%d", i < n ? ", " : "", i);
    note(c->s, NOWHERE, "write axis=%s%s%s, or scale= if it is one", n > 1 ? "[" : "",
         str_text(&axes), n > 1 ? "]" : "");
    str_free(&axes);
    return false;
}

/* triu_indices(n, k, m): PyTorch has columns second, too. */
static bool warn_indices(Compiler *c, CallArgs *a, Positional *p) {
    int64_t n, m;
    if (p->n < 2 || !is_int(&p->arg[1]) || !literal_i64(&p->arg[1].lit, &m))
        return true;
    bool square = is_int(&p->arg[0]) && literal_i64(&p->arg[0].lit, &n) && n == m;
    if (square) return true;
    if (m < 0)
        fail(c->s, p->arg[1].at, E_ARG, "%s takes the number of columns here, not %lld",
             a->op->name, (long long)m);
    else if (!compiler_warns(c, p->arg[1].at))
        return true;
    else
        warn(c->s, p->arg[1].at, E_ARG, "%s takes the number of columns here",
             a->op->name);
    note(c->s, NOWHERE, "write k=%lld for the diagonal%s", (long long)m,
         m < 0 ? "" : ", or m= if the columns are meant");
    return m >= 0;
}

/* polyint(p, m, k) */
static bool warn_polyint(Compiler *c, CallArgs *a, Positional *p) {
    if (p->n < 2 || !is_int(&p->arg[1]) || !compiler_warns(c, p->arg[1].at))
        return true;
    warn(c->s, p->arg[1].at, E_ARG,
         "%s takes the constant here, not how often to integrate", a->op->name);
    note(c->s, NOWHERE,
         "write polyint(polyint(p)) for twice, or k= if the constant is "
         "meant");
    return true;
}

/* max(a, b) is of two values in Python and PyTorch. */
static bool refuse_two(Compiler *c, CallArgs *a, Positional *p) {
    bool number = p->n > 1 && p->arg[1].kind == NODE_LITERAL;
    if (p->n < 2 ||
        !(p->arg[1].kind == NODE_VAR || (number && ndim_of(c, &p->arg[0]) == 0)))
        return true;
    fail(c->s, p->arg[1].at, E_ARG, "%s takes an axis here, not a second value",
         a->op->name);
    note(c->s, NOWHERE, "write %simum(x, y) for the %s of two", a->op->name,
         a->op->name[1] == 'a' ? "larger" : "smaller");
    return false;
}

/* x.transpose(0, 1) and x.transpose(-2, -1) of a matrix: NumPy's leaves it as it is. */
static bool swaps_nothing(const Positional *p, int ndim) {
    const Node *axes = &p->arg[1];
    int64_t i, j;
    if (!p->method || ndim != 2 || axes->kind != NODE_LIST || axes->n != 2 ||
        !is_int(&axes->item[0]) || !is_int(&axes->item[1]))
        return false;
    return literal_i64(&axes->item[0].lit, &i) && literal_i64(&axes->item[1].lit, &j) &&
           (i == 0 || i == -2) && (j == 1 || j == -1);
}

/* transpose(x, 0, 1) is PyTorch's, and another thing than transpose(x, (0, 1)). */
static bool refuse_two_dims(Compiler *c, CallArgs *a, Positional *p) {
    int ndim = p->n > 1 ? ndim_of(c, &p->arg[0]) : -1;
    bool loose = p->n == 3 && is_int(&p->arg[1]) && is_int(&p->arg[2]);
    bool list =
        p->n == 2 && ((p->arg[1].kind == NODE_LIST && p->arg[1].n == 2 && ndim > 2) ||
                      swaps_nothing(p, ndim));
    if (!loose && !list) return true;
    fail(c->s, p->arg[1].at, E_ARG,
         "%s takes all axes in their new order, as a list, not the two to swap",
         a->op->name);
    note(c->s, NOWHERE, "write swapaxes(x, i, j)");
    return false;
}

/* x.select(0, 1) is PyTorch's x[1]; the conditions come first here. */
static bool refuse_select(Compiler *c, CallArgs *a, Positional *p) {
    const Type *x = p->method && p->n > 1 ? type_of(c, &p->arg[0]) : NULL;
    if (!x || x->dtype == DT_BOOL) return true;
    fail(c->s, p->arg[0].at, E_ARG, "%s takes the condition first, not %s", a->op->name,
         type_str(c->s, x));
    note(c->s, NOWHERE, "write %s(condition, x, ...)", a->op->name);
    return false;
}

/* x.where(c, y), x.compress(c): so does the condition. */
static bool refuse_method(Compiler *c, CallArgs *a, Positional *p) {
    const Node *next = &p->arg[p->n > 1];
    if (next->kind == NODE_LIST && next->n > 0) next = next->item;
    const Type *t = type_of(c, next);
    bool is_condition = is_bool(next) || (t && t->dtype == DT_BOOL);
    return !is_condition || refuse_select(c, a, p);
}

/* cross_entropy(labels, scores) is the order of other libraries. */
static bool refuse_labels(Compiler *c, CallArgs *a, Positional *p) {
    const Type *x = p->n > 1 ? type_of(c, &p->arg[0]) : NULL,
               *y = x ? type_of(c, &p->arg[1]) : NULL;
    if (!y || !dtype_is_integer(x->dtype) || !dtype_is_float(y->dtype)) return true;
    fail(c->s, p->arg[0].at, E_ARG, "%s takes the scores first, and then the labels",
         a->op->name);
    note(c->s, NOWHERE, "write %s(scores, labels)", a->op->name);
    return false;
}

/* normal(key, ...) is JAX's, and state.normal(...) NumPy's. */
static bool refuse_state(Compiler *c, CallArgs *a, Positional *p) {
    const Type *t = p->n > 0 ? type_of(c, &p->arg[0]) : NULL;
    if (!t || t->kind != TYPE_RANDOM) return true;
    fail(c->s, p->arg[0].at, E_TYPE,
         "%s takes the state of a random stream as rng=", a->op->name);
    note(c->s, NOWHERE, "write state, y = %s(..., rng=r)", a->op->name);
    return false;
}

typedef bool Order(Compiler *c, CallArgs *a, Positional *p);

/* The row of a table that is sorted by names of ops, its first members; NULL: none. Not
 * of a user's op of such a name, nor in the library's own texts. */
static int compare_names(const void *name, const void *row) {
    return strcmp(name, *(const char *const *)row);
}
static const void *find_row(const Compiler *c, const Op *op, const void *table,
                            size_t n, size_t size) {
    if (c->env || (op->body && !op->yields)) return NULL;
    return bsearch(op->name, table, n, size, compare_names);
}
#define FIND_ROW(c, op, table)                                                         \
    find_row(c, op, table, sizeof(table) / sizeof *(table), sizeof *(table))

bool call_args_foreign(Compiler *c, CallArgs *a, Positional *p) {
    typedef struct Row {
        const char *op;
        Order *order;
    } Row;
    static const Row table[] = {
        {"average", order_average},
        {"cho_solve", order_cho_solve},
        {"compress", refuse_method},
        {"cross_entropy", refuse_labels},
        {"geomspace", order_endpoint},
        {"histogram", order_histogram},
        {"histogram2d", order_histogram2d},
        {"integers", refuse_state},
        {"layer_norm", order_norm},
        {"linspace", order_endpoint},
        {"logspace", order_endpoint},
        {"lu_solve", order_lu_solve},
        {"max", refuse_two},
        {"min", refuse_two},
        {"nan_to_num", order_nan_to_num},
        {"nll_loss", refuse_labels},
        {"normal", refuse_state},
        {"permutation", refuse_state},
        {"polyint", warn_polyint},
        {"rms_norm", order_norm},
        {"select", refuse_select},
        {"transpose", refuse_two_dims},
        {"tril_indices", warn_indices},
        {"triu_indices", warn_indices},
        {"uniform", refuse_state},
        {"where", refuse_method},
    };
    const Row *row = FIND_ROW(c, a->op, table);
    return !row || row->order(c, a, p);
}

/* NumPy's cross also takes vectors with two elements. */
static bool check_cross(Compiler *c, const CallArgs *a) {
    for (size_t i = 0; i < 2 && !a->has_prop[0]; i++) {
        const Type *t = a->has_in[i] ? type_of(c, &a->in[i]) : NULL;
        Dim last = t && t->kind == TYPE_TENSOR && t->ndim ? t->dim[t->ndim - 1] : 3;
        if (last == 3 || !dim_is_known(last)) continue;
        fail(c->s, a->in[i].at, E_SHAPE, "%s takes vectors with three elements, not %s",
             a->op->name, type_str(c->s, t));
        if (last == 2)
            note(c->s, NOWHERE, "with two elements it is x[0] * y[1] - x[1] * y[0]");
        return false;
    }
    return true;
}

/* trapezoid(y, 0.5): a number is no position. */
static bool check_positions(Compiler *c, const CallArgs *a) {
    if (!a->has_in[1] || ndim_of(c, &a->in[1]) != 0) return true;
    const Node *x = &a->in[1];
    if (x->kind == NODE_LITERAL && literal_f64(&x->lit) == 0) return true;
    fail(c->s, x->at, E_ARG,
         "%s takes the positions of the values as x, not one number", a->op->name);
    note(c->s, NOWHERE, "write dx= for the distance between them");
    return false;
}

/* gradient(x) is along the last axis, and NumPy's a list, of one along each. */
static bool note_one_axis(Compiler *c, const CallArgs *a) {
    const Type *t = a->has_in[0] ? type_of(c, &a->in[0]) : NULL;
    if (a->has_prop[0] || !t || t->ndim < 2 || c->noted_one_axis) return true;
    warn(c->s, a->at, E_ARG, "%s without an axis is along the last of %s", a->op->name,
         type_str(c->s, t));
    note(c->s, NOWHERE, "write axis=0 for another axis, or axis=-1 if this is meant");
    return c->noted_one_axis = true;
}

/* where(c) is of the positions. */
static bool check_where(Compiler *c, const CallArgs *a) {
    if (a->has_in[1]) return true;
    call_args_fail(c, a, a->at, E_ARITY, "needs the argument", "x");
    note(c->s, NOWHERE, "nonzero(cond) has the positions");
    return false;
}

bool call_args_check(Compiler *c, const CallArgs *a) {
    typedef struct Row {
        const char *op;
        bool (*check)(Compiler *c, const CallArgs *a);
    } Row;
    static const Row table[] = {
        {"cross", check_cross},      {"cumulative_trapezoid", check_positions},
        {"gradient", note_one_axis}, {"trapezoid", check_positions},
        {"where", check_where},
    };
    const Row *row = FIND_ROW(c, a->op, table);
    return !row || row->check(c, a);
}

bool call_foreign_keyword(Compiler *c, const CallArgs *a, Sym *name) {
    static const struct {
        const char *op, *theirs, *ours; /* NULL: it says nothing here */
    } table[] = {
        {"nan_to_num", "copy", NULL}, /* values never change */
        {"nan_to_num", "nan", "value"},
    };
    if (a->op->body && !a->op->yields) return true;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].theirs, sym_text(c->s, *name)) != 0 ||
            strcmp(table[i].op, a->op->name) != 0)
            continue;
        if (!table[i].ours) return false;
        *name = sym(c->s, table[i].ours);
    }
    return true;
}
