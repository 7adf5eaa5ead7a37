/* Convolution, its transposed form and its two gradients: typing, derivatives, vmap.
 * Each is linear in each of two tensors and gives the third (conv.h), so that the
 * derivatives of each are others of them. */
#include "ops/nn/conv.h"

#include "op/infer.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

#include <string.h>

/* The parts that an op takes and the one that it gives. conv_transpose takes a y and
 * gives an x: it is the gradient of a convolution, of the smallest x that has this y.
 */
typedef struct ConvForm {
    const char *name;
    ConvPart in[2], result;
} ConvForm;
static const ConvForm forms[] = {
    {"conv", {CONV_X, CONV_W}, CONV_Y},
    {"conv_input_grad", {CONV_Y, CONV_W}, CONV_X},
    {"conv_weights_grad", {CONV_X, CONV_Y}, CONV_W},
    {"conv_transpose", {CONV_Y, CONV_W}, CONV_X},
};

static const ConvForm *form_of(const Op *op) {
    size_t i = 0;
    while (strcmp(forms[i].name, op->name) != 0)
        i++;
    return &forms[i];
}

static bool is_transposed(const ConvForm *f) {
    return f == &forms[3];
}

/* ---- typing ---- */
/* The tensors' dims by part; those of the result are found. */
typedef struct ConvDims {
    Dim dim[3][2 + CONV_AXES];
    ConvProps p;
} ConvDims;

/* The numbers as few as possible: one if all are equal. */
static void settle_numbers(Infer *in, const char *name) {
    const Prop *p = infer_prop(in, name);
    if (p->kind != P_INTS) return;
    for (size_t i = 1; i < p->ints.n; i++)
        if (p->ints.p[i] != p->ints.p[0]) return;
    int64_t one = p->ints.p[0];
    infer_settle_prop(in, name, PROP_INTS(&one, 1));
}

static void settle_padding(Infer *in, const ConvProps *p) {
    const Prop *given = infer_prop(in, "padding");
    if (p->padding != CONV_GIVEN) {
        const char *word = p->padding == CONV_SAME_UPPER ? "same_upper" : "same_lower";
        infer_settle_prop(in, "padding", PROP_STR(sym(in->s, word)));
        return;
    }
    int64_t pair[2 * CONV_AXES];
    for (int k = 0; k < p->ndim; k++) {
        pair[2 * k] = p->before[k];
        pair[2 * k + 1] = p->after[k];
    }
    size_t n = given->kind == P_INTS ? given->ints.n : 1;
    if (n != 1) n = 2 * (size_t)p->ndim;
    infer_settle_prop(in, "padding", PROP_INTS(pair, n));
    settle_numbers(in, "padding");
}

static bool open_dims(Infer *in, const ConvForm *f, ConvDims *d) {
    for (size_t i = 0; i < 2; i++)
        if (!infer_want_rank(in, i, 3, 2 + CONV_AXES)) return false;
    const Type *a = in->type[0], *b = in->type[1];
    if (a->ndim != b->ndim)
        return infer_fail(in, E_SHAPE, in->nin,
                          "the operands have %d and %d dims: both must have two and as "
                          "many spatial ones",
                          a->ndim, b->ndim);
    if (a->dtype != b->dtype)
        return infer_fail(in, E_DTYPE, in->nin,
                          "the operands are %s and %s: they must have one dtype",
                          dtype_name(a->dtype), dtype_name(b->dtype));
    const char *why =
        conv_props(in->s, in->op, in->props, a->ndim - 2, is_transposed(f), &d->p);
    if (why) return infer_fail(in, E_ARG, in->nin, "%s", why);
    settle_numbers(in, "strides");
    settle_numbers(in, "dilations");
    if (is_transposed(f)) settle_numbers(in, "output_padding");
    settle_padding(in, &d->p);
    for (int k = 0; k < a->ndim; k++) {
        d->dim[f->in[0]][k] = a->dim[k];
        d->dim[f->in[1]][k] = b->dim[k];
        d->dim[f->result][k] = DIM_UNKNOWN;
    }
    return true;
}

static bool divide_channels(Infer *in, Dim all, int64_t groups, const char *what,
                            Dim *each) {
    *each = groups == 1 ? all : dim_is_known(all) ? all / groups : DIM_UNKNOWN;
    return !dim_is_known(all) || all % groups == 0 ||
           infer_fail(in, E_SHAPE, in->nin, "%lld %s can't be divided into %lld groups",
                      (long long)all, what, (long long)groups);
}

