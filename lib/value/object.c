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
