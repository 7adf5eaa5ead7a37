/* safetensors: a length, a JSON header with each tensor's dtype, shape and byte range,
 * then the bytes. As strict as the format's specification: no unknown or duplicate
 * keys, every size right, the bytes covered without gaps or overlaps. */
#include "value/array_impl.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_MAX ((uint64_t)100 << 20)

/* The format's dtype names; those that thunkline lacks have a size only. */
static const struct {
    const char *name;
    DType dtype;
    unsigned bits;
} kinds[] = {
    {"BOOL", DT_BOOL, 8},      {"I8", DT_INT8, 8},      {"I16", DT_INT16, 16},
    {"I32", DT_INT32, 32},     {"I64", DT_INT64, 64},   {"U8", DT_UINT8, 8},
    {"U16", DT_UINT16, 16},    {"U32", DT_UINT32, 32},  {"U64", DT_UINT64, 64},
    {"F16", DT_FLOAT16, 16},   {"F32", DT_FLOAT32, 32}, {"F64", DT_FLOAT64, 64},
    {"C64", DT_COMPLEX64, 64}, {"BF16", DT_NONE, 16},   {"F8_E4M3", DT_NONE, 8},
    {"F8_E5M2", DT_NONE, 8},   {"F8_E8M0", DT_NONE, 8},
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

typedef struct TensorEntry {
    const char *name;
    int kind;
    int ndim;
    int64_t shape[MAX_NDIM];
    uint64_t begin, end;
} TensorEntry;

typedef struct TensorsHeader {
    const ArrayFile *f;
    const char *p, *end;
    size_t data; /* offset of the bytes in the file */
    Arena *arena;
    Vec(TensorEntry) entries;
} TensorsHeader;

/* ---- the subset of JSON ---- */

static bool fail_tensors_header(const TensorsHeader *h, const char *what) {
    return array_fail(h->f, E_FORMAT, "the safetensors header is wrong: %s", what);
}

static void skip_json_blanks(TensorsHeader *h) {
    while (h->p < h->end && ascii_is_blank(*h->p))
        h->p++;
}
static bool take_json_char(TensorsHeader *h, char c) {
    skip_json_blanks(h);
    if (h->p == h->end || *h->p != c) return false;
    h->p++;
    return true;
}
static bool want_json_char(TensorsHeader *h, char c) {
    if (take_json_char(h, c)) return true;
    return array_fail(h->f, E_FORMAT,
                      "the safetensors header is wrong: '%c' is missing at byte %zu", c,
                      (size_t)(h->p - (const char *)h->f->p));
}

static int hex4(const char *p) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int d = ascii_hex_digit(p[i]);
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* After \u: a character, possibly with a second surrogate. Names must not contain 0. */
static bool take_json_unicode(TensorsHeader *h, Str *b) {
    int c = h->end - h->p >= 4 ? hex4(h->p) : -1;
    if (c <= 0) return fail_tensors_header(h, "a \\u escape");
    h->p += 4;
    if (c >= 0xD800 && c < 0xE000) {
        bool pair =
            c < 0xDC00 && h->end - h->p >= 6 && h->p[0] == '\\' && h->p[1] == 'u';
        int low = pair ? hex4(h->p + 2) : -1;
        if (low < 0xDC00 || low >= 0xE000)
            return fail_tensors_header(h, "half of a \\u pair");
        c = 0x10000 + (c - 0xD800) * 0x400 + (low - 0xDC00);
        h->p += 6;
    }
    str_put_utf8(b, (uint32_t)c);
    return true;
}

static bool take_json_escape(TensorsHeader *h, Str *b) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (h->p == h->end) return fail_tensors_header(h, "a string is not closed");
    char c = *h->p++;
    if (c == 'u') return take_json_unicode(h, b);
    const char *at = c ? strchr(from, c) : NULL;
    if (!at) return fail_tensors_header(h, "an escape in a string");
    str_putc(b, to[at - from]);
    return true;
}

