/* A machine for the few instructions of pickles that hold plain values. It has a stack
 * and a memo, and calls nothing but the caller's rules. Every instruction makes at most
 * one object, and their number is bounded. */
#include "value/file/pickle.h"

#include "base/map.h"

#include <string.h>

enum { OBJECTS_MAX = 1 << 21 };

typedef struct PickleMachine {
    const ArrayFile *f;
    Arena *a;
    const PickleRules *rules;
    const unsigned char *p, *end;
    Vec(Pickle *) stack;
    Map memo; /* number -> address */
    size_t objects;
    bool stopped;
} PickleMachine;

Pickle *pickle_new(Arena *a, PickleKind kind) {
    Pickle *o = NEW(a, Pickle);
    o->kind = kind;
    return o;
}

static bool fail_pickle(const PickleMachine *m, const char *what) {
    return array_fail(m->f, E_FORMAT, "the pickle is damaged: %s", what);
}

/* ---- the stack ---- */

static bool push_object(PickleMachine *m, Pickle *o) {
    if (!o) return false;
    if (m->objects++ == OBJECTS_MAX)
        return array_fail(m->f, E_LIMIT, "the pickle holds more than %d objects",
                          OBJECTS_MAX);
    vec_push(m->f->s, &m->stack, o);
    return true;
}

static bool push_new(PickleMachine *m, PickleKind kind, int64_t i) {
    Pickle *o = pickle_new(m->a, kind);
    o->i = i;
    return push_object(m, o);
}

/* NULL: diagnosed */
static Pickle *pop_object(PickleMachine *m) {
    bool there = m->stack.n > 0 && m->stack.p[m->stack.n - 1]->kind != PICKLE_MARK;
    if (!there) return fail_pickle(m, "its stack is empty"), NULL;
    return m->stack.p[--m->stack.n];
}

static Pickle *top_of_kind(const PickleMachine *m, PickleKind kind) {
    Pickle *o = m->stack.n ? m->stack.p[m->stack.n - 1] : NULL;
    if (o && o->kind == kind) return o;
    return fail_pickle(m, "an item for what holds none"), NULL;
}

static void add_item(PickleMachine *m, Pickle *to, Pickle *item) {
    if (to->n == to->cap) {
        size_t cap = to->cap ? 2 * to->cap : 4;
        Pickle **more = NEW_N(m->a, cap, Pickle *);
        if (to->n) memcpy(more, to->item, to->n * sizeof *more);
        to->item = more;
        to->cap = cap;
    }
    to->item[to->n++] = item;
}

/* The place behind the last mark. */
static bool find_mark(const PickleMachine *m, size_t *first) {
    for (*first = m->stack.n; *first > 0; --*first)
        if (m->stack.p[*first - 1]->kind == PICKLE_MARK) return true;
    return fail_pickle(m, "a mark is missing");
}

/* What lies above the mark becomes a collection, or goes to the one below it. */
static bool gather_above_mark(PickleMachine *m, PickleKind kind, bool below) {
    size_t first;
    if (!find_mark(m, &first)) return false;
    size_t n = m->stack.n - first;
    Pickle **from = m->stack.p + first;
    m->stack.n = first - 1;
    Pickle *to = below ? top_of_kind(m, kind) : pickle_new(m->a, kind);
    if (!to) return false;
    if (kind == PICKLE_DICT && n % 2 != 0) return fail_pickle(m, "a key has no value");
    for (size_t i = 0; i < n; i++)
        add_item(m, to, from[i]);
    return below || push_object(m, to);
}

static bool make_tuple(PickleMachine *m, size_t n) {
    Pickle *t = pickle_new(m->a, PICKLE_TUPLE), *item[3];
    for (size_t i = n; i-- > 0;)
        if (!(item[i] = pop_object(m))) return false;
    for (size_t i = 0; i < n; i++)
        add_item(m, t, item[i]);
    return push_object(m, t);
}

/* ---- operands ---- */

