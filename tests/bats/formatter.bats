#!/usr/bin/env bats
# `gload -O yaml FILE` keeps what the author of the file wrote.
load common

author() {
    cat >a.yaml <<'END'
# A licence.
# Its second line.

thunkline: 1   # the format
name: "odd"
doc: >
    folded text that
    goes on
inputs: |
  x: float64[3]  # points

  # weights
  v:   float64[n]
shared:
      # state
      'W': "float64[3] = zeros(3)"   # start
      b: = ones(3)
let:
  # a lambda
  sq: 'lambda t: t * t'      # squares
  y: sq(x) * 2
  "p, q": "(x + 1, x - 1)"
  total: float64 = sum(y)
  tree: "{'a': x + 1, 'b': [x, 2 * x]}"
  z: tree['a'] + tree['b'][1]
  g, h: grad(total, [x, x])
  # end of let
# the outputs
outputs: # here
  # the sum
  total: total
  twice: '2 * total + sum(map(lambda t: t + 1, x))'
  z: z
updates:
  W: W + sum(x)  # step
functions:
  # used by nobody
  twist:
    inputs: {a: float64}
    let: |
      c = (a +      # over two
           1.)   # lines
    outputs: [c]
  # end of functions
# the end
END
}

formatted() {
    cat <<'END'
# A licence.
# Its second line.

thunkline: 1  # the format
name: "odd"
doc: >
  folded text that
  goes on
inputs:
  x: float64[3]  # points

  # weights
  v: float64[n]
shared:
  # state
  'W': "float64[3] = zeros(3)"  # start
  b: = ones(3)
let: |
  # a lambda
  sq = lambda t: t * t  # squares
  y = sq(x) * 2
  p, q = (x + 1, x - 1)
  total: float64 = sum(y)
  tree = {'a': x + 1, 'b': [x, 2 * x]}
  z = tree['a'] + tree['b'][1]
  g, h = grad(total, [x, x])
  # end of let
# the outputs
outputs:  # here
  # the sum
  total: total
  twice: '2 * total + sum(map(lambda t: t + 1, x))'
  z: z
updates: |
  W = W + sum(x)  # step
functions:
  # used by nobody
  twist:
    inputs:
      a: float64
    let: |
      c = (a +      # over two
           1.)  # lines
    outputs: [c]
  # end of functions
# the end
END
}

@test "a file comes back as its author wrote it, laid out evenly, and again the same" {
    author
    ok 'gload -O yaml a.yaml' "$(formatted)"
    formatted >b.yaml
    ok 'gload -O yaml b.yaml | cmp - b.yaml'
    ok 'gload a.yaml -o a.tlg && gload b.yaml | grewrite --diff a.tlg'
    ok 'gload -O yaml b.yaml -o c.yaml && cmp b.yaml c.yaml'
}

