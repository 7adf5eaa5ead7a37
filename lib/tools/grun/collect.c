/* Results of several calls, put together: of all calls that walk through data without
 * updates, else of those that --every reports. Rows of a batch follow each other along
 * the leading axis; anything else gets a new leading axis, one entry for each call. */
#include "tools/grun/grun_impl.h"
#include "value/class.h"
#include "value/object.h"

#include <string.h>

/* Does the output's leading axis hold the rows of a batch? An axis that the types don't
 * know does, too. */
static bool has_batch_axis(const GraphRun *r, size_t output) {
    const Type *t = var_type(r->g, r->g->outputs.p[output].var);
    if (!r->spec->series.batch || t->ndim == 0) return false;
    if (!dim_is_known(t->dim[0]) && !dim_is_named(t->dim[0])) return true;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        const Type *in = var_type(r->g, r->g->inputs.p[i]);
        if (r->feed[i].each && in->ndim && in->dim[0] == t->dim[0]) return true;
    }
    return false;
}

/* Makes room for n more rows of t's shape. */
static bool make_room(GraphRun *r, size_t output, const Tensor *t, int64_t n) {
    Collected *c = &r->collected[output];
    Tensor old = c->all, *new = &c->all;
    bool batch = c->along_batch;
    int64_t shape[MAX_NDIM + 1];
    if (old.data && c->rows + n <= old.shape[0]) return true;
    const char *label = sym_text(r->s, r->g->outputs.p[output].label);
    if (!type_ndim_fits(r->s, NOWHERE, label, t->ndim + !batch)) return false;
    memcpy(shape + !batch, t->shape, (size_t)t->ndim * sizeof *shape);
    bool fits = i64_mul(old.data                        ? 2
                        : r->collect && !r->spec->until ? r->calls
                                                        : 1,
                        old.data ? c->rows : n, &shape[0]);
    if (!fits || shape[0] < c->rows + n) shape[0] = c->rows + n;
    *new = (Tensor){0};
    if (!tensor_new(r->s, t->dtype, t->ndim + !batch, shape, new))
        return *new = old, false;
    if (!old.data) return true;
    Tensor part = *new;
    part.shape[0] = old.shape[0] = c->rows;
    tensor_assign(&part, &old);
    tensor_unref(&old);
    return true;
}

static bool collect_array(GraphRun *r, size_t output, const Tensor *t) {
    Collected *c = &r->collected[output];
    if (!c->all.data) c->along_batch = has_batch_axis(r, output);
    int lead = !c->along_batch;
    int64_t n = lead ? 1 : t->shape[0];
    bool fits = !c->all.data || c->all.ndim == t->ndim + lead;
    for (int k = 1; fits && c->all.data && k < c->all.ndim; k++)
        fits = c->all.shape[k] == t->shape[k - lead];
    if (!fits) {
        fail(r->s, NOWHERE, E_RUN_SHAPE,
             "%s changes its shape from call to call and can't be appended",
             sym_text(r->s, r->g->outputs.p[output].label));
        return note(r->s, NOWHERE,
                    r->collect ? "--every 1, without -r for it, prints each call's"
                               : "leave -r out for it to print each call's");
    }
    if (!make_room(r, output, t, n)) return false;
    Tensor part = c->all;
    part.data = (char *)part.data + c->rows * part.stride[0];
    part.shape[0] = n;
    tensor_assign(&part, t);
    c->rows += n;
    return true;
}

static bool collect_output(GraphRun *r, size_t output) {
    Collected *c = &r->collected[output];
    const Value *v = vm_output(r->m, output);
    c->any = true;
    if (v->kind == TYPE_TENSOR) return collect_array(r, output, &v->t);
    if (grun_goes_to_file(r, output))
        return fail(r->s, NOWHERE, E_USAGE,
                    "only arrays can be appended, but %s is not one",
                    sym_text(r->s, r->g->outputs.p[output].label));
    vec_push(r->s, &c->item, ((Value){0}));
    value_copy_view(&c->item.p[c->item.n - 1], v);
    return true;
}

bool grun_collect_results(GraphRun *r) {
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        if (r->spec->until && i == r->spec->until_output) continue;
        if ((r->collect || grun_goes_to_file(r, i)) && !collect_output(r, i))
            return false;
    }
    return true;
}

const Value *grun_collected(GraphRun *r, size_t output) {
    Collected *c = &r->collected[output];
    if (!c->any) return vm_output(r->m, output);
    if (c->all.data) {
        c->value = (Value){.kind = TYPE_TENSOR, .t = c->all};
        c->value.t.shape[0] = c->rows;
    } else if (c->item.n) {
        c->value = (Value){.kind = TYPE_LIST,
                           .obj = list_new_take(r->s, c->item.n, c->item.p)};
        c->item.n = 0;
    }
    return &c->value;
}

const Value *grun_result(GraphRun *r, size_t output) {
    return r->collect ? grun_collected(r, output) : vm_output(r->m, output);
}

void grun_free_collected(GraphRun *r) {
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        Collected *c = &r->collected[i];
        if (c->value.kind == TYPE_LIST) value_unref(&c->value);
        tensor_unref(&c->all);
        for (size_t k = 0; k < c->item.n; k++)
            value_unref(&c->item.p[k]);
        vec_free(&c->item);
    }
}
