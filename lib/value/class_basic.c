/* The classes of tensors, random states and slices, and those with a single value or
 * none. */
#include "value/class_impl.h"
#include "value/rng.h"

#include <string.h>

/* ---- tensors ---- */

static bool filter_tensor(Session *s, const Type *t, const Value *v, const Receiver *to,
                          Value *out) {
    if (v->kind != TYPE_TENSOR) return class_fail_kind(s, t, v, to);
    out->kind = TYPE_TENSOR;
    return tensor_filter(s, t, &v->t, to, &out->t);
}

static bool equal_tensor(const Value *a, const Value *b) {
    return tensor_equal(&a->t, &b->t);
}
static bool approx_tensor(Session *s, const Value *a, const Value *b, Approx how) {
    (void)s;
    return tensor_approx(&a->t, &b->t, how, NULL);
}
static const Type *type_of_tensor(Session *s, const Value *v) {
    return type_tensor(s, v->t.dtype, v->t.ndim, v->t.shape);
}
static void describe_tensor(Session *s, const Value *v, Str *out) {
    tensor_describe(s, &v->t, out);
}
static void text_of_tensor(const ValueWriter *w, const Type *t, const Value *v,
                           Str *out) {
    (void)t;
    w->tensor(w->ctx, &v->t, out);
}
static void json_of_tensor(Session *s, const Value *v, JsonWriter *w) {
    tensor_json_members(s, &v->t, w);
}

static void parts_of_tensor(const Value *v, ValueParts *p) {
    p->ntensor = v->t.data != NULL;
    p->tensor[0] = &v->t;
}
static bool build_tensor(Session *s, const Type *t, const ValueParts *p, Value *out) {
    if (p->ntensor != 1)
        return fail(s, NOWHERE, E_FORMAT, "a value of type %s is one array",
                    type_str(s, t));
    out->kind = TYPE_TENSOR;
    return tensor_filter(s, t, p->tensor[0],
                         &(Receiver){{.strict = true}, "a constant", NOWHERE}, &out->t);
}

static void shape_info_of_tensor(const Value *v, ShapeInfo *info) {
    info->dtype = v->t.dtype;
    info->n = v->t.ndim;
    if (v->t.ndim) memcpy(info->v, v->t.shape, (size_t)v->t.ndim * sizeof *info->v);
}
static uint64_t size_of_tensor(const ShapeInfo *info) {
    uint64_t n = dtype_size(info->dtype);
    for (int i = 0; i < info->n; i++)
        n *= (uint64_t)info->v[i];
    return n;
}

const TypeClass class_tensor = {
    .name = "tensor",
    .a_value = "a tensor",
    .form = "float32[n, 64]; int64 (a scalar); float64[?]",
    .holds = "an array of one of 14 dtypes; a dim is known, named, or unknown (?)",
    .filters = "arrays of a dtype that converts without loss by dtype alone (any if "
               "downcasts are allowed, none if the check is strict); then rank, "
               "alignment and known dims must fit",
    .compares =
        "shape and dtype; integers and bools exactly, the rest |a - b| <= atol "
        "+ rtol * |b|, by atol and rtol: float16 1e-3, 1e-3; float32 and complex64 "
        "1e-5, 1e-5; float64 and complex128 1e-8, 1e-5",
    .sizes = "elements times bytes of the dtype",
    .filter = filter_tensor,
    .equal = equal_tensor,
    .approx = approx_tensor,
    .type = type_of_tensor,
    .describe = describe_tensor,
    .text = text_of_tensor,
    .json = json_of_tensor,
    .parts = parts_of_tensor,
    .build = build_tensor,
    .shape_info = shape_info_of_tensor,
    .size = size_of_tensor,
};

/* ---- states of random streams ---- */

static bool filter_random(Session *s, const Type *t, const Value *v, const Receiver *to,
                          Value *out) {
    const int64_t words = 4;
    if (v->kind != TYPE_RANDOM && (to->how.strict || v->kind != TYPE_TENSOR))
        return class_fail_kind(s, t, v, to);
    const Type *state = type_tensor(s, DT_UINT64, 1, &words);
    out->kind = TYPE_RANDOM;
    return tensor_filter(s, state, &v->t,
                         &(Receiver){{.strict = true}, to->what, to->at}, &out->t) ||
           note(s, NOWHERE,
                "expected the state of a random stream, such as rng(5), which is "
                "seeded with 5");
}

