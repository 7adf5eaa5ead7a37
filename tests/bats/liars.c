/* Ops that lie, each in one way, for grun --mode DEBUG: they double a vector. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <thunkline/plugin.h>

static bool same(TlNode *n) {
    n->out[0] = n->in[0];
    return true;
}

static void twice(const TlTensor *x, double *r) {
    for (int64_t i = 0; i < x->shape[0]; i++) {
        double v;
        memcpy(&v, (const char *)x->data + i * x->stride[0], sizeof v);
        r[i] = 2 * v;
    }
}

static double *begin(TlCall *c, TlTensor *x, int64_t extra) {
    TlTensor r;
    if (!c->api->input(c, 0, x)) return NULL;
    int64_t n = x->shape[0] + extra;
    return c->api->output(c, 0, 1, &n, &r) ? r.data : NULL;
}

static bool honest(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (r) twice(&x, r);
    return r != NULL;
}

static bool passes_on(TlCall *c) {
    return c->api->pass(c, 0, 0);
}

static bool overwrites(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    if (x.shape[0]) memset(x.data, 0, sizeof(double));
    return true;
}

static bool one_more(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 1);
    if (!r) return false;
    twice(&x, r);
    r[x.shape[0]] = 0;
    return true;
}

static bool counts(TlCall *c) {
    static int calls;
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    r[0] += calls++;
    return true;
}

/* Once in a while. */
static bool seldom(TlCall *c) {
    static int calls;
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    r[0] += ++calls % 50 == 0;
    return true;
}

/* Adds the first number that it ever got. */
static bool remembers(TlCall *c) {
    static double first;
    static bool has;
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    if (!has && x.shape[0]) memcpy(&first, x.data, sizeof first), has = true;
    twice(&x, r);
    r[0] += first;
    return true;
}

/* Crashes on all but small numbers, as it may. */
static bool small_only(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0), v = 0;
    if (!r) return false;
    if (x.shape[0]) memcpy(&v, x.data, sizeof v);
    if (v > 100) abort();
    twice(&x, r);
    return true;
}

/* Adds to storage that it never cleared. */
static bool accumulates(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0), once[64];
    if (!r || x.shape[0] > 64) return false;
    twice(&x, once);
    for (int64_t i = 0; i < x.shape[0]; i++)
        r[i] += once[i];
    return true;
}

static bool ignores_strides(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    x.stride[0] = sizeof(double);
    if (x.stride[0] > 0) twice(&x, r);
    return true;
}

static bool goes_beyond(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    r[x.shape[0]] = 1;
    return true;
}

static bool thrice(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    for (int64_t i = 0; i < x.shape[0]; i++)
        r[i] *= 1.5;
    return true;
}

/* Twice x, of its running sum. */
static bool running_sums(TlCall *c, double first, bool wide) {
    TlTensor x;
    double *r = begin(c, &x, 0), sum = 0;
    long double exact = 0;
    if (!r) return false;
    twice(&x, r);
    for (int64_t i = 0; i < x.shape[0]; i++) {
        double term = i ? r[i] : r[i] * first;
        sum += term;
        exact += term;
        r[i] = wide ? (double)exact : sum;
    }
    return true;
}
static bool running(TlCall *c) {
    return running_sums(c, 1, false);
}
static bool running_exactly(TlCall *c) {
    return running_sums(c, 1, true);
}
static bool running_slightly_off(TlCall *c) {
    return running_sums(c, 1 + 1e-13, false);
}

static bool minus(TlCall *c) {
    TlTensor x, y;
    double *r = begin(c, &x, 0);
    if (!r || !c->api->input(c, 1, &y)) return false;
    for (int64_t i = 0; i < x.shape[0]; i++)
        r[i] = *(const double *)((const char *)x.data + i * x.stride[0]) -
               *(const double *)((const char *)y.data + i * y.stride[0]);
    return true;
}

static bool two_views(TlNode *n) {
    n->out[0] = n->out[1] = n->in[0];
    return true;
}
static bool passes_both(TlCall *c) {
    return c->api->pass(c, 0, 0) && c->api->pass(c, 1, 0);
}

