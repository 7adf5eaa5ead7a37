#!/bin/bash
# What the tests reach. usage: run.sh BUILD_DIR PROGRAM...; the build is `make coverage`'s.
# Counts start anew; set KEEP=1 to add to what an earlier call reached. FILES chooses bats files.
cd "$(dirname "$0")/../.." || exit 1
B=$1
shift
export GCOV_ERROR_FILE=/dev/null TL_BIN="$PWD/$B/bin"
[ -n "${KEEP:-}" ] || find "$B" -name '*.gcda' -delete
# Some tests measure time or memory, which these programs take more of: what fails here is counted, not judged.
export TRIES=60 DEPTH=16 # of allocations that fail (tests/prop/allocations.c)
export EVERY=5  # of the changed fields of models (tests/prop/onnx_fields.c)
program() {
    timeout "${TEST_SECONDS:-5400}" "$1" >"$1.log" 2>&1 && return
    echo "$1: failed here (exit $?)"
    tail -n 5 "$1.log" | sed 's/^/    /'
}
export -f program
printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' bash -c 'program {}' >"$B/log"
cat "$B/log"
failed=$(grep -c 'failed here' "$B/log")
jobs=1
parallel --version 2>/dev/null | grep -q 'GNU parallel' && jobs=$(nproc)
# shellcheck disable=SC2086
bats --tap --jobs "$jobs" ${FILES:-tests/bats} >"$B/log" 2>&1
grep '^not ok' "$B/log"
failed=$((failed + $(grep -c '^not ok' "$B/log")))
echo "$failed tests failed under coverage"
find "$B/lib" "$B/cmd" "$B/gen" -name '*.gcno' | sort | xargs -n 1 -P "$(nproc)" sh -c '
    gcov -b -c -t "$1" >"$1.txt" 2>/dev/null' gcov
find "$B/lib" "$B/cmd" "$B/gen" -name '*.gcno.txt' | sort | xargs cat |
    awk -v OUT="$B/coverage.unsorted" -f tests/coverage/merge.awk
sort -t: -k1,1 -k2,2n "$B/coverage.unsorted" >"$B/coverage.txt"
rm -f "$B/coverage.unsorted"
echo "never reached: $B/coverage.txt"
