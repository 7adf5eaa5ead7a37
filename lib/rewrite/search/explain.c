/* How a search got from what a graph computed to what was chosen: the unions on the way
 * between two terms of a class, those that made the inputs of congruent terms equal,
 * and in turn those between the chosen term's inputs and what was chosen for them. */
#include "lang/print/print.h"
#include "rewrite/search/search_impl.h"

typedef struct Pair {
    Var from, to;
} Pair;
typedef struct Explain {
    Search *s;
    Arena *a;
    const Var *choice;
    Printer *printer;
    Map seen;       /* pairs that were asked about */
    Map told;       /* unions */
    Vec(Pair) todo; /* the next one last */
} Explain;

static bool is_new(Map *seen, Var from, Var to) {
    uint64_t key = (uint64_t)from << 32 | to;
    if (map_get(seen, key, NULL)) return false;
    map_put(seen, key, 1);
    return true;
}

static void ask(Explain *x, Var from, Var to) {
    Pair p = {from, to};
    if (from != to && is_new(&x->seen, from, to)) vec_push(x->s->s, &x->todo, p);
}

/* The whole expression, as if the e-graph had nothing else; of a long one, and where
 * there are many terms, the last op. */
static void tell_term(Explain *x, Var v) {
    enum { LONG = 120, MANY = 50000 };
    const Graph *g = x->s->e.g;
    Arena *a = arena_new(x->s->s);
    Str text = STR(x->s->s);
    uint8_t *need = NEW_N(a, g->nvar, uint8_t);
    need[v] = true;
    if (g->nvar < MANY) {
        graph_spread_needs(g, 0, need);
        print_definition(printer_new(g, PRINT_MATH, need, a), v, &text);
    }
    if (text.n == 0 || text.n > LONG) {
        str_clear(&text);
        print_definition(x->printer, v, &text);
    }
    str_puts(x->s->o->chain, str_text(&text));
    str_free(&text);
    arena_free(a);
}

/* A rule joins two terms once, whichever way the proof goes. */
static void tell_union(Explain *x, Var from, Var to, Sym rule) {
    if (!is_new(&x->told, from < to ? from : to, from < to ? to : from)) return;
    Str *out = x->s->o->chain;
    str_printf(out, "search %s: ", sym_text(x->s->s, rule));
    tell_term(x, from);
    str_puts(out, "  =>  ");
    tell_term(x, to);
    str_putc(out, '\n');
}

/* Two Applies whose inputs are equal, of a commutative op perhaps in the other order.
 */
static void ask_inputs(Explain *x, Var from, Var to) {
    const EGraph *e = &x->s->e;
    VarList a = apply_ins(e->g, e->g->var[from].owner),
            b = apply_ins(e->g, e->g->var[to].owner);
    bool swapped = a.n == 2 && egraph_find(e, a.p[0]) != egraph_find(e, b.p[0]);
    for (size_t i = a.n; i-- > 0;)
        ask(x, a.p[i], b.p[swapped ? 1 - i : i]);
}

static void explain_pair(Explain *x, Pair p) {
    Var *path;
    Sym *rule;
    size_t n = egraph_explain(&x->s->e, x->a, p.from, p.to, &path, &rule);
    for (size_t i = 0; i < n; i++)
        if (rule[i])
            tell_union(x, path[i], path[i + 1], rule[i]);
        else
            ask_inputs(x, path[i], path[i + 1]);
}

/* v was chosen: what was chosen for its inputs? */
static void explain_choice(Explain *x, Var v) {
    const EGraph *e = &x->s->e;
    if (e->g->var[v].leaf || !is_new(&x->seen, v, v)) return;
    VarList in = apply_ins(e->g, e->g->var[v].owner);
    for (size_t i = in.n; i-- > 0;) {
        Pair p = {in.p[i], x->choice[egraph_find(e, in.p[i])]};
        vec_push(x->s->s, &x->todo, p);
    }
}

void search_explain(Search *s, Arena *a, const Var *choice) {
    const Graph *g = s->e.g;
    Explain x = {
        .s = s, .a = a, .choice = choice, .seen = MAP(s->s), .told = MAP(s->s)};
    x.printer = printer_new(g, PRINT_MATH, NULL, a);
    VarList roots = graph_roots(g, a, ROOTS_RUN | ROOTS_INIT);
    for (size_t i = roots.n; i-- > 0;) {
        Pair p = {roots.p[i], choice[egraph_find(&s->e, roots.p[i])]};
        vec_push(s->s, &x.todo, p);
    }
    while (x.todo.n) {
        Pair p = x.todo.p[--x.todo.n];
        explain_pair(&x, p);
        if (p.to == choice[egraph_find(&s->e, p.to)]) explain_choice(&x, p.to);
    }
    map_free(&x.seen);
    map_free(&x.told);
    vec_free(&x.todo);
}
