#!/usr/bin/env bats
# The Type contract for types of plugins: what DEBUG asks of them and sees with their help, how their values are
# written, read, checked and made. types.c has them, and ops that keep the contract or break it, each in one way.
load common

setup_file() {
    local cc
    cc=$(command -v cc || command -v gcc) || return 0
    "$cc" -std=c11 -Wall -Wextra -I"$BATS_TEST_DIRNAME/../../lib/include" -shared -fPIC -o "$BATS_FILE_TMPDIR/types.so" "$BATS_TEST_DIRNAME/types.c"
    "$cc" -std=c11 -DUNEQUAL -I"$BATS_TEST_DIRNAME/../../lib/include" -shared -fPIC -o "$BATS_FILE_TMPDIR/unequal.so" "$BATS_TEST_DIRNAME/types.c"
    "$cc" -std=c11 -DWIDE -I"$BATS_TEST_DIRNAME/../../lib/include" -shared -fPIC -o "$BATS_FILE_TMPDIR/wide.so" "$BATS_TEST_DIRNAME/types.c"
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
        bad 1 BadDestroyMap "$op overwrote input 0, which it does not declare as destroyed" "grun $P --mode DEBUG g.tlg $G"
        grep -q "note: before: the [a-z]* 'abc'" .err
        grep -q "note: after: the [a-z]* '\(Qbc\|replaced\)'" .err
        grep -q 'leave the input unchanged and build the result in what api->output_object returns' .err
    done
    # nor may it be declared
    word 'word_shout(word_dup(x))'
    bad 3 E_DESTROY 'word_shout would overwrite .* such values are shared and never overwritten' "grun $P g.tlg $G"
}

@test "DEBUG asks may_share_memory: a result in an input's memory is named, and freed once" {
    word 'word_same(x)'
    bad 1 BadViewMap 'output 0 of word_same shares memory with input 0, but the op declares no such view' "grun $P --mode DEBUG g.tlg $G"
    grep -q 'note: declare it in view_map, or copy' .err
    word 'word_pass(x)'
    bad 1 BadViewMap 'output 0 of word_pass shares memory with input 0' "grun $P --mode DEBUG g.tlg $G"
    word 'word_keep(x)'
    bad 1 BadViewMap 'output 0 of word_keep shares memory with an output of an earlier run' "grun $P --mode DEBUG g.tlg $G"
}

@test "a copy that is another value is the type's fault" {
    word 'fade_dup(q)'
    bad 1 InvalidValueError 'the copy of a value of type fade differs from it' "grun $P --mode DEBUG g.tlg $G"
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
    bad 1 InvalidValueError 'output 0 of bad_bool is not of its type: .*element 0 is 7, and a bool is 0 or 1' "grun $P --mode DEBUG g.tlg $G"
    grep -q 'note: perform must create what make_node or otypes declares; one of the two is wrong' .err
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
    for f in text json tsv; do bad 3 E_TYPE "values of type mute can't be written as text: the type has no `text`" "grun $P o.tlg -O $f"; done
    grep -q 'note: it is the output o' .err
    bad 3 E_TYPE "values of type mute can't be written as text: the type has no `text`" "grun $P o.tlg -r o=o.json"
    [ ! -e o.json ]
    # constants in the graph, functions included
    gload $P --new -e 'o = make_list(mute(1.5))' -e 'f = lambda x: make_list(x, mute(2.5))' -e 'q = list_length(f(mute(1)))' --outputs q -o c.tlg
    bad 3 E_TYPE "type mute can't be written as text" "gload $P c.tlg -O yaml"
}

@test "values that are compared by their bytes, have no copy, or whose text fails" {
    ok "gload $P -e 'r = letters(\"ab\")' | grun $P --expect \"r='ab'\"" "r = 'ab'"
    bad 1 E_VERDICT 'r is not as expected' "gload $P -e 'r = letters(\"ab\")' | grun $P --expect \"r='ac'\""
    bad 1 E_VERDICT 'r is not as expected' "gload $P -e 'r = letters(\"ab\")' | grun $P --expect \"r='abc'\""
    like "gload $P --list-types | sed -n '/^letters/,/size/p'" '^  compare +equal to_bytes$'
    ok "gload $P -i 'x: letters' -e 'r = letters_dup(x)' | grun $P --mode DEBUG \"x='ab'\"" "r = 'ab'"
    ok "gload $P -i 'x: sole' -e 'r = sole_dup(x)' | grun $P --mode DEBUG \"x='ab'\"" "r = 'ab'"
    bad 3 E_TYPE 'sole can.t be saved' "gload $P --new --shared \"s: sole = 'ab'\" -e 'r = s' -o s.tlg"
    [ ! -e s.tlg ]
    bad 3 E_TYPE 'shy: no text today' "gload $P -i 'x: shy' -e 'r = x' | grun $P \"x='ab'\""
    grep -q 'note: it is the output r' .err
}

