# Loops: scan over sequences and earlier results, as a function of the language.
load common

# is EXPRESSION VALUE: what a new graph of one expression gives.
is() { ok "gload --new -e '$1' | grun" "out = $2"; }
# no CODE REGEX EXPRESSION: it can't be built.
no() { bad 3 "$1" "$2" "gload --new -e '$3'"; }

@test "sequences, earlier results and the number of steps" {
    is 'scan(lambda x, c: x + c, sequences=[arange(5)], outputs_info=[1])' '[1, 2, 4, 7, 11]'
    is 'scan(lambda x: x * 2, sequences=[arange(4)])' '[0, 2, 4, 6]'
    is 'scan(lambda x: x * 2, arange(4))' '[0, 2, 4, 6]'
    is 'scan(lambda c: c * 2, outputs_info=[3], n_steps=4)' '[6, 12, 24, 48]'
    # longer sequences are cut, the shortest decides
    is 'scan(lambda x, c: x + c, sequences=[arange(5)], outputs_info=[0], n_steps=2)' '[0, 1]'
    is 'scan(lambda x, y: x * y, sequences=[arange(5), arange(3)])' '[0, 1, 4]'
    # no step at all: no rows, of the right shape and dtype
    is 'scan(lambda x, c: x + c, sequences=[arange(5)], outputs_info=[0], n_steps=0)' '[]'
    is 'shape(scan(lambda c: c * 2.0, outputs_info=[ones((2, 3))], n_steps=0))' '[0, 2, 3]'
    is 'shape(scan(lambda x: eye(2) * x, sequences=[zeros(0)]))' '[0, 2, 2]'
    # the others are the same in every step
    is 'scan(lambda x, c, k: c + k * x, sequences=[arange(4)], outputs_info=[0], non_sequences=[10])' '[0, 10, 30, 60]'
    ok 'gload --new -i "k: int64" -e "scan(lambda x, c: c + k * x, sequences=[arange(4)], outputs_info=[0])" | grun k=3' 'out = [0, 3, 9, 18]'
}

@test "several results, and what is kept of them" {
    local two='scan(lambda x, a, b: [a + x, a * b], sequences=[arange(1, 5)], outputs_info=[0, 1]'
    ok "gload --new -e 'a, b = $two)' --outputs a,b | grun" $'a = [1, 3, 6, 10]\nb = [0, 0, 0, 0]'
    ok 'gload --new -e "a, b = scan(lambda c: [c + 1, c * c], outputs_info=[0, None], n_steps=4)" --outputs a,b | grun' $'a = [1, 2, 3, 4]\nb = [0, 1, 4, 9]'
    ok 'gload --new -e "a, b = scan(lambda c: [c + 1, c * c], outputs_info=[0, None], n_steps=4, keep=[\"last\", 2])" --outputs a,b | grun' $'a = 4\nb = [4, 9]'
    is 'scan(lambda c: c + 1, outputs_info=[0], n_steps=4, keep="last")' 4
    is 'scan(lambda c: c + 1, outputs_info=[7], n_steps=0, keep="last")' 7
    is 'scan(lambda c: c + 1, outputs_info=[0], n_steps=2, keep=3)' '[1, 2]'
    bad 5 E_INDEX 'no step was run' 'gload --new -i "n: int64" -e "scan(lambda x: x, sequences=[arange(3)], n_steps=n, keep=\"last\")" | grun --mode FAST_COMPILE n=0'
}

@test "taps read other steps" {
    is 'scan(lambda a, b: a + b, outputs_info=[taps([0, 1], [-2, -1])], n_steps=4)' '[1, 2, 3, 5]'
    is 'scan(lambda b, a: 10 * a + b, outputs_info=[taps([1, 2], [-1, -2])], n_steps=2)' '[12, 32]'
    is 'scan(lambda a: a + 1, outputs_info=[taps([0, 10], [-2])], n_steps=5)' '[1, 11, 2, 12, 3]'
    is 'scan(lambda a, b: 10 * a + b, sequences=[taps(arange(5), [-1, 0])])' '[1, 12, 23, 34]'
    is 'scan(lambda a, b, c: 100 * a + 10 * b + c, sequences=[taps(arange(5), [-1, 0, 1])])' '[12, 123, 234]'
    is 'scan(lambda a: a, sequences=[taps(arange(5), [2])])' '[2, 3, 4]'
    is 'scan(lambda a: a, sequences=[taps(arange(5), [-2])])' '[0, 1, 2]'
    is 'scan(lambda a, b: 10 * a + b, sequences=[{"input": arange(4), "taps": [0, 1]}])' '[1, 12, 23]'
    is 'scan(lambda a, b: 10 * a + b, sequences=[taps(arange(5), [-1, 0])], go_backwards=True)' '[34, 23, 12, 1]'
    is 'scan(lambda x, c: 10 * c + x, sequences=[arange(1, 4)], outputs_info=[0], go_backwards=True)' '[3, 32, 321]'
    # cut at the end where it begins
    is 'scan(lambda x: x, sequences=[arange(5)], go_backwards=True, n_steps=2)' '[4, 3]'
}

@test "until ends the loop after the step in which it holds" {
    is 'scan(lambda p: [2 * p, until(2 * p > 45)], outputs_info=[1], n_steps=1024)' '[2, 4, 8, 16, 32, 64]'
    is 'scan(lambda p: [2 * p, until(p > 0)], outputs_info=[1], n_steps=1024)' '[2]'
    is 'scan(lambda p: [2 * p, until(p < 0)], outputs_info=[1], n_steps=3)' '[2, 4, 8]'
    is 'scan(lambda p: [2 * p, until(2 * p > 45)], outputs_info=[1], n_steps=1024, keep=["last"])' 64
    cat >w.yaml <<'Y'
thunkline: 1
functions:
  step:
    inputs: {p: int64, most: int64}
    let: |
      next = 2 * p
    outputs: {next: next}
    until: next > most
inputs:
  most: int64
let: |
  y = scan(step, outputs_info=[1], non_sequences=[most], n_steps=100)
outputs: [y]
Y
    ok 'grun w.yaml most=45' 'y = [2, 4, 8, 16, 32, 64]'
    ok 'gload w.yaml -O yaml | gload -O tlg | gload -O json | grun most=5' 'y = [2, 4, 8]'
}

@test "map, reduce, foldl, foldr and filter are scans" {
    is 'map(lambda x: x * x, arange(4))' '[0, 1, 4, 9]'
    is 'map(lambda x, y: x * y, [arange(4), arange(1, 5)])' '[0, 2, 6, 12]'
    is 'map(lambda x, k: x * k, arange(4), non_sequences=[10], go_backwards=True)' '[30, 20, 10, 0]'
    is 'reduce(lambda x, a: a + x, arange(5), 0)' 10
    is 'reduce(lambda x, a: a + x, zeros(0), 3.0)' 3.0
    is 'foldl(lambda x, a: 10 * a + x, [1, 2, 3], 0)' 123
    is 'foldr(lambda x, a: 10 * a + x, [1, 2, 3], 0)' 321
    ok 'gload --new -e "a, b = foldl(lambda x, a, b: [a + x, b * x], arange(1, 5), [0, 1])" --outputs a,b | grun' $'a = 10\nb = 24'
    is 'filter(lambda x: x % 2 == 0, arange(5))' '[0, 2, 4]'
    no E_TYPE 'one bool for each row' 'filter(lambda x: x, arange(5))'
    ok 'gload --new -i "x: float64[4]" -e "loss = foldl(lambda x, a: a * x, x, 1.0)" --outputs loss | ggrad --only --wrt x | grun x=[1,2,3,4]' 'd_loss_d_x = [24.0, 12.0, 8.0, 6.0]'
}

@test "a scan in a scan, and states of more dims" {
    is 'scan(lambda x: scan(lambda y, c: c + x * y, sequences=[arange(3)], outputs_info=[0]), sequences=[arange(3)])' \
        $'[[0, 0, 0],\n       [0, 1, 3],\n       [0, 2, 6]]'
    is 'scan(lambda m: m @ array([[1, 1], [1, 0]]), outputs_info=[eye(2, dtype=int64)], n_steps=5)[-1]' $'[[8, 5],\n       [5, 3]]'
}

@test "a literal that begins a state takes the dtype of the values that follow" {
    is 'scan(lambda x, c: c + x, sequences=[array([0.5, 1.5])], outputs_info=[0])' '[0.5, 2.0]'
    like 'gload --new -e "scan(lambda x, c: c + x, sequences=[float32([0.5, 1.5])], outputs_info=[0.0])" --info' 'out +float32'
    no E_DTYPE 'starts as float32, but lambda_1 turns it into float64' \
        'scan(lambda x, c: c + x, sequences=[array([0.5, 1.5])], outputs_info=[float32(0)])'
    grep -q 'float64(...), or the new value with float32(...)' .err
}

@test "dims: the steps are those of the sequence, rows those of the state" {
    cat >d.yaml <<'Y'
thunkline: 1
inputs:
  x: float32[t, b, 3]
  h0: float32[b, 4]
  W: float32[3, 4]
let: |
  hs = scan(lambda x, h: tanh(x @ W + h), sequences=[x], outputs_info=[h0])
  last = hs[-1]
outputs: [hs, last]
Y
    like 'gload --info d.yaml' 'hs +float32\[t, b, 4\]' 'last +float32\[b, 4\]'
}

@test "a step that takes a dim, or an argument called as one, makes a graph that all tools read" {
    local e
    for e in 'lambda e, a: a + e * n + x + x.size' 'lambda e, a: a + x.size + ones(x.shape) * e * n + x - 1 + 1 * e - e' 'lambda n, a: a + n * x.size + x'; do
        E=$e ok 'gload -i "x: float64[n]" -i "h: float64[n]" -e "y = sum(scan($E, sequences=x, outputs_info=h)[-1])" -o g.yaml && gload g.yaml --check && ggrad g.yaml --wrt x -o d.yaml'
        ok 'gload d.yaml --check'
    done
    ok 'gload -i "x: float64[n]" -e "y = scan(lambda e, a: a + e * n + x.size, sequences=x, outputs_info=0.)" | grun x=[1,2]' 'y = [4.0, 10.0]'
}

@test "what is printed reads back to an equal graph, in every form" {
    cat >p.yaml <<'Y'
thunkline: 1
functions:
  step:
    inputs: {x0: float64, x1: float64, h2: float64, h1: float64, w: float64}
    let: |
      h = tanh(x0 * w + x1 - h2 * h1)
    outputs: {h: h, e: exp(h)}
inputs:
  x: float64[t]
  h0: float64[2]
let: |
  hs, es = scan(step, sequences=[taps(x, [-1, 0])], outputs_info=[taps(h0, [-2, -1]), None], non_sequences=[0.5], truncate_gradient=3, keep=['all', 1])
outputs: [hs, es]
Y
    gload p.yaml | gload -O yaml --no-provenance -o a.yaml
    like 'cat a.yaml' "hs, es = scan\(step, sequences=\[taps\(x, \[-1, 0\]\)\], outputs_info=\[taps\(h0, \[-2, -1\]\), None\], non_sequences=\[0.5\], n_steps=_[0-9]+, truncate_gradient=3, keep=\['all', 1\]\)"
    local f
    for f in yaml json tlg; do
        ok "gload a.yaml --no-provenance -O $f | gload --no-provenance -O yaml | cmp - a.yaml"
        ok "gload a.yaml -O $f | grewrite --mode NONE --diff p.yaml"
    done
    ok 'grun a.yaml x=[1,2,3] h0=[0,0] | cmp - <(grun p.yaml x=[1,2,3] h0=[0,0])'
}

