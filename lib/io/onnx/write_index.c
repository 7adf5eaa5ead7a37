/* x[index] as Slice, Gather and GatherND. */
#include "io/onnx/write_impl.h"

typedef enum ItemKind { ITEM_SLICE, ITEM_NEW, ITEM_INT, ITEM_ARRAY } ItemKind;
typedef struct Item {
    ItemKind kind;
    Var bound[3]; /* slice: start, stop, step; VAR_NONE: left out */
    Var at;       /* integer or array */
} Item;
/* An index with an item for each axis of x, and for each new one. */
typedef struct IndexText {
    OnnxWriting *w;
    Builder *b;
    Var x;
    int ndim, n;
    Item item[2 * MAX_NDIM];
    const Node *at; /* the inputs that are left */
    size_t nat;
} IndexText;

/* ---- reading the prop `index` ---- */

static bool next_input(IndexText *q, Var *v) {
    if (q->nat == 0) return fail(q->w->s, NOWHERE, E_ARG, "an index without its input");
    *v = q->at->var;
    q->at++;
    q->nat--;
    return true;
}

static int count_consumed(const IndexText *q) {
    int n = 0;
    for (int i = 0; i < q->n; i++)
        n += q->item[i].kind != ITEM_NEW;
    return n;
}

static Item whole_axis(void) {
    return (Item){ITEM_SLICE, {VAR_NONE, VAR_NONE, VAR_NONE}, VAR_NONE};
}

static bool add_slice(IndexText *q, const char *p, size_t n) {
    Item *it = &q->item[q->n++];
    int part = 0;
    *it = whole_axis();
    for (size_t i = 0; i < n; i++) {
        if (p[i] == ':') part++;
        if (p[i] == '$' && !next_input(q, &it->bound[part])) return false;
    }
    return true;
}

/* A mask stands for the positions of what is true in it, axis by axis. */
static bool add_mask(IndexText *q, Var mask) {
    int n = var_type(q->b->g, mask)->ndim;
    Var places = op_call1(q->b, "nonzero", mask);
    for (int k = 0; k < n; k++) {
        PropArg arg = {"index", PROP_STR(sym(q->b->s, "$"))};
        Var in[2] = {places, const_int(q->b, k)};
        Var row = places == VAR_NONE ? VAR_NONE
                                     : apply_named(q->b, "subtensor", 2, in, 1, &arg);
        if (row == VAR_NONE) return false;
        q->item[q->n++] = (Item){.kind = ITEM_ARRAY, .at = row};
    }
    return true;
}

static bool add_input(IndexText *q) {
    Var v = VAR_NONE;
    if (!next_input(q, &v)) return false;
    const Type *t = var_type(q->b->g, v);
    if (t->kind != TYPE_TENSOR)
        return fail(q->w->s, NOWHERE, E_TYPE, "ONNX has no index of type %s",
                    type_str(q->w->s, t));
    if (t->dtype == DT_BOOL) return add_mask(q, v);
    if ((v = op_cast_to_index(q->b, v)) == VAR_NONE) return false;
    q->item[q->n++] = (Item){.kind = t->ndim ? ITEM_ARRAY : ITEM_INT, .at = v};
    return true;
}

/* What follows decides how many axes an ellipsis stands for. */
static bool add_items(IndexText *q, const char *text) {
    int gap = -1;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        bool ok = q->n < 2 * MAX_NDIM;
        if (memchr(p, ':', n))
            ok = ok && add_slice(q, p, n);
        else if (*p == 'N')
            q->item[q->n++] = (Item){.kind = ITEM_NEW};
        else if (*p == '.')
            gap = q->n;
        else
            ok = ok && add_input(q);
        if (!ok) return false;
        p += n + strspn(p + n, ", ");
    }
    int more = q->ndim - count_consumed(q);
    if (gap < 0) gap = q->n;
    for (int i = q->n - 1; i >= gap && more > 0; i--)
        q->item[i + more] = q->item[i];
    for (int i = 0; i < more; i++, q->n++)
        q->item[gap + i] = whole_axis();
    return true;
}

/* ---- slices ---- */

static bool is_whole(const Item *it) {
    return it->bound[0] == VAR_NONE && it->bound[1] == VAR_NONE &&
           it->bound[2] == VAR_NONE;
}

static bool steps_back(const IndexText *q, const Item *it, bool *back) {
    const Tensor *t =
        it->bound[2] == VAR_NONE ? NULL : var_const(q->b->g, it->bound[2]);
    *back = t && tensor_i64(t, 0) < 0;
    bool open = it->bound[0] == VAR_NONE || it->bound[1] == VAR_NONE;
    return t || it->bound[2] == VAR_NONE || !open ||
           fail(q->w->s, NOWHERE, E_ARG,
                "ONNX has no open slice whose step is known only in a run");
}

