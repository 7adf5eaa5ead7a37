# Graph files: YAML, JSON and binary tell the same graph; YAML's traps are errors, not surprises.
load common

models() { ls "$ROOT"/examples/*/model.yaml; }

# y TEXT: writes g.yaml; \n and \t are escapes.
y() { printf '%b' "$1" >g.yaml; }

@test "every example goes through every form and comes back the same" {
    local m dir
    for m in $(models); do
        dir=$(dirname "$m")
        cd "$dir"
        local t=$BATS_TEST_TMPDIR/t
        gload "$m" --pack --no-provenance -o "$t.tlg"
        cd "$BATS_TEST_TMPDIR"
        gload t.tlg --no-provenance -o t.yaml
        gload t.yaml --no-provenance -o t.json
        gload t.json --no-provenance -o t.tlg.zst
        gload t.tlg.zst --no-provenance -o t2.yaml
        cmp t.yaml t2.yaml
        gload t2.yaml --no-provenance -o t.json.zst
        gload t.json.zst --no-provenance -o t2.json
        cmp t.json t2.json
        gload t.yaml --no-provenance -o a.tlg
        gload a.tlg --no-provenance -o b.tlg
        cmp a.tlg b.tlg
        gload t.yaml --no-provenance | cmp - <(gload t.yaml --no-provenance | gload --no-provenance)
        grewrite "$m" --mode NONE --no-provenance -o r.tlg
        grewrite r.tlg --diff a.tlg
    done
}

@test "text and JSON forms of every example follow the schema" {
    python_with jsonschema
    local m
    for m in $(models); do
        gload "$m" -O json -o "$(basename "$(dirname "$m")").json"
        ggrad "$m" --cost loss -O json 2>/dev/null -o "d$(basename "$(dirname "$m")").json" || true
        gload "$m" | grewrite -O json -o "r$(basename "$(dirname "$m")").json"
    done
    cat >check.py <<'END'
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
for f in sys.argv[2:]:
    if f.endswith('.json'):
        docs = [json.load(open(f))]
    else:
        try:
            import yaml
        except ImportError:
            continue
        docs = [yaml.load(open(f), Loader=yaml.BaseLoader)]
    for d in docs:
        for e in v.iter_errors(d):
            print(f, e.json_path, e.message)
            sys.exit(1)
END
    local s=$ROOT/schemas/graph.schema.json
    "$PYTHON" check.py "$s" ./*.json
    # shellcheck disable=SC2046
    "$PYTHON" check.py "$s" $(models)
    echo '{"thunkline": 1, "lett": {}}' >bad.json
    run "$PYTHON" check.py "$s" bad.json
    [ "$status" = 1 ]
}

@test "a YAML 1.1 reader finds the strings that we wrote" {
    python_with yaml
    y 'thunkline: 1\ninputs:\n  y: float64\n  no: float64\n  n: float64\nlet: |\n  on = y + no\n  null_ = on * n\noutputs: [on, y, null_]\n'
    gload g.yaml | gload -o o.yaml
    "$PYTHON" -c 'import yaml; d = yaml.safe_load(open("o.yaml")); print(sorted(d["inputs"]), d["outputs"])' >out
    [ "$(cat out)" = "['n', 'no', 'y'] ['on', 'y', 'null_']" ]
    ok 'gload o.yaml --no-provenance | gload --no-provenance -O yaml | cmp - <(gload o.yaml --no-provenance -O yaml)'
    ok 'grun o.yaml y=1 no=2 n=3' $'on = 3.0\ny = 1.0\nnull_ = 9.0'
}

@test "blocks and mappings say the same" {
    y 'thunkline: 1\ninputs: |\n  x: float64[2]\nshared: |\n  w: float64 = 2\nlet: |\n  # a comment\n  y = (x *\n       w)  # another\noutputs: [y]\nupdates: |\n  w = w + 1\n'
    cp g.yaml block.yaml
    y 'thunkline: 1\ninputs:\n  x: float64[2]\nshared:\n  w: float64 = 2\nlet:\n  y: x * w # a comment\noutputs:\n  y: y\nupdates:\n  w: w + 1\n'
    ok 'grewrite block.yaml --diff g.yaml' ''
    ok 'grun g.yaml x=[1,2] --steps 2' 'y = [3.0, 6.0]'
    ok "grun <(echo '{\"thunkline\": 1, \"let\": {\"a\": 1, \"b\": true, \"c\": 1.5, \"d\": \"array([1, 2])\"}, \"outputs\": [\"a\", \"b\", \"c\", \"d\"]}')" $'a = 1\nb = True\nc = 1.5\nd = [1, 2]'
    y 'thunkline: 1\ninputs:\n  x: float64\noutputs:\n  "any label: at all": x * 2\n  out/0: x\n'
    ok 'grun g.yaml x=1' $'any label: at all = 2.0\nout/0 = 1.0'
    ok 'gload g.yaml | grun x=1 -r out/0=o.npy' 'any label: at all = 2.0'
}

@test "YAML that cuts an expression apart is an error that shows how to write it" {
    local head='thunkline: 1\ninputs:\n  x: float64[2, 3]\nlet:\n' text want
    while IFS='|' read -r text want; do
        y "$head$text\noutputs: [x]\n"
        bad 3 E_ "$want" 'gload g.yaml -o /dev/null'
        grep -q '^gload: g.yaml:[0-9]*:[0-9]*: error' .err
        grep -q '^ *^' .err
    done <<'END'
  a: [1, 2]|a: '\[1, 2\]'
  a: {b: 1}|quotes
  a: &b x|anchors
  a: *x|aliases
  a: !!str x|tags
  a: !x y|tags
  a: @ x|quotes
  a: %x|quotes
  a: x: 2|quotes
  a: assert_op(x, msg='a # b')|quote|string|end
  a: > 3\n   b|.
  a: null|null
  a: ~|.
  a:|no expression
  a: true|true
  a: yes|yes
  a: x\n  a: x|twice
  <<: x|.
  ? [a]\n  : x|.
  1a: x|1a
END
    y 'thunkline: 1\ninputs: {x: float64[2, 3]}\noutputs: [x]\n'
    bad 3 E_FORMAT 'g.yaml:2:' 'gload g.yaml -o /dev/null'
    y 'thunkline: 1\ninputs:\n  x: float64[2]\noutputs: {out: x[0], b: 1}\n'
    bad 3 E_FORMAT 'g.yaml:4:' 'gload g.yaml -o /dev/null'
}

@test "files that are no graphs" {
    local text want
    while IFS='|' read -r text want; do
        y "$text"
        bad 3 E_ "$want" 'gload g.yaml -o /dev/null'
    done <<'END'
hello world|mapping
[1, 2]|mapping
let:\n  a: 1\n|thunkline: 1
thunkline: 2\n|version 2
thunkline: 1\nlett:\n  a: 1\n|did you mean "let"
thunkline: 1\nlet: "a = 1\n\n  a = 2"\noutputs: [a]\n|joins
thunkline: 1\nlet:\n  a: b\n  b: a\noutputs: [a]\n|a -> b -> a
thunkline: 1\noutputs: [a]\n|not defined
thunkline: 1\n---\nthunkline: 1\n|more than one
thunkline: 1\ndoc: "a\\0b"\n|NUL
thunkline: 1\n"": 2\n|g.yaml:2:2: .*a key is empty
thunkline: 1\n"a\\0b": 2\n|g.yaml:2:2: .*has a zero byte
thunkline: 1\nlet: &a {y: 1}\n|g.yaml:2:6: .*anchors
thunkline: 1\nlet: !t {y: 1}\n|g.yaml:2:6: .*tags
thunkline: 1\nlet: {y: "", z: ""}\n|"y" has no expression
{"thunkline": 1, "doc": "a\\u0000b"}|zero character
{"thunkline": 1, "let": {"a": 1,}}|JSON
{"thunkline": 1} x|after the end
thunkline: 1\nfloatX: int8\n|float
thunkline: 1\ninputs:\n  x: float64[-1]\n|.
thunkline: 1\ninputs:\n  x: float64\nshared:\n  x: float64 = 1\n|x
thunkline: 1\nshared:\n  w: float64[2] = [1, 2, 3]\n|\[3\]
thunkline: 1\ninputs:\n  x: float64\nupdates:\n  x: x + 1\n|x
END
    y "thunkline: 1\nlet:\n  a: $(printf '(%.0s' {1..300})1$(printf ')%.0s' {1..300})\noutputs: [a]\n"
    shell 'gload g.yaml -o /dev/null'
    [ "$status" = 3 ] || [ "$status" = 6 ]
    grep -Eq '200|nest|deep' .err
    y "thunkline: 1\ndoc: $(printf '[%.0s' {1..100})$(printf ']%.0s' {1..100})\n"
    bad 3 E_ '64|deep|nest' 'gload g.yaml -o /dev/null'
    printf '\377\376\0x' >g.yaml
    shell 'gload g.yaml -o /dev/null'
    [ "$status" = 3 ]
    # a billion laughs
    y 'thunkline: 1\ndoc: &a [x, x]\nlet: [*a, *a]\n'
    bad 3 E_FORMAT 'anchors' 'gload g.yaml -o /dev/null'
}

@test "YAML may end its lines as it likes: the place of an error is that of its reader" {
    local eol want
    while IFS='|' read -r eol want; do
        printf "thunkline: 1${eol}inputs: {x: float64}${eol}let: {y: x * 2}${eol}outputs: [y]${eol}" >g.yaml
        ok 'grun g.yaml x=3' 'y = 6.0'
        printf "thunkline: 1${eol}inputs: {x: float64}${eol}let: {y: x x}${eol}outputs: [y]${eol}" >g.yaml
        bad 3 E_SYNTAX "^gload: g.yaml:$want: .*an operator, or the end" 'gload g.yaml -o /dev/null'
    done <<'END'
\n|3:12
\r\n|3:12
\xc2\x85|1:46
\xe2\x80\xa8|1:46
\xe2\x80\xa9|1:46
END
    # bytes that end like these, but are letters
    printf '# \xc3\x85 \xe2\x80\xa6 \xc4\xa9 \xe2\x81\xa8\nthunkline: 1\ninputs: {x: float64}\nlet: {y: x x}\noutputs: [y]\n' >g.yaml
    bad 3 E_SYNTAX '^gload: g.yaml:4:12: ' 'gload g.yaml -o /dev/null'
}

@test "functions in graph files: calls, printing, errors" {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  affine:
    doc: a * x + b
    inputs:
      x: float64[n]
      a: float64
      b: float64
    let: |
      y = a * x + b
      s = y.sum()
    outputs: [y, s]
  twice:
    inputs:
      v: float64
    let: |
      r = v * 2
    outputs: [r]
inputs:
  x: float64[n]
let: |
  y, s = affine(x, 2, 1)
  z = twice(s)
outputs: [y, s, z]
END
    ok 'grun f.yaml x=[1,2]' $'y = [3.0, 5.0]\ns = 8.0\nz = 16.0'
    ok 'gload f.yaml | gload - -O json | grun x=[1,2]' $'y = [3.0, 5.0]\ns = 8.0\nz = 16.0'
    like 'gload f.yaml -O yaml' '^functions:' '^  affine:' 'y, s = affine\(x,' 'z = twice\(s\)'
    like 'gload f.yaml -O math' 'affine'
    like 'gload f.yaml -O tree' 'affine'
    like 'gload f.yaml -O dot' 'affine'
    ok 'gload f.yaml --no-provenance | cmp - <(gload f.yaml --no-provenance | gload --no-provenance)'
    ok "grewrite f.yaml --include inline-calls -O math | grep -c affine || true" 0
    ok 'grewrite f.yaml --verify 2 -o /dev/null'
    bad 3 E_ARITY 'affine' 'gload f.yaml -e "q = affine(x)" -o /dev/null'
    bad 3 E_NAME 'did you mean .?affine' 'gload f.yaml -e "q = afine(x, 1, 2)" -o /dev/null'
    sed 's/r = v \* 2/r = twice(v)/' f.yaml >g.yaml
    bad 3 E_CYCLE 'twice' 'gload g.yaml -o /dev/null'
    sed 's/r = v \* 2/r = x * 2/' f.yaml >g.yaml
    bad 3 E_NAME 'x' 'gload g.yaml -o /dev/null'
}

@test "effects are kept, printed and run" {
    ok 'gload --new -i "x: float64" -e "y = x * 2" -e "c = assert_op(x, x > 0, msg=\"m\")" --outputs y -o e.tlg'
    like 'gload e.tlg -O yaml' 'assert_op'
    bad 5 E_ASSERT 'm' 'gload e.tlg -O json | grun x=-1'
    ok 'grun e.tlg x=1' 'y = 2.0'
    shell 'gload --new -i "x: float64" -e "p = print(x, msg=\"here\")" -e "y = x * 2" --outputs y | grewrite | grun x=3'
    [ "$status" = 0 ]
    [ "$(cat .out)" = 'y = 6.0' ]
    grep -q 'here' .err
}

@test "an index without parts is printed so that it reads back" {
    gload -i 'x: float64[3]' -e 'a = set_subtensor(x[()], 1)' -e 'b = inc_subtensor(x[()], x)' --no-provenance -o g.tlg
    like 'gload g.tlg -O math' 'a = set_subtensor\(x\[\(\)\], 1' 'b = inc_subtensor\(x\[\(\)\], x'
    local f
    for f in yaml json; do
        gload g.tlg -o "g.$f"
        ok "grun g.$f x=[1,2,3]" $'a = [1.0, 1.0, 1.0]\nb = [2.0, 4.0, 6.0]'
    done
}

@test "weakness, floatX and literals survive the text" {
    ok 'gload -i "x: float32" -e "x + 1.1" | grun x=1' 'out = 2.1'
    ok 'gload --floatX float32 -e "1 / 3" | grun -O json' '{"name": "out", "dtype": "float32", "shape": [], "data": 0.33333334}'
    ok 'gload --floatX float32 -i "i: int64" -e "i / 3" -O yaml | grun i=1 -O json' '{"name": "out", "dtype": "float32", "shape": [], "data": 0.33333334}'
    local v
    for v in 'int8(1)' 'uint64(18446744073709551615)' 'float16(0.1)' 'float32(0.1)' '-0.0' 'inf' '-inf' 'nan' '1e-320' '5e-324' 'complex64(1+2j)' 'True' \
        'float32([0.1, inf, nan])' 'zeros((0, 3))' '[[1, 2], [3, 4]]' 'int8([-128, 127])' '9007199254740993'; do
        gload -e "a = $v" --no-provenance -o l.yaml
        gload l.yaml --no-provenance | gload --no-provenance -o m.yaml
        cmp l.yaml m.yaml
        cmp <(gload -e "a = $v" | grun -O json) <(grun m.yaml -O json)
    done
}

@test "a graph keeps the floatX that it was made with" {
    local e x f
    for e in 'normal(0, 1, (2,), seed=1)' 'uniform(seed=1)' 'normal(0, i, seed=1)' 'normal(0, 1, (2,), rng=rng(1))[1]' 'eye(2)' 'mean(i)' 'var(i, axis=0)' 'std(i)' 'i / 2' 'inv(eye(2))' 'map(lambda a: mean(i) / 2, i)'; do
        for x in 32 64; do
            gload --floatX "float$x" -i 'i: int64[2]' -e "o = $e" -o a.tlg
            like 'gload a.tlg --info' "^outputs *o *float$x"
            ok 'grun a.tlg i=[3,4]'
            cp .out want
            ok 'gload --floatX float32 a.tlg --check && gload --floatX float64 a.tlg --check'
            for f in yaml json; do
                gload a.tlg -o "a.$f"
                like "gload a.$f --info" "^outputs *o *float$x"
                ok "gload a.$f | grewrite --mode NONE --diff a.tlg"
                ok "grun a.$f i=[3,4]" "$(cat want)"
            done
        done
    done
}

@test "provenance: one record a tool, in order; none when not wanted" {
    gload -e 'x ** 2' | ggrad | grewrite -o p.yaml
    [ "$(grep -o '"g[a-z]* [0-9.]*' p.yaml | cut -c 2- | cut -d' ' -f1 | tr '\n' ' ')" = 'gload ggrad grewrite ' ]
    ok 'gload -e "x ** 2" --no-provenance | ggrad --no-provenance -O yaml | grep -c steps || true' 0
    ok 'cmp <(gload -e "x ** 2") <(gload -e "x ** 2")'
}

@test "arrays beside the graph: --refs and --pack" {
    gload --shared 'W: float64[2000] = zeros(2000)' -e 'W.sum()' -o z.tlg
    gload z.tlg --set 'W = arange(2000) * 1.5' -o w.tlg
    like 'gload w.tlg --refs d -o r.yaml && ls d' '^r\.W\.[0-9a-f]{16}\.npy$'
    local W
    W=$(ls d)
    like 'cat r.yaml' "W: float64\[2000\] = load\('d/$W'\)"
    ok 'grun r.yaml' 'out = 2998500.0'
    ok 'gload r.yaml --pack -o p.tlg && mv d e && grun p.tlg' 'out = 2998500.0'
    bad 4 E_IO "d/$W" 'grun r.yaml'
    sed "s,d/$W,../x.npy," r.yaml >up.yaml
    shell 'grun up.yaml'
    [ "$status" != 0 ]
    sed "s,d/$W,/etc/passwd," r.yaml >up.yaml
    shell 'grun up.yaml'
    [ "$status" != 0 ]
}

@test "load() in a graph: kept as it is written in text, its value in tlg" {
    local end args code want
    gload -i 'x: float64[3]' -e 'y = x' -o x.tlg
    grun x.tlg x=[1,2,3] -r y=v.npz
    grun x.tlg x=[1,2,3] -r y=v.npy
    text() { printf 'thunkline: 1\nlet: |\n  a = load(%s)\noutputs: [a]\n' "$1" >g.yaml; }
    text "'v.npz', 'y'"
    ok 'gload g.yaml -O yaml --no-provenance | cmp - g.yaml'
    ok 'gload g.yaml -O math' "a = load('v.npz', 'y')"
    ok 'gload g.yaml -o g.tlg && mkdir d && cd d && grun ../g.tlg' 'a = [1.0, 2.0, 3.0]'
    ok 'grun g.yaml' 'a = [1.0, 2.0, 3.0]'
    bad 3 E_VALUE "load\\('v.npz'\\) is refused" 'gload - <g.yaml'
    text "'v.npy'"
    ok 'gload g.yaml -O yaml --no-provenance | cmp - g.yaml'
    text "'v.npz'"
    ok 'grun g.yaml' 'a = [1.0, 2.0, 3.0]'
    while IFS='|' read -r end args code want; do
        text "$args"
        bad "$end" "$code" "$want" 'gload g.yaml'
        grep -q 'g.yaml:3:7: ' .err || complain 'should name the place' "$args"
    done <<'END'
3|'../v.npy'|E_VALUE|below the graph's folder
3|'/v.npy'|E_VALUE|below the graph's folder
4|'none.npy'|E_IO|can't open none.npy
3|3|E_ARG|write load
END
}

@test "a full device, for every format of arrays and graphs" {
    local f n
    gload -i 'x: float64[n]' -e 'y = x' -e 's = csr_from_dense(expand_dims(x, 0))' --outputs y,s -o g.tlg
    for n in 3 20000; do
        for f in npy npz safetensors json csv; do
            ln -sf /dev/full "full.$f"
            bad 4 E_IO "can't write full.$f: No space left on device" "grun g.tlg 'x=arange($n.0)' -r y=full.$f"
        done
        bad 4 E_IO "can't write full.npz: No space left on device" "grun g.tlg 'x=arange($n.0)' -r s=full.npz"
        gload -e "y = reshape(arange($n.0), (1, -1))" | grewrite -o c.tlg
        for f in tlg yaml json dot tlg.zst yaml.zst; do
            ln -sf /dev/full "full.$f"
            bad 4 E_IO "can't write full.$f: No space left on device" "gload c.tlg -o full.$f"
        done
    done
}

@test "tree, dot and math show a loop's end, effects, and quoted text" {
    cat >t.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n]"}
functions:
  step:
    inputs: {a: float64}
    let: |
      b = a * 2.0
    outputs: [b]
    until: b > 50.0
let: |
  y = scan(step, outputs_info=[1.0], n_steps=10)
  q = print(x, 'a "quote"')
outputs: [y]
Y
    ok 'gload t.yaml -O tree | grep -A 1 -E "^(effect|until)"' "effect
print(msg='a \"quote\"') [D] float64[n] 'q' #1
--
until
greater [D] bool #1"
    like 'gload t.yaml -O dot' '^ *a0_1 \[label="print\(msg=.a \\"quote\\".\)"'
    like 'gload t.yaml -O math' '^ *until = '
}

@test "functions are written callees first, so that texts settle at once" {
    gload -i 'a: float64[n]' -i 'b: bool[n]' -e 'y = map(lambda p: p + map(lambda q: q * 2, a), b)' -o g.tlg
    local f
    for f in yaml json; do
        ok "gload --no-provenance g.tlg -o a.$f && gload --no-provenance a.$f -o b.$f && cmp a.$f b.$f"
        ok "grewrite --diff g.tlg a.$f"
    done
    [ "$(grep -o 'lambda_[12]:' a.yaml | tr '\n' ' ')" = 'lambda_2: lambda_1: ' ]
    # an author's order stays
    printf 'thunkline: 1\nfunctions:\n  twice_of:\n    inputs:\n      x: float64\n    let: |\n      y = part(x)\n    outputs: [y]\n  part:\n    inputs:\n      x: float64\n    let: |\n      y = x * 2\n    outputs: [y]\ninputs:\n  a: float64\nlet: |\n  b = twice_of(a)\noutputs: [b]\n' >o.yaml
    ok 'gload -O yaml o.yaml' "$(cat o.yaml)"
}
