/* The data of a page: tables of texts, types and ops, and graphs as columns. */
#include "lang/print/print.h"
#include "page/page_impl.h"

#include <math.h>
#include <string.h>

enum { APPLIES_MAX = 250000, CONST_TEXT = 24, DOC_SHOWN = 2000 };

/* ---- tables ---- */
Page *page_new(Session *s, const char *kind, const char *title) {
    Arena *a = arena_new(s);
    Page *p = NEW(a, Page);
    PageTables *t = NEW(a, PageTables);
    *p = (Page){.s = s,
                .a = a,
                .json = STR(s),
                .title = arena_str(a, title, strlen(title)),
                .tables = t};
    p->w = (JsonWriter){.out = &p->json, .compact = true};
    t->graph_number = t->text_number = t->type_number = t->op_number =
        t->source_number = MAP(s);
    page_text(p, 0);
    json_open(&p->w, '{');
    json_member_number(&p->w, "page", 1);
    json_member(&p->w, "kind", kind);
    json_member(&p->w, "title", title);
    return p;
}

void page_free(Page *p) {
    if (!p) return;
    PageTables *t = p->tables;
    page_free_lines(t);
    vec_free(&t->graph);
    vec_free(&t->text);
    vec_free(&t->type);
    vec_free(&t->op);
    map_free(&t->graph_number);
    map_free(&t->text_number);
    map_free(&t->type_number);
    map_free(&t->op_number);
    str_free(&p->json);
    arena_free(p->a);
}

uint32_t page_text(Page *p, Sym text) {
    PageTables *t = p->tables;
    uint64_t found;
    if (map_get(&t->text_number, text, &found)) return (uint32_t)found;
    vec_push(p->s, &t->text, text);
    map_put(&t->text_number, text, t->text.n - 1);
    return (uint32_t)(t->text.n - 1);
}

uint32_t page_string(Page *p, const char *text) {
    return *text ? page_text(p, sym(p->s, text)) : 0;
}

static uint32_t number_of_type(Page *p, const Type *type) {
    PageTables *t = p->tables;
    uint64_t found;
    if (map_get(&t->type_number, (uintptr_t)type, &found)) return (uint32_t)found;
    vec_push(p->s, &t->type, type);
    map_put(&t->type_number, (uintptr_t)type, t->type.n - 1);
    return (uint32_t)(t->type.n - 1);
}

static uint32_t number_of_op(Page *p, const Op *op) {
    PageTables *t = p->tables;
    uint64_t found;
    if (map_get(&t->op_number, (uintptr_t)op, &found)) return (uint32_t)found;
    vec_push(p->s, &t->op, op);
    map_put(&t->op_number, (uintptr_t)op, t->op.n - 1);
    return (uint32_t)(t->op.n - 1);
}

static void put_types(Page *p) {
    PageTables *t = p->tables;
    uint32_t *text = NEW_N(p->a, t->type.n + 1, uint32_t);
    double *bytes = NEW_N(p->a, t->type.n + 1, double);
    for (size_t i = 0; i < t->type.n; i++) {
        text[i] = page_string(p, type_str(p->s, t->type.p[i]));
        bytes[i] = type_known_bytes(t->type.p[i]);
    }
    json_put_key(&p->w, "types");
    json_open(&p->w, '{');
    json_member_number(&p->w, "n", (double)t->type.n);
    page_put_u32(p, "text", t->type.n, text);
    page_put_f64(p, "bytes", t->type.n, bytes);
    json_close(&p->w, "}");
}

