/* Reads values from files: the content decides the format, and the suffix what it
 * leaves open. A file's bytes are wrapped as a buffer, so that data which already has
 * the right layout is used in place. */
#include "format/unpack.h"
#include "value/file/file_impl.h"

#include <string.h>
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

bool array_fail_no_name(const ArrayFile *f, const char *what, const char *key,
                        const Names *names) {
    enum { SHOWN = 12 };
    Str list = STR(f->s), shown = STR(f->s);
    for (size_t i = 0; i < names->n && i < SHOWN; i++) {
        if (i) str_puts(&list, ", ");
        str_visible(&list, names->p[i], strlen(names->p[i]));
    }
    if (names->n > SHOWN) str_puts(&list, ", ...");
    const char *holds = list.n ? str_text(&list) : "nothing";
    if (key) str_visible(&shown, key, strlen(key));
    if (key)
        array_fail(f, E_NAME, "there is no %s '%s' in it; it holds %s", what,
                   str_text(&shown), holds);
    else
        array_fail(f, E_ARG, "choose an %s, as FILE:NAME; it holds %s", what, holds);
    const char *near = key ? str_nearest(f->s, key, names->p, names->n) : NULL;
    str_clear(&shown);
    if (near) str_visible(&shown, near, strlen(near));
    if (near) note(f->s, NOWHERE, "did you mean %s?", str_text(&shown));
    str_free(&shown);
    str_free(&list);
    return false;
}

/* ---- formats ---- */

static bool has_magic(const ArrayFile *f, const char *magic, size_t n) {
    return f->n >= n && memcmp(f->p, magic, n) == 0;
}

bool value_is_named(const ArrayFile *f, const char *suffixes) {
    size_t n = strlen(f->name);
    if (str_has_suffix(f->name, n, ".gz")) n -= 3;
    if (str_has_suffix(f->name, n, ".zst")) n -= 4;
    return str_has_suffix(f->name, n, suffixes);
}

static bool is_npy(const ArrayFile *f) {
    return has_magic(f, "\x93NUMPY", 6);
}

static bool is_zip(const ArrayFile *f) {
    return has_magic(f, "PK\3\4", 4) || has_magic(f, "PK\5\6", 4);
}

static bool is_torch(const ArrayFile *f) {
    return is_zip(f) && torch_is(f);
}

static bool is_table_by_name(const ArrayFile *f) {
    return value_is_named(f, ".csv .tsv");
}

/* Few bytes make a tensor of ONNX, so the name must say so where a graph may be, too.
 */
static bool is_array_by_name(const ArrayFile *f) {
    return value_is_named(f, ".pb") && onnx_tensor_is(f);
}

/* A length of 64 bits, which texts can't begin with, then an object. */
static bool is_safetensors(const ArrayFile *f) {
    return f->n > 8 && f->p[8] == '{' && memchr(f->p, 0, 8);
}

