/* Reads the props of a call from literals, and decides which dtype ops that create
 * values give them. */
#include "lang/call_impl.h"
#include "type/word.h"

#include <math.h>
#include <string.h>

static const char *prop_wants(const PropDef *def) {
    static const char *const text[] = {
        [T_BOOL] = "True or False",
        [T_INT] = "an integer",
        [T_FLOAT] = "a number",
        [T_STR] = "a string such as 'text'",
        [T_DTYPE] = "a dtype such as float32",
        [T_INTS] = "a list of integers",
        [T_AXES] = "an axis or a list of axes",
        [T_AXIS] = "an axis",
        [T_GRAPH] = "the name of a function of the graph",
        [T_KEY] = "a number or a string such as 'text'",
        [T_SIDES] = ("an integer, a list of integers, of pairs for several axes, or "
                     "a string")};
    return text[def->type];
}

static bool read_ints_into(const Node *n, int64_t *v) {
    size_t count = n->kind == NODE_LIST ? n->n : 1;
    for (size_t i = 0; i < count; i++) {
        const Node *k = n->kind == NODE_LIST ? &n->item[i] : n;
        if (k->kind != NODE_LITERAL || !literal_i64(&k->lit, &v[i])) return false;
    }
    return true;
}

/* Does a prop of that type take the node's lists, one after the other? Two of one
 * length, as tensordot's ([1, 2], [0, 1]), or several pairs; a single pair could mean
 * two axes as well. */
static bool takes_lists(PropType t, const Node *n) {
    bool fits = n->kind == NODE_LIST && (t == T_INTS ? n->n == 2 : n->n >= 2);
    for (size_t i = 0; fits && i < n->n; i++)
        fits = n->item[i].kind == NODE_LIST &&
               n->item[i].n == (t == T_INTS ? n->item[0].n : 2);
    return fits && t != T_AXES;
}

/* Reads a number or a list, or lists, one after the other. */
static bool read_prop_ints(Compiler *c, PropType t, const Node *n, Prop *out) {
    bool lists = takes_lists(t, n);
    size_t each = lists ? n->item[0].n : 1;
    size_t count = n->kind == NODE_LIST ? n->n * each : 1;
    int64_t *v = arena_alloc(c->tmp, (count + 1) * sizeof *v);
    *out = PROP_INTS(v, count);
    if (!lists) return read_ints_into(n, v);
    for (size_t i = 0; i < n->n; i++)
        if (!read_ints_into(&n->item[i], v + i * each)) return false;
    return true;
}

static bool read_prop_dtype(Compiler *c, const Node *n, Prop *out) {
    DType d = n->dtype;
    if (n->kind == NODE_STRING) {
        const char *text = sym_text(c->s, n->sym);
        d = strcmp(text, "floatX") == 0 ? c->b->floatX : dtype_find(text, strlen(text));
    }
    *out = PROP_DTYPE(d);
    return (n->kind == NODE_DTYPE || n->kind == NODE_STRING) && d != DT_NONE;
}

static bool read_prop_graph(Compiler *c, const Node *n, Prop *out) {
    Graph *fn = n->kind == NODE_FUNCTION ? n->fn
                : n->kind == NODE_STRING ? graph_function(c->b->g, n->sym)
                                         : NULL;
    if (fn) *out = (Prop){.kind = P_GRAPH, .sym = fn->name};
    return fn != NULL;
}

static bool read_prop_value(Compiler *c, const PropDef *def, const Node *n, Prop *out) {
    bool number = n->kind == NODE_LITERAL;
    int64_t i = 0;
    if (n->kind == NODE_NONE && def->none) {
        *out = (Prop){.kind = P_NONE};
        return true;
    }
    switch (def->type) {
    case T_BOOL:
        *out = PROP_BOOL(n->lit.u != 0);
        return number && n->lit.kind == K_BOOL;
    case T_INT:
    case T_AXIS:
        if (!number || !literal_i64(&n->lit, &i)) return false;
        *out = PROP_INT(i);
        return true;
    case T_KEY:
    case T_FLOAT:
        if (n->kind == NODE_STRING && def->type == T_KEY)
            return *out = PROP_STR(n->sym), true;
        *out = (Prop){.kind = P_FLOAT, .f = number ? literal_f64(&n->lit) : 0};
        return number && n->lit.kind != K_COMPLEX;
    case T_STR:
        *out = PROP_STR(n->sym);
        return n->kind == NODE_STRING;
    case T_DTYPE:
        return read_prop_dtype(c, n, out);
    case T_SIDES:
        if (n->kind == NODE_STRING) return *out = PROP_STR(n->sym), true;
        return read_prop_ints(c, def->type, n, out);
    case T_INTS:
    case T_AXES:
        return read_prop_ints(c, def->type, n, out);
    case T_GRAPH:
        break;
    }
    return read_prop_graph(c, n, out);
}

bool node_note_dtype(Compiler *c, const Node *n) {
    Sym name = n->kind == NODE_VAR ? var_name(c->b->g, n->var) : 0;
    const char *ours = name ? word_synonym(WORD_TYPE, sym_text(c->s, name)) : NULL;
    if (ours) note(c->s, NOWHERE, "write %s", ours);
    return false;
}

