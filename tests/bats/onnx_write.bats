# Models of ONNX as output. What is written is read back by gload and gives the same values; where onnx's checker and
# ONNX Runtime are installed (python3-onnx, onnxruntime-node by NODE_PATH), they look at it too.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
    DATA=$ROOT/tests/data/onnx
    export DATA
}

# again VALUES EXPRESSION...: with the inputs x (float32[n, 3, 4]), k and c, the expressions give the same as a graph and
# as a model.
again() {
    local values=$1 args=() outputs='' i=0 e
    shift
    for e; do
        i=$((i + 1))
        args+=(-e "r$i = $e")
        outputs=$outputs${outputs:+,}r$i
    done
    gload --new -i 'x: float32[n, 3, 4]' -i 'k: int64' -i 'c: bool' "${args[@]}" --outputs "$outputs" \
        --on-unused-input ignore -o plain.tlg || return
    ok 'gload plain.tlg -O onnx -o model.onnx' || return
    ok "grun plain.tlg $values >plain.out" || return
    ok "grun model.onnx $values >model.out" || return
    diff plain.out model.out >&2
}
values="'x=reshape(arange(24),(2,3,4))/8-1' k=1 c=False"

@test "elementwise: what ONNX has a node for, and formulas for the rest" {
    again "$values" 'abs(x) + exp(x) * -x' 'where(x > 0, x, 2 * x)' 'maximum(x, 0.5) - minimum(x, 0)' 'x < 1' '~((x > 0) & (x < 1)) | (x == 1)' \
        'round(x * 2)' 'trunc(x * 3)' 'floor(x) + ceil(x)' 'sign(x)' 'isfinite(1 / x)' 'clip(x, 0, 1)' 'x ** 2' 'square(x)' 'int32(x * 10)' 'bool(x)'
    again "$values" 'int32(8 * x) // 3' 'int32(8 * x) % -3' 'int32(8 * x) << 2' 'int32(8 * x) >> 1' 'int8(x) + int8(100)' 'uint8(x) - uint8(7)' \
        '-int64(8 * x)' '-uint8(x)' 'x / (2 * k)' 'int32(8 * x) / 2' 'x % 0.75' 'x // 0.75' 'fmod(x, 0.75)' 'copysign(x, -1.)'
}

@test "formulas keep the accuracy of the ops" {
    ok 'gload --new -i "x: float64[5]" -e "a = log1p(x)" -e "b = expm1(x)" -e "c = erfc(x)" -e "d = gammaln(x)" -e "e = softplus(-x)" -e "f = log_ndtr(-x)" --outputs a,b,c,d,e,f -o f.onnx'
    ok 'gload --new -i "x: float64[5]" -e "a = log1p(x)" -e "b = expm1(x)" -e "c = erfc(x)" -e "d = gammaln(x)" -e "e = softplus(-x)" -e "f = log_ndtr(-x)" --outputs a,b,c,d,e,f -o f.tlg'
    ok 'grun f.tlg x=[1e-10,0.3,1.5,9,25] -r a=f.npz -r b=f.npz -r c=f.npz -r d=f.npz -r e=f.npz -r f=f.npz >.got'
    ok 'grun f.onnx x=[1e-10,0.3,1.5,9,25] --expect a=@f.npz:a --expect b=@f.npz:b --expect c=@f.npz:c --expect d=@f.npz:d --expect e=@f.npz:e --expect f=@f.npz:f --rtol 1e-13 --atol 0 >.got'
}

@test "reductions, sorting, products" {
    again "$values" 'sum(x)' 'sum(x, axis=(0, 2), keepdims=True)' 'mean(x, axis=1)' 'max(x, axis=-1)' 'prod(x[:, :, 0])' 'any(x > 1.5, axis=0)' 'all(x > -2)' \
        'argmax(x, axis=2)' 'argmin(x)' 'cumsum(x, axis=1)' 'cumprod(x, axis=2)' 'sum(int8(x))' 'sort(-x, axis=1)' 'argsort(-x, axis=2)' 'topk(x, 2)[0]' 'x @ x[0].T' \
        'einsum("nij,mij->nm", x, x)' 'median(x)' 'count_nonzero(x > 0)'
}

