# Random streams as values: the next state and a draw, distributions by their moments and shapes.
load common

# From lines `EXPRESSION | TEXT`, SIZE standing for (40000,), seed=11: a graph whose outputs row_N are TEXT of each x.
rows() { # size, seed
    local n=0 expr text args=()
    while IFS='|' read -r expr text; do
        n=$((n + 1))
        expr=${expr%"${expr##*[! ]}"}
        printf '%s\n' "$expr" >>rows.txt
        args+=(-e "x_$n = sort(float64(${expr/SIZE/size=($1,), seed=$2}))" -e "row_$n = ${text//X/x_$n}")
    done
    gload --new "${args[@]}" --outputs "$(seq -s, -f 'row_%g' "$n")" -o rows.tlg
}

# All outputs are True; says which draws are not as they should be.
all_true() {
    ok 'grun rows.tlg >rows.out'
    [ "$(wc -l <rows.out)" = "$(wc -l <rows.txt)" ]
    ! paste -d' ' rows.txt rows.out | grep -v 'True$'
}

# EXPRESSION | MEAN VARIANCE: each within 5 standard errors (by sampling, not by a bound on the error).
moments() {
    local m v
    sed -E 's/ *\| *([^ ]+) +([^ ]+)$/ | \1 \2/' | while IFS='|' read -r expr text; do
        read -r m v <<<"$text"
        printf '%s| (abs(mean(X) - (%s)) <= 5 * sqrt(var(X) / 40000)) & (abs(var(X) - (%s)) <= 5 * sqrt((mean((X - mean(X)) ** 4) - var(X) ** 2) / 40000))\n' "$expr" "$m" "$v"
    done | rows 40000 11
    all_true
}

# EXPRESSION | CDF of X: Kolmogorov and Smirnov's distance at the 0.1% level, in both dtypes.
follows() {
    local dtype expr text
    while IFS='|' read -r expr text; do
        for dtype in float64 float32; do
            printf '%s| max(abs(%s - (arange(20000) + 0.5) / 20000)) < 1.95 / sqrt(20000.)\n' "${expr/SIZE/SIZE, dtype=$dtype}" "$text"
        done
    done | rows 20000 5
    all_true
}

# EXPRESSION | K:P...: the share of draws that are K is P, within 0.01 (4 standard errors of a half).
shares() {
    local p text
    while IFS='|' read -r expr text; do
        printf '%s| True' "$expr"
        for p in $text; do printf ' & (abs(mean(X == %s) - %s) < 0.01)' "${p%:*}" "${p#*:}"; done
        printf '\n'
    done | rows 40000 3
    all_true
}

@test "moments of the distributions" {
    moments <<'T'
uniform(2., 4., SIZE) | 3 1/3
normal(1., 3., SIZE) | 1 9
standard_normal(SIZE) | 0 1
integers(0, 10, SIZE) | 4.5 8.25
bernoulli(0.3, SIZE) | 0.3 0.21
exponential(2., SIZE) | 2 4
standard_exponential(SIZE) | 1 1
truncexpon(3., 1., 2., SIZE) | 2.685625821052464 2.0149238019258493
gamma(2.5, 2., SIZE) | 5 10
gamma(0.4, 1., SIZE) | 0.4 0.4
standard_gamma(1000., SIZE) | 1000 1000
beta(2., 3., SIZE) | 0.4 0.04
beta(0.01, 0.01, SIZE) | 0.5 0.25/1.02
chisquare(5., SIZE) | 5 10
noncentral_chisquare(3., 2., SIZE) | 5 14
fisher_f(5., 20., SIZE) | 10/9 0.7098765432098766
noncentral_f(5., 20., 2., SIZE) | 14/9 1.3024691358024691
standard_t(12., SIZE) | 0 1.2
student_t(12., 1., 2., SIZE) | 1 4.8
inverse_gamma(6., 2., SIZE) | 0.4 0.04
gengamma(2., 3., 2., SIZE) | 2.381278697517998 0.347813717753211
poisson(3.5, SIZE) | 3.5 3.5
poisson(120., SIZE) | 120 120
poisson(1e10, SIZE) | 1e10 1e10
binomial(12, 0.3, SIZE) | 3.6 2.52
binomial(400, 0.7, SIZE) | 280 84
binomial(1000000000000, 0.5, SIZE) | 5e11 2.5e11
beta_binomial(10, 2., 3., SIZE) | 4 6
negative_binomial(5., 0.4, SIZE) | 7.5 18.75
geometric(0.25, SIZE) | 4 12
hypergeometric(70, 50, 40, SIZE) | 70/3 6.5359477124183005
hypergeometric(7000, 5000, 4000, SIZE) | 7000/3 648.2021649952311
hypergeometric(1000, 3, 500, SIZE) | 498.5044865403789 0.7484962977230302
logseries(0.6, SIZE) | 1.637035001905937 1.4127039072996714
zipf(7., SIZE) | 1.008919314769459 0.010423660130790102
laplace(1., 2., SIZE) | 1 8
logistic(1., 2., SIZE) | 1 4*pi**2/3
gumbel(1., 2., SIZE) | 1+2*0.5772156649 4*pi**2/6
weibull(2., 3., SIZE) | 2.6586807763582737 1.9314165294229655
pareto(8., SIZE) | 1/7 8/294
power(3., SIZE) | 0.75 0.0375
rayleigh(2., SIZE) | 2.5066282746310002 1.7168146928204138
wald(1., 3., SIZE) | 1 1/3
vonmises(0., 2., SIZE) | 0 0.7644618798111333
lognormal(0., 0.5, SIZE) | 1.1331484530668263 0.3646958540123866
halfnormal(2., SIZE) | 1.5957691216057308 1.4535209105296745
triangular(0., 1., 3., SIZE) | 4/3 7/18
T
}

