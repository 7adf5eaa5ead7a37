/* Indexing: golden values of NumPy's rules, every dtype and layout against a walk with
 * counters, errors before and while running, and the gradients' building blocks. */
#include "harness.h"

static Var num(Lab *l, int64_t v) {
    return const_int(&l->b, v);
}

static Var ints(Lab *l, int ndim, const int64_t *shape, const int64_t *v) {
    Tensor t;
    tensor_new(l->s, DT_INT64, ndim, shape, &t);
    memcpy(t.data, v, tensor_bytes(&t));
    return lab_input(l, t, true);
}

static Var list(Lab *l, int64_t n, const int64_t *v) {
    return ints(l, 1, &n, v);
}

static Var mask(Lab *l, int ndim, const int64_t *shape, const char *bits) {
    Tensor t;
    tensor_new(l->s, DT_BOOL, ndim, shape, &t);
    for (int64_t i = 0; i < tensor_size(&t); i++)
        ((char *)t.data)[i] = bits[i] == '1';
    return lab_input(l, t, true);
}

/* 0, 1, 2, .. of a shape. */
static Var counted(Lab *l, DType d, int ndim, const int64_t *shape, int layout,
                   bool known) {
    Tensor t = lab_tensor(l, d, ndim, shape, layout);
    for (int64_t i = 0; i < tensor_size(&t); i++)
        lab_put(&t, i, (double)i);
    return lab_input(l, t, known);
}

static Var apply(Lab *l, const char *op, const char *index, size_t n, const Var *in) {
    PropArg arg = {"index", PROP_STR(sym(l->s, index))};
    return lab_apply(l, op, n, in, 1, &arg);
}

static const int64_t cube[3] = {2, 3, 4};
static const int64_t i101[] = {1, 0, 1}, i10[] = {1, 0}, i23[] = {2, 3}, i02[] = {0, 2},
                     i13[] = {1, 3}, i01[] = {0, 1}, i12[] = {1, 2};
static const int64_t col[] = {2, 1}, row[] = {1, 2}, two[] = {2}, three[] = {3};

typedef struct Case {
    const char *index, *want;
    size_t n;
    Var in[5];
} Case;

static size_t cases(Lab *l, Case *c) {
    size_t k = 0;
#define CASE(text, result, ...)                                                        \
    do {                                                                               \
        Var v[] = {__VA_ARGS__};                                                       \
        c[k] = (Case){text, result, sizeof v / sizeof *v - 1, {0}};                    \
        memcpy(c[k].in, v + 1, c[k].n * sizeof *v);                                    \
        k++;                                                                           \
    } while (0)
    CASE("$, :, $", "[[1, 5, 9], [0, 4, 8], [1, 5, 9]]", 0, num(l, 0),
         list(l, 3, i101));
    CASE("$, :, $", "[[14, 18, 22], [3, 7, 11]]", 0, list(l, 2, i10), list(l, 2, i23));
    CASE(":, $, $", "[[1, 11], [13, 23]]", 0, list(l, 2, i02), list(l, 2, i13));
    CASE("$", "[0, 5, 10, 15, 20]", 0, mask(l, 3, cube, "100001000010000100001000"));
    CASE("$, :, $", "[[1, 5, 9]]", 0, mask(l, 1, two, "10"), num(l, 1));
    CASE("..., None, $", "[[[1], [5], [9]], [[13], [17], [21]]]", 0, num(l, 1));
    CASE("::$, $:$:$, $:", "[[[21, 22, 23]], [[9, 10, 11]]]", 0, num(l, -1), num(l, 5),
         num(l, 0), num(l, -2), num(l, -3));
    CASE(":, $, $", "[[[1, 3], [9, 11]], [[13, 15], [21, 23]]]", 0,
         ints(l, 2, col, i02), ints(l, 2, row, i13));
    CASE("None, $, ..., $", "[[[12, 16, 20]], [[13, 17, 21]]]", 0, num(l, 1),
         list(l, 2, i01));
    CASE("$, None, $", "[[[4, 5, 6, 7]], [[20, 21, 22, 23]]]", 0, list(l, 2, i01),
         list(l, 2, i12));
    CASE(":, $",
         "[[[0, 1, 2, 3], [8, 9, 10, 11]], [[12, 13, 14, 15], [20, 21, 22, 23]]]", 0,
         mask(l, 1, three, "101"));
    CASE(":, $, $", "[[1, 10], [13, 22]]", 0, mask(l, 1, three, "101"),
         list(l, 2, i12));
    CASE("$, $, $", "23", 0, num(l, -1), num(l, 2), num(l, 3));
    CASE("$, $", "[20, 21, 22, 23]", 0, num(l, 1), num(l, -1));
    CASE("$:", "[]", 0, num(l, 9));
    CASE("$", "[]", 0, mask(l, 0, two, "0"));
    CASE("",
         "[[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [[12, 13, 14, 15], [16, 17, "
         "18, 19], [20, 21, 22, 23]]]",
         0);
#undef CASE
    return k;
}

