#!/usr/bin/env bats
# What an expression's type is: weak numbers, sizes that are known or not, and the forms of calls that NumPy has.
load common

@test "every slice gives what Python's gives, whatever is known of the size, in both modes, and so do its gradient and what is set" {
    local dim n x what g
    what=$ROOT/tests/bats/slices.awk
    for dim in n '?' 0 1 5 7; do
        awk -v what=graph -v dim="$dim" -f "$what" >g.yaml
        gload g.yaml -o g.tlg
        grewrite g.tlg -o r.tlg
        for n in 0 1 2 3 4 5 6 7; do
            case $dim in [0-9]) [ "$n" = "$dim" ] || continue ;; esac
            awk -v what=values -v n="$n" -f "$what" >want
            [ "$(wc -l <want)" = 4200 ]
            x="x=float64([$(seq -s, 1 "$n")])"
            for g in 'r.tlg' '--mode FAST_COMPILE g.tlg'; do
                grun $g "$x" >got
                cmp want got || fail "x: float64[$dim] of $n elements, grun $g: $(diff want got | head -n 3)"
            done
        done
    done
}

@test "a dim that is 0 by its slice is typed so, one that may have elements is not" {
    like 'gload --new -i "x: float64[n]" -e "a = x[:0]" -e "b = x[2:2:-1]" -e "c = x[:0:-1]" -e "d = x[0:0]" -O tree' 'float64\[0\]' 'float64\[\?\]'
    ok 'gload --new -i "a: float64[n]" -i "b: float64[m]" -e "concatenate([b, a[:0:-1]])" | grun a=[1,2] b=[5,6]' 'out = [5.0, 6.0, 2.0]'
    ok 'gload --new -i "a: float64[n]" -e "max(a[:0:-1])" | grun a=[1,2,3]' 'out = 3.0'
    ok 'gload --new -i "a: float64[n]" -e "sum(a[:0:-1]**2)" | ggrad --wrt a | grun a=[1,2,3]' 'out = 13.0
d_out_d_a = [0.0, 4.0, 6.0]'
    ok 'gload --new -i "a: float64[n]" -e "scan(lambda x, s: s + x, sequences=[a[:0:-1]], outputs_info=[0.])" | grun a=[1,2,3]' 'out = [3.0, 5.0]'
}

# typed TYPE EXPRESSION: with x: float32[n], k: int8, L: list(float32) it has that type, and so has what is printed and read again.
typed() {
    local f
    gload --new -i 'x: float32[n]' -i 'k: int8' -i 'L: list(float32)' -e "r = $2" -o w.tlg || return
    for f in yaml json tlg; do
        gload w.tlg -o "w.$f" || return
        gload "w.$f" --info | grep -Eq "^outputs *r *$1$" || {
            gload "w.$f" --info
            fail "$2 in $f: not $1"
        }
    done
    gload w.yaml --no-provenance -O yaml >w2.yaml
    gload w.yaml --no-provenance -O json | gload --no-provenance -O yaml | cmp - w2.yaml
}

@test "what an elementwise op makes of literals is as weak as they are, also in text and read again" {
    local f32='float32\[n\]'
    typed "$f32" 'x / sqrt(2.)'
    typed "$f32" 'x * log(2)'
    typed "$f32" 'x * 2**0.5'
    typed "$f32" 'x * (2 * pi)'
    typed "$f32" 'x * sin(pi / 3) + exp(-1)'
    typed "$f32" 'x / sqrt(n)'
    typed "$f32" 'x / maximum(n - 1, 1)'
    typed "$f32" 'x / sqrt(x.shape[0] * x.size)'
    typed "$f32" 'x * (lambda s: sqrt(s))(3)'
    typed "$f32" 'x * relu(2.) + logit(0.25)'
    typed "$f32" 'x * (2.).sqrt()'
    typed "$f32" 'where(x > 0, sqrt(2.), x)'
    typed "$f32" 'clip(x, -sqrt(2.), sqrt(2.))'
    typed "$f32" 'full_like(x, sqrt(2.))'
    typed "$f32" 'set_subtensor(x[0], sqrt(2.))'
    typed 'float32\[\?\]' 'concatenate([x, [sqrt(2.), 1]])'
    typed float32 'ifelse(x[0] > 0, sqrt(2.), x[0])'
    typed float32 'scan(lambda h: h * x[0], outputs_info=[sqrt(2.)], n_steps=3)[2]'
    typed int8 'k + maximum(2, 3)'
    typed int8 'k * (n > 3)'
    typed float64 'k * sqrt(4)'
    typed complex64 'x[0] * sqrt(1j)'
    typed float64 'sqrt(2.)'
    typed int64 'maximum(2, n)'
    # these are as strong as any tensor
    typed 'float64\[n\]' 'x * float64(sqrt(2.))'
    typed 'float64\[n\]' 'x * sum([1., 2.])'
    typed 'float64\[3\]' 'x + ones(3)'
    typed 'float64\[3\]' 'x + arange(3)'
    typed 'float64\[n\]' 'x + (k + sqrt(2.))'
    ok 'gload --new -i "x: float32" -e "s = sqrt(2.)" -e "y = x / s" --outputs y --info | grep -c float64' 1
    ok 'gload --new --floatX float32 -i "x: float64" -e "x / 2.5" | grun x=5' 'out = 2.0'
}

@test "what a receiver makes of full and arange without a dtype is as exact as a list of the numbers" {
    local value type want
    while IFS='|' read -r value type want; do
        gload -i "x: ${type}[3]" -e 'y = x' --outputs y -o x.tlg
        case $want in
        \[*) ok "grun x.tlg 'x=$value'" "y = $want" ;;
        *) bad 3 E_ "$want" "grun x.tlg 'x=$value'" ;;
        esac
    done <<'END'
full(3, 2.5)|int64|2.5 is not an integer, which is required for int64
full(3, 5 / 2)|uint8|2.5 is not an integer
full(3, [1, 2.5, 3])|int8|2.5 is not an integer
full(3, nan)|int64|nan is out of range of int64
full(3, sqrt(2.))|int64|can.t be converted to int64
full(3, 300)|uint8|300 is out of range of uint8
full(3, 2.0)|uint8|[2, 2, 2]
full(3, 0.1)|float32|[0.1, 0.1, 0.1]
full(3, 2.5, dtype=int64)|int64|[2, 2, 2]
int64(full(3, 2.5))|int64|[2, 2, 2]
arange(0, 1.5, 0.5)|int64|1.5 is not an integer
arange(0, 1.5, 0.5)|float16|[0.0, 0.5, 1.0]
arange(0., 3.)|int8|[0, 1, 2]
arange(254, 257)|uint8|256 is out of range of uint8
arange(253, 256)|uint8|[253, 254, 255]
arange(-1, 2)|uint8|-1 is out of range of uint8
arange(0, 600, 200)|uint8|400 is out of range of uint8
arange(200, -1, -100)|uint8|[200, 100, 0]
arange(-128, -125)|int8|[-128, -127, -126]
poisson(2.5, 3, seed=1)|int64|[6, 0, 2]
END
    ok 'gload --new -e "y: int8[0] = arange(500, 500)" -e "z: uint8[0] = arange(5, 9, -1)" -o o.tlg'
    bad 3 E_VALUE '1:34: .*2.5 is not an integer' 'gload --new --shared "W: int64[3] = zeros(3) + full(3, 2.5)" -o o.tlg'
}

