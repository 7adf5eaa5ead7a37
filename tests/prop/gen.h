/* Instances of ops: a call in the language with inputs of given sizes and values.
 * Samples come from rows.def, and from the signature for ops that have none there. */
#ifndef GEN_H
#define GEN_H

#include "../unit/test.h"
#include "ad/ad.h"
#include "vm/vm.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* the dtype changes the values; its gradient is not that of its values, as is its
 * purpose */
enum { NO_LOW = 1, NO_GRAD = 2 };
enum { INPUTS = 3, ROWS = 1024 };

typedef struct Sample {
    const char *op, *text, *in;
    unsigned flags;
} Sample;
#define ROW(op, text, in, flags) {#op, text, in, flags},
static const Sample fixed_rows[] = {
#include "rows.def"
};
#undef ROW

typedef struct Samples {
    Sample row[ROWS];
    size_t n;
} Samples;

/* Only tensors as inputs and no prop that must be given. */
static inline bool is_plain(Session *s, const Op *op) {
    const Signature *sig = op_signature(s, op);
    if (sig->nin == 0 || sig->nin > 2) return false;
    for (size_t i = 0; i < sig->nin; i++)
        if ((sig->in[i].kind != IN_TENSOR && sig->in[i].kind != IN_ANY) ||
            sig->in[i].rest)
            return false;
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].required) return false;
    return true;
}

static inline void plain_rows(Session *s, const Op *op, Samples *r) {
    static const char *const one[] = {"r[2,3]", "r[]", "r[7,43]"};
    static const char *const two[] = {"r[2,3] r[2,3]", "r[2,3] r[3]", "r[2,1] r[1,3]",
                                      "r[] r[3]",      "r[] r[]",     "r[7,43] r[43]"};
    bool unary = op_signature(s, op)->nin == 1;
    const char *text =
        arena_printf(session_arena(s), unary ? "%s(a)" : "%s(a, b)", op->name);
    for (size_t i = 0; i < (unary ? 3u : 6u); i++)
        r->row[r->n++] = (Sample){op->name, text, unary ? one[i] : two[i], 0};
}

/* Does it take a function of the graph, which no text of a row has? */
static inline bool needs_function(Session *s, const Op *op) {
    const Signature *sig = op_signature(s, op);
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].type == T_GRAPH && sig->prop[i].required) return true;
    return false;
}

/* All rows, in the order of the catalogue; an op without any is a failure. */
static inline Samples *all_rows(Session *s) {
    Samples *r = calloc(1, sizeof *r);
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        size_t before = r->n;
        for (size_t k = 0; k < sizeof fixed_rows / sizeof *fixed_rows; k++)
            if (strcmp(fixed_rows[k].op, op->name) == 0) r->row[r->n++] = fixed_rows[k];
        if (r->n == before && is_plain(s, op)) plain_rows(s, op, r);
        bool elsewhere = needs_function(s, op) || op->by_macro;
        CHECK(r->n > before || elsewhere, "no row for %s", op->name);
    }
    return r;
}

/* Tests all rows, or those of the op that argv names; no tensor may be left over. */
typedef void RowTest(Session *s, const Sample *row);
static inline int rows_test(int argc, char **argv, unsigned threads, RowTest *test,
                            const char *name) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = threads;
    vm_open(s);
    ad_open(s);
    Samples *rows = all_rows(s);
    uint64_t before = buffer_bytes_used(s);
    for (size_t i = 0; i < rows->n; i++)
        if (argc < 2 || strcmp(argv[1], rows->row[i].op) == 0) test(s, &rows->row[i]);
    CHECK(buffer_bytes_used(s) == before, "tensors are left over");
    free(rows);
    session_free(s);
    return TEST_END(name);
}

/* ---- values ---- */
typedef struct Spec {
    char kind;
    int limit, ndim;
    int64_t shape[MAX_NDIM];
} Spec;

static inline size_t read_specs(const char *p, Spec spec[INPUTS]) {
    size_t n = 0;
    while (*p) {
        Spec *q = &spec[n++];
        *q = (Spec){.kind = *p++};
        q->limit = (int)strtol(p, (char **)(void *)&p, 10);
        for (p++; *p != ']';) {
            q->shape[q->ndim++] = strtol(p, (char **)(void *)&p, 10);
            if (*p == ',') p++;
        }
        p++;
        if (*p == ' ') p++;
    }
    return n;
}

static inline uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* A real value for element i of n: all different, not near to whole numbers and halves,
 * where rounding jumps. */