static int view_at_times(const TlApply *a, size_t out) {
    static int calls;
    (void)a, (void)out;
    return calls++ % 2 - 1;
}
static bool fold_at_times(const TlApply *a) {
    static int calls;
    (void)a;
    return calls++ == 0;
}

/* All 1 the first time, then all 0: in copies of the process, too. */
static int *calls_of_all;
static bool one_then_zero(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    for (int64_t i = 0; i < x.shape[0]; i++)
        r[i] = *calls_of_all == 0;
    ++*calls_of_all;
    return true;
}

/* ---- two inputs, of which it says the wrong one ---- */
static bool passes_second(TlCall *c) {
    return c->api->pass(c, 0, 1);
}
static bool overwrites_second(TlCall *c) {
    TlTensor y;
    if (!c->api->input(c, 1, &y)) return false;
    for (int64_t i = 0; i < y.shape[0]; i++) {
        double *v = (double *)((char *)y.data + i * y.stride[0]);
        *v = 2 * *v;
    }
    return c->api->pass(c, 0, 1);
}

/* ---- values ---- */
static bool not_finite(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    if (x.shape[0]) r[0] /= 0 * r[0];
    return true;
}
static bool by_address(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0);
    if (!r) return false;
    twice(&x, r);
    if (x.shape[0]) r[0] += (double)((uintptr_t)x.data % 1048576);
    return true;
}
static bool infer_one_more(TlShape *s) {
    s->shape[0] = s->api->text(s->host, "[x.shape[0] + 1]");
    return s->shape[0] != TL_NONE;
}

/* Two times the sum of any number of vectors; it views none of them. */
static bool adds_up(TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0), once[64];
    if (!r || x.shape[0] > 64) return false;
    memset(r, 0, sizeof *r * (size_t)x.shape[0]);
    for (size_t k = 0; k < c->nin; k++) {
        if (!c->api->input(c, k, &x)) return false;
        twice(&x, once);
        for (int64_t i = 0; i < x.shape[0]; i++)
            r[i] += once[i];
    }
    return true;
}
static int no_view(const TlApply *a, size_t out) {
    (void)a, (void)out;
    return -1;
}
static int view_far_away(const TlApply *a, size_t out) {
    (void)out;
    return (int)a->nin;
}
static bool push_refuses(TlPush *p) {
    return p->api->fail(p->host, TL_FAILED, "no tangent today");
}
static bool push_silent(TlPush *p) {
    (void)p;
    return false;
}
static bool infer_two_sizes(TlShape *s) {
    s->shape[0] = s->api->text(s->host, "[x.shape[0], 1]");
    return s->shape[0] != TL_NONE;
}
static bool infer_nothing(TlShape *s) {
    (void)s;
    return true;
}
static bool name_silent(TlHost *h, const TlApi *api) {
    api->put(h, "half a na");
    return false;
}
static bool name_fails(TlHost *h, const TlApi *api) {
    api->put(h, "half a na");
    return api->fail(h, TL_FAILED, "no name today");
}

/* A type of even integers, and an op that makes odd ones. */
static bool even_filter(const TlFilter *f, void *out) {
    double v;
    bool exact;
    int64_t n;
    if (f->api->to_double(f->value, &v, &exact) && exact)
        n = (int64_t)v;
    else
        return f->api->fail(f->host, TL_WRONG_TYPE, "an even is made of a number");
    if (n % 2) return f->api->fail(f->host, TL_WRONG_VALUE, "%d is odd", (int)n);
    memcpy(out, &n, sizeof n);
    return true;
}
static bool even_is_valid(const TlType *t, const void *value) {
    int64_t n;
    (void)t;
    memcpy(&n, value, sizeof n);
    return n % 2 == 0;
}
static bool even_text(TlHost *h, const TlApi *api, const void *value) {
    int64_t n;
    memcpy(&n, value, sizeof n);
    api->put_number(h, (double)n);
    return true;
}
static const TlTypeDef even = {.size = sizeof even,
                               .name = "even",
                               .doc = "Even integers.",
                               .value_size = sizeof(int64_t),
                               .filter = even_filter,
                               .text = even_text,
                               .is_valid = even_is_valid};
