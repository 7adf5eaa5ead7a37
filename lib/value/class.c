/* The table of classes, and operations on values of all classes. Lists nest as deep as
 * their types, which are bounded, so these functions may recurse. */
#include "value/class_impl.h"

#include <string.h>

static const TypeClass *const table[CLASS_N] = {
    [TYPE_TENSOR] = &class_tensor, [TYPE_SPARSE] = &class_sparse,
    [TYPE_RANDOM] = &class_random, [TYPE_LIST] = &class_list,
    [TYPE_SLICE] = &class_slice,   [TYPE_NONE] = &class_none,
    [TYPE_NULL] = &class_null,     [TYPE_DISCONNECTED] = &class_disconnected,
    [TYPE_EMPTY] = &class_empty,
};

const TypeClass *class_get(TypeKind k) {
    return table[k];
}
const TypeClass *type_class(const Type *t) {
    return t->kind == TYPE_PLUGIN ? t->cls : table[t->kind];
}
const TypeClass *value_class(const Value *v) {
    return v->kind == TYPE_PLUGIN ? ((const Object *)v->obj)->cls : table[v->kind];
}

bool value_has_data(const Value *v) {
    if (v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM) return v->t.data != NULL;
    return v->kind == TYPE_NONE || v->kind == TYPE_EMPTY || v->obj;
}

bool class_fail_kind(Session *s, const Type *t, const Value *v, const Receiver *to) {
    Str got = STR(s);
    value_describe(s, v, &got);
    fail(s, to->at, E_TYPE, "%s: expected %s, got %s", to->what, type_str(s, t),
         str_text(&got));
    str_free(&got);
    return false;
}

/* ---- checking ---- */

bool value_filter(Session *s, const Type *t, const Value *v, const Receiver *to,
                  Value *out) {
    *out = (Value){.kind = TYPE_NONE};
    return type_class(t)->filter(s, t, v, to, out);
}

/* May v overwrite *old? */
static bool can_overwrite(const Type *t, const Tensor *old, const Tensor *v) {
    return old->buf && atomic_load(&old->buf->refs) == 1 && old->dtype == t->dtype &&
           tensor_same_shape(old, v) && tensor_is_contiguous(old) &&
           !tensor_may_share_memory(old, v);
}

bool value_filter_inplace(Session *s, const Type *t, const Value *v, const Receiver *to,
                          Value *storage) {
    if (t->kind == TYPE_TENSOR && v->kind == TYPE_TENSOR &&
        storage->kind == TYPE_TENSOR && can_overwrite(t, &storage->t, &v->t)) {
        if (!tensor_filter_check(s, t, &v->t, to)) return false;
        tensor_assign(&storage->t, &v->t);
        return true;
    }
    Value fresh;
    if (!value_filter(s, t, v, to, &fresh)) return false;
    value_unref(storage);
    *storage = fresh;
    return true;
}

bool value_is_valid(Session *s, const Type *t, const Value *v) {
    Value out;
    size_t mark = diag_count(s);
    bool ok = value_filter(
        s, t, v, &(Receiver){{.strict = true, .allow_downcast = -1}, "", NOWHERE},
        &out);
    if (ok) value_unref(&out);
    diag_rewind(s, mark);
    return ok;
}

/* ---- comparing ---- */

static bool equal_parts(const Value *a, const Value *b,
                        bool (*tensors)(const Tensor *, const Tensor *),
                        bool (*items)(const Value *, const Value *)) {
    ValueParts x = {0}, y = {0};
    const TypeClass *cls = value_class(a);
    if (!cls->parts) return a->obj == b->obj;
    cls->parts(a, &x);
    cls->parts(b, &y);
    bool ok = x.nnumber == y.nnumber && x.ntensor == y.ntensor && x.nitem == y.nitem &&
              x.nbyte == y.nbyte &&
              memcmp(x.number, y.number, x.nnumber * sizeof *x.number) == 0 &&
              (x.nbyte == 0 || memcmp(x.byte, y.byte, x.nbyte) == 0);
    for (size_t i = 0; ok && i < x.ntensor; i++)
        ok = tensors(x.tensor[i], y.tensor[i]);
    for (size_t i = 0; ok && i < x.nitem; i++)
        ok = items(&x.item[i], &y.item[i]);
    return ok;
}

