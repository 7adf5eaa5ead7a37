/* Parses the command line by its table. Options and operands may be mixed; "--" ends
 * options; a long name may be abbreviated if unambiguous. Every text is registered as a
 * source, so that errors in expressions point into it. */
#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define AT(field) offsetof(Common, field)
static const Opt common[] = {
    {"output", 'o', OPT_FILE, AT(output), "FILE",
     "Write to FILE instead of standard output.", NULL, GROUP_OUTPUT},
    {"format", 'O', OPT_ENUM, AT(format), NULL, "Format of the output.", NULL,
     GROUP_OUTPUT},
    {"zstd", 'z', OPT_LEVEL, AT(zstd), "N",
     "Compress the output with zstd at level N (default 1).", NULL, GROUP_OUTPUT},
    {"force", 'f', OPT_FLAG, AT(force), NULL, "Write binary output even to a terminal.",
     NULL, GROUP_OUTPUT},
    {"no-provenance", 0, OPT_FLAG, AT(no_provenance), NULL,
     "Omit the record of commands and of places in source texts from the graph.", NULL,
     GROUP_OUTPUT},
    {"ops", 0, OPT_FILES, AT(ops), "FILE",
     "Add the ops that a text file defines; repeatable.", NULL, GROUP_INPUT},
    {"plugin", 0, OPT_FILES, AT(plugins), "FILE",
     "Add the types and ops of a plugin, a shared library; repeatable.", NULL,
     GROUP_INPUT},
    {"floatX", 0, OPT_ENUM, AT(floatX), "unset|float32|float64",
     "Default dtype of floats (default float64).", NULL, GROUP_INPUT},
    {"max-memory", 0, OPT_SIZE, AT(max_memory), "SIZE",
     "Limit the memory for tensors (default 90% of the machine's or its control "
     "group's).",
     NULL, GROUP_COMMON},
    {"max-time", 0, OPT_TIME, AT(max_time), "DURATION",
     "End with status 6 after this time, such as 90, 1.5s, 200ms, 2m or 1h (default: "
     "no "
     "limit).",
     NULL, GROUP_COMMON},
    {"errors", 0, OPT_ENUM, AT(errors), "text|json", "Format of error messages.", NULL,
     GROUP_COMMON},
    {"color", 0, OPT_ENUM, AT(color), "auto|always|never",
     "Colour error messages; auto obeys NO_COLOR.", NULL, GROUP_COMMON},
    {"verbose", 'v', OPT_FLAG, AT(verbose), NULL,
     "Print to standard error what is done, with the seconds since the start: files "
     "read, "
     "ops, rules that fired, the plan, calls.",
     NULL, GROUP_COMMON},
    {"version", 0, OPT_FLAG, AT(version), NULL, "Print the version and exit.", NULL,
     GROUP_COMMON},
    {"help", 'h', OPT_FLAG, AT(help), NULL, "Print this help and exit.", NULL,
     GROUP_COMMON},
    {"dump", 0, OPT_STR, AT(dump), NULL, NULL, NULL, GROUP_COMMON},
};
enum { NCOMMON = sizeof common / sizeof *common };

const Opt *tool_option(const Tool *t, size_t i) {
    if (i < t->nopt) return &t->opt[i];
    return i - t->nopt < NCOMMON ? &common[i - t->nopt] : NULL;
}

static const char *option_values(const Run *r, const Opt *o) {
    return o->at == AT(format) && o->kind == OPT_ENUM && !o->arg ? r->tool->formats
                                                                 : o->arg;
}

/* ---- finding ---- */
static bool fail_unknown_option(Run *r, const char *name, size_t n) {
    const char *word = arena_str(session_arena(r->s), name, n), *names[128];
    size_t count = 0;
    const Opt *o = tool_option(r->tool, 0);
    for (; o && count < 128; o = tool_option(r->tool, count))
        names[count++] = o->name;
    fail(r->s, NOWHERE, E_USAGE, "there is no option --%s", word);
    const char *near = str_nearest(r->s, word, names, count);
    if (near) note(r->s, NOWHERE, "did you mean --%s?", near);
    return note(r->s, NOWHERE, "%s --help lists the options", r->program);
}

static const Opt *find_long(Run *r, const char *name, size_t n) {
    const Opt *found = NULL;
    for (size_t i = 0; tool_option(r->tool, i); i++) {
        const Opt *o = tool_option(r->tool, i);
        if (strncmp(o->name, name, n) != 0) continue;
        if (o->name[n] == '\0') return o;
        if (!o->help) continue;
        if (found) {
            fail(r->s, NOWHERE, E_USAGE, "--%.*s could be --%s or --%s", (int)n, name,
                 found->name, o->name);
            return NULL;
        }
        found = o;
    }
    if (!found) fail_unknown_option(r, name, n);
    return found;
}