@test "a weak integer that does not fit is an error as a literal is" {
    bad 3 E_VALUE '300 is out of range of int8' 'gload --new -i "k: int8" -e "k + abs(-300)"'
    bad 3 E_VALUE '128 is out of range of int8' 'gload --new -i "k: int8" -e "k + maximum(3, [2, 128])"'
    ok 'gload --new -i "k: int8" -e "k + abs(-100)" | grun k=1' 'out = 101'
}

@test "items of lists and of what is put into them are weak" {
    local e
    for e in 'list_append(L, 1.5)' 'list_append(L, sqrt(2.))' 'list_append(L, 1)' 'list_insert(L, 0, 1.5)' 'list_remove(L, 1.)' \
        'list_append([1.], x[0])' 'make_list(1.5, x[0])' 'list_extend(L, [1., x[0]])' 'list_extend([1., 2.], L)'; do
        typed 'list\(float32\)' "$e"
    done
    typed int64 'list_count(L, 1.)'
    typed int64 'list_index(L, 1.)'
    typed float32 'list_get([1., x[0]], 0)'
    typed 'list\(float64\)' 'list_append([1.5, 2], 3)'
    typed 'list\(int64\)' 'list_append([1, 2], 3)'
    ok 'gload --new -i "L: list(float32)" -e "list_count(L, 0.1)" -e "i = list_index(L, 0.1)" | grun "L=[0.5, 0.1]"' 'out = 1
i = 1'
    bad 3 E_VALUE '1.5 is not an integer, which is required for int8' 'gload --new -i "K: list(int8)" -e "list_append(K, 1.5)"'
    bad 3 E_TYPE 'the items of the list are float32, not float64' 'gload --new -i "L: list(float32)" -i "y: float64" -e "list_append(L, y)"'
}

@test "weak numbers in functions, ops files, rules, updates and values" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'float32[n]'}
shared: {w: 'float32 = 1 / sqrt(2.)'}
functions:
  half:
    inputs: {a: float32, b: float32}
    let: |
      r = a * b / sqrt(2 * pi)
    outputs: [r]
let: |
  y = map(lambda v: half(v, sqrt(2.)) / log(2.), x)
outputs: [y]
updates: {w: w * sqrt(0.5)}
Y
    like 'gload g.yaml --info' '^outputs *y *float32\[n\]'
    printf 'thunkline: 1\nops:\n  bell:\n    inputs: x, s = 2\n    props:\n      scale: float = 2.0\n    def: exp(-x * x / 2) / (s * sqrt(scale * pi))\n    partials: {x: -x * r * sqrt(1.), s: undefined("no")}\n' >o.yaml
    like 'gload --ops o.yaml --new -i "x: float32[n]" -e "sum(bell(x))" | ggrad --ops o.yaml | tee b.tlg | gload --ops o.yaml --info' 'float32' 'd_out_d_x *float32\[n\]'
    like 'gload --ops o.yaml b.tlg -O yaml' '_8 = sqrt\(float64\(1.0\)\)' '_9 = float32\(_8\)'
    printf 'scaled: tanh(x) * 3 => tanh(x) * 3 * (sqrt(2.) / sqrt(2.))\n' >r.rules
    ok 'gload --new -i "x: float32[n]" -e "tanh(x) * 3" | grewrite --rules r.rules --include canonicalize -O yaml | grep -c float64 || true' 0
    ok 'gload --new -i "x: float32" -e "x * 1" | grun "x=sqrt(4.)"' 'out = 2.0'
}

@test "sizes that no dim can have are an error where they arise, in types and in a run" {
    local e big='-i "x: float64[9223372036854775807]" -i "m: float64[6000000000000000000, 2]" -i "z: float64[4611686018427387904, 0]" -i "u: float64[n]"'
    for e in 'concatenate([x, x])' 'concatenate([x, x, x])' 'concatenate([z, z, z, z])' 'block_diag(m, m)' 'block_diag(m, m, m)' 'block_diag(m.T, m.T)' \
        'pad(x, 1)' 'pad(x, (0, 2305843009213693951))' 'convolve(x, x)' 'convolve(x, [1., 2.])' 'repeat(x, 2)' 'repeat(z, 4, axis=0)' 'diag(x, 1)' 'kron(m, m)' 'tile(x, 2)' 'arange(9223372036854775807)'; do
        bad 3 E_VALUE 'too (large|many)' "gload --new $big -e '$e'"
    done
    # what fits is typed, and every tool can read what gload wrote
    for e in 'pad(z, 1)' 'convolve(x, x, mode="same")' 'convolve(x, x, mode="valid")' 'stack([x, x])' 'outer(x, x)' 'm.ravel()' 'x[::-9223372036854775808]' \
        'split(u, [-9223372036854775808])[0]' 'split(x, [9223372036854775807, 1])[1]' 'eye(3, 3, -9223372036854775808)'; do
        ok "gload --new $big -e '$e' | grewrite | gload -O yaml | gload --info >/dev/null"
    done
    bad 6 E_LIMIT 'dim 0 of the result is too large' 'gload --new -i "i: int64" -e "z = zeros((i, 0), dtype=int8)" -e "concatenate([z, z, z, z])" | grun i=4611686018427387904'
    bad 6 E_LIMIT 'dim 1 of the result is too large' 'gload --new -i "i: int64" -e "z = zeros((0, i), dtype=int8)" -e "concatenate([z, z], axis=1)" | grun --mode FAST_COMPILE i=4611686018427387904'
    ok 'gload -e "eye(2, 2, -9223372036854775808)" | grun' 'out = [[0.0, 0.0],
       [0.0, 0.0]]'
}

