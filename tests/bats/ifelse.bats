# ifelse: one branch is run, from the shell through all tools.
load common

@test "only the taken branch runs" {
    ok "gload -e 'ifelse(1, 5.0, assert_op(6.0, False))' | grun" 'out = 5.0'
    bad 5 E_ASSERT 'does not hold' "gload -e 'ifelse(0, 5.0, assert_op(6.0, False))' -o f.tlg; grun f.tlg"
    bad 5 E_ASSERT 'does not hold' "gload -e 'where(True, 5.0, assert_op(6.0, False))' -o w.tlg; grun w.tlg"
    gload -i 'c: bool' -i 'x: float64[n]' -e 'ifelse(c, print(exp(x), msg="then"), print(sum(x) * x, msg="else"))' -o g.tlg
    ok 'grun g.tlg c=True x=[0,0] 2>&1' $'then = [1.0, 1.0]\nout = [1.0, 1.0]'
    ok 'grun g.tlg c=False x=[1,2] 2>&1' $'else = [3.0, 6.0]\nout = [3.0, 6.0]'
    ok 'grewrite g.tlg | grun c=False x=[1,2] 2>&1' $'else = [3.0, 6.0]\nout = [3.0, 6.0]'
}

@test "an effect that is no part of a branch always happens" {
    gload --new -i 'c: bool' -i 'x: float64' -e 'p = print(x, msg="p")' -e 'r = ifelse(c, p, x)' -e 's = p + 1' --outputs r,s -o g.tlg
    ok 'grun g.tlg c=False x=1 2>&1' $'p = 1.0\nr = 1.0\ns = 2.0'
    gload --new -i 'c: bool' -i 'x: float64' -e 'p = print(x, msg="p")' -e 'q = print(p * 2, msg="q")' -e 'r = ifelse(c, p, x)' --outputs r -o g.tlg
    ok 'grun g.tlg c=False x=1 2>&1' $'p = 1.0\nq = 2.0\nr = 1.0'
}

@test "an effect is removed with its branch, not with its value" {
    gload --new -i 'x: float64' -e 'r = ifelse(x > 0, ifelse(False, print(x, msg="never"), x), assert_op(x, x < -1))' -o g.tlg
    ok 'grewrite g.tlg | grun x=1 2>&1' 'r = 1.0'
    bad 5 E_ASSERT 'hold' 'grewrite g.tlg | grun x=-0.5'
    gload --new -i 'x: float64' -e 'r = ifelse(True, x, assert_op(x, False))' -o g.tlg
    ok 'grewrite g.tlg | tee r.tlg | gload -O math && gload --check r.tlg'
    ok 'grun r.tlg x=2' 'r = 2.0'
    ok 'grewrite g.tlg -O yaml --no-provenance | grep -c assert || true' 0
}

@test "several results, any condition, static dims where both agree" {
    gload -i 'x: float64[n]' -i 'c: float32' -e 'a, b = ifelse(c, [x + 1, sum(x)], [exp(x), 2])' -o g.tlg
    ok 'grun g.tlg x=[0,1] c=0.5' $'a = [1.0, 2.0]\nb = 1.0'
    ok 'grun g.tlg x=[0,0] c=-0.0' $'a = [1.0, 1.0]\nb = 2.0'
    ok 'grun g.tlg x=[0,1] c=nan' $'a = [1.0, 2.0]\nb = 1.0'
    for d in int8 uint64 bool complex64 float16; do
        ok "gload -i 'c: $d' -e 'ifelse(c, 1, 2)' | grun c=0" 'out = 2'
        ok "gload -i 'c: $d' -e 'ifelse(c, 1, 2)' | grun c=1" 'out = 1'
    done
    ok "gload -i 'c: complex128' -e 'ifelse(c, 1, 2)' | grun c=1j" 'out = 1'
    ok "gload --new -e 'a = ifelse(array(1j), 1, 2)' -e 'b = ifelse(array(0j), 1, 2)' | grewrite | grun" $'a = 1\nb = 2'
    like "gload -i 'c: bool' -i 'x: float64[2, 3]' -i 'y: float64[2, 4]' -e 'ifelse(c, x, y)' -O tree" 'float64\[2, \?\]'
    local l='gload -i "c: bool" -i "l: list(float64[2, 3])" -i "m: list(float64[2, 4])"'
    like "$l -e 'ifelse(c, l, m)' -O tree" 'ifelse .* list\(float64\[2, \?\]\)'
    like "$l -e 'ifelse(c, make_list(l), make_list(m))' -O tree" 'ifelse .* list\(list\(float64\[2, \?\]\)\)'
    ok "$l -e 'ifelse(c, l, m)' | grun --mode DEBUG c=False l='[]' m='[ones((2, 4))]'" 'out = [[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]]'
    bad 3 E_DTYPE 'list\(float64\[2, 3\]\) if the condition holds but list\(int64\[2, 3\]\) if not' "$l -i 'k: list(int64[2, 3])' -e 'ifelse(c, l, k)'"
    bad 3 E_SHAPE 'the same number of dims' "$l -i 'k: list(float64[2])' -e 'ifelse(c, l, k)'"
    bad 3 E_TYPE 'must be equal' "$l -i 'k: list(list(float64[2]))' -e 'ifelse(c, l, k)'"
    like 'gload g.tlg -O yaml' 'a, b = ifelse\(c, \[_1, _2\], \[_3, 2\.0\]\)'
    ok 'gload g.tlg -O yaml | gload -O yaml --no-provenance | gload -O yaml --no-provenance >1; gload g.tlg -O json --no-provenance | gload -O yaml --no-provenance | diff 1 -'
}

