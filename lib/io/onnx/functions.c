/* The functions that rows of *.rows may call, besides those of the language: they are
 * evaluated while a model is read. */
#include "io/onnx/onnx_impl.h"
#include "op/infer.h"

#include <math.h>
#include <stdlib.h>

enum { LONGEST = 1 << 16 }; /* of lists that they make */

bool onnx_fail_call(Compiler *c, const char *why) {
    return fail(c->s, NOWHERE, E_ARG, "%s", why);
}

bool onnx_int_of(Compiler *c, const Node *n, int64_t *v) {
    return (n->kind == NODE_LITERAL && literal_i64(&n->lit, v)) ||
           onnx_fail_call(
               c, "an integer that is known when the graph is read is expected");
}

static bool make_list(Compiler *c, size_t n, Node *item, Node *out) {
    return node_tree(c, n, item, NULL, NOWHERE, out);
}

/* given(x): is there such an input or attribute? */
static bool f_given(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)c, (void)f;
    return *out = row_bool_node(a->arg[0].kind != NODE_NONE), true;
}

/* is_known(x): is it a number or a list of numbers? */
static bool f_is_known(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)c, (void)f;
    return *out = row_bool_node(node_is_literal(&a->arg[0])), true;
}

/* count(list) */
static bool f_count(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)c, (void)f;
    return *out = row_int_node((int64_t)row_count_of(&a->arg[0])), true;
}

/* span(a, b): [a, a + 1, ..., b - 1] */
static bool f_span(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t from, to;
    if (!onnx_int_of(c, &a->arg[0], &from) || !onnx_int_of(c, &a->arg[1], &to))
        return false;
    size_t n = to > from ? (size_t)(to - from) : 0;
    if (n > LONGEST) return onnx_fail_call(c, "a list of more than 65536 numbers");
    Node *item = NEW_N(compiler_arena(c), n + 1, Node);
    for (size_t i = 0; i < n; i++)
        item[i] = row_int_node(from + (int64_t)i);
    return make_list(c, n, item, out);
}

/* times(x, n): [x, x, ...] */
static bool f_times(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t n;
    if (!onnx_int_of(c, &a->arg[1], &n)) return false;
    if (n > LONGEST) return onnx_fail_call(c, "a list of more than 65536 parts");
    Node *item = NEW_N(compiler_arena(c), (size_t)(n > 0 ? n : 0) + 1, Node);
    for (int64_t i = 0; i < n; i++)
        item[i] = a->arg[0];
    return make_list(c, (size_t)(n > 0 ? n : 0), item, out);
}

/* join(list, list, ...): None is empty, what is no list is one of itself */
static bool f_join(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < a->n; i++)
        n += row_count_of(&a->arg[i]);
    Node *item = NEW_N(compiler_arena(c), n + 1, Node);
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < row_count_of(&a->arg[i]); j++)
            item[k++] = *row_item_of(&a->arg[i], j);
    return make_list(c, n, item, out);
}

/* part(list, from, to): as Python's list[from:to] */
static bool f_part(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t from, to, n = (int64_t)row_count_of(&a->arg[0]);
    if (!onnx_int_of(c, &a->arg[1], &from) || !onnx_int_of(c, &a->arg[2], &to))
        return false;
    if (from < 0) from += n;
    if (to < 0) to += n;
    if (to > n) to = n;
    if (from < 0) from = 0;
    if (from > to) from = to;
    Node *item = NEW_N(compiler_arena(c), (size_t)(to - from) + 1, Node);
    for (int64_t i = from; i < to; i++)
        item[i - from] = *row_item_of(&a->arg[0], (size_t)i);
    return make_list(c, (size_t)(to - from), item, out);
}

/* pairs([b1, b2, ..., e1, e2, ...]): [[b1, e1], [b2, e2], ...] */
static bool f_pairs(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    const Node *x = &a->arg[0];
    size_t n = row_count_of(x) / 2;
    if (x->kind != NODE_LIST || x->n % 2)
        return onnx_fail_call(c, "pads must be an even number of integers");
    Node *item = NEW_N(compiler_arena(c), n + 1, Node);
    for (size_t i = 0; i < n; i++) {
        Node *pair = NEW_N(compiler_arena(c), 2, Node);
        pair[0] = x->item[i];
        pair[1] = x->item[n + i];
        if (!make_list(c, 2, pair, &item[i])) return false;
    }
    return make_list(c, n, item, out);
}

