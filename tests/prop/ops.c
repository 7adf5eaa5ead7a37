/* Every op of the catalogue, in every dtype that types: outputs are of their types,
 * memory layouts, thread of views, smaller dtypes and slow references agree, inputs
 * stay as they were, examples are right. */
#include "gen.h"
#include "value/class.h"

#include <math.h>

/* ---- what every Apply of a run must hold ---- */
typedef struct Watch {
    const char *text;
    uint64_t hash[64];
} Watch;

static bool watch_before(void *ctx, size_t step, const Call *c) {
    Watch *w = ctx;
    (void)step;
    for (size_t i = 0; i < c->nin && i < 64; i++)
        w->hash[i] = value_hash(c->in[i]);
    return true;
}

/* Storage of the test's own, full of what no kernel should rely on. */
typedef struct Host {
    CallHost host;
    void *scratch[16];
    size_t n;
} Host;

static bool host_alloc(Call *c, size_t i, DType d, int ndim, const int64_t *shape) {
    value_unref(&c->out[i]);
    c->out[i].kind = TYPE_TENSOR;
    if (!tensor_new(c->s, d, ndim, shape, &c->out[i].t)) return false;
    memset(c->out[i].t.data, 1, tensor_bytes(&c->out[i].t));
    return true;
}

static void *host_scratch(Call *c, size_t bytes) {
    Host *h = (Host *)(void *)c->host;
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(p, 0x5a, (bytes + 127) / 64 * 64);
    return h->scratch[h->n++ % 16] = p;
}

static void check_views(const Watch *w, const Call *c, size_t out) {
    const Tensor *t = &c->out[out].t;
    int declared = op_view(c->g, c->id, out);
    const Tensor *of = declared >= 0 ? &c->in[declared]->t : NULL;
    for (size_t i = 0; i < c->nin; i++) {
        const Tensor *x = &c->in[i]->t;
        if (c->in[i]->kind != TYPE_TENSOR || tensor_size(t) == 0) continue;
        bool fine = (int)i == declared || (of && tensor_may_share_memory(of, x));
        CHECK(fine || !tensor_may_share_memory(t, x),
              "%s: output %zu of %s shares memory with input %zu", w->text, out,
              c->op->name, i);
    }
}

/* In the adjugate of a singular matrix large terms cancel, to 0 or to last digits of
 * the largest element, as each CPU rounds. */
static Approx how_close(const Call *c, const Tensor *t) {
    Approx how = APPROX_DEFAULT;
    if (strcmp(c->op->name, "adjugate") != 0 || dtype_real(t->dtype) != DT_FLOAT32)
        return how;
    tensor_tolerance(t->dtype, how, &how.rtol, &how.atol);
    for (int64_t i = 0; i < tensor_size(t); i++) {
        double part[2];
        tensor_c128(t, i, part);
        how.atol = fmax(how.atol, 1e-6 * hypot(part[0], part[1]));
    }
    return how;
}

static void drop_scratch(const Host *h) {
    for (size_t i = 0; i < h->n && i < 16; i++)
        free(h->scratch[i]);
}

/* The op's own kernel, or its slow reference, once more into other memory. */
static void check_again(const Watch *w, const Call *c, bool (*perform)(Call *)) {
    Host h = {.host = {.alloc = host_alloc,
                       .scratch = host_scratch,
                       .pool = session_pool(c->s)}};
    Value out[8] = {{0}};
    Call d = *c;
    if (c->nout > 8 || c->op->effect) return;
    d.host = &h.host;
    d.out = out;
    d.reuse = NULL;
    CHECK(perform(&d), "%s: %s fails the second time", w->text, c->op->name);
    for (size_t i = 0; i < c->nout; i++) {
        if (c->out_type[i]->kind == TYPE_TENSOR) {
            Approx how = how_close(c, &out[i].t);
            CHECK(tensor_approx(&c->out[i].t, &out[i].t, how, NULL),
                  "%s: %s gives something else %s", w->text, c->op->name,
                  perform == c->op->debug ? "than its reference" : "in other memory");
            check_views(w, &d, i);
        } else {
            CHECK(value_approx(c->s, &c->out[i], &out[i], APPROX_DEFAULT),
                  "%s: %s gives another value the second time", w->text, c->op->name);
        }
        value_unref(&out[i]);
    }
    drop_scratch(&h);
}