static const unsigned char *take_operand(PickleMachine *m, uint64_t n) {
    const unsigned char *p = m->p;
    if ((uint64_t)(m->end - p) < n) {
        array_fail(m->f, E_TRUNCATED, "the pickle is cut off");
        return NULL;
    }
    m->p += n;
    return p;
}

static bool take_number(PickleMachine *m, int bytes, uint64_t *v) {
    const unsigned char *p = take_operand(m, (uint64_t)bytes);
    if (p) *v = read_le(p, bytes);
    return p != NULL;
}

static bool push_text(PickleMachine *m, int length_bytes) {
    uint64_t n;
    const unsigned char *p = NULL;
    if (!take_number(m, length_bytes, &n) || !(p = take_operand(m, n))) return false;
    if (memchr(p, 0, n)) return fail_pickle(m, "a text with a zero character");
    Pickle *o = pickle_new(m->a, PICKLE_TEXT);
    o->text = arena_str(m->a, (const char *)p, n);
    return push_object(m, o);
}

static bool push_long(PickleMachine *m) {
    uint64_t n, v = 0;
    const unsigned char *p = NULL;
    if (!take_number(m, 1, &n) || !(p = take_operand(m, n))) return false;
    if (n > 8) return fail_pickle(m, "an integer does not fit in 64 bits");
    if (n) v = read_le(p, (int)n);
    if (n && n < 8 && p[n - 1] & 0x80) v |= UINT64_MAX << 8 * n;
    return push_new(m, PICKLE_INT, (int64_t)v);
}

static const char *take_line(PickleMachine *m) {
    const unsigned char *p = m->p, *end = memchr(p, '\n', (size_t)(m->end - p));
    if (!end || memchr(p, 0, (size_t)(end - p))) {
        fail_pickle(m, "a name has no end");
        return NULL;
    }
    m->p = end + 1;
    return arena_str(m->a, (const char *)p, (size_t)(end - p));
}

/* ---- names ---- */

static bool push_global(PickleMachine *m) {
    const char *module = take_line(m), *name = module ? take_line(m) : NULL;
    return name && push_object(m, m->rules->global(m->f, m->a, module, name));
}

static bool push_stack_global(PickleMachine *m) {
    Pickle *name = pop_object(m), *module = name ? pop_object(m) : NULL;
    if (!module) return false;
    if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        return fail_pickle(m, "a name is no text");
    return push_object(m, m->rules->global(m->f, m->a, module->text, name->text));
}

static bool call_global(PickleMachine *m) {
    Pickle *args = pop_object(m), *what = args ? pop_object(m) : NULL;
    if (!what) return false;
    if (args->kind != PICKLE_TUPLE || what->kind != PICKLE_OTHER)
        return fail_pickle(m, "a call of what is no function");
    return push_object(m, m->rules->call(m->f, m->a, what, args));
}

static bool push_outside(PickleMachine *m) {
    Pickle *id = pop_object(m);
    return id && push_object(m, m->rules->outside(m->f, m->a, id));
}

/* ---- the memo ---- */

static bool memo_put(PickleMachine *m, uint64_t number) {
    if (m->stack.n == 0) return fail_pickle(m, "its stack is empty");
    if (m->memo.n > OBJECTS_MAX)
        return array_fail(m->f, E_LIMIT, "the pickle remembers too much");
    map_put(&m->memo, number, (uintptr_t)m->stack.p[m->stack.n - 1]);
    return true;
}

static bool memo_get(PickleMachine *m, uint64_t number) {
    uint64_t v;
    if (!map_get(&m->memo, number, &v)) return fail_pickle(m, "a memo is missing");
    return push_object(m, (Pickle *)(uintptr_t)v);
}

static bool memo_at(PickleMachine *m, int bytes,
                    bool (*act)(PickleMachine *, uint64_t)) {
    uint64_t number;
    return take_number(m, bytes, &number) && act(m, number);
}

/* ---- instructions ---- */

static bool skip_bytes(PickleMachine *m, uint64_t n) {
    return take_operand(m, n) != NULL;
}

