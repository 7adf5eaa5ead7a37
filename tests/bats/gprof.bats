load common

X='x=float32(load("'$DIGITS'/x.npy")[:1500]) / 16'
Y="y=@$DIGITS/y.npy[:1500]"
digits() { gprof "$DIGITS/model.yaml" "$@"; }
# Small enough that no rewrite changes it: n * (2 * 64 * 10 + 10 + 64) flops.
small() {
    echo 'thunkline: 1
name: small
inputs: {x: "float32[n, 64]"}
shared: {W: "float32[64, 10] = ones((64, 10))"}
let: |
  h = tanh(x @ W)
  s = sum(x, axis=1)
outputs: [h, s]' >small.yaml
    gprof small.yaml "$@"
}
total() { jq -r ".total.$1" "$2"; }

@test "a report has totals and tables by class, op and Apply" {
    run small 'x=ones((1500, 64))'
    assert_success
    assert_line --index 0 'small: 3 applies, 3 runs of them a call; n=1500'
    assert_output --partial 'flops: 2.03M, math calls: 15.0k, GFLOP/s: '
    assert_line --regexp '^% time +sum +time +per call +calls +applies +flops +GFLOP/s +moved +class$'
    assert_line --regexp ' 1.92M .* linalg$'
    assert_line --regexp ' 1.92M .* matmul$'
    assert_line --regexp ' 1.92M .* _1 = x @ W$'
}

@test "flops and bytes by hand" {
    small --static --dim n=1500 -O json -o r.json
    assert_equal "$(total flops r.json)" $((1500 * (2 * 64 * 10 + 10 + 64)))
    assert_equal "$(total math_calls r.json)" 15000
    assert_equal "$(jq -r '.op[] | select(.name == "matmul") | .read_bytes' r.json)" $(((1500 * 64 + 640) * 4))
    assert_equal "$(total written_bytes r.json)" $((1500 * (10 + 10 + 1) * 4))
    assert_equal "$(jq -r '.static' r.json)" true
    assert_equal "$(total time_s r.json)" null
}

@test "a run and a static report agree" {
    digits "$X" "$Y" --repeat 2 -O json -o ran.json
    digits --static --dim n=1500 -O json -o told.json
    for f in applies calls flops math_calls read_bytes written_bytes peak_bytes peak_no_reuse_bytes least_bytes leaves_bytes; do
        assert_equal "$f $(total $f ran.json)" "$f $(total $f told.json)"
    done
    assert_equal "$(total runs ran.json)" 2
    jq -e '.total | .time_s > 0 and .time_min_s <= .time_s and .time_s <= .time_max_s and .measured_peak_bytes >= .least_bytes' ran.json
    jq -e '.total.flops == ([.apply[].flops] | add) and .total.flops == ([.class[].flops] | add)' ran.json
    jq -e '(.total.steps_time_s - ([.op[].time_s] | add)) | fabs < 1e-9' ran.json
}

@test "without dims costs are symbols" {
    run small --static --by op
    assert_success
    assert_output --partial 'flops: 1354*n, math calls: 10*n;'
    assert_line --regexp ' 1280\*n .* matmul$'
    assert_output --partial 'peak of memory: planned 44*n B; inputs, shared, constants: 256*n + 2560 B'
    small --static -O json -o r.json
    assert_equal "$(total flops r.json)" '1354*n'
    assert_equal "$(total peak_bytes r.json)" '44*n'
}

@test "values tell dims to a static report" {
    run digits --static "$X"
    assert_success
    assert_line --index 0 --partial 'n=1500'
}

@test "unknown figures are a question mark, never an error" {
    echo 'thunkline: 1
inputs: {x: "float32[?]"}
outputs: {o: exp(x) @ x}' >g.yaml
    run gprof g.yaml --static
    assert_success
    assert_output --partial '? the flops of 2 runs of Applies'
    # every operator of formulas tells; less than none is not told
    local flops is
    while read -r is flops; do
        printf 'thunkline: 1\nops:\n  f:\n    inputs: x\n    def: exp(x) + 1\n    flops: "%s"\n    partials: {x: exp(x)}\n' "$flops" >o.yaml
        gload --ops o.yaml -i 'x: float64[3]' -e 'f(x)' -o o.tlg
        run gprof --ops o.yaml --static o.tlg
        assert_line --partial "flops: $is, math"
    done <<'END'
3 ~x.ndim + 1
3 x.ndim & 1 | 0
9 +x.size
? -x.size
END
}

# FORMULA|of x: float64[3]|of x: float64[n]: the flops of an elementwise op for which the formula counts those of an element.
@test "formulas of flops tell numbers by sizes, and symbols without" {
    local formula told symbol n
    while IFS='|' read -r formula told symbol; do
        printf 'thunkline: 1\nops:\n  f:\n    inputs: x\n    props:\n      k: int = 2\n      c: float = 0.5\n      b: bool = True\n      a: ints = [4, 5]\n    def: exp(x) + k\n    flops: "%s"\n    partials: {x: exp(x)}\n' "$formula" >o.yaml
        for n in 3 n; do
            gload --ops o.yaml -i "x: float64[$n]" -e 'f(x)' -o o.tlg
            like 'gprof --ops o.yaml --static o.tlg' '^flops: '
            [ $n = n ] && told=$symbol
            grep -qF "flops: $told, math" .out || complain "$formula of $n: should be $told" ''
        done
    done <<'END'
k + c + b|10.5|3.5*n
a[1] + a.size|75|25*n
a[-2] * sum(a)|108|36*n
x.shape[-1]|9|n**2
x.shape[:1][0]|9|n**2
x.shape[0:][0]|9|n**2
x.shape[x.size:][0]|?|?
x.shape[9]|?|?
x.shape[-9]|?|?
x.shape[x.size]|?|?
prod(x.shape)|9|n**2
prod([2, x.size])|18|2*n**2
prod(x)|9|n**2
sum(x.shape[0], 1, x.ndim)|15|n**2 + 2*n
max(x.shape[0], 7)|21|?
min(x.shape, 2)|6|?
(1, 2)[1]|6|2*n
[1, 2].size|6|2*n
x.shape.size|9|n**2
x.shape.ndim|3|n
x.ndim.size|3|n
r.size|9|n**2
r.ndim + 0.5|4.50|1.5*n
x.size ** 2|27|n**3
x.size ** 0.5|5.20|?
x.size ** 0|3|n
x.size ** -1|1|?
x.size ** 12|1.59M|?
x.size ** 11|531k|n**12
2 ** x.size|24|?
x.size / 2|4.50|0.5*n**2
x.size / 0|?|?
x.size // 2|3|?
x.size - 1|6|n**2 - n
+x.size|9|n**2
x.size == 3|3|?
(x.size + k) * (x.size - k)|15|n**3 - 4*n
x.size * 1e300 * 1e300|?|?
x.size * 1e308 + x.size * 1e308|?|?
True|3|n
END
}

