/* A graph as a Graphviz picture: ellipses are Applies; boxes are variables: green
 * inputs, cyan shared variables, blue outputs, grey ones without readers. Orange
 * ellipses are Applies of derivatives. A blue edge is an input that the output may
 * view; a dashed edge is an update. */
#include "io/io_impl.h"
#include "lang/print.h"

#include <string.h>

enum { CONST_TEXT = 24 }; /* characters of a constant to show */
enum { LARGE = 150 };     /* a graph of more Applies needs a quick layout */

typedef struct Dot {
    Session *s;
    const Graph *g;
    Str *out;
    Printer *p;
    const uint8_t *live;
    const uint8_t *hidden; /* by variable: a detail that is left out */
    unsigned no;           /* number of the graph: 0 is main */
    bool large; /* names and types stand in the ellipses: labels of edges take room */
} Dot;

/* What is read from outside is no detail. */
static void show_through_casts(const Graph *g, Var v, uint8_t *hidden) {
    hidden[v] = 0;
    while (var_owner(g, v) != APPLY_NONE &&
           op_is(g->s, g->apply[var_owner(g, v)].op, OP_CAST)) {
        v = apply_in(g, var_owner(g, v))[0];
        hidden[v] = 0;
    }
}

/* The details that --simple leaves out: constants, dims, and what is computed from
 * these and from shapes alone. */
static uint8_t *find_details(const Graph *g, Arena *a) {
    uint8_t *hidden = NEW_N(a, (size_t)g->nvar + 1, uint8_t);
    for (Var v = 0; v < g->nvar; v++)
        hidden[v] = var_leaf(g, v) == LEAF_CONST || var_leaf(g, v) == LEAF_DIM;
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *ap = &g->apply[id];
        bool detail = ap->nin > 0 && !ap->op->effect;
        for (size_t i = 0; i < ap->nin && !ap->op->shape_only; i++)
            detail = detail && hidden[apply_in(g, id)[i]];
        for (Var k = 0; k < ap->nout; k++)
            hidden[ap->out + k] = detail;
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        show_through_casts(g, g->outputs.p[i].var, hidden);
    for (size_t i = 0; i < g->updates.n; i++)
        show_through_casts(g, g->updates.p[i].value, hidden);
    return hidden;
}

/* The variable that a cast casts, if casts are left out; else v. */
static Var without_casts(const Dot *d, Var v) {
    while (d->hidden && var_owner(d->g, v) != APPLY_NONE &&
           op_is(d->s, d->g->apply[var_owner(d->g, v)].op, OP_CAST))
        v = apply_in(d->g, var_owner(d->g, v))[0];
    return v;
}

/* Was the Apply made by differentiation? */
static bool is_backward(const Dot *d, ApplyId a) {
    Sym rule = d->g->origin[a].rule;
    return rule && strncmp(sym_text(d->s, rule), "gradient of", 11) == 0;
}

/* Text inside a quoted label. */
static void write_escaped(Dot *d, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') str_putc(d->out, '\\');
        if (*text == '\n')
            str_puts(d->out, "\\n");
        else if ((unsigned char)*text >= ' ')
            str_putc(d->out, *text);
    }
}

static void write_node_id(Dot *d, char kind, uint32_t id) {
    str_printf(d->out, "%c%u_%u", kind, d->no, id);
}

static void write_box(Dot *d, Var v, const char *name, const char *colour) {
    str_puts(d->out, "  ");
    write_node_id(d, 'v', v);
    str_puts(d->out, " [shape=box, label=\"");
    write_escaped(d, name);
    str_puts(d->out, "\\n");
    write_escaped(d, type_str(d->s, var_type(d->g, v)));
    str_printf(d->out, "\", style=filled, fillcolor=%s];\n", colour);
}

static void write_const_box(Dot *d, Var v) {
    const Tensor *t = var_const(d->g, v);
    Str text = STR(d->s);
    if (t && tensor_size(t) <= CONST_TEXT) tensor_text(d->s, t, -1, &text);
    if (!t)
        print_value(d->s, var_type(d->g, v), var_leafrec(d->g, v)->value, CONST_TEXT,
                    &text);
    if (text.n == 0 || text.n > CONST_TEXT) {
        str_clear(&text);
        str_puts(&text, "constant");
    }
    write_box(d, v, text.p, "white");
    str_free(&text);
}

