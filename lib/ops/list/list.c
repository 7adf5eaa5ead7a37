/* Lists as values, indexed as in Python. Lists are immutable: an op that "changes" one
 * makes a new list that shares the other items. Items made from tensors are copied,
 * because a tensor's memory is reused. Derivatives don't pass through lists. */
#include "op/build.h"
#include "op/infer.h"
#include "value/object.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- typing ---- */

static const Type *elem_of(const Infer *in) {
    return in->type[0]->elem;
}

static bool out_list(Infer *in, const Type *elem) {
    if (type_depth(elem) >= TYPE_DEPTH_MAX)
        return infer_fail(in, E_LIMIT, in->nin, "lists nest at most %d deep",
                          TYPE_DEPTH_MAX);
    in->out[0] = type_list(in->s, elem);
    return true;
}

static bool want_item(Infer *in, size_t arg, const Type *elem) {
    return type_is_super(elem, in->type[arg]) ||
           infer_fail(in, E_TYPE, arg, "the items of the list are %s, not %s",
                      type_str(in->s, elem), type_str(in->s, in->type[arg]));
}

static bool want_int(Infer *in, size_t arg) {
    const Type *t = in->type[arg];
    return (t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype)) ||
           infer_fail(in, E_TYPE, arg, "expected an integer, not %s",
                      type_str(in->s, t));
}

static bool make_list_type(Infer *in) {
    const char *text = sym_text(in->s, infer_prop(in, "type")->sym);
    const Type *elem = NULL;
    if (*text && !(elem = type_parse(in->s, text, strlen(text), in->at))) return false;
    if (!elem && in->nin == 0)
        return infer_fail(in, E_TYPE, 0, "an empty list needs type='...' of its items");
    for (size_t i = 0; i < in->nin; i++) {
        const Type *t = in->type[i];
        if (t->kind == TYPE_NULL || t->kind == TYPE_DISCONNECTED)
            return infer_fail(in, E_TYPE, i, "%s has no values", type_str(in->s, t));
        if (*text && !want_item(in, i, elem)) return false;
        if (*text) continue;
        const Type *join = elem ? type_join(in->s, elem, t) : t;
        if (!join)
            return infer_fail(in, E_TYPE, i,
                              "the items of a list must have the same kind, dtype and "
                              "rank: %s differs from %s",
                              type_str(in->s, t), type_str(in->s, elem));
        elem = join;
    }
    return out_list(in, elem);
}

static bool list_get_type(Infer *in) {
    const Type *i = in->type[1];
    if (i->kind == TYPE_SLICE) return in->out[0] = in->type[0], true;
    return want_int(in, 1) && (in->out[0] = elem_of(in), true);
}

/* The list, of items like its own and these: a dim's name says nothing of other items.
 */
static bool list_with(Infer *in, const Type *item) {
    in->out[0] = type_join(in->s, in->type[0], type_list(in->s, item));
    return true;
}
static bool list_append_type(Infer *in) {
    return want_item(in, 1, elem_of(in)) && list_with(in, in->type[1]);
}
static bool list_extend_type(Infer *in) {
    return want_item(in, 1, in->type[0]) && list_with(in, in->type[1]->elem);
}
static bool list_insert_type(Infer *in) {
    return want_item(in, 2, elem_of(in)) && list_with(in, in->type[2]);
}
static bool list_count_type(Infer *in) {
    return (in->nin < 2 || want_item(in, 1, elem_of(in))) &&
           infer_out_tensor(in, 0, DT_INT64, 0, NULL);
}

/* ---- running ---- */

static const ListObject *list_in(const Call *c, size_t i) {
    return c->in[i]->obj;
}

/* v as an item, in memory that outlives the call. */
static bool clone_item(Session *s, const Value *v, Value *out) {
    *out = (Value){.kind = v->kind};
    if (v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM)
        return tensor_clone(s, &v->t, &out->t);
    value_copy_view(out, v);
    return true;
}

static Value *new_items(Call *c, size_t n) {
    return mem_zalloc(c->s, n, sizeof(Value));
}

/* Takes ownership of the items; with `ok` false, drops them. */
static bool give_list(Call *c, Value *item, size_t n, bool ok) {
    if (ok) {
        value_unref(&c->out[0]);
        c->out[0] = (Value){.kind = TYPE_LIST, .obj = list_new_take(c->s, n, item)};
    }
    for (size_t i = 0; !ok && i < n; i++)
        value_unref(&item[i]);
    mem_free(item);
    return ok;
}

