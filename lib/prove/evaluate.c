/* Evaluates the sides of a rule over numbers of another kind: a finite field, or
 * numbers with bounds for their errors. Elementwise ops are the numbers' own. Of the
 * others it is found out which elements of the inputs make an element of the output, by
 * running them: what moves elements, on the numbers of the elements; what is linear, on
 * units. */
#include "prove/prove_impl.h"
#include "vm/vm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which ops ---- */

typedef enum StructureKind {
    MOVES,      /* each element of the output is one of the inputs', or 0 */
    SUMS,       /* linear in input 0 */
    MEANS,      /* the same, divided by the number of summands */
    MULTIPLIES, /* bilinear: an element of input 0 and the output determine that of 1 */
    FOLDS_PRODUCT,
    FOLDS_MAXIMUM,
    FOLDS_MINIMUM,
    SOFTMAXES,
    LOG_SOFTMAXES,
    LOG_SUMS,
} StructureKind;
typedef struct StructuralOp {
    const char *name;
    StructureKind kind;
    unsigned data; /* how many inputs have data; 0: all. The rest must be constant */
} StructuralOp;
static const StructuralOp structural[] = {{"transpose", MOVES, 1},
                                          {"reshape", MOVES, 1},
                                          {"expand_dims", MOVES, 1},
                                          {"squeeze", MOVES, 1},
                                          {"broadcast_to", MOVES, 1},
                                          {"subtensor", MOVES, 1},
                                          {"set_subtensor", MOVES, 2},
                                          {"concatenate", MOVES, 0},
                                          {"stack", MOVES, 0},
                                          {"split", MOVES, 1},
                                          {"roll_axes", MOVES, 1},
                                          {"repeat_axis", MOVES, 1},
                                          {"diagonal", MOVES, 1},
                                          {"specify_shape", MOVES, 1},
                                          {"sum", SUMS, 1},
                                          {"running_sum", SUMS, 1},
                                          {"sum_pool", SUMS, 1},
                                          {"mean", MEANS, 1},
                                          {"matmul", MULTIPLIES, 2},
                                          {"conv", MULTIPLIES, 2},
                                          {"prod", FOLDS_PRODUCT, 1},
                                          {"max", FOLDS_MAXIMUM, 1},
                                          {"min", FOLDS_MINIMUM, 1},
                                          {"any", FOLDS_MAXIMUM, 1},
                                          {"all", FOLDS_MINIMUM, 1},
                                          {"softmax", SOFTMAXES, 1},
                                          {"log_softmax", LOG_SOFTMAXES, 1},
                                          {"logsumexp", LOG_SUMS, 1}};

static const StructuralOp *find_structural(const Op *op) {
    for (size_t i = 0; i < sizeof structural / sizeof *structural; i++)
        if (strcmp(structural[i].name, op->name) == 0) return &structural[i];
    return NULL;
}

/* ---- structures ---- */

enum { SUMMANDS_MAX = 1 << 20, ELEMENTS_MAX = 1 << 12 };

/* Output k has the elements from first[k] on; element e the summands start[e] to
 * start[e + 1]. */
typedef struct Structure {
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Type **type; /* of the inputs */
    Tensor *constant;  /* of the inputs without data: their values */
    unsigned data;
    size_t *first;
    Vec(uint32_t) start;
    Vec(Summand) summand;
    bool known;
} Structure;
struct StructureCache {
    Arena *arena;
    Vec(Structure *) all;
};

void evaluate_free_structures(Prover *p) {
    StructureCache *c = p->structures;
    if (!c) return;
    for (size_t i = 0; i < c->all.n; i++) {
        Structure *x = c->all.p[i];
        vec_free(&x->start);
        vec_free(&x->summand);
        for (size_t k = x->data; k < x->nin; k++)
            tensor_unref(&x->constant[k]);
    }
    vec_free(&c->all);
    arena_free(c->arena);
    mem_free(c);
    p->structures = NULL;
}

/* ---- runs of one op ---- */

typedef struct Probe {
    Prover *p;
    Structure *x;
    Graph *g;
    Plan *plan;
    Machine *m;
    Tensor *in;
    size_t elements; /* of all inputs with data */
} Probe;

static Var probe_input(Probe *q, size_t i) {
    char name[24];
    const Type *t = q->x->type[i];
    if (i >= q->x->data) return graph_const(q->g, &q->x->constant[i], true);
    snprintf(name, sizeof name, "in%zu", i);
    return graph_input(q->g, sym(q->p->s, name),
                       type_with_dtype(q->p->s, t, DT_FLOAT64));
}

