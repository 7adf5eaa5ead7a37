/* The value of one leaf in a tlg: an array, whose elements start at a multiple of 64
 * bytes so that a mapped file can be used in place, or a value of another kind. */
#include "io/tlg/tlg.h"
#include "value/class.h"

#include <stdlib.h>
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
    Sym file; /* that has the elements, from `place` on; 0: they are here */
    FilePlace place;
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
    if (f->other || f->file) return false;
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
    if (f->other || f->file) return false;
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

/* [path, offset, size of the file, seconds, nanoseconds] */
static bool write_place(TlgWriter *w, const void *from) {
    const ConstFields *f = from;
    if (!f->file) return false;
    cbor_put_head(&w->b, CB_ARRAY, 5);
    cbor_put_text(&w->b, sym_text(w->s, f->file));
    cbor_put_int(&w->b, (int64_t)f->place.offset);
    cbor_put_int(&w->b, (int64_t)f->place.size);
    cbor_put_int(&w->b, f->place.seconds);
    cbor_put_int(&w->b, f->place.nanoseconds);
    return true;
}
static bool read_place(TlgReader *t, void *into) {
    ConstFields *f = into;
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    if (n != 5) return cbor_fail(&t->c, "a place in a file has five parts");
    return cbor_sym(&t->c, &f->file) && cbor_uint(&t->c, INT64_MAX, &f->place.offset) &&
           cbor_uint(&t->c, INT64_MAX, &f->place.size) &&
           cbor_int(&t->c, &f->place.seconds) && cbor_int(&t->c, &f->place.nanoseconds);
}

static const TlgField const_fields[] = {
    {"leaf", tlg_read_uint, tlg_write_uint, offsetof(ConstFields, leaf)},
    {"ref", tlg_read_sym, tlg_write_sym, offsetof(ConstFields, ref)},
    {"key", tlg_read_sym, tlg_write_sym, offsetof(ConstFields, key)},
    {"value", skip_value, write_const_value, 0},
    {"shape", read_shape, write_shape, 0},
    {"pad", NULL, write_pad, 0},
    {"data", read_data, write_data_head, 0},
    {"file", read_place, write_place, 0}};
enum { HAS_LEAF = 1 << 0, HAS_SHAPE = 1 << 4, HAS_DATA = 1 << 6, HAS_FILE = 1 << 7 };
enum { SHARE_FROM = 1 << 16 }; /* bytes */

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

/* The name of a file as one below the written file's folder, by which it can be opened
 * again; 0: there is none. */
static Sym name_below(TlgWriter *w, const FilePlace *at) {
    const char *folder = w->options->beside, *replaced = w->options->replaced;
    size_t n = strlen(folder), mark = diag_count(w->s);
    char *path = realpath(at->name, NULL);
    FileData d;
    Sym y = 0;
    if (n == 1) n = 0; /* "/" */
    if (path && strncmp(path, folder, n) == 0 && path[n] == '/' &&
        !(replaced && strcmp(path, replaced) == 0) &&
        file_read_below(w->s, folder, path + n + 1, 0, &d)) {
        if (d.n == at->size) y = sym(w->s, path + n + 1);
        file_close(&d);
    }
    diag_rewind(w->s, mark);
    free(path);
    return y;
}

/* May the elements stay in the file where they are? */
static bool find_place(TlgWriter *w, const Tensor *t, ConstFields *f) {
    bool native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (!w->options->beside || !native || !tensor_is_contiguous(t) ||
        tensor_bytes(t) < SHARE_FROM || !file_place(w->s, t->data, &f->place))
        return false;
    if (w->placed != f->place.name) w->placed_as = name_below(w, &f->place);
    w->placed = f->place.name;
    f->file = w->placed_as;
    return f->file != 0;
}