@test "a value in a file that is longer or shorter than the type's is refused" {
    gload $P -e 'r = make_list(span([1, 2]))' -o s.tlg
    bad 3 E_FORMAT 'a value of type span has 24 bytes, not 16' "grun --plugin $BATS_FILE_TMPDIR/wide.so s.tlg"
    grep -q 'note: in a constant of s.tlg' .err
}

@test "a value in JSON is a number where its text is one, and else the text" {
    local v
    gload $P --new -i 's: span' -i 'q: scaled(2)' -e 'a = s' -e 'b = q' --outputs a,b -o j.tlg
    for v in 1.25 -2e-08 '"inf"' '"-inf"' '"nan"'; do
        ok "grun $P j.tlg s=[1,2] q=${v//\"/} -O json" "$(printf '{"name": "a", "type": "span", "value": "[1.0, 2.0]"}\n{"name": "b", "type": "scaled(2)", "value": %s}' "$v")"
    done
}

@test "a result that is asked for twice is cleared; a value is read by its own def only" {
    for m in FAST_RUN DEBUG; do
        word 'word_again(x)'
        ok "grun $P --mode $m g.tlg $G" "r = 'abc'"
        word 'word_guess(x) * 100 + word_guess(v) * 10 + word_guess(p)'
        ok "grun $P --mode $m g.tlg $G" 'r = 289.0'
    done
}

@test "clear without equal or bytes is refused when the plugin is loaded" {
    bad 3 E_PLUGIN 'the type unequal: with clear, a value owns more than its bytes, .* give equal, or to_bytes and from_bytes' "gload --plugin $BATS_FILE_TMPDIR/unequal.so -e 1."
}

@test "--strict means strict for plugins' types, too" {
    gload $P --new -i 's: span' -e 'r = s' --outputs r -o s.tlg
    ok "grun $P s.tlg s=[1,2]" 'r = [1.0, 2.0]'
    bad 3 E_TYPE 's: expected a span' "grun $P s.tlg --strict s=[1,2]"
    grep -q 'note: a strict check converts nothing: write span(...)' .err
    ok "grun $P s.tlg --strict s='span([1,2])'" 'r = [1.0, 2.0]'
    # a filter that does not care is told so
    gload $P --new -i 's: scaled(2)' -e 'r = s' --outputs r -o s.tlg
    bad 3 E_VALUE 'the filter of scaled\(2\) was asked to be strict, but converted a value of another' "grun $P s.tlg --strict s=5"
    # a text in quotes is how a word is written
    gload $P --new -i 's: word' -e 'r = s' --outputs r -o s.tlg
    ok "grun $P s.tlg --strict \"s='abc'\"" "r = 'abc'"
}

