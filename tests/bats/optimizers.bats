#!/usr/bin/env bats
# ggrad --optimizer: rules as text, that make updates of gradients.
load common

# A cost that is not quadratic, in parameters of two, one and no dims.
# shellcheck disable=SC2120 # the dtype; without it: float64
problem() {
    cat <<END
thunkline: 1
shared:
  W: ${1:-float64}[3, 2] = [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]]
  b: ${1:-float64}[2] = [0.05, -0.05]
  s: ${1:-float64} = 1.5
let: |
  X: ${1:-float64}[4, 3] = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-1.0, 1.0, 0.75], [0.1, -0.3, 0.9]]
  Y: ${1:-float64}[4, 2] = [[1.0, -0.5], [0.2, 0.7], [-0.6, 0.4], [0.9, -1.1]]
  p = tanh(X @ W) * s + b
  loss = mean((p - Y) ** 2) + 0.01 * sum(W ** 4)
  all = concatenate([stack([loss]), W.reshape((6,)), b, stack([s])])
outputs: [all]
END
}

train() { ggrad --cost loss --wrt W,b,s --optimizer "$@"; }

# Compares columns of numbers: NAME, the file with the values that should be, the file with those that are, tolerance.
agree() {
    paste "$2" "$3" | awk -v name="$1" -v tol="$4" '
        NF != 2 { print name ": " NR ": " $0; bad = 1; exit }
        { d = $1 - $2; if (d < 0) d = -d; m = $1 < 0 ? -$1 : $1; if (d > tol * (m > 1 ? m : 1)) { print name ": number " NR " is " $2 ", not " $1; bad = 1 } }
        END { exit bad || !NR }'
}

@test "each rule follows the trajectory of PyTorch for 100 steps" {
    problem >m.yaml
    gload m.yaml -o m.tlg
    local rules rest
    while IFS=$'\t' read -r rules rest; do
        tr '\t' '\n' <<<"$rest" >want
        train "$rules" m.tlg | grewrite | grun --steps 100 --every 10 | sed 's/all = //' | tr -d '[] ' | tr ',' '\n' >have
        agree "$rules" want have 1e-6
    done <"$ROOT/tests/bats/optimizers.tsv"
}
