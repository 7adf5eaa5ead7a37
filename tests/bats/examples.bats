#!/usr/bin/env bats
# Every example runs, and the README shows what the tools print.

load common

@test "examples: the digits demo trains and tests" {
    run "$DIGITS/demo.sh"
    assert_success
    assert_output --partial 'held out: rows 1500..1796'
    assert_output --regexp 'accuracy = 0\.88888888888888[0-9]*'
}

@test "examples: logistic regression" {
    run "$ROOT/examples/logistic/run.sh"
    assert_success
    assert_output --regexp 'accuracy = 0\.8[0-9]+'
}

@test "examples: perceptron in shuffled batches" {
    run "$ROOT/examples/mlp/train.sh"
    assert_success
    assert_output --regexp 'accuracy = 0\.9[0-9]+'
}

@test "examples: hidden layers of a network, reaped and planted" {
    run "$ROOT/examples/probe/run.sh"
    assert_success
    assert_output --regexp 'accuracy = 0\.(8[5-9]|9)[0-9]+'
    assert_output --regexp 'accuracy = 0\.0[0-9]+$'
}

@test "examples: a Metropolis walk, reaped" {
    run "$ROOT/examples/metropolis/run.sh"
    assert_success
    assert_output --regexp 'rate = 0\.[34][0-9]+'
    assert_output --regexp 'deviation = \[(1\.[89]|2\.[01])[0-9]*, (2\.[6-9]|3\.[0-4])[0-9]*\]'
}

@test "examples: a recurrent network learns a text by gradients through a loop, and speaks" {
    run "$ROOT/examples/rnn/run.sh"
    assert_success
    assert_output --regexp '400.1\.[0-9]+'
    assert_output --regexp 'TH'
}

# Worked out with NumPy: Newton's method on the same features.
@test "examples: standard errors of a logistic regression from its Hessian" {
    run "$ROOT/examples/standard-errors/run.sh"
    assert_success
    assert_output --partial 'loss = 110.477582888'
    assert_output --partial 'accuracy = 0.8543417366946778'
    assert_output --regexp 'w = \[-7\.7461567[0-9]*, 4\.8918102[0-9]*, -22\.3238868[0-9]*, 41\.5395971[0-9]*\]'
    assert_output --regexp 'error = \[1\.2061174[0-9]*, 4\.1043504[0-9]*, 3\.5849905[0-9]*, 5\.3141128[0-9]*\]'
    assert_output --regexp 'p = \[1\.34151[0-9]*e-10, 0\.2333162[0-9]*, 4\.75323[0-9]*e-10, 5\.4163[0-9]*e-15\]'
}

# Worked out with SciPy: the maximum by scipy.optimize.minimize on the same data.
@test "examples: a Gaussian process learns its length scale" {
    run "$ROOT/examples/gaussian-process/run.sh"
    assert_success
    assert_output --regexp '60.-8\.75655547[0-9]*.1\.16937[0-9]*.0\.045571[0-9]*'
    assert_output --partial 'evidence = -8.7565554'
    assert_output --regexp 'mean = \[1\.026281[0-9]*, -1\.039858[0-9]*, 0\.191559[0-9]*\]'
}

@test "examples: one-liners" {
    run "$ROOT/examples/one-liners/run.sh"
    assert_success
    assert_output --partial '1.414213562373095'
}

@test "examples: ops of one's own as text" {
    run "$ROOT/examples/ops-text/run.sh"
    assert_success
    assert_output --partial 'y0 = 2.0 * swish(x0) + 1.0'
    assert_output --regexp 'accuracy = 0\.8[5-9][0-9]+|accuracy = 0\.9[0-9]+'
}

# tour FILE LEAST: a text's indented blocks that begin with `$ `: command lines (going on after | or \) and what they
# print, LEAST of them at least. Numbers are compared to four decimals, as the last ones go by the CPU.
tour() {
    awk '
        function flush() { if (cmd != "") { n++; print cmd > ("cmd." n); printf "%s", out > ("want." n) } cmd = ""; out = "" }
        !/^    / && !/^$/ { flush(); next }
        /^    \$ / { flush(); cmd = substr($0, 7); more = cmd ~ /[|\\]$/; next }
        cmd != "" && more { cmd = cmd "\n" substr($0, 5); more = $0 ~ /[|\\]$/; next }
        cmd != "" { out = out substr($0, 5) "\n" }
        END { flush() }' "$1"
    [ -s "cmd.$2" ]
    local i cmd want f
    for ((i = 1; i <= $(find . -name 'cmd.*' | wc -l); i++)); do
        cmd=cmd.$i want=want.$i
        bash "$cmd" >got 2>&1 || true
        for f in got "$want"; do
            sed -E -e 's/([0-9]+\.[0-9]{4})[0-9]+/\1/g' -e '/^$/d' "$f" >"$f.n"
        done
        diff -u "$want.n" got.n
    done
}

@test "the README's tour shows real output" {
    cp "$DIGITS"/* .
    tour "$ROOT/README.md" 6
}

@test "the README of the plugin of doubles shows real output" {
    command -v jq >/dev/null || skip 'no jq'
    CC=$(command -v cc || command -v gcc) || skip 'no C compiler'
    export CC THUNKLINE="$ROOT/lib/include"
    chmod 755 .
    cp "$ROOT"/examples/plugin-double/* .
    tour README.md 20
}
