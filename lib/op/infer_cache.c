/* A cache of typing results. Most rules look at nothing but props and the inputs'
 * types, and graphs repeat themselves: a look into a small table, where new entries
 * overwrite old ones, types most Applies. Only calls that needed no casts and no
 * defaults are cached. */
#include "op/op_impl.h"

enum { TYPED_SIZE = 512 };

/* Where a page lies differs from run to run; what hits shouldn't. */
static uint64_t in_page(const void *p) {
    return (uintptr_t)p % 4096;
}

static Typed *typed_slot(Session *s, const Typed *key) {
    OpTable *t = op_table(s);
    if (!t->typed) t->typed = NEW_N(t->arena, TYPED_SIZE, Typed);
    uint64_t h =
        hash_mix(in_page(key->op), in_page(key->given) + (uint64_t)key->floatX);
    for (size_t i = 0; i < TYPED_IN && key->in[i]; i++)
        h = hash_mix(h, key->in[i]->id);
    return &t->typed[h % TYPED_SIZE];
}

static bool typed_key(const Op *op, const Props *given, size_t nin,
                      const Type *const *in, DType floatX, Typed *key) {
    if (nin == 0 || nin > TYPED_IN || op->from || op_rare(op)->itypes || op->def ||
        op->expand)
        return false;
    *key = (Typed){.op = op, .given = given, .floatX = floatX};
    for (size_t i = 0; i < nin; i++)
        key->in[i] = in[i];
    return true;
}

const Typed *typed_find(const Graph *g, const Op *op, const Props *given, VarList in,
                        DType floatX) {
    Typed key;
    const Type *type[TYPED_IN];
    for (size_t i = 0; i < in.n && i < TYPED_IN; i++)
        type[i] = var_type(g, in.p[i]);
    if (!typed_key(op, given, in.n, type, floatX, &key)) return NULL;
    const Typed *t = typed_slot(g->s, &key);
    bool same = t->op == op && t->given == given && t->floatX == floatX;
    for (size_t i = 0; i < TYPED_IN && same; i++)
        same = t->in[i] == key.in[i];
    return same ? t : NULL;
}

void typed_keep(const Infer *in, const Props *given) {
    Typed key;
    if (in->nout != 1 || *in->looked ||
        !typed_key(in->op, given, in->nin, in->type, in->floatX, &key))
        return;
    key.props = in->props;
    key.out = in->out[0];
    *typed_slot(in->s, &key) = key;
}
