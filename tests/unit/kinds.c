/* Values and types of all kinds, each with each: which are equal, near, identical, and
 * which type takes, meets and joins which. */
#include "test.h"
#include "tools/tools.h"
#include "value/class.h"

#include <stdlib.h>

static Session *s;

static const Type *type_of(const char *text) {
    const Type *t = type_parse(s, text, strlen(text), NOWHERE);
    if (!t) abort();
    return t;
}

static Value value_of(const char *type, const char *text) {
    Value v = {0};
    Span at = {source_add(s, "t", text, strlen(text)), 0, (uint32_t)strlen(text)};
    if (!value_compile(s, at, type_of(type), (Filter){.allow_downcast = 1}, "v", &v)) {
        printf("%s: %s\n", text, diag_first_error(s)->text);
        abort();
    }
    return v;
}

/* ---- values ---- */
#define CSR  "sparse('csr', float64[?, ?])"
#define LIST "list(float64[?])"
/* Those of one number in `equal` are equal, those of one in `near` are close. */
static const struct {
    const char *type, *text;
    int equal, near;
} values[] = {
    {"float64[?]", "[1.0, 2.0]", 1, 1},
    {"float64[?]", "[1.0, 2.0]", 1, 1},
    {"float64[?]", "[1.0, 2.0000001]", 2, 1},
    {"float64[?]", "[1.0, 2.1]", 3, 3},
    {"float64[?, ?]", "[[1.0, 2.0]]", 4, 4},
    {"float32[?]", "[1.0, 2.0]", 5, 5},
    {"slice", "slice(0, 2)", 10, 10},
    {"slice", "slice(0, 2, None)", 10, 10},
    {"slice", "slice(0, 2, 1)", 11, 11},
    {"slice", "slice(None, 2)", 12, 12},
    {"slice", "slice(1, 2)", 13, 13},
    {"none", "None", 14, 14},
    {"random", "rng_state([1, 0, 0, 0])", 15, 15},
    {"random", "rng_state([1, 0, 0, 0])", 15, 15},
    {"random", "rng_state([2, 0, 0, 0])", 16, 16},
    {LIST, "[[1.0], [2.0, 3.0]]", 20, 20},
    {LIST, "[[1.0], [2.0, 3.0]]", 20, 20},
    {LIST, "[[1.0], [2.0, 3.0000001]]", 21, 20},
    {LIST, "[[1.0]]", 22, 22},
    {LIST, "[]", 23, 23},
    {LIST, "[[1.0], [2.0]]", 24, 24},
    {"list(list(float64[?]))", "[[[1.0]], []]", 25, 25},
    {"list(list(float64[?]))", "[[], [[1.0]]]", 26, 26},
    {CSR, "csr([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))", 30, 30},
    {CSR, "csr([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))", 30, 30},
    {CSR, "csr([1.0, 2.0000001], [0, 2], [0, 1, 2], (2, 3))", 31, 30},
    {CSR, "csr([1.0, 0.0, 2.0], [0, 1, 2], [0, 2, 3], (2, 3))", 32, 30},
    {CSR, "csr([1.0, 2.0, 0.0], [0, 1, 2], [0, 1, 3], (2, 3))", 33, 33},
    {CSR, "csr([0.0, 1.0, 2.0], [1, 2, 1], [0, 2, 3], (2, 3))", 34, 34},
    {CSR, "csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 3))", 35, 33},
    {CSR, "csr([1.0, 2.0], [0, 2], [0, 2, 2], (2, 3))", 36, 36},
    {CSR, "csr([1.0, 2.0], [0, 2], [0, 1, 2], (2, 4))", 37, 37},
    {CSR, "csr([1.0, 2.0], [0, 2], [0, 1, 2, 2], (3, 3))", 38, 38},
    {"sparse('csc', float64[?, ?])", "csc([1.0, 2.0], [0, 1], [0, 1, 1, 2], (2, 3))",
     39, 39},
    {"sparse('csr', float32[?, ?])", "csr([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))", 40,
     40},
    {CSR, "csr([inf], [0], [0, 1], (1, 1))", 41, 41},
    {CSR, "csr([-inf], [0], [0, 1], (1, 1))", 42, 42},
    {"sparse('csr', complex128[?, ?])", "csr([1.0 + 2j], [0], [0, 1], (1, 1))", 43, 43},
    {"sparse('csr', complex128[?, ?])", "csr([1.0 + 2.0000001j], [0], [0, 1], (1, 1))",
     44, 43},
    {"sparse('csr', complex128[?, ?])", "csr([1.0 - 2j], [0], [0, 1], (1, 1))", 45, 45},
};
enum { NVALUE = sizeof values / sizeof *values };

