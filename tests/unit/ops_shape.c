/* Ops that rearrange, and ops that create: golden values, all layouts against the
 * row-major one, types with known and unknown sizes, errors. */
#include "harness.h"

#include <math.h>

static Var counted(Lab *l, DType d, int ndim, const int64_t *shape, int layout,
                   bool known) {
    Tensor t = lab_tensor(l, d, ndim, shape, layout);
    for (int64_t i = 0; i < tensor_size(&t); i++)
        lab_put(&t, i, (double)i);
    return lab_input(l, t, known);
}

static Var list(Lab *l, int64_t n, const int64_t *v) {
    return const_ints(&l->b, (size_t)n, v);
}

/* An op on 0, 1, .. of shape (2, 3): its other input is a list of up to 4 ints (n < 0:
 * none; n == 0: 0-d), its props one of each kind. */
typedef struct Case {
    const char *op, *want;
    int n;
    int64_t v[6];
    const char *axis; /* prop name */
    int naxes;        /* -1: an int; else ints */
    int64_t axes[3];
} Case;

static const Case cases[] = {
    {"transpose", "[[0, 3], [1, 4], [2, 5]]", .n = -1},
    {"transpose", "[[0, 1, 2], [3, 4, 5]]", .n = -1, .axis = "axes", .naxes = 2,
     .axes = {0, -1}},
    {"transpose", "E_ARG", .n = -1, .axis = "axes", .naxes = 2, .axes = {1, 1}},
    {"reshape", "[[0, 1], [2, 3], [4, 5]]", .n = 2, .v = {3, 2}},
    {"reshape", "[[0, 1], [2, 3], [4, 5]]", .n = 2, .v = {-1, 2}},
    {"reshape", "[0, 1, 2, 3, 4, 5]", .n = 1, .v = {-1}},
    {"reshape", "[[[0], [1], [2]], [[3], [4], [5]]]", .n = 3, .v = {2, 3, 1}},
    {"ravel", "[0, 1, 2, 3, 4, 5]", .n = -2},
    {"expand_dims", "[[[0, 1, 2]], [[3, 4, 5]]]", .n = -1, .axis = "axis", .naxes = 1,
     .axes = {1}},
    {"expand_dims", "[[[0], [1], [2]], [[3], [4], [5]]]", .n = -1, .axis = "axis",
     .naxes = 1, .axes = {-1}},
    {"squeeze", "[[0, 1, 2], [3, 4, 5]]", .n = -1},
    {"broadcast_to", "[[[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]]", .n = 3,
     .v = {2, 2, 3}},
    {"split", "[[0, 1, 2]]", .n = 0, .v = {2}},
    {"split", "[[0], [3]]", .n = 1, .v = {1}, .axis = "axis", .naxes = -1, .axes = {1}},
    {"split", "[[0, 1], [3, 4]]", .n = 2, .v = {-1, 9}, .axis = "axis", .naxes = -1,
     .axes = {1}},
    {"roll", "[[5, 0, 1], [2, 3, 4]]", .n = 1, .v = {1}},
    {"roll", "[[1, 2, 0], [4, 5, 3]]", .n = 1, .v = {-4}, .axis = "axis", .naxes = 1,
     .axes = {1}},
    {"roll", "[[5, 3, 4], [2, 0, 1]]", .n = 2, .v = {1, 1}, .axis = "axis", .naxes = 2,
     .axes = {0, 1}},
    {"shift", "[[0, 0, 1], [0, 3, 4]]", .n = 0, .v = {1}, .axis = "axis", .naxes = -1,
     .axes = {1}},
    {"shift", "[[3, 4, 5], [0, 0, 0]]", .n = 0, .v = {-1}},
    {"shift", "[[0, 0, 0], [0, 0, 0]]", .n = 0, .v = {7}},
    {"flip", "[[5, 4, 3], [2, 1, 0]]", .n = -1},
    {"flip", "[[2, 1, 0], [5, 4, 3]]", .n = -1, .axis = "axis", .naxes = 1,
     .axes = {-1}},
    {"repeat", "[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]", .n = 1, .v = {2}},
    {"repeat", "[[0, 1, 2], [3, 4, 5], [3, 4, 5]]", .n = 2, .v = {1, 2}, .axis = "axis",
     .naxes = -1, .axes = {0}},
    {"repeat", "[[0, 2, 2], [3, 5, 5]]", .n = 3, .v = {1, 0, 2}, .axis = "axis",
     .naxes = -1, .axes = {-1}},
    {"tile", "[[0, 1, 2, 0, 1, 2], [3, 4, 5, 3, 4, 5]]", .n = 1, .v = {2}},
    {"tile", "[[[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]]]", .n = 3, .v = {1, 2, 1}},
    {"diagonal", "[0, 4]", .n = -1},
    {"diagonal", "[1, 5]", .n = -1, .axis = "offset", .naxes = -1, .axes = {1}},
    {"diagonal", "[3]", .n = -1, .axis = "offset", .naxes = -1, .axes = {-1}},
    {"diag", "[2]", .n = -1, .axis = "k", .naxes = -1, .axes = {2}},
    {"tril", "[[0, 0, 0], [3, 4, 0]]", .n = -1},
    {"triu", "[[0, 1, 2], [0, 4, 5]]", .n = -1},
    {"triu", "[[0, 0, 2], [0, 0, 0]]", .n = -1, .axis = "k", .naxes = -1, .axes = {2}},
    {"tril", "[[0, 1, 0], [3, 4, 5]]", .n = -1, .axis = "k", .naxes = -1, .axes = {1}},
    {"pad", "[[0, 0, 0, 0, 0], [0, 0, 1, 2, 0], [0, 3, 4, 5, 0], [0, 0, 0, 0, 0]]",
     .n = 0, .v = {1}},
    {"pad", "[[0, 1, 2, 0], [3, 4, 5, 0], [0, 0, 0, 0]]", .n = 2, .v = {0, 1}},
    {"cumsum", "[0, 1, 3, 6, 10, 15]", .n = -1},
    {"cumsum", "[[0, 1, 2], [3, 5, 7]]", .n = -1, .axis = "axis", .naxes = -1,
     .axes = {0}},
    {"cumprod", "[[0, 0, 0], [3, 12, 60]]", .n = -1, .axis = "axis", .naxes = -1,
     .axes = {-1}},
    {"swapaxes", "E_ARG", .n = -1},
    {"shape", "[2, 3]", .n = -1},
    {"shape_i", "3", .n = -1, .axis = "axis", .naxes = -1, .axes = {-1}},
    {"specify_shape", "[[0, 1, 2], [3, 4, 5]]", .n = 2, .v = {2, -1}},
    {"atleast_2d", "[[0, 1, 2], [3, 4, 5]]", .n = -1},
    {"zeros_like", "[[0, 0, 0], [0, 0, 0]]", .n = -1},
    {"sort", "[[0, 1, 2], [3, 4, 5]]", .n = -1},
    {"argsort", "[[0, 0, 0], [1, 1, 1]]", .n = -1, .axis = "axis", .naxes = -1,
     .axes = {0}},
    {"full_like", "[[7, 7, 7], [7, 7, 7]]", .n = 0, .v = {7}},
};

