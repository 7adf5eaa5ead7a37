/* Graphs as files: bytes <-> graph. Reading sniffs the content, never the name: tlg (a
 * CBOR Sequence), JSON or YAML, each perhaps inside zstd. Text is a small document
 * whose leaves are lines of the language (lang/expr.h); the binary form
 * (schemas/graph.cddl) is columns. What one form holds the others hold too. */
#ifndef IO_IO_H
#define IO_IO_H

#include "lang/expr.h"

typedef enum IoFormat {
    IO_AUTO, /* writing: by the path's suffix, else YAML */
    IO_YAML,
    IO_JSON,
    IO_TLG,
    IO_DOT,  /* a picture: these three are only written */
    IO_TREE, /* a debugprint */
    IO_MATH, /* an infix listing */
    IO_FORMATS
} IoFormat;
const char *io_format_name(IoFormat f); /* "yaml"; "auto" */
/* By suffix (.yaml .yml .json .tlg .dot, each perhaps with .zst); IO_AUTO if it says
 * nothing. zstd may be NULL. */
IoFormat io_format_of(const char *path, bool *zstd);

/* ---- reading ---- */
typedef struct ReadOptions {
    const char
        *folder; /* where load() of a text looks, below it only; NULL: the file's own
                    folder, and for stdin and memory none: load() is refused then */
    bool refuse_load;   /* no load() at all */
    DType floatX;       /* for a text that doesn't say; DT_NONE: the session's */
    uint64_t max_bytes; /* of the (decompressed) input; 0: session_max_memory */
} ReadOptions;
#define READ_DEFAULT ((ReadOptions){.floatX = DT_NONE})

/* Reads a main graph from a path, "-" (stdin) or memory. NULL: diagnosed. An empty
 * input is E_TRUNCATED ("did the command before it fail?"); an abort record is
 * E_UPSTREAM with the other tool's exit status, and the tools print nothing for it. The
 * types in a tlg are taken as they stand, only ranges are checked: whoever uses them
 * first re-infers (graph_check). NULL options: READ_DEFAULT. */
Graph *io_read(Session *s, const char *path, const ReadOptions *o);
Graph *io_read_mem(Session *s, const char *name, const void *p, size_t n,
                   const ReadOptions *o);
/* Adds the ops of a file (schemas/ops.schema.json) to the session: userop/userop.h. */
bool io_read_ops(Session *s, const char *path);
/* An empty graph to which a command line's -e, -i and --shared are added; floatX and
 * folder from the options. */
Graph *io_new(Session *s, const ReadOptions *o);
/* The three sections of a text as a command line gives them one by one; `text` is a
 * line. The Compiler belongs to the graph. */
bool io_add_input(Compiler *c, Span text); /* "x: float32[n, 64]" */
bool io_add_shared(Compiler *c,
                   Span text); /* "W: float32[64, 10] = zeros((64, 10))"; the value may
                                  be missing, then running needs one */
/* Lets load('F', 'key') in c's texts read files: below `folder` only, or with NULL from
 * anywhere (for texts that the user typed). */
void io_allow_load(Compiler *c, const char *folder);

/* ---- writing ---- */
typedef struct WriteOptions {
    IoFormat format;
    int zstd;           /* level of compression; 0: only for a .zst name (level 1) */
    bool no_provenance; /* leave out g->steps, and places in texts */
    bool pack;          /* no references to files: everything is inside */
    bool durable; /* a file that outlives a loss of power: for state that took long */
    /* Text: folder for constants larger than inline_max, made if missing; it must lie
     * below that of the text. NULL: beside a file that is written, inline on stdout. */
    const char *refs;
    int64_t inline_max; /* elements; 0: 64 */
    int depth;          /* tree: levels shown; 0: all */
    bool plain;         /* tree: without types */
} WriteOptions;
#define WRITE_DEFAULT ((WriteOptions){0})
/* Writes to a path (through a temporary name; the arrays beside a text change together
 * with it), "-" or a Writer, which stays open. g is unchanged afterwards. */
bool io_write(Graph *g, const char *path, const WriteOptions *o);
bool io_write_to(Graph *g, Writer *w, const WriteOptions *o);
bool io_text(Graph *g, const WriteOptions *o, Str *out); /* any format into memory */
/* The tree of one variable as IO_TREE shows it, `depth` levels of it (0: all). */
void tree_of_var(const Graph *g, Var v, int depth, Str *out);
/* What a failing tool leaves in a pipe that expects tlg, whatever it wrote before: the
 * next one ends with the same status, silently. Allocates nothing. */
enum { ABORT_RECORD = 18 };
size_t io_abort_record(int exit, unsigned char out[ABORT_RECORD]);

#endif
