/* Values that aren't tensors but have derivatives: those of a plugin's type that names
 * an op for adding two values. Its filter makes zero and one from 0.0 and 1.0. */
#include "ad/term.h"
#include "value/class.h"

#include <string.h>

bool ad_is_plugin_value(const Graph *g, Var v) {
    return var_type(g, v)->kind == TYPE_PLUGIN;
}

Var ad_number(Builder *b, Var like, double v) {
    const Type *t = var_type(b->g, like);
    return t->kind == TYPE_PLUGIN ? op_plugin_number(b, t, v)
                                  : const_number(b, ad_dtype(b, like), v);
}

Var ad_add(Builder *b, Var x, Var y) {
    const Type *t = var_type(b->g, x);
    const char *name = t->kind == TYPE_PLUGIN ? type_class(t)->add : "add";
    const Op *op = name ? op_find(b->s, name, strlen(name)) : NULL;
    if (!name) return op_fail_no_derivatives(b, t), VAR_NONE;
    if (!op) {
        fail(b->s, b->from.at, E_GRADIENT,
             "there is no op %s, which should add values of type %s", name,
             type_str(b->s, t));
        return VAR_NONE;
    }
    Var in[] = {x, y};
    return op_apply1(b, op, NULL, 2, in);
}