/* each(f, list, ...): [f(a0, b0), f(a1, b1), ...] */
static bool f_each(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    size_t n = row_count_of(&a->arg[1]);
    Node *item = NEW_N(compiler_arena(c), n + 1, Node),
         *arg = NEW_N(compiler_arena(c), a->n, Node);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 1; k < a->n; k++) {
            if (row_count_of(&a->arg[k]) != n)
                return onnx_fail_call(c, "lists of different lengths");
            arg[k - 1] = *row_item_of(&a->arg[k], i);
        }
        if (!compiler_apply(c, &a->arg[0], &(Arguments){a->n - 1, arg, NULL, NOWHERE},
                            &item[i]))
            return false;
    }
    return make_list(c, n, item, out);
}

/* fold(f, list): f(f(a, b), c) */
static bool f_fold(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    size_t n = row_count_of(&a->arg[1]);
    if (n == 0) return onnx_fail_call(c, "at least one input is needed");
    *out = *row_item_of(&a->arg[1], 0);
    for (size_t i = 1; i < n; i++) {
        Node arg[2] = {*out, *row_item_of(&a->arg[1], i)};
        if (!compiler_apply(c, &a->arg[0], &(Arguments){2, arg, NULL, NOWHERE}, out))
            return false;
    }
    return true;
}

/* dtype_of(7): int64 */
static bool f_dtype(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t code;
    const char *name;
    if (!onnx_int_of(c, &a->arg[0], &code)) return false;
    DType d = onnx_dtype(code, &name);
    if (d == DT_NONE)
        return fail(c->s, NOWHERE, E_DTYPE,
                    "elements of type %s, which thunkline does not have",
                    name ? name : "0");
    *out = (Node){.kind = NODE_DTYPE, .var = VAR_NONE, .dtype = d};
    return true;
}

/* is_float(x), of a variable */
static bool f_is_float(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    const Type *t =
        a->arg[0].kind == NODE_VAR ? var_type(c->b->g, a->arg[0].var) : NULL;
    bool yes = t && t->kind == TYPE_TENSOR && dtype_is_float(t->dtype);
    return *out = row_bool_node(yes), true;
}

/* refuse('text'): the row can't say it */
static bool f_refuse(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f, (void)out;
    return fail(c->s, NOWHERE, E_ARG, "thunkline does not have %s",
                a->arg[0].kind == NODE_STRING ? sym_text(c->s, a->arg[0].sym) : "this");
}

/* first(x): the item of a list, or x itself */
static bool f_first(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    if (row_count_of(&a->arg[0]) == 0)
        return onnx_fail_call(c, "an empty list where a value is expected");
    return *out = *row_item_of(&a->arg[0], 0), true;
}

static bool axis_of(Compiler *c, const Node *n, int ndim, int64_t *axis) {
    if (!onnx_int_of(c, n, axis)) return false;
    if (*axis < 0) *axis += ndim;
    return (*axis >= 0 && *axis < ndim) ||
           fail(c->s, NOWHERE, E_SHAPE, "there is no axis %lld among %d dims",
                (long long)*axis, ndim);
}

/* spread(values, axes, n, otherwise): a list of n, with the values at the axes */
static bool f_spread(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t n, axis;
    if (!onnx_int_of(c, &a->arg[2], &n)) return false;
    if (n < 0 || n > MAX_NDIM || row_count_of(&a->arg[0]) != row_count_of(&a->arg[1]))
        return onnx_fail_call(c, "there are not as many values as axes");
    Node *item = NEW_N(compiler_arena(c), (size_t)n + 1, Node);
    for (int64_t i = 0; i < n; i++)
        item[i] = a->arg[3];
    for (size_t i = 0; i < row_count_of(&a->arg[1]); i++) {
        if (!axis_of(c, row_item_of(&a->arg[1], i), (int)n, &axis)) return false;
        item[axis] = *row_item_of(&a->arg[0], i);
    }
    return make_list(c, (size_t)n, item, out);
}

