/* Comparison overrides, read and written. */
#include "lang/approx.h"

#include <string.h>

typedef struct HowText {
    Session *s;
    Span at;
    const char *p;
    size_t n, i;
} HowText;

static bool bad(const HowText *r, size_t from, const char *what) {
    size_t to = from < r->n ? from + 1 : r->n;
    Span at = {r->at.source, r->at.begin + (uint32_t)from, r->at.begin + (uint32_t)to};
    fail(r->s, at, E_SYNTAX, "%s in a comparison", what);
    return note(r->s, NOWHERE,
                "write for example rtol=1e-3, atol=0, sloppy=1, remove_inf=True, "
                "remove_nan=True");
}

static void blanks(HowText *r) {
    while (r->i < r->n && strchr(" \t\n", r->p[r->i]))
        r->i++;
}

static bool eat(HowText *r, char c) {
    blanks(r);
    if (r->i == r->n || r->p[r->i] != c) return false;
    r->i++;
    return true;
}

static bool word(HowText *r, const char *text) {
    size_t n = strlen(text);
    blanks(r);
    if (r->n - r->i < n || memcmp(r->p + r->i, text, n) != 0) return false;
    r->i += n;
    return true;
}

static bool number(HowText *r, double *v) {
    blanks(r);
    size_t from = r->i, n = num_read_float(r->p + from, r->n - from, FLOAT64, v);
    r->i += n;
    return (n > 0 && *v >= 0) || bad(r, from, "a number that is not negative is due");
}

static bool truth(HowText *r, bool *v) {
    *v = word(r, "True");
    return *v || word(r, "False") || bad(r, r->i, "True or False is due");
}

static bool keyword(HowText *r, Approx *out) {
    double v;
    size_t from = r->i;
    if (word(r, "rtol"))
        return eat(r, '=') ? number(r, &out->rtol) : bad(r, r->i, "no =");
    if (word(r, "atol"))
        return eat(r, '=') ? number(r, &out->atol) : bad(r, r->i, "no =");
    if (word(r, "remove_inf"))
        return eat(r, '=') ? truth(r, &out->allow_remove_inf) : bad(r, r->i, "no =");
    if (word(r, "remove_nan"))
        return eat(r, '=') ? truth(r, &out->allow_remove_nan) : bad(r, r->i, "no =");
    if (!word(r, "sloppy")) return bad(r, from, "an unknown keyword");
    if (!eat(r, '=')) return bad(r, r->i, "no =");
    if (!number(r, &v)) return false;
    out->sloppy = v == 1 ? 1 : 2;
    if (v == 0) out->sloppy = 0;
    return v == out->sloppy || bad(r, from, "sloppy is 0, 1 or 2");
}

bool approx_read(Session *s, Span text, Approx *out) {
    const Source *src = source_get(s, text.source);
    HowText r = {s, text, src->text + text.begin, text.end - text.begin, 0};
    *out = APPROX_DEFAULT;
    do {
        blanks(&r);
        if (r.i == r.n) break;
        if (!keyword(&r, out)) return false;
    } while (eat(&r, ','));
    blanks(&r);
    return r.i == r.n || bad(&r, r.i, "an unexpected character");
}

static void comma(Str *out, size_t from) {
    if (out->n > from) str_puts(out, ", ");
}

static void tolerance(Str *out, size_t from, const char *name, double v) {
    char buf[NUM_MAX];
    if (v < 0) return;
    comma(out, from);
    str_printf(out, "%s=", name);
    str_add(out, buf, num_write_float(buf, v, FLOAT64));
}

void approx_write(const Approx *how, Str *out) {
    size_t from = out->n;
    tolerance(out, from, "rtol", how->rtol);
    tolerance(out, from, "atol", how->atol);
    if (how->sloppy) {
        comma(out, from);
        str_printf(out, "sloppy=%d", how->sloppy);
    }
    if (how->allow_remove_inf) {
        comma(out, from);
        str_puts(out, "remove_inf=True");
    }
    if (how->allow_remove_nan) {
        comma(out, from);
        str_puts(out, "remove_nan=True");
    }
}