@test "shapes of the distributions: distance from the distribution function" {
    follows <<'T'
uniform(0., 1., SIZE) | X
normal(0., 1., SIZE) | 0.5 * erfc(-X / sqrt(2.))
exponential(1., SIZE) | 1 - exp(-X)
truncexpon(2., SIZE) | (1 - exp(-X)) / (1 - exp(-2.))
cauchy(0., 1., SIZE) | 0.5 + arctan(X) / pi
standard_cauchy(SIZE) | 0.5 + arctan(X) / pi
halfcauchy(2., SIZE) | 2 * arctan(X / 2) / pi
weibull(2., 3., SIZE) | 1 - exp(-(X / 3) ** 2)
laplace(0., 1., SIZE) | where(X < 0, 0.5 * exp(X), 1 - 0.5 * exp(-X))
logistic(0., 1., SIZE) | sigmoid(X)
gumbel(0., 1., SIZE) | exp(-exp(-X))
gamma(1., 1., SIZE) | 1 - exp(-X)
gamma(0.5, SIZE) | erf(sqrt(X))
gamma(3., SIZE) | 1 - exp(-X) * (1 + X + X ** 2 / 2)
chisquare(1., SIZE) | erf(sqrt(X / 2))
inverse_gamma(0.5, 2., SIZE) | erfc(sqrt(2 / X))
gengamma(0.5, 0.7, SIZE) | erf(sqrt(X ** 0.7))
beta(1., 3., SIZE) | 1 - (1 - X) ** 3
beta(0.5, 0.5, SIZE) | 2 * arcsin(sqrt(X)) / pi
standard_t(2., SIZE) | 0.5 + X / (2 * sqrt(2 + X ** 2))
fisher_f(2., 4., SIZE) | 1 - (1 + X / 2) ** -2.
power(3., SIZE) | X ** 3
pareto(3., SIZE) | 1 - (1 + X) ** -3.
rayleigh(2., SIZE) | 1 - exp(-X ** 2 / 8)
lognormal(0.3, 0.5, SIZE) | 0.5 * erfc((0.3 - log(X)) / 0.5 / sqrt(2.))
halfnormal(2., SIZE) | erf(X / 2 / sqrt(2.))
wald(1., 3., SIZE) | 0.5 * erfc(-sqrt(3 / X) * (X - 1) / sqrt(2.)) + exp(6.) * 0.5 * erfc(sqrt(3 / X) * (X + 1) / sqrt(2.))
vonmises(0., 0., SIZE) | (X + pi) / (2 * pi)
vonmises(0., 1e-6, SIZE) | (X + pi) / (2 * pi)
vonmises(0., 1e8, SIZE) | 0.5 * erfc(-X * 1e4 / sqrt(2.))
triangular(0., 1., 3., SIZE) | where(X < 1, X ** 2 / 3, 1 - (3 - X) ** 2 / 6)
triangular(0., 3., 3., SIZE) | X ** 2 / 9
T
}

@test "shares of counts" {
    shares <<'T'
zipf(2., SIZE) | 1:0.607927 2:0.151982 3:0.067547 10:0.006079
zipf(1.1, SIZE) | 1:0.094478 2:0.044076 5:0.016087
zipf(2000., SIZE) | 1:1
logseries(0.95, SIZE) | 1:0.317118 2:0.150631 3:0.095400 10:0.019986
logseries(0., SIZE) | 1:1
hypergeometric(7, 5, 4, SIZE) | 0:0.010101 1:0.141414 2:0.424242 3:0.353535 4:0.070707
hypergeometric(15, 5, 10, SIZE) | 5:0.016254 6:0.135449 7:0.348297 8:0.348297 9:0.135449 10:0.016254
hypergeometric(20, 20, 20, SIZE) | 7:0.043594 9:0.204652 10:0.247629 11:0.204652 13:0.043594
hypergeometric(50, 0, 40, SIZE) | 40:1
hypergeometric(0, 50, 40, SIZE) | 0:1
hypergeometric(0, 0, 0, SIZE) | 0:1
beta_binomial(5, 0.3, 0.4, SIZE) | 0:0.359849 1:0.122676 2:0.093811 3:0.089902 4:0.105956 5:0.227806
poisson(0., SIZE) | 0:1
poisson(0.1, SIZE) | 0:0.904837 1:0.090484 2:0.004524
poisson(10., SIZE) | 5:0.037833 8:0.112599 10:0.125110 12:0.094780 15:0.034718
binomial(0, 0.5, SIZE) | 0:1
binomial(9, 0., SIZE) | 0:1
binomial(9, 1., SIZE) | 9:1
binomial(25, 0.5, SIZE) | 9:0.060885 11:0.132841 12:0.154981 13:0.154981 15:0.097417
negative_binomial(0.5, 0.1, SIZE) | 0:0.316228 1:0.142302 2:0.096054 10:0.019428
negative_binomial(3., 1., SIZE) | 0:1
geometric(0.999, SIZE) | 1:0.999 2:0.000999
geometric(1., SIZE) | 1:1
bernoulli(0., SIZE) | 0:1
bernoulli(1., SIZE) | 1:1
categorical([1., 0., 3.], SIZE) | 0:0.25 1:0 2:0.75
choice(3, SIZE, p=[0., 0.25, 0.75]) | 0:0 1:0.25 2:0.75
T
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
    bad 2 E_MISSING 'seed 1 sets' 'grun r.yaml'
}

@test "draws do not depend on the number of threads" {
    for e in 'normal(0., 1., SIZE)' 'gamma(0.5, 1., SIZE)' 'poisson(50., SIZE)' 'binomial(100, 0.4, SIZE)' 'vonmises(0., 2., SIZE)' 'hypergeometric(50, 40, 30, SIZE)' 'zipf(2., SIZE)' 'integers(0, 7, SIZE)' 'choice(5, SIZE, p=[0.1, 0.2, 0.3, 0.2, 0.2])' 'permutation(8192, seed=9)' 'permutation(100003, seed=9)'; do
        gload -e "${e/SIZE/(100003,), seed=9}" -o t.tlg
        ok 'cmp <(grun t.tlg -O npy --threads 1) <(grun t.tlg -O npy --threads 2)'
        ok 'cmp <(grun t.tlg -O npy --threads 1) <(grun t.tlg -O npy --threads 3)'
    done
}

@test "gradients by location and scale; by the shape of gamma they are undefined" {
    gload --new -i 'm: float64' -i 's: float64' -e 'y = sum(laplace(m, s, (7,), seed=3))' -o g.tlg
    ok 'ggrad g.tlg --cost y --wrt m,s --check m=0.3 s=1.7'
    ok 'ggrad g.tlg --cost y --wrt m --only | grun m=0.3 s=1' 'd_y_d_m = 7.0'
    gload --new -i 'k: float64' -e 'y = gamma(k, 2., seed=3)' -o g.tlg
    bad 3 E_NULL 'not differentiable with respect to its parameters' 'ggrad g.tlg --cost y --wrt k'
}

