# vectorize: each row's result, each row's derivative, and what has no rows.
load common

# f's own derivatives are ten and a hundred times what they would be, so that they are told from those of its body.
own_derivatives() {
    cat >v.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {a: float64, h: float64}
    outputs: {out: 2.0 * a + h}
    pullback: p
    pushforward: t
  p:
    inputs: {a: float64, h: float64, g: float64}
    outputs: {da: 10.0 * g, dh: g}
  t:
    inputs: {a: float64, h: float64, da: float64, dh: float64}
    outputs: {out: 100.0 * da + dh}
  k:
    inputs: {a: float64, i: int64}
    outputs: {out: a * i}
    pullback: pk
  pk:
    inputs: {a: float64, i: int64, g: float64}
    outputs: {da: 10.0 * g * i, di: 0.0}
  c:
    inputs: {a: float64, h: float64}
    outputs: {out: a + h}
    pullback: pc
  pc:
    inputs: {a: float64, h: float64, g: float64}
    outputs: {da: g, dh: 5.0}
  r:
    inputs: {d2: float64}
    outputs: {out: d2 * d2}
    pullback: pr
  pr:
    inputs: {d2: float64, g: float64}
    outputs: {out: g * 3.0}
  r_own_pullback:
    inputs: {a: float64}
    outputs: {out: a}
inputs: {x: 'float64[n]', y: 'float64[n]', s: float64, j: 'int64[n]', M: 'float64[n, 2]'}
Y
}

