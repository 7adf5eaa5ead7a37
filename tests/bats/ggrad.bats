# ggrad: which derivatives are added, under which names, and what they are worth.
load common

# g EXPR... : a fresh graph g.tlg of these definitions and inputs (an argument with `: ` is an input).
g() {
    local a opts=()
    for a; do
        case $a in
            *': '*) opts+=(-i "$a") ;;
            *) opts+=(-e "$a") ;;
        esac
    done
    gload --new "${opts[@]}" -o g.tlg
}

@test "reverse mode: default cost and wrt, names, --only" {
    g 'x: float64[3]' 'k: int64' 'y = sum(x ** 2) * k'
    ok 'ggrad g.tlg | grun x=[1,2,3] k=2' $'y = 28.0\nd_y_d_x = [4.0, 8.0, 12.0]'
    ok 'ggrad g.tlg --cost y --wrt x --only | grun x=[1,2,3] k=2' 'd_y_d_x = [4.0, 8.0, 12.0]'
    ok 'ggrad g.tlg --only --name "grad_{wrt}" | grun x=[1,2,3] k=2' 'grad_x = [4.0, 8.0, 12.0]'
    ok 'ggrad g.tlg --only --name "{cost}_by_{wrt}" | grun x=[1,2,3] k=2' 'y_by_x = [4.0, 8.0, 12.0]'
    ok 'ggrad g.tlg | gload - -e "z = d_y_d_x * 10" --outputs z | grun x=[1,2,3] k=2' 'z = [40.0, 80.0, 120.0]'
    bad 3 E_ 'd_y_d_x' 'ggrad g.tlg | ggrad --cost y --wrt x'
    bad 2 E_UNKNOWN 'did you mean y' 'ggrad g.tlg --cost yy'
    bad 2 E_UNKNOWN 'nope' 'ggrad g.tlg --wrt x,nope'
    bad 2 E_USAGE 'wrt' 'ggrad g.tlg --wrt ""'
    bad 3 E_DUPLICATE 'grad_\{wrt\}' 'ggrad g.tlg --wrt x,k --disconnected ignore --name same'
    g 'x: float64' 'a = x * 2' 'b = x * 3'
    gload g.tlg --outputs a,b -o ab.tlg
    bad 2 E_USAGE '--cost' 'ggrad ab.tlg'
    ok 'ggrad ab.tlg --cost b --only | grun x=1' 'd_b_d_x = 3.0'
}

@test "shared variables and intermediate variables are wrt too" {
    gload --new -i 'x: float64[2]' --shared 'W: float64[2] = [3, 4]' -e 'h = x * W' -e 'loss = sum(h * h)' --outputs loss -o g.tlg
    ok 'ggrad g.tlg --only | grun x=[1,2]' 'd_loss_d_W = [6.0, 32.0]'
    ok 'ggrad g.tlg --wrt x,W --only | grun x=[1,2]' $'d_loss_d_x = [18.0, 64.0]\nd_loss_d_W = [6.0, 32.0]'
    ok 'ggrad g.tlg --wrt h,W --only | grun x=[1,2]' $'d_loss_d_h = [6.0, 16.0]\nd_loss_d_W = [6.0, 32.0]'
    bad 3 E_SHAPE 'scalar|0-d' 'ggrad g.tlg --cost h --wrt x'
}

@test "without --wrt: the shared variables that reach the cost, or without any, the float inputs" {
    gload --new -i 'x: float64' -i 'k: int64' --shared 'W: float64 = 3' --shared 'n: int64 = 2' --shared 'far: float64 = 1' -e 'a = x * W * n' -e 'b = x * k * n' --outputs a,b >g.tlg
    ok 'ggrad g.tlg --cost a --only | grun x=5' 'd_a_d_W = 10.0'
    ok 'ggrad g.tlg --cost b --only | grun k=7' 'd_b_d_x = 14.0'
    ok 'ggrad g.tlg --vjp a --only | grun x=5 g_a=2' 'd_a_d_W = 20.0'
    ok 'ggrad g.tlg --jvp a --only | grun x=5 t_W=2' 'jvp_a = 20.0'
    ok 'ggrad g.tlg --cost a --check'
    bad 3 E_DISCONNECTED 'no float input or shared' 'gload --new -i "k: int64" -e "y = k * 1.5" --outputs y | ggrad'
}

