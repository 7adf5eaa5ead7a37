/* GGUF, the weights of language models: a header, entries of metadata, then each
 * tensor's name, shape, type and place, then the bytes. Versions 2 and 3, in
 * little-endian order. Nothing is believed: each count is checked against the bytes
 * that are left. */
#include "value/file/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_ALIGNMENT = 32,
    LEAST_ENTRY = 13,  /* bytes: an empty key, its type, a byte */
    LEAST_TENSOR = 24, /* an empty name, no dims, a type, an offset */
    ARRAY_DEPTH = 8,
    TEXT_SHOWN = 60,
    TYPE_NAME = 24
};

typedef enum MetaKind {
    META_UINT8,
    META_INT8,
    META_UINT16,
    META_INT16,
    META_UINT32,
    META_INT32,
    META_FLOAT32,
    META_BOOL,
    META_STRING,
    META_ARRAY,
    META_UINT64,
    META_INT64,
    META_FLOAT64,
    META_N
} MetaKind;
static const struct {
    const char *name;
    int size; /* 0: it depends */
} metas[META_N] = {{"uint8", 1},  {"int8", 1},  {"uint16", 2},  {"int16", 2},
                   {"uint32", 4}, {"int32", 4}, {"float32", 4}, {"bool", 1},
                   {"text", 0},   {"array", 0}, {"uint64", 8},  {"int64", 8},
                   {"float64", 8}};

typedef struct GgufTensor {
    const char *name;
    const GgufType *type; /* NULL: the number below is not known */
    uint32_t code;
    int ndim;
    int64_t shape[MAX_NDIM];
    uint64_t offset, bytes;
} GgufTensor;

typedef struct GgufHeader {
    const ArrayFile *f;
    Arena *a;
    ValueList *list; /* gets the metadata; NULL: nobody looks at it */
    size_t at;       /* the next byte */
    uint64_t alignment, ntensor, nmeta;
    size_t data; /* where the tensors' bytes begin */
    Vec(GgufTensor) tensors;
} GgufHeader;

static bool fail_gguf(const GgufHeader *h, const char *what) {
    return array_fail(h->f, E_FORMAT, "the GGUF header is wrong: %s", what);
}

/* ---- its parts ---- */

static bool take_bytes(GgufHeader *h, uint64_t n, const unsigned char **p) {
    *p = h->f->p + h->at;
    if (n > h->f->n - h->at)
        return array_fail(h->f, E_TRUNCATED, "the file ends within the GGUF header");
    h->at += n;
    return true;
}

static bool take_number(GgufHeader *h, int bytes, uint64_t *v) {
    const unsigned char *p;
    if (!take_bytes(h, (uint64_t)bytes, &p)) return false;
    *v = read_le(p, bytes);
    return true;
}

typedef struct GgufText {
    const char *p;
    size_t n;
} GgufText;

static bool take_text(GgufHeader *h, GgufText *text) {
    uint64_t n;
    const unsigned char *p;
    if (!take_number(h, 8, &n) || !take_bytes(h, n, &p)) return false;
    *text = (GgufText){(const char *)p, n};
    return true;
}

/* How many there are of something that takes at least `least` bytes each. */
static bool take_count(GgufHeader *h, size_t least, const char *what, uint64_t *n) {
    if (!take_number(h, 8, n)) return false;
    if (*n <= (h->f->n - h->at) / least) return true;
    return array_fail(h->f, E_TRUNCATED,
                      "%llu %s are wanted, %zu bytes are left for them",
                      (unsigned long long)*n, what, h->f->n - h->at);
}

/* ---- metadata ---- */

static bool take_kind(GgufHeader *h, MetaKind *kind) {
    uint64_t k;
    if (!take_number(h, 4, &k)) return false;
    *kind = k < META_N ? (MetaKind)k : META_N;
    return k < META_N ||
           fail_gguf(h, "an entry of metadata has a type that is not known");
}

static bool skip_array(GgufHeader *h, int depth, MetaKind *kind, uint64_t *n) {
    const unsigned char *p;
    GgufText text;
    if (!take_kind(h, kind)) return false;
    int size = metas[*kind].size;
    if (!take_count(h, size ? (size_t)size : 8, "items of an array", n)) return false;
    if (size) return take_bytes(h, *n * (uint64_t)size, &p);
    if (*kind == META_ARRAY && depth == ARRAY_DEPTH)
        return fail_gguf(h, "its arrays hold arrays that are too deep");
    for (uint64_t i = 0; i < *n; i++) {
        MetaKind inner;
        uint64_t m;
        if (*kind == META_STRING ? !take_text(h, &text)
                                 : !skip_array(h, depth + 1, &inner, &m))
            return false;
    }
    return true;
}

