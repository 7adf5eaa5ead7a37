# gprof: what is counted, by what it is grouped, and how it is judged.
load common

@test "assertions have units" {
    gload --new -i 'x: float64[n]' -e 'y = exp(x)' -o g.tlg
    local G='gprof g.tlg --static --dim n=1000000 -o o' holds
    while IFS='|' read -r holds; do
        ok "$G --assert '$holds'" ''
    done <<'T'
leaves_bytes == 8MB
leaves_bytes == 8 MB
leaves_bytes == 8000kB
leaves_bytes == 0.008 GB
leaves_bytes < 8M
leaves_bytes < 8 MiB
leaves_bytes > 7.5 M
flops == 1 MFLOP
flops == 1e-3GFLOP
flops * 2 == 2 MFLOP
plan_time_s < 100 s
rewrite_time_s < 100000 ms
T
    bad 1 E_VERDICT 'the assertion leaves_bytes < 1MB does not hold' "$G --assert 'leaves_bytes < 1MB'"
    ok "$G --assert '1MB < leaves_bytes < 1 GB' --assert 'flops > 0 and not flops < 0' --assert '0 if flops < 0 else 1' -o r.txt"
    bad 1 E_VERDICT 'leaves_bytes is [0-9]+' "$G --assert '0 < leaves_bytes < 1MB or flops < 0 < 1'"
    grep -q 'note: flops is ' .err
    grep -q 'note: leaves_bytes is 8000000, 8.00M$' .err
    bad 1 E_VERDICT 'flops' "$G --assert 'flops < 0.5 MFLOP'"
    # what is no unit stays what it is
    bad 3 E_ '' "$G --assert 'flops < 5 MX'"
    bad 2 E_UNKNOWN 'no total MB' "$G --assert 'flops < MB'"
}

@test "a write in place counts what it writes" {
    local e written read
    while IFS='|' read -r e written read; do
        gload --new -i 'x: float64[n]' -e "y = $e" -e 'z = cumsum(y)' --outputs z -o g.tlg
        for how in '--static --dim n=1000' "--dim n=1000 x=ones(1000) --repeat 1"; do
            gprof g.tlg $how -O json |
                jq -e --argjson w "$written" --argjson r "$read" '.apply[] | select(.op | test("_subtensor")) | .written_bytes == $w and .read_bytes == $r'
        done
    done <<'T'
set_subtensor(sort(x)[2:5], 3.)|24|24
inc_subtensor(sort(x)[2:5], 3.)|24|48
set_subtensor(sort(x)[2:5], x[:3])|24|40
inc_subtensor(sort(x)[[1, 1, 2, 7]], 1.)|32|72
set_subtensor(x[2:5], 3.)|8000|8024
T
    # in a loop, too
    gload --new -i 'x: float64[100]' -e "y = scan(lambda i, s: set_subtensor(sort(s)[i], 1. * i), sequences=[arange(50)], outputs_info=[x], keep='last')" -o s.tlg
    gprof s.tlg --static -O json | jq -e '[.apply[] | select(.op == "set_subtensor")] | length == 1 and .[0].written_bytes == 50 * 8'
    # a state that is needed last alone: steps change it where the result is, and nothing else has its size
    gload --new -i 'x: float64[n, 1000]' -i 'u: float64[n, 1000]' -e "y = scan(lambda i, v, s: inc_subtensor(s[i], sqrt(v) + v), sequences=[arange(20), u], outputs_info=[x], keep='last')" -o s.tlg
    for how in '--static --dim n=500' "x=ones((500,1000)) u=ones((500,1000)) --repeat 1"; do
        gprof s.tlg $how -O json | jq -e '[.apply[] | select(.op | test("inc_subtensor"))] | length == 1 and .[0].written_bytes == 20 * 8000 and .[0].read_bytes == 40 * 8000 + 20 * 8'
        gprof s.tlg $how -O json | jq -e '.total.peak_bytes < 4.3e6'
    done
    gprof s.tlg x='ones((500,1000))' u='ones((500,1000))' --repeat 1 -O json | jq -e '.total.measured_peak_bytes < 4.2e6'
}

