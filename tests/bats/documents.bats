# Graph and op files as documents: what each key may hold, and JSON to the letter.
load common

# What is wrong with each text of a table, REGEX|TEXT a line; \n and \t are escapes.
each() { # line of the shell that reads g.yaml
    local want text code=E_
    while IFS='|' read -r code want text; do
        printf %b "$text" >g.yaml
        bad 3 "$code" "$want" "$1" || return
    done
}

@test "graph files: wrong values of the keys at the head" {
    each 'gload g.yaml -o /dev/null' <<'END'
E_VERSION|format version \?|thunkline: [1]
E_FORMAT|"name" must be a text|thunkline: 1\nname: [a]
E_FORMAT|"doc" must be a text|thunkline: 1\ndoc: {a: b}
E_FORMAT|"modes" must be a list of texts|thunkline: 1\nmodes: a
E_FORMAT|"modes" must be a list of texts|thunkline: 1\nmodes: [[a]]
E_FORMAT|"steps" must be a list of texts|thunkline: 1\nsteps: a
E_FORMAT|"steps" must be a list of texts|thunkline: 1\nsteps: [{a: b}]
E_FORMAT|"uses" must be a mapping|thunkline: 1\nuses: [a]
E_FORMAT|a version must be a number|thunkline: 1\nuses:\n  swish: one
E_FORMAT|a version must be a number|thunkline: 1\nuses:\n  swish: 1.5
E_FORMAT|a version must be a number|thunkline: 1\nuses:\n  swish: [1]
E_FORMAT|a version must be a number|thunkline: 1\nuses:\n  swish: 99999999999999999999
E_FORMAT|"floatX" must be float32 or float64|thunkline: 1\nfloatX: [float32]
E_NAME|control characters|thunkline: 1\nname: ""
END
    printf 'thunkline: 1\nfloatX: float64\nlet:\n  a: 1 / 3\noutputs: [a]\n' >g.yaml
    ok 'grun --floatX float32 g.yaml -O json' '{"name": "a", "dtype": "float64", "shape": [], "data": 0.3333333333333333}'
    sed -i s/float64/float32/ g.yaml
    ok 'grun g.yaml -O json' '{"name": "a", "dtype": "float32", "shape": [], "data": 0.33333334}'
    # floatX as a type is the file's, in functions too; else that of the option
    printf 'thunkline: 1\nfunctions:\n  f: {inputs: {v: "floatX[2]"}, outputs: {r: v + 1}}\ninputs: {x: "floatX[2]"}\noutputs: {y: f(x)}\n' >g.yaml
    ok 'grun g.yaml --floatX float32 x=[1,2] -O json' '{"name": "y", "dtype": "float32", "shape": [2], "data": [2.0, 3.0]}'
    ok 'grun g.yaml x=[1,2] -O json' '{"name": "y", "dtype": "float64", "shape": [2], "data": [2.0, 3.0]}'
    printf 'thunkline: 1\nfloatX: float32\nfunctions:\n  f: {inputs: {v: "floatX[2]"}, outputs: {r: v + 1}}\ninputs: {x: "floatX[2]"}\noutputs: {y: f(x)}\n' >g.yaml
    ok 'grun g.yaml --floatX float64 x=[1,2] -O json' '{"name": "y", "dtype": "float32", "shape": [2], "data": [2.0, 3.0]}'
}