@test "shapes, also those that a run decides" {
    again "$values" 'reshape(x, (n * 3, 4))' 'transpose(x)' 'x[:, None] + 0' 'broadcast_to(x[0], (n + 1, 3, 4))' 'concatenate([x, x], axis=1)' 'stack([x, -x], axis=1)' \
        'zeros((n, k + 1))' 'arange(n * k)' 'eye(n, 3, k=1)' 'x / n' 'tile(x, (1, 2, 1))' 'repeat(x, 2, axis=2)' 'roll(x, 1, axis=2)' 'flip(x)' 'pad(x, 1)' \
        'pad(x, [[0, 0], [1, 1], [2, 1]], mode="reflect")' 'tril(x[0])' 'diagonal(x, axis1=1, axis2=2)' 'one_hot(int64(x[0] > 0), 2)' 'linspace(0., 1., 5)' 'squeeze(x[:1])' 'full_like(x, k)'
}

@test "indices: slices, integers, arrays, masks; what is set and added there" {
    again "$values" 'x[1:, ::-1, k]' 'x[:, -1:k:-1]' 'x[..., None, -1]' 'x[[0, 1], :, [1, 2]]' 'x[:, [0, 2], [1, 1]]' 'x[:, None, [[0, 1], [1, 0]]]' 'x[[1, 0], None, [1, 2]]' 'x[:, [[1], [0]], [3, 0, 1]]' 'x[[[[1]], [[0]]], [[2], [0]], [3, 0]]' 'x[x > 1]' \
        'x[:, [True, False, True], [1, 2]]' 'take_along_axis(x, argsort(-x, axis=2), axis=2)' 'nonzero(x > 1.5)' 'unique(round(x))' 'set_subtensor(x[:, k], 0)' 'set_subtensor(x[x > 1], 7)' \
        'inc_subtensor(x[:, [0, 0]], 1)' 'scatter_elements(x, argsort(x, axis=1), x, axis=1)' 'gather_nd(x, [[1, 2]])' 'searchsorted(x[0, 0], x[0, 1])' 'searchsorted(cumsum(abs(x), axis=2), abs(x[:, :, :2]), side="right", batch_dims=2)' \
        'searchsorted(cumsum(abs(x[:, 0]), axis=1), abs(x), batch_dims=1)'
}

@test "conditions and loops" {
    again "$values" 'ifelse(c, exp(x), ifelse(sum(x) > 3, sin(x), -x))' 'scan(lambda a, s: s * 0.5 + a, sequences=[x], outputs_info=[x[0] * 0])' \
        'scan(lambda s: s * 2 + float32(k), outputs_info=[x[0]], n_steps=n, keep=["last"])' 'scan(lambda a, b: a + b, outputs_info=[{"initial": [1, 1], "taps": [-2, -1]}], n_steps=8)' \
        'scan(lambda s: [s * 2, {"until": s > 50}], outputs_info=[x[0, 0, 0] + 2], n_steps=20)' 'map(lambda r: sum(r) * k, x)'
    again "${values/False/True}" 'ifelse(c, exp(x), ifelse(sum(x) > 3, sin(x), -x))'
    # what only a branch needs is in that branch
    [ "$(gload --info model.onnx | grep -c Loop)" = 0 ]
}

