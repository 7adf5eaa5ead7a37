/* Non-tensor values in a tlg: the parts of a value (value/class.h) as one CBOR item of
 * the same form for every kind. Reading goes through the class's own checks. */
#include "io/tlg/tlg.h"
#include "value/class.h"

#include <string.h>

/* ---- writing ---- */

static bool write_array(Session *s, const Tensor *t, Str *b) {
    Tensor c = {0};
    if (!tensor_clone(s, t, &c)) return false;
    cbor_put_head(b, CB_ARRAY, 3);
    cbor_put_text(b, dtype_name(t->dtype));
    cbor_put_head(b, CB_ARRAY, (size_t)t->ndim);
    for (int i = 0; i < t->ndim; i++)
        cbor_put_int(b, t->shape[i]);
    size_t width = dtype_size(dtype_real(c.dtype)), bytes = tensor_bytes(&c);
    cbor_little_endian(c.data, bytes / width, width);
    cbor_put_head(b, CB_BYTES, bytes);
    str_add(b, c.data, bytes);
    tensor_unref(&c);
    return true;
}

bool tlg_value_write(Session *s, const Value *v, Str *b) {
    ValueParts p = {0};
    const TypeClass *cls = value_class(v);
    if (!cls->parts || !cls->build)
        return fail(s, NOWHERE, E_TYPE, "%s can't be saved", cls->a_value);
    if (value_has_data(v)) cls->parts(v, &p);
    cbor_put_head(b, CB_ARRAY, 4);
    cbor_put_head(b, CB_ARRAY, p.nnumber);
    for (size_t i = 0; i < p.nnumber; i++)
        cbor_put_int(b, p.number[i]);
    cbor_put_head(b, CB_ARRAY, p.ntensor);
    for (size_t i = 0; i < p.ntensor; i++)
        if (!write_array(s, p.tensor[i], b)) return false;
    cbor_put_head(b, CB_ARRAY, p.nitem);
    for (size_t i = 0; i < p.nitem; i++)
        if (!tlg_value_write(s, &p.item[i], b)) return false;
    cbor_put_head(b, CB_BYTES, p.nbyte);
    if (p.nbyte) str_add(b, p.byte, p.nbyte);
    return true;
}

/* ---- reading ---- */

bool tlg_read_shape(TlgReader *t, int *ndim, int64_t *shape) {
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    if (n > MAX_NDIM) return cbor_fail(&t->c, "a shape of %zu dims", n);
    *ndim = (int)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t d;
        if (!cbor_uint(&t->c, INT64_MAX, &d)) return false;
        shape[i] = (int64_t)d;
    }
    return true;
}

/* Do n bytes hold exactly an array of that shape? */
static bool right_size(DType d, int ndim, const int64_t *shape, size_t n) {
    int64_t bytes = (int64_t)dtype_size(d);
    bool fits = true;
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0) return n == 0;
    for (int i = 0; i < ndim; i++)
        fits = fits && i64_mul(bytes, shape[i], &bytes);
    return fits && (uint64_t)bytes == n;
}

static bool read_value_array(TlgReader *t, Tensor *out) {
    const char *name;
    const unsigned char *p;
    size_t n, len;
    int ndim = 0;
    int64_t shape[MAX_NDIM];
    if (!cbor_array(&t->c, &n)) return false;
    if (n != 3) return cbor_fail(&t->c, "an array of a value has %zu parts", n);
    if (!cbor_text(&t->c, &name, &len)) return false;
    DType d = dtype_find(name, len);
    if (d == DT_NONE) return cbor_fail(&t->c, "an array of a value has no dtype");
    if (!tlg_read_shape(t, &ndim, shape) || !cbor_bytes(&t->c, &p, &n)) return false;
    if (!right_size(d, ndim, shape, n))
        return cbor_fail(&t->c, "an array of a value has %zu bytes", n);
    for (size_t i = 0; d == DT_BOOL && i < n; i++)
        if (p[i] > 1) return cbor_fail(&t->c, "a bool that is %u", p[i]);
    if (!tensor_new(t->s, d, ndim, shape, out)) return false;
    if (n) memcpy(out->data, p, n);
    size_t width = dtype_size(dtype_real(d));
    cbor_little_endian(out->data, n / width, width);
    return true;
}

typedef struct ValueReading {
    ValueParts p;
    Tensor tensor[3];
    Value *item;
} ValueReading;

static bool read_value_numbers(TlgReader *t, ValueParts *p) {
    if (!cbor_array(&t->c, &p->nnumber)) return false;
    if (p->nnumber > sizeof p->number / sizeof *p->number)
        return cbor_fail(&t->c, "a value has %zu numbers", p->nnumber);
    for (size_t i = 0; i < p->nnumber; i++)
        if (!cbor_int(&t->c, &p->number[i])) return false;
    return true;
}

static bool read_arrays(TlgReader *t, ValueReading *r) {
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    if (n > 3) return cbor_fail(&t->c, "a value has %zu arrays", n);
    for (; r->p.ntensor < n; r->p.ntensor++) {
        r->p.tensor[r->p.ntensor] = &r->tensor[r->p.ntensor];
        if (!read_value_array(t, &r->tensor[r->p.ntensor])) return false;
    }
    return true;
}

/* Lists nest as deep as their type, whose depth is limited. */
static bool read_items(TlgReader *t, const Type *type, ValueReading *r) {
    size_t n, bytes;
    if (!cbor_array(&t->c, &n)) return false;
    if (n && type->kind != TYPE_LIST)
        return cbor_fail(&t->c, "a value of type %s has items", type_str(t->s, type));
    if (!size_mul(n, sizeof(Value), &bytes) || bytes > session_max_memory(t->s))
        return fail(t->s, NOWHERE, E_LIMIT, "%s: a list of %zu items is too long",
                    t->c.name, n);
    r->item = mem_zalloc(t->s, n, sizeof(Value));
    r->p.item = r->item;
    for (; r->p.nitem < n; r->p.nitem++)
        if (!tlg_value_read(t, type->elem, &r->item[r->p.nitem])) return false;
    return true;
}

static bool read_parts(TlgReader *t, const Type *type, ValueReading *r) {
    size_t n;
    const unsigned char *byte;
    if (!cbor_array(&t->c, &n)) return false;
    if (n != 4) return cbor_fail(&t->c, "a value has %zu parts", n);
    if (!read_value_numbers(t, &r->p) || !read_arrays(t, r) ||
        !read_items(t, type, r) || !cbor_bytes(&t->c, &byte, &r->p.nbyte))
        return false;
    r->p.byte = byte;
    return true;
}

bool tlg_value_read(TlgReader *t, const Type *type, Value *out) {
    ValueReading r = {0};
    const TypeClass *cls = type_class(type);
    *out = (Value){.kind = TYPE_NONE};
    if (!cls->build)
        return cbor_fail(&t->c, "a constant of type %s with a value",
                         type_str(t->s, type));
    bool whole = read_parts(t, type, &r);
    bool ok = whole && cls->build(t->s, type, &r.p, out);
    for (size_t i = 0; i < r.p.ntensor; i++)
        tensor_unref(&r.tensor[i]);
    for (size_t i = 0; i < r.p.nitem; i++)
        value_unref(&r.item[i]);
    mem_free(r.item);
    return ok || (whole && note(t->s, NOWHERE, "in a constant of %s", t->c.name));
}
