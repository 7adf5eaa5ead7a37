/* The graph row: appending, merging, names, copies with replacements, imports,
 * comparison. Chains of 100,000 Applies go through every walk: none may recurse. */
#include "graph/graph_impl.h"
#include "graph/replace.h"
#include "op/op.h"
#include "test.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static const Op add = {.name = "add"}, neg = {.name = "neg"}, sow = {.name = "sow"},
                call = {.name = "call"};

static Session *s;
static const Type *f64, *vec;
static const Props *none;

static Var app(Graph *g, const Op *op, size_t n, const Var *in, bool intern) {
    return graph_apply(g, op, none, n, in, 1, &f64, intern, false, (Origin){0});
}
static Var app1(Graph *g, const Op *op, Var x) {
    return app(g, op, 1, &x, false);
}
static Var app2(Graph *g, const Op *op, Var x, Var y) {
    Var in[] = {x, y};
    return app(g, op, 2, in, false);
}
static Var effect(Graph *g, Var x) {
    Var v = graph_apply(g, &sow, none, 1, &x, 1, &f64, true, true, (Origin){0});
    vec_push(s, &g->effects, var_owner(g, v));
    return v;
}
static Var number(Graph *g, double v, bool intern) {
    Tensor t;
    tensor_scalar(s, DT_FLOAT64, v, 0, &t);
    Var x = graph_const(g, &t, intern);
    tensor_unref(&t);
    return x;
}
static void output(Graph *g, const char *label, Var v) {
    Output o = {sym(s, label), v};
    vec_push(s, &g->outputs, o);
}
static Var apply_call(Graph *g, const char *fn, Var x) {
    Prop p = {.kind = P_GRAPH, .sym = sym(s, fn)};
    return graph_apply(g, &call, props_intern(s, 1, &p), 1, &x, 1, &f64, false, false,
                       (Origin){0});
}

static Var input(Graph *g, const char *name) {
    return graph_input(g, sym(s, name), f64);
}

static void test_props(void) {
    int64_t a[] = {1, 2}, b[] = {1, 2};
    Prop p = {.kind = P_INTS, .ints = {a, 2}}, q = {.kind = P_INTS, .ints = {b, 2}};
    const Props *x = props_intern(s, 1, &p);
    a[0] = 7;
    CHECK(x == props_intern(s, 1, &q), "the list was copied");
    CHECK(x->p[0].ints.p[0] == 1);
    CHECK(x != props_intern(s, 1, &p));
    CHECK(x != props_intern(s, 0, NULL));
    Prop zero = {.kind = P_FLOAT, .f = 0.0}, minus = {.kind = P_FLOAT, .f = -0.0};
    Prop yes = {.kind = P_BOOL, .i = 1}, one = {.kind = P_INT, .i = 1};
    CHECK(props_intern(s, 1, &zero) != props_intern(s, 1, &minus));
    CHECK(props_intern(s, 1, &yes) != props_intern(s, 1, &one));
    CHECK(props_intern(s, 1, &yes) == props_intern(s, 1, &yes));
}

static void test_names(void) {
    Graph *g = graph_new(s);
    Var x = input(g, "x"), y = app1(g, &neg, x), n = graph_dim(g, sym(s, "n"));
    CHECK(graph_find(g, sym(s, "x")) == x && graph_find(g, sym(s, "y")) == VAR_NONE);
    CHECK(graph_find(g, sym(s, "n")) == n && graph_dim(g, sym(s, "n")) == n);
    CHECK_STR(sym_text(s, var_name(g, n)), "n");
    CHECK(var_name(g, y) == 0);
    graph_name(g, y, sym(s, "y"));
    graph_name(g, y, sym(s, "also"));
    CHECK_STR(sym_text(s, var_name(g, y)), "y");
    graph_unname(g, sym(s, "y"));
    CHECK_STR(sym_text(s, var_name(g, y)), "also");
    CHECK(graph_find(g, sym(s, "y")) == VAR_NONE && g->names.n == 2);
    graph_unname(g, sym(s, "also"));
    CHECK(var_name(g, y) == 0);
    graph_name(g, x, sym(s, "y"));
    CHECK(graph_find(g, sym(s, "y")) == x);
    CHECK_STR(sym_text(s, var_name(g, x)), "x");
    graph_free(g);
}

