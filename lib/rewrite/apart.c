#include "rewrite/apart.h"

#include "part/part.h"

#include <string.h>

void apart_new(Apart *x, Rewriter *r, Arena *a, const Graph *fn, Builder *b) {
    *x = (Apart){.r = r, .a = a, .fn = fn, .b = b};
    x->lead = NEW_N(a, fn->nvar + 1, uint8_t);
    x->size = NEW_N(a, fn->nvar + 1, uint8_t);
    x->set = NEW_N(a, fn->nvar + 1, uint32_t);
    x->gain = NEW_N(a, fn->nvar + 1, int64_t);
    x->way = NEW_N(a, fn->napply + 1, uint8_t);
    x->whole = NEW_N(a, fn->nvar + 1, Var);
    x->part = NEW_N(a, fn->nvar + 1, Var *);
    memset(x->whole, 0xFF, fn->nvar * sizeof *x->whole);
    for (Var v = 0; v < fn->nvar; v++)
        x->set[v] = v;
}

int64_t apart_count(const Apart *x, Var v) {
    const Type *t = var_type(x->fn, v);
    int64_t n = 1;
    if (t->kind != TYPE_TENSOR) return -1;
    for (int i = x->lead[v]; i < t->ndim; i++)
        if (!dim_is_known(t->dim[i]) || !i64_mul(n, t->dim[i], &n)) return -1;
    return n;
}

Var apart_built(Apart *x, Var v) {
    x->failed |= v == VAR_NONE;
    return v;
}

Var *apart_room(Apart *x, size_t n) {
    return NEW_N(x->a, n + 1, Var);
}

/* ---- which values belong together ---- */

static uint32_t set_of(Apart *x, Var v) {
    while (x->set[v] != v)
        v = x->set[v] = x->set[x->set[v]];
    return v;
}

void apart_join(Apart *x, Var v, Var w) {
    if (x->size[v] && x->size[w]) x->set[set_of(x, v)] = set_of(x, w);
}

void apart_add_gain(Apart *x, Var v, int64_t gain) {
    if (x->size[v]) x->gain[set_of(x, v)] += gain;
}

bool apart_is_chosen(Apart *x, Var v) {
    return x->size[v] && x->gain[set_of(x, v)] > 0;
}

/* ---- ways ---- */

enum { FEW_ADDED = 8 };

static WayApart way_of_op(const Graph *fn, const Op *op) {
    static const struct {
        KnownOp op;
        WayApart way;
    } row[] = {{OP_SUM, APART_SUM},
               {OP_SUBTENSOR, APART_ARRANGED},
               {OP_SET_SUBTENSOR, APART_ARRANGED},
               {OP_INC_SUBTENSOR, APART_INCREASED},
               {OP_STACK, APART_ARRANGED},
               {OP_CONCATENATE, APART_ARRANGED},
               {OP_TRANSPOSE, APART_ARRANGED},
               {OP_EXPAND_DIMS, APART_KEPT},
               {OP_SQUEEZE, APART_KEPT},
               {OP_RESHAPE, APART_KEPT},
               {OP_SPECIFY_SHAPE, APART_KEPT},
               {OP_BROADCAST_TO, APART_REPEATED},
               {OP_ZEROS_LIKE, APART_FILLED},
               {OP_ONES_LIKE, APART_FILLED},
               {OP_IFELSE, APART_BRANCHES}};
    if (op->elemwise) return APART_ELEMENTWISE;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (op_is(fn->s, op, row[i].op)) return row[i].way;
    return APART_NEVER;
}

/* How many inputs have the elements of an op that arranges them. */
static size_t inputs_arranged(const Graph *fn, const Op *op, size_t nin) {
    if (op_is(fn->s, op, OP_STACK) || op_is(fn->s, op, OP_CONCATENATE)) return nin;
    return op_is(fn->s, op, OP_SET_SUBTENSOR) || op_is(fn->s, op, OP_INC_SUBTENSOR) ? 2
                                                                                    : 1;
}

size_t apart_inputs(const Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    switch ((WayApart)x->way[id]) {
    case APART_KEPT:
    case APART_REPEATED:
        return 1;
    case APART_ARRANGED:
    case APART_INCREASED:
        return inputs_arranged(x->fn, a->op, a->nin);
    case APART_FILLED:
    case APART_NEVER:
        return 0;
    case APART_ELEMENTWISE:
    case APART_SUM:
    case APART_BRANCHES:
        break;
    }
    return a->nin;
}

