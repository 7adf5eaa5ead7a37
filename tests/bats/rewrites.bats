# What rules match, what their guards ask, and what each pass of rewriting makes of an expression.
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

@test "what changes nothing goes, and two of one op become one where that is exact" {
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
x: float64[?]; y: float64[?, ?]|shape(x @ y)|lift-shape|shape(x @ y)
x: float64[?, ?]; y: float64[?]|shape(x @ y)|lift-shape|shape(x @ y)
x: float64[?, ?]|shape(zeros_like(x))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1))
x: float64[?, ?]|shape(full_like(exp(x), 2.))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1))
x: float64[?, ?]|shape(set_subtensor(x[0], 1.))|lift-shape|stack(shape_i(x, axis=0), shape_i(x, axis=1))
x: float64; k: int64|shape(broadcast_to(x, [k, 3]))|lift-shape|stack(k, 3)
x: float64; k: int64|shape(exp(broadcast_to(x, [k, 3])))|lift-shape|stack(k, 3)
x: float64[?]; k: int64|shape(reshape(x, [k, -1]))|lift-shape|shape(reshape(x, stack(k, -1)))
k: int64|shape(full([k, 2], 1.))|lift-shape|stack(k, 2)
k: int64[2]|shape(full(k, 1.))|lift-shape|shape(full(k, 1.0))
k: int64[2]; x: float64|shape(broadcast_to(x, k))|lift-shape|shape(broadcast_to(x, k))
x: float64[?]|shape(concatenate([x, x]))|lift-shape|shape(concatenate(x, x))
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
x: float64[3]; y: float64[3]|stack(x, y)[1]|read-shape|y
x: float64[3]; y: float64[3]|stack(x, y)[1, 0]|read-shape|stack(x, y)[1, 0]
x: float64[3]; y: float32|stack(x[0], y)[1]|read-shape|float64(y)
x: float64[n]|x + broadcast_to(2., [n])|sink-broadcast|x + 2.0
x: float64[n]|x + ones_like(x)|sink-broadcast|x + 1.0
x: float64[n]|x * zeros_like(x)|sink-broadcast|x * 0.0
x: float64[n]|x + full([n], 3)|sink-broadcast|x + float64(full(stack(n), 3))
x: float64[n]|x + full_like(x, 3)|sink-broadcast|x + 3.0
x: float64[3]|x + [2., 2., 2.]|sink-broadcast|x + 2.0
x: float64[3]|x + [2., 2., 3.]|sink-broadcast|x + array([2.0, 2.0, 3.0], dtype='float64')
x: float64[?]|x + ones_like(x)|sink-broadcast|x + ones_like(x)
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
x: float64[n, 3]; c: int64[1]; z: float64[n]|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(zeros_like(x)[arange(n), c], z), axis=1)
x: float64[3, 3]; c: int64[3]; z: float64[3]|sum(inc_subtensor(zeros((3, 3))[[0, 1, 2], c], z), axis=1)|sum-of-scatter|sum(inc_subtensor(full([3, 3], 0.0)[[0, 1, 2], c], z), axis=1)
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
END
}

@test "what the types leave open stays" {
    pass_makes '' <<'END'
x: float64[n, m]|specify_shape(x, [n, 3])|useless-specify-shape|specify_shape(x, stack(n, 3))
x: float64[2, 6]|reshape(reshape(x, [3, 4]), [12])|useless-reshape|reshape(x, [12])
x: float64[?, 6]|reshape(reshape(x, [3, 4]), [12])|useless-reshape|reshape(reshape(x, [3, 4]), [12])
x: float64[n]|reshape(reshape(x, [3, 4]), [12])|useless-reshape|reshape(reshape(x, [3, 4]), [12])
x: float64[?]; k: int64|shape(reshape(x, [k, 2]))|lift-shape|stack(k, 2)
x: float64; y: float64; k: int64|broadcast_to(x, [k]) * y|sink-broadcast|broadcast_to(x * y, stack(k))
x: float64; y: float64; k: int64; j: int64|broadcast_to(x, [k]) * broadcast_to(y, [j])|sink-broadcast|broadcast_to(x, stack(k)) * broadcast_to(y, stack(j))
x: float64; y: float64[?]; k: int64|broadcast_to(x, [k]) * y|sink-broadcast|broadcast_to(x, stack(k)) * y
x: float64[n, 3]; k: int64; z: float64|inc_subtensor(x[k:], broadcast_to(z, [k, 3]))|scatter-value|inc_subtensor(x[k:], broadcast_to(z, stack(k, 3)))
END
}

