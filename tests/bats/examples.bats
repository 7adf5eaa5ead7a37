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

# The README's indented blocks that begin with `$ `: command lines (going on after | or \) and what they print. Numbers
# are compared to four decimals, as the last ones go by the CPU.
@test "the README's tour shows real output" {
    cp "$DIGITS"/* .
    awk '
        function flush() { if (cmd != "") { n++; print cmd > ("cmd." n); printf "%s", out > ("want." n) } cmd = ""; out = "" }
        !/^    / && !/^$/ { flush(); next }
        /^    \$ / { flush(); cmd = substr($0, 7); more = cmd ~ /[|\\]$/; next }
        cmd != "" && more { cmd = cmd "\n" substr($0, 5); more = $0 ~ /[|\\]$/; next }
        cmd != "" { out = out substr($0, 5) "\n" }
        END { flush() }' "$ROOT/README.md"
    [ -s cmd.6 ] # the tour is long enough to be one
    for cmd in cmd.*; do
        want=want.${cmd#cmd.}
        bash "$cmd" >got 2>&1 || true
        for f in got "$want"; do
            sed -E -e 's/([0-9]+\.[0-9]{4})[0-9]+/\1/g' -e '/^$/d' "$f" >"$f.n"
        done
        diff -u "$want.n" got.n
    done
}
