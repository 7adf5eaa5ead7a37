/* Array files: detects the format, turns bytes into tensors. A file's bytes are wrapped
 * as a buffer, so that data which already has the right layout is used in place. */
#include "value/array_impl.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

bool array_fail(const ArrayFile *f, DiagCode code, const char *fmt, ...) {
    Str b = STR(f->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    fail(f->s, f->at, code, "%s: %s", f->name, str_text(&b));
    str_free(&b);
    return false;
}

void array_swap_bytes(void *p, size_t n, size_t size) {
    unsigned char *q = p;
    for (; n-- > 0; q += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char c = q[i];
            q[i] = q[size - 1 - i];
            q[size - 1 - i] = c;
        }
}

/* ---- bytes into tensors ---- */

static void fortran_strides(Tensor *t) {
    int64_t step = (int64_t)dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        t->stride[i] = step;
        if (t->shape[i] > 1 && !i64_mul(step, t->shape[i], &step)) step = 0;
    }
}

static bool is_clean_bool(const unsigned char *p, size_t n) {
    unsigned char any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any <= 1;
}

static bool is_usable_in_place(const ArrayFile *f, size_t offset,
                               const ArrayLayout *lay, size_t bytes) {
    size_t width = dtype_size(dtype_real(lay->dtype));
    const unsigned char *p = f->p + offset;
    return f->buf && bytes > 0 && (uintptr_t)p % width == 0 &&
           (width == 1 || lay->big_endian == HOST_IS_BIG) &&
           (lay->dtype != DT_BOOL || is_clean_bool(p, bytes));
}

static bool copy_array_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                             Tensor *out) {
    if (!tensor_new(f->s, lay->dtype, lay->ndim, lay->shape, out)) return false;
    size_t bytes = tensor_bytes(out), width = dtype_size(dtype_real(lay->dtype));
    if (bytes) memcpy(out->data, f->p + offset, bytes);
    if (width > 1 && lay->big_endian != HOST_IS_BIG)
        array_swap_bytes(out->data, bytes / width, width);
    for (size_t i = 0; lay->dtype == DT_BOOL && i < bytes; i++)
        ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
    return true;
}

static bool check_array_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                              int64_t *stride, size_t *bytes) {
    bool fits = tensor_row_major(lay->dtype, lay->ndim, lay->shape, stride, bytes);
    if (fits && offset <= f->n && *bytes <= f->n - offset) return true;
    Str shape = STR(f->s);
    shape_text(f->s, lay->ndim, lay->shape, &shape);
    array_fail(f, fits ? E_TRUNCATED : E_FORMAT,
               "a %s array of shape %s needs more than the %zu bytes that are there",
               dtype_name(lay->dtype), str_text(&shape),
               offset <= f->n ? f->n - offset : 0);
    str_free(&shape);
    return false;
}

bool array_from_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                      Tensor *out) {
    size_t bytes;
    int64_t stride[MAX_NDIM];
    if (!check_array_bytes(f, offset, lay, stride, &bytes)) return false;
    if (is_usable_in_place(f, offset, lay, bytes)) {
        size_t dims = (size_t)lay->ndim * sizeof *stride;
        out->dtype = lay->dtype;
        out->ndim = lay->ndim;
        if (dims) memcpy(out->shape, lay->shape, dims);
        if (dims) memcpy(out->stride, stride, dims);
        out->data =
            (char *)f->buf->data + (f->p + offset - (unsigned char *)f->buf->data);
        out->buf = buffer_ref(f->buf);
    } else if (!copy_array_bytes(f, offset, lay, out)) {
        return false;
    }
    if (lay->fortran) fortran_strides(out);
    return true;
}

/* ---- reading ---- */

