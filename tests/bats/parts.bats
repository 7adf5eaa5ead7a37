#!/usr/bin/env bats
# grun --part runs a part of the rows, grun --merge puts the results together: the whole run's, to the bit where rows are independent.
load common

# parts GRAPH N 'ARGS': all parts, in files p.K.npz.
parts() {
    local k
    rm -f p.*.npz
    for ((k = 1; k <= $2; k++)); do
        ok "grun $1 $3 --part $k/$2 -r '*=p.$k.npz'" || return
    done
}

# same GRAPH N 'ARGS' LABELS...: in N parts as in one. A label with ~ is equal up to the order of summation (of a product of matrices, too, whose
# kernels depend on the number of rows), any other one bit by bit.
same() {
    local g=$1 n=$2 args=$3 label exact
    shift 3
    ok "grun $g $args -r '*=whole.npz'" && parts "$g" "$n" "$args" && ok "grun --merge $g p.*.npz -r '*=all.npz'" || return
    for label; do
        exact='--rtol 0 --atol 0'
        [[ $label == *~ ]] && exact=''
        label=${label%\~}
        ok "grun --merge $g p.*.npz --outputs $label --expect '$label=@whole.npz:$label' $exact >/dev/null" || return
    done
}

digits() {
    ggrad "$DIGITS/model.yaml" --cost loss --wrt W,b -o digits.tlg
    DATA="x=\"float32(load('$DIGITS/x.npy')) / 16\" y=@$DIGITS/y.npy"
}

@test "rows, means and the gradients of a mean: digits in 1, 2, 3, 7 and 16 parts" {
    digits
    for n in 1 2 3 7 16; do
        same digits.tlg $n "$DATA --outputs logits,loss,accuracy,d_loss_d_W,d_loss_d_b" logits loss~ accuracy~ d_loss_d_W~ d_loss_d_b~
    done
    run gload --info all.npz
    refute_output --partial thunkline_part
}

@test "rows are cut as evenly as they can be, and parts without rows only say so" {
    gload --new -i 'x: int32[n]' -e 'y = x * 2' -e 'm = max(x)' -e 's = sum(x)' -e 'k = n' --outputs y,m,s,k -o g.yaml
    ok "for k in 1 2 3; do grun g.yaml 'x=arange(8)' --part \$k/3 --outputs y; done" $'y = [0, 2]\ny = [4, 6, 8]\ny = [10, 12, 14]'
    same g.yaml 11 "'x=[5, 3, 8, 1]'" y m s k
    like 'gload --info p.1.npz' '^arrays +thunkline_part +int64'
    ok 'grun g.yaml "x=[5, 3, 8, 1]" --part 1/11' ''
    same g.yaml 3 "'x=[7]'" y m s k
    gload --new -i 'x: int32[n]' -e 'y = x * 2' -e 's = sum(x)' -e 'm = mean(x)' --outputs y,s,m -o g.yaml
    for k in 1 2; do grun g.yaml 'x=[]' --part $k/2 -r "*=e.$k.npz"; done
    ok 'grun --merge g.yaml e.*.npz' $'y = []\ns = 0\nm = nan'
}

@test "all dtypes: rows bit by bit, sums, products, extremes, all, any" {
    for d in bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128; do
        v="[0, 1, 1, 0, 1]"
        [ $d = bool ] && v='[False, True, True, False, True]'
        more='' labels=''
        case $d in complex*) ;; *) more="-e 'hi = max(x)' -e 'lo = min(x)'" labels='hi lo' ;; esac
        eval "gload --new -i 'x: ${d}[n]' -e 'r = where(x == 0, x, x)' -e 's = sum(x)' -e 'p = prod(x)' -e 'm = mean(x)' -e 'q = all(x == 0)' -e 'e = any(x == 1)' $more -o g.yaml"
        # shellcheck disable=SC2086
        same g.yaml 3 "'x=$v'" r s~ p~ m~ q e $labels
    done
}

@test "rows along another axis, several adjacent elements a row, counts, and what doesn't depend on the rows" {
    gload --new -i 'x: float64[n, 3, 2]' -e 't = transpose(x, (2, 0, 1))' -e 'f = reshape(x, (-1, 2)) * 2' -e 'g = reshape(f, (n, 3, 2))' -e 'c = 3 * n' \
        -e 'w = ones((2, 2)) * 3' -e 'u = x @ w' -e 'a = einsum("nij,ik->nk", x, ones((3, 4)))' --outputs t,f,g,c,w,u,a -o g.yaml
    same g.yaml 4 "x='normal(0, 1, (7, 3, 2), seed=1)'" t f g c w u~ a~
}

@test "loops over steps, maps over rows, calls, branches, lookups and their gradients" {
    cat >g.yaml <<'END'
thunkline: 1
functions:
  twice:
    inputs:
      v: float64[m, 8]
    let: |
      out = v * 2
    outputs: [out]
inputs:
  x: float64[n, t, 4]
  y: int64[n]
shared:
  W: float64[4, 8] = normal(0, 1, (4, 8), seed=1)
  V: float64[8, 8] = normal(0, 0.3, (8, 8), seed=2)
  E: float64[10, 8] = normal(0, 1, (10, 8), seed=3)
let: |
  xs = transpose(x, (1, 0, 2))
  hs = scan(lambda xt, h: tanh(xt @ W + h @ V), sequences=[xs], outputs_info=[zeros((n, 8))])
  last = twice(hs[-1] + E[y])
  loss = mean(log_softmax(last, axis=1)[arange(n), y % 8])
  picked = take_along_axis(last, y[:, None] % 8, axis=1)
  squares = map(lambda r: sum(r ** 2), x)
  chosen = ifelse(t > 3, last, -last)
outputs: [hs, loss, picked, squares, chosen]
END
    ggrad g.yaml --cost loss --wrt W,V,E -o g.tlg
    for n in 2 3 9; do
        same g.tlg $n "x='normal(0, 1, (7, 5, 4), seed=1)' y='[1, 2, 3, 4, 5, 6, 7]'" hs~ loss~ picked~ squares chosen~ d_loss_d_W~ d_loss_d_V~ d_loss_d_E~
    done
}

@test "convolutions and pools with the gradients of their weights" {
    gload --new -i 'x: float64[n, 1, 8, 8]' --shared 'K: float64[4, 1, 3, 3] = normal(0, 1, (4, 1, 3, 3), seed=1)' -e 'z = reshape(max_pool(relu(conv(x, K)), 2), (n, 36))' \
        -e 'loss = mean(logsumexp(z, axis=1))' --outputs z,loss -o g.yaml
    ggrad g.yaml --cost loss --wrt K -o g.tlg
    same g.tlg 3 "x='normal(0, 1, (7, 1, 8, 8), seed=1)'" z loss~ d_loss_d_K~
}

