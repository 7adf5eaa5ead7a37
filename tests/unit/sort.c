/* sort, sorted_at, argsort, topk, argpartition and partition at every CPU level, beside
 * sorting by value with the C library: lengths around those at which the way changes,
 * one line and several, and contents that are hard for some way; unique and
 * searchsorted, too, of lines that threads share; is_member beside comparisons. */
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
    SAMPLED, /* equal where a sample of a line of LONG looks */
    CONTENTS
} Content;
enum { LONG = 20000, SAMPLES = 1024 };

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
    double v = what == EQUAL                                  ? 3
               : what == FEW                                  ? (double)below(3)
               : what == CLOSE                                ? close_number(d, i)
               : what == SORTED                               ? (double)i / 7
               : what == SAMPLED && i % (LONG / SAMPLES) == 0 ? 50
               : what == SPECIAL                              ? special()
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

/* Lines along the first axis, which lie side by side: the result is that of the lines
 * turned. */
static void check_columns(const Case *c, bool descending) {
    PropArg prop[2] = {{"descending", PROP_BOOL(descending)}, {"axis", PROP_INT(0)}};
    int64_t m = c->x.shape[0], n = c->x.shape[1], bad = 0;
    Tensor turned = lab_tensor(c->l, c->x.dtype, 2, (int64_t[]){n, m}, 0);
    for (int64_t line = 0; line < m; line++)
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)turned.data + i * turned.stride[0] + line * turned.stride[1],
                   element(&c->x, line, i), dtype_size(turned.dtype));
    Var in = lab_input(c->l, turned, true);
    int64_t at[2] = {n / 2, -1};
    Var args[2] = {in, const_ints(&c->l->b, 2, at)};
    Tensor sorted = *run(c, in, "sort", 2, prop, -1);
    const Tensor *some =
        descending ? NULL
                   : lab_run(c->l, lab_apply(c->l, "sorted_at", 2, args, 1, &prop[1]));
    CHECK(descending || some, "%s", c->text);
    for (int64_t line = 0; line < m; line++) {
        rank_line(&c->x, line, descending, c->v);
        for (int64_t i = 0; i < n; i++)
            bad += !is_same(&sorted, i, line, c->v[i].p);
        for (int64_t i = 0; i < 2 && some; i++)
            bad += !is_same(some, i, line, c->v[i ? n - 1 : n / 2].p);
    }
    CHECK(bad == 0, "%lld elements of columns, descending %d: %s", (long long)bad,
          descending, c->text);
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

/* Elements of the sorted line, by positions in any order: adjacent ones, the same one
 * twice, ones counted from the end; few, or with `many` more than are worth finding one
 * by one. */
static void check_places(const Case *c, Var in, bool many) {
    enum { MANY = 40 };
    int64_t n = c->x.shape[1], m = many ? MANY : 4, at[MANY], bad = 0, one = below(n);
    for (int64_t i = 0; i < m; i++)
        at[i] = below(n) - (below(2) ? n : 0);
    if (!many) at[0] = one, at[1] = one + (one + 1 < n), at[2] = one;
    Var args[2] = {in, const_ints(&c->l->b, (size_t)m, at)};
    const Tensor *r = lab_run(c->l, lab_apply(c->l, "sorted_at", 2, args, 0, NULL));
    CHECK(r && r->shape[1] == m, "%s", c->text);
    for (int64_t line = 0; line < c->x.shape[0]; line++) {
        rank_line(&c->x, line, false, c->v);
        for (int64_t i = 0; i < m; i++)
            bad += !is_same(r, line, i, c->v[at[i] < 0 ? at[i] + n : at[i]].p);
    }
    CHECK(bad == 0, "%lld of the elements at %lld, %lld, ..: %s", (long long)bad,
          (long long)at[0], (long long)at[1], c->text);
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
    check_columns(&c, false);
    check_columns(&c, true);
    check_parts(&c, in, below(n));
    check_parts(&c, in, 0);
    check_parts(&c, in, n - 1);
    check_places(&c, in, false);
    check_places(&c, in, true);
    check_most(&c, in, below(n) + 1, true);
    check_most(&c, in, 1 + below(n < 40 ? n : 40), false);
    free(c.v);
}

