# The gradient machinery, row by row of what the known systems agree on.
load common

# given LINES... -> graph.yaml with float64 inputs x, y: scalars, v: a vector, i: int64 vector, m: int64 scalar; outputs r
given() {
    printf 'thunkline: 1\ninputs:\n  x: float64\n  y: float64\n  v: float64[n]\n  i: int64[n]\n  m: int64\nlet: |\n' >g.yaml
    printf '  %s\n' "$@" >>g.yaml
    printf 'outputs: {r: r}\n' >>g.yaml
}
# gives VALUE: grun at fixed inputs prints r = VALUE
gives() { ok 'gload g.yaml | grewrite --mode FAST_COMPILE | grun v=[1.,2.,2.] x=3 y=2 i=[1,2,3] m=4' "$1"; }

@test "grad(cost, wrt): the result follows wrt; the cost is a scalar" {
    given 'r = grad(x * y, x)' && gives 'r = 2.0'
    given 'r = grad(x * y, [x, y])' && gives $'r/0 = 2.0\nr/1 = 3.0'
    given 'r = grad(v, v)' && bad 3 E_SHAPE 'cost must be a scalar' 'gload g.yaml'
    given "q = grad(undefined_grad(x), x, null_gradients='return')" 'r = grad(q, x)'
    bad 3 E_NULL 'undefined_grad' 'gload g.yaml'
}

@test "seed gradient: ones in the cost's float dtype; an integer cost starts with floatX" {
    given 'r = grad(float32(x), x)' && gives 'r = 1.0'
    given 'r = grad(sum(i), i)' && gives 'r = [0.0, 0.0, 0.0]'
}

@test "path finding stops at constants and takes only the way between wrt and cost" {
    given 'a = x * x' 'c = 3. * a' "r = grad(c, [x, a], consider_constant=[a], disconnected_inputs='ignore')"
    gives $'r/0 = 0.0\nr/1 = 3.0'
}

# W is 4 x 3; the cost uses W, not its parts.
@test "wrt may be a slice of what the cost uses: each derivative is that part of the whole one" {
    local line want
    cat >w.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[3]', k: int64}
shared: {W: 'float64[4, 3] = reshape(arange(12.), (4, 3))'}
let: |
  part = W[:2]
  inner = part[k, ::2]
  cost = sum((W @ x) ** 2)
  gW, HW = grad(cost, W), hessian(cost, W)
  t = [[1., 2., 3.], [4., 5., 6.]]
outputs: [cost]
END
    while IFS='#' read -r line want; do
        ok "gload w.yaml -e 'r = $line' --outputs r | grun x=[1,2,3] k=1" "r = $want"
    done <<'END'
all(grad(cost, part) == gW[:2])#True
all(grad(cost, inner) == gW[1, ::2])#True
all(grad(cost, [W, W[-1, None]])[1] == gW[-1, None])#True
all(hessian(cost, inner) == HW[1, ::2][:, 1, ::2])#True
all(jacobian(W @ x, part) == jacobian(W @ x, W)[:, :2])#True
all(jacobian(W @ x, part, mode="forward") == jacobian(W @ x, W)[:, :2])#True
jvp(W @ x, part, t)#[14.0, 32.0, 0.0, 0.0]
jvp(W @ x, [part, W, inner], [t, ones((4, 3)), [1., 1.]])#[20.0, 42.0, 6.0, 6.0]
vjp(W @ x, part, [1., 2., 3., 4.])[1]#[2.0, 4.0, 6.0]
hvp(cost, inner, [1., 2.])#[14.0, 42.0]
grad(cost, W[9:]).shape[0]#0
grad(cost + sum(part ** 2), part)[0]#[0.0, 2.0, 4.0]
grad(cost + sum(part ** 2), inner)[0]#6.0
END
    ok 'ggrad w.yaml --cost cost --wrt part,inner --only | grun x=[1,2,3] k=0' $'d_cost_d_part = [[16.0, 32.0, 48.0],\n                 [52.0, 104.0, 156.0]]\nd_cost_d_inner = [16.0, 48.0]'
    ok 'ggrad w.yaml --cost cost --wrt part --checkpoint sqrt --only | grun x=[1,2,3]' $'d_cost_d_part = [[16.0, 32.0, 48.0],\n                 [52.0, 104.0, 156.0]]'
    ok 'ggrad w.yaml --jvp cost --wrt inner --only | grun x=[1,2,3] k=1 t_inner=[1,2]' 'jvp_cost = 364.0'
    ok 'ggrad w.yaml --jvp cost --by-pullback --wrt inner --only | grun x=[1,2,3] k=1 t_inner=[1,2]' 'jvp_cost = 364.0'
    ok 'gload w.yaml -e "V = W * 2" -e "part2 = V[:2]" | ggrad --cost cost --wrt part2 --disconnected ignore --only | grun' $'d_cost_d_part2 = [[0.0, 0.0, 0.0],\n                  [0.0, 0.0, 0.0]]'
    # other indices may take an element twice; a cost that uses the part only by its shape does not depend on it
    bad 3 E_DISCONNECTED 'the cost does not use it at all' 'gload w.yaml -e "r = grad(cost, W[[0, 0]])" -o o.tlg'
    bad 3 E_DISCONNECTED 'only through shape' 'gload w.yaml -i "v: float64[n]" -e "u = v[1:]" -e "r = grad(sum(v) * shape(u)[0], u)" -o o.tlg'
    bad 2 E_UNKNOWN 'takes names' 'ggrad w.yaml --cost cost --wrt "W[:2, 1]" -o o.tlg'
    grep -q "note: give it its name first, as in gload -e 'part = W\[:2\]' | ggrad --wrt part" .err
}

