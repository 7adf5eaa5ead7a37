/* Functions of the language that are neither ops nor graph functions: casts by dtype
 * name, constants of any shape, files, macros. Also the errors for unknown
 * functions. */
#include "lang/builtin.h"

#include "lang/call_impl.h"
#include "lang/compile_impl.h"
#include "lang/macro.h"
#include "op/services.h"
#include "type/word.h"
#include "value/class.h"
#include "value/file/file.h"

#include <string.h>

typedef struct BuiltinCall {
    const Ast *e;
    size_t n; /* positional arguments, including self */
    Node arg[3];
} BuiltinCall;

/* Compiles up to three positional arguments. */
static bool compile_positional(Compiler *c, const Ast *e, const Node *self,
                               size_t least, size_t most, BuiltinCall *call) {
    call->e = e;
    call->n = 0;
    if (self) call->arg[call->n++] = *self;
    size_t first = e->kind == AST_METHOD;
    for (size_t i = first; i < e->nkid && e->kid[i]->kind != AST_KEYWORD; i++) {
        if (call->n == most)
            return fail(c->s, e->at, E_ARITY, "%s takes at most %zu argument%s",
                        sym_text(c->s, e->sym), most, most == 1 ? "" : "s");
        if (!compile(c, e->kid[i], DT_NONE, &call->arg[call->n++])) return false;
    }
    return call->n >= least ||
           fail(c->s, e->at, E_ARITY, "%s needs %zu argument%s", sym_text(c->s, e->sym),
                least, least == 1 ? "" : "s");
}

/* The keyword argument `name`; others are errors. Leaves *node alone if it is
 * absent. */
static bool compile_keywords(Compiler *c, const Ast *e, size_t n,
                             const char *const *name, Node *node) {
    for (size_t i = 0; i < e->nkid; i++) {
        const Ast *k = e->kid[i];
        if (k->kind != AST_KEYWORD) continue;
        size_t j = 0;
        while (j < n && strcmp(name[j], sym_text(c->s, k->sym)) != 0)
            j++;
        if (j == n)
            return fail(c->s, k->at, E_ARG, "%s has no argument `%s`",
                        sym_text(c->s, e->sym), sym_text(c->s, k->sym));
        if (!compile(c, k->kid[0], DT_NONE, &node[j])) return false;
    }
    return true;
}

static bool constant_node(Compiler *c, const Node *n, const ConstForm *form, Span at,
                          Node *out) {
    Var v;
    if (!node_const(c, n, form, &v)) return false;
    *out = node_var(v, at);
    return true;
}

/* ---- casts ---- */

static bool cast_node(Compiler *c, const Node *n, DType d, Span at, Node *out) {
    Var v;
    if (node_is_literal(n))
        return constant_node(c, n, &(ConstForm){d, true, -1, NULL}, at, out);
    if (n->kind == NODE_VAR && n->weak)
        v = n->var; /* cast with all its digits */
    else if (!compiler_var(c, n, DT_NONE, &v))
        return false;
    Span outer = c->b->from.at;
    if (!c->env) c->b->from.at = at;
    *out = node_var(op_cast_to(c->b, v, d), at);
    c->b->from.at = outer;
    return out->var != VAR_NONE;
}

/* complex(re, im), complex64(re, im) of literals: exact even for -0.0, inf and nan. */
static bool complex_literal(Compiler *c, const BuiltinCall *call, Node *out) {
    const Node *re = &call->arg[0], *im = &call->arg[1];
    bool fits = re->kind == NODE_LITERAL && im->kind == NODE_LITERAL &&
                re->lit.kind != K_COMPLEX && im->lit.kind != K_COMPLEX;
    if (!fits) return fail(c->s, call->e->at, E_ARG, "complex takes two real literals");
    Literal l = {
        .kind = K_COMPLEX, .re = literal_f64(&re->lit), .im = literal_f64(&im->lit)};
    *out = node_literal(l, call->e->at);
    return true;
}

