/* The index of a read, x[2:, i], axis by axis. */
#ifndef REWRITE_READ_H
#define REWRITE_READ_H

#include "op/index_text.h"
#include "rewrite/rewrite_impl.h"

typedef struct ReadItem {
    bool is_at; /* an integer, else a slice */
    Var at;
    Var start, stop, step; /* VAR_NONE: left out */
} ReadItem;
typedef struct Read {
    Rewriter *r;
    ApplyId id; /* the Apply with the index */
    Var x;      /* its tensor */
    const Type *t;
    ApplyId of; /* what makes x; APPLY_NONE: it is a leaf */
    ReadItem item[MAX_NDIM];
    int nleft, nadd;        /* axes that the index leaves; None items */
    uint8_t add[ITEMS_MAX]; /* each None precedes this axis of those left */
} Read;
/* The index inputs begin at input `first`. False: there are arrays or masks. */
bool read_parse(Rewriter *r, ApplyId id, size_t first, Read *q);
/* y with an index for each of its n axes; y itself where that takes all. */
Var read_of(Rewriter *r, Var y, int n, const ReadItem *item);
bool read_takes_all(const ReadItem *it);

#endif
