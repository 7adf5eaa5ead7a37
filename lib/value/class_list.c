/* The class of lists: items of one type, which are checked and compared
 * individually. */
#include "value/class_impl.h"

static bool filter_list(Session *s, const Type *t, const Value *v, const Receiver *to,
                        Value *out) {
    if (v->kind != TYPE_LIST || !v->obj) return class_fail_kind(s, t, v, to);
    const ListObject *list = v->obj;
    Value *item = mem_zalloc(s, list->n, sizeof *item);
    size_t n = 0;
    while (n < list->n && value_filter(s, t->elem, &list->item[n], to, &item[n]))
        n++;
    bool ok = n == list->n;
    if (ok) *out = (Value){.kind = TYPE_LIST, .obj = list_new_take(s, n, item)};
    for (size_t i = 0; !ok && i < n; i++)
        value_unref(&item[i]);
    mem_free(item);
    return ok || note(s, to->at, "in item %zu of the list", n);
}

static bool approx_list(Session *s, const Value *a, const Value *b, Approx how) {
    const ListObject *x = a->obj, *y = b->obj;
    bool ok = x->n == y->n;
    for (size_t i = 0; ok && i < x->n; i++)
        ok = value_approx(s, &x->item[i], &y->item[i], how);
    return ok;
}

/* An empty list could have any type; it gets a list of None. */
static const Type *type_of_list(Session *s, const Value *v) {
    const ListObject *o = v->obj;
    const Type *t = o->n ? value_type(s, &o->item[0]) : type_simple(s, TYPE_NONE);
    for (size_t i = 1; t && i < o->n; i++) {
        const Type *u = value_type(s, &o->item[i]);
        t = u ? type_join(s, t, u) : NULL;
    }
    return t ? type_list(s, t) : NULL;
}

static void describe_list(Session *s, const Value *v, Str *out) {
    const ListObject *o = v->obj;
    (void)s;
    str_printf(out, "a list of %zu item%s", o->n, o->n == 1 ? "" : "s");
}

static void text_of_list(const ValueWriter *w, const Type *t, const Value *v,
                         Str *out) {
    const ListObject *o = v->obj;
    str_puts(out, w->typed ? "make_list(" : "[");
    for (size_t i = 0; i < o->n; i++) {
        str_puts(out, i ? ", " : "");
        value_write(w, t ? t->elem : NULL, &o->item[i], out);
    }
    if (w->typed && t && (o->n == 0 || value_type(w->s, v) != t)) {
        str_puts(out, o->n ? ", type=" : "type=");
        str_quote(out, type_str(w->s, t->elem));
    }
    str_putc(out, w->typed ? ')' : ']');
}

static void json_of_list(Session *s, const Value *v, JsonWriter *w) {
    const ListObject *o = v->obj;
    json_member(w, "type", "list");
    json_put_key(w, "items");
    json_open(w, '[');
    for (size_t i = 0; i < o->n; i++)
        value_json(s, NULL, &o->item[i], w);
    json_close(w, "]");
}

static void parts_of_list(const Value *v, ValueParts *p) {
    const ListObject *o = v->obj;
    p->nitem = o->n;
    p->item = o->item;
}

static bool build_list(Session *s, const Type *t, const ValueParts *p, Value *out) {
    Value *item = mem_zalloc(s, p->nitem, sizeof *item);
    for (size_t i = 0; i < p->nitem; i++)
        value_copy_view(&item[i], &p->item[i]);
    Value whole = {.kind = TYPE_LIST, .obj = list_new_take(s, p->nitem, item)};
    mem_free(item);
    bool ok = filter_list(s, t, &whole,
                          &(Receiver){{.strict = true}, "a constant", NOWHERE}, out);
    value_unref(&whole);
    return ok;
}

const TypeClass class_list = {
    .name = "list",
    .a_value = "a list",
    .form = "list(float32[?]); list(list(int64))",
    .holds = "any number of values of one type",
    .filters = "lists whose items the item's type accepts, each checked by that type",
    .compares = "the length, then item by item by the item's type",
    .sizes = "of all items together",
    .filter = filter_list,
    .approx = approx_list,
    .type = type_of_list,
    .describe = describe_list,
    .text = text_of_list,
    .json = json_of_list,
    .parts = parts_of_list,
    .build = build_list,
};