@test "networks: padding by words and by numbers, pools, dtypes that ONNX's ops don't take" {
    local w='float32(reshape(sin(arange(18.)), (2, 3, 3)))'
    again "$values" "conv(x, $w, padding='same')" "conv(x, $w, padding='same_lower', strides=2)" "conv(x, $w, padding='valid')" "conv(x, $w, padding=[-1, 2])" \
        "conv(x[:, :, :3], $w, padding='same', strides=2, dilations=2)" "conv_transpose(x, float32(ones((3, 2, 2))), padding='same', strides=2)"
    again "$values" "max_pool(x, 3, padding='same_lower', strides=2)" "max_pool(x, 2, padding='same_upper')" "max_pool(x, 2, padding=[1, 0], ceil=True)" \
        'sum_pool(x, 2, padding=1)' 'max_pool(x, 2, dilations=2)' 'max_pool(int8(8 * x), 2)' 'max_pool(int32(8 * x), 2)' 'max_pool_positions(x, 2)' 'avg_pool(x, 2, padding=1, include_pad=True)'
    again "$values" 'int16(x * 3) * int16(2)' 'uint32(x + 3) + uint32(1)' 'int16(x * 9) // int16(2)' 'uint16(x + 5) % uint16(3)' 'maximum(int16(x * 3), int16(1))' 'sum(int16(x * 3))' \
        'erf(float16(x))' 'sort(int32(x * 8), axis=1, descending=True)' 'topk(x, k + 1)[1]' 'bool(k)' 'where(c, x, 0)'
    again "$values" 'scan(lambda a, b: a + b, outputs_info=[{"initial": [1, 1, 2], "taps": [-3, -1]}], n_steps=8)' \
        'scan(lambda a, b, s: s + a * b, sequences=[{"input": x, "taps": [0, 1]}], outputs_info=[x[0]])' 'scan(lambda a, s: s * 0.5 + a, sequences=[x], outputs_info=[x[0] * 0], go_backwards=True)' \
        'scan(lambda s: s * 2, outputs_info=[x[0]], n_steps=3, keep=[2])' 'ifelse(c, [x, x], [x, -x])[1]' 'list_append([x], x * 2)[1]'
    local e
    for e in 'avg_pool(x, 2, dilations=2)|avg_pool with dilations' 'x[:, :, ::k]|no open slice whose step is known only in a run' 'scan(lambda s: print(s * 2, "s"), outputs_info=[x[0]], n_steps=3)|ONNX has no effects' \
        'resize(x, [n, 3, 8])|ONNX has no resample at such places' 'erfinv(x)|ONNX has no op for erfinv'; do
        gload --new -i 'x: float32[n, 3, 4]' -i 'k: int64' -e "r = ${e%|*}" --outputs r --on-unused-input ignore -o e.tlg
        shell 'gload e.tlg -o e.onnx'
        [ "$status" = 3 ] && [ ! -e e.onnx ] && grep -qF "${e#*|}" .err || { cat .err; false; }
    done
}

@test "a long chain of conditions is not nested without end" {
    {
        printf 'thunkline: 1\ninputs: {x: float64, c: bool}\nlet: |\n  y0 = x\n'
        for i in {1..3000}; do printf '  y%d = ifelse(c, y%d + 1, 0.)\n' "$i" $((i - 1)); done
        printf 'outputs: [y3000]\n'
    } >chain.yaml
    ok 'gload chain.yaml -o chain.onnx'
    ok 'grun chain.onnx x=1 c=True' 'y3000 = 3001.0'
}

@test "networks and their gradients" {
    local n
    for n in cnn conv1d attention lstm; do
        ok "gload \$DATA/$n.onnx -o $n.onnx" || return
        ok "grun $n.onnx x=@\$DATA/$n.npz:x --expect y=@\$DATA/$n.npz:y --rtol 1e-4 --atol 1e-6 >.got" || return
        gload "$DATA/$n.onnx" -e 'cost = sum(y)' --outputs cost | ggrad --cost cost --wrt x --name 'd_{wrt}' -o "d_$n.onnx"
        ok "grun d_$n.onnx x=@\$DATA/$n.npz:x --expect d_x=@\$DATA/$n.npz:dx --rtol 1e-3 --atol 1e-5 >.got" || return
    done
    ok 'gload $DATA/cnn.onnx -e "cost = sum(y)" --outputs cost | ggrad --cost cost --wrt v0_weight,v8_bias --name d_{wrt} | grewrite -O onnx >g.onnx'
    ok 'grun g.onnx x=@$DATA/cnn.npz:x --expect d_v0_weight=@$DATA/cnn.npz:0_weight --expect d_v8_bias=@$DATA/cnn.npz:8_bias --rtol 1e-3 --atol 1e-5 >.got'
}

