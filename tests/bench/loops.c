/* Loops: what a step of a scan costs beside the same steps written out one after the
 * other, and beside a loop in C. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNROLLED = 500, TEXT = 1 << 18 };

typedef struct Model {
    const char *name, *inputs /* after x's rows */, *scan, *first;
    int (*step)(char *at, int i); /* step i written out; the number of characters */
    size_t steps;
    void (*c)(void *ctx);
    size_t weights;
} Model;

static int step_recurrence(char *at, int i) {
    return sprintf(at, "  h%d = 0.9 * h%d + x[%d]\n", i + 1, i, i);
}

static int step_rnn(char *at, int i) {
    return sprintf(at, "  h%d = tanh(x[%d] @ W + h%d @ U)\n", i + 1, i, i);
}

static int step_lstm(char *at, int i) {
    return sprintf(at,
                   "  z%d = x[%d] @ W + h%d @ U\n"
                   "  c%d = sigmoid(z%d[0:32]) * c%d + sigmoid(z%d[32:64]) * "
                   "tanh(z%d[64:96])\n"
                   "  h%d = sigmoid(z%d[96:128]) * tanh(c%d)\n",
                   i, i, i, i + 1, i, i, i, i, i + 1, i, i + 1);
}

static int step_hmm(char *at, int i) {
    return sprintf(at,
                   "  q%d = (h%d @ exp(W)) * exp(x[%d])\n"
                   "  h%d = q%d / sum(q%d)\n",
                   i, i, i, i + 1, i, i);
}

#define WEIGHTS(n) ", 16]\n  W: float64[16, " n "]\n  U: float64[32, " n "]\n"
static const Model models[] = {
    {.name = "recurrence of scalars",
     .inputs = "]\n",
     .scan = "  r = scan(lambda x, h: 0.9 * h + x, sequences=[x], "
             "outputs_info=[0.0])\n",
     .first = "  h0 = float64(0.0)\n",
     .step = step_recurrence,
     .steps = 100000,
     .c = yard_recurrence},
    {.name = "hidden Markov model, 16 states",
     .inputs = ", 16]\n  W: float64[16, 16]\n",
     .scan = "  r = scan(lambda x, h: (lambda q: q / sum(q))((h @ exp(W)) * exp(x)), "
             "sequences=[x], outputs_info=[ones(16) / 16])\n",
     .first = "  h0 = ones(16) / 16\n",
     .step = step_hmm,
     .steps = 1000,
     .c = yard_hmm,
     .weights = 16},
    {.name = "RNN, 16 to 32",
     .inputs = WEIGHTS("32"),
     .scan = "  r = scan(lambda x, h: tanh(x @ W + h @ U), sequences=[x], "
             "outputs_info=[zeros(32)])\n",
     .first = "  h0 = zeros(32)\n",
     .step = step_rnn,
     .steps = 1000,
     .c = yard_rnn,
     .weights = 32},
    {.name = "LSTM, 16 to 32",
     .inputs = WEIGHTS("128"),
     .scan = "  r, cs = scan(cell, sequences=[x], outputs_info=[zeros(32), zeros(32)], "
             "non_sequences=[W, U])\n",
     .first = "  h0 = zeros(32)\n  c0 = zeros(32)\n",
     .step = step_lstm,
     .steps = 1000,
     .c = yard_lstm,
     .weights = 128}};

static const char cell[] =
    "functions:\n"
    "  cell:\n"
    "    inputs:\n"
    "      x: float64[16]\n      h: float64[32]\n      c: float64[32]\n"
    "      W: float64[16, 128]\n      U: float64[32, 128]\n"
    "    let: |\n"
    "      z = x @ W + h @ U\n"
    "      c1 = sigmoid(z[0:32]) * c + sigmoid(z[32:64]) * tanh(z[64:96])\n"
    "      h1 = sigmoid(z[96:128]) * tanh(c1)\n"
    "    outputs: {h: h1, c: c1}\n";

static int begin(char *text, const Model *m, size_t steps) {
    int n =
        sprintf(text, "thunkline: 1\n%sinputs:\n", strstr(m->scan, "cell") ? cell : "");
    return n + sprintf(text + n, "  x: float64[%zu%slet: |\n", steps, m->inputs);
}

