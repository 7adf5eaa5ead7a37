# Pages (-O html, --report): one file whose data says what the tools say; and -O svg, which draws the same without a browser.
load common

page() { # question file...: of tests/page/page.py
    python_with json
    "$PYTHON" "$ROOT/tests/page/page.py" "$@"
}
valid() {
    python_with jsonschema
    "$PYTHON" "$ROOT/tests/page/page.py" check_schema "$1" "$ROOT/schemas/page.schema.json"
}

model() {
    cat >m.yaml <<'Y'
thunkline: 1
name: small
doc: A perceptron.
functions:
  f:
    inputs: {a: "float32[k]"}
    let: r = tanh(a) * 2
    outputs: [r]
inputs: {x: "float32[n, 3]", y: "float32[n]"}
shared:
  layer0_W: "float32[3, 4] = ones((3, 4))"
  layer0_b: "float32[4] = zeros(4)"
  layer1_W: "float32[4] = ones(4)"
let: |
  layer0_h = tanh(x @ layer0_W + layer0_b)
  layer1_z = layer0_h @ layer1_W
  layer1_h = f(layer1_z)
  loop = scan(lambda s, w: s * w + 1, sequences=[layer1_h], outputs_info=[float32(0)])
  loss = mean((layer1_h - y) ** 2) + sum(loop) / 1000
outputs: [loss]
Y
    ggrad m.yaml --cost loss --optimizer 'sgd(0.1)' -o m.tlg
}
deep() { # layers
    printf 'thunkline: 1\ninputs: {x: "float32[b, 4]"}\nshared:\n'
    seq -f '  block_%g_W: "float32[4, 4] = eye(4)"' "$1"
    printf 'let: |\n  block_0_h = tanh(x)\n'
    for i in $(seq "$1"); do
        printf '  block_%d_a = block_%d_h @ block_%d_W + 1\n  block_%d_h = tanh(block_%d_a) + x\n' "$i" $((i - 1)) "$i" "$i" "$i"
    done
    printf '  loss = sum(block_%d_h)\noutputs: [loss]\n' "$1"
}

@test "a page holds what -O json --nodes says, in boxes, and is the same each time" {
    model
    for f in m.yaml m.tlg; do
        ok "gload $f -O html -o a.html"
        ok "gload $f -O json --nodes -o n.json"
        page check_nodes a.html n.json
        ok "gload $f -o b.html && cmp <(sed 's/-O html -o a.html/-o b.html/' a.html) b.html"
        page check_policy a.html
        valid a.html
    done
    ok "gload m.yaml -O html --no-provenance -o p.html"
    grep -q '<title>small</title>' p.html
    run grep -c '"steps"' p.html
    assert_output 0
    # what a box is called, and which are open
    page ask a.html '[d["strings"][k] for k in column(d["graphs"][0]["box"], "title", d["graphs"][0]["box"]["n"])]' >titles
    for w in forward gradient updates layer0 layer1; do grep -q "'$w'" titles; done
    page ask a.html 'len(d["open"]) > 3' | grep -q True
    # the line that an Apply comes from, with its text
    page ask a.html '[d["strings"][k] for k in column(d["sources"][0], "text", d["sources"][0]["n"])]' >lines
    grep -q 'layer1_z = layer0_h @ layer1_W' lines
    grep -q 'A perceptron.' a.html
    # a graph without Applies
    ok 'gload --new -i "x: float64[3]" -e "y = x" --outputs y -O html -o e.html && gload --new -i "x: float64[3]" -e "y = x" --outputs y -O json --nodes -o e.json'
    page check_nodes e.html e.json
    valid e.html
}

@test "what only one branch of an ifelse needs is a box; what both need is none" {
    gload --new -i 'c: bool' -i 'x: float64[3]' -e 'both = exp(x)' -e 'y = ifelse(c, sin(cos(both)), tanh(sinh(both)) + ifelse(c, log(abs(x)), sqrt(square(x))))' --outputs y -O html -o i.html
    page ask i.html '[[d["ops"][o]["name"], d["strings"][column(g["box"], "title", g["box"]["n"])[b]] or None] for g in d["graphs"] for o, b in zip(column(g["apply"], "op", g["n"]), column(g["apply"], "box", g["n"]))]' >boxes
    for w in "'sin', 'then of y'" "'cos', 'then of y'" "'sinh', 'else of y'" "'add', 'else of y'" "'log', 'then'" "'square', 'else'" "'exp', None"; do
        grep -qF "[$w]" boxes || { cat boxes && false; }
    done
}

