/* npz: a zip archive of npy files. Read through its central directory, with every
 * number checked against the file. Written uncompressed, with each array's data at a
 * multiple of 64 bytes, so that it can be mapped. */
#include "value/array_impl.h"

#include <dlfcn.h>
#include <string.h>

enum {
    LOCAL_SIZE = 30,
    ENTRY_SIZE = 46,
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    STORED = 0,
    DEFLATED = 8,
    DEFLATE_RATIO = 1032, /* the largest factor by which deflate data can grow */
    DATE_1980 = 0x21,
    NAME_MAX_BYTES = 65000
};
#define LOCAL_MAGIC   0x04034B50U
#define ENTRY_MAGIC   0x02014B50U
#define END_MAGIC     0x06054B50U
#define LOCATOR_MAGIC 0x07064B50U
#define END64_MAGIC   0x06064B50U
#define FULL32        0xFFFFFFFFU

/* ---- CRC-32, eight bytes at a time ---- */

typedef struct Crc32 {
    uint32_t table[8][256];
    uint32_t value;
} Crc32;

static void crc_init(Crc32 *c) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int k = 0; k < 8; k++)
            v = v >> 1 ^ (v & 1 ? 0xEDB88320U : 0);
        c->table[0][i] = v;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) {
            uint32_t v = c->table[t - 1][i];
            c->table[t][i] = v >> 8 ^ c->table[0][v & 255];
        }
    c->value = FULL32;
}

static bool crc_sink(void *ctx, const void *data, size_t n) {
    Crc32 *c = ctx;
    const unsigned char *p = data;
    uint32_t v = c->value;
    for (; n >= 8; n -= 8, p += 8) {
        v ^= (uint32_t)read_le(p, 4);
        v = c->table[7][v & 255] ^ c->table[6][v >> 8 & 255] ^
            c->table[5][v >> 16 & 255] ^ c->table[4][v >> 24] ^ c->table[3][p[4]] ^
            c->table[2][p[5]] ^ c->table[1][p[6]] ^ c->table[0][p[7]];
    }
    for (; n > 0; n--)
        v = v >> 8 ^ c->table[0][(v ^ *p++) & 255];
    c->value = v;
    return true;
}

static uint32_t crc_of_bytes(const void *p, size_t n) {
    Crc32 c;
    crc_init(&c);
    crc_sink(&c, p, n);
    return ~c.value;
}

/* ---- zlib's inflate, loaded if a file needs it ---- */

typedef struct ZStream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
} ZStream;

typedef struct Zlib {
    void *lib;
    int (*init)(ZStream *, int, const char *, int);
    int (*inflate)(ZStream *, int);
    int (*end)(ZStream *);
} Zlib;

static bool zlib_open(Zlib *z) {
    z->lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!z->lib) return false;
    *(void **)&z->init = dlsym(z->lib, "inflateInit2_");
    *(void **)&z->inflate = dlsym(z->lib, "inflate");
    *(void **)&z->end = dlsym(z->lib, "inflateEnd");
    return z->init && z->inflate && z->end;
}

static unsigned zlib_piece_size(size_t n) {
    return n < (1U << 30) ? (unsigned)n : 1U << 30;
}

/* Inflates a whole stream, which must give exactly `room` bytes. */
static bool inflate_all(const ArrayFile *f, const Zlib *z, const unsigned char *p,
                        size_t n, unsigned char *out, size_t room) {
    enum { NO_HEADER = -15, NO_FLUSH = 0, NO_MEMORY = -4, OK = 0, STREAM_END = 1 };
    ZStream st = {.next_in = p, .next_out = out};
    int r = z->init(&st, NO_HEADER, "1.2.11", (int)sizeof st);
    while (r == OK) {
        size_t in = n - (size_t)(st.next_in - p),
               left = room - (size_t)(st.next_out - out);
        st.avail_in = zlib_piece_size(in);
        st.avail_out = zlib_piece_size(left);
        r = z->inflate(&st, NO_FLUSH);
    }
    size_t made = (size_t)(st.next_out - out);
    z->end(&st);
    if (r == NO_MEMORY)
        return array_fail(f, E_MEM, "there is not enough memory to unpack the array");
    return (r == STREAM_END && made == room) ||
           array_fail(f, E_FORMAT, "the compressed data is damaged");
}

/* ---- reading ---- */

typedef struct ZipMember {
    const char *name;
    size_t name_len;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, offset;
} ZipMember;

typedef struct ZipDirectory {
    const unsigned char *p, *end;
    uint64_t count;
} ZipDirectory;

static bool fail_damaged_zip(const ArrayFile *f) {
    return array_fail(f, E_FORMAT, "the zip archive's directory is damaged");
}

