# Linear algebra from the shell: likelihoods with gradients, errors of singular matrices.
load common

# A Gaussian process with a squared exponential kernel, by one Cholesky factor.
gaussian_process() {
    cat >gp.yaml <<'END'
thunkline: 1
inputs:
  x: float64[n]
  y: float64[n]
  length: float64
  scale: float64
  noise: float64
let: |
  d = (expand_dims(x, 1) - x) / length
  K = scale ** 2 * exp(-0.5 * d ** 2) + noise ** 2 * eye(n)
  L = cholesky(K)
  alpha = cho_solve(L, y)
  loglik = -0.5 * y @ alpha - sum(log(diagonal(L))) - 0.5 * n * log(2 * pi)
outputs: [loglik]
END
    values='x=[0,0.5,1.2,2,3.1] y=[0.1,0.6,0.9,0.8,-0.1] length=1.1 scale=0.9 noise=0.3'
}

@test "the log marginal likelihood of a Gaussian process and its gradient" {
    gaussian_process
    ok "grun gp.yaml $values >out"
    close out loglik -3.529679115576363 1e-12
    ok "ggrad gp.yaml --wrt length,scale,noise --only | grun $values >out"
    close out d_loglik_d_length 1.0722882780792586 1e-10
    close out d_loglik_d_scale -2.232867434360565 1e-10
    close out d_loglik_d_noise -4.917040454566038 1e-10
    ok "ggrad gp.yaml --wrt length,scale,noise,x,y --check $values"
    ok "ggrad gp.yaml --wrt length --only | ggrad --wrt length,scale,noise --check $values"
}

@test "the same likelihood by solve and slogdet" {
    gaussian_process
    sed -i '/L = /d; /alpha = /d; s/^  loglik = .*/  loglik = -0.5 * y @ solve(K, y) - 0.5 * slogdet(K)[1] - 0.5 * n * log(2 * pi)/' gp.yaml
    ok "grun gp.yaml $values >out"
    close out loglik -3.529679115576363 1e-12
    ok "ggrad gp.yaml --wrt length,scale,noise --check $values"
    ok "ggrad gp.yaml --wrt length,scale,noise --only | grewrite | grun $values >out"
    close out d_loglik_d_noise -4.917040454566038 1e-10
}

# products_agree FOLDER: products of matrices with the libraries of that folder are what they should be.
products_agree() {
    local line want
    while IFS='|' read -r line want; do
        ok "gload --new -i 'n: int64' -e '$line' | LD_LIBRARY_PATH=$1 grun --mode FAST_COMPILE --threads 2 n=64" "out = $want"
    done <<'END'
sum(abs(ones((n, n)) @ eye(n) - 1))|0.0
sum(abs(ones((n, 3 * n)) @ transpose(ones((2 * n, 3 * n))) - 192))|0.0
sum(abs(transpose(eye(n, n + 5) * 2) @ full([n], 3.0) - where(arange(n + 5) < 64, 6.0, 0.0)))|0.0
sum(reshape(arange(4 * n * n) * 1.0, (4, n, n)) @ eye(n))|134209536.0
sum(float32(ones((n, n))) @ float32(ones((n, n))))|262144.0
sum(full([n, n], 1j) @ full([n], 1j))|(-4096.0+0.0j)
sum(complex64(full([n, n], 1j)) @ complex64(eye(n)))|(0.0+4096.0j)
END
}

@test "without OpenBLAS, or with one that lacks routines, products are the same, and what needs LAPACK says so" {
    CC=$(command -v cc || command -v gcc) || skip 'no C compiler'
    mkdir none empty half
    local f
    for f in libopenblas.so.0 libopenblas.so libopenblas.0.dylib libopenblas.dylib; do echo 'no library' >none/$f; done
    echo 'int nothing;' >empty.c
    # no LAPACK, no buffers and no names of kernels
    cat >half.c <<'END'
#include <complex.h>
#define AT(x, ld, t, i, j) ((t) == 112 ? (x)[(j) * (long)(ld) + (i)] : (x)[(i) * (long)(ld) + (j)])
#define ROUTINES(T, A, gemm, gemv) \
    void gemm(int order, int ta, int tb, int m, int n, int k, A alpha, const T *a, int lda, const T *b, int ldb, A beta, T *c, int ldc) { \
        for (int i = 0; i < m; i++) \
            for (int j = 0; j < n; j++) { \
                T s = 0; \
                for (int l = 0; l < k; l++) s += AT(a, lda, ta, i, l) * AT(b, ldb, tb, l, j); \
                c[i * (long)ldc + j] = s; \
            } \
    } \
    void gemv(int order, int t, int rows, int cols, A alpha, const T *a, int lda, const T *x, int step, A beta, T *y, int out) { \
        for (int i = 0; i < (t == 112 ? cols : rows); i++) { \
            T s = 0; \
            for (int l = 0; l < (t == 112 ? rows : cols); l++) s += AT(a, lda, t, i, l) * x[l * (long)step]; \
            y[i * (long)out] = s; \
        } \
    }
ROUTINES(float, float, cblas_sgemm, cblas_sgemv)
ROUTINES(double, double, cblas_dgemm, cblas_dgemv)
ROUTINES(float complex, const void *, cblas_cgemm, cblas_cgemv)
ROUTINES(double complex, const void *, cblas_zgemm, cblas_zgemv)
END
    for f in empty half; do "$CC" -std=c11 -O1 -shared -fPIC -o $f/libopenblas.so.0 $f.c; done
    for f in none empty half; do products_agree $f; done
    gload -i 'a: float64[n, n]' -e 'y = cholesky(a @ a.T + eye(n))' -o c.tlg
    for f in none empty; do
        bad 4 E_IO 'this needs the LAPACK of OpenBLAS, but libopenblas.so.0 can.t be opened' "LD_LIBRARY_PATH=$f grun c.tlg a='ones((64, 64))'"
    done
    bad 4 E_IO 'cholesky: this OpenBLAS has no dpotrf_' "LD_LIBRARY_PATH=half grun c.tlg a='ones((64, 64))'"
}

