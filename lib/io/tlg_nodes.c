/* Reads the nodes of a tlg: leaves, constants, Applies. Every number is checked against
 * the table that it indexes. */
#include "graph/append.h"
#include "io/tlg.h"
#include "value/class.h"

#include <string.h>

static bool read_column(Tlg *t, void *into) {
    return cbor_column(&t->c, into);
}

/* ---- leaves ---- */

typedef struct LeafFields {
    Column kind, type;
    Cbor names; /* positioned at the first name */
    size_t nname;
    const unsigned char *data;
    size_t ndata;
} LeafFields;

static bool read_leaf_kinds(Tlg *t, void *into) {
    return read_column(t, &((LeafFields *)into)->kind);
}
static bool read_leaf_type(Tlg *t, void *into) {
    return read_column(t, &((LeafFields *)into)->type);
}
static bool read_leaf_names(Tlg *t, void *into) {
    LeafFields *f = into;
    Cbor at = t->c;
    if (!cbor_array(&at, &f->nname)) return false;
    f->names = at;
    return cbor_skip(&t->c);
}
static bool read_leaf_data(Tlg *t, void *into) {
    LeafFields *f = into;
    return cbor_bytes(&t->c, &f->data, &f->ndata);
}

/* Bytes of a tensor type with known dims; false if a dim is unknown or the size
 * overflows. */
static bool known_type_bytes(const Type *t, uint64_t *bytes) {
    if (t->kind != TYPE_TENSOR) return false;
    int64_t n = type_size(t), b;
    if (n < 0 || !i64_mul(n, (int64_t)dtype_size(t->dtype), &b)) return false;
    *bytes = (uint64_t)b;
    return true;
}

static bool bools_ok(Tlg *t, DType d, const unsigned char *p, size_t n) {
    if (d != DT_BOOL) return true;
    for (size_t i = 0; i < n; i++)
        if (p[i] > 1) return cbor_fail(&t->c, "a bool that is %u", p[i]);
    return true;
}

/* The inline constants of a section share one buffer, each aligned in it. */
typedef struct ConstPack {
    Buffer *buf;
    size_t at, from; /* position in buf; position in the data */
} ConstPack;

static void shape_from(const Type *type, Tensor *v) {
    int64_t step = (int64_t)dtype_size(type->dtype);
    *v = (Tensor){.dtype = type->dtype, .ndim = type->ndim};
    for (int i = type->ndim - 1; i >= 0; i--) {
        v->shape[i] = type->dim[i];
        v->stride[i] = step;
        step *= type->dim[i] > 0 ? type->dim[i] : 1;
    }
}

static TlgConst *recent_const(Tlg *t, const Type *type, const unsigned char *p,
                              size_t n) {
    return &t->recent[hash_bytes(p, n, type->id) % TLG_RECENT];
}

static bool inline_const(Tlg *t, const Type *type, const LeafFields *f, ConstPack *k) {
    uint64_t bytes;
    if (!known_type_bytes(type, &bytes))
        return cbor_fail(&t->c, "a constant of type %s", type_str(t->s, type));
    if (bytes > f->ndata - k->from)
        return cbor_fail(&t->c, "the bytes of the constants are too few");
    if (!bools_ok(t, type->dtype, f->data + k->from, (size_t)bytes)) return false;
    const unsigned char *from = f->data + k->from;
    TlgConst *c =
        bytes <= TLG_SMALL ? recent_const(t, type, from, (size_t)bytes) : NULL;
    if (c && c->type == type && memcmp(c->bytes, from, (size_t)bytes) == 0) {
        k->from += (size_t)bytes;
        graph_share_const(t->g, t->g, c->var, false);
        return true;
    }
    Value v = {.kind = TYPE_TENSOR};
    shape_from(type, &v.t);
    v.t.buf = k->buf;
    v.t.data = (char *)k->buf->data + k->at;
    if (bytes) memcpy(v.t.data, f->data + k->from, (size_t)bytes);
    size_t width = dtype_size(dtype_real(type->dtype));
    cbor_little_endian(v.t.data, (size_t)bytes / width, width);
    k->from += (size_t)bytes;
    k->at += ((size_t)bytes + 15) / 16 * 16;
    Var x = graph_const_value(t->g, type, &v);
    if (!c) return true;
    *c = (TlgConst){.type = type, .var = x};
    if (bytes) memcpy(c->bytes, from, (size_t)bytes);
    return true;
}

