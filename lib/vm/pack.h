/* Packing: values that live for some steps each get offsets in one arena. memory.c
 * packs any number of them in one walk; here is the search for what that misses. */
#ifndef VM_PACK_H
#define VM_PACK_H

#include "base/session.h"

typedef struct Span64 {
    uint32_t born, dies; /* inclusive; the space is free again after `dies` */
    int64_t bytes;       /* < 0: not placed */
    uint64_t offset;     /* result */
} Span64;

/* Bytes alive at the worst step: no packing takes fewer. */
uint64_t pack_bound(Session *s, size_t n, const Span64 *span);
/* Bytes that the offsets take. */
uint64_t pack_height(size_t n, const Span64 *span);
/* Offsets by the size of values, the largest first, each in the smallest gap that fits.
 * Quadratic in n. Returns the height. */
uint64_t pack_by_size(Session *s, size_t n, Span64 *span);

/* Offsets by a walk through the steps (memory.c) or by size, whichever takes less, for
 * sizes as they are. The time grows with n alone. Returns the height. */
uint64_t pack_quickly(Session *s, size_t n, Span64 *span);

typedef enum PackResult {
    PACK_FOUND,
    PACK_NONE,   /* there is no packing of that height */
    PACK_GAVE_UP /* within the limits none was found */
} PackResult;
typedef struct PackLimits {
    uint64_t tries;  /* placements of a value */
    double deadline; /* by clock_seconds; 0: none */
} PackLimits;
enum { PACK_MOST = 1024 }; /* values that a search takes */
/* Searches for offsets below `height`, and sets them if there are some. Sizes count as
 * they are, without alignment. *limits->tries is lowered by what it took. The same for
 * the same input, unless the deadline ends it. */
PackResult pack_search(Session *s, size_t n, Span64 *span, uint64_t height,
                       PackLimits *limits);
/* The lowest packing found within the limits, searched from `bound` up; the offsets in
 * span are the first one to beat. Returns its height; *proven becomes the largest
 * height that is known to be a lower bound. */
uint64_t pack_lowest(Session *s, size_t n, Span64 *span, uint64_t enough,
                     PackLimits *limits, uint64_t *proven);

#endif