@test "gradients of convolutions with groups, strides and padding" {
    cat >conv.yaml <<'END'
thunkline: 1
inputs: {x: 'float32[2, 4, 7, 6]', w: 'float32[6, 2, 3, 2]'}
let: |
  y = conv(x, w, strides=[2, 1], padding=[[1, 2], [0, 1]], dilations=[1, 2], groups=2)
  p = max_pool(y, 2, strides=1, padding=1)
  q = avg_pool(p, 3, strides=2, padding=1)
  loss = sum(q * q)
outputs: [loss]
END
    ok 'ggrad conv.yaml --cost loss --wrt x,w --name d_{wrt} -o conv.tlg' && ok 'gload conv.tlg -o conv.onnx'
    ok 'grun conv.tlg "x=reshape(float32(sin(arange(336))),(2,4,7,6))" "w=reshape(float32(cos(arange(72))),(6,2,3,2))" -r d_x=c.npz -r d_w=c.npz -r loss=c.npz >.got'
    ok 'grun conv.onnx "x=reshape(float32(sin(arange(336))),(2,4,7,6))" "w=reshape(float32(cos(arange(72))),(6,2,3,2))" --expect loss=@c.npz:loss --expect d_x=@c.npz:d_x --expect d_w=@c.npz:d_w --rtol 1e-4 --atol 1e-4 >.got'
}

@test "weights are initializers; what is updated is an input, and an output NAME_new" {
    gload --new -i 'x: float32[3]' --shared 'w: float32[3] = [1, 2, 3]' --shared 'b: float32 = 2' -e 'l = sum(w * x) + b' --update 'w = w - 0.5 * x' --outputs l -o m.onnx
    like 'gload --info m.onnx' 'inputs +x +float32\[3\]' 'w +float32\[3\], value' 'b +float32, value' 'w_new +float32\[3\]'
    ok 'grun m.onnx x=[1,1,2]' 'l = 11.0
w_new = [0.5, 1.5, 2.0]'
    gload --new -i 'x: float32[3]' --shared 'w: float32[3] = 2 * ones(3)' -e 'y = x * w' --outputs y -o m.onnx
    ok 'grun m.onnx x=[1,2,3]' 'y = [2.0, 4.0, 6.0]'
}

@test "names, dims and values survive" {
    gload "$DATA/cnn.onnx" -o a.onnx && gload a.onnx -o b.onnx && gload b.onnx -o c.onnx
    like 'gload --info a.onnx' 'x +float32\[n, 1, 8, 8\]' 'v0_weight +float32\[4, 1, 3, 3\], value' 'y +float32\[n, 3\]'
    ok 'grun c.onnx x=@$DATA/cnn.npz:x --expect y=@$DATA/cnn.npz:y --rtol 1e-4 --atol 1e-6 >.got'
    ok 'gload <$DATA/cnn.onnx -O onnx | cmp - a.onnx'
    ok 'gload $DATA/cnn.onnx -z -O onnx | zstd -dcq | cmp - a.onnx'
}

@test "--opset chooses the version of the ops" {
    local n
    for n in 13 15 17 18 22; do
        ok "gload --new -i 'x: float32[2, 3]' -e 'y = mean(x, axis=1) + sum(x)' --outputs y -O onnx --opset $n >m.onnx" || return
        ok 'grun m.onnx x=[[1,2,3],[4,5,6]]' 'y = [23.0, 26.0]' || return
    done
    bad 3 E_ARG 'bitwise_and of integers before opset 18' 'gload --new -i "x: int32[2]" -e "y = x & 3" --outputs y -O onnx'
    ok 'gload --new -i "x: int32[2]" -e "y = x & 3" --outputs y -O onnx --opset 18 | grun - x=[6,9]' 'y = [2, 1]'
    bad 3 E_VALUE 'models are written for 13 to 22' 'gload --new -e 1+1 -O onnx --opset 9'
}

