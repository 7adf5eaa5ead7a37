/* The tables of a tlg: sources, rules, types, ops and props, each numbered in order of
 * first use, so that equal graphs give equal bytes whatever else the session has read.
 * Reading looks every name up here, once. */
#include "io/tlg/tlg.h"
#include "userop/userop.h"

#include <string.h>

/* ---- collecting ---- */

static void use_type(TlgTables *t, const Type *type) {
    while (t->type_no.n <= type->id)
        vec_push(t->s, &t->type_no, 0);
    uint32_t *no = &t->type_no.p[type->id];
    if (*no) return;
    vec_push(t->s, &t->types, type);
    *no = (uint32_t)t->types.n;
}

static uint32_t use_op(TlgTables *t, const Op *op) {
    uint64_t no;
    if (map_get(&t->op_no, (uint64_t)(uintptr_t)op, &no)) return (uint32_t)no;
    map_put(&t->op_no, (uint64_t)(uintptr_t)op, t->ops.n);
    vec_push(t->s, &t->ops, op);
    return (uint32_t)t->ops.n - 1;
}

static uint32_t use_props(TlgTables *t, const Apply *a) {
    uint32_t opno = use_op(t, a->op);
    uint64_t key = (uint64_t)opno << 32 | a->props->id, no;
    if (map_get(&t->props_no, key, &no)) return (uint32_t)no;
    map_put(&t->props_no, key, t->props.n);
    vec_push(t->s, &t->props, ((TlgProps){a->op, opno, a->props}));
    return (uint32_t)t->props.n - 1;
}

static void use_rule(TlgTables *t, Sym rule) {
    uint64_t no;
    if (!rule || map_get(&t->rule_no, rule, &no)) return;
    map_put(&t->rule_no, rule, t->rules.n);
    vec_push(t->s, &t->rules, rule);
}

uint32_t tlg_source_number(const TlgTables *t, Span at) {
    uint64_t no;
    if (at.source && t->sources.n && t->sources.p[0].source == at.source) return 1;
    return at.source && map_get(&t->source_no, at.source, &no) ? (uint32_t)no + 1 : 0;
}

static void widen_source(TlgSource *u, Span at) {
    if (at.begin < u->begin) u->begin = at.begin;
    if (at.end > u->end) u->end = at.end;
}

/* A source as it was called follows the text and the call, so it is never the first. */
static void use_any_source(TlgTables *t, Span at) {
    uint64_t no = 0;
    const Source *src = source_get(t->s, at.source);
    if (!src) return;
    if (src->calls) use_any_source(t, (Span){src->of, at.begin, at.end});
    if (src->calls && !tlg_source_number(t, at)) use_any_source(t, src->called);
    if (!map_get(&t->source_no, at.source, &no)) {
        map_put(&t->source_no, at.source, no = t->sources.n);
        vec_push(t->s, &t->sources, ((TlgSource){at.source, at.begin, at.end}));
    }
    widen_source(&t->sources.p[no], at);
}

static inline void use_source(TlgTables *t, Span at) {
    if (t->sources.n && t->sources.p[0].source == at.source)
        widen_source(&t->sources.p[0], at);
    else
        use_any_source(t, at);
}

TlgSource tlg_source_lines(const TlgTables *t, Span at) {
    const Source *src = source_get(t->s, at.source);
    if (src) at.source = src->of;
    uint32_t no = tlg_source_number(t, at);
    return no ? t->sources.p[no - 1] : (TlgSource){0};
}

/* Most Applies have the op and props of a recent one. */
enum { RECENT = 256 };
typedef struct RecentProps {
    const Op *op;
    const Props *props;
    uint32_t no;
} RecentProps;

/* Types follow the numbering, not the graph, so that a graph that was read is written
 * as the same bytes. */
