/* Graph input and output of a tool: the graph's operand, the output format, the
 * provenance record. */
#include "cli/cli.h"
#include "value/file/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most first. */
static void put_op_counts(const Graph *g, Str *out) {
    size_t n;
    OpCount *c = graph_count_ops(g, &n);
    for (size_t i = 0; i < n; i++)
        str_printf(out, "%s%u %s", i ? ", " : ": ", c[i].n, c[i].op->name);
    mem_free(c);
}

static void log_graph(const Graph *g) {
    Session *s = g->s;
    if (!session_is_logged(s)) return;
    Str ops = STR(s);
    put_op_counts(g, &ops);
    session_log(s, "the graph has %s, %s, %s, %s, %s%s",
                str_counted(s, g->inputs.n, "input"),
                str_counted(s, g->shared.n, "shared variable"),
                str_counted(s, g->outputs.n, "output"),
                str_counted(s, g->functions.n, "function"),
                str_counted(s, g->napply, "Apply"), str_text(&ops));
    str_free(&ops);
}

Graph *run_read(Run *r, const char *path) {
    ReadOptions how = READ_DEFAULT;
    how.fix = r->fix;
    how.use = r->use;
    if (!path) path = "-";
    if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO)) {
        fail(r->s, NOWHERE, E_USAGE, "no graph: standard input is a terminal");
        note(r->s, NOWHERE, "give a FILE, or pipe the output of another tool into %s",
             r->program);
        return NULL;
    }
    session_set_doing(r->s, "reading the graph");
    op_count(r->s); /* the table of ops is there before the graph, which needs it */
    Graph *g = io_read(r->s, path, &how);
    session_set_doing(r->s, NULL);
    if (g)
        log_graph(g);
    else if (str_begins_definition(path, strlen(path), "="))
        note(r->s, NOWHERE,
             "gload -e takes definitions, where a file is expected here");
    else if (value_is_file(r->s, path))
        note(r->s, NOWHERE,
             "it holds arrays: gload --info %s lists them, NAME=@%s gives them to an "
             "input",
             path, path);
    return g;
}

/* A word quoted for the shell if necessary. */
static void shell_word(Str *out, const char *p) {
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
    if (*p && strspn(p, safe) == strlen(p)) {
        str_puts(out, p);
        return;
    }
    str_putc(out, '\'');
    for (; *p; p++) {
        if (*p == '\'')
            str_puts(out, "'\\''");
        else
            str_putc(out, *p);
    }
    str_putc(out, '\'');
}

static void add_step(Run *r, Graph *g) {
    Str args = STR(r->s);
    for (int i = 1; i < r->argc; i++) {
        if (i > 1) str_putc(&args, ' ');
        shell_word(&args, r->argv[i]);
    }
    Step step = {r->tool->name, TL_VERSION,
                 arena_str(g->arena, str_text(&args), args.n)};
    vec_push(r->s, &g->steps, step);
    str_free(&args);
}

/* -O, else the suffix of -o, else YAML to a terminal and tlg elsewhere. */
static bool pick_format(Run *r, const char *path, IoFormat *format, bool *values) {
    *values = false;
    if (r->common->format >= 0) {
        *format = (IoFormat)(IO_AUTO + 1 + r->common->format);
        return true;
    }
    if (!graph_save_form(r->s, path, format, values))
        return note(r->s, NOWHERE, "-O chooses a format whatever the name");
    if (*format == IO_AUTO)
        *format = strcmp(path, "-") == 0 && isatty(STDOUT_FILENO) ? IO_YAML : IO_TLG;
    return true;
}

bool run_wants_format(const Common *c, IoFormat f) {
    if (c->format >= 0) return c->format + IO_AUTO + 1 == (int)f;
    return c->output && io_format_of(c->output, NULL) == f;
}

/* Is `suffix`, with its dot, one of the words "text|json|..."? text is .txt. */
static bool find_word(const char *words, const char *suffix, int *index) {
    *index = 0;
    for (const char *p = words; *p; ++*index) {
        size_t n = strcspn(p, "|");
        if (strlen(suffix + 1) == n && strncmp(p, suffix + 1, n) == 0) return true;
        if (strcmp(suffix, ".txt") == 0 && n == 4 && strncmp(p, "text", 4) == 0)
            return true;
        p += n + (p[n] == '|');
    }
    return false;
}

bool run_pick_format(Run *r) {
    Common *c = r->common;
    const char *suffix = c->output ? str_suffix(c->output) : "";
    int index;
    if (c->format >= 0 || !*suffix) return true;
    if (find_word(r->tool->formats, suffix, &index)) return c->format = index, true;
    Str known = STR(r->s);
    for (const char *p = r->tool->formats; *p;) {
        size_t n = strcspn(p, "|");
        bool text = n == 4 && strncmp(p, "text", 4) == 0;
        str_printf(&known, "%s.%.*s", known.n ? " " : "", text ? 3 : (int)n,
                   text ? "txt" : p);
        p += n + (p[n] == '|');
    }
    fail(r->s, NOWHERE, E_USAGE, "%s: no format has the suffix %s", c->output, suffix);
    note(r->s, NOWHERE, "use one of %s, or -O, which chooses whatever the name",
         str_text(&known));
    str_free(&known);
    return false;
}