@test "counts beyond the range of floats are unknown" {
    gload -i 'x: float64[n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n]' -e 'exp(x)' -o o.tlg
    like 'gprof --static --dim n=9000000000000000000 o.tlg' '^flops: \?, math calls: \?; moved: \?'
    ! grep -E 'inf|nan' .out || false
    ok 'gprof --static --dim n=9000000000000000000 -O json o.tlg | jq -c "[.total.flops, .total.unknown_flops]"' '[null,1]'
    like 'gprof --static --dim n=2 o.tlg' '^flops: 262k, math calls: 262k; moved: 4.19 MB'
}

@test "functions are counted as often as they are called" {
    echo 'thunkline: 1
inputs: {x: "float64[n, 6]"}
functions:
  f:
    inputs: {a: "float64[q, 6]"}
    let: r = tanh(a) @ ones((6, 6))
    outputs: [r]
outputs: {o: f(f(x))}' | grewrite --exclude inline -o g.tlg
    gprof g.tlg --static --dim n=7 -O json -o told.json
    gprof g.tlg 'x=ones((7, 6))' -O json -o ran.json
    for f in flops math_calls calls peak_bytes peak_no_reuse_bytes; do
        assert_equal "$f $(total $f ran.json)" "$f $(total $f told.json)"
    done
    assert_equal "$(total flops told.json)" $((2 * (42 + 2 * 7 * 6 * 6)))
    assert_equal "$(jq -r '[.apply[] | select(.function == "f") | .calls] | max' ran.json)" 2
    # both results of f, and what it holds itself
    jq -e '.total.peak_bytes >= 3 * 7 * 6 * 8' told.json
}

@test "the body of a loop is counted as often as it runs, with its inner calls" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[t, 3, 8]", W: "float64[8, 8]"}
functions:
  f:
    inputs: {a: "float64[q, 8]", W: "float64[8, 8]"}
    let: r = tanh(a) @ W
    outputs: [r]
  within:
    inputs: {row: "float64[8]", c: "float64[8]"}
    let: d = sin(c) * row
    outputs: [d]
  step:
    inputs: {a: "float64[3, 8]", h: "float64[3, 8]", W: "float64[8, 8]"}
    let: |
      n = f(f(h, W), W) + a
      e = scan(within, sequences=[n], outputs_info=[n[0]], keep=['last'])
    outputs: {n: n, e: e}
let: |
  hs, es = scan(step, sequences=[x], outputs_info=[zeros((3, 8)), None], non_sequences=[W])
  last = hs[-1]
outputs: [last, es]
Y
    local f mode
    for mode in FAST_RUN FAST_COMPILE; do
        gprof g.yaml --mode $mode --static --dim t=20 -O json -o told.json
        gprof g.yaml --mode $mode --dim t=20 'x=ones((20, 3, 8))' 'W=ones((8, 8))' -O json -o ran.json
        for f in flops math_calls calls bytes; do
            assert_equal "$f $(total $f ran.json)" "$f $(total $f told.json)"
        done
        # the sines of 3 rows and the tanh of two calls, a step
        assert_equal "$(total math_calls told.json)" $((20 * (2 * 24 + 3 * 8)))
    done
    gprof g.yaml --static -O json -o told.json
    assert_equal "$(total math_calls told.json)" '72*t'
    gload --new -i 'x: float64[t, 8]' -i 'U: float64[8, 8]' -e 'h = scan(lambda x, h: tanh(x + h @ U), sequences=[x], outputs_info=[zeros(8)], keep=["last"])' -o h.tlg
    gprof h.tlg --static --dim t=20 -O json -o told.json
    gprof h.tlg 'x=ones((20, 8))' 'U=ones((8, 8))' -O json -o ran.json
    assert_equal "$(total peak_bytes ran.json)" "$(total peak_bytes told.json)"
    # the result, two rows of the state in turn, and what a step makes
    jq -e '.total.peak_bytes >= 4 * 8 * 8 and .total.peak_bytes < 20 * 8 * 8' told.json
    sed '/last = /d; s/last, es/es/' g.yaml | gprof --static --dim t=0 --assert 'math_calls == 0' >/dev/null
}

@test "sizes that are computed from dims are known" {
    echo 'thunkline: 1
inputs: {x: "float64[n, 4]"}
outputs: {o: "concatenate([x[:n // 3], x @ ones((4, 4))])"}' >g.yaml
    gprof g.yaml --static -O json -o told.json
    assert_equal "$(total peak_bytes told.json)" null
    gprof g.yaml --static --dim n=9 -O json -o told.json
    assert_equal "$(total unknown_sizes told.json)" 0
    jq -e '.total.peak_bytes >= 12 * 4 * 8' told.json
}

