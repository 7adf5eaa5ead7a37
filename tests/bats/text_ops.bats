#!/usr/bin/env bats
# Ops that the library defines as text (lib/ops/*/*.ops.yaml).
load common
load values

names() { sed -n 's/^  \([a-z_0-9]*\):$/\1/p' "$ROOT"/lib/ops/*/*.ops.yaml; }

@test "each has a text, an example that holds, and is replaced by its definition" {
    local op example calls=() want=()
    gload --list-ops '*' >list
    for op in $(names); do
        example=$(gload --op "$op" | sed -n '/^example  */{s///p;q;}')
        [[ $example == "$op("*' -> '* ]] || { echo "$op has no example: $example"; false; }
        calls+=(-e "example_$op = ${example%% -> *}")
        want+=(--expect "example_$op=${example##* -> }")
        grep -q "^$op " list
    done
    gload "${calls[@]}" -o g.tlg
    grun g.tlg "${want[@]}" --rtol 1e-12 --atol 1e-15 >/dev/null
    gload g.tlg -O json --nodes | sed -n 's/.*"op": "\([^"]*\)".*/\1/p' | sort -u >used
    names | sort | comm -12 - used >kept
    [ ! -s kept ] || { cat kept; false; }
}

@test "values and gradients are those of PyTorch, NumPy and SciPy" {
    families "$ROOT/tests/bats/text_ops.tsv"
}

@test "a graph and an op file may use their names for functions of their own" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: float64}
functions:
  gelu:
    inputs: {a: float64}
    outputs: {b: a + 100}
let: |
  relu6 = lambda t: t + 1000
  y = gelu(x) + relu6(x)
outputs: [y]
Y
    ok 'grun g.yaml x=1' 'y = 1102.0'
    printf 'thunkline: 1\nops:\n  gelu:\n    inputs: x\n    def: x + 7\n' >own.yaml
    ok 'gload --ops own.yaml -i "x: float64" -e "y = gelu(x) + relu6(x)" | grun --ops own.yaml x=8' 'y = 21.0'
    # also after another graph, function or op file has used the op
    printf 'thunkline: 1\ninputs: {x: float64}\noutputs: {y: gelu(x)}\n' >uses.yaml
    ok 'gload --check uses.yaml g.yaml uses.yaml'
    printf 'thunkline: 1\nops:\n  mine:\n    inputs: x\n    def: relu6(x) - 6\n' >mine.yaml
    ok 'gload --ops mine.yaml --ops own.yaml -i "x: float64" -e "y = gelu(x) + mine(x)" | grun --ops mine.yaml --ops own.yaml x=8' 'y = 15.0'
    bad 3 E_NAME 'there is no function `gelus`' 'gload -e "y = gelu(1.)" -e "gelu = lambda x: x + 1" -e "z = gelus(y)"'
    ok 'gload -e "y = (lambda f: relu6(f))(7.)" -e "z = relu6(x)" -e "relu6 = lambda x: x + 1" -i "x: float64" | grun x=9' $'y = 8.0\nz = 10.0'
    # a variable of that name is no function
    bad 3 E_NAME 'there is no function `gelus`: did you mean `gelu`' 'gload -e "y = gelus(2.)"'
    ok 'gload -e "gelu = 2.0" -e "y = gelu * 2" | grun --outputs y' 'y = 4.0'
}

