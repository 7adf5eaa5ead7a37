/* A graph as a Graphviz picture: ellipses are Applies; boxes are variables: green
 * inputs, cyan shared variables, blue outputs, grey ones without readers. A blue edge
 * is an input that the output may view; a dashed edge is an update. */
#include "io/io_impl.h"
#include "lang/print.h"

#include <string.h>

enum { CONST_TEXT = 24 }; /* characters of a constant to show */

typedef struct Dot {
    Session *s;
    const Graph *g;
    Str *out;
    Printer *p;
    const uint8_t *live;
    unsigned no; /* number of the graph: 0 is main */
} Dot;

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
static void write_source_id(Dot *d, Var v) {
    ApplyId a = var_owner(d->g, v);
    if (a == APPLY_NONE)
        write_node_id(d, 'v', v);
    else
        write_node_id(d, 'a', a);
}

static void edge_label(Dot *d, Var v) {
    ApplyId a = var_owner(d->g, v);
    Sym name = var_name(d->g, v);
    if (a == APPLY_NONE) return;
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

static void write_dot_apply(Dot *d, ApplyId a) {
    const Apply *r = &d->g->apply[a];
    Str op = STR(d->s);
    print_op(d->s, r->op, r->props, &op);
    str_puts(d->out, "  ");
    write_node_id(d, 'a', a);
    str_puts(d->out, " [label=\"");
    write_escaped(d, str_text(&op));
    str_printf(d->out, "\"%s];\n", r->op->effect ? ", peripheries=2" : "");
    str_free(&op);
    for (uint32_t i = 0; i < r->nin; i++) {
        Var v = apply_in(d->g, a)[i];
        str_puts(d->out, "  ");
        write_source_id(d, v);
        str_puts(d->out, " -> ");
        write_node_id(d, 'a', a);
        str_printf(d->out, " [color=%s", is_viewed(d->g, a, i) ? "blue" : "black");
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

static void write_dot_graph(Dot *d) {
    const Graph *g = d->g;
    for (Var v = 0; v < g->nvar; v++)
        if (g->var[v].leaf && (d->live[v] || var_leaf(g, v) == LEAF_INPUT ||
                               var_leaf(g, v) == LEAF_SHARED))
            write_leaf_box(d, v);
    for (ApplyId a = 0; a < g->napply; a++) {
        bool live = false;
        for (uint16_t i = 0; i < g->apply[a].nout; i++)
            live = live || d->live[g->apply[a].out + i];
        if (live) write_dot_apply(d, a);
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
    (void)o;
    Session *s = main->s;
    Dot d = {.s = s, .out = out};
    str_puts(out, "digraph \"");
    write_escaped(&d, sym_text(s, main->name));
    str_puts(out, "\" {\n  node [fontname=\"sans-serif\"];\n  edge "
                  "[fontname=\"sans-serif\", fontsize=10];\n");
    for (size_t i = 0; i <= main->functions.n; i++) {
        Arena *a = arena_new(s);
        d.g = i ? main->functions.p[i - 1] : main;
        d.no = (unsigned)i;
        d.live = graph_live(d.g, a, ROOTS_RUN);
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