static bool is_number(const Graph *fn, Var v) {
    const Type *t = var_type(fn, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0;
}

/* Can v be had in elements: small, a constant as small, or one element? */
static bool has_elements(const Apart *x, Var v) {
    int64_t n = apart_count(x, v);
    return n > 0 && n <= x->most &&
           (apart_ndim(x, v) == 0 || x->size[v] || var_is_const(x->fn, v));
}

static bool sums_axis(const Graph *fn, ApplyId sum, int axis, int ndim) {
    const Apply *a = &fn->apply[sum];
    const Prop *p = op_prop(fn->s, a->op, a->props, "axis");
    bool summed = p->kind == P_NONE ||
                  (p->kind == P_INT && (p->i == axis || p->i == axis - ndim));
    for (size_t j = 0; p->kind == P_INTS && j < p->ints.n; j++)
        summed |= p->ints.p[j] == axis || p->ints.p[j] == axis - ndim;
    return summed;
}

/* Does the op sum in the order of the elements, in their own dtype? Over several axes
 * it takes them as they lie in memory. It adds up float32 in float64: of few elements
 * in rows that is left out, as the error stays that of a product of matrices. */
static bool sums_in_order(const Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    Var in = apply_in(x->fn, id)[0];
    const Type *from = var_type(x->fn, in), *to = var_type(x->fn, a->out);
    int axes = 0;
    bool few = x->lead[in] &&
               apart_count(x, in) <= FEW_ADDED * apart_count(x, a->out) &&
               (to->dtype == DT_FLOAT32 || to->dtype == DT_COMPLEX64);
    if (x->lead[in] && sums_axis(x->fn, id, 0, from->ndim)) return false;
    for (int i = 0; i < from->ndim; i++)
        axes += from->dim[i] != 1 && sums_axis(x->fn, id, i, from->ndim);
    return axes <= 1 && from->dtype == to->dtype &&
           (few || to->dtype == DT_FLOAT64 || to->dtype == DT_COMPLEX128 ||
            to->dtype == DT_INT64 || to->dtype == DT_UINT64);
}

/* Is row i of what the op arranges made of row i of its inputs? */
static bool arranges_rows(const Apart *x, ApplyId id, size_t n) {
    const Apply *a = &x->fn->apply[id];
    Part in[ELEMENTS_MOST] = {0}, out;
    if (a->nin > ELEMENTS_MOST || a->nout != 1) return false;
    for (size_t i = 0; i < n; i++)
        if (x->lead[apply_in(x->fn, id)[i]])
            in[i] = (Part){.kind = PART_ROWS, .each = 1};
    return part_apply(x->fn, x->a, id, in, &out) && out.kind == PART_ROWS &&
           out.axis == 0 && out.power == 0;
}

/* Do the rows of an operand lie along those of the result? */
static bool lies_along(const Apart *x, Var v, Var out) {
    const Type *t = var_type(x->fn, v), *to = var_type(x->fn, out);
    if (!x->lead[out]) return !x->lead[v];
    if (x->lead[v]) return t->ndim == to->ndim && t->dim[0] == to->dim[0];
    return t->ndim < to->ndim || t->dim[0] == 1;
}

static bool same_rows(const Apart *x, Var v, Var out) {
    return x->lead[v] == x->lead[out] &&
           (!x->lead[v] || var_type(x->fn, v)->dim[0] == var_type(x->fn, out)->dim[0]);
}

/* Do the inputs with elements suit the way? */
static bool inputs_suit(const Apart *x, ApplyId id, WayApart way, size_t n) {
    const Apply *a = &x->fn->apply[id];
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        bool arranged = way == APART_ARRANGED || way == APART_INCREASED;
        if (i < n ? !has_elements(x, v) : arranged && !var_is_const(x->fn, v))
            return false;
        if (i < n && (way == APART_ELEMENTWISE || way == APART_REPEATED) &&
            !lies_along(x, v, a->out))
            return false;
        /* an array may name an element twice */
        if (way == APART_INCREASED && i >= n && !is_number(x->fn, v)) return false;
        if (arranged && i < n &&
            var_type(x->fn, v)->dtype != var_type(x->fn, a->out)->dtype)
            return false;
    }
    return true;
}

