/* Tensors: memory and its account, layouts, walks, equality, hashes, text. */
#include "value/value.h"

#define CLAUSE_value CLAUSE_RUN
#include "contract.h"
#include "value/sparse.h"

#include <math.h>
#include <stdlib.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static void test_memory(Session *s) {
    Tensor a, b;
    CHECK(tensor_new(s, DT_FLOAT64, 2, SHAPE(3, 5), &a));
    CHECK((uintptr_t)a.data % 64 == 0 && a.stride[0] == 40 && a.stride[1] == 8);
    CHECK(buffer_bytes_used(s) == 120 && tensor_bytes(&a) == 120);
    tensor_copy_view(&b, &a);
    tensor_unref(&a);
    CHECK(buffer_bytes_used(s) == 120 && a.buf == NULL);
    tensor_unref(&b);
    CHECK(buffer_bytes_used(s) == 0 && buffer_bytes_peak(s) == 120);
    CHECK(tensor_zeros(s, DT_UINT8, 1, SHAPE(9 << 20), &a)); /* mapped */
    CHECK((uintptr_t)a.data % (2 << 20) == 0 &&
          ((uint8_t *)a.data)[(9 << 20) - 1] == 0);
    CHECK(buffer_bytes_used(s) == 9 << 20);
    tensor_unref(&a);
    buffer_reset_peak(s);
    CHECK(buffer_bytes_used(s) == 0 && buffer_bytes_peak(s) == 0);
}

/* Buffers that would fill a huge page, or the last of some, begin at one and can be
 * written to their ends. */
static void test_huge_pages(Session *s) {
    static const size_t huge = (size_t)2 << 20,
                        sizes[] = {huge - huge / 16, huge, huge + 1,
                                   2 * huge + huge * 3 / 4, 5 * huge - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Buffer *b = buffer_new(s, sizes[i]);
        CHECK((uintptr_t)b->data % huge == 0, "%zu bytes", sizes[i]);
        memset(b->data, 1, sizes[i]);
        CHECK(buffer_bytes_used(s) == sizes[i], "%zu bytes", sizes[i]);
        buffer_unref(b);
    }
    CHECK(buffer_bytes_used(s) == 0);
}

static void check_error(Session *s, DiagCode code, const char *part) {
    const Diag *d = diag_first_error(s);
    CHECK(diag_count(s) == 1 && d->code == code, "%zu diagnostics", diag_count(s));
    CHECK(d && strstr(d->text, part), "%s", d ? d->text : "none");
    diag_clear(s);
}

static void test_limits(Session *s) {
    Tensor a, b;
    session_options(s)->max_memory = 1000;
    CHECK(tensor_new(s, DT_UINT8, 1, SHAPE(900), &a));
    CHECK(!tensor_new(s, DT_UINT8, 1, SHAPE(101), &b));
    check_error(s, E_MEM, "101 bytes of memory are needed, but only 100 bytes of 1000");
    CHECK(!tensor_new(s, DT_UINT8, 2, SHAPE(INT64_MAX, 2), &b));
    check_error(s, E_MEM, "beyond");
    CHECK(!tensor_new(s, DT_FLOAT64, 1, SHAPE(INT64_MAX / 8), &b));
    check_error(s, E_MEM, "needed");
    CHECK(!tensor_new(s, DT_FLOAT64, 1, SHAPE(-1), &b));
    check_error(s, E_RUN_SHAPE, "negative");
    tensor_unref(&a);
    CHECK(buffer_bytes_used(s) == 0);
    CHECK(tensor_new(s, DT_COMPLEX128, 3, SHAPE(INT64_MAX, 0, INT64_MAX), &a));
    CHECK(a.data && tensor_size(&a) == 0 && tensor_is_contiguous(&a));
    tensor_unref(&a);
    session_options(s)->max_memory = 0;
    int64_t many[MAX_NDIM + 1] = {0};
    CHECK(!tensor_new(s, DT_INT8, -1, many, &a));
    check_error(s, E_SHAPE, "can't have -1 dims");
    CHECK(!tensor_new(s, DT_INT8, MAX_NDIM + 1, many, &a));
    check_error(s, E_LIMIT, "at most 32 dims");
    CHECK(!sparse_new(s, false, DT_BOOL, SHAPE(3, 3), 1));
    check_error(s, E_DTYPE, "can't hold bool");
    CHECK(!sparse_new(s, false, DT_INT8, SHAPE(3, 3), INT32_MAX + 1LL));
    check_error(s, E_LIMIT, "of each is 2^31 - 2");
    CHECK(!sparse_new(s, false, DT_INT8, SHAPE(INT32_MAX, 1), 1));
    check_error(s, E_LIMIT, "of each is 2^31 - 2");
    CHECK(!sparse_new(s, false, DT_INT8, SHAPE(INT32_MAX, 1), INT32_MAX));
    check_error(s, E_LIMIT, "2147483647 x 1 with 2147483647 stored");
}