@test "a covariance may be singular, as where one variable is a multiple of another" {
    local mvn="multivariate_normal(zeros(3), [[4., 2., 6.], [2., 1., 3.], [6., 3., 9.]], (50,), seed=1)"
    ok "gload --new -e 'x = $mvn' -e 'a = max(abs(x[:, 0] - 2 * x[:, 1]))' -e 'b = max(abs(x[:, 2] - 3 * x[:, 1]))' -e 'c = std(x[:, 1]) > 0.7' --outputs a,b,c | grun --expect a=0 --expect b=0 --atol 1e-12 | tail -n 1" 'c = True'
    ok "gload -e 'multivariate_normal([1., 2.], zeros((2, 2)), (2,), seed=1)' | grun" $'out = [[1.0, 2.0],\n       [1.0, 2.0]]'
    ok "gload -e 'multivariate_normal([1., 2.], [[0., 0.], [0., 1e-20]], (9,), seed=1)[:, 1] != 2' | grun | grep -c False || true" 0
    # one dim of fourteen is spanned, in both dtypes
    for d in float64 float32; do
        ok "gload --new -e 'b = normal(0., 1., (14,), seed=3, dtype=$d)' -e 'x = multivariate_normal(zeros(14, dtype=$d), outer(b, b), (40,), seed=4) / b' -e 'out = (max(abs(x - x[:, :1])) < 1e-2) & (std(x) > 0.7)' --outputs out | grun --mode DEBUG" 'out = True'
    done
    # several covariances have draws of their own
    ok "gload --new -e 'x = multivariate_normal(zeros(2), stack([eye(2), eye(2)]), seed=1)' -e 'out = all(x[0] != x[1])' --outputs out | grun" 'out = True'
    bad 5 E_SINGULAR 'not positive semidefinite: its pivot 2 is negative' "gload -e 'multivariate_normal([0., 0.], [[1., 2.], [2., 1.]], seed=1)' | grun"
    bad 5 E_SINGULAR 'or 0 where the rest of its column is not' "gload -e 'multivariate_normal([0., 0.], [[0., 1.], [1., 1.]], seed=1)' | grun"
    bad 3 E_VALUE 'cov must be symmetric' "gload -e 'multivariate_normal([0., 0.], [[1., 0.5], [0.2, 1.]], seed=1)'"
    bad 3 E_SHAPE 'a row and a column for each element of mean, but they are float64.1, 2. and float64.2.' "gload -e 'multivariate_normal([0., 0.], [[1., 0.5]], seed=1)'"
    ok "gload -i 'm: float64[2]' -e 'y = sum(multivariate_normal(m, [[1., 1.], [1., 1.]], seed=1))' | ggrad --only | grun m=[1,2]" 'd_y_d_m = [1.0, 1.0]'
}

@test "whole numbers: the ranges of all dtypes, and no other" {
    ok "gload -e 'integers(-9223372036854775808, uint64(9223372036854775808), (2,), seed=1)' | grun" 'out = [7280647952038102640, -8321449626078650006]'
    ok "gload -e 'integers(0, uint64(18446744073709551615), (2,), seed=1, dtype=uint64)' | grun" 'out = [16504019988892878447, 901922410776125801]'
    ok "gload --new -e 'x = integers(uint64(18446744073709551612), uint64(18446744073709551615), (400,), seed=1, dtype=uint64)' -e 'a = min(x)' -e 'b = max(x)' --outputs a,b | grun" $'a = 18446744073709551612\nb = 18446744073709551614'
    local d range
    while read -r d range; do
        for how in seed=1 'rng=rng(1)'; do
            [ "$how" = seed=1 ] && i='' || i='[1]'
            ok "gload --new -e 'x = integers(${range/,/, }, (5000,), $how, dtype=$d)$i' -e 'a = min(x)' -e 'b = max(x)' --outputs a,b | grun --mode DEBUG | tr '\n' ' '" "a = ${range%,*} b = $((${range#*,} - 1)) "
        done
    done <<'T'
int8 -128,128
uint8 0,256
int16 -2,2
uint64 3,5
T
    ok "gload -e 'mean(float64(integers(0, 2, (10000,), seed=1, dtype=bool)))' | grun --expect out=0.5 --atol 0.02 | wc -l" 1
    ok "gload -e 'integers(5, 5, (0,), seed=1)' | grun" 'out = []'
    bad 5 E_ARITHMETIC 'low .5. is not below high .5.' "gload -e 'integers(5, 5, (2,), seed=1)' | grun"
    bad 5 E_ARITHMETIC '.0, 18446744073709551615. is beyond int64' "gload -e 'integers(0, uint64(18446744073709551615), seed=1)' | grun"
    bad 5 E_ARITHMETIC '.-129, 0. is beyond int8' "gload -e 'integers(-129, 0, seed=1, dtype=int8)' | grun"
    bad 5 E_ARITHMETIC '.0, 3. is beyond bool' "gload -e 'integers(0, 3, rng=rng(1), dtype=bool)[1]' | grun"
}