static void one(Lab *l, const Case *c, DType d, int layout, bool known) {
    static const int64_t shape[2] = {2, 3};
    lab_reset(l);
    Var in[2] = {counted(l, d, 2, shape, layout, known), VAR_NONE};
    if (c->n == -2 || strcmp(c->op, "swapaxes") == 0)
        return; /* needs the language; needs two props */
    if (c->n >= 0) in[1] = c->n ? list(l, c->n, c->v) : const_int(&l->b, c->v[0]);
    PropArg arg = {c->axis, c->naxes < 0 ? PROP_INT(c->axes[0])
                                         : PROP_INTS(c->axes, (size_t)c->naxes)};
    const Tensor *t =
        lab_run(l, lab_apply(l, c->op, c->n >= 0 ? 2 : 1, in, c->axis != NULL, &arg));
    if (t && d != DT_INT64 && t->dtype == d) {
        Tensor as_int;
        tensor_cast(l->s, t, DT_INT64, &as_int);
        CHECK_STR(lab_text(l, &as_int), c->want);
        tensor_unref(&as_int);
    } else {
        CHECK_STR(lab_text(l, t), c->want);
    }
}

static void golden(Lab *l) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layout = 0; layout < 3; layout++)
            for (int known = 0; known < 2; known++)
                for (int d = DT_INT8; d < DT_COMPLEX64; d++)
                    one(l, &cases[i], (DType)d, layout, known);
}

