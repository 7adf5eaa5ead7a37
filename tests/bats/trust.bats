# Which value, which rewrite, why: traces of runs.
load common

model() {
    cat >m.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[n, 3]'}
shared: {w: 'float64[3] = [1., 2., 3.]'}
let: |
  u = 1 + x @ w
  y = log(u)
  z = y * 2 + sum(exp(y) * x[:, 0])
  loss = sum(z ** 2)
outputs: [loss]
updates: {w: w - 0.1 * w}
END
}

@test "--trace and --against: the same run agrees, rewritten or not, in any number of threads" {
    model
    grun m.yaml 'x=ones((4, 3))' --steps 3 --trace t.trc -o /dev/null
    for how in '--mode FAST_RUN' '--mode FAST_COMPILE' '--threads 1' '--exclude log1p'; do
        # shellcheck disable=SC2086
        grun m.yaml 'x=ones((4, 3))' --steps 3 --against t.trc $how -o /dev/null -v 2>log
        grep -q 'compared 4[0-9] values in 3 of the 3 calls of t.trc' log
    done
    # a graph that was rewritten and saved keeps the values that have names
    grewrite m.yaml -o fast.tlg
    grun fast.tlg 'x=ones((4, 3))' --steps 3 --against t.trc -o /dev/null
    # so does one in another precision, within that one's tolerance
    sed 's/float64/float32/' m.yaml >m32.yaml
    grun m32.yaml 'x=float32(ones((4, 3)))' --steps 3 --against t.trc -o /dev/null
}

@test "--against names the first value that differs, what its inputs did and what made it" {
    model
    grun m.yaml 'x=ones((4, 3))' --trace t.trc -o /dev/null
    sed 's/log(u)/log(u) + 0.01 * u/' m.yaml >other.yaml
    run grun other.yaml 'x=ones((4, 3))' --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'other.yaml:6:7: error[E_VERDICT]: y is the first value that differs from the trace, by 0.0347 of its size'
    assert_output --partial 'in the trace: float64(4,) min=1.94591015 max=1.94591015 mean=1.94591015 rms=1.94591015 hash='
    assert_output --partial 'min=2.01591015'
    # a wrong rule is named, and so is what it amplified
    echo 'wrong: sum(exp(a) * b) => 1.001 * sum(b * exp(a))' >wrong.rules
    sed 's/exp(y) \* x/exp(y) * x/' m.yaml >same.yaml
    run grun same.yaml 'x=ones((4, 3))' --rules wrong.rules --exclude wrong --against t.trc -o /dev/null
    assert_success
    gload --new -i 'a: float64[3]' -e 's = sqrt(a)' -e 't = s - 1' -o amp.tlg
    grun amp.tlg 'a=[1.0001, 1.0002, 1.0003]' --trace a.trc -o /dev/null
    run grun amp.tlg 'a=[1.0001000001, 1.0002, 1.0003]' --against a.trc --rtol 1e-8 --atol 0 -o /dev/null
    assert_failure 1
    assert_output --partial 't is the first value that differs'
    assert_output --partial 'deviation of its inputs: s: '
    assert_output --partial ', amplified '
    run grun amp.tlg 'a=[2, 1.0002, 1.0003]' --against a.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'the input a is the first value that differs'
}

@test "--against: elements that changed places differ, and nan and inf are counted" {
    gload --new -i 'a: float64[4]' -e 'b = a + 1' -o m.tlg
    grun m.tlg 'a=[1, 2, 3, 4]' --trace t.trc -o /dev/null
    run grun m.tlg 'a=[1, 3, 2, 4]' --against t.trc -o /dev/null
    assert_failure 1
    run grun m.tlg 'a=[1, 2, nan, 4]' --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'nan=1'
    grun m.tlg 'a=[nan, 2, inf, 4]' --trace n.trc -o /dev/null
    grun m.tlg 'a=[nan, 2, inf, 4]' --against n.trc -o /dev/null
    run grun m.tlg 'a=[nan, 2, -inf, 4]' --against n.trc -o /dev/null
    assert_failure 1
    # integers are compared exactly; strided and empty values have digests, too
    gload --new -i 'k: int64[n, m]' -e 'kt = k.T' -e 'r = kt[::2]' -e 's = sum(r)' --outputs s,r -o k.tlg
    grun k.tlg 'k=[[1, 2, 3], [4, 5, 6]]' --trace k.trc -o /dev/null
    grun k.tlg 'k=[[1, 2, 3], [4, 5, 6]]' --against k.trc --mode FAST_COMPILE -o /dev/null
    run grun k.tlg 'k=[[1, 2, 3], [4, 6, 5]]' --against k.trc -o /dev/null
    assert_failure 1
    grun k.tlg 'k=zeros((0, 3), dtype="int64")' --trace e.trc -o /dev/null
    grun k.tlg 'k=zeros((0, 3), dtype="int64")' --against e.trc -o /dev/null
    # a large value has the same one whatever its layout and the number of threads
    gload --new -i 'k: int64[n, m]' -i 'u: int64' -e 'b = k.T' --outputs b -o view.tlg
    gload --new -i 'k: int64[n, m]' -i 'u: int64' -e 'b = k.T * u' --outputs b -o packed.tlg
    big='k=reshape(arange(210001 * 3), (3, 210001))'
    grun view.tlg "$big" u=1 --trace v.trc -o /dev/null
    grun packed.tlg "$big" u=1 --against v.trc -o /dev/null
    grun packed.tlg "$big" u=1 --against v.trc --threads 1 -o /dev/null
    gload --new -i 'k: int64[n, m]' -i 'u: int64' -e 'b = k.T * u + (k.T == 400000)' --outputs b -o one.tlg
    run grun one.tlg "$big" u=1 --against v.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'b is the first value that differs'
    # a leaf that is passed on, too
    gload --new -i 'a: float64[n]' -e 'b = a * 1' -o p.tlg
    grun p.tlg 'a=[1, 2]' --trace p.trc -o /dev/null
    run grun p.tlg 'a=[1, 3]' --against p.trc -o /dev/null
    assert_failure 1
    # elements of --trace-sample tell what the digest of a large value hides
    gload --new -i 'a: float64[n]' -e 'b = a * 2' -o l.tlg
    grun l.tlg 'a=ones(100000)' --trace l.trc -o /dev/null
    grun l.tlg 'a=ones(100000)' --trace ls.trc --trace-sample 10 -o /dev/null
    [ "$(wc -c <ls.trc)" -eq "$(($(wc -c <l.trc) + 2 * 80))" ]
    grun l.tlg 'a=ones(100000)' --against ls.trc -o /dev/null
}

