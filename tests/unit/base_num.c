/* Numbers as text: every float16 both ways, random float32 and float64 against the C
 * library, halfway cases, the written form, integers and sizes. */
#include "base/num.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252U;
static uint64_t random64(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static float from_bits32(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double read_as(const char *text, FloatWidth w) {
    double v = -77;
    size_t n = num_read_float(text, strlen(text), w, &v);
    CHECK(n == strlen(text), "%s: read %zu bytes", text, n);
    return v;
}

static bool same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* The digits of a written float, without sign, point, exponent and outer zeros. */
static size_t digit_count(const char *text) {
    size_t n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && n == 0)) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        n++;
    }
    return n - zeros;
}

/* Half by arithmetic alone: nearest multiple of the unit of the value's binade. */
static double half_reference(double v) {
    double a = fabs(v);
    if (!(a > 0) || isinf(a)) return v;
    int e;
    frexp(a, &e);
    double unit = ldexp(1, e - 11 > -24 ? e - 11 : -24), r = nearbyint(a / unit) * unit;
    return copysign(r >= 65536 ? HUGE_VAL : r, v);
}

static void test_half(void) {
    int bad = 0, texts = 0;
    char buf[NUM_MAX];
    for (uint32_t h = 0; h < 65536; h++) {
        double v = half_to_double((uint16_t)h);
        unsigned exp = h >> 10 & 31U, frac = h & 1023U;
        double want = exp == 31  ? (frac ? (double)NAN : HUGE_VAL)
                      : exp == 0 ? ldexp(frac, -24)
                                 : ldexp(1024 + frac, (int)exp - 25);
        bad += !same(v, h >> 15 ? -want : want) && !isnan(want);
        bad += isnan(want) ? !isnan(v) || (half_from_double(v) & 0x7FFFU) <= 0x7C00U
                           : half_from_double(v) != h;
        size_t n = num_write_float(buf, v, FLOAT16);
        double back = read_as(buf, FLOAT16);
        texts += n != strlen(buf) || !same(back, v);
    }
    CHECK(bad == 0, "%d conversions", bad);
    CHECK(texts == 0, "%d texts", texts);
    bad = 0;
    for (int i = 0; i < 300000; i++) {
        uint64_t exp = 1023 - 30 + random64() % 50; /* around all of half's range */
        double v = from_bits((random64() >> 12) | exp << 52 | (random64() & 1) << 63);
        if (i % 4 == 0)
            v = from_bits((random64() & ~UINT64_C(0x7FFFFFFFFFF)) >> 2 | exp << 52);
        bad += !same(half_to_double(half_from_double(v)), half_reference(v));
    }
    CHECK(bad == 0, "%d roundings", bad);
}

/* A half between h and h+1 in steps of text: the tie itself, and a hair to both sides
 * that a double can't show. */
static void test_half_ties(void) {
    int bad = 0;
    for (uint32_t h = 0; h < 0x7BFF; h += 7) {
        double lo = half_to_double((uint16_t)h), hi = half_to_double((uint16_t)(h + 1));
        char text[128], *end;
        snprintf(text, sizeof text, "%.60f", (lo + hi) / 2);
        bad += read_as(text, FLOAT16) != (h & 1 ? hi : lo);
        end = text + strlen(text);
        memcpy(end, "000000001", 10);
        bad += read_as(text, FLOAT16) != hi;
        snprintf(text, sizeof text, "%.60f", (lo + hi) / 2);
        end = text + strlen(text);
        while (end[-1] == '0' || end[-1] == '.')
            end--;
        end[-1]--; /* the last digit of a tie is a 5: 4999... follows */
        memset(end, '9', 30);
        end[30] = '\0';
        if (strchr(text, '.')) bad += read_as(text, FLOAT16) != lo;
    }
    CHECK(bad == 0, "%d ties", bad);
    CHECK(read_as("65519.99999999999999999999", FLOAT16) == 65504);
    CHECK(isinf(read_as("65520", FLOAT16)));
    CHECK(read_as("2.98023223876953125e-8", FLOAT16) == 0);
    CHECK(read_as("2.980232238769531250000000000000000001e-8", FLOAT16) == 0x1p-24);
    CHECK(read_as("1.00048828125", FLOAT16) == 1);
    CHECK(read_as("1.0004882812500000000000001", FLOAT16) == 1 + 0x1p-10);
    CHECK(read_as("1.00146484374999999999999999", FLOAT16) == 1 + 0x1p-10);
}