@test "what no memory holds is an error, also of views that take none" {
    local e m
    for e in 'x[:, None] * x' 'sum(x[:, None] + x)' 'argmax(x[:, None] + x)' 'mean(float64(x)[:, None] + x)' 'any(x[:, None] < x)' 'kron(x, x)' 'x[:, None] @ x[None]' \
        'complex128(x)' 'abs(fft(x))' 'convolve(x, x)' 'convolve(x, x, mode="valid")' 'unique(x)' 'sum(exp(x[:, None]) * x, axis=0)' 'vectorize(lambda v: v * x)(x)'; do
        gload --new -i 'y: int8' -i 'n: int64' -e 'x = broadcast_to(y, (n,))' -e "r = $e" --outputs r -o g.tlg
        for m in FAST_RUN FAST_COMPILE DEBUG; do
            for n in 1152921504606846976 4611686018427387904; do
                bad 6 E_ 'more elements than can be addressed|EiB of memory|too many elements|beyond what can be addressed|more bytes than' "grun --mode $m g.tlg y=1 n=$n"
            done
        done
    done
}

@test "pad mirrors, repeats and wraps as NumPy's, in both modes, with gradients" {
    local m
    ok 'gload -e "a = pad([1, 2, 3], (4, 7), mode=\"edge\")" -e "b = pad([1, 2, 3], (4, 7), mode=\"reflect\")" -e "c = pad([1, 2, 3], (4, 7), mode=\"symmetric\")" -e "d = pad([1, 2, 3], (4, 7), mode=\"wrap\")" | grun' \
        'a = [1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3]
b = [1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2]
c = [3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2, 3, 3]
d = [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]'
    for m in edge reflect symmetric wrap; do
        ok "gload --new -i 'x: float32[n, ?]' -e 'pad(x, ((1, 0), (2, 3)), mode=\"$m\")' -o p.tlg && grun p.tlg x=[[1,2],[3,4]] -o a.npy && grun --mode FAST_COMPILE p.tlg x=[[1,2],[3,4]] -o b.npy && cmp a.npy b.npy"
        ok "grun --mode DEBUG p.tlg x=[[1,2],[3,4]] >/dev/null"
        ok "gload --new -i 'x: float64[n, 2]' -e 'sum(pad(x, 2, mode=\"$m\") ** 3)' | tee s.tlg | ggrad --check x=[[1,2],[3,4]] && ggrad --check --jvp x s.tlg x=[[1,2],[3,4]]"
        ok "gload -e 'pad([[5]], 1, mode=\"$m\")' | grun" 'out = [[5, 5, 5],
       [5, 5, 5],
       [5, 5, 5]]'
        ok "gload -e 'pad(zeros((0, 1)), ((0, 0), (1, 1)), mode=\"$m\").shape[1]' | grun" 'out = 3'
        bad 3 E_VALUE 'dim 0 has no elements' "gload -e 'pad(zeros(0), 1, mode=\"$m\")'"
        bad 5 E_INDEX 'out of range' "gload --new -i 'x: float64[n]' -e 'pad(x, 1, mode=\"$m\")' | grun 'x=zeros(0)'"
    done
    # widths that only a run knows
    for m in constant edge reflect symmetric wrap; do
        ok "gload --new -i 'x: float64[n, 3]' -i 'w: int64[2, 2]' -e 'pad(x, w, mode=\"$m\")' | tee p.tlg | grun - x=[[1,2,3],[4,5,6]] w=[[1,2],[3,0]] -o a.npy && gload -e 'pad([[1., 2, 3], [4, 5, 6]], ((1, 2), (3, 0)), mode=\"$m\")' | grun -o b.npy && cmp a.npy b.npy"
        ok "grun --mode DEBUG p.tlg x=[[1,2,3],[4,5,6]] w=[[0,0],[1,0]] >/dev/null"
        ok "gload --new -i 'x: float64[n, 3]' -i 'w: uint8[2]' -e 'sum(pad(x, w, mode=\"$m\") ** 3)' | tee s.tlg | ggrad --check x=[[1,2,3],[4,5,6]] w=[1,2] && ggrad --check --jvp x s.tlg x=[[1,2,3],[4,5,6]] w=[0,5]"
        bad 5 E_ARITHMETIC 'pad: a width is negative' "grun p.tlg x=[[1,2,3]] w=[[0,0],[0,-1]]"
        ok "gload --new -i 'x: float64[2, 3]' -i 'w: int64' -e 'pad(x, w, mode=\"$m\").shape[1]' | grun - x=[[1,2,3],[4,5,6]] w=2" 'out = 7'
    done
    for m in mean linear_ramp; do bad 3 E_VALUE "mode '$m' needs constant widths; 'constant'," "gload --new -i 'x: float64[3]' -i 'w: int64' -e 'pad(x, w, mode=\"$m\")'"; done
    bad 3 E_VALUE 'the widths must be integers, not float64' "gload --new -i 'x: float64[3]' -i 'w: float64' -e 'pad(x, w)'"
    bad 3 E_SHAPE 'a pair for each of 2 dims, not int64\[3\]' "gload --new -i 'x: float64[3, 3]' -i 'w: int64[3]' -e 'pad(x, w)'"
    bad 3 E_ARG "the mode must be 'constant', 'edge', 'empty', 'linear_ramp', .* or 'wrap', not 'cubic'" 'gload -e "pad([1, 2], 1, mode=\"cubic\")"'
    # the mode may stand third, as in NumPy's call
    ok "gload -e \"pad([1, 2], 1, 'edge')\" -e \"b = pad([1, 2], 1, 7, 'constant')\" | grun" 'out = [1, 1, 2, 2]
b = [7, 1, 2, 7]'
    bad 3 E_ARITY 'too many arguments' "gload -e \"pad([1, 2], 1, 'constant', 7)\""
}

@test "pad with a ramp to the end values: of each side and dim, rounded down for integers" {
    ok "gload -e \"pad([1, 2, 3, 4, 5], (2, 3), 'linear_ramp', end_values=(5, -4))\" | grun" 'out = [5, 3, 1, 2, 3, 4, 5, 2, -1, -4]'
    ok "gload -e \"pad([2., 5.], (2, 1), 'linear_ramp')\" | grun" 'out = [0.0, 1.0, 2.0, 5.0, 0.0]'
    ok "gload -e \"pad([1, -1], 2, 'linear_ramp')\" | grun" 'out = [0, 0, 1, -1, -1, 0]'
    ok "gload --new -i 'x: float32[?, 2]' -e \"pad(x, ((1, 0), (0, 2)), 'linear_ramp', end_values=((9, 9), (0, 10)))\" | grun x=[[1,2],[3,4]]" 'out = [[9.0, 9.0, 9.5, 10.0],
       [1.0, 2.0, 6.0, 10.0],
       [3.0, 4.0, 7.0, 10.0]]'
    ok "gload --new -i 'x: float64[n, 2]' -e \"sum(pad(x, 2, 'linear_ramp', end_values=(1., 2.)) ** 3)\" | tee s.tlg | ggrad --check x=[[1,2],[3,4]] && ggrad --check --jvp x s.tlg x=[[1,2],[3,4]]"
    bad 3 E_VALUE 'dim 0 has no elements' "gload -e \"pad(zeros(0), 1, 'linear_ramp')\""
    bad 3 E_SHAPE 'end_values must be one number, a pair, or a pair for each of 2 dims, not int64\[3\]' "gload -e \"pad([[1]], 1, 'linear_ramp', end_values=[1, 2, 3])\""
    # the median: of an even number the mean of two, of nan nan
    ok "gload -e \"pad([3, 1, 2, 9], (2, 1), 'median')\" -e \"b = pad([nan, 1.], (1, 0), 'median')\" -e \"c = pad([[4., 1., 3.]], ((0, 0), (0, 1)), 'median')\" | grun" 'out = [2, 2, 3, 1, 2, 9, 2]