@test "extreme parameters give numbers, not nan" {
    local n=0 e text args=()
    while IFS='|' read -r e text; do
        n=$((n + 1))
        e=${e%"${e##*[! ]}"}
        args+=(-e "x_$n = float64(${e/%)/, size=(500,), seed=6)})" -e "row_$n = all(${text//X/x_$n})")
    done <<'T'
beta(1e-300, 1e-300) | (X == 0) | (X == 1)
beta(1e-3, 1e-3) | (X >= 0) & (X <= 1)
beta(1e300, 1e300) | X == 0.5
beta(1e-320, 1.) | X == 0
gamma(1e-300) | X == 0
gamma(1e300) | X == 1e300
gamma(inf) | X == inf
gamma(2., 0.) | X == 0
poisson(1e9) | abs(X - 1e9) < 2e5
poisson(4e18) | abs(X - 4e18) < 1e10
poisson(1e-320) | X == 0
binomial(0, 0.3) | X == 0
binomial(9, 0.) | X == 0
binomial(9, 1.) | X == 9
binomial(9, 1e-300) | X == 0
binomial(1000000000000000, 0.3) | abs(X - 3e14) < 1e8
binomial(1000000000000000, 1e-15) | X < 20
geometric(1.) | X == 1
logseries(0.9999999999999999) | X >= 1
vonmises(0., inf) | X == 0
wald(1e300, 1e-300) | X >= 0
triangular(1., 1., 1.) | X == 1
uniform(1., 1.) | X == 1
normal(2., 0.) | X == 2
laplace(2., 0.) | X == 2
exponential(0.) | X == 0
truncexpon(1e-300) | (X >= 0) & (X < 1e-299)
categorical([1e-320, 1e-320]) | (X == 0) | (X == 1)
hypergeometric(1000000000000000, 1000000000000000, 1000000000000000) | abs(X - 5e14) < 1e9
T
    gload --new "${args[@]}" --outputs "$(seq -s, -f 'row_%g' "$n")" -o rows.tlg
    ok 'grun rows.tlg | grep -v True || true' ''
    ok "gload -e 'dirichlet([1e-300, 0.], (2,), seed=1)' | grun" $'out = [[1.0, 0.0],\n       [1.0, 0.0]]'
    ok "gload -e 'multinomial(10, [0.1, 0.2, 0.69999999], (2,), seed=1)' | grun" $'out = [[2, 5, 3],\n       [0, 2, 8]]'
    ok "gload -e 'shape(normal(0., 1., (), seed=1))' | grun" 'out = []'
    ok "gload -e 'shape(normal(0., 1., (2, 0), seed=1))' | grun" 'out = [2, 0]'
}

@test "what does not fit is said" {
    bad 3 E_ARG 'either rng=.* or seed=' "gload -e 'exponential(1., (3,))'"
    bad 3 E_TYPE 'state of a random stream' "gload -i 'x: float64' -e 'normal(0., 1., rng=x)'"
    bad 3 E_ARG 'integer literal' "gload -e 'rng(1.5)'"
    bad 5 E_ARITHMETIC 'at least 0' "gload -e 'gamma(-1., 1., seed=1)' | grun"
    bad 5 E_ARITHMETIC '\[0, 1\]' "gload -e 'binomial(3, 1.5, seed=1)' | grun"
    bad 3 E_SHAPE 'number of categories' "gload -i 'p: float64[n]' -e 'multinomial(3, p, seed=1)'"
}

@test "gradients by parameters, the state held, agree with finite differences" {
    local f
    while read -r f; do
        gload --new -i 'm: float64' -i 's: float64' -e "y = sum(${f/SIZE/(5,), seed=3} ** 2)" -o g.tlg
        ok 'ggrad g.tlg --cost y --wrt m,s --disconnected ignore --check m=0.7 s=1.7' || complain "$f" ggrad || return
        ok 'ggrad g.tlg --jvp y --wrt m,s --check m=0.7 s=1.7' || complain "$f" ggrad || return
    done <<'T'
uniform(m, m + s, SIZE)
normal(m, s, SIZE)
logistic(m, s, SIZE)
gumbel(m, s, SIZE)
cauchy(m, s, SIZE)
laplace(m, s, SIZE)
lognormal(m, s, SIZE)
student_t(3., m, s, SIZE)
exponential(s + m, SIZE)
gamma(2., s + m, SIZE)
inverse_gamma(3., s * m, SIZE)
gengamma(2., s, m, SIZE)
weibull(s, m, SIZE)
pareto(s + m, SIZE)
power(s + m, SIZE)
rayleigh(s + m, SIZE)
halfnormal(s * m, SIZE)
halfcauchy(s * m, SIZE)
triangular(0., m, s, SIZE)
truncexpon(s, m, s, SIZE)
wald(m, s, SIZE)
vonmises(m * s, 2., SIZE)
multivariate_normal([m, s], [[s, 0.1], [0.1, m]], SIZE)
T
}

@test "gradients by parameters at their ends, and where the draw has few digits of them" {
    local z='gload -e "sum(normal(0., 1., (3,), seed=1))" | grun | cut -c7-' u='gload -e "sum(uniform(0., 1., (3,), seed=1))" | grun | cut -c7-'
    gload --new -i 'a: float64' -i 'b: float64' -e 'y = sum(normal(a, b, (3,), seed=1))' --outputs y -o n.tlg
    ok 'ggrad n.tlg --wrt a,b --only | grun a=1 b=0' "d_y_d_a = 3.0"$'\n'"d_y_d_b = $(eval "$z")"
    gload --new -i 'a: float64' -i 'b: float64' -e 'y = sum(uniform(a, b, (3,), seed=1))' --outputs y -o n.tlg
    ok 'ggrad n.tlg --wrt b --only | grun a=1 b=1' "d_y_d_b = $(eval "$u")"
    gload --new -i 'r: random' -i 's: float32' -e 'n, x = normal(float32(100), s, (3,), rng=r, dtype=float32)' -e 'y = sum(x)' --outputs y -o n.tlg
    ok 'ggrad n.tlg --wrt s --only | grun "r=rng(1)" s=0.001' "d_y_d_s = $(gload -e 'sum(normal(0., 1., (3,), seed=1, dtype=float32))' | grun | cut -c7-)"
    gload --new -i 'a: float64' -i 'b: float64' -e 'y = sum(triangular(a, a, b, (5,), seed=1))' --outputs y -o n.tlg
    ok 'ggrad n.tlg --wrt a,b | gload -e "s = d_y_d_a + d_y_d_b" --outputs s | grun a=1 b=3 --expect s=5 | wc -l' 1
    gload --new -i 'a: float64' -i 'b: float64' -e 'y = sum(triangular(a, b, b, (5,), seed=1))' --outputs y -o n.tlg
    ok 'ggrad n.tlg --wrt a,b | gload -e "s = d_y_d_a + d_y_d_b" --outputs s | grun a=1 b=3 --expect s=5 | wc -l' 1
}

@test "a stream goes on in the next step, and where it was saved" {
    cat >walk.yaml <<'Y'
thunkline: 1
shared:
  r: random = rng(5)
  total: float64 = 0.0
let: |
  next, x = gamma(0.5, 1., (3,), rng=r)
outputs: [x]
updates: |
  r = next
  total = total + sum(x)
Y
    grun walk.yaml --steps 4 --every 1 -O tsv --save long.tlg >long
    [ "$(cut -f2 long | sort -u | wc -l)" = 5 ] # four draws, all different
    for format in tlg yaml; do
        grun walk.yaml --steps 2 --every 1 -O tsv --save "half.$format" >first
        grun "half.$format" --steps 2 --every 1 -O tsv --save rest.tlg >second
        ok 'cut -f2 long' "$(cut -f2 first; tail -n 2 second | cut -f2)"
        ok 'gload rest.tlg --outputs total | grun' "$(gload long.tlg --outputs total | grun)"
    done
    ok 'grewrite walk.yaml | grun --steps 4 -O tsv | tail -n 1' "$(tail -n 1 long | cut -f2)"
}

