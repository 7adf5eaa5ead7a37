/* Constants as text that reads back to the same dtype and bits: a bare literal if the
 * context determines the dtype, else float32(2.0), array([...], dtype='float32'), or a
 * reference to a file. */
#include "lang/print/print_impl.h"
#include "value/sparse.h"

#include <math.h>
#include <string.h>

bool const_is_scalar(const Graph *g, Var v) {
    const Tensor *t = var_const(g, v);
    return t && t->ndim == 0;
}

static const char *constant_ref_text(Printer *p, Var v) {
    const FileRef *from = leaf_ref(p->g, v);
    const Value *c = var_leafrec(p->g, v)->value;
    bool sparse = c->kind == TYPE_SPARSE && c->obj;
    if ((c->kind != TYPE_TENSOR && !sparse) || !value_has_data(c)) return NULL;
    int64_t size = sparse ? sparse_stored(c->obj) : tensor_size(&c->t);
    if (!from && size <= INLINE_MAX) return NULL;
    if (p->ref) return p->ref(p->ref_ctx, p->g, v);
    if (!from) return NULL;
    Str text = STR(p->g->s);
    str_puts(&text, "load(");
    str_quote(&text, from->file);
    if (from->key) str_puts(&text, ", ");
    if (from->key) str_quote(&text, from->key);
    str_putc(&text, ')');
    const char *kept = arena_str(p->arena, str_text(&text), text.n);
    str_free(&text);
    return kept;
}

bool const_stands_inline(Printer *p, Var v) {
    return var_const(p->g, v) && !constant_ref_text(p, v);
}

/* ---- elements ---- */

/* A part of a complex number. A complex literal is rounded from float64, so the
 * shortest text of a float32 may not suffice. */
static void write_complex_part(DType d, double v, Str *out) {
    char buf[NUM_MAX];
    double back;
    size_t n = num_write_float(buf, v, d == DT_COMPLEX64 ? FLOAT32 : FLOAT64);
    if (num_read_float(buf, n, FLOAT64, &back) == 0 || (double)(float)back != v) {
        if (d == DT_COMPLEX64) n = num_write_float(buf, v, FLOAT64);
    }
    str_add(out, buf, n);
}

static bool is_plain_part(double v) {
    return isfinite(v) && !(v == 0 && signbit(v));
}

static void write_complex_literal(DType d, const void *p, Str *out) {
    double re, im;
    if (d == DT_COMPLEX64) {
        float part[2];
        memcpy(part, p, sizeof part);
        re = (double)part[0];
        im = (double)part[1];
    } else {
        memcpy(&re, p, sizeof re);
        memcpy(&im, (const char *)p + sizeof re, sizeof im);
    }
    bool plain = is_plain_part(re) && is_plain_part(im);
    str_puts(out, plain ? "(" : "complex(");
    write_complex_part(d, re, out);
    str_puts(out, !plain ? ", " : im < 0 ? "-" : "+");
    write_complex_part(d, plain ? fabs(im) : im, out);
    str_puts(out, plain ? "j)" : ")");
}

static void write_one_element(const Tensor *t, const void *p, Str *out) {
    if (dtype_is_complex(t->dtype))
        write_complex_literal(t->dtype, p, out);
    else
        tensor_element_text(out->s, t->dtype, p, out);
}

/* Nested lists; MAX_NDIM bounds the depth. */
static void write_nested_elements(const Tensor *t, int axis, const char *p, Str *out) {
    if (axis == t->ndim) {
        write_one_element(t, p, out);
        return;
    }
    str_putc(out, '[');
    for (int64_t i = 0; i < t->shape[axis]; i++) {
        if (i) str_puts(out, ", ");
        write_nested_elements(t, axis + 1, p + i * t->stride[axis], out);
    }
    str_putc(out, ']');
}

/* ---- constants ---- */

static void write_bracketed(const Str *text, bool needed, Str *out) {
    if (needed) str_putc(out, '(');
    str_add(out, str_text(text), text->n);
    if (needed) str_putc(out, ')');
}

static void write_scalar_constant(const Tensor *t, bool bare, Prec need, Str *out) {
    Str b = STR(out->s);
    write_one_element(t, t->data, &b);
    if (bare) {
        write_bracketed(&b, need > BIND_UNARY && str_text(&b)[0] == '-', out);
    } else {
        str_puts(out, dtype_name(t->dtype));
        write_bracketed(&b, dtype_is_complex(t->dtype) ? str_text(&b)[0] != '(' : true,
                        out);
    }
    str_free(&b);
}

static void write_array_constant(const Tensor *t, Str *out) {
    bool empty = tensor_size(t) == 0;
    str_puts(out, "array(");
    if (empty)
        str_puts(out, "[]");
    else
        write_nested_elements(t, 0, t->data, out);
    if (empty || (t->dtype != DT_INT64 && t->dtype != DT_BOOL))
        str_printf(out, ", dtype='%s'", dtype_name(t->dtype));
    if (empty && t->ndim != 1) {
        str_puts(out, ", shape=");
        shape_text(out->s, t->ndim, t->shape, out);
    }
    str_putc(out, ')');
}