static bool is_json(const ArrayFile *f) {
    size_t i = has_magic(f, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (i < f->n && ascii_is_blank((char)f->p[i]))
        i++;
    bool open = i < f->n && (f->p[i] == '[' || f->p[i] == '{');
    return open || (i < f->n && value_is_named(f, ".json"));
}

static bool is_text(const ArrayFile *f) {
    enum { LOOK_AT = 1 << 16 };
    return f->n > 0 && !memchr(f->p, 0, f->n < LOOK_AT ? f->n : LOOK_AT);
}

static bool read_npy(const ArrayFile *f, const char *key, Tensor *out) {
    if (key)
        return array_fail(f, E_ARG,
                          "the file holds one array without a name, so '%s' can't "
                          "be selected from it",
                          key);
    return npy_read(f, out);
}

static bool fail_no_array_file(const ArrayFile *f) {
    return array_fail(
        f, E_FORMAT,
        "this is not a file of arrays: npy, npz, safetensors, GGUF, "
        "PyTorch's state dicts, JSON arrays and tables of numbers (csv, tsv) can "
        "be read");
}

/* Text of any kind is tried as a table; a line of words is none. */
static bool read_unnamed_table(const ArrayFile *f, const char *key, Tensor *out) {
    bool other = *str_suffix(f->name) && !value_is_named(f, ".txt .dat .data");
    if (!table_read(f, key, out))
        return other &&
               note(f->s, NOWHERE, "%s was read as a table, since it is text", f->name);
    if (out->shape[0] > 0) return true;
    tensor_unref(out);
    return fail_no_array_file(f);
}

static bool read_pickle(const ArrayFile *f, const char *key, Tensor *out) {
    (void)key, (void)out;
    return torch_fail_pickle(f);
}

static bool list_pickle(const ArrayFile *f, ValueList *l) {
    (void)l;
    return torch_fail_pickle(f);
}

/* In the order in which they are tried. */
typedef struct FileFormat {
    const char *name;
    bool (*is)(const ArrayFile *);
    bool (*read)(const ArrayFile *, const char *key, Tensor *);
    bool (*list)(const ArrayFile *, ValueList *);
} FileFormat;
static const FileFormat formats[] = {
    {"npy", is_npy, read_npy, npy_list},
    {"torch", is_torch, torch_read, torch_list},
    {"npz", is_zip, npz_read, npz_list},
    {"gguf", gguf_is, gguf_read, gguf_list},
    {"table", is_table_by_name, table_read, table_list},
    {"onnx", onnx_tensor_is, onnx_tensor_file_read, onnx_tensor_file_list},
    {"safetensors", is_safetensors, safetensors_read, safetensors_list},
    {"pickle", torch_is_pickle, read_pickle, list_pickle},
    {"json", is_json, json_array_read, json_array_list},
    {"table", is_text, read_unnamed_table, table_list}};

/* NULL: diagnosed */
static const FileFormat *find_format(const ArrayFile *f) {
    for (size_t i = 0; f->n && i < sizeof formats / sizeof *formats; i++)
        if (formats[i].is(f)) return &formats[i];
    if (f->n == 0)
        array_fail(f, E_TRUNCATED, "the file is empty");
    else
        fail_no_array_file(f);
    return NULL;
}

static bool read_by_format(const ArrayFile *f, const char *key, Tensor *out) {
    const FileFormat *format = find_format(f);
    return format && format->read(f, key, out);
}

static bool read_value(const ArrayFile *f, const char *key, Value *out) {
    bool is = false;
    if (!key && is_zip(f) && !npz_read_sparse(f, &is, out)) return false;
    out->kind = is ? TYPE_SPARSE : TYPE_TENSOR;
    return is || read_by_format(f, key, &out->t);
}

/* ---- bytes ---- */

static void release_file(Buffer *b) {
    FileData *d = b->ctx;
    file_close(d);
    mem_free(d);
    mem_free(b);
}

static void release_unpacked(Buffer *b) {
    mem_free(b->data);
    mem_free(b);
}

/* Takes ownership of the file's bytes. A mapping is private and writable: pages are
 * copied when written, so the owner of the tensor may modify it freely. NULL: it can't
 * be made so. */
static Buffer *wrap_file(Session *s, const FileData *d) {
    union {
        const unsigned char *in;
        void *out;
    } u = {.in = d->p};
    if (d->mapped && !file_mapped_write(s, u.out, d->n)) return NULL;
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

/* The bytes of a file, after unpacking. */
typedef struct ArrayBytes {
    FileData file; /* while they are its own, or no buffer could wrap them */
    Buffer *buf;
} ArrayBytes;

static void close_bytes(ArrayBytes *b) {
    if (b->buf)
        buffer_unref(b->buf);
    else
        file_close(&b->file);
}

static bool unpack_file(const ArrayFile *f, Unpacked *out) {
    Packed from = {f->name, f->at, f->p, f->n, session_max_memory(f->s)};
    return unpack_all(f->s, &from, out);
}

static bool unpack_bytes(ArrayFile *f, ArrayBytes *b) {
    Unpacked u;
    if (!unpack_file(f, &u)) return false;
    bool ok = file_unchanged(&b->file);
    file_close(&b->file);
    b->buf = buffer_wrap(f->s, u.p, u.n, release_unpacked, NULL);
    f->p = u.p;
    f->n = u.n;
    return ok;
}

static bool open_bytes(const char *path, ArrayFile *f, ArrayBytes *b) {
    *b = (ArrayBytes){.buf = NULL};
    if (!file_read(f->s, path, file_size_limit(f->s, path), &b->file)) return false;
    f->p = b->file.p;
    f->n = b->file.n;
    bool ok = true;
    if (unpack_is_packed(f->p, f->n))
        ok = unpack_bytes(f, b);
    else if (f->n)
        b->buf = wrap_file(f->s, &b->file);
    if (!ok) close_bytes(b);
    return ok;
}

/* ---- standard input ---- */

/* What came through standard input: several values may be parts of it. An array that
 * fills it belongs to the one that takes it. */
typedef struct StandardInput {
    ArrayBytes bytes;
    const unsigned char *p;
    size_t n;
    bool taken;
} StandardInput;

static void free_stdin(void *p) {
    StandardInput *in = p;
    if (!in->taken) close_bytes(&in->bytes);
    mem_free(in);
}

bool value_is_stdin(const char *path, size_t n) {
    static const char *const names[] = {"-", "/dev/stdin", "/dev/fd/0",
                                        "/proc/self/fd/0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(names[i], path, n) == 0) return true;
    return false;
}

/* Opens it again for each value; an npy file goes to the first that reads it. */
static bool open_stdin(ArrayFile *f, StandardInput **got) {
    StandardInput *in = session_slot(f->s, SLOT_STDIN);
    if (!in) {
        StandardInput first = {.taken = false};
        if (!open_bytes("-", f, &first.bytes)) return false;
        first.p = f->p;
        first.n = f->n;
        in = mem_alloc(f->s, sizeof *in);
        *in = first;
        session_set_slot(f->s, SLOT_STDIN, in, free_stdin);
    }
    *got = in;
    f->p = in->p;
    f->n = in->n;
    if (in->taken)
        return array_fail(f, E_USAGE,
                          "it held one array, which another value has taken: save it "
                          "in a file");
    return f->n > 0 ||
           array_fail(f, E_TRUNCATED, "it is empty: did the command before fail?");
}

static bool read_stdin(ArrayFile *f, const char *key, Value *out) {
    StandardInput *in;
    if (!open_stdin(f, &in)) return false;
    in->taken = is_npy(f);
    if (in->taken) f->buf = in->bytes.buf;
    bool ok = read_value(f, key, out);
    if (in->taken) close_bytes(&in->bytes);
    return ok;
}

/* ---- the whole ---- */

bool value_read(Session *s, const char *path, Selection *what, Value *out) {
    *out = (Value){.kind = TYPE_NONE};
    what->converted = false;
    bool is_stdin = value_is_stdin(path, strlen(path));
    ArrayFile f = {
        .s = s, .name = is_stdin ? "<stdin>" : path, .at = what->at, .what = what};
    ArrayBytes b;
    if (is_stdin) return read_stdin(&f, what->key, out);
    if (!open_bytes(path, &f, &b)) return false;
    f.buf = b.buf;
    bool ok = read_value(&f, what->key, out);
    if (ok && !file_unchanged(&b.file)) {
        value_unref(out);
        ok = false;
    }
    close_bytes(&b);
    return ok;
}

/* GGUF is opened once, since its header is long and its arrays don't overlap. Arrays of
 * other formats may share memory in the file, and so each gets a mapping of its own. */
struct ValueFile {
    ArrayFile file; /* p NULL: each array opens it */
    ArrayBytes bytes;
    FileHeader header;
    char *path;
};

ValueFile *value_file_open(Session *s, const char *path, Span at) {
    ValueFile *f = mem_zalloc(s, 1, sizeof *f);
    f->path = mem_strdup(s, path);
    f->file = (ArrayFile){.s = s, .name = f->path, .at = at, .header = &f->header};
    if (value_is_stdin(path, strlen(path))) return f;
    if (!open_bytes(path, &f->file, &f->bytes)) {
        value_file_close(f);
        return NULL;
    }
    f->file.buf = f->bytes.buf;
    if (gguf_is(&f->file)) return f;
    close_bytes(&f->bytes);
    f->file.p = NULL;
    return f;
}

bool value_file_read(ValueFile *f, Selection *what, Value *out) {
    if (!f->file.p) return value_read(f->file.s, f->path, what, out);
    *out = (Value){.kind = TYPE_NONE};
    what->converted = false;
    f->file.what = what;
    f->file.at = what->at;
    if (!read_value(&f->file, what->key, out)) return false;
    if (file_unchanged(&f->bytes.file)) return true;
    value_unref(out);
    return false;
}

void value_file_close(ValueFile *f) {
    if (!f) return;
    if (f->header.p) f->header.free(f->header.p);
    if (f->file.p) close_bytes(&f->bytes);
    mem_free(f->path);
    mem_free(f);
}

bool value_read_mem(Session *s, const char *name, const void *p, size_t n,
                    Selection *what, Value *out) {
    ArrayFile f = {.s = s, .name = name, .at = what->at, .p = p, .n = n};
    f.what = what;
    what->converted = false;
    *out = (Value){.kind = TYPE_NONE};
    if (!unpack_is_packed(p, n)) return read_value(&f, what->key, out);
    Unpacked u;
    if (!unpack_file(&f, &u)) return false;
    f.p = u.p;
    f.n = u.n;
    f.buf = buffer_wrap(s, u.p, u.n, release_unpacked, NULL);
    bool ok = read_value(&f, what->key, out);
    buffer_unref(f.buf);
    return ok;
}

static bool tensor_from_value(Session *s, const char *name, Span at, Value *v,
                              Tensor *out) {
    if (v->kind == TYPE_TENSOR) return *out = v->t, true;
    value_unref(v);
    return fail(s, at, E_TYPE, "%s: it holds a sparse matrix, not an array", name);
}

bool array_read(Session *s, const char *path, const char *key, Span at, Tensor *out) {
    Value v;
    return value_read(s, path, &(Selection){.key = key, .want = DT_NONE, .at = at},
                      &v) &&
           tensor_from_value(s, path, at, &v, out);
}

bool array_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Tensor *out) {
    Value v;
    return value_read_mem(s, name, p, n,
                          &(Selection){.key = key, .want = DT_NONE, .at = at}, &v) &&
           tensor_from_value(s, name, at, &v, out);
}

/* ---- listing ---- */

ValueInfo *value_list_add(Session *s, ValueList *l, const char *name, DType d, int ndim,
                          const int64_t *shape) {
    ValueInfo v = {.name = name, .ndim = ndim};
    size_t dims = (size_t)ndim * sizeof *shape;
    v.dtype = d == DT_NONE ? "unknown" : dtype_name(d);
    if (dims) memcpy(v.shape, shape, dims);
    if (d != DT_NONE) v.bytes = dtype_size(d);
    for (int i = 0; i < ndim; i++)
        v.bytes *= (uint64_t)shape[i];
    vec_push(s, &l->info, v);
    return &l->info.p[l->info.n - 1];
}

static bool list_values(const ArrayFile *f, ValueList *out) {
    const FileFormat *format = find_format(f);
    if (!format) return false;
    out->form = format->name;
    return format->list(f, out);
}

bool value_list(Session *s, const char *path, Span at, ValueList *out) {
    Selection all = {.at = at};
    all.want = DT_NONE;
    bool is_stdin = value_is_stdin(path, strlen(path));
    ArrayFile f = {.s = s, .name = is_stdin ? "<stdin>" : path, .at = at, .what = &all};
    ArrayBytes b;
    StandardInput *in;
    *out = (ValueList){.a = arena_new(s)};
    if (is_stdin) return open_stdin(&f, &in) && list_values(&f, out);
    if (!open_bytes(path, &f, &b)) return false;
    f.buf = b.buf;
    bool ok = list_values(&f, out) && file_unchanged(&b.file);
    close_bytes(&b);
    return ok;
}

void value_list_free(ValueList *l) {
    vec_free(&l->info);
    vec_free(&l->notes);
    arena_free(l->a);
}

/* Graphs in JSON have this key. */
static bool is_graph_json(const ArrayFile *f) {
    static const char key[] = "\"thunkline\"";
    enum { LOOK_AT = 4096 };
    size_t n = f->n < LOOK_AT ? f->n : LOOK_AT;
    return is_json(f) && memmem(f->p, n, key, sizeof key - 1);
}

/* Text without a suffix may be a graph; what is packed may be anything. */
bool value_is_file(Session *s, const char *path) {
    ArrayFile f = {.s = s, .name = path};
    ArrayBytes b;
    size_t mark = diag_count(s);
    struct stat st;
    if (value_is_stdin(path, strlen(path)) || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return false;
    if (!open_bytes(path, &f, &b)) return diag_rewind(s, mark), false;
    bool is = is_npy(&f) || is_zip(&f) || gguf_is(&f) || torch_is_pickle(&f) ||
              is_table_by_name(&f) || is_safetensors(&f) || is_array_by_name(&f) ||
              (is_json(&f) && !is_graph_json(&f)) ||
              (value_is_named(&f, ".txt .dat .data") &&
               !str_begins_definition((const char *)f.p, f.n, "=:"));
    close_bytes(&b);
    return is;
}