@test "pullbacks with cotangents" {
    g 'x: float64[2]' 'y = x ** 3'
    ok 'ggrad g.tlg --vjp y --wrt x --only | grun x=[1,2] g_y=[1,10]' 'd_y_d_x = [3.0, 120.0]'
    ok 'gload g.tlg -i "c: float64[2]" -e "c2 = 2 * c" --outputs y | ggrad --vjp y --cotangent c2 --wrt x --only | grun x=[1,2] c=[1,10]' 'd_y_d_x = [6.0, 240.0]'
    ok 'ggrad g.tlg --vjp y --cotangent ct --wrt x --only | grun x=[1,2] ct=[1,1]' 'd_y_d_x = [3.0, 12.0]'
    bad 3 E_ 'float64\[2\]' 'gload g.tlg -i "c: float64[3]" | ggrad --vjp y --cotangent c --wrt x'
    bad 2 E_USAGE '.' 'ggrad g.tlg --vjp y --cost y'
    bad 2 E_USAGE '.' 'ggrad g.tlg --cotangent c'
}

@test "forward mode, by itself and by two pullbacks" {
    g 'x: float64[2]' 'w: float64' 'y = w * x ** 2'
    local v='x=[1,2] w=3 t_x=[1,0.5] t_w=2' want='jvp_y = [8.0, 14.0]'
    ok "ggrad g.tlg --jvp y --wrt x,w --only | grun $v" "$want"
    ok "ggrad g.tlg --jvp y --wrt x,w --by-pullback --only | grun $v" "$want"
    ok "ggrad g.tlg --jvp y --wrt x,w --tangents a,b --only | grun x=[1,2] w=3 a=[1,0.5] b=2" "$want"
    ok "gload g.tlg -i 't: float64[2]' | ggrad --jvp y --wrt x --tangents t --only | grun x=[1,2] w=3 t=[1,1]" 'jvp_y = [6.0, 12.0]'
    bad 2 E_USAGE 'tangents' 'ggrad g.tlg --jvp y --wrt x,w --tangents a'
    bad 2 E_USAGE '.' 'ggrad g.tlg --by-pullback'
}

@test "consider_constant keeps its own gradient; known_grads override" {
    g 'x: float64' 'y = x * x' 'c = 3 * y'
    ok 'gload g.tlg --outputs c | ggrad --wrt x,y --consider-constant y --disconnected ignore --only | grun x=2' $'d_c_d_x = 0.0\nd_c_d_y = 3.0'
    g 'x: float64' 'k: float64' 'y = x ** 2' 'z = 3 * y'
    ok 'gload g.tlg --outputs z | ggrad --wrt x --known-grads y=k --only | grun x=2 k=10' 'd_z_d_x = 40.0'
    # piece by piece: what comes after an end, then what comes before it
    gload --new -i 'x: float64' -i 'w: float64' -i 'v: float64' -e 'h = sin(w * x)' -e 'c = exp(v * h)' --outputs c -o p.tlg
    ggrad p.tlg --wrt w,v --only | grun x=2 w=0.3 v=0.7 >whole
    ok 'ggrad p.tlg --cost c --wrt v,h --consider-constant h --only | grun x=2 w=0.3 v=0.7 --on-unused-input ignore -r d_c_d_h=h.npy >last; tail -n 1 whole | diff - <(head -n 1 last)'
    ok 'gload p.tlg -i "g: float64" --outputs c | ggrad --wrt w --known-grads h=g --only | grun x=2 w=0.3 v=0.7 g=@h.npy --on-unused-input ignore' "$(head -n 1 whole)"
    bad 2 E_UNKNOWN 'nope' 'gload g.tlg --outputs z | ggrad --wrt x --known-grads nope=k'
    bad 2 E_UNKNOWN 'nope' 'gload g.tlg --outputs z | ggrad --wrt x --consider-constant nope'
}

@test "disconnected is not zero" {
    g 'x: float64[n]' 'w: float64' 'y = x.shape[0] * 1.0'
    bad 3 E_DISCONNECTED 'x' 'ggrad g.tlg --wrt x'
    ok 'ggrad g.tlg --wrt x --disconnected ignore --only | grun x=[1,2]' 'd_y_d_x = [0.0, 0.0]'
    ok 'ggrad g.tlg --wrt w --disconnected ignore --only | grun x=[1,2] w=1' 'd_y_d_w = 0.0'
    shell 'ggrad g.tlg --wrt x --disconnected warn --only | grun x=[1,2]'
    [ "$status" = 0 ]
    [ "$(cat .out)" = 'd_y_d_x = [0.0, 0.0]' ]
    grep -q '^ggrad: .*warning.*x' .err
    bad 2 E_USAGE 'raise|warn|ignore' 'ggrad g.tlg --disconnected never'
    g 'x: float64[3]' 'y = sum(floor(x))'
    ok 'ggrad g.tlg --only | grun x=[1.5,2,3]' 'd_y_d_x = [0.0, 0.0, 0.0]'
    g 'x: float64' 'w: float64' 'y = x * 2'
    ok 'ggrad g.tlg --wrt x,w --disconnected ignore --return-disconnected none --only | grun x=1' 'd_y_d_x = 2.0'
}