static bool take_json_string(TensorsHeader *h, const char **out) {
    Str b = STR(h->f->s);
    bool ok = want_json_char(h, '"');
    while (ok && h->p < h->end && *h->p != '"') {
        char c = *h->p++;
        if (c == '\\')
            ok = take_json_escape(h, &b);
        else if ((unsigned char)c < 0x20)
            ok = fail_tensors_header(h, "a control character in a string");
        else
            str_putc(&b, c);
    }
    ok = ok && want_json_char(h, '"');
    if (ok) *out = arena_str(h->arena, str_text(&b), b.n);
    str_free(&b);
    return ok;
}

static bool take_json_size(TensorsHeader *h, uint64_t *v) {
    bool overflow = false;
    skip_json_blanks(h);
    size_t left = (size_t)(h->end - h->p), n = 0;
    while (n < left && ascii_is_digit(h->p[n]))
        n++;
    if (n == 0 || (n > 1 && *h->p == '0'))
        return fail_tensors_header(h, "a number that is no size");
    num_read_uint(h->p, n, v, &overflow);
    h->p += n;
    return (!overflow && *v <= INT64_MAX) ||
           fail_tensors_header(h, "a number is too large");
}

/* ---- entries ---- */

static bool read_tensor_kind(TensorsHeader *h, TensorEntry *e) {
    const char *name;
    if (!take_json_string(h, &name)) return false;
    for (e->kind = 0; e->kind < NKINDS; e->kind++)
        if (strcmp(kinds[e->kind].name, name) == 0) return true;
    return array_fail(h->f, E_DTYPE, "the safetensors dtype %s is not known", name);
}

static bool read_tensor_shape(TensorsHeader *h, TensorEntry *e) {
    uint64_t v;
    if (!want_json_char(h, '[')) return false;
    if (take_json_char(h, ']')) return true;
    do {
        if (e->ndim == MAX_NDIM)
            return array_fail(h->f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
        if (!take_json_size(h, &v)) return false;
        e->shape[e->ndim++] = (int64_t)v;
    } while (take_json_char(h, ','));
    return want_json_char(h, ']');
}

static bool read_tensor_offsets(TensorsHeader *h, TensorEntry *e) {
    return want_json_char(h, '[') && take_json_size(h, &e->begin) &&
           want_json_char(h, ',') && take_json_size(h, &e->end) &&
           want_json_char(h, ']');
}

static bool read_tensor_field(TensorsHeader *h, TensorEntry *e, unsigned *seen) {
    static const struct {
        const char *key;
        bool (*read)(TensorsHeader *, TensorEntry *);
    } fields[] = {{"dtype", read_tensor_kind},
                  {"shape", read_tensor_shape},
                  {"data_offsets", read_tensor_offsets}};
    const char *key;
    if (!take_json_string(h, &key) || !want_json_char(h, ':')) return false;
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(fields[i].key, key) != 0) continue;
        if (*seen & 1U << i) return fail_tensors_header(h, "a field occurs twice");
        *seen |= 1U << i;
        return fields[i].read(h, e);
    }
    return fail_tensors_header(h, "a tensor has a field that is not known");
}

static bool check_tensor_size(const TensorsHeader *h, const TensorEntry *e) {
    uint64_t count = 1, bits = kinds[e->kind].bits;
    bool fits = true, empty = false;
    for (int i = 0; i < e->ndim; i++) {
        empty |= e->shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(count, (uint64_t)e->shape[i], &count);
    }
    if (empty) count = 0;
    fits = empty || (fits && !__builtin_mul_overflow(count, bits / 8, &count));
    if (fits && e->begin <= e->end && e->end - e->begin == count) return true;
    return array_fail(h->f, E_FORMAT,
                      "tensor '%s': its offsets don't fit its dtype and shape",
                      e->name);
}

