#!/usr/bin/env bats
# Special functions: values of mpmath and SciPy, derivatives.
load common
load values

@test "special functions are those of mpmath and SciPy" {
    families "$ROOT/tests/bats/special.tsv"
}

@test "their derivatives are those of finite differences, or said to be undefined" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[4]', y: 'float64[4]'}
let: |
  gammas = sum(gammainc(1.7, x) ** 2 + gammaincc(0.6, x)) + sum(gammaincinv(2.5, y) + gammainccinv(0.8, y)) + sum(betainc(1.5, 2.5, y) ** 2 + betaincinv(2.5, 0.7, y))
  betas = sum(beta(x, y) + betaln(y, x) ** 2)
  bessel = sum(jv(0.3, x) * yv(2, x) + iv(1.5, x) * kv(-0.4, x) + ive(2, x) ** 2 + kve(0, x)) + sum(j0(x) * j1(x) + y0(x) * y1(x) + i0(x) * k1(x) + i1e(x) * i0e(x) + i1(x) * k0(x))
  normal = sum(erfcx(x) ** 2 + ndtr(x) * log_ndtr(-x) + ndtri(y)) + sum(owens_t(x, y) + owens_t(y, 1 + x))
  rest = sum(zeta(3, x) ** 2 + expn(0, x) + expn(2, x) * expn(1, y) + entr(x) + sinc(x) ** 2)
  cost = gammas + betas + bessel + normal + rest
outputs: [cost]
Y
    ok 'ggrad g.yaml --cost cost --wrt x,y --check x=[0.3,0.9,2.6,5.5] y=[0.2,0.45,0.7,0.9]'
    local call
    for call in 'gammainc(x, 1.)' 'jv(x, 1.)' 'zeta(x, 1.)' 'expn(x, 1.)' 'betainc(x, 1., 0.5)' 'betaincinv(1., x, 0.5)'; do
        bad 3 E_ 'no derivative|function of whole numbers' "gload -i 'x: float64' -e 'y = $call' | ggrad"
    done
}

@test "beta is the function of numbers, and with rng= or seed= the draw" {
    ok 'gload -e "y = beta(2., 3.)" | grun' 'y = 0.08333333333333333'
    ok 'gload -e "y = beta(2., 3., [1000], seed=1)" -e "m = mean(y)" --outputs m | grun --expect m=0.4 --atol 0.02'
}

@test "softmax of a row has the same bits alone and beside others" {
    for dtype in float32 float64; do
        for n in 1 2 7 8 9 33 64; do
            gload -e "x = cast(normal(0, 5, (40, $n), seed=1), $dtype)" -e 'w = where(x > 9, inf, where(x < -9, -inf, x))' \
                -e 'y, z = softmax(w, axis=1), map(softmax, w)' -e 'u, v = log_softmax(w, axis=1), map(log_softmax, w)' \
                -e 'same = all((y == z) | (isnan(y) & isnan(z))) & all((u == v) | (isnan(u) & isnan(v)))' --outputs same -o rows.tlg
            ok 'grun --mode FAST_COMPILE rows.tlg' 'same = True'
        done
    done
}

@test "round to decimals, which is around" {
    ok "gload -e 'y = round([2.567, -1234.5], decimals=1)' | grun" 'y = [2.6, -1234.5]'
    ok "gload -e 'y = round(1234.5, -2)' -e 'z = round(12350, -2)' -e 'u = round(2.567, 2)' -e 'v = round([0.5, 1.5])' | grun" \
        $'y = 1200.0\nz = 12400\nu = 2.57\nv = [0.0, 2.0]'
}