static void scan_text(char *text, const Model *m) {
    sprintf(text + begin(text, m, m->steps), "%soutputs: [r]\n", m->scan);
}

static void unrolled_text(char *text, const Model *m) {
    int n = begin(text, m, UNROLLED);
    n += sprintf(text + n, "%s", m->first);
    for (int i = 0; i < UNROLLED; i++)
        n += m->step(text + n, i);
    n += sprintf(text + n, "  r = stack([");
    for (int i = 1; i <= UNROLLED; i++)
        n += sprintf(text + n, "%sh%d", i > 1 ? ", " : "", i);
    sprintf(text + n, "])\noutputs: [r]\n");
}

static Yard yard_for(const Model *m) {
    size_t in = m->weights ? LOOP_IN : 1, out = m->weights ? LOOP_OUT : 1;
    Yard y = {.n = m->steps};
    y.a = calloc(m->steps * in, sizeof(double));
    y.b = calloc((LOOP_IN + LOOP_OUT) * m->weights + 1, sizeof(double));
    y.out = calloc(m->steps * out, sizeof(double));
    if (!y.a || !y.b || !y.out) exit(1);
    for (size_t i = 0; i < m->steps * in; i++)
        ((double *)y.a)[i] = (double)(i % 17) / 17 - 0.5;
    for (size_t i = 0; i < (LOOP_IN + LOOP_OUT) * m->weights; i++)
        ((double *)y.b)[i] = (double)(i % 13) / 26 - 0.25;
    return y;
}

/* Seconds of a step: of the scan, of the steps written out, of the loop in C. */
static void compare(const Model *m) {
    char *text = malloc(TEXT), what[64], a[32], b[32];
    Rig scan, unrolled;
    double t, t_unrolled, t_c, n = (double)m->steps;
    if (!text) exit(1);
    scan_text(text, m);
    rig_open(&scan, text, true);
    unrolled_text(text, m);
    rig_open(&unrolled, text, true);
    bench_pair((Timed){rig_run, &scan}, &(Timed){rig_run, &unrolled}, 0.6, &t,
               &t_unrolled);
    Yard y = yard_for(m);
    bench_pair((Timed){rig_run, &scan}, &(Timed){m->c, &y}, 0.4, &t, &t_c);
    snprintf(what, sizeof what, "written out %s", bench_time(t_unrolled / UNROLLED, b));
    bench_figure(m->name, bench_time(t / n, a), what, t / n / (t_unrolled / UNROLLED),
                 1);
    snprintf(what, sizeof what, "a loop in C %s", bench_time(t_c / n, b));
    bench_figure("", "", what, t / t_c, 0);
    rig_close(&scan);
    rig_close(&unrolled);
    free(y.a), free(y.b), free(y.out), free(text);
}

/* A value and its gradient share the steps of a loop, with a condition as without. */
static void until(void) {
    static const char *const ends[2] = {"0.999 * h + x * k",
                                        "[0.999 * h + x * k, until(h > 1e9)]"};
    char text[600], a[32], what[64], b[32];
    Rig r[2];
    double t, t_plain;
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "thunkline: 1\ninputs: {x: 'float64[10000]', k: float64}\nlet: |\n"
                 "  y = scan(lambda x, h, k: %s, sequences=[x], outputs_info=[1.0], "
                 "non_sequences=[k], keep='last')\n"
                 "  g = grad(tanh(y), k)\noutputs: [y, g]\n",
                 ends[i]);
        rig_open(&r[i], text, true);
    }
    bench_pair((Timed){rig_run, &r[1]}, &(Timed){rig_run, &r[0]}, 0.4, &t, &t_plain);
    snprintf(what, sizeof what, "without until %s", bench_time(t_plain, b));
    bench_figure("value and gradient, with until", bench_time(t, a), what, t / t_plain,
                 1.5);
    rig_close(&r[0]);
    rig_close(&r[1]);
}

int main(void) {
    tool_environment();
    bench_title("a step of a loop");
    until();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        compare(&models[i]);
    return 0;
}