static bool way_holds(const Apart *x, ApplyId id, WayApart way, size_t n) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    switch (way) {
    case APART_NEVER:
        return false;
    case APART_ELEMENTWISE:
        return a->nout == 1 && !op_may_fail(x->fn, id);
    case APART_SUM:
        return same_rows(x, in[0], a->out) && sums_in_order(x, id);
    case APART_KEPT:
        return same_rows(x, in[0], a->out) &&
               apart_count(x, in[0]) == apart_count(x, a->out) &&
               (!x->lead[a->out] || !op_is(x->fn->s, a->op, OP_SPECIFY_SHAPE));
    case APART_ARRANGED:
    case APART_INCREASED:
        return !x->lead[a->out] || arranges_rows(x, id, n);
    case APART_BRANCHES:
        for (Var k = 0; k < a->nout; k++)
            if (x->lead[a->out + k]) return false;
        return true;
    case APART_REPEATED:
    case APART_FILLED:
        break;
    }
    return true;
}

static WayApart way_of_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    WayApart way = way_of_op(x->fn, a->op);
    x->way[id] = (uint8_t)way;
    size_t n = apart_inputs(x, id);
    if (a->serial || a->op->effect) return APART_NEVER;
    for (Var k = 0; k < a->nout; k++)
        if (!has_elements(x, a->out + k)) return APART_NEVER;
    return inputs_suit(x, id, way, n) && way_holds(x, id, way, n) ? way : APART_NEVER;
}

/* Branches have each value's elements, all others any input's in any output. */
static void join_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    size_t n = apart_inputs(x, id);
    Var first = VAR_NONE;
    if (x->way[id] == APART_BRANCHES) {
        for (size_t k = 0; k < a->nout; k++) {
            apart_join(x, a->out + (Var)k, in[1 + k]);
            apart_join(x, a->out + (Var)k, in[1 + a->nout + k]);
        }
        return;
    }
    if (n && x->size[a->out]) first = a->out;
    for (size_t i = 0; i < n; i++) {
        if (!x->size[in[i]]) continue;
        if (first != VAR_NONE) apart_join(x, in[i], first);
        first = in[i];
    }
}

void apart_find_ways(Apart *x) {
    for (ApplyId id = 0; id < x->fn->napply; id++) {
        x->way[id] = (uint8_t)way_of_apply(x, id);
        join_apply(x, id);
    }
}

/* ---- whole and in elements ---- */

static Var stack_axes(Builder *b, const Type *t, int axis, int lead, const Var *el,
                      size_t *k) {
    Var in[ELEMENTS_MOST];
    if (axis == t->ndim) return el[(*k)++];
    for (Dim i = 0; i < t->dim[axis]; i++)
        in[i] = stack_axes(b, t, axis + 1, lead, el, k);
    PropArg at = {"axis", PROP_INT(lead)};
    return apply_named(b, "stack", (size_t)t->dim[axis], in, 1, &at);
}

Var apart_stack(Builder *b, const Type *t, int skip, int lead, const Var *el) {
    size_t k = 0;
    return stack_axes(b, t, skip, lead, el, &k);
}

Var apart_constant(Builder *b, const Tensor *c, size_t k) {
    Tensor t = {.dtype = c->dtype, .buf = c->buf};
    ptrdiff_t at = 0;
    for (int i = c->ndim; i-- > 0;) {
        at += (ptrdiff_t)((int64_t)k % c->shape[i] * c->stride[i]);
        k /= (size_t)c->shape[i];
    }
    t.data = (char *)c->data + at;
    return graph_const(b->g, &t, true);
}

static Var dim_as_number(Builder *b, Dim d) {
    return dim_is_named(d) ? graph_dim(b->g, dim_sym(d)) : const_int(b, d);
}

/* A vector of as many rows as v has; an element may be a number, the same in each. */
static Var as_rows(Apart *x, Var v, Var e) {
    if (!x->lead[v] || e == VAR_NONE || var_type(x->b->g, e)->ndim) return e;
    Var n = dim_as_number(x->b, var_type(x->fn, v)->dim[0]);
    return op_call2(x->b, "broadcast_to", e, ints_stack(x->b, 1, &n));
}

/* One stack of all elements, in the shape of v. */
static Var stack_rows(Apart *x, Var v, const Var *el) {
    const Type *t = var_type(x->fn, v);
    size_t n = (size_t)apart_count(x, v);
    Var in[ELEMENTS_MOST], dim[MAX_NDIM];
    for (size_t k = 0; k < n; k++)
        in[k] = as_rows(x, v, el[k]);
    PropArg at = {"axis", PROP_INT(1)};
    Var all = x->failed ? VAR_NONE : apply_named(x->b, "stack", n, in, 1, &at);
    if (all == VAR_NONE || t->ndim == 2) return all;
    for (int i = 0; i < t->ndim; i++)
        dim[i] = dim_as_number(x->b, t->dim[i]);
    return op_call2(x->b, "reshape", all, ints_stack(x->b, (size_t)t->ndim, dim));
}

