/* Jacobians and Hessians of every op that has a gradient: by rows and by columns they
 * are the same; a cotangent times the Jacobian is the pullback, the Jacobian times a
 * tangent the pushforward; the Hessian with all its blocks is symmetric, and times a
 * vector it is the Hessian-vector product. (That pullbacks and pushforwards are right,
 * ops_grad finds by differences.) */
#include "ad/jacobian.h"
#include "gen.h"

typedef struct Matrices {
    Case c;
    size_t nwrt;
    size_t at[INPUTS]; /* which inputs */
    Var wrt[INPUTS], tangent[INPUTS], cotangent, cost;
    Var rows[INPUTS], columns[INPUTS], pull[INPUTS], push;
    Var hessian[INPUTS * INPUTS], block[INPUTS], hvp[INPUTS];
} Matrices;

static const GradOptions loose = {.disconnected = GRAD_IGNORE, .null = NULL_RETURN};

static bool is_value(const Graph *g, Var v) {
    return v != VAR_NONE && !var_is_null(g, v);
}

/* A variable that differs from element to element, of v's shape and dtype. */
static Var weights(Case *c, Var v, const char *text) {
    bool ok = true;
    Bind bind = {sym(c->s, "f"), v};
    Var w = template_build(&c->b, text, &(Env){.n = 1, .bind = &bind}, &ok);
    DType d = var_type(c->g, v)->dtype;
    return ok ? op_cast_to(&c->b, w, dtype_is_inexact(d) ? d : DT_FLOAT64) : VAR_NONE;
}
#define WAVE(a, b) "cos(reshape(arange(f.size), shape(f)) * " #a " + " #b ")"

static bool matrices(Matrices *m) {
    Case *c = &m->c;
    Builder *b = &c->b;
    m->cotangent = weights(c, c->out, WAVE(1.0, 0.5));
    for (size_t i = 0; i < m->nwrt; i++)
        m->tangent[i] = weights(c, m->wrt[i], WAVE(0.7, 0.1));
    VarList of = {1, &c->out}, wrt = {m->nwrt, m->wrt};
    return ad_jacobian(b, of, wrt, &loose, JACOBIAN_REVERSE, m->rows) &&
           ad_jacobian(b, of, wrt, &loose, JACOBIAN_FORWARD, m->columns) &&
           ad_vjp(b, of, &m->cotangent, wrt, &loose, m->pull) &&
           ad_jvp(b, of, wrt, m->tangent, false, &m->push);
}

static bool second(Matrices *m) {
    Case *c = &m->c;
    Builder *b = &c->b;
    if (dtype_is_discrete(var_type(c->g, c->out)->dtype)) return true;
    m->cost = weights(c, c->out, "sum(f * " WAVE(1.0, 0.5) ")");
    VarList wrt = {m->nwrt, m->wrt};
    return m->cost != VAR_NONE &&
           ad_hessian(b, m->cost, wrt, &loose, true, m->hessian) &&
           ad_hessian(b, m->cost, wrt, &loose, false, m->block) &&
           ad_hvp(b, m->cost, wrt, m->tangent, &loose, m->hvp);
}

static bool build(Matrices *m, bool known) {
    Case *c = &m->c;
    if (!case_build(c, known) || dtype_is_complex(var_type(c->g, c->out)->dtype))
        return false;
    for (size_t i = 0; i < c->nin; i++) {
        if (!spec_varies(&c->spec[i])) continue;
        m->at[m->nwrt] = i;
        m->wrt[m->nwrt++] = c->in[i];
    }
    m->cost = VAR_NONE;
    if (m->nwrt == 0) return false;
    bool ok = matrices(m) && second(m);
    CHECK(ok, "%s of %s: %s", c->row->text, c->row->in, why(c->s));
    return ok;
}

/* ---- values ---- */
typedef struct Run {
    Matrices *m;
    Var want[64];
    size_t n;
    Job j;
    bool open;
} Run;

static void ask(Run *r, Var v) {
    if (is_value(r->m->c.g, v)) r->want[r->n++] = v;
}

static const Tensor *value(const Run *r, Var v) {
    for (size_t i = 0; i < r->n; i++)
        if (r->want[i] == v) return &vm_output(r->j.m, i)->t;
    return NULL;
}

static void open_run(Run *r, Matrices *m) {
    *r = (Run){.m = m};
    size_t n = m->nwrt;
    ask(r, m->c.out);
    ask(r, m->cotangent);
    ask(r, m->push);
    for (size_t i = 0; i < n; i++) {
        Var each[] = {m->rows[i], m->columns[i], m->pull[i], m->tangent[i]};
        for (size_t k = 0; k < sizeof each / sizeof *each; k++)
            ask(r, each[k]);
    }
    for (size_t i = 0; m->cost != VAR_NONE && i < n; i++) {
        ask(r, m->hvp[i]);
        ask(r, m->block[i]);
        for (size_t k = 0; k < n; k++)
            ask(r, m->hessian[i * n + k]);
    }
    r->open = job_open(&r->j, &m->c, r->n, r->want, false) && job_run(&r->j, &m->c);
    CHECK(r->open, "%s of %s: %s", m->c.row->text, m->c.row->in, why(m->c.s));
}

