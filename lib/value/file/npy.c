/* npy: a magic number, a version, a header (the text of a Python dict with exactly the
 * keys descr, fortran_order and shape), then the elements. */
#include "value/file/file_impl.h"

#include <string.h>

enum { HEADER_MAX = 65536, ALIGN = 64 };

static const char *const codes[DT_N] = {
#define DTYPE(NAME, name, ctype, kind, size, npy) npy,
#include "type/dtype.def"
#undef DTYPE
};

/* ---- reading ---- */

typedef struct NpyHeader {
    const ArrayFile *f;
    const char *p, *end;
    ArrayLayout lay;
    bool want_text; /* a string is expected */
    char kind;      /* 'S' or 'U' for a string */
    uint64_t chars;
} NpyHeader;

static bool fail_npy_header(const NpyHeader *h) {
    return array_fail(
        h->f, E_FORMAT,
        "the npy header is not a dict of 'descr', 'fortran_order', 'shape'");
}

static bool take_npy_char(NpyHeader *h, char c) {
    while (h->p < h->end && (*h->p == ' ' || *h->p == '\n' || *h->p == '\t'))
        h->p++;
    if (h->p == h->end || *h->p != c) return false;
    h->p++;
    return true;
}

static bool take_npy_word(NpyHeader *h, const char *word) {
    size_t n = strlen(word);
    take_npy_char(h, '\0'); /* skips blanks */
    if ((size_t)(h->end - h->p) < n || memcmp(h->p, word, n) != 0) return false;
    h->p += n;
    return true;
}

/* Reads a string without escapes: keys and type codes need none. */
static bool take_npy_string(NpyHeader *h, const char **p, size_t *n) {
    char mark = take_npy_char(h, '\'') ? '\'' : take_npy_char(h, '"') ? '"' : '\0';
    if (!mark) return false;
    const char *close = memchr(h->p, mark, (size_t)(h->end - h->p));
    if (!close) return false;
    *p = h->p;
    *n = (size_t)(close - h->p);
    h->p = close + 1;
    return true;
}

static bool fail_npy_dtype(const NpyHeader *h, const char *p, size_t n) {
    Str code = STR(h->f->s);
    str_visible(&code, p, n);
    char kind = n > 1 ? p[1] : '\0';
    const char *why = kind == 'O'   ? "Python objects"
                      : kind == 'V' ? "raw or packed data such as bfloat16"
                      : kind == 'S' || kind == 'U' ? "strings"
                      : kind == 'M' || kind == 'm'
                          ? "dates"
                          : "a dtype that thunkline does not have";
    array_fail(h->f, E_DTYPE, "the array holds %s (descr '%s')", why, str_text(&code));
    str_free(&code);
    return false;
}

static bool read_descr(NpyHeader *h) {
    const char *p;
    size_t n;
    if (take_npy_char(h, '[') || take_npy_char(h, '('))
        return array_fail(h->f, E_DTYPE, "arrays of records can't be read");
    if (!take_npy_string(h, &p, &n)) return fail_npy_header(h);
    bool order = n > 0 && memchr("<>|=", *p, 4);
    h->lay.big_endian = (order && *p == '>') || (HOST_IS_BIG && (!order || *p == '='));
    const char *code = p + order;
    if (h->want_text && n > order && (*code == 'S' || *code == 'U')) {
        bool overflow = false;
        h->kind = *code;
        return num_read_uint(code + 1, n - order - 1, &h->chars, &overflow) > 0 ||
               fail_npy_header(h);
    }
    for (int d = 0; d < DT_N; d++)
        if (strlen(codes[d]) == n - order && memcmp(codes[d], code, n - order) == 0)
            return h->lay.dtype = (DType)d, true;
    return fail_npy_dtype(h, p, n);
}

static bool read_fortran_order(NpyHeader *h) {
    h->lay.fortran = take_npy_word(h, "True");
    return h->lay.fortran || take_npy_word(h, "False") || fail_npy_header(h);
}

static bool read_npy_dim(NpyHeader *h, int64_t *dim) {
    uint64_t v;
    bool overflow = false;
    size_t n = num_read_uint(h->p, (size_t)(h->end - h->p), &v, &overflow);
    if (n == 0) return fail_npy_header(h);
    if (overflow || v > INT64_MAX)
        return array_fail(h->f, E_FORMAT, "a dim of the array is too large");
    h->p += n;
    if (h->p < h->end && *h->p == 'L') h->p++; /* Python 2 wrote that */
    *dim = (int64_t)v;
    return true;
}

