# gprof -O roofline: its points, roofs and texts, as data.
load common

roofline() { # FILE, arguments of gprof
    gprof "${@:2}" -O roofline >"$1"
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"
    run grep -E '="?(nan|-?inf)|[ML" ](nan|-?inf)' "$1"
    assert_failure
}

points() { grep -c '<circle class="point"' "$1" || true; }

# roofs FILE: the texts on the lines
roofs() { sed -n 's/.*>\(memory\|cache\|float32\|float64\): [0-9.]* [kMGTP]*\(B\|FLOP\).s<.*/\1/p' "$1" | tr '\n' ' '; }

model() {
    gload --new -i 'x: float32[300, 200]' -i 'W: float32[200, 300]' -e 'h = tanh(x @ W)' -e 's = sort(h)' -e 'c = concatenate([h, h])' -e 't = sum(exp(h))' --outputs s,c,t -o m.tlg
}

@test "-O roofline: a point for each Apply that computes, the roofs with what was measured" {
    model
    roofline r.svg m.tlg
    gprof m.tlg -O json >r.json
    # a roof of the cache is there if it is higher; of flops, those that the graph needs
    [[ $(roofs r.svg) =~ ^'memory '('cache ')?'float32 '$ ]]
    assert_equal "$(points r.svg)" "$(jq '[.apply[] | select(.flops > 0 and .bytes > 0)] | length' r.json)"
    assert [ "$(points r.svg)" -ge 2 ]
    grep -q "not drawn: $(jq '[.apply[] | select(.flops == 0 or .bytes == 0)] | length' r.json) row" r.svg
    # a matrix product has the same name, flops and bytes as in the report
    tr '\n' '|' <r.svg | grep -Eo '<title>[^<]*@[^<]*</title>' >title
    grep -Eq '^<title>_?[a-z0-9]* = x @ W\|36\.0 MFLOP, 840 kB, 42\.9 FLOP/B\|[0-9.]+ [mun]?s, [0-9.]+% of the time\|[0-9.]+ [kMGT]?FLOP/s, [0-9]+% of the roof</title>$' title
    # axes with powers of ten
    for n in 0.1 1 10; do grep -q "text-anchor=\"middle\">$n</text>" r.svg; done
    grep -q 'text-anchor="end">1.00 GFLOP/s</text>' r.svg
    # the colours are those of the picture of memory
    gprof m.tlg -O svg >m.svg
    for family in linalg elemwise; do
        colour=$(grep -B1 ">$family</text>" m.svg | grep -o 'fill="#[^"]*"')
        assert_equal "$(grep -B1 ">$family</text>" r.svg | grep -o 'fill="#[^"]*"')" "$colour"
        grep "<circle class=\"point\"" r.svg | grep -q "$colour"
    done
    # the longest first: numbers on the points are those of the list
    assert_equal "$(sed -n '/of the roof<\/text>/,$s/.*text-anchor="end">\([0-9]*\)<.text>/\1/p' r.svg | tr '\n' ' ')" "$(seq -s ' ' "$(points r.svg)") "
}

@test "-O roofline: points are where flops, bytes and time put them" {
    gload --new -i 'x: float64[200000]' -e 'y = x * x + 1' -o m.tlg
    roofline r.svg m.tlg
    [[ $(roofs r.svg) =~ ^'memory '('cache ')?'float64 '$ ]]
    # 2 flops for 16 bytes: half way between 0.1 and 1 is 0.316
    x=$(sed -n 's/.*<circle class="point" cx="\([0-9.]*\)".*/\1/p' r.svg)
    left=$(sed -n 's/<text x="\([0-9.]*\)" .*"middle">0.1<.*/\1/p' r.svg)
    right=$(sed -n 's/<text x="\([0-9.]*\)" .*"middle">1<.*/\1/p' r.svg)
    awk -v x="$x" -v l="$left" -v r="$right" 'BEGIN { at = (x - l) / (r - l); exit !(at > 0.09 && at < 0.105) }' # log10(1.25)
}

@test "-O roofline: by op, the largest, odd names, nothing to draw" {
    model
    roofline o.svg m.tlg --by op
    grep -q '>matmul</text>' o.svg
    roofline t.svg m.tlg --top 1
    assert_equal "$(points t.svg)" 1
    roofline f.svg m.tlg --by prefix
    gload --new -i 'x: float64[50]' -e "y = print(sort(x), '<&>é') * 2" -e "z = sum(y) + sum(print(x, ']]>'))" -o odd.tlg
    roofline odd.svg odd.tlg
    gload --new -i 'x: float64[3]' -e 'y = x' -o none.tlg
    roofline none.svg none.tlg
    assert_equal "$(points none.svg)" 0
    gload --new -i 'x: float64' -e 'y = x + 1' -o scalar.tlg
    roofline scalar.svg scalar.tlg
    # functions and loops have points of their own
    gload --new -i 'x: float64[n, 9]' -e 'h = scan(lambda x, h: tanh(x + h) * 2, sequences=[x], outputs_info=[zeros(9)])' -o loop.tlg
    roofline loop.svg loop.tlg --dim n=50
    assert [ "$(points loop.svg)" -ge 1 ]
}

@test "-O roofline needs a run, and stays within --max-memory" {
    model
    bad 2 E_USAGE 'needs a run: leave --static out' 'gprof m.tlg --static -O roofline'
    roofline r.svg m.tlg --max-memory 20MB
    like 'gprof m.tlg --threads 1 -O roofline' 'memory: '
    run gprof m.tlg -O roofline --assert 'flops < 1' -o a.svg
    assert_failure 1
}
