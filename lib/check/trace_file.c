/* Files of traces, all numbers little-endian:
 *
 *     "tltrace\n", u32 version, u32 samples, then sections:
 *     u32 tag, u32 0, u64 bytes, and as many bytes:
 *         NAME  u32 length and text, of each name that records use from here on
 *         LAYO  u32 dtype, u32 rank, i64 for each dim: the same for layouts
 *         STEP  a frame of the CALL that follows: u32 id, parent, label, function, i64
 *               step, and records as in CALL
 *         CALL  records of 64 bytes, each with `samples` float64 behind it
 *         END   u64 xxh64 of everything before; nothing follows
 *
 * Sections of other tags are skipped. */
#include "base/map.h"
#include "check/trace.h"
#include "os/file.h"

#include <string.h>

static const char magic[] = "tltrace\n";
enum { MAGIC = 8, HEAD = MAGIC + 8, SECTION = 16, FOOT = SECTION + 8, FRAME = 24 };
enum { AT_ONCE = 1 << 18 }; /* bytes of frames that wait to be written */
#define TAG(a, b, c, d)                                                                \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
static const uint32_t TAG_NAME = TAG('N', 'A', 'M', 'E'),
                      TAG_LAYOUT = TAG('L', 'A', 'Y', 'O'),
                      TAG_STEP = TAG('S', 'T', 'E', 'P'),
                      TAG_CALL = TAG('C', 'A', 'L', 'L'),
                      TAG_END = TAG('E', 'N', 'D', ' ');