static void float_text(MetaKind kind, uint64_t bits, Str *out) {
    char buf[NUM_MAX];
    uint32_t low = (uint32_t)bits;
    double d;
    float v;
    memcpy(&d, &bits, sizeof d);
    memcpy(&v, &low, sizeof v);
    bool single = kind == META_FLOAT32;
    size_t n = num_write_float(buf, single ? (double)v : d, single ? FLOAT32 : FLOAT64);
    str_add(out, buf, n);
}

static void number_text(MetaKind kind, uint64_t v, Str *out) {
    int unused = 64 - 8 * metas[kind].size;
    if (kind == META_FLOAT32 || kind == META_FLOAT64)
        float_text(kind, v, out);
    else if (kind == META_BOOL)
        str_puts(out, v ? "True" : "False");
    else if (*metas[kind].name == 'i')
        str_printf(out, "%lld", (long long)((int64_t)(v << unused) >> unused));
    else
        str_printf(out, "%llu", (unsigned long long)v);
}

/* The beginning of a text, whole characters. */
static void shown_text(GgufText text, Str *out) {
    size_t n = text.n < TEXT_SHOWN ? text.n : TEXT_SHOWN;
    while (n < text.n && n && ((unsigned char)text.p[n] & 0xC0) == 0x80)
        n--;
    str_add(out, text.p, n);
    if (n < text.n) str_puts(out, "...");
}

/* Any value but an array; its text to out, a number to *v. */
static bool take_single(GgufHeader *h, MetaKind kind, uint64_t *v, Str *out) {
    GgufText text;
    if (kind == META_STRING) {
        if (!take_text(h, &text)) return false;
        shown_text(text, out);
        return true;
    }
    if (!take_number(h, metas[kind].size, v)) return false;
    number_text(kind, *v, out);
    return true;
}

static bool take_meta_value(GgufHeader *h, MetaKind kind, uint64_t *v, Str *out) {
    MetaKind item;
    uint64_t n;
    if (kind != META_ARRAY) return take_single(h, kind, v, out);
    if (!skip_array(h, 1, &item, &n)) return false;
    str_printf(out, "%s[%llu]", metas[item].name, (unsigned long long)n);
    return true;
}

static bool is_text(GgufText text, const char *want) {
    return text.n == strlen(want) && memcmp(text.p, want, text.n) == 0;
}

static bool set_alignment(GgufHeader *h, MetaKind kind, uint64_t v) {
    bool good = kind == META_UINT32 && v && (v & (v - 1)) == 0;
    if (!good)
        return fail_gguf(h, "general.alignment must be a power of two, as uint32");
    h->alignment = v;
    return true;
}

static bool read_entry(GgufHeader *h) {
    GgufText key;
    MetaKind kind;
    uint64_t v = 0;
    Str text = STR(h->f->s);
    bool ok = take_text(h, &key) && take_kind(h, &kind) &&
              take_meta_value(h, kind, &v, &text);
    if (ok && is_text(key, "general.alignment")) ok = set_alignment(h, kind, v);
    if (ok && h->list) {
        ValueNote note = {arena_str(h->list->a, key.p, key.n),
                          arena_str(h->list->a, str_text(&text), text.n)};
        vec_push(h->f->s, &h->list->notes, note);
    }
    str_free(&text);
    return ok;
}

/* ---- tensors ---- */

static bool fail_gguf_tensor(const GgufHeader *h, const GgufTensor *t, DiagCode code,
                             const char *what) {
    Str name = STR(h->f->s);
    str_visible(&name, t->name, strlen(t->name));
    array_fail(h->f, code, "tensor '%s' %s", str_text(&name), what);
    str_free(&name);
    return false;
}

static bool read_tensor_name(GgufHeader *h, GgufTensor *t) {
    GgufText name;
    if (!take_text(h, &name)) return false;
    if (memchr(name.p, 0, name.n) || !str_is_utf8(name.p, name.n))
        return fail_gguf(h, "a tensor's name is not text");
    t->name = arena_str(h->a, name.p, name.n);
    return true;
}

