#include "format/unpack.h"

#include "os/file.h"

#include <dlfcn.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { WINDOW_LOG = 27, /* of zstd, as in its tool */ NESTED_MAX = 4 };

typedef enum Packing { PACKED_NOT, PACKED_GZIP, PACKED_ZSTD } Packing;

static Packing packing_of(const unsigned char *p, size_t n) {
    static const unsigned char zstd[4] = {0x28, 0xB5, 0x2F, 0xFD};
    if (n >= 3 && p[0] == 0x1F && p[1] == 0x8B && p[2] == 8) return PACKED_GZIP;
    return n >= 4 && memcmp(p, zstd, 4) == 0 ? PACKED_ZSTD : PACKED_NOT;
}

bool unpack_is_packed(const void *p, size_t n) {
    return packing_of(p, n) != PACKED_NOT;
}

/* What is being unpacked, and what came out so far. */
typedef struct Unpacking {
    Session *s;
    Packed from;
    Unpacked to;
    size_t cap;
} Unpacking;

static bool fail_damaged(Session *s, const char *name, Span at) {
    return fail(s, at, E_FORMAT, "%s: the compressed data is damaged", name);
}

static bool fail_cut_off(const Unpacking *u) {
    return fail(u->s, u->from.at, E_TRUNCATED,
                "%s: truncated input: the compressed data ends too early",
                u->from.name);
}

/* Makes room for some more bytes; the place they go to, and how many there may be. */
static unsigned char *make_room(Unpacking *u, size_t *room) {
    enum { LEAST = 4096, MORE = 1 << 16 };
    if (u->cap - u->to.n < LEAST)
        u->to.p = mem_grow_vec_(u->s, u->to.p, &u->cap, u->to.n + MORE, 1);
    *room = u->cap - u->to.n;
    return u->to.p + u->to.n;
}

static bool count_unpacked(Unpacking *u, size_t n) {
    u->to.n += n;
    return u->to.n <= u->from.max ||
           file_fail_too_large(u->s, u->from.name, "unpacks to more", u->from.max);
}

/* ---- zlib's inflate ---- */

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

enum { Z_NO_FLUSH_ = 0, Z_BUFFER = -5, Z_NO_MEMORY = -4, Z_OK_ = 0, Z_END = 1 };
enum { BITS_DEFLATE = -15, BITS_GZIP = 15 + 16 };

typedef struct Zlib {
    void *lib;
    int (*init)(ZStream *, int, const char *, int);
    int (*inflate)(ZStream *, int);
    int (*end)(ZStream *);
} Zlib;