static Tensor view(const Tensor *t, int ndim, const int64_t *shape,
                   const int64_t *stride, int64_t offset) {
    Tensor v = *t;
    v.ndim = ndim;
    v.data = (char *)t->data + offset;
    v.buf = NULL;
    for (int i = 0; i < ndim; i++) {
        v.shape[i] = shape[i];
        v.stride[i] = stride[i];
    }
    return v;
}

static void test_layout(Session *s) {
    Tensor a, v, w;
    CHECK(tensor_new(s, DT_INT16, 2, SHAPE(4, 6), &a));
    for (int i = 0; i < 24; i++)
        ((int16_t *)a.data)[i] = (int16_t)i;
    v = view(&a, 2, SHAPE(2, 3), SHAPE(24, -4), 10); /* a[::2, 5::-2] */
    CHECK(!tensor_is_contiguous(&v) && tensor_is_contiguous(&a));
    CHECK(tensor_i64(&v, 0) == 5 && tensor_i64(&v, 2) == 1 && tensor_f64(&v, 5) == 13);
    CHECK(tensor_clone(s, &v, &w) && tensor_is_contiguous(&w) && tensor_equal(&v, &w));
    CHECK(tensor_may_share_memory(&a, &v) && !tensor_may_share_memory(&a, &w));
    Tensor left = view(&a, 1, SHAPE(6), SHAPE(2), 0),
           right = view(&a, 1, SHAPE(6), SHAPE(2), 12),
           back = view(&a, 1, SHAPE(6), SHAPE(-2), 22);
    CHECK(!tensor_may_share_memory(&left, &right));
    CHECK(tensor_may_share_memory(&right, &back) &&
          !tensor_may_share_memory(&left, &back));
    Tensor one = view(&a, 3, SHAPE(1, 6, 1), SHAPE(999, 2, 7), 0);
    CHECK(tensor_is_contiguous(&one));
    Tensor empty = view(&a, 2, SHAPE(0, 3), SHAPE(8, 8), 0);
    CHECK(tensor_is_contiguous(&empty) && !tensor_may_share_memory(&empty, &a));
    CHECK(tensor_same_shape(&v, &w) && !tensor_same_shape(&v, &a));
    tensor_unref(&w);
    tensor_unref(&a);
}

/* ---- walks: each element once, operands in step ---- */

static unsigned rnd(unsigned *state, unsigned n) {
    *state = *state * 1103515245U + 12345U;
    return (*state >> 16) % n;
}

static int64_t offset_of(const Tensor *t, int ndim, const int64_t *index) {
    int64_t at = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t k = index[ndim - t->ndim + i];
        at += t->shape[i] == 1 ? 0 : k * t->stride[i];
    }
    return at;
}

/* A pair of offsets for each element; order is free, so they are compared by a sum of
 * hashes. */
static uint64_t pair_hash(int64_t a, int64_t b) {
    return hash_mix(hash_mix(1, (uint64_t)a), (uint64_t)b);
}

static uint64_t naive(const Tensor *a, const Tensor *b) {
    uint64_t sum = 0;
    int64_t n = tensor_size(a), index[MAX_NDIM];
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (int k = a->ndim; k-- > 0; rest /= a->shape[k])
            index[k] = rest % a->shape[k];
        sum += pair_hash(offset_of(a, a->ndim, index), offset_of(b, a->ndim, index));
    }
    return sum;
}

static uint64_t walked(const Tensor *a, const Tensor *b, int64_t *runs) {
    Iter it;
    uint64_t sum = 0;
    const Tensor *const op[2] = {a, b};
    *runs = 0;
    for (iter_init(&it, a->ndim, a->shape, 2, op); !it.done; iter_next(&it), ++*runs)
        for (int64_t i = 0; i < it.inner; i++)
            sum += pair_hash(it.ptr[0] + i * it.step[0] - (char *)a->data,
                             it.ptr[1] + i * it.step[1] - (char *)b->data);
    return sum;
}

