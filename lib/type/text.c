/* Types as text, in both directions: type_parse reads what type_text writes. */
#include "type/type_impl.h"
#include "type/word.h"

#include <string.h>

/* ---- writing ---- */

void dim_text(Session *s, Dim d, Str *out) {
    if (dim_is_known(d))
        str_printf(out, "%lld", (long long)d);
    else if (dim_is_named(d))
        str_puts(out, sym_text(s, dim_sym(d)));
    else
        str_putc(out, '?');
}

static void tensor_type_text(Session *s, const Type *t, Str *out) {
    str_puts(out, dtype_name(t->dtype));
    for (int i = 0; i < t->ndim; i++) {
        str_puts(out, i ? ", " : "[");
        dim_text(s, t->dim[i], out);
    }
    if (t->ndim) str_putc(out, ']');
}

static void flat_type_text(Session *s, const Type *t, Str *out) {
    switch (t->kind) {
    case TYPE_TENSOR:
        tensor_type_text(s, t, out);
        break;
    case TYPE_SPARSE:
        str_printf(out, "sparse('%s', ", t->why);
        tensor_type_text(s, t, out);
        str_putc(out, ')');
        break;
    case TYPE_NULL:
        str_puts(out, "null(");
        str_quote(out, t->why ? t->why : "");
        str_putc(out, ')');
        break;
    case TYPE_RANDOM:
        str_puts(out, "random");
        break;
    case TYPE_SLICE:
        str_puts(out, "slice");
        break;
    case TYPE_NONE:
        str_puts(out, "none");
        break;
    case TYPE_DISCONNECTED:
        str_puts(out, "disconnected");
        break;
    case TYPE_EMPTY:
        str_puts(out, "empty");
        break;
    case TYPE_PLUGIN:
        str_puts(out, t->why);
        break;
    case TYPE_LIST:
        break;
    }
}

void type_text(Session *s, const Type *t, Str *out) {
    int depth = 0;
    for (; t->kind == TYPE_LIST; t = t->elem, depth++)
        str_puts(out, "list(");
    flat_type_text(s, t, out);
    while (depth-- > 0)
        str_putc(out, ')');
}

const char *type_str(Session *s, const Type *t) {
    Str b = STR(s);
    type_text(s, t, &b);
    const char *text = sym_text(s, sym_n(s, str_text(&b), b.n));
    str_free(&b);
    return text;
}

/* ---- reading ---- */

typedef struct TypeReader {
    Session *s;
    const char *p;
    size_t n, i;
    Span at;
} TypeReader;

/* The span of bytes [from, to) of the text, if `at` covers the text byte for byte. */
static Span type_text_span(const TypeReader *r, size_t from, size_t to) {
    if (r->at.source == 0 || r->at.end - r->at.begin != r->n) return r->at;
    return (Span){r->at.source, r->at.begin + (uint32_t)from,
                  r->at.begin + (uint32_t)to};
}

static char peek_char(const TypeReader *r) {
    return r->i < r->n ? r->p[r->i] : '\0';
}
static void skip_blanks(TypeReader *r) {
    while (r->i < r->n && ascii_is_blank(r->p[r->i]))
        r->i++;
}
static bool take_char(TypeReader *r, char c) {
    skip_blanks(r);
    if (peek_char(r) != c || r->i >= r->n) return false;
    r->i++;
    return true;
}

static bool fail_expected(const TypeReader *r, const char *what) {
    Str got = STR(r->s);
    if (r->i >= r->n)
        str_puts(&got, "the end of the text");
    else {
        str_putc(&got, '\'');
        str_visible(&got, r->p + r->i, 1);
        str_putc(&got, '\'');
    }
    size_t end = r->i < r->n ? r->i + 1 : r->n;
    fail(r->s, type_text_span(r, r->i, end), E_SYNTAX, "expected %s in a type, got %s",
         what, str_text(&got));
    str_free(&got);
    return false;
}

static bool want_char(TypeReader *r, char c, const char *what) {
    return take_char(r, c) || fail_expected(r, what);
}

/* Reads an ASCII identifier; returns its length, 0 if there is none. */
static size_t take_identifier(TypeReader *r, size_t *from) {
    skip_blanks(r);
    *from = r->i;
    if (!ascii_is_letter(peek_char(r))) return 0;
    while (ascii_is_word(peek_char(r)))
        r->i++;
    return r->i - *from;
}

static bool read_dim_name(TypeReader *r, Dim *dim) {
    size_t from, n = take_identifier(r, &from);
    const char *p = r->p + from;
    if (word_is_reserved(p, n)) /* dims share the names of variables */
        return fail(r->s, type_text_span(r, from, r->i), E_SYNTAX,
                    "%.*s can't be a dim: a dim is an integer, a name, or ? where it "
                    "is not known",
                    (int)n, p);
    *dim = DIM_NAMED(sym_n(r->s, p, n));
    return true;
}

