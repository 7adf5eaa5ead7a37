/* A graph as a Graphviz picture: ellipses are Applies; boxes are variables: green
 * inputs, cyan shared variables, blue outputs, grey ones without readers; rounded boxes
 * are groups of Applies. Orange ones are derivatives. A blue edge is an input that the
 * output may view; a dashed edge is an update. */
#include "io/dot_impl.h"
#include "lang/print/print.h"

#include <string.h>

enum { CONST_TEXT = 24 }; /* characters of a constant to show */
/* A graph of more nodes needs a quick layout; if groups are boxes, it soon does. */
enum { LARGE = 150, LARGE_IN_BOXES = 50 };
enum { MANY = 8 }; /* readers */

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

/* ---- nodes ---- */
static void write_node_name(Dot *d, DotNode n) {
    if (dot_is_group(d, n))
        write_node_id(d, 'g', n - dot_node_of_group(d, 0));
    else if (dot_is_leaf(d, n))
        write_node_id(d, 'v', n);
    else
        write_node_id(d, 'a', dot_apply_of(d, n));
}

static bool is_gradient(const Dot *d, DotNode n) {
    if (dot_is_group(d, n)) return dot_group_of(d, n)->kind == FOR_GRADIENTS;
    return !dot_is_leaf(d, n) && apply_is_gradient(d->g, dot_apply_of(d, n));
}

/* Long edges take a large graph apart: leaves, and what derivatives read of the rest,
 * are named where they are read; among groups, what many of them read. */
static bool is_named_only(const Dot *d, const DotEdge *e) {
    if (e->update) return false;
    if (d->depth && d->readers[e->from] > MANY) return true;
    return d->large && (dot_is_leaf(d, e->from) ||
                        (is_gradient(d, e->to) && !is_gradient(d, e->from)));
}

static const char *group_colour(const DotGroup *k) {
    static const char *const colours[] = {"aliceblue", "navajowhite", "lightyellow"};
    return colours[k->kind];
}

/* Beside its reader rather than above it: that takes less room. */
static void write_reference(Dot *d, uint32_t edge) {
    const DotEdge *e = &d->edges.p[edge];
    Var v = dot_without_casts(d, e->var);
    Sym name = var_name(d->g, v);
    LeafKind k = dot_is_group(d, e->from) ? LEAF_NOT : var_leaf(d->g, v);
    Str text = STR(d->s);
    if (name && e->count == 1)
        str_puts(&text, sym_text(d->s, name));
    else if (dot_is_group(d, e->from))
        dot_group_title(d, dot_group_of(d, e->from), &text);
    else if (k == LEAF_NOT)
        str_printf(&text, "#%u", var_owner(d->g, v));
    else
        str_puts(&text, "constant");
    str_printf(d->out, "  {rank=same; r%u_%u [shape=box, label=\"", d->no, edge);
    write_escaped(d, str_text(&text));
    str_printf(d->out, "\", style=filled, fillcolor=%s]; ",
               k == LEAF_SHARED                   ? "cyan"
               : k == LEAF_INPUT || k == LEAF_DIM ? "palegreen"
               : dot_is_group(d, e->from) ? group_colour(dot_group_of(d, e->from))
                                          : "white");
    write_node_name(d, e->to);
    str_puts(d->out, ";}\n");
    str_free(&text);
}

/* What a call would do, where the picture doesn't go so deep. */
static void write_called(Dot *d, ApplyId a) {
    const Props *props = d->g->apply[a].props;
    for (uint32_t i = 0; props && i < props->n; i++) {
        const Graph *fn =
            props->p[i].kind == P_GRAPH ? graph_function(d->g, props->p[i].sym) : NULL;
        if (!fn || map_get(d->drawn, (uintptr_t)fn, NULL)) continue;
        str_puts(d->out, "\\n");
        write_escaped(d, sym_text(d->s, fn->name));
        str_printf(d->out, ": %s", str_counted(d->s, fn->napply, "Apply"));
    }
}

