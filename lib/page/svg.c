/* The first view of a page, or all boxes to some depth, as a picture. */
#include "format/svg.h"

#include "op/op.h"
#include "page/view.h"

#include <string.h>

enum { MARGIN = 20, NODES_MAX = 4000, TITLE_AT = 16 };

/* ---- colours ---- */
static const struct {
    const char *family, *colour;
} palette[] = {{"elemwise", "#4e79a7"}, {"linalg", "#f28e2b"}, {"reduce", "#59a14f"},
               {"index", "#e15759"},    {"shape", "#76b7b2"},  {"control", "#edc948"},
               {"nn", "#b07aa1"},       {"sort", "#9c755f"},   {"random", "#ff9da7"},
               {"creation", "#5b5ea6"}, {"sparse", "#d37295"}, {"list", "#a0cbe8"},
               {"other", "#bab0ac"}};
_Static_assert(sizeof palette / sizeof *palette == FAMILIES,
               "the number that callers know");

size_t family_number(const char *family) {
    size_t i = 0;
    while (i + 1 < FAMILIES && strcmp(palette[i].family, family) != 0)
        i++;
    return i;
}

const char *family_name(size_t number) {
    return palette[number].family;
}

const char *family_colour(size_t number) {
    return palette[number].colour;
}

/* ---- nodes ---- */
static bool is_update(const Graph *g, Var v) {
    for (size_t i = 0; i < g->updates.n; i++)
        if (g->updates.p[i].value == v) return true;
    return false;
}

static bool is_result(const Graph *g, const ViewNode *n) {
    if (n->function || n->item.sort == ITEM_BOX) return false;
    Var from = n->item.sort == ITEM_LEAF ? n->item.id : g->apply[n->item.id].out,
        end = n->item.sort == ITEM_LEAF ? from + 1 : from + g->apply[n->item.id].nout;
    for (Var v = from; v < end; v++) {
        if (is_update(g, v)) return true;
        for (size_t i = 0; i < g->outputs.n; i++)
            if (g->outputs.p[i].var == v) return true;
    }
    return false;
}

typedef struct Paint {
    const char *fill, *edge;
    bool round;
} Paint;

static Paint paint_of(const View *v, const ViewNode *n) {
    const Graph *g = v->page->tables->graph.p[n->graph].g;
    const Boxes *b = v->page->tables->graph.p[n->graph].boxes;
    if (n->function) return (Paint){"#f4f4f4", "#888", true};
    if (n->item.sort == ITEM_BOX) {
        BoxKind k = b->box[n->item.id].kind;
        return (Paint){k == BOX_GRADIENTS ? "#fdebd3"
                       : k == BOX_UPDATES ? "#fbf6d0"
                                          : "#eef3f9",
                       "#888", true};
    }
    if (n->item.sort == ITEM_LEAF)
        return (Paint){var_leaf(g, n->item.id) == LEAF_SHARED ? "#c9ecf0" : "#d5efd3",
                       "#777", false};
    Sym family = op_family(v->s, g->apply[n->item.id].op);
    return (Paint){b->apply_marks[n->item.id] & MARK_GRADIENT ? "#fff4e6" : "white",
                   family_colour(family_number(sym_text(v->s, family))), true};
}

static void put_rect(const View *v, uint32_t node, Str *out) {
    const ViewNode *n = &v->node.p[node];
    Paint p = paint_of(v, n);
    const Graph *g = v->page->tables->graph.p[n->graph].g;
    str_puts(out, "<rect data-path=\"");
    page_view_path(v, node, out);
    str_printf(out,
               "\" x=\"%.10g\" y=\"%.10g\" width=\"%.10g\" height=\"%.10g\" rx=\"%d\" "
               "fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n",
               n->x + MARGIN, n->y + MARGIN, n->w, n->h, p.round ? 5 : 0, p.fill,
               p.edge, is_result(g, n) ? "3" : "1.5",
               n->container == VIEW_NONE ? "" : " fill-opacity=\"0.5\"");
}

