/* Elementwise loops against themselves: at all levels of CPU, in blocks of any length
 * and place, in place. */
#include "elemwise.h"

enum { LONG = 384, ROOM = LONG * 16 + 64 };
/* More than a block of those loops that have blocks of bytes. */
enum { BLOCKS = 2600 };
typedef struct Blocks {
    _Alignas(64) unsigned char in[4][ROOM];
} Blocks;

static size_t size_of(DType d) {
    static const size_t size[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};
    return size[d];
}
static size_t out_size(const Op *o, DType d) {
    if (o->out_dtype == OUT_BOOL) return 1;
    if (o->out_dtype == OUT_REAL && d >= DT_COMPLEX64) return size_of(d) / 2;
    if (strcmp(o->name, "complex") == 0) return d == DT_FLOAT64 ? 16 : 8;
    return size_of(d);
}
static size_t in_size(const Op *o, size_t k, DType d) {
    return is_where(o) && k == 0 ? 1 : size_of(d);
}

/* Numbers of moderate size, special values in between. */
static void fill_one(DType d, unsigned char *p, size_t i) {
    static const double special[] = {0, -0.0, INF, -INF, NOT, 1e-42, 1, -1, 3e38, 2e5};
    double v =
        random_bits() % 8 == 0 ? special[random_bits() % 10] : 40 * random_unit() - 20;
    float f = (float)v;
    uint16_t h = half_from_double(v);
    uint64_t u = d == DT_BOOL ? random_bits() % 2 : random_bits() >> random_bits() % 60;
    const void *from = d == DT_FLOAT16   ? &h
                       : d == DT_FLOAT32 ? &f
                       : d == DT_FLOAT64 ? (void *)&v
                                         : &u;
    memcpy(p + i * size_of(d), from, size_of(d));
}
static void fill_blocks(const Op *o, DType d, Blocks *b) {
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < LONG; i++) {
            if (is_where(o) && k == 0)
                b->in[k][i] = (unsigned char)(random_bits() & 1);
            else if (d >= DT_COMPLEX64)
                for (size_t j = 0; j < 2; j++)
                    fill_one(d == DT_COMPLEX64 ? DT_FLOAT32 : DT_FLOAT64, b->in[k],
                             2 * i + j);
            else
                fill_one(d, b->in[k], i);
        }
}
static double read_float(const unsigned char *p, size_t size) {
    float f;
    double v;
    uint16_t h;
    if (size == 2) return memcpy(&h, p, 2), half_to_double(h);
    if (size == 4) return memcpy(&f, p, 4), (double)f;
    return memcpy(&v, p, 8), v;
}
/* Equal bits, all nans taken as one; or within `within` units in the last place. */
static bool same(const unsigned char *a, const unsigned char *b, size_t n, size_t part,
                 double within) {
    if (memcmp(a, b, n) == 0) return true;
    for (size_t i = 0; i < n && part; i += part) {
        double x = read_float(a + i, part), y = read_float(b + i, part);
        int digits = part == 2   ? 11
                     : part == 4 ? 24
                                 : 53,
            least = part == 2   ? -13
                    : part == 4 ? -125
                                : -1021;
        if (memcmp(a + i, b + i, part) != 0 && !(isnan(x) && isnan(y)) &&
            !(within > 0 && ulps(x, (long double)y, digits, least) <= within))
            return false;
    }
    return part != 0;
}
static size_t part_size(const Op *o, DType d) { /* of the floats in a result; 0: none */
    if (o->out_dtype == OUT_BOOL || d < DT_FLOAT16) return 0;
    size_t size = out_size(o, d);
    bool pair = strcmp(o->name, "complex") == 0 ||
                (d >= DT_COMPLEX64 && o->out_dtype != OUT_REAL);
    return pair ? size / 2 : size;
}
static void run(Loop *f, const Op *o, DType d, const Blocks *b, size_t at, size_t n,
                void *out) {
    const void *in[4];
    for (size_t k = 0; k < 4; k++)
        in[k] = b->in[k] + at * in_size(o, k, d);
    f(n, in, &out);
}
/* An input that is one element repeated changes no bits. */
static size_t repeated(const Op *o, DType d, int level, const Blocks *b,
                       const unsigned char *all) {
    static unsigned char out[ROOM];
    static Blocks copy;
    size_t size = out_size(o, d), bad = 0;
    for (size_t k = 0; k < arity(o); k++)
        for (size_t i = 0; i < 6; i++) {
            size_t each = in_size(o, k, d);
            copy = *b;
            for (size_t j = 0; j < LONG; j++)
                memcpy(copy.in[k] + j * each, b->in[k] + i * each, each);
            run(loop_at(o, d, level), o, d, &copy, 0, LONG, out);
            bad += !same(out + i * size, all + i * size, size, part_size(o, d), 0);
        }
    return bad;
}
static void one_loop(const Op *o, DType d, int level, const Blocks *b,
                     const unsigned char *base) {
    static unsigned char all[ROOM], some[ROOM];
    static Blocks copy;
    Loop *f = loop_at(o, d, level);
    size_t size = out_size(o, d), part = part_size(o, d), bad = 0;
    bool complex_math =
        o->math &&
        d >= DT_COMPLEX64; /* errors of libm's parts don't add up that simply */
    run(f, o, d, b, 0, LONG, all);
    CHECK(complex_math || same(all, base, LONG * size, part, o->math ? 4 : 0),
          "%s dtype %d: level %d differs from the baseline", o->name, (int)d, level);
    size_t more = arity(o) > 3 ? 23 : 1; /* those of four inputs are slow */
    for (size_t n = 0; n <= 70; n += more)
        for (size_t at = 0; at < 9; at += 1 + n % 3) {
            memset(some, 0x55, (n + 1) * size);
            run(f, o, d, b, at, n, some);
            bad += n && !same(some, all + at * size, n * size, part, 0);
            for (size_t i = 0; i < size; i++)
                bad += some[n * size + i] != 0x55;
        }
    CHECK(bad == 0, "%s dtype %d level %d: %zu blocks differ from the long run",
          o->name, (int)d, level, bad);
    bad = repeated(o, d, level, b, all);
    CHECK(bad == 0, "%s dtype %d level %d: %zu elements differ where an input repeats",
          o->name, (int)d, level, bad);
    for (size_t k = 0; k < arity(o); k++) {
        if (in_size(o, k, d) != size) continue;
        copy = *b;
        run(f, o, d, &copy, 0, LONG, copy.in[k]);
        CHECK(same(copy.in[k], all, LONG * size, part, 0),
              "%s dtype %d level %d: in place over input %zu", o->name, (int)d, level,
              k);
    }
}
static void every_loop(void) {
    static Blocks b;
    static unsigned char base[ROOM];
    for (const OpList *const *l = lists; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++) {
            const Op *o = &(*l)->op[i];
            for (int d = 0; has_loops(o) && d < DT_N; d++) {
                Loop *least = loop_at(o, (DType)d, 0);
                if (!least) continue;
                fill_blocks(o, (DType)d, &b);
                run(least, o, (DType)d, &b, 0, LONG, base);
                for (int level = 0; level <= cpu_level; level++)
                    one_loop(o, (DType)d, level, &b, base);
            }
        }
}

