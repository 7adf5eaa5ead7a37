# Sizes that the typing rules know before a run: arithmetic on integers is followed backwards.
load common

# One, though each of two dims is too long.
@test "sizes beyond all arrays are one error" {
    local n=9223372036854775807
    for e in "tri($n, $n)" "take_along_axis(x, i, axis=0)" "scatter_elements(x, i, 1., axis=0)"; do
        bad 3 E_VALUE 'too many elements' "gload --new -i 'x: float64[$n, $n, $n]' -i 'i: int64[$n, $n, $n]' -e 'y = $e'"
        [ "$(grep -c 'error\[' "$BATS_TEST_TMPDIR/.err")" = 1 ]
    done
}

@test "a dim that no input has is declared, keeps its name in every form, and gets its size from --dim" {
    local form
    cat >g.yaml <<'END'
thunkline: 1
dims: [n, later]
inputs: {x: 'float64[k]'}
let: |
  y: float64[n, k] = zeros((n, k)) + n
  z = arange(n) * 2
  cost = sum(y * x)
outputs: [y, z]
END
    for form in yaml json tlg; do
        gload g.yaml --no-provenance -o a.$form
        gload a.$form --no-provenance -O json | jq -e '.dims == ["n", "later"]'
        ok "gload a.$form | grun x=[1] --dim n=2" $'y = [[2.0],\n     [2.0]]\nz = [0, 2]'
    done
    gload a.yaml --no-provenance -O yaml | cmp - a.yaml
    like 'gload a.tlg --info' '^dims +n *$' '^ +later *$'
    like 'gload a.tlg -O math' '^n: a dim$'
    ok 'gload a.tlg -e "w = arange(later)" --outputs w | grewrite | grun --dim later=1' 'w = [0]'
    ok 'gload a.tlg --dim n=2 -O json | jq -c .dims' '["later"]'
    ok 'gload a.tlg --dim n=2 | grun x=[1] -r z=z.npy' $'y = [[2.0],\n     [2.0]]'
    ok 'ggrad a.tlg --cost cost --wrt x --only | grun x=[1,2] --dim n=3' 'd_cost_d_x = [9.0, 9.0]'
    ok 'ggrad a.tlg --cost cost --wrt x --check'
    ok 'ggrad a.tlg --cost cost --wrt x | grewrite --verify 2 -o /dev/null'
    like 'gprof a.tlg --static --dim n=1000 --dim k=10' 'n=1000' 'planned 88.0 kB'
    like 'gprof a.tlg --dim n=1000 --dim k=10' 'n=1000'
    ok 'gload a.tlg --prefix P_ -o p.tlg && gload a.tlg p.tlg -O json | jq -c .dims' '["n","later"]'
    bad 2 E_MISSING 'the dim n is not known: no input that is given has it' 'grun a.tlg x=[1]'
    grep -q 'note: give sizes with --dim NAME=SIZE' .err
    bad 2 E_MISSING 'the dim n is not known' 'gprof a.tlg x=[1]'
    bad 2 E_USAGE "later is a dim, .* it can't be renamed" 'gload a.tlg --rename later=sooner -o o.tlg'
    bad 2 E_USAGE "n is a dim, .* it can't be renamed" 'gload -i "x: float64[n]" -e "y = x * n" --rename n=m -o o.tlg'
    # an input may have it as well: then both must agree
    ok 'gload a.tlg -i "v: float64[n]" -e "s = sum(v)" --outputs s -O json | jq -c .dims' '["later"]'
    ok 'gload a.tlg -i "v: float64[n]" --outputs z | grun v=[1,1] --dim n=2' 'z = [0, 2]'
    bad 3 E_SHAPE 'the dim n is 3 as given and 2 by v' 'gload a.tlg -i "v: float64[n]" --outputs z | grun v=[1,1] --dim n=3'
}

