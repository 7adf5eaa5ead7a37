/* What stands where a function is wanted: a lambda, a function of the graph, or the
 * name of one of the catalogue's, which then is lambda x: name(x), of as many arguments
 * as it gets. */
#include "lang/compile_impl.h"
#include "op/op_impl.h"
#include "op/services.h"

#include <stdio.h>
#include <string.h>

/* A call with all arguments, keywords among them, as parameters of a lambda around it.
 */
static bool apply_catalogued(Compiler *c, const Node *f, const Arguments *args,
                             Node *out) {
    const Ast *name = f->data;
    size_t n = args->n;
    Ast *x = NEW_N(c->arena, n + 1, Ast), *word = NEW_N(c->arena, n + 1, Ast),
        *call = NEW(c->arena, Ast), *lambda = NEW(c->arena, Ast);
    const Ast **param = NEW_N(c->arena, n + 1, const Ast *),
              **given = NEW_N(c->arena, n + 1, const Ast *);
    char text[24];
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "arg%zu", i);
        x[i] = (Ast){.kind = AST_NAME, .at = name->at, .sym = sym(c->s, text)};
        param[i] = given[i] = &x[i];
        if (!args->key || !args->key[i]) continue;
        word[i] = (Ast){.kind = AST_KEYWORD,
                        .at = name->at,
                        .sym = args->key[i],
                        .nkid = 1,
                        .kid = &param[i]};
        given[i] = &word[i];
    }
    *call = (Ast){.kind = AST_CALL, .at = name->at, .sym = name->sym};
    call->callee = NEW(c->arena, Callee);
    call->nkid = (uint32_t)n;
    call->kid = given;
    param[n] = call;
    *lambda = (Ast){.kind = AST_LAMBDA, .at = name->at, .nkid = (uint32_t)n + 1};
    lambda->kid = param;
    Node is = {
        .kind = NODE_FUNCTION, .at = name->at, .var = VAR_NONE, .lambda = lambda};
    return compiler_apply(c, &is, &(Arguments){n, args->arg, NULL, args->at}, out);
}

/* Does the catalogue have a function of that name? False: there is no memory to look.
 */
static bool is_catalogued(Compiler *c, Sym name, bool *is) {
    const char *text = sym_text(c->s, name);
    const Op *op = op_find(c->s, text, strlen(text));
    *is = (op && !op->by_macro) || dtype_find(text, strlen(text)) != DT_NONE;
    if (op || *is || !services(c->s)->text_op) return true;
    bool ok = services(c->s)->text_op(c->s, text, &op);
    *is = ok && op;
    return ok;
}

bool compiler_function_ast(Compiler *c, const Ast *e, Node *out) {
    bool is = false, inputs = c->auto_inputs;
    if (e->kind != AST_NAME) return compiler_ast(c, e, out);
    c->auto_inputs = false; /* a function is no new input */
    bool found = compiler_lookup(c, e->sym, e->at, out);
    c->auto_inputs = inputs;
    if (found && out->kind == NODE_FUNCTION) return true;
    if (!is_catalogued(c, e->sym, &is)) return false;
    if (!is && !found) return compiler_fail_function(c, e);
    if (!is) return compiler_ast(c, e, out);
    *out = (Node){.kind = NODE_FUNCTION,
                  .at = e->at,
                  .var = VAR_NONE,
                  .apply = apply_catalogued,
                  .data = e};
    return true;
}