/* x[..., start:stop:step, ...] along the axis; start and stop may be left out. */
static bool slice_along(Compiler *c, Var x, int64_t axis, const Node *bound[3],
                        Node *out) {
    Var in[4] = {x};
    size_t n = 1;
    Str text = STR(c->s);
    for (int64_t i = 0; i < axis; i++)
        str_puts(&text, ":, ");
    for (size_t i = 0; i < 3; i++) {
        if (i) str_putc(&text, ':');
        if (!bound[i]) continue;
        str_putc(&text, '$');
        if (!compiler_var(c, bound[i], DT_NONE, &in[n++]))
            return str_free(&text), false;
        if (var_type(c->b->g, in[n - 1])->ndim > 0) {
            Var flat[2] = {in[n - 1], const_ints(c->b, 0, NULL)};
            in[n - 1] = op_call2(c->b, "reshape", flat[0], flat[1]);
            if (in[n - 1] == VAR_NONE) return str_free(&text), false;
        }
    }
    PropArg index = {"index", PROP_STR(sym(c->s, str_text(&text)))};
    str_free(&text);
    Var r = apply_named(c->b, "subtensor", n, in, 1, &index);
    *out = node_var(r, NOWHERE);
    return r != VAR_NONE;
}

/* slice_axis(x, axis, start, stop, step) */
static bool f_slice_axis(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t axis;
    const Node *bound[3] = {&a->arg[2], &a->arg[3], &a->arg[4]};
    Var x;
    return compiler_var(c, &a->arg[0], DT_NONE, &x) &&
           axis_of(c, &a->arg[1], var_type(c->b->g, x)->ndim, &axis) &&
           slice_along(c, x, axis, bound, out);
}

/* split_sizes(x, axis, sizes, n): parts of these sizes; None: n equal ones, of which
 * the last may be smaller */
static bool f_split_sizes(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t axis, n, size = 0, at = 0;
    Var x;
    if (!compiler_var(c, &a->arg[0], DT_NONE, &x)) return false;
    const Type *t = var_type(c->b->g, x);
    if (!axis_of(c, &a->arg[1], t->ndim, &axis) || !onnx_int_of(c, &a->arg[3], &n))
        return false;
    bool given = a->arg[2].kind != NODE_NONE;
    if (given) n = (int64_t)row_count_of(&a->arg[2]);
    if (!given && !dim_is_known(t->dim[axis]))
        return onnx_fail_call(
            c, "an axis of unknown length can't be split into equal parts");
    if (n < 1 || n > OUT_MAX)
        return onnx_fail_call(c, "a number of parts that is no number from 1 on");
    Node *item = NEW_N(compiler_arena(c), (size_t)n + 1, Node), from, to;
    for (int64_t i = 0; i < n; i++, at += size) {
        if (given && !onnx_int_of(c, row_item_of(&a->arg[2], (size_t)i), &size))
            return false;
        if (!given) size = (t->dim[axis] + n - 1) / n;
        from = row_int_node(at);
        to = row_int_node(at + size);
        const Node *bound[3] = {&from, &to, NULL};
        if (!slice_along(c, x, axis, bound, &item[i])) return false;
    }
    return make_list(c, (size_t)n, item, out);
}

static bool fail_expand(Compiler *c, const Type *t, int n, const Dim *dim) {
    const Type *to = type_tensor(c->s, t->dtype, n, dim);
    return fail(c->s, NOWHERE, E_SHAPE,
                "what is %s can't be expanded to %s: dims from the last one on must be "
                "equal, or one of them 1",
                type_str(c->s, t), type_str(c->s, to));
}

/* The size of a dim of x (j < 0: none) beside one of a shape (k < 0: none). Where both
 * are named or one is open, broadcast_to checks them in each run. */
static Var broadcast_dim(Builder *b, Var x, int j, Var shape, int k, const Dim *dim) {
    bool wide = j >= 0 && var_type(b->g, x)->dim[j] != 1; /* else it is the shape's */
    bool size = k >= 0 && dim_is_known(dim[k]) && dim[k] != 1;
    if (k < 0) return shape_of(b, x, j);
    if (wide && !size && dim[k] != DIM_UNKNOWN) return shape_of(b, x, j);
    if (dim_is_known(dim[k])) return const_int(b, dim[k]);
    Var own = op_call2(b, "take", shape, const_int(b, k));
    if (wide && !size && own != VAR_NONE) /* 1, or the size of x */
        own = op_call2(b, "maximum", own, shape_of(b, x, j));
    return own;
}