static void use_types(TlgTables *t, const Numbering *n) {
    const Graph *g = n->g;
    const Type *last = NULL;
    for (uint32_t i = 0; i < n->nleaf; i++)
        if (g->var[n->leaf[i]].type != last)
            use_type(t, last = g->var[n->leaf[i]].type);
    for (Var v = 0; v < g->nvar; v++)
        if (!g->var[v].leaf && g->var[v].type != last)
            use_type(t, last = g->var[v].type);
}

void tlg_collect_tables(TlgWriter *w, Numbering *n) {
    TlgTables *t = &w->t;
    const Graph *g = n->g;
    RecentProps recent[RECENT] = {0};
    Sym rule = 0; /* of the Apply before */
    use_types(t, n);
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *r = &g->apply[a];
        RecentProps *c = &recent[((uintptr_t)r->op / 64 + r->props->id) % RECENT];
        if (c->op != r->op || c->props != r->props)
            *c = (RecentProps){r->op, r->props, use_props(t, r)};
        n->props_of[a] = c->no;
        if (g->origin[a].rule != rule) use_rule(t, rule = g->origin[a].rule);
        if (!w->options->no_provenance) use_source(t, g->origin[a].at);
    }
}

void tlg_free_tables(TlgTables *t) {
    map_free(&t->op_no);
    map_free(&t->props_no);
    map_free(&t->source_no);
    map_free(&t->rule_no);
    vec_free(&t->type_no);
    vec_free(&t->types);
    vec_free(&t->ops);
    vec_free(&t->props);
    vec_free(&t->sources);
    vec_free(&t->rules);
}

static bool begin_table(TlgReader *t, size_t have, size_t *n) {
    if (t->g || have) return cbor_fail(&t->c, "a table occurs twice or too late");
    return cbor_array(&t->c, n);
}

/* ---- sources ---- */

/* The range of whole lines that contains all uses of a source; stored in u. */
static void write_source(TlgWriter *w, TlgSource *u) {
    const Source *src = source_get(w->s, u->source);
    Str *b = &w->b;
    uint32_t len = (uint32_t)src->len, line = src->first_line;
    if (u->begin > len) u->begin = len;
    if (u->end > len) u->end = len;
    while (u->begin > 0 && src->text[u->begin - 1] != '\n')
        u->begin--;
    while (u->end < len && src->text[u->end] != '\n')
        u->end++;
    for (uint32_t i = 0; i < u->begin; i++)
        line += src->text[i] == '\n';
    cbor_put_head(b, CB_ARRAY, 4);
    cbor_put_text(b, src->name);
    cbor_put_int(b, line);
    cbor_put_int(b, u->begin == 0 ? src->first_col : 1);
    size_t n = u->end > u->begin ? u->end - u->begin : 0;
    cbor_put_text_head(b, src->text + u->begin, n);
    tlg_flush(w);
    sink_add(w->sink, src->text + u->begin, n);
}

static void write_called_source(TlgWriter *w, const Source *src) {
    Str *b = &w->b;
    cbor_put_head(b, CB_ARRAY, 4);
    cbor_put_int(b, tlg_source_number(&w->t, (Span){src->of, 0, 0}) - 1);
    cbor_put_int(b, tlg_source_number(&w->t, src->called) - 1);
    TlgSource lines = tlg_source_lines(&w->t, src->called);
    cbor_put_int(b, tlg_place(lines, src->called.begin));
    cbor_put_int(b, tlg_place(lines, src->called.end));
}

static void write_sources(TlgWriter *w) {
    tlg_section(&w->b, "sources");
    cbor_put_head(&w->b, CB_ARRAY, w->t.sources.n);
    for (size_t i = 0; i < w->t.sources.n; i++) {
        const Source *src = source_get(w->s, w->t.sources.p[i].source);
        if (src->calls)
            write_called_source(w, src);
        else
            write_source(w, &w->t.sources.p[i]);
    }
}

