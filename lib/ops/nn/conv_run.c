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
 * matrices: w with each image, [channels, positions]. */
static bool is_pointwise(const Conv *q) {
    const Tensor *x = q->part[q->result == CONV_X ? CONV_Y : CONV_X];
    bool is = dtype_is_inexact(x->dtype);
    int64_t step = x->stride[x->ndim - 1];
    for (int k = q->ndim; k-- > 0; step *= x->shape[2 + k]) {
        const ConvAxis *a = &q->axis[k];
        is = is && a->w == 1 && a->stride == 1 && a->before == 0 && a->x == a->y &&
             x->stride[2 + k] == step;
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

static bool run_pointwise(Call *c, const Conv *q) {
    bool forward = q->result == CONV_Y;
    const Tensor *x = q->part[forward ? CONV_X : CONV_Y], *w = q->part[CONV_W];
    int64_t from = (forward ? q->c : q->o) / q->groups,
            to = (forward ? q->o : q->c) / q->groups, positions = 1;
    for (int k = 0; k < q->ndim; k++)
        positions *= q->axis[k].x;
    Tensor a, b;
    set_matrix(&a, w, 1, q->groups, to, from,
               (const int64_t[]){0, q->o / q->groups * w->stride[0],
                                 w->stride[!forward], w->stride[forward]});
    set_matrix(&b, x, q->n, q->groups, from, positions,
               (const int64_t[]){x->stride[0], from * x->stride[1], x->stride[1],
                                 x->stride[x->ndim - 1]});
    return product_run(c, &a, &b, 2, (const int64_t[]){q->n, q->groups},
                       q->part[q->result]->data);
}

bool conv_run(Call *c, const Conv *q) {
    const Tensor *r = q->part[q->result];
    if (!has_terms(q)) return memset(r->data, 0, tensor_bytes(r)), true;
    if (q->result != CONV_W && is_pointwise(q)) return run_pointwise(c, q);
    if (!conv_has_vectors(r->dtype)) return conv_reference(c, q);
    return q->result == CONV_W ? conv_run_weights_grad(c, q) : conv_run_lattice(c, q);
}
