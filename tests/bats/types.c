/* Types with every hook of the contract, and ops on them that keep it or break it, each
 * in one way. */
#include <stdlib.h>
#include <string.h>
#include <thunkline/plugin.h>

static char *copy_of(const char *text) {
    char *p = malloc(strlen(text) + 1);
    return p ? strcpy(p, text) : NULL;
}

/* ---- word: a text of its own on the heap ---- */
typedef struct Word {
    char *text;
} Word;

static bool word_filter(const TlFilter *f, void *out) {
    (void)out;
    return f->api->fail(f->host, TL_WRONG_TYPE, "a word is a text in quotes, not %s",
                        f->api->describe(f->host, f->value));
}
static bool word_of_text(const TlFilter *f, const char *text, void *out) {
    (void)f;
    ((Word *)out)->text = copy_of(text);
    return true;
}
static void word_clear(void *value) {
    free(((Word *)value)->text);
}
static bool word_equal(const TlType *t, const void *a, const void *b) {
    (void)t;
    return strcmp(((const Word *)a)->text, ((const Word *)b)->text) == 0;
}
static bool word_shares(const void *a, const void *b) {
    return ((const Word *)a)->text == ((const Word *)b)->text;
}
static bool word_text(TlHost *h, const TlApi *api, const void *value) {
    api->put_quoted(h, ((const Word *)value)->text);
    return true;
}
static size_t word_bytes(const void *value, unsigned char *buf) {
    size_t n = strlen(((const Word *)value)->text);
    if (buf) memcpy(buf, ((const Word *)value)->text, n);
    return n;
}
static bool word_of_bytes(const TlFilter *f, size_t n, const unsigned char *bytes,
                          void *out) {
    (void)f;
    ((Word *)out)->text = calloc(n + 1, 1);
    memcpy(((Word *)out)->text, bytes, n);
    return true;
}
static bool word_random(TlHost *h, const TlApi *api, const TlType *t, void *out) {
    char text[] = "a";
    (void)t;
    text[0] = (char)('a' + (int)(26 * api->uniform(h)));
    ((Word *)out)->text = copy_of(text);
    return true;
}
#define WORD                                                                           \
    .size = sizeof(TlTypeDef), .doc = "A word.", .value_size = sizeof(Word),           \
    .filter = word_filter, .from_text = word_of_text, .clear = word_clear,             \
    .text = word_text
static const TlTypeDef word = {WORD,
                               .name = "word",
                               .equal = word_equal,
                               .may_share_memory = word_shares,
                               .to_bytes = word_bytes,
                               .from_bytes = word_of_bytes,
                               .random = word_random};

/* The same, with a copy hook in the place of bytes. */
static bool slip_copy(TlHost *h, const TlApi *api, const void *value, void *out) {
    (void)h, (void)api;
    ((Word *)out)->text = copy_of(((const Word *)value)->text);
    return true;
}
static const TlTypeDef slip = {WORD, .name = "slip", .equal = word_equal,
                               .copy = slip_copy};
/* And one whose copy is another. */
static bool fade_copy(TlHost *h, const TlApi *api, const void *value, void *out) {
    (void)h, (void)api, (void)value;
    ((Word *)out)->text = copy_of("");
    return true;
}
static const TlTypeDef fade = {WORD, .name = "fade", .equal = word_equal,
                               .copy = fade_copy};
/* One that is compared by its bytes, one that can't be copied, and one that has no text
 * today. */
static bool no_text(TlHost *h, const TlApi *api, const void *value) {
    (void)value;
    return api->fail(h, TL_FAILED, "no text today");
}
static const TlTypeDef letters = {WORD, .name = "letters", .to_bytes = word_bytes,
                                  .from_bytes = word_of_bytes};
static const TlTypeDef sole = {WORD, .name = "sole", .equal = word_equal};
static const TlTypeDef shy = {.size = sizeof shy,
                              .name = "shy",
                              .value_size = sizeof(Word),
                              .filter = word_filter,
                              .from_text = word_of_text,
                              .clear = word_clear,
                              .equal = word_equal,
                              .text = no_text};

/* ---- span: two ends; scaled(n): a number with n digits ---- */
typedef struct Ends {
    double lo, hi;
#ifdef WIDE
    double mid;
#endif
} Ends;

