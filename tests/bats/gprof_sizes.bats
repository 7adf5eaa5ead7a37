# gprof: sizes that dims fix, values that types fix, and who holds the peak of memory.
load common

# A layer of attention: slices of tok, and a mask whose size is computed.
attention() {
    cat >a.yaml <<'Y'
thunkline: 1
name: attention
inputs: {tok: "int64[B, T]"}
shared: {E: "float32[20, 32] = ones((20, 32))"}
let: |
  x = E[tok[:, :-1]]
  n = tok.shape[1] - 1
  s = einsum('bik,bjk->bij', x, x)
  a = softmax(where(tri(n, n) > 0, s, -1e9), axis=-1)
  logp = log_softmax((x + a @ x) @ E.T, axis=-1)
  loss = -mean(take_along_axis(logp, tok[:, 1:, None], axis=2))
outputs: [loss]
Y
}

@test "--dim reaches as far as in gload" {
    attention
    ggrad a.yaml --cost loss --wrt E >g.tlg
    local g f
    for g in a.yaml g.tlg; do
        gprof $g --static --dim B=8 --dim T=11 -O json -o here.json
        gload $g --dim B=8 --dim T=11 | gprof --static -O json -o there.json
        gprof $g --static 'tok=zeros((8, 11))' -O json -o value.json
        jq -e '.dims == {B: 8, T: 11} and .total.unknown_sizes == 0 and .total.unknown_flops == 0 and .total.unknown_bytes == 0' here.json
        for f in here value; do
            assert_equal "$(jq -c '.total | del(.rewrite_time_s, .plan_time_s)' $f.json)" "$(jq -c '.total | del(.rewrite_time_s, .plan_time_s)' there.json)"
        done
        gprof $g --static --dim B=8 --dim T=11 --assert 'peak_bytes < 200e3' -o o
        # a run of the same sizes takes what was planned
        gprof $g --dim B=8 --dim T=11 'tok=zeros((8, 11))' --repeat 1 -O json |
            jq -e --argjson p "$(jq .total.peak_bytes here.json)" '.total.peak_bytes == $p and (.total.measured_results_bytes - $p | fabs) < 64 * 100'
    done
    bad 2 E_UNKNOWN 'no dim q' 'gprof a.yaml --static --dim q=3'
    bad 3 E_SHAPE 'tok' "gprof a.yaml --dim B=8 --dim T=11 'tok=zeros((8, 12))'"
}

@test "--dim reaches sizes that a rewritten graph asks of a slice" {
    attention
    sed -i 's/tok.shape\[1\] - 1/x.shape[1]/' a.yaml
    ggrad a.yaml --cost loss --wrt E | grewrite >g.tlg
    grewrite g.tlg --mode NONE -O math | grep -q 'shape_i(.*axis=1)'
    gprof g.tlg --static --dim B=8 --dim T=11 -O json -o p.json
    jq -e '.total | .unknown_sizes == 0 and .unknown_flops == 0 and .unknown_bytes == 0' p.json
    # and they are those of a run
    gprof g.tlg --dim B=8 --dim T=11 'tok=zeros((8, 11))' --repeat 1 -O json |
        jq -e --argjson p "$(jq .total.peak_bytes p.json)" '(.total.measured_results_bytes - $p | fabs) < 64 * 100'
}

