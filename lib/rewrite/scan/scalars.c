/* Small vectors of a loop's body become numbers, element by element: a state of two
 * that each step reads by index and stacks anew is two states. A step then has no
 * reads, stacks and small sums, each of which costs as much as some fifty operations on
 * numbers, and what is left fuses into few groups.
 *
 * Vectors that an op takes and makes element by element belong together: all of them
 * are taken apart, or none. What arranges elements (an index, a stack, a transpose) is
 * run once on the numbers of the elements, which tells where each comes from. */
#include "rewrite/read/read.h"
#include "rewrite/scan/pass.h"

#include <string.h>

/* In operations on numbers: what running an Apply costs besides, what a loop does for
 * each row, and what nothing outweighs. */
enum { MOST_ELEMENTS = 16, DISPATCH = 50, ROW_COST = 10, NEVER = -(1 << 30) };

typedef enum WayApart {
    APART_NEVER,
    APART_ELEMENTWISE,
    APART_SUM,
    APART_ARRANGED, /* outputs are elements of the first inputs; the rest is constant */
    APART_INCREASED, /* inc_subtensor */
    APART_FILLED,    /* zeros_like, ones_like */
    APART_BRANCHES   /* ifelse */
} WayApart;

typedef struct Apart {
    Scan *l;
    const Graph *fn;
    uint8_t *size;   /* by variable of the body: its elements; 0: never taken apart */
    uint32_t *set;   /* by variable: of its set, or itself */
    int64_t *gain;   /* by root of a set: of taking it apart, in operations */
    uint8_t *way;    /* by Apply: WayApart */
    Var *whole;      /* by variable: in the new body; VAR_NONE: not there so far */
    Var **part;      /* by variable: its elements there; NULL: none so far */
    size_t *results; /* by output of the loop: the first of its elements' in m->out */
    bool failed;     /* something could not be built, which is diagnosed */
} Apart;

static Var built(Apart *x, Var v) {
    x->failed |= v == VAR_NONE;
    return v;
}

/* ---- which vectors belong together ---- */

static uint32_t set_of(Apart *x, Var v) {
    while (x->set[v] != v)
        v = x->set[v] = x->set[x->set[v]];
    return v;
}

static void join_sets(Apart *x, Var v, Var w) {
    if (x->size[v] && x->size[w]) x->set[set_of(x, v)] = set_of(x, w);
}

static bool is_apart(Apart *x, Var v) {
    return x->size[v] && x->gain[set_of(x, v)] > 0;
}

static void note_small(Apart *x) {
    for (Var v = 0; v < x->fn->nvar; v++) {
        const Type *t = var_type(x->fn, v);
        int64_t n = t->kind == TYPE_TENSOR && t->ndim > 0 ? type_size(t) : -1;
        x->set[v] = v;
        x->size[v] =
            n > 0 && n <= MOST_ELEMENTS && !var_is_const(x->fn, v) ? (uint8_t)n : 0;
    }
}

/* How many inputs have the elements of an op that arranges them. */
static size_t arranged_inputs(const Graph *fn, const Apply *a) {
    KnownOp all[] = {OP_STACK, OP_CONCATENATE};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (op_is(fn->s, a->op, all[i])) return a->nin;
    return op_is(fn->s, a->op, OP_SET_SUBTENSOR) ||
                   op_is(fn->s, a->op, OP_INC_SUBTENSOR)
               ? 2
               : 1;
}

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
               {OP_EXPAND_DIMS, APART_ARRANGED},
               {OP_SQUEEZE, APART_ARRANGED},
               {OP_TRANSPOSE, APART_ARRANGED},
               {OP_RESHAPE, APART_ARRANGED},
               {OP_BROADCAST_TO, APART_ARRANGED},
               {OP_SPECIFY_SHAPE, APART_ARRANGED},
               {OP_ZEROS_LIKE, APART_FILLED},
               {OP_ONES_LIKE, APART_FILLED},
               {OP_IFELSE, APART_BRANCHES}};
    if (op->elemwise) return APART_ELEMENTWISE;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (op_is(fn->s, op, row[i].op)) return row[i].way;
    return APART_NEVER;
}

