/* --plot: the outputs that are numbers, call by call, as curves of an SVG picture that
 * is written whole at the end. */
#include "format/svg.h"
#include "tools/grun/grun_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLOT_WIDTH = 720,
    PLOT_HEIGHT = 360,
    PLOT_LEFT = 80,
    PLOT_TOP = 30,
    LETTER = 7,        /* about its width */
    NAME_LETTERS = 40, /* of an output's name */
    LINE_HEIGHT = 16,
    DOTTED_MAX = 200, /* points that get a dot each */
    PLOT_POINTS = 1 << 20
};

/* The difference of two such numbers is a number. */
static const double LARGEST = 8e307;

static const char *curve_colour(size_t i) {
    static const char *const colours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                          "#b07aa1", "#76b7b2", "#9c755f", "#edc948",
                                          "#ff9da7", "#5b5ea6"};
    return colours[i % (sizeof colours / sizeof *colours)];
}

bool grun_open_plot(GraphRun *r) {
    Plot *p = &r->plot;
    p->start = clock_seconds();
    if (!r->spec->plot && !r->spec->report) return true;
    p->curve = NEW_N(r->a, r->g->outputs.n + 1, Curve);
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        const Type *t = var_type(r->g, r->g->outputs.p[i].var);
        if (r->spec->until && i == r->spec->until_output) continue;
        if (t->kind == TYPE_TENSOR && !t->ndim && !dtype_is_complex(t->dtype))
            p->curve[p->n++].output = i;
    }
    p->every = 1;
    if (p->n || !r->spec->plot) return true;
    fail(r->s, NOWHERE, E_USAGE, "--plot draws outputs that are numbers, and none is");
    return note(r->s, NOWHERE, "--outputs chooses other outputs");
}

/* Keeps every other point, since a long run has more than anybody can see. */
static void thin_points(Plot *p) {
    for (size_t k = 0; 2 * k < p->call.n; k++) {
        p->call.p[k] = p->call.p[2 * k];
        p->time.p[k] = p->time.p[2 * k];
        for (size_t i = 0; i < p->n; i++)
            p->curve[i].value.p[k] = p->curve[i].value.p[2 * k];
    }
    p->time.n = p->call.n = (p->call.n + 1) / 2;
    for (size_t i = 0; i < p->n; i++)
        p->curve[i].value.n = p->call.n;
    p->every *= 2;
}

/* The point of the last call is there, too, whether it is kept or not. */
void grun_plot_call(GraphRun *r, int64_t call) {
    Plot *p = &r->plot;
    if (!p->curve) return;
    if (p->passing) {
        p->call.n--;
        p->time.n--;
        for (size_t i = 0; i < p->n; i++)
            p->curve[i].value.n--;
    }
    for (size_t i = 0; i < p->n; i++) {
        double v = tensor_f64(&vm_output(r->m, p->curve[i].output)->t, 0);
        vec_push(r->s, &p->curve[i].value, v);
    }
    vec_push(r->s, &p->call, (double)call + 1);
    vec_push(r->s, &p->time, clock_seconds() - p->start);
    p->passing = p->seen++ % p->every != 0;
    if (!p->passing && p->call.n == PLOT_POINTS) thin_points(p);
}

/* ---- scales ---- */
/* Of all values that are finite; logarithmic if they are positive and span more than
 * two powers of ten. */
static SvgScale value_scale(const Plot *p, double height) {
    SvgScale y = {(double)INFINITY, (double)-INFINITY, false, PLOT_TOP + height,
                  PLOT_TOP};
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->call.n; k++) {
            double v = p->curve[i].value.p[k];
            if (isfinite(v)) y.lo = fmin(y.lo, v), y.hi = fmax(y.hi, v);
        }
    if (y.lo > y.hi) y.lo = 0, y.hi = 1;
    y.log = y.lo > 0 && y.hi / y.lo > 100;
    if (!y.log) y.lo = fmax(y.lo, -LARGEST), y.hi = fmin(y.hi, LARGEST);
    svg_widen(&y);
    return y;
}

static SvgScale call_scale(const Plot *p) {
    SvgScale x = {p->call.p[0], p->call.p[p->call.n - 1], false, PLOT_LEFT,
                  PLOT_LEFT + PLOT_WIDTH};
    if (x.lo == x.hi) x.lo -= 0.5, x.hi += 0.5;
    return x;
}

/* ---- curves ---- */
/* A path through the finite values. Where several share a column of the picture, their
 * least and greatest stand for them. */
static void put_path(const Plot *p, const Curve *c, const SvgScale *x,
                     const SvgScale *y, Str *out) {
    bool crowded = p->call.n > 2 * (size_t)PLOT_WIDTH, open = false;
    for (size_t k = 0, end; k < p->call.n; k = end) {
        double at = svg_place(x, p->call.p[k]), lo = c->value.p[k], hi = lo;
        end = k + 1;
        if (!isfinite(lo)) {
            open = false;
            continue;
        }
        for (; crowded && end < p->call.n && isfinite(c->value.p[end]) &&
               floor(svg_place(x, p->call.p[end])) == floor(at);
             end++)
            lo = fmin(lo, c->value.p[end]), hi = fmax(hi, c->value.p[end]);
        str_printf(out, "%c%.1f %.1f", open ? 'L' : 'M', at, svg_place(y, hi));
        if (lo < hi) str_printf(out, "V%.1f", svg_place(y, lo));
        if (!open) str_puts(out, "h0"); /* a point by itself is a dot */
        open = true;
    }
}