static bool probe_open(Probe *q, const Op *op, const Props *props) {
    Session *s = q->p->s;
    Var in[HOLES], out[OUT_MAX];
    Structure *x = q->x;
    if (x->nin > HOLES) return false;
    q->g = graph_new(s);
    q->in = mem_zalloc(s, x->nin + 1, sizeof *q->in);
    Builder b = builder(q->g, true);
    for (size_t i = 0; i < x->nin; i++)
        in[i] = probe_input(q, i);
    bool ok = op_apply(&b, op, props, x->nin, in, out);
    for (size_t k = 0; ok && k < x->nout; k++)
        vec_push(s, &q->g->outputs, ((Output){sym(s, "out"), out[k]}));
    for (size_t i = 0; ok && i < x->data; i++) {
        ok = tensor_zeros(s, DT_FLOAT64, x->type[i]->ndim, x->type[i]->dim, &q->in[i]);
        q->elements += ok ? (size_t)tensor_size(&q->in[i]) : 0;
    }
    ok = ok && q->elements <= ELEMENTS_MAX;
    q->plan = ok ? plan_new(q->g, &(PlanOptions){.threads = 1}) : NULL;
    q->m = q->plan ? vm_new(q->plan) : NULL;
    return q->m != NULL;
}

static void probe_close(Probe *q) {
    vm_free(q->m);
    plan_free(q->plan);
    for (size_t i = 0; q->in && i < q->x->data; i++)
        tensor_unref(&q->in[i]);
    mem_free(q->in);
    graph_free(q->g);
}

static double *probe_element(Probe *q, size_t e) {
    size_t i = 0;
    while (e >= (size_t)tensor_size(&q->in[i]))
        e -= (size_t)tensor_size(&q->in[i++]);
    return (double *)q->in[i].data + e;
}

static bool probe_run(Probe *q) {
    bool ok = true;
    for (size_t i = 0; ok && i < q->x->data; i++) {
        Value v = {.kind = TYPE_TENSOR, .t = q->in[i]};
        ok = vm_set_input(q->m, i, &v);
    }
    return ok && vm_run(q->m);
}

/* The elements of all outputs, one after the other. */
static double *probe_results(Probe *q, Arena *a, size_t *n) {
    *n = 0;
    for (size_t k = 0; k < q->x->nout; k++)
        *n += (size_t)tensor_size(&vm_output(q->m, k)->t);
    double *r = NEW_N(a, *n + 1, double);
    for (size_t k = 0, at = 0; k < q->x->nout; k++) {
        const Tensor *t = &vm_output(q->m, k)->t;
        for (int64_t e = 0; e < tensor_size(t); e++)
            r[at++] = tensor_f64(t, e);
    }
    return r;
}

static void note_outputs(Probe *q) {
    Structure *x = q->x;
    x->first = NEW_N(q->p->structures->arena, x->nout + 1, size_t);
    for (size_t k = 0; k < x->nout; k++)
        x->first[k + 1] = x->first[k] + (size_t)tensor_size(&vm_output(q->m, k)->t);
}

/* ---- finding structures ---- */

static bool probe_moves(Probe *q, Arena *a) {
    size_t n;
    for (size_t e = 0; e < q->elements; e++)
        *probe_element(q, e) = (double)(e + 1);
    if (!probe_run(q)) return false;
    note_outputs(q);
    double *r = probe_results(q, a, &n);
    for (size_t o = 0; o < n; o++) {
        bool whole = r[o] >= 0 && r[o] <= (double)q->elements && r[o] == floor(r[o]);
        if (!whole) return false;
        vec_push(q->p->s, &q->x->start, (uint32_t)o);
        vec_push(q->p->s, &q->x->summand, ((Summand){1, (int32_t)r[o] - 1, 0}));
    }
    vec_push(q->p->s, &q->x->start, (uint32_t)n);
    return true;
}

/* What input element e contributes to output o: a row for each e. */
typedef struct Contribution {
    Arena *a;
    size_t n;
    double **row;
} Contribution;