@test "what needs all rows is one error with the op and the line, before anything runs" {
    gload --new -i 'x: float64[n, 4]' -e 's = (x - mean(x, axis=0)) ** 2' -e 'c = cumsum(x, axis=0)' -e 'r = sqrt(sum(x))' -e 'u = sort(x, axis=0)' -e 'i = x[:, 0] * arange(n)' -e 'h = x[0]' \
        -e 'f = flip(x, axis=0)' -e 'z = x[:, 0] * normal(0, 1, (n,), seed=1)' -e 'v = var(x, axis=0)' -e 'g = x @ x.T' -e 'y = 1 / n' -e 'ok = sort(x, axis=1)' --outputs s,c,r,u,i,h,f,z,v,g,y,ok -o g.yaml
    for o in 's:subtract takes a mean over the rows' 'c:running_sum needs all rows' 'r:sqrt takes the sum over the rows' 'u:sort needs all rows' 'i:cast takes the numbers of the rows' 'h:subtensor takes some of the rows only' \
        'z:[a-z]+ draws numbers for all rows' 'g:matmul needs all rows'; do
        bad 3 E_SHAPE "g.yaml:[0-9]+:[0-9]+.*${o%%:*} can't be put together from parts: ${o#*:}" "grun g.yaml 'x=ones((5, 4))' --part 2/3 --outputs ${o%%:*} -r '*=p.npz'"
        assert_not_exist p.npz
    done
    for o in f v; do bad 3 E_SHAPE "$o can't be put together" "grun g.yaml 'x=ones((5, 4))' --part 2/3 --outputs $o"; done
    bad 3 E_SHAPE 'y can.t be put together.*a number divided by one of rows' "grun g.yaml 'x=ones((5, 4))' --part 2/3 --outputs y"
    ok "grun g.yaml 'x=ones((2, 4))' --part 2/2 --outputs ok" 'ok = [[1.0, 1.0, 1.0, 1.0]]'
    gload --new -i 'x: float64[n]' -e 'y = assert_op(x, sum(x) > 0)' -e 'z = assert_op(x, x > 0)' --outputs y -o a.yaml
    bad 3 E_SHAPE 'greater takes the sum over the rows|assert_op' "grun a.yaml 'x=ones(5)' --part 1/2"
    bad 3 E_SHAPE "assert_op can't run on a part of the rows: greater takes the sum over the rows" "grun a.yaml 'x=ones(2)' --part 1/2 --outputs z"
    # checks beside the outputs: of each row alone, or of what only all rows say
    local check says
    while IFS='|' read -r check says; do
        gload --new -i 'x: float64[n]' -e 'y = x * 2' -e "z = $check" --outputs y -o a.yaml
        if [ "$says" ]; then
            bad 3 E_SHAPE "a.yaml:[0-9]+:[0-9]+.*assert_op can't run on a part of the rows: $says" "grun a.yaml 'x=ones(4)' --part 1/2" || return
        else
            shell "grun a.yaml 'x=ones(4)' --part 1/2" && [ "$(cat .out)" = 'y = [2.0, 2.0]' ] || complain 'should run' "$check" || return
        fi
    done <<'END'
assert_op(x, x > 0)
assert_op(x, all(x > 0))
assert_op(shape(x), x > 0)
print(abs(mean(x)), "m")
assert_op(abs(mean(x)), x > 0)
assert_op(x, any(x > 0))|it checks or uses a value of all rows at once
assert_op(1., any(x > 0))|it checks or uses a value of all rows at once
assert_op(1., mean(x) > 0.5)|greater takes a mean over the rows
assert_op(x, x > 0, sum(x) > 0)|greater takes the sum over the rows
assert_op(x, arange(n) < 9)|less takes the numbers of the rows
END
}

@test "which inputs are cut: those with values along the only leading dim, the one that is named, or those of --each" {
    gload --new -i 'x: float64[n, 2]' -i 'z: float64[m, 2]' -e 'a = x * 2' -e 'b = z @ ones((2,))' -e 'c = x @ z.T' --outputs a,b,c -o g.yaml
    bad 2 E_USAGE 'rows of several dims: x along n, z along m' "grun g.yaml 'x=ones((4, 2))' 'z=ones((6, 2))' --part 1/2"
    ok "grun g.yaml 'x=ones((2, 2))' 'z=ones((4, 2))' --part n=1/2 --outputs a,c" $'a = [[2.0, 2.0]]\nc = [[2.0, 2.0, 2.0, 2.0]]'
    ok "grun g.yaml 'x=ones((2, 2))' 'z=ones((4, 2))' --part m=1/2 --outputs b,c" $'b = [2.0, 2.0]\nc = [[2.0, 2.0],\n     [2.0, 2.0]]'
    for k in 1 2 3; do grun g.yaml 'x=normal(0, 1, (2, 2), seed=1)' 'z=normal(0, 1, (4, 2), seed=2)' --part m=$k/3 --outputs b,c -r "*=p.$k.npz"; done
    grun g.yaml 'x=normal(0, 1, (2, 2), seed=1)' 'z=normal(0, 1, (4, 2), seed=2)' --outputs c -r c=whole.npy
    ok 'grun --merge g.yaml p.*.npz --outputs c --expect c=@whole.npy >/dev/null'
    ok "grun g.yaml 'x=ones((2, 2))' --part 1/2 --outputs a" 'a = [[2.0, 2.0]]'
    bad 2 E_UNKNOWN 'no input with a value has the leading dim k' "grun g.yaml 'x=ones((4, 2))' 'z=ones((6, 2))' --part k=1/2"
    bad 3 E_SHAPE 'x has 4 rows, but y has 5' "gload --new -i 'x: float64[n]' -i 'y: float64[n]' -e 'x + y' | grun 'x=ones(4)' 'y=ones(5)' --part 1/2"
    bad 3 E_SHAPE "can.t cut n: it is also axis 1 of A" "gload --new -i 'x: float64[n]' -i 'A: float64[n, n]' -e 'A @ x' | grun 'x=ones(4)' 'A=eye(4)' --part 1/2"
    bad 2 E_USAGE 'finds no rows' "gload --new -i 'x: float64[4]' -e 'x + 1' | grun 'x=ones(4)' --part 1/2"
    bad 3 E_SHAPE "can.t cut n: it is also axis 0 of the shared variable A" "gload --new -i 'x: float64[n]' --shared 'A: float64[n, 2] = ones((4, 2))' -e 'x @ A' | grun 'x=ones(4)' --part 1/2"
    bad 2 E_USAGE 'dims: x along n, z along m' "gload --new -i 'x: float64[n]' -i 'long: float64' -i 'z: float64[m]' -e 'y = x * long' -e 'z + 1' | grun 'x=ones(4)' long=2 'z=ones(4)' --part 1/2"
    bad 2 E_UNKNOWN 'no input with a value has the leading dim m' "grun g.yaml 'x=ones((4, 2))' --part m=1/2 --outputs a"
    ok "grun g.yaml 'x=ones((2, 2))' --part n=1/2 --dim m=3 --outputs a" 'a = [[2.0, 2.0]]'
    bad 2 E_USAGE 'dim takes NAME=SIZE' "grun g.yaml 'x=ones((4, 2))' --part n=1/2 --dim m --outputs a"
    bad 2 E_USAGE 'r takes NAME=FILE' "grun g.yaml 'x=ones((4, 2))' --part n=1/2 --outputs a -r a"
    bad 2 E_USAGE 'gives the size of n' "gload --new -i 'x: float64[n]' -e 'x + 1' | grun 'x=ones(4)' --dim n=4 --part 1/2"
    bad 3 E_TYPE 'x is sparse, but' "gload --new -i 'x: sparse(\"csr\", float64[n, 2])' -e 'sparse_dot(x, ones((2, 2)))' | grun 'x=ones((4, 2))' --part 1/2"
}