static bool read_called_source(TlgReader *t, size_t i) {
    uint64_t of, call, begin, end;
    if (i == 0) return cbor_fail(&t->c, "a source of an earlier one, which is missing");
    if (!cbor_uint(&t->c, i - 1, &of) || !cbor_uint(&t->c, i - 1, &call) ||
        !cbor_uint(&t->c, t->source_len[call], &begin) ||
        !cbor_uint(&t->c, t->source_len[call], &end))
        return false;
    if (begin > end || source_get(t->s, t->source[of])->calls)
        return cbor_fail(&t->c, "a source that can't have been called");
    Span at = {t->source[call], (uint32_t)begin, (uint32_t)end};
    t->source[i] = source_called(t->s, t->source[of], at);
    t->source_len[i] = t->source_len[of];
    return true;
}

enum { KEEP_FROM = 1 << 20 }; /* bytes of a text that isn't copied */

static bool read_source(TlgReader *t, size_t i) {
    size_t parts, n;
    Sym name;
    const char *p;
    uint64_t line, col;
    if (!cbor_array(&t->c, &parts)) return false;
    if (parts != 4) return cbor_fail(&t->c, "a source has four parts");
    if (cbor_major(&t->c) == CB_UINT) return read_called_source(t, i);
    if (!cbor_sym(&t->c, &name) || !cbor_uint(&t->c, UINT32_MAX, &line) ||
        !cbor_uint(&t->c, UINT32_MAX, &col) || !cbor_text(&t->c, &p, &n))
        return false;
    if (n >= UINT32_MAX) return cbor_fail(&t->c, "a source of more than 4 GiB");
    t->source_len[i] = (uint32_t)n;
    bool there = n >= KEEP_FROM && input_keep(t->in);
    t->source[i] = (there ? source_add_there : source_add_at)(
        t->s, sym_text(t->s, name), p, n, (uint32_t)line, (uint32_t)col);
    return true;
}

bool tlg_read_sources(TlgReader *t) {
    size_t n;
    if (!begin_table(t, t->nsource, &n)) return false;
    t->source = arena_alloc(t->a, (n + 1) * sizeof *t->source);
    t->source_len = arena_alloc(t->a, (n + 1) * sizeof *t->source_len);
    for (t->nsource = 0; t->nsource < n; t->nsource++)
        if (!read_source(t, t->nsource)) return false;
    return true;
}

/* ---- rules ---- */

static void write_rules(TlgWriter *w) {
    tlg_section(&w->b, "rules");
    cbor_put_head(&w->b, CB_ARRAY, w->t.rules.n);
    for (size_t i = 0; i < w->t.rules.n; i++)
        cbor_put_text(&w->b, sym_text(w->s, w->t.rules.p[i]));
}

bool tlg_read_rules(TlgReader *t) {
    size_t n;
    if (!begin_table(t, t->nrule, &n)) return false;
    t->rule = arena_alloc(t->a, (n + 1) * sizeof *t->rule);
    for (t->nrule = 0; t->nrule < n; t->nrule++)
        if (!cbor_sym(&t->c, &t->rule[t->nrule])) return false;
    return true;
}

/* ---- types ---- */

static void write_type(Session *s, const Type *t, Str *b) {
    if (t->kind != TYPE_TENSOR) {
        cbor_put_text(b, type_str(s, t));
        return;
    }
    cbor_put_head(b, CB_ARRAY, 1 + (size_t)t->ndim);
    cbor_put_text(b, dtype_name(t->dtype));
    for (int i = 0; i < t->ndim; i++) {
        if (dim_is_named(t->dim[i]))
            cbor_put_text(b, sym_text(s, dim_sym(t->dim[i])));
        else if (t->dim[i] == DIM_UNKNOWN)
            cbor_put_null(b);
        else
            cbor_put_int(b, t->dim[i]);
    }
}

