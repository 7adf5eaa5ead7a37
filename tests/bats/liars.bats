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
hidden_view(exp(x))             1 BadViewMap        output 0 of hidden_view shares memory with input 0, but the op declares no such view
hidden_write(exp(x))            1 BadDestroyMap     hidden_write overwrote input 0, which it does not declare as destroyed
wrong_view(exp(x), sin(x))      1 BadViewMap        output 0 of wrong_view shares memory with input 1, but the op declares no such view
wrong_destroy(exp(x), sin(x))   1 BadDestroyMap     wrong_destroy overwrote input 1, which it does not declare as destroyed
half_declared(exp(x))[1]        1 BadViewMap        output 1 of half_declared shares memory with input 0
half_declared(exp(x))[0]        1 BadViewMap        outputs 0 and 1 of half_declared share memory
too_long(exp(x))                1 InvalidValueError output 0 of too_long is not of its type: dim 0 is 4, but n is 3
wrong_shape(exp(x))             1 InvalidValueError the shape of output 0 of wrong_shape differs from what the op infers: \[4\]
infers_more(exp(x))             1 InvalidValueError the shape of output 0 of infers_more differs from what the op infers: 4 in dim 0
not_finite(exp(x))              1 InvalidValueError output 0 of not_finite is not finite: 0 nan, 1 inf
impure(exp(x))                  1 BadThunkOutput    output 0 of impure differs in a second run with the same inputs
seldom_pure(exp(x))             1 BadThunkOutput    output 0 of seldom_pure differs in one of many runs with the same inputs
remembers(exp(x))               1 BadThunkOutput    output 0 of remembers differs in a run that follows a run with other inputs
remembers([2., 3.]) + x[1:]     1 BadThunkOutput    output 0 of remembers differs in a run that follows a run with other inputs
remembers(x[:2]) + remembers([2., 3.])  1 BadThunkOutput    output 0 of remembers differs in a run that follows a run with other inputs
remembers(x) + remembers(x[1:])  1 BadThunkOutput    output 0 of remembers differs in a run that follows a run with other inputs
memo_static(exp(x))             1 BadThunkOutput    output 0 of memo_static differs in a run that follows a run with other inputs
memo_thunk(exp(x))              1 BadThunkOutput    output 0 of memo_thunk differs in a run that follows a run with other inputs
by_address(exp(x))              1 BadThunkOutput    output 0 of by_address differs 
uncleared(exp(x))               1 BadThunkOutput    output 0 of uncleared differs when its storage already holds
no_strides(exp(x))              1 BadThunkOutput    output 0 of no_strides differs when the inputs are strided by
beyond(exp(x))                  1 BadThunkOutput    beyond wrote outside its storage
other_debug(exp(x))             1 BadThunkOutput    output 0 of other_debug differs with its debug kernel
running_off([9000000000000001., 9000000000000000., -18000000000000000.])  1 BadThunkOutput    output 0 of running_off differs with its debug kernel
no_swap(exp(x), sin(x))         1 BadThunkOutput    output 0 of no_swap differs when its two inputs are swapped
leaky_thunk(exp(x))             1 BadThunkOutput    output 0 of leaky_thunk differs in a second run
never_ready(exp(x))             1 BadThunkOutput    the thunk of never_ready breaks its protocol: it waits, although nothing
fickle_views(exp(x))            1 StochasticOrder   equal ops must have equal maps, but those of fickle_views differ
fickle_fold([1.5, 2])           1 StochasticOrder   rewriting the same graph again does something else
fixed_type(exp(x))              5 E_RUN_SHAPE       fixed_type: output 0 is declared float64\[2\], but the shape is \(3,\)
wrong_rank(exp(x))              5 E_RUN_SHAPE       wrong_rank: output 0 is declared float64\[\?, \?\]
wrong_dtype(exp(x))             5 E_RUN             wrong_dtype: input 0 can't be used as output 0, which is int64\[\?\]
impatient(exp(x))               1 BadThunkOutput    impatient reads an input that it did not ask for: .*the plugin reads input 0 as a tensor, but it is None
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

