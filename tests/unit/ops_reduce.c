/* Reductions against sums written with nested counters, for every dtype, layout and
 * choice of axes; accuracy on large inputs; the same bits for any number of threads. */
#include "harness.h"

#include <math.h>

static const char *const names[] = {"sum", "prod", "mean", "max",    "min",
                                    "any", "all",  "var",  "argmax", "argmin"};
enum { SUM, PROD, MEAN, MAX, MIN, ANY, ALL, VAR_, ARGMAX, ARGMIN, NNAMES };

/* The group that an element is in, and its place there. */
static int64_t group_of(const Tensor *x, int64_t flat, const bool *flag,
                        int64_t *within) {
    int64_t at[MAX_NDIM], g = 0, w = 0;
    for (int k = x->ndim - 1; k >= 0; k--) {
        at[k] = flat % x->shape[k];
        flat /= x->shape[k];
    }
    for (int k = 0; k < x->ndim; k++)
        if (flag[k])
            w = w * x->shape[k] + at[k];
        else
            g = g * x->shape[k] + at[k];
    *within = w;
    return g;
}

/* Where each element of a tensor is. */
typedef struct Places {
    int64_t *group, *within;
} Places;

static Places places_of(const Tensor *x, const bool *flag) {
    size_t n = (size_t)tensor_size(x);
    Places p = {calloc(n + 1, sizeof(int64_t)), calloc(n + 1, sizeof(int64_t))};
    for (size_t i = 0; i < n; i++)
        p.group[i] = group_of(x, (int64_t)i, flag, &p.within[i]);
    return p;
}

/* The reference value of one group. */
static double reference(int op, const Tensor *x, const Places *p, int64_t group) {
    int64_t n = tensor_size(x), count = 0, best = 0;
    double acc = op == PROD || op == ALL ? 1 : 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (p->group[i] != group) continue;
        double v = tensor_f64(x, i);
        sum += v;
        if (op == SUM || op == MEAN) acc += v;
        if (op == PROD) acc *= v;
        if (op == ANY) acc = acc != 0 || v != 0;
        if (op == ALL) acc = acc != 0 && v != 0;
        bool more = op == MAX || op == ARGMAX ? v > acc : v < acc;
        if (op == MAX || op == MIN || op == ARGMAX || op == ARGMIN)
            if (count == 0 || more) acc = v, best = p->within[i];
        count++;
    }
    if (op == MEAN) return acc / (double)count;
    if (op == ARGMAX || op == ARGMIN) return (double)best;
    if (op != VAR_) return acc;
    double mean = sum / (double)count;
    for (int64_t i = 0; i < n; i++)
        if (p->group[i] == group)
            acc += (tensor_f64(x, i) - mean) * (tensor_f64(x, i) - mean);
    return acc / (double)count;
}

static void one(Lab *l, int op, DType d, int ndim, const int64_t *shape, int layout,
                unsigned axes, bool keep) {
    bool arg = op == ARGMAX || op == ARGMIN, flag[MAX_NDIM];
    int64_t list[MAX_NDIM];
    size_t n = 0;
    for (int k = 0; k < ndim; k++) {
        flag[k] = axes >> k & 1;
        if (flag[k]) list[n++] = k;
    }
    if (arg && n != 1 && n != (size_t)ndim) return;
    if (op == PROD && d == DT_FLOAT16) return;
    Var x = lab_input(l, lab_filled(l, d, ndim, shape, layout), keep);
    Prop axis =
        arg ? n == 1 ? PROP_INT(list[0]) : (Prop){.kind = P_NONE} : PROP_INTS(list, n);
    PropArg prop[2] = {{"axis", axis}, {"keepdims", PROP_BOOL(keep)}};
    Var v = lab_apply(l, names[op], 1, &x, 2, prop);
    const Tensor *r = lab_run(l, v), *t = &l->val[x].t;
    CHECK(r != NULL, "%s of %s", names[op], dtype_name(d));
    if (!r) return;
    int64_t groups = 1;
    for (int k = 0; k < ndim; k++)
        groups *= flag[k] ? 1 : shape[k];
    CHECK(tensor_size(r) == groups);
    Places p = places_of(t, flag);
    bool same = true;
    for (int64_t g = 0; same && g < groups && g < tensor_size(r);
         g += 1 + groups / 701) {
        double want = reference(op, t, &p, g), got = tensor_f64(r, g);
        double tolerance = op == VAR_ || op == MEAN ? r->dtype == DT_FLOAT16   ? 2e-3
                                                      : r->dtype == DT_FLOAT32 ? 1e-6
                                                                               : 1e-12
                           : r->dtype == DT_FLOAT32 && op == PROD ? 1e-6
                                                                  : 1e-14;
        if (op == PROD && fabs(want) > 1e15) continue; /* may have overflowed */
        same = (isnan(want) && isnan(got)) ||
               fabs(got - want) <= tolerance * (1 + fabs(want));
        CHECK(same, "%s of %s, layout %d, axes %x, group %lld: got %g, expected %g",
              names[op], dtype_name(d), layout, axes, (long long)g, got, want);
    }
    free(p.group), free(p.within);
}