@test "what ONNX can't say is one error, and no file" {
    bad 3 E_NAME 'ONNX has no op for svd' 'gload --new -i "a: float64[3, 3]" -e "y = sum(svd(a)[1])" --outputs y -o no.onnx'
    grep -q "in svd, which the output 'y' needs" .err && [ ! -e no.onnx ]
    bad 3 E_TYPE 'ONNX has no effects, such as print' 'gload --new -i x:float64 -e "y = print(x)" --outputs y -O onnx'
    bad 3 E_DTYPE 'ONNX has no exp of complex128 numbers' 'gload --new -i x:complex128 -e "y = exp(x)" --outputs y -O onnx'
    bad 3 E_TYPE "the input 'r' is random, a type that ONNX does not have" 'gload --new -i "r: random" -i x:float64 -e "y = x" --outputs y --on-unused-input ignore -O onnx'
    bad 3 E_NAME 'ONNX has no op for normal' 'gload --new -e "y = normal(0., 1., 3, seed=1)" --outputs y -O onnx'
}

@test "fused groups, functions and ops of a file are written out" {
    printf 'thunkline: 1\nops:\n  twice: {doc: Two x., inputs: x, def: x + x}\n' >own.yaml
    ok 'gload --ops own.yaml --new -i "x: float64[2]" -e "y = exp(twice(x)) * sin(x) + 1" --outputs y -o own.tlg'
    ok 'gload --ops own.yaml own.tlg -O onnx | grun - x=[0,1] >a.out && grun --ops own.yaml own.tlg x=[0,1] | diff - a.out'
    ok 'grewrite --ops own.yaml own.tlg -O onnx | grun - x=[0,1] | diff - a.out'
}

@test "a called function has the dims of its arguments" {
    cat >calls.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[3]', y: 'float64[n]', c: bool}
functions:
  f: {inputs: {a: 'float64[n]'}, let: 'r = reshape(a * n, (n, 1))', outputs: [r]}
  g: {inputs: {a: 'float64[p]', b: bool}, let: 'r = ifelse(b, sum(f(a)) + p, a[0])', outputs: [r]}
let: |
  u = f(x)
  v = f(y)
  w = g(x, c)
  z = scan(lambda s: s + g(x, c), outputs_info=[0.], n_steps=2)
outputs: [u, v, w, z]
END
    ok 'gload calls.yaml -o calls.onnx'
    local c
    for c in True False; do
        ok "grun calls.yaml x=[1,2,3] y=[4,5] c=$c >a.out && grun calls.onnx x=[1,2,3] y=[4,5] c=$c | diff a.out -" || return
    done
}

@test "repeats, by one count and by several, known and not" {
    while IFS='|' read -r k e values; do
        gload --new -i 'x: float64[n, 2]' -i "k: $k" -e "y = repeat(x, k, axis=$e)" --outputs y -o r.tlg
        ok 'gload r.tlg -o r.onnx' || return
        ok "grun r.tlg x=[[1,2],[3,4]] k=$values >a.out && grun r.onnx x=[[1,2],[3,4]] k=$values | diff a.out -" || return
    done <<'END'
int64|0|2
int64|1|3
int64[1]|1|[3]
int64[2]|1|[2,3]
int64[n]|0|[2,1]
int64[?]|0|[0,2]
END
}

@test "an index has as many items as it likes" {
    local ones zeros
    printf -v ones '1,%.0s' {1..32}
    printf -v zeros '0,%.0s' {1..31}
    ok "gload --new -i x:int64 -e 'y = full((${ones%,}), 7)[None,${zeros}x]' -e 'z = full((${ones%,}), 7)[...,None,${zeros}x:]' --outputs y,z -o i.onnx"
    ok 'grun i.onnx x=0' 'y = [7]
z = [[7]]'
}