static double at(const Tensor *t, int64_t i) {
    return t ? tensor_f64(t, i) : 0;
}

static int64_t size(const Tensor *t) {
    return t ? tensor_size(t) : 0;
}

/* Casts to float32 round tangents too. */
static bool close_to(const Run *r, double a, double b) {
    DType out = var_type(r->m->c.g, r->m->c.out)->dtype;
    double tol = out == DT_FLOAT32 ? 1e-6 : 1e-9;
    return fabs(a - b) <= tol * (1 + fabs(a) + fabs(b)) || (isnan(a) && isnan(b));
}

#define SAYS "%s of %s, input %zu, element %lld: %.12g, not %.12g"
#define SAME(have, want, i, e)                                                         \
    CHECK(close_to(r, have, want), SAYS, r->m->c.row->text, r->m->c.row->in,           \
          (size_t)(i), (long long)(e), have, want)

static bool has_shape(const Tensor *t, const Tensor *a, const Tensor *b) {
    int n = 0;
    bool ok = t->ndim == a->ndim + b->ndim;
    for (int k = 0; ok && k < a->ndim; k++)
        ok = t->shape[n++] == a->shape[k];
    for (int k = 0; ok && k < b->ndim; k++)
        ok = t->shape[n++] == b->shape[k];
    return ok;
}

static void check_jacobian(const Run *r, size_t i) {
    const Matrices *m = r->m;
    const Tensor *rows = value(r, m->rows[i]), *columns = value(r, m->columns[i]);
    const Tensor *pull = value(r, m->pull[i]), *c = value(r, m->cotangent);
    const Tensor *out = value(r, m->c.out), *x = &m->c.t[m->at[i]];
    if (!rows || !columns || !pull) return;
    CHECK(has_shape(rows, out, x) && has_shape(columns, out, x),
          "%s of %s, input %zu: the shape is wrong", m->c.row->text, m->c.row->in, i);
    CHECK(rows->dtype == columns->dtype, "%s: by columns it has another dtype",
          m->c.row->text);
    for (int64_t e = 0; e < size(rows); e++)
        SAME(at(columns, e), at(rows, e), i, e);
    for (int64_t k = 0; k < size(x); k++) {
        double sum = 0;
        for (int64_t o = 0; o < size(out); o++)
            sum += at(c, o) * at(rows, o * size(x) + k);
        SAME(at(pull, k), sum, i, k);
    }
}

static void check_push(const Run *r) {
    const Matrices *m = r->m;
    const Tensor *push = value(r, m->push), *out = value(r, m->c.out);
    for (size_t i = 0; i < m->nwrt; i++)
        if (!value(r, m->rows[i])) return;
    for (int64_t o = 0; push && o < size(out); o++) {
        double sum = 0;
        for (size_t i = 0; i < m->nwrt; i++) {
            const Tensor *j = value(r, m->rows[i]), *t = value(r, m->tangent[i]);
            for (int64_t k = 0; k < size(t); k++)
                sum += at(j, o * size(t) + k) * at(t, k);
        }
        SAME(at(push, o), sum, 0, o);
    }
}

static void check_hessian(const Run *r) {
    const Matrices *m = r->m;
    size_t n = m->nwrt;
    for (size_t i = 0; i < n * n; i++)
        if (!value(r, m->hessian[i])) return;
    for (size_t i = 0; i < n; i++) {
        const Tensor *x = &m->c.t[m->at[i]], *own = value(r, m->block[i]);
        const Tensor *product = value(r, m->hvp[i]);
        for (int64_t e = 0; e < size(own); e++)
            SAME(at(own, e), at(value(r, m->hessian[i * n + i]), e), i, e);
        for (int64_t e = 0; e < size(x); e++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) {
                const Tensor *t = value(r, m->tangent[k]);
                const Tensor *h = value(r, m->hessian[i * n + k]),
                             *back = value(r, m->hessian[k * n + i]);
                for (int64_t o = 0; o < size(t); o++) {
                    double one = at(h, e * size(t) + o);
                    sum += one * at(t, o);
                    SAME(at(back, o * size(x) + e), one, i, e);
                }
            }
            SAME(at(product, e), sum, i, e);
        }
    }
}

static void test(Session *s, const Sample *row, bool known, bool named) {
    Matrices m = {.c = case_of(s, row, DT_FLOAT64)};
    m.c.named = named;
    if (build(&m, known)) {
        Run r;
        case_tensors(&m.c, 0);
        open_run(&r, &m);
        for (size_t i = 0; r.open && i < m.nwrt; i++)
            check_jacobian(&r, i);
        if (r.open) check_push(&r);
        if (r.open && m.cost != VAR_NONE) check_hessian(&r);
        job_close(&r.j);
    }
    case_close(&m.c);
}

static void test_row(Session *s, const Sample *row) {
    if (row->flags & NO_GRAD || !is_small(row)) return;
    test(s, row, true, false);
    test(s, row, false, false);
    test(s, row, false, true);
}

int main(int argc, char **argv) {
    return rows_test(argc, argv, 1, test_row, "prop ops_jacobian");
}
