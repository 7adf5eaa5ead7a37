/* Scans under other names: map, reduce, foldl, foldr, and filter. */
#include "lang/macro.h"
#include "ops/control/scan.h"

/* Arguments of scan that a function over it does not take itself. */
static const Ast *written(Compiler *c, const Ast *call, AstKind kind,
                          const char *text) {
    Ast *e = NEW(compiler_arena(c), Ast);
    e->kind = kind;
    e->at = call->at;
    e->sym = sym(compiler_builder(c)->s, text);
    e->u = 1;
    return e;
}

/* fn, sequences, non_sequences, go_backwards */
static bool expand_map(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    const Ast *to[SCAN_ARGS] = {arg[0], arg[1], NULL, arg[2], NULL,
                                NULL,   arg[3], NULL, NULL};
    return expand_scan(c, call, to, out);
}

/* fn, sequences, outputs_info, non_sequences, go_backwards */
static bool expand_foldl(Compiler *c, const Ast *call, const Ast *const *arg,
                         Node *out) {
    const Ast *to[SCAN_ARGS] = {
        arg[0], arg[1], arg[2], arg[3],
        NULL,   NULL,   arg[4], written(c, call, AST_STRING, "last"),
        NULL};
    return expand_scan(c, call, to, out);
}

static bool expand_foldr(Compiler *c, const Ast *call, const Ast *const *arg,
                         Node *out) {
    const Ast *to[] = {arg[0], arg[1], arg[2], arg[3], written(c, call, AST_BOOL, "")};
    return expand_foldl(c, call, to, out);
}

static bool want_tensor(Session *s, const Node *x, const Type *t) {
    if (t->kind == TYPE_TENSOR) return true;
    fail(s, x->at, E_TYPE, "filter takes the rows of a tensor, not %s", type_str(s, t));
    return note(s, NOWHERE,
                "stack(x) makes a tensor of a list whose items have one shape");
}

/* fn, x, non_sequences: the rows of x for which fn is true */
static bool expand_filter(Compiler *c, const Ast *call, const Ast *const *arg,
                          Node *out) {
    Builder *b = compiler_builder(c);
    const Ast *to[] = {arg[0], arg[1], arg[2], NULL};
    Node x, mask;
    Var in[2];
    if (!compiler_ast(c, arg[1], &x) || !compiler_var(c, &x, DT_NONE, &in[0]) ||
        !want_tensor(b->s, &x, var_type(b->g, in[0])) ||
        !expand_map(c, call, to, &mask) || !compiler_var(c, &mask, DT_NONE, &in[1]))
        return false;
    const Type *t = var_type(b->g, in[1]);
    if (t->dtype != DT_BOOL || t->ndim != 1)
        return fail(b->s, arg[0]->at, E_TYPE,
                    "filter takes a function that gives one bool for each row, not %s",
                    type_str(b->s, t));
    const Op *op = op_known(b->s, OP_SUBTENSOR);
    PropArg index = {"index", PROP_STR(sym(b->s, "$"))};
    *out = node_var(op_apply1(b, op, props_make(b->s, op, 1, &index), 2, in), call->at);
    return out->var != VAR_NONE;
}

#define FOLD "fn, sequences, outputs_info, non_sequences=[], go_backwards=False"
static const Macro table[] = {
    {.name = "map",
     .doc = "A function of the rows of one or several sequences: the results as rows.",
     .signature = "fn, sequences, non_sequences=[], go_backwards=False",
     .expand = expand_map,
     .example = "map(lambda x: x * x, arange(4)) -> [0, 1, 4, 9]"},
    {.name = "foldl",
     .doc = "The last value of a scan from the first row on; the initial value where "
            "there is no row.",
     .signature = FOLD,
     .expand = expand_foldl,
     .example = "foldl(lambda x, a: 10 * a + x, [1, 2, 3], 0) -> 123"},
    {.name = "foldr",
     .doc = "The last value of a scan from the last row on.",
     .signature = "fn, sequences, outputs_info, non_sequences=[]",
     .expand = expand_foldr,
     .example = "foldr(lambda x, a: 10 * a + x, [1, 2, 3], 0) -> 321"},
    {.name = "reduce",
     .doc = "The same as foldl: the last value of a scan.",
     .signature = FOLD,
     .expand = expand_foldl,
     .example = "reduce(lambda x, a: a + x, arange(5), 0) -> 10"},
    {.name = "filter",
     .doc = "The rows of x for which the function is true.",
     .signature = "fn, x, non_sequences=[]",
     .expand = expand_filter,
     .example = "filter(lambda x: x % 2 == 0, arange(5)) -> [0, 2, 4]"},
};
const MacroList macros_control_fold = {table, sizeof table / sizeof *table};