@test "graph files: wrong values in sections" {
    each 'gload g.yaml -o /dev/null' <<'END'
E_SYNTAX|"x" needs a type|thunkline: 1\ninputs:\n  x: ""\n
E_FORMAT|.|thunkline: 1\ninputs:\n  x: [float64]\n
E_SYNTAX|can't have a value|thunkline: 1\ninputs:\n  x: float64 = 1\n
E_SYNTAX|"a" has no expression|thunkline: 1\nlet:\n  a: ""\n
E_SYNTAX|can be declared for one name only|thunkline: 1\nlet:\n  "a, b": "float64 = f(1)"\n
E_FORMAT|.|thunkline: 1\nlet:\n  a: [1, 2]\n
E_FORMAT|the name of an output|thunkline: 1\noutputs: [[a]]\n
E_FORMAT|is not a name; a list of outputs|thunkline: 1\noutputs: [a + 1]\n
E_FORMAT|list of names or a mapping|thunkline: 1\noutputs: a\n
E_FORMAT|.|thunkline: 1\noutputs:\n  a: [1]\n
E_NAME|a label can't contain control characters|thunkline: 1\noutputs:\n  "a\\tb": 1\n
E_FORMAT|.|thunkline: 1\nshared:\n  w: float64 = 1\nupdates:\n  w: [1]\n
E_|.|thunkline: 1\nshared:\n  w: float64 = 1\nupdates: |\n  w = = 1\n
E_FORMAT|"compare" must be a mapping|thunkline: 1\ncompare: [a]\n
E_NAME|no variable "b"|thunkline: 1\nlet:\n  a: 1\ncompare:\n  b: rtol=1\n
E_FORMAT|.|thunkline: 1\nlet:\n  a: 1.0\noutputs: [a]\ncompare:\n  a: [rtol]\n
E_|rtoll|thunkline: 1\nlet:\n  a: 1.0\noutputs: [a]\ncompare:\n  a: rtoll=1\n
E_FORMAT|"aliases" must be a mapping|thunkline: 1\nshared:\n  w: float64 = 1\naliases: [w]\n
E_FORMAT|expected a name in another model|thunkline: 1\nshared:\n  w: float64 = 1\naliases:\n  w: [a]\n
E_NAME|a name can't be empty or contain control characters|thunkline: 1\nshared:\n  w: float64 = 1\naliases:\n  w: ""\n
E_NAME|a name can't be empty or contain control characters|thunkline: 1\nshared:\n  w: float64 = 1\naliases:\n  w: "a\\tb"\n
E_FORMAT|"statistics" must be a list of names|thunkline: 1\nshared:\n  w: float64 = 1\nstatistics: w\n
E_FORMAT|expected a name|thunkline: 1\nshared:\n  w: float64 = 1\nstatistics: [[w]]\n
E_NAME|no variable "v"|thunkline: 1\nshared:\n  w: float64 = 1\nstatistics: [v]\n
E_TYPE|y is no shared variable|thunkline: 1\nshared:\n  w: float64 = 1\nlet:\n  y: w + 1\nstatistics: [y]\n
E_FORMAT|"dims" must be a list of names|thunkline: 1\ndims: n\n
E_FORMAT|"dims" must be a list of names|thunkline: 1\ndims: {n: 3}\n
E_FORMAT|"dims" must be a list of names|thunkline: 1\ndims: [[n]]\n
E_DUPLICATE|the dim n is declared twice|thunkline: 1\ndims: [n, n]\n
E_TYPE|"w" is list.float64., but its initial value is float64|thunkline: 1\nshared:\n  w: "list(float64) = 1.0"\n
E_SHAPE|its initial value is float64|thunkline: 1\nshared:\n  w: float64[2, 3] = 1.0\n
E_SHAPE|is float64, but its initial value is float64.2|thunkline: 1\nshared:\n  w: float64 = [1.0, 2.0]\n
E_SHAPE|is float64.n., but its initial value is float64|thunkline: 1\nshared:\n  w: "float64[n] = 1.0"\n
E_DUPLICATE|`a` is already|thunkline: 1\ninputs:\n  a: float64\nshared:\n  a: = 1\n
E_DUPLICATE|.n. is already a dim|thunkline: 1\ninputs:\n  a: float64[n]\nshared:\n  n: = 1\n
E_SYNTAX|expected a declaration|thunkline: 1\ninputs: |\n  a = 1\n
E_SYNTAX|where .=. of a statement|thunkline: 1\nshared: |\n  f(1)\n
E_|.|thunkline: 1\nshared: |\n  w: float64 = 1\n  w: float64 = = 2\n
END
    # spaces and tabs around what stands in quotes, and values on the next line
    printf 'thunkline: 1\ninputs: {x: "  float64[n]\\t"}\nshared:\n  w: " float64[2]\\n  =  [1.0, 2.0]\\n "\n  v:\n    float64 = 3\nlet: {y: "w * v + sum(x)"}\noutputs: [y]\nupdates:\n  w:\n    w + 1\n  v:     v * 2\naliases:\nstatistics:\ncompare:\n' >g.yaml
    ok 'grun g.yaml x=[1] --steps 2' 'y = [13.0, 19.0]'
    printf 'thunkline: 1\nshared: {w: float64 = 1}\nupdates:\n  w:      w + nope\n' >g.yaml
    bad 3 E_NAME '^gload: g.yaml:4:15: ' 'gload g.yaml -o /dev/null'
    printf 'thunkline: 1\nshared: {w: float64 = 1}\nupdates:\n  w:\n    w + nope\n' >g.yaml
    bad 3 E_NAME '^gload: g.yaml:5:9: ' 'gload g.yaml -o /dev/null'
}

