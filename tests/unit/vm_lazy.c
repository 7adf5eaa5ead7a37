/* Lazy execution: random graphs in which ifelse and lazy ops of several manners stand
 * anywhere give the values of an evaluator that follows demand, and run exactly what it
 * follows; states of thunks live and end with their machine. */
#define CLAUSE_vm_lazy CLAUSE_RUN
#include "contract.h"
#include "vm_test.h"

#include <stdlib.h>

enum { N = 8, NODES = 48, SCALARS = 4, VECTORS = 4 };

/* ---- lazy ops ---- */
static int alive, made, asked;

static bool count_make(const Call *c, Impl impl, void **state) {
    CHECK(c->in[0]->kind == TYPE_NONE && c->nin > 0);
    *state = malloc(sizeof(Impl));
    *(Impl *)*state = impl;
    alive++;
    made++;
    return true;
}

static void count_free(void *state) {
    alive--;
    free(state);
}

static bool same_as_last(Infer *in) {
    in->out[0] = in->type[in->nin - 1];
    return true;
}

static ThunkResult give(Call *c, size_t k) {
    const Tensor *x = call_in(c, k);
    Tensor *r = call_out(c, 0, x->ndim, x->shape);
    if (!r) return THUNK_FAILED;
    tensor_assign(r, x);
    return THUNK_DONE;
}

static size_t which(const Call *c) {
    double v = tensor_f64(call_in(c, 0), 0);
    return 1 + (size_t)(v < 0 ? -v : v) % (c->nin - 1);
}

/* Asks for its first input, then for the one that it names. */
static ThunkResult pick_run(void *state, Call *c) {
    CHECK(state && c->need && c->computed && c->no_recycling);
    asked++;
    size_t k = 0;
    if (c->computed[0] != NOT_COMPUTED) {
        CHECK(c->in[0]->kind == TYPE_TENSOR);
        k = which(c);
    }
    if (k && c->computed[k] != NOT_COMPUTED) return give(c, k);
    CHECK(c->in[k]->kind == TYPE_NONE);
    c->need[k] = true;
    return THUNK_NEEDS;
}

/* The same, with its first input there; gives a number without asking for 0. */
static ThunkResult jump_run(void *state, Call *c) {
    (void)state;
    if (tensor_f64(call_in(c, 0), 0) != 0) return pick_run(&asked, c);
    int64_t n = N;
    Tensor *r = call_out(c, 0, 1, &n);
    for (int i = 0; r && i < N; i++)
        ((double *)r->data)[i] = i;
    return r ? THUNK_DONE : THUNK_FAILED;
}

/* Not lazy: its state counts the runs. */
static ThunkResult plain_run(void *state, Call *c) {
    CHECK(state && !c->need && c->computed[0] == COMPUTED);
    return give(c, 0);
}

static bool liar_make(const Call *c, Impl impl, void **state) {
    (void)c, (void)impl;
    *state = calloc(1, sizeof(int));
    return true;
}
static ThunkResult liar_run(void *state, Call *c) {
    int *n = state;
    c->need[++*n < 3 ? *n - 1 : 0] = true;
    return THUNK_NEEDS;
}

static const Thunk pick_thunk = {
    .lazy = true, .make = count_make, .run = pick_run, .free = count_free};
static const Thunk jump_thunk = {
    .lazy = true, .once = true, .first = 1, .run = jump_run};
static const Thunk plain_thunk = {
    .make = count_make, .run = plain_run, .free = count_free};
static const Thunk liar_thunk = {
    .lazy = true, .once = true, .make = liar_make, .run = liar_run, .free = free};
static const Op rows[] = {
    {.name = "t_pick",
     .in = "which, *x",
     .type = same_as_last,
     RARE(.thunk = &pick_thunk)},
    {.name = "t_jump",
     .in = "which, *x",
     .type = same_as_last,
     RARE(.thunk = &jump_thunk)},
    {.name = "t_plain", .in = "x", .type = same_as_last, RARE(.thunk = &plain_thunk)},
    {.name = "t_liar", .in = "x, y", .type = same_as_last, RARE(.thunk = &liar_thunk)},
};