static bool read_tensor_entry(TensorsHeader *h, const char *name) {
    TensorEntry e = {.name = name};
    unsigned seen = 0;
    if (!want_json_char(h, '{')) return false;
    do {
        if (!read_tensor_field(h, &e, &seen)) return false;
    } while (take_json_char(h, ','));
    if (!want_json_char(h, '}')) return false;
    if (seen != 7)
        return fail_tensors_header(h, "a tensor lacks dtype, shape or data_offsets");
    if (!check_tensor_size(h, &e)) return false;
    vec_push(h->f->s, &h->entries, e);
    return true;
}

static bool read_metadata(TensorsHeader *h) {
    const char *text;
    if (!want_json_char(h, '{')) return false;
    if (take_json_char(h, '}')) return true;
    do {
        if (!take_json_string(h, &text) || !want_json_char(h, ':') ||
            !take_json_string(h, &text))
            return false;
    } while (take_json_char(h, ','));
    return want_json_char(h, '}');
}

static bool read_all_entries(TensorsHeader *h) {
    bool metadata = false;
    if (!want_json_char(h, '{')) return false;
    if (take_json_char(h, '}')) return true;
    do {
        const char *name;
        if (!take_json_string(h, &name) || !want_json_char(h, ':')) return false;
        bool meta = strcmp(name, "__metadata__") == 0;
        if (meta && metadata)
            return fail_tensors_header(h, "__metadata__ occurs twice");
        metadata |= meta;
        if (!(meta ? read_metadata(h) : read_tensor_entry(h, name))) return false;
    } while (take_json_char(h, ','));
    return want_json_char(h, '}');
}

/* ---- the whole ---- */