@test "--each cuts at whole calls: means of batches and all, bit by bit" {
    gload --new -i 'x: float64[n, 3]' -e 'y = x - mean(x, axis=0)' -e 'm = mean(x)' -e 'v = var(x, axis=0)' --outputs y,m,v -o g.yaml
    for n in 1 2 3 5; do same g.yaml $n "x='normal(0, 1, (10, 3), seed=1)' --each x --batch 4" y m v; done
    same g.yaml 2 "x='normal(0, 1, (10, 3), seed=1)' --each x --batch 4 --drop-last" y m v
    gload --new -i 'x: float64[3]' -e 'y = sort(x)' -e 's = sum(x)' --outputs y,s -o h.yaml
    same h.yaml 4 "x='normal(0, 1, (10, 3), seed=1)' --each x" y s
    bad 2 E_USAGE 'each says already' "grun h.yaml 'x=ones((4, 3))' --each x --part n=1/2"
}

@test "a missing, doubled or foreign part is one error" {
    digits
    parts digits.tlg 5 "$DATA"
    bad 2 E_MISSING 'parts 2, 4, 5 of 5 are missing' 'grun --merge digits.tlg p.1.npz p.3.npz'
    bad 2 E_MISSING 'part 3 of 5 is missing' 'grun --merge digits.tlg p.[1245].npz'
    cp p.3.npz again.npz
    bad 3 E_DUPLICATE 'p.3.npz and again.npz are both part 3 of 5' 'grun --merge digits.tlg p.*.npz again.npz'
    bad 3 E_VALUE 'p.1.npz is a part of a run of another graph' "grun --merge $DIGITS/model.yaml p.*.npz"
    eval "grun digits.tlg $DATA --part 2/4 -r '*=q.2.npz'"
    bad 3 E_VALUE 'q.2.npz is one of 4 parts, but p.1.npz one of 5' 'grun --merge digits.tlg p.1.npz q.2.npz p.[345].npz'
    eval "grun digits.tlg ${DATA//\/ 16/[:1000] \/ 16} --part 2/5 -r '*=q.2.npz'" 2>/dev/null || true
    eval "grun digits.tlg $DATA W='ones((64, 10))' --part 2/5 -r '*=q.2.npz'"
    bad 3 E_VALUE 'q.2.npz is a part of another run than p.1.npz' 'grun --merge digits.tlg p.1.npz q.2.npz p.[345].npz'
    grun "$DIGITS/model.yaml" "x=ones((9, 64))" 'y=zeros(9)' --part 2/5 -r '*=q.2.npz'
    bad 3 E_VALUE 'another graph than p.1.npz' 'grun --merge digits.tlg p.1.npz q.2.npz p.[345].npz'
    eval "grun digits.tlg x='ones((9, 64))' y='zeros(9)' --part 2/5 -r '*=q.2.npz'"
    bad 3 E_VALUE 'a part of 9 rows, but p.1.npz of 1797' 'grun --merge digits.tlg p.1.npz q.2.npz p.[345].npz'
    grun "$DIGITS/model.yaml" "x=ones((9, 64))" 'y=zeros(9)' -r '*=none.npz'
    bad 3 E_FORMAT 'none.npz: this is no part of a run' 'grun --merge digits.tlg none.npz'
    bad 2 E_USAGE 'takes the graph, then the files' 'grun --merge digits.tlg'
    bad 4 E_IO 'nowhere.npz' 'grun --merge digits.tlg nowhere.npz'
    bad 2 E_UNKNOWN 'the parts have no result logits' 'grun --merge digits.tlg p.*.npz --outputs logits'
}

@test "files of some parts may hold some of the results, in npz, safetensors and JSON" {
    digits
    for k in 1 2 3; do eval "grun digits.tlg $DATA --part $k/3 -r loss=l.$k.safetensors -r accuracy=a.$k.json -r d_loss_d_W=w.$k.npz -r d_loss_d_b=w.$k.npz"; done
    eval "grun digits.tlg $DATA -r '*=whole.npz'"
    for o in loss accuracy d_loss_d_W d_loss_d_b; do
        ok "grun --merge digits.tlg l.* a.* w.* --outputs $o --expect $o=@whole.npz:$o --rtol 1e-6 >/dev/null"
    done
    bad 2 E_MISSING 'a.2.json.*|part 2 of 3, has no loss' 'grun --merge digits.tlg l.[13].* a.* w.*'
    bad 2 E_USAGE 'l.npy can.t say which part' "grun digits.tlg $DATA --part 1/3 -r loss=l.npy"
    ok "grun --merge digits.tlg l.* a.* w.* --outputs loss -O json | grep -c float32" 1
}

@test "options that have no meaning for a part are refused, and so are updates" {
    gload --new -i 'x: float64[n]' --shared 'w: float64 = 1.0' -e 'y = x * w' --update 'w = w + sum(x)' --outputs y -o g.yaml
    bad 2 E_USAGE 'the graph has updates' "grun g.yaml 'x=ones(4)' --part 1/2"
    ok "grun g.yaml 'x=ones(2)' --part 1/2 --no-updates" 'y = [1.0]'
    for o in '--steps 2' '--epochs 2' '--shuffle 1' '--every 1' '--until "w > 3"' '--save s.tlg' '--receipt r.json' '--expect y=1'; do
        bad 2 E_USAGE "${o%% *} doesn't go with --part" "grun g.yaml 'x=ones(4)' --no-updates --each x --batch 2 --part 1/2 $o"
    done
    for v in 0/3 4/3 3 a/b 1/ =1/2 1/2/3 1.5/2 99999999999/99999999999 1/2000000; do bad 2 E_USAGE 'part' "grun g.yaml 'x=ones(4)' --no-updates --part $v"; done
}

@test "options that have no meaning for a merge are refused" {
    gload --new -i 'x: float64[n]' -e 'y = x * 2' --outputs y -o g.yaml
    parts g.yaml 2 "'x=ones(4)'"
    local o
    for o in '--part 1/2' '--each x' '--batch 2' '--steps 2' '--save s.tlg' '--trace t' '--report r.html' '--plot p.svg' '--against t'; do
        bad 2 E_USAGE "${o%% *} doesn't go with --merge" "grun --merge g.yaml p.1.npz p.2.npz $o"
    done
    bad 2 E_USAGE 'threads can.t be negative' "grun g.yaml 'x=ones(4)' --threads -1"
}

@test "a part reads its rows of a mapped file, and nothing else" {
    # 3.2 GB of holes in a file: a thousandth of it is 3.2 MB
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (50000000, 16), }" >big.npy
    truncate -s 3200000128 big.npy
    gload --new -i 'x: float32[n, 16]' -e 'm = mean(exp(x), axis=0)' -e 'n' --outputs m,n -o g.yaml
    like "grun g.yaml x=@big.npy --part 700/1000 --max-memory 40M -O json" '"n".*50000'
    bad 6 E_MEM '' "grun g.yaml x=@big.npy --max-memory 40M --mode NAN_GUARD"
}

