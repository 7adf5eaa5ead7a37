#!/usr/bin/env bats
# Jacobians, Hessians, Hessian-vector products and vectorize: --jacobian, --hessian, --hvp and the
# functions of the language. Their values are worked out with NumPy or by hand.

load common

# A graph g.tlg from inputs (name: type) and definitions.
g() {
    local a=(gload --new) x
    for x; do
        if [[ $x =~ ^[a-z_0-9]+: ]]; then a+=(-i "$x"); else a+=(-e "$x"); fi
    done
    "${a[@]}" -o g.tlg
}

@test "--jacobian: f's shape, then wrt's; names; several f and wrt" {
    g 'x: float64[3]' 'w: float64[2, 3]' 'y = tanh(w @ x)'
    ok 'ggrad g.tlg --jacobian y --wrt x --only | grun x=[1,2,3] w="zeros((2, 3)) + 0.5"' \
$'jacobian_y_x = [[0.004933018582720106, 0.004933018582720106, 0.004933018582720106],
                [0.004933018582720106, 0.004933018582720106, 0.004933018582720106]]'
    ok 'ggrad g.tlg --jacobian y --wrt w --name J --only | grun x=[1,2,3] w="zeros((2, 3))"' \
$'J = [[[1.0, 2.0, 3.0],
      [0.0, 0.0, 0.0]],
     [[0.0, 0.0, 0.0],
      [1.0, 2.0, 3.0]]]'
    like 'ggrad g.tlg --jacobian y --only | gload --info' 'jacobian_y_x +float64\[2, 3\]' 'jacobian_y_w +float64\[2, 2, 3\]'
    g 'x: float64[2]' 'a = x ** 2' 'b = sum(x)'
    ok 'ggrad g.tlg --jacobian a,b --wrt x --name "d{cost}" --only | grun x=[1,2]' \
$'da = [[2.0, 0.0],
      [0.0, 4.0]]
db = [1.0, 1.0]'
    bad 3 E_DUPLICATE 'q' 'gload g.tlg -e "q = x" | ggrad --jacobian a --name q'
}

@test "--hessian: a block for each wrt, with --mixed all pairs" {
    g 'x: float64[2]' 'y: float64' 'z = x[0] ** 2 * x[1] * y + y ** 3'
    ok 'ggrad g.tlg --hessian z --only | grun x=[2,3] y=5' \
$'hessian_z_x = [[30.0, 20.0],
               [20.0, 0.0]]
hessian_z_y = 30.0'
    ok 'ggrad g.tlg --hessian z --mixed --only | grun x=[2,3] y=5' \
$'hessian_z_x_x = [[30.0, 20.0],
                 [20.0, 0.0]]
hessian_z_x_y = [12.0, 4.0]
hessian_z_y_x = [12.0, 4.0]
hessian_z_y_y = 30.0'
    like 'gload --new -i "w: float64[n, 4]" -e "c = sum(w ** 3)" | ggrad --hessian c --only | gload --info' 'hessian_c_w +float64\[n, 4, n, 4\]'
    bad 3 E_SHAPE 'scalar' 'ggrad g.tlg --hessian x'
}

@test "--hvp: the Hessian times a vector, all blocks together" {
    g 'x: float64[2]' 'y: float64' 'z = x[0] ** 2 * x[1] * y + y ** 3'
    ok 'ggrad g.tlg --hvp z --only | grun x=[2,3] y=5 v_x=[1,-1] v_y=2' $'hvp_z_x = [34.0, 28.0]\nhvp_z_y = 68.0'
    ok 'ggrad g.tlg --hvp z --wrt x --vector a --only | grun x=[2,3] y=5 a=[1,-1]' 'hvp_z_x = [10.0, 20.0]'
    ok 'gload g.tlg -e "u = x * 2" | ggrad --hvp z --wrt x --vector u --only | grun x=[2,3] y=5' 'hvp_z_x = [240.0, 80.0]'
    ok 'ggrad g.tlg --hvp z --wrt x --vector v --name h --only | gload --info | grep -c "v  *float64.2"' 1
    bad 2 E_USAGE '1 name for 2 variables' 'ggrad g.tlg --hvp z --vector a'
    bad 3 E_SHAPE 'vector' 'gload g.tlg --outputs z | ggrad --hvp z --wrt x --vector y'
}

@test "options that do not go together are refused" {
    g 'x: float64[2]' 'c = sum(x)'
    bad 2 E_USAGE 'exclude' 'ggrad g.tlg --hessian c --cost c'
    bad 2 E_USAGE 'hvp' 'ggrad g.tlg --hessian c --vector v'
    bad 2 E_USAGE 'hessian' 'ggrad g.tlg --jacobian c --mixed'
    bad 2 E_USAGE 'cost' 'ggrad g.tlg --jacobian c --known-grads x=c'
    bad 2 E_UNKNOWN 'nothing' 'ggrad g.tlg --jacobian nothing'
}

