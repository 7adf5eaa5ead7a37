/* The leaves of a graph in a tlg, in chunks: what each is, its type, the names of those
 * that need one, and the bytes of small constants. */
#include "graph/append.h"
#include "io/tlg/tlg.h"
#include "value/class.h"

#include <string.h>

typedef struct LeafFields {
    Column kind, type;
    Cbor names; /* positioned at the first name */
    size_t nname;
    const unsigned char *data;
    size_t ndata;
} LeafFields;

static bool write_leaf_kinds(TlgWriter *w, const void *from) {
    (void)from;
    for (uint32_t i = w->from; i < w->to; i++)
        w->col.p[i - w->from] = w->n->code[i];
    cbor_put_column(&w->b, w->col.p, w->to - w->from);
    return true;
}

static bool write_leaf_types(TlgWriter *w, const void *from) {
    (void)from;
    for (uint32_t i = w->from; i < w->to; i++)
        w->col.p[i - w->from] = tlg_type_number(w, w->n->leaf[i]);
    cbor_put_column(&w->b, w->col.p, w->to - w->from);
    return true;
}

Sym tlg_declared_name(const Graph *g, Var v) {
    Sym y = var_name(g, v);
    return y ? y : var_leafrec(g, v)->name;
}

static bool write_leaf_names(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    size_t count = 0;
    (void)from;
    for (uint32_t i = w->from; i < w->to; i++)
        count += w->n->code[i] <= TLG_DIM;
    cbor_put_head(&w->b, CB_ARRAY, count);
    for (uint32_t i = w->from; i < w->to; i++)
        if (w->n->code[i] <= TLG_DIM)
            cbor_put_text(&w->b, sym_text(g->s, tlg_declared_name(g, w->n->leaf[i])));
    return true;
}
static bool read_leaf_names(TlgReader *t, void *into) {
    LeafFields *f = into;
    Cbor at = t->c;
    if (!cbor_array(&at, &f->nname)) return false;
    f->names = at;
    return cbor_skip(&t->c);
}

static bool add_data(TlgWriter *w, const Tensor *t, Str *to) {
    bool swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    Tensor c = {0};
    if (!swap && tensor_is_contiguous(t)) {
        str_add(to, t->data, tensor_bytes(t));
        return true;
    }
    if (!tlg_file_order(w->s, t, &c)) return false;
    str_add(to, c.data, tensor_bytes(&c));
    tensor_unref(&c);
    return true;
}

static bool write_leaf_data(TlgWriter *w, const void *from) {
    Str data = STR(w->s);
    (void)from;
    for (uint32_t i = w->from; i < w->to && !w->failed; i++)
        if (w->n->code[i] == TLG_INLINE_CONST)
            w->failed =
                !add_data(w, &var_leafrec(w->n->g, w->n->leaf[i])->value->t, &data);
    cbor_put_head(&w->b, CB_BYTES, data.n);
    str_add(&w->b, str_text(&data), data.n);
    str_free(&data);
    return true;
}
static bool read_leaf_data(TlgReader *t, void *into) {
    LeafFields *f = into;
    return cbor_bytes(&t->c, &f->data, &f->ndata);
}

static const TlgField leaf_fields[] = {
    {"kind", tlg_read_column, write_leaf_kinds, offsetof(LeafFields, kind)},
    {"type", tlg_read_column, write_leaf_types, offsetof(LeafFields, type)},
    {"name", read_leaf_names, write_leaf_names, 0},
    {"data", read_leaf_data, write_leaf_data, 0}};

/* ---- writing ---- */

/* The constants that are too large to lie among the leaves come right after them. */
void tlg_write_leaves(TlgWriter *w) {
    uint32_t n = w->n->nleaf;
    vec_reserve(w->s, &w->col, TLG_CHUNK);
    for (uint32_t i = 0; i < n && !w->failed; i = w->to) {
        w->from = i;
        w->to = n - i < TLG_CHUNK ? n : i + TLG_CHUNK;
        tlg_write_section(w, "leaves", TLG_FIELDS(leaf_fields), NULL);
        tlg_flush(w);
        for (uint32_t j = i; j < w->to && !w->failed; j++)
            if (w->n->code[j] == TLG_CONST || w->n->code[j] == TLG_SHARED_VALUE)
                w->failed = !tlg_write_constant(w, j);
    }
}

