/* Pictures: live memory by instruction as SVG, stacked by op class; the graph for
 * Graphviz, redder where it is hotter. */
#include "prof/prof_impl.h"

#include <string.h>

enum { WIDTH = 960, HEIGHT = 360, LEFT = 90, TOP = 40, COLUMNS = 960, CLASSES = 12 };

static const char *const palette[CLASSES] = {
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948",
    "#b07aa1", "#9c755f", "#ff9da7", "#86bcb6", "#bab0ac", "#d37295"};

/* Bytes by column and class; a column covers one or more instructions and shows their
 * maximum. */
typedef struct Chart {
    Profile *p;
    Timeline m;
    size_t columns, classes;
    Sym name[CLASSES]; /* the last one collects all remaining classes */
    double *bytes;     /* column * CLASSES + class */
    double most;
} Chart;

static size_t class_number(Chart *c, Sym y) {
    for (size_t i = 0; i < c->classes; i++)
        if (c->name[i] == y) return i;
    if (c->classes == CLASSES) return CLASSES - 1;
    c->name[c->classes] = y;
    return c->classes++;
}

static Sym class_of_var(const Profile *p, const Map *at, Var v) {
    uint64_t i;
    ApplyId id = var_owner(p->g, v);
    bool found = id != APPLY_NONE && map_get(at, id, &i);
    return found ? p->rows.p[i].cls : sym(p->s, "other");
}

/* Accumulates the change at each instruction, class by class. */
static void chart_fill(Chart *c, Arena *a) {
    const Timeline *m = &c->m;
    Profile *p = c->p;
    size_t n = m->nstep;
    double *change = NEW_N(a, (n + 2) * CLASSES, double), now[CLASSES] = {0};
    double *highest = NEW_N(a, c->columns, double);
    Map at = MAP(p->s);
    for (size_t i = 0; i < p->rows.n; i++)
        if (p->rows.p[i].g == p->g) map_put(&at, p->rows.p[i].id, i);
    for (size_t i = 0; i < m->nstore; i++) {
        const Store *st = &m->store[i];
        if (st->first == VAR_NONE || st->bytes <= 0) continue;
        size_t k = class_number(c, class_of_var(p, &at, st->first));
        change[st->born * CLASSES + k] += (double)st->bytes;
        change[(st->dies + (size_t)1) * CLASSES + k] -= (double)st->bytes;
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < CLASSES; k++)
            sum += now[k] += change[i * CLASSES + k];
        size_t col = i * c->columns / n;
        if (sum < highest[col]) continue;
        highest[col] = sum;
        memcpy(c->bytes + col * CLASSES, now, sizeof now);
        if (sum > c->most) c->most = sum;
    }
    map_free(&at);
}

static void svg_label(Str *out, double x, double y, const char *anchor,
                      const char *text) {
    str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (const char *c = text; *c; c++) {
        if (*c == '<')
            str_puts(out, "&lt;");
        else if (*c == '>')
            str_puts(out, "&gt;");
        else if (*c == '&')
            str_puts(out, "&amp;");
        else
            str_putc(out, *c);
    }
    str_puts(out, "</text>\n");
}

static void svg_areas(const Chart *c, Str *out) {
    double w = (double)WIDTH / (double)c->columns;
    for (size_t k = 0; k < c->classes; k++) {
        str_printf(out, "<path fill=\"%s\" d=\"", palette[k]);
        for (size_t i = 0; i < c->columns; i++) {
            const double *b = c->bytes + i * CLASSES;
            double below = 0;
            for (size_t j = 0; j < k; j++)
                below += b[j];
            if (b[k] <= 0) continue;
            double h = b[k] / c->most * HEIGHT;
            double y = TOP + HEIGHT - below / c->most * HEIGHT;
            str_printf(out, "M%.2f %.2fv%.2fh%.2fv%.2fz", LEFT + (double)i * w, y, -h,
                       w, h);
        }
        str_puts(out, "\"/>\n");
    }
}

