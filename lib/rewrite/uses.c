/* The clients of values, from which a rule or a pass sees that a value is no longer
 * needed when one client does without it. A product of matrices is not needed either
 * if all of its clients, but few, take so little of it that they cost far less without
 * it: a row, its sum, its trace, its product with a vector. */
#include "op/index_text.h"
#include "rewrite/rewrite_impl.h"

enum { FEW = 4, MOST_PARTS = UINT8_MAX }; /* so many parts, or more */

static bool is_matrix_product(Rewriter *r, Var x) {
    return rewriter_known_owner(r, x, OP_MATMUL) && var_type(r->g, x)->ndim == 2;
}

static bool takes_row(Rewriter *r, const Apply *a) {
    IndexItems ix;
    if (!index_parse(sym_text(r->s, rewriter_prop(r, a, "index")->sym), &ix))
        return false;
    for (int i = 0; i < ix.n; i++)
        if (ix.item[i].kind == IX_INPUT &&
            var_type(r->g, r->g->in[a->in + 1 + (uint32_t)ix.item[i].input])->ndim == 0)
            return true;
    return false;
}

bool uses_takes_part(const Rewriter *r, const Op *op) {
    static const KnownOp takes[] = {OP_MATMUL, OP_SUM, OP_MEAN, OP_DIAGONAL,
                                    OP_SUBTENSOR};
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (op == r->known[takes[i]]) return true;
    return false;
}

/* Does the Apply, of an op that may, need little of the product that is its input i? */
static bool takes_part(Rewriter *r, ApplyId id, size_t i) {
    const Apply *a = &r->g->apply[id];
    bool product = rw_is(r, a, OP_MATMUL);
    if ((i > 0 && !product) || !is_matrix_product(r, rewriter_input(r, id, i)))
        return false;
    if (product) return var_type(r->g, rewriter_input(r, id, 1 - i))->ndim == 1;
    return !rw_is(r, a, OP_SUBTENSOR) || takes_row(r, a);
}

static void count_part(Rewriter *r, ApplyId a, size_t i, Var x) {
    if (r->parts[x] < MOST_PARTS) r->parts[x] += takes_part(r, a, i);
}

void rewriter_count(Rewriter *r, ApplyId a) {
    if (r->state[a] & COUNTED) return;
    r->state[a] |= COUNTED;
    r->counted = false;
    if (!r->uses_matter) return;
    bool parts = r->tries.p[r->op_at[a]].takes_part;
    for (size_t i = 0; i < r->g->apply[a].nin; i++) {
        Var x = rewriter_input(r, a, i);
        r->uses[x]++;
        if (parts) count_part(r, a, i, x);
    }
}

/* Each Apply comes here once a count: what doesn't change is read once, since the
 * compiler can't tell that writing states leaves it alone. */
void uses_need_inputs(Rewriter *r, ApplyId a) {
    const Graph *g = r->g;
    const Var *in = apply_in(g, a);
    size_t n = g->apply[a].nin;
    uint8_t *state = r->state;
    bool matter = r->uses_matter, parts = matter && r->tries.p[r->op_at[a]].takes_part;
    for (size_t i = 0; i < n; i++) {
        Var x = rewriter_resolve(r, in[i]);
        ApplyId maker = var_owner(g, x);
        if (maker != APPLY_NONE) state[maker] |= COUNTED;
        if (matter) r->uses[x]++;
        if (parts && maker != APPLY_NONE && rw_is(r, &g->apply[maker], OP_MATMUL))
            count_part(r, a, i, x);
    }
}

void rewriter_release(Rewriter *r, ApplyId a) {
    if (!r->uses_matter || !(r->state[a] & COUNTED)) return;
    r->state[a] &= (uint8_t)~COUNTED;
    r->counted = false;
    bool parts = r->tries.p[r->op_at[a]].takes_part;
    for (size_t i = 0; i < r->g->apply[a].nin; i++) {
        Var x = rewriter_input(r, a, i);
        r->uses[x]--;
        if (parts && r->parts[x] > 0 && r->parts[x] < MOST_PARTS)
            r->parts[x] -= takes_part(r, a, i);
    }
}