@test "a state goes through" {
    gload --new --shared 'w: float64[3] = [1, 2, 3]' -i 'c: bool' -e 'r = sum(w)' --outputs r --update 'w = ifelse(c, w * 2, w)' -o g.tlg
    ok 'grun g.tlg c=True --steps 3' 'r = 24.0'
    ok 'grun g.tlg c=False --steps 3' 'r = 6.0'
    ok 'grewrite g.tlg | grun c=True --steps 3' 'r = 24.0'
}

@test "errors say what is wrong" {
    bad 3 E_DTYPE 'float32 .* float64' "gload -i 'c: bool' -e 'ifelse(c, float32(1.5), float64(2))'"
    bad 3 E_SHAPE '0 dims' "gload -i 'c: float32[2]' -e 'ifelse(c, 1, 2)'"
    bad 3 E_SHAPE 'the same number of dims' "gload -i 'c: bool' -i 'x: float64[2]' -e 'ifelse(c, x, 2)'"
    bad 3 E_ARITY '2 values for then_branch but 1 for else_branch' "gload -i 'c: bool' -i 'x: float64' -e 'ifelse(c, [x, x], [x])'"
    bad 3 E_ARITY 'else_branch' "gload -i 'c: bool' -i 'x: float64' -e 'ifelse(c, x)'"
    bad 3 E_ARITY 'no|0 values' "gload -i 'c: bool' -e 'ifelse(c, [], [])'"
    bad 3 E_TYPE 'types must be equal' "gload -i 'c: bool' -i 'x: float64' -e 'ifelse(c, None, x)'"
    bad 3 E_ARITY 'too many' "gload -i 'c: bool' -e 'ifelse(c, 1, 2, 3)'"
}

@test "literals take the dtype of the operand beside them" {
    like "gload -i 'c: bool' -i 'x: float32' -e 'ifelse(c, x, 1.1)' -O tree" 'float32'
    like "gload -i 'c: bool' -i 'x: float32' -e 'ifelse(c, x, 1.1)' -O yaml" 'ifelse\(c, x, 1\.1\)'
    bad 3 E_DTYPE 'int64' "gload -i 'c: bool' -i 'x: int64' -e 'ifelse(c, x, 1.5)'"
    ok "gload -i 'c: bool' -e 'ifelse(c, 1, 2.5)' | grun c=True" 'out = 1.0'
}