static bool read_npy_shape(NpyHeader *h) {
    bool comma = true;
    if (!take_npy_char(h, '(')) return fail_npy_header(h);
    while (!take_npy_char(h, ')')) {
        if (!comma) return fail_npy_header(h);
        if (h->lay.ndim == MAX_NDIM)
            return array_fail(h->f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
        if (!read_npy_dim(h, &h->lay.shape[h->lay.ndim])) return false;
        h->lay.ndim++;
        comma = take_npy_char(h, ',');
    }
    return true;
}

static bool read_npy_entry(NpyHeader *h, unsigned *seen) {
    static const struct {
        const char *key;
        bool (*read)(NpyHeader *);
    } entries[] = {{"descr", read_descr},
                   {"fortran_order", read_fortran_order},
                   {"shape", read_npy_shape}};
    const char *p;
    size_t n;
    if (!take_npy_string(h, &p, &n) || !take_npy_char(h, ':'))
        return fail_npy_header(h);
    for (unsigned i = 0; i < 3; i++) {
        if (strlen(entries[i].key) != n || memcmp(entries[i].key, p, n) != 0) continue;
        if (*seen & 1U << i) return fail_npy_header(h);
        *seen |= 1U << i;
        return entries[i].read(h);
    }
    return fail_npy_header(h);
}

static bool read_npy_header(NpyHeader *h) {
    unsigned seen = 0;
    bool comma = true;
    if (!take_npy_char(h, '{')) return fail_npy_header(h);
    while (!take_npy_char(h, '}')) {
        if (!comma) return fail_npy_header(h);
        if (!read_npy_entry(h, &seen)) return false;
        comma = take_npy_char(h, ',');
    }
    take_npy_char(h, '\0');
    return (seen == 7 && h->p == h->end) || fail_npy_header(h);
}

/* Reads the header; *start is the offset of the elements. */
static bool open_npy(const ArrayFile *f, NpyHeader *h, size_t *start) {
    *start = 10;
    unsigned version = f->n > 6 ? f->p[6] : 0;
    if (f->n >= 10 && (version < 1 || version > 3))
        return array_fail(f, E_VERSION, "npy version %u.%u is not known", version,
                          f->p[7]);
    if (version > 1) *start = 12;
    if (f->n < *start) return array_fail(f, E_TRUNCATED, "the npy header is cut off");
    uint64_t len = read_le(f->p + 8, (int)*start - 8);
    if (len > HEADER_MAX)
        return array_fail(f, E_FORMAT, "the npy header has more than %d bytes",
                          HEADER_MAX);
    if (len > f->n - *start)
        return array_fail(f, E_TRUNCATED, "the npy header is cut off");
    h->f = f;
    h->p = (const char *)f->p + *start;
    h->end = h->p + len;
    *start += len;
    return read_npy_header(h);
}

bool npy_read(const ArrayFile *f, Tensor *out) {
    NpyHeader h = {0};
    size_t start;
    return open_npy(f, &h, &start) && array_from_bytes(f, start, &h.lay, out);
}

bool npy_list(const ArrayFile *f, ValueList *l) {
    NpyHeader h = {0};
    size_t start;
    if (!open_npy(f, &h, &start)) return false;
    value_list_add(f->s, l, NULL, h.lay.dtype, h.lay.ndim, h.lay.shape);
    return true;
}

bool npy_read_text(const ArrayFile *f, char *out, size_t room) {
    NpyHeader h = {.want_text = true};
    size_t start, step;
    if (!open_npy(f, &h, &start)) return false;
    step = h.kind == 'U' ? 4 : 1;
    if (!h.kind || h.lay.ndim != 0 || h.chars >= room || f->n - start < h.chars * step)
        return array_fail(f, E_FORMAT, "a short text is expected in it");
    for (size_t i = 0; i < h.chars; i++)
        out[i] = (char)f->p[start + i * step + (h.lay.big_endian ? step - 1 : 0)];
    out[h.chars] = '\0';
    return true;
}

/* ---- writing ---- */

/* Builds the whole header, whose length is a multiple of ALIGN; takes ownership of the
 * dict. */
static size_t frame_npy_header(Str *dict, char *buf, size_t room) {
    Str b = *dict;
    size_t n = (10 + b.n + 1 + ALIGN - 1) / ALIGN * ALIGN;
    if (n > room) bug("npy header of %zu bytes", n);
    memcpy(buf, "\x93NUMPY\1\0", 8);
    put_le((unsigned char *)buf + 8, n - 10, 2);
    memset(buf + 10, ' ', n - 10);
    memcpy(buf + 10, str_text(&b), b.n);
    buf[n - 1] = '\n';
    str_free(&b);
    return n;
}

static size_t build_npy_header(Session *s, const Tensor *t, char *buf, size_t room) {
    Str b = STR(s);
    const char *order = dtype_size(t->dtype) == 1 ? "|" : "<";
    str_printf(&b, "{'descr': '%s%s', 'fortran_order': False, 'shape': ", order,
               codes[t->dtype]);
    shape_text(s, t->ndim, t->shape, &b);
    str_puts(&b, ", }");
    return frame_npy_header(&b, buf, room);
}

enum { HEADER_ROOM = 1024 }; /* 32 dims of 21 characters, plus the words */

uint64_t npy_size(Session *s, const Tensor *t) {
    char header[HEADER_ROOM];
    return build_npy_header(s, t, header, sizeof header) + tensor_bytes(t);
}

bool npy_sink(Session *s, const Tensor *t, SinkFn *sink, void *ctx) {
    char header[HEADER_ROOM];
    return sink(ctx, header, build_npy_header(s, t, header, sizeof header)) &&
           array_sink_elements(t, sink, ctx);
}

bool npy_write(Session *s, Writer *w, const Tensor *t) {
    return npy_sink(s, t, writer_sink, w);
}

size_t npy_text(Session *s, const char *text, char *buf, size_t room) {
    Str b = STR(s);
    size_t n = strlen(text);
    str_printf(&b, "{'descr': '|S%zu', 'fortran_order': False, 'shape': (), }", n);
    size_t head = frame_npy_header(&b, buf, room - n);
    memcpy(buf + head, text, n);
    return head + n;
}
