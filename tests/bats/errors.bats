# One diagnostic a failure, with its class, status, place, caret and a way on.
load common

@test "exit statuses 0 to 6, one of each" {
    ok 'gload -e "1 + 1" | grun' 'out = 2'
    bad 1 E_VERDICT 'not as expected' 'gload -e "1 + 1" | grun --expect out=3'
    bad 2 E_USAGE 'no option' 'gload --nonsense'
    bad 3 E_SYNTAX '.' 'gload -e "1 +"'
    bad 4 E_IO 'No such file' 'gload none.yaml'
    bad 5 E_INDEX 'out of range' 'gload -i "x: float64[n]" -e "x[3]" | grun x=[1]'
    bad 6 E_MEM 'memory' 'gload -e "ones((100000, 100000, 1000)).sum() + sum(ones(3))" | grun --max-memory 1M --mode FAST_COMPILE'
}

@test "an undeclared name is a scalar: where that does not fit, how to declare it" {
    bad 3 E_SHAPE "not declared, so float64: x, w; to declare dims, write -i 'x: float64" 'gload -e "x @ w"'
    bad 3 E_SHAPE 'float32: w; .*w: float32' "gload --floatX float32 -i 'x: float32[n, m]' -e 'x @ w'"
    bad 3 E_SHAPE '.' "gload -i 'x: float64[n]' -i 'w: float64' -e 'x @ w'"
    ! grep 'not declared' .err || false
}