Var apart_whole(Apart *x, Var v) {
    if (x->whole[v] != VAR_NONE) return x->whole[v];
    if (!x->part[v])
        x->whole[v] = graph_copy_leaf(x->b->g, x->fn, v, true);
    else if (!x->lead[v])
        x->whole[v] = apart_stack(x->b, var_type(x->fn, v), 0, 0, x->part[v]);
    else if (apart_ndim(x, v) == 0)
        x->whole[v] = as_rows(x, v, x->part[v][0]);
    else
        x->whole[v] = stack_rows(x, v, x->part[v]);
    return apart_built(x, x->whole[v]);
}

/* By the index of the language, as text. */
static Var element_of_whole(Apart *x, Var v, size_t k) {
    const Type *t = var_type(x->fn, v);
    int n = apart_ndim(x, v);
    Var in[1 + MAX_NDIM] = {apart_whole(x, v)};
    Str text = STR(x->r->s);
    if (x->lead[v]) str_putc(&text, ':');
    for (int i = n; i-- > 0;) {
        int64_t size = t->dim[x->lead[v] + i];
        in[1 + i] = const_int(x->b, (int64_t)k % size);
        k /= (size_t)size;
        str_puts(&text, text.n ? ", $" : "$");
    }
    PropArg at = {"index", PROP_STR(sym(x->r->s, str_text(&text)))};
    Var e = apply_named(x->b, "subtensor", 1 + (size_t)n, in, 1, &at);
    str_free(&text);
    return apart_built(x, e);
}

const Var *apart_elements(Apart *x, Var v) {
    size_t n = (size_t)apart_count(x, v);
    if (x->part[v]) return x->part[v];
    Var *el = apart_room(x, n);
    const Tensor *c = apart_ndim(x, v) && !x->lead[v] ? var_const(x->fn, v) : NULL;
    Tensor t = c ? *c : (Tensor){0}; /* the graph may move its leaves */
    for (size_t k = 0; k < n; k++)
        el[k] = apart_ndim(x, v) == 0 ? apart_whole(x, v)
                : c                   ? apart_constant(x->b, &t, k)
                                      : element_of_whole(x, v, k);
    return x->part[v] = el;
}

static void set_elements(Apart *x, Var v, Var *el) {
    x->whole[v] = apart_ndim(x, v) == 0 && !x->lead[v] ? el[0] : VAR_NONE;
    x->part[v] = el;
}

/* ---- an Apply in elements ---- */

/* The element of an operand that element k of the result takes. */
static size_t operand_element(const Apart *x, Var v, Var out, size_t k) {
    const Type *t = var_type(x->fn, v), *to = var_type(x->fn, out);
    size_t at = 0, step = 1;
    for (int i = to->ndim; i-- > x->lead[out];) {
        size_t here = k % (size_t)to->dim[i];
        int j = i - (to->ndim - t->ndim);
        k /= (size_t)to->dim[i];
        if (j < x->lead[v]) continue;
        if (t->dim[j] != 1) at += here * step;
        step *= (size_t)t->dim[j];
    }
    return at;
}

static bool apply_elementwise(Apart *x, ApplyId id) {
    const Apply a = x->fn->apply[id];
    size_t n = (size_t)apart_count(x, a.out);
    Var *el = apart_room(x, n), in[16];
    if (a.nin > 16) return false;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < a.nin; i++) {
            Var v = apply_in(x->fn, id)[i];
            in[i] = apart_elements(x, v)[operand_element(x, v, a.out, k)];
        }
        el[k] = x->failed ? VAR_NONE : op_apply1(x->b, a.op, a.props, a.nin, in);
        if (el[k] == VAR_NONE) return false;
    }
    set_elements(x, a.out, el);
    return true;
}

/* The element of the sum to which element k goes. */
static size_t summed_element(const Apart *x, ApplyId id, Var v, size_t k) {
    const Type *t = var_type(x->fn, v);
    size_t at = 0, step = 1;
    for (int i = t->ndim; i-- > x->lead[v];) {
        size_t here = k % (size_t)t->dim[i];
        k /= (size_t)t->dim[i];
        if (sums_axis(x->fn, id, i, t->ndim)) continue;
        at += here * step;
        step *= (size_t)t->dim[i];
    }
    return at;
}

