#!/usr/bin/env bats
# The clauses of the contract documents that a line for the shell shows: rows SHELL and SHELL_BAD of
# tests/unit/contract.def, where the other clauses are, too.
load common

setup_file() {
    CC=$(command -v cc || command -v gcc) || return 0
    make -s -C "$BATS_TEST_DIRNAME/../../examples/plugin-double" CC="$CC" OUT="$BATS_FILE_TMPDIR"
    chmod 755 "$BATS_FILE_TMPDIR"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    command -v cc gcc >/dev/null || skip 'no C compiler'
    command -v jq >/dev/null || skip 'no jq'
    export D="--plugin $BATS_FILE_TMPDIR/double.so"
}

# Rows of a macro as lines of fields, parted by \x01; they begin with documents, clause, carrier.
rows() {
    awk -v name="$1(" -v sep=$'\x01' '
        index($0, name) == 1 {
            row = substr($0, length(name) + 1)
            while (row !~ /"\)$/ && (getline more) > 0) { sub(/^ +/, " ", more); row = row more }
            sub(/^OP/, "\"000, 001, 004\"", row)
            row = substr(row, 2, length(row) - 3)
            gsub(/", "/, sep, row)
            gsub(/\\"/, "\"", row)
            gsub(/\\\\/, "\\", row)
            gsub(/\$\{nl\}/, "\002", row)
            print row
        }' "$ROOT/tests/unit/contract.def"
}

@test "clauses of the contracts, by lines for the shell" {
    local n=0 documents clause carrier line want
    while IFS=$'\x01' read -r documents clause carrier line want; do
        ok "$line" "${want//$'\x02'/$'\n'}" || { echo "$documents: $clause ($carrier)"; return 1; }
        n=$((n + 1))
    done < <(rows SHELL)
    [ "$n" -gt 15 ]
}

@test "clauses of the contracts: what must be refused" {
    local n=0 documents clause carrier line status code want
    while IFS=$'\x01' read -r documents clause carrier line status code want; do
        bad "$status" "$code" "$want" "$line" || { echo "$documents: $clause ($carrier)"; return 1; }
        n=$((n + 1))
    done < <(rows SHELL_BAD)
    [ "$n" -gt 8 ]
}
