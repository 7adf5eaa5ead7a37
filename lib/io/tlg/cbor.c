/* CBOR items in memory. Writing appends to a Str. Reading never allocates: texts, bytes
 * and columns point into the input, and a count is accepted only if the remaining bytes
 * could hold it. */
#include "io/tlg/tlg.h"

#include <stdio.h>
#include <string.h>

enum { TAG_U8 = 64, TAG_U16 = 69, TAG_U32 = 70, TAG_U64 = 71 };

/* ---- writing ---- */

/* Reserves n bytes at the end and returns their start. */
static char *extend_buffer(Str *b, size_t n) {
    if (b->n + n + 1 > b->cap)
        b->p = mem_grow_vec_(b->s, b->p, &b->cap, b->n + n + 1, 1);
    char *at = b->p + b->n;
    b->n += n;
    b->p[b->n] = '\0';
    return at;
}

static void put_be(char *to, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(v >> (8 * (n - 1 - i)) & 0xFF);
}

/* A head followed by `extra` bytes for the caller to write. */
static char *put_head_with_room(Str *b, unsigned major, uint64_t arg, size_t extra) {
    if (arg < 24) {
        char *at = extend_buffer(b, 1 + extra);
        *at = (char)(major << 5 | arg);
        return at + 1;
    }
    unsigned log = arg <= 0xFF ? 0 : arg <= 0xFFFF ? 1 : arg <= UINT32_MAX ? 2 : 3;
    size_t size = (size_t)1 << log;
    char *at = extend_buffer(b, 1 + size + extra);
    *at = (char)(major << 5 | (24 + log));
    put_be(at + 1, arg, size);
    return at + 1 + size;
}

void cbor_put_head(Str *b, unsigned major, uint64_t arg) {
    put_head_with_room(b, major, arg, 0);
}

void cbor_put_int(Str *b, int64_t v) {
    if (v >= 0)
        cbor_put_head(b, CB_UINT, (uint64_t)v);
    else
        cbor_put_head(b, CB_NINT, ~(uint64_t)v);
}

void cbor_put_f64(Str *b, double v) {
    uint64_t bits;
    memcpy(&bits, &v, 8);
    char *at = extend_buffer(b, 9);
    *at = (char)0xFB;
    put_be(at + 1, bits, 8);
}

void cbor_put_bool(Str *b, bool v) {
    str_putc(b, (char)(v ? 0xF5 : 0xF4));
}

void cbor_put_null(Str *b) {
    str_putc(b, (char)0xF6);
}

/* The last bytes are looked at with some of those before them. */
static bool is_ascii(const char *p, size_t n) {
    uint64_t all = 0, eight;
    uint32_t first, last;
    if (n >= 8) {
        for (size_t i = 0; i + 8 <= n; i += 8) {
            memcpy(&eight, p + i, 8);
            all |= eight;
        }
        memcpy(&eight, p + n - 8, 8);
        all |= eight;
    } else if (n >= 4) {
        memcpy(&first, p, 4);
        memcpy(&last, p + n - 4, 4);
        all = first | last;
    } else {
        for (size_t i = 0; i < n; i++)
            all |= (unsigned char)p[i];
    }
    return !(all & UINT64_C(0x8080808080808080));
}

/* memcpy, inline for a short text; it is copied in halves that overlap. */
static void copy_text(char *to, const char *p, size_t n) {
    if (n > 16) {
        memcpy(to, p, n);
    } else if (n >= 8) {
        memcpy(to, p, 8);
        memcpy(to + n - 8, p + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, p, 4);
        memcpy(to + n - 4, p + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = p[i];
    }
}

static bool is_utf8(const char *p, size_t n) {
    return is_ascii(p, n) || str_is_utf8(p, n);
}

void cbor_put_text_head(Str *b, const char *p, size_t n) {
    cbor_put_head(b, is_utf8(p, n) ? CB_TEXT : CB_BYTES, n);
}

void cbor_put_text_n(Str *b, const char *p, size_t n) {
    copy_text(put_head_with_room(b, is_utf8(p, n) ? CB_TEXT : CB_BYTES, n, n), p, n);
}

void cbor_put_text(Str *b, const char *text) {
    cbor_put_text_n(b, text, strlen(text));
}

void cbor_little_endian(void *p, size_t n, size_t width) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    unsigned char *q = p;
    for (size_t i = 0; i < n; i++, q += width)
        for (size_t j = 0; j < width / 2; j++) {
            unsigned char t = q[j];
            q[j] = q[width - 1 - j];
            q[width - 1 - j] = t;
        }
#else
    (void)p, (void)n, (void)width;
#endif
}