@test "derivatives: zeros on the side that is not taken, float zeros for the condition" {
    gload -i 'x: float64[n]' -i 'c: float64' -e 'y = sum(ifelse(c > 0, exp(x), x * x))' -o g.tlg
    for c in 1 -1; do
        ok "ggrad g.tlg --cost y --wrt x --check c=$c x=[1,2,3]"
        ok "ggrad g.tlg --cost y --wrt x | grewrite | grun c=$c x=[1,2] >2; ggrad g.tlg --cost y --wrt x | grun c=$c x=[1,2] | diff - 2"
    done
    ok 'ggrad g.tlg --cost y --wrt x,c --only | grun x=[1,2] c=-1' $'d_y_d_x = [2.0, 4.0]\nd_y_d_c = 0.0'
    ok 'ggrad g.tlg --jvp y --wrt x | grun x=[1,2] c=-1 t_x=[1,10] | tail -1' 'jvp_y = 42.0'
    ok "gload --new -i 'x: float64' -i 'c: int64' -e 'y = ifelse(c, x * x, 3 * x)' -e 'g = grad(grad(y, x), x)' -e 'd = grad(y, c)' --outputs g,d | grun x=5 c=1" $'g = 2.0\nd = 0.0'
    ok "gload -i 'x: float64' -i 'c: bool' -e 'a, b = ifelse(c, [x * x, x], [x, 2 * x])' -e 'grad(b, x)' | grun x=5 c=False | tail -1" 'out = 2.0'
}

@test "shapes are known without the values" {
    ok "gload -i 'x: float64[?]' -i 'y: float64[?]' -i 'c: bool' -e 's = ifelse(c, exp(x), y * y).shape[0]' | grewrite -O yaml --no-provenance | grep -cE 'exp|square' || true" 0
    ok "gload -i 'x: float64[?]' -i 'y: float64[?]' -i 'c: bool' -e 's = ifelse(c, exp(x), y * y).shape[0]' | grewrite | grun x=[1] y=[1,2] c=False" 's = 2'
}

@test "in functions, of functions, nested" {
    cat >g.yaml <<'Y'
thunkline: 1
functions:
  slow:
    inputs:
      a: float64[n]
    let: |
      b = print(exp(a), msg='slow')
      c = sum(b)
    outputs: [c]
  pick:
    inputs:
      x: float64[n]
      c: bool
    let: |
      r, t = ifelse(c, [slow(x), sum(x)], [sum(x * x), 0])
    outputs: [r, t]
inputs:
  x: float64[n]
  c: bool
let: |
  r, t = pick(x, c)
  u = ifelse(t > 3, ifelse(c, r, assert_op(r, False)), -r)
outputs: [r, u]
Y
    ok 'grun g.yaml x=[0,0,9] c=False 2>&1' $'r = 81.0\nu = -81.0'
    like 'grun g.yaml x=[0,0] c=True 2>&1' 'slow = \[1.0, 1.0\]' 'u = -2.0'
    like 'grewrite g.yaml | grun x=[0,0,4] c=True 2>&1' 'slow' 'u = 56'
    ok 'grewrite g.yaml | grun x=[0,0,9] c=False 2>&1' $'r = 81.0\nu = -81.0'
}

@test "groups are fused within a branch" {
    like "gload --new -i 'x: float64[n]' -i 'c: bool' -e 'a = exp(x) * 2' -e 'r = ifelse(c, log(a + 1), a)' -e 's = ifelse(c, a - 1, sin(a) + x)' --outputs r,s | grewrite | tee g.tlg | grun c=True x=[0] | head -1" 'r = \[1\.09861228866810'
    # what one branch needs is in no group with what both need
    like 'gprof g.tlg c=True x=[0] -O tsv' 'sin, add.*\s0\s0\s1\s' 'exp, mul.*[1-9]\s1\s1\s'
    like 'gprof g.tlg c=False x=[0] -O tsv' 'sin, add.*[1-9]\s1\s1\s' 'log1p.*\s0\s0\s1\s'
}

@test "gprof shows what did not run" {
    gload -i 'x: float64[n]' -i 'c: bool' -e 'ifelse(c, exp(x), sum(x) * x)' -o g.tlg
    like 'gprof g.tlg c=True x=[1,2] -O json' '"op": "exp".*"calls": 1,' '"op": "sum".*"calls": 0,'
    like 'gprof g.tlg c=False x=[1,2] -O json' '"op": "exp".*"calls": 0,' '"op": "sum".*"calls": 1,'
}

