/* The value of one leaf in a tlg: an array, whose elements start at a multiple of 64
 * bytes so that a mapped file can be used in place, or a value of another kind. */
#include "io/tlg/tlg.h"
#include "value/class.h"

#include <string.h>

typedef struct ConstFields {
    uint64_t leaf;
    Sym ref, key; /* the file that it came from */
    Cbor value;   /* reading: positioned at a value that is no array; NULL: none */
    const Value *other; /* writing: the same */
    int ndim;
    int64_t shape[MAX_NDIM];
    uint64_t tag; /* 0: none */
    const unsigned char *data;
    size_t ndata;
} ConstFields;

static bool write_const_value(TlgWriter *w, const void *from) {
    const ConstFields *f = from;
    if (f->other) w->failed = !tlg_value_write(w->s, f->other, &w->b) || w->failed;
    return f->other != NULL;
}
static bool skip_value(TlgReader *t, void *into) {
    ((ConstFields *)into)->value = t->c;
    return cbor_skip(&t->c);
}

static bool write_shape(TlgWriter *w, const void *from) {
    const ConstFields *f = from;
    if (f->other) return false;
    cbor_put_head(&w->b, CB_ARRAY, (size_t)f->ndim);
    for (int i = 0; i < f->ndim; i++)
        cbor_put_int(&w->b, f->shape[i]);
    return true;
}
static bool read_shape(TlgReader *t, void *into) {
    ConstFields *f = into;
    return tlg_read_shape(t, &f->ndim, f->shape);
}

/* The head of a byte string. */
static size_t head_size(uint64_t n) {
    return n < 24 ? 1 : n <= 0xFF ? 2 : n <= 0xFFFF ? 3 : n <= UINT32_MAX ? 5 : 9;
}

static bool write_pad(TlgWriter *w, const void *from) {
    static const char zeros[64];
    const ConstFields *f = from;
    if (f->other) return false;
    size_t until_data = 2 + 5 + (f->tag ? 2U : 0) + head_size(f->ndata);
    size_t pad = (size_t)(-(w->sink->offset + w->b.n + until_data) & 63);
    str_putc(&w->b, (char)0x58);
    str_putc(&w->b, (char)pad);
    str_add(&w->b, zeros, pad);
    return true;
}

/* The bytes themselves follow when the section is complete. */
static bool write_data_head(TlgWriter *w, const void *from) {
    const ConstFields *f = from;
    if (f->other) return false;
    if (f->tag) cbor_put_head(&w->b, CB_TAG, f->tag);
    cbor_put_head(&w->b, CB_BYTES, f->ndata);
    return true;
}
static bool read_data(TlgReader *t, void *into) {
    ConstFields *f = into;
    unsigned major;
    if (cbor_major(&t->c) == CB_TAG && !cbor_head(&t->c, &major, &f->tag)) return false;
    return cbor_bytes(&t->c, &f->data, &f->ndata);
}

static const TlgField const_fields[] = {
    {"leaf", tlg_read_uint, tlg_write_uint, offsetof(ConstFields, leaf)},
    {"ref", tlg_read_sym, tlg_write_sym, offsetof(ConstFields, ref)},
    {"key", tlg_read_sym, tlg_write_sym, offsetof(ConstFields, key)},
    {"value", skip_value, write_const_value, 0},
    {"shape", read_shape, write_shape, 0},
    {"pad", NULL, write_pad, 0},
    {"data", read_data, write_data_head, 0}};
enum { HAS_LEAF = 1 << 0, HAS_ARRAY = 1 << 4 | 1 << 6 }; /* shape and data */

/* ---- writing ---- */

bool tlg_file_order(Session *s, const Tensor *t, Tensor *out) {
    bool swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    if (!swap && tensor_is_contiguous(t)) {
        tensor_copy_view(out, t);
        return true;
    }
    if (!tensor_clone(s, t, out)) return false;
    size_t width = dtype_size(dtype_real(out->dtype));
    cbor_little_endian(out->data, tensor_bytes(out) / width, width);
    return true;
}

static bool write_const_array(TlgWriter *w, ConstFields *f, const Tensor *t) {
    Tensor c = {0};
    if (!tlg_file_order(w->s, t, &c)) return false;
    f->ndim = t->ndim;
    memcpy(f->shape, t->shape, sizeof f->shape);
    f->tag = cbor_dtype_tag(t->dtype);
    f->ndata = tensor_bytes(t);
    tlg_write_section(w, "constant", TLG_FIELDS(const_fields), f);
    tlg_flush(w);
    sink_add(w->sink, c.data, f->ndata);
    tensor_unref(&c);
    return true;
}

bool tlg_write_constant(TlgWriter *w, uint32_t leaf) {
    const Leaf *l = var_leafrec(w->n->g, w->n->leaf[leaf]);
    ConstFields f = {.leaf = leaf};
    if (l->ref && !w->options->pack) {
        f.ref = sym(w->s, l->ref);
        f.key = l->ref_key ? sym(w->s, l->ref_key) : 0;
    }
    if (l->value->kind == TYPE_TENSOR || l->value->kind == TYPE_RANDOM)
        return write_const_array(w, &f, &l->value->t);
    f.other = l->value;
    tlg_write_section(w, "constant", TLG_FIELDS(const_fields), &f);
    tlg_flush(w);
    return !w->failed;
}

/* ---- reading ---- */

