/* Types: promotion against NumPy's table, shapes, interning, text both ways. */
#include "type/type.h"

#include "test.h"

/* numpy.promote_types of NumPy 1.24, dtypes by number. */
static const signed char promoted[DT_N][DT_N] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
    {1, 1, 2, 3, 4, 2, 3, 4, 11, 9, 10, 11, 12, 13},
    {2, 2, 2, 3, 4, 2, 3, 4, 11, 10, 10, 11, 12, 13},
    {3, 3, 3, 3, 4, 3, 3, 4, 11, 11, 11, 11, 13, 13},
    {4, 4, 4, 4, 4, 4, 4, 4, 11, 11, 11, 11, 13, 13},
    {5, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
    {6, 3, 3, 3, 4, 6, 6, 7, 8, 10, 10, 11, 12, 13},
    {7, 4, 4, 4, 4, 7, 7, 7, 8, 11, 11, 11, 13, 13},
    {8, 11, 11, 11, 11, 8, 8, 8, 8, 11, 11, 11, 13, 13},
    {9, 9, 10, 11, 11, 9, 10, 11, 11, 9, 10, 11, 12, 13},
    {10, 10, 10, 11, 11, 10, 10, 11, 11, 10, 10, 11, 12, 13},
    {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 13, 13},
    {12, 12, 12, 13, 13, 12, 12, 13, 13, 12, 12, 13, 12, 13},
    {13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13},
};

static void test_dtypes(void) {
    for (int a = 0; a < DT_N; a++)
        for (int b = 0; b < DT_N; b++)
            CHECK(dtype_promote((DType)a, (DType)b) == promoted[a][b],
                  "%s and %s give %s", dtype_name((DType)a), dtype_name((DType)b),
                  dtype_name(dtype_promote((DType)a, (DType)b)));
    for (int d = 0; d < DT_N; d++)
        CHECK(dtype_find(dtype_name((DType)d), strlen(dtype_name((DType)d))) ==
              (DType)d);
    CHECK(dtype_find("floatX", 6) == DT_NONE);
    CHECK(dtype_find("float3", 6) == DT_NONE);
    CHECK(dtype_real(DT_COMPLEX64) == DT_FLOAT32 && dtype_real(DT_INT8) == DT_INT8);
    CHECK(dtype_inexact(DT_INT8, DT_FLOAT32) == DT_FLOAT32);
    CHECK(dtype_inexact(DT_INT8, DT_NONE) == DT_FLOAT64);
    CHECK(dtype_inexact(DT_FLOAT16, DT_FLOAT64) == DT_FLOAT16);
}