static bool has_suffix(const char *name, const char *suffix) {
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

static bool has_magic(const ArrayFile *f, const char *magic, size_t n) {
    return f->n >= n && memcmp(f->p, magic, n) == 0;
}

static bool check_no_key(const ArrayFile *f, const char *key) {
    return !key || array_fail(f, E_ARG,
                              "the file holds one array without a name, so '%s' can't "
                              "be selected from it",
                              key);
}

static bool read_by_format(const ArrayFile *f, const char *key, Tensor *out) {
    char separator = has_suffix(f->name, ".csv")   ? ','
                     : has_suffix(f->name, ".tsv") ? '\t'
                                                   : '\0';
    if (has_magic(f, "\x93NUMPY", 6)) return check_no_key(f, key) && npy_read(f, out);
    if (has_magic(f, "PK\3\4", 4) || has_magic(f, "PK\5\6", 4))
        return npz_read(f, key, out);
    if (separator) return check_no_key(f, key) && table_read(f, separator, out);
    if (f->n > 8 && f->p[8] == '{') return safetensors_read(f, key, out);
    if (f->n == 0) return array_fail(f, E_TRUNCATED, "the file is empty");
    return array_fail(f, E_FORMAT,
                      "this is not an array file: npy, npz, safetensors, and tables "
                      "whose names end in .csv or .tsv can be read");
}

static void release_file(Buffer *b) {
    FileData *d = b->ctx;
    file_close(d);
    mem_free(d);
    mem_free(b);
}

/* Takes ownership of the file's bytes. A mapping is private and writable: pages are
 * copied when written, so the owner of the tensor may modify it freely. */
static Buffer *wrap_file(Session *s, const FileData *d) {
    union {
        const unsigned char *in;
        void *out;
    } u = {.in = d->p};
    if (d->mapped && mprotect(u.out, d->n, PROT_READ | PROT_WRITE) != 0) return NULL;
    FileData *own = mem_alloc(s, sizeof *own);
    *own = *d;
    return buffer_wrap(s, u.out, d->n, release_file, own);
}

/* A regular file is mapped, whatever its size; a pipe is read into memory, so it has a
 * limit. */
static uint64_t file_size_limit(Session *s, const char *path) {
    struct stat st;
    int r = strcmp(path, "-") == 0 ? fstat(0, &st) : stat(path, &st);
    return r == 0 && S_ISREG(st.st_mode) ? 0 : session_max_memory(s);
}

static bool read_array_value(const ArrayFile *f, const char *key, Value *out) {
    bool is = false;
    bool zip = has_magic(f, "PK\3\4", 4) || has_magic(f, "PK\5\6", 4);
    if (!key && zip && !npz_read_sparse(f, &is, out)) return false;
    out->kind = is ? TYPE_SPARSE : TYPE_TENSOR;
    return is || read_by_format(f, key, &out->t);
}

bool value_read(Session *s, const char *path, const char *key, Span at, Value *out) {
    FileData d;
    bool is_stdin = strcmp(path, "-") == 0;
    *out = (Value){.kind = TYPE_NONE};
    if (!file_read(s, path, file_size_limit(s, path), &d)) return false;
    ArrayFile f = {s, is_stdin ? "<stdin>" : path, at, d.p, d.n, NULL};
    f.buf = d.n ? wrap_file(s, &d) : NULL;
    bool ok = is_stdin && !has_magic(&f, "\x93NUMPY", 6)
                  ? array_fail(&f, f.n ? E_FORMAT : E_TRUNCATED,
                               f.n ? "only npy can be read from a pipe"
                                   : "it is empty: did the command before fail?")
                  : read_array_value(&f, key, out);
    if (ok && !file_unchanged(&d)) {
        value_unref(out);
        ok = false;
    }
    if (f.buf)
        buffer_unref(f.buf);
    else
        file_close(&d);
    return ok;
}

bool value_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Value *out) {
    ArrayFile f = {s, name, at, p, n, NULL};
    *out = (Value){.kind = TYPE_NONE};
    return read_array_value(&f, key, out);
}

static bool tensor_from_value(Session *s, const char *name, Span at, Value *v,
                              Tensor *out) {
    if (v->kind == TYPE_TENSOR) return *out = v->t, true;
    value_unref(v);
    return fail(s, at, E_TYPE, "%s: it holds a sparse matrix, not an array", name);
}

bool array_read(Session *s, const char *path, const char *key, Span at, Tensor *out) {
    Value v;
    return value_read(s, path, key, at, &v) && tensor_from_value(s, path, at, &v, out);
}

bool array_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Tensor *out) {
    Value v;
    return value_read_mem(s, name, p, n, key, at, &v) &&
           tensor_from_value(s, name, at, &v, out);
}

/* ---- writing ---- */

bool writer_sink(void *w, const void *p, size_t n) {
    return writer_add(w, p, n);
}

bool array_sink_elements(const Tensor *t, SinkFn *sink, void *ctx) {
    enum { BLOCK = 1024 };
    _Alignas(16) char block[BLOCK * 16];
    size_t size = dtype_size(t->dtype), width = dtype_size(dtype_real(t->dtype));
    int64_t count = tensor_size(t);
    if (!HOST_IS_BIG && tensor_is_contiguous(t))
        return count == 0 || sink(ctx, t->data, (size_t)count * size);
    for (int64_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? (size_t)(count - i) : BLOCK;
        tensor_gather(t, i, n, block);
        if (HOST_IS_BIG) array_swap_bytes(block, n * (size / width), width);
        if (!sink(ctx, block, n * size)) return false;
    }
    return true;
}

static bool write_json_values(Session *s, Writer *w, size_t n,
                              const NamedValue *values) {
    Str b = STR(s);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        JsonWriter json = {.out = &b};
        str_clear(&b);
        value_json(s, values[i].name, values[i].v, &json);
        str_putc(&b, '\n');
        ok = writer_add(w, str_text(&b), b.n);
    }
    str_free(&b);
    return ok;
}

typedef enum ArrayFormat {
    FORMAT_NPY,
    FORMAT_CSV,
    FORMAT_TSV,
    FORMAT_NPZ,
    FORMAT_JSON,
    FORMAT_SAFETENSORS,
    FORMAT_N
} ArrayFormat;
static const char *const suffixes[FORMAT_N] = {".npy", ".csv",  ".tsv",
                                               ".npz", ".json", ".safetensors"};

