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
    printf 'thunkline: 1\ninputs:\n  x: float64[n, 3]\n  z: float64[n, 2, 3]\n  q: float64[n, 3, 3]\n  j: int64[n]\n  k: bool\n  o: float64[c]\n  u: "float64[?, 3]"\n  v: "float64[?, 3, 2]"\n  r: random\nshared:\n  w: float64[3] = [1., 2., 3.]\nlet: |\n  i = j %% 3\n  y = %s\noutputs: [y]\n' "$1" >g.yaml
}

@test 'each op that keeps rows or sums over them, in shards of none, one and several rows' {
    local e
    while IFS= read -r e; do
        of "$e"
        shell 'grewrite g.yaml --parallel x,z,q,j --shards 4 --verify 4 -o /dev/null'
        [ "$status" = 0 ] || complain 'should be the same' "$e" || return
    done <<'END'
full((n + 0, 3), 1.)
zeros_like(x) + full_like(x, 2.)
ifelse(k, x, x * 2)
where(x > 0, x, 0.)
clip(x, 0., 1.) + round(x) + sign(x)
scan(lambda t, s: s * sum(x), sequences=[arange(3.)], outputs_info=[1.])
scan(lambda t, s: s + sum(x * t), sequences=[arange(3.)], outputs_info=[0.])
scan(lambda t, s: s + x * t, sequences=[arange(3.)], outputs_info=[x])
concatenate([x, ones((n, 3))], axis=1)
stack([x, x * 2], axis=1) + stack([x, x * 2], axis=2).transpose((0, 2, 1))
split(x, 3, axis=1)[1]
x[:, None, 1:]
x[..., 0]
x[arange(n), i]
set_subtensor(x[arange(n), 0], 1.)
set_subtensor(x[:, 0], 3.)
inc_subtensor(x[:, 1:], 1.)
inc_subtensor(zeros(3)[i], x[:, 0])
w[i]
one_hot(i, 3)
sum(x, axis=[0, 1])
max(z, axis=[0, 2])
min(x, axis=0) + max(x, axis=0)
any(x > 0, axis=0)
all(x > -9)
mean(z, axis=1)
var(z, axis=[0, 1])
std(x, axis=0, ddof=1)
argmax(x, axis=1)
sort(x.T, axis=0)
cumsum(x, axis=1)
flip(x, axis=1)
log_softmax(x, axis=-1)
logsumexp(x, axis=1)
norm(x, axis=1)
expand_dims(x, axis=[0, 2])
squeeze(expand_dims(x, axis=1), axis=1)
transpose(z, axes=[2, 0, 1])
transpose(z, axes=[-1, 1, 0])
broadcast_to(x, (2, n, 3))
tile(x, (1, 2))
reshape(x, (n, -1)) + reshape(x.T, (3, -1)).T
mean(reshape(z, (n, -1)), axis=1)
sum(reshape(z, (-1, 3)), axis=0)
sum(reshape(x, (-1,)))
reshape(reshape(z, (-1, 3)) @ ones((3, 2)), (n, 2, 2))
x @ w
w @ x.T
z @ ones((3, 4))
ones((4, 2)) @ z
x[:, 0] @ x
x.T @ x
outer(x[:, 0], w)
q @ expand_dims(x, axis=2)
expand_dims(x, axis=1) @ q
q @ q
einsum('ni,nij->nj', x, q)
diagonal(q, axis1=1, axis2=2)
solve(q, ones((3, 2)))
conv(q, ones((2, 3, 1)))
max_pool(q, [2])
uniform(0., 1., (n,), rng=r)[1] * 0
x[k]
arange(n) - int64(max(x))
inc_subtensor(x[arange(n), i], max(x))
inc_subtensor(zeros(3)[i], x[:, 1])
set_subtensor(x[:, 1], x[:, 0])
specify_shape(x, (n, 3))
ones((n, o.shape[0])) * max(x)
broadcast_to(sum(x, axis=1, keepdims=True) - mean(x), (n, o.shape[0]))
shape(x)[0] * 2 + x.size
arange(n, dtype='float64') @ x
map(lambda a: sum(a), x)
vectorize(lambda a: sum(a) * a)(x)
END
}