static void all_of(Lab *l) {
    static const int64_t shapes[][3] = {{3, 4, 5}, {2, 1, 37}, {40, 3, 1},
                                        {1, 1, 1}, {17, 2, 3}, {2, 70, 5}};
    for (int op = 0; op < NNAMES; op++)
        for (int d = 0; d < DT_N; d++) {
            if (dtype_is_complex((DType)d)) continue;
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                for (int layout = 0; layout < LAYOUTS; layout++)
                    for (unsigned axes = 0; axes < 8; axes++) {
                        lab_reset(l);
                        one(l, op, (DType)d, 3, shapes[i], layout, axes,
                            (axes + (unsigned)i) % 2);
                    }
            int64_t n = 1;
            lab_reset(l);
            one(l, op, (DType)d, 0, &n, 0, 0, false);
        }
}

/* Of nothing. */
static void empty(Lab *l) {
    static const char *const want[] = {
        "[0.0, 0.0]",     "[1.0, 1.0]",   "[nan, nan]", "E_RUN_SHAPE", "E_RUN_SHAPE",
        "[False, False]", "[True, True]", "[nan, nan]", "E_RUN_SHAPE", "E_RUN_SHAPE"};
    int64_t shape[2] = {0, 2}, axis = 0;
    for (int op = 0; op < NNAMES; op++) {
        bool arg = op >= ARGMAX;
        lab_reset(l);
        Var x = lab_input(l, lab_filled(l, DT_FLOAT32, 2, shape, 0), false);
        PropArg prop = {"axis", arg ? PROP_INT(0) : PROP_INTS(&axis, 1)};
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, names[op], 1, &x, 1, &prop))),
                  want[op]);
        lab_reset(l);
        x = lab_input(l, lab_filled(l, DT_FLOAT32, 2, shape, 0), true);
        Var r = lab_apply(l, names[op], 1, &x, 1, &prop);
        CHECK((r == VAR_NONE) == (want[op][0] == 'E'), "%s", names[op]);
    }
}

static void special(Lab *l) {
    double v[4] = {1, (double)NAN, 5, (double)NAN};
    static const char *const want[] = {"nan",  "nan",  "nan", "nan", "nan",
                                       "True", "True", "nan", "1",   "1"};
    for (int op = 0; op < NNAMES; op++)
        for (int d = DT_FLOAT16; d <= DT_FLOAT64; d++) {
            lab_reset(l);
            Var x = lab_input(l, lab_list(l, (DType)d, 4, v), true);
            CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, names[op], 1, &x, 0, NULL))),
                      want[op]);
        }
    /* int8 is summed in 64 bits; bool counts; a mean of float16 does not overflow */
    static const struct {
        const char *op;
        DType d;
        double v;
        const char *want;
    } grow[] = {{"sum", DT_INT8, 100, "400"},
                {"sum", DT_BOOL, 1, "4"},
                {"prod", DT_UINT8, 200, "1600000000"},
                {"mean", DT_FLOAT16, 60000, "60000.0"},
                {"mean", DT_INT64, 3, "3.0"},
                {"mean", DT_FLOAT32, 3e38, "3e+38"},
                {"sum", DT_FLOAT16, 60000, "inf"},
                {"var", DT_FLOAT32, 1e30, "0.0"},
                {"std", DT_INT32, 4, "0.0"}};
    for (size_t i = 0; i < sizeof grow / sizeof *grow; i++) {
        double four[4] = {grow[i].v, grow[i].v, grow[i].v, grow[i].v};
        lab_reset(l);
        Var x = lab_input(l, lab_list(l, grow[i].d, 4, four), true);
        CHECK_STR(lab_text(l, lab_run(l, lab_apply(l, grow[i].op, 1, &x, 0, NULL))),
                  grow[i].want);
    }
}

