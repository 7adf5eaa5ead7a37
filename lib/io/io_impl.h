/* Shared by the files of lib/io: input, output, and the document that both YAML and
 * JSON are parsed into. */
#ifndef IO_IO_IMPL_H
#define IO_IO_IMPL_H

#include "io/io.h"
#include "lang/expr.h"
#include "os/file.h"
#include "type/word.h"

/* ---- input: all bytes of a file, unpacked; constants that point into them keep them
 * alive ---- */
typedef struct Input {
    Session *s;
    const char *name; /* for messages */
    const unsigned char *p;
    size_t n;
    Reader r;       /* the file, while p points into it */
    void *own;      /* or memory */
    Buffer *shared; /* created by input_share */
    bool kept;      /* by input_keep */
    uint64_t max;   /* bytes that it may have; 0: session_max_memory */
} Input;
/* Opens a path, or memory when p is not NULL, and undoes zstd and gzip. NULL:
 * diagnosed. */
Input *input_open(Session *s, const char *path, const void *p, size_t n,
                  uint64_t max_bytes);
/* Returns a new reference to a buffer that keeps the bytes alive; those who compute may
 * write to it (a private copy). NULL: it can't be made writable. */
Buffer *input_share(Input *in, ElementUse use);
bool input_is_shareable(const Input *in);
/* Keeps the bytes until the session ends, for sources that lie in them; false: they
 * aren't those of a mapped file, which would take memory. */
bool input_keep(Input *in);
void input_close(Input *in);

/* ---- output ---- */
typedef struct Sink {
    Session *s;
    Writer *w; /* or str */
    Str *str;
    struct Zip *zip; /* compressor; NULL: none */
    uint64_t offset; /* bytes written so far */
    Xxh64 hash;      /* of those bytes */
    bool failed;     /* diagnosed already */
} Sink;
Sink sink_open(Session *s, Writer *w, Str *str, int zstd_level);
void sink_add(Sink *k, const void *p, size_t n);
bool sink_close(Sink *k); /* false: diagnosed; the Writer stays open */
struct Zip *zip_new(Session *s, int level);
bool zip_add(struct Zip *z, Sink *k, const void *p, size_t n, bool end);
void zip_free(struct Zip *z);
void sink_raw(Sink *k, const void *p, size_t n); /* bypasses the compressor */

/* ---- documents ---- */
typedef enum DocKind { DOC_TEXT, DOC_LIST, DOC_MAP } DocKind;
typedef struct Doc Doc;
struct Doc {
    DocKind kind;
    bool exact;         /* text: verbatim in the source, so `at` may be compiled */
    bool folded;        /* text: several lines were joined */
    Span at;            /* the text without quotes; of a collection, its start */
    uint32_t line, col; /* of at */
    Sym key;            /* in a map */
    Span key_at;
    const char *p; /* text: NUL-terminated */
    size_t n;
    size_t nkid;
    Doc *first, *last, *next;
};
enum { DOC_DEPTH = 64 };
/* Parses the one document of a text registered as `source`. NULL: diagnosed. */
Doc *yaml_read(Session *s, Arena *a, uint32_t source);
Doc *json_read(Session *s, Arena *a, uint32_t source);
/* Adds a child; E_DUPLICATE for a repeated key. All maps of a document share `seen`. */
bool doc_add(Session *s, Doc *parent, Doc *kid, Map *seen);
Doc *doc_get(const Doc *map, Session *s, const char *key); /* NULL: absent */
Span doc_span(Session *s, const Doc *d); /* span of the text, to compile */
bool doc_is_nothing(const Doc *d);       /* a key with nothing behind it */
/* true or false; absent: *out is unchanged */
bool doc_flag(Session *s, const Doc *d, bool *out);
/* Is it a text? False: diagnosed, with what was expected ("a type"). */
bool doc_want_text(Session *s, const Doc *d, const char *what);
/* An error about an expression that YAML split or misread; shows a safe spelling of the
 * line. */
