/* The catalogue as text: --list-ops, --op, --list-types. */
#include "op/macro.h"
#include "op/print.h"
#include "pipeline/pipeline.h"

#include <string.h>

static void signature(const Op *op, Str *out) {
    str_printf(out, "%s(%s", op->name, op->in ? op->in : "");
    if (op->props && *op->props)
        str_printf(out, "%s%s", op->in && *op->in ? ", " : "", op->props);
    str_putc(out, ')');
    if (op->out) str_printf(out, " -> %s", op->out);
}

/* The first sentence. */
static void brief(const char *doc, Str *out) {
    const char *stop = doc ? strstr(doc, ". ") : NULL;
    if (doc) str_add(out, doc, stop ? (size_t)(stop + 1 - doc) : strlen(doc));
}

static void put_padded(Str *out, const char *p, size_t width) {
    str_puts(out, p);
    for (size_t n = strlen(p); n < width; n++)
        str_putc(out, ' ');
    str_putc(out, ' ');
}

bool list_ops(Session *s, const char *glob, Str *out) {
    size_t found = 0;
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        if (!str_glob(glob, op->name)) continue;
        found++;
        put_padded(out, op->name, 18);
        brief(op->doc, out);
        str_putc(out, '\n');
    }
    for (const MacroList *const *l = catalogue_macros; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++) {
            if (!str_glob(glob, (*l)->macro[i].name)) continue;
            found++;
            put_padded(out, (*l)->macro[i].name, 18);
            brief((*l)->macro[i].doc, out);
            str_puts(out, " (macro)\n");
        }
    return found || fail(s, NOWHERE, E_UNKNOWN, "no op is called %s", glob);
}

static void field(Str *out, const char *name, const char *text) {
    if (text && *text) str_printf(out, "%-13s %s\n", name, text);
}

static void texts(Session *s, const Op *op, const char *const *list, const char *what,
                  Str *out) {
    const Signature *sig = op_signature(s, op);
    for (size_t i = 0; i < sig->nin; i++)
        str_printf(out, "%-13s d/d%s: %s\n", i ? "" : what,
                   sym_text(s, sig->in[i].name), list[i] ? list[i] : "none");
}

static void show_gradient(Session *s, const Op *op, Str *out) {
    if (op->partial)
        texts(s, op, op->partial, "gradient", out);
    else if (op->adjoint)
        texts(s, op, op->adjoint, "adjoint", out);
    else if (op->pull)
        field(out, "gradient", "in C");
    else if (op->def)
        field(out, "gradient", "of its definition");
    else
        field(out, "gradient", "none");
    field(out, "disconnected", op->disconnected);
}

static void show_dtypes(const Op *op, Str *out) {
    static const char *const rules[] = {[PROMOTE_NONE] = "taken as they are",
                                        [PROMOTE_SAME] = "promoted to a common dtype",
                                        [PROMOTE_INEXACT] =
                                            "promoted, integers to floatX",
                                        [PROMOTE_TAIL] = "all but the first promoted"};
    static const char *const results[] = {[OUT_SAME] = "the same",
                                          [OUT_BOOL] = "bool",
                                          [OUT_REAL] = "real",
                                          [OUT_INT64] = "int64",
                                          [OUT_PROP] = "dtype"};
    str_printf(out, "%-13s %s", "dtypes", rules[op->promote]);
    if (op->elemwise) str_printf(out, "; the result is %s", results[op->out_dtype]);
    if (op->kinds && op->kinds != KIND_ANY) {
        str_puts(out, "; accepts");
        if (op->kinds & KIND_BOOL) str_puts(out, " bool");
        if (op->kinds & KIND_INT) str_puts(out, " int");
        if (op->kinds & KIND_FLOAT) str_puts(out, " float");
        if (op->kinds & KIND_COMPLEX) str_puts(out, " complex");
    }
    str_putc(out, '\n');
}

static void show(Session *s, const Op *op, Str *out) {
    signature(op, out);
    str_printf(out, "\n    %s\n\n", op->doc ? op->doc : "");
    field(out, "alias", op->alias);
    field(out, "operator", op->infix);
    field(out, "definition", op->def);
    show_dtypes(op, out);
    field(out, "shape", op->elemwise ? "broadcast of the inputs" : op->shape);
    field(out, "flops", op->flops ? op->flops : op->elemwise ? "1 an element" : "0");
    if (op->math) str_printf(out, "%-13s %d an element\n", "math calls", op->math);
    show_gradient(s, op, out);
    if (op->view)
        field(out, "views", sym_text(s, op_signature(s, op)->in[op->view - 1].name));
    field(out, "effect", op->effect ? "kept even when nothing reads it" : NULL);
    field(out, "folding",
          op->fold == FOLD_NEVER ? "never" : "when all inputs are constant");
    field(out, "example", op->example);
}

static bool show_macro(const char *name, Str *out) {
    const Macro *m = macro_find(name, strlen(name));
    if (!m) return false;
    str_printf(out, "%s(%s)\n    %s\n\n", m->name, m->signature, m->doc);
    field(out, "kind", "macro: expands while a graph is built");
    field(out, "example", m->example);
    return true;
}

bool show_op(Session *s, const char *name, Str *out) {
    const Op *op = op_find(s, name, strlen(name));
    if (op) return show(s, op, out), true;
    if (show_macro(name, out)) return true;
    Vec(const char *) names = {0};
    for (size_t i = 0; i < op_count(s); i++)
        vec_push(s, &names, op_get(s, i)->name);
    const char *near = str_nearest(s, name, names.p, names.n);
    fail(s, NOWHERE, E_UNKNOWN, "there is no op %s", name);
    if (near) note(s, NOWHERE, "did you mean %s?", near);
    vec_free(&names);
    return false;
}

void list_types(Str *out) {
    static const struct {
        const char *form, *doc;
    } kinds[] = {
        {"DTYPE[d, ...]", "Tensor: d is a number, a name or ?; DTYPE alone is 0-d."},
        {"sparse('csr', DTYPE[m, n])", "Sparse matrix, csr or csc."},
        {"random", "State of a counter-based Philox stream."},
        {"list(T)", "List of values of type T."},
        {"slice", "A slice of integers or None."},
        {"none", "The constant None."},
        {"null('why')", "An undefined derivative; holds no value."},
        {"disconnected", "No dependence; holds no value."}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        put_padded(out, kinds[i].form, 28);
        str_printf(out, "%s\n", kinds[i].doc);
    }
    str_puts(out, "\nDTYPE is one of");
    for (int d = 0; d < DT_N; d++)
        str_printf(out, " %s", dtype_name((DType)d));
    str_puts(out, ", or floatX\n");
}
