/* The `functions:` section of a text, in any order. Each function is built after those
 * that it calls, which its syntax tree shows. */
#include "io/io_impl.h"
#include "op/rowwise.h"

#include <string.h>

typedef struct FnEntry {
    const Doc *doc;
    Sym name;
    Map local; /* names of its inputs and definitions */
    Vec(uint32_t) calls;
    uint8_t state; /* 0 unvisited, 1 open, 2 built */
    uint32_t next; /* the next call to follow */
} FnEntry;

typedef struct FnTable {
    Session *s;
    Graph *main;
    const char *folder;
    const struct Refs *pending;
    Arena *a;
    size_t n;
    FnEntry *fn;
    Map number; /* by name */
} FnTable;

static const char *const keys[] = {"inputs",      "let",     "outputs",
                                   "until",       "compare", "pullback",
                                   "pushforward", "doc",     "fused"};

/* ---- calls ---- */

/* Recursion is as deep as an expression's nesting, which is bounded. */
static void collect_calls(FnTable *f, FnEntry *me, const Ast *e) {
    uint64_t no;
    if (!e) return;
    bool calls = e->kind == AST_CALL || e->kind == AST_METHOD;
    if ((calls || e->kind == AST_NAME) && map_get(&f->number, e->sym, &no) &&
        (calls || !map_get(&me->local, e->sym, NULL)))
        vec_push(f->s, &me->calls, (uint32_t)no);
    for (size_t i = 0; i < e->nkid; i++)
        collect_calls(f, me, e->kid[i]);
}

static bool scan_expression(FnTable *f, FnEntry *me, const Doc *d) {
    if (d->kind != DOC_TEXT) return true;
    const Ast *e = ast_parse(f->s, f->a, doc_span(f->s, d));
    if (e) collect_calls(f, me, e);
    return e != NULL;
}

static void add_local(FnEntry *me, const Ast *st) {
    if (st->kind == AST_ANNOT) map_put(&me->local, st->sym, 1);
    for (size_t i = 0; st->kind == AST_ASSIGN && i + 1 < st->nkid; i++)
        map_put(&me->local, st->kid[i]->sym, 1);
}

static bool scan_block(FnTable *f, FnEntry *me, const Doc *d, bool calls) {
    const Ast **st;
    size_t n;
    if (!ast_parse_block(f->s, f->a, doc_span(f->s, d), &st, &n)) return false;
    for (size_t i = 0; i < n; i++)
        add_local(me, st[i]);
    for (size_t i = 0; calls && i < n; i++)
        for (size_t k = 0; k < st[i]->nkid; k++)
            collect_calls(f, me, st[i]->kid[k]);
    return true;
}

static bool scan_section(FnTable *f, FnEntry *me, const Doc *d, bool calls) {
    if (!d) return true;
    if (d->kind == DOC_TEXT) return d->folded || scan_block(f, me, d, calls);
    for (const Doc *k = d->first; k; k = k->next)
        if (k->key) map_put(&me->local, k->key, 1);
    for (const Doc *k = d->first; k && calls; k = k->next)
        if (!scan_expression(f, me, k)) return false;
    return true;
}

static bool scan_function(FnTable *f, FnEntry *me) {
    const Doc *d = me->doc, *outputs = doc_get(d, f->s, "outputs"),
              *until = doc_get(d, f->s, "until");
    if (!scan_section(f, me, doc_get(d, f->s, "inputs"), false) ||
        !scan_section(f, me, doc_get(d, f->s, "let"), true))
        return false;
    if (outputs && outputs->kind == DOC_MAP)
        for (const Doc *k = outputs->first; k; k = k->next)
            if (!scan_expression(f, me, k)) return false;
    return !until || scan_expression(f, me, until);
}

/* ---- building one ---- */

static bool name_of_function(FnTable *f, const Doc *d, Sym *out) {
    if (!d) return true;
    if (d->kind != DOC_TEXT || !word_is_name(d->p, d->n))
        return fail(f->s, d->at, E_FORMAT, "expected the name of a function");
    *out = sym_n(f->s, d->p, d->n);
    return map_get(&f->number, *out, NULL) ||
           fail(f->s, d->at, E_NAME, "there is no function \"%s\"", d->p);
}

static bool compile_until(Section *x, const Doc *d) {
    if (!d) return true;
    if (d->kind != DOC_TEXT) return doc_unsafe(x->s, d->at, "expected an expression");
    return compiler_expr(x->c, doc_span(x->s, d), type_scalar(x->s, DT_BOOL),
                         &x->g->until);
}

static bool compile_fn_body(Section *x, const Doc *d) {
    Session *s = x->s;
    return section_inputs(x, doc_get(d, s, "inputs")) &&
           section_let(x, doc_get(d, s, "let")) && compiler_run(x->c) &&
           section_outputs(x, doc_get(d, s, "outputs")) &&
           compile_until(x, doc_get(d, s, "until")) &&
           section_compare(x, doc_get(d, s, "compare"));
}

