// clang-format off
/* The Type contract: what a variable may hold, decided without values. Types are
 * interned in the session and live as long: equal types are one pointer. Which member or
 * function carries which clause of the contract:
 *
 *   __eq__, __hash__           equality of pointers; kind, dtype, dims, element, reason and
 *                              class are compared when a type is interned
 *   TensorType(dtype, shape)   type_tensor; a dim is known, named or unknown
 *   in_same_class              type_in_same_class
 *   is_super                   type_is_super
 *   clone                      type_clone
 *   the printed form           type_text; type_parse reads it
 *   make_variable, __call__    type_make_variable          (op/convert.h)
 *   filter_variable            type_filter_variable        (op/convert.h)
 *   filter, is_valid_value, values_eq, values_eq_approx, may_share_memory,
 *   get_shape_info, get_size   of the type's class          (value/class.h)
 *   transfer                   hooks of the session         (value/transfer.h)
 *
 * tests/unit/contract.def goes through the clauses one by one. */
// clang-format on
#ifndef TYPE_TYPE_H
#define TYPE_TYPE_H

#include "base/base.h"
#include "base/num.h"

typedef enum DType {
#define DTYPE(NAME, name, ctype, kind, size, npy) DT_##NAME,
#include "type/dtype.def"
#undef DTYPE
    DT_N,
    DT_NONE = -1
} DType;
/* In order of promotion: a weak literal takes the tensor's dtype unless its own kind is
 * higher. */
typedef enum DKind { K_BOOL, K_UINT, K_INT, K_FLOAT, K_COMPLEX } DKind;

const char *dtype_name(DType d);           /* "float32" */
DType dtype_find(const char *p, size_t n); /* DT_NONE if unknown; not "floatX" */
size_t dtype_size(DType d);                /* bytes */
DKind dtype_kind(DType d);
DType dtype_real(DType d); /* float32 for complex64; else itself */
static inline bool dtype_is_float(DType d) {
    return dtype_kind(d) == K_FLOAT;
}
static inline bool dtype_is_complex(DType d) {
    return dtype_kind(d) == K_COMPLEX;
}
static inline bool dtype_is_inexact(DType d) {
    return dtype_kind(d) >= K_FLOAT;
}
static inline bool dtype_is_discrete(DType d) {
    return dtype_kind(d) <= K_INT;
}
static inline bool dtype_is_integer(DType d) {
    return dtype_kind(d) == K_UINT || dtype_kind(d) == K_INT;
}
/* May a sparse matrix have this dtype? All except bool and float16. */
static inline bool dtype_is_sparse(DType d) {
    return d != DT_BOOL && d != DT_FLOAT16;
}
/* The kind as weak literals have it, for which signedness doesn't matter. */
static inline DKind dkind_weak(DKind k) {
    return k == K_UINT ? K_INT : k;
}
FloatWidth dtype_float_width(DType d); /* of a float, or of a complex's parts */
DType dtype_promote(DType a, DType b); /* NumPy 2's table: int64 + uint64 is float64 */
/* The dtype of an int or bool where the result must be inexact (true division, mean,
 * exp): floatX. */
DType dtype_inexact(DType d, DType floatX);
/* The dtype when a tensor of dtype d meets a weak literal of kind k: d unless k is
 * higher. */
DType dtype_weak(DType d, DKind k, DType floatX);
/* Smallest and largest value of an integer dtype (bool: 0, 1). */
void dtype_int_range(DType d, int64_t *lo, uint64_t *hi);

enum { MAX_NDIM = 32 };
/* May a tensor have n dims? False: diagnosed; `who` (may be NULL) names the op whose
 * result would have them. */
#define TOO_MANY_DIMS "a tensor has at most %d dims"
bool type_ndim_fits(Session *s, Span at, const char *who, int64_t n);

/* A static dim: known (>= 0), DIM_UNKNOWN, or named (DIM_NAMED(sym)). Equal names mean
 * equal dims within a graph. */
typedef int64_t Dim;
#define DIM_UNKNOWN  ((Dim)-1)
#define DIM_NAMED(y) ((Dim)(-2 - (Dim)(y)))
static inline bool dim_is_known(Dim d) {
    return d >= 0;
}
static inline bool dim_is_named(Dim d) {
    return d <= -2;
}
static inline Sym dim_sym(Dim d) {
    return (Sym)(-2 - d);
}
/* The sum of two known dims; false if it overflows. */
static inline bool dim_add(Dim a, Dim b, Dim *sum) {
    return !__builtin_add_overflow(a, b, sum);
}
/* Might they be equal at run time? False only for two different known dims. */
static inline bool dim_may_equal(Dim a, Dim b) {
    return a == b || a < 0 || b < 0;
}
/* Unifies two dims that must be equal: prefers known, then named, then unknown. */
Dim dim_meet(Dim a, Dim b);