@test "undefined derivatives are errors when asked for, or returned as null" {
    g 'n: float64' 'x: float64' 'y = polygamma(n, x)'
    bad 3 E_NULL 'n is undefined' 'ggrad g.tlg --wrt n'
    bad 3 E_NULL 'n is undefined' 'ggrad g.tlg'
    like 'ggrad g.tlg --wrt n --null return --only -O yaml' "d_y_d_n = undefined\('"
    bad 3 E_NULL 'd_y_d_n is undefined' 'ggrad g.tlg --wrt n --null return --only | grun n=1 x=2'
    ok 'ggrad g.tlg --wrt x --only | grun n=1 x=2 --expect d_y_d_x=-0.4041138063191886 >/dev/null'
    bad 2 E_USAGE 'raise\|return' 'ggrad g.tlg --null maybe'
}

@test "a function's own pullback is taken" {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  clipped:
    inputs:
      a: float64
    let: |
      r = a * 2
    outputs: [r]
    pullback: pull
  pull:
    inputs:
      a: float64
      g: float64
    let: |
      ga = minimum(g, 1) * a * 100
    outputs: [ga]
inputs:
  x: float64
let: |
  y = clipped(x) * 3
outputs: [y]
END
    ok 'grun f.yaml x=2' 'y = 12.0'
    ok 'ggrad f.yaml --only | grun x=2' 'd_y_d_x = 200.0'
    ok 'gload f.yaml -O json | ggrad --only | grewrite --include inline-calls | grun x=2' 'd_y_d_x = 200.0'
    bad 1 E_VERDICT 'x' 'ggrad f.yaml --check x=2'
    sed 's/^      g: float64/      g: float64\n      h: float64/' f.yaml >g.yaml
    bad 3 E_ARITY 'pull' 'ggrad g.yaml'
}

@test "functions: gradients go through calls" {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  sq:
    inputs:
      a: float64
    let: |
      b = a * a
    outputs: [b]
inputs:
  x: float64
let: |
  y = sq(x) + sq(3 * x)
outputs: [y]
END
    ok 'ggrad f.yaml --only | grun x=2' 'd_y_d_x = 40.0'
    ok 'ggrad f.yaml --jvp y --wrt x --only | grun x=2 t_x=1' 'jvp_y = 40.0'
    ok 'ggrad f.yaml | ggrad --cost d_y_d_x --wrt x --only | grun x=2' 'd_d_y_d_x_d_x = 20.0'
    ok 'ggrad f.yaml --check' ''
}

@test "grad, vjp and jvp in a graph do what ggrad does" {
    g 'x: float64[3]' 'y = sum(sin(x) * x)'
    ok 'cmp <(ggrad g.tlg --only | grun x=[1,2,3] | cut -d= -f2) <(gload g.tlg -e "q = grad(y, x)" --outputs q | grun x=[1,2,3] | cut -d= -f2)'
    g 'x: float64' 'y = x ** 3' 'a = vjp(y, x, 2.0)' 'b = jvp(y, x, 2.0)'
    ok 'gload g.tlg --outputs a,b | grun x=2' $'a = 24.0\nb = 24.0'
}

@test "--check compares with finite differences" {
    g 'x: float64[3, 4]' 'y = sum(tanh(x @ x.T) * log1p(exp(x[:, :3])))'
    ok 'ggrad g.tlg --check'
    ok 'ggrad g.tlg --check --seed 7'
    g 'x: float64[4]' 'y = max(x) + prod(x) + logsumexp(x) + sum(x / (1 + x ** 2))'
    ok 'ggrad g.tlg --check x=[0.5,1,2,3]'
    g 'x: float64[5]' 'y = sum(x[[0, 2, 2]] ** 2) + sum(cumsum(x)[::2]) + sum(where(x > 0, x, 2 * x))'
    ok 'ggrad g.tlg --check'
    g 'x: float32[n, 4]' 'y = -mean(log_softmax(x, axis=1)[arange(n), zeros(n, dtype="int64")])'
    ok 'ggrad g.tlg --check x="normal(0, 1, (3, 4), seed=1)"'
    bad 1 E_VERDICT 'x' 'gload --new -i "x: float64[2]" -e "y = sum(x // 1 * 0.5 + abs(x))" | ggrad --check x="[0, 0]"'
}