/* ---- numbers ---- */
static void put_number(Str *b, uint64_t v, int bytes) {
    char p[8];
    for (int i = 0; i < bytes; i++)
        p[i] = (char)(v >> 8 * i & 0xFF);
    str_add(b, p, (size_t)bytes);
}
static void put_f64(Str *b, double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    put_number(b, bits, 8);
}
static uint64_t number_at(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}
static double f64_at(const unsigned char *p) {
    uint64_t bits = number_at(p, 8);
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* ---- writing ---- */
typedef struct OpenFrame {
    TraceFrame f;
    Str records;
} OpenFrame;
struct TraceWriter {
    Session *s;
    Writer *out;
    Xxh64 hash;
    uint32_t samples, nname, nlayout;
    Str name, layout, step, call; /* what isn't written so far */
    Vec(OpenFrame) open;          /* as many as there were at once */
    size_t depth;                 /* of these, so many are open */
    uint32_t nframe;              /* of this call */
    Index layout_of;
    Vec(TraceLayout) layouts;
};

static bool write_bytes(TraceWriter *w, const Str *b) {
    hash_xxh64_add(&w->hash, str_text(b), b->n);
    return writer_add(w->out, str_text(b), b->n);
}

static bool write_section(TraceWriter *w, uint32_t tag, Str *b) {
    Str head = STR(w->s);
    put_number(&head, tag, 8);
    put_number(&head, b->n, 8);
    bool ok = write_bytes(w, &head) && write_bytes(w, b);
    str_free(&head);
    str_clear(b);
    return ok;
}

TraceWriter *trace_writer_open(Session *s, const char *path, uint32_t samples) {
    Writer *out = writer_open(s, path);
    if (!out) return NULL;
    TraceWriter *w = mem_zalloc(s, 1, sizeof *w);
    *w = (TraceWriter){.s = s,
                       .out = out,
                       .samples = samples,
                       .name = STR(s),
                       .layout = STR(s),
                       .step = STR(s),
                       .call = STR(s),
                       .layout_of = INDEX(s)};
    hash_xxh64_init(&w->hash, 0);
    Str head = STR(s);
    str_add(&head, magic, MAGIC);
    put_number(&head, TRACE_VERSION, 4);
    put_number(&head, samples, 4);
    write_bytes(w, &head);
    str_free(&head);
    return w;
}

uint32_t trace_writer_name(TraceWriter *w, const char *p, size_t n) {
    put_number(&w->name, n, 4);
    str_add(&w->name, p, n);
    return w->nname++;
}

bool trace_writer_has(const TraceWriter *w, uint32_t layout, const Tensor *t) {
    const TraceLayout *l = &w->layouts.p[layout];
    bool same = l->dtype == t->dtype && l->ndim == t->ndim;
    for (int k = 0; same && k < l->ndim; k++)
        same = l->shape[k] == t->shape[k];
    return same;
}

typedef struct Wanted {
    const TraceWriter *w;
    const Tensor *t;
} Wanted;

static bool is_layout(const void *ctx, uint32_t id) {
    const Wanted *q = ctx;
    return trace_writer_has(q->w, id, q->t);
}

uint32_t trace_writer_layout(TraceWriter *w, const Tensor *t) {
    uint64_t h =
        hash_bytes(t->shape, sizeof *t->shape * (size_t)t->ndim, (uint64_t)t->dtype);
    h = hash_mix(h, (uint64_t)t->ndim);
    uint32_t id = index_find(&w->layout_of, h, is_layout, &(Wanted){w, t});
    if (id != UINT32_MAX) return id;
    TraceLayout l = {.dtype = t->dtype, .ndim = t->ndim};
    memcpy(l.shape, t->shape, sizeof *t->shape * (size_t)t->ndim);
    vec_push(w->s, &w->layouts, l);
    index_add(&w->layout_of, h, w->nlayout);
    put_number(&w->layout, (uint64_t)t->dtype, 4);
    put_number(&w->layout, (uint64_t)t->ndim, 4);
    for (int k = 0; k < t->ndim; k++)
        put_number(&w->layout, (uint64_t)t->shape[k], 8);
    return w->nlayout++;
}

/* A number in a record: as bytes of one order, whatever the machine's. */
static unsigned char *put_bytes(unsigned char *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        *p++ = (unsigned char)(v >> 8 * i & 0xFF);
    return p;
}

static unsigned char *put_double(unsigned char *p, double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return put_bytes(p, bits, 8);
}

void trace_writer_add(TraceWriter *w, const TraceRecord *r) {
    Str *to = w->depth ? &w->open.p[w->depth - 1].records : &w->call;
    unsigned char record[TRACE_RECORD], *p = record;
    p = put_bytes(p, r->name, 4);
    p = put_bytes(p, r->layout, 4);
    p = put_bytes(p, r->d.hash, 8);
    p = put_double(p, r->d.min);
    p = put_double(p, r->d.max);
    p = put_double(p, r->d.mean);
    p = put_double(p, r->d.rms);
    p = put_double(p, r->d.mix);
    p = put_bytes(p, r->d.nans, 4);
    put_bytes(p, r->d.infs, 4);
    str_add(to, (const char *)record, sizeof record);
    for (uint32_t i = 0; i < w->samples; i++) {
        double x;
        memcpy(&x, r->sample + sizeof x * i, sizeof x);
        put_f64(to, x);
    }
}

static bool write_names(TraceWriter *w) {
    return (!w->name.n || write_section(w, TAG_NAME, &w->name)) &&
           (!w->layout.n || write_section(w, TAG_LAYOUT, &w->layout));
}

/* Frames that are left, in sections already. */
static bool write_frames(TraceWriter *w) {
    if (!write_names(w) || !write_bytes(w, &w->step)) return false;
    str_clear(&w->step);
    return true;
}

void trace_writer_enter(TraceWriter *w, uint32_t label, uint32_t fn, int64_t step) {
    uint32_t parent = w->depth ? w->open.p[w->depth - 1].f.id : 0;
    if (w->depth == w->open.n)
        vec_push(w->s, &w->open, ((OpenFrame){.records = STR(w->s)}));
    w->open.p[w->depth++].f = (TraceFrame){++w->nframe, parent, label, fn, step};
}

bool trace_writer_leave(TraceWriter *w) {
    OpenFrame *o = &w->open.p[--w->depth];
    put_number(&w->step, TAG_STEP, 8);
    put_number(&w->step, FRAME + o->records.n, 8);
    put_number(&w->step, o->f.id, 4);
    put_number(&w->step, o->f.parent, 4);
    put_number(&w->step, o->f.label, 4);
    put_number(&w->step, o->f.fn, 4);
    put_number(&w->step, (uint64_t)o->f.step, 8);
    str_add(&w->step, str_text(&o->records), o->records.n);
    str_clear(&o->records);
    return w->step.n < AT_ONCE || write_frames(w);
}

bool trace_writer_call(TraceWriter *w) {
    w->nframe = 0;
    return write_frames(w) && write_section(w, TAG_CALL, &w->call);
}

static void free_writer(TraceWriter *w) {
    str_free(&w->name);
    str_free(&w->layout);
    str_free(&w->step);
    str_free(&w->call);
    for (size_t i = 0; i < w->open.n; i++)
        str_free(&w->open.p[i].records);
    vec_free(&w->open);
    index_free(&w->layout_of);
    vec_free(&w->layouts);
    mem_free(w);
}

bool trace_writer_commit(TraceWriter *w) {
    Str end = STR(w->s);
    put_number(&end, hash_xxh64_end(&w->hash), 8);
    write_section(w, TAG_END, &end);
    str_free(&end);
    bool ok = writer_commit(w->out);
    free_writer(w);
    return ok;
}

void trace_writer_abort(TraceWriter *w) {
    if (!w) return;
    writer_abort(w->out);
    free_writer(w);
}

/* ---- reading ---- */
typedef struct FrameRead {
    TraceFrame f;
    TraceBatch records;
} FrameRead;
typedef struct TraceCall {
    TraceBatch records;
    size_t frame, nframe; /* in TraceFile.frame */
} TraceCall;
struct TraceFile {
    Session *s;
    const char *path;
    FileData data;
    uint32_t samples;
    size_t record; /* bytes of one, with its samples */
    Vec(Sym) name;
    Vec(TraceLayout) layout;
    Vec(TraceCall) call;
    Vec(FrameRead) frame; /* of all calls, and of none yet from `frames` on */
    size_t frames;
};

static bool fail_format(const TraceFile *f, const char *what) {
    return fail(f->s, NOWHERE, E_FORMAT, "%s: %s", f->path, what);
}

static bool read_names(TraceFile *f, const unsigned char *p, size_t n) {
    while (n > 0) {
        size_t len = n < 4 ? SIZE_MAX : (size_t)number_at(p, 4);
        if (n < 4 || len > n - 4 || !str_is_plain((const char *)p + 4, len))
            return fail_format(f, "a name in the trace is malformed");
        vec_push(f->s, &f->name, sym_n(f->s, (const char *)p + 4, len));
        p += 4 + len;
        n -= 4 + len;
    }
    return true;
}

static bool read_layouts(TraceFile *f, const unsigned char *p, size_t n) {
    while (n > 0) {
        uint64_t dtype = n < 8 ? DT_N : number_at(p, 4);
        uint64_t ndim = n < 8 ? MAX_NDIM + 1 : number_at(p + 4, 4);
        if (dtype >= DT_N || ndim > MAX_NDIM || (n - 8) / 8 < ndim)
            return fail_format(f, "a layout in the trace is malformed");
        TraceLayout t = {.dtype = (DType)dtype, .ndim = (int)ndim};
        for (size_t k = 0; k < ndim; k++) {
            t.shape[k] = (int64_t)number_at(p + 8 + 8 * k, 8);
            if (t.shape[k] < 0) return fail_format(f, "a dim is negative");
        }
        vec_push(f->s, &f->layout, t);
        p += 8 + 8 * ndim;
        n -= 8 + 8 * (size_t)ndim;
    }
    return true;
}

static bool read_records(TraceFile *f, const unsigned char *p, size_t n,
                         TraceBatch *b) {
    if (n % f->record) return fail_format(f, "a call ends within a record");
    for (size_t at = 0; at < n; at += f->record)
        if (number_at(p + at, 4) >= f->name.n ||
            number_at(p + at + 4, 4) >= f->layout.n)
            return fail_format(f, "a record uses a name or layout that isn't there");
    *b = (TraceBatch){p, n / f->record};
    return true;
}

static bool read_call(TraceFile *f, const unsigned char *p, size_t n) {
    TraceCall c = {.frame = f->frames, .nframe = f->frame.n - f->frames};
    f->frames = f->frame.n;
    if (!read_records(f, p, n, &c.records)) return false;
    vec_push(f->s, &f->call, c);
    return true;
}

static bool read_frame(TraceFile *f, const unsigned char *p, size_t n) {
    if (n < FRAME) return fail_format(f, "a step in the trace is malformed");
    FrameRead r = {.f = {.id = (uint32_t)number_at(p, 4),
                         .parent = (uint32_t)number_at(p + 4, 4),
                         .label = (uint32_t)number_at(p + 8, 4),
                         .fn = (uint32_t)number_at(p + 12, 4),
                         .step = (int64_t)number_at(p + 16, 8)}};
    if (r.f.parent >= r.f.id || r.f.label >= f->name.n || r.f.fn >= f->name.n)
        return fail_format(f, "a step in the trace is malformed");
    if (!read_records(f, p + FRAME, n - FRAME, &r.records)) return false;
    vec_push(f->s, &f->frame, r);
    return true;
}

static bool read_section(TraceFile *f, uint64_t tag, const unsigned char *p, size_t n) {
    if (tag == TAG_NAME) return read_names(f, p, n);
    if (tag == TAG_LAYOUT) return read_layouts(f, p, n);
    if (tag == TAG_STEP) return read_frame(f, p, n);
    return tag != TAG_CALL || read_call(f, p, n);
}

static bool read_sections(TraceFile *f, const unsigned char *p, size_t n) {
    while (n > 0) {
        uint64_t len = n < SECTION ? 0 : number_at(p + 8, 8);
        if (n < SECTION || len > n - SECTION)
            return fail_format(f, "a section is longer than the file");
        if (!read_section(f, number_at(p, 8), p + SECTION, (size_t)len)) return false;
        p += SECTION + len;
        n -= SECTION + (size_t)len;
    }
    return true;
}

static bool read_trace(TraceFile *f) {
    const unsigned char *p = f->data.p;
    size_t n = f->data.n;
    if (n < MAGIC || memcmp(p, magic, MAGIC) != 0)
        return fail_format(f, "this is no trace of a run");
    if (n < HEAD) return fail(f->s, NOWHERE, E_TRUNCATED, "%s ends too early", f->path);
    if (number_at(p + MAGIC, 4) != TRACE_VERSION) {
        fail(f->s, NOWHERE, E_VERSION, "%s: version %llu of traces; this reads %d",
             f->path, (unsigned long long)number_at(p + MAGIC, 4), TRACE_VERSION);
        return note(f->s, NOWHERE, "write it again by this version");
    }
    f->samples = (uint32_t)number_at(p + MAGIC + 4, 4);
    if (f->samples > TRACE_SAMPLES_MAX) return fail_format(f, "too many samples");
    f->record = TRACE_RECORD + 8 * (size_t)f->samples;
    const unsigned char *end = n < HEAD + FOOT ? p : p + n - FOOT;
    if (end == p || number_at(end, 8) != TAG_END || number_at(end + 8, 8) != 8)
        return fail(f->s, NOWHERE, E_TRUNCATED, "%s ends too early", f->path);
    Xxh64 h;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, p, n - FOOT);
    if (hash_xxh64_end(&h) != number_at(end + SECTION, 8))
        return fail(f->s, NOWHERE, E_CHECKSUM, "%s was changed since it was written",
                    f->path);
    return read_sections(f, p + HEAD, n - HEAD - FOOT);
}

