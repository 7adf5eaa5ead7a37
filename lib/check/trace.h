/* Traces of runs: a digest of each value, in a file, and a run compared with such a
 * file value by value, also within functions and steps of loops. A value is known by
 * its name; one without a name by the expression that computes it from named ones, so
 * that it is found again in a graph that was rewritten, or read by another version. */
#ifndef CHECK_TRACE_H
#define CHECK_TRACE_H

#include "vm/vm.h"

/* What a trace keeps of a value: of complex numbers both parts count, of infinite ones
 * and nans the number; min and max are without nans, mean and the rest without
 * infinite ones too. */
typedef struct Digest {
    uint64_t hash; /* of the bytes of the elements in C order */
    double min, max, mean, rms;
    double mix; /* mean with weights that depend on the place: tells elements that
                 * changed places */
    uint32_t nans, infs; /* UINT32_MAX: so many or more */
} Digest;
enum { DIGEST_BLOCK = 256 };
struct DigestSums;
struct DigestHash;
typedef struct Digester {
    struct Pool *pool; /* for large tensors; NULL: one thread */
    double weight[DIGEST_BLOCK];
    bool (*loop)(struct DigestSums *q, const double *x, const double *weight, size_t n);
    void (*hash)(struct DigestHash *h, const void *p, size_t stripes);
    bool (*both)(struct DigestSums *q, struct DigestHash *h, const double *x,
                 const double *weight, size_t n);
} Digester;
void digester_init(Digester *d, Session *s, unsigned threads); /* as PlanOptions */
Digest tensor_digest(const Digester *d, const Tensor *t);

/* ---- files ---- */
enum { TRACE_VERSION = 2, TRACE_SAMPLES_MAX = 1 << 16, TRACE_RECORD = 64 };
typedef struct TraceRecord {
    uint32_t name, layout; /* numbers in the file's tables */
    Digest d;
    const unsigned char *sample; /* read: this many float64 of the file, little-endian;
                                  * written: of the machine */
} TraceRecord;
typedef struct TraceLayout {
    DType dtype;
    int ndim;
    int64_t shape[MAX_NDIM];
} TraceLayout;

typedef struct TraceWriter TraceWriter;
/* One run of a function within a call: a step of a loop, or a call of the function. */
typedef struct TraceFrame {
    uint32_t id, parent; /* from 1; the parent's is less; 0: the call itself */
    uint32_t label, fn;  /* names of the Apply that runs the function, and of that */
    int64_t step;        /* -1: it is no loop's */
} TraceFrame;
TraceWriter *trace_writer_open(Session *s, const char *path, uint32_t samples);
uint32_t trace_writer_name(TraceWriter *w, const char *p, size_t n); /* its number */
uint32_t trace_writer_layout(TraceWriter *w, const Tensor *t);
bool trace_writer_has(const TraceWriter *w, uint32_t layout, const Tensor *t);
/* To the call, or to the frame entered last. */
void trace_writer_add(TraceWriter *w, const TraceRecord *r);
/* The parent is the frame entered before, and not left. Ids count within the call. */
void trace_writer_enter(TraceWriter *w, uint32_t label, uint32_t fn, int64_t step);
bool trace_writer_leave(TraceWriter *w);
bool trace_writer_call(TraceWriter *w);   /* writes what was added since the last one */
bool trace_writer_commit(TraceWriter *w); /* frees it */
void trace_writer_abort(TraceWriter *w);  /* NULL is allowed */

typedef struct TraceFile TraceFile;
/* NULL: diagnosed. Nothing in the file is trusted: whatever it holds, the functions
 * below stay within it. */
TraceFile *trace_file_open(Session *s, const char *path);
void trace_file_close(TraceFile *f); /* NULL is allowed */
uint32_t trace_file_samples(const TraceFile *f);
size_t trace_file_calls(const TraceFile *f);
/* Records of a call or a frame. */
typedef struct TraceBatch {
    const unsigned char *p;
    size_t n;
} TraceBatch;
TraceBatch trace_file_call(const TraceFile *f, size_t call);
size_t trace_file_frames(const TraceFile *f, size_t call);
TraceFrame trace_file_frame(const TraceFile *f, size_t call, size_t i, TraceBatch *b);
TraceRecord trace_file_record(const TraceFile *f, const TraceBatch *b, size_t i);
size_t trace_file_names(const TraceFile *f);
Sym trace_file_name(const TraceFile *f, uint32_t name);
const TraceLayout *trace_file_layout(const TraceFile *f, uint32_t layout);
double trace_sample(const TraceRecord *r, size_t i); /* of a record that was read */

/* ---- runs ---- */
typedef struct TraceSpec {
    const char *path;
    bool against;      /* compare with the file instead of writing it */
    uint32_t samples;  /* written: elements to keep of each value */
    double rtol, atol; /* negative: the dtype's */
    unsigned threads;  /* as of the plan */
} TraceSpec;
typedef struct Trace Trace;
/* Of runs of `ran`, a graph without fused functions. NULL: diagnosed. */
Trace *trace_open(const Graph *ran, const TraceSpec *spec);
void trace_close(Trace *t); /* NULL is allowed; a file that isn't complete goes */
VmHooks trace_hooks(Trace *t);
/* Around each call of the machine. A difference from the trace is E_VERDICT. */
bool trace_begin(Trace *t, Machine *m); /* false: diagnosed */
bool trace_end(Trace *t);               /* false: diagnosed */
/* After the last call: completes the file, or says what wasn't compared. */
bool trace_finish(Trace *t);

#endif