@test "integers and disconnection are as for gradients" {
    g 'x: float64[2]' 'k: int64[2]' 'y = x * k' 'r = argsort(x)'
    ok 'ggrad g.tlg --jacobian y --wrt k --only | grun x=[2,3] k=[5,6]' $'jacobian_y_k = [[2.0, 0.0],\n                [0.0, 3.0]]'
    ok 'ggrad g.tlg --jacobian r --wrt x --only | grun x=[2,3] k=[5,6]' $'jacobian_r_x = [[0.0, 0.0],\n                [0.0, 0.0]]'
    bad 3 E_DISCONNECTED 'k' 'ggrad g.tlg --jacobian r --wrt k'
    ok 'ggrad g.tlg --jacobian r --wrt k --disconnected ignore --only | grun x=[2,3] k=[5,6]' $'jacobian_r_k = [[0.0, 0.0],\n                [0.0, 0.0]]'
    ok 'ggrad g.tlg --jacobian r,y --wrt k --disconnected ignore --return-disconnected none --only | grun x=[2,3] k=[5,6]' $'jacobian_y_k = [[2.0, 0.0],\n                [0.0, 3.0]]'
    g 'x: float64[2]' 'y: float64[2]' 'c = sum(x) ** 2 + sum(y)'
    ok 'ggrad g.tlg --hessian c --only | grun x=[1,1] y=[1,1]' $'hessian_c_x = [[2.0, 2.0],\n               [2.0, 2.0]]\nhessian_c_y = [[0.0, 0.0],\n               [0.0, 0.0]]'
    bad 3 E_DISCONNECTED 'z' 'gload g.tlg -i "z: float64" | ggrad --hessian c --wrt z'
    bad 3 E_DTYPE 'real' 'gload --new -i "x: complex128[2]" -e "y = x * x" | ggrad --jacobian y'
    ok 'gload --new -i "x: float32[2]" -e "y = x * x" | ggrad --jacobian y --only | grun x=[1,2] -O json | grep -c float32' 1
}

@test "constants hold in both orders" {
    g 'x: float64[2]' 'h = x ** 2' 'c = sum(h * x)'
    ok 'ggrad g.tlg --hessian c --wrt x --consider-constant h --only | grun x=[1,2]' $'hessian_c_x = [[0.0, 0.0],\n               [0.0, 0.0]]'
    ok 'ggrad g.tlg --hvp c --wrt x --consider-constant h --only | grun x=[1,2] v_x=[1,1]' 'hvp_c_x = [0.0, 0.0]'
    ok 'gload g.tlg -e "y = h * x" | ggrad --jacobian y --wrt x --consider-constant h --only | grun x=[1,2]' $'jacobian_y_x = [[1.0, 0.0],\n                [0.0, 4.0]]'
}

@test "second derivatives at ties and zeros, of indexing, sorting, running products" {
    local expr x want
    while IFS='|' read -r expr x want; do
        ok "gload --new -i 'x: float64[3]' -e 'c = $expr' | ggrad --hessian c --only | grun 'x=$x' -O json | sed 's/.*\"data\": *//; s/}\$//; s/ //g'" "$want"
    done <<'END'
prod(x)|[0,2,3]|[[0.0,3.0,2.0],[3.0,0.0,0.0],[2.0,0.0,0.0]]
prod(x)|[0,0,3]|[[0.0,3.0,0.0],[3.0,0.0,0.0],[0.0,0.0,0.0]]
sum(cumprod(x))|[0,0,3]|[[0.0,4.0,0.0],[4.0,0.0,0.0],[0.0,0.0,0.0]]
max(x) ** 2|[3,1,3]|[[2.0,0.0,2.0],[0.0,0.0,0.0],[2.0,0.0,2.0]]
sum(x[[0, 0, 1]] ** 2)|[1,2,3]|[[4.0,0.0,0.0],[0.0,2.0,0.0],[0.0,0.0,0.0]]
sum(sort(x) * [1, 2, 3] * x)|[3,1,2]|[[0.0,1.0,3.0],[1.0,0.0,2.0],[3.0,2.0,0.0]]
sum(abs(x) ** 3)|[0,1,-2]|[[0.0,0.0,0.0],[0.0,6.0,0.0],[0.0,0.0,12.0]]
sum(x ** 2) * sum(x)|[1,2,3]|[[16.0,6.0,8.0],[6.0,20.0,10.0],[8.0,10.0,24.0]]
inc_subtensor(x[[1, 1]], x[:2] ** 2).sum()|[1,2,3]|[[2.0,0.0,0.0],[0.0,2.0,0.0],[0.0,0.0,0.0]]
sum(maximum(x, 2) ** 2)|[1,2,3]|[[0.0,0.0,0.0],[0.0,2.0,0.0],[0.0,0.0,2.0]]
END
}

@test "functions of the language: jacobian, hessian, hvp, and higher orders by nesting" {
    g 'x: float64[2]' 'c = x[0] ** 3 * x[1]' 'h = hessian(c, x)' 't = jacobian(h, x)' 'u = hessian(sum(hvp(c, x, [1, 2])), x)'
    ok 'gload g.tlg --outputs h | grun x=[2,3]' $'h = [[36.0, 12.0],\n     [12.0, 0.0]]'
    ok 'gload g.tlg --outputs t | grun x=[2,3]' \
$'t = [[[18.0, 12.0],
      [12.0, 0.0]],
     [[12.0, 0.0],
      [0.0, 0.0]]]'
    ok 'gload g.tlg --outputs u | grun x=[2,3]' $'u = [[18.0, 6.0],\n     [6.0, 0.0]]'
    g 'x: float64[2]' 'y: float64' 'c = x[0] * x[1] * y' 'a, b = hessian(c, [x, y], mixed=True)[0]' "j = jacobian([x * y, y ** 2], y)" 'f = jacobian(x * y, y, mode="forward")' 'r = jacobian(x * y, y, mode="reverse")'
    ok 'gload g.tlg --outputs a,b,j/0,j/1,f,r | grun x=[2,3] y=5' $'a = [[0.0, 5.0],\n     [5.0, 0.0]]\nb = [3.0, 2.0]\nj/0 = [2.0, 3.0]\nj/1 = 10.0\nf = [2.0, 3.0]\nr = [2.0, 3.0]'
    bad 3 E_ARG 'mode' 'gload g.tlg -e "q = jacobian(c, x, mode=\"sideways\")"'
    bad 3 E_ARG 'mixed' 'gload g.tlg -e "q = hessian(c, x, mixed=1)"'
    bad 3 E_ARITY 'hvp has 2' 'gload g.tlg -e "q = hvp(c, [x, y], [x])"'
    bad 3 E_ARITY 'jvp has 2' 'gload g.tlg -e "q = jvp(c, [x, y], [x])"'
    bad 3 E_ARITY 'vjp has 1' 'gload g.tlg -e "q = vjp([c], [x, y], [1, 2])"'
}

