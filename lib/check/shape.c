/* Compares an op's shape formulas with the shapes of its results; and runs a loop's
 * Apply in the machine with strided inputs. */
#include "check/check_impl.h"

/* ---- infer_shape ---- */
typedef struct Scratch {
    Graph *g;
    Builder b;
    Var *in;
    ApplyId id;
} Scratch;

/* The Apply alone, with the values as constants. */
static bool scratch_open(KernelTrial *x, Scratch *q) {
    q->g = graph_new(x->s);
    q->b = builder(q->g, false);
    q->in = NEW_N(x->a, x->nin, Var);
    for (size_t i = 0; i < x->nin; i++) {
        const Type *t = var_type(x->g, apply_in(x->g, x->id)[i]);
        if (!x->there[i]) return false;
        q->in[i] = x->in[i].kind == TYPE_TENSOR ? graph_const(q->g, &x->in[i].t, false)
                                                : graph_const_value(q->g, t, &x->in[i]);
    }
    Var r = graph_apply(q->g, x->op, x->props, x->nin, q->in, x->nout, x->type, false,
                        false, x->g->origin[x->id]);
    q->id = var_owner(q->g, r);
    return true;
}

static void tell_wrong_shape(KernelTrial *x, size_t i, const char *said) {
    Check *c = x->c;
    if (!found(c, E_INVALID_VALUE, check_key(E_INVALID_VALUE, x->op, 2),
               x->g->origin[x->id].at,
               "the shape of output %zu of %s differs from what the op infers: %s", i,
               x->op->name, said))
        return;
    check_note_apply(c, x->g, x->id);
    check_note_value(c, "its value", &x->base[i]);
    for (size_t k = 0; k < x->nin && k < 8; k++)
        check_note_value(c, "input", &x->in[k]);
}

static bool eval_one(KernelTrial *x, Graph *g, Var v, Value *out) {
    size_t mark = diag_count(x->s);
    *out = (Value){0};
    if (x->c->real.eval(g, 1, &v, out)) return true;
    tell_wrong_shape(x, 0, check_forget(x->c, mark));
    return false;
}

/* .shape: a formula for all sizes at once. */
static void check_text(KernelTrial *x, Scratch *q) {
    bool ok = true;
    size_t mark = diag_count(x->s);
    Value v;
    Var shape =
        template_build_apply(&q->b, op_rare(x->op)->shape, q->g, q->id, VAR_NONE, &ok);
    if (!ok || shape == VAR_NONE) {
        tell_wrong_shape(x, 0, check_forget(x->c, mark));
        return;
    }
    if (!eval_one(x, q->g, shape, &v)) return;
    const Tensor *have = &x->base[0].t;
    bool same = tensor_size(&v.t) == have->ndim;
    for (int k = 0; same && k < have->ndim; k++)
        same = tensor_i64(&v.t, k) == have->shape[k];
    if (!same) {
        Str b = STR(x->s);
        tensor_text(x->s, &v.t, -1, &b);
        tell_wrong_shape(x, 0, str_text(&b));
        str_free(&b);
    }
    value_unref(&v);
}

static void compare_dims(KernelTrial *x, Scratch *q, size_t i, const Var *dim) {
    const Tensor *have = &x->base[i].t;
    for (int k = 0; k < have->ndim; k++) {
        Value v;
        if (dim[k] == VAR_NONE) {
            tell_wrong_shape(x, i, arena_printf(x->a, "nothing of dim %d", k));
            return;
        }
        if (!eval_one(x, q->g, dim[k], &v)) return;
        int64_t n = tensor_i64(&v.t, 0);
        value_unref(&v);
        if (n == have->shape[k]) continue;
        tell_wrong_shape(x, i, arena_printf(x->a, "%lld in dim %d", (long long)n, k));
        return;
    }
}

/* No dims if it is no tensor. */
static bool dims_of(KernelTrial *x, Scratch *q, const Value *v, const Var **dims) {
    *dims = NULL;
    if (v->kind != TYPE_TENSOR) return true;
    Var *dim = NEW_N(x->a, (size_t)v->t.ndim + 1, Var);
    *dims = dim;
    for (int k = 0; k < v->t.ndim; k++)
        if ((dim[k] = const_int(&q->b, v->t.shape[k])) == VAR_NONE) return false;
    return true;
}

