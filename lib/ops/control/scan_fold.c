/* Variants of scan: map, reduce, foldl, foldr and filter. */
#include "lang/macro.h"
#include "ops/control/scan.h"

/* Literal arguments of scan that these functions don't take themselves. */
static const Ast *literal_arg(Compiler *c, const Ast *call, AstKind kind,
                              const char *text) {
    Ast *e = NEW(compiler_arena(c), Ast);
    e->kind = kind;
    e->at = call->at;
    e->sym = sym(compiler_builder(c)->s, text);
    e->u = 1;
    return e;
}

/* fn, sequences, non_sequences, go_backwards */
static bool map_expand(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    const Ast *to[SCAN_ARGS] = {arg[0], arg[1], NULL, arg[2], NULL,
                                NULL,   arg[3], NULL, NULL};
    return scan_expand(c, call, to, out);
}

/* fn, sequences, outputs_info, non_sequences, go_backwards */
static bool foldl_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                         Node *out) {
    const Ast *to[SCAN_ARGS] = {
        arg[0], arg[1], arg[2], arg[3],
        NULL,   NULL,   arg[4], literal_arg(c, call, AST_STRING, "last"),
        NULL};
    return scan_expand(c, call, to, out);
}

static bool foldr_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                         Node *out) {
    const Ast *to[] = {arg[0], arg[1], arg[2], arg[3],
                       literal_arg(c, call, AST_BOOL, "")};
    return foldl_expand(c, call, to, out);
}

static bool want_filter_tensor(Session *s, const Node *x, const Type *t) {
    if (t->kind == TYPE_TENSOR) return true;
    fail(s, x->at, E_TYPE, "filter takes the rows of a tensor, not %s", type_str(s, t));
    return note(s, NOWHERE,
                "stack(x) turns a list whose items have the same shape into a tensor");
}

/* fn, x, non_sequences: the rows of x for which fn is true */
static bool filter_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                          Node *out) {
    Builder *b = compiler_builder(c);
    const Ast *to[] = {arg[0], arg[1], arg[2], NULL};
    Node x, mask;
    Var in[2];
    if (!compiler_ast(c, arg[1], &x) || !compiler_var(c, &x, DT_NONE, &in[0]) ||
        !want_filter_tensor(b->s, &x, var_type(b->g, in[0])) ||
        !map_expand(c, call, to, &mask) || !compiler_var(c, &mask, DT_NONE, &in[1]))
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
     .doc = "Applies a function to the rows of one or several sequences; the results "
            "are rows.",
     .signature = "fn, sequences, non_sequences=[], go_backwards=False",
     .expand = map_expand,
     .example = "map(lambda x: x * x, arange(4)) -> [0, 1, 4, 9]"},
    {.name = "foldl",
     .doc = "The last value of a scan from the first row on; the initial value if "
            "there is no row.",
     .signature = FOLD,
     .expand = foldl_expand,
     .example = "foldl(lambda x, a: 10 * a + x, [1, 2, 3], 0) -> 123"},
    {.name = "foldr",
     .doc = "The last value of a scan from the last row on.",
     .signature = "fn, sequences, outputs_info, non_sequences=[]",
     .expand = foldr_expand,
     .example = "foldr(lambda x, a: 10 * a + x, [1, 2, 3], 0) -> 321"},
    {.name = "reduce",
     .doc = "The same as foldl: the last value of a scan.",
     .signature = FOLD,
     .expand = foldl_expand,
     .example = "reduce(lambda x, a: a + x, arange(5), 0) -> 10"},
    {.name = "filter",
     .doc = "The rows of x for which the function is true.",
     .signature = "fn, x, non_sequences=[]",
     .expand = filter_expand,
     .example = "filter(lambda x: x % 2 == 0, arange(5)) -> [0, 2, 4]"},
};
const MacroList macros_control_fold = LIST_OF(table);