/* broadcast_with(x, shape): to the shape that both have together; shape may be known */
static bool f_broadcast_with(Compiler *c, const Node *f, const Arguments *a,
                             Node *out) {
    (void)f;
    Var x, shape;
    if (!compiler_var(c, &a->arg[0], DT_NONE, &x) ||
        !compiler_ints(c, &a->arg[1], &shape))
        return false;
    const Type *t = var_type(c->b->g, x);
    Infer in = {.s = c->s, .graph = c->b->g, .nin = 1, .in = &shape};
    const Type *st = var_type(c->b->g, shape);
    in.type = &st;
    Dim dim[MAX_NDIM];
    int n = infer_dims(&in, 0, dim, NULL), most = n > t->ndim ? n : t->ndim;
    if (n < 0 || n > MAX_NDIM) return onnx_fail_call(c, "a shape of unknown length");
    Var *item = NEW_N(compiler_arena(c), (size_t)most + 1, Var);
    for (int i = 0; i < most; i++) {
        int k = i - (most - n), j = i - (most - t->ndim);
        bool both = j >= 0 && k >= 0 && dim_is_known(t->dim[j]) && dim_is_known(dim[k]);
        if (both && t->dim[j] != dim[k] && t->dim[j] != 1 && dim[k] != 1)
            return fail_expand(c, t, n, dim);
        item[i] = broadcast_dim(c->b, x, j, shape, k, dim);
        if (item[i] == VAR_NONE) return false;
    }
    Var to = ints_stack(c->b, (size_t)most, item);
    if (to == VAR_NONE) return false;
    *out = node_var(op_call2(c->b, "broadcast_to", x, to), NOWHERE);
    return out->var != VAR_NONE;
}

/* padding_of(auto_pad, pads): the padding of conv and the pools */
static bool f_padding_of(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    static const char *const words[][2] = {
        {"SAME_UPPER", "same_upper"}, {"SAME_LOWER", "same_lower"}, {"VALID", "valid"}};
    const char *text =
        a->arg[0].kind == NODE_STRING ? sym_text(c->s, a->arg[0].sym) : "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i][0]) != 0) continue;
        *out =
            (Node){.kind = NODE_STRING, .var = VAR_NONE, .sym = sym(c->s, words[i][1])};
        return true;
    }
    Arguments pads = {1, &a->arg[1], NULL, NOWHERE};
    bool several = a->arg[1].kind == NODE_LIST && a->arg[1].n > 2;
    if (several) return f_pairs(c, f, &pads, out);
    return *out = a->arg[1], true; /* one axis: [before, after] */
}

/* along(s, axis, n): a vector along an axis of n; what has one element as it is */
static bool f_along(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t n, axis;
    Var in[2];
    if (!compiler_var(c, &a->arg[0], DT_NONE, &in[0]) ||
        !onnx_int_of(c, &a->arg[2], &n))
        return false;
    const Type *t = var_type(c->b->g, in[0]);
    *out = node_var(in[0], NOWHERE);
    if (t->ndim != 1) return true;
    if (!axis_of(c, &a->arg[1], (int)n, &axis)) return false;
    int64_t shape[MAX_NDIM];
    for (int64_t i = 0; i < n; i++)
        shape[i] = i == axis ? -1 : 1;
    in[1] = const_ints(c->b, (size_t)n, shape);
    *out = node_var(op_call2(c->b, "reshape", in[0], in[1]), NOWHERE);
    return out->var != VAR_NONE;
}

/* beside(a, b, axis): b with its first dim at that axis of a; no axis: as it is */
static bool f_beside(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t axis;
    Var x, y;
    *out = a->arg[1];
    if (a->arg[2].kind == NODE_NONE) return true;
    if (!compiler_var(c, &a->arg[0], DT_NONE, &x) ||
        !compiler_var(c, &a->arg[1], DT_NONE, &y))
        return false;
    int n = var_type(c->b->g, x)->ndim, k = var_type(c->b->g, y)->ndim;
    if (!axis_of(c, &a->arg[2], n, &axis)) return false;
    *out = node_var(op_insert_axes(c->b, y, k, n - k - (int)axis), NOWHERE);
    return out->var != VAR_NONE;
}