/* What the kernel does again: on the same inputs, then on memory that is laid out as
 * theirs but has only zeros. */
static size_t redone;
static void check_redo(const Watch *w, const Call *c) {
    Host h = {.host = {.alloc = host_alloc,
                       .scratch = host_scratch,
                       .pool = session_pool(c->s)}};
    enum { MOST = 4 };
    Redo redo = {0};
    Value out = {0}, like[MOST];
    const Value *in[MOST];
    const void *data[MOST];
    Call d = *c;
    CHECK(c->nout == 1, "%s has an operand too many", c->op->name);
    if (c->nin > MOST) return; /* it isn't asked then */
    d.host = &h.host;
    d.out = &out;
    d.in = in;
    d.reuse = NULL;
    for (int zeros = 0; zeros < 2; zeros++) {
        for (size_t i = 0; i < c->nin; i++) {
            like[i] = *c->in[i];
            in[i] = &like[i];
            Tensor *t = &like[i].t;
            if (zeros && t->buf) {
                char *room = calloc(t->buf->size + 1, 1);
                t->data = room + ((char *)t->data - (char *)t->buf->data);
            }
            data[i] = t->data;
        }
        d.redo = zeros ? NULL : &redo;
        CHECK(d.op->perform(&d), "%s: %s fails the third time", w->text, c->op->name);
        size_t bytes = tensor_bytes(&out.t);
        void *again = malloc(bytes + 1);
        if (again && redo.run) {
            memset(again, 0xA5, bytes);
            redo.run(redo.how, data, &again);
            CHECK(memcmp(again, out.t.data, bytes) == 0,
                  "%s: %s does something else again%s", w->text, c->op->name,
                  zeros ? " on zeros" : "");
            redone++;
        }
        free(again);
        value_unref(&out);
        for (size_t i = 0; zeros && i < c->nin; i++)
            if (like[i].t.buf)
                free((char *)like[i].t.data -
                     ((char *)c->in[i]->t.data - (char *)like[i].t.buf->data));
    }
    mem_free(redo.how);
    drop_scratch(&h);
}

static bool watch_after(void *ctx, size_t step, const Call *c, double seconds) {
    Watch *w = ctx;
    (void)step, (void)seconds;
    for (size_t i = 0; i < c->nin && i < 64; i++)
        CHECK(w->hash[i] == value_hash(c->in[i]), "%s: %s changes its input %zu",
              w->text, c->op->name, i);
    for (size_t i = 0; i < c->nout; i++) {
        const Type *type = c->out_type[i];
        const Tensor *t = &c->out[i].t;
        if (type->kind != TYPE_TENSOR) {
            CHECK(value_is_valid(c->s, type, &c->out[i]),
                  "%s: output %zu of %s is not a %s", w->text, i, c->op->name,
                  type_str(c->s, type));
            continue;
        }
        bool fits = t->dtype == type->dtype && t->ndim == type->ndim;
        for (int k = 0; fits && k < t->ndim; k++)
            fits = dim_holds(c->s, type->dim[k], t->shape[k]);
        CHECK(fits, "%s: output %zu of %s is not a %s", w->text, i, c->op->name,
              type_str(c->s, type));
        check_views(w, c, i);
    }
    if (c->op->perform) check_again(w, c, c->op->perform);
    if (c->op->debug) check_again(w, c, c->op->debug);
    if (op_rare(c->op)->redo) check_redo(w, c);
    return true;
}