@test "each row gets the result that it has alone" {
    own_derivatives
    local expr want mode
    while IFS='|' read -r expr want; do
        gload v.yaml -e "out = $expr" --outputs out -o v.tlg
        for mode in FAST_RUN FAST_COMPILE; do
            ok "grun v.tlg --mode $mode --on-unused-input ignore x=[1,2,3] y=[4,5,6] s=7 j=[1,2,3] M=[[1,2],[3,4],[5,6]] | tr -d ' \n'" "out=$want" || fail "$expr"
        done
    done <<'END'
vectorize(lambda a: sum(a), in_axes=1)(M)|[9.0,12.0]
vectorize(lambda a: sum(a), in_axes=-1)(M)|[9.0,12.0]
vectorize(lambda a: {'p': a, 'q': [a * 2, a * 3]})(x)['q'][1]|[3.0,6.0,9.0]
vectorize(lambda a: make_list(a, a * 2)[int64(a) % 2])(x)|[2.0,2.0,6.0]
vectorize(lambda a: list_append(make_list(a), 5.)[1])(x)|[5.0,5.0,5.0]
vectorize(lambda r: scan(lambda c, h: h + c, sequences=[r], outputs_info=[0.]))(M)|[[1.0,3.0],[3.0,7.0],[5.0,11.0]]
vectorize(lambda a: scan(lambda c, h: h + c * a, sequences=[x], outputs_info=[0.]))(y)|[[4.0,12.0,24.0],[5.0,15.0,30.0],[6.0,18.0,36.0]]
vectorize(lambda a: scan(lambda h: [h + a, until(h > 5)], outputs_info=[0.], n_steps=4)[-1])(y)|[12.0,15.0,12.0]
vectorize(lambda a, b: f(b, a), in_axes=[0, None])(x, 3.)|[7.0,8.0,9.0]
vectorize(lambda r: vectorize(lambda a: assert_op(a * 2, a > 0))(r))(M)|[[2.0,4.0],[6.0,8.0],[10.0,12.0]]
vectorize(lambda a: assert_op(a * 2, s > 0))(x)|[2.0,4.0,6.0]
vectorize(lambda a: sum(csr([a, 2 * a], [0, 1], [0, 1, 2], (2, 2)), axis=0))(x)|[[1.0,2.0],[2.0,4.0],[3.0,6.0]]
vectorize(lambda a: dense_from_sparse(transpose(csr([a, 2 * a], [1, 0], [0, 1, 2], (2, 2)))))(x)|[[[0.0,2.0],[1.0,0.0]],[[0.0,4.0],[2.0,0.0]],[[0.0,6.0],[3.0,0.0]]]
vectorize(lambda a: dense_from_sparse(csr([a], [0], [0, 1], (1, 1)) + csr([1.], [0], [0, 1], (1, 1))))(x)|[[[2.0]],[[3.0]],[[4.0]]]
vectorize(lambda i: dense_from_sparse(csr([1.], [i], [0, 1], (1, 3))))([0, 1])|[[[1.0,0.0,0.0]],[[0.0,1.0,0.0]]]
vectorize(lambda a: a)(zeros((0, 2)))|zeros((0,2),dtype='float64')
vectorize(lambda a: mean(a))(zeros((0, 2)))|[]
vectorize(lambda a: a.size)(M)|[2,2,2]
vectorize(sum(x[x > 1]) * s, [x, s], [[[1., 2., 3.], [-1., 5., 6.]], s])|[35.0,77.0]
vectorize(sum(x[x > s]) + s, [s, x], [[1., 2.], x])|[6.0,5.0]
vectorize(lambda r: r[:int64(sum(r))])(M)|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
vectorize(lambda a: ifelse(s > 0, a, require(a, a > 9)))(x)|[1.0,2.0,3.0]
vectorize(lambda a: ifelse(a - 2, [a, s], [s, a * 0])[1])(x)|[7.0,0.0,7.0]
vectorize(lambda r: ifelse(r[0] > 2, r[:1], r))([[3.], [4.]])|[[3.0],[4.0]]
vectorize(lambda a: ifelse(a > 0, s, s * 2))(zeros(0))|[]
vectorize(lambda r, a: polyval(r, a))(M, x)|[3.0,10.0,21.0]
vectorize(lambda r: scan(lambda p, q: p + q * s, outputs_info=[{'initial': r, 'taps': [-2, -1]}], n_steps=2))(M)|[[15.0,107.0],[31.0,221.0],[47.0,335.0]]
vectorize(lambda a: scan(lambda p, q, h: h + p * q * a, sequences=[{'input': y, 'taps': [0, 1]}], outputs_info=[0.], keep=1))(x)|[[50.0],[100.0],[150.0]]
vectorize(lambda a: scan(lambda c, h, g: [g + c, h + a], sequences=[y], outputs_info=[0., 0.])[0][-1])(x)|[11.0,12.0,13.0]
vectorize(lambda a: scan(lambda c, h: 2. * c, sequences=[y], outputs_info=[a]))(x)|[[8.0,10.0,12.0],[8.0,10.0,12.0],[8.0,10.0,12.0]]
vectorize(lambda a: scan(lambda h, g: [h + a, g + 1, until(g > 0)], outputs_info=[0., 0.], n_steps=9)[0])(x)|[[1.0,2.0],[2.0,4.0],[3.0,6.0]]
vectorize(lambda r: vectorize(lambda a: foldl(lambda c, h: h * a + c, r, 0.))(x))(M)|[[3.0,4.0,5.0],[7.0,10.0,13.0],[11.0,16.0,21.0]]
vectorize(lambda a: scan(lambda c, h: h + sum(x[x > c]) * a, sequences=[y - 3], outputs_info=[0.]))(x)|[[5.0,8.0,8.0],[10.0,16.0,16.0],[15.0,24.0,24.0]]
vectorize(lambda a: foldl(lambda c, h: h + sum(x[x > a]), y, 0.))(x)|[15.0,9.0,0.0]
vectorize(lambda r, p: convolve(p, r))(M, [[1., 1., 1.], [0., 1., 0.], [1., 0., -1.]])|[[1.0,3.0,3.0,2.0],[0.0,3.0,4.0,0.0],[5.0,6.0,-5.0,-6.0]]
vectorize(lambda r: vectorize(lambda q: convolve(q, r, mode='valid'))(M))(M)|[[[4.0],[10.0],[16.0]],[[10.0],[24.0],[38.0]],[[16.0],[38.0],[60.0]]]
vectorize(lambda r: searchsorted(r, [2., 4.]))(M)|[[1,2],[0,1],[0,0]]
vectorize(lambda r, p: interp(2., r, p))(M, M[::-1])|[6.0,3.0,1.0]
vectorize(lambda r: digitize(3.5, r[::-1]))(M)|[0,1,2]
vectorize(lambda i: make_list(x, x * 2)[i])([1, 0])|[[2.0,4.0,6.0],[1.0,2.0,3.0]]
END
}

