/* Arenas, vectors, strings, symbols, and the text helpers. */
#include "base/large.h"
#include "base/sanitizer.h"
#include "base/session.h"
#include "test.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void test_arena(Session *s) {
    Arena *a = arena_new(s);
    CHECK(arena_bytes(a) == 0);
    unsigned char *p[2000];
    size_t size[2000];
    int bad = 0;
    for (size_t i = 0; i < 2000; i++) {
        size[i] = i % 97 == 0 ? 20000 + i : i % 50;
        p[i] = arena_alloc(a, size[i]);
        bad += (uintptr_t)p[i] % 16 != 0;
        memset(p[i], (int)i & 255, size[i]);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < size[i]; k++)
            bad += p[i][k] != (i & 255);
    CHECK(bad == 0, "%d", bad);
    size_t before = arena_bytes(a);
    CHECK(before > 440000 && before < 700000, "%zu", before);
    arena_alloc(a, 10 << 20);
    CHECK(arena_bytes(a) < before + (10 << 20) + 4096);
    arena_reset(a);
    CHECK(arena_bytes(a) <= 4096 + 64);
    CHECK_STR(arena_printf(a, "%d-%s", 7, "x"), "7-x");
    CHECK_STR(arena_str(a, "abcdef", 3), "abc");
    unsigned char *z = arena_zalloc(a, 100, 100);
    for (int i = 0; i < 10000; i++)
        bad += z[i] != 0;
    CHECK(bad == 0);
    for (int i = 0; i < 10000; i++)
        arena_alloc(a, 1000);
    CHECK(arena_bytes(a) < (13 << 20), "%zu", arena_bytes(a));
    arena_free(a);
    arena_free(NULL);
}

/* What was there before the mark stays, of blocks and of single allocations. */
static void test_marks(Session *s) {
    for (int many = 0; many < 300; many += 37) {
        Arena *a = arena_new(s);
        char *kept[300];
        for (int i = 0; i < many; i++)
            kept[i] = arena_printf(a, "%0*d", 1 + i * i % 5000, i);
        ArenaMark mark = arena_mark(a);
        size_t before = arena_bytes(a);
        for (int again = 0; again < 3; again++) {
            for (int i = 0; i < 200; i++)
                memset(arena_alloc(a, (size_t)i * 97), 0xFF, (size_t)i * 97);
            CHECK(arena_bytes(a) > before);
            arena_rewind(a, mark);
            CHECK(arena_bytes(a) <= before + (many == 0 ? 4096 + 64 : 0), "%zu, %zu",
                  arena_bytes(a), before);
        }
        for (int i = 0; i < many; i++)
            CHECK(strlen(kept[i]) >= (size_t)(1 + i * i % 5000) && atoi(kept[i]) == i);
        arena_free(a);
    }
}

static void test_vec(Session *s) {
    Vec(int) v = {0};
    for (int i = 0; i < 100000; i++)
        vec_push(s, &v, i);
    int bad = 0;
    for (int i = 0; i < 100000; i++)
        bad += v.p[i] != i;
    CHECK(bad == 0 && v.n == 100000);
    vec_free(&v);
    CHECK(v.p == NULL && v.cap == 0);
}

static void test_str(Session *s) {
    Str b = STR(s);
    CHECK_STR(str_text(&b), "");
    str_puts(&b, "ab");
    str_putc(&b, 'c');
    for (int i = 0; i < 100; i++)
        str_printf(&b, "%03d,", i);
    CHECK(b.n == 403 && strlen(b.p) == 403);
    CHECK(memcmp(b.p, "abc000,001,", 11) == 0 && memcmp(b.p + 399, "099,", 5) == 0);
    str_clear(&b);
    CHECK_STR(str_text(&b), "");
    str_add(&b, "x\0y", 3);
    CHECK(b.n == 3 && b.p[3] == '\0');
    str_free(&b);
}

/* Known ones, new ones, and the new ones again, in several blocks. */
static void test_many_syms(Session *s) {
    enum { N = 100 };
    char text[N][8];
    const char *p[N];
    size_t len[N];
    Sym got[N];
    Sym known = sym(s, "k");
    int bad = 0;
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], i % 3 == 0 ? "k" : "m%d", i % 3 ? i / 3 : 0);
        p[i] = text[i];
        len[i] = strlen(text[i]);
    }
    sym_all(s, N, p, len, got);
    for (int i = 0; i < N; i++)
        bad += strcmp(sym_text(s, got[i]), text[i]) != 0 ||
               sym_find(s, p[i], len[i]) != got[i] || (i % 3 == 0) != (got[i] == known);
    CHECK(bad == 0, "%d", bad);
    sym_all(s, 0, p, len, got);
}

