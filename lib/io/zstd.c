/* Writes zstd, piece by piece; format/unpack.h reads it. */
#include "io/io_impl.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

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
