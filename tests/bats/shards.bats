#!/usr/bin/env bats
# grewrite --parallel: what is split, where results cross shards, and what can't be split. No mpirun is needed.
load common

X='x: float64[n, 3]'

# split SHARDS EXPRESSION...: the graph before and after compare in random runs
split() {
    local n=$1 e args=()
    shift
    for e; do args+=(-e "$e"); done
    gload -i "$X" "${args[@]}" -o g.tlg
    grewrite g.tlg --parallel x --shards "$n" --verify 4 -o s.tlg
}

@test 'sums over rows become sums of shards, then of ranks' {
    split 4 'm = mean(x, axis=0)' 's = sum(x)'
    like 'gload s.tlg -O yaml' 'each_shard\(.*, fn=.shard_1., shards=4, split=\[0\], sum=\[0, 1\]\)' '_[0-9]+, _[0-9]+ = all_sum\(' 'all_sum\(n\)'
    ok 'grun s.tlg x="[[1, 2, 3], [5, 6, 7], [0, 0, 2]]"' $'m = [2.0, 2.6666666666666665, 4.0]\ns = 26.0'
}

@test 'sums of a function are one exchange' {
    cp "$DIGITS/model.yaml" .
    ok 'ggrad model.yaml --cost loss --wrt W,b --optimizer "sgd(0.5)" | grewrite --parallel x,y --shards 8 -o step.tlg'
    ok 'gload step.tlg -O yaml | grep -c "= all_sum(_"' 1
}

@test 'more shards than rows, no rows, one shard' {
    for n in 1 2 32; do
        split "$n" 'm = sum(x, axis=0)' 't = max(x)' 'a = any(x > 0)'
        ok 'grun s.tlg x="[[1, 2, 3]]"' $'m = [1.0, 2.0, 3.0]\nt = 3.0\na = True'
    done
    split 8 'm = sum(x, axis=0)'
    ok 'grun s.tlg x="zeros((0, 3))"' 'm = [0.0, 0.0, 0.0]'
    split 8 'm = max(x, axis=0)'
    bad 5 E_RUN_SHAPE 'no elements have no max' 'grun s.tlg x="zeros((0, 3))"'
}

@test 'rows and what crosses them, one after the other' {
    split 8 'y = (x - mean(x, axis=0)) / std(x, axis=0)' 'g = y.T @ y' 'l = min(y, axis=0)' 'b = all(y < 9)'
    split 4 't = x.T' 'c = cumsum(x, axis=1)' 'at = arange(n)' 'k = n ** 2' 'w = sum(at * x[:, 1])' 'r = x.reshape((n, 3, 1))'
    split 8 'l = logsumexp(x, axis=0)' 'm = logsumexp(x, keepdims=True)' 'g = grad(sum(l) + sum(m), x)'
    split 8 'u = min(cast(x * 100, "uint8"), axis=0)' 'v = min(cast(x, "int64") - 9223372036854775800)' 'w = min(x > 0, axis=0)'
    split 2 'v = var(x, axis=0, ddof=1)' 's = softmax(x, axis=1)' 'q = s @ ones((3, 2))'
}

@test 'matrices for each row, and functions of the graph' {
    split 4 'm = x[:, :, None] * x[:, None, :] + eye(3)' 'd = det(m)' 'i = sum(inv(m), axis=0)' 'c = cholesky(m)'
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  total:
    inputs:
      a: float64[n, 3]
      k: float64
    let: |
      s = sum(a * k, axis=0)
      r = a - k
    outputs: [s]
  middle:
    inputs:
      a: float64[n, 3]
    let: |
      s = mean(a, axis=0)
    outputs: [s]
inputs:
  x: float64[n, 3]
let: |
  t = total(x, 2.5)
  u = middle(x)
outputs: [t]
Y
    ok 'grewrite f.yaml --mode NONE --parallel x --shards 4 -o s.tlg'
    ok 'grun s.tlg x="[[1, 2, 3], [4, 5, 6], [7, 8, 9]]"' 't = [30.0, 37.5, 45.0]'
    sed 's/^outputs: \[t\]/outputs: [u]/' f.yaml >u.yaml
    bad 3 E_ARG "call can't be computed shard by shard: it counts the rows of a shard only" 'grewrite u.yaml --mode NONE --parallel x --shards 4'
}

