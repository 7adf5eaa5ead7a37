/* Shared by the files of a trace: what it knows of graphs, and where the run is. */
#ifndef CHECK_TRACE_IMPL_H
#define CHECK_TRACE_IMPL_H

#include "check/trace.h"

#define NO_NUMBER UINT32_MAX

/* A name of a variable; variables that were merged have several. */
typedef struct Traced {
    Var var;
    Sym name;
    uint32_t next;   /* 1 + the next of the same variable */
    uint32_t no;     /* the name's number in the file; NO_NUMBER: it has none (yet) */
    uint32_t layout; /* written: of its last value */
} Traced;
/* A graph that runs: the main one or a function. */
typedef struct Scope {
    const Graph *g;
    Sym base;    /* the function's name, without numbers that rewriting appends */
    uint32_t no; /* that name's number in the file, or NO_NUMBER */
    Vec(Traced) traced;
    uint32_t *first;   /* by variable: 1 + its first name */
    uint8_t *seen;     /* by variable: recorded in this run */
    double *deviation; /* by variable, in this run; negative: it wasn't compared */
} Scope;
/* A run of one: the call, within it a function, within that another one. */
typedef struct Frame {
    Scope *scope;
    ApplyId made; /* the Apply of the scope around it that runs it */
    int64_t step; /* of a loop; -1: it is none */
    /* compared: */
    uint32_t id; /* in the file */
    TraceBatch records;
    size_t next; /* record: they mostly come in the same order */
    Map at;      /* name -> record, once one came in another order */
} Frame;
struct Trace {
    Session *s;
    const Graph *g;
    TraceSpec spec;
    Arena *a;
    Digester digester;
    uint8_t *needed; /* by variable of g */
    Map scope_of;    /* graph -> index into scope */
    Vec(Scope *) scope;
    Vec(Frame) frame; /* the first is the call */
    size_t call;
    double *sample; /* written */
    size_t inner;   /* written: records within functions, of this call */
    TraceWriter *out;
    TraceFile *in;
    Map number;     /* compared: name -> its number in the file */
    Index frame_at; /* compared: frames of this call */
    Map label_of;   /* compared: parent and function -> label of the only such frames */
    uint8_t *used;  /* by record of this call */
    size_t compared;
    Sym extra;    /* the first named value that the trace doesn't have */
    bool stopped; /* the file can't be written */
};

static inline Frame *trace_here(const Trace *t) {
    return &t->frame.p[t->frame.n - 1];
}

/* ---- trace_scope.c: names ---- */
Scope *trace_scope(Trace *t, const Graph *g);
static inline bool trace_is_named(Session *s, Sym name) {
    return *sym_text(s, name) != '#';
}
/* A name of the Apply that runs a function: of a result, as it was given. */
const Traced *trace_site_name(const Trace *t, const Scope *around, ApplyId id);
/* How many Applies of `around` run a function of that name? */
size_t trace_sites(const Scope *around, Sym base);

/* ---- trace_compare.c ---- */
void trace_index_call(Trace *t);
/* Finds the frame in which the file has this step. False: it hasn't. */
bool trace_find_frame(Trace *t, ApplyId id, Frame *f);
bool trace_compare_value(Trace *t, const Call *c, const Traced *x, const Tensor *v,
                         const Digest *now);
/* Number i of `of` elements, evenly spread; of fewer, some come again. */
double trace_sampled(const Tensor *v, uint32_t i, uint32_t of);
/* Of the first steps of a loop all are kept, of later ones one in so many. */
int64_t trace_stride(int64_t step);

#endif