@test "each mistake has its own message at its place" {
    no E_SHAPE 'sequence 1 has 3 rows, but 4 steps need 4' 'scan(lambda x: x, sequences=[arange(3)], n_steps=4)'
    no E_SHAPE 'sequence 1 has 3 rows, but 3 steps with its taps need 4' 'scan(lambda x, y: x, sequences=[taps(arange(3), [0, 1])], n_steps=3)'
    no E_ARG 'needs a sequence or n_steps' 'scan(lambda c: c, outputs_info=[0])'
    no E_ARG 'has the tap 0, but only earlier steps' 'scan(lambda c: c, outputs_info=[taps([0], [0])], n_steps=2)'
    no E_ARG 'has the tap 1, but only earlier steps' 'scan(lambda c: c, outputs_info=[taps([0], [1])], n_steps=2)'
    no E_ARG 'the tap -1 is given twice' 'scan(lambda a, b: a, outputs_info=[taps([0, 1], [-1, -1])], n_steps=2)'
    no E_ARG 'the tap 0 is given twice' 'scan(lambda a, b: a, sequences=[taps(arange(3), [0, 0])])'
    no E_ARG 'has taps but no initial value' 'scan(lambda a: a, outputs_info=[{"taps": [-2]}], n_steps=2)'
    no E_SHAPE 'needs 2 rows, for its taps, but it has 1' 'scan(lambda a, b: a, outputs_info=[taps([0], [-1, -2])], n_steps=2)'
    no E_SHAPE 'needs one row for each step that its taps go back, but it is int64' 'scan(lambda a: a, outputs_info=[taps(0, [-2])], n_steps=2)'
    no E_ARG 'n_steps must be an integer that is not negative' 'scan(lambda a: a, outputs_info=[0], n_steps=-1)'
    no E_SHAPE 'its number of dims must not change' 'scan(lambda a: stack([a, a]), outputs_info=[0], n_steps=2)'
    no E_SHAPE 'its shape must not change' 'scan(lambda a: concatenate([a, a]), outputs_info=[zeros(2)], n_steps=2)'
    no E_TYPE 'an axis for steps' 'scan(lambda a: a, sequences=[float64(1.0)])'
    no E_ARITY 'the function takes 2 arguments, but gets 1' 'scan(lambda a, b: a, sequences=[arange(3)])'
    no E_ARITY 'has 1 output, but outputs_info has 2 entries' 'scan(lambda a, b: a, outputs_info=[0, 0], n_steps=2)'
    no E_TYPE 'the first argument of scan must be a function' 'scan(3, sequences=[arange(3)])'
    no E_TYPE 'until takes one bool, not float64' 'scan(lambda a: [a, until(1.5 * a)], outputs_info=[0], n_steps=2)'
    no E_ARG 'truncate_gradient must be a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, truncate_gradient=0)'
    no E_ARG 'truncate_gradient must be a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, truncate_gradient=-2)'
    no E_ARG 'truncate_gradient must be an integer that is written out' 'scan(lambda a: a, outputs_info=[0], n_steps=2, truncate_gradient=1.5)'
    no E_ARG 'checkpoint must be .sqrt. or a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, checkpoint=0)'
    no E_ARG 'checkpoint must be .sqrt. or a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, checkpoint=-1)'
    no E_ARG 'checkpoint must be .sqrt. or a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, checkpoint=1.5)'
    no E_ARG 'checkpoint must be .sqrt. or a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, checkpoint=99999999999)'
    no E_ARG 'checkpoint must be .sqrt. or a number of steps' 'scan(lambda a: a, outputs_info=[0], n_steps=2, checkpoint="sqr")'
    no E_ARG 'keep must be .all., .last. or a number of rows' 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep=0)'
    no E_ARG 'keep must be .all., .last. or a number of rows' 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep=-1)'
    no E_ARG 'keep must be .all., .last. or a number of rows' 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep=1.5)'
    no E_ARG 'keep must be .all., .last. or a number of rows' 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep=99999999999)'
    no E_ARG 'keep must be .all., .last. or a number of rows' 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep="none")'
    no E_ARG 'go_backwards must be True or False' 'scan(lambda a: a, sequences=[arange(3)], go_backwards=arange(3))'
    no E_SHAPE 'scan takes a scalar for steps, not int64.1.' 'scan(lambda a: a, outputs_info=[0], n_steps=[1])'
    no E_ARG 'n_steps must be an integer that is not negative' 'scan(lambda a: a, outputs_info=[0], n_steps=1.5)'
    no E_ARG "keep must be 'all', 'last' or a number of rows" 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep="some")'
    no E_ARG 'scan has no argument steps' 'scan(lambda a: a, outputs_info=[0], steps=2)'
    no E_ARITY 'takes 2 arguments, but gets 4: 2 of sequences, 1 of earlier steps, 1 of non_sequences' 'scan(lambda a, b: a, sequences=[taps(arange(3), [0, 1])], outputs_info=[0], non_sequences=[1.5])'
    no E_ARG 'until must occur once, as the last' 'scan(lambda a: [until(a > 0), a], outputs_info=[0], n_steps=2)'
    no E_ARG 'until must occur once, as the last' 'scan(lambda a: [a, until(a > 0), until(a > 1)], outputs_info=[0], n_steps=2)'
    no E_ARG 'until must come after a result of the step' 'scan(lambda a: until(a > 0), outputs_info=[0], n_steps=2)'
    no E_ARG 'until must come after a result of the step' 'scan(lambda a: [until(a > 0)], outputs_info=[0], n_steps=2)'
    # what only a run can tell
    local n='gload --new -i "n: int64" -i "x: float64[?]"'
    bad 5 E_RUN_SHAPE 'the number of steps is -1: it must not be negative' "$n -e 'scan(lambda a: a, outputs_info=[0], n_steps=n)' | grun n=-1 x=[]"
    bad 5 E_RUN_SHAPE 'sequence 1 has 2 rows, but 3 steps need 3' "$n -e 'scan(lambda a: a, sequences=[x], n_steps=n)' | grun n=3 x=[1,2]"
    bad 5 E_RUN_SHAPE 'needs 2 rows, for its taps, but it has 3' "$n -e 'scan(lambda a: a, outputs_info=[taps(x, [-2])], n_steps=n)' | grun n=3 x=[1,2,3]"
    bad 5 E_RUN_SHAPE 'rows must have the same shape' "$n -e 'scan(lambda a: ones(a), sequences=[arange(n)])' | grun n=3 x=[]"
}

# ---- derivatives ----

models() {
    cat >rnn.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[t, b, 3]
  h0: float64[b, 4]
  W: float64[3, 4]
  U: float64[4, 4]
let: |
  hs = scan(lambda x, h: tanh(x @ W + h @ U), sequences=[x], outputs_info=[h0])
  loss = sum(hs ** 2) + sum(hs[-1])
outputs: [loss]
Y
    cat >lstm.yaml <<'Y'
thunkline: 1
functions:
  cell:
    inputs: {x: 'float64[b, 2]', h: 'float64[b, 3]', c: 'float64[b, 3]', W: 'float64[5, 12]', bias: 'float64[12]'}
    let: |
      z = concatenate([x, h], axis=1) @ W + bias
      c1 = sigmoid(z[:, 0:3]) * c + sigmoid(z[:, 3:6]) * tanh(z[:, 6:9])
      h1 = sigmoid(z[:, 9:12]) * tanh(c1)
    outputs: {h: h1, c: c1}
inputs:
  x: float64[t, b, 2]
  W: float64[5, 12]
  bias: float64[12]
let: |
  h0 = zeros((b, 3))
  hs, cs = scan(cell, sequences=[x], outputs_info=[h0, h0], non_sequences=[W, bias])
  loss = mean(hs ** 2) + sum(cs[-1])
outputs: [loss]
Y
    cat >taps.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[t]
  h0: float64[2]
  w: float64
let: |
  hs, es = scan(lambda x0, x1, h2, h1: [tanh(x0 * w + x1 - h2 * h1), exp(h1) * x0], sequences=[taps(x, [-1, 0])], outputs_info=[taps(h0, [-2, -1]), None])
  loss = sum(hs * arange(hs.size)) + sum(sin(es))
outputs: [loss]
Y
    cat >until.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[t]
  h0: float64
let: |
  hs, i = scan(lambda x, h, i: [h * x + 0.1 * i, i + 1, until(h > 3.0)], sequences=[x], outputs_info=[h0, 0])
  loss = sum(hs ** 2)
outputs: [loss]
Y
}
values() {
    case $1 in
    rnn) echo 'x="normal(0, 1, (5, 2, 3), seed=1)" h0="normal(0, 1, (2, 4), seed=2)" W="normal(0, 1, (3, 4), seed=3)" U="normal(0, 1, (4, 4), seed=4)"' ;;
    lstm) echo 'x="normal(0, 1, (4, 2, 2), seed=1)" W="normal(0, 1, (5, 12), seed=3)" bias="normal(0, 1, 12, seed=4)"' ;;
    taps) echo 'x="normal(0, 1, 6, seed=1)" h0="[0.3, -0.7]" w=0.7' ;;
    until) echo 'x="[1.5, 1.2, 0.9, 1.3, 1.1, 0.2]" h0=0.5' ;;
    esac
}
wrt() { case $1 in rnn) echo h0,W,U,x ;; lstm) echo W,bias,x ;; taps) echo x,h0,w ;; until) echo x,h0 ;; esac; }

@test "gradients agree with finite differences: RNN, LSTM, two taps, until" {
    models
    local m
    for m in rnn lstm taps until; do
        ok "ggrad $m.yaml --cost loss --wrt $(wrt $m) --check $(values $m) -o /dev/null"
        # the gradient differentiated once more
        ok "ggrad $m.yaml --cost loss --wrt $(wrt $m) -o g.tlg"
        ok "gload g.tlg -e 'again = $(for v in $(wrt $m | tr , ' '); do printf 'sum(d_loss_d_%s ** 2) + ' "$v"; done)loss' --outputs again -o h.tlg"
        ok "ggrad h.tlg --cost again --wrt $(wrt $m) --check $(values $m) -o /dev/null"
    done
}

@test "forward mode agrees with reverse mode" {
    models
    local m n v t
    for m in rnn lstm taps until; do
        t='' v=$(values $m)
        for n in $(wrt $m | tr , ' '); do
            t="$t${t:+,}t_$n"
            v=$(sed "s/\b$n=/t_$n=/" <<<"$v")
        done
        ok "ggrad $m.yaml --jvp loss --wrt $(wrt $m) --tangents $t --only | grun $(values $m) $v >a"
        ok "ggrad $m.yaml --jvp loss --wrt $(wrt $m) --tangents $t --only --by-pullback | grun --expect \"$(sed 's/ = /=/' a)\" $(values $m) $v >b"
    done
}

@test "truncate_gradient lets the last steps count only" {
    local f='scan(lambda x, h: w * h + x, sequences=[x], outputs_info=[h0]'
    gload --new -i 'x: float64[4]' -i 'h0: float64' -i 'w: float64' -e "loss = $f)[-1]" --outputs loss -o full.tlg
    gload --new -i 'x: float64[4]' -i 'h0: float64' -i 'w: float64' -e "loss = $f, truncate_gradient=2)[-1]" --outputs loss -o cut.tlg
    ok 'ggrad full.tlg --wrt x,h0,w --only | grun x=[1,2,3,4] h0=1 w=0.5' $'d_loss_d_x = [0.125, 0.25, 0.5, 1.0]\nd_loss_d_h0 = 0.0625\nd_loss_d_w = 6.25'
    ok 'ggrad cut.tlg --wrt x,h0,w --only | grun x=[1,2,3,4] h0=1 w=0.5' $'d_loss_d_x = [0.0, 0.0, 0.5, 1.0]\nd_loss_d_h0 = 0.0\nd_loss_d_w = 5.75'
    # more than there are: all
    ok 'gload --new -i "x: float64[4]" -i "h0: float64" -i "w: float64" -e "loss = '"$f"', truncate_gradient=9)[-1]" --outputs loss | ggrad --wrt h0 --only | grun x=[1,2,3,4] h0=1 w=0.5' 'd_loss_d_h0 = 0.0625'
}