@test 'assertions about whole values and sows stay silent' {
    split 2 'v = assert_op(sum(x), sum(x) < 1e9)' "y = sum(sow(x, tag='p', name='x'))"
    like 'gload s.tlg -O yaml' 'assert_op'
    bad 5 E_ASSERT 'does not hold' 'grun s.tlg x="[[1e9, 1, 1]]"'
}

@test 'draws have a stream for each shard, whatever else is drawn' {
    gload -i "$X" -i 'r: random' -e 's, u = uniform(0., 1., (n, 3), rng=r)' -e 't, v = normal(0., 1., rng=s)' -o g.tlg
    ok 'grewrite g.tlg --parallel x --shards 4 -o s.tlg'
    like 'gload s.tlg -O yaml' 'rng_fork'
    # shards differ from each other; the next state is that of the plain program
    [ "$(grun s.tlg x='zeros((8, 3))' --seed 1 --outputs u | tr -d 'u= []' | sort -u | wc -l)" = 8 ]
    grun g.tlg x='zeros((8, 3))' --seed 1 --outputs v >b
    grun s.tlg x='zeros((8, 3))' --seed 1 --outputs v >c
    diff b c
}

# refuse REGEX EXPRESSION: the message names the op and its line
refuse() {
    printf 'thunkline: 1\ninputs:\n  x: float64[n, 3]\n  r: random\nshared:\n  w: float64[3] = zeros(3)\nlet: |\n  v = %s\noutputs: [v]\n' "$2" >g.yaml
    bad 3 E_ARG "$1" 'grewrite g.yaml --parallel x --shards 4'
    grep -q 'note: line 8: ' .err || complain 'should name line 8' "$2"
}

@test 'what takes rows in another way is an error that names the op and its line' {
    refuse "prod can't be computed shard by shard: it takes all rows at once" 'prod(x, axis=0)'
    refuse "sort can't be.*all rows at once" 'sort(x, axis=0)'
    refuse "running_sum can't.*all rows at once" 'cumsum(x, axis=0)'
    refuse "argmax can't.*all rows at once" 'argmax(x, axis=0)'
    refuse "subtensor can't.*some of the rows" 'x[1:]'
    refuse "subtensor can't.*some of the rows" 'x[::-1]'
    refuse "subtensor can't.*mask" 'x[x[:, 0] > 0]'
    refuse "print can't.*each rank would have the effect" 'print(sum(x))'
    refuse "print can't.*an effect on rows" 'print(x)'
    refuse "assert_op can't.*an effect on rows" 'assert_op(x, x > 0)'
    refuse "draws? .*from the seed" 'uniform(0., 1., (n, 3), seed=1)'
    refuse 'matmul can.t.*all rows at once' 'inv(x @ x.T + eye(n))'
}

# of EXPRESSION: a graph g.yaml with rows of all kinds
of() {
    { cat "$BATS_TEST_DIRNAME/shards.head" && printf '%s\noutputs: [y]\n' "$1"; } >g.yaml
}

@test 'each op that keeps rows or sums over them, in shards of none, one and several rows' {
    local e mode
    while IFS= read -r e; do
        of "$e"
        for mode in FAST_RUN NONE; do
            shell "grewrite g.yaml --mode $mode --parallel x,z,q,j --shards 4 --verify 4 -o /dev/null"
            # what FAST_RUN takes out of a loop may not be split within it
            [ "$status" = 0 ] || { [ $mode = NONE ] && grep -Eq 'E_ARG.*(in a step of a loop|loops over the rows)' .err; } ||
                complain "should be the same ($mode)" "$e" || return
        done
    done < <(grep -Ev '^#|^$|[^|][|][^|]' "$BATS_TEST_DIRNAME/shards.tsv")
}

