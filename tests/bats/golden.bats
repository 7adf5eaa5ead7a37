#!/usr/bin/env bats
# Golden files, and the assertions that users of bats get.

load common

@test "golden files are as the tools write them" {
    run "$ROOT/tests/golden/run.sh" "$(dirname "$(command -v gload)")"
    assert_success
}

@test "lib/bats: assertions hold where they should" {
    source "$ROOT/lib/bats/thunkline.bash"
    model=$DIGITS/model.yaml
    assert_graph "$model"
    assert_result "$model" loss=2.3025851 x='zeros((2, 64))' y='[1, 2]'
    gload "$model" -O json -o m.json
    assert_same_graph "$model" m.json
    assert_gradient "$model" loss b x='ones((2, 64))' y='[1, 2]'
    assert_rewrite "$model"
    assert_cost "$model" 'peak_bytes < 1e6' --dim n=100
}

@test "lib/bats: assertions fail where they should" {
    source "$ROOT/lib/bats/thunkline.bash"
    model=$DIGITS/model.yaml
    run -1 assert_result "$model" loss=3 x='zeros((2, 64))' y='[1, 2]'
    gload -e 'x + 1' -o other.tlg
    run -1 assert_same_graph "$model" other.tlg
    run -1 assert_cost "$model" 'peak_bytes < 1' --dim n=100
    echo 'thunkline: 2' >new.yaml
    run -3 assert_graph new.yaml
}
