/* What the files of lib/prof share. */
#ifndef PROF_PROF_IMPL_H
#define PROF_PROF_IMPL_H

#include "lang/print.h"
#include "prof/poly.h"
#include "prof/prof.h"

/* ---- cost.c: what one run of an Apply costs ---- */
typedef struct Shape {
    bool is_tensor;
    DType dtype;
    int ndim;
    const Poly *const *dim;
    const Poly *value; /* of a single number, where it follows from sizes; else NULL */
} Shape;
typedef struct Cost {
    const Poly *flops, *math, *read, *written; /* NULL: can't be told */
} Cost;
typedef struct Costing {
    Session *s;
    Arena *keep; /* parsed formulas */
    Map parsed;  /* by the text's address */
} Costing;
typedef struct Costed {
    const Graph *g;
    ApplyId id;
    size_t nin, nout;
    const Shape *in, *out;
    const bool *view; /* by output: it shares memory with its input */
} Costed;
Cost cost_apply(Costing *k, Arena *a, const Costed *c);
/* Of a fused group: the inner ops' flops, the group's inputs and outputs in bytes. */
Cost cost_fused(Costing *k, Arena *a, const Graph *fn, const Costed *c);
Shape shape_of_type(Arena *a, const Type *t, const Map *dims, bool symbols);
Shape shape_of_tensor(Arena *a, const Tensor *t);
/* Fills in what the type of an elementwise result doesn't tell. */
Shape shape_of_result(Arena *a, const Op *op, Shape typed, size_t nin, const Shape *in);

/* The shapes of all variables of a graph, in dims and, for a function, in those of its
 * inputs. */
Shape *shapes_of(Arena *a, const Graph *g, const Map *dims, bool symbols, size_t nin,
                 const Shape *in);
/* Gives the dims of a function's inputs the sizes of what it is called with. */
void bind_inputs(const Graph *fn, Map *dims, size_t n, const Shape *in);

/* ---- loops.c ---- */
const Poly *value_of_leaf(Arena *a, const Graph *g, Var v, const Map *dims,
                          bool symbols);
/* Of the only output of an Apply, from what is known of its inputs. */
const Poly *value_of_result(Arena *a, const Graph *g, ApplyId id, const Shape *in);
/* A step of a loop: the shapes of the inputs of its body, and how many steps there are
 * (at most, if it may end early; NULL: can't be told). */
typedef struct LoopStep {
    const Graph *fn;
    size_t nin;
    Shape *in;
    const Poly *steps;
    uint64_t rings; /* bytes of rows that are kept beside the results */
} LoopStep;
LoopStep loop_step(Arena *a, const Costed *c);

/* ---- what is collected ---- */
typedef struct Amount { /* v + sym, and `unknown` parts that can't be told */
    double v;
    const Poly *sym; /* NULL: none */
    uint64_t unknown;
} Amount;
void amount_add(Arena *a, Amount *x, const Poly *p);
void amount_sum(Arena *a, Amount *x, const Amount *y);

typedef struct Rec { /* an Apply of the graph or of a function */
    uint64_t calls;
    double now_s;  /* in this call; its own, without the function that it calls */
    double time_s; /* in the fastest call so far */
    Amount flops, math, read, written;
    uint64_t key; /* of the shapes of its last run, whose cost was: */
    double last[4];
    bool known[4];
} Rec;
typedef struct RecTable { /* of a graph: by Apply */
    const Graph *g;
    Rec *rec;
} RecTable;
typedef struct Event {
    const Graph *g;
    ApplyId id;
    double start, seconds;
    int depth;
} Event;
typedef struct Called { /* a function and the sizes that it is called with */
    const Graph *fn;
    uint64_t site; /* each loop has a machine of its own; 0: a call */
    uint64_t more; /* bytes beside the function's own */
    size_t ndim;
    const DimValue *dim;
} Called;
typedef struct CompileFrame { /* an Apply that runs */
    double start, inner;
    bool skipped;
} CompileFrame;
typedef struct Row {
    const Graph *g;
    ApplyId id;
    Sym name, cls, op, rule;
    uint64_t applies;
    double calls, time_s;
    Amount flops, math, read, written;
} Row;
typedef struct Rows {
    Row *p;
    size_t n, cap;
} Rows;