static const unsigned char *find_end_record(const ArrayFile *f) {
    size_t low = f->n > END_SIZE + 65535U ? f->n - END_SIZE - 65535U : 0;
    for (size_t i = f->n >= END_SIZE ? f->n - END_SIZE + 1 : 0; i-- > low;)
        if (read_le(f->p + i, 4) == END_MAGIC &&
            read_le(f->p + i + 20, 2) <= f->n - i - END_SIZE)
            return f->p + i;
    return NULL;
}

/* Finds the 64-bit end record, if the 32-bit one refers to it. */
static bool find_end64_record(const ArrayFile *f, const unsigned char *end,
                              const unsigned char **end64) {
    size_t at = (size_t)(end - f->p);
    *end64 = NULL;
    if (at < LOCATOR_SIZE || read_le(end - LOCATOR_SIZE, 4) != LOCATOR_MAGIC)
        return true;
    uint64_t where = read_le(end - LOCATOR_SIZE + 8, 8);
    if (where > at || at - where < END64_SIZE ||
        read_le(f->p + where, 4) != END64_MAGIC)
        return fail_damaged_zip(f);
    *end64 = f->p + where;
    return true;
}

static bool find_directory(const ArrayFile *f, ZipDirectory *d) {
    const unsigned char *end = find_end_record(f), *end64;
    if (!end) return array_fail(f, E_TRUNCATED, "the zip archive is cut off");
    if (!find_end64_record(f, end, &end64)) return false;
    d->count = end64 ? read_le(end64 + 32, 8) : read_le(end + 10, 2);
    uint64_t size = end64 ? read_le(end64 + 40, 8) : read_le(end + 12, 4);
    uint64_t at = end64 ? read_le(end64 + 48, 8) : read_le(end + 16, 4);
    if (at > f->n || size > f->n - at) return fail_damaged_zip(f);
    d->p = f->p + at;
    d->end = d->p + size;
    return true;
}

/* Sizes that don't fit in 32 bits are in an extra field, in this order. */
static bool read_extra64(ZipMember *m, const unsigned char *p,
                         const unsigned char *end) {
    uint64_t *part[3] = {&m->size, &m->packed, &m->offset};
    while (end - p >= 4) {
        uint64_t id = read_le(p, 2), n = read_le(p + 2, 2);
        p += 4;
        if ((uint64_t)(end - p) < n) return false;
        for (int i = 0; id == 1 && i < 3; i++) {
            if (*part[i] != FULL32) continue;
            if (n < 8) return false;
            *part[i] = read_le(p, 8);
            p += 8;
            n -= 8;
        }
        p += n;
    }
    return true;
}

static bool next_zip_member(const ArrayFile *f, ZipDirectory *d, ZipMember *m) {
    const unsigned char *p = d->p;
    if (d->end - p < ENTRY_SIZE || read_le(p, 4) != ENTRY_MAGIC)
        return fail_damaged_zip(f);
    size_t name = read_le(p + 28, 2), extra = read_le(p + 30, 2);
    size_t all = ENTRY_SIZE + name + extra + read_le(p + 32, 2);
    if ((size_t)(d->end - p) < all) return fail_damaged_zip(f);
    *m = (ZipMember){.name = (const char *)p + ENTRY_SIZE,
                     .name_len = name,
                     .flags = (unsigned)read_le(p + 8, 2),
                     .method = (unsigned)read_le(p + 10, 2),
                     .crc = (uint32_t)read_le(p + 16, 4),
                     .packed = read_le(p + 20, 4),
                     .size = read_le(p + 24, 4),
                     .offset = read_le(p + 42, 4)};
    const unsigned char *x = p + ENTRY_SIZE + name;
    d->p = p + all;
    d->count--;
    return read_extra64(m, x, x + extra) || fail_damaged_zip(f);
}

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

/* "it holds a, b, c": the available members. */
static bool fail_no_member(const ArrayFile *f, const char *key, ZipDirectory d) {
    enum { SHOWN = 12 };
    Str names = STR(f->s);
    ZipMember m;
    for (int i = 0; d.count > 0 && i < SHOWN && next_zip_member(f, &d, &m); i++) {
        if (i) str_puts(&names, ", ");
        str_visible(&names, m.name, member_key_length(&m));
    }
    if (d.count > 0) str_puts(&names, ", ...");
    if (key)
        array_fail(f, E_NAME, "there is no array '%s' in it; it holds %s", key,
                   names.n ? str_text(&names) : "nothing");
    else
        array_fail(f, E_ARG, "choose an array, as FILE:NAME; it holds %s",
                   names.n ? str_text(&names) : "nothing");
    str_free(&names);
    return false;
}

