/* Makes hooks of the op contract of a plugin's functions: each gives its function the
 * context that thunkline/plugin.h promises, and judges what comes back. */
#include "api/plugin_impl.h"

#include <string.h>

/* ---- contexts ---- */

TlHost plugin_host(Session *s, const Op *op, const Props *props, Span at) {
    return (TlHost){.s = s,
                    .at = at,
                    .what = op ? op->name : "plugin",
                    .other = E_PLUGIN,
                    .mark = diag_count(s),
                    .op = op,
                    .props = props};
}

/* Fields at the start of every op context. */
#define CONTEXT(h, n_in, n_out)                                                        \
    .host = (h), .api = &plugin_api, .op = (h)->op->name,                              \
    .user = (h)->op->plugin->def.user, .nin = (n_in), .nout = (n_out)

static const TlType *const *types_out(const Type *const *t) {
    return (const TlType *const *)(const void *)t;
}

/* Calls make_node once. */
static bool ask_type(Infer *in, const Type **out, size_t *nout) {
    const struct PluginOp *op = in->op->plugin;
    TlHost h = plugin_host(in->s, in->op, in->props, in->at);
    h.infer = in;
    TlNode n = {CONTEXT(&h, in->nin, in->nout), .in = types_out(in->type),
                .out = (const TlType **)(void *)out};
    bool ok = plugin_verdict(&h, op->def.make_node(&n), "make_node");
    *nout = n.nout;
    if (ok && (n.nout == 0 || n.nout > OUT_MAX))
        return infer_fail(in, E_PLUGIN, in->nin,
                          "make_node gives %zu outputs, but an op has 1 to %d", n.nout,
                          OUT_MAX);
    for (size_t i = 0; ok && i < n.nout; i++)
        if (!out[i])
            return infer_fail(in, E_PLUGIN, in->nin,
                              "make_node sets no type for output %zu", i);
    return ok;
}

/* Called again with the inputs that it produced, make_node must give the same types. */
static bool check_type_is_stable(Infer *in, size_t nout) {
    const Type *again[OUT_MAX] = {NULL};
    size_t n;
    if (!ask_type(in, again, &n)) return false;
    bool same = n == nout;
    for (size_t i = 0; same && i < n; i++)
        if (again[i] != in->out[i])
            return infer_fail(in, E_PLUGIN, in->nin,
                              "make_node gives another result when it is called again: "
                              "output %zu is %s, then %s",
                              i, type_str(in->s, in->out[i]),
                              type_str(in->s, again[i]));
    return same || infer_fail(in, E_PLUGIN, in->nin,
                              "make_node gives another result when it is called again: "
                              "%zu outputs, then %zu",
                              nout, n);
}

static bool plugin_type(Infer *in) {
    size_t nout;
    if (!ask_type(in, in->out, &nout) || !infer_no_texts(in)) return false;
    if (in->make && !check_type_is_stable(in, nout)) return false;
    in->nout = nout;
    return true;
}

/* ---- running ---- */

static TlCall call_context(TlHost *h, Call *c) {
    h->call = c;
    h->other = E_RUN;
    return (TlCall){CONTEXT(h, c->nin, c->nout),
                    .in = (const TlValue *const *)(const void *)c->in,
                    .out_type = types_out(c->out_type),
                    .computed = c->computed,
                    .need = c->need,
                    .no_recycling = c->no_recycling};
}

/* Checks that every output was made and has its type. */
static bool check_outputs_made(Call *c) {
    for (size_t i = 0; i < c->nout; i++) {
        const Type *t = c->out_type[i];
        const Value *v = &c->out[i];
        bool array = t->kind == TYPE_TENSOR || t->kind == TYPE_RANDOM;
        bool made = v->kind == t->kind && (array ? v->t.data != NULL : v->obj != NULL);
        if (made) plugin_count(v);
        if (made || t->kind == TYPE_NONE) continue;
        return call_fail(c, E_RUN, "it did not create output %zu, which is %s", i,
                         type_str(c->s, t));
    }
    return true;
}

static bool run_perform(Call *c, bool (*perform)(TlCall *c), const char *of) {
    TlHost h = plugin_host(c->s, c->op, c->props, c->at);
    TlCall call = call_context(&h, c);
    return plugin_verdict(&h, perform(&call), of) && check_outputs_made(c);
}

static bool plugin_perform(Call *c) {
    return run_perform(c, c->op->plugin->def.perform, "perform");
}
static bool plugin_debug(Call *c) {
    return run_perform(c, c->op->plugin->def.debug_perform, "debug_perform");
}

