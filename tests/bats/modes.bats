# grun --mode: what looks on while a graph runs.
load common

curve() { # y = log(x) * 2 with a name for the log, and a function that does the same
    gload --new -i 'x: float64[n]' -e 'l = log(x)' -e 'y = l * 2' --outputs y -o curve.tlg
    cat >fn.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]"}
functions:
  half:
    inputs: {u: "float64[k]"}
    let: |
      v = sqrt(u)
    outputs: [v]
let: |
  y = half(x - 1)
outputs: [y]
Y
}

@test "NAN_GUARD stops at the op that makes a nan, an inf or a huge number" {
    curve
    ok 'grun curve.tlg --mode NAN_GUARD x=[1,1]' 'y = [0.0, 0.0]'
    bad 5 E_NAN '1:5: error.*log: output 0, float64\(2,\), has 1 nan' 'grun curve.tlg --mode NAN_GUARD x=[1,-1]'
    grep -q 'in l = log(x: float64\[n\])' .err
    grep -q 'input 0: min -1, max 1, mean 0; 0 nan, 0 inf' .err
    grep -q 'the first is at (1,)' .err
    bad 5 E_NAN 'log: output 0.*has 2 inf' 'grun curve.tlg --mode NAN_GUARD x=[0,0]'
    bad 5 E_NAN 'the input x: float64\[n\] has 1 nan, 1 inf' 'grun curve.tlg --mode NAN_GUARD x=[nan,inf]'
    bad 5 E_NAN 'the input x: float64\[n\] has 1 beyond 1e10' 'grun curve.tlg --mode NAN_GUARD x=[1,2e10]'
    bad 5 E_NAN 'the shared variable q: float64\[2\] has 1 inf' 'gload --new -i "x: float64" --shared "q: float64[2] = [1, inf]" -e "q * x" | grun --mode NAN_GUARD x=1'
    grep -q 'the first is at (1,)' .err
    # exactly the limit is fine, the other sign counts as well
    ok 'gload -i "x: float64" -e x | grun --mode NAN_GUARD x=1e10'
    bad 5 E_NAN 'input x' 'gload -i "x: float64" -e x | grun --mode NAN_GUARD x=-1.1e10'
    # the same without the guard
    ok 'grun curve.tlg x=[0,0]' 'y = [-inf, -inf]'
}

@test "NAN_GUARD leaves integers and empty arrays alone, and looks at complex parts" {
    ok 'gload -i "i: int64" -e "i * 2" | grun --mode NAN_GUARD i=20000000000' 'out = 40000000000'
    ok 'gload -i "x: float64[?]" -e "log(x)" | grun --mode NAN_GUARD x="zeros(0)"'
    bad 5 E_NAN 'input z' 'gload -i "z: complex128" -e "z * 2" | grun --mode NAN_GUARD z="1 + 1j * inf"'
}

@test "NAN_GUARD looks inside fused groups and functions, and only for what is asked" {
    curve
    # the inf of exp is gone in the result: only the op itself has it
    bad 5 E_NAN 'exp: output 0' 'gload -i "x: float64[2]" -e "1 / exp(x) + cos(x) * 0.5" | grun --exclude exp-neg --mode NAN_GUARD x=[1,1000]'
    bad 5 E_NAN 'exp: output 0' 'gload -i "x: float64[2]" -e "tanh(exp(x)) * 2 + 1" | grewrite | grun --mode NAN_GUARD x=[1,1000]'
    ok 'grun fn.yaml --exclude inline --mode NAN_GUARD x=[1,5]' 'y = [0.0, 2.0]'
    bad 5 E_NAN 'sqrt: output 0' 'grun fn.yaml --exclude inline --mode NAN_GUARD x=[1,0]'
    grep -q 'in the function half' .err
    ok 'grun curve.tlg --mode NAN_GUARD --guard nan,big x=[0,1]' 'y = [-inf, 0.0]'
    bad 5 E_NAN nan 'grun curve.tlg --mode NAN_GUARD --guard nan x=[-1,0]'
    ok 'grun curve.tlg --mode NAN_GUARD --unguarded l,y x=[0,1]' 'y = [-inf, 0.0]'
    bad 5 E_NAN 'multiply|add' 'grun curve.tlg --mode NAN_GUARD --unguarded l x=[0,1]'
    bad 2 E_UNKNOWN 'zz' 'grun curve.tlg --mode NAN_GUARD --unguarded zz x=[0,1]'
    bad 2 E_USAGE 'nan,inf,big' 'grun curve.tlg --mode NAN_GUARD --guard nin x=[0,1]'
    bad 2 E_USAGE 'needs --mode' 'grun curve.tlg --guard nan x=[0,1]'
    bad 2 E_USAGE 'needs --mode' 'grun curve.tlg --unguarded l x=[0,1]'
}