/* The first that is taken ends it: by an input, a dim, a name of the same call, or no
 * name at all; whether few or many were expected. */
static void test_names_at_once(size_t expected, const char *taken) {
    enum { N = 100, TAKEN = 70 };
    Graph *g = graph_new(s);
    Var x = input(g, "x"), y = app1(g, &neg, x);
    VarName names[N];
    graph_dim(g, sym(s, "n"));
    graph_reserve_names(g, expected);
    for (int i = 0; i < N; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%d", i);
        names[i] = (VarName){y, sym(s, text)};
    }
    names[TAKEN].name = *taken ? sym(s, taken) : 0;
    CHECK(graph_try_names(g, N, names) == TAKEN && graph_find(g, sym(s, "x")) == x);
    for (int i = 0; i < N; i++)
        if (i != TAKEN)
            CHECK((graph_find(g, names[i].name) == y) == (i < TAKEN), "%d", i);
    CHECK(g->names.n == TAKEN + 1 && var_name(g, y) == names[0].name);
    CHECK(graph_try_names(g, N - TAKEN - 1, names + TAKEN + 1) == N - TAKEN - 1);
    CHECK(graph_find(g, names[N - 1].name) == y);
    CHECK(graph_try_names(g, 0, names) == 0);
    CHECK(!graph_try_name(g, y, names[1].name) && graph_try_name(g, y, sym(s, "new")));
    CHECK(graph_try_names(g, 1, &(VarName){y, sym(s, "new")}) == 0);
    graph_unname(g, names[1].name);
    CHECK(graph_try_names(g, 1, &names[1]) == 1 && graph_find(g, names[1].name) == y);
    CHECK(graph_try_names(g, 2, names) == 0);
    graph_free(g);
}

/* A copy's table of names is made when one is looked for: whatever comes first. */
static void test_names_of_copies(void) {
    Graph *g = graph_new(s);
    Var x = input(g, "x"), y = app1(g, &neg, x), z = app1(g, &neg, y);
    graph_name(g, y, sym(s, "y"));
    graph_name(g, y, sym(s, "also"));
    graph_name(g, z, sym(s, "z"));
    output(g, "z", z);
    for (int first = 0; first < 5; first++) {
        Graph *c = graph_copy(g, ROOTS_RUN | ROOTS_NAMED, NULL, false, NULL);
        Var w = c->outputs.p[0].var;
        CHECK(c->names.n == 4 && var_name(c, w) == sym(s, "z"));
        if (first == 0) CHECK(graph_find(c, sym(s, "z")) == w);
        if (first == 1) CHECK(!graph_try_name(c, w, sym(s, "also")));
        if (first == 2) CHECK(graph_try_name(c, w, sym(s, "new")));
        if (first == 3) graph_unname(c, sym(s, "y"));
        if (first == 4) graph_rename(c, sym(s, "y"), sym(s, "w"));
        CHECK(graph_find(c, sym(s, "z")) == w, "%d", first);
        CHECK((graph_find(c, sym(s, "y")) == VAR_NONE) == (first >= 3), "%d", first);
        CHECK(graph_find(c, sym(s, "also")) != VAR_NONE, "%d", first);
        CHECK(graph_find(c, sym(s, "x")) == c->inputs.p[0], "%d", first);
        CHECK(!graph_try_name(c, w, sym(s, "x")), "%d", first);
        CHECK(c->names.n == (first == 2 ? 5U : first == 3 ? 3U : 4U), "%d", first);
        graph_free(c);
    }
    graph_unname(g, sym(s, "x"));
    graph_name(g, z, sym(s, "x"));
    Graph *c = graph_copy(g, ROOTS_RUN | ROOTS_NAMED, NULL, false, NULL);
    CHECK(graph_find(c, sym(s, "x")) == c->inputs.p[0], "an input's name is its own");
    CHECK(c->names.n == 4 && graph_find(c, sym(s, "z")) == c->outputs.p[0].var);
    graph_free(c);
    graph_free(g);
}

