/* Values: reference-counted buffers, strided tensors and the contents of other types.
 * Shapes in elements, strides in bytes (as in NumPy), row-major if "contiguous". A
 * tensor's elements are host-endian and aligned to their dtype; buffers allocated here
 * are aligned to 64 bytes. */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include "type/type.h"

#include <stdatomic.h>

/* Reference-counted memory. The count is atomic, so threads may share buffers; only the
 * owner may write. */
typedef struct Buffer {
    atomic_uint refs;
    void *data;
    size_t size;
    void (*release)(struct Buffer *b); /* frees data and b */
    void *ctx;
    Session *s; /* the session that accounts for it; NULL if none does */
} Buffer;
/* NULL: E_MEM, diagnosed with the size (the limit is options.max_memory). Uses huge
 * pages from 4 MiB on. Not cleared. */
Buffer *buffer_new(Session *s, size_t size);
/* Would so many bytes beside the arrays exceed the limit? False: they would, diagnosed.
 * Nothing is counted. */
bool buffer_fits(Session *s, size_t size);
Buffer *buffer_wrap(Session *s, void *data, size_t size, void (*release)(Buffer *),
                    void *ctx);
Buffer *buffer_ref(Buffer *b); /* NULL is fine */
void buffer_unref(Buffer *b);  /* NULL is fine */
/* Accounts for bytes outside of buffers: replaces `was` by `now`. Never fails. */
void buffer_count_extra(Session *s, uint64_t was, uint64_t now);
uint64_t buffer_bytes_used(Session *s); /* bytes in live buffers, and extra ones */
uint64_t buffer_bytes_peak(Session *s); /* since buffer_reset_peak */
void buffer_reset_peak(Session *s);

/* A strided view of a buffer. Copying the struct doesn't take a reference: use
 * tensor_copy_view. */
typedef struct Tensor {
    DType dtype;
    int ndim;
    void *data;  /* the element at index 0, 0, ... */
    Buffer *buf; /* keeps data alive; NULL: borrowed memory or no value */
    int64_t shape[MAX_NDIM];
    int64_t stride[MAX_NDIM];
} Tensor;

/* Contiguous and uninitialised. False: E_MEM, diagnosed. Zero-size tensors get a valid
 * pointer. */
bool tensor_new(Session *s, DType d, int ndim, const int64_t *shape, Tensor *out);
bool tensor_zeros(Session *s, DType d, int ndim, const int64_t *shape, Tensor *out);
/* Makes dst another reference; dst must be empty. */
void tensor_copy_view(Tensor *dst, const Tensor *src);
void tensor_unref(Tensor *t);         /* drops the reference, clears the struct */
int64_t tensor_size(const Tensor *t); /* elements */
size_t tensor_bytes(const Tensor *t); /* elements * itemsize */
/* Row-major, ignoring dims of size 1; true for zero-size tensors. */
bool tensor_is_contiguous(const Tensor *t);
bool tensor_clone(Session *s, const Tensor *src, Tensor *out); /* contiguous copy */
bool tensor_same_shape(const Tensor *a, const Tensor *b);
/* Compares byte ranges: conservative. */
bool tensor_may_share_memory(const Tensor *a, const Tensor *b);
/* dst[...] = src[...], converted element by element; src must broadcast to dst's shape
 * and not alias dst. Converts like NumPy's astype: float->int truncates, wraps;
 * complex->real drops the imaginary part. */
void tensor_assign(Tensor *dst, const Tensor *src);
bool tensor_cast(Session *s, const Tensor *src, DType d, Tensor *out); /* contiguous */
/* One element as a number, and back. Index is a flat row-major position. */
double tensor_f64(const Tensor *t, int64_t i);
int64_t tensor_i64(const Tensor *t, int64_t i);
/* The same for an index or a bound: a uint64 that int64 can't hold is INT64_MAX, beyond
 * every size, and not an index from the end. */
int64_t tensor_index(const Tensor *t, int64_t i);
void tensor_c128(const Tensor *t, int64_t i, double part[2]); /* real, imaginary */
bool tensor_is_true(const Tensor *t); /* of one element: is it another than 0? */
bool tensor_scalar(Session *s, DType d, double re, double im, Tensor *out); /* 0-d */
bool tensor_scalar_int(Session *s, DType d, int64_t v, Tensor *out);
void tensor_cast_elements(DType to, void *dst, DType from, const void *src, size_t n,
                          ptrdiff_t dst_step, ptrdiff_t src_step); /* steps in bytes */
/* Copies n elements of `size` bytes, with steps in bytes; both sides may be
 * unaligned. */
void tensor_copy_elements(void *dst, ptrdiff_t dst_step, const void *src,
                          ptrdiff_t src_step, size_t n, size_t size);