static void random_tensor(unsigned *r, Tensor *t, int ndim, const int64_t *shape,
                          char *memory) {
    int order[4] = {0, 1, 2, 3};
    *t = (Tensor){.dtype = DT_INT8, .ndim = ndim, .data = memory + 100000};
    int64_t step = 1 + rnd(r, 2);
    for (int i = ndim - 1; i > 0; i--) {
        int k = (int)rnd(r, (unsigned)i + 1), o = order[i];
        if (rnd(r, 2)) continue;
        order[i] = order[k];
        order[k] = o;
    }
    for (int i = ndim; i-- > 0;) {
        int d = order[i];
        t->shape[d] = shape[d];
        t->stride[d] = rnd(r, 4) ? step : -step;
        step *= shape[d] + (rnd(r, 3) == 0);
    }
}

static void test_iter(void) {
    static char memory[200000];
    unsigned r = 7;
    int64_t runs;
    for (int round = 0; round < 3000; round++) {
        Tensor a, b;
        int ndim = (int)rnd(&r, 5), less = (int)rnd(&r, 2);
        int64_t shape[4], narrow[4];
        for (int i = 0; i < ndim; i++)
            shape[i] = rnd(&r, 20) ? 1 + (int64_t)rnd(&r, 5) : 0;
        random_tensor(&r, &a, ndim, shape, memory);
        int nb = ndim > less ? ndim - less : ndim;
        for (int i = 0; i < nb; i++)
            narrow[i] = rnd(&r, 4) ? shape[ndim - nb + i] : 1;
        random_tensor(&r, &b, nb, narrow, memory);
        CHECK(naive(&a, &b) == walked(&a, &b, &runs), "round %d", round);
    }
    Tensor c = {.dtype = DT_INT8, .ndim = 3, .data = memory + 500};
    for (int i = 0; i < 3; i++) {
        c.shape[i] = 4;
        c.stride[i] = i == 0 ? 1 : i == 1 ? -16 : 4;
    }
    walked(&c, &c, &runs); /* permuted and flipped memory without gaps is one run */
    CHECK(runs == 1, "%lld runs", (long long)runs);
}

/* ---- equality ---- */

static Tensor floats(Session *s, int n, const double *v, DType d) {
    Tensor t, as;
    CHECK(tensor_new(s, DT_FLOAT64, 1, SHAPE(n), &t));
    memcpy(t.data, v, (size_t)n * sizeof *v);
    CHECK(tensor_cast(s, &t, d, &as));
    tensor_unref(&t);
    return as;
}

static void test_equal(Session *s) {
    static const DType kinds[] = {DT_FLOAT16, DT_FLOAT32, DT_FLOAT64, DT_COMPLEX64,
                                  DT_COMPLEX128};
    double x[4] = {1, 0.0, (double)NAN, -3}, y[4] = {1, -0.0, -(double)NAN, -3},
           z[4] = {1, 0.0, (double)NAN, 3};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Tensor a = floats(s, 4, x, kinds[i]), b = floats(s, 4, y, kinds[i]),
               c = floats(s, 4, z, kinds[i]);
        CHECK(tensor_equal(&a, &b) && !tensor_equal(&a, &c));
        CHECK(tensor_identical(&a, &a) && !tensor_identical(&a, &b));
        Tensor nan_a =
                   view(&a, 1, SHAPE(1), SHAPE(8), 2 * (int64_t)dtype_size(kinds[i])),
               nan_b =
                   view(&b, 1, SHAPE(1), SHAPE(8), 2 * (int64_t)dtype_size(kinds[i]));
        CHECK(tensor_identical(&nan_a, &nan_b) &&
              tensor_hash(&nan_a) == tensor_hash(&nan_b));
        CHECK(tensor_hash(&a) != tensor_hash(&b) && tensor_hash(&a) != tensor_hash(&c));
        tensor_unref(&a);
        tensor_unref(&b);
        tensor_unref(&c);
    }
    Tensor m, v, w;
    CHECK(tensor_new(s, DT_INT32, 2, SHAPE(300, 200), &m));
    for (int i = 0; i < 60000; i++)
        ((int32_t *)m.data)[i] = i * 7;
    v = view(&m, 2, SHAPE(200, 300), SHAPE(4, 800), 0);
    CHECK(tensor_clone(s, &v, &w));
    CHECK(tensor_equal(&v, &w) && tensor_identical(&v, &w));
    CHECK(tensor_hash(&v) == tensor_hash(&w) && tensor_hash(&v) != tensor_hash(&m));
    ((int32_t *)w.data)[59999]++;
    CHECK(!tensor_equal(&v, &w));
    tensor_unref(&m);
    tensor_unref(&w);
}

