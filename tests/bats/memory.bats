# Memory: plans at their bound, packing, the largest size that fits, polynomials.
load common

# An MLP's gradient: the outputs are born while temporaries die.
mlp() {
    cat >mlp.yaml <<'Y'
thunkline: 1
inputs:
  x: float32[n, 784]
  y: int64[n]
shared:
  W1: float32[784, 256] = normal(0, 0.05, (784, 256), seed=1)
  W2: float32[256, 10] = normal(0, 0.05, (256, 10), seed=2)
let: |
  h = tanh(x @ W1)
  z = h @ W2
  loss = -mean(log_softmax(z, axis=1)[arange(n), y])
outputs: [loss]
Y
    ggrad mlp.yaml --cost loss | grewrite -o mlp.tlg
}

@test "a plan takes what is alive at the worst instruction, outputs included" {
    local n
    mlp
    for n in 1 7 128 1000; do
        gprof mlp.tlg --static --dim n=$n -O json |
            jq -e '.total | .peak_bytes - .least_bytes | . >= 0 and . < 64 * 20'
    done
    # a run takes what is planned, and gives the same bits as without sharing
    gprof mlp.tlg x='normal(0, 1, (128, 784), seed=3)' y='zeros((128,))' --repeat 1 -O json |
        jq -e '.total | .measured_results_bytes == .peak_bytes'
    local a=(x='normal(0, 1, (50, 784), seed=3)' y='arange(50) % 10')
    grun mlp.tlg "${a[@]}" -r d_loss_d_W1=shared.npy -r d_loss_d_W2=shared2.npy >/dev/null
    grun mlp.tlg "${a[@]}" -r d_loss_d_W1=apart.npy -r d_loss_d_W2=apart2.npy --no-gc >/dev/null
    cmp shared.npy apart.npy
    cmp shared2.npy apart2.npy
    grun mlp.tlg "${a[@]}" --mode DEBUG >/dev/null
}

@test "outputs that are inputs, constants, views or each other stay apart" {
    gload --new -i 'x: float64[4]' -e 'a = x * 2' -e 'b = a[1:3]' -e 'c = a' -e 'd = x' -e 'e = exp(a)' --outputs a,b,c,d,e -o o.tlg
    ok "grun o.tlg x='[1, 2, 3, 4]' -O json | jq -s -c 'map(.data)[:4]'" '[[2,4,6,8],[4,6],[2,4,6,8],[1,2,3,4]]'
    # calls after each other, of other sizes, too
    gload --new -i 'x: float64[n]' -e 'y = cumsum(exp(x) + 1)' -e 's = sum(y)' --outputs y,s -o c.tlg
    grun c.tlg x='arange(10.)' --each x --batch 4 --every 1 -O json >calls.json
    assert [ "$(jq -s 'length' calls.json)" -ge 1 ]
}

