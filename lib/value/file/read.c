/* Array files: detects the format, turns bytes into tensors. A file's bytes are wrapped
 * as a buffer, so that data which already has the right layout is used in place. */
#include "value/file/file_impl.h"

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
