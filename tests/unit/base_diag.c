/* Diagnostics, notes, rewinding, sources and places. */
#include "base/session.h"
#include "test.h"

#include <malloc.h>

static void test_diags(Session *s) {
    CHECK_STR(diag_name(E_SHAPE), "E_SHAPE");
    CHECK(diag_exit(E_USAGE) == 2 && diag_exit(E_MEM) == 6);
    CHECK(strlen(diag_text(E_IO)) > 10);
    CHECK(diag_first_error(s) == NULL);
    CHECK(!note(s, NOWHERE, "to nothing") && !hint(s, HINT_PACK));
    CHECK(diag_count(s) == 0);
    warn(s, NOWHERE, E_VALUE, "careful with %d", 3);
    CHECK(diag_first_error(s) == NULL);
    CHECK(!fail(s, ((Span){1, 2, 3}), E_SHAPE, "%s is %d", "x", 7));
    note(s, NOWHERE, "first");
    note(s, NOWHERE, "second %d", 2);
    CHECK(!hint(s, HINT_MAX_MEMORY));
    diag_set_exit(s, 42);
    fail(s, NOWHERE, E_IO, "%s", "");
    CHECK(diag_count(s) == 3);
    const Diag *d = diag_first_error(s);
    CHECK(d == diag_get(s, 1) && d->code == E_SHAPE && d->exit == 42 &&
          d->at.begin == 2);
    CHECK_STR(d->text, "x is 7");
    CHECK_STR(d->notes->text, "first");
    CHECK_STR(d->notes->next->text, "second 2");
    CHECK(!d->notes->hint && !d->notes->next->hint);
    const DiagNote *last = d->notes->next->next;
    CHECK(last->hint == HINT_MAX_MEMORY && last->next == NULL);
    CHECK_STR(last->text, "the limit of memory can be raised");
    CHECK(diag_get(s, 0)->severity == DIAG_WARNING && diag_get(s, 3) == NULL);
    CHECK_STR(diag_get(s, 2)->text, "");
    diag_rewind(s, 1);
    CHECK(diag_count(s) == 1 && diag_first_error(s) == NULL);
    CHECK_STR(diag_get(s, 0)->text, "careful with 3");
    diag_clear(s);
    CHECK(diag_count(s) == 0);
}

static void test_rewind_is_free(Session *s) {
    size_t arena = arena_bytes(session_arena(s));
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 100000; i++) {
        size_t mark = diag_count(s);
        fail(s, NOWHERE, E_TYPE, "attempt %d of very many, with a text of some length",
             i);
        note(s, NOWHERE, "because of %d", i);
        diag_rewind(s, mark);
    }
    struct mallinfo2 after = mallinfo2();
    CHECK(arena_bytes(session_arena(s)) == arena);
    CHECK(after.uordblks < before.uordblks + 10000);
}

static void check_place(Session *s, Span at, uint32_t line, uint32_t col) {
    uint32_t l, c;
    span_place(s, at, &l, &c);
    CHECK(l == line && c == col, "%u:%u, not %u:%u", l, c, line, col);
}

static void test_places(Session *s) {
    const char *text = "ab\nc\xc3\xa4"
                       "d\n\nlast";
    uint32_t a = source_add(s, "a.yaml", text, strlen(text));
    uint32_t b = source_add_at(s, "b.yaml", "xy\nz", 4, 10, 5);
    CHECK(a == 1 && b == 2 && source_count(s) == 2);
    CHECK(source_get(s, 0) == NULL && source_get(s, 3) == NULL);
    CHECK_STR(source_get(s, a)->name, "a.yaml");
    check_place(s, ((Span){a, 0, 1}), 1, 1);
    check_place(s, ((Span){a, 6, 7}), 2, 3); /* after the two bytes of one character */
    check_place(s, ((Span){a, 9, 9}), 4, 1);
    check_place(s, ((Span){a, 99, 99}), 4, 5);
    check_place(s, ((Span){b, 1, 1}), 10, 6);
    check_place(s, ((Span){b, 3, 3}), 11, 1);
    check_place(s, ((Span){a, 1, 2}), 1, 2); /* backwards */
    check_place(s, ((Span){a, 3, 3}), 2, 1);
    check_place(s, ((Span){b, 1, 1}), 10, 6);
}

static const char *note_at(Session *s, unsigned k, uint32_t *line) {
    const DiagNote *n = diag_get(s, diag_count(s) - 1)->notes;
    uint32_t col;
    while (n && k-- > 0)
        n = n->next;
    if (n) span_place(s, n->at, line, &col);
    return n ? n->text : "none";
}

/* inner is called in line 2 of outer, which is called in line 1 of main: first the body
 * of inner replaces its call, then the body of outer with it. */
static void test_called(Session *s) {
    uint32_t main = source_add(s, "main", "f(x)", 4), line = 0,
             outer = source_add(s, "outer", "a\ng(x)", 6),
             inner = source_add(s, "inner", "\n\nb", 3);
    Span in_outer = {outer, 2, 6}, in_main = {main, 0, 4}, at = {inner, 2, 3};
    uint32_t once = source_called(s, inner, in_outer);
    CHECK(once != inner && source_called(s, inner, in_outer) == once);
    CHECK(source_called(s, inner, in_main) != once);
    CHECK(source_called(s, inner, NOWHERE) == inner && source_called(s, 0, at) == 0);
    at.source = source_called(s, once, in_main);
    CHECK(at.source == source_called(s, once, in_main));
    CHECK(source_is_same(s, at.source, inner) && !source_is_same(s, at.source, outer));
    CHECK_STR(source_get(s, at.source)->name, "inner");
    check_place(s, at, 3, 1);
    fail(s, at, E_TYPE, "no");
    note(s, NOWHERE, "so it is");
    CHECK_STR(note_at(s, 0, &line), "called here");
    CHECK(line == 2);
    CHECK_STR(note_at(s, 1, &line), "called here");
    CHECK(line == 1);
    CHECK_STR(note_at(s, 2, &line), "so it is");
    CHECK_STR(note_at(s, 3, &line), "none");
    for (unsigned i = 0; i < 2 * CALL_DEPTH; i++)
        once = source_called(s, once, (Span){outer, 0, 1});
    CHECK(source_get(s, once)->calls == CALL_DEPTH);
    diag_clear(s);
}

/* Places of a long text in any order: lines of 7 bytes, some with a character of two.
 */
static void test_far_places(Session *s) {
    enum { LINES = 5000 };
    Str text = STR(s);
    for (int i = 0; i < LINES; i++)
        str_puts(&text, i % 3 ? "abcdef\n"
                              : "a\xc3\xa4"
                                "def\n");
    uint32_t a = source_add(s, "long.yaml", str_text(&text), text.n),
             b = source_add(s, "other.yaml", "x\ny", 3);
    for (uint32_t i = 0, k = 1; i < 2 * LINES; i++) {
        k = (k * 2953 + 11) % LINES;
        check_place(s, ((Span){a, 7 * k + 5, 7 * k + 6}), k + 1, k % 3 ? 6 : 5);
        check_place(s, ((Span){a, 7 * k, 7 * k}), k + 1, 1);
        if (i % 100 == 0) check_place(s, ((Span){b, 2, 3}), 2, 1);
    }
    str_free(&text);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_diags(s);
    test_rewind_is_free(s);
    test_places(s);
    test_far_places(s);
    test_called(s);
    session_free(s);
    return TEST_END("base_diag");
}
