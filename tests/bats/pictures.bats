# gload -O dot: what a picture shows, and what a large graph leaves out.
load common

@test "derivatives have a colour of their own" {
    gload --new -i 'x: float64[3]' -e 'y = sum(exp(x) * x)' -o g.tlg
    ok 'gload g.tlg -O dot | grep -c navajowhite || true' 0
    ggrad g.tlg --cost y --wrt x | gload -O dot >d.dot
    grep -q 'label="exp"\];' d.dot
    grep -q 'label="multiply", style=filled, fillcolor=navajowhite\];' d.dot
}

@test "--simple leaves constants, shapes and casts out, and every edge has two ends" {
    gload --new -i 'x: float32[n, 3]' -e 'm = float64(x) * 2.5 + ones((x.shape[0], 3)) * (x.shape[0] - 1)' -e 's = sum(float32(m))' -e 'k = x.shape[0] * 2' -e 'c = float32(s) + 1' --outputs s,k,c -o g.tlg
    gload g.tlg -O dot >full.dot
    gload g.tlg -O dot --simple >simple.dot
    local w
    for w in 'cast' '2\.5' 'shape=box, label="n' 'label="subtract"'; do
        grep -q "$w" full.dot
        run grep "$w" simple.dot
        assert_failure
    done
    grep -q 'label="sum' simple.dot
    # what an output shows stays, with what is drawn of its inputs
    ok 'grep -c "fillcolor=lightskyblue" simple.dot' 3
    # a name in an edge is a node that is drawn
    for f in full simple; do
        grep -o '[vao]0_[0-9]* -> [vao]0_[0-9]*' $f.dot | tr -d '>' | tr -s ' -' '\n\n' | sort -u >ends
        grep -o '^ *[vao]0_[0-9]* \[' $f.dot | tr -d ' [' | sort -u >nodes
        assert_equal "$(comm -23 ends nodes)" ''
    done
    # a constant and a dim as outputs
    gload --new -i 'x: float64[n]' -e 'a = x.shape[0]' -e 'b = array([1., 2.])' -e 'd = float32(b)' --outputs a,b,d -O dot --simple >o.dot
    grep -o '[vao]0_[0-9]* -> [vao]0_[0-9]*' o.dot | tr -d '>' | tr -s ' -' '\n\n' | sort -u >ends
    grep -o '^ *[vao]0_[0-9]* \[' o.dot | tr -d ' [' | sort -u >nodes
    assert_equal "$(comm -23 ends nodes)" ''
}

@test "a large graph asks for a quick layout, with names and types in the ellipses" {
    {
        printf 'thunkline: 1\ninputs: {x: "float32[b, 4]"}\nshared: {W: "float32[4, 4] = eye(4)"}\nlet: |\n  h0 = x @ W\n'
        for i in $(seq 80); do echo "  h$i = tanh(h$((i - 1)) @ W) + x"; done
        printf '  loss = sum(h80)\noutputs: [loss]\n'
    } >deep.yaml
    ggrad deep.yaml --cost loss --wrt W >deep.tlg
    gload deep.tlg -O json --nodes | jq -e '.nodes | length > 500'
    gload deep.tlg -O dot --simple >deep.dot
    grep -q 'splines=line' deep.dot
    grep -q 'label="add\\nh7: float32\[b, 4\]"' deep.dot
    run grep -E -- '-> a.*label=' deep.dot
    assert_failure
    gload --new -i 'x: float64' -e 'y = sin(x)' -O dot >small.dot
    run grep splines small.dot
    assert_failure
    command -v dot || skip 'no Graphviz'
    timeout 60 dot -Tsvg deep.dot -o deep.svg
}

# The picture in FILE.dot is one that Graphviz takes, and every edge ends in nodes that are drawn.
whole() {
    grep -o '[vaogrm][0-9]*_[0-9_]* -> [vaogrm][0-9]*_[0-9_]*' "$1.dot" | tr -d '>' | tr -s ' -' '\n\n' | sort -u >ends
    grep -o '[vaogrm][0-9]*_[0-9_]* \[[a-z]*=' "$1.dot" | cut -d' ' -f1 | sort -u >nodes
    assert_equal "$(comm -23 ends nodes)" ''
    assert_equal "$(grep -o '^ *[vaogrm][0-9]*_[0-9_]* \[' "$1.dot" | sort | uniq -d)" ''
    command -v dot >/dev/null || return 0
    timeout 60 dot -Tcanon "$1.dot" >/dev/null 2>canon.err
    assert_equal "$(cat canon.err)" ''
}

# picture NAME OPTIONS...: writes NAME.dot
picture() {
    gload "${@:2}" -O dot >"$1.dot"
    whole "$1"
}