/* ---- approximate equality ---- */

static bool near(Session *s, DType d, double x, double y, Approx how) {
    Tensor a = floats(s, 1, &x, d), b = floats(s, 1, &y, d);
    bool r = tensor_approx(&a, &b, how, NULL);
    tensor_unref(&a);
    tensor_unref(&b);
    return r;
}

static void test_approx(Session *s) {
    const Approx plain = APPROX_DEFAULT;
    Approx how = plain;
    const double nan = (double)NAN, inf = HUGE_VAL;
    CHECK(near(s, DT_FLOAT64, 1, 1 + 1.0e-5, plain) &&
          !near(s, DT_FLOAT64, 1, 1 + 1.1e-5, plain));
    CHECK(near(s, DT_FLOAT32, 1, 1.000019, plain) &&
          !near(s, DT_FLOAT32, 1, 1.000021, plain));
    CHECK(near(s, DT_COMPLEX64, 1, 1.000019, plain));
    CHECK(near(s, DT_FLOAT16, 1, 1.00195, plain) &&
          !near(s, DT_FLOAT16, 1, 1.003, plain));
    CHECK(near(s, DT_FLOAT32, 0, 1e-5, plain) && !near(s, DT_FLOAT64, 0, 1e-5, plain));
    how.sloppy = 1;
    CHECK(near(s, DT_FLOAT64, 0, 0.00099, how) && !near(s, DT_FLOAT64, 0, 0.0011, how));
    CHECK(near(s, DT_FLOAT32, 1, 1.00109, how) && !near(s, DT_FLOAT32, 1, 1.0012, how));
    CHECK(near(s, DT_FLOAT16, 1, 1.0146, how) && !near(s, DT_FLOAT16, 1, 1.017, how));
    how.sloppy = 2;
    CHECK(near(s, DT_FLOAT16, 1, 1.06, how) && !near(s, DT_FLOAT16, 1, 1.07, how));
    CHECK(near(s, DT_FLOAT32, 1, 1.0014, how) && !near(s, DT_FLOAT32, 1, 1.0016, how));
    CHECK(near(s, DT_FLOAT64, nan, nan, plain) && !near(s, DT_FLOAT64, nan, 1, plain));
    CHECK(!near(s, DT_FLOAT64, 1, nan, plain));
    CHECK(near(s, DT_FLOAT64, inf, inf, plain) &&
          !near(s, DT_FLOAT64, inf, -inf, plain));
    CHECK(!near(s, DT_FLOAT64, inf, 1e308, plain) &&
          !near(s, DT_FLOAT64, 1e308, inf, plain));
    how = (Approx){.rtol = -1, .atol = -1, .allow_remove_nan = true};
    CHECK(near(s, DT_FLOAT64, nan, 1, how) && !near(s, DT_FLOAT64, 1, nan, how));
    how = (Approx){.rtol = -1, .atol = -1, .allow_remove_inf = true};
    CHECK(near(s, DT_FLOAT64, inf, 1, how) && near(s, DT_FLOAT64, inf, -inf, how));
    how = (Approx){.rtol = 0.5, .atol = 0};
    CHECK(near(s, DT_FLOAT64, 1, 2, how) && !near(s, DT_FLOAT64, 2, 1, how)); /* by b */
    how = (Approx){.rtol = 0, .atol = 0};
    CHECK(near(s, DT_FLOAT64, 1, 1, how));
    CHECK(near(s, DT_INT8, 3, 3, plain) && !near(s, DT_INT8, 3, 4, plain));
    how = plain; /* a level that there is not is the nearest */
    how.sloppy = -1;
    CHECK(near(s, DT_FLOAT64, 1, 1 + 1.0e-5, how) &&
          !near(s, DT_FLOAT64, 1, 1 + 1.1e-5, how));
    how.sloppy = 3;
    CHECK(near(s, DT_FLOAT16, 1, 1.06, how) && !near(s, DT_FLOAT16, 1, 1.07, how));
    how = (Approx){.rtol = -1, .atol = -1, .allow_remove_inf = true};
    CHECK(!near(s, DT_FLOAT64, 1, inf, how) && !near(s, DT_FLOAT64, nan, inf, how));
    double rtol, atol;
    tensor_tolerance(DT_INT64, plain, &rtol, &atol);
    CHECK(rtol == 0 && atol == 0);
    tensor_tolerance(DT_COMPLEX64, plain, &rtol, &atol);
    CHECK(rtol == 1e-5 && atol == 1e-5);
}