#define FEW_CHANNELS "x has %lld channels%s, but w takes %lld"
static bool want_equal(Infer *in, const char *what, Dim a, Dim b) {
    return dim_may_equal(a, b) || infer_fail(in, E_SHAPE, in->nin, "%s: %lld and %lld",
                                             what, (long long)a, (long long)b);
}

/* Images, and channels of both sides. */
static bool infer_channels(Infer *in, const ConvForm *f, ConvDims *d) {
    Dim *x = d->dim[CONV_X], *w = d->dim[CONV_W], *y = d->dim[CONV_Y], each;
    int64_t groups = d->p.groups;
    if (f->result == CONV_X) {
        x[0] = y[0];
        x[1] = groups == 1 ? w[1] : DIM_UNKNOWN;
        if (dim_is_known(w[1]) && !i64_mul(w[1], groups, &x[1]))
            return infer_fail(in, E_SHAPE, in->nin, "too many channels");
        return want_equal(in, "the operands' numbers of channels differ", y[1], w[0]) &&
               divide_channels(in, dim_meet(y[1], w[0]), groups, "channels", &each);
    }
    if (!divide_channels(in, x[1], groups, "channels of x", &each)) return false;
    if (f->result == CONV_W) {
        w[0] = y[1];
        w[1] = each;
        return want_equal(in, "the operands' numbers of images differ", x[0], y[0]) &&
               divide_channels(in, y[1], groups, "channels of dy", &each);
    }
    y[0] = x[0];
    y[1] = w[0];
    if (!dim_may_equal(each, w[1]))
        return infer_fail(in, E_SHAPE, in->nin, FEW_CHANNELS, (long long)each,
                          groups > 1 ? " for each group" : "", (long long)w[1]);
    return divide_channels(in, w[0], groups, "filters of w", &each);
}

/* y's size along axis k, as far as the types say. */
static bool infer_y(Infer *in, const ConvDims *d, int k, Dim *y) {
    const ConvProps *p = &d->p;
    Dim x = d->dim[CONV_X][2 + k], w = d->dim[CONV_W][2 + k];
    bool same = p->padding != CONV_GIVEN;
    ConvAxis a;
    *y = DIM_UNKNOWN;
    if (dim_is_known(x) && (dim_is_known(w) || same)) {
        const char *why = conv_axis(in->s, p, k, x, dim_is_known(w) ? w : 1, &a);
        if (why) return infer_fail(in, E_SHAPE, in->nin, "%s", why);
        *y = a.y;
    } else if (p->stride[k] == 1 &&
               (same || (dim_is_known(w) &&
                         p->dilation[k] * (w - 1) == p->before[k] + p->after[k]))) {
        *y = x;
    }
    return true;
}

/* conv_transpose's size of x. */
static bool infer_x(Infer *in, const ConvDims *d, int k, Dim *x) {
    const ConvProps *p = &d->p;
    Dim y = d->dim[CONV_Y][2 + k], w = d->dim[CONV_W][2 + k];
    bool same = p->padding != CONV_GIVEN;
    ConvAxis a;
    *x = DIM_UNKNOWN;
    if (dim_is_known(y) && (dim_is_known(w) || same)) {
        const char *why =
            conv_axis_transposed(in->s, p, k, y, dim_is_known(w) ? w : 1, &a);
        if (why) return infer_fail(in, E_SHAPE, in->nin, "%s", why);
        *x = a.x;
    } else if (p->stride[k] == 1 &&
               (same || (dim_is_known(w) && p->dilation[k] * (w - 1) + p->extra[k] ==
                                                p->before[k] + p->after[k]))) {
        *x = y;
    }
    return true;
}

/* The sizes that the op of a gradient is given. */
static bool infer_given_sizes(Infer *in, const ConvForm *f, ConvDims *d) {
    Dim size[MAX_NDIM];
    int64_t raw[MAX_NDIM];
    int n = infer_dims(in, 2, size, raw);
    if (n >= 0 && n != d->p.ndim)
        return infer_fail(in, E_SHAPE, 2, "size has %s for %s",
                          str_counted(in->s, (size_t)n, "number"),
                          str_counted(in->s, (size_t)d->p.ndim, "spatial axis"));
    for (int k = 0; n > 0 && k < n; k++) {
        if (raw[k] < 0 && raw[k] != INT64_MIN)
            return infer_fail(in, E_SHAPE, 2, "a size can't be negative, got %lld",
                              (long long)raw[k]);
        d->dim[f->result][2 + k] = size[k];
    }
    return true;
}

