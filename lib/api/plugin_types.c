/* Types of plugins: a def becomes a row in the table of classes. A value is an object
 * that holds the plugin's bytes; once made, it is shared and immutable. */
#include "api/plugin_impl.h"
#include "format/json.h"

#include <string.h>

typedef struct TypeInstance {
    const Type *type;
    size_t n;
    const TlParam *param;
    struct TypeInstance *next;
} TypeInstance;
typedef struct PluginType {
    TypeClass cls; /* must be first: a type's cls points here */
    TlTypeDef def; /* the known members of the plugin's def */
    const TlTypeDef *given;
    const Plugin *plugin;
    size_t nparam;
    bool *is_text; /* by parameter */
    TypeInstance *made;
} PluginType;
typedef struct PluginObject {
    Object head;
    const Type *type;
    unsigned char *bytes; /* its binary form, built on first use */
    size_t nbyte;
    uint64_t counted; /* bytes charged to the session's memory account */
} PluginObject;
enum { ALIGN = _Alignof(max_align_t) };

static const PluginType *plugin_class_of(const TypeClass *cls) {
    return (const PluginType *)(const void *)cls;
}
static const PluginType *type_of(const Type *t) {
    return plugin_class_of(t->cls);
}
static bool type_filter(Session *s, const Type *t, const Value *v, const Receiver *to,
                        Value *out);
/* Does a def stand behind the type? Not for a quoted text that still awaits its
 * type. */
static bool has_def(const Type *t) {
    return t->kind == TYPE_PLUGIN && t->cls->filter == type_filter;
}

/* ---- objects ---- */

static void *object_payload(PluginObject *o) {
    return (char *)o + (sizeof *o + ALIGN - 1) / ALIGN * ALIGN;
}
static void *payload_of(const Value *v) {
    return object_payload(v->obj);
}

/* get_size. */
static uint64_t object_size(PluginObject *o) {
    const TlTypeDef *d = &type_of(o->type)->def;
    return d->memory ? d->memory(object_payload(o)) : d->value_size;
}

static void object_count(PluginObject *o) {
    uint64_t now = object_size(o);
    buffer_count_extra(type_of(o->type)->plugin->s, o->counted, now);
    o->counted = now;
}

/* Does not free what the value owns. */
static void object_free(PluginObject *o) {
    buffer_count_extra(type_of(o->type)->plugin->s, o->counted, 0);
    mem_free(o->bytes);
    mem_free(o);
}

static void release_object(Object *o) {
    PluginObject *own = (PluginObject *)(void *)o;
    const TlTypeDef *d = &type_of(own->type)->def;
    if (d->clear) d->clear(object_payload(own));
    object_free(own);
}

static PluginObject *object_make(Session *s, const Type *t) {
    size_t room = (sizeof(PluginObject) + ALIGN - 1) / ALIGN * ALIGN;
    PluginObject *o = mem_zalloc(s, 1, room + type_of(t)->def.value_size);
    atomic_init(&o->head.refs, 1);
    o->head.kind = TYPE_PLUGIN;
    o->head.cls = t->cls;
    o->head.release = release_object;
    o->type = t;
    return o;
}

/* ---- filling a value ---- */

static TlFilter filter_of(TlHost *h, const Type *t, const Value *v, Filter how) {
    return (TlFilter){.host = h,
                      .api = &plugin_api,
                      .type = (const TlType *)(const void *)t,
                      .value = (const TlValue *)(const void *)v,
                      .strict = how.strict,
                      .allow_downcast = how.allow_downcast};
}

static TlHost type_host(Session *s, const char *what, Span at) {
    return (TlHost){
        .s = s, .at = at, .what = what, .other = E_VALUE, .mark = diag_count(s)};
}

/* Takes ownership of o. */
static bool give_object(TlHost *h, bool ok, const char *of, PluginObject *o,
                        Value *out) {
    if (plugin_verdict(h, ok, of)) {
        *out = (Value){.kind = TYPE_PLUGIN, .obj = o};
        object_count(o);
        return true;
    }
    object_free(o); /* still empty */
    return false;
}

