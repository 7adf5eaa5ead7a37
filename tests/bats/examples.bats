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

@test "examples: early stopping, a run for each epoch" {
    run "$ROOT/examples/early-stopping/run.sh"
    assert_success
    assert_output --regexp 'the best of [0-9]+ epochs has the loss 0\.1[0-9]+'
    assert_output --regexp 'accuracy = 0\.(8[89]|9)[0-9]+'
}

@test "examples: a transformer trains, and pages show how" {
    run "$ROOT/examples/transformer/run.sh"
    assert_success
    assert_output --regexp '60	0\.[0-9]+'
    assert_output --partial './before.html
./rewriting.html
./run.html
./step.html'
}

@test "examples: a network from ONNX is profiled, differentiated, fine-tuned" {
    run "$ROOT/examples/onnx/run.sh"
    assert_success
    assert_output --partial 'math calls: 0; moved: 1.18 MB'
    assert_output --partial 'accuracy = 0.346801346801'
    assert_output --regexp 'accuracy = 0\.(8[5-9]|9)[0-9]+'
    # the written model classifies as the graph does
    mapfile -t accuracy < <(numbers accuracy)
    [ "${#accuracy[@]}" = 3 ] && [ "${accuracy[2]}" = "${accuracy[1]}" ]
    assert_output --regexp 'v9_bias +float32\[10\], value'
    assert_output --regexp 'v9_bias_new +float32\[10\]'
}

# numbers NAME: the lines `NAME = value` of $output, in order, without brackets and commas.
numbers() { sed -n "s/^$1 = //p" <<<"$output" | tr -d '[],'; }