/* ---- random graphs ---- */
typedef struct Lab {
    Session *s;
    Graph *g;
    Var vector[VECTORS + NODES], scalar[SCALARS + NODES];
    size_t nvector, nscalar;
    double (*value)[N]; /* by variable; of the reference */
    uint8_t *computed;  /* by variable */
    uint8_t *ran;       /* by Apply: 1 reference, 2 machine */
} Lab;

static Var any_vector(const Lab *l) {
    size_t n = l->nvector, back = rnd(2) ? n : 8; /* mostly recent ones */
    return l->vector[n - 1 - rnd((uint32_t)(back < n ? back : n))];
}
static Var any_scalar(const Lab *l) {
    return l->scalar[rnd((uint32_t)l->nscalar)];
}

static void add_node(Lab *l, Builder *b) {
    static const char *const binary[] = {"add", "subtract", "maximum"};
    Var in[5], out[2];
    switch (rnd(10)) {
    case 0:
        in[0] = any_vector(l);
        l->scalar[l->nscalar++] = ap(b, "sum", 1, in);
        return;
    case 1:
        l->vector[l->nvector++] = ap(b, "negative", 1, (Var[]){any_vector(l)});
        return;
    case 2:
        l->vector[l->nvector++] = ap(b, "t_plain", 1, (Var[]){any_vector(l)});
        return;
    case 3:
    case 4:
        in[0] = any_scalar(l);
        for (int k = 1; k < 5; k++)
            in[k] = any_vector(l);
        CHECK(op_apply(b, op_find(l->s, "ifelse", 6), NULL, 5, in, out));
        l->vector[l->nvector++] = out[0];
        l->vector[l->nvector++] = out[1];
        return;
    case 5:
        for (int k = 0; k < 3; k++)
            in[k] = any_scalar(l);
        l->scalar[l->nscalar++] = ap(b, "ifelse", 3, in);
        return;
    case 6:
        in[0] = any_scalar(l);
        for (int k = 1; k < 4; k++)
            in[k] = any_vector(l);
        l->vector[l->nvector++] = ap(b, rnd(2) ? "t_pick" : "t_jump", 4, in);
        return;
    default:
        in[0] = any_vector(l);
        in[1] = rnd(4) ? any_vector(l) : any_scalar(l);
        l->vector[l->nvector++] = ap(b, binary[rnd(3)], 2, in);
        return;
    }
}

static void lab_open(Lab *l, Session *s) {
    *l = (Lab){.s = s, .g = graph_new(s)};
    Builder b = builder(l->g, false);
    Dim n = N;
    char name[16];
    for (int i = 0; i < VECTORS + SCALARS; i++) {
        bool vector = i < VECTORS;
        snprintf(name, sizeof name, "x%d", i);
        Var v = graph_input(l->g, sym(s, name),
                            type_tensor(s, DT_FLOAT64, vector, vector ? &n : NULL));
        if (vector)
            l->vector[l->nvector++] = v;
        else
            l->scalar[l->nscalar++] = v;
    }
    for (int i = 0; i < NODES / 2; i++)
        add_node(l, &b);
    for (uint32_t i = 0, outputs = 1 + rnd(3); i < outputs; i++) {
        snprintf(name, sizeof name, "y%u", i);
        Var v = rnd(4) ? any_vector(l) : any_scalar(l);
        vec_push(s, &l->g->outputs, ((Output){sym(s, name), v}));
    }
    l->value = calloc(l->g->nvar, sizeof *l->value);
    l->computed = calloc(l->g->nvar, 1);
    l->ran = calloc(l->g->napply + 1, 1);
}

static void lab_close(Lab *l) {
    graph_free(l->g);
    free(l->value);
    free(l->computed);
    free(l->ran);
}

/* ---- the reference: what is asked for, and nothing else ---- */
static const double *compute(Lab *l, Var v);

static void copy_value(Lab *l, Var to, Var from) {
    memcpy(l->value[to], compute(l, from), sizeof l->value[to]);
    l->computed[to] = 1;
}