typedef struct ArrayOutput {
    Session *s;
    const char *path;
    ArrayFormat format;
    size_t n;
    const NamedValue *value;
} ArrayOutput;

static bool write_arrays(const ArrayOutput *o, Writer *w, const NamedTensor *arrays) {
    switch (o->format) {
    case FORMAT_NPY:
        return npy_write(o->s, w, arrays[0].t);
    case FORMAT_CSV:
        return table_write(o->s, w, ',', arrays[0].t);
    case FORMAT_TSV:
        return table_write(o->s, w, '\t', arrays[0].t);
    case FORMAT_NPZ:
        return npz_write(o->s, w, o->n, arrays);
    case FORMAT_SAFETENSORS:
        return safetensors_write(o->s, w, o->n, arrays);
    case FORMAT_JSON:
    case FORMAT_N:
        break;
    }
    bug("array format %d", (int)o->format);
}

static bool write_values(const ArrayOutput *o, Writer *w) {
    if (o->format == FORMAT_JSON) return write_json_values(o->s, w, o->n, o->value);
    if (o->value[0].v->kind == TYPE_SPARSE)
        return npz_write_sparse(o->s, w, o->value[0].v->obj);
    NamedTensor *arrays = mem_zalloc(o->s, o->n, sizeof *arrays);
    for (size_t i = 0; i < o->n; i++)
        arrays[i] = (NamedTensor){o->value[i].name, &o->value[i].v->t};
    bool ok = write_arrays(o, w, arrays);
    mem_free(arrays);
    return ok;
}

/* Can the file's format hold these kinds? */
static bool check_value_kinds(const ArrayOutput *o) {
    for (size_t i = 0; i < o->n && o->format == FORMAT_JSON; i++)
        if (!value_readable(o->s, o->value[i].v, false))
            return note(o->s, NOWHERE, "it is %s, for %s", o->value[i].name, o->path);
    for (size_t i = 0; i < o->n && o->format != FORMAT_JSON; i++) {
        const Value *v = o->value[i].v;
        bool sparse = v->kind == TYPE_SPARSE && o->format == FORMAT_NPZ;
        if (v->kind == TYPE_TENSOR || (sparse && o->n == 1)) continue;
        if (sparse)
            return fail(o->s, NOWHERE, E_USAGE,
                        "%s: an npz file holds one sparse matrix and nothing else",
                        o->path);
        Str what = STR(o->s);
        value_describe(o->s, v, &what);
        fail(o->s, NOWHERE, E_USAGE, "%s: %s is %s, which a %s file can't hold",
             o->path, o->value[i].name, str_text(&what), suffixes[o->format]);
        str_free(&what);
        return note(o->s, NOWHERE,
                    v->kind == TYPE_SPARSE ? "use .npz or .json" : "use .json");
    }
    return true;
}

static bool find_array_format(Session *s, const char *path, size_t n,
                              ArrayFormat *out) {
    int format = 0;
    while (format < FORMAT_N && !has_suffix(path, suffixes[format]))
        format++;
    if (format == FORMAT_N)
        return fail(s, NOWHERE, E_USAGE,
                    "%s: the name of an array file must end in .npy, .npz, .csv, .tsv, "
                    ".json or .safetensors",
                    path);
    if (n != 1 && format <= FORMAT_TSV)
        return fail(s, NOWHERE, E_USAGE,
                    "%s holds one array, not %zu; use .npz, .json or .safetensors",
                    path, n);
    *out = (ArrayFormat)format;
    return true;
}

bool values_check_path(Session *s, const char *path, size_t n) {
    ArrayFormat format;
    return find_array_format(s, path, n, &format);
}

bool values_write_to(Session *s, Writer *w, const char *path, size_t n,
                     const NamedValue *values) {
    ArrayOutput o = {s, path, FORMAT_N, n, values};
    return find_array_format(s, path, n, &o.format) && check_value_kinds(&o) &&
           write_values(&o, w);
}

bool values_write(Session *s, const char *path, size_t n, const NamedValue *values) {
    ArrayOutput o = {s, path, FORMAT_N, n, values};
    if (!find_array_format(s, path, n, &o.format)) return false;
    Writer *w = check_value_kinds(&o) ? writer_open(s, path) : NULL;
    if (!w) return false;
    if (write_values(&o, w)) return writer_commit(w);
    writer_abort(w);
    return false;
}

bool array_write(Session *s, const char *path, size_t n, const NamedTensor *arrays) {
    Value *v = mem_zalloc(s, n, sizeof *v);
    NamedValue *named = mem_zalloc(s, n, sizeof *named);
    for (size_t i = 0; i < n; i++) {
        v[i].kind = TYPE_TENSOR;
        v[i].t = *arrays[i].t; /* borrowed */
        named[i] = (NamedValue){arrays[i].name, &v[i]};
    }
    bool ok = values_write(s, path, n, named);
    mem_free(v);
    mem_free(named);
    return ok;
}
