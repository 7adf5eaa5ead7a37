/* What a second thread brings: the lines of threads.tsv on two threads beside one, by
 * the clock on the wall. usage: threads THREADS.TSV [WORD], only the lines that have
 * the word. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 4, ROUNDS = 5 };
static const double round_seconds = 0.06, least_seconds = 5e-4;

typedef struct Side {
    Rig rig;
    int times; /* runs that are timed together */
    double best;
} Side;

static double timed(Side *side, int times) {
    double from = bench_now();
    for (int i = 0; i < times; i++)
        rig_run(&side->rig);
    return (bench_now() - from) / times;
}

static void open_side(Side *side, const char *text, unsigned threads) {
    rig_open_on(&side->rig, text, true, threads);
    double once = timed(side, 1);
    side->times = once > least_seconds ? 1 : (int)(least_seconds / (once + 1e-9)) + 1;
    side->best = 1e300;
}

/* The fastest counts: what else the machine does can only slow runs down. */
static void run_round(Side *side) {
    double until = bench_now() + round_seconds;
    timed(side, side->times); /* wakes threads, and fills caches */
    do {
        double t = timed(side, side->times);
        if (t < side->best) side->best = t;
    } while (bench_now() < until);
}

static void run_line(char *const *field) {
    char text[2048];
    Side side[2];
    snprintf(text, sizeof text, "thunkline: 1\ninputs: {%s}\nlet: |\n", field[1]);
    for (char *at = field[2], *end; at; at = end) {
        if ((end = strstr(at, "; "))) *end = '\0', end += 2;
        snprintf(text + strlen(text), sizeof text - strlen(text), "  %s\n", at);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "outputs: [r]\n");
    for (unsigned i = 0; i < 2; i++)
        open_side(&side[i], text, i + 1);
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < 2; i++)
            run_round(&side[i]);
    for (int i = 0; i < 2; i++)
        rig_close(&side[i].rig);
    bench_row(field[0], side[1].best, "one thread", side[0].best,
              strtod(field[3], NULL), NULL);
}

int main(int argc, char **argv) {
    char line[2048], *field[FIELDS];
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f) return 2;
    tool_environment();
    bench_wall = true;
    bench_title("two threads");
    while (fgets(line, sizeof line, f)) {
        if (*line == '#' || (argc > 2 && !strstr(line, argv[2]))) continue;
        if (!bench_fields(line, FIELDS, field)) return 1;
        run_line(field);
    }
    fclose(f);
    return 0;
}
