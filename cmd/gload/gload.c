/* gload: read, check, convert, edit, show. */
#include "cli/cli.h"
#include "tools/tools.h"
#include "value/file/file.h"

#include <string.h>
#include <unistd.h>

typedef struct Gload {
    Common common;
    Texts expr, input, shared, update, set, rename, dim, narrow, compare;
    const char *outputs, *freeze, *prefix, *list_ops, *op, *refs, *around;
    int unused;
    int64_t depth;
    WriteOptions view; /* what --around means in the graph */
    bool fresh, check, info, nodes, simple, list_types, list_optimizers, pack, list_all;
} Gload;
#define AT(field) offsetof(Gload, field)
#define UNSET     INT64_MIN /* a value that --depth can't have */

static const Opt options[] = {
    {"expr", 'e', OPT_LIST, AT(expr), "EXPR",
     "Add a definition, name = expression; a bare expression defines the output out.",
     NULL, GROUP_WORK},
    {"input", 'i', OPT_LIST, AT(input), "NAME:TYPE",
     "Declare an input, such as 'x: float64[3]'.", NULL, GROUP_WORK},
    {"shared", 0, OPT_LIST, AT(shared), "NAME:TYPE=EXPR",
     "Declare a shared variable with its initial value; m: = zeros_like(W) takes its "
     "type, too.",
     NULL, GROUP_WORK},
    {"new", 0, OPT_FLAG, AT(fresh), NULL,
     "Start with an empty graph and don't read standard input; undeclared names become "
     "floatX scalar inputs. Implied by -e, -i or --shared without FILE if no other "
     "editing option is given, if all names that the options use are declared by them, "
     "or if standard input is a terminal or /dev/null.",
     NULL, GROUP_INPUT},
    {"outputs", 0, OPT_NAMES, AT(outputs), "NAMES",
     "Make these variables the outputs; commas separate them.", "graph", GROUP_WORK},
    {"update", 0, OPT_LIST, AT(update), "NAME=EXPR",
     "Set the update of a shared variable.", NULL, GROUP_WORK},
    {"set", 0, OPT_LIST, AT(set), "NAME=VALUE",
     "Set the value of a shared variable; @FILE sets all that are named in a file. An "
     "input of an ONNX model becomes a constant.",
     "graph", GROUP_WORK},
    {"freeze", 0, OPT_NAMES, AT(freeze), "NAMES",
     "Turn shared variables into constants, '*' all of them, so that rewriting may use "
     "their values.",
     "graph", GROUP_WORK},
    {"rename", 0, OPT_LIST, AT(rename), "OLD=NEW", "Rename a variable or an output.",
     "graph", GROUP_WORK},
    {"prefix", 0, OPT_TEXT, AT(prefix), "P",
     "Put P before all names, before several FILEs are merged.", NULL, GROUP_INPUT},
    {"dim", 0, OPT_LIST, AT(dim), "NAME=SIZE", "Replace a named dim by a number.", NULL,
     GROUP_WORK},
    {"narrow", 0, OPT_LIST, AT(narrow), "NAME:TYPE",
     "Narrow the type of a variable: an input or a shared variable is redeclared, a "
     "result is checked while running.",
     "graph", GROUP_WORK},
    {"compare", 0, OPT_LIST, AT(compare), "NAME:HOW",
     "Set how values of a variable are compared, such as 'y: rtol=1e-3, atol=0, "
     "sloppy=1, remove_inf=True, remove_nan=True'; nothing after the colon restores "
     "the rule of its type.",
     "graph", GROUP_WORK},
    {"pack", 0, OPT_FLAG, AT(pack), NULL,
     "Embed the arrays that the graph refers to by file name.", NULL, GROUP_OUTPUT},
    {"refs", 0, OPT_FILE, AT(refs), "DIR",
     "Write the large constants of a text form to files in DIR, below the text's "
     "folder.",
     NULL, GROUP_OUTPUT},
    {"on-unused-input", 0, OPT_ENUM, AT(unused), UNUSED_INPUTS,
     "What to do about an input that no output, update or effect needs.", NULL,
     GROUP_INPUT},
    {"check", 0, OPT_FLAG, AT(check), NULL, "Check the graph and write nothing.", NULL,
     GROUP_OUTPUT},
    {"info", 0, OPT_FLAG, AT(info), NULL,
     "Print a table of the contents of the graph, or of a file of arrays.", NULL,
     GROUP_OUTPUT},
    {"nodes", 0, OPT_FLAG, AT(nodes), NULL,
     "With -O json: print the Applies and variables as data.", NULL, GROUP_OUTPUT},
    {"simple", 0, OPT_FLAG, AT(simple), NULL,
     "With -O dot: leave constants, shapes and casts out of the picture.", NULL,
     GROUP_OUTPUT},
    {"depth", 0, OPT_INT, AT(depth), "N",
     "With -O dot: draw names with a common beginning (enc_0 of enc_0_q), and "
     "functions, "
     "N levels deep; what is deeper is one node. With -O svg: open all boxes that are "
     "at "
     "most N levels deep. With -O tree: show N levels.",
     NULL, GROUP_OUTPUT},
    {"around", 0, OPT_STR, AT(around), "NAME[:K]",
     "With -O dot: draw only what is at most K steps (default 2) from the variable "
     "NAME.",
     "graph", GROUP_OUTPUT},
    {"list-ops", 0, OPT_MAYBE, AT(list_ops), "WORD",
     "List the functions, or those that have WORD in their name or text; with *, ? or "
     "[, WORD is a pattern of names.",
     "ops", GROUP_OUTPUT},
    {"all", 0, OPT_FLAG, AT(list_all), NULL,
     "List also the ops that only rewriting, derivatives and macros make.", NULL,
     GROUP_OUTPUT},
    {"op", 0, OPT_STR, AT(op), "NAME",
     "Print an op's contract: signature, props, gradient, cost, examples; or an "
     "optimizer's lines.",
     "ops", GROUP_OUTPUT},
    {"list-optimizers", 0, OPT_FLAG, AT(list_optimizers), NULL,
     "List the optimizers, wrappers and schedules of ggrad --optimizer.", NULL,
     GROUP_OUTPUT},
    {"list-types", 0, OPT_FLAG, AT(list_types), NULL,
     "List the types: how each is written, what its filter accepts, how its values are "
     "compared, and their size.",
     NULL, GROUP_OUTPUT},
    OPSET_OPTION(Gload),
};

