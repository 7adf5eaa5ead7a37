/* Scans as nested calls. The pullback of a call recomputes the function from its
 * arguments, so this order of calls is the order in which a gradient recomputes:
 *
 *     steps(l, s) : x, h -> steps(l - k, s - 1)(x[k:], steps(k, s)(x[:k], h))
 *
 * To go back over l steps with s states in memory, it advances k of them, keeps that
 * state while it goes back over the rest, and then goes back over the first k. The best
 * k are those of A. Griewank and A. Walther, Algorithm 799: revolve (2000). */
#include "scan/revolve.h"

#include "scan/builder.h"

enum { LENGTH_MOST = 1 << 20, DEPTH_MOST = 64 };

/* ---- the schedule ---- */
/* How many steps can be gone back over with s states if none is advanced more than r
 * times: (s + r)! / (s! r!), at most LENGTH_MOST. */
static int64_t reach(int64_t s, int64_t r) {
    int64_t n = 1;
    if (r < 0) return 0;
    for (int64_t i = 1; i <= s && n < LENGTH_MOST; i++)
        n = n * (r + i) / i;
    return n < LENGTH_MOST ? n : LENGTH_MOST;
}

static int64_t repetitions(int64_t steps, int64_t states) {
    int64_t r = 0;
    while (reach(states, r) < steps)
        r++;
    return r;
}

int64_t revolve_split(int64_t steps, int64_t states) {
    int64_t r = repetitions(steps, states), most = reach(states, r - 1),
            rest = steps - reach(states - 1, r - 1);
    return most < rest ? most : rest;
}

int64_t revolve_advances(int64_t steps, int64_t states) {
    if (steps <= states + 1) return steps - 1;
    int64_t k = revolve_split(steps, states);
    return k + revolve_advances(steps - k, states - 1) + revolve_advances(k, states);
}

const char *revolve_why_not(const Graph *g, ApplyId id, const ScanForm *f) {
    const char *why = scan_why_no_segments(f);
    const Tensor *n = var_const(g, apply_in(g, id)[0]);
    if (why) return why;
    if (!n || tensor_i64(n, 0) > LENGTH_MOST) return "its number of steps is not known";
    for (size_t i = 0; i < f->nseq; i++)
        if (f->seq[i].ntap != 1 || f->seq[i].tap[0] != 0)
            return "a step reads several rows of a sequence";
    for (size_t o = 0; o < f->nout; o++)
        if (!f->out[o].ntap || !scan_one_row(&f->out[o]))
            return "it has a result that is not a state of the last step";
    return NULL;
}

/* ---- the functions ---- */
typedef struct Revolve {
    Builder *b;
    Session *s;
    Arena *a;
    ScanForm f;
    ApplyId id;
    Map made; /* length and states -> function */
} Revolve;

static Var slice_rows(Builder *b, Var x, int64_t from, int64_t to) {
    Bind bind[] = {{sym(b->s, "x"), x},
                   {sym(b->s, "y"), const_int(b, from)},
                   {sym(b->s, "n"), const_int(b, to)}};
    Env env = {.n = 3, .bind = bind};
    bool ok = true;
    Var v = template_build(b, "x[y:n]", &env, &ok);
    return ok ? v : VAR_NONE;
}

static size_t inputs_of(const Revolve *q) {
    return q->f.nseq + q->f.nout + q->f.nother;
}

/* Sequences have one input of the body each, as states have. */
static const Type *input_type(const Revolve *q, size_t i, int64_t steps) {
    const Type *t = var_type(q->f.fn, q->f.fn->inputs.p[i]);
    return i < q->f.nseq ? type_of_rows(q->s, steps, t) : t;
}

/* The scan itself over all rows of `in`. */
static bool apply_scan(Revolve *q, Builder *b, int64_t steps, const Var *in, Var *out) {
    const Apply *ap = &q->b->g->apply[q->id];
    const Op *op = ap->op;
    int64_t *keep = NEW_N(q->a, q->f.nout, int64_t);
    for (size_t o = 0; o < q->f.nout; o++)
        keep[o] = SCAN_LAST;
    PropArg p[] = {{"fn", {.kind = P_GRAPH, .sym = q->f.fn->name}},
                   {"sequences", *op_prop(q->s, op, ap->props, "sequences")},
                   {"states", *op_prop(q->s, op, ap->props, "states")},
                   {"keep", PROP_INTS(keep, q->f.nout)}};
    Var *arg = NEW_N(q->a, inputs_of(q) + 1, Var);
    arg[0] = const_int(b, steps);
    for (size_t i = 0; i < inputs_of(q); i++)
        arg[i + 1] = in[i];
    return op_apply(b, op, props_make(q->s, op, 4, p), inputs_of(q) + 1, arg, out);
}