static void test_merging(void) {
    Graph *g = graph_new(s);
    Var x = input(g, "x"), a = app1(g, &neg, x), b = app1(g, &neg, x);
    CHECK(a != b, "readers don't merge");
    Var c = number(g, 1, false), in[] = {x, c};
    CHECK(app(g, &neg, 1, &x, true) == a,
          "what was there before merging began is found");
    CHECK(number(g, 1, true) == c);
    CHECK(number(g, 1, false) != c);
    CHECK(number(g, 0, true) != number(g, -0.0, true));
    CHECK(number(g, (double)NAN, true) == number(g, (double)NAN, true));
    Var sum = app(g, &add, 2, in, true);
    CHECK(sum == app(g, &add, 2, in, true));
    CHECK(sum != app(g, &sow, 2, in, true));
    Var back[] = {c, x};
    CHECK(sum != app(g, &add, 2, back, true));
    CHECK(effect(g, x) != effect(g, x), "effects never merge");
    CHECK(g->apply[g->effects.p[0]].serial != g->apply[g->effects.p[1]].serial);
    int64_t shape = 40000;
    Tensor big, other;
    tensor_zeros(s, DT_FLOAT64, 1, &shape, &big);
    tensor_clone(s, &big, &other);
    Var z = graph_const(g, &big, true);
    CHECK(graph_const(g, &other, true) == z);
    tensor_unref(&other);
    tensor_clone(s, &big, &other);
    ((double *)other.data)[shape - 1] = 1;
    CHECK(graph_const(g, &other, true) != z, "every byte counts");
    tensor_unref(&big);
    tensor_unref(&other);
    CHECK(tensor_size(var_const(g, z)) == shape && var_const(g, x) == NULL);
    graph_free(g);
}

/* The table of what may merge grows, and some Applies get other inputs before that. */
static void test_merging_many(void) {
    enum { MANY = 3000, MOVED = 100 };
    Graph *g = graph_new(s);
    Var x[MANY], sum[MANY];
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        x[i] = input(g, name);
    }
    for (int i = 0; i < MANY; i++) {
        Var in[] = {x[i], x[i * 7 % MANY]}, moved[] = {x[i], x[(i + 1) % MANY]};
        sum[i] = app(g, &add, 2, in, true);
        if (i % MOVED == 0) graph_replace_inputs(g, var_owner(g, sum[i]), moved);
    }
    for (int i = 0; i < MANY; i++) {
        Var in[] = {x[i], i % MOVED == 0 ? x[(i + 1) % MANY] : x[i * 7 % MANY]};
        CHECK(graph_equal_apply(g, &add, none, 2, in) == var_owner(g, sum[i]));
        CHECK(app(g, &add, 2, in, true) == sum[i]);
    }
    CHECK(g->napply == MANY);
    for (int i = 0; i < MANY; i++)
        output(g, "y", sum[i]);
    Graph *copy = graph_copy(g, ROOTS_RUN, NULL, true, NULL);
    ApplyId at, bt;
    Str why = STR(s);
    CHECK(graph_equal(g, copy, &at, &bt, &why), "%s", str_text(&why));
    str_free(&why);
    graph_free(copy);
    graph_free(g);
}

static Var float_number(Graph *g, double v) {
    return graph_const_number(g, DT_FLOAT64, &v, false);
}

static void test_numbers(void) {
    Graph *g = graph_new(s), *other = graph_new(s);
    Var a = float_number(g, 2.5), b = float_number(g, 2.5);
    CHECK(a != b, "each is a leaf of its own");
    CHECK(var_const(g, a) == var_const(g, b), "with the same value");
    CHECK(var_const(g, a) != var_const(other, float_number(other, 2.5)));
    Var zero = float_number(g, 0.0), minus = float_number(g, -0.0);
    CHECK(var_const(g, zero) != var_const(g, minus));
    int64_t i = 0;
    Var whole = graph_const_number(g, DT_INT64, &i, false);
    CHECK(var_type(g, whole)->dtype == DT_INT64 &&
          tensor_i64(var_const(g, whole), 0) == 0);
    Var merged = graph_const_number(g, DT_INT64, &i, true);
    CHECK(merged == whole && graph_const_number(g, DT_INT64, &i, true) == whole);
    CHECK(graph_const_number(g, DT_INT64, &i, false) != whole);
    double same = 2.5;
    CHECK(graph_const_number(g, DT_FLOAT64, &same, true) == a &&
          number(g, 2.5, true) == a);
    for (int k = 0; k < 1000; k++) { /* more than are remembered */
        Var v = float_number(g, k);
        CHECK(*(double *)var_const(g, v)->data == k && var_type(g, v) == f64);
    }
    CHECK(*(double *)var_const(g, a)->data == 2.5 &&
          signbit(*(double *)var_const(g, minus)->data));
    graph_free(other);
    graph_free(g);
}

