#!/usr/bin/env bats
# Ops that lie, each in one way: what finds them from the shell. liars.c has them, and honest ones of the same kind.
load common

setup_file() {
    local cc
    cc=$(command -v cc || command -v gcc) || return 0
    "$cc" -std=c11 -Wall -Wextra -I"$BATS_TEST_DIRNAME/../../lib/include" -shared -fPIC -o "$BATS_FILE_TMPDIR/liars.so" "$BATS_TEST_DIRNAME/liars.c"
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_FILE_TMPDIR/liars.so"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    P="--plugin $BATS_FILE_TMPDIR/liars.so"
    export P
    [ -e "$BATS_FILE_TMPDIR/liars.so" ] || skip 'no C compiler'
}

# graph EXPRESSION: a file in which it makes r.
graph() {
    gload $P --new -i 'x: float64[n]' -e "r = $1" --outputs r -O yaml | sed '/^steps:/d' >g.yaml
}

# What is run under DEBUG: an expression in x = [1, 2, 3] and the named error that it ends with.
lies() {
    cat <<'T'
hidden_view(exp(x))             1 BadViewMap        output 0 of hidden_view shares memory with input 0, which it does not say it views
hidden_write(exp(x))            1 BadDestroyMap     hidden_write wrote over input 0, which it does not say it destroys
wrong_view(exp(x), sin(x))      1 BadViewMap        output 0 of wrong_view shares memory with input 1, which it does not say it views
wrong_destroy(exp(x), sin(x))   1 BadDestroyMap     wrong_destroy wrote over input 1, which it does not say it destroys
half_declared(exp(x))[1]        1 BadViewMap        output 1 of half_declared shares memory with input 0
half_declared(exp(x))[0]        1 BadViewMap        outputs 0 and 1 of half_declared share memory
too_long(exp(x))                1 InvalidValueError output 0 of too_long is no value of its type: dim 0 is 4, but n is 3
wrong_shape(exp(x))             1 InvalidValueError the shape of output 0 of wrong_shape is another than the op infers: \[4\]
infers_more(exp(x))             1 InvalidValueError the shape of output 0 of infers_more is another than the op infers: 4 in dim 0
not_finite(exp(x))              1 InvalidValueError output 0 of not_finite is not finite: 0 nan, 1 inf
impure(exp(x))                  1 BadThunkOutput    output 0 of impure is another in a second run with the same inputs
by_address(exp(x))              1 BadThunkOutput    output 0 of by_address is another 
uncleared(exp(x))               1 BadThunkOutput    output 0 of uncleared is another when its storage held something before
no_strides(exp(x))              1 BadThunkOutput    output 0 of no_strides is another when the inputs are strided by
beyond(exp(x))                  1 BadThunkOutput    beyond wrote outside of the storage that it got
other_debug(exp(x))             1 BadThunkOutput    output 0 of other_debug is another by its debug kernel
no_swap(exp(x), sin(x))         1 BadThunkOutput    output 0 of no_swap is another when its two inputs change places
leaky_thunk(exp(x))             1 BadThunkOutput    output 0 of leaky_thunk is another in a second run
never_ready(exp(x))             1 BadThunkOutput    the thunk of never_ready breaks its protocol: it waits, but for nothing
fickle_views(exp(x))            1 StochasticOrder   equal ops must have equal maps, but those of fickle_views differ
fickle_fold([1.5, 2])           1 StochasticOrder   rewriting the graph once more does something else
fixed_type(exp(x))              5 E_RUN_SHAPE       fixed_type: output 0 was said to be float64\[2\], but the shape is \(3,\)
wrong_rank(exp(x))              5 E_RUN_SHAPE       wrong_rank: output 0 was said to be float64\[\?, \?\]
wrong_dtype(exp(x))             5 E_RUN             wrong_dtype: input 0 can't be output 0, int64\[\?\]
impatient(exp(x))               1 BadThunkOutput    impatient reads an input that it did not ask for: .*the plugin takes input 0 for a tensor, but it is None
impatient(x)                    1 BadThunkOutput    impatient reads an input that it did not ask for
no_destroy(x)                   3 E_DESTROY         no_destroy would overwrite x, which is an input
T
}

@test "every lie is found by --mode DEBUG, at its place and by its name" {
    local call status_ code text place rest
    while IFS= read -r rest; do
        call=${rest%%  *}
        read -r status_ code text <<<"${rest#"$call"}"
        graph "$call"
        shell "grun $P --mode DEBUG g.yaml x=[1,2,3]"
        [ "$status" = "$status_" ] || complain "should end with status $status_" "$call" || return
        place=$(awk -v op="${call%%(*}" 'index($0, op "(") { print NR ":" index($0, op "("); exit }' g.yaml)
        grep -Eq "^grun: g.yaml:$place: error\[$code\]: $text" .err || complain "should say $code at $place: $text" "$call" || return
    done < <(lies)
}

@test "honest ops of the same kinds pass" {
    local call
    for call in 'honest(exp(x))' 'honest_view(exp(x))' 'honest_keeper(exp(x))' 'honest(honest_view(x)) + x' 'honest([1.5, 2])'; do
        graph "$call"
        ok "grun $P --mode DEBUG g.yaml x=[1,2,3] >out"
        ok "grun $P g.yaml x=[1,2,3] | cmp - out"
        ok "grun $P --mode DEBUG g.yaml x=[1,2,3] --steps 3 >/dev/null"
    done
}

