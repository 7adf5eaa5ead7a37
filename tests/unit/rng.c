/* Random streams: Random123's known answers for Philox4x32-10, and draws worked out
 * from rng.h's words by an independent program (Python integers). */
#include "value/rng.h"

#include "test.h"
#include "value/value_impl.h"

#include <math.h>
#include <stdlib.h>

static const uint32_t words32[2][9] = {
    {0x9ceaf053U, 0x77f5493bU, 0x12bf50adU, 0x5742b3d7U, 0xfcdb2127U, 0x53ba6cfdU,
     0x838f5a6eU, 0x744e06fbU, 0xd36c0225U},
    {0xe5c28734U, 0x443275fbU, 0xb52db13fU, 0x5487dd31U, 0xd4f5e35eU, 0x890c5cdaU,
     0xbfd1c8aeU, 0x1b606f97U, 0xa6b8aacbU}};
static const uint64_t words64[2][9] = {
    {UINT64_C(0x77f5493b9ceaf053), UINT64_C(0x5742b3d712bf50ad),
     UINT64_C(0x53ba6cfdfcdb2127), UINT64_C(0x744e06fb838f5a6e),
     UINT64_C(0xa8875dcbd36c0225), UINT64_C(0xc609a5599a4d6d99),
     UINT64_C(0xabaf0dabbac70475), UINT64_C(0x610e67f7961e5543),
     UINT64_C(0xd6cbaeb5539023bc)},
    {UINT64_C(0x443275fbe5c28734), UINT64_C(0x5487dd31b52db13f),
     UINT64_C(0x890c5cdad4f5e35e), UINT64_C(0x1b606f97bfd1c8ae),
     UINT64_C(0x4cdb33b5a6b8aacb), UINT64_C(0xe68f0fff83489e87),
     UINT64_C(0xba20c4c733119fc4), UINT64_C(0xf8c6ba47307d13b8),
     UINT64_C(0x80d048c4e4cd0777)}};
static const double uniform64[2][9] = {
    {0x1.dfd524ee73abcp-2, 0x1.5d0acf5c4afd4p-2, 0x1.4ee9b3f7f36c8p-2,
     0x1.d1381bee0e3d6p-2, 0x1.510ebb97a6d80p-1, 0x1.8c134ab3349adp-1,
     0x1.575e1b57758e0p-1, 0x1.84399fde58794p-2, 0x1.ad975d6aa7204p-1},
    {0x1.10c9d7ef970a0p-2, 0x1.521f74c6d4b6cp-2, 0x1.1218b9b5a9ebcp-1,
     0x1.b606f97bfd1c8p-4, 0x1.336cced69ae2ap-2, 0x1.cd1e1fff06913p-1,
     0x1.7441898e66233p-1, 0x1.f18d748e60fa2p-1, 0x1.01a09189c99a0p-1}};
static const double uniform32[2][9] = {
    {0x1.39d5e00000000p-1, 0x1.dfd5240000000p-2, 0x1.2bf5000000000p-4,
     0x1.5d0acc0000000p-2, 0x1.f9b6420000000p-1, 0x1.4ee9b00000000p-2,
     0x1.071eb40000000p-1, 0x1.d138180000000p-2, 0x1.a6d8040000000p-1},
    {0x1.cb850e0000000p-1, 0x1.10c9d40000000p-2, 0x1.6a5b620000000p-1,
     0x1.521f740000000p-2, 0x1.a9ebc60000000p-1, 0x1.1218b80000000p-1,
     0x1.7fa3900000000p-1, 0x1.b606f00000000p-4, 0x1.4d71540000000p-1}};