@test "a loop of each row is one loop, whose steps compute all rows" {
    local expr
    while read -r expr; do
        ok "gload --new -i 'x: float64[n]' -i 'M: float64[n, 4]' -e 'y = $expr' --outputs y -o r.tlg && gload r.tlg -O yaml | grep -c '^ *[a-z_0-9]* = scan('" 1
    done <<'END'
vectorize(lambda r, a: polyval(r, a))(M, x)
vectorize(lambda r: scan(lambda c, h: h + c, sequences=[r], outputs_info=[0.]))(M)
vectorize(lambda a: scan(lambda c, h: h * a + c, sequences=[x], outputs_info=[0.], keep="last"))(x)
vectorize(lambda r: vectorize(lambda a: foldl(lambda c, h: h * a + c, r, 0.))(x))(M)
END
}

@test "derivatives that a function gives itself are those of each row" {
    own_derivatives
    local expr wrt want
    while IFS='|' read -r expr wrt want; do
        ok "gload v.yaml -e 'out = $expr' --outputs out | ggrad --cost out --wrt $wrt | grun --on-unused-input ignore x=[1,2,3] y=[4,5,6] s=7 j=[1,2,3] M=[[1,2],[3,4],[5,6]] | tail -n +2 | tr -d ' ' | paste -sd' '" "$want" || fail "$expr"
    done <<'END'
sum(vectorize(f)(x, y))|x,y|d_out_d_x=[10.0,10.0,10.0] d_out_d_y=[1.0,1.0,1.0]
sum(vectorize(f, in_axes=[0, None])(x, s))|x,s|d_out_d_x=[10.0,10.0,10.0] d_out_d_s=3.0
sum(vectorize(f, in_axes=[None, 0])(s, x))|x,s|d_out_d_x=[1.0,1.0,1.0] d_out_d_s=30.0
sum(vectorize(f, in_axes=[None, 0])(s, x)) + sum(vectorize(f, in_axes=[0, None])(x, s)) + sum(vectorize(f)(x, x))|x,s|d_out_d_x=[22.0,22.0,22.0] d_out_d_s=33.0
sum(vectorize(k)(x, j))|x|d_out_d_x=[10.0,20.0,30.0]
sum(vectorize(k, in_axes=[None, 0])(s, j))|s|d_out_d_s=60.0
sum(vectorize(c, in_axes=[0, None])(x, s))|x,s|d_out_d_x=[1.0,1.0,1.0] d_out_d_s=15.0
sum(vectorize(c)(x, y))|x,y|d_out_d_x=[1.0,1.0,1.0] d_out_d_y=[5.0,5.0,5.0]
sum(vectorize(c, in_axes=[None, 0])(s, x))|x,s|d_out_d_x=[5.0,5.0,5.0] d_out_d_s=3.0
sum(vectorize(lambda a: ifelse(a > 1, a * s, a))(x))|x,s|d_out_d_x=[1.0,7.0,7.0] d_out_d_s=5.0
sum(vectorize(lambda r: convolve(r, x)[1:])(M))|M,x|d_out_d_M=[[5.0,6.0], [5.0,6.0], [5.0,6.0]] d_out_d_x=[12.0,21.0,21.0]
sum(vectorize(lambda a: foldl(lambda c, h: h * a + c, y, s))(x))|x,y,s|d_out_d_x=[34.0,105.0,218.0] d_out_d_y=[14.0,6.0,3.0] d_out_d_s=36.0
sum(vectorize(r)(x)) + r(s) + r_own_pullback(s)|x,s|d_out_d_x=[3.0,3.0,3.0] d_out_d_s=4.0
sum(vectorize(lambda a: sum(vectorize(lambda b: f(a, b))(y)))(x))|x,y|d_out_d_x=[30.0,30.0,30.0] d_out_d_y=[3.0,3.0,3.0]
sum(vectorize(lambda a: sum(vectorize(lambda b: k(a, b))(j)))(x))|x|d_out_d_x=[60.0,60.0,60.0]
END
    while IFS='|' read -r expr wrt want; do
        ok "gload v.yaml -e 'out = $expr' --outputs out | ggrad --jvp out --wrt $wrt --tangents $wrt | grun --on-unused-input ignore x=[1,2,3] y=[4,5,6] s=7 j=[1,2,3] M=[[1,2],[3,4],[5,6]] | tail -n 1" "jvp_out = $want" || fail "$expr"
    done <<'END'
vectorize(f)(x, y)|x,y|[104.0, 205.0, 306.0]
vectorize(f, in_axes=[0, None])(x, s)|x,s|[107.0, 207.0, 307.0]
vectorize(f, in_axes=[None, 0])(s, x)|s|[700.0, 700.0, 700.0]
vectorize(f, in_axes=[0, None])(x, s)|s|[7.0, 7.0, 7.0]
END
}