@test "a constant that differs each time: the different rewriting is reported" {
    local expr first second
    while IFS='|' read -r expr first second; do
        gload $P --new -i 'x: float64[3]' -e "r = $expr" --outputs r -o g.tlg
        shell "grun $P --mode DEBUG g.tlg x=[1,2,3]"
        [ "$status" = 1 ] || complain 'should end with status 1' "$expr" || return
        grep -q 'error\[StochasticOrder\]: rewriting the same graph again' .err || complain 'should be StochasticOrder' "$expr" || return
        grep -Eq "$first" .err || complain "should say: $first" "$expr" || return
        grep -Eq "$second" .err || complain "should say: $second" "$expr" || return
    done <<'END'
one_then_zero([7., 8, 9]) * sin(x)|in run 1 it is mul-one|in run 2 it is [a-z-]*, variable
x ** one_then_zero([7., 8, 9])|in run 1 it is pow-one|in run 2 it is pow-zero, variable .*: x \*\* 0.0  =>  ones_like\(x\)$
x - one_then_zero([7., 8, 9])|in run 1 there are only 2$|in run 2 it is sub-zero, variable .*: x - 0.0  =>  x$
x + one_then_zero([7., 8, 9])|gives another graph in run 2: constants differ|run 1 has add\(x: float64\[3\], 1.0\)$
END
}

@test "honest ops of the same kinds pass" {
    local call
    for call in 'honest(exp(x))' 'small_only(exp(x))' 'honest_view(exp(x))' 'honest_keeper(exp(x))' 'honest(honest_view(x)) + x' 'honest([1.5, 2])'; do
        graph "$call"
        ok "grun $P --mode DEBUG g.yaml x=[1,2,3] >out"
        ok "grun $P g.yaml x=[1,2,3] | cmp - out"
        ok "grun $P --mode DEBUG g.yaml x=[1,2,3] --steps 3 >/dev/null"
    done
}

@test "where large terms cancel, what rounding may do is no lie" {
    graph 'running([9000000000000001., 9000000000000000., -18000000000000000.])'
    ok "grun $P --mode DEBUG g.yaml x=[1,2,3] >/dev/null"
    grun $P g.yaml x=[1,2,3] | grep -q ', 0.0\]$' # the exact sum is 2
}

@test "what is declared and not done costs memory only: a warning" {
    graph 'no_view(exp(x))'
    shell "grun $P --mode DEBUG g.yaml x=[1,2,3]"
    [ "$status" = 0 ]
    grep -q 'warning\[BadViewMap\]: no_view declares output 0 as a view of input 0, but took new memory for it' .err
    graph 'no_destroy(exp(x))'
    shell "grun $P --mode DEBUG g.yaml x=[1,2,3]"
    [ "$status" = 0 ]
    grep -q 'warning\[BadDestroyMap\]: no_destroy declares that it destroys input 0, but did not change it' .err
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
    bad 1 InvalidValueError 'g.yaml:[0-9]+:7: error.*output 0 of odd is not of its type: it: not a valid even' "grun $P --mode DEBUG g.yaml x=4"
    bad 3 E_VALUE '5 is odd' "grun $P --mode DEBUG g.yaml x=5"
    bad 3 E_PLUGIN 'make_node gives another result when it is called again: output 0 is float64\[3\], then float64\[\?\]' "gload $P --new -i 'x: float64[n]' -e 'r = fickle_type(exp(x))'"
    graph 'sum(wrong_slope(x))'
    bad 1 E_VERDICT 'the derivative is 3, finite differences give 2' "ggrad $P --check g.yaml x=[1,2]"
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
    bad 1 BadOptimization 'solved replaced honest by something that fails' "grun $P --mode DEBUG --rules wrong.rules g.yaml x=[1,2]"
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
    bad 1 InvalidValueError 'the shape of output 0 of shorter differs from what the op infers: \[3\]' \
        'gload --ops own.yaml -i "x: float64[n]" -e "shorter(x)" | grun --ops own.yaml --mode DEBUG x=[1,2,3]'
    bad 1 BadThunkOutput 'output 0 of minus differs when its two inputs are swapped' \
        'gload --ops own.yaml -i "x: float64[n]" -e "minus(x, x * 2)" | grun --ops own.yaml --mode DEBUG x=[1,2,3]'
    echo 'thrice @canonicalize: half_log(x) => log(x) / 3' >wrong.rules
    bad 1 BadOptimization 'thrice changed the value of half_log' \
        'gload --ops own.yaml -i "x: float64[n]" -e "half_log(x) + 1" | grun --ops own.yaml --rules wrong.rules --exclude expand-ops --mode DEBUG x=[1,2,3]'
}

