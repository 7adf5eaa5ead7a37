/* Zip archives: read through their central directory, with every number checked against
 * the file; written uncompressed, with each member's data at a multiple of 64 bytes, so
 * that it can be mapped. */
#include "value/file/zip.h"

#include "format/unpack.h"

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

/* ---- reading ---- */

bool zip_fail_damaged(const ArrayFile *f) {
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
        return zip_fail_damaged(f);
    *end64 = f->p + where;
    return true;
}

bool zip_open(const ArrayFile *f, ZipDirectory *d) {
    const unsigned char *end = find_end_record(f), *end64;
    if (!end) return array_fail(f, E_TRUNCATED, "the zip archive is cut off");
    if (!find_end64_record(f, end, &end64)) return false;
    d->count = end64 ? read_le(end64 + 32, 8) : read_le(end + 10, 2);
    uint64_t size = end64 ? read_le(end64 + 40, 8) : read_le(end + 12, 4);
    uint64_t at = end64 ? read_le(end64 + 48, 8) : read_le(end + 16, 4);
    if (at > f->n || size > f->n - at) return zip_fail_damaged(f);
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

bool zip_next(const ArrayFile *f, ZipDirectory *d, ZipMember *m) {
    const unsigned char *p = d->p;
    if (d->end - p < ENTRY_SIZE || read_le(p, 4) != ENTRY_MAGIC)
        return zip_fail_damaged(f);
    size_t name = read_le(p + 28, 2), extra = read_le(p + 30, 2);
    size_t all = ENTRY_SIZE + name + extra + read_le(p + 32, 2);
    if ((size_t)(d->end - p) < all) return zip_fail_damaged(f);
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
    return read_extra64(m, x, x + extra) || zip_fail_damaged(f);
}

/* The member's bytes in the archive, after its own header. */
static bool locate_member(const ArrayFile *f, const ZipMember *m,
                          const unsigned char **p) {
    if (m->offset > f->n || f->n - m->offset < LOCAL_SIZE) return zip_fail_damaged(f);
    const unsigned char *h = f->p + m->offset;
    if (read_le(h, 4) != LOCAL_MAGIC) return zip_fail_damaged(f);
    uint64_t skip = LOCAL_SIZE + read_le(h + 26, 2) + read_le(h + 28, 2);
    uint64_t left = f->n - m->offset;
    if (skip > left || m->packed > left - skip) return zip_fail_damaged(f);
    *p = h + skip;
    return true;
}

static bool inflate_member(const ArrayFile *f, const ZipMember *m,
                           const unsigned char *p, size_t room, Buffer **out) {
    if (m->size / DEFLATE_RATIO > m->packed) return zip_fail_damaged(f);
    *out = buffer_new(f->s, room);
    if (!*out) return false;
    Deflated d = {p, m->packed, (*out)->data, room, room < m->size};
    return unpack_deflated(f->s, f->name, f->at, &d);
}

bool zip_read(const ArrayFile *f, const ZipMember *m, size_t most, ZipReadFn *read,
              void *out) {
    ArrayFile member = *f;
    Buffer *own = NULL;
    const unsigned char *p = NULL;
    size_t room = m->size < most ? m->size : most;
    if (m->flags & 1) return array_fail(f, E_FORMAT, "the zip archive is encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return array_fail(f, E_FORMAT, "zip's compression method %u is not known",
                          m->method);
    if (!locate_member(f, m, &p)) return false;
    if (m->method == STORED && m->size != m->packed) return zip_fail_damaged(f);
    bool ok = m->method == STORED || inflate_member(f, m, p, room, &own);
    member.p = own ? own->data : p;
    member.n = room;
    if (own) member.buf = own;
    if (ok && room == m->size && most == ZIP_WHOLE &&
        crc_of_bytes(member.p, member.n) != m->crc)
        ok = array_fail(f, E_CHECKSUM, "an array's checksum is wrong");
    ok = ok && read(&member, out);
    buffer_unref(own);
    return ok;
}

/* ---- writing ---- */

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

bool zip_write(Session *s, Writer *w, size_t n, ZipPart *part) {
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = write_zip_part(s, w, &part[i]);
    uint64_t at = writer_offset(w);
    for (size_t i = 0; i < n && ok; i++)
        ok = write_directory_entry(w, part[i].name, &part[i].packed);
    return ok && write_end_record(w, n, at, writer_offset(w) - at);
}
