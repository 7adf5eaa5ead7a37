/* Yardsticks for evals.c: values and derivatives by hand, as one writes them in C, in
 * loops over numbers. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* log(sum(exp(x))), and softmax(x) */
static double lse(const YardEval *e) {
    double most = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < e->n; i++)
        most = e->x[i] > most ? e->x[i] : most;
    for (size_t i = 0; i < e->n; i++) {
        e->out[i] = exp(e->x[i] - most);
        sum += e->out[i];
    }
    for (size_t i = 0; i < e->n; i++)
        e->out[i] /= sum;
    return most + log(sum);
}

/* Half the square of what a polynomial with the coefficients x lacks of the sign of t,
 * for n of t between -1 and 1. */
static double llsq(const YardEval *e) {
    double value = 0, *rest = e->out + e->m;
    for (size_t i = 0; i < e->n; i++) {
        double t = (double)i * 2 / ((double)e->n - 1) - 1, power = 1;
        double lacks = (double)((t > 0) - (t < 0));
        for (size_t j = 0; j < e->m; j++, power *= t)
            lacks -= e->x[j] * power;
        rest[i] = lacks;
        value += lacks * lacks / 2;
    }
    memset(e->out, 0, e->m * sizeof *e->out);
    for (size_t i = 0; i < e->n; i++) {
        double t = (double)i * 2 / ((double)e->n - 1) - 1, power = 1;
        for (size_t j = 0; j < e->m; j++, power *= t)
            e->out[j] -= rest[i] * power;
    }
    return value;
}

/* The sum of the squared distances of points x from the nearest of k centroids y, and
 * the steps from these to the mean of the points that are nearest to each. */
static double kmeans(const YardEval *e) {
    double value = 0;
    double *count = e->out + e->k * e->d;
    memset(e->out, 0, e->k * (e->d + 1) * sizeof *e->out);
    for (size_t i = 0; i < e->n; i++) {
        const double *point = e->x + i * e->d;
        double least = HUGE_VAL;
        size_t nearest = 0;
        for (size_t j = 0; j < e->k; j++) {
            const double *centroid = e->y + j * e->d;
            double square = 0;
            for (size_t l = 0; l < e->d; l++)
                square += (point[l] - centroid[l]) * (point[l] - centroid[l]);
            if (square < least) least = square, nearest = j;
        }
        value += least;
        count[nearest]++;
        for (size_t l = 0; l < e->d; l++)
            e->out[nearest * e->d + l] += point[l];
    }
    for (size_t j = 0; j < e->k; j++)
        for (size_t l = 0; l < e->d; l++)
            e->out[j * e->d + l] = e->y[j * e->d + l] - e->out[j * e->d + l] / count[j];
    return value;
}

static const struct {
    const char *name;
    double (*run)(const YardEval *e);
} by_hand[] = {{"lse", lse}, {"llsq", llsq}, {"kmeans", kmeans}};

void yard_eval(void *eval) {
    YardEval *e = eval;
    e->value = by_hand[e->which].run(e);
}

/* The number that follows ` letter=` or ` letter:` in the name, or 1. */
static size_t size_in(const char *name, char letter) {
    for (const char *at = name; (at = strchr(at, ' ')); at++)
        if (at[1] == letter && (at[2] == '=' || at[2] == ':'))
            return strtoul(at + 3, NULL, 10);
    return 1;
}

static double *numbers(size_t n) {
    double *x = malloc(n * sizeof *x);
    unsigned long state = 1;
    for (size_t i = 0; x && i < n; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        x[i] = (double)(state >> 33) / (double)(1U << 30) - 1;
    }
    return x;
}

bool yard_eval_open(YardEval *e, const char *name) {
    size_t n = size_in(name, 'n'), m = size_in(name, 'm'), k = size_in(name, 'k'),
           d = size_in(name, 'd');
    *e = (YardEval){.n = n, .m = m, .k = k, .d = d};
    while (strncmp(name, by_hand[e->which].name, strcspn(name, " ")) != 0)
        if (++e->which == sizeof by_hand / sizeof *by_hand) return false;
    e->x = numbers(n * d + m);
    e->y = numbers(k * d);
    e->out = numbers(n + m + k * (d + 1));
    if (e->x && e->y && e->out) return true;
    yard_eval_close(e);
    return false;
}

void yard_eval_close(YardEval *e) {
    free(e->x);
    free(e->y);
    free(e->out);
}
