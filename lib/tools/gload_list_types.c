/* The table of type classes as text or JSON: --list-types. */
#include "tools/tools.h"
#include "value/class.h"

#include <string.h>

static void put_json_member(Str *out, const char *name, const char *text) {
    str_printf(out, ", \"%s\": ", name);
    str_json(out, text, strlen(text));
}

static void put_type_class(Str *out, bool json, const TypeClass *c) {
    const char *const fact[][2] = {{"form", c->form},      {"constant", c->constant},
                                   {"filter", c->filters}, {"compare", c->compares},
                                   {"size", c->sizes},     {"from", c->from}};
    if (json) {
        str_puts(out, "{\"type\": ");
        str_json(out, c->name, strlen(c->name));
        put_json_member(out, "doc", c->holds);
    } else {
        str_printf(out, "%-14s%s\n", c->name, c->holds);
    }
    for (size_t i = 0; i < sizeof fact / sizeof *fact; i++) {
        if (!fact[i][1]) continue;
        if (json)
            put_json_member(out, fact[i][0], fact[i][1]);
        else
            str_printf(out, "  %-12s%s\n", fact[i][0], fact[i][1]);
    }
    if (json) str_putc(out, '}');
}

void gload_list_types(Session *s, bool json, Str *out) {
    const TypeClass *own;
    for (int k = 0; k < CLASS_N; k++) {
        str_puts(out, !json ? "" : k ? ",\n" : "[");
        put_type_class(out, json, class_get((TypeKind)k));
    }
    for (size_t i = 0; (own = type_maker_class(s, i, NULL)); i++) {
        str_puts(out, json ? ",\n" : "");
        put_type_class(out, json, own);
    }
    if (json) {
        str_puts(out, "]\n");
        return;
    }
    str_puts(out, "dtypes       ");
    for (int d = 0; d < DT_N; d++)
        str_printf(out, " %s", dtype_name((DType)d));
    str_puts(out, ", or floatX\n");
}