# between LOW HIGH WORD...: every word is a number in the range.
between() {
    [ $# -gt 2 ] && printf '%s\n' "${@:3}" | awk -v low="$1" -v high="$2" '
        $1 + 0 != $1 || $1 < low || $1 > high { print $1 " is not between " low " and " high; bad = 1 } END { exit bad }' >&2
}

@test "examples: hidden layers of a network, reaped and planted" {
    run "$ROOT/examples/probe/run.sh"
    assert_success
    # trained; unseen rows, the same with the layer planted, a quarter of it, that of others, an average
    mapfile -t accuracy < <(numbers accuracy)
    between 0.97 1 "${accuracy[0]}"
    between 0.85 0.97 "${accuracy[1]}"
    [ "${accuracy[2]}" = "${accuracy[1]}" ]
    between 0.3 0.86 "${accuracy[3]}"
    between 0 0.15 "${accuracy[4]}" "${accuracy[5]}"
    between 0 0.1 "$(numbers first)"
    between 0.1 0.6 "$(numbers second)"
    between 0 1e-6 "$(numbers spread)"
}

@test "examples: a Metropolis walk, reaped" {
    run "$ROOT/examples/metropolis/run.sh"
    assert_success
    between 0.36 0.42 "$(numbers rate)"
    read -r x y < <(numbers mean)
    between -0.2 0.2 "$x"
    between 1.75 2.25 "$y"
    read -r x y < <(numbers deviation)
    between 1.85 2.15 "$x"
    between 2.65 3.35 "$y"
    read -r x y < <(numbers error)
    between 0.005 0.1 "$x" "$y"
    between 0.673 0.693 "$(numbers near)"
}

@test "examples: a recurrent network learns a text by gradients through a loop, and speaks" {
    run "$ROOT/examples/rnn/run.sh"
    assert_success
    mapfile -t loss < <(sed -n 's/^[1-4]00\t//p' <<<"$output")
    between 2.5 4.5 "${loss[0]}"
    between 1 1.8 "${loss[3]}"
    # 300 characters of speech, most of them letters, in words that the text has
    speech=$(sed '1,/^# speech/d' <<<"$output")
    between 250 310 "${#speech}"
    letters=$(tr -dc 'A-Za-z' <<<"$speech")
    between 180 290 "${#letters}"
    between 3 60 "$(grep -oiE '\b(the|or|of|and|in|software|to|any)\b' <<<"$speech" | wc -l)"
}

@test "examples: a language model of llama's architecture learns a text, and goes on from its beginning" {
    run "$ROOT/examples/llama/run.sh"
    assert_success
    assert_output --regexp '300	0\.[01][0-9]+'
    assert_output --partial 'MIT License

Copyright (c) 2026 The thunkline authors'
}

@test "examples: one-liners, with the tools of a folder" {
    cd "$ROOT"
    PATH=/usr/bin:/bin run examples/one-liners/run.sh "${TL_BIN:-build/bin}"
    assert_success
    assert_output --partial '1.414213562373095'
}

@test "examples: ops of one's own as text" {
    run "$ROOT/examples/ops-text/run.sh"
    assert_success
    assert_output --partial 'y0 = 2.0 * swish(x0) + 1.0'
    assert_output --regexp 'accuracy = 0\.8[5-9][0-9]+|accuracy = 0\.9[0-9]+'
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

# same_numbers FILE: the answers of a tool of GradBench on standard input have the numbers of a table, in order.
same_numbers() {
    python3 -c '
import json, sys

def numbers(v):
    if isinstance(v, dict):
        return [x for key in sorted(v) for x in numbers(v[key])]
    return [x for item in v for x in numbers(item)] if isinstance(v, list) else [v]

answers = [a for a in map(json.loads, sys.stdin) if "output" in a or a.get("success") is False]
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
assert len(rows) == len(answers), (len(rows), len(answers))
for (module, function, *want), answer in zip(rows, answers):
    assert answer["success"], (module, function, answer)
    got = numbers(answer["output"])
    assert len(got) == len(want), (module, function, got, want)
    for x, y in zip(got, map(float, want)):
        assert abs(x - y) <= 1e-9 * max(1, abs(y)), (module, function, x, y)
    assert answer["timings"] and all(t["name"] == "evaluate" and t["nanoseconds"] > 0 for t in answer["timings"])
' "$1"
}

@test "examples: the evals of GradBench give PyTorch's values and derivatives" {
    command -v python3 >/dev/null || skip 'no python3'
    run --separate-stderr "$ROOT/examples/gradbench/run.sh" "${TL_BIN:-$ROOT/build/bin}"
    assert_success
    [ -z "$stderr" ]
    same_numbers "$ROOT/tests/bats/gradbench.tsv" <<<"$output"
}

@test "examples: GradBench's messages, what is wrong with them, and how often calls are made" {
    command -v python3 >/dev/null || skip 'no python3'
    run --separate-stderr python3 "$ROOT/examples/gradbench/tool.py" "${TL_BIN:-$ROOT/build/bin}" <<'END'
{"id": 7, "kind": "start", "eval": "lse"}
{"id": 8, "kind": "define", "module": "nothing"}
{"id": 9, "kind": "evaluate", "module": "lse", "function": "nothing", "input": {"x": [1]}}
{"id": 10, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": ["one"]}}
{"id": 11, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1], "min_runs": 3, "min_seconds": 0}}
{"id": 12, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1, 1], "min_runs": 1, "min_seconds": 0.002}}
{"id": 13, "kind": "analysis", "of": 12, "valid": true}
END
    assert_success
    assert_line --index 0 '{"id": 7, "tool": "thunkline"}'
    assert_line --index 1 '{"id": 8, "success": false}'
    assert_line --index 2 --partial 'E_UNKNOWN'
    assert_line --index 3 --partial "'one' is not a number"
    assert_line --index 4 --regexp '"output": 1.0, "timings": (\[|, |\{"name": "evaluate", "nanoseconds": [0-9]+\}){6}\]'
    assert_line --index 6 '{"id": 13}'
    seconds=$(grep -o 'nanoseconds": [0-9]*' <<<"${lines[5]}" | awk '{ s += $2 } END { print s / 1e9 }')
    between 0.002 10 "$seconds"
}