/* ---- cast ---- */

static void casts(void) {
    const Op *o = op("cast");
    for (int from = 0; from < DT_N; from++)
        for (int to = 0; to < DT_N; to++)
            CHECK(o->pick((DType)from, (DType)to, 0) != NULL);
    int32_t i[300];
    for (int k = 0; k < 300; k++)
        i[k] = k * 1000003;
    void *block = i;
    o->pick(DT_INT32, DT_FLOAT32, 0)(300, (const void *[]){i}, &block);
    for (int k = 0; k < 300; k++) {
        float f;
        memcpy(&f, &i[k], sizeof f);
        CHECK(f == (float)(k * 1000003), "in place at %d", k);
    }
}

/* ---- division of integers, block by block ---- */

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Bits;
static Wide read_integer(DType d, const unsigned char *p) {
    int64_t i = 0;
    uint64_t u = 0;
    memcpy(&u, p, size_of(d));
    if (d >= DT_UINT8) return (Wide)u;
    int unused = 64 - 8 * (int)size_of(d);
    i = (int64_t)(u << unused) >> unused;
    return i;
}

/* Near the ends of the dtype, of what float64 has exactly, and small. */
static uint64_t some_integer(void) {
    uint64_t near = UINT64_C(1) << random_bits() % 64;
    switch (random_bits() % 4) {
    case 0:
        return near + random_bits() % 5 - 2;
    case 1:
        return 0 - near + random_bits() % 5 - 2;
    case 2:
        return random_bits();
    default:
        return random_bits() % 200 - 100;
    }
}

