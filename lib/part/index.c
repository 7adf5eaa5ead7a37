/* Reading and writing by an index: rows pass where their axis is taken as a whole, or
 * row by row with arange(n) and arrays that have the same rows. */
#include "op/index_text.h"
#include "part/part_impl.h"

/* An index as it meets the axes of a tensor, from left to right. */
typedef struct IndexWalk {
    const PartCall *c;
    size_t first; /* index input 0 */
    int axis;     /* next axis of the tensor */
    int made;     /* axes of the result without those of the arrays */
    int row_axis; /* the tensor's axis of rows, -1: it has none */
    /* the rows in the result: */
    int at;         /* their axis if they come through a slice, else -1 */
    bool by_number; /* through an array of the rows' numbers */
    int right;      /* arrays with rows: their axis from the right; 0: none has */
    int64_t each;
    const char *why; /* it can't be said; NULL: for none of these reasons */
    /* arrays: */
    bool any, open, apart;
    int front, ndim;
} IndexWalk;

static const Part *index_part(const IndexWalk *w, int input) {
    return &w->c->x[w->first + (size_t)input];
}
static const Type *index_type(const IndexWalk *w, int input) {
    return part_type(w->c, w->first + (size_t)input);
}

static const char some_rows[] = "takes some of the rows only, or in another order";

static void pass_axis(IndexWalk *w) {
    if (w->axis++ == w->row_axis) w->at = w->made;
    w->made++;
    w->open = false;
}

static bool take_slice(IndexWalk *w, const IndexItem *it) {
    const int part[3] = {it->start, it->stop, it->step};
    bool whole = true;
    for (int k = 0; k < 3; k++) {
        whole &= part[k] < 0;
        if (part[k] >= 0 && !part_is_same(index_part(w, part[k]))) return false;
    }
    if (w->axis == w->row_axis && !whole) return w->why = some_rows, false;
    pass_axis(w);
    return true;
}

/* Notes where an array has its rows; arrays broadcast. */
static bool take_array_rows(IndexWalk *w, const Part *p, const Type *t) {
    if (part_is_same(p)) return true;
    if (p->kind != PART_ROWS && p->kind != PART_INDEX) return false;
    int right = t->ndim - p->axis;
    int64_t each = p->kind == PART_INDEX ? 1 : p->each;
    if (p->power || (w->right && (w->right != right || w->each != each))) return false;
    w->right = right;
    w->each = each;
    return true;
}

static bool take_array(IndexWalk *w, const Part *p, const Type *t) {
    int axes = t->dtype == DT_BOOL ? t->ndim : 1;
    bool here = w->axis <= w->row_axis && w->row_axis < w->axis + axes;
    if (t->dtype == DT_BOOL && (here || !part_is_same(p)))
        return w->why = "takes as many rows as a mask says, which depends on them",
               false;
    if (!take_array_rows(w, p, t)) return false;
    if (here && p->kind != PART_INDEX) return w->why = some_rows, false;
    if (!here && p->kind == PART_INDEX) return false;
    w->by_number |= here;
    w->axis += axes;
    int ndim = t->dtype == DT_BOOL ? 1 : t->ndim;
    if (ndim > w->ndim) w->ndim = ndim;
    if (w->any && !w->open) w->apart = true;
    if (!w->any) w->front = w->made;
    w->any = w->open = true;
    return true;
}

static int axes_taken(const IndexWalk *w, const IndexItems *items) {
    int n = 0;
    for (int i = 0; i < items->n; i++) {
        const IndexItem *it = &items->item[i];
        if (it->kind == IX_SLICE) n++;
        if (it->kind != IX_INPUT) continue;
        const Type *t = index_type(w, it->input);
        n += t->dtype == DT_BOOL ? t->ndim : 1;
    }
    return n;
}

/* Only the part and the dtype of single integers matter: they count as arrays where
 * there are some. */
static bool walk_index(IndexWalk *w, const IndexItems *items, int ndim) {
    int rest = ndim - axes_taken(w, items);
    bool ok = true;
    for (int i = 0; ok && i < items->n; i++) {
        const IndexItem *it = &items->item[i];
        if (it->kind == IX_SLICE)
            ok = take_slice(w, it);
        else if (it->kind == IX_NEW)
            w->made++, w->open = false;
        else if (it->kind == IX_ELLIPSIS)
            for (w->open = false; rest > 0; rest--)
                pass_axis(w);
        else
            ok = index_type(w, it->input)->kind == TYPE_TENSOR &&
                 take_array(w, index_part(w, it->input), index_type(w, it->input));
    }
    while (ok && w->axis < ndim)
        pass_axis(w);
    return ok;
}

/* Do arrays that are the same for all rows broadcast along those of the others? */
static bool arrays_line_up(const IndexWalk *w, const IndexItems *items) {
    for (int i = 0; w->right && i < items->n; i++) {
        if (items->item[i].kind != IX_INPUT) continue;
        const Type *t = index_type(w, items->item[i].input);
        const Part *p = index_part(w, items->item[i].input);
        if (!part_is_same(p)) continue;
        if (t->dtype == DT_BOOL && t->ndim) return false;
        if (t->ndim >= w->right && t->dim[t->ndim - w->right] != 1) return false;
    }
    return true;
}

static int refuse_index(PartCall *c, const char *why) {
    if (why)
        part_refuse(c, why);
    else
        part_refuse_rows(c);
    return -2;
}

/* The axis of the rows in what the index takes of a tensor with rows along row_axis
 * (-1: without); -1: it has no rows, -2: that can't be said, and is refused. */