static void text_of_random(const ValueWriter *w, const Type *t, const Value *v,
                           Str *out) {
    (void)t;
    str_puts(out, "rng_state(");
    tensor_text(w->s, &v->t, -1, out);
    str_putc(out, ')');
}
static void json_of_random(Session *s, const Value *v, JsonWriter *w) {
    json_member(w, "type", "random");
    tensor_json_data(s, "state", &v->t, w);
}
static bool build_random(Session *s, const Type *t, const ValueParts *p, Value *out) {
    if (p->ntensor != 1)
        return fail(s, NOWHERE, E_FORMAT, "a random state is one uint64[4] array");
    Value state = {.kind = TYPE_TENSOR, .t = *p->tensor[0]};
    return filter_random(
        s, t, &state, &(Receiver){{.allow_downcast = 0}, "a constant", NOWHERE}, out);
}

const TypeClass class_random = {
    .name = "random",
    .a_value = "a random state",
    .form = "random",
    .holds = "the state of a Philox4x32-10 stream: seed, stream, position",
    .filters = "unless strict, a uint64[4] array {seed, stream, position, 0}",
    .compares = "all four words",
    .sizes = "32 bytes",
    .fixed = true,
    .each = 4 * sizeof(uint64_t),
    .filter = filter_random,
    .text = text_of_random,
    .json = json_of_random,
    .parts = parts_of_tensor,
    .build = build_random,
};

/* ---- slices ---- */

static bool filter_slice(Session *s, const Type *t, const Value *v, const Receiver *to,
                         Value *out) {
    if (v->kind != TYPE_SLICE || !v->obj) return class_fail_kind(s, t, v, to);
    value_copy_view(out, v);
    return true;
}

static void text_of_slice(const ValueWriter *w, const Type *t, const Value *v,
                          Str *out) {
    const SliceObject *o = v->obj;
    (void)w, (void)t;
    str_puts(out, "slice(");
    for (int i = 0; i < 3; i++) {
        str_puts(out, i ? ", " : "");
        if (o->has[i])
            str_printf(out, "%lld", (long long)o->part[i]);
        else
            str_puts(out, "None");
    }
    str_putc(out, ')');
}

static void json_of_slice(Session *s, const Value *v, JsonWriter *w) {
    static const char *const names[] = {"start", "stop", "step"};
    const SliceObject *o = v->obj;
    (void)s;
    json_member(w, "type", "slice");
    for (int i = 0; i < 3; i++) {
        json_put_key(w, names[i]);
        if (o->has[i])
            json_put_int(w, o->part[i]);
        else
            json_put_word(w, "null");
    }
}

static void parts_of_slice(const Value *v, ValueParts *p) {
    const SliceObject *o = v->obj;
    p->nnumber = 6;
    for (int i = 0; i < 3; i++) {
        p->number[i] = o->has[i];
        p->number[i + 3] = o->part[i];
    }
}
static bool build_slice(Session *s, const Type *t, const ValueParts *p, Value *out) {
    bool has[3];
    (void)t;
    for (int i = 0; i < 3; i++)
        has[i] = p->nnumber == 6 && p->number[i] == 1;
    if (p->nnumber != 6 || (p->number[0] | p->number[1] | p->number[2]) >> 1)
        return fail(s, NOWHERE, E_FORMAT, "a slice is three integers or None");
    *out = (Value){.kind = TYPE_SLICE, .obj = slice_new(s, has, p->number + 3)};
    return true;
}

static uint64_t size_of_nothing(const ShapeInfo *info) {
    (void)info;
    return 0;
}
static void shape_info_of_nothing(const Value *v, ShapeInfo *info) {
    (void)v;
    info->dtype = DT_BOOL;
}

const TypeClass class_slice = {
    .name = "slice",
    .a_value = "a slice",
    .form = "slice",
    .holds = "start, stop and step of an index, each an integer or None",
    .filters = "nothing else",
    .compares = "all three parts",
    .sizes = "none",
    .filter = filter_slice,
    .text = text_of_slice,
    .json = json_of_slice,
    .parts = parts_of_slice,
    .build = build_slice,
    .shape_info = shape_info_of_nothing,
    .size = size_of_nothing,
    .fixed = true,
};