static void write_tensor_constant(void *ctx, const Tensor *t, Str *out) {
    (void)ctx;
    if (t->ndim == 0)
        write_scalar_constant(t, t->dtype == DT_INT64 || t->dtype == DT_BOOL, BIND_ANY,
                              out);
    else
        write_array_constant(t, out);
}

bool print_value(Session *s, const Type *t, const Value *v, size_t most, Str *out) {
    enum { BYTES = 16 }; /* of an element, whose text has at least one character */
    const ValueWriter w = {s, true, write_tensor_constant, NULL};
    if (!value_has_data(v) || (v->kind != TYPE_PLUGIN && value_bytes(v) / BYTES > most))
        return false;
    Str text = STR(s);
    value_write(&w, t, v, &text);
    bool fits = text.n <= most;
    if (fits) str_visible(out, str_text(&text), text.n);
    str_free(&text);
    return fits;
}

/* Constants other than tensors. */
static void write_object_constant(Printer *p, Var v, Str *out) {
    const Type *t = var_type(p->g, v);
    const Value *value = var_leafrec(p->g, v)->value;
    const ValueWriter w = {p->s, true, write_tensor_constant, NULL};
    if (t->kind == TYPE_NULL) {
        str_puts(out, "undefined(");
        str_quote(out, t->why ? t->why : "");
        str_putc(out, ')');
    } else if (value_has_data(value)) {
        value_write(&w, t, value, out);
    } else {
        str_puts(out, t->kind == TYPE_NONE ? "None" : type_str(p->s, t));
    }
}

void print_const(Printer *p, Var v, bool bare, Prec need, Str *out) {
    const Tensor *t = var_const(p->g, v);
    const char *ref = constant_ref_text(p, v);
    if (ref)
        str_puts(out, ref);
    else if (!t)
        write_object_constant(p, v, out);
    else if (t->ndim == 0)
        write_scalar_constant(t, bare, need, out);
    else if (bare && tensor_size(t) > 0)
        write_nested_elements(t, 0, t->data, out);
    else if (bare && t->ndim == 1)
        str_puts(out, "[]");
    else
        write_array_constant(t, out);
}

/* ---- props ---- */

static void write_int_list(const Prop *v, const char *open, const char *close,
                           Str *out) {
    char buf[NUM_MAX];
    str_puts(out, open);
    for (size_t i = 0; i < v->ints.n; i++) {
        if (i) str_puts(out, ", ");
        str_add(out, buf, num_write_int(buf, v->ints.p[i]));
    }
    str_puts(out, close);
}

void print_prop(Session *s, const PropDef *def, const Prop *v, Str *out) {
    char buf[NUM_MAX];
    switch (v->kind) {
    case P_NONE:
        str_puts(out, "None");
        break;
    case P_BOOL:
        str_puts(out, v->i ? "True" : "False");
        break;
    case P_INT:
        str_add(out, buf, num_write_int(buf, v->i));
        break;
    case P_FLOAT:
        str_add(out, buf, num_write_float(buf, v->f, FLOAT64));
        break;
    case P_STR:
    case P_GRAPH:
        str_quote(out, sym_text(s, v->sym));
        break;
    case P_DTYPE:
        str_printf(out, "'%s'", dtype_name((DType)v->i));
        break;
    case P_INTS:
        if (def->type == T_AXES && v->ints.n == 1)
            write_int_list(v, "", "", out);
        else
            write_int_list(v, "[", "]", out);
        break;
    }
}

bool prop_is_default(const PropDef *d, const Prop *v) {
    const Prop *w = &d->value;
    if (d->required || v->kind != w->kind) return false;
    switch (v->kind) {
    case P_NONE:
        return true;
    case P_FLOAT:
        return memcmp(&v->f, &w->f, sizeof v->f) == 0;
    case P_STR:
    case P_GRAPH:
        return v->sym == w->sym;
    case P_INTS:
        return v->ints.n == w->ints.n &&
               (v->ints.n == 0 ||
                memcmp(v->ints.p, w->ints.p, v->ints.n * sizeof *v->ints.p) == 0);
    case P_BOOL:
    case P_INT:
    case P_DTYPE:
        break;
    }
    return v->i == w->i;
}

void print_props(Session *s, const Op *op, const Props *props, bool all, Str *out) {
    const Signature *sig = op_signature(s, op);
    bool first = true;
    for (size_t i = 0; props && i < sig->nprop && i < props->n; i++) {
        if (!all && prop_is_default(&sig->prop[i], &props->p[i])) continue;
        str_printf(out, "%s%s=", first ? "" : ", ", sym_text(s, sig->prop[i].name));
        print_prop(s, &sig->prop[i], &props->p[i], out);
        first = false;
    }
}

void print_op(Session *s, const Op *op, const Props *props, Str *out) {
    Str b = STR(s);
    if (op_rare(op)->str) {
        op_rare(op)->str(s, op, props, out);
        return;
    }
    print_props(s, op, props, false, &b);
    str_puts(out, op->name);
    if (b.n) str_printf(out, "(%s)", str_text(&b));
    str_free(&b);
}