static bool thunk_make(const Call *c, Impl impl, void **state) {
    const struct PluginOp *op = c->op->plugin;
    *state = NULL;
    if (!op->tl_thunk.make) return true;
    TlHost h = plugin_host(c->s, c->op, c->props, c->at);
    Call own = *c;
    TlCall call = call_context(&h, &own);
    return plugin_verdict(&h, op->tl_thunk.make(&call, (int)impl, state), "make_thunk");
}

static ThunkResult thunk_run(void *state, Call *c) {
    const struct PluginOp *op = c->op->plugin;
    TlHost h = plugin_host(c->s, c->op, c->props, c->at);
    TlCall call = call_context(&h, c);
    TlThunkResult r = op->tl_thunk.run(state, &call);
    if (!plugin_verdict(&h, r != TL_THUNK_FAILED, "the thunk")) return THUNK_FAILED;
    if (r == TL_THUNK_NEEDS && op->tl_thunk.lazy) return THUNK_NEEDS;
    return check_outputs_made(c) ? THUNK_DONE : THUNK_FAILED;
}

void plugin_hook_thunk(struct PluginOp *p) {
    p->thunk = (Thunk){.lazy = p->tl_thunk.lazy,
                       .make = thunk_make,
                       .run = thunk_run,
                       .free = p->tl_thunk.free};
    p->rare.thunk = &p->thunk;
}

/* ---- derivatives, shapes ---- */

/* Is input i connected to an output with a gradient? */
static bool has_live_cotangent(const Pull *p, size_t i) {
    for (size_t k = 0; k < p->nout; k++)
        if (p->cotangent[k] != VAR_NONE && op_connected(p->g, p->id, i, k)) return true;
    return false;
}

/* If all outputs that an input influences are unused, an op without a connection
 * pattern may leave its gradient out. That can't be verified here, so it counts as
 * disconnected. */
static bool may_be_unused(const Pull *p) {
    if (op_rare(p->op)->connect || p->op->disconnected) return false;
    for (size_t k = 0; k < p->nout; k++)
        if (p->cotangent[k] == VAR_NONE) return true;
    return false;
}

/* Does grad give a gradient although the op's own pattern connects the input to no
 * output? One of them is wrong. */
static bool contradicts_pattern(const Pull *p, size_t i) {
    if (p->grad[i] >= p->b->g->nvar || var_is_null(p->b->g, p->grad[i])) return false;
    for (size_t k = 0; k < p->nout; k++)
        if (op_connected(p->g, p->id, i, k)) return false;
    return true;
}

/* Takes the gradient that grad left for input i. */
static bool take_gradient(Pull *p, size_t i) {
    TlVar v = p->grad[i];
    if (contradicts_pattern(p, i)) {
        fail(p->b->s, p->b->from.at, E_GRADIENT,
             "%s: grad gives a gradient of its input %s, which the op declares to be "
             "disconnected",
             p->op->name, signature_input_text(p->b->s, p->op, p->nin, i));
        return note(p->b->s, NOWHERE,
                    "give TL_DISCONNECTED, or declare the input as connected");
    }
    if (!p->wanted[i]) return p->grad[i] = GRAD_DISCONNECTED, true;
    if (v < p->b->g->nvar) return true;
    p->grad[i] = GRAD_DISCONNECTED;
    if (v == TL_DISCONNECTED || !has_live_cotangent(p, i)) return true;
    if (v == TL_FORGOTTEN && may_be_unused(p)) return true;
    const char *how = v == TL_FORGOTTEN ? "sets no gradient for"
                      : v == TL_NONE    ? "gives TL_NONE as the gradient of"
                                        : "gives no variable for";
    fail(p->b->s, p->b->from.at, E_GRADIENT, "%s: grad %s its input %s", p->op->name,
         how, signature_input_text(p->b->s, p->op, p->nin, i));
    return note(p->b->s, NOWHERE,
                "if no element of the input influences the output, give "
                "TL_DISCONNECTED and declare it in `connected` or `disconnected`");
}

/* For hooks that add to a graph. */
static TlHost building_host(Builder *b, const Op *op, const Props *props) {
    TlHost h = plugin_host(b->s, op, props, b->from.at);
    h.b = b;
    return h;
}

static bool plugin_pull(Pull *p) {
    TlHost h = building_host(p->b, p->op, p->props);
    h.pull = p;
    for (size_t i = 0; i < p->nin; i++)
        p->grad[i] = TL_FORGOTTEN;
    TlGrad g = {
        CONTEXT(&h, p->nin, p->nout), .in = p->in,    .out = p->out, .g = p->cotangent,
        .wanted = p->wanted,          .grad = p->grad};
    if (!plugin_verdict(&h, p->op->plugin->def.grad(&g), "grad")) return false;
    for (size_t i = 0; i < p->nin; i++)
        if (!take_gradient(p, i)) return false;
    return true;
}

