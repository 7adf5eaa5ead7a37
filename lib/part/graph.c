/* The walk over a graph, and what a Part means. */
#include "part/part_impl.h"

#include <string.h>

bool part_can_merge(const Part *p) {
    switch (p->kind) {
    case PART_SAME:
        return p->power == 0 || p->power == 1;
    case PART_ROWS:
        return p->power == 0;
    case PART_TERM:
        return p->power == 0 || (p->term == TERM_SUM && p->power == -1);
    case PART_INDEX:
    case PART_SHAPE:
    case PART_NONE:
        break;
    }
    return false;
}

const char *part_text(Arena *a, const Part *p) {
    static const char *const terms[] = {"sum",   "product", "maximum",  "minimum",
                                        "`all`", "`any`",   "logsumexp"};
    switch (p->kind) {
    case PART_SAME:
        return p->power == 0    ? "the same for any rows"
               : p->power == 1  ? "a number of rows"
               : p->power == -1 ? "a number divided by one of rows"
                                : "scaled by a power of the number of rows";
    case PART_ROWS:
        return p->power ? "rows, scaled by the number of all rows"
                        : arena_printf(a, "rows along axis %d", p->axis);
    case PART_TERM:
        if (p->term == TERM_SUM && p->power == -1) return "a mean over the rows";
        return arena_printf(a, "the %s over the rows%s", terms[p->term],
                            p->power ? ", scaled by a power of their number" : "");
    case PART_INDEX:
        return "the numbers of the rows";
    case PART_SHAPE:
        return "a shape with the number of rows";
    case PART_NONE:
        break;
    }
    return "no rows";
}

/* ---- one Apply ---- */

bool part_set(PartCall *c, Part p) {
    for (size_t k = 0; k < c->ap->nout; k++)
        c->out[k] = p;
    return true;
}

bool part_refuse(PartCall *c, const char *said) {
    part_set(c, (Part){.kind = PART_NONE, .why = {c->g, c->id, said}});
    return false;
}

bool part_refuse_rows(PartCall *c) {
    for (size_t i = 0; i < c->ap->nin; i++)
        if (c->x[i].kind == PART_INDEX)
            return part_refuse(c, "takes the numbers of the rows, which a part counts "
                                  "from 0");
    for (size_t i = 0; i < c->ap->nin; i++)
        if (c->x[i].kind == PART_TERM || c->x[i].power)
            return part_refuse(c, arena_printf(c->w->a,
                                               "takes %s, of which a part has "
                                               "only its own",
                                               part_text(c->w->a, &c->x[i])));
    return part_refuse(c, "needs all rows at once");
}

bool part_same_from(const PartCall *c, size_t from) {
    for (size_t i = from; i < c->ap->nin; i++)
        if (!part_is_same(&c->x[i])) return false;
    return true;
}

const Prop *part_prop(const PartCall *c, const char *name) {
    return op_prop(c->w->s, c->ap->op, c->ap->props, name);
}

int part_axis_prop(const PartCall *c, const char *name, int ndim, int none) {
    const Prop *p = part_prop(c, name);
    if (p->kind != P_INT) return none;
    return (int)(p->i < 0 ? p->i + ndim : p->i);
}

/* Inputs that are the same in every part make outputs that are. */
static bool take_same(PartCall *c) {
    bool zero =
        op_is(c->w->s, c->ap->op, OP_ZEROS) || op_is(c->w->s, c->ap->op, OP_ZEROS_LIKE);
    if (!part_same_from(c, 0)) return false;
    if (c->row && c->row->power == POWER_KEEPS && c->ap->nin) zero = c->x[0].zero;
    return part_set(c, (Part){.zero = zero});
}

static bool take_none(PartCall *c) {
    for (size_t i = 0; i < c->ap->nin; i++)
        if (c->x[i].kind == PART_NONE) return part_set(c, c->x[i]), true;
    return false;
}

static void take_apply(PartCall *c) {
    const Op *op = c->ap->op;
    c->row = part_row(op);
    if (take_none(c) || take_same(c)) return;
    if (c->row)
        c->row->rule(c);
    else if (op->elemwise)
        part_elementwise(c);
    else if (op->body)
        part_call(c);
    else if (op->identity)
        part_pass(c);
    else
        part_refuse_rows(c);
}

bool part_apply(const Graph *g, Arena *a, ApplyId id, const Part *x, Part *out) {
    PartWalk w = {.s = g->s, .a = a};
    PartCall c = {&w, g, id, &g->apply[id], apply_in(g, id), x, out, NULL};
    take_apply(&c);
    vec_free(&w.memo);
    return !w.failed;
}

/* ---- leaves ---- */

/* Dims whose size is a multiple of the number of rows. */
typedef struct DimCount {
    Sym dim;
    int64_t each;
} DimCount;
typedef Vec(DimCount) DimCounts;

static int64_t count_of_dim(const DimCounts *counts, Sym dim) {
    for (size_t i = 0; i < counts->n; i++)
        if (counts->p[i].dim == dim) return counts->p[i].each;
    return 0;
}