@test "nothing that only led to a result stays in the graph" {
    g 'x: float64[3]' 'y = x ** 2' 'h = jacobian(y, x, mode="reverse")'
    ok 'gload g.tlg -O yaml | sed -n "/^let/,/^out/p"' \
$'let: |
  y = x ** 2.0
  _1 = eye(3, dtype=\'float64\')
  _2 = 2.0 * x
  h = _1 * _2
outputs: ["y", h]'
}

@test "sizes that have names, and none at all" {
    g 'x: float64[n]' 'y = x[:2] * x[0]' 'c = sum(x ** 3)'
    ok 'ggrad g.tlg --jacobian y --only | grun x=[2,3,4]' $'jacobian_y_x = [[4.0, 0.0, 0.0],\n                [3.0, 2.0, 0.0]]'
    ok 'ggrad g.tlg --hessian c --only | grun x=[]' "hessian_c_x = zeros((0, 0), dtype='float64')"
    ok 'ggrad g.tlg --hessian c --only | grun x=[2]' 'hessian_c_x = [[12.0]]'
}

@test "matrices that are too large are an error, before anything is allocated" {
    g 'x: float64[300000]' 'y = x ** 2'
    bad 6 E_MEM 'GiB' 'ggrad g.tlg --jacobian y --only | grun x="ones(300000)" --max-memory 1G'
    local ones
    ones=$(printf '1, %.0s' {1..20})
    g 'x: float64[2]' "y = reshape(x, [${ones}2])" "c = sum(y ** 2)"
    bad 6 E_LIMIT 'dims' 'ggrad g.tlg --hessian c --wrt y'
}

@test "through calls of functions, each made once for many rows" {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  sq:
    inputs:
      a: float64[m]
      k: float64
    let: |
      b = sum(a * a * k) * a
    outputs: [b]
inputs:
  x: float64[3]
  k: float64
let: |
  y = sq(x, k) + sq(2 * x, k)
  c = sum(y)
outputs: [y, c]
END
    ok 'ggrad f.yaml --jacobian y --wrt x --only | grun x=[1,2,3] k=1' \
$'jacobian_y_x = [[144.0, 36.0, 54.0],
                [36.0, 198.0, 108.0],
                [54.0, 108.0, 288.0]]'
    ok 'ggrad f.yaml --hessian c --wrt x --check' ''
    ok 'ggrad f.yaml --hvp c --check' ''
    ok 'ggrad f.yaml --jacobian y --wrt x,k --check' ''
    ok 'ggrad f.yaml --jacobian y --wrt x -O yaml | grep -c "_rows_.*:$"' 1
}

@test "vectorize: many values at once" {
    g 'x: float64[3]' 'k: int64' 'rows: float64[n, 3]' 'ks: int64[n]' 'grid: float64[2, n, 3]' \
        'y = softmax(x)[k] * sum(x)' 'a = vectorize(y, x, rows)' 'b = vectorize(y, [x, k], [rows, ks])' 'd = vectorize(y, x, grid)' 'e = vectorize(y, x, rows[0])' 'f = vectorize(k, x, rows)' 'h = vectorize(k * 2, k, [4])'
    ok 'gload g.tlg --outputs a,b,d,e,f,h | grun k=2 x=[0,0,0] rows=[[1,1,1],[0,0,0]] ks=[0,1] grid="[[[1,1,1],[0,0,0]],[[2,2,2],[3,3,3]]]"' \
$'a = [1.0, 0.0]
b = [1.0, 0.0]
d = [[1.0, 0.0],
     [2.0, 3.0]]
e = 1.0
f = [2, 2]
h = [8]'
    bad 3 E_SHAPE 'dtype' 'gload g.tlg -e "q = vectorize(y, x, ks)"'
    bad 3 E_SHAPE 'row' 'gload g.tlg -e "q = vectorize(y, x, ones((2, 4)))"'
    bad 3 E_ARITY 'vectorize has 1' 'gload g.tlg -e "q = vectorize(y, [x], [rows, ks])"'
}

