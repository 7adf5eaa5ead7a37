/* The filter of tensor types: what it accepts, the order of its checks, its words. */
#define CLAUSE_filter CLAUSE_RUN
#include "contract.h"
#include "value/value.h"

#include <math.h>

static const Filter unset = {.allow_downcast = -1},
                    strict = {.strict = true, .allow_downcast = -1},
                    allow = {.allow_downcast = 1}, never = {.allow_downcast = 0};

static Tensor make(Session *s, DType d, int ndim, const int64_t *shape) {
    Tensor t;
    CHECK(tensor_zeros(s, d, ndim, shape, &t));
    return t;
}

static const Type *type(Session *s, const char *text) {
    return type_parse(s, text, strlen(text), NOWHERE);
}

static void accepts(Session *s, const char *text, const Tensor *v, Filter how,
                    bool same) {
    Tensor out;
    bool ok = tensor_filter(s, type(s, text), v, &(Receiver){how, "x", NOWHERE}, &out);
    CHECK(ok, "%s: %s", text, ok ? "" : diag_first_error(s)->text);
    diag_clear(s);
    if (!ok) return;
    CHECK(out.dtype == type(s, text)->dtype && tensor_same_shape(&out, v));
    CHECK((out.data == v->data) == same, "%s: a copy or not", text);
    tensor_unref(&out);
}

static void refuses(Session *s, const char *text, const Tensor *v, Filter how,
                    DiagCode code, const char *part) {
    Tensor out;
    CHECK(!tensor_filter(s, type(s, text), v, &(Receiver){how, "x", NOWHERE}, &out),
          "%s", text);
    CHECK(diag_count(s) == 1 && diag_first_error(s)->code == code, "%s: %s", text,
          diag_first_error(s)->text);
    CHECK(strstr(diag_first_error(s)->text, part) != NULL, "%s",
          diag_first_error(s)->text);
    diag_clear(s);
}

static void test_dtypes(Session *s) {
    const int64_t n[1] = {3};
    Tensor i64 = make(s, DT_INT64, 1, n), f64 = make(s, DT_FLOAT64, 1, n),
           f32 = make(s, DT_FLOAT32, 1, n), u8 = make(s, DT_UINT8, 1, n),
           z = make(s, DT_COMPLEX64, 1, n);
    accepts(s, "int64[3]", &i64, unset, true);
    accepts(s, "int64[3]", &i64, strict, true);
    accepts(s, "float64[?]", &i64, unset, false); /* although 2^53 + 1 changes */
    accepts(s, "float64[n]", &f32, unset, false);
    accepts(s, "int16[3]", &u8, unset, false);
    accepts(s, "complex64[3]", &f32, never, false);
    refuses(s, "float64[3]", &i64, strict, E_DTYPE, "strict");
    refuses(s, "int64[3]", &f64, unset, E_DTYPE, "without risking loss of precision");
    refuses(s, "float32[3]", &f64, unset, E_DTYPE, "loss of precision");
    refuses(s, "float32[3]", &f64, never, E_DTYPE,
            "x: expected float32[3], got a float64 array of shape (3,)");
    refuses(s, "float32[3]", &i64, unset, E_DTYPE, "float32(...)");
    refuses(s, "int8[3]", &u8, unset, E_DTYPE, "uint8");
    refuses(s, "float64[3]", &z, unset, E_DTYPE, "complex64");
    accepts(s, "float32[3]", &f64, allow, false);
    accepts(s, "int8[3]", &z, allow, false);
    tensor_unref(&i64);
    tensor_unref(&f64);
    tensor_unref(&f32);
    tensor_unref(&u8);
    tensor_unref(&z);
}

static void test_shapes(Session *s) {
    const int64_t n[2] = {2, 3};
    Tensor t = make(s, DT_FLOAT32, 2, n);
    accepts(s, "float32[2, 3]", &t, strict, true);
    accepts(s, "float32[n, ?]", &t, strict, true);
    refuses(s, "float32[3]", &t, unset, E_SHAPE, "2 instead of 1");
    refuses(s, "float32[?, 4]", &t, unset, E_SHAPE, "dim 1 must be 4, not 3");
    refuses(s, "float64[2, 1]", &t, unset, E_SHAPE, "dim 1 must be 1, not 3");
    /* the dtype is looked at before the shape, the rank before the dims */
    refuses(s, "int32[7]", &t, unset, E_DTYPE, "precision");
    refuses(s, "float32[9]", &t, unset, E_SHAPE, "wrong number of dims");
    Tensor odd = t;
    odd.data = (char *)t.data + 1;
    odd.ndim = 1;
    odd.shape[0] = 2;
    odd.stride[0] = 4;
    refuses(s, "float32[5]", &odd, unset, E_VALUE, "aligned"); /* before the dims */
    refuses(s, "float32[2, 2]", &odd, unset, E_SHAPE, "wrong number"); /* after these */
    accepts(s, "float64[2]", &odd, unset, false); /* a conversion aligns */
    tensor_unref(&t);
}

static void test_kinds(Session *s) {
    Tensor t = make(s, DT_FLOAT32, 0, NULL);
    refuses(s, "random", &t, unset, E_TYPE, "expected random, got a float32 scalar");
    refuses(s, "null('no derivative')", &t, unset, E_NULL, "no derivative");
    refuses(s, "disconnected", &t, unset, E_TYPE, "disconnected");
    tensor_unref(&t);
}

/* The last of the checks. */
static void test_finite(Session *s) {
    const int64_t n[1] = {3};
    Filter finite = {.finite = true, .allow_downcast = -1};
    Tensor f = make(s, DT_FLOAT32, 1, n), z = make(s, DT_COMPLEX64, 1, n);
    accepts(s, "float32[3]", &f, finite, true);
    ((float *)f.data)[1] = HUGE_VALF;
    accepts(s, "float32[3]", &f, unset, true);
    refuses(s, "float32[3]", &f, finite, E_NAN, "element 1 is not finite");
    refuses(s, "float32[2]", &f, finite, E_SHAPE, "dim 0");
    ((float *)z.data)[5] = (float)NAN; /* the imaginary part of the last */
    refuses(s, "complex64[3]", &z, finite, E_NAN, "element 2 is not finite");
    Tensor i = make(s, DT_INT64, 1, n);
    accepts(s, "int64[3]", &i, finite, true);
    tensor_unref(&f);
    tensor_unref(&z);
    tensor_unref(&i);
}

static void test_clauses(Session *s) {
#include "contract.def"
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_clauses(s);
    CHECK(buffer_bytes_used(s) == 0);
    session_free(s);
    return TEST_END("filter");
}