static bool span_filter(const TlFilter *f, void *out) {
    TlTensor t;
    Ends *e = out;
    if (f->strict) return f->api->fail(f->host, TL_WRONG_TYPE, "expected a span");
    if (!f->api->tensor(f->value, &t) || t.ndim != 1 || t.shape[0] != 2)
        return f->api->fail(f->host, TL_WRONG_TYPE, "a span is [lo, hi], not %s",
                            f->api->describe(f->host, f->value));
    for (int i = 0; i < 2; i++) {
        const char *p = (const char *)t.data + i * t.stride[0];
        *(i ? &e->hi : &e->lo) =
            t.dtype == TL_INT64 ? (double)*(const int64_t *)p : *(const double *)p;
    }
    return e->lo <= e->hi || f->api->fail(f->host, TL_WRONG_VALUE, "lo is above hi");
}
static bool span_text(TlHost *h, const TlApi *api, const void *value) {
    const Ends *e = value;
    api->put(h, "[");
    api->put_number(h, e->lo);
    api->put(h, ", ");
    api->put_number(h, e->hi);
    api->put(h, "]");
    return true;
}
static bool span_random(TlHost *h, const TlApi *api, const TlType *t, void *out) {
    Ends *e = out;
    (void)t;
    e->lo = api->normal(h);
    e->hi = e->lo + api->uniform(h);
    return true;
}
static bool is_span(const TlType *t, const void *value) {
    const Ends *e = value;
    (void)t;
    return e->lo <= e->hi;
}
static bool bad_random(TlHost *h, const TlApi *api, const TlType *t, void *out) {
    (void)h, (void)api, (void)t;
    *(Ends *)out = (Ends){.lo = 1, .hi = 0};
    return true;
}
static const TlTypeDef bent = {.size = sizeof bent,
                               .name = "bent",
                               .value_size = sizeof(Ends),
                               .filter = span_filter,
                               .text = span_text,
                               .is_valid = is_span,
                               .random = bad_random};
static const TlTypeDef span = {.size = sizeof span,
                               .name = "span",
                               .doc = "Two ends.",
                               .value_size = sizeof(Ends),
                               .filter = span_filter,
                               .text = span_text,
                               .random = span_random};

static bool number(const TlFilter *f, void *out) {
    double x;
    bool exact;
    if (!f->api->to_double(f->value, &x, &exact))
        return f->api->fail(f->host, TL_WRONG_TYPE, "a number is expected, not %s",
                            f->api->describe(f->host, f->value));
    *(double *)out = x;
    return true;
}
static bool number_text(TlHost *h, const TlApi *api, const void *value) {
    api->put_number(h, *(const double *)value);
    return true;
}
static bool half_a_list(TlHost *h, const TlApi *api, const void *value) {
    (void)value;
    api->put(h, "[1, 2");
    return true;
}
static bool one_more(TlHost *h, const TlApi *api, const void *value) {
    api->put_number(h, *(const double *)value + 1);
    return true;
}
#define NUMBER                                                                         \
    .size = sizeof(TlTypeDef), .doc = "A number.", .value_size = sizeof(double),       \
    .filter = number
static const TlTypeDef scaled = {NUMBER, .name = "scaled", .params = "int",
                                 .text = number_text};
static const TlTypeDef mute = {NUMBER, .name = "mute"};
static const TlTypeDef torn = {NUMBER, .name = "torn", .text = half_a_list};
static const TlTypeDef off = {NUMBER, .name = "off", .text = one_more};
#ifdef UNEQUAL
static const TlTypeDef unequal = {WORD, .name = "unequal"};
#endif

