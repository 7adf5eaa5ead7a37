/* sort, argsort, topk, argpartition and partition at every CPU level, beside sorting by
 * value with the C library: lengths around those at which the way changes, one line and
 * several, and contents that are hard for some way; unique and searchsorted, too, of
 * lines that threads share. */
#include "harness.h"
#include "ops/sort/keys.h"

#include <math.h>

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static int64_t below(int64_t n) {
    return (int64_t)(draw() % (uint64_t)n);
}

/* ---- contents ---- */
typedef enum Content {
    ANY,     /* of any size and sign */
    EQUAL,   /* all of them */
    FEW,     /* distinct ones */
    CLOSE,   /* differ in the last bits alone, except one */
    SPECIAL, /* nan, infinities, zeros of both signs */
    SORTED,
    CONTENTS
} Content;

static double special(void) {
    static const double v[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, -0.0, 0.0, 1, -1};
    return v[below(sizeof v / sizeof *v)];
}

/* A number with the least step that d has near 1. */
static double close_number(DType d, int64_t i) {
    double step = d == DT_FLOAT64   ? 0x1p-52
                  : d == DT_FLOAT32 ? 0x1p-23
                  : d == DT_FLOAT16 ? 0x1p-10
                                    : 1;
    return i == 0 ? -100 : 1 + (double)below(60) * step;
}

static double number(DType d, Content what, int64_t i) {
    double any = ldexp((double)below(1 << 20) - (1 << 19), (int)below(40) - 30);
    double v = what == EQUAL     ? 3
               : what == FEW     ? (double)below(3)
               : what == CLOSE   ? close_number(d, i)
               : what == SORTED  ? (double)i / 7
               : what == SPECIAL ? special()
                                 : any;
    if (dtype_is_float(d)) return v;
    if (!(fabs(v) < 100)) return (double)below(100);
    return d == DT_BOOL ? v > 1 : dtype_kind(d) == K_UINT ? fabs(v) : v;
}

/* Whole numbers beyond those that float64 holds. */
static void put_bits(const Tensor *t) {
    for (int64_t i = 0; i < tensor_size(t); i++)
        ((uint64_t *)t->data)[i] = draw() >> below(64);
}

static Tensor lines(Lab *l, DType d, int64_t n, int64_t m, Content what, int layout) {
    Tensor t = lab_tensor(l, d, 2, (int64_t[]){m, n}, layout);
    for (int64_t i = 0; i < n * m; i++)
        lab_put(&t, i, number(d, what, i % n));
    if (layout == 0 && what == ANY && (d == DT_INT64 || d == DT_UINT64)) put_bits(&t);
    return t;
}

/* ---- what is right ---- */
static const char *element(const Tensor *t, int64_t line, int64_t i) {
    return (const char *)t->data + line * t->stride[0] + i * t->stride[1];
}

static bool is_same(const Tensor *r, int64_t line, int64_t i, const char *want) {
    return memcmp(element(r, line, i), want, dtype_size(r->dtype)) == 0;
}

static int64_t position(const Tensor *r, int64_t line, int64_t i) {
    int64_t at;
    memcpy(&at, element(r, line, i), sizeof at);
    return at;
}

static void rank_line(const Tensor *x, int64_t line, bool descending, SortRanked *v) {
    for (int64_t i = 0; i < x->shape[1]; i++)
        v[i] = (SortRanked){x->dtype, descending, element(x, line, i), i};
    sort_ranked(v, x->shape[1]);
}

typedef struct Case {
    Lab *l;
    Tensor x;
    SortRanked *v; /* of a line */
    const char *text;
} Case;

static const Tensor *run(const Case *c, Var in, const char *op, size_t nprop,
                         const PropArg *prop, int64_t k) {
    Var args[2] = {in, const_int(&c->l->b, k)};
    const Tensor *r =
        lab_run(c->l, lab_apply(c->l, op, k < 0 ? 1 : 2, args, nprop, prop));
    CHECK(r != NULL, "%s: %s", op, c->text);
    return r;
}

static void check_sorts(const Case *c, Var in, bool descending) {
    PropArg prop = {"descending", PROP_BOOL(descending)};
    Tensor sorted = *run(c, in, "sort", 1, &prop, -1);
    const Tensor *order = run(c, in, "argsort", 1, &prop, -1);
    int64_t bad = 0;
    for (int64_t line = 0; line < c->x.shape[0]; line++) {
        rank_line(&c->x, line, descending, c->v);
        for (int64_t i = 0; i < c->x.shape[1]; i++)
            bad += !is_same(&sorted, line, i, c->v[i].p) ||
                   position(order, line, i) != c->v[i].at;
    }
    CHECK(bad == 0, "%lld elements, descending %d: %s", (long long)bad, descending,
          c->text);
}

/* Before number k, and after it, positions ascend. */
static void check_parts(const Case *c, Var in, int64_t k) {
    Tensor order = *run(c, in, "argpartition", 0, NULL, k);
    Tensor values = *run(c, in, "partition", 0, NULL, k);
    int64_t n = c->x.shape[1], bad = 0;
    int64_t *rank = malloc((size_t)n * sizeof *rank);
    for (int64_t line = 0; line < c->x.shape[0]; line++) {
        rank_line(&c->x, line, false, c->v);
        for (int64_t i = 0; i < n; i++)
            rank[c->v[i].at] = i;
        for (int64_t i = 0, last = -1; i < n; i++) {
            int64_t at = position(&order, line, i);
            bool right = at >= 0 && at < n &&
                         (rank[at] > k) - (rank[at] < k) == (i > k) - (i < k);
            bad += !right || (i != k && at <= last) ||
                   !is_same(&values, line, i, element(&c->x, line, at));
            last = i == k ? -1 : at;
        }
    }
    free(rank);
    CHECK(bad == 0, "%lld elements, k %lld: %s", (long long)bad, (long long)k, c->text);
}

