#!/usr/bin/env bats
# After grewrite a gradient has no more Applys than a backward pass written by hand: op by op when nothing is fused,
# and in all when it is. Both give the same numbers.

load common

# counts FILE: "OP N" lines, what gload --info says of the ops, and the sum.
counts() {
    gload --info "$1" | awk '$1 == "ops" { on = 1; print $2, $3; n += $3; next }
        on && /^ / { print $1, $2; n += $2; next } { on = 0 } END { print "all", n }'
}

# leaner DERIVED WRITTEN: no op stands more often in DERIVED, nor do all of them.
leaner() {
    counts "$1" >have && counts "$2" >most
    awk 'NR == FNR { most[$1] = $2; next } $2 > most[$1] + 0 { print $1 ": " $2 " instead of " most[$1] + 0; bad = 1 }
        END { exit bad }' most have
}

# as_lean DERIVED WRITTEN: leaner, and as a whole when fused too.
as_lean() {
    for f in "$1" "$2"; do
        grewrite --exclude fusion "$f" -o "$f.flat.tlg"
        grewrite "$f" -o "$f.fused.tlg"
    done
    [ "$(counts "$2.flat.tlg" | wc -l)" -gt 5 ] # the listing was understood
    leaner "$1.flat.tlg" "$2.flat.tlg"
    counts "$1.fused.tlg" | tail -n 1 >have
    counts "$2.fused.tlg" | tail -n 1 >most
    [ "$(cut -d ' ' -f 2 have)" -le "$(cut -d ' ' -f 2 most)" ]
}

# same DERIVED WRITTEN ARGUMENTS...: both print the same numbers, to four decimals.
same() {
    for f in "$1.flat.tlg" "$1.fused.tlg" "$2.flat.tlg" "$2.fused.tlg"; do
        grun "$f" "${@:3}" -O json | jq -c '[.name, ([.data] | flatten | map(1e4 * . | round))]' >"$f.out"
        [ -s "$f.out" ]
        diff "$1.flat.tlg.out" "$f.out"
    done
}

@test "the gradient of the perceptron is as small as a backward pass by hand" {
    cat >written.yaml <<'END'
thunkline: 1
inputs:
  x: float32[n, 64]
  y: int64[n]
shared:
  W1: float32[64, 100] = normal(0, 0.125, (64, 100), seed=1)
  b1: float32[100] = zeros(100)
  W2: float32[100, 10] = normal(0, 0.1, (100, 10), seed=2)
  b2: float32[10] = zeros(10)
let: |
  hidden = tanh(x @ W1 + b1)
  logits = hidden @ W2 + b2
  # (softmax - one hot) / n
  delta = inc_subtensor(exp(log_softmax(logits, axis=1))[arange(n), y], -1.0) / float32(n)
  d_loss_d_W2 = hidden.T @ delta
  d_loss_d_b2 = sum(delta, axis=0)
  back = delta @ W2.T * (1 - hidden ** 2)
  d_loss_d_W1 = x.T @ back
  d_loss_d_b1 = sum(back, axis=0)
outputs: [d_loss_d_W1, d_loss_d_b1, d_loss_d_W2, d_loss_d_b2]
END
    ggrad "$ROOT/examples/mlp/model.yaml" --cost loss --wrt W1,b1,W2,b2 --only -o derived.tlg
    as_lean derived.tlg written.yaml
    same derived.tlg written.yaml x="float32(load('$DIGITS/x.npy')[:50]) / 16" y="@$DIGITS/y.npy[:50]"
}

@test "the gradient of the logistic regression is as small as one by hand" {
    cat >written.yaml <<'END'
thunkline: 1
inputs:
  x: float64[n, 64]
  digit: int64[n]
shared:
  w: float64[64] = zeros(64)
  b: float64 = 0.0
let: |
  round = (digit == 0) | (digit == 6) | (digit == 8) | (digit == 9)
  z = x @ w + b
  # of softplus(z) or softplus(-z)
  slope = sigmoid(where(round, -z, z)) / float64(n)
  dz = where(round, -slope, slope)
  d_loss_d_w = x.T @ dz + 2e-4 * w
  d_loss_d_b = sum(dz)
outputs: [d_loss_d_w, d_loss_d_b]
END
    grewrite --mode NONE --keep loss "$ROOT/examples/logistic/model.yaml" |
        ggrad --cost loss --wrt w,b --only -o derived.tlg
    as_lean derived.tlg written.yaml
    same derived.tlg written.yaml x="load('$DIGITS/x.npy')[:50] / 16" "digit=@$DIGITS/y.npy[:50]"
}