static bool build_function(FnTable *f, const FnEntry *me) {
    Session *s = f->s;
    const Doc *d = me->doc, *doc = doc_get(d, s, "doc");
    Graph *g = graph_function_new(f->main, me->name);
    if (doc && doc->kind != DOC_TEXT)
        return fail(s, doc->at, E_FORMAT, "\"doc\" must be a text");
    if (doc) g->doc = arena_str(g->arena, doc->p, doc->n);
    if (!name_of_function(f, doc_get(d, s, "pullback"), &g->pullback) ||
        !name_of_function(f, doc_get(d, s, "pushforward"), &g->pushforward) ||
        !doc_flag(s, doc_get(d, s, "fused"), &g->fused))
        return false;
    Builder b = builder(g, false);
    Section x = {.s = s, .g = g, .c = compiler_new(&b), .a = arena_new(s)};
    doc_allow_load(x.c, f->folder, f->pending);
    bool ok = compile_fn_body(&x, d);
    if (ok && g->outputs.n == 0)
        ok = fail(s, d->key_at, E_FORMAT, "the function \"%s\" has no outputs",
                  sym_text(s, me->name));
    compiler_free(x.c);
    arena_free(x.a);
    if (ok) rowwise_settle(g);
    return ok;
}

/* ---- all functions ---- */

static bool fail_recursion(FnTable *f, const FnEntry *fn) {
    return fail(f->s, fn->doc->key_at, E_CYCLE,
                "the function \"%s\" calls itself, directly or through others",
                sym_text(f->s, fn->name));
}

/* Builds the callees of fn[root], then fn[root]; the stack is explicit because call
 * chains may be long. */
static bool build_with_callees(FnTable *f, uint32_t root) {
    Vec(uint32_t) stack = {0};
    bool ok = true;
    vec_push(f->s, &stack, root);
    while (ok && stack.n) {
        FnEntry *fn = &f->fn[stack.p[stack.n - 1]];
        if (fn->state == 0) {
            fn->state = 1;
            ok = scan_function(f, fn);
        } else if (fn->state == 1 && fn->next < fn->calls.n) {
            FnEntry *callee = &f->fn[fn->calls.p[fn->next++]];
            if (callee->state == 1) ok = fail_recursion(f, callee);
            if (callee->state == 0) vec_push(f->s, &stack, (uint32_t)(callee - f->fn));
        } else {
            stack.n--;
            if (fn->state == 1) ok = build_function(f, fn);
            fn->state = 2;
        }
    }
    vec_free(&stack);
    return ok;
}

static bool declare_function(FnTable *f, const Doc *d, uint32_t i) {
    const char *name = sym_text(f->s, d->key);
    if (!word_is_name(name, strlen(name)))
        return fail(f->s, d->key_at, E_NAME, "\"%s\" can't be the name of a function",
                    name);
    if (io_is_builtin(f->s, name)) {
        fail(f->s, d->key_at, E_NAME, "\"%s\" is a function of the language already",
             name);
        return note(f->s, NOWHERE, "give it another name, such as %s_1", name);
    }
    if (!doc_keys(f->s, d, keys, sizeof keys / sizeof *keys, "a function"))
        return false;
    f->fn[i] = (FnEntry){.doc = d, .name = d->key, .local = MAP(f->s)};
    map_put(&f->number, d->key, i);
    return true;
}

static bool declare_functions(FnTable *f, const Doc *d) {
    uint32_t i = 0;
    if (doc_is_nothing(d)) return true;
    if (d->kind != DOC_MAP)
        return fail(f->s, d->at, E_FORMAT,
                    "\"functions\" must be a mapping from names to functions");
    for (const Doc *k = d->first; k; k = k->next)
        if (!declare_function(f, k, i++)) return false;
    for (i = 0; i < f->n; i++)
        if (!build_with_callees(f, i)) return false;
    return true;
}

bool doc_functions(Graph *main, const Doc *d, const char *folder,
                   const struct Refs *pending) {
    if (!d) return true;
    Session *s = main->s;
    FnTable f = {.s = s,
                 .main = main,
                 .folder = folder,
                 .pending = pending,
                 .a = arena_new(s),
                 .n = d->nkid,
                 .number = MAP(s)};
    f.fn = NEW_N(f.a, f.n + 1, FnEntry);
    bool ok = declare_functions(&f, d);
    for (size_t i = 0; i < f.n; i++) {
        map_free(&f.fn[i].local);
        vec_free(&f.fn[i].calls);
    }
    map_free(&f.number);
    arena_free(f.a);
    return ok;
}
