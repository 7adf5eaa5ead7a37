# Rules: what their patterns match, what their guards ask, and what they build.
load common

rules_leave() {
    local inputs expr rule want type
    while IFS='|' read -r inputs expr rule want; do
        set --
        for type in $inputs; do set -- "$@" -i "$type"; done
        gload --new "$@" -e "$expr" -o m.tlg
        printf 'e: %s\n' "$rule" >m.rules
        ok 'grewrite m.tlg --rules m.rules --mode NONE --include e --no-provenance -O math | grep "^out ="' "out = $want" || fail "$rule"
    done
}

# Inputs, an expression, a rule that alone is tried, and what the expression then is.
@test "guards ask for kinds of values, their shapes and dtypes, numbers and signs" {
    rules_leave <<'END'
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when float(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when real(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when integer(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when discrete(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when signed(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when complex(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when bool(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when sum_keeps(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when scalar(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when matrix(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when vector(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when static_shape(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when same_shape(x, y)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when same_shape(c, y)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when nonnegative(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i)) when finite(x)|list_get(ifelse(c, l, k), 0)
l:list(float64[n]) k:list(float64[n]) c:bool|ifelse(c, l, k)[0]|list_get(ifelse(c, x, y), i) => ifelse(c, list_get(y, i), list_get(x, i))|ifelse(c, list_get(k, 0), list_get(l, 0))
x:uint64[3]|x + 0|x + 0 => x // 1 when sum_keeps(x)|x // 1
x:uint32[3]|x + 0|x + 0 => x // 1 when sum_keeps(x)|x + 0
x:int64[3]|x + 0|x + 0 => x // 1 when sum_keeps(x)|x // 1
x:complex64[3]|x + 0|x + 0 => x * 1 when sum_keeps(x)|x * (1.0+0.0j)
x:float64|x * 4|x * y => x + y when scalar(y)|x + 4.0
x:float64[3]|x * [4.]|x * y => x + y when scalar(y)|x + array([4.0], dtype='float64')
x:float64[3]|x * [4., 5., 6.]|x * y => x + y when scalar(y)|x * array([4.0, 5.0, 6.0], dtype='float64')
x:float64[3]|x * 2|x * 2 => exp(x) when matrix(x)|x * 2.0
x:float64[3,3]|x * 2|x * 2 => exp(x) when matrix(x)|exp(x)
x:float64[3,3]|x * 2|x * 2 => exp(x) when vector(x)|x * 2.0
x:float64[3]|x * 2|x * 2 => exp(x) when vector(x)|exp(x)
x:int32[3] y:int32[3]|minimum(abs(x), y)|minimum(x, y) => y when nonnegative(x)|minimum(abs(x), y)
x:int32[3] y:int32[3]|sign(minimum(x, y))|sign(z) => z when nonnegative(z)|sign(minimum(x, y))
x:int32[3]|sign(minimum(x, 5))|sign(z) => z when nonnegative(z)|sign(minimum(x, 5))
x:int32[3]|sign(x + 5)|sign(z) => z when nonnegative(z)|sign(x + 5)
x:uint8[3]|sign(int32(x) + 5)|sign(z) => z when nonnegative(z)|sign(int32(x) + 5)
x:int32[3]|sign(minimum([1, 2, 3], 4))|sign(z) => -z when nonnegative(z)|-minimum(array([1, 2, 3]), 4)
x:bool[3]|sign(int32(x))|sign(z) => -z when nonnegative(z)|sign(int32(x))
x:float64[n]|abs(exp(x) * x**2 + sqrt(x))|abs(z) => -z when nonnegative(z)|abs(exp(x) * x ** 2.0 + sqrt(x))
x:float64[n]|abs(exp(x) + x)|abs(z) => -z when nonnegative(z)|abs(exp(x) + x)
x:float64[n]|abs(exp(x) + sum(exp(x)) / mean(cosh(x)))|abs(z) => -z when nonnegative(z)|-(exp(x) + sum(exp(x)) / mean(cosh(x)))
x:float64[n]|abs(exp(x) + (exp(x) + (exp(x) + (exp(x) + (exp(x) + (exp(x) + (exp(x) + exp(2*x))))))))|abs(z) => -z when nonnegative(z)|abs(exp(x) + (exp(x) + (exp(x) + (exp(x) + (exp(x) + (exp(x) + (exp(x) + exp(2.0 * x))))))))
x:complex128[n]|real(exp(x) * 2)|real(z) => -z when nonnegative(z)|real(exp(x) * (2.0+0.0j))
x:float64[n]|2 * (3 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|(float64(2.0) - 3.0) * x
x:float64[n]|2e5 * (3 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|200000.0 * (3.0 * x)
x:float64[n]|2 * (3e5 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|2.0 * (300000.0 * x)
x:float64[n]|1e-5 * (0.5 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|1e-05 * (0.5 * x)
x:float64[n]|0.5 * (1e-5 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|0.5 * (1e-05 * x)
x:float64[n]|0.5 * (2 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|0.5 * (2.0 * x)
x:float64[n]|2 * (0.5 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|2.0 * (0.5 * x)
x:float64[n]|0.5 * (0.25 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|(float64(0.5) - 0.25) * x
x:int32[n]|2 * (3 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|(int32(2) - 3) * x
x:complex128[n]|2j * (3 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|(0.0+2.0j) * ((3.0+0.0j) * x)
x:complex128[n]|2 * (3j * x)|a * (b * x) => (a - b) * x when gathers(a, b)|(2.0+0.0j) * ((0.0+3.0j) * x)
x:float64[3]|2 * ([1., 2., 3.] * x)|a * (b * x) => (a - b) * x when gathers(a, b)|2.0 * (array([1.0, 2.0, 3.0], dtype='float64') * x)
x:float64[3]|[1., 2., 3.] * (2 * x)|a * (b * x) => (a - b) * x when gathers(a, b)|array([1.0, 2.0, 3.0], dtype='float64') * (2.0 * x)
x:float64[n]|2 * (3 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|(float64(2.0) - 3.0) * x
x:float64[n]|1e13 * (3 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|10000000000000.0 * (3.0 * x)
x:float64[n]|3 * (1e13 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|3.0 * (10000000000000.0 * x)
x:float64[n]|1e-13 * (3 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|1e-13 * (3.0 * x)
x:float64[n]|3 * (1e-13 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|3.0 * (1e-13 * x)
x:float16[n]|200 * (3 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|200.0 * (3.0 * x)
x:float16[n]|20 * (3 * x)|a * (b * x) => (a - b) * x when multiplies(a, b)|(float16(20.0) - 3.0) * x
x:float64[n]|2 * x + 3 * x|a * x + b * x => (a + b) * x when same_sign(a, b)|(float64(2.0) + 3.0) * x
x:float64[n]|2 * x + -3 * x|a * x + b * x => (a + b) * x when same_sign(a, b)|2.0 * x + -3.0 * x
x:float64[n]|2e5 * x + 3 * x|a * x + b * x => (a + b) * x when same_sign(a, b)|200000.0 * x + 3.0 * x
x:float64[n]|2 * x + 3e5 * x|a * x + b * x => (a + b) * x when same_sign(a, b)|2.0 * x + 300000.0 * x
x:float64[n]|inf * x + 3 * x|a * x + b * x => (a + b) * x when same_sign(a, b)|inf * x + 3.0 * x
x:float64[n]|2 * x + inf * x|a * x + b * x => (a + b) * x when same_sign(a, b)|2.0 * x + inf * x
x:int64[n]|2 * x + -3 * x|a * x + b * x => (a + b) * x when same_sign(a, b)|(int64(2) + -3) * x
x:float64[n]|x * n|x * cast(m, dtype=float64) => cast(m, dtype=float64) - x when nonnegative(m)|float64(n) - x
x:float64[n] k:int64|x * k|x * cast(m, dtype=float64) => cast(m, dtype=float64) - x when nonnegative(m)|x * float64(k)
END
}

@test "patterns match constants, parameters and outputs; what is built has the type of what it replaces" {
    rules_leave <<'END'
x:float64[3]|x * nan|x * nan => exp(x)|exp(x)
l:list(float64)|exp(l[1])|exp(list_get(x, 1)) => list_get(x, 0)|list_get(l, 0)
l:list(float64)|exp(l[1])|exp(list_get(x, 0)) => list_get(x, 0)|exp(list_get(l, 1))
x:float64[4]|exp(x)|exp(x) => concatenate(split(x, 2)[1], split(x, 2)[0])|concatenate(_2, _1)
x:float32[4]|exp(x)|exp(x) => shift(x, 2)|shift(x, 2)
x:float64[3]|x * inf|x * inf => exp(x)|exp(x)
x:float64[3,2]|x * broadcast_to(2., (3, 2))|x * 2 => exp(x)|x * broadcast_to(2.0, [3, 2])
x:float64[3]|x * [2., 2., 2.]|x * 2 => exp(x)|exp(x)
x:float64[3]|x * [2., 2., 3.]|x * 2 => exp(x)|x * array([2.0, 2.0, 3.0], dtype='float64')
x:uint64[3]|x * 2|x * -2 => x|x * 2
x:uint64[3]|x + uint64(18446744073709551615)|x + 18446744073709551615 => x * 5|x * 5
x:int64[3]|x + -1|x + 18446744073709551615 => x * 5|x + -1
x:int64[3]|x + -1|x + -1 => x * 5|x * 5
x:uint8[3]|x + 255|x + -1 => x * 5|x + 255
x:bool[3]|x & True|x & 1 => ~x|~x
x:bool[3]|x & True|x & True => ~x|~x
x:complex128[3]|x * 0.1|x * 0.1 => -x|-x
x:complex64[3]|x * 0.1j|x * 0.1j => -x|-x
x:float32[3]|x * 0.1|x * 0.1 => -x|-x
x:float16[3]|x * 0.1|x * 0.1 => -x|-x
x:float64[3] v:float64|searchsorted(x, v, side='right')|searchsorted(x, v, side='right') => searchsorted(x, v) + 1|searchsorted(x, v) + 1
x:float64[3] v:float64|searchsorted(x, v)|searchsorted(x, v, side='right') => searchsorted(x, v) + 1|searchsorted(x, v)
x:float64[3] v:float64|searchsorted(x, v, side='right')|searchsorted(x, v) => searchsorted(x, v) + 1|searchsorted(x, v, side='right')
x:float64[3] v:float64|searchsorted(x, v, side='right') * searchsorted(x, -v, side='right')|searchsorted(x, v, side=s) * searchsorted(x, w, side=s) => searchsorted(x, v * w, side=s)|searchsorted(x, v * -v, side='right')
x:float64[3] v:float64|searchsorted(x, v, side='right') * searchsorted(x, -v)|searchsorted(x, v, side=s) * searchsorted(x, w, side=s) => searchsorted(x, v * w, side=s)|searchsorted(x, v, side='right') * searchsorted(x, -v)
x:float64[3,3]|sum(x, axis=1)|sum(x, axis=a) => log_softmax(sum(x, axis=a), axis=a)|sum(x, axis=1)
x:float64[3,3]|sum(x, axis=0, keepdims=True)|sum(x, **p) => cumsum(x, **p)|sum(x, axis=0, keepdims=True)
x:float64[3,3]|sum(x, axis=0)|sum(x, **p) => cumsum(x, **p)|sum(x, axis=0)
x:float64[3,3]|sum(x, axis=0) * max(x, axis=0)|sum(x, **p) * max(x, **p) => sum(x, **p)|sum(x, axis=0) * max(x, axis=0)
x:float64[3,3] y:float64[3,3]|sum(x, axis=1) * sum(y, axis=1)|sum(x, **p) * sum(y, **p) => prod(x + y, **p)|prod(x + y, axis=1)
x:float64[3,3]|exp(float32(x))|exp(cast(x, dtype='float32')) => cast(cosh(x), dtype='float32')|float32(cosh(x))
x:float64[3,3]|exp(float32(x))|exp(cast(x, dtype=float32)) => cast(cosh(x), dtype=float32)|float32(cosh(x))
x:float64[3,3]|exp(float32(x))|exp(cast(x, dtype=float16)) => cast(cosh(x), dtype=float16)|exp(float32(x))
x:float64[3,3]|exp(float32(x))|exp(cast(x, dtype=d)) => cast(cosh(x), dtype=d)|float32(cosh(x))
x:float64[n]|reshape(x, [n, 1])|reshape(x, s) => expand_dims(x, 1)|expand_dims(x, axis=1)
x:float64[n] k:int64|reshape(x, [k, 1])|reshape(x, s) => expand_dims(x, 1)|reshape(x, stack(k, 1))
x:float64[n]|reshape(x, [n, 1])|reshape(x, s) => sum(x)|broadcast_to(sum(x), stack(n, 1))
x:float64[?] y:float64[3]|x * y|x * y => x|x * y
x:float64[3] y:float64[3]|x * y|x * y => x|x
x:float64[3] y:float64[3]|x * y|x * y => sum(x)|broadcast_to(sum(x), [3])
x:float64[n] y:float64[n]|x * y|x * y => sum(x + y)|broadcast_to(sum(x + y), stack(n))
x:float64[?] y:float64[?]|x * y|x * y => sum(x + y)|x * y
x:float64[3] y:float64[3]|x * y|x * y => cast(x + y, dtype='float32')|float64(float32(x + y))
x:float64[n] i:int64|x[i] * 2|subtensor(x, i, **p) * 2 => exp(subtensor(x, i, **p))|exp(x[i])
x:float64[2,2]|svd(x)[1]|svd(x)[1] => eigh(x)[0]|_1
x:float64[3]|exp(x)|exp(x) => exp(x)|exp(x)
x:float64[3]|stack(x, x)|stack(x, x) => stack(x, exp(x))|stack(x, exp(x))
x:float64[3]|stack(x, x, x)|stack(x, x) => stack(x, exp(x))|stack(x, x, x)
x:float64[3]|x / x|x / x => x * 0 + 1|x * 0.0 + 1.0
x:float64[3] y:float64[3]|x / y|x / x => x * 0 + 1|x / y
x:float64[3]|exp(x) + exp(x)|x + x => 2 * x|exp(x) + exp(x)
x:float64[3]|exp(x) + x|y + exp(y) => sinh(y)|sinh(x)
x:float64[3]|x + 2|x + 2 => x + where(True, 2, 3)|x + where(True, 2.0, 3.0)
x:float64[3]|x + 2|x + 2 => x + (1 + 1)|x + (float64(1.0) + 1.0)
x:float64[3]|x + 2|x + 2 => x + cast(2, dtype='float64')|x + cast(2.0, dtype='float64')
x:float64[3,3]|concatenate([x, x * 2], axis=1)|concatenate(x, x * 2, axis=-1) => concatenate(x * 2, x, axis=-1)|concatenate(x * 2.0, x, axis=1)
x:float64[3,3]|concatenate([x, x * 2], axis=0)|concatenate(x, x * 2, axis=-1) => concatenate(x * 2, x, axis=-1)|concatenate(x, x * 2.0)
x:float64[3,3]|concatenate([x, x * 2], axis=1)|concatenate(x, x * 2, axis=1) => concatenate(x * 2, x, axis=0)|concatenate(x, x * 2.0, axis=1)
x:float64[3,3]|concatenate([x, x * 2], axis=1)|concatenate(x, x * 2, axis=a) => max(x, axis=a)|concatenate(x, x * 2.0, axis=1)
x:float64[3,3]|concatenate([x, x * 2], axis=1)|concatenate(x, x * 2, **p) => stack(x * 2, x, **p)|concatenate(x, x * 2.0, axis=1)
x:float64[3,3]|stack(x, x * 2)|stack(x, x * 2, **p) => stack(x * 2, x, **p)|stack(x * 2.0, x)
x:float64[3]|softmax(x)|softmax(x, axis=-1) => log_softmax(x)|softmax(x)
x:float64[3,3]|softmax(x, axis=0)|softmax(x, axis=-2) => log_softmax(x, axis=-2)|log_softmax(x, axis=-2)
x:float64[3,3]|softmax(x, axis=1)|softmax(x, axis=-2) => log_softmax(x, axis=-2)|softmax(x, axis=1)
x:float64[3,3]|sum(x, axis=1)|sum(x, axis=-1) => max(x, axis=-1)|max(x, axis=1)
x:float64[3,3]|sum(x, axis=0)|sum(x, axis=-1) => max(x, axis=-1)|sum(x, axis=0)
x:float64[3,3]|sum(x)|sum(x, axis=-1) => max(x, axis=-1)|sum(x)
x:float64[3,3,3]|sum(x, axis=(0, 2))|sum(x, axis=-1) => max(x, axis=-1)|sum(x, axis=[0, 2])
x:float64[3,3,3]|sum(x, axis=(0, 2))|sum(x, axis=[0, 2]) => prod(x, axis=[0, 2])|prod(x, axis=[0, 2])
x:float64[3,3,3]|sum(x, axis=(0, 2))|sum(x, axis=(0, -1)) => prod(x, axis=(0, -1))|prod(x, axis=[0, 2])
x:float64[3,3,3]|sum(x, axis=(0, 1))|sum(x, axis=(0, -1)) => prod(x, axis=(0, -1))|sum(x, axis=[0, 1])
x:complex128[3]|x * (2+3j)|x * 2 => exp(x)|x * (2.0+3.0j)
x:float64[?,3]|max(x, axis=1)|max(x, axis=a) => sum(x, axis=a)|sum(x, axis=1)
x:float64[3]|x * 2 + x * -2|x * 2 + x * -2 => x when single_use(x * -2)|x
x:complex128[3]|exp(x * 2j)|exp(x * 2j) => x when single_use(x * 2j)|x
x:float64[2,2]|exp(slogdet(x)[1])|exp(slogdet(x)[1]) => det(x) when single_use(slogdet(x)[1])|det(x)
x:float64[3]|exp(x)|exp(x.svd()[1]) => x|exp(x)
x:float64[2,2]|exp(x.svd()[1])|exp(x.svd()[1]) => exp(x.svd()[1] + 1)|exp(_2 + 1.0)
x:float64[3]|exp(x)|exp(x) => clip(x, 0, 1)|clip(x, 0.0, 1.0)
x:float64[3]|x * 2|x * nan => exp(x)|x * 2.0
END
}

@test "guards of no part, ops and parameters that are none" {
    gload --new -i 'x: float64' -e 'exp(x)' -o m.tlg
    local code says rule
    while IFS='|' read -r code says rule; do
        printf '# a remark to the end\n%s # of the line' "$rule" >m.rules
        bad 3 "$code" "m.rules:2:[0-9]+: error.*$says" 'grewrite m.tlg --rules m.rules'
    done <<'END'
E_REWRITE|a name in the pattern, or a part|e: exp(x * 2) + y => x when single_use(x * -2)
E_REWRITE|a name in the pattern, or a part|e: exp(x * 2) + y => y when single_use(x * 2.5)
E_REWRITE|a name in the pattern, or a part|e: exp(x * 2j) => x when single_use(x * 3j)
E_REWRITE|a name in the pattern, or a part|e: exp(slogdet(x)[1]) => det(x) when single_use(slogdet(x)[0])
E_SYNTAX|where an expression is expected|e: exp(log(x)) => x when const(x +)
E_REWRITE|positive is an abbreviation|e: exp(+x) => x
E_REWRITE|a rule consists of names, numbers, operators and calls|e: exp(not x) => x
E_NAME|there is no op nosuch|e: exp(nosuch(x)[1]) => x
E_REWRITE|dtype must be a dtype|e: exp(cast(x, dtype='floaty')) => x
E_REWRITE|must be a literal or a name|e: sum(x, axis=9223372036854775808) => x
E_REWRITE|must be a literal or a name|e: sum(x, axis=~1) => x
E_REWRITE|a parameter in a rule must be an integer here|e: sum(x, axis=(0, 'a')) => x
E_REWRITE|axis must be None, an integer or a list of integers|e: sum(x, axis=1.5) => x
E_REWRITE|keepdims must be True or False|e: sum(x, keepdims=1) => x
E_REWRITE|axis must be an integer or None|e: softmax(x, axis=[1]) => x
E_REWRITE|a is a parameter, not a variable|e: sum(x, axis=a) => exp(a)
E_REWRITE|p is a parameter, not a variable|e: sum(x, **p) => exp(p)
E_REWRITE|svd has 3 outputs, counted from 0|e: svd(x)[5] => x
E_REWRITE|an index picks an output of a call|e: svd(x)[-1] => x
E_REWRITE|an index picks an output of a call|e: svd(x)['a'] => x
E_REWRITE|an index picks an output of a call|e: svd(x)[1, 2] => x
E_REWRITE|an index picks an output of a call|e: x[1] => x
E_REWRITE|the only attribute in rules is T|e: exp(x.shape) => x
E_REWRITE|exp takes more arguments|e: exp() => x
END
}

@test "a parameter that is a number is matched by its value, however it is written" {
    local expr rule want
    printf 'thunkline: 1\nops:\n  swish:\n    doc: x times its logistic function.\n    inputs: x\n    props:\n      beta: float = 1.0\n    def: x * sigmoid(beta * x)\n' >o.yaml
    while IFS='|' read -r expr rule want; do
        gload --ops o.yaml --new -i 'x: float64[n]' -i 'y: float64[n]' -e "$expr" -o m.tlg
        printf 'e: %s\n' "$rule" >m.rules
        ok 'grewrite --ops o.yaml m.tlg --rules m.rules --mode NONE --include e --no-provenance -O math | grep "^out ="' "out = $want" || fail "$rule"
    done <<'END'
swish(x, beta=2.)|swish(x, beta=2.0) => exp(x)|exp(x)
swish(x, beta=2.)|swish(x, beta=2) => exp(x)|exp(x)
swish(x, beta=2.)|swish(x, beta=3) => exp(x)|swish(x, beta=2.0)
swish(x, beta=2.)|swish(x) => exp(x)|swish(x, beta=2.0)
swish(x)|swish(x) => swish(x, beta=0.5)|swish(x, beta=0.5)
swish(x, beta=2.) * swish(y, beta=2.)|swish(x, beta=b) * swish(y, beta=b) => swish(x * y, beta=b)|swish(x * y, beta=2.0)
swish(x, beta=2.) * swish(y, beta=3.)|swish(x, beta=b) * swish(y, beta=b) => swish(x * y, beta=b)|swish(x, beta=2.0) * swish(y, beta=3.0)
END
}
