#!/usr/bin/env bats
# What grun says of an op that fails while it runs: where it stands, what it was given, who waits for it, what to try.
load common

has() { # TEXT...: each stands in the last command's diagnostics
    local t
    for t; do
        grep -Fq -- "$t" .err || complain "should have: $t" "$t" || return
    done
}

@test "the op, its place, its inputs, its readers and the results that are missing" {
    gload --new -i 'x: float64[n]' -i 'i: int64' --shared 'w: float64 = 0' -e 'e = exp(x)' -e 'v = e[i]' -e 'z = v + 1' -e 'p = print(v)' \
        --outputs z,e --update 'w = w + v' --prefix '' -o g.yaml
    bad 5 E_INDEX '^grun: g.yaml:[0-9]+:7: error' 'grun g.yaml x=[1,2] i=5'
    has 'v = e[i]' "in v = subtensor(e: float64[n], i: int64, index='\$')" 'input 0: float64(2,), strides (8,): [2.7' \
        'input 1: int64(), strides (): 5' 'its result is read by ' 'it is needed for output z, the update of w, the effect print' \
        'hint: --mode MONITOR' '--mode DEBUG checks'
    run ! grep -q 'output e' .err
    # the same as a record
    shell 'grun g.yaml x=[1,2] i=5 --errors json'
    [ "$status" = 5 ]
    has '"code": "E_INDEX", "exit": 5' '"file": "g.yaml", "line": ' '"text": "e[i]"' '{"message": "it is needed for output z, the update of w' '{"message": "hint: '
    bad 5 E_INDEX 'for the initial value of w' 'gload --new --shared "w: float64[3] = zeros(4)[[0, 1, 7]]" -e "y = w + 1" --outputs y | grun'
    # many inputs, many readers
    bad 5 E_INDEX 'read by add, multiply, exp, sin and 1 more$' \
        'gload -i "x: float64[n]" -e "v = x[7]" -e "a = v + x" -e "b = v * x" -e "c = exp(v)" -e "d = sin(v)" -e "e = cos(v)" | grun --exclude fusion x=[1]'
}

@test "what an op overwrote in part before it failed isn't shown as its input" {
    gload -i 'i: int64[k]' -i 'x: float64[n]' -e 'y = inc_subtensor((x * 2)[i], 10.0)' --outputs y -o g.tlg
    bad 5 E_INDEX 'index 99 is out of range' 'grun g.tlg "x=[1, 2, 3]" "i=concatenate([zeros(50000, dtype=\"int64\"), [99]])"'
    has 'input 0: float64(3,), strides (8,): overwritten in part'
    bad 5 E_INDEX 'index 99 is out of range' 'grun g.tlg "x=[1, 2, 3]" "i=[0, 1, 99]"'
    has 'input 0: float64(3,), strides (8,): [2.0, 4.0, 6.0]'
}

@test "a failure names the rewrite or derivation that made the Apply, and how to avoid it" {
    gload --new -i 'x: float64[?, ?]' -i 'y: float64[?, ?]' -e 'z = inv(x) @ y' -o g.yaml
    bad 5 E_SINGULAR 'solve: the matrix is singular' 'grun g.yaml x=[[1,2],[2,4]] y=[[1],[0]]'
    has 'the rewrite inv-matmul created it' 'hint: --mode FAST_COMPILE, or --exclude inv-matmul'
    for how in '--mode FAST_COMPILE' '--exclude inv-matmul'; do
        bad 5 E_SINGULAR 'g.yaml:7:8: error.*inv: the matrix' "grun $how g.yaml x=[[1,2],[2,4]] y=[[1],[0]]"
        run ! grep -q 'created it' .err
    done
    bad 5 E_SINGULAR 'hint: an earlier grewrite rewrote the graph.*grewrite --exclude inv-matmul' 'grewrite g.yaml | grun x=[[1,2],[2,4]] y=[[1],[0]]'
    bad 5 E_SINGULAR 'inv: the matrix' 'grewrite --exclude inv-matmul g.yaml | grun x=[[1,2],[2,4]] y=[[1],[0]]'
    bad 5 E_RUN_SHAPE 'it is part of the gradient of multiply$' \
        'gload -i "x: float64[?]" -i "y: float64[?]" -e "sum(x * y)" | ggrad --wrt x --only | grun x=[1,2,3] y=[1,2]'
}

