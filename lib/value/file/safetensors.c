/* safetensors: a length, a JSON header with each tensor's dtype, shape and byte range,
 * then the bytes. As strict as the format's specification: no unknown or duplicate
 * keys, every size right, the bytes covered without gaps or overlaps. */
#include "format/json.h"
#include "value/file/file_impl.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_MAX ((uint64_t)100 << 20)

/* The format's dtype names; those that thunkline lacks have a size only, but bfloat16
 * is widened. */
static const struct {
    const char *name;
    DType dtype;
    unsigned bits;
} kinds[] = {
    {"BOOL", DT_BOOL, 8},      {"I8", DT_INT8, 8},       {"I16", DT_INT16, 16},
    {"I32", DT_INT32, 32},     {"I64", DT_INT64, 64},    {"U8", DT_UINT8, 8},
    {"U16", DT_UINT16, 16},    {"U32", DT_UINT32, 32},   {"U64", DT_UINT64, 64},
    {"F16", DT_FLOAT16, 16},   {"F32", DT_FLOAT32, 32},  {"F64", DT_FLOAT64, 64},
    {"C64", DT_COMPLEX64, 64}, {"BF16", DT_FLOAT32, 16}, {"F8_E4M3", DT_NONE, 8},
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
    JsonReader j;
    size_t data; /* offset of the bytes in the file */
    Vec(TensorEntry) entries;
} TensorsHeader;

static bool fail_tensors_header(const TensorsHeader *h, const char *what) {
    return array_fail(h->f, E_FORMAT, "the safetensors header is wrong: %s", what);
}

static bool read_size(TensorsHeader *h, uint64_t *v) {
    const char *p;
    size_t n;
    bool overflow = false;
    if (!json_scalar(&h->j, &p, &n)) return false;
    if (num_read_uint(p, n, v, &overflow) != n)
        return json_fail(&h->j, "a number that is not a size");
    return (!overflow && *v <= INT64_MAX) || json_fail(&h->j, "a number is too large");
}

/* ---- entries ---- */

static bool read_tensor_kind(TensorsHeader *h, TensorEntry *e) {
    JsonText name;
    if (!json_string(&h->j, &name)) return false;
    for (e->kind = 0; e->kind < NKINDS; e->kind++)
        if (strcmp(kinds[e->kind].name, name.p) == 0) return true;
    return array_fail(h->f, E_DTYPE, "the safetensors dtype %s is not known", name.p);
}

static bool read_tensor_shape(TensorsHeader *h, TensorEntry *e) {
    uint64_t v;
    if (!json_want(&h->j, '[', "expected a list")) return false;
    for (size_t n = 0; json_item(&h->j, ']', &n);) {
        if (e->ndim == MAX_NDIM)
            return array_fail(h->f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
        if (!read_size(h, &v)) return false;
        e->shape[e->ndim++] = (int64_t)v;
    }
    return !h->j.wrong;
}

static bool read_tensor_offsets(TensorsHeader *h, TensorEntry *e) {
    static const char two[] = "data_offsets is a list of two numbers";
    return json_want(&h->j, '[', two) && read_size(h, &e->begin) &&
           json_want(&h->j, ',', two) && read_size(h, &e->end) &&
           json_want(&h->j, ']', two);
}

static bool read_tensor_field(TensorsHeader *h, TensorEntry *e, unsigned *seen) {
    static const struct {
        const char *key;
        bool (*read)(TensorsHeader *, TensorEntry *);
    } fields[] = {{"dtype", read_tensor_kind},
                  {"shape", read_tensor_shape},
                  {"data_offsets", read_tensor_offsets}};
    JsonText key;
    if (!json_key(&h->j, &key)) return false;
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(fields[i].key, key.p) != 0) continue;
        if (*seen & 1U << i) return json_fail(&h->j, "a field occurs twice");
        *seen |= 1U << i;
        return fields[i].read(h, e);
    }
    return json_fail(&h->j, "a tensor has a field that is not known");
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
    if (!json_want(&h->j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(&h->j, '}', &n);)
        if (!read_tensor_field(h, &e, &seen)) return false;
    if (h->j.wrong) return false;
    if (seen != 7)
        return json_fail(&h->j, "a tensor lacks dtype, shape or data_offsets");
    if (!check_tensor_size(h, &e)) return false;
    vec_push(h->f->s, &h->entries, e);
    return true;
}