static bool infer_sizes(Infer *in, const ConvForm *f, ConvDims *d) {
    if (f->in[1] != CONV_W || (f->result == CONV_X && !is_transposed(f)))
        if (!infer_given_sizes(in, f, d)) return false;
    for (int k = 0; k < d->p.ndim; k++) {
        Dim y;
        if (is_transposed(f)) {
            if (!infer_x(in, d, k, &d->dim[CONV_X][2 + k])) return false;
            continue;
        }
        if (!infer_y(in, d, k, &y)) return false;
        if (f->result == CONV_Y)
            d->dim[CONV_Y][2 + k] = y;
        else if (!dim_may_equal(y, d->dim[CONV_Y][2 + k]))
            return infer_fail(in, E_SHAPE, in->nin,
                              "with these sizes dy has %lld along axis %d, not %lld",
                              (long long)y, k + 2, (long long)d->dim[CONV_Y][2 + k]);
    }
    return true;
}

static bool conv_type(Infer *in) {
    const ConvForm *f = form_of(in->op);
    ConvDims d;
    return open_dims(in, f, &d) && infer_channels(in, f, &d) &&
           infer_sizes(in, f, &d) &&
           infer_out_tensor(in, 0, in->type[0]->dtype, 2 + d.p.ndim, d.dim[f->result]);
}

/* ---- shapes ---- */
/* The size along axis k, of conv and conv_transpose. */
static Var size_along(ShapeOf *q, const ConvProps *p, int k, bool transposed) {
    Builder *b = q->b;
    int64_t pads = p->before[k] + p->after[k] - p->extra[k];
    bool same = p->padding != CONV_GIVEN, ok = true;
    Bind bind[] = {{sym(b->s, "i"), q->in_shape[0][2 + k]},
                   {sym(b->s, "n"), q->in_shape[1][2 + k]},
                   {sym(b->s, "s"), const_int(b, p->stride[k])},
                   {sym(b->s, "d"), const_int(b, p->dilation[k])},
                   {sym(b->s, "p"), const_int(b, pads)}};
    const char *text = same && transposed ? "i * s"
                       : same             ? "(i + (s - 1)) // s"
                       : transposed       ? "(i - 1) * s + d * (n - 1) + (1 - p)"
                                          : "(i + p - (d * (n - 1) + 1)) // s + 1";
    Var v = template_build(b, text, &(Env){.n = 5, .bind = bind}, &ok);
    return ok ? v : VAR_NONE;
}

static Var times_number(Builder *b, Var n, int64_t by) {
    return by == 1 || n == VAR_NONE ? n : op_call2(b, "multiply", n, const_int(b, by));
}

static bool conv_shape(ShapeOf *q) {
    const ConvForm *f = form_of(q->op);
    ConvProps p;
    Var *out = q->out_shape[0];
    const Var *a = q->in_shape[0], *b = q->in_shape[1];
    if (conv_props(q->b->s, q->op, q->props, var_type(q->g, q->in[0])->ndim - 2,
                   is_transposed(f), &p))
        return false;
    out[0] = f->result == CONV_W ? b[1] : a[0];
    out[1] = f->result == CONV_Y   ? b[0]
             : f->result == CONV_X ? times_number(q->b, b[1], p.groups)
             : p.groups == 1
                 ? a[1]
                 : op_call2(q->b, "floor_divide", a[1], const_int(q->b, p.groups));
    bool ok = out[1] != VAR_NONE;
    for (int k = 0; ok && k < p.ndim; k++) {
        out[2 + k] = q->nin == 3 ? vmap_ints_item(q->b, q->in[2], k)
                                 : size_along(q, &p, k, is_transposed(f));
        ok = out[2 + k] != VAR_NONE;
    }
    return ok;
}

