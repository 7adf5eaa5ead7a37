#!/usr/bin/env bats
# Ops of the user's own as text: --ops FILE.
load common

# ops TEXT: writes o.yaml, an op file; \n are line ends.
ops() { printf 'thunkline: 1\nops:\n%b' "$1" >o.yaml; }
swish='  swish:\n    doc: x times its logistic function.\n    inputs: x\n    props:\n      beta: float = 1.0\n    def: x * sigmoid(beta * x)\n    partials:\n      x: sigmoid(beta*x) + beta*r*(1 - sigmoid(beta*x))\n'

@test "an op in text is typed, run, printed as itself, and keeps its name in every form" {
    ops "$swish"
    like 'gload --ops o.yaml -e "swish(x) + swish(x, beta=2.)" | grun --ops o.yaml x=1' '^out = 1\.61185565660788'
    like 'gload --ops o.yaml -e "swish(x, beta=2.)" -O yaml' '^uses:' '^  swish: 1' '_1 = swish\(x, beta=2.0\)'
    for f in yaml json tlg; do
        gload --ops o.yaml -e 'swish(x, beta=2.)' -o "g.$f"
        ok "gload --ops o.yaml g.$f --no-provenance -O yaml | grep -c 'swish(x, beta=2.0)'" 1
        bad 3 E_NAME 'swish is not known here' "grun g.$f x=1"
        grep -q -- '--ops FILE' .err
    done
    # weak literals and arrays of any dtype, as the row says: elementwise ops promote to a common dtype
    like 'gload --ops o.yaml -i "x: float32[n]" -e "y = swish(x)" -O tree' 'float32\[n\]'
    like 'gload --ops o.yaml -i "x: int64" -e "y = swish(x)" -O tree' 'swish.*float64'
}

@test "its version is kept in graphs and compared" {
    ops "$swish"
    gload --ops o.yaml -e 'swish(x)' -o g.tlg
    gload --ops o.yaml -e 'swish(x)' -o g.yaml
    ops "$swish    version: 2\\n"
    bad 3 E_VERSION 'version 1 of the op swish, but o.yaml has version 2' 'grun --ops o.yaml g.tlg x=1'
    bad 3 E_VERSION 'version 1 of the op swish' 'grun --ops o.yaml g.yaml x=1'
    like 'gload --ops o.yaml -e "swish(x)" -O yaml' '^  swish: 2'
}

@test "all five tools take --ops, several times, after one another" {
    ops "$swish"
    printf 'thunkline: 1\nops:\n  twice:\n    inputs: x\n    def: swish(x) + swish(x)\n' >p.yaml
    like 'gload --ops o.yaml --ops p.yaml -e "twice(x)" | ggrad --ops o.yaml --ops p.yaml | grewrite --ops o.yaml --ops p.yaml | grun --ops o.yaml x=1' \
        '^out = 1\.4621171572600' '^d_out_d_x = 1\.855341023742'
    gload --ops o.yaml --ops p.yaml -i 'x: float64[10]' -e 'twice(x)' -o g.tlg
    like 'gprof --ops o.yaml --ops p.yaml --static g.tlg --by op' 'fused\(swish, multiply\)'
    bad 3 E_NAME 'there is no function .swish' 'gload --ops p.yaml -e x'
}

@test "an elementwise one fuses with its neighbours, and keeps its derivative in the fused group" {
    ops "$swish"
    gload --ops o.yaml -i 'x: float64[n]' -e '2*swish(x) + exp(x)' | grewrite --ops o.yaml -o f.tlg
    like 'gload --ops o.yaml f.tlg -O math' '^fused_1:' 'y0 = 2.0 \* swish\(x0\) \+ exp\(x0\)' '^out = fused_1\(x\)'
    like 'grun --ops o.yaml f.tlg x=[1,-1]' '^out = \[4\.18039898571905.*, -0\.1700034015685478'
    ok 'gprof --ops o.yaml --static f.tlg --dim n=10 --assert "applies == 1" >/dev/null'
    gload --ops o.yaml -i 'x: float64[n]' -e 'sum(2*swish(x) + exp(x))' | grewrite --ops o.yaml -o s.tlg
    like 'gload --ops o.yaml s.tlg -O math' 'swish'
    ok 'ggrad --ops o.yaml --check s.tlg x=[1,-1]'
    # FAST_COMPILE does not fuse; the values are the same
    like 'gload --ops o.yaml -i "x: float64[n]" -e "2*swish(x) + exp(x)" | grun --ops o.yaml --mode FAST_COMPILE x=[1,-1]' \
        '^out = \[4\.18039898571905.*, -0\.1700034015685478'
}

@test "a straight-through derivative survives rewriting" {
    ops '  snap:\n    inputs: x\n    accepts: float\n    def: round(x)\n    partials: {x: 1}\n'
    ok 'gload --ops o.yaml -e "snap(3*x)" | grewrite --ops o.yaml | ggrad --ops o.yaml | grun --ops o.yaml x=0.9' \
        "$(printf 'out = 3.0\nd_out_d_x = 3.0')"
    bad 3 E_DTYPE 'snap takes float, not int64' 'gload --ops o.yaml -i "x: int64" -e "snap(x)"'
}

@test "without a stated derivative the definition's is taken, and the op is expanded by grewrite" {
    ops '  soft:\n    inputs: x\n    def: log(1 + exp(x))\n  polar:\n    inputs: x, y\n    outputs: rho, phi\n    def: |\n      rho = sqrt(s)\n      s = x*x + y*y\n      phi = arctan2(y, x)\n'
    like 'gload --ops o.yaml -e "soft(x)" | grewrite --ops o.yaml -O math' '^out = softplus\(x\)$'
    ok 'gload --ops o.yaml -e "soft(x)" | grewrite --ops o.yaml | grun x=1000' 'out = 1000.0'
    like 'gload --ops o.yaml -e "soft(x)" | grewrite --ops o.yaml --exclude expand-ops -O math' '^out = soft\(x\)$'
    gload --ops o.yaml -e 'a, b = polar(x, y)' -e 'c = a * b' -o g.tlg
    gload --ops o.yaml g.tlg --outputs c -o c.tlg
    ok 'ggrad --ops o.yaml --check c.tlg x=1.5 y=-0.5'
    gload --ops o.yaml g.tlg --outputs a -o a.tlg
    like 'ggrad --ops o.yaml --jvp a --wrt x a.tlg | grun --ops o.yaml x=3 y=4 t_x=1' '^jvp_a = 0.60*1?$'
}

@test "props choose in the texts of an op: definition, derivative, flops" {
    cat >c.yaml <<'END'
thunkline: 1
ops:
  rise:
    inputs: x
    props: {k: int = 2, low: float = 0.0}
    def: 'x ** 2 if k == 2 else (lambda t: (u := t + 1) * u)(x)'
    pullback: {x: 2 * x * g if 1 < k < 3 and not low else 2 * (x + 1) * g}
    flops: 3 if 1 < k < 3 and not low else 4 if k == 3 or low else 5
    example: rise(3.0) -> 9.0
END
    local k
    for k in '2 9.0 6.0 3' '3 16.0 8.0 4' '4 16.0 8.0 5'; do
        set -- $k
        ok "gload --ops c.yaml -e 'y = rise(x, k=$1)' | ggrad --ops c.yaml | grun --ops c.yaml x=3" $'y = '"$2"$'\nd_y_d_x = '"$3"
        ok "gload --ops c.yaml -i 'x: float64[7]' -e 'y = rise(x, k=$1)' | gprof --ops c.yaml --static --assert 'flops == $4' -o r"
    done
    ok "gload --ops c.yaml -e 'y = rise(x, k=3)' | ggrad --ops c.yaml --check"
    sed -i 's/k == 2 else/x > 2 else/' c.yaml
    bad 3 E_TYPE 'write .where.x > 2, x \*\* 2, b.' "gload --ops c.yaml -e 'y = rise(x)' -o o.tlg"
}

