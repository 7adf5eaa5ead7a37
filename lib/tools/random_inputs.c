/* Random points of a graph's inputs. */
#include "tools/random_inputs.h"

#include "value/rng.h"
#include "value/sparse.h"

#include <string.h>

typedef struct DimChoice {
    Sym name;
    int64_t size;
} DimChoice;
typedef struct RandomPoint {
    Trial *t;
    Session *s;
    Rng rng;
    Vec(DimChoice) dims;
} RandomPoint;

/* A dim determined by a given value, else a small random one. */
static int64_t dim_size(RandomPoint *p, Dim d) {
    int64_t n;
    if (dim_is_known(d)) return d;
    if (!dim_is_named(d)) return 3;
    for (size_t i = 0; i < p->dims.n; i++)
        if (p->dims.p[i].name == dim_sym(d)) return p->dims.p[i].size;
    rng_integers(&p->rng, 2, 4, 0, 1, &n);
    p->rng = rng_next(&p->rng);
    DimChoice c = {dim_sym(d), n};
    vec_push(p->s, &p->dims, c);
    return n;
}

static void learn_dims(RandomPoint *p, const Type *t, const Value *v) {
    const int64_t *shape = value_sizes(v);
    for (int i = 0; shape && i < t->ndim; i++) {
        if (!dim_is_named(t->dim[i])) continue;
        DimChoice c = {dim_sym(t->dim[i]), shape[i]};
        vec_push(p->s, &p->dims, c);
    }
}

static bool fill_value(RandomPoint *p, const Type *t, Value *out);

/* About half of the elements are stored. */
static bool fill_sparse(RandomPoint *p, const Type *t, Value *out) {
    Value dense = {0};
    const Type *matrix = type_tensor(p->s, t->dtype, 2, t->dim);
    if (!fill_value(p, matrix, &dense)) return false;
    size_t size = dtype_size(t->dtype);
    int64_t n = tensor_size(&dense.t), *keep = mem_alloc(p->s, (size_t)(n + 1) * 8);
    rng_integers(&p->rng, 0, 2, 0, (size_t)n, keep);
    p->rng = rng_next(&p->rng);
    for (int64_t i = 0; i < n; i++)
        if (!keep[i]) memset((char *)dense.t.data + (size_t)i * size, 0, size);
    mem_free(keep);
    SparseObject *m = sparse_from_dense(p->s, strcmp(t->why, "csc") == 0, &dense.t);
    value_unref(&dense);
    *out = (Value){.kind = TYPE_SPARSE, .obj = m};
    return m != NULL;
}

static bool fill_list(RandomPoint *p, const Type *t, Value *out) {
    Value item[2] = {{0}, {0}};
    bool ok = fill_value(p, t->elem, &item[0]) && fill_value(p, t->elem, &item[1]);
    if (ok) *out = (Value){.kind = TYPE_LIST, .obj = list_new_take(p->s, 2, item)};
    for (int i = 0; !ok && i < 2; i++)
        value_unref(&item[i]);
    return ok;
}

/* A random value of a non-tensor type. */
static bool fill_object(RandomPoint *p, const Type *t, Value *out) {
    const bool has[3] = {false, true, false};
    const int64_t part[3] = {0, 2, 0};
    if (type_class(t)->random) return type_class(t)->random(p->s, t, &p->rng, out);
    switch (t->kind) {
    case TYPE_SPARSE:
        return fill_sparse(p, t, out);
    case TYPE_LIST:
        return fill_list(p, t, out);
    case TYPE_RANDOM:
        out->kind = TYPE_RANDOM;
        return rng_to_tensor(p->s, &p->rng, &out->t);
    case TYPE_SLICE:
        *out = (Value){.kind = TYPE_SLICE, .obj = slice_new(p->s, has, part)};
        return true;
    case TYPE_NONE:
    case TYPE_EMPTY:
        *out = (Value){.kind = t->kind};
        return true;
    case TYPE_TENSOR:
    case TYPE_NULL:
    case TYPE_DISCONNECTED:
    case TYPE_PLUGIN:
        break;
    }
    fail(p->s, NOWHERE, E_MISSING, "no random value can be made of type %s",
         type_str(p->s, t));
    return note(p->s, NOWHERE, "give values as NAME=VALUE%s",
                t->kind == TYPE_PLUGIN ? "; the type's plugin has no `random`" : "");
}

