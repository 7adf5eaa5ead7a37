/* A loop while it runs, for the files of loops alone. */
#ifndef VM_SCAN_H
#define VM_SCAN_H

#include "scan/scan.h"
#include "vm/vm_impl.h"

/* One tap of a sequence: an input of the body. */
typedef struct Feed {
    uint32_t cell;
    char *at;
    int64_t step;
} Feed;
/* An output of the body and the rows that it leaves. */
typedef struct Row {
    uint32_t cell, place; /* in the body's machine */
    uint32_t out;         /* cell of the scan's result */
    const Layout *layout; /* of one row, in the body's machine; NULL: not known yet */
    size_t bytes;
    Buffer *ring, *start; /* rows that no one keeps; a copy of the initial rows */
    char *init;           /* initial rows, the oldest first */
    char *base, *at;      /* the rows; that of this step */
    int64_t pos, count;   /* its number among `count` rows, after which the first one
                             is used again; INT64_MAX: never */
    int64_t room;         /* rows that there is storage for */
    Place saved;
    bool pointed;    /* the place is the loop's for now, `saved` its own storage */
    bool object;     /* no tensor: what follows instead of rows */
    bool sure;       /* types tell that each one is what the body takes */
    bool listed;     /* a random state: rows for the next step, copies in `kept` */
    Value now;       /* made by the last step, or initial; a reference */
    Vec(Value) kept; /* of all steps, or a ring of the last ones */
} Row;
/* One tap of a state: an input of the body. */
typedef struct Past {
    uint32_t cell;
    Row *of;
    int64_t tap;
    char *at;
    int64_t pos, wait; /* wait: steps that still read initial rows */
} Past;
struct ScanRun {
    Session *s;
    Arena *arena;
    ScanForm f;
    Plan *plan;
    Machine *body;
    size_t nfeed, npast;
    Feed *feed;
    Past *past;
    Row *row;
    /* of this run */
    Machine *m;
    uint32_t step;
    const uint32_t *arg; /* cells of the scan's inputs */
    int64_t steps, done;
};

/* scan_objects.c: output i, which is no tensor. Each false: diagnosed. */
bool loop_begin_object(ScanRun *l, size_t i); /* the initial value */
bool loop_take_object(ScanRun *l, size_t i);  /* of a step */
bool loop_list_row(ScanRun *l, size_t i);     /* a copy, where it is a random state */
bool loop_give_object(ScanRun *l, size_t i);
bool loop_no_last(ScanRun *l, size_t i); /* says that there is no last value */
/* References to what the steps made. */
void loop_drop_objects(ScanRun *l);

#endif
