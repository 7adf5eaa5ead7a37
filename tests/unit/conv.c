/* The vectors of convolutions at every CPU level against the reference, in random
 * sizes, strides, dilations, paddings, groups and memory layouts; and the same bits for
 * any number of threads. */
#include "harness.h"
#include "value/class.h"

enum { RUNS = 400, AXES = 3 };

static uint64_t state = 88172645463325252u;
static int64_t rnd(int64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* ---- a convolution ---- */
typedef struct Some {
    int ndim;
    int64_t groups, x[2 + AXES], w[2 + AXES], stride[AXES], dilation[AXES],
        pads[2 * AXES];
    char text[200];
} Some;

static Some some_conv(void) {
    static const int64_t counts[] = {1, 2, 3, 4, 7, 8, 13, 16, 24, 32, 35, 62, 70};
    Some c = {.ndim = 1 + (int)rnd(AXES), .groups = rnd(3) ? 1 : 1 + rnd(5)};
    bool depthwise = rnd(5) == 0, pointwise = rnd(6) == 0;
    c.x[0] = 1 + rnd(2);
    c.w[1] = depthwise ? 1 : 1 + rnd(6);
    c.w[0] = c.groups * (depthwise ? 1 + rnd(2) : counts[rnd(13)]);
    c.x[1] = c.w[1] * c.groups;
    for (int k = 0; k < c.ndim; k++) {
        c.w[2 + k] = pointwise ? 1 : 1 + rnd(4);
        c.stride[k] = pointwise || rnd(2) ? 1 : 1 + rnd(3);
        c.dilation[k] = rnd(2) ? 1 : 1 + rnd(3);
        c.pads[2 * k] = pointwise || rnd(2) ? 0 : rnd(5) - 1;
        c.pads[2 * k + 1] = pointwise || rnd(2) ? 0 : rnd(5) - 1;
        int64_t least =
            c.dilation[k] * (c.w[2 + k] - 1) + 1 - c.pads[2 * k] - c.pads[2 * k + 1];
        bool row = k == c.ndim - 1;
        c.x[2 + k] = (least > 1 ? least : 1) + (row && rnd(3) == 0 ? rnd(90) : rnd(9));
    }
    int n =
        snprintf(c.text, sizeof c.text, "%d axes, groups %d:", c.ndim, (int)c.groups);
    for (int k = 0; k < c.ndim + 2; k++)
        n += snprintf(c.text + n, sizeof c.text - (size_t)n, " %d/%d", (int)c.x[k],
                      (int)c.w[k]);
    return c;
}

/* ---- running ---- */
/* With what comes after it, which the kernel must do; NULL: nothing. */
static Value run_after(Lab *l, ApplyId id, bool reference, const After *after,
                       size_t nafter) {
    const Apply *a = &l->g->apply[id];
    const Value *in[3];
    Value out = {.kind = TYPE_TENSOR};
    const Type *type = var_type(l->g, a->out);
    CallHost host = {
        .alloc = lab_alloc, .scratch = lab_scratch, .pool = session_pool(l->s)};
    for (size_t i = 0; i < a->nin; i++)
        in[i] = &l->val[apply_in(l->g, id)[i]];
    Call c = {.s = l->s,
              .g = l->g,
              .id = id,
              .op = a->op,
              .props = a->props,
              .nin = a->nin,
              .nout = 1,
              .in = in,
              .out = &out,
              .out_type = &type,
              .after = after,
              .nafter = nafter,
              .host = &host};
    CHECK(reference ? a->op->debug(&c) : a->op->perform(&c), "%s fails", a->op->name);
    CHECK(!nafter || c.after_done, "%s leaves what comes after it", a->op->name);
    lab_scratch_free();
    return out;
}

static Value run(Lab *l, ApplyId id, bool reference) {
    return run_after(l, id, reference, NULL, 0);
}

static bool is_same(const Value *a, const Value *b) {
    return tensor_same_shape(&a->t, &b->t) &&
           memcmp(a->t.data, b->t.data, tensor_bytes(&a->t)) == 0;
}

/* All numbers are whole and small: sums are exact in any order. */
static void compare_levels(Lab *l, ApplyId id, const Some *c, DType d) {
    Value want = run(l, id, true);
    for (int level = 0; level <= 2; level++) {
        session_options(l->s)->cpu_level = level;
        Value have = run(l, id, false);
        CHECK(is_same(&want, &have), "%s of %s, level %d: %s", l->g->apply[id].op->name,
              dtype_name(d), level, c->text);
        value_unref(&have);
    }
    value_unref(&want);
}

/* y = min(max(y + by channel + by element, 0), 6), or some of that. */
static void compare_after(Lab *l, ApplyId id, const Some *c) {
    Value want = run(l, id, true);
    const Tensor *y = &want.t;
    int64_t channels[1 + AXES] = {y->shape[1], 1, 1, 1};
    float low = 0, high = 6;
    After all[] = {{AFTER_ADD, lab_tensor(l, DT_FLOAT32, 1 + c->ndim, channels, 0)},
                   {AFTER_ADD, lab_tensor(l, DT_FLOAT32, y->ndim, y->shape, 0)},
                   {AFTER_MAXIMUM, {.dtype = DT_FLOAT32, .data = &low}},
                   {AFTER_MINIMUM, {.dtype = DT_FLOAT32, .data = &high}}},
          some[4];
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < tensor_size(&all[k].operand); i++)
            lab_put(&all[k].operand, i, (double)rnd(9) - 4);
    size_t n = 0;
    int64_t inner = tensor_size(y) / (y->shape[0] * y->shape[1] + !y->shape[1]);
    for (size_t k = 0; k < 4; k++) {
        if (rnd(3) == 0) continue;
        some[n++] = all[k];
        float *at = y->data;
        for (int64_t i = 0; i < tensor_size(y); i++) {
            const float *p = all[k].operand.data;
            float v = k == 0 ? p[i / inner % y->shape[1]] : k == 1 ? p[i] : *p;
            at[i] = k < 2 ? at[i] + v : (k == 2) == (at[i] < v) ? v : at[i];
        }
    }
    for (int level = 0; level <= 2; level++) {
        session_options(l->s)->cpu_level = level;
        Value have = run_after(l, id, false, some, n);
        CHECK(is_same(&want, &have), "%zu after conv, level %d: %s", n, level, c->text);
        value_unref(&have);
    }
    for (int k = 0; k < 2; k++)
        tensor_unref(&all[k].operand);
    value_unref(&want);
}

