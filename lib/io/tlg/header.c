/* The first and the last section of a tlg: what the reader must know, and whether all
 * that was written is there. */
#include "io/tlg/tlg.h"

#include <string.h>

/* ---- header ---- */

static bool write_format_name(TlgWriter *w, const void *from) {
    (void)from;
    cbor_put_text(&w->b, "thunkline");
    return true;
}

static bool read_format_name(TlgReader *t, void *into) {
    (void)into;
    Sym y;
    if (!cbor_sym(&t->c, &y)) return false;
    return strcmp(sym_text(t->s, y), "thunkline") == 0 ||
           cbor_fail(&t->c, "CBOR, but not of thunkline");
}

static bool write_version(TlgWriter *w, const void *from) {
    (void)from;
    cbor_put_head(&w->b, CB_ARRAY, 2);
    cbor_put_int(&w->b, TLG_MAJOR);
    cbor_put_int(&w->b, TLG_MINOR);
    return true;
}

static bool read_version(TlgReader *t, void *into) {
    (void)into;
    size_t n;
    uint64_t major, minor;
    if (!cbor_array(&t->c, &n)) return false;
    if (n != 2) return cbor_fail(&t->c, "a version has two numbers");
    if (!cbor_uint(&t->c, UINT32_MAX, &major) || !cbor_uint(&t->c, UINT32_MAX, &minor))
        return false;
    return major == TLG_MAJOR ||
           fail(t->s, NOWHERE, E_VERSION,
                "%s: format version %llu; this thunkline reads version %d", t->c.name,
                (unsigned long long)major, TLG_MAJOR);
}

static bool write_required(TlgWriter *w, const void *from) {
    (void)from;
    cbor_put_head(&w->b, CB_ARRAY, 0);
    return true;
}

static bool read_required(TlgReader *t, void *into) {
    (void)into;
    size_t n;
    Sym y;
    if (!cbor_array(&t->c, &n)) return false;
    if (n == 0) return true;
    if (!cbor_sym(&t->c, &y)) return false;
    return fail(t->s, NOWHERE, E_VERSION,
                "%s: the graph needs \"%s\", which this thunkline doesn't know; a "
                "newer one may",
                t->c.name, sym_text(t->s, y));
}

static bool write_floatX(TlgWriter *w, const void *from) {
    (void)from;
    if (w->main->floatX == DT_NONE) return false;
    cbor_put_text(&w->b, dtype_name(w->main->floatX));
    return true;
}

static bool read_floatX(TlgReader *t, void *into) {
    (void)into;
    const char *p;
    size_t n;
    if (!cbor_text(&t->c, &p, &n)) return false;
    t->main->floatX = dtype_find(p, n);
    return t->main->floatX == DT_FLOAT32 || t->main->floatX == DT_FLOAT64 ||
           cbor_fail(&t->c, "floatX must be float32 or float64");
}

static bool write_modes(TlgWriter *w, const void *from) {
    const Graph *g = w->main;
    (void)from;
    cbor_put_head(&w->b, CB_ARRAY, g->modes.n);
    for (size_t i = 0; i < g->modes.n; i++)
        cbor_put_text(&w->b, sym_text(g->s, g->modes.p[i]));
    return true;
}

static bool read_modes(TlgReader *t, void *into) {
    (void)into;
    size_t n;
    Sym y;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (!cbor_sym(&t->c, &y)) return false;
        vec_push(t->s, &t->main->modes, y);
    }
    return true;
}

static bool write_producer(TlgWriter *w, const void *from) {
    (void)from;
    if (w->options->no_provenance) return false;
    cbor_put_text(&w->b, "thunkline " TL_VERSION);
    return true;
}

static bool write_steps(TlgWriter *w, const void *from) {
    (void)from;
    if (w->options->no_provenance) return false;
    cbor_put_head(&w->b, CB_ARRAY, w->main->steps.n);
    for (size_t i = 0; i < w->main->steps.n; i++) {
        const Step *p = &w->main->steps.p[i];
        cbor_put_head(&w->b, CB_ARRAY, 3);
        cbor_put_text(&w->b, p->tool);
        cbor_put_text(&w->b, p->version);
        cbor_put_text(&w->b, p->args);
    }
    return true;
}

static bool read_steps(TlgReader *t, void *into) {
    (void)into;
    size_t n, parts;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        Step p;
        if (!cbor_array(&t->c, &parts)) return false;
        if (parts != 3) return cbor_fail(&t->c, "a step has three parts");
        if (!tlg_read_text(t, &p.tool) || !tlg_read_text(t, &p.version) ||
            !tlg_read_text(t, &p.args))
            return false;
        vec_push(t->s, &t->main->steps, p);
    }
    return true;
}

static const TlgField header_fields[] = {
    {"format", read_format_name, write_format_name, 0},
    {"version", read_version, write_version, 0},
    {"required", read_required, write_required, 0},
    {"floatX", read_floatX, write_floatX, 0},
    {"modes", read_modes, write_modes, 0},
    {"producer", NULL, write_producer, 0},
    {"steps", read_steps, write_steps, 0}};

void tlg_write_header(TlgWriter *w) {
    cbor_put_head(&w->b, CB_TAG, 55799);
    tlg_write_section(w, "header", TLG_FIELDS(header_fields), NULL);
}

bool tlg_read_header(TlgReader *t) {
    unsigned seen;
    if (t->header) return cbor_fail(&t->c, "a second header");
    t->header = true;
    if (!tlg_read_fields(t, TLG_FIELDS(header_fields), NULL, &seen)) return false;
    return (seen & 7) == 7 || cbor_fail(&t->c, "an incomplete header");
}

/* ---- the end ---- */

typedef struct EndCounts {
    uint64_t graphs, applies;
} EndCounts;

/* Of all bytes before this section. */
static bool write_hash(TlgWriter *w, const void *from) {
    uint64_t hash = hash_xxh64_end(&w->sink->hash);
    (void)from;
    cbor_put_head(&w->b, CB_BYTES, 8);
    for (int shift = 56; shift >= 0; shift -= 8)
        str_putc(&w->b, (char)(hash >> shift & 0xFF));
    return true;
}

static const TlgField end_fields[] = {
    {"graphs", tlg_read_uint, tlg_write_uint, offsetof(EndCounts, graphs)},
    {"applies", tlg_read_uint, tlg_write_uint, offsetof(EndCounts, applies)},
    {"xxh64", NULL, write_hash, 0}}; /* tlg_verify has read it */

static EndCounts count_graphs(const Graph *main) {
    return (EndCounts){main->functions.n + 1, graph_all_applies(main)};
}

void tlg_write_end(TlgWriter *w) {
    EndCounts n = count_graphs(w->main);
    tlg_flush(w);
    tlg_write_section(w, "end", TLG_FIELDS(end_fields), &n);
    tlg_flush(w);
}

bool tlg_read_end(TlgReader *t) {
    EndCounts n = {0}, have = count_graphs(t->main);
    unsigned seen;
    if (!tlg_graph_is_complete(t) ||
        !tlg_read_fields(t, TLG_FIELDS(end_fields), &n, &seen))
        return false;
    if ((seen & 3) != 3 || !t->g || n.graphs != have.graphs ||
        n.applies != have.applies)
        return fail(t->s, NOWHERE, E_TRUNCATED,
                    "%s: truncated input: the end record counts other graphs or "
                    "Applies than there are",
                    t->c.name);
    return tlg_calls(t->main, t->c.name);
}