static bool call_cast(Compiler *c, const Ast *e, const Node *self, DType d, Node *out) {
    BuiltinCall call;
    Node lit;
    if (!compile_keywords(c, e, 0, NULL, NULL)) return false;
    if (!compile_positional(c, e, self, 1, dtype_is_complex(d) ? 2 : 1, &call))
        return false;
    if (call.n == 1) return cast_node(c, &call.arg[0], d, e->at, out);
    return complex_literal(c, &call, &lit) && cast_node(c, &lit, d, e->at, out);
}

static bool read_dtype_argument(Compiler *c, const Node *n, DType *d) {
    *d = DT_NONE;
    if (n->kind == NODE_NONE) return true;
    if (n->kind == NODE_DTYPE) *d = n->dtype;
    if (n->kind == NODE_STRING) {
        const char *text = sym_text(c->s, n->sym);
        *d =
            strcmp(text, "floatX") == 0 ? c->b->floatX : dtype_find(text, strlen(text));
    }
    if (*d != DT_NONE) return true;
    fail(c->s, n->at, E_DTYPE, "expected a dtype such as float32");
    return node_note_dtype(c, n);
}

static bool call_astype(Compiler *c, const Ast *e, const Node *self, Node *out) {
    static const char *const names[] = {"dtype"};
    BuiltinCall call;
    Node key = {.kind = NODE_NONE, .at = e->at};
    DType d;
    if (!compile_positional(c, e, self, 1, 2, &call) ||
        !compile_keywords(c, e, 1, names, &key) ||
        !read_dtype_argument(c, call.n == 2 ? &call.arg[1] : &key, &d))
        return false;
    if (d == DT_NONE) return fail(c->s, e->at, E_ARITY, "astype needs a dtype");
    return cast_node(c, &call.arg[0], d, e->at, out);
}

/* ---- array(list, dtype=, shape=) ---- */

static bool read_shape_argument(Compiler *c, const Node *n, uint32_t leaves, int *ndim,
                                int64_t *shape) {
    uint64_t size = 1;
    bool ok = n->kind == NODE_LIST && n->n <= MAX_NDIM;
    *ndim = ok ? (int)n->n : 0;
    for (int i = 0; ok && i < *ndim; i++) {
        const Node *k = &n->item[i];
        ok = k->kind == NODE_LITERAL && literal_i64(&k->lit, &shape[i]) &&
             shape[i] >= 0 && shape[i] < INT32_MAX &&
             (size = size * (uint64_t)shape[i]) < INT32_MAX;
    }
    if (!ok)
        return fail(c->s, n->at, E_ARG,
                    "a shape must be a list of sizes such as [0, 3]");
    return size == leaves ||
           fail(c->s, n->at, E_SHAPE, "the shape has %llu elements, but %u are given",
                (unsigned long long)size, leaves);
}

static uint32_t count_literals(const Node *n) {
    uint32_t count = n->kind == NODE_LITERAL;
    for (size_t i = 0; n->kind == NODE_LIST && i < n->n; i++)
        count += count_literals(&n->item[i]);
    return count;
}

static bool call_array(Compiler *c, const Ast *e, const Node *self, Node *out) {
    static const char *const names[] = {"dtype", "shape"};
    BuiltinCall call;
    Node key[2] = {{.kind = NODE_NONE, .at = e->at}, {.kind = NODE_NONE, .at = e->at}};
    DType d;
    int ndim = -1;
    int64_t shape[MAX_NDIM];
    OperandParts p;
    if (!compile_positional(c, e, self, 1, 2, &call) ||
        !compile_keywords(c, e, 2, names, key))
        return false;
    const Node *x = &call.arg[0];
    if (!read_dtype_argument(c, call.n == 2 ? &call.arg[1] : &key[0], &d) ||
        !node_parts(c, x, &p))
        return false;
    if (key[1].kind != NODE_NONE && !node_is_literal(x))
        return fail(c->s, e->at, E_ARG, "shape= is for lists of literals: use reshape");
    if (key[1].kind != NODE_NONE &&
        !read_shape_argument(c, &key[1], count_literals(x), &ndim, shape))
        return false;
    if (d == DT_NONE) d = operand_dtype(c, p, PROMOTE_NONE);
    if (node_is_literal(x))
        return constant_node(c, x, &(ConstForm){d, true, ndim, shape}, e->at, out);
    return cast_node(c, x, d, e->at, out);
}