static bool apply_sum(Apart *x, ApplyId id) {
    Var v = apply_in(x->fn, id)[0], out = x->fn->apply[id].out;
    size_t n = (size_t)apart_count(x, out), from = (size_t)apart_count(x, v);
    const Var *of = apart_elements(x, v);
    Var *el = apart_room(x, n);
    for (size_t i = 0; i < n; i++)
        el[i] = VAR_NONE;
    for (size_t k = 0; k < from && !x->failed; k++) {
        Var *to = &el[summed_element(x, id, v, k)];
        *to =
            *to == VAR_NONE ? of[k] : apart_built(x, op_call2(x->b, "add", *to, of[k]));
    }
    set_elements(x, out, el);
    return !x->failed;
}

static bool apply_kept(Apart *x, ApplyId id) {
    Var out = x->fn->apply[id].out;
    size_t n = (size_t)apart_count(x, out);
    Var *el = apart_room(x, n);
    memcpy(el, apart_elements(x, apply_in(x->fn, id)[0]), n * sizeof *el);
    set_elements(x, out, el);
    return true;
}

static bool apply_repeated(Apart *x, ApplyId id) {
    Var v = apply_in(x->fn, id)[0], out = x->fn->apply[id].out;
    size_t n = (size_t)apart_count(x, out);
    const Var *of = apart_elements(x, v);
    Var *el = apart_room(x, n);
    for (size_t k = 0; k < n; k++)
        el[k] = of[operand_element(x, v, out, k)];
    set_elements(x, out, el);
    return true;
}

/* ---- what arranges elements ---- */

/* A constant like v, of one row, of the numbers from `first` on; for v a constant
 * itself, v. */
static Var numbered(Apart *x, Var v, int64_t first, bool counted) {
    const Type *t = var_type(x->fn, v);
    Rewriter *r = x->r;
    Tensor c;
    int64_t shape[MAX_NDIM], n = apart_count(x, v);
    if (!counted) return graph_share_const(r->g, x->fn, v, true);
    for (int i = 0; i < t->ndim; i++)
        shape[i] = i < x->lead[v] ? 1 : t->dim[i];
    if (!tensor_new(r->s, DT_INT64, t->ndim, shape, &c)) return VAR_NONE;
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)c.data)[i] = first + i;
    v = graph_const(r->g, &c, false);
    tensor_unref(&c);
    return v;
}

/* Runs the op on the numbers of its inputs' elements, from 1 on; op: another op in its
 * place, or NULL. NULL: it can't run so. */
static const Tensor *arrange_numbers(Apart *x, ApplyId id, const Op *op) {
    const Apply a = x->fn->apply[id];
    Rewriter *r = x->r;
    Var *in = apart_room(x, a.nin);
    size_t counted = apart_inputs(x, id);
    int64_t first = 1, n = apart_count(x, a.out);
    for (size_t i = 0; i < a.nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        in[i] = numbered(x, v, first, i < counted);
        if (in[i] == VAR_NONE) return NULL;
        if (i < counted) first += apart_count(x, v);
    }
    rewriter_grow(r);
    Var v = rewriter_apply(r, op ? op : a.op, a.props, a.nin, in);
    if (v != VAR_NONE) v = rewriter_evaluate(r, v);
    const Tensor *t = v == VAR_NONE ? NULL : var_const(r->g, v);
    return t && tensor_size(t) == n ? t : NULL;
}

/* Element `number`, from 1 on, of the inputs. */
static Var numbered_element(Apart *x, ApplyId id, int64_t number) {
    size_t k = (size_t)number - 1, inputs = apart_inputs(x, id);
    for (size_t i = 0; number > 0 && i < inputs; i++) {
        Var v = apply_in(x->fn, id)[i];
        size_t n = (size_t)apart_count(x, v);
        if (k < n) return apart_elements(x, v)[k];
        k -= n;
    }
    return VAR_NONE;
}

/* The numbers, which don't move as the graph grows. */
static bool find_numbers(Apart *x, ApplyId id, const Op *op, int64_t *number) {
    const Tensor *at = arrange_numbers(x, id, op);
    int64_t n = at ? tensor_size(at) : 0;
    for (int64_t k = 0; k < n; k++)
        number[k] = tensor_i64(at, k);
    return at != NULL;
}