/* dst[r][c] = src[c][r] for elements of `size` bytes (1, 2, 4, 8, 16); dst's rows and
 * src's columns are packed and lie the given bytes apart. */
typedef struct Transposition {
    void *dst;
    ptrdiff_t dst_row;
    const void *src;
    ptrdiff_t src_column;
    size_t rows, columns, size;
} Transposition;
void transpose_in_cache(const Transposition *t); /* for data that fits in the caches */
/* For any number, by tiles; stream: writes dst past the caches. */
void transpose_by_tiles(const Transposition *t, bool stream);
/* Copies n bytes that don't overlap; faster than memcpy for rows that begin anywhere.
 */
void value_copy_bytes(void *dst, const void *src, size_t n);
/* memcpy past the caches; call value_stream_end() before others may read the data. */
void value_stream_bytes(void *dst, const void *src, size_t n);
void value_stream_end(void);

/* Strided walks: merges dims of equal layout over up to ITER_MAX operands and returns
 * inner runs. */
enum { ITER_MAX = 34 };
typedef struct Iter {
    int nop, ndim;
    int64_t shape[MAX_NDIM];
    int64_t stride[ITER_MAX][MAX_NDIM];
    char *ptr[ITER_MAX];
    int64_t index[MAX_NDIM];
    int64_t inner;          /* elements of one run */
    int64_t step[ITER_MAX]; /* bytes between a run's elements, 0 for broadcast */
    bool done;
} Iter;
/* Broadcasts the operands to shape, which the caller has checked. */
void iter_init(Iter *it, int ndim, const int64_t *shape, int nop,
               const Tensor *const *op);
void iter_next(Iter *it);

/* The contents of a variable of any type. */
typedef struct Value {
    TypeKind kind; /* TYPE_NONE with obj == NULL: no value yet, or None */
    Tensor t;      /* tensor; random: uint64[4] (rng.h) */
    void *obj;     /* the other kinds: owned, see value/object.h */
} Value;
void value_copy_view(Value *dst, const Value *src);
void value_unref(Value *v);

/* Equality: shape, dtype and elements, nan equal to nan; -0 equals 0. */
bool tensor_equal(const Tensor *a, const Tensor *b);
/* Bit for bit, as constants merge (0.0 and -0.0 differ, all nans of a dtype are
 * equal). */
bool tensor_identical(const Tensor *a, const Tensor *b);
uint64_t tensor_hash(const Tensor *t); /* consistent with tensor_identical */
/* Shape and dtype must be equal; integers and booleans must be equal; others need |a-b|
 * <= atol + rtol*|b| with the tolerances of the dtype (the Type contract's
 * values_eq_approx; figures in approx.c); negative rtol/atol mean these defaults.
 * `where`, if not NULL, gets the flat index of the worst mismatch, -1 if shape or dtype
 * differ. */
typedef struct Approx {
    double rtol, atol;
    int sloppy; /* 0, 1, 2 */
    bool allow_remove_inf, allow_remove_nan;
} Approx;
#define APPROX_DEFAULT ((Approx){.rtol = -1, .atol = -1})
bool tensor_approx(const Tensor *a, const Tensor *b, Approx how, int64_t *where);

/* The tolerances for this dtype; 0 and 0 for discrete ones. */
void tensor_tolerance(DType d, Approx how, double *rtol, double *atol);

typedef struct Filter {
    bool strict;        /* no conversion at all */
    int allow_downcast; /* 1 yes, 0 no, -1 unset */
    bool finite;        /* also reject nan and inf (DebugMode) */
} Filter;
#define FILTER_DEFAULT ((Filter){.allow_downcast = -1})
/* What takes a value: how strict it is, and for errors what it is called and where they
 * point. */
typedef struct Receiver {
    Filter how;
    const char *what;
    Span at;
} Receiver;
/* The type's filter, with its order of checks. Borrows v; out is a new reference (or a
 * cast copy). False: one diagnostic. */
bool tensor_filter(Session *s, const Type *t, const Tensor *v, const Receiver *to,
                   Tensor *out);
/* Only the checks: would the filter accept it? */
bool tensor_filter_check(Session *s, const Type *t, const Tensor *v,
                         const Receiver *to);

/* A tensor as text of the language: nested lists, shortest numbers, never abridged:
 * "[[1.0, 2.0], [3.0, nan]]". Complex as "(1.0+2.0j)". `indent` < 0: one line; else a
 * new line for each row, and `indent` is the column of the first bracket. Zero-size
 * arrays that brackets can't show are "zeros((0, 3), dtype='float64')". */
void tensor_text(Session *s, const Tensor *t, int indent, Str *out);
void tensor_element_text(Session *s, DType d, const void *p, Str *out);
/* "(2, 3)", "(3,)", "()" */
void shape_text(Session *s, int ndim, const int64_t *shape, Str *out);

#endif