@test "--seed is the state of random inputs" {
    gload --new -i 'r: random' -e 'n, x = uniform(size=(2,), rng=r)' --outputs x -o u.tlg
    ok 'cmp <(grun u.tlg --seed 3) <(grun u.tlg "r=rng(3)")'
    shell 'cmp <(grun u.tlg --seed 3) <(grun u.tlg --seed 4)'
    [ "$status" = 1 ]
}

@test "parameters broadcast against each other and into the size; nothing is drawn where nothing is" {
    ok "gload -e 'hypergeometric([5, 6, 7], [[1], [2]], 3, (0, 2, 3), seed=1)' | grun" "out = zeros((0, 2, 3), dtype='int64')"
    ok "gload -e 'shape(triangular([0., 1.], [[1.], [2.]], 4., seed=1))' | grun" 'out = [2, 2]'
    ok "gload -e 'shape(normal([0., 1.], [[1.], [2.]], (3, 2, 2), rng=rng(1))[1])' | grun" 'out = [3, 2, 2]'
    ok "gload -e 'shape(dirichlet(ones((2, 3)), (5, 2), seed=1))' | grun" 'out = [5, 2, 3]'
    ok "gload -e 'categorical([[1., 0.], [0., 1.]], (3, 2), seed=1)[:, 1]' | grun" 'out = [1, 1, 1]'
    ok "gload -e 'permutation(0, seed=1)' | grun" 'out = []'
    bad 3 E_SHAPE 'axis -1 has 2 and 3' "gload -e 'wald([1., 2.], [1., 2., 3.], seed=1)'"
    bad 3 E_SHAPE 'which does not broadcast to float64.2., which the size' "gload -e 'normal([0., 1.], [[1.], [2.]], (2,), seed=1)'"
    bad 3 E_SHAPE 'draws with these parameters are int64.2., but the size asks for .*.1.' "gload -e 'categorical([[1., 0.], [0., 1.]], (1,), seed=1)'"
    bad 5 E_RUN_SHAPE 'a parameter of shape .2,. does not broadcast to draws of shape .3,.' "gload -i 'v: float64[?]' -e 'normal(v, 1., (3,), seed=1)' | grun v=[1,2]"
    bad 5 E_RUN_SHAPE 'a parameter of shape .2, 2. does not broadcast to draws of shape .0, 2.' "gload -i 'x: float32[k, k]' -e 'uniform(x, 9., (0, 2), seed=1)' | grun x='[[1, 2], [3, 4]]'"
    # known while running only
    bad 5 E_ARITHMETIC 'no more can be taken than there are' "gload -i 'v: float64[?]' -e 'choice(v, (3,), replace=False, seed=1)' | grun v=[1,2]"
    bad 5 E_ARITHMETIC 'no elements to take from' "gload -i 'v: float64[?]' -e 'choice(v, (3,), seed=1)' | grun v=[]"
    bad 3 E_SHAPE 'which does not broadcast to float64' "gload -e 'normal(zeros((2, 1)), [1., 2., 3.], (0,), seed=1)'"
    # each element of several parameters is what it is alone in its place
    ok "gload --new -e 'x = binomial([3, 300, 30000], [0.5, 0.1, 0.9], seed=2)' -e 'y = binomial(300, 0.1, (3,), seed=2)' -e 'x[1] == y[1]' --outputs out | grun" 'out = True'
}

@test "tiny shapes, huge means, narrow dtypes" {
    ok "gload --new -e 'x = beta(1e-300, 1e-300, (50,), seed=1)' -e 'all((x == 0) | (x == 1))' --outputs out | grun" 'out = True'
    ok "gload --new -e 'x = dirichlet([1e-4, 1e-4], (50,), seed=1)' -e 'all(abs(sum(x, axis=-1) - 1) < 1e-12)' --outputs out | grun" 'out = True'
    ok "gload -e 'gamma(0., size=(2,), seed=1)' | grun" 'out = [0.0, 0.0]'
    ok "gload -e 'abs(poisson(1e18, (9,), seed=1) - 1e18) < 1e10' | grun" "out = [$(printf 'True, %.0s' {1..8})True]"
    ok "gload -e 'poisson(300., (2,), seed=1, dtype=uint8)' | grun" 'out = [255, 255]'
    ok "gload -e 'geometric(1e-300, seed=1) > 9e18' | grun" 'out = True'
    ok "gload --new -e 'x = gumbel(0., 1., (300000,), seed=1, dtype=float32)' -e 'y = logistic(0., 1., (300000,), seed=1, dtype=float16)' -e 'z = laplace(0., 1., (300000,), seed=1, dtype=float16)' -e 'isfinite(max(abs(x))) & isfinite(max(abs(y))) & isfinite(max(abs(z)))' --outputs out | grun" 'out = True'
}

@test "rows in a random order; choice without replacement prefers what is likely" {
    ok "gload -e 'sort(permutation([[1, 2], [3, 4], [5, 6]], seed=1), axis=0)' | grun" $'out = [[1, 2],\n       [3, 4],\n       [5, 6]]'
    ok "gload -e 'sort(shuffle([3., 1., 2.], rng=rng(4))[1])' | grun" 'out = [1.0, 2.0, 3.0]'
    ok "gload -e 'sort(choice(4, (3,), replace=False, p=[0.2, 0., 0.5, 0.3], seed=2))' | grun" 'out = [0, 2, 3]'
    gload --new -e 'step = lambda r: choice(3, (2,), replace=False, p=[0.5, 0.3, 0.2], rng=r)' \
        -e 's, x = scan(step, outputs_info=[rng(1), None], n_steps=20000)' -e 'first = mean(x[:, 0] == 0)' -e 'left = mean(all(x != 0, axis=1))' --outputs first,left -o c.tlg
    ok "grun c.tlg --expect first=0.5 --expect left=0.1607 --atol 0.012 | wc -l" 2 # 0.3 0.2 / 0.7 + 0.2 0.3 / 0.8
    ok "gload -e 'sum(multivariate_hypergeometric([5, 3, 2], 4, (3,), seed=1), axis=-1)' | grun" 'out = [4, 4, 4]'
    ok "gload -e 'mean(float64(multivariate_hypergeometric([5, 3, 2], 4, (20000,), seed=3)), axis=0)' | grun --expect 'out=[2., 1.2, 0.8]' --atol 0.03 | grep -c out" 1
}

