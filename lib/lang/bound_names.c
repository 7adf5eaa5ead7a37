#include "lang/bound_names.h"

void bound_names_open(Compiler *c, Arena *a, BoundNames *x, size_t room,
                      BoundNames *up) {
    *x = (BoundNames){.room = room};
    x->kid = NEW_N(a, room + 1, const Ast *);
    x->value = NEW_N(a, room + 1, Node);
    x->head.kind = AST_LAMBDA;
    x->head.kid = x->kid;
    x->head.nkid = 1;
    x->scope =
        (LambdaScope){up ? &up->scope : NULL, &x->head, x->value, c->frame, NULL};
}

void bound_names_add(Arena *a, BoundNames *x, Sym name, Node value) {
    if (x->n == x->room) bug("more names than there is room for");
    Ast *e = NEW(a, Ast);
    *e = (Ast){.kind = AST_NAME, .sym = name};
    x->kid[x->n] = e;
    x->value[x->n++] = value;
    x->head.nkid = (uint32_t)x->n + 1;
}

const Node *bound_names_find(const BoundNames *x, Sym name) {
    for (size_t i = x->n; i-- > 0;)
        if (x->kid[i]->sym == name) return &x->value[i];
    return NULL;
}

bool bound_names_compile(Compiler *c, const Ast *e, BoundNames *x, bool of_row,
                         Node *out) {
    static const Env nothing_else; /* texts of rows don't see the graph */
    LambdaScope *scope = c->scope;
    const Env *env = c->env;
    c->scope = &x->scope;
    c->env = of_row ? &nothing_else : NULL;
    c->busy++;
    bool ok = compile(c, e, DT_NONE, out);
    c->busy--;
    c->scope = scope;
    c->env = env;
    return ok;
}
