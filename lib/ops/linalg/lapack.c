/* Looks up LAPACK's routines. */
#include "ops/linalg/lapack.h"

#include <stdio.h>

bool lapack_get2(Gufunc *q, int slot, const char *real, const char *other) {
    static const char letters[DT_N] = {[DT_FLOAT32] = 's',
                                       [DT_FLOAT64] = 'd',
                                       [DT_COMPLEX64] = 'c',
                                       [DT_COMPLEX128] = 'z'};
    const Blas *lib = blas_get(q->c->s);
    const char *name = dtype_is_complex(q->dtype) ? other : real;
    char symbol[24];
    if (lib->no_room)
        return call_fail(q->c, E_MEM,
                         "there is no room for OpenBLAS, which needs 200 MB of address "
                         "space for itself (ulimit -v sets the limit)");
    if (!lib->library && lib->no_memory)
        return call_fail(q->c, E_MEM, "there is no memory to open OpenBLAS");
    if (!lib->library)
        return call_fail(
            q->c, E_IO,
            "this needs the LAPACK of OpenBLAS, but libopenblas.so.0 can't be opened");
    snprintf(symbol, sizeof symbol, "%c%s_", letters[q->dtype], name);
    q->fn[slot] = blas_find(lib, symbol);
    return q->fn[slot] ||
           call_fail(q->c, E_IO, "%s: this OpenBLAS has no %s", q->c->op->name, symbol);
}

bool lapack_get(Gufunc *q, int slot, const char *name) {
    return lapack_get2(q, slot, name, name);
}

int lapack_worksize(DType d, const void *work) {
    double z[2] = {0};
    tensor_cast_elements(DT_COMPLEX128, z, d, work, 1, 0, 0);
    return z[0] < 1 ? 1 : z[0] > INT32_MAX / 2 ? INT32_MAX / 2 : (int)z[0] + 1;
}

void lapack_gemm(DType d, BlasFn *fn, const char *ops, int m, int n, int k,
                 const void *a, int lda, const void *b, int ldb, void *c) {
    static const double one[2] = {1, 0}, none[2] = {0, 0};
    static const float one32[2] = {1, 0}, none32[2] = {0, 0};
    bool narrow = dtype_real(d) == DT_FLOAT32;
    int ldc = m ? m : 1;
    if (m == 0 || n == 0) return;
    ((Gemm_ *)fn)(ops, ops + 1, &m, &n, &k, narrow ? (const void *)one32 : one, a, &lda,
                  b, &ldb, narrow ? (const void *)none32 : none, c, &ldc, 1, 1);
}