@test "--pack gives buffers offsets" {
    cat >b.csv <<'C'
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
C
    run --separate-stderr gprof --pack b.csv
    assert_success
    assert_line --index 0 'id,lower,upper,size,offset'
    assert_equal "${#lines[@]}" 6
    assert_equal "$stderr" 'gprof: 5 buffers in 12 bytes: optimal'
    # nothing that lives together overlaps, at any order of rows and columns
    local seed
    for seed in 1 2 3; do
        awk -v seed=$seed 'BEGIN { srand(seed); print "size,note,upper,id,lower"; for (i = 0; i < 60; i++) { a = int(rand() * 40); print 1 + int(rand() * 99) ",\"a, b\"," a + 1 + int(rand() * 9) ",i" i "," a } }' >r.csv
        gprof --pack r.csv -o p.csv 2>verdict
        grep -q 'optimal$' verdict
        sed 's/"a, b"/-/' p.csv | awk -F, 'NR > 1 { for (k in lo) if ($5 < hi[k] && lo[k] < $3 && $6 < top[k] && at[k] < $6 + $1) exit bad = 1; lo[NR] = $5; hi[NR] = $3; at[NR] = $6; top[NR] = $6 + $1; if (top[NR] > most) most = top[NR] } END { print most; exit bad }' >most
        grep -q " $(cat most) bytes" verdict
    done
    gprof --pack - <b.csv 2>/dev/null | diff - <(gprof --pack b.csv 2>/dev/null)
    bad 2 E_USAGE 'pack writes CSV: leave -O out' 'gprof --pack b.csv -O json'
    bad 2 E_USAGE 'ulp prints text, json or tsv' 'gload -e x | gprof --ulp -O html'
    printf 'id,lower,upper,size\r\n1,0,2,3\r\n' | gprof --pack - 2>/dev/null | diff - <(printf 'id,lower,upper,size,offset\n1,0,2,3,0\n')
    # one that has a hole at its bound: 2 and 2 around 3 can't be in 5
    ok 'gprof --pack b.csv --capacity 20 2>&1 >/dev/null' 'gprof: 5 buffers in 12 bytes: optimal'
    bad 1 E_VERDICT 'at least 12 are needed' 'gprof --pack b.csv --capacity 11'
    ok "echo id,lower,upper,size | gprof --pack - 2>/dev/null" 'id,lower,upper,size,offset'
    ok "printf 'id,lower,upper,size\nz,0,1,0\n' | gprof --pack - 2>/dev/null | tail -1" 'z,0,1,0,0'
}

# A rectangle of 100000 bytes by 400 steps that is cut into pieces again and again: there is an order without any hole.
@test "--pack of buffers that fit without a hole: found, or nearly, and never on top of each other" {
    local seed
    for seed in 1 2 4; do
        awk -v seed=$seed 'function below(n) { seed = (seed * 69069 + 1) % 2147483648; return int(seed / 2147483648 * n) }
            BEGIN {
                b[0] = 400; h[0] = 100000
                while (k < 249) {
                    i = below(k + 1)
                    if (below(2) && b[i] - a[i] > 1) { c = a[i] + 1 + below(b[i] - a[i] - 1); k++; a[k] = c; b[k] = b[i]; h[k] = h[i]; b[i] = c }
                    else if (h[i] > 1) { c = 1 + below(h[i] - 1); k++; a[k] = a[i]; b[k] = b[i]; h[k] = h[i] - c; h[i] = c }
                }
                print "id,lower,upper,size"
                for (i = 0; i <= k; i++) print i "," a[i] + 0 "," b[i] "," h[i]
            }' >r.csv
        gprof --pack r.csv -o p.csv 2>verdict
        awk -F, 'NR > 1 { for (k in lo) if ($2 < hi[k] && lo[k] < $3 && $5 < top[k] && at[k] < $5 + $4) bad = 1; lo[NR] = $2; hi[NR] = $3; at[NR] = $5; top[NR] = $5 + $4; if (top[NR] > most) most = top[NR] } END { print most; exit bad || NR != 251 || most > 120000 }' p.csv >most
        if [ "$(cat most)" = 100000 ]; then grep -q '100000 bytes: optimal$' verdict; else grep -q " $(cat most) bytes: at least 100000 are needed, a gap of" verdict; fi
    done
}