/* The fastest dim comes first in the file. */
static bool read_tensor_dims(GgufHeader *h, GgufTensor *t) {
    uint64_t n, v;
    if (!take_number(h, 4, &n)) return false;
    if (n > MAX_NDIM) return array_fail(h->f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
    t->ndim = (int)n;
    for (int i = t->ndim; i-- > 0;) {
        if (!take_number(h, 8, &v)) return false;
        if (v > INT64_MAX) return fail_gguf_tensor(h, t, E_FORMAT, "is too large");
        t->shape[i] = (int64_t)v;
    }
    return true;
}

/* Its bytes, of which a type that is not known tells nothing. */
static bool measure_tensor(const GgufHeader *h, GgufTensor *t) {
    uint64_t count = 1;
    bool empty = false, fits = true;
    if (!t->type) return true;
    for (int i = 0; i < t->ndim; i++) {
        empty |= t->shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(count, (uint64_t)t->shape[i], &count);
    }
    uint64_t block = (uint64_t)t->type->block,
             row = t->ndim ? (uint64_t)t->shape[t->ndim - 1] : 1;
    if (row % block)
        return fail_gguf_tensor(h, t, E_FORMAT, "has rows that don't fill its blocks");
    if (empty) return true;
    fits = fits &&
           !__builtin_mul_overflow(count / block, (uint64_t)t->type->size, &t->bytes);
    return fits || fail_gguf_tensor(h, t, E_FORMAT, "is too large");
}

static bool read_tensor(GgufHeader *h) {
    GgufTensor t = {.bytes = 0};
    uint64_t code;
    if (!read_tensor_name(h, &t) || !read_tensor_dims(h, &t) ||
        !take_number(h, 4, &code) || !take_number(h, 8, &t.offset))
        return false;
    t.code = (uint32_t)code;
    t.type = gguf_type(code);
    if (!measure_tensor(h, &t)) return false;
    vec_push(h->f->s, &h->tensors, t);
    return true;
}

static int by_gguf_name(const void *a, const void *b) {
    return strcmp(((const GgufTensor *)a)->name, ((const GgufTensor *)b)->name);
}
static int by_gguf_offset(const void *a, const void *b) {
    const GgufTensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool check_place(const GgufHeader *h, const GgufTensor *t, uint64_t reached) {
    uint64_t room = h->data <= h->f->n ? h->f->n - h->data : 0;
    if (t->offset % h->alignment)
        return fail_gguf_tensor(h, t, E_FORMAT, "is not aligned as the file says");
    if (t->offset < reached && t->bytes)
        return fail_gguf_tensor(h, t, E_FORMAT, "overlaps another");
    if (t->offset <= room && t->bytes <= room - t->offset) return true;
    return fail_gguf_tensor(h, t, E_TRUNCATED, "lies beyond the end of the file");
}

/* In the order of the bytes, as they lie in the file. */
static bool check_tensors(GgufHeader *h) {
    size_t n = h->tensors.n;
    GgufTensor *t = h->tensors.p;
    uint64_t reached = 0;
    if (n) qsort(t, n, sizeof *t, by_gguf_name);
    for (size_t i = 1; i < n; i++)
        if (by_gguf_name(&t[i - 1], &t[i]) == 0)
            return fail_gguf_tensor(h, &t[i], E_DUPLICATE, "occurs twice");
    if (n) qsort(t, n, sizeof *t, by_gguf_offset);
    for (size_t i = 0; i < n; i++) {
        if (!check_place(h, &t[i], reached)) return false;
        reached = t[i].offset + t[i].bytes;
    }
    return true;
}

/* ---- the whole ---- */

bool gguf_is(const ArrayFile *f) {
    return f->n >= 4 && memcmp(f->p, "GGUF", 4) == 0;
}

static bool check_version(GgufHeader *h) {
    uint64_t v;
    if (!take_number(h, 4, &v)) return false;
    if (v == 2 || v == 3) return true;
    if (v && v % 0x1000000 == 0)
        return array_fail(h->f, E_FORMAT,
                          "its numbers are big-endian; convert the model for a "
                          "little-endian machine");
    return array_fail(h->f, E_FORMAT,
                      "GGUF of version %llu is not known, only 2 and 3; convert the "
                      "model again",
                      (unsigned long long)v);
}

/* Frees with close_gguf, also after a failure. */
static bool open_gguf(const ArrayFile *f, ValueList *list, GgufHeader *h) {
    *h = (GgufHeader){.f = f, .a = arena_new(f->s), .list = list, .at = 4};
    h->alignment = DEFAULT_ALIGNMENT;
    if (!check_version(h) || !take_count(h, LEAST_TENSOR, "tensors", &h->ntensor) ||
        !take_count(h, LEAST_ENTRY, "entries of metadata", &h->nmeta))
        return false;
    for (uint64_t i = 0; i < h->nmeta; i++)
        if (!read_entry(h)) return false;
    for (uint64_t i = 0; i < h->ntensor; i++)
        if (!read_tensor(h)) return false;
    uint64_t over = h->at % h->alignment;
    h->data = h->at + (over ? h->alignment - over : 0);
    return check_tensors(h);
}

static void close_gguf(GgufHeader *h) {
    vec_free(&h->tensors);
    arena_free(h->a);
}

static bool widen_tensor(const GgufHeader *h, const GgufTensor *t, Tensor *out) {
    const unsigned char *p = h->f->p + h->data + t->offset;
    if (!tensor_new(h->f->s, DT_FLOAT32, t->ndim, t->shape, out)) return false;
    float *x = out->data;
    uint64_t n = t->bytes / (uint64_t)t->type->size;
    for (uint64_t i = 0; i < n; i++)
        t->type->widen(p + i * (uint64_t)t->type->size,
                       x + i * (uint64_t)t->type->block);
    return true;
}

static const char *type_name_of(const GgufTensor *t, char *buf, size_t room) {
    if (t->type) return t->type->name;
    snprintf(buf, room, "type %u", (unsigned)t->code);
    return buf;
}

static bool gguf_value(const GgufHeader *h, const GgufTensor *t, Tensor *out) {
    char code[TYPE_NAME];
    if (!t->type || t->type->dtype == DT_NONE) {
        Str why = STR(h->f->s);
        str_printf(&why,
                   "holds %s, which thunkline does not have; convert it to F16 first",
                   type_name_of(t, code, sizeof code));
        fail_gguf_tensor(h, t, E_DTYPE, str_text(&why));
        str_free(&why);
        return false;
    }
    if (t->type->widen) return widen_tensor(h, t, out);
    ArrayLayout lay = {.dtype = t->type->dtype, .ndim = t->ndim};
    memcpy(lay.shape, t->shape, sizeof lay.shape);
    bool narrow = (size_t)t->type->size < dtype_size(lay.dtype);
    size_t at = t->bytes ? h->data + t->offset : 0; /* nothing may lie beyond the end */
    return (narrow ? array_from_bfloat16 : array_from_bytes)(h->f, at, &lay, out);
}

static bool fail_no_gguf_tensor(const GgufHeader *h, const char *key) {
    size_t n = h->tensors.n;
    const char **name = mem_alloc(h->f->s, (n + 1) * sizeof *name);
    for (size_t i = 0; i < n; i++)
        name[i] = h->tensors.p[i].name;
    array_fail_no_name(h->f, "array", key, &(Names){name, n});
    mem_free(name);
    return false;
}

static bool pick_gguf_tensor(const GgufHeader *h, const char *key, Tensor *out) {
    const GgufTensor *t = !key && h->tensors.n == 1 ? h->tensors.p : NULL;
    for (size_t i = 0; key && i < h->tensors.n; i++)
        if (strcmp(h->tensors.p[i].name, key) == 0) t = &h->tensors.p[i];
    return t ? gguf_value(h, t, out) : fail_no_gguf_tensor(h, key);
}

static void free_gguf(void *p) {
    close_gguf(p);
    mem_free(p);
}

bool gguf_read(const ArrayFile *f, const char *key, Tensor *out) {
    GgufHeader *h = f->header ? f->header->p : NULL;
    bool ok = true, keep = h != NULL;
    if (!h) {
        h = mem_alloc(f->s, sizeof *h);
        ok = open_gguf(f, NULL, h);
        keep = ok && f->header;
        if (keep) *f->header = (FileHeader){h, free_gguf};
    }
    ok = ok && pick_gguf_tensor(h, key, out);
    if (!keep) free_gguf(h);
    return ok;
}

static void list_gguf_tensor(const GgufHeader *h, const GgufTensor *t, ValueList *l) {
    DType d = t->type ? t->type->dtype : DT_NONE;
    const char *name = arena_str(l->a, t->name, strlen(t->name));
    ValueInfo *v = value_list_add(h->f->s, l, name, d, t->ndim, t->shape);
    if (d != DT_NONE && (t->type->widen || (size_t)t->type->size < dtype_size(d)))
        v->more = t->type->name;
    if (d != DT_NONE) return;
    char code[TYPE_NAME];
    const char *type = type_name_of(t, code, sizeof code);
    v->dtype = arena_str(l->a, type, strlen(type));
    v->bytes = t->bytes;
}

bool gguf_list(const ArrayFile *f, ValueList *l) {
    GgufHeader h;
    bool ok = open_gguf(f, l, &h);
    for (size_t i = 0; ok && i < h.tensors.n; i++)
        list_gguf_tensor(&h, &h.tensors.p[i], l);
    close_gguf(&h);
    return ok;
}
