/* The C interface of plugins (thunkline/plugin.h) while ops and types are used: what
 * they ask for by mistake, and promises that they break, are errors and none crashes.
 */
#include "plugin_test.h"

static bool lazy_filter(const TlFilter *f, void *out) {
    (void)f, (void)out;
    return false;
}
static int any_view(const TlApply *a, size_t out) {
    (void)a, (void)out;
    return -7;
}

/* ---- asking for what there is not ---- */
static int question;
static bool asks_node(TlNode *n) {
    const TlApi *a = n->api;
    n->out[0] = n->in[0];
    switch (question) {
    case 0:
        return !a->is_literal(n, 99) && a->wrap(n, 99, n->in[0]);
    case 1:
        return a->wrap(n, 0, NULL);
    case 2:
        return a->prop_int(n->host, "nothing") == 1;
    case 3:
        n->out[0] = a->type(n->host, "flot64");
        return n->out[0] != NULL;
    case 4:
        n->out[0] = a->make_tensor(n->host, TL_FLOAT64, 99, NULL);
        return n->out[0];
    case 5:
        n->out[0] = NULL;
        return true;
    case 6:
        n->nout = 99999;
        return true;
    case 7:
        n->nout = 0;
        return true;
    case 8:
        return a->apply(n->host, "sin", NULL, 1, &(TlVar){0}, NULL) != TL_NONE;
    case 9:
        return a->number(n->host, TL_FLOAT64, 1) != TL_NONE;
    case 10:
        return a->add_op(n->host, op_def);
    case 11:
        return a->wrap(n, 0, a->type(n->host, "random"));
    default:
        return true;
    }
}
static bool asks_run(TlCall *c) {
    const TlApi *a = c->api;
    TlTensor t;
    const int64_t shape[TL_NDIM] = {-1, 2}, large[2] = {INT64_MAX, INT64_MAX};
    switch (question) {
    case 20:
        return a->input(c, 99, &t);
    case 21:
        return a->input_object(c, 0) != NULL;
    case 22:
        return a->output(c, 99, 0, NULL, &t);
    case 23:
        return a->output(c, 0, 1, shape, &t);
    case 24:
        return a->output(c, 0, 2, large, &t);
    case 25:
        return a->output(c, 0, 99, shape, &t);
    case 26:
        return a->output_object(c, 0) != NULL;
    case 27:
        return a->pass(c, 0, 99);
    case 28:
        return a->pass(c, 99, 0);
    case 29:
        return a->kept(c, 99, &t);
    case 30:
        t = (TlTensor){.ndim = 99};
        return a->view(c, 0, 0, &t);
    case 31:
        return a->input(c, 0, &t) && (t.stride[0] = INT64_MAX, a->view(c, 0, 0, &t));
    case 32:
        return a->scratch(c, SIZE_MAX) != NULL;
    case 33:
        return a->prop_float(c->host, "nothing") > 1;
    case 34:
        return a->text(c->host, "x + 1") != TL_NONE;
    case 35:
        return true; /* without an output */
    case 36:
        return a->contiguous(c, 99, &t);
    case 37: /* no number is drawn here */
        return a->uniform(c->host) > 0 || a->normal(c->host) > 0;
    default:
        return a->pass(c, 0, 0);
    }
}
static bool asks_grad(TlGrad *g) {
    const TlApi *a = g->api;
    const TlVar wild[2] = {TL_NONE, 99999};
    switch (question) {
    case 40:
        g->grad[0] = 99999;
        return true;
    case 41:
        g->grad[0] = a->apply(g->host, "sin", NULL, 1, wild, NULL);
        break;
    case 42:
        g->grad[0] = a->apply(g->host, "sin", NULL, 1, wild + 1, NULL);
        break;
    case 43:
        g->grad[0] = a->apply(g->host, "nothing", NULL, 1, g->in, NULL);
        break;
    case 44:
        g->grad[0] = a->apply(g->host, "sum", "axis=", 1, g->in, NULL);
        break;
    case 45:
        g->grad[0] = a->text(g->host, "x +");
        break;
    case 46:
        g->grad[0] = a->text(g->host, "nothing");
        break;
    case 47:
        g->grad[0] = a->number(g->host, (TlDType)99, 1);
        break;
    case 48:
        g->grad[0] = a->constant(g->host, NULL, 1);
        break;
    case 49:
        return a->var_type(g->host, 99999) != NULL;
    case 50:
        return false;
    case 51:
        g->grad[0] = a->apply(g->host, "sin", NULL, 9999, g->in, NULL);
        break;
    default:
        g->grad[0] = g->g[0];
        return true;
    }
    return g->grad[0] != TL_NONE;
}