static bool named_leaf(Tlg *t, LeafCode code, const Type *type, LeafFields *f) {
    Sym y;
    if (f->nname-- == 0)
        return cbor_fail(&t->c, "there are fewer names than leaves that need one");
    if (!cbor_sym(&f->names, &y)) return false;
    const char *name = sym_text(t->s, y);
    if (!word_is_name(name, strlen(name)))
        return cbor_fail(&t->c, "\"%.60s\" can't be a name", name);
    if (graph_find(t->g, y) != VAR_NONE)
        return fail(t->s, NOWHERE, E_DUPLICATE, "%s: the name \"%s\" is used twice",
                    t->c.name, name);
    if (code == TLG_INPUT)
        graph_input(t->g, y, type);
    else if (code == TLG_DIM)
        graph_dim(t->g, y);
    else
        graph_shared(t->g, y, type);
    t->pending += code == TLG_SHARED_VALUE;
    return code != TLG_DIM || type == type_scalar(t->s, DT_INT64) ||
           cbor_fail(&t->c, "the dim \"%s\" is not an int64 scalar", name);
}

static bool bare_const(Tlg *t, const Type *type) {
    if (type->kind != TYPE_NONE && type->kind != TYPE_EMPTY &&
        type->kind != TYPE_NULL && type->kind != TYPE_DISCONNECTED)
        return cbor_fail(&t->c, "a constant of type %s without a value",
                         type_str(t->s, type));
    graph_const_value(t->g, type, &(Value){.kind = type->kind});
    return true;
}

static bool add_leaf(Tlg *t, LeafCode code, const Type *type, LeafFields *f,
                     ConstPack *k) {
    if (code <= TLG_DIM) return named_leaf(t, code, type, f);
    if (code == TLG_INLINE_CONST) return inline_const(t, type, f, k);
    if (code == TLG_BARE_CONST) return bare_const(t, type);
    uint64_t bytes;
    if (type->kind == TYPE_TENSOR ? !known_type_bytes(type, &bytes)
                                  : !type_class(type)->build)
        return cbor_fail(&t->c, "a constant of type %s", type_str(t->s, type));
    t->pending++;
    graph_const_value(t->g, type, &(Value){.kind = type->kind});
    return true;
}

bool tlg_leaves(Tlg *t) {
    static const TlgField fields[] = {{"kind", read_leaf_kinds},
                                      {"type", read_leaf_type},
                                      {"name", read_leaf_names},
                                      {"data", read_leaf_data}};
    LeafFields f = {0};
    unsigned seen;
    const uint32_t *code, *type;
    if (!t->g || t->closed) return cbor_fail(&t->c, "leaves out of place");
    if (!tlg_fields(t, 4, fields, &f, &seen)) return false;
    if (seen != 15 || f.kind.n != f.type.n || f.kind.n > TLG_CHUNK)
        return cbor_fail(&t->c, "columns of leaves that don't belong together");
    if (!column_u32(&t->c, &f.kind, t->tmp, TLG_LEAF_CODES, "leaf kind", &code) ||
        !column_u32(&t->c, &f.type, t->tmp, t->ntype, "type", &type))
        return false;
    size_t n = f.kind.n;
    /* Each is rounded up to 16 bytes; empty ones take no space. */
    ConstPack k = {buffer_new(t->s, f.ndata + 16 * n + 16), 0, 0};
    if (!k.buf) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        vec_push(t->s, &t->leaf_code, (uint8_t)code[i]);
        ok = add_leaf(t, (LeafCode)code[i], t->type[type[i]], &f, &k);
    }
    buffer_unref(k.buf);
    return ok && ((f.nname == 0 && k.from == f.ndata) ||
                  cbor_fail(&t->c, "leaves with more names or bytes than they need"));
}