static bool is_valid_object(const Type *t, PluginObject *o) {
    const TlTypeDef *d = &type_of(t)->def;
    return !d->is_valid ||
           d->is_valid((const TlType *)(const void *)t, object_payload(o));
}

static bool type_filter(Session *s, const Type *t, const Value *v, const Receiver *to,
                        Value *out) {
    if (v->kind == TYPE_PLUGIN && v->obj && ((PluginObject *)v->obj)->type == t) {
        if (to->how.strict && !is_valid_object(t, ((PluginObject *)v->obj)))
            return fail(s, to->at, E_VALUE, "%s: not a valid %s", to->what,
                        type_str(s, t));
        value_copy_view(out, v);
        return true;
    }
    TlHost h = type_host(s, to->what, to->at);
    TlFilter f = filter_of(&h, t, v, to->how);
    PluginObject *o = object_make(s, t);
    bool ok = type_of(t)->def.filter(&f, object_payload(o));
    if (ok && to->how.strict)
        ok = plugin_api.fail(&h, TL_FAILED,
                             "the filter of %s was asked to be strict, but converted a "
                             "value of another type",
                             type_str(s, t));
    return give_object(&h, ok, "filter", o, out);
}

static bool type_from_text(Session *s, const Type *t, const char *text,
                           const Receiver *to, Value *out) {
    TlHost h = type_host(s, to->what, to->at);
    TlFilter f = filter_of(&h, t, NULL, to->how);
    PluginObject *o = object_make(s, t);
    return give_object(&h, type_of(t)->def.from_text(&f, text, object_payload(o)),
                       "from_text", o, out);
}

static bool type_build(Session *s, const Type *t, const ValueParts *p, Value *out) {
    const TlTypeDef *d = &type_of(t)->def;
    if (!d->from_bytes && p->nbyte != d->value_size)
        return fail(s, NOWHERE, E_FORMAT, "a value of type %s has %zu bytes, not %zu",
                    type_str(s, t), d->value_size, p->nbyte);
    TlHost h = type_host(s, "a constant", NOWHERE);
    h.other = E_FORMAT;
    TlFilter f = filter_of(&h, t, NULL, (Filter){.strict = true});
    PluginObject *o = object_make(s, t);
    bool ok = true;
    if (d->from_bytes)
        ok = d->from_bytes(&f, p->nbyte, p->byte, object_payload(o));
    else
        memcpy(object_payload(o), p->byte, p->nbyte);
    return give_object(&h, ok, "from_bytes", o, out);
}

/* ---- reading a value ---- */

static void type_parts(const Value *v, ValueParts *p) {
    PluginObject *o = v->obj;
    const TlTypeDef *d = &type_of(o->type)->def;
    if (!d->to_bytes) {
        p->nbyte = d->value_size;
        p->byte = object_payload(o);
        return;
    }
    if (!o->bytes) {
        Session *s = type_of(o->type)->plugin->s;
        size_t n = d->to_bytes(object_payload(o), NULL);
        o->bytes = mem_zalloc(s, n + 1, 1);
        size_t again = d->to_bytes(object_payload(o), o->bytes);
        o->nbyte = again < n ? again : n;
    }
    p->nbyte = o->nbyte;
    p->byte = o->bytes;
}

static bool type_equal(const Value *a, const Value *b) {
    const PluginObject *x = a->obj, *y = b->obj;
    if (x->type != y->type) return false;
    const TlTypeDef *d = &type_of(x->type)->def;
    if (d->equal)
        return d->equal((const TlType *)(const void *)x->type, payload_of(a),
                        payload_of(b));
    ValueParts p = {0}, q = {0};
    if (!x->head.cls->parts) return x == y;
    type_parts(a, &p);
    type_parts(b, &q);
    return p.nbyte == q.nbyte && memcmp(p.byte, q.byte, p.nbyte) == 0;
}