@test "consider_constant takes variables only" {
    given "r = grad(x * y, x, consider_constant=['x'])" && bad 3 E_TYPE 'string' 'gload g.yaml'
}

@test "disconnected_inputs: raise, warn, ignore; another word is an error" {
    given 'r = grad(x, y)' && bad 3 E_DISCONNECTED 'y' 'gload g.yaml'
    given "r = grad(x, y, disconnected_inputs='warn')"
    shell 'grun g.yaml x=1 y=1 v=[1.] i=[1] m=1'
    [ "$status" = 0 ]
    grep -q 'warning' .err
    given "r = grad(x, y, disconnected_inputs='ignore')" && gives 'r = 0.0'
    given "r = grad(x, y, disconnected_inputs='never')" && bad 3 E_ARG "'raise', 'warn', 'ignore'" 'gload g.yaml'
}

@test "a disconnection names the place where the path breaks" {
    given 'r = grad(x * float64(v.shape[0]), v)' && bad 3 E_DISCONNECTED 'v' 'gload g.yaml'
    given 'q = disconnected_grad(x) * 2.' 'r = grad(q, x)' && bad 3 E_DISCONNECTED 'disconnected_grad' 'gload g.yaml'
}

@test "return_disconnected: zeros are of a float dtype even for integers; none is no variable" {
    given "r = grad(x, m, disconnected_inputs='ignore')" && gives 'r = 0.0'
    given "r = grad(x, y, disconnected_inputs='ignore', return_disconnected='none')"
    bad 3 '' '' 'gload g.yaml'
}

@test "known_grads override gradients that would be computed" {
    gload --new -i 'x: float64' -e 'y = x * x' -e 'z = 3.0 * y' -i 'g_y: float64' --outputs z -o k.tlg
    ok 'ggrad k.tlg --cost z --wrt x --known-grads y=g_y --only | grun x=2 g_y=10' 'd_z_d_x = 40.0'
}

@test "null_gradients: raise with the reason, or return" {
    given 'r = grad(undefined_grad(x) * y, x)' && bad 3 E_NULL 'undefined_grad makes it undefined' 'gload g.yaml'
    given "q = grad(undefined_grad(x) * y, [x, y], null_gradients='return')" 'r = q[1]' && gives 'r = 3.0'
}

@test "names of results" {
    given 'r = x * y'
    like 'ggrad g.yaml --cost r --wrt x,y -O yaml' 'd_r_d_x' 'd_r_d_y'
    like "ggrad g.yaml --cost r --wrt x --name 'g_{wrt}' -O yaml" 'g_x'
}

@test "terms add up; one undefined term makes the sum undefined" {
    given 'r = grad(x * x + x * y + sin(x) * 0., x)' && gives 'r = 8.0'
    given 'r = grad(x * x + undefined_grad(x), x)' && bad 3 E_NULL undefined 'gload g.yaml'
    given 'r = grad(x * x + disconnected_grad(x), x)' && gives 'r = 6.0'
}

@test "gradients of outputs are cast to the output's float dtype, left alone for integers" {
    given 'r = grad(sum(float32(v) * 2), v)' && gives 'r = [2.0, 2.0, 2.0]'
    given 'q = int64(x)' 'r = grad(0.5 * float64(q), q)' && gives 'r = 0.5'
}

@test "integer rules: the five examples of the contract" {
    given 'r = grad(float64(dot(i, i + 1)), i)' && gives 'r = [0.0, 0.0, 0.0]'
    given 'r = grad(dot(v, i), i)' && gives 'r = [1.0, 2.0, 2.0]'
    given 'r = grad(float64(argmax(v)), v)' && gives 'r = [0.0, 0.0, 0.0]'
    given 'r = grad(sum(full((m,), x)), m)' && bad 3 E_DISCONNECTED 'm' 'gload g.yaml'
    given 'q = int64(x)' 'r = grad(0.5 * float64(q), [q, x])' && gives $'r/0 = 0.5\nr/1 = 0.0'
}