/* saturated(x, dtype): cast to an integer, at its ends where x is beyond them */
static bool f_saturate(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    int64_t low;
    uint64_t high;
    Var x;
    if (a->arg[1].kind != NODE_DTYPE || !dtype_is_integer(a->arg[1].dtype))
        return onnx_fail_call(c, "quantised numbers that are no integers");
    if (!compiler_var(c, &a->arg[0], DT_NONE, &x)) return false;
    DType d = var_type(c->b->g, x)->dtype;
    dtype_int_range(a->arg[1].dtype, &low, &high);
    Var y = op_call3(c->b, "clip", x, const_number(c->b, d, (double)low),
                     const_number(c->b, d, (double)high));
    if (y != VAR_NONE) y = op_cast_to(c->b, y, a->arg[1].dtype);
    *out = node_var(y, NOWHERE);
    return y != VAR_NONE;
}

/* seed_of(seed): a float as a seed: a whole number stands for itself, any other one for
 * its bits; None: one that no other draw of the model has, the same each time it is
 * read */
static bool f_seed_of(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    enum { UNSEEDED = 1 << 30 };
    int64_t seed = UNSEEDED + (int64_t)c->b->g->napply;
    (void)f;
    if (a->arg[0].kind == NODE_LITERAL) {
        float v = (float)literal_f64(&a->arg[0].lit);
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        bool whole = v >= 0 && v < 0x1p31F && v == floorf(v);
        seed = whole ? (int64_t)v : (int64_t)bits;
    }
    return *out = row_int_node(seed), true;
}

static const OnnxRowFunction row_functions[] = {{"given", f_given, 1},
                                                {"is_known", f_is_known, 1},
                                                {"count", f_count, 1},
                                                {"span", f_span, 2},
                                                {"times", f_times, 2},
                                                {"join", f_join, 0},
                                                {"part", f_part, 3},
                                                {"pairs", f_pairs, 1},
                                                {"each", f_each, 2},
                                                {"fold", f_fold, 2},
                                                {"dtype_of", f_dtype, 1},
                                                {"first", f_first, 1},
                                                {"spread", f_spread, 4},
                                                {"slice_axis", f_slice_axis, 5},
                                                {"split_sizes", f_split_sizes, 4},
                                                {"broadcast_with", f_broadcast_with, 2},
                                                {"padding_of", f_padding_of, 2},
                                                {"along", f_along, 3},
                                                {"beside", f_beside, 3},
                                                {"saturated", f_saturate, 2},
                                                {"seed_of", f_seed_of, 1},
                                                {"is_float", f_is_float, 1},
                                                {"refuse", f_refuse, 1}};
enum { ROW_FUNCTIONS = sizeof row_functions / sizeof *row_functions };

static bool call_row_function(Compiler *c, const Node *f, const Arguments *args,
                              Node *out) {
    const OnnxRowFunction *r = f->data;
    if (args->n < r->least)
        bug("a row of an ONNX op calls %s without all arguments", r->name);
    return r->apply(c, f, args, out);
}

static void bind_table(Compiler *c, Arena *a, BoundNames *names,
                       const OnnxRowFunction *table, size_t n) {
    for (size_t i = 0; i < n; i++)
        bound_names_add(a, names, sym(c->s, table[i].name),
                        (Node){.kind = NODE_FUNCTION,
                               .var = VAR_NONE,
                               .apply = call_row_function,
                               .data = &table[i]});
}

void onnx_bind_functions(Compiler *c, Arena *a, BoundNames *names) {
    bound_names_open(c, a, names,
                     ROW_FUNCTIONS + onnx_list_function_count + onnx_ml_function_count +
                         onnx_body_function_count,
                     NULL);
    bind_table(c, a, names, row_functions, ROW_FUNCTIONS);
    bind_table(c, a, names, onnx_list_functions, onnx_list_function_count);
    bind_table(c, a, names, onnx_ml_functions, onnx_ml_function_count);
    bind_table(c, a, names, onnx_body_functions, onnx_body_function_count);
}
