/* Running sums, products, extremes and recurrences: a line has the same bits alone,
 * beside any others, in every layout and on any number of threads, and those of the
 * definition. */
#include "harness.h"

#include <math.h>

static const char *const ops[] = {"running_sum", "running_prod", "running_max",
                                  "running_min", "recurrence",   "running_logsumexp"};
enum { SUM, PROD, MOST, LEAST, RECURRENCE, EXPONENTS, OPS };
static const DType dtypes[] = {DT_FLOAT16, DT_FLOAT32,   DT_FLOAT64,   DT_INT8,
                               DT_INT32,   DT_INT64,     DT_UINT64,    DT_UINT32,
                               DT_BOOL,    DT_COMPLEX64, DT_COMPLEX128};
static bool takes(size_t op, DType d) {
    if (op == EXPONENTS) return dtype_is_float(d);
    if (op == RECURRENCE) return d != DT_BOOL;
    return op < MOST || !dtype_is_complex(d);
}

static uint64_t state = 88172645463325252U;
static double random_unit(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}
/* Numbers from -1.5 to 1.5, or small whole ones; special ones in between. */
static void fill(const Tensor *t, bool special) {
    static const double rare[] = {HUGE_VAL, -HUGE_VAL, (double)NAN, 0, -0.0, 700, -1e4};
    int64_t at[MAX_NDIM] = {0};
    for (int64_t i = 0; i < tensor_size(t); i++) {
        double v = 3 * random_unit() - 1.5;
        if (dtype_is_discrete(t->dtype)) v = floor(4 * v);
        if (dtype_kind(t->dtype) == K_UINT || t->dtype == DT_BOOL) v = fabs(v);
        if (special && !dtype_is_discrete(t->dtype) && random_unit() < 0.05)
            v = rare[(size_t)(7 * random_unit())];
        char *p = t->data;
        for (int k = 0; k < t->ndim; k++)
            p += at[k] * t->stride[k];
        double _Complex z = __builtin_complex(v, random_unit());
        bool pair = dtype_is_complex(t->dtype);
        tensor_cast_elements(t->dtype, p, pair ? DT_COMPLEX128 : DT_FLOAT64,
                             pair ? (void *)&z : (void *)&v, 1, 0, 0);
        for (int k = t->ndim - 1; k >= 0 && ++at[k] == t->shape[k]; k--)
            at[k] = 0;
    }
}