static bool is_number(const Graph *fn, Var v) {
    const Type *t = var_type(fn, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0;
}

/* Can v be had in elements: small, a constant as small, or a number? */
static bool has_elements(const Apart *x, Var v) {
    const Type *t = var_type(x->fn, v);
    int64_t n = t->kind == TYPE_TENSOR ? type_size(t) : -1;
    return n > 0 && n <= MOST_ELEMENTS &&
           (t->ndim == 0 || x->size[v] || var_is_const(x->fn, v));
}

static bool is_summed_axis(const Graph *fn, const Apply *a, int axis, int ndim) {
    const Prop *p = op_prop(fn->s, a->op, a->props, "axis");
    bool summed = p->kind == P_NONE ||
                  (p->kind == P_INT && (p->i == axis || p->i == axis - ndim));
    for (size_t j = 0; p->kind == P_INTS && j < p->ints.n; j++)
        summed |= p->ints.p[j] == axis || p->ints.p[j] == axis - ndim;
    return summed;
}

/* Does the op sum in the order of the elements, in their own dtype? Over several axes
 * it takes them as they lie in memory. */
static bool sums_in_order(const Graph *fn, const Apply *a) {
    const Type *from = var_type(fn, fn->in[a->in]), *to = var_type(fn, a->out);
    int axes = 0;
    for (int i = 0; i < from->ndim; i++)
        axes += from->dim[i] != 1 && is_summed_axis(fn, a, i, from->ndim);
    return axes <= 1 && from->dtype == to->dtype &&
           (to->dtype == DT_FLOAT64 || to->dtype == DT_COMPLEX128 ||
            to->dtype == DT_INT64 || to->dtype == DT_UINT64);
}

static size_t inputs_in_elements(const Apart *x, const Apply *a, WayApart way) {
    return way == APART_ARRANGED || way == APART_INCREASED ? arranged_inputs(x->fn, a)
           : way == APART_FILLED                           ? 0
                                                           : a->nin;
}

static WayApart way_of_apply(const Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    WayApart way = way_of_op(x->fn, a->op);
    size_t n = inputs_in_elements(x, a, way);
    bool ok = !a->serial && !a->op->effect &&
              (way != APART_ELEMENTWISE || (a->nout == 1 && !op_may_fail(x->fn, id))) &&
              (way != APART_SUM || sums_in_order(x->fn, a));
    for (size_t i = 0; ok && i < a->nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        ok = i < n ? has_elements(x, v) : way == APART_FILLED || var_is_const(x->fn, v);
        /* an array may name an element twice */
        if (way == APART_INCREASED && i >= n) ok = ok && is_number(x->fn, v);
        if (ok && i < n && (way == APART_ARRANGED || way == APART_INCREASED))
            ok = var_type(x->fn, v)->dtype == var_type(x->fn, a->out)->dtype;
    }
    for (Var k = 0; ok && k < a->nout; k++)
        ok = has_elements(x, a->out + k);
    return ok ? way : APART_NEVER;
}

/* Branches have each value's elements, all others any input's in any output. */
static void join_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    WayApart way = x->way[id];
    size_t n = way == APART_NEVER ? 0 : inputs_in_elements(x, a, way);
    Var first = VAR_NONE;
    for (size_t k = 0; way == APART_BRANCHES && k < a->nout; k++) {
        join_sets(x, a->out + (Var)k, in[1 + k]);
        join_sets(x, a->out + (Var)k, in[1 + a->nout + k]);
    }
    if (way == APART_BRANCHES || n == 0) return;
    if (x->size[a->out]) first = a->out;
    for (size_t i = 0; i < n; i++) {
        if (!x->size[in[i]]) continue;
        if (first != VAR_NONE) join_sets(x, in[i], first);
        first = in[i];
    }
}

static void join_states(Apart *x) {
    const ScanForm *f = &x->l->part.f;
    for (size_t o = 0; o < f->nout; o++)
        for (size_t k = 0; k < f->out[o].ntap; k++) {
            Var in = x->fn->inputs.p[f->out[o].in + k];
            join_sets(x, in, x->fn->outputs.p[o].var);
            join_sets(x, in, x->fn->inputs.p[f->out[o].in]);
        }
}