# The value of x in the trace, in the run, how far they are apart, or nothing.
@test "--against: distances of zeros, of infinite and complex values; a run of more or fewer steps" {
    local was now far
    while IFS='|' read -r was now far; do
        gload --new -i "x: ${far##* }[n]" --shared 'w: float64 = 1' -e 'y = x * w + x' --update 'w = w + 1' --outputs y -o m.tlg
        grun m.tlg "x=$was" --steps 2 --trace m.trc -o /dev/null
        case $far in
        same*) ok "grun m.tlg 'x=$now' --steps 2 --against m.trc -o /dev/null" ;;
        *) bad 1 E_VERDICT "the input x is the first value that differs from the trace, by ${far% *} of its size" "grun m.tlg 'x=$now' --against m.trc -o /dev/null" ;;
        esac
    done <<'END'
[1, 0, 2]|[1, 0, 2]|same float64
[0, 0]|[0, 0]|same float64
[0, 0]|[0, 1e-300]|same float64
[0, 0]|[0, 1]|1 float64
[inf, 1]|[inf, 1]|same float64
[inf, nan]|[inf, nan]|same float64
[inf, 1]|[-inf, 1]|inf float64
[inf, 1]|[nan, 1]|inf float64
[1, 2]|[1, 2.5]|0.2 float64
[1j, 2]|[1j, 2]|same complex128
[1j, inf]|[1j, inf]|same complex128
END
    # steps that the trace has not are not compared, which is said
    gload --new -i 'x: float64' --shared 'w: float64 = 1' -e 'y = x * w' --update 'w = w + 1' --outputs y -o m.tlg
    grun m.tlg x=2 --steps 3 --trace m.trc -o /dev/null
    for was in 1 3; do ok "grun m.tlg x=2 --steps $was --against m.trc | tail -n 1" "y = $((2 * was)).0"; done
    run --separate-stderr grun m.tlg x=2 --steps 5 --against m.trc -o /dev/null
    [ "$status" = 0 ]
    [ "$stderr" = 'grun: warning[E_VERDICT]: m.trc has 3 calls, and here were 5: the later ones were not compared' ]
    ok 'grun m.tlg x=2 --steps 2 --against m.trc -o /dev/null 2>&1' ''
    gload m.tlg --set w=2 -o n.tlg
    bad 1 E_VERDICT 'the shared variable w is the first value that differs from the trace, by 0.5 of its size' 'grun n.tlg x=2 --steps 3 --against m.trc'
}

@test "--against: short vectors in rows keep their names" {
    local scale
    for scale in 1 1.5; do
        gload --new -i 'x: float64[n, 3]' -e "unit = x * $scale / sqrt(sum(x ** 2, axis=1))[:, None]" \
            -e 'out = sum(unit * x[:, [1, 2, 0]], axis=1) + sum(unit, axis=1)' --outputs out -o "$scale.tlg"
    done
    ! grewrite 1.tlg -O math | grep unit || false
    grun 1.tlg 'x=ones((4, 3))' --trace r.trc -o /dev/null
    bad 1 E_VERDICT 'unit is the first value that differs from the trace' 'grun 1.5.tlg "x=ones((4, 3))" --against r.trc -o /dev/null'
}

@test "--against: a trace of another graph says where names or shapes part" {
    model
    grun m.yaml 'x=ones((4, 3))' --trace t.trc -o /dev/null
    run grun m.yaml 'x=ones((5, 3))' --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'x is float64(5, 3), but float64(4, 3) in the trace'
    sed 's/\bu\b/v/' m.yaml | sed 's/log(u)/log(v)/' >renamed.yaml
    run grun renamed.yaml 'x=ones((4, 3))' --against t.trc -o /dev/null
    assert_success
    assert_output --partial 'warning[E_VERDICT]: t.trc is a trace of another graph: only it has u, and only this one has v'
    gload --new -e 'q = ones(3)' -o q.tlg
    run grun q.tlg --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 't.trc is a trace of another graph'
    # what only a branch needs stays with its branch
    gload --new -i 'p: bool' -i 'v: float64' -e 'bad = assert_op(v, v > 0)' -e 'r = ifelse(p, bad, v)' --outputs r -o i.tlg
    grun i.tlg p=False v=-1 --trace i.trc -o /dev/null
    grun i.tlg p=False v=-1 --against i.trc -o /dev/null
}