static void golden(Lab *l) {
    Case c[32];
    lab_reset(l);
    size_t n = cases(l, c);
    for (size_t i = 0; i < n; i++)
        for (int layout = 0; layout < 3; layout++)
            for (int known = 0; known < 2; known++) {
                lab_reset(l);
                cases(l, c);
                Var in[6] = {counted(l, DT_INT64, 3, cube, layout, known)};
                memcpy(in + 1, c[i].in, c[i].n * sizeof *in);
                const Tensor *t =
                    lab_run(l, apply(l, "subtensor", c[i].index, c[i].n + 1, in));
                if (t && tensor_size(t) == 0) {
                    CHECK_STR("[]", c[i].want);
                    continue;
                }
                CHECK_STR(lab_text(l, t), c[i].want);
            }
}

static void errors(Lab *l) {
    static const struct {
        const char *index;
        int64_t at;
        bool known;
        const char *want;
    } bad[] = {{"$", 2, true, "E_VALUE"},          {"$", 2, false, "E_INDEX"},
               {"$", -3, false, "E_INDEX"},        {"::$", 0, true, "E_VALUE"},
               {"$, :, :, :", 0, true, "E_SHAPE"}, {"..., $, ...", 0, true, "E_ARG"},
               {"$ $", 0, true, "E_VALUE"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_reset(l);
        Var in[2] = {counted(l, DT_FLOAT32, 3, cube, 0, bad[i].known),
                     num(l, bad[i].at)};
        CHECK_STR(lab_text(l, lab_run(l, apply(l, "subtensor", bad[i].index, 2, in))),
                  bad[i].want);
        CHECK(diag_count(l->s) == 1);
    }
    int64_t far[] = {0, 3};
    lab_reset(l);
    Var in[2] = {counted(l, DT_FLOAT32, 3, cube, 0, true), list(l, 2, far)};
    CHECK_STR(lab_text(l, lab_run(l, apply(l, "subtensor", ":, $", 2, in))), "E_INDEX");
    CHECK(strstr(diag_get(l->s, 0)->text,
                 "index 3 is out of range for axis 1 of size 3") != NULL);
    /* a mask of another shape */
    lab_reset(l);
    Var m[2] = {counted(l, DT_FLOAT32, 3, cube, 0, true), mask(l, 1, three, "101")};
    CHECK_STR(lab_text(l, lab_run(l, apply(l, "subtensor", "$", 2, m))), "E_SHAPE");
    /* a size that turns out to be 1 does not stretch; one that is 1 by type does */
    for (int known = 0; known < 2; known++) {
        lab_reset(l);
        int64_t one[] = {1};
        Tensor y = lab_filled(l, DT_FLOAT32, 1, one, 0);
        Dim unknown = DIM_UNKNOWN;
        Var yv = graph_input(l->g, sym(l->s, "y"),
                             type_tensor(l->s, DT_FLOAT32, 1, known ? one : &unknown));
        lab_room(l);
        l->val[yv] = (Value){.kind = TYPE_TENSOR, .t = y};
        Var set[3] = {counted(l, DT_FLOAT32, 3, cube, 0, true), yv, num(l, 0)};
        CHECK_STR(lab_text(l, lab_run(l, apply(l, "set_subtensor", "$, $", 3, set))),
                  "E_ARITY");
        diag_clear(l->s);
        const Tensor *r = lab_run(l, apply(l, "set_subtensor", "$", 3, set));
        CHECK((r != NULL) == known);
    }
}

/* x[:, idx] and its scatters for every dtype and layout. */
static void every_dtype(Lab *l) {
    static const int64_t at[] = {2, 0, 2, 1, 2}, shape[] = {3, 4, 5}, ys[] = {3, 5, 5};
    for (int d = 0; d < DT_N; d++)
        for (int layout = 0; layout < 3; layout++)
            for (int what = 0; what < 3; what++) {
                lab_reset(l);
                Tensor x = lab_filled(l, (DType)d, 3, shape, layout),
                       y = lab_filled(l, (DType)d, 3, ys, (layout + 1) % 3);
                Var in[3] = {lab_input(l, x, true), list(l, 5, at)},
                    put[3] = {in[0], lab_input(l, y, true), in[1]};
                Var v = what == 0
                            ? apply(l, "subtensor", ":, $", 2, in)
                            : apply(l, what == 1 ? "set_subtensor" : "inc_subtensor",
                                    ":, $", 3, put);
                const Tensor *r = lab_run(l, v);
                CHECK(r != NULL);
                if (!r) return;
                if (what == 0) {
                    for (int64_t i = 0; i < 75; i++) {
                        int64_t a = i / 25, b = i / 5 % 5, c = i % 5;
                        CHECK(tensor_f64(r, i) ==
                                  tensor_f64(&x, a * 20 + at[b] * 5 + c),
                              "gather of %s", dtype_name((DType)d));
                    }
                    continue;
                }
                double want[60];
                for (int64_t i = 0; i < 60; i++)
                    want[i] = tensor_f64(&x, i);
                for (int64_t i = 0; i < 75; i++) {
                    double *w = &want[i / 25 * 20 + at[i / 5 % 5] * 5 + i % 5],
                           t = tensor_f64(&y, i);
                    *w = what == 1 ? t : d == DT_BOOL ? (*w != 0 || t != 0) : *w + t;
                }
                for (int64_t i = 0; i < 60; i++)
                    CHECK(tensor_f64(r, i) == want[i],
                          "scatter %d of %s: %g, expected %g", what,
                          dtype_name((DType)d), tensor_f64(r, i), want[i]);
            }
}

static void scatters(Lab *l) {
    static const struct {
        const char *op, *index, *want;
        int64_t at;
    } one[] = {{"set_subtensor", "$:", "[0.0, 1.0, 9.0, 9.0]", 2},
               {"inc_subtensor", "$", "[0.0, 10.0, 2.0, 3.0]", 1},
               {"inc_subtensor", "::$", "[9.0, 10.0, 11.0, 12.0]", -1},
               {"set_subtensor", "...", "[9.0, 9.0, 9.0, 9.0]", 0},
               {"inc_subtensor", "None, $:$", "E_ARITY", 0}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        lab_reset(l);
        int64_t four = 4;
        Var in[3] = {counted(l, DT_FLOAT32, 1, &four, 0, true), num(l, 9),
                     num(l, one[i].at)};
        CHECK_STR(
            lab_text(l, lab_run(l, apply(l, one[i].op, one[i].index,
                                         strcmp(one[i].index, "...") ? 3 : 2, in))),
            one[i].want);
    }
    /* 0-d mask, mask with a broadcast y */
    lab_reset(l);
    int64_t shape[] = {2, 2};
    Var in[3] = {counted(l, DT_INT8, 2, shape, 0, true), num(l, 7),
                 mask(l, 2, shape, "0110")};
    CHECK_STR(lab_text(l, lab_run(l, apply(l, "inc_subtensor", "$", 3, in))),
              "[[0, 8], [9, 3]]");
    double bad = 1.5;
    Var wrong[3] = {in[0], lab_input(l, lab_list(l, DT_FLOAT64, 1, &bad), true), in[2]};
    CHECK_STR(lab_text(l, lab_run(l, apply(l, "set_subtensor", "$", 3, wrong))),
              "E_DTYPE");
}

/* Large blocks, of which x is not copied; y has their shape, or is a row of them. */
typedef struct Block {
    const char *index;
    int64_t bound[4]; /* index inputs */
    size_t n;
    int64_t from[3], to[3];
    bool back, row;
} Block;

static void set_block(Lab *l, const Block *k, DType d, int layout) {
    enum { A = 2, B = 140, C = 1200 };
    int64_t size[3];
    for (int i = 0; i < 3; i++)
        size[i] = k->to[i] - k->from[i];
    lab_reset(l);
    Tensor x = lab_filled(l, d, 3, (int64_t[]){A, B, C}, layout),
           y = lab_filled(l, d, k->row ? 1 : 3, k->row ? size + 2 : size, layout);
    Var in[6] = {lab_input(l, x, true), lab_input(l, y, true)};
    for (size_t i = 0; i < k->n; i++)
        in[2 + i] = num(l, k->bound[i]);
    const Tensor *r = lab_run(l, apply(l, "set_subtensor", k->index, 2 + k->n, in));
    int64_t wrong = 0;
    for (int64_t i = 0; r && i < A * B * C; i++) {
        int64_t at[3] = {i / (B * C), i / C % B, i % C};
        bool inside = true;
        for (int j = 0; j < 3; j++) {
            inside &= at[j] >= k->from[j] && at[j] < k->to[j];
            at[j] -= k->from[j];
        }
        if (k->back) at[1] = size[1] - 1 - at[1];
        int64_t of = k->row ? at[2] : (at[0] * size[1] + at[1]) * size[2] + at[2];
        wrong += tensor_f64(r, i) != (inside ? tensor_f64(&y, of) : tensor_f64(&x, i));
    }
    CHECK(r && wrong == 0, "%lld elements of a block [%s] of %s, layout %d",
          (long long)wrong, k->index, dtype_name(d), layout);
}

static void blocks(Lab *l) {
    static const Block block[] = {
        {":, $:$, $:$", {3, 138, 5, 1100}, 4, {0, 3, 5}, {2, 138, 1100}, false, false},
        {"$:, ..., :$", {1, 1199}, 2, {1, 0, 0}, {2, 140, 1199}, false, false},
        {"...", {0}, 0, {0, 0, 0}, {2, 140, 1200}, false, true},
        {"..., $:", {7}, 1, {0, 0, 7}, {2, 140, 1200}, false, true},
        {":, ::$, :$", {-1, 1100}, 2, {0, 0, 0}, {2, 140, 1100}, true, false},
        {":$", {1}, 1, {0, 0, 0}, {1, 140, 1200}, false, false},
        {":, :$", {1}, 1, {0, 0, 0}, {2, 1, 1200}, false, true}};
    static const DType kinds[] = {DT_BOOL, DT_FLOAT16, DT_FLOAT32, DT_INT64,
                                  DT_COMPLEX128};
    for (size_t d = 0; d < sizeof kinds / sizeof *kinds; d++)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++)
            set_block(l, &block[i], kinds[d], (int)(i + d) % 4);
}