static bool write_const_array(TlgWriter *w, ConstFields *f, const Tensor *t) {
    Tensor c = {0};
    f->ndim = t->ndim;
    memcpy(f->shape, t->shape, sizeof f->shape);
    if (find_place(w, t, f)) {
        tlg_write_section(w, "constant", TLG_FIELDS(const_fields), f);
        tlg_flush(w);
        return true;
    }
    if (!tlg_file_order(w->s, t, &c)) return false;
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
    const FileRef *ref = leaf_ref(w->n->g, w->n->leaf[leaf]);
    ConstFields f = {.leaf = leaf};
    if (ref && !w->options->pack) {
        f.ref = sym(w->s, ref->file);
        f.key = ref->key ? sym(w->s, ref->key) : 0;
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
static bool check_const(TlgReader *t, const Type *type, const ConstFields *f,
                        size_t *size) {
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
    *size = (size_t)bytes;
    if (f->file) return true;
    if ((uint64_t)bytes != f->ndata)
        return cbor_fail(&t->c, "a constant of %lld bytes has %zu", (long long)bytes,
                         f->ndata);
    if (f->tag != cbor_dtype_tag(d))
        return cbor_fail(&t->c, "a constant with the wrong tag");
    return tlg_check_bools(t, d, f->data, f->ndata);
}

static bool copy_const(TlgReader *t, DType d, const ConstFields *f, Tensor *out) {
    size_t width = dtype_size(dtype_real(d));
    if (!tensor_new(t->s, d, f->ndim, f->shape, out)) return false;
    if (f->ndata) memcpy(out->data, f->data, f->ndata);
    cbor_little_endian(out->data, f->ndata / width, width);
    return true;
}

/* A large constant stays in the input; a small one is copied so that it doesn't keep
 * the input alive. */
static bool const_tensor(TlgReader *t, DType d, const ConstFields *f, Tensor *out) {
    bool aligned = ((uintptr_t)f->data & 15) == 0;
    bool native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    Buffer *b = t->share && aligned && native && f->ndata >= SHARE_FROM
                    ? input_share(t->in, ELEMENTS_COMPUTED)
                    : NULL;
    if (!b) return copy_const(t, d, f, out);
    Dim dim[MAX_NDIM];
    memcpy(dim, f->shape, sizeof dim);
    tlg_shape_from(&(Type){.dtype = d, .ndim = f->ndim, .dim = dim}, out);
    out->buf = b;
    out->data = (char *)b->data + (f->data - t->in->p);
    return true;
}

static bool fail_file(TlgReader *t, const ConstFields *f, DiagCode code,
                      const char *what) {
    fail(t->s, NOWHERE, code, "%s: its values are in %s, %s", t->c.name,
         sym_text(t->s, f->file), what);
    return note(t->s, NOWHERE, "write %s again from the model", t->c.name);
}

/* The bytes in another file; NULL: diagnosed. */
static const DataFile *open_const_file(TlgReader *t, const ConstFields *f,
                                       size_t size) {
    FilePlace now;
    if (!t->files.folder) {
        fail(t->s, NOWHERE, E_IO,
             "%s: its values are in %s, but a graph that comes through a pipe can't "
             "name files",
             t->c.name, sym_text(t->s, f->file));
        return hint(t->s, HINT_PACK), NULL;
    }
    const DataFile *d = data_file(&t->files, sym_text(t->s, f->file));
    if (!d) return NULL;
    bool same = d->data.n == f->place.size;
    if (same && file_place(t->s, d->data.p, &now))
        same =
            now.seconds == f->place.seconds && now.nanoseconds == f->place.nanoseconds;
    if (!same) return fail_file(t, f, E_IO, "which has changed since"), NULL;
    if (f->place.offset > d->data.n || size > d->data.n - f->place.offset)
        return fail_file(t, f, E_TRUNCATED, "beyond its end"), NULL;
    return d;
}

static bool const_in_file(TlgReader *t, const Type *type, const ConstFields *f,
                          size_t size, Tensor *out) {
    const DataFile *d = open_const_file(t, f, size);
    if (!d) return false;
    const unsigned char *p = d->data.p + f->place.offset;
    if (!tlg_check_bools(t, type->dtype, p, size)) return false;
    bool native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    bool shared =
        t->use != ELEMENTS_COMPUTED ||
        (((uintptr_t)p & 15) == 0 && file_mapped_write(t->s, d->buf->data, d->data.n));
    if (!shared || !native) {
        ConstFields here = *f;
        here.data = p;
        here.ndata = size;
        return copy_const(t, type->dtype, &here, out);
    }
    Dim dim[MAX_NDIM];
    memcpy(dim, f->shape, sizeof dim);
    tlg_shape_from(&(Type){.dtype = type->dtype, .ndim = f->ndim, .dim = dim}, out);
    out->buf = buffer_ref(d->buf);
    out->data = (char *)d->buf->data + f->place.offset;
    return true;
}

static bool const_array(TlgReader *t, const Type *type, const ConstFields *f,
                        Value *out) {
    size_t size = 0;
    if (!check_const(t, type, f, &size)) return false;
    out->kind = type->kind;
    if (f->file && type->kind == TYPE_TENSOR)
        return const_in_file(t, type, f, size, &out->t);
    if (f->file) return cbor_fail(&t->c, "a random state in another file");
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
    bool one = !(seen & HAS_DATA) != !(seen & HAS_FILE);
    if (array ? !(seen & HAS_SHAPE) || !one : !f.value.p)
        return cbor_fail(&t->c, "an incomplete constant");
    if (!(array ? const_array : const_object)(t, type, &f, l->value)) return false;
    t->leaf_code.p[f.leaf] = TLG_BARE_CONST;
    t->pending--;
    if (f.ref)
        leaf_set_ref(t->g, l->var, sym_text(t->s, f.ref),
                     f.key ? sym_text(t->s, f.key) : NULL);
    return true;
}