static const double uniform16[2][9] = {
    {0x1.39c0000000000p-1, 0x1.df80000000000p-2, 0x1.2a00000000000p-4,
     0x1.5d00000000000p-2, 0x1.f980000000000p-1, 0x1.4e80000000000p-2,
     0x1.0700000000000p-1, 0x1.d100000000000p-2, 0x1.a6c0000000000p-1},
    {0x1.cb80000000000p-1, 0x1.1080000000000p-2, 0x1.6a40000000000p-1,
     0x1.5200000000000p-2, 0x1.a9c0000000000p-1, 0x1.1200000000000p-1,
     0x1.7f80000000000p-1, 0x1.b600000000000p-4, 0x1.4d40000000000p-1}};
static const double normals[2][9] = {
    {-0.6653748678073486, 1.036023808655465, -1.4338891806537384, 0.4232781812444527,
     0.13500793462831734, -0.9043863850666349, -0.6482506427558838, 0.6154812264131017,
     0.0530850299975853},
    {-0.785353165723075, 1.4243492672025877, 0.8748917353741169, 0.6958826211083767,
     1.2585600328347106, -0.9069221259260277, 0.7859108839354456, -0.1408180578928536,
     0.9265126920823605}};
static const int64_t small[2][9] = {
    {INT64_C(-1), INT64_C(2), INT64_C(3), INT64_C(-3), INT64_C(1), INT64_C(3),
     INT64_C(-2), INT64_C(-1), INT64_C(-5)},
    {INT64_C(-3), INT64_C(-1), INT64_C(1), INT64_C(-3), INT64_C(0), INT64_C(1),
     INT64_C(2), INT64_C(-5), INT64_C(2)}};
static const int64_t wide[2][9] = {
    {INT64_C(-4901424246758737879), INT64_C(-5386230557762470251),
     INT64_C(-1048688013883922119), INT64_C(-6605888204128810797),
     INT64_C(-493574463174607654), INT64_C(-2347087388588517444),
     INT64_C(-6315859069974923759), INT64_C(-5439568955918848448),
     INT64_C(-6791615078321026162)},
    {INT64_C(-6177831923552429921), INT64_C(-7841299798847299782),
     INT64_C(-3447295561568834303), INT64_C(-6590992963904624401),
     INT64_C(-4083135734453364998), INT64_C(-3628279895724046897),
     INT64_C(-1001899987287708059), INT64_C(-2564546559884593455),
     INT64_C(-8974608173303638048)}};
static const int64_t shuffled[2][9] = {
    {INT64_C(5), INT64_C(2), INT64_C(0), INT64_C(8), INT64_C(3), INT64_C(1), INT64_C(7),
     INT64_C(6), INT64_C(4)},
    {INT64_C(5), INT64_C(0), INT64_C(7), INT64_C(6), INT64_C(8), INT64_C(1), INT64_C(4),
     INT64_C(3), INT64_C(2)}};
static const uint64_t far64[2][9] = {
    {UINT64_C(0x6aaf03eb2fe739d4), UINT64_C(0x6880ffbe220383a8),
     UINT64_C(0xda94bb0d93ef3466), UINT64_C(0x159ef7900db84388),
     UINT64_C(0xf8e388ac936810ee), UINT64_C(0x7875c62d8a100e2f),
     UINT64_C(0xa6514afec01c0462), UINT64_C(0xe5185555b8598741),
     UINT64_C(0x382dd3da2891a652)},
    {UINT64_C(0xbc60a3cc9229d4cf), UINT64_C(0x61236d9c0ea09e78),
     UINT64_C(0xa0ea2205e8491302), UINT64_C(0xd8ac3fb35fcdedda),
     UINT64_C(0xe9b75a56d74a1bc3), UINT64_C(0xb6b2a801bf8d8d4b),
     UINT64_C(0x4ba476a9b8f78d52), UINT64_C(0x735b0fde31d788d4),
     UINT64_C(0x503b09da99b49ff4)}};

static void test_known_answers(void) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } kat[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
               {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                {0xffffffff, 0xffffffff},
                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                {0xa4093822, 0x299f31d0},
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        rng_philox(kat[i].counter, kat[i].key, out);
        CHECK(memcmp(out, kat[i].out, sizeof out) == 0, "answer %zu", i);
    }
}

