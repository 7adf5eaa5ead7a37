#include "value/pattern.h"

#include "base/mem.h"

enum {
    ELEMENTS_MIN = 64,   /* that a list should have */
    ELEMENTS_LONG = 256, /* the same where it is used REPEATS_MANY times */
    REPEATS_MANY = 16,
    ELEMENTS_MOST = 1024, /* and may have */
    FAR_MIN = 2048,       /* elements to read for which two vectors for one pay */
    WORD = 4
};

/* ---- vectors ---- */

/* Elements of a vector of the CPU level; 0: they can't be permuted. */
static uint32_t lanes_of(Session *s, uint32_t size) {
    int level = session_cpu_level(s);
    return level == 0 || size < WORD ? 0 : (level == 2 ? 64 : 32) / size;
}

/* Of one vector or two; *far: some are not within the first one. */
static bool find_vector(Pattern *q, uint32_t v, uint32_t vectors, bool *far) {
    const struct PatternVectors *x = &q->vectors;
    const int32_t *offset = q->offset + (size_t)v * x->lanes;
    uint32_t words = q->size / WORD, *pick = x->pick + (size_t)v * x->lanes * words;
    int64_t begin = offset[0];
    for (uint32_t i = 1; i < x->lanes; i++)
        if (offset[i] < begin) begin = offset[i];
    for (uint32_t i = 0; i < x->lanes; i++) {
        int64_t from = offset[i] - begin;
        if (from % WORD || from / WORD + words > vectors * x->lanes * words)
            return false;
        for (uint32_t w = 0; w < words; w++) {
            uint32_t word = (uint32_t)(from / WORD) + w;
            bool second = word >= x->lanes * words;
            *pick++ = second ? word | PATTERN_SECOND : word;
            *far |= second;
        }
    }
    x->begin[v] = (int32_t)begin;
    return true;
}

static void find_vectors(Session *s, Pattern *q, uint32_t lanes, uint32_t vectors) {
    struct PatternVectors *x = &q->vectors;
    uint32_t n = q->n / lanes;
    bool all = true, far = false;
    x->lanes = lanes;
    x->begin = mem_alloc(s, n * sizeof *x->begin);
    x->pick = mem_alloc(s, (size_t)q->n * q->size / WORD * sizeof *x->pick);
    for (uint32_t v = 0; v < n && all; v++)
        all = find_vector(q, v, vectors, &far);
#ifdef __x86_64__
    if (all)
        x->loop = session_cpu_level(s) == 2 ? far ? pattern_far_2 : pattern_loop_2
                  : far                     ? pattern_far_1
                                            : pattern_loop_1;
#endif
    if (!x->loop) x->lanes = 0;
}

/* ---- lists ---- */

/* Rows of `all` for a list that is long enough, and of whole vectors; *lanes = 0: that
 * would be too long. */
static int64_t rows_of_list(int64_t all, int64_t n, uint32_t *lanes) {
    bool many = all >= REPEATS_MANY * ELEMENTS_LONG / n;
    int64_t rows = ((many ? ELEMENTS_LONG : ELEMENTS_MIN) + n - 1) / n, whole = rows;
    while (*lanes && whole * n % *lanes)
        whole++;
    if (*lanes && whole * n > ELEMENTS_MOST) *lanes = 0;
    return *lanes ? whole : rows;
}

bool pattern_of_rows(Session *s, Pattern *q, int64_t rows, int64_t step, int64_t n,
                     const int64_t *offset, uint32_t size) {
    int64_t most = 0, end = 0, reach, last;
    *q = (Pattern){.size = size};
    if (n < 1 || n > ELEMENTS_MOST || rows < 1) return false;
    uint32_t lanes = rows * n < ELEMENTS_MIN ? 0 : lanes_of(s, size);
    int64_t listed = rows_of_list(rows, n, &lanes);
    for (int64_t k = 0; k < n; k++) {
        if (offset[k] > end) end = offset[k];
        if (offset[k] > most || offset[k] < -most)
            most = offset[k] < 0 ? -offset[k] : offset[k];
    }
    if (!i64_mul(step, listed, &reach) || reach > INT32_MAX / 2 ||
        reach < -INT32_MAX / 2 || most > INT32_MAX / 2 ||
        !i64_mul(step, rows - 1, &last))
        return false;
    q->n = (uint32_t)(listed * n);
    q->step = reach;
    q->end = end + size + (last > 0 ? last : 0);
    q->offset = mem_alloc(s, q->n * sizeof *q->offset);
    for (int64_t k = 0; k < q->n; k++)
        q->offset[k] = (int32_t)(offset[k % n] + k / n * step);
    if (lanes) find_vectors(s, q, lanes, rows * n < FAR_MIN ? 1 : 2);
    return true;
}

bool pattern_of_dims(Session *s, Pattern *q, int ndim, const int64_t *extent,
                     const int64_t *stride, uint32_t size) {
    int64_t offset[ELEMENTS_MOST], across, rows = 1, n = 1;
    int first = 1;
    if (ndim < 2) return false;
    while (first < ndim - 1 && i64_mul(stride[first], extent[first], &across) &&
           stride[first - 1] == across)
        first++;
    for (int d = 0; d < ndim; d++)
        if (!i64_mul(d < first ? rows : n, extent[d], d < first ? &rows : &n) ||
            n > ELEMENTS_MOST)
            return false;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        offset[k] = 0;
        for (int d = ndim; d-- > first; at /= extent[d])
            offset[k] += at % extent[d] * stride[d];
    }
    return pattern_of_rows(s, q, rows, stride[first - 1], n, offset, size);
}

void pattern_free(Pattern *q) {
    mem_free(q->offset);
    mem_free(q->vectors.begin);
    mem_free(q->vectors.pick);
    *q = (Pattern){0};
}

/* ---- reading ---- */
#define READ(T)                                                                        \
    {                                                                                  \
        T *to = (T *)(void *)dst;                                                      \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] = *(const T *)(const void *)(src + offset[i]);                       \
        break;                                                                         \
    }
typedef struct Element16 {
    uint64_t w[2];
} Element16;
static void read_elements(char *dst, const char *src, const int32_t *offset,
                          uint32_t size, size_t n) {
    switch (size) {
    case 1:
        READ(uint8_t)
    case 2:
        READ(uint16_t)
    case 4:
        READ(uint32_t)
    case 8:
        READ(uint64_t)
    default:
        READ(Element16)
    }
}

/* Elements `from` to `from + n` of the list, n not beyond its end. */
static void read_run(const Pattern *q, char *dst, const char *src, const char *end,
                     size_t from, size_t n) {
    const struct PatternVectors *x = &q->vectors;
    size_t done = 0;
    if (x->loop && from % x->lanes == 0)
        done = x->lanes * x->loop(dst, src, end, x->begin + from / x->lanes,
                                  x->pick + from * (q->size / WORD), n / x->lanes);
    if (done < n)
        read_elements(dst + done * q->size, src, q->offset + from + done, q->size,
                      n - done);
}

void pattern_read(const Pattern *q, void *dst, const void *base, int64_t at, size_t n) {
    size_t from = (size_t)(at % q->n), lanes = q->vectors.lanes, run;
    const char *src = (const char *)base + at / q->n * q->step,
               *end = (const char *)base + q->end;
    for (char *to = dst; n; n -= run, to += run * q->size, from += run) {
        if (from == q->n) from = 0, src += q->step;
        run = lanes && from % lanes ? lanes - from % lanes : q->n - from;
        if (run > n) run = n;
        read_run(q, to, src, end, from, run);
    }
}