/* ---- running ---- */
static bool open_sizes(Call *c, const ConvForm *f, const ConvProps *p, Conv *q,
                       int64_t *shape) {
    int64_t given[MAX_NDIM];
    int n = p->ndim;
    if (c->nin == 3 && !call_shape(c, 2, &n, given)) return false;
    if (n != p->ndim)
        return call_fail(c, E_RUN_SHAPE, "size has %d numbers for %d spatial axes", n,
                         p->ndim);
    for (int k = 0; k < n; k++) {
        int64_t size[3];
        for (ConvPart i = CONV_X; i <= CONV_Y; i++)
            size[i] = q->part[i]    ? q->part[i]->shape[2 + k]
                      : c->nin == 3 ? given[k]
                                    : 0;
        const char *why =
            is_transposed(f)
                ? conv_axis_transposed(c->s, p, k, size[CONV_Y], size[CONV_W],
                                       &q->axis[k])
                : conv_axis(c->s, p, k, size[CONV_X], size[CONV_W], &q->axis[k]);
        if (why) return call_fail(c, E_RUN_SHAPE, "%s", why);
        if (f->result != CONV_Y && q->axis[k].y != size[CONV_Y])
            return call_fail(c, E_RUN_SHAPE,
                             "with these sizes dy has %lld along axis %d, not %lld",
                             (long long)q->axis[k].y, k + 2, (long long)size[CONV_Y]);
        shape[2 + k] = f->result == CONV_X   ? q->axis[k].x
                       : f->result == CONV_W ? q->axis[k].w
                                             : q->axis[k].y;
    }
    return true;
}

static bool open_channels(Call *c, const ConvForm *f, Conv *q, int64_t *shape) {
    const Tensor *x = q->part[CONV_X], *w = q->part[CONV_W], *y = q->part[CONV_Y];
    q->n = x ? x->shape[0] : y->shape[0];
    q->o = w ? w->shape[0] : y->shape[1];
    if (x)
        q->c = x->shape[1];
    else if (!i64_mul(w->shape[1], q->groups, &q->c))
        return call_fail(c, E_RUN_SHAPE, "too many channels");
    shape[0] = f->result == CONV_W ? q->o : q->n;
    shape[1] = f->result == CONV_X   ? q->c
               : f->result == CONV_W ? q->c / q->groups
                                     : q->o;
    if (q->c % q->groups || q->o % q->groups)
        return call_fail(c, E_RUN_SHAPE,
                         "%lld channels can't be divided into %lld "
                         "groups",
                         (long long)(q->c % q->groups ? q->c : q->o),
                         (long long)q->groups);
    if (x && w && w->shape[1] != q->c / q->groups)
        return call_fail(c, E_RUN_SHAPE, FEW_CHANNELS, (long long)(q->c / q->groups),
                         q->groups > 1 ? " for each group" : "",
                         (long long)w->shape[1]);
    if (y && w && y->shape[1] != q->o)
        return call_fail(c, E_RUN_SHAPE,
                         "the operands' numbers of channels differ: %lld and %lld",
                         (long long)y->shape[1], (long long)q->o);
    if (y && x && y->shape[0] != q->n)
        return call_fail(c, E_RUN_SHAPE,
                         "the operands' numbers of images differ: %lld and %lld",
                         (long long)q->n, (long long)y->shape[0]);
    return true;
}

static bool run_conv(Call *c, bool reference) {
    const ConvForm *f = form_of(c->op);
    int ndim = call_in(c, 0)->ndim;
    ConvProps p;
    const char *why = conv_props(c->s, c->op, c->props, ndim - 2, is_transposed(f), &p);
    if (why) return call_fail(c, E_RUN_SHAPE, "%s", why);
    Conv q = {.result = f->result, .ndim = p.ndim, .groups = p.groups};
    int64_t shape[2 + CONV_AXES];
    q.part[f->in[0]] = call_in(c, 0);
    q.part[f->in[1]] = call_in(c, 1);
    if (!open_channels(c, f, &q, shape) || !open_sizes(c, f, &p, &q, shape) ||
        !call_size_fits(c, q.part[f->in[0]]->dtype, ndim, shape))
        return false;
    const Tensor *out = call_out(c, 0, ndim, shape);
    if (!out) return false;
    q.part[f->result] = out;
    return reference ? conv_reference(c, &q) : conv_run(c, &q);
}

static bool conv_perform(Call *c) {
    return run_conv(c, false);
}
static bool conv_debug(Call *c) {
    return run_conv(c, true);
}

