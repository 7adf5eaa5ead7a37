/* Diagnostics for people and programs: "tool: file:line:col: error[E_SHAPE]: message",
 * the line, a caret, notes; or one JSON record per line (schemas/diag.schema.json). */
#include "cli/cli.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_SHOWN = 160, LONG_WAY = 8, STEPS_SHOWN = 3 };

typedef struct Paint {
    const char *error, *warning, *note, *caret, *off;
} Paint;
static const Paint plain = {"", "", "", "", ""};
static const Paint colours = {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;32m",
                              "\033[0m"};

static void put_diag_place(Session *s, Span at, Str *out) {
    const Source *src = source_get(s, at.source);
    uint32_t line, col;
    if (!src) return;
    span_place(s, at, &line, &col);
    str_visible(out, src->name, strlen(src->name));
    str_printf(out, ":%u:%u: ", line, col);
}

/* Is it a continuation byte of UTF-8? */
static bool is_continuation_byte(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

static size_t count_columns(const char *p, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !is_continuation_byte(p[i]);
    return count;
}

/* The line in which the span begins, cut to a window around it, with carets below. */
static void put_line(Session *s, Span at, const Paint *paint, Str *out) {
    const Source *src = source_get(s, at.source);
    if (!src || at.begin > src->len) return;
    size_t b = at.begin, begin = b, end = b;
    while (begin > 0 && src->text[begin - 1] != '\n')
        begin--;
    while (end < src->len && src->text[end] != '\n')
        end++;
    if (begin == end) return;
    if (b - begin > LINE_MAX_SHOWN / 2) begin = b - LINE_MAX_SHOWN / 2;
    while (begin < b && is_continuation_byte(src->text[begin]))
        begin++;
    if (end - begin > LINE_MAX_SHOWN) end = begin + LINE_MAX_SHOWN;
    while (end > b && end < src->len && is_continuation_byte(src->text[end]))
        end--;
    size_t stop = at.end < end ? at.end : end;
    size_t width = stop > b ? count_columns(src->text + b, stop - b) : 1;
    str_puts(out, "    ");
    str_masked(out, src->text + begin, end - begin);
    str_printf(out, "\n    %*s%s", (int)count_columns(src->text + begin, b - begin), "",
               paint->caret);
    for (size_t i = 0; i < width; i++)
        str_putc(out, '^');
    str_printf(out, "%s\n", paint->off);
}

/* Indents further lines of a multi-line note below its first. */
static void put_note(const char *p, Str *out) {
    for (;;) {
        size_t n = strcspn(p, "\n");
        str_visible(out, p, n);
        str_putc(out, '\n');
        if (!p[n]) return;
        p += n + 1;
        str_puts(out, "        ");
    }
}

/* Hints in terms of the command line. */
static const char *const hint_words[HINT_N] = {
    [HINT_ALLOW_DOWNCAST] = "--allow-downcast converts it all the same",
    [HINT_ALLOW_NONFINITE] = "--allow-nonfinite accepts nan and inf",
    [HINT_COTANGENT] =
        "take its sum or mean, or use a pullback with a cotangent (--vjp)",
    [HINT_DEBUG_MEMORY] = "--mode DEBUG keeps a copy of each value of the graph",
    [HINT_DEPTH] = "a smaller --depth, or none, closes boxes; -O html draws what is "
                   "opened in a browser",
    [HINT_DISCONNECTED] = "for a gradient of zeros use --disconnected ignore (in "
                          "expressions: disconnected_inputs='ignore')",
    [HINT_EXCLUDE] = "--exclude, with the name of the rewrite, leaves it out",
    [HINT_FIX_INPUT] = "where it is an input of the model, gload --set NAME=VALUE "
                       "makes it a constant",
    [HINT_MAX_MEMORY] = "--max-memory raises the limit",
    [HINT_MAX_TIME] = "--max-time raises the limit",
    [HINT_MEASURE] = "leave --static out to measure it",
    [HINT_NAN_GUARD] = "--mode NAN_GUARD stops at the first",
    [HINT_ONNX_INFO] = "gload --info lists all ops of the model that are not known",
    [HINT_OPTIMIZERS] = "gload --list-optimizers lists them",
    [HINT_OWN_FUNCTIONS] = "--ops FILE or --plugin FILE adds functions of your own",
    [HINT_OWN_OPS] = "--ops FILE or --plugin FILE adds ops of your own; each tool of a "
                     "pipe that reads the graph needs it",
    [HINT_OWN_TYPES] = "--plugin FILE adds types of your own",
    [HINT_PACK] = "read the graph from its file rather than from stdin, or pack its "
                  "arrays (gload --pack)",
    [HINT_PAGE] = "gload --outputs NAMES | grewrite --mode NONE leaves what these "
                  "need; gload -O json "
                  "--nodes prints all as data",
    [HINT_PLANT_FIRST] = "plant first, then differentiate: grewrite --plant ... | "
                         "ggrad; or leave the derivative out: grewrite --keep",
    [HINT_PLUGIN] = "a plugin is given by --plugin",
    [HINT_RENAME] = "gload --rename OLD=NEW gives a variable another name",
    [HINT_REPORT] = "gprof -O json -o FILE writes one",
    [HINT_SIZES] = "give sizes with --dim NAME=SIZE",
    [HINT_SLOPPY] =
        "if both values are good enough, --sloppy 1 or 2 widens the tolerance",
    [HINT_STATE_NAME] =
        "choose other names with --name, as in --name '{rule}_{wrt}_{state}'",
    [HINT_UNGUARDED] = "--unguarded NAME lets a variable have such values",
};

static const char *note_words(const DiagNote *n) {
    return n->hint && hint_words[n->hint] ? hint_words[n->hint] : n->text;
}

static void put_note_text(Session *s, const DiagNote *n, const Paint *paint, Str *out) {
    str_puts(out, "  ");
    put_diag_place(s, n->at, out);
    str_printf(out, "%snote:%s ", paint->note, paint->off);
    put_note(note_words(n), out);
    put_line(s, n->at, paint, out);
}

static bool has_place(Session *s, const DiagNote *n) {
    return source_get(s, n->at.source) != NULL;
}

/* Of a long way through functions and loops the text shows the first steps and the
 * last: each begins with a note that has a place. */
static void put_notes(Session *s, const DiagNote *first, const Paint *paint, Str *out) {
    size_t steps = 0, step = 0;
    for (const DiagNote *n = first; n; n = n->next)
        steps += has_place(s, n);
    for (const DiagNote *n = first; n; n = n->next) {
        step += has_place(s, n);
        bool hidden = steps > LONG_WAY && step > STEPS_SHOWN && step < steps;
        if (!hidden)
            put_note_text(s, n, paint, out);
        else if (step == STEPS_SHOWN + 1 && has_place(s, n))
            str_printf(out, "  ... %zu more\n", steps - STEPS_SHOWN - 1);
    }
}

static void put_diag_text(Session *s, const Diag *d, const char *program,
                          const Paint *paint, Str *out) {
    bool error = d->severity == DIAG_ERROR;
    str_printf(out, "%s: ", program);
    put_diag_place(s, d->at, out);
    str_printf(out, "%s%s[%s]:%s ", error ? paint->error : paint->warning,
               error ? "error" : "warning", diag_name(d->code), paint->off);
    str_visible(out, d->text, strlen(d->text));
    str_putc(out, '\n');
    put_line(s, d->at, paint, out);
    put_notes(s, d->notes, paint, out);
}

static void put_json_place(Session *s, Span at, JsonWriter *w) {
    const Source *src = source_get(s, at.source);
    uint32_t line, col;
    if (!src) return;
    span_place(s, at, &line, &col);
    json_member(w, "file", src->name);
    json_member_number(w, "line", line);
    json_member_number(w, "column", col);
    if (at.end > at.begin && at.end <= src->len) {
        json_put_key(w, "text");
        json_put_n(w, src->text + at.begin, at.end - at.begin);
    }
}

static void put_diag_json(Session *s, const Diag *d, const char *program, Str *out) {
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    json_member(&w, "tool", program);
    json_member(&w, "severity", d->severity == DIAG_ERROR ? "error" : "warning");
    json_member(&w, "code", diag_name(d->code));
    json_member_number(&w, "exit", d->exit);
    json_member(&w, "message", d->text);
    put_json_place(s, d->at, &w);
    json_put_key(&w, "notes");
    json_open(&w, '[');
    for (const DiagNote *n = d->notes; n; n = n->next) {
        json_open(&w, '{');
        json_member(&w, "message", note_words(n));
        put_json_place(s, n->at, &w);
        json_close(&w, "}");
    }
    json_close(&w, "]}\n");
}

/* seconds < 0: not a matter of time. */
static void put_info(const Run *r, double seconds, const char *line, Str *out) {
    if (r->common->errors != 1) {
        str_printf(out, "%s: ", r->program);
        if (seconds >= 0) str_printf(out, "%.4f s: ", seconds);
        str_visible(out, line, strlen(line));
        str_putc(out, '\n');
        return;
    }
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    json_member(&w, "tool", r->program);
    json_member(&w, "severity", "info");
    json_member(&w, "message", line);
    if (seconds >= 0) {
        json_put_key(&w, "seconds");
        str_printf(out, "%.6f", seconds);
    }
    json_close(&w, "}\n");
}

void report_log(const Run *r, double seconds, const char *line, Str *out) {
    put_info(r, seconds, line, out);
}

void run_say(const Run *r, const char *line) {
    Str out = STR(r->s);
    put_info(r, -1, line, &out);
    fputs(str_text(&out), stderr);
    str_free(&out);
}

void report_one(Session *s, const Diag *d, const char *program, bool json, bool color,
                Str *out) {
    if (d->code == E_UPSTREAM || d->code == E_DOWNSTREAM)
        return; /* a reader or writer that failed has said so, and `head` needs not */
    if (json)
        put_diag_json(s, d, program, out);
    else
        put_diag_text(s, d, program, color ? &colours : &plain, out);
}

void report_all(Session *s, const char *program, bool json, bool color, int fd) {
    Str out = STR(s);
    for (size_t i = 0; i < diag_count(s); i++)
        report_one(s, diag_get(s, i), program, json, color, &out);
    for (size_t done = 0; done < out.n;) {
        ssize_t n = write(fd, out.p + done, out.n - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    str_free(&out);
}
