/* Writes a graph as text in its canonical form: one statement per Apply. YAML and JSON
 * share one description; they differ in how a key, a text and a block of lines are
 * written. */
#include "io/io_impl.h"
#include "lang/approx.h"
#include "lang/print.h"
#include "userop/userop.h"
#include "value/class.h"

#include <string.h>
#include <strings.h>

typedef struct TextWriter {
    Session *s;
    Str *out;
    bool json;
    int depth;  /* number of open maps */
    bool first; /* the innermost map is still empty */
    Refs *refs;
    Arena *a;
} TextWriter;

/* ---- texts ---- */

/* Words that YAML 1.1 readers parse as booleans or null. */
static bool yaml_word(const char *p, size_t n) {
    static const char *const words[] = {"y",     "yes", "n",   "no",  "true",
                                        "false", "on",  "off", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], p, n) == 0) return true;
    return false;
}

/* Does every YAML reader parse this text verbatim in a block context? */
static bool is_plain_scalar(const char *p, size_t n) {
    if (n == 0 || yaml_word(p, n)) return false;
    if (!ascii_is_letter(p[0]) || p[n - 1] == ' ' || p[n - 1] == ':') return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < ' ' || p[i] > '~') return false;
        if (p[i] == ':' && p[i + 1] == ' ') return false;
        if (p[i] == '#' && p[i - 1] == ' ') return false;
    }
    return true;
}

static void put_scalar(TextWriter *e, const char *p, size_t n) {
    if (!e->json && is_plain_scalar(p, n))
        str_add(e->out, p, n);
    else
        str_json(e->out, p, n);
}

static void put_indent(TextWriter *e) {
    for (int i = 0; i < e->depth; i++)
        str_puts(e->out, "  ");
}

/* Writes the next member's key, ready for its value. */
static void put_key(TextWriter *e, const char *key, size_t n) {
    if (e->json) str_puts(e->out, e->first ? "\n" : ",\n");
    e->first = false;
    put_indent(e);
    put_scalar(e, key, n);
    str_puts(e->out, e->json ? ": " : ":");
}

static void put_member(TextWriter *e, const char *key, const char *p, size_t n) {
    put_key(e, key, strlen(key));
    if (!e->json) str_putc(e->out, ' ');
    put_scalar(e, p, n);
    if (!e->json) str_putc(e->out, '\n');
}

static void put_word(TextWriter *e, const char *key, const char *text) {
    put_key(e, key, strlen(key));
    str_printf(e->out, e->json ? "%s" : " %s\n", text);
}

static void open_map(TextWriter *e, const char *key) {
    put_key(e, key, strlen(key));
    str_puts(e->out, e->json ? "{" : "\n");
    e->depth++;
    e->first = true;
}

static void close_map(TextWriter *e) {
    e->depth--;
    if (e->json) {
        str_putc(e->out, '\n');
        put_indent(e);
        str_putc(e->out, '}');
    }
    e->first = false;
}

/* Items of flow lists: plain if safe, otherwise quoted. */
static void list_item(TextWriter *e, const char *p, bool first) {
    if (!first) str_puts(e->out, ", ");
    if (!e->json && word_is_name(p, strlen(p)) && !yaml_word(p, strlen(p)))
        str_puts(e->out, p);
    else
        str_json(e->out, p, strlen(p));
}

/* Does the text survive a round trip as a literal block? */
static bool is_block(const char *p, size_t n) {
    if (n < 2 || !memchr(p, '\n', n - 1) || p[0] == ' ' || p[0] == '\n') return false;
    if (p[n - 1] == '\n' && p[n - 2] == '\n') return false;
    for (size_t i = 0; i < n; i++)
        if ((p[i] < ' ' || p[i] > '~') && p[i] != '\n') return false;
    return true;
}

static void put_text_lines(TextWriter *e, const char *p, size_t n) {
    for (const char *end = p + n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t len = stop ? (size_t)(stop - p) : (size_t)(end - p);
        if (len) put_indent(e);
        str_add(e->out, p, len);
        str_putc(e->out, '\n');
        p += len + (stop != NULL);
    }
}

static void put_paragraph(TextWriter *e, const char *key, const char *text) {
    size_t n = strlen(text);
    if (e->json || !is_block(text, n)) {
        put_member(e, key, text, n);
        return;
    }
    put_key(e, key, strlen(key));
    str_puts(e->out, text[n - 1] == '\n' ? " |\n" : " |-\n");
    e->depth++;
    put_text_lines(e, text, n);
    e->depth--;
}