@test "derivatives, rows and dtypes are those of the definition" {
    ok 'gload -i "x: float32[n]" -e "y = sum(leaky_relu(x))" | ggrad | grun x=[1,-2]' $'y = 0.98\nd_y_d_x = [1.0, 0.01]'
    ok 'gload -i "x: float32[n]" -e "y = vectorize(lambda r: gelu(r))(x) - gelu(x)" | grun x=[1,-2,0.5]' 'y = [0.0, 0.0, 0.0]'
    ok 'gload -e "y = gelu(2)" | grun' 'y = 1.9544997361036416'
    ok 'gload -i "x: float32[n, 3]" -e "y = vectorize(lambda r: max(r, where=r < 2, initial=-1) + sum(diff(r, prepend=1)))(x)" | grun x=[[1,2,0],[3,4,5]]' 'y = [0.0, 3.0]'
    ok 'gload -i "x: float32[n]" -i "h: float32" -e "y = trapezoid(x, dx=h)" -e "z = sum(cumulative_trapezoid(x, None, h))" -e "d = grad(y + z, h)" | grun x=[1,2,4] h=0.5' $'y = 2.25\nz = 3.0\nd = 10.5'
    ok 'gload -i "x: float64[n]" -e "y = average(x, None)" -e "z = histogram(x, 2, None)[0]" | grun x=[1,2,4]' $'y = 2.3333333333333335\nz = [2, 1]'
    ok 'gload -i "x: float32[n]" -e "y = diff(x, prepend=0.5, append=1)" | grun x=[1,2]' 'y = [0.5, 1.0, -1.0]'
    # a label for each row, or one for all
    bad 3 E_SHAPE 'has 2 and 3|2 and 3' 'gload -i "x: float64[3, 2]" -e "y = cross_entropy(x, [0, 1])"'
    bad 5 E_ '--expr:1:5' 'gload -i "x: float64[n, 2]" -i "l: int64[m]" -e "y = nll_loss(x, l)" | grun x=[[1,2],[3,4],[5,6]] l=[0,1]'
    ok 'gload -i "x: float64[n, 2]" -e "y = nll_loss(x, 1)" -e "z = nll_loss(x, [1])" | grun x=[[1,2],[3,4]]' $'y = -3.0\nz = -3.0'
    # a run's errors point to the call
    bad 5 E_INDEX '^grun: --expr:1:9: error' 'gload -i "x: float64[n, 3]" -e "y = 2 * nll_loss(x, [7])" | grun x=[[1,2,3]]'
    bad 5 E_ARITHMETIC '^grun: --expr:1:5: error.* q must lie between 0 and 1' 'gload -i "x: float64[n]" -e "y = quantile(x, 1.5)" | grun x=[1,2]'
    bad 3 E_ARITY 'relu6 got too many arguments; its signature is relu6.x.' 'gload -e "y = relu6(2., 3)"'
    bad 3 E_ARITY 'max: the mask may select no element' 'gload -e "y = max([1., 2.], where=[True, False])"'
    bad 3 E_DTYPE 'where. must be a bool mask' 'gload -e "y = sum([1., 2.], where=[1, 0])"'
    bad 3 E_DTYPE 'sum: .where. must be a bool mask' 'gload -e "y = sum([1., 2.], where=1.5)"'
    ok 'gload -e "y = sum([1., 2.], where=True)" -e "z = sum([1., 2.], where=False)" | grun' $'y = 3.0\nz = 0.0'
    bad 3 E_VALUE 'error.E_VALUE.: var: axis 3 is out of range' 'gload -e "y = var([1., 2.], axis=3, where=[True, False])"'
    bad 3 E_SHAPE 'error.E_SHAPE.: std: dim 0 of x has size 2' 'gload -e "y = std([1., 2., 3.], where=[True, False])"'
    bad 3 E_SHAPE 'the mask has 2 dims' 'gload -e "y = sum([1., 2.], where=[[True, False]])"'
    bad 3 E_SHAPE 'initial. must be a scalar' 'gload -e "y = prod([1., 2.], initial=[1, 2])"'
    bad 3 E_ARG 'median has no argument where' 'gload -e "y = median([1., 2.], where=True)"'
    bad 3 E_SHAPE 'only the first and the last may be vectors' 'gload -e "y = multi_dot([1., 2.], [1., 2.], [3.])"'
    bad 3 E_VALUE 'the number of parts must be from 1' 'gload -e "y = array_split([1., 2.], 0)"'
    bad 3 E_ARG 'gelu' 'gload -e "y = gelu(2., approx=True)"'
}