/* ---- constants ---- */

typedef struct ConstFields {
    uint64_t leaf;
    int ndim;
    int64_t shape[MAX_NDIM];
    Sym ref, key;
    uint64_t tag; /* 0: none */
    const unsigned char *data;
    size_t ndata;
    Cbor value; /* positioned at a non-tensor's value; NULL: none */
} ConstFields;

static bool read_leaf_no(Tlg *t, void *into) {
    return cbor_uint(&t->c, UINT32_MAX, &((ConstFields *)into)->leaf);
}
static bool read_shape(Tlg *t, void *into) {
    ConstFields *f = into;
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    if (n > MAX_NDIM) return cbor_fail(&t->c, "a shape of %zu dims", n);
    f->ndim = (int)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t d;
        if (!cbor_uint(&t->c, INT64_MAX, &d)) return false;
        f->shape[i] = (int64_t)d;
    }
    return true;
}
static bool read_ref(Tlg *t, void *into) {
    return cbor_sym(&t->c, &((ConstFields *)into)->ref);
}
static bool read_ref_key(Tlg *t, void *into) {
    return cbor_sym(&t->c, &((ConstFields *)into)->key);
}
static bool skip_const_value(Tlg *t, void *into) {
    ((ConstFields *)into)->value = t->c;
    return cbor_skip(&t->c);
}
static bool read_data(Tlg *t, void *into) {
    ConstFields *f = into;
    unsigned major;
    if (cbor_major(&t->c) == CB_TAG && !cbor_head(&t->c, &major, &f->tag)) return false;
    return cbor_bytes(&t->c, &f->data, &f->ndata);
}

/* Checks the declared type against the tensor's dtype and shape; a shared variable's
 * value may be more specific. */
static bool check_const(Tlg *t, const Type *type, const ConstFields *f) {
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
    return bools_ok(t, d, f->data, f->ndata);
}

enum { SHARE_FROM = 1 << 16 };

/* A large constant stays in the input; a small one is copied so that it doesn't keep
 * the input alive. */
static bool const_tensor(Tlg *t, DType d, const ConstFields *f, Tensor *out) {
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
    shape_from(&(Type){.dtype = d, .ndim = f->ndim, .dim = dim}, out);
    out->buf = b;
    out->data = (char *)b->data + (f->data - t->in->p);
    return true;
}

static bool const_array(Tlg *t, const Type *type, const ConstFields *f, Value *out) {
    if (!check_const(t, type, f)) return false;
    out->kind = type->kind;
    return const_tensor(t, type->kind == TYPE_RANDOM ? DT_UINT64 : type->dtype, f,
                        &out->t);
}

/* Reads the item again now that its type is known. */
static bool const_object(Tlg *t, const Type *type, const ConstFields *f, Value *out) {
    Cbor after = t->c;
    t->c = f->value;
    bool ok = tlg_value_read(t, type, out);
    t->c = after;
    return ok;
}

static bool find_leaf(Tlg *t, const ConstFields *f) {
    return (f->leaf < t->leaf_code.n &&
            (t->leaf_code.p[f->leaf] == TLG_CONST ||
             t->leaf_code.p[f->leaf] == TLG_SHARED_VALUE)) ||
           cbor_fail(&t->c, "a constant for leaf %llu, which needs none",
                     (unsigned long long)f->leaf);
}