@test "the gradient of a branch that is not taken is not computed" {
    # a Cholesky factor that there is not: neither it nor what is made of it is asked for
    gload --new -i 'c: bool' -i 'x: float64[2, 2]' -e 'w = ifelse(c, sum(x * x), sum(cholesky(x)))' --outputs w -o w.tlg
    ggrad w.tlg --wrt x -o g.tlg
    ok 'grun g.tlg c=True x="[[1, 2], [3, -4]]"' $'w = 30.0\nd_w_d_x = [[2.0, 4.0],\n           [6.0, -8.0]]'
    bad 5 E_SINGULAR 'not positive definite' 'grun g.tlg c=False x="[[1, 2], [3, -4]]"'
    ok 'ggrad w.tlg --wrt x --check c=False x="[[4, 1], [1, 3]]" -o /dev/null'
    # the runs of each op are counted
    gload --new -i 'c: bool' -i 'x: float64[30]' -i 'A: float64[30, 30]' -e 'w = ifelse(c, sum(sin(x)), sum(tanh(A @ tanh(A @ x))))' --outputs w | ggrad --wrt x,A -o g.tlg
    gprof g.tlg c=True x='ones(30)' A='eye(30)' --repeat 1 -O json -o r.json
    jq -e '[.op[] | select(.name == "matmul") | .calls] | add == 0' r.json
    gprof g.tlg c=False x='ones(30)' A='eye(30)' --repeat 1 -O json -o r.json
    jq -e '[.op[] | select(.name == "matmul") | .calls] | add >= 4' r.json
}

@test "gradients of branches in branches, of several results, shared by both sides" {
    local i='-i "c: bool" -i "d: bool" -i "x: float64" -i "y: float64"' c d
    eval "gload --new $i -e 'u, v = ifelse(c, [x * y, sin(x)], [y, x + y])' -e 'w = ifelse(d, u * v, ifelse(c, x ** 3 + v, exp(y) * u)) + x * u' --outputs w -o w.tlg"
    for c in True False; do
        for d in True False; do
            ok "ggrad w.tlg --wrt x,y --check c=$c d=$d x=0.7 y=0.3 -o /dev/null"
            ok "ggrad w.tlg --wrt x,y | ggrad --cost d_w_d_x --wrt x,y --check c=$c d=$d x=0.7 y=0.3 -o /dev/null"
            ok "ggrad w.tlg --wrt x,y --checkpoint sqrt --check c=$c d=$d x=0.7 y=0.3 -o /dev/null"
        done
    done
    # in a loop: each step takes its own branch
    gload --new -i 'x: float64[6]' -i 'w: float64' -e 'hs = scan(lambda x, h: ifelse(h > 1.0, w * sqrt(h - 1.0), h + x * w), sequences=[x], outputs_info=[0.5])' -e 'loss = sum(hs ** 2)' --outputs loss -o l.tlg
    ok 'ggrad l.tlg --wrt x,w --check "x=[0.3, 0.5, 0.9, 0.2, 0.8, 0.4]" w=0.9 -o /dev/null'
    # the root of a negative number would be nan, and 0 times that too
    ok 'ggrad l.tlg --wrt w --only | grun "x=[0.1, 0.1, 0.1, 0.1, 0, 0]" w=0.5 --expect d_loss_d_w=2.42 >/dev/null'
}

# chain N EXPRESSION: y0 = x, then N times y = EXPRESSION with P for the y before, K for the step.
chain() {
    awk -v n="$1" -v e="$2" 'BEGIN {
        print "thunkline: 1\ninputs: {x: float64, c: float64}\nlet: |\n  y0 = x"
        for (k = 0; k < n; k++) { t = e; gsub(/K/, k, t); gsub(/P/, "y" k, t); gsub(/HALF/, "y" int(k / 2), t); print "  y" k + 1 " = " t }
        print "outputs: [y" n "]" }'
}

