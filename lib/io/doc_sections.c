/* The sections of a text: inputs, shared, let, outputs, updates. Each is a block of
 * lines or a mapping from a name to the rest of the line; both become the same
 * statements. */
#include "io/io_impl.h"
#include "lang/approx.h"
#include "op/convert.h"
#include "value/class.h"

#include <string.h>

/* ---- texts ---- */

/* Always false: how the first item of a list is written in the section. */
static bool note_line_of_section(Session *s, const Doc *list, const char *section) {
    const Doc *k = list->first;
    if (k && k->kind == DOC_MAP)
        return note(s, NOWHERE, "leave out the dashes: one `name: ...` a line");
    if (!k || k->kind != DOC_TEXT || !word_is_name(k->p, k->n))
        return note(
            s, NOWHERE,
            "write `%s: |`, and below it the lines, indented and without dashes",
            section);
    const char *rest = strcmp(section, "inputs") == 0   ? "float64"
                       : strcmp(section, "shared") == 0 ? "float64 = 0.0"
                                                        : "EXPRESSION";
    return note(s, NOWHERE, "write `%s:`, and below it a line for each: `  %s: %s`",
                section, k->p, rest);
}

/* A block of lines that YAML has not folded. */
static bool want_lines(Session *s, const Doc *d, const char *section) {
    if (d->kind == DOC_LIST) {
        fail(s, d->at, E_FORMAT,
             "\"%s\" must be a block of lines or a mapping, not a list", section);
        return note_line_of_section(s, d, section);
    }
    if (!d->folded) return true;
    fail(s, d->at, E_FORMAT, "YAML joins these lines into one");
    return note(s, NOWHERE, "begin the block with a bar: `%s: |`", section);
}

static bool want_name(Session *s, Sym name, Span at) {
    const char *text = sym_text(s, name);
    if (word_is_name(text, strlen(text))) return true;
    fail(s, at, E_NAME, "\"%s\" can't be the name of a variable", text);
    return note(s, NOWHERE,
                "a name consists of ASCII letters, digits and _, and is not a word of "
                "the language");
}

/* Position of the first `=` outside comparisons, brackets and strings; n if there is
 * none. */
static size_t find_equals(const char *p, size_t n) {
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (c == '\'' || c == '"') {
            for (i++; i < n && p[i] != c; i++)
                i += p[i] == '\\';
            continue;
        }
        if (c == '#') return n;
        depth += c == '(' || c == '[' || c == '{';
        depth -= c == ')' || c == ']' || c == '}';
        if (c != '=' || depth > 0) continue;
        bool compares =
            (i + 1 < n && p[i + 1] == '=') || (i > 0 && memchr("=!<>", p[i - 1], 4));
        if (!compares) return i;
    }
    return n;
}

/* "TYPE", "TYPE = EXPRESSION" or "EXPRESSION": missing parts are empty. */
typedef struct Rest {
    Span type, value;
} Rest;

static Span trim_span(Session *s, Span at) {
    const char *p = source_get(s, at.source)->text;
    while (at.begin < at.end &&
           (p[at.begin] == ' ' || p[at.begin] == '\t' || p[at.begin] == '\n'))
        at.begin++;
    while (at.end > at.begin &&
           (p[at.end - 1] == ' ' || p[at.end - 1] == '\t' || p[at.end - 1] == '\n'))
        at.end--;
    return at;
}

static Rest split_rest(Session *s, Span text, bool alone_is_type) {
    const char *p = source_get(s, text.source)->text + text.begin;
    size_t n = text.end - text.begin, at = find_equals(p, n);
    Span none = {text.source, text.end, text.end};
    if (at == n)
        return alone_is_type ? (Rest){trim_span(s, text), none}
                             : (Rest){none, trim_span(s, text)};
    return (Rest){
        trim_span(s, (Span){text.source, text.begin, text.begin + (uint32_t)at}),
        trim_span(s, (Span){text.source, text.begin + (uint32_t)at + 1, text.end})};
}

static bool is_empty_span(Span at) {
    return at.begin >= at.end;
}

/* ---- dims ---- */

static bool fail_dims(Section *x, const Doc *d) {
    const char *name = d->kind == DOC_TEXT && d->n ? d->p
                       : d->kind == DOC_MAP && d->first->key
                           ? sym_text(x->s, d->first->key)
                           : "n";
    fail(x->s, d->at, E_FORMAT, "\"dims\" must be a list of names");
    note(x->s, NOWHERE, "write `dims: [%s]`", name);
    return d->kind != DOC_MAP ? false : hint(x->s, HINT_SIZES);
}

