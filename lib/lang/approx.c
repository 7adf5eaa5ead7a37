/* Reads and writes comparison overrides. */
#include "lang/approx.h"

#include <string.h>

typedef struct ApproxReader {
    Session *s;
    Span at;
    const char *p;
    size_t n, i;
} ApproxReader;

static bool fail_approx_text(const ApproxReader *r, size_t from, const char *what) {
    size_t to = from < r->n ? from + 1 : r->n;
    Span at = {r->at.source, r->at.begin + (uint32_t)from, r->at.begin + (uint32_t)to};
    fail(r->s, at, E_SYNTAX, "%s in a comparison", what);
    return note(r->s, NOWHERE,
                "write for example rtol=1e-3, atol=0, sloppy=1, remove_inf=True, "
                "remove_nan=True");
}

static void skip_approx_blanks(ApproxReader *r) {
    while (r->i < r->n && strchr(" \t\n", r->p[r->i]))
        r->i++;
}

static bool eat_approx_char(ApproxReader *r, char c) {
    skip_approx_blanks(r);
    if (r->i == r->n || r->p[r->i] != c) return false;
    r->i++;
    return true;
}

static bool eat_approx_word(ApproxReader *r, const char *text) {
    size_t n = strlen(text);
    skip_approx_blanks(r);
    if (r->n - r->i < n || memcmp(r->p + r->i, text, n) != 0) return false;
    r->i += n;
    return true;
}

static bool read_tolerance(ApproxReader *r, double *v) {
    skip_approx_blanks(r);
    size_t from = r->i, n = num_read_float(r->p + from, r->n - from, FLOAT64, v);
    r->i += n;
    return (n > 0 && *v >= 0) ||
           fail_approx_text(r, from, "expected a number that is not negative");
}

static bool read_truth(ApproxReader *r, bool *v) {
    *v = eat_approx_word(r, "True");
    return *v || eat_approx_word(r, "False") ||
           fail_approx_text(r, r->i, "expected True or False");
}

static bool read_approx_keyword(ApproxReader *r, Approx *out) {
    double v;
    size_t from = r->i;
    if (eat_approx_word(r, "rtol"))
        return eat_approx_char(r, '=') ? read_tolerance(r, &out->rtol)
                                       : fail_approx_text(r, r->i, "no =");
    if (eat_approx_word(r, "atol"))
        return eat_approx_char(r, '=') ? read_tolerance(r, &out->atol)
                                       : fail_approx_text(r, r->i, "no =");
    if (eat_approx_word(r, "remove_inf"))
        return eat_approx_char(r, '=') ? read_truth(r, &out->allow_remove_inf)
                                       : fail_approx_text(r, r->i, "no =");
    if (eat_approx_word(r, "remove_nan"))
        return eat_approx_char(r, '=') ? read_truth(r, &out->allow_remove_nan)
                                       : fail_approx_text(r, r->i, "no =");
    if (!eat_approx_word(r, "sloppy"))
        return fail_approx_text(r, from, "an unknown keyword");
    if (!eat_approx_char(r, '=')) return fail_approx_text(r, r->i, "no =");
    if (!read_tolerance(r, &v)) return false;
    out->sloppy = v == 1 ? 1 : 2;
    if (v == 0) out->sloppy = 0;
    return v == out->sloppy || fail_approx_text(r, from, "sloppy must be 0, 1 or 2");
}

bool approx_read(Session *s, Span text, Approx *out) {
    const Source *src = source_get(s, text.source);
    ApproxReader r = {s, text, src->text + text.begin, text.end - text.begin, 0};
    *out = APPROX_DEFAULT;
    do {
        skip_approx_blanks(&r);
        if (r.i == r.n) break;
        if (!read_approx_keyword(&r, out)) return false;
    } while (eat_approx_char(&r, ','));
    skip_approx_blanks(&r);
    return r.i == r.n || fail_approx_text(&r, r.i, "an unexpected character");
}

static void add_comma(Str *out, size_t from) {
    if (out->n > from) str_puts(out, ", ");
}

static void write_tolerance(Str *out, size_t from, const char *name, double v) {
    char buf[NUM_MAX];
    if (v < 0) return;
    add_comma(out, from);
    str_printf(out, "%s=", name);
    str_add(out, buf, num_write_float(buf, v, FLOAT64));
}

void approx_write(const Approx *how, Str *out) {
    size_t from = out->n;
    write_tolerance(out, from, "rtol", how->rtol);
    write_tolerance(out, from, "atol", how->atol);
    if (how->sloppy) {
        add_comma(out, from);
        str_printf(out, "sloppy=%d", how->sloppy);
    }
    if (how->allow_remove_inf) {
        add_comma(out, from);
        str_puts(out, "remove_inf=True");
    }
    if (how->allow_remove_nan) {
        add_comma(out, from);
        str_puts(out, "remove_nan=True");
    }
}
