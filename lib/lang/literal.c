/* Weak numbers: the syntax of a number until its dtype is known. An integer is a sign
 * and 64 bits, like Python's within int64 and uint64; a float keeps its text, so that
 * it is rounded once, directly to its dtype. */
#include "lang/compile_impl.h"
#include "lang/lex.h"

#include <math.h>
#include <string.h>

Literal literal_int(int64_t v) {
    return (Literal){
        .kind = K_INT, .negative = v < 0, .u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v};
}

bool literal_of(const Ast *e, Literal *out) {
    *out = (Literal){.kind = K_INT, .u = e->u};
    switch ((int)e->kind) {
    case AST_INT:
        return true;
    case AST_BOOL:
        out->kind = K_BOOL;
        return true;
    case AST_FLOAT:
        *out = (Literal){.kind = K_FLOAT, .re = e->v, .text = e->at};
        return true;
    case AST_IMAG:
        *out = (Literal){.kind = K_COMPLEX, .im = e->v};
        return true;
    default:
        return false;
    }
}

DType literal_dtype_of_kind(DKind k, DType floatX) {
    switch (k) {
    case K_BOOL:
        return DT_BOOL;
    case K_UINT:
    case K_INT:
        return DT_INT64;
    case K_FLOAT:
        return floatX;
    case K_COMPLEX:
        break;
    }
    return floatX == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
}

bool literal_i64(const Literal *l, int64_t *v) {
    if (l->kind != K_INT || l->u > (uint64_t)INT64_MAX + l->negative) return false;
    *v = l->negative ? (int64_t)(0 - l->u) : (int64_t)l->u;
    return true;
}

double literal_f64(const Literal *l) {
    if (l->kind >= K_FLOAT) return l->re;
    return l->negative ? -(double)l->u : (double)l->u;
}

bool literal_unary(Session *s, Infix k, Span at, const Literal *a, Literal *out) {
    *out = *a;
    if (k == IN_INVERT) {
        int64_t v;
        if (a->kind == K_BOOL)
            return fail(
                s, at, E_TYPE,
                "`~` of a bool literal is -1 or -2 in Python: write True or False");
        if (!literal_i64(a, &v))
            return fail(s, at, E_TYPE, "`~` takes an integer that fits in int64");
        *out = literal_int(~v);
        return true;
    }
    if (a->kind == K_BOOL) out->kind = K_INT;
    if (k == IN_POS) return true;
    if (a->kind <= K_INT) {
        if (!a->negative && a->u > (uint64_t)1 << 63)
            return fail(s, at, E_VALUE, "-%llu does not fit in int64",
                        (unsigned long long)a->u);
        out->negative = a->u && !a->negative;
        return true;
    }
    out->negative = !a->negative;
    out->re = -a->re;
    out->im = -a->im;
    return true;
}

/* ---- as an element of a tensor ---- */

static void literal_text(const Literal *l, Str *out) {
    char buf[NUM_MAX];
    if (l->kind <= K_INT) {
        size_t n = num_write_uint(buf, l->u);
        if (l->negative) str_putc(out, '-');
        if (l->kind == K_BOOL)
            str_puts(out, l->u ? "True" : "False");
        else
            str_add(out, buf, n);
        return;
    }
    str_add(out, buf, num_write_float(buf, l->re, FLOAT64));
    if (l->kind == K_FLOAT) return;
    if (!signbit(l->im)) str_putc(out, '+');
    str_add(out, buf, num_write_float(buf, l->im, FLOAT64));
    str_putc(out, 'j');
}

static bool fail_no_fit(Session *s, const Literal *l, DType d, Span at,
                        const char *why) {
    Str b = STR(s);
    Span text = l->text;
    const Source *src = source_get(s, text.source);
    if (src && text.end > text.begin) {
        if (l->negative) str_putc(&b, '-');
        str_add(&b, src->text + text.begin, text.end - text.begin);
    } else {
        literal_text(l, &b);
    }
    fail(s, at, E_VALUE, "%s %s %s", str_text(&b), why, dtype_name(d));
    str_free(&b);
    return false;
}

static void write_int_bits(DType d, bool negative, uint64_t u, void *dst) {
    uint64_t v = negative ? 0 - u : u;
    switch (dtype_size(d)) {
    case 1:
        *(uint8_t *)dst = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)dst = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)dst = (uint32_t)v;
        break;
    default:
        *(uint64_t *)dst = v;
    }
}