static void complex_ones(Lab *l) {
    for (int d = DT_COMPLEX64; d <= DT_COMPLEX128; d++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (unsigned axes = 0; axes < 4; axes++) {
                int64_t shape[2] = {3, 41}, list[2];
                size_t n = 0;
                lab_reset(l);
                Tensor t = lab_filled(l, (DType)d, 2, shape, layout);
                Tensor im = t;
                im.dtype = dtype_real(t.dtype);
                im.data = (char *)t.data + dtype_size(im.dtype);
                for (int64_t i = 0; i < 123; i++)
                    lab_put(&im, i, lab_number(DT_INT8, i + 500));
                for (int k = 0; k < 2; k++)
                    if (axes >> k & 1) list[n++] = k;
                Var x = lab_input(l, t, true);
                PropArg prop = {"axis", PROP_INTS(list, n)};
                const char *op[] = {"sum", "mean", "var"};
                Tensor r[3];
                for (int i = 0; i < 3; i++) {
                    const Tensor *got =
                        lab_run(l, lab_apply(l, op[i], 1, &x, 1, &prop));
                    CHECK(got != NULL, "%s", op[i]);
                    if (!got) return;
                    r[i] = *got;
                }
                int64_t groups = (axes & 1 ? 1 : 3) * (axes & 2 ? 1 : 41),
                        count = 123 / groups, within;
                for (int64_t g = 0; g < groups; g++) {
                    bool flag[2] = {axes & 1, (axes & 2) != 0};
                    double re = 0, imag = 0, var = 0, m2 = 0;
                    for (int64_t i = 0; i < 123; i++)
                        if (group_of(&t, i, flag, &within) == g) {
                            double a = tensor_f64(&t, i), b = tensor_f64(&im, i);
                            re += a, imag += b, m2 += a * a + b * b;
                        }
                    var = m2 / (double)count -
                          (re * re + imag * imag) / (double)(count * count);
                    double pair[2] = {0, 0};
                    tensor_cast_elements(DT_COMPLEX128, pair, r[0].dtype,
                                         (char *)r[0].data +
                                             g * (int64_t)dtype_size(r[0].dtype),
                                         1, 0, 0);
                    CHECK(pair[0] == re && pair[1] == imag,
                          "complex sum %g %g, expected %g %g", pair[0], pair[1], re,
                          imag);
                    CHECK(fabs(tensor_f64(&r[1], g) - re / (double)count) < 1e-6,
                          "complex mean");
                    CHECK(fabs(tensor_f64(&r[2], g) - var) < 1e-4,
                          "complex var: %g, expected %g", tensor_f64(&r[2], g), var);
                }
            }
}

/* Sums and means of the smallest and largest numbers, more than 32 bits could hold. */
static void short_integers(Lab *l) {
    static const struct {
        DType d;
        double lo, hi;
    } kind[] = {{DT_BOOL, 0, 1},
                {DT_INT8, -128, 127},
                {DT_UINT8, 0, 255},
                {DT_INT16, -32768, 32767},
                {DT_UINT16, 0, 65535}};
    static const int64_t sizes[] = {1, 31, 64, 97, 4129, 300003};
    for (size_t i = 0; i < 3 * 5 * 6; i++) {
        int64_t k = (int64_t)i % 5, n = sizes[i / 5 % 6], mixed = (int64_t)i / 30;
        double total = 0;
        Tensor t;
        lab_reset(l);
        tensor_new(l->s, kind[k].d, 1, &n, &t);
        for (int64_t j = 0; j < n; j++) {
            double v = (mixed == 2 ? j % 3 : mixed) ? kind[k].hi : kind[k].lo;
            lab_put(&t, j, v), total += v;
        }
        Var x = lab_input(l, t, true);
        const Tensor *sum = lab_run(l, lab_apply(l, "sum", 1, &x, 0, NULL));
        CHECK(sum && tensor_f64(sum, 0) == total, "a sum of %d", (int)n);
        const Tensor *mean = lab_run(l, lab_apply(l, "mean", 1, &x, 0, NULL));
        CHECK(mean && tensor_f64(mean, 0) == total / (double)n, "a mean");
    }
}

/* Accuracy, and the same bits for 1 and 3 threads, where the work is cut up. */
static void large(void) {
    static const int64_t shapes[][2] = {
        {1, 3000001}, {3000, 1000}, {700000, 4}, {4, 700000}, {75001, 60}};
    const char *ops[] = {"sum", "mean", "max", "var", "argmax", "prod"};
    for (size_t i = 0; i < 5; i++)
        for (int axis = -1; axis < 2; axis++)
            for (int op = 0; op < 6; op++) {
                Tensor kept[2];
                Lab lab[2] = {lab_new(1), lab_new(3)};
                for (int k = 0; k < 2; k++) {
                    Lab *l = &lab[k];
                    Tensor t;
                    tensor_new(l->s, DT_FLOAT32, 2, shapes[i], &t);
                    float *p = t.data;
                    for (int64_t j = 0; j < tensor_size(&t); j++)
                        p[j] = 1.0f + 0.1f * sinf((float)j);
                    Var x = lab_input(l, t, false);
                    int64_t a = axis;
                    PropArg prop = {"axis", axis < 0  ? (Prop){.kind = P_NONE}
                                            : op == 4 ? PROP_INT(axis)
                                                      : PROP_INTS(&a, 1)};
                    const Tensor *r =
                        lab_run(l, lab_apply(l, ops[op], 1, &x, 1, &prop));
                    CHECK(r != NULL);
                    if (!r) return;
                    kept[k] = *r;
                    long double sum = 0;
                    bool first = axis != 0;
                    for (int64_t j = 0; j < tensor_size(&t);
                         j += first ? 1 : shapes[i][1])
                        if (axis != 1 || j < shapes[i][1]) sum += (long double)p[j];
                    if (op == 0)
                        CHECK(fabsl((long double)tensor_f64(r, 0) / sum - 1) < 1e-7L,
                              "sum %Lg", sum);
                }
                CHECK(tensor_identical(&kept[0], &kept[1]), "%s depends on threads",
                      ops[op]);
                lab_free(&lab[0]);
                lab_free(&lab[1]);
            }
}

/* Axes that aren't neighbours, cut up: each piece begins at some place of several dims.
 */
static void apart(void) {
    static const int64_t shape[5] = {7, 2, 300, 3, 500}, axes[3] = {0, 2, 4};
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        Lab l = lab_new(threads);
        Tensor t;
        int64_t expected[6] = {0};
        tensor_new(l.s, DT_INT64, 5, shape, &t);
        int64_t *p = t.data, n = tensor_size(&t);
        for (int64_t i = 0; i < n; i++) {
            p[i] = i * i % 100003;
            expected[i / 450000 % 2 * 3 + i / 500 % 3] += p[i];
        }
        Var x = lab_input(&l, t, false);
        PropArg prop = {"axis", PROP_INTS(axes, 3)};
        const Tensor *r = lab_run(&l, lab_apply(&l, "sum", 1, &x, 1, &prop));
        CHECK(r != NULL);
        for (int64_t i = 0; r && i < 6; i++)
            CHECK(tensor_i64(r, i) == expected[i],
                  "%u threads, sum %lld is %lld, not %lld", threads, (long long)i,
                  (long long)tensor_i64(r, i), (long long)expected[i]);
        lab_free(&l);
    }
}

