/* Uniform and normal numbers for the elements of a draw by rejection: words are drawn
 * ahead for some elements in a row, whose first tries are made by loops of vectors
 * (tries.simd.c). An element that these leave starts anew by itself. */
#ifndef OPS_RANDOM_WORDS_H
#define OPS_RANDOM_WORDS_H

#include "ops/random/random.h"

enum { ELEMENTS = 64, AHEAD = 8 /* blocks of one */, COLUMNS = 12 };
typedef struct Ahead {
    int level;   /* of CPU */
    bool shared; /* all elements have the same parameters */
    size_t n, blocks;
    /* Columns of ELEMENTS: what the parameters of element i make is made[COLUMN + i].
     */
    double made[COLUMNS * ELEMENTS];
    /* Word k of element i is word[k / 2 * 2 * n + 2 * i + k % 2]. */
    uint64_t word[ELEMENTS * AHEAD * 2];
    double normal[ELEMENTS * 2]; /* two of each element, from the block before these */
} Ahead;

typedef struct Words {
    const Rng *rng;
    const uint64_t *word; /* those of a block that are left, and where the next is */
    size_t left, blocks, stride;
    uint64_t next; /* block after these */
    const double *normal;
    size_t normals;
    uint64_t one[2];
    double pair[2];
} Words;
void words_take_block(Words *w);
void words_take_pair(Words *w);

static inline uint64_t words_next(Words *w) {
    if (w->left == 0) words_take_block(w);
    w->left--;
    return *w->word++;
}

static inline double unit_of(uint64_t word) {
    return ((double)(int64_t)(word >> 12) + 0.5) * 0x1p-52;
}
/* In (0, 1). */
static inline double words_unit(Words *w) {
    return unit_of(words_next(w));
}

static inline double words_normal(Words *w) {
    if (w->normals == 0) words_take_pair(w);
    w->normals--;
    return *w->normal++;
}

/* How elements are drawn. */
typedef struct WordsWay {
    /* Works out what depends on the parameters p[0], p[1], ... alone, once if all
     * elements share them, and returns how many words most elements take, besides
     * those of two normals. */
    size_t (*make)(const double *p, double *made);
    /* Sets each element to what its words ahead alone make it, or to nan if these don't
     * do. NULL: none. */
    void (*tries)(const Ahead *q, double *out);
    double (*one)(Words *w, const double *made);
    bool normals; /* all elements begin with two normals */
    /* Adds what is only worth working out if all elements share it. NULL: nothing. */
    void (*share)(double *made);
} WordsWay;
void words_draw(const Draw *w, const DrawPart *part, const WordsWay *way);

/* Defines draw_NAME, whose elements are one_NAME of what make_NAME makes. */
#define WORDS_DRAW(NAME, TRIES, NORMALS, ...)                                          \
    void draw_##NAME(const Draw *w, const DrawPart *part) {                            \
        static const WordsWay way = {make_##NAME, TRIES, one_##NAME, NORMALS,          \
                                     __VA_ARGS__};                                     \
        words_draw(w, part, &way);                                                     \
    }

/* Fails with `what` unless ok holds for every element's parameters. */
typedef bool FitFn(const double *p);
bool words_check(Call *c, const Draw *w, FitFn *ok, const char *what);

#endif
