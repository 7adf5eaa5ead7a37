#!/usr/bin/env bats
# Ops that the library defines as text (lib/ops/*/*.ops.yaml).
load common

names() { sed -n 's/^  \([a-z_0-9]*\):$/\1/p' "$ROOT"/lib/ops/*/*.ops.yaml; }

@test "each has a text, an example that holds, and is replaced by its definition" {
    local op example call value
    for op in $(names); do
        example=$(gload --op "$op" | sed -n 's/^example  *//p')
        call=${example%% -> *} value=${example##* -> }
        [ -n "$call" ] && [ "$call" != "$example" ] || { echo "$op has no example"; false; }
        gload -e "out = $call" -o g.tlg
        grun g.tlg --expect "out=$value" --rtol 1e-12 >/dev/null
        gload g.tlg -O json --nodes >nodes.json
        [ "$(grep -c "\"op\": \"$op\"" nodes.json)" = 0 ]
        gload --list-ops "$op" | grep -q "^$op "
    done
}

@test "a graph and an op file may use their names for functions of their own" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: float64}
functions:
  gelu:
    inputs: {a: float64}
    outputs: {b: a + 100}
let: |
  relu6 = lambda t: t + 1000
  y = gelu(x) + relu6(x)
outputs: [y]
Y
    ok 'grun g.yaml x=1' 'y = 1102.0'
    printf 'thunkline: 1\nops:\n  gelu:\n    inputs: x\n    def: x + 7\n' >own.yaml
    ok 'gload --ops own.yaml -i "x: float64" -e "y = gelu(x) + relu6(x)" | grun --ops own.yaml x=8' 'y = 21.0'
    # a variable of that name is no function
    bad 3 E_NAME 'there is no function `gelus`: did you mean `gelu`' 'gload -e "y = gelus(2.)"'
    ok 'gload -e "gelu = 2.0" -e "y = gelu * 2" | grun --outputs y' 'y = 4.0'
}

@test "derivatives, rows and dtypes are those of the definition" {
    ok 'gload -i "x: float32[n]" -e "y = sum(leaky_relu(x))" | ggrad | grun x=[1,-2]' $'y = 0.98\nd_y_d_x = [1.0, 0.01]'
    ok 'gload -i "x: float32[n]" -e "y = vectorize(lambda r: gelu(r))(x) - gelu(x)" | grun x=[1,-2,0.5]' 'y = [0.0, 0.0, 0.0]'
    ok 'gload -e "y = gelu(2)" | grun' 'y = 1.9544997361036416'
    bad 3 E_ARITY 'relu6 got too many arguments; its signature is relu6.x.' 'gload -e "y = relu6(2., 3)"'
    bad 3 E_ARG 'gelu' 'gload -e "y = gelu(2., approx=True)"'
}
