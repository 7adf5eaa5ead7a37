# Loops: which of their rewrites fire, and that results stay.
load common

# Each line, expression|rules of loops that fire|value, with the inputs and functions of f.yaml: the value is the same with
# rewriting and without.
check_rows() { # values of the inputs
    local expr fires want mode
    while IFS='|' read -r expr fires want; do
        gload f.yaml -e "out = $expr" --outputs out -o l.tlg
        ok 'grewrite l.tlg --explain -o r.tlg 2>&1 | grep -o "scan-[a-z-]*" | sort -u | paste -sd, || true' "$fires" || fail "$expr"
        for mode in r.tlg 'l.tlg --mode FAST_COMPILE'; do
            ok "grun $mode --on-unused-input ignore $1 | tr -d ' \n'" "out=$want" || fail "$expr"
        done
    done
}

@test "loops keep their results, whatever is done to them" {
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {a: float64, h: float64}
    outputs: {out: 2.0 * a + h}
    pullback: p
  p:
    inputs: {a: float64, h: float64, g: float64}
    outputs: {da: 10.0 * g, dh: g}
  sq:
    inputs: {a: float64}
    outputs: {out: a * a}
    pullback: q
  q:
    inputs: {a: float64, g: float64}
    outputs: {out: 7.0 * g}
inputs: {x: 'float64[n]', y: 'float64[n]', m: int64, w: 'float64[k]', z: 'float64[?]', u: 'float64[?, ?]', M: 'float64[n, 2]'}
Y
    check_rows 'x=[1,2,3] y=[4,5,6] m=2 w=[0.5,1.5] z=[2,1,3] u=[[1,2],[3,4]] M=[[1,2],[3,4],[5,6]]' <<'END'
scan(f, sequences=[x], outputs_info=[0.5])|scan-clean|[2.5,6.5,12.5]
scan(f, sequences=[x], outputs_info=[0.5])[-1]|scan-clean,scan-keep-rows|12.5
scan(f, sequences=[x], outputs_info=[0.5])[-2:]|scan-clean,scan-keep-rows|[6.5,12.5]
scan(f, sequences=[x], outputs_info=[0.5])[:2]|scan-clean,scan-first-steps|[2.5,6.5]
scan(f, sequences=[x[:1]], outputs_info=[0.5])|scan-clean|[2.5]
sum(scan(f, sequences=[x], outputs_info=[0.5]))|scan-clean|21.5
scan(f, sequences=[x], outputs_info=[0.5]) + scan(lambda a, h: a * h, sequences=[x], outputs_info=[1.])|scan-merge|[3.5,8.5,18.5]
scan(f, sequences=[x], outputs_info=[0.5]) + scan(f, sequences=[x], outputs_info=[0.5])|scan-clean|[5.0,13.0,25.0]
scan(f, sequences=[x], outputs_info=[0.5]) + scan(f, sequences=[y], outputs_info=[0.5])|scan-merge|[11.0,25.0,43.0]
scan(f, sequences=[x, x])|scan-clean|[3.0,6.0,9.0]
scan(f, sequences=[x], non_sequences=[3.])|scan-clean|[5.0,7.0,9.0]
scan(f, sequences=[x], outputs_info=[0.5], keep='last')|scan-clean|12.5
scan(f, outputs_info=[0.5], sequences=[x], n_steps=2)|scan-clean|[2.5,6.5]
scan(f, outputs_info=[0.5], non_sequences=[1.], n_steps=1)|scan-clean,scan-unroll|[2.0]
scan(sq, sequences=[x])|scan-clean|[1.0,4.0,9.0]
scan(sq, sequences=[x])[-1]|scan-clean,scan-keep-rows|9.0
map(sq, x) + map(lambda a: a + 1, x)|scan-merge,scan-rows-out|[3.0,7.0,13.0]
scan(f, sequences=[x], outputs_info=[0.5], go_backwards=True)|scan-clean|[6.5,10.5,12.5]
scan(lambda a, h: h + f(a, 0.), sequences=[x], outputs_info=[0.])||[2.0,6.0,12.0]
scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])||[1.0,3.0,6.0]
scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])[-1]||6.0
scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])[:2]||[1.0,3.0]
sum(scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])) + sum(scan(lambda a, h: h * a, sequences=[x], outputs_info=[1.]))||19.0
foldl(lambda a, h: h + assert_op(a, a > 0), x, 0.)||6.0
scan(lambda h: h + assert_op(h, h > 0), outputs_info=[1.], n_steps=1)||[2.0]
scan(lambda a, h: [h + a, until(h > 100)], sequences=[x], outputs_info=[0.])[-1]|scan-keep-rows|6.0
scan(lambda a, h: [h + a, until(h > 2)], sequences=[x], outputs_info=[0.])[:2]||[1.0,3.0]
sum(scan(lambda a, h: [h + a, until(h > 2)], sequences=[x], outputs_info=[0.]))||10.0
foldl(lambda a, h: [h + a, until(h > 2)], x, 0.)||6.0
(lambda s, t: s[0] + s[1] + t[0] + t[1])(scan(lambda h, k: [h + k, k * 3], outputs_info=[1., 1.], n_steps=2, keep='last'), scan(lambda h, k: [h + k, k * 3], outputs_info=[1., 1.], n_steps=2))|scan-clean,scan-last-of-rows,scan-merge|[19.0,28.0]
scan(lambda a, h: tan(h) * 0 + 2 * a + h, sequences=[x], outputs_info=[0.5], keep='last') + sum(scan(lambda a, h: tan(h) * 0 + 2 * a + h, sequences=[x], outputs_info=[0.5])) + sum(scan(lambda a, h: tan(h) * 0 + 2 * a + h, sequences=[x], outputs_info=[0.5], keep=2))|scan-clean,scan-merge|53.0
scan(lambda a, h: [h + a, until(h > 0)], sequences=[x], outputs_info=[0.], keep='last') + scan(lambda a, h: [h + a, until(h > 0)], sequences=[x], outputs_info=[0.])|scan-merge|[4.0,6.0]
scan(lambda a, h: [h + a, until(h > 0)], sequences=[x], outputs_info=[0.], keep=1) + scan(lambda a, h: [h + a, until(h > 0)], sequences=[x], outputs_info=[0.], keep='last')|scan-merge|[6.0]
scan(lambda h: [h + 1, until(h > 5)], outputs_info=[1.], n_steps=m - 2, keep='last') + sum(scan(lambda h: [h + 1, until(h > 5)], outputs_info=[1.], n_steps=m - 2))|scan-merge|1.0
scan(lambda a, h: [h + a, until(h > 0)], sequences=[x], outputs_info=[0.], keep='last') + scan(lambda a, h: [h + a, until(h > 1)], sequences=[x], outputs_info=[0.])||[4.0,6.0,9.0]
scan(lambda a, h: [h + a, until(h > 0)], sequences=[x], outputs_info=[0.], keep='last') + scan(lambda a, h: [h + a, until(h > 0)], sequences=[y], outputs_info=[0.])||[7.0,12.0]
scan(lambda a, h: [h + a, until(a > 2)], sequences=[x], outputs_info=[0.]) [-1] + scan(lambda a, h: [h * a, until(a > 2)], sequences=[x], outputs_info=[1.])[-1]|scan-keep-rows|12.0
scan(lambda a, h: [h + a * exp(w[0] * 0), until(w[0] > 2)], sequences=[x], outputs_info=[0.])|scan-hoist|[1.0,3.0,6.0]
scan(lambda h: h + sum(w), outputs_info=[0.], n_steps=m)|scan-hoist|[2.0,4.0]
scan(lambda h: h + sum(z[z > 1]), outputs_info=[0.], n_steps=m)|scan-hoist|[5.0,10.0]
scan(lambda h: h + sum(sort(z)), outputs_info=[0.], n_steps=m)|scan-hoist|[6.0,12.0]
scan(lambda: z * 2, n_steps=m)|scan-hoist|[[4.0,2.0,6.0],[4.0,2.0,6.0]]
scan(lambda: z[1:] * 2, n_steps=m)|scan-hoist|[[2.0,6.0],[2.0,6.0]]
scan(lambda: sort(z), n_steps=m)||[[1.0,2.0,3.0],[1.0,2.0,3.0]]
scan(lambda h: h + u @ u, outputs_info=[u], n_steps=m)[-1]|scan-hoist,scan-keep-rows|[[15.0,22.0],[33.0,48.0]]
scan(lambda h: h * 0.5 + concatenate([z, z])[0], outputs_info=[0.], n_steps=m)|scan-hoist|[2.0,3.0]
scan(lambda r, s: s + outer(r, r), sequences=[M], outputs_info=[zeros((2, 2))])[-1]|scan-clean,scan-keep-rows,scan-scalars|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + outer(r, r), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + outer(r, r * 2), M, ones((2, 2)))|scan-rows-out,scan-sums-out|[[71.0,89.0],[89.0,113.0]]
foldl(lambda r, s: s + expand_dims(r, 1) * expand_dims(r, 0), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + expand_dims(r, 1) @ expand_dims(r, 0), M, zeros((2, 2)))|scan-clean,scan-rows-out,scan-scalars,scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + expand_dims(r, -1) @ expand_dims(r, -2), M, zeros((2, 2)))|scan-clean,scan-rows-out,scan-scalars,scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + reshape(r, [2, 1]) * reshape(r, [1, 2]), M, zeros((2, 2)))|scan-clean,scan-rows-out,scan-scalars,scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + transpose(expand_dims(r, 0)) @ expand_dims(r, 0), M, zeros((2, 2)))|scan-rows-out,scan-scalars,scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + r[:, None] * r[None, :], M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + r, M, zeros(2))|scan-sums-out|[9.0,12.0]
foldl(lambda r, s: r + s + r, M, zeros(2))||[18.0,24.0]
foldl(lambda a, s: s + a, x, 1.)|scan-sums-out|7.0
foldl(lambda a, b, s: s + a * b, [x, y], 0.)|scan-rows-out,scan-sums-out|32.0
foldl(lambda a, s: s + 2 * a, x[1:], 0.)|scan-rows-out,scan-sums-out|10.0
foldl(lambda a, s: s + 2 * a, x, 0., go_backwards=True)|scan-rows-out,scan-sums-out|12.0
scan(lambda a, b, s: s + a * b, sequences=[taps(x, [-1, 0])], outputs_info=[0.], keep='last')|scan-sums-out|8.0
scan(lambda a, b, s: s + a * b, sequences=[taps(x, [0, 1])], outputs_info=[0.], keep='last')|scan-sums-out|8.0
scan(lambda h: h + sum(concatenate([z, z])), outputs_info=[0.], n_steps=m)|scan-hoist|[12.0,24.0]
scan(lambda h: h * 0.5 + concatenate([z, z]), outputs_info=[concatenate([z, z])], n_steps=m)|scan-hoist|[[3.0,1.5,4.5,3.0,1.5,4.5],[3.5,1.75,5.25,3.5,1.75,5.25]]
scan(lambda: concatenate([z, z]) * 2, n_steps=m)||[[4.0,2.0,6.0,4.0,2.0,6.0],[4.0,2.0,6.0,4.0,2.0,6.0]]
scan(lambda h: h * 0. + (concatenate([z, z]) * x[0])[:3], outputs_info=[z], n_steps=m)|scan-hoist|[[2.0,1.0,3.0],[2.0,1.0,3.0]]
scan(lambda a, h: h + sum(a * (z[1:] + 1)), sequences=[x], outputs_info=[0.], n_steps=m)|scan-hoist|[6.0,18.0]
foldl(lambda r, s: s + sum(r, axis=[]), M, zeros(2))|scan-sums-out|[9.0,12.0]
foldl(lambda r, s: s + max(r), M, 0.)|scan-rows-out,scan-sums-out|12.0
foldl(lambda r, s: s + sum(r) * 2, M, 0)|scan-rows-out,scan-sums-out|42.0
map(lambda r: sum(r, axis=[]), M)|scan-rows-out|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
map(lambda r: r[0:1], M)|scan-rows-out|[[1.0],[3.0],[5.0]]
map(lambda r: r[-1] * 2, M)|scan-rows-out|[4.0,8.0,12.0]
map(lambda r: zeros_like(r) + r, M)|scan-rows-out|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
map(lambda r: transpose(r), M)|scan-rows-out|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
map(lambda r: outer(r, r) @ outer(r, r), M)||[[[5.0,10.0],[10.0,20.0]],[[225.0,300.0],[300.0,400.0]],[[1525.0,1830.0],[1830.0,2196.0]]]
map(lambda r: outer(r, r) @ r, M)||[[5.0,10.0],[75.0,100.0],[305.0,366.0]]
map(lambda r: r @ outer(r, r), M)||[[5.0,10.0],[75.0,100.0],[305.0,366.0]]
map(lambda r: concatenate([r, r]), M)|scan-clean,scan-rows-out,scan-scalars|[[1.0,2.0,1.0,2.0],[3.0,4.0,3.0,4.0],[5.0,6.0,5.0,6.0]]
map(lambda a: ifelse(a > 1, a, -a), x)|scan-rows-out|[-1.0,2.0,3.0]
scan(lambda a: [a, until(a > 1)], sequences=[x])[:, None]||[[1.0],[2.0]]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[[-1, -2]]||[6.0,3.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[m - 1]||3.0
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[-m:]||[3.0,6.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[-1:]|scan-keep-rows|[6.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[-3:-1]||[1.0,3.0]
scan(lambda r, h: h + r, sequences=[M], outputs_info=[zeros(2)])[-2:, 0]|scan-keep-rows|[4.0,9.0]
scan(lambda r, h: h + r, sequences=[M], outputs_info=[zeros(2)])[-1, 1]|scan-keep-rows|12.0
scan(lambda r, h: h + r, sequences=[M], outputs_info=[zeros(2)])[-1][1] + scan(lambda r, h: h * r, sequences=[M], outputs_info=[ones(2)])[-2][0]|scan-keep-rows,scan-merge|15.0
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[1]|scan-first-steps|3.0
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[:0]|scan-first-steps|[]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[0:2] * 2|scan-first-steps|[2.0,6.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[:2:2]||[1.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], n_steps=2)[:1]||[1.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], n_steps=minimum(m, 3))[:3]||[1.0,3.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], n_steps=minimum(3, m))[:2]||[1.0,3.0]
(lambda s: s[-1] + s[-2])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))|scan-keep-rows|9.0
(lambda s: s[-1] + s[-3:][0])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], keep=3))||7.0
(lambda s: s[0] + s[:2][1])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))|scan-first-steps|4.0
(lambda s: s[int64(s[-1]) - 6])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))||1.0
(lambda s: s[-int64(s[-1] / 3):])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))||[3.0,6.0]
scan(lambda a, b, h: h + a * b, sequences=[x, x], outputs_info=[0.])|scan-clean|[1.0,5.0,14.0]
scan(lambda a, b, h: h + a * b, sequences=[x, y], outputs_info=[0.]) + scan(lambda a, b, h: h - a * b, sequences=[y, x], outputs_info=[0.])|scan-merge|[0.0,0.0,0.0]
scan(lambda h, c, d: h + c * d, outputs_info=[0.], non_sequences=[w[0], w[0]], n_steps=m)|scan-clean,scan-hoist|[0.25,0.5]
scan(lambda h, c: h + c, outputs_info=[0.], non_sequences=[1.], n_steps=m) + scan(lambda h, c: h * c, outputs_info=[1.], non_sequences=[2.], n_steps=m)|scan-merge|[3.0,6.0]
scan(lambda h: h + 1, outputs_info=[0.], n_steps=2) * scan(lambda h: h * 2, outputs_info=[1.], n_steps=2)|scan-merge|[2.0,8.0]
scan(lambda h: h + 1, outputs_info=[0.], n_steps=m)[-1] * scan(lambda h: h * 2, outputs_info=[1.], n_steps=m + 0)[-1]|scan-keep-rows,scan-merge|8.0
(lambda s: scan(lambda a, h: h * a, sequences=[s], outputs_info=[1.]))(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))||[1.0,3.0,18.0]
(lambda s, t: scan(lambda a, b: a - b, sequences=[s, t]))(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]), scan(lambda a, h: h * a, sequences=[x], outputs_info=[1.]))|scan-merge,scan-rows-out|[0.0,1.0,0.0]
scan(lambda b, a: a + b, outputs_info=[taps([1., 1.], [-2, -1])], n_steps=1)|scan-unroll|[2.0]
scan(lambda a, b, h: h + a * b, sequences=[taps(x, [0, 1])], outputs_info=[0.], n_steps=1)|scan-unroll|[2.0]
scan(lambda v: v * x - 1, outputs_info=[x], n_steps=3, keep='last')|scan-unroll|[-2.0,9.0,68.0]
scan(lambda a, b, c, v: v + a * b - c, sequences=[u, taps(M, [0, 1])], outputs_info=[w], n_steps=2, keep='last')|scan-unroll|[2.5,11.5]
scan(lambda v, p, q: [v + p + q, 2 * q - p], outputs_info=[x, taps([1., 2.], [-2, -1])], n_steps=2, keep=['last', 1])[0]|scan-clean,scan-unroll|[9.0,10.0,11.0]
scan(lambda a, h: h + sum(scan(lambda c: c * a, outputs_info=[h], n_steps=3)), sequences=[x], outputs_info=[1.])|scan-unroll|[4.0,60.0,2400.0]
scan(lambda a, h: scan(lambda d, c: c / 2 + a * d, sequences=[y], outputs_info=[h], n_steps=3, keep=2)[0], sequences=[x], outputs_info=[1.])|scan-clean,scan-hoist,scan-unroll|[7.25,15.8125,24.953125]
scan(lambda a, h: scan(lambda c: [c * a, until(c > 4)], outputs_info=[h], n_steps=3)[-1], sequences=[x], outputs_info=[1.])|scan-keep-rows,scan-last|[1.0,8.0,24.0]
abs(scan(lambda v: v * x - 1, outputs_info=[x], n_steps=17, keep='last')) * 0||[0.0,0.0,0.0]
scan(lambda v: sort(v * x), outputs_info=[x], n_steps=2, keep='last')||[1.0,8.0,27.0]
scan(lambda i, h: h + i, sequences=[arange(m)], outputs_info=[0])||[0,1]
foldr(lambda a, s: s * 2 + a, x, 0.)||17.0
reduce(lambda a, s: maximum(a, s), x, 0.)||3.0
END
    # a step with a derivative of its own keeps it: 10 for each of the rows that follow
    gload f.yaml -e 'out = sum(scan(f, sequences=[x], outputs_info=[0.5]))' --outputs out -o l.tlg
    for mode in 'grewrite l.tlg | ggrad --wrt x' 'ggrad l.tlg --wrt x | grewrite'; do
        ok "$mode | grun --on-unused-input ignore x=[1,2,3]" $'out = 21.5\nd_out_d_x = [30.0, 20.0, 10.0]'
    done
}