bool tlg_constant(Tlg *t) {
    static const TlgField fields[] = {
        {"leaf", read_leaf_no}, {"shape", read_shape}, {"data", read_data},
        {"ref", read_ref},      {"key", read_ref_key}, {"value", skip_const_value}};
    ConstFields f = {0};
    unsigned seen;
    if (!t->g || t->closed) return cbor_fail(&t->c, "a constant out of place");
    if (!tlg_fields(t, 6, fields, &f, &seen)) return false;
    if (!(seen & 1) || !find_leaf(t, &f))
        return seen & 1 ? false : cbor_fail(&t->c, "an incomplete constant");
    Leaf *l = &t->g->leaf[f.leaf];
    const Type *type = var_type(t->g, l->var);
    bool array = type->kind == TYPE_TENSOR || type->kind == TYPE_RANDOM;
    if (array ? (seen & 7) != 7 : !f.value.p)
        return cbor_fail(&t->c, "an incomplete constant");
    if (!(array ? const_array : const_object)(t, type, &f, l->value)) return false;
    t->leaf_code.p[f.leaf] = TLG_BARE_CONST;
    t->pending--;
    const char *ref = sym_text(t->s, f.ref), *key = sym_text(t->s, f.key);
    if (f.ref) l->ref = arena_str(t->g->arena, ref, strlen(ref));
    if (f.key) l->ref_key = arena_str(t->g->arena, key, strlen(key));
    return true;
}

/* ---- Applies ---- */

enum {
    C_PROPS,
    C_NIN,
    C_NOUT,
    C_IN,
    C_TYPE,
    C_SERIAL,
    C_SOURCE,
    C_BEGIN,
    C_END,
    C_RULE,
    NCOLUMN
};
#define COLUMN_READER(NAME, AT)                                                        \
    static bool NAME(Tlg *t, void *into) {                                             \
        return cbor_column(&t->c, (Column *)into + (AT));                              \
    }
COLUMN_READER(read_c_props, C_PROPS)
COLUMN_READER(read_c_nin, C_NIN)
COLUMN_READER(read_c_nout, C_NOUT)
COLUMN_READER(read_c_in, C_IN)
COLUMN_READER(read_c_type, C_TYPE)
COLUMN_READER(read_c_serial, C_SERIAL)
COLUMN_READER(read_c_source, C_SOURCE)
COLUMN_READER(read_c_begin, C_BEGIN)
COLUMN_READER(read_c_end, C_END)
COLUMN_READER(read_c_rule, C_RULE)

enum { MOST_CHUNKS = 1 << 10 }; /* limit on the chunks reserved in advance */
typedef struct ApplyChunk {
    size_t n;
    const uint32_t *col[NCOLUMN];
    const Type **type;
    size_t nin, ntype, nserial;
    bool origin;
} ApplyChunk;

static bool origin_at(Tlg *t, const ApplyChunk *k, size_t i, Origin *o) {
    *o = (Origin){NOWHERE, 0};
    if (!k->origin) return true;
    uint32_t source = k->col[C_SOURCE][i], rule = k->col[C_RULE][i];
    if (rule) o->rule = t->rule[rule - 1];
    if (!source) return true;
    o->at = (Span){t->source[source - 1], k->col[C_BEGIN][i], k->col[C_END][i]};
    return (o->at.begin <= o->at.end && o->at.end <= t->source_len[source - 1]) ||
           cbor_fail(&t->c, "a span beyond its source");
}

static bool bad_arity(Tlg *t, const TlgOp *op, uint32_t nin) {
    return cbor_fail(&t->c, "the op \"%s\" with %u inputs", op->op->name, nin);
}

