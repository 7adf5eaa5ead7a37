/* Shared by the files of plugins: the library's side of thunkline/plugin.h. */
#ifndef API_PLUGIN_IMPL_H
#define API_PLUGIN_IMPL_H

#include "op/infer.h"
#include "thunkline/plugin.h"
#include "tools/tools.h"
#include "userop/userop.h"
#include "value/object.h"
#include "value/rng.h"

typedef struct Plugin {
    Session *s;
    const char *path; /* as given; for messages and `from` */
    void *handle;     /* from dlopen; NULL: linked into the program */
} Plugin;
/* op->plugin */
struct PluginOp {
    Op op;
    OpRare rare; /* of op */
    TlOpDef def; /* the known members of the plugin's def; the rest is zero */
    Thunk thunk;
    TlThunk tl_thunk;
    const Plugin *plugin;
    const char *const *pullback; /* formulas by parameter */
    size_t nview, ndestroy;
    struct PluginMap *view, *destroy;
};
typedef struct PluginMap {
    uint32_t out, in;
} PluginMap;

/* The library's context during a call into the plugin; on the stack, one per call. */
struct TlHost {
    Session *s;
    Span at;
    const char *what; /* for messages: "double_mul", "./double.so" */
    DiagCode other;   /* the error code for TL_FAILED */
    size_t mark;      /* number of diagnostics before the call */
    const Op *op;
    const Props *props;
    /* one of these, with its companions */
    const Plugin *plugin;
    Infer *infer;
    Call *call;
    Builder *b;
    const Pull *pull;
    const Push *push;
    const ShapeOf *shape;
    const Graph *g;
    ApplyId id;
    const GraphView *view;
    Str *out;
    Value *moved; /* of a transfer */
    Rng *rng;     /* of random */
};
extern const TlApi plugin_api;
TlHost plugin_host(Session *s, const Op *op, const Props *props, Span at);
/* Judges the result of a plugin's function: a failure must have been reported, and one
 * that reported something has failed. `of` names the function. */
bool plugin_verdict(TlHost *h, bool ok, const char *of);

/* plugin_hooks.c: makes p->op, without thunk, of p->def; of p->tl_thunk its thunk */
void plugin_hook_members(struct PluginOp *p);
void plugin_hook_thunk(struct PluginOp *p);

/* init: false: diagnosed */
bool plugin_add_op(TlHost *h, const TlOpDef *def);
bool plugin_add_type(TlHost *h, const TlTypeDef *def);
bool plugin_check_texts(TlHost *h); /* after init: do the ops' formulas name things that
                                     * exist? */
/* plugin_types.c, for the API; a NULL def matches any */
bool plugin_type_is(const Type *t, const TlTypeDef *def);
size_t plugin_type_params(const Type *t, const TlParam **param);
const void *plugin_object(const Value *v, const TlTypeDef *def);
void *plugin_output_object(Call *c, size_t i);
/* Adds a finished value's memory to the account, for profiles. */
void plugin_count(const Value *v);
/* Allocates a zeroed value of a plugin's type and returns its bytes. */
void *plugin_new_object(Session *s, const Type *t, Value *out);
/* plugin_transfer.c, for the API */
bool plugin_add_transfer(TlHost *h, TlTransferFn *fn);
void *plugin_transfer_object(TlTransfer *t);
bool plugin_transfer_tensor(TlTransfer *t, TlDType d, int ndim, const int64_t *shape,
                            TlTensor *out);
void tensor_to_plugin(const Tensor *t, TlTensor *out);
/* Copies the members known to both sides of a struct whose first member is its size. */
bool plugin_take(TlHost *h, const char *what, void *own, size_t size, const void *def,
                 size_t least);

#endif
