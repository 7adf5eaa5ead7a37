# Models of ONNX: tests/data/onnx/make.py wrote them, with what PyTorch makes of them.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
    DATA=$ROOT/tests/data/onnx
    export DATA
}

@test "networks from PyTorch give its results, and its gradients by input and weights" {
    local n
    for n in cnn conv1d attention lstm; do
        ok "gload \$DATA/$n.onnx | grun x=@\$DATA/$n.npz:x --expect y=@\$DATA/$n.npz:y --rtol 1e-4 --atol 1e-6 >.got" || return
        gload "$DATA/$n.onnx" -e 'cost = sum(y)' --outputs cost -o "$n.tlg"
        ok "ggrad $n.tlg --cost cost --wrt x --name d_{wrt} | grun - x=@\$DATA/$n.npz:x --expect d_x=@\$DATA/$n.npz:dx --rtol 1e-3 --atol 1e-5 >.got" || return
    done
    ok 'ggrad cnn.tlg --cost cost --wrt v0_weight,v8_bias --name d_{wrt} | grun - x=@$DATA/cnn.npz:x --expect d_v0_weight=@$DATA/cnn.npz:0_weight --expect d_v8_bias=@$DATA/cnn.npz:8_bias --rtol 1e-3 --atol 1e-5 >.got'
    ok 'gload $DATA/cnn.onnx | grun --mode DEBUG x=@$DATA/cnn.npz:x --expect y=@$DATA/cnn.npz:y --rtol 1e-4 --atol 1e-6 >.got'
}

@test "a model reads the same from a file, a pipe and through every form" {
    gload "$DATA/cnn.onnx" --no-provenance -O yaml >a.yaml
    ok 'gload --no-provenance -O yaml <$DATA/cnn.onnx | diff - a.yaml'
    ok 'zstd -qc $DATA/cnn.onnx | gload --no-provenance -O yaml | diff - a.yaml'
    ok 'gload a.yaml | grun x=@$DATA/cnn.npz:x --expect y=@$DATA/cnn.npz:y --rtol 1e-4 --atol 1e-6 >.got'
    ok 'gload $DATA/lstm.onnx -O json | grun x=@$DATA/lstm.npz:x --expect y=@$DATA/lstm.npz:y --rtol 1e-4 --atol 1e-6 >.got'
    ok 'gprof --static $DATA/cnn.onnx --dim n=2 >.got'
}

@test "names and dims are kept, or made identifiers" {
    like 'gload --info $DATA/cnn.onnx' 'x +float32\[n, 1, 8, 8\]' 'v0_weight +float32\[4, 1, 3, 3\], value' 'y +float32\[n, 3\]'
    like 'gload --info $DATA/functions.onnx' 'layer_1_out_0 +float32\[3\]'
}

@test "names of the model stay beside ours, in every form, and come back" {
    local form
    for form in tlg yaml json; do
        gload "$DATA/norm.onnx" -o "n.$form" && gload "n.$form" -o back.onnx
        LC_ALL=C grep -qa 'bn.running_mean' back.onnx && LC_ALL=C grep -qa /bn/out back.onnx && LC_ALL=C grep -qa 'y:0' back.onnx || return
        ok "gload n.$form --set 'bn.weight=[2, 3]' | gload --rename 'bn.weight=w' --outputs w,/bn/out | grun x=[[1,2]] --expect /bn/out=[[1,4.5]] --rtol 1e-4 | head -1" 'w = [2.0, 3.0]' || return
    done
    gload n.tlg -o w.safetensors
    like 'gload --info w.safetensors' 'arrays +bn.weight +float32' ' 2.weight +float32' 'bn.running_mean'
    ok 'gload n.tlg --set @w.safetensors | gload --no-provenance | cmp - <(gload n.tlg --no-provenance)'
    ok "gload n.tlg --rename bn.weight=w -O onnx | gload --info | grep -o 'w  *float32.2., value'" 'w                float32[2], value'
    bad 2 E_UNKNOWN 'bn.wieght' 'gload n.tlg --freeze bn.wieght'
    grep -q 'did you mean bn.weight' .err
}

