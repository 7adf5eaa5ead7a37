# How expressions are written: the shortest text that reads back as the same graph.
load common

declared="--new -i 'x: float64[3]' -i 'y: float64[3]' -i 'm: float64[2, 3]' -i 'z: float64[n]' -i 'k: int64' -i 'i: int64[3]'"

# An expression, and the lines that the graph file has for it.
@test "a line states a literal's dtype only where its neighbours do not, and reads back as it was" {
    local expr want
    while IFS='#' read -r expr want; do
        ok "gload $declared -e \"r = $expr\" --outputs r --no-provenance -o o.yaml"
        [ "$(sed -n '/^let/,/^outputs/p' o.yaml | sed '1d;$d;s/^  //;$!s/$/; /' | tr -d '\n')" = "$want; " ] || complain "should be: $want" "$expr"
        ok 'gload o.yaml --no-provenance -O yaml | cmp - o.yaml'
    done <<'END'
(i ^ 3) & k#_1 = i ^ 3; r = _1 & k
i ^ k | i & k#_1 = i ^ k; _2 = i & k; r = _1 | _2
i ^ (k | 1)#_1 = k | 1; r = i ^ _1
(i ^ k) ^ i#_1 = i ^ k; r = _1 ^ i
i ^ (k ^ i)#_1 = k ^ i; r = i ^ _1
-i ^ k#_1 = -i; r = _1 ^ k
x[[0, 2]]#r = x[[0, 2]]
x[array([0, 2], dtype=int32)]#r = x[array([0, 2], dtype='int32')]
x[array([True, False, True])]#r = x[[True, False, True]]
x[array([[0, 1], [1, 0]])]#r = x[[[0, 1], [1, 0]]]
x[array([], dtype=int64)]#r = x[[]]
x[array([], dtype=int64, shape=[0, 2])]#r = x[array([], dtype='int64', shape=(0, 2))]
x[array([], dtype=int32)]#r = x[array([], dtype='int32')]
m[array([True, False]), array([2])]#r = m[[True, False], [2]]
set_subtensor(x[0], float32(1))#r = set_subtensor(x[0], float32(1.0))
set_subtensor(x[0], 1)#r = set_subtensor(x[0], 1.0)
set_subtensor(i[0], 1)#r = set_subtensor(i[0], 1)
inc_subtensor(x[1:], [1, 2.5])#r = inc_subtensor(x[1:], array([1.0, 2.5], dtype='float64'))
inc_subtensor(x[k], k)#r = inc_subtensor(x[k], k)
complex64(0.1, 0.2) * x#_1 = complex128(x); r = (0.10000000149011612+0.20000000298023224j) * _1
complex64(0.1, -0.2)#r = complex64(0.1-0.2j)
complex(1.0, -0.0) * x#_1 = complex128(x); r = complex(1.0, -0.0) * _1
complex64(-0.0, 1.0)#r = complex64(complex(-0.0, 1.0))
complex(inf, nan)#r = complex128(complex(inf, nan))
complex(-0.5, 1e300) + x#_1 = complex128(x); r = (-0.5+1e+300j) + _1
array([1+2j, 3-4j])#r = array([(1.0+2.0j), (3.0-4.0j)], dtype='complex128')
array([1+2j, 3-4j], dtype=complex64)#r = array([(1.0+2.0j), (3.0-4.0j)], dtype='complex64')
array([complex(0.0, -0.0)])#r = array([complex(0.0, -0.0)], dtype='complex128')
array([True, False])#r = array([True, False])
array([], dtype=bool)#r = array([], dtype='bool')
array([], dtype=float32, shape=[2, 0])#r = array([], dtype='float32', shape=(2, 0))
array([[1, 2]], dtype=uint8)#r = array([[1, 2]], dtype='uint8')
float32(2.5) * x#r = 2.5 * x
float32(2.5) + float32(1)#r = float32(2.5) + 1.0
float16(0.1)#r = float16(0.1)
int8(-3) * int8(2)#r = int8(-3) * 2
-3 * i#r = -3 * i
2 ** i#r = 2 ** i
(-2) ** i#r = (-2) ** i
-(2 ** i)#_1 = 2 ** i; r = -_1
-x ** 2#_1 = x ** 2.0; r = -_1
(-x) ** 2#_1 = -x; r = _1 ** 2.0
x ** -y#_1 = -y; r = x ** _1
x ** y ** 2#_1 = y ** 2.0; r = x ** _1
(x ** y) ** 2#_1 = x ** y; r = _1 ** 2.0
(x + y) * 2#_1 = x + y; r = _1 * 2.0
x - (y - 2)#_1 = y - 2.0; r = x - _1
x - y - 2#_1 = x - y; r = _1 - 2.0
x / (y * 2)#_1 = y * 2.0; r = x / _1
~(i & k)#_1 = i & k; r = ~_1
(x < y) & (y < x)#_1 = x < y; _2 = y < x; r = _1 & _2
(x < y) == (y < x)#_1 = x < y; _2 = y < x; r = _1 == _2
i << (k << 1)#_1 = k << 1; r = i << _1
i << k << 1#_1 = i << k; r = _1 << 1
x % (y // 2)#_1 = y // 2.0; r = x % _1
m @ x#r = m @ x
(m @ x) * 2#_1 = m @ x; r = _1 * 2.0
m.T @ (m @ x)#_1 = transpose(m); _2 = m @ x; r = _1 @ _2
cast(i, float64)#r = float64(i)
cast(float32(2), float64) * x#_1 = cast(float32(2.0), dtype='float64'); r = _1 * x
cast(x, float64)#r = cast(x, dtype='float64')
where(x < 0, 0, x)#_1 = x < 0.0; r = where(_1, 0.0, x)
where(x < 0, 0.0, 1.0)#_1 = x < 0.0; r = where(_1, float64(0.0), 1.0)
where(x < 0, float32(0), float32(1))#_1 = x < 0.0; r = where(_1, float32(0.0), 1.0)
where(x < 0, 0, 1)#_1 = x < 0.0; r = where(_1, 0, 1)
full((2, 3), 2.5, dtype=float32)#r = full([2, 3], float32(2.5))
full((2, 3), 2.5)#r = full([2, 3], float64(2.5))
full((2, 3), 2)#r = full([2, 3], 2)
full((2, n), k)#_1 = stack(2, n); r = full(_1, k)
arange(n)#r = arange(n)
arange(0, n, 2)#r = arange(0, n, 2)
arange(0.0, 1.0, 0.25, dtype=float32)#r = arange(0.0, 1.0, 0.25, dtype='float32')
clip(x, 0, 1)#r = clip(x, 0.0, 1.0)
clip(i, 0, 1)#r = clip(i, 0, 1)
eye(3)#r = eye(3)
one_hot(i, 5)#_1 = expand_dims(i, axis=1); _2 = arange(5); _3 = _1 == _2; r = float64(_3)
sum(x, axis=0)#r = sum(x, axis=0)
sum(m, axis=(0, 1))#r = sum(m, axis=[0, 1])
sum(m, axis=(1,), keepdims=True)#r = sum(m, axis=1, keepdims=True)
einsum('ij,j->i', m, x)#_1 = reshape(x, [3, 1]); _2 = m @ _1; r = reshape(_2, [2])
split(x, [1, 2])[0]#r, _1, _2 = split(x, array([1, 2]))
concatenate([x, [1, 2.5]])#r = concatenate(x, array([1.0, 2.5], dtype='float64'))
concatenate([x, float64(array([1, 2]))])#r = concatenate(x, array([1.0, 2.0], dtype='float64'))
stack([x, x * 2, x + 1])#_1 = x * 2.0; _2 = x + 1.0; r = stack(x, _1, _2)
stack([float32(1), float32(2)])#r = stack(float32(1.0), 2.0)
maximum(float32(1), float32(2))#r = maximum(float32(1.0), 2.0)
pad(x, 1, 'edge')#_1 = arange(-1, 4); _2 = int64(3) - 1; _3 = clip(_1, 0, _2); r = x[_3]
normal(0, 1, (3,), seed=1)#r = normal(0, 1, [3], seed=1)
normal(size=(3,), seed=1, dtype='float32')#r = normal(0.0, 1.0, [3], seed=1, dtype='float32')
make_list(x, x)#r = make_list(x, x)
[x, i][0]#r = x
reshape(m, (3, -1))#r = reshape(m, [3, -1])
reshape(m, (n, 1))#_1 = stack(n, 1); r = reshape(m, _1)
transpose(m, [1, 0])#r = transpose(m, axes=[1, 0])
x[None, ::2]#r = x[None, ::2]
x[k:]#r = x[k:]
m[k, ::-1]#r = m[k, ::-1]
m[..., None, 0]#r = m[..., None, 0]
m[:, [0, 2]]#r = m[:, [0, 2]]
ifelse(k > 0, x, x * 2)#_1 = k > 0; _2 = x * 2.0; r = ifelse(_1, x, _2)
undefined('none')#r = undefined('none')
rng_state([1, 2, 3, 0])#r = rng_state([1, 2, 3, 0])
permutation(5, seed=3)#r = permutation(5, seed=3)
tensordot(m, x, ([1], [0]))#_1 = reshape(x, [3, 1]); _2 = m @ _1; r = reshape(_2, [2])
END
}

@test "as formulas, brackets stand where the order of operators asks for them" {
    local expr want
    while IFS='#' read -r expr want; do
        ok "gload $declared -e \"r = $expr\" --outputs r -O math | sed -n 's/^r = //p'" "$want"
    done <<'END'
(i ^ 3) & k#(i ^ 3) & k
i ^ k | i & k#i ^ k | i & k
i ^ (k | 1)#i ^ (k | 1)
(i ^ k) ^ i#i ^ k ^ i
i ^ (k ^ i)#i ^ (k ^ i)
(i | k) ^ i#(i | k) ^ i
-i ^ k#-i ^ k
-(i ^ k)#-(i ^ k)
~(i & k)#~(i & k)
(-x) ** 2#(-x) ** 2.0
-x ** 2#-x ** 2.0
x ** -y#x ** -y
x ** y ** 2#x ** y ** 2.0
(x ** y) ** 2#(x ** y) ** 2.0
(x + y) * 2#(x + y) * 2.0
x - (y - 2)#x - (y - 2.0)
x - y - 2#x - y - 2.0
x / (y * 2)#x / (y * 2.0)
x / y * 2#x / y * 2.0
x % (y // 2)#x % (y // 2.0)
-(-x)#--x
-(x + y)#-(x + y)
-x + y#-x + y
x - -y#x - -y
x * -2.5#x * -2.5
-2.5 * x#-2.5 * x
x ** -2.5#x ** -2.5
(-2.5) ** x#(-2.5) ** x
i << (k << 1)#i << (k << 1)
(i << k) + 1#(i << k) + 1
i << k + 1#i << k + 1
(x < y) == (y < x)#(x < y) == (y < x)
((x < y) == (y < x)) == (x < 1)#((x < y) == (y < x)) == (x < 1.0)
~(x < y)#~(x < y)
(m @ x)[0]#(m @ x)[0]
(x + y)[0]#(x + y)[0]
x[k + 1]#x[k + 1]
sum(x + y) * 2#sum(x + y) * 2.0
m.T @ (m @ x)#transpose(m) @ (m @ x)
m @ (x + y)#m @ (x + y)
x[[0, 2]]#x[[0, 2]]
x[array([0, 2], dtype=int32)]#x[array([0, 2], dtype='int32')]
float32(x) + 1#float32(x) + 1.0
float32(2.5) * float32(1)#float32(2.5) * 1.0
complex(1.0, -2.0) * x#(1.0-2.0j) * complex128(x)
1 - complex(0.0, -0.0) * x#(1.0+0.0j) - complex(0.0, -0.0) * complex128(x)
array([1.5, 2.5, 3.5]) * x#array([1.5, 2.5, 3.5], dtype='float64') * x
normal(0, 1, [3], seed=1) + x#normal(0, 1, [3], seed=1) + x
full([2], k)[0]#full([2], k)[0]
sum(m, axis=[0], keepdims=True)#sum(m, axis=0, keepdims=True)
END
}

@test "calls of a graph's functions state the dtypes that the parameters do not, and their scope" {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {v: float32, w: 'float64[3]', l: 'list(float64)'}
    outputs: {out: 'w * list_get(l, 0)', o2: v}
inputs: {x: 'float64[3]'}
let: |
  a = f(2.5, x, make_list(1.0, 2.0))
  b = f(float32(2.5), [1.0, 2.0, 3.0], [3.0])
  n = nest(f, scope='s')(1.0, x, make_list(4.0))
outputs: {r: 'a[0] + b[0] * n[0]'}
END
    ok 'gload f.yaml | gload --no-provenance -o o.yaml'
    grep -qxF "  _1, _2 = f(2.5, x, make_list(float64(1.0), float64(2.0)))" o.yaml
    grep -qxF "  _3, _4 = f(2.5, array([1.0, 2.0, 3.0], dtype='float64'), make_list(float64(3.0)))" o.yaml
    grep -qxF "  _5, _6 = call(float32(1.0), x, make_list(float64(4.0)), fn='f', scope='s')" o.yaml
    ok 'gload o.yaml --no-provenance -O yaml | cmp - o.yaml'
    ok 'grun o.yaml x=[1,2,3]' 'r = [13.0, 50.0, 111.0]'
}

@test "floatX float32: the float64 that an op makes of integers stays float64 in text" {
    local op
    for op in mean std var; do
        printf '%s\n' 'thunkline: 1' 'floatX: float32' 'inputs: {x: "int32[4]"}' 'let: |' "  y = $op(x)" '  z = sqrt(y)' 'outputs: ["y", z]' >g.yaml
        ok 'gload g.yaml -o g.tlg' ''
        ok 'gload --no-provenance g.tlg -o a.yaml && gload --no-provenance a.yaml -o b.yaml && cmp a.yaml b.yaml && grewrite --diff g.tlg a.yaml' ''
        grep -q "^  y = $op(x)$" a.yaml
        ok 'grewrite a.yaml -O yaml --no-provenance -o r.yaml && gload r.yaml -o r.tlg && grewrite --diff r.tlg r.yaml' ''
        grep -q "$op(float64(x))" r.yaml
        ok 'grun a.yaml x=[1,2,3,16777217] -o 1.txt && grun r.yaml x=[1,2,3,16777217] -o 2.txt && cmp 1.txt 2.txt' ''
    done
}