@test "costs by function, by prefix of names, by line" {
    cat >m.yaml <<'Y'
thunkline: 1
name: m
functions:
  f:
    inputs: {x: "float64[k]"}
    let: |
      s = sort(cumsum(x) * 2.)
    outputs: [s]
inputs: {x: "float64[n]"}
let: |
  enc_a = sort(f(x))
  enc_b = cumsum(enc_a)
  dec.h = sort(exp(enc_b))
outputs: [dec.h]
Y
    sed -i 's/dec\.h/dec_h/' m.yaml
    grewrite --exclude inline m.yaml -o m.tlg
    ok 'gprof m.tlg --static --dim n=100 --by function -O json | jq -c "[.function[] | [.name, .applies]] | sort"' '[["f",3],["the graph itself",5]]'
    ok 'gprof m.tlg --static --dim n=100 --by prefix -O json | jq -c "[.prefix[] | [.name, .applies]] | sort"' '[["dec",2],["enc",3],["f",3]]'
    ok 'gprof m.tlg --static --dim n=100 --by line -O json | jq -c "[.line[] | [.name, .applies]] | sort"' '[["m.yaml:11",2],["m.yaml:12",1],["m.yaml:13",2],["m.yaml:7",3]]'
    like 'gload m.yaml | gprof --static --dim n=100 --by line' '  line$' '  m.yaml:13$'
    ok 'gload --new -i "x: float64[3]" -e "y = sort(x)" | gprof --static --by line -O tsv | cut -f1 | tail -1' '--expr'
    # every grouping has the same sum
    local by
    for by in class op apply rule function prefix line; do
        gprof m.tlg --static --dim n=100 --by $by -O json | jq -e --arg by $by '.total.flops == ([.[$by][].flops] | add)'
    done
}

@test "--compare names each op and each cost that got worse" {
    local text
    gload --new -i 'x: float64[n]' -e 'y = sort(exp(x))' -e 'z = cumsum(y)' --outputs z -o old.tlg
    gload --new -i 'x: float64[n]' -e 'y = sort(exp(x))' -e 'z = cumsum(cumsum(y)) @ tanh(x)' --outputs z -o new.tlg
    gprof old.tlg --static --dim n=1000 -O json -o old.json
    gprof new.tlg --static --dim n=1000 --compare old.json -O json -o c.json
    jq -e '.worse | map(select(.op == "running_sum")) | map(.cost) | sort == ["bytes", "flops"]' c.json
    jq -e '.worse[] | select(.op == "running_sum" and .cost == "flops") | . == {op, cost, before: 1000, now: 2000, ratio: 2}' c.json
    jq -e '.worse[] | select(.op == "tanh" and .cost == "math_calls") | .before == 0 and .ratio == null' c.json
    jq -e 'all(.worse[]; .op != "sort" and .op != "exp")' c.json
    like 'gprof new.tlg --static --dim n=1000 --compare old.json' '^bytes +48\.0 kB +[0-9.]+ kB +[0-9.]+$' '^got worse +before +now +ratio  op$' '^flops +1\.00k +2\.00k +2\.000  running_sum$'
    bad 1 E_VERDICT 'flops was .* and is now .*, more than 1.2 times as much' 'gprof new.tlg --static --dim n=1000 --compare old.json --fail-above 1.2 -o o'
    grep -q 'note: bytes was 48.0 kB and is now' .err
    grep -q 'note: math_calls was 1.00k and is now 2.00k' .err
    grep -q 'note: running_sum: flops was 1.00k and is now 2.00k' .err
    # costs that are symbols now aren't compared with numbers; times of a run with those of another
    like 'gprof new.tlg --static --compare old.json' '^applies +3 +6 +2.000$' '^unknown_bytes +0 +0 +1.000$'
    run ! grep -Eq '^flops +[0-9]|got worse' .out
    ok 'gprof new.tlg --static --compare old.json -O json | jq -c .worse' '[]'
    gprof old.tlg 'x=ones(1000)' -O json -o run.json
    gprof new.tlg 'x=ones(1000)' --compare run.json -O json | jq -e '.worse | map(select(.op == "tanh") | .cost) | sort == ["bytes", "flops", "math_calls", "time_s"]'
    for text in '[]' '{"profile": 1}' '{"op": [{"name": "exp", "flops": "many"}]}' 3; do
        echo "$text" >odd.json
        shell 'gprof new.tlg --static --dim n=9 --compare odd.json'
        [ "$status" = 3 ] && grep -q 'odd.json' .err || complain 'should be no report' "$text"
    done
    # nothing got worse, and reports without ops
    gprof old.tlg --static --dim n=1000 --compare old.json -O json | jq -e '.worse == []'
    gprof old.tlg --static --dim n=1000 --by apply -O json -o apply.json
    gprof new.tlg --static --dim n=1000 --compare apply.json -O json | jq -e '.worse == []'
    python_with jsonschema
    "$PYTHON" -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' c.json "$ROOT/schemas/profile.schema.json"
}