/* Types that show all sizes have been checked. */
static bool conv_fails(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    for (size_t i = 0; i < 2; i++) {
        const Type *t = var_type(g, apply_in(g, id)[i]);
        for (int k = 0; k < t->ndim; k++)
            if (!dim_is_known(t->dim[k]) &&
                (k > 0 || form_of(ap->op)->result == CONV_W))
                return true;
    }
    return ap->nin == 3 && !var_const(g, apply_in(g, id)[2]);
}

/* ---- derivatives ---- */
#define SAME_PROPS                                                                     \
    "strides=strides, padding=padding, dilations=dilations, groups=groups)"
static const char conv_pullback[] =
    "g_x = conv_input_grad(g, cj(w), x.shape[2:], " SAME_PROPS "\n"
    "g_w = conv_weights_grad(cj(x), g, w.shape[2:], " SAME_PROPS;
static const char conv_pushforward[] =
    "t_r = conv(t_x, w, " SAME_PROPS " + conv(x, t_w, " SAME_PROPS;
static const char input_grad_pullback[] =
    "g_dy = conv(g, cj(w), " SAME_PROPS "\n"
    "g_w = conv_weights_grad(g, cj(dy), w.shape[2:], " SAME_PROPS;
static const char input_grad_pushforward[] =
    "t_r = conv_input_grad(t_dy, w, size, " SAME_PROPS
    " + conv_input_grad(dy, t_w, size, " SAME_PROPS;
static const char weights_grad_pullback[] =
    "g_x = conv_input_grad(cj(dy), g, x.shape[2:], " SAME_PROPS "\n"
    "g_dy = conv(cj(x), g, " SAME_PROPS;
static const char weights_grad_pushforward[] =
    "t_r = conv_weights_grad(t_x, dy, size, " SAME_PROPS
    " + conv_weights_grad(x, t_dy, size, " SAME_PROPS;
static const char transpose_pushforward[] =
    "t_r = conv_transpose(t_x, w, output_padding=output_padding, " SAME_PROPS
    " + conv_transpose(x, t_w, output_padding=output_padding, " SAME_PROPS;

/* output_padding takes from the padding after the elements, which may be less than
 * none: then the last elements of g belong to no element of x. */
static bool transpose_pull(Pull *p) {
    static const char *const names[] = {"strides", "dilations", "groups"};
    Builder *b = p->b;
    ConvProps v;
    Var g = p->cotangent[0];
    PropArg arg[4];
    int64_t pair[2 * CONV_AXES];
    if (pull_discrete(p)) return true;
    conv_props(b->s, p->op, p->props, var_type(b->g, p->in[0])->ndim - 2, true, &v);
    for (int k = 0; k < v.ndim; k++) {
        pair[2 * k] = v.before[k];
        pair[2 * k + 1] = v.after[k] - v.extra[k];
    }
    for (int i = 0; i < 3; i++)
        arg[i] = (PropArg){names[i], *op_prop(b->s, p->op, p->props, names[i])};
    arg[3] = (PropArg){"padding", v.padding == CONV_GIVEN
                                      ? PROP_INTS(pair, 2 * (size_t)v.ndim)
                                      : *op_prop(b->s, p->op, p->props, "padding")};
    if (p->wanted[0]) {
        Var in[2] = {g, op_conj_of_complex(b, p->in[1])};
        p->grad[0] = apply_named(b, "conv", 2, in, 4, arg);
        if (p->grad[0] == VAR_NONE) return false;
    }
    if (p->wanted[1]) {
        Var size[CONV_AXES];
        for (int k = 0; k < v.ndim; k++)
            size[k] = shape_of(b, p->in[1], 2 + k);
        Var in[3] = {g, op_conj_of_complex(b, p->in[0]),
                     ints_stack(b, (size_t)v.ndim, size)};
        p->grad[1] = apply_named(b, "conv_weights_grad", 3, in, 4, arg);
        if (p->grad[1] == VAR_NONE) return false;
    }
    return true;
}

/* ---- vmap ----
 * x has the axes N and C, w has O and C, y has N and O; two parts share one of these,
 * over which products are summed, and each has one of its own, which the result has
 * too. Rows of one operand are more images, or more channels, along its own axis. Rows
 * of both, or channels of several groups, are more groups. */
static const char *const part_axes[] = {
    [CONV_X] = "NC", [CONV_W] = "OC", [CONV_Y] = "NO"};

