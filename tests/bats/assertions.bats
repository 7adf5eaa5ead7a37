#!/usr/bin/env bats
# The assertions that users of bats get: each holds where it should, fails where it should, and says why. The recipes of
# thunkline-bats(7) run in manual.bats, with the library as it is installed.
load common
source "$BATS_TEST_DIRNAME/../../lib/bats/thunkline.bash"

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    model=$DIGITS/model.yaml
    given=(x='ones((2, 64))' y='[1, 2]')
    gload -e 'y = sin(x)' -o sin.tlg
    echo 'sine: sin(x) => cos(x) when float(x)' >wrong.rules
    printf 'thunkline: 1\nops:\n  thrice:\n    inputs: x\n    def: 3 * x\n    partials: {x: x}\n' >wrong.yaml
    gload --ops wrong.yaml -e 'y = thrice(x)' -o thrice.tlg
    echo 'thunkline: 2' >new.yaml
    # snapshots of the tests below lie here
    BATS_TEST_DIRNAME=$PWD
}

# fails STATUS EXPECTED CAME TEXT ASSERTION...: it fails with that status; the message has its name, what was expected and
# what came, and ends with the tool's TEXT.
fails() {
    local want=$1 expected=$2 came=$3 text=$4
    shift 4
    ended=0
    "$@" >.out 2>.err || ended=$?
    [ "$ended" = "$want" ] || complain "should end with status $want, not $ended" "$*" || return
    [ ! -s .out ] || complain 'should print nothing' "$*" || return
    [ "$(sed -n 1,3p .err)" = "-- $1 failed --"$'\n'"expected: $expected"$'\n'"came:     $came" ] || complain "should expect $expected, and say that it was $came" "$*" || return
    sed -n 4p .err | grep -q '^command:  .' || complain 'should have a command' "$*" || return
    tail -n +5 .err | grep -qF -- "$text" || [ -z "$text" ] || complain "should say: $text" "$*"
}

@test "assertions hold where they should" {
    assert_graph "$model"
    assert_graph - <"$model"
    assert_result "$model" loss=2.3025851 "${given[@]}"
    gload "$model" -O json -o m.json
    assert_same_graph "$model" m.json
    assert_gradient "$model" loss b "${given[@]}"
    assert_rewrite "$model"
    assert_cost "$model" 'peak_bytes < 1e6' --dim n=100
    assert_type "$model" logits 'float32[n,10]'
    assert_type "$model" logits 'float32[5, 10]' --dim n=5
    assert_shape "$model" logits '(n, 10)'
    assert_shape "$model" loss '[]'
    assert_shape "$model" b '(10,)'
    assert_shape "$model" logits '[2,10]' "${given[@]}"
}

@test "refutations hold where the verdict is no" {
    refute_graph new.yaml
    refute_graph new.yaml 'new.yaml:1:' E_VERSION
    refute_result "$model" loss=3 "${given[@]}"
    refute_same_graph "$model" sin.tlg
    refute_gradient thrice.tlg y x --ops wrong.yaml
    refute_rewrite sin.tlg --rules wrong.rules
    refute_cost "$model" 'peak_bytes < 1' --dim n=100
    refute_type "$model" logits 'float64[n, 10]'
    refute_shape "$model" logits '[n, 11]'
    refute_shape "$model" loss '[1]'
    refute_shape "$model" logits '[3, 10]' "${given[@]}"
}

@test "assertions that fail say what was expected, what came, and what the tool said" {
    fails 3 'new.yaml is a graph without errors' 'status 3' 'new.yaml:1:12: error[' assert_graph new.yaml
    fails 1 loss=3 'status 1' 'note: got 2.3025851, expected 3.0' assert_result "$model" loss=3 "${given[@]}"
    grep -qx "command:  grun --expect loss=3 'x=ones((2, 64))' 'y=\[1, 2\]' -- $model" .err
    fails 1 "$model and sin.tlg are the same graph" 'status 1' 'the graphs differ' assert_same_graph "$model" sin.tlg
    fails 1 'the gradient of y by x agrees with finite differences' 'status 1' 'd_y_d_x is wrong' assert_gradient thrice.tlg y x --ops wrong.yaml
    fails 1 'rewriting sin.tlg changes no result' 'status 1' 'output y differs after rewriting' assert_rewrite sin.tlg --rules wrong.rules
    fails 1 'peak_bytes < 1' 'status 1' 'note: peak_bytes is ' assert_cost "$model" 'peak_bytes < 1' --dim n=100
    fails 1 'logits: float64[n, 10]' 'logits: float32[n, 10]' '' assert_type "$model" logits 'float64[n, 10]'
    fails 1 'logits: a shape of [n, 11]' 'logits: [n, 10]' '' assert_shape "$model" logits '[n, 11]'
    fails 1 'loss: a shape of [1]' 'loss: []' '' assert_shape "$model" loss '[1]'
    fails 1 'logits: a shape of [3, 10]' 'logits: [2, 10]' '' assert_shape "$model" logits '[3, 10]' "${given[@]}"
}

