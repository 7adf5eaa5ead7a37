/* Guards: conditions on the bindings of a rule's names, checked once all names are
 * bound. The head of lib/rewrite/rules/canonicalize.rules documents them for authors of
 * rules. */
#include "rewrite/rewrite_impl.h"

#include <math.h>
#include <string.h>

enum { SIGN_DEPTH = 6, SMALL_CONST = 4096 };

typedef bool Test1(Rewriter *r, Var x);
typedef bool Test2(Rewriter *r, Var x, Var y);

static DType tensor_dtype_of(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    return t->kind == TYPE_TENSOR ? t->dtype : DT_NONE;
}

/* ---- kinds ---- */

static bool is_float_tensor(Rewriter *r, Var x) {
    return tensor_dtype_of(r, x) != DT_NONE && dtype_is_float(tensor_dtype_of(r, x));
}
static bool is_real_tensor(Rewriter *r, Var x) {
    DType d = tensor_dtype_of(r, x);
    return d != DT_NONE && !dtype_is_complex(d) && d != DT_BOOL;
}
static bool is_integer(Rewriter *r, Var x) {
    return tensor_dtype_of(r, x) != DT_NONE && dtype_is_integer(tensor_dtype_of(r, x));
}
static bool is_discrete(Rewriter *r, Var x) {
    return tensor_dtype_of(r, x) != DT_NONE && dtype_is_discrete(tensor_dtype_of(r, x));
}
static bool is_signed(Rewriter *r, Var x) {
    DType d = tensor_dtype_of(r, x);
    return d != DT_NONE && dtype_kind(d) >= K_INT;
}
/* sum and prod of narrow integers and bools have a wider dtype. */
static bool sum_keeps_dtype(Rewriter *r, Var x) {
    DType d = tensor_dtype_of(r, x);
    return d != DT_NONE && (dtype_is_inexact(d) || d == DT_INT64 || d == DT_UINT64);
}
static bool is_complex(Rewriter *r, Var x) {
    return tensor_dtype_of(r, x) != DT_NONE && dtype_is_complex(tensor_dtype_of(r, x));
}
static bool is_bool(Rewriter *r, Var x) {
    return tensor_dtype_of(r, x) == DT_BOOL;
}

/* ---- shapes and uses ---- */

