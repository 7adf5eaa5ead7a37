/* Checks the texts of a file's ops before any graph uses them. Every name must have a
 * meaning, and definitions must not be circular. An op made of elementwise ops only is
 * elementwise. The texts are read, not compiled: a definition is for all ranks and
 * dtypes, and what its inputs may be nothing but an example says (trial.c). */
#include "base/toposort.h"
#include "op/infer.h"
#include "op/services.h"
#include "userop/userop_impl.h"

#include <string.h>

typedef struct UserOpCheck {
    Session *s;
    struct OpBody *all; /* all ops of the file */
    size_t n;
    struct OpBody *b; /* the op being checked */
    const Op *op;     /* &b->op */
    const Signature *sig;
    Map names; /* names a text may use: 1, or 2 + the line that defines it; 0: out of
                  scope */
    Vec(Sym) listed;     /* these names, in order, for messages */
    uint32_t line;       /* of the definition */
    Vec(uint32_t) need;  /* lines that the line uses */
    Vec(uint32_t) calls; /* ops of the file that the definition uses */
    bool gradient, elementwise;
} UserOpCheck;

/* ---- names ---- */

static void put_allowed_name(UserOpCheck *k, Sym name, uint64_t what) {
    map_put(&k->names, name, what);
    vec_push(k->s, &k->listed, name);
}

static void allow_name(UserOpCheck *k, Sym name) {
    put_allowed_name(k, name, 1);
}

static void allow_signature(UserOpCheck *k, bool outputs) {
    map_free(&k->names);
    k->listed.n = 0;
    for (size_t i = 0; i < k->sig->nin; i++)
        allow_name(k, k->sig->in[i].name);
    for (size_t i = 0; i < k->sig->nprop; i++)
        allow_name(k, k->sig->prop[i].name);
    for (size_t i = 0; outputs && i < k->sig->nout; i++)
        allow_name(k, k->sig->out[i]);
}

static bool is_dtype_name(const char *p) {
    return strcmp(p, "floatX") == 0 || dtype_find(p, strlen(p)) != DT_NONE;
}

static bool is_allowed_name(UserOpCheck *k, Sym name) {
    uint64_t what;
    return map_get(&k->names, name, &what) && what;
}

/* Lists the known names, a dozen at most. */
static bool note_allowed_names(UserOpCheck *k, size_t n, const char *const *of) {
    Str b = STR(k->s);
    for (size_t i = 0; i < n && i < 12; i++)
        str_printf(&b, "%s%s", i ? ", " : "", of[i]);
    if (n > 12) str_puts(&b, ", ...");
    if (n) note(k->s, NOWHERE, "the names here are %s", str_text(&b));
    str_free(&b);
    return false;
}

static bool fail_unknown_name(UserOpCheck *k, const Ast *e) {
    const char *name = sym_text(k->s, e->sym);
    Vec(const char *) of = {0};
    for (size_t i = 0; i < k->listed.n; i++)
        if (is_allowed_name(k, k->listed.p[i]))
            vec_push(k->s, &of, sym_text(k->s, k->listed.p[i]));
    const char *near = str_nearest(k->s, name, of.p, of.n);
    fail(k->s, e->at, E_NAME, "`%s` is not defined in this text of %s%s%s%s", name,
         k->op->name, near ? ": did you mean `" : "", near ? near : "",
         near ? "`?" : "");
    note_allowed_names(k, of.n, of.p);
    vec_free(&of);
    if (op_find(k->s, name, strlen(name)))
        note(k->s, NOWHERE, "there is a function %s: call it, as in %s(x)", name, name);
    return false;
}

static bool check_name(UserOpCheck *k, const Ast *e) {
    uint64_t what;
    if (map_get(&k->names, e->sym, &what) && what) {
        if (what >= 2) vec_push(k->s, &k->need, (uint32_t)(what - 2));
        return true;
    }
    const char *name = sym_text(k->s, e->sym);
    if (is_dtype_name(name) || (k->gradient && strcmp(name, "disconnected") == 0))
        return true;
    return fail_unknown_name(k, e);
}

/* ---- calls ---- */

/* Lets the compiler report it, with suggestions; the empty graph is for the compiler
 * only. */
static bool fail_unknown_call(UserOpCheck *k, const Ast *e) {
    Graph *g = graph_new(k->s);
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    compiler_fail_function(c, e);
    compiler_free(c);
    graph_free(g);
    return false;
}

