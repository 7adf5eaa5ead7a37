/* The Applies of a graph in a tlg as columns of numbers, in chunks, so that a reader
 * needs one range check per column. */
#include "graph/append.h"
#include "io/tlg/tlg.h"

#include <string.h>

/* ---- columns ---- */

static bool put_column(TlgWriter *w, uint32_t n) {
    cbor_put_column(&w->b, w->col.p, n);
    return true;
}

static bool column_props(TlgWriter *w, const void *from) {
    (void)from;
    cbor_put_column(&w->b, w->n->props_of + w->from, w->to - w->from);
    return true;
}

static bool column_nin(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    uint32_t k = 0, *col = w->col.p;
    (void)from;
    for (ApplyId a = w->from; a < w->to; a++)
        col[k++] = g->apply[a].nin;
    return put_column(w, k);
}

static bool column_nout(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    uint32_t k = 0, *col = w->col.p;
    (void)from;
    for (ApplyId a = w->from; a < w->to; a++)
        col[k++] = g->apply[a].nout;
    return put_column(w, k);
}

static bool column_in(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    const Var *to = w->n->to;
    uint32_t k = 0, *col = w->col.p;
    (void)from;
    for (ApplyId a = w->from; a < w->to; a++)
        for (uint32_t i = 0; i < g->apply[a].nin; i++)
            col[k++] = to[apply_in(g, a)[i]];
    return put_column(w, k);
}

static bool column_types(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    uint32_t k = 0, *col = w->col.p;
    (void)from;
    for (ApplyId a = w->from; a < w->to; a++)
        for (uint32_t i = 0; i < g->apply[a].nout; i++)
            col[k++] = tlg_type_number(w, g->apply[a].out + i);
    return put_column(w, k);
}

/* The Applies with a serial number, which keeps them distinct from equal ones. */
static bool column_serial(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    uint32_t k = 0, *col = w->col.p;
    (void)from;
    for (ApplyId a = w->from; a < w->to; a++)
        if (g->apply[a].serial) col[k++] = a - w->from;
    return put_column(w, k);
}

static uint32_t rule_number(const TlgTables *t, Sym rule) {
    uint64_t no;
    return rule && map_get(&t->rule_no, rule, &no) ? (uint32_t)no + 1 : 0;
}

static bool any_origin(const TlgWriter *w) {
    const Origin *origin = w->n->g->origin;
    for (ApplyId a = w->from; a < w->to; a++)
        if (origin[a].rule || tlg_source_number(&w->t, origin[a].at)) return true;
    return false;
}

static bool column_source(TlgWriter *w, const void *from) {
    const Origin *origin = w->n->g->origin;
    uint32_t k = 0, *col = w->col.p, source = 0, no = 0; /* of the Apply before */
    (void)from;
    if (!w->origins) return false;
    for (ApplyId a = w->from; a < w->to; a++) {
        Span at = origin[a].at;
        if (at.source != source) no = tlg_source_number(&w->t, at);
        source = at.source;
        col[k++] = no;
    }
    return put_column(w, k);
}

static bool put_places(TlgWriter *w, bool end) {
    const Origin *origin = w->n->g->origin;
    TlgSource lines = {0};
    uint32_t k = 0, *col = w->col.p, source = 0; /* of the Apply before */
    if (!w->origins) return false;
    for (ApplyId a = w->from; a < w->to; a++) {
        const Span *at = &origin[a].at;
        if (at->source != source) lines = tlg_source_lines(&w->t, *at);
        source = at->source;
        col[k++] = tlg_place(lines, end ? at->end : at->begin);
    }
    return put_column(w, k);
}

static bool column_begin(TlgWriter *w, const void *from) {
    (void)from;
    return put_places(w, false);
}

static bool column_end(TlgWriter *w, const void *from) {
    (void)from;
    return put_places(w, true);
}

static bool column_rule(TlgWriter *w, const void *from) {
    uint32_t k = 0, *col = w->col.p;
    (void)from;
    if (!w->origins) return false;
    for (ApplyId a = w->from; a < w->to; a++)
        col[k++] = rule_number(&w->t, w->n->g->origin[a].rule);
    return put_column(w, k);
}

enum {
    C_PROPS,
    C_NIN,
    C_NOUT,
    C_IN,
    C_TYPE,
    C_SERIAL,
    C_SOURCE, /* from here on: the Applies' origins, left out where none is known */
    C_BEGIN,
    C_END,
    C_RULE,
    NCOLUMN
};
#define COLUMN(i, key, write) [i] = {key, tlg_read_column, write, (i) * sizeof(Column)}
static const TlgField columns[NCOLUMN] = {COLUMN(C_PROPS, "props", column_props),
                                          COLUMN(C_NIN, "nin", column_nin),
                                          COLUMN(C_NOUT, "nout", column_nout),
                                          COLUMN(C_IN, "in", column_in),
                                          COLUMN(C_TYPE, "type", column_types),
                                          COLUMN(C_SERIAL, "serial", column_serial),
                                          COLUMN(C_SOURCE, "source", column_source),
                                          COLUMN(C_BEGIN, "begin", column_begin),
                                          COLUMN(C_END, "end", column_end),
                                          COLUMN(C_RULE, "rule", column_rule)};

/* ---- writing ---- */

void tlg_write_applies(TlgWriter *w) {
    const Graph *g = w->n->g;
    for (ApplyId a = 0; a < g->napply; a = w->to) {
        w->from = a;
        w->to = g->napply - a < TLG_CHUNK ? g->napply : a + TLG_CHUNK;
        uint32_t in_end = w->to < g->napply ? g->apply[w->to].in : g->nin;
        vec_reserve(w->s, &w->col,
                    in_end - g->apply[a].in + (size_t)(g->nvar - g->apply[a].out) + 1);
        w->origins = any_origin(w);
        tlg_write_section(w, "applies", TLG_FIELDS(columns), NULL);
        tlg_flush(w);
    }
}