@test "ties and edges of derivatives" {
    local expr x want
    while IFS='|' read -r expr x want; do
        ok "gload --new -i 'x: float64[3]' -e 'y = $expr' | ggrad --only | grun 'x=$x'" "d_y_d_x = $want"
    done <<'END'
max(x)|[2,2,1]|[1.0, 1.0, 0.0]
sum(maximum(x, x[::-1]))|[2,2,2]|[1.0, 1.0, 1.0]
sum(abs(x))|[0,-1,2]|[0.0, -1.0, 1.0]
sum(clip(x, 0, 1))|[0,1,2]|[1.0, 1.0, 0.0]
prod(x)|[0,2,3]|[6.0, 0.0, 0.0]
prod(x)|[0,0,3]|[0.0, 0.0, 0.0]
sum(x ** 2)|[0,1,-1]|[0.0, 2.0, -2.0]
sum(where(x > 0, sqrt(x), 0))|[0,4,4]|[nan, 0.25, 0.25]
sum(sign(x) * x)|[1,-1,2]|[1.0, -1.0, 1.0]
END
    ok 'gload --new -i "x: float64[1, 3]" -i "y: float64[2, 3]" -e "c = sum(x * y)" | ggrad --wrt x --only | grun x=[[1,1,1]] y=[[1,1,1],[1,1,1]]' 'd_c_d_x = [[2.0, 2.0, 2.0]]'
    ok 'gload --new -e "y = maximum(a, b)" | ggrad --only | grun a=2 b=2' $'d_y_d_a = 1.0\nd_y_d_b = 0.0'
    ok 'gload --new -e "y = a ** b" | ggrad --only --wrt b | grun a=0 b=2' 'd_y_d_b = 0.0'
}

@test "integer rules" {
    ok 'gload --new -i "x: float64" -e "y = int64(x)" -e "c = 0.5 * float64(y)" --outputs c | ggrad --wrt x,y --only --disconnected ignore | grun x=3.7' $'d_c_d_x = 0.0\nd_c_d_y = 0.5'
    ok 'gload --new -i "x: float64[2, 3]" -i "i: int64" -e "c = sum(x * i)" | ggrad --wrt i --only | grun x=[[0,0,2],[0,1,2]] i=1' 'd_c_d_i = 5.0'
    ok 'gload --new -i "a: int64[2]" -i "b: int64[2]" -e "c = float64(dot(a, b))" | ggrad --wrt a,b --only --disconnected ignore | grun a=[1,2] b=[3,4]' $'d_c_d_a = [0.0, 0.0]\nd_c_d_b = [0.0, 0.0]'
}

@test "second derivatives and the math and yaml forms" {
    g 'x: float64' 'y = exp(2 * x)'
    ok 'ggrad g.tlg --only | ggrad --only | ggrad --only --name third | grun x=0' 'third = 8.0'
    like 'ggrad g.tlg | grewrite -O math' 'd_y_d_x = '
    ok 'ggrad g.tlg --no-provenance -O yaml | grep -c steps: || true' 0
    like 'ggrad g.tlg -O yaml' '"ggrad [0-9.]+ g.tlg -O yaml"'
    like 'ggrad g.tlg -O tree' 'd_y_d_x'
    like 'ggrad g.tlg -O json' '"d_y_d_x"'
    like 'ggrad g.tlg -O dot' '^digraph'
}

@test "--checkpoint recomputes instead of keeping: a lower peak, the same gradients" {
    local a=(--new -i 'x: float64[500, 200]') p=x i
    for i in {1..12}; do
        a+=(--shared "W$i: float64[200, 200] = normal(0, 0.05, (200, 200), seed=$i)" -e "h$i = tanh($p @ W$i)")
        p=h$i
    done
    gload "${a[@]}" -e "loss = sum($p ** 2)" --outputs loss -o deep.tlg
    local wrt
    wrt=$(seq -s, -f 'W%g' 12)
    ggrad deep.tlg --cost loss --wrt "$wrt" | grewrite -o full.tlg
    ggrad deep.tlg --cost loss --wrt "$wrt" --checkpoint sqrt | grewrite -o sqrt.tlg
    ggrad deep.tlg --cost loss --wrt "$wrt" --checkpoint h4,h8 | grewrite -o named.tlg
    gprof --static full.tlg --assert 'peak_bytes > 10.5e6' --assert 'flops < 1.5e9' >/dev/null
    gprof --static sqrt.tlg --assert 'peak_bytes < 10e6' --assert 'flops < 2e9' >/dev/null
    gprof --static named.tlg --assert 'peak_bytes < 11e6' >/dev/null
    for i in full sqrt named; do
        grun $i.tlg x='normal(0, 1, (500, 200), seed=5)' -r d_loss_d_W1=$i.1.npy -r d_loss_d_W12=$i.12.npy >/dev/null
    done
    cmp full.1.npy sqrt.1.npy && cmp full.12.npy sqrt.12.npy && cmp full.1.npy named.1.npy
    bad 2 E_UNKNOWN 'h99' 'ggrad deep.tlg --cost loss --wrt W1 --checkpoint h99'
}