static void test_syms(Session *s) {
    CHECK_STR(sym_text(s, 0), "");
    CHECK(sym_find(s, "alpha", 5) == 0);
    Sym a = sym(s, "alpha"), b = sym_n(s, "beta!", 4), e = sym(s, "");
    CHECK(a && b && e && a != b && a != e);
    CHECK(sym(s, "alpha") == a && sym_find(s, "beta", 4) == b);
    CHECK_STR(sym_text(s, b), "beta");
    int bad = 0;
    char name[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        bad += sym(s, name) != e + 1 + (Sym)i;
    }
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        bad += strcmp(sym_text(s, sym(s, name)), name) != 0;
    }
    CHECK(bad == 0, "%d", bad);
    CHECK_STR(sym_text(s, a), "alpha");
    test_many_syms(s);
}

static const char *json(Session *s, const char *p, size_t n) {
    Str b = STR(s);
    str_json(&b, p, n);
    const char *t = arena_str(session_arena(s), b.p, b.n);
    str_free(&b);
    return t;
}

static const char *visible(Session *s, const char *p) {
    Str b = STR(s);
    str_visible(&b, p, strlen(p));
    const char *t = arena_str(session_arena(s), str_text(&b), b.n);
    str_free(&b);
    return t;
}

static void test_quoting(Session *s) {
    CHECK_STR(json(s, "a\"b\\c\n\x01\0z", 9), "\"a\\\"b\\\\c\\n\\u0001\\u0000z\"");
    CHECK_STR(json(s, "\xc3\xa4\xf0\x9f\x98\x80", 6), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
    CHECK_STR(json(s, "\xff\xc3", 2), "\"\\ufffd\\ufffd\"");
    CHECK_STR(json(s, "\xed\xa0\x80", 3),
              "\"\\ufffd\\ufffd\\ufffd\"");                  /* a surrogate */
    CHECK_STR(json(s, "\xc0\x80", 2), "\"\\ufffd\\ufffd\""); /* too long a form */
    CHECK_STR(json(s, "", 0), "\"\"");
    CHECK_STR(visible(s, "a\x1b[1m\n\xff\xc3\xa4"), "a\\x1b[1m\\n\\xff\xc3\xa4");
    CHECK_STR(visible(s, "x\xe2\x80\xaey"), "x\\u202ey"); /* right-to-left override */
}

static const char *quoted(Session *s, const char *p) {
    Str b = STR(s);
    str_quote(&b, p);
    const char *t = arena_str(session_arena(s), str_text(&b), b.n);
    str_free(&b);
    return t;
}

/* The characters that are shown as escapes, and their neighbours. */
static void test_deceptive(Session *s) {
    static const struct {
        uint32_t c;
        bool plain;
    } rows[] = {{0x1F, false},   {0x20, true},   {0x7E, true},    {0x7F, false},
                {0x9F, false},   {0xA0, true},   {0x061B, true},  {0x061C, false},
                {0x061D, true},  {0x200D, true}, {0x200E, false}, {0x200F, false},
                {0x2010, true},  {0x2027, true}, {0x2028, false}, {0x202E, false},
                {0x202F, true},  {0x2065, true}, {0x2066, false}, {0x2069, false},
                {0x206A, true},  {0xFEFE, true}, {0xFEFF, false}, {0xFF00, true},
                {0x10FFFF, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str b = STR(s);
        char escape[16];
        str_put_utf8(&b, rows[i].c);
        const char *text = str_text(&b);
        CHECK(str_is_utf8(text, b.n) && str_is_plain(text, b.n) == rows[i].plain,
              "U+%04X", (unsigned)rows[i].c);
        snprintf(escape, sizeof escape, rows[i].c < 0x80 ? "'\\x%02x'" : "'\\u%04x'",
                 (unsigned)rows[i].c);
        CHECK((strcmp(quoted(s, text), escape) == 0) == !rows[i].plain, "%s",
              quoted(s, text));
        CHECK((strstr(json(s, text, b.n), "\\u") != NULL) == !rows[i].plain, "%s",
              json(s, text, b.n));
        str_free(&b);
    }
    CHECK_STR(quoted(s, "a'b\\\n\t\xff"), "'a\\'b\\\\\\n\\t\xff'");
    CHECK(!str_is_plain("\xff", 1) && !str_is_utf8("a\xc3", 2));
}

static void test_escapes(Session *s) {
    static const struct {
        const char *text, *want; /* NULL: there is no such escape */
        size_t taken;
    } rows[] = {{"\\n", "\n", 2},           {"\\t|", "\t", 2},
                {"\\\\", "\\", 2},          {"\\x41", "A", 4},
                {"\\u00e9", "\xc3\xa9", 6}, {"\\", NULL, 0},
                {"\\q", NULL, 0},           {"\\x4", NULL, 0},
                {"\\xg0", NULL, 0},         {"\\u00", NULL, 0},
                {"\\x00", NULL, 0},         {"\\ud800", NULL, 0},
                {"\\udfff", NULL, 0},       {"\\ue000", "\xee\x80\x80", 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str b = STR(s);
        const char *why = NULL;
        size_t n = str_unescape(&b, rows[i].text, strlen(rows[i].text), &why);
        CHECK(n == rows[i].taken && !why == (rows[i].want != NULL), "%s", rows[i].text);
        CHECK_STR(str_text(&b), rows[i].want ? rows[i].want : "");
        str_free(&b);
    }
}

static void test_nearest(Session *s) {
    static const char *const names[] = {"transpose", "reshape", "sum",  "argmax",
                                        "x",         "exp",     "sign", "sin"};
    const struct {
        const char *word, *want;
    } rows[] = {{"trasnpose", "transpose"},
                {"tranpose", "transpose"},
                {"Reshape", "reshape"},
                {"smu", "sum"},
                {"ecxp", "exp"},
                {"sums", "sum"},
                {"sinn", "sin"},
                {"exxp", "exp"},
                {"argmin", "argmax"},
                {"exp2", "exp"},
                {"qqqqqq", ""},
                {"y", ""},
                {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got = str_nearest(s, rows[i].word, names, 8);
        CHECK_STR(got ? got : "", rows[i].want);
    }
    char wide[200];
    memset(wide, 'a', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    const char *const odd[] = {NULL, "", wide, "sum"};
    CHECK_STR(str_nearest(s, "smu", odd, 4), "sum");
    CHECK(!str_nearest(s, wide, odd, 4) && !str_nearest(s, "sum", odd, 3));
}

static void test_lists(Session *s) {
    char **part;
    Arena *a = session_arena(s);
    CHECK(str_split(a, "a, b ,c", ',', &part) == 3);
    CHECK_STR(part[0], "a");
    CHECK_STR(part[1], "b");
    CHECK_STR(part[2], "c");
    CHECK(str_split(a, " f(x, y), [1,(2,3)] ,", ',', &part) == 3);
    CHECK_STR(part[0], "f(x, y)");
    CHECK_STR(part[1], "[1,(2,3)]");
    CHECK_STR(part[2], "");
    CHECK(str_split(a, "  ", ',', &part) == 0);
    CHECK(str_split(a, "x)y,z", ',', &part) == 2);
    CHECK(str_glob("*", "") && str_glob("a*c", "abbc") && str_glob("?b*", "abx"));
    CHECK(str_glob("*a*b", "xaab") && str_glob("a**", "a"));
    CHECK(!str_glob("a*c", "abcd") && !str_glob("?", "") && !str_glob("", "x"));
    CHECK(!str_glob("*a*b", "xaabc"));
    CHECK_STR(str_suffix("a.b/c.npz"), ".npz");
    CHECK_STR(str_suffix("a.b/c"), "");
    CHECK_STR(str_suffix("a/.npz"), "");
    CHECK_STR(str_suffix("a."), "");
}

static jmp_buf out;
static int panic_exit;
static void on_panic(void *ctx, DiagCode code, const char *message) {
    (void)ctx;
    (void)message;
    panic_exit = diag_exit(code);
    longjmp(out, 1);
}

static void test_panic(void) {
    Session *s = session_new(on_panic, NULL);
    volatile size_t huge = SIZE_MAX / 2;
    if (setjmp(out) == 0) mem_zalloc(s, huge, 4);
    CHECK(panic_exit == 6);
    panic_exit = 0;
    if (setjmp(out) == 0) arena_alloc(session_arena(s), huge * 2);
    CHECK(panic_exit == 6);
    session_free(s);
}

static int order[4], norder;
static void free_slot(void *p) {
    order[norder++] = *(int *)p;
}

static void test_session(void) {
    static int one = 1, two = 2, three = 3;
    Session *s = session_new(NULL, NULL);
    CHECK(session_slot(s, SLOT_OPS) == NULL);
    session_set_slot(s, SLOT_OPS, &one, free_slot);
    session_set_slot(s, SLOT_TYPES, &two, free_slot);
    session_set_slot(s, SLOT_OPS, &three, free_slot); /* the old one goes at once */
    CHECK(norder == 1 && order[0] == 1);
    CHECK(session_slot(s, SLOT_OPS) == &three);
    CHECK(session_max_memory(s) > 1 << 20);
    CHECK(!session_exceeds_memory(s, 1 << 20) && session_exceeds_memory(s, UINT64_MAX));
    CHECK(!session_exceeds_memory(s, session_max_memory(s)));
    CHECK(session_exceeds_memory(s, session_max_memory(s) + 1));
    session_options(s)->max_memory = 77;
    CHECK(session_max_memory(s) == 77);
    CHECK(!session_exceeds_memory(s, 77) && session_exceeds_memory(s, 78));
    int level = session_cpu_level(s);
    CHECK(level >= 0 && level <= 2);
    session_options(s)->cpu_level = 0;
    CHECK(session_cpu_level(s) == 0);
    session_free(s);
    CHECK(norder == 3 && order[1] == 2 && order[2] == 3);
}

/* The lines of /proc/self/maps that have a part of the block; 0: there is no such
 * file. */
static int count_mappings(const void *p, size_t size) {
    FILE *f = fopen("/proc/self/maps", "re");
    uintptr_t from, end, at = (uintptr_t)p;
    char line[512];
    int n = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &end) == 2)
            n += from < at + size && at < end;
    if (f) fclose(f);
    return n;
}

static bool is_zero(const char *p, size_t n) {
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Of the block, as far as the system tells: it may not know huge pages. */
static bool is_resident(const char *p) {
    unsigned char in = 1;
    return mincore((void *)((uintptr_t)p & ~(uintptr_t)4095), 1, &in) == 0 && in & 1;
}

enum { MB = 1 << 20, ODD = 12345 };

/* In place, whatever its size; what it gives up and takes again is cleared. */
static void test_large_block(void) {
    char *p = large_alloc(9 * MB + ODD);
    if (!p) return; /* address space is limited, or a sanitizer watches */
    CHECK(large_owns(p) && large_size(p) == 9 * MB + ODD && (uintptr_t)p % 64 == 0);
    CHECK(!large_owns(NULL) && !large_owns(p + 64) && !large_owns(p - 64));
    CHECK(is_zero(p, 9 * MB + ODD));
    memset(p, 7, 9 * MB + ODD);
    CHECK(large_resize(p, 30 * MB) && p[9 * MB + ODD - 1] == 7);
    CHECK(is_zero(p + 9 * MB + ODD, 21 * MB - ODD));
    memset(p, 7, 30 * MB);
    CHECK(large_resize(p, 5 * MB + ODD) && p[5 * MB + ODD - 1] == 7);
    CHECK(!is_resident(p + 6 * MB) && !is_resident(p + 29 * MB));
    CHECK(large_resize(p, 30 * MB) && is_zero(p + 6 * MB, 24 * MB));
    CHECK(!large_resize(p, (size_t)5 << 30) && large_size(p) == 30 * MB);
    CHECK(!large_resize(p, SIZE_MAX) && !large_alloc(SIZE_MAX));
    large_free(p);
    CHECK(!large_alloc((size_t)5 << 30));
}

/* What a limit leaves is malloc's. */
static void test_limited_addresses(void) {
    struct rlimit was, less;
    if (getrlimit(RLIMIT_AS, &was) != 0 || was.rlim_cur != RLIM_INFINITY) return;
    less = (struct rlimit){(rlim_t)1 << 46, was.rlim_max};
    if (setrlimit(RLIMIT_AS, &less) != 0) return;
    CHECK(!large_alloc(5 * MB));
    CHECK(setrlimit(RLIMIT_AS, &was) == 0);
}

/* Many at once, each with its own contents; blocks of malloc's are told apart. */
static void test_large_blocks(void) {
    enum { MANY = 100 };
    char *p[MANY], *small[MANY];
    size_t n = 0;
    for (; n < MANY && (p[n] = large_alloc(5 * MB + n)); n++)
        p[n][n] = (char)(n + 1), p[n][5 * MB] = 9;
    for (size_t i = 0; i < MANY; i++)
        small[i] = malloc(i * MB / 8 + 1);
    for (size_t i = 0; i < n; i++)
        CHECK(large_owns(p[i]) && p[i][i] == (char)(i + 1) &&
              large_size(p[i]) == 5 * MB + i);
    for (size_t i = 0; i < MANY; i++) {
        CHECK(!large_owns(small[i]));
        free(small[i]);
    }
    for (size_t i = 0; i < n; i++)
        large_free(p[i]);
}

/* From malloc's heap to address space of its own, and back where that ends. */
static void test_large(Session *s) {
    size_t size = 9 * MB + ODD;
    mem_expect_graphs(s);
    char *p = mem_alloc(s, 3 * MB);
    CHECK(!large_owns(p));
    memset(p, 7, 3 * MB);
    p = mem_realloc(s, p, 1, size);
    CHECK(p[0] == 7 && p[3 * MB - 1] == 7);
    memset(p, 7, size);
    CHECK(count_mappings(p, size) <= 2, "realloc would have to copy it");
    char *grown = mem_realloc(s, p, 3, size);
    CHECK(!large_owns(p) || grown == p);
    CHECK(grown[0] == 7 && grown[size - 1] == 7);
    mem_free(grown);
    char *zero = mem_zalloc(s, 3, size);
    CHECK(is_zero(zero, 3 * size));
    mem_free(zero);
    size_t most = (size_t)5 << 30;
    void *room = malloc(most);
    free(room);
    char *last = mem_alloc(s, 5 * MB);
    last[0] = 9;
    if (room) last = mem_realloc(s, last, 1, most);
    CHECK(last[0] == 9 && (!room || !large_owns(last)));
    mem_free(last);
}

/* What is freed between blocks that stay goes back, if it is much. */
static void test_give_back(Session *s) {
    enum { MANY = 40 };
    char *p[MANY];
    for (size_t i = 0; i < MANY; i++)
        p[i] = memset(mem_alloc(s, MB), 7, MB);
    for (size_t i = 0; i < MANY; i += 2)
        mem_free(p[i]);
    char *middle = p[MANY / 2] + MB / 2;
    bool kept = is_resident(middle);
    mem_give_back(s, MB);
    CHECK(is_resident(middle) == kept);
    mem_give_back(s, MANY / 2 * MB);
#ifdef __GLIBC__
    CHECK(SANITIZED || !kept || !is_resident(middle));
#endif
    for (size_t i = 1; i < MANY; i += 2) {
        CHECK(p[i][0] == 7 && p[i][MB / 2] == 7 && p[i][MB - 1] == 7);
        mem_free(p[i]);
    }
}

/* Of blocks from malloc and of large ones; nothing around is lost. */
static void test_forget(Session *s) {
    for (size_t mb = 1; mb <= 9; mb += 8) {
        size_t size = mb * MB, from = 5000, end = size - 70001;
        char *p = memset(mem_alloc(s, size), 7, size);
        mem_forget(p, from, from);
        mem_forget(p, from + 1, from + 100);
        CHECK(is_resident(p + from) && p[from + 50] == 7);
        mem_forget(p, from, end);
        CHECK(!is_resident(p + size / 2));
        size_t kept = 0;
        for (size_t i = 0; i < from; i++)
            kept += p[i] == 7;
        for (size_t i = end; i < size; i++)
            kept += p[i] == 7;
        CHECK(kept == from + size - end, "%zu", kept);
        p[size / 2] = 9;
        CHECK(is_resident(p + size / 2) && p[size / 2] == 9);
        p = mem_realloc(s, p, 2, size);
        CHECK(p[0] == 7 && p[size / 2] == 9 && p[size - 1] == 7);
        mem_free(p);
    }
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_arena(s);
    test_marks(s);
    test_large_block();
    test_large_blocks();
    test_limited_addresses();
    test_large(s);
    test_give_back(s);
    test_forget(s);
    test_vec(s);
    test_str(s);
    test_syms(s);
    test_deceptive(s);
    test_escapes(s);
    test_quoting(s);
    test_nearest(s);
    test_lists(s);
    session_free(s);
    test_panic();
    test_session();
    return TEST_END("base_mem");
}
