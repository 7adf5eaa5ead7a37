# grun --lines: a graph that stays alive, its inputs a line of JSON each.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    gload -e 'y = sum(x * w)' -i 'x: float64[n]' -i 'w: float64[n]' -o dot.tlg
    cat >count.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[n]'}
shared: {w: 'float64 = 1.'}
let: y = w * sum(x)
outputs: [y]
updates: {w: w + 1.}
END
}

@test "lines: an answer for each, whatever the sizes, the last line with or without its end" {
    ok "printf '{\"x\": [1, 2], \"w\": [3, 4]}\n{\"w\":[2],\"x\":[0.25]}\r\n {} ' >in; sed -i 's/ {} /{\"x\": [], \"w\": []}/' in; grun dot.tlg --lines <in" '{"y": 11.0}
{"y": 0.5}
{"y": 0.0}'
    ok "cat in | grun dot.tlg --lines | tail -1" '{"y": 0.0}'
    ok "printf '{\"x\": [1, 2]}\n{\"x\": [5, 6]}\n' | grun dot.tlg 'w=[10, 1]' --lines" '{"y": 12.0}
{"y": 56.0}'
    ok "grun dot.tlg --lines </dev/null"
    ok "grun dot.tlg --lines -o out.json <in; cat out.json" "$(grun dot.tlg --lines <in)"
    ok "grun dot.tlg --lines -o none.json </dev/null; cat none.json"
    # a stream is read from where it is
    ok "{ read -r first; grun dot.tlg --lines | tail -1; } <in" '{"y": 0.0}'
}

@test "lines: values as other JSON has them, and answers are lines again" {
    gload -i 'f: float32[?]' -i 'i: int8[?, ?]' -i 'b: bool' -i 'z: complex128[?]' -e 'f2 = f' -e 'i2 = i' -e 'b2 = b' \
        -e 'z2 = z' --outputs f2,i2,b2,z2 -o same.tlg
    same() { ok "echo '$1' | grun same.tlg --lines | sed 's/2\": /\": /g'" "${2-$1}"; }
    same '{"f": [0.1, "NaN", "Infinity", "-Infinity"], "i": [[1, -128]], "b": true, "z": [[1.0, -2.0], [0.5, "NaN"]]}'
    same '{"f": [], "i": {"dtype": "int8", "shape": [0, 3], "data": []}, "b": false, "z": []}'
    same '{"f": [1e0, null], "i": [["7"], [2.0]], "b": 1, "z": [1, 2]}' \
        '{"f": [1.0, "NaN"], "i": [[7], [2]], "b": true, "z": [[1.0, 0.0], [2.0, 0.0]]}'
    same '{"z": [], "b": 0, "i": {"dtype": "int8", "data": [[3]]}, "f": {"data": [2.5], "dtype": "float16"}}' \
        '{"f": [2.5], "i": [[3]], "b": false, "z": []}'
    gload -i 'x: float64[2, 2]' -e 'l = make_list(x[0], x[1])' --outputs l -o kinds.tlg
    like "echo '{\"x\": [[1, 0], [0, 2]]}' | grun kinds.tlg --lines" '"l": \{"type": "list", "items": \[\{"dtype": "float64"'
}

