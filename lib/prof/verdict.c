/* Verdicts: assertions over the totals, and comparison with an earlier report. */
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

/* ---- assertions ---- */
typedef struct Asked {
    Session *s;
    const Profile *p; /* NULL: only check the names */
    Sym unknown;      /* an unknown name */
    int missing;      /* a field with unknown value, -1 */
} Asked;

static int field_find(const char *name) {
    for (int f = 0; f < PF_N; f++)
        if (strcmp(profile_field_name((ProfileField)f), name) == 0) return f;
    return -1;
}

static bool find_total(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    Asked *q = ctx;
    int f = field_find(sym_text(q->s, name));
    double x = 1;
    *v = formula_number(a, x);
    if (f < 0 && !q->unknown) q->unknown = name;
    if (f < 0 || !q->p) return f >= 0;
    bool told = profile_field_number(q->p, (ProfileField)f, &x);
    *v = formula_number(a, x);
    if (!told && q->missing < 0) q->missing = f;
    return told;
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
    note(s, NOWHERE, "there are %s", str_text(&all));
    str_free(&all);
    return false;
}

static bool fail_untold(Session *s, const Profile *p, Span at, ProfileField f) {
    const char *name = profile_field_name(f);
    if (!p->has[f])
        fail(s, at, E_MISSING, "%s was not measured", name);
    else
        fail(s, at, E_MISSING,
             "%s can't be told: it depends on sizes that are not known", name);
    if (p->has[f] && p->total[f].sym) {
        Str b = STR(s);
        amount_text(p, &p->total[f], "", &b);
        note(s, NOWHERE, "%s is %s", name, str_text(&b));
        str_free(&b);
    }
    if (!p->is_static)
        return note(s, NOWHERE,
                    "measured_peak_bytes and the times are always known here");
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
    return false;
}

bool profile_assert_check(Session *s, Span text) {
    double v;
    return value_of(s, NULL, text, &v);
}

static void note_side(Session *s, const Profile *p, const Ast *e) {
    const char *source = source_get(s, e->at.source)->text;
    double v;
    if (e->kind == AST_INT || !value_of(s, p, e->at, &v)) return;
    Str b = STR(s);
    number_json(v, &b);
    note(s, NOWHERE, "%.*s is %s", (int)(e->at.end - e->at.begin), source + e->at.begin,
         str_text(&b));
    str_free(&b);
}

/* Notes the values of both sides of the comparison. */
static void note_sides(Session *s, const Profile *p, Span text) {
    Arena *a = arena_new(s);
    const Ast *e = ast_parse(s, a, text);
    for (size_t i = 0; e && e->kind == AST_BINARY && i < e->nkid; i++)
        note_side(s, p, e->kid[i]);
    arena_free(a);
}

bool profile_assert(const Profile *p, Span text) {
    Session *s = p->s;
    double v, n;
    if (!value_of(s, p, text, &v)) return false;
    const Source *src = source_get(s, text.source);
    int len = (int)(text.end - text.begin);
    if (v == 0) {
        fail(s, text, E_VERDICT, "the assertion %.*s does not hold", len,
             src->text + text.begin);
        note_sides(s, p, text);
        return false;
    }
    Str name = STR(s);
    str_add(&name, src->text + text.begin, (size_t)len);
    if (strstr(str_text(&name), "flops") &&
        profile_field_number(p, PF_unknown_flops, &n) && n > 0)
        warn(s, text, E_VERDICT,
             "flops leaves out %.0f runs of Applies that can't be told", n);
    str_free(&name);
    return true;
}

/* ---- an earlier report ---- */
/* A minimal JSON reader: just enough to find the numbers of one object in a flat
 * report. */
typedef struct Json {
    const char *p, *end;
    bool ok;
} Json;

static void skip_json_space(Json *j) {
    while (j->p < j->end && strchr(" \t\r\n", *j->p))
        j->p++;
}

static bool match_json_char(Json *j, char c) {
    skip_json_space(j);
    if (j->p == j->end || *j->p != c) return false;
    j->p++;
    return true;
}

static bool read_json_string(Json *j, const char **at, size_t *n) {
    if (!match_json_char(j, '"')) return j->ok = false;
    *at = j->p;
    while (j->p < j->end && *j->p != '"')
        j->p += *j->p == '\\' && j->p + 1 < j->end ? 2 : 1;
    *n = (size_t)(j->p - *at);
    return j->ok = j->ok && match_json_char(j, '"');
}

/* Skips a value of any kind and depth. */
static void skip_json_value(Json *j) {
    int64_t depth = 0;
    const char *at;
    size_t n;
    do {
        skip_json_space(j);
        if (j->p == j->end) {
            j->ok = false;
        } else if (*j->p == '"') {
            read_json_string(j, &at, &n);
        } else if (strchr("{[", *j->p)) {
            depth++, j->p++;
        } else if (strchr("}]", *j->p)) {
            depth--, j->p++;
        } else if (strchr(",:", *j->p) && depth) {
            j->p++;
        } else {
            n = 0;
            while (j->p + n < j->end && !strchr(" \t\r\n,:{}[]\"", j->p[n]))
                n++;
            j->ok = j->ok && n;
            j->p += n;
        }
    } while (j->ok && depth > 0);
    j->ok = j->ok && depth == 0;
}

