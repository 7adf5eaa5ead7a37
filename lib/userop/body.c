/* Bodies of user ops: graphs made for an Apply's types and props, kept for the session.
 * Integers that decide shapes, which types don't show, become constants in the body if
 * the call has them as constants. */
#include "lang/print/print.h"
#include "op/infer.h"
#include "userop/userop_impl.h"

#include <stdio.h>
#include <string.h>

enum { KNOWN_INTS = MAX_NDIM };

/* The statically known value of an integer input. */
typedef struct KnownInts {
    int n; /* -1: unknown */
    bool scalar;
    Dim dim[KNOWN_INTS]; /* a number or a named dim; negative numbers are in raw */
    int64_t raw[KNOWN_INTS];
} KnownInts;
typedef struct BodyEntry {
    const Op *op;
    const Props *props;
    DType floatX;
    size_t nin;
    const Type **type;
    KnownInts **known; /* by input; NULL: unknown */
    uint64_t hash;
    Graph *g;
} BodyEntry;
typedef struct BodyTable {
    Arena *arena;
    Index index;
    Vec(BodyEntry) all;
} BodyTable;

static void free_body_table(void *p) {
    BodyTable *t = p;
    for (size_t i = 0; i < t->all.n; i++)
        graph_free(t->all.p[i].g);
    vec_free(&t->all);
    index_free(&t->index);
    arena_free(t->arena);
    mem_free(t);
}

static BodyTable *body_table(Session *s) {
    BodyTable *t = session_slot(s, SLOT_OWN);
    if (t) return t;
    buffer_bytes_used(s); /* slots that bodies use must be freed after this one */
    props_intern(s, 0, NULL);
    t = mem_zalloc(s, 1, sizeof *t);
    t->arena = arena_new(s);
    t->index = INDEX(s);
    session_set_slot(s, SLOT_OWN, t, free_body_table);
    return t;
}

/* ---- known integer inputs ---- */

static bool read_known_int(const Infer *in, size_t i, KnownInts *k) {
    k->n = 1;
    k->scalar = true;
    k->dim[0] = DIM_UNKNOWN;
    if (infer_int(in, i, &k->raw[0])) return true;
    k->raw[0] = INT64_MIN;
    const Graph *g = infer_graph(in);
    if (!g || !in->in || var_leaf(g, in->in[i]) != LEAF_DIM) return false;
    k->dim[0] = DIM_NAMED(var_leafrec(g, in->in[i])->name);
    return true;
}

static bool read_known_ints(const Infer *in, size_t i, KnownInts *k) {
    k->n = infer_dims(in, i, k->dim, k->raw);
    if (k->n < 0 || k->n > KNOWN_INTS) return false;
    for (int j = 0; j < k->n; j++)
        if (k->raw[j] == INT64_MIN && !dim_is_named(k->dim[j])) return false;
    return true;
}

static KnownInts *known_input(Arena *a, const Infer *in, size_t i) {
    KnownInts k = {.n = -1};
    ParamKind kind = signature_param(in->sig, i)->kind;
    bool ok = kind == IN_INT || kind == IN_BOOL ? read_known_int(in, i, &k)
              : kind == IN_INTS                 ? read_known_ints(in, i, &k)
                                                : false;
    return ok ? arena_copy(a, &k, sizeof k) : NULL;
}

static bool same_known(const KnownInts *x, const KnownInts *y) {
    if (!x || !y) return x == y;
    if (x->n != y->n || x->scalar != y->scalar) return false;
    for (int j = 0; j < x->n; j++)
        if (x->raw[j] != y->raw[j] ||
            (x->raw[j] == INT64_MIN && x->dim[j] != y->dim[j]))
            return false;
    return true;
}

static uint64_t hash_known(uint64_t h, const KnownInts *k) {
    if (!k) return hash_mix(h, 1);
    for (int j = 0; j < k->n; j++)
        h = hash_mix(h, (uint64_t)(k->raw[j] == INT64_MIN ? k->dim[j] : k->raw[j]));
    return hash_mix(h, (uint64_t)k->n + 2);
}

/* ---- finding ---- */

typedef struct WantedBody {
    const BodyTable *t;
    const BodyEntry *b;
} WantedBody;

static bool is_wanted_body(const void *ctx, uint32_t id) {
    const WantedBody *w = ctx;
    const BodyEntry *x = &w->t->all.p[id], *y = w->b;
    if (x->op != y->op || x->props != y->props || x->floatX != y->floatX ||
        x->nin != y->nin)
        return false;
    for (size_t i = 0; i < x->nin; i++)
        if (x->type[i] != y->type[i] || !same_known(x->known[i], y->known[i]))
            return false;
    return true;
}