@test "the gradient of a logistic regression with labels as numbers is as small as one by hand" {
    cat >model.yaml <<'END'
thunkline: 1
inputs: {x: "float64[n, 3]", t: "float64[n]"}
shared: {w: "float64[3] = [0.5, -1, 2]", b: "float64 = 0.25"}
let: |
  z = x @ w + b
  loss = mean(softplus(z) - t * z)
outputs: [loss]
END
    cat >written.yaml <<'END'
thunkline: 1
inputs: {x: "float64[n, 3]", t: "float64[n]"}
shared: {w: "float64[3] = [0.5, -1, 2]", b: "float64 = 0.25"}
let: |
  dz = (sigmoid(x @ w + b) - t) / float64(n)
  d_loss_d_w = x.T @ dz
  d_loss_d_b = sum(dz)
outputs: [d_loss_d_w, d_loss_d_b]
END
    ggrad model.yaml --cost loss --wrt w,b --only -o derived.tlg
    as_lean derived.tlg written.yaml
    same derived.tlg written.yaml x='normal(0, 1, (7, 3), seed=4)' t='[0, 1, 1, 0, 0, 1, 0]'
}

@test "the gradient of least squares is as small as one by hand" {
    cat >model.yaml <<'END'
thunkline: 1
inputs: {x: "float64[n, 3]", t: "float64[n]"}
shared: {w: "float64[3] = [0.5, -1, 2]"}
let: |
  loss = mean((x @ w - t) ** 2) + 0.1 * sum(w ** 2)
outputs: [loss]
END
    cat >written.yaml <<'END'
thunkline: 1
inputs: {x: "float64[n, 3]", t: "float64[n]"}
shared: {w: "float64[3] = [0.5, -1, 2]"}
let: |
  dz = 2 * (x @ w - t) / float64(n)
  d_loss_d_w = x.T @ dz + 0.2 * w
outputs: [d_loss_d_w]
END
    ggrad model.yaml --cost loss --wrt w --only -o derived.tlg
    as_lean derived.tlg written.yaml
    same derived.tlg written.yaml x='normal(0, 1, (7, 3), seed=4)' t='[0, 1, 1, 0, 0, 1, 0]'
}

@test "the gradient of softmax regression is as small as one by hand" {
    cat >written.yaml <<'END'
thunkline: 1
inputs:
  x: float32[n, 64]
  y: int64[n]
shared:
  W: float32[64, 10] = zeros((64, 10))
  b: float32[10] = zeros(10)
let: |
  delta = inc_subtensor(exp(log_softmax(x @ W + b, axis=1))[arange(n), y], -1.0) / float32(n)
  d_loss_d_W = x.T @ delta
  d_loss_d_b = sum(delta, axis=0)
outputs: [d_loss_d_W, d_loss_d_b]
END
    ggrad "$DIGITS/model.yaml" --cost loss --wrt W,b --only -o derived.tlg
    as_lean derived.tlg written.yaml
    same derived.tlg written.yaml x="float32(load('$DIGITS/x.npy')[:50]) / 16" y="@$DIGITS/y.npy[:50]"
}

@test "the gradient of copies is a sum over them" {
    cat >model.yaml <<'END'
thunkline: 1
inputs: {x: "float64[a, b, c]", w: "float64[a, b2, c3]", k: int64}
let: |
  loss = sum(repeat(repeat(x, 2, axis=1), k, axis=2) ** 2 * w)
outputs: [loss]
END
    cat >written.yaml <<'END'
thunkline: 1
inputs: {x: "float64[a, b, c]", w: "float64[a, b2, c3]", k: int64}
let: |
  g = 2 * w * repeat(repeat(x, 2, axis=1), k, axis=2)
  wide = sum(reshape(g, (x.shape[0], 2 * x.shape[1], x.shape[2], k)), axis=3)
  d_loss_d_x = sum(reshape(wide, (x.shape[0], x.shape[1], 2, x.shape[2])), axis=2)
outputs: [d_loss_d_x]
END
    ggrad model.yaml --cost loss --wrt x --only -o derived.tlg
    as_lean derived.tlg written.yaml
    same derived.tlg written.yaml k=3 "x=normal(0, 1, (4, 3, 2), seed=1)" "w=normal(0, 1, (4, 6, 6), seed=2)"
}