b = [nan, nan, 1.0]
c = [[4.0, 1.0, 3.0, 3.0]]'
}

@test "pad with a statistic along each dim: rounded for integers, of what the dims before made" {
    local m
    ok "gload -e \"a = pad([1, 5, 2], (2, 3), 'maximum')\" -e \"b = pad([1, 5, 2], (1, 0), 'minimum')\" -e \"c = pad([1, 2, 2], (2, 1), 'mean')\" -e \"d = pad([True, False], 1, 'mean')\" -e \"e = pad([1, 2], (0, 1), 'empty').shape[0]\" | grun" \
        'a = [5, 5, 1, 5, 2, 5, 5, 5]
b = [1, 1, 5, 2]
c = [2, 2, 1, 2, 2, 2]
d = [True, True, False, True]
e = 3'
    ok "gload -e \"pad([[1., 2.], [4., 8.]], ((1, 0), (0, 2)), 'mean')\" | grun" 'out = [[2.5, 5.0, 3.75, 3.75],
       [1.0, 2.0, 1.5, 1.5],
       [4.0, 8.0, 6.0, 6.0]]'
    for m in maximum minimum mean median; do
        ok "gload --new -i 'x: float64[n, 2]' -e 'sum(pad(x, 2, \"$m\") ** 3)' | tee s.tlg | ggrad --check x=[[1,2],[3,4]] && ggrad --check --jvp x s.tlg x=[[1,2],[3,4]]"
        ok "ggrad --hvp out s.tlg >/dev/null && grun --mode DEBUG s.tlg x=[[1,2],[3,4]] >/dev/null"
        bad 3 E_VALUE 'dim 0 has no elements' "gload -e 'pad(zeros(0), 1, \"$m\")'"
    done
}

@test "a reduction's dtype is that of its arithmetic and of its result, as NumPy's" {
    local e
    ok "gload -e \"a = sum([100, 100], dtype='int8')\" -e 'b = array([[1.7, 2.7]]).sum(axis=1, dtype=int64)' -e 'c = prod([16, 32], dtype=uint8)' -e \"d = sum([2, 0], 0, 'bool')\" -e 'e = mean([100, 100], dtype=int8)' -e 'f = mean([1, 2], dtype=float32)' \
        -e 'g = mean([-1, -2, -4], dtype=int64, keepdims=True)' -e 'h = cumsum([100, 100, 100], dtype=uint8)' -e 'i = array([[1.5, 2.5]]).cumprod(0, complex64)' -e 'j = cumsum([[1.5], [2.5]], dtype=int64)' \
        -e \"k = sum(csr_from_dense([[0., 1.7], [2.7, 3.]]), axis=0, dtype='int64')\" | grun" 'a = -56
b = [3]
c = 0
d = True
e = -28
f = 1.5
g = [-2]
h = [100, 200, 44]
i = [[(1.5+0.0j), (2.5+0.0j)]]
j = [1, 3]
k = [2, 4]'
    typed float64 'sum(x, dtype=float64)'
    typed 'float64\[1\]' 'x.mean(dtype=float64, keepdims=True)'
    typed int8 'prod(x, dtype=int8)'
    typed complex64 'x.sum(dtype=complex64)'
    typed float32 'sum(x, dtype=x.dtype)'
    typed 'float64\[n\]' 'x.cumsum(dtype=float64)'
    # float32 would lose the ones beside 2**24
    ok 'gload --new -i "x: float32[n]" -e "cumsum(x, dtype=float64)[-1]" -e "b = sum(x, dtype=float64)" | grun x=[16777216,1,1]' 'out = 16777218.0
b = 16777218.0'
    for e in 'sum(x, dtype=float64)' 'prod(x, dtype=float64)' 'mean(x, dtype=float64)' 'sum(cumsum(x, 0, float64) * x)' 'sum(cumprod(x, dtype=float64) ** 2)'; do
        ok "gload --new -i 'x: float32[n]' -e '$e' | tee s.tlg | ggrad --check x=[1,2,3] && ggrad --check --jvp x s.tlg x=[1,2,3] && ggrad s.tlg | gload --info | grep -Ec 'd_out_d_x *float32'" 1
        ok "grun --mode DEBUG s.tlg x=[1,2,3] >/dev/null"
    done
    ok 'gload --new -i "x: float32[m, n]" -e "map(lambda r: sum(r, dtype=float64), x)" | grun x=[[1,2],[3,4]]' 'out = [3.0, 7.0]'
    bad 3 E_DTYPE "there is no dtype 'flot64'" "gload -e \"sum([1], dtype='flot64')\""
    bad 3 E_ARG 'dtype must be a dtype' "gload -e 'sum([1], dtype=3)'"
    bad 3 E_DTYPE 'would drop the imaginary part' "gload -e 'sum([1j], dtype=float32)'"
    for e in 'full((1, 0), c, dtype=float32)' 'full([2], 1j, dtype=int64)' 'full_like(f, c)' 'full_like(c, c, dtype=float64)' 'pad(f, 1, constant_values=c)'; do
        bad 3 E_DTYPE 'complex128 to (float|int).*would drop the imaginary part' "gload --new -i 'c: complex128' -i 'f: float64[2]' -e '$e'"
    done
    ok 'gload -e "full([1], 2j, dtype=bool)" -e "b = full([1], 2j, dtype=complex64)" | grun' 'out = [True]
b = [(0.0+2.0j)]'
}

