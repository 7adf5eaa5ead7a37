/* Single names, from options: the parser decides which are valid. */
#include "lang/expr.h"

#include <string.h>

bool compiler_check_var_name(Session *s, Span name) {
    Arena *a = arena_new(s);
    const Ast *e = ast_parse(s, a, name);
    bool ok = e && e->kind == AST_NAME &&
              strlen(sym_text(s, e->sym)) == name.end - name.begin; /* not (x), x # */
    arena_free(a);
    if (e && !ok) fail(s, name, E_NAME, "this can't be the name of a variable");
    return ok;
}

bool lambda_binds(const Ast *lambda, Sym name) {
    const AstLocals *local = lambda->local;
    for (size_t i = 0; i + 1 < lambda->nkid; i++)
        if (lambda->kid[i]->sym == name) return true;
    for (size_t i = 0; local && i < local->n; i++)
        if (local->sym[i] == name) return true;
    return false;
}
