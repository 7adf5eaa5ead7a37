/* How a search got from what a graph computed to what was chosen: the uses of rules
 * between two terms of a class, in their order, and where terms are equal because their
 * inputs are, those between the inputs; in the end those between the chosen term's
 * inputs and what was chosen for them. Each rule is shown with the two terms that it
 * made equal, to which its sides apply letter for letter. */
#include "lang/print/print.h"
#include "rewrite/search/search_impl.h"

#include <stdio.h>

typedef struct Work {
    ProofStep step;
    bool pair;   /* the way between the two is not known yet */
    bool chosen; /* the second was chosen: what was chosen for its inputs? */
} Work;
typedef struct Explain {
    Search *s;
    Arena *a;
    const Var *choice;
    Map seen;       /* pairs that were asked about */
    Map told;       /* uses of rules */
    Map named;      /* terms that a text calls by number, and that are defined */
    Vec(Work) todo; /* the next one last */
    Vec(Var) names; /* to be defined */
} Explain;

static bool is_new(Map *seen, Var from, Var to) {
    uint64_t key = (uint64_t)from << 32 | to;
    if (map_get(seen, key, NULL)) return false;
    map_put(seen, key, 1);
    return true;
}

/* ---- terms as text ---- */

/* A term, down to some depth, in a graph of its own, where nothing is shared, so that
 * all of it is printed in its place; what is deeper is an input. */
typedef struct Sketch {
    Explain *x;
    Graph *g;
    uint32_t nodes;
    int names;    /* the depth from which names stand for what they name */
    Vec(Var) cut; /* terms that became inputs without having a name */
} Sketch;
enum { LONG = 120, DEPTH_MOST = 16, NODES_MOST = 40 };

static bool has_function(const Apply *a) {
    for (size_t i = 0; i < a->props->n; i++)
        if (a->props->p[i].kind == P_GRAPH) return true;
    return false;
}

static Sym numbered(Session *s, Var v) {
    char text[16];
    snprintf(text, sizeof text, "_%u", v);
    return sym(s, text);
}

static Var sketch_input(Sketch *k, Var v) {
    const Graph *g = k->x->s->e.g;
    Sym name = var_name(g, v);
    if (!name && var_leaf(g, v) != LEAF_NOT) name = var_leafrec(g, v)->name;
    if (!name) {
        name = numbered(g->s, v);
        vec_push(g->s, &k->cut, v);
    }
    Var have = graph_find(k->g, name);
    return have != VAR_NONE ? have : graph_input(k->g, name, var_type(g, v));
}

static Var sketch(Sketch *k, Var v, const Pat *p, int depth, int at);

/* Recursion is as deep as the sketch. */
static Var sketch_apply(Sketch *k, Var v, const Pat *p, int depth, int at) {
    const Graph *g = k->x->s->e.g;
    const Apply *a = &g->apply[g->var[v].owner];
    Var *in = mem_alloc(g->s, (a->nin + (size_t)1) * sizeof *in);
    k->nodes++;
    for (size_t i = 0; i < a->nin; i++)
        in[i] = sketch(k, g->in[a->in + i], p ? p->in[i] : NULL, depth, at + 1);
    Var out = graph_copy_apply(k->g, g, g->var[v].owner, in, false) + g->var[v].index;
    mem_free(in);
    return out;
}

/* What p has an Apply for is not cut. */
static Var sketch(Sketch *k, Var v, const Pat *p, int depth, int at) {
    const Graph *g = k->x->s->e.g;
    if (var_is_const(g, v)) return graph_share_const(k->g, g, v, true);
    bool read = p && p->kind == PAT_APPLY;
    bool cut =
        (at >= k->names && (var_name(g, v) || k->nodes >= NODES_MOST)) || at >= depth;
    if (var_leaf(g, v) != LEAF_NOT || has_function(&g->apply[g->var[v].owner]) ||
        (cut && !read))
        return sketch_input(k, v);
    return sketch_apply(k, v, read ? p : NULL, depth, at);
}

/* Writes v, an instance of p if that is known, to a depth of `least` and at most
 * `depth`, if that is not too long or may not be less. */
static bool write_sketch(Explain *x, Var v, const Pat *p, int least, int depth,
                         Str *out) {
    Session *s = x->s->s;
    Sketch k = {.x = x, .g = graph_new(s), .names = least};
    Arena *a = arena_new(s);
    Str text = STR(s);
    Var top = sketch(&k, v, p, depth, 0);
    uint8_t *live = graph_root_marks(k.g, a, 0);
    live[top] = true;
    graph_spread_needs(k.g, 0, live);
    print_definition(printer_new(k.g, PRINT_MATH, live, a), top, &text);
    bool fits = (text.n <= LONG && k.nodes < NODES_MOST) || depth == least;
    if (fits) str_puts(out, str_text(&text));
    for (size_t i = 0; fits && i < k.cut.n; i++)
        vec_push(s, &x->names, k.cut.p[i]);
    str_free(&text);
    vec_free(&k.cut);
    graph_free(k.g);
    arena_free(a);
    return fits;
}

static void tell_term(Explain *x, Var v, const Pat *p, int least) {
    int depth = DEPTH_MOST > least ? DEPTH_MOST : least;
    while (!write_sketch(x, v, p, least, depth, x->s->o->chain))
        depth = depth > least + 4 ? least + 4 : depth - 1;
}