/* Constants that are numbers have memory of their own, of whatever they were part. */
static void test_number_values(void) {
    Graph *g = graph_new(s);
    int64_t shape = 3;
    Tensor whole;
    tensor_zeros(s, DT_FLOAT64, 1, &shape, &whole);
    ((double *)whole.data)[2] = 7;
    Tensor part = {.dtype = DT_FLOAT64, .data = (double *)whole.data + 2};
    part.buf = whole.buf;
    Var x = graph_const(g, &part, false);
    tensor_unref(&whole);
    CHECK(*(double *)var_const(g, x)->data == 7, "it doesn't keep what it is part of");
    for (DType d = 0; d < DT_N; d++) {
        Tensor t;
        tensor_scalar(s, d, 1, 0, &t);
        Var v = graph_const(g, &t, false);
        CHECK(tensor_identical(var_const(g, v), &t) && graph_const(g, &t, true) <= v);
        CHECK((uintptr_t)var_const(g, v)->data % dtype_size(d) == 0);
        tensor_unref(&t);
    }
    Value copy = {0};
    value_copy_view(&copy, var_leafrec(g, x)->value);
    graph_free(g);
    CHECK(*(double *)copy.t.data == 7, "a view keeps a number");
    value_unref(&copy);
}

/* As many as fill some blocks of memory: in the graph, in a copy that lives longer, and
 * as values copied as a whole. */
static void test_many_numbers(void) {
    enum { MANY = 3000 };
    Graph *g = graph_new(s), *c = graph_new(s);
    bool same = true;
    for (int k = 0; k < MANY; k++)
        float_number(g, k + 0.5);
    for (Var v = 0; v < MANY; v++) {
        Tensor whole = *var_const(g, v);
        same &= whole.ndim == 0 && *(double *)whole.data == v + 0.5;
        if (v % 7 == 0) graph_share_const(c, g, v, v % 2);
    }
    CHECK(same);
    graph_free(g);
    float_number(c, -1);
    for (Var v = 0; v < c->nvar - 1; v++)
        same &= *(double *)var_const(c, v)->data == 7 * v + 0.5;
    CHECK(same && c->nvar == (MANY + 6) / 7 + 1, "a copy keeps its numbers");
    graph_free(c);
}

static void test_walks(void) {
    Arena *a = arena_new(s);
    Graph *g = graph_new(s);
    Var x = input(g, "x"), y = input(g, "y");
    Var used = app2(g, &add, x, x), dead = app1(g, &neg, y), out = app1(g, &neg, used);
    Var seen = effect(g, y);
    output(g, "out", out);
    graph_name(g, dead, sym(s, "dead"));
    uint8_t *live = graph_live(g, a, ROOTS_RUN);
    CHECK(live[x] && live[used] && live[out] && !live[dead] && live[seen] && live[y]);
    CHECK(graph_live(g, a, ROOTS_NAMED)[dead] && !graph_live(g, a, ROOTS_NAMED)[out]);
    Clients c = graph_clients(g, a, NULL);
    CHECK(c.first[x + 1] - c.first[x] == 2 &&
          c.client[c.first[x]] == var_owner(g, used));
    CHECK(c.first[y + 1] - c.first[y] == 2 &&
          c.client[c.first[y]] < c.client[c.first[y] + 1]);
    c = graph_clients(g, a, live);
    CHECK(c.first[y + 1] - c.first[y] == 1 &&
          c.client[c.first[y]] == var_owner(g, seen));
    CHECK(c.first[out] == c.first[out + 1]);
    graph_free(g);
    arena_free(a);
}