/* With a nan the tolerances of the second pass hold, whatever the dtype. */
static void test_approx_retry(Session *s) {
    const double nan = (double)NAN, x[3] = {nan, 1, 5}, y[3] = {nan, 1.000019, 5},
                 z[3] = {nan, 1.0000095, 9};
    int64_t where = 0;
    Tensor a = floats(s, 3, x, DT_FLOAT32), b = floats(s, 3, y, DT_FLOAT32),
           c = floats(s, 3, z, DT_FLOAT32), d = floats(s, 3, z, DT_FLOAT64);
    CHECK(!tensor_approx(&a, &b, APPROX_DEFAULT, &where) && where == 1);
    CHECK(!tensor_approx(&a, &c, APPROX_DEFAULT, &where) && where == 2);
    ((float *)c.data)[2] = 5;
    CHECK(tensor_approx(&a, &c, APPROX_DEFAULT, &where));
    CHECK(!tensor_approx(&a, &d, APPROX_DEFAULT, &where) && where == -1);
    tensor_unref(&a);
    tensor_unref(&b);
    tensor_unref(&c);
    tensor_unref(&d);
    Tensor i, k;
    tensor_scalar_int(s, DT_INT64, (1LL << 53) + 1, &i);
    tensor_scalar_int(s, DT_INT64, 1LL << 53, &k);
    CHECK(!tensor_approx(&i, &k, APPROX_DEFAULT, &where) && where == 0);
    tensor_unref(&i);
    tensor_unref(&k);
    const int64_t two = 2; /* the same in double precision, the second only */
    CHECK(tensor_new(s, DT_INT64, 1, &two, &i) && tensor_new(s, DT_INT64, 1, &two, &k));
    memcpy(i.data, (int64_t[]){5, (1LL << 53) + 1}, 16);
    memcpy(k.data, (int64_t[]){5, 1LL << 53}, 16);
    CHECK(!tensor_approx(&i, &k, APPROX_DEFAULT, &where) && where == 1);
    tensor_unref(&i);
    tensor_unref(&k);
}

/* ---- text ---- */

static void check_text(Session *s, const Tensor *t, int indent, const char *want) {
    Str b = STR(s);
    tensor_text(s, t, indent, &b);
    CHECK_STR(str_text(&b), want);
    str_free(&b);
}

