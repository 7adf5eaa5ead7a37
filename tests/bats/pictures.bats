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