static void test_weak(void) {
    static const struct {
        DType d;
        DKind k;
        DType floatX, result;
    } cases[] = {
        {DT_FLOAT32, K_FLOAT, DT_FLOAT64, DT_FLOAT32},
        {DT_INT8, K_INT, DT_FLOAT64, DT_INT8},
        {DT_UINT8, K_INT, DT_FLOAT64, DT_UINT8},
        {DT_INT64, K_FLOAT, DT_FLOAT32, DT_FLOAT32},
        {DT_BOOL, K_INT, DT_FLOAT64, DT_INT64},
        {DT_BOOL, K_BOOL, DT_FLOAT64, DT_BOOL},
        {DT_FLOAT16, K_COMPLEX, DT_FLOAT64, DT_COMPLEX64},
        {DT_FLOAT64, K_COMPLEX, DT_FLOAT32, DT_COMPLEX128},
        {DT_INT32, K_COMPLEX, DT_FLOAT32, DT_COMPLEX64},
        {DT_INT32, K_COMPLEX, DT_NONE, DT_COMPLEX128},
        {DT_COMPLEX64, K_FLOAT, DT_FLOAT64, DT_COMPLEX64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(dtype_weak(cases[i].d, cases[i].k, cases[i].floatX) == cases[i].result,
              "case %zu", i);
}

static void test_ranges(void) {
    int64_t lo;
    uint64_t hi;
    dtype_int_range(DT_BOOL, &lo, &hi);
    CHECK(lo == 0 && hi == 1);
    dtype_int_range(DT_INT8, &lo, &hi);
    CHECK(lo == -128 && hi == 127);
    dtype_int_range(DT_INT64, &lo, &hi);
    CHECK(lo == INT64_MIN && hi == INT64_MAX);
    dtype_int_range(DT_UINT32, &lo, &hi);
    CHECK(lo == 0 && hi == UINT32_MAX);
    dtype_int_range(DT_UINT64, &lo, &hi);
    CHECK(lo == 0 && hi == UINT64_MAX);
}

static const Type *parse(Session *s, const char *text) {
    return type_parse(s, text, strlen(text), NOWHERE);
}

static void test_text(Session *s) {
    static const char *const same[] = {"float32[n, 64]",
                                       "int64",
                                       "float64[?]",
                                       "random",
                                       "list(float32[3])",
                                       "list(list(bool[0]))",
                                       "sparse('csr', float32[3, ?])",
                                       "sparse('csc', complex128[n, m])",
                                       "null('why')",
                                       "null('it\\'s \\\\ \\n')",
                                       "none",
                                       "slice",
                                       "disconnected",
                                       "uint8[9223372036854775807]"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const Type *t = parse(s, same[i]);
        CHECK(t != NULL, "%s", same[i]);
        if (t) CHECK_STR(type_str(s, t), same[i]);
        CHECK(t == parse(s, same[i]), "%s is interned", same[i]);
    }
    CHECK_STR(type_str(s, parse(s, " floatX [ n ,3, ] ")), "float64[n, 3]");
    session_options(s)->floatX = DT_FLOAT32;
    CHECK_STR(type_str(s, parse(s, "floatX")), "float32");
    session_options(s)->floatX = -1;
}

static void test_errors(Session *s) {
    static const struct {
        const char *text;
        DiagCode code;
        uint32_t begin, end; /* of the place in the text */
    } cases[] = {
        {"flot32[3]", E_DTYPE, 0, 6},
        {"float32[3", E_SYNTAX, 9, 9},
        {"float32[-1]", E_SYNTAX, 8, 9},
        {"float32[3, None]", E_SYNTAX, 11, 15},
        {"float32[3] x", E_SYNTAX, 11, 12},
        {"float32[99999999999999999999]", E_SHAPE, 8, 28},
        {"float32[9223372036854775808]", E_SHAPE, 8, 27},
        {"float32[]", E_SYNTAX, 8, 9},
        {"float32[1.5]", E_SYNTAX, 9, 10},
        {"list(float32", E_SYNTAX, 12, 12},
        {"sparse('bsr', float32[2, 2])", E_TYPE, 0, 28},
        {"sparse('csr', float32[2])", E_SHAPE, 0, 25},
        {"sparse('csr', bool[2, 2])", E_DTYPE, 0, 25},
        {"", E_SYNTAX, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].text);
        uint32_t src = source_add(s, "test", "xx", 2);
        Span at = {src, 100, 100 + (uint32_t)n};
        diag_clear(s);
        CHECK(!type_parse(s, cases[i].text, n, at), "%s", cases[i].text);
        CHECK(diag_count(s) == 1, "%s: one diagnostic", cases[i].text);
        const Diag *d = diag_first_error(s);
        CHECK(d && d->code == cases[i].code, "%s: %s", cases[i].text, d ? d->text : "");
        CHECK(d && d->at.begin == 100 + cases[i].begin &&
                  d->at.end == 100 + cases[i].end,
              "%s: at %u..%u", cases[i].text, d ? d->at.begin : 0, d ? d->at.end : 0);
    }
    diag_clear(s);
    parse(s, "flot32");
    CHECK(strstr(diag_first_error(s)->text, "float32") != NULL);
    diag_clear(s);
}

static void test_relations(Session *s) {
    const Type *q1 = parse(s, "float32[?, 1]"), *two1 = parse(s, "float32[2, 1]"),
               *three1 = parse(s, "float32[3, 1]"), *twoq = parse(s, "float32[2, ?]"),
               *n1 = parse(s, "float32[n, 1]"), *other = parse(s, "float64[2, 1]");
    CHECK(type_in_same_class(two1, three1) && type_in_same_class(q1, two1));
    CHECK(!type_in_same_class(two1, twoq) && !type_in_same_class(two1, other));
    CHECK(type_is_super(twoq, two1) && !type_is_super(two1, twoq));
    CHECK(type_is_super(n1, two1) && type_is_super(two1, two1));
    CHECK(!type_is_super(two1, three1) && !type_is_super(q1, twoq));
    CHECK(type_meet(s, q1, twoq) == two1 && type_meet(s, n1, q1) == n1);
    CHECK(type_meet(s, n1, two1) == two1 && !type_meet(s, two1, three1));
    CHECK(!type_meet(s, two1, other) && !type_meet(s, two1, parse(s, "float32[2]")));
    CHECK(type_in_same_class(parse(s, "null('a')"), parse(s, "null('b')")));
    CHECK(type_meet(s, parse(s, "list(list(int8[?]))"),
                    parse(s, "list(list(int8[4]))")) ==
          parse(s, "list(list(int8[4]))"));
    CHECK(!type_is_super(parse(s, "list(int8)"), parse(s, "int8")));
    CHECK(type_is_super(parse(s, "list(int8[?])"), parse(s, "list(int8[2])")));
    CHECK(type_with_dtype(s, two1, DT_FLOAT64) == other);
    CHECK(type_size(two1) == 2 && type_size(twoq) == -1);
    CHECK(type_size(parse(s, "int8[0, 9223372036854775807, 3]")) == 0);
    CHECK(type_size(parse(s, "int8[3, 9223372036854775807]")) == -1);
    CHECK(diag_count(s) == 0);
}

static void test_broadcast(Session *s) {
    static const struct {
        const char *a, *b, *result; /* NULL: they don't fit */
    } cases[] = {
        {"int8[2, 3]", "int8[3]", "int8[2, 3]"},
        {"int8[2, 1]", "int8[3]", "int8[2, 3]"},
        {"int8[3]", "int8[2, 1]", "int8[2, 3]"},
        {"int8[2]", "int8[3]", NULL},
        {"int8", "int8[?, n]", "int8[?, n]"},
        {"int8[?]", "int8[4]", "int8[4]"},
        {"int8[?]", "int8[1]", "int8[?]"},
        {"int8[n]", "int8[?]", "int8[n]"},
        {"int8[?]", "int8[n]", "int8[n]"},
        {"int8[n]", "int8[m]", "int8[n]"},
        {"int8[n]", "int8[4]", "int8[4]"},
        {"int8[0]", "int8[1]", "int8[0]"},
        {"int8[0]", "int8[2]", NULL},
        {"int8[1]", "int8[1]", "int8[1]"},
        {"int8[4, 1]", "int8[2, 4, 5]", "int8[2, 4, 5]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Type *a = parse(s, cases[i].a), *b = parse(s, cases[i].b);
        Dim out[MAX_NDIM] = {0};
        if (a->ndim) memcpy(out, a->dim, (size_t)a->ndim * sizeof *out);
        int n = shape_broadcast(a->ndim, out, b->ndim, b->dim, out); /* out is a */
        CHECK((n >= 0) == (cases[i].result != NULL), "%s, %s", cases[i].a, cases[i].b);
        if (n >= 0 && cases[i].result)
            CHECK_STR(type_str(s, type_tensor(s, DT_INT8, n, out)), cases[i].result);
    }
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_dtypes();
    test_weak();
    test_ranges();
    test_text(s);
    test_errors(s);
    test_relations(s);
    test_broadcast(s);
    session_free(s);
    return TEST_END("type");
}