static ApplyId apply(Lab *l, const char *name, Var a, Var b, const int64_t *size,
                     const Some *c) {
    size_t n = (size_t)c->ndim;
    PropArg arg[] = {{"strides", PROP_INTS(c->stride, n)},
                     {"dilations", PROP_INTS(c->dilation, n)},
                     {"padding", PROP_INTS(c->pads, 2 * n)},
                     {"groups", PROP_INT(c->groups)}};
    Var in[3] = {a, b, size ? const_ints(&l->b, n, size) : VAR_NONE};
    Var r = apply_named(&l->b, name, size ? 3 : 2, in, 4, arg);
    lab_room(l);
    if (size && !l->val[in[2]].t.data)
        value_copy_view(&l->val[in[2]], var_leafrec(l->g, in[2])->value);
    CHECK(r != VAR_NONE, "%s: %s", name, c->text);
    return r == VAR_NONE ? APPLY_NONE : var_owner(l->g, r);
}

/* The convolution and both gradients, of layouts below `layouts`. */
static void compare_all(Lab *l, const Some *c, DType d, int layouts) {
    int n = 2 + c->ndim;
    Var x = lab_input(l, lab_filled(l, d, n, c->x, (int)rnd(layouts)), true);
    Var w = lab_input(l, lab_filled(l, d, n, c->w, (int)rnd(layouts)), true);
    ApplyId y = apply(l, "conv", x, w, NULL, c);
    if (y == APPLY_NONE) return;
    const Type *t = var_type(l->g, l->g->apply[y].out);
    Var g = lab_input(l, lab_filled(l, d, n, t->dim, (int)rnd(layouts)), true);
    compare_levels(l, y, c, d);
    if (d == DT_FLOAT32) compare_after(l, y, c);
    compare_levels(l, apply(l, "conv_input_grad", g, w, c->x + 2, c), c, d);
    compare_levels(l, apply(l, "conv_weights_grad", x, g, c->w + 2, c), c, d);
    lab_reset(l);
}

static void test_random(Lab *l) {
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT32, DT_FLOAT16};
    for (int i = 0; i < RUNS; i++) {
        Some c = some_conv();
        compare_all(l, &c, dtypes[rnd(4)], LAYOUTS);
    }
}

/* Many channels, few positions: weights that are packed when they are needed, some
 * channels at a time, and gradients with strides by columns. */
