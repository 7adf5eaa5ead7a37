# What each pass of rewriting makes of an expression, and what it leaves as it is.
load common

# pass_makes OPTIONS: what one pass alone makes of each expression on standard input, as inputs|expression|pass|result.
pass_makes() {
    local inputs expr pass want type t
    while IFS='|' read -r inputs expr pass want; do
        set -- "$1"
        IFS=';' read -ra type <<<"$inputs"
        for t in "${type[@]}"; do set -- "$@" -i "$t"; done
        gload --new "${@:2}" -e "out = $expr" --outputs out -o m.tlg
        ok "grewrite m.tlg --mode NONE --include $pass $1 --no-provenance -O math | tail -n +$((${#type[@]} + 1))" "out = $want" || fail "$expr"
    done
}

@test "ops that change nothing are removed, and two of one op become one where that is exact" {
    pass_makes '--verify 2' <<'END'
x: int8[n]|int8(int16(x))|useless-cast|x
x: int8[n]|float32(int16(x))|useless-cast|float32(x)
x: int8[n]|float32(float64(x))|useless-cast|float32(x)
x: int64[n]|float32(float64(x))|useless-cast|float32(float64(x))
x: int32[n]|float32(float64(x))|useless-cast|float32(x)
x: int16[n]|float64(float32(x))|useless-cast|float64(x)
x: int32[n]|float64(float32(x))|useless-cast|float64(float32(x))
x: int8[n]|float64(float16(x))|useless-cast|float64(x)
x: int16[n]|float64(float16(x))|useless-cast|float64(float16(x))
x: int32[n]|int8(float64(x))|useless-cast|int8(float64(x))
x: int32[n]|int32(float64(x))|useless-cast|x
x: int32[n]|bool(float64(x))|useless-cast|bool(float64(x))
x: bool[n]|bool(float64(x))|useless-cast|x
x: bool[n]|int8(int32(x))|useless-cast|int8(x)
x: uint8[n]|int64(int16(x))|useless-cast|int64(x)
x: uint16[n]|int64(int16(x))|useless-cast|int64(int16(x))
x: uint8[n]|int8(int16(x))|useless-cast|int8(x)
x: float32[n]|complex128(float64(x))|useless-cast|complex128(x)
x: float64[n]|complex128(complex64(x))|useless-cast|complex128(complex64(x))
x: float32[n]|complex128(complex64(x))|useless-cast|complex128(x)
x: float32[n]|float16(float64(x))|useless-cast|float16(x)
x: float64[n]|float16(float32(x))|useless-cast|float16(float32(x))
x: float64[n]|float64(int32(x))|useless-cast|float64(int32(x))
x: complex64[n]|complex64(complex128(x))|useless-cast|x
x: int32[n]|complex128(complex64(x))|useless-cast|complex128(complex64(x))
x: int16[n]|complex128(complex64(x))|useless-cast|complex128(x)
x: float64[n, 3]|reshape(reshape(x, [3, n]), [n, 3])|useless-reshape|x
x: float64[n, 3]|reshape(reshape(x, [3 * n]), [n, 3])|useless-reshape|reshape(reshape(x, stack(3 * n)), stack(n, 3))
x: float64[n, m]|reshape(reshape(x, [m, n]), [n * m])|useless-reshape|reshape(x, stack(n * m))
x: float64[n, m]|reshape(reshape(x, [n, n]), [n * m])|useless-reshape|reshape(reshape(x, stack(n, n)), stack(n * m))
x: float64[2, 3, 4]|transpose(transpose(x, axes=[1, 2, 0]), axes=[2, 0, 1])|useless-transpose|x
x: float64[2, 3, 4]|transpose(transpose(x, axes=[1, 2, 0]), axes=[0, 2, 1])|useless-transpose|transpose(x, axes=[1, 0, 2])
x: float64[2, 3, 4]|transpose(transpose(x), axes=[-1, -2, -3])|useless-transpose|x
x: float64[2, 3, 4]|transpose(x, axes=[0, 1, 2])|useless-transpose|x
x: float64[2, 3, 4]|transpose(exp(x), axes=[0, 2, 1])|useless-transpose|transpose(exp(x), axes=[0, 2, 1])
x: float64[n]|transpose(x)|useless-transpose|x
x: float64[3]|broadcast_to(expand_dims(x, 0), [4, 3])|useless-broadcast|broadcast_to(x, [4, 3])
x: float64[3]|broadcast_to(expand_dims(x, [0, 1]), [5, 4, 3])|useless-broadcast|broadcast_to(x, [5, 4, 3])
x: float64[3]|broadcast_to(expand_dims(x, 1), [3, 4])|useless-broadcast|broadcast_to(expand_dims(x, axis=1), [3, 4])
x: float64[3]|broadcast_to(expand_dims(x, [0, 2]), [2, 3, 4])|useless-broadcast|broadcast_to(expand_dims(x, axis=[0, 2]), [2, 3, 4])
x: float64[3]|broadcast_to(x, [3])|useless-broadcast|x
x: float64[1]|broadcast_to(broadcast_to(x, [3]), [4, 3])|useless-broadcast|broadcast_to(x, [4, 3])
x: float64[n]|broadcast_to(broadcast_to(x, [2, n]), [4, 2, n])|useless-broadcast|broadcast_to(x, stack(4, 2, n))
x: float64[?]|broadcast_to(broadcast_to(x, [2, 3]), [4, 2, 3])|useless-broadcast|broadcast_to(broadcast_to(x, [2, 3]), [4, 2, 3])
x: float64[1]; k: int64|broadcast_to(broadcast_to(x, [k]), [4, k])|useless-broadcast|broadcast_to(broadcast_to(x, stack(k)), stack(4, k))
x: float64[n, 1, 3]|sum(x, axis=1)|useless-reduction|squeeze(x, axis=1)
x: float64[n, 1, 3]|sum(x, axis=1, keepdims=True)|useless-reduction|x
x: float64[n, 1, 3]|sum(x, axis=[])|useless-reduction|x
x: float64[1, 1]|max(x)|useless-reduction|squeeze(x, axis=[0, 1])
x: float64[n, 1, 1]|mean(x, axis=[-1, -2])|useless-reduction|squeeze(x, axis=[1, 2])
x: int32[n, 1]|sum(x, axis=1)|useless-reduction|sum(x, axis=1)
x: int32[n, 1]|max(x, axis=1)|useless-reduction|squeeze(x, axis=1)
x: float64|sum(x)|useless-reduction|x
x: float64[2, 3, 4]|sum(sum(x, axis=0), axis=0)|useless-reduction|sum(x, axis=[0, 1])
x: float64[2, 3, 4]|sum(sum(x, axis=1), axis=0)|useless-reduction|sum(x, axis=[0, 1])
x: float64[2, 3, 4]|sum(sum(x, axis=1), axis=-1)|useless-reduction|sum(x, axis=[1, 2])
x: float64[2, 3, 4]|sum(sum(x, axis=1, keepdims=True), axis=2, keepdims=True)|useless-reduction|sum(x, axis=[1, 2], keepdims=True)
x: float64[2, 3, 4]|sum(sum(x, axis=1, keepdims=True), axis=2)|useless-reduction|sum(sum(x, axis=1, keepdims=True), axis=2)
x: float64[2, 3, 4]|sum(sum(x, axis=1), axis=0, keepdims=True)|useless-reduction|sum(sum(x, axis=1), axis=0, keepdims=True)
x: int32[2, 3, 4]|sum(sum(x, axis=1, dtype='int32'), axis=0)|useless-reduction|sum(int32(sum(x, axis=1)), axis=0)
x: int32[2, 3, 4]|sum(sum(x, axis=1, dtype='int32'), axis=0, dtype='int32')|useless-reduction|int32(sum(int32(sum(x, axis=1)), axis=0))
x: int32[2, 3, 4]|sum(sum(x, axis=1, dtype='int32'), axis=0, dtype='float64')|useless-reduction|sum(float64(int32(sum(x, axis=1))), axis=0)
x: float64[2, 3, 4]|max(max(x, axis=2), axis=None)|useless-reduction|max(x, axis=[0, 1, 2])
x: float64[2, 3, 4]|mean(mean(x, axis=2), axis=0)|useless-reduction|mean(mean(x, axis=2), axis=0)
x: float64[2, 3, 4]|max(min(x, axis=2), axis=0)|useless-reduction|max(min(x, axis=2), axis=0)
x: bool[2, 3, 4]|any(any(x, axis=2), axis=0)|useless-reduction|any(x, axis=[0, 2])
x: float64[0, 3]; y: float64[2, 3]|concatenate([x, y])|useless-concatenate|y
x: float64[0, 3]; y: float64[2, 3]|concatenate([x, y, y * 2])|useless-concatenate|concatenate(y, y * 2.0)
x: float64[0, 3]; y: float64[2, 3]|concatenate([x, x])|useless-concatenate|concatenate(x, x)
x: float64[0, 3]; y: float64[2, 3]|concatenate([y, x, y, y], axis=-2)|useless-concatenate|concatenate(y, y, y)
x: float64[0, 3]; y: float64[n, 3]|concatenate([x, y])|useless-concatenate|y
x: float64[0, 3]; y: float64[?, 3]|concatenate([x, y])|useless-concatenate|y
x: float32[0, 3]; y: float64[2, 3]|concatenate([y, x])|useless-concatenate|y
x: float64[2, 3]|concatenate([x], axis=1)|useless-concatenate|x
x: float64[n, m]|x[:, :] + x[...] + x[:]|useless-slice|x + x + x
x: float64[n, m]|x[:, None]|useless-slice|x[:, None]
x: float64[n, m]|specify_shape(x, [n, m])|useless-specify-shape|x
x: float64[n]; y: float64[n]|sin(x - y) - sin(y - x)|merge-swapped|sin(x - y) - sin(y - x)
END
}

