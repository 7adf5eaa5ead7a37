/* The public interface of machines: a plan, the machine that runs it, and names for
 * what goes in and comes out. */
#include "api/api_impl.h"
#include "tools/random_inputs.h"
#include "tools/retype.h"
#include "value/class.h"
#include "value/transfer.h"

#include <string.h>

_Static_assert((int)TL_MAX_NDIM == (int)MAX_NDIM, "the public rank is the library's");

/* Finds what the machine returns: the graph's outputs, or some of them. */
static bool choose_outputs(TlMachine *m, const char *names) {
    Graph *g = m->g;
    for (size_t i = 0; !names && i < g->outputs.n; i++)
        vec_push(g->s, &m->outputs, g->outputs.p[i]);
    if (!names) return true;
    if (!names_find_output_list(g, api_text(g->s, "outputs", names), &m->outputs))
        return false;
    m->want = mem_alloc(g->s, (m->outputs.n + 1) * sizeof *m->want);
    for (size_t i = 0; i < m->outputs.n; i++)
        m->want[i] = m->outputs.p[i].var;
    m->how.nwant = m->outputs.n;
    m->how.want = m->want;
    return true;
}

TlMachine *tl_machine_new(TlGraph *g) {
    return tl_machine_new_with(g, NULL);
}

TlMachine *tl_machine_new_with(TlGraph *g, const TlMachineOptions *how) {
    TlMachineOptions o;
    if (!api_take(g->s, "TlMachineOptions", &o, sizeof o, how)) return NULL;
    TlMachine *m = mem_zalloc(g->s, 1, sizeof *m);
    *m = (TlMachine){.g = g, .how.no_updates = o.no_updates, .text = STR(g->s)};
    if (choose_outputs(m, o.outputs)) m->plan = plan_new(g, &m->how);
    if (m->plan) return m->m = vm_new(m->plan), m;
    tl_machine_free(m);
    return NULL;
}

void tl_machine_free(TlMachine *m) {
    if (!m) return;
    vm_free(m->m);
    plan_free(m->plan);
    vec_free(&m->outputs);
    vec_free(&m->dim);
    mem_free(m->want);
    str_free(&m->text);
    mem_free(m);
}

/* ---- values ---- */
/* The index of the leaf of that name in a list; n if it isn't there. */
static size_t position_of_leaf(const Graph *g, const Var *list, size_t n, Sym name) {
    size_t i = 0;
    while (i < n && var_leafrec(g, list[i])->name != name)
        i++;
    return i;
}

static bool borrow_array(Session *s, const TlArray *a, Tensor *t) {
    if (!api_given(s, "the array", a) || !api_given(s, "the array's dtype", a->dtype))
        return false;
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
    bool empty = false;
    for (int i = 0; i < a->ndim; i++) {
        empty |= a->shape[i] == 0;
        if (a->shape[i] < 0)
            return fail(s, NOWHERE, E_SHAPE, "an array can't have a dim of size %lld",
                        (long long)a->shape[i]);
    }
    if (empty && !a->data) t->data = t; /* never read */
    return api_given(s, "the array's data", t->data);
}

/* An input or a shared variable. */
typedef struct VarPlace {
    bool input;
    size_t i;
    const Type *type;
} VarPlace;

static bool find_place(TlMachine *m, const char *name, VarPlace *p) {
    Graph *g = m->g;
    if (!api_given(g->s, "the name", name)) return false;
    Sym y = sym_find(g->s, name, strlen(name));
    size_t i = position_of_leaf(g, g->inputs.p, g->inputs.n, y),
           k = position_of_leaf(g, g->shared.p, g->shared.n, y);
    if (i == g->inputs.n && k == g->shared.n)
        return fail(g->s, NOWHERE, E_UNKNOWN,
                    "the graph has no input or shared variable %s", name);
    p->input = i < g->inputs.n;
    p->i = p->input ? i : k;
    p->type = var_type(g, p->input ? g->inputs.p[i] : g->shared.p[k]);
    return true;
}