/* Every seventh is a zero of either sign, every `rare`-th nan. */
static Tensor rough(Lab *l, DType d, const int64_t shape[2], int rare) {
    Tensor t;
    tensor_new(l->s, d, 2, shape, &t);
    uint64_t h = (uint64_t)rare;
    for (int64_t i = 0; i < tensor_size(&t); i++) {
        h = h * UINT64_C(6364136223846793005) + 1442695040888963407;
        double v = (double)(int64_t)(h >> 32 & 0xFFFFF) * 0x1p-18 - 3;
        if (h >> 40 & 1) v = -fabs(v) - 1; /* groups whose largest is a zero */
        if (i % 7 == 0) v = h >> 41 & 1 ? 0.0 : -0.0;
        if (rare && i % rare == rare - 1) v = (double)NAN;
        lab_put(&t, i, v);
    }
    return t;
}

/* All levels of CPU give the same bits, nan and the signs of zeros included. */
static void levels(void) {
    static const int64_t shapes[][2] = {{1, 31},   {3, 32},  {7, 65},
                                        {8, 163},  {9, 700}, {40, 131},
                                        {133, 17}, {26, 6},  {2, 5001}};
    static const DType dtypes[] = {DT_FLOAT16, DT_FLOAT32, DT_FLOAT64, DT_INT8,
                                   DT_INT64,   DT_INT16,   DT_INT32,   DT_BOOL};
    Lab lab[3] = {lab_new(1), lab_new(1), lab_new(1)};
    for (int k = 0; k < 3; k++)
        session_options(lab[k].s)->cpu_level = k;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int op = 0; op < NNAMES; op++)
                for (int way = 0; way < 6; way++) {
                    Tensor kept[3];
                    int64_t axis = way % 3;
                    int rare = d > 2 ? 0 : way / 3 * 83;
                    for (int k = 0; k < 3; k++) {
                        lab_reset(&lab[k]);
                        Var x = lab_input(
                            &lab[k], rough(&lab[k], dtypes[d], shapes[i], rare), false);
                        PropArg prop = {"axis", axis == 2      ? (Prop){.kind = P_NONE}
                                                : op >= ARGMAX ? PROP_INT(axis)
                                                               : PROP_INTS(&axis, 1)};
                        const Tensor *r = lab_run(
                            &lab[k], lab_apply(&lab[k], names[op], 1, &x, 1, &prop));
                        CHECK(r != NULL);
                        if (!r) return;
                        kept[k] = *r;
                    }
                    for (int k = 1; k < 3; k++)
                        CHECK(tensor_identical(&kept[0], &kept[k]),
                              "%s of %s[%lld, %lld] way %d: level %d differs",
                              names[op], dtype_name(dtypes[d]), (long long)shapes[i][0],
                              (long long)shapes[i][1], way, k);
                }
    for (int k = 0; k < 3; k++)
        lab_free(&lab[k]);
}