/* make_node with an Apply's own inputs and props gives that Apply. */
static void check_rebuild(Case *c) {
    uint32_t n = c->g->napply;
    for (ApplyId a = 0; a < n; a++) {
        Apply ap = c->g->apply[a];
        Var out[OUT_MAX], in[64];
        if (ap.serial || ap.nin > 64) continue;
        memcpy(in, apply_in(c->g, a), ap.nin * sizeof *in);
        bool ok = op_apply(&c->b, ap.op, ap.props, ap.nin, in, out);
        CHECK(ok && out[0] == ap.out, "%s: %s made from its inputs is another Apply",
              c->row->text, ap.op->name);
        const Type *type[OUT_MAX];
        size_t nout =
            op_infer(c->g, ap.op, ap.props, (VarList){ap.nin, in}, NOWHERE, type);
        CHECK(nout == ap.nout, "%s: %s does not type again", c->row->text, ap.op->name);
        for (size_t i = 0; i < nout; i++)
            CHECK(type[i] == var_type(c->g, ap.out + (Var)i), "%s: another type",
                  c->row->text);
    }
}

/* ---- runs ---- */
/* The result for one layout of the inputs, watched; false: nothing to compare. */
static bool watched_run(Case *c, int layout, Value *out) {
    Watch w = {.text = c->row->text};
    VmHooks hooks = {.ctx = &w, .before = watch_before, .after = watch_after};
    Job j;
    case_tensors(c, layout);
    bool ok = job_open(&j, c, 1, &c->out, true);
    if (ok) vm_set_hooks(j.m, &hooks);
    ok = ok && job_run(&j, c);
    CHECK(ok || diag_first_error(c->s), "%s (%s): fails without a word", c->row->text,
          dtype_name(c->dtype));
    if (ok) value_copy_view(out, vm_output(j.m, 0));
    job_close(&j);
    return ok;
}

static bool plain_run(Case *c, Value *out) {
    Job j;
    bool ok = job_open(&j, c, 1, &c->out, false) && job_run(&j, c);
    if (ok) value_copy_view(out, vm_output(j.m, 0));
    job_close(&j);
    return ok;
}

static void drop_tensors(Case *c) {
    for (size_t i = 0; i < c->nin; i++)
        tensor_unref(&c->t[i]);
}

/* Strides make no difference: elementwise the bits are the same, sums may be taken in
 * another order. */
static void check_layouts(Case *c, bool exact) {
    for (int layout = 0; layout < LAYOUTS; layout++) {
        Value strided = {0}, plain = {0};
        bool ok = watched_run(c, layout, &strided);
        for (size_t i = 0; i < c->nin; i++) {
            Tensor copy;
            tensor_clone(c->s, &c->t[i], &copy);
            tensor_unref(&c->t[i]);
            c->t[i] = copy;
        }
        bool same = plain_run(c, &plain) == ok;
        if (same && ok)
            same = exact ? tensor_identical(&strided.t, &plain.t)
                         : tensor_approx(&strided.t, &plain.t, APPROX_DEFAULT, NULL);
        CHECK(same, "%s of %s (%s): layout %d gives %s, contiguous %s", c->row->text,
              c->row->in, dtype_name(c->dtype), layout,
              strided.t.data ? shown(c->s, &strided.t) : why(c->s),
              plain.t.data ? shown(c->s, &plain.t) : why(c->s));
        value_unref(&strided);
        value_unref(&plain);
        drop_tensors(c);
        diag_clear(c->s);
    }
}

/* Sizes that only the run tells: the same result, and a shape that can be computed
 * without it. */
