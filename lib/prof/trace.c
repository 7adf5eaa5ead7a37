/* Reports for other viewers: Chrome trace events (for Perfetto) and folded stacks (for
 * flame graphs). */
#include "prof/prof_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Row *row_at(const Profile *p, const Map *at, const Graph *g, ApplyId id) {
    uint64_t i;
    uint64_t key = hash_mix((uintptr_t)g, id);
    return map_get(at, key, &i) ? &p->rows.p[i] : NULL;
}

static Map rows_map(const Profile *p) {
    Map m = MAP(p->s);
    for (size_t i = 0; i < p->rows.n; i++)
        map_put(&m, hash_mix((uintptr_t)p->rows.p[i].g, p->rows.p[i].id), i);
    return m;
}

static void put_fixed(const char *name, double v, JsonWriter *w) {
    char text[64];
    snprintf(text, sizeof text, "%.3f", v);
    json_put_key(w, name);
    json_put_word(w, text);
}

/* Opens an event of the kind `ph`. */
static void open_event(const char *ph, const char *name, JsonWriter *w) {
    json_line(w, "");
    json_open(w, '{');
    json_member(w, "ph", ph);
    json_member_number(w, "pid", 1);
    if (*ph == 'X') json_member_number(w, "tid", 1);
    json_member(w, "name", name);
}

static void put_event(Profile *p, const Event *e, const Row *r, double zero,
                      JsonWriter *w) {
    open_event("X", sym_text(p->s, r->op), w);
    json_member(w, "cat", sym_text(p->s, r->cls));
    put_fixed("ts", (e->start - zero) * 1e6, w);
    put_fixed("dur", e->seconds * 1e6, w);
    json_put_key(w, "args");
    json_open(w, '{');
    json_member_number(w, "apply", e->id);
    json_member(w, "name", sym_text(p->s, row_name(p, r)));
    if (r->calls > 0) json_member_number(w, "flops", r->flops.v / r->calls);
    json_close(w, "}}");
}

/* Live bytes as a counter track. */
static void put_live_counters(Profile *p, double zero, JsonWriter *w) {
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    size_t i = 0;
    for (size_t k = 0; k < p->events.n && i < m.nstep; k++) {
        const Event *e = &p->events.p[k];
        if (e->depth) continue;
        open_event("C", "live", w);
        put_fixed("ts", (e->start - zero) * 1e6, w);
        json_put_key(w, "args");
        json_open(w, '{');
        json_member_number(w, "bytes", m.live[i++].bytes);
        json_close(w, "}}");
    }
    arena_free(a);
}

void report_trace(Profile *p, Str *out) {
    Map at = rows_map(p);
    JsonWriter w = {.out = out};
    double zero = HUGE_VAL;
    for (size_t i = 0; i < p->events.n; i++)
        if (p->events.p[i].start < zero) zero = p->events.p[i].start;
    json_open(&w, '{');
    json_put_key(&w, "traceEvents");
    json_open(&w, '[');
    open_event("M", "process_name", &w);
    json_put_key(&w, "args");
    json_open(&w, '{');
    json_member(&w, "name", p->g->name ? sym_text(p->s, p->g->name) : "graph");
    json_close(&w, "}}");
    for (size_t i = 0; i < p->events.n; i++) {
        const Row *r = row_at(p, &at, p->events.p[i].g, p->events.p[i].id);
        if (r) put_event(p, &p->events.p[i], r, zero, &w);
    }
    put_live_counters(p, zero, &w);
    json_close(&w, "\n]}\n");
    map_free(&at);
}

/* A semicolon or a line end would split a stack. */
static void stack_part(Session *s, Sym y, Str *out) {
    for (const char *c = sym_text(s, y); *c; c++)
        str_putc(out, *c == ';' || *c == '\n' ? ',' : *c);
}

void report_folded(Profile *p, Str *out) {
    Rows rows = rows_by(p, BY_APPLY, SORT_TIME);
    Sym name = p->g->name ? p->g->name : sym(p->s, "graph");
    for (size_t i = 0; i < rows.n; i++) {
        const Row *r = &rows.p[i];
        double v = row_weight(p, r) * (p->is_static ? 1 : 1e9);
        stack_part(p->s, name, out);
        if (r->g != p->g) {
            str_putc(out, ';');
            stack_part(p->s, r->g->name, out);
        }
        str_putc(out, ';');
        stack_part(p->s, r->cls, out);
        str_putc(out, ';');
        stack_part(p->s, r->op, out);
        str_putc(out, ';');
        stack_part(p->s, row_name(p, r), out);
        str_printf(out, " %.0f\n", v);
    }
    vec_free(&rows);
}