static OutName *write_bounds(IndexText *q, size_t n, Var *v) {
    for (size_t i = 0; i < n; i++)
        if ((v[i] = op_cast_to_index(q->b, v[i])) == VAR_NONE) return NULL;
    Var all = ints_stack(q->b, n, v);
    return all == VAR_NONE ? NULL : onnx_write_var(q->w, all);
}

static bool write_slices(IndexText *q, OutName **x) {
    Var bound[3][MAX_NDIM];
    int64_t axis[MAX_NDIM];
    size_t n = 0;
    for (int i = 0, k = 0; i < q->n; k += q->item[i++].kind != ITEM_NEW) {
        Item *it = &q->item[i];
        bool back;
        if (it->kind != ITEM_SLICE || is_whole(it)) continue;
        if (!steps_back(q, it, &back)) return false;
        int64_t otherwise[3] = {back ? INT64_MAX : 0, back ? INT64_MIN : INT64_MAX, 1};
        for (int j = 0; j < 3; j++)
            bound[j][n] =
                it->bound[j] == VAR_NONE ? const_int(q->b, otherwise[j]) : it->bound[j];
        axis[n++] = k;
    }
    if (n == 0) return true;
    OutName *in[5] = {*x, NULL, NULL, out_ints(q->w, 1, n, axis), NULL};
    if (!(in[1] = write_bounds(q, n, bound[0])) ||
        !(in[2] = write_bounds(q, n, bound[1])) ||
        !(in[4] = write_bounds(q, n, bound[2])))
        return false;
    *x = out_call(q->w, "Slice", 5, in);
    return true;
}

static OutName *write_gather(OnnxWriting *w, OutName *x, OutName *at, int axis) {
    OutNode *n = out_node(w, "Gather", 2, 1);
    n->in[0] = x;
    n->in[1] = at;
    if (axis) out_attribute_int(n, "axis", axis);
    out_append(w, n);
    return n->out[0];
}

static OutName *write_unsqueeze(OnnxWriting *w, OutName *x, size_t n,
                                const int64_t *axis) {
    if (n == 0) return x;
    return out_call(w, "Unsqueeze", 2, (OutName *[]){x, out_ints(w, 1, n, axis)});
}

/* Integers from the last axis on, so that the axes before keep their numbers; an array
 * if it is the only one. */
static bool write_gathers(IndexText *q, OutName **x) {
    for (int i = q->n, k = q->ndim; i-- > 0;) {
        Item *it = &q->item[i];
        k -= it->kind != ITEM_NEW;
        if (it->kind != ITEM_INT && it->kind != ITEM_ARRAY) continue;
        OutName *at = onnx_write_var(q->w, it->at);
        if (!at) return false;
        *x = write_gather(q->w, *x, at, k);
    }
    return true;
}

static OutName *write_new_axes(IndexText *q, OutName *x) {
    int64_t axis[2 * MAX_NDIM], at = 0;
    size_t n = 0;
    for (int i = 0; i < q->n; i++) {
        const Item *it = &q->item[i];
        if (it->kind == ITEM_NEW) axis[n++] = at;
        at += it->kind == ITEM_INT     ? 0
              : it->kind == ITEM_ARRAY ? var_type(q->b->g, it->at)->ndim
                                       : 1;
    }
    return write_unsqueeze(q->w, x, n, axis);
}

/* ---- several arrays ---- */

static OutName *write_transpose(OnnxWriting *w, OutName *x, int n,
                                const int64_t *perm) {
    bool same = true;
    for (int i = 0; i < n; i++)
        same &= perm[i] == i;
    if (same) return x;
    OutNode *node = out_node(w, "Transpose", 1, 1);
    node->in[0] = x;
    out_attribute_ints(node, "perm", (size_t)n, perm);
    out_append(w, node);
    return node->out[0];
}

static bool is_place(const Item *it) {
    return it->kind == ITEM_INT || it->kind == ITEM_ARRAY;
}

/* The arrays, of one shape together, as the last axis of one. */
static Var stack_places(IndexText *q, int *ndim) {
    Var at[MAX_NDIM], none = VAR_NONE;
    size_t n = 0;
    for (int i = 0; i < q->n; i++)
        if (is_place(&q->item[i])) at[n++] = q->item[i].at;
    for (size_t i = 0; i < n; i++) {
        Var zero = op_call2(q->b, "multiply", at[i], const_int(q->b, 0));
        none = none == VAR_NONE || zero == VAR_NONE ? zero
                                                    : op_call2(q->b, "add", none, zero);
        if (none == VAR_NONE) return VAR_NONE;
    }
    for (size_t i = 0; i < n; i++)
        if ((at[i] = op_call2(q->b, "add", at[i], none)) == VAR_NONE) return VAR_NONE;
    *ndim = var_type(q->b->g, none)->ndim;
    PropArg axis = {"axis", PROP_INT(*ndim)};
    return apply_named(q->b, "stack", n, at, 1, &axis);
}