@test "in a loop: which step of which loop; in a function: where it is called" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]", k: int64}
functions:
  pick:
    inputs: {u: "float64[m]", i: int64}
    let: |
      v = u[i]
    outputs: [v]
  step:
    inputs: {t: int64, c: float64, u: "float64[m]"}
    let: |
      r = pick(u, t) * c
    outputs: [r]
let: |
  s = scan(step, sequences=[arange(k)], outputs_info=[1.0], non_sequences=[x])
outputs: [s]
Y
    for mode in FAST_RUN FAST_COMPILE DEBUG NAN_GUARD MONITOR; do
        shell "grun g.yaml x=[1,2,3] k=5 --mode $mode"
        [ "$status" = 5 ]
        has 'g.yaml:7:11: error[E_INDEX]: subtensor: index 3 is out of range for axis 0 of size 3' 'g.yaml:15:7: note: in step 3 of 5 of the loop here' \
            'it is needed for output s'
    done
    bad 5 E_INDEX 'g.yaml:12:11: note: called here' 'grun g.yaml x=[1,2,3] k=5'
    has 'which runs step'
    bad 5 E_NAN 'in step 1 of 3 of the loop here' 'grun g.yaml x=[1,inf,3] k=3 --mode NAN_GUARD --unguarded x,v'
}

@test "NAN_GUARD shows inputs as they were, or not at all" {
    gload -i 'x: float64[2]' -e 'y = sqrt(x) + 1.0' -o x.tlg
    bad 5 E_NAN 'input 0: min -2, max 5' 'grun x.tlg x=[-2,5] --mode NAN_GUARD'
    gload -i 'x: float64[2]' -e 'y = sqrt(exp(x) - 3.0)' -o e.tlg
    shell 'grun e.tlg x=[0,5] --mode NAN_GUARD'
    [ "$status" = 5 ]
    has 'input 0 is not shown: the result went over it'
    if has 'input 0:'; then false; fi
}

@test "a loop in a function in a loop, and its gradient" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]", k: int64}
functions:
  part:
    inputs: {i: int64, u: "float64[m]"}
    let: |
      r = scan(lambda t, c, u: c + u[t], sequences=[arange(i)], outputs_info=[0.0], non_sequences=[u])
      v = sum(r)
    outputs: [v]
let: |
  s = scan(lambda i, h, x: h + part(i, x), sequences=[arange(k)], outputs_info=[0.0], non_sequences=[x])
  l = sum(s)
outputs: [l]
Y
    bad 5 E_INDEX '^grun: g.yaml:7:36: error.*index 3 is out of range' 'grun g.yaml x=[1,2,3] k=7'
    [ "$(grep -o 'g.yaml:[0-9]*:[0-9]*: note: .*' .err | tr '\n' '|')" = \
        'g.yaml:7:11: note: in step 3 of 4 of the loop here, which runs lambda_1|g.yaml:11:32: note: called here|g.yaml:11:7: note: in step 4 of 7 of the loop here, which runs lambda_2|' ] ||
        complain 'the loops from the inside out' g.yaml
    bad 5 E_INDEX '^grun: g.yaml:7:36: error' 'ggrad g.yaml --wrt x --only | grun x=[1,2,3] k=7 --mode FAST_COMPILE'
    has 'it is needed for output d_l_d_x'
}