void uses_move(Rewriter *r, Var from, Var to) {
    unsigned parts = (unsigned)r->parts[to] + r->parts[from];
    r->counted = false;
    r->uses[to] += r->uses[from];
    r->parts[to] = (uint8_t)(parts < MOST_PARTS ? parts : MOST_PARTS);
    r->result[to] |= r->result[from];
}

static bool is_replaced(const Rewriter *r, const Apply *p) {
    for (Var v = p->out; v < p->out + p->nout; v++)
        if (r->forward[v] == v) return false;
    return true;
}

static bool is_unused(const Rewriter *r, const Apply *p) {
    for (Var v = p->out; v < p->out + p->nout; v++)
        if (r->uses[v]) return false;
    return !p->serial;
}

void uses_drop_replaced(Rewriter *r, ApplyId a) {
    if (!r->uses_matter || !is_replaced(r, &r->g->apply[a])) return;
    size_t base = r->dropped.n;
    vec_push(r->s, &r->dropped, a);
    while (r->dropped.n > base) {
        a = r->dropped.p[--r->dropped.n];
        if (!(r->state[a] & COUNTED)) continue;
        rewriter_release(r, a);
        for (size_t i = 0; i < r->g->apply[a].nin; i++) {
            ApplyId of = var_owner(r->g, rewriter_input(r, a, i));
            if (of != APPLY_NONE && is_unused(r, &r->g->apply[of]))
                vec_push(r->s, &r->dropped, of);
        }
    }
}

void uses_revive(Rewriter *r, ApplyId a) {
    if (!r->uses_matter || r->state[a] & COUNTED) return;
    size_t base = r->dropped.n;
    vec_push(r->s, &r->dropped, a);
    while (r->dropped.n > base) {
        a = r->dropped.p[--r->dropped.n];
        if (r->state[a] & COUNTED) continue;
        rewriter_count(r, a);
        for (size_t i = 0; i < r->g->apply[a].nin; i++) {
            ApplyId of = var_owner(r->g, rewriter_input(r, a, i));
            if (of != APPLY_NONE && !(r->state[of] & COUNTED))
                vec_push(r->s, &r->dropped, of);
        }
    }
}

/* ---- what entries ask, and whether it is worth while to ask again ---- */

static bool has_single_use(Rewriter *r, Var x) {
    return r->uses[x] <= 1 ||
           (r->uses[x] <= FEW && r->uses[x] == r->parts[x] && is_matrix_product(r, x));
}

static bool or_wish(Rewriter *r, bool holds, Var x, Wish wish) {
    if (!holds) r->wish[x] |= (uint8_t)wish;
    return holds;
}

bool rewriter_single_use(Rewriter *r, Var x) {
    return r->searching || or_wish(r, has_single_use(r, x), x, WISH_ONE);
}

bool rewriter_one_client(Rewriter *r, Var x) {
    return or_wish(r, r->uses[x] <= 1, x, WISH_ONE);
}

bool rewriter_no_client(Rewriter *r, Var x) {
    return or_wish(r, r->uses[x] == 0, x, WISH_NONE);
}

bool rewriter_only_result(Rewriter *r, Var x) {
    return r->sweeping && or_wish(r, r->result[x], x, WISH_RESULT) &&
           rewriter_one_client(r, x);
}

static bool is_granted(Rewriter *r, Var x, unsigned wish) {
    return (wish & WISH_ONE && has_single_use(r, x)) ||
           (wish & WISH_NONE && r->uses[x] == 0) ||
           (wish & WISH_RESULT && r->result[x]);
}

bool uses_grant_wishes(Rewriter *r) {
    for (Var x = 0; x < r->nvar; x++)
        if (r->wish[x] && r->forward[x] == x && is_granted(r, x, r->wish[x]))
            return true;
    return false;
}