static void test_copy(void) {
    Graph *g = graph_new(s);
    Var x = input(g, "x"), unused = input(g, "unused"),
        w = graph_shared(g, sym(s, "w"), f64);
    Var a = app1(g, &neg, x), b = app2(g, &add, a, w), dead = app1(g, &neg, w);
    Var e1 = effect(g, a), e2 = effect(g, a);
    Var late = app2(g, &add, x, x), init = number(g, 3, false);
    var_leafrec(g, w)->init = init;
    output(g, "b", b);
    vec_push(s, &g->updates, ((Update){w, b}));
    graph_name(g, a, sym(s, "a"));
    graph_name(g, late, sym(s, "late"));
    Var forward[16], map[16];
    for (Var v = 0; v < g->nvar; v++)
        forward[v] = v;
    forward[a] = late;
    Graph *c = graph_copy(g, ROOTS_RUN | ROOTS_INIT, forward, false, map);
    CHECK(c->napply == 4 && c->inputs.n == 2 && c->shared.n == 1 &&
          map[dead] == VAR_NONE);
    CHECK(map[a] == map[late] && graph_find(c, sym(s, "a")) == map[a]);
    CHECK(c->apply[var_owner(c, map[b])].op == &add);
    CHECK(apply_in(c, var_owner(c, map[b]))[0] == map[late] && map[late] < map[b]);
    CHECK(c->updates.p[0].shared == map[w] && c->updates.p[0].value == map[b]);
    CHECK(c->effects.n == 2 && c->effects.p[0] == var_owner(c, map[e1]));
    CHECK(c->effects.p[1] == var_owner(c, map[e2]) &&
          c->effects.p[0] < c->effects.p[1]);
    CHECK(tensor_f64(var_const(c, var_leafrec(c, map[w])->init), 0) == 3);
    CHECK(graph_find(c, sym(s, "unused")) == map[unused]);
    graph_free(c);
    c = graph_copy(g, ROOTS_RUN, NULL, true, NULL);
    CHECK(c->napply == 4 &&
          var_leafrec(c, graph_find(c, sym(s, "w")))->init == VAR_NONE);
    graph_free(c);
    c = graph_copy_take(g, ROOTS_RUN | ROOTS_INIT, true);
    CHECK(c->napply == 4 && graph_find(c, sym(s, "w")) == c->shared.p[0] &&
          graph_find(c, sym(s, "dead")) == VAR_NONE && c->updates.n == 1);
    for (Var v = 0; v < c->nvar; v++)
        forward[v] = v;
    x = graph_find(c, sym(s, "x"));
    Var more = app1(c, &neg, x), most = app1(c, &neg, more);
    forward[more] = most;
    forward[most] = x;
    output(c, "more", more);
    graph_compact(c, ROOTS_RUN | ROOTS_INIT, forward, true);
    x = graph_find(c, sym(s, "x"));
    CHECK(graph_output(c, sym(s, "more")) == x && var_name(c, x) == sym(s, "x"));
    graph_free(c);
}

/* A chain with what is dead, equal and an effect in between, copied and then taken: the
 * same graph in its own memory. */
static void test_take(void) {
    Graph *g = graph_new(s);
    Var x = input(g, "x"), v = x;
    for (int k = 0; k < 300; k++) {
        app1(g, &neg, v);
        Var c = float_number(g, k / 3), twice = app2(g, &add, c, v);
        v = app2(g, &add, twice, k % 2 ? app2(g, &add, c, v) : c);
        if (k % 50 == 0) effect(g, v);
    }
    output(g, "out", v);
    for (int intern = 0; intern < 2; intern++) {
        ApplyId at, bt;
        Str why = STR(s);
        Graph *from = graph_copy(g, ROOTS_RUN, NULL, false, NULL),
              *c = graph_copy(g, ROOTS_RUN, NULL, intern, NULL),
              *t = graph_copy_take(from, ROOTS_RUN, intern);
        CHECK(graph_equal(c, t, &at, &bt, &why), "%s", str_text(&why));
        CHECK(c->napply == t->napply && c->napply < g->napply && t->effects.n == 6);
        CHECK(intern == (c->napply < 650), "%u Applies", c->napply);
        Var more = app1(t, &neg, graph_output(t, sym(s, "out")));
        CHECK(var_owner(t, more) == t->napply - 1);
        graph_free(c);
        graph_free(t);
        str_free(&why);
    }
    graph_free(g);
}