static bool find_member(const ArrayFile *f, const char *key, ZipMember *found) {
    ZipDirectory d, all;
    if (!find_directory(f, &d)) return false;
    all = d;
    if (!key && d.count != 1) return fail_no_member(f, key, all);
    while (d.count > 0) {
        if (!next_zip_member(f, &d, found)) return false;
        if (!key || is_member_key(found, key)) return true;
    }
    return fail_no_member(f, key, all);
}

/* The member's bytes in the archive, after its own header. */
static bool locate_member(const ArrayFile *f, const ZipMember *m,
                          const unsigned char **p) {
    if (m->offset > f->n || f->n - m->offset < LOCAL_SIZE) return fail_damaged_zip(f);
    const unsigned char *h = f->p + m->offset;
    if (read_le(h, 4) != LOCAL_MAGIC) return fail_damaged_zip(f);
    uint64_t skip = LOCAL_SIZE + read_le(h + 26, 2) + read_le(h + 28, 2);
    uint64_t left = f->n - m->offset;
    if (skip > left || m->packed > left - skip) return fail_damaged_zip(f);
    *p = h + skip;
    return true;
}

static bool inflate_member(const ArrayFile *f, const ZipMember *m,
                           const unsigned char *p, Buffer **out) {
    if (m->size / DEFLATE_RATIO > m->packed) return fail_damaged_zip(f);
    Zlib z;
    if (!zlib_open(&z)) {
        if (z.lib) dlclose(z.lib);
        return array_fail(
            f, E_IO,
            "the arrays are compressed, but zlib (libz.so.1) is not installed");
    }
    *out = buffer_new(f->s, m->size);
    bool ok = *out && inflate_all(f, &z, p, m->packed, (*out)->data, m->size);
    dlclose(z.lib);
    if (!ok) buffer_unref(*out);
    return ok;
}

typedef bool ReadFn(const ArrayFile *member, void *out);

static bool read_member(const ArrayFile *f, const ZipMember *m, ReadFn *read,
                        void *out) {
    ArrayFile member = *f;
    Buffer *own = NULL;
    const unsigned char *p = NULL;
    if (m->flags & 1) return array_fail(f, E_FORMAT, "the zip archive is encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return array_fail(f, E_FORMAT, "zip's compression method %u is not known",
                          m->method);
    if (!locate_member(f, m, &p)) return false;
    if (m->method == STORED && m->size != m->packed) return fail_damaged_zip(f);
    if (m->method == DEFLATED && !inflate_member(f, m, p, &own)) return false;
    member.p = own ? own->data : p;
    member.n = m->size;
    if (own) member.buf = own;
    bool ok = crc_of_bytes(member.p, member.n) == m->crc
                  ? read(&member, out)
                  : array_fail(f, E_CHECKSUM, "an array's checksum is wrong");
    buffer_unref(own);
    return ok;
}

static bool read_array_member(const ArrayFile *member, void *out) {
    return npy_read(member, out);
}