static bool add_applies(Tlg *t, const ApplyChunk *k) {
    Graph *g = t->g;
    size_t in = 0, out = 0, serial = 0;
    Origin from;
    for (size_t i = 0; i < k->n; i++) {
        const TlgOp *op = &t->props[k->col[C_PROPS][i]];
        uint32_t nin = k->col[C_NIN][i], nout = k->col[C_NOUT][i];
        if (nin > k->nin - in || nout > k->ntype - out || nout == 0)
            return cbor_fail(&t->c, "columns that are too short");
        if (nin < op->min_in || nin > op->max_in) return bad_arity(t, op, nin);
        for (uint32_t j = 0; j < nin; j++)
            if (k->col[C_IN][in + j] >= g->nvar)
                return cbor_fail(
                    &t->c, "an Apply that reads variable %u before it is computed",
                    k->col[C_IN][in + j]);
        bool own = serial < k->nserial && k->col[C_SERIAL][serial] == i;
        serial += own;
        if (!origin_at(t, k, i, &from)) return false;
        if (own)
            graph_apply(g, op->op, op->props, nin, k->col[C_IN] + in, nout,
                        k->type + out, false, true, from);
        else
            graph_append(g, op->op, op->props, nin, k->col[C_IN] + in, nout,
                         k->type + out, from);
        in += nin;
        out += nout;
    }
    return (in == k->nin && out == k->ntype && serial == k->nserial) ||
           cbor_fail(&t->c, "columns that are too long");
}

static bool same_lengths(Tlg *t, const Column *c, unsigned seen, ApplyChunk *k) {
    k->n = c[C_PROPS].n;
    k->nin = c[C_IN].n;
    k->ntype = c[C_TYPE].n;
    k->nserial = c[C_SERIAL].n;
    k->origin = seen >> C_SOURCE == 15;
    bool ok = (seen & 31) == 31 && k->n <= TLG_CHUNK && c[C_NIN].n == k->n &&
              c[C_NOUT].n == k->n;
    for (int i = C_SOURCE; i < NCOLUMN; i++)
        ok = ok && (!k->origin || c[i].n == k->n);
    return ok || cbor_fail(&t->c, "columns of Applies that don't belong together");
}

/* Reserves room for a section; after a full first one of `bytes`, for as many more as
 * the rest of the input can hold. */
static void reserve_chunk(Tlg *t, const ApplyChunk *k, size_t bytes) {
    size_t left = (size_t)(t->c.end - t->c.p), times = 1;
    if (t->g->napply == 0 && k->n == TLG_CHUNK) times += left / bytes;
    if (times > MOST_CHUNKS) times = MOST_CHUNKS;
    graph_reserve(t->g, (uint32_t)(k->n * times), (uint32_t)(k->ntype * times),
                  (uint32_t)(k->nin * times));
}

bool tlg_read_applies(Tlg *t) {
    const unsigned char *begin = t->c.p;
    static const TlgField fields[NCOLUMN] = {
        {"props", read_c_props},   {"nin", read_c_nin},     {"nout", read_c_nout},
        {"in", read_c_in},         {"type", read_c_type},   {"serial", read_c_serial},
        {"source", read_c_source}, {"begin", read_c_begin}, {"end", read_c_end},
        {"rule", read_c_rule}};
    const uint64_t none = UINT64_C(1) << 32;
    const uint64_t limit[NCOLUMN] = {t->nprops, UINT16_MAX + 1, OUT_MAX + 1,    none,
                                     t->ntype,  TLG_CHUNK,      t->nsource + 1, none,
                                     none,      t->nrule + 1};
    Column c[NCOLUMN] = {0};
    unsigned seen;
    ApplyChunk k = {0};
    if (!t->g || t->interface) return cbor_fail(&t->c, "Applies out of place");
    t->closed = true;
    if (!tlg_fields(t, NCOLUMN, fields, c, &seen) || !same_lengths(t, c, seen, &k))
        return false;
    for (int i = 0; i < NCOLUMN; i++)
        if (!column_u32(&t->c, &c[i], t->tmp, limit[i], fields[i].key, &k.col[i]))
            return false;
    k.type = arena_alloc(t->tmp, (k.ntype + 1) * sizeof *k.type);
    for (size_t i = 0; i < k.ntype; i++)
        k.type[i] = t->type[k.col[C_TYPE][i]];
    reserve_chunk(t, &k, (size_t)(t->c.p - begin));
    return add_applies(t, &k);
}
