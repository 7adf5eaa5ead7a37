/* The tables of a tlg: sources, rules, types, ops and props, each numbered in order of
 * first use, so that equal graphs give equal bytes whatever else the session has
 * read. */
#include "io/tlg.h"

#include <string.h>

void tlg_section(Str *b, const char *key) {
    cbor_put_head(b, CB_MAP, 1);
    cbor_put_text(b, key);
}

void tlg_flush(Str *b, Sink *k) {
    sink_add(k, b->p, b->n);
    str_clear(b);
}

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

static void use_source(TlgTables *t, Span at) {
    uint64_t no = 0;
    if (!source_get(t->s, at.source)) return;
    bool first = t->sources.n && t->sources.p[0].source == at.source;
    if (!first && !map_get(&t->source_no, at.source, &no)) {
        map_put(&t->source_no, at.source, no = t->sources.n);
        vec_push(t->s, &t->sources, ((TlgSource){at.source, at.begin, at.end}));
    }
    TlgSource *u = &t->sources.p[no];
    if (at.begin < u->begin) u->begin = at.begin;
    if (at.end > u->end) u->end = at.end;
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
static void use_var(TlgTables *t, const Graph *g, Var v) {
    const Type *type = g->var[v].type;
    if (type->id >= t->type_no.n || !t->type_no.p[type->id]) use_type(t, type);
}

void tlg_tables_collect(TlgTables *t, const Numbering *n, bool places,
                        uint32_t *props_of) {
    const Graph *g = n->g;
    RecentProps recent[RECENT] = {0};
    for (uint32_t i = 0; i < n->nleaf; i++)
        use_var(t, g, n->leaf[i]);
    for (Var v = 0; v < g->nvar; v++)
        if (!g->var[v].leaf) use_var(t, g, v);
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *r = &g->apply[a];
        RecentProps *c = &recent[((uintptr_t)r->op / 64 + r->props->id) % RECENT];
        if (c->op != r->op || c->props != r->props)
            *c = (RecentProps){r->op, r->props, use_props(t, r)};
        props_of[a] = c->no;
        use_rule(t, g->origin[a].rule);
        if (places) use_source(t, g->origin[a].at);
    }
}

void tlg_tables_free(TlgTables *t) {
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

/* ---- writing ---- */

/* The range of whole lines that contains all uses of a source; stored in u. */
static void write_source(Session *s, TlgSource *u, Str *b, Sink *k) {
    const Source *src = source_get(s, u->source);
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
    tlg_flush(b, k);
    sink_add(k, src->text + u->begin, n);
}

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

static void write_props(Session *s, const TlgProps *p, Str *b) {
    const Signature *sig = op_signature(s, p->op);
    cbor_put_head(b, CB_ARRAY, 2);
    cbor_put_int(b, p->opno);
    cbor_put_head(b, CB_MAP, p->props->n);
    for (size_t i = 0; i < p->props->n; i++) {
        cbor_put_text(b, sym_text(s, sig->prop[i].name));
        write_prop(s, &p->props->p[i], b);
    }
}

void tlg_tables_write(TlgTables *t, Str *b, Sink *k) {
    tlg_section(b, "sources");
    cbor_put_head(b, CB_ARRAY, t->sources.n);
    for (size_t i = 0; i < t->sources.n; i++)
        write_source(t->s, &t->sources.p[i], b, k);
    tlg_section(b, "rules");
    cbor_put_head(b, CB_ARRAY, t->rules.n);
    for (size_t i = 0; i < t->rules.n; i++)
        cbor_put_text(b, sym_text(t->s, t->rules.p[i]));
    tlg_section(b, "types");
    cbor_put_head(b, CB_ARRAY, t->types.n);
    for (size_t i = 0; i < t->types.n; i++)
        write_type(t->s, t->types.p[i], b);
    tlg_section(b, "ops");
    cbor_put_head(b, CB_ARRAY, t->ops.n);
    for (size_t i = 0; i < t->ops.n; i++) {
        cbor_put_head(b, CB_ARRAY, 2);
        cbor_put_text(b, t->ops.p[i]->name);
        cbor_put_int(b, t->ops.p[i]->version ? t->ops.p[i]->version : 1);
    }
    tlg_section(b, "props");
    cbor_put_head(b, CB_ARRAY, t->props.n);
    for (size_t i = 0; i < t->props.n; i++)
        write_props(t->s, &t->props.p[i], b);
    tlg_flush(b, k);
}