/* ---- the others ---- */

/* want: the dtype that numbers in a text take, as literals do. */
static bool call_load(Compiler *c, const Ast *e, DType want, Node *out) {
    bool ok = e->nkid == 1 || e->nkid == 2;
    for (size_t i = 0; ok && i < e->nkid; i++)
        ok = e->kid[i]->kind == AST_STRING;
    if (!ok)
        return fail(c->s, e->at, E_ARG,
                    "write load('file.npy') or load('file.npz', 'key')");
    if (!c->load) return fail(c->s, e->at, E_ARG, "files can't be loaded here");
    Value v;
    const char *ref = NULL, *path = sym_text(c->s, e->kid[0]->sym);
    const char *key = e->nkid == 2 ? sym_text(c->s, e->kid[1]->sym) : NULL;
    Selection what = {.key = key, .want = want, .at = e->at};
    if (!c->load(c->load_ctx, path, &what, &v, &ref)) return false;
    Var x = v.kind == TYPE_TENSOR
                ? graph_const(c->b->g, &v.t, c->b->intern)
                : graph_const_value(c->b->g, value_type(c->s, &v), &v);
    value_unref(&v);
    if (ref && !what.converted) /* else the text would read back as another dtype */
        leaf_set_ref(c->b->g, x, ref, key);
    *out = node_var(x, e->at);
    return true;
}

/* The state of a random stream from its four words: the printed form of such a
 * constant. */
static bool call_rng_state(Compiler *c, const Ast *e, Node *out) {
    BuiltinCall call;
    int64_t four = 4;
    Value v = {.kind = TYPE_RANDOM};
    if (!compile_keywords(c, e, 0, NULL, NULL) ||
        !compile_positional(c, e, NULL, 1, 1, &call))
        return false;
    const Node *n = &call.arg[0];
    if (n->kind != NODE_LIST || n->n != 4 || !node_is_literal(n))
        return fail(c->s, e->at, E_ARG, "write rng_state([seed, stream, position, 0])");
    if (!tensor_new(c->s, DT_UINT64, 1, &four, &v.t)) return false;
    bool ok = true;
    for (int i = 0; ok && i < 4; i++)
        ok = literal_store(c->s, &n->item[i].lit, DT_UINT64, false, n->at,
                           (uint64_t *)v.t.data + i);
    if (ok)
        *out = node_var(graph_const_value(c->b->g, type_simple(c->s, TYPE_RANDOM), &v),
                        e->at);
    tensor_unref(&v.t);
    return ok;
}

static bool call_undefined(Compiler *c, const Ast *e, Node *out) {
    if (e->nkid != 1 || e->kid[0]->kind != AST_STRING)
        return fail(c->s, e->at, E_ARG, "write undefined('why')");
    *out = node_var(grad_undefined(c->b, sym_text(c->s, e->kid[0]->sym)), e->at);
    return true;
}

static bool call_complex(Compiler *c, const Ast *e, const Node *self, Node *out) {
    BuiltinCall call;
    return compile_keywords(c, e, 0, NULL, NULL) &&
           compile_positional(c, e, self, 2, 2, &call) &&
           complex_literal(c, &call, out);
}

static const Builtin builtins[] = {
    {"array", "array(values, dtype=None, shape=None)", "An array of literal numbers.",
     "array([[1, 2], [3, 4]], dtype=float32)"},
    {"astype", "astype(x, dtype)", "x converted to a dtype, as cast(x, dtype) does.",
     "astype(x, float32)"},
    {"complex", "complex(re, im)", "A complex number from two literals.",
     "complex(1.0, -0.0)"},
    {"constant", "constant(type, value)",
     "A constant of a plugin's type: the type's filter converts a number or a list of "
     "numbers, its from_text a text in quotes.\nThe name of the type does the same, "
     "with its parameters if it has any: double(2.5), fixed(2)(1.25). Where a value of "
     "the type is expected, the number, list or text alone is enough.",
     "constant('fixed(2)', 1.25)"},
    {"floatX", "floatX(x)", "x converted to the graph's default float dtype.",
     "floatX(3)"},
    {"load", "load(file, key=None)",
     "The array in a file beside the graph: npy, npz, safetensors or GGUF (with a "
     "key), "
     "recognised by content.",
     "load('weights.npz', 'W')"},
    {"rng_state", "rng_state([seed, stream, position, 0])",
     "A state of the random generator.", "rng_state([1, 0, 0, 0])"},
    {"undefined", "undefined(why)",
     "In derivatives: an undefined derivative, and the reason. A result that needs it "
     "is an error.",
     "undefined('the index is an integer')"},
};