@test "forms of calls that NumPy has" {
    ok 'gload -e "sort([[3, 1], [2, 0]], axis=None)" | grun' 'out = [0, 1, 2, 3]'
    ok 'gload -e "argsort([[3, 1], [2, 0]], axis=None)" | grun' 'out = [3, 1, 2, 0]'
    ok 'gload --new -i "x: float64[n, m]" -e "sum(sort(x, axis=None) * [1., 2., 3., 4.])" | ggrad | grun "x=[[3, 1], [2, 0]]"' 'out = 20.0
d_out_d_x = [[4.0, 2.0],
             [3.0, 1.0]]'
    ok 'gload -e "full((2, 2), [1, 2])" | grun' 'out = [[1, 2],
       [1, 2]]'
    ok 'gload --new -i "r: int32[k]" -e "full((2, k), r, dtype=float32)" | grun r=[1,2,3] -O json' \
        '{"name": "out", "dtype": "float32", "shape": [2, 3], "data": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]}'
    ok 'gload -e "full((2, 2), 7)" -O yaml --no-provenance | grep -c full' 1
    ok 'gload -e "a = linspace(-2., 3., 1001)[400]" -e "b = linspace(0., 1., 1)" -e "c = linspace(0, 1, 5)" -e "d = linspace(0., 1., 0)" -e "e = linspace(0., 0.7, 8)[7]" | grun' \
        'a = 0.0
b = [0.0]
c = [0.0, 0.25, 0.5, 0.75, 1.0]
d = []
e = 0.7'
    # its dtype: that of the ends, floatX, the receiver's, or as asked for, which casts what floatX or the ends gave
    like 'gload --new -i "s: float32" -i "n: int64" -e "linspace(s, 1., n)" -O tree' '^where \[A\] float32\[\?\]'
    like 'gload --floatX float32 -e "linspace(0, 1, 3)" -O tree' '^where \[A\] float32\[3\]'
    gload --new -i 'x: float32[3]' -e 'out = x * 1' --outputs out -o linspace.tlg
    ok 'grun linspace.tlg "x=linspace(0, 1, 3)"' 'out = [0.0, 0.5, 1.0]'
    ok 'grun linspace.tlg "x=1 - linspace(0, 1, 3)"' 'out = [1.0, 0.5, 0.0]'
    bad 3 E_DTYPE 'got a float64 array' 'grun linspace.tlg "x=linspace(float64(0), 1, 3)"'
    bad 3 E_DTYPE 'got a float64 array' 'grun linspace.tlg "x=linspace(0, 1, 3, dtype=float64)"'
    ok 'gload --shared "W: float32[3] = linspace(0.1, 0.7, 3)" --outputs W | grun -O json' '{"name": "W", "dtype": "float32", "shape": [3], "data": [0.1, 0.4, 0.7]}'
    ok 'gload -e "linspace(0, 1, 3, dtype=complex64)" | grun' 'out = [(0.0+0.0j), (0.5+0.0j), (1.0+0.0j)]'
    bad 3 E_DTYPE 'must have a float or complex dtype, not int64' 'gload --shared "W: int64[3] = linspace(0, 1, 3)" --outputs W'
    ok 'gload -e "a = reciprocal(array([0j, 2j]))" -e "b = array([0j, 0j, 0j, 0j, 0j]) ** array([-1, 1+2j, 0, 2, 2j])" | grun' \
        'a = [(nan+nanj), (0.0-0.5j)]
b = [(nan+nanj), (nan+nanj), (1.0+0.0j), (0.0+0.0j), (nan+nanj)]'
}

@test "a reduction over axes that are no neighbours is that of all its elements, in every dtype" {
    local op axes d
    for op in sum max mean var any; do
        for axes in '(3, 5)' '(0, 2)' '(1, 3, 5)' '(1, 5)'; do
            for d in bool int16 float16 float32 float64 complex64; do
                gload --new -i "x: ${d}[2, 3, 4, 3, 5, 3]" -e "$op(x, axis=$axes)" -o r.tlg 2>/dev/null || continue
                ok "grun --mode DEBUG r.tlg \"x=cast(normal(0, 3, (2, 3, 4, 3, 5, 3), seed=1), '$d')\" >/dev/null"
            done
        done
    done
    ok 'gload -e "sum(reshape(arange(12000), (2, 40, 3, 10, 5)), axis=(0, 2, 4)).sum() - sum(arange(12000))" | grun' 'out = 0'
    ok 'gload --new -i "x: float64[2, 3, 4, 3, 50, 3]" -e "m = abs(max(maximum(x, 0.), axis=(3, 5)) - max(max(maximum(x, 0.), axis=5), axis=3)).max()" | grun "x=normal(0, 1, (2, 3, 4, 3, 50, 3), seed=2)"' 'm = 0.0'
}

@test "inv, solve and det of what is not finite are nan, whatever the way, and DEBUG agrees" {
    local e
    for e in 'inv([[nan, 1.], [2., 3.]])' 'inv([[inf, 1], [2, 3]])' 'solve([[1., nan], [1., 4.]], b)' 'solve([[3., nan], [1., 4.]], b, assume_a="sym")' \
        'solve([[nan, 0], [1., 4.]], b, assume_a="pos", lower=True)' 'solve([[1., 2.], [3., 4.]], [[nan, inf], [1., 1.]])'; do
        like "gload -e 'b = eye(2)' -e 'r = $e' --outputs r | grun --mode DEBUG --allow-nonfinite" 'r = \[\[nan, nan\],' ' \[nan, nan\]\]'
    done
    for e in '[[1, 2, 0], [3, 4, 1], [0, 1, inf]]' '[[1, inf], [0, 1]]' '[[0, 0], [-inf, 1]]' '[[nan, 1], [2, 3]]'; do
        ok "gload -e 'r = det($e)' -e 's, t = slogdet($e)' --outputs r,s,t | grun --mode DEBUG --allow-nonfinite" $'r = nan\ns = nan\nt = nan'
    done
    ok 'gload -e "det([[inf, 1j], [2, 3]])" | grun --mode DEBUG --allow-nonfinite' 'out = (nan+nanj)'
    ok 'gload -e "around(solve([[3., nan], [1., 2.]], [3., 5.], assume_a=\"pos\", lower=True), 12)" | grun --mode DEBUG' 'out = [0.2, 2.4]'
    ok 'gload -e "solve([[1., 0.], [0., 2.]], [[nan, 1.], [1., 4.]])" | grun --mode DEBUG --allow-nonfinite' 'out = [[nan, 1.0],
       [nan, 2.0]]'
}

@test "what cannot be is told once: diag" {
    gload --new -i 'v: float32[9223372036854775807]' -e 'diag(v)' >/dev/null 2>err && fail 'it is too large'
    ok 'grep -c "error\[" err' 1
}

