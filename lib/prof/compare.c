/* Comparison with an earlier report: the totals, and by op every cost that got worse.
 */
#include "os/file.h"
#include "prof/prof_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORSE_SHOWN = 20, WORSE_NOTED = 10 };

static const char *const op_costs[COMPARED_COSTS] = {"time_s", "flops", "math_calls",
                                                     "bytes"};

/* ---- reading ---- */
/* A member's value; false if it is not a number. */
static bool read_number(JsonReader *j, double *v, bool *has) {
    const char *p;
    size_t n;
    *has = false;
    if (json_next_is(j, '"') || json_next_is(j, '{') || json_next_is(j, '['))
        return json_skip(j);
    if (!json_scalar(j, &p, &n)) return false;
    *has = num_read_float(p, n, FLOAT64, v) == n;
    return true;
}

static bool read_total(JsonReader *j, const char *name, Compared *c) {
    int f = profile_field_find(name);
    return f < 0 ? json_skip(j) : read_number(j, &c->v[f], &c->has[f]);
}

static bool read_op(JsonReader *j, ComparedOp *op) {
    *op = (ComparedOp){0};
    JsonText key, name;
    if (!json_want(j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(j, '}', &n);) {
        if (!json_key(j, &key)) return false;
        int k = 0;
        while (k < COMPARED_COSTS && strcmp(key.p, op_costs[k]) != 0)
            k++;
        bool named = strcmp(key.p, "name") == 0 && json_next_is(j, '"');
        if (!(named                ? json_string(j, &name)
              : k < COMPARED_COSTS ? read_number(j, &op->v[k], &op->has[k])
                                   : json_skip(j)))
            return false;
        if (named) op->name = sym_n(j->s, name.p, name.n);
    }
    return !j->wrong;
}

static bool read_ops(JsonReader *j, Compared *c, bool applies) {
    ComparedOp op;
    if (!json_next_is(j, '[')) return json_skip(j);
    json_take(j, '[');
    for (size_t n = 0; json_item(j, ']', &n);) {
        bool row = json_next_is(j, '{');
        if (!(row ? read_op(j, &op) : json_skip(j))) return false;
        if (row && op.name && applies) vec_push(j->s, &c->applies, op);
        if (row && op.name && !applies) vec_push(j->s, &c->ops, op);
    }
    return !j->wrong;
}

/* The members of the report; those of its member "total" are the fields. */
static bool read_members(JsonReader *j, Compared *c, bool total) {
    JsonText key;
    if (!json_want(j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(j, '}', &n);) {
        if (!json_key(j, &key)) return false;
        if (!(total                         ? read_total(j, key.p, c)
              : strcmp(key.p, "total") == 0 ? read_members(j, c, true)
              : strcmp(key.p, "op") == 0    ? read_ops(j, c, false)
              : strcmp(key.p, "apply") == 0 ? read_ops(j, c, true)
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

/* ---- what got worse ---- */
/* From zero to zero is no growth; from zero to anything else is infinite growth. */
static double growth_ratio(double was, double now) {
    return was > 0 ? now / was : now > 0 ? (double)INFINITY : 1;
}

typedef struct Growth { /* of a cost, in total or of an op */
    Sym op;
    const char *cost;
    double was, now;
} Growth;
typedef struct Growths {
    Growth *p;
    size_t n, cap;
} Growths;

static int faster_first(const void *a, const void *b) {
    const Growth *x = a, *y = b;
    double r = growth_ratio(x->was, x->now), s = growth_ratio(y->was, y->now);
    if (r != s) return r < s ? 1 : -1;
    if (x->now - x->was != y->now - y->was)
        return x->now - x->was < y->now - y->was ? 1 : -1;
    return x->op != y->op ? (x->op < y->op ? -1 : 1) : strcmp(x->cost, y->cost);
}

static bool both_totals(const Profile *p, const Compared *c, int f, Growth *g) {
    *g = (Growth){0, profile_field_name((ProfileField)f), c->v[f], 0};
    return c->has[f] && profile_field_number(p, (ProfileField)f, &g->now);
}

/* The totals that must not grow and grew by more than this. */
static Growths worse_totals(const Profile *p, const Compared *c, double limit) {
    Growths out = {0};
    Growth g;
    for (int f = 0; f < PF_N; f++)
        if (profile_field_is_worse((ProfileField)f) && both_totals(p, c, f, &g) &&
            growth_ratio(g.was, g.now) > limit)
            vec_push(p->s, &out, g);
    if (out.n) qsort(out.p, out.n, sizeof *out.p, faster_first);
    return out;
}

static void worse_op(Profile *p, const Row *r, const ComparedOp *was, double limit,
                     Growths *out) {
    Amount bytes = row_bytes(p, r);
    const Amount *now[COMPARED_COSTS] = {NULL, &r->flops, &r->math, &bytes};
    for (int k = p->is_static; k < COMPARED_COSTS; k++) {
        Growth g = {r->name, op_costs[k], was ? was->v[k] : 0,
                    k ? now[k]->v : r->time_s};
        if (was && !was->has[k]) continue;
        if (k && (now[k]->sym || now[k]->unknown)) continue;
        if (growth_ratio(g.was, g.now) > limit) vec_push(p->s, out, g);
    }
}

static Growths worse_ops(Profile *p, const Compared *c, double limit) {
    Growths out = {0};
    Map old = MAP(p->s);
    Rows rows = rows_by(p, BY_OP, SORT_TIME);
    for (size_t i = 0; i < c->ops.n; i++)
        map_put(&old, c->ops.p[i].name, i);
    for (size_t i = 0; c->ops.n && i < rows.n; i++) {
        uint64_t at;
        bool found = map_get(&old, rows.p[i].name, &at);
        worse_op(p, &rows.p[i], found ? &c->ops.p[at] : NULL, limit, &out);
    }
    if (out.n) qsort(out.p, out.n, sizeof *out.p, faster_first);
    vec_free(&rows);
    map_free(&old);
    return out;
}

/* ---- reports ---- */
static void cost_text(const char *cost, double v, Str *out) {
    size_t n = strlen(cost);
    bool bytes = n >= 5 && strcmp(cost + n - 5, "bytes") == 0 &&
                 strcmp(cost, "unknown_bytes") != 0; /* a number of Applies */
    if (n > 2 && strcmp(cost + n - 2, "_s") == 0 && strcmp(cost, "gflops_per_s") != 0)
        profile_time_text(v, out);
    else
        prof_count_text(v, bytes ? "B" : "", out);
}

static void growth_text(Session *s, const Growth *g, Str *out) {
    Str was = STR(s), now = STR(s);
    cost_text(g->cost, g->was, &was);
    cost_text(g->cost, g->now, &now);
    str_printf(out, "%s was %s and is now %s", g->cost, str_text(&was), str_text(&now));
    str_free(&was);
    str_free(&now);
}

/* The worst total is the error; the others and the ops follow. */
bool profile_compare_verdict(Profile *p, const Compared *c, double limit) {
    Growths all = worse_totals(p, c, limit), ops = worse_ops(p, c, limit);
    Str text = STR(p->s);
    for (size_t i = 0; i < all.n; i++) {
        str_clear(&text);
        growth_text(p->s, &all.p[i], &text);
        if (i)
            note(p->s, NOWHERE, "%s", str_text(&text));
        else
            fail(p->s, NOWHERE, E_VERDICT, "%s, more than %g times as much",
                 str_text(&text), limit);
    }
    for (size_t i = 0; all.n && i < ops.n && i < WORSE_NOTED; i++) {
        str_clear(&text);
        growth_text(p->s, &ops.p[i], &text);
        note(p->s, NOWHERE, "%s: %s", sym_text(p->s, ops.p[i].op), str_text(&text));
    }
    bool ok = all.n == 0;
    str_free(&text);
    vec_free(&all);
    vec_free(&ops);
    return ok;
}

static void growth_line(Session *s, const Growth *g, const char *first, Str *out) {
    Str was = STR(s), now = STR(s);
    double ratio = growth_ratio(g->was, g->now);
    cost_text(g->cost, g->was, &was);
    cost_text(g->cost, g->now, &now);
    str_printf(out, "%-22s  %12s  %12s  ", first, str_text(&was), str_text(&now));
    if (isfinite(ratio))
        str_printf(out, "%8.3f", ratio);
    else
        str_printf(out, "%8s", "-");
    str_free(&was);
    str_free(&now);
}

void profile_compare_text(Profile *p, const Compared *c, double limit, Str *out) {
    Growth g;
    str_printf(out, "\n%-22s  %12s  %12s  %8s\n", "total", "before", "now", "ratio");
    for (int f = 0; f < PF_N; f++) {
        if (!both_totals(p, c, f, &g)) continue;
        growth_line(p->s, &g, g.cost, out);
        str_putc(out, '\n');
    }
    Growths worse = worse_ops(p, c, limit);
    if (worse.n)
        str_printf(out, "\n%-22s  %12s  %12s  %8s  op\n", "got worse", "before", "now",
                   "ratio");
    for (size_t i = 0; i < worse.n && i < WORSE_SHOWN; i++) {
        const char *name = sym_text(p->s, worse.p[i].op);
        growth_line(p->s, &worse.p[i], worse.p[i].cost, out);
        str_puts(out, "  ");
        str_visible(out, name, strlen(name));
        str_putc(out, '\n');
    }
    if (worse.n > WORSE_SHOWN)
        str_printf(out, "... (%zu more)\n", worse.n - WORSE_SHOWN);
    vec_free(&worse);
}

static void put_growth(const Growth *g, JsonWriter *w) {
    json_member_number(w, "before", g->was);
    json_member_number(w, "now", g->now);
    json_member_number(w, "ratio", growth_ratio(g->was, g->now));
    json_close(w, "}");
}

void profile_compare_json(Profile *p, const Compared *c, double limit, JsonWriter *w) {
    Growth g;
    json_line(w, "  ");
    json_put_key(w, "compare");
    json_open(w, '{');
    for (int f = 0; f < PF_N; f++) {
        if (!both_totals(p, c, f, &g)) continue;
        json_line(w, "    ");
        json_put_key(w, g.cost);
        json_open(w, '{');
        put_growth(&g, w);
    }
    json_close(w, "\n  }");
    Growths worse = worse_ops(p, c, limit);
    json_line(w, "  ");
    json_put_key(w, "worse");
    json_open(w, '[');
    for (size_t i = 0; i < worse.n; i++) {
        json_line(w, "    ");
        json_open(w, '{');
        json_member(w, "op", sym_text(p->s, worse.p[i].op));
        json_member(w, "cost", worse.p[i].cost);
        put_growth(&worse.p[i], w);
    }
    json_close(w, worse.n ? "\n  ]" : "]");
    vec_free(&worse);
}

/* ---- for a page ---- */
static double cost_now(const Profile *p, const Row *r, int k) {
    Amount bytes = row_bytes(p, r);
    const Amount *now[COMPARED_COSTS] = {NULL, &r->flops, &r->math, &bytes};
    if (!k) return p->is_static ? (double)NAN : r->time_s;
    return now[k]->sym || now[k]->unknown ? (double)NAN : now[k]->v;
}

static void open_compared(Page *pg, const char *name, const char *cost, double was,
                          double now) {
    json_open(&pg->w, '[');
    json_put(&pg->w, name);
    if (cost) json_put(&pg->w, cost);
    json_put_number(&pg->w, was);
    json_put_number(&pg->w, now);
}

static void put_compared_totals(Profile *p, const Compared *c, Page *pg) {
    Growth g;
    json_put_key(&pg->w, "total");
    json_open(&pg->w, '[');
    for (int f = 0; f < PF_N; f++) {
        if (!both_totals(p, c, f, &g)) continue;
        bool worse = profile_field_is_worse((ProfileField)f);
        open_compared(pg, g.cost, NULL, g.was, g.now);
        json_put_word(&pg->w, worse ? "true" : "false");
        json_close(&pg->w, "]");
    }
    json_close(&pg->w, "]");
}

static void put_compared_ops(Profile *p, const Compared *c, Page *pg) {
    Map old = MAP(p->s);
    Rows rows = rows_by(p, BY_OP, SORT_TIME);
    for (size_t i = 0; i < c->ops.n; i++)
        map_put(&old, c->ops.p[i].name, i);
    json_put_key(&pg->w, "ops");
    json_open(&pg->w, '[');
    for (size_t i = 0; i < rows.n; i++) {
        uint64_t at;
        bool found = map_get(&old, rows.p[i].name, &at);
        for (int k = p->is_static; k < COMPARED_COSTS; k++) {
            bool has = found && c->ops.p[at].has[k];
            open_compared(pg, sym_text(p->s, rows.p[i].name), op_costs[k],
                          has ? c->ops.p[at].v[k] : (double)NAN,
                          cost_now(p, &rows.p[i], k));
            json_close(&pg->w, "]");
        }
    }
    json_close(&pg->w, "]");
    vec_free(&rows);
    map_free(&old);
}

/* What the rows of the same statements had before, by Apply of a graph. */
static void put_compared_applies(Profile *p, const Compared *c, const Map *old,
                                 const Graph *g, Page *pg) {
    double *v[COMPARED_COSTS];
    bool any = false;
    for (int k = 0; k < COMPARED_COSTS; k++) {
        v[k] = NEW_N(pg->a, (size_t)g->napply + 1, double);
        for (ApplyId id = 0; id < g->napply; id++)
            v[k][id] = (double)NAN;
    }
    for (size_t i = 0; i < p->rows.n; i++) {
        const Row *r = &p->rows.p[i];
        uint64_t at;
        if (r->g != g || !map_get(old, row_name(p, r), &at)) continue;
        any = true;
        for (int k = 0; k < COMPARED_COSTS; k++)
            if (c->applies.p[at].has[k]) v[k][r->id] = c->applies.p[at].v[k];
    }
    if (!any) {
        json_put_word(&pg->w, "null");
        return;
    }
    json_open(&pg->w, '{');
    for (int k = 0; k < COMPARED_COSTS; k++)
        page_put_f64(pg, op_costs[k], g->napply, v[k]);
    json_close(&pg->w, "}");
}

void profile_compare_page(Profile *p, const Compared *c, const ReportOptions *how,
                          Page *pg) {
    Map old = MAP(p->s);
    for (size_t i = c->applies.n; i-- > 0;)
        map_put(&old, c->applies.p[i].name, i);
    json_line(&pg->w, "");
    json_put_key(&pg->w, "compare");
    json_open(&pg->w, '{');
    json_member(&pg->w, "file", how->compare);
    json_member_number(&pg->w, "limit", worse_limit(how));
    put_compared_totals(p, c, pg);
    put_compared_ops(p, c, pg);
    json_put_key(&pg->w, "applies");
    json_open(&pg->w, '[');
    put_compared_applies(p, c, &old, p->g, pg);
    for (size_t i = 0; i < p->g->functions.n; i++)
        put_compared_applies(p, c, &old, p->g->functions.p[i], pg);
    json_close(&pg->w, "]");
    json_close(&pg->w, "}");
    map_free(&old);
}