/* The library's own texts don't call each other: their names may become users'. */
static bool check_text_op(UserOpCheck *k, const Ast *e, const char *name) {
    const Services *of = services(k->s);
    const Op *op = NULL;
    bool asked = !k->op->yields && of->text_op;
    if (asked && !of->text_op(k->s, name, &op)) return false;
    return op || fail_unknown_call(k, e);
}

static bool check_call(UserOpCheck *k, const Ast *e) {
    const char *name = sym_text(k->s, e->sym);
    const Op *op = op_find(k->s, name, strlen(name));
    if (op && op->effect)
        return fail(k->s, e->at, E_ARG,
                    "%s does more than compute a value: that is for functions of a "
                    "graph, not for ops",
                    name);
    if (op && k->n && op->body >= k->all && op->body < k->all + k->n)
        vec_push(k->s, &k->calls, (uint32_t)(op->body - k->all));
    if (strcmp(name, "load") == 0)
        return fail(k->s, e->at, E_ARG, "files can't be loaded here");
    k->elementwise &= op ? op->elemwise : is_dtype_name(name);
    if (op || macro_find(name, strlen(name)) || builtin_is_name(name) ||
        type_by_name(k->s, name))
        return true;
    if (!is_allowed_name(k, e->sym)) return check_text_op(k, e, name);
    uint64_t what;
    if (map_get(&k->names, e->sym, &what) && what >= 2)
        vec_push(k->s, &k->need, (uint32_t)(what - 2));
    return true;
}

static bool check_expr(UserOpCheck *k, const Ast *e);

static bool check_kids(UserOpCheck *k, const Ast *e) {
    for (size_t i = 0; i < e->nkid; i++)
        if (e->kid[i] && !check_expr(k, e->kid[i])) return false;
    return true;
}

/* The names of a lambda shadow outer ones. */
static bool check_lambda(UserOpCheck *k, const Ast *e) {
    size_t nparam = e->nkid - 1, n = nparam + (e->local ? e->local->n : 0);
    uint64_t *was = mem_zalloc(k->s, n + 1, sizeof *was);
    Sym *name = mem_alloc(k->s, (n + 1) * sizeof *name);
    for (size_t i = 0; i < n; i++) {
        name[i] = i < nparam ? e->kid[i]->sym : e->local->sym[i - nparam];
        map_get(&k->names, name[i], &was[i]);
        allow_name(k, name[i]);
    }
    bool ok = check_expr(k, e->kid[nparam]);
    for (size_t i = n; i-- > 0;)
        map_put(&k->names, name[i], was[i]);
    k->listed.n -= n;
    mem_free(name);
    mem_free(was);
    return ok;
}

/* Recursion is as deep as the expression, which the parser limits. */
static bool check_expr(UserOpCheck *k, const Ast *e) {
    switch (e->kind) {
    case AST_INT:
    case AST_FLOAT:
    case AST_IMAG:
    case AST_BOOL:
        return true;
    case AST_NAME:
        return check_name(k, e);
    case AST_LAMBDA:
        k->elementwise = false;
        return check_lambda(k, e);
    case AST_CALL:
    case AST_METHOD:
        return check_call(k, e) && check_kids(k, e);
    case AST_BINARY:
        if (strcmp(e->op, "@") == 0) k->elementwise = false;
        return check_kids(k, e);
    case AST_UNARY:
    case AST_KEYWORD:
    case AST_CHAIN:
    case AST_LINK:
    case AST_NOT:
    case AST_LOGIC:
    case AST_IF:
    case AST_BIND:
        return check_kids(k, e);
    case AST_STARS:
        return fail(k->s, e->at, E_SYNTAX, "`**` is for patterns of rewrite rules");
    case AST_STRING:
    case AST_NONE:
    case AST_APPLY:
    case AST_ATTR:
    case AST_INDEX:
    case AST_SLICE:
    case AST_ELLIPSIS:
    case AST_LIST:
    case AST_TUPLE:
    case AST_DICT:
    case AST_ASSIGN:
    case AST_ANNOT:
        break;
    }
    k->elementwise = false;
    return check_kids(k, e);
}

/* ---- definitions ---- */