/* Statements `a = b`, one a line: a block in YAML, a mapping in JSON. */
static void put_statements(TextWriter *e, const char *key, const Str *text) {
    if (text->n == 0) return;
    if (!e->json) {
        put_key(e, key, strlen(key));
        str_puts(e->out, " |\n");
        e->depth++;
        put_text_lines(e, text->p, text->n);
        e->depth--;
        return;
    }
    open_map(e, key);
    for (const char *p = text->p, *end = p + text->n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p)), *eq = strstr(p, " = ");
        if (!eq || eq > stop) bug("a statement without \" = \"");
        put_key(e, p, (size_t)(eq - p));
        str_json(e->out, eq + 3, (size_t)(stop - eq - 3));
        p = stop + 1;
    }
    close_map(e);
}

/* ---- which Applies `let` defines ---- */

/* How often each variable is referenced: once per input, output, update, effect and
 * initial value. */
static uint32_t *count_var_uses(const Graph *g, Arena *a) {
    uint32_t *uses = NEW_N(a, g->nvar + 1, uint32_t);
    for (uint32_t i = 0; i < g->nin; i++)
        uses[g->in[i]]++;
    for (size_t i = 0; i < g->outputs.n; i++)
        uses[g->outputs.p[i].var]++;
    for (size_t i = 0; i < g->updates.n; i++)
        uses[g->updates.p[i].value]++;
    for (size_t i = 0; i < g->effects.n; i++)
        uses[g->apply[g->effects.p[i]].out]++;
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (g->leaf[i].init != VAR_NONE) uses[g->leaf[i].init]++;
    if (g->until != VAR_NONE) uses[g->until]++;
    return uses;
}

/* An initial value whose Apply has only constant inputs and no other use is written
 * with its variable. */
static bool stands_alone(const Graph *g, const uint32_t *uses, Var init) {
    ApplyId a = var_owner(g, init);
    if (a == APPLY_NONE || g->apply[a].nout != 1 || g->apply[a].serial) return false;
    if (uses[init] != 1 || var_name(g, init)) return false;
    for (uint32_t i = 0; i < g->apply[a].nin; i++)
        if (!var_is_const(g, apply_in(g, a)[i])) return false;
    return true;
}

/* Marks the variables that `let` defines. */
static uint8_t *mark_let_vars(const Graph *g, Arena *a) {
    uint8_t *live = arena_alloc(a, g->nvar + 1);
    memset(live, 1, g->nvar + 1);
    const uint32_t *uses = count_var_uses(g, a);
    for (uint32_t i = 0; i < g->nleaf; i++) {
        Var init = g->leaf[i].init;
        if (init != VAR_NONE && stands_alone(g, uses, init)) live[init] = 0;
    }
    return live;
}

/* ---- sections ---- */

static const char *ask_ref(void *ctx, const Graph *g, Var v) {
    return refs_text(ctx, g, v, v);
}

static void put_inputs(TextWriter *e, const Graph *g) {
    if (g->inputs.n == 0) return;
    open_map(e, "inputs");
    for (size_t i = 0; i < g->inputs.n; i++) {
        Var v = g->inputs.p[i];
        const char *type = type_str(e->s, var_type(g, v));
        put_member(e, sym_text(e->s, var_name(g, v)), type, strlen(type));
    }
    close_map(e);
}

/* The value as an expression that reads back as the same value of the variable's
 * type. */
static void shared_text(TextWriter *e, const Graph *g, Var v, Var named, Str *out) {
    const Value *value = var_leafrec(g, v)->value;
    const Tensor *t = &value->t;
    const char *ref = refs_text(e->refs, g, v, named);
    if (ref) {
        str_puts(out, ref);
    } else if (var_type(g, v)->kind != TYPE_TENSOR) {
        value_text(e->s, value, -1, out);
    } else if (tensor_size(t) == 0 && t->ndim > 0) {
        str_puts(out, "zeros(");
        shape_text(e->s, t->ndim, t->shape, out);
        str_putc(out, ')');
    } else {
        tensor_text(e->s, t, -1, out);
    }
}