/* float64 sums keep their accuracy over many elements. */
static void accuracy(Lab *l) {
    int64_t n = 4000000;
    lab_reset(l);
    Tensor t;
    tensor_new(l->s, DT_FLOAT64, 1, &n, &t);
    double *p = t.data;
    long double want = 0;
    for (int64_t i = 0; i < n; i++)
        p[i] = 0.1 + 1e-3 * (double)(i % 7);
    for (int64_t i = 0; i < 7; i++)
        want += (long double)p[i] * (long double)((n - i + 6) / 7);
    Var x = lab_input(l, t, true);
    const Tensor *r = lab_run(l, lab_apply(l, "sum", 1, &x, 0, NULL));
    CHECK(r && fabsl((long double)tensor_f64(r, 0) / want - 1) < 1e-15L, "%Lg",
          r ? (long double)tensor_f64(r, 0) / want - 1 : 0);
}

/* Element i of line k along the axis. */
static double in_line(const Tensor *x, int axis, int64_t k, int64_t i) {
    int64_t n = x->shape[1];
    return tensor_f64(x, axis ? k * n + i : i * n + k);
}

static double running(const Tensor *x, int axis, int64_t k, int64_t upto) {
    double sum = 0;
    for (int64_t i = 0; i < upto; i++)
        sum += in_line(x, axis, k, i);
    return sum;
}

static void check_line(const Tensor *x, const Tensor r[4], int axis, int64_t k) {
    int64_t n = x->shape[axis], best = 0, wrong = 0;
    double total = running(x, axis, k, n), mean = total / (double)n, squares = 0,
           all = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = in_line(x, axis, k, i);
        if (v > in_line(x, axis, k, best)) best = i;
        squares += (v - mean) * (v - mean);
        all += v;
        wrong += in_line(&r[0], axis, k, i) != all;
        wrong += in_line(&r[1], axis, k, i) != total - all;
    }
    CHECK(wrong == 0, "axis %d: %lld running sums", axis, (long long)wrong);
    CHECK(tensor_i64(&r[2], k) == best, "axis %d: argmax", axis);
    double var = squares / (double)n;
    CHECK(fabs(tensor_f64(&r[3], k) - var) <= 1e-6 * var, "axis %d: var", axis);
}