static void write_dot_apply(Dot *d, ApplyId a) {
    const Apply *r = &d->g->apply[a];
    Str op = STR(d->s);
    print_op(d->s, r->op, r->props, &op);
    str_puts(d->out, "  ");
    write_node_id(d, 'a', a);
    str_puts(d->out, " [label=\"");
    write_escaped(d, str_text(&op));
    str_free(&op);
    write_called(d, a);
    if (d->large) {
        Sym name = var_name(d->g, r->out);
        str_puts(d->out, "\\n");
        if (name) write_escaped(d, sym_text(d->s, name));
        if (!name) str_printf(d->out, "#%u", a);
        str_puts(d->out, ": ");
        write_escaped(d, type_str(d->s, var_type(d->g, r->out)));
    }
    str_printf(d->out, "\"%s%s%s];\n", r->op->effect ? ", peripheries=2" : "",
               apply_is_gradient(d->g, a) ? ", style=filled, fillcolor=navajowhite"
                                          : "",
               dot_node_of_apply(d, a) == d->centre ? ", penwidth=3" : "");
}

static void write_collapsed(Dot *d, uint32_t group) {
    const DotGroup *k = &d->group[group];
    Str title = STR(d->s);
    dot_group_title(d, k, &title);
    str_puts(d->out, "  ");
    write_node_id(d, 'g', group);
    str_puts(d->out, " [shape=box, style=\"rounded,filled\", label=\"");
    write_escaped(d, str_text(&title));
    str_free(&title);
    str_printf(d->out, "\\n%s", str_counted(d->s, k->applies, "Apply"));
    if (k->shared) str_printf(d->out, ", %u shared", k->shared);
    str_printf(d->out, "\", fillcolor=%s%s%s];\n", group_colour(k),
               k->effect ? ", peripheries=2" : "",
               dot_node_of_group(d, group) == d->centre ? ", penwidth=3" : "");
}

/* Stubs for what is near, but not shown. */
static void write_rest(Dot *d, DotNode n, const DotEnds *ends) {
    uint32_t hidden = 0;
    for (uint32_t i = ends->first[n]; i < ends->first[n + 1]; i++) {
        const DotEdge *e = &d->edges.p[ends->edge[i]];
        hidden += !d->shown[ends->down ? e->to : e->from] && !e->update &&
                  !is_named_only(d, e);
    }
    if (!hidden || dot_is_leaf(d, n)) return;
    str_printf(d->out,
               "  m%u_%u_%d [shape=plaintext, style=\"\", label=\"%u more\"];\n  ",
               d->no, n, ends->down, hidden);
    if (ends->down) write_node_name(d, n);
    str_printf(d->out, "%sm%u_%u_%d%s", ends->down ? " -> " : "", d->no, n, ends->down,
               ends->down ? "" : " -> ");
    if (!ends->down) write_node_name(d, n);
    str_puts(d->out, " [style=dotted];\n");
}

/* By leaf: may its box be drawn? In a large graph those that outputs and updates need
 * are; the others stand where they are read. */
static uint8_t *boxes_of(const Dot *d) {
    const Graph *g = d->g;
    uint8_t *box = NEW_N(d->a, (size_t)g->nvar + 1, uint8_t);
    for (Var v = 0; v < g->nvar; v++)
        box[v] = var_leaf(g, v) < LEAF_CONST && (!d->large || !d->live[v]);
    for (size_t i = 0; i < d->edges.n; i++)
        if (dot_is_leaf(d, d->edges.p[i].from))
            box[d->edges.p[i].from] = !is_named_only(d, &d->edges.p[i]);
    for (size_t i = 0; i < g->outputs.n; i++)
        box[dot_without_casts(d, g->outputs.p[i].var)] = 1;
    for (size_t i = 0; i < g->updates.n; i++) {
        box[g->updates.p[i].shared] = 1;
        box[dot_without_casts(d, g->updates.p[i].value)] = 1;
    }
    return box;
}

static bool has_box(const Dot *d, const uint8_t *box, Var v) {
    const Graph *g = d->g;
    if (!g->var[v].leaf || !box[v] || !d->shown[v]) return false;
    if (d->hidden && d->hidden[v]) return false;
    if (dot_node_of_var(d, v) != v) return false; /* in a group */
    return d->live[v] || var_leaf(g, v) == LEAF_INPUT || var_leaf(g, v) == LEAF_SHARED;
}

/* Is this Apply or group a node of the picture? */
static bool is_drawn(const Dot *d, DotNode n) {
    if (!d->shown[n]) return false;
    if (dot_is_group(d, n)) return dot_group_of(d, n)->collapsed;
    uint32_t group = d->apply_group[dot_apply_of(d, n)];
    return dot_draws_apply(d, dot_apply_of(d, n)) &&
           (group == DOT_NONE || d->group[group].within == DOT_NONE);
}

