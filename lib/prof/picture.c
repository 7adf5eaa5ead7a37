/* Pictures: live memory by instruction as SVG, stacked by op class; the graph for
 * Graphviz, redder where it is hotter. */
#include "format/svg.h"
#include "prof/prof_impl.h"

#include <string.h>

enum {
    WIDTH = 960,
    HEIGHT = 360,
    LEFT = 90,
    TOP = 40,
    COLUMNS = 960,
    NAMED_MAX = 2000
};

enum { CLASSES = FAMILIES };

void picture_class_legend(const bool *used, double left, double top, Str *out) {
    size_t shown = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        if (!used[k]) continue;
        double x = left + 130.0 * (double)(shown % 7),
               y = top + 18.0 * (double)(shown / 7);
        shown++;
        str_printf(out,
                   "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" "
                   "fill=\"%s\"/>\n",
                   x, y - 10, family_colour(k));
        svg_label(out, x + 18, y, "start", family_name(k));
    }
}

/* Bytes by column and class; a column covers one or more instructions and shows their
 * maximum. */
typedef struct Chart {
    Profile *p;
    Timeline m;
    size_t columns;
    bool used[CLASSES];
    double *bytes; /* column * CLASSES + class */
    double most;
} Chart;

static size_t use_class(Chart *c, Sym y) {
    size_t i = family_number(sym_text(c->p->s, y));
    c->used[i] = true;
    return i;
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
        size_t k = use_class(c, class_of_var(p, &at, st->first));
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

static void svg_areas(const Chart *c, Str *out) {
    double w = (double)WIDTH / (double)c->columns;
    for (size_t k = 0; k < CLASSES; k++) {
        if (!c->used[k]) continue;
        str_printf(out, "<path fill=\"%s\" d=\"", family_colour(k));
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
        str_printf(out, "\"><title>%s</title></path>\n", family_name(k));
    }
}

enum { HOLDERS_SHOWN = 10, BELOW = 96, TEXT_SHOWN = 120 };

/* A transparent column for each instruction says what it makes. */
static void svg_titles(const Chart *c, Str *out) {
    Profile *p = c->p;
    double w = (double)WIDTH / (double)c->m.nstep;
    Str b = STR(p->s);
    for (size_t i = 0; i < c->m.nstep && c->m.nstep <= NAMED_MAX; i++) {
        Row r = {.g = p->g, .id = plan_step(p->plan, i).apply};
        str_clear(&b);
        prof_count_text(c->m.live[i].bytes, "B", &b);
        str_printf(out,
                   "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
                   "fill=\"#000\" fill-opacity=\"0\"><title>%zu: ",
                   LEFT + (double)i * w, TOP, w, HEIGHT, i);
        svg_escape(sym_text(p->s, row_name(p, &r)), out);
        str_printf(out, "\n%s alive</title></rect>\n", str_text(&b));
    }
    str_free(&b);
}

/* A line at the peak, and below the picture who is alive there. */
static size_t svg_holders(const Chart *c, Arena *a, Str *out) {
    Profile *p = c->p;
    Holders h = memory_peak_holders(p, &c->m, a);
    double x = LEFT + ((double)c->m.peak_at + 0.5) * WIDTH / (double)c->m.nstep;
    size_t n = h.n < HOLDERS_SHOWN ? h.n : HOLDERS_SHOWN;
    Str b = STR(p->s);
    if (!n) return 0;
    if (x > LEFT + WIDTH) x = LEFT + WIDTH;
    str_printf(out,
               "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#333\" "
               "stroke-dasharray=\"4 3\"/>\n",
               x, x, TOP - 8, TOP + HEIGHT);
    svg_label(out, LEFT, TOP + HEIGHT + BELOW, "start",
              h.n > n ? "alive at the peak (dashed), the largest:"
                      : "alive at the peak (dashed):");
    for (size_t i = 0; i < n; i++) {
        double y = TOP + HEIGHT + BELOW + 18.0 * (double)(i + 1);
        Var v = h.p[i].var;
        ApplyId id = v == VAR_NONE ? APPLY_NONE : var_owner(p->g, v);
        Row r = {.g = p->g, .id = id};
        str_clear(&b);
        prof_count_text(h.p[i].bytes, "B", &b);
        svg_label(out, LEFT + 70, y, "end", str_text(&b));
        str_clear(&b);
        if (id != APPLY_NONE)
            str_puts(&b, sym_text(p->s, row_name(p, &r)));
        else if (v != VAR_NONE)
            str_puts(&b, sym_text(p->s, value_name(p, v)));
        else
            str_printf(&b, "function %s", sym_text(p->s, h.p[i].function));
        svg_cut(&b, TEXT_SHOWN);
        svg_label(out, LEFT + 84, y, "start", str_text(&b));
    }
    str_free(&b);
    return n;
}

static void bytes_text(double v, Str *out) {
    prof_count_text(v, "B", out);
}

static void svg_axes(const Chart *c, Str *out) {
    Str b = STR(c->p->s);
    double steps = c->m.nstep ? (double)c->m.nstep : 1;
    SvgScale x = {-0.5, steps - 0.5, false, LEFT, LEFT + WIDTH},
             y = {0, c->most, false, TOP + HEIGHT, TOP};
    svg_x_axis(out, &x, &y, steps < 12 ? (int)steps : 12, NULL);
    svg_y_axis(out, &x, &y, 6, bytes_text);
    str_printf(&b, "live bytes by instruction, %zu in all; most at %u: ", c->m.nstep,
               c->m.peak_at);
    prof_count_text(c->most, "B", &b);
    svg_label(out, LEFT, TOP - 16, "start", str_text(&b));
    picture_class_legend(c->used, LEFT, TOP + HEIGHT + 44, out);
    str_free(&b);
}

void report_svg(Profile *p, Str *out) {
    Arena *a = arena_new(p->s);
    Chart c = {.p = p, .m = timeline_new(p, a), .most = 1};
    c.columns = c.m.nstep < COLUMNS ? c.m.nstep : COLUMNS;
    if (!c.columns) c.columns = 1;
    c.bytes = NEW_N(a, c.columns * CLASSES, double);
    chart_fill(&c, a);
    Str body = STR(p->s);
    svg_axes(&c, &body);
    svg_areas(&c, &body);
    size_t n = svg_holders(&c, a, &body);
    svg_titles(&c, &body);
    svg_begin(out, LEFT + WIDTH + 20, TOP + HEIGHT + BELOW + 18 * (double)n + 20);
    str_add(out, body.p, body.n);
    str_free(&body);
    svg_end(out);
    arena_free(a);
}

/* ---- dot ---- */
static void dot_text(const char *text, Str *out) {
    str_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') str_putc(out, '\\');
        if (*text == '\n')
            str_puts(out, "\\n");
        else
            str_putc(out, *text);
    }
    str_putc(out, '"');
}