@test 'each reason for which an op can not be split' {
    local e says
    while IFS='|' read -r e says; do
        of "$e"
        bad 3 E_ARG "$says" 'grewrite g.yaml --parallel x,z,q,j --shards 4' || return
        grep -q 'note: line 1[56]: ' .err || complain 'should name its line' "$e" || return
    done <<'END'
x.T + x|add can't be .*pairs rows with rows along another axis
x + u|pairs rows with values of input 1, float64\[\?, 3\], which isn't split
where(x > 0, x, u)|pairs rows with values of input 2, float64\[\?, 3\]
full((n * 2, 3), 1.)|full can't be .*the type of its result, float64\[\?, 3\], doesn't show
x.T @ u|contracts the rows of one factor only
z @ v|has a matrix for each row in one factor, but the other isn't split
v @ z|has a matrix for each row in one factor, but the other isn't split
z @ transpose(z, axes=[1, 2, 0])|needs all rows at once
x[:, j]|indexes rows by an array with rows of its own
x[x[:, 0] > 0]|as many rows as a mask says
x[:2]|takes some of the rows only
x[::-1]|in another order
x[arange(n), u[:, 0] > 0]|pairs rows with an index that isn't split
x[arange(n), [0, 1, 2]]|pairs rows with an index that isn't split
broadcast_to(x, (4, 3))|doesn't depend on the number of rows
specify_shape(x, (4, 3))|doesn't depend on the number of rows
resize(x, (4, 3))|resample can't be .*needs all rows at once
set_subtensor(zeros(3)[i], x[:, 1])|overwrites elements that rows share
set_subtensor(x[x[:, 0] > 0], 0.)|as many rows as a mask says
inc_subtensor(x[1:], 1.)|takes some of the rows only
inc_subtensor(x[j], x)|takes some of the rows only
ifelse(k, x, ones((4, 3)))|ifelse can't be .*rows in one of its cases only
conv(ones((1, 3, 5)), q)|takes rows in its first input only
conv(transpose(q, axes=[1, 0, 2]), ones((2, 3, 1)))|conv can't be .*rows along the first axis only
arange(0, n, 2)|only arange\(n\) counts rows
sort(reshape(x, (-1,)))|sort can't be .*all rows at once
reshape(z, (-1, 3))[0]|takes some of the rows only
reshape(z, (-1, 3)) * 2|its rows are merged with another axis, and are needed as they are
reshape(z, (-1,)) + reshape(x, (-1,))|takes rows that are merged with other axes in different ways
reshape(full((12,), max(x)), (n, -1))|makes rows of what isn't split
reshape(x, (3, -1))|float64\[3, n\] has no row for each row of float64\[n, 3\]
concatenate([x, ones((2, 3))], axis=0)|has rows in some of its inputs only
concatenate([x, x], axis=0)|all rows at once
permutation(n, rng=r)[1]|the type of its result, random, doesn't show
nonzero(x)[0]|needs all rows at once
print(k)|each rank would have the effect
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
    bad 2 E_USAGE 'w is not an input' 'grewrite g.tlg --parallel x,y,w'
    bad 2 E_UNKNOWN 'z' 'grewrite g.tlg --parallel x,z'
    bad 2 E_USAGE 'power of two, up to 65536, not 6' 'grewrite g.tlg --parallel x,y --shards 6'
    bad 2 E_USAGE 'needs --parallel' 'grewrite g.tlg --shards 4'
    bad 2 E_USAGE "doesn't go with" 'grewrite g.tlg --parallel x,y --search 1'
    ok 'grewrite g.tlg --parallel x,y --verify 3 -o s.tlg'
    bad 5 E_RUN_SHAPE 'argument 2 has 3 rows, not 2|E_SHAPE' 'grun s.tlg x="zeros((2, 3))" y="zeros(3)" k=1' || bad 3 E_SHAPE 'n' 'grun s.tlg x="zeros((2, 3))" y="zeros(3)" k=1'
}

@test 'a value for each row can not be kept between calls' {
    gload -i "$X" --shared 'm: float64[n, 3]' -e 's = sum(x)' -o g.tlg
    bad 3 E_ARG 'the shared variable m has a value for each row' 'grewrite g.tlg --parallel x'
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