/* The loops of each level that this CPU can run: block by block, and the same numbers
 * at all levels. */
static const RngLoops *loops_at(int level) {
#ifdef __x86_64__
    if (level > 0) return level == 1 ? &rng_loops_1 : &rng_loops_2;
#else
    (void)level; /* there is one */
#endif
    return &rng_loops_0;
}

static void test_level(const RngLoops *loops, size_t n) {
    enum { MOST = 64 };
    uint64_t number[MOST], w[MOST * 2 + 1];
    const uint64_t seed = UINT64_C(0x123456789ABCDEF0),
                   draw = UINT64_C(0xFEDCBA9876543210);
    for (size_t i = 0; i < n; i++)
        number[i] = UINT64_C(0xFFFFFFF8) + i * i * 3;
    w[2 * n] = 1;
    loops->blocks(seed, draw, n, number, w);
    CHECK(w[2 * n] == 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t c[4] = {(uint32_t)number[i], (uint32_t)(number[i] >> 32),
                         (uint32_t)draw, (uint32_t)(draw >> 32)},
                 key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
        rng_philox(c, key, c);
        CHECK(w[2 * i] == (c[0] | (uint64_t)c[1] << 32) &&
                  w[2 * i + 1] == (c[2] | (uint64_t)c[3] << 32),
              "block %zu of %zu", i, n);
    }
    for (int open = 0; open < 2; open++) {
        double a[MOST * 2], b[MOST * 2];
        if (n > 1) w[1] = UINT64_MAX, w[2] = 0, w[3] = UINT64_MAX;
        rng_loops_0.units(open, 2 * n, w, a), loops->units(open, 2 * n, w, b);
        CHECK(memcmp(a, b, 2 * n * sizeof *a) == 0);
        rng_loops_0.normals(open, n, w, a), loops->normals(open, n, w, b);
        CHECK(memcmp(a, b, 2 * n * sizeof *a) == 0);
    }
}

/* Runs of blocks are those that lists of their numbers name. */
static void test_run(const RngLoops *loops, size_t n, uint64_t step) {
    enum { MOST = 200 };
    uint64_t number[MOST] = {0}, want[MOST * 2], w[MOST * 2 + 1];
    int64_t v[MOST + 1];
    BlockRun q = {42, UINT64_C(0xFEDCBA9876543210), UINT64_C(0xFFFFFFF8), step, n};
    for (size_t i = 0; i < n; i++)
        number[i] = q.first + i * step;
    loops->blocks(q.seed, q.draw, n, number, want);
    w[2 * n] = 1, v[n] = 1;
    loops->run(&q, w);
    CHECK(w[2 * n] == 1 && memcmp(w, want, 2 * n * sizeof *w) == 0, "%zu blocks", n);
    CHECK(loops->integers(&q, 1000003, UINT64_MAX, v) && v[n] == 1);
    for (size_t i = 0; i < n; i++) {
        __extension__ typedef unsigned __int128 Wide;
        CHECK(v[i] == (int64_t)((Wide)want[2 * i] * 1000003 >> 64) - 1, "%zu", i);
    }
}

/* Element 1240425542 of this range needs its second word. */
static void test_second_word(void) {
    enum { N = 9, AT = 4 };
    const uint64_t range = 4294901761, first = 1240425542 - AT;
    Rng r = rng_seed(1);
    int64_t v[N];
    rng_integers(&r, -5, range, first, N, v);
    for (uint64_t i = 0; i < N; i++) {
        __extension__ typedef unsigned __int128 Wide;
        uint64_t w[2];
        rng_block(&r, (first + i) << 16, w);
        CHECK((w[0] * range < (0 - range) % range) == (i == AT));
        CHECK(v[i] == (int64_t)((Wide)w[i == AT] * range >> 64) - 5, "%d", (int)i);
    }
    for (int level = 0; level <= value_simd_level(); level++)
        for (size_t n = 0; n < N; n++) {
            BlockRun q = {1, 0, first << 16, 1 << 16, n};
            CHECK(!loops_at(level)->integers(&q, (uint32_t)range, 0, v) || n <= AT);
        }
}

