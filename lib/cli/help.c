/* --help, and the hidden --dump from which man pages and completions are generated,
 * using the same table as parsing. */
#include "cli/cli.h"

#include <string.h>

static const char *option_argument(const Tool *t, const Opt *o) {
    if (o->kind == OPT_ENUM && !o->arg) return t->formats;
    return o->arg;
}

static const char *shown_argument(const Tool *t, const Opt *o, Session *s) {
    const char *a = option_argument(t, o);
    return a && o->kind == OPT_ENUM ? option_enum_words(session_arena(s), a) : a;
}

/* The screen is 80 columns wide; help texts begin at HELP_COLUMN. */
enum { HELP_COLUMN = 31, HELP_WIDTH = 79 - HELP_COLUMN };

/* Puts a text that starts at HELP_COLUMN, broken between words. */
static void put_wrapped(const char *p, Str *out) {
    while (strlen(p) > HELP_WIDTH) {
        size_t n = HELP_WIDTH;
        while (n > 0 && p[n] != ' ')
            n--;
        if (n == 0) n = strcspn(p, " ");
        if (!p[n]) break;
        str_printf(out, "%.*s\n%*s", (int)n, p, HELP_COLUMN, "");
        p += n + 1;
    }
    str_printf(out, "%s\n", p);
}

static void help_option(const Tool *t, const Opt *o, Str *out) {
    Str left = STR(out->s);
    str_printf(&left, o->key ? "  -%c, " : "      ", o->key);
    str_printf(&left, "--%s", o->name);
    const char *arg = shown_argument(t, o, out->s);
    bool maybe = o->kind == OPT_MAYBE || o->kind == OPT_LEVEL;
    if (arg)
        str_printf(&left, "%s%s%s",
                   o->kind == OPT_LEVEL ? "[="
                   : maybe              ? " ["
                                        : " ",
                   arg, maybe ? "]" : "");
    if (left.n < HELP_COLUMN)
        str_printf(out, "%-*s", HELP_COLUMN, str_text(&left));
    else
        str_printf(out, "%s\n%*s", str_text(&left), HELP_COLUMN, "");
    put_wrapped(o->help, out);
    str_free(&left);
}

/* In the order in which a reader meets them. */
static const OptGroup group_order[] = {GROUP_INPUT, GROUP_WORK, GROUP_OUTPUT,
                                       GROUP_COMMON};
enum { NGROUP = sizeof group_order / sizeof *group_order };

static const char *group_title(const Tool *t, OptGroup g) {
    return g == GROUP_WORK     ? t->work
           : g == GROUP_INPUT  ? "Input"
           : g == GROUP_OUTPUT ? "Output"
                               : "Common";
}

/* The next option of a group that is shown, from *i on; NULL at the end. */
static const Opt *next_in_group(const Tool *t, OptGroup g, size_t *i) {
    for (const Opt *o; (o = tool_option(t, *i));) {
        ++*i;
        if (o->help && o->group == g) return o;
    }
    return NULL;
}

/* Command lines with the prefix under which the tools are installed. */
static void put_examples(const Tool *t, const char *program, Str *out) {
    static const char *const tools[] = {"gload", "ggrad", "grewrite", "grun", "gprof"};
    size_t n = strlen(program), own = strlen(t->name), prefix = 0;
    if (n > own && strcmp(program + n - own, t->name) == 0) prefix = n - own;
    for (const char *p = t->examples; *p;) {
        size_t word = strcspn(p, " \n"), after = word + strspn(p + word, " ");
        bool first = p == t->examples || p[-1] == '\n';
        if (first) str_puts(out, "  ");
        for (size_t k = 0; k < sizeof tools / sizeof *tools; k++)
            if (strlen(tools[k]) == word && strncmp(p, tools[k], word) == 0)
                str_add(out, program, prefix);
        after += p[after] == '\n';
        str_add(out, p, after);
        p += after;
    }
}

void tool_help(const Tool *t, const char *program, Str *out) {
    const Opt *o;
    str_printf(out, "usage: %s [options] %s\n%s\n", program, t->operands, t->brief);
    for (size_t g = 0; g < NGROUP; g++) {
        str_printf(out, "\n%s:\n", group_title(t, group_order[g]));
        for (size_t i = 0; (o = next_in_group(t, group_order[g], &i));)
            help_option(t, o, out);
    }
    str_puts(out, "\nExamples:\n");
    put_examples(t, program, out);
    str_printf(out, "\nThe manual: man %s\n", program);
}

