/* JSON read and written piece by piece. Documents as a whole are in io_text and
 * documents.bats, headers of safetensors in array and arrays.bats. */
#include "base/num.h"
#include "base/session.h"
#include "format/json.h"
#include "test.h"

#include <math.h>

static void skips(Session *s, const char *text, const char *wrong) {
    Arena *a = arena_new(s);
    JsonReader j = json_reader(s, a, text, strlen(text));
    bool ok = json_skip(&j);
    if (ok && !json_at_end(&j)) ok = json_fail(&j, "more");
    CHECK(ok == !wrong, "%s: %s", text, j.wrong ? j.wrong : "");
    CHECK(!wrong || (j.wrong && strstr(j.wrong, wrong)), "%s: %s", text,
          j.wrong ? j.wrong : "");
    arena_free(a);
}

static void test_skip(Session *s) {
    skips(s, " {\"a\": [1, -2.5e+3, {}, [[]]], \"b\": null, \"c\": \"}\\\"\"} ", NULL);
    skips(s, "true", NULL);
    skips(s, "1 2", "more");
    skips(s, "", "expected a value");
    skips(s, "[1, ", "expected a value");
    skips(s, "]", "expected a value");
    skips(s, "{\"a\": \"", "has no end");
    skips(s, "[\"\\uD83D\"]", "half of a surrogate pair");
    skips(s, "[\"\\uDC00\"]", "half of a surrogate pair");
    skips(s, "[\"\\uDFFF\"]", "half of a surrogate pair");
    skips(s, "[\"\\uD83D\\n\"]", "half of a surrogate pair");
    skips(s, "[\"\\uD83D\\uD83D\"]", "half of a surrogate pair");
    skips(s, "[\"\\uD83D\\uE000\"]", "half of a surrogate pair");
    skips(s, "[\"\\uD83D\\uDE0\"]", "four hexadecimal digits");
    skips(s, "[\"\\uD7FF\\uE000\\uFFFF\\uDBFF\\uDFFF\"]", NULL);
    skips(s, "[\"\\u0000\"]", "a zero character");
    skips(s, "[\"\\", "has no end");
    skips(s, "[\"\\x\"]", "no such escape");
    skips(s, "[-]", "expected a value");
    skips(s, "[01]", "expected a value");
    skips(s, "[1.]", "after the point");
    skips(s, "[1e]", "in the exponent");
    skips(s, "[1e+", "in the exponent");
    skips(s, "[0, -0.5E-3, 0e9]", NULL);
}

/* The sum of a list of numbers, or -1. */
static double sum_of(Session *s, const char *text, const char **wrong) {
    Arena *a = arena_new(s);
    JsonReader j = json_reader(s, a, text, strlen(text));
    double sum = 0, v;
    bool ok = json_want(&j, '[', "expected a list");
    for (size_t n = 0; ok && json_item(&j, ']', &n);) {
        const char *p;
        size_t len;
        ok = json_scalar(&j, &p, &len) && num_read_float(p, len, FLOAT64, &v) == len;
        if (ok) sum += v;
    }
    *wrong = j.wrong;
    arena_free(a);
    return ok && !j.wrong ? sum : -1;
}

static void test_items(Session *s) {
    const char *wrong;
    CHECK(sum_of(s, "[1, 2.5,\n3]", &wrong) == 6.5 && !wrong);
    CHECK(sum_of(s, "[ ]", &wrong) == 0 && !wrong);
    CHECK(sum_of(s, "[1 2]", &wrong) == -1 && strstr(wrong, "expected a comma"));
    CHECK(sum_of(s, "[1", &wrong) == -1 && strstr(wrong, "the list has no end"));
    CHECK(sum_of(s, "[1,]", &wrong) == -1 && strstr(wrong, "expected a value"));
    CHECK(sum_of(s, "{1}", &wrong) == -1 && strstr(wrong, "expected a list"));
    CHECK(sum_of(s, "[null]", &wrong) == -1 && !wrong);
}

static void test_texts(Session *s) {
    static const char text[] = "{\n \"plain\" : \"a\\n\\u00e9\\ud83d\\ude00\"}";
    Arena *a = arena_new(s);
    JsonReader j = json_reader(s, a, text, sizeof text - 1);
    JsonText key, value;
    size_t n = 0;
    CHECK(json_take(&j, '{') && json_item(&j, '}', &n) && json_key(&j, &key) &&
          json_string(&j, &value) && !json_item(&j, '}', &n) && json_at_end(&j));
    CHECK_STR(key.p, "plain");
    CHECK(key.exact && key.n == 5 && !value.exact && j.line == 2);
    CHECK_STR(value.p, "a\n\xc3\xa9\xf0\x9f\x98\x80");
    arena_free(a);
}

static void test_write(Session *s) {
    Str b = STR(s);
    JsonWriter w = {.out = &b};
    json_open(&w, '{');
    json_line(&w, "  ");
    json_member(&w, "a\"", "x\ty");
    json_line(&w, "  ");
    json_put_key(&w, "list");
    json_open(&w, '[');
    json_put_ints(&w, 0, NULL);
    json_put_ints(&w, 2, (int64_t[]){INT64_MIN, INT64_MAX});
    json_put_number(&w, 1e15);
    json_put_number(&w, 0.1);
    json_put_number(&w, 0x1p60);
    json_put_number(&w, (double)INFINITY);
    json_put_word(&w, "true");
    json_put_n(&w, "text", 2);
    json_close(&w, "]");
    json_member_number(&w, "n", -0.5);
    json_close(&w, "\n}");
    CHECK_STR(str_text(&b),
              "{\n  \"a\\\"\": \"x\\ty\",\n  \"list\": [[], "
              "[-9223372036854775808, 9223372036854775807], 1000000000000000, 0.1, "
              "1.152921504606847e+18, null, true, \"te\"], \"n\": -0.5\n}");
    str_clear(&b);
    JsonWriter c = {.out = &b, .compact = true};
    json_open(&c, '{');
    json_member(&c, "a", "");
    json_put_key(&c, "b");
    json_put_ints(&c, 2, (int64_t[]){1, 2});
    json_close(&c, "}");
    CHECK_STR(str_text(&b), "{\"a\":\"\",\"b\":[1,2]}");
    str_free(&b);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_skip(s);
    test_items(s);
    test_texts(s);
    test_write(s);
    session_free(s);
    return TEST_END("format_json");
}