static bool zlib_open(Session *s, const char *name, Span at, Zlib *z) {
    *z = (Zlib){.lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (z->lib) {
        *(void **)&z->init = dlsym(z->lib, "inflateInit2_");
        *(void **)&z->inflate = dlsym(z->lib, "inflate");
        *(void **)&z->end = dlsym(z->lib, "inflateEnd");
        if (z->init && z->inflate && z->end) return true;
        dlclose(z->lib);
    }
    return fail(s, at, E_IO,
                "%s: it is compressed, but zlib (libz.so.1) is not installed", name);
}

static int zlib_begin(const Zlib *z, ZStream *st, int bits) {
    return z->init(st, bits, "1.2.11", (int)sizeof *st);
}

static unsigned zlib_piece_size(size_t n) {
    return n < (1U << 30) ? (unsigned)n : 1U << 30;
}

static bool fail_inflate(Session *s, const char *name, Span at, int why) {
    if (why == Z_NO_MEMORY)
        return fail(s, at, E_MEM, "%s: there is not enough memory to unpack it", name);
    return fail_damaged(s, name, at);
}

bool unpack_deflated(Session *s, const char *name, Span at, const Deflated *d) {
    Zlib z;
    if (!zlib_open(s, name, at, &z)) return false;
    ZStream st = {.next_in = d->p, .next_out = d->out};
    int r = zlib_begin(&z, &st, BITS_DEFLATE);
    bool begun = r == Z_OK_;
    while (r == Z_OK_) {
        st.avail_in = zlib_piece_size(d->n - (size_t)(st.next_in - d->p));
        st.avail_out = zlib_piece_size(d->room - (size_t)(st.next_out - d->out));
        if (d->part && !st.avail_out) break;
        r = z.inflate(&st, Z_NO_FLUSH_);
    }
    size_t made = (size_t)(st.next_out - d->out);
    if (begun) z.end(&st);
    dlclose(z.lib);
    bool ok = d->part ? r == Z_OK_ : r == Z_END && made == d->room;
    return (ok || (d->part && r == Z_END)) || fail_inflate(s, name, at, r);
}

/* One member of a gzip file, from u->from.p on. */
static bool inflate_gzip_member(Unpacking *u, const Zlib *z) {
    ZStream st = {.next_in = u->from.p};
    const unsigned char *end = u->from.p + u->from.n;
    int r = zlib_begin(z, &st, BITS_GZIP);
    if (r != Z_OK_) return fail_inflate(u->s, u->from.name, u->from.at, r);
    bool ok = true;
    while (ok && r == Z_OK_) {
        size_t room;
        st.next_out = make_room(u, &room);
        unsigned char *from = st.next_out;
        st.avail_in = zlib_piece_size((size_t)(end - st.next_in));
        st.avail_out = zlib_piece_size(room);
        bool more = st.avail_in > 0;
        r = z->inflate(&st, Z_NO_FLUSH_);
        ok = count_unpacked(u, (size_t)(st.next_out - from));
        if (ok && (r == Z_BUFFER || (r == Z_OK_ && !more && st.avail_out)))
            ok = fail_cut_off(u);
    }
    z->end(&st);
    u->from.n = (size_t)(end - st.next_in);
    u->from.p = st.next_in;
    return ok && (r == Z_END || fail_inflate(u->s, u->from.name, u->from.at, r));
}

static bool is_zeros(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

/* Members one after the other, and zeros that a tape may have added. */
static bool unpack_gzip(Unpacking *u) {
    Zlib z;
    if (!zlib_open(u->s, u->from.name, u->from.at, &z)) return false;
    bool ok = true;
    while (ok && u->from.n > 0 && !is_zeros(u->from.p, u->from.n))
        ok = packing_of(u->from.p, u->from.n) == PACKED_GZIP
                 ? inflate_gzip_member(u, &z)
                 : fail_damaged(u->s, u->from.name, u->from.at);
    dlclose(z.lib);
    return ok;
}

/* ---- zstd ---- */

/* NULL: no error. */
static const char *zstd_error_of(Session *s, size_t result) {
    if (!ZSTD_isError(result)) return NULL;
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) mem_panic(s);
    return ZSTD_getErrorName(result);
}

static bool unpack_zstd_stream(Unpacking *u, ZSTD_DCtx *d) {
    ZSTD_inBuffer in = {u->from.p, u->from.n, 0};
    for (;;) {
        ZSTD_outBuffer out = {.pos = 0};
        out.dst = make_room(u, &out.size);
        size_t before = in.pos, left = ZSTD_decompressStream(d, &out, &in);
        const char *why = zstd_error_of(u->s, left);
        if (why)
            return fail(u->s, u->from.at, E_FORMAT, "%s: can't unpack: %s",
                        u->from.name, why);
        if (!count_unpacked(u, out.pos)) return false;
        if (out.pos < out.size && in.pos == in.size)
            return left == 0 || fail_cut_off(u);
        if (out.pos == 0 && in.pos == before)
            return fail(u->s, u->from.at, E_FORMAT, "%s: can't unpack", u->from.name);
    }
}

static bool unpack_zstd(Unpacking *u) {
    ZSTD_DCtx *d = ZSTD_createDCtx();
    if (!d) mem_panic(u->s);
    ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG);
    bool ok = unpack_zstd_stream(u, d);
    ZSTD_freeDCtx(d);
    return ok;
}

bool unpack_all(Session *s, const Packed *from, Unpacked *out) {
    Unpacking u = {.s = s, .from = *from};
    void *before = NULL;
    bool ok = true;
    for (int depth = 0; ok && packing_of(u.from.p, u.from.n) != PACKED_NOT; depth++) {
        u.to = (Unpacked){NULL, 0};
        u.cap = 0;
        ok = depth < NESTED_MAX
                 ? (packing_of(u.from.p, u.from.n) == PACKED_GZIP ? unpack_gzip
                                                                  : unpack_zstd)(&u)
                 : fail(s, from->at, E_LIMIT, "%s is compressed more than %d times",
                        from->name, NESTED_MAX);
        mem_free(before);
        before = u.to.p;
        u.from.p = u.to.p;
        u.from.n = u.to.n;
    }
    if (!ok) return mem_free(u.to.p), false;
    *out = u.to;
    return true;
}