/* -O html to a terminal: it is text, but who wants to read it? */
static void warn_of_page(Run *r) {
    const Common *c = r->common;
    const char *word = r->tool->formats;
    if (c->format < 0 || (c->output && strcmp(c->output, "-") != 0) || c->force ||
        !isatty(STDOUT_FILENO))
        return;
    for (int i = 0; i < c->format; i++)
        word = strchr(word, '|') + 1;
    if (strncmp(word, "html", strcspn(word, "|")) == 0)
        warn(r->s, NOWHERE, E_USAGE,
             "a page is for a browser: -o FILE.html keeps it; -f says nothing");
}

bool run_binary(Run *r) {
    const char *path = r->common->output;
    if ((path && strcmp(path, "-") != 0) || r->common->force || !isatty(STDOUT_FILENO))
        return true;
    fail(r->s, NOWHERE, E_USAGE, "binary output is not written to a terminal");
    return note(r->s, NOWHERE, "use -o FILE or a pipe; -f writes it anyway");
}

bool run_write(Run *r, Graph *g) {
    const Common *c = r->common;
    const char *path = c->output ? c->output : "-";
    WriteOptions how = {
        .zstd = c->zstd, .no_provenance = c->no_provenance, .opset = c->opset};
    bool values;
    if (!pick_format(r, path, &how.format, &values)) return false;
    if (values) return graph_write_shared(g, path);
    bool binary = how.format == IO_TLG || how.format == IO_ONNX || how.zstd;
    if (binary && !run_binary(r)) return false;
    warn_of_page(r);
    if (!c->no_provenance) add_step(r, g);
    if (r->write) r->write(r, &how);
    session_set_doing(r->s, "writing the graph");
    if (!io_write(g, path, &how)) return false;
    session_log(r->s, "wrote %s to %s: %s", str_counted(r->s, g->napply, "Apply"),
                strcmp(path, "-") == 0 ? "standard output" : path,
                io_format_name(how.format));
    return true;
}

bool run_print(Run *r, const Str *text) {
    warn_of_page(r);
    Writer *w = writer_open(r->s, r->common->output ? r->common->output : "-");
    if (!w) return false;
    if (writer_add(w, str_text(text), text->n)) return writer_commit(w);
    writer_abort(w);
    return false;
}

Span run_text(Run *r, const char *label, const char *text) {
    size_t n = strlen(text);
    return (Span){source_add(r->s, label, text, n), 0, (uint32_t)n};
}

bool run_is_piped(void) {
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && !S_ISCHR(st.st_mode);
}

/* Is it "@-", "@-:key", "@/dev/stdin[1:]"? */
static bool reads_stdin(const char *p, size_t n) {
    size_t end = 1;
    while (end < n && p[end] != ':' && p[end] != '[')
        end++;
    return n > 1 && p[0] == '@' && value_is_stdin(p + 1, end - 1);
}

/* Standard input can be the graph, lines or values, not more than one of them. */
static bool stdin_once(Run *r, const char *file, const Values *given) {
    bool graph = !file || value_is_stdin(file, strlen(file));
    return !graph ||
           run_stdin_free(
               r, given, "standard input is already the graph; give the graph as FILE");
}

bool run_stdin_free(Run *r, const Values *given, const char *why) {
    for (size_t i = 0; i < given->n; i++) {
        Span name, value;
        if (!value_split_name(r->s, given->text[i], &name, &value)) continue;
        const char *p = source_get(r->s, value.source)->text + value.begin;
        if (reads_stdin(p, value.end - value.begin))
            return fail(r->s, value, E_USAGE, "%s", why);
    }
    return true;
}

/* `--wrt w b`: notes it if the word is one that follows the names of an option. */
static bool note_commas(Run *r, const char *word) {
    const Opt *o;
    int i = 3;
    while (i < r->argc && strcmp(r->argv[i], word) != 0)
        i++;
    for (size_t k = 0; i < r->argc && (o = tool_option(r->tool, k)); k++)
        if (o->kind == OPT_NAMES && strncmp(r->argv[i - 2], "--", 2) == 0 &&
            strcmp(r->argv[i - 2] + 2, o->name) == 0)
            return note(r->s, NOWHERE, "commas separate names: --%s %s,%s", o->name,
                        r->argv[i - 1], word),
                   true;
    return false;
}

bool run_operands(Run *r, bool values, const char **file, Values *given) {
    const Texts *t = &r->common->operands;
    Span *value = NEW_N(session_arena(r->s), t->n, Span), name, rest;
    *file = NULL;
    *given = (Values){0, value};
    for (size_t i = 0; i < t->n; i++) {
        bool is_value = value_split_name(r->s, t->p[i].at, &name, &rest);
        if (is_value && values) {
            value[given->n++] = t->p[i].at;
        } else if (is_value) {
            return fail(r->s, t->p[i].at, E_USAGE, "%s takes no values here",
                        r->program);
        } else if (*file) {
            fail(r->s, t->p[i].at, E_USAGE, "two graphs are given, %s and %s", *file,
                 t->p[i].p);
            if (!note_commas(r, *file)) note_commas(r, t->p[i].p);
            return false;
        } else {
            *file = t->p[i].p;
        }
    }
    return stdin_once(r, *file, given);
}