@test "traces: bad files and bad uses are errors, and no file is left behind" {
    model
    grun m.yaml 'x=ones((4, 3))' --trace t.trc -o /dev/null
    size=$(wc -c <t.trc)
    head -c $((size - 9)) t.trc >short.trc
    run grun m.yaml 'x=ones((4, 3))' --against short.trc
    assert_failure 4
    assert_output --partial 'E_TRUNCATED'
    { head -c 300 t.trc; printf x; tail -c +302 t.trc; } >bits.trc
    run grun m.yaml 'x=ones((4, 3))' --against bits.trc
    assert_failure 4
    assert_output --partial 'E_CHECKSUM'
    run grun m.yaml 'x=ones((4, 3))' --against m.yaml
    assert_failure 3
    assert_output --partial 'm.yaml: this is no trace of a run'
    for version in 1 3; do
        { head -c 8 t.trc; printf "\\$version"; tail -c +10 t.trc; } >other.trc
        run grun m.yaml 'x=ones((4, 3))' --against other.trc
        assert_failure 3
        assert_output --partial "E_VERSION]: other.trc: version $version of traces; this reads 2"
    done
    run grun m.yaml 'x=ones((4, 3))' --against none.trc
    assert_failure 4
    run grun m.yaml 'x=ones((4, 3))' --trace a.trc --against t.trc
    assert_failure 2
    run grun m.yaml 'x=ones((4, 3))' --trace a.trc --mode DEBUG
    assert_failure 2
    local o
    for o in '--trace t --trace-sample -1' '--trace t --trace-sample 65537'; do
        bad 2 E_USAGE 'trace-sample must be between 0 and 65536' "grun m.yaml 'x=ones((4, 3))' $o"
    done
    for o in DEBUG NAN_GUARD MONITOR; do
        bad 2 E_USAGE 'trace goes with --mode FAST_RUN or FAST_COMPILE only' "grun m.yaml 'x=ones((4, 3))' --trace t --mode $o"
        bad 2 E_USAGE 'against goes with --mode FAST_RUN or FAST_COMPILE only' "grun m.yaml 'x=ones((4, 3))' --against t --mode $o"
    done
    run grun m.yaml 'x=ones((4, 3))' --trace-sample 3
    assert_failure 2
    run grun m.yaml 'x=ones((4, 4))' --trace a.trc
    assert_failure 3
    [ ! -e a.trc ]
    run grun --errors json m.yaml 'x=ones((4, 3)) * 2' --against t.trc
    assert_failure 1
    assert_output --partial '"code": "E_VERDICT"'
}

# A loop over rows and a function that is called, with names inside both.
loops() {
    cat >loops.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[6]', xs: 'float64[t, 6]'}
shared: {w: 'float64[6] = [1., 2., 3., 4., 5., 6.]'}
functions:
  step:
    inputs: {s: 'float64[6]', h: 'float64[6]', k: 'float64[6]'}
    let: |
      u = s * exp(k) * 0.01
      a = sin(h) + 1 + u
      r = tanh(a * k / 10)
    outputs: [r]
  twice:
    inputs: {q: 'float64[6]'}
    let: |
      m = q * 2 + 1
      n = log(1 + m * m)
    outputs: [n]
let: |
  hs = scan(step, sequences=[xs], outputs_info=[x], non_sequences=[w])
  hk = scan(step, sequences=[xs], outputs_info=[w], non_sequences=[x])
  z = hs[-1] + w + twice(hk[-1])
  p = ifelse(z[0] > 0, sum(exp(z) * 2), sum(z))
outputs: [z, p]
END
    export rows='xs=reshape(float64(arange(240)), (40, 6)) * 0.01'
}

@test "--against looks into functions and loops, whatever rewriting made of them" {
    loops
    grun loops.yaml 'x=ones(6)' "$rows" --mode FAST_COMPILE --trace t.trc -o /dev/null
    grun loops.yaml 'x=ones(6)' "$rows" --mode FAST_COMPILE --threads 1 --against t.trc -o /dev/null -v 2>log
    # 40 steps of each loop, with as many values as there are Applies, and the function
    [ "$(sed -n 's/.*compared \([0-9]*\) values.*/\1/p' log)" -gt 700 ]
    # rewriting moves u out of the loop; a and r stay
    grun loops.yaml 'x=ones(6)' "$rows" --mode FAST_RUN --against t.trc -o /dev/null -v 2>log
    [ "$(sed -n 's/.*compared \([0-9]*\) values.*/\1/p' log)" -ge 160 ]
    sed 's/sin(h) + 1 + u/sin(h) + 1 + u + ifelse(s[0] > 1, 0.01, 0.0)/' loops.yaml >other.yaml
    for mode in FAST_COMPILE FAST_RUN; do
        run grun other.yaml 'x=ones(6)' "$rows" --mode $mode --against t.trc -o /dev/null
        assert_failure 1
        assert_output --partial 'other.yaml:9:11: error[E_VERDICT]: a in step 17 of hs is the first value that differs from the trace, by 0.00162 of its size'
        assert_output --partial 'note: in step 17 of 40 of the loop here, which runs step'
    done
    # a function, and one within a branch that this run takes
    sed 's/1 + m \* m)/1 + m * m) * 1.001/' loops.yaml >other.yaml
    run grun other.yaml 'x=ones(6)' "$rows" --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'n in a call of twice is the first value that differs'
    # what a loop is fed differs where it is made
    run grun loops.yaml 'x=ones(6) * 1.001' "$rows" --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'the input x is the first value that differs'
    # another loop over the same function isn't taken for it
    sed 's/hs = /tmp = /; s/hk = /hs = /; s/tmp = /hk = /; s/hs\[-1\] + w + twice(hk/hk[-1] + w + twice(hs/' loops.yaml >swapped.yaml
    run grun swapped.yaml 'x=ones(6)' "$rows" --against t.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'in step 0 of hk is the first value that differs'
}

