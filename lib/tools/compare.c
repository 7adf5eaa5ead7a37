/* Compares results. */
#include "tools/compare.h"

bool compare_values(Session *s, const Value *a, const Value *b, Approx how,
                    int64_t *where) {
    *where = -1;
    if (a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR)
        return tensor_approx(&a->t, &b->t, how, where);
    return value_approx(s, a, b, how);
}

enum { SHOWN_ELEMENTS = 8, SHOWN_TEXT = 400 };

static void put_short_value(Session *s, const Value *v, Str *out) {
    Str text = STR(s);
    value_text(s, v, -1, &text);
    if (text.n <= SHOWN_TEXT)
        str_add(out, str_text(&text), text.n);
    else
        value_describe(s, v, out);
    str_free(&text);
}

bool compare_note(Session *s, const Value *a, const char *as, const Value *b,
                  const char *bs, int64_t where) {
    Str text = STR(s);
    bool tensors = a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR;
    if (tensors && !tensor_same_shape(&a->t, &b->t)) {
        shape_text(s, a->t.ndim, a->t.shape, &text);
        str_puts(&text, " against ");
        shape_text(s, b->t.ndim, b->t.shape, &text);
        note(s, NOWHERE, "the shapes are %s", str_text(&text));
    } else if (tensors && tensor_size(&a->t) > SHOWN_ELEMENTS && where >= 0) {
        note(s, NOWHERE,
             "the worst difference is at flat index %lld: %s %.17g, %s %.17g",
             (long long)where, as, tensor_f64(&a->t, where), bs,
             tensor_f64(&b->t, where));
    } else {
        str_printf(&text, "%s ", as);
        put_short_value(s, a, &text);
        str_printf(&text, ", %s ", bs);
        put_short_value(s, b, &text);
        note(s, NOWHERE, "%s", str_text(&text));
    }
    str_free(&text);
    return false;
}

const Type *type_of_any_shape(Session *s, const Type *t) {
    Dim any[MAX_NDIM];
    if (t->kind == TYPE_LIST) return type_list(s, type_of_any_shape(s, t->elem));
    for (int i = 0; i < t->ndim; i++)
        any[i] = DIM_UNKNOWN;
    return type_clone(s, t, DT_NONE, t->ndim, any);
}