const Builtin *builtin_at(size_t i) {
    return i < sizeof builtins / sizeof *builtins ? &builtins[i] : NULL;
}

const Builtin *builtin_find(const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(name, builtins[i].name) == 0) return &builtins[i];
    return NULL;
}

bool builtin_is_name(const char *name) {
    return builtin_find(name) || dtype_find(name, strlen(name)) != DT_NONE;
}

bool compile_builtin(Compiler *c, const Ast *e, const Node *self, DType want, bool *is,
                     Node *out) {
    const char *name = sym_text(c->s, e->sym);
    DType d =
        strcmp(name, "floatX") == 0 ? c->b->floatX : dtype_find(name, strlen(name));
    *is = true;
    if (d != DT_NONE) return call_cast(c, e, self, d, out);
    if (strcmp(name, "astype") == 0) return call_astype(c, e, self, out);
    if (strcmp(name, "array") == 0) return call_array(c, e, self, out);
    if (strcmp(name, "complex") == 0) return call_complex(c, e, self, out);
    if (strcmp(name, "load") == 0 && !self) return call_load(c, e, want, out);
    if (strcmp(name, "rng_state") == 0 && !self) return call_rng_state(c, e, out);
    if (strcmp(name, "undefined") == 0 && !self) return call_undefined(c, e, out);
    if (strcmp(name, "constant") == 0 && !self) return call_constant(c, e, out);
    const Type *own = self ? NULL : type_by_name(c->s, name);
    if (own) return call_type(c, e, own, out);
    *is = false;
    return true;
}

/* ---- macros ---- */

static bool fail_macro(Compiler *c, const Macro *m, Span at, DiagCode code,
                       const char *what, const char *name) {
    return fail(c->s, at, code, "%s %s%s%s; its signature is %s(%s)", m->name, what,
                *name ? " " : "", name, m->name, m->signature);
}

static bool is_parameter_name(const char *part, const char *name) {
    size_t n = strlen(name);
    return strncmp(part, name, n) == 0 && (part[n] == '\0' || part[n] == '=');
}

static bool match_macro_keyword(Compiler *c, const Macro *m, const Ast *k, size_t n,
                                char **part, const Ast **arg) {
    const char *name = sym_text(c->s, k->sym);
    size_t i = 0;
    if (k->kind != AST_KEYWORD)
        return fail_macro(c, m, k->at, E_ARG, "can't take `**`", "");
    while (i < n && !is_parameter_name(part[i], name))
        i++;
    if (i == n) {
        fail_macro(c, m, k->at, E_ARG, "has no argument", name);
        const char *ours = call_argument_synonym(c->s, m->name, name);
        for (i = 0; ours && i < n; i++)
            if (is_parameter_name(part[i], ours))
                note(c->s, NOWHERE, "here it is `%s=`", ours);
        if (ours && strchr(ours, '('))
            note(c->s, NOWHERE, "do it in the expression, as in `%s`", ours);
        return false;
    }
    if (arg[i])
        return fail_macro(c, m, k->at, E_ARG, "got a second value for the argument",
                          name);
    arg[i] = k->kid[0];
    return true;
}

/* The positional arguments of a macro whose first parameter is `*xs`. */
static const Ast *list_of_arguments(Compiler *c, const Ast *e, size_t n) {
    Ast *list = NEW(c->arena, Ast);
    *list = (Ast){.kind = AST_LIST, .at = e->at, .nkid = (uint32_t)n, .kid = e->kid};
    return list;
}

