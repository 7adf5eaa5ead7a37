/* A picture of one graph, main or a function, before it is written: its nodes and edges
 * (dot_edges.c), in groups by name (dot_group.c). */
#ifndef IO_DOT_IMPL_H
#define IO_DOT_IMPL_H

#include "io/io_impl.h"
#include "page/family.h"

/* What the picture shows: a leaf has its variable's number, an Apply nvar + its id, a
 * group nvar + napply + its number. */
typedef uint32_t DotNode;
#define DOT_NONE UINT32_MAX

/* Names with a common beginning: layer1_W and layer1_h, or d/x and d/y. */
typedef struct DotGroup {
    Sym name; /* the group's name is the first `len` bytes of this one */
    uint32_t len;
    uint32_t parent; /* a smaller number; PURPOSES roots are their own parents */
    uint32_t members, children;
    uint32_t applies, shared; /* with those of the groups inside */
    uint32_t twin;            /* the forward group of the same name; DOT_NONE */
    ApplyId last;             /* one of its Applies */
    uint32_t within; /* the collapsed group that shows it; DOT_NONE: it is open */
    int level;       /* from 1 on; the roots have 0 */
    Purpose kind;
    bool effect;
    bool sole;      /* all that goes forward is in it */
    bool pass;      /* it only holds another group, which stands for it */
    bool collapsed; /* drawn as one node */
} DotGroup;

typedef struct DotEdge {
    DotNode from, to;
    Var var;        /* what flows; of a merged edge, the first */
    uint32_t count; /* of variables, of a merged edge */
    uint32_t in;    /* the number of the input, for the Apply that reads */
    bool viewed, update;
} DotEdge;

typedef struct Dot {
    Session *s;
    const Graph *g;
    const WriteOptions *o;
    Arena *a;
    Str *out;
    unsigned no;     /* number of the graph: 0 is main */
    int depth;       /* levels of groups that are opened and collapsed; 0: no groups */
    uint8_t *live;   /* by variable */
    uint8_t *hidden; /* by variable: a detail that is left out; NULL: none are */
    DotGroup *group;
    uint32_t ngroup;
    uint32_t *apply_group, *leaf_group; /* the innermost; DOT_NONE: none */
    Vec(DotEdge) edges;
    uint32_t *readers; /* by node: edges that lead from it */
    uint8_t *shown;    /* by node; of a variable that isn't a leaf: unused */
    DotNode centre;    /* of o->around; DOT_NONE */
    const Map *drawn;  /* the graphs that have a picture */
    bool large; /* names and types stand in the ellipses: labels of edges take room */
} Dot;

static inline DotNode dot_node_of_apply(const Dot *d, ApplyId a) {
    return d->g->nvar + a;
}
static inline DotNode dot_node_of_group(const Dot *d, uint32_t group) {
    return d->g->nvar + d->g->napply + group;
}
static inline bool dot_is_group(const Dot *d, DotNode n) {
    return n >= d->g->nvar + d->g->napply;
}
static inline bool dot_is_leaf(const Dot *d, DotNode n) {
    return n < d->g->nvar;
}
static inline DotGroup *dot_group_of(const Dot *d, DotNode n) {
    return &d->group[n - d->g->nvar - d->g->napply];
}
static inline ApplyId dot_apply_of(const Dot *d, DotNode n) {
    return n - d->g->nvar;
}
static inline size_t dot_node_count(const Dot *d) {
    return (size_t)d->g->nvar + d->g->napply + d->ngroup;
}

/* ---- dot_group.c ---- */
/* Needs live and hidden; only the roots if depth is 0. */
void dot_make_groups(Dot *d);
void dot_group_title(const Dot *d, const DotGroup *k, Str *out);

/* The node of what a gradient or an update belongs to, to stand beside it; DOT_NONE. */
DotNode dot_twin(const Dot *d, DotNode n);

/* ---- dot_edges.c ---- */
/* The variable that a cast casts, if casts are left out; else v. */
Var dot_without_casts(const Dot *d, Var v);
bool dot_draws_apply(const Dot *d, ApplyId a); /* by itself or in a group */
/* The node that shows a variable: its leaf, its Apply, or a group of theirs. */
DotNode dot_node_of_var(const Dot *d, Var named);
/* Numbers of edges by the node that they lead to, or with `down` from: those of n are
 * edge[first[n]] .. edge[first[n + 1]]. */
typedef struct DotEnds {
    uint32_t *first, *edge;
    bool down;
} DotEnds;
DotEnds dot_ends(const Dot *d, Arena *a, bool down);
/* Fills in edges, then shown: all nodes, or those around o->around in main. */
void dot_make_edges(Dot *d);

#endif