@test "no steps, counters, and what has no influence" {
    # no step: the result is the initial value, or nothing
    ok 'gload --new -i "h: float64" -i "n: int64" -e "loss = scan(lambda h: h * h, outputs_info=[h], n_steps=n, keep=\"last\")" --outputs loss | ggrad --wrt h --only | grun h=3 n=0' 'd_loss_d_h = 1.0'
    ok 'gload --new -i "h: float64" -i "n: int64" -e "loss = sum(scan(lambda h: h * h, outputs_info=[h], n_steps=n))" --outputs loss | ggrad --wrt h --only | grun h=3 n=0' 'd_loss_d_h = 0.0'
    ok 'gload --new -i "h: float64" -i "n: int64" -e "loss = scan(lambda h: h * h, outputs_info=[h], n_steps=n)[-1]" --outputs loss | ggrad --wrt h --only | grun h=3 n=2' 'd_loss_d_h = 108.0'
    # a counter has the gradient 0, and lets the rest be
    local c='a, i = scan(lambda x, a, i: [a + x * i, i + 1], sequences=[x], outputs_info=[0.0, k])'
    ok "gload --new -i 'x: float64[3]' -i 'k: int64' -e '$c' -e 'loss = a[-1]' --outputs loss | ggrad --wrt x,k --only | grun x=[1,2,3] k=5" $'d_loss_d_x = [5.0, 6.0, 7.0]\nd_loss_d_k = 0.0'
    # the number of steps, and what only makes another output
    bad 3 E_DISCONNECTED 'does not depend on z' "gload --new -i 'x: float64[3]' -i 'z: float64' -e 'a, b = scan(lambda x: [x * x, x * z], sequences=[x])' -e 'loss = sum(a)' --outputs loss | ggrad --wrt z -O yaml"
    ok "gload --new -i 'x: float64[3]' -i 'z: float64' -e 'a, b = scan(lambda x: [x * x, x * z], sequences=[x])' -e 'loss = sum(a)' --outputs loss | ggrad --wrt z --disconnected ignore --only | grun x=[1,2,3] z=1" 'd_loss_d_z = 0.0'
    bad 3 E_NULL 'polygamma' "gload --new -i 'x: float64[3]' -i 'z: float64' -e 'loss = sum(scan(lambda x: polygamma(z, x), sequences=[x]))' --outputs loss | ggrad --wrt z -O yaml"
}

# ---- recomputation ----

# check_stretches MODEL CHECKPOINT: all gradients with it and without.
check_stretches() {
    local v
    sed -E "/= scan\(/s/\)\$/, checkpoint=$2)/" $1.yaml >c.yaml
    ! cmp -s $1.yaml c.yaml
    ggrad $1.yaml --cost loss --wrt "$(wrt $1)" -o a.tlg
    ggrad c.yaml --cost loss --wrt "$(wrt $1)" -o b.tlg
    eval "grun a.tlg $(values $1)" >a.txt
    local expect=()
    for v in $(wrt $1 | tr , ' '); do
        eval "grun a.tlg -r d_loss_d_$v=$v.npy $(values $1)" >/dev/null
        expect+=(--expect "d_loss_d_$v=@$v.npy")
    done
    eval "grun b.tlg ${expect[*]@Q} $(values $1)" >/dev/null
}

@test "checkpoint: a loop over stretches, of any length, gives the same gradients" {
    models
    local m k
    for m in rnn lstm taps; do
        for k in "'sqrt'" 1 2 3 100; do
            check_stretches $m "$k"
        done
    done
    # and is differentiated once more, and forward
    sed -E "/= scan\(/s/\)\$/, checkpoint=2)/" taps.yaml >c.yaml
    ok "ggrad c.yaml --cost loss --wrt x,h0,w -o g.tlg"
    ok "gload g.tlg -e 'again = sum(d_loss_d_x ** 2) + sum(d_loss_d_h0 ** 2) + d_loss_d_w' --outputs again | ggrad --cost again --wrt x,h0,w --check $(values taps) -o /dev/null"
    ok "ggrad c.yaml --jvp loss --wrt w --tangents one --check $(values taps) one=1 -o /dev/null"
}

@test "checkpoint: what is kept of the results, counters, random streams, no steps" {
    is 'scan(lambda c: c + 1, outputs_info=[0], n_steps=7, keep="last", checkpoint="sqrt")' 7
    is 'scan(lambda c: c + 1, outputs_info=[0], n_steps=0, checkpoint="sqrt")' '[]'
    is 'scan(lambda c: c + 1, outputs_info=[0], n_steps=7, keep=4, checkpoint=2)' '[4, 5, 6, 7]'
    is 'scan(lambda c: c + 1, outputs_info=[0], n_steps=7, keep=1, checkpoint=2)' '[7]'
    is 'scan(lambda a, b: a + b, outputs_info=[taps([0, 1], [-2, -1])], n_steps=7, keep="last", checkpoint=3)' 21
    is 'scan(lambda a, b: a + b, outputs_info=[taps([0, 1], [-2, -1])], n_steps=7, keep=1, checkpoint=3)' '[21]'
    local n='gload --new -i "n: int64" -e' f='scan(lambda x, c: [c + x, c * x], sequences=[arange(9)], outputs_info=[1, None], n_steps=n, checkpoint="sqrt")'
    ok "$n 'a, b = $f' --outputs a,b | grun n=7" $'a = [1, 2, 4, 7, 11, 16, 22]\nb = [0, 1, 4, 12, 28, 55, 96]'
    ok "$n 'a, b = $f' --outputs a,b | grun n=1" $'a = [1]\nb = [0]'
    ok "$n 'a, b = $f' --outputs a,b | grun n=0" $'a = []\nb = []'
    bad 5 E_INDEX 'no step was run' "$n 'scan(lambda x, c: [c + x, c * x], sequences=[arange(3)], outputs_info=[1, None], n_steps=n, keep=\"last\", checkpoint=\"sqrt\")[1]' | grun --mode FAST_COMPILE n=0"
    local r='gload --new -i "r: random" -e'
    f='r2, y = scan(lambda r: normal(0.0, 1.0, rng=r), outputs_info=[r, None], n_steps=11'
    ok "$r '$f)' --outputs y | grun r='rng(3)' >a && $r '$f, checkpoint=\"sqrt\")' --outputs y | grun r='rng(3)' | cmp - a"
}

@test "a loop that draws keeps its random states, and its gradient draws the same again" {
    cat >d.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {r: random, h: float64, w: float64}
    let: |
      s, z = normal(0.0, 1.0, rng=r)
      y = h * w + z * w
    outputs: [s, y]
inputs: {r: random, w: float64}
let: |
  q, y = scan(f, outputs_info=[r, 1.], non_sequences=[w], n_steps=3)
  c = y[-1]
outputs: [c]
END
    ok "ggrad d.yaml --check --wrt w r='rng(3)' w=2"
    ok "ggrad d.yaml --wrt w --only | grun --mode DEBUG r='rng(3)' w=2"
    sed 's/^  c = .*/  a, v = scan(f, outputs_info=[r, 1.], non_sequences=[w], n_steps=3, keep="all")\n  b, u = scan(f, outputs_info=[r, 1.], non_sequences=[w], n_steps=3, keep=2)/; s/\[c\]/[q, a, b]/' d.yaml >e.yaml
    like 'gload e.yaml --info' '^ +a +list\(random\)'
    gload e.yaml -O yaml >again.yaml
    for m in FAST_RUN DEBUG; do
        for f in e.yaml again.yaml; do
            ok "grun $f --mode $m r='rng(3)' w=2" $'q = rng_state([3, 0, 3, 0])\na = [rng_state([3, 0, 1, 0]), rng_state([3, 0, 2, 0]), rng_state([3, 0, 3, 0])]\nb = [rng_state([3, 0, 2, 0]), rng_state([3, 0, 3, 0])]'
        done
    done
}

@test "checkpoint: what can't be" {
    no E_ARG 'checkpoint must be .sqrt. or a number of steps' 'scan(lambda c: c, outputs_info=[0], n_steps=9, checkpoint=0)'
    no E_ARG 'this scan can.t have a checkpoint: it may end early' 'scan(lambda c: [c, until(c > 3)], outputs_info=[0], n_steps=9, checkpoint=2)'
    no E_ARG 'this scan can.t have a checkpoint: it has no state' 'scan(lambda x: x, sequences=[arange(9)], checkpoint=2)'
    no E_ARG 'its gradient goes back only some of the steps' 'scan(lambda c: c, outputs_info=[0], n_steps=9, truncate_gradient=2, checkpoint=2)'
    no E_ARG 'its body has effects' 'scan(lambda c: print(c, "c"), outputs_info=[0], n_steps=9, checkpoint=2)'
}

@test "checkpoint: what is printed reads back; rewrites leave the stretches alone" {
    models
    sed -E "/= scan\(/s/\)\$/, checkpoint='sqrt')/" rnn.yaml >c.yaml
    ok "gload c.yaml | gload -O yaml --no-provenance >d.yaml && gload d.yaml -O yaml --no-provenance | cmp - d.yaml"
    like 'cat d.yaml' 'n_steps=_[0-9]+, keep=.*, checkpoint=True\)' 'lambda_1_stretch:'
    ok "gload d.yaml -O tlg | grewrite --mode NONE --diff d.yaml"
    # the product with W of all rows of x would be as large as the states
    grewrite rnn.yaml -O yaml --no-provenance | grep -q '^  _1 = x @ W'
    gload c.yaml | grewrite -O yaml --no-provenance | grep -q 'checkpoint=True'
}

@test "ggrad --checkpoint sqrt keeps the states of some steps only" {
    cat >long.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[t, 8]
  W: float64[8, 32]
  U: float64[32, 32]
let: |
  hs = scan(lambda x, h: tanh(x @ W + h @ U), sequences=[x], outputs_info=[zeros(32)])
  loss = sum(hs[-1] ** 2)
outputs: [loss]
Y
    local c v=('x=normal(0, 1, (1003, 8), seed=1)' 'W=normal(0, 0.3, (8, 32), seed=2)' 'U=normal(0, 0.15, (32, 32), seed=3)')
    ggrad long.yaml --cost loss --wrt W,U,x | grewrite -o no.tlg
    ggrad long.yaml --cost loss --wrt W,U,x --checkpoint sqrt | grewrite -o sqrt.tlg
    gprof no.tlg "${v[@]}" --repeat 1 --assert 'measured_peak_bytes > 8e5' >/dev/null
    gprof sqrt.tlg "${v[@]}" --repeat 1 --assert 'measured_peak_bytes < 5e5' >/dev/null
    # as planned, too
    gload long.yaml --dim t=1003 -o numbers.tlg
    ggrad numbers.tlg --cost loss --wrt W,U | grewrite | gprof --static --assert 'peak_bytes > 5e5' >/dev/null
    ggrad numbers.tlg --cost loss --wrt W,U --checkpoint sqrt | grewrite | gprof --static --assert 'peak_bytes < 2e5' >/dev/null
    grun no.tlg "${v[@]}" -r d_loss_d_W=no.W.npy -r d_loss_d_U=no.U.npy -r d_loss_d_x=no.x.npy >/dev/null
    grun sqrt.tlg "${v[@]}" --expect d_loss_d_W=@no.W.npy --expect d_loss_d_U=@no.U.npy --expect d_loss_d_x=@no.x.npy >/dev/null
    # rows that the cost reads are there anyway: the loop stays as it is
    models
    ok 'ggrad rnn.yaml --cost loss --wrt W --checkpoint sqrt -O yaml | grep -c stretch || true' 0
}

# ---- rewrites ----

