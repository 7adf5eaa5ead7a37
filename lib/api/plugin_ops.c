/* Adds the ops of plugins, after checking all that their defs say. */
#include "api/plugin_impl.h"
#include "lang/expr.h"
#include "type/word.h"

#include <string.h>

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
    plugin_hook_thunk(p);
    return true;
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
    plugin_hook_members(p);
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