/* ---- reading ---- */

/* Bytes of a tensor type with known dims; false if a dim is unknown or the size
 * overflows. */
static bool known_type_bytes(const Type *t, uint64_t *bytes) {
    if (t->kind != TYPE_TENSOR) return false;
    int64_t n = type_size(t), b;
    if (n < 0 || !i64_mul(n, (int64_t)dtype_size(t->dtype), &b)) return false;
    *bytes = (uint64_t)b;
    return true;
}

/* The inline constants of a section share one buffer, each aligned in it. */
typedef struct ConstPack {
    Buffer *buf;
    size_t at, from; /* position in buf; position in the data */
} ConstPack;

static TlgConst *recent_const(TlgReader *t, const Type *type, const unsigned char *p,
                              size_t n) {
    return &t->recent[hash_bytes(p, n, type->id) % TLG_RECENT];
}

static bool inline_const(TlgReader *t, const Type *type, const LeafFields *f,
                         ConstPack *k) {
    uint64_t bytes;
    if (!known_type_bytes(type, &bytes))
        return cbor_fail(&t->c, "a constant of type %s", type_str(t->s, type));
    if (bytes > f->ndata - k->from)
        return cbor_fail(&t->c, "the bytes of the constants are too few");
    if (!tlg_check_bools(t, type->dtype, f->data + k->from, (size_t)bytes))
        return false;
    const unsigned char *from = f->data + k->from;
    TlgConst *c =
        bytes <= TLG_SMALL ? recent_const(t, type, from, (size_t)bytes) : NULL;
    if (c && c->type == type && memcmp(c->bytes, from, (size_t)bytes) == 0) {
        k->from += (size_t)bytes;
        graph_share_const(t->g, t->g, c->var, false);
        return true;
    }
    Value v = {.kind = TYPE_TENSOR};
    tlg_shape_from(type, &v.t);
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

static bool named_leaf(TlgReader *t, LeafCode code, const Type *type, LeafFields *f) {
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

static bool bare_const(TlgReader *t, const Type *type) {
    if (type->kind != TYPE_NONE && type->kind != TYPE_EMPTY &&
        type->kind != TYPE_NULL && type->kind != TYPE_DISCONNECTED)
        return cbor_fail(&t->c, "a constant of type %s without a value",
                         type_str(t->s, type));
    graph_const_value(t->g, type, &(Value){.kind = type->kind});
    return true;
}

static bool add_leaf(TlgReader *t, LeafCode code, const Type *type, LeafFields *f,
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

/* After a full first section of `bytes` bytes, room for as many variables as the rest
 * of the input could hold so: Applies will have more of them, and arrays that grow are
 * copied. */
static void reserve_vars_of(TlgReader *t, size_t n, size_t bytes) {
    size_t left = (size_t)(t->c.end - t->c.p), times = 1 + left / bytes;
    if (t->g->nleaf > 0 || n < TLG_CHUNK) return;
    graph_reserve(t->g, 0, (uint32_t)(n * (times < TLG_MOST ? times : TLG_MOST)), 0);
}

bool tlg_read_leaves(TlgReader *t) {
    const unsigned char *begin = t->c.p;
    LeafFields f = {0};
    unsigned seen;
    const uint32_t *code, *type;
    if (!t->g || t->closed) return cbor_fail(&t->c, "leaves out of place");
    if (!tlg_read_fields(t, TLG_FIELDS(leaf_fields), &f, &seen)) return false;
    if (seen != 15 || f.kind.n != f.type.n || f.kind.n > TLG_CHUNK)
        return cbor_fail(&t->c, "columns of leaves that don't belong together");
    if (!column_u32(&t->c, &f.kind, t->tmp, TLG_LEAF_CODES, "leaf kind", &code) ||
        !column_u32(&t->c, &f.type, t->tmp, t->ntype, "type", &type))
        return false;
    size_t n = f.kind.n;
    reserve_vars_of(t, n, (size_t)(t->c.p - begin));
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