static bool define_name(UserOpCheck *k, Sym name, Span at, uint32_t line) {
    uint64_t what;
    if (map_get(&k->names, name, &what))
        return fail(k->s, at, E_DUPLICATE, "`%s` is %s", sym_text(k->s, name),
                    what >= 2 ? "defined twice" : "an input or prop already");
    put_allowed_name(k, name, 2 + line);
    return true;
}

static bool set_statement(UserOpCheck *k, const Ast *e, Statement *st, uint32_t line) {
    if (e->kind == AST_ANNOT)
        return fail(
            k->s, e->type, E_SYNTAX,
            "a definition has no types of its own: they follow from the inputs");
    *st = (Statement){.n = e->nkid - 1, .value = e->kid[e->nkid - 1]};
    Sym *target = NEW_N(session_arena(k->s), st->n, Sym);
    for (size_t i = 0; i < st->n; i++) {
        target[i] = e->kid[i]->sym;
        if (!define_name(k, target[i], e->kid[i]->at, line)) return false;
    }
    st->target = target;
    return true;
}

static bool read_definition(UserOpCheck *k) {
    Arena *a = session_arena(k->s);
    Span at = k->b->decl->def.at;
    allow_signature(k, false);
    k->b->is_block = ast_is_definition(k->s, at);
    if (!k->b->is_block) {
        k->b->n = 1;
        k->b->st = NEW(a, Statement);
        return (k->b->st->value = ast_parse(k->s, a, at)) != NULL;
    }
    const Ast **e;
    if (!ast_parse_block(k->s, a, at, &e, &k->b->n)) return false;
    k->b->st = NEW_N(a, k->b->n, Statement);
    for (size_t i = 0; i < k->b->n; i++)
        if (!set_statement(k, e[i], &k->b->st[i], (uint32_t)i)) return false;
    for (size_t i = 0; i < k->sig->nout; i++)
        if (!is_allowed_name(k, k->sig->out[i]))
            return fail(k->s, at, E_PLUGIN, "the op %s: no line defines %s%s",
                        k->b->op.name, k->b->decl->out.n ? "its output " : "",
                        k->b->decl->out.n ? sym_text(k->s, k->sig->out[i])
                                          : "r, the result");
    return true;
}

static bool fail_line_cycle(UserOpCheck *k, const uint32_t *circle, uint32_t n) {
    Str b = STR(k->s);
    for (uint32_t i = 0; i <= n && i < 10; i++)
        str_printf(&b, "%s%s", i ? " -> " : "",
                   sym_text(k->s, k->b->st[circle[i % n]].target[0]));
    fail(k->s, k->b->st[*circle].value->at, E_CYCLE,
         n == 1 ? "the name is defined in terms of itself: %s"
                : "definitions depend on each other in a cycle: %s",
         str_text(&b));
    str_free(&b);
    return false;
}

/* Checks every line and sorts the lines by dependency. */
static bool order_lines(UserOpCheck *k) {
    uint32_t n = (uint32_t)k->b->n, circle;
    uint32_t *first = mem_zalloc(k->s, 2 * (size_t)n + 1, sizeof *first),
             *order = first + n + 1;
    bool ok = true;
    k->need.n = 0;
    k->elementwise = k->sig->nout == 1;
    for (uint32_t i = 0; ok && i < n; i++) {
        ok = check_expr(k, k->b->st[i].value);
        first[i + 1] = (uint32_t)k->need.n;
    }
    if (ok && !toposort(k->s, n, first, k->need.p, order, &circle))
        ok = fail_line_cycle(k, order, circle);
    if (ok) {
        Statement *st = NEW_N(session_arena(k->s), n, Statement);
        for (uint32_t i = 0; i < n; i++)
            st[i] = k->b->st[order[i]];
        k->b->st = st;
    }
    mem_free(first);
    return ok;
}

static void set_current_op(UserOpCheck *k, struct OpBody *b) {
    k->b = b;
    k->op = &b->op;
    k->sig = op_signature(k->s, &b->op);
}

/* ---- ops that use each other ---- */

static bool fail_op_cycle(UserOpCheck *k, const uint32_t *circle, uint32_t n) {
    Str b = STR(k->s);
    for (uint32_t i = 0; i <= n && i < 10; i++)
        str_printf(&b, "%s%s", i ? " -> " : "", k->all[circle[i % n]].op.name);
    fail(k->s, k->all[*circle].decl->def.at, E_CYCLE,
         n == 1 ? "the op is defined in terms of itself: %s"
                : "ops are defined by each other in a cycle: %s",
         str_text(&b));
    str_free(&b);
    return false;
}

