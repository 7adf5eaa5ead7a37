/* Shared by the tools: one option table drives parsing, --help, the man page and the
 * completions; diagnostics on a terminal or as JSON; exit statuses; signals. Only this
 * row reads the environment and the terminal. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "tools/tools.h"

#include <stdatomic.h>

typedef enum OptKind {
    OPT_FLAG,  /* bool */
    OPT_INT,   /* int64_t */
    OPT_FLOAT, /* double */
    OPT_SIZE,  /* uint64_t: 10M, 10MB */
    OPT_TIME,  /* double, in seconds: 90, 1.5s, 200ms, 2m, 1h */
    OPT_STR,   /* const char *: not empty */
    OPT_TEXT,  /* const char *: may be empty */
    OPT_NAMES, /* const char *: names with commas; repeated uses are concatenated */
    OPT_FILE,  /* const char *, completed as a path */
    OPT_LIST,  /* Texts: may be repeated */
    OPT_FILES, /* Texts of paths: may be repeated */
    OPT_ENUM,  /* int: index into arg "a|b|c", in any case; a word that begins with ~ is
                * recognised but not shown */
    OPT_MAYBE, /* const char *: an optional value, "" if omitted; takes the next
                * argument unless that is an option */
    OPT_LEVEL  /* int: an optional number attached to the option (-z, -z3, --zstd=3); 1
                  when bare */
} OptKind;
/* What an option is about: the headings of --help and of the manual. */
typedef enum OptGroup {
    GROUP_WORK, /* the tool's own: Tool.work */
    GROUP_INPUT,
    GROUP_OUTPUT,
    GROUP_COMMON
} OptGroup;
typedef struct Opt {
    const char *name; /* long name */
    char key;         /* short name or 0 */
    OptKind kind;
    size_t at;        /* offset of the field in the tool's settings */
    const char *arg;  /* as shown: FILE, N, NAME=VALUE, a|b|c */
    const char *help; /* one sentence */
    const char *from; /* source of completions for the argument: "ops" "macros" "modes"
                       * "rules" "graph" (names in the graph), or NULL */
    OptGroup group;
} Opt;
/* Texts of a repeatable option with their positions, so that carets point into them. */
typedef struct Text {
    const char *p;
    Span at;
} Text;
typedef struct Texts {
    Text *p;
    size_t n, cap;
} Texts;

/* Settings of every tool: the first member of its own. */
typedef struct Common {
    const char *output; /* -o */
    int format;         /* -O: index into Tool.formats, -1 unset */
    int zstd;
    int64_t opset; /* OPSET_OPTION; 0: unset */
    bool no_provenance, force, verbose, help, version;
    int floatX; /* 0 unset, 1 float32, 2 float64 */
    int errors; /* 0 text, 1 json */
    int color;  /* 0 auto, 1 always, 2 never */
    uint64_t max_memory;
    double max_time;    /* seconds; 0: none */
    Texts ops, plugins; /* --ops, --plugin */
    const char *dump;   /* hidden: options (completions), man, ops, rules */
    Texts operands;     /* arguments that are not options */
} Common;

/* A row for the table of a tool that writes graphs. */
#define OPSET_OPTION(settings)                                                         \
    {                                                                                  \
        "opset", 0, OPT_INT, offsetof(settings, common.opset), "N",                    \
            "With -O onnx: write for version N of ONNX's ops, 13 to 22 (default 17).", \
            NULL, GROUP_OUTPUT                                                         \
    }