@test "matrices that can't be factored end with 5, and say why" {
    bad 5 E_SINGULAR 'cholesky: the matrix is not positive definite: its leading minor of order 2' \
        'gload -i "a: float64[2, 2]" -e "cholesky(a)" | grun a=[[1,2],[2,1]]'
    bad 5 E_SINGULAR 'inv: the matrix is singular: pivot 2 is 0' 'gload -i "a: float64[2, 2]" -e "inv(a)" | grun a=[[1,2],[2,4]]'
    bad 5 E_SINGULAR 'solve: the matrix \(matrix 1 of the batch, from 0\) is singular' \
        'gload -i "a: float64[2, 1, 1]" -e "solve(a, [1.0])" | grun a=[[[1]],[[0]]]'
    bad 5 E_SINGULAR 'element 1 of its diagonal is 0' 'gload -i "a: float64[2, 2]" -e "solve_triangular(a, [1.0, 2.0])" | grun a=[[1,2],[0,0]]'
    bad 5 E_NAN 'inf or nan' 'gload -i "a: float64[2, 2]" -e "svdvals(a)" | grun a=[[1,nan],[2,4]]'
    bad 3 E_SHAPE 'cholesky: its last two dims must be equal, but are 2 and 3' 'gload -i "a: float64[2, 3]" -e "cholesky(a)"'
    bad 5 E_RUN_SHAPE 'must be equal, but are 2 and 3' 'gload -i "a: float64[m, n]" -e "det(a)" | grun a=[[1,2,3],[4,5,6]]'
    bad 3 E_SHAPE 'must be equal' 'gload -i "a: float64[2, 2]" -i "b: float64[3]" -e "solve(a, b)"'
    bad 3 E_ARG 'assume_a is' 'gload -i "a: float64[2, 2]" -e "solve(a, a, assume_a=\"symmetric\")"'
}

@test "the gradient of det does not need an inverse" {
    ok 'gload --new -i "a: float64[2, 2]" -e "d = det(a)" | ggrad --only | grun a=[[1,2],[2,4]]' $'d_d_d_a = [[4.0, -2.0],\n           [-2.0, 1.0]]'
    bad 5 E_SINGULAR 'singular' 'gload --new -i "a: float64[2, 2]" -e "d = slogdet(a)[1]" | ggrad --only | grun a=[[1,2],[2,4]]'
}

@test "flops follow the assumption" {
    like 'gload --new -i "a: float64[300, 300]" -i "b: float64[300]" -e "solve(a, b, assume_a=\"pos\")" | gprof --static' '9\.2'
    like 'gload --new -i "a: float64[300, 300]" -i "b: float64[300]" -e "solve(a, b)" | gprof --static' '18\.1'
}

@test "grewrite solves instead of inverting, and keeps logarithms of determinants in range" {
    like 'gload -i "a: float64[3, 3]" -i "b: float64[3]" -e "inv(a) @ b" | grewrite -O yaml' 'solve\(a, b\)'
    like 'gload -i "a: float64[3, 3]" -i "b: float64[2, 3]" -e "b @ inv(a)" | grewrite -O yaml' 'solve\('
    like 'gload -i "a: float64[3, 3]" -e "log(abs(det(a)))" | grewrite -O yaml' 'slogdet\(a\)'
    like 'gload -i "a: float64[3, 3]" -e "det(cholesky(a))" | grewrite -O yaml' 'prod\('
    a='a=[[1e-200,0,0],[0,1e-200,0],[0,0,1e-200]]'
    ok "gload -i 'a: float64[3, 3]' -e 'log(det(a))' | grun $a" 'out = -1381.5510557964274'
    ok "gload -i 'a: float64[3, 3]' -e 'log(det(a))' | grun --mode FAST_COMPILE $a" 'out = -inf'
    ok 'gload -i "a: float64[1, 1]" -e "log(det(a))" | grun a=[[-1]]' 'out = nan'
}