static void check_unknown(Session *s, const Sample *row, DType d, bool named) {
    Case c = case_of(s, row, d), k = case_of(s, row, d);
    c.named = named;
    Value have = {0}, want = {0};
    if (case_build(&k, true) && case_build(&c, false)) {
        case_tensors(&k, 0);
        bool ok = watched_run(&c, 0, &have);
        CHECK(ok, "%s of %s: %s with sizes known at the run only", row->text, row->in,
              why(s));
        CHECK(!ok || !plain_run(&k, &want) ||
                  tensor_approx(&have.t, &want.t, APPROX_DEFAULT, NULL),
              "%s of %s: sizes known at the run give %s", row->text, row->in,
              shown(s, &have.t));
        Var shape = shape_vector(&c.b, c.out);
        Job j;
        if (ok && job_open(&j, &c, 1, &shape, false)) {
            bool ran = job_run(&j, &c);
            CHECK(ran, "%s: its shape can't be computed: %s", row->text, why(s));
            for (int i = 0; ran && i < have.t.ndim; i++)
                CHECK(tensor_i64(&vm_output(j.m, 0)->t, i) == have.t.shape[i],
                      "%s: size %d of its shape is wrong", row->text, i);
            job_close(&j);
        }
    }
    value_unref(&have);
    value_unref(&want);
    case_close(&c);
    if (k.g) case_close(&k);
}

/* All sizes of `from` are 0: a result, or one clean error. */
static void check_empty(Session *s, const Sample *row, DType d, int64_t from,
                        bool known) {
    Case c = case_of(s, row, d);
    bool any = false;
    for (size_t i = 0; i < c.nin; i++)
        for (int k = 0; k < c.spec[i].ndim; k++)
            if (c.spec[i].shape[k] == from) c.spec[i].shape[k] = 0, any = true;
    Value out = {0};
    bool ok = any && case_build(&c, known) && watched_run(&c, 2, &out);
    CHECK(ok || !any || (diag_count(s) == 1 && diag_first_error(s)->text[0]),
          "%s of %s with %lld as 0: %zu diagnostics", row->text, row->in,
          (long long)from, diag_count(s));
    value_unref(&out);
    case_close(&c);
}

/* ---- smaller dtypes ---- */
static DType wide_of(DType d) {
    switch (dtype_kind(d)) {
    case K_UINT:
        return DT_UINT64;
    case K_INT:
        return DT_INT64;
    case K_FLOAT:
        return DT_FLOAT64;
    case K_COMPLEX:
        return DT_COMPLEX128;
    case K_BOOL:
        break;
    }
    return d;
}

static Approx tolerance(DType d) {
    double r = d == DT_FLOAT16 ? 2e-2 : 2e-4;
    return (Approx){.rtol = r, .atol = d == DT_FLOAT16 ? 2e-2 : 2e-5};
}

/* The same values in the widest dtype of the kind give the same, rounded. */
static void check_narrow(Session *s, const Sample *row, DType d, const Value *have) {
    DType wide = wide_of(d);
    Case c = case_of(s, row, wide), n = case_of(s, row, d);
    Value want = {0};
    n.g = NULL;
    if (wide != d && case_build(&c, true)) {
        case_tensors(&n, 0);
        for (size_t i = 0; i < c.nin; i++)
            tensor_cast(s, &n.t[i], spec_dtype(&c.spec[i], wide), &c.t[i]);
        Tensor as = {0};
        if (plain_run(&c, &want)) {
            tensor_cast(s, &want.t, have->t.dtype, &as);
            DType less = dtype_is_discrete(d) ? have->t.dtype : d;
            CHECK(tensor_approx(&have->t, &as, tolerance(less), NULL),
                  "%s of %s in %s is %s, in %s %s", row->text, row->in, dtype_name(d),
                  shown(s, &have->t), dtype_name(wide), shown(s, &as));
            tensor_unref(&as);
        }
        drop_tensors(&n);
    }
    value_unref(&want);
    case_close(&c);
}

static bool test_dtype(Session *s, const Sample *row, const Op *op, DType d) {
    Case c = case_of(s, row, d);
    Value out = {0};
    bool types = case_build(&c, true);
    CHECK(types || (diag_count(s) == 1 && diag_first_error(s)->text[0]),
          "%s (%s): %zu diagnostics for what does not type", row->text, dtype_name(d),
          diag_count(s));
    if (types) {
        check_rebuild(&c);
        check_layouts(&c, op->elemwise);
        case_tensors(&c, 0);
        bool ok = plain_run(&c, &out);
        CHECK(ok, "%s of %s (%s): %s", row->text, row->in, dtype_name(d), why(s));
        diag_clear(s);
        if (ok && !(row->flags & NO_LOW)) check_narrow(s, row, d, &out);
    }
    value_unref(&out);
    case_close(&c);
    return types;
}

