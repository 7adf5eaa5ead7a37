/* Shared by the files of lib/graph: the parts of a Graph that its header hides. */
#ifndef GRAPH_GRAPH_IMPL_H
#define GRAPH_GRAPH_IMPL_H

#include "graph/graph.h"

/* apply_index.c: Applies by op, props and inputs. */
typedef struct ApplyIndex {
    ApplyId *slot;
    size_t n, mask;
} ApplyIndex;
typedef struct ApplyKey {
    const Graph *g;
    const Op *op;
    const Props *props;
    size_t nin;
    const Var *in;
} ApplyKey;
ApplyKey apply_key(const Graph *g, ApplyId a);
ApplyId apply_index_find(const ApplyIndex *x, const ApplyKey *k); /* APPLY_NONE */
void apply_index_add(ApplyIndex *x, const Graph *g, ApplyId a);
void apply_index_reserve(ApplyIndex *x, const Graph *g, size_t n); /* for n in all */
void apply_index_free(ApplyIndex *x);

struct GraphPriv {
    uint32_t var_cap, apply_cap, in_cap, leaf_cap;
    uint32_t serial; /* the last one used */
    uint64_t *name;  /* by name, see names.c */
    size_t nname, name_mask;
    Sym *preferred; /* by variable, as far as preferred_cap; 0: anonymous */
    size_t preferred_cap;
    Map dim;     /* sym -> the dim's leaf */
    Map carried; /* dims in the types of the first ncarried leaves */
    uint32_t ncarried;
    Map function;  /* main: sym -> Graph *, 0 once dropped */
    Map spent;     /* main: names of removed functions */
    Map counted;   /* main: sym -> the last number appended to it for a name */
    Map approx;    /* variable -> index into approx */
    Map alias;     /* variable -> its alias */
    Map aliased;   /* alias -> the first variable that has it */
    Map statistic; /* shared variable -> 1 */
    Map label;     /* label -> index into outputs, of the first `labelled` ones */
    size_t labelled;
    Map update; /* shared variable -> index into updates, of the first `updated` ones */
    size_t updated;
    bool interning;         /* the tables below cover all nodes */
    Value **number;         /* graph_const_number: values by hash, or NULL */
    ApplyIndex apply_index; /* Applies without serial */
    Index const_index;      /* numbers of constant leaves */
};

/* A graph without any owner, and how to free one. */
Graph *graph_blank(Session *s);
void graph_free_one(Graph *g);
void names_forget(struct GraphPriv *p); /* frees what names.c keeps */

/* Collects the functions that props of copied Applies refer to. */
typedef struct WantedFunctions {
    const Graph *src;
    Map seen; /* sym */
    Vec(Sym) todo;
} WantedFunctions;
void wanted_add_function(WantedFunctions *w,
                         Sym name); /* ignores 0 and unknown names */
void wanted_add_props(WantedFunctions *w, const Props *p);
void wanted_free(WantedFunctions *w);

/* Copies the function `name` of src to dst; adds those that it calls to w. */
void graph_copy_function(Graph *dst, WantedFunctions *w, Sym name, unsigned roots,
                         bool intern);

#endif