/* Takes ownership of v. A shared variable's value may outlive the caller's array. */
static bool set_place(TlMachine *m, const VarPlace *p, Value *v) {
    bool ok = true;
    if (!p->input && v->kind == TYPE_TENSOR && !v->t.buf) {
        Tensor own = {0};
        ok = tensor_clone(m->g->s, &v->t, &own);
        v->t = own;
    }
    if (ok) ok = p->input ? vm_set_input(m->m, p->i, v) : vm_set_shared(m->m, p->i, v);
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
    Value v;
    VarPlace p;
    return find_place(m, name, &p) && api_given(s, "the text", text) &&
           value_compile(s, api_text(s, name, text), p.type, FILTER_DEFAULT, name,
                         &v) &&
           set_place(m, &p, &v);
}

bool tl_machine_run(TlMachine *m) {
    return vm_run(m->m);
}

/* A shared variable, else an output by its label; NULL: diagnosed. */
static const Value *find_value(TlMachine *m, const char *name) {
    Graph *g = m->g;
    if (!api_given(g->s, "the name", name)) return NULL;
    Sym y = sym_find(g->s, name, strlen(name));
    size_t k = position_of_leaf(g, g->shared.p, g->shared.n, y);
    if (y && k < g->shared.n) return vm_shared(m->m, k);
    for (size_t i = 0; y && i < m->outputs.n; i++)
        if (m->outputs.p[i].label == y) return vm_output(m->m, i);
    fail(g->s, NOWHERE, E_UNKNOWN, "the graph has no output or shared variable %s",
         name);
    return NULL;
}

bool tl_machine_get(TlMachine *m, const char *name, TlArray *out) {
    const Value *v = find_value(m, name);
    if (!v || !api_given(m->g->s, "the array", out)) return false;
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

/* ---- dims and seeds ---- */
bool api_find_dim(Graph *g, const char *name, int64_t size, Sym *dim) {
    if (!api_given(g->s, "the name", name)) return false;
    if (size < 0)
        return fail(g->s, NOWHERE, E_USAGE, "the dim %s can't have the size %lld", name,
                    (long long)size);
    return graph_find_dim(g, name, strlen(name), NOWHERE, dim);
}

bool tl_machine_set_dim(TlMachine *m, const char *name, int64_t size) {
    Sym dim;
    if (!api_find_dim(m->g, name, size, &dim)) return false;
    vm_set_dim(m->m, dim, size);
    size_t i = 0;
    while (i < m->dim.n && m->dim.p[i].name != dim)
        i++;
    if (i == m->dim.n) vec_push(m->g->s, &m->dim, ((DimValue){dim, size}));
    m->dim.p[i].value = size;
    return true;
}

bool tl_machine_seed(TlMachine *m, uint64_t seed) {
    Graph *g = m->g;
    bool ok = true;
    for (size_t i = 0; ok && i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        Value v = {0};
        if (t->kind != TYPE_RANDOM) continue;
        ok = random_value(g->s, t, (Rng){.seed = seed, .stream = i}, &v) &&
             vm_set_input(m->m, i, &v);
        value_unref(&v);
    }
    return ok;
}

/* ---- values for a graph ---- */
/* The value that a shared variable of `to` takes; none: *v is zero. */
static bool value_for(TlMachine *m, const Graph *to, Var shared, Value *v) {
    const Graph *g = m->g;
    Sym name = var_leafrec(to, shared)->name;
    size_t k = position_of_leaf(g, g->shared.p, g->shared.n, name);
    if (k == g->shared.n) return true;
    Receiver how = {FILTER_DEFAULT, sym_text(g->s, name), NOWHERE};
    const Value *has = vm_shared(m->m, k);
    return has && value_bind(g->s, var_type(to, shared), has, &how, v);
}

bool tl_machine_store(TlMachine *m, TlGraph *g) {
    Session *s = m->g->s;
    if (!api_given(s, "the graph", g)) return false;
    if (g->s != s)
        return fail(s, NOWHERE, E_USAGE,
                    "the graph is of another session than the machine");
    Value *v = mem_zalloc(s, g->shared.n + 1, sizeof *v);
    bool ok = true;
    for (size_t i = 0; ok && i < g->shared.n; i++)
        ok = value_for(m, g, g->shared.p[i], &v[i]);
    for (size_t i = 0; i < g->shared.n; i++)
        if (!ok)
            value_unref(&v[i]);
        else if (value_has_data(&v[i]))
            graph_give_shared(g, g->shared.p[i], &v[i]);
    mem_free(v);
    return ok;
}