@test "the gradient of a chain of branches grows with the chain, and is right in each" {
    local e c n
    for e in 'ifelse(c > K, sin(x * K.5), P)' 'ifelse(c > K, sin(P), x * K.5)' 'ifelse(c > K, sin(P), cos(HALF))' 'ifelse(c - K, sin(P) * x, P * x)'; do
        for n in 50 200; do
            chain "$n" "$e" >g.yaml
            ggrad g.yaml --cost "y$n" -O yaml -o "d$n.yaml"
        done
        [ "$(grep -c ' = ' d200.yaml)" -lt $((5 * $(grep -c ' = ' d50.yaml))) ]
        chain 50 "$e" >g.yaml
        for c in -1 0 7.5 33 60 nan; do
            ok "ggrad g.yaml --cost y50 --wrt x --check x=0.7 c=$c -o /dev/null" || return
        done
    done
    # so many parameters, each deep in branches of branches
    for n in 50 200; do
        chain "$n" 'ifelse(c > K, sin(wK * x), P)' | awk -v n="$n" '{ print } /^inputs/ { print "shared:"; for (k = 0; k < n; k++) print "  w" k ": float64 = " k }' >g.yaml
        ggrad g.yaml --cost "y$n" --wrt "$(seq -s, -f 'w%g' 0 $((n - 1)))" -O yaml -o "d$n.yaml"
    done
    [ "$(grep -c ' = ' d200.yaml)" -lt $((5 * $(grep -c ' = ' d50.yaml))) ]
    ok 'ggrad g.yaml --cost y200 --wrt w3,w120,w199 --check x=0.01 c=120.5 -o /dev/null'
}

@test "a long chain of branches is written and counted in linear time" {
    local n line
    for n in 400 200000; do
        awk -v n=$n 'BEGIN {
            print "thunkline: 1\ninputs: {c: bool, x: float64}\nlet: |\n  y0 = x"
            for (i = 0; i < n; i++) print "  y" i + 1 " = ifelse(c, y" i ", x)"
            print "outputs: [y" n "]" }' | gload - >g$n.tlg
        # processor seconds: a tenth of that; with quadratic time, ten times as many
        for line in 'gload g.tlg -O yaml' 'gprof --static g.tlg'; do
            ok "(ulimit -t 12; ${line/g.tlg/g$n.tlg} >out)" ''
        done
    done
}

@test "results of a loop's branches that share a value" {
    cat >g.yaml <<'Y'
thunkline: 1
functions:
  step:
    inputs: {e: float64, h: float64, before: float64}
    let: |
      c = h + h > 0.25
      d = h + h
      o = ifelse(c, d, h * 2.0)
      k = ifelse(c, d, h)
    outputs: {o: o, k: k}
inputs:
  x: float64
let: |
  a, b = scan(step, sequences=[array([1.0, 2.0, -3.0])], outputs_info=[x, 0.0], n_steps=3, keep=['all', 'last'])
outputs: [a, b]
Y
    for mode in FAST_RUN FAST_COMPILE DEBUG NAN_GUARD; do
        ok "grun g.yaml x=0.5 --mode $mode" $'a = [1.0, 2.0, 4.0]\nb = 4.0'
        ok "grun g.yaml x=0.1 --mode $mode --steps 3" $'a = [0.2, 0.4, 0.8]\nb = 0.8'
        ok "grun g.yaml x=-1 --mode $mode" $'a = [-2.0, -4.0, -8.0]\nb = -4.0'
    done
}

@test "a loop's branches that are not taken stay in the loop: their work may fail" {
    gload --new -i 'y: int64[n]' -i 'k: int64' -e 's = scan(lambda a, h: ifelse(a != 0, 12 // a, 0) + ifelse(a > 5, y[k], 0) + h, sequences=[y], outputs_info=[0])' --outputs s -o g.tlg
    for mode in FAST_RUN FAST_COMPILE DEBUG; do
        ok "grun g.tlg --mode $mode y=[1,0,2] k=7" 's = [12, 12, 18]'
    done
    bad 5 E_INDEX 'index 7 is out of range' 'grun g.tlg y=[1,0,6] k=7'
    # what every step needs is still made before
    like 'gload --new -i "y: float64[n]" -i "w: float64[3, 3]" -e "s = scan(lambda a, h: ifelse(a > 0., sum(w @ w) * a, 0.) + sum(w @ w) + h, sequences=[y], outputs_info=[0.])" --outputs s | grewrite -O math' 'non_sequences=\[sum\(w, axis=0\) @ sum\(w, axis=1\)\]'
}

@test "DEBUG writes a result over a branch only where that was computed" {
    ok "gload --new -i 'x: bool' -e 'ifelse(x, x, False)' | grun --mode DEBUG x=True" 'out = True'
}

