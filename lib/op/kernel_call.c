/* What a kernel may ask for while it runs: storage from its host, views, and errors
 * that describe its inputs. */
#include "op/services.h"
#include "value/class.h"

enum { SHOWN_INPUTS = 8, SHOWN_ELEMENTS = 8 };

Tensor *call_out(Call *c, size_t i, int ndim, const int64_t *shape) {
    const Type *t = c->out_type[i];
    DType d = t->kind == TYPE_RANDOM ? DT_UINT64 : t->dtype; /* a state's words */
    if (!c->host->alloc(c, i, d, ndim, shape)) return NULL;
    c->out[i].kind = t->kind;
    return &c->out[i].t;
}

/* Copies field by field, for speed: a Tensor has room for 32 dims, and views are
 * frequent. */
Tensor *call_view(Call *c, size_t i, const Tensor *base) {
    Value *v = &c->out[i];
    Buffer *buf = buffer_ref(base->buf); /* first: base may be the old value itself */
    if (v->t.buf || v->obj) {
        Value old = *v;
        v->obj = NULL;
        v->t = *base;
        value_unref(&old);
    } else {
        v->t.dtype = base->dtype;
        v->t.ndim = base->ndim;
        v->t.data = base->data;
        for (int d = 0; d < base->ndim; d++) {
            v->t.shape[d] = base->shape[d];
            v->t.stride[d] = base->stride[d];
        }
    }
    v->t.buf = buf;
    v->kind = c->out_type[i]->kind;
    return &v->t;
}

Tensor *call_over(Call *c, size_t i, size_t k) {
    return call_view(c, i, call_in(c, k));
}

bool call_pass_on(Call *c) {
    if (c->in[0]->kind == TYPE_TENSOR) return call_view(c, 0, call_in(c, 0)) != NULL;
    value_unref(&c->out[0]);
    value_copy_view(&c->out[0], c->in[0]);
    return true;
}

void *call_scratch(Call *c, size_t bytes) {
    return c->host->scratch(c, bytes);
}

void *call_keep(Call *c, size_t i, size_t bytes, bool *filled) {
    *filled = false;
    return c->host->keep && var_const(c->g, apply_in(c->g, c->id)[i])
               ? c->host->keep(c, bytes, filled)
               : NULL;
}

void *call_own(Call *c, size_t bytes) {
    bool filled;
    return c->host->keep ? c->host->keep(c, bytes, &filled) : NULL;
}

/* ---- errors ---- */

static void note_tensor(Call *c, size_t i, const Tensor *t) {
    Str b = STR(c->s);
    str_printf(&b, "input %zu: %s", i, dtype_name(t->dtype));
    shape_text(c->s, t->ndim, t->shape, &b);
    str_puts(&b, ", strides ");
    shape_text(c->s, t->ndim, t->stride, &b);
    if (c->overwritten && t->data == c->out[0].t.data) {
        str_puts(&b, ": overwritten in part");
    } else if (tensor_size(t) <= SHOWN_ELEMENTS) {
        str_puts(&b, ": ");
        tensor_text(c->s, t, -1, &b);
    }
    note(c->s, NOWHERE, "%s", str_text(&b));
    str_free(&b);
}

static void note_object(Call *c, size_t i, const Value *v) {
    Str b = STR(c->s);
    value_show(c->s, v, &b);
    note(c->s, NOWHERE, "input %zu: %s", i, str_text(&b));
    str_free(&b);
}

static void note_kernel_call(Call *c) {
    Str b = STR(c->s);
    bool known = c->g && c->id != APPLY_NONE;
    const Graph *from = NULL;
    ApplyId call =
        known && c->host && c->host->caller ? c->host->caller(c, &from) : APPLY_NONE;
    Var out = known ? c->g->apply[c->id].out : VAR_NONE;
    Sym name = !known ? 0
               : from ? var_name_in_call(c->g, out, from, call)
                      : var_name(c->g, out);
    if (name) str_printf(&b, "%s = ", sym_text(c->s, name));
    if (known)
        language.print_apply(c->g, c->id, from, call, &b);
    else
        language.print_op(c->s, c->op, c->props, &b);
    note(c->s, NOWHERE, "in %s", str_text(&b));
    str_free(&b);
    for (size_t i = 0; i < c->nin && i < SHOWN_INPUTS; i++)
        if (c->in[i]->kind == TYPE_TENSOR && c->in[i]->t.data)
            note_tensor(c, i, &c->in[i]->t);
        else if (c->in[i]->kind != TYPE_NONE && value_has_data(c->in[i]))
            note_object(c, i, c->in[i]);
}

bool call_ndim(Call *c, int64_t n) {
    return n <= MAX_NDIM || call_fail(c, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
}

bool call_fail(Call *c, DiagCode code, const char *fmt, ...) {
    Str b = STR(c->s);
    va_list ap;
    if (session_is_hushed(c->s)) return false;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    fail(c->s, c->at, code, "%s: %s", c->op->name, str_text(&b));
    str_free(&b);
    note_kernel_call(c);
    return false;
}
