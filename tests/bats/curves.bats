# grun --plot: curves of numbers, as data.
load common

# well_formed FILE: XML, if there is something that can tell
well_formed() { python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"; }

# points FILE: of each curve, how many its path has
points() { sed -n 's/.* d="\([^"]*\)".*/\1/p' "$1" | tr -cd 'ML\n' | awk '{ print length }' | tr '\n' ' '; }

# ticks FILE AXIS: the numbers of the x (middle) or y (end) axis
ticks() { sed -n "s/.*text-anchor=\"$2\">\([^<]*\)<.*/\1/p" "$1" | grep -v '^call$' | tr '\n' ' '; }

counter() {
    gload --new --shared 'c: int64 = 0' -e 'up = c + 1' -e 'half = float64(c) / 2' -e 'row = ones(2) * c' --outputs up,half,row --update 'c = c + 1' -o c.tlg
}

@test "--plot draws every output that is a number, with ticks, names and last values" {
    counter
    grun c.tlg --steps 20 --plot c.svg >/dev/null
    well_formed c.svg
    assert_equal "$(points c.svg)" '20 20 '
    assert_equal "$(grep -c '<circle' c.svg)" 40
    grep -q '<title>call 20: up = 20</title>' c.svg
    grep -q '>up 20</text>' c.svg
    grep -q '>half 9.5</text>' c.svg
    run grep row c.svg
    assert_failure
    assert_equal "$(ticks c.svg middle)" '2 4 6 8 10 12 14 16 18 20 '
    assert_equal "$(ticks c.svg end)" '0 5 10 15 20 '
    # the points of --every are those that it prints: every K-th, and the last
    grun c.tlg --steps 20 --every 6 --plot e.svg -O tsv >e.tsv
    assert_equal "$(points e.svg)" '4 4 '
    for n in 6 12 18 20; do grep -q "<title>call $n: up = $n<" e.svg; done
    # and of one call, of rows, with --until
    grun c.tlg --plot one.svg >/dev/null
    assert_equal "$(points one.svg)" '1 1 '
    assert_equal "$(ticks one.svg middle)" '1 '
    gload --new -i 'x: float64[n]' -e 's = sum(x)' --outputs s | grun x=[1,2,4,8,16] --each x --batch 2 --plot rows.svg >/dev/null
    assert_equal "$(points rows.svg)" '3 '
    grep -q 'call 2: s = 12' rows.svg
    grun c.tlg --steps 50 --until 'up > 6' --plot until.svg >/dev/null
    assert_equal "$(points until.svg)" '7 7 '
}

@test "--plot: a logarithmic scale for positive values that span more than two powers of ten" {
    for how in '2.0 ** c' '100.0 ** (c / 20.)' '-(2.0 ** c)' '1e300 * 10. ** c' '5 + 0.0 * c' '1e9 + 1e-3 * c' '10. ** (30. * c - 300)' '(c - 10.) * 1.7e307' '5e-324 * (c < 99)'; do
        gload --new --shared 'c: int64 = 0' -e "v = $how" --outputs v --update 'c = c + 1' | grun --steps 21 --plot v.svg >/dev/null
        well_formed v.svg
        [[ $how == 1e300* ]] || assert_equal "$(points v.svg)" '21 ' # overflows
        ticks v.svg end
        echo
    done >scales
    assert_equal "$(sed 's/ $//' scales)" '1 10 100 1000 10000 100000 1e+06
0 20 40 60 80 100
-1e+06 -800000 -600000 -400000 -200000 0
1e+300 1e+301 1e+302 1e+303 1e+304 1e+305 1e+306 1e+307 1e+308
4.6 4.8 5 5.2 5.4
1000000000 1000000000.005 1000000000.01 1000000000.015 1000000000.02
1e-300 1e-225 1e-150 1e-75 1 1e+75 1e+150 1e+225 1e+300
-8e+307 -6e+307 -4e+307 -2e+307 0 2e+307 4e+307 6e+307 8e+307
-1e-300 -5e-301 0 5e-301 1e-300'
    run grep -E 'nan|inf' v.svg
    assert_failure
}

@test "--plot: gaps where a value isn't finite, odd names, many points" {
    gload --new --shared 'c: int64 = 0' -e 'v = where(c == 3, nan, where(c == 5, inf, float64(c)))' -e 'never = c * nan' --outputs v,never --update 'c = c + 1' | grun --steps 8 --plot gaps.svg >/dev/null
    well_formed gaps.svg
    assert_equal "$(sed -n 's/.* d="\([^"]*\)".*/\1/p' gaps.svg | head -1 | tr -cd M)" MMM
    assert_equal "$(points gaps.svg)" '6 0 '
    grep -q '>never nan</text>' gaps.svg
    gload --new -i 'x: float64' -e 'y = x' -o y.tlg
    printf '%s\n' 'thunkline: 1' 'inputs: {x: float64}' "outputs: {'a<b>&\"c': x * 2, \"it's é, and a name that is longer than anybody wants to read it in a picture\": x + 1}" >odd.yaml
    grun odd.yaml x=1 --plot odd.svg >/dev/null
    well_formed odd.svg
    grep -qF '>a&lt;b&gt;&amp;"c 2</text>' odd.svg
    grep -q "it's é, and a name that is longer than.*\.\.\. 2</text>" odd.svg
    # what is too dense to see is drawn by column, with its extremes
    gload --new --shared 'c: int64 = 0' -e 'v = where(c == 30000, 7., where(c % 2 == 0, 1., 2.))' --outputs v --update 'c = c + 1' | grun --steps 60000 --plot dense.svg >/dev/null
    well_formed dense.svg
    assert [ "$(wc -c <dense.svg)" -lt 40000 ]
    assert_equal "$(ticks dense.svg end)" '0 1 2 3 4 5 6 7 '
    # a NaN has no sign here either, and without any number there still is a scale
    gload --new -i 'x: float64' -e 'y = x / x' -e 'z = -(x / x)' -e 'c = complex64(1j) * x' --outputs y,z,c | grun x=0 --steps 3 --plot nan.svg >/dev/null
    well_formed nan.svg
    assert_equal "$(sed -n 's/.*text-anchor="start">\([^<]*\)<.*/\1/p' nan.svg | sort | tr '\n' ' ')" 'y nan z nan '
    assert_equal "$(ticks nan.svg end)" '0 0.2 0.4 0.6 0.8 1 '
    # of more than a million calls every other one is kept, and the last
    gload --new --shared 'c: float64 = 0.' -e 'v = c * 2' --outputs v --update 'c = c + 1' | grun --steps 1100001 --plot long.svg >/dev/null
    well_formed long.svg
    grep -q '>v 2.2e+06</text>' long.svg
    grep -q ' d="M80\.0 .*L800\.0 30\.0"><title>v<' long.svg
    # names that would lie on each other are apart
    gload --new -i 'x: float64' -e 'y1 = x + 1' -e 'y2 = x + 1' -e 'y3 = x + 1' -e 'y4 = x + 1' -e 'y5 = x + 50' --outputs y1,y2,y3,y4,y5 | grun x=1 --plot apart.svg >/dev/null
    assert_equal "$(sed -n 's/.*y="\([0-9.]*\)" text-anchor="start">y[0-9].*/\1/p' apart.svg | awk 'NR > 1 && $1 - last < 16 { print } { last = $1 }')" ''
}

@test "--plot: a run that is ended by a signal leaves its curves; a failed one leaves the old file" {
    counter
    env --default-signal=INT grun c.tlg --steps 1000000000 --every 1000 -O tsv --plot c.svg --save s.tlg >rows 2>err &
    local pid=$! status=0 i
    for ((i = 0; i < 3000; i++)); do
        ! grep -q '^5000' rows || break
        sleep 0.01
    done
    kill -INT $pid
    wait $pid || status=$?
    assert_equal "$status" 130
    well_formed c.svg
    assert [ "$(points c.svg | cut -d' ' -f1)" = "$(($(wc -l <rows) - 1))" ]
    rm rows
    # without --save, too
    env --default-signal=INT grun c.tlg --steps 1000000000 --every 1000 -O tsv --plot d.svg >rows 2>err &
    pid=$!
    for ((i = 0; i < 3000; i++)); do
        ! grep -q '^5000' rows || break
        sleep 0.01
    done
    kill -INT $pid
    wait $pid || true
    well_formed d.svg
    echo old >old.svg
    gload --new --shared 'c: int64 = 0' -e 'v = ones(6)[c]' --outputs v --update 'c = c + 1' -o f.tlg
    run grun f.tlg --steps 9 --plot old.svg
    assert_failure
    assert_equal "$(cat old.svg)" old
    run compgen -G '.*.thunkline.*'
    assert_failure
}

@test "wrong uses of --plot" {
    counter
    for f in c.png c.svgz c c.svg.zst -; do bad 2 E_USAGE 'writes files named .svg' "grun c.tlg --plot $f"; done
    bad 2 E_USAGE 'outputs that are numbers, and none is' 'grun c.tlg --outputs row --plot c.svg'
    bad 4 E_IO '' 'grun c.tlg --plot no/such/folder/c.svg'
}
