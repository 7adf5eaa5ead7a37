/* What the files of lib/io share: where bytes come from and go to, CBOR items, and the
 * document that YAML and JSON are both read into. */
#ifndef IO_IO_IMPL_H
#define IO_IO_IMPL_H

#include "io/io.h"

/* ---- input: all bytes of a file, unpacked; what constants point into stays alive with
 * them ---- */
typedef struct Input {
    Session *s;
    const char *name; /* for messages */
    const unsigned char *p;
    size_t n;
    Reader r;       /* the file, while p points into it */
    void *own;      /* or memory */
    Buffer *shared; /* made by input_share */
} Input;
/* From a path, or from memory when p is not NULL; zstd is undone. NULL: diagnosed. */
Input *input_open(Session *s, const char *path, const void *p, size_t n,
                  uint64_t max_bytes);
/* A buffer that keeps the bytes alive, which its users may write to (a private copy); a
 * new reference. */
Buffer *input_share(Input *in);
bool input_is_shareable(const Input *in);
void input_close(Input *in);
/* Appends the unpacked bytes of zstd frames to a new block of memory. */
bool unzstd(Session *s, const char *name, const unsigned char *p, size_t n,
            uint64_t max, unsigned char **out, size_t *nout);

/* ---- output ---- */
typedef struct Sink {
    Session *s;
    Writer *w; /* or str */
    Str *str;
    struct Zip *zip; /* compresses on the way; NULL: plain */
    uint64_t offset; /* bytes given so far */
    Xxh64 hash;      /* of them */
    bool failed;     /* and diagnosed */
} Sink;
Sink sink_open(Session *s, Writer *w, Str *str, int zstd_level);
void sink_add(Sink *k, const void *p, size_t n);
bool sink_close(Sink *k); /* true if all went well; the Writer stays open */
struct Zip *zip_new(Session *s, int level);
bool zip_add(struct Zip *z, Sink *k, const void *p, size_t n, bool end);
void zip_free(struct Zip *z);
void sink_raw(Sink *k, const void *p, size_t n); /* behind the compressor */

/* ---- CBOR (RFC 8949), definite lengths only ---- */
enum { CB_UINT, CB_NINT, CB_BYTES, CB_TEXT, CB_ARRAY, CB_MAP, CB_TAG, CB_SIMPLE };
enum { CBOR_DEPTH = 64 };
void cb_head(Str *b, unsigned major, uint64_t arg);
void cb_int(Str *b, int64_t v);
void cb_f64(Str *b, double v);
void cb_bool(Str *b, bool v);
void cb_null(Str *b);
void cb_text_n(Str *b, const char *p, size_t n); /* a byte string if it is not UTF-8 */
void cb_text(Str *b, const char *text);
/* An RFC 8746 typed array of the least width that holds the largest of v[0..n): 1, 2 or
 * 4 bytes. */
void cb_column(Str *b, const uint32_t *v, size_t n);
unsigned cb_dtype_tag(DType d); /* of a typed array; 0: it has none */
void little_endian(void *p, size_t n,
                   size_t width); /* swaps on machines that need it */