/* Allocated from a, for lookup only. */
static BodyEntry body_key(Arena *a, const Infer *in) {
    BodyEntry b = {
        .op = in->op, .props = in->props, .floatX = in->floatX, .nin = in->nin};
    b.type = arena_copy(a, in->type, in->nin * sizeof(Type *));
    b.known = NEW_N(a, in->nin + 1, KnownInts *);
    b.hash = hash_mix(hash_mix(1, (uintptr_t)b.op), b.props->id);
    b.hash = hash_mix(b.hash, (uint64_t)b.floatX);
    for (size_t i = 0; i < b.nin; i++) {
        b.known[i] = known_input(a, in, i);
        b.hash = hash_known(hash_mix(b.hash, b.type[i]->id), b.known[i]);
    }
    return b;
}

/* ---- making ---- */

typedef struct BodyMaker {
    const Infer *in;
    const BodyEntry *body;
    const struct OpBody *own;
    const Signature *sig;
    Graph *g;
    Builder b;
    Compiler *c;
} BodyMaker;

/* A name for input i that no dim and no other input has. */
static Sym free_body_input_name(BodyMaker *m, size_t i) {
    Session *s = m->in->s;
    const Param *p = signature_param(m->sig, i);
    Sym y = p->name;
    for (unsigned k = p->rest ? (unsigned)(i + 1 - m->sig->nin) : 0;; k++) {
        if (k || p->rest) {
            Str b = STR(s);
            str_printf(&b, "%s_%u", sym_text(s, p->name), k);
            y = sym(s, str_text(&b));
            str_free(&b);
        }
        bool taken = graph_find(m->g, y) != VAR_NONE;
        for (size_t j = 0; j < m->in->nin; j++)
            for (int d = 0; d < m->in->type[j]->ndim; d++)
                taken |= m->in->type[j]->dim[d] == DIM_NAMED(y);
        if (!taken) return y;
    }
}

static Var var_from_known(BodyMaker *m, const KnownInts *k) {
    Var in[KNOWN_INTS + 1];
    bool constant = true;
    for (int j = 0; j < k->n; j++)
        constant &= k->raw[j] != INT64_MIN;
    if (constant && !k->scalar) return const_ints(&m->b, (size_t)k->n, k->raw);
    for (int j = 0; j < k->n; j++)
        in[j] = k->raw[j] != INT64_MIN ? const_int(&m->b, k->raw[j])
                                       : graph_dim(m->g, dim_sym(k->dim[j]));
    if (k->scalar) return in[0];
    return op_apply1(&m->b, op_known(m->in->s, OP_STACK), NULL, (size_t)k->n, in);
}

static Var add_input_var(BodyMaker *m, size_t i) {
    const Type *t = m->in->type[i];
    Var v = graph_input(m->g, free_body_input_name(m, i), t);
    const KnownInts *k = m->body->known[i];
    if (!k) return v;
    if (k->scalar && t->dtype == DT_BOOL)
        return const_number(&m->b, DT_BOOL, k->raw[0] != 0);
    return var_from_known(m, k);
}

static void bind_node(BodyMaker *m, Sym name, Node n) {
    Node *own = NEW(compiler_arena(m->c), Node);
    *own = n;
    map_put(&m->c->named, name, (uintptr_t)own);
}

static bool bind_body_inputs(BodyMaker *m) {
    Span at = m->own->decl->at;
    size_t n = m->sig->nin;
    bool rest = n > 0 && m->sig->in[n - 1].rest;
    Node *item = NEW_N(compiler_arena(m->c), m->in->nin + 1, Node), list;
    for (size_t i = 0; i < m->in->nin; i++) {
        Var v = add_input_var(m, i);
        if (v == VAR_NONE) return false;
        item[i] = node_var(v, at);
        if (i + rest < n) bind_node(m, m->sig->in[i].name, item[i]);
    }
    for (size_t i = m->in->nin; i + rest < n; i++)
        bind_node(m, m->sig->in[i].name, (Node){.kind = NODE_NONE, .at = at});
    if (!rest) return true;
    size_t given = m->in->nin + 1 > n ? m->in->nin + 1 - n : 0;
    if (!node_tree(m->c, given, item + (n - 1), NULL, at, &list)) return false;
    bind_node(m, m->sig->in[n - 1].name, list);
    return true;
}

static void bind_body_props(BodyMaker *m) {
    for (size_t i = 0; i < m->sig->nprop; i++)
        bind_node(m, m->sig->prop[i].name,
                  node_from_prop(m->c, &m->in->props->p[i], m->own->decl->at));
}