static const Opt *find_short(Run *r, char key) {
    for (size_t i = 0; tool_option(r->tool, i); i++)
        if (tool_option(r->tool, i)->key == key) return tool_option(r->tool, i);
    fail(r->s, NOWHERE, E_USAGE, "there is no option -%c", key);
    note(r->s, NOWHERE, "%s --help lists the options", r->program);
    return NULL;
}

/* ---- storing ---- */
static bool fail_option_value(Run *r, const Opt *o, const char *what, const char *got) {
    return fail(r->s, NOWHERE, E_USAGE, "--%s takes %s, not '%s'", o->name, what, got);
}

/* "unset" at the start of an enum is the state before the option, and ~ marks words
 * that a tool recognises only to refuse them: a user can type neither. */
const char *option_enum_words(Arena *a, const char *all) {
    char **word;
    size_t n = str_split(a, all, '|', &word);
    char *out = arena_zalloc(a, strlen(all) + 1, 1);
    for (size_t i = 0, at = 0; i < n; i++) {
        if (*word[i] == '~' || strcmp(word[i], "unset") == 0) continue;
        if (at) out[at++] = '|';
        memcpy(out + at, word[i], strlen(word[i]));
        at += strlen(word[i]);
    }
    return out;
}

static bool fail_unknown_word(Run *r, const Opt *o, const char *v) {
    Arena *a = session_arena(r->s);
    const char *shown = option_enum_words(a, option_values(r, o));
    char **word, *upper = arena_str(a, v, strlen(v));
    size_t n = str_split(a, shown, '|', &word);
    fail_option_value(r, o, arena_printf(a, "one of %s", shown), v);
    const char *near = str_nearest(r->s, v, (const char *const *)word, n);
    for (char *p = upper; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    if (!near) near = str_nearest(r->s, upper, (const char *const *)word, n);
    return near ? note(r->s, NOWHERE, "did you mean %s?", near) : false;
}

static bool store_enum_option(Run *r, const Opt *o, const char *v, int *at) {
    char **word;
    size_t n = str_split(session_arena(r->s), option_values(r, o), '|', &word);
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(word[i] + (*word[i] == '~'), v) == 0) return *at = (int)i, true;
    return fail_unknown_word(r, o, v);
}

static bool store_int_option(Run *r, const Opt *o, const char *v, int64_t *at) {
    bool negative = *v == '-', overflow = false;
    uint64_t u;
    const char *p = v + (negative || *v == '+');
    size_t n = num_read_uint(p, strlen(p), &u, &overflow);
    if (!n || p[n] || overflow || u > INT64_MAX)
        return fail_option_value(r, o, "an integer", v);
    *at = negative ? -(int64_t)u : (int64_t)u;
    return true;
}

static bool store_float_option(Run *r, const Opt *o, const char *v, double *at) {
    size_t n = num_read_float(v, strlen(v), FLOAT64, at);
    return (n && !v[n]) || fail_option_value(r, o, "a number", v);
}

static bool store_time_option(Run *r, const Opt *o, const char *v, double *at) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
    double number;
    size_t n = num_read_float(v, strlen(v), FLOAT64, &number);
    for (size_t i = 0; n && i < sizeof units / sizeof *units; i++)
        if (strcmp(v + n, units[i].unit) == 0) {
            *at = number * units[i].seconds;
            if (*at >= 1e-3 && *at < 1e9) return true;
        }
    return fail_option_value(
        r, o, "a time of at least 1ms, such as 90, 1.5s, 200ms, 2m or 1h", v);
}

static Text source_text(Run *r, const char *label, const char *v) {
    size_t n = strlen(v);
    uint32_t src = source_add(r->s, label, v, n);
    return (Text){source_get(r->s, src)->text, {src, 0, (uint32_t)n}};
}

/* Does the option take comma-separated bare names? */
static bool takes_names(const Opt *o) {
    static const char *const kinds[] = {"NAME", "TAG", "KINDS"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(o->arg, kinds[i], strlen(kinds[i])) == 0)
            return !strpbrk(o->arg, "=:");
    return false;
}

/* A script's variable may be empty, which would silently request nothing. */
static bool check_not_empty(Run *r, const Opt *o, const char *v) {
    char **word;
    if (!v || !o->arg || o->kind == OPT_TEXT || o->kind == OPT_MAYBE) return true;
    if (!*v)
        return fail(r->s, NOWHERE, E_USAGE, "--%s takes %s, not an empty text", o->name,
                    o->arg);
    size_t n = takes_names(o) ? str_split(session_arena(r->s), v, ',', &word) : 0;
    for (size_t i = 0; i < n; i++)
        if (!*word[i])
            return fail(r->s, NOWHERE, E_USAGE, "--%s: a name is missing in '%s'",
                        o->name, v);
    return n || !takes_names(o) ||
           fail(r->s, NOWHERE, E_USAGE, "--%s: there is no name in '%s'", o->name, v);
}