static bool is_tensor_const(Rewriter *r, Var x) {
    return var_const(r->g, x) != NULL;
}
static bool is_scalar(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    return t->kind == TYPE_TENSOR &&
           (t->ndim == 0 || (is_tensor_const(r, x) && type_size(t) == 1));
}
static bool is_matrix(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    return t->kind == TYPE_TENSOR && t->ndim == 2;
}
static bool is_vector(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    return t->kind == TYPE_TENSOR && t->ndim == 1;
}
static bool is_static(Rewriter *r, Var x) {
    return type_size(var_type(r->g, x)) >= 0;
}
static bool is_known_equal(Dim a, Dim b) {
    return a == b && a != DIM_UNKNOWN;
}
static bool has_same_known_shape(Rewriter *r, Var x, Var y) {
    const Type *a = var_type(r->g, x), *b = var_type(r->g, y);
    if (a->kind != TYPE_TENSOR || b->kind != TYPE_TENSOR || a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (!is_known_equal(a->dim[i], b->dim[i])) return false;
    return true;
}
static bool is_square(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    return t->kind == TYPE_TENSOR && t->ndim == 2 &&
           is_known_equal(t->dim[0], t->dim[1]);
}
/* Two stacks of matrices that are multiplied one by one. */
static bool are_batched(Rewriter *r, Var x, Var y) {
    const Type *a = var_type(r->g, x), *b = var_type(r->g, y);
    return a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR && a->ndim == 3 &&
           b->ndim == 3 && is_known_equal(a->dim[0], b->dim[0]) &&
           is_known_equal(a->dim[2], b->dim[1]);
}
/* The product x @ y has no sizes to check. */
static bool do_fit(Rewriter *r, Var x, Var y) {
    const Type *a = var_type(r->g, x), *b = var_type(r->g, y);
    return a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR && a->ndim >= 1 &&
           b->ndim >= 1 &&
           is_known_equal(a->dim[a->ndim - 1], b->dim[b->ndim > 1 ? b->ndim - 2 : 0]);
}
static bool has_same_dtype(Rewriter *r, Var x, Var y) {
    return tensor_dtype_of(r, x) == tensor_dtype_of(r, y);
}

static bool has_same_rank(Rewriter *r, Var x, Var y) {
    return var_type(r->g, x)->ndim == var_type(r->g, y)->ndim;
}

/* ---- elements of constants ---- */

/* Does `ok` hold for every element of a real constant? Large constants count as no. */
static bool holds_for_all_elements(Rewriter *r, Var x, bool (*ok)(double)) {
    const Tensor *t = var_const(r->g, x);
    if (!t || dtype_is_complex(t->dtype) || tensor_size(t) > SMALL_CONST) return false;
    for (int64_t i = 0; i < tensor_size(t); i++)
        if (!ok(tensor_f64(t, i))) return false;
    return true;
}

static bool above_zero(double v) {
    return v > 0;
}
static bool not_below_zero(double v) {
    return v >= 0;
}
static bool is_number_not_zero(double v) {
    return v == v && v != 0;
}
static bool is_finite(double v) {
    return isfinite(v);
}
/* As far as every integer has a double of its own. */
static bool is_power_of_two(double v) {
    int exponent;
    return v >= 1 && v < 0x1p53 && frexp(v, &exponent) == 0.5;
}

/* ---- signs, by op ---- */

/* Ops that are never negative. A nan needs no guard: both sides stay nan. */
static const char *const nonnegative_ops[] = {
    "abs",  "square",  "sqrt",     "root_of_squares", "exp",
    "exp2", "sigmoid", "softplus", "softmax",         "erfc",
    "cosh", "arccos",  NULL};

static bool is_op_named_in(const Op *op, const char *const *names) {
    for (size_t i = 0; names[i]; i++)
        if (strcmp(op->name, names[i]) == 0) return true;
    return false;
}

static bool is_nonnegative_at(Rewriter *r, Var x, int depth);

static bool inputs_nonnegative(Rewriter *r, const Apply *a, int depth) {
    for (size_t i = 0; i < a->nin; i++)
        if (!is_nonnegative_at(r, rewriter_resolve(r, r->g->in[a->in + i]), depth + 1))
            return false;
    return true;
}

static bool is_nonnegative_op(Rewriter *r, const Apply *a, int depth) {
    static const char *const keeps[] = {"add", "multiply",  "true_divide", "minimum",
                                        "sum", "mean",      "prod",        "max",
                                        "min", "transpose", "expand_dims", NULL};
    DType d = var_type(r->g, a->out)->dtype;
    if (dtype_is_complex(d)) return false;
    /* Integers may wrap, so only ops that can't are accepted. */
    if (dtype_is_integer(d) && dtype_kind(d) != K_UINT)
        return op_is(r->s, a->op, OP_MINIMUM) && inputs_nonnegative(r, a, depth);
    if (is_op_named_in(a->op, nonnegative_ops)) return true;
    return is_op_named_in(a->op, keeps) && inputs_nonnegative(r, a, depth);
}

static bool is_nonnegative_at(Rewriter *r, Var x, int depth) {
    DType d = tensor_dtype_of(r, x);
    if (d == DT_NONE || depth > SIGN_DEPTH) return false;
    if (d == DT_BOOL || dtype_kind(d) == K_UINT || var_leaf(r->g, x) == LEAF_DIM)
        return true;
    if (is_tensor_const(r, x)) return holds_for_all_elements(r, x, not_below_zero);
    ApplyId a = var_owner(r->g, x);
    return a != APPLY_NONE && r->g->apply[a].nin <= 2 &&
           is_nonnegative_op(r, &r->g->apply[a], depth);
}

bool rewriter_is_nonnegative(Rewriter *r, Var x) {
    return is_nonnegative_at(r, x, 0);
}
/* exp underflows to 0, so only constants are certain to be positive. */
bool rewriter_is_positive(Rewriter *r, Var x) {
    return holds_for_all_elements(r, x, above_zero);
}
static bool is_nonzero(Rewriter *r, Var x) {
    return holds_for_all_elements(r, x, is_number_not_zero);
}
static bool is_finite_const(Rewriter *r, Var x) {
    return is_discrete(r, x) || holds_for_all_elements(r, x, is_finite);
}

/* ---- factors of sums that may have no elements ---- */

/* Are the sums over x, or over its last axis, surely of one element at least? */
static bool has_elements(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    for (int k = 0; k < t->ndim; k++)
        if (!dim_is_known(t->dim[k]) || t->dim[k] == 0) return false;
    return true;
}
static bool has_columns(Rewriter *r, Var x) {
    const Type *t = var_type(r->g, x);
    Dim d = t->ndim ? t->dim[t->ndim - 1] : 1;
    return dim_is_known(d) && d > 0;
}
/* A sum of no elements is 0; nan * 0, inf * 0 and 0 / 0 aren't. */
static bool sum_scales(Rewriter *r, Var c, Var x) {
    return is_finite_const(r, c) || has_elements(r, x);
}
static bool sum_divides(Rewriter *r, Var x, Var c) {
    return is_nonzero(r, c) || has_elements(r, x);
}
static bool product_scales(Rewriter *r, Var c, Var a) {
    return is_finite_const(r, c) || has_columns(r, a);
}
static bool product_divides(Rewriter *r, Var a, Var c) {
    return is_nonzero(r, c) || has_columns(r, a);
}

/* ---- integers ---- */

/* A number of the main graph may be a size: there is nothing to gain, and typing rules
 * know a quotient. */
static bool is_divided_by_bits(Rewriter *r, Var x, Var c) {
    return is_integer(r, x) && holds_for_all_elements(r, c, is_power_of_two) &&
           (var_type(r->g, x)->ndim > 0 || r->g != r->g->main);
}

/* ---- pairs of constants that may be combined ---- */

static bool pair_values(Rewriter *r, Var x, Var y, double *a, double *b) {
    if (!rewriter_uniform(r, x) || !rewriter_uniform(r, y) || is_complex(r, x) ||
        is_complex(r, y))
        return false;
    *a = tensor_f64(var_const(r->g, x), 0);
    *b = tensor_f64(var_const(r->g, y), 0);
    return true;
}

/* Neither factor cancels the other, so a*(b*x) and (a*b)*x overflow alike. */
static bool factors_gather(Rewriter *r, Var x, Var y) {
    double a, b;
    if (!pair_values(r, x, y, &a, &b)) return false;
    if (is_discrete(r, x) && is_discrete(r, y)) return true;
    a = fabs(a), b = fabs(b);
    double tiny = 1e-4, huge = 1e4; /* within the range of every float dtype */
    return a >= tiny && b >= tiny && a <= huge && b <= huge &&
           ((a >= 1 && b >= 1) || (a <= 1 && b <= 1));
}

/* The product neither overflows nor loses digits to denormals. */
static bool product_is_safe(Rewriter *r, Var x, Var y) {
    double a, b;
    if (!pair_values(r, x, y, &a, &b)) return false;
    a = fabs(a), b = fabs(b);
    double huge = tensor_dtype_of(r, x) == DT_FLOAT16 ? 100 : 1e12, tiny = 1 / huge;
    return a >= tiny && b >= tiny && a <= huge && b <= huge;
}

/* a*x and b*x can't cancel. */
static bool has_same_sign(Rewriter *r, Var x, Var y) {
    double a, b;
    if (!pair_values(r, x, y, &a, &b)) return false;
    if (is_discrete(r, x) && is_discrete(r, y)) return true;
    return isfinite(a) && isfinite(b) && a * b > 0 && fabs(a) <= 1e4 && fabs(b) <= 1e4;
}

/* ---- structure of matrices ---- */

static bool is_triangular(Rewriter *r, Var x) {
    return rewriter_has_facts(r, x, FACT_LOWER) || rewriter_has_facts(r, x, FACT_UPPER);
}

/* A product of a matrix and its transpose takes half the work. */
static bool are_no_transposes(Rewriter *r, Var x, Var y) {
    Var pair[2] = {x, y};
    for (size_t i = 0; i < 2; i++)
        if (rewriter_known_owner(r, pair[i], OP_TRANSPOSE) &&
            rewriter_input(r, var_owner(r->g, pair[i]), 0) == pair[!i])
            return false;
    return true;
}

/* Does anything but a result need what a sum makes of c? */
static bool is_result(Rewriter *r, Var x) {
    if (r->g->outputs.n + r->g->updates.n == 0)
        return true; /* a proof has no graph around */
    return rewriter_only_result(r, x);
}
static bool has_update(const Graph *g, Var x) {
    return var_leaf(g, x) == LEAF_SHARED && graph_update(g, x) != VAR_NONE;
}
static bool may_accumulate(Rewriter *r, Var sum, Var c) {
    if (r->searching) return false;
    bool temporary = var_owner(r->g, c) != APPLY_NONE && rewriter_one_client(r, c);
    return temporary || has_update(r->g, c) || is_result(r, sum);
}

static bool vars_differ(Rewriter *r, Var x, Var y) {
    (void)r;
    return x != y;
}

/* ---- the table ---- */

typedef struct GuardTest {
    const char *name;
    Test1 *one;
    Test2 *two;
    Facts facts;  /* of a matrix; neither function then */
    bool by_type; /* `one` looks at the type only, and whether x is constant */
} GuardTest;
static const GuardTest tests[] = {
    {"const", is_tensor_const, NULL, 0, true},
    {"scalar", is_scalar, NULL, 0, true},
    {"vector", is_vector, NULL, 0, true},
    {"matrix", is_matrix, NULL, 0, true},
    {"square", is_square, NULL, 0, true},
    {"static_shape", is_static, NULL, 0, true},
    {"single_use", rewriter_single_use, NULL, 0, false},
    {"float", is_float_tensor, NULL, 0, true},
    {"real", is_real_tensor, NULL, 0, true},
    {"integer", is_integer, NULL, 0, true},
    {"discrete", is_discrete, NULL, 0, true},
    {"complex", is_complex, NULL, 0, true},
    {"signed", is_signed, NULL, 0, true},
    {"sum_keeps", sum_keeps_dtype, NULL, 0, true},
    {"bool", is_bool, NULL, 0, true},
    {"positive", rewriter_is_positive, NULL, 0, false},
    {"nonnegative", rewriter_is_nonnegative, NULL, 0, false},
    {"nonzero", is_nonzero, NULL, 0, false},
    {"finite", is_finite_const, NULL, 0, false},
    {"lower", NULL, NULL, FACT_LOWER, false},
    {"upper", NULL, NULL, FACT_UPPER, false},
    {"triangular", is_triangular, NULL, 0, false},
    {"diagonal_matrix", NULL, NULL, FACT_DIAGONAL | FACT_SQUARE, false},
    {"identity_matrix", NULL, NULL, FACT_IDENTITY, false},
    {"symmetric", NULL, NULL, FACT_SYMMETRIC, false},
    {"hermitian", NULL, NULL, FACT_HERMITIAN, false},
    {"orthogonal", NULL, NULL, FACT_ORTHOGONAL, false},
    {"orthonormal", NULL, NULL, FACT_COLUMNS, false},
    {"positive_diagonal", NULL, NULL, FACT_POSITIVE, false},
    {"posdef", NULL, NULL, FACT_POSDEF, false},
    {"semidefinite", NULL, NULL, FACT_SEMIDEFINITE, false},
    {"accumulates", NULL, may_accumulate, 0, false},
    {"no_transposes", NULL, are_no_transposes, 0, false},
    {"same_shape", NULL, has_same_known_shape, 0, false},
    {"same_dtype", NULL, has_same_dtype, 0, false},
    {"same_rank", NULL, has_same_rank, 0, false},
    {"batched", NULL, are_batched, 0, false},
    {"fits", NULL, do_fit, 0, false},
    {"differs", NULL, vars_differ, 0, false},
    {"sum_scales", NULL, sum_scales, 0, false},
    {"sum_divides", NULL, sum_divides, 0, false},
    {"product_scales", NULL, product_scales, 0, false},
    {"product_divides", NULL, product_divides, 0, false},
    {"gathers", NULL, factors_gather, 0, false},
    {"multiplies", NULL, product_is_safe, 0, false},
    {"same_sign", NULL, has_same_sign, 0, false},
    {"shifts", NULL, is_divided_by_bits, 0, false},
};
enum { NTESTS = sizeof tests / sizeof *tests };
_Static_assert(NTESTS <= 64, "a GuardSet has a bit for each test");
const char *guard_name(size_t i) {
    return i < NTESTS ? tests[i].name : NULL;
}

int guard_find(Session *s, Sym name) {
    const char *word = sym_text(s, name);
    for (int i = 0; i < NTESTS; i++)
        if (tests[i].name[0] == word[0] && strcmp(tests[i].name, word) == 0) return i;
    return -1;
}

size_t guard_arity(int test) {
    return tests[test].two ? 2 : 1;
}

bool guard_holds_of(Rewriter *r, int test, Var x) {
    const GuardTest *t = &tests[test];
    return t->facts ? rewriter_has_facts(r, x, t->facts) : t->one(r, x);
}

GuardSet guard_by_type(int test) {
    return tests[test].by_type ? UINT64_C(1) << test : 0;
}

bool guard_all_hold(Rewriter *r, GuardSet set, Var x) {
    for (; set; set &= set - 1)
        if (!tests[__builtin_ctzll(set)].one(r, x)) return false;
    return true;
}

bool guard_holds(Rewriter *r, const Guard *g, const Match *m, Var part) {
    const GuardTest *t = &tests[g->test];
    Var x = part != VAR_NONE ? part : m->var[g->arg[0]->hole];
    if (t->two) return t->two(r, x, m->var[g->arg[1]->hole]);
    return guard_holds_of(r, g->test, x);
}
