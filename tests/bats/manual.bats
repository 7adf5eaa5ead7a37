#!/usr/bin/env bats
# thunkline(7) is true: each of its examples runs as it is printed.
load common

# The statements of the manual in which its own names stand.
X32='x32: float32[3]' I8='i8: int8[3]'

# session FILE: runs each command, and compares what it prints with the lines below it.
session() {
    local line command='' want=''
    check() {
        [ -n "$command" ] || return 0
        shell "{ $command; } 2>&1"
        [ "$(cat .out)" = "${want%$'\n'}" ] || complain "should print: $want" "$command"
    }
    while IFS= read -r line; do
        case $line in
        '$ '*)
            check || return
            command=${line#'$ '} want=''
            ;;
        *) want+=$line$'\n' ;;
        esac
    done <"$1"
    check
}

# values FILE: all expressions in one graph.
values() {
    local exprs=() names='' n=0 line
    : >want
    while IFS= read -r line; do
        n=$((n + 1))
        exprs+=(-e "e$n = ${line%% -> *}")
        names+=,e$n
        echo "e$n = ${line##* -> }" >>want
    done <"$1"
    gload --new "${exprs[@]}" --outputs "${names#,}" -o values.tlg || return
    # rows of a matrix in one line
    grun values.tlg | awk '{ sub(/^ +/, " "); printf "%s%s", (NR > 1 && !/^ / ? "\n" : ""), $0 } END { print "" }' >got
    diff want got
}

types() {
    local line n=0
    while IFS= read -r line; do
        n=$((n + 1))
        gload --new -i "$X32" -i "$I8" -e "e = ${line%% : *}" --outputs e --info >info || return
        grep -Eq "^outputs +e +${line##* : }(\[|\$)" info || {
            echo "$line: but" "$(cat info)" >&2
            return 1
        }
    done <"$1"
}

examples() { # MANUAL
    local f kinds='' bad=0
    mkdir blocks
    awk -v folder=blocks -f "$BATS_TEST_DIRNAME/manual.awk" "$1"
    for f in blocks/*; do
        case $f in
        *.file)
            local name
            name=$(head -n 1 "$f")
            tail -n +2 "$f" >"$name"
            grep -qE '^(ops|optimizers):' "$name" || ok "gload --check $name"
            ;;
        *.part)
            cp "$f" part.yaml
            ok 'gload --check part.yaml'
            ;;
        *.session) session "$f" ;;
        *.values) values "$f" ;;
        *.types) types "$f" ;;
        *)
            echo "an example that no test runs:" >&2
            cat "$f" >&2
            false
            ;;
        esac || {
            echo "in the example $f:" >&2
            cat "$f" >&2
            bad=1
        }
        kinds+=${f##*.}' '
    done
    [ "$bad" = 0 ]
    [[ $kinds = *file* && $kinds = *part* && $kinds = *session* && $kinds = *values* && $kinds = *types* ]]
}

@test "every example of thunkline(7) runs and prints what the page says" {
    examples "$ROOT/lib/man/thunkline.md"
}
