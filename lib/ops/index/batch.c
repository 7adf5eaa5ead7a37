/* vmap of indexing. If only the tensor has rows, a leading full slice is enough. If
 * index arrays have rows too, or are separated by slices, the row numbers 0, 1, ...
 * become an index array in front; the dims of all arrays then come first in the result,
 * after the dim of rows. */
#include "ops/index/index.h"
#include "ops/shape/linear.h"

#include <string.h>

/* The properties of one row's index. */
typedef struct RowIndex {
    IndexItems items;
    const char *text;
    size_t first;    /* index of the first index input */
    bool index_rows; /* some index input has rows */
    bool arrays;     /* of a row's index: integers count as arrays */
    bool apart;      /* with integers counted as arrays, they are not adjacent */
    int front;       /* dims of the result before the arrays' dims */
    int adv;         /* dims of the arrays' common shape */
    int rest;        /* other dims of the result, before and after */
} RowIndex;

static const Type *index_type(const Vmap *q, const RowIndex *r, const IndexItem *it) {
    return var_type(q->g, q->was[r->first + (size_t)it->input]);
}

static bool type_is_mask(const Type *t) {
    return t->dtype == DT_BOOL;
}

/* False where no rule applies: masks, and slices that differ between rows. */
static bool read_inputs(const Vmap *q, RowIndex *r, int *used) {
    for (int i = 0; i < r->items.n; i++) {
        const IndexItem *it = &r->items.item[i];
        if (it->kind == IX_SLICE) {
            int part[3] = {it->start, it->stop, it->step};
            for (int k = 0; k < 3; k++)
                if (part[k] >= 0 && q->rows[r->first + (size_t)part[k]]) return false;
            ++*used;
        }
        if (it->kind != IX_INPUT) continue;
        const Type *t = index_type(q, r, it);
        bool rows = q->rows[r->first + (size_t)it->input];
        if (rows && type_is_mask(t)) return false;
        int n = type_is_mask(t) ? 1 : t->ndim;
        if (n > r->adv) r->adv = n;
        r->arrays |= type_is_mask(t) || t->ndim > 0;
        r->index_rows |= rows;
        *used += type_is_mask(t) ? t->ndim : 1;
    }
    return true;
}

static bool read_row_index(const Vmap *q, size_t first, RowIndex *r) {
    const Prop *text = op_prop(q->b->s, q->op, q->props, "index");
    *r = (RowIndex){.text = sym_text(q->b->s, text->sym), .first = first};
    int used = 0, spare, ndim = vmap_ndim(q, 0);
    bool open = false, any = false;
    if (!index_parse(r->text, &r->items) || !read_inputs(q, r, &used)) return false;
    spare = ndim - used;
    for (int i = 0; i < r->items.n; i++) {
        const IndexItem *it = &r->items.item[i];
        if (it->kind == IX_INPUT) {
            if (!any) r->front = r->rest;
            r->apart |= any && !open;
            any = open = true;
            continue;
        }
        open = false;
        r->rest += it->kind == IX_ELLIPSIS ? spare : 1;
        if (it->kind == IX_ELLIPSIS) spare = 0;
    }
    r->rest += spare;
    return true;
}

/* Do the dims of all arrays come first, even if those of a row alone don't? */
static bool rows_by_number(const RowIndex *r) {
    return r->index_rows || (r->arrays && r->apart);
}

/* The row numbers, with dims of 1 for the arrays' dims. */
static Var row_numbers(Vmap *q, const RowIndex *r) {
    return op_insert_axes(q->b, op_call1(q->b, "arange", q->size), 1, r->adv);
}

/* Applies the op to n leading inputs and the transformed index inputs; `item`, unless
 * NULL, is put in front of the index text. */
static Var apply_row_index(Vmap *q, const RowIndex *r, size_t n, const Var *lead,
                           const char *item) {
    Builder *b = q->b;
    bool count = item && *item == '$';
    size_t nin = n + count + q->nin - r->first, at = 0;
    Var *in = mem_alloc(b->s, nin * sizeof *in);
    for (size_t i = 0; i < n; i++)
        in[at++] = lead[i];
    if (count) in[at++] = row_numbers(q, r);
    for (size_t i = r->first; i < q->nin; i++)
        in[at++] = vmap_pad_rank(q, i, r->adv);
    Str text = STR(b->s);
    str_puts(&text, item ? item : "");
    if (item && *r->text) str_puts(&text, ", ");
    str_puts(&text, r->text);
    Prop index = PROP_STR(sym(b->s, str_text(&text)));
    str_free(&text);
    Var v = op_apply1(b, q->op, vmap_replace_prop(q, "index", index), nin, in);
    mem_free(in);
    return v;
}

/* Moves the n dims of x starting at `from` to position `to`. */
static Var move_dims(Builder *b, Var x, int from, int n, int to) {
    int64_t source[MAX_NDIM], place[MAX_NDIM];
    if (x == VAR_NONE || n == 0 || from == to) return x;
    for (int i = 0; i < n; i++) {
        source[i] = from + i;
        place[i] = to + i;
    }
    PropArg arg[2] = {{"source", PROP_INTS(source, (size_t)n)},
                      {"destination", PROP_INTS(place, (size_t)n)}};
    return apply_named(b, "moveaxis", 1, &x, 2, arg);
}

bool index_subtensor_vmap(Vmap *q) {
    RowIndex r;
    Var v;
    if (!read_row_index(q, 1, &r)) return vmap_by_scan(q);
    int front = r.apart ? 0 : r.front;
    if (!q->rows[0])
        v = move_dims(q->b, apply_row_index(q, &r, 1, q->in, NULL), front, 1, 0);
    else if (rows_by_number(&r))
        v = move_dims(q->b, apply_row_index(q, &r, 1, q->in, "$"), 1, front ? r.adv : 0,
                      1 + front);
    else
        v = apply_row_index(q, &r, 1, q->in, ":");
    return (q->out[0] = v) != VAR_NONE;
}

/* y expanded to a target with the dims of rows, of arrays, and the rest. */
static Var expand_y_dims(Vmap *q, const RowIndex *r) {
    int n = r->adv + r->rest, front = r->apart ? 0 : r->front;
    Var y = vmap_pad_rank(q, 1, n);
    if (!rows_by_number(r) || front == 0 || r->adv == 0) return y;
    int have = vmap_ndim(q, 1);
    if (!q->rows[1]) y = op_insert_axes(q->b, y, 0, n - have + 1);
    return move_dims(q->b, y, 1 + front, r->adv, 1);
}

bool index_inc_vmap(Vmap *q) {
    RowIndex r;
    if (!read_row_index(q, 2, &r)) return vmap_by_scan(q);
    Var lead[2] = {vmap_with_rows(q, 0), expand_y_dims(q, &r)};
    Var v = apply_row_index(q, &r, 2, lead, rows_by_number(&r) ? "$" : ":");
    return (q->out[0] = v) != VAR_NONE;
}
