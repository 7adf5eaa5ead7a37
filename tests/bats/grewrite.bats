# grewrite: what is applied, what is said about it, and that meaning stays.
load common

softplus() { gload --new -i 'x: float64' -e 'y = log(1 + exp(x)) + x * 1' --outputs y -o s.tlg; }

@test "modes and tags choose the rules" {
    softplus
    ok 'grewrite s.tlg --mode NONE -O math' $'x: float64\ny = log(1.0 + exp(x)) + x * 1.0'
    ok 'grewrite s.tlg --mode STABILIZE -O math' $'x: float64\ny = softplus(x) + x'
    ok 'grewrite s.tlg --require stabilize -O math' $'x: float64\ny = softplus(x) + x * 1.0'
    ok 'grewrite s.tlg --exclude fusion -O math' $'x: float64\ny = softplus(x) + x'
    ok 'grewrite s.tlg --exclude fusion --exclude mul-one -O math' $'x: float64\ny = softplus(x) + x * 1.0'
    ok 'grewrite s.tlg --exclude fusion,mul-one -O math' $'x: float64\ny = softplus(x) + x * 1.0'
    ok 'grewrite s.tlg --mode NONE --include mul-one -O math' $'x: float64\ny = log(1.0 + exp(x)) + x'
    like 'grewrite s.tlg -O yaml' '^modes: \[FAST_RUN\]' 'fused: true'
    like 'grewrite s.tlg --mode FAST_COMPILE -O yaml' '^modes: \[FAST_COMPILE\]'
    bad 2 E_UNKNOWN 'did you mean mul-one' 'grewrite s.tlg --exclude mul-on'
    bad 2 E_UNKNOWN 'stabilise' 'grewrite s.tlg --include stabilise'
    bad 2 E_UNKNOWN 'fats_run' 'grewrite s.tlg --require fats_run'
    bad 2 E_USAGE 'FAST_RUN\|FAST_COMPILE\|STABILIZE\|NONE' 'grewrite s.tlg --mode FAST'
}

@test "meaning stays, and rewriting twice changes nothing" {
    softplus
    ok 'grewrite s.tlg | grun x=-40 --expect "y=-40 + 4.248354255291589e-18"' 'y = -40.0'
    ok 'cmp <(grewrite s.tlg --no-provenance -O math) <(grewrite s.tlg | grewrite --no-provenance -O math)'
    ok 'grewrite s.tlg --verify 8 -o /dev/null'
    ok 'grewrite s.tlg --verify 3 x=2 -o /dev/null'
    bad 2 E_USAGE 'verify' 'grewrite s.tlg --verify -1'
    gload "$DIGITS/model.yaml" | ggrad --cost loss --wrt W,b -o d.tlg
    ok 'grewrite d.tlg --verify 2 -o /dev/null'
    ok 'grewrite d.tlg -o /dev/null'
}

@test "--list, --explain, --profile" {
    softplus
    like 'grewrite --list' '^ +[0-9.]+  mul-one +.*x \* 1|mul-one' '  constant-folding +fold ' 'fuse-elementwise'
    ok 'grewrite --list | awk "\$1 + 0 < last { bad = 1 } { last = \$1 + 0 } END { exit bad || NR < 100 }"'
    shell 'grewrite s.tlg --explain -o o.tlg'
    [ "$status" = 0 ]
    [ ! -s .out ]
    [ "$(cat .err)" = $'1 mul-one: x * 1.0  =>  x\n2 softplus: log(1.0 + exp(x))  =>  softplus(x)\n3 fuse-elementwise: softplus(x) + x  =>  fused_1(x)' ]
    shell 'grewrite s.tlg --profile -o p.tlg'
    [ "$status" = 0 ]
    grep -Eq '^3 replacements in [0-9]+ sweeps?, 5 applies before' .err
    grep -Eq ' 1 +-?[+0-9-]+  mul-one$' .err
    grep -Eq '^ +[0-9.]+ +[1-9][0-9]* +\(copying the graph\)$' .err
    grep -Eq '^ +[0-9.]+ +\(visiting Applies\)$' .err
    cmp <(gload o.tlg --no-provenance) <(gload p.tlg --no-provenance)
}