@test "values and ops that ONNX lacks, wherever they are" {
    local in e code text
    while IFS='|' read -r in e code text; do
        gload --new -i 'x: float64[3]' -i 'c: bool' -i "$in" -e "y = $e" --outputs y --on-unused-input ignore -o lacks.tlg || return
        bad 3 "$code" "$text" 'gload lacks.tlg -O onnx' || return
    done <<'END'
k: int64|x[ifelse(c, slice(0, 2), slice(0, 1))]|E_TYPE|a constant is slice, a type that ONNX does not have
k: int64|slice(0, 2)|E_TYPE|the output 'y' is slice, a type
i: slice|x[i]|E_TYPE|the input 'i' is slice, a type
l: list(random)|x|E_TYPE|the input 'l' is list.random., a type
s: sparse('csr', float64[2, 3])|x|E_TYPE|the input 's' is sparse
l: list(float64[?])|list_reverse(l)|E_NAME|ONNX has no op for list_reverse
l: list(float64[?])|l[:1]|E_ARG|ONNX has no slice of a list
l: list(float64[?])|scan(lambda s: list_append(s, x), outputs_info=[l], n_steps=3)|E_TYPE|loops of ONNX have tensors
k: int64|scan(lambda s: s + erfinv(x), outputs_info=[x], n_steps=3)|E_NAME|ONNX has no op for erfinv
k: int64|scan(lambda s: [s * 2, {"until": erfinv(s[0]) > 1}], outputs_info=[x], n_steps=3)|E_NAME|ONNX has no op for erfinv
k: int64|ifelse(c, erfinv(x), x)|E_NAME|ONNX has no op for erfinv
k: int64|ifelse(c, x, erfinv(x))|E_NAME|ONNX has no op for erfinv
k: int64|x[erfinv(x) > 0]|E_NAME|ONNX has no op for erfinv
z: complex64[3]|sum(z)|E_DTYPE|ONNX has no sum of complex64 numbers
z: complex64[3]|real(z)|E_ARG|ONNX has no complex numbers
z: complex64[3]|conj(z)|E_ARG|ONNX has no complex numbers
v: uint32[3]|~v|E_ARG|ONNX has no invert of unsigned integers before opset 18
v: float64[k]|convolve(x, v)|E_ARG|ONNX has no convolve by a length that is known only in a run
v: float64[k, 2]|convolve(v, v, batch_dims=1)|E_ARG|ONNX has no convolve of a number of vectors that is known only in a run
v: float64[3]|convolve(x, v, mode='same')|E_ARG|ONNX has no convolve with another mode than full
p: float32[1, 1, n, m]|conv(p, float32(ones((1, 1, 3, 3))), padding='same')|E_ARG|padding='same' needs sizes that are known
p: float32[1, 1, n, m]|conv(float32(ones((1, 1, 6, 6))), p, padding='same')|E_ARG|padding='same' needs sizes that are known
p: float32[1, 1, n, m]|grad(sum(conv(p, float32(ones((1, 1, 3, 3))), padding='same')), p)|E_ARG|padding='same' needs sizes that are known
p: float32[1, 1, n, m]|grad(sum(conv(float32(ones((1, 1, 6, 6))), p, padding='same')), p)|E_ARG|padding='same' needs sizes that are known
p: float32[1, 1, n, m]|conv_transpose(p, p, padding='same')|E_ARG|padding='same' needs sizes that are known
p: float32[1, 1, n, m]|sum_pool(p, 2, ceil=True)|E_ARG|ONNX has no sum_pool with ceil=True
p: float32[1, 1, n, m]|resize(p, (5, 3), 'linear', antialias=True)|E_ARG|ONNX has no resample at such places
v: float64[3]|scatter_nd(v, [[0]], [1.], reduction='max')|E_ARG|ONNX has no largest or smallest of elements at an index before opset 18
END
}