static void put_cut(Page *p, const char *key, const char *text) {
    size_t n = strlen(text);
    if (n > DOC_SHOWN)
        for (n = DOC_SHOWN; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    json_put_key(&p->w, key);
    json_put_n(&p->w, text, n);
}

static void put_ops(Page *p) {
    PageTables *t = p->tables;
    json_put_key(&p->w, "ops");
    json_open(&p->w, '[');
    for (size_t i = 0; i < t->op.n; i++) {
        json_open(&p->w, '{');
        json_member(&p->w, "name", t->op.p[i]->name);
        json_member(&p->w, "family", sym_text(p->s, op_family(p->s, t->op.p[i])));
        if (t->op.p[i]->doc) put_cut(p, "doc", t->op.p[i]->doc);
        json_close(&p->w, "}");
    }
    json_close(&p->w, "]");
}

static void put_texts(Page *p) {
    PageTables *t = p->tables;
    json_put_key(&p->w, "strings");
    json_open(&p->w, '[');
    for (size_t i = 0; i < t->text.n; i++)
        json_put(&p->w, sym_text(p->s, t->text.p[i]));
    json_close(&p->w, "]");
}

void page_steps(Page *p, const Graph *g) {
    json_put_key(&p->w, "steps");
    json_open(&p->w, '[');
    for (size_t i = 0; i < g->steps.n; i++) {
        json_open(&p->w, '{');
        json_member(&p->w, "tool", g->steps.p[i].tool);
        json_member(&p->w, "version", g->steps.p[i].version);
        json_member(&p->w, "args", g->steps.p[i].args);
        json_close(&p->w, "}");
    }
    json_close(&p->w, "]");
}

/* ---- graphs ---- */
static void add_graph(Page *p, const Graph *g, const uint32_t *born) {
    PageGraph new = {g, boxes_new(g, born != NULL, p->a), born};
    map_put(&p->tables->graph_number, (uintptr_t)g, p->tables->graph.n);
    vec_push(p->s, &p->tables->graph, new);
}

static bool has_room(const Page *p) {
    return p->tables->applies <= APPLIES_MAX;
}

uint32_t page_add_graph(Page *p, const Graph *main) {
    uint32_t number = (uint32_t)p->tables->graph.n;
    p->tables->applies += graph_all_applies(main);
    if (!has_room(p)) return number;
    add_graph(p, main, NULL);
    for (size_t i = 0; i < main->functions.n; i++)
        add_graph(p, main->functions.p[i], NULL);
    return number;
}

void page_add_overlay(Page *p, const Graph *g, const uint32_t *born) {
    p->tables->applies += g->napply;
    if (has_room(p)) add_graph(p, g, born);
}

uint32_t page_graph_number(const Page *p, const Graph *g) {
    uint64_t found;
    bool has = map_get(&p->tables->graph_number, (uintptr_t)g, &found);
    return has ? (uint32_t)found : UINT32_MAX;
}

static void put_pair(Page *p, int64_t x, int64_t y) {
    json_open(&p->w, '[');
    json_put_int(&p->w, x);
    json_put_int(&p->w, y);
    json_close(&p->w, "]");
}

static void put_interface(Page *p, const Graph *g) {
    json_put_numbers(&p->w, "inputs", g->inputs.n, g->inputs.p);
    json_put_numbers(&p->w, "shared", g->shared.n, g->shared.p);
    json_put_key(&p->w, "outputs");
    json_open(&p->w, '[');
    for (size_t i = 0; i < g->outputs.n; i++)
        put_pair(p, page_text(p, g->outputs.p[i].label), g->outputs.p[i].var);
    json_close(&p->w, "]");
    json_put_key(&p->w, "updates");
    json_open(&p->w, '[');
    for (size_t i = 0; i < g->updates.n; i++)
        put_pair(p, g->updates.p[i].shared, g->updates.p[i].value);
    json_close(&p->w, "]");
}

static uint32_t text_of_props(Page *p, const Graph *g, const Apply *ap) {
    Str text = STR(p->s);
    print_props(g->s, ap->op, ap->props, true, &text);
    uint32_t number = page_string(p, str_text(&text));
    str_free(&text);
    return number;
}

/* Names and texts repeat: those of equal props and ops are found by what they are. */
static uint32_t text_known_as(Page *p, Map *known, const Graph *g, const Apply *ap) {
    uint64_t key = hash_mix((uintptr_t)ap->op, (uintptr_t)ap->props), found;
    if (map_get(known, key, &found)) return (uint32_t)found;
    found = ap->props ? text_of_props(p, g, ap) : 0;
    map_put(known, key, found);
    return (uint32_t)found;
}

static uint32_t text_of_label(Page *p, const Graph *g, ApplyId id) {
    Sym label = apply_label(g, id);
    return strcmp(sym_text(p->s, label), g->apply[id].op->name) == 0
               ? 0
               : page_text(p, label);
}

static uint32_t *widen(Page *p, size_t n, const uint8_t *v) {
    uint32_t *out = NEW_N(p->a, n + 1, uint32_t);
    for (size_t i = 0; i < n; i++)
        out[i] = v[i];
    return out;
}

typedef struct Columns {
    uint32_t *op, *label, *props, *nin, *out, *nout, *line, *source, *rule;
} Columns;

static Columns fill_columns(Page *p, const Graph *g) {
    size_t n = (size_t)g->napply + 1;
    Map props = MAP(p->s);
    Columns c;
    uint32_t **column[] = {&c.op,   &c.label, &c.props,  &c.nin, &c.out,
                           &c.nout, &c.line,  &c.source, &c.rule};
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        *column[i] = NEW_N(p->a, n, uint32_t);
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *ap = &g->apply[id];
        c.op[id] = number_of_op(p, ap->op);
        c.label[id] = text_of_label(p, g, id);
        c.props[id] = text_known_as(p, &props, g, ap);
        c.nin[id] = ap->nin;
        c.out[id] = ap->out;
        c.nout[id] = ap->nout;
        c.line[id] = page_line(p, g, id, &c.source[id]);
        c.rule[id] = page_text(p, g->origin[id].rule);
    }
    map_free(&props);
    return c;
}