@test "--check holds second derivatives against differences of the first" {
    g 'x: float64[3]' 'w: float64[3, 3]' 'y = tanh(w @ x) * logsumexp(x)' 'c = sum(y ** 2) + prod(x)'
    local kind
    for kind in '--jacobian y' '--hessian c' '--hessian c --mixed' '--hvp c' '--jvp y' '--vjp y' '--jacobian y,c'; do
        ok "ggrad g.tlg $kind --check" ''
        ok "ggrad g.tlg $kind --check --seed 5 x=[0,1,2]" ''
    done
    cat >f.yaml <<'END'
thunkline: 1
functions:
  sq:
    inputs:
      a: float64
    let: |
      r = a ** 3
    outputs: [r]
    pullback: pull
  pull:
    inputs:
      a: float64
      g: float64
    let: |
      ga = g * 3 * a ** 2
    outputs: [ga]
    pushforward: push2
  push2:
    inputs:
      a: float64
      g: float64
      ta: float64
      tg: float64
    let: |
      t = tg * 3 * a ** 2 + ta * g * 5 * a
    outputs: [t]
inputs:
  x: float64
let: |
  y = sq(x)
outputs: [y]
END
    ok 'ggrad f.yaml --cost y --check x=2' ''
    ok 'ggrad f.yaml --jacobian y --check x=2' ''
    bad 1 E_VERDICT 'hessian_y_x' 'ggrad f.yaml --hessian y --check x=2'
    bad 1 E_VERDICT 'hvp_y_x' 'ggrad f.yaml --hvp y --check x=2'
    sed '/pullback: pull/s/.*/    pushforward: push1/; s/^  pull:/  push1:/; s/ga = .*/ga = g * 4 * a ** 2/' f.yaml >p.yaml
    bad 1 E_VERDICT 'jacobian_y_x' 'ggrad p.yaml --jacobian y --check x=2'
    bad 1 E_VERDICT 'jvp_y' 'ggrad p.yaml --jvp y --check x=2'
}

# Functions with derivatives of their own, which are told from those of their bodies by a factor: 10 for pullbacks,
# 100 for pushforwards.
own_functions() {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  p:
    inputs: {a: float64, w: float64}
    outputs: {r: a ** 2 * w, q: w * 3}
    pullback: p_pull
  p_pull:
    inputs: {a: float64, w: float64, g: float64, h: float64}
    outputs: {ga: 10 * g * 2 * a * w, gw: 10 * (g * a ** 2 + 3 * h)}
  t:
    inputs: {a: float64, w: float64}
    outputs: {r: a ** 2 * w, q: w * 3}
    pullback: p_pull
    pushforward: t_push
  t_push:
    inputs: {a: float64, w: float64, ta: float64, tw: float64}
    outputs: {tr: 100 * (2 * a * w * ta + a ** 2 * tw), tq: 300 * tw}
inputs: {x: float64, w: float64, xs: "float64[3]"}
let: |
END
    printf '  %s\n' "$@" >>f.yaml
}

@test "a function's own derivatives are taken in forward mode and for many rows" {
    local v='x=2 w=5 xs=[1,2,3]'
    own_functions 'y, z = p(x, w)' 'ys, zs = vectorize([y, z], x, xs)' 'outputs: [y]'
    sed -i 's/^  outputs: /outputs: /' f.yaml
    own() { # FUNCTION EXPRESSION VALUE
        sed -e "s/^  y, z = .*/  y, z = $1(x, w)/" -e "s/^outputs: .*/outputs: {o: '$2'}/" f.yaml >g.yaml
        ok "grun g.yaml $v" "o = $3" || return
        ok "grewrite g.yaml | grun $v" "o = $3" || return
    }
    own p 'grad(y, x)' 200.0
    own p 'jacobian(y, x)' 200.0
    own p "jacobian(y, x, mode=\"reverse\")" 200.0
    own p 'jvp(y, x, 1.)' 200.0
    own p 'jvp(z, w, 1.)' 30.0
    own p 'hessian(y, x)' 100.0
    own p 'hvp(y, x, 1.)' 100.0
    own p 'vectorize(grad(y, x), x, xs)' '[100.0, 200.0, 300.0]'
    own p 'grad(sum(ys), xs)' '[100.0, 200.0, 300.0]'
    own p 'grad(sum(ys), w)' 140.0
    own p 'grad(sum(zs), w)' 90.0
    own p 'grad(sum(ys * [1., 2., 3.]), w)' 360.0
    own p 'jvp(ys, xs, ones(3))' '[100.0, 200.0, 300.0]'
    own p 'jvp(ys, w, 1.)' '[10.0, 40.0, 90.0]'
    own p 'sum(jacobian(ys, xs), axis=0)' '[100.0, 200.0, 300.0]'
    own p 'jacobian(zs, w)' '[30.0, 30.0, 30.0]'
    own p 'diagonal(hessian(sum(ys), xs))' '[100.0, 100.0, 100.0]'
    own t 'jacobian(y, x)' 2000.0
    own t "jacobian(y, x, mode=\"reverse\")" 200.0
    own t 'jvp(ys, xs, ones(3))' '[1000.0, 2000.0, 3000.0]'
    own t 'jvp(ys, w, 1.)' '[100.0, 400.0, 900.0]'
    own t 'jvp(zs, w, 1.)' '[300.0, 300.0, 300.0]'
    own t 'grad(sum(ys), xs)' '[100.0, 200.0, 300.0]'
    own t 'sum(jacobian(ys, xs), axis=0)' '[1000.0, 2000.0, 3000.0]'
    own t 'jacobian(vectorize(ys, xs, stack([xs, 2 * xs])), w)' '[[100.0, 400.0, 900.0],
     [400.0, 1600.0, 3600.0]]'
}