static void compute_apply(Lab *l, ApplyId a) {
    const Apply *r = &l->g->apply[a];
    const Var *in = apply_in(l->g, a);
    const char *op = r->op->name;
    double first = compute(l, in[0])[0];
    double *y = l->value[r->out];
    l->ran[a] |= 1;
    if (strcmp(op, "ifelse") == 0) {
        for (Var k = 0; k < r->nout; k++)
            copy_value(l, r->out + k, in[1 + k + (first != 0 ? 0 : r->nout)]);
        return;
    }
    bool pick = strcmp(op, "t_pick") == 0, jump = strcmp(op, "t_jump") == 0;
    if (pick || jump) {
        for (int i = 0; i < N; i++)
            y[i] = i;
        l->computed[r->out] = 1;
        size_t k = 1 + (size_t)(first < 0 ? -first : first) % (r->nin - 1U);
        if (pick || first != 0) copy_value(l, r->out, in[k]);
        return;
    }
    const double *x = compute(l, in[0]), *z = r->nin > 1 ? compute(l, in[1]) : x;
    bool scalar = r->nin > 1 && var_type(l->g, in[1])->ndim == 0;
    for (int i = 0; i < N; i++) {
        double w = z[scalar ? 0 : i];
        y[i] = strcmp(op, "add") == 0        ? x[i] + w
               : strcmp(op, "subtract") == 0 ? x[i] - w
               : strcmp(op, "maximum") == 0  ? (x[i] > w ? x[i] : w)
               : strcmp(op, "negative") == 0 ? -x[i]
                                             : x[i];
    }
    for (int i = 1; strcmp(op, "sum") == 0 && i < N; i++)
        y[0] += x[i];
    l->computed[r->out] = 1;
}

static const double *compute(Lab *l, Var v) {
    if (!l->computed[v]) compute_apply(l, var_owner(l->g, v));
    return l->value[v];
}

/* ---- one run ---- */
static bool after(void *ctx, size_t step, const Call *c, double seconds) {
    Lab *l = ctx;
    (void)step, (void)seconds;
    if (c->nout) CHECK(!(l->ran[c->id] & 2), "%s ran twice", c->op->name);
    if (c->nout) l->ran[c->id] |= 2;
    return true;
}

/* Small integers: sums are exact in any order. */
static void new_inputs(Lab *l, Machine *m) {
    int64_t n = N;
    memset(l->computed, 0, l->g->nvar);
    memset(l->ran, 0, l->g->napply);
    for (size_t i = 0; i < VECTORS + SCALARS; i++) {
        Value one = {.kind = TYPE_TENSOR}, *v = &one;
        tensor_new(l->s, DT_FLOAT64, i < VECTORS, &n, &v->t);
        for (int64_t k = 0; k < tensor_size(&v->t); k++)
            l->value[l->g->inputs.p[i]][k] = ((double *)v->t.data)[k] =
                (double)rnd(3) - 1;
        l->computed[l->g->inputs.p[i]] = 1;
        CHECK(vm_set_input(m, i, v));
        value_unref(v);
    }
}

static void check_run(Lab *l, Machine *m, bool watched) {
    new_inputs(l, m);
    vm_set_hooks(m, watched ? &(VmHooks){.ctx = l, .after = after} : NULL);
    CHECK(vm_run(m), "%s", diag_first_error(l->s)->text);
    for (size_t i = 0; i < l->g->outputs.n; i++) {
        const double *want = compute(l, l->g->outputs.p[i].var);
        const Tensor *t = &vm_output(m, i)->t;
        long wrong = 0;
        for (int64_t k = 0; k < tensor_size(t); k++)
            wrong += tensor_f64(t, k) != want[k];
        CHECK(wrong == 0, "%ld elements of output %zu", wrong, i);
    }
    for (ApplyId a = 0; watched && a < l->g->napply; a++)
        CHECK(l->ran[a] == 0 || l->ran[a] == 3, "%s %s", l->g->apply[a].op->name,
              l->ran[a] == 1 ? "did not run" : "ran for nothing");
}