static void write_leaf_box(Dot *d, Var v) {
    const char *name = sym_text(d->s, var_name(d->g, v));
    switch (var_leaf(d->g, v)) {
    case LEAF_INPUT:
        write_box(d, v, name, d->live[v] ? "palegreen" : "lightgrey");
        break;
    case LEAF_SHARED:
        write_box(d, v, name, d->live[v] ? "cyan" : "lightgrey");
        break;
    case LEAF_DIM:
        write_box(d, v, name, "palegreen");
        break;
    case LEAF_CONST:
        write_const_box(d, v);
        break;
    case LEAF_NOT:
        break;
    }
}

/* The node that shows a variable: its box if it is a leaf, else its Apply. */
static void write_source_id(Dot *d, Var named) {
    Var v = without_casts(d, named);
    ApplyId a = var_owner(d->g, v);
    if (a == APPLY_NONE)
        write_node_id(d, 'v', v);
    else
        write_node_id(d, 'a', a);
}

static void edge_label(Dot *d, Var v) {
    ApplyId a = var_owner(d->g, v);
    Sym name = var_name(d->g, v);
    if (a == APPLY_NONE || d->large) return;
    str_puts(d->out, ", label=\"");
    if (name) {
        write_escaped(d, sym_text(d->s, name));
        str_puts(d->out, ": ");
    }
    if (d->g->apply[a].nout > 1) str_printf(d->out, ".%u ", d->g->var[v].index);
    write_escaped(d, type_str(d->s, var_type(d->g, v)));
    str_putc(d->out, '"');
}

static bool is_viewed(const Graph *g, ApplyId a, uint32_t in) {
    for (uint16_t i = 0; i < g->apply[a].nout; i++)
        if (op_view(g, a, i) == (int)in) return true;
    return false;
}

/* Long edges take a large graph apart: what many Applies read, and what derivatives
 * read of the rest, is named where it is read. */
static bool is_named_only(const Dot *d, Var v, ApplyId reader) {
    ApplyId from = var_owner(d->g, v);
    if (!d->large) return false;
    return from == APPLY_NONE || (is_backward(d, reader) && !is_backward(d, from));
}

static void write_reference(Dot *d, Var v, ApplyId reader, uint32_t i) {
    Sym name = var_name(d->g, v);
    LeafKind k = var_leaf(d->g, v);
    str_printf(d->out, "  r%u_%u_%u [shape=box, label=\"", d->no, reader, i);
    if (name)
        write_escaped(d, sym_text(d->s, name));
    else if (k == LEAF_NOT)
        str_printf(d->out, "#%u", var_owner(d->g, v));
    else
        str_puts(d->out, "constant");
    str_printf(d->out, "\", fillcolor=%s];\n",
               k == LEAF_SHARED                   ? "cyan"
               : k == LEAF_INPUT || k == LEAF_DIM ? "palegreen"
                                                  : "white");
}

static void write_dot_apply(Dot *d, ApplyId a) {
    const Apply *r = &d->g->apply[a];
    Str op = STR(d->s);
    print_op(d->s, r->op, r->props, &op);
    str_puts(d->out, "  ");
    write_node_id(d, 'a', a);
    str_puts(d->out, " [label=\"");
    write_escaped(d, str_text(&op));
    if (d->large) {
        Sym name = var_name(d->g, r->out);
        str_puts(d->out, "\\n");
        if (name) write_escaped(d, sym_text(d->s, name));
        if (!name) str_printf(d->out, "#%u", a);
        str_puts(d->out, ": ");
        write_escaped(d, type_str(d->s, var_type(d->g, r->out)));
    }
    str_printf(d->out, "\"%s%s];\n", r->op->effect ? ", peripheries=2" : "",
               is_backward(d, a) ? ", style=filled, fillcolor=navajowhite" : "");
    str_free(&op);
    for (uint32_t i = 0; i < r->nin; i++) {
        Var v = apply_in(d->g, a)[i];
        if (d->hidden && d->hidden[without_casts(d, v)]) continue;
        bool named = is_named_only(d, without_casts(d, v), a);
        if (named) write_reference(d, without_casts(d, v), a, i);
        str_puts(d->out, "  ");
        if (named)
            str_printf(d->out, "r%u_%u_%u", d->no, a, i);
        else
            write_source_id(d, v);
        str_puts(d->out, " -> ");
        write_node_id(d, 'a', a);
        str_printf(d->out, " [color=%s",
                   is_viewed(d->g, a, i) ? "blue"
                   : d->large            ? "grey60"
                                         : "black");
        edge_label(d, v);
        str_puts(d->out, "];\n");
    }
}