/* The op, its result, and what it costs. */
static void dot_apply(Profile *p, const Row *r, double all, Str *out) {
    double part = all > 0 ? row_weight(p, r) / all : 0;
    Var result = p->g->apply[r->id].out;
    Amount bytes = row_bytes(p, r);
    Str b = STR(p->s);
    str_printf(&b, "%s\n%s: %s\n%.1f%%, ", sym_text(p->s, r->op),
               sym_text(p->s, value_name(p, result)),
               type_str(p->s, var_type(p->g, result)), part * 100);
    if (p->is_static)
        amount_text(p, &r->flops, "FLOP", &b);
    else
        profile_time_text(r->time_s, &b);
    str_puts(&b, ", ");
    amount_text(p, &bytes, "B", &b);
    str_printf(out,
               "  a%u [style=filled, fillcolor=\"0.000 %.3f 1.000\", label=", r->id,
               part);
    dot_text(str_text(&b), out);
    str_puts(out, ", tooltip=");
    dot_text(sym_text(p->s, row_name(p, r)), out);
    str_puts(out, "];\n");
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
            Str b = STR(p->s);
            str_printf(&b, "%s\n%s", sym_text(p->s, var_name(g, v)),
                       type_str(p->s, var_type(g, v)));
            str_printf(out, "  v%u [shape=box, label=", v);
            dot_text(str_text(&b), out);
            str_puts(out, "];\n");
            str_free(&b);
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
    str_puts(out, "digraph profile {\n  node [fontname=\"sans-serif\"];\n");
    for (size_t i = 0; i < p->rows.n; i++) {
        if (p->rows.p[i].g != p->g) continue;
        dot_apply(p, &p->rows.p[i], all, out);
        dot_edges(p, p->rows.p[i].id, shown, out);
    }
    str_puts(out, "}\n");
    mem_free(shown);
}