# The same of matrices in each row of a sequence; values by NumPy.
@test "rows of matrices, what is multiplied with them, and sums of products over a loop" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[n]', m: int64, w: 'float64[k]', u: 'float64[?, ?]', M: 'float64[n, 2]', T: 'float64[n, 2, 2]'}
Y
    check_rows 'x=[1,2,3] m=2 w=[0.5,1.5] u=[[1,2],[3,4]] M=[[1,2],[3,4],[5,6]] T=[[[1,2],[3,4]],[[0,1],[1,0]],[[2,0],[0,-1]]]' <<'END'
map(lambda t: t @ w, T)||[[3.5,7.5],[1.5,0.5],[1.0,-1.5]]
map(lambda t: w @ t, T)||[[5.0,7.0],[1.5,0.5],[1.0,-1.5]]
map(lambda t: w[:2] @ t, T)|scan-hoist|[[5.0,7.0],[1.5,0.5],[1.0,-1.5]]
map(lambda t: t @ ones((3, 2, 2)), T)||[[[[3.0,3.0],[7.0,7.0]],[[3.0,3.0],[7.0,7.0]],[[3.0,3.0],[7.0,7.0]]],[[[1.0,1.0],[1.0,1.0]],[[1.0,1.0],[1.0,1.0]],[[1.0,1.0],[1.0,1.0]]],[[[2.0,2.0],[-1.0,-1.0]],[[2.0,2.0],[-1.0,-1.0]],[[2.0,2.0],[-1.0,-1.0]]]]
map(lambda t: t @ ones(2), T)||[[3.0,7.0],[1.0,1.0],[2.0,-1.0]]
map(lambda t, r: t @ r, [T, M])||[[5.0,11.0],[4.0,3.0],[10.0,-6.0]]
map(lambda t: expand_dims(t, 0) @ ones((2, 2)), T)||[[[[3.0,3.0],[7.0,7.0]]],[[[1.0,1.0],[1.0,1.0]]],[[[2.0,2.0],[-1.0,-1.0]]]]
map(lambda t: transpose(t, (-1, 0)), T)|scan-rows-out|[[[1.0,3.0],[2.0,4.0]],[[0.0,1.0],[1.0,0.0]],[[2.0,0.0],[0.0,-1.0]]]
map(lambda t: sum(t, axis=(0, -1)), T)|scan-rows-out|[10.0,2.0,1.0]
map(lambda t: t[m - 1], T)|scan-hoist,scan-rows-out|[[3.0,4.0],[1.0,0.0],[0.0,-1.0]]
map(lambda t, r: t[int64(r[0] * 0)], [T, M])|scan-rows-out|[[1.0,2.0],[0.0,1.0],[2.0,0.0]]
map(lambda a: expand_dims(a, (0, 1)) * 2, x)|scan-rows-out,scan-scalars|[[[2.0]],[[4.0]],[[6.0]]]
map(lambda a: w * a, x)|scan-rows-out|[[0.5,1.5],[1.0,3.0],[1.5,4.5]]
foldl(lambda t, s: s + t.T @ t, T, zeros((2, 2)))|scan-rows-out|[[15.0,14.0],[14.0,22.0]]
foldl(lambda t, s: s + transpose(t, (0, 1)) @ t, T, zeros((2, 2)))|scan-rows-out|[[12.0,10.0],[15.0,24.0]]
foldl(lambda t, s: s + t @ t, T, zeros((2, 2)))|scan-rows-out|[[12.0,10.0],[15.0,24.0]]
foldl(lambda t, r, s: s + t @ r, [T, M], zeros(2))|scan-sums-out|[19.0,8.0]
foldl(lambda t, r, s: s + r @ t, [T, M], zeros(2))|scan-sums-out|[21.0,7.0]
foldl(lambda a, s: s + expand_dims(a, (0, 1)) * expand_dims(a, (0, 1)), x, zeros((1, 1)))|scan-rows-out,scan-scalars,scan-sums-out|[[14.0]]
foldl(lambda r, s: s + expand_dims(r, (1,)) * expand_dims(r, (-2,)), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda t, s: s + expand_dims(t, 0) * expand_dims(t, 1), T, zeros((2, 2, 2)))||[[[5.0,5.0],[3.0,8.0]],[[3.0,8.0],[10.0,17.0]]]
foldl(lambda t, s: s + expand_dims(t, 0) @ expand_dims(t, 0), T, zeros((1, 2, 2)))||[[[12.0,10.0],[15.0,24.0]]]
foldl(lambda t, s: expand_dims(t[0], 1) * expand_dims(t[1], 0) + s, T, zeros((2, 2)))|scan-rows-out,scan-sums-out|[[3.0,2.0],[7.0,8.0]]
foldl(lambda t, s: s + t * sow(sum(t), tag='t', name='n'), T, zeros((2, 2)))||[[12.0,22.0],[32.0,39.0]]
map(lambda i: M[i] * 2, arange(3))||[[2.0,4.0],[6.0,8.0],[10.0,12.0]]
map(lambda i: M[i] * x[i], arange(m))||[[1.0,2.0],[6.0,8.0]]
map(lambda t: u @ t, T)|scan-rows-out|[[[7.0,10.0],[15.0,22.0]],[[2.0,1.0],[4.0,3.0]],[[2.0,-2.0],[6.0,-4.0]]]
map(lambda t: t @ u, T)|scan-rows-out|[[[7.0,10.0],[15.0,22.0]],[[3.0,4.0],[1.0,2.0]],[[2.0,4.0],[-3.0,-4.0]]]
map(lambda t: transpose(t, (0, 1)) * 2, T)|scan-rows-out|[[[2.0,4.0],[6.0,8.0]],[[0.0,2.0],[2.0,0.0]],[[4.0,0.0],[0.0,-2.0]]]
map(lambda t: t[[0, 1]] * 2, T)||[[[2.0,4.0],[6.0,8.0]],[[0.0,2.0],[2.0,0.0]],[[4.0,0.0],[0.0,-2.0]]]
map(lambda t: t[array([True, False])] * 2, T)||[[[2.0,4.0]],[[0.0,2.0]],[[4.0,0.0]]]
map(lambda r: expand_dims(r, 1) + w[:2], M)|scan-hoist|[[[1.5,2.5],[2.5,3.5]],[[3.5,4.5],[4.5,5.5]],[[5.5,6.5],[6.5,7.5]]]
map(lambda a: u * a + M[0], x)||[[[2.0,4.0],[4.0,6.0]],[[3.0,6.0],[7.0,10.0]],[[4.0,8.0],[10.0,14.0]]]
map(lambda r: r * 2, M[::2])|scan-rows-out|[[2.0,4.0],[10.0,12.0]]
END
}