deep() { # layers
    printf 'thunkline: 1\ninputs: {x: "float32[b, 4]"}\nshared:\n'
    seq -f '  layer%g_W: "float32[4, 4] = eye(4)"' "$1"
    printf 'let: |\n  layer0_h = tanh(x)\n'
    for i in $(seq "$1"); do
        printf '  layer%d_a = layer%d_h @ layer%d_W + 1\n  layer%d_h = tanh(layer%d_a) + x\n' "$i" $((i - 1)) "$i" "$i" "$i"
    done
    printf '  loss = sum(layer%d_h ** 2)\noutputs: [loss]\n' "$1"
}

@test "--depth N: names with a common beginning are one node, with their Applies, shared variables and edges counted" {
    gload --new -i 'x: float64[3]' --shared 'enc_0_W: float64[3] = ones(3)' -e 'enc_0_q = exp(x) * enc_0_W' -e 'enc_0_k = sin(x)' -e 'enc_1_q = enc_0_q + enc_0_k * 2' -e 'enc_1_k = cos(enc_0_q)' \
        -e 'dec_a = enc_1_q * enc_1_k' -e 'dec_b = sum(dec_a)' -e 'out = dec_b ** 2 + 1' --outputs out,enc_0_k -o g.tlg
    picture 1 g.tlg --depth 1
    grep -q 'label="enc\\n6 Applies, 1 shared"' 1.dot
    grep -q 'label="dec\\n2 Applies"' 1.dot
    grep -q 'label="out\\n2 Applies"' 1.dot
    assert_equal "$(grep -c '^ *[ag]0_[0-9]* \[' 1.dot)" 3
    assert_equal "$(grep -c 'label="×2"' 1.dot)" 1 # enc_1_q and enc_1_k; x is one variable however often enc reads it
    assert_equal "$(grep -c 'v0_0 -> g' 1.dot)" 1
    run grep -E 'exp|enc_0_W|constant|2\.0' 1.dot
    assert_failure
    # a level deeper: boxes of groups; what has a single Apply is that Apply
    picture 2 g.tlg --depth 2
    assert_equal "$(grep -o 'label="\(enc\|dec\|out\)";' 2.dot | sort | tr -d '\n')" 'label="dec";label="enc";label="out";'
    grep -q 'label="enc_0\\n3 Applies, 1 shared"' 2.dot
    grep -q 'label="enc_1\\n3 Applies"' 2.dot
    grep -q 'a0_[0-9]* \[label="sum"\]' 2.dot
    picture 3 g.tlg --depth 3
    grep -q 'label="enc_0";' 3.dot
    grep -q 'v0_[0-9]* \[shape=box, label="enc_0_W' 3.dot
    grep -q 'label="enc_0_q\\n2 Applies"' 3.dot
    # deep enough, nothing is collapsed
    picture 9 g.tlg --depth 9
    run grep Applies 9.dot
    assert_failure
    # a beginning that all names share is no level
    gload g.tlg --prefix 'my__net_' -o p.tlg
    picture p p.tlg --depth 1
    grep -q 'label="my__net_enc\\n6 Applies' p.dot
    # names with separators at their ends, and labels that are no names
    printf '%s\n' 'thunkline: 1' 'inputs: {_x: float64}' 'let: |' '  _ = sin(_x) * 2' '  a_ = cos(_) + 1' '  a__b = exp(a_) * 3' 'outputs: {_: _, a_: a_, "a/<\"&>\\": a__b, "</&\"": cos(a_) * 2}' >odd.yaml
    picture odd odd.yaml --depth 1
    grep -qF 'label="_\n2 Applies"' odd.dot
    grep -qF 'label="a_\n2 Applies"' odd.dot
    grep -qF 'label="a__b\n2 Applies"' odd.dot
    grep -qF 'label="</&\"\n2 Applies"' odd.dot
    grep -qF 'label="a/<\"&>\\\nfloat64"' odd.dot
}

@test "--depth 1 of a training graph: forward, gradients and updates stand beside each other, a layer a row" {
    deep 30 >deep.yaml
    ggrad deep.yaml --cost loss --optimizer 'adam(0.01)' -o deep.tlg
    gload deep.tlg -O json --nodes | jq -e '.nodes | length > 700'
    picture d deep.tlg --depth 1
    assert_equal "$(grep -c 'label="layer[0-9]*\\n4 Applies, 3 shared"' d.dot)" 30
    assert_equal "$(grep -c 'label="gradient of layer[0-9]*\\n.*fillcolor=navajowhite' d.dot)" 30
    assert_equal "$(grep -c 'label="update of layer[0-9]*\\n.*fillcolor=lightyellow' d.dot)" 30
    assert_equal "$(grep -c 'label="update ×3"' d.dot)" 30
    assert_equal "$(grep -c '{rank=same; g0_[0-9]*; g0_[0-9]*;}' d.dot)" 61
    # what all updates need has a group of its own, which is named where it is read
    grep -q 'label="update of all\\n' d.dot
    assert_equal "$(grep -c 'r0_.*label="update of all"' d.dot)" 30
    picture f deep.tlg --depth 2 --simple
    grep -q 'label="gradient of layer7";' f.dot
    command -v dot || skip 'no Graphviz'
    for f in d f; do
        timeout 30 dot -Tsvg $f.dot -o $f.svg
        grep -q '<svg' $f.svg
    done
    # Graphviz' own figures: the first is a narrow column
    assert [ "$(sed -n 's/.*<svg width="\([0-9]*\)pt".*/\1/p' d.svg)" -lt 2000 ]
}

