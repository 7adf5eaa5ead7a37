/* Shared by the files of lib/io that read and write tlg: CBOR items, numbering and
 * tables. */
#ifndef IO_TLG_H
#define IO_TLG_H

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
    uint8_t *code; /* LeafCode of each leaf */
} Numbering;
/* props_of[napply] receives the number of each Apply's op and props. */
/* places: whether to keep the Applies' positions in texts. */
void tlg_tables_collect(TlgTables *t, const Numbering *n, bool places,
                        uint32_t *props_of);
void tlg_tables_write(TlgTables *t, Str *b, Sink *k);
void tlg_tables_free(TlgTables *t);
void tlg_applies(const Numbering *n, const TlgTables *t, const uint32_t *props_of,
                 Str *b, Sink *k);
void tlg_section(Str *b, const char *key); /* opens the map of one section */
void tlg_flush(Str *b, Sink *k);

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
typedef struct Tlg {
    Session *s;
    Cbor c;
    TlgConst recent[TLG_RECENT]; /* of g */
    Input *in;
    Arena *a, *tmp; /* for the whole file; for one section */
    bool share;     /* large constants stay in the input */
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
} Tlg;
bool tlg_verify(Input *in); /* complete, unchanged, no abort record */
bool tlg_calls(const Graph *main,
               const char *name); /* the functions exist and are not recursive */
bool tlg_types(Tlg *t);
bool tlg_ops(Tlg *t);
bool tlg_props(Tlg *t);
bool tlg_sources(Tlg *t);
bool tlg_rules(Tlg *t);
bool tlg_leaves(Tlg *t);
bool tlg_constant(Tlg *t);
/* One value: [[numbers], [arrays], [items], bytes] */
bool tlg_value_read(Tlg *t, const Type *type, Value *out);
bool tlg_value_write(Session *s, const Value *v, Str *b);
bool tlg_read_applies(Tlg *t);
/* Reads a map: `read` of the matching field is called after each key to read its value;
 * unknown keys are skipped by returning tlg_unknown. */
typedef struct TlgField {
    const char *key;
    bool (*read)(Tlg *t, void *into);
} TlgField;
bool tlg_fields(Tlg *t, size_t n, const TlgField *field, void *into, unsigned *seen);

#endif
