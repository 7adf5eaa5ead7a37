# grun --mode DEBUG: every op and rewrite checked.
load common

@test "an honest graph gives its results and says nothing" {
    gload --new -i 'x: float64[n, 3]' --shared 'w: float64[3] = ones(3)' -e 'h = tanh(x @ w) * 2 + 1' -e 'loss = mean(h ** 2)' \
        --outputs h,loss --update 'w = w - 0.1 * sum(x, axis=0)' -o g.tlg
    grun g.tlg x='[[1,2,3],[4,5,6]]' --steps 3 --every 1 -O json >plain
    ok 'grun g.tlg --mode DEBUG x="[[1,2,3],[4,5,6]]" --steps 3 --every 1 -O json >debug; cmp plain debug'
    ok 'grun g.tlg --mode debug x="[[1,2,3],[4,5,6]]" --steps 3 --save s.tlg >/dev/null; gload s.tlg | grun x="[[1,2,3]]" -r h=h.json -r loss=l.json'
    ok 'grewrite g.tlg | grun --mode DEBUG x="[[1,2,3],[4,5,6]]" -O json | head -2 | cmp - <(head -2 plain)'
    # a print is shown once, however often its kernel runs
    shell 'gload -e "print(2.5) * 2" | grun --mode DEBUG'
    [ "$status" = 0 ] && [ "$(cat .err)" = 2.5 ]
}

@test "functions, loops and fused groups are checked from the inside" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]"}
functions:
  f:
    inputs: {u: "float64[k]"}
    let: |
      v = log(u) * 2
    outputs: [v]
let: |
  y = f(x) + f(x * 3)
  s = scan(lambda c, a: a * c + 1, sequences=[x], outputs_info=[0.5])
outputs: [y, s]
Y
    grun f.yaml x=[1,2,3] -O json >plain
    ok 'grun f.yaml --mode DEBUG x=[1,2,3] -O json | cmp - plain'
    bad 1 InvalidValueError 'f.yaml:7.*log is not finite: 0 nan, 1 inf' 'grun f.yaml --mode DEBUG x=[0,1]'
    grep -q 'of the fused group fused_1' .err
    bad 1 InvalidValueError 'f.yaml:7.*log is not finite: 0 nan, 1 inf' 'grun f.yaml --mode DEBUG --exclude fusion x=[0,1]'
    grep -q 'of the function f$' .err
}

@test "a wrong rule is named, with both values, both trees and its tolerance" {
    echo 'triple @canonicalize: x * 2 => x * 3' >wrong.rules
    gload -i 'x: float64[3]' -e 'log(x) * 2 + x' -o g.tlg
    bad 1 BadOptimization 'triple changed the value of multiply' 'grun g.tlg --mode DEBUG --rules wrong.rules x=[1,2,3]'
    grep -q -- '--expr:1:1: error' .err
    grep -q 'before: float64(3,).*1.3862943611198906' .err
    grep -q 'after: float64(3,).*2.0794415416798357' .err
    grep -q 'at (1,) 1.3862943611198906 and 2.0794415416798357' .err
    grep -q 'tolerance rtol 1e-08, atol 1e-08' .err
    grep -q 'log \[B\]' .err
    grep -q -- '--exclude triple' .err
    ok 'grun g.tlg --mode DEBUG --rules wrong.rules --exclude triple x=[1,1,1]' 'out = [1.0, 1.0, 1.0]'
    # in a function that is called
    printf 'thunkline: 1\ninputs: {x: "float64[n]"}\nfunctions:\n  f:\n    inputs: {u: "float64[k]"}\n    let: |\n      v = sin(u) * 2\n    outputs: [v]\nlet: |\n  y = f(x)\noutputs: [y]\n' >f.yaml
    bad 1 BadOptimization 'triple' 'grun f.yaml --mode DEBUG --rules wrong.rules x=[1,2,3]'
    grep -q 'of the function f$' .err
    # the same as a record
    shell 'grun g.tlg --mode DEBUG --rules wrong.rules x=[1,2,3] --errors json'
    [ "$status" = 1 ]
    grep -q '"code": "BadOptimization", "exit": 1' .err
}

@test "tolerances and infinities can be let through" {
    echo 'near @canonicalize: x + 1 => x + 1.00001' >near.rules
    gload -i 'x: float64[3]' -e 'exp(x + 1)' -o g.tlg
    bad 1 BadOptimization near 'grun g.tlg --mode DEBUG --rules near.rules x=[0,0,0]'
    ok 'grun g.tlg --mode DEBUG --sloppy 1 --rules near.rules x=[0,0,0]'
    bad 1 InvalidValueError 'exp is not finite' 'grun g.tlg --mode DEBUG x=[1,2,1000]'
    ok 'grun g.tlg --mode DEBUG --allow-nonfinite x=[-1,inf,1000]' 'out = [1.0, inf, inf]'
    bad 1 InvalidValueError 'value of x' 'grun g.tlg --mode DEBUG x=[-1,nan,inf]'
    # a rewrite that stabilises may replace an inf by a number
    ok 'gload -i "x: float64" -e "log(1 + exp(x))" | grun --mode DEBUG x=1000' 'out = 1000.0'
    bad 2 E_USAGE 'goes with --mode DEBUG' 'grun g.tlg --sloppy 1 x=[1,2,3]'
    bad 2 E_USAGE 'goes with --mode DEBUG' 'grun g.tlg --allow-nonfinite x=[1,2,3]'
    bad 2 E_USAGE 'sloppy is 0, 1 or 2' 'grun g.tlg --mode DEBUG --sloppy 3 x=[1,2,3]'
}

@test "errors of the graph itself are what they are without checks" {
    bad 5 E_INDEX 'out of range' 'gload -i "x: float64[n]" -i "i: int64" -e "x[i] + 1" | grun --mode DEBUG x=[1,2] i=5'
    bad 3 E_SHAPE 'dim n' 'gload -i "x: float64[n]" -i "y: float64[n]" -e "x * y" | grun --mode DEBUG x=[1,2] y=[1,2,3]'
    bad 5 E_ASSERT 'assertion' 'gload -i "x: float64" -e "assert_op(x, x < 0) * 2" | grun --mode DEBUG x=1'
    bad 2 E_MISSING 'missing input' 'gload -i "x: float64" -e "x * 2" | grun --mode DEBUG'
}

@test "profiling under DEBUG is refused" {
    bad 2 E_USAGE 'goes with grun' 'gload -i "x: float64" -e "x * 2" | gprof --mode DEBUG x=1'
}

@test "every example passes under DEBUG" {
    mkdir bin
    for t in gload ggrad grewrite gprof; do ln -s "$(command -v $t)" bin/$t; done
    printf '#!/bin/sh\nexec "%s" --mode DEBUG "$@"\n' "$(command -v grun)" >bin/grun
    chmod +x bin/grun
    for f in "$ROOT"/examples/{logistic,one-liners,plugin-double}/run.sh; do # the others take many steps
        shell "$f $PWD/bin"
        [ "$status" = 0 ] || complain 'should succeed' "$f" || return
        ! grep -E 'warning|error' .err || complain 'should not complain' "$f" || return
    done
    for f in "$ROOT"/examples/{digits,logistic,mlp,probe,metropolis,rnn}/model.yaml; do
        gload "$f" --check
    done
}