static void test_deep(Lab *l) {
    static const Some all[] = {
        {2,
         1,
         {1, 70, 7, 7},
         {66, 70, 3, 3},
         {1, 1},
         {1, 1},
         {1, 1, 1, 1},
         "rows of 7"},
        {2,
         1,
         {1, 99, 5, 13},
         {64, 99, 3, 3},
         {1, 1},
         {1, 2},
         {1, 1, 1, 1},
         "overlaps"},
        {2, 2, {1, 560, 3, 3}, {64, 280, 1, 1}, {1, 1}, {1, 1}, {0}, "1x1, groups"},
        {2,
         1,
         {1, 40, 14, 14},
         {70, 40, 3, 3},
         {2, 2},
         {1, 1},
         {1, 1, 1, 1},
         "strides"},
        {2, 2, {2, 66, 9, 8}, {140, 33, 3, 2}, {2, 3}, {2, 1}, {1, 2, -1, 0}, "groups"},
        {1, 1, {2, 35, 40}, {90, 35, 4}, {3}, {2}, {5, 4}, "1 axis"},
        {3,
         1,
         {1, 9, 5, 6, 5},
         {64, 9, 2, 3, 1},
         {2, 1, 3},
         {1, 2, 1},
         {1, 0, 2, 1, 0, 0},
         "3 axes"},
        {2, 1, {1, 3, 9, 30}, {64, 3, 2, 2}, {4, 5}, {1, 1}, {0}, "gaps"},
        {2, 1, {2, 60, 9, 13}, {70, 60, 1, 1}, {1, 1}, {1, 1}, {0}, "1x1"},
        {1, 1, {1, 64, 12433}, {16, 64, 1}, {1}, {1}, {0}, "1x1, a short end"},
        {2, 1, {1, 50, 23, 11}, {70, 50, 1, 1}, {2, 2}, {1, 1}, {0}, "1x1, strides"},
        {2, 2, {2, 98, 4, 50}, {64, 49, 1, 1}, {3, 1}, {1, 1}, {0}, "1x1, far rows"},
        {2, 1, {1, 14, 9, 13}, {33, 14, 2, 2}, {2, 2}, {1, 1}, {0}, "patches"},
        {3, 1, {1, 9, 6, 4, 6}, {64, 9, 3, 2, 2}, {3, 2, 2}, {1, 1, 1}, {0}, "blocks"},
        {2, 1, {1, 50, 30, 14}, {64, 50, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, -3}, "part"},
        {2, 1, {1, 3, 4, 2}, {64, 3, 2, 2}, {2, 2}, {3, 1}, {4, 4, 6, 6}, "beside x"},
        {2, 1, {1, 61, 57, 61}, {40, 61, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, "other"},
        {2,
         1,
         {1, 30, 40, 95},
         {20, 30, 3, 3},
         {1, 2},
         {1, 1},
         {0, 1, 2, 0},
         "one axis"},
        {1, 1, {1, 64, 3000}, {20, 64, 4}, {2}, {1}, {1, 1}, "other of many"},
    };
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT32};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
            compare_all(l, &all[i], dtypes[k], k == 0 ? 1 : LAYOUTS);
}

/* What all chunks of the gradient of weights share: some rows of an image, or images.
 */
static void test_large(Lab *l) {
    static const Some all[] = {
        {2, 1, {2, 8, 190, 190}, {17, 8, 1, 1}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "rows"},
        {2,
         1,
         {12, 6, 120, 140},
         {17, 6, 1, 1},
         {1, 1},
         {1, 1},
         {1, 1, 1, 1},
         "images"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        compare_all(l, &all[i], i == 0 ? DT_FLOAT32 : DT_INT32, LAYOUTS);
}

/* Numbers whose sums depend on their order. */
static Tensor rough(Lab *l, DType d, int ndim, const int64_t *shape) {
    Tensor t = lab_tensor(l, d, ndim, shape, 0);
    for (int64_t i = 0; i < tensor_size(&t); i++)
        lab_put(&t, i, 1 / (double)(3 + i % 101) - 0.02);
    return t;
}

/* The hash of one of the three results. */
static uint64_t run_with(unsigned threads, int which, const Some *c, DType d) {
    Lab l = lab_new(threads);
    int n = 2 + c->ndim;
    Var x = lab_input(&l, rough(&l, d, n, c->x), true),
        w = lab_input(&l, rough(&l, d, n, c->w), true);
    ApplyId id = apply(&l, "conv", x, w, NULL, c);
    const Type *t = var_type(l.g, l.g->apply[id].out);
    Var g = lab_input(&l, rough(&l, d, n, t->dim), true);
    if (which == 1) id = apply(&l, "conv_input_grad", g, w, c->x + 2, c);
    if (which == 2) id = apply(&l, "conv_weights_grad", x, g, c->w + 2, c);
    Value r = run(&l, id, false);
    uint64_t hash = value_hash(&r);
    value_unref(&r);
    lab_free(&l);
    return hash;
}

static void test_threads(void) {
    static const Some all[] = {
        {2, 1, {2, 20, 40, 30}, {24, 20, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "wide"},
        {2, 1, {1, 70, 9, 9}, {90, 70, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, "deep"},
        {2, 1, {1, 99, 7, 7}, {99, 99, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "small"},
        {2, 1, {9, 8, 90, 200}, {20, 8, 1, 1}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "images"},
        {2, 24, {2, 24, 33, 40}, {24, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "each"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int which = 0; which < 3; which++) {
            uint64_t one = run_with(1, which, &all[i], DT_FLOAT32),
                     four = run_with(4, which, &all[i], DT_FLOAT32);
            CHECK(one == four, "%s, %d: threads change bits", all[i].text, which);
        }
}

int main(void) {
    Lab l = lab_new(2);
    test_random(&l);
    test_deep(&l);
    test_large(&l);
    lab_free(&l);
    test_threads();
    return TEST_END("conv");
}
