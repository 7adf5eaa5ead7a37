/* The table of type classes as text or JSON: --list-types. */
#include "format/json.h"
#include "tools/tools.h"
#include "value/class.h"

/* w: NULL for text */
static void put_type_class(Str *out, JsonWriter *w, const TypeClass *c) {
    const char *const fact[][2] = {{"form", c->form},      {"constant", c->constant},
                                   {"filter", c->filters}, {"compare", c->compares},
                                   {"size", c->sizes},     {"from", c->from}};
    if (w) {
        if (w->more) json_line(w, "");
        json_open(w, '{');
        json_member(w, "type", c->name);
        json_member(w, "doc", c->holds);
    } else {
        str_printf(out, "%-14s%s\n", c->name, c->holds);
    }
    for (size_t i = 0; i < sizeof fact / sizeof *fact; i++) {
        if (!fact[i][1]) continue;
        if (w)
            json_member(w, fact[i][0], fact[i][1]);
        else
            str_printf(out, "  %-12s%s\n", fact[i][0], fact[i][1]);
    }
    if (w) json_close(w, "}");
}

void gload_list_types(Session *s, bool json, Str *out) {
    const TypeClass *own;
    JsonWriter w = {.out = out};
    if (json) json_open(&w, '[');
    for (int k = 0; k < CLASS_N; k++)
        put_type_class(out, json ? &w : NULL, class_get((TypeKind)k));
    for (size_t i = 0; (own = type_maker_class(s, i, NULL)); i++)
        put_type_class(out, json ? &w : NULL, own);
    if (json) {
        json_close(&w, "]\n");
        return;
    }
    str_puts(out, "dtypes       ");
    for (int d = 0; d < DT_N; d++)
        str_printf(out, " %s", dtype_name((DType)d));
    str_puts(out, ", or floatX\n");
}