static void put_applies(Page *p, const PageGraph *x) {
    const Graph *g = x->g;
    Columns c = fill_columns(p, g);
    uint32_t *in = NEW_N(p->a, (size_t)g->nin + 1, uint32_t), n = 0;
    for (ApplyId id = 0; id < g->napply; id++)
        for (size_t i = 0; i < g->apply[id].nin; i++)
            in[n++] = apply_in(g, id)[i];
    json_put_key(&p->w, "apply");
    json_open(&p->w, '{');
    page_put_u32(p, "op", g->napply, c.op);
    page_put_u32(p, "label", g->napply, c.label);
    page_put_u32(p, "props", g->napply, c.props);
    page_put_u32(p, "nin", g->napply, c.nin);
    page_put_u32(p, "in", n, in);
    page_put_u32(p, "out", g->napply, c.out);
    page_put_u32(p, "nout", g->napply, c.nout);
    page_put_u32(p, "line", g->napply, c.line);
    page_put_u32(p, "source", g->napply, c.source);
    page_put_u32(p, "rule", g->napply, c.rule);
    page_put_u32(p, "flags", g->napply, widen(p, g->napply, x->boxes->apply_marks));
    page_put_u32(p, "box", g->napply, x->boxes->apply_box);
    json_close(&p->w, "}");
}

/* A short value, "constant" for a long one. */
static uint32_t text_of_constant(Page *p, const Graph *g, Var v) {
    const Tensor *t = var_const(g, v);
    Str text = STR(p->s);
    if (t && tensor_size(t) <= CONST_TEXT) tensor_text(p->s, t, -1, &text);
    if (!t)
        print_value(p->s, var_type(g, v), var_leafrec(g, v)->value, CONST_TEXT, &text);
    bool shown = text.n > 0 && text.n <= CONST_TEXT;
    uint32_t number = page_string(p, shown ? str_text(&text) : "constant");
    str_free(&text);
    return number;
}

static void put_variables(Page *p, const PageGraph *x) {
    const Graph *g = x->g;
    size_t n = (size_t)g->nvar + 1;
    uint32_t *name = NEW_N(p->a, n, uint32_t), *type = NEW_N(p->a, n, uint32_t),
             *kind = NEW_N(p->a, n, uint32_t), *text = NEW_N(p->a, n, uint32_t),
             *alias = NEW_N(p->a, n, uint32_t), *box = NEW_N(p->a, n, uint32_t);
    for (Var v = 0; v < g->nvar; v++) {
        name[v] = page_text(p, var_name(g, v));
        type[v] = number_of_type(p, var_type(g, v));
        kind[v] = var_leaf(g, v);
        box[v] = g->var[v].leaf ? x->boxes->leaf_box[v]
                                : x->boxes->apply_box[var_owner(g, v)];
        if (var_is_const(g, v)) text[v] = text_of_constant(p, g, v);
        if (var_leaf(g, v) == LEAF_DIM) text[v] = page_text(p, var_leafrec(g, v)->name);
    }
    for (size_t i = 0; i < g->aliases.n; i++)
        alias[g->aliases.p[i].var] = page_text(p, g->aliases.p[i].name);
    json_put_key(&p->w, "var");
    json_open(&p->w, '{');
    page_put_u32(p, "name", g->nvar, name);
    page_put_u32(p, "alias", g->nvar, alias);
    page_put_u32(p, "type", g->nvar, type);
    page_put_u32(p, "kind", g->nvar, kind);
    page_put_u32(p, "text", g->nvar, text);
    page_put_u32(p, "flags", g->nvar, widen(p, g->nvar, x->boxes->var_marks));
    page_put_u32(p, "box", g->nvar, box);
    json_close(&p->w, "}");
}

