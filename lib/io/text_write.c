/* Writes a graph as text in its canonical form: one statement per Apply. YAML keeps
 * what still holds of the text that the graph was read from (io/author.h). */
#include "base/toposort.h"
#include "io/text.h"
#include "lang/approx.h"
#include "lang/print/print.h"
#include "userop/userop.h"
#include "value/class.h"

#include <stdlib.h>
#include <string.h>

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
    uint32_t all = text_find_entry(e, NO_ENTRY, "functions");
    const Entry *at =
        all == NO_ENTRY ? NULL : text_entry(e, author_find(e->au, all, fn->name));
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
    text_open(e, "inputs");
    for (size_t i = 0; i < g->inputs.n; i++) {
        Var v = g->inputs.p[i];
        const char *type = type_str(e->s, var_type(g, v));
        text_member(e, sym_text(e->s, var_name(g, v)), type, strlen(type));
    }
    text_close(e);
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
    text_open(e, "shared");
    Str text = STR(e->s);
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i];
        str_clear(&text);
        str_puts(&text, type_str(e->s, var_type(g, v)));
        init_text(e, gp, v, &text);
        text_member(e, sym_text(e->s, var_name(g, v)), text.p, text.n);
    }
    str_free(&text);
    text_close(e);
}

static void put_dims(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    VarList dim = graph_free_dims(g, e->a);
    if (dim.n == 0 || g->main != g) return;
    const char **name = NEW_N(e->a, dim.n, const char *);
    for (size_t i = 0; i < dim.n; i++)
        name[i] = sym_text(e->s, var_name(g, dim.p[i]));
    text_list(e, "dims", dim.n, name);
}

static bool labels_are_names(const Graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        if (graph_find(g, g->outputs.p[i].label) != g->outputs.p[i].var) return false;
    return true;
}

/* All that the author wrote of the outputs: a list, or expressions with labels. */
static void put_author_outputs(TextWriter *e, uint32_t section) {
    const Entry *at;
    if (text_entry(e, section)->text) {
        text_list(e, "outputs", 0, NULL);
        return;
    }
    text_open(e, "outputs");
    for (uint32_t id = section + 1; (at = text_entry(e, id)) && at->up == section; id++)
        text_member(e, sym_text(e->s, at->key), "", 0);
    text_close(e);
}

/* Has the author a mapping of which an output is kept? */
static bool keeps_outputs(const TextWriter *e, const Graph *g, uint32_t section) {
    for (size_t i = 0; section != NO_ENTRY && i < g->outputs.n; i++) {
        const Entry *at =
            text_entry(e, author_find(e->au, section, g->outputs.p[i].label));
        if (at && at->kept) return true;
    }
    return false;
}

static void put_graph_outputs(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    Printer *p = gp->p;
    uint32_t section =
        e->au ? text_find_entry(e, e->in[e->depth], "outputs") : NO_ENTRY;
    const Entry *all = text_entry(e, section);
    if (all && all->kept) {
        put_author_outputs(e, section);
        return;
    }
    if (labels_are_names(g) && !keeps_outputs(e, g, section)) {
        const char **label = NEW_N(e->a, g->outputs.n + 1, const char *);
        for (size_t i = 0; i < g->outputs.n; i++)
            label[i] = sym_text(e->s, g->outputs.p[i].label);
        text_list(e, "outputs", g->outputs.n, label);
        return;
    }
    text_open(e, "outputs");
    Str text = STR(e->s);
    for (size_t i = 0; i < g->outputs.n; i++) {
        str_clear(&text);
        print_expression(p, g->outputs.p[i].var, &text);
        text_member(e, sym_text(e->s, g->outputs.p[i].label), text.p, text.n);
    }
    str_free(&text);
    text_close(e);
}

static void put_updates(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    Printer *p = gp->p;
    Str text = STR(e->s);
    uint32_t section =
        e->au ? text_find_entry(e, e->in[e->depth], "updates") : NO_ENTRY;
    for (size_t i = 0; i < g->updates.n; i++) {
        Sym name = var_name(g, g->updates.p[i].shared);
        const Entry *at = section == NO_ENTRY
                              ? NULL
                              : text_entry(e, author_find(e->au, section, name));
        if (at && at->kept) continue;
        str_printf(&text, "%s = ", sym_text(e->s, name));
        print_expression(p, g->updates.p[i].value, &text);
        str_putc(&text, '\n');
    }
    text_statements(e, "updates", &text);
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
        if (!open) text_open(e, "compare");
        open = true;
        text_member(e, name.p, how.p, how.n);
    }
    if (open) text_close(e);
    str_free(&name);
    str_free(&how);
}

/* Of variables that are named in the text. */
static void put_aliases(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    Str name = STR(e->s);
    bool open = false;
    for (size_t i = 0; i < g->aliases.n; i++) {
        const char *text = sym_text(e->s, g->aliases.p[i].name);
        Var v = g->aliases.p[i].var;
        str_clear(&name);
        if (var_owner(g, v) == APPLY_NONE || gp->live[v])
            print_expression(gp->p, v, &name);
        if (!word_is_name(str_text(&name), name.n)) continue;
        if (!open) text_open(e, "aliases");
        open = true;
        text_member(e, name.p, text, strlen(text));
    }
    if (open) text_close(e);
    str_free(&name);
}