@test "pullback: a cotangent for each result, of its shape" {
    given 'r = vjp([v * x, x * x], x, [v, y])' && gives 'r = 21.0'
    given 'r = vjp([v, x], x, [v])' && bad 3 E_ARITY '2 variables but 1 cotangent' 'gload g.yaml'
}

@test "pushforward: by rows and by two pullbacks; lengths must agree" {
    given 'r = jvp(sin(x) * y, [x, y], [1., 0.])' && gives 'r = -1.9799849932008908'
    given 'r = jvp(x, [x, y], [1.])' && bad 3 E_ARITY '2 variables but 1 tangent' 'gload g.yaml'
    given 'r = sum(v * v) * x'
    ok 'ggrad g.yaml --jvp r --wrt v,x --tangents v,y --only | grun v=[1.,2.] x=3 y=2 i=[1,2] m=1' 'jvp_r = 40.0'
    ok 'ggrad g.yaml --jvp r --wrt v,x --tangents v,y --only --by-pullback | grun v=[1.,2.] x=3 y=2 i=[1,2] m=1' 'jvp_r = 40.0'
}

@test "subgraph gradients: known_grads begin, consider_constant ends" {
    given 'h = x * x' 'c = h * h * y' 'gh = grad(c, h)' "r = grad(c, x, consider_constant=[h], disconnected_inputs='ignore')"
    gives 'r = 0.0'
    given 'h = x * x' 'c = h * h * y' 'gh = grad(c, h)' 'r = vjp(h, x, gh) - grad(c, x)' && gives 'r = 0.0'
}

@test "zero_grad is zero and stays connected; so is consider_constant(x)" {
    given 'r = grad(zero_grad(x) * x, x)' && gives 'r = 3.0'
    given 'r = grad(zero_grad(x), x)' && gives 'r = 0.0'
    given 'r = grad(consider_constant(x) * x, x)' && gives 'r = 3.0'
    given 'r = jvp(zero_grad(x) * x, x, [1.])' && gives 'r = 3.0'
}

@test "disconnected_grad: nothing before it is visited" {
    given 'r = grad(disconnected_grad(undefined_grad(x)) * x, x)' && gives 'r = 3.0'
    given 'r = grad(disconnected_grad(x), x)' && bad 3 E_DISCONNECTED 'x' 'gload g.yaml'
}

@test "grad_clip and grad_scale act on gradients alone, and are gone after grewrite" {
    given 'r = grad(grad_clip(x * 3., lower_bound=-1., upper_bound=1.) * 5., x)' && gives 'r = 3.0'
    given 'r = grad_clip(x, lower_bound=-1., upper_bound=1.)' && gives 'r = 3.0'
    given 'r = grad_clip(x, lower_bound=1., upper_bound=-1.)' && bad 3 E_ARG 'at least lower_bound' 'gload g.yaml'
    given 'r = grad(grad_scale(x * x, multiplier=-1.), x)' && gives 'r = -6.0'
    given 'r = jvp(grad_scale(x * x, multiplier=-1.), x, [1.])' && gives 'r = -6.0'
    given 'r = grad_scale(grad_clip(zero_grad(x), lower_bound=-1., upper_bound=1.), multiplier=2.) * y'
    shell 'grewrite g.yaml -O math'
    ! grep -qE 'grad_|zero_' .out
}

@test "--check: verify_grad's rules name argument, position and both values" {
    given 'r = sum(sin(v) * x)'
    ok 'ggrad g.yaml --cost r --wrt v,x --check'
}

@test "functions: own pullback and pushforward; argsort, draws and axes are undefined" {
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  sq: {inputs: {x: float64}, outputs: {out: x * x}, pullback: sq_pull, pushforward: sq_push}
  sq_pull: {inputs: {x: float64, g: float64}, outputs: {out: 10.0 * g}}
  sq_push: {inputs: {x: float64, t: float64}, outputs: {out: 100.0 * x * t}}
inputs: {x: float64}
let: |
  a = sq(x) * x
outputs: [a]
Y
    ok 'ggrad f.yaml --only | grun x=3' 'd_a_d_x = 39.0'
    ok 'ggrad f.yaml --jvp a --wrt x --tangents t --only | grun x=3 t=1' 'jvp_a = 909.0'
    sed -i 's/x \* x}, pullback: sq_pull,/x * x},/' f.yaml
    ok 'ggrad f.yaml --only | grun x=3' 'd_a_d_x = 27.0'
    sed -i 's/sq_push}$/sq_pull}/; s/g: float64}, outputs: {out: 10/g: float64, h: float64}, outputs: {out: 10/' f.yaml
    bad 3 E_ARITY 'pushforward sq_pull of function sq must take' 'ggrad f.yaml --jvp a --wrt x'
}