/* One by one and side by side. */
static void check_logsumexp(Lab *l, DType d, const int64_t shape[2], int layout,
                            int axis) {
    lab_reset(l);
    Tensor t = lab_filled(l, d, 2, shape, layout);
    Var x = lab_input(l, t, true);
    PropArg arg = {"axis", PROP_INTS(&(int64_t){axis}, 1)};
    const Tensor *r = lab_run(l, lab_apply(l, "logsumexp", 1, &x, 1, &arg));
    CHECK(r != NULL);
    for (int64_t k = 0; r && k < shape[1 - axis]; k++) {
        double sum = 0;
        for (int64_t i = 0; i < shape[axis]; i++)
            sum += exp(in_line(&t, axis, k, i));
        CHECK(fabs(tensor_f64(r, k) - log(sum)) <= 1e-6 * fabs(log(sum)) + 1e-9,
              "%s, %lld by %lld, axis %d: %g", dtype_name(d), (long long)shape[0],
              (long long)shape[1], axis, tensor_f64(r, k) - log(sum));
    }
}

/* Short runs together and each alone, with special values. */
static void logsumexp_runs(Lab *l) {
    static const double inf = HUGE_VAL;
    static const double lines[][6] = {{1, 2, 3, 4, 5, 6},
                                      {-inf, -inf, -inf, -inf, -inf, -inf},
                                      {-inf, 1, 2, -inf, 3, -inf},
                                      {1, inf, 2, 3, -inf, 4},
                                      {1, 2, (double)NAN, inf, 4, 5},
                                      {1e300, -1e300, 1e300, 0, -0.0, 5},
                                      {-800, -801, -802, -803, -1e4, -900},
                                      {-0.0, -0.0, -0.0, -0.0, -0.0, -0.0}};
    enum { LINES = sizeof lines / sizeof *lines };
    PropArg arg = {"axis", PROP_INTS(&(int64_t){1}, 1)};
    for (int d = DT_FLOAT32; d <= DT_FLOAT64; d++)
        for (int64_t n = 1; n <= 6; n++) {
            double want[LINES];
            for (int64_t i = 0; i <= LINES; i++) { /* the last time all together */
                int64_t shape[2] = {i < LINES ? 1 : LINES, n};
                lab_reset(l);
                Tensor t = lab_filled(l, (DType)d, 2, shape, 0);
                for (int64_t k = 0; k < shape[0] * n; k++)
                    lab_put(&t, k, lines[i < LINES ? i : k / n][k % n]);
                Var x = lab_input(l, t, true);
                const Tensor *r = lab_run(l, lab_apply(l, "logsumexp", 1, &x, 1, &arg));
                CHECK(r != NULL);
                for (int64_t k = 0; r && k < shape[0]; k++) {
                    double v = tensor_f64(r, k);
                    if (i < LINES)
                        want[i] = v;
                    else
                        CHECK(v == want[k] || (isnan(v) && isnan(want[k])),
                              "%s, %lld elements, line %lld: %g, alone %g",
                              dtype_name((DType)d), (long long)n, (long long)k, v,
                              want[k]);
                }
            }
        }
}

/* Long lines whose first part, some in between, or the last has nothing that counts,
 * and elements far below the largest; at each level of CPU. */