static void check_shortest(double v, FloatWidth w, int *bad_read, int *bad_length) {
    char buf[NUM_MAX], text[64];
    size_t n = num_write_float(buf, v, w);
    *bad_read += n != strlen(buf) || n >= NUM_MAX || !same(read_as(buf, w), v);
    if (w == FLOAT32)
        *bad_read += (double)strtof(buf, NULL) != v;
    else
        *bad_read += strtod(buf, NULL) != v;
    int p = 1;
    for (; p < 17; p++) {
        snprintf(text, sizeof text, "%.*e", p - 1, v);
        if (w == FLOAT32 ? (double)strtof(text, NULL) == v : strtod(text, NULL) == v)
            break;
    }
    size_t digits = digit_count(buf);
    *bad_length += digits > (size_t)p;
    if (digits == (size_t)p) { /* and as near as printf's, which rounds correctly */
        snprintf(text, sizeof text, "%.*e", p - 1, v);
        double mine = w == FLOAT64 ? 0 : strtod(buf, NULL) - v;
        double theirs = w == FLOAT64 ? 0 : strtod(text, NULL) - v;
        *bad_length += fabs(mine) > fabs(theirs);
    }
}

static void test_random_floats(void) {
    int read64 = 0, length64 = 0, read32 = 0, length32 = 0;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = random64() & ~(UINT64_C(1) << 63);
        if (i % 8 == 0) bits &= ~((UINT64_C(1) << 52) - 1);   /* powers of two */
        if (i % 16 == 1) bits &= (UINT64_C(1) << 52) - 1;     /* subnormal */
        if (i % 16 == 3) bits = (bits >> 11) % 1000000000000; /* tiny */
        double v = from_bits(bits);
        if (i % 16 == 5) v = (double)(random64() % 1000000) / 1000;
        if (i % 16 == 7) v = (double)(random64() >> 8);
        if (v > 0 && isfinite(v)) check_shortest(v, FLOAT64, &read64, &length64);
        float f = from_bits32((uint32_t)(bits >> 20) & 0x7FFFFFFFU);
        if (i % 16 == 7) f = (float)(random64() >> 30);
        if (f > 0 && isfinite(f))
            check_shortest((double)f, FLOAT32, &read32, &length32);
    }
    CHECK(read64 == 0, "%d", read64);
    CHECK(length64 == 0, "%d", length64);
    CHECK(read32 == 0, "%d", read32);
    CHECK(length32 == 0, "%d", length32);
}

/* Random texts, most of them not the shortest of anything. */
static void test_random_texts(void) {
    int bad64 = 0, bad32 = 0;
    for (int i = 0; i < 200000; i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "%llu",
                         (unsigned long long)(random64() >> random64() % 60));
        if (i % 3 == 0)
            n += snprintf(text + n, 40, ".%llu", (unsigned long long)random64());
        if (i % 11 == 0)
            n += snprintf(text + n, 40, "%020llu", (unsigned long long)random64());
        if (i % 2 == 0) snprintf(text + n, 40, "e%d", (int)(random64() % 700) - 360);
        bad64 += !same(read_as(text, FLOAT64), strtod(text, NULL));
        bad32 += !same(read_as(text, FLOAT32), (double)strtof(text, NULL));
    }
    CHECK(bad64 == 0, "%d", bad64);
    CHECK(bad32 == 0, "%d", bad32);
    bad64 = bad32 = 0;
    for (int i = 0; i < 20000;
         i++) { /* ties between neighbours, exact and just beside */
        char text[1400];
        float f = from_bits32((uint32_t)(random64() % 0x7F000000U));
        double tie = ((double)f + (double)nextafterf(f, HUGE_VALF)) / 2;
        snprintf(text, sizeof text, "%.170e", tie);
        bad32 += read_as(text, FLOAT32) != (double)strtof(text, NULL);
        char *e = strchr(text, 'e');
        e[-1] = '1';
        bad32 += read_as(text, FLOAT32) != (double)nextafterf(f, HUGE_VALF);
        uint64_t whole = random64() >> 11 | UINT64_C(1) << 52;
        snprintf(text, sizeof text, "%llu.5", (unsigned long long)whole);
        bad64 += read_as(text, FLOAT64) != (double)(whole + (whole & 1));
        strcat(text, "00000000000000000000000000000000000000000001");
        bad64 += read_as(text, FLOAT64) != (double)(whole + 1);
    }
    CHECK(bad64 == 0, "%d", bad64);
    CHECK(bad32 == 0, "%d", bad32);
}

static const char *written(double v, FloatWidth w) {
    static char buf[4][NUM_MAX];
    static int at;
    at = (at + 1) % 4;
    num_write_float(buf[at], v, w);
    return buf[at];
}

