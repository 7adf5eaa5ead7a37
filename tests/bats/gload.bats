# gload: declare, define, edit, join, narrow, show.
load common

@test "a new graph from -e, -i and --shared" {
    ok 'gload -e "x ** 2 + y" --no-provenance -O yaml' 'thunkline: 1
inputs:
  x: float64
  "y": float64
let: |
  _1 = x ** 2.0
  _2 = _1 + y
outputs:
  out: _2'
    ok 'gload -e "y = x + 1" -e "z = y * 2" | grun x=1' $'y = 2.0\nz = 4.0'
    ok 'gload -i "x: float32[n]" --shared "W: float32 = 3" -e "x * W" | grun x=[1,2]' 'out = [3.0, 6.0]'
    ok 'gload --floatX float32 -e "x" -O math' $'x: float32\nout = x'
    ok 'gload --new -e "1 + 1" --outputs out </dev/null | grun' 'out = 2'
    bad 3 E_NAME 'q' 'gload -e "1 + 1" | gload - -e "z = q + 1"'
    ok 'gload --new | gload - -O yaml --no-provenance' $'thunkline: 1\noutputs: []'
}

@test "edits of a graph that is there" {
    gload --new -i 'x: float64[n]' --shared 'W: float64 = 2' -e 'h = x * W' -e 'y = h + 1' --outputs y --update 'W = W + 1' -o g.tlg
    ok 'gload g.tlg -e "z = h * 10" --outputs y,z | grun x=[1]' $'y = [3.0]\nz = [20.0]'
    ok 'gload g.tlg --outputs h,y | grun x=[1]' $'h = [2.0]\ny = [3.0]'
    ok 'gload g.tlg --update "W = W * 10" | grun x=[1] --steps 3' 'y = [201.0]'
    ok 'gload g.tlg --set W=5 | grun x=[1]' 'y = [6.0]'
    ok 'gload g.tlg --set "W=sqrt(2) * 2" --no-provenance -O yaml | grep "  W: "' '  W: float64 = 2.8284271247461903'
    ok 'gload g.tlg --rename h=hidden --rename y=out -O math --no-provenance' $'x: float64[n]\nW: float64 (shared)\nhidden = x * W\nout = hidden + 1.0\nW <- W + 1.0'
    ok 'gload g.tlg --rename x=data | grun data=[1]' 'y = [3.0]'
    ok 'gload g.tlg --dim n=2 -O math | head -n 1' 'x: float64[2]'
    ok 'gload g.tlg --narrow "x: float64[4]" -O math | head -n 1' 'x: float64[4]'
    ok 'gload g.tlg -i "q: float64" --outputs q | grun q=3 x=[1]' 'q = 3.0'
    ok 'gload g.tlg --shared "b: float64 = 7" -e "z = y + b" --outputs z | grun x=[1]' 'z = [10.0]'
    bad 3 E_ '3' 'gload g.tlg --narrow "x: float64[4]" | grun x=[1,2,3]'
    bad 3 E_TYPE 'float32' 'gload g.tlg --narrow "x: float32[4]"'
    bad 2 E_UNKNOWN 'q' 'gload g.tlg --narrow "q: float64"'
    bad 2 E_UNKNOWN 'no dim m' 'gload g.tlg --dim m=2'
    bad 2 E_USAGE 'NAME=SIZE' 'gload g.tlg --dim m'
    bad 2 E_UNKNOWN 'Q' 'gload g.tlg --set Q=2'
    bad 2 E_USAGE 'shared' 'gload g.tlg --set x=2'
    bad 3 E_ 'float64' 'gload g.tlg --set "W=[1, 2]"'
    bad 2 E_UNKNOWN 'nope' 'gload g.tlg --outputs y,nope'
    bad 2 E_UNKNOWN 'nope' 'gload g.tlg --rename nope=x'
    bad 3 E_DUPLICATE 'W' 'gload g.tlg --rename y=W'
    bad 2 E_USAGE 'OLD=NEW' 'gload g.tlg --rename y'
    bad 2 E_UNKNOWN 'Q' 'gload g.tlg --update "Q = 1"'
    bad 3 E_ 'n' 'gload g.tlg --update "W = x"'
    bad 3 E_ 'x' 'gload g.tlg --update "x = x"' || bad 2 E_ 'x' 'gload g.tlg --update "x = x"'
}

