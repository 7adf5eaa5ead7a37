/* Yardstick: what follows a token, by a model of llama's architecture in the shape of
 * stories15M, as a C programmer writes it: loops over rows of weights, each row of an
 * output's; state and weights as in workloads/llama_token.yaml. Compiled with -O3
 * -march=native. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    LAYERS = 6,
    DIM = 288,
    HEADS = 6,
    HEAD = DIM / HEADS,
    HIDDEN = 768,
    WORDS = 32000,
    PLACES = 256,
    LANES = 64
};

typedef struct Layer {
    float attention_scale[DIM], network_scale[DIM];
    float query[DIM][DIM], key[DIM][DIM], value[DIM][DIM], mix[DIM][DIM];
    float gate[HIDDEN][DIM], up[HIDDEN][DIM], down[DIM][HIDDEN];
    float keys[PLACES][DIM], values[PLACES][DIM];
} Layer;

struct YardLlama {
    float embed[WORDS][DIM], scale[DIM], logits[WORDS];
    Layer layer[LAYERS];
};

/* n is a multiple of 16. In lanes that a compiler can keep in vectors. */
static float dot(const float *a, const float *b, size_t n) {
    float lane[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i += 16)
        for (size_t k = 0; k < 16; k++)
            lane[k] += a[i + k] * b[i + k];
    for (size_t k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

static void product(float *restrict y, const float *w, const float *x, size_t out,
                    size_t in) {
    for (size_t i = 0; i < out; i++)
        y[i] = dot(w + i * in, x, in);
}

static void rms_norm(float *restrict y, const float *x, const float *scale) {
    float factor = 1 / sqrtf(dot(x, x, DIM) / DIM + 1e-5f);
    for (size_t i = 0; i < DIM; i++)
        y[i] = x[i] * factor * scale[i];
}

static void turn(float *x, const float *cosine, const float *sine) {
    for (size_t i = 0; i < DIM / 2; i++) {
        float a = x[2 * i], b = x[2 * i + 1], c = cosine[i % (HEAD / 2)],
              s = sine[i % (HEAD / 2)];
        x[2 * i] = a * c - b * s;
        x[2 * i + 1] = a * s + b * c;
    }
}

/* Of one head: the values of the places up to this one, as likely as their keys are
 * near. */
static void attend(float *restrict y, const float *query, const Layer *l, size_t head,
                   size_t place) {
    float score[PLACES], most = -INFINITY, sum = 0;
    for (size_t t = 0; t <= place; t++) {
        score[t] = dot(query, &l->keys[t][head], HEAD) / sqrtf(HEAD);
        most = fmaxf(most, score[t]);
    }
    for (size_t t = 0; t <= place; t++)
        sum += score[t] = expf(score[t] - most);
    for (size_t i = 0; i < HEAD; i++)
        y[i] = 0;
    for (size_t t = 0; t <= place; t++)
        for (size_t i = 0; i < HEAD; i++)
            y[i] += score[t] / sum * l->values[t][head + i];
}

static void layer(float *x, Layer *l, size_t place, const float *cosine,
                  const float *sine) {
    float h[DIM], q[DIM], seen[DIM], more[DIM], gate[HIDDEN], up[HIDDEN];
    rms_norm(h, x, l->attention_scale);
    product(q, l->query[0], h, DIM, DIM);
    product(l->keys[place], l->key[0], h, DIM, DIM);
    product(l->values[place], l->value[0], h, DIM, DIM);
    turn(q, cosine, sine);
    turn(l->keys[place], cosine, sine);
    for (size_t head = 0; head < DIM; head += HEAD)
        attend(seen + head, q + head, l, head, place);
    product(more, l->mix[0], seen, DIM, DIM);
    for (size_t i = 0; i < DIM; i++)
        x[i] += more[i];
    rms_norm(h, x, l->network_scale);
    product(gate, l->gate[0], h, HIDDEN, DIM);
    product(up, l->up[0], h, HIDDEN, DIM);
    for (size_t i = 0; i < HIDDEN; i++)
        gate[i] *= up[i] / (1 + expf(-gate[i]));
    product(more, l->down[0], gate, DIM, HIDDEN);
    for (size_t i = 0; i < DIM; i++)
        x[i] += more[i];
}

/* In huge pages, as our buffers are: memory is read faster. */
YardLlama *yard_llama_new(void) {
    enum { HUGE_PAGE = 2 << 20 };
    size_t size = (sizeof(YardLlama) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    YardLlama *y = aligned_alloc(HUGE_PAGE, size);
#ifdef MADV_HUGEPAGE
    if (y) madvise(y, size, MADV_HUGEPAGE);
#endif
    float *weight = (float *)y;
    for (size_t i = 0; y && i < sizeof *y / sizeof *weight; i++)
        weight[i] = (float)(i * 2654435761u % 1009) / 1009 * 0.1f - 0.05f;
    return y;
}

/* A hundred tokens are behind this one. */
void yard_llama(void *ctx) {
    enum { PLACE = 100 };
    YardLlama *y = ctx;
    float x[DIM], last[DIM], cosine[HEAD / 2], sine[HEAD / 2];
    size_t next = 0;
    for (size_t i = 0; i < HEAD / 2; i++) {
        float angle = PLACE * powf(10000, -(float)i / (HEAD / 2));
        cosine[i] = cosf(angle), sine[i] = sinf(angle);
    }
    for (size_t i = 0; i < DIM; i++)
        x[i] = y->embed[1][i];
    for (size_t l = 0; l < LAYERS; l++)
        layer(x, &y->layer[l], PLACE, cosine, sine);
    rms_norm(last, x, y->scale);
    product(y->logits, y->embed[0], last, WORDS, DIM);
    for (size_t i = 1; i < WORDS; i++)
        if (y->logits[i] > y->logits[next]) next = i;
    *(volatile float *)y->logits = (float)next;
}