@test "what was measured is not differentiated by, unless --wrt names it" {
    local form
    for form in tlg yaml json; do
        gload "$DATA/norm.onnx" -e 'c = sum(y_0)' --outputs c -o "n.$form"
        ok "ggrad n.$form --cost c | gload --info | grep -o 'd_c_d_[a-z0-9_]*' | sort -u | tr '\n' ' '" 'd_c_d_bn_bias d_c_d_bn_weight d_c_d_v2_weight ' || return
        ok "gload n.$form --prefix p_ | gload - n.$form | ggrad --cost p_c | gload --info | grep -o 'd_p_c_d_[a-z0-9_]*' | sort -u | tr '\n' ' '" \
            'd_p_c_d_p_bn_bias d_p_c_d_p_bn_weight d_p_c_d_p_v2_weight ' || return
    done
    ok "ggrad n.tlg --cost c --wrt bn.running_mean | grun --outputs d_c_d_bn_running_mean x=[[1,2]]" 'd_c_d_bn_running_mean = [-2.99997, -0.4999988]'
    ok "gload n.yaml --freeze '*' | ggrad --cost c | gload --info | grep -o 'd_c_d_[a-z0-9_]*' | sort -u" d_c_d_x
    printf 'thunkline: 1\nshared: {w: float64}\nlet: {y: w + 1}\nstatistics: [y]\n' >s.yaml
    bad 3 E_TYPE 'y is no shared variable' 'gload s.yaml'
    printf 'thunkline: 1\nshared: {w: float64}\naliases: {v: a.b}\n' >s.yaml
    bad 3 E_NAME 'there is no variable "v"' 'gload s.yaml'
}

@test "loops end by their condition or count; conditions choose a graph" {
    ok 'gload $DATA/control.onnx | grun M=10 x=[1,2] flag=True' "last = [64.0, 128.0]
sums = [6.0, 12.0, 24.0, 48.0, 96.0, 192.0]
z = [-64.0, -128.0]"
    ok 'gload $DATA/control.onnx | grun M=2 x=[1,2] flag=False' "last = [4.0, 8.0]
sums = [6.0, 12.0]
z = [4.0, 8.0]"
    ok 'gload $DATA/control.onnx --set M=0 --set flag=False | grun x=[1,-2] --outputs last,z' "last = [1.0, -2.0]
z = [1.0, 2.0]"
}

@test "lists whose items are known, and optional values" {
    ok 'gload $DATA/lists.onnx | grun x=[2,3]' "counts = [0, 1, 2]
sums = [[6.0, 12.0], [6.0, 12.0]]
got = [12.0, 12.0]
has = True
none = []"
}

@test "lists of any items, or that are known only in a run" {
    ok 'gload $DATA/inserted.onnx | grun "l=[[[1,2],[3,4]]]" "x=[[5,6],[7,8]]"' "y = [[5.0, 6.0],
     [7.0, 8.0]]
n = 2"
    bad 3 E_ARG 'the number of items that SequenceMap goes over must be known when the graph is read' 'gload $DATA/uncounted.onnx'
    grep -q -- '--set NAME=VALUE makes it a constant' .err
    ok 'gload $DATA/uncounted.onnx --set "l=[[1,2],[3,4]]" | grun x=[10,20]' 'y = [[11.0, 22.0], [13.0, 24.0]]'
    bad 3 E_ARG 'lists of different lengths' 'gload $DATA/uneven.onnx'
}

@test "draws: each has a stream of its own, which a seed chooses; the same in each run" {
    ok 'gload $DATA/random.onnx -o r.tlg && grun r.tlg x=zeros\(1000\) p=full\(\(1000,\),0.25\) -r "*=a.npz" && grun r.tlg x=zeros\(1000\) p=full\(\(1000,\),0.25\) -r "*=b.npz" && cmp a.npz b.npz'
    ok 'gload $DATA/random.onnx -O math | grep -c "seed=7)"' 1
    ok "gload --new -e \"u = load('a.npz', 'u')\" -e \"n = load('a.npz', 'n')\" -e \"b = load('a.npz', 'b')\" -e 't = all(stack([min(u) >= 2, max(u) < 3, abs(mean(u) - 2.5) < 0.05, abs(mean(n) - 5) < 0.02, abs(std(n) - 0.1) < 0.02, abs(mean(b) - 0.25) < 0.06]))' --outputs t | grun" 't = True'
    # neither two draws without a seed nor two seeds between the same whole numbers are the same
    [ "$(gload $DATA/random.onnx -O math | grep -o 'seed=[0-9]*' | sort -u | wc -l)" = 4 ]
}