static bool probe_units(Probe *q, size_t units, Contribution *c) {
    c->row = NEW_N(c->a, units + 1, double *);
    for (size_t e = 0; e < units; e++) {
        *probe_element(q, e) = 1;
        if (!probe_run(q)) return false;
        c->row[e] = probe_results(q, c->a, &c->n);
        *probe_element(q, e) = 0;
    }
    if (units == 0 && (!probe_run(q) || !probe_results(q, c->a, &c->n))) return false;
    note_outputs(q);
    return true;
}

static bool add_summand(Probe *q, double coef, size_t e, bool bilinear) {
    bool whole = coef == floor(coef) && fabs(coef) < 1e6;
    if (!whole || q->x->summand.n >= SUMMANDS_MAX) return false;
    Summand t = {(int32_t)coef, (int32_t)e, 0};
    if (bilinear) t = (Summand){1, (int32_t)e, (int32_t)coef - 1};
    vec_push(q->p->s, &q->x->summand, t);
    return true;
}

static bool collect_summands(Probe *q, size_t units, const Contribution *c,
                             bool bilinear) {
    bool ok = true;
    for (size_t o = 0; ok && o < c->n; o++) {
        vec_push(q->p->s, &q->x->start, (uint32_t)q->x->summand.n);
        for (size_t e = 0; ok && e < units; e++)
            if (c->row[e][o] != 0) ok = add_summand(q, c->row[e][o], e, bilinear);
    }
    vec_push(q->p->s, &q->x->start, (uint32_t)q->x->summand.n);
    return ok;
}

static bool probe_linear(Probe *q, Arena *a) {
    Contribution c = {.a = a};
    return probe_units(q, q->elements, &c) &&
           collect_summands(q, q->elements, &c, false);
}

/* Does the structure give what the op gives, for other numbers? */
static bool check_products(Probe *q, Arena *a, size_t left) {
    size_t n;
    const Structure *x = q->x;
    for (size_t e = 0; e < q->elements; e++)
        *probe_element(q, e) = (double)(prover_random(q->p) % 100) - 50;
    if (!probe_run(q)) return false;
    double *r = probe_results(q, a, &n);
    for (size_t o = 0; o < n; o++) {
        double sum = 0;
        for (uint32_t k = x->start.p[o]; k < x->start.p[o + 1]; k++)
            sum += *probe_element(q, (size_t)x->summand.p[k].i) *
                   *probe_element(q, left + (size_t)x->summand.p[k].j);
        if (sum != r[o]) return false;
    }
    return true;
}

/* Units on the left and the numbers of the elements on the right. */
static bool probe_bilinear(Probe *q, Arena *a) {
    Contribution c = {.a = a};
    size_t left = (size_t)tensor_size(&q->in[0]);
    for (size_t e = left; e < q->elements; e++)
        *probe_element(q, e) = (double)(e - left + 1);
    return probe_units(q, left, &c) && collect_summands(q, left, &c, true) &&
           check_products(q, a, left);
}

/* The props of sum that form the same groups. */
static const Props *group_props(Session *s, const Op *op, const Props *props,
                                bool keep) {
    const Op *sum = op_known(s, OP_SUM);
    const Signature *to = op_signature(s, sum), *from = op_signature(s, op);
    Prop *v = mem_zalloc(s, to->nprop + 1, sizeof *v);
    for (size_t i = 0; i < to->nprop; i++) {
        v[i] = to->prop[i].value;
        for (size_t k = 0; k < from->nprop; k++)
            if (from->prop[k].name == to->prop[i].name && to->prop[i].type != T_DTYPE)
                v[i] = props->p[k];
        if (v[i].kind == P_INT && to->prop[i].type == T_AXES)
            v[i] = PROP_INTS(&props->p[0].i, 1);
        if (keep && to->prop[i].type == T_BOOL) v[i] = PROP_BOOL(1);
    }
    const Props *p = props_intern(s, to->nprop, v);
    mem_free(v);
    return p;
}

static bool find_structure(Prover *p, Structure *x, StructureKind kind) {
    Probe q = {.p = p, .x = x};
    const Op *op = x->op;
    const Props *props = x->props;
    size_t mark = diag_count(p->s);
    if (kind >= FOLDS_PRODUCT || kind == MEANS) {
        bool keep = kind == SOFTMAXES || kind == LOG_SOFTMAXES;
        props = group_props(p->s, op, props, keep);
        op = op_known(p->s, OP_SUM);
    }
    Arena *a = arena_new(p->s);
    bool ok = probe_open(&q, op, props) && (kind == MOVES        ? probe_moves(&q, a)
                                            : kind == MULTIPLIES ? probe_bilinear(&q, a)
                                                                 : probe_linear(&q, a));
    probe_close(&q);
    arena_free(a);
    return prover_forget(p, mark) && ok;
}