static void takes(Lab *l) {
    lab_reset(l);
    int64_t shape[] = {2, 3}, order[] = {2, 0, 1, 1, 1, 0};
    Var x = counted(l, DT_INT32, 2, shape, 1, false),
        in[2] = {x, ints(l, 2, shape, order)}, flat[2] = {x, list(l, 2, i13)};
    PropArg axis = {"axis", PROP_INT(-1)}, first = {"axis", PROP_INT(0)};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "take_along_axis", 2, in, 1, &axis))),
              "[[2, 0, 1], [4, 4, 3]]");
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "take", 2, flat, 0, NULL))),
              "[1, 3]");
    Var rows[2] = {x, list(l, 2, i10)};
    CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, "take", 2, rows, 1, &first))),
              "[[3, 4, 5], [0, 1, 2]]");
}

/* n rows of k indices below `below`, every third one from the end. */
static Tensor drawn(Lab *l, DType d, int64_t n, int64_t k, int64_t below, int layout) {
    Tensor t = lab_tensor(l, d, 2, (int64_t[]){n, k}, layout);
    for (int64_t i = 0; i < n * k; i++) {
        int64_t v = (i * 7919 + i / 13) % below;
        lab_put(&t, i, (double)(i % 3 || d == DT_UINT8 ? v : v - below));
    }
    return t;
}

