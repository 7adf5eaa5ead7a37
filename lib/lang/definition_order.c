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

/* A called name refers to a definition only if that is a function, or no function has
 * the name. */
static bool is_callable_name(Compiler *c, Sym name) {
    const char *text = sym_text(c->s, name);
    size_t n = strlen(text);
    return op_find_firm(c->s, text, n) || macro_find(text, n) ||
           graph_function(c->b->g, name);
}

static void want_name(DefinitionOrder *r, const Ast *e, const LambdaShadow *shadow) {
    uint64_t d;
    if (!map_get(&r->c->definition, e->sym, &d) || is_shadowed(shadow, e->sym)) return;
    if (e->kind == AST_NAME ||
        (e->kind == AST_CALL && compiler_names_function(r->c, e->sym)) ||
        !is_callable_name(r->c, e->sym))
        want_definition(r, d);
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

/* ---- what needs no order ---- */

static const Ast *definition_value(const Ast *e) {
    return e->kid[e->nkid - 1];
}

static bool is_known_name(Compiler *c, Sym name) {
    return graph_find(c->top.b->g, name) != VAR_NONE ||
           map_get(&c->named, name, NULL) || compiler_is_dim_name(c, name);
}

/* A statement whose names may all mean by now what they will mean at the end. */
typedef struct ReadyScan {
    Compiler *c;
    bool kept; /* nodes may point to its syntax */
} ReadyScan;

/* Does a target of the text look like this name? */
static bool may_be_target(const char *p, const char *end, const char *name, size_t n) {
    for (; p < end && (p = memmem(p, (size_t)(end - p), name, n)); p += n) {
        const char *after = p + n;
        while (after < end && (*after == ' ' || *after == '\t'))
            after++;
        if (after < end && (*after == '=' || *after == ':' || *after == ','))
            return true;
    }
    return false;
}

/* Is no definition of this name to be expected? Then it means what it means without
 * one: an op given as text, a function of the language, a dtype. Looks once. */
static bool stays_undefined(Compiler *c, Sym name, const char *text, size_t n) {
    uint64_t is;
    if (!c->complete) return false;
    if (map_get(&c->expected, name, &is)) return !is;
    is = may_be_target(c->lines, c->lines_end, text, n);
    map_put(&c->expected, name, is);
    return !is;
}

static bool is_ready_name(Compiler *c, Sym name) {
    const char *text = sym_text(c->s, name);
    size_t n = strlen(text);
    return is_known_name(c, name) ||
           (dtype_find(text, n) != DT_NONE && stays_undefined(c, name, text, n));
}

static bool is_ready_call(ReadyScan *q, const Ast *e) {
    Compiler *c = q->c;
    const char *text = sym_text(c->s, e->sym);
    size_t n = strlen(text);
    if (e->kind == AST_METHOD && op_find_firm(c->s, text, n)) return true;
    if (map_get(&c->named, e->sym, NULL)) return true;
    /* an op given as text is found once a call has asked for it */
    q->kept |= !op_find(c->s, text, n) || macro_find(text, n);
    return stays_undefined(c, e->sym, text, n);
}

/* Only the first kid may be deep (parse.c). */
static bool is_ready(ReadyScan *q, const Ast *e, const LambdaShadow *shadow) {
    for (; e; e = e->nkid ? e->kid[0] : NULL) {
        AstKind k = e->kind;
        if (k == AST_LAMBDA) {
            q->kept = true;
            return is_ready(q, e->kid[e->nkid - 1], &(LambdaShadow){e, shadow});
        }
        q->kept |= k == AST_STARS || k == AST_APPLY || k == AST_DICT;
        bool ready = k == AST_NAME
                         ? is_ready_name(q->c, e->sym)
                         : (k != AST_CALL && k != AST_METHOD) || is_ready_call(q, e);
        if (!ready && !is_shadowed(shadow, e->sym)) return false;
        for (size_t i = 1; i < e->nkid; i++)
            if (!is_ready(q, e->kid[i], shadow)) return false;
    }
    return true;
}

bool definition_is_ready(Compiler *c, const Ast *e, bool *kept) {
    ReadyScan q = {.c = c};
    bool ready = c->defs.n == 0 && is_ready(&q, definition_value(e), NULL);
    *kept = q.kept;
    return ready;
}

/* ---- sorting and compiling ---- */

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