@test "graph files: wrong values in functions" {
    each 'gload g.yaml -o /dev/null' <<'END'
E_FORMAT|"doc" must be a text|thunkline: 1\nfunctions:\n  f:\n    doc: [a]\n    inputs: {x: float64}\n    outputs: [x]\n
E_FORMAT|the name of a function|thunkline: 1\nfunctions:\n  f:\n    pullback: [a]\n    inputs: {x: float64}\n    outputs: [x]\n
E_FORMAT|the name of a function|thunkline: 1\nfunctions:\n  f:\n    pushforward: a b\n    inputs: {x: float64}\n    outputs: [x]\n
E_NAME|no function "g"|thunkline: 1\nfunctions:\n  f:\n    pushforward: g\n    inputs: {x: float64}\n    outputs: [x]\n
E_FORMAT|true or false|thunkline: 1\nfunctions:\n  f:\n    fused: maybe\n    inputs: {x: float64}\n    outputs: [x]\n
E_FORMAT|true or false|thunkline: 1\nfunctions:\n  f:\n    fused: [true]\n    inputs: {x: float64}\n    outputs: [x]\n
E_FORMAT|.|thunkline: 1\nfunctions:\n  f:\n    until: [x]\n    inputs: {x: float64}\n    outputs: [x]\n
E_FORMAT|has no outputs|thunkline: 1\nfunctions:\n  f:\n    inputs: {x: float64}\n
E_NAME|can't be the name of a function|thunkline: 1\nfunctions:\n  f g:\n    inputs: {x: float64}\n    outputs: [x]\n
E_NAME|function of the language already|thunkline: 1\nfunctions:\n  exp:\n    inputs: {x: float64}\n    outputs: [x]\n
END
    printf 'thunkline: 1\nfunctions:\n  f:\n    fused: False\n    inputs:\n      x: float64\n    outputs:\n      r: x + 1\nlet:\n  a: f(1.0)\noutputs: [a]\n' >g.yaml
    ok 'grun g.yaml' 'a = 2.0'
}