/* Eight numbers at once, of whatever width. */
typedef uint8_t Bytes8 __attribute__((vector_size(8)));
typedef uint16_t Halves8 __attribute__((vector_size(16)));
typedef uint32_t Words8 __attribute__((vector_size(32)));

static uint32_t or_of_words(const Words8 *x) {
    uint32_t all = 0;
    for (int k = 0; k < 8; k++)
        all |= (*x)[k];
    return all;
}

static uint32_t or_of_column(const uint32_t *v, size_t n) {
    Words8 some = {0}, x;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&x, v + i, sizeof x);
        some |= x;
    }
    uint32_t all = or_of_words(&some);
    for (; i < n; i++)
        all |= v[i];
    return all;
}

static void pack_bytes(char *to, const uint32_t *v, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        Words8 x;
        memcpy(&x, v + i, sizeof x);
        Bytes8 few = __builtin_convertvector(x, Bytes8);
        memcpy(to + i, &few, sizeof few);
    }
    for (; i < n; i++)
        to[i] = (char)v[i];
}

void cbor_put_column(Str *b, const uint32_t *v, size_t n) {
    uint32_t max = or_of_column(v, n);
    size_t width = max <= 0xFF ? 1 : max <= 0xFFFF ? 2 : 4;
    cbor_put_head(b, CB_TAG, width == 1 ? TAG_U8 : width == 2 ? TAG_U16 : TAG_U32);
    char *at = put_head_with_room(b, CB_BYTES, n * width, n * width);
    if (n == 0) return;
    if (width == 1) pack_bytes(at, v, n);
    for (size_t i = 0; i < n && width == 2; i++)
        memcpy(at + 2 * i, &(uint16_t){(uint16_t)v[i]}, 2);
    if (width == 4) memcpy(at, v, 4 * n);
    cbor_little_endian(at, n, width);
}

unsigned cbor_dtype_tag(DType d) {
    static const unsigned tag[DT_N] = {
        [DT_INT8] = 72,    [DT_INT16] = 77,   [DT_INT32] = 78,  [DT_INT64] = 79,
        [DT_UINT8] = 64,   [DT_UINT16] = 69,  [DT_UINT32] = 70, [DT_UINT64] = 71,
        [DT_FLOAT16] = 84, [DT_FLOAT32] = 85, [DT_FLOAT64] = 86};
    return tag[d];
}

/* ---- reading ---- */

bool cbor_fail(const Cbor *c, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fail(c->s, NOWHERE, E_FORMAT,
                "%s: not a graph that can be read: byte %zu: %s", c->name,
                (size_t)(c->p - c->begin), text);
}

bool cbor_truncated(const Cbor *c) {
    fail(c->s, NOWHERE, E_TRUNCATED,
         "%s: truncated input: it ends at byte %zu, before the end record", c->name,
         (size_t)(c->end - c->begin));
    return note(c->s, NOWHERE, "did the command that wrote it fail?");
}

unsigned cbor_major(const Cbor *c) {
    return c->p == c->end ? 8 : *c->p >> 5;
}

bool cbor_head(Cbor *c, unsigned *major, uint64_t *arg) {
    if (c->p == c->end) return cbor_truncated(c);
    unsigned info = *c->p & 31;
    *major = *c->p >> 5;
    if (info > 27) return cbor_fail(c, "an item without a definite length");
    size_t size = info < 24 ? 0 : (size_t)1 << (info - 24);
    if ((size_t)(c->end - c->p) <= size) return cbor_truncated(c);
    *arg = info;
    if (size) *arg = 0;
    for (size_t i = 1; i <= size; i++)
        *arg = *arg << 8 | c->p[i];
    c->p += 1 + size;
    return true;
}