static bool read_dim_number(TypeReader *r, Dim *dim) {
    uint64_t v = 0;
    bool overflow = false;
    size_t from = r->i, n = num_read_uint(r->p + from, r->n - from, &v, &overflow);
    if (n == 0) return fail_expected(r, "a dim");
    r->i += n;
    if (ascii_is_letter(peek_char(r)) || peek_char(r) == '.')
        return fail_expected(r, "',' or ']' after a dim");
    if (overflow || v > INT64_MAX)
        return fail(r->s, type_text_span(r, from, r->i), E_SHAPE,
                    "the dim %.*s is too large", (int)n, r->p + from);
    *dim = (Dim)v;
    return true;
}

static bool read_type_dim(TypeReader *r, Dim *dim) {
    skip_blanks(r);
    if (take_char(r, '?')) return *dim = DIM_UNKNOWN, true;
    if (ascii_is_letter(peek_char(r))) return read_dim_name(r, dim);
    if (ascii_is_digit(peek_char(r))) return read_dim_number(r, dim);
    return fail_expected(r, "a dim (an integer, a name or ?)");
}

/* Reads dims up to ']', after '['. */
static bool read_type_dims(TypeReader *r, Dim *dim, int *ndim) {
    size_t from = r->i - 1;
    *ndim = 0;
    do {
        if (*ndim > 0 && take_char(r, ']')) return true; /* a trailing comma */
        if (!type_ndim_fits(r->s, type_text_span(r, from, r->n), NULL, *ndim + 1))
            return false;
        if (!read_type_dim(r, &dim[*ndim])) return false;
        ++*ndim;
    } while (take_char(r, ','));
    return want_char(r, ']', "',' or ']' after a dim");
}

static bool fail_unknown_dtype(const TypeReader *r, size_t from) {
    static const char *const names[] = {
#define DTYPE(NAME, name, ctype, kind, size, npy) #name,
#include "type/dtype.def"
#undef DTYPE
        "floatX", "random", "list", "sparse", "null", "none", "slice", "disconnected",
    };
    Str word = STR(r->s);
    str_add(&word, r->p + from, r->i - from);
    Str advice = STR(r->s);
    bool known = word_advise(&advice, WORD_TYPE, str_text(&word), names,
                             sizeof names / sizeof *names);
    fail(r->s, type_text_span(r, from, r->i), E_DTYPE, "there is no type '%s'%s",
         str_text(&word), str_text(&advice));
    str_free(&advice);
    str_free(&word);
    return !known && hint(r->s, HINT_OWN_TYPES);
}

static DType session_floatX(Session *s) {
    int d = session_options(s)->floatX;
    return d < 0 ? DT_FLOAT64 : (DType)d;
}

static bool word_is(const TypeReader *r, size_t from, const char *word) {
    size_t n = strlen(word);
    return r->i - from == n && memcmp(r->p + from, word, n) == 0;
}

/* Reads dtype or dtype[dims]; the first word is [from, r->i). */
static const Type *read_tensor_type(TypeReader *r, size_t from) {
    Dim dim[MAX_NDIM];
    int ndim = 0;
    DType d = word_is(r, from, "floatX") ? session_floatX(r->s)
                                         : dtype_find(r->p + from, r->i - from);
    if (d == DT_NONE) return fail_unknown_dtype(r, from), NULL;
    if (take_char(r, '[') && !read_type_dims(r, dim, &ndim)) return NULL;
    return type_tensor(r->s, d, ndim, dim);
}

/* Reads a character of a string, with escapes resolved; rejects 0. */
static bool read_string_char(TypeReader *r, Str *out) {
    const char *why = NULL;
    if (peek_char(r) != '\\') return str_putc(out, r->p[r->i++]), true;
    r->i += str_unescape(out, r->p + r->i, r->n - r->i, &why);
    return !why || fail(r->s, type_text_span(r, r->i, r->i + 1), E_SYNTAX, "%s", why);
}

static bool read_string(TypeReader *r, Str *out) {
    skip_blanks(r);
    char mark = peek_char(r);
    if (mark != '\'' && mark != '"') return fail_expected(r, "a string in quotes");
    r->i++;
    while (r->i < r->n && peek_char(r) != mark)
        if (!read_string_char(r, out)) return false;
    return want_char(r, mark, "the closing quote of a string");
}

static const Type *read_null_type(TypeReader *r) {
    Str why = STR(r->s);
    const Type *t = NULL;
    if (want_char(r, '(', "'(' after null") && read_string(r, &why) &&
        want_char(r, ')', "')' after the reason"))
        t = type_null(r->s, str_text(&why));
    str_free(&why);
    return t;
}