@test "parameters that can't be: at once where they are known, else where they run" {
    local f
    while IFS='|' read -r f text; do
        f=${f% }
        bad 3 E_VALUE "${text# }" "gload -e '${f/%)/, seed=1)}'" || return
    done <<'T'
exponential(-1.) | scale >= 0
exponential([1., -1.]) | scale >= 0
bernoulli(1.5) | p <= 1
geometric(0.) | p > 0
beta(0., 1.) | a > 0
standard_t(0.) | df > 0
triangular(1., 0., 3.) | left <= mode
weibull(-1.) | a > 0
dirichlet([1., -1.]) | alpha >= 0
categorical([0.5, -0.1]) | p >= 0
categorical([0., 0.]) | sum
categorical([inf, 1.]) | < inf
dirichlet([0., 0.]) | sum
choice(4, (3,), replace=False, p=[0., 0.5, 0.5, 0.]) | a probability above 0
choice(0) | no elements to take
choice(zeros((0, 2)), (1,)) | no elements to take
multinomial(5, [0.1, 0.2]) | must sum to 1
choice(3, p=[0.1, 0.2, 0.3]) | must sum to 1
choice(3, p=[0.5, 0.5]) | as many probabilities as there are elements
choice(3, (4,), replace=False) | no more can be taken
multivariate_hypergeometric([5, 3], 9) | at most the sum of colors
permutation(-1) | no permutation of -1
T
    while IFS='|' read -r f text; do
        f=${f% }
        bad 5 E_ARITHMETIC "${text# }" "gload --new -i 'v: float64' -e 'out = ${f/%)/, rng=rng(1))}[1]' | grun v=-2" || return
        bad 5 E_ARITHMETIC "${text# }" "gload --new -i 'v: float64' -e 'out = ${f/%)/, rng=rng(1))}[1]' | grun v=nan" || return
    done <<'T'
uniform(0., v) | low must be at most high
normal(0., v) | scale must be at least 0
halfnormal(v) | scale must be at least 0
laplace(0., v) | laplace: it needs scale >= 0
gamma(v) | shape of a gamma
chisquare(v) | chisquare: it needs df > 0
poisson(v) | lam of a Poisson distribution must be in .* the parameter is (-2.0|nan)
choice(3, (2,), p=stack([v, 1 - v, 0 * v])) | probabilities must be at least 0
dirichlet(stack([v, v])) | alpha >= 0
binomial(v, 0.5) | n of a binomial distribution must be a whole number
hypergeometric(v, 1, 1) | whole numbers
zipf(v) | above 1
vonmises(0., v) | kappa of a von Mises distribution must be at least 0
logseries(v) | p >= 0
wald(1., v) | scale > 0
multinomial(3, stack([v, 1 - v])) | probabilities must be at least 0
T
    # what nothing reads is not checked
    ok "gload --new -i 'v: float64' -e 'x = laplace(0., v, seed=1)' -e 'y = v + 1' --outputs y | grun v=-1" 'y = 0.0'
    ok "gload --new -i 'v: float64' -e 'y = require(v, True) + 1' | grewrite -O math | sed -n '/require/p'" ''
    bad 3 E_TYPE 'rng must be the state' "gload -e 'normal(0., 1., rng=5)'"
    bad 3 E_ARG 'either rng=.* or seed=' "gload -e 'gamma(1., 2., (3,), rng=rng(1), seed=1)'"
    bad 3 E_DTYPE "can't be int64" "gload -e 'logistic(0., 1., seed=1, dtype=int64)'"
}