/* Large transposes go by tiles, through threads; compared element by element. */
static void big_moves(Lab *l) {
    static const int64_t shape[3] = {130, 3, 517}, to[1] = {-1};
    static const int64_t orders[4][3] = {{2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}};
    for (int d = 0; d < DT_N; d++)
        for (int o = 0; o < 4; o++) {
            lab_reset(l);
            Var x = lab_input(l, lab_filled(l, (DType)d, 3, shape, o % 3), false);
            PropArg arg = {"axes", PROP_INTS(orders[o], 3)};
            Var t = lab_apply(l, "transpose", 1, &x, 1, &arg),
                in[2] = {t, list(l, 1, to)};
            const Tensor *r = lab_run(l, lab_apply(l, "reshape", 2, in, 0, NULL)),
                         *from = &l->val[x].t;
            CHECK(r != NULL);
            if (!r) return;
            int64_t at[3], bad = 0, i = 0;
            size_t item = dtype_size((DType)d);
            for (at[0] = 0; at[0] < shape[orders[o][0]]; at[0]++)
                for (at[1] = 0; at[1] < shape[orders[o][1]]; at[1]++)
                    for (at[2] = 0; at[2] < shape[orders[o][2]]; at[2]++, i++) {
                        const char *p = from->data;
                        for (int k = 0; k < 3; k++)
                            p += at[k] * from->stride[orders[o][k]];
                        bad +=
                            memcmp(p, (char *)r->data + i * (int64_t)item, item) != 0;
                    }
            CHECK(bad == 0, "%s, order %d: %lld wrong", dtype_name((DType)d), o,
                  (long long)bad);
        }
}

/* Rows of a few bytes go block by block, through threads and past the caches; compared
 * element by element. */
typedef struct BigJoin {
    int64_t outer, rows, inner;
    int n;
    int64_t size[8]; /* of the parts along the axis, which comes third */
} BigJoin;
static const BigJoin big_joins[] = {
    {1, 3000, 1, 3, {11, 3, 1}},     {1, 2001, 1, 4, {1, 1, 1, 1}},
    {3, 701, 1, 5, {2, 0, 1, 5, 9}}, {2, 900, 3, 3, {1, 2, 0}},
    {1, 1500, 5, 2, {4, 40}},        {40, 15, 1, 2, {3, 30}},
    {1, 900, 7, 2, {1, 20}},         {1, 300000, 1, 8, {1, 1, 1, 1, 1, 1, 1, 1}},
    {1, 8003, 1, 2, {1, 1}},         {3, 7001, 1, 2, {1, 1}},
    {1, 1100001, 1, 2, {1, 1}},
};

static int64_t wrong_elements(const BigJoin *j, const Tensor *r, const Tensor *part,
                              int64_t first, int64_t n) {
    int64_t bad = 0;
    size_t item = dtype_size(r->dtype);
    for (int64_t o = 0; o < j->outer; o++)
        for (int64_t i = 0; i < j->rows; i++)
            for (int64_t k = 0; k < n; k++)
                for (int64_t e = 0; e < j->inner; e++) {
                    const char *got = (const char *)r->data + o * r->stride[0] +
                                      i * r->stride[1] + (first + k) * r->stride[2] +
                                      e * r->stride[3];
                    const char *want = (const char *)part->data + o * part->stride[0] +
                                       i * part->stride[1] + k * part->stride[2] +
                                       e * part->stride[3];
                    bad += memcmp(got, want, item) != 0;
                }
    return bad;
}