static void write_types(TlgWriter *w) {
    tlg_section(&w->b, "types");
    cbor_put_head(&w->b, CB_ARRAY, w->t.types.n);
    for (size_t i = 0; i < w->t.types.n; i++)
        write_type(w->s, w->t.types.p[i], &w->b);
}

static bool read_dim(TlgReader *t, Dim *d) {
    Sym y;
    if (cbor_null(&t->c)) {
        *d = DIM_UNKNOWN;
        return true;
    }
    if (cbor_major(&t->c) != CB_TEXT) {
        uint64_t v;
        bool ok = cbor_uint(&t->c, INT64_MAX, &v);
        if (ok) *d = (Dim)v;
        return ok;
    }
    if (!cbor_sym(&t->c, &y)) return false;
    const char *name = sym_text(t->s, y);
    *d = DIM_NAMED(y);
    return word_is_name(name, strlen(name)) ||
           cbor_fail(&t->c, "a dim with the name \"%s\"", name);
}

static const Type *read_type(TlgReader *t) {
    const char *p;
    size_t n, ndim;
    if (cbor_major(&t->c) != CB_ARRAY) {
        if (!cbor_text(&t->c, &p, &n)) return NULL;
        return type_parse(t->s, p, n, NOWHERE);
    }
    if (!cbor_array(&t->c, &ndim)) return NULL;
    if (ndim < 1 || ndim > 1 + MAX_NDIM) {
        cbor_fail(&t->c, "a type of %zu parts", ndim);
        return NULL;
    }
    if (!cbor_text(&t->c, &p, &n)) return NULL;
    DType d = dtype_find(p, n);
    if (d == DT_NONE) {
        cbor_fail(&t->c, "there is no dtype \"%.*s\"", (int)(n > 40 ? 40 : n), p);
        return NULL;
    }
    Dim dim[MAX_NDIM];
    for (size_t i = 0; i + 1 < ndim; i++)
        if (!read_dim(t, &dim[i])) return NULL;
    return type_tensor(t->s, d, (int)ndim - 1, dim);
}

bool tlg_read_types(TlgReader *t) {
    size_t n;
    if (!begin_table(t, t->ntype, &n)) return false;
    t->type = arena_alloc(t->a, (n + 1) * sizeof *t->type);
    for (t->ntype = 0; t->ntype < n; t->ntype++)
        if (!(t->type[t->ntype] = read_type(t))) return false;
    return true;
}

/* ---- ops ---- */

static void write_ops(TlgWriter *w) {
    tlg_section(&w->b, "ops");
    cbor_put_head(&w->b, CB_ARRAY, w->t.ops.n);
    for (size_t i = 0; i < w->t.ops.n; i++) {
        const Op *op = w->t.ops.p[i];
        cbor_put_head(&w->b, CB_ARRAY, 2);
        cbor_put_text(&w->b, op->name);
        cbor_put_int(&w->b, op->version ? op->version : 1);
    }
}

static bool read_op(TlgReader *t, const Op **op) {
    size_t parts;
    Sym y;
    uint64_t version;
    if (!cbor_array(&t->c, &parts)) return false;
    if (parts != 2) return cbor_fail(&t->c, "an op is a name and a version");
    if (!cbor_sym(&t->c, &y) || !cbor_uint(&t->c, UINT16_MAX, &version)) return false;
    return userop_find(t->s, sym_text(t->s, y), version, NOWHERE, t->c.name, op);
}

bool tlg_read_ops(TlgReader *t) {
    size_t n;
    if (!begin_table(t, t->nop, &n)) return false;
    t->op = arena_alloc(t->a, (n + 1) * sizeof *t->op);
    for (t->nop = 0; t->nop < n; t->nop++)
        if (!read_op(t, &t->op[t->nop])) return false;
    return true;
}

/* ---- a prop ---- */

static void write_tagged(Str *b, const char *key, const char *text) {
    cbor_put_head(b, CB_MAP, 1);
    cbor_put_text(b, key);
    cbor_put_text(b, text);
}