@test "prints and asserts of a called function run once, in the call itself" {
    cat >once.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: float64}
    let: |
      y = print(x * x, msg='seen')
      z = sin(assert_op(y, y > 0, msg='positive'))
    outputs: {out: z}
inputs: {x: float64}
let: |
  r = f(x)
outputs: [r]
Y
    local c
    for c in '--cost r' '--hessian r' '--jvp r --tangents x'; do
        ok "ggrad once.yaml $c --wrt x | grun x=2 2>&1 | grep -c seen" 1
    done
    ok 'ggrad once.yaml --cost r --wrt x | gload -O yaml | ggrad --cost d_r_d_x --wrt x | grun x=2 2>&1 | grep -c seen' 1
    ok 'ggrad once.yaml --cost r --wrt x -O yaml | grep -c print' 1
}

@test "values that broadcast before they are joined get their gradient in every mode" {
    local f m t
    for t in 'n, 3' '2, 3'; do
        for f in sum mean max prod var; do
            for m in FAST_RUN FAST_COMPILE; do
                ok "gload --new -i 'x: float64[$t]' -e 'sum(concatenate([$f(x, axis=0, keepdims=True), x])**2)' | tee c.tlg | ggrad | grun --mode $m 'x=[[1, 2, 3], [4, 5, 7]]' >$m && cmp FAST_RUN $m"
            done
            ok "ggrad --hvp out c.tlg | grun --mode FAST_COMPILE 'x=[[1, 2, 3], [4, 5, 7]]' v_x='ones((2, 3))' >/dev/null"
        done
    done
}

@test "functions whose names collide with those that derivatives take, and results that are one variable" {
    cat >o.yaml <<'Y'
thunkline: 1
functions:
  sq: {inputs: {d2: float64, d2_0: float64}, outputs: {out: d2 * d2_0}, pullback: sq_pull, pushforward: sq_push}
  sq_pull: {inputs: {x: float64, y: float64, g: float64}, outputs: {a: 10.0 * g, b: 20.0 * g}}
  sq_push: {inputs: {x: float64, y: float64, t: float64, u: float64}, outputs: {out: 100.0 * t + 1000.0 * u}}
  f: {inputs: {t0: float64, t0_0: float64, t0_1: float64}, outputs: {out: t0 * t0_0 + t0_1}}
  two:
    inputs: {x: float64}
    let: |
      h = x * x
    outputs: {a: h, b: h}
inputs: {x: float64, xs: 'float64[n]', w: float64}
let: |
  y = sq(x, w)
  a = vectorize(y, x, xs)
  b = vectorize(grad(y, x), x, xs)
  c = vectorize(grad(y, w), x, xs)
  d = grad(sum(a), xs)
  e = jvp(a, xs, ones_like(xs))
  g = f(x, x * 2, x)
  h = grad(g, x)
  i = jvp(g, x, 1.)
  j = grad(h, x)
  k, l = two(x)
  m = grad(k + 3 * l, x)
  o = jvp(k + 3 * l, x, 1.)
  p = grad(k, x)
outputs: [a, b, c, d, e, g, h, i, j, m, o, p]
Y
    local want=$'a = [2.0, 4.0, 6.0]\nb = [10.0, 10.0, 10.0]\nc = [20.0, 20.0, 20.0]\nd = [10.0, 10.0, 10.0]\ne = [100.0, 100.0, 100.0]
g = 21.0\nh = 13.0\ni = 13.0\nj = 4.0\nm = 24.0\no = 24.0\np = 6.0'
    ok 'grun o.yaml x=3 w=2 xs=[1,2,3]' "$want"
    ok 'grewrite o.yaml | grun x=3 w=2 xs=[1,2,3]' "$want"
}

@test "the start and the step of arange have gradients, its stop has none" {
    ok 'gload --new -i "a: float64" -i "s: float64" -e "sum(arange(a, 3.0, s) ** 2)" | ggrad --wrt a,s | grun a=1 s=0.5' \
        $'out = 13.5\nd_out_d_a = 14.0\nd_out_d_s = 26.0'
    ok 'gload --new -i "s: float64" -e "sum(arange(0.0, 5.0, s) ** 2)" | ggrad | grun s=2' $'out = 20.0\nd_out_d_s = 20.0'
    ok 'gload --new -i "a: float64" -i "s: float64" -e "arange(a, 3.0, s)" | ggrad --jvp out --wrt a,s --only | grun a=1 s=0.5 t_a=1 t_s=1' 'jvp_out = [1.0, 2.0, 3.0, 4.0]'
    ok 'gload --new -i "a: float64" -i "b: float64" -e "sum(arange(a, b)) + a" | ggrad --wrt a,b --disconnected ignore | grun a=1 b=4' $'out = 7.0\nd_out_d_a = 4.0\nd_out_d_b = 0.0'
}