static Edit collect_edits(const Gload *o, Arena *a) {
    Edit e = {.outputs = o->outputs, .freeze = o->freeze};
    const struct {
        const Texts *from;
        size_t *n;
        const Span **to;
    } rows[] = {{&o->expr, &e.nexpr, &e.expr},
                {&o->input, &e.ninput, &e.input},
                {&o->shared, &e.nshared, &e.shared},
                {&o->update, &e.nupdate, &e.update},
                {&o->set, &e.nset, &e.set},
                {&o->rename, &e.nrename, &e.rename},
                {&o->dim, &e.ndim, &e.dim},
                {&o->narrow, &e.nnarrow, &e.narrow},
                {&o->compare, &e.ncompare, &e.compare}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Span *at = NEW_N(a, rows[i].from->n, Span);
        for (size_t k = 0; k < rows[i].from->n; k++)
            at[k] = rows[i].from->p[k].at;
        *rows[i].n = rows[i].from->n;
        *rows[i].to = at;
    }
    e.is_set = NEW_N(a, e.nset + 1, bool);
    return e;
}

/* One FILE, several joined, stdin, or none at all. */
static Graph *load_operands(Run *r, const Gload *o, bool fresh) {
    size_t n = o->common.operands.n;
    ReadOptions how = READ_DEFAULT;
    if (fresh) return io_new(r->s, &how);
    Graph **part = NEW_N(session_arena(r->s), n + 1, Graph *);
    for (size_t i = 0; i < (n ? n : 1); i++) {
        part[i] = run_read(r, n ? o->common.operands.p[i].p : NULL);
        if (part[i] && (!o->prefix || graph_prefix(part[i], o->prefix))) continue;
        graph_free(part[i]);
        while (i > 0)
            graph_free(part[--i]);
        return NULL;
    }
    return n > 1 ? graph_join(r->s, n, part) : part[0];
}

static bool wants_json(const Common *c) {
    return run_wants_format(c, IO_JSON);
}

/* --info of files of arrays; *are: the first FILE is one. */
static bool print_arrays(Run *r, const Gload *o, bool *are) {
    const Texts *t = &o->common.operands;
    *are = o->info && t->n && value_is_file(r->s, t->p[0].p);
    Str text = STR(r->s);
    bool ok = true;
    for (size_t i = 0; *are && ok && i < t->n; i++)
        ok = values_info(r->s, t->p[i].p, wants_json(r->common), &text);
    if (ok && *are) ok = run_print(r, &text);
    str_free(&text);
    return ok;
}

/* --info of a model that can't become a graph: what it is made of. *is: it is one. */
static bool print_model(Run *r, const Gload *o, bool *is) {
    const Texts *t = &o->common.operands;
    ModelOverview v = {0};
    Str text = STR(r->s);
    *is = false;
    if (!o->info || t->n != 1) return true;
    bool ok = io_model_overview(r->s, t->p[0].p, is, &v);
    *is = *is && v.unknown > 0;
    if (ok && *is) {
        model_info(r->s, &v, wants_json(r->common), &text);
        warn(r->s, NOWHERE, E_NAME,
             "%s: %s of %zu are not known, so it can't become a graph", t->p[0].p,
             str_counted(r->s, v.unknown, "op"), v.nop);
        ok = run_print(r, &text);
    }
    str_free(&text);
    io_model_overview_free(&v);
    return ok;
}

