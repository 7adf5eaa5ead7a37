/* Writes a graph as a CBOR Sequence: see schemas/graph.cddl. A graph's leaves are
 * numbered first, then the Applies' outputs in order, so the numbers themselves need
 * not be written. Unused constants are left out. */
#include "io/tlg.h"
#include "value/class.h"

#include <string.h>

/* ---- numbering ---- */

static uint8_t *used_vars(const Graph *g, Arena *a) {
    uint8_t *used = arena_zalloc(a, g->nvar + 1, 1);
    for (uint32_t i = 0; i < g->nin; i++)
        used[g->in[i]] = 1;
    for (size_t i = 0; i < g->outputs.n; i++)
        used[g->outputs.p[i].var] = 1;
    for (size_t i = 0; i < g->updates.n; i++)
        used[g->updates.p[i].value] = 1;
    for (size_t i = 0; i < g->names.n; i++)
        used[g->names.p[i].var] = 1;
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (g->leaf[i].init != VAR_NONE) used[g->leaf[i].init] = 1;
    if (g->until != VAR_NONE) used[g->until] = 1;
    return used;
}

static void number_leaf(Numbering *n, Var v) {
    if (n->to[v] != VAR_NONE) return;
    n->to[v] = n->nleaf;
    n->leaf[n->nleaf++] = v;
}

static Numbering number_vars(const Graph *g, Arena *a) {
    uint8_t *used = used_vars(g, a);
    Numbering n = {g, arena_alloc(a, (g->nvar + 1) * sizeof(Var)),
                   arena_alloc(a, (g->nleaf + 1) * sizeof(Var)), 0, NULL};
    for (Var v = 0; v < g->nvar; v++)
        n.to[v] = VAR_NONE;
    for (size_t i = 0; i < g->inputs.n; i++)
        number_leaf(&n, g->inputs.p[i]);
    for (size_t i = 0; i < g->shared.n; i++)
        number_leaf(&n, g->shared.p[i]);
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (var_leaf(g, g->leaf[i].var) == LEAF_DIM) number_leaf(&n, g->leaf[i].var);
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (used[g->leaf[i].var] || !var_is_const(g, g->leaf[i].var))
            number_leaf(&n, g->leaf[i].var);
    Var next = n.nleaf;
    for (Var v = 0; v < g->nvar; v++)
        if (!g->var[v].leaf) n.to[v] = next++;
    return n;
}

/* ---- leaves ---- */

/* Does the value hold data beyond its type? */
static bool has_data(const Value *v) {
    return v->kind != TYPE_NONE && v->kind != TYPE_EMPTY &&
           !value_class(v)->no_values && value_has_data(v);
}
static bool holds_array(const Value *v) {
    return v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM;
}

static LeafCode leaf_code(const Graph *g, Var v) {
    const Leaf *l = var_leafrec(g, v);
    const Type *t = var_type(g, v);
    switch (var_leaf(g, v)) {
    case LEAF_INPUT:
        return TLG_INPUT;
    case LEAF_SHARED:
        return has_data(l->value) ? TLG_SHARED_VALUE : TLG_SHARED;
    case LEAF_DIM:
        return TLG_DIM;
    case LEAF_CONST:
    case LEAF_NOT:
        break;
    }
    if (!has_data(l->value)) return TLG_BARE_CONST;
    bool small =
        t->kind == TYPE_TENSOR && !l->ref && tensor_bytes(&l->value->t) <= TLG_INLINE;
    return small ? TLG_INLINE_CONST : TLG_CONST;
}

static void code_leaves(Numbering *n, Arena *a) {
    n->code = arena_alloc(a, n->nleaf + 1);
    for (uint32_t i = 0; i < n->nleaf; i++)
        n->code[i] = (uint8_t)leaf_code(n->g, n->leaf[i]);
}