@test "lines: a bad one ends the run with status 3, its number and what was expected; those before it are answered" {
    refused() { # CODE REGEX LINE
        printf '{"x": [1], "w": [3]}\n%s\n{"x": [1], "w": [3]}\n' "$3" >in
        bad 3 "$1" "$2" 'grun dot.tlg --lines <in' || return
        [ "$(cat .out)" = '{"y": 3.0}' ] || complain 'should answer the first line only' "$3" || return
        grep -q 'note: in line 2 of standard input' .err || complain 'should name the line' "$3"
    }
    refused E_FORMAT 'at byte 1: expected an object of inputs' ''
    refused E_FORMAT 'at byte 1: expected an object of inputs' 'x = 1'
    refused E_FORMAT 'at byte 1: expected an object of inputs' '[1, 2]'
    refused E_FORMAT 'at byte 18: something follows' '{"x":[1],"w":[3]}}'
    refused E_FORMAT 'at byte 10: the object has no end' '{"x": [1]'
    refused E_FORMAT 'x: the list has no end' '{"x": [1'
    refused E_FORMAT 'expected a colon' '{"x" [1]}'
    refused E_FORMAT 'the line has no w: float64\[n\]' '{"x": [1]}'
    refused E_FORMAT 'x: .*(a list where|an element where)' '{"w": [1, 2], "x": [1, [2]]}'
    refused E_FORMAT "x: 'one' is not a number" '{"w": [1], "x": ["one"]}'
    refused E_FORMAT "x: an object is an array if it has dtype and data" '{"w": [1], "x": {"a": 1}}'
    refused E_DTYPE "x: the dtype float99 is not known" '{"w": [1], "x": {"dtype": "float99", "data": [1]}}'
    refused E_SHAPE 'x: expected float64\[n\], got a float64 array of shape \(1, 1\)' '{"w": [1], "x": [[1]]}'
    refused E_SHAPE 'the dim n is 2 by x and 1 by w' '{"w": [1], "x": [1, 2]}'
    refused E_NAME 'no input xx' '{"w": [1], "x": [1], "xx": 1}'
    refused E_DUPLICATE 'x is given twice' '{"w": [1], "x": [1], "x": [2]}'
    refused E_VALUE '^grun: .*--steps must be' '{"w": [1], "x": [1], "--steps": 0}'
    bad 3 E_DUPLICATE 'w is given on the command line already' "echo '{\"x\": [1], \"w\": [1]}' | grun dot.tlg 'w=[1]' --lines"
    bad 3 E_NAME 'w is a shared variable' "echo '{\"x\": [1], \"w\": 1}' | grun count.yaml --lines"
    gload -e 'y = x[i]' -i 'x: float64[n]' -i 'i: int64' -o at.tlg
    bad 5 E_INDEX 'in line 2 of standard input' "printf '{\"i\": 0}\n{\"i\": 9}\n' | grun at.tlg 'x=[1, 2]' --lines"
}

@test "lines: updates go on from call to call; steps, until, save" {
    ok "printf '{\"x\": [1]}\n{\"x\": [1, 2], \"--steps\": 3}\n{\"x\": [1]}\n' | grun count.yaml --lines --save s.tlg" '{"y": 1.0}
{"y": 12.0}
{"y": 5.0}'
    ok "grun s.tlg 'x=[1]'" 'y = 6.0'
    ok "printf '{\"x\": [1]}\n{\"x\": [1]}\n' | grun count.yaml w=10 --lines --steps 2 --outputs w" '{"w": 12.0}
{"w": 14.0}'
    ok "printf '{\"x\": [1]}\n%.0s' 1 2 3 | grun count.yaml --lines --until 'y > 1.5'" '{"y": 1.0}
{"y": 2.0}'
    ok "grun count.yaml --lines --save none.tlg </dev/null; grun none.tlg 'x=[1]'" 'y = 1.0'
    # a bad line keeps what was saved before
    bad 3 E_FORMAT 'line 3' "printf '{\"x\": [1]}\n{\"x\": [1]}\nno\n' | grun count.yaml --lines --save t.tlg --save-every 1"
    ok "grun t.tlg 'x=[1]'" 'y = 3.0'
}

@test "lines: with --time an answer has the seconds of its calls" {
    pipe "printf '{\"x\": [1]}\n{\"x\": [1], \"--steps\": 3}\n' | grun count.yaml --lines --time"
    assert_success
    assert_line --index 0 --regexp '^\{"y": 1.0, "--time": \[[0-9.e-]+\]\}$'
    assert_line --index 1 --regexp '^\{"y": 4.0, "--time": \[[0-9.e-]+, [0-9.e-]+, [0-9.e-]+\]\}$'
    assert_regex "$stderr" '^grun: [0-9.]+ s$'
}