static bool out_int(Call *c, int64_t v) {
    Tensor *out = call_out(c, 0, 0, NULL);
    if (out) *(int64_t *)out->data = v;
    return out != NULL;
}

static bool make_list_perform(Call *c) {
    Value *item = new_items(c, c->nin);
    size_t n = 0;
    while (n < c->nin && clone_item(c->s, c->in[n], &item[n]))
        n++;
    return give_list(c, item, n, n == c->nin);
}

/* A new list of n items from another, at from, from + step, ... */
static bool pick_items(Call *c, const ListObject *list, int64_t from, int64_t step,
                       size_t n) {
    Value *item = new_items(c, n);
    for (size_t i = 0; i < n; i++, from += step)
        value_copy_view(&item[i], &list->item[from]);
    return give_list(c, item, n, true);
}

static bool list_get_perform(Call *c) {
    const ListObject *list = list_in(c, 0);
    int64_t n = (int64_t)list->n, i;
    if (c->in[1]->kind == TYPE_SLICE) {
        int64_t part[3];
        if (!slice_resolve(c->in[1]->obj, n, part))
            return call_fail(c, E_INDEX, "the step of a slice can't be 0");
        return pick_items(c, list, part[0], part[2],
                          (size_t)slice_count(part[0], part[1], part[2]));
    }
    i = tensor_index(call_in(c, 1), 0);
    if (i < -n || i >= n)
        return call_fail(c, E_INDEX,
                         "index %lld is out of range for a list of length %lld",
                         (long long)i, (long long)n);
    value_unref(&c->out[0]);
    value_copy_view(&c->out[0], &list->item[i < 0 ? i + n : i]);
    return true;
}

/* A new list with copies of `more` inserted before item `at`. */
static bool put_items_in(Call *c, int64_t at, size_t nmore, const Value *const *more) {
    const ListObject *list = list_in(c, 0);
    size_t n = list->n + nmore, k = 0;
    Value *item = new_items(c, n);
    bool ok = true;
    for (size_t i = 0; i < (size_t)at; i++)
        value_copy_view(&item[k++], &list->item[i]);
    for (size_t i = 0; ok && i < nmore; i++) {
        ok = clone_item(c->s, more[i], &item[k]);
        k += ok;
    }
    for (size_t i = (size_t)at; ok && i < list->n; i++)
        value_copy_view(&item[k++], &list->item[i]);
    return give_list(c, item, k, ok);
}

static bool list_append_perform(Call *c) {
    return put_items_in(c, (int64_t)list_in(c, 0)->n, 1, &c->in[1]);
}

static bool list_extend_perform(Call *c) {
    const ListObject *more = list_in(c, 1);
    const Value **v = mem_alloc(c->s, (more->n + 1) * sizeof *v);
    for (size_t i = 0; i < more->n; i++)
        v[i] = &more->item[i];
    bool ok = put_items_in(c, (int64_t)list_in(c, 0)->n, more->n, v);
    mem_free((void *)v);
    return ok;
}

static bool list_insert_perform(Call *c) {
    int64_t n = (int64_t)list_in(c, 0)->n, i = tensor_index(call_in(c, 1), 0);
    if (i < 0) i += n;
    return put_items_in(c, i < 0 ? 0 : i > n ? n : i, 1, &c->in[2]);
}

static int64_t find_item(const Call *c) {
    const ListObject *list = list_in(c, 0);
    for (size_t i = 0; i < list->n; i++)
        if (value_equal(&list->item[i], c->in[1])) return (int64_t)i;
    return -1;
}

static bool fail_item_missing(Call *c) {
    return call_fail(c, E_INDEX, "no item of the list equals it");
}

static bool list_remove_perform(Call *c) {
    const ListObject *list = list_in(c, 0);
    int64_t at = find_item(c);
    if (at < 0) return fail_item_missing(c);
    Value *item = new_items(c, list->n - 1);
    for (size_t i = 0, k = 0; i < list->n; i++)
        if ((int64_t)i != at) value_copy_view(&item[k++], &list->item[i]);
    return give_list(c, item, list->n - 1, true);
}

static bool list_reverse_perform(Call *c) {
    const ListObject *list = list_in(c, 0);
    return pick_items(c, list, (int64_t)list->n - 1, -1, list->n);
}

static bool list_index_perform(Call *c) {
    int64_t at = find_item(c);
    return at < 0 ? fail_item_missing(c) : out_int(c, at);
}

static bool list_count_perform(Call *c) {
    const ListObject *list = list_in(c, 0);
    int64_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += value_equal(&list->item[i], c->in[1]);
    return out_int(c, n);
}