@test "MONITOR shows each instruction with its place and what came out" {
    curve
    shell 'grun curve.tlg --mode MONITOR x=[1,4,nan]'
    [ "$status" = 0 ]
    [ "$(cat .out)" = 'y = [0.0, 2.772588722239781, nan]' ]
    [ "$(head -1 .err)" = $'step\top\tplace\ttime_s\toutputs' ]
    awk -F'\t' 'NR > 1 && (NF != 5 || $4 !~ /^[0-9.e-]+$/) { exit 1 }' .err
    grep -q 'float64(3,) min=0 max=2.77259 mean=1.38629 nan=1' .err
    shell 'grun fn.yaml --exclude fusion --exclude inline --mode MONITOR x=[1,5]'
    grep -q $'^half/0\tsqrt\tfn.yaml:7:' .err
    grep -q $'^[0-9]*\tsubtract\t' .err
    # sqrt before the call that waits for it
    [ "$(grep -n 'half/0' .err | cut -d: -f1)" -lt "$(grep -n "call(" .err | cut -d: -f1)" ]
    shell 'grun curve.tlg --mode MONITOR --steps 3 x=[1]'
    [ "$(grep -c '^step' .err)" = 1 ]
}

@test "MONITOR shows the first hundred runs of an instruction and counts the rest" {
    gload --new -i 'x: float64[n]' -e 's = scan(lambda a, h: tanh(a) + h, sequences=[x], outputs_info=[0.0])[-1]' -e 'y = s * 2' --outputs y -o l.tlg
    shell "grun l.tlg --mode MONITOR 'x=zeros(5000)'"
    [ "$status" = 0 ]
    [ "$(awk -F'\t' 'NF != 5' .err)" = '' ]
    [ "$(grep -c $'^lambda.*float64() min=' .err)" = "$((100 * $(grep -c 'in 4900 more runs$' .err)))" ]
    grep -Eq $'^lambda[^\t]*/[0-9]+\t[^\t]+\t[^\t]+\t[0-9.e-]+\t\\.\\.\\. in 4900 more runs$' .err
    shell "grun l.tlg --mode MONITOR --steps 130 'x=zeros(1)'"
    [ "$(grep -c 'in 30 more runs$' .err)" = "$(($(wc -l <.err) / 101))" ]
    shell "grun l.tlg --mode MONITOR --steps 100 'x=zeros(1)'"
    run ! grep 'more runs' .err
    # also where the run fails on its way
    gload --new -i 'x: float64[n]' -e 's = scan(lambda a, h: assert_op(a, a < 200) + h, sequences=[x], outputs_info=[0.0])[-1]' --outputs s -o f.tlg
    shell "grun f.tlg --mode MONITOR 'x=arange(300.)'"
    [ "$status" = 5 ] && grep -q 'in 100 more runs$' .err
}

@test "modes are found in any case, and unknown ones are errors with a suggestion" {
    curve
    ok 'grun curve.tlg --mode fast_run x=[1]' 'y = [0.0]'
    ok 'grun curve.tlg --mode Nan_Guard x=[1]' 'y = [0.0]'
    bad 2 E_USAGE 'did you mean DEBUG' 'grun curve.tlg --mode DEBGU x=[1]'
    bad 2 E_USAGE 'did you mean NAN_GUARD' 'grun curve.tlg --mode nanguard x=[1]'
    bad 2 E_USAGE 'FAST_RUN.FAST_COMPILE' 'grun curve.tlg --mode quick x=[1]'
    bad 2 E_USAGE 'use it with grun' 'gprof curve.tlg --mode MONITOR x=[1]'
    bad 2 E_USAGE 'use it with grun' 'gprof curve.tlg --mode NAN_GUARD --static'
    ok 'gprof curve.tlg --mode fast_compile --static >/dev/null'
}

@test "rules of one's own and rules left out, in the run itself" {
    curve
    printf 'mine @canonicalize: log(x) => x\n' >mine.rules
    ok 'grun curve.tlg --rules mine.rules --include mine x=[3]' 'y = [6.0]'
    ok 'grewrite --mode NONE curve.tlg | grun --rules mine.rules --include mine x=[3]' 'y = [6.0]'
    bad 2 E_UNKNOWN 'did you mean fusion' 'grun curve.tlg --exclude fusoin x=[3]'
}

@test "NAN_GUARD and MONITOR look into bodies of loops, functions and branches that are taken" {
    cat >b.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]", c: bool}
functions:
  f:
    inputs: {u: "float64[k]"}
    let: |
      v = log(u) * 2
    outputs: [v]
let: |
  y = f(x)
  s = scan(lambda a, h: log(a) + h, sequences=[x], outputs_info=[0.0])
  z = ifelse(c, sum(log(x)), sum(x))
outputs: [y, s, z]
Y
    bad 5 E_NAN 'b.yaml:7:11: error.*log: output 0, float64\(3,\), has 1 inf' 'gload b.yaml --outputs y | grun --mode NAN_GUARD x=[1,0,2]'
    grep -q 'b.yaml:10:7: note: called here' .err
    bad 5 E_NAN 'b.yaml:11:25: error.*log: output 0, float64\(\), has 1 inf' 'gload b.yaml --outputs s | grun --mode NAN_GUARD x=[1,0,2]'
    grep -q 'b.yaml:11:7: note: in step 1 of 3 of the loop here' .err
    bad 5 E_NAN 'b.yaml:12:21: error.*log: output 0, float64\(3,\), has 1 inf' 'gload b.yaml --outputs z | grun --mode NAN_GUARD x=[1,0,2] c=True'
    ok 'gload b.yaml --outputs z | grun --mode NAN_GUARD x=[1,0,2] c=False' 'z = 3.0'
    bad 5 E_NAN 'the input x' 'gload b.yaml --outputs z | grun --mode NAN_GUARD x=[1,nan,2] c=False'
    run ! grep -q 'it is needed for\|its result' .err # of the input, not of the op that reads it
    shell 'gload b.yaml --outputs z | grun --mode MONITOR x=[1,0,2] c=False'
    [ "$(cut -f2 .err | tr '\n' ' ')" = 'op sum ifelse ' ]
    shell 'gload b.yaml --outputs z | grun --exclude fusion --mode MONITOR x=[1,0,2] c=True'
    [ "$(cut -f2 .err | tr '\n' ' ')" = 'op log sum ifelse ' ]
    shell 'gload b.yaml --outputs s | grun --exclude fusion,scan-rows-out --mode MONITOR x=[1,0,2]'
    [ "$(grep -c $'^lambda_1/[0-9]*\t\(log\|add\)\tb.yaml:11:' .err)" = 6 ] || complain 'three steps of two ops' s
    [ "$(grep -c $'^[0-9]*\tscan' .err)" = 1 ]
}