@test "shapes are told without the values, and operands are repeated no earlier than needed" {
    pass_makes '--verify 2' <<'END'
x: float64[?]; y: float64[?, 3]|shape(x + y)|lift-shape|stack(shape_i(y, axis=0), 3)
x: float64[?, 3]; y: float64[?, 1]|shape(x * 2 + y)|lift-shape|stack(shape_i(x, axis=0), 3)
x: float64[?]; y: float64[?]|shape(x * y)|lift-shape|stack(shape_i(x, axis=0))
x: float64[?, 3]|shape(transpose(exp(x)))|lift-shape|stack(3, shape_i(x, axis=0))
x: float64[?, 3, ?]|shape(transpose(x, axes=[-1, 0, -2]))|lift-shape|stack(shape_i(x, axis=2), shape_i(x, axis=0), 3)
x: float64[?, 3, ?]|shape(sum(x, axis=0))|lift-shape|stack(3, shape_i(x, axis=2))
x: float64[?, 3, ?]|shape(sum(x, axis=-1))|lift-shape|stack(shape_i(x, axis=0), 3)
x: float64[?, 3, ?]|shape(sum(x, axis=1, keepdims=True))|lift-shape|stack(shape_i(x, axis=0), 1, shape_i(x, axis=2))
x: float64[?, 3, ?]|shape(sum(x))|lift-shape|shape(sum(x))
x: float64[?, ?]; y: float64[?, ?]|shape(x @ y)|lift-shape|stack(shape_i(x, axis=0), shape_i(y, axis=1))
x: float64[?]; y: float64[?, ?]|shape(x @ y)|lift-shape|stack(shape_i(y, axis=1))
x: float64[?, ?]; y: float64[?]|shape(x @ y)|lift-shape|stack(shape_i(x, axis=0))
x: float64[?, ?, ?]; y: float64[?, ?]|shape(x @ y)|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1), shape_i(y, axis=1))
x: float64[?]; y: float64[?, ?, ?]|shape(x @ y)|lift-shape|stack(shape_i(y, axis=0), shape_i(y, axis=2))
x: float64[?, ?, ?]; y: float64[?, ?, ?]|shape(x @ y)|lift-shape|shape(x @ y)
x: float64[?, ?]|shape(zeros_like(x))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1))
x: float64[?, ?]|shape(full_like(exp(x), 2.))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1))
x: float64[?, ?]|shape(set_subtensor(x[0], 1.))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1))
x: float64; z: int8[?]|shape(broadcast_to(x, [z.shape[0], 3]))|lift-shape|stack(shape_i(z, axis=0), 3)
x: float64; z: int8[?]|shape(exp(broadcast_to(x, [z.shape[0], 3])))|lift-shape|stack(shape_i(z, axis=0), 3)
x: float64[?]; k: int64|shape(reshape(x, [k, -1]))|lift-shape|shape(reshape(x, stack(k, -1)))
z: int8[?]|shape(full([z.shape[0] // 2, 2], 1.))|lift-shape|stack(shape_i(z, axis=0) // 2, 2)
k: int64|shape(full([maximum(k, 0), 2], 1.))|lift-shape|stack(maximum(k, 0), 2)
k: int64[2]|shape(full(k, 1.))|lift-shape|shape(full(k, 1.0))
k: int64[2]; x: float64|shape(broadcast_to(x, k))|lift-shape|shape(broadcast_to(x, k))
x: float64[?]; y: float64[3]|shape(concatenate([x, y]))|lift-shape|stack(shape_i(x, axis=0) + 3)
x: float64[?, ?]; y: float64[?, 3]|shape(concatenate([x, y], axis=-1))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1) + 3)
x: float64[?]|shape(x[1:])|lift-shape|shape(x[1:])
x: float64[?]|shape(sort(x))|lift-shape|shape(sort(x, axis=0))
x: float64[?]|shape(x[x > 0])|lift-shape|shape(x[x > 0.0])
x: float64[?]|shape(exp(x[x > 0]))|lift-shape|stack(shape_i(x[x > 0.0], axis=0))
x: float64[?, 3]|shape(x)[0]|lift-shape|shape(x)[0]
x: float64[?, 3]|shape(exp(x))[-1]|lift-shape|stack(shape_i(x, axis=0), 3)[-1]
l: list(float64[?]); i: int64|shape(l[i])|lift-shape|shape(list_get(l, i))
l: list(float64[?]); i: int64|shape(exp(l[i]))|lift-shape|stack(shape_i(list_get(l, i), axis=0))
x: float64[?, ?]|shape(x)[1]|read-shape|shape_i(x, axis=1)
x: float64[?, ?]|shape(x)[-2]|read-shape|shape_i(x, axis=0)
x: float64[n, ?]|shape(x)[2 - 1]|read-shape|shape_i(x, axis=1)
x: float64[?, ?]; i: int64|shape(x)[i]|read-shape|shape(x)[i]
x: float64[?, ?]|shape(x)[:1]|read-shape|shape(x)[:1]
x: float64; y: float64|stack(x, y)[1]|read-shape|y
x: float64; y: float64|stack(x, y)[-1]|read-shape|y
x: float64[3]; y: float64[3]|stack(x, y, axis=1)[1]|read-shape|stack(x, y, axis=1)[1]
x: float64[3]; y: float64[3]|stack(x, y)[1]|read-shape|stack(x, y)[1]
x: float64[3]; y: float64[3]|stack(x, y)[1, 0]|read-shape|stack(x, y)[1, 0]
x: float64[3]; y: float32|stack(x[0], y)[1]|read-shape|float64(y)
x: float64[n]|zeros_like(exp(x))|like-shape|zeros_like(x, dtype='float64')
x: float64[n]|ones_like(x > 0)|like-shape|ones_like(x, dtype='bool')
x: float32[?]|full_like(exp(x), 3)|like-shape|full_like(x, 3, dtype='float32')
x: float64[n]; y: float64[m, 1]|zeros_like(x * y)|like-shape|full(stack(m, n), 0.0)
x: float64[n, m]; y: float64[m, k]|ones_like(x @ y, dtype=int32)|like-shape|full(stack(n, k), 1)
x: float64[n, m]|full_like(sum(x, axis=1), x[0, 0])|like-shape|full(stack(n), x[0, 0])
x: float64[?]; y: float64[?]|zeros_like(x * y)|like-shape|zeros_like(x * y)
x: float64[n]|zeros_like(x[1:])|like-shape|zeros_like(x[1:])
x: float64[n]|zeros_like(x[x > 0])|like-shape|zeros_like(x[x > 0.0])
x: float64[n]|zeros_like(sum(x))|like-shape|zeros_like(sum(x))
x: float64[n]|x + broadcast_to(2., [n])|sink-broadcast|x + 2.0
x: float64[n]|x + ones_like(x)|sink-broadcast|x + 1.0
x: float64[n]|x * zeros_like(x)|sink-broadcast|x * 0.0
x: float64[n]|x + full([n], 3)|sink-broadcast|x + cast(3, dtype='float64')
x: float64[n]|x + full_like(x, 3)|sink-broadcast|x + 3.0
x: float64[3]|x + [2., 2., 2.]|sink-broadcast|x + 2.0
x: float64[3]|x + [2., 2., 3.]|sink-broadcast|x + array([2.0, 2.0, 3.0], dtype='float64')
x: float64[?]|x + ones_like(x)|sink-broadcast|x + 1.0
x: float64[?]|x + broadcast_to([2.], shape(x))|sink-broadcast|x + 2.0
x: float64[?]|exp(x) * full_like(2 * x, 3.)|sink-broadcast|exp(x) * 3.0
x: float64[?, ?]|x * broadcast_to([2.], [x.shape[0], x.shape[1]])|sink-broadcast|x * 2.0
x: float64[?, ?]|x * broadcast_to([2.], [x.shape[1], x.shape[0]])|sink-broadcast|x * broadcast_to(array([2.0], dtype='float64'), stack(shape_i(x, axis=1), shape_i(x, axis=0)))
x: float64[?]; y: float64[?]|x + ones_like(y)|sink-broadcast|x + ones_like(y)
x: float32[n]|x + full([n], 3.)|sink-broadcast|float64(x) + 3.0
x: float64; k: int64|exp(broadcast_to(x, [k]))|sink-broadcast|broadcast_to(exp(x), stack(k))
x: float64; y: float64; k: int64|broadcast_to(x, [k]) * broadcast_to(y, [k])|sink-broadcast|broadcast_to(x, stack(k)) * broadcast_to(y, stack(k))
END
}