/* The dims that no input or shared variable has; to declare others does no harm. */
bool section_dims(Section *x, const Doc *d) {
    if (d && d->kind != DOC_LIST) return doc_is_nothing(d) || fail_dims(x, d);
    for (const Doc *k = d ? d->first : NULL; k; k = k->next) {
        if (k->kind != DOC_TEXT) return fail_dims(x, k);
        Sym name = sym_n(x->s, k->p, k->n);
        if (!want_name(x->s, name, k->at)) return false;
        if (graph_has_dim(x->g, name))
            return fail(x->s, k->at, E_DUPLICATE, "the dim %s is declared twice", k->p);
        graph_dim(x->g, name);
    }
    return true;
}

/* ---- declarations ---- */

typedef bool Declare(Section *x, Sym name, Span name_at, Rest rest);

static const Type *declared_type(Section *x, Sym name, Span at) {
    if (is_empty_span(at)) {
        fail(x->s, at, E_SYNTAX, "\"%s\" needs a type, such as float64[3]",
             sym_text(x->s, name));
        return NULL;
    }
    const Type *t = type_parse(x->s, source_get(x->s, at.source)->text + at.begin,
                               at.end - at.begin, at);
    return t && compiler_check_dims(x->c, t, name, at) ? t : NULL;
}

static bool declare_input(Section *x, Sym name, Span name_at, Rest rest) {
    if (!want_name(x->s, name, name_at) || !compiler_check_name(x->c, name, name_at))
        return false;
    if (!is_empty_span(rest.value)) {
        fail(x->s, rest.value, E_SYNTAX, "the input \"%s\" can't have a value",
             sym_text(x->s, name));
        return note(x->s, NOWHERE, "declare state with an initial value in `shared`");
    }
    const Type *t = declared_type(x, name, rest.type);
    return t && (type_make_variable(x->g, t, name), true);
}

static bool declare_shared(Section *x, Sym name, Span name_at, Rest rest) {
    if (!want_name(x->s, name, name_at) || !compiler_check_name(x->c, name, name_at))
        return false;
    if (is_empty_span(rest.type) && !is_empty_span(rest.value)) {
        vec_push(x->s, &x->untyped, ((struct Untyped){name, name_at, rest.value}));
        return true;
    }
    const Type *t = declared_type(x, name, rest.type);
    if (!t) return false;
    Var v = graph_shared(x->g, name, t);
    if (!is_empty_span(rest.value))
        vec_push(x->s, &x->init, ((struct Init){v, rest.value, false}));
    return true;
}

static bool declare_line(Section *x, const Ast *st, Declare *declare) {
    bool untyped = st->kind == AST_ASSIGN && st->nkid == 2 && declare == declare_shared;
    if (untyped)
        return declare(
            x, st->kid[0]->sym, st->kid[0]->at,
            (Rest){{st->at.source, st->at.begin, st->at.begin}, st->kid[1]->at});
    if (st->kind != AST_ANNOT)
        return fail(x->s, st->at, E_SYNTAX, "expected a declaration `name: type`");
    Span none = {st->at.source, st->at.end, st->at.end};
    uint32_t len = (uint32_t)strlen(sym_text(x->s, st->sym));
    Span name_at = {st->at.source, st->at.begin, st->at.begin + len};
    return declare(x, st->sym, name_at,
                   (Rest){st->type, st->nkid ? st->kid[0]->at : none});
}

static bool declare_block(Section *x, Span text, Declare *declare) {
    const Ast **st;
    size_t n;
    if (!ast_parse_block(x->s, x->a, text, &st, &n)) {
        const char *p = source_get(x->s, text.source)->text + text.begin;
        return !memchr(p, ':', text.end - text.begin) &&
               note(x->s, NOWHERE, "each line here is a declaration `name: type`");
    }
    for (size_t i = 0; i < n; i++)
        if (!declare_line(x, st[i], declare)) return false;
    return true;
}

static bool compile_declarations(Section *x, const Doc *d, const char *section,
                                 Declare *declare) {
    if (!d) return true;
    if (d->kind != DOC_MAP)
        return want_lines(x->s, d, section) &&
               declare_block(x, doc_span(x->s, d), declare);
    for (const Doc *k = d->first; k; k = k->next) {
        if (!doc_want_text(x->s, k, "a type")) return false;
        if (!declare(x, k->key, k->key_at, split_rest(x->s, doc_span(x->s, k), true)))
            return false;
    }
    return true;
}

bool section_inputs(Section *x, const Doc *d) {
    return compile_declarations(x, d, "inputs", declare_input);
}