/* ---- what it gains ---- */

static void add_gain(Apart *x, Var v, int64_t gain) {
    if (x->size[v]) x->gain[set_of(x, v)] += gain;
}

static void add_gain_of_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    Var of = x->size[a->out] ? a->out : in[0];
    switch ((WayApart)x->way[id]) {
    case APART_NEVER: /* vectors to stack for it, or its result to read */
        for (size_t i = 0; i < a->nin; i++)
            add_gain(x, in[i], -DISPATCH);
        for (Var v = a->out; v < a->out + a->nout; v++)
            add_gain(x, v, -DISPATCH * (int64_t)x->size[v]);
        break;
    case APART_ELEMENTWISE:
        add_gain(x, a->out, 1 - (int64_t)x->size[a->out]);
        break;
    case APART_SUM:
        add_gain(x, in[0], DISPATCH);
        break;
    case APART_ARRANGED:
    case APART_INCREASED:
        for (size_t i = 0; i < a->nin && !x->size[of]; i++)
            of = in[i];
        add_gain(x, of, DISPATCH);
        break;
    case APART_FILLED:
    case APART_BRANCHES:
        break;
    }
}

/* Has an argument the shape that the body expects of a row, so that no check is lost?
 */
static bool argument_fits(const Apart *x, size_t i, size_t arg, int lead) {
    const Type *want = var_type(x->fn, x->fn->inputs.p[i]),
               *t = var_type(x->l->r->g, x->l->part.arg[arg]);
    bool same = t->kind == TYPE_TENSOR && t->ndim == want->ndim + lead;
    for (int k = 0; same && k < want->ndim; k++)
        same = t->dim[lead + k] == want->dim[k];
    return same;
}

/* A loop copies a row, whatever its size, of each argument and result. */
static void add_gain_of_input(Apart *x, size_t i, size_t arg, int lead) {
    Var in = x->fn->inputs.p[i];
    if (!x->size[in]) return;
    add_gain(x, in, ROW_COST * (1 - (int64_t)x->size[in]));
    if (!argument_fits(x, i, arg, lead)) add_gain(x, in, NEVER);
}

static void add_gain_of_output(Apart *x, size_t o) {
    const ScanOut *out = &x->l->part.f.out[o];
    Var v = x->fn->outputs.p[o].var;
    const Type *t = var_type(x->fn, v);
    add_gain(x, v, ROW_COST * (1 - (int64_t)x->size[v]));
    for (size_t k = 0; k < out->ntap; k++) {
        Var in = x->fn->inputs.p[out->in + k];
        add_gain_of_input(x, out->in + k, out->arg, !scan_one_row(out));
        if (var_type(x->fn, in) == t) continue;
        add_gain(x, in, NEVER);
        add_gain(x, v, NEVER);
    }
}

static void add_gain_of_rows(Apart *x) {
    const ScanForm *f = &x->l->part.f;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            add_gain_of_input(x, f->seq[i].in + k, f->seq[i].arg, 1);
    for (size_t i = 0; i < f->nother; i++)
        add_gain_of_input(x, f->other_in + i, f->other_arg + i, 0);
    for (size_t o = 0; o < f->nout; o++)
        add_gain_of_output(x, o);
    if (x->fn->until != VAR_NONE) add_gain(x, x->fn->until, NEVER);
}

/* Is there a set that is worth it? */
static bool choose_sets(Apart *x) {
    bool any = false;
    note_small(x);
    for (ApplyId id = 0; id < x->fn->napply; id++) {
        x->way[id] = (uint8_t)way_of_apply(x, id);
        join_apply(x, id);
    }
    join_states(x);
    for (ApplyId id = 0; id < x->fn->napply; id++)
        add_gain_of_apply(x, id);
    add_gain_of_rows(x);
    for (Var v = 0; v < x->fn->nvar; v++)
        any |= is_apart(x, v);
    return any;
}

/* ---- whole and in elements ---- */

/* The elements of a value of type t, from number *k on, below its first `axis` axes, as
 * one: after `lead` axes of rows. */