/* ---- long lines, of which a sample is taken ---- */
static void check_long(Lab *l, DType d, Content what, int layout) {
    char text[100];
    lab_reset(l);
    Case c = {l, lines(l, d, LONG, 1, what, layout), malloc(LONG * sizeof(SortRanked)),
              text};
    Var in = lab_input(l, c.x, true);
    snprintf(text, sizeof text, "level %d, %s[%d], content %d, layout %d",
             session_cpu_level(l->s), dtype_name(d), LONG, (int)what, layout);
    for (int i = 0; i < 3; i++)
        check_places(&c, in, false);
    check_parts(&c, in, below(LONG));
    check_parts(&c, in, below(2) ? 0 : LONG - 1);
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
    check_places(&c, in, false);
    check_places(&c, in, false);
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

/* ---- searchsorted ---- */
/* Two lines of m elements, half of them copies, in n sorted ones: how many of these
 * come before each. */
static void check_search(Lab *l, DType d, int64_t n, int64_t m, Content what,
                         bool right, int layout) {
    lab_reset(l);
    Tensor sorted = lab_tensor(l, d, 1, &n, 0), x = lines(l, d, m, 2, what, layout),
           from = lines(l, d, n ? n : 1, 1, what, 0);
    SortRanked *v = malloc((size_t)(n + 1) * sizeof *v);
    if (!v) exit(1);
    rank_line(&from, 0, false, v);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)sorted.data + i * sorted.stride[0], v[i].p, dtype_size(d));
    for (int64_t i = 0; n > 0 && i < m; i++)
        memcpy((char *)x.data + i * x.stride[1], v[below(n)].p, dtype_size(d));
    Var in[2] = {lab_input(l, sorted, true), lab_input(l, x, true)};
    PropArg side = {"side", PROP_STR(sym(l->s, right ? "right" : "left"))};
    const Tensor *r = lab_run(l, lab_apply(l, "searchsorted", 2, in, 1, &side));
    int64_t bad = 0;
    for (int64_t i = 0; r && i < 2 * m; i++) {
        SortRanked one = {d, false, element(&x, i / m, i % m), 0};
        int64_t before = 0;
        for (int64_t k = 0; k < n; k++) {
            v[k].at = 0;
            int order = sort_compare(&v[k], &one);
            before += right ? order <= 0 : order < 0;
        }
        bad += position(r, i / m, i % m) != before;
    }
    CHECK(r && bad == 0, "level %d: %lld of %s[2, %lld] in %lld, content %d, layout %d",
          session_cpu_level(l->s), (long long)bad, dtype_name(d), (long long)m,
          (long long)n, (int)what, layout);
    tensor_unref(&from);
    free(v);
}

/* Few keys are compared with all, more are halved: lengths around where this changes.
 */
static void test_search(Lab *l) {
    static const int64_t length[] = {0,  1,  2,   3,   15,  16,  17,  32,  33, 63,
                                     64, 65, 128, 129, 255, 300, 400, 512, 513};
    for (int d = 0; d < DT_COMPLEX64; d++)
        for (size_t i = 0; i < sizeof length / sizeof *length; i++)
            for (int right = 0; right < 2; right++)
                check_search(l, (DType)d, length[i], 1 + below(300),
                             (Content)below(CONTENTS), right, (int)below(3));
}

/* Which elements of two lines, half of them copies, are among n values? */
static bool is_among(DType d, const char *p, const Tensor *values) {
    for (int64_t i = 0; i < values->shape[1]; i++) {
        SortRanked a = {d, false, p, 0}, b = {d, false, element(values, 0, i), 0};
        double x;
        tensor_cast_elements(DT_FLOAT64, &x, d, p, 1, 0, 0);
        if (x == x && sort_compare(&a, &b) == 0) return true;
    }
    return false;
}

