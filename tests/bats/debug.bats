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
    grep -q 'of the fused group fused_2' .err
    bad 1 InvalidValueError 'f.yaml:7.*log is not finite: 0 nan, 1 inf' 'grun f.yaml --mode DEBUG --exclude fusion --exclude inline x=[0,1]'
    grep -q 'of the function f$' .err
}

@test "a function may round otherwise at once than op by op" {
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: 'float32[n, r]', z: 'float32[n, m]'}
    outputs: {y: x.T @ z}
inputs: {x: 'float32[n, r]', z: 'float32[n, m]'}
let: |
  y = f(x, z)
outputs: [y]
Y
    ok "grun f.yaml --mode DEBUG --exclude inline 'x=float32(sin(arange(3200.)**2)).reshape([50,64])' 'z=float32(cos(arange(5000.)**2)).reshape([50,100])' >/dev/null"
}

@test "a wrong rule is named, with both values, both trees and its tolerance" {
    echo 'triple @canonicalize: x * 2 => x * 3' >wrong.rules
    gload -i 'x: float64[3]' -e 'log(x) * 2 + x' -o g.tlg
    bad 1 BadOptimization 'triple changed the value of multiply' 'grun g.tlg --mode DEBUG --rules wrong.rules x=[1,2,3]'
    grep -q -- '--expr:1:1: error' .err
    grep -q 'before: float64(3,).*1.3862943611198906' .err
    grep -q 'after: float64(3,).*2.0794415416798357' .err
    grep -q 'at (1,) 1.3862943611198906 and 2.0794415416798357' .err
    grep -q 'tolerance rtol 1e-05, atol 1e-08' .err
    grep -q 'log \[B\]' .err
    grep -q -- '--exclude, with the name' .err
    ok 'grun g.tlg --mode DEBUG --rules wrong.rules --exclude triple x=[1,1,1]' 'out = [1.0, 1.0, 1.0]'
    # in a function that is called
    printf 'thunkline: 1\ninputs: {x: "float64[n]"}\nfunctions:\n  f:\n    inputs: {u: "float64[k]"}\n    let: |\n      v = sin(u) * 2\n    outputs: [v]\nlet: |\n  y = f(x)\noutputs: [y]\n' >f.yaml
    bad 1 BadOptimization 'triple' 'grun f.yaml --mode DEBUG --exclude inline --rules wrong.rules x=[1,2,3]'
    grep -q 'of the function f$' .err
    # the same as a record
    shell 'grun g.tlg --mode DEBUG --rules wrong.rules x=[1,2,3] --errors json'
    [ "$status" = 1 ]
    grep -q '"code": "BadOptimization", "exit": 1' .err
}

@test "tolerances and infinities can be let through" {
    echo 'near @canonicalize: x + 1 => x + 1.00005' >near.rules
    gload -i 'x: float64[3]' -e 'exp(x + 1)' -o g.tlg
    bad 1 BadOptimization near 'grun g.tlg --mode DEBUG --rules near.rules x=[0,0,0]'
    ok 'grun g.tlg --mode DEBUG --sloppy 1 --rules near.rules x=[0,0,0]'
    bad 1 InvalidValueError 'exp is not finite' 'grun g.tlg --mode DEBUG x=[1,2,1000]'
    ok 'grun g.tlg --mode DEBUG --allow-nonfinite x=[-1,inf,1000]' 'out = [1.0, inf, inf]'
    bad 1 InvalidValueError 'value of x' 'grun g.tlg --mode DEBUG x=[-1,nan,inf]'
    # a rewrite that stabilises may replace an inf by a number
    ok 'gload -i "x: float64" -e "log(1 + exp(x))" | grun --mode DEBUG x=1000' 'out = 1000.0'
    bad 2 E_USAGE 'needs --mode DEBUG' 'grun g.tlg --sloppy 1 x=[1,2,3]'
    bad 2 E_USAGE 'needs --mode DEBUG' 'grun g.tlg --allow-nonfinite x=[1,2,3]'
    bad 2 E_USAGE 'sloppy must be 0, 1 or 2' 'grun g.tlg --mode DEBUG --sloppy 3 x=[1,2,3]'
}