@test "what has no rows is told at its place" {
    own_derivatives
    local at code says expr
    while IFS='|' read -r at code says expr; do
        bad 3 "$code" "^gload: --expr:1:$at: error.*$says" "gload v.yaml -e \"out = $expr\""
    done <<'END'
7|E_TYPE|only tensors have rows, not list\(float64\): use its items|vectorize(lambda a: make_list(a, a * 2))(x)[1]
7|E_TYPE|only tensors have rows, not sparse.*: use dense_from_sparse|vectorize(lambda a: csr([a], [0], [0, 1], (1, 1)) * 2.)(x)
7|E_TYPE|only tensors have rows, not sparse|vectorize(lambda a: a)(csr([1.], [0], [0, 1], (1, 1)))
7|E_SHAPE|argument 1 is float64\[n\]: it has no axis 2 for|vectorize(lambda a: a, in_axes=2)(x)
7|E_SHAPE|it has no axis -2 for the rows|vectorize(lambda a: a, in_axes=-2)(x)
38|E_ARG|in_axes must be an axis, None, or a list|vectorize(lambda a: a, in_axes='a')(x)
38|E_ARG|in_axes must be an axis, None, or a list|vectorize(lambda a: a, in_axes=1.5)(x)
38|E_ARG|in_axes must be an axis, None, or a list|vectorize(lambda a: a, in_axes=40)(x)
38|E_NAME|nope. is not defined|vectorize(lambda a: a, in_axes=nope)(x)
7|E_ARITY|in_axes has 2 entries for 1 argument|vectorize(lambda a: a, in_axes=[0, 0])(x)
7|E_ARG|no argument has rows|vectorize(lambda a: a, in_axes=None)(x)
31|E_NAME|q_. is not defined|vectorize(lambda a: a + q_)(x)
30|E_NAME|q_. is not defined|vectorize(lambda a: a)(q_)
7|E_ARITY|to the rows: vectorize\(f\)\(rows\)|vectorize(lambda a: a, 0, 1)(x)
END
}

