#!/usr/bin/env bats
# The clauses of the contract documents that a line for the shell shows: rows SHELL, SHELL_BAD and TEST of
# tests/unit/contract.def, where the other clauses are, too, and of tests/bats/behaviour.def.
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
    TABLES=("$ROOT/tests/unit/contract.def" "$ROOT/tests/bats/behaviour.def")
    export D="--plugin $BATS_FILE_TMPDIR/double.so"
    export F="f = lambda x: sow(x + 1., tag='intermediate', name='y') + 1."
    export -f e h
}

# What rows use: a new graph of an expression, more arguments of gload following.
e() {
    local text=$1
    shift
    gload --new "$@" -e "$text"
}
h() {
    local text=$1
    shift
    gload --new -i 'x: float64' -e "$F" "$@" -e "r = $text"
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
        }' "${TABLES[@]}"
}
# How many there are: none is left out for the way it is written.
count() { cat "${TABLES[@]}" | grep -c "^$1("; }

# A row must say what it is about, by what it holds, and show it.
complete() { # carrier, line, want
    [ -n "$1" ] && [[ $2 =~ (^|[^a-z])(gload|grewrite|grun|ggrad|gprof|e|h)' ' ]] && return
    echo "the row has no line for the shell: $2"
    return 1
}

@test "clauses of the contracts, by lines for the shell" {
    local n=0 documents clause carrier line want
    while IFS=$'\x01' read -r documents clause carrier line want; do
        complete "$carrier" "$line" && ok "$line" "${want//$'\x02'/$'\n'}" || { echo "$documents: $clause ($carrier)"; return 1; }
        n=$((n + 1))
    done < <(rows SHELL)
    [ "$n" -gt 120 ] && [ "$n" = "$(count SHELL)" ]
}

@test "clauses of the contracts: refusals" {
    local n=0 documents clause carrier line status code want
    while IFS=$'\x01' read -r documents clause carrier line status code want; do
        complete "$carrier" "$line" && bad "$status" "$code" "$want" "$line" || { echo "$documents: $clause ($carrier)"; return 1; }
        n=$((n + 1))
    done < <(rows SHELL_BAD)
    [ "$n" -gt 50 ] && [ "$n" = "$(count SHELL_BAD)" ]
}

@test "clauses that other tests show: the tests are there" {
    local n=0 documents clause file name
    while IFS=$'\x01' read -r documents clause file name; do
        grep -qF "@test \"$name\" {" "$ROOT/tests/bats/$file" || { echo "$documents: $clause: $file has no test \"$name\""; return 1; }
        n=$((n + 1))
    done < <(rows TEST)
    [ "$n" -gt 20 ] && [ "$n" = "$(count TEST)" ]
}