@test "several files: prefixes keep names apart" {
    gload --new -i 'x: float64' --shared 'c: float64 = 1' -e 'y = x * 2 + c' --outputs y --update 'c = c + 1' -o a.tlg
    gload a.tlg --rename c=c2 --rename y=z -o b.tlg
    bad 3 E_DUPLICATE 'prefix' 'gload a.tlg b.tlg'
    ok 'gload --prefix b_ b.tlg -o pb.tlg; gload a.tlg pb.tlg | grun x=1 b_x=2 --steps 2' $'y = 4.0\nb_z = 6.0'
    ok 'gload a.tlg pb.tlg -e "s = y + b_z" --outputs s | grun x=1 b_x=2' 's = 8.0'
    bad 3 E_ 'p.x' 'gload --prefix p. a.tlg'
    ok 'gload --prefix p_ a.tlg -O math' $'p_x: float64\np_c: float64 (shared)\np_y = p_x * 2.0 + p_c\np_c <- p_c + 1.0'
    bad 4 E_IO 'none.tlg' 'gload a.tlg none.tlg'
}

@test "several files: names bound to trees keep their leaves" {
    mkdir trees
    printf 'thunkline: 1\ninputs: {x: float64}\nlet:\n  t: "{\\"u\\": x, \\"v\\": x * 2}"\noutputs: [t]\n' >trees/a.yaml
    printf 'thunkline: 1\ninputs: {k: float64}\nlet: {z: k + 1, w: "[z, k]"}\noutputs: [z]\n' >trees/b.yaml
    ok 'gload trees/a.yaml trees/b.yaml | grun x=1 k=2' $'t/u = 1.0\nt/v = 2.0\nz = 3.0'
    ok 'gload trees/b.yaml trees/a.yaml --outputs w/1,t | grun x=1 k=2' $'w/1 = 2.0\nt/u = 1.0\nt/v = 2.0'
    ok 'gload trees/b.yaml trees/a.yaml --outputs w/0,z,t/v | grun x=1 k=2' $'w/0 = 3.0\nz = 3.0\nt/v = 2.0'
}

@test "joining files keeps trees, tolerances and initial expressions; outputs get labels of their own" {
    gload --new -i 'x: float64[n]' -e "t = {'p': x * 2, 'q': [x, x + 1]}" -e 'u = x + 3' --outputs t,u -o a.tlg
    gload --new -i 'q: float64[k]' --shared 's: float64[2] = full([2], 1.5)' --compare 'q: rtol=1e-3' -e "v = {'p': q * 2, 'o': [q]}" --outputs v -o b.tlg
    gload a.tlg b.tlg --no-provenance -O yaml >both.yaml
    for want in '  t/q/1: ' '  v/p: ' '  v/o/0: q' '  q: rtol=0.001' '  s: float64\[2\] = full\(\[2\], float64\(1.5\)\)'; do
        grep -Eq "^$want" both.yaml || fail "$want"
    done
    ok 'grun both.yaml x=[1] q=[5,6] -O json | jq -c .name' $'"t/p"\n"t/q/0"\n"t/q/1"\n"u"\n"v/p"\n"v/o/0"'
    gload --new -i 'q: float64[k]' -e "t = {'p': q * 3}" --outputs t -o c.tlg
    bad 3 E_DUPLICATE 'both graphs have an output t/p' 'gload a.tlg c.tlg -O math'
    gload --new -e 'u = 3.' --outputs u -o d.tlg
    bad 3 E_DUPLICATE 'both graphs have a variable u' 'gload a.tlg d.tlg -O math'
}

@test "definitions: blanks around names, comments, several lines; texts that are none" {
    ok $'gload -e \'a  ,  b = (x,\n  y) # two\nc = a + b # end\' -O math --no-provenance' $'x: float64\ny: float64\nc = x + y\na = x\nb = y'
    ok 'gload -e "x <= y" -O math' $'x: float64\ny: float64\nout = x <= y'
    ok 'gload -e "x == y" -O math' $'x: float64\ny: float64\nout = x == y'
    bad 3 E_TYPE 'a string where a tensor is expected' $'gload -e "c = \'abc\'"'
    bad 3 E_ARITY 'sin got too many arguments' 'gload -e "sin(x, y)"'
    bad 3 E_SYNTAX 'only defines a name' 'gload --new --shared "w: float64 = 1" -e w --update " = 1"'
}