static void test_pairs(void) {
    Value v[NVALUE];
    for (int i = 0; i < NVALUE; i++)
        v[i] = value_of(values[i].type, values[i].text);
    for (int i = 0; i < NVALUE; i++)
        for (int k = 0; k < NVALUE; k++) {
            const char *x = values[i].text, *y = values[k].text;
            bool equal = values[i].equal == values[k].equal,
                 near = values[i].near == values[k].near;
            CHECK(value_equal(&v[i], &v[k]) == equal, "%s, %s", x, y);
            CHECK(value_approx(s, &v[i], &v[k], APPROX_DEFAULT) == near, "%s, %s", x,
                  y);
            CHECK(value_identical(&v[i], &v[k]) == equal, "%s, %s", x, y);
            CHECK(!equal || value_hash(&v[i]) == value_hash(&v[k]), "%s, %s", x, y);
            bool share = value_may_share_memory(&v[i], &v[k]);
            CHECK(i == k || !share, "%s, %s share memory", x, y);
        }
    for (int i = 0; i < NVALUE; i++) {
        Value copy, view;
        bool own;
        CHECK(value_clone(s, &v[i], &copy, &own) && value_equal(&copy, &v[i]), "%s",
              values[i].text);
        value_copy_view(&view, &v[i]);
        CHECK(value_may_share_memory(&view, &v[i]) == (v[i].kind != TYPE_NONE), "%s",
              values[i].text);
        value_unref(&copy);
        value_unref(&view);
        value_unref(&v[i]);
    }
}

