/* Verdicts: assertions over the totals, and comparison with an earlier report. */
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

/* ---- units ---- */
/* "MB" is 1e6 and "M" 2**20, as --max-memory has it. */
static const struct {
    const char *name;
    double is;
} units[] = {{"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
             {"GB", 1e9},     {"TB", 1e12},    {"K", 0x1p10},   {"M", 0x1p20},
             {"G", 0x1p30},   {"T", 0x1p40},   {"KiB", 0x1p10}, {"MiB", 0x1p20},
             {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"FLOP", 1},     {"kFLOP", 1e3},
             {"MFLOP", 1e6},  {"GFLOP", 1e9},  {"TFLOP", 1e12}, {"s", 1},
             {"ms", 1e-3},    {"us", 1e-6},    {"ns", 1e-9}};
enum { NUNITS = sizeof units / sizeof *units };

/* "GFLOP" is 1e9, "ms" 1e-3. 0: no unit begins here. */
static double unit_at(const char *p, size_t n, size_t *len) {
    for (*len = 0; *len < n && ascii_is_word(p[*len]);)
        ++*len;
    for (size_t i = 0; i < NUNITS; i++)
        if (strlen(units[i].name) == *len && memcmp(units[i].name, p, *len) == 0)
            return units[i].is;
    return 0;
}

/* Copies a number with what it is multiplied by; returns the characters read. */
static size_t number_without_unit(const char *p, size_t n, Str *out) {
    double v;
    size_t len = num_read_float(p, n, FLOAT64, &v), gap = len, unit;
    while (gap < n && p[gap] == ' ')
        gap++;
    double scale = unit_at(p + gap, n - gap, &unit);
    if (scale == 0) {
        str_add(out, p, len);
        return len;
    }
    json_number(v * scale, out);
    return gap + unit;
}

/* The formula with its numbers in bytes, flops and seconds; itself if it has no unit.
 */
static Span without_units(Session *s, Span text) {
    const Source *src = source_get(s, text.source);
    const char *p = src->text + text.begin;
    size_t n = text.end - text.begin;
    Str out = STR(s);
    for (size_t i = 0; i < n;) {
        bool begins = ascii_is_digit(p[i]) && (i == 0 || !ascii_is_word(p[i - 1]));
        size_t len = begins ? number_without_unit(p + i, n - i, &out) : 0;
        if (!len) str_putc(&out, p[i]);
        i += len ? len : 1;
    }
    bool same = out.n == n && memcmp(str_text(&out), p, n) == 0;
    Span at = {same ? text.source : source_add(s, src->name, str_text(&out), out.n),
               same ? text.begin : 0, same ? text.end : (uint32_t)out.n};
    str_free(&out);
    return at;
}

/* Names the units if a number has something else behind it. Always false. */
static bool note_units(Session *s, Span text) {
    const char *p = source_get(s, text.source)->text + text.begin;
    size_t n = text.end - text.begin, len, unit;
    double v;
    for (size_t i = 0; i < n; i += len ? len : 1) {
        bool begins = ascii_is_digit(p[i]) && (i == 0 || !ascii_is_word(p[i - 1]));
        len = begins ? num_read_float(p + i, n - i, FLOAT64, &v) : 0;
        size_t gap = i + len;
        while (len && gap < n && p[gap] == ' ')
            gap++;
        if (!len || unit_at(p + gap, n - gap, &unit) != 0 || !unit) continue;
        Str all = STR(s);
        for (size_t k = 0; k < NUNITS; k++)
            str_printf(&all, " %s", units[k].name);
        note(s, NOWHERE, "the units are%s", str_text(&all));
        str_free(&all);
        return false;
    }
    return false;
}

/* Reads a number with or without a unit that ends with one of `ends`; returns the
 * characters read, 0: there is none. */
static size_t read_amount(const char *p, size_t n, const char *ends, double *v) {
    size_t len = num_read_float(p, n, FLOAT64, v), unit = 0;
    double scale = len ? unit_at(p + len, n - len, &unit) : 0;
    if (unit && (scale == 0 || !strchr(ends, p[len + unit - 1]))) return 0;
    if (unit) *v *= scale;
    return isfinite(*v) ? len + unit : 0;
}

bool profile_link(Session *s, Span text, double *bytes_per_s, double *latency_s) {
    const char *p = source_get(s, text.source)->text + text.begin;
    size_t n = text.end - text.begin, len = read_amount(p, n, "BKMGT", bytes_per_s),
           more = 0;
    bool ok = len && *bytes_per_s > 0;
    if (ok && len < n && p[len] == ',') {
        more = read_amount(p + len + 1, n - len - 1, "s", latency_s);
        ok = more && *latency_s >= 0;
        len += more + 1;
    }
    if (ok && len == n) return true;
    fail(s, text, E_USAGE,
         "a link has a speed in bytes a second, then perhaps a comma "
         "and the latency of a message in seconds");
    return note(s, NOWHERE, "such as 10e9, 1.25GB or 1.25GB,20us");
}

/* ---- assertions ---- */
typedef struct Asked {
    Session *s;
    const Profile *p; /* NULL: only check the names */
    Sym unknown;      /* an unknown name */
    int missing;      /* a field with unknown value, -1 */
} Asked;

int profile_field_find(const char *name) {
    for (int f = 0; f < PF_N; f++)
        if (strcmp(profile_field_name((ProfileField)f), name) == 0) return f;
    return -1;
}

static bool find_total(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    Asked *q = ctx;
    int f = profile_field_find(sym_text(q->s, name));
    double x = 1;
    *v = formula_number(a, x);
    if (f < 0 && !q->unknown) q->unknown = name;
    if (f < 0 || !q->p) return f >= 0;
    bool known = profile_field_number(q->p, (ProfileField)f, &x);
    *v = formula_number(a, x);
    if (!known && q->missing < 0) q->missing = f;
    return known;
}

static bool unknown_field(Session *s, Span at, const char *name) {
    const char *names[PF_N], *text = source_get(s, at.source)->text + at.begin,
                             *place = strstr(text, name);
    if (place && place + strlen(name) <= text + (at.end - at.begin)) {
        at.begin += (uint32_t)(place - text);
        at.end = at.begin + (uint32_t)strlen(name);
    }
    for (int f = 0; f < PF_N; f++)
        names[f] = profile_field_name((ProfileField)f);
    const char *near = str_nearest(s, name, names, PF_N);
    fail(s, at, E_UNKNOWN, "a profile has no total %s", name);
    if (near) return note(s, NOWHERE, "did you mean %s?", near);
    Str all = STR(s);
    for (int f = 0; f < PF_N; f++)
        str_printf(&all, "%s%s", f ? " " : "", names[f]);
    note(s, NOWHERE, "the totals are %s", str_text(&all));
    str_free(&all);
    return false;
}

bool profile_total(const Profile *p, const char *field, double *v) {
    int f = profile_field_find(field);
    uint32_t n = (uint32_t)strlen(field);
    if (f < 0)
        return unknown_field(p->s, (Span){source_add(p->s, "total", field, n), 0, n},
                             field);
    if (!profile_field_number(p, (ProfileField)f, v)) *v = (double)NAN;
    return true;
}

static bool fail_untold(Session *s, const Profile *p, Span at, ProfileField f) {
    const char *name = profile_field_name(f);
    if (!p->has[f])
        fail(s, at, E_MISSING, "%s was not measured", name);
    else
        fail(s, at, E_MISSING, "%s is unknown: it depends on sizes that are not known",
             name);
    if (p->has[f] && (p->total[f].sym || p->total[f].text)) {
        Str b = STR(s);
        amount_text(p, &p->total[f], "", &b);
        note(s, NOWHERE, "%s is %s", name, str_text(&b));
        str_free(&b);
    }
    if (!p->is_static)
        return note(s, NOWHERE,
                    "measured_peak_bytes and the times are always known after a run");
    if (!p->has[f]) return hint(s, HINT_MEASURE);
    return hint(s, HINT_SIZES);
}

static bool value_of(Session *s, const Profile *p, Span text, double *v) {
    Asked q = {.s = s, .p = p, .missing = -1};
    size_t mark = diag_count(s);
    if (formula_span(s, text, find_total, &q, v)) return true;
    if (q.unknown || q.missing >= 0) diag_rewind(s, mark);
    if (q.unknown) return unknown_field(s, text, sym_text(s, q.unknown));
    if (q.missing >= 0) return fail_untold(s, p, text, (ProfileField)q.missing);
    return note_units(s, text);
}

bool profile_assert_check(Session *s, Span text) {
    double v;
    return value_of(s, NULL, without_units(s, text), &v);
}

static void note_side(Session *s, const Profile *p, const Ast *e) {
    const char *source = source_get(s, e->at.source)->text;
    double v;
    if (e->kind == AST_INT || !value_of(s, p, e->at, &v)) return;
    Str b = STR(s);
    json_number(v, &b);
    if (fabs(v) >= 1e4) {
        str_puts(&b, ", ");
        prof_count_text(v, "", &b);
    }
    note(s, NOWHERE, "%.*s is %s", (int)(e->at.end - e->at.begin), source + e->at.begin,
         str_text(&b));
    str_free(&b);
}

/* Notes the values of what is compared. */
static void note_compared(Session *s, const Profile *p, const Ast *e) {
    bool compared = e->kind == AST_BINARY || e->kind == AST_CHAIN;
    if (!compared && e->kind != AST_NOT && e->kind != AST_LOGIC) return;
    for (size_t i = 0; i < e->nkid; i++) {
        const Ast *k = e->kid[i]->kind == AST_LINK ? e->kid[i]->kid[0] : e->kid[i];
        if (compared)
            note_side(s, p, k);
        else
            note_compared(s, p, k);
    }
}

static void note_sides(Session *s, const Profile *p, Span text) {
    Arena *a = arena_new(s);
    const Ast *e = ast_parse(s, a, text);
    if (e) note_compared(s, p, e);
    arena_free(a);
}

bool profile_holds(const Profile *p, Span text, bool *yes) {
    double v;
    if (!value_of(p->s, p, without_units(p->s, text), &v)) return false;
    *yes = v != 0;
    return true;
}

bool profile_assert(const Profile *p, Span text) {
    Session *s = p->s;
    double v, n;
    Span plain = without_units(s, text);
    if (!value_of(s, p, plain, &v)) return false;
    const Source *src = source_get(s, text.source);
    int len = (int)(text.end - text.begin);
    if (v == 0) {
        fail(s, text, E_VERDICT, "the assertion %.*s does not hold", len,
             src->text + text.begin);
        note_sides(s, p, plain);
        return false;
    }
    Str name = STR(s);
    str_add(&name, src->text + text.begin, (size_t)len);
    if (strstr(str_text(&name), "flops") &&
        profile_field_number(p, PF_unknown_flops, &n) && n > 0)
        warn(s, text, E_VERDICT,
             "flops leaves out %.0f runs of Applies whose flops are unknown", n);
    str_free(&name);
    return true;
}