/* Row-major, little-endian. False: E_MEM. */
static bool file_order(Session *s, const Tensor *t, Tensor *out) {
    bool swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    if (!swap && tensor_is_contiguous(t)) {
        tensor_copy_view(out, t);
        return true;
    }
    if (!tensor_clone(s, t, out)) return false;
    size_t width = dtype_size(dtype_real(out->dtype));
    cbor_little_endian(out->data, tensor_bytes(out) / width, width);
    return true;
}

static bool add_data(Session *s, const Tensor *t, Str *b) {
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && tensor_is_contiguous(t)) {
        str_add(b, t->data, tensor_bytes(t));
        return true;
    }
    Tensor c = {0};
    if (!file_order(s, t, &c)) return false;
    str_add(b, c.data, tensor_bytes(&c));
    tensor_unref(&c);
    return true;
}

static Sym declared_name(const Graph *g, Var v) {
    Sym y = var_name(g, v);
    return y ? y : var_leafrec(g, v)->name;
}

static bool write_leaf_chunk(const Numbering *n, const TlgTables *t, uint32_t from,
                             uint32_t to, uint32_t *col, Str *b) {
    const Graph *g = n->g;
    Session *s = g->s;
    uint32_t count = to - from, named = 0;
    tlg_section(b, "leaves");
    cbor_put_head(b, CB_MAP, 4);
    cbor_put_text(b, "kind");
    for (uint32_t i = 0; i < count; i++)
        named += (col[i] = n->code[from + i]) <= TLG_DIM;
    cbor_put_column(b, col, count);
    cbor_put_text(b, "type");
    for (uint32_t i = 0; i < count; i++)
        col[i] = t->type_no.p[var_type(g, n->leaf[from + i])->id] - 1;
    cbor_put_column(b, col, count);
    cbor_put_text(b, "name");
    cbor_put_head(b, CB_ARRAY, named);
    Str data = STR(s);
    bool ok = true;
    for (uint32_t i = from; i < to; i++) {
        Var v = n->leaf[i];
        LeafCode code = (LeafCode)n->code[i];
        if (code <= TLG_DIM) cbor_put_text(b, sym_text(s, declared_name(g, v)));
        if (code == TLG_INLINE_CONST)
            ok = ok && add_data(s, &var_leafrec(g, v)->value->t, &data);
    }
    cbor_put_text(b, "data");
    cbor_put_head(b, CB_BYTES, data.n);
    str_add(b, str_text(&data), data.n);
    str_free(&data);
    return ok;
}

/* The head of a byte string. */
static size_t head_size(uint64_t n) {
    return n < 24 ? 1 : n <= 0xFF ? 2 : n <= 0xFFFF ? 3 : n <= UINT32_MAX ? 5 : 9;
}

/* Pads so that the elements start at a multiple of 64 bytes and a mapped file can be
 * used in place. */
static void align_data(Sink *k, Str *b, unsigned tag, uint64_t bytes) {
    static const char zeros[64];
    cbor_put_text(b, "pad");
    uint64_t at = k->offset + b->n + 2 + 5 + (tag ? 2 : 0) + head_size(bytes);
    size_t pad = (size_t)(-at & 63);
    str_putc(b, (char)0x58);
    str_putc(b, (char)pad);
    str_add(b, zeros, pad);
    cbor_put_text(b, "data");
    if (tag) cbor_put_head(b, CB_TAG, tag);
    cbor_put_head(b, CB_BYTES, bytes);
}

/* Starts a section: the leaf, and the file that it came from. */
static void open_constant(const Leaf *l, uint32_t no, bool pack, unsigned fields,
                          Str *b) {
    bool ref = l->ref && !pack;
    tlg_section(b, "constant");
    cbor_put_head(b, CB_MAP, fields + 1U + ref + (ref && l->ref_key));
    cbor_put_text(b, "leaf");
    cbor_put_int(b, no);
    if (ref) {
        cbor_put_text(b, "ref");
        cbor_put_text(b, l->ref);
    }
    if (ref && l->ref_key) {
        cbor_put_text(b, "key");
        cbor_put_text(b, l->ref_key);
    }
}