@test "undefined and degenerate derivatives" {
    g='gload --new -i "a: float64[2, 3]" -e "u, s, vh = svd(a, full_matrices=True)"'
    bad 3 E_NULL 'beyond the first min\(m, n\) are not unique' "$g -e 'y = sum(vh)' --outputs y | ggrad"
    ok "$g -e 'y = sum(s)' --outputs y | ggrad --only | grun a=[[2,0,0],[0,1,0]]" $'d_y_d_a = [[1.0, 0.0, 0.0],\n           [0.0, 1.0, 0.0]]'
    bad 3 E_NULL 'columns of q beyond' 'gload --new -i "a: float64[3, 2]" -e "y = sum(qr(a, mode=\"complete\")[0])" | ggrad'
    # equal eigenvalues: fine as long as no vector is asked for
    e='gload --new -i "a: float64[2, 2]" -e "w, v = eigh(a)"'
    ok "$e -e 'y = sum(w ** 2)' --outputs y | ggrad --only | grun a=[[3,0],[0,3]]" $'d_y_d_a = [[6.0, 0.0],\n           [0.0, 6.0]]'
    like "$e -e 'y = v[0, 0] + 2 * v[0, 1]' --outputs y | ggrad --only | grun a=[[3,0],[0,3]]" 'inf|nan'
}

@test "spectra and solvers end with 5 on what is not finite or singular" {
    bad 5 E_NAN 'eigvals: an element of the matrix is inf or nan' 'gload -i "a: float64[2, 2]" -e "eigvals(a)" | grun a=[[1,nan],[2,4]]'
    bad 5 E_NAN 'eigh: an element of the matrix \(matrix 1 of the batch, from 0\)' 'gload -i "a: float64[2, 1, 1]" -e "eigh(a)[0]" | grun a=[[[1]],[[inf]]]'
    bad 5 E_SINGULAR 'lu_solve: the matrix is singular: pivot 2 is 0' 'gload -i "a: float64[2, 2]" -e "lu_solve(lu_factor(a)[0], lu_factor(a)[1], [1.0, 2.0])" | grun a=[[1,2],[2,4]]'
    bad 3 E_SHAPE 'matrix_power takes a square matrix' 'gload -i "a: float64[2, 3]" -e "matrix_power(a, 2)"'
    bad 3 E_ARG "mode must be 'reduced'" 'gload -i "a: float64[2, 3]" -e "qr(a, mode=\"raw\")"'
}

@test "matrices and arrays without elements" {
    local e x want
    while IFS='|' read -r e x want; do
        ok "gload --new -i 'x: float64[n, m]' -e '$e' | grun x='zeros($x)'" "out = $want"
    done <<'END'
det(x)|(0, 0)|1.0
shape(inv(x))|(0, 0)|[0, 0]
shape(cholesky(x))|(0, 0)|[0, 0]
shape(cholesky_inverse(x))|(0, 0)|[0, 0]
eigh(x)[0]|(0, 0)|[]
shape(expm(x))|(0, 0)|[0, 0]
shape(svd(x)[2])|(0, 3)|[0, 3]
sum(x.T @ x)|(0, 3)|0.0
lstsq(x, zeros(0))[0]|(0, 3)|[0.0, 0.0, 0.0]
logsumexp(x, axis=0)|(0, 3)|[-inf, -inf, -inf]
max(x, axis=0)|(3, 0)|[]
shape(cumsum(x, axis=0))|(3, 0)|[3, 0]
shape(sort(x, axis=1))|(3, 0)|[3, 0]
shape(argsort(x, axis=0))|(3, 0)|[3, 0]
END
    bad 3 E_SHAPE 'max: dim 0 is empty' 'gload --new -i "x: float64[0, 3]" -e "max(x, axis=0)"'
    bad 5 E_RUN_SHAPE 'max: dim 0 is empty' 'gload --new -i "x: float64[n, 3]" -e "max(x, axis=0)" | grun x="zeros((0, 3))"'
    bad 5 E_RUN_SHAPE 'argmax: dim 0 is empty' 'gload --new -i "x: float64[n, 3]" -e "argmax(x, axis=0)" | grun x="zeros((0, 3))"'
}