/* Two arrays that broadcast to each other, read part by part. */
static void several_arrays(Lab *l) {
    static const DType dtypes[] = {DT_INT8, DT_INT16, DT_FLOAT32, DT_FLOAT64,
                                   DT_COMPLEX128},
                       of[] = {DT_INT64, DT_INT32, DT_UINT8};
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {2, 700}, {40, 300}, {700, 3}};
    enum { ROWS = 90, COLUMNS = 110 };
    for (size_t q = 0; q < 5 * 3 * 5 * 4; q++) {
        DType d = dtypes[q % 5], i = of[q / 5 % 3];
        int64_t n = sizes[q / 15 % 5][0], k = sizes[q / 15 % 5][1];
        int how = (int)(q / 75), layout = (int)(q % 3);
        lab_reset(l);
        Tensor x = lab_filled(l, d, 2, (int64_t[]){ROWS, COLUMNS}, layout),
               a = drawn(l, i, how & 1 ? 1 : n, how & 2 ? 1 : k, ROWS, layout),
               b = drawn(l, i, n, k, COLUMNS, (layout + 1) % 3);
        Var in[3] = {lab_input(l, x, true), lab_input(l, a, true),
                     lab_input(l, b, true)};
        const Tensor *r = lab_run(l, apply(l, "subtensor", "$, $", 3, in));
        CHECK(r && tensor_size(r) == n * k);
        for (int64_t e = 0; r && e < n * k; e++) {
            int64_t u = tensor_i64(&a, (how & 1 ? 0 : e / k) * a.shape[1] +
                                           (how & 2 ? 0 : e % k)),
                    v = tensor_i64(&b, e);
            u += u < 0 ? ROWS : 0;
            v += v < 0 ? COLUMNS : 0;
            CHECK(tensor_f64(r, e) == tensor_f64(&x, u * COLUMNS + v), "%s, way %d",
                  dtype_name(d), how);
        }
    }
    lab_reset(l);
    Var bad[3] = {counted(l, DT_FLOAT32, 3, cube, 0, true), ints(l, 2, col, i01),
                  ints(l, 2, row, i13)};
    CHECK_STR(lab_text(l, lab_run(l, apply(l, "subtensor", "$, $", 3, bad))),
              "E_INDEX");
    CHECK(strstr(diag_get(l->s, 0)->text,
                 "index 3 is out of range for axis 1 of size 3") != NULL);
}