# EXPRESSION | VALUES: what a seed gives today it gives for ever (uniform, normal, logistic, cauchy and gamma were worked out
# by another program from the definition in value/rng.h).
@test "the streams stay what they are" {
    local n=0 expr text args=()
    while IFS='|' read -r expr text; do
        n=$((n + 1))
        args+=(-e "row_$n = max(abs(float64(${expr/SIZE/size=(2,), seed=77}).ravel() - array([${text// /, }], dtype='float64')))")
    done < <(sed 's/ *| */|/' <<'T'
uniform(2., 5., SIZE) | 2.843288558912112 3.7031581123310118
uniform(2., 5., SIZE, dtype=float32) | 2.6184912 2.8432884
normal(1., 3., SIZE) | -3.3532825678112506 -0.9728105617332408
integers(-5, 1000, SIZE) | 277 49
bernoulli(0.3, SIZE) | 1 0
exponential(2., SIZE) | 0.6600554162034371 1.6773605939139147
truncexpon(3., 1., 2., SIZE) | 1.621495384066845 2.5506863228779033
gamma(2.5, 2., SIZE) | 1.3114457841052565 11.963141313978085
gamma(0.3, 2., SIZE) | 0.10123206517216973 0.880182038940819
inverse_gamma(3., 2., SIZE) | 2.1513927358459406 0.2961180634369619
gengamma(2., 3., 2., SIZE) | 1.4828192388970416 3.460398793096725
beta(2., 3., SIZE) | 0.17264884230673214 0.49306131207596743
chisquare(5., SIZE) | 1.3114457841052565 11.963141313978085
noncentral_chisquare(3., 2., SIZE) | 1.4375622027971224 6.293603507034546
fisher_f(3., 7., SIZE) | 0.19237718290247444 1.6840650800771486
noncentral_f(3., 7., 2., SIZE) | 1.203246197561817 2.558680668371035
standard_t(4., SIZE) | -1.9412401533165498 -0.47072780805124453
student_t(4., 1., 2., SIZE) | -2.8824803066330995 0.05854438389751093
laplace(1., 2., SIZE) | -0.1518223752907244 1.2910662327940239
logistic(1., 2., SIZE) | -0.8780613202071779 1.5451044981438735
gumbel(1., 2., SIZE) | 3.2171573282035677 1.3518513952571367
cauchy(1., 2., SIZE) | -0.6429755739104048 1.432031184267907
halfcauchy(2., SIZE) | 0.945338305136382 2.4781619093634295
halfnormal(2., SIZE) | 2.9021883785408336 1.315207041155494
lognormal(0.3, 0.5, SIZE) | 0.6534122090106486 0.9716090568750052
weibull(2., 3., SIZE) | 1.723441142863738 2.7473846968731217
pareto(3., SIZE) | 0.1162883804885906 0.32254789419345115
power(3., SIZE) | 0.8958258613802895 0.7561162846278959
rayleigh(2., SIZE) | 1.6248758921264566 2.590259132916176
wald(1., 3., SIZE) | 2.259270748867892 0.6856256935129893
vonmises(1., 2., SIZE) | 1.3286936350528684 1.0593691603536826
triangular(0., 1., 3., SIZE) | 0.9183074424788857 1.389508219413096
poisson(3.5, SIZE) | 4 1
poisson(300., SIZE) | 288 262
binomial(12, 0.3, SIZE) | 3 1
binomial(4000, 0.3, SIZE) | 1181 1137
beta_binomial(100, 2., 3., SIZE) | 14 54
negative_binomial(5., 0.1, SIZE) | 25 85
geometric(0.01, SIZE) | 33 84
hypergeometric(70, 50, 4, SIZE) | 3 2
hypergeometric(700, 500, 400, SIZE) | 230 233
logseries(0.99, SIZE) | 1 8
zipf(1.3, SIZE) | 68 17063
dirichlet([1., 2.], SIZE) | 0.008640373954836975 0.991359626045163 0.26608287331203595 0.733917126687964
multivariate_normal([1., 2.], [[2., 1.], [1., 2.]], SIZE) | -1.0521570827470144 0.16852491938984415 1.0868851560274329 0.7541223248501072
categorical([1., 2., 5., 3.], SIZE) | 2 2
multinomial(20, [0.2, 0.3, 0.5], SIZE) | 3 9 8 1 7 12
multivariate_hypergeometric([50, 30, 20], 14, SIZE) | 8 6 0 7 3 4
choice(100, SIZE) | 28 5
choice(100, SIZE, replace=False) | 61 55
choice(4, SIZE, p=[0.1, 0.2, 0.3, 0.4]) | 1 2
choice(4, SIZE, replace=False, p=[0.1, 0.2, 0.3, 0.4]) | 3 2
T
    )
    gload --new "${args[@]}" --outputs "$(seq -s, -f 'row_%g' "$n")" -o rows.tlg
    ok "grun rows.tlg | awk '!(\$3 <= 2e-7)'" ''
    [ "$(grun rows.tlg | wc -l)" = 52 ]
}