/* Steps of the loop, how many of their states may be kept, and how often it was cut. */
typedef struct Stretch {
    int64_t steps, states;
    unsigned depth;
} Stretch;

static bool call_steps(Revolve *q, Builder *b, Stretch h, const Var *in, Var *out);

/* The first k steps, then the others. */
static bool call_halves(Revolve *q, Builder *b, Stretch h, const Var *in, Var *out) {
    int64_t k = revolve_split(h.steps, h.states);
    Stretch first = {k, h.states, h.depth + 1},
            then = {h.steps - k, h.states - 1, h.depth + 1};
    size_t n = inputs_of(q);
    Var *part = arena_copy(q->a, in, n * sizeof *in);
    for (size_t i = 0; i < q->f.nseq; i++)
        if ((part[i] = slice_rows(b, in[i], 0, k)) == VAR_NONE) return false;
    if (!call_steps(q, b, first, part, part + q->f.nseq)) return false;
    for (size_t i = 0; i < q->f.nseq; i++)
        if ((part[i] = slice_rows(b, in[i], k, h.steps)) == VAR_NONE) return false;
    return call_steps(q, b, then, part, out);
}

static Graph *make_function(Revolve *q, Stretch h) {
    Graph *main = q->b->g->main, *fn;
    const char *base = arena_printf(q->a, "%s_%lld", sym_text(q->s, q->f.fn->name),
                                    (long long)h.steps);
    fn = graph_function_new(main, graph_function_name(main, base));
    Builder b = builder(fn, true);
    Var *in = NEW_N(q->a, inputs_of(q), Var), *out = NEW_N(q->a, q->f.nout, Var);
    for (size_t i = 0; i < inputs_of(q); i++)
        in[i] = graph_input(fn, var_name(q->f.fn, q->f.fn->inputs.p[i]),
                            input_type(q, i, h.steps));
    bool ok = h.steps <= h.states + 1 ? apply_scan(q, &b, h.steps, in, out)
                                      : call_halves(q, &b, h, in, out);
    for (size_t o = 0; ok && o < q->f.nout; o++)
        vec_push(q->s, &fn->outputs, ((Output){q->f.fn->outputs.p[o].label, out[o]}));
    graph_outputs_changed(fn);
    return ok ? fn : NULL;
}

/* Functions of the same length and number of states are one. */
static bool call_steps(Revolve *q, Builder *b, Stretch h, const Var *in, Var *out) {
    uint64_t key = (uint64_t)h.steps << 20 | (uint64_t)h.states, found;
    Graph *fn;
    if (h.depth > DEPTH_MOST)
        return fail(q->s, q->b->from.at, E_LIMIT, "the loop is cut too often");
    if (map_get(&q->made, key, &found))
        fn = (Graph *)(uintptr_t)found;
    else if (!(fn = make_function(q, h)))
        return false;
    map_put(&q->made, key, (uintptr_t)fn);
    const Op *call = op_known(q->s, OP_CALL);
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    Var *arg = NEW_N(q->a, inputs_of(q), Var);
    for (size_t i = 0; i < inputs_of(q); i++) {
        const Type *t = var_type(fn, fn->inputs.p[i]);
        if ((arg[i] = scan_fit_arg(b, in[i], t, 0)) == VAR_NONE) return false;
    }
    return op_apply(b, call, props_make(q->s, call, 1, &which), inputs_of(q), arg, out);
}

bool scan_revolve(Builder *b, ApplyId id, int64_t states, Var *out) {
    Revolve q = {.b = b, .s = b->s, .a = arena_new(b->s), .id = id, .made = MAP(b->s)};
    q.f = scan_form_of(b->g, id, q.a);
    int64_t steps = tensor_i64(var_const(b->g, apply_in(b->g, id)[0]), 0);
    Var *in = NEW_N(q.a, inputs_of(&q), Var);
    bool ok = true;
    for (size_t i = 0; ok && i < inputs_of(&q); i++) {
        in[i] = apply_in(b->g, id)[i + 1];
        if (i < q.f.nseq) in[i] = slice_rows(b, in[i], 0, steps);
        ok = in[i] != VAR_NONE;
    }
    ok = ok && call_steps(&q, b, (Stretch){steps, states, 0}, in, out);
    map_free(&q.made);
    arena_free(q.a);
    return ok;
}