@test "a tangent ends at disconnected_grad, at integers and at sizes" {
    local j='ggrad --jvp out --wrt x --only | grun'
    ok "gload --new -i 'x: float64' -e 'x * disconnected_grad(x)' | $j x=2 t_x=1" 'jvp_out = 2.0'
    bad 3 E_NULL 'undefined_grad makes it undefined' "gload --new -i 'x: float64' -e 'x * undefined_grad(x)' | ggrad --jvp out --wrt x"
    ok "gload --new -i 'x: float64[2]' -e 'sort(int64(x)) + sum(x)' | $j x=[1,2] t_x=[1,1]" 'jvp_out = [2.0, 2.0]'
    ok "gload --new -i 'x: float64[2]' -e 'max(int64(x)) + sum(x)' | $j x=[1,2] t_x=[1,1]" 'jvp_out = 2.0'
    ok "gload --new -i 'x: float64' -e 'sum(full([2], x)) + sum(full([2], int64(x)))' | $j x=1.5 t_x=1" 'jvp_out = 2.0'
    ok "gload --new -i 'x: float64' -e 'x + sum(full([2], x > 1))' | $j x=1.5 t_x=1" 'jvp_out = 1.0'
    ok "gload --new -i 'x: float64' -i 'n: int64' -e 'sum(eye(n) * x)' | ggrad --wrt x | grun x=2 n=3" $'out = 6.0\nd_out_d_x = 3.0'
}

@test "what is undefined in a function or a loop is so for the inputs and results it reaches, for no others" {
    local u='undefined_grad makes it undefined' g="gload --new -i 'x: float64[3]' -i 'h: float64'"
    cat >g.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {a: float64, b: float64}
    let: |
      o = undefined_grad(a) * b
    outputs: {o: o}
inputs: {x: float64, z: float64}
let: |
  c = f(x, z)
outputs: [c]
END
    bad 3 E_NULL "gradient of x is undefined: $u" 'ggrad g.yaml --wrt x,z'
    ok 'ggrad g.yaml --wrt z | grun x=2 z=3' $'c = 6.0\nd_c_d_z = 2.0'
    like 'ggrad g.yaml --wrt x,z --null return | gload -O tree' "^constant .* null\('$u" '^call\(fn=.f_pullback'
    ok 'ggrad g.yaml --wrt x,z --null return | gload --outputs d_c_d_z | grun x=2 z=3' 'd_c_d_z = 2.0'
    bad 3 E_NULL "the tangent of c is undefined: $u" 'ggrad g.yaml --jvp c --wrt x'
    ok "$g -e 'p, q = scan(lambda a, c: [undefined_grad(a), c + a], sequences=[x], outputs_info=[None, h])' --outputs p,q -o l.tlg"
    ok 'ggrad l.tlg --jvp q --wrt x --only | grun x=[1,2,3] h=1 t_x=[1,1,1]' 'jvp_q = [1.0, 2.0, 3.0]'
    ok 'ggrad l.tlg --jvp p --wrt h --disconnected ignore --only | grun x=[1,2,3] h=1 t_h=1' 'jvp_p = [0.0, 0.0, 0.0]'
    bad 3 E_NULL "the tangent of p is undefined: $u" 'ggrad l.tlg --jvp p,q --wrt x'
    ok "$g -e 'out = sum(scan(lambda a, c: undefined_grad(c) + a, sequences=[x], outputs_info=[h]))' -o l.tlg"
    bad 3 E_NULL "gradient of x is undefined: $u" 'ggrad l.tlg --wrt x'
    bad 3 E_NULL "gradient of h is undefined: $u" 'ggrad l.tlg --wrt h'
    bad 3 E_NULL "the tangent of out is undefined: $u" 'ggrad l.tlg --jvp out --wrt x'
    ok "$g -i \"m: sparse('csr', float64[2, 2])\" -e 'out = sum(scan(lambda a, w: a * sparse_sum(w), sequences=[x], non_sequences=[m]))' -o l.tlg"
    bad 3 E_NULL 'a loop has derivatives with respect to tensors only' 'ggrad l.tlg --wrt m'
    ok 'ggrad l.tlg --wrt x | grun x=[1,2,3] m=[[1,2],[3,4]]' $'out = 60.0\nd_out_d_x = [10.0, 10.0, 10.0]'
}

