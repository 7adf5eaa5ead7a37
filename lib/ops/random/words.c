/* Draws that take as many random words as they need, each from words of its own. */
#include "ops/random/words.h"

#include "base/num.h"

#include <math.h>

double words_unit(Words *w) {
    if (w->left == 0) {
        rng_block(w->rng, w->block++, w->word);
        w->left = 2;
    }
    return ((double)(w->word[2 - w->left--] >> 12) + 0.5) * 0x1p-52;
}

double words_normal(Words *w) {
    if (w->has_spare) return w->has_spare = false, w->spare;
    double u = words_unit(w), v = words_unit(w);
    double r = sqrt(-2 * log(u)), t = 6.283185307179586 * v;
    w->spare = r * sin(t);
    w->has_spare = true;
    return r * cos(t);
}

/* Counts too large for the dtype become its maximum. */
static double greatest_count(DType d) {
    int64_t least;
    uint64_t most;
    if (!dtype_is_integer(d)) return (double)INFINITY;
    dtype_int_range(d, &least, &most);
    return dtype_size(d) == 8 ? nextafter((double)most, 0) : (double)most;
}

void words_draw(const Draw *w, const DrawPart *part, OneFn *one) {
    const size_t n = part->n;
    double v[DRAW_CHUNK], a[DRAW_PARAMS], most = greatest_count(w->dtype);
    for (size_t i = 0; i < n; i++) {
        Words words = {.rng = &w->rng, .block = (part->from + i) << 16};
        for (size_t k = 0; k < w->nparam; k++)
            a[k] = ((const double *)part->p[k])[(ptrdiff_t)i * part->step];
        v[i] = one(&words, a);
        if (v[i] > most) v[i] = most;
    }
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