@test "rules of one's own" {
    softplus
    printf '# mine\nexp-is-cosh @fast: exp(x) => cosh(x) + sinh(x)\n' >r.rules
    like 'grewrite s.tlg --rules r.rules --mode NONE --include exp-is-cosh -O math' 'cosh\(x\) \+ sinh\(x\)'
    like 'grewrite --list --rules r.rules' 'exp-is-cosh'
    ok 'grewrite s.tlg --rules r.rules --verify 3 -o /dev/null'
    printf 'wrong: exp(x) => x + 1\n' >w.rules
    bad 1 E_VERDICT 'y differs' 'grewrite s.tlg --rules w.rules --verify 3 -o v.tlg'
    [ ! -e v.tlg ]
    bad 4 E_IO 'none.rules' 'grewrite s.tlg --rules none.rules'
    local at text
    while IFS='|' read -r at text; do
        printf '# head\n\n%s\n' "$text" >b.rules
        bad 3 E_ "^grewrite: b.rules:3:$at: error" 'grewrite s.tlg --rules b.rules'
    done <<'END'
[0-9]+|bad: exp(x => log(x)
[0-9]+|bad: exp(x) -> log(x)
15|e1: exp(x) => nolog(x)
20|e1: exp(x) => exp2(y)
[0-9]+|exp(x) => x
[0-9]+|e1: exp(x) => x when nonsense(x)
END
    printf 'a: exp(x) => log(x)\na: log(x) => exp(x)\n' >b.rules
    bad 3 E_DUPLICATE 'b.rules:2:' 'grewrite s.tlg --rules b.rules'
}

@test "a rule for one output of an op replaces that output alone" {
    gload -i 'x: float64[2, 2]' -e 'a, b = slogdet(x)' -o s.tlg
    printf 'second: slogdet(x)[1] => log(abs(det(x)))\nfirst: slogdet(x)[0] => sign(det(x))\n' >r.rules
    ok 'grewrite s.tlg --rules r.rules --mode NONE --exclude first --no-provenance -O math' $'x: float64[2, 2]\na, _1 = slogdet(x)\nb = log(abs(det(x)))'
    ok 'grewrite s.tlg --rules r.rules --mode NONE --exclude second --no-provenance -O math' $'x: float64[2, 2]\na = sign(det(x))\n_1, b = slogdet(x)'
    like 'grewrite s.tlg --rules r.rules --mode NONE --verify 3 --no-provenance -O math' '^a = sign' '^b = log'
}

@test "rules that undo each other without end are named" {
    softplus
    printf 'there: exp(x) => cosh(x) + sinh(x)\nback: cosh(x) + sinh(x) => exp(x)\n' >c.rules
    bad 3 E_REWRITE 'there.*back|back.*there' 'grewrite s.tlg --rules c.rules --mode NONE --include there,back'
}

@test "--bisect finds the first bad replacement" {
    softplus
    printf 'wrong @fast_run: exp(x) => x + 1\n' >w.rules
    shell 'grewrite s.tlg --rules w.rules --bisect "grun x=1 --expect y=2.313261687518223 >/dev/null 2>&1"'
    [ "$status" = 1 ]
    grep -Eq '^replacement [0-9]+, wrong: exp' .out
    bad 1 E_VERDICT 'already' 'gload -e "arange(100000) * 1.5 + ones(100000)" | grewrite --bisect false'
    like 'gload -e "arange(100000) * 1.5 + ones(100000)" | grewrite --bisect true' 'passes'
    like 'grewrite s.tlg --bisect "grun x=1 --expect y=2.313261687518223 >/dev/null 2>&1"' 'passes'
}

@test "--diff: equal up to names, or the first Apply that differs" {
    gload --new -i 'x: float64' -e 'a = sin(x)' -e 'y = a * 2' --outputs y -o a.tlg
    gload --new -i 'x: float64' -e 'other = sin(x)' -e 'y = other * 2' --outputs y -o b.tlg
    gload --new -i 'x: float64' -e 'a = cos(x)' -e 'y = a * 2' --outputs y -o c.tlg
    ok 'grewrite a.tlg --diff b.tlg' ''
    bad 1 E_VERDICT 'sin.*|cos' 'grewrite a.tlg --diff c.tlg'
    grep -q 'cos' .err
    grep -q 'sin' .err
    bad 4 E_IO 'none.tlg' 'grewrite a.tlg --diff none.tlg'
}

@test "--replace and --keep" {
    gload --new -i 'x: float64' --shared 'c: float64 = 1' -e 'h = x * 2' -e 'y = h + 1' -e 'z = h * 3' --outputs y,z --update 'c = c + x' -o g.tlg
    ok 'grewrite g.tlg --replace "h = x * 10" | grun x=1' $'y = 11.0\nz = 30.0'
    ok 'grewrite g.tlg --keep z | grun x=1' 'z = 6.0'
    ok 'grewrite g.tlg --mode NONE --keep y -O yaml | grep -c "^updates" || true' 0
    ok 'grewrite g.tlg --mode NONE --keep y,updates -O yaml | grep -c "^updates"' 1
    bad 3 E_ 'q' 'grewrite g.tlg --replace "h = q"'
    bad 3 E_CYCLE 'depends' 'grewrite g.tlg --replace "x = y"'
    bad 2 E_ 'hh' 'grewrite g.tlg --replace "hh = x"'
    bad 2 E_UNKNOWN 'nope' 'grewrite g.tlg --keep nope'
    bad 3 E_ 'float64' 'grewrite g.tlg --replace "h = ones(3)"'
    ok 'grewrite g.tlg --replace "h = x * 10" --replace "y = h - 1" --keep y | grun x=1' 'y = 9.0'
    bad 3 E_DUPLICATE '--replace:1:1: error.*h is replaced twice' 'grewrite g.tlg --replace "h = x" --replace "h = x * 2"'
    bad 3 E_CYCLE '--replace:1:5: error' 'grewrite g.tlg --replace "h = h + 1"'
    bad 3 E_DTYPE '--replace:1:5: error.*h is float64, but the value is float32: cast it with float64' 'grewrite g.tlg --replace "h = float32(x)"'
    bad 3 E_SYNTAX 'ends where an expression' 'grewrite g.tlg --replace "h ="'
    bad 3 E_NAME 'no function' 'grewrite g.tlg --replace "h = nosuch(x)"'
    bad 2 E_USAGE 'NAME = EXPRESSION' 'grewrite g.tlg --replace h'
    # an intermediate is supplied: by an input of its own, by a number, by a value at hand
    ok 'gload g.tlg -i "h0: float64" | grewrite --replace "h = h0" --keep y | grun h0=4' 'y = 5.0'
    ok 'grewrite g.tlg --replace "h = 7.0" --keep y | grun --on-unused-input ignore' 'y = 8.0'
    # an input too, which is then not needed any more
    ok 'grewrite g.tlg --replace "x = 2.0" --keep y | grun' "$(grewrite g.tlg --keep y | grun x=2)"
}

@test "stability and its limits" {
    local type expr x want
    while IFS='|' read -r type expr x want; do
        ok "gload --new -i 'x: $type' -e 'y = $expr' | grewrite | grun 'x=$x' --expect 'y=$want' --rtol 1e-6 >/dev/null"
    done <<'END'
float64|log(1 + exp(-x))|40|4.248354e-18
float64|exp(x) - 1|1e-20|1e-20
float64[2]|log(softmax(x))|[0, 1000]|[-1000, 0]
float64[2]|log(sum(exp(x)))|[1000, 1000]|1000.693147
float64|log(exp(x) + exp(x))|1000|1000.693147
float64|1 - sigmoid(x)|40|4.248354e-18
float64|log(sigmoid(x))|-800|-800
END
    bad 5 E_RUN_SHAPE '.' 'gload --new -i "x: float64[?]" -i "y: float64[?]" -e "zeros_like(y) + x" | grewrite | grun x=[1,2,3] y=[1,2]'
}

@test "effects and updates survive" {
    gload --new -i 'x: float64' --shared 'c: float64 = 0' -e 'y = x * 1' -e 'a = assert_op(x, x > 0, msg="not positive")' --outputs y --update 'c = c + x' -o e.tlg
    bad 5 E_ASSERT 'not positive' 'grewrite e.tlg | grun x=-1'
    ok 'grewrite e.tlg | grun x=2 --steps 3 --save s.yaml >/dev/null; grep "^  c:" s.yaml' '  c: float64 = 6.0'
    like 'grewrite e.tlg -O yaml' 'assert_op'
}

@test "a guard on clients fires in the sweep in which it becomes true" {
    local n sweeps=
    for n in 5 50; do
        {
            printf 'thunkline: 1\ninputs: {x: "float64[4, 4]"}\nlet: |\n  a0 = x\n'
            for ((i = 1; i <= n; i++)); do echo "  a$i = (a$((i - 1)) @ x).T - sum(a$((i - 1)), axis=0)"; done
            printf '  y = sum(a%s)\noutputs: [y]\n' "$n"
        } >f.yaml
        ggrad f.yaml | grewrite --profile -o f.tlg 2>.err
        grep -Eq ' in [0-9]+ sweeps' .err
        sweeps+=" $(sed -n 's/.* in \([0-9]*\) sweeps.*/\1/p' .err)"
    done
    set -- $sweeps
    [ "$2" -le "$1" ] || complain "sweeps of 5 and 50 steps" "$sweeps"
}

@test "commutative ops merge whichever way round their inputs stand, where that changes no bit" {
    cat >own.yaml <<'Y'
thunkline: 1
ops:
  both:
    inputs: x, y
    commutative: true
    def: x * y + x + y
Y
    local e n
    while IFS='|' read -r n e; do
        gload --ops own.yaml --new -i 'x: float64[k]' -i 'y: float64[k]' -i 'z: float64[j]' -e "r = $e" --outputs r -o g.tlg
        for m in '--mode FAST_COMPILE' '--mode NONE --include merge'; do
            shell "grewrite --ops own.yaml $m --exclude expand-ops g.tlg -O json | jq '[.let | to_entries[] | .value | scan(\"sin\")] | length'"
            [ "$(cat .out)" = "$n" ] || fail "$e: $(cat .out) sin, not $n"
        done
        grun --ops own.yaml g.tlg --mode DEBUG x=[1,2,-0.0] y=[2,0.5,0] z=[1,2,3] >/dev/null
    done <<'T'
1|sin(x + y) - sin(y + x)
1|sin(x * y) - 2 * sin(y * x)
1|sin(both(x, y)) - sin(both(y, x))
1|sin((x + y) * (x - y)) - sin((x - y) * (y + x))
1|sin(where((x < y) & (y != x), x, y)) - sin(where((x != y) & (x < y), x, y))
2|sin(x - y) - sin(y - x)
2|sin(maximum(x, y)) - sin(maximum(y, x))
2|sin(minimum(x, y)) - sin(minimum(y, x))
2|sin(x + z) - sin(z + x)
T
    # the first stays, as it was named, and twice the same bytes come out
    gload --new -i 'x: float64' -i 'y: float64' -e 'p = x + y' -e 'q = sqrt(y + x)' --outputs p,q -o g.tlg
    ok 'grewrite --mode FAST_COMPILE --explain --no-provenance g.tlg -O yaml 2>.why | grep -E "^  [pq] ="' $'  p = x + y\n  q = sqrt(p)'
    grep -q 'merge-swapped: y + x  =>  x + y' .why
    cmp <(grewrite g.tlg) <(grewrite g.tlg)
}

@test "--verify makes values of every type, and takes those that are given" {
    local line
    for line in 'gload -i "l: list(float64[n])" -e "y = l[0] * 2 * 3"' 'gload -i "s: slice" -e "y = arange(9)[s] + 0"' \
        'gload -i "o: none" -e "y = 1 + 2"' 'gload -i "x: bool[3]" -e "y = x.sum() + 0"' 'gload -i "x: float64[?,?]" -e "y = x.sum() + 0"' \
        'gload --shared "w: float64[3]" -i "x: float64" -e "y = w * x * 1" --update "w = w * 2 + 0"'; do
        ok "$line | grewrite --verify 2 -o o.tlg"
    done
    ok 'gload -i "x: float64[n,3]" -i "y: float64[n]" -e "z = x.sum(1) + y + 0" | grewrite --verify 2 "x=[[1,2,3]]" -o o.tlg'
    ok 'gload --shared "w: float64[3]" -i "x: float64" -e "y = w * x * 1" | grewrite --verify 2 w=[1,2,3] -o o.tlg'
    bad 3 E_VALUE 'none of the 2 random runs was possible' 'gload -i "x: int64" -e "y = 1 // (x - x)" | grewrite --verify 2'
    bad 2 E_UNKNOWN 'only inputs and shared variables take values' 'gload -i "x: float64" -e "y = x * 1" | grewrite --verify 2 y=3'
    bad 2 E_UNKNOWN 'called q' 'gload -i "x: float64" -e "y = x * 1" | grewrite --verify 2 q=3'
    bad 3 E_NAME 'a. is not defined' 'gload -i "x: float64[n]" -e "y = x * 1" | grewrite --verify 2 x=[a]'
    bad 2 E_USAGE "--verify can't be negative" 'gload -e 1 | grewrite --verify=-1'
}

@test "--replace, --keep and --bisect at their ends" {
    gload -i 'a: float64' -i 'b: float64' -e 'a + b' -o p.tlg
    ok 'grewrite p.tlg --replace a=1 --replace b=2 | grun a=0 b=0 --on-unused-input ignore' 'out = 3.0'
    ok 'grewrite p.tlg --replace out=a | grun a=5 b=0 --on-unused-input ignore' 'out = 5.0'
    ok 'grewrite p.tlg --keep a | grun a=5 b=0 --on-unused-input ignore' 'a = 5.0'
    bad 2 E_USAGE "--replace takes 'NAME = EXPRESSION'" 'grewrite p.tlg --replace out'
    bad 3 E_DUPLICATE 'a is replaced twice' 'grewrite p.tlg --replace a=1 --replace a=2'
    bad 2 E_UNKNOWN 'called q' 'grewrite p.tlg --keep q'
    bad 1 E_VERDICT 'fails already before any replacement' 'gload -i "x: float64" -e "y = x * 1" | grewrite --bisect "exit 1"'
    bad 1 E_VERDICT 'fails already before any replacement' 'gload -i "x: float64" -e "y = x * 1" | grewrite --bisect "kill -9 \$\$"'
    like 'gload -i "x: float64" -e "y = x * 1" | grewrite --bisect "exit 0" 2>&1' 'passes after all of 1 replacement$'
    bad 1 E_VERDICT 'from replacement 2 of 3 on' \
        'gload -i "x: float64" -e "y = exp(log(x) * 1 + 0)" -e "z = x * 1" | grewrite --bisect "gload -O yaml | grep -q \"z = x \\*\""'
}

# Each replacement is the first bad one for some command: every pass stops where it is told to.
@test "--bisect stops at the replacement asked for, whatever makes it" {
    cat >b.yaml <<'Y'
thunkline: 1
functions:
  f: {inputs: {a: 'float64[n]'}, outputs: {out: sin(a) * a}}
  g: {inputs: {a: 'float64[n]'}, outputs: {out: cos(a) + a}}
inputs: {x: 'float64[n]', c: bool, w: float64}
let: |
  p = f(x)
  q = g(x)
  i, j = ifelse(c, (p, q), (q, p))
  k, l = ifelse(w > 0, (p, exp(q)), (log(q), p))
  s = scan(lambda a, h: h + a * exp(w), sequences=[x], outputs_info=[0.])
  t = scan(lambda a, h: h - a * tanh(w), sequences=[x], outputs_info=[1.])
  u = sum(exp(p * 2 - 1))
  v = max(exp(q * 3 - 1) * x)
outputs: [i, l, s, t, u, v]
Y
    local n name good
    while IFS='|' read -r n name good; do
        shell "grewrite b.yaml --include inline --bisect \"gload -O yaml --no-provenance >b.out; $good b.out\""
        [ "$status" = 1 ] || complain 'should end with status 1' "$good"
        grep -q "^replacement $n, $name: " .out || complain "should be replacement $n" "$good"
        grep -q "from replacement $n of 9 on" .err || complain 'should be one of 9' "$good"
    done <<'END'
1|inline-calls|grep -q '= f(x)'
2|inline-calls|grep -q '= g(x)'
3|useless-branch-results|grep -q '^  i, '
4|useless-branch-results|grep -q ', l = '
5|scan-merge|grep -q '^  s = scan'
6|scan-hoist|grep -q 'sequences=.w.'
7|fuse-elementwise|! grep -q fused_1
8|fuse-elementwise|! grep -q fused_2
9|fuse-elementwise|! grep -q fused_3
END
}

@test "functions keep their docs when the graph around them is changed" {
    printf 'thunkline: 1\nfunctions:\n  f:\n    doc: twice its input\n    inputs: {v: float64}\n    let: |\n      w = v + v\n    outputs: [w]\ninputs: {x: float64}\nlet: |\n  y = f(x)\n  z = f(y)\noutputs: [y, z]\n' >f.yaml
    like 'gload f.yaml -O tlg | grewrite --keep y | gload -O yaml' 'doc: twice its input'
    like 'gload f.yaml -O tlg | grewrite --keep y -O yaml' 'doc: twice its input'
}

# Column, class, what is said, and the rule.
@test "a malformed rule is an error at the part that is wrong" {
    softplus
    local at code says rule
    while IFS='|' read -r at code says rule; do
        printf '%s\n' "$rule" >b.rules
        bad 3 "$code" "^grewrite: b.rules:1:$at: error.*$says" 'grewrite s.tlg --rules b.rules'
        grep -q 'b.rules:1:1: note: in rule e' .err
    done <<'END'
8|E_NAME|there is no op f$|e: exp(f(x)) => x
8|E_REWRITE|the only attribute in rules is T|e: exp(x.Q) => x
8|E_REWRITE|an index picks an output of a call|e: exp(x[0]) => x
8|E_REWRITE|an index picks an output of a call|e: exp(svd(x)[-1]) => x
8|E_REWRITE|an index picks an output of a call|e: exp(svd(x)[y]) => x
8|E_REWRITE|names, numbers, operators and calls|e: exp([x]) => x
25|E_REWRITE|y is a parameter, not a variable|e: exp(sum(x, axis=y) + y) => x
15|E_REWRITE|slogdet has 2 outputs, counted from 0|e: slogdet(x)[7] => x
32|E_REWRITE|slogdet has 2 outputs, counted from 0|e: slogdet(x)[0] => slogdet(x)[2]
11|E_REWRITE|exp has 1 output, counted from 0|e: exp(x)[1] => x
16|E_REWRITE|split has 2 outputs, counted from 0|e: split(x, 2)[2] => x
26|E_REWRITE|split has 3 outputs, counted from 0|e: exp(x) => split(x, 3)[7]
16|E_REWRITE|split has at most 1024 outputs, counted from 0|e: split(x, y)[1024] => x
20|E_REWRITE|ifelse has 1 output, counted from 0|e: ifelse(c, x, y)[1] => x
26|E_REWRITE|ifelse has 2 outputs, counted from 0|e: ifelse(c, x, y, y, x)[2] => x
16|E_REWRITE|axis must be None, an integer or a list of integers|e: sum(x, axis='a') => x
16|E_REWRITE|axis must be None, an integer or a list of integers|e: sum(x, axis=1.5) => x
16|E_REWRITE|axis must be None, an integer or a list of integers|e: sum(x, axis=float32) => x
20|E_REWRITE|keepdims must be True or False|e: sum(x, keepdims=None) => x
17|E_REWRITE|dtype must be a dtype or None|e: eye(x, dtype='flo') => x
24|E_REWRITE|a parameter in a rule must be an integer here|e: exp(sum(x, axis=(0, z))) => x
20|E_REWRITE|a parameter in a rule must be a literal or a name|e: exp(sum(x, axis=z + 1)) => x
11|E_REWRITE|sum has no parameter nokey|e: sum(x, nokey=1) => x
11|E_REWRITE|exp takes 1 argument|e: exp(x, y, z) => x
4|E_REWRITE|add takes more arguments|e: add(x) => x
4|E_REWRITE|expand_dims needs axis= or|e: expand_dims(x) => x
4|E_REWRITE|left side of rule e must be an operation|e: x => exp(x)
4|E_REWRITE|left side of rule e must be an operation|e: 1 => exp(x)
26|E_REWRITE|q does not occur in the left side|e: exp(x) => sum(x, axis=q)
21|E_REWRITE|q does not occur in the left side|e: exp(x) => sum(x, **q)
27|E_REWRITE|q does not occur in the left side|e: exp(x) => x when const(q)
21|E_REWRITE|a guard must be a call|e: exp(x) => x when const
21|E_REWRITE|the guard const takes 1 name$|e: exp(x) => x when const(x, x)
21|E_REWRITE|the guard differs takes 2 names$|e: exp(x) => x when differs(x)
21|E_REWRITE|no guard cnst; did you mean const|e: exp(x) => x when cnst(x)
27|E_REWRITE|a name in the pattern, or a part|e: exp(x) => x when const(1)
27|E_REWRITE|a name in the pattern, or a part|e: exp(x) => x when const(log(x))
42|E_REWRITE|a name in the pattern, or a part|e: exp(x * 2) => cosh(x) when single_use(x * 3)
37|E_REWRITE|a name in the pattern, or a part|e: exp(x) => x when differs(exp(x), exp(x))
49|E_REWRITE|a name in the pattern, or a part|e: exp(slogdet(x)[1]) => det(x) when single_use(slogdet(x))
25|E_REWRITE|a guard must be a call|e: exp(x + y) => x when single_use(x + y) * (x)
21|E_REWRITE|the guard const takes 1 name$|e: exp(x) => x when const()
30|E_SYNTAX|.y. where an operator|e: exp(x) => x when const(x) y
26|E_SYNTAX|never closed|e: exp(x) => x when const(x
30|E_SYNTAX|the text ends|e: exp(x) => x when const(x),,const(x)
END
    echo 'e: a+b+c+d+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y + log(zz) => a' >b.rules
    bad 6 E_LIMIT '^grewrite: b.rules:1:58: error.*rule e has more than 24 names' 'grewrite s.tlg --rules b.rules'
}

# Inputs, the expression, a rule that alone is tried, and what the output then is.
@test "a rule fires where its pattern matches and its guards hold" {
    local inputs expr rule want type
    while IFS='|' read -r inputs expr rule want; do
        set --
        for type in $inputs; do set -- "$@" -i "$type"; done
        gload --new "$@" -e "$expr" -o m.tlg
        printf 'e: %s\n' "$rule" >m.rules
        like 'grewrite m.tlg --rules m.rules --mode NONE --include e --no-provenance -O math' "^out = $want\$"
    done <<'END'
x:float64[3] y:float64[3]|x + y|x + y => x * y when same_shape(x, y)|x \* y
x:float64[n] y:float64[n]|x + y|x + y => x * y when same_shape(x, y)|x \* y
x:float64[3] y:float64[n]|x + y|x + y => x * y when same_shape(x, y)|x \+ y
x:float64[?] y:float64[?]|x + y|x + y => x * y when same_shape(x, y)|x \+ y
x:float64[3] y:float64|x + y|x + y => x * y when same_shape(x, y)|x \+ y
x:float64[3] y:float64[3]|x + y|x + y => x * y when same_dtype(x, y)|x \* y
x:float64 y:float64|where(x > y, x, y)|where(c, x, y) => x + y when same_dtype(x, y)|x \+ y
x:float64 y:float64|where(x > y, x, y)|where(c, x, y) => x + y when same_dtype(c, y)|where\(x > y, x, y\)
x:float64[3] y:float64[3]|x + y|x + y => x * y when differs(x, y)|x \* y
x:float64[3]|x + x|x + y => x * y when differs(x, y)|x \+ x
x:float64[3]|exp(x)|exp(x) => cosh(x) when static_shape(x)|cosh\(x\)
x:float64[n]|exp(x)|exp(x) => cosh(x) when static_shape(x)|exp\(x\)
x:float64[3]|x * [1., 2., 3.]|x * y => x + y when nonzero(y)|x \+ .*
x:float64[3]|x * [1., 0., 3.]|x * y => x + y when nonzero(y)|x \* .*
x:float64[3]|x * [1., nan, 3.]|x * y => x + y when nonzero(y)|x \* .*
x:complex128[3]|x * [1j, 2j, 3j]|x * y => x + y when nonzero(y)|x \* .*
x:float64[3]|x * [1., 0., 3.]|x * y => x + y when finite(y)|x \+ .*
x:float64[3]|x * [1., inf, 3.]|x * y => x + y when finite(y)|x \* .*
x:int64[3]|x * 2|x * y => x + y when finite(y), finite(x)|x \+ 2
x:float64[3,3]|sum(x, axis=[0, 1])|sum(x, axis=(0, 1)) => prod(x, axis=(0, 1))|prod\(x, axis=\[0, 1\]\)
x:float64[3,3]|sum(x, axis=0)|sum(x, axis=(0, 1)) => prod(x, axis=(0, 1))|sum\(x, axis=0\)
x:float64[3,3]|sum(x, axis=0)|sum(x, axis=-2) => prod(x, axis=0)|prod\(x, axis=0\)
x:float64[3,3]|sum(x, axis=0) * mean(x, axis=0)|sum(x, axis=a) * mean(x, axis=a) => prod(x, axis=a)|prod\(x, axis=0\)
x:float64[3,3]|sum(x, axis=0) * mean(x, axis=1)|sum(x, axis=a) * mean(x, axis=a) => prod(x, axis=a)|sum.* \* mean.*
x:float64[3,3]|sum(x, axis=1)|sum(x, axis=(-1,)) => prod(x, axis=1)|prod\(x, axis=1\)
x:float64[3,3]|sum(x, axis=0)|sum(x, axis=(-1,)) => prod(x, axis=1)|sum\(x, axis=0\)
x:float64[3,3]|sum(x, axis=0)|sum(x, **p) => max(x, **p)|max\(x, axis=0\)
x:float64[3,3]|sum(x, axis=[0, 1])|sum(x, axis=a) => cumsum(max(x), axis=a)|sum\(x, axis=\[0, 1\]\)
x:float64[3,3]|softmax(x, axis=0)|softmax(x, axis=a) => log_softmax(x, axis=a)|log_softmax\(x, axis=0\)
x:float64[3,3] y:float64[3,3]|sum(x, axis=1) * sum(y, axis=1)|sum(x, **p) * sum(y, **p) => prod(x + y, **p)|prod\(x \+ y, axis=1\)
x:float64[3,3] y:float64[3,3]|sum(x, axis=0) * sum(y, axis=1)|sum(x, **p) * sum(y, **p) => prod(x + y, **p)|sum.* \* sum.*
x:float64[3,3]|transpose(exp(x))|exp(x).T => exp(x.T)|exp\(transpose\(x\)\)
x:complex128[3]|x * 1j|x * 1j => -x|-x
x:complex128[3]|x * 2j|x * 1j => -x|x \* .*
x:complex128[3]|x * (1+1j)|x * 1 => -x|x \* .*
x:float64[3]|log(x * -0.0)|x * 0.0 => exp(x)|log\(x \* -0.0\)
x:float64[3]|log(x * -0.0)|x * -0.0 => exp(x)|log\(exp\(x\)\)
x:float64[3]|exp(x * 2)|exp(x * 2) => cosh(x) when single_use(x * 2)|cosh\(x\)
x:float64[3]|(lambda h: exp(h) + h)(x * 2)|exp(x * 2) => cosh(x) when single_use(x * 2)|exp\(_1\) \+ _1
x:float64[2,2]|exp(slogdet(x)[1])|exp(slogdet(x)[1]) => abs(det(x))|abs\(det\(x\)\)
x:float64[2,2]|exp(slogdet(x)[0])|exp(slogdet(x)[1]) => abs(det(x))|exp\(_1\)
END
}

@test "--diff shows how two graphs differ" {
    local says a b
    while IFS='|' read -r says a b; do
        eval "gload --new $a -o a.tlg; gload --new $b -o b.tlg"
        bad 1 E_VERDICT "differ: $says" 'grewrite a.tlg --diff b.tlg'
        ok 'grewrite a.tlg --diff a.tlg' ''
    done <<'END'
dims differ|-i 'x: float64[n, m]' -e 'sum(x) * n'|-i 'x: float64[n, m]' -e 'sum(x) * m'
the type of an input|-i 'x: float64[n]' -e 'exp(x)'|-i 'x: float64[3]' -e 'exp(x)'
the outputs differ|-i 'x: float64[2, 2]' -e 'slogdet(x)[0]'|-i 'x: float64[2, 2]' -e 'slogdet(x)[1]'
the outputs differ|-i 'x: float64[6]' -e 'a, b, c = split(x, [2, 3])' --outputs a|-i 'x: float64[6]' -e 'a, b = split(x, [2])' --outputs a
the props differ|-i 'x: float64[2, 2]' -e 'sum(x, axis=0)'|-i 'x: float64[2, 2]' -e 'sum(x, axis=1)'
the types differ|-i 'x: float64[2]' -e 'stack(x, x)'|-i 'x: float64[2]' -e 'stack(x, x, x)'
different kinds of variables|-i 'x: float64' -e 'x * 2.0'|-i 'x: float64' -e 'x * x'
the value of a shared variable|--shared 's: float64 = 1' -e 's + 1'|--shared 's: float64 = 2' -e 's + 1'
different shared variables are updated|--shared 's: float64 = 1' --shared 'w: float64 = 1' -e 's * w' --update 's = s + 1'|--shared 's: float64 = 1' --shared 'w: float64 = 1' -e 's * w' --update 'w = w + 1'
the numbers of updates|--shared 's: float64 = 1' -e 's * 2' --update 's = s + 1'|--shared 's: float64 = 1' -e 's * 2'
the numbers of inputs or shared variables|-i 'x: float64' -e 'exp(x)'|-i 'x: float64' -i 'y: float64' -e 'exp(x)'
inputs or shared variables have different names|-i 'x: float64' -e 'exp(x)'|-i 'y: float64' -e 'exp(y)'
outputs have different labels|-i 'x: float64' -e 'y = exp(x)' --outputs y|-i 'x: float64' -e 'z = exp(x)' --outputs z
they are connected in different ways|-i 'x: float64' -i 'y: float64' -e 'x - y'|-i 'x: float64' -i 'y: float64' -e 'y - x'
they are connected in different ways|-i 'x: float64' -e 'h = exp(x)' -e 'y = h * h' --outputs y|-i 'x: float64' -e 'y = exp(x) * exp(x)' --outputs y
the numbers of effects|-i 'x: float64' -e 'a = assert_op(x, x > 0)' -e 'y = x * 2' --outputs y|-i 'x: float64' -e 'y = x * 2' --outputs y
constants differ|-i 'x: float64' -e 'a = assert_op(x, x > 0)' -e 'y = x * 2' --outputs y|-i 'x: float64' -e 'a = assert_op(x, x > 1)' -e 'y = x * 2' --outputs y
in function lambda_1: the ops differ|-i 'x: float64' -e 'scan(lambda h: h + x, outputs_info=[0.], n_steps=2)'|-i 'x: float64' -e 'scan(lambda h: h * x, outputs_info=[0.], n_steps=2)'
one has a variable that the other lacks|--shared 's: float64[2]' -e 's * 2'|--shared 's: float64[2] = zeros(2)' -e 's * 2'
one has a variable that the other lacks|--shared 's: float64[2] = zeros(2)' -e 's * 2'|--shared 's: float64[2]' -e 's * 2'
constants differ|--shared 's: float64[2] = ones(2) * 2' -e 's * 2'|--shared 's: float64[2] = ones(2) * 3' -e 's * 2'
END
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  sq: {inputs: {x: float64}, outputs: {out: x * x}, pullback: p}
  p: {inputs: {x: float64, g: float64}, outputs: {out: 10.0 * g}}
inputs: {x: float64}
outputs: {a: sq(x)}
Y
    sed 's/, pullback: p//' f.yaml >none.yaml
    sed 's/10.0/11.0/' f.yaml >other.yaml
    bad 1 E_VERDICT 'in function sq: the derivatives of a function are given differently' 'grewrite f.yaml --diff none.yaml'
    bad 1 E_VERDICT 'in function p: constants differ' 'grewrite f.yaml --diff other.yaml'
    # functions are what they compute, whatever their names: two that are equal are as good as one
    printf 'thunkline: 1\ninputs: {x: float64}\nfunctions:\n  p: {inputs: {x: float64}, outputs: {y: x + 1}}\n  q: {inputs: {x: float64}, outputs: {y: x + 1}}\noutputs: {a: p(x) * q(x)}\n' >two.yaml
    sed 's/q(x)}$/p(x)}/' two.yaml >one.yaml
    ok 'grewrite two.yaml --diff one.yaml && grewrite one.yaml --diff two.yaml' ''
    sed '/^  q:/s/x + 1/x + 2/' two.yaml >differ.yaml
    bad 1 E_VERDICT 'in function q: constants differ' 'grewrite differ.yaml --diff one.yaml'
    bad 1 E_VERDICT 'in function p: constants differ' 'grewrite one.yaml --diff differ.yaml'
}

# What a loop over rows becomes, and what it is for rows and matrices that are worked out by hand.
@test "steps that depend on nothing but a row become one operation on all rows" {
    local expr how want
    while IFS='|' read -r expr how want; do
        gload --new -i 's: float64[n, 3]' -i 'w: float64[3, 3]' -i 'u: float64[n, 3, 2]' -e "y = $expr" --outputs y -o l.tlg
        like 'grewrite l.tlg --no-provenance -O math' "^y = $how\$"
        ok 'grewrite l.tlg | grun --on-unused-input ignore "s=[[1,2,3],[4,5,6]]" "w=[[1,2,0],[0,1,1],[3,0,1]]" "u=reshape(arange(12.), [2, 3, 2])" | tr -d "\n "' "y=$want"
    done <<'END'
scan(lambda v: w @ v, sequences=[s])|s @ transpose\(w\)|[[5.0,5.0,6.0],[14.0,11.0,18.0]]
scan(lambda v: v @ w, sequences=[s])|s @ w|[[10.0,4.0,5.0],[22.0,13.0,11.0]]
scan(lambda v: w @ v, sequences=[u])|w @ u|[[[4.0,7.0],[6.0,8.0],[4.0,8.0]],[[22.0,25.0],[18.0,20.0],[28.0,32.0]]]
scan(lambda v: v @ v, sequences=[s])|scan\(.*|[14.0,77.0]
scan(lambda v: sum(v, axis=-1), sequences=[u])|sum\(u, axis=2\)|[[1.0,5.0,9.0],[13.0,17.0,21.0]]
scan(lambda v: sum(v, axis=[0, 1]), sequences=[u])|sum\(u, axis=\[1, 2\]\)|[15.0,51.0]
scan(lambda v: transpose(v, axes=[-1, 0]), sequences=[u])|transpose\(u, axes=\[0, 2, 1\]\)|[[[0.0,2.0,4.0],[1.0,3.0,5.0]],[[6.0,8.0,10.0],[7.0,9.0,11.0]]]
scan(lambda v: max(v, axis=0), sequences=[u])|ifelse\(n > 0, max\(u, axis=1\), full\(.*|[[4.0,5.0],[10.0,11.0]]
shape(scan(lambda v: transpose(v), sequences=[u]))[1]|2|2
stack(shape(u)[0], shape(u)[1])[-2]|n|2
max(max(u, axis=1), axis=0)|max\(u, axis=\[0, 1\]\)|[10.0,11.0]
END
}

@test "branches of one condition, and updates, keep their values" {
    gload --new -i 'x: float64[3]' -e 'y = ifelse(x[0] > 0, ifelse(x[0] > 0, x, x * 2), ifelse(x[0] > 0, x * 3, x * 4))' --outputs y -o n.tlg
    like 'grewrite n.tlg --no-provenance -O math' '^y = ifelse\(x\[0\] > 0.0, x, x \* 4.0\)$'
    ok 'grewrite n.tlg | grun x=[1,2,3]' 'y = [1.0, 2.0, 3.0]'
    ok 'grewrite n.tlg | grun x=[-1,2,3]' 'y = [-4.0, 8.0, 12.0]'
    gload --new -i 'x: float64[3]' -i 'c: bool' --shared 's: float64[3] = ones(3) * 2' --shared 't: float64 = 1' -e 'h = exp(x)' -e 'z = ifelse(c, h * 2, x)' \
        -e 'q = set_subtensor(s[0], 5.)' -e 'y = transpose(expand_dims(z, 0))[0]' --outputs y --update 's = ifelse(c, s[::-1] * q, z)' --update 't = t + h[0]' -o u.tlg
    local c y s
    while read -r c y s; do
        ok "grewrite u.tlg | grun x=[0,0,0] c=$c --save v.tlg" "y = [$y]"
        ok "gload v.tlg --outputs s,t | grun --on-unused-input ignore x=[0,0,0] c=$c | tr -d ' '" "s=[$s]"$'\nt=2.0'
    done <<'END'
True 2.0 10.0,4.0,4.0
False 0.0 0.0,0.0,0.0
END
}

# Functions in a chain, each with something to fuse.
many_functions() {
    awk -v n="$1" 'BEGIN {
        print "thunkline: 1\ninputs:\n  x: float64[n]\nfunctions:"
        for (k = 0; k < n; k++) print "  f" k ":\n    inputs: {a: \"float64[n]\"}\n    let: {r: \"sin(a) * " k ".5 + a\"}\n    outputs: [r]"
        print "let: |\n  y0 = x"
        for (k = 0; k < n; k++) print "  y" k + 1 " = f" k "(y" k ")"
        print "outputs: [y" n "]" }' | gload - >"$2"
}

@test "FAST_RUN replaces calls by bodies, and says as before where an error comes from" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]", s: float64, k: int64}
functions:
  part: {inputs: {u: "float64[n]", i: int64}, let: "r = u[i] * 2", outputs: [r]}
  pair: {inputs: {u: "float64[n]", i: int64}, let: "r = part(u, i) + part(u, i + 1)", outputs: [r]}
  ramp: {inputs: {z: float64}, let: "r = maximum(z, 0)", outputs: [r], pullback: slope}
  slope: {inputs: {z: float64, g: float64}, let: "r = g * 7", outputs: [r]}
  loud: {inputs: {z: float64}, let: "r = sow(z * 3, tag='t', name='a')", outputs: [r]}
  other: {inputs: {v: "float64[m]"}, let: "r = sum(v) * 5", outputs: [r]}
let: |
  a = pair(x, k)
  b = scan(lambda i, h: pair(x, i) * h, sequences=[arange(k + 2)], outputs_info=[1.0])
  c = ifelse(s > 0, pair(x, k + 100), s)
  d = grad(ramp(s), s) + loud(s) + other(x)
outputs: [a, b, c, d]
Y
    local call="x='arange(5.)' s=-2 k=1" plain
    plain=$(eval grun --exclude inline f.yaml "$call")
    [ -n "$plain" ]
    local how
    for how in '' '--mode FAST_COMPILE' '--mode DEBUG' '--mode NAN_GUARD'; do
        ok "grun $how f.yaml $call" "$plain"
    done
    ok "grewrite f.yaml | ggrad --wrt s --cost d --only | grun $call" 'd_d_d_s = 3.0'
    ok "grun --reap t f.yaml $call | grep '^a'" "$(grun --reap t --exclude inline f.yaml x='arange(5.)' s=-2 k=1 | grep '^a')"
    # what stays: another derivative, an effect
    ok "grewrite f.yaml -O yaml | grep -oE '(pair|part|ramp|loud|other)\(' | LC_ALL=C sort -u | xargs" 'loud('
    ok "grewrite --exclude inline f.yaml -O yaml | grep -oE '(pair|part)\(' | LC_ALL=C sort -u | xargs" 'pair( part('
    like 'grewrite f.yaml --explain 2>&1 -o /dev/null' 'inline-calls: part\(u, i\) ' 'inline-calls: pair\(x, k\) '
    # the way through the calls, also of a graph that was rewritten and written before
    for how in 'grun f.yaml' 'grewrite f.yaml | grun' 'grewrite f.yaml | grewrite | gload | grun'; do
        bad 5 E_INDEX 'f.yaml:4:57: error.*index 7 is out of range' "$how x='arange(5.)' s=1 k=7 --outputs a"
        [ "$(grep -o 'f.yaml:[0-9:]* note: [a-z ]*' .err | xargs)" = 'f.yaml:5:57: note: called here f.yaml:11:7: note: called here' ] || complain 'should show both calls' "$how"
    done
    bad 5 E_INDEX 'f.yaml:12:7: note: in step 4 of 9' "grun f.yaml x='arange(5.)' s=1 k=7 --outputs b"
    grep -q 'f.yaml:12:25: note: called here' .err
}

@test "rewriting many functions takes time in proportion" {
    local few many TIMEFORMAT=%U
    many_functions 500 few.tlg
    many_functions 4000 many.tlg
    few=$( { time for _ in 1 2 3 4; do grewrite few.tlg -o a.tlg; done; } 2>&1)
    many=$( { time grewrite many.tlg -o b.tlg; } 2>&1)
    # eight times as many as one of the four: twice is right, a fivefold time would be quadratic
    awk -v few="$few" -v many="$many" 'BEGIN { exit !(many < 2.8 * few + 0.15) }' || fail "4 * 500: $few s, 4000: $many s"
}

@test "a fused group of numbers is a number, once its dims are known" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]"}
let: |
  k = int64(ceil(sqrt(float64(n) + 1)))
  y = sum(reshape(x[:k*3], (k, 3)), axis=0)
outputs: [y]
Y
    grewrite f.yaml -o f.tlg
    like 'gload f.tlg -O yaml' 'fused: true'
    ok "gload f.tlg --dim n=99 | grewrite -O yaml --no-provenance | grep -A9 -e ^let" $'let: |\n  _1 = x[:30]\n  _2 = reshape(_1, [10, 3])\n  y = sum(_2, axis=0)\noutputs: ["y"]'
    ok 'gload f.tlg --dim n=99 | grewrite | grun "x=arange(99)"' 'y = [135.0, 145.0, 155.0]'
}