typedef struct Cbor {
    Session *s;
    const char *name;
    const unsigned char *begin, *p, *end;
} Cbor;
bool cbor_head(Cbor *c, unsigned *major, uint64_t *arg);
bool cbor_fail(const Cbor *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool cbor_truncated(const Cbor *c);
bool cbor_skip(Cbor *c); /* one item, whatever it is */
bool cbor_array(Cbor *c,
                size_t *n); /* n items follow, and n bytes at least are at hand */
bool cbor_map(Cbor *c, size_t *n);
bool cbor_uint(Cbor *c, uint64_t max, uint64_t *v);
bool cbor_int(Cbor *c, int64_t *v);
bool cbor_f64(Cbor *c, double *v);
bool cbor_bool(Cbor *c, bool *v);
bool cbor_null(Cbor *c); /* true and past it if a null is next; no diagnostic */
bool cbor_text(Cbor *c, const char **p, size_t *n);
bool cbor_key(Cbor *c, const char **p,
              size_t *n); /* a text that is none for want of UTF-8 won't do */
bool cbor_bytes(Cbor *c, const unsigned char **p, size_t *n);
bool cbor_sym(Cbor *c, Sym *y);
unsigned cbor_major(const Cbor *c); /* of the next item; 8 at the end */
/* A typed array of unsigned numbers; nothing is copied. */
typedef struct Column {
    const unsigned char *p;
    size_t n;
    unsigned width; /* 1, 2 or 4 */
} Column;
bool cbor_column(Cbor *c, Column *out);
uint32_t column_at(const Column *c, size_t i);
/* The same as uint32 in memory of the arena; checks that all are below `limit`. */
bool column_u32(Cbor *c, const Column *col, Arena *a, uint64_t limit, const char *what,
                const uint32_t **out);

/* ---- tlg: what the writer numbers and the reader looks up ---- */
enum { TLG_MAJOR = 1, TLG_MINOR = 0, TLG_CHUNK = 1 << 16, TLG_INLINE = 256 };
/* Leaves in a graph's numbering come first: inputs, shared variables, dims, constants.
 */
typedef enum LeafCode {
    TLG_INPUT,
    TLG_SHARED,       /* without a value of its own yet */
    TLG_SHARED_VALUE, /* its value follows in a section `constant` */
    TLG_DIM,
    TLG_INLINE_CONST, /* bytes stand in the same section */
    TLG_CONST,        /* a section `constant` follows */
    TLG_BARE_CONST,   /* the type says all: none, null */
    TLG_LEAF_CODES
} LeafCode;
typedef struct TlgProps {
    const Op *op;
    uint32_t opno;
    const Props *props;
} TlgProps;
typedef struct TlgSource {
    uint32_t source, begin, end; /* the lines that are needed */
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
void tables_collect(TlgTables *t, const Graph *g,
                    uint32_t *props_of); /* props_of[napply] */
void tables_write(TlgTables *t, Str *b, Sink *k);
void tables_free(TlgTables *t);
typedef struct Numbering {
    const Graph *g;
    Var *to;   /* by variable; VAR_NONE: left out */
    Var *leaf; /* variables of the leaves written, in order */
    uint32_t nleaf;
} Numbering;
void tlg_applies(const Numbering *n, const TlgTables *t, const uint32_t *props_of,
                 Str *b, Sink *k);
void tlg_section(Str *b, const char *key); /* opens the map of one section */
void tlg_flush(Str *b, Sink *k);

/* The same while reading. */
typedef struct TlgOp {
    const Op *op;
    const Props *props;
    size_t min_in, max_in;
} TlgOp;
typedef struct Tlg {
    Session *s;
    Cbor c;
    Input *in;
    Arena *a, *tmp; /* of the whole reading, of one section */
    bool share;     /* large constants stay where they are */
    size_t ntype, nop, nprops, nsource, nrule;
    const Type **type;
    const Op **op;
    TlgOp *props;
    uint32_t *source, *source_len;
    Sym *rule;
    Graph *main, *g;        /* g: the one whose sections come now */
    uint32_t pending;       /* constants announced whose values have not come */
    Vec(uint8_t) leaf_code; /* of g */
    bool closed;            /* no more leaves */
    bool header, interface;
} Tlg;
bool tlg_verify(Input *in); /* whole, unchanged, no abort record */
bool tlg_calls(
    const Graph *main,
    const char *name); /* functions exist and don't call each other in circles */
bool tlg_types(Tlg *t);
bool tlg_ops(Tlg *t);
bool tlg_props(Tlg *t);
bool tlg_sources(Tlg *t);
bool tlg_rules(Tlg *t);
bool tlg_leaves(Tlg *t);
bool tlg_constant(Tlg *t);
bool tlg_read_applies(Tlg *t);
/* Reads a map: fn gets each key and reads its value; unknown keys are skipped by
 * returning tlg_unknown. */
typedef struct TlgField {
    const char *key;
    bool (*read)(Tlg *t, void *into);
} TlgField;
bool tlg_fields(Tlg *t, size_t n, const TlgField *field, void *into, unsigned *seen);

/* ---- documents ---- */
typedef enum DocKind { DOC_TEXT, DOC_LIST, DOC_MAP } DocKind;
typedef struct Doc Doc;
struct Doc {
    DocKind kind;
    bool exact;  /* text: stands in the source as it is, so `at` may be compiled */
    bool folded; /* text: several lines that were joined */
    Span at;     /* of the text itself, without quotes; of a collection's beginning */
    uint32_t line, col; /* of at */
    Sym key;            /* in a map */
    Span key_at;
    const char *p; /* text: NUL-terminated */
    size_t n;
    size_t nkid;
    Doc *first, *last, *next;
};
enum { DOC_DEPTH = 64 };
/* The one document of a text, which was registered as `source`. NULL: diagnosed. */
Doc *yaml_read(Session *s, Arena *a, uint32_t source);
Doc *json_read(Session *s, Arena *a, uint32_t source);
/* Adds a child; E_DUPLICATE for a key that the map has. `seen` is shared by all maps of
 * one document. */
bool doc_add(Session *s, Doc *parent, Doc *kid, Map *seen);
Doc *doc_get(const Doc *map, Session *s, const char *key); /* NULL */
Span doc_span(Session *s, const Doc *d); /* of the text, to be compiled */
/* An error about an expression that YAML cut apart or took for something else; shows
 * the line written safely. */
bool doc_unsafe(Session *s, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Keys that a map may have; unknown ones are errors. */
bool doc_keys(Session *s, const Doc *map, const char *const *keys, size_t n,
              const char *where);
Graph *doc_graph(Session *s, const Doc *root, const char *folder, const ReadOptions *o);
/* What is known of a graph's text while it is compiled. */
typedef struct Section {
    Session *s;
    Graph *g;
    Compiler *c;
    Arena *a;
    Vec(struct Init {
        Var shared;
        Span text;
    }) init; /* initial values put aside until the definitions are compiled */
} Section;
bool section_inputs(Section *x, const Doc *d); /* NULL docs are fine */
bool section_shared(Section *x, const Doc *d);
bool section_let(Section *x, const Doc *d);
bool section_outputs(Section *x, const Doc *d);
bool section_updates(Section *x, const Doc *d);
bool section_inits(Section *x);
void doc_allow_load(Compiler *c, const char *folder); /* NULL: load() is refused */
/* Adds the functions of a map to main, each after those that it calls. */
bool doc_functions(Graph *main, const Doc *functions, const char *folder);

/* ---- the forms ---- */
Graph *tlg_read(Session *s, Input *in, const ReadOptions *o);
bool tlg_write(const Graph *g, Sink *k, const WriteOptions *o);
Graph *text_read(Session *s, Input *in, const char *folder, const ReadOptions *o);
bool text_write(Graph *g, IoFormat f, const char *path, Sink *k, const WriteOptions *o);
/* Where large constants of a text go. */
typedef struct Refs {
    Session *s;
    Arena *a;
    bool pack, failed;
    int64_t max;
    const char *folder; /* of the text; NULL: no reference is kept */
    const char *dir;    /* where files are written; NULL: nowhere */
    const char *prefix, *stem;
    unsigned count;
    Map known; /* leaf -> text */
} Refs;
bool refs_open(Refs *r, Session *s, const char *path,
               const WriteOptions *o); /* close it in any case */
const char *refs_text(Refs *r, const Graph *g,
                      Var v); /* "load('W.npy')"; NULL: it stands in the text */
void refs_close(Refs *r);
void dot_write(const Graph *g, Str *out);
void tree_write(Graph *g, const WriteOptions *o, Str *out);
void math_write(Graph *g, Str *out);

bool is_identifier(const char *p,
                   size_t n); /* ASCII, no keyword of Python, no literal name */
bool is_builtin(Session *s,
                const char *name); /* an op or a macro: no name for a function */
bool is_label(const char *p,
              size_t n); /* UTF-8 without control characters, not empty */

#endif