static bool has_node(const Dot *d, const uint8_t *box, DotNode n) {
    return dot_is_leaf(d, n) ? has_box(d, box, n) : is_drawn(d, n);
}

/* ---- groups that are open: their nodes stand in a box ---- */
typedef struct GroupTree {
    uint32_t *child, *sibling; /* by group; 0: none */
    uint32_t *drawn;           /* nodes in it and in what is inside */
    uint32_t *first;           /* its own nodes: node[first[g]] .. node[first[g + 1]] */
    DotNode *node;
} GroupTree;

static uint32_t group_around(const Dot *d, DotNode n) {
    if (dot_is_group(d, n)) return dot_group_of(d, n)->parent;
    uint32_t group =
        dot_is_leaf(d, n) ? d->leaf_group[n] : d->apply_group[dot_apply_of(d, n)];
    return group == DOT_NONE ? 0 : group;
}

static GroupTree group_tree(const Dot *d) {
    size_t n = d->ngroup, nodes = dot_node_count(d);
    GroupTree t = {.child = NEW_N(d->a, n, uint32_t),
                   .sibling = NEW_N(d->a, n, uint32_t),
                   .drawn = NEW_N(d->a, n, uint32_t),
                   .first = NEW_N(d->a, n + 2, uint32_t),
                   .node = NEW_N(d->a, nodes + 1, DotNode)};
    const uint8_t *box = boxes_of(d);
    for (DotNode k = 0; k < nodes; k++)
        if (has_node(d, box, k)) t.first[group_around(d, k) + 2]++;
    for (size_t i = 0; i < n; i++)
        t.drawn[i] = t.first[i + 2];
    for (size_t i = 2; i < n + 1; i++)
        t.first[i] += t.first[i - 1];
    for (DotNode k = 0; k < nodes; k++)
        if (has_node(d, box, k)) t.node[t.first[group_around(d, k) + 1]++] = k;
    for (uint32_t i = d->ngroup; i-- > PURPOSES;) {
        uint32_t up = d->group[i].parent;
        t.drawn[up] += t.drawn[i];
        t.sibling[i] = t.child[up];
        t.child[up] = i;
    }
    return t;
}

static bool is_boxed(const Dot *d, const GroupTree *t, uint32_t group) {
    const DotGroup *k = &d->group[group];
    return k->level > 0 && k->level < d->depth && !k->pass && k->applies &&
           t->drawn[group] > 1;
}

static void open_group(Dot *d, const GroupTree *t, uint32_t group) {
    Str title = STR(d->s);
    if (!is_boxed(d, t, group)) return;
    dot_group_title(d, &d->group[group], &title);
    str_printf(d->out,
               "  subgraph cluster_%u_%u {\n  style=rounded; color=%s; label=\"", d->no,
               group, d->group[group].kind == FOR_GRADIENTS ? "orange" : "grey60");
    write_escaped(d, str_text(&title));
    str_puts(d->out, "\";\n");
    str_free(&title);
}

static void write_own_nodes(Dot *d, const GroupTree *t, uint32_t group,
                            const DotEnds *reads) {
    for (uint32_t i = t->first[group]; i < t->first[group + 1]; i++) {
        DotNode n = t->node[i];
        if (dot_is_leaf(d, n))
            write_leaf_box(d, n);
        else if (dot_is_group(d, n))
            write_collapsed(d, n - dot_node_of_group(d, 0));
        else
            write_dot_apply(d, dot_apply_of(d, n));
        for (uint32_t k = reads->first[n]; k < reads->first[n + 1]; k++)
            if (is_named_only(d, &d->edges.p[reads->edge[k]]))
                write_reference(d, reads->edge[k]);
    }
}

/* All groups below a root, each in that of its parent. */
static void write_groups(Dot *d, const GroupTree *t, uint32_t root,
                         const DotEnds *reads) {
    uint32_t at = root;
    open_group(d, t, at);
    write_own_nodes(d, t, at, reads);
    for (;;) {
        uint32_t next = t->child[at];
        while (!next) {
            if (is_boxed(d, t, at)) str_puts(d->out, "  }\n");
            if (at == root) return;
            next = t->sibling[at];
            at = d->group[at].parent;
        }
        at = next;
        open_group(d, t, at);
        write_own_nodes(d, t, at, reads);
    }
}

/* ---- edges ---- */
/* Gradients and updates stand beside what they belong to, so that forward and backward
 * are two columns; Graphviz can't do that where groups are boxes. */