# Expression, the rewrites of loops that fire, and its value for the inputs below, in each mode.
@test "loops keep their results, whatever is done to them" {
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {a: float64, h: float64}
    outputs: {out: 2.0 * a + h}
    pullback: p
  p:
    inputs: {a: float64, h: float64, g: float64}
    outputs: {da: 10.0 * g, dh: g}
  sq:
    inputs: {a: float64}
    outputs: {out: a * a}
    pullback: q
  q:
    inputs: {a: float64, g: float64}
    outputs: {out: 7.0 * g}
inputs: {x: 'float64[n]', y: 'float64[n]', m: int64, w: 'float64[k]', z: 'float64[?]', u: 'float64[?, ?]', M: 'float64[n, 2]'}
Y
    local expr fires want mode values='x=[1,2,3] y=[4,5,6] m=2 w=[0.5,1.5] z=[2,1,3] u=[[1,2],[3,4]] M=[[1,2],[3,4],[5,6]]'
    while IFS='|' read -r expr fires want; do
        gload f.yaml -e "out = $expr" --outputs out -o l.tlg
        ok 'grewrite l.tlg --explain -o r.tlg 2>&1 | grep -o "scan-[a-z-]*" | sort -u | paste -sd, || true' "$fires" || fail "$expr"
        for mode in r.tlg 'l.tlg --mode FAST_COMPILE'; do
            ok "grun $mode --on-unused-input ignore $values | tr -d ' \n'" "out=$want" || fail "$expr"
        done
    done <<'END'
scan(f, sequences=[x], outputs_info=[0.5])|scan-clean|[2.5,6.5,12.5]
scan(f, sequences=[x], outputs_info=[0.5])[-1]|scan-clean,scan-keep-rows|12.5
scan(f, sequences=[x], outputs_info=[0.5])[-2:]|scan-clean,scan-keep-rows|[6.5,12.5]
scan(f, sequences=[x], outputs_info=[0.5])[:2]|scan-clean,scan-first-steps|[2.5,6.5]
scan(f, sequences=[x[:1]], outputs_info=[0.5])|scan-clean|[2.5]
sum(scan(f, sequences=[x], outputs_info=[0.5]))|scan-clean|21.5
scan(f, sequences=[x], outputs_info=[0.5]) + scan(lambda a, h: a * h, sequences=[x], outputs_info=[1.])|scan-merge|[3.5,8.5,18.5]
scan(f, sequences=[x], outputs_info=[0.5]) + scan(f, sequences=[x], outputs_info=[0.5])|scan-clean|[5.0,13.0,25.0]
scan(f, sequences=[x], outputs_info=[0.5]) + scan(f, sequences=[y], outputs_info=[0.5])|scan-merge|[11.0,25.0,43.0]
scan(f, sequences=[x, x])|scan-clean|[3.0,6.0,9.0]
scan(f, sequences=[x], non_sequences=[3.])|scan-clean|[5.0,7.0,9.0]
scan(f, sequences=[x], outputs_info=[0.5], keep='last')|scan-clean|12.5
scan(f, outputs_info=[0.5], sequences=[x], n_steps=2)|scan-clean|[2.5,6.5]
scan(f, outputs_info=[0.5], non_sequences=[1.], n_steps=1)|scan-clean,scan-one-step|[2.0]
scan(sq, sequences=[x])|scan-clean|[1.0,4.0,9.0]
scan(sq, sequences=[x])[-1]|scan-clean,scan-keep-rows|9.0
map(sq, x) + map(lambda a: a + 1, x)|scan-merge,scan-rows-out|[3.0,7.0,13.0]
scan(f, sequences=[x], outputs_info=[0.5], go_backwards=True)|scan-clean|[6.5,10.5,12.5]
scan(lambda a, h: h + f(a, 0.), sequences=[x], outputs_info=[0.])||[2.0,6.0,12.0]
scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])||[1.0,3.0,6.0]
scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])[-1]||6.0
scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])[:2]||[1.0,3.0]
sum(scan(lambda a, h: h + assert_op(a, a > 0), sequences=[x], outputs_info=[0.])) + sum(scan(lambda a, h: h * a, sequences=[x], outputs_info=[1.]))||19.0
foldl(lambda a, h: h + assert_op(a, a > 0), x, 0.)||6.0
scan(lambda h: h + assert_op(h, h > 0), outputs_info=[1.], n_steps=1)||[2.0]
scan(lambda a, h: [h + a, until(h > 100)], sequences=[x], outputs_info=[0.])[-1]|scan-keep-rows|6.0
scan(lambda a, h: [h + a, until(h > 2)], sequences=[x], outputs_info=[0.])[:2]||[1.0,3.0]
sum(scan(lambda a, h: [h + a, until(h > 2)], sequences=[x], outputs_info=[0.]))||10.0
foldl(lambda a, h: [h + a, until(h > 2)], x, 0.)||6.0
scan(lambda a, h: [h + a, until(a > 2)], sequences=[x], outputs_info=[0.]) [-1] + scan(lambda a, h: [h * a, until(a > 2)], sequences=[x], outputs_info=[1.])[-1]|scan-keep-rows|12.0
scan(lambda a, h: [h + a * exp(w[0] * 0), until(w[0] > 2)], sequences=[x], outputs_info=[0.])|scan-hoist|[1.0,3.0,6.0]
scan(lambda h: h + sum(w), outputs_info=[0.], n_steps=m)|scan-hoist|[2.0,4.0]
scan(lambda h: h + sum(z[z > 1]), outputs_info=[0.], n_steps=m)|scan-hoist|[5.0,10.0]
scan(lambda h: h + sum(sort(z)), outputs_info=[0.], n_steps=m)|scan-hoist|[6.0,12.0]
scan(lambda: z * 2, n_steps=m)|scan-hoist|[[4.0,2.0,6.0],[4.0,2.0,6.0]]
scan(lambda: z[1:] * 2, n_steps=m)|scan-hoist|[[2.0,6.0],[2.0,6.0]]
scan(lambda: sort(z), n_steps=m)||[[1.0,2.0,3.0],[1.0,2.0,3.0]]
scan(lambda h: h + u @ u, outputs_info=[u], n_steps=m)[-1]|scan-hoist,scan-keep-rows|[[15.0,22.0],[33.0,48.0]]
scan(lambda h: h * 0.5 + concatenate([z, z])[0], outputs_info=[0.], n_steps=m)|scan-hoist|[2.0,3.0]
scan(lambda r, s: s + outer(r, r), sequences=[M], outputs_info=[zeros((2, 2))])[-1]|scan-keep-rows|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + outer(r, r), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + outer(r, r * 2), M, ones((2, 2)))|scan-rows-out,scan-sums-out|[[71.0,89.0],[89.0,113.0]]
foldl(lambda r, s: s + expand_dims(r, 1) * expand_dims(r, 0), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + expand_dims(r, 1) @ expand_dims(r, 0), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + expand_dims(r, -1) @ expand_dims(r, -2), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + reshape(r, [2, 1]) * reshape(r, [1, 2]), M, zeros((2, 2)))||[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + transpose(expand_dims(r, 0)) @ expand_dims(r, 0), M, zeros((2, 2)))|scan-sums-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + r[:, None] * r[None, :], M, zeros((2, 2)))|scan-rows-out|[[35.0,44.0],[44.0,56.0]]
foldl(lambda r, s: s + r, M, zeros(2))|scan-sums-out|[9.0,12.0]
foldl(lambda r, s: r + s + r, M, zeros(2))||[18.0,24.0]
foldl(lambda a, s: s + a, x, 1.)|scan-sums-out|7.0
foldl(lambda a, b, s: s + a * b, [x, y], 0.)|scan-rows-out,scan-sums-out|32.0
foldl(lambda a, s: s + 2 * a, x[1:], 0.)|scan-rows-out,scan-sums-out|10.0
foldl(lambda a, s: s + 2 * a, x, 0., go_backwards=True)|scan-rows-out,scan-sums-out|12.0
scan(lambda a, b, s: s + a * b, sequences=[taps(x, [-1, 0])], outputs_info=[0.], keep='last')|scan-sums-out|8.0
scan(lambda a, b, s: s + a * b, sequences=[taps(x, [0, 1])], outputs_info=[0.], keep='last')|scan-sums-out|8.0
scan(lambda h: h + sum(concatenate([z, z])), outputs_info=[0.], n_steps=m)|scan-hoist|[12.0,24.0]
scan(lambda h: h * 0.5 + concatenate([z, z]), outputs_info=[concatenate([z, z])], n_steps=m)|scan-hoist|[[3.0,1.5,4.5,3.0,1.5,4.5],[3.5,1.75,5.25,3.5,1.75,5.25]]
scan(lambda: concatenate([z, z]) * 2, n_steps=m)||[[4.0,2.0,6.0,4.0,2.0,6.0],[4.0,2.0,6.0,4.0,2.0,6.0]]
scan(lambda h: h * 0. + (concatenate([z, z]) * x[0])[:3], outputs_info=[z], n_steps=m)|scan-hoist|[[2.0,1.0,3.0],[2.0,1.0,3.0]]
scan(lambda a, h: h + sum(a * (z[1:] + 1)), sequences=[x], outputs_info=[0.], n_steps=m)|scan-hoist|[6.0,18.0]
foldl(lambda r, s: s + sum(r, axis=[]), M, zeros(2))|scan-sums-out|[9.0,12.0]
foldl(lambda r, s: s + max(r), M, 0.)|scan-rows-out,scan-sums-out|12.0
foldl(lambda r, s: s + sum(r) * 2, M, 0)|scan-rows-out,scan-sums-out|42.0
map(lambda r: sum(r, axis=[]), M)|scan-rows-out|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
map(lambda r: r[0:1], M)|scan-rows-out|[[1.0],[3.0],[5.0]]
map(lambda r: r[-1] * 2, M)|scan-rows-out|[4.0,8.0,12.0]
map(lambda r: zeros_like(r) + r, M)|scan-rows-out|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
map(lambda r: transpose(r), M)|scan-rows-out|[[1.0,2.0],[3.0,4.0],[5.0,6.0]]
map(lambda r: outer(r, r) @ outer(r, r), M)||[[[5.0,10.0],[10.0,20.0]],[[225.0,300.0],[300.0,400.0]],[[1525.0,1830.0],[1830.0,2196.0]]]
map(lambda r: outer(r, r) @ r, M)||[[5.0,10.0],[75.0,100.0],[305.0,366.0]]
map(lambda r: r @ outer(r, r), M)||[[5.0,10.0],[75.0,100.0],[305.0,366.0]]
map(lambda r: concatenate([r, r]), M)||[[1.0,2.0,1.0,2.0],[3.0,4.0,3.0,4.0],[5.0,6.0,5.0,6.0]]
map(lambda a: ifelse(a > 1, a, -a), x)|scan-rows-out|[-1.0,2.0,3.0]
scan(lambda a: [a, until(a > 1)], sequences=[x])[:, None]||[[1.0],[2.0]]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[[-1, -2]]||[6.0,3.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[m - 1]||3.0
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[-m:]||[3.0,6.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[-1:]|scan-keep-rows|[6.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[-3:-1]||[1.0,3.0]
scan(lambda r, h: h + r, sequences=[M], outputs_info=[zeros(2)])[-2:, 0]|scan-keep-rows|[4.0,9.0]
scan(lambda r, h: h + r, sequences=[M], outputs_info=[zeros(2)])[-1, 1]|scan-keep-rows|12.0
scan(lambda r, h: h + r, sequences=[M], outputs_info=[zeros(2)])[-1][1] + scan(lambda r, h: h * r, sequences=[M], outputs_info=[ones(2)])[-2][0]|scan-keep-rows,scan-merge|15.0
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[1]|scan-first-steps|3.0
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[:0]|scan-first-steps|[]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[0:2] * 2|scan-first-steps|[2.0,6.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.])[:2:2]||[1.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], n_steps=2)[:1]||[1.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], n_steps=minimum(m, 3))[:3]||[1.0,3.0]
scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], n_steps=minimum(3, m))[:2]||[1.0,3.0]
(lambda s: s[-1] + s[-2])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))|scan-keep-rows|9.0
(lambda s: s[-1] + s[-3:][0])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.], keep=3))||7.0
(lambda s: s[0] + s[:2][1])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))|scan-first-steps|4.0
(lambda s: s[int64(s[-1]) - 6])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))||1.0
(lambda s: s[-int64(s[-1] / 3):])(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))||[3.0,6.0]
scan(lambda a, b, h: h + a * b, sequences=[x, x], outputs_info=[0.])|scan-clean|[1.0,5.0,14.0]
scan(lambda a, b, h: h + a * b, sequences=[x, y], outputs_info=[0.]) + scan(lambda a, b, h: h - a * b, sequences=[y, x], outputs_info=[0.])|scan-merge|[0.0,0.0,0.0]
scan(lambda h, c, d: h + c * d, outputs_info=[0.], non_sequences=[w[0], w[0]], n_steps=m)|scan-clean,scan-hoist|[0.25,0.5]
scan(lambda h, c: h + c, outputs_info=[0.], non_sequences=[1.], n_steps=m) + scan(lambda h, c: h * c, outputs_info=[1.], non_sequences=[2.], n_steps=m)|scan-merge|[3.0,6.0]
scan(lambda h: h + 1, outputs_info=[0.], n_steps=2) * scan(lambda h: h * 2, outputs_info=[1.], n_steps=2)|scan-merge|[2.0,8.0]
scan(lambda h: h + 1, outputs_info=[0.], n_steps=m)[-1] * scan(lambda h: h * 2, outputs_info=[1.], n_steps=m + 0)[-1]|scan-keep-rows,scan-merge|8.0
(lambda s: scan(lambda a, h: h * a, sequences=[s], outputs_info=[1.]))(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]))||[1.0,3.0,18.0]
(lambda s, t: scan(lambda a, b: a - b, sequences=[s, t]))(scan(lambda a, h: h + a, sequences=[x], outputs_info=[0.]), scan(lambda a, h: h * a, sequences=[x], outputs_info=[1.]))|scan-merge,scan-rows-out|[0.0,1.0,0.0]
scan(lambda b, a: a + b, outputs_info=[taps([1., 1.], [-2, -1])], n_steps=1)|scan-one-step|[2.0]
scan(lambda a, b, h: h + a * b, sequences=[taps(x, [0, 1])], outputs_info=[0.], n_steps=1)|scan-one-step|[2.0]
scan(lambda i, h: h + i, sequences=[arange(m)], outputs_info=[0])||[0,1]
foldr(lambda a, s: s * 2 + a, x, 0.)||17.0
reduce(lambda a, s: maximum(a, s), x, 0.)||3.0
END
    # a step with a derivative of its own keeps it: 10 for each of the rows that follow
    gload f.yaml -e 'out = sum(scan(f, sequences=[x], outputs_info=[0.5]))' --outputs out -o l.tlg
    for mode in 'grewrite l.tlg | ggrad --wrt x' 'ggrad l.tlg --wrt x | grewrite'; do
        ok "$mode | grun --on-unused-input ignore x=[1,2,3]" $'out = 21.5\nd_out_d_x = [30.0, 20.0, 10.0]'
    done
}