@test "expressions: errors say what is wrong, where, and what was probably meant" {
    local expr code place want
    while IFS='|' read -r expr code place want; do
        bad 3 "$code" "$want" "gload -i 'weight: float64[3]' -i 'm: float64[2, 3]' -i 'k: int64' -i 'flag: bool' -e '$expr' -o o.tlg"
        grep -q "^gload: --expr:1:$place: error" .err || complain "should be at $place" "$expr"
        grep -q '^    *^' .err
        [ "$(awk '/\^/ { print match($0, /\^/) - 4; exit }' .err)" = "$place" ] || complain "caret should be at $place" "$expr"
        [ ! -e o.tlg ]
    done <<'END'
sni(weight)|E_NAME|1|did you mean .sin.
y = sum(weight) + lgo(weight)|E_NAME|19|did you mean .log.
sum(weight, axsi=0)|E_ARG|13|axsi
sum(weight, axis=3)|E_|1|axis 3
weight[5]|E_|1|index 5
m + ones(2)|E_SHAPE|1|3 and 2
m @ weight[:2]|E_SHAPE|1|.
flag - flag|E_|1|bool
weight //|E_SYNTAX|10|.
(weight|E_SYNTAX|1|never closed
weight weight|E_SYNTAX|8|.
1 < weight < 2|E_TYPE|1|chain
~weight|E_DTYPE|1|bool or integers
float64(1, 2)|E_AR|1|.
sin(weight, weight)|E_AR|13|.
sin()|E_ARITY|1|.
weight.summ()|E_NAME|1|did you mean .sum.
m.T.shape[5]|E_VALUE|11|.
lambda = 3|E_SYNTAX|1|.
weight + 300 * int8(1) + int8(300)|E_VALUE|10|300
k << 1.5|E_|1|.
eye(1.5)|E_TYPE|5|.
reshape(m, (4, 2))|E_SHAPE|1|.
concatenate([m, weight])|E_|1|.
select([], [], 1.)|E_ARITY|1|no conditions
sum(m, for=2)|E_SYNTAX|8|.for. is a Python keyword
map(3, [m])|E_TYPE|5|must be a function
expand_dims(m, axis=None)|E_ARG|1|axis must say where
END
}

@test "declarations" {
    bad 3 E_DTYPE 'did you mean .float64' 'gload -i "x: flot64"'
    bad 3 E_SYNTAX '.' 'gload -i "x float64"'
    bad 3 E_SYNTAX '.' 'gload -i "x: float64[3"'
    bad 3 E_ 'x' 'gload -i "x: float64" -i "x: float64"'
    bad 3 E_ 'x' 'gload -i "x: float64" -e "x = 3"'
    bad 3 E_DUPLICATE '--input:1:1: .*`n` is already a dim of the graph' 'gload -i "x: float64[n]" -i "n: float64" -e x+n'
    bad 3 E_DUPLICATE '--shared:1:1: .*`n` is already a dim of the graph' 'gload -i "x: float64[n]" --shared "n: float64 = 1" -e x+n'
    bad 3 E_DUPLICATE '--input:1:4: .*`n` is already an input of the graph: a dim and a variable can.t have the same name' 'gload -i "n: float64" -i "x: float64[n]" -e x+n'
    bad 3 E_DUPLICATE '--input:1:4: .*`x` can.t be a dim of itself' 'gload -i "x: float64[x]" -e x'
    bad 3 E_DUPLICATE '--rename:1:3: .*already has a n' 'gload -i "x: float64[n]" -i "m: float64" -e x+m --rename m=n'
    bad 3 E_DUPLICATE '--prefix:1:1: .*pn is both a dim and a variable' 'gload -i "x: float64[pn]" -i "n: float64" -e x+n --prefix p'
    bad 3 E_DUPLICATE '--narrow:1:3: .*n is both a dim and a variable' 'gload -i "x: float64[?]" -i "n: float64" -e x+n --narrow "x: float64[n]"'
    gload -i 'x: float64[n]' -e 'y = sum(x * x)' -o x.tlg
    gload -i 'n: float64' -e 'z = n' -o n.tlg
    bad 3 E_DUPLICATE 'n is both a dim and a variable' 'gload x.tlg n.tlg'
    bad 3 E_DUPLICATE 'the graph already has a n' 'ggrad x.tlg --name n'
    bad 3 E_DUPLICATE 'n is a dim of the graph already' 'ggrad x.tlg --jvp y --wrt x --tangents n'
    bad 3 E_ 'lambda' 'gload -i "lambda: float64"'
    bad 3 E_ 'pi' 'gload -i "pi: float64"'
    bad 3 E_ '.' 'gload --shared "W: float64[2] = ones(3)"'
    bad 2 E_MISSING 'W has no value' 'gload --shared "W: float64[2]" -e "W" | grun'
    bad 3 E_DUPLICATE 'first' 'gload -e "a = 1" -e "a = 2"'
    bad 3 E_CYCLE 'a -> b -> a' 'gload -e "a = b" -e "b = a"'
}

@test "options: unknown, ambiguous, without value, out of range" {
    local tool
    for tool in gload ggrad grewrite grun; do
        bad 2 E_USAGE "$tool --help" "$tool --nonsense"
        bad 2 E_USAGE 'did you mean --errors' "$tool --erorrs json"
        bad 2 E_USAGE "$tool --help" "$tool -Q"
        bad 2 E_USAGE 'text\|json' "$tool --errors xml"
        bad 2 E_USAGE 'needs FILE' "$tool -o"
        bad 2 E_USAGE '--format' "$tool -O png"
        bad 2 E_USAGE 'takes no value' "$tool --verbose=3"
        bad 2 E_USAGE 'size' "$tool --max-memory lots"
        bad 2 E_USAGE 'float32\|float64' "$tool --floatX float16"
        bad 2 E_USAGE 'level from 1 to 19' "$tool -z77"
        like "$tool --help" "^usage: $tool " '-o, --output FILE' 'man '"$tool"
        like "$tool -h" "^usage: $tool "
        like "$tool --version" "^$tool \(thunkline\) [0-9]+\.[0-9]+\.[0-9]+"
    done
    bad 2 E_USAGE 'could be' 'grun --s'
    ok 'gload -e "1 + 1" --output=o.tlg --no-prov && grun --strict -- o.tlg' 'out = 2'
    bad 2 E_USAGE 'no values|takes no' 'gload -e 1 | ggrad x=1'
}

@test "values of options: wrong numbers, names, words and texts; the errors say what was expected" {
    bad 2 E_USAGE '--steps takes an integer, not .99999999999999999999' 'grun --steps 99999999999999999999'
    bad 2 E_USAGE '--steps takes an integer, not .3x' 'grun --steps 3x'
    bad 2 E_USAGE '--rtol takes a number, not .1x' 'grun --rtol 1x'
    bad 2 E_USAGE "--threads can't be negative" 'grun --threads=-1 /dev/null'
    bad 2 E_USAGE '--sloppy must be 0, 1 or 2' 'gload -e 1 -o s.tlg && grun --mode DEBUG --sloppy 3 s.tlg'
    bad 2 E_USAGE '--zstd takes an integer, not .abc' 'gload --zstd=abc -e 1'
    bad 2 E_USAGE "level from 1 to 19, not '0'" 'gload -z0 -e 1'
    bad 2 E_USAGE 'did you mean text\?' 'gload --errors=textt'
    bad 2 E_USAGE '--expr needs EXPR' 'gload --expr'
    bad 2 E_USAGE '--input takes NAME:TYPE, not an empty text' 'gload -i ""'
    bad 2 E_USAGE "a name is missing in 'a,,b'" 'gload -e a=1 --outputs a,,b'
    bad 2 E_USAGE "a name is missing in ',a'" 'gload -e a=1 --outputs ,a'
    bad 2 E_USAGE "THUNKLINE_CPU is 'foo', not baseline" 'THUNKLINE_CPU=foo gload -e 1'
    bad 2 E_USAGE "--dump takes man, options, ops or rules, not 'nonsense'" 'gload --dump nonsense'
    ok 'THUNKLINE_CPU= gload -e 1 | THUNKLINE_CPU=baseline grun --rtol +1e-3' 'out = 1'
    ok 'gload -e 1 --zstd -o a.tlg && gload -e 1 --zstd=3 -o b.tlg && gload -e 1 -z19 -o c.tlg && for f in a b c; do grun $f.tlg; done' \
        $'out = 1\nout = 1\nout = 1'
}

@test "the option table says the same to --help, to the manual and to completions" {
    local tool
    for tool in gload ggrad grewrite grun gprof; do
        like "$tool --dump options" "^tool.$tool.\[" $'^option\tzstd\tz\tlevel\tN\t-\t' $'^option\tfloatX\t-\tenum\tfloat32\\|float64\t' \
            $'^option\toutput\to\tfile\tFILE\t'
        like "$tool --dump man" '^\.Bl -tag' '^\.It Fl z , Fl \\-zstd Ns Op = Ns Ar N$' '^\.It Fl \\-max\\-memory Ar SIZE$' '^\.El$'
        $tool --help | grep -o '^ \{2,6\}\(-., \)\?--[a-zA-Z-]*' | grep -o -- '--[a-zA-Z-]*' | sort >help
        run grep '.\{81\}' <($tool --help)
        [ "$status" = 1 ] || complain 'at most 80 columns' "$tool --help"
        $tool --dump options | awk -F'\t' '$1 == "option" { print "--" $2 }' | sort | diff help -
        $tool --dump man | sed -n 's/^\.It \(Fl . , \)\?Fl \\-\([^ ]*\).*/--\2/p' | tr -d '\\' | sort | diff help -
    done
    like 'gload --dump man' '^\.It Fl \\-list\\-ops Op Ar WORD$' '^\.It Fl \\-errors Cm text'
}

@test "a long line is shown from a whole letter to a whole letter; texts in JSON are escaped" {
    local pad many
    for pad in '' a aa; do
        many=$pad$(printf 'é%.0s' $(seq 130))
        bad 3 E_NAME '^    (é)+" \+ sni\(3\) \+ "a*(é)+$' "gload -e '\"$many\" + sni(3) + \"$many\"'"
        iconv -f UTF-8 -t UTF-16 .err >/dev/null
        [ "$(wc -L <.err)" -lt 200 ]
    done
    shell 'gload --errors json "q\"u\\o.tlg"'
    [ "$(jq -r .message .err)" = "can't open q\"u\\o.tlg: No such file or directory" ]
    shell "gload --errors json --nonsense\$(printf '\\001')"
    [ "$(jq -r .code .err)" = E_USAGE ]
    grep -q 'nonsense\\u0001' .err
}

@test "--errors json: every record follows the schema" {
    python_with jsonschema
    local n=0 line
    while read -r line; do
        shell "$line --errors json"
        [ "$status" != 0 ]
        cat .err >>all.jsonl
        n=$((n + 1))
        [ "$(wc -l <.err)" = 1 ] || complain 'one record' "$line"
        echo "$status" >>statuses
    done <<'END'
gload -e 'sni(x)'
gload -i 'x: float64[3]' -e 'x[5]'
gload none.yaml
gload --nonsense
gload -i 'x: float64[n]' -e 'x[5]' | grun x=[1,2]
gload -e '1' | grun --expect out=2
gload -e 'x' | grun
gload -i "é: float64"
gload -e 'x = "a	b' 
gload /dev/null
gload -e 'x * 2' | ggrad --wrt z
gload -e 'x * 2' | grewrite --exclude nope
gload -e 'x * 2' | head -c 50 | grewrite
END
    "$PYTHON" - "$ROOT/schemas/diag.schema.json" all.jsonl statuses <<'END'
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
for line, status in zip(open(sys.argv[2]), open(sys.argv[3])):
    d = json.loads(line)
    v.validate(d)
    assert d["exit"] == int(status), (d, status)
    assert d["tool"] in ("gload", "ggrad", "grewrite", "grun"), d
END
    [ "$n" = "$(wc -l <all.jsonl)" ]
    shell "gload -e 'sni(x)' --errors json"
    [ "$(cat .err)" = '{"tool": "gload", "severity": "error", "code": "E_NAME", "exit": 3, "message": "there is no function `sni`: did you mean `sin`?", "file": "--expr", "line": 1, "column": 1, "text": "sni(x)", "notes": []}' ]
}

@test "places in files: line, column, and the line itself" {
    printf 'thunkline: 1\ninputs:\n  x: float64[3]\nlet: |\n  a = x * 2\n\n  # comment\n  b = a + ones(4)\noutputs: [b]\n' >m.yaml
    bad 3 E_SHAPE '^gload: m.yaml:8:7: ' 'gload m.yaml'
    grep -q '^      b = a + ones(4)' .err
    gload m.yaml -o o.tlg 2>/dev/null || true
    [ ! -e o.tlg ]
    bad 3 E_SHAPE '^grun: .*m.yaml:8:7: ' 'cat m.yaml >z; grun m.yaml x=[1,2,3]'
    bad 3 E_SHAPE '^gload: <stdin>:8:7: ' 'gload <m.yaml'
    # the place comes along in the binary form
    sed 's/ones(4)/x[k]/; s/^inputs:/inputs:\n  k: int64/' m.yaml >r.yaml
    bad 5 E_INDEX 'r.yaml:9:11: ' 'gload r.yaml | ggrad --cost b 2>/dev/null | cat; gload r.yaml | grun x=[1,2,3] k=7'
    printf 'thunkline: 1\r\nlet: |\r\n  a = 1 +\r\noutputs: [a]\r\n' >crlf.yaml
    bad 3 E_SYNTAX 'crlf.yaml:3:' 'gload crlf.yaml'
    printf 'thunkline: 1\nlet: |\n  a = "äöü" + sni(1)\noutputs: [a]\n' >utf8.yaml
    bad 3 E_ 'utf8.yaml:3:' 'gload utf8.yaml'
}

@test "silence: nothing on stderr when all is well, nothing on stdout when not" {
    ok 'gload -e "x ** 2" -o a.tlg' ''
    ok 'ggrad a.tlg -o b.tlg' ''
    ok 'grewrite b.tlg -o c.tlg' ''
    ok 'grun c.tlg x=1 -r out=o.npy -r d_out_d_x=d.npy' ''
    ok 'gload a.tlg --check' ''
    shell 'grun a.tlg x=1 --expect out=3'
    [ "$status" = 1 ]
    shell 'gload -e "sni(x)" -O yaml >f'
    [ "$status" = 3 ]
    [ ! -s f ]
}

@test "the first error decides, and it is reported once" {
    shell 'gload -e "a = sni(1)" -e "b = cso(1)"'
    [ "$status" = 3 ]
    [ "$(grep -c 'error\[' .err)" -ge 1 ]
    bad 1 E_VERDICT 'a is' 'gload --new -e "a = 1" -e "b = 2" --outputs a,b | grun --expect a=3 --expect b=2'
}

@test "colour only where it is wanted" {
    need_terminal
    shell 'gload -e "sni(x)" --color always'
    grep -q $'\033\[' .err
    shell 'gload -e "sni(x)" --color never'
    run ! grep -q $'\033\[' .err
    shell 'gload -e "sni(x)"'
    run ! grep -q $'\033\[' .err
    command -v script >/dev/null || skip 'no script(1)'
    script -qec 'gload -e sni\(x\)' /dev/null </dev/null >t 2>&1 || true
    grep -q $'\033\[' t
    NO_COLOR=1 script -qec 'gload -e sni\(x\)' /dev/null </dev/null >t 2>&1 || true
    run ! grep -q $'\033\[' t
}

@test "an option that is given no name, or an empty one among others, is refused" {
    gload --new -i 'x: float64' -e 'y = exp(x)' -e 'z = y * 2' --outputs z -o g.tlg
    local line
    while read -r line; do
        for word in "''" ','; do
            bad 2 E_USAGE 'not an empty text|a name is missing|there is no name' "$line $word >o.tlg"
            [ "$word" != , ] || bad 2 E_USAGE 'a name is missing' "$line z,,y >o.tlg"
        done
        bad 2 E_USAGE 'there is no name|a name is missing' "$line ' ' >o.tlg"
    done <<'L'
ggrad g.tlg --vjp
ggrad g.tlg --jvp
ggrad g.tlg --jacobian
ggrad g.tlg --hessian
ggrad g.tlg --cost
ggrad g.tlg --wrt
ggrad g.tlg --vjp z --cotangent
ggrad g.tlg --jvp z --tangents
ggrad g.tlg --consider-constant
ggrad g.tlg --checkpoint
grewrite g.tlg --include
grewrite g.tlg --exclude
grewrite g.tlg --require
grewrite g.tlg --keep
grewrite g.tlg --reap
grewrite g.tlg --harvest
grewrite g.tlg --allow
grewrite g.tlg --block
grun g.tlg x=1 --include
grun g.tlg x=1 --exclude
grun g.tlg x=1 --each
grun g.tlg x=1 --guard
grun g.tlg x=1 --unguarded
grun g.tlg x=1 --reap
gload g.tlg --outputs
L
    bad 2 E_USAGE 'takes FILE, not an empty text' "gload g.tlg -o ''"
    bad 2 E_USAGE '--known-grads takes' "ggrad g.tlg --known-grads ''"
}

# A table: an expression => the column, class and message of its one error.
refusals() {
    local line want
    while IFS= read -r line; do
        want=${line##* => }
        E=${line% => *}
        export E
        bad 3 E_ '' "gload -i 'x: float64[n]' -i 'm: float64[2, 3]' -i 'k: int64' -i 'b: bool[n]' -e \"\$E\" -o o.tlg"
        sed -n 's/^gload: --expr:1:\([0-9]*\): error\[\([A-Z_]*\)\]: /\1 \2 /p' .err | grep -qxF -- "$want" || complain "should say: $want" "$E"
        [ ! -e o.tlg ]
    done
}

@test "casts, arrays and other functions of the language: which arguments they take" {
    refusals <<'END'
astype(x) => 1 E_ARITY astype needs a dtype
astype(x, 3) => 11 E_DTYPE expected a dtype such as float32
astype(x, dtype='flot') => 17 E_DTYPE expected a dtype such as float32
astype() => 1 E_ARITY astype needs 1 argument
astype(x, float32, 1) => 1 E_ARITY astype takes at most 2 arguments
astype(x, float32, k=1) => 20 E_ARG astype has no argument `k`
array([1,2], 'nonsense') => 14 E_DTYPE expected a dtype such as float32
array() => 1 E_ARITY array needs 1 argument
array([1], float32, 2) => 1 E_ARITY array takes at most 2 arguments
array([1], k=2) => 12 E_ARG array has no argument `k`
array([1], dtype=q+) => 20 E_SYNTAX `)` where an expression is expected
array([1,2], shape=[3]) => 20 E_SHAPE the shape has 3 elements, but 2 are given
array([1,2], shape=3) => 20 E_ARG a shape must be a list of sizes such as [0, 3]
array([1, 2, 3, 4], shape=[2, 99999999999]) => 27 E_ARG a shape must be a list of sizes such as [0, 3]
array([1, 2, 3, 4], shape=[65536, 65536]) => 27 E_ARG a shape must be a list of sizes such as [0, 3]
array([1, 2, 3, 4], shape=[2.0, 2]) => 27 E_ARG a shape must be a list of sizes such as [0, 3]
array([], shape=[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) => 17 E_ARG a shape must be a list of sizes such as [0, 3]
array('a') => 7 E_TYPE a string where a tensor is expected
astype(x, None) => 1 E_ARITY astype needs a dtype
x.rng_state() => 1 E_NAME there is no function `rng_state`
x.undefined() => 1 E_NAME there is no function `undefined`
x.constant() => 1 E_NAME there is no function `constant`
x.map() => 1 E_NAME map is not a method: write map(x, ...)
x.load() => 1 E_NAME load is not a method: write load(...)
complex64(1j, 2) => 1 E_ARG complex takes two real literals
complex64(2, 1j) => 1 E_ARG complex takes two real literals
complex64(1, 'a') => 1 E_ARG complex takes two real literals
constant('float64', value=2) => 1 E_ARG write constant('type', value)
constant('float64', 2) => 10 E_TYPE constant() is for types of plugins; float64 has its own form
call(x, fn='nosuch') => 9 E_ARG call: fn must be the name of a function of the graph, known when the graph is built, not a string
call(x, fn=k) => 9 E_ARG call: fn must be the name of a function of the graph, known when the graph is built, not a variable
norm(x, ord=1j) => 9 E_ARG norm: ord must be a number or a string such as 'text' or None, known when the graph is built, not a number
tensordot(m, m, ([0, 1], [0])) => 17 E_ARG tensordot: axes must be a list of integers or None, known when the graph is built, not a list
array([1,2], shape=[-1]) => 20 E_ARG a shape must be a list of sizes such as [0, 3]
array([1,2], shape=[1.5]) => 20 E_ARG a shape must be a list of sizes such as [0, 3]
array([1,2], shape=[70000, 70000]) => 20 E_ARG a shape must be a list of sizes such as [0, 3]
array(x, shape=[2]) => 1 E_ARG shape= is for lists of literals: use reshape
array(['a']) => 8 E_TYPE a string where a tensor is expected
float32() => 1 E_ARITY float32 needs 1 argument
float32(x, 1) => 1 E_ARITY float32 takes at most 1 argument
float32(x, k=1) => 12 E_ARG float32 has no argument `k`
float32({'a': 1}) => 9 E_TYPE a dict where a tensor is expected
floatX('a') => 8 E_TYPE a string where a tensor is expected
complex(1, 2j) => 1 E_DTYPE complex takes float, not complex128
complex(1j, 2) => 1 E_DTYPE complex takes float, not complex128
complex(1) => 1 E_ARITY complex needs the argument im; its signature is complex(re, im)
complex(1, 2, 3) => 15 E_ARITY complex got too many arguments; its signature is complex(re, im)
complex(1, 2, k=3) => 15 E_ARG complex has no argument k; its signature is complex(re, im)
complex64(1, x) => 1 E_ARG complex takes two real literals
load(3) => 1 E_ARG write load('file.npy') or load('file.npz', 'key')
load('a', 'b', 'c') => 1 E_ARG write load('file.npy') or load('file.npz', 'key')
load() => 1 E_ARG write load('file.npy') or load('file.npz', 'key')
rng_state([1, 2, 3]) => 1 E_ARG write rng_state([seed, stream, position, 0])
rng_state(3) => 1 E_ARG write rng_state([seed, stream, position, 0])
rng_state([x[0], 1, 2, 3]) => 1 E_ARG write rng_state([seed, stream, position, 0])
rng_state([1, 2, 3, -1]) => 11 E_VALUE -1 is out of range of uint64
rng_state([1, 2, 3, 1.5]) => 11 E_VALUE 1.5 is not an integer, which is required for uint64
rng_state() => 1 E_ARITY rng_state needs 1 argument
rng_state([1,2,3,4], k=1) => 22 E_ARG rng_state has no argument `k`
rng_state([1,0,0,0], 2) => 1 E_ARITY rng_state takes at most 1 argument
undefined() => 1 E_ARG write undefined('why')
undefined(3) => 1 E_ARG write undefined('why')
undefined('a', 'b') => 1 E_ARG write undefined('why')
constant('float64') => 1 E_ARG write constant('type', value)
constant(3, 4) => 1 E_ARG write constant('type', value)
constant('float64[2]', [1, 2]) => 10 E_TYPE constant() is for types of plugins; float64[2] has its own form
END
}

@test "what NumPy would slice or flatten has another spelling" {
    bad 3 E_TYPE 'note: the positions of slice\(1, 3\) are arange\(1, 3\)' "gload -i 'x: float64[5]' -e 'delete(x, slice(1, 3))'"
    ok "gload -i 'x: float64[5]' -e 'delete(x, arange(1, 3))' | grun x=[1,2,3,4,5]" 'out = [1.0, 4.0, 5.0]'
    bad 3 E_ARG 'note: arrays are flattened by ravel' "gload -i 'x: float64[2, 2]' -e 'concatenate([x, x], axis=None)'"
}

@test "errors name the function that was called, not its parts" {
    refusals <<'END'
cumsum(k, axis=0) => 1 E_SHAPE cumsum: x must have at least 1 dim, not 0
cumprod(x, axis=3) => 1 E_VALUE cumprod: axis 3 is out of range for 1 dim
roll(m, 1, axis=3) => 1 E_VALUE roll: axis 3 is out of range for 2 dims
ones(-2) => 1 E_SHAPE ones: a size can't be negative, got -2
concatenate(make_list(1., 2.)) => 1 E_SHAPE concatenate: 0-d items can't be joined along a dim: use stack
stack(make_list(1., 2.), axis=4) => 1 E_VALUE stack: axis 4 is out of range for 1 dim
inner(m, zeros((2, 4))) => 1 E_SHAPE inner: axis 1 of a float64[2, 3] and axis 1 of a float64[2, 4] differ
add(sparse_from_triplets([1.], [0], [0], (2, 2)), x) => 1 E_SHAPE add: sparse('csr', float64[2, 2]) and float64[n] must have the same shape
sin([x, m]) => 5 E_SHAPE a list of tensors: it has 2 dims, but the first has 1: all must have the same number
list_length([x, m]) => 13 E_TYPE a list: the items of a list must have the same kind, dtype and rank: float64[2, 3] differs from float64[n]
sum(cumsum(k, axis=0), axis=4) => 5 E_SHAPE cumsum: x must have at least 1 dim, not 0
cumsum(sum(x, axis=4)) => 8 E_VALUE sum: axis 4 is out of range for 1 dim
categorical(sum(x, axis=4), seed=1) => 13 E_VALUE sum: axis 4 is out of range for 1 dim
END
}

@test "indices of tensors, lists, dicts and shapes: wrong ones are refused" {
    refusals <<'END'
m[..., make_slice(0, 2, 1)] => 8 E_TYPE a slice that is a value can't follow `...`
m[0, 1, make_slice(0, 2, 1)] => 9 E_TYPE there are more indices than dims (2)
x[2.5] => 3 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a float
x[True] => 3 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a single bool
x['a'] => 3 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a string
x[[1.5]] => 3 E_TYPE an index must be an integer, a slice, None, `...` or an array, not floats
x[[x[0]]] => 1 E_TYPE subtensor: an index must be int or bool, not float64[1]
x[x] => 3 E_TYPE an index must be an integer, a slice, None, `...` or an array, not float64
x[{'a': 1}] => 3 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a dict
x[1.5:] => 3 E_TYPE the parts of a slice must be integers
x[x:] => 3 E_TYPE the parts of a slice must be integers
x[m:] => 3 E_TYPE the parts of a slice must be integers
x['a':] => 3 E_TYPE the parts of a slice must be integers
x[::1.5] => 5 E_TYPE the parts of a slice must be integers
x[q+:] => 5 E_SYNTAX `:` where an expression is expected
x[] => 3 E_SYNTAX `]` where an index is expected
m[:, 0, 0] => 1 E_SHAPE subtensor: too many indices: x has 2 dims, but 3 are indexed
m[..., ...] => 1 E_ARG subtensor: an index can hold only one ...
[x, m][-3] => 8 E_VALUE index -3 is out of range for a list of length 2
[x, m][2] => 8 E_VALUE index 2 is out of range for a list of length 2
[x, m][::0] => 8 E_VALUE the parts of a list's slice must be literals, and the step not 0
[x, m][k:] => 8 E_VALUE the parts of a list's slice must be literals, and the step not 0
[x, m][1.5:] => 8 E_VALUE the parts of a list's slice must be literals, and the step not 0
[x, m][:1.5] => 8 E_VALUE the parts of a list's slice must be literals, and the step not 0
[x, m][::1.5] => 8 E_VALUE the parts of a list's slice must be literals, and the step not 0
[x, m][:k] => 8 E_VALUE the parts of a list's slice must be literals, and the step not 0
[x, m][x+] => 10 E_SYNTAX `]` where an expression is expected
[x, m][-1.5] => 1 E_TYPE the index of a list must be an integer literal or a slice
[x, m][1 + 0.5] => 1 E_TYPE the index of a list must be an integer literal or a slice
[1, 2][True] => 8 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a single bool
{'a': x, 'b': m}[0] => 1 E_TYPE a dict takes one index: a string
{'a': x, 'b': m}['a', 'b'] => 1 E_TYPE a dict takes one index: a string
{'a': x, 'b': m}['c'] => 18 E_NAME the dict has no key 'c'
{'abc': x, 'b': m}['abd'] => 20 E_NAME the dict has no key 'abd': did you mean 'abc'?
{'a': x, 'b': m}[q] => 1 E_TYPE a dict takes one index: a string
{'a': x}[nofunc(1)] => 10 E_NAME there is no function `nofunc`
x.load('a') => 1 E_NAME load is not a method: write load(...)
{'a': x, 'b': m}['zzzzzzz'] => 18 E_NAME the dict has no key 'zzzzzzz'
make_list(x, x)[0, 1] => 1 E_TYPE a list takes one index: an integer or a slice
make_list(x, x)[1.5:] => 1 E_TYPE make_slice: the parts of a slice must be integers or None, not float64
make_list(x, x)['a':] => 17 E_TYPE a string where a tensor is expected
make_list(x, x)[x] => 1 E_TYPE list_get: expected an integer, not float64[n]
make_list(x, x)['a'] => 17 E_TYPE a string where a tensor is expected
make_list(x, x)[None] => 1 E_TYPE list_get: expected an integer, not none
make_list(x, x)[...] => 17 E_SYNTAX `...` is only for an index, as in x[..., 0]
set_subtensor(x[0]) => 1 E_ARITY write set_subtensor(x[...], y)
set_subtensor(x[0], y=1) => 1 E_ARITY write set_subtensor(x[...], y)
set_subtensor(x[0], 1, 2) => 1 E_ARITY write set_subtensor(x[...], y)
set_subtensor(x['a'], 1) => 17 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a string
set_subtensor(x[0], 'a') => 21 E_TYPE a string where a tensor is expected
set_subtensor('a'[0], 1) => 15 E_TYPE a string where a tensor is expected
set_subtensor(x, 1) => 1 E_ARITY set_subtensor needs the argument index; its signature is set_subtensor(x, y, *index, index: str)
x.shape[0:1.5] => 9 E_VALUE the parts of a list's slice must be literals, and the step not 0
x.shape[5] => 9 E_VALUE axis 5 of a tensor with 1 dim
x.shape[1.5] => 9 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a float
x.shape['a'] => 9 E_TYPE an index must be an integer, a slice, None, `...` or an array, not a string
m.shape[0, 1] => 1 E_SHAPE subtensor: too many indices: x has 1 dim, but 2 are indexed
x[...] + ... => 10 E_SYNTAX `...` is only for an index, as in x[..., 0]
[1 => 1 E_SYNTAX `[` is never closed
END
}

@test "arithmetic of literals: operations without a result are errors" {
    refusals <<'END'
o = (1+2j) / 0 => 5 E_VALUE a division of literals by zero
o = (1+2j) / (0j) => 5 E_VALUE a division of literals by zero
o = 0j ** -1 => 5 E_VALUE a division of literals by zero
o = 0j ** 1j => 5 E_VALUE a division of literals by zero
o = (1+2j) // 2 => 5 E_TYPE `//` does not take complex numbers
o = (1+2j) % 2 => 5 E_TYPE `%` does not take complex numbers
o = (1+2j) < 2 => 5 E_TYPE complex numbers have no order
o = 1 @ 2 => 5 E_SHAPE `@` takes arrays, not single numbers
o = 1.5 & 2 => 5 E_TYPE `&` takes integers or bools
o = 1 & 1.5 => 5 E_TYPE `&` takes integers or bools
o = 0 ** -1 => 5 E_VALUE a division of literals by zero
o = 0.0 ** -1.0 => 5 E_VALUE a division of literals by zero
o = 1 // 0 => 5 E_VALUE a division of literals by zero
o = 1 % 0 => 5 E_VALUE a division of literals by zero
o = 1.0 // 0 => 5 E_VALUE a division of literals by zero
o = 9223372036854775807 + 1 => 5 E_VALUE 9223372036854775808 is out of range of int64
o = 18446744073709551615 + 1 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 9223372036854775807 * 3 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 2 ** 64 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 2 ** 63 => 5 E_VALUE 9223372036854775808 is out of range of int64
o = 3 ** 50 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 3 ** 81 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = (2 ** 62) ** 3 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 18446744073709551615 * 18446744073709551615 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = (-3) ** 50 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 2 ** 100000 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 1 << 64 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = 1 << 63 => 5 E_VALUE 9223372036854775808 is out of range of int64
o = 1 << -1 => 5 E_VALUE a shift by a negative count
o = 1 >> -1 => 5 E_VALUE a shift by a negative count
o = ~True => 5 E_TYPE `~` of a bool literal is -1 or -2 in Python: write True or False
o = ~18446744073709551615 => 5 E_TYPE `~` takes an integer that fits in int64
o = ~1.5 => 5 E_TYPE `~` takes an integer that fits in int64
o = ~2j => 5 E_TYPE `~` takes an integer that fits in int64
o = -18446744073709551615 => 5 E_VALUE -18446744073709551615 does not fit in int64
o = -9223372036854775809 => 5 E_VALUE -9223372036854775809 does not fit in int64
o = -9223372036854775808 // -1 => 5 E_VALUE 9223372036854775808 is out of range of int64
o = -9223372036854775808 * -1 => 5 E_VALUE 9223372036854775808 is out of range of int64
o = 1 - 18446744073709551615 => 5 E_VALUE the resulting integer fits neither int64 nor uint64
o = int8(2j) => 10 E_VALUE 0.0+2.0j is complex and does not fit int8
o = uint8(-1) => 11 E_VALUE -1 is out of range of uint8
o = bool(2j) => 10 E_VALUE 0.0+2.0j is complex and does not fit bool
o = float32(2j) => 13 E_VALUE 0.0+2.0j is complex and does not fit float32
o = float32(1e40) => 13 E_VALUE 1e40 is out of range of float32
o = float16(70000) => 13 E_VALUE 70000 is out of range of float16
o = float16(70000.5) => 13 E_VALUE 70000.5 is out of range of float16
o = complex64(1e40) => 15 E_VALUE 1e40 is out of range of float32
o = complex64(1e300j) => 15 E_VALUE 0.0+1e+300j is out of range of complex64
o = complex64(-(2j * 1e200)) => 15 E_VALUE -0.0-2e+200j is out of range of complex64
o = uint8(3 - 5) => 11 E_VALUE -2 is out of range of uint8
o = float16(-1e5 * 10) => 13 E_VALUE -1000000.0 is out of range of float16
o = int64(9223372036854775808) => 11 E_VALUE 9223372036854775808 is out of range of int64
o = int8([1, 300]) => 14 E_VALUE 300 is out of range of int8
o = [1, 'a'] => 9 E_TYPE a string where a tensor is expected
END
}

@test "texts, lambdas and calls in places where they can't be are errors" {
    refusals <<'END'
x.rng_state() => 1 E_NAME there is no function `rng_state`
x.dtype => 1 E_TYPE a dtype where a tensor is expected
x.nope => 1 E_NAME there is no attribute `.nope`; the attributes are .T .shape .ndim .size .dtype
{'a': x}.T => 1 E_TYPE a dict where a tensor is expected
'a'.T => 1 E_TYPE a string where a tensor is expected
'a'.shape => 1 E_TYPE a string where a tensor is expected
... => 1 E_SYNTAX `...` is only for an index, as in x[..., 0]
**x => 1 E_SYNTAX `**` where an expression is expected
sin(**x) => 5 E_SYNTAX `**x` is only for rewrite rules
where(x > 0, x, *x) => 17 E_SYNTAX `*x` can't stand for the elements of x
lambda v: v => 1 E_TYPE a function where a tensor is expected
(lambda v: v)(x, x) => 1 E_ARITY the function takes 1 argument, not 2
(lambda v: v)(w=x) => 17 E_ARG there is no parameter `w`
(lambda v: v)(x, v=x) => 20 E_ARG the parameter `v` is given twice
(3)(x) => 2 E_SYNTAX this can't be called
{'a': 1}(3) => 1 E_TYPE a dict can't be called
'a\q' => 1 E_SYNTAX unknown escape in a string; the escapes are \\ \' \" \n \t \xHH \uHHHH
'a\x4' => 1 E_SYNTAX the escape \x takes 2 hexadecimal digits, \u takes 4
'a\u00' => 1 E_SYNTAX the escape \x takes 2 hexadecimal digits, \u takes 4
'a\x00' => 1 E_SYNTAX this character can't be in a string
'a\ud800' => 1 E_SYNTAX this character can't be in a string
'''a''' => 1 E_SYNTAX triple quotes are not part of the language
x + 'abc => 5 E_SYNTAX the string is not closed on its line
zeros(3, 4) => 10 E_ARITY zeros takes one argument as its shape; its signature is zeros(shape: ints, dtype: dtype? = None)
sum(x, 0, 1) => 11 E_ARITY sum takes one argument as its axis; its signature is sum(x, axis: axes = None, dtype: dtype? = None, keepdims: bool = False)
1.5_ => 1 E_SYNTAX `1.5_` is not a number
1.5_e3 => 1 E_SYNTAX `1.5_e3` is not a number
1__0 => 1 E_SYNTAX `1__0` is not a number
1_ => 1 E_SYNTAX `1_` is not a number
1jx => 1 E_SYNTAX `1jx` is not a number
1._5 => 1 E_SYNTAX `1._5` is not a number
0xFFFFFFFFFFFFFFFFF => 1 E_SYNTAX the integer does not fit in 64 bits
1e5_ => 1 E_SYNTAX `1e5_` is not a number
1e => 1 E_SYNTAX `1e` is not a number
1e+ => 1 E_SYNTAX `1e` is not a number
1.5abc => 1 E_SYNTAX `1.5abc` is not a number
12345678901234567890123 => 1 E_SYNTAX the integer does not fit in 64 bits
x <<= 1 => 3 E_SYNTAX a name is defined once: write `y = x + 1` with a new name
x += 1 => 3 E_SYNTAX a name is defined once: write `y = x + 1` with a new name
lambda pi: 1 => 8 E_NAME a parameter can't have the name of a literal
lambda True: 1 => 8 E_NAME a parameter can't have the name of a literal
x $ 1 => 3 E_SYNTAX `$` is not part of the language
x ? 1 => 3 E_SYNTAX `?` where an operator, or the end of the expression is expected
x ! 1 => 3 E_SYNTAX `!` is not an operator: write `~x`, or `a != b`
x && 1 => 3 E_SYNTAX `&&` is not an operator: write `(a) & (b)`
x | | 1 => 5 E_SYNTAX `|` where an expression is expected
for i in x: i => 1 E_SYNTAX `for` is a Python keyword: use scan or map for a loop
x if x else m => 6 E_TYPE `if` takes a number that is known when the graph is made, and this is known when it runs: write `where(x, x, m)`
{1: 2} => 2 E_SYNTAX `1` where a key such as 'name' is expected
{'a': 1, 'a': 2} => 10 E_DUPLICATE the key `a` occurs twice
{'a' 1} => 6 E_SYNTAX `1` where `:` and a value is expected
sin(x=x, x) => 10 E_SYNTAX an argument without a name comes after one with a name
grad(x, x, wrt=x) => 12 E_ARG grad got a second value for the argument wrt; its signature is grad(cost, wrt, consider_constant=[], disconnected_inputs='raise', return_disconnected='zero', null_gradients='raise')
grad(x, **x) => 9 E_ARG grad can't take `**`; its signature is grad(cost, wrt, consider_constant=[], disconnected_inputs='raise', return_disconnected='zero', null_gradients='raise')
grad(1, 2, 3, 4, 5, 6, 7) => 24 E_ARITY grad got too many arguments; its signature is grad(cost, wrt, consider_constant=[], disconnected_inputs='raise', return_disconnected='zero', null_gradients='raise')
map() => 1 E_ARITY map needs the argument fn; its signature is map(fn, sequences, non_sequences=[], go_backwards=False)
map(lambda v: v) => 1 E_ARITY map needs the argument sequences; its signature is map(fn, sequences, non_sequences=[], go_backwards=False)
grad(x, x, wr=x) => 12 E_ARG grad has no argument wr; its signature is grad(cost, wrt, consider_constant=[], disconnected_inputs='raise', return_disconnected='zero', null_gradients='raise')
sin(x, x=x) => 8 E_ARG sin got a second value for the argument x; its signature is sin(x)
sin(y=x) => 5 E_ARG sin has no argument y; its signature is sin(x)
sum(x, axis=0, axis=0) => 16 E_DUPLICATE the argument `axis` occurs twice
sum(x, None, None, None, None, None, None) => 26 E_ARITY sum got too many arguments; its signature is sum(x, axis: axes = None, dtype: dtype? = None, keepdims: bool = False)
sum(x, axis='a') => 8 E_ARG sum: axis must be an axis or a list of axes or None, known when the graph is built, not a string
sum(x, axis=1.5) => 8 E_ARG sum: axis must be an axis or a list of axes or None, known when the graph is built, not a number
sum(x, axis=[0, 'a']) => 8 E_ARG sum: axis must be an axis or a list of axes or None, known when the graph is built, not a list
sum(x, keepdims=1) => 8 E_ARG sum: keepdims must be True or False, known when the graph is built, not a number
sum(x, dtype='flot') => 8 E_DTYPE sum: there is no dtype 'flot'
sum(x, dtype=3) => 8 E_ARG sum: dtype must be a dtype such as float32 or None, known when the graph is built, not a number
sum(axis=0) => 1 E_ARITY sum needs the argument x; its signature is sum(x, axis: axes = None, dtype: dtype? = None, keepdims: bool = False)
concatenate() => 1 E_ARITY concatenate: at least one tensor is needed
concatenate(axis=0) => 1 E_ARITY concatenate: at least one tensor is needed
stack(x, x, 0) => 1 E_SHAPE stack: it has 0 dims, but the first has 1: all must have the same number
einsum('i->') => 1 E_ARITY einsum needs an operand: einsum('ij,jk->ik', a, b)
einsum(x, 'i->i') => 1 E_ARITY einsum needs the argument subscripts; its signature is einsum(*operands, subscripts: str)
einsum() => 1 E_ARITY einsum needs the argument subscripts; its signature is einsum(*operands, subscripts: str)
einsum('i->i', subscripts='i') => 16 E_ARG einsum got a second value for the argument subscripts; its signature is einsum(*operands, subscripts: str)
pad(x, 1, 'edge', 'wrap') => 19 E_ARITY pad got too many arguments; its signature is pad(x, pad_width, constant_values = 0, end_values = 0, mode: str = 'constant')
norm(x, 'fro') => 1 E_ARG norm: ord='fro' is not a norm over 1 axis; the names are 'fro' and 'nuc', for matrices
norm(m, 'nonsense') => 1 E_ARG norm: ord='nonsense' is not a norm over 2 axes; the names are 'fro' and 'nuc', for matrices
norm(m, 3j) => 9 E_ARG norm: ord must be a number or a string such as 'text' or None, known when the graph is built, not a number
tensordot(m, m, axes=([1], [1, 2])) => 17 E_ARG tensordot: axes must be a list of integers or None, known when the graph is built, not a list
tensordot(m, m, ([1], ['a'])) => 17 E_ARG tensordot: axes must be a list of integers or None, known when the graph is built, not a list
gamma(x, y, 3) => 10 E_ARITY gamma got too many arguments; its signature is gamma(x)
gamma(1, 2, 3, 4) => 10 E_ARITY gamma got too many arguments; its signature is gamma(x)
normal(0, 1) => 1 E_ARITY normal needs the argument seed; its signature is normal(loc = 0.0, scale = 1.0, size?: ints, seed: int, dtype: dtype? = None)
normal(0, 1, rng=3) => 18 E_TYPE rng must be the state of a random stream
normal(0, 1, seed=True) => 14 E_ARG normal: seed must be an integer, known when the graph is built, not a number
x.normal(rng=3) => 1 E_NAME normal is not a method: write normal(x, ...)
x.relu(1) => 8 E_ARITY relu got too many arguments; its signature is relu(x)
m.transpose(1, 'a') => 13 E_ARG transpose: axes must be a list of integers or None, known when the graph is built, not a list
m.reshape(3, 'a') => 14 E_TYPE expected an integer, not a string
arange('a') => 8 E_TYPE a string where a tensor is expected
eye(2, k=1.5) => 8 E_ARG eye: k must be an integer, known when the graph is built, not a number
zeros((2, 'a')) => 11 E_TYPE expected an integer, not a string
zeros(-1) => 1 E_SHAPE zeros: a size can't be negative, got -1
full((2,), 'a') => 12 E_TYPE a string where a tensor is expected
ifelse(True, x, m) => 1 E_SHAPE ifelse: value 0 is float64[n] if the condition holds but float64[2, 3] if not: they must have the same number of dims
ifelse(x, x, x) => 1 E_SHAPE ifelse: condition must have 0 dims, not 1
scan(1) => 6 E_TYPE the first argument of scan must be a function
scan(3, sequences=[x]) => 6 E_TYPE the first argument of scan must be a function
scan(lambda a, b: a, sequences=[x]) => 6 E_ARITY the function takes 2 arguments, but gets 1: 1 of sequences, 0 of earlier steps, 0 of non_sequences
map(3, x) => 5 E_TYPE the first argument of map must be a function
map(lambda a, b: a, x) => 5 E_ARITY the function takes 2 arguments, but gets 1: 1 of sequences, 0 of earlier steps, 0 of non_sequences
cumsum(x, axis=True) => 11 E_ARG cumsum: axis must be an axis or None, known when the graph is built, not a number
argsort(x, axis=k) => 12 E_ARG argsort: axis must be an axis or None, known when the graph is built, not a variable
clip(x) => 1 E_ARITY clip needs a bound, min or max
clip(x, None, None) => 1 E_ARITY clip needs a bound, min or max
clip(min=0) => 1 E_ARITY clip needs the argument x; its signature is clip(x, min, max)
round(x, 1, 2) => 13 E_ARITY around got too many arguments; its signature is around(x, decimals: int = 0)
searchsorted(x, 3, right=1) => 20 E_ARG right must be True or False
searchsorted(x, 3, side='left', right=True) => 33 E_ARG searchsorted got a second value for the argument side; its signature is searchsorted(a, v, side: str = 'left', batch_dims: int = 0)
clip(x, lo=0, hi=1) => 9 E_ARG clip has no argument lo; its signature is clip(x, min, max)
one_hot(k, 1.5) => 12 E_TYPE expected an integer for `n`
make_slice(1.5, 2, 3) => 1 E_TYPE make_slice: the parts of a slice must be integers or None, not float64
END
}

@test "definitions, outputs and updates of a graph in text" {
    text() { printf 'thunkline: 1\n%b' "$1" >g.yaml; }
    local lines code at want
    while IFS='#' read -r lines code at want; do
        text "$lines"
        bad 3 "$code" "$want" 'gload g.yaml -o g.tlg'
        grep -q "^gload: g.yaml:$at: error" .err || complain "should be at $at" "$lines"
    done <<'END'
inputs: {x: float64}\nlet: "y = x"\noutputs: [y, y]\n#E_DUPLICATE#4:14#two outputs .y
inputs: {x: float64}\noutputs: {p: "[x]", "p/0": "x"}\n#E_DUPLICATE#3:29#two outputs .p/0
inputs: {x: float64}\noutputs: [x, q]\n#E_NAME#3:14#.q. is not defined
inputs: {x: float64}\noutputs: ["x + 1"]\n#E_FORMAT#3:12#is not a name
inputs: {x: float64}\nlet: |\n  y = x\n  y = x + 1\noutputs: [y]\n#E_DUPLICATE#5:3#defined twice
inputs: {x: float64}\nlet: |\n  y: float64[2] = x\noutputs: [y]\n#E_SHAPE#4:19#the declared type is float64\[2\]
inputs: {x: float64}\nlet: |\n  y: float32 = x\noutputs: [y]\n#E_DTYPE#4:16#cast it with float32
inputs: {x: float64}\nlet: |\n  a, a = [x, x]\noutputs: [a]\n#E_DUPLICATE#4:6#occurs twice
inputs: {x: float64}\nlet: |\n  x = x\noutputs: [x]\n#E_DUPLICATE#4:3#already an input
inputs: {x: "float64[n]"}\nlet: |\n  n = x\noutputs: [n]\n#E_DUPLICATE#4:3#already a dim
inputs: {x: "float64[n]", "n": float64}\n#E_DUPLICATE#2:28#already a dim
inputs: {"n": float64, x: "float64[n]"}\n#E_DUPLICATE#2:28#already an input
inputs: {x: "float64[n]"}\nshared: {"n": float64 = 1}\n#E_DUPLICATE#3:11#already a dim
inputs: {"n": float64}\nshared: {W: "float64[n]"}\n#E_DUPLICATE#3:14#already an input
inputs: {x: float64}\nfunctions: {f: {inputs: {"n": int64, a: "float64[n]"}, outputs: [a]}}\n#E_DUPLICATE#3:42#already an input
inputs: {x: float64}\nlet: |\n  d = {"a": x, "b": lambda v: v}\noutputs: [d]\n#E_TYPE#4:21#a function where
shared: {W: float64 = 1}\nupdates: |\n  W = W + 1\n  W = W\n#E_DUPLICATE#5:3#updated twice
shared: {W: float64 = 1}\nupdates: |\n  W + 1\n#E_SYNTAX#4:5#a statement
shared: {W: float64 = 1}\nupdates: {q: 1}\n#E_NAME#3:11#it is not a shared variable
shared: {W: float64 = 1}\nupdates: {W: "[1, 2]"}\n#E_SHAPE#3:15#W is float64
shared: {W: float64 = x}\ninputs: {x: float64}\n#E_VALUE#2:23#depends on an input
shared: {W: "float64[2] = 3"}\n#E_SHAPE#2:27#but its initial value is float64
END
    # a long cycle is shown by its ends
    text "let: |\\n$(for i in {0..9}; do printf '  a%d = a%d + 1\\n' $i $(((i + 1) % 10)); done)\\noutputs: [a0]\\n"
    bad 3 E_CYCLE 'in a cycle: a0 -> a1 -> a2 -> a3 -> \.\.\. -> a6 -> a7 -> a8 -> a9 -> a0$' 'gload g.yaml -o g.tlg'
    text 'inputs: {x: float64}\nlet: |\n  d = {"a": x, "b": [x, {"c": x}]}\noutputs: [d]\n'
    ok 'gload g.yaml -O math' $'x: float64\nd/a = x\nd/b/0 = x\nd/b/1/c = x'
}

@test "limits of an expression: depth, dims, digits, lambdas" {
    deep() { printf "$1%.0s" $(seq "$2"); }
    E="x + $(deep '[' 40)1$(deep ']' 40)" bad 6 E_LIMIT '1:5: .*a tensor has at most 32 dims' 'gload -e "$E"'
    for c in '[ ]' '( )'; do
        E="$(deep "${c% *}" 300)1$(deep "${c#* }" 300)" bad 6 E_LIMIT '1:201: .*nested more than 200 deep' 'gload -e "$E"'
    done
    E="$(deep '~' 300)x" bad 6 E_LIMIT 'nested more than 200 deep' 'gload -e "$E"'
    E="$(deep 1_ 600)1.0" bad 3 E_SYNTAX 'the number is too long' 'gload -e "$E"'
    E="1.$(deep 0 600)5 * 2" ok 'gload -e "$E" | grun' 'out = 2.0'
    E="$(printf "y = print(1, 'a\rb')")" bad 3 E_SYNTAX '1:14: .*the string is not closed on its line' 'gload -e "$E"'
    E="x < $(deep xyz 15) < x" bad 3 E_TYPE 'write `\(x < b\) & \(b < x\)' 'gload -e "$E"'
    E="$(deep 'not ' 300)x" bad 6 E_LIMIT 'nested more than 200 deep' 'gload -e "$E"'
    E="$(deep '1 if 1 else ' 300)x" bad 6 E_LIMIT 'nested more than 200 deep' 'gload -e "$E"'
    E="1$(deep ' and 1' 3000)" ok 'gload -e "$E" | grun' 'out = 1'
    E="1$(deep ' <= 1' 3000)" ok 'gload -e "$E" | grun' 'out = True'
    bad 6 E_LIMIT 'lambdas call each other more than 100 deep' 'gload -e "(lambda f: f(f))(lambda f: f(f))"'
}

@test "scan, map and reduce: which functions, sequences and options they take" {
    refusals <<'END'
scan(lambda a: (a, {"until": a}), sequences=[x]) => 20 E_TYPE until takes one bool, not float64
scan(lambda a: (a, {"until": x}), sequences=[x]) => 20 E_TYPE until takes one bool, not float64[n]
scan(lambda a: {"until": a > 1}, sequences=[x]) => 16 E_ARG until must come after a result of the step: [x, until(x > 3)]
scan(lambda a: a, sequences=[k]) => 30 E_TYPE sequence 1 must be a tensor with an axis for steps, or a list, not int64
scan(lambda a: a) => 1 E_ARG scan needs a sequence or n_steps to know how many steps there are
scan(lambda h: h + 1, outputs_info=[1.0]) => 1 E_ARG scan needs a sequence or n_steps to know how many steps there are
scan(lambda h: h + 1, outputs_info=[{"initial": x, "taps": [0]}], n_steps=3) => 37 E_ARG output 1 has the tap 0, but only earlier steps (negative taps) are known
scan(lambda h: h + 1, outputs_info=[{"initial": x, "taps": "a"}], n_steps=3) => 60 E_ARG a tap must be an integer that is written out
scan(lambda h: h + 1, outputs_info=[{"initial": x, "tap": [-1]}], n_steps=3) => 37 E_ARG a sequence or output of a scan has no `tap`: write taps(x, [-1, 0])
scan(lambda a, b: a + b, sequences=[{"input": x, "taps": [0, 1.5]}]) => 62 E_ARG a tap must be an integer that is written out
scan(lambda a: a, sequences=[{"inpt": x}]) => 30 E_ARG a sequence or output of a scan has no `inpt`: write taps(x, [-1, 0])
scan(lambda a: a, sequences=[x], n_steps=1.5) => 42 E_ARG n_steps must be an integer that is not negative
scan(lambda a: a, sequences=[x], n_steps=x) => 1 E_SHAPE scan takes a scalar for steps, not float64[n]
scan(lambda a: a, sequences=[x], go_backwards=1) => 47 E_ARG go_backwards must be True or False
scan(lambda a: a, sequences=[x], truncate_gradient=1.5) => 52 E_ARG truncate_gradient must be an integer that is written out
reduce(3, x, 0.0) => 8 E_TYPE the first argument of reduce must be a function
filter(x, x) => 8 E_TYPE the first argument of filter must be a function
map(nosuch, x) => 5 E_NAME there is no function `nosuch`
reduce(snh, x, 0.0) => 8 E_NAME there is no function `snh`: did you mean `sinh`?
scan(clamp, sequences=[x]) => 6 E_NAME there is no function `clamp`: here it is `clip`
foldl(nosuch, x, 0.0) => 7 E_NAME there is no function `nosuch`
foldr(nosuch, x, 0.0) => 7 E_NAME there is no function `nosuch`
filter(nosuch, x) => 8 E_NAME there is no function `nosuch`
vectorize(nosuch)(x) => 11 E_NAME there is no function `nosuch`
map(grad, x) => 5 E_NAME grad can't be passed on: write lambda x: grad(...)
vectorize(lambda v: v, "()->()")(x) => 1 E_ARITY apply vectorize of a function to the rows: vectorize(f)(rows)
map(lambda a: "s", x) => 15 E_TYPE a string where a tensor is expected
map(lambda a: lambda b: a, x) => 15 E_TYPE a function where a tensor is expected
map(lambda a: undefined("x"), x) => 1 E_TYPE scan: output out is null('x'), which has no values to keep
list_append(make_list(x), 1) => 1 E_TYPE list_append: the items of the list are float64[n], not float64
list_append(make_list(x), "a") => 27 E_TYPE a string can't be a value
list_insert(make_list(x), 1.5, x) => 27 E_TYPE expected an integer for `i`
make_list() => 1 E_TYPE make_list: an empty list needs type='...' of its items
reshape(x, 1.5) => 12 E_TYPE expected an integer, not a float
reshape(x, True) => 12 E_TYPE expected an integer, not a bool
reshape(x, x) => 12 E_DTYPE expected an integer, not float64[n]
zeros([[1, 2]]) => 8 E_TYPE expected an integer, not a list
svd(ones((2, 2))) + 1 => 1 E_ARITY svd has 3 outputs: write `a, b = ...`, or take one with [0]
svd(ones((2, 2)))[3] => 19 E_VALUE index 3 is out of range for a list of length 3
END
}

# Overlong forms, halves of a surrogate pair, what lies beyond U+10FFFF, lone and cut bytes.
@test "bytes that are no UTF-8, in a string, in a comment and bare" {
    local b
    for b in '\xc0\x80' '\xe0\x80\x80' '\xed\xa0\x80' '\xed\xbf\xbf' '\xf0\x80\x80\x80' '\xf4\x90\x80\x80' '\xff' '\x80' '\xc3' '\xe2\x82' '\xf0\x9f\x98'; do
        bad 3 E_SYNTAX "--expr:1:5: .*this byte can.t be in a string: the text must be UTF-8" "gload --new -i x:float64 -e \"\$(printf \"x + '$b'\")\" -o o.tlg"
        bad 3 E_SYNTAX '--expr:1:5: .*the comment is not UTF-8 text' "gload --new -i x:float64 -e \"\$(printf 'x # $b')\" -o o.tlg"
        bad 3 E_SYNTAX '--expr:1:5: .*the text is not UTF-8' "gload --new -i x:float64 -e \"\$(printf 'x + $b')\" -o o.tlg"
    done
    for b in '\xc3\xa9' '\xe2\x82\xac' '\xed\x9f\xbf' '\xee\x80\x80' '\xf0\x9f\x98\x80' '\xf4\x8f\xbf\xbf'; do
        ok "gload --new -i x:float64 -e \"\$(printf \"y = print(x, '$b') # $b\")\" --outputs y -o o.tlg"
        bad 3 E_SYNTAX 'names and operators are ASCII' "gload --new -i x:float64 -e \"\$(printf 'x + $b')\" -o o.tlg"
    done
}

@test "a function that has the name of one of the language is an error that asks for another name" {
    printf 'thunkline: 1\nfunctions:\n  draw:\n    inputs: {x: float64}\n    outputs: {y: x}\n' >g.yaml
    bad 3 E_NAME '"draw" is a function of the language already' 'gload g.yaml'
    like 'gload g.yaml 2>&1 || true' 'give it another name, such as draw_1'
}

@test "sizes that differ are named, in every mode" {
    local mode
    gload -i 'a: float64[n]' -i 'b: float64[m]' -i 'c: float64[k]' -e 'y = solve_tridiagonal(a, b, c, b)' -o tri.tlg
    gload -i 'a: float64[n, m]' -i 'b: float64[k]' -e 'y = solve(a, b)' -e 'z = inv(a)' -o solve.tlg
    for mode in FAST_RUN FAST_COMPILE DEBUG; do
        bad 5 E_RUN_SHAPE 'dim -1 of main must be as long as dim -1 of lower, but they are 3 and 2' "grun tri.tlg --mode $mode a=[1,2] b=[1,2,3] c=[1,2,3]"
        bad 5 E_RUN_SHAPE 'dim -1 of upper must be as long as dim -1 of lower, but they are 2 and 3' "grun tri.tlg --mode $mode a=[1,2,3] b=[1,2,3] c=[1,2]"
        bad 5 E_RUN_SHAPE 'dim -1 of b must be as long as dim -2 of a, but they are 3 and 2' "grun solve.tlg --outputs y --mode $mode a='eye(2)' b=[1,2,3]"
        bad 5 E_RUN_SHAPE 'the last two dims of a must be equal, but are 2 and 3' "grun solve.tlg --outputs z --mode $mode a='ones((2, 3))' b=[1,2]"
        ok "gload tri.tlg -e 'z = map(lambda q: sum(solve_tridiagonal(a, b * q, c, b)), arange(2.))' -e 'w = map(lambda q: sum(solve_tridiagonal(a, b * q, c, b) * 2), arange(2.))' --outputs z,w -o loop.tlg"
        bad 5 E_RUN_SHAPE 'upper must be as long as dim -1 of lower, but they are 2 and 3' "grun loop.tlg --mode $mode a=[1,2,3] b=[1,2,3] c=[1,2]"
    done
}