# What is the same in each step, and the results of two steps, or why it fails.
@test "what leaves a loop and may fail does so only if there is a step" {
    local expr want g values="'C=ones((1,3,1))' 'D=ones((2,2,5))' 'W=ones((3,2,2))' 'E=ones((1,2,5))' 'R=ones((2,3))' 'Q=ones((2,2))' 'S=ones((1,1))'"
    while IFS='|' read -r expr want; do
        gload --new -i 'C: float64[?, ?, ?]' -i 'D: float64[2, 2, 5]' -i 'W: float64[3, 2, 2]' -i 'E: float64[n, 2, 5]' -i 'R: float64[?, ?]' -i 'Q: float64[2, 2]' -i 'S: float64[k, k]' -i 'm: int64' \
            -e "out = scan(lambda s: s + sum($expr), outputs_info=[0.], n_steps=m)" --outputs out -o l.tlg
        ok 'grewrite l.tlg --explain -o r.tlg 2>&1 | grep -o "scan-hoist" | uniq' scan-hoist || fail "$expr"
        for g in r.tlg 'l.tlg --mode FAST_COMPILE'; do
            ok "grun $g --on-unused-input ignore $values m=0" 'out = []' || fail "$expr"
            case $want in
            [0-9]*) ok "grun $g --on-unused-input ignore $values m=2" "out = [$want]" || fail "$expr" ;;
            *) bad 5 E_RUN_SHAPE "$want" "grun $g --on-unused-input ignore $values m=2" || fail "$expr" ;;
            esac
        done
    done <<'END'
