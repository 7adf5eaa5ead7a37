/* Shared by the files of lib/prof. */
#ifndef PROF_PROF_IMPL_H
#define PROF_PROF_IMPL_H

#include "format/json.h"
#include "lang/formula/formula.h"
#include "lang/print/print.h"
#include "op/ranks.h"
#include "page/page.h"
#include "prof/prof.h"

/* ---- cost.c: the cost of one run of an Apply ---- */
typedef struct Shape {
    bool is_tensor;
    DType dtype;
    int ndim;
    const Poly *const *dim;
    const Poly *value; /* value of a 0-d result if it follows from sizes; else NULL */
} Shape;
typedef struct Cost {
    const Poly *flops, *math, *read, *written; /* NULL: unknown */
} Cost;
typedef struct Costing {
    Session *s;
    Arena *keep;          /* parsed formulas */
    Map parsed, negative; /* by the formula's address */
} Costing;
typedef struct Costed {
    const Graph *g;
    ApplyId id;
    size_t nin, nout;
    const Shape *in, *out;
    const bool *view; /* by output: it shares memory with its input */
    bool in_place;    /* output 0 overwrites input 0 */
} Costed;
Cost cost_apply(Costing *k, Arena *a, const Costed *c);
const Poly *cost_bytes_in(Arena *a, const Costed *c); /* of all inputs */
/* For a fused group: the flops of its inner ops, the bytes of its inputs and
 * outputs. */
Cost cost_fused(Costing *k, Arena *a, const Graph *fn, const Costed *c);
const Poly *bytes_of_shape(Arena *a, const Shape *h); /* NULL: unknown */
Shape shape_of_type(Arena *a, const Type *t, const Map *dims, bool symbols);
Shape shape_of_tensor(Arena *a, const Tensor *t);
/* Completes an elementwise result's shape where its type leaves it open. */
Shape shape_of_result(Arena *a, const Op *op, Shape typed, size_t nin, const Shape *in);

/* The shapes of all variables of a graph in terms of dims, for a function also of its
 * inputs' shapes. */
Shape *cost_shapes(Arena *a, const Graph *g, const Map *dims, bool symbols, size_t nin,
                   const Shape *in);
/* Binds the dims of a function's inputs to the sizes of its arguments. */
void bind_inputs(const Graph *fn, Map *dims, size_t n, const Shape *in);

/* ---- loops.c ---- */
const Poly *value_of_leaf(Arena *a, const Graph *g, Var v, const Map *dims,
                          bool symbols);
/* The value of an Apply's only output, from its inputs' values. */
const Poly *value_of_result(Arena *a, const Graph *g, ApplyId id, const Shape *in);
/* A step of a loop: the shapes of the body's inputs, and the number of steps (an upper
 * bound if it may end early; NULL: unknown). */
typedef struct LoopStep {
    const Graph *fn;
    size_t nin;
    Shape *in;
    const Poly *steps;
    const Poly *rings; /* bytes of rows kept besides the results, as far as known */
    size_t nstate; /* those of them that only need rings if they can't be computed in
                    * place */
    const ScanState *state;
    const Poly **ring; /* by state */
} LoopStep;
LoopStep loop_step(Arena *a, const Costed *c);

/* ---- collected data ---- */
typedef struct Amount { /* v + sym, plus `unknown` parts of unknown size */
    double v;
    const Poly *sym; /* NULL: none */
    uint64_t unknown;
    const char *text; /* what there is no single polynomial for; NULL: the above */
} Amount;
void amount_add(Arena *a, Amount *x, const Poly *p);
void amount_sum(Arena *a, Amount *x, const Amount *y);