static bool read_metadata(TensorsHeader *h) {
    JsonText text;
    if (!json_want(&h->j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(&h->j, '}', &n);)
        if (!json_key(&h->j, &text) || !json_string(&h->j, &text)) return false;
    return !h->j.wrong;
}

static bool read_all_entries(TensorsHeader *h) {
    bool metadata = false;
    JsonText name;
    if (!json_want(&h->j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(&h->j, '}', &n);) {
        if (!json_key(&h->j, &name)) return false;
        bool meta = strcmp(name.p, "__metadata__") == 0;
        if (meta && metadata) return json_fail(&h->j, "__metadata__ occurs twice");
        metadata |= meta;
        if (!(meta ? read_metadata(h) : read_tensor_entry(h, name.p))) return false;
    }
    if (h->j.wrong) return false;
    return json_at_end(&h->j) || json_fail(&h->j, "there is more text after it");
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
    size_t n = h->entries.n;
    const char **name = mem_alloc(h->f->s, (n + 1) * sizeof *name);
    for (size_t i = 0; i < n; i++)
        name[i] = h->entries.p[i].name;
    array_fail_no_name(h->f, "array", key, &(Names){name, n});
    mem_free(name);
    return false;
}

static bool pick_tensor(const TensorsHeader *h, const char *key, Tensor *out) {
    const TensorEntry *e = NULL;
    if (!key && h->entries.n == 1) e = h->entries.p;
    for (size_t i = 0; key && i < h->entries.n; i++)
        if (strcmp(h->entries.p[i].name, key) == 0) e = &h->entries.p[i];
    if (!e) return fail_no_entry(h, key);
    if (kinds[e->kind].dtype == DT_NONE)
        return array_fail(h->f, E_DTYPE,
                          "tensor '%s' holds %s, which thunkline does not have; "
                          "convert it to F32 first",
                          e->name, kinds[e->kind].name);
    ArrayLayout lay = {.dtype = kinds[e->kind].dtype, .ndim = e->ndim};
    memcpy(lay.shape, e->shape, sizeof lay.shape);
    bool narrow = kinds[e->kind].bits < 8 * dtype_size(lay.dtype);
    return (narrow ? array_from_bfloat16 : array_from_bytes)(h->f, h->data + e->begin,
                                                             &lay, out);
}

/* Frees with close_tensors, also after a failure. */
static bool open_tensors(const ArrayFile *f, TensorsHeader *h) {
    uint64_t len = read_le(f->p, 8);
    *h = (TensorsHeader){.f = f, .data = 8 + len};
    if (len > HEADER_MAX)
        return array_fail(f, E_FORMAT,
                          "this is not an array file, or its header is over 100 MB");
    if (len > f->n - 8) return array_fail(f, E_TRUNCATED, "the header is cut off");
    h->j = json_reader(f->s, arena_new(f->s), (const char *)f->p + 8, len);
    bool ok = read_all_entries(h);
    if (h->j.wrong) fail_tensors_header(h, h->j.wrong);
    return ok && check_entries(h);
}

static void close_tensors(TensorsHeader *h) {
    vec_free(&h->entries);
    arena_free(h->j.a);
}

bool safetensors_read(const ArrayFile *f, const char *key, Tensor *out) {
    TensorsHeader h;
    bool ok = open_tensors(f, &h) && pick_tensor(&h, key, out);
    close_tensors(&h);
    return ok;
}

bool safetensors_list(const ArrayFile *f, ValueList *l) {
    TensorsHeader h;
    bool ok = open_tensors(f, &h);
    for (size_t i = 0; ok && i < h.entries.n; i++) {
        const TensorEntry *e = &h.entries.p[i];
        DType d = kinds[e->kind].dtype;
        const char *name = arena_str(l->a, e->name, strlen(e->name));
        ValueInfo *v = value_list_add(f->s, l, name, d, e->ndim, e->shape);
        if (d == DT_NONE) v->dtype = kinds[e->kind].name;
        if (d == DT_NONE) v->bytes = e->end - e->begin;
        if (d != DT_NONE && kinds[e->kind].bits < 8 * dtype_size(d))
            v->more = kinds[e->kind].name;
    }
    close_tensors(&h);
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
    JsonWriter w = {.out = b, .compact = true};
    json_open(&w, '{');
    for (size_t i = 0; i < n; i++) {
        const NamedTensor *a = place[i].a;
        const char *kind = kind_name(a->t->dtype);
        if (!kind)
            return fail(s, NOWHERE, E_DTYPE, "safetensors can't hold %s; write .npz",
                        dtype_name(a->t->dtype));
        json_put_key(&w, a->name);
        json_open(&w, '{');
        json_member(&w, "dtype", kind);
        json_put_key(&w, "shape");
        json_put_ints(&w, (size_t)a->t->ndim, a->t->shape);
        json_put_key(&w, "data_offsets");
        uint64_t end = at + tensor_bytes(a->t);
        json_put_ints(&w, 2, (int64_t[]){(int64_t)at, (int64_t)end});
        json_close(&w, "}");
        at = end;
    }
    json_close(&w, "}");
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
