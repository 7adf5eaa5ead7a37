/* Sorts definitions by dependence: a depth-first walk with an explicit stack, so that
 * neither the number of definitions nor the length of a chain matters. */
#include "lang/compile_impl.h"

#include <string.h>

typedef Vec(uint32_t) Deps;

/* ---- names used by an expression ---- */

typedef struct NameVisit {
    const Ast *ast;
    const struct LambdaShadow *shadow; /* enclosing lambdas */
} NameVisit;
typedef struct LambdaShadow {
    const Ast *lambda;
    const struct LambdaShadow *up;
} LambdaShadow;
typedef struct NameWalk {
    Compiler *c;
    Vec(NameVisit) todo;
    Deps deps; /* dependences found */
} NameWalk;

static bool is_shadowed(const LambdaShadow *k, Sym name) {
    for (; k; k = k->up)
        for (size_t i = 0; i + 1 < k->lambda->nkid; i++)
            if (k->lambda->kid[i]->sym == name) return true;
    return false;
}

static void add_dependence(NameWalk *w, Sym name, const LambdaShadow *shadow) {
    uint64_t d;
    if (!map_get(&w->c->definition, name, &d) || w->c->defs.p[d].state == DEF_DONE)
        return;
    if (!is_shadowed(shadow, name)) vec_push(w->c->s, &w->deps, (uint32_t)d);
}

/* A called name refers to a definition only if no function has that name. */
static bool is_callable_name(Compiler *c, Sym name) {
    const char *text = sym_text(c->s, name);
    size_t n = strlen(text);
    return op_find(c->s, text, n) || macro_find(text, n) ||
           graph_function(c->b->g, name);
}

static void visit_ast(NameWalk *w, NameVisit v) {
    const Ast *e = v.ast;
    size_t first = 0;
    if (e->kind == AST_NAME) add_dependence(w, e->sym, v.shadow);
    if ((e->kind == AST_CALL || e->kind == AST_METHOD) &&
        map_get(&w->c->definition, e->sym, NULL) && !is_callable_name(w->c, e->sym))
        add_dependence(w, e->sym, v.shadow);
    if (e->kind == AST_LAMBDA) {
        LambdaShadow *inner = NEW(w->c->tmp, LambdaShadow);
        *inner = (LambdaShadow){e, v.shadow};
        v.shadow = inner;
        first = e->nkid - 1;
    }
    for (size_t i = e->nkid; i-- > first;)
        if (e->kid[i]) vec_push(w->c->s, &w->todo, ((NameVisit){e->kid[i], v.shadow}));
}

static void collect_used_names(NameWalk *w, const Ast *e) {
    vec_push(w->c->s, &w->todo, ((NameVisit){e, NULL}));
    while (w->todo.n > 0)
        visit_ast(w, w->todo.p[--w->todo.n]);
}

static void free_name_walk(NameWalk *w) {
    vec_free(&w->todo);
    vec_free(&w->deps);
}

/* ---- the walk ---- */

typedef struct OpenDefinition {
    uint32_t def;
    size_t first, next; /* its part of the list of dependences */
} OpenDefinition;
typedef struct DefinitionOrder {
    Compiler *c;
    Vec(OpenDefinition) open;
    NameWalk walk; /* each open definition has a part of its list */
} DefinitionOrder;

static const Ast *definition_value(const Ast *e) {
    return e->kid[e->nkid - 1];
}

static Sym definition_name(const Ast *e) {
    return e->kind == AST_ANNOT ? e->sym : e->kid[0]->sym;
}

static void open_definition(DefinitionOrder *r, uint32_t d) {
    r->c->defs.p[d].state = DEF_OPEN;
    size_t n = r->walk.deps.n;
    vec_push(r->c->s, &r->open, ((OpenDefinition){d, n, n}));
    collect_used_names(&r->walk, definition_value(r->c->defs.p[d].ast));
}

static bool fail_cycle(DefinitionOrder *r, uint32_t d) {
    enum { SHOWN = 8 };
    Compiler *c = r->c;
    size_t i = r->open.n;
    while (r->open.p[i - 1].def != d)
        i--;
    Str b = STR(c->s);
    size_t n = r->open.n - (i - 1);
    for (size_t k = 0; k < n; k++) {
        if (n > SHOWN && k == SHOWN / 2) {
            str_puts(&b, "... -> ");
            k = n - SHOWN / 2;
        }
        const Ast *e = c->defs.p[r->open.p[i - 1 + k].def].ast;
        str_printf(&b, "%s -> ", sym_text(c->s, definition_name(e)));
    }
    const Ast *e = c->defs.p[d].ast;
    str_puts(&b, sym_text(c->s, definition_name(e)));
    fail(c->s, e->at, E_CYCLE, "%s: %s",
         n == 1 ? "the name is defined by itself"
                : "definitions depend on each other in a circle",
         str_text(&b));
    str_free(&b);
    return false;
}

/* Opens the next definition that the innermost open one needs, or compiles that one. */
static bool advance_innermost(DefinitionOrder *r) {
    Compiler *c = r->c;
    OpenDefinition *top = &r->open.p[r->open.n - 1];
    if (top->next < r->walk.deps.n) {
        uint32_t d = r->walk.deps.p[top->next++];
        if (c->defs.p[d].state == DEF_OPEN) return fail_cycle(r, d);
        if (c->defs.p[d].state == DEF_WAITS) open_definition(r, d);
        return true;
    }
    r->walk.deps.n = top->first;
    Definition *def = &c->defs.p[top->def];
    r->open.n--;
    if (!c->busy) arena_reset(c->tmp);
    if (!compile_definition(c, def->ast)) return false;
    def->state = DEF_DONE;
    return true;
}

/* Compiles definition d and all it needs. The stacks of *r are left for reuse. */
static bool compile_with_needs(DefinitionOrder *r, uint32_t d) {
    Compiler *c = r->c;
    bool ok = true;
    if (c->defs.p[d].state == DEF_DONE) return true;
    open_definition(r, d);
    while (ok && r->open.n > 0)
        ok = advance_innermost(r);
    for (size_t i = 0; i < r->open.n; i++)
        c->defs.p[r->open.p[i].def].state = DEF_WAITS;
    return ok;
}

static void free_definition_order(DefinitionOrder *r) {
    vec_free(&r->open);
    free_name_walk(&r->walk);
}

bool compile_needed(Compiler *c, const Ast *e) {
    NameWalk w = {.c = c};
    DefinitionOrder r = {.c = c, .walk = {.c = c}};
    bool ok = true;
    collect_used_names(&w, e);
    for (size_t i = 0; i < w.deps.n && ok; i++)
        ok = compile_with_needs(&r, w.deps.p[i]);
    free_name_walk(&w);
    free_definition_order(&r);
    return ok;
}

bool compiler_run(Compiler *c) {
    DefinitionOrder r = {.c = c, .walk = {.c = c}};
    bool ok = true;
    for (uint32_t d = 0; ok && d < c->defs.n; d++)
        ok = compile_with_needs(&r, d);
    free_definition_order(&r);
    return ok;
}