static bool check_graph(Graph *g, const char *name) {
    if (!graph_check(g)) return false;
    graph_warn_idle(g, name);
    return true;
}

static bool print_information(Run *r, const Gload *o, Graph *g, bool *done) {
    Str text = STR(r->s);
    bool ok = true, json = wants_json(r->common);
    *done = o->list_ops || o->op || o->list_types || o->list_optimizers ||
            (g && (o->info || o->nodes || o->check));
    if (o->list_ops)
        ok = gload_list_ops(r->s, *o->list_ops ? o->list_ops : "*", o->list_all, json,
                            &text);
    else if (o->op)
        ok = gload_list_op(r->s, o->op, json, &text);
    else if (o->list_optimizers)
        ok = gload_list_optimizers(r->s, json, &text);
    else if (o->list_types)
        gload_list_types(r->s, json, &text);
    else if (g && o->check)
        ok = check_graph(g, NULL);
    else if (g && o->info)
        ok = graph_check(g) && graph_info(g, json, &text);
    else if (g && o->nodes && (ok = graph_check(g)))
        graph_nodes(g, &text);
    if (ok && text.n) ok = run_print(r, &text);
    str_free(&text);
    return ok;
}

static void set_write_options(const Run *r, WriteOptions *how) {
    const Gload *o = (const Gload *)r->common;
    how->pack = o->pack;
    how->by_reference = r->use == ELEMENTS_COPIED;
    how->refs = o->refs;
    how->simple = o->simple;
    how->depth = o->depth == UNSET ? 0 : (int)o->depth;
    how->around = o->view.around;
    how->around_var = o->view.around_var;
    how->steps = o->view.steps;
}

/* Pictures of a part need the formats that show parts. */
static bool check_view(Run *r, const Gload *o) {
    bool dot = run_wants_format(r->common, IO_DOT),
         picture = dot || run_wants_format(r->common, IO_SVG);
    if (o->depth != UNSET && (o->depth < 1 || o->depth > INT32_MAX))
        return fail(r->s, NOWHERE, E_USAGE, "--depth must be at least 1");
    if (o->depth != UNSET && !picture && !run_wants_format(r->common, IO_TREE))
        return fail(r->s, NOWHERE, E_USAGE, "--depth needs -O svg, dot or tree");
    if (o->around && !dot) return fail(r->s, NOWHERE, E_USAGE, "--around needs -O dot");
    return true;
}

/* NAME:K, unless that is a name itself. */
static size_t split_steps(Run *r, const Graph *g, const char *text, uint32_t *steps) {
    const char *colon = strrchr(text, ':');
    Sym whole = sym(r->s, text);
    *steps = 2;
    if (!colon || graph_find(g, whole) != VAR_NONE ||
        graph_output(g, whole) != VAR_NONE)
        return strlen(text);
    *steps = 0;
    for (const char *c = colon + 1; ascii_is_digit(*c) && *steps < 100000000; c++)
        *steps = *steps * 10 + (uint32_t)(*c - '0');
    size_t digits = strspn(colon + 1, "0123456789");
    return digits && !colon[1 + digits] ? (size_t)(colon - text) : 0;
}

static bool find_around(Run *r, Gload *o, Graph *g) {
    if (!o->around) return true;
    Span at = run_text(r, "--around", o->around);
    WriteOptions *v = &o->view;
    size_t n = split_steps(r, g, o->around, &v->steps);
    if (!n)
        return fail(r->s, at, E_USAGE,
                    "--around takes NAME or NAME:K, where K is a number of steps");
    v->around = true;
    return names_find_var(g, arena_str(session_arena(r->s), o->around, n), n, at,
                          &v->around_var);
}

static size_t count_added(const Edit *e) {
    return e->nexpr + e->ninput + e->nshared;
}

static bool changes_graph(const Gload *o, const Edit *e) {
    return e->nupdate + e->nset + e->nrename + e->ndim + e->nnarrow + e->ncompare > 0 ||
           o->outputs || o->prefix || o->freeze;
}

/* Do the options make a graph by themselves? Only a name that none of them declares
 * sends gload to standard input. *g is NULL if another mistake was found. */
static bool start_new(Run *r, const Edit *e, Graph **g) {
    ReadOptions how = READ_DEFAULT;
    size_t mark = diag_count(r->s);
    *g = io_new(r->s, &how);
    if (graph_edit(*g, e)) return true;
    graph_free(*g);
    *g = NULL;
    DiagCode why = diag_get(r->s, mark)->code;
    if (why != E_NAME && why != E_UNKNOWN) return true;
    diag_rewind(r->s, mark);
    return false;
}

