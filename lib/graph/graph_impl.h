/* Shared by the files of lib/graph: the parts of a Graph that its header hides. */
#ifndef GRAPH_GRAPH_IMPL_H
#define GRAPH_GRAPH_IMPL_H

#include "graph/graph.h"

/* apply_index.c: Applies by op, props and inputs. */
typedef struct ApplyIndex {
    ApplyId *slot;
    uint8_t *mark; /* by slot: 0 if it is free, else of its Apply's hash */
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
/* The equal one that is there, else adds a, for which room was reserved. */
ApplyId apply_index_add(ApplyIndex *x, const ApplyKey *k, ApplyId a);
void apply_index_reserve(ApplyIndex *x, const Graph *g, size_t n); /* for n in all */
void apply_index_free(ApplyIndex *x);

/* Before n Applies are copied to the empty graph g, where equal nodes merge. */
void graph_reserve_equal(Graph *g, size_t n);
/* For a copy in g, whose tables and index have room: adds an Apply like p, of results
 * like those of `out`, which reads the inputs behind g's last; with `intern` merges.
 * Returns its first output. */
Var graph_append_copy(Graph *g, const Apply *p, const VarRec *out, Origin from,
                      bool intern);

/* number.c: values of 0-d constants, shared by counting references. */
typedef struct NumberBlock NumberBlock;
struct GraphPriv;
bool value_is_number(const Value *v);
Value *number_new(Graph *g, DType d, const void *bytes); /* the caller's reference */
Value *number_share(Value *v);
void number_drop(Value *v);
void numbers_close(struct GraphPriv *p); /* the block that new ones come from */

/* Side tables, of which most graphs have few: a fused function has none. */
typedef enum GraphTable {
    TABLE_DIM,       /* sym -> the dim's leaf */
    TABLE_REF,       /* constant -> its FileRef */
    TABLE_CARRIED,   /* dims in the types of the first leaves */
    TABLE_FUNCTION,  /* main: sym -> Graph *, 0 once dropped */
    TABLE_SPENT,     /* main: names of removed functions */
    TABLE_COUNTED,   /* main: sym -> the last number appended to it for a name */
    TABLE_APPROX,    /* variable -> index into approx */
    TABLE_ALIAS,     /* variable -> its alias */
    TABLE_ALIASED,   /* alias -> the first variable that has it */
    TABLE_STATISTIC, /* shared variable -> 1 */
    TABLE_LABEL,     /* label -> index into outputs */
    TABLE_UPDATE,    /* shared variable -> index into updates */
    GRAPH_TABLES
} GraphTable;

struct GraphPriv {
    uint32_t var_cap, apply_cap, in_cap, leaf_cap;
    uint32_t serial; /* the last one used */
    uint64_t *name;  /* by name, see names.c */
    size_t nname, name_mask;
    size_t learnt;   /* of g->names, how many the table has */
    uint64_t *taken; /* bits by symbol: names of variables; NULL unless many come */
    size_t taken_words, marked; /* words of it; of g->names, how many it has */
    Sym *preferred;             /* by variable, as far as preferred_cap; 0: anonymous */
    size_t preferred_cap;
    size_t preferring;        /* of g->names, how many `preferred` knows */
    Map *table[GRAPH_TABLES]; /* NULL: empty */
    uint32_t ncarried;        /* leaves whose dims TABLE_CARRIED has */
    size_t labelled;          /* outputs that TABLE_LABEL has */
    size_t updated;           /* updates that TABLE_UPDATE has */
    bool interning;           /* the tables below cover all nodes */
    Value **number;           /* graph_const_number: values by hash, or NULL */
    NumberBlock *block;       /* new numbers come from it; NULL: there are none */
    ApplyIndex apply_index;   /* Applies without serial */
    Index const_index;        /* numbers of constant leaves */
};

static inline bool table_get(const Graph *g, GraphTable t, uint64_t key,
                             uint64_t *val) {
    const Map *m = g->priv->table[t];
    return m && map_get(m, key, val);
}
void table_put(const Graph *g, GraphTable t, uint64_t key, uint64_t val);
void table_free(const Graph *g, GraphTable t);

/* A graph without any owner, and how to free one. */
Graph *graph_blank(Session *s);
void graph_free_one(Graph *g);
void names_forget(struct GraphPriv *p); /* frees what names.c keeps */
/* For a copy of a graph: adds a name unless a leaf of the copy has it. No name may come
 * twice, and nothing may have looked for a name since the leaves got theirs. */
void names_take_over(Graph *g, Var v, Sym name);
/* An input or shared variable; listed: its name is only taken over. */
Var graph_named_leaf(Graph *g, LeafKind kind, const Type *t, Sym name, bool listed);
/* What finds nodes by what they are and by name: a copy reads neither. */
void graph_forget_tables(Graph *g);

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