@test "--trace: loops within loops, loops that end early, calls, and a million steps in little space" {
    cat >nested.yaml <<'END'
thunkline: 1
inputs: {v: 'float64[3]', k: int64}
functions:
  small:
    inputs: {g: 'float64[3]'}
    let: |
      d = cos(g) * 0.5 + g
    outputs: [d]
    until: d[0] > 1e9
  large:
    inputs: {h: 'float64[3]'}
    let: |
      e = scan(small, outputs_info=[h], n_steps=4)
      f = e[-1] * 0.9
    outputs: [f]
let: |
  hs = scan(large, outputs_info=[v], n_steps=k)
  z = sum(hs)
outputs: [z]
END
    for mode in FAST_COMPILE FAST_RUN; do
        grun nested.yaml 'v=ones(3)' k=5 --steps 2 --trace n.trc --trace-sample 2 --mode $mode -o /dev/null
        grun nested.yaml 'v=ones(3)' k=5 --steps 2 --against n.trc -o /dev/null -v 2>log
        [ "$(sed -n 's/.*compared \([0-9]*\) values.*/\1/p' log)" -ge 50 ]
    done
    sed 's/cos(g) \* 0.5/cos(g) * ifelse(g[0] < 1.45, 0.51, 0.5)/' nested.yaml >other.yaml
    run grun other.yaml 'v=ones(3) * 2' k=5 --trace o.trc --mode FAST_COMPILE -o /dev/null
    assert_success
    run grun nested.yaml 'v=ones(3) * 2' k=5 --against o.trc --mode FAST_COMPILE -o /dev/null
    assert_failure 1
    assert_output --regexp 'd in step 0 of e in step 1 of hs is the first value that differs'
    cat >long.yaml <<'END'
thunkline: 1
inputs: {k: int64}
functions:
  step:
    inputs: {i: int64, h: float64}
    let: |
      a = sin(h) + 1
      b = a * 0.5 + h * 0.1
    outputs: [b]
let: |
  r = scan(step, sequences=[arange(k)], outputs_info=[1.0], n_steps=k)[-1]
outputs: [r]
END
    # of the first 256 steps all, then of each doubling 128
    grun long.yaml k=1000000 --trace long.trc -o /dev/null
    [ "$(wc -c <long.trc)" -lt 1500000 ]
    grun long.yaml k=1000000 --against long.trc --mode FAST_COMPILE -o /dev/null -v 2>log
    [ "$(sed -n 's/.*compared \([0-9]*\) values.*/\1/p' log)" -gt 3400 ]
    sed 's/+ h \* 0.1/+ h * ifelse(i > 5000, 0.2, 0.1)/' long.yaml >other.yaml
    run grun other.yaml k=1000000 --against long.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'a in step 5024 of the loop over step is the first value that differs'
    assert_output --partial 'the trace has one step in 32 here: it may begin after step 4992'
}

@test "--reduce: a graph of 2000 nodes comes down to the op that fails, still well typed" {
    {
        printf 'thunkline: 1\ninputs: {x: "float64[4]", y: "float64[4]"}\nlet: |\n'
        awk 'BEGIN { print "  v0 = x + y"
            for (i = 1; i < 1000; i++)
                print "  v" i " = " (i == 600 ? "arctan(v" i - 1 ") + y" : "tanh(v" i - 1 ") * 0.5 + " (i % 3 ? "y" : "sin(v" int(i / 2) ")")) }'
        printf 'outputs: [v999, v500]\n'
    } >big.yaml
    gload big.yaml -o big.tlg
    grewrite big.tlg --reduce 'grewrite --mode NONE -O math | grep -q arctan && exit 7' -O yaml -o small.yaml
    assert_equal "$(grep -c ' = ' small.yaml)" 1
    grep -q arctan small.yaml
    assert_equal "$(sed -n '/^inputs/,/^let/p' small.yaml | grep -c float64)" 1
    gload --check small.yaml
    # a wrong rule: found by --against, reduced, named by --bisect
    echo 'wrong: arctan(a) => 1.1 * tanh(a)' >wrong.rules
    export values='x=[1,2,3,4]/4 y=[4,3,2,1]/5'
    cat >differs <<'END'
cat >g.tlg
grun g.tlg $values --mode FAST_COMPILE --trace g.trc -o /dev/null || exit 3
grun g.tlg $values --rules wrong.rules --against g.trc -o /dev/null
END
    # shellcheck disable=SC2086
    grun big.tlg $values --mode FAST_COMPILE --trace big.trc -o /dev/null
    # shellcheck disable=SC2086
    run grun big.tlg $values --rules wrong.rules --against big.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'v600 is the first value that differs'
    grewrite big.tlg --reduce 'sh differs' -O yaml -o wrong.yaml
    [ "$(grep -c ' = ' wrong.yaml)" -le 3 ]
    run grewrite big.tlg --rules wrong.rules --exclude fusion --bisect 'grun $values --against big.trc -o /dev/null 2>/dev/null'
    assert_failure 1
    assert_output --partial ', wrong: arctan('
}

@test "--reduce: outputs, updates, effects, functions, steps of loops and sizes" {
    cat >loop.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[6]'}
shared: {w: 'float64[6] = [1., 2., 3., 4., 5., 6.]'}
functions:
  step:
    inputs: {h: 'float64[6]', k: 'float64[6]'}
    let: |
      a = sin(h) + 1
      r = cosh(a) * k
    outputs: [r]
let: |
  hs = scan(step, sequences=[], outputs_info=[x], non_sequences=[w], n_steps=40)
  s = sow(x * 3, tag='t', name='n')
  z = hs[-1] + w
  other = exp(x)
outputs: [z, other]
updates: {w: w * 2}
END
    gload loop.yaml -o loop.tlg
    grewrite loop.tlg --reduce 'grewrite --mode NONE -O yaml | grep -q cosh && exit 3' -O yaml -o a.yaml
    run cat a.yaml
    refute_output --partial exp
    refute_output --partial sow
    refute_output --partial sin
    refute_output --partial updates
    assert_output --partial cosh
    refute_output --partial '40'
    refute_output --partial '[6]'
    gload --check a.yaml
}