/* Are the arrays next to each other? Then their axes stay where they are. */
static bool is_one_block(const IndexText *q) {
    int runs = 0;
    for (int i = 0; i < q->n; i++)
        runs += is_place(&q->item[i]) && (i == 0 || !is_place(&q->item[i - 1]));
    return runs == 1;
}

/* Does each of n arrays lie along an axis of its own, as in x[i[:, None], j]? */
static bool is_mesh(const IndexText *q, int n) {
    if (!is_one_block(q)) return false;
    for (int i = 0; i < q->n; i++) {
        if (!is_place(&q->item[i])) continue;
        const Type *t = var_type(q->b->g, q->item[i].at);
        if (t->ndim != n--) return false;
        for (int k = 1; k < t->ndim; k++)
            if (t->dim[k] != 1) return false;
    }
    return true;
}

/* These can be read one after the other. */
static bool split_mesh(IndexText *q) {
    for (int i = 0; i < q->n; i++) {
        Item *it = &q->item[i];
        if (is_place(it) && var_type(q->b->g, it->at)->ndim > 1 &&
            (it->at = op_call1(q->b, "ravel", it->at)) == VAR_NONE)
            return false;
    }
    return true;
}

static OutName *write_block(IndexText *q, OutName *x) {
    int64_t perm[MAX_NDIM], back[2 * MAX_NDIM], axis[2 * MAX_NDIM];
    int block, places = 0, n = 0, k = 0, before = 0, total = 0;
    size_t fresh = 0;
    bool one = is_one_block(q), seen = false;
    for (int pass = 0; pass < 2; pass++, k = 0)
        for (int i = 0; i < q->n; k += q->item[i++].kind != ITEM_NEW)
            if (q->item[i].kind != ITEM_NEW && is_place(&q->item[i]) == !pass)
                perm[n++] = k;
    Var at = stack_places(q, &block);
    OutName *in[2] = {write_transpose(q->w, x, q->ndim, perm),
                      at == VAR_NONE ? NULL : onnx_write_var(q->w, at)};
    if (!in[1]) return NULL;
    OutName *r = out_call(q->w, "GatherND", 2, in);
    for (int i = 0; i < q->n; i++) {
        places += is_place(&q->item[i]);
        before += one && places == 0 && q->item[i].kind == ITEM_SLICE;
    }
    /* axes of the result: those before, the block, the others */
    int rest = q->ndim - places;
    for (int i = 0; i < before; i++)
        back[total++] = block + i;
    for (int i = 0; i < block; i++)
        back[total++] = i;
    for (int i = before; i < rest; i++)
        back[total++] = block + i;
    r = write_transpose(q->w, r, total, back);
    int64_t to = one ? 0 : block;
    for (int i = 0; i < q->n; i++) {
        const Item *it = &q->item[i];
        if (it->kind == ITEM_NEW) axis[fresh++] = to;
        if (is_place(it) && one && !seen) to += block, seen = true;
        to += it->kind == ITEM_NEW || it->kind == ITEM_SLICE;
    }
    return write_unsqueeze(q->w, r, fresh, axis);
}

/* at(x, index, inputs): x[index] */
bool onnx_write_index(OnnxWriting *w, const Arguments *a, Node *out) {
    OutFrame *f = w->frame;
    IndexText q = {.w = w, .b = &f->b, .x = a->arg[0].var, .at = a->arg[2].item};
    int places = 0, arrays = 0;
    q.ndim = var_type(f->g, q.x)->ndim;
    q.nat = a->arg[2].n;
    OutName *x = onnx_write_var(w, q.x);
    if (!x || !add_items(&q, sym_text(w->s, a->arg[1].sym)) || !write_slices(&q, &x))
        return false;
    for (int i = 0; i < q.n; i++) {
        places += is_place(&q.item[i]);
        arrays += q.item[i].kind == ITEM_ARRAY;
    }
    bool mesh = arrays > 1 && arrays == places && is_mesh(&q, arrays);
    if (mesh && !split_mesh(&q)) return false;
    if (arrays == 0 || places == 1 || mesh) {
        if (!write_gathers(&q, &x)) return false;
        x = write_new_axes(&q, x);
    } else if (!(x = write_block(&q, x))) {
        return false;
    }
    return *out = onnx_value_node(x), true;
}