# What ggrad says of the gradient of sum(op(x)) where x is float64[3]; where it is float64[n], only a run can tell the marked ones.
slopes() {
    cat <<'T'
short_slope     late  the gradient of short_slope for its input x is float64\[2\], but the input is float64\[3\]
short_adjoint   late  the gradient of short_adjoint for its input x is float64\[1\], but the input is float64\[3\]
flat_slope      -     the gradient of flat_slope for its input x is float64, but the input is float64\[
whole_slope     -     the gradient of whole_slope for its input x must have a float or complex dtype
no_slope        -     no_slope: grad sets no gradient for its input x
none_slope      -     none_slope: grad gives TL_NONE as the gradient of its input x
wild_slope      -     wild_slope: grad gives no variable for its input x
cut_slope       -     the gradient of cut_slope for its input x is disconnected, but the op's connection pattern says that it is connected
tall_partial    -     the gradient of tall_partial for its input x is float64, but the input is float64\[
cut_off_ones    -     the gradient of cut_off_ones for its input x is not zero: the input reaches the cost through integers only
T
}

@test "gradients that can't be right are refused when they are built, by op and input" {
    local op late text t
    while read -r op late text; do
        for t in 3 n; do
            [ "$late$t" != laten ] || continue
            gload $P --new -i "x: float64[$t]" -e "r = sum($op(x)) * 1.5 + sum(x)" --outputs r -o g.tlg
            bad 3 E_GRADIENT "$text" "ggrad $P g.tlg"
            bad 3 E_GRADIENT "$text" "ggrad $P --check g.tlg x=[1,2,3]"
        done
    done < <(slopes)
}

@test "gradients whose size or zeros only a run tells are refused by the run, --mode DEBUG and --check" {
    local op text t
    while read -r op text; do
        for t in n '?'; do
            gload $P --new -i "x: float64[$t]" -e "r = sum($op(x)) * 1.5 + sum(x)" --outputs r -o g.tlg
            ok "ggrad $P --only g.tlg -o d.tlg"
            bad 5 E_DERIVATIVE "the gradient of $op for its input x $text" "grun $P d.tlg x=[1.5,2,3]"
            shell "grun $P --mode DEBUG d.tlg x=[1.5,2,3]"
            [ "$status" = 1 ]
            grep -Eq "error\[BadDerivative\]: .*the gradient of $op for its input x $text" .err
            bad 1 E_DERIVATIVE "the gradient of $op for its input x $text" "ggrad $P --check g.tlg x=[1.5,2,3]"
        done
    done <<'T'
short_slope has shape \(2,\), but it must have shape \(3,\)
short_adjoint has shape \(1,\), but it must have shape \(3,\)
cut_off_one is not zero
T
}

@test "right gradients of the same kinds pass: constants, zeros through integers, a disconnected one with a warning" {
    local e
    for e in 'sum(right_slope(x))' 'sum(cut_off(x)) * 1.5 + sum(x)' 'sum(cut_off_none(x)) * 1.5 + sum(x)' 'sum(right_push(x))'; do
        for t in 3 n '?'; do
            gload $P --new -i "x: float64[$t]" -e "r = $e" --outputs r -o g.tlg
            ok "ggrad $P --check g.tlg x=[1.5,2.5,3.5]"
            ok "ggrad $P g.tlg | grun $P --mode DEBUG x=[1.5,2.5,3.5] >/dev/null"
        done
    done
    graph 'sum(cut_unsaid(x)) + sum(x)'
    shell "ggrad $P --only g.yaml | grun $P x=[1,2]"
    [ "$status" = 0 ]
    grep -q 'warning\[E_GRADIENT\]: the gradient of cut_unsaid for its input x is disconnected, but the op states no connection pattern' .err
}

@test "an input whose text says disconnected is so, without a pattern of the op's own" {
    gload $P --new -i 'x: float64[n]' -i 'y: float64[n]' -e 'c = sum(cut_by_text(x, y))' --outputs c -o g.tlg
    ok "ggrad $P --wrt x --only g.tlg | grun $P x=[1,2] y=[3,4]" 'd_c_d_x = [2.0, 2.0]'
    bad 3 E_DISCONNECTED 'does not depend on y' "ggrad $P --wrt y g.tlg"
    bad 3 E_DISCONNECTED 'does not depend on y' "ggrad $P --jvp c --wrt y g.tlg"
    ok "ggrad $P --wrt x,y --disconnected ignore --only g.tlg | grun $P x=[1,2] y=[3,4]" $'d_c_d_x = [2.0, 2.0]\nd_c_d_y = [0.0, 0.0]'
}

@test "a gradient of an input that the op's own pattern cuts off is refused, used or not" {
    local wrt
    gload $P --new -i 'x: float64[n]' -i 'y: float64[n]' -e 'c = sum(cut_denied(x, y) * y)' --outputs c -o g.tlg
    for wrt in x x,y; do
        bad 3 E_GRADIENT 'cut_denied: grad gives a gradient of its input y, which the op declares to be disconnected' "ggrad $P --wrt $wrt g.tlg"
    done
    for op in cut_kept cut_undefined; do
        gload $P --new -i 'x: float64[n]' -i 'y: float64[n]' -e "c = sum($op(x, y) * y)" --outputs c -o g.tlg
        ok "ggrad $P --wrt x,y --only g.tlg | grun $P x=[1,2] y=[3,4]" $'d_c_d_x = [3.0, 4.0]\nd_c_d_y = [2.0, 4.0]'
    done
}

@test "an op of several outputs may be silent on inputs of unused ones; with a pattern it is known, without a warning" {
    local op
    for op in pair pair_said; do
        gload $P --new -i 'x: float64[n]' -i 'y: float64[n]' -e "p, q = $op(x, y)" -e 'c = sum(p)' -e 'd = sum(p * q)' --outputs c,d -o g.tlg
        ok "ggrad $P --cost c --wrt x --only g.tlg | grun $P x=[1,2] y=[3,4]" 'd_c_d_x = [2.0, 2.0]'
        ok "ggrad $P --cost d --only g.tlg | grun $P x=[1,2] y=[3,4]" $'d_d_d_x = [12.0, 16.0]\nd_d_d_y = [4.0, 8.0]'
        shell "ggrad $P --cost c --wrt x,y --only --disconnected ignore g.tlg | grun $P x=[1,2] y=[3,4]"
        [ "$status:$(cat .out)" = $'0:d_c_d_x = [2.0, 2.0]\nd_c_d_y = [0.0, 0.0]' ]
        [ "$(grep -c 'pair for its input y is disconnected, but the op states no connection pattern' .err)" = "$([ $op = pair ] && echo 1 || echo 0)" ]
        bad 3 E_DISCONNECTED 'does not depend on y' "ggrad $P --cost c --wrt y g.tlg"
    done
    gload $P --new -i 'x: float64[n]' -i 'y: float64[n]' -e 'p, q = pair_forgets(x, y)' -e 'd = sum(p * q)' --outputs d -o g.tlg
    bad 3 E_GRADIENT 'pair_forgets: grad sets no gradient for its input y' "ggrad $P g.tlg"
}

@test "pushforwards are held to what pullbacks are" {
    local op text
    while read -r op text; do
        gload $P --new -i 'x: float64[3]' -e "r = $op(x) * 1.5" --outputs r -o g.tlg
        bad 3 E_GRADIENT "$text" "ggrad $P --jvp r g.tlg"
    done <<'T'
short_push   the pushforward of short_push for its output r is float64\[2\], but the output is float64\[3\]
flat_push    the pushforward of flat_push for its output r is float64, but the output is float64\[3\]
whole_push   the pushforward of whole_push for its output r must have a float or complex dtype
no_push      no_push: pushforward sets no tangent for its output r
cut_off_push the pushforward of cut_off_push for its output r is not zero: the output has an integer dtype
T
    gload $P --new -i 'x: float64[n]' -e 'r = short_push(x) + 1' --outputs r -o g.tlg
    ok "ggrad $P --jvp r g.tlg -o d.tlg"
    bad 5 E_DERIVATIVE 'the pushforward of short_push for its output r has shape \(2,\)' "grun $P d.tlg x=[1,2,3] t_x=[1,1,1]"
    bad 1 BadDerivative 'the pushforward of short_push for its output r has shape \(2,\)' "grun $P --mode DEBUG d.tlg x=[1,2,3] t_x=[1,1,1]"
    bad 1 E_DERIVATIVE 'the pushforward of short_push' "ggrad $P --check --jvp r g.tlg"
    bad 1 E_VERDICT 'finite differences give' "gload $P --new -i 'x: float64[n]' -e 'r = wrong_push(x)' --outputs r | ggrad $P --check --jvp r"
    ok "gload $P --new -i 'x: float64[n]' -e 'r = right_push(x)' --outputs r | ggrad $P --check --jvp r"
}

@test "derivatives of texts and of functions are held to the same" {
    cat >own.yaml <<'Y'
thunkline: 1
ops:
  late:
    doc: A test.
    inputs: x
    def: cumsum(x)
    pullback: {x: "g[1:]"}
  late_push:
    doc: A test.
    inputs: x
    def: cumsum(x)
    pushforward: {r: "t_x[1:]"}
  steps:
    doc: A test.
    inputs: x
    def: int64(x)
    pullback: {x: "ones_like(x)"}
  maybe:
    doc: A test.
    inputs: x
    def: int64(x)
    pullback: {x: "x"}
Y
    local O="--ops own.yaml" t e
    bad 3 E_GRADIENT 'the gradient of late for its input x is float64\[2\], but the input is float64\[3\]' "gload $O --new -i 'x: float64[3]' -e 'r = sum(late(x))' --outputs r | ggrad $O"
    bad 3 E_GRADIENT 'the pushforward of late_push for its output r is float64\[2\]' "gload $O --new -i 'x: float64[3]' -e 'r = late_push(x)' --outputs r | ggrad $O --jvp r"
    bad 3 E_GRADIENT 'the gradient of steps for its input x is not zero' "gload $O --new -i 'x: float64[3]' -e 'r = sum(steps(x)) * 1.5' --outputs r | ggrad $O"
    bad 1 E_DERIVATIVE 'the gradient of late for its input x has shape' "gload $O --new -i 'x: float64[n]' -e 'r = sum(late(x))' --outputs r | ggrad $O --check"
    bad 1 E_DERIVATIVE 'the gradient of maybe for its input x is not zero' "gload $O --new -i 'x: float64[n]' -e 'r = sum(maybe(x)) * 1.5' --outputs r | ggrad $O --check x=[1.5,2]"
    bad 1 BadDerivative 'the gradient of late for its input x has shape' "gload $O --new -i 'x: float64[n]' -e 'r = sum(late(x))' --outputs r | ggrad $O --only | grun $O --mode DEBUG x=[1,2,3]"
    cat >f.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]", y: "float64[3]"}
functions:
  short: {inputs: {v: "float64[m]"}, let: "w = v * 2", outputs: [w], pullback: short_pull, pushforward: short_push}
  short_pull: {inputs: {v: "float64[m]", g: "float64[m]"}, let: "d = g[1:] * 2", outputs: [d]}
  short_push: {inputs: {v: "float64[m]", t: "float64[m]"}, let: "d = t[1:] * 2", outputs: [d]}
  flat: {inputs: {v: "float64[3]"}, let: "w = v * 2", outputs: [w], pullback: flat_pull}
  flat_pull: {inputs: {v: "float64[3]", g: "float64[3]"}, let: "d = g[1:] * 2", outputs: [d]}
  whole: {inputs: {v: "float64[3]"}, let: "w = int64(v)", outputs: [w], pullback: whole_pull}
  whole_pull: {inputs: {v: "float64[3]", g: "float64[3]"}, let: "d = full((3,), 2.0)", outputs: [d]}
let: |
  a = sum(short(x))
  b = sum(flat(y))
  c = sum(whole(y)) * 1.5
  s = short(x)
outputs: [a, b, c, s]
Y
    bad 3 E_GRADIENT 'the gradient of flat for its input v is float64\[2\], but the input is float64\[3\]' 'ggrad f.yaml --cost b --wrt y'
    bad 3 E_GRADIENT 'the gradient of whole for its input v is not zero' 'ggrad f.yaml --cost c --wrt y'
    bad 1 E_DERIVATIVE 'the gradient of short for its input v has shape' 'ggrad f.yaml --check --cost a --wrt x'
    bad 1 BadDerivative 'the gradient of short for its input v has shape' 'ggrad f.yaml --only --cost a --wrt x | grun --mode DEBUG x=[1,2,3]'
    bad 1 E_DERIVATIVE 'the pushforward of short for its output w has shape' 'ggrad f.yaml --check --jvp s --wrt x'
    bad 1 BadDerivative 'the pushforward of short for its output w has shape' 'ggrad f.yaml --only --jvp s --wrt x | grun --mode DEBUG x=[1,2,3] t_x=[1,1,1]'
}

# FORMULA|is it zero: the gradient and the pushforward of an op whose result is of integers.
@test "through integers nothing but zeros is a derivative, in whatever form it is written" {
    local e zero
    while IFS='|' read -r e zero; do
        printf 'thunkline: 1\nops:\n  steps:\n    doc: A test.\n    inputs: x\n    def: int64(x)\n    pullback: {x: "%s"}\n    pushforward: {r: "%s"}\n' "$e" "$e" >own.yaml
        gload --ops own.yaml --new -i 'x: float64[3]' -e 'q = steps(x) * 1.5' -e 'r = sum(q)' --outputs r,q -o g.tlg
        if [ "$zero" = yes ]; then
            ok 'ggrad --ops own.yaml g.tlg --cost r --wrt x --only | grun --ops own.yaml --mode DEBUG --on-unused-input ignore x=[1.5,2,2] | tr -d -' 'd_r_d_x = [0.0, 0.0, 0.0]'
            ok 'ggrad --ops own.yaml g.tlg --jvp q --wrt x --only | grun --ops own.yaml --on-unused-input ignore x=[1.5,2,2] t_x=[1,1,1] | tr -d -' 'jvp_q = [0.0, 0.0, 0.0]'
        else
            bad 3 E_GRADIENT 'the gradient of steps for its input x is not zero: the input reaches the cost through integers only' 'ggrad --ops own.yaml g.tlg --cost r --wrt x --only'
            bad 3 E_GRADIENT 'the pushforward of steps for its output r is not zero: the output has an integer dtype' 'ggrad --ops own.yaml g.tlg --jvp q --wrt x --only'
        fi
    done <<'END'
zeros_like(x)|yes
ones_like(x)|no
zeros(3)|yes
ones(3)|no
full((3,), 0.0)|yes
full((3,), 2.0)|no
full_like(x, 0.0)|yes
full_like(x, 2.0)|no
broadcast_to(0.0, (3,))|yes
broadcast_to(1.0, (3,))|no
reshape(zeros((3, 1)), (3,))|yes
-zeros(3)|yes
-ones(3)|no
sum(zeros((3, 3)), axis=0)|yes
sum(ones((3, 3)), axis=0)|no
sum([[1., 2., 0.], [-1., -2., 0.]], axis=0)|yes
broadcast_to(sum([1., -1.]), (3,))|yes
sum([[1., 2., 0.], [1., 0., 0.]], axis=0)|no
[nan, 0., 0.]|no
x * 0|yes
[0., 0., 0.]|yes
[0., 0., 1.]|no
expand_dims(zeros((3, 3))[0], 0)[0]|yes
END
}

@test "to an op of exact types what is weak is as a number written in place" {
    local e
    for e in '[2, 1]' '[2., 1]' '[sqrt(4.), 1]' '[n, 1]' '[sqrt(n + 2), 2. / 2.]'; do
        ok "gload $P --floatX float32 --new -i 'x: float64[n]' -e 'fixed_type($e)' -e 'y = x' -O yaml | gload $P | grun $P x=[1,2] | head -n 1" 'out = [4.0, 2.0]'
    done
    bad 3 E_TYPE 'expected float64\[\?\], got int64\[2\]' "gload $P --new -e 'fixed_type(array([2, 1], dtype=int64) + 0)'"
}

@test "hooks that refuse, say nothing or answer what can't be; an op of very many inputs" {
    local many op m
    many=$(printf 'x, %.0s' $(seq 19))x
    graph "sum_twice($many)"
    for m in FAST_RUN DEBUG; do
        ok "grun $P --mode $m g.yaml x=[1,2,3]" 'r = [40.0, 80.0, 120.0]'
        gload $P --new -i 'x: float64[n]' -e 'r = far_view(exp(x)) + infers_none(x)' -o far.tlg
        ok "grun $P --mode $m far.tlg x=[0]" 'r = [2.0]'
    done
    graph "sum(sum_twice($many))"
    ok "ggrad $P g.yaml | grun $P x=[1,2,3]" $'r = 240.0\nd_r_d_x = [40.0, 40.0, 40.0]'
    for op in nameless bad_name; do
        graph "$op(x)"
        like "gload $P g.yaml -O tree" "^$op \[A\] float64\[n\]"
        ! grep -q 'half a na' .out || fail "$op"
    done
    graph 'refuses_push(x)'
    bad 3 E_PLUGIN 'refuses_push: no tangent today' "ggrad $P g.yaml --jvp r -o out.tlg"
    graph 'silent_push(x)'
    bad 3 E_PLUGIN 'silent_push: pushforward failed and gave no reason' "ggrad $P g.yaml --jvp r -o out.tlg"
    graph 'infers_two(exp(x))'
    bad 1 InvalidValueError 'infer_shape must give output 0 a vector of 1 integers' "grun $P --mode DEBUG g.yaml x=[0]"
}
