/* Any bytes as the pickle of a state dict, in an archive with one storage. */
#include "fuzz.h"
#include "value/file/file.h"

#define TENSOR(name, class, size, strides)                                             \
    "X" name "\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\n" class  \
        "\nU\x01"                                                                      \
        "0U\x03"                                                                       \
        "cpuK\x08tQK\0" size strides "\x89NtR"

static Seed seed(size_t i) {
    static const char dict[] = "\x80\x02}q\0(" TENSOR(
        "\x01", "FloatStorage", "K\x02K\x03\x86", "K\x03K\x01\x86")
        TENSOR("\x01", "BFloat16Storage", "K\x04\x85q\x01", "K\x02\x85") "u.";
    static const char nested[] =
        "\x80\x02}(U\x01"
        "a]q\x01(" /* a list of a parameter, a size and numbers */
        "ctorch._utils\n_rebuild_parameter\nctorch._utils\n_rebuild_tensor_v2\n"
        "((U\x07storagectorch\nLongStorage\nU\x01"
        "0U\x03"
        "cpuK\x08tQ\x8a\x01\x01)"
        ")\x89"
        "ccollections\nOrderedDict\n)RtR\x88N\x87R"
        "ctorch\nSize\n(K\x02K\x03t\x85RG\0\0\0\0\0\0\0\0J\1\0\0\0M\1\0Ne"
        "U\x01"
        "bh\x01"
        "u.";
    if (i > 1) return (Seed){NULL, 0};
    const char *p = i ? nested : dict;
    Seed x = {NULL, i ? sizeof nested - 1 : sizeof dict - 1};
    x.p = malloc(x.n);
    if (x.p) memcpy(x.p, p, x.n);
    return x;
}

typedef struct Bytes {
    unsigned char *p;
    size_t n;
} Bytes;

static void put(Bytes *b, const void *p, size_t n) {
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_number(Bytes *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        b->p[b->n++] = (unsigned char)(i < 8 ? v >> 8 * i : 0);
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

/* What a local header and a directory's entry share. */
static void put_member(Bytes *b, const char *name, const void *p, size_t n) {
    put_number(b, 20, 2);
    put_number(b, 0, 8); /* flags, stored, time and date */
    put_number(b, crc32(p, n), 4);
    put_number(b, n, 4);
    put_number(b, n, 4);
    put_number(b, strlen(name), 2);
}

static Bytes archive(const uint8_t *p, size_t n) {
    static const unsigned char storage[64] = {0, 0, 128, 63, 1, 2, 3, 4};
    const struct {
        const char *name;
        const void *p;
        size_t n;
    } member[] = {{"a/data.pkl", p, n}, {"a/data/0", storage, sizeof storage}};
    size_t at[2];
    Bytes b = {malloc(n + 1024), 0};
    if (!b.p) abort();
    for (int i = 0; i < 2; i++) {
        at[i] = b.n;
        put(&b, "PK\3\4", 4);
        put_member(&b, member[i].name, member[i].p, member[i].n);
        put_number(&b, 0, 2);
        put(&b, member[i].name, strlen(member[i].name));
        put(&b, member[i].p, member[i].n);
    }
    size_t directory = b.n;
    for (int i = 0; i < 2; i++) {
        put(&b, "PK\1\2", 4);
        put_number(&b, 20, 2);
        put_member(&b, member[i].name, member[i].p, member[i].n);
        put_number(&b, 0, 12); /* extra field, comment, disk, attributes */
        put_number(&b, at[i], 4);
        put(&b, member[i].name, strlen(member[i].name));
    }
    size_t size = b.n - directory;
    put(&b, "PK\5\6\0\0\0\0\2\0\2\0", 12);
    put_number(&b, size, 4);
    put_number(&b, directory, 4);
    put_number(&b, 0, 2);
    return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const char *const keys[] = {NULL, "w", "a.0"};
    Session *s = session_new(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    Bytes b = archive(p, n);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        Value v = {0};
        Selection what = {.key = keys[i], .at = NOWHERE};
        what.want = DT_NONE;
        diag_clear(s);
        bool ok = value_read_mem(s, "a.pt", b.p, b.n, &what, &v);
        if (ok == (diag_first_error(s) != NULL)) abort();
        value_unref(&v);
    }
    free(b.p);
    session_free(s);
    return 0;
}