@test "the tables sort and end" {
    run small --static --dim n=10 --by op --top 1
    assert_output --regexp 'matmul.*\(remaining 2 account for 5\.5% of the flops\)'
    digits --static --dim n=10 --by op --sort name -O tsv >ops
    run sort -c <(tail -n +2 ops | cut -f1)
    assert_success
    run head -1 ops
    assert_output $'op\tcalls\tapplies\tflops\tmath_calls\tread_bytes\twritten_bytes'
    digits --static --dim n=10 --sort bytes -O json -o r.json
    jq -e '[.apply[].bytes] == ([.apply[].bytes] | sort | reverse)' r.json
}

@test "rules that made Applies are rows" {
    ggrad --cost loss --wrt W,b --only "$DIGITS/model.yaml" | gprof - "$X" "$Y" --by rule >r
    run cat r
    assert_line --partial 'gradient of matmul'
    assert_line --partial 'as written'
}

@test "--memory shows what is alive" {
    run small --static --dim n=1500 --memory
    assert_success
    assert_line --regexp '^ *[01] +.* +60.0 kB +c +_1 = x @ W$'
    assert_line --regexp '^ *[12] +.* +60.0 kB +i +h = tanh\(_1\)$'
    digits --static --dim n=1500 --memory -O json -o r.json
    jq -e '([.memory[].live_bytes] | max) == .total.least_bytes' r.json
}

@test "--assert" {
    small --static --dim n=1500 --assert 'peak_bytes < 10e6' --assert 'flops == 1500 * 1354' -o /dev/null
    run --separate-stderr small --static --dim n=1500 --assert 'flops < 1e3'
    assert_failure 1
    assert_output --partial 'small: '
    output=$stderr assert_output --partial 'flops is 2031000'
    output=$stderr assert_output --partial '1e3 is 1000'
    run small --static --assert 'peek_bytes < 1'
    assert_failure 2
    assert_output --partial 'did you mean peak_bytes?'
    run small --static --assert 'flops < 1e9'
    assert_failure 2
    assert_output --partial '1354*n'
    run small --static --dim n=3 --assert 'time_s < 1'
    assert_failure 2
    assert_output --partial 'time_s was not measured'
    run small --static --assert 'flops <'
    assert_failure 3
    local text
    for text in 'peak_bytes < 1XB' 'flops < 1.5e3 XFLOP'; do
        run small --static --assert "$text"
        assert_failure 3
        assert_output --partial 'note: the units are B kB KB MB'
    done
}

@test "--compare" {
    small --static --dim n=100 -O json -o old.json
    run small --static --dim n=100 --compare old.json --fail-above 1.2
    assert_success
    assert_line --regexp '^flops +135k +135k +1\.000$'
    run small --static --dim n=200 --compare old.json --fail-above 1.2
    assert_failure 1
    assert_output --partial 'more than 1.2 times as much'
    small --static --dim n=200 --compare old.json -O json -o new.json
    jq -e '.compare.math_calls == {"before": 1000, "now": 2000, "ratio": 2}' new.json
    gload --new -i 'x: float64[n]' -e 'y = x[::2]' -o view.tlg
    gload --new -i 'x: float64[n]' -e 'y = exp(x)' -o exp.tlg
    gprof view.tlg --static --dim n=9 -O json -o view.json
    gprof view.tlg --static --dim n=9 --compare view.json -O json | jq -e '.compare.flops == {"before": 0, "now": 0, "ratio": 1}'
    gprof exp.tlg --static --dim n=9 --compare view.json -O json | jq -e '.compare.math_calls.before == 0 and .compare.math_calls.ratio == null'
    bad 1 E_VERDICT 'flops was 0 and is now 9' 'gprof exp.tlg --static --dim n=9 --compare view.json --fail-above 1e6 >/dev/null'
    echo '{"total": [1' >bad.json
    run small --static --compare bad.json
    assert_failure 3
    run small --static --compare none.json
    assert_failure 4
    run small --static --fail-above 1.2
    assert_failure 2
}

@test "other formats" {
    small 'x=ones((9, 64))' --repeat 1 -O trace -o t.json
    jq -e '[.traceEvents[] | select(.ph == "X")] | length == 3 and all(.dur >= 0 and .ts >= 0)' t.json
    jq -e '[.traceEvents[] | select(.ph == "C") | .args.bytes] | max == 9 * 44' t.json
    small 'x=ones((9, 64))' --repeat 1 -O folded >f
    run grep -cE '^small;[a-z]+;[a-z_]+;[^;]+ [0-9]+$' f
    assert_output 3
    small --static --dim n=9 -O folded >f
    run grep -F 'small;linalg;matmul;_1 = x @ W 11520' f
    assert_success
    small --static --dim n=9 -O svg >m.svg
    run head -c 4 m.svg
    assert_output '<svg'
    run tail -1 m.svg
    assert_output '</svg>'
    small --static --dim n=9 -O dot >g.dot
    run grep -c 'fillcolor' g.dot
    assert_output 3
    # ops, results with their types, and costs
    grep -Eq 'label="[a-z]+\\n[a-z_0-9]+: float[36][24][^"]*\\n[0-9.]+%, [0-9.]+ k?FLOP, [0-9.]+ k?B", tooltip=' g.dot
    small --dim n=9 -O dot >t.dot
    grep -Eq 'label="[a-z]+\\n[^"]*%, [0-9.]+ [mun]?s, [0-9.]+ k?B", tooltip=' t.dot
    grep -q 'shape=box, label="[a-z]*\\nfloat' t.dot
    run small --static -O trace
    assert_failure 2
}

