/* How the Applies of a group treat rows: what their inputs from outside must be, so
 * that each row of the results comes of the same row of these, or is a sum over them.
 */
#include "rewrite/row_blocks/row_blocks.h"

enum { MOST_CHOICES = 64 }; /* ways to cut the inputs of an Apply */

const Part *blocks_part_of(const Blocks *b, Var v) {
    uint64_t p;
    return map_get(&b->part, v, &p) ? (const Part *)(uintptr_t)p : NULL;
}

/* ---- the number of rows ---- */

/* The place of the only element that is n; -1: there is none, -2: several. */
static int place_of_size(const Tensor *t, int64_t n) {
    int at = -1;
    for (int64_t i = 0; i < tensor_size(t); i++)
        if (tensor_i64(t, i) == n) at = at == -1 ? (int)i : -2;
    return at;
}

bool blocks_count(const Blocks *b, Var v, Part *out) {
    const Tensor *t = var_const(b->g, v);
    bool dim = var_leaf(b->g, v) == LEAF_DIM && dim_is_named(b->rows) &&
               var_leafrec(b->g, v)->name == dim_sym(b->rows);
    if (dim) return *out = (Part){.power = 1, .each = 1}, true;
    if (!t || !dim_is_known(b->rows) || t->dtype != DT_INT64 || t->ndim > 1 ||
        tensor_size(t) > MAX_NDIM)
        return false;
    int at = place_of_size(t, b->rows);
    if (at < 0) return false;
    *out = t->ndim ? (Part){.kind = PART_SHAPE, .axis = at, .each = 1}
                   : (Part){.power = 1, .each = 1};
    return true;
}

enum { MOST_DRAWN = 8 }; /* Applies deep */

/* What v is if it is made of constants and dims alone: positions of rows, their number
 * in a shape, what is repeated for each of them. NULL: it is not, or there is nothing
 * of rows in it. */
static const Part *draw_in(Blocks *b, Var v, int deep) {
    uint64_t found;
    ApplyId id = var_owner(b->g, v);
    if (map_get(&b->drawn, v, &found)) return (const Part *)(uintptr_t)found;
    Part *p = NULL;
    if (id == APPLY_NONE) {
        p = NEW(b->a, Part);
        if (!blocks_count(b, v, p)) p = NULL;
    } else if (deep < MOST_DRAWN && !blocks_makes(b, v)) {
        const Apply *a = &b->g->apply[id];
        bool any = false,
             ok = a->nout == 1 && a->nin <= MOST_INPUTS && !a->serial && !a->op->effect;
        Part *x = NEW_N(b->a, a->nin + 1, Part), *out = NEW(b->a, Part);
        for (size_t i = 0; ok && i < a->nin; i++) {
            Var in = apply_in(b->g, id)[i];
            const Part *made = draw_in(b, in, deep + 1);
            if (made) x[i] = *made, any = true;
            ok = made || var_is_const(b->g, in) || var_leaf(b->g, in) == LEAF_DIM;
        }
        ok = ok && any && part_apply(b->g, b->a, id, x, out) &&
             out->kind != PART_NONE && out->kind != PART_TERM;
        if (ok && (out->kind != PART_SAME || out->power)) p = out;
    }
    map_put(&b->drawn, v, (uintptr_t)p);
    return p;
}

/* ---- choices ---- */

/* Part c, from 0 on, of those that an input from outside may be: made anew, rows along
 * one of the axes of their size, the same for all rows. False: there are fewer. */
static bool part_choice(Blocks *b, Var v, size_t c, Part *out, bool *drawn) {
    const Type *t = var_type(b->g, v);
    const Part *made = draw_in(b, v, 0);
    *out = (Part){.kind = PART_SAME};
    *drawn = made && c == 0;
    if (*drawn) return *out = *made, true;
    c -= made != NULL;
    for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++) {
        if (t->dim[k] != b->rows) continue;
        if (c-- == 0) return *out = (Part){PART_ROWS, .axis = k, .each = 1}, true;
    }
    return c == 0;
}

/* due: what output 0 must be, or NULL. */
static bool result_fits(const Blocks *b, ApplyId id, const Part *x, const Part *out,
                        const Part *due) {
    const Apply *a = &b->g->apply[id];
    bool any = false, sums = false;
    for (size_t i = 0; i < a->nin; i++) {
        any |= x[i].kind == PART_ROWS;
        sums |= x[i].kind == PART_TERM;
    }
    for (Var k = 0; k < a->nout; k++) {
        const Part *p = &out[k];
        const Type *t = var_type(b->g, a->out + k);
        bool rows = p->kind == PART_ROWS && p->each == 1,
             sum = p->kind == PART_TERM && p->term == TERM_SUM && !sums;
        if (t->kind != TYPE_TENSOR || p->power ||
            !(rows || (sum && part_may_add_up(t))))
            return false;
    }
    return any && (!due || (out[0].kind == PART_ROWS && out[0].axis == due->axis));
}

/* One way after the other, as one counts. False: that was the last. */
static bool next_choice(Blocks *b, ApplyId id, size_t *at) {
    for (size_t i = 0; i < b->g->apply[id].nin; at[i++] = 0) {
        Part next;
        bool drawn;
        Var v = apply_in(b->g, id)[i];
        if (blocks_part_of(b, v) || !part_choice(b, v, at[i] + 1, &next, &drawn))
            continue;
        return at[i]++, true;
    }
    return false;
}

bool blocks_cut_inputs(Blocks *b, ApplyId id, const Part *due, Cut *cut) {
    const Apply *a = &b->g->apply[id];
    Part *x = NEW_N(b->a, a->nin + 1, Part), *out = NEW_N(b->a, a->nout + 1, Part);
    bool *drawn = NEW_N(b->a, a->nin + 1, bool);
    size_t at[MOST_INPUTS] = {0};
    *cut = (Cut){x, out, drawn};
    for (int tries = 0; tries < MOST_CHOICES; tries++) {
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(b->g, id)[i];
            const Part *made = blocks_part_of(b, v);
            if (made)
                x[i] = *made, drawn[i] = false;
            else
                part_choice(b, v, at[i], &x[i], &drawn[i]);
        }
        if (part_apply(b->g, b->a, id, x, out) && result_fits(b, id, x, out, due))
            return true;
        if (!next_choice(b, id, at)) return false;
    }
    return false;
}