@test "a condition that is a constant: of any real dtype, many branches at once, with effects, updates and initial values" {
    local m
    ok 'gload --new -i "x: float64" -e "y = ifelse(0.5, x, x * 2)" | grewrite -O math' $'x: float64\ny = x'
    ok 'gload --new -i "x: float64" -e "y = ifelse(float64(0), x, x * 2)" | grewrite -O math' $'x: float64\ny = x * 2.0'
    gload --new -i 'x: float64' -i 'c: bool' -e 'y = ifelse(c, [x, x+1, x+2, x+3, x+4, x+5, x+6, x+7, ifelse(c, x, sin(x))], [x*1, x*2, x*3, x*4, x*5, x*6, x*7, x*8, ifelse(c, x, x*9)])' --outputs y -o many.tlg
    gload --new -i 'x: float64[n]' --shared 's: float64[2] = ones(2) * 3' -e 'y = ifelse(False, print(x), x * 2) + s' --outputs y --update 's = s + 1' -o effect.tlg
    for m in FAST_RUN FAST_COMPILE DEBUG; do
        ok "grun many.tlg --mode $m x=1 c=False -O json | jq -s -c 'map(.data)'" '[1,2,3,4,5,6,7,8,9]' || return
        ok "grun many.tlg --mode $m x=1 c=True -O json | jq -s -c 'map(.data)'" '[1,2,3,4,5,6,7,8,1]' || return
    done
    ok 'grewrite effect.tlg | grun x=[1,2] --steps 2' 'y = [6.0, 8.0]'
}

@test "an ifelse that nothing reads runs the effects of the branch that is taken" {
    local m line
    gload --new -i 'c: bool' -i 'x: float64' -e 'y = ifelse(c, print(x, "yes"), print(x * 2, "no"))' -e 'z = x' --outputs z -o print.tlg
    gload --new -i 'c: bool' -i 'x: float64' -e 'y = ifelse(c, 5.0, assert_op(6.0, False))' -e 'z = x' --outputs z -o assert.tlg
    gload --new -i 'x: float64' -e 'y = ifelse(True, print(x, "yes"), print(x * 2, "no"))' -e 'z = x' --outputs z -o known.tlg
    cat >loop.yaml <<'Y'
thunkline: 1
inputs: {c: bool, x: float64}
functions:
  f:
    inputs: {c: bool, u: float64}
    let: |
      w = ifelse(c, print(u, msg='a'), ifelse(u > 1, print(u * 2, msg='b'), print(u * 3, msg='c')))
      r = u + 1
    outputs: [r]
let: |
  s = scan(lambda h: f(h > 2, h), outputs_info=[x], n_steps=3)
outputs: [s]
Y
    for m in 'grun --mode FAST_RUN' 'grun --mode FAST_COMPILE' 'grun --mode DEBUG' 'grewrite -O yaml FILE | grun -' 'grewrite FILE -o r.tlg && grewrite r.tlg --mode STABILIZE | grun -'; do
        case $m in *FILE*) line=$m ;; *) line="$m FILE" ;; esac
        ok "${line//FILE/print.tlg} c=True x=1 2>&1 | sort" $'yes = 1.0\nz = 1.0'
        ok "${line//FILE/print.tlg} c=False x=1 2>&1 | sort" $'no = 2.0\nz = 1.0'
        ok "${line//FILE/assert.tlg} c=True x=1" 'z = 1.0'
        bad 5 E_ASSERT 'does not hold' "${line//FILE/assert.tlg} c=False x=1"
        ok "${line//FILE/known.tlg} x=1 2>&1 | sort" $'yes = 1.0\nz = 1.0'
        ok "${line//FILE/loop.yaml} c=True x=0.5 --on-unused-input ignore 2>&1 | sort" $'a = 2.5\nb = 3.0\nc = 1.5\ns = [1.5, 2.5, 3.5]'
    done
}

@test "unread results of an ifelse are removed, with their values in both branches" {
    gload --new -i 'c: bool' -i 'x: float64' -e 'p, q, r = ifelse(c, [x * 2, sin(x), x], [x * 5, cos(x), -x])' --outputs p,q,r -o three.tlg
    ok 'gload three.tlg --outputs p | grewrite -O math --no-provenance' $'c: bool\nx: float64\np = ifelse(c, x * 2.0, x * 5.0)'
    ok 'gload three.tlg --outputs q | grewrite -O math --no-provenance' $'c: bool\nx: float64\nq = ifelse(c, sin(x), cos(x))'
    ok 'gload three.tlg --outputs p,r | grewrite | grun c=False x=2' $'p = 10.0\nr = -2.0'
}
