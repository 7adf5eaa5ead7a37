/* The public interface of sessions and graphs: thin wrappers of the rows' functions. */
#include "api/api_impl.h"
#include "tools/retype.h"

#include <string.h>

const char *tl_version(void) {
    return TL_VERSION;
}

TlSession *tl_session_new(void) {
    return tools_session(NULL, NULL);
}

void tl_session_free(TlSession *s) {
    if (s) session_free(s);
}

/* ---- errors ---- */
static void put_error_place(Session *s, Span at, Str *out) {
    uint32_t line, col;
    if (!source_get(s, at.source)) return;
    span_place(s, at, &line, &col);
    str_printf(out, "%s:%u:%u: ", source_get(s, at.source)->name, line, col);
}

const char *tl_error(TlSession *s) {
    Str text = STR(s);
    for (size_t i = 0; i < diag_count(s); i++) {
        const Diag *d = diag_get(s, i);
        if (i) str_putc(&text, '\n');
        put_error_place(s, d->at, &text);
        str_printf(&text, "%s[%s]: %s", d->severity == DIAG_ERROR ? "error" : "warning",
                   diag_name(d->code), d->text);
        for (const DiagNote *n = d->notes; n; n = n->next) {
            str_puts(&text, "\n  ");
            put_error_place(s, n->at, &text);
            str_printf(&text, "note: %s", n->text);
        }
    }
    Str *kept = session_message(s);
    str_free(kept);
    *kept = text;
    diag_clear(s);
    return str_text(kept);
}

int tl_status(TlSession *s) {
    const Diag *d = diag_first_error(s);
    return d ? d->exit : 0;
}

bool tl_session_set(TlSession *s, const TlSessionOptions *how) {
    TlSessionOptions o;
    Options *to = session_options(s);
    int floatX;
    if (!api_take(s, "TlSessionOptions", &o, sizeof o, how) ||
        !api_word(s, "floatX", "float64|float32", o.floatX, &floatX))
        return false;
    if (o.floatX) to->floatX = floatX ? DT_FLOAT32 : DT_FLOAT64;
    to->threads = o.threads;
    to->max_memory = o.max_memory;
    services(s)->print = o.print;
    services(s)->print_ctx = o.ctx;
    return true;
}

/* ---- plugins and user ops ---- */
bool tl_plugin_load(TlSession *s, const char *path) {
    return api_given(s, "the path", path) && plugin_load(s, path);
}

bool tl_ops_load(TlSession *s, const char *path) {
    return api_given(s, "the path", path) && io_read_ops(s, path);
}

/* ---- reading and writing ---- */
/* A graph from outside is not trusted. */
static Graph *check_or_free(Graph *g) {
    if (!g || graph_check(g)) return g;
    graph_free(g);
    return NULL;
}

TlGraph *tl_graph_read(TlSession *s, const char *path) {
    return api_given(s, "the path", path) ? check_or_free(io_read(s, path, NULL))
                                          : NULL;
}

TlGraph *tl_graph_read_memory(TlSession *s, const void *data, size_t size) {
    return api_given(s, "the data", data)
               ? check_or_free(io_read_mem(s, "memory", data, size, NULL))
               : NULL;
}

bool tl_graph_write(TlGraph *g, const char *path, const char *format) {
    WriteOptions how = WRITE_DEFAULT;
    if (!api_given(g->s, "the path", path)) return false;
    for (int f = IO_YAML; format && f < IO_FORMATS; f++)
        if (strcmp(io_format_name((IoFormat)f), format) == 0) how.format = (IoFormat)f;
    if (format && how.format == IO_AUTO)
        return fail(g->s, NOWHERE, E_USAGE, "there is no format %s", format);
    return io_write(g, path, &how);
}

bool tl_graph_load_shared(TlGraph *g, const char *path) {
    return api_given(g->s, "the path", path) &&
           graph_set_shared(g, path, api_text(g->s, "the path", path));
}

