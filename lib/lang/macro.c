/* Finds macros by name, and prepares the builder for an expansion. */
#include "lang/macro.h"

#include <string.h>

const Macro *macro_find(const char *name, size_t n) {
    for (size_t i = 0; catalogue_macros[i]; i++)
        for (size_t k = 0; k < catalogue_macros[i]->n; k++) {
            const Macro *m = &catalogue_macros[i]->macro[k];
            if (*m->name == *name && strncmp(m->name, name, n) == 0 && !m->name[n])
                return m;
        }
    return NULL;
}

Expansion expansion_begin(Compiler *c, const Ast *call) {
    Builder *b = compiler_builder(c);
    Expansion e = {b, b->from, b->intern};
    b->from.at = call->at;
    b->intern = true;
    return e;
}

void expansion_end(Expansion *e) {
    e->b->from = e->was;
    e->b->intern = e->intern;
}
