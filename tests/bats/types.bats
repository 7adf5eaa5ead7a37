#!/usr/bin/env bats
# The Type contract for types of plugins: what DEBUG asks of them and sees with their help, how their values are
# written, read, checked and made. types.c has them, and ops that keep the contract or break it, each in one way.
load common

setup_file() {
    local cc
    cc=$(command -v cc || command -v gcc) || return 0
    "$cc" -std=c11 -Wall -Wextra -I"$BATS_TEST_DIRNAME/../../lib/include" -shared -fPIC -o "$BATS_FILE_TMPDIR/types.so" "$BATS_TEST_DIRNAME/types.c"
    "$cc" -std=c11 -DUNEQUAL -I"$BATS_TEST_DIRNAME/../../lib/include" -shared -fPIC -o "$BATS_FILE_TMPDIR/unequal.so" "$BATS_TEST_DIRNAME/types.c"
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_FILE_TMPDIR"/*.so
}
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    P="--plugin $BATS_FILE_TMPDIR/types.so"
    export P
    [ -e "$BATS_FILE_TMPDIR/types.so" ] || skip 'no C compiler'
}

# word EXPRESSION: a graph in which it makes r of a word x and a vector v.
word() {
    gload $P --new -i 'x: word' -i 'p: slip' -i 'q: fade' -i 'v: float64[?]' -e "r = $1" --outputs r -o g.tlg
}
G="x=\"'abc'\" p=\"'abc'\" q=\"'abc'\" v=[1,2,3]"