static bool has_columns(const Dot *d) {
    return d->depth == 1 && !d->large;
}

static bool stands_beside(const Dot *d, DotNode n) {
    DotNode twin = dot_twin(d, n);
    return twin != DOT_NONE && d->shown[twin];
}

/* A column of gradients is drawn from top to bottom, and read upwards. */
static bool leads_up(const Dot *d, const DotEdge *e) {
    return has_columns(d) && !e->update && stands_beside(d, e->to) &&
           stands_beside(d, e->from);
}

static bool leads_across(const Dot *d, const DotEdge *e) {
    return has_columns(d) && stands_beside(d, e->to) && !stands_beside(d, e->from) &&
           dot_twin(d, e->to) != e->from;
}

static void write_column(Dot *d, DotNode n) {
    if (dot_is_leaf(d, n) || !is_drawn(d, n) || !stands_beside(d, n)) return;
    str_puts(d->out, "  {rank=same; ");
    write_node_name(d, dot_twin(d, n));
    str_puts(d->out, "; ");
    write_node_name(d, n);
    str_puts(d->out, ";}\n");
}

static void write_dot_edge(Dot *d, uint32_t edge) {
    const DotEdge *e = &d->edges.p[edge];
    if (!d->shown[e->to] || (!d->shown[e->from] && !is_named_only(d, e))) return;
    str_puts(d->out, "  ");
    if (is_named_only(d, e))
        str_printf(d->out, "r%u_%u", d->no, edge);
    else
        write_node_name(d, leads_up(d, e) ? e->to : e->from);
    str_puts(d->out, " -> ");
    write_node_name(d, leads_up(d, e) ? e->from : e->to);
    if (e->update) {
        str_puts(d->out, " [style=dashed, constraint=false, label=\"update");
        if (e->count > 1) str_printf(d->out, " ×%u", e->count);
        str_puts(d->out, "\"];\n");
        return;
    }
    str_printf(d->out, " [%scolor=%s",
               leads_up(d, e)       ? "dir=back, "
               : leads_across(d, e) ? "constraint=false, "
                                    : "",
               e->viewed  ? "blue"
               : d->large ? "grey60"
                          : "black");
    if (e->count > 1)
        str_printf(d->out, ", label=\"×%u\"", e->count);
    else
        edge_label(d, e->var);
    str_puts(d->out, "];\n");
}

static void write_dot_output(Dot *d, uint32_t i) {
    Output o = d->g->outputs.p[i];
    DotNode from = dot_node_of_var(d, o.var);
    if (!d->shown[from]) return;
    str_puts(d->out, "  ");
    write_node_id(d, 'o', i);
    str_puts(d->out, " [shape=box, label=\"");
    write_escaped(d, sym_text(d->s, o.label));
    str_puts(d->out, "\\n");
    write_escaped(d, type_str(d->s, var_type(d->g, o.var)));
    str_puts(d->out, "\", style=filled, fillcolor=lightskyblue];\n  ");
    write_node_name(d, from);
    str_puts(d->out, " -> ");
    write_node_id(d, 'o', i);
    str_puts(d->out, ";\n");
    if (!has_columns(d) || !stands_beside(d, from)) return;
    str_puts(d->out, "  {rank=same; ");
    write_node_name(d, from);
    str_puts(d->out, "; ");
    write_node_id(d, 'o', i);
    str_puts(d->out, ";}\n");
}

static void write_dot_graph(Dot *d) {
    GroupTree t = group_tree(d);
    DotEnds reads = dot_ends(d, d->a, false), readers = dot_ends(d, d->a, true);
    for (uint32_t root = 0; root < PURPOSES; root++)
        write_groups(d, &t, root, &reads);
    for (uint32_t i = 0; i < d->edges.n; i++)
        write_dot_edge(d, i);
    for (uint32_t i = 0; i < d->g->outputs.n; i++)
        write_dot_output(d, i);
    for (DotNode n = 0; n < dot_node_count(d); n++) {
        if (!d->shown[n]) continue;
        if (has_columns(d)) write_column(d, n);
        write_rest(d, n, &reads);
        write_rest(d, n, &readers);
    }
}

/* ---- the graph and its functions ---- */
static void plan_picture(Dot *d) {
    bool around = d->o->around && !d->no;
    d->live = graph_live(d->g, d->a, around ? ROOTS_RUN | ROOTS_NAMED : ROOTS_RUN);
    d->hidden = d->o->simple ? family_details(d->g, d->a) : NULL;
    if (around && d->hidden)
        family_show_through_casts(d->g, d->o->around_var, d->hidden);
    dot_make_groups(d);
    dot_make_edges(d);
    d->centre = around ? dot_node_of_var(d, d->o->around_var) : DOT_NONE;
}