static int by_entry_name(const void *a, const void *b) {
    return strcmp(((const TensorEntry *)a)->name, ((const TensorEntry *)b)->name);
}
static int by_entry_offset(const void *a, const void *b) {
    const TensorEntry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static bool check_entries(TensorsHeader *h) {
    size_t n = h->entries.n;
    TensorEntry *e = h->entries.p;
    uint64_t reached = 0, bytes = h->f->n - h->data;
    if (n) qsort(e, n, sizeof *e, by_entry_name);
    for (size_t i = 1; i < n; i++)
        if (by_entry_name(&e[i - 1], &e[i]) == 0)
            return array_fail(h->f, E_DUPLICATE, "tensor '%s' occurs twice", e[i].name);
    if (n) qsort(e, n, sizeof *e, by_entry_offset);
    for (size_t i = 0; i < n; reached = e[i++].end)
        if (e[i].begin != reached)
            return array_fail(h->f, E_FORMAT, "tensor '%s' %s", e[i].name,
                              e[i].begin < reached ? "overlaps another"
                                                   : "comes after a hole in the data");
    if (reached > bytes)
        return array_fail(h->f, E_TRUNCATED,
                          "%llu bytes of data are wanted, %llu are there",
                          (unsigned long long)reached, (unsigned long long)bytes);
    return reached == bytes ||
           fail_tensors_header(h, "there are bytes that belong to no tensor");
}

static bool fail_no_entry(const TensorsHeader *h, const char *key) {
    enum { SHOWN = 12 };
    Str names = STR(h->f->s);
    for (size_t i = 0; i < h->entries.n && i < SHOWN; i++) {
        if (i) str_puts(&names, ", ");
        str_visible(&names, h->entries.p[i].name, strlen(h->entries.p[i].name));
    }
    if (h->entries.n > SHOWN) str_puts(&names, ", ...");
    const char *list = names.n ? str_text(&names) : "nothing";
    if (key)
        array_fail(h->f, E_NAME, "there is no array '%s' in it; it holds %s", key,
                   list);
    else
        array_fail(h->f, E_ARG, "say which array, as FILE:NAME; it holds %s", list);
    str_free(&names);
    return false;
}

static bool pick_tensor(const TensorsHeader *h, const char *key, Tensor *out) {
    const TensorEntry *e = NULL;
    if (!key && h->entries.n == 1) e = h->entries.p;
    for (size_t i = 0; key && i < h->entries.n; i++)
        if (strcmp(h->entries.p[i].name, key) == 0) e = &h->entries.p[i];
    if (!e) return fail_no_entry(h, key);
    if (kinds[e->kind].dtype == DT_NONE)
        return array_fail(
            h->f, E_DTYPE,
            "tensor '%s' holds %s, which thunkline has not got; convert it "
            "to F32 first",
            e->name, kinds[e->kind].name);
    ArrayLayout lay = {.dtype = kinds[e->kind].dtype, .ndim = e->ndim};
    memcpy(lay.shape, e->shape, sizeof lay.shape);
    return array_from_bytes(h->f, h->data + e->begin, &lay, out);
}

bool safetensors_read(const ArrayFile *f, const char *key, Tensor *out) {
    uint64_t len = read_le(f->p, 8);
    if (len > HEADER_MAX)
        return array_fail(f, E_FORMAT,
                          "this is no array file, or its header is over 100 MB");
    if (len > f->n - 8) return array_fail(f, E_TRUNCATED, "the header is cut off");
    const char *p = (const char *)f->p + 8;
    TensorsHeader h = {.f = f, .p = p, .end = p + len, .data = 8 + len};
    h.arena = arena_new(f->s);
    bool ok = read_all_entries(&h);
    skip_json_blanks(&h);
    ok = ok && (h.p == h.end || fail_tensors_header(&h, "there is more text after it"));
    ok = ok && check_entries(&h) && pick_tensor(&h, key, out);
    vec_free(&h.entries);
    arena_free(h.arena);
    return ok;
}

/* ---- writing ---- */

/* Sorts wide elements first, so that all are aligned; otherwise keeps the order. */
typedef struct TensorPlace {
    const NamedTensor *a;
    size_t width, order;
} TensorPlace;
static int by_width(const void *a, const void *b) {
    const TensorPlace *x = a, *y = b;
    if (x->width != y->width) return x->width > y->width ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static const char *kind_name(DType d) {
    for (int i = 0; i < NKINDS; i++)
        if (kinds[i].dtype == d) return kinds[i].name;
    return NULL;
}

static bool write_tensors_header(Session *s, size_t n, const TensorPlace *place,
                                 Str *b) {
    uint64_t at = 0;
    str_putc(b, '{');
    for (size_t i = 0; i < n; i++) {
        const NamedTensor *a = place[i].a;
        const char *kind = kind_name(a->t->dtype);
        if (!kind)
            return fail(s, NOWHERE, E_DTYPE, "safetensors can't hold %s; write .npz",
                        dtype_name(a->t->dtype));
        if (i) str_putc(b, ',');
        str_json(b, a->name, strlen(a->name));
        str_printf(b, ":{\"dtype\":\"%s\",\"shape\":[", kind);
        for (int k = 0; k < a->t->ndim; k++)
            str_printf(b, "%s%lld", k ? "," : "", (long long)a->t->shape[k]);
        str_printf(b, "],\"data_offsets\":[%llu,", (unsigned long long)at);
        at += tensor_bytes(a->t);
        str_printf(b, "%llu]}", (unsigned long long)at);
    }
    str_putc(b, '}');
    while (b->n % 8 != 0)
        str_putc(b, ' ');
    return true;
}

bool safetensors_write(Session *s, Writer *w, size_t n, const NamedTensor *arrays) {
    TensorPlace *place = mem_zalloc(s, n, sizeof *place);
    Str b = STR(s);
    unsigned char len[8];
    for (size_t i = 0; i < n; i++)
        place[i] = (TensorPlace){&arrays[i], dtype_size(arrays[i].t->dtype), i};
    if (n) qsort(place, n, sizeof *place, by_width);
    bool ok = write_tensors_header(s, n, place, &b);
    put_le(len, b.n, 8);
    ok = ok && writer_add(w, len, 8) && writer_add(w, b.p, b.n);
    for (size_t i = 0; i < n && ok; i++)
        ok = array_sink_elements(place[i].a->t, writer_sink, w);
    mem_free(place);
    str_free(&b);
    return ok;
}
