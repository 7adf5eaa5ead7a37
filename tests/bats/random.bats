# Random streams as values: the next state and a draw, distributions by their moments and shapes.
load common

# moments EXPRESSION MEAN VARIANCE: of 40000 draws, each within 5 standard errors (by sampling, not by a bound on the error)
moments() {
    gload --new -e "x = float64(${1/SIZE/(40000,), seed=11})" -e 'm = mean(x)' -e 'v = var(x)' \
        -e 'se = sqrt(v / 40000)' -e 'sv = sqrt((mean((x - m) ** 4) - v ** 2) / 40000)' \
        -e "near_mean = abs(m - ($2)) < 5 * se" -e "near_var = abs(v - ($3)) < 5 * sv" --outputs near_mean,near_var -o m.tlg || return
    ok 'grun m.tlg' $'near_mean = True\nnear_var = True'
}

# follows EXPRESSION CDF: Kolmogorov and Smirnov's distance of 20000 draws from the distribution function in x, at the 0.1% level
follows() {
    gload --new -e "x = sort(${1/SIZE/(20000,), seed=5})" -e "d = max(abs($2 - (arange(20000) + 0.5) / 20000))" \
        -e 'fits = d < 1.95 / sqrt(20000.)' --outputs fits -o d.tlg || return
    ok 'grun d.tlg' 'fits = True'
}

@test "moments of the distributions" {
    moments 'uniform(2., 4., SIZE)' 3 1/3
    moments 'normal(1., 3., SIZE)' 1 9
    moments 'integers(0, 10, SIZE)' 4.5 8.25
    moments 'bernoulli(0.3, SIZE)' 0.3 0.21
    moments 'exponential(2., SIZE)' 2 4
    moments 'gamma(2.5, 2., SIZE)' 5 10
    moments 'gamma(0.4, 1., SIZE)' 0.4 0.4
    moments 'beta(2., 3., SIZE)' 0.4 0.04
    moments 'chisquare(5., SIZE)' 5 10
    moments 'standard_t(12., SIZE)' 0 1.2
    moments 'inverse_gamma(6., 2., SIZE)' 0.4 0.04
    moments 'poisson(3.5, SIZE)' 3.5 3.5
    moments 'poisson(120., SIZE)' 120 120
    moments 'binomial(12, 0.3, SIZE)' 3.6 2.52
    moments 'binomial(400, 0.7, SIZE)' 280 84
    moments 'negative_binomial(5., 0.4, SIZE)' 7.5 18.75
    moments 'geometric(0.25, SIZE)' 4 12
    moments 'laplace(1., 2., SIZE)' 1 8
    moments 'logistic(1., 2., SIZE)' 1 '4*pi**2/3'
    moments 'gumbel(1., 2., SIZE)' '1+2*0.5772156649' '4*pi**2/6'
    moments 'weibull(2., 3., SIZE)' 2.6586807763582737 1.9314165294229655
    moments 'pareto(8., SIZE)' 1/7 8/294
    moments 'rayleigh(2., SIZE)' 2.5066282746310002 1.7168146928204138
    moments 'lognormal(0., 0.5, SIZE)' 1.1331484530668263 0.3646958540123866
    moments 'halfnormal(2., SIZE)' 1.5957691216057308 1.4535209105296745
    moments 'triangular(0., 1., 3., SIZE)' 4/3 7/18
}

@test "shapes of the distributions: distance from the distribution function" {
    follows 'uniform(0., 1., SIZE)' 'x'
    follows 'normal(0., 1., SIZE)' '0.5 * erfc(-x / sqrt(2.))'
    follows 'exponential(1., SIZE)' '1 - exp(-x)'
    follows 'cauchy(0., 1., SIZE)' '0.5 + arctan(x) / pi'
    follows 'halfcauchy(2., SIZE)' '2 * arctan(x / 2) / pi'
    follows 'weibull(2., 3., SIZE)' '1 - exp(-(x / 3) ** 2)'
    follows 'laplace(0., 1., SIZE)' 'where(x < 0, 0.5 * exp(x), 1 - 0.5 * exp(-x))'
    follows 'logistic(0., 1., SIZE)' 'sigmoid(x)'
    follows 'gumbel(0., 1., SIZE)' 'exp(-exp(-x))'
    follows 'gamma(1., 1., SIZE)' '1 - exp(-x)'
    follows 'beta(1., 3., SIZE)' '1 - (1 - x) ** 3'
    follows 'triangular(0., 1., 3., SIZE)' 'where(x < 1, x ** 2 / 3, 1 - (3 - x) ** 2 / 6)'
}