@test "scattered values are summed, repeated and scaled without the zeros around them" {
    pass_makes '--verify 2' <<'END'
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(zeros([n, 3])[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(full_like(x, 0.)[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(broadcast_to(0., [n, 3])[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(broadcast_to(1., [n, 3])[arange(n), c], z), axis=1)|sum-of-scatter|sum(set_subtensor(broadcast_to(1.0, stack(n, 3))[arange(n), c], z), axis=1)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(full_like(x, 2.)[arange(n), c], z), axis=1)|sum-of-scatter|sum(set_subtensor(full_like(x, 2.0)[arange(n), c], z), axis=1)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(exp(x)[arange(n), c], z), axis=1)|sum-of-scatter|sum(set_subtensor(exp(x)[arange(n), c], z), axis=1)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(x[arange(n), c], z), axis=1)|sum-of-scatter|sum(set_subtensor(x[arange(n), c], z), axis=1)
x: float64[n, 3]; c: int64; z: float64[n]|sum(set_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[n, 3]; c: int64; z: float64|sum(set_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|broadcast_to(z, stack(n))
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(zeros_like(x)[arange(n), c], z), axis=1, keepdims=True)|sum-of-scatter|expand_dims(z, axis=1)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(zeros_like(x)[arange(n), c], z), axis=0)|sum-of-scatter|sum(set_subtensor(zeros_like(x)[arange(n), c], z), axis=0)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(set_subtensor(zeros_like(x)[arange(n), c], z))|sum-of-scatter|sum(set_subtensor(zeros_like(x)[arange(n), c], z))
x: float64[n, 3]; c: int64[n]; z: float64[n]; r: int64[n]|sum(inc_subtensor(zeros_like(x)[r, c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[r, c], z), axis=1)
x: float64[?, 3]; c: int64[?]; z: float64[?]|sum(inc_subtensor(zeros_like(x)[arange(x.shape[0]), c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[arange(shape_i(x, axis=0)), c], z), axis=1)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(inc_subtensor(zeros_like(x)[arange(n)[::-1], c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[arange(n)[::-1], c], z), axis=1)
x: float64[n, 3]; c: int64[n]; z: float64[n]|sum(inc_subtensor(zeros_like(x)[arange(0, n), c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[arange(0, n), c], z), axis=1)
x: float64[n, 3]; c: int64[1]; z: float64[n]|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|z
x: float64[3, 3]; c: int64[3]; z: float64[3]|sum(inc_subtensor(zeros((3, 3))[[0, 1, 2], c], z), axis=1)|sum-of-scatter|z
x: float64[3, 3]; c: int64[3]; z: float64[3]|sum(inc_subtensor(zeros((3, 3))[[0, 2, 1], c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(full([3, 3], 0.0)[[0, 2, 1], c], z), axis=1)
x: float64[3, 3]; c: int64[3]; z: float64[3]|sum(inc_subtensor(zeros((3, 3))[c, [0, 1, 2]], z), axis=0)|sum-of-scatter|z
x: float64[3, 3]; c: int64[3]; z: float64[3]|sum(inc_subtensor(zeros((3, 3))[c, [0, 1, 2]], z), axis=1)|sum-of-scatter|sum(inc_subtensor(full([3, 3], 0.0)[c, [0, 1, 2]], z), axis=1)
x: float64[n, m, 3]; c: int64[n, m, 1]; z: float64[n, m, 1]|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=[1, 2]), expand_dims(arange(m), axis=1), c], z), axis=2)|sum-of-scatter|squeeze(z, axis=2)
x: float64[n, m, 3]; c: int64[n, m, 1]; z: float64[n, m, 1]|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=[1, 2]), expand_dims(arange(m), axis=1), c], z), axis=-1, keepdims=True)|sum-of-scatter|z
x: float64[n, 3, m]; c: int64[n, m]; z: float64[n, m]|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=1), c, arange(m)], z), axis=1, keepdims=True)|sum-of-scatter|expand_dims(z, axis=1)
x: float64[n, 3, m]; c: int64[n, m]; z: float64|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=1), c, arange(m)], z), axis=1)|sum-of-scatter|broadcast_to(z, stack(n, m))
x: float64[n, n, 3]; c: int64[n, n, 1]; z: float64[n, n, 1]|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=1), expand_dims(arange(n), axis=[1, 2]), c], z), axis=2)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=1), expand_dims(arange(n), axis=[1, 2]), c], z), axis=2)
x: float64[n, m, 3]; c: int64[n, m, 2]; z: float64[n, m, 2]|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=[1, 2]), expand_dims(arange(m), axis=1), c], z), axis=2)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[expand_dims(arange(n), axis=[1, 2]), expand_dims(arange(m), axis=1), c], z), axis=2)
x: float64[1, m, 3]; c: int64[1, m, 1]; z: float64[1, m, 1]|sum(inc_subtensor(zeros_like(x)[[[[0]]], expand_dims(arange(m), axis=1), c], z), axis=2, keepdims=True)|sum-of-scatter|z
x: int32[n, 3]; c: int64[n]; z: int32[n]|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)
x: float64[n, 3]; z: float64[3]|sum(inc_subtensor(zeros_like(x)[0], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[0], z), axis=1)
x: float64[n, 3, 2]; c: int64[n]; z: float64[n, 2]|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)
x: float64[n]; z: float64|set_subtensor(x[1:], broadcast_to(z, [n - 1]))|scatter-value|set_subtensor(x[1:], broadcast_to(z, stack(n - 1)))
x: float64[5]; z: float64|set_subtensor(x[1:], broadcast_to(z, [4]))|scatter-value|set_subtensor(x[1:], z)
x: float64[n, 3]; c: int64[n]; z: float64|inc_subtensor(x[arange(n), c], broadcast_to(z, [n]))|scatter-value|inc_subtensor(x[arange(n), c], z)
x: float64[n, 3]; c: int64; z: float64|inc_subtensor(x[c], broadcast_to(z, [3]))|scatter-value|inc_subtensor(x[c], z)
x: float64[n, 3]; c: int64; z: float64[1]|inc_subtensor(x[:, c], broadcast_to(z, [n]))|scatter-value|inc_subtensor(x[:, c], z)
x: float64[5]; z: float64|set_subtensor(x[1:], z)|scatter-value|set_subtensor(x[1:], z)
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - x * s|scatter-scaled|inc_subtensor(x[c], -1.0) * -s
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - s * x|scatter-scaled|inc_subtensor(x[c], -1.0) * -s
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - x * 2|scatter-scaled|inc_subtensor(zeros_like(x)[c], s) - x * 2.0
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - exp(x)|scatter-scaled|inc_subtensor(zeros_like(x)[c], s) - exp(x)
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], 2.) - x * 2.|scatter-scaled|inc_subtensor(zeros_like(x)[c], 2.0) - x * 2.0
x: float64[n, 3]; c: int64; s: float64[3]|inc_subtensor(zeros_like(x)[c], s) - x * s|scatter-scaled|inc_subtensor(zeros_like(x)[c], s) - x * s
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(x[c], s) - x * s|scatter-scaled|inc_subtensor(x[c], s) - x * s
x: float64[3]; c: int64; s: float64; y: float64[n, 3]|inc_subtensor(zeros_like(y)[c], s) - x * s|scatter-scaled|inc_subtensor(zeros_like(y)[c], s) - x * s
x: int64[n]; c: int64; s: int64|inc_subtensor(zeros_like(x)[c], s) - x * s|scatter-scaled|inc_subtensor(zeros_like(x)[c], s) - x * s
x: float64[n, 3]; c: int64; s: float64|set_subtensor(zeros_like(x)[c], s) - x * s|scatter-scaled|set_subtensor(zeros_like(x)[c], s) - x * s
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - x|scatter-scaled|inc_subtensor(zeros_like(x)[c], s) - x
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - exp(x)|scatter-into|inc_subtensor((-exp(x))[c], s)
x: float64[n, 3]; c: int64; s: float64|exp(x) - inc_subtensor(zeros_like(x)[c], s)|scatter-into|inc_subtensor(exp(x)[c], -s)
x: float64[n, 3]; c: int64; s: float64|exp(x) + inc_subtensor(zeros_like(x)[c], s)|scatter-into|inc_subtensor(exp(x)[c], s)
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], 2.) + x * s|scatter-into|inc_subtensor((x * s)[c], 2.0)
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - x|scatter-into|inc_subtensor((-x)[c], s)
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(x[c], s) - x * s|scatter-into|inc_subtensor(x[c], s) - x * s
x: float64[3]; c: int64; s: float64; y: float64[n, 3]|inc_subtensor(zeros_like(y)[c], s) - x * s|scatter-into|inc_subtensor(zeros_like(y)[c], s) - x * s
x: float64[n, 3]; y: float64[3, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) + x @ y|scatter-into|inc_subtensor((x @ y)[c], s)
x: float64[n, 3]; c: int64; s: float64|set_subtensor(zeros_like(x)[c], s) - x * s|scatter-into|set_subtensor(zeros_like(x)[c], s) - x * s
x: float64[n, 3]; c: int64; s: float64|inc_subtensor(zeros_like(x)[c], s) - sum(exp(x), axis=0)|scatter-into|inc_subtensor(zeros_like(x)[c], s) - sum(exp(x), axis=0)
END
}