static bool same_class(const Value *a, const Value *b) {
    return a->kind == b->kind &&
           (a->kind == TYPE_TENSOR || a->kind == TYPE_RANDOM ||
            (a->obj == NULL) == (b->obj == NULL)) &&
           (a->kind != TYPE_PLUGIN || !a->obj || value_class(a) == value_class(b));
}

static bool same_object(const Value *a, const Value *b) {
    return a->kind != TYPE_TENSOR && a->kind != TYPE_RANDOM && a->obj == b->obj;
}

bool value_equal(const Value *a, const Value *b) {
    if (!same_class(a, b)) return false;
    if (same_object(a, b)) return true;
    const TypeClass *cls = value_class(a);
    return cls->equal ? cls->equal(a, b) : equal_parts(a, b, tensor_equal, value_equal);
}

bool value_approx(Session *s, const Value *a, const Value *b, Approx how) {
    if (!same_class(a, b)) return false;
    if (same_object(a, b)) return true;
    const TypeClass *cls = value_class(a);
    return cls->approx ? cls->approx(s, a, b, how) : value_equal(a, b);
}

bool value_identical(const Value *a, const Value *b) {
    if (a == b) return true; /* constants of several graphs share it */
    if (!same_class(a, b)) return false;
    return same_object(a, b) || equal_parts(a, b, tensor_identical, value_identical);
}

uint64_t value_hash(const Value *v) {
    ValueParts p = {0};
    uint64_t h = (uint64_t)v->kind;
    bool object = v->kind != TYPE_TENSOR && v->kind != TYPE_RANDOM;
    if (object && !v->obj) return h;
    const TypeClass *cls = value_class(v);
    if (!cls->parts) return hash_mix(h, (uint64_t)(uintptr_t)v->obj);
    cls->parts(v, &p);
    for (size_t i = 0; i < p.nnumber; i++)
        h = hash_mix(h, (uint64_t)p.number[i]);
    for (size_t i = 0; i < p.ntensor; i++)
        h = hash_mix(h, tensor_hash(p.tensor[i]));
    for (size_t i = 0; i < p.nitem; i++)
        h = hash_mix(h, value_hash(&p.item[i]));
    return p.nbyte ? hash_bytes(p.byte, p.nbyte, h) : h;
}

static bool check_comparable(Session *s, const Type *t) {
    if (t->kind == TYPE_NULL)
        return fail(s, NOWHERE, E_NULL, "%s has no values to compare", type_str(s, t));
    return !type_class(t)->no_values ||
           fail(s, NOWHERE, E_TYPE, "the type %s has no values to compare",
                type_str(s, t));
}

bool value_eq(Session *s, const Type *t, const Value *a, const Value *b, bool *equal) {
    return check_comparable(s, t) && (*equal = value_equal(a, b), true);
}
bool value_eq_approx(Session *s, const Type *t, const Value *a, const Value *b,
                     Approx how, bool *equal) {
    return check_comparable(s, t) && (*equal = value_approx(s, a, b, how), true);
}

bool value_clone(Session *s, const Value *v, Value *out, bool *own) {
    *out = (Value){.kind = v->kind};
    *own = true;
    if (v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM)
        return tensor_clone(s, &v->t, &out->t);
    const TypeClass *cls = v->obj ? value_class(v) : NULL;
    if (cls && cls->copy && cls->copy(s, v, out)) return true;
    *own = false;
    value_copy_view(out, v);
    return true;
}

/* ---- memory ---- */

static void get_value_parts(const Value *v, ValueParts *p) {
    const TypeClass *cls = value_class(v);
    *p = (ValueParts){0};
    if ((v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM || v->obj) && cls->parts)
        cls->parts(v, p);
}

bool value_may_share_memory(const Value *a, const Value *b) {
    ValueParts x, y;
    if (a->kind > TYPE_RANDOM && a->kind == b->kind && a->obj && a->obj == b->obj)
        return true;
    const TypeClass *cls = value_class(a);
    if (cls->shares && a->obj && b->obj && a->kind == b->kind &&
        value_class(b) == cls && cls->shares(a, b))
        return true;
    get_value_parts(a, &x);
    for (size_t i = 0; i < x.nitem; i++)
        if (value_may_share_memory(&x.item[i], b)) return true;
    get_value_parts(b, &y);
    for (size_t i = 0; i < y.nitem; i++)
        if (value_may_share_memory(a, &y.item[i])) return true;
    for (size_t i = 0; i < x.ntensor; i++)
        for (size_t k = 0; k < y.ntensor; k++)
            if (tensor_may_share_memory(x.tensor[i], y.tensor[k])) return true;
    return false;
}

