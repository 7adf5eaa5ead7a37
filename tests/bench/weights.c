/* What grewrite --search weighs with what: the time of a byte that moves, of a call of
 * a mathematical function and of an Apply, in flops of a product of matrices. The ratio
 * is to the weight in lib/prof/model.c, which is for all machines and sizes: a measured
 * weight of half or double its size is no reason to change it. */
#include "bench.h"
#include "prof/prof.h"

#include <stdio.h>
#include <stdlib.h>

enum { OPS = 100, MANY = 20000, FEW = 8, SIDE = 512 };

static double seconds_of(const char *text) {
    Rig r;
    double t;
    rig_open(&r, text, false);
    bench_pair((Timed){rig_run, &r}, NULL, 0.5, &t, NULL);
    rig_close(&r);
    return t;
}

/* An Apply on n float64: of OPS that follow each other as they were read, since only
 * grewrite fuses. Each is the last value between two texts. */
static double seconds_of_step(const char *before, const char *after, int n) {
    static char text[200 * OPS];
    size_t at = (size_t)snprintf(
        text, sizeof text, "thunkline: 1\ninputs: {h0: 'float64[%d]'}\nlet: |\n", n);
    for (int i = 1; i <= OPS; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "  h%d = %sh%d%s\n", i,
                               before, i - 1, after);
    }
    snprintf(text + at, sizeof text - at, "outputs: [h%d]\n", OPS);
    return seconds_of(text) / OPS;
}

static double seconds_of_flop(void) {
    char text[200];
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {a: 'float64[%d, %d]'}\nlet: |\n  r = a @ a\n"
             "outputs: [r]\n",
             SIDE, SIDE);
    return seconds_of(text) / (2.0 * SIDE * SIDE * SIDE);
}

static void weight(const char *name, double seconds, double flop, double is) {
    char value[32], what[64], time[32];
    snprintf(value, sizeof value, "%.3g flops", seconds / flop);
    snprintf(what, sizeof what, "%s; weighed as %g", bench_time(seconds, time), is);
    bench_figure(name, value, what, seconds / flop / is, 0);
}

int main(void) {
    static const char *const math[][2] = {{"exp(", " * h0)"},
                                          {"tanh(", " * h0)"},
                                          {"sin(", " * h0)"},
                                          {"log1p(abs(", ") * 0.5)"}};
    enum { MATHS = sizeof math / sizeof *math };
    tool_environment();
    bench_title("what a search weighs");
    double flop = seconds_of_flop(), apply = seconds_of_step("-", "", FEW);
    double byte = (seconds_of_step("-", "", MANY) - apply) / (16. * MANY), call = 0;
    /* what the functions are of moves, too: two numbers to one, or one to one, twice */
    for (size_t i = 0; i < MATHS; i++) {
        double with = seconds_of_step(math[i][0], math[i][1], MANY);
        double moved = i + 1 < MATHS ? 24 + 16 : 16 + 16 + 16;
        call += (with - moved * MANY * byte) / MANY / MATHS;
    }
    weight("a byte", byte, flop, cost_weights.byte);
    weight("a call of exp, tanh, sin, log1p", call, flop, cost_weights.math);
    weight("an Apply", apply, flop, cost_weights.apply);
    return 0;
}