/* ---- ops on words ---- */
static bool word_op(TlCall *c, char *(*make)(Word *in)) {
    Word *in = (Word *)(uintptr_t)c->api->input_object(c, 0);
    Word *r = in ? c->api->output_object(c, 0) : NULL;
    if (!r) return false;
    r->text = make(in);
    return true;
}
static char *same_text(Word *in) {
    return in->text;
}
static char *own_text(Word *in) {
    return copy_of(in->text);
}
static char *written_over(Word *in) {
    char *r = copy_of(in->text);
    if (*in->text) *in->text = 'Q';
    return r;
}
static char *replaced(Word *in) {
    char *r = copy_of("const");
    free(in->text);
    in->text = copy_of("replaced");
    return r;
}
static char *kept_text(Word *in) {
    static char *once;
    if (!once) once = copy_of(in->text);
    return once;
}
static bool word_dup(TlCall *c) {
    return word_op(c, own_text);
}
static bool word_same(TlCall *c) {
    return word_op(c, same_text);
}
static bool word_write(TlCall *c) {
    return word_op(c, written_over);
}
static bool word_replace(TlCall *c) {
    return word_op(c, replaced);
}
static bool word_keep(TlCall *c) {
    return word_op(c, kept_text);
}
static bool word_pass(TlCall *c) {
    return c->api->pass(c, 0, 0);
}
/* Changes its input and hands it on. */
static bool word_shout(TlCall *c) {
    Word *in = (Word *)(uintptr_t)c->api->input_object(c, 0);
    for (char *p = in->text; *p; p++)
        if (*p >= 'a' && *p <= 'z') *p = (char)(*p - 'a' + 'A');
    return c->api->pass(c, 0, 0);
}
static bool word_join(TlCall *c) {
    const Word *a = c->api->input_object(c, 0), *b = c->api->input_object(c, 1);
    Word *r = a && b ? c->api->output_object(c, 0) : NULL;
    if (!r) return false;
    r->text = malloc(strlen(a->text) + strlen(b->text) + 1);
    strcat(strcpy(r->text, a->text), b->text);
    return true;
}
/* Asks for its result twice: the first is cleared. */
static bool word_again(TlCall *c) {
    const Word *in = c->api->input_object(c, 0);
    Word *r = in ? c->api->output_object(c, 0) : NULL;
    if (!r) return false;
    r->text = copy_of("first");
    r = c->api->output_object(c, 0);
    if (!r || r->text) return false;
    r->text = copy_of(in->text);
    return true;
}
/* Takes whatever it is for a word: an object of that def, or none. */
static bool word_guess(TlCall *c) {
    const Word *in = c->api->object(c->in[0], &word);
    TlTensor r;
    if (!c->api->output(c, 0, 0, NULL, &r)) return false;
    *(double *)r.data = in ? (double)strlen(in->text) : -1;
    return true;
}
static bool makes_number(TlNode *n) {
    n->out[0] = n->api->type(n->host, "float64");
    return true;
}
static bool word_length(TlCall *c) {
    const Word *a = c->api->input_object(c, 0);
    TlTensor r;
    if (!a || !c->api->output(c, 0, 0, NULL, &r)) return false;
    *(double *)r.data = (double)strlen(a->text);
    return true;
}

/* make_node that wraps what was written in place. */
static bool wrap_all(TlNode *n, const char *type) {
    const TlType *t = n->api->type(n->host, type);
    for (size_t i = 0; i < n->nin; i++) {
        if (n->api->is_literal(n, i) && !n->api->wrap(n, i, t)) return false;
        if (n->in[i] != t)
            return n->api->fail(n->host, TL_WRONG_TYPE, "%s takes a %s, not %s", n->op,
                                type, n->api->type_text(n->host, n->in[i]));
    }
    n->out[0] = t;
    return true;
}
static bool wrap_words(TlNode *n) {
    return wrap_all(n, "word");
}
static bool wrap_spans(TlNode *n) {
    return wrap_all(n, "span");
}
static bool wrap_none(TlNode *n) {
    n->out[0] = n->api->type(n->host, "word");
    return true;
}
static bool span_add(TlCall *c) {
    const Ends *a = c->api->input_object(c, 0), *b = c->api->input_object(c, 1);
    Ends *r = a && b ? c->api->output_object(c, 0) : NULL;
    if (!r) return false;
    r->lo = a->lo + b->lo;
    r->hi = a->hi + b->hi;
    return true;
}
/* x times the width of a span. */
static bool span_times(TlCall *c) {
    const Ends *e = c->api->input_object(c, 1);
    TlTensor x, r;
    if (!e || !c->api->input(c, 0, &x) || !c->api->output(c, 0, 0, NULL, &r))
        return false;
    *(double *)r.data = *(double *)x.data * (e->hi - e->lo);
    return true;
}