static bool plus_one(TlCall *c) {
    const void *x = c->api->input_object(c, 0);
    void *r = c->api->output_object(c, 0);
    int64_t n;
    if (!x || !r) return false;
    memcpy(&n, x, sizeof n);
    n++;
    memcpy(r, &n, sizeof n);
    return true;
}

/* ---- make_node ---- */
static bool other_type(TlNode *n) {
    static int calls;
    n->out[0] = n->api->type(n->host, calls++ ? "float64[?]" : "float64[3]");
    return n->out[0] != NULL;
}

/* ---- derivatives ---- */
static bool forgets(TlGrad *g) {
    (void)g;
    return true;
}
static bool gives_none(TlGrad *g) {
    g->grad[0] = TL_NONE;
    return true;
}
static bool gives_nothing_there(TlGrad *g) {
    g->grad[0] = 123456;
    return true;
}
static bool disconnects(TlGrad *g) {
    g->grad[0] = TL_DISCONNECTED;
    return true;
}
static bool all_connected(const TlApply *a, size_t in, size_t out) {
    (void)a, (void)in, (void)out;
    return true;
}
/* p is twice x, q is twice y; each gradient is given where its output is used. */
static bool two_nodes(TlNode *n) {
    n->out[0] = n->in[0];
    n->out[1] = n->in[1];
    return true;
}
static bool doubles_both(TlCall *c) {
    for (size_t i = 0; i < 2; i++) {
        TlTensor x, r;
        if (!c->api->input(c, i, &x) || !c->api->output(c, i, 1, x.shape, &r))
            return false;
        twice(&x, r.data);
    }
    return true;
}
static bool if_used(TlGrad *g) {
    static const char *const text[] = {"2 * g_p", "2 * g_q"};
    for (size_t i = 0; i < 2; i++)
        if (g->wanted[i] && g->g[i] != TL_NONE)
            g->grad[i] = g->api->text(g->host, text[i]);
    return true;
}
static bool own_output(const TlApply *a, size_t in, size_t out) {
    (void)a;
    return in == out;
}
static bool of_both(TlGrad *g) {
    g->grad[0] = g->g[0];
    g->grad[1] = g->user ? g->api->text(g->host, g->user) : TL_DISCONNECTED;
    return true;
}
static bool first_input(const TlApply *a, size_t in, size_t out) {
    (void)a, (void)out;
    return in == 0;
}
/* It forgets y even where q is used. */
static bool only_first(TlGrad *g) {
    if (g->wanted[0]) g->grad[0] = g->api->text(g->host, "2 * g_p");
    return true;
}
static bool push_forgets(TlPush *p) {
    (void)p;
    return true;
}
static bool push_text(TlPush *p) {
    p->result[0] = p->api->text(p->host, p->user);
    return p->result[0] != TL_NONE;
}
static bool push_rank(TlPush *p) {
    p->result[0] = p->api->text(p->host, "sum(t_x)");
    return p->result[0] != TL_NONE;
}
static bool push_number(TlPush *p) {
    p->result[0] = p->api->text(p->host, "cast(t_x, dtype='int64')");
    return p->result[0] != TL_NONE;
}
static bool truncates(TlCall *c) {
    TlTensor x, r;
    if (!c->api->input(c, 0, &x) || !c->api->output(c, 0, 1, x.shape, &r)) return false;
    for (int64_t i = 0; i < x.shape[0]; i++) {
        double v;
        memcpy(&v, (const char *)x.data + i * x.stride[0], sizeof v);
        ((int64_t *)r.data)[i] = (int64_t)v;
    }
    return true;
}
static bool total(TlCall *c) {
    TlTensor x, r;
    double sum = 0, v;
    if (!c->api->input(c, 0, &x) || !c->api->output(c, 0, 0, NULL, &r)) return false;
    for (int64_t i = 0; i < x.shape[0]; i++) {
        memcpy(&v, (const char *)x.data + i * x.stride[0], sizeof v);
        sum += v;
    }
    memcpy(r.data, &sum, sizeof sum);
    return true;
}

