/* Slices as values: built from integers and None, and resolved for a given length. */
#include "op/infer.h"
#include "value/object.h"

static bool part_type(Infer *in, size_t i) {
    const Type *t = in->type[i];
    return t->kind == TYPE_NONE ||
           (t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype)) ||
           infer_fail(in, E_TYPE, i,
                      "the parts of a slice must be integers or None, not %s",
                      type_str(in->s, t));
}

static bool make_slice_type(Infer *in) {
    for (size_t i = 0; i < in->nin; i++)
        if (!part_type(in, i)) return false;
    in->out[0] = type_simple(in->s, TYPE_SLICE);
    return true;
}

static bool make_slice_perform(Call *c) {
    bool has[3] = {false, false, false};
    int64_t part[3] = {0, 0, 0};
    for (size_t i = 0; i < c->nin; i++) {
        has[i] = c->in[i]->kind == TYPE_TENSOR;
        if (!has[i]) continue;
        part[i] = tensor_index(call_in(c, i), 0);
    }
    value_unref(&c->out[0]);
    c->out[0] = (Value){.kind = TYPE_SLICE, .obj = slice_new(c->s, has, part)};
    return true;
}

static bool slice_indices_type(Infer *in) {
    if (in->type[0]->kind != TYPE_SLICE)
        return infer_fail(in, E_TYPE, 0, "expected a slice, not %s",
                          type_str(in->s, in->type[0]));
    for (size_t i = 0; i < 3; i++)
        infer_out_tensor(in, i, DT_INT64, 0, NULL);
    return true;
}

static bool slice_indices_perform(Call *c) {
    int64_t part[3], n = tensor_i64(call_in(c, 1), 0);
    if (n < 0) return call_fail(c, E_INDEX, "the length is %lld", (long long)n);
    if (!slice_resolve(c->in[0]->obj, n, part))
        return call_fail(c, E_INDEX, "the step of a slice can't be 0");
    if (part[1] < 0) part[1] = -n - 1; /* as an index, -1 would mean the last */
    for (size_t i = 0; i < 3; i++) {
        Tensor *out = call_out(c, i, 0, NULL);
        if (!out) return false;
        *(int64_t *)out->data = part[i];
    }
    return true;
}

static const char *const nothing[] = {"disconnected", "disconnected", "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("make_slice"),
     .doc = "The slice start:stop:step as a value; each part is an integer or None.",
     .alias = "slice",
     .in = "start: any, stop: any, step?: any",
     .type = make_slice_type,
     .perform = make_slice_perform,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "start, stop, step",
     .constant = true,
     .example = "list_length(list_get(make_list(1, 2, 3), slice(1, None))) -> 2"},
    {.name = OP_ROW("slice_indices"),
     .internal = true,
     .doc =
         "Start, stop and step of a slice of an axis of n elements, as integers that "
         "mean the same in x[start:stop:step].",
     .in = "s: any, n: int",
     .out = "start, stop, step",
     .type = slice_indices_type,
     .perform = slice_indices_perform,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "s, n",
     .example = "slice_indices(slice(None, None, 2), 5)[1] -> 5"},
};
const OpList ops_list_slice = LIST_OF(table);
