/* Any bytes as an npz, with the checksums of its members put right so that they are
 * looked at, as safetensors, and as GGUF. */
#include "fuzz_file.h"
#include "value/file/file.h"

#define KEY(n, text) n "\0\0\0\0\0\0\0" text
#define TENSOR(name, size, type, at)                                                   \
    KEY("\1", name) "\1\0\0\0" size "\0\0\0\0\0\0\0" type "\0\0\0" at "\0\0\0\0\0\0\0"

/* A number, an array, an alignment; 64 bytes of float32 and of Q4_0. */
static Seed gguf_seed(void) {
    static const char head[] = "GGUF\3\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0" KEY(
        "\1",
        "n") "\5\0\0\0\7\0\0\0" KEY("\1",
                                    "a") "\x9\0\0\0\x8\0\0\0"
                                         "\1\0\0\0\0\0\0\0" KEY("\2", "hi") KEY(
                                             "\x11",
                                             "general.alignment") "\4\0\0\0\x20\0\0"
                                                                  "\0" TENSOR("x", "\4",
                                                                              "\0",
                                                                              "\0")
                                                                      TENSOR(
                                                                          "y", "\x20",
                                                                          "\2", "\x20");
    size_t n = (sizeof head - 1 + 31) / 32 * 32 + 64;
    Seed x = {calloc(1, n), n};
    if (x.p) memcpy(x.p, head, sizeof head - 1);
    return x;
}

static Seed seed(size_t i) {
    static const char *const names[] = {"/tmp/fuzz-XXXXXX.npz",
                                        "/tmp/fuzz-XXXXXX.safetensors"};
    static const int suffix[] = {4, 12};
    char path[64];
    if (i == 2) return gguf_seed();
    if (i > 2) return (Seed){NULL, 0};
    strcpy(path, names[i]);
    int fd = mkstemps(path, suffix[i]);
    Session *s = session_new(NULL, NULL);
    Tensor t, u;
    const int64_t shape[] = {2, 3};
    if (fd < 0 || !tensor_zeros(s, DT_FLOAT32, 2, shape, &t) ||
        !tensor_zeros(s, DT_INT64, 1, shape, &u))
        abort();
    NamedTensor all[] = {{"x", &t}, {"y", &u}};
    if (!array_write(s, path, 2, all)) abort();
    tensor_unref(&t);
    tensor_unref(&u);
    session_free(s);
    Seed x = seed_file(path);
    close(fd);
    unlink(path);
    return x;
}

static uint32_t crc32(const unsigned char *p, size_t n) {
    uint32_t c = ~0U;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xEDB88320U : 0);
    }
    return ~c;
}

static uint32_t word(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The central directory's entries and the local headers that they name. */
static void mend(unsigned char *p, size_t n) {
    for (size_t i = 0; i + 46 <= n; i++) {
        if (memcmp(p + i, "PK\1\2", 4) != 0) continue;
        size_t at = word(p + i + 42), size = word(p + i + 20);
        if (at + 30 > n) continue;
        size_t from =
            at + 30 + (word(p + at + 26) & 0xFFFF) + (word(p + at + 28) & 0xFFFF);
        if (from > n || size > n - from) continue;
        uint32_t c = crc32(p + from, size);
        for (size_t k = 0; k < 4; k++)
            p[i + 16 + k] = p[at + 14 + k] = (unsigned char)(c >> 8 * k);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const char *const keys[] = {NULL, "x", "y"};
    Session *s = session_new(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    unsigned char *copy = malloc(n + 1);
    if (!copy) abort();
    if (n) memcpy(copy, p, n);
    mend(copy, n);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        Value v = {0};
        diag_clear(s);
        Selection what = {.key = keys[i], .at = NOWHERE};
        what.want = DT_NONE;
        bool ok = value_read_mem(s, "a.npz", copy, n, &what, &v);
        if (ok == (diag_first_error(s) != NULL)) abort();
        value_unref(&v);
    }
    free(copy);
    session_free(s);
    return 0;
}