@test "what is set by arrays of one dim, of two, by masks and by slices has its gradient" {
    local e args want
    while IFS='|' read -r e args want; do
        ok "gload --new -i 'x: float64[3]' -i 'y: float64[?]' -i 'z: float64' -i 'i: int64[2, 2]' -e 'sum(set_subtensor($e) ** 2)' | ggrad | grun x=[1,2,3] $args" "$(printf '%b' "$want")"
    done <<'END'
x[::2], y|y=[5,6]|out = 65.0\nd_out_d_x = [0.0, 4.0, 0.0]\nd_out_d_y = [10.0, 12.0]
x[[0, 2, 0]], y|y=[5,6,7]|out = 89.0\nd_out_d_x = [0.0, 4.0, 0.0]\nd_out_d_y = [0.0, 12.0, 14.0]
x[x > 1.5], y|y=[5,6]|out = 62.0\nd_out_d_x = [2.0, 0.0, 0.0]\nd_out_d_y = [10.0, 12.0]
x[i], z|z=5 i=[[0,2],[0,1]]|out = 75.0\nd_out_d_x = [0.0, 0.0, 0.0]\nd_out_d_z = 30.0
END
}

@test "products that no axes, operands or dims allow" {
    local one half many line code want end
    one=$(printf '1, %.0s' $(seq 31))1
    half=$(printf '1, %.0s' $(seq 16))1
    many=$(printf '2, %.0s' $(seq 19))2
    while IFS='|' read -r line code want; do
        end=3
        [ "$code" != E_LIMIT ] || end=6
        bad "$end" "$code" "$want" "gload --new -i 'a: float64[2]' -i 'b: float64[2]' -i 'w: float64[$one]' -i 'h: float64[$half]' -i 'v: float64[$many]' -i 'i: int32[2]' -e '$line'"
    done <<END1
tensordot(a, b, axes=[0, 1, 2])|E_ARG|axes must be a number, or the same number of axes of a and of b
tensordot(a, b, axes=3)|E_ARG|axes=3, but the operands have 1 and 1 dims
einsum("i,j{->i", a, b)|E_ARG|there is no label at .\{->i
einsum("i,[->i", a, b)|E_ARG|there is no label at .\[->i
einsum("abcdefghijklmnopqrstuvwxyzABCDEFGH->a", a)|E_ARG|there are too many labels at .H->a
tensordot(a, b, axes=-1)|E_ARG|axes=-1, but the operands have 1 and 1 dims
tensordot(a, b, axes=[0, 0], axes_a=[0])|E_ARG|give axes, or axes_a and axes_b
tensordot(a, b, axes_a=[0])|E_ARG|axes_a and axes_b must have the same number of axes
tensordot(a, b, axes_a=[0], axes_b=[0, 1])|E_ARG|axes_a and axes_b must have the same number of axes
tensordot(a, b, axes=[0, 1, 2, 3])|E_ARG|axis 1 of a is out of range; it has 1 dim
tensordot(a, b, axes=[$(seq -s, 0 79)])|E_ARG|40 axes are more than a tensor has
tensordot(a, b, axes_a=[$(seq -s, 0 39)], axes_b=[$(seq -s, 0 39)])|E_ARG|40 axes are more than a tensor has
tensordot(v, v, axes=0)|E_LIMIT|a tensor has at most 32 dims
einsum("ij,jk->ik")|E_ARITY|einsum needs an operand
einsum("...,i", w, a)|E_LIMIT|einsum: a tensor has at most 32 dims
einsum("...,i->...i", w, a)|E_LIMIT|einsum: a tensor has at most 32 dims
kron(h, a)|E_LIMIT|kron: a tensor has at most 32 dims
block_diag()|E_ARITY|block_diag needs at least one matrix
lu_solve(outer(a, b), i, b)|E_DTYPE|piv must be int64, as lu_factor returns it
END1
}

@test "gradients by one factor alone, and by all results of least squares together" {
    local cost
    for cost in 'qr(a)[0]' 'qr(a)[1]' 'lu(a)[0]' 'lu(a)[1]' 'lu(a)[2]' 'svd(a)[0]' 'svd(a)[1]' 'svd(a)[2]'; do
        ok "gload --new -i 'a: float64[2, 2]' -e 'sum($cost)' | ggrad --check a=[[2,1],[0.9,3]]"
    done
    ok 'gload --new -i "a: float64[2, 2]" -e "sum(lu(a)[0])" | ggrad | grun a=[[2,1],[1,3]]' $'out = 2.0\nd_out_d_a = [[0.0, 0.0],\n             [0.0, 0.0]]'
    for cost in 'sum(p) + sum(q)' 'sum(p) + sum(t)' 'sum(p) + sum(q) + sum(t)'; do
        ok "gload --new -i 'a: float64[3, 2]' -i 'b: float64[3]' -e 'p, q, s, t = lstsq(a, b)' -e 'c = $cost' --outputs c | ggrad --check a=[[2,1],[1,3],[0,1]] b=[1,2,3]"
    done
}

@test "an op that is defined by lines reports a wrong input once, in its own name" {
    bad 3 E_SHAPE 'matrix_rank: a must have at least 2 dims, not 0' "gload -e 'matrix_rank(1.5)'"
    bad 3 E_SHAPE 'matrix_rank: a must have at least 2 dims, not 1' "gload -e 'matrix_rank([1, 2])'"
}

@test "equations that have no solution, or no single one" {
    bad 5 E_SINGULAR 'share an eigenvalue' 'gload -e "y = solve_sylvester([[1., 0.], [0., 2.]], [[-2.]], [[1.], [1.]])" | grun'
    bad 5 E_SINGULAR 'matrix 1 of the batch' 'gload -i "a: float64[2, 1, 1]" -e "y = solve_sylvester(a, [[-2.]], [[1.]])" | grun a=[[[1]],[[2]]]'
    ok "gload -e 'y = solve_sylvester(zeros((0, 0)), [[1.]], zeros((0, 1)))' | grun" "y = zeros((0, 1), dtype='float64')"
    ok "gload -e 'y = solve_sylvester([[4.]], zeros((0, 0)), zeros((1, 0)))' | grun" 'y = [[]]'
    bad 5 E_NAN 'solve_sylvester: an element of the matrix is inf or nan' 'gload -i "a: float64[1, 1]" -e "y = solve_sylvester(a, [[1.]], [[1.]])" | grun a=[[nan]]'
    bad 5 E_SINGULAR 'no stabilising solution' 'gload -e "y = solve_discrete_are([[2.]], [[0.]], [[1.]], [[1.]])" | grun'
    bad 5 E_SINGULAR 'pivot' 'gload -e "y = solve_tridiagonal([0., 1.], [0., 0.], [0., 0.], [1., 1.])" | grun'
    bad 5 E_NAN 'nan' 'gload -i "a: float64[n, n]" -e "t, z = schur(a)" | grun a=[[nan]]'
    bad 5 E_NAN 'nan' 'gload -i "a: float64[n, n]" -e "s, t, q, z = qz(eye(1), a)" | grun a=[[nan]]'
    bad 3 E_ 'qz has no derivative' 'gload -i "a: float64[2, 2]" -e "y = sum(qz(a, eye(2))[0])" | ggrad'
    bad 3 E_ 'schur has no derivative' 'gload -i "a: float64[2, 2]" -e "y = sum(schur(a)[0])" | ggrad'
}

# A table: two tensors of integers.
@test "long convolutions are right, and have the same bits on any number of threads" {
    for d in int64 float32 float64 complex128; do
        gload --new -i "a: ${d}[n]" -i "b: ${d}[m]" -e 'r = convolve(a, b)' -e 'q = convolve(b, a, mode="valid")' \
            -e 'want = ifft(fft(a, n=16384) * fft(b, n=16384))[:shape(r)[0]]' -e 'error = max(abs(r - want))' -e 'part = max(abs(q - r[shape(b)[0] - 1:shape(a)[0]]))' -o c.tlg
        for n in 1 2 3; do
            grun c.tlg "a=$d(integers(-50, 50, (9001,), seed=1, dtype=int64))" "b=$d(integers(-50, 50, (71,), seed=2, dtype=int64))" --threads $n -r r=r$n.npy -r q=q$n.npy --expect error=0 --expect part=0 --atol 0.01 >/dev/null
        done
        ok 'cmp r1.npy r2.npy && cmp r1.npy r3.npy && cmp q1.npy q3.npy'
    done
}

@test "convolutions of many pairs are those of each, on any number of threads" {
    for d in int8 float16 float32 complex64; do
        gload --new -i "a: ${d}[k, n]" -i "b: ${d}[k, m]" -e "r = convolve(a, b, batch_dims=1)" -e "q = convolve(b, a.T[::-1].T, mode='same', batch_dims=1)" \
            -e "one = map(lambda x, y: convolve(x, y), [a, b])" -e "two = map(lambda x, y: convolve(y, x[::-1], mode='same'), [a, b])" -e 'same = all(r == one) & all(q == two)' --outputs same -o c.tlg
        for n in 1 2 3; do
            ok "grun c.tlg 'a=$d(integers(-9, 9, (300, 90), seed=1, dtype=int64))' 'b=$d(integers(-9, 9, (300, 7), seed=2, dtype=int64))' --threads $n" 'same = True'
        done
        ok "grun c.tlg 'a=$d(integers(-9, 9, (2, 5000), seed=1, dtype=int64))' 'b=$d(integers(-9, 9, (2, 70), seed=2, dtype=int64))' --threads 2" 'same = True'
    done
}

@test "products of integers are exact, and wrap, in any layout, batch and number of threads" {
    local d a b
    while IFS='|' read -r a b; do
        for d in int8 int16 int32 int64 uint8 uint16 uint32 uint64; do
            echo "    all(cast($a, $d) @ cast($b, $d) == cast(int64(float64($a) @ float64($b)), $d)) &"
        done
    done >terms <<'END'
x[:70, :600]|x[:600, :37]
x[:600, :70].T[::-1]|x[:37, :600].T
x[:300:3, ::-2][:, :290]|x[:290, 1:600:50]
reshape(x[:27, :5], (3, 1, 5, 9))|reshape(x[:36, :130], (4, 9, 130))[:, :, ::2]
x[:1, :300]|x[:300, :5]
x[:300, :300]|x[0, :300]
x[:300, :300].T|x[0, :300]
x[:300, 9:309]|x[:300, 7]
x[:300, ::2]|x[0, :300]
x[0, :300]|x[:300]
x[0, ::-2]|x[::-2]
x[:300, 3]|x[:, :300].T
x[3, :300]|x[:, :300].T
x[3, 9]*x[0, :1]|x[:1]
reshape(x[:30, :40], (5, 6, 40))|x[0, :40]
x[0, :30]|reshape(x[:30, :40], (5, 30, 8))
x[:5, :2]|x[:2, :9]
x[:2, :1]|x[:1, :40]
END
    { printf 'thunkline: 1\ninputs: {x: "int64[600, 600]"}\nlet: |\n  same = (\n'; cat terms; printf '    True)\noutputs: [same]\n'; } >g.yaml
    ok 'grun g.yaml x="integers(-90, 90, (600, 600), seed=3)" --threads 1' 'same = True'
    ok 'grun g.yaml x="integers(-90, 90, (600, 600), seed=4)" --threads 2' 'same = True'
}

@test "products over several axes merge these where they lie, behind a transpose, too" {
    local dot want
    while IFS='|' read -r dot want; do
        gload --new -i 'x: int64[4, 3, 5]' -i 'y: int64[4, 3, 2]' -i 'z: int64[6, 3, 5]' -e "r = $dot" -e "same = all(r == $want)" --outputs same,r -o d.tlg
        ok 'grun d.tlg x="integers(-9, 10, (4, 3, 5), seed=1)" y="integers(-9, 10, (4, 3, 2), seed=2)" z="integers(-9, 10, (6, 3, 5), seed=3)" --outputs same' 'same = True' || fail "$dot"
        ok "grewrite d.tlg --keep r -O yaml | sed -n '/^let/,\$p' | grep -cE 'axes=.[0-9], [0-9], [0-9]' || true" 0 || fail "$dot"
    done <<'END'
tensordot(x, y, ([0, 1], [0, 1]))|sum(x[:, :, :, None] * y[:, :, None], axis=(0, 1))
tensordot(y, x, ([0, 1], [0, 1]))|sum(y[:, :, :, None] * x[:, :, None], axis=(0, 1))
tensordot(transpose(x, (0, 2, 1)), y, ([0, 2], [0, 1]))|sum(x[:, :, :, None] * y[:, :, None], axis=(0, 1))
tensordot(transpose(x), y, ([2, 1], [0, 1]))|sum(x[:, :, :, None] * y[:, :, None], axis=(0, 1))
tensordot(x, z, ([1, 2], [1, 2]))|sum(x[:, None] * z, axis=(2, 3))
tensordot(x, transpose(z, (1, -1, 0)), ([1, 2], [0, 1]))|sum(x[:, None] * z, axis=(2, 3))
einsum("abc,abd->cd", x, y)|sum(x[:, :, :, None] * y[:, :, None], axis=(0, 1))
END
}

@test "products by a vector are exact, need no OpenBLAS, and have the same bits on any number of threads" {
    local t
    printf 'thunkline: 1\ninputs: {x: "int64[3000, 700]"}\nlet: |\n  same = (\n' >g.yaml
    for t in float16 float32 float64 complex64; do
        echo "    all(cast(x, $t) @ cast(x[0], $t) == cast(x @ x[0], $t)) & all(cast(x[:, 5], $t) @ cast(x, $t) == cast(x[:, 5] @ x, $t)) &
    all(cast(x.T, $t) @ cast(x[:, 3], $t) == cast(x.T @ x[:, 3], $t)) & all(cast(x[::2, ::-3], $t) @ cast(x[7:241, 9], $t) == cast(x[::2, ::-3] @ x[7:241, 9], $t)) &
    (dot(cast(x[:, 2], $t), cast(x[:, 9], $t)) == cast(dot(x[:, 2], x[:, 9]), $t)) & all(cast(x[:, :3], $t) @ cast(x[1, :3], $t) == cast(x[:, :3] @ x[1, :3], $t)) &"
    done >>g.yaml
    printf '    True)\noutputs: [same]\n' >>g.yaml
    ok 'grun g.yaml x="integers(-2, 3, (3000, 700), seed=3)"' 'same = True'
    printf 'thunkline: 1\ninputs: {a: "float32[n, m]", v: "float32[m]", w: "float32[n]"}\nlet: |\n  r = a @ v\n  s = w @ a\noutputs: [r, s]\n' >h.yaml
    mkdir none
    for t in libopenblas.so.0 libopenblas.so libopenblas.0.dylib libopenblas.dylib; do echo 'no library' >none/$t; done
    for t in 1 2 3 5; do
        LD_LIBRARY_PATH=none grun h.yaml a='normal(0, 1, (3000, 700), seed=1)' v='normal(0, 1, (700,), seed=2)' w='normal(0, 1, (3000,), seed=3)' --threads $t >$t.txt
        grun h.yaml a='normal(0, 1, (30, 90000), seed=1)' v='normal(0, 1, (90000,), seed=2)' w='normal(0, 1, (30,), seed=3)' --threads $t >wide$t.txt
    done
    for t in 2 3 5; do
        cmp 1.txt $t.txt
        cmp wide1.txt wide$t.txt
    done
}

# What FAST_RUN makes of a product that is added: in any layout, in one piece or several, and where OpenBLAS would leave
# out what nan and inf show in.
@test "gemm: beta * c + alpha * a @ b of every dtype, and for alpha and beta of 0, inf and nan" {
    local d size m k n scale
    for d in float64 float32 complex128 complex64 float16; do
        gload --new -i "c: ${d}[m, n]" -i "b: ${d}[k, n]" -i "at: ${d}[k, m]" -i "alpha: $d" -i "beta: $d" -e 'o = gemm(c, at.T, b, alpha, beta)' \
            -e 'r = beta * c + alpha * (at.T @ b)' -e 'e = sum(where(abs(o - r) > 4e-3 * (1 + abs(r)), 1, 0)) + sum(isfinite(o) != isfinite(r))' \
            --outputs e -o g.tlg
        for size in '3 4 5' '1 90000 1' '1 3000 1000' '700 300 70' '0 3 4' '3 0 4'; do
            read -r m k n <<<"$size"
            for scale in '-0.5 1' '0 1' '2 0' 'inf 1' 'nan -2'; do
                ok "grun g.tlg --mode FAST_COMPILE 'c=$d(normal(0, 1, ($m, $n), seed=1))' 'b=$d(normal(0, 1, ($k, $n), seed=2))' \
                    'at=$d(normal(0, 1, ($k, $m), seed=3) / (1 + $k) ** 0.5)' alpha=${scale% *} beta=${scale#* }" 'e = 0' || return
            done
        done
    done
}

@test "gemm overwrites what it is added to, unless something else reads that" {
    gload --new -i 'x: float64[20, 300]' --shared 'W: float64[300, 200] = ones((300, 200))' --update 'W = W - 0.1 * (x.T @ (x @ W))' \
        -e 'r = sum(W)' --outputs r -o m.tlg
    ok 'grewrite m.tlg --exclude fusion -O math | grep "^W <-"' 'W <- gemm(W, transpose(x), x @ W, -0.1, 1.0)'
    # the new W needs no memory beside W's own and x @ W
    ok "gprof m.tlg --static --mode FAST_RUN --assert 'peak_bytes < 100e3' -o /dev/null"
    x='x=normal(0, 0.1, (20, 300), seed=1)'
    for steps in 1 4; do
        want=$(grun m.tlg "$x" --steps $steps --mode FAST_COMPILE)
        ok "grun m.tlg '$x' --steps $steps --expect '${want/ = /=}' -o /dev/null"
        ok "grun m.tlg '$x' --steps $steps --mode DEBUG --expect '${want/ = /=}' -o /dev/null"
    done
    # an operand that is the accumulator, too
    gload --new -i 'h: float64[5, 5]' -e 'c = exp(h)' -e 'p = tanh(h)' -e 'o = c - c @ h' -e 'q = p + h @ p' --outputs o,q -o s.tlg
    ok "grewrite s.tlg --exclude fusion -O math | grep -E '^[oq]'" $'o = gemm(c, c, h, -1.0, 1.0)\nq = gemm(p, h, p, 1.0, 1.0)'
    x='h=reshape(sin(arange(25.)), (5, 5))'
    grun s.tlg --mode FAST_COMPILE "$x" -r o=o.npy -r q=q.npy
    ok "grun s.tlg '$x' --expect o=@o.npy --expect q=@q.npy -o /dev/null"
}

@test "many matrices at once: vectorize makes batches, not loops" {
    local call
    for call in 'inv(A)' 'det(A)' 'slogdet(A)[1]' 'solve(A, z)' 'solve(A, A)' 'cholesky(A)' 'cho_factor(A)[0]' 'cholesky_inverse(A)' \
        'qr(A)[0]' 'svd(A)[1]' 'eigh(A)[0]' 'eig(A)[0]' 'eigvals(A)' 'eigvalsh(A)' 'lu(A)[1]' 'lu_factor(A)[0]' 'pinv(A)' \
        'lstsq(A, z)[0]' 'lu_solve(lu_factor(A)[0], lu_factor(A)[1], z)' 'expm(A)' 'solve_triangular(A, z)' 'cho_solve(A, z)' 'matrix_rank(A)' 'cond(A)' \
        'schur(A)[0]' 'solve_sylvester(A, A, A)' 'adjugate(A)' 'solve_tridiagonal(z, z, z, z)'; do
        gload -i 'a: float64[k, 6, 6]' -i 'x: float64[k, 6]' -e "r = vectorize(lambda A, z: $call)(a, x)" -O yaml >g.yaml
        ! grep -H 'scan(' g.yaml
    done
    # vectors for one matrix are columns: it is factored once
    gload -i 'A: float64[3, 3]' -i 'x: float64[k, 3]' -e 'r = vectorize(lambda z: solve(A, z))(x)' -O math >one
    grep -Fqx 'r = transpose(solve(A, transpose(x)), axes=[1, 0])' one
    # and so in the kernels, where a batch of single columns meets one matrix, in any order of memory
    for d in float16 float32 float64 complex128; do
        for call in 'solve(a, V)' 'solve_triangular(a, V)' 'lu_solve(lu_factor(a)[0], lu_factor(a)[1], V)'; do
            gload --new -i "a: ${d}[4, 4]" -i "x: ${d}[4, 4, 4]" -e "f = lambda V: $call" -e 'z = lambda x: reshape(f(reshape(x, (-1, 4)).T).T, x.shape)' \
                -e 'y = lambda x: f(x[..., None])[..., 0]' -e 'o = stack([y(x), y(x.transpose(1, 2, 0)), y(x[::-1].transpose(2, 1, 0)), y(x[None, :, ::-1])[0]])' \
                -e 'p = stack([z(x), z(x.transpose(1, 2, 0)), z(x[::-1].transpose(2, 1, 0)), z(x[:, ::-1])])' --outputs o,p -o s.tlg
            x="a='4 * eye(4) + reshape(sin(arange(16.)), (4, 4))' x='reshape(cos(arange(64.)), (4, 4, 4))'"
            ok "grun s.tlg --allow-downcast $x -r p=p.npy -r o=o.npy && grun s.tlg --allow-downcast $x --expect o=@p.npy -o /dev/null"
        done
    done
    run -5 grun <(gload -i 'A: float64[1, 1]' -e 'r = solve(A, ones((3, 1, 1)))') A='[[0.]]'
    assert_output --partial 'the matrix is singular'
    gload -i 'a: float64[k, 1, 1]' -e 'r = vectorize(lambda A: inv(A))(a)' -o m.tlg
    run -5 grun m.tlg a='[[[1.]], [[0.]]]'
    assert_output --partial 'the matrix (matrix 1 of the batch, from 0) is singular'
}

@test "dot products of rows are sums of products" {
    local g="gload -i 'F: float64[n, k]' -i 'G: float64[n, k]' -i 'H: float64[m, n, k]'" v='F=[[1,2],[3,4]] G=[[5,6],[7,0]] H=[[[1,0],[0,1]]]'
    ok "$g -e 'a = einsum(\"ij,ij->i\", F, G)' -e 'b = einsum(\"ij,ij->j\", F, G)' -e 'c = vecdot(F, H)' -e 'd = grad(sum(a ** 2), F)' | grun $v" \
        $'a = [17.0, 21.0]\nb = [26.0, 12.0]\nc = [[1.0, 4.0]]\nd = [[170.0, 204.0],\n     [294.0, 0.0]]'
    ok "$g -e 'a = sum(einsum(\"ij,ij->i\", F, G) * vecdot(F, H))' | ggrad --wrt F | grewrite --mode FAST_COMPILE -O tree | grep -c matmul || true" 0
    # products of float16 beyond its range, whose sum isn't
    ok "gload -i 'F: float16[n, k]' -i 'G: float16[n, k]' -e 'a = einsum(\"ij,ij->i\", F, G)' -e 'b = vecdot(F, G)' | grun 'F=float16([[300,300]])' 'G=float16([[300,-299]])'" \
        $'a = [300.0]\nb = [300.0]'
    bad 3 E_SHAPE 'vecdot: axis -1 has 1 and 7' "gload -i 'F: float64[n, 1]' -i 'G: float64[n, 7]' -e 'o = vecdot(F, G)'"
}