@test "refutations fail where the verdict is yes" {
    fails 1 "an error in $model" 'status 0' '' refute_graph "$model"
    fails 1 'an error that says: nonsense' 'another error' 'error[E_VERSION]' refute_graph new.yaml E_VERSION nonsense
    fails 1 'anything but loss=2.3025851' 'status 0' '' refute_result "$model" loss=2.3025851 "${given[@]}"
    fails 1 "$model and $model are different graphs" 'status 0' '' refute_same_graph "$model" "$model"
    fails 1 'the gradient of y by x disagrees with finite differences' 'status 0' '' refute_gradient sin.tlg y x
    fails 1 'rewriting sin.tlg changes a result' 'status 0' '' refute_rewrite sin.tlg
    fails 1 'not peak_bytes < 1e6' 'status 0' '' refute_cost "$model" 'peak_bytes < 1e6' --dim n=100
    fails 1 'logits: another type than float32[n,10]' 'logits: float32[n, 10]' '' refute_type "$model" logits 'float32[n,10]'
    fails 1 'logits: another shape than (n, 10)' 'logits: [n, 10]' '' refute_shape "$model" logits '(n, 10)'
}

@test "a mistake is no verdict: refutations fail then, with the tool's status" {
    fails 4 'an error in none.yaml' 'status 4' "can't open none.yaml" refute_graph none.yaml
    fails 4 'anything but y=3' 'status 4' "can't open none.yaml" refute_result none.yaml y=3
    fails 2 'anything but yy=3' 'status 2' 'no variable or output called yy' refute_result sin.tlg yy=3 x=1
    fails 4 'sin.tlg and none.yaml are different graphs' 'status 4' none.yaml refute_same_graph sin.tlg none.yaml
    fails 2 'the gradient of y by z disagrees with finite differences' 'status 2' 'called z' refute_gradient sin.tlg y z
    fails 2 'rewriting sin.tlg changes a result' 'status 2' 'no option --nonsense' refute_rewrite sin.tlg --nonsense
    fails 2 'not peak < 1' 'status 2' 'no total peak' refute_cost sin.tlg 'peak < 1'
    fails 3 'y: another type than float' 'status 3' "there is no type 'float'" refute_type sin.tlg y float
    fails 2 'yy: another type than float64' 'status 2' 'called yy' refute_type sin.tlg yy float64
    fails 2 "a shape such as '[3, n]'" 3 '' refute_shape sin.tlg y 3
    fails 2 'yy: another shape than [3]' 'status 2' 'called yy' refute_shape sin.tlg yy '[3]'
    fails 2 'y: another shape than [3]' 'status 2' 'no input z' refute_shape sin.tlg y '[3]' z=1
    # other programs of these names say no as well: binutils has a gprof
    mkdir other
    printf '#!/bin/sh\necho "gprof: unrecognized option" >&2\nexit 1\n' >other/gprof
    chmod +x other/gprof
    PATH=$PWD/other:$PATH
    fails 1 'not peak_bytes < 1' 'status 1' 'gprof: unrecognized option' refute_cost sin.tlg 'peak_bytes < 1'
}

@test "snapshots: a missing one fails, updating writes it, then it holds" {
    run -0 grun "$model" "${given[@]}"
    fails 1 "a snapshot $PWD/snapshots/first.txt (UPDATE_SNAPSHOTS=1 writes it)" 'there is none' 'loss = 2.3025851' assert_snapshot first
    [ ! -e snapshots ]
    UPDATE_SNAPSHOTS=0 fails 1 "a snapshot $PWD/snapshots/first.txt (UPDATE_SNAPSHOTS=1 writes it)" 'there is none' '' assert_snapshot first
    run -0 grun "$model" "${given[@]}"
    UPDATE_SNAPSHOTS=1 assert_snapshot first
    printf '%s\n' "$output" | cmp - snapshots/first.txt
    assert_snapshot first
    [ "$status" = 0 ] && [ "${lines[1]}" = 'accuracy = 0.0' ]
}