/* ---- ops on vectors ---- */
static bool same(TlNode *n) {
    n->out[0] = n->in[0];
    return true;
}
static bool fill(TlCall *c, double v, double **out) {
    TlTensor x, r;
    if (!c->api->input(c, 0, &x) || !c->api->output(c, 0, x.ndim, x.shape, &r))
        return false;
    int64_t n = 1;
    for (int i = 0; i < x.ndim; i++)
        n *= x.shape[i];
    for (int64_t i = 0; i < n; i++)
        ((double *)r.data)[i] = v;
    if (out) *out = r.data;
    return true;
}
/* As uninitialised storage has: something else each time. */
static bool garbage(TlCall *c) {
    static double count;
    return fill(c, ++count, NULL);
}
static bool fixed(TlCall *c) {
    return fill(c, -7, NULL);
}
static bool keeps_output(TlCall *c) {
    static double *old;
    double *r;
    if (!fill(c, 1, &r)) return false;
    if (old) *old = -99;
    old = r;
    return true;
}
static bool keeps_input(TlCall *c) {
    static double *old;
    TlTensor x;
    if (!fill(c, 1, NULL) || !c->api->input(c, 0, &x)) return false;
    if (old && old != x.data) *old = -99;
    old = x.data;
    return true;
}
static bool bad_bool(TlCall *c) {
    TlTensor x, r;
    if (!c->api->input(c, 0, &x) || !c->api->output(c, 0, 1, x.shape, &r)) return false;
    memset(r.data, 7, (size_t)x.shape[0]);
    return true;
}
/* Reads x as if it were row-major, from what contiguous gives. */
static bool twice_flat(TlCall *c) {
    TlTensor x, r;
    if (!c->api->contiguous(c, 0, &x) || !c->api->output(c, 0, x.ndim, x.shape, &r))
        return false;
    int64_t n = 1;
    for (int i = 0; i < x.ndim; i++)
        n *= x.shape[i];
    for (int64_t i = 0; i < n; i++)
        ((double *)r.data)[i] = 2 * ((const double *)x.data)[i];
    return true;
}

#define OP(NAME, RUN, ...)                                                             \
    {                                                                                  \
        .size = sizeof(TlOpDef), .name = NAME, .doc = "A test.", .perform = RUN,       \
        __VA_ARGS__                                                                    \
    }
#define ON_WORD(NAME, RUN, ...)                                                        \
    OP(NAME, RUN, .in = "x: any", .itypes = "word", .otypes = "word", __VA_ARGS__)
static const TlOpDef ops[] = {
    ON_WORD("word_dup", word_dup, .never_fold = false),
    ON_WORD("word_same", word_same, .never_fold = false),
    ON_WORD("word_write", word_write, .never_fold = false),
    ON_WORD("word_replace", word_replace, .never_fold = false),
    ON_WORD("word_keep", word_keep, .never_fold = false),
    ON_WORD("word_pass", word_pass, .never_fold = false),
    ON_WORD("word_view", word_pass, .view_map = "r: x"),
    ON_WORD("word_shout", word_shout, .destroy_map = "r: x"),
    OP("slip_dup", word_dup, .in = "x: any", .itypes = "slip", .otypes = "slip"),
    OP("slip_write", word_write, .in = "x: any", .itypes = "slip", .otypes = "slip"),
    OP("fade_dup", word_dup, .in = "x: any", .itypes = "fade", .otypes = "fade"),
    OP("word_join", word_join, .in = "a: any, b: any", .itypes = "word, word",
       .otypes = "word"),
    OP("word_length", word_length, .in = "x: any", .itypes = "word",
       .otypes = "float64"),
    ON_WORD("word_again", word_again, .never_fold = false),
    OP("word_guess", word_guess, .in = "x: any", .make_node = makes_number),
    OP("sole_dup", word_dup, .in = "x: any", .itypes = "sole", .otypes = "sole"),
    OP("letters_dup", word_dup, .in = "x: any", .itypes = "letters",
       .otypes = "letters"),
    OP("join_made", word_join, .in = "a: any, b: any", .make_node = wrap_words),
    OP("no_wrap", word_dup, .in = "x: any", .make_node = wrap_none),
    OP("span_add", span_add, .in = "x: any, y: any", .make_node = wrap_spans,
       .commutative = true),
    OP("span_times", span_times, .in = "x, e: any", .itypes = "float64, span",
       .otypes = "float64", .pullback = "span_times(g, e); disconnected",
       .disconnected = "e"),
    OP("empty_like_", garbage, .in = "x", .make_node = same, .debug_perform = fixed,
       .never_fold = true),
    OP("keeps_output", keeps_output, .in = "x", .make_node = same),
    OP("keeps_input", keeps_input, .in = "x", .make_node = same),
    OP("bad_bool", bad_bool, .in = "x", .itypes = "float64[?]", .otypes = "bool[?]"),
    OP("twice_flat", twice_flat, .in = "x", .make_node = same, .adjoint = "2 * g"),
};

static bool init(TlHost *h, const TlApi *api) {
    const TlTypeDef *const types[] = {&word, &slip, &fade,   &letters, &sole, &shy,
                                      &span, &bent, &scaled, &mute,    &torn, &off};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!api->add_type(h, types[i])) return false;
#ifdef UNEQUAL
    if (!api->add_type(h, &unequal)) return false;
#endif
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!api->add_op(h, &ops[i])) return false;
    return true;
}
TL_PLUGIN("types", "1.0", init)