static bool apply_arranged(Apart *x, ApplyId id) {
    Var out = x->fn->apply[id].out;
    size_t n = (size_t)apart_count(x, out);
    int64_t number[ELEMENTS_MOST];
    Var *el = apart_room(x, n);
    if (!find_numbers(x, id, NULL, number)) return false;
    for (size_t k = 0; k < n; k++)
        if ((el[k] = numbered_element(x, id, number[k])) == VAR_NONE) return false;
    set_elements(x, out, el);
    return true;
}

/* Where set_subtensor would write y's elements, inc_subtensor adds them. */
static bool apply_increased(Apart *x, ApplyId id) {
    Var out = x->fn->apply[id].out, base = apply_in(x->fn, id)[0];
    size_t n = (size_t)apart_count(x, out);
    int64_t number[ELEMENTS_MOST];
    Var *el = apart_room(x, n);
    if (!find_numbers(x, id, op_known(x->fn->s, OP_SET_SUBTENSOR), number))
        return false;
    for (size_t k = 0; k < n; k++) {
        el[k] = apart_elements(x, base)[k];
        if (number[k] == (int64_t)k + 1) continue;
        Var y = numbered_element(x, id, number[k]);
        if (y == VAR_NONE) return false;
        el[k] = apart_built(x, op_call2(x->b, "add", el[k], y));
    }
    set_elements(x, out, el);
    return !x->failed;
}

static bool apply_filled(Apart *x, ApplyId id) {
    const Apply a = x->fn->apply[id];
    const Type *t = var_type(x->fn, a.out);
    size_t n = (size_t)apart_count(x, a.out);
    Var *el = apart_room(x, n);
    bool ones = op_is(x->fn->s, a.op, OP_ONES_LIKE);
    for (size_t k = 0; k < n; k++)
        el[k] = apart_built(x, const_number(x->b, t->dtype, ones));
    set_elements(x, a.out, el);
    return true;
}

/* ---- branches ---- */

/* Appends what one value of a branch is now: elements, or itself. */
static size_t put_branch_value(Apart *x, Var out, Var v, Var *in, size_t n) {
    if (!apart_is_chosen(x, out)) {
        in[n] = apart_whole(x, v);
        return n + 1;
    }
    memcpy(in + n, apart_elements(x, v), x->size[out] * sizeof *in);
    return n + x->size[out];
}

static bool apply_branches(Apart *x, ApplyId id) {
    const Apply a = x->fn->apply[id];
    Var *in = apart_room(x, (size_t)a.nin * ELEMENTS_MOST), *out;
    size_t n = 1;
    in[0] = apart_whole(x, apply_in(x->fn, id)[0]);
    for (size_t i = 1; i < a.nin; i++)
        n = put_branch_value(x, a.out + (Var)((i - 1) % a.nout), apply_in(x->fn, id)[i],
                             in, n);
    if (n / 2 > OUT_MAX) return false;
    out = apart_room(x, OUT_MAX);
    if (!op_apply(x->b, a.op, a.props, n, in, out)) return false;
    for (Var v = a.out; v < a.out + a.nout; v++) {
        set_elements(x, v, out);
        if (!apart_is_chosen(x, v)) x->whole[v] = out[0], x->part[v] = NULL;
        out += apart_is_chosen(x, v) ? x->size[v] : 1;
    }
    return true;
}

/* ---- all ---- */

bool apart_takes(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    bool any = false;
    for (Var v = a->out; v < a->out + a->nout; v++)
        any |= apart_is_chosen(x, v);
    for (size_t i = 0; i < a->nin && x->way[id] != APART_FILLED; i++)
        any |= apart_is_chosen(x, apply_in(x->fn, id)[i]);
    return any && x->way[id] != APART_NEVER;
}

bool apart_apply(Apart *x, ApplyId id) {
    switch ((WayApart)x->way[id]) {
    case APART_NEVER:
        break;
    case APART_ELEMENTWISE:
        return apply_elementwise(x, id);
    case APART_SUM:
        return apply_sum(x, id);
    case APART_KEPT:
        return apply_kept(x, id);
    case APART_REPEATED:
        return apply_repeated(x, id);
    case APART_ARRANGED:
        return apply_arranged(x, id);
    case APART_INCREASED:
        return apply_increased(x, id);
    case APART_FILLED:
        return apply_filled(x, id);
    case APART_BRANCHES:
        return apply_branches(x, id);
    }
    return false;
}
