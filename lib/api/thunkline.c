/* The public interface: thin wrappers of the rows' functions. */
#include "thunkline/thunkline.h"

#include "tools/run.h"
#include "tools/tools.h"
#include "value/class.h"
#include "value/transfer.h"

#include <string.h>

_Static_assert((int)TL_MAX_NDIM == (int)MAX_NDIM, "the public rank is the library's");

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

/* ---- plugins and user ops ---- */
bool tl_plugin_load(TlSession *s, const char *path) {
    return plugin_load(s, path);
}

bool tl_ops_load(TlSession *s, const char *path) {
    return io_read_ops(s, path);
}

/* ---- graphs ---- */
TlGraph *tl_graph_read(TlSession *s, const char *path) {
    Graph *g = io_read(s, path, NULL);
    if (g && !graph_check(g)) {
        graph_free(g);
        return NULL;
    }
    return g;
}

TlGraph *tl_graph_read_memory(TlSession *s, const void *data, size_t size) {
    Graph *g = io_read_mem(s, "memory", data, size, NULL);
    if (g && !graph_check(g)) {
        graph_free(g);
        return NULL;
    }
    return g;
}

bool tl_graph_write(TlGraph *g, const char *path, const char *format) {
    WriteOptions how = WRITE_DEFAULT;
    for (int f = IO_YAML; format && f < IO_FORMATS; f++)
        if (strcmp(io_format_name((IoFormat)f), format) == 0) how.format = (IoFormat)f;
    if (format && how.format == IO_AUTO)
        return fail(g->s, NOWHERE, E_USAGE, "there is no format %s", format);
    return io_write(g, path, &how);
}

void tl_graph_free(TlGraph *g) {
    if (g) graph_free(g);
}

bool tl_graph_grad(TlGraph *g, const char *cost, const char *wrt) {
    Derive how = {.cost = cost, .wrt = wrt};
    return graph_derive(g, &how);
}

TlGraph *tl_graph_rewrite(TlGraph *g, const char *mode) {
    RewriteOptions how = {.query = {.mode = mode}};
    RewriteResult result;
    return rewrite_run(g, &how, &result);
}

/* ---- machines ---- */
struct TlMachine {
    Graph *g;
    Plan *plan;
    Machine *m;
    Str text; /* of tl_machine_get_text */
};

TlMachine *tl_machine_new(TlGraph *g) {
    PlanOptions how = {0};
    Plan *plan = plan_new(g, &how);
    if (!plan) return NULL;
    TlMachine *m = mem_zalloc(g->s, 1, sizeof *m);
    *m = (TlMachine){g, plan, vm_new(plan), STR(g->s)};
    return m;
}

void tl_machine_free(TlMachine *m) {
    if (!m) return;
    vm_free(m->m);
    plan_free(m->plan);
    str_free(&m->text);
    mem_free(m);
}

/* The index of the variable of that name in a list; n if it isn't there. */
static size_t position_of_name(const Graph *g, const Var *list, size_t n,
                               const char *name) {
    size_t i = 0;
    while (i < n && strcmp(sym_text(g->s, var_leafrec(g, list[i])->name), name) != 0)
        i++;
    return i;
}

static bool borrow_array(Session *s, const TlArray *a, Tensor *t) {
    *t = (Tensor){.dtype = dtype_find(a->dtype, strlen(a->dtype)),
                  .ndim = a->ndim,
                  .data = a->data};
    if (t->dtype == DT_NONE)
        return fail(s, NOWHERE, E_DTYPE, "there is no dtype %s", a->dtype);
    if (a->ndim < 0)
        return fail(s, NOWHERE, E_SHAPE, "an array can't have %d dims", a->ndim);
    if (!type_ndim_fits(s, NOWHERE, NULL, a->ndim)) return false;
    memcpy(t->shape, a->shape, (size_t)a->ndim * sizeof *t->shape);
    memcpy(t->stride, a->stride, (size_t)a->ndim * sizeof *t->stride);
    return true;
}

/* An input or a shared variable. */
typedef struct VarPlace {
    bool input;
    size_t i;
    const Type *type;
} VarPlace;

static bool find_place(TlMachine *m, const char *name, VarPlace *p) {
    Graph *g = m->g;
    size_t i = position_of_name(g, g->inputs.p, g->inputs.n, name),
           k = position_of_name(g, g->shared.p, g->shared.n, name);
    if (i == g->inputs.n && k == g->shared.n)
        return fail(g->s, NOWHERE, E_UNKNOWN,
                    "the graph has no input or shared variable %s", name);
    p->input = i < g->inputs.n;
    p->i = p->input ? i : k;
    p->type = var_type(g, p->input ? g->inputs.p[i] : g->shared.p[k]);
    return true;
}

/* Takes ownership of v. */
static bool set_place(TlMachine *m, const VarPlace *p, Value *v) {
    bool ok = p->input ? vm_set_input(m->m, p->i, v) : vm_set_shared(m->m, p->i, v);
    value_unref(v);
    return ok;
}

bool tl_machine_set(TlMachine *m, const char *name, const TlArray *value) {
    Session *s = m->g->s;
    Value given = {.kind = TYPE_TENSOR}, v;
    VarPlace p;
    return find_place(m, name, &p) && borrow_array(s, value, &given.t) &&
           value_bind(s, p.type, &given, &(Receiver){FILTER_DEFAULT, name, NOWHERE},
                      &v) &&
           set_place(m, &p, &v);
}

bool tl_machine_set_text(TlMachine *m, const char *name, const char *text) {
    Session *s = m->g->s;
    size_t n = strlen(text);
    Value v;
    VarPlace p;
    if (!find_place(m, name, &p)) return false;
    Span at = {source_add(s, name, text, n), 0, (uint32_t)n};
    return value_compile(s, at, p.type, FILTER_DEFAULT, name, &v) &&
           set_place(m, &p, &v);
}

bool tl_machine_run(TlMachine *m) {
    return vm_run(m->m);
}

/* An output by its label, else a shared variable; NULL: diagnosed. */
static const Value *find_value(TlMachine *m, const char *name) {
    Graph *g = m->g;
    size_t k = position_of_name(g, g->shared.p, g->shared.n, name);
    if (k < g->shared.n) return vm_shared(m->m, k);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (strcmp(sym_text(g->s, g->outputs.p[i].label), name) == 0)
            return vm_output(m->m, i);
    fail(g->s, NOWHERE, E_UNKNOWN, "the graph has no output or shared variable %s",
         name);
    return NULL;
}

bool tl_machine_get(TlMachine *m, const char *name, TlArray *out) {
    const Value *v = find_value(m, name);
    if (!v) return false;
    if (v->kind != TYPE_TENSOR || !v->t.data)
        return fail(m->g->s, NOWHERE, E_TYPE, "%s has no array", name);
    *out = (TlArray){
        .dtype = dtype_name(v->t.dtype), .ndim = v->t.ndim, .data = v->t.data};
    memcpy(out->shape, v->t.shape, (size_t)v->t.ndim * sizeof *out->shape);
    memcpy(out->stride, v->t.stride, (size_t)v->t.ndim * sizeof *out->stride);
    return true;
}

const char *tl_machine_get_text(TlMachine *m, const char *name) {
    Session *s = m->g->s;
    const Value *v = find_value(m, name);
    if (!v) return NULL;
    if (!value_has_data(v))
        return fail(s, NOWHERE, E_TYPE, "%s has no value yet", name), NULL;
    if (!value_readable(s, v, false)) return NULL;
    str_clear(&m->text);
    value_text(s, v, -1, &m->text);
    return str_text(&m->text);
}