/* The formula of a rest parameter applies to every input in the rest. */
static bool plugin_pull_texts(Pull *p) {
    size_t n = op_signature(p->b->s, p->op)->nin;
    bool ok = true;
    for (size_t i = 0; ok && i < p->nin; i++) {
        const char *text = p->op->plugin->pullback[i < n ? i : n - 1];
        p->grad[i] = p->wanted[i] ? grad_text_pull(p, text, &ok) : GRAD_DISCONNECTED;
    }
    return ok;
}

/* Is output k connected to an input with a tangent? */
static bool has_moving_tangent(const Push *p, size_t k) {
    for (size_t i = 0; i < p->nin; i++)
        if (p->tangent[i] != VAR_NONE && op_connected(p->g, p->id, i, k)) return true;
    return false;
}

/* Takes the tangent that pushforward left for output k. */
static bool take_tangent(Push *p, size_t k) {
    TlVar v = p->result[k];
    if (v < p->b->g->nvar) return true;
    p->result[k] = VAR_NONE;
    bool zero = v == TL_NONE || v == TL_DISCONNECTED;
    if (zero || (v == TL_FORGOTTEN && !has_moving_tangent(p, k))) return true;
    const Signature *sig = op_signature(p->b->s, p->op);
    return fail(p->b->s, p->b->from.at, E_GRADIENT, "%s: pushforward %s its output %s",
                p->op->name,
                v == TL_FORGOTTEN ? "sets no tangent for" : "gives no variable for",
                k < sig->nout ? sym_text(p->b->s, sig->out[k])
                              : arena_printf(session_arena(p->b->s), "%zu", k));
}

static bool plugin_push(Push *p) {
    TlHost h = building_host(p->b, p->op, p->props);
    h.push = p;
    for (size_t k = 0; k < p->nout; k++)
        p->result[k] = TL_FORGOTTEN;
    TlPush t = {CONTEXT(&h, p->nin, p->nout), .in = p->in, .out = p->out,
                .tangent = p->tangent, .result = p->result};
    if (!plugin_verdict(&h, p->op->plugin->def.pushforward(&t), "pushforward"))
        return false;
    for (size_t k = 0; k < p->nout; k++)
        if (!take_tangent(p, k)) return false;
    return true;
}

/* The elements of a shape given as a vector. */
static bool take_shape(const ShapeOf *q, size_t i, Var v) {
    const Type *t = v < q->b->g->nvar ? var_type(q->b->g, v) : NULL;
    const Type *to = var_type(q->g, q->g->apply[q->id].out + (Var)i);
    if (!t || t->kind != TYPE_TENSOR || t->ndim != 1 || !dtype_is_integer(t->dtype) ||
        (t->dim[0] >= 0 && t->dim[0] != to->ndim))
        return fail(q->b->s, q->b->from.at, E_PLUGIN,
                    "%s: infer_shape must give output %zu a vector of %d integers",
                    q->op->name, i, to->ndim);
    for (int k = 0; k < to->ndim; k++) {
        PropArg index = {"index", PROP_STR(sym(q->b->s, "$"))};
        Var in[] = {v, const_int(q->b, k)};
        const Op *sub = op_known(q->b->s, OP_SUBTENSOR);
        q->out_shape[i][k] =
            op_apply1(q->b, sub, props_make(q->b->s, sub, 1, &index), 2, in);
        if (q->out_shape[i][k] == VAR_NONE) return false;
    }
    return true;
}

static bool plugin_shape(ShapeOf *q) {
    Var shape[OUT_MAX];
    TlHost h = building_host(q->b, q->op, q->props);
    h.shape = q;
    h.id = q->id;
    for (size_t i = 0; i < q->nout; i++)
        shape[i] = VAR_NONE;
    TlShape t = {CONTEXT(&h, q->nin, q->nout), .in = q->in, .shape = shape};
    if (!q->op->plugin->def.infer_shape(&t)) return false;
    if (diag_count(h.s) > h.mark) return false;
    for (size_t i = 0; i < q->nout; i++) {
        if (shape[i] != VAR_NONE && !take_shape(q, i, shape[i])) return false;
        if (shape[i] == VAR_NONE && q->out_shape[i]) q->out_shape[i][0] = VAR_NONE;
    }
    return true;
}

/* ---- questions about an Apply ---- */

enum { FEW = 16 };
typedef struct ApplyView {
    TlHost h;
    TlApply a;
    const Type *few[FEW], **type;
} ApplyView;