@test "what is wrong with declared dims" {
    local text code want
    while IFS='|' read -r code want text; do
        printf "thunkline: 1\n$text" >g.yaml
        bad 3 "$code" "$want" 'gload g.yaml -o o.tlg'
    done <<'END'
E_FORMAT|"dims" must be a list of names|dims: n\n
E_FORMAT|"dims" must be a list of names|dims: {n: 5}\n
E_FORMAT|"dims" must be a list of names|dims: [[n]]\n
E_NAME|"pi" can't be the name|dims: [pi]\n
E_DUPLICATE|the dim n is declared twice|dims: [n, n]\n
E_DUPLICATE|`n` is already a dim of the graph|dims: [n]\ninputs: {n: int64}\n
E_DUPLICATE|`n` is already a dim of the graph|dims: [n]\nlet: {n: 3}\n
E_FORMAT|dims|functions: {f: {dims: [n], outputs: {y: 1}}}\n
END
    printf 'thunkline: 1\ndims: {n: 5}\n' >g.yaml
    shell 'gload g.yaml'
    grep -q 'note: write `dims: \[n\]`' .err && grep -q 'note: give sizes with --dim NAME=SIZE' .err
}

# What zeros(SIZES) is, by SIZES: a number where it follows from the types, the dim's name where it is one,
# `?` where only a run tells, or where the integers leave their dtype. (m is 2 x 3, a has n elements.)
@test "a size is followed through arithmetic on sizes, through stacks, indices and casts" {
    local sizes type
    while IFS='|' read -r sizes type; do
        shell "gload --new -i 'm: float64[2, 3]' -i 'a: float64[n]' -i 'k: int64' -i 'i: int64[3]' -i 't: int64[2, 2]' -i 'j: int64[q]' -e 'y = zeros($sizes)' --outputs y | gload --info | awk '\$1 == \"outputs\" { print \$3 \$4 \$5 }'"
        [ "$(cat .out)" = "float64[$type]" ] || complain "should be float64[$type]" "$sizes"
    done <<'END'
shape(m)[0] + 4|6
shape(m)[1] - 1|2
shape(m)[0] - 5|?
shape(m)[1] * 4|12
4 * shape(m)[1]|12
1 * shape(m)[1]|3
shape(a)[0] * 1|n
1 * shape(a)[0]|n
shape(a)[0] + 0|n
0 + shape(a)[0]|n
shape(a)[0] - 0|n
shape(a)[0] - n|0
shape(a)[0] // 1|n
shape(a)[0] // 2|?
shape(m)[1] // 2|1
-(shape(m)[1]) // 2 + 4|2
shape(m)[1] // -2|?
shape(m)[1] // (shape(m)[0] - 2)|?
minimum(shape(m)[0], shape(m)[1])|2
minimum(shape(m)[1], shape(m)[0])|2
maximum(shape(m)[0], shape(m)[1])|3
maximum(shape(m)[1], shape(m)[0])|3
maximum(shape(a)[0], shape(m)[1])|?
maximum(shape(m)[1], shape(a)[0])|?
minimum(shape(a)[0], shape(m)[1])|?
minimum(shape(m)[1], shape(a)[0])|?
-(shape(m)[0] - 5)|3
-shape(a)[0]|?
-shape(m)[0]|?
shape(m)[-1]|3
shape(m)[-2]|2
shape(m)[-shape(m)[0]]|2
shape(m)[k]|?
shape(m)[shape(m)[0] - 1]|3
shape(m)[1:][0]|?
shape_i(m, 1)|3
shape_i(m, -1)|3
shape_i(a, 0)|n
shape_i(a, -1)|n
stack([shape(m)[0], shape(m)[1]])[1]|3
concatenate([shape(m), shape(a)])[1]|3
concatenate([shape(m), shape(a)])[2]|n
concatenate([shape(m), shape(a)])[-1]|n
concatenate([k * ones(shape(a), dtype=int64), shape(m)])[0]|?
concatenate([i, shape(m)])[3]|2
cast(cast(shape(m)[1], int8) + 100, int64)|103
cast(cast(shape(m)[1], int8) * 100, int64)|?
cast(cast(shape(m)[1], uint8) - 100, int64)|?
cast(cast(shape(m)[1], uint8) + 100, int64)|103
cast(cast(shape(m)[1] - 4, uint64), int64)|?
cast(cast(shape(m)[1], float64) * 1.0, int64)|?
squeeze(expand_dims(shape(m)[1], 0))|3
reshape(shape(m)[1:], [])|?
reshape(shape(m)[1], [1])[0]|3
reshape(shape(m), [2])[1]|?
expand_dims(shape(m)[1], 0)[0]|3
(shape(m) + 1)[1]|4
(shape(m) * shape(m))[1]|9
(shape(m) + shape(m)[0])[1]|5
(shape(m) + reshape(shape(m)[1], [1]))[0]|5
k|?
n|n
i[0]|?
k + 1|?
k - 1|?
k - k|?
k * 2|?
k + 0|?
0 * k|?
-k|?
sum(shape(m))|?
shape(m)[0] * 9223372036854775807|?
shape(m)[0] + 9223372036854775807|?
(-9223372036854775807 - shape(m)[0])|?
-(-9223372036854775807 - 1 + shape(m)[0] * 0)|?
shape(m)[0] * 2147483648|4294967296
after(shape(m)[1], k)|3
disconnected_grad(shape(m)[1])|3
require(shape(m)[1], k > 0)|3
i|?,?,?
shape(m)|2,3
shape(a)|n
[n, 2]|n,2
[2, n, k]|2,n,?
stack([n, shape(m)[0]])|n,2
concatenate([shape(a), shape(m)])|n,2,3
array([3, 2], dtype=uint64)|3,2
array([3, 2], dtype=int8)|3,2
array(4, dtype=int16)|4
shape(m)[0:5:2]|?
arange(3)|?,?,?
flip(shape(m))|?,?
shape(m)[1] - shape(a)[0]|?
shape(a)[0] - shape(m)[1]|?
shape(a)[0] + 3|?
3 + shape(a)[0]|?
shape(a)[0] * 2|?
2 * shape(a)[0]|?
shape(m)[1] // k|?
k // 2|?
t[0]|?,?
shape(m)[[1, 0]]|?,?
j[-1]|?
j[0]|?
cast(shape(m)[1], int8) - 5 + 4|2
cast(cast(shape(m)[1], int8) + 126, int64)|?
reshape(reshape(shape(m)[1], [1, 1]), [])|?
concatenate([j, shape(m)])[1]|?
concatenate([shape(m)[1:], shape(a)])[1]|n
stack([k, shape(m)[1]])[0]|?
stack([k, n])[1]|n
stack([shape(m), shape(m)])[1, 0]|?
where(k > 0, 2, 3)|?
(lambda f: f(f(f(f(shape(m)[0])))))(lambda v: (lambda w: (lambda u: u + u)(w + w))(v + v))|?
shape(m)[1] + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1|?
END
}

