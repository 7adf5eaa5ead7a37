/* Where values, dtypes and sizes are unusual: special numbers in every layout, inputs
 * of two dtypes, sizes that turn out not to fit, and work large enough to be split. */
#include "gen.h"
#include "rewrite/rewrite.h"

/* ---- running ---- */
static bool result(Case *c, unsigned threads, Value *out) {
    PlanOptions o = {.nwant = 1, .want = &c->out, .threads = threads};
    Job j = {.plan = plan_new(c->g, &o)};
    if (!j.plan) return false;
    j.m = vm_new(j.plan);
    bool ok = job_run(&j, c);
    if (ok) value_copy_view(out, vm_output(j.m, 0));
    job_close(&j);
    return ok;
}

static bool is_elemwise(Session *s, const Sample *row) {
    const Op *op = op_find(s, row->op, strlen(row->op));
    return op->elemwise;
}

/* ---- special values ---- */
/* Blocks, tails and strided elements give the same bits, faults the same error. */
static void test_special(Session *s, const Sample *row, DType d) {
    Case c = case_of(s, row, d);
    bool types = case_build(&c, true);
    Value want = {0};
    bool fine = false, elemwise = is_elemwise(s, row);
    for (int layout = 0; types && layout < 3; layout++) {
        Value have = {0};
        case_tensors(&c, layout);
        for (size_t i = 0; i < c.nin; i++)
            if (spec_varies(&c.spec[i])) fill_special(&c.t[i], i, elemwise);
        bool ok = result(&c, 1, &have);
        CHECK(ok || diag_first_error(s)->code == E_ARITHMETIC ||
                  (!elemwise && diag_count(s) == 1),
              "%s (%s): %s", row->text, dtype_name(d), why(s));
        CHECK(layout == 0 || ok == fine, "%s (%s): fails in one layout", row->text,
              dtype_name(d));
        if (layout > 0 && ok && fine) {
            bool same = elemwise
                            ? tensor_identical(&have.t, &want.t)
                            : tensor_approx(&have.t, &want.t, APPROX_DEFAULT, NULL);
            CHECK(same, "%s of %s (%s): layout %d gives %s, contiguous %s", row->text,
                  row->in, dtype_name(d), layout, shown(s, &have.t), shown(s, &want.t));
        }
        if (layout == 0)
            want = have, fine = ok;
        else
            value_unref(&have);
        for (size_t i = 0; i < c.nin; i++)
            tensor_unref(&c.t[i]);
        diag_clear(s);
    }
    value_unref(&want);
    case_close(&c);
}

/* ---- inputs in the other order ---- */

static Graph *merged(Case *c, Var first, Var second) {
    static const char *const merge[] = {"merge"};
    RewriteOptions how = {.query = {.mode = "NONE", .ninclude = 1, .include = merge}};
    vec_push(c->s, &c->g->outputs, ((Output){sym(c->s, "first"), first}));
    vec_push(c->s, &c->g->outputs, ((Output){sym(c->s, "second"), second}));
    return rewrite_run(c->g, &how, NULL);
}

/* What merging takes for one must be the same to the bit; where equal inputs can be
 * told apart in the result, it stays two. */
static void test_swapped(Session *s, const Sample *row, DType d) {
    const Op *op = op_find(s, row->op, strlen(row->op));
    Case c = case_of(s, row, d);
    if (op->comm && op->elemwise && case_build(&c, true)) {
        Apply a = c.g->apply[var_owner(c.g, c.out)];
        const Var *in = apply_in(c.g, var_owner(c.g, c.out));
        Var first = c.out, swapped[] = {in[1], in[0]};
        Var second = op_apply1(&c.b, a.op, a.props, 2, swapped);
        Value x = {0}, y = {0};
        case_tensors(&c, 0);
        for (size_t i = 0; i < c.nin; i++)
            fill_special(&c.t[i], i, true);
        bool ok = result(&c, 1, &x);
        c.out = second;
        ok = ok && result(&c, 1, &y);
        CHECK(ok && (op->uneven || tensor_identical(&x.t, &y.t)),
              "%s (%s): %s, in the other order %s", row->text, dtype_name(d),
              shown(s, &x.t), shown(s, &y.t));
        Graph *h = merged(&c, first, second);
        bool one = h && h->outputs.p[0].var == h->outputs.p[1].var;
        CHECK(h && one == !op->uneven, "%s (%s): %u Applies", row->text, dtype_name(d),
              h ? h->napply : 0);
        graph_free(h);
        value_unref(&x);
        value_unref(&y);
    }
    diag_clear(s);
    case_close(&c);
}

