/* Graphs as files: bytes <-> graph. Reading detects the form by the content, never by
 * the name: tlg (a CBOR Sequence), JSON or YAML, each possibly zstd-compressed. Text is
 * a small document whose leaves are lines of the language (lang/expr.h); the binary
 * form (schemas/graph.cddl) is columns. All forms hold the same information. */
#ifndef IO_IO_H
#define IO_IO_H

#include "graph/graph.h"
#include "value/file/file.h"

typedef struct Compiler Compiler; /* lang/expr.h */

/* FORM(ID, name, suffixes, writer): a view is only written, by a function of io_impl.h;
 * the others have NULL and are read too. -O offers this list, in its order. */
#define IO_FORMS(FORM)                                                                 \
    FORM(YAML, "yaml", ".yaml .yml", NULL)                                             \
    FORM(JSON, "json", ".json", NULL)                                                  \
    FORM(TLG, "tlg", ".tlg", NULL)                                                     \
    FORM(ONNX, "onnx", ".onnx", NULL)                                                  \
    FORM(DOT, "dot", ".dot", dot_write)          /* graphviz */                        \
    FORM(SVG, "svg", ".svg", svg_write)          /* a picture */                       \
    FORM(HTML, "html", ".html .htm", page_write) /* a page to look at */               \
    FORM(TREE, "tree", "", tree_write)           /* a debugprint */                    \
    FORM(MATH, "math", "", math_write)           /* an infix listing */
#define IO_FORM_ID(id, name, suffixes, writer) IO_##id,
typedef enum IoFormat {
    IO_AUTO, /* writing: by the path's suffix, else YAML */
    IO_FORMS(IO_FORM_ID) IO_FORMATS
} IoFormat;
#define IO_FORM_NAME(id, name, suffixes, writer) "|" name
#define IO_FORMAT_NAMES                          (&(IO_FORMS(IO_FORM_NAME))[1]) /* "yaml|json..." */
const char *io_format_name(IoFormat f); /* "yaml"; "auto" */
/* By suffix, possibly followed by .zst; IO_AUTO for any other. zstd may be NULL. */
IoFormat io_format_of(const char *path, bool *zstd);
void io_suffixes(Str *out); /* all of them, for messages */

/* ---- reading ---- */
/* Values for inputs of models of other systems, which may decide shapes. *is false: the
 * input stays one. */
typedef struct ReadFix {
    bool (*value)(void *ctx, Session *s, const char *name, const Type *t, bool *is,
                  Value *out);
    void *ctx;
} ReadFix;
typedef struct ReadOptions {
    const char
        *folder; /* load() in a text reads only below this folder; NULL: the file's own
                  * folder, while stdin and memory have none and load() is refused */
    bool refuse_load;   /* refuse every load() */
    DType floatX;       /* for a text without a floatX; DT_NONE: the session's */
    uint64_t max_bytes; /* of the decompressed input; 0: session_max_memory */
    const struct Refs *pending; /* arrays that load() finds though they are yet to be
                                 * written; NULL: none */
    ElementUse use;             /* ONNX: of large weights */
    const ReadFix *fix;         /* ONNX: inputs that become constants; NULL: none */
} ReadOptions;
#define READ_DEFAULT ((ReadOptions){.floatX = DT_NONE})

/* Reads a main graph from a path, "-" (stdin) or memory. NULL: diagnosed. An empty
 * input is E_TRUNCATED ("did the command before it fail?"); what a failed tool left in
 * a pipe is E_UPSTREAM with its exit status, for which the tools print nothing.
 * Types in a tlg are trusted beyond a check of ranges: their first user infers them
 * again (graph_check). NULL options: READ_DEFAULT. */
Graph *io_read(Session *s, const char *path, const ReadOptions *o);
Graph *io_read_mem(Session *s, const char *name, const void *p, size_t n,
                   const ReadOptions *o);