@test "heads that were damaged are refused" {
    gload --new -i 'x: float64[n]' -e 'y = x * 2' --outputs y -o g.yaml
    gload --new -e 'y = ones(2)' -e 'thunkline_part = array([1, 1, 1])' --outputs y,thunkline_part -o f.yaml
    grun f.yaml -r '*=short.npz'
    bad 3 E_FORMAT 'short.npz: its thunkline_part says nothing' 'grun --merge g.yaml short.npz'
    gload --new -e 'y = ones(2)' -e 'thunkline_part = concatenate([[9], zeros(20, dtype="int64")])' --outputs y,thunkline_part -o f.yaml
    grun f.yaml -r '*=new.npz'
    bad 3 E_VERSION 'new.npz: a newer form' 'grun --merge g.yaml new.npz'
    gload --new -e 'y = ones(2)' -e 'thunkline_part = concatenate([[1, 5, 4], zeros(20, dtype="int64")])' --outputs y,thunkline_part -o f.yaml
    grun f.yaml -r '*=odd.npz'
    bad 3 E_FORMAT 'odd.npz: its thunkline_part says nothing' 'grun --merge g.yaml odd.npz'
    gload --new -e 'y = ones(2)' -e 'thunkline_part = concatenate([[1, 1, 2147483647], zeros(20, dtype="int64")])' --outputs y,thunkline_part -o f.yaml
    grun f.yaml -r '*=many.npz'
    bad 3 E_FORMAT 'many.npz: its thunkline_part says nothing' 'grun --merge g.yaml many.npz'
    bad 3 E_DUPLICATE 'thunkline_part' "gload --new -i 'x: float64[n]' -e 'thunkline_part = x + 1' --outputs thunkline_part | grun 'x=ones(2)' --part 1/2"
}

# forged FILE OF LABEL VALUE [HEAD]: a file with the head of OF, or what HEAD makes of its elements p, and a result of its own.
forged() {
    gload --new -i 'p: int64[k]' -e "thunkline_part = ${5:-p}" -e "$3 = $4" --outputs "$3,thunkline_part" -o forged.tlg
    grun forged.tlg "p=@$2:thunkline_part" -r "*=$1"
}

@test "pieces that aren't what their parts give are refused" {
    local args="'x=normal(0, 1, (4, 2), seed=1)'" of o v says code
    gload --new -i 'x: float64[n, 2]' --shared 'w: float64[2] = [1., 2.]' -e 'y = x * 2' -e 's = sum(x, axis=0)' -e 'c = w + 1' --outputs y,s,c -o g.yaml
    parts g.yaml 2 "$args"
    while IFS='|' read -r of o v says code; do
        cp p.1.npz q.1.npz
        cp p.2.npz q.2.npz
        forged q.$of.npz p.$of.npz "$o" "$v"
        bad 3 "${code:-E_SHAPE}" "$says" "grun --merge g.yaml q.1.npz q.2.npz --outputs $o" || return
    done <<'END'
2|y|ones((2, 2), dtype="float32")|q.2.npz: its y is float32\(2, 2\), which is not what part 2 gives
2|y|ones((2, 2), dtype="float32")|note: q.1.npz has float64\(2, 2\)
2|y|ones((2, 3))|q.2.npz: its y is float64\(2, 3\)
2|y|ones((3, 2))|q.2.npz: its y is float64\(3, 2\)
2|y|ones(2)|q.2.npz: its y is float64\(2,\)
2|y|1.|q.2.npz: its y is float64\(\)
1|y|1.|q.1.npz: its y is float64\(\), which is not what part 1 gives
1|y|ones(2)|note: the graph says float64\[n, 2\]
1|s|1.|q.1.npz: its s is float64\(\), which is not what part 1 gives
2|s|ones(3)|q.2.npz: its s is float64\(3,\)
2|c|array([2., 4.])|q.2.npz has another c than q.1.npz, although it doesn't depend on the rows|E_VALUE
END
    # the rows of calls
    gload --new -i 'x: float64[2]' -e 'y = x * 2' --outputs y -o h.yaml
    parts h.yaml 2 "'x=ones((4, 2))' --each x"
    forged q.npz p.2.npz y 'ones((2, 3))'
    bad 3 E_SHAPE 'q.npz: its y is float64\(2, 3\), which is not what part 2 gives' 'grun --merge h.yaml p.1.npz q.npz'
    forged q.npz p.1.npz y 1.
    bad 3 E_SHAPE 'q.npz: its y is float64\(\), which is not what part 1 gives' 'grun --merge h.yaml q.npz p.2.npz'
    # what was a result of --reap alone, what no array holds, what doesn't go where it should
    forged q.npz p.2.npz z 1.
    bad 2 E_UNKNOWN 'q.npz has a result of that name; --reap and --plant are given again' 'grun --merge h.yaml p.1.npz q.npz'
    bad 3 E_FORMAT 'y.npy: this is no part of a run' 'grun h.yaml "x=ones(2)" -r y=y.npy; grun --merge h.yaml y.npy'
    bad 2 E_USAGE 'x.bin' 'grun --merge h.yaml p.1.npz p.2.npz -r y=x.bin'
    bad 4 E_IO 'No space left' 'grun --merge h.yaml p.1.npz p.2.npz -o /dev/full'
    bad 1 E_VERDICT 'y is not as expected' 'grun --merge h.yaml p.1.npz p.2.npz --expect "y=zeros((4, 2))"'
    # damaged bytes
    forged q.npz p.2.npz y '2 * ones((2, 2))'
    cp q.npz d.npz
    printf '\x01' | dd of=d.npz bs=1 seek=$(($(grep -abo thunkline_part.npy q.npz | head -1 | cut -d: -f1) + 170)) conv=notrunc status=none
    bad 4 E_CHECKSUM 'd.npz: an array.s checksum is wrong' 'grun --merge h.yaml p.1.npz d.npz'
    cp q.npz d.npz
    printf '\x01' | dd of=d.npz bs=1 seek=$(($(grep -abo 'y.npy' q.npz | head -1 | cut -d: -f1) + 170)) conv=notrunc status=none
    bad 4 E_CHECKSUM 'd.npz: an array.s checksum is wrong' 'grun --merge h.yaml p.1.npz d.npz'
}

@test "heads of a part that can't be, or of another run, are refused" {
    local head says code
    gload --new -i 'x: float64[n, 2]' -i 'z: float64[n]' -e 'y = x * 2' --outputs y -o g.yaml
    parts g.yaml 2 "'x=ones((4, 2))' z='zeros(4)'"
    while IFS='|' read -r head says code; do
        forged q.npz p.1.npz y '2 * ones((2, 2))' "$head"
        bad 3 "${code:-E_FORMAT}" "$says" 'grun --merge g.yaml q.npz p.2.npz' || return
    done <<'END'
set_subtensor(p[2], 2000000)|its thunkline_part says nothing of a part
set_subtensor(p[1], 3)|its thunkline_part says nothing of a part
set_subtensor(p[1], 0)|its thunkline_part says nothing of a part
set_subtensor(p[3], -1)|its thunkline_part says nothing of a part
set_subtensor(p[3], 3)|its thunkline_part says nothing of a part
set_subtensor(p[4], 9)|its thunkline_part says nothing of a part
float64(p)|its thunkline_part says nothing of a part
expand_dims(p, axis=0)|its thunkline_part says nothing of a part
set_subtensor(p[18], 2)|its thunkline_part says nothing of a part
set_subtensor(p[18], 1)|the dim of the rows is also that of an axis that can't be cut|E_SHAPE
set_subtensor(p[18], -1)|its thunkline_part says nothing of a part
concatenate([p, [1]])|p.2.npz is a part of another run than q.npz|E_VALUE
set_subtensor(p[6], 1)|p.2.npz is a part of another run than q.npz|E_VALUE
set_subtensor(p[9], 1)|p.2.npz is a part of another run than q.npz|E_VALUE
set_subtensor(p[10], 1)|p.2.npz is a part of a run of another graph|E_VALUE
END
}