static void init_text(TextWriter *e, const Graph *g, Printer *p, Var v,
                      const uint8_t *live, Str *out) {
    const Leaf *l = var_leafrec(g, v);
    bool bare = l->init != VAR_NONE && var_const(g, l->init) && !var_name(g, l->init) &&
                var_type(g, l->init)->dtype == var_type(g, v)->dtype;
    bool known = value_has_data(l->value);
    if (known || bare) {
        str_puts(out, " = ");
        shared_text(e, g, bare && !known ? l->init : v, v, out);
    } else if (l->init != VAR_NONE) {
        str_puts(out, " = ");
        if (live[l->init]) {
            print_expression(p, l->init, out);
        } else {
            Str line = STR(e->s);
            print_statement(p, var_owner(g, l->init), &line);
            const char *eq = strstr(line.p, " = ");
            str_puts(out, eq ? eq + 3 : line.p);
            str_free(&line);
        }
    }
}

static void put_shared(TextWriter *e, const Graph *g, Printer *p, const uint8_t *live) {
    if (g->shared.n == 0) return;
    open_map(e, "shared");
    Str text = STR(e->s);
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i];
        str_clear(&text);
        str_puts(&text, type_str(e->s, var_type(g, v)));
        init_text(e, g, p, v, live, &text);
        put_member(e, sym_text(e->s, var_name(g, v)), text.p, text.n);
    }
    str_free(&text);
    close_map(e);
}

static void put_dims(TextWriter *e, const Graph *g) {
    VarList dim = graph_free_dims(g, e->a);
    if (dim.n == 0) return;
    put_key(e, "dims", 4);
    str_puts(e->out, e->json ? "[" : " [");
    for (size_t i = 0; i < dim.n; i++)
        list_item(e, sym_text(e->s, var_name(g, dim.p[i])), i == 0);
    str_puts(e->out, e->json ? "]" : "]\n");
}

static bool labels_are_names(const Graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        if (graph_find(g, g->outputs.p[i].label) != g->outputs.p[i].var) return false;
    return true;
}

static void put_graph_outputs(TextWriter *e, const Graph *g, Printer *p) {
    if (labels_are_names(g)) {
        put_key(e, "outputs", 7);
        str_puts(e->out, e->json ? "[" : " [");
        for (size_t i = 0; i < g->outputs.n; i++)
            list_item(e, sym_text(e->s, g->outputs.p[i].label), i == 0);
        str_puts(e->out, e->json ? "]" : "]\n");
        return;
    }
    open_map(e, "outputs");
    Str text = STR(e->s);
    for (size_t i = 0; i < g->outputs.n; i++) {
        str_clear(&text);
        print_expression(p, g->outputs.p[i].var, &text);
        put_member(e, sym_text(e->s, g->outputs.p[i].label), text.p, text.n);
    }
    str_free(&text);
    close_map(e);
}

static void put_updates(TextWriter *e, const Graph *g, Printer *p) {
    Str text = STR(e->s);
    for (size_t i = 0; i < g->updates.n; i++) {
        str_printf(&text, "%s = ", sym_text(e->s, var_name(g, g->updates.p[i].shared)));
        print_expression(p, g->updates.p[i].value, &text);
        str_putc(&text, '\n');
    }
    put_statements(e, "updates", &text);
    str_free(&text);
}

/* Only for variables named in the text; a constant written in place has no name. */
static void put_compare(TextWriter *e, const Graph *g, Printer *p) {
    Str name = STR(e->s), how = STR(e->s);
    bool open = false;
    for (size_t i = 0; i < g->approx.n; i++) {
        str_clear(&name);
        str_clear(&how);
        print_expression(p, g->approx.p[i].var, &name);
        approx_write(&g->approx.p[i].how, &how);
        if (!word_is_name(str_text(&name), name.n) || how.n == 0) continue;
        if (!open) open_map(e, "compare");
        open = true;
        put_member(e, name.p, how.p, how.n);
    }
    if (open) close_map(e);
    str_free(&name);
    str_free(&how);
}

static void put_graph_body(TextWriter *e, const Graph *g) {
    Arena *a = arena_new(e->s);
    const uint8_t *live = mark_let_vars(g, a);
    Printer *p = printer_new(g, PRINT_STATEMENTS, live, a);
    printer_set_ref(p, ask_ref, e->refs);
    put_inputs(e, g);
    put_shared(e, g, p, live);
    Str text = STR(e->s);
    print_block(p, "", &text);
    put_statements(e, "let", &text);
    put_graph_outputs(e, g, p);
    put_updates(e, g, p);
    if (g->until != VAR_NONE) {
        str_clear(&text);
        print_expression(p, g->until, &text);
        put_member(e, "until", text.p, text.n);
    }
    put_compare(e, g, p);
    str_free(&text);
    arena_free(a);
}