@test "--reduce: inputs that nothing needs go, but not those that tell a dim or that CMD gives" {
    local op given left
    printf 'thunkline: 1\ninputs: {a: "float64[n]", b: "float64[3]", c: "float64[2]"}\nlet: |\n  v = cosh(b) + zeros(n)[0]\n  w = sin(b) * 2\noutputs: [v, w]\n' >i.yaml
    while IFS='|' read -r op given left; do
        grewrite i.yaml --reduce "cat >g.tlg; ${given:+grun g.tlg $given -o /dev/null || exit 4; }grewrite --mode NONE -O yaml g.tlg | grep -q $op && exit 3" -O yaml -o a.yaml
        ok "sed -n '/^inputs/,/^let/p' a.yaml | grep -o ' [abc]: ' | paste -sd' ' | tr -d ' '" "$left"
        gload --check a.yaml
    done <<'END'
cosh||b:
stack||a:
sin|a=[1] b=[1,2,3] c=[1,2]|a:b:c:
END
}

@test "--reduce: shared variables that nothing needs go, but not those that tell a dim or are updated" {
    local op left
    printf 'thunkline: 1\nshared: {a: "float64[n] = [1., 2.]", b: "float64[3] = [1., 2., 3.]", c: "float64[2] = normal(size=2, seed=1)", d: "int64 = 0"}\nlet: |\n  v = cosh(b) + zeros(n)[0]\n  w = sin(b) * c[0]\noutputs: [v, w]\nupdates: {d: d + 1}\n' >s.yaml
    while IFS='|' read -r op left; do
        grewrite s.yaml --reduce "grewrite --mode NONE -O yaml | grep -q '$op' && exit 3" -O yaml -o a.yaml
        ok "sed -n '/^shared/,/^[lo]/p' a.yaml | grep -o '^ *[abcd]: ' | paste -sd' ' | tr -d ' '" "$left"
        gload --check a.yaml
    done <<'END'
cosh|b:
stack|a:
d + 1|d:
END
}

# inputs, shared variables|definitions|outputs|what an op of the graph is called, for which CMD fails|what is left
@test "--reduce: lists, many inputs, values of shared variables and sizes that belong together" {
    local leaves lets outputs op left
    while IFS='|' read -r leaves lets outputs op left; do
        {
            echo 'thunkline: 1'
            tr ';' '\n' <<<"$leaves"
            printf 'let: |\n'
            tr ';' '\n' <<<"$lets" | sed 's/^ */  /'
            echo "outputs: [$outputs]"
        } >m.yaml
        grewrite m.yaml --reduce "grewrite --mode NONE -O yaml | grep -q $op && exit 3" -O yaml -o a.yaml
        ok "sed -n '/^let/,\$p' a.yaml | paste -sd' ' | tr -s ' '" "$left" || fail "$lets"
        gload --check a.yaml
    done <<'END'
inputs: {l: 'list(float64[?])', x: 'float64[3]'}|a = list_append(l, exp(x)); b = list_reverse(a); out = cosh(list_get(b, 0)) + 1|out, b|cosh|let: | _1 = list_get(l, 0) _2 = cosh(_1) outputs: out: _2
inputs: {l: 'list(float64[?])', x: 'float64[3]'}|a = list_append(l, exp(x)); b = list_reverse(a); out = cosh(list_get(b, 0)) + 1|out, b|list_append|let: | a = list_append(l, x) outputs: b: a
inputs: {x: 'float64[2]'}|v = x + 1; out = concatenate([v, v * 2, sin(v), exp(v), log(v), sqrt(v), tan(v), tanh(v), cosh(sinh(v))])|out|concatenate|let: | out = concatenate(x, x, x, x, x, x, x, x, x) outputs: [out]
inputs: {x: 'float64[300, 300]', k: 'int64[2]'}|v = cosh(x @ x); s = topk(x, 3)[0]; z = sort(v + 1) + sum(k)|z, s|topk|let: | s, _1 = topk(x, 3, axis=1) outputs: [s]
inputs: {x: 'float64[8, 5]'};shared: {w: 'float64[8] = [1., 2., 3., 4., 5., 6., 7., 8.]', l: 'list(float64[?]) = [[1., 2.], [3.]]'}|v = reshape(x, (4, 10)) + 1; z = cosh(v) * w[0] + list_get(l, 0)[0]; q = w[:4] * 2|z, q|cosh|let: | _1 = cosh(array([[1.0]], dtype='float64')) outputs: z: _1
inputs: {x: 'float64[4]'}|o = sow(cosh(x), tag='t', name='a'); p = sow(sinh(x), tag='t', name='b'); z = o + p|z|sow|let: | p = sow(x, tag='t', name='b') outputs: []
inputs: {s: "sparse('csr', float64[4, 4])", x: 'float64[4]'}|z = (s + s) @ cosh(x); q = s * 2.|z, q|cosh|let: | _1 = cosh(x) outputs: z: _1
inputs: {x: 'complex64[4]', b: 'bool[4]', r: random}|s, u = normal(0., 1., (4,), rng=r); z = conj(x) * u + x[b][0]; n = ~b|z, n, s|conj|let: | _1 = conj(x) outputs: z: _1
inputs: {x: 'float64[4]', c: bool}|z = ifelse(c, cosh(x), x) + where(c, x, 2.); w = float64(int32(x))|z, w|ifelse|let: | _1 = ifelse(c, x, x) outputs: z: _1
inputs: {x: 'float64[4]', m: int64}|a = scan(lambda h: cosh(h), outputs_info=[x], n_steps=m); b = scan(lambda h: cosh(h) + 1, outputs_info=[a[0]], n_steps=8)|b|scan|let: | a = scan(lambda_1, outputs_info=[x], n_steps=m) outputs: b: a
END
}