@test "an option of names that is repeated adds up" {
    gload --new -i 'x: float64' -i 'c: float64' -e 'y = x * c' -e 'z = x + c' --outputs y --outputs z -o g.tlg
    ok 'ggrad g.tlg --only --cost y --wrt x --wrt c | grun x=2 c=3' $'d_y_d_x = 3.0\nd_y_d_c = 2.0'
    ok 'ggrad g.tlg --only --vjp y --vjp z --cotangent a --cotangent b --wrt x | grun x=2 c=3 a=10 b=1' 'd_y_d_x = 31.0'
    ok 'ggrad g.tlg --only --jvp y --jvp z --wrt x --wrt c --tangents s --tangents t | grun x=2 c=3 s=1 t=10' $'jvp_y = 23.0\njvp_z = 11.0'
    ok 'ggrad g.tlg --cost y --wrt x --wrt c | grewrite --keep d_y_d_c --keep d_y_d_x | grun x=2 c=3' $'d_y_d_c = 2.0\nd_y_d_x = 3.0'
}

@test "--check calls right derivatives right, whatever their scale, curvature and kinks" {
    local e s d
    for s in 1 2 3; do
        for e in 'sin(3000*x)' 'cos(2*pi*1024*x)' '1e8 + x**2' 'sin(x)**2 + cos(x)**2' 'sqrt(abs(x))**3' 'floor(7*x) * x' '(x/1e6)**3' 'exp(20*x)'; do
            for d in float32 float64; do
                gload --new -i "x: ${d}[2]" -e "y = sum($e)" --outputs y -o g.tlg
                ok "ggrad --check --seed $s g.tlg"
            done
        done
    done
    while IFS='|' read -r x e; do
        gload --new -i 'x: float64' -e "y = $e" --outputs y -o g.tlg
        ok "ggrad --check g.tlg x=$x"
    done <<'T'
1e-8|sin(1e8*x)
1e8|sin(x)
1e8|log(x)
1e-9|sqrt(x)
0|abs(x)
0|maximum(x, 0)
0|x * abs(x)
0|x ** 1.5
2|floor(x) * x
0|sin(1e6*x)
T
    # results below the smallest normal number keep few digits; waves a few thousand roundings long
    for d in 'float32 exp(-x) 100' 'float32 exp(-x*x) 10' 'float64 exp(-x) 742' 'float16 exp(-x) 14' 'float32 chi2sf(x,3.) 203'; do
        read -r d e x <<<"$d"
        ok "gload --new -i 'x: $d' -e 'c = $e' --outputs c | ggrad --cost c --check x=$x"
    done
    ok "gload --new -i 'x: float32[40]' -e 'c = sum(sin(10000 * x))' --outputs c | ggrad --cost c --check 'x=normal(0, 1, 40, seed=1)'"
    # waves of a few hundred roundings
    gload --new -i 'x: float32' -e 'y = sin(100000 * x) + x' --outputs y -o waves.tlg
    for seed in 1 2 3 4 5 6 7 8; do
        ok "ggrad waves.tlg --cost y --check --seed $seed"
    done
}

