/* MONITOR: one line per instruction. */
#include "check/check.h"
#include "lang/print/print.h"
#include "value/class.h"

#include <string.h>

static void place_text(Session *s, Span at, Str *out) {
    const Source *src = source_get(s, at.source);
    uint32_t line, col;
    if (!src) {
        str_putc(out, '-');
        return;
    }
    span_place(s, at, &line, &col);
    str_visible(out, src->name, strlen(src->name));
    str_printf(out, ":%u:%u", line, col);
}

/* A short non-array value is shown itself. */
static void object_text(Session *s, const Type *t, const Value *v, Str *out) {
    enum { SHOWN = 60, BYTES = 16 }; /* characters; bytes per element at most */
    Str text = STR(s);
    str_puts(out, type_str(s, t));
    if (value_has_data(v) && value_bytes(v) <= SHOWN * BYTES)
        value_text(s, v, -1, &text);
    if (text.n && text.n <= SHOWN) {
        str_putc(out, ' ');
        str_visible(out, str_text(&text), text.n);
    }
    str_free(&text);
}

static void brief_text(Session *s, const Type *t, const Value *v, Str *out) {
    if (v->kind != TYPE_TENSOR || !v->t.data) {
        object_text(s, t, v, out);
        return;
    }
    Stats q = tensor_stats(&v->t);
    str_puts(out, dtype_name(v->t.dtype));
    shape_text(s, v->t.ndim, v->t.shape, out);
    str_printf(out, " min=%.6g max=%.6g mean=%.6g", q.min, q.max, q.mean);
    if (q.nans) str_printf(out, " nan=%lld", (long long)q.nans);
    if (q.infs) str_printf(out, " inf=%lld", (long long)q.infs);
}

static char *head_text(size_t step, const Call *c) {
    Session *s = c->s;
    Str line = STR(s);
    if (c->g->main != c->g) str_printf(&line, "%s/", sym_text(s, c->g->name));
    str_printf(&line, "%zu\t", step);
    print_op(s, c->op, c->props, &line);
    str_putc(&line, '\t');
    place_text(s, c->at, &line);
    char *head = mem_alloc(s, line.n + 1);
    memcpy(head, str_text(&line), line.n + 1);
    str_free(&line);
    return head;
}

static Monitored *seen_before(Monitor *m, size_t step, const Call *c) {
    Sym function = c->g->main == c->g ? 0 : c->g->name;
    uint64_t key = (uint64_t)function << 32 | step, i;
    if (!map_get(&m->at, key, &i)) {
        map_put(&m->at, key, i = m->seen.n);
        vec_push(m->s, &m->seen, ((Monitored){.head = head_text(step, c)}));
    }
    return &m->seen.p[i];
}

static bool print_step_line(void *ctx, size_t step, const Call *c, double seconds) {
    Monitor *m = ctx;
    const Services *sv = services(c->s);
    if (!sv->print || !c->nout)
        return true; /* it waits for inputs and will run
                      * again */
    if (!m->seen.n) sv->print(sv->print_ctx, "step\top\tplace\ttime_s\toutputs\n");
    Monitored *x = seen_before(m, step, c);
    if (++x->runs > MONITOR_RUNS) return x->left += seconds, true;
    Str line = STR(c->s);
    str_printf(&line, "%s\t%.3g", x->head, seconds);
    for (size_t i = 0; i < c->nout; i++) {
        str_putc(&line, '\t');
        brief_text(c->s, c->out_type[i], &c->out[i], &line);
    }
    str_putc(&line, '\n');
    sv->print(sv->print_ctx, str_text(&line));
    str_free(&line);
    return true;
}

VmHooks monitor_hooks(Session *s, Monitor *m) {
    *m = (Monitor){.s = s, .at = MAP(s)};
    return (VmHooks){.ctx = m, .after = print_step_line};
}

static void say_left(const Monitor *m, const Monitored *x) {
    const Services *sv = services(m->s);
    Str line = STR(m->s);
    str_printf(&line, "%s\t%.3g\t... in %llu more runs\n", x->head, x->left,
               (unsigned long long)(x->runs - MONITOR_RUNS));
    sv->print(sv->print_ctx, str_text(&line));
    str_free(&line);
}

void monitor_end(Monitor *m) {
    for (size_t i = 0; i < m->seen.n; i++) {
        if (m->seen.p[i].runs > MONITOR_RUNS) say_left(m, &m->seen.p[i]);
        mem_free(m->seen.p[i].head);
    }
    vec_free(&m->seen);
    if (m->s) map_free(&m->at);
}