@test "--reduce: what CMD must do at the start, time limits, signals" {
    gload --new -i 'x: float64[3]' -e 'y = exp(x) + 1' -o m.tlg
    run grewrite m.tlg --reduce true -o a.tlg
    assert_failure 3
    assert_output --partial 'the command is fine with the whole graph'
    run grewrite m.tlg --reduce 'exit 126' -o a.tlg
    assert_failure 3
    assert_output --partial 'it ends with status 126'
    run grewrite m.tlg --reduce no-such-command -o a.tlg
    assert_failure 3
    assert_output --partial 'it ends with status 127'
    run grewrite m.tlg --reduce 'kill -9 $$' -o a.tlg
    assert_failure 3
    assert_output --partial 'dies of signal 9'
    run grewrite m.tlg --reduce 'sleep 60; false' --cmd-timeout 0.2 -o a.tlg
    assert_failure 6
    run grewrite m.tlg --cmd-timeout 3
    assert_failure 2
    run grewrite m.tlg --reduce false --cmd-timeout -1
    assert_failure 2
    run grewrite m.tlg --reduce false --bisect false
    assert_failure 2
    [ ! -e a.tlg ]
    # its input may stay unread, and what it prints isn't part of the graph
    grewrite m.tlg --reduce 'echo hello; exit 1' -O yaml >b.yaml
    gload --check b.yaml
    # a candidate that takes too long is no failure
    grewrite m.tlg --reduce 'grewrite --mode NONE -O math | grep -q exp || sleep 60; exit 1' --cmd-timeout 0.5 -O yaml -o c.yaml
    grep -q exp c.yaml
    # SIGTERM: the smallest so far is written
    grewrite m.tlg --reduce 'if [ -e begun ]; then sleep 60; fi; touch begun; exit 1' -o d.tlg &
    while [ ! -e begun ]; do sleep 0.05; done
    kill -TERM $!
    status=0
    wait $! || status=$?
    assert_equal "$status" 143
    gload --check d.tlg
}

# A graph with values of every kind, loops of known and of unknown length, effects and results in pairs.
mixed() {
    cat >mixed.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[6]', m: 'float64[n, 6]', l: 'list(float64[6])', big: 'float64[300, 300]', k: int64}
shared: {w: 'float64[6] = [1., 2., 3., 4., 5., 6.]', s: 'list(float64[6]) = [[1., 2., 3., 4., 5., 6.]]', c: 'int64 = 0'}
functions:
  step:
    inputs: {h: 'float64[6]', k: 'float64[6]'}
    let: |
      a = sin(h) + 1
      r = cosh(a) * k
    outputs: [r]
let: |
  hs = scan(step, sequences=[], outputs_info=[x], non_sequences=[w], n_steps=40)
  hk = scan(step, sequences=[], outputs_info=[x], non_sequences=[w], n_steps=k)
  p = print(x * 3, 'p')
  t = sow(x * 5, tag='t', name='n')
  q, r = qr(big @ big)
  z = hs[-1] + w + hk[-1] + p
  other = exp(x) + sum(m, axis=0) + sum(q * r) + l[0]
  e = list_append(l, other)
outputs: [z, other, e]
updates: {w: w * 2, s: 'list_append(s, z)', c: c + 1}
END
    gload mixed.yaml -o mixed.tlg
}

@test "--reduce: lists, effects, pairs of results, sizes that only a run tells" {
    mixed
    grewrite mixed.tlg --reduce 'grewrite --mode NONE -O yaml | grep -q "print(" && exit 3' -O yaml -o a.yaml
    [ "$(grep -c ' = .*(' a.yaml)" = 1 ]
    grep -q 'print(' a.yaml
    gload --check a.yaml
    grewrite mixed.tlg --reduce 'grewrite --mode NONE -O yaml | grep -q "qr(" && exit 3' -O yaml -o b.yaml
    run grep ' = .*(' b.yaml
    assert_output --regexp '^  [a-z_0-9]+, [a-z_0-9]+ = qr\(big\)$'
    gload --check b.yaml
    grewrite mixed.tlg --reduce 'grewrite --mode NONE -O yaml | grep -q "list_append(" && exit 3' -O yaml -o c.yaml
    [ "$(grep -c ' = .*(' c.yaml)" -le 2 ]
    gload --check c.yaml
}

@test "--reduce: a signal at any run of the command leaves the smallest graph so far" {
    mixed
    local n last=100
    for n in 1 2 3 4 6 9 13 17 22 27 32 37 42 47 52 57; do
        rm -f count
        run grewrite mixed.tlg -o small.tlg --no-provenance \
            --reduce "echo >>count; [ \$(wc -l <count) -lt $n ] || kill -TERM \$PPID; grewrite --mode NONE -O yaml | grep -q cosh && exit 3"
        assert_equal "$status" 143
        gload small.tlg -O yaml -o small.yaml
        grep -q cosh small.yaml
        [ "$(grep -c ' = .*(' small.yaml)" -le "$last" ]
        last=$(grep -c ' = .*(' small.yaml)
    done
    [ "$last" -le 4 ]
}

