# The pages of -O html in a real browser, by tests/page/*.mjs: node and Chromium, skipped by name where one isn't there.
load common

need_node() { command -v node >/dev/null || skip 'there is no node'; }
need_browser() {
    need_node
    command -v "${CHROMIUM:-chromium}" >/dev/null || skip 'there is no chromium'
}
# Runs a program of tests/page, which says on stdout what it found.
page() { node "$ROOT/tests/page/$1.mjs" "${@:2}"; }

# A chain of N Applies, a name for each tenth.
chain() { # N
    printf 'thunkline: 1\nname: chain\ninputs: {x: "float64[n]"}\nlet: |\n'
    awk -v n="$1" 'BEGIN { p = "x"; for (i = 0; i < n / 2; i++) { v = "block" int(i / 50) "_h" i; print "  " v " = tanh(" p ") * 2"; p = v } print "outputs: [" p "]" }'
}

# Tokens in, a loss, and adam's updates: about 500 Applies.
transformer() {
    cat <<'EOF'
thunkline: 1
name: transformer
doc: Two layers of attention that predict the next token.
inputs: {tokens: "int64[b, t]", next: "int64[b, t]"}
shared:
  embed: float32[50, 32] = zeros((50, 32))
EOF
    local l n
    for l in 0 1; do
        for n in q k v o; do printf '  layer%s_%s: float32[32, 32] = eye(32)\n' $l $n; done
        printf '  layer%s_up: float32[32, 128] = zeros((32, 128))\n  layer%s_down: float32[128, 32] = zeros((128, 32))\n' $l $l
    done
    printf 'let: |\n  x0 = embed[tokens]\n'
    for l in 0 1; do
        sed "s/L_/layer${l}_/g; s/IN/x$l/g; s/OUT/x$((l + 1))/g" <<'EOF'
  L_n = (IN - mean(IN, axis=2, keepdims=True)) / sqrt(var(IN, axis=2, keepdims=True) + float32(0.1))
  L_att = softmax((L_n @ L_q) @ transpose(L_n @ L_k, (0, 2, 1)) / float32(5.6), axis=2)
  L_mix = IN + L_att @ (L_n @ L_v) @ L_o
  OUT = L_mix + tanh(L_mix @ L_up) @ L_down
EOF
    done
    printf '  logp = log_softmax(x2 @ transpose(embed), axis=2)\n  loss = -mean(sum(where(next[:, :, None] == arange(50), logp, float32(0)), axis=2))\noutputs: [loss]\n'
}

@test "the layout in C and the one in the page agree in every digit" {
    need_node
    local e
    for e in "$ROOT"/examples/*/model.yaml "$ROOT"/tests/data/onnx/lstm.onnx; do
        gload "$e" -O html -o page.html
        gload "$e" -O svg -o page.svg
        page layout page.html page.svg
    done
}

@test "every example's page loads in silence and asks nothing of a network" {
    need_browser
    local e n=0 pages=()
    for e in "$ROOT"/examples/*/model.yaml; do
        n=$((n + 1))
        gload "$e" -O html -o $n.html
        pages+=("$n.html")
    done
    page pages "${pages[@]}"
}

@test "clicks choose, boxes open and close, search and links find, ancestors and paths are marked, dark follows the system" {
    need_browser
    gload "$ROOT/examples/mlp/model.yaml" -O html -o page.html
    page touch page.html hidden loss
}

@test "boxes show what is inside: short names, fused groups; a wide picture opens where nodes are" {
    need_browser
    transformer | ggrad --cost loss --optimizer 'sgd(0.1)' | grewrite -O html -o page.html
    page inside page.html
}

@test "panels say what -O json --nodes says" {
    need_browser
    local e
    for e in rnn metropolis; do
        gload "$ROOT/examples/$e/model.yaml" -O html -o page.html
        gload "$ROOT/examples/$e/model.yaml" -O json --nodes >nodes.json
        page panels page.html nodes.json
    done
}

@test "a transformer's step: the page has the report's peak, largest tensor and costliest Apply" {
    need_browser
    transformer >t.yaml
    ggrad t.yaml --cost loss --optimizer 'adam(0.01)' | grewrite -o step.tlg
    gprof step.tlg --static --dim b=8 --dim t=16 -O html -o page.html
    gprof step.tlg --static --dim b=8 --dim t=16 -O json >report.json
    page profile page.html report.json
    page pages page.html
}

@test "two profiles compared, two graphs side by side" {
    need_browser
    transformer >t.yaml
    ggrad t.yaml --cost loss --optimizer 'adam(0.01)' -o step.tlg
    grewrite step.tlg -o fast.tlg
    gprof step.tlg --static --dim b=8 --dim t=16 --mode FAST_COMPILE -O json >old.json
    gprof fast.tlg --static --dim b=8 --dim t=16 --compare old.json -O html -o compare.html
    page pages compare.html
    run grewrite step.tlg --diff fast.tlg -O html -o differ.html
    [ "$status" = 1 ]
    page diff differ.html differ
    grewrite step.tlg --diff step.tlg -O html -o equal.html
    page diff equal.html equal
}

@test "a rewriting step by step ends at the graph that came out" {
    need_browser
    transformer >t.yaml
    ggrad t.yaml --cost loss --wrt layer0_up -o g.tlg
    grewrite g.tlg --explain -O html -o page.html 2>/dev/null
    grewrite g.tlg --explain -o /dev/null 2>steps.txt
    page explain page.html steps.txt
}

@test "the report of a run has what the run printed" {
    need_browser
    ggrad "$DIGITS/model.yaml" --cost loss --wrt W,b --optimizer 'sgd(0.5)' | grewrite -o step.tlg
    cp "$DIGITS"/*.npy .
    grun step.tlg x='float32(load("x.npy")[:1500]) / 16' y=@y.npy[:1500] --steps 60 --every 5 -O tsv --report page.html >table.tsv
    page run page.html table.tsv
}

@test "a hostile graph does nothing" {
    need_browser
    cat >'"><script>window.harm=3<.yaml' <<'EOF'
thunkline: 1
name: hostile
doc: "</script><script>window.harm=1</script> \u202Eevil\u202C <img src=x onerror=window.harm=1>"
inputs: {x: "float64[n]"}
let: |
  y = x + 1  # </script><script>window.harm = 2</script> "quoted' <b>
  z = y * 2 # <!-- ‮txet‬ -->
outputs: [z]
EOF
    gload '"><script>window.harm=3<.yaml' -O html -o page.html
    page hostile page.html '</script><script>window.harm=1</script>' '<img src=x onerror=window.harm=1>' "\"quoted' <b>" '"><script>window.harm=3<.yaml'
}

@test "how long a page takes: printed, not judged" {
    need_browser
    local n
    for n in 1000 10000; do
        chain $n >chain.yaml
        gload chain.yaml -O html -o $n.html
        page pages $n.html | sed 's/^/# /' >&3
    done
}