/* grad(f) is a function in JAX. Always false. */
static bool note_of_function(Compiler *c, const Macro *m, const Ast *e) {
    const char *second = strchr(m->signature, ',');
    if (second && strncmp(second, ", wrt", 5) == 0 && e->nkid == 1)
        note(c->s, NOWHERE, "it takes a value, not a function: write %s(f(x), x)",
             m->name);
    return false;
}

bool compile_macro(Compiler *c, const Macro *m, const Ast *e, Node *out) {
    char **part;
    size_t n = str_split(c->arena, m->signature, ',', &part), npos = 0;
    const Ast **arg = NEW_N(c->arena, n + 1, const Ast *);
    while (npos < e->nkid && e->kid[npos]->kind != AST_KEYWORD &&
           e->kid[npos]->kind != AST_STARS)
        npos++;
    bool rest = n > 0 && part[0][0] == '*';
    if (rest) arg[0] = list_of_arguments(c, e, npos);
    if (!rest && npos > n)
        return fail_macro(c, m, e->kid[n]->at, E_ARITY, "got too many arguments", "");
    for (size_t i = 0; !rest && i < npos; i++)
        arg[i] = e->kid[i];
    for (size_t k = npos; k < e->nkid; k++)
        if (!match_macro_keyword(c, m, e->kid[k], n, part, arg)) return false;
    for (size_t i = 0; i < n; i++)
        if (!arg[i] && !strchr(part[i], '='))
            return fail_macro(c, m, e->at, E_ARITY, "needs the argument", part[i]) ||
                   note_of_function(c, m, e);
    Span outer = c->b->from.at;
    c->b->from.at = e->at;
    bool ok = m->expand(c, e, arg, out);
    c->b->from.at = outer;
    return ok;
}

/* ---- unknown functions ---- */

bool compiler_fail_function(Compiler *c, const Ast *e) {
    static const char *const own[] = {"array", "astype", "complex", "floatX", "load"};
    if (scope_awaits(c, e->sym)) return compiler_fail_unknown(c, e->sym, e->at);
    const Op *none;
    if (services(c->s)->text_op && !services(c->s)->text_op(c->s, NULL, &none))
        return false;
    const Graph *main = c->b->g->main;
    size_t n = 0, nmacro = 0;
    for (size_t i = 0; catalogue_macros[i]; i++)
        nmacro += catalogue_macros[i]->n;
    const char **of = mem_alloc(
        c->s, (op_count(c->s) + nmacro + main->functions.n + 5 + DT_N) * sizeof *of);
    for (size_t i = 0; i < op_count(c->s); i++)
        of[n++] = op_get(c->s, i)->name;
    for (size_t i = 0; catalogue_macros[i]; i++)
        for (size_t k = 0; k < catalogue_macros[i]->n; k++)
            of[n++] = catalogue_macros[i]->macro[k].name;
    for (size_t i = 0; i < main->functions.n; i++)
        of[n++] = sym_text(c->s, main->functions.p[i]->name);
    for (size_t i = 0; i < 5; i++)
        of[n++] = own[i];
    for (int d = 0; d < DT_N; d++)
        of[n++] = dtype_name((DType)d);
    const char *name = sym_text(c->s, e->sym);
    Str advice = STR(c->s);
    for (size_t i = 0; i < n; i++)
        if (strcmp(of[i], name) == 0) n = 0;
    bool method = n == 0,
         known = method || word_advise(&advice, WORD_FUNCTION, name, of, n);
    if (method && e->kind == AST_NAME)
        fail(c->s, e->at, E_NAME, "%s can't be passed on: write lambda x: %s(...)",
             name, name);
    else if (method)
        fail(c->s, e->at, E_NAME, "%s is not a method: write %s(...)", name, name);
    else
        fail(c->s, e->at, E_NAME, "there is no function `%s`%s", name,
             str_text(&advice));
    str_free(&advice);
    mem_free(of);
    return !known && hint(c->s, HINT_OWN_FUNCTIONS);
}