/* Adds the ops of a file (schemas/ops.schema.json) to the session: userop/userop.h. */
bool io_read_ops(Session *s, const char *path);
/* Adds the shipped optimizers and schedules, once. */
bool io_read_shipped_optimizers(Session *s);
/* An empty graph for a command line's -e, -i and --shared; floatX and folder come from
 * the options. */
Graph *io_new(Session *s, const ReadOptions *o);
/* Three sections of a text, as single lines from a command line in `text`. The Compiler
 * belongs to the graph. */
bool io_add_input(Compiler *c, Span text);  /* "x: float32[n, 64]" */
bool io_add_shared(Compiler *c, Span text); /* "W: float32[64, 10] = zeros((64, 10))";
                                             * without a value, a run must supply one */
/* Lets load('F', 'key') in c's texts read files: only below `folder`, or anywhere if it
 * is NULL (for texts that the user typed). */
void io_allow_load(Compiler *c, const char *folder);

/* What an ONNX model is made of, whether it can be read or not. */
typedef struct ModelOp {
    const char *name; /* "Conv", "com.microsoft.Gelu" */
    uint32_t count;
    bool known;
} ModelOp;
typedef struct ModelOverview {
    Arena *a;
    const char *name, *producer;
    size_t nop, unknown, nweight, ninput, noutput;
    ModelOp *op; /* in the order of their first nodes */
    uint64_t weight_bytes;
} ModelOverview;
/* *is false: the file is no ONNX model. Free with io_model_overview_free, also after a
 * failure. */
bool io_model_overview(Session *s, const char *path, bool *is, ModelOverview *out);
void io_model_overview_free(ModelOverview *v);

/* ---- writing ---- */
typedef struct WriteOptions {
    IoFormat format;
    int zstd;           /* compression level; 0: only for a .zst name (level 1) */
    bool no_provenance; /* leave out g->steps and positions in texts */
    bool pack;          /* no references to files: everything is embedded */
    bool by_reference;  /* tlg: large values that lie unchanged in a model of ONNX below
                         * the written file's folder stay there */
    const char *beside, *replaced; /* set by io_write: that folder, and what is there */
    bool durable; /* the file survives a power failure: for state that took long to
                   * compute */
    /* Text: the folder for constants larger than inline_max, created if missing; it
     * must lie below the text's folder. NULL: next to a written file, inline on
     * stdout. */
    const char *refs;
    int64_t opset;      /* ONNX: of the model; 0: 17 */
    int64_t inline_max; /* elements; 0: 64 */
    int depth;   /* tree: levels shown; dot: levels of names and functions that are
                  * opened, what is deeper is collapsed; 0: all */
    bool plain;  /* tree: without types */
    bool simple; /* dot: without constants, shapes and casts */
    bool around; /* dot: only what is at most so many steps from the variable of main */
    uint32_t steps;
    Var around_var;
} WriteOptions;
#define WRITE_DEFAULT ((WriteOptions){0})
/* Writes to a path (through a temporary name; the arrays next to a text change
 * atomically with it), or "-". g is unchanged afterwards. */
bool io_write(Graph *g, const char *path, const WriteOptions *o);
bool io_text(Graph *g, const WriteOptions *o, Str *out); /* any format into memory */
/* The tree of one variable as in IO_TREE, to `depth` levels (0: all). */
void tree_of_var(const Graph *g, Var v, int depth, Str *out);
/* What a failing tool leaves in a pipe that should have carried a graph: the next tool
 * ends silently with the same status. `# thunkline: gload failed, status 3` if nothing
 * was written before, else a record of the binary form. Neither allocates. */
enum { ABORT_RECORD = 18, FAILURE_LINE = 64 };
size_t io_failure_line(const char *tool, int status, char out[FAILURE_LINE]);
size_t io_abort_record(int exit, unsigned char out[ABORT_RECORD]);
/* Does the input end in one of them, possibly in the middle of something? */
bool io_is_failure(const unsigned char *p, size_t n, int *status);

#endif