@test "guards of no part, ops and parameters that are none" {
    gload --new -i 'x: float64' -e 'exp(x)' -o m.tlg
    local code says rule
    while IFS='|' read -r code says rule; do
        printf '# a remark to the end\n%s # of the line' "$rule" >m.rules
        bad 3 "$code" "m.rules:2:[0-9]+: error.*$says" 'grewrite m.tlg --rules m.rules'
    done <<'END'
E_REWRITE|names of the pattern, or a part|e: exp(x * 2) + y => x when single_use(x * -2)
E_REWRITE|names of the pattern, or a part|e: exp(x * 2) + y => y when single_use(x * 2.5)
E_REWRITE|names of the pattern, or a part|e: exp(x * 2j) => x when single_use(x * 3j)
E_REWRITE|names of the pattern, or a part|e: exp(slogdet(x)[1]) => det(x) when single_use(slogdet(x)[0])
E_SYNTAX|where an expression is expected|e: exp(log(x)) => x when const(x +)
E_REWRITE|positive is an abbreviation|e: exp(+x) => x
E_SYNTAX|keyword: write `~a`|e: exp(not x) => x
E_NAME|there is no op nosuch|e: exp(nosuch(x)[1]) => x
E_REWRITE|dtype must be a dtype|e: exp(cast(x, dtype='floaty')) => x
E_REWRITE|is a literal or a name|e: sum(x, axis=9223372036854775808) => x
END
}