static bool is_same_structure(const Structure *x, const Graph *g, ApplyId id) {
    const Apply *a = &g->apply[id];
    if (x->op != a->op || x->props != a->props || x->nin != a->nin) return false;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(g, id)[i];
        if (i >= x->data &&
            (!var_const(g, v) || !tensor_identical(&x->constant[i], var_const(g, v))))
            return false;
        if (i < x->data &&
            x->type[i] != type_with_dtype(g->s, var_type(g, v), DT_FLOAT64))
            return false;
    }
    return true;
}

static bool copy_inputs(Prover *p, Structure *x, const Graph *g, ApplyId id) {
    bool ok = true;
    Arena *a = p->structures->arena;
    x->type = NEW_N(a, x->nin + 1, const Type *);
    x->constant = NEW_N(a, x->nin + 1, Tensor);
    for (size_t i = 0; i < x->nin; i++) {
        Var v = apply_in(g, id)[i];
        const Type *t = var_type(g, v);
        x->type[i] = t;
        if (i >= x->data && var_const(g, v))
            tensor_copy_view(&x->constant[i], var_const(g, v));
        else if (i >= x->data || t->kind != TYPE_TENSOR || type_size(t) < 0)
            ok = false;
        else
            x->type[i] = type_with_dtype(p->s, t, DT_FLOAT64);
    }
    return ok;
}

static const Structure *structure_of(Prover *p, const Graph *g, ApplyId id,
                                     const StructuralOp *o) {
    if (!p->structures) {
        p->structures = mem_zalloc(p->s, 1, sizeof *p->structures);
        p->structures->arena = arena_new(p->s);
    }
    StructureCache *c = p->structures;
    for (size_t i = 0; i < c->all.n; i++)
        if (c->all.p[i]->known && is_same_structure(c->all.p[i], g, id))
            return c->all.p[i];
    const Apply *a = &g->apply[id];
    Structure *x = NEW(c->arena, Structure);
    *x = (Structure){.op = a->op, .props = a->props, .nin = a->nin, .nout = a->nout};
    x->data = o->data && o->data < a->nin ? o->data : a->nin;
    vec_push(p->s, &c->all, x);
    x->known = copy_inputs(p, x, g, id) && find_structure(p, x, o->kind);
    return x->known ? x : NULL;
}

/* ---- evaluation ---- */

typedef struct Evaluation {
    const Instance *x;
    const Algebra *alg;
    void *ctx;
    Arena *a;
    int64_t dense;
    char **value; /* by variable; NULL: not evaluated */
    int64_t *n;   /* elements */
} Evaluation;

static const char *number_at(const Evaluation *e, Var v, int64_t i) {
    return e->value[v] + (size_t)i * e->alg->size;
}

static bool evaluate_constant(Evaluation *e, Var v) {
    const Tensor *t = var_const(e->x->g, v);
    if (!t || tensor_size(t) > ELEMENTS_MAX) return false;
    e->n[v] = tensor_size(t);
    e->value[v] = arena_zalloc(e->a, (size_t)e->n[v] + 1, e->alg->size);
    for (int64_t i = 0; i < e->n[v]; i++)
        if (!e->alg->constant(e->ctx, t, i, e->value[v] + (size_t)i * e->alg->size))
            return false;
    return true;
}

/* The element of an operand that broadcasts to element i of the result. */
static int64_t broadcast_index(const Type *from, const Type *to, int64_t i) {
    int64_t at = 0, step = 1;
    for (int k = to->ndim - 1, f = from->ndim - 1; k >= 0; k--, f--) {
        int64_t here = i % to->dim[k];
        i /= to->dim[k];
        if (f < 0) continue;
        if (from->dim[f] != 1) at += here * step;
        step *= from->dim[f];
    }
    return at;
}

static bool new_result(Evaluation *e, Var v, int64_t n) {
    e->n[v] = n;
    e->value[v] = arena_zalloc(e->a, (size_t)n + 1, e->alg->size);
    return true;
}