static bool fail_output_count(BodyMaker *m, const Node *n, size_t want) {
    return fail(m->in->s, n->at, E_ARITY, "%s has %s, but this is %s", m->in->op->name,
                str_counted(m->in->s, want, "output"), node_kind_text(n));
}

static bool compile_statement(BodyMaker *m, const Statement *st, Node *out) {
    if (!compiler_ast(m->c, st->value, out)) return false;
    if (st->n == 1) bind_node(m, st->target[0], *out);
    if (st->n < 2) return true;
    if (out->kind != NODE_LIST || out->n != st->n)
        return fail(m->in->s, out->at, E_ARITY, "%zu names for %s", st->n,
                    out->kind == NODE_LIST ? "another number of values" : "one value");
    for (size_t i = 0; i < st->n; i++)
        bind_node(m, st->target[i], out->item[i]);
    return true;
}

static bool add_body_output(BodyMaker *m, size_t i, const Node *n) {
    Var v;
    if (n->kind == NODE_LIST && n->sym)
        return fail(m->in->s, n->at, E_ARITY, "%s has %zu outputs: take one with [0]",
                    sym_text(m->in->s, n->sym), n->n);
    if (!compiler_var(m->c, n, DT_NONE, &v)) return false;
    vec_push(m->in->s, &m->g->outputs, ((Output){m->sig->out[i], v}));
    return true;
}

static bool add_declared_outputs(BodyMaker *m, const Node *last) {
    size_t n = m->sig->nout;
    for (size_t i = 0; i < n; i++) {
        uint64_t p;
        const Node *x = last;
        if (m->own->is_block) {
            if (!map_get(&m->c->named, m->sig->out[i], &p))
                bug("%s does not define its output", m->in->op->name);
            x = (const Node *)(uintptr_t)p;
        } else if (n > 1) {
            if (last->kind != NODE_LIST || last->n != n)
                return fail_output_count(m, last, n);
            x = &last->item[i];
        }
        if (!add_body_output(m, i, x)) return false;
    }
    return true;
}

static bool fill_body(BodyMaker *m) {
    Node last = {.kind = NODE_NONE, .at = m->own->decl->at};
    if (!bind_body_inputs(m)) return false;
    bind_body_props(m);
    for (size_t i = 0; i < m->own->n; i++)
        if (!compile_statement(m, &m->own->st[i], &last)) return false;
    return add_declared_outputs(m, &last);
}

/* Gives the functions made from this body's lambdas names that differ from other
 * bodies'. */
static void set_lambda_prefix(BodyMaker *m) {
    Str b = STR(m->in->s);
    str_printf(&b, "%s(", m->in->op->name);
    for (size_t i = 0; i < m->in->nin; i++)
        str_printf(&b, "%s,", type_str(m->in->s, m->in->type[i]));
    print_op(m->in->s, m->in->op, m->in->props, &b);
    uint64_t h = hash_bytes(str_text(&b), b.n, 0);
    m->c->lambda_name = arena_printf(compiler_arena(m->c), "%s_%08x", m->in->op->name,
                                     (unsigned)(h & UINT32_MAX));
    str_free(&b);
}

static Graph *make_body_graph(const Infer *in, const BodyEntry *body) {
    BodyMaker m = {.in = in, .body = body, .own = in->op->body, .g = graph_new(in->s)};
    m.sig = in->sig;
    m.g->name = sym(in->s, in->op->name);
    m.g->floatX = in->floatX;
    m.g->fused = true; /* it runs and counts as one op */
    m.b = builder(m.g, true);
    m.b.from.at = m.own->decl->at;
    m.c = compiler_new(&m.b);
    set_lambda_prefix(&m);
    bool ok = fill_body(&m);
    compiler_free(m.c);
    if (ok) {
        graph_trim(m.g);
        return m.g;
    }
    infer_note_call(in, in->at);
    graph_free(m.g);
    return NULL;
}

static BodyEntry keep_body(BodyTable *t, const BodyEntry *b, Graph *g) {
    BodyEntry own = *b;
    own.g = g;
    own.type = arena_copy(t->arena, b->type, b->nin * sizeof(Type *));
    own.known = NEW_N(t->arena, b->nin + 1, KnownInts *);
    for (size_t i = 0; i < b->nin; i++)
        if (b->known[i])
            own.known[i] = arena_copy(t->arena, b->known[i], sizeof(KnownInts));
    return own;
}