@test "renaming, narrowing and dims: taken names and wrong kinds are refused" {
    local args status_ code want
    gload --new -i 'x: float64[n]' -i 'l: list(float64[m])' -e "t = {'p': x}" -e 'y = x * 2' -e 'c = 3' -e 'z = n + 1' --outputs t,y,c,z -o g.tlg
    while IFS='|' read -r args status_ code want; do
        bad "$status_" "$code" "$want" "gload g.tlg $args -o o.tlg"
    done <<'END'
--rename x=n|3|E_DUPLICATE|already has a n
--rename x=y|3|E_DUPLICATE|already has a y
--rename t=u|2|E_UNKNOWN|t is a tree: name one of its values
--rename y=t/p|3|E_NAME|can't be the name of a variable
--narrow n:int64|2|E_USAGE|a dim can't be narrowed
--narrow c:int64|2|E_USAGE|a constant can't be narrowed
--narrow x:float64[2,3]|3|E_TYPE|cannot convert
--dim k=3|2|E_UNKNOWN|has no dim k
--outputs t/p,t|3|E_DUPLICATE|output t/p is listed twice
--outputs y,,x|2|E_USAGE|a name is missing
END
    ok 'gload g.tlg --dim m=3 -O math --no-provenance | grep "^l:"' 'l: list(float64[3])'
    ok 'gload g.tlg --dim n=3 -O math --no-provenance | head -2' $'x: float64[3]\nl: list(float64[m])'
    ok "gload g.tlg --narrow 'y: float64[3]' -O math --no-provenance | grep '^y ='" 'y = specify_shape(x * 2.0, [3])'
    ok "gload g.tlg --narrow 'x: float64[3]' -O math --no-provenance | grep '^x:'" 'x: float64[3]'
    ok 'gload g.tlg --rename x=x -O math --no-provenance | head -1' 'x: float64[n]'
}

@test "--check and --info" {
    ok 'gload "$DIGITS/model.yaml" --check' ''
    bad 3 E_SHAPE '.' 'sed "s/64, 10/63, 10/" "$DIGITS/model.yaml" >m.yaml; gload m.yaml --check'
    like 'gload "$DIGITS/model.yaml" --info' '^graph +digits' '^inputs +x +float32\[n, 64\]' '^shared +W ' '^outputs +loss +float32' 'accuracy +float64' \
        'log_softmax +1' '^sizes +applies +12'
    like 'gload "$DIGITS/model.yaml" | ggrad --cost loss --wrt W | gload - --info' 'ggrad'
    python_with json
    ok "gload '$DIGITS/model.yaml' --info -O json | $PYTHON -c 'import json, sys; d = json.load(sys.stdin); print(sorted({r[\"section\"] for r in d}))'" \
        "['graph', 'inputs', 'ops', 'outputs', 'shared', 'sizes']"
}

