/* A tlg whose bytes are whole and whose checksum is right, but in which one item says
 * something else: each item of a graph with a bit of everything is replaced by items of
 * other kinds and sizes, dropped, doubled and swapped with the next. What can't be read
 * is refused in one error for bad input; what can be is a graph that graph_check has a
 * word on, and one that passes writes and reads back the same. */
#include "io/tlg/tlg.h"
#include "op/build.h"
#include "test.h"
#include "value/object.h"
#include "vm/vm.h"

#include <stdlib.h>

static Session *s;

static const char text[] =
    "thunkline: 1\nname: all\nfloatX: float64\n"
    "functions:\n"
    "  sq: {inputs: {x: float64}, outputs: {out: x * x}, pullback: sq_pull}\n"
    "  sq_pull: {inputs: {x: float64, c: float64}, outputs: {d: 2.0 * x * c}}\n"
    "inputs: {x: 'float64[n, 3]', i: 'int64[?]'}\n"
    "shared:\n"
    "  w: float64[3] = [1, 2, 3]\n"
    "  v: float64 = sq(2.0)\n"
    "  L: list(float64[?]) = [[1.0], [2.0, 3.0]]\n"
    "  S: sparse('csr', float64[2, 3]) = [[1, 0, 2], [0, 3, 0]]\n"
    "  r: random = rng_state([1, 0, 0, 0])\n"
    "let: |\n"
    "  y = sum(x * w, axis=0) + n\n"
    "  z = sq(w[0])\n"
    "  k = make_list(make_list(True), make_list(type='bool'))\n"
    "  c = slice(None, 3, -1)\n"
    "  e = None\n"
    "  b = array([True, False])\n"
    "  h = one_hot(i, 4, dtype='float32')\n"
    "  t = transpose(x)\n"
    "  f = sow(exp(y), tag='a', name='f')\n"
    "  p = sow(exp(z), tag='a', name='p')\n"
    "  m = max_pool(reshape(x, (1, 1, n, 3)), 2, padding='valid')\n"
    "  o = norm(x, ord=2.0) + grad_clip(z, -1.0, 1.0)\n"
    "outputs: [y, z, k, c, e, b, h, t, m, o]\n"
    "updates: {w: w + y, v: v + 1.0}\n"
    "aliases: {y: 'layer/0:0', w: w.0}\n"
    "statistics: [v]\n"
    "compare: {y: \"rtol=0.5, atol=0.5\", z: \"rtol=0.25, atol=0\"}\n";

static void output_of(Graph *g, const char *label, const char *type, const Value *v) {
    const Type *t = type_parse(s, type, strlen(type), NOWHERE);
    Var c = graph_const_value(g, t, v);
    vec_push(s, &g->outputs, ((Output){sym(s, label), c}));
}

static Value row(DType d, int64_t n) {
    Value v = {.kind = TYPE_TENSOR};
    if (!tensor_new(s, d, 1, &n, &v.t)) abort();
    memset(v.t.data, 1, tensor_bytes(&v.t));
    return v;
}

/* Constants of the kinds whose value is no array. */
static void add_values(Graph *g) {
    Value list = {.kind = TYPE_LIST}, none = {.kind = TYPE_SLICE}, sparse;
    list.obj = list_new_take(s, 2, (Value[]){row(DT_BOOL, 2), row(DT_BOOL, 0)});
    none.obj = slice_new(s, (bool[]){true, false, true}, (int64_t[]){1, 0, -1});
    Value dense = row(DT_FLOAT64, 2);
    dense.t.ndim = 2;
    dense.t.shape[1] = 1;
    dense.t.stride[1] = 8;
    const Type *t = type_parse(s, "sparse('csr', float64[2, 1])", 28, NOWHERE);
    CHECK(value_filter(s, t, &dense,
                       &(Receiver){(Filter){.strict = false}, "S", NOWHERE}, &sparse));
    output_of(g, "list", "list(bool[?])", &list);
    output_of(g, "slice", "slice", &none);
    output_of(g, "sparse", "sparse('csr', float64[2, 1])", &sparse);
    value_unref(&list);
    value_unref(&none);
    value_unref(&sparse);
    value_unref(&dense);
}