static bool expect_major(Cbor *c, unsigned major, uint64_t *arg) {
    static const char *const what[] = {
        "a number", "a negative number", "bytes",         "text", "a list",
        "a map",    "a tagged item",     "a simple value"};
    if (c->p == c->end) return cbor_truncated(c);
    unsigned got = *c->p >> 5;
    if (got != major)
        return cbor_fail(c, "expected %s, got %s", what[major], what[got]);
    return cbor_head(c, &got, arg);
}

static bool has_bytes_left(Cbor *c, uint64_t need) {
    return need <= (size_t)(c->end - c->p) || cbor_truncated(c);
}

/* Skips short texts, of which the longest lists consist; returns how many of n. */
static uint64_t skip_short_texts(Cbor *c, uint64_t n) {
    uint64_t k = 0;
    for (; k < n && c->p < c->end && *c->p >> 5 == CB_TEXT; k++) {
        size_t len = *c->p & 31;
        if (len > 23 || len >= (size_t)(c->end - c->p)) break;
        c->p += 1 + len;
    }
    return k;
}

bool cbor_skip(Cbor *c) {
    uint64_t left[CBOR_DEPTH];
    size_t depth = 0;
    left[0] = 1;
    for (;;) {
        while (left[depth] == 0) {
            if (depth-- == 0) return true;
        }
        left[depth] -= skip_short_texts(c, left[depth]);
        if (left[depth] == 0) continue;
        left[depth]--;
        unsigned major;
        uint64_t arg;
        if (!cbor_head(c, &major, &arg)) return false;
        if (major == CB_BYTES || major == CB_TEXT) {
            if (!has_bytes_left(c, arg)) return false;
            c->p += arg;
        }
        if (major < CB_ARRAY || major == CB_SIMPLE) continue;
        if (!has_bytes_left(c, major == CB_TAG ? 1 : arg)) return false;
        if (++depth == CBOR_DEPTH) return cbor_fail(c, "nested too deeply");
        left[depth] = major == CB_TAG ? 1 : major == CB_MAP ? 2 * arg : arg;
    }
}

bool cbor_array(Cbor *c, size_t *n) {
    uint64_t arg;
    if (!expect_major(c, CB_ARRAY, &arg) || !has_bytes_left(c, arg)) return false;
    *n = (size_t)arg;
    return true;
}

bool cbor_map(Cbor *c, size_t *n) {
    uint64_t arg;
    if (!expect_major(c, CB_MAP, &arg) || !has_bytes_left(c, arg)) return false;
    *n = (size_t)arg;
    return true;
}

bool cbor_uint(Cbor *c, uint64_t max, uint64_t *v) {
    if (!expect_major(c, CB_UINT, v)) return false;
    return *v <= max || cbor_fail(c, "%llu is out of range (at most %llu)",
                                  (unsigned long long)*v, (unsigned long long)max);
}

bool cbor_int(Cbor *c, int64_t *v) {
    uint64_t arg = 0;
    bool negative = cbor_major(c) == CB_NINT;
    if (!expect_major(c, negative ? CB_NINT : CB_UINT, &arg)) return false;
    if (arg > INT64_MAX) return cbor_fail(c, "an integer beyond 64 bits");
    *v = negative ? -1 - (int64_t)arg : (int64_t)arg;
    return true;
}

bool cbor_f64(Cbor *c, double *v) {
    if (c->p < c->end && *c->p != 0xFB) return cbor_fail(c, "expected a float64");
    unsigned major;
    uint64_t bits;
    if (!cbor_head(c, &major, &bits)) return false;
    memcpy(v, &bits, 8);
    return true;
}

bool cbor_bool(Cbor *c, bool *v) {
    if (c->p == c->end) return cbor_truncated(c);
    if (*c->p != 0xF4 && *c->p != 0xF5) return cbor_fail(c, "expected true or false");
    *v = *c->p++ == 0xF5;
    return true;
}