conv(D, W)|96.0, 192.0
conv(E, W)|48.0, 96.0
conv(C, W)|conv: x has 3 channels, but w takes 2
conv(D, C)|conv: x has 2 channels, but w takes 3
assert_structure(Q, kind="symmetric")|4.0, 8.0
assert_structure(S, kind="symmetric")|1.0, 2.0
assert_structure(R, kind="lower")|6.0, 12.0
triangular_matmul(Q, Q, lower=True)|8.0, 16.0
triangular_matmul(S, S, lower=True)|1.0, 2.0
triangular_matmul(R, R, lower=True)|the inner sizes of matmul differ: 3 and 2
triangular_matmul(Q, R, lower=True)|12.0, 24.0
gemm(Q, Q, Q, 1., 2.)|16.0, 32.0
gemm(S, S, S, 1., 2.)|3.0, 6.0
gemm(R, R, R, 1., 1.)|the inner sizes of matmul differ: 3 and 2
END
}

# How often vectors of a loop become numbers, and the loop. The results are the same, bit by bit.
@test "a value and its gradient walk a loop once, whichever of its states the value reads" {
    local n read rows init mode
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  cell1:
    inputs: {x: 'float64[b]', h: 'float64[b]', W: 'float64[b, b]'}
    outputs: {h2: tanh(x + h @ W)}
  cell2:
    inputs: {x: 'float64[b]', h: 'float64[b]', c: 'float64[b]', W: 'float64[b, b]'}
    let: {d: c * 0.5 + tanh(x + h @ W)}
    outputs: {h2: sin(d) + h, c2: d}
  cell3:
    inputs: {x: 'float64[b]', h: 'float64[b]', c: 'float64[b]', m: 'float64[b]', W: 'float64[b, b]'}
    let: {d: c * 0.5 + tanh(x + h @ W)}
    outputs: {h2: sin(d) * m + h, c2: d + 0.1 * m, m2: cos(m) + 0.1 * c}
inputs: {x: 'float64[t, b]', W: 'float64[b, b]'}
let: {z: 'zeros(x.shape[1])'}
Y
    local v='x=[[1,2],[3,4],[-5,6]] W=[[0.1,0.2],[-0.3,0.4]]'
    while read -r n read rows; do
        init=$(yes z | head -"$n" | paste -sd,)
        gload f.yaml -e "loss = sum(scan(cell$n, sequences=[x], outputs_info=[$init], non_sequences=[W]$rows)$read ** 2)" --outputs loss |
            ggrad - --cost loss -o l.tlg
        # the states of the first loop are those of the cell
        ok "grewrite l.tlg -O yaml | grep -m1 ' = scan(' | grep -o 'outputs_info=[^]]*' | grep -ow z | wc -l" "$n" || fail "$n $read $rows"
        grun l.tlg --mode FAST_COMPILE $v -r loss=loss.npy -r d_loss_d_W=W.npy -r d_loss_d_x=x.npy
        for mode in FAST_RUN DEBUG; do
            ok "grun l.tlg --mode $mode $v --expect loss=@loss.npy --expect d_loss_d_W=@W.npy --expect d_loss_d_x=@x.npy >/dev/null" || fail "$n $read $rows"
        done
    done <<'END'
1 [:] ,keep='last'
2 [0] ,keep='last'
2 [1] ,keep='last'
2 [0] ,keep=1
2 [1]
3 [0] ,keep='last'
3 [1] ,keep='last'
3 [2] ,keep='last'
3 [1] ,keep=2
END
}