@test "DEBUG sees an op that changes an input of a plugin's type, also an input of the graph" {
    local call op
    for call in 'word_write(x)' 'word_replace(x)' 'slip_write(p)' 'word_write(word_dup(x))'; do
        op=${call%%(*}
        word "$call"
        bad 1 BadDestroyMap "$op wrote over input 0, which it does not say it destroys" "grun $P --mode DEBUG g.tlg $G"
        grep -q "note: before: the [a-z]* 'abc'" .err
        grep -q "note: after: the [a-z]* '\(Qbc\|replaced\)'" .err
        grep -q 'leave the input as it is, and make another in what api->output_object gives' .err
    done
    # nor may it be declared
    word 'word_shout(word_dup(x))'
    bad 3 E_DESTROY 'word_shout would overwrite .* such values are shared, and never written over' "grun $P g.tlg $G"
}

@test "DEBUG asks may_share_memory: a result in an input's memory is named, and freed once" {
    word 'word_same(x)'
    bad 1 BadViewMap 'output 0 of word_same shares memory with input 0, which it does not say it views' "grun $P --mode DEBUG g.tlg $G"
    grep -q 'note: say it with view_map, or copy' .err
    word 'word_pass(x)'
    bad 1 BadViewMap 'output 0 of word_pass shares memory with input 0' "grun $P --mode DEBUG g.tlg $G"
    word 'word_keep(x)'
    bad 1 BadViewMap 'output 0 of word_keep shares memory with that of an earlier run' "grun $P --mode DEBUG g.tlg $G"
}

@test "a copy that is another value is the type's fault" {
    word 'fade_dup(q)'
    bad 1 InvalidValueError 'the copy of a value of type fade is another' "grun $P --mode DEBUG g.tlg $G"
}

@test "an op that keeps a pointer to what a run got is named as such" {
    word 'keeps_output(v)'
    bad 1 BadThunkOutput 'keeps_output wrote to its storage of an earlier run.*: it keeps a pointer to it' "grun $P --mode DEBUG g.tlg $G"
    word 'keeps_input(v)'
    bad 1 BadThunkOutput 'keeps_input wrote to an input of an earlier run.*: it keeps a pointer to it' "grun $P --mode DEBUG g.tlg $G"
}

@test "good ops on such types pass DEBUG" {
    local call
    for call in 'word_dup(x)' 'word_dup(word_dup(x))' 'word_view(word_dup(x))' 'slip_dup(p)' 'word_join(x, word_dup(x))' 'word_length(x)' 'twice_flat(v)' 'twice_flat(v[::-1])'; do
        word "$call"
        ok "grun $P --mode DEBUG g.tlg $G --steps 2 >out"
        ok "grun $P g.tlg $G --steps 2 | cmp - out"
    done
}

@test "debug_perform runs in the place of perform under DEBUG: empty storage passes" {
    word 'empty_like_(v)'
    ok "grun $P --mode DEBUG g.tlg $G --steps 2" 'r = [-7.0, -7.0, -7.0]'
    ok "grun $P g.tlg $G --steps 2" 'r = [2.0, 2.0, 2.0]'
    # inside functions and loops, too
    word 'scan(lambda a: empty_like_(a) + 1, sequences=[v])'
    ok "grun $P --mode DEBUG g.tlg $G" 'r = [-6.0, -6.0, -6.0]'
    gload $P --new -i 'v: float64[?]' -e 'f = lambda a: empty_like_(a) * 1.0' -e 'r = f(v)' --outputs r -o g.tlg
    ok "grun $P --mode DEBUG g.tlg v=[1,2]" 'r = [-7.0, -7.0]'
}

@test "a bool that is neither 0 nor 1 is no bool, and the op that made it is named" {
    word 'sum(equal(bad_bool(v), True))'
    bad 1 InvalidValueError 'output 0 of bad_bool is no value of its type: .*element 0 is 7, and a bool is 0 or 1' "grun $P --mode DEBUG g.tlg $G"
}

@test "a type without a text, or with one that does not read back, is not written as text" {
    local f type
    for type in mute torn off; do
        gload $P --new --shared "s: $type = 3.5" -e 'o = 1.5' -e 'q = s' --outputs o -o "$type.tlg"
        for f in yaml json; do
            bad 3 E_TYPE "type $type can't be written as text" "gload $P $type.tlg -O $f"
            grep -q 'note: it is the value of the shared variable s' .err
            bad 3 E_TYPE "type $type can't be written as text" "grun $P $type.tlg --save s.$f"
            [ ! -e "s.$f" ]
        done
        ok "grun $P $type.tlg --save s.tlg" 'o = 1.5'
        ok "grun $P s.tlg" 'o = 1.5'
        gload $P --new --shared "s: list($type) = [3.5]" -e 'o = 1.5' --outputs o -o l.tlg
        bad 3 E_TYPE "type $type can't be written as text" "gload $P l.tlg -O yaml"
    done
    bad 3 E_TYPE 'its text \[1, 2 does not read back: .* is never closed' "gload $P torn.tlg -O yaml"
    bad 3 E_TYPE 'its text 4.5 does not read back: what is read is 5.5' "gload $P off.tlg -O yaml"
    gload $P --new --shared 's: mute = 3.5' -e 'o = s' --outputs o -o o.tlg
    for f in text json tsv; do bad 3 E_TYPE "values of type mute can't be written as text: the type has none" "grun $P o.tlg -O $f"; done
    grep -q 'note: it is the output o' .err
    # constants in the graph, functions included
    gload $P --new -e 'o = make_list(mute(1.5))' -e 'f = lambda x: make_list(x, mute(2.5))' -e 'q = list_length(f(mute(1)))' --outputs q -o c.tlg
    bad 3 E_TYPE "type mute can't be written as text" "gload $P c.tlg -O yaml"
}

@test "clear without equal or bytes is refused when the plugin is loaded" {
    bad 3 E_PLUGIN 'the type unequal: clear says that a value owns more than its bytes, .* give equal, or to_bytes and from_bytes' "gload --plugin $BATS_FILE_TMPDIR/unequal.so -e 1."
}

@test "--strict means strict for plugins' types, too" {
    gload $P --new -i 's: span' -e 'r = s' --outputs r -o s.tlg
    ok "grun $P s.tlg s=[1,2]" 'r = [1.0, 2.0]'
    bad 3 E_TYPE 's: expected a span' "grun $P s.tlg --strict s=[1,2]"
    grep -q 'note: a strict check converts nothing: write span(...)' .err
    ok "grun $P s.tlg --strict s='span([1,2])'" 'r = [1.0, 2.0]'
    # a filter that does not care is told so
    gload $P --new -i 's: scaled(2)' -e 'r = s' --outputs r -o s.tlg
    bad 3 E_VALUE 'the filter of scaled\(2\) is strict, but made a value of another' "grun $P s.tlg --strict s=5"
    # a text in quotes is how a word is written
    gload $P --new -i 's: word' -e 'r = s' --outputs r -o s.tlg
    ok "grun $P s.tlg --strict \"s='abc'\"" "r = 'abc'"
}