static void one_big_join(Lab *l, const BigJoin *j, DType d, int layout) {
    Var x[8];
    lab_reset(l);
    for (int i = 0; i < j->n; i++) {
        int64_t shape[4] = {j->outer, j->rows, j->size[i], j->inner};
        x[i] = lab_input(
            l, lab_filled(l, d, 4, shape, layout < 3 ? (layout + i) % 3 : 0), false);
    }
    PropArg axis = {"axis", PROP_INT(2)};
    const Tensor *r =
        lab_run(l, lab_apply(l, "concatenate", (size_t)j->n, x, 1, &axis));
    CHECK(r != NULL);
    int64_t first = 0, bad = 0;
    for (int i = 0; r && i < j->n; first += j->size[i++])
        bad += wrong_elements(j, r, &l->val[x[i]].t, first, j->size[i]);
    CHECK(r && bad == 0 && r->shape[2] == first, "%s, join %d, layout %d: %lld wrong",
          dtype_name(d), (int)(j - big_joins), layout, (long long)bad);
}

static void big_join_tests(Lab *l) {
    for (size_t i = 0; i < sizeof big_joins / sizeof *big_joins; i++)
        for (int d = 0; d < DT_N; d++)
            for (int layout = 0; layout < 4; layout++) /* 3: no gaps */
                if (big_joins[i].rows < 10000 || d == DT_FLOAT64)
                    one_big_join(l, &big_joins[i], (DType)d, layout);
}

/* stack, of strided parts, along every axis: what expand_dims and concatenate make. */
static void big_stacks(Lab *l) {
    static const int64_t shape[2] = {1100, 3};
    for (int d = 0; d < DT_N; d++)
        for (int axis = 0; axis < 3; axis++) {
            Var x[3], y[3];
            PropArg at = {"axis", PROP_INT(axis)};
            int64_t one = axis;
            PropArg dims = {"axis", PROP_INTS(&one, 1)};
            lab_reset(l);
            for (int i = 0; i < 3; i++) {
                x[i] = lab_input(l, lab_filled(l, (DType)d, 2, shape, i), false);
                y[i] = lab_apply(l, "expand_dims", 1, &x[i], 1, &dims);
            }
            const Tensor *a = lab_run(l, lab_apply(l, "stack", 3, x, 1, &at));
            CHECK(a && a->ndim == 3);
            if (!a) return;
            Tensor stacked = *a;
            const Tensor *b = lab_run(l, lab_apply(l, "concatenate", 3, y, 1, &at));
            CHECK(b && tensor_same_shape(&stacked, b) &&
                      memcmp(stacked.data, b->data, (size_t)tensor_bytes(b)) == 0,
                  "%s, axis %d", dtype_name((DType)d), axis);
        }
}

