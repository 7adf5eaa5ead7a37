/* Opens and calls OpenBLAS. */
#include "ops/linalg/product/blas.h"

#include "base/cpu.h"
#include "ops/linalg/product/gemv.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
typedef void GemmF32(int, int, int, int, int, int, float, const void *, int,
                     const void *, int, float, void *, int);
typedef void GemmF64(int, int, int, int, int, int, double, const void *, int,
                     const void *, int, double, void *, int);
typedef void GemmC(int, int, int, int, int, int, const void *, const void *, int,
                   const void *, int, const void *, void *, int);
typedef void GemvC(int, int, int, int, const void *, const void *, int, const void *,
                   int, const void *, void *, int);

/* ---- opening ---- */
static void blas_close(void *p) {
    Blas *b = p;
    if (b->library) dlclose(b->library);
    mem_free(b);
}

/* The loader gives the reason in words only (glibc's, of each allocation and mapping).
 */
static bool loader_had_no_memory(void) {
    static const char *const words[] = {"annot allocate", "out of memory",
                                        "cannot create", "cannot map", "failed to map"};
    const char *why = dlerror();
    bool found = false;
    for (size_t i = 0; why && i < sizeof words / sizeof *words; i++)
        found |= strstr(why, words[i]) != NULL;
    return found;
}

static void open_library(Blas *b) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so",
                                        "libopenblas.0.dylib", "libopenblas.dylib"};
    for (size_t i = 0; !b->library && i < sizeof names / sizeof *names; i++) {
        b->library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!b->library) b->no_memory |= loader_had_no_memory();
    }
}

static BlasFn *find_symbol(void *lib, const char *name) {
    void *p = dlsym(lib, name);
    BlasFn *fn;
    memcpy(&fn, &p, sizeof fn); /* POSIX: a function's address fits */
    return fn;
}

/* Kernels for which blas.h's `tile` is known to hold, those of 12 first. */
static int64_t tile_of(const char *core) {
    static const char *const known[] = {
        "Haswell", "Zen",  "Prescott",    "Core2",    "Penryn",    "Dunnington",
        "Nehalem", "Atom", "Sandybridge", "SkylakeX", "Cooperlake"};
    for (size_t i = 0; core && i < sizeof known / sizeof *known; i++)
        if (strcmp(core, known[i]) == 0) return i < 2 ? BLAS_TILE / 2 : BLAS_TILE;
    return 0;
}

static void resolve_symbols(Blas *b) {
    static const char *const names[BLAS_N] = {"gemm", "gemv"};
    for (int i = 0; i < BLAS_N; i++)
        for (int d = 0; d < 4; d++) {
            char name[32];
            if (i == BLAS_GEMV && d < 2) continue; /* gemv.h has those */
            snprintf(name, sizeof name, "cblas_%c%s", "sdcz"[d], names[i]);
            b->fn[i][d] = find_symbol(b->library, name);
            if (b->fn[i][d]) continue;
            dlclose(b->library);
            b->library = NULL;
            return;
        }
    void (*threads)(int);
    char *(*core)(void);
    BlasFn *t = find_symbol(b->library, "openblas_set_num_threads"),
           *c = find_symbol(b->library, "openblas_get_corename");
    memcpy(&threads, &t, sizeof t);
    memcpy(&core, &c, sizeof c);
    if (t) threads(1);
    if (c) b->core = core();
    b->tile = tile_of(b->core);
}

BlasFn *blas_find(const Blas *lib, const char *symbol) {
    return lib->library ? find_symbol(lib->library, symbol) : NULL;
}

/* ---- address space ---- */
/* OpenBLAS waits forever for a buffer that can't be mapped, and the Fortran library it
 * brings ends the program when its first allocations fail: neither is started unless
 * there is room. */
enum { BUFFER = 128 << 20, LIBRARY = 48 << 20 };

static bool can_map_bytes(size_t bytes) {
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, bytes) == 0;
}