@test "snapshots: names of their own, for each in a test" {
    run -0 echo one
    UPDATE_SNAPSHOTS=1 assert_snapshot
    run -0 echo two
    UPDATE_SNAPSHOTS=1 assert_snapshot
    [ "$(cat snapshots/assertions-snapshots--names-of-their-own--for-each-in-a-test.txt)" = one ]
    [ "$(cat snapshots/assertions-snapshots--names-of-their-own--for-each-in-a-test-2.txt)" = two ]
}

@test "snapshots: floats within a tolerance, all else as text" {
    # holds STORED CAME OPTIONS...
    holds() {
        mkdir -p snapshots
        printf '%s\n' "$1" >snapshots/s.txt
        output=$2 status=0
        shift 2
        assert_snapshot "$@" s
    }
    differs() { if holds "$@" 2>/dev/null; then fail "the same: $1, $2"; fi; }
    holds 'loss = 2.3025851' 'loss = 2.302586'
    differs 'loss = 2.3025851' 'loss = 2.3026251'
    holds 'loss = 2.3025851' 'loss = 2.31' --rtol 1e-2
    differs 'loss = 2.3025851' 'loss = 2.34' --rtol 1e-2
    holds 'x = 0.0' 'x = -1e-17'
    differs 'x = 0.0' 'x = 1e-7'
    holds 'x = 0.0' 'x = 1e-7' --atol 1e-6
    holds 'z = (1.0+1e-20j)' 'z = (1.0-1e-20j)'
    holds '[0.5, 1e+300]' '[.5, 1.000000001E300]'
    # columns of other widths on lines with floats
    holds 'mean   0.30000000000000004  s' 'mean   0.3  s'
    differs 'key:  text' 'key: text'
    # integers, names, words, signs, inf and nan are text
    differs 'float64[10000000, 3]' 'float64[10000001, 3]'
    differs 'x1.5 = 1.0' 'x2.5 = 1.0'
    differs 'x = 1.0' 'x = 1'
    differs 'x = 1.0' 'y = 1.0'
    differs 'x = 1.0' 'x = -1.0'
    differs 'x = 1.0' 'x = nan'
    differs 'x = inf' 'x = -inf'
    holds 'x = nan' 'x = nan'
    # lines more and lines less
    differs $'a\nb' a
    differs a $'a\nb'
    holds '' ''
    differs '' a
    differs a ''
}

@test "snapshots: a difference is shown, and updating leaves what is close enough alone" {
    mkdir snapshots
    printf 'call\tloss\n1\t2.5\n' >snapshots/curve.txt
    output=$'call\tloss\n1\t2.75' status=0
    fails 1 "what $PWD/snapshots/curve.txt holds (UPDATE_SNAPSHOTS=1 writes it anew)" 'the lines with +' $'+1\t2.75' assert_snapshot curve
    grep -qx $'    -1\t2.5' .err
    output=$'call\tloss\n1\t2.50000001' status=0
    UPDATE_SNAPSHOTS=1 assert_snapshot curve
    grep -qx $'1\t2.5' snapshots/curve.txt
    output=$'call\tloss\n1\t2.75' status=0
    refute_snapshot curve
    UPDATE_SNAPSHOTS=1 assert_snapshot curve
    grep -qx $'1\t2.75' snapshots/curve.txt
    fails 1 "anything but what $PWD/snapshots/curve.txt holds" 'the same' $'1\t2.75' refute_snapshot curve
}

@test "snapshots: mistakes are no snapshots" {
    unset output
    fails 2 'run COMMAND before it' 'no $output' '' assert_snapshot s
    output=text status=0
    fails 2 '--rtol R, --atol A or a name' --tolerance '' assert_snapshot --tolerance 3 s
    fails 1 "a snapshot $PWD/snapshots/s.txt" 'there is none' text refute_snapshot s
    output='grunn: command not found' status=127
    UPDATE_SNAPSHOTS=1 fails 127 'a command that exists' 'status 127' 'not found' assert_snapshot s
    [ ! -e snapshots ]
}

@test "every assertion has a counterpart, a comment, and a row in the manual" {
    local name lib=$ROOT/lib/bats/thunkline.bash n=0
    for name in $(grep -oE '^assert_[a-z_]+' "$lib"); do
        grep -q "^# $name " "$lib" || fail "no comment says what $name takes"
        grep -q "^refute_${name#assert_}()" "$lib" || fail "$name has no counterpart"
        grep -q "^| \`$name " "$ROOT/lib/man/thunkline-bats.md" || fail "thunkline-bats(7) has no $name"
        n=$((n + 1))
    done
    [ "$n" = 9 ]
}
