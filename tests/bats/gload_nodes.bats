# gload -O json --nodes: a graph as data.
load common

model() {
    cat >m.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {a: "float64[k]"}
    let: r = tanh(a)
    outputs: [r]
inputs: {x: "float64[n, 3]"}
shared: {W: "float64[3, 2] = ones((3, 2))"}
let: |
  h = x @ W
  s = sum(f(h[:, 0]), axis=0)
outputs: {loss: s}
updates: {W: W * 0.5}
Y
}
valid() {
    python_with jsonschema
    "$PYTHON" -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' "$1" "$ROOT/schemas/nodes.schema.json"
}

@test "nodes and variables, with ids, lines, types and bytes" {
    model
    gload m.yaml -O json --nodes >n.json
    valid n.json
    jq -e '.nodes | map(.op) | contains(["matmul", "subtensor", "call", "sum", "multiply"])' n.json
    jq -e '.nodes | map(.id) == [range(length)]' n.json
    jq -e '.nodes[] | select(.name == "h") | .op == "matmul" and .line == 10' n.json
    jq -e '.nodes[] | select(.op == "sum") | .name == "s" and .line == 11 and .props.keepdims == false' n.json
    jq -e '.nodes[] | select(.op == "call") | .props.fn == "f"' n.json
    jq -e '.vars[] | select(.name == "W") | . == {id, name: "W", type: "float64[3, 2]", bytes: 48, kind: "shared"}' n.json
    jq -e '.vars[] | select(.name == "x") | .type == "float64[n, 3]" and .bytes == null and .kind == "input"' n.json
    jq -e '.functions.f.nodes | map(.op) == ["tanh"]' n.json
    # edges lead from variable to variable
    jq -e '(.vars | map({(.id | tostring): .name}) | add) as $n | [.nodes[] | select(.name == "h") | .inputs[] | $n[tostring]] == ["x", "W"]' n.json
    jq -e '(.vars[] | select(.name == "s").id) as $s | .outputs == [{name: "loss", var: $s}]' n.json
    jq -e '(.vars[] | select(.name == "W").id) as $w | .updates | length == 1 and .[0].shared == $w' n.json
    # every input is a variable, which a node before makes, if any does
    jq -e '. as $g | [.nodes[] | .id as $i | .inputs[] as $v | $g.nodes[] | select(any(.outputs[]; . == $v)) | .id < $i] | all' n.json
}

@test "--nodes of other graphs, behind edits, and without -O json" {
    model
    gload m.yaml | gload --dim n=5 -O json --nodes >n.json
    jq -e '.vars[] | select(.name == "x") | .bytes == 120' n.json
    ggrad m.yaml --cost s --wrt W | grewrite | gload -O json --nodes >g.json
    valid g.json
    gload --new -i 'x: float64[3]' -e 'y = x' -O json --nodes >e.json
    valid e.json
    jq -e '.nodes == [] and .functions == {} and (.vars | length) == 1' e.json
    gload --new -i 'l: list(float64[2])' -e 'a, b = qr(list_get(l, 0)[None])' --outputs a -O json --nodes >l.json
    valid l.json
    jq -e '.nodes[] | select(.op == "qr") | .outputs | length == 2' l.json
    # props of every kind
    gload --new -i 'x: float64[2, 3]' -e "y = norm(grad_scale(sum(x, axis=[0], keepdims=True), 0.5), 'fro') + cumsum(x, axis=0, exclusive=True)" -O json --nodes >p.json
    valid p.json
    jq -e '[.nodes[].props] | add | .keepdims == true and .axis == 0 and .exclusive == true and .multiplier == 0.5' p.json
    ok 'gload --new -i "x: float64" -e "y = sin(x)" -o n.json --nodes && jq -r .nodes[].op n.json' sin
    bad 2 E_USAGE '\-\-nodes needs -O json' 'gload m.yaml --nodes'
    bad 2 E_USAGE '\-\-nodes needs -O json' 'gload m.yaml --nodes -O yaml'
}