bool section_shared(Section *x, const Doc *d) {
    return compile_declarations(x, d, "shared", declare_shared);
}

/* ---- initial values ---- */

/* A number for a whole array. */
static bool note_full(Section *x, const Type *t, const Type *got, Span at) {
    if (t->kind != TYPE_TENSOR || got->kind != TYPE_TENSOR || got->ndim) return false;
    if (t->ndim == 0 || type_size(t) < 0) return false;
    Str shape = STR(x->s);
    shape_text(x->s, t->ndim, t->dim, &shape);
    note(x->s, NOWHERE, "it is not stretched: write full(%s, %.*s)", str_text(&shape),
         (int)(at.end - at.begin), source_get(x->s, at.source)->text + at.begin);
    str_free(&shape);
    return false;
}

static bool init_fits(Section *x, Var shared, Var value, Span at) {
    const Type *t = var_type(x->g, shared), *got = var_type(x->g, value);
    DiagCode code = t->kind != got->kind     ? E_TYPE
                    : t->dtype != got->dtype ? E_DTYPE
                                             : E_SHAPE;
    if (type_meet(x->s, t, got)) return true;
    fail(
        x->s, at, code, "the shared variable \"%s\" is %s, but its initial value is %s",
        sym_text(x->s, var_name(x->g, shared)), type_str(x->s, t), type_str(x->s, got));
    return note_full(x, t, got, at);
}

static bool set_init(Section *x, struct Init i) {
    Var v;
    if (!compiler_expr(x->c, i.text, var_type(x->g, i.shared), &v)) return false;
    if (!init_fits(x, i.shared, v, i.text)) return false;
    graph_init_shared(x->g, i.shared, v);
    return true;
}

static bool inits_are_closed(Section *x) {
    const char *why;
    Var open = graph_open_init(x->g, &why);
    if (open == VAR_NONE) return true;
    Span at = NOWHERE;
    for (size_t i = 0; i < x->init.n; i++)
        if (x->init.p[i].shared == open) at = x->init.p[i].text;
    return fail(x->s, at, E_VALUE, "the initial value of \"%s\" %s",
                sym_text(x->s, var_name(x->g, open)), why);
}

/* In the order of the text: each may follow those above it. */
bool section_untyped(Section *x) {
    for (size_t i = 0; i < x->untyped.n; i++) {
        struct Untyped u = x->untyped.p[i];
        Var v;
        if (!compiler_check_name(x->c, u.name, u.at) ||
            !compiler_expr(x->c, u.text, NULL, &v) ||
            !compiler_check_dims(x->c, var_type(x->g, v), u.name, u.at))
            return false;
        Var shared = graph_shared(x->g, u.name, var_type(x->g, v));
        graph_init_shared(x->g, shared, v);
        vec_push(x->s, &x->init, ((struct Init){shared, u.text, true}));
    }
    return true;
}

void section_free(Section *x) {
    vec_free(&x->init);
    vec_free(&x->untyped);
    arena_free(x->a);
}

bool section_inits(Section *x) {
    bool any = false;
    for (size_t i = 0; i < x->init.n; i++) {
        Var v = x->init.p[i].shared;
        if (!x->init.p[i].done && !set_init(x, x->init.p[i])) return false;
        any = any || var_leafrec(x->g, v)->init != VAR_NONE;
    }
    return !any || inits_are_closed(x);
}

/* ---- definitions ---- */

static Ast *new_ast(Arena *a, AstKind kind, Span at) {
    Ast *e = NEW(a, Ast);
    e->kind = kind;
    e->at = at;
    return e;
}

/* The targets of "a, b": names, followed by room for the expression. */
static const Ast **parse_targets(Session *s, Arena *a, const Doc *d, size_t *n) {
    char **part;
    const char *key = sym_text(s, d->key);
    *n = str_split(a, key, ',', &part);
    const Ast **kid = arena_alloc(a, (*n + 1) * sizeof *kid);
    for (size_t i = 0; i < *n; i++) {
        Ast *e = new_ast(a, AST_NAME, d->key_at);
        e->sym = sym(s, part[i]);
        if (!want_name(s, e->sym, d->key_at)) return NULL;
        kid[i] = e;
    }
    return kid;
}

void doc_line(Session *s, const Doc *k, Str *out) {
    Rest rest = split_rest(s, doc_span(s, k), false);
    const char *p = source_get(s, rest.value.source)->text;
    str_puts(out, sym_text(s, k->key));
    if (!is_empty_span(rest.type))
        str_printf(out, ": %.*s", (int)(rest.type.end - rest.type.begin),
                   p + rest.type.begin);
    str_puts(out, " = ");
    str_add(out, p + rest.value.begin, rest.value.end - rest.value.begin);
}