static bool is_cut_along(const Part *p, int axis) {
    return (p->kind == PART_ROWS || p->kind == PART_INDEX) && p->axis == axis;
}

static bool is_shaped(const Type *t) {
    return t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
}

/* Finds the dims of the axes that are cut. False: such a dim is also one of an axis
 * that isn't, or of one that is cut otherwise. */
static bool find_counts(const Graph *g, const Part *in, DimCounts *counts) {
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        bool cut = in[i].kind == PART_ROWS || in[i].kind == PART_INDEX;
        if (!cut || !is_shaped(t) || !dim_is_named(t->dim[in[i].axis])) continue;
        Sym dim = dim_sym(t->dim[in[i].axis]);
        int64_t known = count_of_dim(counts, dim);
        if (known && known != in[i].each) return false;
        if (!known) vec_push(g->s, counts, ((DimCount){dim, in[i].each}));
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        for (int k = 0; is_shaped(t) && k < t->ndim; k++)
            if (dim_is_named(t->dim[k]) && count_of_dim(counts, dim_sym(t->dim[k])) &&
                !is_cut_along(&in[i], k))
                return false;
    }
    return true;
}

enum { ZERO_MAX = 4096 }; /* elements of a constant that are looked at */

static bool is_zero(const Tensor *t) {
    int64_t n = tensor_size(t);
    if (n > ZERO_MAX || !tensor_is_contiguous(t)) return false;
    for (size_t i = 0; i < (size_t)n * dtype_size(t->dtype); i++)
        if (((const char *)t->data)[i]) return false;
    return n > 0;
}

static Part part_of_leaf(const Graph *g, Var v, const DimCounts *counts) {
    Part p = part_same();
    const Tensor *t = var_const(g, v);
    if (t) p.zero = is_zero(t);
    if (var_leaf(g, v) == LEAF_DIM) {
        p.each = count_of_dim(counts, var_leafrec(g, v)->name);
        p.power = p.each > 0;
    }
    return p;
}

static Part *walk_graph(PartWalk *w, const Graph *g, const Part *in) {
    DimCounts counts = {0};
    Part *p = NEW_N(w->a, g->nvar + 1, Part);
    bool ok = find_counts(g, in, &counts);
    for (Var v = 0; ok && v < g->nvar; v++)
        if (var_leaf(g, v)) p[v] = part_of_leaf(g, v, &counts);
    for (size_t i = 0; ok && i < g->inputs.n; i++)
        p[g->inputs.p[i]] = in[i];
    vec_free(&counts);
    for (ApplyId id = 0; ok && id < g->napply && !w->failed; id++) {
        const Apply *ap = &g->apply[id];
        Part *x = NEW_N(w->a, ap->nin + 1, Part);
        for (size_t i = 0; i < ap->nin; i++)
            x[i] = p[apply_in(g, id)[i]];
        PartCall c = {w, g, id, ap, apply_in(g, id), x, p + ap->out, NULL};
        take_apply(&c);
    }
    return ok && !w->failed ? p : NULL;
}

/* ---- functions ---- */

static bool parts_equal(const Part *a, const Part *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i].kind != b[i].kind || a[i].term != b[i].term ||
            a[i].axis != b[i].axis || a[i].power != b[i].power ||
            a[i].each != b[i].each || a[i].zero != b[i].zero)
            return false;
    return true;
}

enum { FUNCTIONS_DEEP = 64 };

const Part *part_function(PartWalk *w, const Graph *fn, const Part *in) {
    for (size_t i = 0; i < w->memo.n; i++)
        if (w->memo.p[i].fn == fn && parts_equal(w->memo.p[i].in, in, fn->inputs.n))
            return w->memo.p[i].out;
    if (w->depth >= FUNCTIONS_DEEP) return NULL;
    w->depth++;
    const Part *p = walk_graph(w, fn, in);
    w->depth--;
    Part *out = p ? NEW_N(w->a, fn->outputs.n + 1, Part) : NULL;
    for (size_t k = 0; p && k < fn->outputs.n; k++)
        out[k] = p[fn->outputs.p[k].var];
    Part *kept = NEW_N(w->a, fn->inputs.n + 1, Part);
    memcpy(kept, in, fn->inputs.n * sizeof *kept);
    vec_push(w->s, &w->memo, ((PartMemo){fn, kept, out}));
    return out;
}

Part *part_graph(Graph *g, Arena *a, const bool *cut) {
    PartWalk w = {.s = g->s, .a = a};
    Part *in = NEW_N(a, g->inputs.n + 1, Part);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (cut[i]) in[i] = (Part){.kind = PART_ROWS, .each = 1};
    Part *p = walk_graph(&w, g, in);
    if (!p && !w.failed)
        fail(g->s, NOWHERE, E_SHAPE,
             "the dim of the rows is also that of an axis that can't be cut");
    vec_free(&w.memo);
    return p;
}