/* Takes `want` buffers at once and returns them: they stay mapped. */
static void reserve_buffers(Session *s, Blas *b, unsigned want) {
    void **held = mem_zalloc(s, want, sizeof *held);
    unsigned n = 0;
    while (n < want && (n < b->buffers || can_map_bytes(BUFFER + (BUFFER >> 4)))) {
        if (b->take) held[n] = b->take(0);
        n++;
    }
    for (unsigned i = n; i-- > 0 && b->give;)
        b->give(held[i]);
    if (n > b->buffers) b->buffers = n;
    mem_free(held);
}

Pool *blas_pool(Session *s, Pool *pool, size_t chunks) {
    Blas *b = session_slot(s, SLOT_BLAS);
    unsigned most = pool ? pool_threads(pool) : 1;
    if (chunks < most) most = (unsigned)chunks;
    if (b && b->library && most > b->buffers) reserve_buffers(s, b, most);
    return b && most > b->buffers ? NULL : pool;
}

static void find_buffers(Blas *b) {
    BlasFn *take = find_symbol(b->library, "blas_memory_alloc"),
           *give = find_symbol(b->library, "blas_memory_free");
    if (!take || !give) return;
    memcpy(&b->take, &take, sizeof take);
    memcpy(&b->give, &give, sizeof give);
}

static void open_blas(Session *s, Blas *b) {
    b->no_room = !can_map_bytes(LIBRARY + BUFFER + (BUFFER >> 4));
    if (b->no_room) return;
    open_library(b);
    if (b->library) resolve_symbols(b);
    if (!b->library) return;
    find_buffers(b);
    reserve_buffers(s, b, 1);
    if (b->buffers) return;
    b->no_room = true;
    dlclose(b->library);
    b->library = NULL;
}

static const GemvLoops *gemv_loops(Session *s) {
    return FOR_CPU_LEVEL(s, gemv_loops);
}

static Blas *unopened(Session *s) {
    Blas *b = session_slot(s, SLOT_BLAS);
    if (b) return b;
    b = mem_zalloc(s, 1, sizeof *b);
    b->gemv = gemv_loops(s);
    session_set_slot(s, SLOT_BLAS, b, blas_close);
    return b;
}

const Blas *blas_get(Session *s) {
    Blas *b = unopened(s);
    if (!b->opened) open_blas(s, b);
    b->opened = true;
    return b;
}

bool blas_share(Session *s, unsigned n) {
    Blas *b = unopened(s);
    blas_get(s);
    if (b->library && n > b->buffers) reserve_buffers(s, b, n);
    return !b->library || n <= b->buffers;
}

bool blas_has_own(const Gemm *g) {
    return (g->m == 1 || g->n == 1) &&
           (g->dtype == DT_FLOAT32 || g->dtype == DT_FLOAT64);
}

const Blas *blas_for(Session *s, const Gemm *g) {
    const Blas *b = blas_has_own(g) ? unopened(s) : blas_get(s);
    return blas_has_own(g) || b->library ? b : NULL;
}

Pool *blas_pool_for(Session *s, const Gemm *g, Pool *pool, size_t chunks) {
    return blas_has_own(g) ? pool : blas_pool(s, pool, chunks);
}

/* ---- calling ---- */
static int blas_kind(DType d) {
    return d == DT_FLOAT32 ? 0 : d == DT_FLOAT64 ? 1 : d == DT_COMPLEX64 ? 2 : 3;
}

/* Row-major leading dim and transposition of a matrix with strides (row, col). */
static int gemm_layout(int64_t row, int64_t col, int64_t rows, int64_t cols, int *ld) {
    bool trans = col != 1 && !(cols == 1 && row >= 1);
    int64_t l = trans ? col : row, least = trans ? rows : cols;
    *ld = (int)(l < least ? least : l < 1 ? 1 : l);
    return trans ? TRANS : NO_TRANS;
}

/* The factors in the form that calls take them. */
typedef struct Factors {
    double d[4];
    float f[4];
} Factors;