static bool write_constant(Session *s, const Leaf *l, uint32_t no, bool pack, Str *b,
                           Sink *k) {
    const Tensor *t = &l->value->t;
    Tensor c = {0};
    if (!holds_array(l->value)) {
        open_constant(l, no, pack, 1, b);
        cbor_put_text(b, "value");
        bool ok = tlg_value_write(s, l->value, b);
        tlg_flush(b, k);
        return ok;
    }
    if (!file_order(s, t, &c)) return false;
    open_constant(l, no, pack, 3, b);
    cbor_put_text(b, "shape");
    cbor_put_head(b, CB_ARRAY, (size_t)t->ndim);
    for (int i = 0; i < t->ndim; i++)
        cbor_put_int(b, t->shape[i]);
    align_data(k, b, cbor_dtype_tag(t->dtype), tensor_bytes(t));
    tlg_flush(b, k);
    sink_add(k, c.data, tensor_bytes(&c));
    tensor_unref(&c);
    return true;
}

static bool write_leaves(const Numbering *n, const TlgTables *t, bool pack,
                         uint32_t *col, Str *b, Sink *k) {
    for (uint32_t i = 0; i < n->nleaf; i += TLG_CHUNK) {
        uint32_t to = n->nleaf - i < TLG_CHUNK ? n->nleaf : i + TLG_CHUNK;
        if (!write_leaf_chunk(n, t, i, to, col, b)) return false;
        tlg_flush(b, k);
        for (uint32_t j = i; j < to; j++) {
            LeafCode code = (LeafCode)n->code[j];
            if ((code == TLG_CONST || code == TLG_SHARED_VALUE) &&
                !write_constant(n->g->s, var_leafrec(n->g, n->leaf[j]), j, pack, b, k))
                return false;
        }
    }
    return true;
}

/* ---- the rest of a graph ---- */

/* The names, without those already in the leaves' declarations. */
static void write_names(const Numbering *n, uint32_t *col, Str *b, Sink *k) {
    const Graph *g = n->g;
    for (size_t i = 0; i < g->names.n;) {
        size_t from = i, count = 0;
        for (; i < g->names.n && count < TLG_CHUNK; i++) {
            VarName y = g->names.p[i];
            LeafKind leaf = var_leaf(g, y.var);
            bool own = (leaf == LEAF_INPUT || leaf == LEAF_SHARED) &&
                       declared_name(g, y.var) == y.name;
            if (!own) col[count++] = n->to[y.var];
        }
        if (count == 0) continue;
        tlg_section(b, "names");
        cbor_put_head(b, CB_MAP, 2);
        cbor_put_text(b, "var");
        cbor_put_column(b, col, count);
        cbor_put_text(b, "name");
        cbor_put_head(b, CB_ARRAY, count);
        for (size_t j = from; j < i; j++) {
            VarName y = g->names.p[j];
            LeafKind leaf = var_leaf(g, y.var);
            bool own = (leaf == LEAF_INPUT || leaf == LEAF_SHARED) &&
                       declared_name(g, y.var) == y.name;
            if (!own) cbor_put_text(b, sym_text(g->s, y.name));
        }
        tlg_flush(b, k);
    }
}

static void write_inits(const Numbering *n, Str *b) {
    const Graph *g = n->g;
    size_t count = 0;
    for (uint32_t i = 0; i < g->nleaf; i++)
        count += g->leaf[i].init != VAR_NONE;
    cbor_put_text(b, "init");
    cbor_put_head(b, CB_ARRAY, count);
    for (uint32_t i = 0; i < n->nleaf; i++) {
        const Leaf *l = var_leafrec(g, n->leaf[i]);
        if (l->init == VAR_NONE) continue;
        cbor_put_head(b, CB_ARRAY, 2);
        cbor_put_int(b, i);
        cbor_put_int(b, n->to[l->init]);
    }
}