# EXPRESSION | the code of the error, or a result: u is 2**64 - 1, w holds it and 1.
@test "a uint64 that int64 can't hold is larger than every size and index, and never -1" {
    local e want m
    while IFS='|' read -r e want; do
        gload --new -i 'x: float64[3]' -i 'l: list(float64)' -i 'u: uint64' -i 'w: uint64[2]' -e "o = $e" --outputs o -o u.tlg
        for m in FAST_RUN FAST_COMPILE; do
            shell "grun u.tlg --mode $m x=[1,2,3] l=[1.,2.] u=18446744073709551615 w=[18446744073709551615,1] --on-unused-input ignore"
            grep -Eqx -- "$want" .out || grep -q "error\[$want\]" .err || complain "should be $want" "$e" || return
            ! grep -q -e '-1$' -e 'negative: ' .err || complain 'it is not -1' "$e" || return
        done
    done <<'END'
zeros(u)|E_LIMIT
zeros([2, u])|E_LIMIT
zeros(w)|E_LIMIT
zeros(array([18446744073709551615], dtype='uint64'))|E_LIMIT
reshape(x, [u])|E_RUN_SHAPE
reshape(x, w)|E_RUN_SHAPE
specify_shape(x, [u])|E_RUN_SHAPE
eye(u)|E_LIMIT
arange(u)|E_LIMIT
arange(3, u)|E_LIMIT
arange(u - 2, u)|o = \[18446744073709551613, 18446744073709551614\]
repeat(x, u)|E_LIMIT
tile(x, u)|E_LIMIT
split(x, w)[0]|o = \[1.0, 2.0, 3.0\]
roll(x, u)|E_RUN_SHAPE
shift(x, u)|o = \[0.0, 0.0, 0.0\]
list_insert(l, u, 5.)|o = \[1.0, 2.0, 5.0\]
permutation(u, seed=1)|E_LIMIT
x[u]|E_INDEX
x[:u]|o = \[1.0, 2.0, 3.0\]
END
}