@test "lines: as a coprocess, each is answered before the next is written" {
    coproc TOOL { exec grun dot.tlg 'w=[1, 10]' --lines 3>&-; }
    local pid=$TOOL_PID answer k
    for k in 1 2 3; do
        echo "{\"x\": [$k, 1]}" >&"${TOOL[1]}"
        read -r -t 20 answer <&"${TOOL[0]}"
        [ "$answer" = "{\"y\": 1$k.0}" ]
    done
    eval "exec ${TOOL[1]}>&-"
    wait "$pid"
}

@test "lines: a signal saves and ends the wait for a line; a reader that goes ends the run" {
    mkfifo f
    grun count.yaml --lines --save s.tlg <f >out 2>err 3>&- &
    local pid=$!
    exec 4>f
    printf '{"x": [1]}\n{"x": [1]}\n{"x": ' >&4
    for _ in {1..200}; do [ "$(wc -l <out)" = 2 ] || sleep 0.05; done
    kill -TERM $pid
    local status=0
    wait $pid || status=$?
    [ $status = 143 ]
    exec 4>&-
    [ "$(cat err)" = 'grun: SIGTERM: ended after 2 calls; s.tlg has their values' ]
    ok "grun s.tlg 'x=[1]'" 'y = 3.0'
    shell "yes '{\"x\": [1]}' | grun count.yaml --lines | head -2; echo \${PIPESTATUS[1]}"
    [ "$(cat .out)" = '{"y": 1.0}
{"y": 2.0}
141' ]
}

@test "lines: modes, plots and drawn numbers go by calls, too" {
    ok "printf '{\"x\": [1]}\n{\"x\": [1, 2]}\n' | grun count.yaml --lines --mode DEBUG --threads 1 --plot p.svg" '{"y": 1.0}
{"y": 6.0}'
    grep -q '<svg' p.svg
    bad 5 E_NAN 'in line 2 of' "printf '{\"x\": [1]}\n{\"x\": [\"NaN\"]}\n' | grun count.yaml --lines --mode NAN_GUARD"
    gload -i 'k: float64' -i 'r: random' -e 's, d = normal(rng=r)' -e 'y = k * d' --outputs y -o draw.tlg
    ok "printf '{\"k\": 2}\n{\"k\": 2}\n' | grun draw.tlg --lines --seed 4 | sort -u | wc -l" 1
}

@test "lines: what asks for something else is refused" {
    local o
    for o in '--each x' '--batch 2' --drop-last '--epochs 2' '--shuffle 1' '--every 1' '-r y=y.npy' '--expect y=1' \
        '--report a.html' '--receipt r.json' '--trace t.trc' '--against t.trc' '--part 1/2' \
        '-O text' '-O tsv' '-o a.tsv' '-f -O npy'; do
        bad 2 E_USAGE "doesn't go with --lines" "echo '{}' | grun dot.tlg --lines $o"
    done
    bad 2 E_USAGE "name the graph's file" "cat dot.tlg | grun --lines"
    bad 2 E_USAGE "name the graph's file" "cat dot.tlg | grun - --lines"
    bad 2 E_USAGE 'standard input has the lines' "cat dot.tlg | grun dot.tlg x=@- --lines"
}

@test "lines: memory doesn't grow with their number" {
    [ -x /usr/bin/time ] || skip 'no /usr/bin/time'
    # freed blocks that AddressSanitizer keeps would count
    export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0:${ASAN_OPTIONS:-}
    seq 300000 | awk '{ print "{\"x\": [" $1 ", 1]}" }' >in
    size() { /usr/bin/time -f %M -o kb sh -c "$1" && cat kb; }
    few=$(size "head -n 100 in | grun dot.tlg 'w=[1, 1]' --lines >/dev/null")
    many=$(size "cat in | grun dot.tlg 'w=[1, 1]' --lines >/dev/null")
    mapped=$(size "grun dot.tlg 'w=[1, 1]' --lines <in >/dev/null")
    [ "$many" -lt $((few + 1500)) ] && [ "$mapped" -lt $((few + 3500)) ] || {
        echo "$few $many $mapped" >&2
        false
    }
}