# The tangents along v, summed with weights u, are the gradient of the sum with weights, summed with v; c is constant.
@test "forward and reverse mode are transposes of each other, whichever input moves" {
    local e n=0
    while IFS= read -r e; do
        gload --new -i 'x: float64[3,3]' -i 'c: float64[3,3]' -i 'v: float64[3,3]' -e "a = $e" \
            -e 'u = reshape(cos(arange(1.0, 1.0 + a.size)), a.shape)' -e 'p = sum(jvp(a, x, v) * u)' -e 'q = sum(vjp(a, x, u) * v)' \
            -e 'same = isclose(p, q, rtol=1e-9)' --outputs same -o g.tlg
        ok "grun g.tlg 'x=[[3.0,0.5,0.25],[0.5,2.0,0.125],[0.25,0.125,4.0]]' 'c=[[2.0,0.5,0.25],[0.5,3.0,1.5],[0.25,1.5,2.5]]' \
            'v=[[1.0,2.0,3.0],[0.5,-1.0,2.0],[0.25,3.0,-2.0]]' # $e" 'same = True'
        n=$((n + 1))
    done <<'E'
set_subtensor(c[0], x[1])
inc_subtensor(c[0], x[1])
set_subtensor(x[0], c[1])
concatenate([c, x])
stack([c, x])
where(c > 0, c, x)
where(c > 0, x, c)
full((2, 2), x[0, 0])
c @ x
x @ c
solve(c, x)
solve(x, c)
solve(c, x[0])
solve(x, c[0])
solve(x, c, assume_a='sym')
solve(x, c, assume_a='pos')
solve_triangular(c, x)
solve_triangular(x, c)
solve_triangular(x, c[0])
lstsq(c, x)[0]
lstsq(x, c)[0]
lstsq(x, c[0])[0]
lstsq(c, x[0])[0]
lstsq(x[:, :2], c)[0]
lstsq(x[:, :2], c)[1]
lstsq(c[:, :2], x)[1]
lu_solve(lu_factor(c)[0], lu_factor(c)[1], x)
lu_solve(lu_factor(x)[0], lu_factor(x)[1], c)
lu_solve(lu_factor(x)[0], lu_factor(x)[1], c[0])
cho_solve(c, x)
cho_solve(x, c)
c ** x
x ** c
xlogy(c, x)
xlogy(x, c)
arctan2(c, x)
hypot(c, x)
logaddexp(c, x)
kron(c, x)
outer(c[0], x[0])
tensordot(c, x)
einsum('ij,jk->ik', c, x)
einsum('ij,ij', x, c)
einsum('ij->i', x)
einsum('ij->ji', x)
einsum('ii->i', x)
einsum('ii', x)
block_diag(c, x)
pad(x, 1, mode='edge')
pad(x, 1, mode='reflect')
pad(x, 1, mode='linear_ramp', end_values=3.0)
pad(x, 1, mode='mean')
pad(x, 1, mode='maximum')
pad(x, 1, constant_values=2)
tile(x, (2, 1))
repeat(x, 2, axis=0)
repeat(x, [1, 2, 0], axis=0)
broadcast_to(x, (2, 3, 3))
take_along_axis(x, argsort(x), axis=1)
take(x, [[0, 2], [1, 1]], axis=1)
cumsum(x, axis=1)
cumprod(x)
var(x, axis=0)
std(x)
norm(x)
norm(x, 'nuc')
norm(x, 1)
norm(x, 2)
norm(x, inf)
norm(x[0], 3)
logsumexp(x, axis=1)
log_softmax(x)
softmax(x, axis=0)
sort(x, axis=0)
max(x, axis=0)
prod(x)
det(x)
slogdet(x)[1]
inv(x)
pinv(x[:, :2])
expm(x)
cholesky(x)
cho_factor(x, lower=False)
cholesky_inverse(x)
cholesky_inverse(x, upper=True)
qr(x)[1]
svdvals(x)
eigvalsh(x)
eigh(x)[0]
lu(x)[2]
matrix_power(x, 3)
matrix_power(x, -2)
adjugate(x)
trace(x)
diagonal(x, 1)
diag(x[0])
tril(x)
moveaxis(x, 0, 1)
roll(x, 1, axis=0)
flip(x, axis=0)
split(x, 3)[1]
clip(x, c, 3)
maximum(x, c)
minimum(c, x)
grad_scale(x, 1)
x[[0, 1], [1, 2]]
x[:, None, 1:]
x[c > 1]
abs(complex(c, x))
abs(complex(x, c))
real(complex(x, c) * 2j)
angle(complex(x, c))
vdot(c[0], x[0])
inner(c, x)
linspace(x[0, 0], 3.0, 4)
linspace(1.0, x[0, 0], 4)
arange(x[0, 0] - 2, 5.0)
E
    [ "$n" -gt 100 ]
}