static void write_prop(Session *s, const Prop *p, Str *b) {
    switch (p->kind) {
    case P_NONE:
        cbor_put_null(b);
        break;
    case P_BOOL:
        cbor_put_bool(b, p->i != 0);
        break;
    case P_INT:
        cbor_put_int(b, p->i);
        break;
    case P_FLOAT:
        cbor_put_f64(b, p->f);
        break;
    case P_STR:
        cbor_put_text(b, sym_text(s, p->sym));
        break;
    case P_DTYPE:
        write_tagged(b, "dtype", dtype_name((DType)p->i));
        break;
    case P_GRAPH:
        write_tagged(b, "graph", sym_text(s, p->sym));
        break;
    case P_INTS:
        cbor_put_head(b, CB_ARRAY, p->ints.n);
        for (size_t i = 0; i < p->ints.n; i++)
            cbor_put_int(b, p->ints.p[i]);
        break;
    }
}

static bool read_ints(TlgReader *t, Prop *p) {
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    int64_t *v = arena_alloc(t->tmp, (n + 1) * sizeof *v);
    for (size_t i = 0; i < n; i++)
        if (!cbor_int(&t->c, &v[i])) return false;
    *p = (Prop){.kind = P_INTS, .ints = {v, n}};
    return true;
}

static bool read_tagged(TlgReader *t, Prop *p) {
    size_t n;
    Sym key, y;
    if (!cbor_map(&t->c, &n)) return false;
    if (n != 1) return cbor_fail(&t->c, "expected a dtype or a graph");
    if (!cbor_sym(&t->c, &key) || !cbor_sym(&t->c, &y)) return false;
    const char *text = sym_text(t->s, y);
    if (strcmp(sym_text(t->s, key), "graph") == 0) {
        *p = (Prop){.kind = P_GRAPH, .sym = y};
        return true;
    }
    *p = (Prop){.kind = P_DTYPE, .i = dtype_find(text, strlen(text))};
    return (strcmp(sym_text(t->s, key), "dtype") == 0 && p->i != DT_NONE) ||
           cbor_fail(&t->c, "expected a dtype or a graph");
}

static bool read_prop(TlgReader *t, Prop *p) {
    Cbor *c = &t->c;
    bool flag;
    if (cbor_null(c)) {
        *p = (Prop){.kind = P_NONE};
        return true;
    }
    switch (cbor_major(c)) {
    case CB_ARRAY:
        return read_ints(t, p);
    case CB_MAP:
        return read_tagged(t, p);
    case CB_UINT:
    case CB_NINT:
        *p = (Prop){.kind = P_INT};
        return cbor_int(c, &p->i);
    case CB_SIMPLE:
        if (c->p < c->end && *c->p == 0xFB) {
            *p = (Prop){.kind = P_FLOAT};
            return cbor_f64(c, &p->f);
        }
        if (!cbor_bool(c, &flag)) return false;
        *p = (Prop){.kind = P_BOOL, .i = flag};
        return true;
    default:
        *p = (Prop){.kind = P_STR};
        if (!cbor_sym(c, &p->sym)) return false;
        if (!p->sym) p->sym = sym_n(c->s, "", 0); /* an empty text is still a text */
        return true;
    }
}

/* ---- props ---- */

static void write_op_props(Session *s, const TlgProps *p, Str *b) {
    const Signature *sig = op_signature(s, p->op);
    cbor_put_head(b, CB_ARRAY, 2);
    cbor_put_int(b, p->opno);
    cbor_put_head(b, CB_MAP, p->props->n);
    for (size_t i = 0; i < p->props->n; i++) {
        cbor_put_text(b, sym_text(s, sig->prop[i].name));
        write_prop(s, &p->props->p[i], b);
    }
}