static bool evaluate_elementwise(Evaluation *e, ApplyId id) {
    const Graph *g = e->x->g;
    const Apply *a = &g->apply[id];
    const void *in[4], *op = e->alg->find(e->ctx, g, id);
    const Type *t = var_type(g, a->out);
    int64_t n = e->dense ? 1 : type_size(t);
    if (!op || a->nin > 4 || a->nout != 1 || n < 0) return false;
    for (size_t k = 0; e->dense && k < a->nin; k++)
        if (e->n[apply_in(g, id)[k]] != 1) n = e->dense;
    new_result(e, a->out, n);
    for (int64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < a->nin; k++) {
            Var v = apply_in(g, id)[k];
            int64_t at = !e->dense      ? broadcast_index(var_type(g, v), t, i)
                         : e->n[v] == 1 ? 0
                                        : i;
            in[k] = number_at(e, v, at);
        }
        void *r = e->value[a->out] + (size_t)i * e->alg->size;
        if (!e->alg->apply(e->ctx, op, t->dtype, in, r)) return false;
    }
    return true;
}

/* zeros_like and ones_like, and over vectors of points what has one value. */
static bool evaluate_filled(Evaluation *e, ApplyId id, double value) {
    Session *s = e->x->p->s;
    Var out = e->x->g->apply[id].out;
    const Type *t = var_type(e->x->g, out);
    Tensor one;
    int64_t n = e->dense ? 1 : type_size(t);
    if (n < 0 || !tensor_scalar(s, t->dtype, value, 0, &one)) return false;
    bool ok = new_result(e, out, n);
    for (int64_t i = 0; ok && i < n; i++)
        ok =
            e->alg->constant(e->ctx, &one, 0, e->value[out] + (size_t)i * e->alg->size);
    tensor_unref(&one);
    return ok;
}

static bool evaluate_broadcast(Evaluation *e, ApplyId id) {
    const Apply *a = &e->x->g->apply[id];
    Var v = apply_in(e->x->g, id)[0];
    e->n[a->out] = e->n[v];
    e->value[a->out] = e->value[v];
    return e->value[v] && (e->n[v] == 1 || e->n[v] == e->dense);
}

/* All data of the inputs in one array. */
static const char *join_inputs(Evaluation *e, ApplyId id, unsigned data, int64_t *n) {
    *n = 0;
    for (size_t k = 0; k < data; k++)
        *n += e->n[apply_in(e->x->g, id)[k]];
    char *all = arena_zalloc(e->a, (size_t)*n + 1, e->alg->size), *to = all;
    for (size_t k = 0; k < data; k++) {
        Var v = apply_in(e->x->g, id)[k];
        size_t bytes = (size_t)e->n[v] * e->alg->size;
        if (bytes) memcpy(to, e->value[v], bytes);
        to += bytes;
    }
    return all;
}

/* Those of element i, which may be none. */
static void take_summands(const Structure *x, size_t i, Element *to) {
    to->n = x->start.p[i + 1] - x->start.p[i];
    to->t = to->n ? x->summand.p + x->start.p[i] : NULL;
}

/* A softmax has an element for each of the group's, which is found by its place. */
static bool evaluate_softmax(Evaluation *e, ApplyId id, const Structure *x, bool log) {
    const Apply *a = &e->x->g->apply[id];
    Var v = apply_in(e->x->g, id)[0];
    Element o = {.dtype = var_type(e->x->g, a->out)->dtype, .x = e->value[v]};
    new_result(e, a->out, e->n[v]);
    bool ok = e->alg->softmax != NULL;
    for (size_t i = 0; ok && i + 1 < x->start.n; i++) {
        take_summands(x, i, &o);
        for (size_t k = 0; ok && k < o.n; k++) {
            o.r = e->value[a->out] + (size_t)o.t[k].i * e->alg->size;
            ok = e->alg->softmax(e->ctx, log, &o, number_at(e, v, o.t[k].i));
        }
    }
    return ok;
}

static bool evaluate_element(Evaluation *e, StructureKind kind, Element *o) {
    switch (kind) {
    case MOVES:
        if (o->t->i < 0) o->n = 0;
        return e->alg->sum(e->ctx, o, 1);
    case SUMS:
    case MULTIPLIES:
        return e->alg->sum(e->ctx, o, 1);
    case MEANS:
        return e->alg->sum(e->ctx, o, (int64_t)o->n);
    case FOLDS_PRODUCT:
    case FOLDS_MAXIMUM:
    case FOLDS_MINIMUM:
        return e->alg->fold(e->ctx, (Folding)(kind - FOLDS_PRODUCT), o);
    case LOG_SUMS:
        return e->alg->softmax && e->alg->softmax(e->ctx, true, o, NULL);
    case SOFTMAXES:
    case LOG_SOFTMAXES:
        break; /* evaluated by groups */
    }
    return false;
}