@test "the last value of a state is read from its rows where all are kept" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[t]', u: 'float64[b]', y: 'float64[b]', m: int64}
functions:
  f: {inputs: {a: float64, h: 'float64[b]'}, outputs: {h2: tanh(h) + a}}
  g: {inputs: {h: 'float64[b]'}, outputs: {h2: h * 2}}
  two: {inputs: {h2: 'float64[b]', h1: 'float64[b]'}, outputs: {h: 0.5 * h1 + sin(h2)}}
  stop: {inputs: {h: 'float64[b]'}, let: {n: h * 1.5}, outputs: {h2: n}, until: sum(n) > 40}
Y
    check_rows 'x=[1,2,3] u=[1,2] y=[0.5,0.25] m=3' <<'END'
scan(g, outputs_info=[u], n_steps=3, keep='last') + sum(scan(g, outputs_info=[u], n_steps=3), 0)|scan-clean,scan-last-of-rows,scan-merge|[22.0,44.0]
scan(g, outputs_info=[u], n_steps=m, keep='last') + sum(scan(g, outputs_info=[u], n_steps=m), 0)|scan-clean,scan-merge|[22.0,44.0]
scan(g, outputs_info=[u], n_steps=m, keep='last') + argmax(concatenate(u[None], scan(g, outputs_info=[u], n_steps=m)), 0)|scan-clean,scan-last-of-rows,scan-merge|[11.0,19.0]
scan(g, outputs_info=[u], n_steps=m, keep='last') + argmax(concatenate(y[None], scan(g, outputs_info=[u], n_steps=m)), 0)|scan-clean,scan-merge|[11.0,19.0]
END
    check_rows 'u=[1,2] m=0' <<'END'