static Var stack_elements(Builder *b, const Type *t, int axis, int lead, const Var *el,
                          size_t *k) {
    Var in[MOST_ELEMENTS];
    if (axis == t->ndim) return el[(*k)++];
    for (Dim i = 0; i < t->dim[axis]; i++)
        in[i] = stack_elements(b, t, axis + 1, lead, el, k);
    PropArg at = {"axis", PROP_INT(lead)};
    return apply_named(b, "stack", (size_t)t->dim[axis], in, 1, &at);
}

/* Element k of a value of type t, which has `lead` axes of rows before: its index. */
static Var read_element(Apart *x, Var v, const Type *t, int lead, size_t k) {
    Rewriter *r = x->l->r;
    ReadItem item[MAX_NDIM];
    for (int i = t->ndim; i-- > 0;) {
        item[lead + i] = read_item_at(r, (int64_t)k % t->dim[i]);
        if (built(x, item[lead + i].at) == VAR_NONE) return VAR_NONE;
        k /= (size_t)t->dim[i];
    }
    for (int i = 0; i < lead; i++)
        item[i] = read_all;
    Var e = read_of(r, v, lead + t->ndim, item);
    rewriter_grow(r);
    return built(x, e);
}

static Var constant_element(Builder *b, const Tensor *c, size_t k) {
    Tensor t = {.dtype = c->dtype, .buf = c->buf};
    ptrdiff_t at = 0;
    for (int i = c->ndim; i-- > 0;) {
        at += (ptrdiff_t)((int64_t)k % c->shape[i] * c->stride[i]);
        k /= (size_t)c->shape[i];
    }
    t.data = (char *)c->data + at;
    return graph_const(b->g, &t, true);
}

static Var *new_elements(Apart *x, size_t n) {
    return NEW_N(x->l->a, n + 1, Var);
}

static Var whole_of(Apart *x, Var v) {
    size_t k = 0;
    if (x->whole[v] != VAR_NONE) return x->whole[v];
    Builder *b = &x->l->m.in;
    if (x->part[v])
        x->whole[v] = stack_elements(b, var_type(x->fn, v), 0, 0, x->part[v], &k);
    else
        x->whole[v] = graph_copy_leaf(b->g, x->fn, v, true);
    return built(x, x->whole[v]);
}

/* Reads in the new body; the index of the language, as text. */
static Var element_of_whole(Apart *x, Var v, size_t k) {
    const Type *t = var_type(x->fn, v);
    Var in[1 + MAX_NDIM] = {whole_of(x, v)};
    Str text = STR(x->l->r->s);
    Builder *b = &x->l->m.in;
    for (int i = t->ndim; i-- > 0;) {
        in[1 + i] = const_int(b, (int64_t)k % t->dim[i]);
        k /= (size_t)t->dim[i];
        str_puts(&text, text.n ? ", $" : "$");
    }
    PropArg at = {"index", PROP_STR(sym(x->l->r->s, str_text(&text)))};
    Var e = apply_named(b, "subtensor", 1 + (size_t)t->ndim, in, 1, &at);
    str_free(&text);
    return built(x, e);
}

static const Var *elements_of(Apart *x, Var v) {
    const Type *t = var_type(x->fn, v);
    size_t n = (size_t)type_size(t);
    const Tensor *c = t->ndim ? var_const(x->fn, v) : NULL;
    if (x->part[v]) return x->part[v];
    Var *el = new_elements(x, n);
    for (size_t k = 0; k < n; k++)
        el[k] = t->ndim == 0 ? whole_of(x, v)
                : c          ? constant_element(&x->l->m.in, c, k)
                             : element_of_whole(x, v, k);
    return x->part[v] = el;
}

static void set_elements(Apart *x, Var v, Var *el) {
    if (var_type(x->fn, v)->ndim == 0)
        x->whole[v] = el[0];
    else
        x->part[v] = el;
}

/* ---- the Applies of the body, in elements ---- */

/* The element of an operand that element k of the result takes. */
static size_t operand_element(const Type *t, const Type *to, size_t k) {
    size_t at = 0, step = 1;
    for (int i = to->ndim; i-- > 0;) {
        size_t here = k % (size_t)to->dim[i];
        int j = i - (to->ndim - t->ndim);
        k /= (size_t)to->dim[i];
        if (j < 0) continue;
        if (t->dim[j] != 1) at += here * step;
        step *= (size_t)t->dim[j];
    }
    return at;
}

