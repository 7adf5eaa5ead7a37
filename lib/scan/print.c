/* Prints a scan as the call that makes it: scan(step, sequences=[taps(x, [-1, 0])],
 * outputs_info=[h0, None], non_sequences=[W], n_steps=n). */
#include "lang/print/print_impl.h"
#include "scan/scan.h"

#include <string.h>

typedef struct ScanPrint {
    Printer *p;
    const Var *in;
    const ScanForm *f;
    Str *out;
} ScanPrint;

/* A literal is printed bare if it takes its dtype from the body's input. */
static void put_scan_arg(const ScanPrint *l, Var v, size_t input) {
    const Graph *fn = l->f->fn;
    const Type *t =
        fn && input < fn->inputs.n ? var_type(fn, fn->inputs.p[input]) : NULL;
    bool bare = const_is_scalar(l->p->g, v) && t && t->kind == TYPE_TENSOR &&
                t->dtype == var_type(l->p->g, v)->dtype;
    print_operand(l->p, v, bare, BIND_ANY, l->out);
}

static void put_taps(const ScanPrint *l, size_t arg, size_t input, size_t n,
                     const int64_t *tap, int64_t usual) {
    bool plain = n == 1 && tap[0] == usual;
    if (!plain) str_puts(l->out, "taps(");
    put_scan_arg(l, l->in[arg], input);
    if (plain) return;
    for (size_t i = 0; i < n; i++)
        str_printf(l->out, "%s%lld", i ? ", " : ", [", (long long)tap[i]);
    str_puts(l->out, "])");
}

static void put_sequences(const ScanPrint *l) {
    if (l->f->nseq == 0) return;
    str_puts(l->out, ", sequences=[");
    for (size_t i = 0; i < l->f->nseq; i++) {
        const ScanSeq *q = &l->f->seq[i];
        if (i) str_puts(l->out, ", ");
        put_taps(l, q->arg, q->in, q->ntap, q->tap, 0);
    }
    str_putc(l->out, ']');
}

static void put_initials(const ScanPrint *l) {
    bool any = false;
    for (size_t i = 0; i < l->f->nout; i++)
        any |= l->f->out[i].ntap > 0;
    if (!any) return;
    str_puts(l->out, ", outputs_info=[");
    for (size_t i = 0; i < l->f->nout; i++) {
        const ScanOut *o = &l->f->out[i];
        if (i) str_puts(l->out, ", ");
        if (o->ntap)
            put_taps(l, o->arg, o->in, o->ntap, o->tap, -1);
        else
            str_puts(l->out, "None");
    }
    str_putc(l->out, ']');
}

static void put_others(const ScanPrint *l) {
    if (l->f->nother == 0) return;
    str_puts(l->out, ", non_sequences=[");
    for (size_t i = 0; i < l->f->nother; i++) {
        if (i) str_puts(l->out, ", ");
        put_scan_arg(l, l->in[l->f->other_arg + i], l->f->other_in + i);
    }
    str_putc(l->out, ']');
}

/* By default, a state that isn't a tensor keeps its last value only. */
static bool keeps_all(const ScanPrint *l, const ScanOut *o) {
    return o->keep == SCAN_ALL &&
           !(o->ntap && var_type(l->p->g, l->in[o->arg])->kind != TYPE_TENSOR);
}

static void put_keep(const ScanPrint *l) {
    bool any = false;
    for (size_t i = 0; i < l->f->nout; i++)
        any |= !keeps_all(l, &l->f->out[i]);
    if (!any) return;
    str_puts(l->out, ", keep=[");
    for (size_t i = 0; i < l->f->nout; i++) {
        int64_t keep = l->f->out[i].keep;
        if (i) str_puts(l->out, ", ");
        if (keep > 0)
            str_printf(l->out, "%lld", (long long)keep);
        else
            str_puts(l->out, keep == SCAN_ALL ? "'all'" : "'last'");
    }
    str_putc(l->out, ']');
}

static void put_scan(const ScanPrint *l, Sym fn) {
    str_printf(l->out, "scan(%s", sym_text(l->p->s, fn));
    put_sequences(l);
    put_initials(l);
    put_others(l);
    str_puts(l->out, ", n_steps=");
    print_operand(l->p, l->in[0], var_is_const(l->p->g, l->in[0]), BIND_ANY, l->out);
    if (l->f->truncate != -1)
        str_printf(l->out, ", truncate_gradient=%lld", (long long)l->f->truncate);
    put_keep(l);
    if (l->f->checkpoint) str_puts(l->out, ", checkpoint=True");
    if (l->f->rows) str_puts(l->out, ", rows=True");
    str_putc(l->out, ')');
}

bool scan_print(Printer *p, ApplyId a, Str *out) {
    const Apply *ap = &p->g->apply[a];
    Arena *tmp = arena_new(p->s);
    ScanForm f;
    bool ok = !scan_form(p->g, ap->op, ap->props, ap->nin, tmp, &f);
    ScanPrint l = {p, apply_in(p->g, a), &f, out};
    if (ok) put_scan(&l, op_prop(p->s, ap->op, ap->props, "fn")->sym);
    arena_free(tmp);
    return ok;
}
