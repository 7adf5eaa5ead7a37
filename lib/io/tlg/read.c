/* Reads a tlg. The order of sections is fixed: header, tables, then for each graph its
 * leaves, constants, Applies, names and interface. Unknown keys of a newer writer are
 * skipped; those that must not be skipped are listed by the writer as required. */
#include "io/tlg/tlg.h"
#include "lang/lazy_scope.h"

#include <string.h>

/* ---- fields ---- */

bool tlg_read_uint(TlgReader *t, void *into) {
    return cbor_uint(&t->c, UINT64_MAX, into);
}
bool tlg_read_sym(TlgReader *t, void *into) {
    return cbor_sym(&t->c, into);
}
bool tlg_read_column(TlgReader *t, void *into) {
    return cbor_column(&t->c, into);
}

bool tlg_read_text(TlgReader *t, const char **out) {
    const char *p;
    size_t n;
    if (!cbor_text(&t->c, &p, &n)) return false;
    *out = arena_str(t->main->arena, p, n);
    return true;
}

static size_t field_of_key(size_t n, const TlgField *field, const char *key,
                           size_t len) {
    size_t k = 0;
    while (k < n &&
           (strlen(field[k].key) != len || memcmp(field[k].key, key, len) != 0))
        k++;
    return k;
}

bool tlg_read_fields(TlgReader *t, size_t n, const TlgField *field, void *into,
                     unsigned *seen) {
    size_t count, len;
    const char *key;
    *seen = 0;
    if (!cbor_map(&t->c, &count)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!cbor_key(&t->c, &key, &len)) return false;
        size_t k = field_of_key(n, field, key, len);
        if (k == n || !field[k].read) {
            if (!cbor_skip(&t->c)) return false;
            continue;
        }
        if (*seen & 1U << k)
            return cbor_fail(&t->c, "\"%s\" occurs twice", field[k].key);
        *seen |= 1U << k;
        if (!field[k].read(t, into ? (char *)into + field[k].at : NULL)) return false;
    }
    return true;
}

/* ---- sections ---- */

static const struct {
    const char *key;
    bool (*read)(TlgReader *t);
} sections[] = {{"header", tlg_read_header},
                {"sources", tlg_read_sources},
                {"rules", tlg_read_rules},
                {"types", tlg_read_types},
                {"ops", tlg_read_ops},
                {"props", tlg_read_props},
                {"graph", tlg_read_graph},
                {"leaves", tlg_read_leaves},
                {"constant", tlg_read_constant},
                {"applies", tlg_read_applies},
                {"names", tlg_read_names},
                {"interface", tlg_read_interface},
                {"end", tlg_read_end}};

static bool read_section(TlgReader *t) {
    size_t n;
    Sym y;
    if (!cbor_map(&t->c, &n) || !cbor_sym(&t->c, &y)) return false;
    const char *key = sym_text(t->s, y);
    if (!t->header && strcmp(key, "header") != 0) return cbor_fail(&t->c, "no header");
    size_t i = 0, count = sizeof sections / sizeof *sections;
    while (i < count && strcmp(sections[i].key, key) != 0)
        i++;
    bool ok = i == count ? cbor_skip(&t->c) : sections[i].read(t);
    arena_reset(t->tmp);
    return ok;
}

Graph *tlg_read(Session *s, Input *in, const char *folder, const ReadOptions *o) {
    if (!tlg_verify(in)) return NULL;
    TlgReader t = {.s = s, .in = in, .a = arena_new(s), .tmp = arena_new(s)};
    t.c = (Cbor){s, in->name, in->p, in->p + 3, in->p + in->n};
    t.share = input_is_shareable(in);
    t.use = o->use;
    t.files = (DataFiles){.s = s, .folder = folder};
    t.main = graph_new(s);
    bool ok = true;
    while (ok && t.c.p < t.c.end)
        ok = read_section(&t);
    data_files_close(&t.files);
    arena_free(t.a);
    arena_free(t.tmp);
    vec_free(&t.leaf_code);
    if (ok) {
        lazy_scope_keep_all(t.main);
        return t.main;
    }
    graph_free(t.main);
    return NULL;
}