static bool apply_elementwise(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Type *to = var_type(x->fn, a->out);
    size_t n = (size_t)type_size(to);
    Var *el = new_elements(x, n), in[16];
    if (a->nin > 16) return false;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(x->fn, id)[i];
            in[i] = elements_of(x, v)[operand_element(var_type(x->fn, v), to, k)];
        }
        el[k] = op_apply1(&x->l->m.in, a->op, a->props, a->nin, in);
        if (el[k] == VAR_NONE) return false;
    }
    set_elements(x, a->out, el);
    return true;
}

/* The element of the sum to which element k goes. */
static size_t summed_element(const Apart *x, const Apply *a, const Type *t, size_t k) {
    size_t at = 0, step = 1;
    for (int i = t->ndim; i-- > 0;) {
        size_t here = k % (size_t)t->dim[i];
        k /= (size_t)t->dim[i];
        if (is_summed_axis(x->fn, a, i, t->ndim)) continue;
        at += here * step;
        step *= (size_t)t->dim[i];
    }
    return at;
}

static bool apply_sum(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    Var v = apply_in(x->fn, id)[0];
    const Type *t = var_type(x->fn, v);
    size_t n = (size_t)type_size(var_type(x->fn, a->out));
    const Var *from = elements_of(x, v);
    Var *el = new_elements(x, n);
    for (size_t i = 0; i < n; i++)
        el[i] = VAR_NONE;
    for (size_t k = 0; k < (size_t)type_size(t); k++) {
        Var *to = &el[summed_element(x, a, t, k)];
        *to = *to == VAR_NONE ? from[k]
                              : built(x, op_call2(&x->l->m.in, "add", *to, from[k]));
    }
    set_elements(x, a->out, el);
    return true;
}

/* ---- what arranges elements ---- */

/* A constant like v of the numbers from `first` on; for v a constant itself, v. */
static Var numbered(Apart *x, Var v, int64_t first, bool counted) {
    const Type *t = var_type(x->fn, v);
    Rewriter *r = x->l->r;
    Tensor c;
    int64_t shape[MAX_NDIM];
    if (!counted) return graph_share_const(r->g, x->fn, v, true);
    for (int i = 0; i < t->ndim; i++)
        shape[i] = t->dim[i];
    if (!tensor_new(r->s, DT_INT64, t->ndim, shape, &c)) return VAR_NONE;
    for (int64_t i = 0; i < type_size(t); i++)
        ((int64_t *)c.data)[i] = first + i;
    v = graph_const(r->g, &c, false);
    tensor_unref(&c);
    return v;
}

/* Runs the op on the numbers of its inputs' elements, from 1 on; op: another op in its
 * place, or NULL. NULL: it can't run so. */
static const Tensor *arrange_numbers(Apart *x, ApplyId id, const Op *op) {
    const Apply *a = &x->fn->apply[id];
    Rewriter *r = x->l->r;
    Var *in = new_elements(x, a->nin);
    int64_t first = 1;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        bool counted = i < arranged_inputs(x->fn, a);
        in[i] = numbered(x, v, first, counted);
        if (in[i] == VAR_NONE) return NULL;
        if (counted) first += type_size(var_type(x->fn, v));
    }
    rewriter_grow(r);
    Var v = rewriter_apply(r, op ? op : a->op, a->props, a->nin, in);
    if (v != VAR_NONE) v = rewriter_evaluate(r, v);
    const Tensor *t = v == VAR_NONE ? NULL : var_const(r->g, v);
    return t && tensor_size(t) == type_size(var_type(x->fn, a->out)) ? t : NULL;
}

/* Element `number`, from 1 on, of the inputs. */
static Var numbered_element(Apart *x, ApplyId id, int64_t number) {
    const Apply *a = &x->fn->apply[id];
    size_t k = (size_t)number - 1;
    for (size_t i = 0; number > 0 && i < arranged_inputs(x->fn, a); i++) {
        Var v = apply_in(x->fn, id)[i];
        size_t n = (size_t)type_size(var_type(x->fn, v));
        if (k < n) return elements_of(x, v)[k];
        k -= n;
    }
    return VAR_NONE;
}