@test "the gradient of cross_entropy changes one element a row in place, for any dims and axis" {
    local z y axis
    while IFS='|' read -r z y axis; do
        gload --new -i "z: float64$z" -i "y: int64$y" -e "loss = cross_entropy(z, y, axis=$axis)" |
            ggrad --cost loss --wrt z --only | grewrite --verify 2 -o g.tlg
        pipe 'gload g.tlg -O math'
        assert_success
        assert_output --partial 'd_loss_d_z = inc_subtensor('
        refute_output --regexp 'zeros|sum\('
    done <<END
[a, c]|[a]|-1
[5, 7]|[5]|1
[a, b, c]|[a, b]|2
[2, 3, 4]|[2, 3]|-1
[a, c, b]|[a, b]|1
[c, a, b]|[a, b]|0
[1, 3, 4]|[1, 3]|-1
END
}

@test "sizes that may be negative, -1 for what fits, or past all counting are those of the op" {
    local m
    gload --new -i 'x: float64[?]' -i 'k: int64' -e 'a = shape(reshape(x, [k, 2]))' -e 'b = reshape(x, [k, 2]).size' --outputs a,b -o r.tlg
    gload --new -i 'k: int64' -e 'shape(zeros(k))' -o z.tlg
    gload --new -i 'k: int64' -e 'broadcast_to(int8(1), [4, k]).size' -o s.tlg
    for m in FAST_RUN FAST_COMPILE DEBUG; do
        ok "grun r.tlg --mode $m x=[1,2,3,4] k=-1" $'a = [2, 2]\nb = 4'
        bad 5 E_RUN_SHAPE 'negative: -3' "grun z.tlg --mode $m k=-3"
        bad 6 E_LIMIT 'more bytes than can be addressed' "grun s.tlg --mode $m k=4611686018427387904"
    done
}

@test "a convolution by constants takes the constants that scale and shift it" {
    local w="[[[1., 2.]], [[3., 4.]]]"
    pass_makes '--verify 2' <<END
x: float64[n, 1, 5]|conv(x, $w) * [[2.], [0.5]]|conv-scale|conv(x, array([[[2.0, 4.0]], [[1.5, 2.0]]], dtype='float64'))
x: float64[n, 1, 5]|[[[2.], [0.5]]] * conv(x, $w)|conv-scale|conv(x, array([[[2.0, 4.0]], [[1.5, 2.0]]], dtype='float64'))
x: float64[n, 1, 5]|conv(x, $w, strides=2) / [[2.], [0.5]]|conv-scale|conv(x, array([[[0.5, 1.0]], [[6.0, 8.0]]], dtype='float64'), strides=[2])
x: float64[n, 1, 5]|conv(x, $w) * 2.|conv-scale|conv(x, array([[[2.0, 4.0]], [[6.0, 8.0]]], dtype='float64'))
x: float64[n, 1, 5]|(conv(x, $w) - 3.) * 2.|conv-scale|conv(x, array([[[2.0, 4.0]], [[6.0, 8.0]]], dtype='float64')) + -6.0
x: float64[n, 1, 5]|(3. + conv(x, $w)) * 2.|conv-scale|conv(x, array([[[2.0, 4.0]], [[6.0, 8.0]]], dtype='float64')) + 6.0
x: float64[n, 1, 5]|(conv(x, $w) + 3.) + 2.|conv-shift|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) + 5.0
x: float64[n, 1, 5]|(conv(x, $w) - 3.) + 2.|conv-shift|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) + -1.0
x: float64[n, 1, 5]|(conv(x, $w) - 3.) - 2.|conv-shift|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) + -5.0
x: float64[n, 1, 5]|(conv(x, $w) + 3.) - 2.|conv-shift|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) + 1.0
x: float64[n, 1, 5]|conv(x, $w) - 2.|conv-shift|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) + -2.0
x: float64[n, 1, 5]; s: float64|conv(x, $w) * s|conv-scale|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) * s
x: float64[n, 1, 3]|conv(x, $w) * [1., 2.]|conv-scale|conv(x, array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype='float64')) * array([1.0, 2.0], dtype='float64')
x: float64[n, 1, 5]; w: float64[2, 1, 2]|conv(x, w) * 2.|conv-scale|conv(x, w) * 2.0
x: int64[n, 1, 5]|conv(x, [[[1, 2]]]) * 2|conv-scale|conv(x, array([[[1, 2]]])) * 2
END
}

@test "terms of whole sums and factors of whole products are collected" {
    pass_makes '--verify 2' <<'END'
x: int64[n]; y: int64[n]; z: int64[n]|x + y + z - y - x|collect-terms|z
x: int64[n]; y: int64[n]|x - (y + x)|collect-terms|-y
x: int64[n]; y: int64[n]|x + y + x|collect-terms|x * 2 + y
x: int64[n]; y: int64[n]|2 * x + y - 3 * x|collect-terms|y - x
x: int8[n]; y: int8[n]|x - y - (x - y)|collect-terms|broadcast_to(0, stack(n))
x: uint8[n]; y: uint8[n]|x + y - x|collect-terms|y
x: int64[n]; y: int64[m, n]|x + y - x|collect-terms|y
x: int64[m, n]; y: int64[n]|x + y - x|collect-terms|broadcast_to(y, stack(m, n))
x: int64[n]; y: int64[n]|(x + y - x) * (x + y)|collect-terms|y * (x + y)
x: bool[n]; y: bool[n]|x + y + x|collect-terms|x + y + x
x: float64[n]; y: float64[n]|x + y - x|collect-terms|x + y - x
x: float64[n]; y: float64[n]|x + y - x|collect-terms-fast|y
x: float64[n]|x * 0.5 + x|collect-terms-fast|x * 0.5 + x
x: float64[n]; y: float64[n]|x * y / x|collect-factors-fast|y
x: float64[n]|x * 3 / x|collect-factors-fast|broadcast_to(3.0, stack(n))
x: float64[n]; y: float64[n]|x * y * x|collect-factors-fast|x ** 2.0 * y
x: float64[n]; y: float64[n]|x / (y * x)|collect-factors-fast|1.0 / y
x: float64[n]; y: float64[n]; z: float64[n]|x * y / (x * z) * z|collect-factors-fast|y
END
    pass_makes '' <<'END'
x: int64[?]; y: int64[?]|x + y - x|collect-terms|x + y - x
END
}

@test "terms are collected of what other rules have just made" {
    gload -i 'x: float64[4, 4]' -i 'y: float64[4, 4]' -e 'z = transpose(transpose(x)) * 1. + y + (x + x / 1.)' -e 'w = z @ z' --outputs z,w -o m.tlg
    ok 'grewrite m.tlg --exclude fusion --no-provenance -O math' $'x: float64[4, 4]\ny: float64[4, 4]\nz = x * 3.0 + y\nw = z @ z'
    ok 'grewrite m.tlg --verify 2 -o /dev/null'
    # a term that an initial value needs, too, has a reader more
    cat >s.yaml <<'Y'
thunkline: 1
shared:
  u: float64[3] = exp(t)
let: |
  t = log([1., 2., 3.]) + 1.
  z = u + t + (t + transpose(u))
outputs: [z]
Y
    grun s.yaml >plain
    ok 'grewrite s.yaml | grun' "$(cat plain)"
}

@test "groups that compute the same share a function, once there are a thousand" {
    local open i
    for open in 64 '?'; do
        {
            printf 'thunkline: 1\ninputs: {x: "float64[%s]"}\nlet: |\n  s0 = sum(x)\n' "$open"
            for ((i = 1; i <= 1200; i++)); do echo "  s$i = sum(tanh((x + s$((i - 1))) * $((2 + i % 2)).0) * x)"; done
            echo 'outputs: [s1200]'
        } >m.yaml
        grewrite m.yaml --no-provenance -O yaml >r.yaml
        [ "$(grep -c '^  fused_[0-9]*:' r.yaml)" = 1000 ]
        [ "$(grep -c '= fused_[0-9]*(' r.yaml)" = 1200 ]
        # 2 and 3 are not the same: the calls beyond take turns
        [ "$(grep -E '^ +s119[0-9] = ' r.yaml | sed 's/.*= //; s/(.*//' | sort -u | wc -l)" = 2 ]
    done
}

@test "assertions that are known to hold go, others stay and are checked" {
    gload -i 'x: float64[3]' -e 'a = assert_op(2., True)' -e 'b = assert_op(x, x.shape[0] == 3, [True, True])' -e 'c = assert_op(x, x > 0)' -e 'd = assert_op(x, [True, False])' -o m.tlg
    ok 'grewrite m.tlg --exclude fusion --no-provenance -O math' $'x: float64[3]\na = float64(2.0)\nc = assert_op(x, x > 0.0)\nd = assert_op(x, True, False)\nb = x'
    bad 5 E_ASSERT 'does not hold' 'grun m.tlg x=[1,2,3]'
    gload -i 'c: bool' -i 'x: float64' -e 'y = ifelse(c, assert_op(x, True), assert_op(x, x > 0) * 2)' -o i.tlg
    ok 'grun i.tlg c=True x=-1' 'y = -1.0'
    bad 5 E_ASSERT 'does not hold' 'grun i.tlg c=False x=-1'
}

