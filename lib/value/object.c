/* Values of any type: references to tensors and to counted objects. */
#include "value/class_impl.h"

#include <string.h>

Object *object_ref(Object *o) {
    if (o) atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

void object_unref(Object *o) {
    if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->release(o);
}

static void release_plain(Object *o) {
    mem_free(o);
}

void *object_new(Session *s, TypeKind kind, size_t size, void (*release)(Object *)) {
    Object *o = mem_zalloc(s, 1, size);
    atomic_init(&o->refs, 1);
    o->kind = kind;
    o->cls = class_get(kind);
    o->release = release;
    return o;
}

SliceObject *slice_new(Session *s, const bool has[3], const int64_t part[3]) {
    SliceObject *o = object_new(s, TYPE_SLICE, sizeof *o, release_plain);
    for (int i = 0; i < 3; i++) {
        o->has[i] = has[i];
        o->part[i] = has[i] ? part[i] : 0;
    }
    return o;
}

int64_t slice_clamp(int64_t v, int64_t n, int64_t lo, int64_t hi) {
    if (v < 0) v += n;
    return v < lo ? lo : v > hi ? hi : v;
}

bool slice_resolve(const SliceObject *o, int64_t n, int64_t part[3]) {
    part[2] = o->has[2] ? o->part[2] : 1;
    if (part[2] == 0) return false;
    bool back = part[2] < 0;
    int64_t lo = back ? -1 : 0, hi = back ? n - 1 : n;
    part[0] = o->has[0] ? slice_clamp(o->part[0], n, lo, hi) : back ? hi : lo;
    part[1] = o->has[1] ? slice_clamp(o->part[1], n, lo, hi) : back ? lo : hi;
    return true;
}

int64_t slice_count(int64_t start, int64_t stop, int64_t step) {
    uint64_t span =
        step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    bool none = step > 0 ? start >= stop : start <= stop;
    return none ? 0 : (int64_t)((span - 1) / by + 1);
}

static void release_list(Object *o) {
    ListObject *list = (ListObject *)o;
    for (size_t i = 0; i < list->n; i++)
        value_unref(&list->item[i]);
    mem_free(list->item);
    mem_free(list);
}

ListObject *list_new_take(Session *s, size_t n, const Value *item) {
    ListObject *o = object_new(s, TYPE_LIST, sizeof *o, release_list);
    o->n = n;
    o->item = mem_zalloc(s, n, sizeof *item);
    if (n) memcpy(o->item, item, n * sizeof *item);
    return o;
}

static bool holds_tensor(TypeKind k) {
    return k == TYPE_TENSOR || k == TYPE_RANDOM;
}

void value_copy_view(Value *dst, const Value *src) {
    *dst = (Value){.kind = src->kind};
    if (holds_tensor(src->kind))
        tensor_copy_view(&dst->t, &src->t);
    else
        dst->obj = object_ref(src->obj);
}

void value_unref(Value *v) {
    if (holds_tensor(v->kind))
        tensor_unref(&v->t);
    else
        object_unref(v->obj);
    *v = (Value){.kind = TYPE_NONE};
}