@test "the parts that are missing are listed, as ranges, up to eight of them" {
    local k
    gload --new -i 'x: float64[n]' -e 'y = x * 2' --outputs y -o g.yaml
    for k in 2 4 6 8 10 12 14 16; do grun g.yaml 'x=ones(4)' --part $k/19 -r "*=p.$k.npz"; done
    bad 2 E_MISSING 'parts 1, 3, 5, 7, 9, 11, 13, 15, \.\.\. of 19 are missing' 'grun --merge g.yaml p.*.npz'
    grun g.yaml 'x=ones(4)' --part 18/19 -r '*=p.18.npz'
    bad 2 E_MISSING 'parts 1, 3, 5, 7, 9, 11, 13, 15, \.\.\. of 19 are missing' 'grun --merge g.yaml p.*.npz'
    bad 2 E_MISSING 'parts 1, 3, 5-7, 9-19 of 19 are missing' 'grun --merge g.yaml p.[248].npz'
    bad 2 E_MISSING 'parts 1-17, 19 of 19 are missing' 'grun --merge g.yaml p.18.npz'
    # rows that no part has: what a part without rows doesn't hold is missed only if none has any
    gload --new -i 'x: float64[n]' -e 'y = x * 2' -e 's = sum(x)' --outputs y,s -o g.yaml
    grun g.yaml x=[] --part 1/2 -r '*=e.1.npz'
    grun g.yaml x=[] --part 2/2 -r y=e.2.npz -o /dev/null
    bad 2 E_MISSING 'e.2.npz, part 2 of 2, has no s' 'grun --merge g.yaml e.*.npz'
}

# Every way in which an op keeps rows, or what it makes of a sum, a product or an extreme of them, in parts of any size.
rows_of_all_kinds() {
    cat <<'END'
thunkline: 1
functions:
  twice:
    inputs: {v: "float64[m, k]"}
    let: r = v * 2
    outputs: [r]
  along:
    inputs: {u: "float64[m]", v: "float64[m]"}
    let: r = u * v
    outputs: [r]
  total:
    inputs: {u: "float64[m, k]", s: "float64[k]"}
    let: |
      a = sum(u, axis=1)
      c = sum(u, axis=0) + s
    outputs: [a, c]
  number:
    inputs: {u: "float64[m]", j: "int64[m]"}
    let: r = u * 2
    outputs: [r]
inputs: {x: "float64[n, 3]", y: "float64[n]", q: "float64[n, 3, 3]", z: "float64[n, 3, 2]", b: bool}
shared: {w: "float64[3] = [1., 2., 4.]", v: "float64[3, 2] = ones((3, 2))"}
let: |
  i = int64(abs(y) * 7) % 3
END
}
KINDS="'x=normal(0, 1, (7, 3), seed=1)' 'y=normal(0, 1, (7,), seed=2)' 'q=normal(0, 1, (7, 3, 3), seed=3)' 'z=normal(0, 1, (7, 3, 2), seed=4)' b=True --on-unused-input ignore"