@test "--list-ops, --op, --list-types" {
    like 'gload --list-ops "*"' '^sigmoid +Logistic' '^matmul ' '^recurrence '
    ok 'gload --list-ops "log1?" | cut -d" " -f1 | tr "\n" " "' 'log10 log1p '
    like 'gload --op sigmoid' '^sigmoid\(x\)' 'alias +expit' 'gradient +d/dx: r \* \(1 - r\)' 'example +sigmoid'
    like 'gload --op expit' '^sigmoid\(x\)'
    like 'gload --op sum' 'axis: axes = None' 'keepdims: bool = False'
    like 'gload --op assert_op' 'effect'
    like 'gload --list-types' '^tensor +an array' '^  form +float32\[n, 64\]' '^  filter +unless strict' '^  compare +all four words' '^  size +32 bytes' '^dtypes .* complex128'
    # all there are, each with its facts
    ok 'gload --list-types -O json | jq -c "map(.type)"' '["tensor","sparse","random","list","slice","none","null","disconnected","empty"]'
    ok 'gload --list-types -O json | jq "map(select(.form and .doc and .filter and .compare and .size)) | length"' 9
    bad 2 E_UNKNOWN 'sigmoid' 'gload --op sigmod'
    # a word is looked for in names and texts; what users don't write is left out
    like 'gload --list-ops "up to each"' '^cumsum ' '^cumprod '
    like 'gload --list-ops cumul' '^cumsum '
    like 'gload --list-ops TANGENT' '^tan ' '^tanh ' '^arctan '
    like 'gload --list-ops expit' '^sigmoid '
    like 'gload --list-ops load' '^load .*\(language\)$'
    ok 'gload --list-ops "running_*" --all | cut -d" " -f1' $'running_logsumexp\nrunning_max\nrunning_min\nrunning_prod\nrunning_sum'
    bad 2 E_UNKNOWN 'there is no op called running' 'gload --list-ops "running_*"'
    bad 2 E_UNKNOWN 'no op has nosuchword in its name or text' 'gload --list-ops nosuchword'
    ok 'gload --list-ops "*" | cut -d" " -f1 | sort | uniq -d' $'beta\ngamma\npower' # a function, and a distribution
    like 'gload --op scan' '^scan\(fn, sequences=\[\], outputs_info'
    like 'gload --op load' '^load\(file, key=None\)'
    like 'gload --op grad' '^grad\(cost, wrt, '
    shell 'gload --list-ops "zzz*"'
    [ ! -s .out ]
}

@test "every graph form describes the graph" {
    gload --new -i 'x: float64[3]' -e 'h = x * 2' -e 'y = sum(h) + h[0]' --outputs y -o g.tlg
    ok 'gload g.tlg -O math' $'x: float64[3]\nh = x * 2.0\ny = sum(h) + h[0]'
    like 'gload g.tlg -O tree' '^output y' 'x \[.\] float64\[3\]' '···'
    like 'gload g.tlg -O dot' '^digraph' 'label="sum"' '->'
    like 'gload g.tlg -O json' '"x": "float64\[3\]"' '"outputs": \["y"\]'
    like 'gload g.tlg -O yaml' '^  h = x \* 2.0$'
    [ "$(gload g.tlg | head -c 3 | od -An -tx1 | tr -d ' ')" = d9d9f7 ]
    if command -v dot >/dev/null; then gload "$DIGITS/model.yaml" -O dot | dot -Tsvg >/dev/null; fi
}

@test "statements: annotations, several targets, lambdas, dims, methods" {
    ok 'gload -i "x: float64[n, 3]" -e "a: float64[3] = x.sum(axis=0)" -e "b = x.T.shape[1] + x.ndim + x.size" | grun x=[[1,2,3],[4,5,6]]' $'a = [5.0, 7.0, 9.0]\nb = 10'
    ok $'gload -e "# several\na = (1 +\n  2)\n\nb = a * 2  # c = 3\n" | grun' $'a = 3\nb = 6'
    bad 3 E_ 'float64\[3\]' 'gload -i "x: float64[n, 3]" -e "a: float64[4] = x.sum(axis=0)"'
    ok 'gload -i "x: float64[6]" -e "a, b = split(x, 2)" -e "c = a * b" | grun x=[1,2,3,4,5,6]' $'a = [1.0, 2.0, 3.0]\nb = [4.0, 5.0, 6.0]\nc = [4.0, 10.0, 18.0]'
    ok 'gload -i "x: float64[n]" -e "x * n" | grun x=[1,2]' 'out = [2.0, 4.0]'
    ok 'gload -i "x: int64[4]" -e "x[1:3]" | grun x=[1,2,3,4]' 'out = [2, 3]'
    ok 'gload -i "x: int64[4]" -e "x[x > 2]" | grun x=[1,2,3,4]' 'out = [3, 4]'
    ok 'gload -i "x: int64[2, 2]" -e "x[::-1, None, 0]" | grun x=[[1,2],[3,4]]' $'out = [[3],\n       [1]]'
    ok 'gload -e "set_subtensor(zeros(3)[1:], 5)" | grun' 'out = [0.0, 5.0, 5.0]'
    ok 'gload -e "2 ** -1.0 - 7 // 2 + 7 % 4 * (3 > 2)" | grun' 'out = 0.5'
    ok 'gload -e "normal(0, 1, (2,), seed=1) - normal(0, 1, (2,), seed=1)" | grun' 'out = [0.0, 0.0]'
}