static void put_statistics(TextWriter *e, const GraphPrinter *gp) {
    const Graph *g = gp->g;
    const char **name = NEW_N(e->a, g->statistics.n + 1, const char *);
    size_t n = 0;
    for (size_t i = 0; i < g->statistics.n; i++)
        if (graph_is_statistic(g, g->statistics.p[i]))
            name[n++] = sym_text(e->s, var_leafrec(g, g->statistics.p[i])->name);
    if (n) text_list(e, "statistics", n, name);
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
    text_statements(e, "let", &text);
    str_free(&text);
}

static void put_until(TextWriter *e, const GraphPrinter *gp) {
    if (gp->g->until == VAR_NONE) return;
    Str text = STR(e->s);
    print_expression(gp->p, gp->g->until, &text);
    text_member(e, "until", text.p, text.n);
    str_free(&text);
}

static void put_functions(TextWriter *e, const GraphPrinter *gp);

typedef struct TextSection {
    const char *key;
    void (*put)(TextWriter *e, const GraphPrinter *gp);
} TextSection;
static const TextSection sections[] = {{"functions", put_functions},
                                       {"dims", put_dims},
                                       {"inputs", put_inputs},
                                       {"shared", put_shared},
                                       {"let", put_let},
                                       {"outputs", put_graph_outputs},
                                       {"updates", put_updates},
                                       {"until", put_until},
                                       {"compare", put_compare},
                                       {"aliases", put_aliases},
                                       {"statistics", put_statistics}};
enum { NSECTIONS = sizeof sections / sizeof *sections };

/* The sections in the author's order; one that the author does not have follows the one
 * above it in the table. */