@test "hostile names and docs stay data" {
    python_with json
    "$PYTHON" - >h.yaml <<'P'
import json
bad = '</script><script>alert(1)</script> <!-- ]]> " \' & \u2028 \u202e \u2066 \u0000 \ufeff {{x}} `${x}` @DATA@'.replace('\0', '')
print('thunkline: 1')
print('doc: ' + json.dumps(bad))
print('inputs: {x: "float64[3]"}')
print('let: {y: x + 1}')
print('outputs: [y]')
open('want', 'w', encoding='utf-8').write(bad)
P
    ok 'gload h.yaml -O html -o h.html && gload h.yaml -O svg -o h.svg'
    page check_policy h.html
    page ask h.html 'd["strings"][d["graphs"][0]["doc"]] == open("want", encoding="utf-8").read()' | grep -q True
    run grep -c 'alert(1)<\|<!-- ]]' h.html
    assert_output 0
    page ask h.html 'any(c in text for c in "\u2028\u202e\u2066")' | grep -q False
    # a title comes from the name of the file, or of the graph
    printf 'thunkline: 1\nname: a_b\ninputs: {x: float64}\nlet: {y: x + 1}\noutputs: [y]\n' >'<i>&.yaml'
    gload '<i>&.yaml' -O html >t.html
    page check_policy t.html
    grep -q '<title>a_b</title>' t.html
    # texts in ops: a prop, and the text of an option
    gload --new -i 'x: float64[3]' -e "y = print(x, '</script><b>')" --outputs y -O html -o o.html
    page check_policy o.html
    page ask o.html 'any("</script><b>" in s for s in d["strings"])' | grep -q True
}

@test "a page takes less than 500 bytes for each Apply" {
    deep 500 >deep.yaml
    ggrad deep.yaml --cost loss -o deep.tlg
    gload deep.tlg -O html -o deep.html
    page ask deep.html '[d["graphs"][0]["n"] > 3000, len(text) / d["graphs"][0]["n"] < 500, len(__import__("json").dumps(d)) / d["graphs"][0]["n"] < 250]' | grep -q '\[True, True, True\]'
    gload deep.tlg -O json --nodes -o deep.json
    page check_nodes deep.html deep.json
}

@test "too large a graph has no page, and says what to do" {
    {
        printf 'thunkline: 1\ninputs: {x: float64}\nlet: |\n  h0 = sin(x)\n'
        awk 'BEGIN { for (i = 1; i <= 250000; i++) print "  h" i " = sin(h" i - 1 ")" }'
        echo 'outputs: [h250000]'
    } >huge.yaml
    bad 6 E_LIMIT '250001 Applies, and no browser shows more than 250000' 'gload huge.yaml -O html -o huge.html'
    [ ! -e huge.html ]
    grep -q -- 'gload --outputs NAMES | grewrite --mode NONE' .err
    ok 'gload huge.yaml --outputs h3 | grewrite --mode NONE -o huge.html'
    # a picture
    head -n 5005 huge.yaml | sed '$a outputs: [h5000]' >long.yaml
    bad 6 E_LIMIT 'would have [0-9]+ nodes' 'gload long.yaml -O svg --depth 9'
    grep -q -- '--depth' .err
    ok 'gload long.yaml -O svg -o long.svg'
    [ "$(grep -c data-path long.svg)" -le 61 ]
}

@test "a page to a terminal says -o, and -f says nothing" {
    need_terminal
    model
    script -qec 'gload m.yaml -O html' /dev/null </dev/null >t 2>&1
    grep -q -- '-o FILE.html keeps it' t
    grep -q 'application/json' t
    script -qec 'gprof m.yaml --static -O html' /dev/null </dev/null >t 2>&1
    grep -q -- '-o FILE.html keeps it' t
    script -qec 'gload m.yaml -O html -f' /dev/null </dev/null >t 2>&1
    run grep -c 'keeps it' t
    assert_output 0
    ok 'gload m.yaml -O html | grep -c application/json' 1
}

