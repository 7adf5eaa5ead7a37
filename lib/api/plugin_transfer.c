/* Transfers of plugins: their functions as hooks of the session. */
#include "api/plugin_impl.h"
#include "value/transfer.h"

typedef struct PluginTransfer {
    const Plugin *plugin;
    TlTransferFn *fn;
} PluginTransfer;

static Transfer ask_transfer(void *ctx, Session *s, const Type *to, const Value *v,
                             Value *out) {
    const PluginTransfer *p = ctx;
    TlHost h = {.s = s,
                .what = p->plugin->path,
                .other = E_VALUE,
                .mark = diag_count(s),
                .moved = out};
    TlTransfer t = {&h, &plugin_api, (const TlType *)(const void *)to,
                    (const TlValue *)(const void *)v};
    TlTransferResult r = p->fn(&t);
    bool ok = plugin_verdict(&h, r != TL_TRANSFER_FAILED, "a transfer");
    if (ok && r == TL_TRANSFER_DONE && out->kind == TYPE_NONE)
        ok = plugin_api.fail(&h, TL_FAILED,
                             "a transfer succeeded, but created no value");
    if (ok && r == TL_TRANSFER_DONE) return TRANSFER_DONE;
    value_unref(out);
    *out = (Value){.kind = TYPE_NONE};
    return ok ? TRANSFER_DECLINED : TRANSFER_FAILED;
}

bool plugin_add_transfer(TlHost *h, TlTransferFn *fn) {
    if (!h->plugin)
        return plugin_api.fail(h, TL_FAILED, "transfers can be added only by init");
    if (!fn) return plugin_api.fail(h, TL_FAILED, "a transfer is NULL");
    PluginTransfer *p = NEW(session_arena(h->s), PluginTransfer);
    *p = (PluginTransfer){h->plugin, fn};
    transfer_register(h->s, ask_transfer, p);
    return true;
}

void *plugin_transfer_object(TlTransfer *t) {
    const Type *to = (const Type *)(const void *)t->to;
    if (to->kind != TYPE_PLUGIN)
        return plugin_api.fail(t->host, TL_FAILED,
                               "a transfer to %s must not create a value of a plugin",
                               type_str(t->host->s, to)),
               NULL;
    value_unref(t->host->moved);
    return plugin_new_object(t->host->s, to, t->host->moved);
}

bool plugin_transfer_tensor(TlTransfer *t, TlDType d, int ndim, const int64_t *shape,
                            TlTensor *out) {
    bool ok = (int)d >= 0 && (int)d < DT_N && ndim >= 0 && ndim <= MAX_NDIM;
    for (int i = 0; ok && i < ndim; i++)
        ok = shape[i] >= 0;
    if (!ok)
        return plugin_api.fail(t->host, TL_FAILED,
                               "can't create an array of dtype %d and that shape",
                               (int)d);
    Value *moved = t->host->moved;
    value_unref(moved);
    *moved = (Value){.kind = TYPE_NONE};
    Tensor own;
    if (!tensor_new(t->host->s, (DType)d, ndim, shape, &own)) return false;
    *moved = (Value){.kind = TYPE_TENSOR, .t = own};
    tensor_to_plugin(&own, out);
    return true;
}