@test "gradients are those of finite differences" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[3, 4]', slope: 'float64[4]'}
let: |
  activations = sum((elu(x) + selu(x) + celu(x, alpha=0.7) + silu(x) + mish(x) + softsign(x)
                     + tanhshrink(x) + log_sigmoid(x) + gelu(x) + gelu(x, approximate=True) + softmin(x, axis=0)) ** 2)
  cube = reshape(x, (3, 2, 2))
  normal = sum((layer_norm(x, slope) + rms_norm(x, slope) + batch_norm(x, slope, slope ** 2 + 1, slope)) ** 3)
  normals = sum((instance_norm(cube, slope[:2]) + group_norm(cube, groups=1)) ** 3)
  p = softmax(x, axis=1)
  losses = mse_loss(x, slope) + huber_loss(x, 2 * slope) + cross_entropy(x, [1, 3, 0]) + binary_cross_entropy(p, sigmoid(slope))
  more = binary_cross_entropy_with_logits(x, sigmoid(slope)) + sum(kl_divergence(p, softmax(slope, axis=0)))
  far = 3 * x + arange(4)
  statistics = sum(median(far, axis=1) + quantile(far, 0.3, axis=1)) + average(x, exp(slope)) + nanstd(x) + sum(cov(x) ** 2 + corrcoef(x) ** 2)
  points = sort(far[0])
  samples = sum(cross(x[:, :3], x[:, 1:]) ** 2) + trapezoid(x[0], points) + sum(interp(x, points, slope)) + sum(geomspace(1 + exp(x[0, 0]), 9., 4))
  rest = sum(vander(slope) * x[1]) + sum(fmod(far, 1.7) * x) + sum(float_power(exp(x), slope)) + samples
  to = exp(slope)
  draws = sum(gamma_logpdf(exp(x), to, to[::-1]) + student_t_logpdf(x, to) + beta_logpdf(p, to, 2 * to) + wald_logpdf(exp(x), to, to))
  counts = sum(binomial_logpmf([0, 1, 2, 4], 4, p) + poisson_logpmf(2, to) + negative_binomial_logpmf(3, to, p) + geometric_logpmf(2, p))
  vectors = sum(dirichlet_logpdf(p, to)) + sum(multivariate_normal_logpdf(x, slope, diag(to) + outer(slope, slope)))
  orders = sum(nanmedian(where(x > 1, nan, x), axis=1) + quantile(far, 0.4, axis=[0, 1]) + nanpercentile(far, [20, 50], axis=1)) + sum(cov(x, far[:1]) ** 2)
  steps = sum(gradient(x, points, axis=1) ** 2) + sum(gradient(x, axis=-1, edge_order=2) ** 3) + sum(cumulative_trapezoid(x, points) ** 2) + sum(unwrap(far, period=2) ** 2)
  parts = sum(modf(far)[0] ** 2) + sum(ediff1d(x, 3.) ** 3) + sum(correlate(x[0], x.ravel(), mode='same') ** 2) + sum(logaddexp2(x, far))
  made = sum(toeplitz(x[0], x[1]) @ hankel(x[1], slope) @ circulant(slope) * far[0]) + sum(rollaxis(cube, 2) ** 3) + sum(nancumprod(x) ** 2)
  well = x[:, :3] / 4 + 2 * eye(3)
  solved = sum(tensorsolve(well, slope[1:]) ** 2) + sum(tensorinv(well, ind=1) ** 2) + sum(solve_continuous_lyapunov(well, x @ x.T) ** 2)
  control = sum(solve_discrete_lyapunov(well / 5, x @ x.T) ** 2) + sum(solve_discrete_are(well, x[:, 3:], x @ x.T, [[2.]]) ** 2)
  z = complex(x, far)
  waves = sum(abs(fft(z, 6) * rfft(x[:1], 10)) ** 2) + sum(irfft(z, 5, axis=0) ** 3) + sum(abs(ifft(z, norm='ortho')) ** 3) + sum(hfft(z) ** 2)
  waves2 = sum(dct(x, norm='ortho') ** 3) + sum(idct(x, type=3, axis=0) ** 3) + sum(abs(stft(far, slope[:3], step=1)) ** 2) + sum(irfftn(rfftn(x) ** 2))
  put_in = sum(insert(x, [0, 2], slope, axis=0) ** 2) + sum(append(x, slope) ** 3) + sum(delete(x, 1, axis=1) ** 2) + sum(place(x, x > 0, slope) ** 2)
  polynomials = sum(polyval(slope, x) ** 2) + sum(polyfit(points, slope, 1) ** 2) + sum(poly(slope) ** 2) + sum(poly(well) ** 2) + sum(polydiv(x[0], slope[:3])[0] ** 2) + sum(polydiv(x[0], slope[:3])[1] ** 2) + sum(polyint(slope) * kaiser(5, 2 + slope[0]))
  methods = sum(quantile(far, 0.3, axis=1, method='hazen') ** 2) + sum(percentile(far, 40, method='midpoint')) + sum(cummax(far, axis=0) * x)
  scaled = sum(ldexp(x, [1, -2, 3, 0]) ** 2) + sum(huber(0.6, x) + pseudo_huber(0.6, x) + boxcox(exp(x), slope)) + sum(cummin(x, reverse=True) ** 2)
  masked = sum(sum(x, axis=0, where=x > 0, initial=slope[0]) ** 2) + prod(x, where=x < 0.5, initial=slope[1]) + sum(mean(x, axis=1, where=[True, False, True, True]) ** 2)
  extremes = max(x, where=x < 0.9, initial=-9.) ** 2 + sum(min(x, axis=0, where=x > 5, initial=slope[2]) ** 2) + sum(max(far, axis=0, initial=slope[3]) ** 3)
  uneven = array_split(x, 3, axis=1)
  ends = sum(diff(x, n=2, axis=0, prepend=slope[0], append=2 * x[:1]) ** 2) + sum(uneven[0] ** 2 * uneven[1]) + sum(multi_dot(x, x.T, x, slope) ** 2)
  cost = masked + extremes + ends + put_in + polynomials + methods + scaled + waves + waves2 + orders + steps + parts + made + solved + control + draws + counts + vectors + activations + statistics + rest + sum(prelu(x, slope) * glu(x, axis=1)[:, :1]) + normal + normals + losses + more
outputs: [cost]
Y
    ok 'ggrad g.yaml --cost cost --wrt x,slope --check'
}

@test "ldexp takes whole powers, as in C" {
    bad 3 E_DTYPE 'in ldexp\(float64, float64\)' 'gload -e "ldexp(1.7, 0.6)"'
    bad 3 E_DTYPE 'in ldexp\(x: float64\[n\], x: float64\[n\]\)' "gload -i 'x: float64[n]' -e 'ldexp(x, x)'"
    ok 'gload -e "ldexp(1.5, [True, False])" | grun' 'out = [3.0, 1.5]'
}

@test "rotary_embedding turns pairs: an odd size is an error, known or not" {
    local halves
    for halves in True False; do
        gload -i 'x: float64[n]' -e "rotary_embedding(x, 1, halves=$halves)" -o m.tlg
        bad 5 E_ARITHMETIC 'the size of the last axis must be even' 'grun m.tlg x=[1,2,3]'
        run ! grun m.tlg x=[1]
        gload -e "rotary_embedding([1., 2., 3.], 1, halves=$halves)" -o m.tlg || continue
        bad 5 E_ARITHMETIC 'the size of the last axis must be even' 'grun m.tlg'
    done
}
