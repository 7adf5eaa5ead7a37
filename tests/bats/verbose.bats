# -v: what is done, on standard error.
load common

told() { # a command line that succeeds, whatever it says
    shell "$1"
    [ "$status" = 0 ] || complain 'status 0' "$1"
}

lines() { # of .err without the tool and the time
    sed -E 's/^[a-z]+: [0-9.]+ s: //' .err
}

@test "-v tells what each tool reads, does and writes" {
    told 'gload -v -e "sin(x)**2" -o g.tlg'
    lines | grep -qx 'wrote 2 Applies to g.tlg: tlg'
    told 'ggrad -v g.tlg -o d.tlg'
    lines | grep -qx 'the graph has 1 input, 0 shared variables, 1 output, 0 functions, 2 Applies: 1 power, 1 sin'
    lines | grep -Eqx 'read g.tlg: tlg, [0-9]+ bytes'
    lines | grep -Eqx 'differentiated: 2 -> [0-9]+ Applies'
    told 'grewrite -v d.tlg -o r.tlg'
    lines | grep -Eqx 'rewrote with FAST_RUN in [0-9]+ sweeps: [0-9]+ -> [0-9]+ Applies, [0-9]+ replacements: .*pow-two [0-9]+.*'
    told 'grun -v r.tlg x=1 --steps 3 -o o.txt'
    lines | grep -Eqx 'planned 1 instruction \(1 fused\), [0-9]+ bytes; [0-9]+ threads?, CPU level (baseline|AVX2|AVX-512)'
    lines | grep -qx 'ran 3 calls'
    told 'grun -v r.tlg x=1 --steps 3 --until "out > 0" -o o.txt'
    lines | grep -qx 'ran 1 call'
    told 'gprof -v --static d.tlg -o p.txt'
    lines | grep -q '^the graph has 1 input'
}

@test "-v rewrites in grun, too, and says so" {
    told 'grun -v --mode FAST_COMPILE x=1 <<<"{\"thunkline\": 1, \"inputs\": {\"x\": \"float64\"}, \"outputs\": {\"y\": \"x * 1\"}}"'
    lines | grep -q '^rewrote with FAST_COMPILE'
}

@test "-v times rise, and a file's name can't hurt a terminal" {
    printf 'thunkline: 1\noutputs: {y: 1 + 1}\n' >$'a\e[31m.yaml'
    shell "grun -v *.yaml -o o.txt"
    [ "$(grep -c $'\e' .err)" = 0 ]
    sed -E 's/^grun: ([0-9.]+) s: .*/\1/' .err | sort -c -g
}

@test "without -v there is nothing to read; with --errors json, records" {
    python_with jsonschema
    ok 'gload -e "x * 2" | ggrad | grewrite | grun x=1 -o o.txt' ''
    [ ! -s .err ]
    told 'gload -v --errors json -e "x * 2" -o g.tlg'
    told 'grun -v --errors json g.tlg x=1 -o o.txt'
    "$PYTHON" - "$ROOT/schemas/diag.schema.json" .err <<'END'
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
seen = [json.loads(line) for line in open(sys.argv[2])]
for d in seen:
    v.validate(d)
assert [d["severity"] for d in seen] == ["info"] * len(seen) and len(seen) >= 4, seen
assert not v.is_valid({"tool": "grun", "severity": "error", "message": "", "seconds": 1})
END
}