static int axis_named(ConvPart p, char name) {
    return part_axes[p][0] == name ? 0 : part_axes[p][1] == name ? 1 : -1;
}

/* The axis of that operand that the other one lacks. */
static char own_axis(const ConvForm *f, int i) {
    const char *mine = part_axes[f->in[i]];
    return mine[axis_named(f->in[1 - i], mine[0]) >= 0];
}

static Var multiply_sizes(Builder *b, Var x, Var y) {
    if (x == VAR_NONE || y == VAR_NONE) return VAR_NONE;
    const Tensor *s = var_const(b->g, x), *t = var_const(b->g, y);
    int64_t n;
    return s && t && i64_mul(tensor_i64(s, 0), tensor_i64(t, 0), &n)
               ? const_int(b, n)
               : op_call2(b, "multiply", x, y);
}

static Var reshape_to(Builder *b, Var x, size_t n, const Var *dim) {
    Var in[2] = {x, ints_stack(b, n, dim)};
    return apply_named(b, "reshape", 2, in, 0, NULL);
}

/* x [rows, ...] with the rows before what lies along an axis of a row. */
static Var fold_rows(Vmap *q, Var x, int axis) {
    Var dim[MAX_NDIM + 1];
    if (x == VAR_NONE) return VAR_NONE;
    size_t n = shape_items(q->b, x, 1, 0, dim);
    dim[axis] = multiply_sizes(q->b, q->size, dim[axis]);
    return reshape_to(q->b, vmap_move_axis(q->b, x, 0, axis), n, dim);
}

/* The size of that axis of a result's row. */
static Var result_size(Vmap *q, const ConvForm *f, char name, int64_t groups) {
    for (int i = 0; i < 2; i++) {
        int k = axis_named(f->in[i], name);
        if (k < 0) continue;
        Var n = shape_of(q->b, q->in[i], k + q->rows[i]);
        bool whole = name != 'C' || f->in[i] != CONV_W, want = f->result != CONV_W;
        if (n == VAR_NONE || name != 'C' || whole == want) return n;
        return want ? multiply_sizes(q->b, n, const_int(q->b, groups))
                    : op_call2(q->b, "floor_divide", n, const_int(q->b, groups));
    }
    return VAR_NONE;
}

/* The reverse of fold_rows, for the result. */
static bool unfold_rows(Vmap *q, const ConvForm *f, int axis, int64_t groups) {
    Var dim[MAX_NDIM + 1];
    Builder *b = q->b;
    size_t n = shape_items(b, q->out[0], axis + 1, (size_t)axis + 2, dim);
    for (int k = 0; k < axis; k++)
        dim[k] = shape_of(b, q->out[0], k);
    dim[axis] = q->size;
    dim[axis + 1] = result_size(q, f, part_axes[f->result][axis], groups);
    q->out[0] = vmap_move_axis(b, reshape_to(b, q->out[0], n, dim), axis, 0);
    return q->out[0] != VAR_NONE;
}

static bool rows_as_groups(Vmap *q, const ConvForm *f, int64_t groups) {
    const Tensor *size = var_const(q->b->g, q->size);
    int64_t more;
    if (!size || !i64_mul(tensor_i64(size, 0), groups, &more) || more < 1 ||
        more > INT32_MAX)
        return vmap_by_scan(q);
    Var in[3] = {VAR_NONE, VAR_NONE, q->nin == 3 ? q->in[2] : VAR_NONE};
    for (size_t i = 0; i < 2; i++)
        in[i] = fold_rows(q, vmap_with_rows(q, i), f->in[i] != CONV_W);
    return vmap_apply(q, vmap_replace_prop(q, "groups", PROP_INT(more)), in) &&
           unfold_rows(q, f, f->result != CONV_W, groups);
}

static bool conv_vmap(Vmap *q) {
    const ConvForm *f = form_of(q->op);
    int64_t groups = prop_int(q->b->s, q->op, q->props, "groups");
    int i = q->rows[1];
    if (q->nin == 3 && q->rows[2]) return vmap_by_scan(q);
    char own = own_axis(f, i);
    if ((q->rows[0] && q->rows[1]) || (groups > 1 && own != 'N'))
        return rows_as_groups(q, f, groups);
    Var in[3] = {q->in[0], q->in[1], q->nin == 3 ? q->in[2] : VAR_NONE};
    in[i] = fold_rows(q, in[i], axis_named(f->in[i], own));
    return in[i] != VAR_NONE && vmap_apply(q, q->props, in) &&
           unfold_rows(q, f, axis_named(f->result, own), groups);
}

