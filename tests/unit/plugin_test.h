/* What the tests of the C interface of plugins share: a session for each plugin of one
 * def, and defs that are in order but for one member. */
#ifndef PLUGIN_TEST_H
#define PLUGIN_TEST_H

#include "contract_graph.h"
#include "thunkline/plugin.h"

#include <stdlib.h>

/* ---- plugins of one def ---- */
static const TlTypeDef *type_def;
static const TlOpDef *op_def;
static bool with_type, with_op;
static inline bool init(TlHost *h, const TlApi *a) {
    return (!with_type || a->add_type(h, type_def)) &&
           (!with_op || a->add_op(h, op_def));
}
/* A session of its own for each: what is refused leaves nothing behind. */
static inline void begin(void) {
    s = tools_session(NULL, NULL);
    session_options(s)->threads = 1;
}

static inline bool add(void) {
    static const TlPlugin p = {TL_PLUGIN_ABI, "mine", "1", init};
    return plugin_add(s, "./mine.so", &p);
}
static inline bool add_type(const TlTypeDef *t) {
    type_def = t;
    with_type = true, with_op = false;
    return add();
}
static inline bool add_op(const TlOpDef *o) {
    op_def = o;
    with_type = false, with_op = true;
    return add();
}

/* One error, which has the text and names the plugin, the op or the type. */
static inline void said(const char *what, const char *text) {
    const Diag *d = diag_first_error(s);
    bool named = false;
    CHECK(d && diag_count(s) == 1, "%s: %zu diagnostics", what, diag_count(s));
    if (!d) return;
    CHECK(strstr(d->text, text) != NULL, "%s: \"%s\", not \"%s\"", what, d->text, text);
    named = strstr(d->text, "mine.so") != NULL;
    for (const DiagNote *n = d->notes; n; n = n->next)
        named |= strstr(n->text, "mine.so") != NULL;
    if (d->at.source)
        named |= strstr(source_get(s, d->at.source)->name, "mine.so") != NULL;
    CHECK(named, "%s: \"%s\" does not say where", what, d->text);
}

/* ---- defs ---- */
static inline bool filter(const TlFilter *f, void *out) {
    bool exact;
    return f->api->to_double(f->value, out, &exact) ||
           f->api->fail(f->host, TL_WRONG_TYPE, "a number is due");
}
static inline bool node(TlNode *n) {
    for (size_t i = 0; i < n->nout; i++)
        n->out[i] = n->nin ? n->in[0] : n->api->type(n->host, "float64");
    return true;
}
static inline bool pass(TlCall *c) {
    return c->api->pass(c, 0, 0);
}

/* A def in order but for one member. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
#define TYPE(...)                                                                      \
    (&(const TlTypeDef){.size = sizeof(TlTypeDef),                                     \
                        .name = "t",                                                   \
                        .value_size = 8,                                               \
                        .filter = filter,                                              \
                        __VA_ARGS__})
#define OP(...)                                                                        \
    (&(const TlOpDef){.size = sizeof(TlOpDef),                                         \
                      .name = "f",                                                     \
                      .in = "x",                                                       \
                      .make_node = node,                                               \
                      .perform = pass,                                                 \
                      __VA_ARGS__})

#endif