@test "what the types leave open stays" {
    pass_makes '' <<'END'
x: float64[n, m]|specify_shape(x, [n, 3])|useless-specify-shape|specify_shape(x, stack(n, 3))
x: float64[4]; k: int64|specify_shape(x, [k])|useless-specify-shape|specify_shape(x, stack(k))
x: float64[4]; k: int64[1]|specify_shape(x, k)|useless-specify-shape|specify_shape(x, k)
x: float64[4]; y: int8[n]|specify_shape(x, [n])|useless-specify-shape|specify_shape(x, stack(n))
x: float64[2, 6]|reshape(reshape(x, [3, 4]), [12])|useless-reshape|reshape(x, [12])
x: float64[?, 6]|reshape(reshape(x, [3, 4]), [12])|useless-reshape|reshape(reshape(x, [3, 4]), [12])
x: float64[n]|reshape(reshape(x, [3, 4]), [12])|useless-reshape|reshape(reshape(x, [3, 4]), [12])
x: float64[?]; k: int64|shape(reshape(x, [k, 2]))|lift-shape|shape(reshape(x, stack(k, 2)))
x: float64; k: int64|shape(broadcast_to(x, [k, 3]))|lift-shape|shape(broadcast_to(x, stack(k, 3)))
k: int64|shape(full([maximum(k, -1)], 1.))|lift-shape|shape(full(stack(maximum(k, -1)), 1.0))
x: int8[?]|shape(zeros([x.shape[0] * 4]))|lift-shape|shape(full(stack(shape_i(x, axis=0) * 4), 0.0))
x: float64; y: float64; k: int64|broadcast_to(x, [k]) * y|sink-broadcast|broadcast_to(x * y, stack(k))
x: float64; y: float64; k: int64; j: int64|broadcast_to(x, [k]) * broadcast_to(y, [j])|sink-broadcast|broadcast_to(x, stack(k)) * broadcast_to(y, stack(j))
x: float64; y: float64[?]; k: int64|broadcast_to(x, [k]) * y|sink-broadcast|broadcast_to(x, stack(k)) * y
x: float64[n, 3]; k: int64; z: float64|inc_subtensor(x[k:], broadcast_to(z, [k, 3]))|scatter-value|inc_subtensor(x[k:], broadcast_to(z, stack(k, 3)))
END
}

@test "a factor that makes a matrix of a vector is not taken out of a product" {
    local e
    for e in 'F @ (array([2.])[:, None] * v)' 'F @ (v / array([[2.]]))' '(array([[2.]]) * v) @ F.T' '(v / array([[2.]])) @ G'; do
        gload --new -i 'F: float64[?, 1]' -i 'v: float64[?]' -i 'G: float64[?, ?]' -e "y = $e" --outputs y -o g.tlg --on-unused-input ignore || fail "$e does not type"
        shell "grun --mode FAST_COMPILE g.tlg F='[[1.],[3.]]' v=[5.] G=[[7.,8.]] --on-unused-input ignore"
        ok "grun g.tlg F='[[1.],[3.]]' v=[5.] G=[[7.,8.]] --on-unused-input ignore" "$(cat .out)"
    done
}

@test "no factor leaves a sum or product that may have no elements, unless 0 times it is 0" {
    local e m
    for e in 'sum(a * e)' 'sum(log2(a) * e, axis=0)' 'sum(e / (a + 1))' 'sum(a * x)' 'sum(x / n, axis=0)' 'sum(x / n)' 'x.T @ (x / n)' \
        '(x.T / n) @ x' 'x.T @ (a * x)' '(a * x.T) @ x' 'e.T @ (log2(a) * e)' 'prod(a * e)' 'e.T @ x[:0]'; do
        gload --new -i 'e: float64[0, 3]' -i 'x: float64[n, 2]' -i 'a: float64' -e "y = $e" --outputs y -o g.tlg --on-unused-input ignore || fail "$e does not type"
        for m in inf nan -1; do
            shell "grun --mode FAST_COMPILE g.tlg e='zeros([0, 3])' x='zeros([0, 2])' a=$m --on-unused-input ignore"
            ok "grun g.tlg e='zeros([0, 3])' x='zeros([0, 2])' a=$m --on-unused-input ignore" "$(cat .out)"
        done
    done
    # where it can't be wrong, it does
    pass_makes '' <<'END'
x: float64[n]|sum(2.5 * x)|sum-scale|2.5 * sum(x)
x: float64[n]; a: float64|sum(a * x)|sum-scale|sum(a * x)
x: float64[4]; a: float64|sum(a * x)|sum-scale|a * sum(x)
x: float64[n]|sum(x / 3)|sum-divide|sum(x) / 3.0
x: float64[n]|sum(x / 0)|sum-divide|sum(x / 0.0)
x: float64[n, 4]; y: float64[4, m]; a: float64|(a * x) @ y|matmul-scale|a * (x @ y)
x: float64[n, m]; y: float64[m, 4]; a: float64|(x / a) @ y|matmul-divide|x / a @ y
x: float64[n, 0]; y: float64[0, n]|x @ y|reduce-empty|broadcast_to(0.0, stack(n, n))
x: float64[0, n]|prod(x, axis=0)|reduce-empty|broadcast_to(1.0, stack(n))
END
}

# Each line has a matrix made of X (6 x 6), or a vector, and is read in all these ways: of a matrix of its own each time, so that nothing
# else uses it. Sizes are known, named or unknown.
@test "reads of what ops make compute the same as before" {
    local reads='[0] [-1] [2] [1:3] [::2] [::-1] [-3:] [:-1] [3:1:-1] [None,1] [...,0] [i] [[0,2]] [[i,0]] [1:1] [0:0] [-2::-1] [i:] [:i] [:-i] [1:][0] [::-1][1:] [-3:-1][::-1] [::2][-1:] [::2][::2] [i:][1:] [:3][1:][0] [::-2][:1] [::-1][::-1] [1:][:-1] [-4:-1][1:] [1:][::-2] [x[:,0]>0]'
    local of_matrices='[:,1] [1,2] [-1,-1] [:,None,2] [:,i] [i,i] [:,2:4] [:,::-1] [:,[1,0]] [:,1:3][0] [1:,0] [0,::2] [2:3,1:2] [:,i:][:,1:]'
    local passes='' made k t r
    set -f
    while IFS='|' read -r ndim made; do
        for t in 'float64[6, 6]' 'float64[n, 6]' 'float64[?, ?]'; do
            k=0
            {
                printf 'thunkline: 1\ninputs: {x: "%s", i: int64}\nlet: |\n' "$t"
                # shellcheck disable=SC2086 # a word each
                for r in $reads $([ "$ndim" = 2 ] && echo $of_matrices); do
                    k=$((k + 1))
                    echo "  y$k = (${made//X/(x + $k)})$r"
                done
                printf 'outputs: [%s]\n' "$(seq -s, -f 'y%g' $k)"
            } >r.yaml
            ok "gload r.yaml -o r.tlg"
            shell "grewrite r.tlg --verify 1 --exclude fusion --profile 'x=normal(0, 1, (6, 6), seed=1)' i=1 -o s.tlg"
            [ "$status" = 0 ] || complain 'should be the same' "$made of $t"
            passes+=$(awk '$3 > 0 { print $5 }' .err)$'\n'
        done
    done <<'END'
2|X.T
1|X[:,0]
2|expand_dims(X,0)[0]
2|squeeze(expand_dims(X,1),1)
2|squeeze(expand_dims(X,(0,2)),0)[:,0]
2|reshape(X,(6,3,2))
2|reshape(X,(6,6,1))[:,:,0]
2|reshape(reshape(X,(36,)),(6,6))
2|concatenate([X,2*X,X],axis=1)
2|concatenate([X[:3],X[3:]])
2|concatenate([X,X])[-6:]
2|stack([X[0],X[1],X[2],X[3],X[4],X[5]])
2|stack([X,X,X],axis=1)
2|stack([X,X],axis=2)
2|broadcast_to(X[0],(6,6))
2|full((6,6),X[0,0])
2|full((6,6),X[0])
2|full_like(X,X[1,1])
2|zeros_like(X)
2|ones_like(X)
2|zeros((6,6))+X
2|X@X.T
1|X@X[0]
2|softmax(X,axis=1)
2|softmax(X,axis=0)
1|softmax(X[0])
2|log_softmax(X,axis=1)
2|set_subtensor(X[1],7.)
2|set_subtensor(X[1:3],X[:2])
2|set_subtensor(X[i],0.)
2|inc_subtensor(X[:,2],X[:,0])
2|exp(X)
2|X+X[0]
2|where(X>0,X,X[0])
2|max(stack([X,X*2]),axis=0)
2|min(stack([X,X*2]),axis=0)
2|sum(reshape(X,(6,2,3)),axis=1)
2|mean(stack([X,X]),axis=0)
2|prod(stack([X,X]),axis=0)
2|any(stack([X>0,X>1]),axis=0)
2|all(stack([X>0,X>1]),axis=0)
1|sum(X,axis=1)
1|cumsum(X[0])
1|diagonal(X)
1|diagonal(diag(X[0]))
2|diag(X[0])
2|diag(X[0])@X
2|eye(6)+X[0,0]*0
2|eye(6)
2|eye(6,k=1)
2|eye(6,8,k=-1)
1|arange(6)
1|arange(1,13,2)
1|linspace(0.,1.,6)
1|full((6,),X[0,0])
1|reshape(X,(-1,))[:6]
2|X[::-1]
2|X[[0,1,2,3,4,5]]
2|X[:,5:0:-2].T[:1].T@X[:1]
2|transpose(reshape(X,(1,6,6)),(2,0,1))[:,0]
2|transpose(stack([X,X]),(1,2,0))
2|tile(X,(1,2))
2|repeat(X,2,axis=1)
2|split(X,2,axis=1)[1]
END
    set +f
    for r in merge-reads read-exactly read-product new-dims; do
        grep -qx -e "$r" <<<"$passes" || fail "$r never fired"
    done
}