@test "long attributes are arrays" {
    ok 'gload $DATA/long.onnx.zst | grun' "a = [-5]
b = [5000.0]"
}

@test "Expand broadcasts both ways; what does not fit is one error" {
    ok 'gload $DATA/expand.onnx | grun x=[[1,2,3]]' "y = [[[1.0, 2.0, 3.0]],
     [[1.0, 2.0, 3.0]]]"
    bad 3 E_SHAPE "what is float32\[1, 3\] can't be expanded to float32\[2, 4\]" 'gload $DATA/misfit.onnx'
    grep -q "in the node 'wider' (Expand)" .err
}

@test "a model's own functions see the attributes of their call" {
    ok 'gload $DATA/functions.onnx | grun x=[1,1,9]' 'layer_1_out_0 = [0.0, -0.5, 6.0]'
}

@test "functions without an end are an error" {
    bad 6 E_LIMIT 'its functions and inner graphs come to more than 131072 nodes' 'gload $DATA/twice.onnx'
    bad 6 E_LIMIT 'nested more than 50 deep' 'gload $DATA/itself.onnx'
}

@test "weights outside of the model, of other widths" {
    ok 'gload $DATA/outside.onnx | grun x=[[1,1]]' 'y = [[4.5, 4.5]]'
    like 'gload --info $DATA/outside.onnx' 'half +float16\[2\], value' 'b +float32\[2\], value'
    bad 4 E_IO "the data of 'w' is in another file: a model that comes through a pipe can't name files" 'gload <$DATA/outside.onnx'
    cp "$DATA/outside.onnx" . && head -c 20 "$DATA/outside.bin" >outside.bin
    bad 4 E_TRUNCATED "the data of 'w' lies beyond the end of its file" 'gload outside.onnx'
    rm outside.bin
    bad 4 E_IO 'outside.bin' 'gload outside.onnx'
    sed 's/outside.bin/..\/side.bin/' "$DATA/outside.onnx" >up.onnx && : >../side.bin
    bad 3 E_VALUE 'side.bin' 'gload up.onnx'
}

@test "a tlg beside a model refers to its large weights; what has changed is an error" {
    mkdir -p in/side
    gload --new -i 'x: float32[200]' --shared 'w: float32[200, 100] = cast(reshape(arange(20000), (200, 100)), float32)' -e 'y = x @ w' --outputs y -o in/m.onnx
    ones="x='ones(200)' --outputs s"
    (cd in && gload m.onnx -e 's = sum(y)' -o g.tlg && gload g.tlg -o side/h.tlg && gload g.tlg -o g2.tlg && gload --pack g.tlg -o p.tlg && gload m.onnx -O onnx -o side/m.onnx)
    [ "$(stat -c %s in/g.tlg)" -lt 5000 ] && [ "$(stat -c %s in/g2.tlg)" -lt 5000 ]
    [ "$(stat -c %s in/p.tlg)" -gt 80000 ] && [ "$(stat -c %s in/side/h.tlg)" -gt 80000 ]
    local f
    for f in in/g.tlg in/g2.tlg in/p.tlg in/side/h.tlg '<(gload in/g.tlg)'; do
        ok "grun $f $ones" 's = 199990000.0' || return
    done
    ok 'gload in/g.tlg -O onnx | cmp - <(gload in/p.tlg -O onnx)'
    ok 'gload in/g.tlg --set "w=ones((200, 100))" -o in/g2.tlg; grun in/g2.tlg x="ones(200)" --outputs y | head -c 12' 'y = [200.0, '
    # the model in place of which it is written, and one behind a link, are no place for values
    gload in/m.onnx -O tlg -o in/self.tlg && cp in/m.onnx in/n.onnx && gload in/n.onnx -O tlg -o in/n.onnx
    ok 'gload --info in/n.onnx | grep -c "float32.200, 100., value"' 1
    ln -s ../m.onnx in/side/l.onnx && gload in/side/l.onnx -o in/side/l.tlg
    [ "$(stat -c %s in/side/l.tlg)" -gt 80000 ]
    bad 4 E_IO "<stdin>: its values are in m.onnx, but a graph that comes through a pipe can't name files" 'grun - x="ones(200)" <in/g.tlg'
    mkdir alone && cp in/g.tlg alone
    bad 4 E_IO "can't read m.onnx|can't open m.onnx" 'gload --info alone/g.tlg'
    cp in/m.onnx kept
    touch -d 2001-01-01 in/m.onnx
    bad 4 E_IO 'its values are in m.onnx, which has changed since' 'gload --info in/g.tlg'
    head -c 9000 kept >in/m.onnx
    bad 4 E_IO 'its values are in m.onnx, which has changed since' 'grun in/g.tlg x="ones(200)"'
}