/* 004: the last result is found again, and added to; nothing a run depends on. */
static bool keeps(TlCall *c) {
    TlTensor old, x;
    bool had = c->api->kept(c, 0, &old);
    double *r = begin(c, &x, 0);
    if (!r) return false;
    if (had && old.data != (void *)r)
        return c->api->fail(c->host, TL_FAILED, "what it left was taken away");
    twice(&x, r);
    return true;
}

/* A thunk whose state leaks into its result. */
static bool make_count(const TlCall *c, int impl, void **state) {
    static double count;
    (void)c, (void)impl;
    count = 0;
    *state = &count;
    return true;
}
static TlThunkResult run_count(void *state, TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0), *count = state;
    if (!r) return TL_THUNK_FAILED;
    twice(&x, r);
    r[0] += (*count)++;
    return TL_THUNK_DONE;
}
static const TlThunk counting = {sizeof counting, false, make_count, run_count, NULL};

/* One that hands its first answer out again and again. */
static bool make_memo(const TlCall *c, int impl, void **state) {
    (void)c, (void)impl;
    return *state = calloc(2, sizeof(double)), *state;
}
static TlThunkResult run_memo(void *state, TlCall *c) {
    TlTensor x;
    double *r = begin(c, &x, 0), *memo = state;
    if (!r) return TL_THUNK_FAILED;
    twice(&x, r);
    if (!memo[0]) memo[1] = r[0];
    memo[0] = 1;
    r[0] = memo[1];
    return TL_THUNK_DONE;
}
static const TlThunk remembering = {sizeof remembering, false, make_memo, run_memo,
                                    free};

/* One that does so in a static. */
static TlThunkResult run_static(void *state, TlCall *c) {
    (void)state;
    return remembers(c) ? TL_THUNK_DONE : TL_THUNK_FAILED;
}
static const TlThunk remembering_all = {sizeof remembering_all, false, NULL, run_static,
                                        NULL};

/* A lazy one that is never content, and one that takes what it did not ask for. */
static TlThunkResult run_wait(void *state, TlCall *c) {
    (void)state, (void)c;
    return TL_THUNK_NEEDS;
}
static const TlThunk waiting = {sizeof waiting, true, NULL, run_wait, NULL};
static TlThunkResult run_grab(void *state, TlCall *c) {
    TlTensor x;
    (void)state;
    double *r = begin(c, &x, 0);
    if (!r) return TL_THUNK_FAILED;
    twice(&x, r);
    return TL_THUNK_DONE;
}
static const TlThunk grabbing = {sizeof grabbing, true, NULL, run_grab, NULL};

#define OP(NAME, RUN, ...)                                                             \
    {                                                                                  \
        .size = sizeof(TlOpDef), .name = NAME, .in = "x: any", .doc = "A test.",       \
        .perform = RUN, __VA_ARGS__                                                    \
    }
