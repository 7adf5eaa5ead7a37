/* For targets whose input is a file: one in memory, and seeds from files. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct MemoryFile {
    int fd;
    char path[32];
} MemoryFile;

static inline MemoryFile memory_file(const uint8_t *p, size_t n) {
    MemoryFile f = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
    if (f.fd < 0 || write(f.fd, p, n) != (ssize_t)n) abort();
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

static inline Seed seed_file(const char *path) {
    FILE *f = fopen(path, "rb");
    Seed x = {calloc(1, 65536), 0};
    if (f && x.p) x.n = fread(x.p, 1, 65536, f);
    if (f) fclose(f);
    return x;
}

#endif