/* Sorts the ops so that each comes after those it uses. */
static bool order_ops(UserOpCheck *k, uint32_t *order) {
    uint32_t n = (uint32_t)k->n, circle;
    uint32_t *first = mem_zalloc(k->s, (size_t)n + 1, sizeof *first);
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        set_current_op(k, &k->all[i]);
        ok = read_definition(k) && order_lines(k);
        first[i + 1] = (uint32_t)k->calls.n;
    }
    if (ok && !toposort(k->s, n, first, k->calls.p, order, &circle))
        ok = fail_op_cycle(k, order, circle);
    mem_free(first);
    return ok;
}

/* ---- formulas ---- */

/* Stores the parsed text where template_build looks for it. */
static bool check_formula_text(UserOpCheck *k, const UserOpText *t) {
    TextCache *all = text_cache(k->s);
    const Ast *e = ast_parse(k->s, all->arena, t->at);
    if (!e) return false;
    map_put(&all->ast, (uintptr_t)t->text, (uintptr_t)e);
    return check_expr(k, e);
}

static bool check_formula_texts(UserOpCheck *k, const UserOpTexts *l) {
    for (size_t i = 0; i < l->n; i++)
        if (!check_formula_text(k, &l->p[i])) return false;
    return true;
}

/* A shape of the rank that itypes or otypes say, else of the highest. */
static FormulaValue dummy_shape(const UserOpCheck *k, Arena *a, const char *types,
                                size_t i) {
    static const int64_t sizes[MAX_NDIM] = {1, 1};
    const Type *t = type_of_list(k->s, types, i);
    return formula_shape(a, t ? (size_t)t->ndim : MAX_NDIM, sizes);
}

/* A sample argument for cost formulas: a shape, or a number. */
static bool dummy_formula_value(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    const UserOpCheck *k = ctx;
    for (size_t i = 0; i < k->sig->nin; i++)
        if (k->sig->in[i].name == name && !k->sig->in[i].rest) {
            *v = dummy_shape(k, a, op_rare(k->op)->itypes, i);
            if (k->sig->in[i].kind == IN_INT || k->sig->in[i].kind == IN_BOOL)
                v->ndim = 0;
            return true;
        }
    *v = dummy_shape(k, a, NULL, 0);
    for (size_t i = 0; i < k->sig->nprop; i++) {
        if (k->sig->prop[i].name != name) continue;
        PropType t = k->sig->prop[i].type;
        if (t != T_INTS && t != T_AXES && t != T_SIDES) *v = formula_number(a, 1);
        return true;
    }
    for (size_t i = 0; i < k->sig->nout; i++)
        if (k->sig->out[i] == name) {
            *v = dummy_shape(k, a, op_rare(k->op)->otypes, i);
            return true;
        }
    *v = dummy_shape(k, a, op_rare(k->op)->otypes, 0);
    return strcmp(sym_text(k->s, name), "r") == 0;
}

static bool check_flops(UserOpCheck *k) {
    const UserOpText *t = &k->b->decl->flops;
    double v;
    return !t->text || (check_formula_text(k, t) &&
                        formula_span(k->s, t->at, dummy_formula_value, k, &v));
}

static void allow_prefixed(UserOpCheck *k, const char *prefix, Sym name) {
    allow_name(k, sym(k->s, arena_printf(session_arena(k->s), "%s_%s", prefix,
                                         sym_text(k->s, name))));
}

static void allow_names(UserOpCheck *k, UserOpMember of) {
    const Signature *sig = k->sig;
    allow_signature(k, of != OWN_SHAPE);
    k->gradient = of >= OWN_PARTIALS;
    if (of == OWN_ADJOINT || (of == OWN_PULLBACK && sig->nout == 1))
        allow_name(k, sym(k->s, "g"));
    for (size_t i = 0; of == OWN_PULLBACK && sig->nout > 1 && i < sig->nout; i++)
        allow_prefixed(k, "g", sig->out[i]);
    for (size_t i = 0; of == OWN_PUSHFORWARD && i < sig->nin; i++)
        allow_prefixed(k, "t", sig->in[i].name);
}