static void logsumexp_long(void) {
    enum { N = 1300 };
    static const double inf = HUGE_VAL;
    static const struct {
        int from, to;
        double in, others, want;
    } of[] = {{0, 600, -inf, 0, 6.551080335043404},
              {600, 1200, -1e30, 1, 7.551080335043404},
              {1299, 1300, 1000, -5000, 1000},
              {0, 1300, -inf, 0, -inf},
              {3, 4, inf, 1, inf},
              {1200, 1201, inf, -inf, inf},
              {700, 701, (double)NAN, 1, (double)NAN},
              {0, 700, -3e38, -3e38, -3e38},
              {0, 700, 80, -80, 86.55108033504340}};
    for (int level = 0; level <= 2; level++)
        for (size_t k = 0; k < sizeof of / sizeof *of; k++)
            for (int d = DT_FLOAT32; d <= DT_FLOAT64; d++) {
                Lab l = lab_new(1);
                session_options(l.s)->cpu_level = level;
                Tensor t = lab_filled(&l, (DType)d, 1, (int64_t[]){N}, 0);
                for (int i = 0; i < N; i++)
                    lab_put(&t, i,
                            i >= of[k].from && i < of[k].to ? of[k].in : of[k].others);
                Var x = lab_input(&l, t, true);
                const Tensor *r =
                    lab_run(&l, lab_apply(&l, "logsumexp", 1, &x, 0, NULL));
                double v = r ? tensor_f64(r, 0) : 0, want = of[k].want;
                CHECK(r && (v == want || (isnan(v) && isnan(want)) ||
                            fabs(v - want) <= 1e-7 * fabs(want)),
                      "level %d, %s, line %zu: %.17g", level, dtype_name((DType)d), k,
                      v);
                lab_free(&l);
            }
}

/* A few long lines, many short ones, and lines that are taken one by one. */
static void narrow(Lab *l) {
    static const int64_t shapes[][2] = {{1031, 3}, {3, 1031}, {41, 67},
                                        {70, 40},  {1, 2},    {41, 2100}};
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT16};
    static const char *const ops[] = {"running_sum", "running_sum", "argmax", "var"};
    for (int which = 0; which < 6 * 3 * 2; which++) {
        const int64_t *shape = shapes[which / 6];
        int axis = which % 2, layout = which % 3;
        if (which / 2 % 3 < 2)
            check_logsumexp(l, dtypes[which / 2 % 3], shape, layout, axis);
        lab_reset(l);
        Tensor t = lab_filled(l, dtypes[which / 2 % 3], 2, shape, layout);
        Var x = lab_input(l, t, true);
        Tensor r[4];
        for (int op = 0; op < 4; op++) {
            PropArg arg[3] = {{"axis", PROP_INT(axis)},
                              {"exclusive", PROP_BOOL(true)},
                              {"reverse", PROP_BOOL(true)}};
            const Tensor *t_op =
                lab_run(l, lab_apply(l, ops[op], 1, &x, op == 1 ? 3 : 1, arg));
            CHECK(t_op != NULL, "%s", ops[op]);
            if (!t_op) return;
            r[op] = *t_op;
        }
        for (int64_t k = 0; k < shape[1 - axis]; k += 1 + shape[1 - axis] / 7)
            check_line(&t, r, axis, k);
    }
}

/* Many outputs of a few elements each, which lie apart; running sums between two other
 * dims. */
static void scattered(Lab *l) {
    static const int64_t shapes[][3] = {{130, 5, 7}, {300, 3, 2}};
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT16, DT_INT8};
    for (int which = 0; which < 3 * 2 * LAYOUTS; which++) {
        const int64_t *n = shapes[which / 3 % 2];
        DType d = dtypes[which % 3];
        for (int op = 0; op < NNAMES; op++)
            for (unsigned axes = 1; axes < 7 && op != PROD; axes++) {
                lab_reset(l);
                one(l, op, d, 3, n, which / 6, axes, axes % 2);
            }
        lab_reset(l);
        Tensor t = lab_filled(l, d, 3, n, which / 6);
        Var x = lab_input(l, t, true);
        PropArg axis = {"axis", PROP_INT(1)};
        const Tensor *r = lab_run(l, lab_apply(l, "running_sum", 1, &x, 1, &axis));
        int64_t bad = r == NULL;
        for (int64_t i = 0; r && i < n[0] * n[2]; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n[1]; j++) {
                int64_t at = (i / n[2] * n[1] + j) * n[2] + i % n[2];
                sum += tensor_f64(&t, at);
                bad += fabs(tensor_f64(r, at) - sum) > 1e-3 * fabs(sum);
            }
        }
        CHECK(bad == 0, "running_sum, %s, %d: %lld", dtype_name(d), which,
              (long long)bad);
    }
}

/* The first extreme of long lines, which threads share: of equal ones, of nans, of
 * zeros of both signs, in any layout. */
static int64_t first_extreme(const Tensor *t, int64_t line, bool least) {
    int64_t best = line;
    for (int64_t i = line + 2; i < tensor_size(t); i += 2) {
        double v = tensor_f64(t, i), b = tensor_f64(t, best);
        if (!isnan(b) && (isnan(v) || (least ? v < b : v > b))) best = i;
    }
    return best / 2;
}

