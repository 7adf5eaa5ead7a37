/* What a tensor type accepts: the checks of contract 002's filter, in its order. */
#include "value/value_impl.h"

/* "expected float32[n, 3], got a float64 array of shape (2, 3)", then the way on. */
static bool refuse(Session *s, Span at, DiagCode code, const char *what, const Type *t,
                   const Tensor *v, const char *why) {
    Str got = STR(s);
    tensor_describe(s, v, &got);
    fail(s, at, code, "%s: expected %s, got %s: %s", what, type_str(s, t),
         str_text(&got), why);
    str_free(&got);
    return false;
}

static bool check_dtype(Session *s, const Type *t, const Tensor *v, Filter how,
                        const char *what, Span at) {
    DType want = t->dtype, got = v->dtype;
    if (want == got) return true;
    if (how.strict)
        return refuse(s, at, E_DTYPE, what, t, v,
                      "a strict check converts nothing; convert it before");
    if (how.allow_downcast == 1 || dtype_promote(want, got) == want) return true;
    Str why = STR(s);
    str_printf(&why,
               "%s can't be converted to %s without risking loss of precision; convert "
               "it with %s(...) or allow it with --allow-downcast",
               dtype_name(got), dtype_name(want), dtype_name(want));
    refuse(s, at, E_DTYPE, what, t, v, str_text(&why));
    str_free(&why);
    return false;
}

static bool check_aligned(Session *s, const Type *t, const Tensor *v, const char *what,
                          Span at) {
    size_t align = dtype_size(dtype_real(v->dtype));
    bool ok = (uintptr_t)v->data % align == 0;
    for (int i = 0; i < v->ndim; i++)
        ok = ok && v->stride[i] % (int64_t)align == 0;
    if (ok || v->dtype != t->dtype) return true; /* a conversion aligns */
    return refuse(s, at, E_VALUE, what, t, v, "its elements are not aligned; copy it");
}

static bool check_ndim(Session *s, const Type *t, const Tensor *v, const char *what,
                       Span at) {
    if (t->ndim == v->ndim) return true;
    Str why = STR(s);
    str_printf(&why, "wrong number of dims, %d instead of %d", v->ndim, t->ndim);
    refuse(s, at, E_SHAPE, what, t, v, str_text(&why));
    str_free(&why);
    return false;
}

static bool check_dims(Session *s, const Type *t, const Tensor *v, const char *what,
                       Span at) {
    int i = 0;
    while (i < t->ndim && (!dim_is_known(t->dim[i]) || t->dim[i] == v->shape[i]))
        i++;
    if (i == t->ndim) return true;
    Str why = STR(s);
    str_printf(&why, "dim %d must be %lld, not %lld", i, (long long)t->dim[i],
               (long long)v->shape[i]);
    refuse(s, at, E_SHAPE, what, t, v, str_text(&why));
    str_free(&why);
    return false;
}

bool tensor_filter(Session *s, const Type *t, const Tensor *v, Filter how,
                   const char *what, Span at, Tensor *out) {
    if (t->kind == TYPE_NULL)
        return fail(s, at, E_NULL, "%s is undefined and can't hold a value: %s", what,
                    t->why);
    if (t->kind != TYPE_TENSOR)
        return refuse(s, at, E_TYPE, what, t, v, "an array is no value of this type");
    if (!check_dtype(s, t, v, how, what, at) || !check_ndim(s, t, v, what, at) ||
        !check_aligned(s, t, v, what, at) || !check_dims(s, t, v, what, at))
        return false;
    if (v->dtype != t->dtype) return tensor_cast(s, v, t->dtype, out);
    tensor_copy_view(out, v);
    return true;
}