@test "--check finds derivatives that are a little wrong, at every scale" {
    cat >ops.yaml <<'Y'
thunkline: 1
ops:
  right:
    doc: A test.
    inputs: x
    def: x * exp(x)
    partials: {x: r + exp(x)}
  nearly:
    doc: A test.
    inputs: x
    def: x * exp(x)
    partials: {x: 1.001 * (r + exp(x))}
  opposite:
    doc: A test.
    inputs: x
    def: x * exp(x)
    partials: {x: -(r + exp(x))}
  one_off:
    doc: A test.
    inputs: x
    def: sum(x * x)
    pullback: {x: "2 * g * set_subtensor(x[1:2], x[1:2] * 1.001)"}
  turned:
    doc: A test.
    inputs: x
    def: x * x
    partials: {x: 2 * x * exp(0.001j)}
Y
    local d e
    for d in float32 float64; do
        for e in nearly opposite one_off; do
            for c in 'f(x)' '1e-12 * f(x)' '1e12 * f(x)' 'f(x * 1e-6)'; do
                gload --ops ops.yaml --new -i "x: ${d}[3]" -e "y = sum(${c/f/$e})" --outputs y -o g.tlg
                bad 1 E_VERDICT 'finite differences give' 'ggrad --ops ops.yaml --check g.tlg'
            done
        done
        ok "gload --ops ops.yaml --new -i 'x: ${d}[3]' -e 'y = sum(right(x))' --outputs y | ggrad --ops ops.yaml --check"
    done
    for d in complex64 complex128; do
        for e in real imag abs; do
            gload --ops ops.yaml --new -i "x: ${d}[3]" -e "y = sum($e(nearly(x)))" --outputs y -o g.tlg
            bad 1 E_VERDICT 'finite differences give' 'ggrad --ops ops.yaml --check g.tlg'
            bad 1 E_VERDICT 'finite differences give' "gload --ops ops.yaml --new -i 'x: ${d}[3]' -e 'y = sum($e(turned(x)))' --outputs y | ggrad --ops ops.yaml --check"
            ok "gload --ops ops.yaml --new -i 'x: ${d}[3]' -e 'y = sum($e(right(x)))' --outputs y | ggrad --ops ops.yaml --check"
        done
        ok "gload --new -i 'x: ${d}[3]' -e 'y = exp(x) * x' --outputs y | ggrad --vjp y --check"
        ok "gload --new -i 'x: ${d}[3]' -e 'y = exp(x) * x' --outputs y | ggrad --jvp y --check"
        bad 1 E_VERDICT 'finite differences give' "gload --ops ops.yaml --new -i 'x: ${d}[3]' -e 'y = turned(x)' --outputs y | ggrad --ops ops.yaml --jvp y --check"
    done
}

@test "names that no kind of derivative knows, lists of the wrong length, results that are there already" {
    gload -i 'x: float64[n]' -i 'k: int64' -e 'y = (x ** 2).sum()' -e 'z = x * 2' -e 'c = 3.0' -o g.tlg
    local o
    for o in '--cost q' '--vjp q' '--jvp q' '--jacobian q' '--hessian q' '--hvp q' '--cost y --wrt q' '--vjp z --wrt q' '--jvp z --wrt q' \
        '--hvp y --wrt q' '--cost y --consider-constant q' '--vjp z --consider-constant q' '--hessian y --consider-constant q' \
        '--jacobian z --consider-constant q' '--cost y --known-grads z=q' '--cost y --known-grads q=z' '--cost y --checkpoint q' \
        '--cost y --check q=4'; do
        bad 2 E_UNKNOWN 'no variable or output called q' "ggrad g.tlg $o"
    done
    for o in z z=x=y; do
        bad 2 E_USAGE "a known gradient must be VARIABLE=GRADIENT, not '$o'" "ggrad g.tlg --cost y --known-grads $o"
    done
    bad 2 E_USAGE '--cotangent has 2 names for 1' 'ggrad g.tlg --vjp z --cotangent a,b'
    bad 2 E_USAGE '--tangents has 2 names for 1' 'ggrad g.tlg --jvp z --tangents a,b'
    bad 2 E_USAGE '--vector has 2 names for 1' 'ggrad g.tlg --hvp y --vector a,b'
    for o in '--cost y' '--vjp z' '--jvp z' '--jacobian z' '--hessian y' '--hvp y'; do
        bad 3 E_DUPLICATE 'the graph already has a z' "ggrad g.tlg $o --name z"
    done
    for o in '--vjp z --cotangent a+' '--jvp z --tangents 1x' '--hvp y --vector if' '--vjp z --cotangent "(a)"' '--cost y --name 1{wrt}' '--cost y --name in'; do
        bad 3 E_ "^ggrad: --(cotangent|tangents|vector|name):1:.*(an expression is expected|not a number|keyword|can't be the name of a variable)" "ggrad g.tlg $o"
    done
    bad 3 E_SHAPE 'the cost must be a scalar' 'ggrad g.tlg --hessian z'
    bad 2 E_USAGE 'use --cost' 'ggrad g.tlg'
}