@test 'each reason for which an op can not be split' {
    local e says
    while IFS='|' read -r e says; do
        of "$e"
        bad 3 E_ARG "$says" 'grewrite g.yaml --parallel x,z,q,j --shards 4' || return
        grep -q 'note: line 1[56]: ' .err || complain 'should name its line' "$e" || return
    done < <(grep -E '^[^#]*[^|][|][^|]' "$BATS_TEST_DIRNAME/shards.tsv")
}

@test 'each reason for which a loop that stays as it is can not be split' {
    local e says
    while IFS='|' read -r e says; do
        of "$e"
        bad 3 E_ARG "$says" 'grewrite g.yaml --mode NONE --parallel x,z,q,j --shards 4' || return
        grep -q 'note: .*in this loop\|note: line 1[56]: ' .err || complain 'should name its line' "$e" || return
    done <<'END'
scan(lambda a: sum(a), sequences=[x])|scan can't be .*it loops over the rows
scan(lambda a, s: s + a, sequences=[z], outputs_info=[zeros((2, 3))])|scan can't be .*it loops over the rows
scan(lambda a, c: a + c, outputs_info=[taps(x, [-2, -1])], n_steps=3)|scan can't be .*it loops over the rows
scan(lambda t, m: sum(m) * t, sequences=[arange(3.)], non_sequences=[reshape(z, (-1, 3))])|scan can't be .*rows are merged with another axis
scan(lambda t, s, m: s + t, sequences=[arange(3.)], outputs_info=[reshape(z, (-1, 3))], non_sequences=[x])|scan can't be .*rows are merged with another axis
scan(lambda t, m: sum(m, axis=0) * t, sequences=[arange(3.)], non_sequences=[x])|multiply can't be .*a sum over rows is used in a step
scan(lambda t, m: t * shape(m)[0], sequences=[arange(3.)], non_sequences=[x])|scan can't be .*its result 0 has no rows, but others have
scan(lambda t, s: [s + t * x, t * 2], sequences=[arange(3.)], outputs_info=[x, None])[0]|scan can't be .*its result 1 has no rows
scan(lambda t, m: m * shape(m)[0] * t, sequences=[arange(3.)], non_sequences=[x])|multiply can't be .*it counts rows in a step of a loop
scan(lambda t, m: m * t * arange(shape(m)[0])[:, None], sequences=[arange(3.)], non_sequences=[x])|subtensor can't be .*it counts rows in a step of a loop
scan(lambda t, m: m * t + max(m), sequences=[arange(3.)], non_sequences=[x])|max can't be .*rows cross in a step of a loop
scan(lambda t, m: m - mean(m, axis=0) * t, sequences=[arange(3.)], non_sequences=[x])|mean can't be .*rows cross in a step of a loop
scan(lambda t, s, m: s + sum(m * t), sequences=[arange(3.)], outputs_info=[1.], non_sequences=[x])|scan can't be .*its state 0 sums over rows, and doesn't begin with zeros
scan(lambda t, s, m: s + sum(m * t, axis=0), sequences=[arange(3.)], outputs_info=[w * 0], non_sequences=[x])|its state 0 sums over rows, and doesn't begin with zeros
scan(lambda t, s, m: s + sum(m * t, axis=0), sequences=[arange(3.)], outputs_info=[w], non_sequences=[x])|its state 0 sums over rows, and doesn't begin with zeros
scan(lambda t, m, g: m * normal(0., 1., shape(m), rng=g)[1] * t, sequences=[arange(3.)], non_sequences=[x, r])|it draws for each row in a step of a loop
scan(lambda t, s: [s * t, until(any(s[:, 0] > 3))], sequences=[arange(3.)], outputs_info=[x])|any can't be .*rows cross in a step of a loop
END
}

