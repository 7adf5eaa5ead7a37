/* Charts as SVG: text, scales, ticks and axes, for every picture that isn't a graph. */
#ifndef FORMAT_SVG_H
#define FORMAT_SVG_H

#include "base/str.h"

void svg_begin(Str *out, double width, double height);
void svg_end(Str *out);
/* Text between tags; what XML can't hold becomes "?". */
void svg_escape(const char *text, Str *out);
void svg_label(Str *out, double x, double y, const char *anchor, const char *text);
void svg_line(Str *out, double x1, double y1, double x2, double y2, const char *stroke);
/* Shortens a text to at most n bytes, between two letters. */
void svg_cut(Str *text, size_t n);

/* Values and where they are in the picture. */
typedef struct SvgScale {
    double lo, hi; /* lo < hi; with `log`, 0 < lo */
    bool log;
    double from, to; /* the places of lo and hi */
} SvgScale;
double svg_place(const SvgScale *s, double v);
/* Widens an interval so that it has a length and, if it isn't logarithmic and begins
 * near zero, begins there. */
void svg_widen(SvgScale *s);

enum { SVG_TICKS = 48 };
typedef struct SvgTicks {
    size_t n;
    double at[SVG_TICKS], step; /* step: 0 if logarithmic */
} SvgTicks;
/* Multiples of 1, 2 or 5 times a power of ten; or powers of ten, or 1, 2 and 5 times
 * them if there are few: about `most` at the most. */
SvgTicks svg_ticks(const SvgScale *s, int most);
/* "0.25", "1e+06": with the digits that tell a tick from its neighbours. */
void svg_tick_text(double v, double step, Str *out);

/* How the numbers of an axis are written. NULL: as svg_tick_text does. */
typedef void SvgNumber(double v, Str *out);
/* Ticks with numbers below or to the left of the frame that both scales span, and grid
 * lines across it. */
void svg_x_axis(Str *out, const SvgScale *x, const SvgScale *y, int most,
                SvgNumber *number);
void svg_y_axis(Str *out, const SvgScale *x, const SvgScale *y, int most,
                SvgNumber *number);

#endif