@test "a loop of which the first rows are read takes no more steps" {
    cat >f.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[t, 3]
  y: float64[u, 3]
let: |
  hs = scan(lambda x, y, h: tanh(x + h * y), sequences=[x, y], outputs_info=[zeros(3)])
  a = hs[:5]
  b = hs[2]
  c = hs[1:4, 0]
outputs: [a, b, c]
Y
    ok 'grewrite f.yaml --explain -o g.tlg 2>&1 | grep -c scan-first-steps' 1
    local v=('x=normal(0, 1, (9, 3), seed=1)' 'y=normal(0, 1, (8, 3), seed=2)')
    grun f.yaml --mode FAST_COMPILE "${v[@]}" >a
    grun g.tlg "${v[@]}" | cmp - a
    gprof g.tlg "${v[@]}" --repeat 1 --by apply | grep tanh | awk '{ exit $3 != 5 }' || gprof g.tlg "${v[@]}" --repeat 1 --by apply
    # where there are fewer steps the errors and rows are those of before
    bad 5 E_INDEX 'index' "grun g.tlg 'x=ones((2, 3))' 'y=ones((9, 3))'"
    ok "gload f.yaml --outputs a,c | grun 'x=zeros((2, 3))' 'y=ones((9, 3))'" $'a = [[0.0, 0.0, 0.0],\n     [0.0, 0.0, 0.0]]\nc = [0.0]'
    # numbers: rows from the end, symbols, other steps, all rows are left alone
    local e s='scan(lambda c: c + 1, outputs_info=[0], n_steps=20)'
    for e in '[:7]' '[6]' '[2:7]' '[2:7, None]'; do
        ok "gload --new -e '$s$e' | grewrite --explain 2>&1 >/dev/null | grep -c scan-first-steps" 1
        ok "diff <(gload --new -e '$s$e' | grun) <(gload --new -e '$s$e' | grun --mode FAST_COMPILE)"
    done
    for e in '[:-7]' '[-3:7]' '[::2]' '[:20]' '[19]' '[:30]' '[7:]' '[[1, 2]]'; do
        ok "gload --new -e '$s$e' | grewrite --explain 2>&1 >/dev/null | grep -c scan-first-steps || true" 0
        ok "diff <(gload --new -e '$s$e' | grun) <(gload --new -e '$s$e' | grun --mode FAST_COMPILE)"
    done
    is "${s}[:0]" '[]'
    ok "gload --new -i 'k: int64' -e '${s}[:k]' -o k.tlg && grewrite k.tlg --explain 2>&1 >/dev/null | grep -c scan-first-steps || true" 0
    ok 'grun k.tlg k=-18' 'out = [1, 2]'
    ok 'grun k.tlg k=0' 'out = []'
    # a loop that may end early, prints, or would fail for want of rows runs as it is
    ok "gload --new -e 'scan(lambda c: [c + 1, until(c > 8)], outputs_info=[0], n_steps=20)[:3]' | grewrite --explain 2>&1 >/dev/null | grep -c scan-first-steps || true" 0
    ok "gload --new -i 'x: float64[?]' -i 'n: int64' -e 'scan(lambda x: x, sequences=[x], n_steps=n)[:2]' -o n.tlg && grewrite n.tlg --explain 2>&1 >/dev/null | grep -c scan-first-steps || true" 0
    bad 5 E_RUN_SHAPE 'sequence 1 has 3 rows, but 4 steps need 4' 'grun n.tlg n=4 x=[1,2,3]'
}

@test "in the gradient's loop, products of saved states are made for all steps at once" {
    models
    ggrad rnn.yaml --cost loss --wrt W,U | grewrite -O yaml --no-provenance >g.yaml
    # of each step back only the product with the cotangent is left
    ok "sed -n '/^  lambda_1_backward.*:$/,/outputs:/p' g.yaml | grep -c @" 1
    # some sequences may be too short: the others are not kept from it
    ok "gload --new -i 'x: float64[n, 3]' -i 'z: float64[?, 3]' -i 'W: float64[3, 3]' -e 'hs = scan(lambda x, z, h: tanh(x @ W + z * h), sequences=[x, z], outputs_info=[zeros(3)], n_steps=n)' --dim n=4 --outputs hs | grewrite -O yaml | sed -n '/^let/,\$p' | grep -c @" 1
}

# reuses FILE VALUES PRODUCTS RESULTS: with what the gradient's loop reads of the model's, functions and graph have so many
# products, and the model's loop these results; by that alone, no bit changes.
reuses() {
    ggrad "$1" --cost loss -o r.tlg
    grewrite r.tlg --exclude fusion --explain -O yaml --no-provenance >r.yaml 2>r.txt
    ok "grep -o 'scan-reuse' r.txt | sort -u" scan-reuse
    ok 'grep -c @ r.yaml' "$3" || return
    like "sed -n '/^let/,\$p' r.yaml" "^  $4 = scan" || return
    grewrite r.tlg --require scan-reuse -o s.tlg
    ok "grun r.tlg --mode FAST_COMPILE $2 -O json >r.json"
    ok "grun s.tlg --mode FAST_COMPILE $2 -O json >s.json"
    cmp r.json s.json || return
    ok "grun s.tlg --mode DEBUG $2 >/dev/null"
}

@test "the gradient's loop reads the products that the loop has computed" {
    local v other
    models
    # tanh is a result anyway: without, there are 8 products
    reuses rnn.yaml "$(values rnn)" 6 hs
    # a sum of products is kept before its gates are: without, 4
    reuses lstm.yaml "$(values lstm)" 3 'hs, cs, _[0-9]+'
    # of which only the last value is read: its rows are kept beside it; and of both directions
    cat >both.yaml <<'Y'
thunkline: 1
functions:
  cell:
    inputs: {x: 'float64[b, 2]', h: 'float64[b, 3]', c: 'float64[b, 3]', W: 'float64[5, 12]'}
    let: |
      i, f, g, o = split(concatenate([x, h], axis=1) @ W, 4, axis=1)
      d = sigmoid(f) * c + sigmoid(i) * tanh(g)
    outputs: {h2: sigmoid(o) * tanh(d), c2: d}
inputs: {x: 'float64[t, b, 2]', W: 'float64[5, 12]', V: 'float64[5, 12]'}
let: |
  z = zeros((b, 3))
  hf, cf = scan(cell, sequences=[x], outputs_info=[z, z], non_sequences=[W], keep='last')
  hb, cb = scan(cell, sequences=[x[::-1]], outputs_info=[z, z], non_sequences=[V], keep='last')
  loss = sum(hf * hb)
outputs: [loss]
Y
    v='x="normal(0, 1, (4, 2, 2), seed=1)" W="normal(0, 1, (5, 12), seed=3)" V="normal(0, 1, (5, 12), seed=4)"'
    # two of the model, two of what goes back, and two of all steps: without, 8
    reuses both.yaml "$v" 6 '_[0-9]+(, _[0-9]+){5}'
    sed -e '/^  hb/d' -e 's/hf \* hb/hf/' -e "s/, V: 'float64\[5, 12\]'//" both.yaml >last.yaml
    reuses last.yaml "${v% V=*}" 3 '_[0-9]+(, _[0-9]+){2}'
    # sums before gates are less than their products, which are more than may be kept: without, 11
    cat >gru.yaml <<'Y'
thunkline: 1
functions:
  cell:
    inputs: {x: 'float64[b, 2]', h: 'float64[b, 3]', W: 'float64[2, 9]', U: 'float64[3, 6]', V: 'float64[3, 3]'}
    let: |
      a = x @ W
      g = sigmoid(a[:, :6] + h @ U)
      n = tanh(a[:, 6:] + (g[:, :3] * h) @ V)
    outputs: {h: 'g[:, 3:] * h + (1 - g[:, 3:]) * n'}
inputs: {x: 'float64[t, b, 2]', W: 'float64[2, 9]', U: 'float64[3, 6]', V: 'float64[3, 3]'}
let: |
  hs = scan(cell, sequences=[x], outputs_info=[zeros((b, 3))], non_sequences=[W, U, V])
  loss = sum(hs[-1])
outputs: [loss]
Y
    reuses gru.yaml 'x="normal(0, 1, (4, 2, 2), seed=1)" W="normal(0, 1, (2, 9), seed=3)" U="normal(0, 1, (3, 6), seed=4)" V="normal(0, 1, (3, 3), seed=5)"' 8 'hs, _[0-9]+, _[0-9]+'
    # two loops in the same order
    cat >again.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[n, 3]', W: 'float64[3, 3]', h0: 'float64[3]'}
let: |
  hs = scan(lambda x, h: tanh(h @ W + x), sequences=[x], outputs_info=[h0])
  old = concatenate([h0[None], hs])
  loss = sum(scan(lambda y, g: sin(y @ W) * g, sequences=[old[:-1]], outputs_info=[h0], n_steps=n))
outputs: [loss]
Y
    ok 'grewrite again.yaml --exclude fusion -O yaml | grep -c @' 1
    # one row on, backwards from the last, before another first row, in fewer steps, by another matrix, it is another product
    while read -r other; do
        sed "s/, h0: /, h1: 'float64[3]', V: 'float64[3, 3]'&/; $other" again.yaml >other.yaml
        ok 'grewrite other.yaml --exclude fusion -O yaml | grep -c @' 2 || fail "$other"
    done <<'END'
s/:-1\]/1:]/
s/:-1\]/::-1]/
s/h0\[None\]/h1[None]/
s/n_steps=n/n_steps=n - 1/
s/y @ W/y @ V/
END
    # backwards, it is the same
    sed 's/:-1\]/-2::-1]/' again.yaml >back.yaml
    ok 'grewrite back.yaml --exclude fusion -O yaml | grep -c @' 1
    # what both walk over, if it is in the same order, or in the other one together with the states
    sed -e 's/sequences=\[x\]/sequences=[x[::-1]]/' -e 's/h @ W + x/(h + x) @ W/' again.yaml >turned.yaml
    while read -r old seq n; do
        sed "s/lambda y, g: sin(y @ W) \* g, sequences=\[old\[:-1\]/lambda y, x, g: sin((y + x) @ W) * g, sequences=[$old, $seq/" turned.yaml >other.yaml
        ok 'grewrite other.yaml --exclude fusion -O yaml | grep -c @' "$n" || fail "$old $seq"
    done <<'END'
old[:-1] x[::-1] 1
old[:-1] x 2
old[-2::-1] x 1
old[-2::-1] x[::-1] 2
END
    # ten times the states' bytes: only the sum is kept
    cat >large.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[n, 3]', W: 'float64[3, 30]', h0: 'float64[3]'}
let: |
  hs = scan(lambda x, h: tanh(sum(reshape(h @ W, (3, 10)) ** 3, axis=1) + x), sequences=[x], outputs_info=[h0])
  old = concatenate([h0[None], hs])
  loss = sum(scan(lambda y, g: sum(reshape(y @ W, (3, 10)) ** 3, axis=1) * g, sequences=[old[:-1]], outputs_info=[h0], n_steps=n))
outputs: [loss]
Y
    ok 'grewrite large.yaml --exclude fusion -O yaml | grep -c @' 1
    sed 's/) \*\* 3, axis=1) \* g/) ** 2, axis=1) * g/' large.yaml >larger.yaml
    ok 'grewrite larger.yaml --exclude fusion -O yaml | grep -c @' 2
}

# results FILE OPTIONS...: how many results all loops have together, after rewriting.
results() { grewrite "$@" --exclude fusion -O yaml | sed -n 's/ = scan.*/,/p' | tr -dc , | wc -c; }

@test "a gradient that recomputes in segments keeps no more for reading it" {
    local how
    models
    sed 's/mean(hs \*\* 2)/sum(hs[-1])/' lstm.yaml >last.yaml
    sed 's/non_sequences=\[W, bias\]/&, checkpoint=2/' last.yaml >segments.yaml
    sed 's/^  loss = .*/  y = hs @ W[:3]\n  loss = sum(tanh(y))/' lstm.yaml >again.yaml
    for how in segments.yaml 'last.yaml --checkpoint sqrt' 'again.yaml --checkpoint y'; do
        ok "ggrad $how --cost loss -o r.tlg"
        [ "$(results r.tlg)" = "$(results r.tlg --exclude scan-reuse)" ] || fail "$how"
    done
    # there is something to keep, when it needn't be cut
    ggrad again.yaml --cost loss -o r.tlg
    [ "$(results r.tlg)" -gt "$(results r.tlg --exclude scan-reuse)" ]
}

@test "shapes of results are told by those of initial values" {
    local s='scan(lambda x, h: [tanh(h + x), sum(h), until(sum(h) > 9.0)], sequences=[x], outputs_info=[h0, None])'
    local i='-i "x: float64[?]" -i "h0: float64[?, ?]"'
    ok "gload --new $i -e 'a = scan(lambda x, h: tanh(h + x), sequences=[x], outputs_info=[h0])' -e 's = shape(a)' -e 'k = shape(scan(lambda x, h: tanh(h + x), sequences=[x], outputs_info=[h0], keep=2))' --outputs s,k | grewrite --no-provenance -O yaml | grep -c 'scan[(]' || true" 0
    ok "gload --new $i -e 's = shape(scan(lambda x, h: tanh(h + x), sequences=[x], outputs_info=[h0]))' -e 'k = shape(scan(lambda x, h: tanh(h + x), sequences=[x], outputs_info=[h0], keep=2))' --outputs s,k | grun x=[1,2,3] 'h0=ones((2, 5))'" $'s = [3, 2, 5]\nk = [2, 2, 5]'
    # a loop that may end early has to be run
    ok "gload --new $i -e 'a, b = $s' -e 's = shape(a)' --outputs s | grun x=[1,2,3] 'h0=ones((2, 5))'" 's = [1, 2, 5]'
}

