/* Convolution straight from its definition: every element of the result is an inner
 * product of the elements that belong to it. */
#include "ops/linalg/product/product.h"
#include "ops/nn/conv.h"

#include <string.h>

/* The tensors that a result is computed from. */
static const struct {
    ConvPart a, b;
} operands[] = {[CONV_X] = {CONV_Y, CONV_W},
                [CONV_W] = {CONV_X, CONV_Y},
                [CONV_Y] = {CONV_X, CONV_W}};

/* Terms gathered for one element of the result. */
typedef struct Gather {
    const Conv *q;
    const Tensor *a, *b;
    size_t size;
    char *left, *right;
    int64_t terms;
    int64_t at[2 + CONV_AXES]; /* of the result's element */
} Gather;

/* Term i along axis k: the positions in the two operands. False: it is outside. */
static bool pair_at(const Gather *t, int k, int64_t i, int64_t *a, int64_t *b) {
    const ConvAxis *x = &t->q->axis[k];
    int64_t at = t->at[2 + k];
    if (t->q->result == CONV_X) {
        int64_t from = at + x->before - i * x->dilation;
        *a = from / x->stride, *b = i;
        return from >= 0 && from % x->stride == 0 && *a < x->y;
    }
    int64_t y = t->q->result == CONV_W ? i : at, w = t->q->result == CONV_W ? at : i;
    *a = y * x->stride - x->before + w * x->dilation, *b = i;
    return *a >= 0 && *a < x->x;
}

static int64_t terms_along(const Conv *q, int k) {
    return q->result == CONV_W ? q->axis[k].y : q->axis[k].w;
}

/* All terms along the axes from k on. */
static void gather_axes(Gather *t, int k, const char *a, const char *b) {
    if (k == t->q->ndim) {
        memcpy(t->left + (size_t)t->terms * t->size, a, t->size);
        memcpy(t->right + (size_t)t->terms++ * t->size, b, t->size);
        return;
    }
    int64_t n = terms_along(t->q, k), pa, pb;
    for (int64_t i = 0; i < n; i++)
        if (pair_at(t, k, i, &pa, &pb))
            gather_axes(t, k + 1, a + pa * t->a->stride[2 + k],
                        b + pb * t->b->stride[2 + k]);
}

static const char *element_of(const Tensor *t, int64_t i, int64_t j) {
    return (const char *)t->data + i * t->stride[0] + j * t->stride[1];
}

/* And over the axis that both operands have: channels of the group, or images. */
static void gather_terms(Gather *t) {
    const Conv *q = t->q;
    int64_t c = q->c / q->groups, o = q->o / q->groups, i = t->at[0], j = t->at[1];
    t->terms = 0;
    if (q->result == CONV_Y)
        for (int64_t k = 0; k < c; k++)
            gather_axes(t, 0, element_of(t->a, i, j / o * c + k),
                        element_of(t->b, j, k));
    else if (q->result == CONV_X)
        for (int64_t k = 0; k < o; k++)
            gather_axes(t, 0, element_of(t->a, i, j / c * o + k),
                        element_of(t->b, j / c * o + k, j % c));
    else
        for (int64_t k = 0; k < q->n; k++)
            gather_axes(t, 0, element_of(t->a, k, i / o * c + j),
                        element_of(t->b, k, i));
}

static int64_t most_terms(const Conv *q) {
    int64_t n = q->result == CONV_W   ? q->n
                : q->result == CONV_Y ? q->c / q->groups
                                      : q->o / q->groups;
    for (int k = 0; k < q->ndim; k++)
        if (!i64_mul(n, terms_along(q, k), &n)) return -1;
    return n;
}

typedef struct ReferenceJob {
    const Conv *q;
    char *room;
    size_t each; /* bytes of room for one side's terms */
} ReferenceJob;

/* One row of the result's second axis. */
static void reference_chunk(void *ctx, size_t chunk, unsigned worker) {
    const ReferenceJob *j = ctx;
    const Conv *q = j->q;
    const Tensor *r = q->part[q->result];
    int64_t inner = 1, at = (int64_t)chunk;
    Gather t = {.q = q,
                .a = q->part[operands[q->result].a],
                .b = q->part[operands[q->result].b],
                .size = dtype_size(r->dtype),
                .left = j->room + 2 * j->each * worker,
                .right = j->room + (2 * worker + 1) * j->each,
                .at = {at / r->shape[1], at % r->shape[1]}};
    for (int k = 2; k < r->ndim; k++)
        inner *= r->shape[k];
    char *out = (char *)r->data + (size_t)(at * inner) * t.size;
    for (int64_t i = 0; i < inner; i++, out += t.size) {
        for (int64_t k = q->ndim, rest = i; k-- > 0; rest /= r->shape[2 + k])
            t.at[2 + k] = rest % r->shape[2 + k];
        gather_terms(&t);
        product_dot(r->dtype)(t.terms, t.left, (int64_t)t.size, t.right,
                              (int64_t)t.size, out);
    }
}

bool conv_reference(Call *c, const Conv *q) {
    const Tensor *r = q->part[q->result];
    int64_t terms = most_terms(q);
    ReferenceJob j = {.q = q};
    size_t all;
    if (tensor_size(r) == 0) return true;
    if (terms < 0 || !size_mul((size_t)terms, dtype_size(r->dtype), &j.each) ||
        !size_mul(j.each, 2 * (size_t)pool_threads(c->host->pool), &all))
        return call_fail(c, E_LIMIT, "%s adds more numbers than memory can hold",
                         c->op->name);
    j.room = call_scratch(c, all);
    if (!j.room) return false;
    pool_run(c->host->pool, (size_t)(r->shape[0] * r->shape[1]), reference_chunk, &j);
    return true;
}