static const Type *make_sparse_type(TypeReader *r, size_t from, const char *format,
                                    const Type *t) {
    Span at = type_text_span(r, from, r->i);
    if (strcmp(format, "csr") != 0 && strcmp(format, "csc") != 0)
        return fail(r->s, at, E_TYPE,
                    "a sparse format must be 'csr' or 'csc', not '%s'", format),
               NULL;
    if (t->ndim != 2)
        return fail(r->s, at, E_SHAPE, "a sparse matrix has 2 dims, not %d", t->ndim),
               NULL;
    if (!dtype_is_sparse(t->dtype))
        return fail(r->s, at, E_DTYPE, "a sparse matrix can't hold %s",
                    dtype_name(t->dtype)),
               NULL;
    return type_sparse(r->s, format, t->dtype, t->dim);
}

static const Type *read_sparse_type(TypeReader *r, size_t from) {
    Str format = STR(r->s);
    const Type *t = NULL;
    size_t word;
    if (want_char(r, '(', "'(' after sparse") && read_string(r, &format) &&
        want_char(r, ',', "',' after the format")) {
        take_identifier(r, &word);
        t = read_tensor_type(r, word);
        if (t && !want_char(r, ')', "')' after sparse")) t = NULL;
        if (t) t = make_sparse_type(r, from, str_text(&format), t);
    }
    str_free(&format);
    return t;
}

static bool read_type_arg(TypeReader *r, TypeArg *arg) {
    skip_blanks(r);
    *arg = (TypeArg){NULL, 0};
    if (peek_char(r) == '\'' || peek_char(r) == '"') {
        Str text = STR(r->s);
        bool ok = read_string(r, &text);
        arg->text = arena_str(session_arena(r->s), str_text(&text), text.n);
        str_free(&text);
        return ok;
    }
    bool minus = take_char(r, '-'), overflow = false;
    uint64_t v = 0;
    size_t n = num_read_uint(r->p + r->i, r->n - r->i, &v, &overflow);
    if (n == 0 || overflow || v > INT64_MAX)
        return fail_expected(r, "a text in quotes or an integer");
    r->i += n;
    arg->number = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* Reads a plugin's type after its name. */
static const Type *read_plugin_type(TypeReader *r, size_t from,
                                    const TypeMakerRow *maker) {
    TypeArg arg[TYPE_ARGS_MAX];
    size_t n = 0;
    if (take_char(r, '(')) {
        do {
            if (n == TYPE_ARGS_MAX)
                return fail(r->s, type_text_span(r, from, r->i), E_LIMIT,
                            "a type has at most %d parameters", TYPE_ARGS_MAX),
                       NULL;
            if (!read_type_arg(r, &arg[n++])) return NULL;
        } while (take_char(r, ','));
        if (!want_char(r, ')', "',' or ')' after a parameter")) return NULL;
    }
    return maker->make(r->s, maker->ctx, n, arg, type_text_span(r, from, r->i));
}

/* Reads any type but a list; the first word is [from, r->i). */
static const Type *read_flat_type(TypeReader *r, size_t from) {
    static const struct {
        const char *word;
        TypeKind kind;
    } simple[] = {{"random", TYPE_RANDOM},
                  {"slice", TYPE_SLICE},
                  {"none", TYPE_NONE},
                  {"disconnected", TYPE_DISCONNECTED},
                  {"empty", TYPE_EMPTY}};
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (word_is(r, from, simple[i].word)) return type_simple(r->s, simple[i].kind);
    if (word_is(r, from, "null")) return read_null_type(r);
    if (word_is(r, from, "sparse")) return read_sparse_type(r, from);
    const TypeMakerRow *own = type_maker_find(r->s, r->p + from, r->i - from);
    if (own) return read_plugin_type(r, from, own);
    return read_tensor_type(r, from);
}

static const Type *read_nested_type(TypeReader *r) {
    size_t from, n;
    int depth = 0;
    while ((n = take_identifier(r, &from)) > 0 && word_is(r, from, "list")) {
        if (++depth > TYPE_DEPTH_MAX)
            return fail(r->s, type_text_span(r, from, r->i), E_LIMIT,
                        "lists nest at most %d deep", TYPE_DEPTH_MAX),
                   NULL;
        if (!want_char(r, '(', "'(' after list")) return NULL;
    }
    if (n == 0) return fail_expected(r, "the name of a dtype"), NULL;
    const Type *t = read_flat_type(r, from);
    for (; t && depth > 0; depth--)
        t = want_char(r, ')', "')' after list") ? type_list(r->s, t) : NULL;
    return t;
}

const Type *type_parse(Session *s, const char *p, size_t n, Span at) {
    TypeReader r = {.s = s, .p = p, .n = n, .at = at};
    const Type *t = read_nested_type(&r);
    if (!t) return NULL;
    skip_blanks(&r);
    if (r.i >= n) return t;
    fail_expected(&r, "nothing more");
    if (p[r.i] == '(') note(s, NOWHERE, "a shape stands in brackets, as in float64[3]");
    return NULL;
}