@test "results are the same bits for any number of threads" {
    gload --new -i 'x: float64[60, 40, 64]' -i 'W: float64[64, 64]' -e 'hs = scan(lambda x, h: tanh(x @ W + h @ W), sequences=[x], outputs_info=[zeros((40, 64))])' -e 'loss = sum(hs ** 2)' --outputs hs,loss | ggrad --cost loss --wrt x,W -o t.tlg
    local v=('x=normal(0, 1, (60, 40, 64), seed=1)' 'W=normal(0, 0.1, (64, 64), seed=2)') n
    for n in 1 2; do
        grun t.tlg "${v[@]}" --threads $n -r hs=hs$n.npy -r d_loss_d_x=x$n.npy -r d_loss_d_W=W$n.npy >/dev/null
    done
    cmp hs1.npy hs2.npy && cmp x1.npy x2.npy && cmp W1.npy W2.npy
}

# on_threads GRAPH ARGUMENT...: standard output and errors are the same on 1, 2 and 3 threads, and again in the next calls.
on_threads() {
    local n
    for n in 1 2 3; do
        grun "$@" --threads $n --steps 3 >out$n.txt 2>&1 || true
    done
    ok 'cmp out1.txt out2.txt && cmp out1.txt out3.txt && test -s out1.txt'
}

@test "steps that don't need each other are shared by threads" {
    gload --new -i 'x: float64[n, m]' -i 's: float64[9]' -e 'a = map(lambda v: sum(unique(floor(v * 50))), x)' \
        -e 'b = vectorize(lambda v: searchsorted(sort(v), s))(x)' -e 'd = scan(lambda v, w: sum(unique(v)) - sum(unique(w)), sequences=[{"input": x, "taps": [0, 2]}])' \
        -e 'k = map(lambda v: scan(lambda c: (c / 2, until(c < 1e-3)), outputs_info=[sum(v * v)], n_steps=60)[-1], x)' \
        -e 'q = map(lambda v: sum(map(lambda u: sum(unique(arange(5) * u)), v)), x)' -o t.tlg
    for rows in 4 5 300 301; do
        on_threads t.tlg "x=normal(0, 1, ($rows, 700), seed=1)" 's=linspace(-2, 2, 9)'
        grep -q nan out1.txt && false
    done
    ok "grun --mode DEBUG t.tlg 'x=normal(0, 1, (301, 700), seed=1)' 's=linspace(-2, 2, 9)' --threads 3 --steps 3 | cmp - out1.txt"
    # batches of other sizes, one after the other
    for n in 1 3; do
        grun t.tlg --each x --batch 170 "x=normal(0, 1, (400, 700), seed=1)" 's=linspace(-2, 2, 9)' --threads $n >each$n.txt
    done
    ok 'cmp each1.txt each3.txt && test -s each1.txt'
}

@test "threads take all steps on some of the elements, where these don't need others" {
    local body n=0
    while IFS= read -r body; do
        gload --new -i 'x: float64[600, 1000]' -i 'h: float64[1000]' -i 's: float64[600]' -e "y = $body" --outputs y -o e$n.tlg
        on_threads e$n.tlg --on-unused-input ignore 'x=normal(0, 1, (600, 1000), seed=1)' 'h=linspace(-1, 1, 1000)' 's=linspace(0, 1, 600)'
        n=$((n + 1))
    done <<'END'
scan(lambda c, u: tanh(c * 0.9 + u), sequences=[x], outputs_info=[h])[::50]
scan(lambda c, u: tanh(c * 0.9 + u), sequences=[x], outputs_info=[h])[-1]
scan(lambda c, u: tanh(c * 0.9 + u * h), sequences=[reshape(x, (1000, 600)).T], outputs_info=[h])[-1]
scan(lambda c, u: tanh(c * 0.9 + u), sequences=[s], outputs_info=[h])[-1]
scan(lambda c, u: tanh(c * 0.9 + u[::-1]), sequences=[x], outputs_info=[h])[-1]
scan(lambda c, u: tanh(c * 0.9 + concatenate([u[1:], u[:1]])), sequences=[x], outputs_info=[h])[-1]
scan(lambda c, u: tanh(c * 0.9 + u + mean(u)), sequences=[x], outputs_info=[h])[-1]
scan(lambda c, u: tanh(c * 0.9 + transpose(u)), sequences=[reshape(x[:, :900], (600, 30, 30))], outputs_info=[reshape(h[:900], (30, 30))])[-1]
scan(lambda c, u, v: (tanh(c * 0.9 + v), where(u > v, sin(u), cos(v))), sequences=[x], outputs_info=[h, h * 0.5])[1][::50]
scan(lambda u, v: (tanh(v * 1.1 + h), sin(u)), outputs_info=[h, h], n_steps=3000)[0][-5:]
scan(lambda u, v: (tanh(v * 1.1 + h), u[::-1]), outputs_info=[h, h], n_steps=3000)[0][-5:]
scan(lambda u, w: tanh(u * 0.5 - w + h), outputs_info=[{"initial": stack([h, h * 2]), "taps": [-2, -1]}], n_steps=3000)[-3:]
scan(lambda c, u: floor(cast(tanh(c + u) * 10, int64) / 3), sequences=[x], outputs_info=[h])[-1]
scan(lambda c, u: (tanh(c * 0.9 + u), until(max(u) < -2)), sequences=[x], outputs_info=[h])[-1]
END
    test $n = 14
}

@test "the first step that fails reports, on any number of threads" {
    gload --new -i 'x: int64[n, 400]' -e 'a = map(lambda v: sum(unique(arange(400)[v])), x)' -o i.tlg
    gload --new -i 'x: int64[n, 400]' -e 'a = map(lambda v: sum(1000 // unique(v)), x)' -o d.tlg
    gload --new -i 'x: int64[n, 400]' -e 'a = map(lambda v: unique(v), x)' -o u.tlg
    local value='where(arange(200)[:, None] == 150, V, where(arange(200)[:, None] == 190, W, 1 + arange(400) % 399 + zeros((200, 400), dtype=int64)))'
    value="x=int64(${value})"
    on_threads i.tlg "${value//[VW]/400}"
    ok 'grep -c "in step 150 of 200" out3.txt' 1
    on_threads i.tlg "${value//[VW]/399}"
    ok 'grep -c "error" out3.txt || true' 0
    on_threads d.tlg "${value//[VW]/0}"
    ok 'grep -c "division by zero" out3.txt && grep -c "in step 150 of 200" out3.txt' $'1\n1'
    on_threads u.tlg "${value//[VW]/5}"
    ok 'grep -c "has the shape (1,) in step 150" out3.txt' 1
}

@test "DEBUG finds nothing wrong with loops, their gradients and stretches" {
    models
    local m
    for m in rnn taps until; do
        eval "grun $m.yaml $(values $m) -O json" >a.json
        ok "grun $m.yaml --mode DEBUG $(values $m) -O json | cmp - a.json"
        ok "ggrad $m.yaml --cost loss --wrt $(wrt $m) | grun --mode DEBUG $(values $m) -O json >/dev/null"
    done
    sed -E "/= scan\(/s/\)\$/, checkpoint=2)/" taps.yaml >c.yaml
    ok "ggrad c.yaml --cost loss --wrt x | grun --mode DEBUG $(values taps) -O json >/dev/null"
}

@test "an error in a step tells the step of each loop around it" {
    local i='gload --new -i "i: int64[n]"'
    bad 5 E_INDEX 'in step 2 of 4 of the loop here, which runs lambda_1' "$i -e 'y = scan(lambda a, h: h + arange(3)[a], sequences=[i], outputs_info=[0])' --outputs y | grun i=[1,2,7,1]"
    bad 5 E_INDEX 'in step 3 of 4 of the loop here, which runs lambda_2' "$i -e 'y = scan(lambda a: scan(lambda b, h: h + arange(3)[b + a], sequences=[i], outputs_info=[0]), sequences=[i])' --outputs y | grun i=[0,1,1,2]"
    grep -q 'in step 1 of 4 of the loop here, which runs lambda_1' .err
    # a state must keep its shape
    bad 5 E_RUN_SHAPE 'rows must have the same shape' 'gload --new -i "h: float64[?]" -e "scan(lambda a: concatenate([a, a]), outputs_info=[h], n_steps=3)" | grun h=[1,2]'
    bad 5 E_RUN_SHAPE 'out had the shape .2,. and has the shape .4,. in step 0' 'gload --new -i "h: float64[?]" -e "scan(lambda a: concatenate([a, a]), outputs_info=[h], n_steps=3, keep=\"last\")" | grun h=[1,2]'
}

@test "numbers of steps: any integer dtype, no other" {
    local n='-e "scan(lambda c: c + 1, outputs_info=[0], n_steps=n)"' d
    for d in int8 int32 uint8 uint64; do
        ok "gload --new -i 'n: $d' $n | grun n=3" 'out = [1, 2, 3]'
    done
    bad 5 E_RUN_SHAPE 'the number of steps is -3' "gload --new -i 'n: int8' $n | grun n=-3"
    bad 3 E_DTYPE 'takes integers for steps, not float64' "gload --new -i 'n: float64' $n"
    bad 3 E_DTYPE 'takes integers for steps, not bool' "gload --new -i 'n: bool' $n"
    bad 3 E_SHAPE 'takes a scalar for steps, not int64\[1\]' "gload --new -i 'n: int64[1]' $n"
    no E_ARG 'n_steps must be an integer' 'scan(lambda c: c, outputs_info=[0], n_steps=2.5)'
    no E_ARG 'n_steps must be an integer' 'scan(lambda c: c, outputs_info=[0], n_steps=True)'
}

@test "more mistakes, each with its own message" {
    no E_DTYPE 'starts as int64, but lambda_1 turns it into float64: its dtype must not change' 'scan(lambda a: a / 2, outputs_info=[int64(4)], n_steps=3)'
    no E_TYPE 'until takes one bool, not bool\[2\]' 'scan(lambda c: [c + 1, until(stack([c > 3, c > 4]))], outputs_info=[0], n_steps=9)'
    no E_SHAPE '3 rows, but 1 steps with its taps need 6' 'scan(lambda a, b: a, sequences=[taps(arange(3), [0, 5])], n_steps=1)'
    is 'scan(lambda a, b: a, sequences=[taps(arange(3), [0, 5])])' '[]'
    no E_ARG 'a tap must be an integer that is written out' 'scan(lambda a: a, sequences=[taps(arange(3), [1.5])])'
    no E_ARG 'the list of taps is empty' 'scan(lambda a: a, sequences=[taps(arange(3), [])])'
    no E_ARG 'sequence 1 is None' 'scan(lambda a: a, sequences=[None])'
    no E_TYPE 'output out is none, which has no values to keep' 'scan(lambda a: None, sequences=[arange(3)])'
    no E_ARITY 'lambda_1 returns nothing' 'scan(lambda a: [], sequences=[arange(3)])'
    no E_TYPE 'a string where a tensor is expected' 'scan(lambda a: "x", sequences=[arange(3)])'
    no E_TYPE 'the first argument of scan must be a function' 'scan(arange(3), sequences=[arange(3)])'
    bad 3 E_TYPE 'sequence 1 must be a tensor with an axis for steps, or a list, not float64' 'gload --new -i "s: float64" -e "scan(lambda c: c + 1, sequences=[s])"'
    is 'scan(lambda: 1.5, n_steps=2)' '[1.5, 1.5]'
}

@test "scans in scans are differentiated twice; no step has a gradient" {
    gload --new -i 'x: float64[n]' -i 'w: float64' -e 'y = scan(lambda a, h: sum(scan(lambda b, g: w * g * b + a, sequences=[x], outputs_info=[h])), sequences=[x], outputs_info=[0.5])' -e 'loss = y[-1]' --outputs loss -o n.tlg
    local at="x='[0.3, 0.5, 0.2]' w=0.7"
    ok "ggrad n.tlg --wrt x,w --check $at -o /dev/null"
    ok "ggrad n.tlg --hessian loss --wrt x,w --check $at -o /dev/null"
    ok "ggrad n.tlg --wrt x,w | gload -e 'q = sum(d_loss_d_x ** 2) + d_loss_d_w ** 2' --outputs q | ggrad --cost q --wrt x,w --check $at -o /dev/null"
    ok "ggrad n.tlg --wrt x,w --checkpoint sqrt --check $at -o /dev/null"
    ok "gload --new -i 'x: float64[n]' -i 'w: float64' -e 'loss = sum(scan(lambda a, h: w * h * a, sequences=[x], outputs_info=[0.5])) + w' --outputs loss | ggrad --wrt x,w | grun x=[] w=2" $'loss = 2.0\nd_loss_d_x = []\nd_loss_d_w = 1.0'
}

