/* The Applies of a graph as columns of numbers, in chunks, so that a reader needs one
 * range check per column. */
#include "io/tlg.h"

#include <string.h>

/* Fills a column with the numbers of the Applies from..to; returns how many. */
typedef uint32_t ColumnOf(const Numbering *n, const TlgTables *t,
                          const uint32_t *props_of, ApplyId from, ApplyId to,
                          uint32_t *col);

static uint32_t col_props(const Numbering *n, const TlgTables *t,
                          const uint32_t *props_of, ApplyId from, ApplyId to,
                          uint32_t *col) {
    (void)n, (void)t;
    memcpy(col, props_of + from, (to - from) * sizeof *col);
    return to - from;
}

static uint32_t col_nin(const Numbering *n, const TlgTables *t,
                        const uint32_t *props_of, ApplyId from, ApplyId to,
                        uint32_t *col) {
    (void)t, (void)props_of;
    for (ApplyId a = from; a < to; a++)
        col[a - from] = n->g->apply[a].nin;
    return to - from;
}

static uint32_t col_nout(const Numbering *n, const TlgTables *t,
                         const uint32_t *props_of, ApplyId from, ApplyId to,
                         uint32_t *col) {
    (void)t, (void)props_of;
    for (ApplyId a = from; a < to; a++)
        col[a - from] = n->g->apply[a].nout;
    return to - from;
}

static uint32_t col_in(const Numbering *n, const TlgTables *t, const uint32_t *props_of,
                       ApplyId from, ApplyId to, uint32_t *col) {
    (void)t, (void)props_of;
    uint32_t k = 0;
    for (ApplyId a = from; a < to; a++)
        for (uint32_t i = 0; i < n->g->apply[a].nin; i++)
            col[k++] = n->to[apply_in(n->g, a)[i]];
    return k;
}

static uint32_t col_type(const Numbering *n, const TlgTables *t,
                         const uint32_t *props_of, ApplyId from, ApplyId to,
                         uint32_t *col) {
    (void)props_of;
    uint32_t k = 0;
    for (ApplyId a = from; a < to; a++)
        for (uint32_t i = 0; i < n->g->apply[a].nout; i++)
            col[k++] = t->type_no.p[n->g->var[n->g->apply[a].out + i].type->id] - 1;
    return k;
}

/* The Applies with a serial number, which keeps them distinct from equal ones. */
static uint32_t col_serial(const Numbering *n, const TlgTables *t,
                           const uint32_t *props_of, ApplyId from, ApplyId to,
                           uint32_t *col) {
    (void)t, (void)props_of;
    uint32_t k = 0;
    for (ApplyId a = from; a < to; a++)
        if (n->g->apply[a].serial) col[k++] = a - from;
    return k;
}

static uint64_t source_number(const TlgTables *t, Span at) {
    uint64_t no;
    if (at.source && t->sources.n && t->sources.p[0].source == at.source) return 1;
    return at.source && map_get(&t->source_no, at.source, &no) ? no + 1 : 0;
}

static uint32_t col_source(const Numbering *n, const TlgTables *t,
                           const uint32_t *props_of, ApplyId from, ApplyId to,
                           uint32_t *col) {
    (void)props_of;
    for (ApplyId a = from; a < to; a++)
        col[a - from] = (uint32_t)source_number(t, n->g->origin[a].at);
    return to - from;
}

static uint32_t place_in_source(const TlgTables *t, Span at, uint32_t byte) {
    uint64_t no = source_number(t, at);
    if (!no) return 0;
    const TlgSource *u = &t->sources.p[no - 1];
    return byte > u->end ? u->end - u->begin : byte - u->begin;
}

static uint32_t col_begin(const Numbering *n, const TlgTables *t,
                          const uint32_t *props_of, ApplyId from, ApplyId to,
                          uint32_t *col) {
    (void)props_of;
    for (ApplyId a = from; a < to; a++)
        col[a - from] =
            place_in_source(t, n->g->origin[a].at, n->g->origin[a].at.begin);
    return to - from;
}

static uint32_t col_end(const Numbering *n, const TlgTables *t,
                        const uint32_t *props_of, ApplyId from, ApplyId to,
                        uint32_t *col) {
    (void)props_of;
    for (ApplyId a = from; a < to; a++)
        col[a - from] = place_in_source(t, n->g->origin[a].at, n->g->origin[a].at.end);
    return to - from;
}

static uint32_t col_rule(const Numbering *n, const TlgTables *t,
                         const uint32_t *props_of, ApplyId from, ApplyId to,
                         uint32_t *col) {
    (void)props_of;
    for (ApplyId a = from; a < to; a++) {
        uint64_t no;
        Sym rule = n->g->origin[a].rule;
        col[a - from] = rule && map_get(&t->rule_no, rule, &no) ? (uint32_t)no + 1 : 0;
    }
    return to - from;
}

static const struct {
    const char *name;
    ColumnOf *of;
    bool origin; /* the Applies' origins, left out when none is known */
} columns[] = {{"props", col_props, false},  {"nin", col_nin, false},
               {"nout", col_nout, false},    {"in", col_in, false},
               {"type", col_type, false},    {"serial", col_serial, false},
               {"source", col_source, true}, {"begin", col_begin, true},
               {"end", col_end, true},       {"rule", col_rule, true}};
enum { NCOLUMNS = sizeof columns / sizeof *columns, NORIGIN = 4 };

static bool any_origin(const TlgTables *t, const Graph *g, ApplyId from, ApplyId to) {
    for (ApplyId a = from; a < to; a++)
        if (g->origin[a].rule || source_number(t, g->origin[a].at)) return true;
    return false;
}

void tlg_applies(const Numbering *n, const TlgTables *t, const uint32_t *props_of,
                 Str *b, Sink *k) {
    const Graph *g = n->g;
    Vec(uint32_t) col = {0};
    for (ApplyId from = 0; from < g->napply; from += TLG_CHUNK) {
        ApplyId to = g->napply - from < TLG_CHUNK ? g->napply : from + TLG_CHUNK;
        uint32_t in_end = to < g->napply ? g->apply[to].in : g->nin;
        vec_reserve(g->s, &col,
                    in_end - g->apply[from].in +
                        (size_t)(g->nvar - g->apply[from].out) + 1);
        bool origin = any_origin(t, g, from, to);
        tlg_section(b, "applies");
        cbor_put_head(b, CB_MAP, NCOLUMNS - (origin ? 0 : NORIGIN));
        for (size_t i = 0; i < NCOLUMNS; i++) {
            if (columns[i].origin && !origin) continue;
            cbor_put_text(b, columns[i].name);
            cbor_put_column(b, col.p, columns[i].of(n, t, props_of, from, to, col.p));
        }
        tlg_flush(b, k);
    }
    vec_free(&col);
}
