/* What the benchmarks share: a clock, two things timed turn by turn so that noise hits
 * both, and one line of the table for each. A line is: name, ours, a yardstick that ran
 * in the same minute, ours/yardstick, the ratio that we want to stay below. */
#ifndef BENCH_H
#define BENCH_H

#include "cli/cli.h"

/* A thing to time: run(ctx) once. */
typedef struct Timed {
    void (*run)(void *ctx);
    void *ctx;
} Timed;

/* Seconds: of this process's CPU time, which what else the machine does hardly touches
 * (most runs here are of one thread), or of the clock on the wall where other processes
 * are timed. */
double bench_now(void);
extern bool bench_wall;
/* Seconds of pause after each round of a yardstick: for a library whose threads go on
 * waiting in a loop, and so hold the cores that ours need. */
extern double bench_pause;
/* Medians of rounds that take turns, `budget` seconds in all without the pauses; yard
 * may be NULL. */
void bench_pair(Timed ours, const Timed *yard, double budget, double *t_ours,
                double *t_yard);

void bench_title(const char *text);
/* t_yard 0: no yardstick; goal 0: none. `numpy` is the name of a line in the file that
 * BENCH_NUMPY names (name, tab, seconds), or NULL. */
void bench_row(const char *name, double ours, const char *what, double t_yard,
               double goal, const char *numpy);
/* The time in the line of that name; 0: there is none. */
double bench_peer_time(const char *name);
/* Any other figures: `value` must be at most `goal` (0: no goal). */
void bench_figure(const char *name, const char *value, const char *what, double ratio,
                  double goal);
/* Cuts a line of a table into n fields, which tabs part. False: there are fewer. */
bool bench_fields(char *line, int n, char **field);
/* "1.23 ms" */
const char *bench_time(double seconds, char text[32]);

/* Compiled with -O3 -march=native: what a C programmer would write (yard.c). */
typedef struct Yard {
    void *a, *b, *c, *out;
    size_t n;
} Yard;
void yard_fma_f32(void *ctx), yard_fma_f64(void *ctx); /* out = a * b + c */
void yard_twelve_f32(void *ctx); /* a dozen of sums and products */
void yard_triad_f32(void *ctx),
    yard_triad_f64(void *ctx); /* out = a + 3 * b, past the caches */
void yard_chain_f32(void *ctx), yard_chain_f64(void *ctx); /* by libm */
void yard_distance_f32(void *ctx); /* out = the sum of (a - b)^2 */
void yard_exp_rows_f32(void *ctx); /* out = the sums of exp(a - b) over n / ROW rows of
                                      a, b has a number for each */
enum { ROW = 1000 };
void yard_copy(void *ctx);        /* memcpy of n bytes from a to out */
void yard_read(void *ctx);        /* adds up n bytes at a */
void yard_gather_f32(void *ctx);  /* out[i] = a[b[i]] */
void yard_scatter_f32(void *ctx); /* out[b[i]] += a[i] */
/* Loops over steps, with `n` of them: out[i] = 0.9 * out[i - 1] + a[i]; rows of a of
 * LOOP_IN numbers to states of LOOP_OUT by weights b (those of the input, then those of
 * the state), with tanh or as an LSTM. */
enum { LOOP_IN = 16, LOOP_OUT = 32 };
void yard_recurrence(void *ctx), yard_hmm(void *ctx), yard_rnn(void *ctx),
    yard_lstm(void *ctx);

/* What follows a token, by a language model (yard_llama.c). */
typedef struct YardLlama YardLlama;
YardLlama *yard_llama_new(void); /* freed by free(); NULL: there is no memory */
void yard_llama(void *llama);

/* An eval of GradBench by hand (yard_evals.c): numbers of random values, of the sizes
 * that its name in evals.c has. */
typedef struct YardEval {
    size_t which, n, m, k, d;
    double *x, *y, *out, value;
} YardEval;
bool yard_eval_open(YardEval *e, const char *name); /* false: there is none */
void yard_eval(void *eval);
void yard_eval_close(YardEval *e);

/* A graph, rewritten and planned, with random inputs: ready to run. */
typedef struct Rig {
    Session *s;
    Graph *g;
    Plan *plan;
    Machine *m;
} Rig;
/* `text` is a graph file; on one thread. Ends the program when something fails. */
void rig_open(Rig *r, const char *text, bool rewrite);
void rig_open_on(Rig *r, const char *text, bool rewrite, unsigned threads);
void rig_open_file(Rig *r, const char *path, unsigned threads); /* rewritten */
void rig_plan_file(Rig *r, const char *path,
                   unsigned threads); /* before a first call */
/* Values of inputs that are integers, " n:3 m:5", in place of random ones, and what
 * those of arrays stay below, in place of the extent of the first input; NULL: none. */
extern const char *bench_values;
void rig_close(Rig *r);
void rig_run(void *rig);
_Noreturn void bench_fail(Session *s, const char *what);

#endif