@test "functions among the definitions are no outputs" {
    ok "gload --new -e 'f = lambda x: x * x' -e 'g = lambda x: f(x) + 1' -e 'y = g(3)' | grun" 'y = 10'
    ok "gload --new -e 'f = lambda x: sow(x * x, tag=\"t\", name=\"y\")' -e 'r = call_and_reap(f, tag=\"t\")(3)' | grun" $'r/0 = 9\nr/1/y = 9'
}

@test "new definitions without a graph on standard input are a new graph, whatever other options say" {
    local out=$'thunkline: 1\ninputs:\n  a: float64\nlet: |\n  b = a * 2.0\noutputs: [b]'
    ok "gload -i 'a: float64' -e 'b = a * 2' --outputs b -O yaml --no-provenance" "$out"
    ok "gload -i 'a: float64' -e 'c = a * 2' --rename c=b -O yaml --no-provenance" "$out"
    ok "gload --shared 'w: float64 = 2' -e 'c = w * 2' --update 'w = w + 1' --set w=5 | grun --steps 2" 'c = 12.0'
    ok "gload -e 'b = a * 2' --outputs b -O yaml --no-provenance <&-" "$out"
    script -qec "timeout 20 gload -e 'b = a * 2' --outputs b -O json -o t.json" /dev/null </dev/null >/dev/null
    ok 'grun t.json a=2' 'b = 4.0'
    # what is piped in is added to
    ok "gload --new -e 'b = a * 2' | gload -e 'c = b + 1' --outputs c | grun a=2" 'c = 5.0'
    bad 4 E_TRUNCATED 'is empty' "cat /dev/null | gload -e 'c = b + 1' --outputs c"
}

@test "--op shows the form that one writes" {
    like 'gload --op scan' '^scan\(fn, sequences=\[\], outputs_info=\[\]' 'checkpoint' '^kind +macro' '^example +scan\('
    like 'gload --op scan -O json' '"signature": "scan\(fn, sequences'
    local m
    for m in map reduce vectorize reap plant harvest; do like "gload --op $m" "^$m\((fn|f), "; done
    like 'gload --op normal' '^normal\(loc = 0.0, .*seed: int' '^with a state +next, y = normal\(\.\.\., rng=r\)' '^normal\(loc=0.0, .*rng=None'
    like 'gload --op permutation -O json' '"with a state": "next, y = permutation'
    ok "gload --shared 'r: random = rng(1)' -e 'next, y = permutation(3, rng=r)' -e 'z = sort(y)' --update 'r = next' --outputs z | grun" 'z = [0, 1, 2]'
}

@test "options that edit a graph: wrong values get an error that shows the right form" {
    local G='gload -i "x: float64[n]" --shared "w: float64 = 1" -e "y = x.sum() * w"'
    bad 2 E_USAGE '--narrow takes NAME: TYPE' "$G --narrow x"
    bad 2 E_UNKNOWN 'called q' "$G --narrow 'q: float64'"
    bad 3 E_DTYPE "no type 'nonsense'" "$G --narrow 'x: nonsense'"
    bad 3 E_TYPE 'cannot convert float64 \(of w\) into float32' "$G --narrow 'w: float32'"
    bad 3 E_TYPE 'cannot convert float64\[3\] \(of x\) into float64\[4\]' "$G --dim n=3 --narrow 'x: float64[4]'"
    bad 2 E_USAGE "a dim can't be narrowed" "gload -i 'x: float64[n]' -e 'x * n' --narrow 'n: int64'"
    bad 2 E_USAGE "a can't be narrowed: print has an effect" 'gload -e "a = print(1.0)" --narrow "a: float64"'
    local d
    for d in n n= n=3x n=99999999999999999999 n=9223372036854775808; do
        bad 2 E_USAGE 'as in --dim n=128' "$G --dim $d"
    done
    bad 2 E_UNKNOWN 'no dim m' "$G --dim m=3"
    bad 2 E_UNKNOWN 'no dim m' 'gload -i "x: list(float64[n])" -e "y = x[0]" --dim m=3'
    bad 2 E_USAGE '--set takes NAME=VALUE' "$G --set w"
    bad 2 E_USAGE '--compare takes NAME: HOW' "$G --compare w"
    bad 2 E_USAGE '--rename takes OLD=NEW' "$G --rename w"
    bad 3 E_SYNTAX 'not a number' "$G --rename 'w= 1a'"
    bad 3 E_NAME "can't be the name of a variable" "$G --rename 'w=(v)'"
    like "$G --rename ' w = v ' -O math" '^v: float64 \(shared\)'
    bad 3 E_DUPLICATE 'already has a y' "$G --rename w=y"
    bad 3 E_DUPLICATE 'output y is listed twice' "$G --outputs y,y"
    bad 2 E_UNKNOWN 'd is a tree: name one of its values, such as d/a' "gload -e \"d = {'a': 1.0}\" --rename d=e"
    bad 3 E_NAME "can't be the name" "$G --prefix 'x+'"
    bad 3 E_SYNTAX 'not a number' "$G --prefix 1"
    bad 3 E_DUPLICATE 'both graphs have a variable x' "$G -o a.tlg && gload a.tlg a.tlg"
}

