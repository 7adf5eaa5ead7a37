/* This folder reads and writes tlg, the binary form of graphs: a sequence of CBOR items
 * (schemas/graph.cddl). It knows neither text nor files: bytes come from an Input and
 * go to a Sink. Shared by its files: CBOR items, numbering and tables. */
#ifndef IO_TLG_TLG_H
#define IO_TLG_TLG_H

#include "io/io_impl.h"

/* ---- CBOR (RFC 8949), definite lengths only ---- */
enum { CB_UINT, CB_NINT, CB_BYTES, CB_TEXT, CB_ARRAY, CB_MAP, CB_TAG, CB_SIMPLE };
enum { CBOR_DEPTH = 2 * TYPE_DEPTH_MAX + 16 }; /* a list takes two levels */
void cbor_put_head(Str *b, unsigned major, uint64_t arg);
void cbor_put_int(Str *b, int64_t v);
void cbor_put_f64(Str *b, double v);
void cbor_put_bool(Str *b, bool v);
void cbor_put_null(Str *b);
void cbor_put_text_n(Str *b, const char *p,
                     size_t n); /* a byte string unless it is UTF-8 */
void cbor_put_text_head(Str *b, const char *p, size_t n); /* head of a text of n bytes;
                                                           * the caller appends them */
void cbor_put_text(Str *b, const char *text);
/* An RFC 8746 typed array of the smallest width that holds the largest of v[0..n): 1, 2
 * or 4 bytes. */
void cbor_put_column(Str *b, const uint32_t *v, size_t n);
unsigned cbor_dtype_tag(DType d); /* of a typed array; 0: there is none */
void cbor_little_endian(void *p, size_t n,
                        size_t width); /* swaps bytes on big-endian machines */

