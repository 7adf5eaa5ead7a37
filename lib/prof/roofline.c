/* A roofline: how fast each Apply computes for the bytes that it moves, below what this
 * machine can do at best. */
#include "format/svg.h"
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

enum {
    ROOF_WIDTH = 760,
    ROOF_HEIGHT = 420,
    ROOF_LEFT = 110,
    ROOF_TOP = 40,
    ROOF_BELOW = 90, /* legend */
    NUMBERED = 12,   /* points with a number and a line below the picture */
    ROW_HEIGHT = 18,
    NUMBER_WIDTH = 12,
    NAME_BYTES = 70,
    SMALLEST = 4, /* radius of a point; the one with the most time is 4 times as wide */
    TIMES = 3
};

typedef struct Roofline {
    Profile *p;
    Rows rows; /* that are drawn */
    double other_s, all_s, longest_s;
    size_t others;
    bool wide, narrow; /* is there any such arithmetic? */
    bool used[FAMILIES];
    SvgScale x, y;
} Roofline;

/* ---- the roof of an Apply ---- */
static bool is_wide(const Type *t) {
    return t->kind == TYPE_TENSOR &&
           (t->dtype == DT_FLOAT64 || t->dtype == DT_COMPLEX128);
}

/* Does it compute in double precision? */
static bool row_is_wide(const Row *r) {
    const Apply *ap = &r->g->apply[r->id];
    for (size_t i = 0; i < ap->nin; i++)
        if (is_wide(var_type(r->g, apply_in(r->g, r->id)[i]))) return true;
    for (Var v = ap->out; v < ap->out + ap->nout; v++)
        if (is_wide(var_type(r->g, v))) return true;
    return false;
}

static bool can_be_drawn(const Profile *p, const Row *r) {
    Amount bytes = row_bytes(p, r);
    return r->time_s > 0 && !r->flops.sym && !r->flops.unknown && r->flops.v > 0 &&
           !bytes.sym && !bytes.unknown && bytes.v > 0;
}

/* The time that the machine needs at best, which sums of rows add up. */
static void set_roofs(Roofline *f) {
    Profile *p = f->p;
    for (size_t i = 0; i < p->rows.n; i++) {
        Row *r = &p->rows.p[i];
        if (!can_be_drawn(p, r)) continue;
        bool wide = row_is_wide(r);
        double flops = wide ? p->peaks.flops64 : p->peaks.flops32;
        r->roof_s = fmax(r->flops.v / flops, row_bytes(p, r).v / p->peaks.memory);
        if (wide)
            f->wide = true;
        else
            f->narrow = true;
    }
}

/* ---- points and scales ---- */
static double flops_per_byte(const Profile *p, const Row *r) {
    return r->flops.v / row_bytes(p, r).v;
}

static double highest_flops(const Roofline *f) {
    const Peaks *k = &f->p->peaks;
    return f->narrow && (!f->wide || k->flops32 > k->flops64) ? k->flops32 : k->flops64;
}

static void choose_rows(Roofline *f, const ReportOptions *how) {
    Profile *p = f->p;
    Rows all = rows_by(p, how->by == BY_ALL ? BY_APPLY : how->by, how->sort);
    for (size_t i = 0; i < all.n; i++) {
        f->all_s += all.p[i].time_s;
        if (can_be_drawn(p, &all.p[i]) &&
            (how->top < 0 || f->rows.n < (size_t)how->top)) {
            vec_push(p->s, &f->rows, all.p[i]);
            f->longest_s = fmax(f->longest_s, all.p[i].time_s);
        } else {
            f->others++;
            f->other_s += all.p[i].time_s;
        }
    }
    vec_free(&all);
}

static void decades_around(SvgScale *s) {
    s->lo = pow(10, floor(log10(s->lo / 1.5)));
    s->hi = pow(10, ceil(log10(s->hi * 1.5)));
}

static void choose_scales(Roofline *f) {
    const Profile *p = f->p;
    double peak = highest_flops(f), ridge = peak / p->peaks.memory;
    f->x = (SvgScale){ridge / 10, ridge * 3, true, ROOF_LEFT, ROOF_LEFT + ROOF_WIDTH};
    f->y = (SvgScale){peak / 100, peak, true, ROOF_TOP + ROOF_HEIGHT, ROOF_TOP};
    for (size_t i = 0; i < f->rows.n; i++) {
        const Row *r = &f->rows.p[i];
        double x = flops_per_byte(p, r), y = r->flops.v / r->time_s;
        f->x.lo = fmin(f->x.lo, x), f->x.hi = fmax(f->x.hi, x);
        f->y.lo = fmin(f->y.lo, y), f->y.hi = fmax(f->y.hi, y);
    }
    decades_around(&f->x);
    decades_around(&f->y);
}