/* Each ends with one error of its op, in whatever phase it was asked. */
static void test_questions(void) {
    const TlOpDef *o = OP(.in = "x", .make_node = asks_node, .perform = asks_run,
                          .grad = asks_grad, .never_fold = true);
    for (question = 0; question < 52; question++) {
        if ((question > 11 && question < 20) || (question > 37 && question < 40))
            continue;
        begin();
        CHECK(add_op(o), "%s", first_error());
        Graph *g = graph_with(
            0, NULL, "x = exp(zeros(2))\nh = f(x)\nd = grad(sum(h), x)", "h,d");
        Value v[2] = {{0}, {0}};
        Var want[2];
        bool ok = g != NULL;
        for (int i = 0; ok && i < 2; i++)
            want[i] = g->outputs.p[i].var;
        ok = ok && services(s)->eval(g, 2, want, v);
        CHECK(!ok && diag_count(s) == 1, "question %d: %zu", question, diag_count(s));
        for (int i = 0; i < 2; i++)
            value_unref(&v[i]);
        if (g) graph_free(g);
        session_free(s);
    }
}

/* ---- transfers ---- */
static TlTransferResult moves(TlTransfer *t) {
    const int64_t large[2] = {INT64_MAX, INT64_MAX}, negative[1] = {-1};
    TlTensor r;
    double x;
    bool exact;
    switch (question) {
    case 0:
        return TL_TRANSFER_DECLINED;
    case 1:
        return TL_TRANSFER_FAILED;
    case 2:
        return TL_TRANSFER_DONE;
    case 3:
        t->api->transfer_tensor(t, TL_FLOAT64, 2, large, &r);
        break;
    case 4:
        t->api->transfer_tensor(t, TL_FLOAT64, 1, negative, &r);
        break;
    case 5:
        t->api->transfer_tensor(t, (TlDType)77, 0, NULL, &r);
        break;
    case 6:
        t->api->transfer_tensor(t, TL_FLOAT64, 99, negative, &r);
        break;
    case 7:
        t->api->add_transfer(t->host, moves);
        break;
    case 8: /* one that is declined after all */
        t->api->transfer_tensor(t, TL_FLOAT64, 0, NULL, &r);
        return TL_TRANSFER_DECLINED;
    case 9: /* another than the type's: the filter says no */
        if (!t->api->transfer_tensor(t, TL_FLOAT64, 0, NULL, &r)) break;
        *(double *)r.data = 0.5;
        break;
    default: /* both ways: t to an integer, a number to t */
        if (t->api->transfer_object && t->api->type_is(t->to, type_def)) {
            double *to = t->api->transfer_object(t);
            if (!to || !t->api->to_double(t->value, &x, &exact))
                return TL_TRANSFER_FAILED;
            *to = x;
        } else {
            const double *own = t->api->object(t->value, type_def);
            if (!own || !t->api->transfer_tensor(t, TL_INT64, 0, NULL, &r))
                return TL_TRANSFER_FAILED;
            *(int64_t *)r.data = (int64_t)*own;
        }
    }
    return TL_TRANSFER_DONE;
}
static TlTransferFn *transfer_fn;
static bool init_transfer(TlHost *h, const TlApi *a) {
    return a->add_type(h, type_def) && a->add_transfer(h, transfer_fn);
}

/* t(2.0) for an int64; the error's text, or NULL. */
static const char *moved(void) {
    static const TlPlugin p = {TL_PLUGIN_ABI, "mine", "1", init_transfer};
    Value v = {0};
    const char *text = "t(2.0)";
    type_def = TYPE(.doc = "T");
    transfer_fn = moves;
    begin();
    CHECK(plugin_add(s, "./mine.so", &p), "%s", first_error());
    bool ok = value_compile(s, text_span(text), type_scalar(s, DT_INT64),
                            (Filter){.allow_downcast = -1}, "x", &v);
    if (ok) CHECK(tensor_i64(&v.t, 0) == 2);
    value_unref(&v);
    CHECK(ok == (diag_count(s) == 0) && diag_count(s) < 2);
    static char said_[256];
    snprintf(said_, sizeof said_, "%s", first_error());
    session_free(s);
    return ok ? NULL : said_;
}