static void test_levels(void) {
    for (int level = 0; level <= value_simd_level(); level++) {
        for (size_t n = 0; n < 64; n++)
            test_level(loops_at(level), n);
        for (size_t n = 0; n < 200; n += n < 70 ? 1 : 43)
            test_run(loops_at(level), n, 1), test_run(loops_at(level), n, 1 << 16);
    }
}

static Rng state(int i) {
    return i == 0
               ? rng_seed(42)
               : (Rng){UINT64_C(0xDEADBEEF12345678), UINT64_C(0x1122334455667788), 3};
}

static void test_draws(int i) {
    Rng r = state(i);
    uint32_t w32[9];
    uint64_t w64[9];
    double d[9];
    float f[9];
    uint16_t h[9];
    int64_t v[9];
    rng_words32(&r, 0, 9, w32);
    CHECK(memcmp(w32, words32[i], sizeof w32) == 0);
    rng_words64(&r, 0, 9, w64);
    CHECK(memcmp(w64, words64[i], sizeof w64) == 0);
    rng_words64(&r, (UINT64_C(1) << 33) + 1, 9, w64);
    CHECK(memcmp(w64, far64[i], sizeof w64) == 0);
    rng_uniform(&r, DT_FLOAT64, 0, 9, d);
    CHECK(memcmp(d, uniform64[i], sizeof d) == 0);
    rng_uniform(&r, DT_FLOAT32, 0, 9, f);
    rng_uniform(&r, DT_FLOAT16, 0, 9, h);
    for (int k = 0; k < 9; k++)
        CHECK((double)f[k] == uniform32[i][k] &&
              half_to_double(h[k]) == uniform16[i][k]);
    rng_normal(&r, 0, 9, d);
    for (int k = 0; k < 9; k++)
        CHECK(fabs(d[k] - normals[i][k]) < 1e-14, "%.17g", d[k]);
    rng_integers(&r, -5, 10, 0, 9, v);
    CHECK(memcmp(v, small[i], sizeof v) == 0);
    rng_integers(&r, INT64_MIN, (UINT64_C(1) << 63) + 1, 0, 9, v);
    CHECK(memcmp(v, wide[i], sizeof v) == 0); /* half of the words are rejected */
    rng_permutation(&r, 9, v);
    CHECK(memcmp(v, shuffled[i], sizeof v) == 0);
}

/* The words' leading bits and a half: exact, and never an end. */
static void test_open(int i) {
    Rng r = state(i);
    double d[9];
    float f[9];
    uint16_t h[9];
    uint64_t block[2];
    rng_uniform_open(&r, DT_FLOAT64, 0, 9, d);
    rng_uniform_open(&r, DT_FLOAT32, 0, 9, f);
    rng_uniform_open(&r, DT_FLOAT16, 0, 9, h);
    for (int k = 0; k < 9; k++) {
        CHECK(d[k] == ldexp((double)(words64[i][k] >> 12) + 0.5, -52));
        CHECK((double)f[k] == ldexp((double)(words32[i][k] >> 9) + 0.5, -23));
        CHECK(half_to_double(h[k]) == ldexp((double)(words32[i][k] >> 22) + 0.5, -10));
    }
    CHECK(ldexp((double)(UINT64_MAX >> 12) + 0.5, -52) < 1);
    for (uint64_t k = 0; k < 4; k++) {
        rng_block(&r, k, block);
        CHECK(memcmp(block, words64[i] + 2 * k, sizeof block) == 0);
    }
}