scan(g, outputs_info=[u], n_steps=m, keep='last') + argmax(concatenate(u[None], scan(g, outputs_info=[u], n_steps=m)), 0)|scan-clean,scan-last-of-rows,scan-merge|[1.0,2.0]
END
    # the gradient of a cost of the last value: the same however that is spelled, and no zeros for the other rows
    local loop read last mode v='x=[0.1,0.2,-0.3] u=[1,2] y=[0.5,0.25]'
    while IFS='|' read -r loop read; do
        for last in "scan($loop)[-1]" "scan($loop, keep='last')"; do
            gload f.yaml -e "s = $last" -e "loss = sum(($read) ** 2)" --outputs loss | ggrad - --cost loss --wrt u -o "l.tlg"
            if gload l.tlg -O yaml | grep -q 'inc_subtensor(_[0-9]*\[-1\]'; then fail "$last"; fi
            if [[ $last = *keep* ]]; then
                for mode in FAST_COMPILE FAST_RUN DEBUG; do
                    ok "grun l.tlg --on-unused-input ignore --mode $mode $v --expect loss=@loss.npy --expect d_loss_d_u=@u.npy >/dev/null" ||
                        fail "$loop $mode"
                done
            else
                grun l.tlg --on-unused-input ignore --mode FAST_COMPILE $v -r loss=loss.npy -r d_loss_d_u=u.npy
            fi
        done
    done <<'END'
f, sequences=[x], outputs_info=[u]|s - y
f, sequences=[x], outputs_info=[u]|s * s[0]
g, outputs_info=[u], n_steps=4|s - y
two, outputs_info=[taps(stack(u, u + 1), [-2, -1])], n_steps=5|s - y
f, sequences=[x], outputs_info=[u], truncate_gradient=2|s - y
stop, outputs_info=[u], n_steps=50|s - y
END
    # rows and initial ones are put together once
    gload f.yaml -e "s = scan(f, sequences=[x], outputs_info=[u], keep='last')" -e 'loss = sum(s ** 2)' --outputs loss | ggrad - --cost loss --wrt u -o l.tlg
    ok 'grewrite l.tlg -O yaml | grep -c "concatenate("' 1
}

@test "small vectors of a loop become numbers, where that saves more than it costs" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {m: int64, S: 'float64[2]', T: 'float64[3]', N: 'float64[n, 2]', Q: 'float64[2, 2]', U: 'float64[k]'}
Y
    local times expr values='m=5 S=[0.7,1.25] T=[0.3,-1.5,2.25] N=[[1,2],[3,4.5],[-0.5,6]] Q=[[1,2],[-0.25,0.5]] U=[2,3]'
    while IFS='|' read -r times expr; do
        gload f.yaml -e "out = $expr" --outputs out -o l.tlg
        ok 'grewrite l.tlg --explain -o r.tlg 2>&1 | grep -c scan-scalars || true' "$times" || fail "$expr"
        grun l.tlg --exclude scan-scalars --on-unused-input ignore $values >plain || fail "$expr"
        ok "grun r.tlg --on-unused-input ignore $values | cmp - plain" || fail "$expr"
    done <<'END'
1|scan(lambda v: stack([v[0] + 0.1 * v[1], v[1] - 0.1 * v[0]]), outputs_info=[S], n_steps=m)
1|scan(lambda v: stack([v[0] + 0.1 * v[1], v[1] - 0.1 * v[0]]), outputs_info=[S], n_steps=m - 5, keep='last')
1|scan(lambda v: [v / sqrt(sum(v ** 2)) + S, until(v[0] > 1.5)], outputs_info=[S], n_steps=m)
1|scan(lambda u, v: stack([u[0] - v[1], u[1] * v[0]]), outputs_info=[taps([[1., 2.], [3., 5.]], [-2, -1])], n_steps=m)
1|scan(lambda a, b, h: h * a[1] + b[0] * h, sequences=[taps(N, [-1, 0])], outputs_info=[0.5])
1|scan(lambda q: q * sum(q, axis=1)[:, None] / (1 + sum(q ** 2, axis=0, keepdims=True)), outputs_info=[Q], n_steps=m)
1|scan(lambda q: transpose(q) * q[0, 1] + reshape(concatenate([q[1], q[0] * 2]), (2, 2)), outputs_info=[Q], n_steps=m)
1|scan(lambda v, h: [ifelse(v[0] > h, v * 2, S + v), h + v[1]], outputs_info=[S, 0.5], n_steps=m)[0]
1|scan(lambda v: where(v > v[0], v * 2, v - sum(v)), outputs_info=[S], n_steps=m)
2|grad(scan(lambda v: [v * 0.9 - sin(sum(v * v)) / (1 + v[0]), until(v[0] < 0.1)], outputs_info=[S], n_steps=m, keep='last')[0], S)
2|grad(sum(scan(lambda r, v: v * 0.9 + r * v[0], sequences=[N], outputs_info=[S])[-1]), N)
1|jvp(scan(lambda v: stack([v[0] * v[1], v[1] - 0.1 * v[0]]), outputs_info=[S], n_steps=m), S, T[:2])
1|scan(lambda v: set_subtensor(v[1], v[0] * v[1] + 1), outputs_info=[T], n_steps=m)
1|scan(lambda v: inc_subtensor(v[:2], v[1:] * 0.5), outputs_info=[T], n_steps=m)
1|scan(lambda v: inc_subtensor(v[::-1], v * 0.5), outputs_info=[T], n_steps=m)
1|scan(lambda v: (Q @ v) / (1 + v[0] ** 2) + stack([v[1], v[0]]) * sum(v), outputs_info=[S], n_steps=m)
1|scan(lambda i, v: stack([v[i % 2], v[1] + v[0], v[0] - sum(v)]), sequences=[arange(m)], outputs_info=[T])
1|scan(lambda k: stack([k[1], k[0] + k[1]]), outputs_info=[int8([1, 1])], n_steps=12)
1|scan(lambda v: stack([v[1], sum(v)]), outputs_info=[float32(S)], n_steps=m)
1|scan(lambda z: stack([z[1] * z[0], sum(z)]), outputs_info=[S * 1j], n_steps=m)
1|scan(lambda v: sum(v[None, :] * v[:, None], axis=(0, 1)) * v / (1 + v[0]), outputs_info=[S], n_steps=m)
1|scan(lambda u, v: [v[0] + u, u * v + v[1]], outputs_info=[S, S], n_steps=m, keep=['last', 2])
1|scan(lambda v, o: stack([v[0] + o[0], v[1] * o[1]]), outputs_info=[S], non_sequences=[[2.0, 3.0]], n_steps=m)
1|scan(lambda v: stack([-0.0 * v[0], -0.0 * sum(v)]), outputs_info=[S], n_steps=m)
1|scan(lambda r: stack([r[1], r[0], sum(r)]), sequences=[N])
0|scan(lambda v: [v, inc_subtensor(v[[0, 0]], v[1] * 0.5)], outputs_info=[S, None], n_steps=m)[1]
1|scan(lambda v: [v, set_subtensor(v[[1, 1, 0]], v[1] * 2)], outputs_info=[T, None], n_steps=m)[1]
0|scan(lambda q: [sin(q * 3) + q[0, 1], sum(transpose(q))], outputs_info=[Q, None], n_steps=m)[1]
1|scan(lambda q: [sin(q * 3) + q[0, 1], sum(transpose(q), axis=0) * q[1, 0]], outputs_info=[Q, None], n_steps=m)[1]
0|scan(lambda v: v * 0.5 + sin(v), outputs_info=[S], n_steps=m)
0|scan(lambda v: v * 0 + v[0] - sum(v), outputs_info=[arange(16.)], n_steps=m)
0|scan(lambda v: v * 0 + v[0] - sum(v), outputs_info=[arange(17.)], n_steps=m)
0|scan(lambda v: v * v[0], outputs_info=[U], n_steps=m)
0|scan(lambda v: stack([v[1], sow(v, tag='t', name='a')[0]]), outputs_info=[S], n_steps=m)
0|map(lambda r: sqrt(sum(r ** 2)), N)
END
}