static void test_random(Session *s) {
    static const PlanOptions how[] = {
        {.threads = 1}, {.no_inplace = true}, {.no_reuse = true}, {.keep_all = true}};
    for (int i = 0; i < 1500; i++) {
        Lab l;
        lab_open(&l, s);
        Plan *p = plan_new(l.g, &how[i % 4]);
        Machine *m = vm_new(p);
        for (int run = 0; run < 4; run++)
            check_run(&l, m, run % 2);
        uint64_t used = buffer_bytes_used(s);
        for (int run = 0; run < 4; run++)
            check_run(&l, m, false);
        (void)used;
        vm_free(m);
        CHECK(alive == 0, "%d states", alive);
        PlanMemory mem = plan_memory(p, 0, NULL, NULL);
        CHECK(mem.least <= mem.peak);
        plan_free(p);
        lab_close(&l);
    }
    CHECK(made > 100 && asked > 1000);
}

/* ---- rules one by one ---- */
static Graph *two_scalars(Session *s, Builder *b, Var in[2]) {
    Graph *g = graph_new(s);
    *b = builder(g, false);
    in[0] = graph_input(g, sym(s, "x"), type_scalar(s, DT_FLOAT64));
    in[1] = graph_input(g, sym(s, "y"), type_scalar(s, DT_FLOAT64));
    return g;
}

static bool run_scalars(Graph *g, double x, double y, Machine **keep, Plan **plan) {
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    Value v[2] = {{.kind = TYPE_TENSOR}, {.kind = TYPE_TENSOR}};
    for (size_t i = 0; i < 2; i++) {
        tensor_new(g->s, DT_FLOAT64, 0, NULL, &v[i].t);
        *(double *)v[i].t.data = i ? y : x;
        vm_set_input(m, i, &v[i]);
        value_unref(&v[i]);
    }
    bool ok = vm_run(m);
    if (keep) {
        *keep = m;
        *plan = p;
        return ok;
    }
    vm_free(m);
    plan_free(p);
    return ok;
}

/* A thunk that asks again although it said that it would not, or for what is there. */
static void test_liar(Session *s) {
    Builder b;
    Var in[2], neg[2];
    Graph *g = two_scalars(s, &b, in);
    for (int i = 0; i < 2; i++)
        neg[i] = ap(&b, "negative", 1, &in[i]);
    vec_push(s, &g->outputs, ((Output){sym(s, "r"), ap(&b, "t_liar", 2, neg)}));
    CHECK(!run_scalars(g, 1, 2, NULL, NULL));
    const Diag *d = diag_first_error(s);
    CHECK(d && d->code == E_PLUGIN);
    if (d)
        CHECK_STR(d->text,
                  "t_liar: its thunk asks for inputs again, but is declared to "
                  "ask once");
    diag_clear(s);
    graph_free(g);
}

/* A deep chain of conditions: no recursion, linear, and no more memory than the taken
 * way needs. */
static void test_deep(Session *s) {
    Builder b;
    Var in[2];
    Graph *g = two_scalars(s, &b, in);
    Var v = in[1];
    for (int i = 0; i < 100000; i++) {
        Var w[3] = {in[0], ap(&b, "add", 2, (Var[]){v, in[1]}), in[1]};
        v = ap(&b, "ifelse", 3, w);
    }
    vec_push(s, &g->outputs, ((Output){sym(s, "r"), v}));
    Machine *m;
    Plan *p;
    CHECK(run_scalars(g, 1, 2, &m, &p));
    CHECK(tensor_f64(&vm_output(m, 0)->t, 0) == 200002);
    CHECK(vm_memory(m).arena + vm_memory(m).grown <= 1024, "%llu",
          (unsigned long long)vm_memory(m).arena);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static void test_clauses(Session *s) {
#include "contract.def"
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    vm_open(s);
    uint64_t before = buffer_bytes_used(s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(op_add(s, &rows[i], NOWHERE));
    test_clauses(s);
    CHECK(buffer_bytes_used(s) == before, "%llu bytes are left",
          (unsigned long long)buffer_bytes_used(s));
    session_free(s);
    return TEST_END("vm_lazy");
}