@test "--pack says what is wrong with a table" {
    printf 'id,lower,size\n' >no.csv
    printf 'id,lower,upper,size\na,3,3,1\n' >empty.csv
    printf 'id,lower,upper,size\na,0,1,x\n' >word.csv
    printf 'id,lower,upper,size\na,0,1\n' >short.csv
    printf 'id,lower,upper,size\na,0,1,1152921504606846976\n' >large.csv
    : >nothing.csv
    bad 3 E_FORMAT 'no column upper' 'gprof --pack no.csv'
    bad 3 E_VALUE 'empty.csv:2:1' 'gprof --pack empty.csv'
    bad 3 E_FORMAT 'word.csv:2:7' 'gprof --pack word.csv'
    bad 3 E_FORMAT 'size must be' 'gprof --pack short.csv'
    bad 3 E_VALUE 'too large' 'gprof --pack large.csv'
    bad 3 E_FORMAT 'empty' 'gprof --pack nothing.csv'
    bad 4 E_IO 'missing.csv' 'gprof --pack missing.csv'
    # blanks and empty lines are no part of the table, and its last line may lack its end
    ok "printf 'lower , size,id, upper\n\n 0 ,3, a, 2 \n1,4,b,2' | gprof --pack - 2>/dev/null" $'lower , size,id, upper,offset\n 0 ,3, a, 2 ,0\n1,4,b,2,3'
    while IFS='|' read -r row says; do
        bad 3 E_ "<stdin>:2.*$says" "printf 'id,lower,upper,size\n$row\n' | gprof --pack -" || return
    done <<'END'
a,x,3,4|lower must be a whole number
a,0,-3,4|upper must be a whole number
a,0,3|size must be a whole number
a,0,3,18446744073709551616|size is too large
a,0,3,1152921504606846976|size is too large
END
    bad 3 E_VALUE '<stdin>:6.*sizes add up to too much' "{ echo id,lower,upper,size; yes a,0,2,1152921504606846975 | head -5; } | gprof --pack -"
    bad 3 E_FORMAT 'the table is empty' 'gprof --pack - </dev/null'
    # of so many that not all packings are tried, something may be left to find
    awk 'BEGIN { srand(1); print "id,lower,upper,size"; for (i = 0; i < 1200; i++) { a = int(rand() * 400); print "i" i "," a "," a + 1 + int(rand() * 90) "," 1 + int(rand() * 999) } }' >many.csv
    gprof --pack many.csv -o p.csv 2>verdict
    run cat verdict
    assert_output --regexp '^gprof: 1200 buffers in [0-9]+ bytes: at least [0-9]+ are needed, a gap of [0-9]+\.[0-9]+%$'
    most=$(sed 's/.* in \([0-9]*\) bytes.*/\1/' verdict) least=$(sed 's/.*least \([0-9]*\) .*/\1/' verdict)
    ok "gprof --pack many.csv --capacity $most 2>&1 >/dev/null | cut -d' ' -f 1-6" "gprof: 1200 buffers in $most bytes:"
    bad 1 E_VERDICT "no packing in $least bytes was found, only one in $most" "gprof --pack many.csv --capacity $least"
    bad 1 E_VERDICT "at least $least are needed" "gprof --pack many.csv --capacity $((least - 1))"
    bad 2 E_USAGE 'reads no graph' 'gprof --pack no.csv g.yaml'
    bad 2 E_USAGE 'needs --pack' 'gprof --capacity 3 b.yaml'
}