/* Rows of every number of bytes, and single elements from far apart. */
static void short_rows(Lab *l) {
    for (int64_t bytes = 1; bytes <= 140; bytes++) {
        lab_reset(l);
        Tensor x = lab_filled(l, DT_INT8, 2, (int64_t[]){20, bytes}, 0),
               at = drawn(l, DT_INT64, 1, 33, 20, 0);
        at.ndim = 1, at.shape[0] = 33, at.stride[0] = 8;
        Var in[2] = {lab_input(l, x, true), lab_input(l, at, true)};
        const Tensor *r = lab_run(l, apply(l, "subtensor", "$", 2, in));
        CHECK(r != NULL);
        for (int64_t i = 0; r && i < 33; i++) {
            int64_t v = tensor_i64(&at, i);
            v += v < 0 ? 20 : 0;
            CHECK(memcmp((char *)r->data + i * bytes, (char *)x.data + v * bytes,
                         (size_t)bytes) == 0,
                  "rows of %lld bytes", (long long)bytes);
        }
    }
    enum { FAR = 300007 };
    for (int d = 0; d < 2; d++) {
        lab_reset(l);
        Tensor x = lab_filled(l, d ? DT_FLOAT32 : DT_FLOAT64, 1, (int64_t[]){FAR}, 0),
               at = drawn(l, DT_INT64, 1, 1003, FAR, 0);
        at.ndim = 1, at.shape[0] = 1003, at.stride[0] = 8;
        Var in[2] = {lab_input(l, x, true), lab_input(l, at, true)};
        const Tensor *r = lab_run(l, apply(l, "subtensor", "$", 2, in));
        CHECK(r != NULL);
        for (int64_t i = 0; r && i < 1003; i++) {
            int64_t v = tensor_i64(&at, i);
            CHECK(tensor_f64(r, i) == tensor_f64(&x, v < 0 ? v + FAR : v));
        }
    }
}