struct Profile {
    Session *s;
    const Plan *plan;
    PlanOptions how;
    const Graph *g;
    Arena *a;   /* of the whole profile */
    Arena *tmp; /* of one cost */
    Costing costing;
    Map table; /* graph to RecTable number */
    Vec(RecTable) tables;
    const Graph *last_g;
    Rec *last_rec;
    Vec(DimValue) dims; /* given, then learned */
    int64_t *bytes;     /* by variable of g: seen while running, -1 */
    Vec(CompileFrame) frames;
    Vec(Event) events; /* of the last watched call */
    Vec(double) calls; /* seconds */
    Vec(Called) called;
    Map called_keys;
    uint64_t watched, visits;
    double fastest; /* of the watched calls: sum of the instructions' times */
    bool is_static;
    Rows rows;
    Amount total[PF_N];
    bool has[PF_N];
    Map printers;
};
Rec *rec_of(Profile *p, const Graph *g, ApplyId id);
bool dim_known(const Profile *p, Sym name, int64_t *v);

/* ---- rows.c ---- */
void rows_make(Profile *p);
/* Groups by class, op or rule; sorted, to be freed by the caller. */
Rows rows_by(Profile *p, ProfileBy by, ProfileSort sort);
double amount_key(const Amount *x); /* an order, also of symbols */
Amount row_bytes(const Profile *p, const Row *r);
Sym row_name(Profile *p, const Row *r);
double row_weight(const Profile *p, const Row *r); /* time, or flops of static ones */
const char *by_name(ProfileBy by);

/* ---- functions.c: what functions hold while the graph runs ---- */
void called_add(Profile *p, const Graph *fn, size_t nin, const Shape *in);
void called_add_loop(Profile *p, const Costed *c, const LoopStep *l);
PlanMemory called_memory(Profile *p);

/* ---- memory.c ---- */
typedef struct Live { /* what is alive at one instruction */
    double bytes;
    uint32_t made; /* stores that begin */
} Live;
typedef struct Store {
    uint32_t born, dies;
    int64_t bytes; /* -1: not known */
    Var first;
} Store;
typedef struct Timeline {
    size_t nstep, nstore;
    Live *live;
    Store *store;
    uint32_t peak_at;
    uint64_t unknown;
} Timeline;
Timeline timeline_new(const Profile *p, Arena *a);
int64_t var_bytes(const Profile *p, Var v);
/* "c", "i" or "v" for each output. */
void step_codes(const Profile *p, const Map *vars, const PlanStep *st, Str *out);
Map plan_var_map(const Profile *p);
uint64_t step_bytes(const Profile *p, const PlanStep *st, bool *unknown);

/* ---- reports ---- */
const char *field_name(ProfileField f);
bool field_is_worse(ProfileField f);
bool field_number(const Profile *p, ProfileField f, double *v);
void number_json(double v, Str *out);
void amount_json(const Profile *p, const Amount *x, Str *out);
void amount_text(const Profile *p, const Amount *x, const char *unit, Str *out);
void count_text(double v, const char *unit, Str *out);
void time_text(double s, Str *out);

typedef struct Compared {
    bool has[PF_N];
    double v[PF_N];
} Compared;
bool compare_read(Session *s, const char *path, Compared *c);
bool compare_verdict(const Profile *p, const Compared *c, double limit);
void compare_text(const Profile *p, const Compared *c, Str *out);
void compare_json(const Profile *p, const Compared *c, Str *out);

void report_text(Profile *p, const ReportOptions *how, const Compared *c, Str *out);
void report_json(Profile *p, const ReportOptions *how, const Compared *c, Str *out);
void report_tsv(Profile *p, const ReportOptions *how, Str *out);
void report_trace(Profile *p, Str *out);
void report_folded(Profile *p, Str *out);
void report_svg(Profile *p, Str *out);
void report_dot(Profile *p, Str *out);

#endif