static void dump_options(const Tool *t, Str *out) {
    str_printf(out, "tool\t%s\t%s\t%s\n", t->name, t->operands, t->brief);
    static const char *const kinds[] = {
        [OPT_FLAG] = "flag",   [OPT_INT] = "int",     [OPT_FLOAT] = "float",
        [OPT_SIZE] = "size",   [OPT_STR] = "str",     [OPT_TEXT] = "str",
        [OPT_FILE] = "file",   [OPT_LIST] = "list",   [OPT_FILES] = "files",
        [OPT_ENUM] = "enum",   [OPT_MAYBE] = "maybe", [OPT_LEVEL] = "level",
        [OPT_NAMES] = "names", [OPT_TIME] = "time"};
    for (size_t i = 0; tool_option(t, i); i++) {
        const Opt *o = tool_option(t, i);
        if (!o->help) continue;
        const char *arg = shown_argument(t, o, out->s);
        char key[2] = {o->key ? o->key : '-', 0};
        str_printf(out, "option\t%s\t%s\t%s\t%s\t%s\t%s\n", o->name, key,
                   kinds[o->kind], arg ? arg : "-", o->from ? o->from : "-", o->help);
    }
}

/* mdoc: a literal hyphen is \-; a backslash is \e; a leading dot is escaped; every
 * sentence starts a line. */
static void mdoc_text(const char *p, Str *out) {
    if (*p == '.' || *p == '\'') str_puts(out, "\\&");
    for (; *p; p++) {
        if (*p == '\\') {
            str_puts(out, "\\e");
        } else if (*p == '-') {
            str_puts(out, "\\-");
        } else if (*p == '.' && p[1] == ' ') {
            str_puts(out, ".\n");
            p++;
        } else {
            str_putc(out, *p);
        }
    }
}

static void mdoc_option(const Tool *t, const Opt *o, Str *out) {
    const char *arg = shown_argument(t, o, out->s);
    str_puts(out, ".It ");
    if (o->key) str_printf(out, "Fl %c , ", o->key);
    str_puts(out, "Fl \\-");
    mdoc_text(o->name, out);
    if (arg && o->kind == OPT_ENUM)
        str_puts(out, " Cm "), mdoc_text(arg, out);
    else if (arg && o->kind == OPT_MAYBE)
        str_printf(out, " Op Ar %s", arg);
    else if (arg && o->kind == OPT_LEVEL)
        str_printf(out, " Ns Op = Ns Ar %s", arg);
    else if (arg)
        str_puts(out, " Ar "), mdoc_text(arg, out);
    str_putc(out, '\n');
    mdoc_text(o->help, out);
    str_putc(out, '\n');
}

static void dump_man(const Tool *t, Str *out) {
    const Opt *o;
    for (size_t g = 0; g < NGROUP; g++) {
        str_printf(out, ".Ss %s\n.Bl -tag -width Ds\n", group_title(t, group_order[g]));
        for (size_t i = 0; (o = next_in_group(t, group_order[g], &i));)
            mdoc_option(t, o, out);
        str_puts(out, ".El\n");
    }
}

/* Position, name, tags and text of each rewrite, between tabs. */
static bool dump_rules(Session *s, Str *out) {
    const RewriteEntry *e;
    size_t n;
    if (!rewrite_list(s, &(RewriteQuery){.mode = "FAST_RUN"}, &e, &n)) return false;
    for (size_t i = 0; i < n; i++)
        str_printf(out, "%s\t%g\t%s\t%s\t%s\n", e[i].is_pass ? "pass" : "rule",
                   e[i].position, e[i].name, e[i].tags, e[i].text);
    return true;
}

bool tool_dump(const Run *r, const char *what, Str *out) {
    if (strcmp(what, "options") == 0) return dump_options(r->tool, out), true;
    if (strcmp(what, "man") == 0) return dump_man(r->tool, out), true;
    if (strcmp(what, "ops") == 0) return gload_dump_ops(r->s, out);
    if (strcmp(what, "rules") == 0) return dump_rules(r->s, out);
    return fail(r->s, NOWHERE, E_USAGE,
                "--dump takes man, options, ops or rules, not '%s'", what);
}