static void ask_open(ApplyView *q, const Graph *g, ApplyId id, const GraphView *view) {
    const Apply *ap = &g->apply[id];
    size_t n = (size_t)ap->nin + ap->nout;
    q->h = plugin_host(g->s, ap->op, ap->props, g->origin[id].at);
    q->h.g = g;
    q->h.id = id;
    q->h.view = view;
    q->type = n <= FEW ? q->few : mem_alloc(g->s, n * sizeof *q->type);
    for (size_t i = 0; i < ap->nin; i++)
        q->type[i] = var_type(g, apply_in(g, id)[i]);
    for (size_t k = 0; k < ap->nout; k++)
        q->type[ap->nin + k] = var_type(g, ap->out + (Var)k);
    q->a = (TlApply){CONTEXT(&q->h, ap->nin, ap->nout), .in = types_out(q->type),
                     .out = types_out(q->type + ap->nin)};
}

static void ask_close(ApplyView *q) {
    if (q->type != q->few) mem_free(q->type);
}

static bool plugin_connect(const Graph *g, ApplyId id, size_t in, size_t out) {
    ApplyView q;
    ask_open(&q, g, id, NULL);
    bool yes = g->apply[id].op->plugin->def.connected(&q.a, in, out);
    ask_close(&q);
    return yes;
}

static bool plugin_fold(const GraphView *v, ApplyId id) {
    ApplyView q;
    ask_open(&q, v->g, id, v);
    bool yes = v->g->apply[id].op->plugin->def.fold(&q.a);
    ask_close(&q);
    return yes;
}

static int mapped_input(const Graph *g, ApplyId id, size_t out, size_t n,
                        const PluginMap *m, int (*ask)(const TlApply *a, size_t out)) {
    for (size_t i = 0; i < n; i++)
        if (m[i].out == out && m[i].in < g->apply[id].nin) return (int)m[i].in;
    if (!ask) return -1;
    ApplyView q;
    ask_open(&q, g, id, NULL);
    int in = ask(&q.a, out);
    ask_close(&q);
    return in >= 0 && in < g->apply[id].nin ? in : -1;
}

static int plugin_views(const Graph *g, ApplyId id, size_t out) {
    const struct PluginOp *p = g->apply[id].op->plugin;
    return mapped_input(g, id, out, p->nview, p->view, p->def.view);
}

static int plugin_destroys(const Graph *g, ApplyId id, size_t out) {
    const struct PluginOp *p = g->apply[id].op->plugin;
    return mapped_input(g, id, out, p->ndestroy, p->destroy, p->def.destroy);
}

static void plugin_str(Session *s, const Op *op, const Props *props, Str *out) {
    TlHost h = plugin_host(s, op, props, NOWHERE);
    Str text = STR(s);
    h.out = &text;
    if (op->plugin->def.str(&h, &plugin_api) && diag_count(s) == h.mark)
        str_add(out, str_text(&text), text.n);
    else /* discards what a failed hook had put */
        str_puts(out, op->name);
    diag_rewind(s, h.mark);
    str_free(&text);
}

/* ---- the row ---- */

void plugin_hook_members(struct PluginOp *p) {
    const TlOpDef *d = &p->def;
    p->rare =
        (OpRare){.itypes = d->itypes,
                 .otypes = d->otypes,
                 .shape = d->shape,
                 .infer_shape = d->infer_shape ? plugin_shape : NULL,
                 .connect = d->connected ? plugin_connect : NULL,
                 .views = d->view_map || d->view ? plugin_views : NULL,
                 .destroys = d->destroy_map || d->destroy ? plugin_destroys : NULL,
                 .str = d->str ? plugin_str : NULL,
                 .fold_if = d->fold ? plugin_fold : NULL};
    p->op = (Op){.name = d->name,
                 .doc = d->doc,
                 .alias = d->alias,
                 .in = d->in,
                 .props = d->props,
                 .out = d->out,
                 .version = d->version,
                 .default_output = (uint16_t)d->default_output,
                 .type = d->make_node ? plugin_type : NULL,
                 .perform = d->perform ? plugin_perform : NULL,
                 .debug = d->debug_perform ? plugin_debug : NULL,
                 .debug_instead = d->debug_perform && !d->debug_is_reference,
                 .keeps_storage = d->keeps_storage,
                 .flops = d->flops,
                 .pull = d->grad       ? plugin_pull
                         : d->pullback ? plugin_pull_texts
                                       : NULL,
                 .push = d->pushforward ? plugin_push : NULL,
                 .disconnected = d->disconnected,
                 .rare = &p->rare,
                 .fold = d->never_fold ? FOLD_NEVER : FOLD_ALWAYS,
                 .comm = d->commutative,
                 .example = d->example,
                 .file = p->plugin->path,
                 .from = p->plugin->path,
                 .plugin = p};
}