static bool evaluate_structural(Evaluation *e, ApplyId id) {
    const Graph *g = e->x->g;
    const Apply *a = &g->apply[id];
    const StructuralOp *o = find_structural(a->op);
    const Structure *x = o && !e->dense ? structure_of(e->x->p, g, id, o) : NULL;
    if (!x) return false;
    for (size_t k = 0; k < x->data; k++)
        if (!e->value[apply_in(g, id)[k]]) return false;
    if (o->kind == SOFTMAXES || o->kind == LOG_SOFTMAXES)
        return evaluate_softmax(e, id, x, o->kind == LOG_SOFTMAXES);
    int64_t n;
    const char *all = join_inputs(e, id, o->kind == MULTIPLIES ? 1 : x->data, &n);
    const char *y = o->kind == MULTIPLIES ? e->value[apply_in(g, id)[1]] : NULL;
    bool ok = true;
    for (size_t k = 0; ok && k < a->nout; k++) {
        Var out = a->out + (Var)k;
        new_result(e, out, (int64_t)(x->first[k + 1] - x->first[k]));
        for (size_t i = x->first[k]; ok && i < x->first[k + 1]; i++) {
            Element to = {.dtype = var_type(g, out)->dtype,
                          .x = all,
                          .y = y,
                          .r = e->value[out] + (i - x->first[k]) * e->alg->size};
            take_summands(x, i, &to);
            ok = evaluate_element(e, o->kind, &to);
        }
    }
    return ok;
}

static bool evaluate_apply(Evaluation *e, ApplyId id) {
    const Graph *g = e->x->g;
    const Apply *a = &g->apply[id];
    Session *s = g->s;
    if (op_is(s, a->op, OP_ZEROS_LIKE)) return evaluate_filled(e, id, 0);
    if (op_is(s, a->op, OP_ONES_LIKE)) return evaluate_filled(e, id, 1);
    if (op_is(s, a->op, OP_BROADCAST_TO) && e->dense) return evaluate_broadcast(e, id);
    if (!a->op->elemwise) return evaluate_structural(e, id);
    for (size_t k = 0; k < a->nin; k++)
        if (!e->value[apply_in(g, id)[k]]) return false;
    return evaluate_elementwise(e, id);
}

/* Constants that only say how (a shape) need no value. */
static void evaluate_leaves(Evaluation *e, const void *const *input) {
    const Graph *g = e->x->g;
    for (Var v = 0; v < g->nvar; v++)
        if (var_is_const(g, v) && !evaluate_constant(e, v)) e->value[v] = NULL;
    for (size_t i = 0; i < e->x->p->nhole; i++) {
        Var v = e->x->input[i];
        if (!input[i]) continue;
        memcpy(&e->value[v], &input[i], sizeof input[i]);
        e->n[v] = e->dense ? e->dense : type_size(var_type(g, v));
    }
}

bool evaluate_sides(const Instance *x, const Algebra *alg, void *ctx, Arena *a,
                    const void *const *input, int64_t dense, void *side[2]) {
    const Graph *g = x->g;
    Evaluation e = {.x = x,
                    .alg = alg,
                    .ctx = ctx,
                    .a = a,
                    .dense = dense,
                    .value = NEW_N(a, g->nvar, char *),
                    .n = NEW_N(a, g->nvar, int64_t)};
    const uint8_t *live = graph_live(g, a, ROOTS_RESULTS);
    evaluate_leaves(&e, input);
    for (ApplyId id = 0; id < g->napply; id++) {
        bool needed = false;
        for (Var k = 0; k < g->apply[id].nout; k++)
            needed |= live[g->apply[id].out + k] != 0;
        if (needed && !evaluate_apply(&e, id)) return false;
    }
    for (size_t k = 0; k < 2; k++) {
        Var v = x->side[k];
        if (!e.value[v]) return false;
        int64_t n = dense ? dense : type_size(var_type(g, v));
        char *r = arena_zalloc(a, (size_t)n + 1, alg->size);
        for (int64_t i = 0; i < n; i++)
            memcpy(r + (size_t)i * alg->size, number_at(&e, v, e.n[v] == 1 ? 0 : i),
                   alg->size);
        side[k] = r;
    }
    return true;
}