# The expressions that are read, all in one graph, have the same values with rewriting and without. With NAME, each has
# another matrix of that name, so that no two are merged.
same_as_before() { # inputs, their values, NAME
    local i=0 expr values=$2
    {
        printf 'thunkline: 1\ninputs: %s\nlet: |\n' "$1"
        while IFS= read -r expr; do
            i=$((i + 1))
            [ -z "${3:-}" ] || expr=${expr//$3/($3 + $i)}
            echo "  y$i = $expr"
        done
        printf 'outputs: [%s]\n' "$(seq -s, -f 'y%g' $i)"
    } >m.yaml
    [ $i -gt 0 ]
    # shellcheck disable=SC2086
    grun m.yaml --mode FAST_COMPILE $values >plain
    ok "grun m.yaml --exclude fusion $values | cmp - plain" || complain "$(eval "grun m.yaml --exclude fusion $values" | diff - plain | head -n 4)" ''
}

@test "slices of slices, elements of what is made or written: as before, whatever is known of sizes" {
    same_as_before '{x: "float64[n]", z: "float64[?]", f: "float64[6]", M: "float64[?, ?]", N: "float64[3, 3]", T: "float64[2, 3, 3]", v: "float64[3]", u: "uint8[3]", i: int64, k: int64}' \
        'x=[1,2,3,4,5,6,7] z=[3,1,2,5,4] f=[6,5,4,3,2,1] M=[[1,2,3],[4,5,6],[7,8,10]] N=[[2,0,1],[0,3,1],[1,1,4]] T=[[[1,2,3],[4,5,6],[7,8,9]],[[1,0,0],[0,1,0],[0,0,1]]] v=[1,2,3] u=[2,0,1] i=2 k=3' <<'END'
x[2000000000:][0:]
x[::1000][2000000:]
x[::1000][:2000000]
x[::100000][::100000]
x[-2000000000:][1:]
x[0:2000000000][1:]
x[::2000000000][0:]
x[1::2][::-1]
x[:-1][::2][1]
x[:-1][::2][1:]
x[::-2][::-1]
x[:5][-1]
x[:5][2]
x[::2][-1]
x[1:][-1]
x[-3:2][:1]
x[::-1][-1]
x[::-1][:-1][1]
x[::-1][1]
x[:-2][:3]
x[:3][:-1]
x[::2][:-1]
x[:-1][:-1]
x[:-1][::-1]
x[:4][::-1]
x[1:-1][::-1]
x[1:-1][::-1][:2]
x[::2][1:][2000000000:]
x[2000000000::-1][0:]
x[2:][:2]
x[2:4][:3]
x[2:4][3:]
x[::3][:2]
x[:-1][:2]
x[:-1][2:][:1]
x[x.shape[0]//2:][1:]
x[x.shape[0]//2:][1]
x[x.shape[0]//2:][:x.shape[0]//3]
x[x.shape[0]//2:][x.shape[0]//3]
x[minimum(x.shape[0], 3):][1:]
x[minimum(x.shape[0], k):][1:]
x[minimum(x.shape[0], 3)//2:][1:]
x[x.shape[0]//k:][1:]
x[x.shape[0]*2:][1:]
x[x.shape[0]//-2:][1:]
x[x.shape[0]//2//2//2//2//2//2:][1:]
z[z.shape[0]//2:][1:]
z[minimum(z.shape[0], 3):][1:]
z[minimum(3, z.shape[0]):][1]
z[maximum(3, z.shape[0]):][1:]
z[int32(z.shape[0]):][1:]
z[k:][1:]
z[z.shape[0]//2:3][1:]
z[z.shape[0]//2::2][1:]
z[z.shape[0]//2:][::2]
z[z.shape[0]//2:][[0, 1]]
f[i:][0]
f[::i][0]
f[::i][1:]
f[1:][i]
f[4:][2:][1:]
f[7:][0:]
f[::2][::2][1]
f[::-1][1:4][1]
f[:3:-1][1]
f[4:1:-1][:2]
f[1:5:2][1:]
f[1:5:2][::-1]
f[::9223372036854775807][0:]
f[::4611686018427387904][::2]
arange(i, 9)[2]
arange(1, 9, i)[1]
arange(9)[i]
arange(0, 9, 2)[i]
arange(3, 9223372036854775807, 4611686018427387904)[1]
arange(9223372036854775806, 9223372036854775807)[0]
arange(x.shape[0])[2]
arange(x.shape[0])[i]
arange(3.)[i]
eye(2, 3)[1]
eye(2, 3)[i - 1]
eye(x.shape[0], 3, k=1)[0]
eye(x.shape[0], 3, k=1)[0, 1]
eye(3)[[0, 1]]
eye(3)[1:2, 0:1]
eye(3)[1:3, 1:2]
eye(3)[0:2]
eye(3)[:, i]
eye(3)[i, 1:2]
eye(3)[i, k - 1]
eye(3)[None, 1]
eye(3, k=1)[:, 0]
diag(v)[1:2]
diag(v)[0:1, 0:1]
diag(v)[0:1, 1:2]
diag(v)[i, i]
diag(v)[i]
diag(v)[:, 1]
diag(x)[1:3, 1:3]
diag(x)[1]
diag(x)[1, 1]
diag(x)[1, i]
diag(v, k=1)[0]
diagonal(M, offset=1)[0]
diagonal(M)[1]
diagonal(M)[1:]
diagonal(T, axis1=1, axis2=2)[0]
diagonal(T, axis1=1, axis2=2)[0, 1]
diagonal(T, axis1=0, axis2=1)[0]
diagonal(N, axis1=1, axis2=0)[1]
full((3, 3), i)[1]
full((k, 3), 2.)[1]
full((k, 3), x[0])[0, 1]
full((3, 3), v)[1]
full((3, 3), N)[1, 2]
broadcast_to(v, (k, 3))[1]
broadcast_to(v, (3, 3))[i, 1]
broadcast_to(expand_dims(v, 1), (3, 3))[1]
broadcast_to(expand_dims(v, 1), (3, 3))[:, 1]
expand_dims(v, (0, 2))[0, 1, 0]
expand_dims(v, 1)[i, 0]
expand_dims(v, 1)[1, i - 2]
expand_dims(v, 0)[i - 2]
squeeze(expand_dims(v, 1), 1)[1]
squeeze(expand_dims(N, (1, -1)), (1, -1))[1, 2]
(x + 1)[x > 2]
(x + v[0])[x > 2]
(N + v)[N > 1]
(v + expand_dims(v, 1))[N > 1]
(N + 1)[v > 1]
(N + 1)[:, v > 1]
(x + 1)[[0, 1]]
(x + 1)[u]
(N + v)[[0, 1]]
(N + v)[[0, 1], [1, 2]]
(N + v)[expand_dims([0, 1], 1), [1, 2]]
(N @ N)[1]
(N @ N)[i]
(N @ N)[1, 2]
(N @ N)[:, i]
(N @ N)[1:2, 2:3]
(N @ v)[1]
(v @ N)[1:]
(T @ N)[1]
(T @ N)[1, 2]
(T @ v)[1]
(N @ N)[[0, 1]]
(N @ N)[..., 1]
(N @ N)[None, 1]
set_subtensor(N[1], 0.)[1]
set_subtensor(N[1], 0.)[2]
set_subtensor(N[1], 0.)[i]
set_subtensor(N[i], 0.)[i]
set_subtensor(N[i], 0.)[1]
set_subtensor(N[1:], 0.)[1]
set_subtensor(N[1:], 0.)[0]
set_subtensor(N[:, 1], v)[:, 1]
set_subtensor(N[:, 1], v)[1]
inc_subtensor(N[1], v)[1]
inc_subtensor(N[1], v)[2]
inc_subtensor(N[1:], v)[1:]
set_subtensor(x[2:], 0.)[1]
set_subtensor(x[2:], 0.)[3]
set_subtensor(x[-1], 0.)[-1]
set_subtensor(x[-1], 0.)[1]
set_subtensor(x[[0, 1]], 0.)[0]
END
    # what is out of range stays so, with the size that it is out of
    local expr says
    while IFS='|' read -r expr says; do
        bad 5 E_INDEX "$says" "gload --new -i 'x: float64[n]' -e 'out = $expr' | grun x=[1,2,3,4,5,6,7]"
    done <<'END'
x[:5][5]|index 5 is out of range for axis 0 of size 5
x[5:2][0]|index 0 is out of range for axis 0 of size 0
x[:2000000000][2000000000]|index 2000000000 is out of range for axis 0 of size 7
x[1000000000:][1000000000]|index 2000000000 is out of range for axis 0 of size 7
x[1:][2000000000]|index 2000000000 is out of range for axis 0 of size 6
x[::2][-5]|index -5 is out of range for axis 0 of size 4
END
}

# Slices of slices, and their gradients, whose bounds may have any sign, for tensors of few elements and bounds on both sides of all of them.
sign_values='n=0,m=0,i=0,k=-1 n=1,m=0,i=-1,k=2 n=1,m=1,i=0,k=1 n=1,m=3,i=-2,k=-1 n=2,m=1,i=-1,k=0 n=2,m=5,i=1,k=-1 n=5,m=2,i=-3,k=4 n=5,m=0,i=-9,k=9 n=5,m=4,i=3,k=-2 n=6,m=9,i=-6,k=6 n=6,m=6,i=5,k=-7'
sign_operands() { # n=.,m=.,i=.,k=.
    local n m i k
    IFS=, read -r n m i k <<<"$1"
    printf '%s ' "x='1. + arange(${n#*=})'" "y='zeros([${m#*=}])'" "M='reshape(1. + arange(3 * ${n#*=}), [${n#*=}, 3])'" "$i" "$k"
}

@test "slices of slices and their gradients, by sizes and bounds of any sign" {
    local inner='m: :m m//2:m 1:m i: :i i:k m:-1 :-m 2:i ::-1 -2::-1 :i:-1 -3:k:-1 ::2 i:k:2 i::-2 :n-1 n-1: n-2: n-3: :n-3 n-1::-1 n-2::-1 m:n 0:n maximum(m,2): minimum(m,n):n-2 n:m' \
        outer='1: m: :m :2 1:m m:m+2 :-1 -2: :i i: ::2 ::-1 1::2 m::3 :m:2 m//2:-1 2+m: minimum(m,1):' a b v count=0
    {
        printf 'thunkline: 1\ninputs: {x: "float64[n]", y: "float64[m]", M: "float64[n, 3]", i: int64, k: int64}\nlet: |\n'
        for a in $inner; do
            for b in $outer; do
                count=$((count + 1))
                printf '  s%d = x[%s][%s]\n  g%d = grad(sum(x[%s][%s] ** 2), x)\n' $count "$a" "$b" $count "$a" "$b"
            done
            count=$((count + 1))
            printf '  s%d = M[%s][:, i:]\n  g%d = grad(sum(M[%s][:, i:k] ** 2), M)\n' $count "$a" $count "$a"
        done
        printf 'outputs: [%s, %s]\n' "$(seq -s, -f 's%g' $count)" "$(seq -s, -f 'g%g' $count)"
    } >m.yaml
    shell 'grewrite m.yaml --exclude fusion -o r.tlg; gload m.yaml -o m.tlg'
    for v in $sign_values; do
        eval "grun m.tlg --mode FAST_COMPILE $(sign_operands "$v")" >plain
        eval "grun r.tlg --mode FAST_COMPILE $(sign_operands "$v")" >merged
        cmp plain merged || complain "$(diff plain merged | head -n 4)" "$v"
    done
}

@test "an element of a slice: an index that is out of range stays so, whatever the signs" {
    local e v
    for e in 'm:][m' 'm:][2' '::-1][m' '-2::-1][m' ':m][1' 'm:][-1' 'i:][0' ':i][m' 'n-1' 'n-2' 'n-2:][0' ':n-1][m' 'm:n][1' '1:][m:][0' 'i:k][m'; do
        gload --new -i 'x: float64[n]' -i 'y: float64[m]' -i 'M: float64[n, 3]' -i 'i: int64' -i 'k: int64' -e "out = x[$e]" --outputs out --on-unused-input ignore -o m.tlg
        grewrite m.tlg -o r.tlg
        for v in $sign_values; do
            eval "grun m.tlg --mode FAST_COMPILE --on-unused-input ignore $(sign_operands "$v")" >plain 2>&1 || :
            eval "grun r.tlg --mode FAST_COMPILE --on-unused-input ignore $(sign_operands "$v")" >merged 2>&1 || :
            [ "$(sed 's/ index .*//;q' plain)" = "$(sed 's/ index .*//;q' merged)" ] || complain "$(head -n 1 merged)" "x[$e], $v: $(head -n 1 plain)"
        done
    done
}

@test "products of matrices, diagonals, sizes of what isn't known: the same as before" {
    same_as_before '{x: "float64[n]", z: "float64[?]", M: "float64[?, ?]", N: "float64[3, 3]", R: "float64[?, ?]", T: "float64[2, 3, 3]", v: "float64[3]", u: "uint8[3]", i: int64, k: int64, c: "complex128[3, 3]", h: "float32[3, 3]", g: "complex64[3, 3]"}' \
        'x=[1,2,3,4,5,6,7] z=[3,1,2,5,4] M=[[1,2,3],[4,5,6],[7,8,10]] N=[[2,0,1],[0,3,1],[1,1,4]] R=[[1,2],[3,4],[5,6]] T=[[[1,2,3],[4,5,6],[7,8,9]],[[1,0,0],[0,1,0],[0,0,1]]] v=[1,2,3] u=[2,0,1] i=2 k=3 c=[[1,1j,0],[-1j,2,1],[0,1,3]] h=[[1,2,3],[4,5,6],[7,8,10]] g=[[1,2,3],[4,5,6],[7,8,10]]' 'N' <<'END'
ones(sum(R, axis=-1).shape)
ones(sum(R, axis=(-1,)).shape)
ones(sum(R, axis=0).shape)
ones(max(R, axis=0, keepdims=True).shape)
ones(transpose(R, (-1, 0)).shape)
ones(transpose(R, (1, -2)).shape[0])
ones(reshape(R, (-1,)).shape)
ones(reshape(R, (i, k)).shape)
ones(reshape(R, (maximum(i, 0), k)).shape)
ones(reshape(R, (R.shape[1], R.shape[0])).shape)
ones(reshape(R, (R.shape[1] * R.shape[0],)).shape)
ones(reshape(R, (R.shape[1] // 2, -1)).shape)
ones(reshape(R, (3, 2)).shape)
ones(reshape(R, array([3, 2])).shape)
ones(reshape(R, stack([i, k])).shape)
ones(reshape(R, int32([3, 2])).shape)
ones(reshape(R, [R.shape[1] // 1 // 1 // 1, 3]).shape)
ones(broadcast_to(v, (k, 3)).shape)
ones(broadcast_to(z, (k, 5)).shape)
ones(full((maximum(k, 0), 2), 1.).shape)
ones(full((k // 2, 2), 1.).shape)
ones(full((z.shape[0] // 2, 2), 1.).shape)
ones(full((z.shape[0] // -2 + 6, 2), 1.).shape)
ones(full((maximum(z.shape[0], -3), 2), 1.).shape)
ones(full((shape(R)[1], 2), 1.).shape)
ones(full(shape(R), 1.).shape)
ones(full(shape(R)[::-1], 1.).shape)
ones((R @ M[:2]).shape)
ones((R @ M[:2, 1]).shape)
ones((v @ R).shape)
ones(concatenate([R, R]).shape)
ones(concatenate([R, R], axis=-1).shape)
ones(stack([z, z]).shape)
ones(stack([R, R], axis=-1).shape)
ones(expand_dims(R, (0, -1)).shape)
ones(squeeze(expand_dims(R, 0)).shape)
ones(R[1:].shape)
ones(R[::2].shape)
ones(R[:, [0, 1]].shape)
ones(R[i].shape)
ones(expand_dims(R, 1).shape)
ones((R + R).shape)
ones((R + z[:2]).shape)
ones((R + expand_dims(z[:3], 1)).shape)
ones(where(R > 0, R, 0.).shape)
ones(softmax(R, axis=1).shape)
ones(cumsum(R, axis=1).shape)
ones(sort(R).shape)
ones(pad(R, 1).shape)
ones(tile(R, 2).shape)
ones(repeat(R, 2).shape)
ones(arange(k).shape)
ones(arange(1, k * 2, 3).shape)
ones(eye(k).shape)
ones(eye(k, 2).shape)
ones(diag(z).shape)
ones(diagonal(R).shape)
ones(outer(z, x).shape)
ones(tril(R).shape)
ones(R.T.shape)
ones(split(R, [1, 2])[1].shape)
ones(set_subtensor(R[0], 1.).shape)
ones(specify_shape(R, (3, 2)).shape)
ones(specify_shape(R, (k, 2)).shape)
ones(ifelse(i > 0, R, R * 2).shape)
ones(ifelse(i > 0, R, M).shape)
(N @ N) @ v
N @ N @ N @ N @ N @ v
v @ (N @ N) @ v
v @ N @ (N @ (N @ v))
(v @ v) * (N @ N)
(v @ N) @ (N @ v)
(N @ v) @ (N @ N)
((N @ N) @ N) @ v + (N @ N) @ v
(T @ N) @ v
T @ (N @ v)
(T @ N) @ (N @ N)
(v @ T) @ v
(h @ h) @ h[0]
(h @ h) @ v
(c @ c) @ v
(c @ c) @ (N @ v)
(N @ M) @ (M @ R)
R.T @ (M @ R)
(R.T @ M) @ R
R @ (R.T @ M)
(R @ R.T) @ R
(N @ R) @ (R.T @ v)
(int64(N) @ int64(N)) @ int64(v)
(u @ int64(N)) @ int64(N)
N @ diag(v)
diag(v) @ N
diag(v) @ diag(v)
diag(v) @ v
v @ diag(v)
diag(v) @ T
T @ diag(v)
diag(z) @ z
diag(float32(v)) @ N
diag(v) @ c
eye(3) @ N
N @ eye(3)
eye(3) @ T
eye(3, 2) @ R[:2]
eye(3, k=1) @ N
eye(i + 1) @ N
eye(x.shape[0]) @ x
2. * eye(3) @ N
set_subtensor(zeros((3, 3))[[0, 1, 2], [0, 1, 2]], v) @ N
set_subtensor(zeros((3, 3))[[0, 2, 1], [0, 2, 1]], v) @ N
set_subtensor(zeros((3, 3))[[0, 1], [0, 1]], v[:2]) @ N
set_subtensor(zeros((3, 3))[[0, 1, 2], [0, 1, 2]], 2.) @ N
set_subtensor(zeros((3, 3))[arange(3), arange(3)], float32(v)) @ N
set_subtensor(zeros((3, 3))[arange(3), [0, 1, 2]], v) @ N
set_subtensor(ones((3, 3))[[0, 1, 2], [0, 1, 2]], v) @ N
set_subtensor(zeros((3, 4))[[0, 1, 2], [0, 1, 2]], v) @ R[:1].T[[0, 1, 0, 1]]
set_subtensor(zeros((4, 4))[[0, 1, 2], [0, 1, 2]], v)[:3, :3] @ N
set_subtensor(zeros((3, 3))[arange(1, 4) - 1, arange(1, 4) - 1], v) @ N
set_subtensor(zeros((3, 3))[[True, True, True], [0, 1, 2]], v) @ N
set_subtensor(zeros((3, 3))[[0, 1, 2], 1], v) @ N
set_subtensor(zeros((3, 3))[u, u], v) @ N
diagonal(diag(v) + N)
diagonal(diag(v))
diagonal(eye(3))
diagonal(diag(v), offset=1)
diagonal(N @ N)
diagonal(N @ N, offset=1)
diagonal(N * 2)
diagonal(tril(N))
trace(diag(v))
trace(N @ N)
trace(c @ N)
inc_subtensor(zeros(3)[i - 1], 2.)
inc_subtensor(zeros(3)[u], v)
inc_subtensor(zeros((3, 3))[u], v)
inc_subtensor(zeros((3, 3))[u], N)
inc_subtensor(zeros((3, 3))[:, u], N)
inc_subtensor(zeros((3, 3))[u, u], v)
sum(inc_subtensor(zeros((3, 3))[u], N))
sum(inc_subtensor(zeros((3, 3))[u], N), axis=0)
sum(inc_subtensor(zeros((3, 3))[u], N), axis=1)
sum(inc_subtensor(zeros((3, 3))[u], v))
inc_subtensor(zeros((3, 3))[u], N) * 2
inc_subtensor(zeros((3, 3))[u], N) * v
inc_subtensor(zeros((3, 3))[u], N) + N
inc_subtensor(zeros((3, 3))[u], N) + inc_subtensor(zeros((3, 3))[u], N)
inc_subtensor(zeros((3, 3))[arange(3)], N) * 2
set_subtensor(zeros((3, 3))[arange(3)], N) * 2
set_subtensor(zeros((3, 3))[arange(3), u], v) * N
inc_subtensor(zeros((3, 3))[1], v) * N
ifelse(i > 0, N, N * 2)
ifelse(i > 0, N, ifelse(i > 0, N * 3, N * 2))
ifelse(i > 0, ifelse(i > 1, N, N + 1), ifelse(i > 1, N + 2, N + 3))
ifelse(i > 0, N, N)
ifelse(i, N, N * 2)
ifelse(1, N, N * 2)
ifelse(True, R, N)
ifelse(i > 0, [N, v], [N + 1, v])[1]
ifelse(i > 0, [N, v], [N + 1, v * 2])[0]
u + u * u
(v + 0.) * 1. / 1. - 0.
transpose(transpose(T, (-1, 0, 1)), (1, 2, 0))
reshape(reshape(N, (9,)), (3, 3))
broadcast_to(broadcast_to(v, (3, 3)), (2, 3, 3))
concatenate([concatenate([v, v]), x])
squeeze(expand_dims(v, (0, 2)), (0, 2))
expand_dims(squeeze(expand_dims(v, 0), 0), 0)
x + x * 3 - x
x * x * x / x
g * g * g
u * u * u * u * u * u * u
where(x > 0, x, where(x > 0, v[0], 2.))
x ** 1e10 * x ** -1e10
END
}

# A graph of 150 times the step, from a matrix or the vector `long`, and its sum.
chain_of() { # step, the first value
    awk -v step="$1" -v h="$2" 'BEGIN {
        printf "thunkline: 1\ninputs: {M: \"float64[4, 4]\", W: \"float64[4, 4]\", c: float64, i: \"int64[4]\","
        printf " long: \"float64[200]\"}\nlet: |\n"
        for (k = 1; k <= 150; k++) {
            line = step
            gsub(/h/, h, line)
            printf "  h%d = %s\n", k, line
            h = "h" k
        }
        printf "  out = sum(%s)\noutputs: [out]\n", h
    }'
}

@test "long chains are rewritten in few sweeps, and rewrites of ours never fail for their length" {
    while IFS='|' read -r sweeps first step; do
        chain_of "$step" "$first" >c.yaml
        shell "gload c.yaml | grewrite -v --verify 2 -o o.tlg"
        [ "$status" = 0 ] || complain "$step should be rewritten" "$step"
        n=$(sed -n 's/.* in \([0-9]*\) sweeps.*/\1/p' .err)
        [ "$n" -le "$sweeps" ] || complain "at most $sweeps sweeps" "$step"
    done <<'END'
6|M|h @ W
6|M|W @ -h
9|M|W @ (0.5 * h)
9|M|(h * 0.5) @ W
9|M|(h / 2) @ W
9|M|(c * h) @ W
6|M|h[i] * 0.5
6|M|(h @ W)[i]
6|M|W @ transpose(h)
6|M|transpose(h @ W) @ W
12|long|abs(h[1:])
END
    # each read passes all those below it: more work than is worth while for a whole chain
    chain_of 'abs(h[1:])' long >c.yaml
    shell "grewrite -v c.yaml -o o.tlg"
    grep -q 'the rewrite read-exactly stopped after [0-9]* replacements$' .err || complain 'says that it stopped' "$step"
}

@test "an index array that counts is a slice, if it certainly stays within the dim" {
    pass_makes '--verify 2' <<'END'
x: float64[n]|x[arange(n)]|read-counted|x
x: float64[n]|x[arange(1, n)]|read-counted|x[1:]
x: float64[n]|x[arange(n - 1)]|read-counted|x[:-1]
x: float64[n]|x[arange(n - 3) + 1]|read-counted|x[1:-2]
x: float64[n]|x[1 + arange(n - 1)]|read-counted|x[1:]
x: float64[n]|x[arange(1, n) - 1]|read-counted|x[:-1]
x: float64[n]|x[arange(n)[::-1]]|read-counted|x[::-1]
x: float64[n, 3]|x[:, arange(2) + 1]|read-counted|x[:, 1:]
x: float64[n, m]|x[:, arange(m)]|read-counted|x
x: float64[n]; y: float64[n]|set_subtensor(x[arange(n)[::-1]], y)|read-counted|set_subtensor(x[:], y[::-1])
x: float64[n]; y: float64[?]|inc_subtensor(x[arange(n - 2) + 1], sum(y))|read-counted|inc_subtensor(x[1:-1], sum(y))
x: float64[n]|x[arange(n) - 1]|read-counted|x[arange(n) - 1]
x: float64[n]; y: float64[m]|where(x > 0, 1., 0.)[arange(m)]|read-counted|where(x > 0.0, 1.0, 0.0)[arange(m)]
x: float64[n]|inc_subtensor(zeros_like(x)[:], x)|useless-write|zeros_like(x) + x
x: float64[n, m]; y: float64[m]|inc_subtensor(x[:], y)|useless-write|x + y
END
}