@test "op files: wrong values of their keys" {
    local head='thunkline: 1\nops:\n  f:\n    inputs: x\n    def: x\n    '
    each 'gload --ops g.yaml -e 1 -o /dev/null' <<END
E_FORMAT|no key "ops"|thunkline: 1\n
E_FORMAT|looks like a graph|thunkline: 1\noutputs: [a]\n
E_FORMAT|looks like a graph|thunkline: 1\ninputs: {a: float64}\n
E_FORMAT|begins with .thunkline: 1.|ops: {}\n
E_VERSION|begins with .thunkline: 1.|thunkline: [1]\nops: {}\n
E_VERSION|begins with .thunkline: 1.|thunkline: 2\nops: {}\n
E_FORMAT|"ops" must be a mapping|thunkline: 1\nops: [f]\n
E_FORMAT|reads a list|${head}doc: [a]\n
E_FORMAT|reads a mapping|${head}shape: {a: b}\n
E_FORMAT|.|${head}alias: [a]\n
E_FORMAT|joins these lines|thunkline: 1\nops:\n  f:\n    inputs: x\n    def: x\n      + 1\n
E_FORMAT|"flops" is empty|${head}flops: ""\n
E_FORMAT|true or false|${head}commutative: yes\n
E_FORMAT|true or false|${head}associative: [true]\n
E_FORMAT|a number from 0 to 65535|${head}version: 65536\n
E_FORMAT|a number from 0 to 65535|${head}version: 1.0\n
E_FORMAT|a number from 0 to 65535|${head}version: [1]\n
E_FORMAT|a number from 0 to 65535|${head}version: 99999999999999999999\n
E_FORMAT|a number from 0 to 1048576|${head}math: 1048577\n
E_FORMAT|versions start at 1|${head}version: 0\n
E_FORMAT|"partials" must be a mapping|${head}partials: x\n
E_FORMAT|"partials" is empty|${head}partials: {}\n
E_FORMAT|"pushforward" is empty|${head}pushforward: {}\n
E_FORMAT|"pushforward" must be a mapping|${head}pushforward: [x]\n
E_FORMAT|promote must be same|${head}promote: all\n
E_FORMAT|promote must be same|${head}promote: [same]\n
E_FORMAT|accepts must list some of|${head}accepts: int, double\n
E_FORMAT|.|${head}accepts: [[int]]\n
E_FORMAT|fold must be always or never|${head}fold: often\n
E_FORMAT|fold must be always or never|${head}fold: [never]\n
END
    printf 'thunkline: 1\nops:\n  f:\n    doc: |\n      Twice.\n\n    inputs: [x]\n    props:\n      n: float = 2.0\n    def: x * n\n    pushforward: t_x * n\n    commutative: false\n    fold: always\n    accepts: [float]\n' >o.yaml
    ok 'gload --ops o.yaml -e "a = f(x)" | grun --ops o.yaml x=3' 'a = 6.0'
    like 'gload --ops o.yaml --op f' 'Twice\.$'
}

@test "JSON: all that RFC 8259 allows is read" {
    printf '{"thunkline"\t:\r\n1 ,"doc":"\\u0041\\u00e9\\u20Ac\\ud83d\\uDE00\\/\\b\\f\\r\\"\\\\","let":{"a":"1 + 1", "b":-0.5e+1,"c":1E2,"d":2e-1,"e":true,"f":false},"outputs":["a","b","c","d","e","f"]}' >g.json
    like 'grun g.json' '^a = 2$' '^b = -5\.0$' '^c = 100\.0$' '^d = 0\.2$' '^e = True$' '^f = False$'
    gload g.json --no-provenance -O json -o h.json
    ok "gload h.json --no-provenance -O json | cmp - h.json"
    ok "grep -ac \"\$(printf 'A\\303\\251\\342\\202\\254\\360\\237\\230\\200')\" h.json" 1
}