static bool list_length_perform(Call *c) {
    return out_int(c, (int64_t)list_in(c, 0)->n);
}

/* ---- rows ---- */

#define WHY         "derivatives do not pass through lists: use the items themselves"
#define NO_GRADIENT "undefined('" WHY "')"
static bool list_undefined_push(Push *p) {
    p->result[0] = grad_undefined(p->b, WHY);
    return p->result[0] != VAR_NONE;
}

static const char *const one[] = {NO_GRADIENT};
static const char *const two[] = {NO_GRADIENT, NO_GRADIENT};
static const char *const with_index[] = {NO_GRADIENT, "disconnected"};
static const char *const inserting[] = {NO_GRADIENT, "disconnected", NO_GRADIENT};
static const char *const nothing[] = {"disconnected", "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("make_list"),
     .doc = "The items as one list value. They have the same kind, dtype and rank; "
            "type= declares more or less of their shape, and is required if there are "
            "no items. A list in brackets does the same where an op takes a list.",
     .in = "*items: item",
     .props = "type: str = ''",
     .type = make_list_type,
     .perform = make_list_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = one,
     .push = list_undefined_push,
     .constant = true,
     .example = "list_get(make_list([1., 2.], [3.]), 0) -> [1.0, 2.0]"},
    {.name = OP_ROW("list_get"),
     .doc = "Item i of the list x; a negative i counts from the end. With a slice, the "
            "list of those items. x[i] is the same.",
     .in = "x: list, i: any",
     .type = list_get_type,
     .perform = list_get_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = with_index,
     .push = list_undefined_push,
     .disconnected = "i",
     .view = 1,
     .example =
         "list_get(make_list(1, 2, 3), -1) -> 3\n"
         "list_get(list_get(make_list(1, 2, 3), slice(None, None, -1)), 0) -> 3"},
    {.name = OP_ROW("list_append"),
     .doc = "The list x with the value y at its end.",
     .in = "x: list, y: item",
     .type = list_append_type,
     .perform = list_append_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = two,
     .push = list_undefined_push,
     .view = 1,
     .example = "list_get(list_append(make_list(1, 2), 5), 2) -> 5"},
    {.name = OP_ROW("list_extend"),
     .doc = "The items of the list x, then those of the list y.",
     .in = "x: list, y: list",
     .type = list_extend_type,
     .perform = list_extend_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = two,
     .push = list_undefined_push,
     .view = 1,
     .example = "list_length(list_extend(make_list(1, 2), make_list(3))) -> 3"},
    {.name = OP_ROW("list_insert"),
     .doc = "The list x with the value y inserted before item i. An i beyond an end "
            "means that end.",
     .in = "x: list, i: int, y: item",
     .type = list_insert_type,
     .perform = list_insert_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = inserting,
     .push = list_undefined_push,
     .disconnected = "i",
     .view = 1,
     .example = "list_get(list_insert(make_list(1, 2), 1, 5), 1) -> 5"},
    {.name = OP_ROW("list_remove"),
     .doc =
         "The list x without its first item that equals y; an error if there is none.",
     .in = "x: list, y: item",
     .type = list_append_type,
     .perform = list_remove_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = with_index,
     .push = list_undefined_push,
     .disconnected = "y",
     .view = 1,
     .example = "list_get(list_remove(make_list(1, 2, 3), 1), 0) -> 2"},
    {.name = OP_ROW("list_reverse"),
     .doc = "The list x backwards.",
     .in = "x: list",
     .type = infer_same_type,
     .perform = list_reverse_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = one,
     .push = list_undefined_push,
     .view = 1,
     .example = "list_get(list_reverse(make_list(1, 2, 3)), 0) -> 3"},
    {.name = OP_ROW("list_index"),
     .doc = "The index of the first item of the list x that equals y; an error if "
            "there is none.",
     .in = "x: list, y: item",
     .type = list_count_type,
     .perform = list_index_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "x, y",
     .example = "list_index(make_list([1, 2], [3]), [3]) -> 1"},
    {.name = OP_ROW("list_count"),
     .doc = "How many items of the list x equal y.",
     .in = "x: list, y: item",
     .type = list_count_type,
     .perform = list_count_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "x, y",
     .example = "list_count(make_list(1, 2, 1), 1) -> 2"},
    {.name = OP_ROW("list_length"),
     .doc = "The number of items of the list x.",
     .in = "x: list",
     .type = list_count_type,
     .perform = list_length_perform,
     .vmap = vmap_lists,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "x",
     .example = "list_length(make_list(1, 2, 1)) -> 3"},
};
const OpList ops_list_list = LIST_OF(table);