static size_t count_nodes(const Dot *d) {
    size_t n = 0;
    for (DotNode k = d->g->nvar; k < dot_node_count(d); k++)
        n += is_drawn(d, k);
    return n;
}

typedef struct Pictures {
    Dot empty;
    Dot *p; /* in the order in which they were reached */
    size_t n;
    Map number; /* by function */
} Pictures;

static void add_picture(Pictures *all, const Graph *g, unsigned no, int depth) {
    if (map_get(&all->number, (uintptr_t)g, NULL)) return;
    map_put(&all->number, (uintptr_t)g, no);
    Dot *d = &all->p[all->n++];
    *d = all->empty;
    d->g = g;
    d->no = no;
    d->depth = depth;
    plan_picture(d);
}

/* The functions that the Applies of a picture call, one level deeper. */
static void add_called(Pictures *all, const Dot *d, const Map *number) {
    if (d->o->depth && d->depth == 1) return;
    for (ApplyId a = 0; a < d->g->napply; a++) {
        const Props *props = d->g->apply[a].props;
        if (!is_drawn(d, dot_node_of_apply(d, a))) continue;
        for (uint32_t i = 0; props && i < props->n; i++) {
            uint64_t no;
            const Graph *fn = props->p[i].kind == P_GRAPH
                                  ? graph_function(d->g, props->p[i].sym)
                                  : NULL;
            if (fn && map_get(number, (uintptr_t)fn, &no))
                add_picture(all, fn, (unsigned)no, d->o->depth ? d->depth - 1 : 0);
        }
    }
}

static void collect_pictures(Pictures *all, const Graph *main) {
    Map number = MAP(main->s);
    const WriteOptions *o = all->empty.o;
    bool chosen = o->depth || o->around;
    add_picture(all, main, 0, o->depth);
    for (size_t i = 0; i < main->functions.n; i++) {
        map_put(&number, (uintptr_t)main->functions.p[i], i + 1);
        if (!chosen) add_picture(all, main->functions.p[i], (unsigned)i + 1, 0);
    }
    for (size_t i = 0; i < all->n && chosen; i++)
        add_called(all, &all->p[i], &number);
    map_free(&number);
}

static void write_picture(Dot *d) {
    if (d->no) {
        str_printf(d->out, "  subgraph cluster_%u {\n  label=\"", d->no);
        write_escaped(d, sym_text(d->s, d->g->name));
        str_puts(d->out, "\";\n");
    }
    write_dot_graph(d);
    if (d->no) str_puts(d->out, "  }\n");
}

bool dot_write(const Graph *main, const WriteOptions *o, Str *out) {
    Session *s = main->s;
    Arena *a = arena_new(s);
    Pictures all = {.empty = {.s = s, .a = a, .o = o, .out = out},
                    .p = NEW_N(a, main->functions.n + 1, Dot),
                    .number = MAP(s)};
    size_t nodes = 0;
    collect_pictures(&all, main);
    for (size_t i = 0; i < all.n; i++)
        nodes += count_nodes(&all.p[i]);
    str_puts(out, "digraph \"");
    write_escaped(&all.empty, sym_text(s, main->name));
    str_puts(
        out,
        "\" {\n  fontname=\"sans-serif\";\n  node [fontname=\"sans-serif\"];\n  edge "
        "[fontname=\"sans-serif\", fontsize=10];\n");
    bool large = nodes > (o->depth > 1 ? LARGE_IN_BOXES : LARGE);
    if (large) /* the default takes minutes */
        str_puts(out, "  splines=line; nslimit=1; nslimit1=1; mclimit=0.1; "
                      "ranksep=0.3; nodesep=0.15; outputorder=edgesfirst;\n  node "
                      "[style=filled, fillcolor=white];\n");
    else if (o->depth == 1) /* curves along a row are beyond Graphviz' default */
        str_puts(out, "  splines=polyline;\n");
    for (size_t i = 0; i < all.n; i++) {
        Dot *d = &all.p[i];
        d->large = large;
        d->drawn = &all.number;
        write_picture(d);
        vec_free(&d->edges);
    }
    str_puts(out, "}\n");
    map_free(&all.number);
    arena_free(a);
    return true;
}