@test "quantised numbers stay within their dtype" {
    ok 'gload $DATA/quantised.onnx | grun x=[1,2.3,-9,1000]' "q = [12, 15, 0, 255]
y = [1.0, 2.5, -5.0, 122.5]"
}

@test "an unknown op: one error with its node; --info tells what there is" {
    bad 3 E_NAME 'thunkline has no op Frobnicate of the domain own' 'gload $DATA/unknown.onnx'
    grep -q "in the node 'a' (own.Frobnicate)" .err
    shell 'gload --info $DATA/unknown.onnx'
    grep -q '^ops *own.Frobnicate *2, not known$' .out && grep -q '^ *Relu *1$' .out && grep -q 'warning.* 1 op of 2 are not known' .err
}

@test "what is cut off or says too much is one error with a place" {
    local n size
    size=$(wc -c <"$DATA/cnn.onnx")
    for ((n = 4; n < size; n += 37)); do
        head -c $n "$DATA/cnn.onnx" >cut.onnx
        shell 'gload cut.onnx' && continue # between two fields
        [ "$(grep -c 'error\[' .err)" = 1 ] || complain 'should be one error' "cut at $n" || return
        [ "$STATUS" != 70 ] && [ "$STATUS" -lt 128 ] || complain 'should fail in order' "cut at $n" || return
    done
    printf '\10\7:\377\377\377\377\17' >long.onnx
    bad 4 E_TRUNCATED 'in a model, at byte 8, a field is longer than what is left' 'gload long.onnx'
    printf '\10\7:\0' >empty.onnx
    ok 'gload --check empty.onnx 2>.warned'
}

@test "a tensor in a file of its own is a value" {
    # dims 3, dtype float, three floats
    printf '\10\3\20\1\42\14\0\0\200\77\0\0\0\100\0\0\100\100' >t.pb
    ok 'gload --new -i "x: float32[3]" -e "y = 2 * x" | grun x=@t.pb' 'y = [2.0, 4.0, 6.0]'
    like 'gload --info t.pb' 'onnx' 'float32\[3\], 12 bytes'
    printf '\10\4\20\1\42\14\0\0\200\77\0\0\0\100\0\0\100\100' >t.pb
    bad 3 E_FORMAT 'has another number of elements than its shape' 'gload --new -i "x: float32[3]" -e "y = 2 * x" | grun x=@t.pb'
}