/* main: f(x) where f calls h; k is never called. */
static Graph *with_functions(const char *f, const Op *inner) {
    Graph *g = graph_new(s);
    const char *names[] = {"k", f, "h"};
    for (int i = 0; i < 3; i++) {
        Graph *fn = graph_function_new(g, sym(s, names[i]));
        Var x = input(fn, "x");
        output(fn, "r", i == 1 ? apply_call(fn, "h", x) : app1(fn, inner, x));
    }
    Var x = input(g, "x");
    output(g, "out", apply_call(g, f, x));
    return g;
}

static void test_functions(void) {
    ApplyId at, bt;
    Str why = STR(s);
    Graph *g = with_functions("f", &neg),
          *c = graph_copy(g, ROOTS_RUN, NULL, false, NULL);
    CHECK(c->functions.n == 2 && c->functions.p[0]->name == sym(s, "f"));
    CHECK(graph_function(c, sym(s, "h")) && !graph_function(c, sym(s, "k")));
    CHECK(graph_function(c->functions.p[0], sym(s, "h"))->main == c);
    CHECK(graph_equal(g, c, &at, &bt, &why), "%s", str_text(&why));
    Graph *all = graph_copy(g, ROOTS_RUN | ROOTS_NAMED, NULL, false, NULL);
    CHECK(all->functions.n == 3);
    Graph *renamed = with_functions("f2", &neg), *other = with_functions("f", &sow);
    CHECK(graph_equal(g, renamed, &at, &bt, &why), "%s", str_text(&why));
    CHECK(!graph_equal(g, other, &at, &bt, &why) &&
          strstr(str_text(&why), "in function h"));
    /* importing brings functions along, and refuses different ones of the same name */
    Graph *d = graph_new(s);
    Var z = input(d, "z"), made;
    CHECK(graph_inline(d, g, &z, true, &made) && d->functions.n == 2);
    CHECK(apply_in(d, var_owner(d, made))[0] == z);
    CHECK(graph_inline(d, renamed, &z, true, &made) && d->functions.n == 3);
    CHECK(!graph_inline(d, other, &z, true, &made));
    CHECK(diag_count(s) == 1 && diag_get(s, 0)->code == E_DUPLICATE);
    diag_clear(s);
    graph_free(g);
    graph_free(c);
    graph_free(all);
    graph_free(renamed);
    graph_free(other);
    graph_free(d);
    str_free(&why);
}

static void test_import(void) {
    Graph *g = graph_new(s), *d = graph_new(s);
    Var x = input(g, "x"), n = graph_dim(g, sym(s, "n")), c = number(g, 2, false);
    Var a = app2(g, &add, x, c), b = app2(g, &add, a, n), e = effect(g, b),
        dead = app1(g, &neg, x);
    Arena *arena = arena_new(s);
    Var z = input(d, "z"), *map = graph_import_map(g, arena, &z);
    CHECK(graph_import(d, g, (VarList){1, &e}, true, map));
    CHECK(map[x] == z && map[n] == graph_find(d, sym(s, "n")) && map[dead] == VAR_NONE);
    CHECK(d->napply == 3 && d->effects.n == 1 &&
          d->effects.p[0] == var_owner(d, map[e]));
    uint32_t before = d->napply;
    Var *again = graph_import_map(g, arena, &z);
    CHECK(graph_import(d, g, (VarList){1, &b}, true, again) && d->napply == before &&
          again[b] == map[b]);
    /* what is given is not copied, nor what only that needs */
    again = graph_import_map(g, arena, NULL);
    again[a] = z;
    CHECK(graph_import(d, g, (VarList){1, &b}, true, again) &&
          d->napply == before + 1 && apply_in(d, var_owner(d, again[b]))[0] == z &&
          again[x] == VAR_NONE && again[c] == VAR_NONE);
    /* within one graph: a copy of `a` with x replaced by its own negation */
    map = graph_import_map(g, arena, &dead);
    CHECK(graph_import(g, g, (VarList){1, &a}, false, map) && map[a] != a);
    CHECK(apply_in(g, var_owner(g, map[a]))[0] == dead);
    arena_free(arena);
    graph_free(g);
    graph_free(d);
}