static void expect_targets(Section *x, const Doc *d) {
    char **part;
    size_t n = str_split(x->a, sym_text(x->s, d->key), ',', &part);
    for (size_t i = 0; i < n; i++)
        compiler_expect(x->c, sym(x->s, part[i]));
}

typedef struct DocDefinition {
    Section *x;
    const Doc *d;
} DocDefinition;

static const Ast *doc_statement(void *ctx, Arena *a) {
    const DocDefinition *q = ctx;
    const Doc *d = q->d;
    Session *s = q->x->s;
    size_t n;
    if (!doc_want_text(s, d, "an expression")) return NULL;
    Rest rest = split_rest(s, doc_span(s, d), false);
    if (is_empty_span(rest.value)) {
        fail(s, rest.value, E_SYNTAX, "\"%s\" has no expression", sym_text(s, d->key));
        return NULL;
    }
    const Ast **kid = parse_targets(s, a, d, &n);
    if (!kid || !(kid[n] = ast_parse(s, a, rest.value))) return NULL;
    bool typed = !is_empty_span(rest.type);
    if (typed && n != 1) {
        fail(s, rest.type, E_SYNTAX, "a type can be declared for one name only");
        return NULL;
    }
    Ast *e = new_ast(a, typed ? AST_ANNOT : AST_ASSIGN, d->key_at);
    e->sym = kid[0]->sym;
    e->type = rest.type;
    e->kid = kid + typed;
    e->nkid = (uint32_t)(n + 1 - typed);
    return e;
}

bool section_let(Section *x, const Doc *d) {
    if (d && d->kind != DOC_MAP)
        return want_lines(x->s, d, "let") &&
               compiler_define(x->c, doc_span(x->s, d), true);
    for (const Doc *k = d ? d->first : NULL; k; k = k->next)
        expect_targets(x, k);
    DocDefinition q = {x, d ? d->first : NULL};
    for (; q.d; q.d = q.d->next)
        if (!compiler_define_made(x->c, doc_statement, &q)) return false;
    return true;
}

/* ---- outputs and updates ---- */

static bool output_name(Section *x, const Doc *k) {
    if (k->kind != DOC_TEXT) {
        fail(x->s, k->at, E_FORMAT,
             "expected the name of an output, but YAML reads a %s",
             k->kind == DOC_MAP ? "mapping" : "list");
        return note(x->s, NOWHERE,
                    "without dashes or brackets around it, `outputs` may be "
                    "a mapping: one `label: expression` a line");
    }
    Sym name = sym_n(x->s, k->p, k->n);
    if (word_is_name(k->p, k->n)) return compiler_output(x->c, name, doc_span(x->s, k));
    fail(x->s, k->at, E_FORMAT,
         "\"%s\" is not a name; a list of outputs holds names, a mapping (label: "
         "expression) holds expressions",
         k->p);
    return note(x->s, NOWHERE, "give it a label: `outputs:`, and below it `  y: %s`",
                k->p);
}

/* Names, separated by commas? */
static bool is_list_of_names(const char *p) {
    for (; *p; p++)
        if (!ascii_is_word(*p) && *p != ',' && *p != ' ') return false;
    return true;
}

bool section_outputs(Section *x, const Doc *d) {
    if (!d) return true;
    if (d->kind == DOC_TEXT) {
        fail(x->s, d->at, E_FORMAT,
             "\"outputs\" must be a list of names or a mapping (label: expression)");
        if (d->n > 0 && is_list_of_names(d->p))
            return note(x->s, NOWHERE, "write `outputs: [%s]`", d->p);
        return note(
            x->s, NOWHERE,
            "write `outputs:`, and below it a line `  y: %s`; or a list of names, "
            "`outputs: [y]`",
            d->n > 0 && !strchr(d->p, '\n') ? d->p : "EXPRESSION");
    }
    for (const Doc *k = d->first; k; k = k->next) {
        const char *label = k->key ? sym_text(x->s, k->key) : "";
        if (d->kind == DOC_LIST) {
            if (!output_name(x, k)) return false;
            continue;
        }
        if (!io_is_label(label, strlen(label)))
            return fail(x->s, k->key_at, E_NAME,
                        "a label can't contain control characters, such as marks of "
                        "text direction");
        if (!doc_want_text(x->s, k, "an expression")) return false;
        if (!compiler_output(x->c, k->key, doc_span(x->s, k))) return false;
    }
    return true;
}

