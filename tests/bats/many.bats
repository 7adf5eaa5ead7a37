#!/usr/bin/env bats
# Kernels for many short rows, and for many elements at once: as the references of --mode DEBUG have it, and by other ops.
load common

@test "many short rows are sorted like one" {
    local type
    for type in float64 float32 float16 int64 int8 uint16 bool; do
        cat >g.yaml <<Y
thunkline: 1
let: |
  u = round(uniform(-9, 9, (70, 100), seed=1))
  v = u if '$type' == 'bool' else where(u == 3, 120, u) if '$type' == 'int8' else u
  x = cast(abs(v), $type)
  wide = where(u == 3, nan, where(u == 0, -0., u))
  y = cast(wide, $type) if '$type' == 'float64' or '$type' == 'float32' or '$type' == 'float16' else x
  rows = sort(y, axis=1)
  down = sort(y[:, :17], axis=1, descending=True)
  columns = sort(y.T[:, ::3], axis=0)
  long = sort(reshape(y, (7, 1000)), axis=1)
  few = sort(y[:1], axis=1)
  places = argsort(y, axis=1)
  back = argsort(y[:, ::-1], axis=0, descending=True)
outputs: [rows, down, columns, long, few, places, back]
Y
        grun g.yaml --mode DEBUG --allow-nonfinite >a
        grun g.yaml --threads 1 >b
        grun g.yaml --threads 2 >c
        THUNKLINE_CPU=baseline grun g.yaml >d
        cmp a b && cmp b c && cmp b d
    done
}

@test "searches for many at once are those for one at a time" {
    cat >g.yaml <<'Y'
thunkline: 1
let: |
  s = sort(floor(uniform(-40, 40, (1000,), seed=1)))
  v = floor(uniform(-50, 50, (3, 200), seed=2))
  one = reshape(map(lambda e: searchsorted(s, e), v.ravel()), (3, 200))
  after = reshape(map(lambda e: searchsorted(s, e, side='right'), v.ravel()), (3, 200))
  same = all(searchsorted(s, v) == one) & all(searchsorted(s, v, side='right') == after)
  few = all(searchsorted(int8(s)[::7], int8(v.T)) == searchsorted(s[::7], v.T))
  none = sum(searchsorted(s[:0], v))
  rows = sort(v, axis=1)
  each = stack([searchsorted(rows[0], v[2]), searchsorted(rows[1], v[1]), searchsorted(rows[2], v[0])])
  vectors = all(searchsorted(rows, v[::-1], batch_dims=1) == each) & all(searchsorted(rows, v[::-1, 7], batch_dims=1) == each[:, 7])
outputs: [same, few, none, vectors]
Y
    ok 'grun g.yaml' $'same = True\nfew = True\nnone = 0\nvectors = True'
}

@test "masks select what a sort of them brings to the front" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {p: float64}
let: |
  x = uniform(-1, 1, (37, 53), seed=1)
  m = uniform(0, 1, (37, 53), seed=2) < p
  n = sum(m)
  want = x.ravel()[argsort(~m.ravel())][:n]
  wide = x.T.ravel()[argsort(~m.T.ravel())][:n]
  at = nonzero(m)
  same = all(x[m] == want) & all(x.T[m.T] == wide) & all(x[at[0], at[1]] == want) & (at.shape[1] == n)
  truth = (any(m) == (n > 0)) & (all(m) == (n == x.size)) & all(any(m, axis=1) == (sum(m, axis=1) > 0)) & all(all(m, axis=0) == (sum(m, axis=0) == 37))
outputs: [same, truth]
Y
    local p
    for p in 0 0.02 0.5 0.999 1; do
        ok "grun g.yaml p=$p" $'same = True\ntruth = True'
        ok "grun g.yaml p=$p --mode DEBUG" $'same = True\ntruth = True'
    done
}

@test "extremes of short rows: nan wins, of zeros the first" {
    cat >g.yaml <<'Y'
thunkline: 1
let: |
  u = round(uniform(-2.4, 2.4, (400, 31), seed=1))
  x = where(u == 2, nan, where(u == 1, -0., where(u == -2, 0., -1.))) if True else u
  short = [max(x[:, :3], axis=1), max(x[:, :4], axis=1), max(x, axis=1), min(-x[:, :9], axis=1), min(-x, axis=1)]
  single = [max(float32(x)[:, :3], axis=1), max(float32(x), axis=1), min(-float32(x)[:, :17], axis=1)]
outputs: [short, single]
Y
    grun g.yaml --mode DEBUG --allow-nonfinite >a
    THUNKLINE_CPU=baseline grun g.yaml >b
    cmp a b
    ok 'gload -e "y = max([[-0., 0., -1.], [0., -0., -1.]], axis=1)" -e "z = 1 / y" | grun --outputs z' 'z = [-inf, inf]'
}

