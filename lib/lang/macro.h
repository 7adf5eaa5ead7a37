/* Macros: functions of the language that expand at build time into other nodes (grad,
 * jacobian, reap, ...). They live in rows above and are found by name. */
#ifndef LANG_MACRO_H
#define LANG_MACRO_H

#include "lang/expr.h"

typedef struct Macro {
    const char *name, *doc;
    const char
        *signature; /* "cost, wrt, consider_constant=[]": checked before expand. A first
                       `*xs` takes all positional arguments, as a list */
    /* args: in the order of the signature; a missing optional one is NULL. *out: the
     * result. */
    bool (*expand)(Compiler *c, const Ast *call, const Ast *const *args, Node *out);
    const char *example;
    bool creates; /* creates values from nothing: cast to a receiver's float dtype */
    size_t gives_function; /* a call with at most so many arguments is a function */
} Macro;
typedef struct MacroList {
    const Macro *macro;
    size_t n;
} MacroList;
extern const MacroList *const catalogue_macros[];
extern const char *const catalogue_macro_folders[]; /* of each list: "ad" */
const Macro *macro_find(const char *name, size_t n);

/* While a macro adds to the graph, errors point at the call and equal expressions are
 * interned. */
typedef struct Expansion {
    Builder *b;
    Origin was;
    bool intern;
} Expansion;
Expansion expansion_begin(Compiler *c, const Ast *call);
void expansion_end(Expansion *e);

#endif
