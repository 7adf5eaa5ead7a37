/* What the files of lib/io share: where bytes come from and go to, and the document
 * that YAML and JSON are both read into. */
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
bool zstd_unpack(Session *s, const char *name, const unsigned char *p, size_t n,
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
/* true or false; nothing: it stays */
bool doc_flag(Session *s, const Doc *d, bool *out);
/* An error about an expression that YAML cut apart or took for something else; shows
 * the line written safely. */
bool doc_unsafe(Session *s, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Keys that a map may have; unknown ones are errors. */
bool doc_keys(Session *s, const Doc *map, const char *const *keys, size_t n,
              const char *where);
bool doc_ops(Session *s, const char *file, const Doc *root);
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
bool section_compare(Section *x, const Doc *d); /* when all names are there */
bool section_inits(Section *x);
void doc_allow_load(Compiler *c, const char *folder); /* NULL: load() is refused */
/* Adds the functions of a map to main, each after those that it calls. */
bool doc_functions(Graph *main, const Doc *functions, const char *folder);

/* ---- the forms ---- */
Graph *tlg_read(Session *s, Input *in, const ReadOptions *o);
bool tlg_write(const Graph *g, Sink *k, const WriteOptions *o);
Graph *text_read(Session *s, Input *in, const char *folder, const ReadOptions *o);
/* Where large constants of a text go: files beside it, which change together with it
 * (io/refs.c, io/refs_store.c). */
enum { REF_DIGEST = 16 }; /* hexadecimal digits */
typedef enum RefState {
    REF_NEW,   /* to be written */
    REF_THERE, /* the same file lies there already */
    REF_MADE   /* written */
} RefState;
typedef struct RefArray {
    const char *rel; /* as the text names it */
    char *path;
    const Value *value;
    RefState state;
} RefArray;
typedef struct Refs {
    Session *s;
    Arena *a;
    bool pack, failed, durable;
    int64_t max;
    const char *folder;      /* of the text; NULL: no reference is kept */
    const char *dir;         /* where files are written; NULL: nowhere */
    const char *prefix;      /* of dir in the text: "" or "sub/" */
    const char *text;        /* the text's file, links resolved; NULL: it is no file */
    const char *name, *stem; /* of that, "" if there is none */
    unsigned count;
    Map known;                   /* leaf -> text */
    Vec(RefArray) arrays;        /* that the text names */
    Vec(const char *) old, left; /* arrays that others named; temporary files */
    Writer *journal;
    int lock[2];
} Refs;
/* For a text or, with o->pack, for other forms; w may be NULL. Close it in any case. */
bool refs_open(Refs *r, Session *s, const char *path, const Writer *w,
               const WriteOptions *o);
/* "load('W.npy')", after the name of `named` if it is a new file; NULL: it stands in
 * the text. */
const char *refs_text(Refs *r, const Graph *g, Var v, Var named);
/* Writes the arrays: for a file, when the text is ready under its temporary name. */
bool refs_store(Refs *r);
void refs_close(Refs *r, bool done); /* done: the text is in its place */
/* between the two files: */
void refs_begin(Refs *r);
const char *refs_add(Refs *r, const char *head, const char *suffix, const Value *value);
const char *refs_digest(const char *name);
uint64_t refs_mix(const Refs *r, const char *head, size_t nhead, uint64_t content,
                  unsigned attempt);
/* The folder part of a path: "." if there is none. */
const char *refs_folder_of(Arena *a, const char *path);
bool text_write(Graph *g, IoFormat f, Refs *refs, Sink *k, const WriteOptions *o);
void dot_write(const Graph *g, Str *out);
void tree_write(Graph *g, const WriteOptions *o, Str *out);
void math_write(Graph *g, Str *out);

bool io_is_identifier(const char *p,
                      size_t n); /* ASCII, no keyword of Python, no literal name */
bool io_is_builtin(Session *s,
                   const char *name); /* an op or a macro: no name for a function */
bool io_is_label(const char *p, size_t n); /* plain UTF-8 (base/str.h), not empty */

#endif