@test "broadcasting to a size that only a run tells keeps its check" {
    local mode
    gload -i 'l: int64[m]' -i 'n: int64' -e 'y = broadcast_to(l, [n])' -o b.tlg
    for mode in FAST_RUN FAST_COMPILE DEBUG; do
        ok "grun b.tlg l=[1,2] n=2 --mode $mode" 'y = [1, 2]'
        bad 5 E_RUN_SHAPE "dim 0 of x has size 2, which can't become 3" "grun b.tlg l=[1,2] n=3 --mode $mode"
    done
    # what types tell goes
    ok "gload -i 'x: float64[a, b]' -e 'y = broadcast_to(x, x.shape) + broadcast_to(x, (x.shape[0], b))' | grewrite --exclude fuse-elementwise -O math" $'x: float64[a, b]\ny = 2.0 * x'
}

@test "a graph of thousands of groups is rewritten to the same bytes each time" {
    # groups of two kinds, kept apart by sums; those beyond the first thousand share functions
    {
        printf 'thunkline: 1\ninputs: {x: "float64[n]"}\nlet: |\n  t0 = x\n'
        for ((i = 1; i <= 1300; i++)); do
            ((i % 2)) && f="exp(c$i) * c$i" || f="sin(c$i) + c$i"
            printf '  c%d = cumsum(t%d)\n  t%d = %s\n' $i $((i - 1)) $i "$f"
        done
        printf 'outputs: [t1300]\n'
    } >m.yaml
    for i in 1 2 3; do grewrite m.yaml --no-provenance -o r$i.tlg; done
    cmp r1.tlg r2.tlg
    cmp r1.tlg r3.tlg
    [ "$(gload r1.tlg -O yaml | grep -c '^  fused_[0-9]*:')" = 1000 ]
}
