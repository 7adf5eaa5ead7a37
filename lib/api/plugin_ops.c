/* Ops of plugins: checks a def once, then wraps each of the plugin's functions, with
 * its context, as a hook of the op contract. */
#include "api/plugin_impl.h"
#include "lang/expr.h"
#include "type/word.h"

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
    if (p->op->connect || p->op->disconnected) return false;
    for (size_t k = 0; k < p->nout; k++)
        if (p->cotangent[k] == VAR_NONE) return true;
    return false;
}

/* Takes the gradient that grad left for input i. */
static bool take_gradient(Pull *p, size_t i) {
    TlVar v = p->grad[i];
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

static bool plugin_pull(Pull *p) {
    TlHost h = plugin_host(p->b->s, p->op, p->props, p->b->from.at);
    h.b = p->b;
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
    TlHost h = plugin_host(p->b->s, p->op, p->props, p->b->from.at);
    h.b = p->b;
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
    TlHost h = plugin_host(q->b->s, q->op, q->props, q->b->from.at);
    h.b = q->b;
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

/* ---- checking a def ---- */

typedef struct OpAddition {
    TlHost *h;
    Session *s;
    struct PluginOp *own;
    const TlOpDef *def;
    const Signature *sig;
} OpAddition;

static bool fail_op(const OpAddition *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail_op(const OpAddition *a, const char *fmt, ...) {
    Str b = STR(a->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    plugin_api.fail(a->h, TL_FAILED, "the op %s: %s", a->def->name, str_text(&b));
    str_free(&b);
    return false;
}

static bool check_op_signature(OpAddition *a) {
    static const char *const part[] = {"in", "props", "out"};
    SignatureError e;
    userop_check_signature(a->s, &a->own->op, &e);
    if (e.what)
        return fail_op(a, "%s: %s%s%s%s", part[e.part], e.what, *e.rest ? " at \"" : "",
                       e.rest, *e.rest ? "\"" : "");
    return true;
}

/* It must have exactly one way to be typed and one to run. */
static bool check_members(OpAddition *a) {
    const TlOpDef *d = a->def;
    if (!d->make_node && !d->itypes && !d->otypes)
        return fail_op(a, "it has neither make_node nor itypes and otypes");
    if (d->make_node && (d->itypes || d->otypes))
        return fail_op(a,
                       "make_node excludes itypes and otypes: give one or the other");
    if (!d->make_node && (!d->itypes || !d->otypes))
        return fail_op(a, "itypes and otypes must be given together");
    if (!d->perform && !d->thunk)
        return fail_op(
            a, "it has neither perform nor thunk, so there is no way to run it");
    int ways = (d->partials != NULL) + (d->adjoint != NULL) + (d->pullback != NULL) +
               (d->grad != NULL);
    if (ways > 1)
        return fail_op(
            a, "partials, adjoint, pullback and grad exclude each other: give one");
    if (d->view_map && d->view)
        return fail_op(a, "view_map and view exclude each other: give one");
    if (d->destroy_map && d->destroy)
        return fail_op(a, "destroy_map and destroy exclude each other: give one");
    if (d->debug_perform && !d->perform)
        return fail_op(a, "debug_perform is for ops with perform: a thunk learns from "
                          "impl what to run");
    if (d->debug_is_reference && !d->debug_perform)
        return fail_op(a, "debug_is_reference needs debug_perform");
    if (d->never_fold && d->fold)
        return fail_op(a, "never_fold and fold exclude each other: give one");
    return d->disconnected && d->connected
               ? fail_op(a, "disconnected and connected exclude each other: give one")
               : true;
}

static bool find_name(const Sym *names, size_t n, Sym y, uint32_t *at) {
    for (*at = 0; *at < n; ++*at)
        if (names[*at] == y) return true;
    return false;
}

static Sym *input_names(OpAddition *a) {
    Sym *y = NEW_N(session_arena(a->s), a->sig->nin + 1, Sym);
    for (size_t i = 0; i < a->sig->nin; i++)
        y[i] = a->sig->in[i].name;
    return y;
}

/* "r: x, q: y" */
static bool read_map(OpAddition *a, const char *what, const char *text, PluginMap **map,
                     size_t *n) {
    char **part;
    const Sym *in = input_names(a);
    if (!text) return true;
    size_t count = str_split(session_arena(a->s), text, ',', &part);
    *map = NEW_N(session_arena(a->s), count, PluginMap);
    for (size_t i = 0; i < count; i++) {
        char **side;
        size_t sides = str_split(session_arena(a->s), part[i], ':', &side);
        PluginMap m = {0, 0};
        if (sides != 2)
            return fail_op(
                a, "%s must be \"output: input\" pairs separated by commas, not \"%s\"",
                what, part[i]);
        if (!find_name(a->sig->out, a->sig->nout, sym(a->s, side[0]), &m.out))
            return fail_op(a, "%s: there is no output %s", what, side[0]);
        if (!find_name(in, a->sig->nin, sym(a->s, side[1]), &m.in))
            return fail_op(a, "%s: there is no input %s", what, side[1]);
        for (size_t k = 0; k < *n; k++)
            if ((*map)[k].out == m.out)
                return fail_op(a, "%s: output %s can have only one input", what,
                               side[0]);
        (*map)[(*n)++] = m;
    }
    return true;
}

/* An input that is overwritten can't also be viewed or overwritten twice. */
static bool check_maps(OpAddition *a) {
    struct PluginOp *p = a->own;
    if (!read_map(a, "view_map", a->def->view_map, &p->view, &p->nview) ||
        !read_map(a, "destroy_map", a->def->destroy_map, &p->destroy, &p->ndestroy))
        return false;
    for (size_t i = 0; i < p->ndestroy; i++) {
        const char *name = sym_text(a->s, a->sig->in[p->destroy[i].in].name);
        for (size_t k = 0; k < i; k++)
            if (p->destroy[k].in == p->destroy[i].in)
                return fail_op(a, "two outputs destroy the input %s", name);
        for (size_t k = 0; k < p->nview; k++)
            if (p->view[k].in == p->destroy[i].in)
                return fail_op(a, "the input %s is both viewed and destroyed", name);
    }
    return true;
}

/* A member's text as a source for messages: "./mine.so (adjoint of f)". */
static Span member_span(TlHost *h, const char *op, const char *what, const char *text) {
    const char *name =
        arena_printf(session_arena(h->s), "%s (%s of %s)", h->what, what, op);
    size_t n = strlen(text);
    return (Span){source_add(h->s, name, text, n), 0, (uint32_t)n};
}

static bool check_formula(OpAddition *a, const char *what, const char *text) {
    if (!text) return true;
    Arena *tmp = arena_new(a->s);
    bool ok = ast_parse(a->s, tmp, member_span(a->h, a->def->name, what, text)) != NULL;
    arena_free(tmp);
    return ok;
}

/* "y; x": one per input, or one more for a rest parameter. */
static bool split_gradient_texts(OpAddition *a, const char *what, const char *text,
                                 const char *const **out) {
    char **part;
    if (!text) return true;
    size_t n = str_split(session_arena(a->s), text, ';', &part);
    if (n != a->sig->nin)
        return fail_op(a, "%s has %zu texts (separated by semicolons) for %zu input%s",
                       what, n, a->sig->nin, a->sig->nin == 1 ? "" : "s");
    if (a->sig->nout != 1 && strcmp(what, "pullback") != 0)
        return fail_op(a, "%s is for ops with one output: use pullback or grad", what);
    for (size_t i = 0; i < n; i++)
        if (!check_formula(a, what, part[i])) return false;
    *out = (const char *const *)(const void *)part;
    return true;
}

/* Without a pattern of its own, the op is disconnected from inputs whose formula says
 * so. */
static void read_pattern(OpAddition *a, const char *const *text) {
    Str list = STR(a->s);
    if (!text || a->def->disconnected || a->def->connected) return;
    for (size_t i = 0; i < a->sig->nin; i++)
        if (strcmp(text[i], "disconnected") == 0)
            str_printf(&list, "%s%s", list.n ? ", " : "",
                       sym_text(a->s, a->sig->in[i].name));
    if (list.n)
        a->own->op.disconnected =
            arena_copy(session_arena(a->s), str_text(&list), list.n + 1);
    str_free(&list);
}

static bool check_param_names(OpAddition *a, const char *what, size_t n,
                              const Sym *names, bool free) {
    bool texts = a->def->partials || a->def->adjoint || a->def->pullback;
    for (size_t i = 0; i < n; i++) {
        const char *name = sym_text(a->s, names[i]);
        if (!word_is_name(name, strlen(name)))
            return fail_op(a, "%s: \"%s\" can't be a name", what, name);
        if (free && texts && userop_is_reserved_word(name))
            return fail_op(a, "%s: \"%s\" has another meaning in texts of derivatives",
                           what, name);
    }
    return true;
}

static bool check_disconnected(OpAddition *a) {
    char **part;
    const Sym *in = input_names(a);
    uint32_t at;
    if (!a->def->disconnected) return true;
    size_t n = str_split(session_arena(a->s), a->def->disconnected, ',', &part);
    for (size_t i = 0; i < n; i++)
        if (!find_name(in, a->sig->nin, sym(a->s, part[i]), &at))
            return fail_op(a, "disconnected: there is no input %s", part[i]);
    return true;
}

static bool check_thunk(OpAddition *a) {
    struct PluginOp *p = a->own;
    if (!a->def->thunk) return true;
    if (!plugin_take(a->h, "a thunk", &p->tl_thunk, sizeof p->tl_thunk, a->def->thunk,
                     offsetof(TlThunk, free)))
        return false;
    if (!p->tl_thunk.run) return fail_op(a, "its thunk has no run");
    p->thunk = (Thunk){.lazy = p->tl_thunk.lazy,
                       .make = thunk_make,
                       .run = thunk_run,
                       .free = p->tl_thunk.free};
    p->op.thunk = &p->thunk;
    return true;
}

static void fill_op_members(struct PluginOp *p) {
    const TlOpDef *d = &p->def;
    p->op = (Op){.name = d->name,
                 .doc = d->doc,
                 .alias = d->alias,
                 .in = d->in,
                 .props = d->props,
                 .out = d->out,
                 .version = d->version,
                 .default_output = (uint16_t)d->default_output,
                 .itypes = d->itypes,
                 .otypes = d->otypes,
                 .type = d->make_node ? plugin_type : NULL,
                 .shape = d->shape,
                 .infer_shape = d->infer_shape ? plugin_shape : NULL,
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
                 .connect = d->connected ? plugin_connect : NULL,
                 .views = d->view_map || d->view ? plugin_views : NULL,
                 .destroys = d->destroy_map || d->destroy ? plugin_destroys : NULL,
                 .str = d->str ? plugin_str : NULL,
                 .fold = d->never_fold ? FOLD_NEVER : FOLD_ALWAYS,
                 .fold_if = d->fold ? plugin_fold : NULL,
                 .comm = d->commutative,
                 .example = d->example,
                 .file = p->plugin->path,
                 .from = p->plugin->path,
                 .plugin = p};
}

/* Checks types given as text: one per input or output. */
static bool check_type_list(OpAddition *a, const char *what, const char *list,
                            size_t n) {
    char **part;
    if (!list) return true;
    size_t have = str_split(session_arena(a->s), list, ',', &part);
    if (have != n)
        return fail_op(a, "%s has %s for %s", what, str_counted(a->s, have, "type"),
                       str_counted(a->s, n, *what == 'i' ? "input" : "output"));
    for (size_t i = 0; i < n; i++)
        if (!type_parse(a->s, part[i], strlen(part[i]),
                        member_span(a->h, a->def->name, what, part[i])))
            return false;
    return true;
}

/* Rejects what the library's own signatures may have, but a plugin's may not; formulas
 * have a single name space. */
static bool check_parameters(OpAddition *a) {
    const Signature *sig = a->sig;
    const Sym *in = input_names(a);
    Sym *props = NEW_N(session_arena(a->s), sig->nprop + 1, Sym);
    uint32_t at;
    for (size_t i = 0; i < sig->nprop; i++)
        props[i] = sig->prop[i].name;
    if (!check_param_names(a, "in", sig->nin, in, true) ||
        !check_param_names(a, "props", sig->nprop, props, true) ||
        !check_param_names(a, "out", sig->nout, sig->out, false))
        return false;
    for (size_t i = 0; i < sig->nin; i++)
        if (sig->in[i].value && !userop_is_default(sig->in[i].value))
            return fail_op(a, "in: a default must be a number, not %s",
                           sig->in[i].value);
    for (size_t i = 0; i < sig->nprop; i++) {
        const char *name = sym_text(a->s, sig->prop[i].name);
        if (find_name(in, sig->nin, sig->prop[i].name, &at))
            return fail_op(a, "props: %s is also an input", name);
        PropType t = sig->prop[i].type;
        if (t == T_GRAPH || t == T_KEY || t == T_SIDES)
            return fail_op(a, "props: %s has a kind that plugins can't use", name);
    }
    return sig->nout || fail_op(a, "out: it has no outputs");
}

static bool check_rest(OpAddition *a) {
    const TlOpDef *d = a->def;
    if (d->default_output < 0 || (size_t)d->default_output > a->sig->nout)
        return fail_op(a, "default_output is %d, but it has %zu output%s",
                       d->default_output, a->sig->nout, a->sig->nout == 1 ? "" : "s");
    if (d->commutative && a->sig->nin != 2)
        return fail_op(a, "only an op with two inputs can be commutative");
    const Op *op = &a->own->op;
    bool ok =
        check_parameters(a) && check_type_list(a, "itypes", d->itypes, a->sig->nin) &&
        check_type_list(a, "otypes", d->otypes, a->sig->nout) && check_maps(a) &&
        check_disconnected(a) && check_thunk(a) &&
        split_gradient_texts(a, "partials", d->partials, &a->own->op.partial) &&
        split_gradient_texts(a, "adjoint", d->adjoint, &a->own->op.adjoint) &&
        split_gradient_texts(a, "pullback", d->pullback, &a->own->pullback) &&
        check_formula(a, "shape", d->shape) && check_formula(a, "flops", d->flops);
    if (ok)
        read_pattern(a, op->partial   ? op->partial
                        : op->adjoint ? op->adjoint
                                      : a->own->pullback);
    return ok;
}

bool plugin_add_op(TlHost *h, const TlOpDef *def) {
    if (!h->plugin)
        return plugin_api.fail(h, TL_FAILED, "ops can be added only by init");
    struct PluginOp *p = NEW(session_arena(h->s), struct PluginOp);
    OpAddition a = {.h = h, .s = h->s, .own = p, .def = &p->def};
    p->plugin = h->plugin;
    if (!plugin_take(h, "an op's def", &p->def, sizeof p->def, def,
                     offsetof(TlOpDef, version)))
        return false;
    if (!p->def.name) return plugin_api.fail(h, TL_FAILED, "an op has no name");
    if (!userop_check_name(h->s, p->def.name, NOWHERE))
        return note(h->s, NOWHERE, "in the plugin %s", h->what);
    fill_op_members(p);
    if (!check_op_signature(&a) || !check_members(&a)) return false;
    a.sig = op_signature(h->s, &p->op);
    if (!check_rest(&a)) return false;
    return op_add(h->s, &p->op, NOWHERE) ||
           (note(h->s, NOWHERE, "in the plugin %s", h->what), false);
}

/* ---- after all ops are added ---- */

static bool check_member(TlHost *h, const Op *op, UserOpMember of, const char *what,
                         size_t n, const char *const *text) {
    for (size_t i = 0; text && i < n; i++)
        if (!userop_check_text(h->s, op, of, member_span(h, op->name, what, text[i])))
            return false;
    return true;
}

/* Formulas may name ops that were added later. */
static bool check_texts(TlHost *h, const Op *op) {
    const struct PluginOp *p = op->plugin;
    const TlOpDef *d = &p->def;
    size_t n = op_signature(h->s, op)->nin;
    return check_member(h, op, OWN_SHAPE, "shape", d->shape != NULL, &d->shape) &&
           check_member(h, op, OWN_FLOPS, "flops", d->flops != NULL, &d->flops) &&
           check_member(h, op, OWN_PARTIALS, "partials", n, op->partial) &&
           check_member(h, op, OWN_ADJOINT, "adjoint", n, op->adjoint) &&
           check_member(h, op, OWN_PULLBACK, "pullback", n, p->pullback);
}

bool plugin_check_texts(TlHost *h) {
    for (size_t i = 0; i < op_count(h->s); i++) {
        const Op *op = op_get(h->s, i);
        if (op->plugin && op->plugin->plugin == h->plugin && !check_texts(h, op))
            return false;
    }
    return true;
}