static bool type_approx(Session *s, const Value *a, const Value *b, Approx how) {
    const PluginObject *x = a->obj, *y = b->obj;
    (void)s;
    if (x->type != y->type) return false;
    return type_of(x->type)->def.approx((const TlType *)(const void *)x->type,
                                        payload_of(a), payload_of(b), how.rtol,
                                        how.atol);
}

static bool type_shares(const Value *a, const Value *b) {
    return type_of(((PluginObject *)a->obj)->type)
        ->def.may_share_memory(payload_of(a), payload_of(b));
}

static const Type *type_of_value(Session *s, const Value *v) {
    (void)s;
    return ((const PluginObject *)v->obj)->type;
}

static void type_memory(const Value *v, ShapeInfo *info) {
    info->n = 1;
    info->v[0] = (int64_t)object_size(v->obj);
}
static uint64_t memory_of(const ShapeInfo *info) {
    return (uint64_t)info->v[0];
}

/* ---- copies and other values ---- */

static bool type_copy(Session *s, const Value *v, Value *out) {
    const PluginObject *o = v->obj;
    const Type *t = o->type;
    const TlTypeDef *d = &type_of(t)->def;
    ValueParts p = {0};
    if (!d->copy && !o->head.cls->parts) return false;
    TlHost h = type_host(s, d->name, NOWHERE);
    PluginObject *own = object_make(s, t);
    bool ok = true;
    if (d->copy) {
        ok = d->copy(&h, &plugin_api, payload_of(v), object_payload(own));
    } else if (d->to_bytes) {
        TlFilter f = filter_of(&h, t, NULL, (Filter){.strict = true});
        type_parts(v, &p);
        ok = d->from_bytes(&f, p.nbyte, p.byte, object_payload(own));
    } else {
        memcpy(object_payload(own), payload_of(v), d->value_size);
    }
    ok = give_object(&h, ok, d->copy ? "copy" : "from_bytes", own, out);
    diag_rewind(s, h.mark);
    return ok;
}

static void type_disown(Value *v) {
    PluginObject *o = v->obj;
    if (atomic_fetch_sub(&o->head.refs, 1) == 1) object_free(o);
    *v = (Value){.kind = TYPE_NONE};
}

static bool type_random(Session *s, const Type *t, Rng *rng, Value *out) {
    TlHost h = type_host(s, type_str(s, t), NOWHERE);
    h.rng = rng;
    PluginObject *o = object_make(s, t);
    bool ok = type_of(t)->def.random(&h, &plugin_api, (const TlType *)(const void *)t,
                                     object_payload(o));
    if (ok && !is_valid_object(t, o))
        ok = plugin_api.fail(&h, TL_FAILED, "random created no valid value");
    return give_object(&h, ok, "random", o, out);
}

/* ---- as text ---- */

/* The plugin's text of a value. False: diagnosed, it has none. */
static bool plugin_text(Session *s, const Value *v, Str *out) {
    const Type *t = ((PluginObject *)v->obj)->type;
    const TlTypeDef *d = &type_of(t)->def;
    TlHost h = type_host(s, type_str(s, t), NOWHERE);
    h.other = E_TYPE;
    h.out = out;
    if (!d->text)
        return fail(
            s, NOWHERE, E_TYPE,
            "values of type %s can't be written as text: the type has no `text`",
            type_str(s, t));
    bool ok = plugin_verdict(&h, d->text(&h, &plugin_api, payload_of(v)), "text");
    return ok && (out->n || plugin_api.fail(&h, TL_FAILED, "its text is empty"));
}

/* For people; "..." if it has no text. */
static void plain_text(Session *s, const Value *v, Str *out) {
    size_t mark = diag_count(s);
    Str text = STR(s);
    bool ok = plugin_text(s, v, &text);
    diag_rewind(s, mark);
    str_puts(out, ok ? str_text(&text) : "...");
    str_free(&text);
}