static void test_row(Session *s, const Sample *row) {
    const Op *op = op_find(s, row->op, strlen(row->op));
    int types = 0;
    for (int d = 0; d < DT_N; d++) {
        types += test_dtype(s, row, op, (DType)d);
        check_unknown(s, row, (DType)d, false);
        check_unknown(s, row, (DType)d, true);
    }
    CHECK(types > 0, "%s of %s types for no dtype", row->text, row->in);
    for (int64_t n = 1; n <= 6; n++) {
        check_empty(s, row, DT_FLOAT32, n, true);
        check_empty(s, row, DT_INT64, n, false);
    }
}

/* ---- documentation ---- */
static bool text_value(Session *s, const char *text, Value *out) {
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    Env env = {0};
    bool ok = true;
    Var v =
        template_build(&b, arena_str(session_arena(s), text, strlen(text)), &env, &ok);
    ok = ok && v != VAR_NONE && services(s)->eval(g, 1, &v, out);
    graph_free(g);
    return ok;
}

static bool has_top_comma(const char *p) {
    for (int depth = 0; *p; p++) {
        depth += (*p == '[') - (*p == ']') + (*p == '(') - (*p == ')');
        if (*p == ',' && depth == 0) return true;
    }
    return false;
}

/* One line "expr -> value"; several values are compared as one vector. */
static void check_example(Session *s, const Op *op, const char *line, size_t n) {
    Arena *a = session_arena(s);
    const char *text = arena_str(a, line, n), *arrow = strstr(text, " -> ");
    CHECK(arrow != NULL, "%s: its example `%s` has no value", op->name, text);
    if (!arrow) return;
    const char *expr = arena_str(a, text, (size_t)(arrow - text)), *value = arrow + 4;
    if (has_top_comma(value)) {
        expr = arena_printf(a, "concatenate(%s)", expr);
        value = arena_printf(a, "concatenate([%s])", value);
    }
    Value have = {0}, want = {0};
    Tensor as = {0};
    bool ok = text_value(s, expr, &have) && text_value(s, value, &want);
    CHECK(ok, "%s: its example `%s`: %s", op->name, text, why(s));
    if (ok) {
        tensor_cast(s, &want.t, have.t.dtype, &as);
        CHECK(dtype_is_discrete(have.t.dtype) == dtype_is_discrete(want.t.dtype) &&
                  tensor_approx(&have.t, &as, APPROX_DEFAULT, NULL),
              "%s: its example `%s` is %s", op->name, text, shown(s, &have.t));
        tensor_unref(&as);
    }
    value_unref(&have);
    value_unref(&want);
    diag_clear(s);
}

static void test_docs(Session *s) {
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        size_t n = op->doc ? strlen(op->doc) : 0;
        CHECK(n > 1 && op->doc[n - 1] == '.', "%s has no doc sentence", op->name);
        bool elsewhere = needs_function(s, op) || op->by_macro;
        CHECK(op->example || elsewhere, "%s has no example", op->name);
        for (const char *p = op->example; p && *p;) {
            size_t len = strcspn(p, "\n");
            check_example(s, op, p, len);
            p += len + (p[len] == '\n');
        }
    }
}

int main(int argc, char **argv) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    Samples *rows = all_rows(s);
    uint64_t before = buffer_bytes_used(s);
    test_docs(s);
    for (size_t i = 0; i < rows->n; i++)
        if (argc < 2 || strcmp(argv[1], rows->row[i].op) == 0)
            test_row(s, &rows->row[i]);
    CHECK(argc > 1 || redone > 1000, "only %zu kernels did something again", redone);
    CHECK(buffer_bytes_used(s) == before, "tensors are left over");
    free(rows);
    session_free(s);
    return TEST_END("prop ops");
}