@test "each op that keeps rows, and sums, products and extremes of them, in 2, 3 and 9 parts" {
    local e n=0 expect=''
    {
        rows_of_all_kinds
        while IFS= read -r e; do
            n=$((n + 1))
            echo "  o$n = $e"
        done
        printf 'outputs: [%s]\n' "$(seq -s, -f 'o%g' $n)"
    } >g.yaml <<'END'
x * 2 + 1
abs(x) - x
sum(x, axis=0) + sum(x, axis=0)
sum(x, axis=0) * 2 - sum(x ** 2, axis=0)
sum(x) / 4
sum(x) / n
2 * mean(x) - mean(x ** 2)
mean(x) + 1
mean(x, axis=0) * w
-sum(x, axis=0)
-max(x, axis=0)
-min(x, axis=0)
maximum(max(x, axis=0), 0.5)
minimum(min(x, axis=0), max(w))
maximum(max(x), max(x ** 2))
prod(x, axis=0)
logical_and(all(x > 0), True)
logical_or(any(x > 0), False)
where(x > 0, x, w)
cast(sum(x, axis=0), 'float32')
cast(sum(x > 0), 'float64')
cast(x, 'int64')
real(sum(x * 1j))
imag(sum(x * 1j, axis=0))
conj(sum(x * 1j))
sum(exp(x), axis=1)
argmax(x, axis=1)
sort(x, axis=1)
cumsum(x, axis=1)
cumprod(x, axis=1)
softmax(x, axis=1)
logsumexp(x, axis=1)
var(x, axis=1)
norm(x, axis=1)
x @ w
x @ v
w @ x.T
x.T @ x
x.T @ y
y @ x
outer(y, w)
inv(q)
det(q)
solve(q, z)
cholesky(q @ q.transpose((0, 2, 1)) + 9 * eye(3))
svd(q)[1]
qr(q)[0] @ qr(q)[1]
slogdet(q)[1]
expm(q / 9)
pinv(q)
eigvalsh(q + q.transpose((0, 2, 1)))
transpose(q, axes=[1, 0, 2])
transpose(q, axes=[2, 1, 0])[0]
x.T
expand_dims(x, axis=0)
expand_dims(x, axis=[1, 3])
squeeze(expand_dims(x, axis=2), axis=2)
squeeze(expand_dims(x, axis=0), axis=0)
reshape(x, (n, 3, 1))
reshape(x, (-1, 3))
reshape(q, (n, 9))
reshape(q, (n, -1))
reshape(x, (-1,))
sum(reshape(x, (-1,)))
broadcast_to(w, (n, 3))
broadcast_to(x, (2, n, 3))
broadcast_to(sum(x, axis=0), (4, 3))
concatenate([x, x * 2], axis=1)
concatenate([x, ones((n, 2))], axis=1)
stack([x, x], axis=1)
stack([x, x])
split(x, 3, axis=1)[1]
split(sum(x, axis=0), 3)[1]
repeat(x, 2, axis=1)
flip(x, axis=1)
roll(x, 1, axis=1)
diagonal(q, axis1=1, axis2=2)
topk(x, 2, axis=1)[0]
convolve(x, 2 * x, mode='same', batch_dims=1)
searchsorted(w, y)
searchsorted(cumsum(x * x, axis=1), y, batch_dims=1)
searchsorted(cumsum(x * x, axis=1), x, side='right', batch_dims=1)
x[:, 1]
x[:, 1:]
x[:, [0, 2]]
w[i]
x[arange(n), i]
sum(x, axis=0)[1]
mean(x, axis=0)[:2] + mean(x, axis=0)[1:]
set_subtensor(x[:, 0], 1.)
set_subtensor(x[:, 0], y)
inc_subtensor(x[:, 1:], 1.)
inc_subtensor(x[arange(n), i], y)
full((n, 2), 3.)
full_like(x, 2.)
zeros_like(x) + ones_like(x)
ones(n) * y
n * 2
sum(x) / (n * 3)
x.size
x.shape[1]
one_hot(i, 3)
map(lambda a: sum(a), x)
scan(lambda a, s: s * 0.5 + a, sequences=[x.T], outputs_info=[y])
scan(lambda a, s: s + sum(a), sequences=[x.T], outputs_info=[0.])
ifelse(b, x, x * 2)
ifelse(b, sum(x), sum(x) * 2)
vectorize(lambda a: sum(a) * a)(x)
conv(q, ones((2, 3, 2)))
max_pool(q, [2])
avg_pool(q, [2])
einsum('ni,nij->nj', x, q)
einsum('ni,nj->ij', x, x)
mean((x - w) ** 2, axis=[0, 1])
mean(q, axis=[0, 2])
sum(q, axis=[1, 2])
max(q, axis=[0, 1])
specify_shape(x, (n, 3))
assert_op(x, x > -9)
gemm(zeros((3, 3)), x.T, x, 1., 0.)
fft(x, axis=1)
sum(x, axis=0, keepdims=True)
mean(x, axis=0, keepdims=True) * 2
sum(sum(x, axis=1))
sum(sum(x, axis=0))
prod(sum(x, axis=1))
mean(mean(x, axis=1))
dot(sum(x, axis=0), w)
sum(x, axis=0) @ v
interp(y, [0., 1.], [1., 2.])
linspace(0., 1., 3) * sum(x, axis=0)
median(x, axis=1)
x[b]
logsumexp(x, axis=0)
logsumexp(x)
squeeze(expand_dims(x, axis=2))
grad(sum(max_pool(q, [2]) ** 2), q)
searchsorted(w, x)
int64(float64(n))
cast(x.shape[0], 'int32') * 2
n * 2.5
n * 4611686018427387904 * 4
-n
cast(sum(i), 'int32')
max(x > 0)
cast(max(i), 'float64')
logical_not(all(x > 0))
logical_not(any(x > 0))
x[int32(arange(n)), i]
zeros((3, 3))[i[:, None], i[:, None]]
shape(x)[-1]
shape(x)[-2]
shape(x)[1:]
shape(q)[1:]
assert_op(x, n)
assert_op(x, shape(x))
ifelse(b, 0., sum(x))
ifelse(b, sum(x), 0.)
ifelse(b, max(x), max(x * 2))
ifelse(b, n, n * 2)
full((2, 2), n)
full(n, 2.)
ones(n) + zeros(n)
full_like(x, 0.)
full_like(arange(n), 3)
zeros_like(shape(x))
ones_like(arange(n)) + i
x[arange(0, n), i]
x[broadcast_to(arange(n), (2, n)), i]
broadcast_to(1., n)
reshape(transpose(z, axes=[1, 0, 2]), (3, n, 2, 1))
x[reshape(arange(n), (n, 1)), i[:, None]]
reshape(sum(x, axis=0), (1, 3))
reshape(n, (1,))
reshape(n, ()) * 2
specify_shape(x, (n, -1))
specify_shape(x.T, (3, -1))
specify_shape(x.T, (3, n))
specify_shape(sum(x, axis=0), (3,))
specify_shape(reshape(x, (-1,)), shape(reshape(x, (-1,))))
gemm(x, x, eye(3), 1., 1.)
gemm(zeros((n, 3)), x, eye(3), 2., 1.)
gemm(x.T, ones((3, 3)), x.T, 1., 1.)
gemm(ones((3, 3)), x.T, x, 1., float64(n))
gemm(ones((3, 3)), x.T, x, 1. / n, 1.)
gemm(x.T @ x, x.T, x, 1., 1.)
gemm(ones((3, 3)), x.T, x, 1., 0.)
(x > 0).T @ (x > 0)
(x > 0) @ (v > 0)
expand_dims(q, axis=0) @ q
expand_dims(q, axis=1) @ eye(3)
solve(q, ones((1, 3, 2)))
scan(lambda t, m: m * t, sequences=[w], non_sequences=[x])
map(lambda a: a * w, x)
map(lambda a: a * 2, x.T)
map(lambda a: a * 2, reshape(x, (-1,)))
scan(lambda a, c: a * c, sequences=[x, y])
scan(lambda t, a0, a1, a2: [sum(x * t), a0, a1], sequences=[w], outputs_info=[0., 0., 0.])[2]
scan(lambda t, s: maximum(s, max(x * t)), sequences=[w], outputs_info=[max(x)])
scan(lambda t, s: s, sequences=[w], outputs_info=[max(x)])
diagonal(q, axis1=-2, axis2=-1)
split(x, 3, axis=-1)[1]
ones(stack([3, n])).T * x
concatenate([mean(x, axis=0), ones(3)])
concatenate([sum(x, axis=0), ones(3) * n])
stack([sum(x), 0., 2.5 * n])
stack([mean(x), 1.])
stack([n * 1., 0.])
shape_i(x, axis=0)
cumsum(sum(x, axis=0))
repeat(sum(x, axis=0), 2)
sum(x) * reciprocal(n)
sum(x * reciprocal(n))
n * n / n
sum(x) + n
logical_or(any(x > 0), any(x < 0))
twice(x) + twice(x * 3)
twice(x.T) + twice(x.T)
twice(x[:, :1] * w)
twice(reshape(x, (-1, 1)))
twice(sum(x, axis=0, keepdims=True)) + twice(mean(x, axis=0, keepdims=True) * n)
twice(x - x)
twice(zeros((2, 2))) + twice(ones((2, 2)))
along(y, y * 2)
along(sum(x, axis=0), w)
along(reshape(x, (-1,)), reshape(x, (-1,)))
total(x, sum(x, axis=0))[0]
total(x, sum(x, axis=0))[1]
number(y, arange(n))
scan(lambda a, c: a + c, outputs_info=[taps(stack([y, y]), [-2, -1])], n_steps=3)
scan(lambda a, c: a + c, outputs_info=[taps(ones((2, 3)), [-2, -1])], n_steps=3)
scan(lambda a, c: a - c, sequences=[taps(x.T, [-1, 0])])
END
    ok "grun g.yaml $KINDS -r '*=whole.npz'"
    n=$(grep -c '^  o[0-9]' g.yaml)
    for ((e = 1; e <= n; e++)); do expect+=" --expect o$e=@whole.npz:o$e"; done
    for n in 2 3 9; do
        parts g.yaml $n "$KINDS" && ok "grun --merge g.yaml p.*.npz $expect >/dev/null" || return
    done
}

@test "ops of the user's own are looked into: what they do to rows" {
    printf 'thunkline: 1\nops:\n  cube:\n    inputs: x\n    def: x * x * x\n  centred:\n    inputs: x\n    def: x - mean(x, axis=0)\n  spread:\n    inputs: x\n    def: sum(x ** 2, axis=0)\n' >o.yaml
    gload --ops o.yaml --new -i 'x: float64[n, 3]' -e 'c = cube(x)' -e 's = spread(cube(x)) + spread(x)' -e 'm = centred(x)' -e 't = centred(x.T)' -e 'u = cube(sum(x))' --outputs c,s,m,t,u -o g.yaml
    local k x="'x=normal(0, 1, (7, 3), seed=1)'"
    ok "grun --ops o.yaml g.yaml $x -r '*=whole.npz'"
    for k in 1 2 3; do ok "grun --ops o.yaml g.yaml $x --outputs c,s,t --part $k/3 -r '*=p.$k.npz'"; done
    ok "grun --merge --ops o.yaml g.yaml p.*.npz --outputs c,s,t --expect c=@whole.npz:c --expect s=@whole.npz:s --expect t=@whole.npz:t >/dev/null"
    bad 3 E_SHAPE 'm can.t be put together from parts: subtract takes a mean over the rows' "grun --ops o.yaml g.yaml $x --part 1/3 --outputs m"
    bad 3 E_SHAPE 'u can.t be put together from parts: cube takes the sum over the rows' "grun --ops o.yaml g.yaml $x --part 1/3 --outputs u"
}