@test "inputs without a value are drawn at random once their sizes are known" {
    attention
    like 'gprof a.yaml --dim B=8 --dim T=11 --repeat 1' '^drawn at random: tok$' 'measured .* \(results'
    ok 'gprof a.yaml --dim B=8 --dim T=11 --repeat 1 -O json | jq -c ".drawn, .dims"' '["tok"]
{"B":8,"T":11}'
    ok "gprof a.yaml 'tok=zeros((8, 11))' --repeat 1 -O json | jq -c .drawn" null
    bad 2 E_MISSING 'missing input tok: int64\[B, 11\]' 'gprof a.yaml --dim T=11'
    bad 2 E_MISSING 'fix the sizes with --dim NAME=SIZE: the values are then drawn at random' 'gprof a.yaml'
    bad 2 E_USAGE "seed can't be negative" 'gprof a.yaml --seed -1'
    # the seed decides: a loop of 0, 1 or 2 steps
    gload --new -i 'k: int64' -i 'x: float64[3]' -e "y = scan(lambda h: tanh(h), outputs_info=[x], n_steps=k, keep='last')" -o k.tlg
    local i
    for i in 1 2 3 4 5 6 7 8; do
        gprof k.tlg --seed $i --repeat 1 -O json | jq .total.math_calls
    done >calls
    assert_equal "$(sort -u calls | tr '\n' ' ')" '0 3 6 '
    assert_equal "$(gprof k.tlg --seed 3 --repeat 1 -O json | jq .total.math_calls)" "$(sed -n 3p calls)"
    # each kind of value
    gload --new -i 'b: bool[4]' -i 'z: complex128[2]' -i 'l: list(float64[2])' -i 'r: random' -e 's, v = normal(size=(3,), rng=r)' -e 'y = sum(b) + sum(abs(z)) + sum(list_get(l, 0)) + sum(v)' --outputs y -o m.tlg
    ok 'gprof m.tlg --repeat 1 -O json | jq -c .drawn' '["b","z","l"]'
}

@test "who holds the peak" {
    gload --new -i 'x: float64[n]' -e 'a = sort(x)' -e 'b = cumsum(a)' -e 'c = sort(b) @ a' -e 'd = sort(cumsum(c * x))' --outputs d -o g.tlg
    gprof g.tlg --static --dim n=1000 -O json -o r.json
    jq -e '.at_peak | length == 3 and all(.bytes == 8000) and ([.[].op] | sort) == ["running_sum", "sort", "sort"]' r.json
    jq -e '([.at_peak[].bytes] | add) == .total.least_bytes' r.json
    like 'gprof g.tlg --static --dim n=1000' '^% peak +sum +bytes +line +held at the peak$' '^ 33\.3% +33\.3% +8\.00 kB +- +a = sort\(x, axis=0\)$'
    like 'gprof g.tlg --static --dim n=1000 --memory --by op --top 1' '^\.\.\. \(remaining 2 hold 66\.7%\)$'
    # measured, what a function keeps, and lines of the file
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: "float64[n]"}
    let: |
      y = sort(cumsum(sort(x)))
    outputs: [y]
inputs: {x: "float64[n]"}
let: |
  u = f(x)
  v = sort(f(u))
outputs: [v]
Y
    gprof f.yaml 'x=ones(1000)' --mode FAST_COMPILE --repeat 1 -O json -o m.json
    jq -e '.at_peak | map(select(.op != "function")) | length == 2 and all(.bytes == 8000) and map(.line) == [10, 11] and (map(.name) == ["u", "_1"])' m.json
    grewrite --exclude inline f.yaml | gprof --static --dim n=1000 -O json | jq -e '.at_peak[0] | .name == "f" and .op == "function" and .bytes > 15000 and .line == null'
    # nothing runs, but the output is a copy
    gload --new -i 'x: float64[3]' -e 'y = x' -o e.tlg
    ok 'gprof e.tlg --static -O json | jq -c ".at_peak"' '[{"name":"x","bytes":24,"op":"leaf","line":null}]'
}