@test "a cost that doesn't depend on wrt is an error that names its inputs, or zeros when asked" {
    gload -i 'x: float64[n]' -i 'k: int64' -e 'y = (x ** 2).sum()' -e 'z = x * 2' -e 'c = 3.0' -o g.tlg
    bad 3 E_DISCONNECTED 'c depends on no float input or shared variable' 'ggrad g.tlg --cost c'
    bad 3 E_DISCONNECTED 'c depends on no float input or shared variable' 'ggrad g.tlg --jvp c'
    bad 3 E_DISCONNECTED 'c does not depend on x' 'ggrad g.tlg --jvp c --wrt x'
    bad 3 E_DISCONNECTED 'the cost does not depend on k' 'ggrad g.tlg --cost y --wrt k'
    bad 3 E_DISCONNECTED 'the cost does not depend on z' 'ggrad g.tlg --hessian y --mixed --wrt z'
    ok 'ggrad g.tlg --jvp c --wrt x --disconnected ignore --only | grun' 'jvp_c = 0.0'
    shell 'ggrad g.tlg --jvp c --wrt x --disconnected warn --only | grun'
    [ "$status" = 0 ] && [ "$(cat .out)" = 'jvp_c = 0.0' ]
    grep -q '^ggrad: .*warning.*c does not depend on x' .err
    ok 'ggrad g.tlg --jvp c,z --wrt x --disconnected ignore --return-disconnected none --only | grun x=[1,2] t_x=[1,1]' 'jvp_z = [2.0, 2.0]'
    ok 'ggrad g.tlg --cost c --wrt x --disconnected ignore --only | grun x=[1,2]' 'd_c_d_x = [0.0, 0.0]'
}

@test "--check at given points, of many types, of shared variables" {
    gload -i 'x: float64[n]' -i 'k: int64' -e 'y = (x ** 2).sum()' -e 'z = x * 2' -o g.tlg
    local line
    for line in 'ggrad g.tlg --vjp y,z' 'ggrad g.tlg --hvp y' 'ggrad g.tlg --hessian y' 'ggrad g.tlg --cost y x=[1,2]' \
        'gload -i "x: float16[3]" -e "y = (x * x).sum()" | ggrad' 'gload -i "x: float64[?]" -e "y = (x * x).sum()" | ggrad' \
        'gload -i "x: float64" -i "s: slice" -e "y = x * arange(5)[s].sum()" | ggrad --wrt x' \
        'gload -i "x: float64" -i "l: list(float64)" -e "y = x * l[1]" | ggrad --wrt x' \
        'gload -i "x: complex128[3]" -e "y = x * x" -e "z = x.real()" | ggrad --vjp y,z' \
        'gload --shared "w: float64[2] = [1,2]" -e "y = (w ** 3).sum()" --update "w = w * 2" | ggrad w=[3,4]' \
        'gload --shared "w: float64[2]" -e "y = (w * w).sum()" | ggrad'; do
        ok "$line --check" ''
    done
    bad 2 E_UNKNOWN 'only inputs and shared variables take values' 'ggrad g.tlg --cost y --check z=4'
    bad 3 E_NAME 'foo' 'ggrad g.tlg --cost y --check "x=[1,foo]"'
    bad 3 E_VALUE 'not finite at this point' 'ggrad g.tlg --cost y --check x=[1,nan]'
    bad 3 E_VALUE 'not finite at this point' 'ggrad g.tlg --cost y --check x=[1e200,1]'
    bad 5 E_INDEX 'index 7 is out of range' 'gload -i "x: float64[3]" -i "i: int64" -e "y = x[i]" | ggrad --wrt x --check i=7'
}

@test "--check varies arrays of floats, and says what it leaves out" {
    local left="warning.*left out of the check, which varies only arrays of floats: s \(sparse\('csr', float64\[3, 3\]\)\)$" o
    gload -i "s: sparse('csr', float64[3, 3])" -i 'x: float64[3]' -e 'z = s @ x' -e 'y = sum(z * x)' -o s.tlg
    for o in '--cost y' '--vjp z' '--jvp z'; do
        shell "ggrad s.tlg $o --check"
        [ "$status" = 0 ]
        [ "$(grep -c warning .err)" = 1 ] && grep -Eq "$left" .err
        ok "ggrad s.tlg $o --wrt x --check" ''
    done
    bad 2 E_USAGE "varies arrays of floats: s is sparse" 'ggrad s.tlg --cost y --wrt s --check'
    bad 2 E_USAGE 'varies inputs and shared variables: z is neither' 'ggrad s.tlg --cost y --wrt z --check'
    bad 2 E_USAGE 'c depends only on s \(sparse' "gload s.tlg -e 'c = sum(dense_from_sparse(s))' | ggrad --cost c --check"
    gload -i 'a: complex128' -i 'x: float64' -e 'y = (a * x * x).real()' -o h.tlg
    ok 'ggrad h.tlg --check' ''
    shell 'ggrad h.tlg --hessian y --check'
    [ "$status" = 0 ] && grep -q 'left out of the check.*: a (complex128)$' .err
}