static void joins(Lab *l) {
    static const int64_t a[2] = {2, 3}, b[2] = {2, 1};
    for (int layout = 0; layout < 3; layout++) {
        lab_reset(l);
        Var x[2] = {counted(l, DT_INT16, 2, a, layout, false),
                    counted(l, DT_INT8, 2, b, 2 - layout, true)};
        PropArg one = {"axis", PROP_INT(1)}, minus = {"axis", PROP_INT(-1)},
                zero = {"axis", PROP_INT(0)};
        const Tensor *t = lab_run(l, lab_apply(l, "concatenate", 2, x, 1, &one));
        CHECK(t && t->dtype == DT_INT16);
        CHECK_STR(lab_text(l, t), "[[0, 1, 2, 0], [3, 4, 5, 1]]");
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "concatenate", 2, x, 1, &zero))),
                  "E_RUN_SHAPE");
        diag_clear(l->s);
        l->done++;
        Var y[2] = {x[0], x[0]};
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "stack", 2, y, 1, &minus))),
                  "[[[0, 0], [1, 1], [2, 2]], [[3, 3], [4, 4], [5, 5]]]");
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "stack", 2, y, 0, NULL))),
                  "[[[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]]");
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "stack", 2, x, 0, NULL))),
                  "E_RUN_SHAPE");
    }
    /* all parts of a split */
    lab_reset(l);
    Var in[2] = {counted(l, DT_FLOAT32, 2, a, 1, true), const_int(&l->b, 3)},
        out[OUT_MAX];
    PropArg one = {"axis", PROP_INT(1)};
    const Op *split = op_find(l->s, "split", 5);
    CHECK(op_apply(&l->b, split, props_make(l->s, split, 1, &one), 2, in, out));
    lab_run(l, out[0]);
    CHECK_STR(lab_text(l, &l->val[out[2]].t), "[[2.0], [5.0]]");
    CHECK(l->val[out[1]].t.buf == l->val[in[0]].t.buf, "a part is not a view");
}

/* The type of a result: "int64[n]". */
static const char *type_of(Lab *l, Var v) {
    return v == VAR_NONE ? diag_name(diag_get(l->s, 0)->code)
                         : type_str(l->s, var_type(l->g, v));
}

static void types(Lab *l) {
    static const int64_t ends[2] = {-1, 0};
    lab_reset(l);
    Dim dims[3] = {DIM_NAMED(sym(l->s, "n")), 8, 8};
    Var x = graph_input(l->g, sym(l->s, "x"), type_tensor(l->s, DT_FLOAT32, 3, dims));
    Var n = graph_dim(l->g, sym(l->s, "n")), minus = const_int(&l->b, -1),
        k64 = const_int(&l->b, 64), part[3] = {n, k64, minus};
    Var shape = lab_apply(l, "stack", 2, part, 0, NULL), in[3] = {x, shape};
    CHECK_STR(type_of(l, lab_apply(l, "reshape", 2, in, 0, NULL)), "float32[n, 64]");
    part[0] = minus;
    in[1] = lab_apply(l, "stack", 2, part, 0, NULL);
    CHECK_STR(type_of(l, lab_apply(l, "reshape", 2, in, 0, NULL)), "float32[n, 64]");
    part[0] = n;
    part[1] = minus;
    in[1] = lab_apply(l, "stack", 2, part, 0, NULL);
    CHECK_STR(type_of(l, lab_apply(l, "reshape", 2, in, 0, NULL)), "float32[n, 64]");
    CHECK_STR(type_of(l, lab_apply(l, "arange", 1, &n, 0, NULL)), "int64[n]");
    in[1] = shape_vector(&l->b, x);
    CHECK_STR(type_of(l, lab_apply(l, "reshape", 2, in, 0, NULL)), "float32[n, 8, 8]");
    Var fill[2] = {in[1], const_number(&l->b, DT_FLOAT16, 0)};
    CHECK_STR(type_of(l, lab_apply(l, "full", 2, fill, 0, NULL)), "float16[n, 8, 8]");
    PropArg axis = {"axis", PROP_INT(0)}, sum = {"axis", PROP_INTS(ends, 2)};
    Var twice[2] = {x, x};
    CHECK_STR(type_of(l, lab_apply(l, "concatenate", 2, twice, 1, &axis)),
              "float32[?, 8, 8]");
    CHECK_STR(type_of(l, lab_apply(l, "stack", 2, twice, 1, &axis)),
              "float32[2, n, 8, 8]");
    CHECK_STR(type_of(l, lab_apply(l, "sum", 1, &x, 1, &sum)), "float32[8]");
    CHECK_STR(type_of(l, lab_apply(l, "transpose", 1, &x, 0, NULL)),
              "float32[8, 8, n]");
    Var eye[1] = {n};
    CHECK_STR(type_of(l, lab_apply(l, "eye", 1, eye, 0, NULL)), "float64[n, n]");
    int64_t wrong[2] = {5, 3};
    Var y = graph_input(l->g, sym(l->s, "y"),
                        type_tensor(l->s, DT_FLOAT32, 2, (const Dim[]){2, 3}));
    Var bad[2] = {y, const_ints(&l->b, 2, wrong)};
    CHECK_STR(type_of(l, lab_apply(l, "reshape", 2, bad, 0, NULL)), "E_SHAPE");
    diag_clear(l->s);
    CHECK_STR(type_of(l, lab_apply(l, "broadcast_to", 2, bad, 0, NULL)), "E_SHAPE");
    diag_clear(l->s);
    CHECK_STR(type_of(l, lab_apply(l, "specify_shape", 2, bad, 0, NULL)), "E_SHAPE");
    diag_clear(l->s);
    CHECK_STR(type_of(l, lab_apply(l, "squeeze", 1, bad, 1, &sum)), "E_SHAPE");
}