static bool apply_arranged(Apart *x, ApplyId id) {
    Var out = x->fn->apply[id].out;
    const Tensor *at = arrange_numbers(x, id, NULL);
    int64_t n = type_size(var_type(x->fn, out));
    Var *el = new_elements(x, (size_t)n);
    for (int64_t k = 0; at && k < n; k++)
        if ((el[k] = numbered_element(x, id, tensor_i64(at, k))) == VAR_NONE)
            return false;
    if (at) set_elements(x, out, el);
    return at != NULL;
}

/* Where set_subtensor would write y's elements, inc_subtensor adds them. */
static bool apply_increased(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Tensor *at = arrange_numbers(x, id, op_known(x->fn->s, OP_SET_SUBTENSOR));
    Var base = apply_in(x->fn, id)[0];
    int64_t n = type_size(var_type(x->fn, a->out));
    Var *el = new_elements(x, (size_t)n);
    for (int64_t k = 0; at && k < n; k++) {
        int64_t from = tensor_i64(at, k);
        el[k] = elements_of(x, base)[k];
        if (from == k + 1) continue;
        Var y = numbered_element(x, id, from);
        if (y == VAR_NONE) return false;
        el[k] = built(x, op_call2(&x->l->m.in, "add", el[k], y));
    }
    if (at) set_elements(x, a->out, el);
    return at != NULL;
}

static bool apply_filled(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Type *t = var_type(x->fn, a->out);
    size_t n = (size_t)type_size(t);
    Var *el = new_elements(x, n);
    bool ones = op_is(x->fn->s, a->op, OP_ONES_LIKE);
    for (size_t k = 0; k < n; k++)
        el[k] = built(x, const_number(&x->l->m.in, t->dtype, ones));
    set_elements(x, a->out, el);
    return true;
}

/* ---- branches ---- */

/* Appends what one value of a branch is now: elements, or itself. */
static size_t put_branch_value(Apart *x, Var out, Var v, Var *in, size_t n) {
    if (!is_apart(x, out)) {
        in[n] = whole_of(x, v);
        return n + 1;
    }
    memcpy(in + n, elements_of(x, v), x->size[out] * sizeof *in);
    return n + x->size[out];
}

static bool apply_branches(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *from = apply_in(x->fn, id);
    Var *in = new_elements(x, (size_t)a->nin * MOST_ELEMENTS), *out;
    size_t n = 1;
    in[0] = whole_of(x, from[0]);
    for (size_t i = 1; i < a->nin; i++)
        n = put_branch_value(x, a->out + (Var)((i - 1) % a->nout), from[i], in, n);
    if (n / 2 > OUT_MAX) return false;
    out = new_elements(x, OUT_MAX);
    if (!op_apply(&x->l->m.in, a->op, a->props, n, in, out)) return false;
    for (Var v = a->out; v < a->out + a->nout; v++) {
        set_elements(x, v, out);
        if (!is_apart(x, v)) x->whole[v] = out[0], x->part[v] = NULL;
        out += is_apart(x, v) ? x->size[v] : 1;
    }
    return true;
}

/* ---- the body ---- */

/* Is the Apply to be done in elements? */
static bool is_apply_apart(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    bool any = false;
    for (Var v = a->out; v < a->out + a->nout; v++)
        any |= is_apart(x, v);
    for (size_t i = 0; i < a->nin && x->way[id] != APART_FILLED; i++)
        any |= is_apart(x, apply_in(x->fn, id)[i]);
    return any && x->way[id] != APART_NEVER;
}

static bool copy_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    Var *in = new_elements(x, a->nin);
    for (size_t i = 0; i < a->nin; i++)
        in[i] = whole_of(x, apply_in(x->fn, id)[i]);
    if (x->failed) return false;
    Var first = graph_copy_apply(x->l->m.body, x->fn, id, in, true);
    for (Var k = 0; k < a->nout; k++)
        x->whole[a->out + k] = first + k;
    return true;
}