# Ifelses that are left in a loop, what the branches of a step are, and the result.
@test "in a loop the ifelse of two numbers is a where if both are there, or cheap" {
    local left branches want
    while IFS='|' read -r left branches want; do
        gload --new -i 'x: float64' -i 'm: int64' -e "out = scan(lambda i, h: $branches, sequences=[arange(m)], outputs_info=[x])" --outputs out -o l.tlg
        ok 'grewrite l.tlg -O math | { grep -o "ifelse(" || true; } | wc -l' "$left" || fail "$branches"
        ok 'grun l.tlg x=0.5 m=4' "out = $want" || fail "$branches"
        ok 'grewrite l.tlg | grun x=0.5 m=4 --mode NAN_GUARD' "out = $want" || fail "$branches"
        ok 'grun l.tlg x=0.5 m=4 --mode FAST_COMPILE' "out = $want" || fail "$branches"
    done <<'END'
0|ifelse(h > 1, h * h - 1, h + 1)|[1.5, 1.25, 0.5625, 1.5625]
0|ifelse(h > 1, x, h * 2)|[1.0, 2.0, 0.5, 1.0]
0|ifelse(h > 1.6, maximum(h, x * 4) - 2, ifelse(h < 1, h + 1, -h))|[1.5, -1.5, -0.5, 0.5]
1|ifelse(h > 1, sqrt(h - 1), h + 1)|[1.5, 0.7071067811865476, 1.7071067811865475, 0.8408964152537145]
1|ifelse(h > 1, 1 / (h - 1), h + 1)|[1.5, 2.0, 1.0, 2.0]
1|ifelse(h > 1, assert_op(h - 1, h > 0), h + 1)|[1.5, 0.5, 1.5, 0.5]
END
    # NAN_GUARD sees nothing of a branch that isn't taken
    gload --new -i 'x: float64' -e 'out = scan(lambda h: ifelse(h > 1e6, h, h * h), outputs_info=[x], n_steps=3)' --outputs out -o l.tlg
    ok 'grun l.tlg x=1e9 --mode NAN_GUARD' 'out = [1000000000.0, 1000000000.0, 1000000000.0]'
}

@test "steps by the shortest path end as others do: more rows than at first, a fault, no more time" {
    gload -e 'p = scan(lambda p: [p + 1, until(p >= 15000)], outputs_info=[0], n_steps=100000)' -e 'q = stack([sum(p), p.shape[0]])' \
        --outputs q | grewrite -o grow.tlg
    ok 'grun grow.tlg' 'q = [112522501, 15001]'

    gload -i 'a: int64' -e 'k, y = scan(lambda k, s: [k + 1, s + 100 // (a - k)], outputs_info=[0, 0], n_steps=20)' -o d.tlg
    ok 'grewrite d.tlg | grun --outputs y a=-1' \
        'y = [-100, -150, -184, -209, -229, -246, -261, -274, -286, -296, -306, -315, -323, -331, -338, -345, -351, -357, -363, -368]'
    for rewrite in grewrite 'grewrite --mode FAST_COMPILE'; do
        run bash -c "$rewrite d.tlg | grun a=13"
        assert_failure 5
        assert_output --partial 'integer division by zero'
        assert_output --partial 'in step 13 of 20 of the loop here'
    done

    gload -e 'y = scan(lambda s: s * 0.9999999, outputs_info=[1.0], n_steps=3000000000000, keep="last")' | grewrite -o long.tlg
    run grun --max-time 100ms long.tlg
    assert_failure 6
    assert_output --regexp 'in step [0-9]+ of 3000000000000 of the loop'
}

# What the backward loop of a stencil adds to zeros is added to its states, none of which has to be kept: it is linear.
@test "gradients of loops add to their states, and read no rows for sizes" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: |
  u: float64[n]
let: |
  step = lambda u: set_subtensor(u[1:-1], 0.25 * (u[2:] + u[:-2]) + 0.5 * u[1:-1])
  v = scan(step, outputs_info=[u], n_steps=20, keep='last')
  c = sum(v * v)
outputs: [c]
Y
    ggrad f.yaml --cost c --wrt u -o g.tlg
    grewrite g.tlg -O yaml >r.yaml
    ok 'grep -c -E "zeros_like|full\(" r.yaml || true' 0
    ok 'grep -c "scan(.*keep=\[.last" r.yaml' 2
    ok 'grep "scan(.*" r.yaml | grep -c "sequences" || true' 0
    ok 'ggrad f.yaml --cost c --wrt u --check u="[1,2,-1,3,0.5,2]" >/dev/null' ''
    for mode in FAST_COMPILE DEBUG; do
        grun g.tlg --mode "$mode" u='[1,2,-1,3,0.5,2]' -r d_c_d_u=a.npy >/dev/null
        ok 'grun r.yaml u="[1,2,-1,3,0.5,2]" --expect d_c_d_u=@a.npy >/dev/null' '' || fail "$mode"
    done
}