@test "what can be split into shards, in 3 parts: the whole run's results, or the reason why not" {
    local e taken=0 refused=0
    local args="'x=normal(0, 1, (7, 3), seed=1)' 'z=normal(0, 1, (7, 2, 3), seed=2)' 'q=normal(0, 1, (7, 3, 3), seed=3)'"
    args+=" 'j=[3, 1, 0, 2, 5, 8, 4]' k=True o=[1,2] 'u=ones((7, 3))' 'v=ones((7, 3, 2))' 'r=rng(5)'"
    while IFS='|' read -r e _; do
        # only one dim whose rows could be cut
        { sed 's/float64.c./float64[2]/' "$BATS_TEST_DIRNAME/shards.head" && printf '%s\noutputs: [y]\n' "$e"; } >g.yaml
        gload g.yaml --check 2>.err || complain 'should be a graph' "$e" || return
        shell "grun g.yaml $args -r '*=whole.npz'"
        [ "$status" = 0 ] || continue # other values are wanted
        shell "grun g.yaml $args --part 1/3 -r '*=p.1.npz'"
        if [ "$status" = 0 ]; then
            shell "grun g.yaml $args --part 2/3 -r '*=p.2.npz' && grun g.yaml $args --part 3/3 -r '*=p.3.npz' && grun --merge g.yaml p.*.npz --expect y=@whole.npz:y"
            [ "$status" = 0 ] || complain 'should be the same in parts' "$e" || return
            taken=$((taken + 1))
        else
            grep -q "E_SHAPE.*can't be put together from parts: " .err || complain 'should say why' "$e" || return
            refused=$((refused + 1))
        fi
    done < <(grep -Ev '^#|^$|^print' "$BATS_TEST_DIRNAME/shards.tsv")
    [ $taken -gt 50 ] && [ $refused -gt 20 ] || fail "$taken taken, $refused refused"
}