@test "integers don't move: gradient and tangent are zero through every op that passes them on" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[4]", m: "float64[3, 3]"}
let: |
  i = cast(x, 'int64')
  k = cast(m, 'int64')
  f = cast(m[0, 0], 'int64')
  y1 = concatenate([i, i])
  y2 = stack([i, i])
  y5 = roll(i, 1)
  y6 = repeat(i, 2)
  y7 = broadcast_to(i, (3, 4))
  y8 = diagonal(k)
  y9 = diag(i)
  y10 = transpose(k)
  y11 = k[1:]
  y12 = k[[0, 1]]
  y13 = set_subtensor(k[0], k[1])
  y14 = inc_subtensor(k[0], k[1])
  y15 = cumsum(i)
  y16 = cumprod(i)
  y17 = max(k, axis=1)
  y18 = sort(i)
  y19 = arange(0, f)
  y20 = full((2,), f)
  y21 = k @ k
  y22 = sum(k, axis=0)
  y23 = prod(i)
  y24 = reshape(k, (9,))
  y25 = expand_dims(i, 0)
  y26 = squeeze(expand_dims(i, 0))
  y29 = flip(i)
  y30 = kron(i, i)
  y33 = take(i, [1, 2])
  y34 = where(i > 1, i, 2 * i)
  y35 = clip(i, 0, 2)
  y36 = swapaxes(k, 0, 1)
  cost = (sum(y1 * 1.0) + sum(y2 * 1.0) + sum(y5 * 1.0) + sum(y6 * 1.0) + sum(y7 * 1.0) + sum(y8 * 1.0) + sum(y9 * 1.0) + sum(y10
    * 1.0) + sum(y11 * 1.0) + sum(y12 * 1.0) + sum(y13 * 1.0) + sum(y14 * 1.0) + sum(y15 * 1.0) + sum(y16 * 1.0) + sum(y17 *
    1.0) + sum(y18 * 1.0) + sum(y19 * 1.0) + sum(y20 * 1.0) + sum(y21 * 1.0) + sum(y22 * 1.0) + sum(y23 * 1.0) + sum(y24 *
    1.0) + sum(y25 * 1.0) + sum(y26 * 1.0) + sum(y29 * 1.0) + sum(y30 * 1.0) + sum(y33 * 1.0) + sum(y34 * 1.0) + sum(y35 *
    1.0) + sum(y36 * 1.0))
  forward = jvp(cost, [x, m], [ones_like(x), ones_like(m)])
outputs: [cost, forward]
Y
    ggrad g.yaml --cost cost --wrt x,m -o d.tlg
    ok "grun d.tlg x=[1,2,3,4] 'm=arange(9.0).reshape((3, 3))' -O json | tail -n 3 | cut -d: -f5" ' 0.0}
 [0.0, 0.0, 0.0, 0.0]}
 [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]}'
}