@test "reports keep to their schema" {
    python_with jsonschema
    digits "$X" "$Y" --repeat 1 --memory -O json -o a.json
    digits --static -O json -o b.json
    digits --static --dim n=3 --by rule --compare a.json -O json -o c.json
    for f in a b c; do
        run "$PYTHON" -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' $f.json "$ROOT/schemas/profile.schema.json"
        assert_success
    done
}

@test "a graph without Applies" {
    echo 'thunkline: 1
inputs: {x: "float32[3]"}
outputs: [x]' >g.yaml
    for f in text json tsv trace folded svg dot roofline html; do
        run gprof g.yaml x=[1,2,3] --memory -O $f
        assert_success
    done
}

@test "updates go on, the file stays" {
    echo 'thunkline: 1
shared: {w: "float64 = 1."}
let: v = 2 * w
outputs: [v]
updates: {w: v}' >g.yaml
    cp g.yaml old.yaml
    run gprof g.yaml --repeat 3 --warmup 0
    assert_success
    assert_line --partial 'the median of 3'
    cmp g.yaml old.yaml
}

@test "programs and gmon.out are for GNU's" {
    run gprof "$(command -v gprof)"
    assert_failure 2
    assert_output --partial "this is thunkline's gprof"
    printf 'gmon\1\0\0\0' >gmon.out
    run gprof gmon.out
    assert_failure 2
    assert_output --partial 'GNU'
}

@test "command line errors" {
    run digits
    assert_failure 2
    assert_output --partial 'missing inputs x: float32[n, 64], y: int64[n]'
    run digits --static --dim q=3
    assert_failure 2
    run digits --repeat -1 "$X" "$Y"
    assert_failure 2
    run digits --repeat 0 "$X" "$Y"
    assert_failure 2
    assert_output --partial '--repeat must be at least 1'
    run digits --by file
    assert_failure 2
}

@test "a fused reduction needs no memory for its input, and costs the same" {
    local z='z = sum((x - y)**2)' g="gload --new -i 'x: float32[n, 500]' -i 'y: float32[n, 500]'"
    eval "$g -e '$z' --outputs z -o one.tlg"
    gprof one.tlg --static --dim n=1000 -O json -o fused.json
    grewrite one.tlg --exclude fusion | gprof --static --dim n=1000 -O json -o apart.json
    assert_equal "$(total flops fused.json)" 1500000
    assert_equal "$(total flops apart.json)" 1500000
    jq -e '.total.peak_bytes >= 4 * 500000' apart.json
    jq -e '.total.peak_bytes < 1000' fused.json
    jq -e '.total.read_bytes == 8 * 500000 and .total.written_bytes == 4' fused.json
    jq -e '[.op[] | .name] == ["fused(subtract, square, sum)"]' fused.json
    gprof one.tlg 'x=ones((1000, 500))' 'y=zeros((1000, 500))' -O json -o ran.json
    assert_equal "$(total flops ran.json)" 1500000
    jq -e '.total.peak_bytes < 1000 and .total.measured_peak_bytes < 4 * 500000 / 4' ran.json
    # what something else needs too is stored, but read no more
    eval "$g -e 'e = exp(x) * y' -e 's = sum(e, axis=0)' --outputs e,s -o both.tlg"
    gprof both.tlg --static --dim n=1000 -O json -o both.json
    jq -e '.total.applies == 1 and .total.read_bytes == 8 * 500000 and .total.written_bytes == 4 * 500500' both.json
}

# The YAML of a tree of $2 products of x, joined in pairs: branch by branch, or level by level.
written_tree() {
    awk -v order="$1" -v n="$2" '
        function node(i) {
            if (i >= n) return sprintf("  h%d = x * %d.5\n", i, i)
            return sprintf("  h%d = h%d %s h%d\n", i, 2 * i, i % 2 ? "*" : "+", 2 * i + 1)
        }
        function branch(i) {
            if (i < n) { branch(2 * i); branch(2 * i + 1) }
            printf "%s", node(i)
        }
        BEGIN {
            print "thunkline: 1\ninputs: {x: \"float64[16]\"}\nlet: |"
            if (order == "branches") branch(1)
            else for (i = 2 * n - 1; i > 0; i--) printf "%s", node(i)
            print "outputs: [h1]"
        }'
}

@test "a large fused group is cut along its branches, whatever order it was written in" {
    written_tree branches 1024 >branches.yaml
    written_tree levels 1024 >levels.yaml
    for f in branches levels; do
        gprof $f.yaml --static -O json | jq -c '.total | [.applies, .flops, .bytes, .peak_bytes]' >$f
        gload -e 'cost = sum(h1 / 1e300)' $f.yaml | ggrad --cost cost -o $f.tlg
        gprof $f.tlg --static -O json -o $f.json
        grewrite $f.tlg | grun - 'x=arange(16) / 4096.0' >$f.fused
        grewrite --exclude fusion $f.tlg | grun - 'x=arange(16) / 4096.0' >$f.apart
        diff $f.fused $f.apart
    done
    diff branches levels
    jq -e '.[0] < 8' levels
    [ "$(total bytes levels.json)" -lt $(($(total bytes branches.json) * 11 / 10)) ]
}

# Graphs over x: float64[n] and k: float64[m, m]; 20000 elements, 40 squared. Where a function runs, its planned peak is counted, too.
planned() {
    cat <<'T'
exp(x) * 2 + x
sum(sqrt(x))
sort(exp(x)) + cumsum(x)
cumsum(sort(-x))[5:] - sort(x)[5:]
broadcast_to(exp(x)[:50], (50, 50)) @ ones((50, 3))
scan(lambda a, c: a * c + 1, sequences=[x], outputs_info=[0.5])
scan(lambda a, c: sort(a * c), sequences=[x], outputs_info=[ones(8)])[-1]
ifelse(sum(x) > 0, exp(x), sort(x)) + 1
inv(k @ k.T + eye(40)) @ k
solve(k + eye(40), k)[0]
T
}