/* ---- None ---- */

static bool filter_none(Session *s, const Type *t, const Value *v, const Receiver *to,
                        Value *out) {
    if (v->kind != TYPE_NONE) return class_fail_kind(s, t, v, to);
    out->kind = TYPE_NONE;
    return true;
}
static void text_of_none(const ValueWriter *w, const Type *t, const Value *v,
                         Str *out) {
    (void)w, (void)t, (void)v;
    str_puts(out, "None");
}
static void json_of_none(Session *s, const Value *v, JsonWriter *w) {
    (void)s, (void)v;
    json_member(w, "type", "none");
    json_put_key(w, "value");
    json_put_word(w, "null");
}
static void no_parts(const Value *v, ValueParts *p) {
    (void)v, (void)p;
}
static bool build_none(Session *s, const Type *t, const ValueParts *p, Value *out) {
    (void)s, (void)t, (void)p;
    *out = (Value){.kind = TYPE_NONE};
    return true;
}

const TypeClass class_none = {
    .name = "none",
    .a_value = "None",
    .form = "none",
    .holds = "None",
    .filters = "nothing else",
    .compares = "always equal",
    .sizes = "none",
    .filter = filter_none,
    .text = text_of_none,
    .json = json_of_none,
    .parts = no_parts,
    .build = build_none,
    .shape_info = shape_info_of_nothing,
    .size = size_of_nothing,
    .fixed = true,
};

/* ---- {}, an empty tree ---- */

static bool filter_empty(Session *s, const Type *t, const Value *v, const Receiver *to,
                         Value *out) {
    if (v->kind != TYPE_EMPTY) return class_fail_kind(s, t, v, to);
    out->kind = TYPE_EMPTY;
    return true;
}
static void text_of_empty(const ValueWriter *w, const Type *t, const Value *v,
                          Str *out) {
    (void)w, (void)t, (void)v;
    str_puts(out, "{}");
}
static void json_of_empty(Session *s, const Value *v, JsonWriter *w) {
    (void)s, (void)v;
    json_member(w, "type", "empty");
    json_put_key(w, "value");
    json_put_word(w, "{}");
}
static bool build_empty(Session *s, const Type *t, const ValueParts *p, Value *out) {
    (void)s, (void)t, (void)p;
    *out = (Value){.kind = TYPE_EMPTY};
    return true;
}

const TypeClass class_empty = {
    .name = "empty",
    .a_value = "{}",
    .form = "empty",
    .holds = "{}: an empty dict as output, such as when nothing was reaped",
    .filters = "nothing else",
    .compares = "always equal",
    .sizes = "none",
    .filter = filter_empty,
    .text = text_of_empty,
    .json = json_of_empty,
    .parts = no_parts,
    .build = build_empty,
    .shape_info = shape_info_of_nothing,
    .size = size_of_nothing,
    .fixed = true,
};

/* ---- types without values ---- */

static bool filter_null(Session *s, const Type *t, const Value *v, const Receiver *to,
                        Value *out) {
    (void)v, (void)out;
    return fail(s, to->at, E_NULL, "%s is undefined and can't hold a value: %s",
                to->what, t->why);
}
static bool filter_disconnected(Session *s, const Type *t, const Value *v,
                                const Receiver *to, Value *out) {
    (void)t, (void)out;
    Str got = STR(s);
    value_describe(s, v, &got);
    fail(s, to->at, E_TYPE,
         "%s: expected nothing, got %s: the type disconnected means that there is no "
         "dependence, and never holds a value",
         to->what, str_text(&got));
    str_free(&got);
    return false;
}

const TypeClass class_null = {
    .name = "null",
    .a_value = "null",
    .form = "null('why')",
    .holds = "nothing: a derivative that is undefined, and why; all such types are one "
             "class",
    .filters = "nothing: an error that says why",
    .compares = "an error",
    .sizes = "none",
    .filter = filter_null,
    .no_values = true,
};
const TypeClass class_disconnected = {
    .name = "disconnected",
    .a_value = "nothing",
    .form = "disconnected",
    .holds = "nothing: the derivative with respect to something that the cost does not "
             "depend on",
    .filters = "nothing: an error",
    .compares = "an error",
    .sizes = "none",
    .filter = filter_disconnected,
    .no_values = true,
};