/* Any part of a draw is what the whole has there. */
static void test_parts(void) {
    enum { N = 1000 };
    static uint32_t a[N], b[N];
    static uint64_t c[N], d[N];
    static double e[N], f[N];
    static float g[N], h[N];
    static int64_t k[N], l[N];
    Rng r = state(1);
    rng_words32(&r, 0, N, a);
    rng_words64(&r, 0, N, c);
    rng_normal(&r, 0, N, e);
    rng_uniform(&r, DT_FLOAT32, 0, N, g);
    rng_integers(&r, 0, UINT64_C(3) << 62, 0, N, k);
    for (size_t first = 0, n; first < N; first += n) {
        n = 1 + first % 37;
        if (n > N - first) n = N - first;
        rng_words32(&r, first, n, b + first);
        rng_words64(&r, first, n, d + first);
        rng_normal(&r, first, n, f + first);
        rng_uniform(&r, DT_FLOAT32, first, n, h + first);
        rng_integers(&r, 0, UINT64_C(3) << 62, first, n, l + first);
    }
    CHECK(memcmp(a, b, sizeof a) == 0 && memcmp(c, d, sizeof c) == 0);
    CHECK(memcmp(e, f, sizeof e) == 0 && memcmp(g, h, sizeof g) == 0);
    CHECK(memcmp(k, l, sizeof k) == 0);
}

static void test_moments(void) {
    enum { N = 200000 };
    static double v[N];
    double sum = 0, square = 0;
    Rng r = rng_seed(1);
    rng_normal(&r, 0, N, v);
    for (int i = 0; i < N; i++) {
        sum += v[i];
        square += v[i] * v[i];
    }
    CHECK(fabs(sum / N) < 0.01 && fabs(square / N - 1) < 0.02);
    r = rng_next(&r);
    rng_uniform(&r, DT_FLOAT64, 0, N, v);
    sum = 0;
    for (int i = 0; i < N; i++) {
        sum += v[i];
        if (v[i] < 0 || v[i] >= 1) sum = HUGE_VAL;
    }
    CHECK(fabs(sum / N - 0.5) < 0.005);
}

static void test_state(Session *s) {
    Rng r = state(1), back, next = rng_next(&r);
    Tensor t;
    CHECK(next.position == 4 && next.seed == r.seed && next.stream == r.stream);
    CHECK(rng_to_tensor(s, &r, &t) && t.dtype == DT_UINT64 && t.ndim == 1 &&
          t.shape[0] == 4);
    back = rng_from_tensor(&t);
    CHECK(back.seed == r.seed && back.stream == r.stream &&
          back.position == r.position);
    CHECK(((uint64_t *)t.data)[3] == 0);
    tensor_unref(&t);
    int64_t none = 7;
    rng_permutation(&r, 0, &none);
    CHECK(none == 7);
    rng_permutation(&r, 1, &none);
    CHECK(none == 0);
}

/* The last element is exchanged first, each with the one that integers below its number
 * of places draw for it. */
static void test_permutation(int64_t n) {
    Rng r = state(1);
    int64_t *got = malloc((size_t)n * sizeof *got),
            *want = malloc((size_t)n * sizeof *want);
    if (!got || !want) exit(1);
    for (int64_t i = 0; i < n; i++)
        want[i] = i;
    for (int64_t i = 0; i < n; i++) {
        int64_t at, last = n - 1 - i, one = want[last];
        rng_integers(&r, 0, (uint64_t)last + 1, (uint64_t)i, 1, &at);
        want[last] = want[at];
        want[at] = one;
    }
    rng_permutation(&r, n, got);
    CHECK(memcmp(got, want, (size_t)n * sizeof *got) == 0, "%lld", (long long)n);
    free(got), free(want);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    for (int64_t n = 1; n < 3000; n += 1 + n / 3)
        test_permutation(n);
    test_known_answers();
    test_levels();
    test_draws(0);
    test_draws(1);
    test_open(0);
    test_open(1);
    test_second_word();
    test_parts();
    test_moments();
    test_state(s);
    session_free(s);
    return TEST_END("rng");
}