typedef struct Cbor {
    Session *s;
    const char *name;
    const unsigned char *begin, *p, *end;
} Cbor;
bool cbor_head(Cbor *c, unsigned *major, uint64_t *arg);
bool cbor_fail(const Cbor *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool cbor_truncated(const Cbor *c);
bool cbor_skip(Cbor *c);             /* one item of any kind */
bool cbor_array(Cbor *c, size_t *n); /* n items follow, and at least n bytes are left */
bool cbor_map(Cbor *c, size_t *n);
bool cbor_uint(Cbor *c, uint64_t max, uint64_t *v);
bool cbor_int(Cbor *c, int64_t *v);
bool cbor_f64(Cbor *c, double *v);
bool cbor_bool(Cbor *c, bool *v);
bool cbor_null(Cbor *c); /* true and consumed if a null is next; no diagnostic */
bool cbor_text(Cbor *c, const char **p, size_t *n);
bool cbor_key(Cbor *c, const char **p,
              size_t *n); /* rejects texts that are not UTF-8 */
bool cbor_bytes(Cbor *c, const unsigned char **p, size_t *n);
bool cbor_sym(Cbor *c, Sym *y);
unsigned cbor_major(const Cbor *c); /* of the next item; 8 at the end */
/* A typed array of unsigned numbers, pointing into the input. */
typedef struct Column {
    const unsigned char *p;
    size_t n;
    unsigned width; /* 1, 2 or 4 */
} Column;
bool cbor_column(Cbor *c, Column *out);
uint32_t column_at(const Column *c, size_t i);
/* Copies it to uint32 in the arena; checks that every number is below `limit`. */
bool column_u32(Cbor *c, const Column *col, Arena *a, uint64_t limit, const char *what,
                const uint32_t **out);

/* ---- tlg: numbers assigned by the writer, tables of the reader ---- */
enum { TLG_MAJOR = 1, TLG_MINOR = 0, TLG_CHUNK = 1 << 16, TLG_INLINE = 256 };
enum { TLG_MOST = 1 << 10 }; /* limit on the chunks reserved in advance */
/* Leaves come first in a graph's numbering: inputs, shared variables, dims,
 * constants. */
typedef enum LeafCode {
    TLG_INPUT,
    TLG_SHARED,       /* without a value so far */
    TLG_SHARED_VALUE, /* its value follows in a section `constant` */
    TLG_DIM,
    TLG_INLINE_CONST, /* bytes follow in the same section */
    TLG_CONST,        /* a section `constant` follows */
    TLG_BARE_CONST,   /* fully determined by its type: none, null */
    TLG_LEAF_CODES
} LeafCode;
typedef struct TlgProps {
    const Op *op;
    uint32_t opno;
    const Props *props;
} TlgProps;
typedef struct TlgSource {
    uint32_t source, begin, end; /* the range of lines needed */
} TlgSource;
typedef struct TlgTables {
    Session *s;
    Map op_no, props_no, source_no, rule_no; /* number + 0 of each */
    Vec(uint32_t) type_no;                   /* by type id: number + 1 */
    Vec(const Type *) types;
    Vec(const Op *) ops;
    Vec(TlgProps) props;
    Vec(TlgSource) sources;
    Vec(Sym) rules;
} TlgTables;
typedef struct Numbering {
    const Graph *g;
    Var *to;   /* by variable: its number; VAR_NONE: left out */
    Var *leaf; /* the written leaves' variables, in order */
    uint32_t nleaf;
    uint8_t *code;      /* LeafCode of each leaf */
    uint32_t *props_of; /* by Apply: the number of its op and props */
} Numbering;
typedef struct TlgWriter {
    Session *s;
    const WriteOptions *options;
    const Graph *main;
    TlgTables t;
    Str b; /* what is not in the sink so far */
    Sink *sink;
    const Numbering *n; /* of the graph that is being written */
    uint32_t from, to;  /* the chunk of it: leaves, Applies or names */
    const char *placed; /* the mapped file that was looked for last; */
    Sym placed_as;      /* its name below the written file's folder; 0: it has none */
    bool origins;       /* is the origin of an Apply of the chunk known? */
    Vec(uint32_t) col;  /* scratch */
    bool failed;
} TlgWriter;

/* The tables on the reader's side. */
typedef struct TlgOp {
    const Op *op;
    const Props *props;
    size_t min_in, max_in;
} TlgOp;
/* A recently read small constant: equal ones share its value. */
enum { TLG_RECENT = 256, TLG_SMALL = 16 };
typedef struct TlgConst {
    const Type *type; /* NULL: none yet */
    Var var;
    unsigned char bytes[TLG_SMALL];
} TlgConst;
typedef struct TlgReader {
    Session *s;
    Cbor c;
    TlgConst recent[TLG_RECENT]; /* of g */
    Input *in;
    Arena *a, *tmp; /* for the whole file; for one section */
    bool share;     /* large constants stay in the input */
    ElementUse use;
    DataFiles files; /* of constants; no folder: refused */
    size_t ntype, nop, nprops, nsource, nrule;
    const Type **type;
    const Op **op;
    TlgOp *props;
    uint32_t *source, *source_len;
    Sym *rule;
    Graph *main, *g;        /* g: the graph whose sections are being read */
    uint32_t pending;       /* announced constants still without a value */
    Vec(uint8_t) leaf_code; /* of g */
    bool closed;            /* no more leaves */
    bool header, interface;
} TlgReader;

/* ---- tlg: sections ---- */

/* A section is a map of one key, its name; what it holds is in most of them a map whose
 * fields a table describes, in the order of the file, to the reader and to the writer.
 * `at` is the place in the section's struct of the member that holds the field. */
typedef struct TlgField {
    const char *key;
    bool (*read)(TlgReader *t, void *member);        /* NULL: is skipped */
    bool (*write)(TlgWriter *w, const void *member); /* false: is left out */
    size_t at;
} TlgField;
#define TLG_FIELDS(table) sizeof(table) / sizeof *(table), table
bool tlg_read_uint(TlgReader *t, void *into);
bool tlg_write_uint(TlgWriter *w, const void *from);
bool tlg_read_sym(TlgReader *t, void *into);
bool tlg_write_sym(TlgWriter *w, const void *from);
bool tlg_read_column(TlgReader *t, void *into);
/* Fields of unknown keys are skipped; *seen: a bit for each field that was there. */
bool tlg_read_fields(TlgReader *t, size_t n, const TlgField *field, void *into,
                     unsigned *seen);
void tlg_write_section(TlgWriter *w, const char *name, size_t n, const TlgField *field,
                       const void *from);
void tlg_section(Str *b, const char *key); /* opens a section without fields */
void tlg_flush(TlgWriter *w);
bool tlg_read_text(TlgReader *t, const char **out); /* lives as long as the graph */

void tlg_write_header(TlgWriter *w);
bool tlg_read_header(TlgReader *t);
void tlg_collect_tables(TlgWriter *w, Numbering *n);
static inline uint32_t tlg_type_number(const TlgWriter *w, Var v) {
    return w->t.type_no.p[w->n->g->var[v].type->id] - 1;
}
void tlg_write_tables(TlgWriter *w);
/* Where an Apply comes from: 0, or 1 + the number of its source; the lines of it that
 * are written, none of a source that isn't, from which its bytes are counted. */
uint32_t tlg_source_number(const TlgTables *t, Span at);
TlgSource tlg_source_lines(const TlgTables *t, Span at);
static inline uint32_t tlg_place(TlgSource lines, uint32_t byte) {
    return byte > lines.end ? lines.end - lines.begin : byte - lines.begin;
}
void tlg_free_tables(TlgTables *t);
bool tlg_read_sources(TlgReader *t);
bool tlg_read_rules(TlgReader *t);
bool tlg_read_types(TlgReader *t);
bool tlg_read_ops(TlgReader *t);
bool tlg_read_props(TlgReader *t);
void tlg_write_graph(TlgWriter *w); /* how it begins */
bool tlg_read_graph(TlgReader *t);
bool tlg_graph_is_complete(const TlgReader *t);
void tlg_write_leaves(TlgWriter *w);
bool tlg_read_leaves(TlgReader *t);
Sym tlg_declared_name(const Graph *g, Var leaf);
bool tlg_write_constant(TlgWriter *w, uint32_t leaf);
bool tlg_read_constant(TlgReader *t);
/* Row-major, little-endian. False: E_MEM. */
bool tlg_file_order(Session *s, const Tensor *t, Tensor *out);
void tlg_shape_from(const Type *type, Tensor *v); /* row-major strides */
bool tlg_check_bools(TlgReader *t, DType d, const unsigned char *p, size_t n);
void tlg_write_applies(TlgWriter *w);
bool tlg_read_applies(TlgReader *t);
void tlg_write_names(TlgWriter *w);
bool tlg_read_names(TlgReader *t);
void tlg_write_interface(TlgWriter *w);
bool tlg_read_interface(TlgReader *t);
void tlg_write_end(TlgWriter *w);
bool tlg_read_end(TlgReader *t);

/* One value: [[numbers], [arrays], [items], bytes] */
bool tlg_value_read(TlgReader *t, const Type *type, Value *out);
bool tlg_value_write(Session *s, const Value *v, Str *b);
bool tlg_read_shape(TlgReader *t, int *ndim, int64_t *shape);

bool tlg_verify(Input *in); /* complete, unchanged, no abort record */
bool tlg_calls(const Graph *main,
               const char *name); /* the functions exist and are not recursive */

#endif