#define PROPS                                                                          \
    "strides: ints = 1, padding: sides = 0, dilations: ints = 1, groups: int = 1"
#define ABOUT_PROPS                                                                    \
    "strides and dilations are a number, or one for each spatial axis; padding is a "  \
    "number, one for each axis, or pairs (before, after), where less than 0 cuts "     \
    "off, or 'valid' (none), or 'same_upper' ('same') or 'same_lower': as much as "    \
    "makes y's sizes those of x divided by the strides, the odd one at the end or at " \
    "the start."
#define COMMON                                                                         \
    .promote = PROMOTE_SAME, .type = conv_type, RARE(.infer_shape = conv_shape),       \
    .perform = conv_perform, .debug = conv_debug, .fails = conv_fails,                 \
    .vmap = conv_vmap, .takes_after = true
static const Op table[] = {
    {.name = OP_ROW("conv"),
     .doc =
         "Convolution as networks have it (the kernel isn't flipped): x [N, C, "
         "sizes] with filters w [O, C / groups, kernel sizes] gives y [N, O, sizes], "
         "for 1 to 3 spatial axes. " ABOUT_PROPS
         " The channels of each group have their own filters.",
     .in = "x, w",
     .props = PROPS,
     COMMON,
     .flops = "2 * r.size * w.shape[1] * prod(w.shape[2:])",
     .pullback = conv_pullback,
     .pushforward = conv_pushforward,
     .example = "conv([[[1., 2., 3., 4.]]], [[[1., -1.]]]) -> [[[-1.0, -1.0, -1.0]]]\n"
                "conv([[[1, 2, 3, 4]]], [[[1, 1, 1]]], strides=2, padding=1) -> [[[3, "
                "9]]]"},
    {.name = OP_ROW("conv_transpose"),
     .doc =
         "Transposed convolution: each element of x [N, C, sizes] adds the filters "
         "w [C, O / groups, kernel sizes], times that element, to the result [N, O, "
         "sizes], strides apart. The result has (n - 1) * stride + dilation * "
         "(kernel - 1) + 1 - padding + output_padding elements along an axis where x "
         "has n; n * stride for padding='same'. As the gradient of conv with respect "
         "to its input, with the same props.",
     .in = "x, w",
     .props = PROPS ", output_padding: ints = 0",
     COMMON,
     .flops = "2 * x.size * w.shape[1] * prod(w.shape[2:])",
     .pull = transpose_pull,
     .pushforward = transpose_pushforward,
     .example = "conv_transpose([[[1., 2.]]], [[[1., 10.]]]) -> [[[1.0, 12.0, 20.0]]]\n"
                "conv_transpose([[[1, 2]]], [[[1, 1, 1]]], strides=2, padding=1, "
                "output_padding=1) -> [[[1, 3, 2, 2]]]"},
    {.name = OP_ROW("conv_input_grad"),
     .doc = "The gradient of conv with respect to x, from dy, that with respect to y: "
            "size is x's spatial sizes, the props are conv's.",
     .in = "dy, w, size: ints",
     .props = PROPS,
     COMMON,
     .flops = "2 * dy.size * w.shape[1] * prod(w.shape[2:])",
     .disconnected = "size",
     .pullback = input_grad_pullback,
     .pushforward = input_grad_pushforward,
     .example = "conv_input_grad([[[1., 1., 1.]]], [[[1., -1.]]], [4]) -> [[[1.0, 0.0, "
                "0.0, -1.0]]]"},
    {.name = OP_ROW("conv_weights_grad"),
     .doc = "The gradient of conv with respect to w, from dy, that with respect to y: "
            "size is the kernel's sizes, the props are conv's.",
     .in = "x, dy, size: ints",
     .props = PROPS,
     COMMON,
     .flops = "2 * dy.size * r.shape[1] * prod(r.shape[2:])",
     .disconnected = "size",
     .pullback = weights_grad_pullback,
     .pushforward = weights_grad_pushforward,
     .example = "conv_weights_grad([[[1., 2., 3., 4.]]], [[[1., 1., 1.]]], [2]) -> "
                "[[[6.0, 9.0]]]"},
};
const OpList ops_nn_conv = LIST_OF(table);
