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
    note(s, NOWHERE, "the totals are %s", str_text(&all));
    str_free(&all);
    return false;
}

static bool fail_untold(Session *s, const Profile *p, Span at, ProfileField f) {
    const char *name = profile_field_name(f);
    if (!p->has[f])
        fail(s, at, E_MISSING, "%s was not measured", name);
    else
        fail(s, at, E_MISSING, "%s is unknown: it depends on sizes that are not known",
             name);
    if (p->has[f] && p->total[f].sym) {
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
    json_number(v, &b);
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
             "flops leaves out %.0f runs of Applies whose flops are unknown", n);
    str_free(&name);
    return true;
}

/* ---- an earlier report ---- */
static bool read_total(JsonReader *j, const char *name, Compared *c) {
    int f = field_find(name);
    const char *p;
    size_t n;
    if (f < 0 || json_next_is(j, '"') || json_next_is(j, '{') || json_next_is(j, '['))
        return json_skip(j);
    if (!json_scalar(j, &p, &n)) return false;
    c->has[f] = num_read_float(p, n, FLOAT64, &c->v[f]) == n;
    return true;
}

/* The members of the report; those of its member "total" are the fields. */
static bool read_members(JsonReader *j, Compared *c, bool total) {
    JsonText key;
    if (!json_want(j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(j, '}', &n);) {
        if (!json_key(j, &key)) return false;
        if (!(total                         ? read_total(j, key.p, c)
              : strcmp(key.p, "total") == 0 ? read_members(j, c, true)
                                            : json_skip(j)))
            return false;
    }
    return !j->wrong;
}

bool profile_compare_read(Session *s, const char *path, Compared *c) {
    FileData d;
    bool any = false;
    *c = (Compared){0};
    if (!file_read(s, path, 1 << 30, &d)) return false;
    Arena *a = arena_new(s);
    JsonReader j = json_reader(s, a, (const char *)d.p, d.n);
    bool ok = read_members(&j, c, false);
    for (int f = 0; f < PF_N; f++)
        any |= c->has[f];
    arena_free(a);
    file_close(&d);
    if (ok && any) return true;
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
    json_number(was, &a);
    json_number(now, &b);
    fail(p->s, NOWHERE, E_VERDICT,
         "%s was %s and is now %s, more than %g times as much",
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
        json_number(was, &a);
        json_number(now, &b);
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

void profile_compare_json(const Profile *p, const Compared *c, JsonWriter *w) {
    double was, now;
    json_line(w, "  ");
    json_put_key(w, "compare");
    json_open(w, '{');
    for (int f = 0; f < PF_N; f++) {
        if (!both_totals(p, c, f, &was, &now)) continue;
        json_line(w, "    ");
        json_put_key(w, profile_field_name((ProfileField)f));
        json_open(w, '{');
        json_member_number(w, "before", was);
        json_member_number(w, "now", now);
        json_member_number(w, "ratio", growth_ratio(was, now));
        json_close(w, "}");
    }
    json_close(w, "\n  }");
}