static void total_field(Json *j, const char *name, size_t n, Compared *c) {
    char text[64] = "";
    if (n < sizeof text) memcpy(text, name, n);
    int f = field_find(text);
    skip_json_space(j);
    size_t len =
        f < 0 ? 0 : num_read_float(j->p, (size_t)(j->end - j->p), FLOAT64, &c->v[f]);
    if (len) c->has[f] = true, j->p += len;
    if (!len) skip_json_value(j);
}

static void read_members(Json *j, Compared *c, bool top) {
    const char *name;
    size_t n;
    if (!match_json_char(j, '{')) j->ok = false;
    while (j->ok && !match_json_char(j, '}')) {
        if (!read_json_string(j, &name, &n) || !match_json_char(j, ':')) {
            j->ok = false;
        } else if (!top) {
            total_field(j, name, n, c);
        } else if (n == 5 && memcmp(name, "total", 5) == 0) {
            read_members(j, c, false);
        } else {
            skip_json_value(j);
        }
        skip_json_space(j);
        if (j->ok && !match_json_char(j, ',') && (j->p == j->end || *j->p != '}'))
            j->ok = false;
    }
}

bool profile_compare_read(Session *s, const char *path, Compared *c) {
    FileData d;
    bool any = false;
    *c = (Compared){0};
    if (!file_read(s, path, 1 << 30, &d)) return false;
    Json j = {(const char *)d.p, (const char *)d.p + d.n, true};
    read_members(&j, c, true);
    for (int f = 0; f < PF_N; f++)
        any |= c->has[f];
    file_close(&d);
    if (j.ok && any) return true;
    fail(s, NOWHERE, E_FORMAT, "%s is no report of a profile", path);
    return hint(s, HINT_REPORT);
}

static bool both_totals(const Profile *p, const Compared *c, int f, double *was,
                        double *now) {
    *was = c->v[f];
    return c->has[f] && profile_field_number(p, (ProfileField)f, now);
}

/* From zero to zero is no growth; from zero to anything else is infinite growth. */
static double growth_ratio(double was, double now) {
    return was > 0 ? now / was : now > 0 ? (double)INFINITY : 1;
}

/* Checks the costs that must not grow and reports the one that grew most. */
bool profile_compare_verdict(const Profile *p, const Compared *c, double limit) {
    int worst = -1;
    double was, now, most = limit;
    for (int f = 0; f < PF_N; f++) {
        if (!profile_field_is_worse((ProfileField)f) ||
            !both_totals(p, c, f, &was, &now))
            continue;
        double ratio = growth_ratio(was, now);
        if (ratio > most) most = ratio, worst = f;
    }
    if (worst < 0) return true;
    both_totals(p, c, worst, &was, &now);
    Str a = STR(p->s), b = STR(p->s);
    number_json(was, &a);
    number_json(now, &b);
    fail(p->s, NOWHERE, E_VERDICT, "%s was %s and is %s, more than %g times as much",
         profile_field_name((ProfileField)worst), str_text(&a), str_text(&b), limit);
    str_free(&a);
    str_free(&b);
    return false;
}

void profile_compare_text(const Profile *p, const Compared *c, Str *out) {
    double was, now;
    str_printf(out, "\n%-22s  %20s  %20s  %8s\n", "total", "before", "now", "ratio");
    for (int f = 0; f < PF_N; f++) {
        if (!both_totals(p, c, f, &was, &now)) continue;
        Str a = STR(p->s), b = STR(p->s);
        number_json(was, &a);
        number_json(now, &b);
        str_printf(out, "%-22s  %20s  %20s  ", profile_field_name((ProfileField)f),
                   str_text(&a), str_text(&b));
        if (isfinite(growth_ratio(was, now)))
            str_printf(out, "%8.3f\n", growth_ratio(was, now));
        else
            str_printf(out, "%8s\n", "-");
        str_free(&a);
        str_free(&b);
    }
}

void profile_compare_json(const Profile *p, const Compared *c, Str *out) {
    double was, now;
    bool any = false;
    str_puts(out, ",\n  \"compare\": {");
    for (int f = 0; f < PF_N; f++) {
        if (!both_totals(p, c, f, &was, &now)) continue;
        str_printf(out, "%s\n    \"%s\": {\"before\": ", any ? "," : "",
                   profile_field_name((ProfileField)f));
        number_json(was, out);
        str_puts(out, ", \"now\": ");
        number_json(now, out);
        str_puts(out, ", \"ratio\": ");
        if (isfinite(growth_ratio(was, now)))
            number_json(growth_ratio(was, now), out);
        else
            str_puts(out, "null");
        str_putc(out, '}');
        any = true;
    }
    str_puts(out, "\n  }");
}