@test "--check takes no rounding for a slope, and no step out of the domain for an error" {
    ok "gload --new -i 'a: float64[2, 3]' -e 'y = det(concatenate([a, a[:1] + a[1:2]]))' --outputs y | ggrad --check"
    ok "gload --new -i 'x: float64[3]' -e 'y = sum(round_bfloat16(x) * [1, 2, 3])' --outputs y | ggrad --check x=[0.3,1.7,100.3]"
    ok "gload --new -i 'x: float32[3]' -e 'y = sum(sin(float16(x)))' --outputs y | ggrad --check x=[0.3,1.7,4.3]"
    ok "gload --new -i 'x: float64' -e 'y = assert_op(x, x > 0) * x' --outputs y | ggrad --check x=1e-3"
    bad 5 E_ASSERT 'does not hold' "gload --new -i 'x: float64' -e 'y = assert_op(x, x > 0) * x' --outputs y | ggrad --check x=-1"
}

@test "--check at the edge of a function's domain can't tell, and says so" {
    local e
    for e in 'sqrt(x):0' 'arcsin(x):1' 'sqrt(-x * x):0' 'assert_op(x, eq(x, 0.0)) * x:0'; do
        bad 3 E_VALUE "d_y_d_x can't be checked.*edge of the function's domain" "gload -i 'x: float64' -e 'y = ${e%:*}' | ggrad --check x=${e#*:}"
    done
    for e in 'where(x > 0, sqrt(x), 0.0)' 'sqrt(abs(x))'; do
        bad 1 E_VERDICT 'd_y_d_x is wrong' "gload -i 'x: float64' -e 'y = $e' | ggrad --check x=0"
    done
    for e in 'x ** 1.5' 'assert_op(x, x >= 0) * x'; do
        ok "gload -i 'x: float64' -e 'y = $e' | ggrad --check x=0"
    done
}

@test "of many outputs a dozen are named; a random state is made up where one is needed" {
    local e=()
    for i in $(seq 1 14); do e+=(-e "y$i = x * $i"); done
    gload --new -i 'x: float64' "${e[@]}" -o many.tlg
    bad 2 E_USAGE 'the graph has 14 outputs' 'ggrad many.tlg'
    grep -q 'note: its outputs are y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12$' .err
    bad 2 E_UNKNOWN 'no variable or output called nothinglikethis' 'ggrad many.tlg --cost nothinglikethis'
    ! grep -q 'note: ' .err || fail 'fifteen names are no help'
    gload --new -i 'r: random' -i 'x: float64' -e 's, y = uniform(size=(2,), rng=r)' -e 'z = sum(y * x * x)' --outputs z -o rnd.tlg
    ok 'ggrad --check rnd.tlg --wrt x'
    ok 'grewrite --verify 2 rnd.tlg -o out.tlg'
    bad 2 E_MISSING 'missing input r: random' 'grun rnd.tlg x=1'
    ok 'grun rnd.tlg x=0 --seed 3' 'z = 0.0'
}

@test "results have the names that the options give, also where a variable has several" {
    cat >alias.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[n]'}
let: |
  es = sum(x ** 2)
  loss = es
  w = x
outputs: [loss]
Y
    local options names
    while IFS='|' read -r options names; do
        ok "ggrad alias.yaml $options -O yaml | grep '^outputs:'" "outputs: [loss, $names]" || fail "$options"
    done <<'END'
--cost loss --wrt x|d_loss_d_x
--cost es --wrt w|d_es_d_w
--wrt w|d_loss_d_w
--cost loss|d_loss_d_x
--vjp loss --wrt w|d_loss_d_w
--jvp loss --wrt w|jvp_loss
--jacobian loss --wrt w|jacobian_loss_w
--hessian loss --wrt w|hessian_loss_w
--hvp loss --wrt w|hvp_loss_w
END
    like 'ggrad alias.yaml --jvp loss --wrt w -O yaml' '  t_w: '
}
