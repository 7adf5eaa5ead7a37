/* A fuzz target without libFuzzer: replays the files given, or mutates the seeds that
 * the target lists, the same way each time; what is found ends the program.
 *
 *     yaml FILE...            each file once
 *     yaml --rounds N         N mutations of each seed (FUZZ_ROUNDS without arguments)
 *     yaml --corpus FOLDER    writes the seeds there, to start libFuzzer from
 *
 * Built with -DLIBFUZZER the main is libFuzzer's. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/base.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

typedef struct Seed {
    char *p;
    size_t n;
} Seed;
/* Seed number i; p is NULL behind the last. The caller frees p. */
static Seed seed(size_t i) __attribute__((unused));

static inline Seed seed_text(const char *text) {
    size_t n = strlen(text);
    Seed x = {malloc(n + 1), n};
    if (x.p) memcpy(x.p, text, n + 1);
    return x;
}

#ifndef LIBFUZZER
#ifndef FUZZ_ROUNDS
#define FUZZ_ROUNDS 300 /* moments, for `make test` */
#endif
static unsigned fuzz_state = 12345;

static unsigned fuzz_random(unsigned below) {
    fuzz_state = fuzz_state * 1664525U + 1013904223U;
    return (fuzz_state >> 8) % below;
}

/* One change: a byte, a bit, a cut, a repeated or a removed piece. */
static size_t fuzz_mutate(uint8_t *p, size_t n, size_t cap) {
    static const char marks[] = "[]{}()'\":#=,*&!|>%@-\n \\0919eE.~";
    if (n == 0) return n;
    size_t at = fuzz_random((unsigned)n), len = 1 + fuzz_random(16);
    switch (fuzz_random(6)) {
    case 0:
        p[at] = (uint8_t)fuzz_random(256);
        return n;
    case 1:
        p[at] = (uint8_t)(p[at] ^ 1U << fuzz_random(8));
        return n;
    case 2:
        p[at] = (uint8_t)marks[fuzz_random(sizeof marks - 1)];
        return n;
    case 3:
        return at;
    case 4:
        if (len > n - at) len = n - at;
        memmove(p + at, p + at + len, n - at - len);
        return n - len;
    default:
        if (len > n - at) len = n - at;
        if (n + len > cap) return n;
        memmove(p + at + len, p + at, n - at);
        return n + len;
    }
}

static void fuzz_rounds(long rounds) {
    for (size_t i = 0;; i++) {
        Seed x = seed(i);
        if (!x.p) {
            printf("fuzz: %ld passed, 0 failed\n", (long)i * (rounds + 1));
            return;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)x.p, x.n);
        size_t cap = 2 * x.n + 64;
        for (long k = 0; k < rounds; k++) {
            uint8_t *copy = malloc(cap);
            size_t n = x.n;
            if (!copy) abort();
            memcpy(copy, x.p, n);
            for (unsigned m = 1 + fuzz_random(4); m > 0; m--)
                n = fuzz_mutate(copy, n, cap);
            copy = realloc(copy, n + 1); /* so that reading beyond the end shows */
            if (!copy) abort();
            LLVMFuzzerTestOneInput(copy, n);
            free(copy);
        }
        free(x.p);
    }
}

static int fuzz_file(Session *s, const char *path) {
    FileData d;
    if (!file_read(s, path, 0, &d)) return 1;
    LLVMFuzzerTestOneInput(d.p, d.n);
    file_close(&d);
    return 0;
}

static int fuzz_corpus(const char *folder) {
    for (size_t i = 0;; i++) {
        char path[4096];
        Seed x = seed(i);
        if (!x.p) return 0;
        snprintf(path, sizeof path, "%s/seed%zu", folder, i);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(x.p, 1, x.n, f) != x.n || fclose(f) != 0) return 1;
        free(x.p);
    }
}

int main(int argc, char **argv) {
    if (argc == 1) fuzz_rounds(FUZZ_ROUNDS);
    if (argc == 3 && strcmp(argv[1], "--corpus") == 0) return fuzz_corpus(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0) {
        fuzz_rounds(atol(argv[2]));
        return 0;
    }
    Session *s = session_new(NULL, NULL);
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= fuzz_file(s, argv[i]);
    session_free(s);
    return failed;
}
#endif

#endif