bool node_prop(Compiler *c, const Op *op, const PropDef *def, const Node *n,
               Prop *out) {
    if (read_prop_value(c, def, n, out)) return true;
    if (def->type == T_DTYPE && n->kind == NODE_STRING)
        return fail(c->s, n->at, E_DTYPE, "%s: there is no dtype '%s'", op->name,
                    sym_text(c->s, n->sym));
    fail(c->s, n->at, E_ARG,
         "%s: %s must be %s%s, known when the graph is built, not %s", op->name,
         sym_text(c->s, def->name), prop_wants(def), def->none ? " or None" : "",
         node_kind_text(n));
    if (def->type == T_AXIS && n->kind == NODE_NONE)
        note(c->s, NOWHERE, "arrays are flattened by ravel: then the axis is 0");
    return def->type == T_DTYPE && node_note_dtype(c, n);
}

/* Is a tensor among the arguments? Then values aren't created from nothing. Nor are
 * they for an integer receiver if something computed, such as sqrt(2.), is a float. */
static bool has_own_dtype(const Compiler *c, const CallArgs *a, DType want) {
    for (size_t i = 0; i < a->sig->nin; i++) {
        const Node *n = &a->in[i];
        if (a->sig->in[i].kind != IN_TENSOR || !a->has_in[i] || n->kind != NODE_VAR)
            continue;
        if (!n->weak || (dtype_is_discrete(want) &&
                         dtype_is_inexact(var_type(c->b->g, n->var)->dtype)))
            return true;
    }
    return false;
}

/* full(3, 2.5) and arange(0, 1, 0.5) are made of their numbers, which a receiver takes
 * as it takes [2.5, 2.5, 2.5]: without loss. */
static bool check_whole_literals(Compiler *c, const Node *n, DType d) {
    _Alignas(16) char bytes[16];
    for (size_t i = 0; n->kind == NODE_LIST && i < n->n; i++)
        if (!check_whole_literals(c, &n->item[i], d)) return false;
    bool part = n->kind == NODE_LITERAL && n->lit.kind == K_FLOAT &&
                !(n->lit.re == floor(n->lit.re) && isfinite(n->lit.re));
    return !part || literal_store(c->s, &n->lit, d, false, n->at, bytes);
}

/* The first and the last element of arange(...) with known integers; false: another
 * call, or there are no elements. */
static bool arange_ends(const CallArgs *a, int64_t end[2]) {
    int64_t v[3] = {0, 0, 1}; /* start, stop, step */
    bool alone = !a->has_in[1];
    for (size_t i = 0; i < 3; i++) {
        if (!a->has_in[i]) continue;
        const Node *n = &a->in[i];
        if (n->kind != NODE_LITERAL || !literal_i64(&n->lit, &v[alone ? 1 : i]))
            return false;
    }
    int64_t way;
    if (v[2] == 0 || (v[2] > 0 ? v[1] <= v[0] : v[1] >= v[0]) ||
        __builtin_sub_overflow(v[2] > 0 ? v[1] - 1 : v[1] + 1, v[0], &way))
        return false;
    end[0] = v[0];
    end[1] = v[0] + way / v[2] * v[2];
    return true;
}

static bool check_receiver_takes(Compiler *c, const CallArgs *a, DType want) {
    bool made = op_is(c->s, a->op, OP_FULL) || op_is(c->s, a->op, OP_ARANGE);
    for (size_t i = 0; made && dtype_is_discrete(want) && i < a->sig->nin; i++)
        if (a->has_in[i] && !check_whole_literals(c, &a->in[i], want)) return false;
    int64_t end[2];
    if (!op_is(c->s, a->op, OP_ARANGE) || !dtype_is_integer(want) ||
        !arange_ends(a, end))
        return true;
    _Alignas(16) char bytes[16];
    Literal first = literal_int(end[0]), last = literal_int(end[1]);
    return literal_store(c->s, &first, want, false, a->at, bytes) &&
           literal_store(c->s, &last, want, false, a->at, bytes);
}

bool call_args_props(Compiler *c, const CallArgs *a, DType want, const Props **props,
                     DType *creates) {
    const Signature *sig = a->sig;
    bool any = false;
    *props = NULL;
    *creates = DT_NONE;
    Prop *p = arena_alloc(c->tmp, (sig->nprop + 1) * sizeof *p);
    if (a->op->creates && want != DT_NONE && has_own_dtype(c, a, want)) want = DT_NONE;
    for (size_t i = 0; i < sig->nprop; i++) {
        const PropDef *def = &sig->prop[i];
        bool dtype = a->op->creates && def->type == T_DTYPE;
        p[i] = def->value;
        if (a->has_prop[i]) {
            if (!node_prop(c, a->op, def, &a->prop[i], &p[i])) return false;
        } else if (dtype && want != DT_NONE && p[i].kind == P_NONE) {
            if (!check_receiver_takes(c, a, want)) return false;
            p[i] = PROP_DTYPE(want);
        } else {
            continue;
        }
        any = true;
        if (dtype && p[i].kind == P_DTYPE) *creates = (DType)p[i].i;
    }
    if (a->op->def ||
        (a->op->bounds && *creates != DT_NONE && dtype_is_integer(*creates)))
        *creates = DT_NONE; /* of what a definition computes, only the result is cast */
    if (any) *props = props_intern(c->s, sig->nprop, p);
    return true;
}