/* Columns of short rows, by patterns and by lists, one behind the other or spread. */
static void some_columns(Lab *l) {
    static const int64_t all[] = {3, -1, 7, 7, 0, -20, 12, 5, 19, 2, 11, -3, 6};
    static const int64_t rows[] = {15, 16, 40, 700}, count[] = {3, 7, 8, 9, 13};
    for (int d = 0; d < DT_N; d++)
        for (int how = 0; how < 4 * 5 * 3; how++) {
            int64_t m = rows[how % 4], n = count[how / 4 % 5], wrong = 0;
            lab_reset(l);
            Tensor x = lab_filled(l, (DType)d, 2, (int64_t[]){m, 20}, how / 20);
            Var in[2] = {lab_input(l, x, true), list(l, n, all)};
            const Tensor *r = lab_run(l, apply(l, "subtensor", ":, $", 2, in));
            for (int64_t i = 0; r && i < m * n; i++) {
                int64_t k = all[i % n];
                wrong += tensor_f64(r, i) !=
                         tensor_f64(&x, i / n * 20 + (k < 0 ? k + 20 : k));
            }
            CHECK(r && wrong == 0, "%lld elements of %lld x %lld of %s, layout %d",
                  (long long)wrong, (long long)m, (long long)n, dtype_name((DType)d),
                  how / 20);
        }
}

/* Long runs of columns, as padding has them, cut anywhere by chunks of several
 * threads. */
static void runs_of_columns(void) {
    enum { N = 301, FROM = 280 };
    int64_t at[N];
    for (int64_t i = 0; i < N; i++)
        at[i] = i < 4 ? 3 : i < 250 ? i - 1 : i < 260 ? -1 : i - 200;
    for (unsigned threads = 1; threads <= 3; threads += 2)
        for (int d = 0; d < DT_N; d++)
            for (int layout = 0; layout < 3; layout++) {
                Lab l = lab_new(threads);
                const int64_t shape[2] = {700, FROM};
                int64_t wrong = 0;
                Tensor x = lab_filled(&l, (DType)d, 2, shape, layout);
                Var in[2] = {lab_input(&l, x, true), list(&l, N, at)};
                const Tensor *r = lab_run(&l, apply(&l, "subtensor", ":, $", 2, in));
                for (int64_t i = 0; r && i < shape[0] * N; i++) {
                    int64_t k = at[i % N];
                    wrong += tensor_f64(r, i) !=
                             tensor_f64(&x, i / N * FROM + (k < 0 ? k + FROM : k));
                }
                CHECK(r && wrong == 0, "%u threads: %lld of %s, layout %d", threads,
                      (long long)wrong, dtype_name((DType)d), layout);
                lab_free(&l);
            }
}

/* x[rows[:, None], columns], whose columns are in long runs or apart, cut by chunks of
 * several threads; `bad`: where a column is out of range, or -1. */