@test "-O svg: well-formed, every box open that is asked for, nothing on top of anything else" {
    model
    for f in m.yaml m.tlg; do
        gload $f -O svg -o a.svg
        gload $f -o b.svg
        cmp a.svg b.svg
        python_with json
        "$PYTHON" -c 'import sys, xml.etree.ElementTree as x; x.parse(sys.argv[1])' a.svg
    done
    grep -q '…h = call' a.svg # in the box layer1
    grep -q '>layer1<' a.svg
    # the picture of the README
    ok 'gload "$DIGITS/model.yaml" -O svg | cmp - "$DIGITS/model.svg"'
    # depth 1: closed boxes alone; then what is in them; then all
    gload m.tlg -O svg --depth 1 -o 1.svg
    gload m.tlg -O svg --depth 2 -o 2.svg
    gload m.tlg -O svg --depth 9 -o 9.svg
    assert_equal "$(grep -o 'data-path="[^"]*"' 1.svg | wc -l)" 3
    [ "$(grep -c data-path 2.svg)" -gt 3 ]
    [ "$(grep -c data-path 9.svg)" -gt "$(grep -c data-path 2.svg)" ]
    grep -q 'data-path="a[0-9]*/' 9.svg
    bad 2 E_USAGE '\-\-depth needs -O svg, dot or tree' 'gload m.yaml -O html --depth 2'
    bad 2 E_USAGE '\-\-depth must be at least 1' 'gload m.yaml -O svg --depth 0'
    # constants, dims and inputs that are outputs: what nothing is connected with stands in rows of its own
    local name inputs='' outputs=''
    for name in {b..g}{t..w}; do
        inputs+=", $name: float64"
        outputs+=", ${name}o: $name"
    done
    printf 'thunkline: 1\ninputs: {x: "float64[n]"%s}\noutputs: {k: n, c: "array([1., 2.])", y: x + n%s}\n' "$inputs" "$outputs" >leaf.yaml
    gload leaf.yaml -O svg -o leaf.svg
    for name in constant n x add {b..g}{t..w}; do grep -q ">$name<" leaf.svg || fail "there is no $name"; done
    # boxes that lie in each other, and no two nodes of one box on top of each other
    cat >rects.py <<'P'
import re, sys
rects = [(m[0], *map(float, m[1:])) for m in re.findall(r'data-path="([^"]*)" x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"', open(sys.argv[1]).read())]
inside = lambda a, b: b[1] <= a[1] and b[2] <= a[2] and a[1] + a[3] <= b[1] + b[3] and a[2] + a[4] <= b[2] + b[4]
apart = lambda a, b: a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1] or a[2] + a[4] <= b[2] or b[2] + b[4] <= a[2]
for i, a in enumerate(rects):
    for b in rects[:i]:
        assert apart(a, b) or inside(a, b) or inside(b, a), (a, b)
assert any(inside(a, b) for a in rects for b in rects if a is not b)
assert len(rects) > 9
P
    "$PYTHON" rects.py 9.svg
    "$PYTHON" rects.py leaf.svg
}

@test "gprof -O html: the costs, memory and frames of -O json" {
    model
    for how in '--static' '--static --dim n=50'; do
        ok "gprof m.yaml $how -O html -o p.html"
        ok "gprof m.yaml $how -O json --memory -o p.json"
        page check_profile p.html p.json
        valid p.html
        page check_policy p.html
    done
    page ask p.html '"peaks" in d["profile"]' | grep -q False
    # a run: the same numbers where no time is in them
    gprof m.yaml --dim n=50 --repeat 2 -O html -o r.html
    valid r.html
    page ask r.html '[d["profile"]["peaks"]["memory"] > 1e8, d["profile"]["drawn"] == ["x", "y"], d["profile"]["total"]["time_s"] > 0, d["profile"]["events"]["n"] > 10, d["profile"]["static"]]' |
        grep -q '\[True, True, True, True, False\]'
    # the frames of the loop's body are in the loop
    page ask r.html '(lambda f: sum(column(f, "value", f["n"])[k] for k in range(1, f["n"]) if column(f, "parent", f["n"])[k] == 0) / column(f, "value", f["n"])[0])(d["profile"]["flame"])' | grep -qE '^(1.0|0.99)'
    page ask r.html '(lambda f: max(column(f, "graph", f["n"])) > 0 and max(column(f, "parent", f["n"])) > 0)(d["profile"]["flame"])' | grep -q True
}

@test "gprof --compare OLD -O html: totals, ops and Applies of both" {
    model
    gprof m.yaml --static --dim n=10 -O json -o old.json
    ok 'gprof m.yaml --static --dim n=20 --compare old.json -O html -o c.html'
    # of a run, and of costs that are symbols now
    ok 'gprof m.yaml --dim n=20 --repeat 2 --compare old.json -O html -o run.html'
    valid run.html
    ok 'gprof m.yaml --static --compare old.json -O html -o symbols.html'
    valid symbols.html
    valid c.html
    page ask c.html '[x for x in d["compare"]["total"] if x[0] == "read_bytes"][0]' >t
    page ask c.html '[[was, now] for _, was, now, worse in d["compare"]["total"] if worse and now > was] != []' | grep -q True
    page ask c.html '(lambda was, now: [a < b for a, b in zip(was, now) if a == a and b > 0][0])(column(d["compare"]["applies"][0], "flops", d["graphs"][0]["n"]), column(d["profile"]["cost"][0], "flops", d["graphs"][0]["n"]))' | grep -q True
    bad 1 E_VERDICT 'more than 1.5 times' 'gprof m.yaml --static --dim n=20 --compare old.json --fail-above 1.5 -O html -o f.html'
    valid f.html
    bad 3 E_FORMAT 'is no report' 'gprof m.yaml --static --compare m.yaml -O html -o g.html'
    [ ! -e g.html ]
}