static bool fill_value(RandomPoint *p, const Type *t, Value *out) {
    int64_t shape[MAX_NDIM];
    Tensor wide = {0};
    if (t->kind != TYPE_TENSOR) return fill_object(p, t, out);
    for (int i = 0; i < t->ndim; i++)
        shape[i] = dim_size(p, t->dim[i]);
    bool whole = dtype_is_discrete(t->dtype);
    if (!tensor_new(p->s, whole ? DT_INT64 : DT_FLOAT64, t->ndim, shape, &wide))
        return false;
    size_t n = (size_t)tensor_size(&wide);
    if (whole)
        rng_integers(&p->rng, 0, t->dtype == DT_BOOL ? 2 : 3, 0, n, wide.data);
    else
        rng_normal(&p->rng, 0, n, wide.data);
    p->rng = rng_next(&p->rng);
    out->kind = TYPE_TENSOR;
    bool ok = tensor_cast(p->s, &wide, t->dtype, &out->t);
    tensor_unref(&wide);
    return ok;
}

bool random_sizes_known(const Type *t) {
    if (t->kind == TYPE_LIST) return random_sizes_known(t->elem);
    for (int i = 0; i < t->ndim; i++)
        if (!dim_is_known(t->dim[i])) return false;
    return true;
}

bool random_value(Session *s, const Type *t, Rng rng, Value *out) {
    RandomPoint p = {.s = s, .rng = rng};
    bool ok = fill_value(&p, t, out);
    vec_free(&p.dims);
    return ok;
}

static bool take_given(RandomPoint *p, const Values *given) {
    Graph *g = p->t->g;
    for (size_t k = 0; given && k < given->n; k++) {
        Span name, value;
        Var v;
        value_split_name(p->s, given->text[k], &name, &value);
        const char *text = source_get(p->s, name.source)->text + name.begin;
        if (!names_find_var(g, text, name.end - name.begin, name, &v)) return false;
        Value *to = NULL;
        for (size_t i = 0; i < g->inputs.n; i++)
            if (g->inputs.p[i] == v) to = &p->t->input[i];
        for (size_t i = 0; i < g->shared.n; i++)
            if (g->shared.p[i] == v) to = &p->t->shared[i];
        if (!to)
            return fail(p->s, name, E_UNKNOWN,
                        "only inputs and shared variables take values");
        Filter how = {.allow_downcast = -1};
        if (!value_compile(p->s, value, var_type(g, v), how,
                           sym_text(p->s, var_name(g, v)), to))
            return false;
        learn_dims(p, var_type(g, v), to);
    }
    return true;
}

static bool fill_rest(RandomPoint *p) {
    Graph *g = p->t->g;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!value_has_data(&p->t->input[i]) &&
            !fill_value(p, var_type(g, g->inputs.p[i]), &p->t->input[i]))
            return false;
    for (size_t i = 0; i < g->shared.n; i++) {
        const Leaf *leaf = var_leafrec(g, g->shared.p[i]);
        if (value_has_data(&p->t->shared[i]) || leaf->init != VAR_NONE ||
            value_has_data(leaf->value))
            continue;
        if (!fill_value(p, var_type(g, g->shared.p[i]), &p->t->shared[i])) return false;
    }
    return true;
}

static void choose_free_dims(RandomPoint *p) {
    VarList dim = graph_free_dims(p->t->g, p->t->a);
    p->t->ndim = dim.n;
    p->t->dim = NEW_N(p->t->a, dim.n, DimValue);
    for (size_t i = 0; i < dim.n; i++) {
        Sym name = var_name(p->t->g, dim.p[i]);
        p->t->dim[i] = (DimValue){name, dim_size(p, DIM_NAMED(name))};
    }
}

bool trial_new(Graph *g, const Values *given, uint64_t seed, Trial *t) {
    RandomPoint p = {.t = t, .s = g->s, .rng = rng_seed(seed)};
    *t = (Trial){.g = g, .a = arena_new(g->s)};
    t->input = NEW_N(t->a, g->inputs.n, Value);
    t->shared = NEW_N(t->a, g->shared.n, Value);
    bool ok = take_given(&p, given) && fill_rest(&p);
    if (ok) choose_free_dims(&p);
    vec_free(&p.dims);
    if (!ok) trial_free(t);
    return ok;
}

void trial_free(Trial *t) {
    if (!t->a) return;
    for (size_t i = 0; i < t->g->inputs.n; i++)
        value_unref(&t->input[i]);
    for (size_t i = 0; i < t->g->shared.n; i++)
        value_unref(&t->shared[i]);
    arena_free(t->a);
    t->a = NULL;
}

bool trial_feed(const Trial *t, Machine *m) {
    for (size_t i = 0; i < t->ndim; i++)
        vm_set_dim(m, t->dim[i].name, t->dim[i].value);
    for (size_t i = 0; i < t->g->inputs.n; i++)
        if (!vm_set_input(m, i, &t->input[i])) return false;
    for (size_t i = 0; i < t->g->shared.n; i++)
        if (value_has_data(&t->shared[i]) && !vm_set_shared(m, i, &t->shared[i]))
            return false;
    return true;
}