@test "JSON: all that RFC 8259 forbids is an error" {
    local deep
    deep=$(printf '[%.0s' {1..100})
    each 'gload g.yaml -o /dev/null' <<END
E_SYNTAX|zero character|{"thunkline": 1, "doc": "\\\\u0000"}
E_SYNTAX|four hexadecimal digits|{"doc": "\\\\u12"
E_SYNTAX|four hexadecimal digits|{"doc": "\\\\u12G4"}
E_SYNTAX|four hexadecimal digits|{"doc": "\\\\uD83D\\\\u12G4"}
E_SYNTAX|half of a surrogate|{"doc": "\\\\uDE00"}
E_SYNTAX|half of a surrogate|{"doc": "\\\\uD83Dxx"}
E_SYNTAX|half of a surrogate|{"doc": "\\\\uD83D\\\\nx"}
E_SYNTAX|half of a surrogate|{"doc": "\\\\uD83D
E_SYNTAX|half of a surrogate|{"doc": "\\\\uD83D\\\\u0041"}
E_SYNTAX|half of a surrogate|{"doc": "\\\\uD83D\\\\uE000"}
E_SYNTAX|no such escape|{"doc": "\\\\x41"}
E_SYNTAX|has no end|{"doc": "a\\\\
E_SYNTAX|has no end|{"doc": "a
E_SYNTAX|expected a value|{"doc": 01}
E_SYNTAX|expected a value|{"doc": -}
E_SYNTAX|expected a value|{"doc": +1}
E_SYNTAX|after the point|{"doc": 1.}
E_SYNTAX|after the point|{"doc": 1.e3}
E_SYNTAX|in the exponent|{"doc": 1e}
E_SYNTAX|in the exponent|{"doc": 1e+}
E_SYNTAX|in the exponent|{"doc": 1E-x}
E_SYNTAX|not JSON|{"doc": nul}
E_SYNTAX|not JSON|{"doc": True}
E_SYNTAX|the object has no end|{"doc": 1
E_SYNTAX|the list has no end|{"doc": [1
E_SYNTAX|comma or the end|{"doc": [1 2]}
E_SYNTAX|comma or the end|{"doc": 1]
E_SYNTAX|not UTF-8|{"doc": "\\0377"}
E_FORMAT|nested more than|{"doc": $deep
END
}

@test "types in text: strings, reasons and formats" {
    local code want type
    while IFS='|' read -r code want type; do
        printf 'thunkline: 1\ninputs:\n  x: "%s"\n' "${type//\\/\\\\}" >g.yaml
        [ "$code" = E_LIMIT ] && exit=6 || exit=3
        bad "$exit" "$code" "$want" 'gload g.yaml -o /dev/null' || return
    done <<'END'
E_SYNTAX|a string in quotes|null(undefined)
E_SYNTAX|'\(' after null|null
E_SYNTAX|closing quote|null('why
E_SYNTAX|'\)' after the reason|null('why'
E_SYNTAX|unknown escape in a string|null('a\qb')
E_SYNTAX|2 hexadecimal digits|null('\x0g')
E_SYNTAX|2 hexadecimal digits|null('\xg0')
E_SYNTAX|2 hexadecimal digits|null('\x4
E_SYNTAX|can't be in a string|null('\x00')
E_SYNTAX|can't be in a string|null('\ud800')
E_SYNTAX|'\(' after sparse|sparse
E_SYNTAX|a string in quotes|sparse(csr, float64[2, 2])
E_SYNTAX|',' after the format|sparse('csr')
E_SYNTAX|'\)' after sparse|sparse('csr', float64[2, 2]
E_TYPE|a sparse format must be|sparse('coo', float64[2, 2])
E_SHAPE|2 dims, not 1|sparse('csr', float64[2])
E_DTYPE|can't hold bool|sparse('csr', bool[2, 2])
E_DTYPE|can't hold float16|sparse('csr', float16[2, 2])
E_SYNTAX|'\(' after list|list
E_SYNTAX|a dim|float64[,]
E_LIMIT|at most 32 dims|float64[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
E_SYNTAX|the name of a dtype|list()
END
    bad 6 E_LIMIT 'lists nest at most 64 deep' "gload -i 'x: $(printf 'list(%.0s' {1..99})float64$(printf ')%.0s' {1..99})' -e 'y = 1' -o /dev/null"
    printf 'thunkline: 1\ninputs:\n  x: null("a\\x41\\x7e\\n\\t\\"")\nlet:\n  y: 1\noutputs: [y]\n' >g.yaml
    ok 'gload g.yaml | gload -O yaml --no-provenance | grep x:' "  x: null('aA~\\n\\t\"')"
    # an escape is a character, as in the language, and what is printed with one reads back
    printf 'thunkline: 1\ninputs:\n  x: null("\\xAf\\u20ac\\u200e")\nlet:\n  y: 1\noutputs: [y]\n' >g.yaml
    ok 'gload g.yaml | gload -O yaml --no-provenance | grep -c "¯€.*u200e"' 1
    ok 'gload g.yaml | gload -O yaml --no-provenance -o a.yaml && gload a.yaml --no-provenance -O yaml | cmp - a.yaml'
}

@test "texts that YAML would take for something else come back as they were" {
    local doc
    for doc in 'true' 'No' '' ' a' 'a ' 'a:' 'a: b' 'a #b' '#a' 'a#b:c' $'a\nb' $'a\nb\n' $'a\n\nb\n\n' $' a\nb' $'\na' $'a\n' $'a\tb' \
        $'a\tb\nc' 'é' $'é\nb' '1' '- a' "it's" 'a "b"' 'a\b' $'a\r\nb'; do
        jq -nc --arg d "$doc" '{thunkline: 1, doc: $d, let: {a: "1"}, outputs: ["a"]}' >g.json || skip 'no jq'
        ok 'gload g.json -O yaml | gload - -O json --no-provenance | jq .doc >b.json; jq .doc g.json | cmp - b.json' || complain "$doc" '' || return
    done
}

@test "arrays beside the graph: whatever the names of graph, folder and variable" {
    gload --new --shared 'W: float64[2000] = zeros(2000)' -e 'y = W.sum()' | gload - --set 'W = arange(2000) * 1.5' -o w.tlg
    local long
    long=$(printf '\303\251%.0s' {1..60})
    bad 3 E_VALUE '/abs is not below' 'gload w.tlg --refs /abs -o g.yaml'
    bad 3 E_VALUE '\.\./x is not below' 'gload w.tlg --refs ../x -o g.yaml'
    bad 3 E_VALUE 'a/\.\. is not below' 'gload w.tlg --refs a/.. -o g.yaml'
    like 'gload w.tlg --refs ././a/ -o g.yaml && cat g.yaml' "load\('a/g\.W\.[0-9a-f]{16}\.npy'\)"
    like 'gload w.tlg --refs . -o h.yaml && cat h.yaml' "load\('h\.W\.[0-9a-f]{16}\.npy'\)"
    like 'gload w.tlg --refs ..b -o h.yaml && cat h.yaml' "load\('\.\.b/h\.W\."
    mkdir -p s
    like 'gload w.tlg --refs s -o s/i.yaml && cat s/i.yaml' "load\('i\.W\."
    like 'gload w.tlg --refs s/t -o s/i.yaml && cat s/i.yaml' "load\('t/i\.W\."
    bad 3 E_VALUE 'is not below s' 'gload w.tlg --refs st -o s/i.yaml'
    ok 'grun s/i.yaml' 'y = 2998500.0'
    # the stem of an array's name is cut between characters and needs no quoting
    ok "gload w.tlg --refs s -o '$long.yaml' && grun '$long.yaml'" 'y = 2998500.0'
    like 'ls s | iconv -f utf-8 -t utf-8' "^$(printf '\303\251%.0s' {1..9}).*\.W\.[0-9a-f]{16}\.npy\$"
    like "gload w.tlg --refs q -o \"it's \\\"a\\\".v2.yaml.zst\" && ls q" '^it_s _a_\.v2\.W\.[0-9a-f]{16}\.npy$'
    ok "grun \"it's \\\"a\\\".v2.yaml.zst\"" 'y = 2998500.0'
    # of a short name, a hidden one, none after the last dot, and characters that a terminal would not show
    local name stem
    while IFS='|' read -r name stem; do
        rm -rf beside && mkdir beside
        ok "gload w.tlg -O yaml -o \$'beside/$name' && grun \$'beside/$name'" 'y = 2998500.0'
        ok "ls -A beside | sed -n 's/\.W\.[0-9a-f]*\.npy$//p'" "$stem"
    done <<'NAMES'
c|c
.hid|.hid
.hid.yaml|.hid
a.zst|a
d.e|d
od\x01d\xc3\xa9.yaml|od_d__
tab\there.yaml|tab_here
NAMES
    : >file
    bad 4 E_IO 'file' 'gload w.tlg --refs file -o g.yaml'
    bad 4 E_IO "can't make the folder no/such" 'gload w.tlg --refs no/such -o g.yaml'
}

@test "zstd: truncated input, trailing bytes, and empty input" {
    gload -e 'y = 1 + 1' -o g.yaml.zst
    head -c 20 g.yaml.zst >h.zst
    bad 4 E_TRUNCATED 'compressed data ends too early' 'grun h.zst'
    { cat g.yaml.zst && printf xyz1; } >h.zst
    bad 3 E_FORMAT "can't unpack" 'grun h.zst'
    printf '\050\265\057\375garbage garbage' >h.zst
    bad 3 E_FORMAT "can't unpack" 'grun h.zst'
    # several frames are one text
    { printf 'thunkline: 1\nlet:\n' | zstd -qc && printf '  y: 2\noutputs: [y]\n' | zstd -qc; } >h.zst || skip 'no zstd'
    ok 'grun h.zst' 'y = 2'
}
