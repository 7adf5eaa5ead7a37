/* Chooses how a convolution is computed. */
#include "ops/nn/conv_run.h"

#include "ops/linalg/product.h"

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

/* Are the positions one dim? */
static bool is_flat(const Tensor *t) {
    int64_t step = t->stride[t->ndim - 1];
    for (int k = t->ndim; k-- > 2; step *= t->shape[k])
        if (t->stride[k] != step) return false;
    return true;
}

static bool is_pointwise(const Conv *q) {
    bool is = dtype_is_inexact(q->part[q->result]->dtype) &&
              (q->result == CONV_X || is_flat(q->part[CONV_X])) &&
              (q->result == CONV_Y || is_flat(q->part[CONV_Y])) &&
              (q->result != CONV_W || q->n == 1);
    for (int k = 0; k < q->ndim; k++) {
        const ConvAxis *a = &q->axis[k];
        is = is && a->w == 1 && a->stride == 1 && a->before == 0 && a->x == a->y;
    }
    return is;
}

/* The groups' matrices as a batch [1 or n, groups, rows, columns]. */
static void set_matrix(Tensor *m, const Tensor *t, int64_t n, int64_t groups,
                       int64_t rows, int64_t columns, const int64_t stride[4]) {
    *m = (Tensor){.dtype = t->dtype, .ndim = 4, .data = t->data};
    m->shape[0] = n, m->shape[1] = groups;
    m->shape[2] = rows, m->shape[3] = columns;
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
                 .axis = {{n, 1, n, 1, 1, 0}}};
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
    set_matrix(&a, w, 1, q->groups, to, from,
               (const int64_t[]){0, q->o / q->groups * w->stride[0],
                                 w->stride[!forward], w->stride[forward]});
    set_matrix(&b, x, q->n, q->groups, from, positions_of(q),
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
        &a, y, 1, q->groups, to, n,
        (const int64_t[]){0, to * y->stride[1], y->stride[1], y->stride[y->ndim - 1]});
    set_matrix(&b, x, 1, q->groups, n, from,
               (const int64_t[]){0, from * x->stride[1], x->stride[x->ndim - 1],
                                 x->stride[1]});
    return product_run(c, &a, &b, 2, (const int64_t[]){1, q->groups},
                       q->part[CONV_W]->data);
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

bool conv_run(Call *c, const Conv *q) {
    const Tensor *r = q->part[q->result];
    if (!has_terms(q)) return memset(r->data, 0, tensor_bytes(r)), true;
    if (is_pointwise(q) && q->result == CONV_W) return run_pointwise_grad(c, q);
    if (is_pointwise(q) && conv_has_vectors(r->dtype)) return run_flat(c, q);
    if (is_pointwise(q)) return run_pointwise(c, q);
    if (conv_run_each(c, q)) return true;
    if (r->dtype == DT_FLOAT16) return run_wide(c, q);
    if (!conv_has_vectors(r->dtype)) return conv_reference(c, q);
    return q->result == CONV_W ? conv_run_weights_grad(c, q) : conv_run_lattice(c, q);
}