static void put_function(TextWriter *e, const Graph *g) {
    open_map(e, sym_text(e->s, g->name));
    if (g->doc) put_paragraph(e, "doc", g->doc);
    if (g->fused) put_word(e, "fused", "true");
    const char *pull = sym_text(e->s, g->pullback),
               *push = sym_text(e->s, g->pushforward);
    if (g->pullback) put_member(e, "pullback", pull, strlen(pull));
    if (g->pushforward) put_member(e, "pushforward", push, strlen(push));
    put_graph_body(e, g);
    close_map(e);
}

/* Ops that a reader needs to have. */
static void put_uses(TextWriter *e, const Graph *g) {
    size_t n;
    const Op **op = userop_list_of_graph(g, e->a, &n);
    if (!n) return;
    open_map(e, "uses");
    for (size_t i = 0; i < n; i++)
        put_word(e, op[i]->name,
                 arena_printf(e->a, "%u", op[i]->version ? op[i]->version : 1U));
    close_map(e);
}

static void put_graph_head(TextWriter *e, const Graph *g, bool provenance) {
    put_word(e, "thunkline", "1");
    if (g->name)
        put_member(e, "name", sym_text(e->s, g->name), strlen(sym_text(e->s, g->name)));
    if (g->doc) put_paragraph(e, "doc", g->doc);
    if (g->floatX != DT_NONE)
        put_member(e, "floatX", dtype_name(g->floatX), strlen(dtype_name(g->floatX)));
    if (g->modes.n) {
        put_key(e, "modes", 5);
        str_puts(e->out, e->json ? "[" : " [");
        for (size_t i = 0; i < g->modes.n; i++)
            list_item(e, sym_text(e->s, g->modes.p[i]), i == 0);
        str_puts(e->out, e->json ? "]" : "]\n");
    }
    put_uses(e, g);
    if (!provenance || g->steps.n == 0) return;
    put_key(e, "steps", 5);
    str_puts(e->out, e->json ? "[" : " [");
    for (size_t i = 0; i < g->steps.n; i++) {
        const Step *t = &g->steps.p[i];
        Arena *a = e->a;
        list_item(e, arena_printf(a, "%s %s %s", t->tool, t->version, t->args), i == 0);
    }
    str_puts(e->out, e->json ? "]" : "]\n");
}

/* ---- values without text ---- */

/* Does the leaf hold a non-tensor, which may have no text? */
static bool holds_object(const Leaf *l) {
    return l->value && (l->value->kind == TYPE_PLUGIN || l->value->kind == TYPE_LIST);
}

static bool leaves_readable(Graph *g, Arena *a) {
    uint8_t *live = NULL;
    for (uint32_t i = 0; i < g->nleaf; i++) {
        const Leaf *l = &g->leaf[i];
        if (!holds_object(l)) continue;
        if (!live) live = graph_live(g, a, ROOTS_RUN | ROOTS_INIT);
        bool shared = var_leaf(g, l->var) == LEAF_SHARED;
        if ((!shared && !live[l->var]) || value_readable(g->s, l->value, true))
            continue;
        if (shared)
            note(g->s, NOWHERE, "it is the value of the shared variable %s",
                 sym_text(g->s, l->name));
        return note(g->s, NOWHERE, "the binary form (.tlg) can hold it");
    }
    return true;
}

static bool all_readable(Graph *g) {
    Arena *a = arena_new(g->s);
    bool ok = leaves_readable(g, a);
    for (size_t i = 0; ok && i < g->functions.n; i++)
        ok = leaves_readable(g->functions.p[i], a);
    arena_free(a);
    return ok;
}

bool text_write(Graph *g, IoFormat f, Refs *refs, Sink *k, const WriteOptions *o) {
    if (!all_readable(g)) return false;
    Str out = STR(g->s);
    TextWriter e = {.s = g->s,
                    .out = &out,
                    .json = f == IO_JSON,
                    .depth = f == IO_JSON,
                    .first = true,
                    .refs = refs,
                    .a = refs->a};
    if (e.json) str_putc(&out, '{');
    put_graph_head(&e, g, !o->no_provenance);
    if (g->functions.n) open_map(&e, "functions");
    for (size_t i = 0; i < g->functions.n; i++)
        put_function(&e, g->functions.p[i]);
    if (g->functions.n) close_map(&e);
    put_dims(&e, g);
    put_graph_body(&e, g);
    if (e.json) str_puts(&out, "\n}\n");
    bool ok = !refs->failed && (refs->text || refs_store(refs));
    if (ok) sink_add(k, str_text(&out), out.n);
    str_free(&out);
    return ok;
}