static inline double real_value(char kind, size_t input, int64_t i, int64_t n) {
    int64_t at = kind == 's' ? i : (int64_t)((uint64_t)i * 7 + 3) % n;
    if (kind != 's' && n % 7 == 0) at = i;
    double f = ((double)at + 0.5) / (double)n, v = 0.3 + 2 * f + 0.011 * (double)input;
    bool minus = mix((uint64_t)i * 31 + input) & 1;
    if (kind == 'u') return (minus ? -1 : 1) * (0.05 + 0.8 * f);
    if (kind == 'q') return 0.1 + 0.8 * f;
    if (kind == 'g') return 1.2 + f;
    if (kind == 's') return -2.13 + 4.3 * f;
    if (fabs(2 * v - nearbyint(2 * v)) < 0.04) v += 0.025;
    return kind == 'n' || (kind == 'r' && minus) ? -v : v;
}

static inline double whole_value(char kind, DType d, size_t input, int64_t i) {
    int64_t h = (int64_t)(mix((uint64_t)i * 31 + input + 7) % 5), v;
    v = kind == 'p' || kind == 'g' ? 1 + h % 4
        : kind == 'n'              ? -1 - h % 4
        : kind == 'u'              ? h % 2
        : kind == 'q'              ? h % 2
        : kind == 's'              ? i
                                   : h - 2;
    if (d == DT_BOOL) return h % 2 || kind == 'p' || kind == 'g';
    return dtype_kind(d) == K_UINT && v < 0 ? (double)-v : (double)v;
}

static inline void put(const Tensor *t, int64_t flat, DType from, const void *v) {
    char *p = t->data;
    for (int k = t->ndim - 1; k >= 0; k--) {
        p += flat % t->shape[k] * t->stride[k];
        flat /= t->shape[k];
    }
    tensor_cast_elements(t->dtype, p, from, v, 1, 0, 0);
}

static inline DType spec_dtype(const Spec *q, DType d) {
    return q->kind == 'i' ? DT_INT64 : q->kind == 'b' ? DT_BOOL : d;
}

static inline bool spec_varies(const Spec *q) {
    return q->kind != 'i' && q->kind != 'b';
}

enum { LAYOUTS = 4 };
/* Uninitialised: row-major; column-major; every other element, backwards; a first dim
 * of stride 0. */
static inline Tensor layout_tensor(Session *s, DType d, const Spec *q, int layout) {
    int64_t wide[MAX_NDIM] = {0};
    Tensor t, base;
    int n = q->ndim, last = n - 1;
    for (int k = 0; k < n; k++)
        wide[k] = layout == 1   ? q->shape[last - k]
                  : layout == 2 ? 2 * q->shape[k] + 1
                                : q->shape[k];
    if (layout == 3 && n && q->shape[0]) wide[0] = 1;
    tensor_zeros(s, d, n, wide, &t);
    base = t;
    for (int k = 0; k < n; k++) {
        t.shape[k] = q->shape[k];
        t.stride[k] = layout == 1   ? base.stride[last - k]
                      : layout == 2 ? 2 * base.stride[k]
                                    : base.stride[k];
    }
    if (layout == 3 && n && q->shape[0]) t.stride[0] = 0;
    if (layout == 2 && n && q->shape[last]) {
        t.data = (char *)t.data + (q->shape[last] - 1) * t.stride[last];
        t.stride[last] = -t.stride[last];
    }
    return t;
}

static inline Tensor make_tensor(Session *s, const Spec *q, size_t input, DType want,
                                 int layout) {
    DType d = spec_dtype(q, want);
    Tensor t = layout_tensor(s, d, q, layout);
    int64_t n = tensor_size(&t);
    for (int64_t i = 0; i < n; i++) {
        double z[2] = {0, 0};
        if (q->kind == 'i')
            z[0] = (double)(mix((uint64_t)i + 5 * input) % (uint64_t)q->limit);
        else if (dtype_is_discrete(d))
            z[0] = whole_value(q->kind, d, input, i);
        else
            z[0] = real_value(q->kind, input, i, n);
        if (dtype_is_complex(d))
            z[1] = (q->kind == 'u' ? 0.4 : 1) * real_value('r', input + 5, i, n);
        put(&t, i, DT_COMPLEX128, z);
    }
    return t;
}

/* Zeros, infinities, nan, extremes. Those at the end only where no order of adding or
 * multiplying matters. */
static inline void fill_special(const Tensor *t, size_t input, bool all) {
    static const double real[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  2.0,
                                  -(double)INFINITY,
                                  (double)INFINITY,
                                  (double)NAN,
                                  1e-310,
                                  -1e-310,
                                  1e300};
    uint64_t n = all ? 12 : 9, m = all ? 9 : 7;
    static const int64_t whole[] = {0,    1,     -1,        2,        127,
                                    -128, 65535, INT64_MIN, INT64_MAX};
    for (int64_t i = 0; i < tensor_size(t); i++) {
        uint64_t h = mix((uint64_t)i * 13 + input);
        double z[2] = {real[h % n], real[(h >> 8) % n]};
        if (dtype_is_inexact(t->dtype))
            put(t, i, DT_COMPLEX128, z);
        else
            put(t, i, DT_INT64, &whole[h % m]);
    }
}