@test "adjoint, pullback and pushforward as text" {
    ops '  rowmean:\n    inputs: v\n    def: mean(v, axis=-1, keepdims=True)\n    adjoint:\n      v: broadcast_to(g / v.shape[-1], v.shape)\n  polar:\n    inputs: x, y\n    outputs: rho, phi\n    def: (sqrt(x*x + y*y), arctan2(y, x))\n    pullback:\n      x: (g_rho * x - g_phi * y / rho) / rho\n      y: (g_rho * y + g_phi * x / rho) / rho\n    pushforward:\n      rho: (x * t_x + y * t_y) / rho\n      phi: (x * t_y - y * t_x) / rho**2\n'
    gload --ops o.yaml --new -i 'v: float64[3, 4]' -e 's = sum(rowmean(v)**2)' -o g.tlg
    ok 'ggrad --ops o.yaml --check g.tlg'
    # linear in v: forward mode is the op itself on the tangent
    like 'gload --ops o.yaml --new -i "v: float64[3, 4]" -e "y = rowmean(v)" | gload --ops o.yaml - --outputs y | ggrad --ops o.yaml --jvp y --wrt v -O math' '^jvp_y = rowmean\(t_v\)$'
    gload --ops o.yaml -e 'a, b = polar(x, y)' -e 's = a * b' -o p.tlg
    gload --ops o.yaml p.tlg --outputs s -o s.tlg
    ok 'ggrad --ops o.yaml --check s.tlg x=1.5 y=-0.5'
    gload --ops o.yaml p.tlg --outputs b -o b.tlg
    like 'ggrad --ops o.yaml --jvp b --wrt y b.tlg | grun --ops o.yaml x=3 y=4 t_y=1' '^jvp_b = 0.12$'
    # an output that the cost does not use has a zero cotangent
    gload --ops o.yaml p.tlg --outputs a -o a.tlg
    like 'ggrad --ops o.yaml a.tlg | grun --ops o.yaml x=3 y=4' '^d_a_d_x = 0.6$' '^d_a_d_y = 0.8$'
    bad 3 E_DISCONNECTED 'does not depend on k' 'gload --ops o.yaml -i "k: int64" -e "sum(ones(k)) + 0*z" | ggrad --wrt k'
}

@test "inputs of other kinds: defaults, a rest, integers that decide shapes, props" {
    ops '  meanof:\n    inputs: "*xs"\n    def: mean(stack(xs), axis=0)\n  pad2:\n    inputs: {x: tensor, shape: ints}\n    def: broadcast_to(x, shape)\n    disconnected: shape\n  leaky:\n    inputs: x, a = 0.1\n    def: where(x > 0, x, a * x)\n  pnorm:\n    inputs: x\n    props: "axis: axis = -1, p: float = 2.0"\n    def: sum(abs(x) ** p, axis=axis) ** (1 / p)\n  sq:\n    inputs: x\n    def: x * x\n    replace: true\n'
    ok 'gload --ops o.yaml -e "meanof(x, y, 2*z)" | grun --ops o.yaml x=1 y=2 z=3' 'out = 3.0'
    ok 'gload --ops o.yaml -e "meanof([x, y])" | grun --ops o.yaml x=1 y=2' 'out = 1.5'
    like 'gload --ops o.yaml -i "x: float64[m]" -e "a = pad2(x, [3, m])" -e "b = pad2(x, [2*2, m])" -O tree' 'float64\[3, m\]' 'float64\[4, m\]'
    ok 'gload --ops o.yaml -i "x: float64[m]" -e "sum(pad2(x, [3, m]))" | ggrad --ops o.yaml | grun --ops o.yaml x=[1,2]' "$(printf 'out = 9.0\nd_out_d_x = [3.0, 3.0]')"
    ok 'gload --ops o.yaml -i "x: float64[n]" -e "leaky(x)" -e "b = leaky(x, 0.5)" | grun --ops o.yaml x=[-1,2]' "$(printf 'out = [-0.1, 2.0]\nb = [-0.5, 2.0]')"
    ok 'gload --ops o.yaml -i "x: float64[m, 2]" -e "pnorm(x)" -e "b = pnorm(x, axis=0, p=1.)" | grun --ops o.yaml x=[[3,4],[0,1]]' "$(printf 'out = [5.0, 1.0]\nb = [3.0, 5.0]')"
    ok 'gload --ops o.yaml -e "sq(x)" -O math' "$(printf 'x: float64\nout = x * x')"
    # the dims of the caller and the names of the row are told apart
    ok 'gload --ops o.yaml -i "q: float64[x, a]" -e "leaky(q)" | grun --ops o.yaml q=[[-1,2]]' 'out = [[-0.1, 2.0]]'
}

