/* A cotangent of all rows of a loop's result that is zero but for the last row, as it
 * comes from a cost that reads `states[-1]`. */
#include "op/index_text.h"
#include "op/services.h"
#include "ops/control/scan.h"

static bool is_zeros(Builder *b, Var v) {
    ApplyId a = var_owner(b->g, v);
    if (a == APPLY_NONE) return false;
    const Op *op = b->g->apply[a].op;
    return op == op_known(b->s, OP_ZEROS) || op == op_known(b->s, OP_ZEROS_LIKE);
}

/* Is the index [-1]? */
static bool is_last(Builder *b, ApplyId a) {
    const Apply *p = &b->g->apply[a];
    IndexItems index;
    if (p->nin != 3 ||
        !index_parse(sym_text(b->s, op_prop(b->s, p->op, p->props, "index")->sym),
                     &index) ||
        index.n != 1 || index.item[0].kind != IX_INPUT)
        return false;
    const Tensor *at = var_const(b->g, apply_in(b->g, a)[2]);
    return at && at->ndim == 0 && at->dtype != DT_BOOL && tensor_i64(at, 0) == -1;
}

static Var last_of_write(Builder *b, ApplyId a) {
    const Var *in = apply_in(b->g, a);
    if (!is_zeros(b, in[0]) || !is_last(b, a)) return VAR_NONE;
    const Type *rows = var_type(b->g, b->g->apply[a].out), *row = var_type(b->g, in[1]);
    return row->ndim == rows->ndim - 1 && row->dtype == rows->dtype ? in[1] : VAR_NONE;
}

enum { MOST_TERMS = 8 };

Var scan_last_row(Builder *b, Var rows) {
    Var left[MOST_TERMS] = {rows}, sum = VAR_NONE;
    for (size_t n = 1; n > 0;) {
        ApplyId a = var_owner(b->g, left[--n]);
        if (a == APPLY_NONE) return VAR_NONE;
        const Apply *p = &b->g->apply[a];
        if (p->op == op_known(b->s, OP_ADD) && n + 2 <= MOST_TERMS) {
            left[n++] = apply_in(b->g, a)[1];
            left[n++] = apply_in(b->g, a)[0];
            continue;
        }
        Var term =
            p->op == op_known(b->s, OP_INC_SUBTENSOR) ? last_of_write(b, a) : VAR_NONE;
        if (term == VAR_NONE) return VAR_NONE;
        sum = sum == VAR_NONE ? term : op_call2(b, "add", sum, term);
        if (sum == VAR_NONE) return VAR_NONE;
    }
    return sum;
}
