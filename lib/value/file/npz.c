/* npz: a zip archive of npy files, or of the parts of a sparse matrix. */
#include "value/file/zip.h"

#include <string.h>

/* ---- reading ---- */

/* The length of the name without ".npy". */
static size_t member_key_length(const ZipMember *m) {
    bool npy = m->name_len > 4 && memcmp(m->name + m->name_len - 4, ".npy", 4) == 0;
    return npy ? m->name_len - 4 : m->name_len;
}

static bool is_member_key(const ZipMember *m, const char *key) {
    size_t n = strlen(key);
    return (n == member_key_length(m) || n == m->name_len) &&
           memcmp(key, m->name, n) == 0;
}

static bool fail_no_member(const ArrayFile *f, const char *key, ZipDirectory d) {
    Arena *a = arena_new(f->s);
    Vec(const char *) name = {0};
    ZipMember m;
    while (d.count > 0 && zip_next(f, &d, &m))
        vec_push(f->s, &name, arena_str(a, m.name, member_key_length(&m)));
    if (d.count == 0) array_fail_no_name(f, "array", key, &(Names){name.p, name.n});
    vec_free(&name);
    arena_free(a);
    return false;
}

static bool find_member(const ArrayFile *f, const char *key, ZipMember *found) {
    ZipDirectory d, all;
    if (!zip_open(f, &d)) return false;
    all = d;
    if (!key && d.count != 1) return fail_no_member(f, key, all);
    while (d.count > 0) {
        if (!zip_next(f, &d, found)) return false;
        if (!key || is_member_key(found, key)) return true;
    }
    return fail_no_member(f, key, all);
}

static bool read_array_member(const ArrayFile *member, void *out) {
    return npy_read(member, out);
}

bool npz_read(const ArrayFile *f, const char *key, Tensor *out) {
    ZipMember m;
    return find_member(f, key, &m) &&
           zip_read(f, &m, ZIP_WHOLE, read_array_member, out);
}

static bool list_member(const ArrayFile *member, void *out) {
    return npy_list(member, out);
}

/* A member that can't be read stands there without its type. */
bool npz_list(const ArrayFile *f, ValueList *l) {
    enum { HEADER_BYTES = 65536 + 12 };
    ZipDirectory d;
    ZipMember m;
    if (!zip_open(f, &d)) return false;
    while (d.count > 0) {
        if (!zip_next(f, &d, &m)) return false;
        size_t mark = diag_count(f->s);
        if (!zip_read(f, &m, HEADER_BYTES, list_member, l)) {
            diag_rewind(f->s, mark);
            value_list_add(f->s, l, NULL, DT_NONE, 0, NULL)->bytes = m.size;
        }
        l->info.p[l->info.n - 1].name = arena_str(l->a, m.name, member_key_length(&m));
    }
    return true;
}

/* ---- a sparse matrix as an archive: format, shape, data, indices ---- */

enum { FORMAT_ROOM = 16 };
static bool read_format_member(const ArrayFile *member, void *out) {
    return npy_read_text(member, out, FORMAT_ROOM);
}

static bool is_sparse_archive(const ArrayFile *f, bool *is) {
    static const char *const wanted[] = {"format", "shape", "data"};
    ZipDirectory d;
    ZipMember m;
    unsigned seen = 0;
    if (!zip_open(f, &d)) return false;
    while (d.count > 0) {
        if (!zip_next(f, &d, &m)) return false;
        for (unsigned i = 0; i < 3; i++)
            if (is_member_key(&m, wanted[i])) seen |= 1U << i;
    }
    return *is = seen == 7, true;
}

static bool read_matrix_shape(const ArrayFile *f, int64_t shape[2]) {
    Tensor t = {0};
    if (!npz_read(f, "shape", &t)) return false;
    bool ok = t.ndim == 1 && t.shape[0] == 2 && dtype_is_integer(t.dtype);
    for (int i = 0; ok && i < 2; i++)
        shape[i] = tensor_i64(&t, i);
    tensor_unref(&t);
    return ok || array_fail(f, E_FORMAT, "the shape of a sparse matrix is two sizes");
}

bool npz_read_sparse(const ArrayFile *f, bool *is, Value *out) {
    char format[FORMAT_ROOM];
    int64_t shape[2];
    ZipMember m;
    if (!is_sparse_archive(f, is)) return false;
    if (!*is) return true;
    if (!find_member(f, "format", &m) ||
        !zip_read(f, &m, ZIP_WHOLE, read_format_member, format) ||
        !read_matrix_shape(f, shape))
        return false;
    bool coo = strcmp(format, "coo") == 0, csc = strcmp(format, "csc") == 0;
    if (!coo && !csc && strcmp(format, "csr") != 0)
        return array_fail(f, E_FORMAT,
                          "it holds a sparse matrix in the format '%s': csr, csc and "
                          "coo can be read",
                          format);
    Tensor part[3] = {{0}};
    bool ok = npz_read(f, "data", &part[0]) &&
              npz_read(f, coo ? "row" : "indices", &part[1]) &&
              npz_read(f, coo ? "col" : "indptr", &part[2]);
    SparseSource by = {f->s, SPARSE_READ, f->at};
    SparseObject *o =
        !ok   ? NULL
        : coo ? sparse_from_triplets(&by, false, shape, &part[0], &part[1], &part[2])
              : sparse_from_parts(&by, csc, shape, &part[0], &part[1], &part[2]);
    for (int i = 0; i < 3; i++)
        tensor_unref(&part[i]);
    if (o) *out = (Value){.kind = TYPE_SPARSE, .obj = o};
    return o || (ok && note(f->s, NOWHERE, "in %s", f->name));
}

/* ---- writing ---- */

bool npz_write(Session *s, Writer *w, size_t n, const NamedTensor *arrays) {
    ZipPart *part = mem_zalloc(s, n, sizeof *part);
    for (size_t i = 0; i < n; i++)
        part[i] = (ZipPart){.name = arrays[i].name, .t = arrays[i].t};
    bool ok = zip_write(s, w, n, part);
    mem_free(part);
    return ok;
}

bool npz_write_sparse(Session *s, Writer *w, const SparseObject *m) {
    char format[256];
    const int64_t two = 2;
    Tensor shape = {0};
    if (!tensor_new(s, DT_INT64, 1, &two, &shape)) return false;
    memcpy(shape.data, m->shape, sizeof m->shape);
    ZipPart part[] = {{.name = "indices", .t = &m->indices},
                      {.name = "indptr", .t = &m->indptr},
                      {.name = "format", .p = format},
                      {.name = "shape", .t = &shape},
                      {.name = "data", .t = &m->data}};
    part[2].n = npy_text(s, m->csc ? "csc" : "csr", format, sizeof format);
    bool ok = zip_write(s, w, sizeof part / sizeof *part, part);
    tensor_unref(&shape);
    return ok;
}