@test "a method takes sizes and axes one by one, as NumPy's; a vector of sizes needs a length" {
    local e
    ok 'gload --new -i "x: float64[n, 6]" -e "a = x.reshape(4, -1).shape[1]" -e "b = x.reshape(n, 2, 3).transpose(1, 0, 2)[1, 0, 2]" -e "c = x.reshape(-1)[0]" -e "d = x.reshape((4, 3))[3, 2]" -e "e = x.T.transpose((1, 0)).transpose()[5, 1]" | grun "x=reshape(arange(12.), (2, 6))"' 'a = 3
b = 5.0
c = 0.0
d = 11.0
e = 11.0'
    like 'gload --new -i "x: float64[n, 6]" -e "x.reshape(n, 2, 3)" -O yaml' 'stack\(n, 2, 3\)'
    like 'gload --new -i "x: float64[n, 6]" -e "x.transpose(1, 0)" --info' 'float64\[6, n\]'
    bad 3 E_ARITY 'too many arguments' 'gload --new -i "x: float64[12]" -e "reshape(x, 4, 3)"'
    bad 3 E_ARITY 'too many arguments' 'gload --new -i "x: float64[12]" -e "x.sum(0, float64, True, 1)"'
    bad 3 E_DTYPE 'expected an integer' 'gload --new -i "x: float64[12]" -i "y: float64" -e "x.reshape(y, 3)"'
    bad 3 E_TYPE 'expected an integer, not a list' 'gload --new -i "x: float64[12]" -e "x.reshape((4, 1), 3)"'
    bad 3 E_ARG 'axes must be a list of integers' 'gload --new -i "x: float64[3, 4]" -e "x.transpose(1, 0.5)"'
    ok 'gload --new -i "x: float64[n]" -i "s: int64[2]" -e "reshape(x, s).shape[1] + zeros(s).shape[1]" | grun x=[1,2,3,4,5,6] s=[2,3]' 'out = 6'
    for e in 'reshape(x, s)' 'zeros(s)' 'broadcast_to(x, s)' 'tile(x, s)' 'split(x, s)[0]'; do
        bad 3 E_SHAPE 'declare how many there are, as in s: int64.2.' "gload --new -i 'x: float64[n]' -i 's: int64[k]' -e '$e'"
    done
}

@test "what is weak keeps all digits until it meets its dtype, whatever floatX is" {
    local e
    # the same value as with floatX float64
    for e in 'd * log(2.)' 'd / sqrt(3)' 'd * (2**0.5 + exp(1.))' 'where(d > 9, d, sqrt(2.))' 'd * sqrt(n + 1)' 'd + n / 3' 'd * float64(sqrt(2.))' 'd * cast(sqrt(2.), float64)' 'd * cast(0.1, float64)' \
        'd * full(1, sqrt(2.), dtype=float64)' 'concatenate([d, [sqrt(2.), 1]])' 'd * (lambda s: sqrt(s))(3)' 'd * logit(0.3)' 'h * sqrt(2.)' 'd * real(sqrt(-2. + 0j) * 1j)'; do
        gload --new -i 'd: float64[n]' -i 'h: float16' -e "r = $e" --outputs r | grun d=[1.5] h=3 >want
        gload --new --floatX float32 -i 'd: float64[n]' -i 'h: float16' -e "r = $e" --outputs r -o w.tlg
        ok "grun w.tlg d=[1.5] h=3 | cmp - want"
        ok "gload w.tlg -O yaml | gload -O json | grun d=[1.5] h=3 | cmp - want"
    done
    # alone, and bound to a name, it is of floatX
    for e in 'log(2.)' 'n / 3' '(lambda s: s)(sqrt(2.))' 'abs(-sqrt(2.))' 'sqrt(2.)[None][0]' 'ifelse(n > 1, sqrt(2.), 1.)' 'sum([sqrt(2.), 1])' 'real(sqrt(1j))' 'full((), sqrt(2.))'; do
        like "gload --new --floatX float32 -i 'd: float64[n]' -e 's = $e' -e 'r = s' --outputs r | gload --info" 'outputs *r *float32$'
        like "gload --new --floatX float32 -i 'd: float64[n]' -e 'out = $e' --outputs out | gload --info" 'outputs *out *float32$'
    done
    ok 'gload --new --floatX float32 -e "log(2.)" | grun' 'out = 0.6931472'
}

@test "arithmetic of literals is Python's" {
    local line
    while IFS= read -r line; do
        E=${line% => *}
        export E
        ok 'gload -e "o = $E" | grun' "o = ${line##* => }"
    done <<'END'
(1+2j) / (3-4j) => (-0.2+0.4j)
(1+2j) / (1+4j) => (0.5294117647058824-0.11764705882352941j)
(1+2j) ** 0 => (1.0+0.0j)
(1+2j) - 1 => (0.0+2.0j)
(1+2j) == (1+2j) => True
(1+2j) != (1+2j) => False
1 == 1+0j => True
1 <= 2 => True
2 <= 1 => False
1.5 >= 1.5 => True
1 >= 2 => False
1 != 2 => True
2 < nan => False
nan != nan => True
nan <= nan => False
nan >= nan => False
(-2.0) ** 3 => -8.0
2 ** -1 => 0.5
5.5 // -2 => -3.0
-5.5 % 2 => 0.5
-4.0 % 2 => 0.0
-1e308 * 10 => -inf
0 ** 0 => 1
1 ** 100000000000 => 1
(-1) ** 100000000001 => -1
-1 >> 70 => -1
5 >> 1 => 2
True + True => 2
True & False => False
True ^ True => False
True | 2 => 3
~5 => -6
-9223372036854775808 => -9223372036854775808
- True => -1
+ True => 1
+3 => 3
-(1+2j) => (-1.0-2.0j)
-7 // 2 => -4
-7 % 2 => 1
7 % -2 => -1
-9223372036854775808 % -1 => 0
18446744073709551615 > -1 => True
1 / 3 => 0.3333333333333333
1 == True => True
1e308 * 1e308 => inf
int8(2.0) => 2
int8(2.5) => 2
bool(2) => True
complex64(2) => (2.0+0.0j)
float32(16777217) => 16777216.0
uint64(18446744073709551615) => 18446744073709551615
END
}

@test "arithmetic of literals has the bits of a run" {
    local op a b n=0 literals=() inputs=() values=()
    for a in '(1+2j)' '(-0.5-1.25j)' 2j '(0.1+0.7j)' '(-2+0j)'; do
        for b in '(1+2j)' '(2.5-1j)' '(0-3j)' 2 -1 3 2.5; do
            for op in '*' / '**'; do
                n=$((n + 1))
                literals+=(-e "o$n = complex128($a $op $b)")
                inputs+=(-i "a$n: complex128" -i "b$n: complex128" -e "o$n = a$n $op b$n")
                values+=("a$n=$a" "b$n=$b")
            done
        done
    done
    gload --new "${literals[@]}" -o literals.tlg
    gload --new "${inputs[@]}" -o inputs.tlg
    grun literals.tlg >literals
    grun inputs.tlg "${values[@]}" >inputs
    [ "$(wc -l <literals)" = 105 ]
    diff literals inputs
    ok 'gload -e "o = (1+2j) ** 2" | grun' 'o = (-3.0+4.0j)'
}