/* ---- reading ---- */

typedef struct ApplyChunk {
    size_t n;
    const uint32_t *col[NCOLUMN];
    const Type **type;
    size_t nin, ntype, nserial;
    bool origin;
} ApplyChunk;

static bool origin_at(TlgReader *t, const ApplyChunk *k, size_t i, Origin *o) {
    uint32_t source = k->col[C_SOURCE][i], rule = k->col[C_RULE][i];
    *o = (Origin){NOWHERE, rule ? t->rule[rule - 1] : 0};
    if (!source) return true;
    o->at = (Span){t->source[source - 1], k->col[C_BEGIN][i], k->col[C_END][i]};
    return (o->at.begin <= o->at.end && o->at.end <= t->source_len[source - 1]) ||
           cbor_fail(&t->c, "a span beyond its source");
}

static bool bad_arity(TlgReader *t, const TlgOp *op, uint32_t nin) {
    return cbor_fail(&t->c, "the op \"%s\" with %u inputs", op->op->name, nin);
}

/* Are the inputs variables of g so far? */
static inline bool are_computed(TlgReader *t, uint32_t nin, const Var *in) {
    Var nvar = t->g->nvar;
    for (uint32_t i = 0; i < nin; i++)
        if (in[i] >= nvar)
            return cbor_fail(
                &t->c, "an Apply that reads variable %u before it is computed", in[i]);
    return true;
}

static bool add_applies(TlgReader *t, const ApplyChunk *k) {
    Graph *g = t->g;
    const uint32_t *props = k->col[C_PROPS], *nins = k->col[C_NIN],
                   *nouts = k->col[C_NOUT], *in = k->col[C_IN],
                   *serial = k->col[C_SERIAL], *serial_end = serial + k->nserial;
    const Type **out = k->type;
    size_t in_left = k->nin, out_left = k->ntype;
    for (size_t i = 0; i < k->n; i++) {
        Origin from = {NOWHERE, 0};
        const TlgOp *op = &t->props[props[i]];
        uint32_t nin = nins[i], nout = nouts[i];
        if (nin > in_left || nout > out_left || nout == 0)
            return cbor_fail(&t->c, "columns that are too short");
        if (nin < op->min_in || nin > op->max_in) return bad_arity(t, op, nin);
        if (!are_computed(t, nin, in)) return false;
        bool own = serial < serial_end && *serial == i;
        if (k->origin && !origin_at(t, k, i, &from)) return false;
        if (own)
            graph_apply(g, op->op, op->props, nin, in, nout, out, false, true, from);
        else
            graph_append(g, op->op, op->props, nin, in, nout, out, from);
        in += nin, in_left -= nin;
        out += nout, out_left -= nout;
        serial += own;
    }
    return (in_left == 0 && out_left == 0 && serial == serial_end) ||
           cbor_fail(&t->c, "columns that are too long");
}

static bool same_lengths(TlgReader *t, const Column *c, unsigned seen, ApplyChunk *k) {
    k->n = c[C_PROPS].n;
    k->nin = c[C_IN].n;
    k->ntype = c[C_TYPE].n;
    k->nserial = c[C_SERIAL].n;
    k->origin = seen >> C_SOURCE == 15;
    bool ok = (seen & 31) == 31 && k->n <= TLG_CHUNK && c[C_NIN].n == k->n &&
              c[C_NOUT].n == k->n;
    for (int i = C_SOURCE; i < NCOLUMN; i++)
        ok = ok && (!k->origin || c[i].n == k->n);
    return ok || cbor_fail(&t->c, "columns of Applies that don't belong together");
}

/* Reserves room for a section; after a full first one of `bytes`, for as many more as
 * the rest of the input can hold. */
static void reserve_chunk(TlgReader *t, const ApplyChunk *k, size_t bytes) {
    size_t left = (size_t)(t->c.end - t->c.p), times = 1;
    if (t->g->napply == 0 && k->n == TLG_CHUNK) times += left / bytes;
    if (times > TLG_MOST) times = TLG_MOST;
    graph_reserve(t->g, (uint32_t)(k->n * times), (uint32_t)(k->ntype * times),
                  (uint32_t)(k->nin * times));
}

bool tlg_read_applies(TlgReader *t) {
    const unsigned char *begin = t->c.p;
    const uint64_t none = UINT64_C(1) << 32;
    const uint64_t limit[NCOLUMN] = {t->nprops, UINT16_MAX + 1, OUT_MAX + 1,    none,
                                     t->ntype,  TLG_CHUNK,      t->nsource + 1, none,
                                     none,      t->nrule + 1};
    Column c[NCOLUMN] = {0};
    unsigned seen;
    ApplyChunk k = {0};
    if (!t->g || t->interface) return cbor_fail(&t->c, "Applies out of place");
    t->closed = true;
    if (!tlg_read_fields(t, TLG_FIELDS(columns), c, &seen) ||
        !same_lengths(t, c, seen, &k))
        return false;
    for (int i = 0; i < NCOLUMN; i++)
        if (!column_u32(&t->c, &c[i], t->tmp, limit[i], columns[i].key, &k.col[i]))
            return false;
    k.type = arena_alloc(t->tmp, (k.ntype + 1) * sizeof *k.type);
    for (size_t i = 0; i < k.ntype; i++)
        k.type[i] = t->type[k.col[C_TYPE][i]];
    reserve_chunk(t, &k, (size_t)(t->c.p - begin));
    return add_applies(t, &k);
}