/* Turns `W: expr` into the statement `W = expr`, padded so that the expression keeps
 * its column. */
static Span update_text(Section *x, const Doc *k) {
    const char *name = sym_text(x->s, k->key);
    uint32_t line, col, room = (uint32_t)strlen(name) + 1;
    span_place(x->s, k->key_at, &line, &col);
    Str t = STR(x->s);
    str_puts(&t, name);
    if (line != k->line) col = k->col > room ? k->col - room : 1;
    for (uint32_t i = col + room; i < k->col; i++)
        str_putc(&t, ' ');
    str_puts(&t, "=");
    str_add(&t, k->p, k->n);
    uint32_t own = source_add_at(x->s, source_get(x->s, k->at.source)->name, t.p, t.n,
                                 k->line, col);
    Span at = {own, 0, (uint32_t)t.n};
    str_free(&t);
    return at;
}

bool section_updates(Section *x, const Doc *d) {
    if (!d) return true;
    if (d->kind == DOC_MAP) {
        for (const Doc *k = d->first; k; k = k->next) {
            if (!doc_want_text(x->s, k, "an expression") ||
                !want_name(x->s, k->key, k->key_at))
                return false;
            if (!compiler_update(x->c, update_text(x, k))) return false;
        }
        return true;
    }
    const Ast **st;
    size_t n;
    if (!want_lines(x->s, d, "updates") ||
        !ast_parse_block(x->s, x->a, doc_span(x->s, d), &st, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!compiler_update(x->c, st[i]->at)) return false;
    return true;
}

/* ---- about variables ---- */

static bool find_named(Section *x, Sym name, Span at, Var *v) {
    *v = graph_find(x->g, name);
    return *v != VAR_NONE ||
           fail(x->s, at, E_NAME, "there is no variable \"%s\"", sym_text(x->s, name));
}

bool section_compare(Section *x, const Doc *d) {
    if (!d || doc_is_nothing(d)) return true;
    if (d->kind != DOC_MAP)
        return fail(x->s, d->at, E_FORMAT, "\"compare\" must be a mapping (name: how)");
    for (const Doc *k = d->first; k; k = k->next) {
        Approx how;
        Var v;
        if (!find_named(x, k->key, k->key_at, &v) ||
            !doc_want_text(x->s, k, "a comparison") ||
            !approx_read(x->s, doc_span(x->s, k), &how))
            return false;
        graph_set_approx(x->g, v, how);
    }
    return true;
}

bool section_aliases(Section *x, const Doc *d) {
    if (!d || doc_is_nothing(d)) return true;
    if (d->kind != DOC_MAP)
        return fail(x->s, d->at, E_FORMAT,
                    "\"aliases\" must be a mapping (name: text)");
    for (const Doc *k = d->first; k; k = k->next) {
        Var v;
        if (!find_named(x, k->key, k->key_at, &v) ||
            !doc_want_text(x->s, k, "a name in another model"))
            return false;
        if (!io_is_label(k->p, k->n))
            return fail(x->s, k->at, E_NAME,
                        "a name can't be empty or contain control characters");
        graph_alias(x->g, v, sym_n(x->s, k->p, k->n));
    }
    return true;
}

bool section_statistics(Section *x, const Doc *d) {
    if (!d || doc_is_nothing(d)) return true;
    if (d->kind != DOC_LIST)
        return fail(x->s, d->at, E_FORMAT, "\"statistics\" must be a list of names");
    for (const Doc *k = d->first; k; k = k->next) {
        Var v;
        if (!doc_want_text(x->s, k, "a name") ||
            !find_named(x, sym_n(x->s, k->p, k->n), k->at, &v))
            return false;
        if (var_leaf(x->g, v) != LEAF_SHARED)
            return fail(x->s, k->at, E_TYPE, "%s is no shared variable", k->p);
        graph_mark_statistic(x->g, v);
    }
    return true;
}

/* ---- single lines from a command line ---- */

static bool add_line(Compiler *c, Span text, Declare *declare) {
    Graph *g = compiler_builder(c)->g;
    Section x = {.s = g->s, .g = g, .c = c, .a = arena_new(g->s)};
    bool ok =
        declare_block(&x, text, declare) && section_untyped(&x) && section_inits(&x);
    section_free(&x);
    return ok;
}

bool io_add_input(Compiler *c, Span text) {
    return add_line(c, text, declare_input);
}

bool io_add_shared(Compiler *c, Span text) {
    return add_line(c, text, declare_shared);
}