/* x + (k as a constant, or shared twice); used to tell graphs apart */
typedef enum Variant {
    PLAIN,
    OTHER_OP,
    OTHER_CONST,
    UNMERGED,
    LABEL,
    INPUT_NAME,
    TYPE,
    TWO_CONSTS
} Variant;
static Graph *variant(Variant v) {
    Graph *g = graph_new(s);
    Var x = graph_input(g, sym(s, v == INPUT_NAME ? "q" : "x"), v == TYPE ? vec : f64);
    Var c = number(g, v == OTHER_CONST ? -0.0 : 0.0, false),
        d = v == TWO_CONSTS ? number(g, 0.0, false) : c;
    if (v == LABEL) app1(g, &neg, x); /* dead: shifts the numbers */
    Var a = app2(g, &add, x, c), b = v == UNMERGED ? app2(g, &add, x, c) : a;
    Var y = app2(g, v == OTHER_OP ? &sow : &add, a, b);
    output(g, v == LABEL ? "other" : "out", app2(g, &add, y, d));
    return g;
}

static void test_equal(void) {
    static const char *const expect[] = {
        [PLAIN] = "",
        [OTHER_OP] = "the ops differ",
        [OTHER_CONST] = "constants differ",
        [UNMERGED] = "they are connected in different ways",
        [LABEL] = "outputs have different labels",
        [INPUT_NAME] = "inputs or shared variables have different names",
        [TYPE] = "the type of an input or shared variable differs",
        [TWO_CONSTS] = "",
    };
    Graph *plain = variant(PLAIN);
    for (Variant v = PLAIN; v <= TWO_CONSTS; v++) {
        ApplyId at, bt;
        Str why = STR(s);
        Graph *g = variant(v);
        bool same = graph_equal(plain, g, &at, &bt, &why);
        CHECK(same == (expect[v][0] == '\0'), "variant %d", (int)v);
        CHECK_STR(str_text(&why), expect[v]);
        if (v == OTHER_OP) CHECK(at == 1 && bt == 1, "%u %u", at, bt);
        if (v == OTHER_CONST) CHECK(at == 0 && bt == 0, "%u %u", at, bt);
        if (v == LABEL) CHECK(at == APPLY_NONE && bt == APPLY_NONE);
        str_free(&why);
        graph_free(g);
    }
    graph_free(plain);
}

static void test_chain(void) {
    enum { N = 100000 };
    Arena *a = arena_new(s);
    Graph *g = graph_new(s);
    Var x = input(g, "x"), v = x;
    for (int i = 0; i < N; i++)
        v = app2(g, &add, v, i % 2 ? x : v);
    output(g, "out", v);
    Var *forward = NEW_N(a, g->nvar, Var), *map = NEW_N(a, g->nvar + N, Var);
    for (Var k = 0; k < g->nvar; k++)
        forward[k] = k;
    Graph *c = graph_copy(g, ROOTS_RUN, forward, true, map);
    ApplyId at, bt;
    CHECK(c->napply == N && map[v] == v && graph_live(g, a, ROOTS_RUN)[x]);
    CHECK(graph_clients(g, a, NULL).first[g->nvar] == 2 * N);
    CHECK(graph_equal(g, c, &at, &bt, NULL));
    /* a chain of replacements, each to the next larger id: all end at one variable */
    Var last = app1(g, &neg, x), *chain = NEW_N(a, g->nvar, Var);
    for (Var k = 0; k < g->nvar; k++)
        chain[k] = k == x || k == last ? k : k + 1;
    Graph *short_ = graph_copy(g, ROOTS_RUN, chain, false, map);
    CHECK(short_->napply == 1 && map[v] == map[last] && map[x + 1] == map[last]);
    Graph *d = graph_new(s);
    Var z = input(d, "z"), out;
    CHECK(graph_inline(d, g, &z, false, &out) && d->napply == N);
    graph_free(g);
    graph_free(c);
    graph_free(short_);
    graph_free(d);
    arena_free(a);
}