# The bytes of a TensorProto with 4 elements: dtype 1 is float32, 17 float8e4m3fn, ...; field 4 is float_data, 5 int32_data,
# 7 int64_data, 9 raw_data, 10 double_data, 11 uint64_data.
@test "a tensor in a file: each dtype, in bytes and as numbers" {
    local code type bytes want
    while IFS='|' read -r code type bytes want; do
        # shellcheck disable=SC2059
        { printf '\10\4\20' && printf "\\x$(printf %x "$code")" && printf "$bytes"; } >t.pb
        ok "gload --new -i 'x: ${type}[4]' -e 'y = x' | grun x=@t.pb" "y = $want" || complain 'should be read' "$code $bytes" || return
        like 'gload --info t.pb' "$type"
    done <<'END'
1|float32|\x22\x10\0\0\x80\x3f\0\0\0\x40\0\0\x80\x7f\0\0\0\x80|[1.0, 2.0, inf, -0.0]
2|uint8|\x2a\5\1\2\0\xff\1|[1, 2, 0, 255]
2|uint8|\x4a\4\1\2\0\xff|[1, 2, 0, 255]
3|int8|\x2a\15\1\2\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1|[1, 2, 0, -1]
7|int64|\x3a\15\1\2\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1|[1, 2, 0, -1]
9|bool|\x2a\4\1\0\0\1|[True, False, False, True]
10|float16|\x2a\11\x80\x78\x80\xf8\2\x80\xfc\1\1|[1.0, -1.0, nan, 6e-08]
11|float64|\x52\x20\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0\0\x80|[1.0, 2.0, inf, -0.0]
13|uint64|\x5a\15\1\2\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1|[1, 2, 0, 18446744073709551615]
14|complex64|\x22\x20\0\0\x80\x3f\0\0\0\x40\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\x80\xbf|[(1.0+2.0j), (0.0+1.0j), (2.0+0.0j), (0.0-1.0j)]
16|float32|\x2a\13\x80\x7f\x80\xff\1\xc0\xff\1\x80\x80\2|[1.0, inf, nan, -0.0]
16|float32|\x4a\10\x80\x3f\x80\x7f\xc0\x7f\0\x80|[1.0, inf, nan, -0.0]
17|float32|\x4a\4\x38\x7e\x7f\x81|[1.0, 448.0, nan, -0.001953125]
17|float32|\x2a\5\x38\x7e\x7f\x81\1|[1.0, 448.0, nan, -0.001953125]
19|float32|\x4a\4\x3c\x7b\x7c\xfe|[1.0, 57344.0, inf, nan]
19|float32|\x4a\4\1\x83\x80\xfc|[1.5258789e-05, -4.5776367e-05, -0.0, -inf]
END
}

@test "a tensor in a file that can't be read says why" {
    local says bytes
    while IFS='|' read -r says bytes; do
        # shellcheck disable=SC2059
        printf "$bytes" >t.pb
        shell "gload --new -i 'x: float32[4]' -e 'y = x' | grun x=@t.pb"
        [ "$status" = 3 ] || complain 'should end with status 3' "$bytes" || return
        grep -Eq "$says" .err || complain "should say $says" "$bytes" || return
    done <<'END'
has another number of elements than its shape|\10\4\20\1\x22\4\0\0\x80\x3f
has another number of elements than its shape|\10\4\20\16\x22\x14\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f
has another number of elements than its shape|\10\1\20\1\x22\4\0\0\x80\x3f\x3a\1\7
4 elements has 3 bytes|\10\4\20\x11\x4a\3\1\2\3
elements of type string, which thunkline does not have|\10\4\20\10\x32\1a
elements of type int4, which|\10\4\20\x16\x4a\2\1\2
elements of type 0, which|\10\4\20\x63\x4a\2\1\2
has a negative dim|\10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\20\1\x4a\0
another file, which only a model can name|\10\4\20\1\160\1
END
    printf '\10\1\20\1\x42\3abc\x4a\4\0\0\x80\x3f' >t.pb
    ok "gload --new -i 'x: float32[1]' -e 'y = x' | grun x=@t.pb:abc" 'y = [1.0]'
    shell "gload --new -i 'x: float32[1]' -e 'y = x' | grun x=@t.pb:abd"
    [ "$status" != 0 ] && grep -q 'did you mean abc' .err
}

