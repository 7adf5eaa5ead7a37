/* What the files of plugins share: the library's side of thunkline/plugin.h. */
#ifndef API_PLUGIN_IMPL_H
#define API_PLUGIN_IMPL_H

#include "op/infer.h"
#include "thunkline/plugin.h"
#include "tools/tools.h"
#include "userop/userop.h"
#include "value/object.h"

typedef struct Plugin {
    Session *s;
    const char *path; /* as it was given; for messages and `from` */
    void *handle;     /* of dlopen; NULL: it is part of the program */
} Plugin;
/* op->plugin */
struct PluginOp {
    Op op;
    TlOpDef def; /* as much of the plugin's as we know, the rest zero */
    Thunk thunk;
    TlThunk tl_thunk;
    const Plugin *plugin;
    const char *const *pullback; /* texts by parameter */
    size_t nview, ndestroy;
    struct PluginMap *view, *destroy;
};
typedef struct PluginMap {
    uint32_t out, in;
} PluginMap;

/* What the library does while it is in the plugin; on the stack, one a call. */
struct TlHost {
    Session *s;
    Span at;
    const char *what; /* for messages: "double_mul", "./double.so" */
    DiagCode other;   /* the class of TL_FAILED */
    size_t mark;      /* diagnostics before */
    const Op *op;
    const Props *props;
    /* one of these, and what goes with it */
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
/* The verdict of a function of the plugin: one that fails must have said why, and one
 * that said something has failed. `of` names it. */
bool plugin_verdict(TlHost *h, bool ok, const char *of);

/* init: false: diagnosed */
bool plugin_add_op(TlHost *h, const TlOpDef *def);
bool plugin_add_type(TlHost *h, const TlTypeDef *def);
bool plugin_check_texts(TlHost *h); /* after it: do texts of the ops name what is? */
/* plugin_types.c, for the API; a NULL def is any */
bool plugin_type_is(const Type *t, const TlTypeDef *def);
size_t plugin_type_params(const Type *t, const TlParam **param);
const void *plugin_object(const Value *v, const TlTypeDef *def);
void *plugin_output_object(Call *c, size_t i);
/* Counts what a value that is done holds, for profiles. */
void plugin_count(const Value *v);
/* A zeroed value of a plugin's type, and its bytes. */
void *plugin_new_object(Session *s, const Type *t, Value *out);
/* plugin_transfer.c, for the API */
bool plugin_add_transfer(TlHost *h, TlTransferFn *fn);
void *plugin_transfer_object(TlTransfer *t);
bool plugin_transfer_tensor(TlTransfer *t, TlDType d, int ndim, const int64_t *shape,
                            TlTensor *out);
void tensor_to_plugin(const Tensor *t, TlTensor *out);
/* Copies what both sides know of a struct whose first member is its size. */
bool plugin_take(TlHost *h, const char *what, void *own, size_t size, const void *def,
                 size_t least);

#endif
