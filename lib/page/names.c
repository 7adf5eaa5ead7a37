/* What ops and their Applies are called in tables and pictures. */
#include "op/op.h"
#include "page/page.h"

#include <string.h>

enum { FUSED_NAMES = 6 };

Sym op_family(Session *s, const Op *op) {
    const char *p = op->file ? strstr(op->file, "ops/") : NULL, *end;
    if (!p || !(end = strchr(p + 4, '/'))) return sym(s, "other");
    return sym_n(s, p + 4, (size_t)(end - p - 4));
}

const Graph *apply_fused_function(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    for (uint32_t i = 0; ap->props && i < ap->props->n; i++) {
        if (ap->props->p[i].kind != P_GRAPH) continue;
        const Graph *fn = graph_function(g, ap->props->p[i].sym);
        if (fn && fn->fused) return fn;
    }
    return NULL;
}

static void put_fused_name(const Graph *fn, Str *out) {
    str_puts(out, "fused(");
    for (ApplyId i = 0; i < fn->napply && i < FUSED_NAMES; i++)
        str_printf(out, "%s%s", i ? ", " : "", fn->apply[i].op->name);
    if (fn->napply > FUSED_NAMES)
        str_printf(out, ", %u more", fn->napply - FUSED_NAMES);
    str_putc(out, ')');
}

Sym apply_label(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    const Graph *fn = apply_fused_function(g, id);
    if (!fn && !op_rare(ap->op)->str) return sym(g->s, ap->op->name);
    Str b = STR(g->s);
    if (fn)
        put_fused_name(fn, &b);
    else
        op_rare(ap->op)->str(g->s, ap->op, ap->props, &b);
    Sym y = sym_n(g->s, str_text(&b), b.n);
    str_free(&b);
    return y;
}