static uint64_t bytes_of_parts(const Value *v) {
    ValueParts p;
    get_value_parts(v, &p);
    uint64_t sum = p.nbyte;
    for (size_t i = 0; i < p.ntensor; i++)
        sum += tensor_bytes(p.tensor[i]);
    for (size_t i = 0; i < p.nitem; i++)
        sum += value_bytes(&p.item[i]);
    return sum;
}

uint64_t value_bytes(const Value *v) {
    ShapeInfo info;
    value_shape_info(v, &info);
    return shape_info_size(&info);
}

void value_shape_info(const Value *v, ShapeInfo *info) {
    info->cls = value_class(v);
    info->dtype = DT_NONE;
    info->n = 0;
    if (info->cls->shape_info && (v->kind == TYPE_TENSOR || v->obj)) {
        info->cls->shape_info(v, info);
    } else {
        info->n = 1;
        info->v[0] = (int64_t)bytes_of_parts(v);
    }
}

uint64_t shape_info_size(const ShapeInfo *info) {
    if (info->cls->size && info->dtype != DT_NONE) return info->cls->size(info);
    return (uint64_t)info->v[0];
}

const int64_t *value_sizes(const Value *v) {
    if (v->kind == TYPE_TENSOR) return v->t.shape;
    return v->kind == TYPE_SPARSE && v->obj ? ((const SparseObject *)v->obj)->shape
                                            : NULL;
}

/* ---- describing ---- */

const Type *value_type(Session *s, const Value *v) {
    const TypeClass *cls = value_class(v);
    return cls->type ? cls->type(s, v) : type_simple(s, v->kind);
}

void value_describe(Session *s, const Value *v, Str *out) {
    const TypeClass *cls = value_class(v);
    if (cls->describe)
        cls->describe(s, v, out);
    else
        str_puts(out, cls->a_value);
}

bool value_readable(Session *s, const Value *v, bool back) {
    ValueParts p;
    if (v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM || !v->obj) return true;
    const TypeClass *cls = value_class(v);
    if (cls->readable) return cls->readable(s, v, back);
    if (v->kind != TYPE_LIST) return true;
    get_value_parts(v, &p);
    for (size_t i = 0; i < p.nitem; i++)
        if (!value_readable(s, &p.item[i], back)) return false;
    return true;
}

void value_write(const ValueWriter *w, const Type *t, const Value *v, Str *out) {
    const TypeClass *cls = value_class(v);
    if (cls->text)
        cls->text(w, t, v, out);
    else
        str_puts(out, cls->name);
}

void value_show(Session *s, const Value *v, Str *out) {
    enum { LONG = 200, BYTES = 16 }; /* characters; bytes of an element at most */
    Str what = STR(s), text = STR(s);
    value_describe(s, v, &what);
    if (value_has_data(v) && value_bytes(v) <= LONG * BYTES)
        value_text(s, v, -1, &text);
    str_add(out, str_text(&what), what.n);
    if (text.n && text.n <= LONG && !strstr(str_text(&what), str_text(&text)))
        str_printf(out, ": %s", str_text(&text));
    str_free(&what);
    str_free(&text);
}

static void write_plain_tensor(void *ctx, const Tensor *t, Str *out) {
    tensor_text(ctx, t, -1, out);
}

void value_text(Session *s, const Value *v, int indent, Str *out) {
    const ValueWriter w = {s, false, write_plain_tensor, s};
    if (v->kind == TYPE_TENSOR)
        tensor_text(s, &v->t, indent, out);
    else
        value_write(&w, NULL, v, out);
}

void value_json(Session *s, const char *name, const Value *v, JsonWriter *w) {
    const TypeClass *cls = value_class(v);
    json_open(w, '{');
    if (name) json_member(w, "name", name);
    if (cls->json)
        cls->json(s, v, w);
    else
        json_member(w, "type", cls->name);
    json_close(w, "}");
}