@test "grewrite --diff OTHER -O html: partners on both sides, and the verdict all the same" {
    model
    ok 'grewrite m.tlg --diff m.tlg -O html -o same.html'
    ok "$(declare -f page python_with); ROOT=$ROOT page check_diff same.html | awk '{ print (\$1 > 50), \$2, \$3, \$4 }'" '1 0 0 0'
    valid same.html
    page ask same.html '[d["diff"]["equal"], d["diff"]["first"]]' | grep -q '\[True, None\]'
    sed 's/tanh(x @ layer0_W/sin(x @ layer0_W/' m.yaml >s.yaml
    bad 1 E_VERDICT 'the graphs differ' 'grewrite m.yaml --diff s.yaml -O html -o d.html'
    valid d.html
    page check_policy d.html
    # tanh became sin: it differs itself, what follows in its inputs alone, what comes before is equal
    page check_diff d.html | awk '{ exit !($1 > 3 && $2 == 1 && $3 > 3 && $4 == 0) }'
    page ask d.html '[d["diff"]["names"], d["diff"]["equal"], len(d["diff"]["open_right"]) > 0]' | grep -q "\[\['m.yaml', 's.yaml'\], False, True\]"
    grewrite m.tlg -o r.tlg
    bad 1 E_VERDICT 'differ' 'grewrite m.tlg --diff r.tlg -O html -o r.html'
    page check_diff r.html
    valid r.html
}

# Two graphs # of the first one's Applies, how many are equal, differ themselves, differ in what they read, have no partner.
@test "grewrite --diff OTHER -O html: updates, functions, results and values of constants" {
    local one other states
    while IFS='#' read -r one other states; do
        for f in "one $one" "other $other"; do
            printf 'thunkline: 1\ninputs: {x: "float64[n]"}\nshared: {w: float64 = 1}\n%s\n' "${f#* }" | sed 's/; /\n  /g; s/;/\n/g' >"${f%% *}.yaml"
        done
        bad 1 E_VERDICT 'the graphs differ' 'grewrite one.yaml --diff other.yaml -O html -o d.html' || fail "$one"
        [ "$(page check_diff d.html)" = "$states" ] || complain "should be $states" "$one # $other"
    done <<'END'
updates: {w: w + 1}#updates: {w: w * 2}#0 1 0 0
updates: {w: w + 1}#outputs: {y: x * w}#0 0 0 1
outputs: {y: x * w}#updates: {w: w + 1}#0 0 0 1
let: |; y = x * w; z = y + 1;outputs: [z]#let: |; y = x * w; z = y + 2;outputs: [z]#1 0 1 0
let: |; l = make_list([1., 2.]); z = list_extend(l, l);outputs: [z]#let: |; l = make_list([1., 3.]); z = list_extend(l, l);outputs: [z]#0 0 1 0
let: |; y = map(lambda r: sin(r), x) + 1;outputs: [y]#let: |; y = map(lambda r: cos(r), x) + 1;outputs: [y]#0 2 1 0
let: |; y = map(lambda r: sin(r), x) + 1;outputs: [y]#let: |; y = map(lambda r: sin(r), x) + 2;outputs: [y]#2 0 1 0
let: |; a = topk(x, 1)[0] + 1;outputs: [a]#let: |; a = topk(x, 1)[1] + 1;outputs: [a]#1 0 1 0
let: |; a = exp(x) + exp(x * 2);outputs: [a]#let: |; a = exp(x) + sin(x * 2);outputs: [a]#2 0 1 1
END
}