static bool push_int(PickleMachine *m, int bytes) {
    uint64_t v;
    if (!take_number(m, bytes, &v)) return false;
    return push_new(m, PICKLE_INT, bytes == 4 ? (int32_t)(uint32_t)v : (int64_t)v);
}

static bool add_below(PickleMachine *m, PickleKind kind, size_t n) {
    Pickle *item[2] = {NULL, NULL};
    for (size_t i = n; i-- > 0;)
        if (!(item[i] = pop_object(m))) return false;
    Pickle *to = top_of_kind(m, kind);
    for (size_t i = 0; to && i < n; i++)
        add_item(m, to, item[i]);
    return to != NULL;
}

/* The attributes of an object say nothing about its values. */
static bool drop_state(PickleMachine *m) {
    return pop_object(m) && (m->stack.n > 0 || fail_pickle(m, "its stack is empty"));
}

static bool run_opcode(PickleMachine *m) {
    const unsigned char *op = take_operand(m, 1);
    if (!op) return false;
    switch (*op) {
    case 0x80: /* PROTO */
        return skip_bytes(m, 1);
    case 0x95: /* FRAME */
        return skip_bytes(m, 8);
    case '.':
        return m->stopped = true;
    case '(':
        return push_new(m, PICKLE_MARK, 0);
    case 'N':
        return push_new(m, PICKLE_NONE, 0);
    case 0x88:
    case 0x89:
        return push_new(m, PICKLE_BOOL, *op == 0x88);
    case 'J':
        return push_int(m, 4);
    case 'K':
        return push_int(m, 1);
    case 'M':
        return push_int(m, 2);
    case 0x8A: /* LONG1 */
        return push_long(m);
    case 'G':
        return skip_bytes(m, 8) && push_new(m, PICKLE_FLOAT, 0);
    case 'X':
    case 'T':
        return push_text(m, 4);
    case 0x8C: /* SHORT_BINUNICODE */
    case 'U':
        return push_text(m, 1);
    case '}':
        return push_new(m, PICKLE_DICT, 0);
    case ']':
        return push_new(m, PICKLE_LIST, 0);
    case ')':
        return push_new(m, PICKLE_TUPLE, 0);
    case 0x85:
    case 0x86:
    case 0x87:
        return make_tuple(m, *op - 0x84U);
    case 't':
        return gather_above_mark(m, PICKLE_TUPLE, false);
    case 'l':
        return gather_above_mark(m, PICKLE_LIST, false);
    case 'd':
        return gather_above_mark(m, PICKLE_DICT, false);
    case 'e':
        return gather_above_mark(m, PICKLE_LIST, true);
    case 'u':
        return gather_above_mark(m, PICKLE_DICT, true);
    case 'a':
        return add_below(m, PICKLE_LIST, 1);
    case 's':
        return add_below(m, PICKLE_DICT, 2);
    case 'q':
        return memo_at(m, 1, memo_put);
    case 'r':
        return memo_at(m, 4, memo_put);
    case 0x94: /* MEMOIZE */
        return memo_put(m, m->memo.n);
    case 'h':
        return memo_at(m, 1, memo_get);
    case 'j':
        return memo_at(m, 4, memo_get);
    case 'c':
        return push_global(m);
    case 0x93:
        return push_stack_global(m);
    case 'R':
        return call_global(m);
    case 'Q':
        return push_outside(m);
    case 'b':
        return drop_state(m);
    default:
        return array_fail(m->f, E_FORMAT,
                          "the pickle has the instruction 0x%02x, which plain values "
                          "don't need",
                          *op);
    }
}

Pickle *pickle_read(const ArrayFile *f, Arena *a, const PickleRules *rules) {
    PickleMachine m = {.f = f, .a = a, .rules = rules, .p = f->p, .memo = MAP(f->s)};
    Pickle *root = NULL;
    m.end = f->p + f->n;
    while (!m.stopped && run_opcode(&m))
        ;
    if (m.stopped) root = pop_object(&m);
    vec_free(&m.stack);
    map_free(&m.memo);
    return root;
}