/* Small enough for a matrix of its elements. */
static inline bool is_small(const Sample *row) {
    Spec spec[INPUTS];
    size_t n = read_specs(row->in, spec);
    int64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t each = 1;
        for (int k = 0; k < spec[i].ndim; k++)
            each *= spec[i].shape[k];
        all += each;
    }
    return all <= 100;
}

/* ---- one instance ---- */
typedef struct Case {
    const Sample *row;
    Session *s;
    Graph *g;
    Builder b;
    DType dtype, mixed; /* of the inputs; of the second if not DT_NONE */
    bool named;         /* sizes that the types do not tell have names */
    bool through;       /* the call gets 1 * input, which it may overwrite */
    size_t nin;
    Spec spec[INPUTS];
    Var in[INPUTS], out;
    Tensor t[INPUTS];
} Case;

static inline Dim size_name(Session *s, int64_t n) {
    char text[24];
    snprintf(text, sizeof text, "n%lld", (long long)n);
    return DIM_NAMED(sym(s, text));
}

/* Is n what the type says of a size? */
static inline bool dim_holds(Session *s, Dim d, int64_t n) {
    return dim_is_named(d) ? d == size_name(s, n) : !dim_is_known(d) || d == n;
}

static inline DType case_dtype(const Case *c, size_t i) {
    return spec_dtype(&c->spec[i], i == 1 && c->mixed != DT_NONE ? c->mixed : c->dtype);
}

/* Builds the call; false: it does not type (one error is in the session). `known`: the
 * types tell the sizes, else only those of size 1. */
static inline bool case_build(Case *c, bool known) {
    Bind bind[INPUTS];
    bool ok = true;
    c->g = graph_new(c->s);
    c->b = builder(c->g, true);
    for (size_t i = 0; i < c->nin; i++) {
        Dim dim[MAX_NDIM];
        const Spec *q = &c->spec[i];
        for (int k = 0; k < q->ndim; k++)
            dim[k] = known || q->shape[k] == 1 ? q->shape[k]
                     : c->named                ? size_name(c->s, q->shape[k])
                                               : DIM_UNKNOWN;
        Sym name = sym(c->s, (const char *[]){"a", "b", "c"}[i]);
        const Type *type = type_tensor(c->s, case_dtype(c, i), q->ndim, dim);
        c->in[i] = graph_input(c->g, name, type);
        Var one = c->through ? const_number(&c->b, type->dtype, 1) : VAR_NONE;
        bind[i] = (Bind){name, c->through ? op_call2(&c->b, "multiply", one, c->in[i])
                                          : c->in[i]};
    }
    Env env = {.n = c->nin, .bind = bind};
    c->out = template_build(&c->b, c->row->text, &env, &ok);
    return ok && c->out != VAR_NONE;
}

static inline void case_tensors(Case *c, int layout) {
    for (size_t i = 0; i < c->nin; i++)
        c->t[i] = make_tensor(c->s, &c->spec[i], i, case_dtype(c, i), layout);
}

static inline Case case_of(Session *s, const Sample *row, DType d) {
    Case c = {.row = row, .s = s, .dtype = d, .mixed = DT_NONE};
    c.nin = read_specs(row->in, c.spec);
    return c;
}

static inline void case_close(Case *c) {
    for (size_t i = 0; i < c->nin; i++)
        if (c->t[i].buf) tensor_unref(&c->t[i]);
    graph_free(c->g);
    diag_clear(c->s);
}

/* A plan with its machine, set to the case's tensors. */
typedef struct Job {
    Plan *plan;
    Machine *m;
} Job;

static inline bool job_open(Job *j, const Case *c, size_t n, const Var *want,
                            bool keep) {
    j->m = NULL;
    j->plan = plan_new(
        c->g, &(PlanOptions){.nwant = n, .want = want, .keep_all = keep, .threads = 1});
    if (!j->plan) return false;
    j->m = vm_new(j->plan);
    return true;
}

static inline bool job_run(const Job *j, const Case *c) {
    for (size_t i = 0; i < c->nin; i++) {
        Value v = {.kind = TYPE_TENSOR, .t = c->t[i]};
        if (!vm_set_input(j->m, i, &v)) return false;
    }
    return vm_run(j->m);
}

static inline void job_close(Job *j) {
    vm_free(j->m);
    plan_free(j->plan);
}

/* The first error's code, for messages. */
static inline const char *why(Session *s) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no diagnostic";
}

static inline const char *shown(Session *s, const Tensor *t) {
    Str b = STR(s);
    tensor_text(s, t, -1, &b);
    const char *text = arena_str(session_arena(s), str_text(&b), b.n);
    str_free(&b);
    return text;
}

#endif