@test "many rows of a function whose own derivative has the wrong number of arguments" {
    own_functions 'y, z = p(x, w)' 'ys, zs = vectorize([y, z], x, xs)' 'outputs: [ys]'
    sed -i -e 's/^  outputs: /outputs: /' -e 's/g: float64, h: float64/g: float64/; s/ + 3 \* h//' f.yaml
    ok 'grun f.yaml x=2 w=5 xs=[1,2,3]' 'ys = [5.0, 20.0, 45.0]'
    bad 3 E_ARITY 'pullback p_pull of function' "gload f.yaml -e 's = sum(ys)' --outputs s | ggrad --cost s --wrt xs"
}

# file INPUTS DEFINITIONS OUTPUT: f.yaml of that output; lines are separated by `;`.
file() {
    {
        printf 'thunkline: 1\ninputs:\n'
        tr ';' '\n' <<<"$1" | sed 's/^ */  /'
        printf 'let: |\n'
        tr ';' '\n' <<<"$2" | sed 's/^ */  /'
        printf 'outputs: [%s]\n' "$3"
    } >f.yaml
}

@test "Jacobians and Hessians go through sparse matrices" {
    local d='d=[.1,.2,.3] b=[1,2,3]' s='s = csr(d, [0, 2, 1], [0, 2, 3], (2, 3))'
    file 'd: float64[3]; b: float64[3]' "$s; y = sum((s @ b) ** 3)" y
    local want=$'hessian_y_d = [[4.2, 12.600000000000001, 0.0],
               [12.600000000000001, 37.800000000000004, 0.0],
               [0.0, 0.0, 14.399999999999999]]'
    ok "ggrad f.yaml --hessian y --wrt d --only | grun $d" "$want"
    ok "ggrad f.yaml --hessian y --wrt d,b --mixed --check $d" ''
    file 'x: float64[2, 3]; b: float64[3, 2]' 'y = csr_from_dense(x) @ b' y
    ok 'ggrad f.yaml --jacobian y --wrt x --only | gload -e "o = diagonal(jacobian_y_x, axis1=0, axis2=2)[0]" --outputs o |
        grun x=[[1,0,2],[0,3,0]] b=[[1,2],[3,4],[5,6]]' \
$'o = [[1.0, 0.0],
     [0.0, 3.0],
     [5.0, 0.0]]'
    file 'd: float64[0]' 's = csr(d, zeros(0, dtype=int64), [0, 0, 0], (2, 3)); y = s @ ones(3)' y
    ok "ggrad f.yaml --jacobian y --only | grun d='zeros(0)'" $'jacobian_y_d = [[],\n                []]'
    file "s: sparse('csr', float64[2, 3])" 'y = sparse_sum(s, axis=0)' y
    bad 3 E_TYPE 'the Jacobian with respect to sparse' 'ggrad f.yaml --jacobian y --wrt s'
}

@test "vectorize: sparse matrices by their places, lists by their items, draws by their parameters" {
    local v='a=[1,2,3]' x='x = a[0] + 0'
    rows() { # DEFINITIONS EXPRESSION VALUE
        file 'a: float64[3]' "$x; $1; y = vectorize($2, x, a)" y
        ok "grun f.yaml $v" "y = $3" || return
        ok "grewrite f.yaml | grun $v" "y = $3" || return
    }
    rows 'm = csr(stack([x, 1, 2 * x]), [0, 2, 1], [0, 2, 3], (2, 3))' 'm @ [1., 10., 100.]' \
$'[[101.0, 20.0],\n     [102.0, 40.0],\n     [103.0, 60.0]]'
    # the places differ from row to row: row by row
    rows 'm = csr_from_dense(stack([[x - 1, x - 2]]))' 'dense_from_sparse(m)[0]' $'[[0.0, -1.0],\n     [1.0, 0.0],\n     [2.0, 1.0]]'
    rows 'l = make_list(x, 2 * x, 5.)' 'list_get(list_reverse(list_append(l, x * x)), 0) + list_get(l, -1)' '[6.0, 9.0, 14.0]'
    rows 'l = make_list(1., 2.)' 'list_get(list_append(l, x), 2) * list_length(l)' '[2.0, 4.0, 6.0]'
    rows 'l = make_list(2., x)' 'list_index(l, 2.) + list_count(l, 2.)' '[1, 2, 1]'
    rows 's, r = normal(0., 1., (2,), rng=rng(3)); t, q = normal(x, 2., (2,), rng=rng(3)); u, w = uniform(0., 1., rng=t)
v, z = uniform(0., 1., rng=s)' '(abs(q - x - 2 * r) < 1e-15) & (w == z)' $'[[True, True],\n     [True, True],\n     [True, True]]'
    file 'a: float64[3]' "$x; y = vectorize(csr_from_dense(stack([[x]])), x, a)" y
    bad 3 E_TYPE 'only tensors have rows|many rows at once' "grun f.yaml $v"
    file 'a: float64[3]' "$x; y = vectorize(make_list(x, x), x, a)" y
    bad 3 E_TYPE 'use its items' "grun f.yaml $v"
    file 'a: float64[3]' "$x; y = vectorize(sparse_data(csr_from_dense(stack([[x - 1, 1.]]))), x, a)" y
    bad 5 E_RUN_SHAPE 'rows must have the same shape' "grun f.yaml $v"
}

