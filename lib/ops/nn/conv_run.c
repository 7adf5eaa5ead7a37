/* Chooses how a convolution is computed. */
#include "ops/nn/conv_run.h"

#include "ops/linalg/product/product.h"
#include "ops/nn/conv_strip.h"

#include <math.h>
#include <string.h>

/* Has a sum any terms? */
static bool has_terms(const Conv *q) {
    bool has = q->n > 0 && q->c > 0 && q->o > 0;
    for (int k = 0; k < q->ndim; k++)
        has = has && q->axis[k].x > 0 && q->axis[k].y > 0 && q->axis[k].w > 0;
    return has;
}

/* ---- 1 x 1 ----
 * Without strides and padding, a convolution whose kernel is one element multiplies
 * matrices: w with each image, [channels, positions]; or two images, for the gradient
 * of w. */

static bool is_pointwise(const Conv *q) {
    bool is = dtype_is_inexact(q->part[q->result]->dtype) &&
              (q->result == CONV_X || conv_is_flat(q->part[CONV_X], 2)) &&
              (q->result == CONV_Y || conv_is_flat(q->part[CONV_Y], 2)) &&
              (q->result != CONV_W || q->n == 1);
    for (int k = 0; k < q->ndim; k++) {
        const ConvAxis *a = &q->axis[k];
        is = is && a->w == 1 && a->stride == 1 && a->before == 0 && a->x == a->y;
    }
    return is;
}

/* The groups' matrices as a batch [1 or n, groups, rows, columns]. */
static void set_matrix(Tensor *m, const Tensor *t, const int64_t shape[4],
                       const int64_t stride[4]) {
    *m = (Tensor){.dtype = t->dtype, .ndim = 4, .data = t->data};
    memcpy(m->shape, shape, 4 * sizeof *shape);
    memcpy(m->stride, stride, 4 * sizeof *stride);
}

static int64_t positions_of(const Conv *q) {
    int64_t n = 1;
    for (int k = 0; k < q->ndim; k++)
        n *= q->axis[k].x;
    return n;
}

/* By vectors, with all positions along one axis. */
static bool run_flat(Call *c, const Conv *q) {
    int64_t n = positions_of(q);
    Conv flat = {.result = q->result,
                 .ndim = 1,
                 .n = q->n,
                 .c = q->c,
                 .o = q->o,
                 .groups = q->groups,
                 .axis = {{n, 1, n, 1, 1, 0}},
                 .after = q->after};
    Tensor part[3];
    for (ConvPart i = CONV_X; i <= CONV_Y; i++) {
        const Tensor *t = q->part[i];
        part[i] = (Tensor){.dtype = t->dtype, .ndim = 3, .data = t->data};
        for (int k = 0; k < 2; k++) {
            part[i].shape[k] = t->shape[k];
            part[i].stride[k] = t->stride[k];
        }
        part[i].shape[2] = i == CONV_W ? 1 : n;
        part[i].stride[2] = t->stride[t->ndim - 1];
        flat.part[i] = &part[i];
    }
    return conv_run_lattice(c, &flat);
}

static bool run_pointwise(Call *c, const Conv *q) {
    bool forward = q->result == CONV_Y;
    const Tensor *x = q->part[forward ? CONV_X : CONV_Y], *w = q->part[CONV_W];
    int64_t from = (forward ? q->c : q->o) / q->groups,
            to = (forward ? q->o : q->c) / q->groups;
    Tensor a, b;
    set_matrix(&a, w, (const int64_t[]){1, q->groups, to, from},
               (const int64_t[]){0, q->o / q->groups * w->stride[0],
                                 w->stride[!forward], w->stride[forward]});
    set_matrix(&b, x, (const int64_t[]){q->n, q->groups, from, positions_of(q)},
               (const int64_t[]){x->stride[0], from * x->stride[1], x->stride[1],
                                 x->stride[x->ndim - 1]});
    return product_run(c, &a, &b, 2, (const int64_t[]){q->n, q->groups},
                       q->part[q->result]->data);
}

static bool run_pointwise_grad(Call *c, const Conv *q) {
    const Tensor *x = q->part[CONV_X], *y = q->part[CONV_Y];
    int64_t from = q->c / q->groups, to = q->o / q->groups, n = positions_of(q);
    Tensor a, b;
    set_matrix(
        &a, y, (const int64_t[]){1, q->groups, to, n},
        (const int64_t[]){0, to * y->stride[1], y->stride[1], y->stride[y->ndim - 1]});
    set_matrix(&b, x, (const int64_t[]){1, q->groups, n, from},
               (const int64_t[]){0, from * x->stride[1], x->stride[x->ndim - 1],
                                 x->stride[1]});
    return product_run(c, &a, &b, 2, (const int64_t[]){1, q->groups},
                       q->part[CONV_W]->data);
}

/* The same with strides: of the elements of x that there are. */
static bool is_spread(const Conv *q) {
    bool is = dtype_is_inexact(q->part[q->result]->dtype) &&
              conv_has_vectors(q->part[q->result]->dtype) && q->n == 1 &&
              q->result == CONV_W && conv_is_flat(q->part[CONV_Y], 2);
    for (int k = 0; k < q->ndim; k++)
        is = is && q->axis[k].w == 1 && q->axis[k].before == 0 &&
             (q->axis[k].y - 1) * q->axis[k].stride < q->axis[k].x;
    return is;
}

