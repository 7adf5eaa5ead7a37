/* Scales and ticks of charts, and text that XML can hold. */
#include "base/session.h"
#include "format/svg.h"
#include "test.h"

static const char *ticks_text(Session *s, double lo, double hi, bool log, int most,
                              Str *out) {
    SvgScale scale = {lo, hi, log, 0, 100};
    SvgTicks t = svg_ticks(&scale, most);
    *out = STR(s);
    for (size_t i = 0; i < t.n; i++) {
        if (i) str_putc(out, ' ');
        svg_tick_text(t.at[i], t.step, out);
    }
    return str_text(out);
}

static void test_ticks(Session *s) {
    static const struct {
        double lo, hi;
        bool log;
        int most;
        const char *want;
    } rows[] = {
        {0, 1, false, 5, "0 0.2 0.4 0.6 0.8 1"},
        {0, 1, false, 4, "0 0.5 1"},
        {-1, 1, false, 10, "-1 -0.8 -0.6 -0.4 -0.2 0 0.2 0.4 0.6 0.8 1"},
        {3, 17, false, 5, "5 10 15"},
        {0.3, 0.9, false, 3, "0.4 0.6 0.8"},
        {0, 12345, false, 6, "0 5000 10000"},
        {1, 1000, true, 9, "1 2 5 10 20 50 100 200 500 1000"},
        {1, 1000, true, 8, "1 10 100 1000"},
        {0.02, 0.7, true, 8, "0.02 0.05 0.1 0.2 0.5"},
        {1e-12, 1, true, 6, "1e-12 1e-10 1e-08 1e-06 0.0001 0.01 1"},
        {1.0000001, 1.0000002, false, 2, "1.0000001 1.00000015 1.0000002"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str got;
        CHECK_STR(
            ticks_text(s, rows[i].lo, rows[i].hi, rows[i].log, rows[i].most, &got),
            rows[i].want);
        str_free(&got);
    }
}

static void test_scales(void) {
    SvgScale x = {10, 1000, true, 0, 100}, y = {0, 4, false, 300, 100};
    CHECK(svg_place(&x, 100) == 50 && svg_place(&y, 1) == 250);
    static const double widened[][4] = {
        {2, 2, 1.8, 2.2},  {0, 0, -1, 1},  {1, 10, 0, 10},
        {-10, -1, -10, 0}, {9, 10, 9, 10},
    };
    for (size_t i = 0; i < sizeof widened / sizeof *widened; i++) {
        const double *w = widened[i];
        SvgScale s = {w[0], w[1], false, 0, 1};
        svg_widen(&s);
        CHECK(s.lo == w[2] && s.hi == w[3], "[%g, %g] became [%g, %g]", w[0], w[1],
              s.lo, s.hi);
    }
}

static void test_text(Session *s) {
    Str out = STR(s);
    svg_escape("a<b> & \"c\"\n\x01\xc3\xa9\xff\xef\xbf\xbf", &out);
    CHECK_STR(str_text(&out), "a&lt;b&gt; &amp; \"c\"\n?\xc3\xa9??");
    str_clear(&out);
    str_puts(&out, "ab\xc3\xa9"
                   "cd");
    svg_cut(&out, 5);
    CHECK_STR(str_text(&out), "ab\xc3\xa9"
                              "c...");
    str_clear(&out);
    str_puts(&out, "ab\xc3\xa9");
    svg_cut(&out, 3);
    CHECK_STR(str_text(&out), "ab...");
    str_free(&out);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_ticks(s);
    test_scales();
    test_text(s);
    session_free(s);
    return TEST_END("format_svg");
}