typedef struct Rec { /* an Apply of the graph or of a function */
    uint64_t calls;
    double now_s;  /* in this call; without the time of the function that it calls */
    double time_s; /* in the fastest call so far */
    Amount flops, math, read, written;
    uint64_t key; /* hash of the shapes of its last run, which had this cost: */
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
typedef struct Called { /* a function with the sizes of its arguments */
    const Graph *fn;
    uint64_t site; /* each loop has its own machine; 0: a call */
    uint64_t more; /* bytes in addition to the function's own */
    bool by_rows;  /* its results are written where the caller has them */
    size_t ndim;
    const DimValue *dim;
    size_t nin; /* static profiles: the arguments' shapes, and `more` */
    const Shape *in;
    const Poly *rings;
    size_t nstate; /* of a loop, as LoopStep has them */
    const ScanState *state;
    const Poly **ring;
} Called;
/* Bytes of rings that the plan of a loop's body does without. */
const Poly *called_spares(Arena *a, const Called *c, const Plan *plan);
typedef struct OpenApply { /* a running Apply */
    double start, inner;
    bool skipped, sharded; /* sharded: each_shard, or what it runs */
} OpenApply;
/* Exchanges of one Apply, of one size. */
typedef struct Exchanged {
    const Graph *g;
    ApplyId id;
    double bytes; /* NAN: unknown */
    double times; /* in all calls that were observed */
} Exchanged;
typedef struct Row {
    const Graph *g;
    ApplyId id;
    Sym name, cls, op, rule;
    uint64_t applies;
    double calls, time_s;
    Amount flops, math, read, written;
    double roof_s; /* at the machine's peaks; for a roofline only */
} Row;
typedef struct Rows {
    Row *p;
    size_t n, cap;
} Rows;

typedef struct Holder { /* storage that is alive at the peak */
    Var var;            /* the value in it; VAR_NONE: that of a function */
    Sym function;       /* its name */
    double bytes;
} Holder;

struct Profile {
    Session *s;
    const Plan *plan;
    PlanOptions how;
    const Graph *g;
    Arena *a;   /* for the whole profile */
    Arena *tmp; /* for one cost */
    Costing costing;
    Map table; /* graph to RecTable number */
    Vec(RecTable) tables;
    const Graph *last_g;
    Rec *last_rec;
    Vec(Sym) drawn;     /* inputs with random values */
    Vec(DimValue) dims; /* given ones, then learned ones */
    int64_t *bytes;     /* by variable of g: as observed at run time, -1: not */
    Vec(OpenApply) frames;
    Vec(Event) events; /* of the last profiled call */
    Vec(double) calls; /* seconds */
    Vec(Called) called;
    Map called_keys;
    uint64_t watched, visits;
    double fastest; /* sum of the instructions' times, over profiled calls */
    bool is_static;
    Shape *block;       /* of the arguments of the call just looked at, if it is by rows
                         * and has several blocks; else NULL */
    bool costs_only;    /* while all rows of such a call are walked */
    bool plans_only;    /* and one block of them */
    bool whole_rows;    /* a call by rows is planned for all of them: sizes are open */
    const Shape *shape; /* by variable, of a static profile; NULL */
    Rows rows;
    Peaks peaks;
    Amount total[PF_N];
    bool has[PF_N];
    Map printers, in_place, prefixes; /* by graph */
    Map loops;                        /* by body: its place in `loop` */
    bool has_loops;                   /* they are filled in */
    Vec(PlanOptions) loop;            /* states of bodies */
    Vec(Holder) functions;            /* what functions hold between calls */
    Vec(Exchanged) exchanged;
    unsigned ranks; /* to predict for; 0: nobody asks */
    RankLink link;
    double shards_now_s, shards_s; /* in each_shard: in this call, in the fastest */
};
Rec *rec_of(Profile *p, const Graph *g, ApplyId id);
bool dim_known(const Profile *p, Sym name, int64_t *v);

/* ---- ranks.c ---- */
bool ranks_is_sharded(const Profile *p, const Graph *g, ApplyId id);
/* Notes an exchange that ran so often, if the Apply is one; its inputs' sizes in bytes
 * together, NAN: unknown. */
bool ranks_exchanges(const Graph *g, ApplyId id);
void ranks_note(Profile *p, const Graph *g, ApplyId id, double bytes, double times);
/* Of a step of each_shard. */
LoopStep shard_step(Arena *a, const Costed *c);
/* What a call costs with n ranks; NAN: unknown. */
typedef struct Scaled {
    unsigned ranks;
    RankCost comm;
    double time_s, weak_time_s; /* NAN: static */
} Scaled;
Scaled ranks_scaled(const Profile *p, unsigned n);
void ranks_total(Profile *p);

/* ---- rows.c ---- */
void rows_make(Profile *p);
void rows_sort(Profile *p, Rows *rows, ProfileSort sort);
/* Groups by class, op and so on; sorted, to be freed by the caller. */
Rows rows_by(Profile *p, ProfileBy by, ProfileSort sort);
double amount_key(const Amount *x); /* sort key, also for symbolic amounts */
Amount row_bytes(const Profile *p, const Row *r);
Sym row_name(Profile *p, const Row *r);
double row_weight(const Profile *p, const Row *r); /* time, or flops of static ones */
Sym value_name(Profile *p, Var v);                 /* as in the statements of rows */
/* What the rows of the op's Applies are called: "fused(mul, add)". */
Sym op_name_of(Profile *p, const Graph *g, ApplyId id);
const char *by_name(ProfileBy by);

/* ---- functions.c: memory held by functions ---- */
void called_add(Profile *p, const Graph *fn, size_t nin, const Shape *in);
void called_add_call(Profile *p, const Costed *c, const Graph *fn); /* by its rows */
void called_plan(const Called *c, PlanOptions *how); /* as the machine plans it */
/* The same for a function by itself, which may be the body of a loop. */
void called_plan_body(Profile *p, const Graph *fn, PlanOptions *how);
void called_add_loop(Profile *p, const Costed *c, const LoopStep *l);
PlanMemory called_memory(Profile *p);
/* Calls that share storage, by their number in p->called. */
typedef struct CallGroup {
    uint32_t *call;
    size_t n;
} CallGroup;
typedef struct CallGroups {
    CallGroup *p;
    size_t n;
} CallGroups;
CallGroups called_groups(Profile *p, Arena *a);

/* ---- peak.c: static profiles with open dims ---- */
/* "max(8*n + 64, 4*n**2)": the planned peak, under changed options. NULL: unknown. */
const char *peak_text(Profile *p, const PlanOptions *change);
const Poly *leaves_poly(const Profile *p);

/* ---- memory.c ---- */
typedef struct Live { /* live storage at one instruction */
    double bytes;
    uint32_t made; /* stores that begin */
} Live;
typedef struct Store {
    uint32_t born, dies;
    int64_t bytes; /* -1: unknown */
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
typedef struct Holders {
    Holder *p;
    size_t n;
} Holders;
/* The largest first. */
Holders memory_peak_holders(Profile *p, const Timeline *t, Arena *a);
int64_t var_bytes(const Profile *p, Var v);
/* "c", "i" or "v" for each output. */
void step_codes(const Profile *p, const Map *vars, const PlanStep *st, Str *out);
Map plan_var_map(const Profile *p);
uint64_t step_bytes(const Profile *p, const PlanStep *st, bool *unknown);

/* ---- reports ---- */
const char *profile_field_name(ProfileField f);
int profile_field_find(const char *name); /* -1: there is none */
bool profile_field_is_worse(ProfileField f);
bool profile_field_number(const Profile *p, ProfileField f, double *v);
void amount_text(const Profile *p, const Amount *x, const char *unit, Str *out);
void prof_count_text(double v, const char *unit, Str *out);
void profile_time_text(double s, Str *out);

static inline double worse_limit(const ReportOptions *how) {
    return how->fail_above > 0 ? how->fail_above : 1;
}
/* ---- compare.c ---- */
enum { COMPARED_COSTS = 4 }; /* time_s, flops, math_calls, bytes */
typedef struct ComparedOp {
    Sym name;
    bool has[COMPARED_COSTS];
    double v[COMPARED_COSTS];
} ComparedOp;
typedef struct Compared { /* an earlier report */
    bool has[PF_N];
    double v[PF_N];
    Vec(ComparedOp) ops, applies;
} Compared;
bool profile_compare_read(Session *s, const char *path, Compared *c);
/* Costs of ops that grew by more than the limit got worse. */
bool profile_compare_verdict(Profile *p, const Compared *c, double limit);
void profile_compare_text(Profile *p, const Compared *c, double limit, Str *out);
void profile_compare_page(Profile *p, const Compared *c, const ReportOptions *how,
                          Page *pg);
void profile_compare_json(Profile *p, const Compared *c, double limit, JsonWriter *w);

/* ---- picture.c ---- */
/* The families that are used, by number, in rows of 7. */
void picture_class_legend(const bool *used, double left, double top, Str *out);

void report_text(Profile *p, const ReportOptions *how, const Compared *c, Str *out);
/* Dims, inputs that were drawn, totals. */
void report_put_setting(const Profile *p, JsonWriter *w);
void report_json(Profile *p, const ReportOptions *how, const Compared *c, Str *out);
void report_tsv(Profile *p, const ReportOptions *how, Str *out);
void report_trace(Profile *p, Str *out);
void report_folded(Profile *p, Str *out);
void report_svg(Profile *p, Str *out);
void report_dot(Profile *p, Str *out);
/* False: there is too much of it; diagnosed. */
bool report_page(Profile *p, const ReportOptions *how, const Compared *c, Str *out);
void report_roofline(Profile *p, const ReportOptions *how, Str *out);

#endif