@test "--solve finds the largest size that fits" {
    local limit n least
    mlp
    for limit in 900e3 2e6 4e6; do
        n=$(gprof mlp.tlg --solve "n: peak_bytes <= $limit")
        gprof mlp.tlg --static --dim "$n" --assert "peak_bytes <= $limit" >/dev/null
        run gprof mlp.tlg --static --dim "n=$((${n#n=} + 1))" --assert "peak_bytes <= $limit"
        assert_equal $status 1
    done
    # by trying all of them
    least=0
    for n in {1..64}; do
        gprof mlp.tlg --static --dim n=$n --assert 'flops < 30e6 and peak_bytes < 870 kB' >/dev/null 2>&1 && least=$n
    done
    ok "gprof mlp.tlg --solve 'n: flops < 30e6 and peak_bytes < 870 kB'" "n=$least"
    # another dim is given
    gload --new -i 'a: float64[n, k]' -e 'r = sum(exp(a) @ transpose(exp(a)), axis=0)' -o two.tlg
    ok "gprof two.tlg --dim k=8 --solve 'n: peak_bytes <= 1MB'" "$(gload two.tlg --dim k=8 | gprof --solve 'n: peak_bytes <= 1MB')"
    bad 1 E_VERDICT 'does not hold for n=1' "gprof mlp.tlg --solve 'n: peak_bytes < 1'"
    ok "gprof mlp.tlg --solve ' n :flops < 30e6 and peak_bytes < 870 kB '" "n=$least"
    for q in ': flops < 1' '' ' '; do bad 2 E_USAGE 'NAME: FORMULA' "gprof mlp.tlg --solve '$q'"; done
    bad 3 E_SYNTAX 'ends where an expression is expected' "gprof mlp.tlg --solve 'n: '"
    bad 2 E_MISSING 'leave --static out' "gprof mlp.tlg --solve 'n: time_s < 1'"
    # sizes that are beyond what can be counted are not known
    gload --new -i 'x: float64[n, n]' -e 'y = x * 2 + 1' -o square.tlg
    bad 2 E_MISSING 'peak_bytes is unknown.*|at n=1073741824' "gprof square.tlg --solve 'n: peak_bytes > 1'"
    ok "gprof square.tlg --solve 'n: peak_bytes < 1e6'" n=353
    # 9 fit, 10 don't, but 11 do
    ok "gprof square.tlg --solve 'n: peak_bytes < 800 or peak_bytes == 1024'" n=11
    bad 1 E_VERDICT 'and larger ones' "gprof mlp.tlg --solve 'n: peak_bytes > 1'"
    bad 2 E_USAGE 'NAME: FORMULA' "gprof mlp.tlg --solve 'peak_bytes < 1'"
    bad 2 E_UNKNOWN 'no dim k' "gprof mlp.tlg --solve 'k: peak_bytes < 1'"
    bad 2 E_UNKNOWN 'did you mean peak_bytes' "gprof mlp.tlg --solve 'n: peakbytes < 1'"
}

@test "where dims are open the peak is the largest of some polynomials" {
    local n at
    mlp
    gprof mlp.tlg --static -O json -o open.json
    jq -e '.total | [.peak_bytes, .peak_no_inplace_bytes, .peak_no_reuse_bytes, .least_bytes, .leaves_bytes] | all(type == "string")' open.json
    jq -e '.total.peak_bytes == .total.least_bytes' open.json
    # it says what a plan for that size takes
    for n in 1 100 763 764 5000; do
        at=$(jq -r .total.peak_bytes open.json | sed "s/\*n/*$n/g; s/max(\(.*\), \(.*\))/a = \1; b = \2; print (a > b ? a : b)/")
        at=$(awk "BEGIN { $at }")
        gprof mlp.tlg --static --dim n=$n --assert "least_bytes == $at" >/dev/null
    done
    # loops and functions
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: "float64[n]"}
    let: r = sort(cumsum(sort(x)))
    outputs: [r]
inputs: {x: "float64[n]", U: "float64[n, n]", s: "float64[t, n]"}
let: |
  h = scan(lambda s, h: tanh(s + h @ U), sequences=[s], outputs_info=[zeros(n)])
  o = f(x)
outputs: [h, o]
Y
    gprof f.yaml --static -O json | jq -e '.total.peak_bytes | test("8\\*n\\*t")'
    bad 2 E_MISSING 'least_bytes is max' "gprof mlp.tlg --static --assert 'least_bytes < 1'"
}

# A chain of products, and a loop over a large state.
deep() {
    local a=(--new -i 'x: float64[100, 40]') p=x i
    for i in {1..12}; do
        a+=(--shared "W$i: float64[40, 40] = normal(0, 0.1, (40, 40), seed=$i)" -e "h$i = tanh($p @ W$i)")
        p=h$i
    done
    gload "${a[@]}" -e "loss = sum($p ** 2)" --outputs loss -o deep.tlg
}