static Graph *find_or_make_body(Infer *in) {
    BodyTable *t = body_table(in->s);
    if (in->op->body->broken)
        return infer_fail(in, E_PLUGIN, in->nin, "its file was not accepted"), NULL;
    Arena *tmp = arena_new(in->s);
    BodyEntry b = body_key(tmp, in);
    WantedBody w = {t, &b};
    uint32_t id = index_find(&t->index, b.hash, is_wanted_body, &w);
    Graph *g = id == UINT32_MAX ? NULL : t->all.p[id].g;
    if (!g && (g = make_body_graph(in, &b))) {
        BodyEntry own = keep_body(t, &b, g);
        index_add(&t->index, b.hash, (uint32_t)t->all.n);
        vec_push(in->s, &t->all, own);
    }
    arena_free(tmp);
    return g;
}

Graph *userop_body(const Graph *g, ApplyId a) {
    const Apply *ap = &g->apply[a];
    if (!ap->op->body) return NULL;
    MakeNode m;
    make_node_open(&m, g->s, g, ap->op, ap->nin, apply_in(g, a));
    m.in.props = ap->props;
    m.in.at = g->origin[a].at;
    m.in.floatX = builder((Graph *)(uintptr_t)g, false).floatX;
    Graph *body = find_or_make_body(&m.in);
    make_node_close(&m);
    return body;
}

/* ---- typing ---- */

bool userop_type(Infer *in) {
    Graph *g = find_or_make_body(in);
    if (!g) return false;
    for (size_t i = 0; i < in->nout; i++)
        in->out[i] = var_type(g, g->outputs.p[i].var);
    return true;
}

bool userop_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    const Apply *ap = &g->apply[a];
    const UserOpTexts *cut = &ap->op->body->decl->disconnected;
    Sym name = signature_param(op_signature(g->s, ap->op), in)->name;
    for (size_t i = 0; i < cut->n; i++)
        if (cut->p[i].name == name) return false;
    Graph *body = ap->op->body->elementwise ? NULL : userop_body(g, a);
    return !body || graph_connected(body, in, out);
}

/* ---- inlining bodies ---- */

bool userop_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out) {
    MakeNode m;
    make_node_open(&m, b->s, b->g, op, nin, in);
    m.in.props = p;
    m.in.at = b->from.at;
    m.in.floatX = b->floatX;
    Graph *body = find_or_make_body(&m.in);
    ApplyId first = (ApplyId)b->g->napply;
    bool ok = body && graph_inline(b->g, body, in, b->intern, out);
    for (ApplyId a = first; op->yields && a < b->g->napply; a++)
        b->g->origin[a] = b->from; /* users know their call, not the library's text */
    make_node_close(&m);
    return ok;
}

static bool has_userops(const Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (g->apply[a].op->body) return true;
    return false;
}

static bool flatten_apply(Graph *dst, const Graph *fn, ApplyId a, Var *map) {
    const Apply *ap = &fn->apply[a];
    Var few[16], *in = ap->nin <= 16 ? few : mem_alloc(fn->s, ap->nin * sizeof *in);
    for (size_t i = 0; i < ap->nin; i++)
        in[i] = map[apply_in(fn, a)[i]];
    bool ok = true;
    if (ap->op->body) {
        Graph *body = userop_body(fn, a);
        ok = body && graph_inline(dst, body, in, true, map + ap->out);
    } else {
        Var first = graph_copy_apply(dst, fn, a, in, true);
        for (Var k = 0; k < ap->nout; k++)
            map[ap->out + k] = first + k;
    }
    if (in != few) mem_free(in);
    return ok;
}

static Graph *flatten_one_level(const Graph *fn) {
    Graph *dst = graph_new(fn->s);
    Var *map = mem_alloc(fn->s, fn->nvar * sizeof *map);
    dst->floatX = fn->floatX;
    dst->name = fn->name;
    bool ok = true;
    graph_copy_leaves(dst, fn, true, map);
    for (ApplyId a = 0; ok && a < fn->napply; a++)
        ok = flatten_apply(dst, fn, a, map);
    for (size_t i = 0; ok && i < fn->outputs.n; i++)
        vec_push(fn->s, &dst->outputs,
                 ((Output){fn->outputs.p[i].label, map[fn->outputs.p[i].var]}));
    mem_free(map);
    if (ok) return dst;
    graph_free(dst);
    return NULL;
}

Graph *userop_flatten(const Graph *fn, bool *any) {
    Graph *have = NULL;
    *any = false;
    while (has_userops(have ? have : fn)) {
        *any = true;
        Graph *next = flatten_one_level(have ? have : fn);
        if (have) graph_free(have);
        if (!(have = next)) return NULL;
    }
    return have;
}