@test 'loops over time, for rows of sequences; not over the rows' {
    cat >g.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[n, 5, 3]
  y: float64[n]
shared:
  U: float64[3, 4] = normal(0, 0.5, (3, 4), seed=1)
  V: float64[4, 4] = normal(0, 0.5, (4, 4), seed=2)
  b: float64[4] = zeros(4)
let: |
  step = lambda x, h: tanh(x @ U + h @ V + b)
  h = scan(step, sequences=[transpose(x, axes=[1, 0, 2])], outputs_info=[zeros((n, 4))])
  loss = mean((sum(h[-1], axis=1) - y) ** 2)
outputs: [loss]
Y
    ok 'ggrad g.yaml --cost loss --wrt U,V,b --optimizer "sgd(0.1)" | grewrite --parallel x,y --shards 8 --verify 3 >s.tlg'
    bad 3 E_ARG "some of the rows" "grewrite $ROOT/examples/rnn/model.yaml --parallel text"
    sed 's/transpose(x, axes=\[1, 0, 2\])/x/; s/zeros((n, 4))/zeros((5, 4))/; s/h\[-1\]/h/; s/ - y//' g.yaml >bad.yaml
    bad 3 E_ARG "scan can't be.*it loops over the rows" 'grewrite bad.yaml --parallel x,y'
}

@test 'inputs that are split' {
    gload -i "$X" -i 'y: float64[n]' -i 'k: float64' --shared 'w: float64[3] = zeros(3)' -e 's = sum(x @ w - y) * k' -o g.tlg
    bad 2 E_USAGE 'y has as many rows as what is split' 'grewrite g.tlg --parallel x'
    bad 2 E_USAGE 'k is float64: only arrays' 'grewrite g.tlg --parallel x,y,k'
    bad 2 E_USAGE 'r is random: only arrays with rows can be split' "gload -i 'r: random' -i 'x: float64[n]' -e 'sum(x)' | grewrite --parallel x,r"
    bad 2 E_USAGE 'x always has 4 rows: float64\[4, 3\], of which' "gload -i 'x: float64[4, 3]' -e 'sum(x)' | grewrite --parallel x"
    grep -q 'note: give its leading dim a name' .err
    bad 2 E_USAGE 'w is not an input' 'grewrite g.tlg --parallel x,y,w'
    bad 2 E_UNKNOWN 'z' 'grewrite g.tlg --parallel x,z'
    bad 2 E_USAGE 'power of two, up to 65536, not 6' 'grewrite g.tlg --parallel x,y --shards 6'
    bad 2 E_USAGE 'needs --parallel' 'grewrite g.tlg --shards 4'
    bad 2 E_USAGE 'power of two, up to 65536, not -2' 'grewrite g.tlg --parallel x,y --shards -2'
    bad 2 E_USAGE 'power of two, up to 65536, not 131072' 'grewrite g.tlg --parallel x,y --shards 131072'
    local o
    for o in '--search 1' '--bisect true' '--reduce true' '--why mul-one' '--diff g.tlg'; do
        bad 2 E_USAGE "parallel doesn't go with" "grewrite g.tlg --parallel x,y $o"
    done
    # other rules that are left out stay left out
    ok 'grewrite g.tlg --parallel x,y --exclude merge -o s.tlg'
    ok 'grewrite g.tlg --parallel x,y --verify 3 -o s.tlg'
    bad 5 E_RUN_SHAPE 'argument 2 has 3 rows, not 2|E_SHAPE' 'grun s.tlg x="zeros((2, 3))" y="zeros(3)" k=1' || bad 3 E_SHAPE 'n' 'grun s.tlg x="zeros((2, 3))" y="zeros(3)" k=1'
}

@test 'a value for each row can not be kept between calls' {
    gload -i "$X" --shared 'm: float64[n, 3]' -e 's = sum(x)' -o g.tlg
    bad 3 E_ARG 'the shared variable m has a value for each row' 'grewrite g.tlg --parallel x'
    gload -i "$X" --shared 'm: float64[?, 3] = zeros((2, 3))' -e 's = sum(x)' --update 'm = x * 2' -o g.tlg
    bad 3 E_ARG 'the new value of m has a value for each row' 'grewrite g.tlg --parallel x'
}