static bool store_int_literal(Session *s, const Literal *l, DType d, bool convert,
                              Span at, void *dst) {
    int64_t lo;
    uint64_t hi, u = l->u;
    bool negative = l->negative;
    if (l->kind == K_COMPLEX)
        return fail_no_fit(s, l, d, at, "is complex and does not fit");
    if (l->kind == K_FLOAT) {
        double t = trunc(l->re);
        if (!(fabs(t) < 0x1p64)) return fail_no_fit(s, l, d, at, "is out of range of");
        if (t != l->re && !convert)
            return fail_no_fit(s, l, d, at, "is not an integer, which is required for");
        u = (uint64_t)fabs(t);
        negative = t < 0;
    }
    if (d == DT_BOOL && convert) {
        *(uint8_t *)dst = literal_f64(l) != 0;
        return true;
    }
    dtype_int_range(d, &lo, &hi);
    if (negative ? u > 0 - (uint64_t)lo : u > hi)
        return fail_no_fit(s, l, d, at, "is out of range of");
    write_int_bits(d, negative, u, dst);
    return true;
}

/* The literal's real part rounded to a width; from its text if it has one, unless it
 * was read as float64 already. */
static double round_literal(Session *s, const Literal *l, FloatWidth w) {
    double v;
    if (l->kind <= K_INT) {
        v = w == FLOAT32 ? (double)(float)l->u : (double)l->u;
        v = l->negative ? -v : v;
    } else if (w == FLOAT64) {
        v = l->re;
    } else {
        const Source *src = source_get(s, l->text.source);
        const char *p = src ? src->text + l->text.begin : "";
        if (l->text.end > l->text.begin && (*p == '.' || ascii_is_digit(*p))) {
            v = lex_float(p, l->text.end - l->text.begin, w);
            return l->negative ? -v : v;
        }
        v = l->re;
    }
    if (w == FLOAT32) return (double)(float)v;
    return w == FLOAT16 ? half_to_double(half_from_double(v)) : v;
}

static bool is_exactly_inf(const Literal *l) {
    return l->kind >= K_FLOAT && isinf(l->re) && l->text.end - l->text.begin <= 3;
}

static bool store_float_literal(Session *s, const Literal *l, DType d, Span at,
                                void *dst) {
    if (l->kind == K_COMPLEX)
        return fail_no_fit(s, l, d, at, "is complex and does not fit");
    FloatWidth w = dtype_float_width(d);
    double v = round_literal(s, l, w);
    if (isinf(v) && !is_exactly_inf(l))
        return fail_no_fit(s, l, d, at, "is out of range of");
    if (w == FLOAT64) *(double *)dst = v;
    if (w == FLOAT32) *(float *)dst = (float)v;
    if (w == FLOAT16) *(uint16_t *)dst = half_from_double(v);
    return true;
}

static bool store_complex_literal(Session *s, const Literal *l, DType d, Span at,
                                  void *dst) {
    bool wide = d == DT_COMPLEX128;
    double im = l->kind == K_COMPLEX ? l->im : 0;
    Literal re = *l;
    if (l->kind == K_COMPLEX) re.kind = K_FLOAT;
    char *p = dst;
    if (!store_float_literal(s, &re, wide ? DT_FLOAT64 : DT_FLOAT32, at, dst))
        return false;
    if (!wide && isinf((float)im) && !isinf(im))
        return fail_no_fit(s, l, d, at, "is out of range of");
    float narrow = (float)im;
    if (wide)
        memcpy(p + sizeof(double), &im, sizeof im);
    else
        memcpy(p + sizeof(float), &narrow, sizeof narrow);
    return true;
}

bool literal_store(Session *s, const Literal *l, DType d, bool convert, Span at,
                   void *dst) {
    switch (dtype_kind(d)) {
    case K_BOOL:
    case K_UINT:
    case K_INT:
        return store_int_literal(s, l, d, convert, at, dst);
    case K_FLOAT:
        return store_float_literal(s, l, d, at, dst);
    case K_COMPLEX:
        break;
    }
    return store_complex_literal(s, l, d, at, dst);
}