@test "costs: stated, or those of the definition" {
    ops '  a1:\n    inputs: x\n    def: exp(x) + 1\n  a2:\n    inputs: x\n    def: exp(x) + 1\n    flops: 7\n    math: 3\n    partials: {x: exp(x)}\n  a3:\n    inputs: x\n    def: sum(x @ x.T)\n    pullback: {x: "g * (x + x)"}\n'
    gload --ops o.yaml -i 'x: float64[10]' -e 'a1(x)' -o a1.tlg
    ok 'gprof --ops o.yaml --static a1.tlg --mode FAST_COMPILE --assert "flops == 20" --assert "math_calls == 10" >/dev/null'
    gload --ops o.yaml -i 'x: float64[10]' -e 'a2(x)' -o a2.tlg
    ok 'gprof --ops o.yaml --static a2.tlg --assert "flops == 70" --assert "math_calls == 30" >/dev/null'
    gload --ops o.yaml -i 'x: float64[10, 5]' -e 'a3(x)' -o a3.tlg
    ok 'gprof --ops o.yaml --static a3.tlg --assert "flops == 1100" --assert "applies == 1" >/dev/null'
    ok 'gprof --ops o.yaml a3.tlg x="ones((10, 5))" --assert "flops == 1100" --assert "applies == 1" >/dev/null'
    # what would be negative is unknown, and said once
    ops '  a4:\n    inputs: x\n    def: exp(x) + 1\n    flops: -x.size\n    partials: {x: exp(x)}\n  a5:\n    inputs: x\n    def: exp(x) + 1\n    flops: 10 + -x.ndim\n    partials: {x: exp(x)}\n'
    gload --ops o.yaml -i 'x: float64[10]' -e 'a4(a4(x))' -o a4.tlg
    ok 'gprof --ops o.yaml --static a4.tlg -O json 2>.said | grep -o "^ *\"flops\": [^,]*" | head -n 1 | tr -d " "' '"flops":null'
    [ "$(grep -c "warning\[E_VALUE\]: a4: a number of operations can't be negative" .said)" = 1 ] || complain 'should warn once' "$(cat .said)"
    gload --ops o.yaml -i 'x: float64[10]' -e 'a5(x)' -o a5.tlg
    ok 'gprof --ops o.yaml --static a5.tlg --assert "flops == 90" >/dev/null'
}

@test "what is wrong with a row is said at the row" {
    local text code at want
    while IFS='|' read -r text code at want; do
        ops "$text"
        bad 3 "$code" "$want" 'gload --ops o.yaml -e 1.5'
        grep -q "^gload: o.yaml:$at: error" .err || complain "should be at $at" "$text"
        grep -q '^    *^' .err || complain 'should have a caret' "$text"
    done <<'END'
  f:\n    inputs: x\n    def: x * b\n|E_NAME|5:14|.b. is not defined
  f:\n    inputs: x\n    def: x * snh(x)\n|E_NAME|5:14|did you mean .sinh
  f:\n    inputs: x\n    def: x +\n|E_SYNTAX|5:13|ends where
  f:\n    inputs: x\n    def: x & 1.5\n|E_DTYPE|5:10|bool or integers
  f:\n    inputs: x\n|E_PLUGIN|3:3|no def
  f:\n    inputs: x, x\n    def: x\n|E_PLUGIN|4:16|twice
  f:\n    inputs: {x: tensr}\n    def: x\n|E_PLUGIN|4:14|unknown kind
  f:\n    inputs: x, e = abc\n    def: x*e\n|E_PLUGIN|4:16|a default must be a number
  f:\n    inputs: x, g\n    def: x*g\n|E_PLUGIN|4:16|can't be the name of an input
  f:\n    inputs: x\n    props: {b: flt}\n    def: x\n|E_PLUGIN|5:13|unknown kind
  f:\n    inputs: x\n    props: {x: float}\n    def: x\n|E_PLUGIN|5:13|both an input and a prop
  f:\n    inputs: x\n    def: x\n    partials: {x: q}\n|E_NAME|6:19|.q. is not defined
  f:\n    inputs: x\n    def: x\n    partials: {x: "[x, x]"}\n|E_SHAPE|6:20|must have the shape of the result
  f:\n    inputs: x\n    def: x\n    partials: {x: "'no'"}\n|E_TYPE|6:20|a string
  f:\n    inputs: x, y\n    def: x+y\n    partials: {x: 1}\n|E_PLUGIN|6:5|lacks the input y
  f:\n    inputs: x\n    def: x\n    partials: {z: 1}\n|E_PLUGIN|6:19|no input z
  f:\n    inputs: x\n    def: x\n    partials: {x: 1}\n    adjoint: {x: g}\n|E_PLUGIN|7:5|two answers
  f:\n    inputs: x\n    def: sum(x)\n    partials: {x: 1}\n|E_PLUGIN|6:5|elementwise
  f:\n    inputs: x\n    def: x\n    replace: true\n    partials: {x: 1}\n|E_PLUGIN|3:3|replaced at once
  f:\n    inputs: x\n    def: x\n    pushforward: {q: t_x}\n|E_PLUGIN|6:22|no output q
  f:\n    inputs: x\n    def: x\n    disconnected: q\n|E_PLUGIN|6:19|no input q
  f:\n    inputs: x\n    def: x\n    commutative: true\n|E_PLUGIN|3:3|two inputs
  f:\n    inputs: x\n    def: x\n    flops: y.size\n|E_NAME|6:12|is not defined
  f:\n    inputs: x\n    def: x * 2\n    adjoint: {x: nope * g}\n|E_NAME|6:18|.nope. is not defined in this text of f
  f:\n    inputs: lambda\n    def: "1"\n|E_PLUGIN|4:13|.lambda. can't be the name of an input
  f:\n    inputs: x\n    def: x\n    flops: x.sizes\n|E_NAME|6:12|shape, .ndim and .size
  f:\n    inputs: x\n    def: x\n    flops: exp(x.size)\n|E_NAME|6:12|formulas have no function .exp
  f:\n    inputs: x\n    def: x\n    flops: x * 2\n|E_TYPE|6:12|expected a number
  f:\n    inputs: x\n    def: x\n    shape: "[q]"\n|E_NAME|6:14|is not defined
  f:\n    inputs: x\n    def: x\n    example: f(1, 2) -> 3\n|E_ARITY|6:19|too many arguments
  f:\n    inputs: x\n    def: f(x)\n|E_CYCLE|5:10|defined in terms of itself
  f:\n    inputs: x\n    def: h(x)\n  h:\n    inputs: x\n    def: f(x)\n|E_CYCLE|5:10|f -> h -> f
  sin:\n    inputs: x\n    def: x\n|E_DUPLICATE|3:3|there is already an op sin
  grad:\n    inputs: x\n    def: x\n|E_DUPLICATE|3:3|function of the language
  float32:\n    inputs: x\n    def: x\n|E_DUPLICATE|3:3|function of the language
  2f:\n    inputs: x\n    def: x\n|E_NAME|3:3|can't be the name
  f:\n    inputs: x\n    def: x\n  f:\n    inputs: x\n    def: x\n|E_DUPLICATE|6:3|occurs twice
  f:\n    inputs: x\n    def: x\n    alias: cos\n|E_DUPLICATE|3:3|already
  f:\n    inputs: x\n    def: print(x)\n|E_ARG|5:10|more than compute
  f:\n    inputs: x\n    def: load('a.npy')\n|E_ARG|5:10|can't be loaded
  f:\n    inputs: x\n    df: x\n|E_FORMAT|5:5|did you mean "def"
  f:\n    inputs: x\n    def: x\n    version: 0\n|E_FORMAT|6:14|start at 1
  f:\n    inputs: x\n    def: x\n    flops: x.size << 1\n|E_SYNTAX|6:12|<<. can't be in a formula
  f:\n    inputs: x\n    def: x\n    flops: abs()\n|E_ARITY|6:12|abs takes one argument
  f:\n    inputs: x\n    def: x\n    flops: abs(1, 2)\n|E_ARITY|6:12|abs takes one argument
  f:\n    inputs: x\n    def: x\n    flops: abs(x)\n|E_TYPE|6:16|expected a number
  f:\n    inputs: x\n    def: x\n    flops: max()\n|E_ARITY|6:12|max takes arguments
  f:\n    inputs: x\n    def: x\n    flops: x.shape[0.5]\n|E_VALUE|6:20|out of range
  f:\n    inputs: x\n    def: x\n    flops: x.shape[::2]\n|E_SYNTAX|6:20|can't have a step
  f:\n    inputs: x\n    def: x\n    flops: sum(x.shape[x:])\n|E_TYPE|6:24|expected a number
  f:\n    inputs: x\n    def: x\n    flops: sum(x.shape[:x])\n|E_TYPE|6:25|expected a number
  f:\n    inputs: x\n    def: x\n    flops: x.shape[x]\n|E_TYPE|6:20|expected a number
  f:\n    inputs: x\n    def: x\n    flops: x.shape[0, 1]\n|E_TYPE|6:12|with one index
  f:\n    inputs: x\n    def: x\n    flops: x.size[0]\n|E_TYPE|6:12|only a shape can be indexed
  f:\n    inputs: x\n    def: x\n    flops: sum([x, 1])\n|E_TYPE|6:17|expected a number
  f:\n    inputs: x\n    def: x\n    flops: "{'a': 1}"\n|E_SYNTAX|6:13|can't be in a formula
  f:\n    inputs: x\n    def: x\n    flops: "lambda v: 1"\n|E_SYNTAX|6:13|can't be in a formula
  f:\n    inputs: x\n    def: x\n    flops: x.size +\n|E_SYNTAX|6:20|ends where
  f:\n    inputs: x\n    def: x\n    math: y\n|E_FORMAT|6:11|a number from 0
  f:\n    inputs: x\n    def: sin(**x)\n|E_SYNTAX|5:14|patterns of rewrite rules
  f:\n    inputs: x\n    def: sin(x, x)\n|E_ARITY|5:17|too many arguments
  f:\n    inputs: {x: tensor, b = False: bool}\n    def: where(b, x, -x)\n|E_PLUGIN|4:25|a default must be a number
  f:\n    inputs: "*xs"\n    def: stack(xs)\n    pullback: {xs: g}\n|E_PLUGIN|6:20|pullback of a rest parameter
  f:\n    inputs: x\n    props: {fn: graph}\n    def: x\n|E_PLUGIN|5:13|only ops in C
  f:\n    inputs: x\n    props: {p: str = 'a}\n    def: x\n|E_PLUGIN|5:13|a string is missing at "'a"
  f:\n    inputs: x\n    props: "p: str = abc"\n    def: x\n|E_PLUGIN|5:13|a string is missing at "abc"
  f:\n    inputs: x\n    props: "p: int = a"\n    def: x\n|E_PLUGIN|5:13|an integer is missing at "a"
  f:\n    inputs: x\n    props: "p: int = 99999999999999999999"\n    def: x\n|E_PLUGIN|5:13|an integer is missing
  f:\n    inputs: x\n    props: "p: ints = [1, a]"\n    def: x\n|E_PLUGIN|5:13|an integer is missing at "a\]"
  f:\n    inputs: x\n    props: "p: dtype = flot"\n    def: x\n|E_PLUGIN|5:13|a dtype is missing at "flot"
  f:\n    inputs: x\n    props: "p: float = x"\n    def: x\n|E_PLUGIN|5:13|a number is missing at "x"
  f:\n    inputs: x\n    def: x\n    alias: 2g\n|E_NAME|6:12|can't be the name of an op
  f:\n    inputs: disconnected\n    def: disconnected\n|E_PLUGIN|4:13|can't be the name of an input
  f:\n    inputs: g_a\n    def: g_a\n|E_PLUGIN|4:13|can't be the name of an input
  f:\n    inputs: t_a\n    def: t_a\n|E_PLUGIN|4:13|can't be the name of an input
  f:\n    inputs: x\n    def: x\n    example: nonsense\n|E_PLUGIN|6:14|an example is .f
  f:\n    inputs: x\n    def: x\n    pullback: {x: "[[g, 1]]"}\n|E_SHAPE|6:20|must have the shape of x, float64
  f: x\n|E_FORMAT|3:6|a mapping
  f:\n    inputs: x\n    def: x * sin\n|E_NAME|5:14|there is a function sin: call it, as in sin\(x\)
  f:\n    inputs: x\n    props: {fn: graph = sin}\n    def: x\n|E_PLUGIN|5:13|a function has no default but None
  f:\n    inputs: x\n    def: x\n    replace: true\n    pushforward: {r: t_x}\n|E_PLUGIN|3:3|replaced at once
  f:\n    inputs: x\n    props: "p: int = 1"\n    outputs: p\n    def: x\n|E_PLUGIN|6:14|p is an input or a prop already
  f:\n    inputs: x, y, z\n    def: x + y + z\n    associative: true\n|E_PLUGIN|3:3|two inputs can be associative
  f:\n    inputs: x\n    def: "(lambda q: q)(x) + q"\n|E_NAME|5:30|.q. is not defined in this text of f
  f:\n    inputs: x\n    def: "(lambda xs: xs)(x) + xz"\n|E_NAME|5:32|.xz. is not defined in this text of f: did you mean .x.
  f:\n    inputs: {x: tensor, y?: tensor}\n    def: x\n    adjoint: {x: "[g, g]", y: 0}\n    example: f(2.0) -> 2.0\n|E_SHAPE|6:19|must have the shape of x
  f:\n    inputs: x\n    def: sin(x)\n    pullback: {x: "[[g]]"}\n    example: f([1., 2.]) -> 1\n|E_SHAPE|6:20|must have the shape of x, float64
  f:\n    inputs: x, n\n    def: x * n\n    partials: {x: n, n: x}\n    disconnected: n, m\n|E_PLUGIN|7:22|it has no input m
END
}

@test "what is wrong with the lines of a definition is said at the line" {
    row() { ops "  f:\\n    inputs: x\\n    def: |\\n      $1\\n"; }
    row 'r = s\n      s = r'
    bad 3 E_CYCLE 'r -> s -> r' 'gload --ops o.yaml -e 1.5'
    grep -q 'o.yaml:6:11: ' .err
    row 'r = r + x'
    bad 3 E_CYCLE 'the name is defined in terms of itself: r -> r' 'gload --ops o.yaml -e 1.5'
    row "$(printf 'a%d = a%d\\n      ' 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 1)r = a1"
    bad 3 E_CYCLE 'a1 -> a2 -> a3 -> a4 -> a5 -> a6 -> a7 -> a8 -> a9 -> a10$' 'gload --ops o.yaml -e 1.5'
    row 'q = x'
    bad 3 E_PLUGIN 'no line defines r' 'gload --ops o.yaml -e 1.5'
    row 'r = x\n      r = x'
    bad 3 E_DUPLICATE 'defined twice' 'gload --ops o.yaml -e 1.5'
    grep -q 'o.yaml:7:7: ' .err
    row 'x = 2'
    bad 3 E_DUPLICATE 'an input or prop' 'gload --ops o.yaml -e 1.5'
    row 'a, b = x\n      r = a'
    bad 3 E_ARITY '2 names' 'gload --ops o.yaml -e 1.5'
    row 'r: float64 = x'
    bad 3 E_SYNTAX 'no types' 'gload --ops o.yaml -e 1.5'
    # an error that only the call's types bring out names both places
    ops '  f:\n    inputs: x\n    def: x @ x\n'
    bad 3 E_SHAPE 'must be equal' 'gload --ops o.yaml -i "m: float64[2, 3]" -e "f(m)"'
    grep -q '^gload: o.yaml:5:10: ' .err
    grep -q -- '--expr:1:1: .*in f(m: float64\[2, 3\])' .err
}

@test "files that are not an op files" {
    printf 'thunkline: 1\ninputs:\n  x: float64\n' >g.yaml
    bad 3 E_FORMAT 'not an op file' 'gload --ops g.yaml -e 1.5'
    grep -q 'looks like a graph' .err
    bad 4 E_IO 'No such file' 'gload --ops none.yaml -e 1.5'
    printf 'thunkline: 2\nops:\n  f:\n    def: 1.5\n' >v.yaml
    bad 3 E_VERSION 'version' 'gload --ops v.yaml -e 1.5'
    printf 'thunkline: 1\nops:\n  f:\n    def: 1.5\n' >c.yaml
    ok 'gload --ops c.yaml -e "f()" | grun --ops c.yaml' 'out = 1.5'
    bad 3 E_DUPLICATE 'there is already an op f in c.yaml' 'gload --ops c.yaml --ops c.yaml -e 1.5'
    cp c.yaml d.yaml
    bad 3 E_DUPLICATE '^gload: d.yaml:3:3: error.*there is already an op f in c.yaml' 'gload --ops c.yaml --ops d.yaml -e 1.5'
    bad 3 E_FORMAT '^gload: /etc/passwd:1:1: error.*a mapping' 'gload --ops /etc/passwd -e 1.5'
    bad 4 E_IO 'directory' 'gload --ops . -e 1.5'
    head -c 100 "$DIGITS/x.npy" >bin.yaml
    bad 3 E_FORMAT 'no text' 'gload --ops bin.yaml -e 1.5'
    # the same as JSON
    echo '{"thunkline": 1, "ops": {"f": {"inputs": "x", "def": "2 * x", "partials": {"x": 2}}}}' >o.json
    ok 'gload --ops o.json -e "f(x)" | ggrad --ops o.json | grun --ops o.json x=3' "$(printf 'out = 6.0\nd_out_d_x = 2.0')"
}

@test "gload --op and --list-ops show own ops, as text and as JSON" {
    ops "$swish    example: swish(2.0) -> 1.7615941559557646\\n"
    like 'gload --ops o.yaml --list-ops "s*"' '^swish +x times its logistic function' '^sin '
    like 'gload --ops o.yaml --op swish' '^swish\(x, beta: float = 1.0\)$' '^definition +x \* sigmoid' '^props +beta: a number; 1.0' \
        '^gradient +d/dx: sigmoid' '^from +o.yaml' '^example +swish\(2.0\)'
    gload --ops o.yaml --op swish -O json >o.json
    [ "$(jq -r '.name, .props.beta, .from, .gradient["d/dx"]' o.json | tr '\n' '|')" = 'swish|a number; 1.0 if left out|o.yaml|sigmoid(beta*x) + beta*r*(1 - sigmoid(beta*x))|' ]
    gload --ops o.yaml --list-ops 'sw*' -O json | jq -e '[.[].name] == ["swapaxes", "swish"]'
    gload --list-types -O json | jq -e 'length >= 8'
    # every op's contract is JSON
    for op in $(gload --list-ops 'a*' | cut -d' ' -f1); do
        gload --op "$op" -O json | jq -e .signature >/dev/null
    done
}

@test "gload --op shows each way in which a derivative is stated" {
    ops '  pb:\n    inputs: x, y\n    outputs: a, b\n    def: (x * y, x + y)\n    disconnected: y\n    pullback: {x: g_a * y + g_b}\n    pushforward: {a: t_x * y, b: t_x}\n  ad:\n    inputs: v, n\n    def: v * n\n    adjoint: {v: g * n, n: 0}\n'
    like 'gload --ops o.yaml --op pb' '^pb\(x, y\) -> a, b$' '^pullback +x: g_a \* y \+ g_b$' '^ +y: disconnected$' '^pushforward +a: t_x \* y$' '^ +b: t_x$'
    ok 'gload --ops o.yaml --op pb -O json | jq -c "[.pullback, .pushforward]"' '[{"x":"g_a * y + g_b","y":"disconnected"},{"a":"t_x * y","b":"t_x"}]'
    ok 'gload --ops o.yaml --op ad -O json | jq -c .adjoint' '{"v":"g * n","n":"0"}'
}

@test "op files follow their schema" {
    python_with jsonschema
    cat >check.py <<'END'
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
for f in sys.argv[2:]:
    if f.endswith('.json'):
        d = json.load(open(f))
    else:
        try:
            import yaml
        except ImportError:
            continue
        d = yaml.load(open(f), Loader=yaml.BaseLoader)
    for e in v.iter_errors(d):
        print(f, e.json_path, e.message)
        sys.exit(1)
END
    ops "$swish"
    echo '{"thunkline": 1, "ops": {"f": {"inputs": "x", "def": 2, "partials": {"x": 0}, "version": 3}}}' >o.json
    "$PYTHON" check.py "$ROOT/schemas/ops.schema.json" o.yaml o.json "$ROOT/examples/ops-text/own.ops.yaml"
    echo '{"thunkline": 1, "ops": {"f": {"inputs": "x"}}}' >bad.json
    run "$PYTHON" check.py "$ROOT/schemas/ops.schema.json" bad.json
    [ "$status" = 1 ]
}

@test "softmax and log_softmax by their definition: long, short and strided rows, any axis" {
    local shape axis dtype tol view n=0
    {
        echo 'thunkline: 1'
        echo 'let: |'
        for dtype in float16:4e-3 float32:2e-6 float64:1e-14; do
            tol=${dtype#*:} dtype=${dtype%:*}
            for shape in '(70, 5)' '(33, 64)' '(32, 2)' '(2, 40, 10)' '(3, 65)' '(2, 3, 33)'; do
                for view in '' '.T' '[::-1, 1:]'; do
                    for axis in 0 1 -1; do
                        n=$((n + 1))
                        echo "  v$n = $dtype(normal(0, 2, $shape, seed=$n))$view"
                        echo "  w$n = exp(float64(v$n)) / sum(exp(float64(v$n)), axis=$axis, keepdims=True)"
                        echo "  ok$n = all(abs(softmax(v$n, axis=$axis) - w$n) < $tol) & all(abs(log_softmax(v$n, axis=$axis) - log(w$n)) < 20 * $tol)"
                    done
                done
            done
        done
        echo "  ok = array([$(seq -s, -f 'ok%g' $n)])"
        echo 'outputs: [ok]'
    } >f.yaml
    ok 'gload f.yaml -e "n = ok.size" -e "good = sum(ok)" --outputs n,good | grun --mode FAST_COMPILE' $'n = 162\ngood = 162'
}

@test "the formula of an op's flops: numbers, shapes, functions and comparisons" {
    local text want
    while IFS='|' read -r text want; do
        text=${text//OR/|}
        ops "  f:\\n    inputs: x\\n    def: sum(x) * 3\\n    pullback: {x: g * (x + x)}\\n    flops: \"$text\"\\n"
        ok 'gload --ops o.yaml -i "x: float64[10, 4]" -e "f(x)" | gprof --ops o.yaml --static - -O json | jq .total.flops' "$want"
    done <<'END'
x.size % 7|5
50 + -x.size + x.ndim|12
(x.size >= 40) + 2 * (x.size <= 39) + 4 * (x.size != 2) + 8 * (x.size == 40) + 16 * (x.size > 1) + 32 * (x.size < 1)|29
abs(-3) + 10 * sqrt(16) + 100 * floor(2.5) + 1000 * ceil(1.5) + 10000 * log2(8)|32243
max(x.shape, 3) + 100 * min(x.shape, 1) + 1000 * sum(x.shape) + 100000 * prod(x.shape)|4014110
x.shape[0] + 100 * x.shape[-1]|410
sum(x.shape[1:]) + 100 * sum(x.shape[:-9]) + 1000 * sum(x.shape[9:]) + 10000 * sum(x.shape[None:1])|100004
prod([2, 3, x.size]) + 1000 * sum((1, 2))|3240
(x.size > 0) & (x.size > 100)|0
(x.size > 100) & (x.size > 0)|0
(x.size > 0) & (x.size > 30)|1
(x.size > 0) OR (x.size > 100)|1
(x.size > 100) OR (x.size > 30)|1
(x.size > 100) OR 0|0
sum(x.shape[-9:])|14
sum(x.shape[9:])|0
sum(x.shape[:9])|14
~x.size|0
~(x.size - 40)|1
2 ** 3|8
x.size / 0|null
x.size // 0|null
x.shape[5]|null
x.shape[-5]|null
1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1|41
x.size.size + 10 * x.size.ndim + 100 * x.shape.ndim|201
10 // 4 + 10 * 2 ** 3 + x.size / 20|84
END
}

@test "defaults of inputs and props, and outputs that are items of a list" {
    ops '  f:\n    inputs: x, a = True, b = pi, c = -2.5\n    def: x * a + b * c\n'
    ok 'gload --ops o.yaml -e "f(x)" | grun --ops o.yaml x=2' 'out = -5.853981633974483'
    ops '  f:\n    inputs: x\n    outputs: a, b\n    def: "[x, x + 1]"\n'
    ok 'gload --ops o.yaml -e "a, b = f(x)" | grun --ops o.yaml x=2' $'a = 2.0\nb = 3.0'
    ops '  f:\n    inputs: x\n    def: |\n      a, b = [x, x + 1]\n      r = a + b\n'
    ok 'gload --ops o.yaml -e "f(x)" | grun --ops o.yaml x=2' 'out = 5.0'
    ops '  f:\n    inputs: x\n    props: "p: ints = 3, q: ints = [1, 2], s: str = '"'ab'"', d: dtype = float32, k: int = -4, ax: axes = None, fl: float = 2.5, bo: bool = True"\n    def: sum(x, axis=ax) + k * fl\n'
    ok 'gload --ops o.yaml -e "f(x)" | grun --ops o.yaml x=2' 'out = -8.0'
    like 'gload --ops o.yaml --op f' 'p: a list of integers; \[3\]' "s: a text; 'ab'" "d: a dtype; 'float32'" 'k: an integer; -4' 'bo: True or False; True'
    ops '  f:\n    inputs: x\n    props: {b: bool, i: int, fl: float, d: dtype, s: str, l: ints}\n    def: x * fl\n    partials: {x: fl}\n'
    ok "gload --ops o.yaml -e \"f(x, True, 2, 3.0, float32, 'a', [1])\" | ggrad --ops o.yaml | grun --ops o.yaml x=2" $'out = 6.0\nd_out_d_x = 3.0'
    bad 3 E_ARITY 'f needs the argument b' 'gload --ops o.yaml -e "f(x)"'
    ops '  f:\n    inputs: {x: tensor, k: int}\n    def: x * k\n    flops: k.ndim + x.size\n'
    ok 'gload --ops o.yaml -e "f(x, 3)" | grun --ops o.yaml x=2' 'out = 6.0'
    ops '  f:\n    inputs: {x: tensor, "s?": ints}\n    def: x\n'
    ok 'gload --ops o.yaml -e "f(x)" | grun --ops o.yaml x=2' 'out = 2.0'
    # what only a call brings out
    ops '  f:\n    inputs: x\n    outputs: a, b\n    def: x\n'
    bad 3 E_ARITY 'f has 2 outputs, but this is a variable' 'gload --ops o.yaml -e "f(x)"'
    ops '  f:\n    inputs: x\n    outputs: a, b\n    def: "[x, x, x]"\n'
    bad 3 E_ARITY 'f has 2 outputs, but this is a list' 'gload --ops o.yaml -e "f(x)"'
    ops '  f:\n    inputs: x\n    def: qr(x)\n'
    bad 3 E_ARITY 'o.yaml:5:10: .*qr has 2 outputs: take one with \[0\]' 'gload --ops o.yaml -i "x: float64[2, 2]" -e "f(x)"'
    ops '  f:\n    inputs: x\n    def: |\n      a, b = [x]\n      r = a + b\n'
    bad 3 E_ARITY '2 names for another number of values' 'gload --ops o.yaml -e "f(x)"'
}

@test "a pullback and a pushforward of an op with two outputs, used together or alone" {
    ops '  f:\n    inputs: x, y\n    outputs: a, b\n    def: |\n      a = x * y\n      b = x + y\n    pullback: {x: g_a * y + g_b, y: g_a * x + g_b}\n    pushforward: {a: t_x * y + x * t_y, b: t_x + t_y}\n'
    gload --ops o.yaml -e 'a, b = f(x, y)' -e 'c = a * b' -o g.tlg
    gload --ops o.yaml g.tlg --outputs c -o c.tlg
    ok 'ggrad --ops o.yaml --check c.tlg x=2 y=3'
    ok 'gload --ops o.yaml g.tlg --outputs a | ggrad --ops o.yaml | grun --ops o.yaml x=2 y=3' $'a = 6.0\nd_a_d_x = 3.0\nd_a_d_y = 2.0'
    ok 'ggrad --ops o.yaml --jvp c --wrt x c.tlg | grun --ops o.yaml x=2 y=3 t_x=1' $'c = 30.0\njvp_c = 21.0'
}

@test "what is wrong with an op of two outputs is said at the row" {
    local text code at want
    while IFS='#' read -r text code at want; do
        ops "$text"
        bad 3 "$code" "$want" 'gload --ops o.yaml -e 1.5'
        grep -q "^gload: o.yaml:$at: error" .err || complain "should be at $at" "$text"
    done <<'END'
  f:\n    inputs: x\n    outputs: a, b\n    def: |\n      a = x\n      b = x\n    partials: {x: 1}\n#E_PLUGIN#9:5#with one output: write a pullback
  f:\n    inputs: x\n    outputs: a, b\n    def: |\n      a = x\n      b = x\n    pushforward: {a: t_x}\n#E_PLUGIN#9:5#lacks an output
  f:\n    inputs: x\n    outputs: a, x\n    def: |\n      a = x\n      b = x\n#E_PLUGIN#5:17#x is an input or a prop already
  f:\n    inputs: x\n    outputs: a, b\n    def: |\n      a = x\n#E_PLUGIN#7:7#no line defines its output b
END
}

# One file of ops with inputs of each kind; a call of one, its type and its value with x = [1, 2, 3], y = 2.5,
# k = 2, m = [[1, 2, 3], [4, 5, 6]], q = [1, 2, 3, 4] and b = True.
@test "inputs of every kind: what a call is, before and after it is expanded, and in every form" {
    local many sum twenty expr type want inputs
    many=$(seq -s', ' -f 'a%g' 20) sum=$(seq -s' + ' -f 'a%g' 20) twenty=$(seq -s', ' 20)
    ops "  f20:\n    inputs: $many\n    def: $sum\n  sel:\n    inputs: {x: tensor, i: int, b: bool}\n    def: where(b, x[i], -x[i])\n"
    cat >>o.yaml <<'END'
  rows:
    inputs: {x: tensor, n: int}
    def: broadcast_to(x, [n, x.shape[0]])
  shp:
    inputs: {x: tensor, s: ints}
    def: broadcast_to(x, s)
  anyf:
    inputs: {x: any}
    def: x
  lst:
    inputs: {l: list, v: item}
    def: list_append(l, v)
  ar:
    inputs: {x: array}
    def: x * 2
  two:
    inputs: x
    outputs: s, p
    def: (x + x, x * x)
  use:
    inputs: x
    def: two(x)[0] + two(x)[1]
END
    inputs="-i 'x: float64[3]' -i 'y: float64' -i 'k: int64' -i 'm: float64[2, 3]' -i 'q: float64[n]' -i 'b: bool'"
    while IFS='#' read -r expr type want; do
        ok "gload --ops o.yaml --new $inputs -e 'out = $expr' --outputs out -o u.tlg"
        like 'gload --ops o.yaml --info u.tlg' "^outputs +out +$type\$"
        ok 'grewrite --ops o.yaml u.tlg -o e.tlg'
        ok 'gload --ops o.yaml u.tlg -o u.yaml'
        for f in u.tlg e.tlg u.yaml; do
            ok "grun --ops o.yaml $f x=[1,2,3] y=2.5 k=2 m=[[1,2,3],[4,5,6]] q=[1,2,3,4] b=True --on-unused-input ignore | tr -s '\n ' ' '" "out = $want "
        done
    done <<END
f20($twenty)#int64#210
f20(x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, y)#float64\[3\]#[21.5, 40.5, 59.5]
sel(x, 1, True)#float64#2.0
sel(x, 1, False)#float64#-2.0
sel(x, k, b)#float64#3.0
sel(x, 0, k)#float64#1.0
sel(x, 1, False) + sel(x, 1, True) + sel(x, 2, True)#float64#3.0
rows(x, 2)#float64\[2, 3\]#[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
rows(x, k)#float64\[\?, 3\]#[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
sum(rows(x, 2)) + sum(rows(x, 3))#float64#30.0
sum(rows(q, n), axis=0)#float64\[n\]#[4.0, 8.0, 12.0, 16.0]
sum(rows(q, shape(q)[0])) + sum(rows(q, 4)) + sum(rows(q, n))#float64#120.0
shp(y, [2, 2])#float64\[2, 2\]#[[2.5, 2.5], [2.5, 2.5]]
shp(y, [k, 2])#float64\[\?, \?\]#[[2.5, 2.5], [2.5, 2.5]]
shp(y, 3)#float64\[3\]#[2.5, 2.5, 2.5]
shp(y, int8(array([2])))#float64\[2\]#[2.5, 2.5]
shp(y, [2])[0] + shp(y, [2, 1])[0, 0] + shp(y, [n, 1])[0, 0] + shp(y, [1, n])[0, 0]#float64#10.0
anyf(x)#float64\[3\]#[1.0, 2.0, 3.0]
anyf(2)#int64#2
anyf(make_list(x, x))#list\(float64\[3\]\)#[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
anyf(rng_state([1, 0, 0, 0]))#random#rng_state([1, 0, 0, 0])
lst([x], x)#list\(float64\[3\]\)#[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
lst([1, 2], 2.5)#list\(float64\)#[1.0, 2.0, 2.5]
lst(make_list(1.0), 2)#list\(float64\)#[1.0, 2.0]
ar(x)#float64\[3\]#[2.0, 4.0, 6.0]
ar(csr_from_dense(m))#sparse\('csr', float64\[2, 3\]\)#csr([2.0, 4.0, 6.0, 8.0, 10.0, 12.0], [0, 1, 2, 0, 1, 2], [0, 3, 6], (2, 3))
two(x)[1]#float64\[3\]#[1.0, 4.0, 9.0]
use(x)#float64\[3\]#[3.0, 8.0, 15.0]
END
    while IFS='#' read -r expr code want; do
        bad 3 "$code" "$want" "gload --ops o.yaml --new $inputs -e \"$expr\" -o u.tlg"
    done <<'END'
f20(1)#E_ARITY#needs the argument a2
sel(x, 1.5, True)#E_TYPE#1:8: .*expected an integer for .i
sel(x, 1, 2)#E_TYPE#1:11: .*expected True or False for .b
sel(x, 1, y)#E_DTYPE#sel takes a bool for b, not float64
sel(x, x, True)#E_SHAPE#sel takes a scalar for i, not float64.3
sel(x, 1, x > 1)#E_SHAPE#sel takes a scalar for b, not bool.3
rows(x, -1)#E_SHAPE#a size can.t be negative, got -1
shp(y, x)#E_DTYPE#expected an integer, not float64.3
shp(y, m)#E_DTYPE#expected an integer, not float64.2, 3
shp(y, [1.5])#E_TYPE#expected an integer, not a float
anyf('a')#E_TYPE#a string can.t be a value
END
    ok "gload --ops o.yaml --new -i 'x: float64[3]' -e 'c = sum(f20($(seq -f x%.0f 20 | sed 's/[0-9]*//g' | paste -sd,)))' --outputs c | ggrad --ops o.yaml | grun --ops o.yaml x=[1,2,3]" $'c = 120.0\nd_c_d_x = [20.0, 20.0, 20.0]'
}

@test "ops of ops in loops, of many inputs, with functions of their own: as in their definition, with and without rewriting" {
    local many sum expr want mode
    many=$(seq -s', ' -f 'a%g' 20) sum=$(seq -s' + ' -f 'a%g' 20)
    ops "  f20:\n    inputs: $many\n    def: $sum\n"
    cat >>o.yaml <<'END'
  two:
    inputs: x
    outputs: s, p
    def: (x + x, x * x)
  use:
    inputs: x
    def: two(x)[0] + two(x)[1]
  more:
    inputs: {x: tensor, y?: tensor}
    def: use(x) + f20(x, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, x)
  own:
    inputs: x
    def: |
      h = lambda v: v * x
      r = h(h(x)) + astype(x, float32)
    flops: 3 * x.size
  kinds:
    inputs: {x: tensor, n: int}
    props: "p: int, q: axis, s: str, d: float, t: dtype, b: bool, l: ints, a: axes, m: sides"
    def: x * p * d
    adjoint: {x: g * p * d}
    flops: n.ndim + sum(l) + sum(a) + sum(m) + x.size
  test:
    inputs: x
    def: x > 0
    partials: {x: 0}
END
    while IFS='#' read -r expr want; do
        ok "gload --ops o.yaml --new -i 'x: float64[3]' -e \"out = $expr\" --outputs out -o u.tlg" || return
        for mode in FAST_RUN FAST_COMPILE DEBUG; do
            ok "grun --ops o.yaml u.tlg x=[1,2,3] --mode $mode" "out = $want" || return
        done
    done <<'END'
scan(lambda s: more(s), outputs_info=[x], n_steps=2)[-1]#[639.0, 1038.0, 1695.0]
map(lambda v: more(v), x)#[23.0, 30.0, 39.0]
map(lambda v: own(v), x)#[2.0, 10.0, 30.0]
own(x)#[2.0, 10.0, 30.0]
kinds(x, 2, 3, 0, 'a', 0.5, float32, True, [1], [0], [1, 1])#[1.5, 3.0, 4.5]
test(x - 2)#[False, False, True]
END
    ok 'gload --ops o.yaml --new -i "x: float64[3]" -e "y = sum(map(lambda v: more(v), x))" --outputs y | ggrad --ops o.yaml --cost y --only | grun --ops o.yaml x=[1,2,3]' 'd_y_d_x = [6.0, 8.0, 10.0]'
    ok "gload --ops o.yaml --new -i 'x: float64[3]' -e \"kinds(x, 2, 3, 0, 'a', 0.5, float32, True, [1, 5], [0, 1], [1, 1])\" | gprof --ops o.yaml --static - -O json | jq .total.flops" 12
}

@test "many ops, names and levels: what is listed and where it ends" {
    local i text='' many
    many=$(seq -s', ' -f 'a%g' 20)
    ops "  g20:\n    inputs: $many\n    def: a1 * nope\n"
    bad 3 E_NAME '.nope. is not defined in this text of g20' 'gload --ops o.yaml -e 1.5'
    grep -q 'the names here are a1, a2, .*a12, \.\.\.$' .err
    for i in $(seq 14); do text+="  c$i:\n    inputs: x\n    def: c$((i % 14 + 1))(x)\n"; done
    ops "$text"
    bad 3 E_CYCLE 'c1 -> c2 -> c3 -> ' 'gload --ops o.yaml -e 1.5'
    text='  c1:\n    inputs: x\n    def: x + 1\n'
    for i in $(seq 2 64); do text+="  c$i:\n    inputs: x\n    def: c$((i - 1))(x) + 1\n"; done
    ops "$text"
    ok 'gload --ops o.yaml --new -i "x: float64" -e "c64(x)" | grun --ops o.yaml x=0.5' 'out = 64.5'
    ok 'gload --ops o.yaml --new -i "x: float64" -e "c64(x)" | grewrite --ops o.yaml | grun x=0.5' 'out = 64.5'
    ops "$text  c65:\n    inputs: x\n    def: c64(x) + 1\n"
    bad 6 E_LIMIT 'defined by each other more than 64 deep' 'gload --ops o.yaml -e 1.5'
}

@test "props of every kind: their defaults, in calls, texts and formulas" {
    local expr text want flops
    ops "  f:\n    inputs: x\n    props: \"p: int = 2, q: ints = [1, -2], s: str = 'abc', d: float = -0.5, t: dtype = float32, b: bool = True, n: axis = -1, k: key = 'fro', l: key = 2, m: sides = (1, 2)\"\n    def: sum(x, axis=n) * p * d + norm(x, ord=l) * (norm(x, ord=k) - norm(x, ord=k))\n    pullback: {x: g * x}\n    flops: p * 100 + d + sum(q) + r.size\n"
    while IFS='#' read -r expr text want flops; do
        ok "gload --ops o.yaml --new -i 'x: float64[10, 4]' -e \"out = $expr\" --outputs out -o u.tlg"
        ok 'gload --ops o.yaml u.tlg -O math | tail -n 1' "out = $text"
        ok "grun --ops o.yaml u.tlg x='ones((10, 4))' -O json | jq -c '.data | unique'" "$want"
        ok 'gprof --ops o.yaml --static u.tlg -O json | jq .total.flops' "$flops"
    done <<'END'
f(x)#f(x)#[-4]#208.5
f(x, q=[5])#f(x, q=[5])#[-4]#214.5
f(x, q=[], p=3, d=1)#f(x, p=3, q=[], d=1.0)#[12]#311
f(x, 2, [1, -2], 'abc', -0.5, float32, True, -1, 'fro', 2)#f(x)#[-4]#208.5
f(x, m=1)#f(x, m=[1])#[-4]#208.5
f(x, m='edge', s='k')#f(x, s='k', m='edge')#[-4]#208.5
f(x, m=[(1, 2), (0, 4), (5, 6)])#f(x, m=[1, 2, 0, 4, 5, 6])#[-4]#208.5
f(x, n=0, s='', t='int8', b=False, k=1, l='fro')#f(x, s='', t='int8', b=False, n=0, k=1.0, l='fro')#[-10]#202.5
END
}

@test "a prop of sides takes no single pair in a list" {
    ops "  f:\n    inputs: x\n    props: \"m: sides = 'same'\"\n    def: x\n    example: f(1) -> 1\n"
    ok 'gload --ops o.yaml --op f | grep ^props' "props         m: a number, a list of numbers or pairs, or a text; 'same' if left out"
    bad 3 E_ARG "f: m must be an integer, a list of integers, of pairs for several axes, or a string" "gload --ops o.yaml --new -i x:float64 -e 'f(x, m=[[1, 2]])'"
    bad 3 E_ARG "f: m must be an integer" "gload --ops o.yaml --new -i x:float64 -e 'f(x, m=[[1, 2, 3], [1, 2, 3]])'"
    bad 3 E_ARG "f: m must be an integer" "gload --ops o.yaml --new -i x:float64 -e 'f(x, m=1.5)'"
}

@test "a definition with functions of its own, a truth value and an example without the op" {
    ops '  f:\n    inputs: x\n    def: |\n      h = lambda v: v + k\n      k = sum(x)\n      r = h(x) * h(1)\n  pos:\n    inputs: x\n    def: x > 0\n    partials: {x: 0}\n  two:\n    inputs: x\n    def: x * 2\n    example: 1 + 1 -> 2\n'
    ok 'gload --ops o.yaml --new -i "x: float64[3]" -e "f(x)" | grun --ops o.yaml x=[1,2,3]' 'out = [49.0, 56.0, 63.0]'
    ok 'gload --ops o.yaml --new -i "x: float64[3]" -e "pos(x)" | grun --ops o.yaml x=[1,0,-3]' 'out = [True, False, False]'
    ok 'gload --ops o.yaml --new -i "x: float64[3]" -e "two(x)" | grun --ops o.yaml x=[1,0,-3]' 'out = [2.0, 0.0, -6.0]'
}

@test "an op that became another without a new version is told by every tool that uses the graph" {
    local text code want line
    ops '  f:\n    inputs: x, y\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x * k, x + y)\n'
    gload --ops o.yaml --new -i 'x: float64[3]' -e 'p, q = f(x, x, k=3)' -e 'y = sum(p + q)' --outputs y -o f.tlg
    while IFS='#' read -r text code want; do
        ops "  f:\\n    inputs: $text\\n"
        bad 3 "$code" "$want" 'gload --ops o.yaml f.tlg --check'
    done <<'END'
x, y\n    props: "k: int = 1, b: bool = True"\n    def: x * y#E_TYPE#f has 1 output here, but the graph says 2
x, y\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2, c\n    def: (x * y, x, y)#E_TYPE#f has 3 outputs here, but the graph says 2
x, y\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x, sum(y))#E_TYPE#output 1 of f is float64, but the graph says float64\[3\]
x\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x, x)#E_FORMAT#the op "f" with 2 inputs
x, y, z\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x, x)#E_FORMAT#the op "f" with 2 inputs
x, y\n    props: "b: bool = True"\n    outputs: a, b2\n    def: (x, x)#E_FORMAT#the op "f" has no prop "k"
x, y\n    props: "k: str, b: bool = True"\n    outputs: a, b2\n    def: (x, x)#E_FORMAT#the prop "k" of the op "f" has the wrong kind
x, y\n    props: "k: int = 1, b: float = 1.0"\n    outputs: a, b2\n    def: (x, x)#E_FORMAT#the prop "b" of the op "f" has the wrong kind
x, y\n    props: "k: int = 1, b: bool = True, c: float"\n    outputs: a, b2\n    def: (x, x)#E_FORMAT#the op "f" needs the prop "c"
{x: tensor, y: int}\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x, x)#E_TYPE#f does not take float64\[3\] for y
{x: list, y: tensor}\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x, x)#E_TYPE#f takes a list for x, not float64\[3\]
x, y\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    accepts: int\n    def: (x, x)#E_DTYPE#f takes integers, not float64
x, y\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    def: (x @ ones((4, 4)), x)#E_SHAPE#axis 0 has 3, axis 0 has 4
x, y\n    props: "k: int = 1, b: bool = True"\n    outputs: a, b2\n    replace: true\n    def: (x, y)#E_TYPE#f is an abbreviation, which can.t be in a graph
END
    ops '  f:\n    inputs: x\n    def: 2 * x\n'
    gload --ops o.yaml --new -i 'x: float64[3]' -e 'y = sum(f(x))' --outputs y -o f.tlg
    ops '  f:\n    inputs: x\n    def: sum(x)\n'
    while read -r line; do
        bad 3 E_TYPE 'output 0 of f is float64, but the graph says float64\[3\]' "$line"
    done <<'END'