/* ---- inputs of two dtypes ---- */
/* op(a, b) is op of both cast to their common dtype. */
static void test_mixed(Session *s, const Sample *row, DType d, DType e) {
    DType p = dtype_promote(d, e);
    Case c = case_of(s, row, d), k = case_of(s, row, p);
    Value have = {0}, want = {0};
    c.mixed = e;
    if (case_build(&k, true)) {
        bool ok = case_build(&c, true);
        CHECK(ok && var_type(c.g, c.out) == var_type(k.g, k.out),
              "%s of %s and %s is a %s", row->text, dtype_name(d), dtype_name(e),
              ok ? type_str(s, var_type(c.g, c.out)) : why(s));
        for (size_t i = 0; i < c.nin; i++) {
            DType of = case_dtype(&c, i);
            c.t[i] = make_tensor(s, &c.spec[i], i, of, 0);
            tensor_cast(s, &c.t[i], p, &k.t[i]);
        }
        if (ok && result(&c, 1, &have) && result(&k, 1, &want))
            CHECK(tensor_identical(&have.t, &want.t), "%s of %s and %s: %s, not %s",
                  row->text, dtype_name(d), dtype_name(e), shown(s, &have.t),
                  shown(s, &want.t));
    }
    value_unref(&have);
    value_unref(&want);
    if (c.g) case_close(&c);
    case_close(&k);
}

/* ---- sizes that the types don't tell ---- */
/* A 1 that is not in the type never stretches, and other sizes don't fit either. */
static void test_misfit(Session *s, const Sample *row, int64_t size) {
    Case c = case_of(s, row, DT_FLOAT64);
    Value out = {0};
    bool apart = c.nin == 2 && c.spec[0].ndim == 2 && c.spec[1].ndim == 2 &&
                 c.spec[0].shape[1] == 3 && c.spec[1].shape[1] == 3;
    if (apart && case_build(&c, false)) {
        c.spec[1].shape[1] = size;
        case_tensors(&c, 0);
        bool ok = result(&c, 1, &out);
        CHECK(!ok && diag_first_error(s)->code == E_RUN_SHAPE,
              "%s: 3 and %lld as sizes of a run: %s", row->text, (long long)size,
              ok ? "no error" : why(s));
    }
    value_unref(&out);
    case_close(&c);
}

/* ---- in place ---- */
/* On values that nothing else needs, which it may write over, a call gives the same. */
static void test_inplace(Session *s, const Sample *row, DType d) {
    Case c = case_of(s, row, d), k = case_of(s, row, d);
    Value have = {0}, want = {0};
    c.through = true;
    if (case_build(&k, true) && case_build(&c, true)) {
        case_tensors(&k, 0);
        case_tensors(&c, 0);
        bool ok = result(&k, 1, &want);
        CHECK(result(&c, 1, &have) == ok, "%s of %s (%s), in place: %s", row->text,
              row->in, dtype_name(d), why(s));
        CHECK(!ok || tensor_identical(&have.t, &want.t),
              "%s of %s (%s): in place %s, else %s", row->text, row->in, dtype_name(d),
              shown(s, &have.t), shown(s, &want.t));
    }
    value_unref(&have);
    value_unref(&want);
    if (c.g) case_close(&c);
    case_close(&k);
}

/* ---- large ---- */
enum { LARGEST = 1 << 21 };

/* The same call with larger sizes, where it still types: the same bits with two
 * threads. Samples with literal sizes drop out. The work of a convolution is the
 * product of all sizes. */
static void test_large(Session *s, const Sample *row, DType d) {
    static const int64_t flat[] = {0, 1, 131, 523, 64, 700, 81},
                         many[] = {0, 1, 17, 49, 90, 9, 10},
                         few[] = {0, 1, 7, 11, 23, 9, 10};
    const int64_t *deep = strcmp(row->op, "conv") == 0 ? few : many;
    Case c = case_of(s, row, d);
    Value one = {0}, two = {0};
    int most = 0;
    for (size_t i = 0; i < c.nin; i++)
        most = c.spec[i].ndim > most ? c.spec[i].ndim : most;
    for (size_t i = 0; i < c.nin; i++)
        for (int k = 0; k < c.spec[i].ndim; k++) {
            int64_t *n = &c.spec[i].shape[k];
            *n = *n > 6 ? *n : most == 1 ? 70001 : most == 2 ? flat[*n] : deep[*n];
        }
    if (case_build(&c, true) && type_size(var_type(c.g, c.out)) <= LARGEST) {
        case_tensors(&c, 0);
        bool ok = result(&c, 1, &one);
        CHECK(result(&c, 2, &two) == ok, "%s: fails with two threads: %s", row->text,
              why(s));
        CHECK(!ok || tensor_identical(&one.t, &two.t), "%s of %s (%s): threads differ",
              row->text, row->in, dtype_name(d));
    }
    value_unref(&one);
    value_unref(&two);
    case_close(&c);
}

static void test_row(Session *s, const Sample *row) {
    bool elemwise = is_elemwise(s, row), binary = elemwise && strstr(row->in, "] ");
    for (int d = 0; d < DT_N; d++) {
        test_special(s, row, (DType)d);
        test_swapped(s, row, (DType)d);
        test_inplace(s, row, (DType)d);
    }
    bool two = binary && strcmp(row->op, "where") != 0 && strcmp(row->op, "clip") != 0;
    for (int d = 0; two && d < DT_N * DT_N; d++)
        test_mixed(s, row, (DType)(d / DT_N), (DType)(d % DT_N));
    if (binary) {
        test_misfit(s, row, 1);
        test_misfit(s, row, 5);
    }
    test_large(s, row, DT_FLOAT32);
    test_large(s, row, DT_INT16);
}

int main(int argc, char **argv) {
    return rows_test(argc, argv, 2, test_row, "prop ops_edges");
}