bool npz_read(const ArrayFile *f, const char *key, Tensor *out) {
    ZipMember m;
    return find_member(f, key, &m) && read_member(f, &m, read_array_member, out);
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
    if (!find_directory(f, &d)) return false;
    while (d.count > 0) {
        if (!next_zip_member(f, &d, &m)) return false;
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
        !read_member(f, &m, read_format_member, format) || !read_matrix_shape(f, shape))
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

typedef struct ZipEntry {
    uint64_t offset, size;
    uint32_t crc;
} ZipEntry;

/* The fields shared by a local header and a directory entry. */
static unsigned char *put_common_fields(unsigned char *p, const ZipEntry *m,
                                        size_t name, size_t extra) {
    bool big = m->size >= FULL32 || m->offset >= FULL32;
    p = put_le(p, big ? 45 : 20, 2);
    p = put_le(p, 1U << 11, 2); /* names are UTF-8 */
    p = put_le(p, STORED, 2);
    p = put_le(p, 0, 2);
    p = put_le(p, DATE_1980, 2);
    p = put_le(p, m->crc, 4);
    p = put_le(p, m->size >= FULL32 ? FULL32 : m->size, 4);
    p = put_le(p, m->size >= FULL32 ? FULL32 : m->size, 4);
    p = put_le(p, name, 2);
    return put_le(p, extra, 2);
}

static bool write_member_name(Writer *w, const char *name) {
    return writer_add(w, name, strlen(name)) && writer_add(w, ".npy", 4);
}

static bool write_local_header(Writer *w, const char *name, const ZipEntry *m) {
    unsigned char head[LOCAL_SIZE], extra[20 + 4 + 64] = {0}, *x = extra, *p = head;
    size_t len = strlen(name) + 4;
    if (m->size >= FULL32)
        x = put_le(put_le(put_le(put_le(x, 1, 2), 16, 2), m->size, 8), m->size, 8);
    size_t used = (size_t)(x - extra) + 4;
    size_t pad = (64 - (m->offset + LOCAL_SIZE + len + used) % 64) % 64;
    x = put_le(put_le(x, 0xD935, 2), pad, 2) + pad; /* the id that zipalign uses */
    p = put_common_fields(put_le(p, LOCAL_MAGIC, 4), m, len, (size_t)(x - extra));
    return writer_add(w, head, (size_t)(p - head)) && write_member_name(w, name) &&
           writer_add(w, extra, (size_t)(x - extra));
}

static bool write_directory_entry(Writer *w, const char *name, const ZipEntry *m) {
    unsigned char head[ENTRY_SIZE], extra[28], *x = extra + 4, *p = head;
    if (m->size >= FULL32) x = put_le(put_le(x, m->size, 8), m->size, 8);
    if (m->offset >= FULL32) x = put_le(x, m->offset, 8);
    size_t used = x > extra + 4 ? (size_t)(x - extra) : 0;
    put_le(put_le(extra, 1, 2), used ? used - 4 : 0, 2);
    p = put_le(put_le(p, ENTRY_MAGIC, 4), 45, 2);
    p = put_common_fields(p, m, strlen(name) + 4, used);
    p = put_le(p, 0, 2 + 2 + 2); /* comment, disk, attributes */
    p = put_le(p, 0, 4);
    p = put_le(p, m->offset >= FULL32 ? FULL32 : m->offset, 4);
    return writer_add(w, head, (size_t)(p - head)) && write_member_name(w, name) &&
           writer_add(w, extra, used);
}

static bool write_end_record(Writer *w, uint64_t count, uint64_t at, uint64_t size) {
    unsigned char buf[END64_SIZE + LOCATOR_SIZE + END_SIZE], *p = buf;
    if (count >= 0xFFFF || at >= FULL32 || size >= FULL32) {
        p = put_le(put_le(p, END64_MAGIC, 4), END64_SIZE - 12, 8);
        p = put_le(put_le(p, 45, 2), 45, 2);
        p = put_le(put_le(p, 0, 4), 0, 4);
        p = put_le(put_le(p, count, 8), count, 8);
        p = put_le(put_le(p, size, 8), at, 8);
        p = put_le(put_le(p, LOCATOR_MAGIC, 4), 0, 4);
        p = put_le(put_le(p, at + size, 8), 1, 4);
    }
    uint64_t few = count < 0xFFFF ? count : 0xFFFF;
    p = put_le(put_le(p, END_MAGIC, 4), 0, 4);
    p = put_le(put_le(p, few, 2), few, 2);
    p = put_le(p, size < FULL32 ? size : FULL32, 4);
    p = put_le(p, at < FULL32 ? at : FULL32, 4);
    p = put_le(p, 0, 2);
    return writer_add(w, buf, (size_t)(p - buf));
}

/* A file of the archive: an array, or ready bytes. */
typedef struct ZipPart {
    const char *name;
    const Tensor *t;
    const char *p;
    size_t n;
    ZipEntry packed;
} ZipPart;

static bool sink_zip_part(Session *s, const ZipPart *a, SinkFn *sink, void *ctx) {
    return a->t ? npy_sink(s, a->t, sink, ctx) : sink(ctx, a->p, a->n);
}

static bool write_zip_part(Session *s, Writer *w, ZipPart *a) {
    Crc32 crc;
    if (strlen(a->name) > NAME_MAX_BYTES)
        return fail(s, NOWHERE, E_LIMIT, "the name of an array is too long for npz");
    crc_init(&crc);
    sink_zip_part(s, a, crc_sink, &crc);
    a->packed =
        (ZipEntry){writer_offset(w), a->t ? npy_size(s, a->t) : a->n, ~crc.value};
    return write_local_header(w, a->name, &a->packed) &&
           sink_zip_part(s, a, writer_sink, w);
}

static bool write_archive(Session *s, Writer *w, size_t n, ZipPart *part) {
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = write_zip_part(s, w, &part[i]);
    uint64_t at = writer_offset(w);
    for (size_t i = 0; i < n && ok; i++)
        ok = write_directory_entry(w, part[i].name, &part[i].packed);
    return ok && write_end_record(w, n, at, writer_offset(w) - at);
}

bool npz_write(Session *s, Writer *w, size_t n, const NamedTensor *arrays) {
    ZipPart *part = mem_zalloc(s, n, sizeof *part);
    for (size_t i = 0; i < n; i++)
        part[i] = (ZipPart){.name = arrays[i].name, .t = arrays[i].t};
    bool ok = write_archive(s, w, n, part);
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
    bool ok = write_archive(s, w, sizeof part / sizeof *part, part);
    tensor_unref(&shape);
    return ok;
}