@test "edits that hold: a dim in lists and expressions, names with spaces, an update for another" {
    like 'gload -i "x: list(float64[n])" -e "y = x[0]" --dim n=3 -O yaml' '^  x: list\(float64\[3\]\)$'
    ok 'gload -i "x: float64[n]" -e "y = x.sum() * n" --dim n=3 | grun x=[1,2,3]' 'y = 18.0'
    bad 3 E_SHAPE 'float64\[3\]' 'gload -i "x: float64[n]" -i "y: float64[n]" -e "x + y" --narrow "x: float64[3]" | grun x=[1,2,3] y=[1,2]'
    ok 'gload --shared "w: float64 = 1" -e "y = w * 2" --rename "w = v" --set "v=4" | grun' 'y = 8.0'
    ok 'gload --shared "w: float64 = 1" -e "y = w" --rename w=w | grun w=3' 'y = 3.0'
    ok 'gload --shared "w: float64 = 1" --update w=2 -e "y = w" | gload --update "w = w + 4" | grun --steps 3' 'y = 9.0'
    ok "gload -e \"d = {'a': 1.0, 'b': 2.0}\" --prefix m_ | grun" $'m_d/a = 1.0\nm_d/b = 2.0'
    ok 'gload -i "a: float64" -e "out = a + 1" --outputs " a , out " | grun a=1' $'a = 1.0\nout = 2.0'
    ok 'gload -i "x: float64" -i "y: float64" -e "x == 1" -e "z = x != y" -e "u = x <= y" | grun x=1 y=2' $'out = True\nz = True\nu = True'
    like 'gload -i "a: float64" -e "b = a" -o p.tlg && gload -e "c = [1, 2][0]" -o q.tlg && gload p.tlg q.tlg | grun a=5' '^b = 5.0$' '^c = 1$'
}

@test "a tree of the graph is one in expressions, too; empty lists and dicts are shown" {
    cat >tree.yaml <<'Y'
thunkline: 1
inputs: "x: float64"
let: |
  f = lambda v: 2 * sow(v * v, tag='t', name='y')
  o, r = call_and_reap(f, tag='t')(x)
  q = {'a': [x, x + 1], 'b': {'c': x * 5, 'd': {}, 'e': []}}
outputs: [o, r]
Y
    ok "gload tree.yaml -e 'z = r[\"y\"]' --outputs z | grun x=3" 'z = 9.0'
    ok "gload tree.yaml | gload -e 'z = r[\"y\"] + 1' --outputs z | grun x=3" 'z = 10.0'
    ok "gload tree.yaml -e 'z = q[\"a\"][1] + q[\"b\"][\"c\"]' -e 'w = q[\"a\"]' -e 'e = q[\"b\"][\"d\"]' --outputs z,w,e | grun x=3" \
        $'z = 19.0\nw/0 = 3.0\nw/1 = 4.0\ne = {}'
    bad 3 E_NAME "the dict has no key 'yy': did you mean 'y'" "gload tree.yaml -e 'z = r[\"yy\"]' --outputs z"
    bad 3 E_ 'list.* 2' "gload tree.yaml -e 'z = q[\"a\"][2]' --outputs z"
    ok "gload --new -e 'out = []' --outputs out | grun" 'out = []'
    ok "gload --new -i 'x: float64' -e 'out = {\"a\": [], \"b\": [x, []], \"c\": {}}' -o t.tlg; grun t.tlg x=3" $'out/a = []\nout/b/0 = 3.0\nout/b/1 = []\nout/c = {}'
    ok 'gload t.tlg -O yaml | grun x=3 | cmp - <(grun t.tlg x=3)'
    ok 'grun t.tlg x=3 -O json | jq -c .data | head -1' '[]'
}