@test "errors of the graph itself are what they are without checks" {
    bad 5 E_INDEX 'out of range' 'gload -i "x: float64[n]" -i "i: int64" -e "x[i] + 1" | grun --mode DEBUG x=[1,2] i=5'
    bad 3 E_SHAPE 'dim n' 'gload -i "x: float64[n]" -i "y: float64[n]" -e "x * y" | grun --mode DEBUG x=[1,2] y=[1,2,3]'
    bad 5 E_ASSERT 'assertion' 'gload -i "x: float64" -e "assert_op(x, x < 0) * 2" | grun --mode DEBUG x=1'
    bad 2 E_MISSING 'missing input' 'gload -i "x: float64" -e "x * 2" | grun --mode DEBUG'
}

@test "branches that are not taken are examined while they are small" {
    echo 'triple @canonicalize: exp(x) * 2 => exp(x) * 3' >wrong.rules
    gload --new -i 'k: int64' -i 'x: float64[n]' -e 'y = ifelse(k > 0, sum(x), sum(cos(exp(x) * 2)))' --outputs y -o b.tlg
    local k
    for k in 1 -1; do
        bad 1 BadOptimization 'triple changed the value of multiply' "grun b.tlg --mode DEBUG --rules wrong.rules k=$k x=[1,2,3]"
    done
    # large ones are, if they are taken
    ok "grun b.tlg --mode DEBUG --rules wrong.rules k=1 'x=ones(65537)'" 'y = 65537.0'
    bad 1 BadOptimization 'triple' "grun b.tlg --mode DEBUG --rules wrong.rules k=0 'x=ones(65537)'"
    # a condition that a branch chooses; branches of 10 and 40 GB
    gload --new -i 'k: int64' -i 'x: float64[n]' -e 'y = ifelse(ifelse(k > 5, k < 9, k > 0), sum(x), sum(exp(outer(x + 1, x))) + ifelse(k < 0, 1, sum(outer(outer(x, x[:2]), x))))' --outputs y -o c.tlg
    ok "grun c.tlg --mode DEBUG --max-memory 512M k=7 'x=ones(70000)'" 'y = 70000.0'
    ok "grun c.tlg --mode DEBUG --max-memory 512M k=3 'x=ones(70000)'" 'y = 70000.0'
    bad 6 E_MEM memory "grun c.tlg --mode DEBUG --max-memory 512M k=0 'x=ones(70000)'"
}

@test "profiling under DEBUG is refused" {
    bad 2 E_USAGE 'use it with grun' 'gload -i "x: float64" -e "x * 2" | gprof --mode DEBUG x=1'
}

# tools MODE: a folder of the tools in which grun runs so, and three steps at most.
tools() {
    mkdir -p "$1"
    local t
    for t in gload ggrad grewrite gprof; do ln -sf "$(command -v $t)" "$1/$t"; done
    cat >"$1/grun" <<X
#!/bin/bash
args=()
while [ \$# -gt 0 ]; do
    case \$1 in
    --steps) args+=(--steps \$((\$2 < 3 ? \$2 : 3))); shift ;;
    --epochs) args+=(--epochs 1); shift ;;
    steps=*) args+=(steps=1200) ;; # of a loop: it looks at the first few alone
    *) args+=("\$1") ;;
    esac
    shift
done
exec "$(command -v grun)" --mode $1 "\${args[@]}"
X
    chmod +x "$1/grun"
}