@test "rows of sparse matrices: patterns, samples and sums, each as it is alone" {
    local expr want m
    while IFS='|' read -r expr want; do
        gload --new -i 's: sparse("csr", float64[2, 3])' -i 'k: float64[2]' -i 'd: float64[2, 3]' -i 'a: float64[2, 1]' -i 'b: float64[1, 3]' -e "r = vectorize(lambda q: $expr)(k)" --outputs r -o s.tlg
        for m in FAST_RUN FAST_COMPILE; do
            ok "grun s.tlg --mode $m --on-unused-input ignore s='[[1,0,2],[0,3,0]]' k=[1,2] d='[[1,2,3],[4,5,6]]' a='[[1],[2]]' b='[[1,2,3]]' | tr -d ' \n'" "r=$want" || fail "$expr"
        done
    done <<'END'
dense_from_sparse(sparse_like(d, s * q))|[[[1.0,0.0,3.0],[0.0,5.0,0.0]],[[1.0,0.0,3.0],[0.0,5.0,0.0]]]
dense_from_sparse(sparse_like(d * q, s))|[[[1.0,0.0,3.0],[0.0,5.0,0.0]],[[2.0,0.0,6.0],[0.0,10.0,0.0]]]
dense_from_sparse(sparse_like(d * q, s * q))|[[[1.0,0.0,3.0],[0.0,5.0,0.0]],[[2.0,0.0,6.0],[0.0,10.0,0.0]]]
dense_from_sparse(sparse_sampled_dot(a, b, s * q))|[[[1.0,0.0,3.0],[0.0,4.0,0.0]],[[1.0,0.0,3.0],[0.0,4.0,0.0]]]
dense_from_sparse(sparse_sampled_dot(a * q, b, s))|[[[1.0,0.0,3.0],[0.0,4.0,0.0]],[[2.0,0.0,6.0],[0.0,8.0,0.0]]]
dense_from_sparse(sparse_sampled_dot(a, b * q, s * q))|[[[1.0,0.0,3.0],[0.0,4.0,0.0]],[[2.0,0.0,6.0],[0.0,8.0,0.0]]]
sum(s * q)|[6.0,12.0]
sum(s * q, axis=0)|[[1.0,3.0,2.0],[2.0,6.0,4.0]]
sum(s * q, axis=-2)|[[1.0,3.0,2.0],[2.0,6.0,4.0]]
sum(s * q, axis=-1)|[[3.0,3.0],[6.0,6.0]]
sum(s * q, axis=(0, 1))|[6.0,12.0]
END
}

@test "rows in rows, with a loop that prints; what has no rows of that kind" {
    local expr want
    gload --new -i 'x: float64[n, m]' -e 'y = vectorize(lambda r: vectorize(lambda q: scan(lambda a, h: print(h + a * q), sequences=[r], outputs_info=[0.]))(r))(x)' --outputs y -o p.tlg
    ok "grun p.tlg x='[[1,2],[3,4]]' 2>err | tr -d ' \n'" 'y=[[[1.0,3.0],[2.0,6.0]],[[9.0,21.0],[12.0,28.0]]]'
    [ -s err ]
    while IFS='|' read -r expr want; do
        bad 3 E_SHAPE "$want" "gload --new -i 'x: float64[3]' -i 'l: list(float64)' -i 'w: float64[1]' -i 'z: float64[3, 1]' -i 'f: float32[2, 3]' -e '$expr' -o o.tlg"
    done <<'END'
vectorize(sum(x), x, l)|list\(float64\) can't replace float64\[3\]: only tensors have rows
vectorize(l[0], l, x)|float64\[3\] can't replace list\(float64\): only tensors have rows
vectorize(sum(x), x, z)|float64\[3, 1\] can't replace float64\[3\]: the shapes of a row differ
vectorize(sum(w), w, x)|float64\[3\] can't replace float64\[1\]: the shapes of a row differ
vectorize(sum(x), x, f)|float32\[2, 3\] can't replace float64\[3\]: the dtypes differ
END
}