static bool store_option(Run *r, const Opt *o, const char *v) {
    if (!check_not_empty(r, o, v)) return false;
    char *at = (char *)r->common + o->at;
    void *field = at;
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)field = true;
        return true;
    case OPT_INT:
        return store_int_option(r, o, v, field);
    case OPT_FLOAT:
        return store_float_option(r, o, v, field);
    case OPT_SIZE:
        return num_read_size(v, field) ||
               fail_option_value(r, o, "a size such as 512M or 10MB", v);
    case OPT_NAMES: {
        const char **names = field;
        *names = *names ? arena_printf(session_arena(r->s), "%s,%s", *names, v) : v;
        return true;
    }
    case OPT_TIME:
        return store_time_option(r, o, v, field);
    case OPT_STR:
    case OPT_TEXT:
    case OPT_MAYBE:
    case OPT_FILE:
        *(const char **)field = v;
        return true;
    case OPT_LIST:
    case OPT_FILES: {
        Text t = source_text(r, arena_printf(session_arena(r->s), "--%s", o->name), v);
        vec_push(r->s, (Texts *)field, t);
        return true;
    }
    case OPT_ENUM:
        return store_enum_option(r, o, v, field);
    case OPT_LEVEL: {
        int64_t level = 1;
        if (v && !store_int_option(r, o, v, &level)) return false;
        if (level < 1 || level > 19)
            return fail_option_value(r, o, "a level from 1 to 19", v ? v : "");
        *(int *)field = (int)level;
        return true;
    }
    }
    return false;
}

/* ---- lists ---- */
size_t run_names(Run *r, const Texts *t, const char *const **list) {
    Arena *a = session_arena(r->s);
    size_t n = 0, room = 0;
    for (size_t i = 0; i < t->n; i++) {
        char **part;
        room += str_split(a, t->p[i].p, ',', &part);
    }
    const char **out = NEW_N(a, room, const char *);
    for (size_t i = 0; i < t->n; i++) {
        char **part;
        size_t k = str_split(a, t->p[i].p, ',', &part);
        for (size_t j = 0; j < k; j++)
            out[n++] = part[j];
    }
    *list = out;
    return n;
}

/* ---- walking ---- */
static bool takes_value(const Opt *o) {
    return o->kind != OPT_FLAG && o->kind != OPT_LEVEL && o->kind != OPT_MAYBE;
}

static bool needs_value(Run *r, const Opt *o) {
    const char *v = option_values(r, o);
    return fail(r->s, NOWHERE, E_USAGE, "--%s needs %s", o->name, v ? v : "a value");
}

static bool parse_long(Run *r, int argc, char **argv, int *i) {
    const char *name = argv[*i] + 2, *eq = strchr(name, '=');
    const Opt *o = find_long(r, name, eq ? (size_t)(eq - name) : strlen(name));
    if (!o) return false;
    if (o->kind == OPT_FLAG && eq)
        return fail(r->s, NOWHERE, E_USAGE, "--%s takes no value", o->name);
    if (takes_value(o) && !eq && *i + 1 >= argc) return needs_value(r, o);
    if (o->kind == OPT_MAYBE && !eq) {
        bool here = *i + 1 < argc && argv[*i + 1][0] != '-';
        return store_option(r, o, here ? argv[++*i] : "");
    }
    return store_option(r, o, eq ? eq + 1 : takes_value(o) ? argv[++*i] : NULL);
}

/* -f, -fz, -oFILE, -o FILE, -z3 */
static bool parse_short(Run *r, int argc, char **argv, int *i) {
    for (const char *p = argv[*i] + 1; *p; p++) {
        const Opt *o = find_short(r, *p);
        if (!o) return false;
        if (o->kind == OPT_FLAG) {
            store_option(r, o, NULL);
        } else if (o->kind == OPT_LEVEL) {
            size_t n = strspn(p + 1, "0123456789");
            const char *v = n ? arena_str(session_arena(r->s), p + 1, n) : NULL;
            if (!store_option(r, o, v)) return false;
            p += n;
        } else {
            if (!p[1] && *i + 1 >= argc) return needs_value(r, o);
            return store_option(r, o, p[1] ? p + 1 : argv[++*i]);
        }
    }
    return true;
}

bool tool_parse(Run *r, int argc, char **argv) {
    bool options = true;
    r->common->format = -1;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        bool ok = true;
        if (!options || arg[0] != '-' || !arg[1]) {
            Text t = source_text(r, arena_printf(session_arena(r->s), "argument %d", i),
                                 arg);
            vec_push(r->s, &r->common->operands, t);
        } else if (strcmp(arg, "--") == 0) {
            options = false;
        } else {
            ok = arg[1] == '-' ? parse_long(r, argc, argv, &i)
                               : parse_short(r, argc, argv, &i);
        }
        if (!ok) return false;
    }
    return true;
}