/* [var, rtol, atol, sloppy, remove_inf, remove_nan] for each variable. */
static void write_approx(const Numbering *n, size_t count, Str *b) {
    const Graph *g = n->g;
    cbor_put_text(b, "compare");
    cbor_put_head(b, CB_ARRAY, count);
    for (size_t i = 0; i < g->approx.n; i++) {
        const Approx *how = &g->approx.p[i].how;
        if (n->to[g->approx.p[i].var] == VAR_NONE) continue;
        cbor_put_head(b, CB_ARRAY, 6);
        cbor_put_int(b, n->to[g->approx.p[i].var]);
        cbor_put_f64(b, how->rtol);
        cbor_put_f64(b, how->atol);
        cbor_put_int(b, how->sloppy);
        cbor_put_bool(b, how->allow_remove_inf);
        cbor_put_bool(b, how->allow_remove_nan);
    }
}

static void write_interface(const Numbering *n, Str *b, Sink *k) {
    const Graph *g = n->g;
    size_t napprox = 0;
    for (size_t i = 0; i < g->approx.n; i++)
        napprox += n->to[g->approx.p[i].var] != VAR_NONE;
    tlg_section(b, "interface");
    cbor_put_head(b, CB_MAP, 4U + (g->until != VAR_NONE) + (napprox > 0));
    cbor_put_text(b, "outputs");
    cbor_put_head(b, CB_ARRAY, g->outputs.n);
    for (size_t i = 0; i < g->outputs.n; i++) {
        cbor_put_head(b, CB_ARRAY, 2);
        cbor_put_text(b, sym_text(g->s, g->outputs.p[i].label));
        cbor_put_int(b, n->to[g->outputs.p[i].var]);
    }
    cbor_put_text(b, "updates");
    cbor_put_head(b, CB_ARRAY, g->updates.n);
    for (size_t i = 0; i < g->updates.n; i++) {
        cbor_put_head(b, CB_ARRAY, 2);
        cbor_put_int(b, n->to[g->updates.p[i].shared]);
        cbor_put_int(b, n->to[g->updates.p[i].value]);
    }
    cbor_put_text(b, "effects");
    cbor_put_column(b, g->effects.p, g->effects.n);
    write_inits(n, b);
    if (g->until != VAR_NONE) {
        cbor_put_text(b, "until");
        cbor_put_int(b, n->to[g->until]);
    }
    if (napprox) write_approx(n, napprox, b);
    tlg_flush(b, k);
}

static void write_meta(const Graph *g, Str *b) {
    Session *s = g->s;
    bool has[] = {g->name != 0, g->doc != NULL, g->fused, g->pullback != 0,
                  g->pushforward != 0};
    size_t count = 0;
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        count += has[i];
    tlg_section(b, "graph");
    cbor_put_head(b, CB_MAP, count);
    if (has[0]) cbor_put_text(b, "name"), cbor_put_text(b, sym_text(s, g->name));
    if (has[1]) cbor_put_text(b, "doc"), cbor_put_text(b, g->doc);
    if (has[2]) cbor_put_text(b, "fused"), cbor_put_bool(b, true);
    if (has[3])
        cbor_put_text(b, "pullback"), cbor_put_text(b, sym_text(s, g->pullback));
    if (has[4])
        cbor_put_text(b, "pushforward"), cbor_put_text(b, sym_text(s, g->pushforward));
}

static bool write_graph(const Numbering *n, const TlgTables *t,
                        const uint32_t *props_of, bool pack, Str *b, Sink *k) {
    const Graph *g = n->g;
    uint32_t *col = mem_alloc(g->s, TLG_CHUNK * sizeof *col);
    write_meta(g, b);
    bool ok = write_leaves(n, t, pack, col, b, k);
    if (ok) tlg_applies(n, t, props_of, b, k);
    if (ok) write_names(n, col, b, k);
    if (ok) write_interface(n, b, k);
    mem_free(col);
    return ok;
}