TraceFile *trace_file_open(Session *s, const char *path) {
    FileData data;
    if (!file_read(s, path, 0, &data)) return NULL;
    TraceFile *f = mem_zalloc(s, 1, sizeof *f);
    f->s = s;
    f->path = path;
    f->data = data;
    if (read_trace(f)) return f;
    trace_file_close(f);
    return NULL;
}

void trace_file_close(TraceFile *f) {
    if (!f) return;
    vec_free(&f->name);
    vec_free(&f->layout);
    vec_free(&f->call);
    vec_free(&f->frame);
    file_close(&f->data);
    mem_free(f);
}

uint32_t trace_file_samples(const TraceFile *f) {
    return f->samples;
}
size_t trace_file_calls(const TraceFile *f) {
    return f->call.n;
}
TraceBatch trace_file_call(const TraceFile *f, size_t call) {
    return f->call.p[call].records;
}
size_t trace_file_frames(const TraceFile *f, size_t call) {
    return f->call.p[call].nframe;
}
TraceFrame trace_file_frame(const TraceFile *f, size_t call, size_t i, TraceBatch *b) {
    const FrameRead *r = &f->frame.p[f->call.p[call].frame + i];
    *b = r->records;
    return r->f;
}
size_t trace_file_names(const TraceFile *f) {
    return f->name.n;
}
Sym trace_file_name(const TraceFile *f, uint32_t name) {
    return f->name.p[name];
}
const TraceLayout *trace_file_layout(const TraceFile *f, uint32_t layout) {
    return &f->layout.p[layout];
}

TraceRecord trace_file_record(const TraceFile *f, const TraceBatch *b, size_t i) {
    const unsigned char *p = b->p + i * f->record;
    return (TraceRecord){.name = (uint32_t)number_at(p, 4),
                         .layout = (uint32_t)number_at(p + 4, 4),
                         .d = {.hash = number_at(p + 8, 8),
                               .min = f64_at(p + 16),
                               .max = f64_at(p + 24),
                               .mean = f64_at(p + 32),
                               .rms = f64_at(p + 40),
                               .mix = f64_at(p + 48),
                               .nans = (uint32_t)number_at(p + 56, 4),
                               .infs = (uint32_t)number_at(p + 60, 4)},
                         .sample = p + TRACE_RECORD};
}

double trace_sample(const TraceRecord *r, size_t i) {
    return f64_at(r->sample + 8 * i);
}
