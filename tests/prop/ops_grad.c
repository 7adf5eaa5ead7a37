/* Derivatives of every op that has some, at smooth points: reverse mode against central
 * differences, forward mode against reverse, and the same once more for the gradient.
 * The cost is a weighted sum of the call's elements, for complex ones of their real and
 * imaginary parts; the gradient is then dC/dRe + i dC/dIm. */
#include "gen.h"

enum { FORWARD = 2 }; /* by the ops' own rules, by two pullbacks */

/* One cost with what is derived from it. */
typedef struct Order {
    Var cost, grad[INPUTS], forward[FORWARD];
} Order;

typedef struct Derived {
    Case c;
    size_t nwrt;
    size_t at[INPUTS]; /* which inputs */
    Var wrt[INPUTS], tangent[INPUTS];
    Order order[2];
    int orders;
} Derived;

/* Undefined derivatives, which the rows must reach. */
static const char *const undefined[] = {"polygamma(a, b)"};

static bool may_be_undefined(const Sample *row) {
    for (size_t i = 0; i < sizeof undefined / sizeof *undefined; i++)
        if (strcmp(undefined[i], row->text) == 0) return true;
    return strncmp(row->text, "list_get(", 9) == 0 ||
           strstr(row->text, "(make_list(") ||
           strncmp(row->text, "draw(", 5) == 0; /* but for location and scale */
}

/* ---- building ---- */
#define WEIGHT(a, b) "cos(reshape(arange(f.size), shape(f)) * " #a " + " #b ")"