/* Ranges of whole numbers in each dtype are those of int64, converted: also where
 * float64 doesn't have them all. */
static void ranges(Lab *l) {
    static const struct {
        int64_t start, step, n;
    } range[] = {{0, 1, 1003},
                 {-7, 3, 1003},
                 {100, -9, 30},
                 {(INT64_C(1) << 53) - 500, 1, 1003},
                 {-(INT64_C(1) << 53) - 3, 1, 9},
                 {INT64_C(1) << 61, INT64_C(1) << 50, 67}};
    static const DType as[] = {DT_INT64,   DT_INT32,   DT_UINT8,
                               DT_FLOAT16, DT_FLOAT32, DT_FLOAT64};
    for (size_t i = 0; i < 6 * 6; i++) {
        int64_t start = range[i / 6].start, step = range[i / 6].step,
                n = range[i / 6].n;
        DType d = as[i % 6];
        lab_reset(l);
        Var in[3] = {const_int(&l->b, start), const_int(&l->b, start + n * step),
                     const_int(&l->b, step)};
        PropArg dtype = {"dtype", PROP_DTYPE(d)};
        const Tensor *r = lab_run(l, lab_apply(l, "arange", 3, in, 1, &dtype));
        bool same = r && r->dtype == d && tensor_size(r) == n;
        for (int64_t k = 0; same && k < n; k++) {
            int64_t v = start + k * step;
            char want[8];
            size_t item = dtype_size(d);
            tensor_cast_elements(d, want, DT_INT64, &v, 1, 0, 0);
            same = !memcmp((char *)r->data + (size_t)k * item, want, item);
        }
        CHECK(same, "arange from %lld as %s", (long long)start, dtype_name(d));
    }
}