# EXPRESSION|VALUE in x = [1, 2, 3], y = [4, 5, 6], k = 2, W = the identity, z complex.
@test "derivatives of nothing, by nothing, by integers, and companions written in place" {
    local e want code
    d_() { gload --new -i 'x: float64[3]' -i 'y: float64[3]' -i 'z: complex128[3]' -i 'k: int64' -i 'W: float64[3, 3]' -e "out = $1" --outputs out -o o.tlg; }
    export -f d_
    while IFS='|' read -r e want; do
        d_ "$e"
        ok "grun o.tlg --on-unused-input ignore k=2 x=[1,2,3] y=[4,5,6] z=[1j,2,3] 'W=eye(3)' | tr -d '\n '" "$want"
    done <<'END'
jacobian([], x)|out=[]
jacobian(x, [])|out=[]
grad(sum(x), [])|out=[]
vjp([], [x], [], disconnected_inputs='ignore')[0]|out=[0.0,0.0,0.0]
jacobian(x[:0], x)|out=zeros((0,3),dtype='float64')
jacobian(x, x[:0], disconnected_inputs='ignore')|out=[[],[],[]]
hessian(sum(x), x)|out=[[0.0,0.0,0.0],[0.0,0.0,0.0],[0.0,0.0,0.0]]
hessian(k * 1., x, disconnected_inputs='ignore')|out=[[0.0,0.0,0.0],[0.0,0.0,0.0],[0.0,0.0,0.0]]
hessian(sum(x * y), [x, y], mixed=True)[0][1]|out=[[1.0,0.0,0.0],[0.0,1.0,0.0],[0.0,0.0,1.0]]
hvp(sum(x * y), [x, y], [[1., 0., 0.], [0., 0., 1.]])[0]|out=[0.0,0.0,1.0]
hvp(sum(x ** 3), [x], [[1., 0., 2.]])[0]|out=[6.0,0.0,36.0]
hvp(sum(x), x, x)|out=[0.0,0.0,0.0]
vjp(x * y, x, [[1., 2., 3.]])|out=[4.0,10.0,18.0]
jvp(x * k, k, 1)|out=[1.0,2.0,3.0]
jvp(x * k, k, 1.5)|out=[1.5,3.0,4.5]
vjp(k * 2, x, 1., disconnected_inputs='ignore')|out=[0.0,0.0,0.0]
jacobian(x @ W, W, mode='forward').shape|out/0=3out/1=3out/2=3
END
    while IFS='|' read -r e code want; do
        bad 3 "$code" "$want" "d_ '$e'"
    done <<'END'
hvp(sum(x ** 3), [x], [1., 0., 0.])|E_ARITY|hvp has 1 variable but 3 vectors
vjp([x, y], [x, y], [x])|E_ARITY|vjp has 2 variables but 1 cotangent
hvp(k * 1., x, x)|E_DISCONNECTED|does not depend on x
hessian(sum(abs(z)), z)|E_DTYPE|can't take the Hessian with respect to complex128\[3\]: it must be real
jacobian(z * x, x)|E_DTYPE|the Jacobian of complex128\[3\]: it must be real
hvp(sum(polygamma(x, y)), x, x)|E_NULL|undefined: polygamma is a function of whole numbers
hessian(sum(polygamma(x, y)), x)|E_NULL|undefined: polygamma is a function of whole numbers
END
}

# Values are those of PyTorch; a second derivative at 0 is 0, too.
@test "norms and deviations have a derivative at 0: it is 0" {
    local cost want mode
    gload -i 'g: float64[3, 2]' -e 'out = g' -o one.tlg
    while IFS='|' read -r cost want; do
        gload -i 'x: float64[3, 2]' -e "cost = $cost" -e 'g = grad(cost, x)' -e 'h = hvp(cost, x, zeros((3, 2)))' -e 'j = abs(jvp(cost, x, x) - sum(g * x)) < 1e-12' --outputs g,h,j -o m.tlg
        for mode in FAST_RUN FAST_COMPILE DEBUG; do
            ok "grun m.tlg x='[[0, 0], [3, 4], [2, 2]]' --mode $mode -r g=g.npy -r h=h.npy" 'j = True'
            ok "grun one.tlg g=@g.npy --expect 'out=$want' -o o"
            ok "grun one.tlg g=@h.npy --expect 'out=zeros((3, 2))' -o o"
        done
    done <<'END'
sum(norm(x, axis=1))|[[0, 0], [0.6, 0.8], [0.7071067811865475, 0.7071067811865475]]
sum(norm(x, 3, axis=1))|[[0, 0], [0.4448513517305356, 0.7908468475209521], [0.6299605249474365, 0.6299605249474365]]
sum(norm(x, 2.5, axis=1))|[[0, 0], [0.5118950223304005, 0.7881139438380965], [0.6597539553864471, 0.6597539553864471]]
norm(x[:1])|zeros((3, 2))
sum(norm(x - x[:1], 2, axis=-1))|[[-1.3071067811865476, -1.5071067811865475], [0.6, 0.8], [0.7071067811865475, 0.7071067811865475]]
sum(norm(x[:, None] - x, axis=-1))|[[-2.614213562373095, -3.014213562373095], [2.094427190999916, 3.388854381999832], [0.5197863713731791, -0.3746408196267368]]
sum(std(x, axis=1))|[[0, 0], [-0.5, 0.5], [0, 0]]
sum(std(x, axis=1, ddof=1))|[[0, 0], [-0.7071067811865475, 0.7071067811865475], [0, 0]]
sum(std(x, axis=1, where=x < 9))|[[0, 0], [-0.5, 0.5], [0, 0]]
END
    ok "gload -i 'x: float32[2]' -e 'cost = norm(x) + std(x)' -e 'g = grad(cost, x)' --outputs g | grun x=[0,0]" 'g = [0.0, 0.0]'
    ok "gload -i 'z: complex128[2]' -e 'cost = norm(z)' -e 'g = grad(cost, z)' --outputs g | grun z='[0j, 0j]'" 'g = [(0.0+0.0j), (0.0+0.0j)]'
    ok "gload -i 'x: float64[2]' -e 'g = grad(norm(x), x)' --outputs g | grun x=[nan,1]" 'g = [nan, nan]'
}
