/* Draws that take as many random words as they need, each from words of its own. */
#include "ops/random/words.h"

#include "base/num.h"

#include <math.h>
#include <string.h>

void words_take_block(Words *w) {
    w->left = 2;
    if (w->blocks > 0) {
        w->blocks--;
        w->word += w->stride;
        return;
    }
    rng_block(w->rng, w->next++, w->one);
    w->word = w->one;
}

void words_take_pair(Words *w) {
    uint64_t word[2];
    word[0] = words_next(w);
    word[1] = words_next(w);
    rng_normal_pairs(1, word, w->pair);
    w->normal = w->pair;
    w->normals = 2;
}

/* Counts too large for the dtype become its maximum. */
static double greatest_count(DType d) {
    int64_t least;
    uint64_t most;
    if (!dtype_is_integer(d)) return (double)INFINITY;
    dtype_int_range(d, &least, &most);
    return dtype_size(d) == 8 ? nextafter((double)most, 0) : (double)most;
}

/* What the parameters of elements from `from` of the part on make. All of a draw have
 * the same, or each its own. */
static void make_ahead(Ahead *q, const Draw *w, const DrawPart *part, size_t from,
                       const WordsWay *way) {
    double p[DRAW_PARAMS];
    size_t words = 0, m;
    if (q->shared && from > 0) return;
    for (size_t i = 0; i < (q->shared ? 1 : q->n); i++) {
        for (size_t k = 0; k < w->nparam; k++)
            p[k] = ((const double *)part->p[k])[from + i];
        m = way->make(p, q->made + i);
        if (m > words) words = m;
    }
    if (q->shared && way->share) way->share(q->made);
    for (size_t k = 0; q->shared && k < COLUMNS * ELEMENTS; k += ELEMENTS)
        for (size_t i = 1; i < q->n; i++)
            q->made[k + i] = q->made[k];
    q->blocks = words < 2 * AHEAD ? (words + 1) / 2 : AHEAD;
}

static void draw_ahead(Ahead *q, const Rng *rng, uint64_t from, bool normals) {
    uint64_t number[ELEMENTS * AHEAD];
    if (normals) {
        for (size_t i = 0; i < q->n; i++)
            number[i] = (from + i) << 16;
        rng_blocks(rng, q->n, number, q->word);
        rng_normal_pairs(q->n, q->word, q->normal);
    }
    for (size_t b = 0; b < q->blocks; b++)
        for (size_t i = 0; i < q->n; i++)
            number[b * q->n + i] = ((from + i) << 16) + b + normals;
    rng_blocks(rng, q->n * q->blocks, number, q->word);
}

/* The words of element i. */
static void words_ahead(Words *words, const Ahead *q, size_t i) {
    words->word = q->word + 2 * i;
    words->left = q->blocks ? 2 : 0;
    words->blocks = q->blocks ? q->blocks - 1 : 0;
    words->stride = 2 * q->n - 2;
    words->normal = q->normal + 2 * i;
}

void words_draw(const Draw *w, const DrawPart *part, const WordsWay *way) {
    const size_t n = part->n;
    double v[DRAW_CHUNK], most = greatest_count(w->dtype);
    Ahead q;
    q.level = w->level;
    q.shared = part->step == 0;
    memset(q.made, 0, sizeof q.made);
    for (size_t at = 0; at < n; at += q.n) {
        uint64_t from = part->from + at;
        q.n = n - at < ELEMENTS ? n - at : ELEMENTS;
        make_ahead(&q, w, part, at, way);
        draw_ahead(&q, &w->rng, from, way->normals);
        if (way->tries) way->tries(&q, v + at);
        for (size_t i = 0; i < q.n; i++) {
            if (way->tries && !isnan(v[at + i])) continue;
            Words words = {.rng = &w->rng, .normals = way->normals ? 2 : 0};
            words.next = ((from + i) << 16) + way->normals + q.blocks;
            words_ahead(&words, &q, i);
            v[at + i] = way->one(&words, q.made + i);
        }
    }
    for (size_t i = 0; i < n; i++)
        v[i] = v[i] > most ? most : v[i];
    tensor_cast_elements(w->dtype, part->out, DT_FLOAT64, v, n,
                         (ptrdiff_t)dtype_size(w->dtype), sizeof(double));
}

static bool fail_unfit(Call *c, size_t n, const double *a, const char *what) {
    Str values = STR(c->s);
    for (size_t k = 0; k < n; k++) {
        char buf[NUM_MAX];
        str_puts(&values, k == 0 ? "" : k + 1 < n ? ", " : " and ");
        str_add(&values, buf, num_write_float(buf, a[k], FLOAT64));
    }
    call_fail(c, E_ARITHMETIC, "%s; the parameter%s %s", what, n == 1 ? " is" : "s are",
              str_text(&values));
    str_free(&values);
    return false;
}

bool words_check(Call *c, const Draw *w, FitFn *ok, const char *what) {
    double a[DRAW_PARAMS];
    for (int64_t i = 0, n = draw_nparams(w); i < n; i++) {
        for (size_t k = 0; k < w->nparam; k++)
            a[k] = ((const double *)w->p[k].data)[i];
        if (!ok(a)) return fail_unfit(c, w->nparam, a, what);
    }
    return true;
}