@test "--why: the deepest match, what was wanted and found, guards, rules that came first" {
    cat >w.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[3]', k: 'int64[3]'}
let: |
  a = log(1 + x)
  b = log(2 + x)
  c = log(x)
  d = sum(exp(x) * 2, axis=0)
  e = max(x, axis=0)
outputs: [a, b, c, d, e]
END
    run grewrite w.yaml --why log1p@a
    assert_success
    assert_line 'log1p: log(1 + x) => log1p(x) when float(x)'
    assert_line 'it fired'
    assert_line '  at: a = log(1.0 + x), float64[3]'
    run grewrite w.yaml --why log1p@b
    assert_line 'of its left side, 1 failed: it wants a constant with this value'
    assert_line '  found: 2.0, float64'
    run grewrite w.yaml --why log1p@c
    assert_line 'of its left side, 1 + x failed: it wants the result of an op'
    run grewrite w.yaml --why log1p@e
    assert_line 'of its left side, log(1 + x) failed: it wants another op'
    # a guard, a name used twice, properties, a rule that came first, one that isn't selected
    cat >my.rules <<'END'
guarded: log(p + q) => log(q + p) + 0 * p when integer(q)
twice: log(p + p) => log(2 * p)
props: max(p, axis=1) => max(p, axis=1) + 0
slow: log(1 + z) => log(z + 3)
END
    echo 'second @stabilize: log(1 + z) => log(z + 2)' >second.rules
    run --separate-stderr grewrite w.yaml --rules my.rules --why guarded@b
    assert_line 'its left side matched, but its guard integer(q) said no'
    run --separate-stderr grewrite w.yaml --rules my.rules --why twice@b
    assert_line --partial 'p failed: the name stands for another expression already'
    run --separate-stderr grewrite w.yaml --rules my.rules --why props@e
    assert_line --partial 'failed: it wants other properties'
    run --separate-stderr grewrite w.yaml --rules second.rules --why second@a
    assert_line 'it matched, but log1p came first'
    run --separate-stderr grewrite w.yaml --rules my.rules --exclude slow --why slow@a
    assert_line --partial "it isn't selected"
    run --separate-stderr grewrite w.yaml --mode NONE --why log1p
    assert_line "it isn't selected, by name or tag"
    assert_line --partial 'no Apply was looked at in its position'
    # a rule of the second result of an op: where there is one, where there is not
    printf '%s\n' 'half: split(p, 2)[1] => p' 'third: split(p, 3)[2] => p' >halves.rules
    gload --new -i 'x: float64[4]' -e 'u, v = split(x, 2)' -e 'w = exp(v) + u' -o halves.yaml
    run --separate-stderr grewrite halves.yaml --rules halves.rules --why half
    assert_line 'its left side and guards matched, but its right side does not have the type here'
    gload --new -i 'x: float64[n]' -e 'u, v = split(x, 2)' -e 'w = exp(v)' --outputs w -o halves.yaml
    run --separate-stderr grewrite halves.yaml --rules halves.rules --why half
    assert_line 'it fired'
    run --separate-stderr grewrite halves.yaml --rules halves.rules --why third
    assert_line --partial 'no Apply was looked at in its position'
    run grewrite w.yaml --why log1q
    assert_failure 2
    assert_output --partial 'did you mean log1p?'
    run grewrite w.yaml --why no-such-rule
    assert_failure 2
    assert_output --partial 'there is no rule no-such-rule'
    refute_output --partial 'did you mean'
    run grewrite w.yaml --why log1p@zz
    assert_failure 2
    run grewrite w.yaml --why fuse-elementwise
    assert_failure 2
    assert_output --partial 'fuse-elementwise is a pass, which has no pattern'
}

@test "--rules: a rule that never fired is said by -v, one that no graph lets fire at once" {
    gload --new -i 'x: float64[3]' -e 'y = arctan(x) + 1' -o m.tlg
    printf 'hidden: log(1 + exp(a) * 1) => a + 1\nidle: sinh(a) => tanh(a)\nused: arctan(a) => tanh(a)\n' >r.rules
    run grewrite m.tlg --rules r.rules -v -o /dev/null
    assert_success
    assert_output --partial 'r.rules:1:1: warning[E_REWRITE]: hidden: other rewrites change its left side before its turn'
    refute_output --partial 'warning[E_REWRITE]: idle'
    refute_output --partial 'warning[E_REWRITE]: used'
    assert_output --partial 'the rule idle never fired, at position 1.00'
    refute_output --partial 'the rule used never fired'
    printf 'loud: log(1 + exp(a) * 1) => a + 1\n' >l.rules
    run grewrite m.tlg --rules l.rules --mode NONE --include loud -o /dev/null
    assert_success
    refute_output --partial warning
}