loop() {
    cat >loop.yaml <<'Y'
thunkline: 1
inputs: {k: float64, u: "float64[n]", q: "float64[t, n]"}
let: |
  v = scan(lambda q, u, k: u + k * sin(u) * (q - u), sequences=[q], outputs_info=[u], non_sequences=[k], n_steps=300, keep=['last'])
  loss = sum(v ** 2)
outputs: [loss]
Y
}

@test "--memory-budget takes the cheapest recomputation that fits" {
    local bytes flops rest last=1e30 b
    deep
    ggrad deep.tlg --cost loss --memory-budget list >list
    assert [ "$(wc -l <list)" -ge 4 ]
    assert_equal "$(head -1 list)" $'bytes\tflops\tparts\tof\tloops'
    # more bytes never cost more flops; each line is what its budget gives
    while IFS=$'\t' read -r bytes flops rest; do
        awk "BEGIN { exit !($flops < $last) }"
        last=$flops
        ggrad deep.tlg --cost loss --memory-budget "$bytes" -o b.tlg
        gprof --static b.tlg --assert "peak_bytes == $bytes and flops == $flops" >/dev/null
    done < <(tail -n +2 list)
    # the same bits
    ggrad deep.tlg --cost loss -o all.tlg
    bytes=$(sed -n 2p list | cut -f1)
    ggrad deep.tlg --cost loss --memory-budget "$bytes" -o least.tlg
    for b in all least; do
        grun $b.tlg x='normal(0, 1, (100, 40), seed=5)' -r d_loss_d_W1=$b.1.npy -r d_loss_d_W12=$b.12.npy >/dev/null
    done
    cmp all.1.npy least.1.npy
    cmp all.12.npy least.12.npy
    # a run takes what was planned
    gprof least.tlg x='normal(0, 1, (100, 40), seed=5)' --repeat 1 -O json | jq -e ".total | .measured_results_bytes <= $bytes"
    bad 1 E_VERDICT 'the least is [0-9]+ bytes' 'ggrad deep.tlg --cost loss --memory-budget 1kB'
}

@test "many small layers are recomputed, a few small values beside large ones are kept" {
    { echo 'thunkline: 1'; echo 'inputs: {x: "float64[8, 8]", W: "float64[8, 8]"}'; echo 'let: |'; echo '  h0 = tanh(x @ W)'
      for i in {1..200}; do echo "  h$i = tanh(h$((i - 1)) @ W)"; done; echo 'outputs: {loss: sum(h200)}'; } >deep.yaml
    ggrad deep.yaml -o full.tlg
    local how v=('x=normal(0, 1, (8, 8), seed=5)' 'W=normal(0, 0.4, (8, 8), seed=6)')
    for how in '--checkpoint sqrt' '--checkpoint h50,h100,h150' '--memory-budget 25kB'; do
        ggrad deep.yaml $how -o less.tlg
        gprof --static less.tlg --assert 'peak_bytes < 70e3' >/dev/null
        diff <(grun full.tlg "${v[@]}") <(grun less.tlg "${v[@]}")
    done
    gprof --static full.tlg --assert 'peak_bytes > 100e3' >/dev/null
    # nothing to do: the gradient as it is
    cmp <(ggrad deep.yaml --memory-budget 1MB --no-provenance) <(ggrad deep.yaml --no-provenance)
    # 16 means are kept, what they are of is made again: two products, one exp
    printf 'thunkline: 1\ninputs: {x: "float64[16, 256]", W: "float64[256, 256]"}\nlet: |\n  h = tanh(x @ W)\n  m = exp(mean(h, axis=1))\n  k = tanh(h * m[:, None])\noutputs: {loss: sum(k)}\n' >rows.yaml
    ggrad rows.yaml --checkpoint k | gload -O yaml >rows.txt
    assert_equal "$(grep -c ' = exp(' rows.txt) $(grep -c '@ W$' rows.txt)" '1 2'
}