static void quotients_of(DType d, int level, bool rest) {
    static _Alignas(64) unsigned char x[ROOM], y[ROOM], r[ROOM];
    const Op *o = op(rest ? "remainder" : "floor_divide");
    size_t size = size_of(d), n = BLOCKS / size, wrong = 0;
    for (int turn = 0; turn < 300; turn++) {
        uint64_t all = some_integer();
        for (size_t i = 0; i < n; i++) {
            uint64_t u = turn % 5 == 4   ? all * some_integer() + random_bits() % 3 - 1
                         : turn % 3 == 2 ? random_bits() % 90
                                         : some_integer();
            uint64_t v = turn % 2 ? all : turn % 3 ? some_integer() : 1 + i % 50;
            memcpy(x + i * size, &u, size);
            memcpy(y + i * size, &v, size);
            if (read_integer(d, y + i * size) == 0) y[i * size] = 1;
        }
        void *out = r;
        loop_at(o, d, level)(n, (const void *[]){x, y}, &out);
        for (size_t i = 0; i < n; i++) {
            Wide a = read_integer(d, x + i * size), b = read_integer(d, y + i * size),
                 q = a / b;
            if (q * b != a && (a < 0) != (b < 0)) q--;
            Wide want = rest ? a - q * b : q;
            wrong += memcmp(&want, r + i * size, size) != 0;
        }
    }
    CHECK(wrong == 0, "%s dtype %d level %d: %zu wrong", o->name, (int)d, level, wrong);
}

static void quotients(void) {
    for (int d = DT_INT8; d <= DT_UINT64; d++)
        for (int level = 0; level <= cpu_level; level++) {
            quotients_of((DType)d, level, false);
            quotients_of((DType)d, level, true);
        }
}

/* ---- shifts, block by block: by one number, by several, by all widths and beyond ----
 */
static void shifts_of(DType d, int level, bool left) {
    static _Alignas(64) unsigned char x[ROOM], y[ROOM], r[ROOM];
    const Op *o = op(left ? "left_shift" : "right_shift");
    size_t size = size_of(d), n = BLOCKS / size, wrong = 0;
    for (unsigned by = 0; by < 8 * size + 3; by++)
        for (int mixed = 0; mixed < 2; mixed++) {
            for (size_t i = 0; i < n; i++) {
                unsigned one = mixed && i % 7 == 0 ? by / 2 : by;
                uint64_t u = some_integer(), v = one;
                memcpy(x + i * size, &u, size);
                memcpy(y + i * size, &v, size);
            }
            void *out = r;
            loop_at(o, d, level)(n, (const void *[]){x, y}, &out);
            for (size_t i = 0; i < n; i++) {
                Wide a = read_integer(d, x + i * size),
                     b = read_integer(d, y + i * size),
                     power = (Wide)1 << (b < 64 ? b : 64), q = a / power;
                if (a < 0 && q * power != a) q--;
                Wide want = left ? (Wide)((Bits)a * (Bits)power) : q;
                wrong += memcmp(&want, r + i * size, size) != 0;
            }
        }
    CHECK(wrong == 0, "%s dtype %d level %d: %zu wrong", o->name, (int)d, level, wrong);
}

static void shifts(void) {
    for (int d = DT_INT8; d <= DT_UINT64; d++)
        for (int level = 0; level <= cpu_level; level++) {
            shifts_of((DType)d, level, false);
            shifts_of((DType)d, level, true);
        }
}

/* Roots as powers: alone in a block, among other powers, in every place. */
static void roots(void) {
    static const double special[] = {
        0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN, -4.0, 1e-320};
    enum { SPECIAL = sizeof special / sizeof *special };
    static _Alignas(64) double x[LONG], y[LONG], r[LONG];
    static _Alignas(64) float u[LONG], v[LONG], s[LONG];
    const Op *o = op("power");
    for (int level = 0; level <= cpu_level; level++)
        for (int among = 0; among < 3; among++) {
            size_t wrong = 0;
            for (size_t i = 0; i < LONG; i++) {
                x[i] = i % 9 == 0 ? special[i / 9 % SPECIAL]
                                  : ldexp((double)(random_bits() % 1000003),
                                          (int)(i % 80) - 40);
                y[i] = i % 5 == 1 && among ? among * 0.75 : 0.5;
                u[i] = (float)x[i], v[i] = (float)y[i];
            }
            void *to = r, *less = s;
            loop_at(o, DT_FLOAT64, level)(LONG, (const void *[]){x, y}, &to);
            loop_at(o, DT_FLOAT32, level)(LONG, (const void *[]){u, v}, &less);
            for (size_t i = 0; i < LONG; i++) {
                if (i % 5 == 1 && among) continue;
                double want =
                    x[i] == -(double)INFINITY ? (double)INFINITY : sqrt(x[i]) + 0.0;
                float single = u[i] == -INFINITY ? INFINITY : sqrtf(u[i]) + 0.0F;
                wrong += isnan(want) ? !isnan(r[i]) || !isnan(s[i])
                                     : memcmp(&want, &r[i], sizeof want) != 0 ||
                                           memcmp(&single, &s[i], sizeof single) != 0;
            }
            CHECK(wrong == 0, "level %d, among %d: %zu roots", level, among, wrong);
        }
}

int main(void) {
    start();
    every_loop();
    quotients();
    shifts();
    roots();
    casts();
    return TEST_END("elemwise_loops");
}