static void write_props(TlgWriter *w) {
    tlg_section(&w->b, "props");
    cbor_put_head(&w->b, CB_ARRAY, w->t.props.n);
    for (size_t i = 0; i < w->t.props.n; i++)
        write_op_props(w->s, &w->t.props.p[i], &w->b);
}

static bool prop_kind_fits(const PropDef *d, PropKind k) {
    if (k == P_NONE)
        return d->none || d->type == T_AXES ||
               (!d->required && d->value.kind == P_NONE);
    switch (d->type) {
    case T_BOOL:
        return k == P_BOOL;
    case T_INT:
    case T_AXIS:
        return k == P_INT;
    case T_FLOAT:
        return k == P_FLOAT;
    case T_STR:
        return k == P_STR;
    case T_KEY:
        return k == P_FLOAT || k == P_STR;
    case T_DTYPE:
        return k == P_DTYPE;
    case T_INTS:
        return k == P_INTS;
    case T_SIDES:
        return k == P_INTS || k == P_STR;
    case T_AXES:
        return k == P_INTS || k == P_INT;
    case T_GRAPH:
        return k == P_GRAPH;
    }
    return false;
}

static bool read_named_props(TlgReader *t, const Op *op, const Signature *sig, Prop *v,
                             bool *have) {
    size_t n;
    Sym y;
    if (!cbor_map(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (!cbor_sym(&t->c, &y)) return false;
        size_t k = 0;
        while (k < sig->nprop && sig->prop[k].name != y)
            k++;
        if (k == sig->nprop || have[k])
            return cbor_fail(&t->c, "the op \"%s\" has %s prop \"%s\"", op->name,
                             k == sig->nprop ? "no" : "twice the", sym_text(t->s, y));
        if (!read_prop(t, &v[k])) return false;
        if (!prop_kind_fits(&sig->prop[k], v[k].kind))
            return cbor_fail(&t->c,
                             "the prop \"%s\" of the op \"%s\" has the wrong kind",
                             sym_text(t->s, y), op->name);
        have[k] = true;
    }
    return true;
}

static bool read_op_props(TlgReader *t, TlgOp *out) {
    size_t parts;
    uint64_t no;
    if (!cbor_array(&t->c, &parts)) return false;
    if (parts != 2) return cbor_fail(&t->c, "expected an op and its props");
    if (t->nop == 0) return cbor_fail(&t->c, "props without ops");
    if (!cbor_uint(&t->c, t->nop - 1, &no)) return false;
    const Op *op = t->op[no];
    const Signature *sig = op_signature(t->s, op);
    Prop *v = NEW_N(t->tmp, sig->nprop + 1, Prop);
    bool *have = NEW_N(t->tmp, sig->nprop + 1, bool);
    if (!read_named_props(t, op, sig, v, have)) return false;
    for (size_t i = 0; i < sig->nprop; i++) {
        if (!have[i] && sig->prop[i].required)
            return cbor_fail(&t->c, "the op \"%s\" needs the prop \"%s\"", op->name,
                             sym_text(t->s, sig->prop[i].name));
        if (!have[i]) v[i] = sig->prop[i].value;
    }
    bool rest = sig->nin && sig->in[sig->nin - 1].rest;
    *out = (TlgOp){op, props_intern(t->s, sig->nprop, v), sig->least,
                   rest ? UINT16_MAX : sig->nin};
    arena_reset(t->tmp);
    return true;
}

bool tlg_read_props(TlgReader *t) {
    size_t n;
    if (!begin_table(t, t->nprops, &n)) return false;
    t->props = arena_alloc(t->a, (n + 1) * sizeof *t->props);
    for (t->nprops = 0; t->nprops < n; t->nprops++)
        if (!read_op_props(t, &t->props[t->nprops])) return false;
    return true;
}

void tlg_write_tables(TlgWriter *w) {
    write_sources(w);
    write_rules(w);
    write_types(w);
    write_ops(w);
    write_props(w);
    tlg_flush(w);
}