@test "a size that is read later than others is still known" {
    local e
    while read -r e; do
        gload --new -i 'x: float64[n]' -e 'm = after(n, sum(x))' -e "y = $e" --outputs y -o open.tlg
        gload open.tlg --dim n=5 -o late.tlg
        grewrite late.tlg | gprof --static --assert 'unknown_sizes == 0' >/dev/null || complain 'a known size' "$e"
        diff <(grun late.tlg x=1,2,3,4,5) <(gload --new -i 'x: float64[5]' -e "y = ${e//m/5}" --outputs y | grun - x=1,2,3,4,5)
    done <<'E'
arange(m)
arange(1, m)
arange(m, 0, -2)
arange(int8(2), m, 2)
repeat(x, m)
repeat(x[1], m)
zeros((m, m // 2))
x.reshape((m, 1))
x[m - 2:]
E
    # so that what is recomputed of a transformer has a size
    local model=$ROOT/examples/transformer/model.yaml
    ggrad "$model" --cost loss --dim b=8 --dim t=64 --memory-budget list >list
    assert [ "$(wc -l <list)" -ge 4 ]
    awk -F'\t' 'NR == 2 { least = $1 } END { exit !(least < 0.6 * $1) }' list
    ggrad "$model" --cost loss --checkpoint sqrt | gload --dim b=8 --dim t=64 | grewrite >/dev/null
}

@test "--memory-budget recomputes steps of loops, as few as its states allow" {
    local b v=(k=0.1 u='normal(0, 1, (2000,), seed=1)' q='normal(0, 1, (300, 2000), seed=2)') d=(--dim n=2000 --dim t=300)
    loop
    ggrad loop.yaml --cost loss --wrt k,u "${d[@]}" --memory-budget list >list
    grep -q 'steps$' list
    # of many steps a few states take the least
    sed 's/n_steps=300/n_steps=3000/' loop.yaml | ggrad --cost loss --wrt k,u --dim n=2000 --dim t=3000 --memory-budget list | grep -q 'states$'
    ggrad loop.yaml --cost loss --wrt k,u -o all.tlg
    grun all.tlg "${v[@]}" >all
    for b in $(tail -n +2 list | cut -f1); do
        ggrad loop.yaml --cost loss --wrt k,u "${d[@]}" --memory-budget "$b" -o b.tlg
        gprof b.tlg "${v[@]}" --repeat 1 --warmup 0 -O json | jq -e ".total | .peak_bytes <= $b and .measured_results_bytes <= $b"
        grun b.tlg "${v[@]}" --expect d_loss_d_k="$(sed -n 's/^d_loss_d_k = //p' all)" >/dev/null
    done
    ggrad loop.yaml --cost loss --wrt k,u "${d[@]}" --memory-budget "$(sed -n 2p list | cut -f1)" | grun --mode DEBUG "${v[@]}" >/dev/null
    # the graph keeps its dims, whatever was compared
    ggrad loop.yaml --cost loss --wrt u "${d[@]}" --memory-budget 100MB | gload -O yaml | grep -q 'u: float64\[n\]'
    bad 2 E_MISSING "--dim n=1000 .*; the graph's dims are n, t" 'ggrad loop.yaml --cost loss --memory-budget 1MB'
    bad 2 E_USAGE 'is for --memory-budget' 'ggrad loop.yaml --cost loss --dim n=3'
    bad 2 E_USAGE 'a size such as' 'ggrad loop.yaml --cost loss --memory-budget much'
    bad 2 E_USAGE 'give one' 'ggrad loop.yaml --cost loss --memory-budget 1MB --checkpoint sqrt'
    bad 2 E_USAGE 'excludes --check' 'ggrad loop.yaml --cost loss --memory-budget 1MB --check'
    bad 2 E_USAGE 'memory-budget is for --cost' 'ggrad loop.yaml --jvp loss --memory-budget 1MB'
}

@test "functions that are called at one depth share storage" {
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: "float64[n]"}
    let: r = sort(cumsum(sort(x)))
    outputs: [r]
  g:
    inputs: {x: "float64[n]"}
    let: r = sort(cumprod(sort(x)))
    outputs: [r]
  both:
    inputs: {x: "float64[n]"}
    let: r = f(x) + g(x)
    outputs: [r]
inputs: {x: "float64[n]"}
let: |
  a = f(x)
  b = g(both(x))
  s = scan(lambda h: f(h) * 0.5 + g(h), outputs_info=[x], n_steps=3, keep=['last'])
outputs: [a, b, s]
Y
    gprof f.yaml x='arange(1000.)' --repeat 1 -O json -o r.json
    jq -e '.total | .measured_results_bytes == .peak_bytes and .peak_bytes < 100e3' r.json
    grun f.yaml x='arange(7.) / 7' >shared
    grun f.yaml x='arange(7.) / 7' --no-gc | diff shared -
    grewrite --include inline f.yaml | grun x='arange(7.) / 7' | diff shared -
    grun f.yaml x='arange(7.) / 7' --mode DEBUG | diff shared -
    # of other sizes, one after the other
    ok "grun f.yaml --each x --batch 4 x='arange(10.) / 10' --every 1 | grep -c '^a = '" "$(grun f.yaml --each x --batch 4 --no-gc x='arange(10.) / 10' --every 1 | grep -c '^a = ')"
}

@test "integers on which sizes depend are given like dims" {
    gload --new -i 'x: float64[n, 8]' -i 'pos: int64' -e 'y = sum(exp(x[:pos + 1]), axis=1)' -o pos.tlg
    gprof pos.tlg --static --dim n=100 --dim pos=9 -O json | jq -e '.total | .unknown_sizes == 0 and .unknown_flops == 0 and .math_calls == 80'
    gprof pos.tlg --dim pos=9 'x=ones((100, 8))' --repeat 1 -O json | jq -e '.total.math_calls == 80'
    ok "gprof pos.tlg --dim n=1000 --solve 'pos: math_calls <= 800'" pos=99
    for v in =x =-1 =7x = =99999999999999999999 ''; do bad 2 E_USAGE 'NAME=SIZE' "gprof pos.tlg --static --dim pos$v"; done
    bad 2 E_UNKNOWN 'no dim x' 'gprof pos.tlg --static --dim x=3'
}

@test "rows that are written over an input are those that are written elsewhere" {
    local d n k y
    for d in float32 float64; do
        gload --new -i "w: ${d}[n, 1]" -i "v: ${d}[k]" -i "x: ${d}[n, k]" -i 'i: int64[n]' -i 'j: int64[n]' -e 'kept = x[i]' \
            -e 'a0 = w * x[j]' -e 'b0 = w * kept' -e 'a1 = v + x[j][::-1]' -e 'b1 = v + kept[::-1]' \
            -e 'a2 = (w * take(x, j, axis=0) - v) / (2 + w)' -e 'b2 = (w * kept - v) / (2 + w)' --outputs kept,a0,b0,a1,b1,a2,b2 -o g.tlg
        for n in 1 3 4 5 127 128 129 300; do
            for k in 3 7 8 9 12 15 16 17 28 60 130; do
                for y in 0 1 2; do
                    grun g.tlg --outputs kept,a$y,b$y -r "*=r.npz" "w=uniform(0, 1, ($n, 1), seed=1)" "v=uniform(0, 1, ($k,), seed=2)" \
                        "x=normal(0, 1, ($n, $k), seed=3)" "i=arange($n)[::-1]" "j=arange($n)[::-1]" --threads 2 --on-unused-input ignore
                    ok "gload --new -e 'same = all(load(\"r.npz\", \"a$y\") == load(\"r.npz\", \"b$y\"))' --outputs same | grun" 'same = True' || fail "${d}[$n, $k]"
                done
            done
        done
    done
}
