/* Batching of every op: row i of what is built for many rows at once is what the op
 * gives for row i, whichever of the inputs have rows, whatever their dtype and however
 * much the types know of their sizes. */
#include "gen.h"
#include "vmap/vmap.h"

enum { ROWS_N = 3 };

typedef struct Wide {
    Case c;
    unsigned mask; /* inputs with rows */
    Tensor all[INPUTS];
    Var with[INPUTS], out;
    bool rows;
    bool ragged; /* results differ in shape from row to row: there is nothing to be had
                  */
} Wide;

static Dim lead_dim(const Case *c, bool known) {
    return known ? ROWS_N : c->named ? size_name(c->s, ROWS_N + 100) : DIM_UNKNOWN;
}

static void make_rows(Wide *w) {
    Case *c = &w->c;
    for (size_t i = 0; i < c->nin; i++) {
        if (!(w->mask >> i & 1)) continue;
        Spec q = c->spec[i];
        int64_t shape[MAX_NDIM] = {ROWS_N};
        for (int k = 0; k < q.ndim; k++)
            shape[k + 1] = q.shape[k];
        tensor_new(c->s, case_dtype(c, i), q.ndim + 1, shape, &w->all[i]);
        for (size_t r = 0; r < ROWS_N; r++) {
            Tensor one = make_tensor(c->s, &q, i + 7 * r, case_dtype(c, i), 0);
            if (tensor_size(&one))
                memcpy((char *)w->all[i].data + r * tensor_bytes(&one), one.data,
                       tensor_bytes(&one));
            tensor_unref(&one);
        }
    }
}

/* Makes the case's tensors row r of those that have rows. */
static void take_row(Wide *w, size_t r) {
    Case *c = &w->c;
    for (size_t i = 0; i < c->nin; i++) {
        if (!(w->mask >> i & 1)) continue;
        size_t bytes = tensor_bytes(&c->t[i]);
        if (bytes) memcpy(c->t[i].data, (char *)w->all[i].data + r * bytes, bytes);
    }
}