/* The text after reading and writing it again. */
static bool text_again(Session *s, const Type *t, const Str *text, Str *again) {
    uint32_t source = source_add(s, "its text", str_text(text), text->n);
    Value v;
    if (!value_compile(s, (Span){source, 0, (uint32_t)text->n}, t, FILTER_DEFAULT, "it",
                       &v))
        return false;
    bool ok = plugin_text(s, &v, again);
    value_unref(&v);
    return ok;
}

static bool reads_back(Session *s, const Type *t, const Str *text) {
    Str again = STR(s), why = STR(s);
    size_t mark = diag_count(s);
    bool ok = text_again(s, t, text, &again);
    if (!ok) {
        str_puts(&why, diag_get(s, mark)->text);
        diag_rewind(s, mark);
    } else if (strcmp(str_text(&again), str_text(text)) != 0) {
        str_printf(&why, "what is read is %s", str_text(&again));
        ok = false;
    }
    if (!ok)
        fail(s, NOWHERE, E_TYPE,
             "a value of type %s can't be written as text: its text %s does not read "
             "back: %s",
             type_str(s, t), str_text(text), str_text(&why));
    str_free(&again);
    str_free(&why);
    return ok;
}

static bool type_readable(Session *s, const Value *v, bool back) {
    Str text = STR(s);
    bool ok = plugin_text(s, v, &text) &&
              (!back || reads_back(s, ((PluginObject *)v->obj)->type, &text));
    str_free(&text);
    return ok;
}

/* double(2.5), or money("EUR")(2.5) for a type with parameters. */
static void type_text_of(const ValueWriter *w, const Type *t, const Value *v,
                         Str *out) {
    const Type *own = type_of_value(w->s, v);
    (void)t;
    if (w->typed) str_printf(out, "%s(", own->why);
    plain_text(w->s, v, out);
    if (w->typed) str_putc(out, ')');
}

static void type_describe(Session *s, const Value *v, Str *out) {
    str_printf(out, "the %s ", type_str(s, type_of_value(s, v)));
    plain_text(s, v, out);
}

static bool is_json_number(const char *p) {
    double v;
    size_t n = num_read_float(p + (*p == '-'), strlen(p + (*p == '-')), FLOAT64, &v);
    return n > 0 && !p[n + (*p == '-')] && strchr("-0123456789", *p) &&
           !strpbrk(p, "naif_");
}

static void type_json(Session *s, const Value *v, JsonWriter *w) {
    Str text = STR(s);
    const char *type = type_str(s, type_of_value(s, v));
    plain_text(s, v, &text);
    json_member(w, "type", type);
    json_put_key(w, "value");
    if (is_json_number(str_text(&text)))
        json_put_word(w, str_text(&text));
    else
        json_put_n(w, str_text(&text), text.n);
    str_free(&text);
}

/* ---- types ---- */

static bool check_params(PluginType *p, TlHost *h, size_t n, const TlParam *param) {
    if (n != p->nparam)
        return plugin_api.fail(h, TL_WRONG_COUNT, "it takes %zu parameter%s, not %zu",
                               p->nparam, p->nparam == 1 ? "" : "s", n);
    for (size_t i = 0; i < n; i++)
        if (p->is_text[i] != (param[i].text != NULL))
            return plugin_api.fail(h, TL_WRONG_VALUE, "parameter %zu is %s", i + 1,
                                   p->is_text[i] ? "a text in quotes" : "an integer");
    return !p->def.check ||
           plugin_verdict(h, p->def.check(h, &plugin_api, n, param), "check");
}

static void put_type_form(Session *s, const PluginType *p, size_t n,
                          const TlParam *param, Str *out) {
    str_puts(out, p->def.name);
    for (size_t i = 0; i < n; i++) {
        str_puts(out, i ? ", " : "(");
        if (param[i].text)
            str_quote(out, param[i].text);
        else
            str_printf(out, "%lld", (long long)param[i].number);
    }
    if (n) str_putc(out, ')');
    (void)s;
}