/* An Apply that was in the body of a function, which was called here. */
static void add_call(Graph *g) {
    Span *at = &g->origin[0].at;
    CHECK(at->source != 0, "%s", "an Apply without a source");
    at->source = source_called(s, at->source, g->origin[1].at);
}

/* ---- items ---- */

typedef struct Item {
    size_t at, end; /* of its bytes */
    size_t head;    /* of the list or map that holds it; 0: a section */
    size_t pair;    /* a key: where its value ends, else 0 */
    size_t next;    /* a section: where the next one ends */
    bool bytes;
} Item;
static Vec(Item) items;

static size_t head_of(const Str *a, size_t at, unsigned *major, uint64_t *arg) {
    Cbor c = {s, "walk", (unsigned char *)a->p, (unsigned char *)a->p + at,
              (unsigned char *)a->p + a->n};
    if (!cbor_head(&c, major, arg)) abort();
    return (size_t)(c.p - c.begin);
}

static size_t walk(const Str *a, size_t at, size_t head) {
    unsigned major;
    uint64_t arg;
    size_t end = head_of(a, at, &major, &arg), no = items.n;
    vec_push(s, &items, ((Item){.at = at, .head = head}));
    items.p[no].bytes = major == CB_BYTES;
    if (major == CB_BYTES || major == CB_TEXT) end += arg;
    if (major == CB_TAG) end = walk(a, end, at);
    for (uint64_t i = 0; major == CB_ARRAY && i < arg; i++)
        end = walk(a, end, at);
    for (uint64_t i = 0; major == CB_MAP && i < arg; i++) {
        size_t key = items.n;
        end = walk(a, walk(a, end, at), at);
        items.p[key].pair = end;
    }
    items.p[no].end = end;
    return end;
}

/* Where the end record begins. */
static size_t collect(const Str *a) {
    size_t at = 3, last = 0;
    while (memcmp(a->p + at,
                  "\xA1\x63"
                  "end",
                  5) != 0) {
        size_t no = items.n;
        at = walk(a, at, 0);
        if (last) items.p[last - 1].next = at;
        last = no + 1;
    }
    return at;
}

/* ---- what became of it ---- */

static const char *const refusals[] = {
    /* tables */
    "a table occurs twice or too late",
    "a dim with the name",
    "a type of 0 parts",
    "there is no dtype",
    "an op is a name and a version",
    "expected a dtype or a graph",
    "has no prop",
    "has twice the prop",
    "has the wrong kind",
    "needs the prop",
    "expected an op and its props",
    "props without ops",
    "a source has four parts",
    "a source that can't have been called",
    "a source of an earlier one, which is missing",
    /* leaves and constants */
    "leaves out of place",
    "columns of leaves that don't belong together",
    "there are fewer names than leaves",
    "can't be a name",
    "is used twice",
    "is not an int64 scalar",
    "a constant of type",
    "without a value",
    "the bytes of the constants are too few",
    "leaves with more names or bytes",
    "a bool that is",
    "a constant out of place",
    "an incomplete constant",
    "which needs none",
    "a constant whose shape is not that of",
    "bytes has",
    "a value has",
    "an array of a value has",
    "an array of a value has no dtype",
    "a place in a file has five parts",
    "a graph that comes through a pipe can't name files",
    "a random state in another file",
    /* Applies, names and interface */
    "Applies out of place",
    "columns of Applies that don't belong together",
    "columns that are too short",
    "columns that are too long",
    "inputs",
    "before it is computed",
    "a span beyond its source",
    "names out of place",
    "columns of names that don't belong together",
    "for variable",
    "expected a pair",
    "occurs twice or can't be a label",
    "is not a shared variable",
    "for a shared variable of type",
    "two updates of one variable",
    "effects out of order",
    "a comparison of",
    "two comparisons of one variable",
    "can't be a model's",
    "can't be a statistic",
    "an interface out of place",
    "an incomplete interface",
    /* graphs */
    "a second header",
    "an incomplete header",
    "no header",
    "a version has two numbers",
    "format version",
    "but not of thunkline",
    "floatX must be float32 or float64",
    "the graph needs",
    "a step has three parts",
    "can't be the name of a graph",
    "is a function of the language already",
    "a function without a name of its own",
    "a graph without its interface or its constants",
    "counts other graphs",
    "there is no function",
    "occurs twice",
    /* items */
    "expected a number, got",
    "expected a list, got",
    "expected a map, got",
    "expected text, got",
    "expected a text, got bytes",
    "expected bytes, got",
    "expected a tagged item, got",
    "expected a float64",
    "expected true or false",
    "is out of range",
    "a column of unknown kind",
    "not a multiple of",
    "a zero byte in a text",
    "an integer beyond 64 bits",
};
enum { NREFUSAL = sizeof refusals / sizeof *refusals };
static unsigned seen[NREFUSAL], kept, checked;