@test "grewrite --explain -O html: every state leads to the next, the last to the result" {
    model
    for f in m.yaml m.tlg; do
        ok "grewrite $f --explain -O html -o x.html"
        page check_steps x.html >rules
        grewrite $f --explain -o /dev/null 2>&1 | grep -E '^[0-9]+ ' | sed 's/^[0-9]* \([^:]*\):.*/\1/' | paste -sd' ' >want
        diff rules want
        valid x.html
        page check_policy x.html
    done
    gload --new -i 'x: float64[n]' -e 'y = log(1 + exp(x))' --outputs y | grewrite --explain -O html -o y.html
    page ask y.html '[[d["strings"][k] for k in (s[1], s[6], s[7])] for s in d["explain"]["steps"]]' | grep -qF "['softplus', 'log(1.0 + exp(x))', 'softplus(x)']"
    # nothing to do
    ok 'gload --new -i "x: float64" -e "y = sin(x)" --outputs y | grewrite --explain -O html -o z.html'
    page ask z.html '[d["explain"], len(d["graphs"])]' | grep -qF "[{'epochs': [], 'steps': []}, 1]"
    valid z.html
    # with --verify and --profile, as without a page
    shell 'grewrite m.yaml --explain -O html --verify 2 --profile -o v.html'
    [ "$status" = 0 ]
    grep -q 'replacements in' .err
    page check_steps v.html
    bad 2 E_USAGE 'leave --search out' 'grewrite m.yaml --explain -O html --search 1'
    # -O html alone is the result
    ok 'grewrite m.yaml -O html -o w.html'
    page ask w.html 'd["kind"]' | grep -q graph
}

@test "grun --report: curves, results, settings and the graph" {
    model
    ok 'grun m.tlg x="ones((5, 3))" y="ones(5)" --steps 40 --every 10 -O tsv --report run.html' "$(grun m.tlg x='ones((5, 3))' y='ones(5)' --steps 40 --every 10 -O tsv)"
    valid run.html
    page check_policy run.html
    page check_run run.html >curves
    grun m.tlg x='ones((5, 3))' y='ones(5)' --steps 40 --every 10 -O tsv | awk 'NR > 1 { printf "%s %.6g\n", $1, $2 }' >want
    awk 'NR > 1' curves | diff - want
    page ask run.html '[d["run"]["ended"], d["run"]["done"], dict(d["run"]["settings"])["every"], d["run"]["results"][0][:2], d["kind"]]' |
        grep -qF "['all calls', 40, '10', ['loss', 'float32'], 'run']"
    page ask run.html '[v for k, v in d["run"]["settings"] if k == "value"]' | grep -qF "['x=ones((5, 3))', 'y=ones(5)']"
    page ask run.html 'd["steps"][-1]["tool"]' | grep -q ggrad
    # rows, draws, and values that are longer than anybody reads
    ok 'gload --new -i "x: float64[3]" -i "r: random" -e "y = outer(x, arange(100.)) * 1.25" -e "k, u = uniform(0., 1., (2,), rng=r)" --outputs y,u | grun "x=ones((7, 3))" --each x --shuffle 3 --seed 4 --report long.html >/dev/null'
    valid long.html
    page ask long.html '[[dict(d["run"]["settings"])[k] for k in ("each", "shuffle", "seed")], d["run"]["done"], [len(r[2]) for r in d["run"]["results"]][0], d["run"]["results"][0][2][-8:]]' |
        grep -qE "\[\['x', '3', '4'\], 7, 1004, '.* \.\.\.'\]"
    # what a trace says of the values
    ok 'grun m.tlg x="[[1,2,3],[4,5,6]]" y="ones(2)" --steps 2 --trace t.trace --report t.html >/dev/null'
    valid t.html
    page ask t.html '(lambda g, v: [[column(v, k, g["nvar"])[i] for k in ("min", "max", "mean", "nan", "inf")] for i, n in enumerate(column(g["var"], "name", g["nvar"])) if d["strings"][n] == "x"])(d["graphs"][0], d["values"][0])' |
        grep -qF '[[1.0, 6.0, 3.5, 0.0, 0.0]]'
    # a run that ends early; one without numbers among its outputs; one that fails
    ok 'grun m.tlg x="ones((5, 3))" y="ones(5)" --steps 40 --until "loss < 1e9" --report u.html >/dev/null'
    page ask u.html '[d["run"]["ended"], d["run"]["done"]]' | grep -qF "['until', 1]"
    ok 'gload -e "y = x * 2" -i "x: float64[2]" | grun x=[1,2] --report v.html' 'y = [2.0, 4.0]'
    page ask v.html '[d["run"]["series"], d["run"]["results"]]' | grep -qF "[[], [['y', 'float64[2]', '[2.0, 4.0]']]]"
    bad 5 E_ 'divi' "gload -e 'y = x // 0' -i 'x: int64' | grun x=1 --report none.html"
    [ ! -e none.html ]
    bad 2 E_USAGE '\-\-report writes files named .html' 'grun m.tlg x="ones((5, 3))" y="ones(5)" --report run.svg'
}
