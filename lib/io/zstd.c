/* Streaming zstd in both directions. Unpacking trusts no size promised by a frame:
 * memory grows with the actual output, up to a cap, and windows are limited as in the
 * zstd tool. */
#include "io/io_impl.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { WINDOW_LOG = 27 };

struct Zip {
    ZSTD_CCtx *c;
    size_t size;
    unsigned char out[1 << 16];
};

/* NULL: no error. */
static const char *error_of(Session *s, size_t result) {
    if (!ZSTD_isError(result)) return NULL;
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) mem_panic(s);
    return ZSTD_getErrorName(result);
}

struct Zip *zip_new(Session *s, int level) {
    struct Zip *z = mem_zalloc(s, 1, sizeof *z);
    z->c = ZSTD_createCCtx();
    if (!z->c) mem_panic(s);
    ZSTD_CCtx_setParameter(z->c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(z->c, ZSTD_c_checksumFlag, 1);
    return z;
}

bool zip_add(struct Zip *z, Sink *k, const void *p, size_t n, bool end) {
    ZSTD_inBuffer in = {p, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {z->out, sizeof z->out, 0};
        left =
            ZSTD_compressStream2(z->c, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        const char *why = error_of(k->s, left);
        if (why) return fail(k->s, NOWHERE, E_IO, "can't compress: %s", why);
        sink_raw(k, z->out, out.pos);
    } while (in.pos < in.size || (end && left));
    return !k->failed;
}

void zip_free(struct Zip *z) {
    ZSTD_freeCCtx(z->c);
    mem_free(z);
}

typedef struct Unpacked {
    unsigned char *p;
    size_t n;
} Unpacked;

static bool unpack_stream(const Input *of, ZSTD_DCtx *d, uint64_t max, Unpacked *to) {
    Session *s = of->s;
    const char *name = of->name;
    ZSTD_inBuffer in = {of->p, of->n, 0};
    size_t cap = 0, left = 1;
    for (;;) {
        if (cap - to->n < 4096)
            to->p = mem_grow_vec_(s, to->p, &cap, to->n + (1 << 16), 1);
        ZSTD_outBuffer out = {to->p + to->n, cap - to->n, 0};
        size_t before = in.pos;
        left = ZSTD_decompressStream(d, &out, &in);
        const char *why = error_of(s, left);
        if (why) return fail(s, NOWHERE, E_FORMAT, "%s: can't unpack: %s", name, why);
        to->n += out.pos;
        if (to->n > max) return file_fail_too_large(s, name, "unpacks to more", max);
        if (out.pos < out.size && in.pos == in.size)
            return left == 0 ||
                   fail(s, NOWHERE, E_TRUNCATED,
                        "%s: truncated input: the compressed data ends too early",
                        name);
        if (out.pos == 0 && in.pos == before)
            return fail(s, NOWHERE, E_FORMAT, "%s: can't unpack", name);
    }
}

bool zstd_unpack(Input *in, uint64_t max) {
    Unpacked out = {0};
    ZSTD_DCtx *d = ZSTD_createDCtx();
    if (!d) mem_panic(in->s);
    ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG);
    bool ok = unpack_stream(in, d, max, &out);
    ZSTD_freeDCtx(d);
    if (!ok) return mem_free(out.p), false;
    in->own = out.p;
    in->p = out.p;
    in->n = out.n;
    return true;
}