/* The graph, edited. NULL: diagnosed. */
static Graph *make_graph(Run *r, const Gload *o, Edit *e) {
    bool adds = o->common.operands.n == 0 && count_added(e) > 0;
    bool fresh = o->fresh || (adds && (!changes_graph(o, e) || !run_is_piped()));
    Graph *g = NULL;
    ReadFix fix = edit_fix(e);
    e->auto_inputs = fresh;
    r->fix = &fix;
    bool complete = adds && !fresh && start_new(r, e, &g);
    if (!complete) g = load_operands(r, o, fresh);
    if (!g && !complete && adds)
        note(r->s, NOWHERE,
             "with --new, gload starts with an empty graph and reads none");
    r->fix = NULL;
    bool ok = g && (complete || graph_edit(g, e));
    if (ok) graph_forget_trees(g);
    if (ok && o->prefix && (fresh || complete)) ok = graph_prefix(g, o->prefix);
    if (ok) return g;
    graph_free(g);
    return NULL;
}

/* Each FILE is checked by itself: they need not fit together. */
static bool check_each(Run *r, const Gload *o) {
    bool ok = true;
    for (size_t i = 0; i < o->common.operands.n; i++) {
        const char *path = o->common.operands.p[i].p;
        Graph *g = run_read(r, path);
        ok &=
            g && graph_unused_inputs(g, (UnusedInput)o->unused) && check_graph(g, path);
        graph_free(g);
    }
    return ok;
}

/* Of a graph of which no edit looks at values. Texts write numbers; other forms copy
 * large values, or leave them out. */
static ElementUse use_of_values(const Run *r, const Gload *o) {
    static const IoFormat copying[] = {IO_TLG,  IO_ONNX, IO_DOT, IO_SVG,
                                       IO_HTML, IO_TREE, IO_MATH};
    if (o->info) return ELEMENTS_IGNORED;
    bool copies = !o->common.output && o->common.format < 0 && !isatty(STDOUT_FILENO);
    for (size_t i = 0; i < sizeof copying / sizeof *copying; i++)
        copies |= run_wants_format(r->common, copying[i]);
    return copies ? ELEMENTS_COPIED : ELEMENTS_COMPUTED;
}

static bool gload_run(Run *r) {
    Gload *o = (Gload *)r->common;
    Edit e = collect_edits(o, session_arena(r->s));
    r->no_graph = o->list_ops || o->op || o->list_types || o->list_optimizers ||
                  o->info || o->nodes || o->check;
    bool done;
    if (o->nodes && !wants_json(r->common))
        return fail(r->s, NOWHERE, E_USAGE, "--nodes needs -O json");
    if (!check_view(r, o)) return false;
    if (o->outputs) e.outputs_at = run_text(r, "--outputs", o->outputs);
    if (o->freeze) e.freeze_at = run_text(r, "--freeze", o->freeze);
    if (!print_information(r, o, NULL, &done) || done)
        return done && !diag_first_error(r->s);
    if (!print_arrays(r, o, &done) || done) return done && !diag_first_error(r->s);
    if (!print_model(r, o, &done) || done) return done && !diag_first_error(r->s);
    bool alone = !count_added(&e) && !changes_graph(o, &e);
    bool looked_at = e.nset + e.nshared + e.ndim + e.nnarrow > 0 || o->freeze;
    r->use = looked_at || (o->info && !alone) ? ELEMENTS_COMPUTED : use_of_values(r, o);
    if (o->check && o->common.operands.n > 1 && alone) return check_each(r, o);
    Graph *g = make_graph(r, o, &e);
    if (!g) return false;
    r->write = set_write_options;
    bool ok = graph_unused_inputs(g, (UnusedInput)o->unused) &&
              print_information(r, o, g, &done) &&
              (done || (find_around(r, o, g) && run_write(r, g)));
    graph_free(g);
    return ok;
}

static void preset_gload(Common *settings) {
    ((Gload *)settings)->depth = UNSET;
}

static const Tool tool = {.name = "gload",
                          .brief = "read, check, convert, edit and show tensor graphs",
                          .operands = "[FILE...]",
                          .work = "Editing",
                          .examples =
                              "gload -e 'sin(x)**2' | ggrad | grun x=1.0\n"
                              "gload model.yaml --dim n=100 -O json -o model.json\n"
                              "gload model.yaml -o model.html\n",
                          .formats = IO_FORMAT_NAMES,
                          .opt = options,
                          .nopt = sizeof options / sizeof *options,
                          .settings = sizeof(Gload),
                          .writes_graph = true,
                          .preset = preset_gload,
                          .run = gload_run};

int main(int argc, char **argv) {
    return tool_main(&tool, argc, argv);
}