@test "--receipt and --verify-receipt: digests that sha256sum gives, and every difference" {
    model
    grun m.yaml 'x=ones((4, 3))' --steps 3 --save s.tlg --receipt r.json -o /dev/null
    graph=$(gload --no-provenance --pack -O tlg m.yaml | sha256sum | cut -d' ' -f1)
    grep -q "\"graph\": \"sha256:$graph\"" r.json
    # twelve times the double 1.0; the new state as an array file has it
    x=$(for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\0\0\0\0\0\0\360\77'; done | sha256sum | cut -d' ' -f1)
    grep -q "\"x\": \"float64(4, 3) sha256:$x\"" r.json
    grun s.tlg --no-updates --outputs w -r w=w.npy
    w=$(tail -c 24 w.npy | sha256sum | cut -d' ' -f1)
    grep -q "\"w\": \"float64(3,) sha256:$w\"" r.json
    # the steps are the receipt's; the binary form and threads don't matter
    gload m.yaml -o m.tlg
    grun m.tlg 'x=ones((4, 3))' --verify-receipt r.json --threads 1 -o /dev/null
    run grun m.yaml 'x=2 * ones((4, 3))' --verify-receipt r.json -o /dev/null
    assert_failure 1
    assert_output --partial 'inputs/x is float64(4, 3) sha256:'
    sed 's/0.1 \* w/0.2 * w/' m.yaml >other.yaml
    run grun other.yaml 'x=ones((4, 3))' --verify-receipt r.json -o /dev/null
    assert_failure 1
    assert_output --partial 'r.json: graph is sha256:'
    sed 's/"loss": "float64() sha256:./"loss": "float64() sha256:x/' r.json >wrong.json
    run grun m.yaml 'x=ones((4, 3))' --verify-receipt wrong.json -o /dev/null
    assert_failure 1
    assert_output --partial 'results/loss'
    sed '/"loss"/d; s/"results": {/"results": {"gone": "1"/' r.json >gone.json
    run grun m.yaml 'x=ones((4, 3))' --verify-receipt gone.json -o /dev/null
    assert_failure 1
    assert_output --partial 'missing'
    sed 's/"cpu_level": "[^"]*"/"cpu_level": "other"/; s/sha256:./sha256:x/' r.json >cpu.json
    run grun m.yaml 'x=ones((4, 3))' --verify-receipt cpu.json -o /dev/null
    assert_failure 1
    assert_output --partial 'and other in the receipt'
}

@test "receipts: calls by rows, modes; bad files, and what is no path" {
    gload --new -i 'a: float32[2]' -e 'y = exp(a)' -o e.tlg
    grun e.tlg 'a=ones((7, 2))' --each a --mode FAST_COMPILE --receipt r.json -o /dev/null
    grep -q '"mode": "FAST_COMPILE"' r.json
    grun e.tlg 'a=ones((7, 2))' --verify-receipt r.json -o /dev/null
    run grun e.tlg 'a=[1, 2]' --verify-receipt e.tlg
    assert_failure 3
    assert_output --partial 'this is no receipt of a run'
    run grun e.tlg 'a=[1, 2]' --verify-receipt none.json
    assert_failure 4
    sed 's/"thunkline_receipt": "1"/"thunkline_receipt": "2"/' r.json >new.json
    run grun e.tlg 'a=[1, 2]' --verify-receipt new.json
    assert_failure 3
    assert_output --partial 'E_VERSION'
    sed 's/"mode": "[^"]*"/"mode": "no"/' r.json >mode.json
    run grun e.tlg 'a=[1, 2]' --verify-receipt mode.json
    assert_failure 3
    sed 's/"steps": "[^"]*"/"steps": "many"/' r.json >steps.json
    run grun e.tlg 'a=[1, 2]' --verify-receipt steps.json
    assert_failure 3
    local text
    while IFS= read -r text; do
        printf %s "$text" >odd.json
        bad 3 E_FORMAT 'odd.json' 'grun e.tlg "a=[1, 2]" --verify-receipt odd.json' || return
    done <<'END'
{"thunkline_receipt": "1", "a": {"b": {"c": 1}}}
{"thunkline_receipt": "1", "a": [1]}
{"thunkline_receipt": "1", 2: 3}
{"thunkline_receipt": "1", "mode": "unset"} x
{"thunkline_receipt": "1", "mode": "unset", "a": {"b": 1}
{"thunkline_receipt": ""}
{"thunkline_receipt": "1x"}
{"mode": "unset"}
["thunkline_receipt"]
{"thunkline_receipt": "1"}
END
    for text in steps batch epochs; do
        sed "s/\"$text\": \"[^\"]*\"/\"$text\": \"-4\"/" r.json >odd.json
        bad 3 E_FORMAT 'odd.json: its mode, or a number, is none' 'grun e.tlg "a=ones((7, 2))" --verify-receipt odd.json' || return
    done
    # a result more than this run has
    sed 's/"results": {/&"z": "float64() sha256:0",/' r.json >more.json
    bad 1 E_VERDICT 'more.json: results/z is missing here, but float64.. sha256:0 in the receipt' 'grun e.tlg "a=ones((7, 2))" --verify-receipt more.json'
    sed '/"seed"/d' r.json >less.json
    bad 3 E_FORMAT 'less.json: no number for seed' 'grun e.tlg "a=ones((7, 2))" --verify-receipt less.json'
    # an expression of a receipt reads no file
    gload --new -i 'a: float64' -e 'y = a + 1' -o u.tlg
    gload --new -e '1.0' -o one.tlg && grun one.tlg -r out=one.npy -o /dev/null
    grun u.tlg a=1 --steps 2 --until 'y > 1' --receipt u.json -o /dev/null
    grun u.tlg a=1 --verify-receipt u.json -o /dev/null
    sed "s/y > 1/load('one.npy') > 0/" u.json >load.json
    run grun u.tlg a=1 --verify-receipt load.json -o /dev/null
    assert_failure 3
}

@test "a rule that is wrong in one place of 16,000 nodes: found, reduced, named, refuted" {
    {
        printf 'thunkline: 1\ninputs: {x: "float64[6]", y: "float64[6]"}\nlet: |\n'
        awk 'BEGIN { print "  v0 = x + y"
            for (i = 1; i < 5000; i++) {
                j = int(i / 2)
                e = "tanh(v" i - 1 ") * 0.5 + " (i % 3 ? "y" : "v" j)
                if (i % 5 == 0) e = "sin(v" i - 1 ") * cos(v" j ")"
                if (i % 7 == 0) e = "sqrt(1 + v" i - 1 " ** 2) - 0.5 * v" j
                if (i == 3217) e = "maximum(v" i - 1 ", y) - minimum(v" j ", x)"
                print "  v" i " = " e
            } }'
        printf 'outputs: [v4999]\n'
    } >big.yaml
    gload big.yaml -o big.tlg
    [ "$(gload --info big.tlg | awk '/applies/ { print $NF }')" -gt 10000 ]
    echo 'planted: maximum(a, b) - minimum(c, d) => maximum(a - c, b - d) when same_shape(a, b), same_shape(c, d)' >planted.rules
    export values='x=[1,2,3,4,5,6]/6 y=[4,3,2,1,0,-1]/5'
    cat >differs <<'END'
cat >g.tlg
grun g.tlg $values --mode FAST_COMPILE --trace g.trc -o /dev/null || exit 3
grun g.tlg $values --rules planted.rules --against g.trc -o /dev/null
END
    # shellcheck disable=SC2086
    grun big.tlg $values --mode FAST_COMPILE --trace big.trc -o /dev/null
    # shellcheck disable=SC2086
    run grun big.tlg $values --rules planted.rules --against big.trc -o /dev/null
    assert_failure 1
    assert_output --partial 'v3217 is the first value that differs'
    assert_output --partial 'the rewrite planted created it'
    grewrite big.tlg --reduce 'sh differs' -O yaml -o small.yaml
    [ "$(grep -c ' = ' small.yaml)" -lt 10 ]
    run grewrite big.tlg --rules planted.rules --exclude fusion --bisect 'grun $values --against big.trc -o /dev/null 2>/dev/null'
    assert_failure 1
    assert_output --partial ', planted: maximum(v3216, y) - minimum(v1608, x)'
    run grewrite --rules planted.rules --prove planted
    assert_failure 1
    assert_output --partial 'counter-example: a = '
}