@test "casts, arrays, indices, lists and dicts: what the graph gets" {
    local line
    while IFS= read -r line; do
        E=${line% => *}
        export E
        ok "gload -i 'x: float64[n]' -i 'm: float64[2, 3]' -i 'k: int64' -i 'b: bool[n]' -e \"\$E\" -O math | grep '^out' | tr '\\n' ';'" "${line##* => }"
    done <<'END'
x.astype(float32) => out = float32(x);
astype(x, dtype='floatX') => out = x;
array([1,2], dtype='floatX') => out = [1.0, 2.0];
array([], shape=[0, 3]) => out = array([], dtype='float64', shape=(0, 3));
array([1,2,3,4], shape=[2,2]) => out = [[1, 2], [3, 4]];
array([[1,2],[3,4]], shape=[2,2]) => out = [[1, 2], [3, 4]];
array([[[]], [[]]], float32) => out = array([], dtype='float32', shape=(2, 1, 0));
array(x, float32) => out = float32(x);
array([x[0], 2.0]) => out = stack(x[0], 2.0);
complex(x, 1) => out = complex(x, 1.0);
complex128(-0.0, -0.0) => out = complex(-0.0, -0.0);
undefined('why') => out = undefined('why');
(2).astype(float32) => out = 2.0;
pi.astype(float32) => out = 3.1415927;
2.0.complex(3.0) => out = complex(2.0, 3.0);
m[(0, 1)] => out = m[0, 1];
m[0, (1, 2)] => out = m[0, [1, 2]];
x[[]] => out = x[[]];
x[[True, False]] => out = x[[True, False]];
x[[k, 1]] => out = x[stack(k, 1)];
x[None:None:None] => out = x[:];
x[::k] => out = x[::k];
x[()] => out = x;
x[::-1, None] => out = x[::-1, None];
m[b, 0] => out = m[b, 0];
[1, 2, 3][1] => out = 2;
[x, m][1:] => out/0 = m;
[x, m][::-1] => out/0 = m;out/1 = x;
[x, m, k][::-2] => out/0 = k;out/1 = x;
[x, m, k][5:0:-1] => out/0 = k;out/1 = m;
[x, m, k][-9:1] => out/0 = x;
[x, m, k][::10] => out/0 = x;
[x, m, k][::-10] => out/0 = k;
[x, m][1 - 1] => out = x;
[x, x][0, 1] => out = stack(x, x)[0, 1];
{'a': x, 'b': m}['a'] => out = x;
make_list(x, x)[0] => out = list_get(make_list(x, x), 0);
make_list(x, x)[1:] => out = list_get(make_list(x, x), slice(1, None, None));
make_list(x, x)[k:] => out = list_get(make_list(x, x), make_slice(k, None, None));
m.shape[-1] => out = 3;
m.shape[k] => out = array([2, 3])[k];
m.shape[None] => out = array([2, 3])[None];
m.shape[:1] => out/0 = 2;
m.shape[::-1] => out/0 = 3;out/1 = 2;
[x].shape => out/0 = 1;out/1 = n;
(lambda v, w: v + w)(w=x, v=1) => out = 1.0 + x;
0x10 => out = 16;
{'a': 1,} => out/a = 1;
{'a': x, 'b': [x, {'c': m}]} => out/a = x;out/b/0 = x;out/b/1/c = m;
sum(x, dtype='floatX') => out = sum(x);
stack(xs=[x, x]) => out = stack(x, x);
stack(xs=x) => out = stack(x);
pad(x, 1, 'edge') => out = x[clip(arange(-1, n + 1), 0, n - 1)];
tensordot(m, m, axes=([1], [1])) => out = m @ transpose(m, axes=[1, 0]);
m.reshape(3, 2) => out = reshape(m, [3, 2]);
m.transpose(1, 0) => out = transpose(m, axes=[1, 0]);
svd(m)[0] => out = _1;
[x, [1, 2]] + x => out = stack(x, array([1.0, 2.0], dtype='float64')) + x;
END
}

@test "shapes, axes and numbers of dims that can't be: at once where they are known" {
    local one line code want
    one=$(printf '1, %.0s' $(seq 31))1
    local exit
    while IFS='|' read -r line code want; do
        [ "$code" = E_LIMIT ] && exit=6 || exit=3
        bad "$exit" "$code" "$want" "gload --new -i 'w: float64[$one]' -i 'm: float64[2, 2]' -i 'x: float64' -i 's: int64[?]' -i 'u: float64[?, ?]' -e '${line//ONE/$one}'"
    done <<'END'
concatenate([])|E_ARITY|at least one tensor is needed
stack([])|E_ARITY|at least one tensor is needed
concatenate([x, x])|E_SHAPE|0-d tensors can't be joined along a dim: use stack
stack([w, w])|E_LIMIT|stack: a tensor has at most 32 dims
expand_dims(w, 0)|E_LIMIT|expand_dims: a tensor has at most 32 dims
w[None]|E_LIMIT|subtensor: a tensor has at most 32 dims
ones([ONE, 1])|E_LIMIT|ones: a tensor has at most 32 dims
reshape(x, [ONE, 1])|E_LIMIT|reshape: a tensor has at most 32 dims
repeat(w, 2, axis=0)[None, None]|E_LIMIT|subtensor: a tensor has at most 32 dims
tile(w, [1, 1])|E_LIMIT|tile: a tensor has at most 32 dims
tile(x, ones(40, dtype=int64))|E_LIMIT|tile: a tensor has at most 32 dims
tile(m, s)|E_SHAPE|tile: the number of repetitions must be known
broadcast_to(m, [2])|E_SHAPE|x has 2 dims, but the new shape only 1
reshape(m, s)|E_SHAPE|reshape: the number of dims must be known
moveaxis(m, [0, 1, 2], [0])|E_ARG|moveaxis: more axes than dims
moveaxis(m, [0, 1], [0])|E_ARG|moveaxis: 2 sources, but 1 destinations
moveaxis(m, [0, 0], [0, 1])|E_ARG|moveaxis: axis 0 is named twice
moveaxis(m, 0, 5)|E_ARG|moveaxis: axis 5 is out of range
swapaxes(m, 0, 5)|E_ARG|swapaxes: axis 5 is out of range
specify_shape(u, [2])|E_SHAPE|x has 2 dims, but 1 are specified
specify_shape(m[0], [2, 2])|E_SHAPE|x has 1 dim, but 2 are specified
broadcast_to(m[0], array([], dtype=int64))|E_SHAPE|x has 1 dim, but the new shape only 0
set_subtensor(m[0, 0], m[0])|E_SHAPE|y has 1 dim, but the indexed part only 0
concatenate([m[0], m])|E_SHAPE|it has 2 dims, but the first has 1
transpose(m, [0])|E_ARG|axes names 1 dim, but x has 2
take(m[0], 0, axis=1)|E_ARG|out of range for a tensor of 1 dim$
take_along_axis(m[0], [[0]], axis=0)|E_SHAPE|x has 1 dim, indices 2
flip(m[0], axis=1)|E_VALUE|out of range for 1 dim$
swapaxes(m[0], 0, 5)|E_ARG|out of range for a tensor of 1 dim$
searchsorted(m[0], 1.0, side="middle")|E_ARG|side must be 'left' or 'right', not 'middle'
searchsorted(m, 1.0)|E_SHAPE|a must have 1 dim, not 2
searchsorted(m, 1.0, batch_dims=-1)|E_ARG|batch_dims must be a number of dims, not -1
searchsorted(m, 1.0, batch_dims=1)|E_SHAPE|v must have at least 1 dim
searchsorted(ones((2, 3)), ones((3, 2)), batch_dims=1)|E_SHAPE|axis 0 has 2, axis 0 has 3, and they must be equal
recurrence(m[0], x)|E_SHAPE|b must have 1 dim, not 0
END
}