/* Saving drops nodes, but a machine may run g. */
bool tl_graph_save(TlGraph *g, const char *path) {
    if (!api_given(g->s, "the path", path)) return false;
    Graph *saved =
        graph_copy(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    bool ok = graph_save(saved, path, &WRITE_DEFAULT);
    graph_free(saved);
    return ok;
}

void tl_graph_free(TlGraph *g) {
    if (g) graph_free(g);
}

/* ---- changing ---- */
bool tl_graph_set_dim(TlGraph *g, const char *name, int64_t size) {
    Sym dim;
    return api_find_dim(g, name, size, &dim) && graph_bind_dim(g, dim, size) &&
           graph_reinfer(g);
}

bool tl_graph_grad(TlGraph *g, const char *cost, const char *wrt) {
    TlGradOptions how = {.size = sizeof how, .cost = cost, .wrt = wrt};
    return tl_graph_derive(g, &how);
}

static Derive derive_from_options(const TlGradOptions *o) {
    return (Derive){.cost = o->cost,
                    .vjp = o->vjp,
                    .jvp = o->jvp,
                    .jacobian = o->jacobian,
                    .hessian = o->hessian,
                    .hvp = o->hvp,
                    .wrt = o->wrt,
                    .cotangent = o->cotangent,
                    .tangents = o->tangents,
                    .vector = o->vector,
                    .known = o->known_grads,
                    .constant = o->consider_constant,
                    .name = o->name,
                    .checkpoint = o->checkpoint,
                    .optimizer = o->optimizer,
                    .by_pullback = o->by_pullback,
                    .mixed = o->mixed,
                    .only = o->only};
}

bool tl_graph_derive(TlGraph *g, const TlGradOptions *how) {
    TlGradOptions o;
    int disconnected, zero, null;
    if (!api_take(g->s, "TlGradOptions", &o, sizeof o, how)) return false;
    Derive d = derive_from_options(&o);
    if (!api_word(g->s, "disconnected", "raise|warn|ignore", o.disconnected,
                  &disconnected) ||
        !api_word(g->s, "return_disconnected", "zero|none", o.return_disconnected,
                  &zero) ||
        !api_word(g->s, "null", "raise|return", o.null, &null))
        return false;
    d.how.disconnected = (OnDisconnected)disconnected;
    d.how.return_disconnected = (ReturnDisconnected)zero;
    d.how.null = (OnNull)null;
    return derive_agrees(g->s, &d) && graph_derive(g, &d);
}

TlGraph *tl_graph_rewrite(TlGraph *g, const char *mode) {
    TlRewriteOptions how = {.size = sizeof how, .mode = mode};
    return tl_graph_rewrite_with(g, &how);
}

static size_t split_names(Arena *a, const char *names, const char *const **list) {
    char **part = NULL;
    size_t n = names ? str_split(a, names, ',', &part) : 0;
    *list = (const char *const *)part;
    return n;
}

TlGraph *tl_graph_rewrite_with(TlGraph *g, const TlRewriteOptions *how) {
    TlRewriteOptions o;
    RewriteResult result;
    if (!api_take(g->s, "TlRewriteOptions", &o, sizeof o, how)) return NULL;
    for (size_t i = 0; i < o.nrules; i++)
        if (!api_given(g->s, "rules", o.rules) ||
            !api_given(g->s, "a path of rules", o.rules[i]))
            return NULL;
    Arena *a = arena_new(g->s);
    RewriteOptions r = {
        .query = {.mode = o.mode, .nrules = o.nrules, .rules = o.rules}};
    r.query.ninclude = split_names(a, o.include, &r.query.include);
    r.query.nexclude = split_names(a, o.exclude, &r.query.exclude);
    r.query.nrequire = split_names(a, o.require, &r.query.require);
    Graph *made = rewrite_run(g, &r, &result);
    arena_free(a);
    return made;
}
