#!/usr/bin/env bats
# Golden files.

load common

@test "golden files are as the tools write them" {
    run "$ROOT/tests/golden/run.sh" "$(dirname "$(command -v gload)")"
    assert_success
}
