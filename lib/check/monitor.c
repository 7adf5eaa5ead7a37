/* MONITOR: a line for each instruction. */
#include "check/check.h"
#include "lang/print.h"
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

/* What is no array stands there itself, if it is short. */
static void object_text(Session *s, const Type *t, const Value *v, Str *out) {
    enum { SHOWN = 60, BYTES = 16 }; /* characters; of an element at most */
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

static bool after(void *ctx, size_t step, const Call *c, double seconds) {
    Monitor *m = ctx;
    const Services *sv = services(c->s);
    Str line = STR(c->s);
    if (!sv->print || !c->nout) return true; /* it waits, and will run again */
    if (!m->begun) sv->print(sv->print_ctx, "step\top\tplace\ttime_s\toutputs\n");
    m->begun = true;
    if (c->g->main != c->g) str_printf(&line, "%s/", sym_text(c->s, c->g->name));
    str_printf(&line, "%zu\t", step);
    print_op(c->s, c->op, c->props, &line);
    str_putc(&line, '\t');
    place_text(c->s, c->at, &line);
    str_printf(&line, "\t%.3g", seconds);
    for (size_t i = 0; i < c->nout; i++) {
        str_putc(&line, '\t');
        brief_text(c->s, c->out_type[i], &c->out[i], &line);
    }
    str_putc(&line, '\n');
    sv->print(sv->print_ctx, str_text(&line));
    str_free(&line);
    return true;
}

VmHooks monitor_hooks(Monitor *m) {
    return (VmHooks){.ctx = m, .after = after};
}
