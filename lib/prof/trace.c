/* Reports for other viewers: Chrome trace events (for Perfetto) and folded stacks (for
 * flame graphs). */
#include "prof/prof_impl.h"

#include <math.h>
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

static void put_sym_json(Session *s, Sym y, Str *out) {
    str_json(out, sym_text(s, y), strlen(sym_text(s, y)));
}

static void put_event(Profile *p, const Event *e, const Row *r, double zero, Str *out) {
    str_puts(out, ",\n{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": ");
    put_sym_json(p->s, r->op, out);
    str_puts(out, ", \"cat\": ");
    put_sym_json(p->s, r->cls, out);
    str_printf(out,
               ", \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"apply\": %u, \"name\": ",
               (e->start - zero) * 1e6, e->seconds * 1e6, e->id);
    put_sym_json(p->s, row_name(p, r), out);
    if (r->calls > 0) {
        str_puts(out, ", \"flops\": ");
        number_json(r->flops.v / r->calls, out);
    }
    str_puts(out, "}}");
}

/* Live bytes as a counter track. */
static void put_live_counters(Profile *p, double zero, Str *out) {
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    size_t i = 0;
    for (size_t k = 0; k < p->events.n && i < m.nstep; k++) {
        const Event *e = &p->events.p[k];
        if (e->depth) continue;
        str_printf(out,
                   ",\n{\"ph\": \"C\", \"pid\": 1, \"name\": \"live\", \"ts\": %.3f, "
                   "\"args\": {\"bytes\": %.0f}}",
                   (e->start - zero) * 1e6, m.live[i++].bytes);
    }
    arena_free(a);
}

void report_trace(Profile *p, Str *out) {
    Map at = rows_map(p);
    double zero = HUGE_VAL;
    for (size_t i = 0; i < p->events.n; i++)
        if (p->events.p[i].start < zero) zero = p->events.p[i].start;
    str_puts(out, "{\"traceEvents\": [\n{\"ph\": \"M\", \"pid\": 1, \"name\": "
                  "\"process_name\", \"args\": {\"name\": ");
    put_sym_json(p->s, p->g->name ? p->g->name : sym(p->s, "graph"), out);
    str_puts(out, "}}");
    for (size_t i = 0; i < p->events.n; i++) {
        const Row *r = row_at(p, &at, p->events.p[i].g, p->events.p[i].id);
        if (r) put_event(p, &p->events.p[i], r, zero, out);
    }
    put_live_counters(p, zero, out);
    str_puts(out, "\n]}\n");
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