bool tlg_check_bools(TlgReader *t, DType d, const unsigned char *p, size_t n) {
    if (d != DT_BOOL) return true;
    for (size_t i = 0; i < n; i++)
        if (p[i] > 1) return cbor_fail(&t->c, "a bool that is %u", p[i]);
    return true;
}

void tlg_shape_from(const Type *type, Tensor *v) {
    int64_t step = (int64_t)dtype_size(type->dtype);
    *v = (Tensor){.dtype = type->dtype, .ndim = type->ndim};
    for (int i = type->ndim - 1; i >= 0; i--) {
        v->shape[i] = type->dim[i];
        v->stride[i] = step;
        step *= type->dim[i] > 0 ? type->dim[i] : 1;
    }
}

/* Checks the declared type against the tensor's dtype and shape; a shared variable's
 * value may be more specific. */
static bool check_const(TlgReader *t, const Type *type, const ConstFields *f) {
    bool random = type->kind == TYPE_RANDOM;
    DType d = random ? DT_UINT64 : type->dtype;
    bool ok = random ? f->ndim == 1 && f->shape[0] == 4
                     : type->kind == TYPE_TENSOR && f->ndim == type->ndim;
    int64_t bytes = (int64_t)dtype_size(d);
    for (int i = 0; ok && i < f->ndim; i++) {
        ok = random || type->dim[i] < 0 || type->dim[i] == f->shape[i];
        if (f->shape[i] == 0) bytes = 0;
    }
    for (int i = 0; ok && bytes && i < f->ndim; i++)
        ok = i64_mul(bytes, f->shape[i], &bytes);
    if (!ok)
        return cbor_fail(&t->c, "a constant whose shape is not that of %s",
                         type_str(t->s, type));
    if ((uint64_t)bytes != f->ndata)
        return cbor_fail(&t->c, "a constant of %lld bytes has %zu", (long long)bytes,
                         f->ndata);
    if (f->tag != cbor_dtype_tag(d))
        return cbor_fail(&t->c, "a constant with the wrong tag");
    return tlg_check_bools(t, d, f->data, f->ndata);
}

enum { SHARE_FROM = 1 << 16 };

/* A large constant stays in the input; a small one is copied so that it doesn't keep
 * the input alive. */
static bool const_tensor(TlgReader *t, DType d, const ConstFields *f, Tensor *out) {
    size_t width = dtype_size(dtype_real(d));
    bool aligned = ((uintptr_t)f->data & 15) == 0;
    bool native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    Buffer *b = t->share && aligned && native && f->ndata >= SHARE_FROM
                    ? input_share(t->in)
                    : NULL;
    if (!tensor_new(t->s, d, f->ndim, b ? (const int64_t[MAX_NDIM]){0} : f->shape,
                    out)) {
        buffer_unref(b);
        return false;
    }
    if (!b) {
        if (f->ndata) memcpy(out->data, f->data, f->ndata);
        cbor_little_endian(out->data, f->ndata / width, width);
        return true;
    }
    tensor_unref(out);
    Dim dim[MAX_NDIM];
    memcpy(dim, f->shape, sizeof dim);
    tlg_shape_from(&(Type){.dtype = d, .ndim = f->ndim, .dim = dim}, out);
    out->buf = b;
    out->data = (char *)b->data + (f->data - t->in->p);
    return true;
}

static bool const_array(TlgReader *t, const Type *type, const ConstFields *f,
                        Value *out) {
    if (!check_const(t, type, f)) return false;
    out->kind = type->kind;
    return const_tensor(t, type->kind == TYPE_RANDOM ? DT_UINT64 : type->dtype, f,
                        &out->t);
}

/* Reads the item again now that its type is known. */
static bool const_object(TlgReader *t, const Type *type, const ConstFields *f,
                         Value *out) {
    Cbor after = t->c;
    t->c = f->value;
    bool ok = tlg_value_read(t, type, out);
    t->c = after;
    return ok;
}

static bool find_leaf(TlgReader *t, const ConstFields *f) {
    return (f->leaf < t->leaf_code.n &&
            (t->leaf_code.p[f->leaf] == TLG_CONST ||
             t->leaf_code.p[f->leaf] == TLG_SHARED_VALUE)) ||
           cbor_fail(&t->c, "a constant for leaf %llu, which needs none",
                     (unsigned long long)f->leaf);
}

bool tlg_read_constant(TlgReader *t) {
    ConstFields f = {0};
    unsigned seen;
    if (!t->g || t->closed) return cbor_fail(&t->c, "a constant out of place");
    if (!tlg_read_fields(t, TLG_FIELDS(const_fields), &f, &seen)) return false;
    if (!(seen & HAS_LEAF)) return cbor_fail(&t->c, "an incomplete constant");
    if (!find_leaf(t, &f)) return false;
    Leaf *l = &t->g->leaf[f.leaf];
    const Type *type = var_type(t->g, l->var);
    bool array = type->kind == TYPE_TENSOR || type->kind == TYPE_RANDOM;
    if (array ? ~seen & HAS_ARRAY : !f.value.p)
        return cbor_fail(&t->c, "an incomplete constant");
    if (!(array ? const_array : const_object)(t, type, &f, l->value)) return false;
    t->leaf_code.p[f.leaf] = TLG_BARE_CONST;
    t->pending--;
    const char *ref = sym_text(t->s, f.ref), *key = sym_text(t->s, f.key);
    if (f.ref) l->ref = arena_str(t->g->arena, ref, strlen(ref));
    if (f.key) l->ref_key = arena_str(t->g->arena, key, strlen(key));
    return true;
}