@test "in a fused group: the op at fault and its place; overwritten inputs are not shown" {
    gload --new -i 'x: int64[?]' -i 'y: int64[?]' -e 'z = (x + 1) // y * 2' --outputs z -o g.yaml
    bad 5 E_ARITHMETIC 'g.yaml:[0-9]+:8: error.*floor_divide: integer division by zero' 'grun g.yaml x=[1,2] y=[1,0]'
    has '_1 // y' 'it is needed for output z'
    run ! grep -q ': \[2, 0\]' .err
    bad 5 E_RUN_SHAPE 'multiply: the shapes \(2,\) of an unnamed value and \(3,\) of y' \
        'gload -i "x: float64[?]" -i "y: float64[?]" -e "z = sin(exp(x) * y) + 1" -O yaml | grun x=[1,2] y=[1,2,3]'
    # inputs have the names that they have outside
    bad 5 E_RUN_SHAPE 'subtract: the shapes \(2,\) of an unnamed value and \(1,\) of y' \
        'gload -i "x: float64[?]" -i "y: float64[?]" -e "z = x * 2 - y" | grun x=[1,2] y=[1]'
    bad 5 E_RUN_SHAPE 'multiply: the shapes \(2,\) of x and \(3,\) of y' \
        'gload -i "x: float64[?]" -i "y: float64[?]" -e "z = sin(x * y)" | grun x=[1,2] y=[1,2,3]'
    bad 5 E_RUN_SHAPE 'set_subtensor: dim 0 of y has size 4' \
        'gload --new -i "t: float64[n]" -i "x: float64[m]" -e "y = set_subtensor(t[2:5], exp(x) * 2)" --outputs y | grun "t=zeros(8)" "x=ones(4)"'
    has 'in y = set_subtensor(t: float64[n], float64[m], 2, 5'
}

@test "in many calls: which one" {
    bad 5 E_INDEX 'in call 4 of 5, 4 of epoch 1' 'gload -i "i: int64" -e "zeros(3)[i]" | grun i=[0,1,2,3,4] --each i'
    bad 5 E_INDEX 'in call 2 of 6, 2 of epoch 1' 'gload -i "i: int64[?]" -e "sum(zeros(3)[i])" | grun i=[0,1,2,2,1,3] --each i --batch 2 --epochs 2 --shuffle 4'
    bad 5 E_ASSERT 'in step 3 of 5' 'gload --new --shared "n: int64 = 0" -e "a = assert_op(n, n < 2)" --outputs a --update "n = n + 1" | grun --steps 5'
}

@test "an op that fails in a later call than the first says the same" {
    gload --new -i 'a: int64' -i 'b: int64' -e 'y = a // b' --outputs y -o s.tlg
    bad 5 E_ARITHMETIC 'floor_divide: integer division by zero$' 'grun s.tlg --each a,b a=[1,2,3,4] b=[1,1,1,0]'
    has 'input 0: int64(), strides (): 4' 'input 1: int64(), strides (): 0'
    gload --new -i 'a: int64[3]' -i 'b: int64[3]' -e 'y = a // b + a' --outputs y -o v.tlg
    bad 5 E_ARITHMETIC 'integer division by zero at \[1\]' 'grewrite v.tlg | grun --each a,b "a=ones((4, 3), dtype=\"int64\") * 5" "b=[[1,1,1],[1,1,1],[1,1,1],[1,0,1]]"'
    has '[5, 5, 5]' '[1, 0, 1]'
}

@test "more bytes than can be counted are refused before any are taken" {
    local e code says
    while IFS='|' read -r e code says; do
        gload --new -i 'n: int64' -e "y = $e" --outputs y -o n.tlg
        bad "${code%% *}" "${code##* }" "$says" 'grun n.tlg n=4611686018427387904'
    done <<'END'
full([n, n, n], 1.0)|6 E_LIMIT|full: the requested shape has more bytes than can be addressed
full([n, 0, n], 1.0)|6 E_LIMIT|full: the requested shape has more bytes than can be addressed
eye(n)|6 E_LIMIT|eye: the requested shape has more bytes than can be addressed
arange(n)|6 E_LIMIT|arange: there are too many elements
END
    bad 6 E_MEM '74.5 GiB of memory are needed' 'gload --new -i "n: int64" -e "y = sum(eye(n))" --outputs y | grun n=100000 --max-memory 1M'
    has 'for the result of eye' 'its result is read by sum' 'it is needed for output y'
}