static void check_members(Lab *l, DType d, int64_t n, int64_t m, Content what,
                          int layout) {
    lab_reset(l);
    Tensor values = lines(l, d, n, 1, what, 0), row = values,
           x = lines(l, d, m, 2, (Content)below(CONTENTS), layout);
    for (int64_t i = 0; i < m; i++)
        if (below(2)) lab_put(&x, i, number(d, what, below(n)));
    for (int64_t i = 0; i < m; i += 3)
        memcpy((char *)x.data + i * x.stride[1], element(&values, 0, below(n)),
               dtype_size(d));
    row.ndim = 1, row.shape[0] = n, row.stride[0] = values.stride[1];
    Var in[2] = {lab_input(l, row, true), lab_input(l, x, true)};
    const Tensor *r = lab_run(l, lab_apply(l, "is_member", 2, in, 0, NULL));
    int64_t bad = 0;
    for (int64_t i = 0; r && i < 2 * m; i++)
        bad += *element(r, i / m, i % m) !=
               is_among(d, element(&x, i / m, i % m), &values);
    CHECK(r && bad == 0, "%lld of %s[2, %lld] among %lld, content %d, layout %d",
          (long long)bad, dtype_name(d), (long long)m, (long long)n, (int)what, layout);
}

/* Keys that lie far apart and close together, alike in some of their bits. */
static void test_members(Lab *l) {
    for (int d = 0; d < DT_COMPLEX64; d++)
        for (int what = 0; what < CONTENTS; what++)
            for (int i = 0; i < 4; i++)
                check_members(l, (DType)d, 1 + below(i % 2 ? 300 : 5),
                              1 + below(i < 2 ? 600 : 20), (Content)what, i % 3);
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

/* ---- the quicksort of vectors ---- */
typedef enum Pattern {
    BITS,   /* any finite element */
    RISING, /* in order */
    FALLING,
    PIPE, /* rising, then falling */
    SAME,
    TWO,
    GREATEST, /* many of what the highest key stands for */
    LEVELS,   /* some runs of each of a few values */
    PATTERNS
} Pattern;

/* Any bits but those of nan and of -0: of all sizes, denormal and infinite ones, too.
 */
static uint64_t finite_bits(const SortForm *f) {
    uint64_t mask = f->top | (f->top - 1), b = draw() & mask;
    if (!f->is_float) return b;
    if (below(8) == 0) b &= f->top | 0xff;
    if (below(16) == 0) b = f->inf | (b & f->top);
    if ((b & ~f->top) > f->inf) b &= ~(f->inf & ~(f->inf >> 1));
    return b == f->top ? 0 : b;
}

/* The number k as an element, ascending with k from 0 on. */
static uint64_t whole_bits(DType d, int64_t k) {
    float single = (float)k;
    double twice = (double)k;
    uint64_t b = (uint64_t)k;
    if (d == DT_FLOAT32) memcpy(&b, &single, sizeof single);
    if (d == DT_FLOAT64) memcpy(&b, &twice, sizeof twice);
    return b;
}

static uint64_t pattern_bits(DType d, const SortForm *f, Pattern p, int64_t i,
                             int64_t n) {
    uint64_t greatest = f->is_float ? f->inf : f->is_signed ? f->top - 1 : ~UINT64_C(0);
    return p == BITS       ? finite_bits(f)
           : p == RISING   ? whole_bits(d, i)
           : p == FALLING  ? whole_bits(d, n - i)
           : p == PIPE     ? whole_bits(d, i < n / 2 ? i : n - i)
           : p == SAME     ? whole_bits(d, 5)
           : p == TWO      ? whole_bits(d, below(2))
           : p == GREATEST ? (below(4) ? greatest : finite_bits(f))
                           : whole_bits(d, i / 37 % 5);
}

#define DISORDER(T)                                                                    \
    for (int64_t i = 1; i < n; i++)                                                    \
        bad += descending ? ((const T *)r)[i - 1] < ((const T *)r)[i]                  \
                          : ((const T *)r)[i - 1] > ((const T *)r)[i];
static int64_t disorder(DType d, const void *r, int64_t n, bool descending) {
    int64_t bad = 0;
    if (d == DT_FLOAT32) {
        DISORDER(float)
    } else if (d == DT_FLOAT64) {
        DISORDER(double)
    } else if (d == DT_INT32) {
        DISORDER(int32_t)
    } else if (d == DT_UINT32) {
        DISORDER(uint32_t)
    } else if (d == DT_INT64) {
        DISORDER(int64_t)
    } else {
        DISORDER(uint64_t)
    }
    return bad;
}

/* The same for the same elements in any order. */
static uint64_t contents(size_t item, const void *x, int64_t n) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t b = (sort_key_at(item, x, i) + 1) * UINT64_C(0x9e3779b97f4a7c15);
        sum += (b ^ b >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return sum;
}

/* With what it must not touch around the result and the room. */
static void check_quick(const SortQuick *quick, DType d, int64_t n, Pattern p,
                        int bad) {
    enum { EDGE = 128 };
    bool descending = below(2);
    SortForm f = sort_form(d, descending);
    size_t line = (size_t)n * f.item;
    char *x = malloc(line + 1), *r = malloc(line + 2 * EDGE),
         *room = malloc(2 * line + 2 * EDGE);
    memset(r, 77, line + 2 * EDGE), memset(room, 77, 2 * line + 2 * EDGE);
    for (int64_t i = 0; i < n; i++) {
        uint64_t b = pattern_bits(d, &f, p, i, n);
        memcpy(x + (size_t)i * f.item, &b, f.item);
    }
    bool told = quick->line(&f, x, n, room + EDGE, r + EDGE, bad), kept = true;
    for (int i = 0; i < EDGE; i++)
        kept &= r[i] == 77 && r[EDGE + line + (size_t)i] == 77 && room[i] == 77 &&
                room[EDGE + 2 * line + (size_t)i] == 77;
    CHECK(told && kept && disorder(d, r + EDGE, n, descending) == 0 &&
              contents(f.item, x, n) == contents(f.item, r + EDGE, n),
          "quicksort of %s[%lld], pattern %d, descending %d, %d lopsided: told %d, "
          "kept %d",
          dtype_name(d), (long long)n, (int)p, descending, bad, told, kept);
    if (f.is_float && n > 0) {
        uint64_t b =
            below(2) ? f.top
                     : (f.inf + 1 + (uint64_t)below(1 << 20)) ^ (below(2) ? f.top : 0);
        memcpy(x + (size_t)below(n) * f.item, &b, f.item);
        CHECK(!quick->line(&f, x, n, room + EDGE, r + EDGE, bad),
              "%s[%lld] has an element without a key", dtype_name(d), (long long)n);
    }
    free(x), free(r), free(room);
}

static void test_quick(Session *s) {
    static const DType dtype[] = {DT_FLOAT32, DT_FLOAT64, DT_INT32,
                                  DT_UINT32,  DT_INT64,   DT_UINT64};
    static const int64_t longer[] = {511, 512, 513, 1000, 4095, 4096, 5001, 40000};
    for (size_t k = 0; k < sizeof dtype / sizeof *dtype; k++) {
        const SortQuick *quick = sort_quick(s, dtype[k]);
        for (int p = 0; quick && p < PATTERNS; p++) {
            for (int64_t n = 0; n <= 300; n++)
                check_quick(quick, dtype[k], n, (Pattern)p, (int)below(3));
            for (int i = 0; i < 8; i++)
                check_quick(quick, dtype[k], longer[i], (Pattern)p,
                            below(2) ? 0 : SORT_BAD);
        }
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
        test_quick(l.s);
        test_members(&l);
        test_search(&l);
        for (int64_t n = 1; n <= 200; n++)
            check(&l, (DType)below(DT_COMPLEX64), n, 1 + below(6),
                  (Content)below(CONTENTS), (int)below(3));
        for (int d = 0; d < DT_COMPLEX64; d++)
            for (int what = 0; what < CONTENTS; what++)
                for (int i = 0; i < LENGTHS; i++) {
                    int64_t n = length[i], m = n > 1100 || below(3) == 0
                                                   ? 1
                                                   : 1 + below(n > 20 ? 20 : 90);
                    if (n > 300 && below(10)) continue;
                    check(&l, (DType)d, n, m, (Content)what, (int)below(3));
                }
        for (int d = 0; d < DT_COMPLEX64; d++)
            for (int what = 0; what < CONTENTS; what++)
                check_long(&l, (DType)d, (Content)what, (int)below(3));
    }
    lab_free(&l);
    test_shared();
    return TEST_END("sort");
}