@test "the last value of a state that no step reads is the initial one where there is no step" {
    cat >z.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[n]'}
let: |
  step = lambda a, k: [a, stack(a, a)]
  r, k = scan(step, sequences=[x], outputs_info=[None, ones(2)], keep=['all', 'last'])
outputs: [r, k]
Y
    for mode in FAST_RUN FAST_COMPILE; do
        ok "grun z.yaml --mode $mode x=[]" $'r = []\nk = [1.0, 1.0]'
        ok "grun z.yaml --mode $mode x=[3.]" $'r = [3.0]\nk = [3.0, 3.0]'
    done
}

# rewritten NAME ARGUMENTS...: the rewrite NAME fires, and changes no result; the values
# of inputs are in $v.
rewritten() {
    local name=$1
    shift
    gload --new "$@" -o r.tlg
    grewrite r.tlg --explain -o s.tlg 2>.explained || return 1
    grep -q " $name: " .explained || { cat .explained && return 1; }
    grun r.tlg --mode FAST_COMPILE "${v[@]}" -O json >r.json
    grun s.tlg "${v[@]}" -O json >s.json
    cmp r.json s.json
}

@test "each rewrite of loops fires where it should, and changes no result" {
    local v=()
    rewritten scan-unroll -e 'scan(lambda c: c + 1, outputs_info=[3], n_steps=1)'
    v=('x=[1, 2, 3, 4.5]')
    rewritten carry-numbers -i 'x: float64[n]' -e 'a, b = scan(lambda a, b: [b, a + b], outputs_info=[0., 1.], n_steps=30)' --outputs a,b
    rewritten scan-merge -i 'x: float64[n]' -e 'a = scan(lambda x, h: h + x, sequences=[x], outputs_info=[0.5])' -e 'b = scan(lambda x, h: h * x, sequences=[x], outputs_info=[0.5])' --outputs a,b
    rewritten scan-clean -i 'x: float64[n]' -e 'a, b = scan(lambda x, h, g: [h + x, g * x], sequences=[x], outputs_info=[0.5, 0.5])' --outputs a
    ok 'gload s.tlg --no-provenance -O yaml | grep -c "outputs_info=.0.5., n_steps"' 1
    rewritten scan-clean -i 'x: float64[n]' -e 'a, b = scan(lambda x, h, g: [h + x, g + x], sequences=[x], outputs_info=[0.5, 0.5])' --outputs a,b
    rewritten scan-keep-rows -i 'x: float64[n]' -e 'a = scan(lambda x, h: h * x, sequences=[x], outputs_info=[0.5])[-3:]' --outputs a
    rewritten scan-last -i 'x: float64[4]' -e 'a = scan(lambda x, h: h * x, sequences=[x], outputs_info=[0.5])[-1]' --outputs a
    rewritten scan-first-steps -i 'x: float64[n]' -e 'a = scan(lambda x, h: h * x, sequences=[x], outputs_info=[0.5])[:3]' --outputs a
    v+=('w=0.25')
    rewritten scan-hoist -i 'x: float64[n]' -i 'w: float64' -e 'a = scan(lambda x, h, w: h * exp(w) + x, sequences=[x], outputs_info=[0.5], non_sequences=[w])' --outputs a
    v=('x=[[1, 2, 3], [4, 5, 6]]' 'w=[[1, 0, 2], [0, 1, 0], [3, 0, 1]]')
    rewritten scan-rows-out -i 'x: float64[n, 3]' -i 'w: float64[3, 3]' -e 'a = scan(lambda x, h: tanh(h + x @ w), sequences=[x], outputs_info=[zeros(3)])' --outputs a
    v=('x=[[1, 2, 3], [4, 5, 6]]')
    rewritten scan-sums-out -i 'x: float64[n, 3]' -e 's = scan(lambda x, s, h: [s + outer(x, h), h + x], sequences=[x], outputs_info=[zeros((3, 3)), zeros(3)], keep=["last", "last"])[0]' --outputs s
}

# agrees VALUE INPUTS -- EXPRESSION ARGUMENTS...: every mode gives VALUE.
agrees() {
    local want=$1 in=() mode
    shift
    while [ "$1" != -- ]; do
        in+=(-i "$1")
        shift
    done
    gload --new "${in[@]}" -e "out = $2" --outputs out -o a.tlg
    shift 2
    for mode in FAST_RUN FAST_COMPILE DEBUG; do
        run --separate-stderr grun a.tlg --mode $mode "$@"
        [ "$output" = "out = $want" ] || { echo "$mode: $output$stderr" && return 1; }
    done
}

@test "what may fail is not done for a loop that takes no steps" {
    agrees '[]' 'y: float64[n]' 'k: int64' 'm: int64' -- 'scan(lambda h: h + y[k], outputs_info=[0.], n_steps=m)' y=[1,2] k=7 m=0
    agrees '[2.0, 4.0]' 'y: float64[n]' 'k: int64' 'm: int64' -- 'scan(lambda h: h + y[k], outputs_info=[0.], n_steps=m)' y=[1,2] k=1 m=2
    agrees "zeros((0, 2, 2), dtype='float64')" 'A: float64[n, n]' 'm: int64' -- 'scan(lambda h: h @ cholesky(A), outputs_info=[A], n_steps=m)' A=[[-1,2],[2,1]] m=0
    agrees '[]' 'a: int64' 'b: int64' 'm: int64' -- 'scan(lambda h: h + a // b, outputs_info=[0], n_steps=m)' a=3 b=0 m=0
    agrees '[]' 'a: float64[n]' 'b: float64[p]' 'm: int64' -- 'scan(lambda h: h + sum(a * b), outputs_info=[0.], n_steps=m)' a=[3,4] b=[1,2,3] m=0
    agrees '[11.0]' 'a: float64[n]' 'b: float64[p]' 'm: int64' -- 'scan(lambda h: h + sum(a * b), outputs_info=[0.], n_steps=m)' a=[3,4] b=[1,2] m=1
    agrees "zeros((0, 3), dtype='float64')" 'a: float64[n]' 'm: int64' -- 'scan(lambda h: h + reshape(a, (2, 3))[1], outputs_info=[zeros(3)], n_steps=m)' a=[3,4] m=0
    agrees "zeros((0, 1), dtype='float64')" 'x: float64[n]' 'm: int64' -- 'scan(lambda: x[x > 1] * 2., n_steps=m)' x=[1,2] m=0
    # a loop in a loop
    agrees '[0.0, 0.0]' 'x: float64[n]' 'k: int64' 'm: int64' -- 'scan(lambda h: h + sum(scan(lambda a: a + x[k], outputs_info=[0.], n_steps=m)), outputs_info=[0.], n_steps=2)' x=[1,2] k=5 m=0
    # rows of sequences, and sums of them
    agrees '[]' 'x: float64[n, k]' 'W: float64[j, l]' -- 'scan(lambda r, h: h + sum(r @ W), sequences=[x], outputs_info=[0.])' x='zeros((0, 3))' W='zeros((2, 2))'
    agrees "zeros((0, 3), dtype='float64')" 'x: float64[n, k]' 'w: float64[j]' -- 'map(lambda r: exp(r) + w, x)' x='zeros((0, 3))' w='zeros(2)'
    agrees '[1.0, 2.0]' 'x: float64[?]' 'y: float64[k, ?]' -- 'foldl(lambda r, h: h + r, y, x)' x=[1,2] y='zeros((0, 3))'
    agrees '[4.0, 6.0]' 'x: float64[?]' 'y: float64[k, ?]' -- 'foldl(lambda r, h: h + r, y, x)' x=[1,2] y='[[3, 4]]'
    # the gradient
    ok "gload --new -i 'y: float64[n]' -i 'k: int64' -i 'm: int64' -e 'out = sum(scan(lambda h: h * y[k], outputs_info=[1.], n_steps=m))' --outputs out | ggrad --wrt y | grun y=[1,2] k=7 m=0" $'out = 0.0\nd_out_d_y = [0.0, 0.0]'
}

@test "ops that never fail don't on empty arrays" {
    local x e n=0 all=()
    for e in 'softmax(x)' 'softmax(x, axis=1)' 'log_softmax(x, axis=0)' 'mean(x)' 'mean(x, axis=1)' 'prod(x, axis=0)' 'sum(x)' 'any(x)' 'all(x, axis=1)' 'cumsum(x)' \
        'cumprod(x, axis=1)' 'x @ x.T' 'x.T @ x' 'expand_dims(x, 0)' 'stack([x, x])' 'x[::2, ::-1]' 'x[:, -5:7]' 'zeros_like(x)' 'broadcast_to(2., (3, 0))' 'full((3, 0), 1.)' 'exp(x) + x'; do
        all+=(-e "y$n = $e")
        n=$((n + 1))
    done
    gload --new -i 'x: float64[n, m]' "${all[@]}" --outputs "$(seq -s, -f 'y%g' 0 $((n - 1)))" -o y.tlg
    for x in 'zeros((0, 3))' 'zeros((3, 0))' 'zeros((0, 0))'; do
        ok "grun y.tlg x='$x' --mode FAST_COMPILE >/dev/null"
    done
}

@test "DEBUG does not mind what fails where it is not needed" {
    gload --new -i 'A: float64[n, n]' -i 'm: int64' -e 'out = sum(scan(lambda h: h @ cholesky(A), outputs_info=[A], n_steps=m))' --outputs out | grewrite | ggrad -o c.tlg
    ok 'grun c.tlg --mode DEBUG A=[[-1,2],[2,1]] m=0 -O tsv | head -n 2 | tail -n 1 | cut -f 1' 0.0
}

@test "rows after the end of a loop are not worked out where that may fail" {
    agrees '[2, 7]' 'x: int64[n]' -- 'scan(lambda r, h: [h + 10 // r, until(10 // r > 3)], sequences=[x], outputs_info=[0])' x=[5,2,0]
    agrees '[7, 22]' 'x: int64[n, 2]' -- 'scan(lambda r, h: [h + sum(10 // r), until(r[0] < 3)], sequences=[x], outputs_info=[0])' x=[[5,2],[2,1],[0,0]]
}

@test "loops that are needed under different conditions stay apart" {
    agrees '3.0' 'x: float64[n]' 'w: float64[j]' 'k: int64' 'c: bool' -- 'ifelse(c, sum(scan(lambda r, h: h + r * w[k], sequences=[x], outputs_info=[0.])), 0.) + sum(scan(lambda r, h: h * r, sequences=[x], outputs_info=[1.]))' x=[1,2] w=[1] k=3 c=False
}

@test "what can't fail is done before a loop without asking for its steps" {
    ok "gload --new -i 'm: int64' -i 'U: float64[q, q]' -i 'c: float64[q]' -i 'h0: float64[q]' -e 'scan(lambda h: tanh(h @ U.T + exp(c) / sum(c)), outputs_info=[h0], n_steps=m)' | grewrite --no-provenance -O yaml >f.yaml"
    run grep -c 'ifelse\|m > 0' f.yaml
    assert_output 0
    ok "grep -c 'non_sequences=\[_[0-9]*, _[0-9]*\]' f.yaml" 1
}

@test "functions that rewriting makes and drops leave their names to no other" {
    # bodies that were compared under a name, then dropped, and a later one of that name
    ok "gload --new -i 'x0: float64[n0, ?]' -i 'h0: float64[2, ?]' -i 'h1: float64[2, ?]' -i 'm: int64' -e 'y0, y1 = scan(lambda a0, s0, s1, s2, s3: [0.9 * tanh(softmax(s1 + ifelse(sum(s3) > -0.2, tanh(a0) + 0. * s1, sin(s0) + 0. * s1), axis=-1)) + 0. * s0, 0.9 * tanh(foldl(lambda q, s: tanh(s * 0.5 + q * s1), array([0.1, 0.7, -0.4]), 0. * s1 + foldl(lambda q, s: tanh(s * 0.5 + q * s1), array([0.1, 0.7, -0.4]), 0. * s1 + 0.5))) + 0. * s0], sequences=[x0], outputs_info=[taps(h0, [-1, -2]), taps(h1, [-2, -1])], n_steps=m, go_backwards=True)' -e 'z = sum(y0 ** 2)' --outputs z | ggrad --jvp z --wrt x0 --tangents x0 -o n.tlg"
    local values="x0=[[0.82,0.48,-0.23],[0.85,0.64,-0.79]] h0=[[-0.47,-0.77,0.69],[-0.75,-0.71,0.44]] h1=[[-0.31,-0.78,-0.77],[-0.31,0.13,0.83]] m=2"
    ok "grun n.tlg $values >fast && grun n.tlg --mode DEBUG $values | cmp - fast"
}

