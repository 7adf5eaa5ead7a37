/* Transfer hooks of a session. */
#include "value/transfer.h"

typedef struct TransferHook {
    TransferFn *fn;
    void *ctx;
} TransferHook;
typedef struct TransferHooks {
    Vec(TransferHook) list;
} TransferHooks;

static void free_transfer_hooks(void *p) {
    TransferHooks *h = p;
    vec_free(&h->list);
    mem_free(h);
}

void transfer_register(Session *s, TransferFn *fn, void *ctx) {
    TransferHooks *h = session_slot(s, SLOT_TRANSFER);
    if (!h) {
        h = mem_zalloc(s, 1, sizeof *h);
        session_set_slot(s, SLOT_TRANSFER, h, free_transfer_hooks);
    }
    vec_push(s, &h->list, ((TransferHook){fn, ctx}));
}

static Transfer ask_transfer_hooks(Session *s, const Type *t, const Value *v,
                                   Value *out) {
    const TransferHooks *h = session_slot(s, SLOT_TRANSFER);
    for (size_t i = 0; h && i < h->list.n; i++) {
        Transfer r = h->list.p[i].fn(h->list.p[i].ctx, s, t, v, out);
        if (r != TRANSFER_DECLINED) return r;
    }
    return TRANSFER_DECLINED;
}

bool value_bind(Session *s, const Type *t, const Value *v, const Receiver *to,
                Value *out) {
    Value moved = {.kind = TYPE_NONE};
    Transfer r = TRANSFER_DECLINED;
    if (!to->how.strict && type_class(t) != value_class(v))
        r = ask_transfer_hooks(s, t, v, &moved);
    if (r == TRANSFER_FAILED) return false;
    bool ok = value_filter(s, t, r == TRANSFER_DONE ? &moved : v, to, out);
    value_unref(&moved);
    return ok;
}