/* Of sparse matrices, what another tolerance and what is taken for removed allow. */
static void test_tolerances(void) {
    static const struct {
        const char *x, *y;
        Approx how;
        bool near;
    } rows[] = {
        {"[nan]", "[nan]", {.rtol = -1, .atol = -1}, true},
        {"[nan]", "[1.0]", {.rtol = -1, .atol = -1}, false},
        {"[nan]", "[1.0]", {.rtol = -1, .atol = -1, .allow_remove_nan = true}, true},
        {"[1.0]", "[nan]", {.rtol = -1, .atol = -1, .allow_remove_nan = true}, false},
        {"[inf]", "[1.0]", {.rtol = -1, .atol = -1}, false},
        {"[inf]", "[1.0]", {.rtol = -1, .atol = -1, .allow_remove_inf = true}, true},
        {"[inf]", "[1.0]", {.rtol = -1, .atol = -1, .allow_remove_nan = true}, false},
        {"[1.0]", "[2.0]", {.rtol = -1, .atol = -1, .allow_remove_inf = true}, false},
        {"[1.0]", "[1.5]", {.rtol = 0.5, .atol = -1}, true},
        {"[1.0]", "[1.5]", {.rtol = -1, .atol = 0.5}, true},
        {"[1.0]", "[1.5]", {.rtol = 0.2, .atol = 0.2}, true},
        {"[1.0]", "[1.5]", {.rtol = 0.1, .atol = 0.2}, false},
        {"[1.0]", "[1.0]", {.rtol = 0, .atol = 0}, true},
        {"[1j]", "[1.0000001j]", {.rtol = -1, .atol = -1}, true},
        {"[1j]", "[1.1j]", {.rtol = -1, .atol = -1}, false},
        {"[complex(1.0, nan)]", "[complex(1.0, nan)]", {.rtol = -1, .atol = -1}, true},
        {"[complex(1.0, nan)]", "[1j]", {.rtol = -1, .atol = -1}, false},
        {"[complex(1.0, nan)]",
         "[1j]",
         {.rtol = -1, .atol = -1, .allow_remove_nan = true},
         true},
        {"[1j]",
         "[complex(0.0, nan)]",
         {.rtol = -1, .atol = -1, .allow_remove_nan = true},
         false},
        {"[complex(1.0, inf)]",
         "[1j]",
         {.rtol = -1, .atol = -1, .allow_remove_inf = true},
         true},
        {"[complex(1.0, inf)]",
         "[1j]",
         {.rtol = -1, .atol = -1, .allow_remove_nan = true},
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Value v[2];
        for (int k = 0; k < 2; k++) {
            char text[64];
            snprintf(text, sizeof text, "csr(%s, [0], [0, 1], (1, 1))",
                     k ? rows[i].y : rows[i].x);
            bool real = !strchr(rows[i].x, 'j') && !strchr(rows[i].y, 'j') &&
                        !strchr(rows[i].x, ',');
            v[k] = value_of(real ? CSR : "sparse('csr', complex128[?, ?])", text);
        }
        CHECK(value_approx(s, &v[0], &v[1], rows[i].how) == rows[i].near,
              "row %zu: %s, %s", i, rows[i].x, rows[i].y);
        value_unref(&v[0]);
        value_unref(&v[1]);
    }
}

/* ---- types ---- */
static const char *text_of(const Type *t) {
    return t ? type_str(s, t) : "-";
}

static void test_types(void) {
    static const struct {
        const char *a, *b;
        bool super, same_class; /* a takes all of b; dims of 1 are at the same places */
        const char *meet, *join;
    } rows[] = {
        {"float64[?]", "float64[3]", true, true, "float64[3]", "float64[?]"},
        {"float64[3]", "float64[?]", false, true, "float64[3]", "float64[?]"},
        {"float64[3]", "float64[1]", false, false, "-", "float64[?]"},
        {"float64[?]", "float64[1]", true, false, "float64[1]", "float64[?]"},
        {"float64[n]", "float64[3]", true, true, "float64[3]", "float64[?]"},
        {"float64[n]", "float64[m]", true, true, "float64[n]", "float64[?]"},
        {"float64", "float32", false, false, "-", "-"},
        {"float64", "float64[1]", false, false, "-", "-"},
        {"float64", "slice", false, false, "-", "-"},
        {"slice", "slice", true, true, "slice", "slice"},
        {"slice", "none", false, false, "-", "-"},
        {LIST, LIST, true, true, LIST, LIST},
        {LIST, "list(float64[3])", true, true, "list(float64[3])", LIST},
        {LIST, "list(list(float64[3]))", false, false, "-", "-"},
        {LIST, "float64[?]", false, false, "-", "-"},
        {"list(slice)", "list(slice)", true, true, "list(slice)", "list(slice)"},
        {"list(slice)", "list(random)", false, false, "-", "-"},
        {"list(list(int8[?]))", "list(list(int8[2]))", true, true,
         "list(list(int8[2]))", "list(list(int8[?]))"},
        {CSR, "sparse('csr', float64[2, ?])", true, true,
         "sparse('csr', float64[2, ?])", CSR},
        {CSR, "sparse('csc', float64[?, ?])", false, false, "-", "-"},
        {CSR, "sparse('csr', float32[?, ?])", false, false, "-", "-"},
        {CSR, "float64[?, ?]", false, false, "-", "-"},
        {"null('a')", "null('b')", true, true, "null('a')", "null('a')"},
        {"list(null('a'))", "list(null('b'))", true, true, "list(null('a'))",
         "list(null('a'))"},
        {"null('a')", "float64", false, false, "-", "-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Type *a = type_of(rows[i].a), *b = type_of(rows[i].b);
        const char *x = rows[i].a, *y = rows[i].b;
        CHECK(type_is_super(a, b) == rows[i].super, "%s, %s", x, y);
        CHECK(type_in_same_class(a, b) == rows[i].same_class, "%s, %s", x, y);
        CHECK(type_in_same_class(b, a) == rows[i].same_class, "%s, %s", x, y);
        CHECK(strcmp(text_of(type_meet(s, a, b)), rows[i].meet) == 0, "%s, %s: %s", x,
              y, text_of(type_meet(s, a, b)));
        CHECK(strcmp(text_of(type_join(s, a, b)), rows[i].join) == 0, "%s, %s: %s", x,
              y, text_of(type_join(s, a, b)));
        bool reasons = strstr(x, "null(") != NULL; /* of two, the first is kept */
        CHECK(reasons || type_join(s, a, b) == type_join(s, b, a), "%s, %s", x, y);
    }
}

int main(void) {
    s = tools_session(NULL, NULL);
    test_pairs();
    test_tolerances();
    test_types();
    session_free(s);
    return TEST_END("kinds");
}