static void write_dot_output(Dot *d, uint32_t i) {
    Output o = d->g->outputs.p[i];
    str_puts(d->out, "  ");
    write_node_id(d, 'o', i);
    str_puts(d->out, " [shape=box, label=\"");
    write_escaped(d, sym_text(d->s, o.label));
    str_puts(d->out, "\\n");
    write_escaped(d, type_str(d->s, var_type(d->g, o.var)));
    str_puts(d->out, "\", style=filled, fillcolor=lightskyblue];\n  ");
    write_source_id(d, o.var);
    str_puts(d->out, " -> ");
    write_node_id(d, 'o', i);
    str_puts(d->out, ";\n");
}

/* By variable: may its box be drawn? In a large graph those that outputs and updates
 * need are; the others stand where they are read. */
static uint8_t *boxes_of(const Dot *d) {
    const Graph *g = d->g;
    uint8_t *box = mem_zalloc(d->s, (size_t)g->nvar + 1, 1);
    for (Var v = 0; v < g->nvar; v++)
        box[v] = !d->large || !d->live[v];
    for (size_t i = 0; i < g->outputs.n; i++)
        box[without_casts(d, g->outputs.p[i].var)] = 1;
    for (size_t i = 0; i < g->updates.n; i++) {
        box[g->updates.p[i].shared] = 1;
        box[without_casts(d, g->updates.p[i].value)] = 1;
    }
    return box;
}

static void write_dot_graph(Dot *d) {
    const Graph *g = d->g;
    uint8_t *box = boxes_of(d);
    for (Var v = 0; v < g->nvar; v++)
        if (g->var[v].leaf && box[v] && !(d->hidden && d->hidden[v]) &&
            (d->live[v] || var_leaf(g, v) == LEAF_INPUT ||
             var_leaf(g, v) == LEAF_SHARED))
            write_leaf_box(d, v);
    mem_free(box);
    for (ApplyId a = 0; a < g->napply; a++) {
        bool live = false, detail = d->hidden && (d->hidden[g->apply[a].out] ||
                                                  op_is(d->s, g->apply[a].op, OP_CAST));
        for (uint16_t i = 0; i < g->apply[a].nout; i++)
            live = live || d->live[g->apply[a].out + i];
        if (live && !detail) write_dot_apply(d, a);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        write_dot_output(d, i);
    for (size_t i = 0; i < g->updates.n; i++) {
        str_puts(d->out, "  ");
        write_source_id(d, g->updates.p[i].value);
        str_puts(d->out, " -> ");
        write_node_id(d, 'v', g->updates.p[i].shared);
        str_puts(d->out, " [style=dashed, constraint=false, label=\"update\"];\n");
    }
}

void dot_write(const Graph *main, const WriteOptions *o, Str *out) {
    Session *s = main->s;
    size_t applies = main->napply;
    for (size_t i = 0; i < main->functions.n; i++)
        applies += main->functions.p[i]->napply;
    Dot d = {.s = s, .out = out, .large = applies > LARGE};
    str_puts(out, "digraph \"");
    write_escaped(&d, sym_text(s, main->name));
    str_puts(out, "\" {\n  node [fontname=\"sans-serif\"];\n  edge "
                  "[fontname=\"sans-serif\", fontsize=10];\n");
    if (d.large) /* the default takes minutes */
        str_puts(out, "  splines=line; nslimit=1; nslimit1=1; mclimit=0.1; "
                      "ranksep=0.3; nodesep=0.15; outputorder=edgesfirst;\n  node "
                      "[style=filled, fillcolor=white];\n");
    for (size_t i = 0; i <= main->functions.n; i++) {
        Arena *a = arena_new(s);
        d.g = i ? main->functions.p[i - 1] : main;
        d.no = (unsigned)i;
        d.live = graph_live(d.g, a, ROOTS_RUN);
        d.hidden = o->simple ? find_details(d.g, a) : NULL;
        if (i) {
            str_printf(out, "  subgraph cluster_%u {\n  label=\"", d.no);
            write_escaped(&d, sym_text(s, d.g->name));
            str_puts(out, "\";\n");
        }
        write_dot_graph(&d);
        if (i) str_puts(out, "  }\n");
        arena_free(a);
    }
    str_puts(out, "}\n");
}