typedef struct Case {
    size_t op;
    int axis;
    bool reverse, exclusive;
} Case;
static Tensor apply(Lab *l, const Case *c, const Var *in) {
    PropArg arg[3] = {{"axis", PROP_INT(c->axis)},
                      {"reverse", PROP_BOOL(c->reverse)},
                      {"exclusive", PROP_BOOL(c->exclusive)}};
    const Tensor *t = lab_run(l, lab_apply(l, ops[c->op], c->op == RECURRENCE ? 2 : 1,
                                           in, c->op < MOST ? 3 : 2, arg));
    if (!t) abort();
    return *t;
}
static const char *element(const Tensor *t, int axis, int64_t line, int64_t i) {
    const char *p = t->data;
    return t->ndim == 1 ? p + i * t->stride[0]
                        : p + i * t->stride[axis] + line * t->stride[1 - axis];
}
/* Equal bits, all nans taken as one. */
static bool same(DType d, const void *a, const void *b) {
    double x[2], y[2];
    if (memcmp(a, b, dtype_size(d)) == 0) return true;
    if (dtype_is_discrete(d)) return false;
    tensor_cast_elements(DT_COMPLEX128, x, d, a, 1, 0, 0);
    tensor_cast_elements(DT_COMPLEX128, y, d, b, 1, 0, 0);
    for (size_t k = 0; k < 2; k++)
        if (memcmp(&x[k], &y[k], 8) != 0 && !(isnan(x[k]) && isnan(y[k]))) return false;
    return true;
}
/* Line `line` of t as a tensor of its own. */
static Tensor line_of(Lab *l, const Tensor *t, int axis, int64_t line) {
    Tensor r;
    tensor_new(l->s, t->dtype, 1, &t->shape[axis], &r);
    for (int64_t i = 0; i < r.shape[0]; i++)
        memcpy((char *)r.data + i * r.stride[0], element(t, axis, line, i),
               dtype_size(t->dtype));
    return r;
}
static double next_of(const Case *c, double s, double x, double y) {
    return c->op == SUM     ? s + x
           : c->op == PROD  ? s * x
           : c->op == MOST  ? (x > s || x != x ? x : s)
           : c->op == LEAST ? (x < s || x != x ? x : s)
                            : x * s + y;
}
/* By the definition, of float64 and float32; logarithms of sums within a tolerance. */
static void check_line(const Case *c, const Tensor *x, const Tensor *y,
                       const Tensor *r) {
    double s = c->op == PROD ? 1 : 0, most = -HUGE_VAL;
    int64_t n = x->shape[0];
    long double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = c->reverse ? n - 1 - k : k;
        double a = tensor_f64(x, i), b = tensor_f64(y, i), got = tensor_f64(r, i);
        double before = s;
        most = a > most || a != a ? a : most;
        sum += expl((long double)a);
        if (k == 0 && c->op >= MOST)
            s = c->op == RECURRENCE ? b : a;
        else
            s = next_of(c, s, a, b);
        double want = c->exclusive ? before : s;
        if (r->dtype == DT_FLOAT32) want = (double)(float)want;
        if (c->op == EXPONENTS) {
            want = fabs(most) < HUGE_VAL ? (double)logl(sum) : most;
            double off = r->dtype == DT_FLOAT32 ? 1e-6 : 1e-14;
            bool near = fabs(got - want) <= off * fmax(1, fabs(want));
            CHECK(got == want || near || (got != got && want != want),
                  "%s[%lld]: %.17g, not %.17g", ops[c->op], (long long)i, got, want);
        } else {
            CHECK(same(DT_FLOAT64, &got, &want), "%s[%lld]: %.17g, not %.17g",
                  ops[c->op], (long long)i, got, want);
        }
    }
}
/* Every line of a matrix beside the others against the same alone. */
static void check_lines(Lab *l, const Case *c, DType d, const int64_t shape[2],
                        int layout, bool special) {
    lab_reset(l);
    Tensor x = lab_tensor(l, d, 2, shape, layout), y = lab_tensor(l, d, 2, shape, 0);
    fill(&x, special);
    fill(&y, special);
    Var in[2] = {lab_input(l, x, true), lab_input(l, y, true)};
    Tensor all = apply(l, c, in);
    Case one = *c;
    one.axis = 0;
    for (int64_t line = 0; line < shape[1 - c->axis]; line += 1 + line / 8) {
        Tensor a = line_of(l, &x, c->axis, line), b = line_of(l, &y, c->axis, line);
        Var alone[2] = {lab_input(l, a, true), lab_input(l, b, true)};
        Tensor r = apply(l, &one, alone);
        size_t bad = 0;
        for (int64_t i = 0; i < shape[c->axis]; i++)
            bad +=
                !same(all.dtype, element(&all, c->axis, line, i), element(&r, 0, 0, i));
        CHECK(bad == 0, "%s of %s[%lld, %lld] along %d, layout %d: line %lld alone",
              ops[c->op], dtype_name(d), (long long)shape[0], (long long)shape[1],
              c->axis, layout, (long long)line);
        if (d == DT_FLOAT32 || d == DT_FLOAT64) check_line(c, &a, &b, &r);
    }
}
static void lines(Lab *l) {
    static const int64_t shapes[][2] = {{1, 5},  {7, 3},   {20, 1},  {40, 2},
                                        {17, 5}, {300, 9}, {18, 67}, {3, 300}};
    for (size_t op = 0; op < OPS; op++)
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
            for (size_t i = 0; takes(op, dtypes[k]) && i < 8; i++)
                for (int way = 0; way < 12; way++) {
                    Case c = {op, way & 1, way >> 1 & 1, op < MOST && (i & 1)};
                    check_lines(l, &c, dtypes[k], shapes[i], way / 4, i % 3 == 2);
                }
}
/* So many elements that threads share them: fewer columns than 1024, too. */
static void threads(void) {
    static const int64_t shapes[][2] = {{1500, 100}, {700, 520}, {90000, 1}};
    for (size_t op = 0; op < OPS; op++)
        for (size_t i = 0; i < 3; i++)
            for (int axis = 0; axis < 2; axis++) {
                Case c = {.op = op, .axis = axis};
                Tensor r[2];
                Lab lab[2] = {lab_new(1), lab_new(4)};
                for (size_t k = 0; k < 2; k++) {
                    Tensor x = lab_tensor(&lab[k], DT_FLOAT64, 2, shapes[i], 0);
                    state = 88172645463325252U;
                    fill(&x, false);
                    Var v = lab_input(&lab[k], x, true), in[2] = {v, v};
                    r[k] = apply(&lab[k], &c, in);
                }
                CHECK(memcmp(r[0].data, r[1].data, tensor_bytes(&r[0])) == 0,
                      "%s of [%lld, %lld] along %d on threads", ops[op],
                      (long long)shapes[i][0], (long long)shapes[i][1], axis);
                lab_free(&lab[0]);
                lab_free(&lab[1]);
            }
}

int main(void) {
    Lab l = lab_new(1);
    int top = session_cpu_level(l.s);
    for (int level = 0; level <= top; level++) {
        session_options(l.s)->cpu_level = level;
        lines(&l);
    }
    lab_free(&l);
    threads();
    return TEST_END("cumulate");
}
