/* Writes a graph as text in its canonical form: one statement per Apply. YAML and JSON
 * share one description; they differ in how a key, a text and a block of lines are
 * written. YAML keeps what still holds of the text that the graph was read from
 * (io/author.h). */
#include "io/author.h"
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
    const Author *au; /* or NULL */
    uint32_t entry;   /* of the author's text: the key being written; */
    uint32_t *in;     /* what it stands below, by depth */
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

/* ---- the author's text ---- */

static const Entry *entry_at(const TextWriter *e, uint32_t id) {
    return e->au && id < e->au->entry.n ? &e->au->entry.p[id] : NULL;
}

static uint32_t find_entry(const TextWriter *e, uint32_t up, const char *key) {
    Sym y = e->au ? sym_find(e->s, key, strlen(key)) : 0;
    return y ? author_find(e->au, up, y) : NO_ENTRY;
}

static void put_remarks(TextWriter *e, const char *lines, bool first) {
    if (!lines) return;
    lines += first && *lines == '\n';
    put_text_lines(e, lines, strlen(lines));
}

/* The end of a line, behind the comment beside it. */
static void end_line(TextWriter *e, const Entry *at) {
    if (e->json) return;
    if (at && at->beside) str_printf(e->out, "  %s", at->beside);
    str_putc(e->out, '\n');
}

/* A value as the author wrote it; further lines are indented by one step. */
static void put_author_value(TextWriter *e, const char *text) {
    const char *eol = strchr(text, '\n');
    str_add(e->out, text, eol ? (size_t)(eol - text) : strlen(text));
    for (; eol; eol = strchr(text, '\n')) {
        text = eol + 1;
        text += strspn(text, " ");
        str_putc(e->out, '\n');
        put_indent(e);
        size_t n = strcspn(text, "\n");
        str_printf(e->out, "  %.*s", (int)n, text);
    }
}

/* ---- members ---- */

/* Writes the next member's key, ready for its value. */
static void put_key(TextWriter *e, const char *key, size_t n) {
    if (e->json) str_puts(e->out, e->first ? "\n" : ",\n");
    e->entry = e->au ? find_entry(e, e->in[e->depth], key) : NO_ENTRY;
    const Entry *at = entry_at(e, e->entry);
    if (at) put_remarks(e, at->above, e->first);
    e->first = false;
    put_indent(e);
    if (at)
        str_puts(e->out, at->word);
    else
        put_scalar(e, key, n);
    str_puts(e->out, e->json ? ": " : ":");
}

static void put_member(TextWriter *e, const char *key, const char *p, size_t n) {
    put_key(e, key, strlen(key));
    const Entry *at = entry_at(e, e->entry);
    if (!e->json) str_putc(e->out, ' ');
    if (at && at->kept && at->text)
        put_author_value(e, at->text);
    else
        put_scalar(e, p, n);
    end_line(e, at);
}

static void put_word(TextWriter *e, const char *key, const char *text) {
    put_key(e, key, strlen(key));
    str_printf(e->out, e->json ? "%s" : " %s", text);
    end_line(e, entry_at(e, e->entry));
}

static void open_map(TextWriter *e, const char *key) {
    put_key(e, key, strlen(key));
    if (e->json) str_putc(e->out, '{');
    end_line(e, entry_at(e, e->entry));
    e->depth++;
    if (e->au) e->in[e->depth] = e->entry == NO_ENTRY ? NOWHERE_ENTRY : e->entry;
    e->first = true;
}

