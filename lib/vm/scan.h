/* A running loop, shared by the files for loops only. */
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
/* An output of the body and its rows. */
typedef struct Row {
    uint32_t cell, place; /* in the body's machine */
    uint32_t out;         /* cell of the scan's result */
    const Layout *layout; /* of one row, in the body's machine; NULL: unknown so far */
    size_t bytes;
    Buffer *ring, *start; /* rows that are not returned; a copy of the initial rows */
    char *init;           /* initial rows, the oldest first */
    char *base, *at;      /* the rows; the current step's row */
    int64_t pos, count;   /* its index among `count` rows, which then wraps around;
                           * INT64_MAX: never */
    int64_t room;         /* rows allocated */
    int64_t before;       /* rows of room in front of them */
    Place saved;
    bool pointed;    /* the place points to a row for now; `saved` is its own storage */
    bool object;     /* a non-tensor: the fields below replace rows */
    bool over;       /* each value overwrites the one before */
    bool sure;       /* types prove that every value fits the body's input */
    bool listed;     /* a random state: rows for the next step, copies in `kept` */
    Value now;       /* from the last step, or initial; a reference */
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
struct SharedSteps;                   /* scan_threads.c */
typedef struct QuickSteps QuickSteps; /* scan_quick.c */
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
    struct SharedSteps *shared; /* NULL: steps need each other, or were not shared yet
                                 */
    bool alone;                 /* they can't be shared */
    QuickSteps *quick;          /* NULL: no run had any */
};

/* scan_threads.c: after the first step, runs the others on several threads, if they
 * don't need each other; `seconds` is how long it took. False, without a diagnostic:
 * nothing is known of the others. */
bool scan_share_steps(ScanRun *l, double seconds, LoopProgress *shown);
bool scan_may_share(const ScanRun *l); /* before the first step */
void scan_shared_free(struct SharedSteps *q);
size_t scan_shared_bytes(const struct SharedSteps *q);

/* scan_quick.c: right after the first step; then before another one. */
void scan_quick_begin(ScanRun *l);
typedef enum QuickEnd {
    QUICK_STUCK,  /* the step at hand must take the ordinary path */
    QUICK_FAILED, /* it failed, which is diagnosed */
    QUICK_FULL,   /* steps ran; the next one needs more room for rows */
    QUICK_OVER    /* the last step ran */
} QuickEnd;
QuickEnd scan_quick_steps(ScanRun *l, LoopProgress *shown);
void scan_quick_free(QuickSteps *q); /* NULL is allowed, here too: */
size_t scan_quick_bytes(const QuickSteps *q);

/* scan_objects.c: output i, a non-tensor. Each false: diagnosed. */
bool scan_begin_object(ScanRun *l, size_t i); /* the initial value */
bool scan_take_object(ScanRun *l, size_t i);  /* of a step */
bool scan_list_row(ScanRun *l, size_t i);     /* a copy, where it is a random state */
bool scan_give_object(ScanRun *l, size_t i);
bool scan_no_last(ScanRun *l, size_t i); /* reports that there is no last value */
/* Drops references to the steps' results. */
void scan_drop_objects(ScanRun *l);

#endif
