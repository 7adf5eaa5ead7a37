/* Extremes of rows of every length and where they are, for every dtype and CPU level:
 * numbers of all bits, zeros of both signs, nan, rows with gaps, one row for all. */
#include "harness.h"

#include <math.h>
#include <string.h>

enum { ROWS = 40, MOST = 300 };

static uint64_t state = 88172645463325252u;
static uint64_t any(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Of few values or of all bits. */
static void fill(Tensor *t, bool few) {
    for (int64_t i = 0; i < tensor_size(t); i++) {
        char *p = (char *)t->data + (size_t)i * dtype_size(t->dtype);
        uint64_t bits = any();
        if (t->dtype == DT_BOOL)
            *p = any() % 8 == 0;
        else if (few)
            lab_put(t, i, (double)(any() % 5));
        else if (dtype_is_float(t->dtype))
            lab_put(t, i, any() % 9 ? (double)(bits >> 40) - 0x1p23 : -0.0);
        else
            memcpy(p, &bits, dtype_size(t->dtype));
    }
}

static bool beats(const Tensor *t, int64_t i, int64_t best, bool least) {
    if (dtype_is_float(t->dtype)) {
        double v = tensor_f64(t, i), b = tensor_f64(t, best);
        return !isnan(b) && (isnan(v) || (least ? v < b : v > b));
    }
    int64_t v = tensor_i64(t, i), b = tensor_i64(t, best);
    if (t->dtype == DT_UINT64)
        return least ? (uint64_t)v < (uint64_t)b : (uint64_t)v > (uint64_t)b;
    return least ? v < b : v > b;
}

static void check(Lab *l, int level, DType d, int64_t n, int how) {
    const bool least = how & 1, gap = how & 2, one = how & 4;
    const int64_t shape[2] = {ROWS, n}, wide[2] = {ROWS, n + gap};
    const PropArg at = {"axis", PROP_INT(1)},
                  axis = {"axis", PROP_INTS(&(int64_t){1}, 1)};
    Tensor all;
    lab_reset(l);
    tensor_new(l->s, d, 2, wide, &all);
    fill(&all, how & 8);
    if (dtype_is_float(d) && how & 16)
        for (int k = 0; k < 5; k++)
            lab_put(&all, (int64_t)(any() % (uint64_t)tensor_size(&all)), (double)NAN);
    Tensor t = all;
    memcpy(t.shape, shape, sizeof shape);
    if (one) t.stride[0] = 0;
    Var x = lab_input(l, t, false);
    const Tensor *r =
        lab_run(l, lab_apply(l, least ? "argmin" : "argmax", 1, &x, 1, &at));
    CHECK(r != NULL);
    if (!r) return;
    Tensor where = *r;
    r = lab_run(l, lab_apply(l, least ? "min" : "max", 1, &x, 1, &axis));
    int64_t bad = 0;
    for (int64_t i = 0; r && i < ROWS; i++) {
        int64_t best = i * n;
        for (int64_t j = 1; j < n; j++)
            if (beats(&t, i * n + j, best, least)) best = i * n + j;
        double v = tensor_f64(&t, best), got = tensor_f64(r, i);
        bad += tensor_i64(&where, i) != best - i * n;
        bad += dtype_is_float(d) ? !(v == got || (isnan(v) && isnan(got)))
                                 : tensor_i64(r, i) != tensor_i64(&t, best);
    }
    CHECK(r && bad == 0, "level %d, %s[%d, %lld], how %d: %lld", level, dtype_name(d),
          ROWS, (long long)n, how, (long long)bad);
}

int main(void) {
    for (int level = 0; level < 3; level++) {
        Lab l = lab_new(1);
        session_options(l.s)->cpu_level = level;
        for (int d = 0; d < DT_COMPLEX64; d++)
            for (int64_t n = 1; n < MOST; n += n < 140 ? 1 : 13)
                check(&l, level, (DType)d, n, (int)((any() >> 8) % 32));
        lab_free(&l);
    }
    return TEST_END("ops_extremes");
}