static void test_text(Session *s) {
    const double v[6] = {1, -0.0, (double)NAN, HUGE_VAL, -HUGE_VAL, 0.1};
    Tensor f = floats(s, 6, v, DT_FLOAT64), g = floats(s, 6, v, DT_FLOAT32),
           h = floats(s, 6, v, DT_FLOAT16), z = floats(s, 2, v, DT_COMPLEX64), i, t;
    check_text(s, &f, -1, "[1.0, -0.0, nan, inf, -inf, 0.1]");
    check_text(s, &g, -1, "[1.0, -0.0, nan, inf, -inf, 0.1]");
    check_text(s, &h, -1, "[1.0, -0.0, nan, inf, -inf, 0.1]");
    check_text(s, &z, -1, "[(1.0+0.0j), (-0.0+0.0j)]");
    t = view(&f, 2, SHAPE(2, 2), SHAPE(-8, 24), 8);
    check_text(s, &t, -1, "[[-0.0, -inf], [1.0, inf]]");
    check_text(s, &t, 2, "[[-0.0, -inf],\n   [1.0, inf]]");
    t = view(&f, 3, SHAPE(2, 1, 2), SHAPE(0, 0, 40), 0);
    check_text(s, &t, -1, "[[[1.0, 0.1]], [[1.0, 0.1]]]");
    check_text(s, &t, 0, "[[[1.0, 0.1]],\n [[1.0, 0.1]]]");
    t = view(&f, 0, NULL, NULL, 40);
    check_text(s, &t, -1, "0.1");
    t = view(&f, 2, SHAPE(2, 0), SHAPE(0, 8), 0);
    check_text(s, &t, -1, "[[], []]");
    t = view(&f, 2, SHAPE(0, 3), SHAPE(24, 8), 0);
    check_text(s, &t, -1, "zeros((0, 3), dtype='float64')");
    t = view(&f, 1, SHAPE(0), SHAPE(8), 0);
    check_text(s, &t, -1, "[]");
    tensor_scalar_int(s, DT_UINT64, -1, &i);
    check_text(s, &i, -1, "18446744073709551615");
    tensor_unref(&i);
    tensor_scalar_int(s, DT_INT64, INT64_MIN, &i);
    check_text(s, &i, -1, "-9223372036854775808");
    tensor_unref(&i);
    tensor_scalar(s, DT_BOOL, 2, 0, &i);
    check_text(s, &i, -1, "True");
    tensor_unref(&i);
    tensor_scalar(s, DT_COMPLEX128, 1, -2, &i);
    check_text(s, &i, -1, "(1.0-2.0j)");
    tensor_unref(&i);
    Str b = STR(s);
    shape_text(s, 0, NULL, &b);
    shape_text(s, 1, SHAPE(3), &b);
    shape_text(s, 2, SHAPE(3, 4), &b);
    CHECK_STR(str_text(&b), "()(3,)(3, 4)");
    str_free(&b);
    tensor_unref(&f);
    tensor_unref(&g);
    tensor_unref(&h);
    tensor_unref(&z);
}

static void test_objects(Session *s) {
    const bool has[3] = {true, false, true};
    const int64_t part[3] = {1, 99, -2};
    Value item[2] = {{.kind = TYPE_SLICE}, {.kind = TYPE_TENSOR}}, list, copy;
    SliceObject *slice = slice_new(s, has, part);
    CHECK(slice->part[0] == 1 && slice->part[1] == 0 && slice->part[2] == -2);
    item[0].obj = slice;
    CHECK(tensor_scalar(s, DT_FLOAT64, 1, 0, &item[1].t));
    list = (Value){.kind = TYPE_LIST, .obj = list_new_take(s, 2, item)};
    value_copy_view(&copy, &list);
    value_unref(&list);
    CHECK(buffer_bytes_used(s) == 8 && list.obj == NULL);
    CHECK(tensor_f64(&((ListObject *)copy.obj)->item[1].t, 0) == 1);
    value_unref(&copy);
    CHECK(buffer_bytes_used(s) == 0);
}

static const Type *type(Session *s, const char *text) {
    return type_parse(s, text, strlen(text), NOWHERE);
}

/* The list [x, x] of float32 scalars. */
static Value pair(Session *s, double x) {
    Value item[2] = {{.kind = TYPE_TENSOR}, {.kind = TYPE_TENSOR}};
    CHECK(tensor_scalar(s, DT_FLOAT32, x, 0, &item[0].t));
    tensor_copy_view(&item[1].t, &item[0].t);
    return (Value){.kind = TYPE_LIST, .obj = list_new_take(s, 2, item)};
}