static void put_boxes(Page *p, const Boxes *b) {
    size_t n = b->n, items = b->first[b->n];
    uint32_t *title = NEW_N(p->a, n, uint32_t), *kind = NEW_N(p->a, n, uint32_t),
             *parent = NEW_N(p->a, n, uint32_t), *applies = NEW_N(p->a, n, uint32_t),
             *shared = NEW_N(p->a, n, uint32_t), *leaves = NEW_N(p->a, n, uint32_t),
             *item = NEW_N(p->a, items + 1, uint32_t);
    for (size_t i = 0; i < n; i++) {
        title[i] = page_text(p, b->box[i].title);
        kind[i] = b->box[i].kind;
        parent[i] = i ? b->box[i].parent : 0;
        applies[i] = b->box[i].applies;
        shared[i] = b->box[i].shared;
        leaves[i] = b->box[i].leaves;
    }
    for (size_t i = 0; i < items; i++)
        item[i] = b->item[i].id << 2 | (uint32_t)b->item[i].sort;
    json_put_key(&p->w, "box");
    json_open(&p->w, '{');
    json_member_number(&p->w, "n", (double)n);
    page_put_u32(p, "title", n, title);
    page_put_u32(p, "kind", n, kind);
    page_put_u32(p, "parent", n, parent);
    page_put_u32(p, "applies", n, applies);
    page_put_u32(p, "shared", n, shared);
    page_put_u32(p, "leaves", n, leaves);
    page_put_u32(p, "first", n + 1, b->first);
    page_put_u32(p, "item", items, item);
    json_close(&p->w, "}");
}

/* The functions that Applies call, by the names of the props that say so. */
static void put_calls(Page *p, const Graph *g) {
    json_put_key(&p->w, "calls");
    json_open(&p->w, '[');
    for (ApplyId id = 0; id < g->napply; id++) {
        const Props *props = g->apply[id].props;
        for (uint32_t i = 0; props && i < props->n; i++) {
            if (props->p[i].kind != P_GRAPH) continue;
            const Graph *fn = graph_function(g, props->p[i].sym);
            uint32_t number = fn ? page_graph_number(p, fn) : UINT32_MAX;
            if (number != UINT32_MAX) put_pair(p, id, number);
        }
    }
    json_close(&p->w, "]");
}

static void put_graph(Page *p, const PageGraph *x) {
    const Graph *g = x->g;
    json_line(&p->w, "");
    json_open(&p->w, '{');
    json_member_number(&p->w, "name", page_text(p, g->name));
    if (g->doc) json_member_number(&p->w, "doc", page_string(p, g->doc));
    json_member(&p->w, "what", g->main == g ? "main" : g->fused ? "fused" : "function");
    put_interface(p, g);
    json_member_number(&p->w, "n", g->napply);
    if (x->born) page_put_u32(p, "born", g->napply, x->born);
    json_member_number(&p->w, "nvar", g->nvar);
    put_applies(p, x);
    put_variables(p, x);
    put_boxes(p, x->boxes);
    put_calls(p, g);
    json_close(&p->w, "}");
}

void page_put_graphs(Page *p) {
    json_line(&p->w, "");
    json_put_key(&p->w, "graphs");
    json_open(&p->w, '[');
    for (size_t i = 0; i < p->tables->graph.n; i++)
        put_graph(p, &p->tables->graph.p[i]);
    json_close(&p->w, "]");
}

/* ---- the end ---- */
bool page_has_room(Page *p) {
    if (has_room(p)) return true;
    fail(p->s, NOWHERE, E_LIMIT,
         "the page would hold %s, and no browser shows more than %d in good time",
         str_counted(p->s, p->tables->applies, "Apply"), APPLIES_MAX);
    return hint(p->s, HINT_PAGE);
}

bool page_finish(Page *p, Str *out) {
    if (!page_has_room(p)) return false;
    json_line(&p->w, "");
    put_ops(p);
    json_line(&p->w, "");
    put_types(p);
    json_line(&p->w, "");
    page_put_sources(p);
    json_line(&p->w, "");
    put_texts(p);
    json_close(&p->w, "}");
    page_put_html(p, out);
    return true;
}