static const Type *make_plugin_type(Session *s, void *ctx, size_t n, const TypeArg *arg,
                                    Span at) {
    PluginType *p = ctx;
    Arena *a = session_arena(s);
    TlHost h = type_host(s, p->def.name, at);
    h.other = E_TYPE;
    TlParam *param = NEW_N(a, n + 1, TlParam);
    for (size_t i = 0; i < n; i++)
        param[i] = (TlParam){arg[i].text, arg[i].number};
    if (!check_params(p, &h, n, param)) return NULL;
    Str text = STR(s);
    put_type_form(s, p, n, param, &text);
    const Type *t = type_plugin(s, str_text(&text), &p->cls);
    str_free(&text);
    for (const TypeInstance *i = p->made; i; i = i->next)
        if (i->type == t) return t;
    TypeInstance *i = NEW(a, TypeInstance);
    *i = (TypeInstance){t, n, param, p->made};
    p->made = i;
    return t;
}

/* ---- checking a def ---- */

static bool fail_type(TlHost *h, const TlTypeDef *d, const char *what) {
    return plugin_api.fail(h, TL_FAILED, "the type %s: %s", d->name, what);
}

static bool read_param_kinds(TlHost *h, PluginType *p) {
    char **part;
    Arena *a = session_arena(h->s);
    if (!p->def.params) return true;
    p->nparam = str_split(a, p->def.params, ',', &part);
    p->is_text = NEW_N(a, p->nparam + 1, bool);
    for (size_t i = 0; i < p->nparam; i++) {
        p->is_text[i] = strcmp(part[i], "str") == 0;
        if (!p->is_text[i] && strcmp(part[i], "int") != 0)
            return fail_type(h, &p->def, "params must list str and int");
    }
    return true;
}

static bool check_def(TlHost *h, const TlTypeDef *d) {
    if (!d->name) return plugin_api.fail(h, TL_FAILED, "a type has no name");
    if (!userop_check_name(h->s, d->name, NOWHERE))
        return note(h->s, NOWHERE, "in the plugin %s", h->what);
    if (op_find_firm(h->s, d->name, strlen(d->name)))
        return fail_type(h, d,
                         "there is an op of that name, but name(value) must be a "
                         "constant of the type");
    if (!d->filter) return fail_type(h, d, "it has no filter");
    if (d->value_size == 0 || d->value_size > 1 << 24)
        return fail_type(h, d, "value_size must be from 1 to 16 MiB");
    if (!d->to_bytes != !d->from_bytes)
        return fail_type(h, d, "to_bytes and from_bytes must be given together");
    if (d->clear && !d->equal && !d->to_bytes)
        return fail_type(h, d,
                         "with clear, a value owns more than its bytes, so bytes can't "
                         "decide equality: give equal, or to_bytes and from_bytes");
    return (!d->from_text || d->text) ||
           fail_type(h, d,
                     "from_text needs text: the value could be read but not written");
}

/* "money(str, int)" */
static const char *type_form(const PluginType *p, Arena *a) {
    const char *text = p->def.name;
    for (size_t i = 0; i < p->nparam; i++)
        text =
            arena_printf(a, "%s%s%s%s", text, i ? ", " : "(",
                         p->is_text[i] ? "str" : "int", i + 1 < p->nparam ? "" : ")");
    return text;
}