@test "what is declared and not done costs memory only: a warning" {
    graph 'no_view(exp(x))'
    shell "grun $P --mode DEBUG g.yaml x=[1,2,3]"
    [ "$status" = 0 ]
    grep -q 'warning\[BadViewMap\]: no_view says that output 0 views input 0, but new memory was taken' .err
    graph 'no_destroy(exp(x))'
    shell "grun $P --mode DEBUG g.yaml x=[1,2,3]"
    [ "$status" = 0 ]
    grep -q 'warning\[BadDestroyMap\]: no_destroy says that it destroys input 0, which was not changed' .err
}

@test "without DEBUG the same graphs run, and say what is wrong only if it shows" {
    graph 'other_debug(exp(x))'
    ok "grun $P g.yaml x=[0]" 'r = [2.0]'
    graph 'never_ready(exp(x))'
    bad 3 E_PLUGIN 'its thunk is not done, but names no input' "grun $P g.yaml x=[0]"
    graph 'not_finite(exp(x))'
    bad 5 E_NAN 'not_finite: output 0, float64\(1,\), has 1 inf' "grun $P --mode NAN_GUARD g.yaml x=[0]"
}

@test "a value that its Type calls invalid; a type that changes its mind; a gradient that is wrong" {
    gload $P --new -i 'x: even' -e 'r = odd(x)' -o g.yaml
    ok "grun $P g.yaml x=4" 'r = 5.0'
    bad 1 InvalidValueError 'g.yaml:[0-9]+:7: error.*output 0 of odd is no value of its type: it: no valid even' "grun $P --mode DEBUG g.yaml x=4"
    bad 3 E_VALUE '5 is odd' "grun $P --mode DEBUG g.yaml x=5"
    bad 3 E_PLUGIN 'make_node does not say the same when it is asked again: output 0 is float64\[3\], then float64\[\?\]' "gload $P --new -i 'x: float64[n]' -e 'r = fickle_type(exp(x))'"
    graph 'sum(wrong_slope(x))'
    bad 1 E_VERDICT 'it says 3, finite differences say 2' "ggrad $P --check g.yaml x=[1,2]"
    ok "grun $P --mode DEBUG g.yaml x=[1,2] >/dev/null"
}

@test "a rule that is wrong, about an op that is honest" {
    echo 'thrice @canonicalize: honest(x) => 3 * x' >wrong.rules
    graph 'honest(exp(x)) + 1'
    bad 1 BadOptimization 'g.yaml:[0-9]+:[0-9]+: error.*thrice changed the value of honest' "grun $P --mode DEBUG --rules wrong.rules g.yaml x=[1,2,3]"
    grep -q 'honest \[' .err
    grep -q 'in honest(' .err
    ok "grun $P --mode DEBUG --rules wrong.rules --exclude thrice g.yaml x=[1,2,3] >/dev/null"
    # a rule whose replacement fails where the op did not
    echo 'solved @canonicalize: honest(x) => solve(outer(x, x), x)' >wrong.rules
    graph 'honest(exp(x)) + 1'
    bad 1 BadOptimization 'solved put something that fails in the place of honest' "grun $P --mode DEBUG --rules wrong.rules g.yaml x=[1,2]"
}

@test "ops that are texts: their definitions are run op by op, and what they claim is checked" {
    cat >own.yaml <<'Y'
thunkline: 1
ops:
  same_as:
    doc: A test.
    inputs: x
    def: x
  half_log:
    doc: A test.
    inputs: x
    def: log(x) / 2
  nested:
    doc: A test.
    inputs: x
    def: |
      a = half_log(x + 1)
      r = a * same_as(x)
  two:
    doc: A test.
    inputs: x
    outputs: q, r
    def: |
      q = x * 2
      r = exp(q)
  loop:
    doc: A test.
    inputs: x
    def: "scan(lambda a, c: a * c + 1, sequences=[x], outputs_info=[0.5])"
  grid:
    doc: A test.
    inputs: "n: int"
    def: arange(n) * 2
  shorter:
    doc: A test.
    inputs: x
    def: x[1:] * 2
    shape: "[x.shape[0]]"
  minus:
    doc: A test.
    inputs: x, y
    commutative: true
    def: x - y
Y
    local e
    for e in 'same_as(x)' 'half_log(x)' 'nested(x)' 'two(x)[1] - two(x)[0]' 'loop(x)' 'grid(n) + x' 'exp(nested(x) * 2) + half_log(x)'; do
        gload --ops own.yaml --new -i 'x: float64[n]' -e "$e" -o g.tlg
        grun --ops own.yaml g.tlg x=[1,2,3] >plain
        ok 'grun --ops own.yaml --mode DEBUG g.tlg x=[1,2,3] --steps 2 | cmp - plain'
    done
    bad 1 InvalidValueError '^grun: own.yaml:10:10: error.*log is not finite: 0 nan, 1 inf' \
        'gload --ops own.yaml -i "x: float64[n]" -e "half_log(x)" | grun --ops own.yaml --mode DEBUG x=[1,0]'
    grep -q 'in log(.*of the definition of half_log' .err
    bad 1 InvalidValueError 'the shape of output 0 of shorter is another than the op infers: \[3\]' \
        'gload --ops own.yaml -i "x: float64[n]" -e "shorter(x)" | grun --ops own.yaml --mode DEBUG x=[1,2,3]'
    bad 1 BadThunkOutput 'output 0 of minus is another when its two inputs change places' \
        'gload --ops own.yaml -i "x: float64[n]" -e "minus(x, x * 2)" | grun --ops own.yaml --mode DEBUG x=[1,2,3]'
    echo 'thrice @canonicalize: half_log(x) => log(x) / 3' >wrong.rules
    bad 1 BadOptimization 'thrice changed the value of half_log' \
        'gload --ops own.yaml -i "x: float64[n]" -e "half_log(x) + 1" | grun --ops own.yaml --rules wrong.rules --exclude expand-ops --mode DEBUG x=[1,2,3]'
}