static bool is_bad_input(DiagCode c) {
    return c != E_USAGE && c != E_MEM;
}

static void same_again(Graph *g, const char *what, size_t at) {
    WriteOptions o = {.format = IO_TLG};
    Str a = STR(s), b = STR(s);
    CHECK(io_text(g, &o, &a), "%s %zu: %s", what, at, "not written");
    Graph *h = io_read_mem(s, "again", a.p, a.n, NULL);
    CHECK(h && io_text(h, &o, &b) && a.n == b.n && memcmp(a.p, b.p, a.n) == 0, "%s %zu",
          what, at);
    graph_free(h);
    str_free(&a);
    str_free(&b);
}

/* Writes the checksum of the first n bytes at the end. */
static void seal(Str *all, size_t n) {
    Xxh64 h;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, all->p, n);
    uint64_t v = hash_xxh64_end(&h);
    for (int i = 0; i < 8; i++)
        all->p[all->n - 8 + (size_t)i] = (char)(v >> (56 - 8 * i));
}

/* The bytes, and an end record that fits them. */
static void look(const Str *a, const Str *body, size_t end, const char *what,
                 size_t at) {
    Str all = STR(s);
    str_add(&all, body->p, body->n);
    str_add(&all, a->p + end, a->n - end);
    seal(&all, body->n);
    size_t mark = diag_count(s);
    Graph *g = io_read_mem(s, "forged", all.p, all.n, NULL);
    const Diag *d = diag_first_error(s);
    CHECK(!g == (d != NULL), "%s %zu: %s", what, at, d ? d->text : "no error");
    CHECK(!d || (diag_count(s) == mark + 1 && is_bad_input(d->code)), "%s %zu: %s",
          what, at, d ? d->text : "");
    for (size_t i = 0; d && i < NREFUSAL; i++)
        seen[i] += strstr(d->text, refusals[i]) != NULL;
    diag_clear(s);
    if (g && graph_check(g)) {
        kept++;
        same_again(g, what, at);
    } else if (g) {
        checked++;
        CHECK(diag_first_error(s) != NULL, "%s %zu", what, at);
    }
    diag_clear(s);
    graph_free(g);
    str_free(&all);
}

static void splice(const Str *a, size_t end, size_t from, size_t to, const char *p,
                   size_t n, const char *what) {
    Str b = STR(s);
    str_add(&b, a->p, from);
    str_add(&b, p, n);
    str_add(&b, a->p + to, end - to);
    look(a, &b, end, what, from);
    str_free(&b);
}

/* ---- damages ---- */

#define BYTES(x)                                                                       \
    { x, sizeof x - 1 }
