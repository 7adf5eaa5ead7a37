#!/bin/bash
# Everything that `make test` runs; ends with "N passed, N failed". usage: run.sh BUILD_DIR PROGRAM...
cd "$(dirname "$0")/.." || exit 1
B=$1
shift
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
passed=0
failed=0

# Adds up the lines "NAME: N passed, N failed" of a log.
count() {
    local p f
    read -r p f < <(awk -F'[: ,]+' '/: [0-9]+ passed, [0-9]+ failed$/ { p += $(NF - 3); f += $(NF - 1) } END { print p + 0, f + 0 }' "$1")
    passed=$((passed + p))
    failed=$((failed + f))
}

jobs=1
parallel --version 2>/dev/null | grep -q 'GNU parallel' && jobs=$(nproc)

# Programs side by side; what each prints stays together.
one_program() { # number, program
    timeout "${TEST_SECONDS:-600}" "$2" >"$log/unit.$1" 2>&1
    echo $? >"$log/status.$1"
}
export -f one_program
export log
i=0
for program in "$@"; do
    i=$((i + 1))
    printf '%s\0%s\0' "$i" "$program"
done | xargs -0 -n 2 -P "$(nproc)" bash -c 'one_program "$@"' run
i=0
for program in "$@"; do
    i=$((i + 1))
    status=$(cat "$log/status.$i")
    if ! grep -q ' passed, [0-9]* failed$' "$log/unit.$i" || { [ "$status" -ne 0 ] && grep -q ' 0 failed$' "$log/unit.$i"; }; then
        echo "$program: ended with status $status"
        failed=$((failed + 1))
    fi
    tail -n 40 "$log/unit.$i"
    [ "$status" = 0 ] || { echo "$program: status $status" && tail -n 40 "$log/unit.$i"; } >>"$log/failures"
    count "$log/unit.$i"
done

export TL_BIN="$PWD/$B/bin"
bats --tap --jobs "$jobs" tests/bats >"$log/bats" 2>&1
grep -v '^ok ' "$log/bats"
awk '/^not ok /{ on = 1 } /^ok /{ on = 0 } on' "$log/bats" >>"$log/failures"
ok=$(grep -c '^ok ' "$log/bats")
bad=$(grep -c '^not ok ' "$log/bats")
[ "$ok" -gt 0 ] || bad=$((bad + 1))
echo "bats: $ok passed, $bad failed"
passed=$((passed + ok))
failed=$((failed + bad))

tests/lint/run.sh "$B" >"$log/lint" 2>&1 || cat "$log/lint" >>"$log/failures"
cat "$log/lint"
count "$log/lint"

# Once more, where the end of a long log shows them.
[ "$failed" -eq 0 ] || { echo "---- what failed ----" && tail -n 200 "$log/failures"; }
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