bool doc_unsafe(Session *s, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Checks a map's keys; unknown ones are errors. */
bool doc_keys(Session *s, const Doc *map, const char *const *keys, size_t n,
              const char *where);
bool doc_ops(Session *s, const char *file, const Doc *root);
/* The op `name` of one of the library's files, or all (NULL), if there is no such op
 * yet. */
bool doc_shipped_ops(Session *s, const char *file, const Doc *root, const char *name);
bool doc_optim(Session *s, const char *file, const Doc *root);
Graph *doc_graph(Session *s, const Doc *root, const char *folder, const ReadOptions *o);
/* An entry of a mapping as a line of a block: "a, b = EXPRESSION". */
void doc_line(Session *s, const Doc *k, Str *out);
/* The state of a text's compilation. */
typedef struct Section {
    Session *s;
    Graph *g;
    Compiler *c;
    Arena *a;
    Vec(struct Init {
        Var shared;
        Span text;
        bool done;
    }) init; /* initial values, deferred until the definitions are compiled */
    Vec(struct Untyped {
        Sym name;
        Span at;
        Span text;
    }) untyped; /* shared variables that take the type of their initial value */
} Section;
bool section_dims(Section *x, const Doc *d);
bool section_inputs(Section *x, const Doc *d); /* docs may be NULL */
bool section_shared(Section *x, const Doc *d);
bool section_let(Section *x, const Doc *d);
bool section_untyped(Section *x); /* once all definitions are known */
void section_free(Section *x);
bool section_outputs(Section *x, const Doc *d);
bool section_updates(Section *x, const Doc *d);
bool section_compare(Section *x, const Doc *d); /* call once all names are defined */
bool section_aliases(Section *x, const Doc *d); /* the same */
bool section_statistics(Section *x, const Doc *d);
bool section_inits(Section *x);
struct Refs;
/* folder NULL: load() is refused but for what is pending. */
void doc_allow_load(Compiler *c, const char *folder, const struct Refs *pending);
/* Adds the functions of a map to main, each after its callees. */
bool doc_functions(Graph *main, const Doc *functions, const char *folder,
                   const struct Refs *pending);

/* ---- formats ---- */
Graph *tlg_read(Session *s, Input *in, const char *folder, const ReadOptions *o);
bool tlg_write(const Graph *g, Sink *k, const WriteOptions *o);
Graph *text_read(Session *s, Input *in, const char *folder, const ReadOptions *o);
/* io/onnx */
bool onnx_is_model(const unsigned char *p, size_t n);
Graph *onnx_read(Session *s, Input *in, const char *folder, const ReadOptions *o);
bool onnx_write(Graph *g, Sink *k, const WriteOptions *o);
/* Large constants of a text are files next to it, which change atomically with it
 * (io/refs.c, io/refs_store.c). */
enum { REF_DIGEST = 16 }; /* hexadecimal digits */
typedef enum RefState {
    REF_NEW,   /* to be written */
    REF_THERE, /* an identical file exists already */
    REF_MADE   /* written */
} RefState;
typedef struct RefArray {
    const char *rel; /* the path as the text writes it */
    char *path;
    const Value *value;
    RefState state;
} RefArray;
typedef struct Refs Refs;
struct Refs {
    Session *s;
    Arena *a;
    bool pack, failed, durable;
    int64_t max;
    const char *folder;      /* the text's folder; NULL: no reference is kept */
    const char *dir;         /* the folder for new files; NULL: none */
    const char *prefix;      /* path from the text to dir: "" or "sub/" */
    const char *text;        /* path of the text with links resolved; NULL: not a
                              * file */
    const char *name, *stem; /* of that path, "" if there is none */
    unsigned count;
    Map known;                   /* leaf -> text */
    Vec(RefArray) arrays;        /* named in the text */
    Vec(const char *) old, left; /* arrays named by the previous texts; temporary files
                                  * of killed writers */
    Writer *journal;
    int lock[2];
};
/* For a text or, with o->pack, for other forms; w may be NULL. Always close it. */
bool refs_open(Refs *r, Session *s, const char *path, const Writer *w,
               const WriteOptions *o);
/* "load('W.npy')"; a new file is named after `named`. NULL: the value goes into the
 * text. */
const char *refs_text(Refs *r, const Graph *g, Var v, Var named);
/* Are all references of g as good in this text as in the one they come from? */
bool refs_stay(const Refs *r, const Graph *g);
/* Writes the arrays; for a file, call when the text is complete under its temporary
 * name. */
bool refs_store(Refs *r);
/* The text failed; has its name, but its old version may come back; has its name. */
typedef enum RefsEnd { REFS_UNDO, REFS_LEAVE, REFS_DONE } RefsEnd;
void refs_close(Refs *r, RefsEnd end);
/* shared by the two files: */
void refs_begin(Refs *r);
const char *refs_add(Refs *r, const char *head, const char *suffix, const Value *value);
const char *refs_digest(const char *name);
uint64_t refs_mix(const Refs *r, const char *head, size_t nhead, uint64_t content,
                  unsigned attempt);
/* The folder part of a path: "." if there is none. */
const char *refs_folder_of(Arena *a, const char *path);

/* Files that the one being read refers to, each opened once; mapped privately. */
typedef struct DataFile {
    char *path;
    FileData data;
    Buffer *buf; /* of the whole file, which may not be written to */
} DataFile;
typedef struct DataFiles {
    Session *s;
    const char *folder;
    Vec(DataFile) file;
} DataFiles;
const DataFile *data_file(DataFiles *all, const char *path); /* NULL: diagnosed */
void data_files_close(DataFiles *all);
bool text_write(Graph *g, IoFormat f, Refs *refs, Sink *k, const WriteOptions *o);
typedef bool ViewWriter(const Graph *g, const WriteOptions *o, Str *out);
ViewWriter dot_write, svg_write, page_write, tree_write, math_write;

bool io_is_builtin(Session *s, const char *name); /* is an op or a macro, so not
                                                   * available for a function */
bool io_is_label(const char *p, size_t n); /* non-empty plain UTF-8 (base/str.h) */

#endif