static void close_map(TextWriter *e) {
    const Entry *at = e->au ? entry_at(e, e->in[e->depth]) : NULL;
    if (at) put_remarks(e, at->below, e->first);
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

static void put_paragraph(TextWriter *e, const char *key, const char *text) {
    size_t n = strlen(text);
    const Entry *at = e->au ? entry_at(e, find_entry(e, e->in[e->depth], key)) : NULL;
    if (e->json || !is_block(text, n) || (at && at->kept && at->text)) {
        put_member(e, key, text, n);
        return;
    }
    put_key(e, key, strlen(key));
    str_puts(e->out, text[n - 1] == '\n' ? " |" : " |-");
    end_line(e, at);
    e->depth++;
    put_text_lines(e, text, n);
    e->depth--;
}

/* The statements of a section that are kept, with their comments. */
static void put_kept_statements(TextWriter *e, uint32_t section) {
    bool first = true;
    for (uint32_t id = section + 1; entry_at(e, id) && entry_at(e, id)->up == section;
         id++) {
        const Entry *at = entry_at(e, id);
        if (!at->kept) continue;
        put_remarks(e, at->above, first);
        put_text_lines(e, at->text, strlen(at->text));
        e->out->n -= at->beside != NULL;
        if (at->beside) end_line(e, at);
        first = false;
    }
    if (entry_at(e, section)->below) put_remarks(e, entry_at(e, section)->below, first);
}

static bool keeps_statements(const TextWriter *e, uint32_t section) {
    for (uint32_t id = section + 1; entry_at(e, id) && entry_at(e, id)->up == section;
         id++)
        if (entry_at(e, id)->kept) return true;
    return false;
}

/* Statements `a = b`, one a line: a block in YAML, a mapping in JSON. */
static void put_statements(TextWriter *e, const char *key, const Str *text) {
    uint32_t section = e->au ? find_entry(e, e->in[e->depth], key) : NO_ENTRY;
    bool keeps = section != NO_ENTRY && keeps_statements(e, section);
    if (text->n == 0 && !keeps) return;
    if (!e->json) {
        put_key(e, key, strlen(key));
        str_puts(e->out, " |");
        end_line(e, entry_at(e, section));
        e->depth++;
        if (keeps) put_kept_statements(e, section);
        put_text_lines(e, str_text(text), text->n);
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

static bool keeps_function(const TextWriter *e, const Graph *fn) {
    uint32_t all = find_entry(e, NO_ENTRY, "functions");
    const Entry *at =
        all == NO_ENTRY ? NULL : entry_at(e, author_find(e->au, all, fn->name));
    return at && at->kept;
}

/* Marks the variables that `let` defines anew. */
static uint8_t *mark_let_vars(const TextWriter *e, const Graph *g, Arena *a) {
    uint8_t *live = arena_alloc(a, g->nvar + 1);
    memset(live, 1, g->nvar + 1);
    const uint32_t *uses = count_var_uses(g, a);
    bool main = g->main == g, kept = !main && keeps_function(e, g);
    for (Var v = 0; v < g->nvar; v++)
        if (main ? author_owns(e->au, v) : kept) live[v] = 0;
    for (uint32_t i = 0; i < g->nleaf; i++) {
        Var init = g->leaf[i].init;
        if (init != VAR_NONE && stands_alone(g, uses, init)) live[init] = 0;
    }
    return live;
}

/* ---- sections ---- */

typedef struct GraphPrinter {
    const Graph *g;
    Printer *p;
    const uint8_t *live; /* the variables that `let` defines anew */
} GraphPrinter;

static const char *ask_ref(void *ctx, const Graph *g, Var v) {
    return refs_text(ctx, g, v, v);
}

static void put_inputs(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
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

static void init_text(TextWriter *e, const GraphPrinter *gp, Var v, Str *out) {
    const Graph *g = gp->g;
    Printer *p = gp->p;
    const Leaf *l = var_leafrec(g, v);
    bool bare = l->init != VAR_NONE && var_const(g, l->init) && !var_name(g, l->init) &&
                var_type(g, l->init)->dtype == var_type(g, v)->dtype;
    bool known = value_has_data(l->value);
    if (known || bare) {
        str_puts(out, " = ");
        shared_text(e, g, bare && !known ? l->init : v, v, out);
    } else if (l->init != VAR_NONE) {
        str_puts(out, " = ");
        if (gp->live[l->init]) {
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

static void put_shared(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    if (g->shared.n == 0) return;
    open_map(e, "shared");
    Str text = STR(e->s);
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i];
        str_clear(&text);
        str_puts(&text, type_str(e->s, var_type(g, v)));
        init_text(e, gp, v, &text);
        put_member(e, sym_text(e->s, var_name(g, v)), text.p, text.n);
    }
    str_free(&text);
    close_map(e);
}

static void put_dims(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    VarList dim = graph_free_dims(g, e->a);
    if (dim.n == 0 || g->main != g) return;
    put_key(e, "dims", 4);
    str_puts(e->out, e->json ? "[" : " [");
    for (size_t i = 0; i < dim.n; i++)
        list_item(e, sym_text(e->s, var_name(g, dim.p[i])), i == 0);
    str_putc(e->out, ']');
    end_line(e, entry_at(e, e->entry));
}

static bool labels_are_names(const Graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        if (graph_find(g, g->outputs.p[i].label) != g->outputs.p[i].var) return false;
    return true;
}

/* Has the author a mapping of which an output is kept? */
static bool keeps_outputs(const TextWriter *e, const Graph *g) {
    uint32_t section = e->au ? find_entry(e, e->in[e->depth], "outputs") : NO_ENTRY;
    for (size_t i = 0; section != NO_ENTRY && i < g->outputs.n; i++) {
        const Entry *at =
            entry_at(e, author_find(e->au, section, g->outputs.p[i].label));
        if (at && at->kept) return true;
    }
    return false;
}

static void put_graph_outputs(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    Printer *p = gp->p;
    if (labels_are_names(g) && !keeps_outputs(e, g)) {
        put_key(e, "outputs", 7);
        str_puts(e->out, e->json ? "[" : " [");
        for (size_t i = 0; i < g->outputs.n; i++)
            list_item(e, sym_text(e->s, g->outputs.p[i].label), i == 0);
        str_putc(e->out, ']');
        end_line(e, entry_at(e, e->entry));
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

static void put_updates(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    Printer *p = gp->p;
    Str text = STR(e->s);
    uint32_t section = e->au ? find_entry(e, e->in[e->depth], "updates") : NO_ENTRY;
    for (size_t i = 0; i < g->updates.n; i++) {
        Sym name = var_name(g, g->updates.p[i].shared);
        const Entry *at =
            section == NO_ENTRY ? NULL : entry_at(e, author_find(e->au, section, name));
        if (at && at->kept) continue;
        str_printf(&text, "%s = ", sym_text(e->s, name));
        print_expression(p, g->updates.p[i].value, &text);
        str_putc(&text, '\n');
    }
    put_statements(e, "updates", &text);
    str_free(&text);
}

/* Only for variables named in the text; a constant written in place has no name. */
static void put_compare(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    Printer *p = gp->p;
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

/* Names that the author's variables got later. */
static void add_new_names(const TextWriter *e, const GraphPrinter *gp, Str *out) {
    const Graph *g = gp->g;
    for (size_t i = 0; e->au && g->main == g && i < g->names.n; i++) {
        VarName n = g->names.p[i];
        const char *text = sym_text(e->s, n.name);
        if (author_owns(e->au, n.var) && printer_name(gp->p, n.var) != n.name &&
            !author_defines(e->au, n.name) && word_is_name(text, strlen(text)))
            str_printf(out, "%s = %s\n", text,
                       sym_text(e->s, printer_name(gp->p, n.var)));
    }
}

static void put_let(TextWriter *e, const GraphPrinter *gp) {
    Str text = STR(e->s);
    print_block(gp->p, "", &text);
    add_new_names(e, gp, &text);
    put_statements(e, "let", &text);
    str_free(&text);
}

static void put_until(TextWriter *e, const GraphPrinter *gp) {
    if (gp->g->until == VAR_NONE) return;
    Str text = STR(e->s);
    print_expression(gp->p, gp->g->until, &text);
    put_member(e, "until", text.p, text.n);
    str_free(&text);
}

static void put_functions(TextWriter *e, const GraphPrinter *gp);

typedef struct TextSection {
    const char *key;
    void (*put)(TextWriter *e, const GraphPrinter *gp);
} TextSection;
static const TextSection sections[] = {
    {"functions", put_functions}, {"dims", put_dims},   {"inputs", put_inputs},
    {"shared", put_shared},       {"let", put_let},     {"outputs", put_graph_outputs},
    {"updates", put_updates},     {"until", put_until}, {"compare", put_compare}};
enum { NSECTIONS = sizeof sections / sizeof *sections };

/* The sections in the author's order; one that the author does not have follows the one
 * above it in the table. */
static void order_sections(const TextWriter *e, size_t order[NSECTIONS]) {
    uint32_t place[NSECTIONS], last = 0;
    for (size_t i = 0; i < NSECTIONS; i++) {
        uint32_t id =
            e->au ? find_entry(e, e->in[e->depth], sections[i].key) : NO_ENTRY;
        last = place[i] = id == NO_ENTRY ? last : id;
        size_t k = i;
        for (; k > 0 && place[order[k - 1]] > place[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static void put_graph_body(TextWriter *e, const Graph *g) {
    Arena *a = arena_new(e->s);
    const uint8_t *live = mark_let_vars(e, g, a);
    GraphPrinter gp = {g, printer_new(g, PRINT_STATEMENTS, live, a), live};
    printer_set_ref(gp.p, ask_ref, e->refs);
    size_t order[NSECTIONS];
    order_sections(e, order);
    for (size_t i = 0; i < NSECTIONS; i++)
        sections[order[i]].put(e, &gp);
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
        str_putc(e->out, ']');
        end_line(e, entry_at(e, e->entry));
    }
    put_uses(e, g);
    if (e->au && e->au->unchanged) g = e->au->was; /* formatting is no step */
    if (!provenance || g->steps.n == 0) return;
    put_key(e, "steps", 5);
    str_puts(e->out, e->json ? "[" : " [");
    for (size_t i = 0; i < g->steps.n; i++) {
        const Step *t = &g->steps.p[i];
        Arena *a = e->a;
        list_item(e, arena_printf(a, "%s %s %s", t->tool, t->version, t->args), i == 0);
    }
    str_putc(e->out, ']');
    end_line(e, entry_at(e, e->entry));
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

static bool is_omitted(const TextWriter *e, const Graph *fn) {
    return e->au && map_get(&e->au->omitted, fn->name, NULL);
}

static void put_functions(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    bool open = false;
    for (size_t i = 0; i < g->functions.n; i++) {
        if (is_omitted(e, g->functions.p[i])) continue;
        if (!open) open_map(e, "functions");
        open = true;
        put_function(e, g->functions.p[i]);
    }
    if (open) close_map(e);
}

static void put_graph(Graph *g, bool json, const Author *au, Refs *refs,
                      const WriteOptions *o, Str *out) {
    enum { DEPTH_MAX = 8 };
    uint32_t in[DEPTH_MAX] = {NO_ENTRY};
    TextWriter e = {.s = g->s,
                    .out = out,
                    .json = json,
                    .depth = json,
                    .first = true,
                    .refs = refs,
                    .a = refs->a,
                    .au = au,
                    .in = in};
    if (json) str_putc(out, '{');
    put_graph_head(&e, g, !o->no_provenance);
    put_graph_body(&e, g);
    if (au) put_remarks(&e, au->below, false);
    if (json) str_puts(out, "\n}\n");
}

/* What the author's text would make of arrays that are yet to be written isn't known.
 */
static bool put_author_graph(Graph *g, Refs *refs, const WriteOptions *o, Str *out) {
    Author *au = refs_stay(refs, g) ? author_open(g) : NULL;
    if (!au) return false;
    put_graph(g, false, au, refs, o, out);
    author_free(au);
    if (refs->arrays.n == 0 && author_holds(g, out)) return true;
    str_clear(out);
    return false;
}

bool text_write(Graph *g, IoFormat f, Refs *refs, Sink *k, const WriteOptions *o) {
    if (!all_readable(g)) return false;
    Str out = STR(g->s);
    if (f == IO_JSON || !put_author_graph(g, refs, o, &out))
        put_graph(g, f == IO_JSON, NULL, refs, o, &out);
    bool ok = !refs->failed && (refs->text || refs_store(refs));
    if (ok) sink_add(k, str_text(&out), out.n);
    str_free(&out);
    return ok;
}