static void mesh(unsigned threads, DType d, int layout, bool apart, int64_t bad) {
    enum { ROWS = 700, COLUMNS = 301, FROM = 280, FROM_ROWS = 30 };
    Lab l = lab_new(threads);
    int64_t from_row[ROWS], column[COLUMNS], wrong = 0;
    const int64_t shape[2] = {FROM_ROWS, FROM}, upright[2] = {ROWS, 1};
    for (int64_t i = 0; i < ROWS; i++)
        from_row[i] = i * 7 % FROM_ROWS - i % 2 * FROM_ROWS;
    for (int64_t i = 0; i < COLUMNS; i++)
        column[i] = i == bad ? FROM : apart ? i * 11 % FROM : (i + FROM - 9) % FROM;
    Tensor x = lab_filled(&l, d, 2, shape, layout);
    Var in[3] = {lab_input(&l, x, true), ints(&l, 2, upright, from_row),
                 list(&l, COLUMNS, column)};
    const Tensor *r = lab_run(&l, apply(&l, "subtensor", "$, $", 3, in));
    CHECK((r == NULL) == (bad >= 0));
    for (int64_t i = 0; r && i < ROWS * COLUMNS; i++) {
        int64_t at = from_row[i / COLUMNS];
        at = (at < 0 ? at + FROM_ROWS : at) * FROM + column[i % COLUMNS];
        wrong += tensor_f64(r, i) != tensor_f64(&x, at);
    }
    CHECK(wrong == 0, "%u threads: %lld of %s, layout %d, %d", threads,
          (long long)wrong, dtype_name(d), layout, apart);
    if (bad >= 0) CHECK_STR(lab_text(&l, NULL), "E_INDEX");
    lab_free(&l);
}
/* How often each element is there: ones that are added to zeros. */
static void mesh_counts(DType d, bool apart) {
    enum { ROWS = 70, COLUMNS = 301, FROM = 280, FROM_ROWS = 30 };
    Lab l = lab_new(1);
    int64_t from_row[ROWS], column[COLUMNS], rows[FROM_ROWS] = {0}, columns[FROM] = {0},
                                             wrong = 0;
    const int64_t shape[2] = {FROM_ROWS, FROM}, upright[2] = {ROWS, 1},
                  each[2] = {ROWS, COLUMNS};
    for (int64_t i = 0; i < ROWS; i++)
        from_row[i] = i * 7 % FROM_ROWS, rows[from_row[i]]++;
    for (int64_t i = 0; i < COLUMNS; i++)
        column[i] = apart ? i * 11 % FROM : (i + FROM - 9) % FROM, columns[column[i]]++;
    Tensor x = lab_tensor(&l, d, 2, shape, 0), y = lab_tensor(&l, d, 2, each, 1);
    for (int64_t i = 0; i < FROM_ROWS * FROM; i++)
        lab_put(&x, i, 0);
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        lab_put(&y, i, 1);
    Var in[4] = {lab_input(&l, x, true), lab_input(&l, y, true),
                 ints(&l, 2, upright, from_row), list(&l, COLUMNS, column)};
    const Tensor *r = lab_run(&l, apply(&l, "inc_subtensor", "$, $", 4, in));
    for (int64_t i = 0; r && i < FROM_ROWS * FROM; i++)
        wrong += tensor_f64(r, i) != (double)(rows[i / FROM] * columns[i % FROM]);
    CHECK(r && wrong == 0, "%lld of %s, %d", (long long)wrong, dtype_name(d), apart);
    lab_free(&l);
}
static void meshes(void) {
    for (int d = DT_INT8; d < DT_N; d++)
        for (int apart = 0; apart < 2; apart++)
            mesh_counts((DType)d, apart);
    for (unsigned threads = 1; threads <= 3; threads += 2)
        for (int d = 0; d < DT_N; d++)
            for (int layout = 0; layout < 3; layout++)
                for (int apart = 0; apart < 2; apart++)
                    mesh(threads, (DType)d, layout, apart, -1);
    mesh(1, DT_FLOAT32, 0, true, 200);
    mesh(3, DT_FLOAT32, 0, false, 0);
}

/* Many y that are added to few elements, by several threads as by one: which = 0: one
 * number, 1: a number each, 2: one for indices of two axes. `bad`: an index that is out
 * of range. */