@test "a loop that until may end finds room for its rows as it goes" {
    ok 'gload --new -i "x: float64" -e "y = scan(lambda c: (c + 1, until(sum(c) > x)), outputs_info=[ones(1000)], n_steps=1000000)[::100, 999]" --outputs y | grun x=500000' \
        'y = [2.0, 102.0, 202.0, 302.0, 402.0, 502.0]'
    ok 'gload --new -i "x: float64" -e "y = sum(scan(lambda c: (c + 1, until(c > x)), outputs_info=[1.], n_steps=1000000))" --outputs y | grun x=50000' 'y = 1250125002.0'
    # Fibonacci's numbers: the 1438th is the first above 1e300
    ok 'gload --new -i "x: float64" -e "y = sum(scan(lambda p, q: (p + q, until(p > x)), outputs_info=[{\"initial\": [1., 1.], \"taps\": [-1, -2]}], n_steps=1000000) * 0 + 1)" --outputs y | grun x=1e300' 'y = 1437.0'
}

# With no step nothing of the body is worked out: what is taken out of the loop must not fail there, and must where there is one.
@test "what leaves a loop of steps that may be none keeps its result and its errors" {
    local e none two
    while IFS='|' read -r e none two; do
        gload --new -i 'x: float64[m]' -i 's: float64[n]' -i 'i: int64' -e "y = scan($e, sequences=[s])" --outputs y -o l.tlg
        ok 'grewrite l.tlg | grun --on-unused-input ignore "x=[1,2]" "s=zeros(0)" i=1' "y = $none"
        ok 'grun l.tlg --on-unused-input ignore "x=[1,2]" "s=zeros(0)" i=1' "y = $none"
        ok 'grewrite l.tlg | grun --on-unused-input ignore "x=[1,2]" "s=[1,2]" i=1' "y = $two"
    done <<'END'
lambda a: a * sum(x[x > 0])|[]|[3.0, 6.0]
lambda a: a + cumsum(x[i:]) @ x[i:]|[]|[5.0, 6.0]
lambda a: (a * (x[:i] + 1))[0]|[]|[2.0, 4.0]
lambda a: a * x[i]|[]|[2.0, 4.0]
END
    ok 'grewrite l.tlg | grun "x=[1,2]" "s=zeros(0)" i=7' 'y = []'
    bad 5 E_INDEX 'x\[i\]|subtensor' 'grewrite l.tlg | grun "x=[1,2]" "s=[1,2]" i=7'
}

@test "arguments of scan, states and rows that can't be" {
    local one
    one=$(printf '1, %.0s' $(seq 31))1
    no E_ARG 'has no `inputs`: write taps' 'scan(lambda a: a, sequences=[{"inputs": arange(3)}])'
    no E_ARITY 'keep has 2 entries for 1 output' 'scan(lambda a: a, outputs_info=[0], n_steps=2, keep=["last", 1])'
    no E_ARG 'go_backwards must be True or False' 'scan(lambda a: a, sequences=[arange(3)], go_backwards=1)'
    no E_ARG 'truncate_gradient must be an integer that is written out' 'scan(lambda a: a, sequences=[arange(3)], truncate_gradient=arange(3))'
    bad 6 E_LIMIT 'scan: a tensor has at most 32 dims' "gload --new -e 'scan(lambda a: reshape(a, [$one]), sequences=[arange(3)])'"
    ok "gload --new -e 'shape(scan(lambda a: reshape(a, [$one]), sequences=[arange(3)], keep=\"last\")).size' | grun" 'out = 32'
    no E_VALUE 'the number of steps is -1: it must not be negative' 'scan(lambda a: a, outputs_info=[0], n_steps=int8(-1))'
    bad 3 E_TYPE 'the state out is none, which has no values' 'gload --new -i "l: none" -e "scan(lambda b: b, outputs_info=[l], n_steps=2)"'
    bad 3 E_TYPE 'starts as slice, but lambda_1 turns it into list\(slice\): its type' 'gload --new -i "l: slice" -e "scan(lambda b: make_list(b), outputs_info=[l], n_steps=2)"'
    bad 3 E_TYPE 'starts as random, but lambda_1 turns it into float64: its type' 'gload --new -i "r: random" -e "scan(lambda b: 1.5, outputs_info=[r], n_steps=2)"'
    bad 5 E_RUN_SHAPE 'had the shape \(0,\) and has the shape \(1,\) in step 1: all rows must have the same shape' \
        'gload --new -i "a: int64" -e "scan(lambda i: arange(i), sequences=[arange(a)])" | grun a=3'
    bad 5 E_RUN_SHAPE 'had the shape \(2,\) and has the shape \(1,\) in step 0: all rows must have the same shape' \
        'gload --new -i "x: float64[?]" -i "a: int64" -e "scan(lambda c: c[a:], outputs_info=[x], n_steps=2)" | grun x=[1,2] a=1'
    bad 5 E_RUN_SHAPE 'note: pad it to the largest shape, or make it a list' \
        'gload --new -i "x: float64[?]" -i "a: int64" -e "scan(lambda c: c[a:], outputs_info=[x], n_steps=2)" | grun x=[1,2] a=1'
    ok 'gload --new -i "x: float64[?]" -e "scan(lambda c: make_list(c[0][1:]), outputs_info=[make_list(x)], n_steps=2)[0]" | grun x=[1,2,3]' 'out = [3.0]'
    # what other systems call arguments, and where they have them
    no E_ARG 'note: the values of a dict are given one by one' 'scan(lambda x, s: {"c": s["c"] + x}, [arange(3)], {"c": 0.})'
    no E_ARITY 'note: the last value of a result is an argument if outputs_info has' 'scan(lambda h: h + 1, n_steps=3)'
    no E_TYPE 'note: sequences come before the initial values' 'scan(lambda c, x: c + x, 0., arange(3.))'
    no E_ARG 'note: here it is `go_backwards=`' 'scan(lambda x, c: c + x, [arange(3)], [0], reverse=True)'
    no E_ARG 'note: do it in the expression, as in `lambda x: .x \+ 1, until\(x > 3\).`' 'scan(lambda c: c + 1, outputs_info=[0], n_steps=9, until=True)'
}

@test "a named body takes what its inputs are declared for, no other" {
    local inputs scan code want
    while IFS='|' read -r inputs scan code want; do
        cat >g.yaml <<Y
thunkline: 1
functions:
  f:
    inputs: {a: 'float64[n]', b: 'float64[n]'}
    let: |
      c = a + b
    outputs: {c: c}
inputs: {x: 'float64[5, 3]', y: '$inputs'}
let: |
  r = scan(f, $scan)
outputs: [r]
Y
        bad 3 "$code" "$want" 'gload g.yaml'
    done <<'END'
float64[5, 4]|sequences=[x, y]|E_SHAPE|f gets float64\[4\] as argument 2, but its input b is float64\[n\]
float32[5, 3]|sequences=[x, y]|E_DTYPE|f gets float32\[3\] as argument 2
float64[3, 3]|sequences=[x], non_sequences=[y]|E_SHAPE|f gets float64\[3, 3\] as argument 2
random|sequences=[x], outputs_info=[y]|E_TYPE|f gets random as argument 2
float64|sequences=[x], outputs_info=[y]|E_SHAPE|f gets float64 as argument 2
random|sequences=[x], outputs_info=[taps(y, [-2])]|E_TYPE|needs one row for each step that its taps go back
float64|sequences=[x]|E_ARITY|takes 2 arguments, but gets 1: 1 of sequences
END
    sed -i "s/y: '.*'/y: 'float64[5, 4]'/; s/scan(f, .*/scan(f, sequences=[x, y])/" g.yaml
    bad 3 E_SHAPE 'n is 3 by argument 1 and 4 by this one' 'gload g.yaml'
}

# INPUTS; EXPRESSION | VALUES | what every mode gives, with errors or not.
@test "rows that no step made have the shape of those that a step would make, in every mode" {
    local inputs e values want m i
    while IFS='|' read -r inputs e values want; do
        i=
        for v in $inputs; do i="$i -i '${v/:/: }'"; done
        eval "gload --new $i -e \"out = \$e\" -o a.tlg"
        for m in FAST_RUN FAST_COMPILE DEBUG; do
            ok "grun --mode $m a.tlg --on-unused-input ignore $values" "out = $want"
        done
    done <<'END'
x:float64[n] y:float64[p] w:float64[q]|scan(lambda a: a + w * 2, sequences=[x])|x=[] w=[1,2,3] y=[1]|zeros((0, 3), dtype='float64')
x:float64[n,m,3] y:float64[p,m] w:float64[q]|scan(lambda a: a[:, 0] + stack([y[0], y[0]]), sequences=[x])|'x=zeros((0,2,3))' 'y=ones((1,2))' w=[1]|zeros((0, 2, 2), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a: a * y[y > 0], sequences=[x])|x=[] y=[1,2,-1]|zeros((0, 2), dtype='float64')
x:float64[n,0] y:float64[p]|scan(lambda a: concatenate([a, y[y > 0]]), sequences=[x])|'x=zeros((0,0))' y=[1,2,-1]|zeros((0, 2), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a: a + stack([y[y > 0], y[y < 0]]), sequences=[x])|x=[] y=[1,2,-1]|zeros((0, 2, 0), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a: a + stack([y[y > 0], y[y < 0]]), sequences=[x])|x=[] y=[1,-1]|zeros((0, 2, 1), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a: print(a * y[y > 0], "row"), sequences=[x])|x=[] y=[1,2,-1]|zeros((0, 0), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a, h: [h + a, y[y > h]], sequences=[x], outputs_info=[1.5, None])[1]|x=[] y=[1,2,3]|zeros((0, 2), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a, b, h, g: [h + g, y[y > h]], sequences=[taps(x, [0, 1])], outputs_info=[taps([1.5, 2.5], [-2, -1]), None])[1]|x=[7] y=[1,2,3]|zeros((0, 2), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a: [a + y[y > 0], until(a > 2)], sequences=[x])|x=[] y=[1,2,-1]|zeros((0, 2), dtype='float64')
x:float64[n] y:float64[p]|scan(lambda a: a + y[y > 0], sequences=[x], keep=2)|x=[] y=[1,2,-1]|zeros((0, 2), dtype='float64')
x:float64[n] y:float64[3]|scan(lambda a: y[y > a], sequences=[x])|x=[] y=[1,2,3]|zeros((0, 3), dtype='float64')
x:float64[n] y:float64[3]|scan(lambda a: sum(exp(y[y > exp(a)])) + y[:int64(cos(sum(a * y)) + 1)], sequences=[x])|x=[] y=[1,2,3]|zeros((0, 2), dtype='float64')
x:int64[n] y:float64[p]|scan(lambda a: [y[y > 0], [a]][1], sequences=[x], keep=[2])|x=[4,5,6] y=[1]|[5, 6]
x:int64[n] y:float64[p]|scan(lambda a: [y[y > 0], [a]], sequences=[x], keep=[2, "last"])[1]|x=[4,5,6] y=[1]|[6]
END
}

@test "rows of different shapes are an error in every mode, also of results that are no state" {
    local e m text
    while IFS='|' read -r e text; do
        gload --new -i 'x: int64[n]' -i 'y: float64[p]' -e "out = $e" -o a.tlg
        for m in FAST_RUN FAST_COMPILE DEBUG; do
            bad 5 E_ "$text" "grun --mode $m a.tlg --on-unused-input ignore x=[3,2] y=[1,2,3]"
        done
    done <<'END'
scan(lambda a: arange(a), sequences=[x])|out had the shape \(3,\) and has the shape \(2,\) in step 1: all rows must have the same shape
scan(lambda a, h: arange(a) + sum(h), sequences=[x], outputs_info=[arange(x[0])])|out had the shape \(3,\) and has the shape \(2,\) in step 1: all rows must have the same shape
scan(lambda a, h: arange(a) + sum(h), sequences=[x], outputs_info=[arange(x[1])])|out had the shape \(2,\) and has the shape \(3,\) in step 0: all rows must have the same shape
scan(lambda a, h: [h + 1, y[:a]], sequences=[x], outputs_info=[0, None])[1]|had the shape \(3,\) and has the shape \(2,\) in step 1: all rows must have the same shape
scan(lambda a: y[a], sequences=[x])|index 3 is out of range
END
}