@test "a Jacobian without elements" {
    g 'x: float64[2, 0]' 'y = x * 2'
    ok 'ggrad g.tlg --jacobian y --only | grun x="zeros((2, 0))"' "jacobian_y_x = zeros((2, 0, 2, 0), dtype='float64')"
    g 'x: float64[0]' 'y = sum(x) * [1., 2.]' 'z = x ** 2' 'c = sum(z)'
    ok 'ggrad g.tlg --jacobian y --wrt x --only | grun x="zeros(0)"' $'jacobian_y_x = [[],\n                []]'
    ok 'ggrad g.tlg --hessian c --wrt x --only | grun x="zeros(0)"' "hessian_c_x = zeros((0, 0), dtype='float64')"
}

@test "second derivatives where first ones have corners, zeros, ties and repeated places" {
    h() { # EXPRESSION X HESSIAN: of a function of x, three numbers
        g 'x: float64[3]' "y = $1"
        ok "ggrad g.tlg --hessian y --wrt x --name h --only | grewrite | grun x=$2 -O json | jq -c '.data | map(map(. + 0))'" "$3" || return
        ok "ggrad g.tlg --hessian y --wrt x --name h --only | grewrite --mode NONE | grun x=$2 -O json | jq -c '.data | map(map(. + 0))'" "$3" || return
    }
    h 'prod(x)' '[0,2,3]' '[[0,3,2],[3,0,0],[2,0,0]]'
    h 'prod(x)' '[0,0,3]' '[[0,3,0],[3,0,0],[0,0,0]]'
    h 'prod(x) ** 2' '[0,0,0]' '[[0,0,0],[0,0,0],[0,0,0]]'
    h 'max(x) ** 2' '[3,3,1]' '[[2,2,0],[2,2,0],[0,0,0]]' # ties: each has the gradient
    h 'sum(x[[0, 0, 1]] ** 2)' '[3,2,1]' '[[4,0,0],[0,2,0],[0,0,0]]'
    h 'sum(x ** 1) + sum(x ** 0)' '[0,1,2]' '[[0,0,0],[0,0,0],[0,0,0]]'
    h 'sum(x ** 3) + sum(x ** 2)' '[0,1,2]' '[[2,0,0],[0,8,0],[0,0,14]]'
    h 'ifelse(x[0] > 0, sum(x ** 2), sum(x ** 3))' '[1,2,3]' '[[2,0,0],[0,2,0],[0,0,2]]'
    h 'ifelse(x[0] > 0, sum(x ** 2), sum(x ** 3))' '[-1,2,3]' '[[-6,0,0],[0,12,0],[0,0,18]]'
    h 'ifelse(x[0] > 0, sum(x ** 2), 1.)' '[-1,2,3]' '[[0,0,0],[0,0,0],[0,0,0]]'
    h 'sum(argsort(x) * x)' '[2,1,3]' '[[0,0,0],[0,0,0],[0,0,0]]'
    h 'sum(cumprod(x))' '[0,0,2]' '[[0,3,0],[3,0,0],[0,0,0]]'
    g 'x: float64[3]' 'y = sum(xlogy(x, x)) + sum(xlog1py(x, x - 1))' # x log x twice: its slope at 0 is -inf, not nan
    ok 'ggrad g.tlg --cost y --wrt x --only | grun x=[0,1,2] -O json | jq -c .data' '["-Infinity",2,3.386294361119891]'
    # an exponent that is a variable, and zero
    g 'x: float64[2]' 'p: float64' 'y = sum(x ** p)'
    ok 'ggrad g.tlg --hessian y --mixed --wrt x,p --only --name "{wrt}" | gload - -e "o = stack([x_p, p_x])" --outputs o |
        grun x=[2,1] p=0 -O json | jq -c .data' '[[0.5,1],[0.5,1]]'
    ok 'ggrad g.tlg --hessian y --wrt x --only | grun x=[0,0] p=1' $'hessian_y_x = [[0.0, 0.0],\n               [0.0, 0.0]]'
}

@test "set_subtensor: of several values for one place the last has the gradient" {
    g 'x: float64[3]' 'v: float64[4]' 'i: int64[4]' 'y = set_subtensor(x[i], v)'
    local count mode
    for mode in reverse forward; do
        gload g.tlg -e "j = jacobian(y, v, mode='$mode')" --outputs j -o j.tlg
        ok 'grun j.tlg x=[1,2,3] v=[1,2,3,4] i=[0,2,-3,2] -O json | jq -c .data' '[[0,0,1,0],[0,0,0,0],[0,0,0,1]]'
    done
    ok 'ggrad g.tlg --vjp y --wrt x,v --check x=[1,2,3] v=[1,2,3,4] i=[0,2,-3,2]' ''
    # what can't repeat stays as short as it was
    g 'x: float64[3, n]' 'v: float64[3]' 'i: int64[3]' 'y = sum(set_subtensor(x[arange(3), i], v) ** 3)'
    ok 'ggrad g.tlg --cost y --wrt v --only -O math >m'
    count=$(grep -c 'set_subtensor' m)
    [ "$count" = 1 ]
    run ! grep -q where m
}

