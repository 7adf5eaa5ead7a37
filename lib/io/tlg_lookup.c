/* Reads the tables of a tlg: types, ops, props, sources, rules. Every name is looked up
 * here, once. */
#include "io/tlg.h"
#include "userop/userop.h"

#include <string.h>

bool tlg_fields(Tlg *t, size_t n, const TlgField *field, void *into, unsigned *seen) {
    size_t count, len;
    const char *key;
    *seen = 0;
    if (!cbor_map(&t->c, &count)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!cbor_key(&t->c, &key, &len)) return false;
        size_t k = 0;
        while (k < n &&
               (strlen(field[k].key) != len || memcmp(field[k].key, key, len) != 0))
            k++;
        if (k == n) {
            if (!cbor_skip(&t->c)) return false;
            continue;
        }
        if (*seen & 1U << k)
            return cbor_fail(&t->c, "\"%s\" occurs twice", field[k].key);
        *seen |= 1U << k;
        if (!field[k].read(t, into)) return false;
    }
    return true;
}

static bool begin_table(Tlg *t, size_t have, size_t *n) {
    if (t->g || have) return cbor_fail(&t->c, "a table occurs twice or too late");
    return cbor_array(&t->c, n);
}

/* ---- types ---- */

static bool read_tlg_dim(Tlg *t, Dim *d) {
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

static const Type *read_tlg_type(Tlg *t) {
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
        if (!read_tlg_dim(t, &dim[i])) return NULL;
    return type_tensor(t->s, d, (int)ndim - 1, dim);
}

bool tlg_types(Tlg *t) {
    size_t n;
    if (!begin_table(t, t->ntype, &n)) return false;
    t->type = arena_alloc(t->a, (n + 1) * sizeof *t->type);
    for (t->ntype = 0; t->ntype < n; t->ntype++)
        if (!(t->type[t->ntype] = read_tlg_type(t))) return false;
    return true;
}

/* ---- ops ---- */

static bool read_op(Tlg *t, const Op **op) {
    size_t parts;
    Sym y;
    uint64_t version;
    if (!cbor_array(&t->c, &parts)) return false;
    if (parts != 2) return cbor_fail(&t->c, "an op is a name and a version");
    if (!cbor_sym(&t->c, &y) || !cbor_uint(&t->c, UINT16_MAX, &version)) return false;
    return userop_find(t->s, sym_text(t->s, y), version, NOWHERE, t->c.name, op);
}

bool tlg_ops(Tlg *t) {
    size_t n;
    if (!begin_table(t, t->nop, &n)) return false;
    t->op = arena_alloc(t->a, (n + 1) * sizeof *t->op);
    for (t->nop = 0; t->nop < n; t->nop++)
        if (!read_op(t, &t->op[t->nop])) return false;
    return true;
}

/* ---- props ---- */

static bool read_ints(Tlg *t, Prop *p) {
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    int64_t *v = arena_alloc(t->tmp, (n + 1) * sizeof *v);
    for (size_t i = 0; i < n; i++)
        if (!cbor_int(&t->c, &v[i])) return false;
    *p = (Prop){.kind = P_INTS, .ints = {v, n}};
    return true;
}

static bool read_tagged(Tlg *t, Prop *p) {
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

static bool read_tlg_prop(Tlg *t, Prop *p) {
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

static bool read_named_props(Tlg *t, const Op *op, const Signature *sig, Prop *v,
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
        if (!read_tlg_prop(t, &v[k])) return false;
        if (!prop_kind_fits(&sig->prop[k], v[k].kind))
            return cbor_fail(&t->c,
                             "the prop \"%s\" of the op \"%s\" has the wrong kind",
                             sym_text(t->s, y), op->name);
        have[k] = true;
    }
    return true;
}

static bool read_op_props(Tlg *t, TlgOp *out) {
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

bool tlg_props(Tlg *t) {
    size_t n;
    if (!begin_table(t, t->nprops, &n)) return false;
    t->props = arena_alloc(t->a, (n + 1) * sizeof *t->props);
    for (t->nprops = 0; t->nprops < n; t->nprops++)
        if (!read_op_props(t, &t->props[t->nprops])) return false;
    return true;
}

/* ---- origins ---- */

static bool read_source(Tlg *t, size_t i) {
    size_t parts, n, len;
    Sym name;
    const char *p;
    uint64_t line, col;
    (void)len;
    if (!cbor_array(&t->c, &parts)) return false;
    if (parts != 4) return cbor_fail(&t->c, "a source has four parts");
    if (!cbor_sym(&t->c, &name) || !cbor_uint(&t->c, UINT32_MAX, &line) ||
        !cbor_uint(&t->c, UINT32_MAX, &col) || !cbor_text(&t->c, &p, &n))
        return false;
    if (n >= UINT32_MAX) return cbor_fail(&t->c, "a source of more than 4 GiB");
    t->source_len[i] = (uint32_t)n;
    t->source[i] =
        source_add_at(t->s, sym_text(t->s, name), p, n, (uint32_t)line, (uint32_t)col);
    return true;
}

bool tlg_sources(Tlg *t) {
    size_t n;
    if (!begin_table(t, t->nsource, &n)) return false;
    t->source = arena_alloc(t->a, (n + 1) * sizeof *t->source);
    t->source_len = arena_alloc(t->a, (n + 1) * sizeof *t->source_len);
    for (t->nsource = 0; t->nsource < n; t->nsource++)
        if (!read_source(t, t->nsource)) return false;
    return true;
}

bool tlg_rules(Tlg *t) {
    size_t n;
    if (!begin_table(t, t->nrule, &n)) return false;
    t->rule = arena_alloc(t->a, (n + 1) * sizeof *t->rule);
    for (t->nrule = 0; t->nrule < n; t->nrule++)
        if (!cbor_sym(&t->c, &t->rule[t->nrule])) return false;
    return true;
}