static bool run_spread_grad(Call *c, const Conv *q) {
    Conv v = *q;
    Tensor from = *q->part[CONV_X], x = from;
    int64_t step = (int64_t)dtype_size(from.dtype);
    for (int k = from.ndim; k-- > 0; step *= x.shape[k]) {
        if (k >= 2) {
            from.stride[k] *= q->axis[k - 2].stride;
            v.axis[k - 2].x = x.shape[k] = from.shape[k] = q->axis[k - 2].y;
        }
        x.stride[k] = step;
    }
    x.buf = NULL;
    if (!(x.data = call_scratch(c, (size_t)step))) return false;
    tensor_assign(&x, &from);
    v.part[CONV_X] = &x;
    return run_pointwise_grad(c, &v);
}

/* float16, by way of float32. */
static bool run_wide(Call *c, const Conv *q) {
    const Tensor *r = q->part[q->result];
    Tensor wide[3] = {{0}};
    Conv v = *q;
    bool ok = true;
    for (ConvPart i = CONV_X; ok && i <= CONV_Y; i++) {
        v.part[i] = &wide[i];
        ok = i == q->result ? tensor_new(c->s, DT_FLOAT32, r->ndim, r->shape, &wide[i])
                            : tensor_cast(c->s, q->part[i], DT_FLOAT32, &wide[i]);
    }
    ok = ok &&
         (v.result == CONV_W ? conv_run_weights_grad(c, &v) : conv_run_lattice(c, &v));
    if (ok)
        tensor_cast_elements(DT_FLOAT16, r->data, DT_FLOAT32, wide[q->result].data,
                             (size_t)tensor_size(r), 2, 4);
    for (ConvPart i = CONV_X; i <= CONV_Y; i++)
        tensor_unref(&wide[i]);
    return ok;
}

/* ---- what comes after ---- */
/* Numbers for each channel of r, or one for all. */
static bool is_by_channel(const Tensor *t, const Tensor *r) {
    int64_t n = tensor_size(t);
    int axis = 1 - (r->ndim - t->ndim);
    return n == 1 || (axis >= 0 && n == r->shape[1] && t->shape[axis] == n &&
                      t->stride[axis] % 4 == 0);
}

static void set_sum(ConvAfter *a, const Tensor *t, const Tensor *r) {
    int64_t n = tensor_size(t);
    a->sum = t->data;
    a->sum_step = n == 1 ? 0 : t->stride[1 - (r->ndim - t->ndim)] / 4;
}

/* One number that is no nan. */
static bool take_limit(const Tensor *t, float *limit) {
    if (tensor_size(t) != 1) return false;
    memcpy(limit, t->data, sizeof *limit);
    return *limit == *limit;
}

/* May kernels do what comes after this? Only in the order that ConvAfter has. Elements
 * that no tap reaches are set elsewhere. */
static bool open_after(const Call *c, const Conv *q, ConvAfter *a) {
    static const float none = -0.0F;
    const Tensor *r = q->part[q->result];
    int stage = 0;
    if (!c->nafter || r->dtype != DT_FLOAT32 || q->result == CONV_W) return false;
    for (int k = 0; k < q->ndim && q->result == CONV_X; k++)
        if (q->axis[k].stride > 1) return false;
    *a = (ConvAfter){&none, 0, NULL, r->data, -INFINITY, INFINITY};
    for (size_t i = 0; i < c->nafter; i++) {
        const Tensor *t = &c->after[i].operand;
        AfterOp op = c->after[i].op;
        bool limits = op != AFTER_ADD, by_channel = !limits && is_by_channel(t, r);
        int want = by_channel ? 1 : !limits ? 2 : op == AFTER_MAXIMUM ? 3 : 4;
        if (t->dtype != DT_FLOAT32 || t->ndim > r->ndim || stage >= want) return false;
        stage = want;
        if (by_channel)
            set_sum(a, t, r);
        else if (limits && !take_limit(t, op == AFTER_MAXIMUM ? &a->low : &a->high))
            return false;
        else if (!limits && (!tensor_same_shape(t, r) || !tensor_is_contiguous(t)))
            return false;
        else if (!limits)
            a->more = t->data;
    }
    return true;
}

/* ---- which of them ---- */
static bool run_vectors(Call *c, const Conv *q) {
    if (is_pointwise(q)) return run_flat(c, q);
    bool ok = true;
    if (conv_run_each(c, q)) return true;
    return conv_run_columns(c, q, &ok) ? ok : conv_run_lattice(c, q);
}

bool conv_run(Call *c, const Conv *q) {
    const Tensor *r = q->part[q->result];
    if (!has_terms(q)) return memset(r->data, 0, tensor_bytes(r)), true;
    if (is_pointwise(q) && q->result == CONV_W) return run_pointwise_grad(c, q);
    if (is_spread(q)) return run_spread_grad(c, q);
    if (conv_has_vectors(r->dtype) && q->result != CONV_W) {
        ConvAfter after;
        Conv v = *q;
        c->after_done = open_after(c, q, &after);
        v.after = c->after_done ? &after : NULL;
        return run_vectors(c, &v);
    }
    if (is_pointwise(q)) return run_pointwise(c, q);
    if (conv_run_each(c, q)) return true;
    if (r->dtype == DT_FLOAT16) return run_wide(c, q);
    return conv_has_vectors(r->dtype) ? conv_run_weights_grad(c, q)
                                      : conv_reference(c, q);
}