@test "counts: categories, multinomial, choice, permutations" {
    ok "gload -e 'mean(one_hot(categorical([1., 2., 5.], (40000,), seed=3), 3), axis=0)' | grun --expect 'out=[0.125, 0.25, 0.625]' --atol 0.01 | grep -c out" 1
    ok "gload -e 'sum(multinomial(20, [0.2, 0.3, 0.5], (5,), seed=3), axis=-1)' | grun" 'out = [20, 20, 20, 20, 20]'
    ok "gload -e 'mean(float64(multinomial(20, [0.2, 0.3, 0.5], (20000,), seed=3)), axis=0)' | grun --expect 'out=[4., 6., 10.]' --atol 0.1 | grep -c out" 1
    ok "gload -e 'sort(permutation(5, rng=rng(1))[1])' | grun" 'out = [0, 1, 2, 3, 4]'
    ok "gload -e 'sort(choice(4, (4,), replace=False, seed=2))' | grun" 'out = [0, 1, 2, 3]'
    ok "gload -e 'all(choice([2., 3.], (50,), p=[0., 1.], seed=2) == 3.)' | grun" 'out = True'
    ok "gload -e 'sum(dirichlet([1., 2., 3.], (4,), seed=2), axis=-1) - 1' | grun --expect 'out=zeros(4)' --atol 1e-12 | grep -c out" 1
    ok "gload --new -e 'x = multivariate_normal([1., 2.], [[2., 1.], [1., 2.]], (40000,), seed=2)' -e 'm = mean(x, axis=0)' -e 'c = matmul((x - m).T, x - m) / 40000' --outputs m,c | grun --expect 'm=[1., 2.]' --expect 'c=[[2., 1.], [1., 2.]]' --atol 0.05 | grep -c =" 2
}

@test "a state gives one draw; the next state another; equal draws merge" {
    cat >r.yaml <<'Y'
thunkline: 1
inputs: {r: random}
let: |
  r1, a = normal(0., 1., (1000,), rng=r)
  r2, b = normal(0., 1., (1000,), rng=r)
  r3, c = normal(0., 1., (1000,), rng=r1)
  same = max(abs(a - b))
  other = sum(a == c)
outputs: [same, other]
Y
    ok 'grun r.yaml --seed 3' $'same = 0.0\nother = 0'
    ok 'gload r.yaml | grewrite -O math | grep -c "draw("' 2
    bad 2 E_MISSING r 'grun r.yaml'
}

@test "draws do not depend on the number of threads" {
    for e in 'normal(0., 1., SIZE)' 'gamma(0.5, 1., SIZE)' 'poisson(50., SIZE)' 'binomial(100, 0.4, SIZE)'; do
        gload -e "${e/SIZE/(100003,), seed=9}" -o t.tlg
        ok 'cmp <(grun t.tlg -O npy --threads 1) <(grun t.tlg -O npy --threads 2)'
    done
}

@test "gradients by location and scale; by the shape of gamma they are undefined" {
    gload --new -i 'm: float64' -i 's: float64' -e 'y = sum(laplace(m, s, (7,), seed=3))' -o g.tlg
    ok 'ggrad g.tlg --cost y --wrt m,s --check m=0.3 s=1.7'
    ok 'ggrad g.tlg --cost y --wrt m --only | grun m=0.3 s=1' 'd_y_d_m = 7.0'
    gload --new -i 'k: float64' -e 'y = gamma(k, 2., seed=3)' -o g.tlg
    bad 3 E_NULL 'derivative' 'ggrad g.tlg --cost y --wrt k'
}

@test "what does not fit is said" {
    bad 3 E_ARG 'either rng=.* or seed=' "gload -e 'exponential(1., (3,))'"
    bad 3 E_TYPE 'random stream is expected' "gload -i 'x: float64' -e 'normal(0., 1., rng=x)'"
    bad 3 E_ARG 'written out' "gload -e 'rng(1.5)'"
    bad 5 E_ARITHMETIC 'at least 0' "gload -e 'gamma(-1., 1., seed=1)' | grun"
    bad 5 E_ARITHMETIC '\[0, 1\]' "gload -e 'binomial(3, 1.5, seed=1)' | grun"
    bad 3 E_SHAPE 'number of categories' "gload -i 'p: float64[n]' -e 'multinomial(3, p, seed=1)'"
}