@test 'each_shard as text: forms, derivatives, refusals' {
    cat >g.yaml <<'Y'
thunkline: 1
functions:
  part:
    inputs:
      shard: int64
      x: float64[n]
      w: float64
    let: |
      s = sum(x * w ** 2)
      r = x * w + cast(shard, 'float64')
    outputs: [s, r]
inputs:
  x: float64[n]
  w: float64
let: |
  s, r = each_shard(n, x, w, fn=part, shards=4, split=[0], sum=[0])
  dx, dw = grad(s + sum(r), [x, w])
  t = jvp(s, w, 1.0)
outputs: [s, r, dx, dw, t]
Y
    ok 'grun g.yaml x="[1, 2, 3, 4, 5]" w=3' $'s = 135.0\nr = [3.0, 7.0, 11.0, 15.0, 18.0]\ndx = [12.0, 12.0, 12.0, 12.0, 12.0]\ndw = 105.0\nt = 90.0'
    ok 'gload g.yaml -O yaml | gload - -O tlg | grun - x="[1, 2]" w=1 --outputs s,r' $'s = 3.0\nr = [2.0, 5.0]'
    ok 'grun g.yaml x="[1, 2, 3, 4, 5]" w=3 --mode DEBUG >/dev/null'
    sed 's/shards=4/shards=3/' g.yaml >bad.yaml
    bad 3 E_ARG 'power of two' 'gload --check bad.yaml'
    sed 's/sum=\[0\]/sum=[2]/' g.yaml >bad.yaml
    bad 3 E_ARG 'positions' 'gload --check bad.yaml'
    sed 's/fn=part/fn=none/' g.yaml >bad.yaml
    bad 3 E_ 'none' 'gload --check bad.yaml'
    sed 's/split=\[0\]/split=[1]/' g.yaml >bad.yaml
    bad 3 E_TYPE 'only arrays with rows' 'gload --check bad.yaml'
    sed 's/each_shard(n,/each_shard(n + 1,/' g.yaml >bad.yaml
    bad 5 E_RUN_SHAPE 'argument 1 has 5 rows, not 6' 'grun bad.yaml x="[1, 2, 3, 4, 5]" w=3'
}

@test 'collectives of one rank are what they are given' {
    ok 'gload --new -i "x: float64[k]" -e "a, b = all_sum(x, 2)" -e "c = all_max(x)" -e "d = all_gather(x)" -e "e = reduce_scatter(x)" -e "f = broadcast(x)" -e "r = rank() + 10 * ranks()" --outputs a,b,c,d,e,f,r | grewrite | grun - x="[1, 3]"' \
        $'a = [1.0, 3.0]\nb = 2\nc = [1.0, 3.0]\nd = [1.0, 3.0]\ne = [1.0, 3.0]\nf = [1.0, 3.0]\nr = 10'
    ok 'gload --new -i "x: float64[k]" -e "y = all_sum(x)" -e "z = sum(y)" --outputs z | grewrite | gload - -O yaml | grep -c "^  .*= all_sum"' 1
    ok 'gload --new -i "x: float64[k]" -e "y = all_sum(x)" -e "z = sum(x)" --outputs z | grewrite | gload - -O yaml | grep -c "^  .*= all_sum" || true' 0
    bad 5 E_RUN 'no rank 2' 'gload --new -e "y = broadcast(1.5, root=2)" | grun'
}

@test 'thousands of sums, one after the other: memory grows with the graph' {
    ! grep -q __asan_init "$(command -v grewrite)" || skip 'a build with sanitizers needs more'
    awk 'BEGIN { print "thunkline: 1\ninputs:\n  x: float64[n, 3]\nlet: |\n  h0 = x"
        for (i = 0; i < 4000; i++) printf "  h%d = h%d - mean(h%d, axis=0) * 0.5\n", i + 1, i, i
        print "outputs: [h4000]" }' >deep.yaml
    ok 'gload deep.yaml -o deep.tlg'
    ok '(ulimit -v 600000 && grewrite deep.tlg --parallel x --shards 4 --mode NONE -o split.tlg)'
}