@test "every example passes under DEBUG and NAN_GUARD, in few steps" {
    tools DEBUG
    tools NAN_GUARD
    local f modules
    for f in "$ROOT"/examples/*/{run,train}.sh; do
        case $f in */rnn/* | */library/*) continue ;; esac # takes long; needs an installed library
        shell "$f $PWD/NAN_GUARD"
        [ "$status" = 0 ] || complain 'should succeed under NAN_GUARD' "$f" || return
        case $f in */ops-text/*) continue ;; esac
        modules=
        case $f in */gradbench/*) modules='hello lse llsq kmeans gmm det lstm ode ba ht' ;; esac # without those that take minutes
        shell "$f $PWD/DEBUG $modules"
        [ "$status" = 0 ] || complain 'should succeed under DEBUG' "$f" || return
        run ! grep -E 'warning|error' .err
    done
}

# same_as_plain LINE: grun in LINE gives the same under DEBUG, and says nothing.
same_as_plain() {
    shell "$1"
    [ "$status" = 0 ] || complain 'should succeed' "$1" || return
    mv .out .plain
    ok "${1//grun/grun --mode DEBUG} | cmp - .plain"
}

@test "loops that become other loops, products of rows, or nothing: each replacement is compared with its own" {
    same_as_plain 'gload -e "map(lambda x: x * x, arange(4))" | grun'
    same_as_plain 'gload -e "filter(lambda x: x % 2 == 0, arange(5))" | grun'
    same_as_plain 'gload -i "v: int64[n]" -e "map(lambda x: x * x, v)" | grun v=[3,4]'
    same_as_plain 'gload --new -i "x: float64[n, 3]" -i "w: float64[3]" -e "s = scan(lambda r, c: c + tanh(dot(r, w)), sequences=[x], outputs_info=[0.0])" -e "y = s[-1] * 2" --outputs y | ggrad --wrt w | grun x=[[1,2,3],[0.5,0,1]] w=[0.1,0.2,-0.3]'
    same_as_plain 'gload --new -i "x: float64[n]" -e "y = sum(scan(lambda a, b: ifelse(a > 0, b * a, b - a), sequences=[x], outputs_info=[1.0]))" | ggrad --wrt x | grun x=[1,-2,3]'
}

@test "values of every kind: random state, sparse matrices and their dims, lists, slices, effects, updates" {
    same_as_plain "gload --new -i \"s: sparse('csr', float64[n, m])\" -e 'y = s * 2.' -e 'k = m + n' --outputs y,k | grun 's=[[1, 0, 2], [0, 3, 0]]'"
    same_as_plain "gload --new -i \"s: sparse('csc', float64[n, m])\" -e 'y = s @ ones(m)' --outputs y | grun 's=[[1, 0, 2], [0, 3, 0]]'"
    same_as_plain 'gload --new -i "l: list(float64[n])" -e "y = list_get(l, 1) * list_length(l)" --outputs y | grun "l=[[1, 2], [3, 4]]"'
    same_as_plain 'gload --new -i "s: slice" -i "x: float64[?, 3]" -e "y = x[0, s]" --outputs y | grun "s=slice(None, None, -2)" "x=[[1, 2, 3]]"'
    same_as_plain 'gload --new -i "r: random" -e "s, x = normal(0., 1., (3,), rng=r)" -e "t, y = uniform(0., 1., (2,), rng=s)" --outputs x,y | grun --seed 7'
    same_as_plain 'gload --new --shared "r: random = rng(3)" --shared "n: int64 = 0" -e "s, x = normal(0., 1., (3,), rng=r)" --outputs x --update "r = s" --update "n = n + 1" | grun --steps 3 --every 1'
    same_as_plain 'gload --new -i "x: float64[n]" -e "y = sow(x * 2, tag=\"t\", name=\"a\") + 1" --outputs y | grun --reap t x=[1,2]'
    same_as_plain 'gload -i "a: float64[3, 3]" -e "log(det(a)) + sum(solve(a, a))" | grun "a=[[1e-200,0,0],[0,1e-200,0],[0,0,1e-200]]"'
    # a function that hands its input on
    printf 'thunkline: 1\ninputs: {x: "float64[n]"}\nfunctions:\n  both:\n    inputs: {u: "float64[k]"}\n    let: |\n      v = u * 2\n    outputs: [u, v]\nlet: |\n  a, b = both(x)\noutputs: [a, b]\n' >f.yaml
    same_as_plain 'cat f.yaml | grun x=[1,2]'
    same_as_plain 'cat f.yaml | grun --exclude inline x=[1,2]'
}

@test "DEBUG doesn't inspect the branch that is not taken" {
    gload --new -i 'x: float64[n]' -i 'c: bool' -e 'z = ifelse(c, sum(log(x)), sum(x))' --outputs z -o g.tlg
    ok 'grun g.tlg --mode DEBUG x=[1,0,2] c=False' 'z = 3.0'
    bad 1 InvalidValueError 'log is not finite: 0 nan, 1 inf' 'grun g.tlg --mode DEBUG x=[1,0,2] c=True'
    ok 'gload -i "x: float64[n]" -i "c: bool" -e "ifelse(c, x[5], x[0])" | grun --mode DEBUG x=[1,2] c=False' 'out = 1.0'
    ok 'gload -i "x: float64[n]" -i "c: bool" -e "ifelse(c, assert_op(x, c), x)" | grun --mode DEBUG x=[1,2] c=False' 'out = [1.0, 2.0]'
    gload --new -i 'x: float64[n]' -e 's = scan(lambda a, h: ifelse(a > 0, log(a), a) + h, sequences=[x], outputs_info=[0.0])' --outputs s -o g.tlg
    ok 'grun g.tlg --mode DEBUG x=[1,0,2]' 's = [0.0, 0.0, 0.6931471805599453]'
}

@test "the example of every op and function of the language is the same under DEBUG and NAN_GUARD" {
    local name
    for name in $(gload --list-ops --all -O json | jq -r '.[].name'); do gload --op "$name" -O json; done |
        jq -s '{thunkline: 1, outputs: (map(select(.example and (.name | IN("print", "jacobian", "hessian", "hvp", "vectorize", "load", "constant", "undefined") | not))) |
            map({key: .name, value: (.example | split(" -> ")[0])}) | from_entries)}' >all.json # the others need inputs
    [ "$(jq '.outputs | length' all.json)" -gt 200 ]
    grun all.json -O json >plain
    for mode in DEBUG NAN_GUARD; do ok "grun all.json --mode $mode -O json | cmp - plain"; done
    [ "$(wc -l <plain)" -gt 200 ]
}

@test "DEBUG compares a variable as --compare says" {
    echo 'lie @canonicalize: sin(x) => 1.001 * cos(x - 1.5707963267948966)' >lie.rules
    gload --new -i 'x: float64' -e 'y = sin(x)' -o g.tlg
    bad 1 BadOptimization 'lie changed the value of sin' 'grun g.tlg x=1 --mode DEBUG --rules lie.rules'
    ok 'gload g.tlg --compare "y: rtol=0.5, atol=0.5" | grun x=1 --mode DEBUG --rules lie.rules | cut -c1-9' 'y = 0.842'
    bad 1 BadOptimization 'lie changed the value of sin' 'gload g.tlg --compare "y: rtol=1e-5, atol=1e-5" | grun x=1 --mode DEBUG --rules lie.rules'
}

@test "DEBUG compares as loosely as a rule's tags and --compare allow" {
    local tags how status_
    gload --new -i 'x: float64[n]' -e 'y = x * 2' -o g.tlg
    while IFS='|' read -r tags how status_; do
        printf 'near @canonicalize%s: x * 2 => x * 2.00001\n' "$tags" >near.rules
        if [ "$status_" = 0 ]; then
            ok "gload g.tlg ${how:+--compare 'y: $how'} | grun --mode DEBUG --rules near.rules x=[1,2]" 'y = [2.00001, 4.00002]' || return
        else
            bad 1 BadOptimization 'near changed the value of multiply' "gload g.tlg ${how:+--compare 'y: $how'} | grun --mode DEBUG --rules near.rules x=[1,2]" || return
        fi
    done <<'END'
||0
 @sloppy1||0
 @sloppy2||0
|rtol=1e-7|1
 @sloppy2|rtol=1e-7, atol=0|1
|rtol=1e-7, atol=0|1
|rtol=1e-4|0
|sloppy=2|0
END
}

@test "DEBUG takes reductions of nothing, of nan and inf, and of complex numbers for what they are" {
    local expr z want
    while IFS='|' read -r z expr want; do
        ok "gload --new -i 'z: ${z%% *}' -e 'r = $expr' --outputs r | grun --mode DEBUG --allow-nonfinite z='${z#* }'" "r = $want" || fail "$expr"
    done <<'END'
float64[n] [-inf,-inf]|logsumexp(z)|-inf
float64[n] [inf,1]|logsumexp(z)|inf
float64[n] [nan,1]|logsumexp(z)|nan
float64[n] [nan,1,inf]|argmax(z)|0
float64[n] [2,inf,1]|prod(z)|inf
complex128[n] [1j,1,2+3j]|prod(z)|(-3.0+2.0j)
complex128[n] [1j,0]|any(z)|True
complex128[n] [1j,0]|all(z)|False
complex128[n] [1j,2j]|all(z)|True
complex128[n] [0j,0]|any(z)|False
float64[n] ones(0)|prod(z)|1.0
float64[n,m] ones((0,3))|sum(z, axis=0)|[0.0, 0.0, 0.0]
END
    bad 2 E_USAGE 'sloppy must be 0, 1 or 2' 'gload -e 1.5 | grun --mode DEBUG --sloppy 3'
    bad 2 E_USAGE 'sloppy must be 0, 1 or 2' 'gload -e 1.5 | grun --mode DEBUG --sloppy=-1'
}

@test "DEBUG takes a kernel for right where terms cancel and only rounding differs" {
    local expr
    while IFS= read -r expr; do
        ok "gload --new -i 'x: float32[24]' -e 'r = $expr' --outputs r | grun --mode DEBUG x='[-300.0,274.34,239.513,204.686,169.859,135.032,100.205,65.378,30.551,-4.276,-39.103,-73.93,-108.757,-143.584,-178.411,-213.238,-248.065,-282.892,291.448,256.621,221.794,186.967,152.14,117.313]' >/dev/null" || fail "$expr"
    done <<'END'
concatenate([x[None], x[None]], axis=1) @ concatenate([x[::-1], -x[::-1] * 1.00001])
tensordot(concatenate([x, x]), concatenate([x[::-1], -x[::-1] * 1.00001]), 1)
conv(concatenate([x, -x])[None, None], concatenate([sin(x), sin(x) * 1.00001])[None, None])
solve(outer(x, x)[:2, :2] + [[0.01, 0], [0.02, 0.02]], x[:2])
inv(outer(x, x)[:2, :2] + [[0.01, 0], [0.02, 0.02]])
END
}

@test "DEBUG takes rewriting for right where a loop amplifies rounding, and not where a rule is wrong" {
    # steps of Newton's method whose matrix is nearly singular: of 4 columns, two differ by a hundredth
    local X='float32(concatenate([normal(0., 1., (60, 3), seed=3), normal(0., 1., (60, 1), seed=4) * 0.01 + normal(0., 1., (60, 3), seed=3)[:, :1]], axis=1))'
    local y='float32(uniform(0., 1., (60,), seed=4) < 0.5)'
    gload --new -i 'X: float32[n, k]' -i 'y: float32[n]' --outputs w -o newton.tlg \
        -e 'w = scan((lambda w, X, y: w + solve(X.T @ (X * (sigmoid(X @ w) * (1 - sigmoid(X @ w)))[:, None]) + 1e-6 * eye(k, dtype=float32), X.T @ (y - sigmoid(X @ w)))), outputs_info=[zeros(k, dtype=float32)], non_sequences=[X, y], n_steps=6)'
    ok "grun newton.tlg --mode DEBUG X='$X' y='$y' >/dev/null"
    ok "grewrite newton.tlg --verify 3 X='$X' y='$y' >/dev/null"
    printf 'bad: sigmoid(x) => 1.001 * tanh(x / 2) / 2 + 0.5\n' >bad.rules
    shell "grun newton.tlg --rules bad.rules --mode DEBUG X='$X' y='$y'"
    [ "$status" = 1 ] && grep -q 'error\[BadOptimization\]: bad changed the value of sigmoid' .err || fail 'should be found'
    bad 1 E_VERDICT 'output w differs after rewriting' "grewrite newton.tlg --rules bad.rules --verify 3 X='$X' y='$y'"
}

@test "where a rule is more exact than what was written, --verify and DEBUG say nothing" {
    local d rule
    for d in float16 float32 float64; do
        gload --new -i "x: ${d}[n]" -i "y: ${d}[n]" -e 'r = sum(x * log(abs(y) + 1))' --outputs r -o log.tlg
        ok "grewrite log.tlg --verify 40 >/dev/null"
        ok "grun log.tlg --mode DEBUG x='$d(normal(0., 1., (40,), seed=1))' y='$d(normal(0., 0.01, (40,), seed=5))' >/dev/null"
        for rule in 'abs(x) => maximum(x, -0.98 * x)' 'x * y => x / (0.98 / y)'; do
            printf 'bad: %s\n' "$rule" >bad.rules
            shell "grun log.tlg --rules bad.rules --mode DEBUG x='$d(normal(0., 1., (40,), seed=1))' y='$d(normal(0., 1., (40,), seed=5))'"
            [ "$status" = 1 ] && grep -q 'error\[BadOptimization\]: bad changed the value of' .err || fail "$rule in $d should be found"
        done
    done
}