static void test_form(void) {
    static const struct {
        double v;
        const char *text;
    } rows[] = {{1, "1.0"},
                {-1.5, "-1.5"},
                {0.1, "0.1"},
                {-0.0, "-0.0"},
                {0, "0.0"},
                {100, "100.0"},
                {1e15, "1000000000000000.0"},
                {1e16, "1e+16"},
                {123456789012345680.0, "1.2345678901234568e+17"},
                {0.0001, "0.0001"},
                {0.00012345, "0.00012345"},
                {0.00001, "1e-05"},
                {1e300, "1e+300"},
                {5e-324, "5e-324"},
                {1.7976931348623157e308, "1.7976931348623157e+308"},
                {2.2250738585072014e-308, "2.2250738585072014e-308"},
                {9007199254740993.0, "9007199254740992.0"},
                {0x1p-44, "5.684341886080802e-14"},
                {0.3, "0.3"},
                {0.1 + 0.2, "0.30000000000000004"},
                {HUGE_VAL, "inf"},
                {-HUGE_VAL, "-inf"},
                {(double)NAN, "nan"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_STR(written(rows[i].v, FLOAT64), rows[i].text);
    CHECK_STR(written((double)0.1F, FLOAT32), "0.1");
    CHECK_STR(written((double)16777216.0F, FLOAT32), "16777216.0");
    CHECK_STR(written((double)1e-45F, FLOAT32), "1e-45");
    CHECK_STR(written((double)3.4028235e38F, FLOAT32), "3.4028235e+38");
    CHECK_STR(written(half_to_double(0x2E66), FLOAT16), "0.1");
    CHECK_STR(written(65504, FLOAT16), "65500.0");
    CHECK_STR(written(0x1p-24, FLOAT16), "6e-08");
}

/* Each power of ten that the tables hold, and its neighbours. */
static void test_powers(void) {
    int bad = 0, unused = 0;
    for (int e = -345; e <= 310; e++) {
        char text[64];
        snprintf(text, sizeof text, "1e%d", e);
        double v = strtod(text, NULL), next = nextafter(v, HUGE_VAL);
        bad += !same(read_as(text, FLOAT64), v);
        if (v > 0 && isfinite(next)) {
            check_shortest(v, FLOAT64, &bad, &bad);
            check_shortest(next, FLOAT64, &bad, &unused);
        }
        snprintf(text, sizeof text, "17976931348623157081e%d", e);
        bad += !same(read_as(text, FLOAT64), strtod(text, NULL));
    }
    for (int e = -1074; e < 1024; e++)
        check_shortest(ldexp(1, e), FLOAT64, &bad, &bad);
    for (int e = -149; e < 128; e++)
        check_shortest(ldexp(1, e), FLOAT32, &bad, &bad);
    CHECK(bad == 0, "%d", bad);
}

static void test_read_form(void) {
    static const struct {
        const char *text;
        size_t n;
        double v;
    } rows[] = {{"1.", 2, 1},
                {".5", 2, 0.5},
                {".", 0, 0},
                {"", 0, 0},
                {"-", 0, 0},
                {"e5", 0, 0},
                {"1e", 1, 1},
                {"1e+", 1, 1},
                {"1e5x", 3, 1e5},
                {"1.2.3", 3, 1.2},
                {"1_000", 1, 1},
                {"-0", 2, -0.0},
                {"+7e-1", 5, 0.7},
                {"0x10", 1, 0},
                {"inf", 3, HUGE_VAL},
                {"-Infinity", 9, -HUGE_VAL},
                {"nan", 3, (double)NAN},
                {"info", 0, 0},
                {"1e999", 5, HUGE_VAL},
                {"1e-999", 6, 0},
                {"0e99999999999999999999", 22, 0},
                {"1e-99999999999999999999", 23, 0},
                {"1e99999999999999999999", 22, HUGE_VAL},
                {"00000000000000000000000012", 26, 12},
                {"0.00000000000000000000000000000012e31", 37, 1.2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double v = 0;
        size_t n = num_read_float(rows[i].text, strlen(rows[i].text), FLOAT64, &v);
        CHECK(n == rows[i].n, "%s: %zu", rows[i].text, n);
        if (n) CHECK(same(v, rows[i].v), "%s: %g", rows[i].text, v);
    }
    char longest[3000];
    memset(longest, '0', sizeof longest);
    memcpy(longest, "0.", 2);
    longest[2999] = '3';
    double v;
    CHECK(num_read_float(longest, 3000, FLOAT64, &v) == 3000 && v == 0);
    memcpy(longest + 3000 - 10, "1e2980", 6);
    CHECK(num_read_float(longest, 2996, FLOAT64, &v) == 2996 && v == 1e-9, "%g", v);
}

/* What decides a tie may stand a thousand digits behind it. */
static void test_distant_digits(void) {
    static const struct {
        const char *tie;
        FloatWidth w;
        double at, above, below; /* the tie, and what is above and below it */
    } rows[] = {
        {"9007199254740993", FLOAT64, 0x1p53, 0x1p53 + 2, 0x1p53},
        {"9007199254740995", FLOAT64, 0x1p53 + 4, 0x1p53 + 4, 0x1p53 + 2},
        {"16777217", FLOAT32, 0x1p24, 0x1p24 + 2, 0x1p24},
        {"2049", FLOAT16, 2048, 2050, 2048},
        {"2051", FLOAT16, 2052, 2052, 2050},
        {"65520", FLOAT16, HUGE_VAL, HUGE_VAL, 65504},
        {"340282356779733661637539395458142568448", FLOAT32, HUGE_VAL, HUGE_VAL,
         0x1.fffffep127},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1200];
        size_t n = strlen(rows[i].tie);
        memset(text, '0', sizeof text);
        memcpy(text, rows[i].tie, n);
        text[n] = '.';
        text[sizeof text - 1] = 0;
        CHECK(read_as(rows[i].tie, rows[i].w) == rows[i].at, "%s", rows[i].tie);
        CHECK(read_as(text, rows[i].w) == rows[i].at, "%s", rows[i].tie);
        text[sizeof text - 2] = '1';
        CHECK(read_as(text, rows[i].w) == rows[i].above, "%s", rows[i].tie);
        memset(text + n + 1, '9', sizeof text - 2 - n);
        text[n - 1]--; /* none ends in 0 but 65520 */
        if (text[n - 1] < '0') text[n - 1] = '9', text[n - 2]--;
        CHECK(read_as(text, rows[i].w) == rows[i].below, "%s", rows[i].tie);
    }
}

static void test_integers(void) {
    uint64_t v;
    bool over;
    char buf[NUM_MAX];
    CHECK(num_read_uint("18446744073709551615", 20, &v, &over) == 20 &&
          v == UINT64_MAX && !over);
    CHECK(num_read_uint("18446744073709551616", 20, &v, &over) == 20 && over);
    CHECK(num_read_uint("0xFf", 4, &v, &over) == 4 && v == 255);
    CHECK(num_read_uint("0b1012", 6, &v, &over) == 5 && v == 5);
    CHECK(num_read_uint("0o17", 4, &v, &over) == 4 && v == 15);
    CHECK(num_read_uint("0xg", 3, &v, &over) == 1 && v == 0);
    CHECK(num_read_uint("1_000_", 6, &v, &over) == 5 && v == 1000);
    CHECK(num_read_uint("_1", 2, &v, &over) == 0);
    CHECK(num_write_int(buf, INT64_MIN) == 20);
    CHECK_STR(buf, "-9223372036854775808");
    CHECK(num_write_uint(buf, UINT64_MAX) == 20);
    CHECK_STR(buf, "18446744073709551615");
    for (uint64_t p = 1, i = 1; i < 20; i++, p *= 10) {
        char want[32];
        CHECK(num_write_uint(buf, p - 1) ==
              (size_t)snprintf(want, 32, "%llu", (unsigned long long)(p - 1)));
        CHECK_STR(buf, want);
        CHECK(num_write_uint(buf, p) == i);
    }
}

static void test_sizes(void) {
    uint64_t v = 0;
    CHECK(num_read_size("512", &v) && v == 512);
    CHECK(num_read_size("10M", &v) && v == 10 << 20);
    CHECK(num_read_size("10MB", &v) && v == 10000000);
    CHECK(num_read_size("3k", &v) && v == 3072);
    CHECK(num_read_size("2GiB", &v) && v == UINT64_C(2) << 30);
    CHECK(num_read_size("7B", &v) && v == 7);
    CHECK(!num_read_size("", &v) && !num_read_size("M", &v) &&
          !num_read_size("10X", &v));
    CHECK(!num_read_size("-1", &v) && !num_read_size("1.5G", &v) &&
          !num_read_size("1MBs", &v));
    CHECK(num_read_size("16777215T", &v) && !num_read_size("16777216T", &v));
    CHECK(!num_read_size("18446744073709551616", &v));
}

int main(void) {
    test_half();
    test_half_ties();
    test_random_floats();
    test_random_texts();
    test_form();
    test_powers();
    test_read_form();
    test_distant_digits();
    test_integers();
    test_sizes();
    return TEST_END("base_num");
}
