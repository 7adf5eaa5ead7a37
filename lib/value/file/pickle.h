/* Pickles, read without running anything: plain values, and whatever a caller makes of
 * the names in them. */
#ifndef VALUE_FILE_PICKLE_H
#define VALUE_FILE_PICKLE_H

#include "value/file/file_impl.h"

typedef enum PickleKind {
    PICKLE_NONE, /* None, and what doesn't matter */
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,  /* items: key, value, key, value, ... */
    PICKLE_OTHER, /* the caller's: i and items are for it */
    PICKLE_MARK   /* only while reading */
} PickleKind;

typedef struct Pickle Pickle;
struct Pickle {
    PickleKind kind;
    int64_t i;        /* int, bool */
    const char *text; /* NUL-terminated; of PICKLE_OTHER: what it is */
    Pickle **item;
    size_t n, cap;
};

/* What names mean. Each returns a new object (pickle_new), or NULL: diagnosed. */
typedef struct PickleRules {
    /* module.name, as a class or a function */
    Pickle *(*global)(const ArrayFile *f, Arena *a, const char *module,
                      const char *name);
    /* a call of one, with a tuple */
    Pickle *(*call)(const ArrayFile *f, Arena *a, const Pickle *what,
                    const Pickle *args);
    /* an object outside of the pickle */
    Pickle *(*outside)(const ArrayFile *f, Arena *a, const Pickle *id);
} PickleRules;

Pickle *pickle_new(Arena *a, PickleKind kind);
/* NULL: diagnosed. Objects may be parts of several, and of themselves. */
Pickle *pickle_read(const ArrayFile *f, Arena *a, const PickleRules *rules);

#endif