static bool apply_apart(Apart *x, ApplyId id) {
    Builder *b = &x->l->m.in;
    b->from = (Origin){x->fn->origin[id].at, x->l->r->b.from.rule};
    switch (is_apply_apart(x, id) ? (WayApart)x->way[id] : APART_NEVER) {
    case APART_NEVER:
        return copy_apply(x, id);
    case APART_ELEMENTWISE:
        return apply_elementwise(x, id);
    case APART_SUM:
        return apply_sum(x, id);
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

/* ---- arguments and results ---- */

static const Type *element_type(const Type *t, Session *s) {
    return type_tensor(s, t->dtype, 0, NULL);
}

static void take_sequence_apart(Apart *x, const ScanSeq *q) {
    const ScanBuilderPart *p = &x->l->part;
    ScanBuilder *m = &x->l->m;
    Session *s = x->l->r->s;
    for (size_t j = 0; j < q->ntap; j++) {
        Var in = x->fn->inputs.p[q->in + j];
        const Type *t = var_type(x->fn, in);
        if (!is_apart(x, in)) continue;
        Var *el = new_elements(x, x->size[in]);
        for (size_t k = 0; k < x->size[in]; k++) {
            Var rows = read_element(x, p->arg[q->arg], t, 1, k);
            if (rows == VAR_NONE) return;
            size_t at = scan_builder_add_seq(m, var_name(x->fn, in), rows, q->tap[j],
                                             element_type(t, s));
            m->seq.p[at].low = q->low;
            el[k] = m->seq.p[at].tap.p[0].in;
        }
        x->part[in] = el;
        x->whole[in] = VAR_NONE;
    }
}

static void take_other_apart(Apart *x, size_t i) {
    const ScanBuilderPart *p = &x->l->part;
    ScanBuilder *m = &x->l->m;
    Var in = x->fn->inputs.p[p->f.other_in + i], arg = p->arg[p->f.other_arg + i];
    const Type *t = var_type(x->fn, in);
    const Tensor *c = var_const(x->l->r->g, arg);
    if (!is_apart(x, in)) return;
    Var *el = new_elements(x, x->size[in]);
    for (size_t k = 0; k < x->size[in]; k++) {
        if (c) {
            el[k] = constant_element(&m->in, c, k);
            continue;
        }
        Var v = read_element(x, arg, t, 0, k);
        if (v == VAR_NONE) return;
        size_t at = scan_builder_add_other(m, var_name(x->fn, in), v,
                                           element_type(t, x->l->r->s));
        el[k] = m->other.p[at].tap.p[0].in;
    }
    x->part[in] = el;
    x->whole[in] = VAR_NONE;
}

/* Output o becomes one for each element, after all others. */
static void take_output_apart(Apart *x, size_t o) {
    ScanBuilder *m = &x->l->m;
    const ScanBuilderPart *p = &x->l->part;
    const ScanOut *out = &p->f.out[o];
    Var made = x->fn->outputs.p[o].var;
    const Type *t = var_type(x->fn, made);
    Var **in = NEW_N(x->l->a, out->ntap + 1, Var *);
    for (size_t j = 0; j < out->ntap; j++)
        in[j] = x->part[x->fn->inputs.p[out->in + j]] =
            new_elements(x, (size_t)type_size(t));
    x->results[o] = m->out.n;
    for (size_t k = 0; k < (size_t)type_size(t); k++) {
        size_t at = scan_builder_add_out(m, x->fn->outputs.p[o].label, out->keep);
        m->out.p[at].wanted = scan_output_is_read(x->l, o);
        if (out->ntap)
            m->out.p[at].x =
                read_element(x, p->arg[out->arg], t, !scan_one_row(out), k);
        for (size_t j = 0; j < out->ntap; j++)
            in[j][k] = scan_builder_add_tap(m, &m->out.p[at], out->tap[j],
                                            element_type(t, x->l->r->s));
    }
    for (size_t j = 0; j < out->ntap; j++)
        x->whole[x->fn->inputs.p[out->in + j]] = VAR_NONE;
    m->out.p[p->first + o].wanted = false;
    m->out.p[p->first + o].tap.n = 0;
}

/* Output o of the loop: taken apart where its states or what it makes are. */
static bool is_output_apart(Apart *x, size_t o) {
    const ScanOut *out = &x->l->part.f.out[o];
    return is_apart(x, x->fn->outputs.p[o].var) ||
           (out->ntap && is_apart(x, x->fn->inputs.p[out->in]));
}

static void take_arguments_apart(Apart *x) {
    const ScanForm *f = &x->l->part.f;
    for (size_t i = 0; i < x->fn->inputs.n; i++)
        x->whole[x->fn->inputs.p[i]] = x->l->part.in[i];
    for (size_t i = 0; i < f->nseq; i++)
        take_sequence_apart(x, &f->seq[i]);
    for (size_t i = 0; i < f->nother; i++)
        take_other_apart(x, i);
    for (size_t o = 0; o < f->nout; o++) {
        x->results[o] = SIZE_MAX;
        x->l->m.out.p[x->l->part.first + o].wanted = scan_output_is_read(x->l, o);
        if (is_output_apart(x, o)) take_output_apart(x, o);
    }
}

static void set_outputs(Apart *x) {
    ScanBuilder *m = &x->l->m;
    for (size_t o = 0; o < x->l->part.f.nout; o++) {
        Var v = x->fn->outputs.p[o].var;
        size_t at = x->results[o];
        if (at == SIZE_MAX) m->out.p[x->l->part.first + o].made = whole_of(x, v);
        size_t n = at == SIZE_MAX ? 0 : (size_t)type_size(var_type(x->fn, v));
        for (size_t k = 0; k < n; k++)
            m->out.p[at + k].made = elements_of(x, v)[k];
    }
    if (x->fn->until != VAR_NONE) m->until = whole_of(x, x->fn->until);
}

static bool replace_results(Apart *x) {
    Scan *l = x->l;
    for (size_t o = 0; o < l->part.f.nout; o++) {
        size_t at = x->results[o], k = 0;
        const Type *t = var_type(x->fn, x->fn->outputs.p[o].var);
        Var result = l->m.out.p[l->part.first + o].result, el[MOST_ELEMENTS];
        if (!scan_output_is_read(l, o)) continue;
        for (size_t i = 0; at != SIZE_MAX && i < (size_t)type_size(t); i++)
            el[i] = l->m.out.p[at + i].result;
        if (at != SIZE_MAX)
            result = stack_elements(&l->r->b, t, 0, l->part.f.out[o].keep != SCAN_LAST,
                                    el, &k);
        rewriter_grow(l->r);
        if (result == VAR_NONE || !scan_replace_output(l, o, result)) return false;
    }
    return true;
}

static void apart_new(Apart *x, Scan *l) {
    const Graph *fn = l->part.f.fn;
    *x = (Apart){.l = l, .fn = fn};
    x->size = NEW_N(l->a, fn->nvar + 1, uint8_t);
    x->set = NEW_N(l->a, fn->nvar + 1, uint32_t);
    x->gain = NEW_N(l->a, fn->nvar + 1, int64_t);
    x->way = NEW_N(l->a, fn->napply + 1, uint8_t);
    x->whole = NEW_N(l->a, fn->nvar + 1, Var);
    x->part = NEW_N(l->a, fn->nvar + 1, Var *);
    x->results = NEW_N(l->a, l->part.f.nout + 1, size_t);
    memset(x->whole, 0xFF, fn->nvar * sizeof *x->whole);
}

static bool take_loop_apart(Scan *l, bool *ok) {
    Apart x;
    scan_take_apart(l);
    const Graph *fn = l->part.f.fn;
    if (scan_is_opaque(fn) || fn->effects.n || l->part.f.checkpoint) return false;
    apart_new(&x, l);
    if (!choose_sets(&x)) return false;
    take_arguments_apart(&x);
    for (ApplyId id = 0; id < fn->napply && !x.failed; id++)
        if (!apply_apart(&x, id)) return false;
    if (!x.failed) set_outputs(&x);
    if (x.failed) return *ok = false;
    scan_carry_names(l->m.body, fn, x.whole);
    rewriter_grow(l->r);
    if (!(*ok = scan_rebuild(l)) || !replace_results(&x)) return false;
    return *ok = scan_fired(l);
}

bool scan_scalars_pass(Rewriter *r) {
    return scan_each(r, take_loop_apart);
}