@test "all models of the project are formatted to an equal graph, with all comments" {
    local f
    for f in "$ROOT"/examples/*/model.yaml; do
        cp "$f" f.yaml
        gload -O yaml f.yaml >once
        gload -O yaml once | cmp - once
        gload f.yaml -o f.tlg
        ok 'grewrite --diff f.tlg once'
        diff <(grep -o '#.*' f.yaml | sort) <(grep -o '#.*' once | sort)
    done
}

@test "changed parts are written anew, the rest stays as the author wrote it" {
    author
    formatted >b.yaml
    # an output and a name more
    ggrad a.yaml --cost total --wrt x -O yaml --no-provenance >o.yaml
    run diff b.yaml o.yaml
    [ "$output" = "27a28
>   d_total_d_x = g
33a35
>   d_total_d_x: g" ]
    # a name that expressions use
    gload a.yaml --rename y=yy -O yaml --no-provenance >o.yaml
    run diff b.yaml o.yaml
    [ "$output" = "21d20
<   y = sq(x) * 2
23d21
<   total: float64 = sum(y)
27a26,28
>   _1 = x * x
>   yy = _1 * 2.0
>   total = sum(yy)" ]
    # a size: the types that had it
    gload a.yaml --dim n=5 -O yaml --no-provenance >o.yaml
    run diff b.yaml o.yaml
    [ "$output" = "13c13
<   v: float64[n]
---
>   v: float64[5]" ]
    # the value of a shared variable
    gload a.yaml --outputs total | grun x=[1,2,3] --save s.tlg >/dev/null
    ok "gload a.yaml --set 'W=[1,2,3]' -O yaml | grep -A1 'state'" $'  # state\n  \'W\': float64[3] = [1.0, 2.0, 3.0]  # start'
    # what comes from the binary form has no author
    [ "$(gload a.yaml | gload -O yaml | grep -c '#')" = 0 ]
}

@test "an expression whose inside is used elsewhere is written anew" {
    cp "$ROOT/examples/mlp/model.yaml" mlp.yaml
    ggrad mlp.yaml --cost loss --wrt b2 -O yaml --no-provenance >o.yaml
    grep -qx '  hidden = tanh(x @ W1 + b1)' o.yaml
    grep -qx '  _1 = log_softmax(logits, axis=1)' o.yaml
    [ "$(grep -c log_softmax o.yaml)" = 1 ]
    ok 'ggrad mlp.yaml --cost loss --wrt b2 | grewrite --diff o.yaml'
}

@test "rewriting keeps the expressions that it leaves alone, and what functions they need" {
    cat >m.yaml <<'END'
thunkline: 1
inputs:
  x: float64[n]
functions:
  half:
    inputs:
      t: float64[n]
    let: |
      o = t / 2  # half
    outputs: [o]
let: |
  a = half(x) @ x                                # kept
  b = exp(log(x))                                # rewritten
  c = scan(lambda u, s: s + u, sequences=[x], outputs_info=[0.])
  d = sum(c) + 0 * a
outputs: [a, b, d]
END
    grewrite m.yaml --mode NONE -O yaml >o.yaml
    diff <(sed 's/   *#/  #/' m.yaml) <(grep -v -e ^steps: -e ^modes: o.yaml)
    grewrite m.yaml -O yaml >o.yaml
    grep -qx '  c = scan(lambda u, s: s + u, sequences=\[x\], outputs_info=\[0.\])' o.yaml
    ok 'grun o.yaml x=[1,2]' "$(grun m.yaml x=[1,2])"
    # a file merged with another: only its own
    ok 'gload m.yaml -e "e = a + 1" -O yaml | grep -A9 -e "^let:" | grep -v scan' "let: |
  a = half(x) @ x  # kept
  b = exp(log(x))  # rewritten
  d = sum(c) + 0 * a
  e = a + 1.0
outputs: [a, b, d]"
}

@test "arrays of files: a name that load() still means is kept, or the array is written" {
    mkdir sub
    printf 'thunkline: 1\nlet: |\n  w = load("w.npy") * 2  # from outside\noutputs: [w]\n' >m.yaml
    grun -r y=w.npy <<<'{"thunkline": 1, "let": {"y": "arange(100) * 1.0"}, "outputs": ["y"]}' >/dev/null
    ok 'gload -O yaml m.yaml' "$(cat m.yaml)"
    ok 'gload -O yaml m.yaml -o sub/m.yaml'
    ok 'grun sub/m.yaml --outputs w -r w=sub.npy && grun m.yaml -r w=w2.npy && cmp sub.npy w2.npy'
}

@test "comments of empty sections, of each item of a list and of blocks all stay" {
    printf '%s\n' 'thunkline:	1	# tab' 'inputs: | # in' '  # none' \
        'shared: {} # no state' 'functions:' 'dims: [ # sizes' '  rows, # r' '  # between' '  cols] # c' \
        'let:	|' '  y = (zeros(rows) # y' '    @ zeros(rows))	# z' '' '  # end' '' '' \
        'compare:' '# last' 'outputs:' '- y # first' '# and' '- rows # second' \
        'updates: {}' '# end' >m.yaml
    ok 'gload -O yaml m.yaml' 'thunkline: 1  # tab
# in
# none
# no state
# r
# between
dims: [rows, cols]  # sizes
# c
let: |
  y = (zeros(rows) # y
    @ zeros(rows))  # z

  # end
# last
# and
outputs: [y, rows]  # first
# second
# end'
    gload -O yaml m.yaml -o o.yaml
    ok 'gload -O yaml o.yaml | cmp - o.yaml'
    # an expression in a block, in a mapping
    printf '%s\n' 'thunkline: 1' 'inputs: {x: float64}' 'let:' '  y: |' '    sin(x' '      * 2)' \
        'outputs:' '  z: |' '      cos(y # c' '      + 1)' '  w: >-' '    y' '    + x' >m.yaml
    ok 'gload -O yaml m.yaml' 'thunkline: 1
inputs:
  x: float64
let: |
  y = sin(x
        * 2)
outputs:
  z: |
    cos(y # c
    + 1)
  w: >-
    y
    + x'
    gload -O yaml m.yaml -o o.yaml
    ok 'gload -O yaml o.yaml | cmp - o.yaml'
}

@test "an empty block, a bar with a comment, a declaration over several lines" {
    printf '%s\n' 'thunkline: 1' 'shared: |' '  w: float64[3] = concatenate([zeros(2),' '' '       ones(1)])  # start' \
        'updates: |' '# none' 'outputs:' '  z: | # bar' '      sum(w # all' '      + 1)' >m.yaml
    ok 'gload -O yaml m.yaml' 'thunkline: 1
shared:
  w: float64[3] = concatenate([zeros(2), ones(1)])  # start
# none
outputs:
  z: | # bar
    sum(w # all
    + 1)'
    gload -O yaml m.yaml -o o.yaml
    ok 'gload -O yaml o.yaml | cmp - o.yaml'
}

@test "trees among the outputs stay as they are written, in functions too" {
    cat >m.yaml <<'END'
thunkline: 1
inputs:
  x: float64
functions:
  both:
    inputs:
      t: float64
    let: |
      p = {'a': t, 'b': [t + 1]}
    outputs: [p]  # a tree
let: |
  q = both(x * 2)
  r = {'c': x * 3, 'd': q}
outputs:
  r: r  # of dicts
  s: "[x, x * 4]"
END
    ok 'gload -O yaml m.yaml | cmp - m.yaml'
    # a list of names, and an output more: each leaf has its line
    sed '/^outputs/,$d' m.yaml >n.yaml
    echo 'outputs: [r, x]  # names' >>n.yaml
    ok 'gload -O yaml n.yaml | cmp - n.yaml'
    gload n.yaml --outputs r,x,q -O yaml --no-provenance >o.yaml
    ok 'grun o.yaml x=1 -O json' "$(grun n.yaml --outputs r,x,q x=1 -O json)"
    grep -qx '  q = both(x \* 2)' o.yaml
}

@test "CRLF, a byte order mark, and characters of all kinds" {
    printf '\xef\xbb\xbf# Größe\r\nthunkline: 1\r\ndoc: "☃ # no"\r\ninputs: {x: float64} # ♥\r\nlet: |\r\n  y = (x *\r\n       2)  # ü\r\n  # end\r\noutputs:\r\n  größe: y\r\n' >m.yaml
    ok 'gload -O yaml m.yaml' '# Größe
thunkline: 1
doc: "☃ # no"
inputs:
  x: float64  # ♥
let: |
  y = (x *
       2)  # ü
  # end
outputs:
  größe: y'
}

@test "a text with arrays beside it keeps its author's lines, too" {
    cp "$ROOT/examples/mlp/model.yaml" m.yaml
    gload m.yaml --set 'b1=arange(100) * 1.0' -o o.yaml
    [ "$(grep -c "b1: float32\[100\] = load('o.b1\." o.yaml)" = 1 ]
    diff <(grep -v -e ^steps: -e b1: o.yaml) <(grep -v b1: m.yaml)
    ok "gload m.yaml --set 'b1=arange(100) * 1.0' -o m.npz && gload o.yaml -o o.npz && cmp m.npz o.npz"
    # from standard input there is no folder to load from, but what is written is read
    gload - -o p.yaml --set 'b1=arange(100) * 1.0' <m.yaml
    [ "$(grep -c '  hidden = tanh(x @ W1 + b1)' p.yaml)" = 1 ]
    ok 'gload --check p.yaml'
}