static void define_names(Explain *x) {
    Str *out = x->s->o->chain;
    for (size_t i = 0; i < x->names.n; i++) {
        Var v = x->names.p[i];
        if (!is_new(&x->named, v, v)) continue;
        str_printf(out, "search where _%u = ", v);
        tell_term(x, v, NULL, 1);
        str_putc(out, '\n');
    }
    x->names.n = 0;
}

/* ---- the way ---- */

static bool is_instance(const Graph *g, const Pat *p, Var v) {
    if (p->kind != PAT_APPLY) return true;
    if (g->var[v].leaf) return false;
    const Apply *a = &g->apply[g->var[v].owner];
    if (a->op != p->op || a->nin != p->nin) return false;
    for (size_t i = 0; i < p->nin; i++)
        if (!is_instance(g, p->in[i], g->in[a->in + i])) return false;
    return true;
}

/* The rule in the direction that made `right` of `left`, unless its right side became
 * another one when it was built. */
static const Rule *rule_between(const Explain *x, Sym name, Var left, Var right) {
    const Graph *g = x->s->e.g;
    for (size_t i = 0; i < x->s->rules.n; i++) {
        const Rule *r = x->s->rules.p[i].rule;
        if (x->s->rules.p[i].name == name && is_instance(g, r->lhs, left) &&
            is_instance(g, r->rhs, right))
            return r;
    }
    return NULL;
}

/* As deep as the sides of the rule are: what they name must be seen. */
static int depth_of_rule(const Explain *x, Sym name) {
    uint32_t most = 1;
    for (size_t i = 0; i < x->s->rules.n; i++) {
        const SearchRule *r = &x->s->rules.p[i];
        if (r->name != name) continue;
        most = r->depth > most ? r->depth : most;
        most = r->made > most ? r->made : most;
    }
    return (int)most;
}

/* A rule made two terms equal once, wherever a proof comes by. */
static void tell_step(Explain *x, const ProofStep *p) {
    Var low = p->from < p->to ? p->from : p->to, high = p->from ^ p->to ^ low;
    if (!is_new(&x->told, low, high)) return;
    Str *out = x->s->o->chain;
    str_printf(out, "search %s: ", sym_text(x->s->s, p->rule));
    const Rule *rule =
        rule_between(x, p->rule, p->back ? p->to : p->from, p->back ? p->from : p->to);
    int least = rule ? 0 : depth_of_rule(x, p->rule);
    const Pat *left = rule ? rule->lhs : NULL, *right = rule ? rule->rhs : NULL;
    tell_term(x, p->from, p->back ? right : left, least);
    str_puts(out, p->back ? "  <=  " : "  =>  ");
    tell_term(x, p->to, p->back ? left : right, least);
    str_putc(out, '\n');
    define_names(x);
}

static void ask(Explain *x, Var from, Var to, bool chosen) {
    Work w = {.step = {.from = from, .to = to}, .pair = true, .chosen = chosen};
    vec_push(x->s->s, &x->todo, w);
}

/* Two Applies whose inputs are equal, of a commutative op perhaps in the other order.
 */
static void ask_inputs(Explain *x, Var from, Var to) {
    const EGraph *e = &x->s->e;
    VarList a = apply_ins(e->g, e->g->var[from].owner),
            b = apply_ins(e->g, e->g->var[to].owner);
    bool swapped = a.n == 2 && (egraph_find(e, a.p[0]) != egraph_find(e, b.p[0]) ||
                                egraph_find(e, a.p[1]) != egraph_find(e, b.p[1]));
    for (size_t i = a.n; i-- > 0;) {
        Var other = b.p[swapped ? 1 - i : i];
        if (a.p[i] != other && is_new(&x->seen, a.p[i], other))
            ask(x, a.p[i], other, false);
    }
}

/* v was chosen: what was chosen for its inputs? */
static void ask_choices(Explain *x, Var v) {
    const EGraph *e = &x->s->e;
    if (e->g->var[v].leaf || !is_new(&x->seen, v, v)) return;
    VarList in = apply_ins(e->g, e->g->var[v].owner);
    for (size_t i = in.n; i-- > 0;)
        ask(x, in.p[i], x->choice[egraph_find(e, in.p[i])], true);
}

/* The first step is to come first. */
static void explain_pair(Explain *x, const Work *w) {
    ProofStep *step;
    Arena *a = arena_new(x->s->s);
    if (w->chosen) ask_choices(x, w->step.to);
    size_t n = egraph_explain(&x->s->e, a, w->step.from, w->step.to, &step);
    while (n-- > 0) {
        Work next = {.step = step[n]};
        vec_push(x->s->s, &x->todo, next);
    }
    arena_free(a);
}

void search_explain(Search *s, Arena *a, const Var *choice) {
    Explain x = {.s = s, .a = a, .choice = choice};
    x.seen = x.told = x.named = MAP(s->s);
    VarList roots = graph_roots(s->e.g, a, ROOTS_RUN | ROOTS_INIT);
    for (size_t i = roots.n; i-- > 0;)
        ask(&x, roots.p[i], choice[egraph_find(&s->e, roots.p[i])], true);
    while (x.todo.n) {
        Work w = x.todo.p[--x.todo.n];
        if (w.pair)
            explain_pair(&x, &w);
        else if (w.step.rule)
            tell_step(&x, &w.step);
        else
            ask_inputs(&x, w.step.from, w.step.to);
    }
    map_free(&x.seen);
    map_free(&x.told);
    map_free(&x.named);
    vec_free(&x.todo);
    vec_free(&x.names);
}