static void put_dots(const Plot *p, const Curve *c, const char *name, const SvgScale *x,
                     const SvgScale *y, Str *out) {
    if (p->call.n > DOTTED_MAX) return;
    for (size_t k = 0; k < p->call.n; k++) {
        if (!isfinite(c->value.p[k])) continue;
        str_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>call %.0f: ",
                   svg_place(x, p->call.p[k]), svg_place(y, c->value.p[k]),
                   p->call.p[k]);
        svg_escape(name, out);
        str_printf(out, " = %.6g</title></circle>\n", c->value.p[k]);
    }
}

static void put_curve(const GraphRun *r, size_t i, const SvgScale *x, const SvgScale *y,
                      Str *out) {
    const Plot *p = &r->plot;
    const Curve *c = &p->curve[i];
    const char *name = sym_text(r->s, r->g->outputs.p[c->output].label);
    str_printf(out,
               "<g fill=\"%s\"><path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" "
               "stroke-linecap=\"round\" stroke-linejoin=\"round\" d=\"",
               curve_colour(i), curve_colour(i));
    put_path(p, c, x, y, out);
    str_puts(out, "\"><title>");
    svg_escape(name, out);
    str_puts(out, "</title></path>\n");
    put_dots(p, c, name, x, y, out);
    str_puts(out, "</g>\n");
}

/* ---- names, each beside the end of its curve ---- */
typedef struct CurveName {
    double y;
    size_t curve;
    Str text;
} CurveName;

static int compare_places(const void *a, const void *b) {
    const CurveName *x = a, *y = b;
    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    return x->curve < y->curve ? -1 : 1;
}

/* Moves names that would overlap apart, first down, then up from the bottom. */
static void spread_names(CurveName *name, size_t n, double bottom) {
    qsort(name, n, sizeof *name, compare_places);
    for (size_t i = 1; i < n; i++)
        name[i].y = fmax(name[i].y, name[i - 1].y + LINE_HEIGHT);
    for (size_t i = n; i-- > 0; bottom -= LINE_HEIGHT)
        name[i].y = fmin(name[i].y, bottom);
}

static CurveName *curve_names(const GraphRun *r, const SvgScale *y) {
    const Plot *p = &r->plot;
    CurveName *name = NEW_N(r->a, p->n + 1, CurveName);
    for (size_t i = 0; i < p->n; i++) {
        const Curve *c = &p->curve[i];
        double last = c->value.p[p->call.n - 1], shown = last;
        for (size_t k = p->call.n; k-- > 0 && !isfinite(shown);)
            shown = c->value.p[k];
        name[i] = (CurveName){isfinite(shown) ? svg_place(y, shown) + 4 : y->from, i,
                              STR(r->s)};
        str_puts(&name[i].text, sym_text(r->s, r->g->outputs.p[c->output].label));
        svg_cut(&name[i].text, NAME_LETTERS);
        str_printf(&name[i].text, " %.6g", isnan(last) ? fabs(last) : last);
    }
    spread_names(name, p->n, y->from);
    return name;
}

static void draw_plot(const GraphRun *r, Str *out) {
    const Plot *p = &r->plot;
    double height = fmax(PLOT_HEIGHT, (double)p->n * LINE_HEIGHT), longest = 0;
    SvgScale x = call_scale(p), y = value_scale(p, height);
    CurveName *name = curve_names(r, &y);
    for (size_t i = 0; i < p->n; i++)
        longest = fmax(longest, (double)name[i].text.n);
    svg_begin(out, x.to + 20 + longest * LETTER, y.from + 50);
    svg_x_axis(out, &x, &y, x.hi - x.lo < 10 ? (int)(x.hi - x.lo) : 10, NULL);
    svg_y_axis(out, &x, &y, 8, NULL);
    svg_label(out, (x.from + x.to) / 2, y.from + 40, "middle", "call");
    for (size_t i = 0; i < p->n; i++)
        put_curve(r, i, &x, &y, out);
    for (size_t i = 0; i < p->n; i++) {
        str_printf(out, "<g fill=\"%s\">", curve_colour(name[i].curve));
        svg_label(out, x.to + 10, name[i].y, "start", str_text(&name[i].text));
        str_puts(out, "</g>\n");
        str_free(&name[i].text);
    }
    svg_end(out);
}

bool grun_write_plot(GraphRun *r) {
    if (!r->spec->plot || !r->plot.n || !r->plot.call.n) return true;
    Writer *w = writer_open(r->s, r->spec->plot);
    if (!w) return false;
    Str text = STR(r->s);
    draw_plot(r, &text);
    bool ok = writer_add(w, text.p, text.n);
    str_free(&text);
    if (ok) return writer_commit(w);
    writer_abort(w);
    return false;
}

void grun_free_plot(GraphRun *r) {
    for (size_t i = 0; i < r->plot.n; i++)
        vec_free(&r->plot.curve[i].value);
    vec_free(&r->plot.call);
    vec_free(&r->plot.time);
}