@test "a function that a file calls fused does what it says, whatever it is made of" {
    local ins body outs args want m
    while IFS='|' read -r ins body outs args want; do
        printf 'thunkline: 1\ninputs: {x: "float64[n]", k: float64, l: "list(float64[n])"}\nfunctions:\n  f:\n    fused: true\n    inputs: {%s}\n    let: "%s"\n    outputs: {%s}\nlet: "r = f(%s)"\noutputs: [r]\n' \
            "$ins" "$body" "$outs" "$args" >f.yaml
        for m in FAST_RUN FAST_COMPILE DEBUG; do
            ok "grun f.yaml --mode $m --on-unused-input ignore x=[1,2] k=3 l=[[1,2],[3,4]] 2>&1 | tr -d ' ' | tr '\n' ';'" "$want" || fail "$body"
        done
    done <<'END'
u: "float64[k]"|v = print(u * 2, msg='p')|v: v|x|p=[2.0,4.0];r=[2.0,4.0];
u: "list(float64[k])"|v = u[0] * 2|v: v|l|r=[2.0,4.0];
u: "list(float64[k])"|v = list_append(u, u[0] * 2)|v: v|l|r=[[1.0,2.0],[3.0,4.0],[2.0,4.0]];
u: "float64[k]", q: "list(float64[k])"|v = u * 2|v: v|x, l|r=[2.0,4.0];
u: "float64[k]"|v = sum(u * 2)\n      w = v * 2|v: v, w: w|x|r/0=6.0;r/1=12.0;
u: "float64[k]"|v = u * 2\n      w = sum(v)|a: w, b: w|x|r/0=6.0;r/1=6.0;
u: "float64[k]"|v = u * 2\n      w = sum(v)|a: w, v: v|x|r/0=6.0;r/1=[2.0,4.0];
u: "float64[k]"|v = u * 2\n      w = sum(v)|w: w, v: v, z: w|x|r/0=6.0;r/1=[2.0,4.0];r/2=6.0;
u: "float64[k]"|v = u * 2\n      w = sum(u)|v: v, w: w|x|r/0=[2.0,4.0];r/1=3.0;
u: "float64[k]"|v = u * 2\n      w = sum(v)\n      z = w * 2|v: v, z: z, w: w|x|r/0=[2.0,4.0];r/1=12.0;r/2=6.0;
u: "float64[k]"|v = sort(-u)|v: v|x|r=[-2.0,-1.0];
u: "float64[k]"|v = u|v: v|x|r=[1.0,2.0];
u: "float64[k]"|v = u * k|v: v|x|r=[2.0,4.0];
u: "float64[k]"|v = u * k\n      w = sum(v)|v: v, w: w|x|r/0=[2.0,4.0];r/1=6.0;
u: "float64[k]", q: float64|v = u * q + k * [1., 10.]|v: v|x, k|r=[5.0,26.0];
u: "float64[k]"|v = 2.0 * 3|v: v|x|r=6.0;
u: "float64[k]"|v = float64(k) * 3|v: v|x|r=6.0;
END
}