/* Scans in the graph: vmap computes row by row where an op has no rule. */
static size_t count_loops(const Graph *g) {
    size_t n = 0;
    for (ApplyId a = 0; a < g->napply; a++)
        n += op_is(g->s, g->apply[a].op, OP_SCAN);
    return n;
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* May the rows need a loop? Those of other ops must not. */
static bool may_loop(const Sample *row) {
    static const char *const sorted[] = {"all_gather",
                                         "arange",
                                         "csc_from_dense",
                                         "csr_from_dense",
                                         "dense_from_sparse",
                                         "draw",
                                         "gemm",
                                         "mix_pixels",
                                         "mix_pixels_back",
                                         "mix_pixels_weights",
                                         "non_max_suppression",
                                         "nonzero",
                                         "normal",
                                         "pad",
                                         "reduce_scatter",
                                         "resize",
                                         "tree_leaves",
                                         "uniform",
                                         "unique"};
    bool mask = strstr(row->op, "subtensor") && strstr(row->in, "b[");
    return mask || strncmp(row->op, "sparse_", 7) == 0 ||
           strncmp(row->op, "list_", 5) == 0 ||
           bsearch(&row->op, sorted, sizeof sorted / sizeof *sorted, sizeof *sorted,
                   by_name);
}

static bool build(Wide *w, bool known) {
    Case *c = &w->c;
    Var var[INPUTS], with[INPUTS];
    size_t n = 0;
    if (!case_build(c, known)) return false;
    for (size_t i = 0; i < c->nin; i++) {
        if (!(w->mask >> i & 1)) continue;
        const Type *t = var_type(c->g, c->in[i]);
        Dim dim[MAX_NDIM + 1] = {lead_dim(c, known)};
        for (int k = 0; k < t->ndim; k++)
            dim[k + 1] = t->dim[k];
        Sym name = sym(c->s, (const char *[]){"a_rows", "b_rows", "c_rows"}[i]);
        w->with[i] =
            graph_input(c->g, name, type_tensor(c->s, t->dtype, t->ndim + 1, dim));
        var[n] = c->in[i];
        with[n++] = w->with[i];
    }
    Var size = shape_of(&c->b, with[0], 0);
    size_t loops = count_loops(c->g);
    bool ok = vmap_graph(&c->b, &(VmapRows){{n, var}, with, NULL, size, false},
                         &(VmapWant){{1, &c->out}, 1}, &w->out, &w->rows);
    CHECK(ok, "%s of %s (%s), rows in %u: %s", c->row->text, c->row->in,
          dtype_name(c->dtype), w->mask, why(c->s));
    CHECK(!known || !ok || may_loop(c->row) || count_loops(c->g) == loops,
          "%s of %s (%s), rows in %u: computed in a loop", c->row->text, c->row->in,
          dtype_name(c->dtype), w->mask);
    return ok;
}

static Tensor row_of(const Tensor *t, int64_t r) {
    Tensor one = *t;
    one.ndim--;
    one.data = (char *)t->data + r * t->stride[0];
    for (int k = 0; k < one.ndim; k++) {
        one.shape[k] = t->shape[k + 1];
        one.stride[k] = t->stride[k + 1];
    }
    return one;
}

static void check_row(Wide *w, const Job *j, size_t r, double tol) {
    Case *c = &w->c;
    Tensor want = vm_output(j->m, 0)->t, all = vm_output(j->m, 1)->t;
    Tensor have = w->rows ? row_of(&all, (int64_t)r) : all;
    Approx how = {.rtol = tol, .atol = tol};
    CHECK(!w->rows || all.shape[0] == ROWS_N, "%s: %lld rows", c->row->text,
          (long long)all.shape[0]);
    CHECK(want.dtype == have.dtype, "%s of %s (%s): the dtype changes", c->row->text,
          c->row->in, dtype_name(c->dtype));
    CHECK(tensor_same_shape(&have, &want) && tensor_approx(&have, &want, how, NULL),
          "%s of %s (%s), rows in %u: row %zu is %s, not %s", c->row->text, c->row->in,
          dtype_name(c->dtype), w->mask, r, shown(c->s, &have), shown(c->s, &want));
}

static bool set_rows(Wide *w, const Job *j) {
    size_t at = w->c.nin;
    for (size_t i = 0; i < w->c.nin; i++) {
        if (!(w->mask >> i & 1)) continue;
        Value v = {.kind = TYPE_TENSOR, .t = w->all[i]};
        if (!vm_set_input(j->m, at++, &v)) return false;
    }
    return true;
}

/* Runs the op by itself for every row. */
static void look_at_shapes(Wide *w) {
    Case *c = &w->c;
    Tensor first = {0};
    Job j;
    bool ok = job_open(&j, c, 1, &c->out, false);
    for (size_t r = 0; ok && r < ROWS_N; r++) {
        take_row(w, r);
        ok = set_rows(w, &j) && job_run(&j, c);
        const Tensor *t = ok ? &vm_output(j.m, 0)->t : &first;
        if (r == 0) first = *t;
        w->ragged |= !tensor_same_shape(t, &first);
    }
    CHECK(ok, "%s of %s: %s", c->row->text, c->row->in, why(c->s));
    if (j.plan) job_close(&j);
}

static void run(Wide *w, double tol) {
    Case *c = &w->c;
    Var want[2] = {c->out, w->out};
    Job j;
    look_at_shapes(w);
    bool ok = job_open(&j, c, 2, want, false);
    for (size_t r = 0; ok && r < ROWS_N; r++) {
        take_row(w, r);
        ok = set_rows(w, &j) && job_run(&j, c);
        if (ok) check_row(w, &j, r, tol);
    }
    CHECK(ok != w->ragged, "%s of %s (%s), rows in %u: %s", c->row->text, c->row->in,
          dtype_name(c->dtype), w->mask, why(c->s));
    if (j.plan) job_close(&j);
}

static void test_mask(Session *s, const Sample *row, DType d, unsigned mask, int how) {
    Wide w = {.c = case_of(s, row, d), .mask = mask};
    w.c.named = how == 2;
    if (build(&w, how == 0)) {
        case_tensors(&w.c, 0);
        make_rows(&w);
        run(&w, d == DT_FLOAT32 ? 1e-5 : 1e-12);
        for (size_t i = 0; i < INPUTS; i++)
            if (w.all[i].buf) tensor_unref(&w.all[i]);
    }
    case_close(&w.c);
}

static void test_row(Session *s, const Sample *row) {
    Spec spec[INPUTS];
    size_t nin = read_specs(row->in, spec);
    for (unsigned mask = 1; mask < 1U << nin; mask++) {
        test_mask(s, row, DT_FLOAT64, mask, 0);
        test_mask(s, row, DT_FLOAT64, mask, 1);
        test_mask(s, row, DT_FLOAT64, mask, 2);
        test_mask(s, row, DT_FLOAT32, mask, 0);
        test_mask(s, row, DT_COMPLEX128, mask, 0);
        test_mask(s, row, DT_INT64, mask, 0);
    }
}

int main(int argc, char **argv) {
    return rows_test(argc, argv, 1, test_row, "prop ops_batch");
}