@test "what may fail in a step is not made before a loop without steps" {
    local m
    gload --new -i 'y: float64[n]' -i 'w: float64[?]' -i 's: int64[1]' -e 'out = scan(lambda a: sum(broadcast_to(w, s)) * a, sequences=[y])' --outputs out -o broadcast.tlg
    gload --new -i 'y: float64[n]' -i 's: int64[1]' -e 'out = scan(lambda a: sum(full(s, 2.)) * a, sequences=[y])' --outputs out -o full.tlg
    for m in FAST_RUN FAST_COMPILE DEBUG; do
        ok "grun broadcast.tlg --mode $m w=[1,2] s=[3] 'y=zeros(0)'" 'out = []'
        bad 5 E_RUN_SHAPE "can't become 3" "grun broadcast.tlg --mode $m w=[1,2] s=[3] y=[1]"
        ok "grun broadcast.tlg --mode $m w=[1,2] s=[2] y=[1,2]" 'out = [3.0, 6.0]'
        ok "grun full.tlg --mode $m s=[-1] 'y=zeros(0)'" 'out = []'
        bad 5 E_RUN_SHAPE 'is negative: -1' "grun full.tlg --mode $m s=[-1] y=[1]"
        ok "grun full.tlg --mode $m s=[2] y=[1,2]" 'out = [4.0, 8.0]'
    done
}

@test "an initial value that no step could give: seen also where no step runs" {
    printf '%s\n' 'thunkline: 1' 'inputs: {h: "float64[?]", v: "float64[k, 2]"}' 'let: |' '  r = scan(lambda p, h: p + h, [v], [h])' \
        '  l = scan(lambda p, h: p * 2, [v], [h], keep="last")' 'outputs: [r, l]' >s.yaml
    local mode
    for mode in FAST_RUN FAST_COMPILE DEBUG; do
        ok "gload s.yaml --outputs r | grun --mode $mode h=[] v='zeros((0, 2))'" "r = zeros((0, 2), dtype='float64')"
        bad 5 E_RUN_SHAPE 'begins with the shape .0,., but a step gives float64.2' \
            "gload s.yaml --outputs l | grun --mode $mode h=[] v='zeros((0, 2))'"
        ok "gload s.yaml --outputs l | grun --mode $mode h=[1,2] v='zeros((0, 2))'" 'l = [1.0, 2.0]'
    done
}

@test "what a step makes of its rows is what each row makes alone: all of them, their sum, and a state that fades" {
    local body mode
    while IFS= read -r body; do
        cat >f.yaml <<Y
thunkline: 1
inputs: {x: "float64[n, 3]", m: "float64[n, 2, 3]", k: "int64[n]"}
let: |
  w = array([[1.0, 0.5, -1.0], [2.0, 0.0, 3.0], [-1.0, 1.0, 0.25]])
  f = lambda x, m, k: $body
  want = stack([f(x[0], m[0], k[0]), f(x[1], m[1], k[1]), f(x[2], m[2], k[2])])
  rows = scan(f, sequences=[x, m, k])
  last = scan(lambda x, m, k, s: s + f(x, m, k), sequences=[x, m, k], outputs_info=[zeros_like(want[0])], keep='last')
  fade = scan(lambda x, m, k, h: 0.5 * h + f(x, m, k), sequences=[x, m, k], outputs_info=[0.0 * want[0]])[-1]
  far = sum(abs(rows - want)) + sum(abs(last - sum(want, axis=0))) + sum(abs(fade - (want[0] / 4 + want[1] / 2 + want[2])))
outputs: [far]
Y
        gload f.yaml -o f.tlg
        for mode in FAST_RUN FAST_COMPILE; do
            ok "grun f.tlg --mode $mode x='[[1,2,-3],[4,-5,6],[0.5,0,2]]' m='[[[1,2,3],[4,5,6]],[[0,1,-1],[2,-2,0.5]],[[1,1,2],[3,5,8]]]' k='[1,0,2]'" 'far = 0.0' || return
        done
    done <<'END'
x @ w
w @ x
m @ w
w @ transpose(m)
m @ x
x @ x
w @ w * k
transpose(m)
transpose(m, (1, 0)) @ m
zeros_like(x)
ones_like(m)
zeros_like(w) * k
stack([k, 2 * k])
expand_dims(k, (0, 1)) * x[None]
outer(w[0], x)
broadcast_to(k, (2,))
broadcast_to(w[0], (2, 3)) * k
arange(k + 1)[0] + x
x[:k + 1][0]
m[..., 0]
m[:, k]
w[k]
swapaxes(m, 0, 1)
einsum('ij,kj->ik', m, w)
concatenate([m, x[None]])
END
}

@test "without a step the gradient of a last value is its initial one's, whatever steps would do" {
    local keep x
    printf 'thunkline: 1\ninputs: {x: "float64[t]", h: float64}\nlet: {r: "scan(lambda s, a: s, [x], [h], keep=\\"last\\")"}\noutputs: [r]\n' >none.yaml
    ok "ggrad none.yaml --wrt h --disconnected ignore | grun x='float64([])' h=2" $'r = 2.0\nd_r_d_h = 1.0'
    ok "ggrad none.yaml --wrt h --disconnected ignore | grun x=[.5] h=2" $'r = 0.5\nd_r_d_h = 0.0'
    # steps before the first segment, of which there may be none
    for keep in '' ", keep='last'"; do
        printf 'thunkline: 1\ninputs: {x: "float64[t]", h: float64}\nlet: |\n  r, p = scan(lambda s, a: [s, a], [x], [h, None]%s)\n  loss = sum(p)\noutputs: [loss]\n' "$keep" >front.yaml
        for x in [.5] [.5,.2] [.5,.2,.7] [.5,.2,.7,.1,.9]; do
            ok "ggrad front.yaml --cost loss --wrt h,x --checkpoint sqrt --check x=$x h=2 >/dev/null"
        done
    done
}

@test "the name of an op is a function of its inputs, unless something nearer has it" {
    local g="gload -i 'x: float64[3]' -i 'm: float64[2, 2, 2]'" v='x=[1,4,9] m=[[[1,2],[0,4]],[[2,0],[0,4]]]'
    ok "$g -e 'y = map(sqrt, x)' -e 'r = reduce(maximum, x, 2.)' -e 's = scan(add, [x], [0.])' | grun $v" $'y = [1.0, 2.0, 3.0]\nr = 9.0\ns = [1.0, 5.0, 14.0]'
    ok "$g -e 'd = vectorize(det)(m)' -e 't = vectorize(solve, in_axes=[0, None])(m, x[:2])' -e 'g = grad(sum(vectorize(trace)(m) ** 2), m)[0, 0]' | grun $v" \
        $'d = [4.0, 8.0]\nt = [[-1.0, 1.0],\n     [0.5, 1.0]]\ng = [10.0, 0.0]'
    ok "$g -e 'n = vectorize(slogdet)(m)[0]' -e 'f = filter(isfinite, 1 / (x - 1))' -e 'v = vectorize(vectorize(exp))(m[0] * 0.)[0]' | grun $v" \
        $'n = [1.0, 1.0]\nf = [0.3333333333333333, 0.125]\nv = [1.0, 1.0]'
    ok "$g -e 'shift = lambda u: u + 1' -e 'y = map(shift, x)' | grun $v" 'y = [2.0, 5.0, 10.0]'
    # a call, too, before the lambda and behind it, and of a parameter; not a method
    ok "$g -e 'y = shift(x)' -e 'shift = lambda u: u + 1' -e 'z = x.shift(1) - shift(u=x[0])' -e 'w = map(lambda u: shift(u), x)' | grun $v" \
        $'y = [2.0, 5.0, 10.0]\nz = [-2.0, -1.0, 2.0]\nw = [2.0, 5.0, 10.0]'
    ok "$g -e 'silu = lambda u: u + 1' -e 'y = (x * 0).silu()' -e 'z = silu(x)' | grun $v" $'y = [0.0, 0.0, 0.0]\nz = [2.0, 5.0, 10.0]'
    ok "$g -e 'inner = lambda a, p: scan(lambda u, c: u * c, [p], [a])' -e 'y = map(lambda a: inner(a, x)[-1], x)' | grun $v" 'y = [36.0, 144.0, 324.0]'
    ok "$g -e 'y = (lambda sum, a: sum(a) + max(a))(lambda u: u[0], x)' | grun $v" 'y = 10.0'
    # but not of what is no function, and nothing that ops are made of
    ok "$g -e 'sum = x[1]' -e 'y = sum(x) + sum' -e 'z = (lambda max: max(x) + max)(x[0])' --outputs y,z | grun $v" $'y = 18.0\nz = 10.0'
    ok "$g -e 'exp = lambda u: u' --outputs y,dy -e 'y = sinh(x[0]) - (exp(x[0]) - 1)' -e 'dy = grad(softplus(y) + mean(x), x)[0]' -e 'mean = lambda u: u[0]' | grun $v" \
        $'y = 1.1752011936438014\ndy = 1.414959152537544'
    bad 3 E_CYCLE 'defined in terms of itself: sum' "$g -e 'sum = lambda a: sum(a) * 2' -e 'y = sum(x)'"
    ok "gload -i 'beta: float64' -i 'x: float64[n]' -e 'y = map(beta, [x, x])' -e 'z = beta * x' | gload -O yaml | grun beta=2 x=[1,2]" $'y = [1.0, 0.16666666666666666]\nz = [2.0, 4.0]'
    bad 3 E_ARITY '1:9: error.*topk needs the argument k' "$g -e 'y = map(topk, m)'"
    bad 3 E_TYPE 'must be a function' "$g -e 'y = map(x, x)'"
    bad 3 E_TYPE 'a function where a tensor is expected' "$g -e 'f = lambda u: u * 2' -e 'y = jacobian(f, x)'"
    grep -q 'write what it gives: f(x), not f' .err
}

@test "a loop that turns out to have one step, squared and summed" {
    ok "gload -i 'x: float64[m, m]' -e 'v = scan(lambda p, h: (h + p, until(sum(h) > 3)), [1.], [x])' -e 'c = sum(v * v)' --outputs c | grewrite | grun 'x=[[1,2],[3,4]]'" 'c = 54.0'
}

@test "a draw that gives every step the same numbers is told, once a loop; one of a state that goes on is not" {
    local e
    for e in 'scan(lambda v: v + normal(0., 1., seed=3), outputs_info=[0.], n_steps=4)' \
        'scan(lambda v: [p := v + uniform(0., 1., seed=1), p * normal(0., 1., seed=2)][1], outputs_info=[0.], n_steps=4)' \
        'map(lambda v: v + gamma(2., seed=1), arange(3.))' 'map(lambda v: permutation(3, seed=1) + v, arange(3.))' \
        'map(lambda v: v + normal(0., 1., rng=r)[1], arange(3.))' 'scan(lambda s, v: normal(v, 1., rng=r), outputs_info=[rng(1), 0.], n_steps=3)[1]' \
        'scan(lambda v, s: normal(v, 1., rng=s)[1], outputs_info=[0.], non_sequences=[rng(2)], n_steps=3)'; do
        shell "gload -i 'r: random' -e 'y = $e' -o g.tlg"
        [ "$status" = 0 ] && [ "$(grep -c 'warning\[E_ARG\]: this draw gives every step of the loop the same random numbers' .err)" = 1 ] ||
            complain 'should warn once' "$e" || return
    done
    for e in 'scan(lambda v, z: v + z, sequences=[normal(0., 1., (4,), seed=3)], outputs_info=[0.])' \
        'scan(lambda s, v: normal(v, 1., rng=s), outputs_info=[rng(1), 0.], n_steps=3)[1]' \
        'map(lambda i, v: normal(v, 1., rng=rng_fork(r, i))[1], arange(3), arange(3.))' 'normal(0., 1., 3, seed=1) * 2'; do
        ok "gload -i 'r: random' -e 'y = $e' -o g.tlg"
        [ ! -s .err ] || complain 'should say nothing' "$e" || return
    done
}