typedef enum TypeKind {
    TYPE_TENSOR, /* dtype, shape */
    TYPE_SPARSE, /* format, dtype, shape of two dims */
    TYPE_RANDOM, /* state of a counter-based Philox stream */
    TYPE_LIST,   /* elem */
    TYPE_SLICE,
    TYPE_NONE,
    TYPE_NULL,         /* why: an undefined derivative; never holds a value */
    TYPE_DISCONNECTED, /* no dependence; never holds a value */
    TYPE_EMPTY,        /* {}: a result that is a tree without leaves */
    TYPE_PLUGIN        /* a plugin's own: cls */
} TypeKind;

typedef struct TypeClass TypeClass; /* how its values behave: value/class.h */
typedef struct Type {
    TypeKind kind;
    DType dtype;
    int ndim;
    const Dim *dim;
    const struct Type *elem; /* list */
    const char *why;         /* null: reason; sparse: "csr" or "csc"; plugin: name */
    const TypeClass *cls;    /* plugin */
    uint32_t id;             /* of the session, from 0 */
} Type;

/* ndim <= MAX_NDIM */
const Type *type_tensor(Session *s, DType d, int ndim, const Dim *dim);
const Type *type_scalar(Session *s, DType d);    /* 0-d */
const Type *type_simple(Session *s, TypeKind k); /* random, slice, none, disconnected */
const Type *type_null(Session *s, const char *why);
const Type *type_list(Session *s, const Type *elem);
const Type *type_sparse(Session *s, const char *format, DType d, const Dim dim[2]);
/* `name` is its text form; afterwards, type_parse finds it. */
const Type *type_plugin(Session *s, const char *name, const TypeClass *cls);
/* Types from plugins: makes the type `name`, `name(arg, ...)`, whose arguments are
 * quoted texts or integers. NULL: diagnosed. */
typedef struct TypeArg {
    const char *text; /* NULL: it is `number` */
    int64_t number;
} TypeArg;
typedef const Type *TypeMaker(Session *s, void *ctx, size_t n, const TypeArg *arg,
                              Span at);
/* False, not diagnosed: the name is taken. The name must outlive the session. */
bool type_maker_add(Session *s, const char *name, const TypeClass *cls, TypeMaker *make,
                    void *ctx);
/* By index, NULL after the last; sets *name unless it is NULL. */
const TypeClass *type_maker_class(Session *s, size_t i, const char **name);
/* The plugin type `name` without arguments, as in a constant name(2.5). NULL, not
 * diagnosed: there is no such type, or it takes arguments. */
const Type *type_by_name(Session *s, const char *name);
/* With another dtype (DT_NONE: unchanged) and other dims (NULL: unchanged). Only
 * tensors and sparse matrices have these; other types are returned as they are. */
const Type *type_clone(Session *s, const Type *t, DType d, int ndim, const Dim *dim);
const Type *type_with_dtype(Session *s, const Type *t, DType d);
const Type *type_of_row(Session *s, const Type *t); /* a tensor's */
/* The tensor with rows of type t. */
const Type *type_of_rows(Session *s, Dim rows, const Type *t);
enum { TYPE_DEPTH_MAX = 64 };
int type_depth(const Type *t); /* nesting of lists; 0: not a list */

/* Same dtype and same pattern of static dims of length 1. */
bool type_in_same_class(const Type *a, const Type *b);
/* a is at least as general as b: same kind, dtype, rank, and each dim of a unknown,
 * named, or equal to b's. */
bool type_is_super(const Type *a, const Type *b);
/* The type that combines both; NULL if they contradict (kind, dtype, rank, a known
 * dim). Doesn't diagnose. */
const Type *type_meet(Session *s, const Type *a, const Type *b);
/* The narrowest type that is a supertype of both; NULL if there is none (kind, dtype,
 * rank). */
const Type *type_join(Session *s, const Type *a, const Type *b);
/* Elements if all dims are known and the product fits; else -1. */
int64_t type_size(const Type *t);
/* NAN if a dim is open, or it is no tensor. */
double type_known_bytes(const Type *t);

/* "float32[n, 64]", "int64" (0-d), "float64[?]", "random", "null('why')",
 * "sparse('csr', float32[3, ?])". */
void type_text(Session *s, const Type *t, Str *out);
const char *type_str(Session *s, const Type *t); /* interned; for messages */
void dim_text(Session *s, Dim d, Str *out);
/* Reads the same text; also accepts `floatX`. NULL: diagnosed at `at`, which spans the
 * text. */
const Type *type_parse(Session *s, const char *p, size_t n, Span at);

/* Broadcasts shapes, aligned at the right. A missing dim or a static 1 broadcasts;
 * otherwise two different known dims don't fit; an unknown dim against a known one
 * other than 1 becomes the known one (checked at run time, where a 1 that wasn't static
 * never broadcasts). Returns the rank, or -1 if the shapes don't fit (not diagnosed).
 * out may alias a. */
int shape_broadcast(int na, const Dim *a, int nb, const Dim *b, Dim *out);

#endif
