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

@test "matrices that can't be factored end with 5, and say why" {
    bad 5 E_SINGULAR 'cholesky: the matrix is not positive definite: its leading minor of order 2' \
        'gload -i "a: float64[2, 2]" -e "cholesky(a)" | grun a=[[1,2],[2,1]]'
    bad 5 E_SINGULAR 'inv: the matrix is singular: pivot 2 is 0' 'gload -i "a: float64[2, 2]" -e "inv(a)" | grun a=[[1,2],[2,4]]'
    bad 5 E_SINGULAR 'solve: the matrix \(matrix 1 of the batch, from 0\) is singular' \
        'gload -i "a: float64[2, 1, 1]" -e "solve(a, [1.0])" | grun a=[[[1]],[[0]]]'
    bad 5 E_SINGULAR 'element 1 of its diagonal is 0' 'gload -i "a: float64[2, 2]" -e "solve_triangular(a, [1.0, 2.0])" | grun a=[[1,2],[0,0]]'
    bad 5 E_NAN 'inf or nan' 'gload -i "a: float64[2, 2]" -e "svdvals(a)" | grun a=[[1,nan],[2,4]]'
    bad 3 E_SHAPE 'cholesky: its last two dims must be equal, and are 2 and 3' 'gload -i "a: float64[2, 3]" -e "cholesky(a)"'
    bad 5 E_RUN_SHAPE 'must be equal are 2 and 3' 'gload -i "a: float64[m, n]" -e "det(a)" | grun a=[[1,2,3],[4,5,6]]'
    bad 3 E_SHAPE 'must be equal' 'gload -i "a: float64[2, 2]" -i "b: float64[3]" -e "solve(a, b)"'
    bad 3 E_ARG 'assume_a is' 'gload -i "a: float64[2, 2]" -e "solve(a, a, assume_a=\"symmetric\")"'
}

@test "the gradient of det does not need an inverse" {
    ok 'gload --new -i "a: float64[2, 2]" -e "d = det(a)" | ggrad --only | grun a=[[1,2],[2,4]]' $'d_d_d_a = [[4.0, -2.0],\n            [-2.0, 1.0]]'
    bad 5 E_SINGULAR 'singular' 'gload --new -i "a: float64[2, 2]" -e "d = slogdet(a)[1]" | ggrad --only | grun a=[[1,2],[2,4]]'
}

@test "flops follow the assumption" {
    like 'gload --new -i "a: float64[300, 300]" -i "b: float64[300]" -e "solve(a, b, assume_a=\"pos\")" | gprof --static' '9\.2'
    like 'gload --new -i "a: float64[300, 300]" -i "b: float64[300]" -e "solve(a, b)" | gprof --static' '18\.1'
}