static void long_lines(unsigned threads, DType d, int64_t n, int rare, bool least) {
    Lab l = lab_new(threads);
    const int64_t shape[2] = {n, 2};
    PropArg axis = {"axis", PROP_INT(0)};
    Tensor x = rough(&l, d, shape, rare), flat = x;
    Var in = lab_input(&l, x, true);
    const Tensor *r =
        lab_run(&l, lab_apply(&l, least ? "argmin" : "argmax", 1, &in, 1, &axis));
    for (int64_t line = 0; r && line < 2; line++)
        CHECK(tensor_i64(r, line) == first_extreme(&flat, line, least),
              "%u threads, %s[%lld, 2], %d: %lld", threads, dtype_name(d), (long long)n,
              rare, (long long)tensor_i64(r, line));
    tensor_new(l.s, d, 1, &n, &flat);
    for (int64_t i = 0; i < n; i++) /* every second one, from the end */
        lab_put(&flat, i, tensor_f64(&x, 2 * (n - 1 - i)));
    Tensor back = flat;
    back.data = (char *)flat.data + (n - 1) * flat.stride[0];
    back.stride[0] = -flat.stride[0];
    int64_t want = first_extreme(&x, 0, least);
    r = lab_run(&l, lab_apply(&l, least ? "argmin" : "argmax", 1,
                              &(Var){lab_input(&l, back, true)}, 1, &axis));
    CHECK(r && tensor_i64(r, 0) == want, "%u threads, %s[%lld], %d", threads,
          dtype_name(d), (long long)n, rare);
    lab_free(&l);
}

static void extremes_of_long_lines(void) {
    static const int64_t length[] = {(1 << 16) - 1, 1 << 16, 70001};
    for (unsigned threads = 1; threads <= 3; threads++)
        for (int d = 0; d < DT_COMPLEX64; d++)
            for (int i = 0; i < 3; i++)
                long_lines(threads, (DType)d, length[i],
                           i == 1 && dtype_is_float((DType)d) ? 60013 : 0, i == 2);
}

/* Running sums and products of float32 in float64, to the bit: adjacent elements and
 * others, every length and some long ones. */
static void check_running(Lab *l, int64_t n, int layout, int how) {
    bool exclusive = how & 1, product = how & 2;
    lab_reset(l);
    Tensor t = lab_tensor(l, DT_FLOAT32, 2, (int64_t[]){2, n}, layout);
    for (int64_t i = 0; i < 2 * n; i++)
        lab_put(&t, i, 1 + sin((double)i * 1.7) * (product ? 1e-2 : 1e2));
    Var x = lab_input(l, t, true);
    PropArg arg[2] = {{"axis", PROP_INT(1)}, {"exclusive", PROP_BOOL(exclusive)}};
    const Tensor *r = lab_run(
        l, lab_apply(l, product ? "running_prod" : "running_sum", 1, &x, 2, arg));
    int64_t bad = 0;
    for (int64_t row = 0; r && row < 2; row++) {
        double state = product;
        for (int64_t i = 0; i < n; i++) {
            double one = tensor_f64(&t, row * n + i), before = state;
            state = product ? state * one : state + one;
            bad += (float)tensor_f64(r, row * n + i) !=
                   (float)(exclusive ? before : state);
        }
    }
    CHECK(r && bad == 0, "float32[2, %lld], layout %d, how %d: %lld are wrong",
          (long long)n, layout, how, (long long)bad);
}

static void running_floats(Lab *l) {
    for (int64_t n = 1; n < 70; n++)
        for (int k = 0; k < 12; k++)
            check_running(l, n < 66 ? n : 1000 * (n - 65) + 7, k % 3, k / 3);
}

int main(void) {
    Lab l = lab_new(2);
    all_of(&l);
    empty(&l);
    short_integers(&l);
    special(&l);
    complex_ones(&l);
    accuracy(&l);
    narrow(&l);
    scattered(&l);
    running_floats(&l);
    logsumexp_runs(&l);
    lab_free(&l);
    large();
    apart();
    levels();
    logsumexp_long();
    extremes_of_long_lines();
    return TEST_END("ops_reduce");
}