static bool check_member_texts(UserOpCheck *k, UserOpMember of, const UserOpTexts *l) {
    allow_names(k, of);
    bool ok = check_formula_texts(k, l);
    k->gradient = false;
    return ok;
}

static bool check_all_texts(UserOpCheck *k) {
    const UserOp *d = k->b->decl;
    allow_names(k, OWN_SHAPE);
    if (d->shape.text && !check_formula_text(k, &d->shape)) return false;
    allow_names(k, OWN_FLOPS);
    return check_flops(k) && check_member_texts(k, OWN_PARTIALS, &d->partials) &&
           check_member_texts(k, OWN_ADJOINT, &d->adjoint) &&
           check_member_texts(k, OWN_PULLBACK, &d->pullback) &&
           check_member_texts(k, OWN_PUSHFORWARD, &d->pushforward);
}

static void end_check(UserOpCheck *k) {
    map_free(&k->names);
    vec_free(&k->listed);
    vec_free(&k->need);
    vec_free(&k->calls);
}

bool userop_check_text(Session *s, const Op *op, UserOpMember of, Span text) {
    UserOpCheck k = {.s = s, .op = op, .sig = op_signature(s, op), .names = MAP(s)};
    Arena *tmp = arena_new(s);
    const Ast *e = ast_parse(s, tmp, text);
    double v;
    allow_names(&k, of);
    bool ok = e && check_expr(&k, e) &&
              (of != OWN_FLOPS || formula_span(s, text, dummy_formula_value, &k, &v));
    arena_free(tmp);
    end_check(&k);
    return ok;
}

/* ---- is it elementwise? ---- */

/* Checks the definition again, now that the ops it uses are decided. */
static bool decide_elementwise(UserOpCheck *k) {
    const UserOp *d = k->b->decl;
    size_t from = k->calls.n;
    unsigned nesting = 0;
    k->elementwise = k->sig->nout == 1 && k->sig->nin > 0 && !d->disconnected.n;
    for (size_t i = 0; i < k->sig->nin; i++)
        k->elementwise &= k->sig->in[i].kind == IN_TENSOR && !k->sig->in[i].rest &&
                          (!k->sig->in[i].optional || k->sig->in[i].value);
    allow_signature(k, false);
    for (size_t i = 0; i < k->b->n; i++)
        for (size_t j = 0; j < k->b->st[i].n; j++)
            allow_name(k, k->b->st[i].target[j]);
    for (size_t i = 0; i < k->b->n; i++)
        if (!check_expr(k, k->b->st[i].value)) return false;
    for (size_t i = from; i < k->calls.n; i++)
        if (k->all[k->calls.p[i]].nesting > nesting)
            nesting = k->all[k->calls.p[i]].nesting;
    k->calls.n = from;
    k->b->nesting = nesting + 1;
    k->b->elementwise = k->b->op.elemwise = k->elementwise && !d->replace;
    if (k->b->nesting > OWN_NESTING)
        return fail(k->s, d->def.at, E_LIMIT,
                    "ops are defined by each other more than %d deep", OWN_NESTING);
    if (k->elementwise && !d->promote_given) k->b->op.promote = PROMOTE_SAME;
    if (k->elementwise || !d->partials.n) return true;
    fail(k->s, d->partials.at, E_PLUGIN,
         "the op %s: partials are for elementwise ops, but its definition uses others",
         k->b->op.name);
    return note(k->s, NOWHERE,
                "write `adjoint` (the op is linear in that input) or `pullback`, in g");
}

static bool check_file_ops(UserOpCheck *k, uint32_t *order) {
    if (!order_ops(k, order)) return false;
    for (size_t i = 0; i < k->n; i++) {
        set_current_op(k, &k->all[order[i]]);
        if (!check_all_texts(k) || !decide_elementwise(k) ||
            !userop_try(k->s, k->b, k->elementwise))
            return false;
    }
    return true;
}

bool userop_check(Session *s, size_t n, struct OpBody *body) {
    UserOpCheck k = {.s = s, .all = body, .n = n, .names = MAP(s)};
    uint32_t *order = mem_zalloc(s, n, sizeof *order);
    bool ok = check_file_ops(&k, order);
    for (size_t i = 0; i < n; i++)
        body[i].broken = !ok;
    mem_free(order);
    end_check(&k);
    return ok;
}
