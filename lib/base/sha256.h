/* SHA-256 (FIPS 180-4), for digests that others check. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct Sha256 {
    uint32_t h[8];
    uint64_t total; /* bytes */
    unsigned char block[64];
} Sha256;
enum { SHA256_HEX = 64 };
void sha256_init(Sha256 *x);
void sha256_add(Sha256 *x, const void *p, size_t n);
void sha256_end(Sha256 *x, char hex[SHA256_HEX + 1]);

#endif