static int rows_taken(PartCall *c, size_t first, int row_axis, int64_t *each,
                      int *ndim) {
    IndexWalk w = {.c = c, .first = first, .row_axis = row_axis, .at = -1};
    IndexItems items;
    const char *text = sym_text(c->w->s, part_prop(c, "index")->sym);
    if (!index_parse(text, &items) || !walk_index(&w, &items, part_type(c, 0)->ndim))
        return refuse_index(c, w.why);
    if (!arrays_line_up(&w, &items))
        return refuse_index(c, "pairs rows with an index that isn't split");
    bool arrays = w.ndim > 0;
    int front = w.apart ? 0 : w.front;
    *ndim = w.made + (arrays ? w.ndim : 0);
    if (w.at >= 0) {
        if (w.right)
            return refuse_index(c, "indexes rows by an array with rows of its own");
        return arrays && w.at >= front ? w.at + w.ndim : w.at;
    }
    if (row_axis >= 0 && !w.by_number) return refuse_index(c, some_rows);
    if (w.right && row_axis >= 0 && w.each != *each) return refuse_index(c, NULL);
    if (!w.right) return -1;
    *each = w.each;
    return front + w.ndim - w.right;
}

/* One size of a shape, or those from a number on. */
static bool take_size(PartCall *c) {
    IndexItems items;
    const char *text = sym_text(c->w->s, part_prop(c, "index")->sym);
    if (!index_parse(text, &items) || items.n != 1 || c->ap->nin != 2) return false;
    const Tensor *t = var_const(c->g, c->in[1]);
    const IndexItem *it = &items.item[0];
    if (!t || t->ndim || !dtype_is_integer(t->dtype)) return false;
    int64_t k = tensor_i64(t, 0);
    Dim n = part_type(c, 0)->dim[0];
    if (k < 0 && dim_is_known(n)) k += n;
    if (k < 0) return false;
    if (it->kind == IX_INPUT) {
        Part size = {.power = 1, .each = c->x[0].each};
        part_set(c, k == c->x[0].axis ? size : part_same());
        return true;
    }
    if (it->kind != IX_SLICE || it->start != 0) return false;
    Part rest = c->x[0];
    rest.axis -= (int)k;
    return part_set(c, rest.axis >= 0 ? rest : part_same());
}

bool part_subtensor(PartCall *c) {
    Part p = c->x[0];
    int ndim;
    if (p.kind == PART_SHAPE) {
        return take_size(c) || part_refuse_rows(c);
    }
    if (p.kind == PART_INDEX) return part_refuse_rows(c);
    if (p.kind == PART_TERM) {
        if (!part_same_from(c, 1)) return part_refuse_rows(c);
        return part_set(c, p);
    }
    int at = rows_taken(c, 1, p.kind == PART_ROWS ? p.axis : -1, &p.each, &ndim);
    if (at == -2) return false;
    if (at >= 0) {
        p.kind = PART_ROWS;
        p.axis = at;
    } else {
        p.each = 0;
    }
    return part_set(c, p);
}

/* ---- writing ---- */

/* Has y the rows that the index takes along axis `at` of ndim, or none? */
static bool fits_rows(const PartCall *c, int at, int ndim, int64_t each) {
    const Part *y = &c->x[1];
    const Type *t = part_type(c, 1);
    int right = ndim - at;
    if (y->kind == PART_ROWS) return part_from_right(c, 1) == right && y->each == each;
    return y->kind == PART_SAME && (t->ndim < right || t->dim[t->ndim - right] == 1);
}

static bool same_power(const Part *x, const Part *y) {
    return x->zero || y->zero || x->power == y->power;
}

/* Sums into which others are written at the same places for all rows. */
static bool write_terms(PartCall *c) {
    const Part *x = c->x;
    Part p = {.kind = PART_TERM};
    if ((x[0].kind != PART_TERM && x[1].kind != PART_TERM) || !part_same_from(c, 2))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const Part *other = &x[!i];
        if (x[i].kind == PART_TERM && x[i].term != TERM_SUM) return false;
        if (x[i].kind != PART_TERM && x[i].kind != PART_SAME) return false;
        int power = x[i].power - (x[i].kind == PART_SAME);
        if (x[i].zero) continue;
        p.power = power;
        if (!other->zero && other->power - (other->kind == PART_SAME) != power)
            return false;
    }
    return part_set(c, p);
}

/* set_subtensor and, with `arg`, inc_subtensor. */
bool part_write(PartCall *c) {
    const Part *x = c->x;
    int ndim;
    int64_t each = x[0].each;
    if (write_terms(c)) return true;
    if (x[0].kind != PART_ROWS && x[0].kind != PART_SAME) return part_refuse_rows(c);
    bool rows = x[0].kind == PART_ROWS;
    int at = rows_taken(c, 2, rows ? x[0].axis : -1, &each, &ndim);
    if (at == -2) return false;
    Part p = x[0];
    p.zero = false;
    if (rows) {
        if (at < 0 || !fits_rows(c, at, ndim, each) || !same_power(&x[0], &x[1]))
            return part_refuse_rows(c);
        if (x[0].zero) p.power = x[1].power;
    } else if (at >= 0) {
        /* each row adds to what is there: a sum over the rows */
        if (!c->row->arg) return part_refuse(c, "overwrites elements that rows share");
        if (!x[0].zero || !fits_rows(c, at, ndim, each)) return part_refuse_rows(c);
        p = (Part){.kind = PART_TERM, .power = x[1].power};
    } else {
        if (x[1].kind != PART_SAME || !same_power(&x[0], &x[1]))
            return part_refuse_rows(c);
        if (x[0].zero) p.power = x[1].power;
        p.each = 0;
    }
    return part_set(c, p);
}
