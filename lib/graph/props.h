/* Props: the parameters of an op, interned in the session: equal props are one pointer.
 */
#ifndef GRAPH_PROPS_H
#define GRAPH_PROPS_H

#include "value/value.h"

typedef enum PropKind {
    P_NONE,
    P_BOOL,
    P_INT,
    P_FLOAT,
    P_STR,   /* sym */
    P_DTYPE, /* i */
    P_INTS,  /* ints */
    P_GRAPH  /* sym: a function of the graph */
} PropKind;
typedef struct Prop {
    PropKind kind;
    union {
        int64_t i;
        double f;
        Sym sym;
        struct {
            const int64_t *p;
            size_t n;
        } ints;
    };
} Prop;
typedef struct Props {
    uint32_t n, id;
    uint64_t hash;
    const Prop *p; /* in the order of the op's signature */
} Props;
const Props *props_intern(Session *s, size_t n, const Prop *p); /* copies; never NULL */

#endif