/* The longest row of taken slots after one variable got n names, of symbols in two rows
 * that are `gap` apart: what a lookup walks through at worst. */
static size_t longest_walk(const Sym *symbol, size_t n, size_t gap) {
    Graph *g = graph_new(s);
    Var x = input(g, "x");
    for (size_t i = 0; i < n; i++)
        graph_name(g, x, symbol[i < n / 2 ? i : gap + i]);
    CHECK(graph_find(g, symbol[0]) == x &&
          graph_find(g, symbol[n / 2]) == (gap ? VAR_NONE : x));
    size_t longest = 0, row = 0;
    for (size_t i = 0; i <= g->priv->name_mask; i++) {
        row = g->priv->name[i] ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    graph_free(g);
    return longest;
}

/* Rows of symbols that would fill the same stretch of a table are scattered. */
static void test_many_names(void) {
    enum { N = 60000, ALL = 5 * 65536 };
    Sym *symbol = mem_zalloc(s, ALL, sizeof *symbol);
    char text[32];
    for (int i = 0; i < ALL; i++) {
        snprintf(text, sizeof text, "many%d", i);
        symbol[i] = sym(s, text);
    }
    size_t walk = longest_walk(symbol, N, 0);
    for (size_t size = 65536; size <= 4 * 65536; size *= 2) {
        size_t apart = longest_walk(symbol, N, size - N / 2);
        walk = apart > walk ? apart : walk;
    }
    CHECK(walk < 1000, "a lookup walks through %zu names", walk);
    mem_free(symbol);
}

/* A function that goes leaves the others alone. */
static void test_many_functions(void) {
    enum { N = 8000 };
    Graph *g = graph_new(s);
    char text[32];
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "drop%d", i);
        graph_function_new(g, sym(s, text));
    }
    for (int i = 0; i < N; i++) {
        Graph *f = graph_function_new(g, sym(s, i % 2 ? "odd" : "even"));
        if (i % 2) graph_function_rename(f, sym(s, "renamed"));
        graph_function_drop(f);
        CHECK(!graph_function(g, sym(s, i % 2 ? "renamed" : "even")));
    }
    CHECK(g->functions.n == N &&
          graph_function(g, sym(s, "drop0")) == g->functions.p[0]);
    graph_function_drop(g->functions.p[0]);
    CHECK(!graph_function(g, sym(s, "drop0")) &&
          graph_function(g, sym(s, "drop1")) == g->functions.p[0]);
    graph_free(g);
}

/* Replacing a by b and b by a, or by something that needs a, is a bug of the caller. */
static bool dies(bool direct) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        Graph *g = graph_new(s);
        Var x = input(g, "x"), a = app1(g, &neg, x), b = app1(g, &add, direct ? x : a);
        Var forward[] = {x, b, direct ? a : b};
        output(g, "out", a);
        graph_copy(g, ROOTS_RUN, forward, false, NULL);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

int main(void) {
    Dim three = 3;
    s = session_new(NULL, NULL);
    f64 = type_scalar(s, DT_FLOAT64);
    vec = type_tensor(s, DT_FLOAT64, 1, &three);
    none = props_intern(s, 0, NULL);
    test_props();
    test_names();
    static const char *const taken[] = {"x", "n", "t3", ""};
    for (int i = 0; i < 4; i++) {
        test_names_at_once(0, taken[i]);
        test_names_at_once(10000, taken[i]);
    }
    test_names_of_copies();
    test_merging();
    test_merging_many();
    test_numbers();
    test_number_values();
    test_many_numbers();
    test_walks();
    test_copy();
    test_take();
    test_functions();
    test_import();
    test_equal();
    test_chain();
    test_many_names();
    test_many_functions();
    CHECK(dies(true) && dies(false));
    CHECK(diag_count(s) == 0);
    session_free(s);
    return TEST_END("graph");
}