@test "numbers, lists and texts that are written in place become constants of the type" {
    word 'word_join(x, "d")'
    ok "grun $P g.tlg $G" "r = 'abcd'"
    like "gload $P g.tlg -O math" "word_join\(x, word\('d'\)\)"
    ok "gload $P -e \"word_join('a', 'it\\'s')\" | grun $P" "out = 'ait\\'s'"
    word 'join_made(join_made("a", x), "")'
    ok "grun $P g.tlg $G" "r = 'aabc'"
    ok "gload $P g.tlg -O yaml | grun $P $G" "r = 'aabc'"
    ok "gload $P --new -i 's: span' -e 'r = span_add(s, [1, 2.5])' --outputs r | grun $P s=[10,20]" 'r = [11.0, 22.5]'
    ok "gload $P -e 'r = span_add([1, 2], [3, 4])' | grun $P" 'r = [4.0, 6.0]'
    ok "gload $P -e 'r = span_times(2, [1, 4])' | grun $P" 'r = 6.0'
    # what the type does not take stays an error, once, at its place
    bad 3 E_VALUE 'lo is above hi' "gload $P -e 'span_add([2, 1], [3, 4])'"
    bad 3 E_TYPE 'a span is \[lo, hi\], not an int64 array of shape \(3,\)' "gload $P -e 'span_add([1, 2, 3], [3, 4])'"
    bad 3 E_TYPE 'a value of type span can.t be made from a text' "gload $P -e 'span_add(\"a\", [3, 4])'"
    bad 3 E_TYPE 'a word is a text in quotes, not an int64 array of shape \(2,\)' "gload $P -e 'word_join(\"a\", [3, 4])'"
    bad 3 E_TYPE "no_wrap takes no text for x, but got 'a'" "gload $P -e 'no_wrap(\"a\")'"
    bad 3 E_TYPE "a string can't be a value" "gload $P -e 'print(\"a\")'"
    # one value; what is of the type already is itself
    ok "gload $P --new -i 'x: word' -e 'a = word(x)' -e 'b = constant(\"word\", word(\"abc\"))' -O math" $'x: word\nb = word(\'abc\')\na = x'
    bad 3 E_ARITY 'write word\(value\)' "gload $P -e 'word()'"
    bad 3 E_ARITY 'write word\(value\)' "gload $P -e 'word(\"a\", \"b\")'"
    bad 3 E_ARITY 'write word\(value\)' "gload $P -e 'word(text=\"a\")'"
    # a variable is none of them
    bad 3 E_TYPE '1:6: .*a constant of type word is made from numbers or a text, not from a variable' "gload $P --new -i 'a: int64[2]' -e 'word(a)'"
    bad 3 E_TYPE 'a constant of type span is made from numbers or a text, not from a variable' "gload $P --new -i 'a: float64[2]' -e 'constant(\"span\", a)'"
    bad 3 E_TYPE 'span_add takes a span, not int64\[2\]' "gload $P --new -i 'a: int64[2]' -e 'span_add(a, [1, 2])'"
}

@test "a constant of a type with parameters has its name and parameters in front, and is documented" {
    ok "gload $P -e 'r = scaled(2)(1.25)' | grun $P" 'r = 1.25'
    like "gload $P -e 'r = make_list(scaled(2)(1.25), scaled(2)(2))' -O math" 'make_list\(scaled\(2\)\(1.25\), scaled\(2\)\(2.0\)\)'
    ok "gload $P -e 'r = make_list(constant(\"scaled(2)\", 1.25))' -O yaml | grun $P" 'r = [1.25]'
    bad 3 E_ARITY 'write scaled\(2\)\(value\)' "gload $P -e 'scaled(2)(1, 2)'"
    bad 3 E_ 'it takes 1 parameter, not 2' "gload $P -e 'scaled(2, 3)(1)'"
    like "gload $P --list-types" '^scaled +A number' '^  constant +scaled\(int\)\(value\)$' '^  constant +word\(value\)$'
    like "gload --op constant" '^constant\(type, value\)$' "fixed\(2\)\(1.25\)" "^example +constant\('fixed\(2\)', 1.25\)"
    like "gload --op load -O json | jq -r .name" '^load$'
}