static void test_contract(Session *s) {
    const Filter how = FILTER_DEFAULT, strict = {.strict = true, .allow_downcast = -1};
    Value a = pair(s, 1), b = pair(s, 1.000009), c = pair(s, 2), out;
    CHECK(value_equal(&a, &a) && !value_equal(&a, &b));
    CHECK(value_approx(s, &a, &b, APPROX_DEFAULT));
    CHECK(!value_approx(s, &a, &c, APPROX_DEFAULT));
    CHECK(value_bytes(&a) == 8 && value_may_share_memory(&a, &a));
    CHECK(!value_may_share_memory(&a, &c));
    CHECK(value_may_share_memory(&((ListObject *)a.obj)->item[1], &a));
    CHECK(value_filter(s, type(s, "list(float64)"), &a, &(Receiver){how, "x", NOWHERE},
                       &out));
    CHECK(((ListObject *)out.obj)->item[1].t.dtype == DT_FLOAT64);
    value_unref(&out);
    CHECK(!value_filter(s, type(s, "list(float64)"), &a,
                        &(Receiver){strict, "x", NOWHERE}, &out));
    check_error(s, E_DTYPE, "strict");
    CHECK(
        !value_filter(s, type(s, "float32"), &a, &(Receiver){how, "x", NOWHERE}, &out));
    check_error(s, E_TYPE, "expected float32, got a list");
    CHECK(!value_filter(s, type(s, "disconnected"), &a, &(Receiver){how, "x", NOWHERE},
                        &out));
    check_error(s, E_TYPE, "disconnected");
    Value state = {.kind = TYPE_TENSOR}, none = {.kind = TYPE_NONE};
    CHECK(tensor_zeros(s, DT_UINT64, 1, SHAPE(4), &state.t));
    CHECK(value_filter(s, type(s, "random"), &state, &(Receiver){how, "r", NOWHERE},
                       &out));
    CHECK(out.kind == TYPE_RANDOM && value_equal(&out, &out));
    value_unref(&out);
    CHECK(!value_filter(s, type(s, "random"), &state, &(Receiver){strict, "r", NOWHERE},
                        &out));
    check_error(s, E_TYPE, "got a uint64 array of shape (4,)");
    CHECK(
        value_filter(s, type(s, "none"), &none, &(Receiver){how, "n", NOWHERE}, &out));
    CHECK(value_equal(&out, &none));
    value_unref(&state);
    value_unref(&a);
    value_unref(&b);
    value_unref(&c);
}

static Tensor ints(Session *s, int n, const int32_t *v) {
    Tensor t;
    CHECK(tensor_new(s, DT_INT32, 1, SHAPE(n), &t));
    memcpy(t.data, v, (size_t)n * sizeof *v);
    return t;
}

static Value sparse(Session *s, int n, const double *data, const int32_t *indices,
                    const int32_t indptr[3]) {
    Tensor d = floats(s, n, data, DT_FLOAT64), i = ints(s, n, indices),
           p = ints(s, 3, indptr);
    SparseObject *m = sparse_from_parts(&(SparseSource){s, SPARSE_READ, NOWHERE}, false,
                                        SHAPE(2, 4), &d, &i, &p);
    CHECK(m != NULL);
    tensor_unref(&d);
    tensor_unref(&i);
    tensor_unref(&p);
    return (Value){.kind = TYPE_SPARSE, .obj = m};
}

static void test_sparse(Session *s) {
    const double x[] = {1, 2, 3}, y[] = {3, 0, 2.0000005, 1}, z[] = {1, 2, 3.1};
    Value a = sparse(s, 3, x, (const int32_t[]){0, 2, 3}, (const int32_t[]){0, 2, 3}),
          b = sparse(s, 4, (const double[]){y[1], y[2], y[3], y[0]},
                     (const int32_t[]){1, 2, 0, 3}, (const int32_t[]){0, 3, 4}),
          c = sparse(s, 3, z, (const int32_t[]){0, 2, 3}, (const int32_t[]){0, 2, 3}),
          out;
    CHECK(value_equal(&a, &a) && !value_equal(&a, &b));
    CHECK(value_approx(s, &a, &b, APPROX_DEFAULT) &&
          !value_approx(s, &a, &c, APPROX_DEFAULT));
    CHECK(value_bytes(&a) == 3 * 8 + 3 * 4 + 3 * 4 && value_may_share_memory(&a, &a));
    const Filter how = FILTER_DEFAULT;
    CHECK(value_filter(s, type(s, "sparse('csr', float64[?, 4])"), &a,
                       &(Receiver){how, "m", NOWHERE}, &out));
    value_unref(&out);
    const Filter strict = {.strict = true, .allow_downcast = -1};
    CHECK(!value_filter(s, type(s, "sparse('csc', float64[?, 4])"), &a,
                        &(Receiver){strict, "m", NOWHERE}, &out));
    check_error(s, E_TYPE, "got sparse('csr', float64[2, 4])");
    value_unref(&a);
    value_unref(&b);
    value_unref(&c);
}

static void test_clauses(Session *s) {
#include "contract.def"
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_memory(s);
    test_huge_pages(s);
    test_limits(s);
    test_layout(s);
    test_iter();
    test_text(s);
    test_objects(s);
    test_clauses(s);
    CHECK(buffer_bytes_used(s) == 0 && diag_count(s) == 0);
    session_free(s);
    return TEST_END("value");
}