static void order_sections(const TextWriter *e, size_t order[NSECTIONS]) {
    uint32_t place[NSECTIONS], last = 0;
    for (size_t i = 0; i < NSECTIONS; i++) {
        uint32_t id =
            e->au ? text_find_entry(e, e->in[e->depth], sections[i].key) : NO_ENTRY;
        last = place[i] = id == NO_ENTRY ? last : id;
        size_t k = i;
        for (; k > 0 && place[order[k - 1]] > place[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* A section that holds nothing is not written, but what the author says about it is. */
static void put_remarks_of_nothing(TextWriter *e, const char *key) {
    const Entry *at = text_entry(e, text_find_entry(e, e->in[e->depth], key));
    if (!at || !e->au->unchanged) return;
    bool says = at->above && at->above[strspn(at->above, "\n")];
    text_remarks(e, says ? at->above : NULL, e->first);
    text_remarks(e, at->beside, e->first);
    text_remarks(e, at->below, e->first);
}

static void put_graph_body(TextWriter *e, const Graph *g) {
    Arena *a = arena_new(e->s);
    const uint8_t *live = mark_let_vars(e, g, a);
    GraphPrinter gp = {g, printer_new(g, PRINT_STATEMENTS, live, a), live};
    printer_set_ref(gp.p, ask_ref, e->refs);
    size_t order[NSECTIONS];
    order_sections(e, order);
    for (size_t i = 0; i < NSECTIONS; i++) {
        size_t before = e->out->n;
        sections[order[i]].put(e, &gp);
        if (e->out->n == before) put_remarks_of_nothing(e, sections[order[i]].key);
    }
    arena_free(a);
}

static void put_function(TextWriter *e, const Graph *g) {
    text_open(e, sym_text(e->s, g->name));
    if (g->doc) text_paragraph(e, "doc", g->doc);
    if (g->fused) text_word(e, "fused", "true");
    const char *pull = sym_text(e->s, g->pullback),
               *push = sym_text(e->s, g->pushforward);
    if (g->pullback) text_member(e, "pullback", pull, strlen(pull));
    if (g->pushforward) text_member(e, "pushforward", push, strlen(push));
    put_graph_body(e, g);
    text_close(e);
}

/* Ops that a reader needs to have. */
static void put_uses(TextWriter *e, const Graph *g) {
    size_t n;
    const Op **op = userop_list_of_graph(g, e->a, &n);
    if (!n) return;
    text_open(e, "uses");
    for (size_t i = 0; i < n; i++)
        text_word(e, op[i]->name,
                  arena_printf(e->a, "%u", op[i]->version ? op[i]->version : 1U));
    text_close(e);
}

static void put_graph_head(TextWriter *e, const Graph *g, bool provenance) {
    text_word(e, "thunkline", "1");
    if (g->name)
        text_member(e, "name", sym_text(e->s, g->name),
                    strlen(sym_text(e->s, g->name)));
    if (g->doc) text_paragraph(e, "doc", g->doc);
    if (g->floatX != DT_NONE)
        text_member(e, "floatX", dtype_name(g->floatX), strlen(dtype_name(g->floatX)));
    const char **mode = NEW_N(e->a, g->modes.n + 1, const char *);
    for (size_t i = 0; i < g->modes.n; i++)
        mode[i] = sym_text(e->s, g->modes.p[i]);
    if (g->modes.n) text_list(e, "modes", g->modes.n, mode);
    put_uses(e, g);
    if (e->au && e->au->unchanged) g = e->au->was; /* formatting is no step */
    if (!provenance || g->steps.n == 0) return;
    const char **step = NEW_N(e->a, g->steps.n, const char *);
    for (size_t i = 0; i < g->steps.n; i++)
        step[i] = arena_printf(e->a, "%s %s %s", g->steps.p[i].tool,
                               g->steps.p[i].version, g->steps.p[i].args);
    text_list(e, "steps", g->steps.n, step);
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

/* ---- the order of functions ---- */

typedef struct FunctionOrder {
    Session *s;
    Map place; /* of a name among the graph's functions */
    Vec(uint32_t) need, first;
} FunctionOrder;

static void need_function(FunctionOrder *f, Sym name) {
    uint64_t i;
    if (name && map_get(&f->place, name, &i)) vec_push(f->s, &f->need, (uint32_t)i);
}

static void need_callees(FunctionOrder *f, const Graph *fn) {
    vec_push(f->s, &f->first, (uint32_t)f->need.n);
    for (ApplyId a = 0; a < fn->napply; a++) {
        const Props *p = fn->apply[a].props;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->p[i].kind == P_GRAPH) need_function(f, p->p[i].sym);
    }
    need_function(f, fn->pullback);
    need_function(f, fn->pushforward);
}

/* Callees first, as a reader builds them, so that what is read and written again stays
 * the same. A circle of derivatives, which a graph may have, leaves the order as it
 * is. */
static void order_callees_first(const Graph *g, uint32_t *order) {
    FunctionOrder f = {.s = g->s, .place = MAP(g->s)};
    uint32_t n = (uint32_t)g->functions.n, circle;
    for (uint32_t i = 0; i < n; i++)
        map_put(&f.place, g->functions.p[i]->name, i);
    for (uint32_t i = 0; i < n; i++)
        need_callees(&f, g->functions.p[i]);
    vec_push(g->s, &f.first, (uint32_t)f.need.n);
    bool ok = toposort(g->s, n, f.first.p, f.need.p, order, &circle);
    for (uint32_t i = 0; i < n && !ok; i++)
        order[i] = i;
    map_free(&f.place);
    vec_free(&f.need);
    vec_free(&f.first);
}

typedef struct PlacedFunction {
    uint32_t entry, at; /* of the author's text */
} PlacedFunction;

static int compare_places(const void *a, const void *b) {
    const PlacedFunction *x = a, *y = b;
    if (x->entry != y->entry) return x->entry < y->entry ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Those of the author in his order, the others behind them. */
static const Graph **order_functions(const TextWriter *e, const Graph *g) {
    uint32_t n = (uint32_t)g->functions.n, *order = NEW_N(e->a, n + 1, uint32_t),
             all = e->au ? text_find_entry(e, NO_ENTRY, "functions") : NO_ENTRY;
    const Graph **fn = NEW_N(e->a, n + 1, const Graph *);
    PlacedFunction *place = NEW_N(e->a, n + 1, PlacedFunction);
    order_callees_first(g, order);
    for (uint32_t i = 0; i < n; i++) {
        Sym name = g->functions.p[order[i]]->name;
        uint32_t entry = all == NO_ENTRY ? NO_ENTRY : author_find(e->au, all, name);
        place[i] = (PlacedFunction){entry, i};
    }
    qsort(place, n, sizeof *place, compare_places);
    for (uint32_t i = 0; i < n; i++)
        fn[i] = g->functions.p[order[place[i].at]];
    return fn;
}

static void put_functions(TextWriter *e, const GraphPrinter *gp) {
    size_t n = gp->g->functions.n;
    if (!n) return;
    const Graph **fn = order_functions(e, gp->g);
    bool open = false;
    for (size_t i = 0; i < n; i++) {
        if (is_omitted(e, fn[i])) continue;
        if (!open) text_open(e, "functions");
        open = true;
        put_function(e, fn[i]);
    }
    if (open) text_close(e);
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
    if (au) text_remarks(&e, au->below, false);
    if (json) str_puts(out, "\n}\n");
}

static bool put_author_graph(Graph *g, Refs *refs, const WriteOptions *o, Str *out) {
    Author *au = refs_stay(refs, g) ? author_open(g) : NULL;
    if (!au) return false;
    put_graph(g, false, au, refs, o, out);
    author_free(au);
    if (author_holds(g, out, refs)) return true;
    str_clear(out);
    return false;
}

bool text_write(Graph *g, IoFormat f, Refs *refs, Sink *k, const WriteOptions *o) {
    if (!all_readable(g)) return false;
    Str out = STR(g->s);
    size_t mark = diag_count(g->s);
    if (f == IO_JSON || !put_author_graph(g, refs, o, &out))
        put_graph(g, f == IO_JSON, NULL, refs, o, &out);
    bool ok =
        !diag_failed(g->s, mark) && !refs->failed && (refs->text || refs_store(refs));
    if (ok) sink_add(k, str_text(&out), out.n);
    str_free(&out);
    return ok;
}
