/* Single expressions beside the better of NumPy and PyTorch (yard_single.py), on one
 * thread: the lines of single.tsv, for large and for small inputs. usage: single
 * SINGLE.TSV [WORD], only the lines that have the word. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 6 };
static const double goal = 1.25;

/* How the rows of one size did: a geometric mean over those that have a peer. */
typedef struct Mean {
    double logs;
    int n, within;
} Mean;

/* The inputs with a dtype for each T that begins one. */
static void put_dtype(const char *inputs, const char *dtype, char *out, size_t n) {
    size_t k = 0;
    for (const char *p = inputs; *p && k + 16 < n; p++) {
        bool is = p > inputs && p[-1] == '\'' && p[0] == 'T' && p[1] == '[';
        if (is)
            k += (size_t)snprintf(out + k, n - k, "%s", dtype);
        else
            out[k++] = *p;
    }
    out[k] = '\0';
}

/* The line of a peer: "np_gather_float32_large". */
static double peer_time(const char *peer, const char *name, const char *dtype,
                        const char *size) {
    char key[128];
    snprintf(key, sizeof key, "%s_%s_%s_%s", peer, name, dtype, size);
    for (char *p = key; *p; p++)
        if (!ascii_is_letter(*p) && !ascii_is_digit(*p)) *p = '_';
    return bench_peer_time(key);
}

static void run_single(char *const *field, const char *dtype, const char *size,
                       Mean *mean) {
    const char *inputs = field[strcmp(size, "large") == 0 ? 1 : 2];
    char text[512], in[256], name[64];
    put_dtype(inputs, dtype, in, sizeof in);
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {%s}\nlet: |\n  r = %s\noutputs: [r]\n", in,
             field[3]);
    Rig r;
    double ours, a = peer_time("np", field[0], dtype, size),
                 b = peer_time("torch", field[0], dtype, size),
                 best = a > 0 && (b <= 0 || a < b) ? a : b;
    rig_open(&r, text, true);
    bench_pair((Timed){rig_run, &r}, NULL, 0.04, &ours, NULL);
    rig_close(&r);
    snprintf(name, sizeof name, "%s%s%s", field[0], *dtype ? " " : "", dtype);
    bench_row(name, ours,
              best <= 0   ? "neither is installed"
              : best == a ? "NumPy"
                          : "PyTorch",
              best, goal, NULL);
    if (best <= 0) return;
    mean->logs += log(ours / best);
    mean->within += ours <= goal * best;
    mean->n++;
}

static void run_size(const char *path, const char *size, const char *wanted) {
    FILE *f = fopen(path, "r");
    if (!f) exit(1);
    char line[1024], title[64], *field[FIELDS], value[32];
    Mean mean = {0};
    snprintf(title, sizeof title, "single expressions, %s", size);
    bench_title(title);
    while (fgets(line, sizeof line, f)) {
        if (*line == '#' || (wanted && !strstr(line, wanted))) continue;
        if (!bench_fields(line, FIELDS, field)) exit(1);
        bool typed = strstr(field[1], "'T[") != NULL;
        run_single(field, typed ? "float32" : "", size, &mean);
        if (typed) run_single(field, "float64", size, &mean);
    }
    fclose(f);
    if (!mean.n) return;
    double all = exp(mean.logs / mean.n);
    snprintf(value, sizeof value, "%d of %d", mean.within, mean.n);
    bench_figure("  geometric mean", value, "within 1.25 of the better one", all, 1);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    tool_environment();
    run_size(argv[1], "large", argc > 2 ? argv[2] : NULL);
    run_size(argv[1], "small", argc > 2 ? argv[2] : NULL);
    return 0;
}