# MODEL INPUTS RESULTS of ml.py; the input `some` is x of many.
golden() {
    local words=() name values=$DATA/ml/ml.npz
    for name in $2; do words+=("${name/some/x}=@$values:$([ "$name" = some ] || echo "$1.")$name"); done
    for name in $3; do words+=(--expect "$name=@$values:$1.$name"); done
    ok "gload $DATA/ml/$1.onnx.zst 2>.warned | grun ${words[*]} --rtol 5e-4 --atol 2e-5 >.got"
}

@test "estimators of scikit-learn give its results" {
    local line
    while read -r line; do
        eval "golden $line" || return
    done <<'END'
before 'h w' 'i l1 l2 max b hot name part both v code'
binary some 'label p'
boosted some 'label p'
boosted3 some 'label p'
forest some 'label p'
least x 'y z'
linear some y
logistic some 'label scores p'
modes x y
one_class some y
post_logistic x 'label p label3 p3 y'
post_none x 'label p label3 p3 y'
post_probit x 'label3 p3 y'
post_softmax x 'label p label3 p3 y'
post_softmax_zero x 'label p label3 p3 y'
regression some y
steps some y
svc some 'label p'
svc_proba some 'label p'
svc_two some 'label p'
svc_two_proba some 'label p'
svr some y
svr_poly some y
END
    like 'gload $DATA/ml/logistic.onnx.zst 2>&1 >/dev/null' "labels are texts.*their indices stand for them, 0 for 'red', 1 for 'green', 2 for 'blue'" 'ZipMap is left out'
    ok 'gload $DATA/ml/forest.onnx.zst | grun --mode DEBUG x=@$DATA/ml/ml.npz:some --expect p=@$DATA/ml/ml.npz:forest.p --rtol 1e-4 >.got'
}

# All results of a model, by name, in one vector.
results() {
    local names
    names=$(gload --info -O json "$1" 2>/dev/null | sed -n 's/.*"section": "outputs", "name": "\([^"]*\)".*/\1/p' | LC_ALL=C sort)
    echo "concatenate([$(sed 's/.*/ravel(float64(&))/' <<<"$names" | paste -sd,)])"
}

@test "ops of older and newer opsets and of ONNX Runtime give its results" {
    local m
    for m in 5 6 7 12 18 19 20 21 22 ms; do
        ok "gload \$DATA/ops/opset$m.onnx.zst -e 'all = $(results "$DATA/ops/opset$m.onnx.zst")' --outputs all | grun --expect all=@\$DATA/ops/ops.npz:$m --rtol 5e-4 --atol 2e-5 >.got" || return
    done
}

@test "trees that are none are errors" {
    bad 3 E_ARG 'a node of a tree that two nodes lead to' 'gload $DATA/ml/diamond.onnx.zst'
    bad 3 E_ARG 'tree 0 has no node 5' 'gload $DATA/ml/nowhere.onnx.zst'
    bad 3 E_ARG "a node of a tree of the mode 'BRANCH_MEMBER'" 'gload $DATA/ml/member.onnx.zst'
    bad 5 E_INDEX 'the feature of node 0 is 3, which is not in' 'gload $DATA/ml/feature.onnx.zst | grun x=[[1]]'
}

# The cases of Debian's libonnx-testdata: single nodes, and models that PyTorch wrote long ago. Those that are left out are listed
# with the reason.
@test "ONNX's own cases of single nodes, and models of opset 6" {
    local cases=/usr/share/libonnx-testdata/data kind
    [ -d $cases/node ] || skip 'no libonnx-testdata'
    python_with onnx
    for kind in node pytorch-converted pytorch-operator simple; do
        "$PYTHON" "$DATA/nodes.py" $cases/$kind
    done | LC_ALL=C sort >failed
    diff <(cut -d' ' -f1 failed) <(sed '/^#/d; s/ .*//' "$DATA/left_out.txt") >&2
}