@test "results take as much memory as planned; other memory has names" {
    local e
    while IFS= read -r e; do
        gload --new -i 'x: float64[n]' -i 'k: float64[m, m]' --shared 's: float64[500] = ones(500)' -e "y = $e" -e 'z = sum(y) * s' \
            --update 's = z + sum(k)' --outputs y,z -o g.tlg
        gprof g.tlg 'x=linspace(0, 1, 20000)' 'k=ones((40, 40))' --repeat 3 -O json -o m.json
        jq -e --arg e "$e" '.total | .unknown_sizes == 0 and (.measured_results_bytes - .peak_bytes | fabs) <= 64 * 20 and
            (.measured_results_bytes + .measured_workspace_bytes + .measured_other_bytes - .measured_peak_bytes | fabs) <= 64 * 20 or
            error("\($e): \(.)")' m.json
    done < <(planned)
    gload --new -i 'x: float64[n]' -e 'sort(exp(x))' -o g.tlg
    like "gprof g.tlg 'x=ones(1000)'" 'planned 16.0 kB, measured .*results 16.0 kB, workspace .* kB, other 0 B'
}

@test "a malformed report of a profile is refused" {
    gload -i 'x: float64[n]' -e 'y = (x ** 2).sum()' -e 'z = x * 2' -o g.tlg
    local G='gprof g.tlg --static --dim n=9 --compare c.json' text
    while IFS= read -r text; do
        printf '%s' "$text" >c.json
        bad 3 E_FORMAT 'c.json is no report of a profile' "$G"
    done <<'T'
{"total": {"flops": 3
{"total" 3}
{"total": {"flops": 3} "x": 1}
{"x": 
{"x": {"a": 1
{"x": ]}
{"x": "a
{"x": "a\
{x: 1}
{"total": {}}
{"total": {"flops": 3}, 
[]
T
    # nor is any part of one
    local i whole='{"total":{"flops":3,"time_s":"x"},"op":[{"name":"exp","flops":1,"n":[1]},2],"z":{"a":null}}'
    for ((i = 0; i < ${#whole}; i++)); do
        printf '%s' "${whole:0:i}" >c.json
        bad 3 E_FORMAT 'c.json is no report of a profile' "$G"
    done
    printf '%s' "$whole" >c.json
    like "$G" '^flops +3 +27 +9\.000$'
    # only numbers count; the rest may be anything
    printf '{"z": {"a\\"": [1, {}, "}"]}, "total": {"a\\"b": "q\\n", "flops": 3, "runs": null, "nest": [1,{"x":[]}]}}' >c.json
    like "$G" '^flops +3 +27 +9\.000$'
    ok "$G -O json | jq -c .compare" '{"flops":{"before":3,"now":27,"ratio":9}}'
    # an op that has no name, or whose cost is no number, is not compared; one that is new grew from nothing
    printf '{"total": {"flops": 3}, "op": [{"name": "exp", "flops": null, "math_calls": 9}, {"flops": 2}, {"name": 5, "bytes": 1}, 3]}' >c.json
    gload -i 'x: float64[n]' -e 'y = sin(x) + cos(x) * tan(x) - exp(x) / log(x) + tanh(x) + sqrt(x) + abs(x)' -o many.tlg
    like 'gprof many.tlg --static --dim n=9 --mode FAST_COMPILE --compare c.json' '^flops +0 +9 +-  sin$' '^\.\.\. \([0-9]+ more\)$'
    ok 'gprof many.tlg --static --dim n=9 --mode FAST_COMPILE --compare c.json -O json | jq ".worse | length > 20"' true
    ok 'gprof many.tlg --static --dim n=9 --mode FAST_COMPILE --compare c.json -O json | jq -c "[.worse[] | select(.op == \"exp\") | .cost]"' '[]'
    ok 'gprof many.tlg --static --mode FAST_COMPILE --compare c.json -O json | jq -c ".worse"' '[]'
    printf '{"total": {"flops": 0, "math_calls": 0}}' >c.json
    like "$G" '^flops +0 +27 +-$' '^math_calls +0 +0 +1\.000$'
    bad 1 E_VERDICT 'flops was 0 and is now 27' "$G --fail-above 2"
}

@test "each order of the tables, and assertions of other forms" {
    gload -i 'x: float64[n]' -e 'y = (x ** 2).sum()' -e 'z = x * 2' -o g.tlg
    local by order
    while read -r by order; do
        ok "gprof g.tlg --static --dim n=9 --by apply --sort $by -O tsv | sed -n 's/^\\(.\\) = .*/\\1/p' | tr -d '\\n'" "$order"
    done <<'T'
flops yz
time yz
bytes zy
name yz
T
    ok "gprof g.tlg x=[1,2] --by apply --sort flops -O tsv | sed -n 's/^\\(.\\) = .*/\\1/p' | tr -d '\\n'" yz
    ok 'gprof g.tlg --static --dim n=9 --top 1 -O json | jq -c "[(.apply | length), (.op | length)]"' '[1,1]'
    like 'gprof g.tlg --static --dim n=9 --top 0 --by op' 'remaining 2 account for 100.0% of the flops'
    bad 2 E_UNKNOWN 'the totals are time_s .* flops' 'gprof g.tlg --static --dim n=9 --assert "qqqqqqqqqqqq < 3"'
    ok 'gprof g.tlg --static --dim n=9 --assert flops --assert "math_calls + 27 == flops" -o o'
    bad 1 E_VERDICT 'the assertion 0 does not hold' 'gprof g.tlg --static --dim n=9 --assert 0 -o o'
    bad 1 E_VERDICT 'flops is 27' 'gprof g.tlg --static --dim n=9 --assert "100 < flops" -o o'
    bad 3 E_NAME 'formulas have no function .foo' 'gprof g.tlg --static --dim n=9 --assert "foo(flops) < 1" -o o'
    bad 2 E_USAGE 'a trace needs a run' 'gprof g.tlg --static -O trace'
    bad 2 E_UNKNOWN 'no dim q' 'gprof g.tlg --static --dim q=9'
    bad 2 E_UNKNOWN 'no input q' 'gprof g.tlg --static q=9'
    bad 3 E_NAME 'foo' 'gprof g.tlg --static x=foo'
    bad 3 E_SHAPE 'x: expected float64' 'gprof g.tlg x=1'
    bad 2 E_USAGE 'allows a cost to grow by 5%' 'gprof g.tlg --static --compare old.json --fail-above 0.05'
    bad 2 E_USAGE 'needs --compare' 'gprof g.tlg --static --dim n=2 --fail-above 2'
    bad 4 E_IO "can't open nothing.tlg" 'gprof nothing.tlg'
    bad 3 E_FORMAT 'a graph file must be a mapping' 'printf ab >t && gprof t'
}

@test "functions in stacks and by calls; --memory counts what it leaves out" {
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: "float64[n]"}
    let: |
      y = exp(sin(x) @ sin(x) + x)
    outputs: {out: cumsum(y)}
inputs:
  x: float64[n]
let: |
  c = cumsum(f(f(x)))
outputs: {c: c}
Y
    grewrite --exclude inline f.yaml -o f.tlg
    like 'gprof f.tlg --static --dim n=3 -O folded' '^graph;f;elemwise;sin;f: _1 = sin\(x\) 6$' '^graph;f;reduce;running_sum;f: .* 6$' \
        '^graph;reduce;running_sum;c = running_sum\(.*\) 3$'
    ok 'gprof f.tlg --static --dim n=3 --sort calls --by apply -O tsv | cut -f2 | tail -n +2 | tr -d "\n"' 2222111
    local d
    d=$(for i in $(seq 40); do echo "-e v$i=cumsum(x+$i)"; done)
    gload -i 'x: float64[n]' $d -o m.tlg
    like 'gprof m.tlg --static --dim n=100000 --memory' '^ *79 .* v40 = running_sum'
    like 'gprof m.tlg --static --dim n=100000 --memory --top 3' '^ *2 .* c  _2 = x' '^\.\.\. \(77 more, small or beyond the rows wanted\)$'
    like 'gprof m.tlg --static --dim n=2 --memory' '^\.\.\. \(80 more, small or beyond the rows wanted\)$'
    like 'gprof m.tlg --static --memory' '^ *79 +0 B +0 B \+ \? .* v40 = running_sum' '^\? 81 values are in no planned figure'
}

@test "sizes that no type tells are planned as a run found them" {
    gload --new -i 'x: float64[?]' -e 'y = exp(x)' -e 'z = y[::2]' --outputs y,z -o g.tlg
    gprof g.tlg 'x=ones(1000)' -O json -o m.json
    jq -e '.total | .unknown_sizes == 0 and .peak_bytes == 8000 + 4032 and .measured_results_bytes == 12000 and .leaves_bytes == 8008' m.json
    bad 1 E_VERDICT peak_bytes "gprof g.tlg 'x=ones(1000)' --assert 'peak_bytes < 12000' >/dev/null"
    like "gprof g.tlg 'x=ones(1000)' | grep -c 'beyond the plan' || true" '^0$'
    gload --new -i 'x: float64[?]' -e 'a = sort(exp(x))' -e 'b = cumsum(a[::2])' -e 'c = sort(b)' -e 'd = cumsum(c[::2])' -e 'y = sort(d)' --outputs y -o g.tlg
    like "gprof g.tlg 'x=ones(10000)'" '^[0-9.]+ kB of results are beyond the plan: storage of unknown size \(\?\) is taken on demand'
}

@test "texts of ops in reports for other programs; long ones are cut" {
    gload -i 'x: float64[n]' -e 'y = print(x, "a;b\"c\\d") + 1' -o p.tlg
    like 'gprof --static --dim n=5 p.tlg -O dot' "tooltip=\"_1 = print\\(x, msg='a;b\\\\\"c\\\\\\\\\\\\\\\\d'\\)\"\\];\$" 'label="print.*[n]0.0%, ' 'label="add.*[n]100.0%, '
    ok 'gprof --static --dim n=5 p.tlg -O folded | grep -c "^graph;[a-z]*;[a-z]*;[^;]* [05]$"' 2
    ok 'gprof --static --dim n=5 p.tlg -O json | jq -r ".apply[].name" | grep -F "print(x, msg=" | wc -l' 1
    # no letter is cut in two, wherever the end falls
    local text
    text=$(printf 'é%.0s' $(seq 60))
    for text in "$text" "a$text"; do
        gload -i 'x: float64[n]' -e "y = print(x, '$text') + 1" -o u.tlg
        like 'gprof --static --dim n=5 u.tlg' "_1 = print\\(x, msg='a?é+\\.\\.\\.\$"
        iconv -f UTF-8 -t UTF-8 .out >/dev/null
    done
    # where nothing costs anything no part is all of it
    gload -i 'x: float64[n]' -e 'y = x[::2]' -o v.tlg
    like 'gprof --static --dim n=5 v.tlg -O dot' 'fillcolor="0.000 0.000 1.000", label="subtensor.*[n]0.0%, '
}

@test "an assertion about flops warns of those that it leaves out" {
    gload -i 'x: float32[?]' -i 'y: float32[n]' -e 'a = exp(x)' -e 'b = y + 1' -o g.tlg
    shell "gprof --static --dim n=5 g.tlg --assert 'flops < 6' --assert 'math_calls < 6' -o o"
    [ "$status" = 0 ]
    [ "$(grep -c 'warning\[E_VERDICT\]: flops leaves out 1 runs of Applies' .err)" = 1 ]
    shell "gprof --static --dim n=5 g.tlg --assert 'flops > 6' -o o"
    [ "$status" = 1 ]
    grep -q 'flops is 5' .err
    ok "gprof g.tlg x=[1,2] y=[1] --assert 'flops == 3' -o o"
    gload -i 'x: float64[n, m]' -e 'x + 1' -o e.tlg
    like 'gprof --static --dim n=100000000000 --dim m=100000000000 e.tlg' '^flops: 10000E, '
}

# STEPS of x: float64[n]|with n = 9|without: the calls of tanh in a loop of so many steps.
@test "the steps of a loop are known if they follow from sizes" {
    local e told symbol
    while IFS='|' read -r e told symbol; do
        gload --new -i 'x: float64[n]' -i 'u: uint64' -e "out = scan(lambda h: tanh(h), outputs_info=[x[0]], n_steps=$e, keep='last')" -o o.tlg
        ok "gprof --static --dim n=9 o.tlg | sed -n 's/^flops.*math calls: \\([^;]*\\);.*/\\1/p'" "$told"
        ok "gprof --static o.tlg | sed -n 's/^flops.*math calls: \\([^;]*\\);.*/\\1/p'" "$symbol"
    done <<'END'
x.shape[0]|9|n
x.shape[0] // 2|4|?
x.shape[0] % 4|1|?
x.shape[0] // 0|?|?
minimum(x.shape[0], 5)|5|?
maximum(x.shape[0], 12)|12|?
int64(sqrt(x.shape[0]))|3|?
int64(ceil(sqrt(x.shape[0] - 1)))|3|?
int64(floor(sqrt(x.shape[0] + 1)))|3|?
x.shape[0] * 2 - 3|15|2*n - 3
-x.shape[0] + 20|11|-n + 20
abs(x.shape[0])|9|n
int64(x.shape[0] * 0.5)|4|?
int64(float64(x.shape[0]))|9|n
int64(float64(x.shape[0]) - 0.5)|8|?
int64(float64(x.shape[0] * 2 - 3))|15|2*n - 3
minimum(int32(x.shape[0]), 5)|5|?
x.size + 1|10|n + 1
int64(7.9)|7|7
u|?|?
int64(u)|?|?
END
}

@test "tsv of sizes that have names, and of the first rows" {
    gload --new -i 'x: float64[n]' -e 'a = x * 2' -e 'b = sum(x)' --outputs a,b -o named.tlg
    ok 'gprof --static named.tlg -O tsv --mode FAST_COMPILE' $'apply\tcalls\tapplies\tflops\tmath_calls\tread_bytes\twritten_bytes
a = x * 2.0\t1\t1\tn\t0\t8*n + 8\t8*n
b = sum(x)\t1\t1\tn\t0\t8*n\t8'
    ok 'gprof --static named.tlg -O tsv --mode FAST_COMPILE --top 1 | wc -l' 2
    ok 'gprof --static named.tlg -O tsv --mode FAST_COMPILE --top 0 | wc -l' 1
    ok 'gprof --static named.tlg -O tsv --mode FAST_COMPILE --by op --dim n=4 | tail -n +2 | cut -f1,4-' $'multiply\t4\t0\t40\t32\nsum\t4\t0\t32\t8'
}

# The row of an op in a report of --ulp -O tsv: lost own mean inherited total dtype op.
ulp_of() { awk -F'\t' -v op="$2" '$7 == op { printf "%.3g %.3g %.3g %.3g %.3g %s %s\n", $1, $2, $3, $4, $5, $6, $7 }' "$1"; }

@test "--ulp: own and inherited errors by hand, and which op loses the digits" {
    cat >u.yaml <<'END'
thunkline: 1
inputs: {x: 'float32[n]'}
let: |
  third = 1 / x
  big = x + 1e6
  back = big - 1e6
  twice = back * 2
  half = float16(x)
outputs: [third, twice, half]
END
    # 1000003.1 has steps of 1/16: it is 0.4 of one off
    gprof --ulp u.yaml 'x=[3, 3.1]' --mode FAST_COMPILE -O tsv -o u.tsv
    assert_equal "$(head -n 1 u.tsv)" "$(printf 'lost\town\tmean\tinherited\ttotal\tdtype\top\tresult\tline')"
    assert_equal "$(ulp_of u.tsv add)" '0.4 0.4 0.2 0 0.4 float32 add'
    # 0.4 / 16 of 3.1, whose last place is 2^-22: 1.05e5; the subtraction itself is exact
    assert_equal "$(ulp_of u.tsv subtract)" '1.05e+05 0 0 1.05e+05 1.05e+05 float32 subtract'
    assert_equal "$(ulp_of u.tsv multiply)" '0 0 0 1.05e+05 1.05e+05 float32 multiply'
    assert_equal "$(ulp_of u.tsv cast)" '0.2 0.2 0.1 0 0.2 float16 cast'
    assert_equal "$(ulp_of u.tsv true_divide)" '0.344 0.344 0.339 0 0.344 float32 true_divide' # 1/3 and, by NumPy, 1/3.1
    sed -n 2p u.tsv | grep -q "subtract.back.u.yaml:6$"
    run gprof --ulp u.yaml 'x=[3, 3.1]' --top 1
    assert_success
    assert_line --index 1 --regexp '^  1.05e\+05 +0 +0 +1.05e\+05 +1.05e\+05  float32    subtract          back, u.yaml:6$'
    # in float64 alone: its float32 form
    sed 's/float32/float64/; /half/d' u.yaml >w.yaml
    echo 'outputs: [third, twice]' >>w.yaml
    gprof --ulp w.yaml 'x=[3, 3.1]' --mode FAST_COMPILE -O tsv -o w.tsv
    assert_equal "$(ulp_of w.tsv subtract)" '1.05e+05 0 0 1.05e+05 1.05e+05 float32 subtract'
    run gprof --ulp w.yaml 'x=[3, 3.1]'
    assert_line --index 0 --partial 'of the graph in float32'
    python_with jsonschema
    gprof --ulp u.yaml 'x=[3, 3.1]' -O json -o u.json
    "$PYTHON" -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open("u.json")), json.load(open(sys.argv[1])))' "$ROOT/schemas/ulp.schema.json"
}

# What a function does to floats is followed into it, unless it takes a list, prints or draws.
@test "--ulp: functions, branches, complex numbers, in float64 alone" {
    cat >f.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[n]', z: 'complex128[2]', l: 'list(float64[?])', c: bool, r: random}
functions:
  listed:
    inputs: {a: 'float64[m]', k: 'list(float64[?])'}
    let: 'r = a * 3.1'
    outputs: [r]
  noisy:
    inputs: {a: 'float64[m]'}
    let: 'r = print(a * 1.3, "here") + 1.7'
    outputs: [r]
  thirds:
    inputs: {a: 'float64[m]'}
    let: 'r = a / 3.3'
    outputs: [r]
let: |
  a = listed(x, l)
  b = noisy(x)
  d = thirds(x) + thirds(x * 2)
  e = z * 1.1
  f = ifelse(c, x / 1.1, x / 1.2)
  s, u = uniform(0., 1., (2,), rng=r)
  g = u / 3 + ones_like(x)[0]
  h = where(isnan(x), 0., x)
outputs: [a, b, d, e, f, g, h]
END
    gprof --ulp f.yaml x=[1,2] z=[0.3+1j,0.7] 'l=[[1],[2]]' c=True --seed 1 --mode FAST_COMPILE -O tsv -o f.tsv 2>printed
    assert_equal "$(cat printed)" 'here = [1.3, 2.6]'
    assert_equal "$(cut -f 6-8 f.tsv | sort | tr '\t\n' ' ,')" 'complex64 multiply e,dtype op result,float32 add d,float32 add g,float32 call ,float32 call ,float32 ifelse f,float32 multiply ,float32 ones_like ,float32 subtensor ,float32 true_divide ,float32 true_divide ,float32 true_divide ,float32 where h,'
    # 1 / 3.3 and 2 / 3.3, of which half of a last place is lost twice
    assert_equal "$(ulp_of f.tsv add | head -1)" '0.152 0 0 0.455 0.455 float32 add'
    gprof --ulp f.yaml x=[1,2] z=[1,1] 'l=[[1],[2]]' c=True --seed 1 --top 0 -O json --outputs e,f | jq -e '.narrowed and .rows == []'
}

@test "--ulp: loops, lists, draws, indices, overflow, no elements" {
    cat >k.yaml <<'END'
thunkline: 1
inputs: {x: 'float32[n]'}
shared: {w: 'float32 = 2.'}
functions:
  step:
    inputs: {h: 'float32', k: 'float32'}
    let: |
      r = h * 1.1 + k
    outputs: [r]
  ends:
    inputs: {h: 'float32'}
    let: |
      r = h * 0.3
    outputs: [r]
    until: r < 0.01
let: |
  hs = scan(step, sequences=[x], outputs_info=[w])
  until = scan(ends, outputs_info=[w], n_steps=30)
  kept = x[x > 0.25]
  some = unique(x)
  items = list_append([x], x * 2)
  third = items[1] / 3
  seen = print(exp(x * 1000), 'seen')
  z = abs(fft(complex64(x)))
  top = argmax(x)
  none = sum(x[:0] / 3)
outputs: [hs, until, kept, some, third, seen, z, top, none]
updates: {w: w * 2}
END
    gprof --ulp k.yaml 'x=[0.1, 0.2, 0.3, 0.2]' -O tsv -o k.tsv 2>.err
    run cut -f 7 k.tsv
    assert_output --partial scan
    refute_output --partial unique
    refute_output --partial print
    refute_output --partial argmax
    assert_equal "$(ulp_of k.tsv exp)" 'inf inf inf inf inf float32 exp'
    # as often as the run prints it, not once more for each form
    [ "$(gprof --ulp k.yaml 'x=[0.1, 0.2, 0.3, 0.2]' 2>&1 | grep -c '^seen')" = 1 ]
    gprof --ulp k.yaml 'x=[]' --outputs third,none >/dev/null
    # what computes a shared variable's first value is no part of a run
    gload --new -i 'x: float64[2]' --shared 'b: float64[2] = exp(ones(2))' -e 'y = x / 3 + b' --outputs y --update 'b = y' -o first.tlg
    ok 'gprof --ulp first.tlg x=[1,2] --mode FAST_COMPILE -O tsv | cut -f 7 | sort' $'add\nop\ntrue_divide'
    bad 3 E_VALUE 'computes no floats' 'gload -e "y = 3" | gprof --ulp'
    bad 3 E_VALUE 'fused.*|--exclude fusion' 'gload -i "x: float32[n]" -e "y = exp(x) * 3 + x" | grewrite | gprof --ulp x=[1,2]'
    like 'gload -i "x: float32[n]" -e "y = exp(x) * 3 + x" | grewrite --exclude fusion | gprof --ulp x=[1,2]' ' exp ' ' add '
    bad 2 E_UNKNOWN 'no dim k' 'gprof --ulp k.yaml --dim k=3'
    bad 2 E_USAGE 'leave --static out' 'gprof --ulp --static k.yaml'
    bad 2 E_USAGE 'leave --by out' 'gprof --ulp --by op k.yaml'
    bad 2 E_USAGE 'text, json or tsv' 'gprof --ulp -O svg k.yaml'
    bad 2 E_MISSING 'missing input x' 'gprof --ulp k.yaml'
}