/* ---- the file ---- */

static void write_header(const Graph *g, bool provenance, Str *b) {
    bool floatX = g->floatX != DT_NONE;
    cbor_put_head(b, CB_TAG, 55799);
    tlg_section(b, "header");
    cbor_put_head(b, CB_MAP, 4U + floatX + (provenance ? 2 : 0));
    cbor_put_text(b, "format"), cbor_put_text(b, "thunkline");
    cbor_put_text(b, "version"), cbor_put_head(b, CB_ARRAY, 2),
        cbor_put_int(b, TLG_MAJOR), cbor_put_int(b, TLG_MINOR);
    cbor_put_text(b, "required"), cbor_put_head(b, CB_ARRAY, 0);
    if (floatX) cbor_put_text(b, "floatX"), cbor_put_text(b, dtype_name(g->floatX));
    cbor_put_text(b, "modes"), cbor_put_head(b, CB_ARRAY, g->modes.n);
    for (size_t i = 0; i < g->modes.n; i++)
        cbor_put_text(b, sym_text(g->s, g->modes.p[i]));
    if (!provenance) return;
    cbor_put_text(b, "producer"), cbor_put_text(b, "thunkline " TL_VERSION);
    cbor_put_text(b, "steps"), cbor_put_head(b, CB_ARRAY, g->steps.n);
    for (size_t i = 0; i < g->steps.n; i++) {
        const Step *p = &g->steps.p[i];
        cbor_put_head(b, CB_ARRAY, 3);
        cbor_put_text(b, p->tool), cbor_put_text(b, p->version),
            cbor_put_text(b, p->args);
    }
}

static void write_end_section(const Graph *g, Str *b, Sink *k) {
    uint64_t applies = g->napply, hash = hash_xxh64_end(&k->hash);
    for (size_t i = 0; i < g->functions.n; i++)
        applies += g->functions.p[i]->napply;
    tlg_section(b, "end");
    cbor_put_head(b, CB_MAP, 3);
    cbor_put_text(b, "graphs"), cbor_put_int(b, (int64_t)g->functions.n + 1);
    cbor_put_text(b, "applies"), cbor_put_int(b, (int64_t)applies);
    cbor_put_text(b, "xxh64"), cbor_put_head(b, CB_BYTES, 8);
    for (int shift = 56; shift >= 0; shift -= 8)
        str_putc(b, (char)(hash >> shift & 0xFF));
    tlg_flush(b, k);
}

bool tlg_write(const Graph *g, Sink *k, const WriteOptions *o) {
    Session *s = g->s;
    Arena *a = arena_new(s);
    Str b = STR(s);
    TlgTables t = {.s = s,
                   .op_no = MAP(s),
                   .props_no = MAP(s),
                   .source_no = MAP(s),
                   .rule_no = MAP(s)};
    size_t ngraph = g->functions.n + 1;
    uint32_t **props_of = arena_alloc(a, ngraph * sizeof *props_of);
    Numbering *n = arena_alloc(a, ngraph * sizeof *n);
    for (size_t i = 0; i < ngraph; i++) {
        const Graph *f = i ? g->functions.p[i - 1] : g;
        props_of[i] = arena_alloc(a, (f->napply + 1) * sizeof(uint32_t));
        n[i] = number_vars(f, a);
        code_leaves(&n[i], a);
        tlg_tables_collect(&t, &n[i], !o->no_provenance, props_of[i]);
    }
    write_header(g, !o->no_provenance, &b);
    tlg_tables_write(&t, &b, k);
    bool ok = true;
    for (size_t i = 0; ok && i < ngraph; i++)
        ok = write_graph(&n[i], &t, props_of[i], o->pack, &b, k);
    if (ok) write_end_section(g, &b, k);
    tlg_tables_free(&t);
    str_free(&b);
    arena_free(a);
    return ok;
}
