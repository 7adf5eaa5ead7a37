/* Scales, ticks and axes of charts, as SVG. */
#include "format/svg.h"

#include <math.h>
#include <string.h>

void svg_begin(Str *out, double width, double height) {
    str_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
               "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               width, height);
}

void svg_end(Str *out) {
    str_puts(out, "</svg>\n");
}

void svg_escape(const char *text, Str *out) {
    size_t n = strlen(text), len;
    uint32_t cp;
    for (size_t i = 0; i < n; i += len ? len : 1) {
        len = str_utf8_next(text + i, n - i, &cp);
        if (text[i] == '<')
            str_puts(out, "&lt;");
        else if (text[i] == '>')
            str_puts(out, "&gt;");
        else if (text[i] == '&')
            str_puts(out, "&amp;");
        else if (!len || (cp < ' ' && cp != '\n' && cp != '\t') || cp == 0xFFFE ||
                 cp == 0xFFFF)
            str_putc(out, '?');
        else
            str_add(out, text + i, len);
    }
}

void svg_label(Str *out, double x, double y, const char *anchor, const char *text) {
    str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    svg_escape(text, out);
    str_puts(out, "</text>\n");
}

void svg_line(Str *out, double x1, double y1, double x2, double y2,
              const char *stroke) {
    str_printf(out,
               "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
               "stroke=\"%s\"/>\n",
               x1, x2, y1, y2, stroke);
}

void svg_cut(Str *text, size_t n) {
    if (text->n <= n) return;
    while (n && (text->p[n] & 0xc0) == 0x80)
        n--;
    text->n = n;
    str_puts(text, "...");
}

/* ---- scales ---- */
double svg_place(const SvgScale *s, double v) {
    double part =
        s->log ? log(v / s->lo) / log(s->hi / s->lo) : (v - s->lo) / (s->hi - s->lo);
    return s->from + part * (s->to - s->from);
}

void svg_widen(SvgScale *s) {
    if (s->log) {
        if (s->hi / s->lo < 1.1) s->lo /= 2, s->hi *= 2;
        return;
    }
    if (s->lo > 0 && s->lo < s->hi / 2) s->lo = 0;
    if (s->hi < 0 && s->hi > s->lo / 2) s->hi = 0;
    double least = fmax(fabs(s->lo), fabs(s->hi)) * 1e-12;
    if (s->hi - s->lo > least) return;
    double more = s->hi != 0 ? fmax(fabs(s->hi) / 10, 1e-300) : 1;
    s->lo -= more;
    s->hi += more;
}

/* ---- ticks ---- */
/* 1, 2 or 5 times a power of ten, so that at most `most` steps cover n. */
static double nice_step(double n, int most) {
    static const double nice[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(n / most)));
    size_t i = 0;
    while (i < 3 && nice[i] * power * most < n * (1 - 1e-9))
        i++;
    return nice[i] * power;
}

static void add_tick(SvgTicks *t, const SvgScale *s, double v) {
    double slack = s->log ? 0 : (s->hi - s->lo) * 1e-6;
    if (v < s->lo - slack || v > s->hi + slack || t->n == SVG_TICKS) return;
    t->at[t->n++] = v;
}

static SvgTicks log_ticks(const SvgScale *s, int most) {
    static const double within[] = {1, 2, 5};
    SvgTicks t = {0};
    double first = floor(log10(s->lo) + 1e-9), decades = log10(s->hi) - log10(s->lo);
    double every = ceil(decades / most);
    bool few = decades * 3 <= most;
    if (every < 1) every = 1;
    for (double e = first; e <= log10(s->hi) + 1e-9; e += every)
        for (size_t i = 0; i < (few ? 3 : 1); i++)
            add_tick(&t, s, within[i] * pow(10, e));
    return t;
}

SvgTicks svg_ticks(const SvgScale *s, int most) {
    if (s->log) return log_ticks(s, most);
    SvgTicks t = {.step = nice_step(s->hi - s->lo, most)};
    double first = ceil(s->lo / t.step - 1e-6);
    for (int i = 0; i <= most + 1; i++)
        add_tick(&t, s, (first + i) * t.step);
    return t;
}

void svg_tick_text(double v, double step, Str *out) {
    double digits = step > 0 && v != 0 ? ceil(log10(fabs(v) / step) + 1e-9) + 1 : 6;
    if (step > 0 && fabs(v) < step / 2) v = 0; /* not -0 or 1e-17 */
    str_printf(out, "%.*g", digits < 6 ? 6 : digits > 17 ? 17 : (int)digits, v);
}

/* ---- axes ---- */
static void put_number(SvgNumber *number, double v, double step, Str *text) {
    str_clear(text);
    if (number)
        number(v, text);
    else
        svg_tick_text(v, step, text);
}

void svg_x_axis(Str *out, const SvgScale *x, const SvgScale *y, int most,
                SvgNumber *number) {
    SvgTicks t = svg_ticks(x, most);
    Str text = STR(out->s);
    for (size_t i = 0; i < t.n; i++) {
        double at = svg_place(x, t.at[i]);
        put_number(number, t.at[i], t.step, &text);
        svg_line(out, at, y->from, at, y->to, "#eee");
        svg_line(out, at, y->from, at, y->from + 5, "#333");
        svg_label(out, at, y->from + 18, "middle", str_text(&text));
    }
    svg_line(out, x->from, y->from, x->to, y->from, "#333");
    str_free(&text);
}

void svg_y_axis(Str *out, const SvgScale *x, const SvgScale *y, int most,
                SvgNumber *number) {
    SvgTicks t = svg_ticks(y, most);
    Str text = STR(out->s);
    for (size_t i = 0; i < t.n; i++) {
        double at = svg_place(y, t.at[i]);
        put_number(number, t.at[i], t.step, &text);
        svg_line(out, x->from, at, x->to, at, "#ddd");
        svg_line(out, x->from - 5, at, x->from, at, "#333");
        svg_label(out, x->from - 8, at + 4, "end", str_text(&text));
    }
    svg_line(out, x->from, y->from, x->from, y->to, "#333");
    str_free(&text);
}