static Factors factors_of(const Gemm *g) {
    static const GemmScale plain = {{1, 0}, {0, 0}};
    const GemmScale *x = g->scale ? g->scale : &plain;
    Factors q = {.d = {x->alpha[0], x->alpha[1], x->beta[0], x->beta[1]}};
    for (int i = 0; i < 4; i++)
        q.f[i] = (float)q.d[i];
    return q;
}

/* Of complex numbers. */
static void call_gemv(const Blas *lib, const Gemm *g) {
    int d = blas_kind(g->dtype), ld,
        t = gemm_layout(g->a_row, g->a_col, g->m, g->k, &ld);
    int rows = (int)(t == TRANS ? g->k : g->m), cols = (int)(t == TRANS ? g->m : g->k);
    int step = (int)(g->b_row ? g->b_row : 1), out = (int)(g->ldc > 0 ? g->ldc : 1);
    BlasFn *fn = lib->fn[BLAS_GEMV][d];
    Factors q = factors_of(g);
    ((GemvC *)fn)(ROW_MAJOR, t, rows, cols, d == 2 ? (const void *)q.f : q.d, g->a, ld,
                  g->b, step, d == 2 ? (const void *)&q.f[2] : &q.d[2], g->c, out);
}

static void call_gemm(const Blas *lib, const Gemm *g) {
    int d = blas_kind(g->dtype), lda, ldb, m = (int)g->m, n = (int)g->n, k = (int)g->k,
        ldc = (int)g->ldc;
    int ta = gemm_layout(g->a_row, g->a_col, g->m, g->k, &lda),
        tb = gemm_layout(g->b_row, g->b_col, g->k, g->n, &ldb);
    BlasFn *fn = lib->fn[BLAS_GEMM][d];
    Factors q = factors_of(g);
    if (d == 0)
        ((GemmF32 *)fn)(ROW_MAJOR, ta, tb, m, n, k, q.f[0], g->a, lda, g->b, ldb,
                        q.f[2], g->c, ldc);
    else if (d == 1)
        ((GemmF64 *)fn)(ROW_MAJOR, ta, tb, m, n, k, q.d[0], g->a, lda, g->b, ldb,
                        q.d[2], g->c, ldc);
    else
        ((GemmC *)fn)(ROW_MAJOR, ta, tb, m, n, k, d == 2 ? (const void *)q.f : q.d,
                      g->a, lda, g->b, ldb, d == 2 ? (const void *)&q.f[2] : &q.d[2],
                      g->c, ldc);
}

Gemm blas_turned(const Gemm *g) {
    Gemm t = *g;
    if (g->m != 1 || g->n == 1) return t;
    t.m = g->n, t.n = 1, t.ldc = 1;
    t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row;
    t.b = g->a, t.b_row = g->a_col, t.b_col = g->a_row;
    return t;
}

/* Of a product by a column. Its strides are any numbers where a dim is 1. */
static void run_gemv(const Blas *lib, const Gemm *g) {
    const GemmScale *x = g->scale;
    Gemv v = {.m = g->m,
              .k = g->k,
              .a = g->a,
              .b = g->b,
              .c = g->c,
              .lda = g->a_row,
              .b_step = g->b_row ? g->b_row : 1,
              .c_step = g->ldc > 0 ? g->ldc : 1,
              .alpha = x ? x->alpha[0] : 1,
              .beta = x ? x->beta[0] : 0,
              .side_by_side = CPU_IS_AMD()};
    bool cols = g->m > 1 ? g->a_row == 1 && (g->a_col != 1 || g->k == 1)
                         : g->a_col != 1 && v.b_step != 1;
    if (cols) v.lda = g->a_col;
    if (g->m == 1 && g->a_col != 1 && !cols)
        v.a = g->b, v.b = g->a, v.b_step = g->a_col;
    (cols ? lib->gemv->cols : lib->gemv->rows)[g->dtype == DT_FLOAT64](&v);
}

void blas_gemm(const Blas *lib, const Gemm *given) {
    Gemm g = blas_turned(given);
    if (blas_has_own(&g))
        run_gemv(lib, &g);
    else if (g.n == 1)
        call_gemv(lib, &g);
    else
        call_gemm(lib, &g);
}