@test "parameters of a type in text: whole numbers and texts in quotes, sixteen at most" {
    local code want type
    while IFS='|' read -r code want type; do
        printf 'thunkline: 1\ninputs:\n  x: "%s"\n' "$type" >g.yaml
        bad "${code%% *}" "${code#* }" "$want" "gload $P g.yaml -o /dev/null" || return
    done <<'END'
3 E_SYNTAX|closing quote|scaled('a
3 E_SYNTAX|a text in quotes or an integer|scaled(x)
3 E_SYNTAX|a text in quotes or an integer|scaled(99999999999999999999)
3 E_SYNTAX|a text in quotes or an integer|scaled(9223372036854775808)
3 E_SYNTAX|',' or '\)' after a parameter|scaled(2
3 E_VALUE|parameter 1 is an integer|scaled('a')
6 E_LIMIT|at most 16 parameters|scaled(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)
END
    printf 'thunkline: 1\ninputs:\n  x: scaled( -2 )\n' >g.yaml
    like "gload $P g.yaml | gload $P -O yaml" '^  x: scaled\(-2\)$'
}

@test "types that make random values are tried by --verify and --check" {
    gload $P --new -i 's: span' -i 'x: float64' -e 'c = span_times(x, s) * 2' --outputs c -o c.tlg
    ok "ggrad $P --check c.tlg"
    ok "ggrad $P --check c.tlg s=[1,3]"
    gload $P --new -i 'x: word' -i 's: span' -e 'n = word_length(word_join(x, x)) + span_times(1.5, span_add(s, s))' --outputs n -o v.tlg
    ok "grewrite $P v.tlg --verify 3 -O math >out"
    gload $P --new -i 'p: slip' -e 'r = slip_dup(p)' --outputs r -o p.tlg
    bad 2 E_MISSING 'no random value can be made of type slip' "grewrite $P p.tlg --verify 3"
    grep -q "give values as NAME=VALUE; the type's plugin has no" .err
    gload $P --new -i 'b: bent' -e 'r = b' --outputs r -o b.tlg
    bad 3 E_VALUE 'bent: random created no valid value' "grewrite $P b.tlg --verify 3 -o out.tlg"
}

@test "a C program loads plugins and ops, linked to the archive and to the shared library" {
    local build cc libs="-lm -ldl -lpthread -lyaml -lzstd"
    build=$(cd "$(dirname "$(command -v grun)")/.." && pwd)
    cc=$(command -v cc || command -v gcc)
    [ -e "$build/libthunkline.so" ] && [ -e "$build/libthunkline.a" ] || skip 'make all first'
    cc+=$(watched_by "$build/libthunkline.so")
    printf 'thunkline: 1\nops:\n  twice_:\n    doc: Two times x.\n    inputs: x\n    def: 2 * x\n' >ops.yaml
    gload $P --ops ops.yaml --new -i 'x: word' -i 'v: float64[?]' -e 'y = word_join(x, "d")' -e 'z = sum(twice_(twice_flat(v)))' --outputs y,z -o g.tlg
    $cc -std=c11 -Wall -Wextra -I"$ROOT/lib/include" -o static "$BATS_TEST_DIRNAME/embed.c" "$build/libthunkline.a" $libs
    ln -s "$build/libthunkline.so" libthunkline.so.0
    $cc -std=c11 -Wall -Wextra -I"$ROOT/lib/include" -o shared "$BATS_TEST_DIRNAME/embed.c" libthunkline.so.0
    local so=${P#--plugin } how
    for how in ./static 'env LD_LIBRARY_PATH=. ./shared'; do
        ok "$how $so ops.yaml g.tlg" "$(printf "'abcd'\n24.0")"
        shell "$how ./none.so ops.yaml g.tlg"
        [ "$status" = 4 ]
        grep -q "error\[E_IO\]: the plugin ./none.so can't be found" .err
        shell "$how $so none.yaml g.tlg"
        [ "$status" = 4 ]
        shell "$how $so g.tlg g.tlg"
        [ "$status" = 3 ]
    done
}

@test "the text of a type: blanks anywhere, and what is missing where" {
    local text want
    while IFS='#' read -r text want; do
        like "gload --new -i \"\$(printf 'x: $text')\" -e 'y = x' --outputs y | gload --info" "^inputs +x +$want\$"
    done <<'END'
float64[ 3 ,\tn ]#float64\[3, n\]
float64 [\n3\r\n,?]#float64\[3, \?\]
 list( float64 [ 3 ] ) #list\(float64\[3\]\)
list(list(int8))#list\(list\(int8\)\)
random#random
slice#slice
none#none
END
    while IFS='#' read -r text code want; do
        bad 3 "$code" "$want" "gload --new -i 'x: $text' -e 'y = x' --outputs y -o o.tlg"
    done <<'END'
float64[3#E_SYNTAX#1:13: .*expected .,. or .\]. after a dim in a type, got the end of the text
float64[]#E_SYNTAX#1:12: .*expected a dim .an integer, a name or \?. in a type, got .\].
float64[,]#E_SYNTAX#1:12: .*expected a dim .*, got .,.
float64[3]x#E_SYNTAX#1:14: .*expected nothing more in a type, got .x.
list(#E_SYNTAX#1:9: .*expected the name of a dtype in a type, got the end of the text
list()#E_SYNTAX#1:9: .*expected the name of a dtype in a type, got .\).
list(float64#E_SYNTAX#1:16: .*expected .\). after list in a type, got the end of the text
sparse(float64[2,2])#E_SYNTAX#1:11: .*expected a string in quotes in a type, got .f.
sparse("csr", float64[2])#E_SHAPE#1:4: .*a sparse matrix has 2 dims, not 1
null#E_SYNTAX#1:8: .*expected .\(. after null in a type, got the end of the text
dict#E_DTYPE#1:4: .*there is no type .dict.
float64[99999999999999999999]#E_SYNTAX#1:12: .*does not fit in 64 bits
END
}

@test "line ends of any system, in brackets, after comments and between definitions" {
    printf '{"thunkline": 1, "inputs": {"x": "float64"}, "let": "a = (x +\\r\\n 1) # c\\r\\nb = (a *\\r 2)\\rc = b # d\\rd = c +\\t\\f1\\n", "outputs": ["b", "d"]}' >cr.json
    ok 'grun cr.json x=1' $'b = 4.0\nd = 5.0'
}