@test "many shared variables take updates in linear time" {
    awk 'BEGIN {
        n = 300000
        print "thunkline: 1\nshared:"
        for (i = 0; i < n; i++) print "  w" i ": int64 = 0"
        print "updates: |"
        for (i = 0; i < n; i++) print "  w" i " = w" i " + 1"
    }' >m.yaml
    ok '(ulimit -t 20; gload m.yaml -o m.tlg)' # processor seconds: a tenth of that, or several times as much
    ok "gload m.tlg --update 'w7 = w7 + 2' | grun --save s.tlg"
    like 'gload s.tlg -O yaml' '^  w6: int64 = 1$' '^  w7: int64 = 2$'
    bad 3 E_DUPLICATE 'w299999. is updated twice' "{ cat m.yaml; echo '  w299999 = w0'; } | gload"
}

@test "--freeze makes constants of shared variables, which rewriting then uses" {
    gload --new -i 'x: float64[n]' --shared 'a: float64[?]' --shared 'b: float64' -e 'y = x * exp(a) + b' -o s.tlg
    gload s.tlg --set a=[0,0] --set b=1 -o v.tlg
    ok "gload v.tlg --freeze '*' --info | grep -c ^shared || :" 0
    ok "gload v.tlg --freeze a | grewrite | grun x=[3,4]" 'y = [4.0, 5.0]'
    ok "gload v.tlg --freeze a | gload -O math --no-provenance | head -2" 'x: float64[n]
b: float64 (shared)'
    ok "gload v.tlg --freeze a,b -O yaml | grewrite | gload -O math | grep -c exp || :" 0
    gload --new -i 'x: float64[n]' --shared 'a: float64[2] = log2(4.0 * ones(2))' --shared 'b: float64 = 1' -e 'y = x * a' --outputs y -o i.tlg
    ok "gload i.tlg --freeze a -O yaml --no-provenance | grep 'a ='" "  a = array([2.0, 2.0], dtype='float64')"
    ok "gload i.tlg --freeze a | grun x=[3,4]" 'y = [6.0, 8.0]'
    bad 2 E_USAGE 'b has no value: --set gives it one' 'gload s.tlg --freeze b'
    bad 2 E_USAGE 'takes shared variables, but y is not one' 'gload v.tlg --freeze a,y'
    bad 2 E_UNKNOWN 'called c' 'gload v.tlg --freeze c'
    gload v.tlg --update 'b = b + 1' -o u.tlg
    bad 2 E_USAGE 'b has an update, so it is no constant' 'gload u.tlg --freeze b'
}

@test "an op given as text means its definition in the graph, wherever that stands" {
    local lines
    for lines in 'y = gelu(x)|gelu = lambda t: -t' 'gelu = lambda t: -t|y = gelu(x)' \
        'z = x * 2|y = gelu(x)|gelu = lambda t: z - t * 3' 'y, z = (gelu(x), x)|a = [1, 2]|z2, gelu = (x, lambda t: -t)'; do
        printf 'thunkline: 1\ninputs:\n  x: float64\nlet: |\n  %s\noutputs: [y]\n' "${lines//|/$'\n'  }" >g.yaml
        ok 'gload g.yaml | grun x=2.5' 'y = -2.5'
        gload g.yaml -O json -o g.json
        ok 'gload g.json | grun x=2.5' 'y = -2.5'
    done
    ok "gload -i 'x: float64' -e 'y = gelu(x)' -e 'gelu = lambda t: -t' --outputs y | grun x=2.5" 'y = -2.5'
    ok "gload -i 'x: float64' -e 'y = relu(gelu(x))' | grun x=-40" 'y = -0.0'
}