@test "rows of --memory name what they make; steps that are known are counted" {
    gload --new -i 'x: float64[n]' -e 'y = sort(exp(x) + x)' -o g.tlg
    like 'gprof g.tlg --static --dim n=9 --memory' '^ 0 .* fused_1\(x\)  # fused\(exp, add\)$'
    gprof g.tlg --static --dim n=9 --memory -O json | jq -e '.memory[0].name | endswith("# fused(exp, add)")'
    gload --new -i 'x: float64[n, 3]' --shared 'A: float64[3, 3] = eye(3)' -e "h, l = scan(lambda x, h, l: (tanh(A @ h + x), l + sum(h**2)), sequences=[x], outputs_info=[ones(3), 0.0], keep='last')" -e 'loss = l * 1.' --outputs loss -o s.tlg
    ggrad s.tlg --cost loss --wrt A --checkpoint sqrt |
        gprof --static --dim n=20000 -O json | jq -e '.total | .unknown_flops == 0 and .unknown_bytes == 0 and .flops > 2e6'
}

@test "the picture of memory has names, ticks, and who is alive at the peak" {
    gload --new -i 'x: float64[n]' -e 'a = sort(x)' -e 'b = cumsum(a)' -e 'c = print(sort(b) @ a, "<&>")' -e 'd = sort(cumsum(c * x))' --outputs d -o g.tlg
    gprof g.tlg --static --dim n=1000 -O svg >m.svg
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' m.svg
    grep -q '<title>0: a = sort(x, axis=0)$' m.svg
    grep -q '^8.00 kB alive</title>' m.svg
    grep -q '&lt;&amp;&gt;' m.svg
    grep -q 'text-anchor="middle">0</text>' m.svg
    grep -q '>alive at the peak (dashed):</text>' m.svg
    assert_equal "$(sed -n '/alive at the peak/,$p' m.svg | grep -c '>8.00 kB</text>')" 3
    # a family has one colour, whatever else is in the picture
    local e
    for e in 'sort(x)' 'sort(cumsum(x))' 'cumsum(sort(exp(x)))'; do
        gload --new -i 'x: float64[9]' -e "y = $e" | gprof --static -O svg | grep -o 'fill="[^"]*" d="[^"]*"/*><title>sort<' | cut -d'"' -f2
    done >colours
    assert_equal "$(sort -u colours | wc -l), $(wc -l <colours)" '1, 3'
    # long names are cut, and nothing at all is a picture too
    gload --new -i 'x: float64[n]' -e "y = sort(print(x, '$(printf 'é%.0s' $(seq 200))'))" | gprof --static --dim n=9 -O svg >l.svg
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' l.svg
    gload --new -i 'x: float64[3]' -e 'y = x' | gprof --static -O svg >e.svg
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' e.svg
}