/* ---- roofs ---- */
static void put_slope(const Roofline *f, double bandwidth, double peak,
                      const char *what, const char *dashes, Str *out) {
    double from = fmax(f->x.lo, f->y.lo / bandwidth), to = peak / bandwidth;
    if (to <= from) return;
    double x1 = svg_place(&f->x, from), y1 = svg_place(&f->y, from * bandwidth),
           x2 = svg_place(&f->x, to), y2 = svg_place(&f->y, peak);
    double angle = atan2(y2 - y1, x2 - x1) * 180 / acos(-1);
    str_printf(out,
               "<path class=\"roof\" fill=\"none\" stroke=\"#333\" "
               "stroke-width=\"1.5\"%s d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
               dashes, x1, y1, x2, y2);
    Str text = STR(f->p->s);
    str_printf(&text, "%s: ", what);
    prof_count_text(bandwidth, "B/s", &text);
    double x = x1 + 0.4 * (x2 - x1), y = y1 + 0.4 * (y2 - y1);
    str_printf(out, "<g transform=\"rotate(%.1f %.1f %.1f)\">", angle, x, y);
    svg_label(out, x, y - 6, "middle", str_text(&text));
    str_puts(out, "</g>\n");
    str_free(&text);
}

/* Its label stands above the line, or below the lower one of two that are near. */
static void put_flat(const Roofline *f, double peak, const char *what, Str *out) {
    double y = svg_place(&f->y, peak),
           x = svg_place(&f->x, fmax(f->x.lo, peak / f->p->peaks.memory));
    str_printf(out,
               "<path class=\"roof\" fill=\"none\" stroke=\"#333\" "
               "stroke-width=\"1.5\" d=\"M%.1f %.1fH%.1f\"/>\n",
               x, y, f->x.to);
    Str text = STR(f->p->s);
    str_printf(&text, "%s: ", what);
    prof_count_text(peak, "FLOP/s", &text);
    bool below = peak < highest_flops(f);
    svg_label(out, f->x.to - 4, below ? y + 15 : y - 6, "end", str_text(&text));
    str_free(&text);
}

static void put_roofs(const Roofline *f, Str *out) {
    const Peaks *k = &f->p->peaks;
    double peak = highest_flops(f);
    put_slope(f, k->memory, peak, "memory", "", out);
    if (k->cache > 1.2 * k->memory)
        put_slope(f, k->cache, peak, "cache", " stroke-dasharray=\"5 4\"", out);
    if (f->narrow) put_flat(f, k->flops32, "float32", out);
    if (f->wide) put_flat(f, k->flops64, "float64", out);
}

/* ---- points ---- */
static void put_rate(const Row *r, Str *out) {
    prof_count_text(r->flops.v / r->time_s, "FLOP/s", out);
}

static void put_hover(const Roofline *f, const Row *r, Str *out) {
    Profile *p = f->p;
    Str text = STR(p->s);
    str_puts(&text, sym_text(p->s, row_name(p, r)));
    str_putc(&text, '\n');
    prof_count_text(r->flops.v, "FLOP", &text);
    str_puts(&text, ", ");
    prof_count_text(row_bytes(p, r).v, "B", &text);
    str_printf(&text, ", %.3g FLOP/B\n", flops_per_byte(p, r));
    profile_time_text(r->time_s, &text);
    str_printf(&text, ", %.1f%% of the time\n", 100 * r->time_s / f->all_s);
    put_rate(r, &text);
    str_printf(&text, ", %.0f%% of the roof", 100 * r->roof_s / r->time_s);
    str_puts(out, "<title>");
    svg_escape(str_text(&text), out);
    str_puts(out, "</title>");
    str_free(&text);
}

/* Large points first, so that small ones lie on them. */
static void put_points(Roofline *f, Str *out) {
    Profile *p = f->p;
    Rows by_time = {0};
    for (size_t i = 0; i < f->rows.n; i++)
        vec_push(p->s, &by_time, f->rows.p[i]);
    rows_sort(p, &by_time, SORT_TIME);
    for (size_t i = 0; i < by_time.n; i++) {
        const Row *r = &by_time.p[i];
        size_t k = family_number(sym_text(p->s, r->cls));
        double x = svg_place(&f->x, flops_per_byte(p, r)),
               y = svg_place(&f->y, r->flops.v / r->time_s),
               radius = SMALLEST * (1 + TIMES * sqrt(r->time_s / f->longest_s));
        f->used[k] = true;
        str_printf(out,
                   "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
                   "fill=\"%s\" fill-opacity=\"0.75\" stroke=\"white\">",
                   x, y, radius, family_colour(k));
        put_hover(f, r, out);
        str_puts(out, "</circle>\n");
    }
    vec_free(&f->rows);
    f->rows = by_time;
}