@test "shapes that a run alone can tell" {
    local g='gload --new -i "x: float64[4]" -i "s: int64[2]" -i "n: int64" -i "u: float64[?]"' line args want
    while IFS='|' read -r line args want; do
        bad 5 E_RUN_SHAPE "$want" "$g -e '$line' --outputs out | grun --mode FAST_COMPILE $args"
    done <<'END'
reshape(x, s)|x=[1,2,3,4] s=[-2,2]|sizes must be at least 0, except for a single -1
reshape(x, s)|x=[1,2,3,4] s=[-1,-1]|sizes must be at least 0, except for a single -1
zeros(s)|s=[2,-1]|size 1 of the requested shape is negative: -1
eye(n)|n=-1|eye: a size can't be negative
eye(2, n)|n=-1|eye: a size can't be negative
specify_shape(u, [2])|u=[1,2,3]|got shape \(3,\), expected \(2,\)
END
}

@test "indices of narrow dtypes and strides, running products of complex numbers" {
    ok 'gload --new -i "x: float64[4]" -i "i: int32[2]" -e "x[i]" | grun x=[1,2,3,4] i=[0,2]' 'out = [1.0, 3.0]'
    ok 'gload --new -i "x: float64[4]" -i "i: uint8[2, 2]" -e "x[i[:, 0]]" | grun x=[1,2,3,4] i=[[0,2],[3,1]]' 'out = [1.0, 4.0]'
    ok 'gload --new -i "x: complex128[3]" -e "cumprod(x)" | grun x=[1+1j,2,3j]' 'out = [(1.0+1.0j), (2.0+2.0j), (-6.0+6.0j)]'
    ok 'gload --new -i "x: complex64[3]" -e "cumprod(x[::-1])" | grun x=[1+1j,2,3j]' 'out = [(0.0+3.0j), (0.0+6.0j), (-6.0+6.0j)]'
    ok 'gload --new -i "x: complex64[3]" -e "recurrence(x, x)" | grun x=[1,2,3]' 'out = [(1.0+0.0j), (4.0+0.0j), (15.0+0.0j)]'
    ok 'gload --new -i "x: float64[2, 3]" -e "vectorize(lambda r: argmax(r, keepdims=True))(x)" | grun x=[[1,2,3],[5,1,2]]' $'out = [[2],\n       [0]]'
}

@test "large arrays in pieces, over two threads: running sums, flips, transposes, extremes, takes" {
    local line want
    while IFS='|' read -r line want; do
        ok "gload --new -i 'n: int64' -e '$line' | grun --threads 2 --mode FAST_COMPILE n=4000" "out = $want"
        ok "gload --new -i 'n: int64' -e '$line' | grun --threads 1 n=4000" "out = $want"
    done <<'END'
sum(abs(cumsum(ones((n, 300)), axis=0)[-1] - 4000))|0.0
sum(abs(cumsum(ones((300, n)), axis=1)[:, -1] - 4000))|0.0
sum(abs(logsumexp(zeros((n, 600)), axis=1) - log(600.0)) < 1e-12)|4000
sum(argmax(eye(n // 2), axis=1) == arange(n // 2))|2000
sum(argmax(int8(eye(n // 40)), axis=1) == arange(n // 40))|100
sum(argmax(int16(eye(n // 40)), axis=1) == arange(n // 40))|100
sum(argmax(int32(eye(n // 40)), axis=1) == arange(n // 40))|100
sum(argmax(int64(eye(n // 40)), axis=1) == arange(n // 40))|100
prod(full([n + 1], 1j))|(0.0+1.0j)
prod(full([n + 1, 3], 1j), axis=0)[1]|(0.0+1.0j)
sum(argmax(where(eye(n // 40) > 0, nan, 0.0), axis=1) == arange(n // 40))|100
sum(argmin(where(eye(n // 40) > 0, float32(nan), float32(0.0)), axis=1) == arange(n // 40))|100
sum(argmin(-eye(n // 2), axis=0) == arange(n // 2))|2000
cumsum(full([n], 1+1j))[-1]|(4000.0+4000.0j)
cumsum(full([n], 1+1j), exclusive=True)[-1]|(3999.0+3999.0j)
cumprod(full([n + 1], 1j))[-1]|(0.0+1.0j)
imag(cumprod(full([n + 2], 1j), exclusive=True)[-1])|1.0
recurrence(full([n + 1], 1j), full([n + 1], 1+0j))[-1]|(1.0+0.0j)
cumprod(full([n + 1], -1))[-1]|-1
cumprod(full([n + 1], -1), exclusive=True)[-1]|1
cumprod(full([n + 1], -1.0), exclusive=True)[-1]|1.0
recurrence(full([n], -1), full([n], 1))[-1]|0
recurrence(full([n], -1.0), full([n], 1.0))[-1]|0.0
sum(flip(arange(250 * n), 0) == arange(250 * n - 1, -1, -1))|1000000
sum(transpose(reshape(arange(300 * n), (100, n // 40, 120)), (2, 1, 0))[3, 5] == arange(100) * 12000 + 603)|100
sum(transpose(reshape(arange(300 * n), (100, n // 40, 120)), (2, 1, 0))[::-1, :, ::2][0, 0] == arange(0, 100, 2) * 12000 + 119)|50
sum(arange(250 * n)[arange(250 * n - 1, -1, -1)] == arange(250 * n - 1, -1, -1))|1000000
sum(full([256 * n], 2.5))|2560000.0
END
}