@test "--depth N: a function is one level deeper than its caller; calls of what isn't drawn say its size" {
    cat >f.yaml <<'EOF'
thunkline: 1
inputs: {x: float64}
functions:
  small:
    inputs: {v: float64}
    let: |
      w = sin(v) * v
    outputs: [w]
  large:
    inputs: {v: float64}
    let: |
      w = small(v) + 1
    outputs: [w]
let: |
  y = large(x)
outputs: [y]
EOF
    picture 1 f.yaml --depth 1
    grep -qF 'label="call(fn='"'large'"')\nlarge: 2 Applies"' 1.dot
    run grep cluster 1.dot
    assert_failure
    picture 2 f.yaml --depth 2
    assert_equal "$(grep -o 'label="\(small\|large\)";' 2.dot)" 'label="large";'
    grep -qF 'label="w\n2 Applies"' 2.dot
    picture 3 f.yaml --depth 3
    assert_equal "$(grep -c 'label="\(small\|large\)";' 3.dot)" 2
    run grep ': 2 Applies' 3.dot
    assert_failure
}

@test "--around NAME draws what is near, and counts what isn't" {
    deep 9 >deep.yaml
    ggrad deep.yaml --cost loss -o deep.tlg
    picture 2 deep.tlg --around layer5_h
    picture 0 deep.tlg --around layer5_h:0
    assert_equal "$(grep -c '^ *a0_[0-9]* \[' 0.dot)" 1
    grep -q 'label="add", penwidth=3\]' 0.dot
    grep -q 'v0_0 \[shape=box, label="x' 0.dot
    assert_equal "$(grep -o '[0-9]* more' 0.dot | tr '\n' ' ')" '1 more 2 more '
    for n in layer5_a layer5_h; do grep -q "label=\"$n: " 2.dot; done
    run grep -E 'layer2|layer8' 2.dot
    assert_failure
    picture w deep.tlg --around layer5_W:1
    grep -q 'layer5_W' w.dot
    assert_equal "$(grep -c '^ *a0_[0-9]* \[' w.dot)" 2
    # everything is near enough; nothing is left out
    picture all deep.yaml --around loss:99
    run grep more all.dot
    assert_failure
    assert_equal "$(grep -c '^ *a0_[0-9]* \[' all.dot)" "$(gload deep.yaml -O json --nodes | jq '[.nodes[] | select(.op != "eye")] | length')"
    # together with groups, where a step is from group to group
    picture g deep.tlg --around layer5_h:1 --depth 1
    grep -q 'label="layer5\\n4 Applies, 1 shared", fillcolor=aliceblue, penwidth=3' g.dot
    assert_equal "$(grep -c '^ *g0_[0-9]* \[.*label="layer' g.dot)" 3
    # a name that ends like a distance, a value that nothing needs, a detail, a label
    printf '%s\n' 'thunkline: 1' 'inputs: {x: "float64[n]"}' 'let: |' '  y = sin(x)' '  idle = cos(x)' '  k = 2.5' 'outputs: {"a:1": y * k}' | gload -o l.tlg
    picture l l.tlg --around a:1
    grep -q 'label="multiply", penwidth=3' l.dot
    grep -q 'label="sin"' l.dot
    picture l l.tlg --around a:1:0
    run grep 'label="sin"' l.dot
    assert_failure
    picture i l.tlg --around idle
    grep -q 'label="cos", penwidth=3' i.dot
    picture k l.tlg --around k --simple
    grep -q '2.5' k.dot
}

@test "wrong uses of --depth and --around" {
    gload --new -i 'x: float64' -e 'y = sin(x)' -o g.tlg
    bad 2 E_USAGE 'must be at least 1' 'gload g.tlg -O dot --depth 0'
    bad 2 E_USAGE 'needs -O svg, dot or tree' 'gload g.tlg -O json --depth 1'
    bad 2 E_USAGE 'needs -O dot' 'gload g.tlg -O tree --around y'
    bad 2 E_USAGE 'NAME or NAME:K' 'gload g.tlg -O dot --around y:'
    bad 2 E_USAGE 'NAME or NAME:K' 'gload g.tlg -O dot --around y:-1'
    bad 2 E_USAGE 'NAME or NAME:K' 'gload g.tlg -O dot --around y:2x'
    bad 2 E_UNKNOWN 'no variable or output called yy' 'gload g.tlg -O dot --around yy'
    bad 2 E_UNKNOWN 'no variable or output called yy' 'gload g.tlg -O dot --around yy:3'
    # the suffix chooses the format, too
    ok 'gload g.tlg --around y --depth 2 -o g.dot && grep -c penwidth g.dot' 1
    like 'gload g.tlg -O tree --depth 1' sin
}
