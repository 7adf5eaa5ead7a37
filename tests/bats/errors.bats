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
    bad 3 E_SHAPE "not declared, and so float64: x, w; declare with dims, as in -i 'x: float64" 'gload -e "x @ w"'
    bad 3 E_SHAPE 'float32: w; .*w: float32' "gload --floatX float32 -i 'x: float32[n, m]' -e 'x @ w'"
    bad 3 E_SHAPE '.' "gload -i 'x: float64[n]' -i 'w: float64' -e 'x @ w'"
    ! grep 'not declared' .err || false
}

@test "expressions: what is wrong, where, and what was meant" {
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
1 < weight < 2|E_SYNTAX|12|chain
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
END
}

@test "declarations" {
    bad 3 E_DTYPE 'did you mean float64' 'gload -i "x: flot64"'
    bad 3 E_SYNTAX '.' 'gload -i "x float64"'
    bad 3 E_SYNTAX '.' 'gload -i "x: float64[3"'
    bad 3 E_ 'x' 'gload -i "x: float64" -i "x: float64"'
    bad 3 E_ 'x' 'gload -i "x: float64" -e "x = 3"'
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

@test "values of options: numbers, names, words, texts, each refused with what was expected" {
    bad 2 E_USAGE '--steps takes an integer, not .99999999999999999999' 'grun --steps 99999999999999999999'
    bad 2 E_USAGE '--steps takes an integer, not .3x' 'grun --steps 3x'
    bad 2 E_USAGE '--rtol takes a number, not .1x' 'grun --rtol 1x'
    bad 2 E_USAGE "--threads can't be negative" 'grun --threads=-1 /dev/null'
    bad 2 E_USAGE '--sloppy is 0, 1 or 2' 'gload -e 1 -o s.tlg && grun --mode DEBUG --sloppy 3 s.tlg'
    bad 2 E_USAGE '--zstd takes an integer, not .abc' 'gload --zstd=abc -e 1'
    bad 2 E_USAGE "level from 1 to 19, not '0'" 'gload -z0 -e 1'
    bad 2 E_USAGE 'did you mean text\?' 'gload --errors=textt'
    bad 2 E_USAGE '--expr needs EXPR' 'gload --expr'
    bad 2 E_USAGE '--input takes NAME:TYPE, not an empty text' 'gload -i ""'
    bad 2 E_USAGE "a name is missing in 'a,,b'" 'gload -e a=1 --outputs a,,b'
    bad 2 E_USAGE "a name is missing in ',a'" 'gload -e a=1 --outputs ,a'
    bad 2 E_USAGE "THUNKLINE_CPU is 'foo', not baseline" 'THUNKLINE_CPU=foo gload -e 1'
    bad 2 E_USAGE "--dump takes man or options, not 'nonsense'" 'gload --dump nonsense'
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
        $tool --help | grep -o '^ *\(-., \)\?--[a-zA-Z-]*' | grep -o -- '--[a-zA-Z-]*' | sort >help
        $tool --dump options | awk -F'\t' '$1 == "option" { print "--" $2 }' | sort | diff help -
        $tool --dump man | sed -n 's/^\.It \(Fl . , \)\?Fl \\-\([^ ]*\).*/--\2/p' | tr -d '\\' | sort | diff help -
    done
    like 'gload --dump man' '^\.It Fl \\-list\\-ops Op Ar GLOB$' '^\.It Fl \\-errors Cm text'
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

@test "the first error decides, and it is told once" {
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