/* .infer_shape: dims as variables; it may decline. */
static void check_function(KernelTrial *x, Scratch *q) {
    size_t mark = diag_count(x->s);
    const Var **in = NEW_N(x->a, x->nin, const Var *);
    Var **out = NEW_N(x->a, x->nout, Var *);
    for (size_t i = 0; i < x->nin; i++)
        if (!dims_of(x, q, &x->in[i], &in[i])) {
            check_forget(x->c, mark);
            return;
        }
    for (size_t i = 0; i < x->nout; i++) {
        size_t n = x->base[i].kind == TYPE_TENSOR ? (size_t)x->base[i].t.ndim : 0;
        out[i] = NEW_N(x->a, n + 1, Var);
        for (size_t k = 0; k <= n; k++)
            out[i][k] = VAR_NONE;
    }
    ShapeOf s = {&q->b, q->g, q->id, x->op, x->props, x->nin, x->nout, q->in, in, out};
    if (!op_rare(x->op)->infer_shape(&s)) {
        if (diag_count(x->s) > mark) tell_wrong_shape(x, 0, check_forget(x->c, mark));
        return;
    }
    for (size_t i = 0; i < x->nout; i++)
        if (x->base[i].kind == TYPE_TENSOR && out[i][0] != VAR_NONE)
            compare_dims(x, q, i, out[i]);
}

void shape_check(KernelTrial *x) {
    Scratch q;
    if ((x->inner && !x->by_formula) ||
        (!op_rare(x->op)->shape && !op_rare(x->op)->infer_shape))
        return;
    Services kept;
    inner_swap(x->c, &kept, false);
    bool ok = scratch_open(x, &q);
    if (ok && op_rare(x->op)->infer_shape)
        check_function(x, &q);
    else if (ok && x->base[0].kind == TYPE_TENSOR)
        check_text(x, &q);
    graph_free(q.g);
    inner_restore(x->c, &kept);
}

/* ---- loops in the machine ---- */
static Graph *graph_of_loop(KernelTrial *x) {
    Graph *g = graph_new(x->s);
    Var *in = NEW_N(x->a, x->nin, Var);
    for (size_t i = 0; i < x->nin; i++)
        in[i] = graph_input(g, sym(x->s, arena_printf(x->a, "input %zu", i)),
                            var_type(x->g, apply_in(x->g, x->id)[i]));
    Var r = graph_apply(g, x->op, x->props, x->nin, in, x->nout, x->type, false, false,
                        x->g->origin[x->id]);
    for (size_t i = 0; i < x->nout; i++)
        vec_push(x->s, &g->outputs, ((Output){sym(x->s, "r"), r + (Var)i}));
    return g;
}

static bool feed_strided(KernelTrial *x, Machine *m, const Form *form, Rooms *rooms) {
    for (size_t i = 0; i < x->nin; i++) {
        const Tensor *t = &x->in[i].t;
        Value v = {.kind = TYPE_TENSOR};
        if (!form_new(x->c, form, t->dtype, t->ndim, t->shape, rooms, &v.t))
            return false;
        tensor_assign(&v.t, t);
        bool ok = vm_set_input(m, i, &v);
        value_unref(&v);
        if (!ok) return false;
    }
    return true;
}

static void compare_run(KernelTrial *x, const Machine *m, const Form *form) {
    Approx how = APPROX_DEFAULT;
    how.sloppy = x->c->o.sloppy;
    for (size_t i = 0; i < x->nout; i++) {
        const Value *got = vm_output(m, i);
        if (value_approx(x->s, &x->base[i], got, how)) continue;
        if (!found(x->c, E_THUNK_OUTPUT, check_key(E_THUNK_OUTPUT, x->op, KIND_VM),
                   x->g->origin[x->id].at,
                   "output %zu of %s differs when the machine runs it on inputs that "
                   "are %s",
                   i, x->op->name, form->name))
            return;
        check_note_apply(x->c, x->g, x->id);
        check_note_value(x->c, "by the loop", &x->base[i]);
        check_note_value(x->c, "by the machine", got);
        check_note_difference(x->c, &x->base[i], got, how);
        return;
    }
}

void vm_check(KernelTrial *x, const Form *form) {
    Rooms rooms = {0};
    size_t mark = diag_count(x->s);
    Graph *g = graph_of_loop(x);
    Plan *p = plan_new(g, &(PlanOptions){.debugging = true});
    Machine *m = p ? vm_new(p) : NULL;
    if (m && feed_strided(x, m, form, &rooms) && vm_run(m))
        compare_run(x, m, form);
    else
        x->f->why[x->id] = check_forget(x->c, mark);
    vm_free(m);
    plan_free(p);
    graph_free(g);
    rooms_free(&rooms);
}
