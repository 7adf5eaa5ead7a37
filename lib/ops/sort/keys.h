/* Keys, by which sort, topk and searchsorted order elements: unsigned integers of the
 * element's size whose order is the order of the elements, ascending or descending. 0
 * and -0 are equal; all nans are equal, and above everything else. */
#ifndef OPS_SORT_KEYS_H
#define OPS_SORT_KEYS_H

#include "op/op.h"

typedef struct SortForm {
    bool is_float, is_signed, descending;
    size_t item;
    uint64_t top, inf; /* bit masks of the dtype: the sign; a float's infinity */
} SortForm;
SortForm sort_form(DType d, bool descending);

/* A key and its position in 64 bits: the bits of the key below those that all keys have
 * in common, as many as fit, then the position. Keys may differ in other bits alone. */
typedef struct SortPacking {
    int up;            /* how far keys are shifted up */
    uint64_t position; /* the bits of a position */
} SortPacking;

/* The k smallest of some keys, at most SORT_FEW, ascending, equal ones in their order;
 * n < k: there have been so few. */
enum { SORT_FEW = 32 };
typedef struct SortFew {
    int64_t k, n;
    uint64_t key[SORT_FEW];
    int64_t at[SORT_FEW];
} SortFew;

/* The loops for elements of 1, 2, 4 or 8 bytes, per CPU level. */
typedef struct SortLoops {
    /* key[i] = the key of the i-th of n elements, which are `step` bytes apart */
    void (*keys)(const SortForm *f, const char *x, int64_t step, int64_t n, void *key);
    bool (*any_below)(const void *key, int64_t n, uint64_t limit);
    /* n more keys, the first of which is at position `at` */
    void (*few)(const void *key, int64_t n, int64_t at, SortFew *few);
    /* Sorts SORT_COLUMN bytes' worth of columns of n keys each, side by side. */
    void (*network)(void *key, int64_t n);
    /* Sorts n keys, for some hundreds or thousands; returns where they are: in key or
     * in room, each with room for SORT_COLUMN bytes more. */
    void *(*line)(void *key, void *room, int64_t n);
    /* Number kth, from 0, of n keys in order; *below: how many are below it. room: n
     * keys. */
    uint64_t (*nth)(const void *key, void *room, int64_t n, int64_t kth,
                    int64_t *below);
    /* Those of n keys that are not below `least` and not above `most`, in order, and
     * how many; *below: how many are below them. to: n keys. */
    int64_t (*within)(const void *key, int64_t n, uint64_t least, uint64_t most,
                      void *to, int64_t *below);
    /* How many of n keys are not above v; *next: the least one that is, if any. */
    int64_t (*above)(const void *key, int64_t n, uint64_t v, uint64_t *next);
    /* to[i step] = the positions of n keys: those that come before number kth, which is
     * one that equals `limit`, that one, and the rest */
    void (*part)(const void *key, int64_t n, uint64_t limit, int64_t below, int64_t kth,
                 int64_t *to, int64_t step);
    /* keys, but false if an element can't be recovered from its key (-0, nan) */
    bool (*told)(const SortForm *f, const char *x, int64_t step, int64_t n, void *key);
    /* The elements of n keys, `step` bytes apart. */
    void (*elements)(const SortForm *f, const void *key, int64_t n, char *r,
                     int64_t step);
    /* Bits that are not those of `first` in all of n keys. */
    uint64_t (*varying)(const void *key, int64_t n, uint64_t first);
    /* Packs n keys, the first of which is at position `at`. */
    void (*pack)(const void *key, int64_t n, SortPacking k, int64_t at, uint64_t *to);
    /* Do n ascending keys differ above `low` from their neighbours? */
    bool (*apart)(const void *key, int64_t n, uint64_t low);
    /* to[i step] = the low bits of key i */
    void (*low_bits)(const void *key, int64_t n, uint64_t low, int64_t *to,
                     int64_t step);
    /* at[i] = how many of n ascending keys are below the i-th of m sought, with `right`
     * not above it */
    void (*search)(const void *key, int64_t n, const void *sought, int64_t m,
                   bool right, int64_t *at);
} SortLoops;
enum { SORT_COLUMN = 64 };
extern const SortLoops sort_loops0[4], sort_loops1[4], sort_loops2[4];
const SortLoops *sort_loops(Session *s, DType d);