@test "what two branches share, conditions that are numbers, weights of other kinds" {
    ok 'gload --new -i "x: float64[3]" -i c:bool -i k:int64 -e "y = exp(x)" -e "a = ifelse(c, y * 2, y * 3)" -e "b = ifelse(c, sin(x) + 2, ifelse(k, sin(x) + 1, x))" -e "d = ifelse(k, ifelse(c, cos(x) + 1, x), cos(x) + 2)" --outputs a,b,d -o s.tlg && gload s.tlg -o s.onnx'
    local v
    for v in 'c=True k=0' 'c=False k=2'; do
        ok "grun s.tlg x=[1,2,3] $v >a.out && grun s.onnx x=[1,2,3] $v | diff a.out -" || return
    done
    # a weight that is a view, a list, one without a value, a dim that no input has, a doc
    cat >kinds.yaml <<'END'
thunkline: 1
doc: Weights of all kinds.
dims: [m]
inputs: {x: 'float64[2]'}
shared:
  w: 'float64[3, 2] = transpose([[1., 2., 3.], [4., 5., 6.]])'
  l: 'list(float64[?]) = [[1., 2.], [3.]]'
let: |
  y = w @ x
  z = l[0] + 1.
  a = arange(m)
outputs: [y, z, a]
END
    ok 'gload kinds.yaml -O onnx --opset 20 >kinds.onnx'
    like 'gload --info kinds.onnx' 'Weights of all kinds' 'l +list\(float64\[\?\]\)' 'm +int64'
    ok "grun kinds.onnx x=[1,2] l=[[1,2],[3]] m=2" 'y = [9.0, 12.0, 15.0]
z = [2.0, 3.0]
a = [0, 1]'
}

@test "onnx's checker has nothing to say" {
    /usr/bin/python3 -c 'import onnx' 2>/dev/null || skip 'python3-onnx is not installed'
    again "$values" 'ifelse(c, exp(x), ifelse(sum(x) > 3, sin(x), -x))' 'scan(lambda a, s: s * 0.5 + a, sequences=[x], outputs_info=[x[0] * 0])' 'x[:, None, [[0, 1], [1, 0]]]' 'set_subtensor(x[x > 1], 7)'
    cp model.onnx loops.onnx
    for n in cnn conv1d attention lstm; do gload "$DATA/$n.onnx" -o "$n.onnx"; done
    gload cnn.onnx -e 'cost = sum(y)' --outputs cost | ggrad --cost cost --wrt x -o grad.onnx
    for n in loops cnn conv1d attention lstm grad; do
        ok "/usr/bin/python3 -c 'import onnx, sys; onnx.checker.check_model(onnx.load(sys.argv[1]), full_check=True)' $n.onnx" || return
    done
}

@test "ONNX Runtime gives the same" {
    node -e 'require("onnxruntime-node")' 2>/dev/null || skip 'onnxruntime-node is not installed'
    cat >run.js <<'END'
const ort = require('onnxruntime-node');
(async () => {
    const s = await ort.InferenceSession.create(process.argv[2], { logSeverityLevel: 3 });
    const x = Float32Array.from({ length: 24 }, (_, i) => i / 8 - 1);
    const all = { x: new ort.Tensor('float32', x, [2, 3, 4]), k: new ort.Tensor('int64', [1n], []), c: new ort.Tensor('bool', [false], []) };
    const r = await s.run(Object.fromEntries(s.inputNames.map(n => [n, all[n]])));
    for (const n of s.outputNames) console.log(n, r[n].dims.join(), Array.from(r[n].data, v => Number(v).toPrecision(5)).join(' '));
})();
END
    again "$values" 'ifelse(c, exp(x), ifelse(sum(x) > 3, sin(x), -x))' 'scan(lambda a, s: s * 0.5 + a, sequences=[x], outputs_info=[x[0] * 0])' 'x[:, None, [[0, 1], [1, 0]]] * k' \
        'set_subtensor(x[x > 1], 7)' 'inc_subtensor(x[:, [0, 0]], 1)' 'log1p(x + 1.5)' 'x % 0.75' 'sort(-x, axis=1)'
    shell 'node run.js model.onnx'
    grun plain.tlg x='reshape(arange(24),(2,3,4))/8-1' k=1 c=False -O json >plain.json
    /usr/bin/python3 - <<'END'
import json
ours = [json.loads(l) for l in open('plain.json')]
for o, l in zip(ours, open('.out')):
    name, dims, values = l.split(' ', 2)
    flat = lambda v: sum(map(flat, v), []) if isinstance(v, list) else [v]
    a, b = flat(o['data']), [float(v) for v in values.split()]
    assert o['name'] == name and len(a) == len(b) and all(abs(p - q) <= 1e-4 * max(1, abs(p)) for p, q in zip(a, b)), (name, a, b)
END
}
