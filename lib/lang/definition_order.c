/* Compiles definitions in the order of dependence. The walk has an explicit stack, so
 * that neither the number of definitions nor the depth of an expression matters. */
#include "base/toposort.h"
#include "lang/compile_impl.h"

#include <string.h>

/* ---- names used by an expression ---- */

typedef struct NameVisit {
    const Ast *ast;
    const struct LambdaShadow *shadow; /* enclosing lambdas */
} NameVisit;
typedef struct LambdaShadow {
    const Ast *lambda;
    const struct LambdaShadow *up;
} LambdaShadow;
/* The definitions that an expression needs, directly or through others. */
typedef struct DefinitionOrder {
    Compiler *c;
    Vec(NameVisit) todo;
    Vec(uint32_t) wanted; /* those that are yet to be compiled */
    Vec(uint32_t) need;   /* places that the wanted ones need, one after the other */
    Vec(uint32_t) first;  /* by place: where its part of `need` begins */
} DefinitionOrder;

static bool is_shadowed(const LambdaShadow *k, Sym name) {
    for (; k; k = k->up)
        if (lambda_binds(k->lambda, name)) return true;
    return false;
}

static void want_definition(DefinitionOrder *r, uint64_t d) {
    Definition *k = &r->c->defs.p[d];
    if (k->done) return;
    if (k->place >= r->wanted.n || r->wanted.p[k->place] != d) {
        k->place = (uint32_t)r->wanted.n;
        vec_push(r->c->s, &r->wanted, (uint32_t)d);
    }
    vec_push(r->c->s, &r->need, k->place);
}

/* A called name refers to a definition only if no function has that name. */
static bool is_callable_name(Compiler *c, Sym name) {
    const char *text = sym_text(c->s, name);
    size_t n = strlen(text);
    return op_find_firm(c->s, text, n) || macro_find(text, n) ||
           graph_function(c->b->g, name);
}

static void want_name(DefinitionOrder *r, const Ast *e, const LambdaShadow *shadow) {
    uint64_t d;
    if (!map_get(&r->c->definition, e->sym, &d) || is_shadowed(shadow, e->sym)) return;
    if (e->kind == AST_NAME || !is_callable_name(r->c, e->sym)) want_definition(r, d);
}

static void visit_ast(DefinitionOrder *r, NameVisit v) {
    const Ast *e = v.ast;
    size_t first = 0;
    if (e->kind == AST_NAME || e->kind == AST_CALL || e->kind == AST_METHOD)
        want_name(r, e, v.shadow);
    if (e->kind == AST_LAMBDA) {
        LambdaShadow *inner = NEW(r->c->tmp, LambdaShadow);
        *inner = (LambdaShadow){e, v.shadow};
        v.shadow = inner;
        first = e->nkid - 1;
    }
    for (size_t i = e->nkid; i-- > first;)
        if (e->kid[i]) vec_push(r->c->s, &r->todo, ((NameVisit){e->kid[i], v.shadow}));
}

static void want_used_names(DefinitionOrder *r, const Ast *e) {
    vec_push(r->c->s, &r->todo, ((NameVisit){e, NULL}));
    while (r->todo.n > 0)
        visit_ast(r, r->todo.p[--r->todo.n]);
}

/* ---- sorting and compiling ---- */

static const Ast *definition_value(const Ast *e) {
    return e->kid[e->nkid - 1];
}

static Sym definition_name(const Ast *e) {
    return e->kind == AST_ANNOT ? e->sym : e->kid[0]->sym;
}

/* The wanted definitions at these places need each other, each the next. */
static bool fail_cycle(const DefinitionOrder *r, uint32_t n, const uint32_t *place) {
    enum { SHOWN = 8 };
    Compiler *c = r->c;
    Str b = STR(c->s);
    for (size_t k = 0; k < n; k++) {
        if (n > SHOWN && k == SHOWN / 2) {
            str_puts(&b, "... -> ");
            k = n - SHOWN / 2;
        }
        const Ast *e = c->defs.p[r->wanted.p[place[k]]].ast;
        str_printf(&b, "%s -> ", sym_text(c->s, definition_name(e)));
    }
    const Ast *e = c->defs.p[r->wanted.p[*place]].ast;
    str_puts(&b, sym_text(c->s, definition_name(e)));
    fail(c->s, e->at, E_CYCLE, "%s: %s",
         n == 1 ? "the name is defined in terms of itself"
                : "definitions depend on each other in a cycle",
         str_text(&b));
    str_free(&b);
    return false;
}

static bool compile_in_order(DefinitionOrder *r, const uint32_t *place) {
    Compiler *c = r->c;
    for (size_t i = 0; i < r->wanted.n; i++) {
        uint32_t d = r->wanted.p[place[i]];
        if (!c->busy) arena_reset(c->tmp);
        if (!compile_definition(c, c->defs.p[d].ast)) return false;
        c->defs.p[d].done = true;
    }
    return true;
}

/* Compiles the wanted definitions and all that they need. Frees *r. */
static bool compile_wanted(DefinitionOrder *r) {
    Session *s = r->c->s;
    uint32_t circle;
    r->need.n = 0;
    vec_push(s, &r->first, 0);
    for (size_t i = 0; i < r->wanted.n; i++) {
        want_used_names(r, definition_value(r->c->defs.p[r->wanted.p[i]].ast));
        vec_push(s, &r->first, (uint32_t)r->need.n);
    }
    uint32_t n = (uint32_t)r->wanted.n, *order = mem_alloc(s, n * sizeof *order);
    bool ok = toposort(s, n, r->first.p, r->need.p, order, &circle)
                  ? compile_in_order(r, order)
                  : fail_cycle(r, circle, order);
    mem_free(order);
    vec_free(&r->todo);
    vec_free(&r->wanted);
    vec_free(&r->need);
    vec_free(&r->first);
    return ok;
}

bool compile_needed(Compiler *c, const Ast *e) {
    DefinitionOrder r = {.c = c};
    want_used_names(&r, e);
    return compile_wanted(&r);
}

bool compiler_run(Compiler *c) {
    DefinitionOrder r = {.c = c};
    for (size_t d = 0; d < c->defs.n; d++)
        want_definition(&r, d);
    return compile_wanted(&r);
}
