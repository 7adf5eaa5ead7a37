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