static const TlOpDef ops[] = {
    OP("honest", honest, .make_node = same, .debug_perform = honest,
       .debug_is_reference = true, .shape = "[x.shape[0]]"),
    OP("honest_view", passes_on, .make_node = same, .view_map = "r: x"),
    OP("honest_keeper", keeps, .make_node = same, .keeps_storage = true),
    OP("hidden_view", passes_on, .make_node = same),
    OP("hidden_write", overwrites, .make_node = same),
    OP("no_view", honest, .make_node = same, .view_map = "r: x"),
    OP("no_destroy", honest, .make_node = same, .destroy_map = "r: x"),
    OP("too_long", one_more, .make_node = same),
    OP("fixed_type", honest, .itypes = "float64[?]", .otypes = "float64[2]"),
    OP("wrong_shape", honest, .itypes = "float64[?]", .otypes = "float64[?]",
       .shape = "[x.shape[0] + 1]"),
    OP("small_only", small_only, .make_node = same),
    OP("impure", counts, .make_node = same),
    OP("seldom_pure", seldom, .make_node = same),
    OP("remembers", remembers, .make_node = same),
    {.size = sizeof(TlOpDef),
     .name = "memo_static",
     .in = "x",
     .doc = "A test.",
     .make_node = same,
     .thunk = &remembering_all},
    OP("uncleared", accumulates, .make_node = same),
    OP("no_strides", ignores_strides, .make_node = same),
    OP("beyond", goes_beyond, .make_node = same),
    OP("other_debug", honest, .make_node = same, .debug_perform = thrice,
       .debug_is_reference = true),
    OP("running", running, .make_node = same, .debug_perform = running_exactly,
       .debug_is_reference = true),
    OP("running_off", running_slightly_off, .make_node = same,
       .debug_perform = running_exactly, .debug_is_reference = true),
    OP("half_declared", passes_both, .make_node = two_views, .out = "q, r",
       .view_map = "q: x"),
    OP("fickle_views", honest, .make_node = same, .view = view_at_times),
    OP("fickle_fold", honest, .make_node = same, .fold = fold_at_times),
    OP("one_then_zero", one_then_zero, .make_node = same),
    OP("not_finite", not_finite, .make_node = same),
    OP("by_address", by_address, .make_node = same),
    OP("odd", plus_one, .itypes = "even", .otypes = "even"),
    OP("infers_more", honest, .make_node = same, .infer_shape = infer_one_more),
    OP("infers_two", honest, .make_node = same, .infer_shape = infer_two_sizes),
    OP("infers_none", honest, .make_node = same, .infer_shape = infer_nothing),
    {.size = sizeof(TlOpDef),
     .name = "sum_twice",
     .in = "*xs",
     .doc = "A test.",
     .make_node = same,
     .perform = adds_up,
     .view = no_view,
     .pullback = "2 * g"},
    OP("far_view", honest, .make_node = same, .view = view_far_away),
    OP("nameless", honest, .make_node = same, .str = name_silent),
    OP("bad_name", honest, .make_node = same, .str = name_fails),
    OP("refuses_push", honest, .make_node = same, .pushforward = push_refuses),
    OP("silent_push", honest, .make_node = same, .pushforward = push_silent),
    OP("fickle_type", honest, .make_node = other_type),
    OP("wrong_dtype", passes_on, .itypes = "float64[?]", .otypes = "int64[?]",
       .view_map = "r: x"),
    OP("wrong_rank", honest, .itypes = "float64[?]", .otypes = "float64[?, ?]"),
    OP("wrong_slope", honest, .make_node = same, .adjoint = "3 * g"),
    OP("right_slope", honest, .make_node = same, .adjoint = "2 * g"),
    OP("short_slope", honest, .make_node = same, .pullback = "g[1:]"),
    OP("short_adjoint", honest, .make_node = same, .adjoint = "2 * g[:1]"),
    OP("flat_slope", honest, .make_node = same, .pullback = "2 * sum(g)"),
    OP("whole_slope", honest, .make_node = same, .pullback = "int64(2 * g)"),
    OP("no_slope", honest, .make_node = same, .grad = forgets),
    OP("none_slope", honest, .make_node = same, .grad = gives_none),
    OP("wild_slope", honest, .make_node = same, .grad = gives_nothing_there),
    OP("cut_slope", honest, .make_node = same, .grad = disconnects,
       .connected = all_connected),
    OP("cut_unsaid", honest, .make_node = same, .grad = disconnects),
    {.size = sizeof(TlOpDef),
     .name = "cut_by_text",
     .in = "x, like",
     .doc = "A test.",
     .make_node = same,
     .perform = honest,
     .adjoint = "g * 2; disconnected"},
    {.size = sizeof(TlOpDef),
     .name = "pair",
     .in = "x, y",
     .out = "p, q",
     .make_node = two_nodes,
     .perform = doubles_both,
     .grad = if_used},
    {.size = sizeof(TlOpDef),
     .name = "pair_said",
     .in = "x, y",
     .out = "p, q",
     .make_node = two_nodes,
     .perform = doubles_both,
     .grad = if_used,
     .connected = own_output},
    {.size = sizeof(TlOpDef),
     .name = "pair_forgets",
     .in = "x, y",
     .out = "p, q",
     .make_node = two_nodes,
     .perform = doubles_both,
     .grad = only_first},
    {.size = sizeof(TlOpDef),
     .name = "cut_denied",
     .in = "x, y",
     .make_node = same,
     .perform = honest,
     .grad = of_both,
     .user = "7 * g",
     .connected = first_input},
    {.size = sizeof(TlOpDef),
     .name = "cut_kept",
     .in = "x, y",
     .make_node = same,
     .perform = honest,
     .grad = of_both,
     .connected = first_input},
    {.size = sizeof(TlOpDef),
     .name = "cut_undefined",
     .in = "x, y",
     .make_node = same,
     .perform = honest,
     .grad = of_both,
     .user = "undefined('y only counts')",
     .connected = first_input},
    OP("tall_partial", total, .itypes = "float64[?]", .otypes = "float64",
       .partials = "1"),
    OP("wide_partial", total, .itypes = "float64[?]", .otypes = "float64",
       .partials = "ones_like(x)"),
    OP("cut_off", truncates, .itypes = "float64[?]", .otypes = "int64[?]",
       .pullback = "zeros_like(x)"),
    OP("cut_off_one", truncates, .itypes = "float64[?]", .otypes = "int64[?]",
       .pullback = "ones_like(x) * 1"),
    OP("cut_off_ones", truncates, .itypes = "float64[?]", .otypes = "int64[?]",
       .pullback = "broadcast_to(-1.0, x.shape)"),
    OP("cut_off_some", truncates, .itypes = "float64[?]", .otypes = "int64[?]",
       .pullback = "g * x"),
    OP("cut_off_none", truncates, .itypes = "float64[?]", .otypes = "int64[?]",
       .pullback = "g * 0"),
    OP("right_push", honest, .make_node = same, .pushforward = push_text,
       .user = "2 * t_x", .adjoint = "2 * g"),
    OP("short_push", honest, .make_node = same, .pushforward = push_text,
       .user = "2 * t_x[1:]"),
    OP("wrong_push", honest, .make_node = same, .pushforward = push_text,
       .user = "2.002 * t_x"),
    OP("flat_push", honest, .make_node = same, .pushforward = push_rank),
    OP("whole_push", honest, .make_node = same, .pushforward = push_number),
    OP("no_push", honest, .make_node = same, .pushforward = push_forgets),
    OP("cut_off_push", truncates, .itypes = "float64[?]", .otypes = "int64[?]",
       .pushforward = push_text, .user = "ones_like(x)"),
    OP("never_ready", NULL, .make_node = same, .thunk = &waiting),
    OP("impatient", NULL, .make_node = same, .thunk = &grabbing),
    OP("memo_thunk", NULL, .make_node = same, .thunk = &remembering),
    OP("leaky_thunk", NULL, .make_node = same, .thunk = &counting),
    {.size = sizeof(TlOpDef),
     .name = "no_swap",
     .in = "x, y",
     .doc = "A test.",
     .make_node = same,
     .perform = minus,
     .commutative = true},
    {.size = sizeof(TlOpDef),
     .name = "wrong_view",
     .in = "x, y",
     .doc = "A test.",
     .make_node = same,
     .perform = passes_second,
     .view_map = "r: x"},
    {.size = sizeof(TlOpDef),
     .name = "wrong_destroy",
     .in = "x, y",
     .doc = "A test.",
     .make_node = same,
     .perform = overwrites_second,
     .destroy_map = "r: x"},
};

static bool init(TlHost *h, const TlApi *api) {
    calls_of_all = mmap(NULL, sizeof *calls_of_all, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls_of_all == MAP_FAILED) return false;
    if (!api->add_type(h, &even)) return false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!api->add_op(h, &ops[i])) return false;
    return true;
}
TL_PLUGIN("liars", "1.0", init)