/* A quicksort of keys of 4 or 8 bytes. After `bad` lopsided parts, each within the one
 * before, it no longer trusts in samples (SORT_BAD). */
typedef struct SortQuick {
    /* Sorts n adjacent elements x to r; room: 2 n keys. False if one can't be recovered
     * from its key (-0, nan): r is undefined then. */
    bool (*line)(const SortForm *f, const void *x, int64_t n, void *room, void *r,
                 int bad);
    /* Brings n keys to `to`, about a half of them first, which are below the others;
     * how many, or 0 if the sample was no good. */
    int64_t (*halve)(const void *key, int64_t n, void *to);
    /* Sorts n keys to r, which may be `key`, as elements; room: n keys. */
    void (*keys)(const SortForm *f, void *key, void *room, int64_t n, void *r, int bad);
} SortQuick;
enum { SORT_BAD = 8 };
extern const SortQuick sort_quick0[2], sort_quick1[2], sort_quick2[2];
/* NULL where the CPU has no good one for the dtype. */
const SortQuick *sort_quick(Session *s, DType d);
/* The same as q->keys, by several threads. */
void sort_quick_shared(Pool *pool, const SortQuick *q, const SortForm *f, void *key,
                       void *room, int64_t n, void *r);

typedef struct SortPair {
    uint64_t key;
    int64_t at;
} SortPair;
/* The keys of n elements and their positions, from 0. */
void sort_make_pairs(Pool *pool, const SortLoops *l, const SortForm *f, const char *x,
                     int64_t step, int64_t n, SortPair *p);
uint64_t sort_key_at(size_t item, const void *key, int64_t i);
/* n packed keys in order, with positions in the bits `low`, and all keys. */
typedef struct SortPacked {
    size_t item;
    int64_t n;
    const void *key;
    uint64_t *order, low;
} SortPacked;
/* Orders those whose keys differ in bits that are not packed: few, or false. wide: the
 * loops of 64 bits. */
bool sort_settle(const SortLoops *wide, const SortPacked *p);
/* Sorts by key, stably. `room` holds n pairs, too. */
void sort_pairs(Pool *pool, SortPair *p, SortPair *room, int64_t n);
/* Is a line of n worth the time of several threads? */
bool sort_is_shared(const Pool *pool, int64_t n);
/* Sorts n > 0 keys of `item` bytes; returns where they are: in key or in room. */
void *sort_keys(Pool *pool, size_t item, void *key, void *room, int64_t n);
/* Moves the k smallest of n pairs, of equal keys the first ones, to the front; equal
 * keys keep their order. */
void sort_select(SortPair *p, SortPair *room, int64_t n, int64_t k);

/* Reference: sorts by value with the C library, nans last, or first where descending;
 * equal elements by position. */
typedef struct SortRanked {
    DType dtype;
    bool descending;
    const char *p;
    int64_t at;
} SortRanked;
void sort_ranked(SortRanked *v, int64_t n);
int sort_compare(const void *a, const void *b); /* two SortRanked, for qsort */

/* Input 0, which has elements, sorted along the axis, in scratch memory; with
 * `reference`, by the C library. */
bool sort_to_scratch(Call *c, int axis, bool reference, Tensor *sorted);

/* Of searchsorted, and of an op that looks up input 1 in the vectors of input 0, of
 * which there is one for each index of the first batch_dims dims. */
bool sort_search_type(Infer *in, DType out);
bool sort_search_fits(Call *c, const Tensor *a, const Tensor *v);
bool sort_search_vmap(Vmap *q);

/* The type of an op along `axis`, whose result has x's shape. */
bool sort_axis(Infer *in, int *axis);
/* Without an axis, applies the op to the flattened x. */
bool sort_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                 Var *out);

#endif