bool cbor_null(Cbor *c) {
    if (c->p == c->end || *c->p != 0xF6) return false;
    c->p++;
    return true;
}

bool cbor_bytes(Cbor *c, const unsigned char **p, size_t *n) {
    uint64_t arg;
    if (!expect_major(c, CB_BYTES, &arg) || !has_bytes_left(c, arg)) return false;
    *p = c->p;
    *n = (size_t)arg;
    c->p += arg;
    return true;
}

bool cbor_text(Cbor *c, const char **p, size_t *n) {
    uint64_t arg = 0;
    bool few = c->p < c->end && *c->p >> 5 == CB_TEXT && (*c->p & 31) < 24;
    if (few)
        arg = *c->p++ & 31;
    else if (!expect_major(c, cbor_major(c) == CB_BYTES ? CB_BYTES : CB_TEXT, &arg))
        return false;
    if (!has_bytes_left(c, arg)) return false;
    *p = (const char *)c->p;
    *n = (size_t)arg;
    c->p += arg;
    return memchr(*p, 0, *n) ? cbor_fail(c, "a zero byte in a text") : true;
}

bool cbor_key(Cbor *c, const char **p, size_t *n) {
    if (cbor_major(c) == CB_BYTES) return cbor_fail(c, "expected a text, got bytes");
    return cbor_text(c, p, n);
}

bool cbor_sym(Cbor *c, Sym *y) {
    const char *p;
    size_t n;
    if (!cbor_text(c, &p, &n)) return false;
    *y = n ? sym_n(c->s, p, n) : 0;
    return true;
}

bool cbor_column(Cbor *c, Column *out) {
    uint64_t tag;
    if (!expect_major(c, CB_TAG, &tag)) return false;
    out->width = tag == TAG_U8 ? 1 : tag == TAG_U16 ? 2 : tag == TAG_U32 ? 4 : 0;
    if (!out->width)
        return cbor_fail(c, "a column of unknown kind (tag %llu)",
                         (unsigned long long)tag);
    size_t bytes;
    if (!cbor_bytes(c, &out->p, &bytes)) return false;
    if (bytes % out->width)
        return cbor_fail(c, "a column of %zu bytes, not a multiple of %u", bytes,
                         out->width);
    out->n = bytes / out->width;
    return true;
}

uint32_t column_at(const Column *c, size_t i) {
    const unsigned char *p = c->p + i * c->width;
    if (c->width == 1) return p[0];
    if (c->width == 2) return (uint32_t)(p[0] | p[1] << 8);
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Reads all numbers of a column; returns their bitwise or, an upper bound of the
 * largest. */
static uint32_t unpack_column(const Column *c, uint32_t *v) {
    bool native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    size_t i = 0, w = c->width;
    Words8 x, some = {0};
    for (; native && i + 8 <= c->n; i += 8) {
        if (w == 1) {
            Bytes8 few;
            memcpy(&few, c->p + i, sizeof few);
            x = __builtin_convertvector(few, Words8);
        } else if (w == 2) {
            Halves8 few;
            memcpy(&few, c->p + 2 * i, sizeof few);
            x = __builtin_convertvector(few, Words8);
        } else {
            memcpy(&x, c->p + 4 * i, sizeof x);
        }
        some |= x;
        memcpy(v + i, &x, sizeof x);
    }
    uint32_t all = or_of_words(&some);
    for (; i < c->n; i++)
        all |= v[i] = column_at(c, i);
    return all;
}

bool column_u32(Cbor *c, const Column *col, Arena *a, uint64_t limit, const char *what,
                const uint32_t **out) {
    uint32_t *v = arena_alloc(a, (col->n + 1) * sizeof *v), max = 0;
    *out = v;
    if (unpack_column(col, v) < limit) return true;
    for (size_t i = 0; i < col->n; i++)
        max = v[i] > max ? v[i] : max;
    return col->n == 0 || max < limit ||
           cbor_fail(c, "%s %u of %llu", what, max, (unsigned long long)limit);
}