static void put_words(double x, double y, const char *anchor, const char *style,
                      const Str *text, Str *out) {
    str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor,
               style);
    svg_escape(str_text(text), out);
    str_puts(out, "</text>\n");
}

static void put_node(const View *v, uint32_t node, Str *out) {
    const ViewNode *n = &v->node.p[node];
    bool open = n->container != VIEW_NONE;
    double x = n->x + MARGIN, y = n->y + MARGIN;
    put_rect(v, node, out);
    if (open) {
        put_words(x + 10, y + TITLE_AT, "start", " font-weight=\"bold\"", &n->line[0],
                  out);
        return;
    }
    bool box = n->function || n->item.sort == ITEM_BOX;
    put_words(x + n->w / 2, y + 16, "middle", box ? " font-weight=\"bold\"" : "",
              &n->line[0], out);
    put_words(x + n->w / 2, y + 30, "middle", " fill=\"#555\"", &n->line[1], out);
}

/* ---- lines ---- */
/* Curves that leave and arrive vertically; from and to a port, on from the border. */
static void put_line(const Container *c, const LayoutLine *line, Str *out) {
    const Layout *l = &c->layout;
    uint32_t target = l->target[line->target];
    bool from_border = l->net[line->net].source < l->nin,
         to_border = target >= l->nin + l->nitem;
    const double *p = line->point;
    bool arrow = target >= l->nin && target < l->nin + l->nitem;
    double x = c->x + MARGIN, y = c->y + MARGIN;
    str_printf(out, "<path d=\"M%.10g %.10g", x + p[0],
               y + (from_border ? -VIEW_HEAD : p[1]));
    if (from_border) str_printf(out, "V%.10g", y + p[1]);
    for (uint32_t i = 1; i < line->npoint; i++) {
        const double *a = p + 2 * (i - 1), *b = a + 2;
        if (a[0] == b[0])
            str_printf(out, "V%.10g", y + b[1]);
        else
            str_printf(out, "C%.10g %.10g %.10g %.10g %.10g %.10g", x + a[0],
                       y + (a[1] + b[1]) / 2, x + b[0], y + (a[1] + b[1]) / 2, x + b[0],
                       y + b[1]);
    }
    if (to_border) str_printf(out, "V%.10g", y + l->height + VIEW_PAD);
    str_printf(out, "\"%s/>\n", arrow ? " marker-end=\"url(#arrow)\"" : "");
}

static bool check_nodes(const View *v) {
    if (v->node.n <= NODES_MAX) return true;
    fail(v->s, NOWHERE, E_LIMIT,
         "the picture would have %zu nodes, and nobody finds anything among more than "
         "%d",
         v->node.n, NODES_MAX);
    return hint(v->s, HINT_DEPTH);
}

static void draw_view(const View *v, Str *out) {
    svg_begin(out, v->width + 2 * MARGIN, v->height + 2 * MARGIN);
    str_puts(out,
             "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
             "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path "
             "d=\"M0 0L8 4L0 8z\" fill=\"#666\"/></marker></defs>\n"
             "<g font-family=\"monospace\" font-size=\"11\">\n");
    for (uint32_t i = 0; i < v->container.n; i++) {
        const Container *c = &v->container.p[i];
        for (uint32_t k = 0; k < c->n; k++)
            put_node(v, c->first + k, out);
        str_puts(out, "<g fill=\"none\" stroke=\"#666\">\n");
        for (uint32_t k = 0; k < c->layout.ntarget; k++)
            put_line(c, &c->layout.line[k], out);
        str_puts(out, "</g>\n");
    }
    str_puts(out, "</g>\n");
    svg_end(out);
}

bool page_draw(const Graph *g, int levels, Str *out) {
    Page *p = page_new(g->s, "graph", "");
    page_add_graph(p, g);
    bool ok = page_has_room(p);
    View *v = ok ? page_view_open(p, 0, levels) : NULL;
    ok = ok && check_nodes(v);
    if (ok) page_view_places(v);
    if (ok) draw_view(v, out);
    page_view_free(v);
    page_free(p);
    return ok;
}