# The last rows are those from the end, also where they are counted from the first one.
@test "a row counted from the first one of so many is one of the last" {
    ok "gload -e 'y = scan(lambda a: a * 2, outputs_info=[1.], n_steps=5)' -e 'z = y[4] + y[3]' --outputs z | grewrite -O yaml | grep -c 'keep=\[2\]'" 1
    ok "gload -e 'y = scan(lambda a: a * 2, outputs_info=[1.], n_steps=5)' -e 'z = y[4] + y[3]' --outputs z | grun" 'z = 48.0'
    ok "gload -e 'y = scan(lambda a: a * 2, outputs_info=[1.], n_steps=5)' -e 'z = sum(y[3:])' --outputs z | grun" 'z = 48.0'
    ok "gload -e 'y = scan(lambda a: a * 2, outputs_info=[1.], n_steps=5)' -e 'z = y[2]' --outputs z | grun" 'z = 8.0'
}

# Each line, a loop that counts and reads or writes by that number|what is left of it: seq, rows are sequences; gather, not so;
# scan, no array is a state; write, one is; none, there is no loop. Values, gradients and errors are the same in all modes.
@test "loops by index are loops over rows" {
    local expr left mode in
    while IFS='|' read -r expr left; do
        gload -i 'x: float64[n]' -i 'A: float64[n, m]' -i 'k: int64[n]' -e "y = $expr" -e 'c = sum(y * y)' --outputs y,c -o q.tlg
        grewrite q.tlg --no-provenance -O yaml >r.yaml
        case $left in
            seq) ok 'grep -c -E "[a-zA-Z0-9_]\[(i|k|x|i_1)\]" r.yaml || true' 0 ;;
            gather) ok 'grep -E -q "[a-zA-Z0-9_]\[(i|k|x|i_1)\]" r.yaml' '' ;;
            scan) ok 'grep "scan(" r.yaml | grep -c "keep=" || true' 0 ;;
            write) ok 'grep "scan(" r.yaml | grep -c "keep=..last" || true' 1 ;;
            none) ok 'grep -c "scan(" r.yaml || true' 0 ;;
        esac || fail "$expr"
        ggrad q.tlg --cost c --wrt x,A --disconnected ignore -o g.tlg
        for in in 'x=[1,-2,3,0.5] A=[[1,2,3],[4,5,6],[7,8,9],[-1,0,2]] k=[1,0,3,1]' 'x=[] A=zeros((0,3)) k=int64([])' \
            'x=[2.] A=[[1.,2,3]] k=[0]' 'x=[2.,-1] A=[[1.,2,3],[4,0,1]] k=[1,1]'; do
            for mode in FAST_RUN FAST_COMPILE DEBUG; do # shellcheck disable=SC2086
                grun g.tlg --mode "$mode" --on-unused-input ignore $in >"o.$mode" 2>e.txt || sed -n '1s/.*error.\([A-Z_]*\).*/\1/p' e.txt >"o.$mode"
            done
            ok 'cmp o.FAST_RUN o.FAST_COMPILE && cmp o.FAST_RUN o.DEBUG' '' || fail "$expr with $in"
        done
    done <<'END'
scan(lambda i, s: 0.5 * s + x[i], sequences=[arange(n)], outputs_info=[0.0])|seq
scan(lambda i, s: 0.5 * s + x[i + 1] * x[i], sequences=[arange(n - 1)], outputs_info=[0.0])|seq
scan(lambda i, s: 0.5 * s * sum(A[i]) + A[i][2], sequences=[arange(n)], outputs_info=[1.0])|seq
scan(lambda i, s: 0.5 * s + x[i], sequences=[arange(m)], outputs_info=[0.0])|gather
scan(lambda i, s: 0.5 * s + A.T[:, i], sequences=[arange(n)], outputs_info=[ones(m)])|seq
scan(lambda i, s: s * 0.5 + x[i], sequences=[arange(n)[::-1]], outputs_info=[0.0])|seq
scan(lambda k, s: s * 0.5 + x[k], sequences=[k], outputs_info=[0.0])|gather
scan(lambda k, s: s * 0.5 + A[k], sequences=[k], outputs_info=[ones(m)])|gather
scan(lambda i, s: [s * 0.5 + x[i], until(s > 2)], sequences=[arange(n)], outputs_info=[0.0])|gather
scan(lambda i, y: set_subtensor(y[i], sin(x[i]) * 2), sequences=[arange(n)], outputs_info=[zeros(n)], keep="last")|none
scan(lambda i, y: inc_subtensor(y[i + 1], x[i] * 2), sequences=[arange(n - 1)], outputs_info=[zeros(n)], keep="last")|scan
scan(lambda i, k, y: inc_subtensor(y[k], x[i]), sequences=[arange(n), k], outputs_info=[zeros(n)], keep="last")|write
scan(lambda k, y: set_subtensor(y[k], x[k] * 2), sequences=[k], outputs_info=[zeros(n)], keep="last")|write
scan(lambda i, y: set_subtensor(y[i], 0.5 * y[i - 1] + x[i]), sequences=[arange(1, n)], outputs_info=[x], keep="last")|scan
scan(lambda i, y: set_subtensor(y[i], 0.5 * y[i - 1] - y[i - 2] + x[i]), sequences=[arange(2, n)], outputs_info=[x], keep="last")|scan
scan(lambda i, y: set_subtensor(y[i + 2], y[i + 1] * y[i] + x[i]), sequences=[arange(n - 2)], outputs_info=[x], keep="last")|scan
scan(lambda i, Y: set_subtensor(Y[i], 0.5 * Y[i - 1] + A[i]), sequences=[arange(1, n)], outputs_info=[A], keep="last")|scan
scan(lambda i, y: set_subtensor(y[i], 0.5 * y[i - 1] + x[i]), sequences=[arange(n)], outputs_info=[x], keep="last")|write
scan(lambda i, y: set_subtensor(y[i], 0.5 * y[i + 1] + x[i]), sequences=[arange(n - 1)], outputs_info=[x], keep="last")|write
scan(lambda i, y: set_subtensor(y[i], 0.5 * y[i - 1] + y[0]), sequences=[arange(1, n)], outputs_info=[x], keep="last")|write
scan(lambda i, y: inc_subtensor(y[i], 0.5 * y[i - 1]), sequences=[arange(1, n)], outputs_info=[x], keep="last")|write
END
}