static void creation(Lab *l) {
    static const struct {
        double v[3];
        int n;
        DType d;
        const char *want;
    } range[] = {{{4}, 1, DT_INT64, "[0, 1, 2, 3]"},
                 {{1, 8, 3}, 3, DT_INT32, "[1, 4, 7]"},
                 {{5, 0, -2}, 3, DT_INT64, "[5, 3, 1]"},
                 {{0, 1, 0.25}, 3, DT_FLOAT32, "[0.0, 0.25, 0.5, 0.75]"},
                 {{1, 1}, 2, DT_INT64, "[]"},
                 {{0, 5, 0}, 3, DT_INT64, "E_VALUE"},
                 {{3, 1}, 2, DT_UINT8, "[]"},
                 {{2.5}, 1, DT_FLOAT16, "[0.0, 1.0, 2.0]"}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        for (int known = 0; known < 2; known++) {
            lab_reset(l);
            Var in[3];
            for (int k = 0; k < range[i].n; k++) {
                Tensor t;
                tensor_scalar(l->s, range[i].d, range[i].v[k], 0, &t);
                in[k] = known ? const_number(&l->b, range[i].d, range[i].v[k])
                              : lab_input(l, t, true);
                if (known) tensor_unref(&t);
            }
            const char *want =
                !known && range[i].want[0] == 'E' ? "E_RUN_SHAPE" : range[i].want;
            CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "arange", (size_t)range[i].n,
                                                       in, 0, NULL))),
                      want);
        }
    lab_reset(l);
    Var n[2] = {const_int(&l->b, 2), const_int(&l->b, 3)};
    PropArg k[2] = {{"k", PROP_INT(1)}, {"dtype", PROP_DTYPE(DT_INT8)}};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "eye", 2, n, 2, k))),
              "[[0, 1, 0], [0, 0, 1]]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "eye", 1, n, 0, NULL))),
              "[[1.0, 0.0], [0.0, 1.0]]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "tri", 2, n, 2, k))),
              "[[1, 1, 0], [1, 1, 1]]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "ones", 1, n, 0, NULL))),
              "[1.0, 1.0]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "zeros", 1, n + 1, 1, k + 1))),
              "[0, 0, 0]");
    double at[3] = {2, -1, 0};
    Var hot[2] = {lab_input(l, lab_list(l, DT_INT32, 3, at), true), n[1]};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "one_hot", 2, hot, 1, k + 1))),
              "[[0, 0, 1], [0, 0, 0], [1, 0, 0]]");
    double half = 0.5;
    Var fill[2] = {const_ints(&l->b, 1, (const int64_t[]){-1}),
                   const_number(&l->b, DT_FLOAT32, half)};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "full", 2, fill, 0, NULL))),
              "E_SHAPE");
}

static void order(Lab *l) {
    double v[8] = {3, (double)NAN, -0.0, -(double)INFINITY, 0, 3, -2, (double)INFINITY};
    for (int d = DT_FLOAT16; d <= DT_FLOAT64; d++) {
        lab_reset(l);
        Var x = lab_input(l, lab_list(l, (DType)d, 8, v), true);
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "sort", 1, &x, 0, NULL))),
                  "[-inf, -2.0, -0.0, 0.0, 3.0, 3.0, inf, nan]");
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "argsort", 1, &x, 0, NULL))),
                  "[3, 6, 2, 4, 0, 5, 7, 1]");
    }
    static const int64_t shape[2] = {300, 3};
    for (int d = 0; d < DT_COMPLEX64; d++)
        for (int layout = 0; layout < 3; layout++) {
            lab_reset(l);
            Var x = lab_input(l, lab_filled(l, (DType)d, 2, shape, layout), true);
            PropArg axis = {"axis", PROP_INT(0)};
            const Tensor *s = lab_run(l, lab_apply(l, "sort", 1, &x, 1, &axis));
            CHECK(s != NULL);
            if (!s) return;
            Tensor sorted = *s;
            const Tensor *p = lab_run(l, lab_apply(l, "argsort", 1, &x, 1, &axis)),
                         *from = &l->val[x].t;
            for (int64_t i = 0; i < 900; i++) {
                CHECK(tensor_f64(from, tensor_i64(p, i) * 3 + i % 3) ==
                      tensor_f64(&sorted, i));
                if (i < 3) continue;
                CHECK(tensor_f64(&sorted, i) >= tensor_f64(&sorted, i - 3),
                      "sort of %s", dtype_name((DType)d));
                CHECK(tensor_f64(&sorted, i) != tensor_f64(&sorted, i - 3) ||
                          tensor_i64(p, i) > tensor_i64(p, i - 3),
                      "not stable");
            }
        }
    double a[4] = {1, 3, 3, 5}, w[4] = {0, 3, 9, 4};
    lab_reset(l);
    Var in[2] = {lab_input(l, lab_list(l, DT_FLOAT32, 4, a), true),
                 lab_input(l, lab_list(l, DT_FLOAT32, 4, w), true)};
    PropArg right = {"side", PROP_STR(sym(l->s, "right"))};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "searchsorted", 2, in, 0, NULL))),
              "[0, 1, 4, 3]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "searchsorted", 2, in, 1, &right))),
              "[0, 3, 4, 3]");
}