@test "what is repeated, and what is added where an index says" {
    cat >g.yaml <<'Y'
thunkline: 1
let: |
  x = floor(uniform(-9, 9, (6, 35), seed=1))
  i = integers(-500, 500, (3000,), seed=2)
  y = floor(uniform(-9, 9, (3000,), seed=3))
  sums = inc_subtensor(zeros(500)[i], y)
  want = one_hot(where(i < 0, i + 500, i), 500).T @ y
  rows = inc_subtensor(zeros((500, 2))[i], stack([y, -y], axis=1))
  last = set_subtensor(zeros(500)[i], arange(3000.))
  late = max(where(one_hot(where(i < 0, i + 500, i), 500) > 0, arange(3000.)[:, None], 0), axis=0)
  added = all(sums == want) & all(rows[:, 0] == want) & all(rows[:, 1] == -want) & all(last == late)
  copies = all(repeat(x, 3, axis=1) == reshape(stack([x, x, x], axis=2), (6, 105)))
  small = all(repeat(int8(x), 3, axis=1) == reshape(stack([int8(x), int8(x), int8(x)], axis=2), (6, 105))) & all(repeat(x.T, 3, axis=1) == reshape(stack([x.T, x.T, x.T], axis=2), (35, 18)))
  border = pad(x, 2)
  inside = all(border[2:-2, 2:-2] == x) & (sum(abs(border)) == sum(abs(x)))
outputs: [added, copies, small, inside]
Y
    ok 'grun g.yaml' $'added = True\ncopies = True\nsmall = True\ninside = True'
    ok 'grun g.yaml --mode DEBUG' $'added = True\ncopies = True\nsmall = True\ninside = True'
    bad 5 E_INDEX 'index 7 is out of range' "gload --new -i 'i: int64[n]' -e 'inc_subtensor(zeros(7)[i], 1.)' | grun i=[0,-7,7]"
    # a shared variable is what it was before the call that failed
    printf "thunkline: 1\nshared: {s: 'float64[3] = [1, 2, 3]'}\ninputs: {i: 'int64[n]'}\noutputs: {r: sum(s)}\nupdates: {s: 'inc_subtensor(s[i], 10.)'}\n" >u.yaml
    bad 5 E_INDEX 'index 3 is out of range' 'grun u.yaml i=[0,3]'
}

@test "planes turned on their side, also backwards, have the elements of their source" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'T[70, 133]', i: 'int64[133, 1]', j: 'int64[70]'}
let: |
  left = rot90(x)
  right = rot90(x, 3)
  other = transpose(flip(x, axis=[0, 1]))
  whole = set_subtensor(zeros((200, 100), dtype=x.dtype)[3:136, 5:75], rot90(x))
  same = stack([all(left == x[j, 132 - i]), all(right == x[69 - j, i]), all(other == x[69 - j, 132 - i]), all(whole[3:136, 5:75] == left), sum(whole) == sum(x)])
outputs: [same, left, right, other]
Y
    for dtype in int8 int16 float32 float64 complex128; do
        sed "s/T\[/${dtype}[/" g.yaml >t.yaml
        ok "grun t.yaml --outputs same x='cast(reshape(arange(70 * 133) % 127, (70, 133)), $dtype)' i='arange(133)[:, None]' j='arange(70)'" 'same = [True, True, True, True, True]'
        grun t.yaml --outputs left,right,other x="cast(reshape(arange(70 * 133) % 127, (70, 133)), $dtype)" i='arange(133)[:, None]' j='arange(70)' --mode DEBUG >/dev/null
    done
}

@test "long ranges count as sums of their steps do" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {n: int64, step: int64, a: float64, by: float64}
let: |
  k = cumsum(ones((n,), dtype=int64)) - 1
  whole = all(arange(5, 5 + step * n, step) == 5 + step * k)
  parts = all(arange(a, a + by * (n - 0.5), by) == a + by * k)
  short = all(arange(n, dtype=float32) == float32(k)) & all(arange(n % 100, dtype=int8) == int8(k[:n % 100]))
outputs: [whole, parts, short]
Y
    for n in 0 1 3 4 5 511 512 513 1030; do
        ok "grun g.yaml n=$n step=-7 a=0.3 by=0.1" $'whole = True\nparts = True\nshort = True'
        ok "grun g.yaml n=$n step=3 a=-4.0 by=-0.25" $'whole = True\nparts = True\nshort = True'
    done
}

@test "members of sets: nan is in none, zeros are equal, sets may be empty" {
    ok "gload -e 'y = isin([1.0, nan, 0.0, 2.0], [-0.0, nan])' | grun" 'y = [False, False, True, False]'
    ok "gload -e 'y = isin([-0.0, inf, -inf], [0.0, inf], invert=True)' | grun" 'y = [False, False, True]'
    ok "gload -i 'v: int64[n]' -e 'y = isin([1, 0, 5], v)' | grun v='zeros(0)'" 'y = [False, False, False]'
    ok "gload -i 'v: int64[n]' -e 'y = isin([1, 0, 5], v)' | grun v='[5, 5, -3]'" 'y = [False, False, True]'
    ok "gload -e 'y = isin([True, False], [True])' | grun" 'y = [True, False]'
    ok "gload -e 'y = isin([[1, 2], [9, 300]], [[1], [9]])' | grun" $'y = [[True, False],\n     [True, False]]'
    ok "gload -e 'y = isin(uint8([0, 255, 7]), uint8([255]))' | grun" 'y = [False, True, False]'
    ok "gload -e 'y = isin(3, [4, 3])' | grun" 'y = True'
}

@test "loops over every other element, or backwards, read the elements of their source" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'T[3, n]', k: 'int64[h]', b: 'int64[n]'}
let: |
  even = all(x[:, :-1:2] * 3 + x[:, 1::2] == x[:, 2 * k] * 3 + x[:, 2 * k + 1])
  back = all(x[:, ::-1] * 2 + x == x[:, b] * 2 + x)
  both = all(x[:, ::-2] * 2 == x[:, b[::2]] * 2) & all(x[::-1, -2::-1] * 2 == x[[2, 1, 0]][:, b[1:]] * 2)
outputs: [even, back, both]
Y
    for dtype in int8 int16 float32 float64 complex128; do
        sed "s/T\[/${dtype}[/" g.yaml >t.yaml
        for n in 2 15 16 17 18 33 34 35 36 37 1001; do
            ok "grewrite t.yaml | grun x='cast(reshape(arange(3 * $n) % 31, (3, $n)), $dtype)' k='arange($n // 2)' b='arange($n - 1, -1, -1)'" $'even = True\nback = True\nboth = True'
        done
    done
}