static void fill_class(PluginType *p) {
    const TlTypeDef *d = &p->def;
    bool bytes = d->to_bytes || !d->clear;
    Arena *a = session_arena(p->plugin->s);
    p->cls = (TypeClass){
        .name = d->name,
        .a_value = d->name,
        .form = type_form(p, a),
        .constant = arena_printf(a, "%s(value)", type_form(p, a)),
        .holds = d->doc ? d->doc : "Values of a plugin.",
        .filters = d->from_text ? "what its filter accepts, and texts in quotes"
                                : "what its filter accepts",
        .compares = d->approx     ? "by its values_eq_approx"
                    : d->equal    ? "by its values_eq"
                    : d->to_bytes ? "equal to_bytes"
                                  : "equal bytes",
        .sizes = d->memory ? "as its `memory` gives for each value"
                           : arena_printf(a, "%zu bytes", d->value_size),
        .from = p->plugin->path,
        .filter = type_filter,
        .from_text = d->from_text ? type_from_text : NULL,
        .equal = type_equal,
        .approx = d->approx ? type_approx : NULL,
        .shares = d->may_share_memory ? type_shares : NULL,
        .copy = type_copy,
        .disown = type_disown,
        .random = d->random ? type_random : NULL,
        .readable = type_readable,
        .type = type_of_value,
        .describe = type_describe,
        .text = type_text_of,
        .json = type_json,
        .parts = bytes ? type_parts : NULL,
        .build = bytes ? type_build : NULL,
        .shape_info = type_memory,
        .size = memory_of,
        .fixed = !d->memory,
        .each = d->value_size,
        .add = d->add};
}

bool plugin_add_type(TlHost *h, const TlTypeDef *def) {
    const TlTypeDef *d;
    if (!h->plugin)
        return plugin_api.fail(h, TL_FAILED, "types can be added only by init");
    PluginType *p = NEW(session_arena(h->s), PluginType);
    p->plugin = h->plugin;
    p->given = def;
    if (!plugin_take(h, "a type's def", &p->def, sizeof p->def, def,
                     offsetof(TlTypeDef, params)) ||
        !check_def(h, &p->def) || !read_param_kinds(h, p))
        return false;
    d = &p->def;
    fill_class(p);
    if (!type_maker_add(h->s, d->name, &p->cls, make_plugin_type, p))
        return fail_type(h, d, "there is already a type of that name");
    return p->nparam || make_plugin_type(h->s, p, 0, NULL, NOWHERE) != NULL;
}

/* ---- for the API ---- */

bool plugin_type_is(const Type *t, const TlTypeDef *def) {
    return has_def(t) && type_of(t)->given == def;
}

size_t plugin_type_params(const Type *t, const TlParam **param) {
    const PluginType *p = has_def(t) ? type_of(t) : NULL;
    for (const TypeInstance *i = p ? p->made : NULL; i; i = i->next)
        if (i->type == t) return *param = i->param, i->n;
    *param = NULL;
    return 0;
}

const void *plugin_object(const Value *v, const TlTypeDef *def) {
    if (v->kind != TYPE_PLUGIN || !v->obj) return NULL;
    return !def || plugin_type_is(((PluginObject *)v->obj)->type, def) ? payload_of(v)
                                                                       : NULL;
}

void *plugin_output_object(Call *c, size_t i) {
    const Type *t = c->out_type[i];
    if (t->kind != TYPE_PLUGIN) return NULL;
    Value *out = &c->out[i];
    PluginObject *o = out->kind == TYPE_PLUGIN ? out->obj : NULL;
    const TlTypeDef *d = &type_of(t)->def;
    if (o && o->type == t && atomic_load(&o->head.refs) == 1) {
        if (d->clear) d->clear(object_payload(o));
        memset(object_payload(o), 0, d->value_size);
        mem_free(o->bytes);
        o->bytes = NULL;
        return object_payload(o);
    }
    value_unref(out);
    return plugin_new_object(c->s, t, out);
}

void plugin_count(const Value *v) {
    if (v->kind == TYPE_PLUGIN && v->obj) object_count(v->obj);
}

void *plugin_new_object(Session *s, const Type *t, Value *out) {
    *out = (Value){.kind = TYPE_PLUGIN, .obj = object_make(s, t)};
    return object_payload(out->obj);
}