@test "what exporters hardly write is read" {
    command -v python3 >/dev/null || skip 'python3 is not installed'
    python3 "$DATA/forge.py"
    ok 'grun scan.onnx s0=[0,0] x=[[1,2],[3,4],[5,6]] | tr -d "\n "' 'last=[9.0,12.0]all=[[2.0,4.0],[8.0,12.0],[18.0,24.0]]'
    ok 'grun scan8.onnx s0=[[0,0]] x=[[[1,2],[3,4],[5,6]]] | tr -d "\n "' 'last=[[9.0,12.0]]all=[[[2.0,4.0],[8.0,12.0],[18.0,24.0]]]'
    # the last row first, there and back; rows as columns
    ok 'grun scan_back.onnx s0=[0,0] x=[[1,2],[3,4],[5,6]] | tr -d "\n "' 'last=[9.0,12.0]all=[[18.0,16.0,10.0],[24.0,20.0,12.0]]'
    ok 'gload scan.onnx -e "c = sum(last)" --outputs c | ggrad --cost c --wrt s0 --only | grun - s0=[0,0] x=[[1,2],[3,4],[5,6]]' 'd_c_d_s0 = [1.0, 1.0]'
    ok 'grun rnn.onnx x=[[[1]]]' 'y = [[[4.0]]]'
    ok 'grun insert.onnx "l=[[1,2]]" x=[1,2]' 'k = 2'
    ok 'grun domain.onnx x=[-1,2]' 'y = [1.0, 2.0]'
    like 'gload --info documented.onnx' 'What the model is for\.'
    like 'gload --info documented_graph.onnx' 'What the graph is for\.'
    ok 'grun unreadable_doc.onnx x=[-1,2]' 'y = [1.0, 2.0]'
    shell 'grun optional.onnx x=[1,2]'
    [ "$status" = 0 ] && [ "$(cat .out)" = 'y = [2.0, 4.0]' ]
    grep -qx "grun: warning\[E_TYPE\]: optional.onnx: the input 'x' is optional; it is read as one that is always there" .err
}

@test "what no model may be is said in one error" {
    command -v python3 >/dev/null || skip 'python3 is not installed'
    python3 "$DATA/forge.py"
    local name code text
    while IFS='|' read -r name code text; do
        bad 3 "$code" "$text" "gload $name.onnx -o m.tlg" && [ ! -e m.tlg ] || return
    done <<'END'
rnn_word|E_ARG|does not have the activation 'Nope' of recurrent layers
sparse|E_TYPE|a weight is sparse, .*make it dense first
dims|E_TYPE|the input 'x' has more than 32 dims
untyped|E_TYPE|the input 'x' has no type
empty_type|E_TYPE|the input 'x' has a type that thunkline does not have
empty_optional|E_TYPE|the input 'x' has a type that thunkline does not have
no_elements|E_DTYPE|the input 'x' has elements of type 0,
no_inputs|E_ARG|at least one input is needed
quantised_float|E_ARG|quantised numbers that are no integers
split_axis|E_SHAPE|there is no axis 5 among 1 dims
split_open|E_ARG|an axis of unknown length can't be split into equal parts
split_none|E_ARG|a number of parts that is no number from 1 on
pad_axes|E_ARG|there are not as many values as axes
no_results|E_ARG|a graph without results as the body of a loop
unknown_kind|E_FORMAT|the attribute 'to' is of a kind that thunkline does not have
no_tensor|E_FORMAT|the attribute 'to' is of a kind that thunkline does not have
no_body|E_FORMAT|the attribute 'body' is of a kind that thunkline does not have
expand_open|E_ARG|a shape of unknown length
not_there|E_ARG|an optional value that isn't there can't be a value
many_lists|E_ARG|the number of steps of a Loop that makes lists must be known
while_lists|E_ARG|the condition of a Loop that makes lists must be known
map_open|E_ARG|the number of items that SequenceMap goes over must be known
map_beside|E_ARG|the items of a list of SequenceMap must be known
map_lengths|E_ARG|lists of different lengths
no_graph|E_FORMAT|the model has no graph
END
    bad 3 E_FORMAT 'the model has no graph' 'gload --info no_graph.onnx'
    # what a value on the command line makes known
    ok 'gload many_lists.onnx --set n=2 | grun - x=[1,2] | tr -d "\n "' 'all=[[1.0,2.0],[1.0,2.0]]'
}