/* Of points that lie on each other, the one with the most time has its number. */
static void put_numbers(const Roofline *f, Str *out) {
    double x[NUMBERED], y[NUMBERED];
    str_puts(out, "<g pointer-events=\"none\" font-size=\"10\">\n");
    for (size_t i = 0; i < f->rows.n && i < NUMBERED; i++) {
        const Row *r = &f->rows.p[i];
        bool free = true;
        x[i] = svg_place(&f->x, flops_per_byte(f->p, r));
        y[i] = svg_place(&f->y, r->flops.v / r->time_s);
        for (size_t k = 0; k < i; k++)
            free = free && hypot(x[i] - x[k], y[i] - y[k]) > NUMBER_WIDTH;
        Str number = STR(f->p->s);
        str_printf(&number, "%zu", i + 1);
        if (free) svg_label(out, x[i], y[i] + 3.5, "middle", str_text(&number));
        str_free(&number);
    }
    str_puts(out, "</g>\n");
}

/* What the numbers mean. */
static void put_list(const Roofline *f, double top, Str *out) {
    static const double columns[] = {20, 95, 150, 270, 360, 375};
    Profile *p = f->p;
    Str text = STR(p->s);
    size_t n = f->rows.n < NUMBERED ? f->rows.n : NUMBERED;
    static const char *const heads[] = {"", "time", "", "speed", "of the roof", "name"};
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        if (*heads[k])
            svg_label(out, 20 + columns[k], top, k == 5 ? "start" : "end", heads[k]);
    for (size_t i = 0; i < n; i++) {
        const Row *r = &f->rows.p[i];
        double y = top + ROW_HEIGHT * (double)(i + 1);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            str_clear(&text);
            if (k == 0) str_printf(&text, "%zu", i + 1);
            if (k == 1) profile_time_text(r->time_s, &text);
            if (k == 2) str_printf(&text, "%.1f%%", 100 * r->time_s / f->all_s);
            if (k == 3) put_rate(r, &text);
            if (k == 4) str_printf(&text, "%.0f%%", 100 * r->roof_s / r->time_s);
            if (k == 5) str_puts(&text, sym_text(p->s, row_name(p, r)));
            svg_cut(&text, NAME_BYTES);
            svg_label(out, 20 + columns[k], y, k == 5 ? "start" : "end",
                      str_text(&text));
        }
    }
    str_clear(&text);
    if (f->others)
        str_printf(&text,
                   "not drawn: %s without flops, of unknown cost, or left out, %.1f%% "
                   "of the time",
                   str_counted(p->s, f->others, "row"),
                   f->all_s > 0 ? 100 * f->other_s / f->all_s : 0);
    svg_label(out, 20 + columns[5], top + ROW_HEIGHT * (double)(n + 1), "start",
              str_text(&text));
    str_free(&text);
}

static void put_heading(const Roofline *f, Str *out) {
    svg_label(out, ROOF_LEFT, ROOF_TOP - 18, "start",
              "speed by flops for each byte moved, below this machine's peaks");
    svg_label(out, (f->x.from + f->x.to) / 2, f->y.from + 38, "middle", "FLOP/B");
}

static void rate_text(double v, Str *out) {
    prof_count_text(v, "FLOP/s", out);
}

void report_roofline(Profile *p, const ReportOptions *how, Str *out) {
    Roofline f = {.p = p};
    set_roofs(&f);
    choose_rows(&f, how);
    choose_scales(&f);
    Str body = STR(p->s);
    svg_x_axis(&body, &f.x, &f.y, 10, NULL);
    svg_y_axis(&body, &f.x, &f.y, 10, rate_text);
    put_points(&f, &body);
    put_numbers(&f, &body);
    str_puts(&body, "<g pointer-events=\"none\">\n");
    put_roofs(&f, &body);
    str_puts(&body, "</g>\n");
    put_heading(&f, &body);
    picture_class_legend(f.used, ROOF_LEFT, f.y.from + 66, &body);
    double top = f.y.from + ROOF_BELOW + 20;
    put_list(&f, top, &body);
    size_t n = f.rows.n < NUMBERED ? f.rows.n : NUMBERED;
    svg_begin(out, ROOF_LEFT + ROOF_WIDTH + 40, top + ROW_HEIGHT * (double)(n + 2));
    str_add(out, body.p, body.n);
    svg_end(out);
    str_free(&body);
    vec_free(&f.rows);
}