@test "what has no Jacobian or Hessian says so once" {
    g 'x: float64[3]' 'c: complex128[2]' 'i: int64[3]' 'y = x ** 2' 'z = sum(abs(c) ** 2)' 'w = c * c' 'q = sum(x[i])' 'n = i * 2.5'
    bad 3 E_SHAPE 'the cost must be a scalar' 'ggrad g.tlg --hessian y --wrt x'
    bad 3 E_SHAPE 'the cost must be a scalar' 'ggrad g.tlg --hvp y --wrt x'
    bad 3 E_DTYPE 'the Hessian with respect to complex128' 'ggrad g.tlg --hessian z --wrt c'
    bad 3 E_DTYPE 'it must be real' 'ggrad g.tlg --jacobian w --wrt c'
    bad 3 E_DTYPE 'the cost must be real' "gload g.tlg -e 's = sum(w)' | ggrad --cost s --wrt c"
    bad 3 E_DISCONNECTED 'does not depend on i' 'ggrad g.tlg --jacobian q --wrt i'
    bad 3 E_DISCONNECTED 'does not depend on x' 'ggrad g.tlg --hessian z --wrt x'
    bad 3 E_DUPLICATE 'already has a jacobian_y_x' 'ggrad g.tlg --jacobian y --wrt x,x'
    ok 'ggrad g.tlg --jacobian n --wrt i --only | grun i=[1,2,3] -O json | jq -c .data' '[[2.5,0,0],[0,2.5,0],[0,0,2.5]]'
    ok 'ggrad g.tlg --hvp z --wrt c --only | grun c=[1+2j,3] v_c=[1,1j]' 'hvp_z_c = [(2.0+0.0j), (0.0+2.0j)]'
}

@test "equal eigenvalues: what eigh says of its derivatives" {
    like 'gload --op eigh' 'equal ones give inf or nan' 'second derivatives of w go through v'
    g 'x: float64[2, 2]' 'y = sum(eigh(x)[0] ** 2)' 'z = sum(eigh(x)[1])'
    ok 'ggrad g.tlg --cost y --wrt x --only | grun x="eye(2)"' $'d_y_d_x = [[2.0, 0.0],\n           [0.0, 2.0]]'
    like 'ggrad g.tlg --cost z --wrt x --only | grun x="eye(2)"' 'nan|inf'
}

@test "what is undefined is undefined in forward mode, by two pullbacks and in Jacobians" {
    local how
    g 'a: float64[2]' 'y = gamma(a, 1., rng=rng(1))[1]' 'z = list_get(make_list(a, 2 * a), 0)' 'w = a * 2 + argsort(a)'
    for how in '--cost s' '--jvp OF' '--by-pullback --jvp OF' '--jacobian OF'; do
        bad 3 E_NULL 'not differentiable with respect to its parameters' "gload g.tlg -e 's = sum(y)' | ggrad ${how/OF/y} --wrt a"
        bad 3 E_NULL 'do not pass through lists' "gload g.tlg -e 's = sum(z)' | ggrad ${how/OF/z} --wrt a"
    done
    ok 'ggrad g.tlg --jvp w --wrt a --only | grun a=[1,2] t_a=[1,2]' 'jvp_w = [2.0, 4.0]'
}

@test "vectorize: shapes that differ from row to row inside are no matter" {
    local v='a=[[1,2,3,4],[0,0,0,0],[5,1,1,1]] k=[1,2,3]'
    each() { # EXPRESSION of the row x and the number n, VALUE
        gload --new -i 'a: float64[3, 4]' -i 'k: int64[3]' -e 'x = a[0]' -e 'n = k[0]' -e "y = vectorize($1, [x, n], [a, k])" \
            --outputs y -o g.tlg
        ok "grun g.tlg $v" "y = $2" || return
        ok "grewrite g.tlg | grun $v" "y = $2" || return
    }
    each 'sum(x[x > 1]) + n' '[10.0, 2.0, 8.0]'
    each 'sum(arange(n))' '[0, 1, 3]'
    each 'scan(lambda h: h * 2., outputs_info=[1.], n_steps=n)[-1]' '[2.0, 4.0, 8.0]'
    each 'sum(ones((n, 2))) * x[0]' '[2.0, 0.0, 30.0]'
    each 'grad(sum(x[x > 1] ** 2), x)[2] + n' '[7.0, 2.0, 3.0]'
    each 'diagonal(hessian(sum(x[x > 1] ** 3), x))[0] * n' '[0.0, 0.0, 90.0]'
    gload --new -i 'a: float64[3, 4]' -e 'x = a[0]' -e 'q = vectorize(sum(x[x > 1] ** 2), x, a)' -e 'y = grad(sum(q), a)[0]' \
        --outputs y -o g.tlg
    ok "grun g.tlg ${v% *}" 'y = [0.0, 4.0, 6.0, 8.0]'
    gload --new -i 'k: int64[3]' -e 'n = k[0]' -e 'y = vectorize(arange(n), n, k)' --outputs y -o g.tlg
    bad 5 E_RUN_SHAPE 'rows must have the same shape' "grun g.tlg ${v#* }"
}

