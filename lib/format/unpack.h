/* Compressed bytes: gzip, zstd, and deflate as zip archives have it. No size that the
 * data promises is trusted: memory grows with what comes out, up to a limit. zlib is
 * loaded when it is needed first. */
#ifndef FORMAT_UNPACK_H
#define FORMAT_UNPACK_H

#include "base/diag.h"

/* Begins it like a gzip or a zstd file? */
bool unpack_is_packed(const void *p, size_t n);

typedef struct Unpacked {
    unsigned char *p; /* the caller frees it */
    size_t n;
} Unpacked;
typedef struct Packed {
    const char *name; /* for messages */
    Span at;
    const unsigned char *p;
    size_t n;
    uint64_t max; /* more bytes than these are E_LIMIT */
} Packed;
/* Undoes gzip or zstd, as often as one lies within the other. False: diagnosed, and
 * nothing to free. */
bool unpack_all(Session *s, const Packed *from, Unpacked *out);

/* The bytes of a deflate stream, without a header. `part`: only its beginning. */
typedef struct Deflated {
    const unsigned char *p;
    size_t n;
    unsigned char *out;
    size_t room; /* exactly so many must come out, unless part */
    bool part;
} Deflated;
bool unpack_deflated(Session *s, const char *name, Span at, const Deflated *d);

#endif
