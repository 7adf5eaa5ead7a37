/* Non-tensors that a loop feeds back or returns, which have no rows. They are
 * immutable, so references suffice for the next step and for the list of kept values;
 * random states do have rows, and that list gets copies of them. */
#include "value/object.h"
#include "vm/scan.h"

void scan_drop_objects(ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        Row *r = &l->row[i];
        value_unref(&r->now);
        for (size_t k = 0; k < r->kept.n; k++)
            value_unref(&r->kept.p[k]);
        vec_free(&r->kept);
    }
}

bool scan_begin_object(ScanRun *l, size_t i) {
    Value v;
    cell_value(l->m, l->arg[l->f.out[i].arg], &v);
    value_copy_view(&l->row[i].now, &v);
    return vm_set_input(l->body, l->f.out[i].in, &v);
}

static bool check_object_type(ScanRun *l, size_t i) {
    Call c;
    step_call(l->m, l->step, &c);
    return scan_check_object(&c, &l->f, i, l->done, &l->row[i].now);
}

static void keep_item(ScanRun *l, size_t i, Value v) {
    int64_t keep = l->f.out[i].keep;
    Row *r = &l->row[i];
    if (keep == SCAN_ALL || l->done < keep) {
        vec_push(l->s, &r->kept, v);
        return;
    }
    value_unref(&r->kept.p[l->done % keep]);
    r->kept.p[l->done % keep] = v;
}

/* States change only after all results of the step are taken: one may be another's
 * state. */
bool scan_take_object(ScanRun *l, size_t i) {
    const ScanOut *o = &l->f.out[i];
    Row *r = &l->row[i];
    Value made = {0};
    value_copy_view(&made, l->body->box[r->cell]);
    value_unref(&r->now);
    r->now = made;
    if (!r->sure && !check_object_type(l, i)) return false;
    if (o->keep == SCAN_LAST) return true;
    value_copy_view(&made, &r->now);
    keep_item(l, i, made);
    return true;
}

bool scan_list_row(ScanRun *l, size_t i) {
    Value v, copy = {.kind = TYPE_RANDOM};
    cell_value(l->body, l->row[i].cell, &v);
    if (!tensor_clone(l->s, &v.t, &copy.t)) return false;
    keep_item(l, i, copy);
    return true;
}

bool scan_no_last(ScanRun *l, size_t i) {
    Call c;
    step_call(l->m, l->step, &c);
    return call_fail(&c, E_INDEX, "there is no last value of %s: no step was run",
                     sym_text(l->s, l->f.fn->outputs.p[i].label));
}

bool scan_give_object(ScanRun *l, size_t i) {
    const ScanOut *o = &l->f.out[i];
    Row *r = &l->row[i];
    Value v = {.kind = TYPE_LIST};
    if (o->keep == SCAN_LAST) {
        if (l->done == 0 && o->ntap == 0) return scan_no_last(l, i);
        v = r->now;
        r->now = (Value){0};
    } else {
        size_t n = r->kept.n, first = n ? (size_t)l->done % n : 0;
        Value *item = mem_alloc(l->s, n * sizeof *item + 1);
        for (size_t k = 0; k < n; k++)
            item[k] = r->kept.p[(first + k) % n];
        v.obj = list_new_take(l->s, n, item);
        mem_free(item);
        r->kept.n = 0;
    }
    step_set_box(l->m, r->out, v);
    return true;
}