@test "arguments that can't be differentiated or vectorized are told" {
    local code says e status
    export e
    while IFS='|' read -r status code says e; do
        bad "$status" "$code" "^gload: --expr:1:[0-9]+: error.*$says" \
            'gload --new -i "x: float64[3]" -i "y: float64" -i "l: list(float64)" -i "a: float64[n]" -i "b: float64[n, m]" -i "c: float64[n, m, k, 3]" -e "$e"'
    done <<'END'
3|E_SHAPE|float64.n, m. can't replace float64: another one has a different number of dims|vectorize(y + z, [y, z], [a, b])
3|E_SHAPE|list.float64. can't replace float64: only tensors have rows|vectorize(y * 2, y, l)
3|E_TYPE|only tensors have rows, not list|vectorize(lambda v: v)(l)
3|E_TYPE|only tensors have rows, not slice$|vectorize(lambda v: slice(0, int64(v)))(x)
3|E_TYPE|only tensors have rows, not slice$|vectorize(lambda v: slice(0, 2))(x)
3|E_TYPE|only tensors have rows, not list.float64.: use its items|vectorize(lambda v: l)(x)
3|E_SHAPE|float64 can't replace float64.3.: it has fewer dims|vectorize(sum(x), x, y)
3|E_SHAPE|float64.n, m, k, 3. can't replace float64.1.: the shapes of a row differ|vectorize(sum(x[:1]), x[:1], c)
3|E_ARITY|hvp has 1 variable but 0 vectors$|hvp(sum(x**3), [x], [])
3|E_ARG|in_axes must be an axis, None, or a list|vectorize(lambda v: v, in_axes='a')(x)
3|E_ARG|in_axes must be an axis, None, or a list|vectorize(lambda v: v, in_axes=[0.5])(x)
3|E_ARITY|in_axes has 2 entries for 1 argument$|vectorize(lambda v: v, in_axes=[0, 0])(x)
3|E_ARG|no argument has rows|vectorize(lambda v: v, in_axes=None)(x)
6|E_LIMIT|a tensor has at most 32 dims|vectorize(x * ones((1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3)), x, c)
6|E_LIMIT|a tensor has at most 32 dims|vectorize(lambda v: v.reshape((1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)))(x)
3|E_ARG|mode must be one of 'auto', 'reverse', 'forward'|jacobian(x, x, mode='sideways')
3|E_ARG|mode must be one of|jacobian(x, x, mode=1)
3|E_TYPE|can't take the Jacobian of list.float64.|jacobian(l, x)
3|E_NULL|can't differentiate an undefined value: undefined_grad|jacobian(grad(sum(undefined_grad(x)), x, null_gradients='return'), x)
3|E_ARG|mixed must be True or False|hessian(sum(x**3), x, mixed=1)
3|E_ARG|null_gradients must be one of 'raise', 'return'|hessian(sum(x**3), x, null_gradients='no')
3|E_ARG|return_disconnected must be one of 'zero', 'none'|grad(x[0], x, return_disconnected='a')
3|E_ARG|disconnected_inputs must be one of 'raise', 'warn', 'ignore'|grad(x[0], x, disconnected_inputs=3)
3|E_SHAPE|a vector is list.float64., but its variable is float64.3.|hvp(sum(x**3), x, l)
3|E_SHAPE|a vector is float64, but its variable|hvp(sum(x**3), x, 1.)
3|E_DTYPE|a vector is complex128.3., but its variable, float64.3., is real: take the vector's real part|hvp(sum(x**3), x, x * 1j)
3|E_DTYPE|a tangent is complex128.3., but its variable, float64.3., is real: take the tangent's real part|jvp(sign(x), x, x * 1j)
3|E_ARITY|hvp has 2 variables but 1 vector$|hvp(sum(x**3) * y, [x, y], [x])
3|E_NULL|gradient of y is undefined|hvp(sum(x**3) * undefined_grad(y), [x, y], [x, y])
3|E_DTYPE|must have a float dtype, but it is bool.3.|vjp(x * 2, x, x > 0)
3|E_DTYPE|must have a float dtype, but it is list|vjp(x * 2, x, l)
3|E_SHAPE|a known gradient is float64, but its variable is float64.3.|vjp(x * 2, x, 1)
END
    printf 'thunkline: 1\ninputs: {x: float64}\nlet: |\n  y = x * 2\n  c = y * 3\noutputs: {g: "grad(c, x, [y])"}\n' >g.yaml
    bad 3 E_DISCONNECTED 'does not depend on x' 'gload g.yaml'
    grep -q 'note: its path to the cost stops at y, which is held constant' .err
}

# Worked out by hand: of c = y z z with y = 2x, z = y x the gradients are 3 (x y)^2 by y and 2 y z by z.
@test "hvp by computed variables that depend on each other; jvp of what depends on nothing" {
    g 'x: float64[3]' 'y = x * 2' 'z = y * x' 'a, b = hvp(sum(y * z * z), [y, z], [x, x])'
    ok 'gload g.tlg --outputs a,b | grun x=[1,2,3]' $'a = [20.0, 256.0, 1188.0]\nb = [12.0, 80.0, 252.0]'
    g 'x: float64[2]' 'w: float64[2]' 'a, b = jvp([x * 2, w], x, x)' 'c = jvp(w * 2, x, x)'
    ok 'gload g.tlg --outputs a,b,c | grun x=[1,2] w=[5,6] --on-unused-input ignore' $'a = [2.0, 4.0]\nb = [0.0, 0.0]\nc = [0.0, 0.0]'
    ok 'gload --new -i "x: float64[2]" -i "w: float64" -e "hessian(sum(x**2) * w, {\"x\": x, \"w\": w}, mixed=True)" | grun x=[1,2] w=3' \
        $'out/x/x = [[6.0, 0.0],\n           [0.0, 6.0]]\nout/x/w = [2.0, 4.0]\nout/w/x = [2.0, 4.0]\nout/w/w = 0.0'
    ok 'gload --new -i "x: float64[2]" -e "vectorize(lambda v: {\"a\": v * 3, \"b\": [v, -v]})(x)" | grun x=[1,2]' \
        $'out/a = [3.0, 6.0]\nout/b/0 = [1.0, 2.0]\nout/b/1 = [-1.0, -2.0]'
}