@test "draws: dtypes, shapes of parameters and ends of arguments that can't be are told when the graph is built" {
    local line code want
    while IFS='|' read -r line code want; do
        bad 3 "$code" "$want" "gload --new -i 'r: random' -i 'k: int64' -e '$line'"
    done <<'END1'
choice(5, 2, replace=1, seed=1)|E_ARG|replace must be True or False
choice(5, 2, p=ones((2, 2)), seed=1)|E_SHAPE|p must be a vector of probabilities
gumbel(0, 1, 2, seed=1, dtype=3)|E_ARG|dtype must be a dtype such as float32
gumbel(0, 1, 2, seed=1, dtype=int64)|E_DTYPE|draws of gumbel can't be int64: they are floats
normal(0, 1, 2, seed=1, dtype=int64)|E_DTYPE|normal: the draws must have a float dtype, not int64
uniform(0, 1, 2, seed=1, dtype=complex64)|E_DTYPE|uniform: the draws must have a float dtype, not complex64
integers(0, 5, 2, seed=1, dtype=float64)|E_DTYPE|must have an integer dtype or bool, not float64
multinomial(5, 0.5, seed=1)|E_SHAPE|number of categories must be known, from 1 to 1024, but pvals is float64
multinomial(5, ones(k), seed=1)|E_SHAPE|number of categories must be known, from 1 to 1024, but pvals is float64\[\?\]
multivariate_hypergeometric(5, 2, seed=1)|E_SHAPE|number of categories must be known, from 1 to 1024, but colors is int64
multivariate_normal(0.0, 1.0, seed=1)|E_SHAPE|multivariate_normal: mean must have at least one dim
multivariate_normal([0.0], 1.0, seed=1)|E_SHAPE|cov must be a matrix
categorical(0.5, seed=1)|E_SHAPE|categorical: p must have at least one dim
dirichlet(0.5, seed=1)|E_SHAPE|dirichlet: alpha must have at least one dim
normal([1., 2.], [1., 2., 3.], seed=1)|E_SHAPE|normal: the shapes of the parameters do not broadcast
shuffle(1.5, seed=1)|E_DTYPE|shuffle takes integers for n
permutation(-1, seed=1)|E_VALUE|there is no permutation of -1 elements
draw(r, 0.0, 1.0, [2], dist="nothing", dtype=float64)|E_ARG|there is no distribution 'nothing'
draw(3, 0.0, 1.0, [2], dist="normal", dtype=float64)|E_TYPE|expected the state of a random stream, not int64
draw(r, 0.0, dist="normal", dtype=float64)|E_ARITY|normal takes 2 parameters and the size
draw(r, 0.0, 1.0, [2], dist="normal", dtype=int64)|E_DTYPE|draws of normal can't be int64
multinomial(5, [0.5, -0.5, 1.0], seed=1)|E_VALUE|multinomial: probabilities must be at least 0
multinomial(5, float32([0.5, 0.499]), seed=1)|E_VALUE|multinomial: probabilities must sum to 1
multinomial(5, zeros(0), seed=1)|E_SHAPE|number of categories must be known, from 1 to 1024, but pvals is float64\[0\]
multinomial(1, ones(2000) / 2000, seed=1)|E_SHAPE|number of categories must be known, from 1 to 1024, but pvals is float64\[2000\]
multivariate_hypergeometric([5, -3], 1, seed=1)|E_VALUE|multivariate_hypergeometric: colors must be at least 0
multivariate_hypergeometric([], 0, seed=1)|E_SHAPE|number of categories must be known, from 1 to 1024, but colors is
choice(3, None, False, [0.0, 0.0, 0.0], seed=1)|E_VALUE|choice: probabilities must sum to 1
choice(3, (2,), False, [0.0, 1.0, 0.0], seed=1)|E_VALUE|without replacement no more can be taken than have a probability above 0
multivariate_normal([0., 0., 0.], ones((2, 2)), seed=1)|E_SHAPE|cov must be a matrix .* float64\[2, 2\] and float64\[3\]
multivariate_normal([0., 0., 0.], ones((2, 3)), seed=1)|E_SHAPE|cov must be a matrix .* float64\[2, 3\] and float64\[3\]
multivariate_normal([0., 0., 0.], ones((3, 2)), seed=1)|E_SHAPE|cov must be a matrix .* float64\[3, 2\] and float64\[3\]
multivariate_normal([0., 0.], [[1., 0.5], [0., 1.]], seed=1)|E_VALUE|cov must be symmetric
multivariate_normal(ones((2, 3)), eye(3), (3,), seed=1)|E_SHAPE|multivariate_normal: .*axis -2 has 2 and 3
dirichlet(ones((2, 3)), (4, 3), seed=1)|E_SHAPE|dirichlet: draws with these parameters are float64\[2, 3\], which does not broadcast to float64\[4, 3, \?\]
categorical(ones((2, 3)), (4,), seed=1)|E_SHAPE|categorical: .*axis -2 has 4 and 2
rng(-1)|E_ARG|a seed must be an integer literal
rng(True)|E_ARG|a seed must be an integer literal
rng(k)|E_ARG|a seed must be an integer literal
grad(sum(poisson(ones(k) * k, seed=1)), k)|E_NULL|draws of this distribution are not differentiable with respect to its parameters
END1
    local value
    while IFS='|' read -r line value; do
        ok "gload --new -i 'w: float64[?]' -e '$line' | grun --on-unused-input ignore w=[1,2]" "out = $value"
    done <<'END2'
multinomial(5, [1.0], seed=1)|[5]
sum(multinomial(5, float16([0.5, 0.5]), seed=1))|5
multivariate_hypergeometric([5], 2, seed=1)|[2]
sum(multivariate_hypergeometric([5, 3, 9], 17, seed=1) * [1, 10, 100])|935
choice([7, 8, 9], None, False, [0.0, 1.0, 0.0], seed=1)|8
choice([7, 8, 9], size=None, p=None, seed=1) >= 7|True
shape(normal(0., 1., None, seed=1, dtype=None)).size|0
shape(multivariate_normal(w, eye(2), seed=1))|[2]
shape(multivariate_normal([0., 0.], ones((w.size, w.size)), (4,), seed=1))|[4, 2]
zipf(inf, 3, seed=1)|[1, 1, 1]
vonmises(0., inf, 3, seed=1)|[0.0, 0.0, 0.0]
binomial(0, 0.5, 3, seed=1, dtype=int8)|[0, 0, 0]
poisson(0., 3, seed=1, dtype=float32)|[0.0, 0.0, 0.0]
integers(0, 1, 3, seed=1, dtype=bool)|[False, False, False]
gamma([], 1., seed=1)|[]
END2
    while IFS= read -r line; do
        bad 5 E_ARITHMETIC 'must be whole numbers in \[0, 2\^53\), and nsample at most ngood \+ nbad' "gload --new -e 'hypergeometric($line, seed=1)' | grun"
    done <<'END3'
5, 4, 10
-5, 4, 1
5, -4, 1
5, 4, -1
9007199254740991, 9007199254740991, 1
END3
    bad 5 E_ARITHMETIC 'there is no permutation of -1 elements' 'gload --new -i "n: int64" -e "permutation(n, seed=1)" | grun n=-1'
    ok 'gload --new -i "p: float64[3, 2]" -e "categorical(p, seed=1)" | grun p=[[1,0],[0,1],[0,1]]' 'out = [0, 1, 1]'
}

@test "arguments in the order of NumPy, SciPy and PyTorch that mean something else here" {
    local call want
    while IFS='|' read -r call want; do
        bad 3 E_ "$want" "gload -i 'x: float64[n]' -e 'y = $call' -o o.tlg"
    done <<'END'
weibull(2., 5, seed=1)|write weibull\(a, size=\.\.\.\), or scale= if it is one
weibull(2., (5, 3), seed=1)|takes the scale here, not the size
weibull(2., n, seed=1)|takes the scale here, not the size
weibull(2., x.shape, rng=rng(1))|takes the scale here, not the size
halfnormal(0, 1, seed=1)|takes the scale here, and has no location
halfcauchy(0., 1., 3, seed=1)|write halfcauchy\(scale, size=\.\.\.\)
gengamma(1., 2., 0., 1, seed=1)|write gengamma\(a, c, scale, size=\.\.\.\)
multinomial([0.5, 0.5], 3, seed=1)|n comes first; categorical\(p, size\) draws indices
standard_normal(2, 3, seed=1)|either rng=.*, not both
permutation(x, 0, seed=1)|permutation\(x, rng=None, seed=None\)
standard_normal(2)|needs either rng=
END
    ok "gload -e 'a = weibull(2., scale=3, seed=1)' -e 'b = weibull(2., 3., seed=1)' -e 'c = weibull(2., 3, (), seed=1)' -e 'y = (a == b) & (a == c)' --outputs y | grun" 'y = True'
    ok "gload -e 'y = halfnormal(0., seed=1)' | grun" 'y = 0.0'
}

@test "rng= and size= see what := names in the parameters" {
    ok "gload -e 'f = lambda u: normal((k := 2 * u), 1.0, 2, rng=rng_fork(rng(1), int64(k)))' -e 'a = f(1.)[1]' -e 'b = normal(2., 1., 2, rng=rng_fork(rng(1), 2))[1]' -e 'y = all(a == b)' --outputs y | grun" 'y = True'
    ok "gload -e 'f = lambda n: choice((k := arange(n)), k.shape, False, None, rng(3))' -e 'y = sum(f(4)[1])' --outputs y | grun" 'y = 6'
    ok "gload -e 'f = lambda n: multinomial((k := n + 1), [0.25, 0.75], rng=rng_fork(rng(1), k))' -e 'y = sum(f(4)[1])' --outputs y | grun" 'y = 5'
    bad 3 E_TYPE 'rng must be the state' "gload -e 'y = normal(0., 1., 2, rng=3)'"
}