static void svg_axes(const Chart *c, Str *out) {
    Str b = STR(c->p->s);
    for (int i = 0; i <= 4; i++) {
        double y = TOP + HEIGHT - HEIGHT * i / 4.0;
        str_printf(
            out,
            "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
            LEFT, LEFT + WIDTH, y, y);
        prof_count_text(c->most * i / 4, "B", &b);
        svg_label(out, LEFT - 6, y + 4, "end", str_text(&b));
        str_clear(&b);
    }
    str_printf(&b, "live bytes by instruction, 0 to %zu; largest at %u", c->m.nstep,
               c->m.peak_at);
    svg_label(out, LEFT, TOP - 16, "start", str_text(&b));
    for (size_t k = 0; k < c->classes; k++) {
        double x = LEFT + 130.0 * (double)(k % 7),
               y = TOP + HEIGHT + 24 + 18.0 * (double)(k / 7);
        str_printf(out,
                   "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" "
                   "fill=\"%s\"/>\n",
                   x, y - 10, palette[k]);
        svg_label(out, x + 18, y, "start", sym_text(c->p->s, c->name[k]));
    }
    str_free(&b);
}

void report_svg(Profile *p, Str *out) {
    Arena *a = arena_new(p->s);
    Chart c = {.p = p, .m = timeline_new(p, a), .most = 1};
    c.columns = c.m.nstep < COLUMNS ? c.m.nstep : COLUMNS;
    if (!c.columns) c.columns = 1;
    c.bytes = NEW_N(a, c.columns * CLASSES, double);
    chart_fill(&c, a);
    str_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "font-family=\"sans-serif\" font-size=\"12\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               LEFT + WIDTH + 20, TOP + HEIGHT + 60);
    svg_areas(&c, out);
    svg_axes(&c, out);
    str_puts(out, "</svg>\n");
    arena_free(a);
}

/* ---- dot ---- */
static void dot_text(const char *text, Str *out) {
    str_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') str_putc(out, '\\');
        str_putc(out, *text == '\n' ? ' ' : *text);
    }
    str_putc(out, '"');
}

static void dot_apply(Profile *p, const Row *r, double all, Str *out) {
    double part = all > 0 ? row_weight(p, r) / all : 0;
    Str b = STR(p->s);
    str_printf(&b, "%s\n%.1f%%", sym_text(p->s, r->op), part * 100);
    str_printf(out,
               "  a%u [style=filled, fillcolor=\"0.000 %.3f 1.000\", label=", r->id,
               part);
    Str line = STR(p->s);
    dot_text(str_text(&b), &line);
    str_puts(out, str_text(&line));
    str_puts(out, ", tooltip=");
    dot_text(sym_text(p->s, row_name(p, r)), out);
    str_puts(out, "];\n");
    str_free(&line);
    str_free(&b);
}

static void dot_edges(const Profile *p, ApplyId id, uint8_t *shown, Str *out) {
    const Graph *g = p->g;
    for (size_t i = 0; i < g->apply[id].nin; i++) {
        Var v = apply_in(g, id)[i];
        ApplyId from = var_owner(g, v);
        if (from != APPLY_NONE) {
            str_printf(out, "  a%u -> a%u;\n", from, id);
            continue;
        }
        LeafKind k = var_leaf(g, v);
        if (k != LEAF_INPUT && k != LEAF_SHARED) continue;
        if (!shown[v]) {
            str_printf(out, "  v%u [shape=box, label=", v);
            dot_text(sym_text(p->s, var_name(g, v)), out);
            str_puts(out, "];\n");
        }
        shown[v] = 1;
        str_printf(out, "  v%u -> a%u;\n", v, id);
    }
}

void report_dot(Profile *p, Str *out) {
    double all = 0;
    uint8_t *shown = mem_zalloc(p->s, (size_t)p->g->nvar + 1, 1);
    for (size_t i = 0; i < p->rows.n; i++)
        all += row_weight(p, &p->rows.p[i]);
    str_puts(out, "digraph profile {\n  rankdir=TB;\n");
    for (size_t i = 0; i < p->rows.n; i++) {
        if (p->rows.p[i].g != p->g) continue;
        dot_apply(p, &p->rows.p[i], all, out);
        dot_edges(p, p->rows.p[i].id, shown, out);
    }
    str_puts(out, "}\n");
    mem_free(shown);
}