static void test_transfers(void) {
    static const char *const want[] = {
        "x: expected int64",     "a transfer failed and gave no reason",
        "created no value",      "beyond what can be addressed",
        "can't create an array", "can't create an array",
        "can't create an array", "only by init",
        "x: expected int64",     "x: expected int64, got a float64 scalar"};
    for (question = 0; question < 10; question++) {
        const char *got = moved();
        CHECK(got && strstr(got, want[question]), "%d: %s", question, got ? got : "");
    }
    CHECK(!moved());
    begin();
    static const TlPlugin p = {TL_PLUGIN_ABI, "mine", "1", init_transfer};
    transfer_fn = NULL;
    type_def = TYPE(.doc = "T");
    CHECK(!plugin_add(s, "./mine.so", &p));
    said("transfer", "a transfer is NULL");
    session_free(s);
}

/* ---- thunks ---- */
static int freed;
static bool thunk_make(const TlCall *c, int impl, void **state) {
    (void)impl;
    if (question == 0) return false;
    if (question == 1) return c->api->fail(c->host, TL_FAILED, "no state today");
    *state = calloc(1, 1);
    return true;
}
static void thunk_free(void *state) {
    freed += state != NULL;
    free(state);
}
static TlThunkResult thunk_run(void *state, TlCall *c) {
    (void)state;
    switch (question) {
    case 2:
        return TL_THUNK_FAILED;
    case 3:
        return TL_THUNK_DONE;
    case 4:
        return TL_THUNK_NEEDS;
    case 5:
        return (TlThunkResult)77;
    case 6:
        return c->api->fail(c->host, TL_WRONG_VALUE, "no"), TL_THUNK_DONE;
    default:
        return c->api->pass(c, 0, 0) ? TL_THUNK_DONE : TL_THUNK_FAILED;
    }
}

/* Each broken promise is one error, eager or lazy, and states are freed. */
static void test_thunks(void) {
    static const char *const want[] = {"gave no reason",
                                       "no state today",
                                       "gave no reason",
                                       "did not create output",
                                       "",
                                       "did not create output",
                                       "no"};
    for (int k = 0; k < 14; k++) {
        question = k / 2;
        const TlThunk thunk = {.size = sizeof thunk,
                               .lazy = k % 2 && question != 6,
                               .make = thunk_make,
                               .run = thunk_run,
                               .free = thunk_free};
        begin();
        freed = 0;
        CHECK(add_op(OP(.perform = NULL, .thunk = &thunk, .never_fold = true)), "%s",
              first_error());
        Graph *g = graph_with(0, NULL, "a = f(exp(1.0))", "a");
        Value v = {0};
        bool ok = g && services(s)->eval(g, 1, &g->outputs.p[0].var, &v);
        CHECK(!ok && diag_count(s) == 1, "thunk %d: %zu", k, diag_count(s));
        CHECK(strstr(first_error(), want[question]), "thunk %d: %s", k, first_error());
        CHECK(freed == (question > 1), "thunk %d: %d", k, freed);
        value_unref(&v);
        graph_free(g);
        session_free(s);
    }
}

/* A filter that fails must say why, and its value is not taken. */
static void test_silent_filter(void) {
    begin();
    CHECK(add_type(TYPE(.filter = lazy_filter)), "%s", first_error());
    CHECK(!graph_with(0, NULL, "a = t(2.0)", "a"));
    CHECK(strstr(first_error(), "gave no reason") != NULL, "%s", first_error());
    session_free(s);
}

/* Answers about an Apply that are out of range count as none. */
static void test_odd_answers(void) {
    begin();
    CHECK(add_op(OP(.view = any_view, .destroy = any_view)), "%s", first_error());
    Graph *g = graph_with(0, NULL, "x = exp(zeros(2))\nh = f(x) + x", "h");
    Value v = {0};
    CHECK(g && services(s)->eval(g, 1, &g->outputs.p[0].var, &v), "%s", first_error());
    value_unref(&v);
    if (g) graph_free(g);
    session_free(s);
}

int main(void) {
    test_questions();
    test_transfers();
    test_thunks();
    test_silent_filter();
    test_odd_answers();
    return TEST_END("plugin_run");
}