static const struct {
    const char *p;
    size_t n;
} others[] = {BYTES("\xF6"),
              BYTES("\xF5"),
              BYTES("\0"),
              BYTES("\1"),
              BYTES("\x20"),
              BYTES("\x40"),
              BYTES("\x41\x02"),
              BYTES("\x60"),
              BYTES("\x61"
                    "a"),
              BYTES("\x61"
                    "x"),
              BYTES("\x63"
                    "exp"),
              BYTES("\x61\x01"),
              BYTES("\x61\0"),
              BYTES("\x62\xC3\xA9"),
              BYTES("\x80"),
              BYTES("\x81\0"),
              BYTES("\x82\1\1"),
              BYTES("\x81\x61"
                    "a"),
              BYTES("\xA0"),
              BYTES("\xA1\x61"
                    "a\0"),
              BYTES("\xA1\x65"
                    "graph\x61"
                    "q"),
              BYTES("\xA1\x65"
                    "dtype\x64"
                    "int8"),
              BYTES("\xA1\x65"
                    "dtype\x61"
                    "q"),
              BYTES("\x1A\xFF\xFF\xFF\xFF"),
              BYTES("\x1B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
              BYTES("\x1B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
              BYTES("\x3B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
              BYTES("\xFB\x3F\xE0\0\0\0\0\0\0"),
              BYTES("\xD8\x40\x40"),
              BYTES("\xD8\x40\x41\xFF"),
              BYTES("\xD8\x40\x41\0"),
              BYTES("\xD8\x45\x41\0"),
              BYTES("\xD8\x46\x44\0\0\0\0"),
              BYTES("\xD8\x47\x40"),
              BYTES("\x9F\xFF")};

/* In place of a key and its value: values in another file. */
static const struct {
    const char *p;
    size_t n;
} places[] = {BYTES("\x64"
                    "file\x85\x61"
                    "a\0\0\0\0"),
              BYTES("\x64"
                    "file\x84\x61"
                    "a\0\0\0"),
              BYTES("\x64"
                    "file\x85\0\0\0\0\0"),
              BYTES("\x64"
                    "file\x85\x61"
                    "a\x20\0\0\0"),
              BYTES("\x64"
                    "file\x85\x61"
                    "a\0\x20\0\0"),
              BYTES("\x64"
                    "file\x85\x61"
                    "a\0\0\x60\0"),
              BYTES("\x64"
                    "file\x85\x61"
                    "a\0\0\0\x60"),
              BYTES("\x64"
                    "file\xF6")};

/* A list or map that holds one fewer or one more: its count is in the head's byte. */
static void recount(const Str *a, size_t end, const Item *x, size_t to, bool more) {
    unsigned char head = (unsigned char)a->p[x->head];
    if (!x->head || head >> 5 == CB_TAG || (head & 31) > 22) return;
    Str b = STR(s);
    str_add(&b, a->p, more ? to : x->at);
    b.p[x->head] = (char)(more ? head + 1 : head - 1);
    if (more) str_add(&b, a->p + x->at, to - x->at);
    str_add(&b, a->p + to, end - to);
    look(a, &b, end, more ? "doubled" : "dropped", x->at);
    str_free(&b);
}

static void each_byte(const Str *a, size_t end, const Item *x) {
    unsigned major;
    uint64_t n;
    size_t from = head_of(a, x->at, &major, &n);
    for (size_t i = from; i < x->end && i < from + 40; i++)
        for (int k = 0; k < 3; k++) {
            char v = (char)(k == 0 ? 0 : k == 1 ? a->p[i] + 1 : -1);
            splice(a, end, i, i + 1, &v, 1, "byte");
        }
    if (n >= 23 || n == 0) return;
    Str b = STR(s);
    str_putc(&b, (char)(CB_BYTES << 5 | (n - 1)));
    str_add(&b, a->p + from, n - 1);
    splice(a, end, x->at, x->end, b.p, b.n, "shorter");
    str_clear(&b);
    str_putc(&b, (char)(CB_BYTES << 5 | (n + 1)));
    str_add(&b, a->p + from, n);
    str_putc(&b, a->p[from]);
    splice(a, end, x->at, x->end, b.p, b.n, "longer");
    str_free(&b);
}

static void sections(const Str *a, size_t end, const Item *x) {
    splice(a, end, x->at, x->end, NULL, 0, "no section");
    splice(a, end, x->at, x->at, a->p + x->at, x->end - x->at, "twice a section");
    Str b = STR(s);
    size_t header = items.p[0].end;
    if (x->at > header) {
        str_add(&b, a->p + x->at, x->end - x->at);
        splice(a, end, header, header, b.p, b.n, "too early");
        str_clear(&b);
    }
    if (x->next) {
        str_add(&b, a->p + x->end, x->next - x->end);
        str_add(&b, a->p + x->at, x->end - x->at);
        splice(a, end, x->at, x->next, b.p, b.n, "swapped");
    }
    str_free(&b);
}

static void each_item(void) {
    Graph *g = io_read_mem(s, "m.yaml", text, sizeof text - 1, NULL);
    CHECK(g != NULL, "%s", g ? "" : diag_first_error(s)->text);
    if (!g) return;
    add_values(g);
    add_call(g);
    vec_push(s, &g->steps, ((Step){"gload", "0.1.0", "m.yaml"}));
    Str a = STR(s);
    CHECK(io_text(g, &(WriteOptions){.format = IO_TLG}, &a));
    size_t end = collect(&a);
    CHECK(items.n > 300, "%zu", items.n);
    for (size_t i = 0; i < items.n; i++) {
        const Item *x = &items.p[i];
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            splice(&a, end, x->at, x->end, others[k].p, others[k].n, "other");
        for (size_t k = 0; x->pair && k < sizeof places / sizeof *places; k++)
            splice(&a, end, x->at, x->pair, places[k].p, places[k].n, "place");
        if (x->bytes) each_byte(&a, end, x);
        if (!x->head) sections(&a, end, x);
        recount(&a, end, x, x->pair ? x->pair : x->end, false);
        recount(&a, end, x, x->pair ? x->pair : x->end, true);
    }
    for (size_t i = 0; i < NREFUSAL; i++)
        CHECK(seen[i] > 0, "nothing was refused as \"%s\"", refusals[i]);
    CHECK(kept > 500 && checked > 50, "%u kept, %u refused by graph_check", kept,
          checked);
    graph_free(g);
    str_free(&a);
    vec_free(&items);
}

/* Of several wrong names, the first is reported. */
static void wrong_names(const char *a, const char *as, const char *b, const char *bs,
                        const char *want) {
    static const char model[] =
        "thunkline: 1\ninputs: {x: float64}\nlet: |\n  n1 = x + 1\n"
        "  n2 = n1 * x\n  n3 = n2 + x\n  n4 = n3 * x\n"
        "outputs: [n4]\n";
    WriteOptions o = {.format = IO_TLG, .no_provenance = true};
    Str all = STR(s);
    Graph *g = io_read_mem(s, "names", model, sizeof model - 1, NULL);
    CHECK(g && io_text(g, &o, &all), "%s", g ? "" : diag_first_error(s)->text);
    if (!all.n) return;
    size_t end = collect(&all);
    for (size_t i = 0; i + 3 < end; i++) {
        if (all.p[i] != '\x62') continue;
        if (memcmp(all.p + i + 1, a, 2) == 0) memcpy(all.p + i + 1, as, 2);
        if (memcmp(all.p + i + 1, b, 2) == 0) memcpy(all.p + i + 1, bs, 2);
    }
    seal(&all, end);
    CHECK(!io_read_mem(s, "forged", all.p, all.n, NULL));
    const Diag *d = diag_first_error(s);
    CHECK(d && diag_count(s) == 1 && strstr(d->text, want), "%s", d ? d->text : "");
    diag_clear(s);
    graph_free(g);
    str_free(&all);
    vec_free(&items);
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    session_options(s)->max_memory = 1 << 26;
    each_item();
    wrong_names("n2", "n1", "n3", "3n", "the name \"n1\" is used twice");
    wrong_names("n2", "2n", "n4", "n1", "a name \"2n\" for variable");
    session_free(s);
    return TEST_END("io_forge");
}