static void check_most(const Case *c, Var in, int64_t k, bool largest) {
    PropArg prop = {"largest", PROP_BOOL(largest)};
    const Tensor *values = run(c, in, "topk", 1, &prop, k);
    int64_t bad = 0;
    for (int64_t line = 0; line < c->x.shape[0]; line++) {
        rank_line(&c->x, line, largest, c->v);
        for (int64_t i = 0; i < k; i++)
            bad += !is_same(values, line, i, c->v[i].p);
    }
    CHECK(bad == 0, "%lld elements, the first %lld: %s", (long long)bad, (long long)k,
          c->text);
}

static void check(Lab *l, DType d, int64_t n, int64_t m, Content what, int layout) {
    char text[100];
    lab_reset(l);
    Case c = {l, lines(l, d, n, m, what, layout),
              malloc((size_t)n * sizeof(SortRanked)), text};
    Var in = lab_input(l, c.x, true);
    snprintf(text, sizeof text, "level %d, %s[%lld, %lld], content %d, layout %d",
             session_cpu_level(l->s), dtype_name(d), (long long)m, (long long)n,
             (int)what, layout);
    check_sorts(&c, in, false);
    check_sorts(&c, in, true);
    check_parts(&c, in, below(n));
    check_parts(&c, in, 0);
    check_parts(&c, in, n - 1);
    check_most(&c, in, below(n) + 1, true);
    check_most(&c, in, 1 + below(n < 40 ? n : 40), false);
    free(c.v);
}

/* ---- long lines, which threads share ---- */
static void check_shared(Lab *l, DType d, int64_t n, int64_t m, Content what,
                         int layout) {
    char text[100];
    lab_reset(l);
    Case c = {l, lines(l, d, n, m, what, layout),
              malloc((size_t)n * sizeof(SortRanked)), text};
    Var in = lab_input(l, c.x, true);
    snprintf(text, sizeof text, "%u threads, %s[%lld, %lld], content %d, layout %d",
             session_options(l->s)->threads, dtype_name(d), (long long)m, (long long)n,
             (int)what, layout);
    check_sorts(&c, in, below(2));
    free(c.v);
}

/* The distinct ones of a line, in order; then each one's place among them. */
static void check_distinct(Lab *l, DType d, int64_t n, Content what) {
    lab_reset(l);
    Tensor x = lines(l, d, n, 1, what, 0), row = x;
    SortRanked *v = malloc((size_t)n * sizeof *v);
    if (!v) exit(1);
    rank_line(&x, 0, false, v);
    row.ndim = 1, row.shape[0] = x.shape[1], row.stride[0] = x.stride[1];
    Var in = lab_input(l, row, true), two[2];
    two[0] = lab_apply(l, "unique", 1, &in, 0, NULL), two[1] = in;
    Var place = lab_apply(l, "searchsorted", 2, two, 0, NULL);
    const Tensor *values = lab_run(l, two[0]), *at = lab_run(l, place);
    if (!values || !at) exit(1);
    const int64_t *found = at->data;
    int64_t count = 0, bad = 0;
    for (int64_t i = 0; i < n; i++) {
        SortRanked both[2] = {v[i], v[i ? i - 1 : 0]};
        both[0].at = both[1].at = 0;
        bool first = i == 0 || sort_compare(&both[0], &both[1]) != 0;
        if (first)
            bad += count >= values->shape[0] ||
                   memcmp((char *)values->data + count * (int64_t)dtype_size(d), v[i].p,
                          dtype_size(d)) != 0;
        count += first;
        bad += found[v[i].at] != count - 1;
    }
    CHECK(bad == 0 && count == values->shape[0],
          "%u threads, unique of %s[%lld], content %d: %lld of %lld are wrong",
          session_options(l->s)->threads, dtype_name(d), (long long)n, (int)what,
          (long long)bad, (long long)count);
    free(v);
}

static void test_shared(void) {
    static const int64_t length[] = {(1 << 15) - 1, 1 << 15, 33001};
    for (unsigned threads = 2; threads <= 3; threads++) {
        Lab l = lab_new(threads);
        for (int d = 0; d < DT_COMPLEX64; d++)
            for (int what = (int)below(2); what < CONTENTS; what += 2) {
                int64_t n = length[below(3)], m = 1 + (below(4) == 0);
                check_shared(&l, (DType)d, n, m, (Content)what, (int)below(3));
                check_distinct(&l, (DType)d, n, (Content)what);
            }
        lab_free(&l);
    }
}

int main(void) {
    static const int64_t length[] = {1,    2,    5,    12,   13,   14,   16,   17,
                                     31,   33,   48,   64,   100,  129,  257,  1000,
                                     1023, 1024, 1025, 2048, 2049, 4096, 4097, 9000};
    enum { LENGTHS = sizeof length / sizeof *length };
    Lab l = lab_new(1);
    for (int level = 0; level <= 2; level++) {
        session_options(l.s)->cpu_level = level;
        for (int d = 0; d < DT_COMPLEX64; d++)
            for (int what = 0; what < CONTENTS; what++)
                for (int i = 0; i < LENGTHS; i++) {
                    int64_t n = length[i],
                            m = n > 1100 || below(3) == 0 ? 1 : 1 + below(20);
                    if (n > 300 && below(10)) continue;
                    check(&l, (DType)d, n, m, (Content)what, (int)below(3));
                }
    }
    lab_free(&l);
    test_shared();
    return TEST_END("sort");
}