@test "the peak of a gradient with checkpoints is planned, before and after rewriting" {
    cat >kalman.yaml <<'Y'
thunkline: 1
inputs:
  y: float64[T]
shared:
  q: float64 = 0.1
  r: float64 = 0.5
functions:
  step:
    inputs: {obs: float64, m: float64, P: float64, q: float64, r: float64}
    let: |
      S = P + q + r
      K = (P + q) / S
      m1 = m + K * (obs - m)
      P1 = (1 - K) * (P + q)
    outputs: [m1, P1]
let: |
  m, P = scan(step, sequences=[y], outputs_info=[0., 1.], non_sequences=[q, r], checkpoint='sqrt')
  loss = sum((m - y) ** 2 / P)
outputs: [loss]
Y
    ggrad kalman.yaml --cost loss -o g.tlg
    grewrite g.tlg -o r.tlg
    local f
    for f in g r; do
        [ "$(grep -c '^peak of memory: planned [0-9.]* kB;' <(gprof --static --dim T=2000 $f.tlg))" = 1 ]
        ok "gprof --static --dim T=2000 --assert 'peak_bytes < 200kB' --assert 'peak_bytes > 32kB' $f.tlg >/dev/null"
    done
    # numbers that gload has put in do as well
    ok "gload --dim T=2000 r.tlg | gprof --static | grep -c '^flops: [0-9.]*[kM], .*' && gload --dim T=2000 r.tlg | gprof --static --assert 'peak_bytes < 200kB' >/dev/null" 1
    # every step kept: much more
    sed "s/, checkpoint='sqrt'//" kalman.yaml | ggrad --cost loss -o all.tlg
    ok "gprof --static --dim T=20000 --assert 'peak_bytes > 900kB' all.tlg >/dev/null"
    ok "gprof --static --dim T=20000 --assert 'peak_bytes < 500kB' g.tlg >/dev/null"
}

@test "values that disagree on a dim are refused, as in a run" {
    gload -i 'X: float64[n, 4]' -i 'y: float64[n]' -e 'z = X[:, 0] + y' -o c.tlg
    local how
    for how in 'grun' 'gprof --static' gprof; do
        bad 3 E_SHAPE 'the dim n is 3 by X and 5 by y' "$how c.tlg 'X=zeros((3, 4))' 'y=zeros(5)'"
    done
    ok "gprof c.tlg --static 'X=zeros((3, 4))' 'y=zeros(3)' | grep -o '; n=.*'" '; n=3'
}

@test "--dim tells sizes of fused groups whose dims types leave open" {
    gload -i 'u: float64[n, m]' -e 'y = (u[1:] - u[:-1]) ** 2 + 1' -e 'z = sum(y, axis=1)' | grewrite -o g.tlg
    gload g.tlg -O math | grep -q 'x0: float64\[d0, m\]'
    gprof g.tlg --static --dim n=101 --dim m=5 -O json |
        jq -e '.total | .unknown_sizes == 0 and .unknown_flops == 0 and .flops == 100 * 5 * 4 and .peak_bytes >= 100 * 6 * 8'
}

@test "open dims of fused groups have the names that other operands give them, and none where these differ" {
    local e g="gload -i 'x: float64[?, ?]' -i 'y: float64[1, k]' -i 'w: float64[1, m]'" v='x=[[1,2],[3,4]] y=[[1,2]] w=[[2,1]]'
    for e in '(x * y) * 2 + y' '(x * y) > y' '(x + y) * (x - y)' '(x * y) + (x * w)' 'exp(x[1:] * y) + x[:-1] * w' 'sum((x * w) * y + x, axis=1)'; do
        ok "$g -e 'z = $e' --outputs z -o g.tlg"
        ok "grun g.tlg $v --mode FAST_COMPILE >plain; grewrite g.tlg | grun $v | cmp - plain"
        ok "grun g.tlg $v --mode DEBUG | cmp - plain"
    done
    grewrite g.tlg -O yaml | grep -q 'x[0-9]: float64\[d0, '
    # a reduction's dims are others
    ok "gload -i 'x: bool[?, m, ?]' -e 'z = min(float64(x) * 2, axis=2)' | grewrite | grun x='full((2, 4, 1), True)' --expect 'z=full((2, 4), 2)' -o o"
    # a dim of 1 that stretches beside an open one
    ok "gload -i 'x: float64[?, ?, 1]' -i 'y: float64[n, 4]' -e 'z = exp(x) + y' | grewrite | grun x=[[[0],[0],[0]]] 'y=ones((3, 4))' --expect 'z=full((1, 3, 4), 2)' -o o"
    ok "gload -i 'x: float64[?, ?]' -i 'y: float64[1, k]' -e '(x * y) * 2 + y' | grewrite -O yaml | grep -c 'x[0-9]: float64\[d0, k\]'" 1
}