static void running(Lab *l) {
    lab_reset(l);
    double v[3] = {2, 3, 4}, far[2] = {1000, 1000},
           low[2] = {-(double)INFINITY, -(double)INFINITY};
    Var x = lab_input(l, lab_list(l, DT_FLOAT32, 3, v), true);
    PropArg arg[2] = {{"exclusive", PROP_BOOL(true)}, {"reverse", PROP_BOOL(true)}};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "cumprod", 1, &x, 1, arg))),
              "[1.0, 2.0, 6.0]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "cumprod", 1, &x, 2, arg))),
              "[12.0, 4.0, 1.0]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "cumsum", 1, &x, 1, arg + 1))),
              "[9.0, 7.0, 4.0]");
    Var two[2] = {x, x};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "recurrence", 2, two, 0, NULL))),
              "[2.0, 9.0, 40.0]");
    Var y = lab_input(l, lab_list(l, DT_FLOAT64, 2, far), true),
        z = lab_input(l, lab_list(l, DT_FLOAT64, 2, low), true);
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "logsumexp", 1, &y, 0, NULL))),
              "1000.6931471805599");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "logsumexp", 1, &z, 0, NULL))),
              "-inf");
}

/* Few elements beside many: each result against the element it stands for. */
static void check_narrow(Lab *l, DType d, const int64_t shape[2], int layout) {
    lab_reset(l);
    Tensor t = lab_filled(l, d, 2, shape, layout);
    double three = 3, wrong[3] = {0};
    Var x = lab_input(l, t, true),
        times = lab_input(l, lab_list(l, DT_INT64, 1, &three), true);
    Var one[2] = {x, times}, two[2] = {x, x};
    PropArg last = {"axis", PROP_INT(1)};
    Tensor r[3];
    for (int i = 0; i < 3; i++) {
        const Tensor *got =
            lab_run(l, i == 0   ? lab_apply(l, "repeat_axis", 2, one, 1, &last)
                       : i == 1 ? lab_apply(l, "concatenate", 2, two, 1, &last)
                                : lab_apply(l, "stack", 2, two, 1, &last));
        CHECK(got != NULL, "%d", i);
        if (!got) return;
        r[i] = *got;
    }
    int64_t n = shape[1];
    Tensor copy;
    if (!tensor_clone(l->s, &t, &copy)) return;
    CHECK(tensor_identical(&t, &copy), "%s copied", dtype_name(d));
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t k = 0; k < n; k++) {
            double v = tensor_f64(&t, i * n + k);
            for (int64_t c = 0; c < 3; c++)
                wrong[0] += tensor_f64(&r[0], (i * n + k) * 3 + c) != v;
            for (int64_t c = 0; c < 2; c++) {
                wrong[1] += tensor_f64(&r[1], (2 * i + c) * n + k) != v;
                wrong[2] += tensor_f64(&r[2], (2 * i + c) * n + k) != v;
            }
        }
    tensor_unref(&copy);
    CHECK(wrong[0] + wrong[1] + wrong[2] == 0, "%s, %lld by %lld: %g %g %g",
          dtype_name(d), (long long)shape[0], (long long)n, wrong[0], wrong[1],
          wrong[2]);
}

static void narrow(Lab *l) {
    static const int64_t shapes[][2] = {{1031, 3}, {3, 1031}, {2, 2}, {5, 9}};
    static const DType dtypes[] = {DT_BOOL, DT_FLOAT16, DT_FLOAT32, DT_INT64,
                                   DT_COMPLEX128};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 5; k++)
            for (int layout = 0; layout < LAYOUTS; layout++)
                check_narrow(l, dtypes[k], shapes[i], layout);
}

int main(void) {
    Lab l = lab_new(2);
    golden(&l);
    big_moves(&l);
    narrow(&l);
    joins(&l);
    big_join_tests(&l);
    big_stacks(&l);
    types(&l);
    ranges(&l);
    creation(&l);
    order(&l);
    running(&l);
    lab_free(&l);
    return TEST_END("ops_shape");
}