gload --ops o.yaml --info f.tlg
gload --ops o.yaml --info f.tlg -O json
gload --ops o.yaml --nodes -O json f.tlg
gload --ops o.yaml --check f.tlg
ggrad --ops o.yaml f.tlg
ggrad --ops o.yaml --check f.tlg
grewrite --ops o.yaml f.tlg
grewrite --ops o.yaml --verify 2 f.tlg
grewrite --ops o.yaml --diff f.tlg f.tlg
grewrite --ops o.yaml --explain f.tlg
grun --ops o.yaml f.tlg x=[1,2,3]
grun --ops o.yaml --mode DEBUG f.tlg x=[1,2,3]
gprof --ops o.yaml f.tlg x=[1,2,3]
gprof --ops o.yaml --static f.tlg
END
}

@test "joining and differences: what they refuse" {
    bad 3 E_SHAPE 'lists of equal depth: this one is 0 deep, not 1' 'gload -e "y = block([[eye(2)], eye(2)])"'
    bad 3 E_SHAPE 'meshgrid takes vectors' 'gload -e "y = meshgrid(eye(2))[0]"'
    bad 3 E_ARG "'xy' or 'ij'" 'gload -e "y = meshgrid([1], [2], indexing=1)[0]"'
    bad 3 E_ARITY 'meshgrid takes 1 to' 'gload -e "y = meshgrid()"'
    bad 3 E_TYPE 'ix_ takes vectors of integers or bools.*not float64.1.' 'gload -e "x = eye(2)" -e "y = x[ix_([0.5], [1])]"'
    bad 3 E_TYPE 'not int64.1, 1.' 'gload -e "x = eye(2)" -e "y = x[ix_([[1]])]"'
    bad 3 E_ARITY 'ix_ takes 1 to' 'gload -e "x = eye(2)" -e "y = x[ix_()]"'
    bad 3 E_ 'bool' 'gload -e "x = eye(2)" -e "t = (1, True)" -e "y = x[t]"'
    bad 3 E_ARG 'meshgrid has no argument sparse' 'gload -e "y = meshgrid([1], sparse=True)"'
    bad 3 E_ARG 'n must be from 0 to' 'gload -e "y = diff([1, 2], n=-1)"'
    bad 3 E_SHAPE 'diff: prepend has 2 dims, but x 1' 'gload -e "y = diff([1, 2], prepend=[[1]])"'
    bad 3 E_ARG "'full', 'same' or 'valid'" 'gload -e "y = convolve([1], [2], mode='"'all'"')"'
    bad 3 E_SHAPE 'no elements' 'gload -e "y = convolve(zeros(0), [2.])"'
    bad 3 E_ARG 'batch_dims must be a number of dims, not -2' 'gload -e "y = convolve([1], [2], batch_dims=-2)"'
    bad 3 E_SHAPE 'y must have 2 dims, not 1' 'gload -e "y = convolve([[1]], [2], batch_dims=1)"'
    bad 3 E_SHAPE 'axis 0 has 1, axis 0 has 2, and they must be equal' 'gload -e "y = convolve([[1]], [[2], [3]], batch_dims=1)"'
    bad 5 E_RUN_SHAPE 'dim 0 of x is 1, but that of y 2' 'gload -i "x: float64[?, 2]" -i "y: float64[?, 2]" -e "z = convolve(x, y, batch_dims=1)" | grun x=[[1,2]] y=[[1,2],[3,4]]'
    bad 5 E_RUN_SHAPE 'dim 0 of a is 1, but that of v 2' 'gload -i "a: float64[?, 2]" -i "v: float64[?]" -e "z = searchsorted(a, v, batch_dims=1)" | grun a=[[1,2]] v=[1,2]'
    bad 5 E_ 'x has no elements' 'gload -i "x: float64[n]" -e "y = convolve(x, [2.])" | grun "x=zeros(0)"'
    # a part of float64 among float32 decides the dtype, and dims that the type does not know
    ok 'gload -i "x: float32[n]" -e "a, b = meshgrid(x, [1., 2.])" -e "c = block([[a], [b]])" | grun x=[5,6]' $'a = [[5.0, 6.0],\n     [5.0, 6.0]]\nb = [[1.0, 1.0],\n     [2.0, 2.0]]\nc = [[5.0, 6.0],\n     [5.0, 6.0],\n     [1.0, 1.0],\n     [2.0, 2.0]]'
}