static Var cost_of(Case *c, Var f, bool first) {
    bool complex = dtype_is_complex(var_type(c->g, f)->dtype), ok = true;
    const char *text =
        complex ? (first ? "sum(real(f) * " WEIGHT(1.0, 0.5) " + imag(f) * " WEIGHT(
                               1.7, 0.9) ")"
                         : "sum(real(f) * " WEIGHT(0.6, 0.2) " + imag(f) * " WEIGHT(
                               1.3, 0.4) ")")
                : (first ? "sum(f * " WEIGHT(1.0, 0.5) ")"
                         : "sum(f * " WEIGHT(0.6, 0.2) ")");
    Bind bind = {sym(c->s, "f"), f};
    Env env = {.n = 1, .bind = &bind};
    Var v = template_build(&c->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

static bool derive(Derived *d, Order *o) {
    static const GradOptions how = {.disconnected = GRAD_IGNORE,
                                    .return_disconnected = GRAD_NONE,
                                    .null = NULL_RETURN};
    Case *c = &d->c;
    bool ok = ad_grad(&c->b, o->cost, (VarList){d->nwrt, d->wrt}, &how, o->grad);
    CHECK(ok, "%s of %s (%s): no gradient: %s", c->row->text, c->row->in,
          dtype_name(c->dtype), why(c->s));
    if (!ok) return false;
    for (int k = 0; k < FORWARD; k++) {
        ok = ad_jvp(&c->b, (VarList){1, &o->cost}, (VarList){d->nwrt, d->wrt},
                    d->tangent, k == 1, &o->forward[k]);
        CHECK(ok, "%s of %s (%s): no forward mode %d: %s", c->row->text, c->row->in,
              dtype_name(c->dtype), k, why(c->s));
        if (!ok) return false;
    }
    return true;
}

static bool is_value(const Graph *g, Var v) {
    return v != VAR_NONE && !var_is_null(g, v);
}

/* The second cost: of all first gradients together. */
static Var cost_of_gradients(Derived *d) {
    Var sum = VAR_NONE;
    for (size_t i = 0; i < d->nwrt; i++) {
        Var g = d->order[0].grad[i];
        if (!is_value(d->c.g, g)) continue;
        Var h = cost_of(&d->c, g, false);
        sum = sum == VAR_NONE ? h : op_call2(&d->c.b, "add", sum, h);
    }
    return sum;
}

static bool build(Derived *d, bool known, bool second) {
    Case *c = &d->c;
    if (!case_build(c, known)) return false;
    for (size_t i = 0; i < c->nin; i++) {
        if (!spec_varies(&c->spec[i])) continue;
        Spec q = c->spec[i];
        q.kind = 'r';
        Tensor v = make_tensor(c->s, &q, i + 3, c->dtype, 0);
        d->at[d->nwrt] = i;
        d->tangent[d->nwrt] = graph_const(c->g, &v, false);
        d->wrt[d->nwrt++] = c->in[i];
        tensor_unref(&v);
    }
    if (d->nwrt == 0) return false;
    d->order[0].cost = cost_of(c, c->out, true);
    CHECK(d->order[0].cost != VAR_NONE, "%s: %s", c->row->text, why(c->s));
    if (d->order[0].cost == VAR_NONE || !derive(d, &d->order[0])) return false;
    d->orders = 1;
    for (size_t i = 0; i < d->nwrt; i++)
        CHECK(!is_value(c->g, d->order[0].grad[i]) ||
                  var_type(c->g, d->order[0].grad[i])->dtype == c->dtype,
              "%s (%s): the gradient of input %zu has another dtype", c->row->text,
              dtype_name(c->dtype), d->at[i]);
    if (!second) return true;
    d->order[1].cost = cost_of_gradients(d);
    d->orders += d->order[1].cost != VAR_NONE && derive(d, &d->order[1]);
    return true;
}

/* ---- running ---- */
static bool run_one(Derived *d, Var want, Value *out) {
    Job j;
    bool ok = job_open(&j, &d->c, 1, &want, false) && job_run(&j, &d->c);
    if (ok) value_copy_view(out, vm_output(j.m, 0));
    CHECK(ok, "%s of %s (%s): %s", d->c.row->text, d->c.row->in, dtype_name(d->c.dtype),
          why(d->c.s));
    job_close(&j);
    return ok;
}

static double part_of(const Tensor *t, int64_t i, int part) {
    double z[2];
    const char *p = t->data;
    for (int k = t->ndim - 1; k >= 0; k--) {
        p += i % t->shape[k] * t->stride[k];
        i /= t->shape[k];
    }
    tensor_cast_elements(DT_COMPLEX128, z, t->dtype, p, 1, 0, 0);
    return z[part];
}

static double cost_at(const Derived *d, const Job *j, double *x, double v) {
    double was = *x;
    *x = v;
    double r = job_run(j, &d->c) ? tensor_f64(&vm_output(j->m, 0)->t, 0) : (double)NAN;
    *x = was;
    return r;
}

/* The derivative along one number, from four points. */
static double difference(const Derived *d, const Job *j, double *x) {
    double h = 1e-3, x0 = *x;
    double near = cost_at(d, j, x, x0 + h) - cost_at(d, j, x, x0 - h);
    double far = cost_at(d, j, x, x0 + 2 * h) - cost_at(d, j, x, x0 - 2 * h);
    return (8 * near - far) / (12 * h);
}

static bool near(double a, double b, double tol) {
    return fabs(a - b) <= tol * (1 + fabs(b));
}

/* Differences of a call that rounds to float32 have few digits. */
static double tolerance(const Derived *d) {
    DType out = dtype_real(var_type(d->c.g, d->c.out)->dtype);
    return out == DT_FLOAT32 ? 1e-3 : 2e-7;
}

static void check_differences(Derived *d, int order, size_t i, const Tensor *grad) {
    Case *c = &d->c;
    Tensor *x = &c->t[d->at[i]];
    int parts = dtype_is_complex(c->dtype) ? 2 : 1;
    Job j;
    if (!job_open(&j, c, 1, &d->order[order].cost, false)) return;
    for (int64_t e = 0; e < tensor_size(x); e++)
        for (int part = 0; part < parts; part++) {
            double fd = difference(d, &j, (double *)x->data + e * parts + part);
            double have = grad ? part_of(grad, e, part) : 0;
            CHECK(
                near(have, fd, tolerance(d)),
                "%s of %s (%s): order %d, input %zu, element %lld.%d: gradient %.12g, "
                "difference %.12g",
                c->row->text, c->row->in, dtype_name(c->dtype), order + 1, d->at[i],
                (long long)e, part, have, fd);
        }
    job_close(&j);
}

/* <grad, tangent> */
static double inner(const Derived *d, size_t i, const Tensor *grad) {
    const Tensor *v = var_const(d->c.g, d->tangent[i]);
    double sum = 0;
    for (int64_t e = 0; e < tensor_size(v); e++)
        sum += part_of(v, e, 0) * part_of(grad, e, 0) +
               part_of(v, e, 1) * part_of(grad, e, 1);
    return sum;
}

static void check_forward(Derived *d, int order, double want) {
    for (int k = 0; k < FORWARD; k++) {
        Var t = d->order[order].forward[k];
        Value v = {0};
        double have = 0;
        if (t != VAR_NONE && var_is_null(d->c.g, t)) {
            CHECK(may_be_undefined(d->c.row), "%s: forward mode %d: undefined: %s",
                  d->c.row->text, k, var_type(d->c.g, t)->why);
            continue;
        }
        if (t != VAR_NONE && !run_one(d, t, &v)) continue;
        if (t != VAR_NONE) have = tensor_f64(&v.t, 0);
        CHECK(near(have, want, tolerance(d)),
              "%s of %s (%s): order %d: forward mode %d gives %.12g, reverse %.12g",
              d->c.row->text, d->c.row->in, dtype_name(d->c.dtype), order + 1, k, have,
              want);
        value_unref(&v);
    }
}

static void check_order(Derived *d, int order) {
    Case *c = &d->c;
    double want = 0;
    bool all = true;
    for (size_t i = 0; i < d->nwrt; i++) {
        Var g = d->order[order].grad[i];
        if (g != VAR_NONE && var_is_null(c->g, g)) {
            CHECK(may_be_undefined(c->row), "%s: input %zu: undefined: %s",
                  c->row->text, d->at[i], var_type(c->g, g)->why);
            all = false;
            continue;
        }
        Value v = {0};
        if (g != VAR_NONE && !run_one(d, g, &v)) continue;
        bool shape = g == VAR_NONE || tensor_same_shape(&v.t, &c->t[d->at[i]]);
        CHECK(shape, "%s of %s: the gradient of input %zu has another shape",
              c->row->text, c->row->in, d->at[i]);
        if (shape) check_differences(d, order, i, g == VAR_NONE ? NULL : &v.t);
        if (shape && g != VAR_NONE) want += inner(d, i, &v.t);
        value_unref(&v);
    }
    if (all) check_forward(d, order, want);
}

static void test_wide(Session *s, const Sample *row, DType dtype) {
    Derived d = {.c = case_of(s, row, dtype)};
    if (build(&d, true, true)) {
        case_tensors(&d.c, 0);
        for (int k = 0; k < d.orders; k++)
            check_order(&d, k);
    }
    case_close(&d.c);
}

/* Gradients in another dtype, or with sizes that only the run tells, are the same. */
static void test_like(Session *s, const Sample *row, DType dtype, bool known,
                      bool named) {
    Derived d = {.c = case_of(s, row, dtype)}, w = {.c = case_of(s, row, DT_FLOAT64)};
    d.c.named = named;
    double tol = dtype == DT_FLOAT64 ? 1e-12 : dtype == DT_FLOAT32 ? 1e-4 : 5e-2;
    bool both = build(&w, true, false) && build(&d, known, false);
    if (both) case_tensors(&w.c, 0), case_tensors(&d.c, 2);
    for (size_t i = 0; both && i < d.nwrt; i++) {
        Var g = d.order[0].grad[i], h = w.order[0].grad[i];
        Value have = {0}, want = {0};
        Tensor as = {0};
        CHECK(is_value(d.c.g, g) == is_value(w.c.g, h), "%s of %s: one gradient only",
              row->text, row->in);
        if (!is_value(d.c.g, g) || !is_value(w.c.g, h)) continue;
        if (run_one(&d, g, &have) && run_one(&w, h, &want)) {
            tensor_cast(s, &want.t, have.t.dtype, &as);
            bool same =
                tensor_approx(&have.t, &as, (Approx){.rtol = tol, .atol = tol}, NULL);
            CHECK(same, "%s of %s: gradient of input %zu in %s%s is %s, not %s",
                  row->text, row->in, d.at[i], dtype_name(dtype),
                  known ? "" : " with unknown sizes", shown(s, &have.t), shown(s, &as));
            tensor_unref(&as);
        }
        value_unref(&have);
        value_unref(&want);
    }
    if (d.c.g) case_close(&d.c);
    case_close(&w.c);
}

static void test_row(Session *s, const Sample *row) {
    if (row->flags & NO_GRAD) return;
    test_wide(s, row, DT_FLOAT64);
    test_wide(s, row, DT_COMPLEX128);
    test_like(s, row, DT_FLOAT64, false, false);
    test_like(s, row, DT_FLOAT64, false, true);
    if (row->flags & NO_LOW) return;
    test_like(s, row, DT_FLOAT32, true, false);
    test_like(s, row, DT_FLOAT16, true, false);
}

int main(int argc, char **argv) {
    return rows_test(argc, argv, 1, test_row, "prop ops_grad");
}