@test "each op that needs all rows, or a sum of them as it is, says so" {
    local e says head
    head=$(rows_of_all_kinds)
    while IFS='#' read -r e says; do
        printf '%s\n  o = %s\noutputs: [o]\n' "$head" "$e" >g.yaml
        status=0
        eval "grun g.yaml $KINDS --part 1/3 -r '*=p.npz'" >.out 2>.err || status=$?
        [[ $status = 3 && $(<.err) =~ E_SHAPE.*"can't be put together from parts: "($says) ]] || complain "should say: $says" "$e" || return
    done <<'END'
int64(0.5 * x.shape[0])#cast takes scaled by|cast takes a number of rows
max(x, axis=0) + 1#add takes the maximum over the rows
max(x, axis=0) * 2#multiply takes the maximum over the rows
minimum(max(x), 3.)#minimum takes the maximum over the rows
min(x) * -1#multiply takes the minimum over the rows
min(x) / -2.#true_divide takes the minimum over the rows
max(x) / 2.#true_divide takes the maximum over the rows
prod(x) * prod(x + 1)#multiply takes the product over the rows
prod(x) * 2#multiply takes the product over the rows
1 / prod(x)#true_divide takes the product over the rows
prod(x) / prod(x + 2)#true_divide takes the product over the rows
prod(x) ** 2#power takes the product over the rows
abs(prod(x))#abs takes the product over the rows
abs(sum(x))#abs takes the sum over the rows
sqrt(prod(abs(x)))#sqrt takes the product over the rows
all(x > -9) & all(x < 9)#bitwise_and takes the .all. over the rows
any(x > 1) | any(x < -1)#bitwise_or takes the .any. over the rows
~all(x > 0)#invert takes the .all. over the rows
~any(x > 0)#invert takes the .any. over the rows
all(x > 0) | any(x > 0)#bitwise_or takes the .all. over the rows
where(b, sum(x), sum(x) * 2)#where takes the sum over the rows
where(sum(x) > 0, 1., 2.)#greater takes the sum over the rows
cast(prod(x), 'int64')#cast takes the product over the rows
exp(sum(x))#exp takes the sum over the rows
argmax(x, axis=0)#argmax needs all rows at once
sort(x, axis=0)#sort needs all rows at once
softmax(x, axis=0)#softmax needs all rows at once
std(x, axis=0)#std needs all rows at once
x @ x.T#matmul needs all rows at once
inv(x.T @ x)#inv takes the sum over the rows
reshape(x.T, (3, -1))#reshape needs all rows at once
concatenate([x, x], axis=0)#concatenate needs all rows at once
concatenate([sum(x, axis=0), mean(x, axis=0)])#concatenate takes the sum over the rows
stack([sum(x), mean(x)])#stack takes the sum over the rows
stack([sum(x), max(x)])#stack takes the sum over the rows
tile(x, (1, 2))#reshape needs all rows at once
repeat(x, 2, axis=0)#repeat_axis needs all rows at once
diagonal(x)#diagonal needs all rows at once
searchsorted(x[:, 0], w)#searchsorted needs all rows at once
unique(y)#unique needs all rows at once
x[1:]#subtensor takes some of the rows only
x[::-1]#subtensor takes some of the rows only
x[0]#subtensor takes some of the rows only
x[i]#subtensor takes some of the rows only
x[x[:, 0] > 0]#subtensor takes as many rows as a mask says
set_subtensor(x[0], 1.)#set_subtensor takes some of the rows only
inc_subtensor(zeros(3)[i], y)#inc_subtensor needs all rows at once
set_subtensor(zeros(3)[i], y)#set_subtensor overwrites elements that rows share
inc_subtensor(sum(x, axis=0)[1], 1.)#inc_subtensor takes the sum over the rows
inc_subtensor(zeros(3)[1:], sum(x, axis=0)[1:])#inc_subtensor takes the sum over the rows
arange(n) * 1.#cast takes the numbers of the rows
sum(arange(n))#sum takes the numbers of the rows
n * n#it is scaled by a power of the number of rows
sum(x) * n#it is the sum over the rows, scaled by a power of their number
sum(x) / sum(y)#true_divide takes the sum over the rows
sum(y * y) / sum(ones_like(y))#true_divide takes the sum over the rows
shape(x)#it is a shape with the number of rows
scan(lambda a, s: s + a, sequences=[x], outputs_info=[w])#scan takes a number of rows
foldl(lambda a, s: s + a, x, w)#scan takes a number of rows
ifelse(b, [x, sum(x)], [x, mean(x)])#ifelse takes the sum over the rows
ifelse(sum(x) > 0, x, x)#greater takes the sum over the rows
conv(ones((1, 3, 5)), q)#conv takes rows in its first input only
uniform(0., 1., (n,), seed=1)#uniform draws numbers for all rows at once
fft(x, axis=0)#dft needs all rows at once
max(sum(x, axis=0))#max takes the sum over the rows
sum(x)**2#power takes the sum over the rows
sum(x, axis=0) @ sum(x, axis=0)#matmul takes the sum over the rows
max(x.T / n, axis=0)#max takes rows, scaled by the number of all rows
twice(max(x, axis=0, keepdims=True))#multiply takes the maximum over the rows
sort(x / n, axis=1)#sort takes rows, scaled by the number of all rows
sort(x.T @ x)#sort takes the sum over the rows
squeeze(x, axis=0)#squeeze needs all rows at once
stack([max(x), min(x)])#stack takes the maximum over the rows
stack([reshape(x, (-1,)), y])#stack needs all rows at once
concatenate([ones((2, 3)), x], axis=0)#concatenate (needs all rows at once|has rows in some of its inputs only)
conv(sum(q, axis=0, keepdims=True), ones((2, 3, 2)))#conv takes the sum over the rows
conv(reshape(q, (-1, 1, 3)), ones((2, 1, 2)))#conv needs all rows at once
conv(q, sum(q, axis=0, keepdims=True))#conv takes the sum over the rows
max_pool(q / n, [2])#max_pool takes rows, scaled
avg_pool(transpose(q, axes=[1, 0, 2]), [2])#avg_pool takes rows along the first axis only
searchsorted(w, x / n)#searchsorted takes rows, scaled
searchsorted(w, sum(x, axis=0))#searchsorted takes the sum over the rows
convolve(x.T, x.T, batch_dims=1)#convolve needs all rows at once
searchsorted(x.T, w, batch_dims=1)#searchsorted needs all rows at once
cast(n, 'bool')#cast takes a number of rows
int64(int8(n))#cast takes a number of rows
float32(int8(sum(i)))#cast takes the sum over the rows
int64(sum(int16(i), dtype='int16'))#cast takes the sum over the rows
cast(cast(n, 'bool'), 'float64') * 2#cast takes a number of rows
cast(1 / n, 'bool')#cast takes a number divided by one of rows
cast(sum(i), 'bool')#cast takes the sum over the rows
cast(max(x > 0), 'int64')#cast takes the maximum over the rows
cast(max(i), 'int8')#cast takes the maximum over the rows
maximum(max(i), n)#maximum takes the maximum over the rows
logical_not(max(x))#logical_not takes the maximum over the rows
x[:, max(i)]#subtensor takes the maximum over the rows
w[i * n]#subtensor takes rows, scaled
zeros((3, 3))[i, i[:, None]]#subtensor needs all rows at once
zeros((3, 3))[i, w > 1]#subtensor pairs rows with an index that isn't split
reshape(x, (-1,))[arange(n)]#subtensor takes the numbers of the rows
shape(x)[..., 0]#subtensor needs all rows at once
shape(x)[0:1]#subtensor needs all rows at once
shape(x)[[0, 1]]#subtensor needs all rows at once
shape(x)[:1]#subtensor needs all rows at once
shape(x.T)[1:]#it is a shape with the number of rows
inc_subtensor(zeros_like(x)[:, 0], y / n)#it is rows, scaled
inc_subtensor(x[:, 0], y / n)#inc_subtensor takes rows, scaled
assert_op(x, any(x > 0))#assert_op checks or uses a value of all rows at once
ifelse(b, max(x), min(x))#ifelse takes the maximum over the rows
ifelse(b, arange(n), arange(n))#ifelse takes the numbers of the rows
ifelse(b, shape(x), shape(x))#ifelse needs all rows at once
ifelse(b, reshape(x, (-1,)), y)#ifelse needs all rows at once
ifelse(all(x > 0), x, x)#ifelse takes the .all. over the rows
ifelse(b, x / n, x)#ifelse takes rows, scaled
where(cast(x, 'bool'), x / n, x)#where takes rows, scaled
full((2, 2), sum(x))#full takes the sum over the rows
full((n, 3), n)#it is rows, scaled
full_like(x, sum(x))#full_like takes the sum over the rows
full_like(x, n)#it is rows, scaled
x[arange(1, n), i]#arange numbers the rows of all parts
x[arange(0, n, b), i]#arange numbers the rows of all parts
arange(2 * n)#arange numbers the rows of all parts
broadcast_to(sum(x, axis=0), (n, 3))#broadcast_to takes the sum over the rows
broadcast_to(w, (max(i), 3))#stack takes the maximum over the rows
broadcast_to(shape(x), (2, 2))#broadcast_to needs all rows at once
broadcast_to(x, (n * 2, 3))#broadcast_to needs all rows at once
broadcast_to(arange(n), (2, n))#it is the numbers of the rows
reshape(x, (-1, 2))#reshape needs all rows at once
reshape(x, ())#reshape needs all rows at once
reshape(transpose(z, axes=[1, 0, 2]), (n, 6))#reshape needs all rows at once
reshape(transpose(z, axes=[1, 0, 2]), (-1,))#reshape needs all rows at once
reshape(sum(x, axis=0), (n, 3))#reshape takes the sum over the rows
reshape(shape(x), (2, 1))#reshape needs all rows at once
specify_shape(x.T, shape(x))#specify_shape needs all rows at once
specify_shape(reshape(x, (-1,)), (n,))#specify_shape needs all rows at once
gemm(zeros((3, 3)), x.T, x, sum(x), 0.)#gemm takes the sum over the rows
gemm(zeros((3, 3)), x.T, x, 1., mean(x))#gemm takes a mean over the rows
gemm(x, x, eye(3), 1., n)#gemm takes a number of rows
gemm(x, x.T, x.T, 1., 0.)#gemm needs all rows at once
gemm(ones((3, 3)), x.T, x, 1., 1.)#gemm needs all rows at once
gemm(x.T @ x, x.T, x, 1. / n, 1.)#gemm takes the sum over the rows
gemm(broadcast_to(max(x), (3, 3)), x.T, x, 1., 1.)#gemm takes the maximum over the rows
any(x > 0, axis=0) @ (v > 0)#matmul takes the .any. over the rows
reshape(x, (-1,)) @ y#matmul needs all rows at once
expand_dims(q, axis=0) @ expand_dims(q, axis=1)#matmul needs all rows at once
solve(q, ones((7, 3, 2)))#solve needs all rows at once
solve(expand_dims(q, axis=1), expand_dims(z, axis=0))#solve needs all rows at once
solve(q, z / n)#solve takes rows, scaled
scan(lambda t, s: s * 0.5 + t, sequences=[x], outputs_info=[w], n_steps=3)#scan needs all rows at once
scan(lambda s: s * 2, outputs_info=[shape(x)], n_steps=2)#scan needs all rows at once
scan(lambda t, m: m, sequences=[w], non_sequences=[arange(n)])#scan takes the numbers of the rows
scan(lambda t, m: m, sequences=[w], non_sequences=[shape(x)])#scan needs all rows at once
scan(lambda t, a0, a1, a2, a3, a4, a5, a6, a7, a8: [sum(x * t), a0, a1, a2, a3, a4, a5, a6, a7], sequences=[w], outputs_info=[0., 0., 0., 0., 0., 0., 0., 0., 0.])[8]#scan needs all rows at once
scan(lambda t, s: s + max(x) * t, sequences=[w], outputs_info=[0.])#multiply takes the maximum over the rows
scan(lambda a: [a * 2, until(a[0] > 5)], sequences=[x])#scan takes a number of rows
map(lambda a: a + sum(x), x)#scan takes a number of rows
map(lambda a: a * 2, x / n)#scan takes a number of rows
diagonal(q, axis1=0, axis2=1)#diagonal needs all rows at once
split(shape(x), 2)[0]#split needs all rows at once
expand_dims(shape(x), axis=0)#expand_dims needs all rows at once
stack([arange(n), arange(n)])#stack takes the numbers of the rows
stack([n, 3, n])#stack takes a number of rows
concatenate([sum(x, axis=0), ones(3)])#concatenate has rows in some of its inputs only
cumsum(max(x, axis=0))#running_sum takes the maximum over the rows
transpose(arange(n))#transpose takes the numbers of the rows
reciprocal(n)#it is a number divided by one of rows
negative(max(i))#negative takes the maximum over the rows
x + y#add pairs rows with rows along another axis
reshape(x, (-1,)) + y#add takes rows that are merged with other axes in different ways
along(y, reshape(x, (-1,)))#call needs all rows at once
along(y, w)#call needs all rows at once
scan(lambda a, c: a + c, outputs_info=[taps(x, [-2, -1])], n_steps=3)#scan needs all rows at once
scan(lambda a, c: a - c, sequences=[taps(x, [-1, 0])])#
END
}