enum { ADDED = 70000, ADDED_TO = 60 };
static const Tensor *add_many(Lab *l, DType d, int which, int layout, int64_t bad) {
    static int64_t at[ADDED], other[ADDED];
    int64_t n = ADDED;
    const int64_t shape[2] = {which == 2 ? 6 : ADDED_TO, ADDED_TO / 6},
                  grid[2] = {7, ADDED / 7};
    for (int64_t i = 0; i < n; i++) {
        at[i] = i * i * 5 % shape[0] - i % 2 * shape[0];
        other[i] = i * 7 % shape[1] - i % 3 / 2 * shape[1];
    }
    if (bad >= 0) at[bad] = shape[0];
    Tensor x = lab_filled(l, d, which == 2 ? 2 : 1, shape, layout),
           y = lab_tensor(l, d, which == 1, &n, layout);
    for (int64_t i = 0; i < tensor_size(&y); i++)
        lab_put(&y, i, (double)(i % 5 + 1));
    Var in[4] = {lab_input(l, x, true), lab_input(l, y, true)};
    in[2] = which == 2 ? ints(l, 2, grid, at) : list(l, n, at);
    if (which == 2) in[3] = ints(l, 2, grid, other);
    return lab_run(l, apply(l, "inc_subtensor", which == 2 ? "$, $" : "$",
                            which == 2 ? 4 : 3, in));
}

static void many_added(void) {
    Lab one = lab_new(1), several = lab_new(3);
    for (int d = 0; d < DT_N; d++)
        for (int which = 0; which < 3; which++) {
            lab_reset(&one), lab_reset(&several);
            const Tensor *a = add_many(&one, (DType)d, which, which, -1),
                         *b = add_many(&several, (DType)d, which, which, -1);
            CHECK(a && b && memcmp(a->data, b->data, tensor_bytes(a)) == 0, "%s, %d",
                  dtype_name((DType)d), which);
        }
    int64_t wrong = 0, want[ADDED_TO];
    const Tensor *r = add_many(&several, DT_INT64, 1, 0, -1);
    Tensor x = lab_filled(&one, DT_INT64, 1, &(int64_t){ADDED_TO}, 0);
    for (int64_t i = 0; i < ADDED_TO; i++)
        want[i] = tensor_i64(&x, i);
    for (int64_t i = 0; i < ADDED; i++)
        want[i * i * 5 % ADDED_TO] += i % 5 + 1;
    for (int64_t i = 0; r && i < ADDED_TO; i++)
        wrong += tensor_i64(r, i) != want[i];
    CHECK(r && wrong == 0, "%lld of %d", (long long)wrong, ADDED_TO);
    tensor_unref(&x);
    for (int which = 0; which < 3; which++) {
        lab_reset(&several);
        CHECK(!add_many(&several, DT_INT32, which, 0, ADDED - 1));
        CHECK_STR(lab_text(&several, NULL), "E_INDEX");
    }
    lab_free(&one), lab_free(&several);
}

/* Positions of the ones of all bytes of 8, at each level of CPU, among few and many. */
static bool is_one(int64_t i, int64_t n) {
    return (i / 8 * 37 + n) >> i % 8 & 1;
}
static void positions(void) {
    for (int level = 0; level <= 2; level++) {
        Lab l = lab_new(1);
        session_options(l.s)->cpu_level = level;
        for (int64_t n = 0; n <= 2400; n += n < 40 ? 1 : 590) {
            Tensor x = lab_filled(&l, DT_BOOL, 1, &n, 0);
            int64_t found = 0, wrong = 0;
            for (int64_t i = 0; i < n; i++)
                lab_put(&x, i, is_one(i, n));
            Var in = lab_input(&l, x, true);
            const Tensor *r = lab_run(&l, lab_apply(&l, "nonzero", 1, &in, 0, NULL));
            for (int64_t i = 0; r && i < n; i++)
                if (is_one(i, n))
                    wrong += found >= r->shape[1] || tensor_f64(r, found) != (double)i,
                        found++;
            CHECK(r && r->shape[1] == found && wrong == 0, "level %d, %lld of %lld",
                  level, (long long)wrong, (long long)n);
            lab_reset(&l);
        }
        lab_free(&l);
    }
}

int main(void) {
    Lab l = lab_new(2);
    golden(&l);
    errors(&l);
    every_dtype(&l);
    scatters(&l);
    blocks(&l);
    takes(&l);
    several_arrays(&l);
    short_rows(&l);
    some_columns(&l);
    lab_free(&l);
    positions();
    runs_of_columns();
    meshes();
    many_added();
    return TEST_END("ops_index");
}