typedef struct Tool Tool;
/* One invocation: the state that main works with. */
typedef struct Run Run;
struct Run {
    Session *s;
    const Tool *tool;
    Common *common;      /* = the settings */
    const char *program; /* the name it was called by, including an installed prefix */
    int argc;
    char **argv;
    double start;              /* clock_seconds() */
    const struct ReadFix *fix; /* values for inputs while a model is read; NULL: none */
    ElementUse use;            /* of the graph's large values */
    bool no_graph;             /* writes something other than a graph */
    void (*write)(const Run *r,
                  WriteOptions *how); /* a tool's own writing options, or NULL */
    struct RunRanks *ranks;           /* cli/ranks.h; NULL: this process is alone */
    struct Watch *watch;              /* looks after a run: cli/watch.h; NULL: none */
    int stopped_by;                   /* the signal that a run obeyed; 0: none */
    atomic_int *stop; /* where the first SIGINT or SIGTERM goes, for work that ends in
                       * order; NULL: it ends the program */
    atomic_bool panicking; /* a thread reports why the program ends: the only one */
};
struct Tool {
    const char *name, *brief;
    const char *operands; /* "[FILE] [NAME=VALUE...]" */
    const char *work;     /* heading of GROUP_WORK: "Derivatives" */
    const char *examples; /* three command lines, for --help */
    const char *formats;  /* of -O: "text|json"; IO_FORMAT_NAMES if it writes graphs */
    const Opt *opt;       /* without the common ones */
    size_t nopt;
    size_t settings;   /* bytes; its first member is Common */
    bool ranked;       /* mpirun may start several that run one graph together */
    bool watched;      /* its runs are watched: SIGUSR1 shows progress */
    bool writes_graph; /* stdout carries a graph: failing leaves a word in it, if it is
                        * a pipe */
    void (*preset)(Common *settings); /* defaults that aren't zero, or NULL */
    bool (*run)(Run *r);              /* does the work; false: diagnosed */
};
/* Parses, opens a session, runs, reports and returns the exit status: a tool's whole
 * main. */
int tool_main(const Tool *t, int argc, char **argv);
/* Environment variables that tool_main sets if unset, before any thread starts. */
void tool_environment(void);

/* The common options, followed by the tool's own; i counts through both. NULL at the
 * end. */
const Opt *tool_option(const Tool *t, size_t i);
/* The words of an enum that the user can type: "a|b|c". */
const char *option_enum_words(Arena *a, const char *all);
bool tool_parse(Run *r, int argc, char **argv);
void tool_help(const Tool *t, const char *program, Str *out);
/* Hidden --dump=WHAT: "man" is the option list of the mdoc page, "options" is input for
 * the completions, "ops" and "rules" for manuals. */
bool tool_dump(const Run *r, const char *what, Str *out);

/* Reads the graph from FILE, "-" or nothing. */
Graph *run_read(Run *r, const char *path);
/* Writes g as directed by -o, -O, -z and the terminal, with a provenance record of this
 * command. */
bool run_write(Run *r, Graph *g);
/* Do -O or the output's name ask for this format? */
bool run_wants_format(const Common *c, IoFormat f);
/* In tools that write no graph: sets the format by the suffix of -o, unless -O has. */
bool run_pick_format(Run *r);
/* Can standard input carry a graph? A terminal and /dev/null can't. */
bool run_is_piped(void);
/* Refuses binary output to a terminal without -f; called before anything is written. */
bool run_binary(Run *r);
/* Plain text to stdout or -o. */
bool run_print(Run *r, const Str *text);
/* A line about the result to stderr, in the form that --errors asks for. */
void run_say(const Run *r, const char *line);
/* Registers an option's text as a source, so that errors can point into it. */
Span run_text(Run *r, const char *label, const char *text);
/* Joins the comma-separated names of a repeated option into one list. */
size_t run_names(Run *r, const Texts *t, const char *const **list);
/* Sorts the operands into FILE and name=VALUE (values only if the tool takes them). */
bool run_operands(Run *r, bool values, const char **file, Values *given);
/* None of the values is read from standard input, which has another use; `why` says so.
 */
bool run_stdin_free(Run *r, const Values *given, const char *why);

/* Diagnostics as text (with source line and caret) or JSON records, to stderr. */
void report_all(Session *s, const char *program, bool json, bool color, int fd);
/* A line of what is done, in the same forms. */
void report_log(const Run *r, double seconds, const char *line, Str *out);
void report_one(Session *s, const Diag *d, const char *program, bool json, bool color,
                Str *out);

#endif
