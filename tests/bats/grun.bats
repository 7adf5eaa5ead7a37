# grun: values in, results out, calls in series, verdicts.
load common

counter() { # a shared counter that a call adds x to
    gload --new -i 'x: float64' --shared 'c: float64 = 10' -e 'old = c' -e 'y = x * 2' --outputs old,y --update 'c = c + x' -o counter.tlg
}

@test "values are text in the language, compiled for their receiver" {
    gload -i 'x: float32[?]' -e 'x' -o f.tlg
    ok 'grun f.tlg x="[1, 2.5, inf, -inf, nan]"' 'out = [1.0, 2.5, inf, -inf, nan]'
    ok 'grun f.tlg x="ones(3)"' 'out = [1.0, 1.0, 1.0]'
    ok 'grun f.tlg x="arange(4) * 2"' 'out = [0.0, 2.0, 4.0, 6.0]'
    ok 'grun f.tlg x="float32([1, 2]) / 3"' 'out = [0.33333334, 0.6666667]'
    ok 'gload -i "i: int8" -e "i" | grun i=2.0' 'out = 2'
    ok 'gload -i "i: uint8" -e "i" | grun i=255' 'out = 255'
    ok 'gload -i "b: bool" -e "b" | grun b=True' 'out = True'
    ok 'gload -i "z: complex128" -e "z * z" | grun z=1+2j' 'out = (-3.0+4.0j)'
    bad 3 E_VALUE '2\.5' 'gload -i "i: int64" -e "i" | grun i=2.5'
    bad 3 E_VALUE 'uint8' 'gload -i "i: uint8" -e "i" | grun i=300'
    bad 3 E_ 'float32\[\?\]' 'grun f.tlg x=1.5'
}

@test "every format of text output" {
    gload --new -i 'x: float64[2]' -e 'a = x' -e 'b = x > 1.5' -e 'c = sum(x)' -e 'd = 1 / (x - 1)' --outputs a,b,c,d -o g.tlg
    ok 'grun g.tlg x=[1,2]' $'a = [1.0, 2.0]\nb = [False, True]\nc = 3.0\nd = [inf, 1.0]'
    ok 'grun g.tlg x=[1,2] -O text -o t; cat t' $'a = [1.0, 2.0]\nb = [False, True]\nc = 3.0\nd = [inf, 1.0]'
    ok 'grun g.tlg x=[1,2] -O json' '{"name": "a", "dtype": "float64", "shape": [2], "data": [1.0, 2.0]}
{"name": "b", "dtype": "bool", "shape": [2], "data": [false, true]}
{"name": "c", "dtype": "float64", "shape": [], "data": 3.0}
{"name": "d", "dtype": "float64", "shape": [2], "data": ["Infinity", 1.0]}'
    ok 'gload -i "x: float64[2]" -e "x" | grun x=[1,2] -O tsv' $'out\n[1.0, 2.0]'
    ok 'gload -i "x: float64[2]" -e "x" | grun x=[1,2] -O tsv -r out=o.npy | wc -c' 0
    ok 'gload -i "x: float64[2]" -e "x" | grun "x=[[1,2],[3,4]]" -O tsv -r out=o.npy --each x --every 1 | wc -c' 0
    python_with numpy
    ok 'gload -e "arange(6).reshape((2, 3))" | grun -O npy | '"$PYTHON"' -c "import numpy,sys,io; a=numpy.load(io.BytesIO(sys.stdin.buffer.read())); print(a.dtype, a.tolist())"' 'int64 [[0, 1, 2], [3, 4, 5]]'
    bad 2 E_USAGE 'npy' 'grun g.tlg x=[1,2] -O npy'
    bad 2 E_USAGE 'text|json|npy|tsv' 'grun g.tlg x=[1,2] -O yaml'
    ok 'gload -e "arange(2000)" | grun | wc -w' 2002
    # without -O the name decides
    ok 'grun g.tlg x=[1,2] -o r.json; grun g.tlg x=[1,2] -O json | cmp - r.json'
    ok 'grun g.tlg x=[1,2] -o r.tsv; grun g.tlg x=[1,2] -O tsv | cmp - r.tsv'
    ok 'gload -e "arange(3)" | grun -o r.npy; gload -i "x: int64[3]" -e x | grun x=@r.npy' 'out = [0, 1, 2]'
}

@test "-r writes every format and values read it back" {
    gload --new -i 'x: float32[n, 2]' -e 'y = x * 2' -e 'i = int64(x[:, 0])' --outputs y,i -o g.tlg
    gload -i 'x: float32[n, 2]' -e 'x' -o id.tlg
    local y=$'out = [[2.0, 4.0],\n       [6.0, 8.0]]' f
    for f in a.npy a.csv a.tsv; do
        ok "grun g.tlg x=[[1,2],[3,4]] -r y=$f" 'i = [1, 3]'
    done
    ok 'grun id.tlg x=@a.npy' "$y"
    ok 'grun id.tlg x="float32(load(\"a.csv\"))"' "$y"
    ok 'grun id.tlg x="float32(load(\"a.tsv\"))"' "$y"
    for f in a.npz a.safetensors; do
        ok "grun g.tlg x=[[1,2],[3,4]] -r y=$f -r i=$f" ''
        ok "grun id.tlg x=@$f:y" "$y"
        bad 3 E_NAME 'it holds [yi], [yi]' "grun id.tlg x=@$f:z"
    done
    ok 'grun g.tlg x=[[1,2],[3,4]] -r y=a.json -r i=i.json' ''
    like 'cat a.json' '"name": "y"' '"dtype": "float32"'
    ok 'grun id.tlg x=@a.npy[1:]' 'out = [[6.0, 8.0]]'
    ok 'grun id.tlg x="@a.npy[::-1, :]"' $'out = [[6.0, 8.0],\n       [2.0, 4.0]]'
    ok 'grun id.tlg x=@- <a.npy' "$y"
    cp a.npy 'b.npy:y'
    ok 'grun id.tlg x=@b.npy:y' "$y"
    bad 4 E_IO 'nofile\.npy' 'grun id.tlg x=@nofile.npy'
    bad 2 E_USAGE '.' 'cat id.tlg | grun x=@-'
    bad 2 E_USAGE '.' 'grun g.tlg x=[[1,2]] -r y=a.foo'
    ok 'grun g.tlg x=[[1,2]] -r y=deep.npy --threads 1 && test -f deep.npy' 'i = [1]'
}

@test "grun reads files of numpy, and numpy those of grun" {
    python_with numpy
    "$PYTHON" -c 'import numpy as n
a=n.arange(12.).reshape(3,4)
n.save("f.npy", n.asfortranarray(a)); n.save("be.npy", a.astype(">f8")); n.savez("a.npz", a=a, b=n.float32([1,2])); n.savez_compressed("c.npz", a=a)
n.savetxt("a.csv", a, delimiter=",")'
    gload --new -i 'x: float64[?, ?]' -e 's = x.sum()' -e 'r = x[1]' --outputs s,r -o g.tlg
    local v
    for v in @f.npy @be.npy @a.npz:a @a.csv; do
        ok "grun g.tlg x=$v" $'s = 66.0\nr = [4.0, 5.0, 6.0, 7.0]'
    done
    ok 'grun g.tlg x="load(\"a.npz\", \"a\")[:2]"' $'s = 28.0\nr = [4.0, 5.0, 6.0, 7.0]'
    for v in bool int8 uint16 int64 float16 float32 float64 complex64; do
        ok "gload -e 'cast([0, 1, 1], dtype=\"$v\")' | grun -r out=o.npy && $PYTHON -c 'import numpy as n; a=n.load(\"o.npy\"); print(a.dtype, a.shape, int(a.sum().real))'" "$v (3,) 2"
    done
}

@test "tables with and without a header, and damaged ones" {
    gload -i 'x: float64[?, ?]' -e 'x' -o x.tlg
    printf 'a,b\n3,4\n' >h.csv
    ok 'grun x.tlg x=@h.csv' 'out = [[3.0, 4.0]]'
    printf '1\t2\n3\t4\n' >t.tsv
    ok 'grun x.tlg x=@t.tsv' $'out = [[1.0, 2.0],\n       [3.0, 4.0]]'
    local text want
    while IFS='|' read -r text want; do
        printf '%b' "$text" >b.csv
        bad 3 E_FORMAT "$want" 'grun x.tlg x=@b.csv'
    done <<'END'
3,x\n3,4\n|line 1, column 2
1,2\n3,y\n|line 2, column 2
1,2\n3\n|line 2 has 1 col
\n\n|no numbers
END
    printf '1,2\n' | head -c 0 >e.csv
    shell 'grun x.tlg x=@e.csv'
    [ "$status" = 3 ] || [ "$status" = 4 ]
    gload -e 'ones((20, 20))' | grun -r out=o.npy
    head -c 200 o.npy >c.npy
    bad 4 E_TRUNCATED 'c.npy' 'grun x.tlg x=@c.npy'
    bad 3 E_FORMAT 'not a file of arrays' 'grun x.tlg x=@x.tlg'
}

@test "the filter: shapes, dtypes, --strict, --allow-downcast" {
    gload -i 'x: float32[2]' -e 'x' -o f.tlg
    gload -e 'float64([1.5, 0.1])' | grun -r out=d.npy
    gload -e 'int64([1, 2])' | grun -r out=i.npy
    gload -e 'int8([1, 2])' | grun -r out=b.npy
    bad 3 E_ 'float64' 'grun f.tlg x=@d.npy'
    ok 'grun f.tlg x=@d.npy --allow-downcast' 'out = [1.5, 0.1]'
    ok 'grun f.tlg x=@b.npy' 'out = [1.0, 2.0]'
    bad 3 E_ 'int8' 'grun f.tlg x=@b.npy --strict'
    bad 3 E_ '\[3\]|\(3,\)' 'grun f.tlg x=[1,2,3]'
    bad 3 E_ 'x' 'gload -i "x: float64[n]" -i "y: float64[n]" -e "x + y" | grun x=[1,2] y=[1,2,3]'
    bad 2 E_MISSING 'x: float32\[2\]' 'grun f.tlg'
    bad 2 E_UNKNOWN 'did you mean' 'gload -i "weight: float64" -e "weight" | grun wieght=1'
    bad 2 E_ 'x' 'grun f.tlg x=[1,2] x=[3,4]'
}

@test "--dim gives sizes that no input has" {
    gload --new -i 'v: float64[k]' -e 'y = v.sum() * k' --outputs y -o k.tlg
    ok 'grun k.tlg v=[1,2] --dim k=2' 'y = 6.0'
    bad 3 E_ 'k' 'grun k.tlg v=[1,2] --dim k=3'
    bad 2 E_UNKNOWN 'q' 'grun k.tlg v=[1,2] --dim q=3'
}

@test "dims of inputs of every kind agree with each other and with --dim, in every mode" {
    local s="s=sparse_from_triplets([1.],[0],[1],(2,3))" i args want m
    gload --new -i 'v: float64[k]' -i 'a: float64[n]' -e 'y = v.sum() * k' -e 'z = sum(a) + n' --outputs y,z -o t.tlg
    gload --new -i 'l: list(float64[n])' -i 'm: float64[n]' -e 'y = list_length(l) * n' --outputs y -o l.tlg
    gload --new -i "s: sparse('csr', float64[n, p])" -i 'm: float64[p]' -e 'y = p * n + sum(m)' --outputs y -o s.tlg
    gload --new -i 'l: list(float64[?])' -i 'm: float64[n]' -e 'y = list_length(l) * n' --outputs y -o q.tlg
    while IFS='|' read -r i args want; do
        for m in FAST_RUN FAST_COMPILE DEBUG; do
            case $want in
                [yz]*) ok "grun --mode $m --on-unused-input ignore $i.tlg $args" "$(printf '%b' "$want")" ;;
                *) bad 3 E_SHAPE "$want" "grun --mode $m --on-unused-input ignore $i.tlg $args" ;;
            esac
        done
    done <<END
t|v=[1,2] a=[1] --dim k=2|y = 6.0\\nz = 2.0
t|v=[1,2] a=[1] --dim k=2 --dim k=2 --dim n=1|y = 6.0\\nz = 2.0
t|v=[1,2] a=[1] --dim k=3 --dim k=2|y = 6.0\\nz = 2.0
t|v=[1,2] a=[1] --dim k=2 --dim k=3|the dim k is 3 as given and 2 by v
t|v=[1,2] a=[1] --dim n=3|the dim n is 3 as given and 1 by a
l|l=[[1,2],[3,4]] m=[1,2]|y = 4
l|l=[] m=[1]|y = 0
l|l=[[1,2],[3,4,5]] m=[1,2]|the dim n is 2 by l and 3 by l
l|l=[[1,2]] m=[1]|the dim n is 2 by l and 1 by m
l|l=[[1,2]] m=[1,2] --dim n=3|the dim n is 3 as given and 2 by l
q|l=[[1,2],[3,4,5]] m=[1,2]|y = 4
s|"$s" m=[1,2,3]|y = 12.0
s|"$s" m=[1,2]|the dim p is 3 by s and 2 by m
s|"$s" m=[1,2,3] --dim n=4|the dim n is 4 as given and 2 by s
END
    gload --new -i 'x: float64' -e 'y = x' --outputs y -o x.tlg
    bad 2 E_UNKNOWN 'n' 'grun x.tlg x=1 --dim n=3'
}

@test "--steps, --every: outputs use the old values; the last call is printed" {
    counter
    ok 'grun counter.tlg x=1' $'old = 10.0\ny = 2.0'
    ok 'grun counter.tlg x=1 --steps 5' $'old = 14.0\ny = 2.0'
    ok 'grun counter.tlg x=1 --steps 5 --every 2 -O tsv' $'call\told\ty\n2\t11.0\t2.0\n4\t13.0\t2.0\n5\t14.0\t2.0'
    bad 2 E_USAGE 'steps' 'grun counter.tlg x=1 --steps x'
    bad 2 E_USAGE '.' 'grun counter.tlg x=1 --steps -1'
    bad 2 E_USAGE 'steps must be at least 1' 'grun counter.tlg x=1 --steps 0'
    bad 2 E_USAGE 'every must be at least 1' 'grun counter.tlg x=1 --every 0'
    ok 'grun counter.tlg "x = 1" --steps 1' $'old = 10.0\ny = 2.0'
}

@test "--save then reload equals continuing" {
    counter
    ok 'grun counter.tlg x=1.5 --steps 3 --save s.tlg >/dev/null; grun s.tlg x=1.5 --steps 4' $'old = 19.0\ny = 3.0'
    ok 'grun counter.tlg x=1.5 --steps 7' $'old = 19.0\ny = 3.0'
    ok 'grun counter.tlg x=1.5 --steps 3 --save s.yaml >/dev/null && grep -c "^  c: float64 = 14.5" s.yaml' 1
    ok 'grun s.yaml x=0' $'old = 14.5\ny = 0.0'
    ok 'grun counter.tlg x=1 --save counter.tlg >/dev/null; grun counter.tlg x=0' $'old = 11.0\ny = 0.0'
    ok 'grewrite counter.tlg | grun x=1 --save s.json.zst >/dev/null; grun s.json.zst x=0' $'old = 12.0\ny = 0.0'
}

@test "--each, --batch, --drop-last, --epochs walk the leading axis" {
    gload --new -i 'x: float64[k]' -i 'w: float64' --shared 'seen: float64 = 0' --shared 'calls: int64 = 0' -e 's = x.sum() * w' -e 'n = x.shape[0]' \
        --outputs s,n --update 'seen = seen + x.sum()' --update 'calls = calls + 1' -o b.tlg
    ok 'grun b.tlg x=[1,2,3,4,5] w=2 --each x --batch 2 --every 1 -O tsv' $'call\ts\tn\n1\t6.0\t2\n2\t14.0\t2\n3\t10.0\t1'
    ok 'grun b.tlg x=[1,2,3,4,5] w=2 --each x --batch 2 --drop-last' $'s = 14.0\nn = 2'
    ok 'grun b.tlg x=[1,2,3,4,5] w=2 --each x --batch 2 --epochs 3 --save o.yaml >/dev/null; grep -E "^  (seen|calls):" o.yaml' $'  seen: float64 = 45.0\n  calls: int64 = 9'
    gload -i 'a: float64' -i 'b: float64' -e 'a + b' -o p.tlg
    ok 'grun p.tlg a=[1,2,3] b=10 --each a' 'out = [11.0, 12.0, 13.0]'
    ok 'grun p.tlg a=[1,2,3] b=[10,20,30] --each a,b -r out=o.npy; gload -i "x: float64[3]" -e x | grun x=@o.npy' 'out = [11.0, 22.0, 33.0]'
    bad 3 E_ 'a.*b|b.*a' 'grun p.tlg a=[1,2,3] b=[1,2] --each a,b'
    bad 2 E_UNKNOWN 'c' 'grun p.tlg a=[1,2,3] b=1 --each c'
    bad 2 E_USAGE 'each' 'grun p.tlg a=1 b=1 --batch 2'
    bad 2 E_USAGE 'each' 'grun p.tlg a=1 b=1 --epochs 2'
}

@test "-r with --each appends along axis 0" {
    gload --new -i 'x: float64[k, 2]' -e 'y = x * 2' --outputs y -o g.tlg
    ok 'grun g.tlg x=[[1,2],[3,4],[5,6]] --each x --batch 2 -r y=o.npy' ''
    ok 'gload -i "x: float64[3, 2]" -e x | grun x=@o.npy' $'out = [[2.0, 4.0],\n       [6.0, 8.0],\n       [10.0, 12.0]]'
}

@test "--shuffle is a permutation, the same for a seed, anew each epoch" {
    gload -i 'x: int64' -e 'x' -o g.tlg
    local x='[0,1,2,3,4,5,6,7,8,9]'
    ok "grun g.tlg x=$x --each x --shuffle 1 --every 1 -O tsv | tail -n +2 | cut -f 2 | sort -n | uniq | wc -l" 10
    ok "cmp <(grun g.tlg x=$x --each x --shuffle 1 --every 1) <(grun g.tlg x=$x --each x --shuffle 1 --every 1)"
    ok "! cmp -s <(grun g.tlg x=$x --each x --shuffle 1 --every 1) <(grun g.tlg x=$x --each x --shuffle 2 --every 1)"
    ok "grun g.tlg x=$x --each x --shuffle 1 --epochs 2 --every 1 -O tsv | tail -n +2 | cut -f 2 >t; head -n 10 t >a; tail -n 10 t >b; ! cmp -s a b && sort -n a >c && sort -n b | cmp - c"
}

@test "--expect: verdicts with tolerances" {
    gload -i 'x: float64[2]' -e 'x' -o g.tlg
    ok 'grun g.tlg x=[1,2] --expect out=[1,2]'
    ok 'grun g.tlg x="[1, nan]" --expect "out=[1, nan]"'
    bad 1 E_VERDICT 'out' 'grun g.tlg x=[1,2] --expect out=[1,2.001]'
    ok 'grun g.tlg x=[1,2] --expect out=[1,2.001] --rtol 1e-2'
    ok 'grun g.tlg x=[1,2] --expect out=[1,2.001] --atol 1e-2'
    bad 1 E_VERDICT 'note: ' 'grun g.tlg x=[1,2] --expect out=[1,2.1] --rtol 1e-3 --atol 1e-3'
    bad 1 E_VERDICT 'expected' 'grun g.tlg x=[1,2] --expect out=[1,3]'
    bad 1 E_VERDICT 'shapes' 'grun g.tlg x=[1,2] --expect out=[1,2,3]'
    bad 2 E_UNKNOWN 'did you mean out' 'grun g.tlg x=[1,2] --expect oot=1'
    shell 'gload --new -e "a = 1.0" -e "b = 2.0" --outputs a,b | grun --expect a=1 --expect b=3'
    [ "$status" = 1 ]
}

@test "threads, --no-gc, --mode and the machine's instructions do not change results" {
    gload --new -i 'x: float32[n, 64]' --shared 'W: float32[64, 10] = normal(0, 1, (64, 10), seed=3)' -e 'y = log_softmax(tanh(x @ W), axis=1)' \
        -e 's = exp(x).sum()' --outputs y,s -o g.tlg
    local x='x=normal(0, 1, (1500, 64), seed=1)'
    grun g.tlg "$x" --threads 1 -r y=1.npy -r s=s1.npy
    grun g.tlg "$x" --threads 2 -r y=2.npy -r s=s2.npy
    cmp 1.npy 2.npy
    cmp s1.npy s2.npy
    grun g.tlg "$x" --no-gc -r y=3.npy -r s=s3.npy
    cmp 1.npy 3.npy
    local level
    for level in baseline avx2; do
        THUNKLINE_CPU=$level grun g.tlg "$x" --expect 'y=@1.npy' --expect 's=@s1.npy' >/dev/null
    done
    ok "grun g.tlg '$x' --mode FAST_COMPILE --expect y=@1.npy >/dev/null"
    ok "grun g.tlg '$x' --mode FAST_RUN --expect y=@1.npy >/dev/null"
    bad 2 E_USAGE 'FAST_RUN' 'grun g.tlg --mode QUICK'
}

@test "--time, --verbose and --progress speak on stderr only" {
    counter
    shell 'grun counter.tlg x=1 --steps 3 --time'
    [ "$status" = 0 ]
    [ "$(cat .out)" = $'old = 12.0\ny = 2.0' ]
    grep -Eq '^grun: [0-9.e-]+ s' .err
    ok 'grun counter.tlg x=1 --no-progress' $'old = 10.0\ny = 2.0'
    shell 'grun counter.tlg x=1 --progress'
    [ "$(cat .out)" = $'old = 10.0\ny = 2.0' ]
    shell 'grun counter.tlg x=1 -v'
    [ "$(cat .out)" = $'old = 10.0\ny = 2.0' ]
}

@test "limits: --max-memory is checked before memory is taken" {
    bad 6 E_MEM 'max-memory' 'gload -e "ones((1000, 1000)).sum()" -e "b = ones(3)" | grun --mode FAST_COMPILE --max-memory 1M'
    bad 6 E_MEM 'max-memory' 'gload -e "normal(0, 1, (100000, 100000, 10), seed=1)" | grun'
    ok 'gload -e "arange(10).sum()" | grun --max-memory 10MB' 'out = 45'
    bad 2 E_USAGE 'max-memory' 'gload -e "arange(10).sum()" | grun --max-memory much'
}

@test "failures while running name the Apply, its inputs, and end with 5" {
    bad 5 E_ASSERT 'negative' 'gload -e "y = assert_op(x, x > 0, msg=\"negative x\")" | grun x=-1'
    bad 5 E_INDEX 'index 5' 'gload -i "x: float64[n]" -e "x[5]" | grun x=[1,2]'
    bad 5 E_RUN_SHAPE '3.*2|2.*3' 'gload -i "x: float64[?]" -i "y: float64[?]" -e "x + y" | grun x=[1,2] y=[1,2,3]'
    bad 5 E_ARITHMETIC 'zero' 'gload -i "x: int64" -e "7 // x" | grun x=0'
    bad 5 E_ARITHMETIC 'floats have negative powers: cast' 'gload -i "x: int64" -e "2 ** x" | grun x=-1'
    bad 5 E_ARITHMETIC 'zero' 'gload -i "x: int64" -e "7 % x" | grun x=0'
}

@test "a prefix before names and several files at once" {
    gload --new -i 'x: float64' -e 'y = x * 2' --outputs y -o g.tlg
    ok 'gload g.tlg g.tlg --prefix p_ -o two.tlg 2>/dev/null || gload --prefix p_ g.tlg -o p.tlg && grun p.tlg p_x=3' 'p_y = 6.0'
    bad 2 E_USAGE '.' 'grun g.tlg g.tlg x=1'
}

@test "inputs that nothing needs: ignored, warned of, refused" {
    gload --new -i 'x: float64[n]' -i 'y: float64' -i 'z: int64[m]' -i 'k: int64[n]' -e 'a = x * 2' -e 'b = zeros(m)' --outputs a,b -o g.tlg
    ok 'grun g.tlg x=[1] z=[1,2]' "$(printf 'a = [2.0]\nb = [0.0, 0.0]')"
    ok 'grun g.tlg x=[1] z=[1,2] y=3 --on-unused-input ignore >/dev/null'
    bad 2 E_MISSING 'missing input x' 'grun g.tlg z=[1,2]'
    # an input of which only the shape is needed is needed; so is one that an update or an effect reads
    bad 3 E_UNUSED 'nothing needs the inputs y: float64, k: int64\[n\]' 'grun g.tlg --on-unused-input raise x=[1] z=[1,2] y=3'
    [ ! -s .out ]
    shell 'grun g.tlg --on-unused-input warn x=[1] z=[1,2]'
    [ "$status" = 0 ]
    grep -q '^grun: warning\[E_UNUSED\]: nothing needs the inputs y: float64, k: int64\[n\]$' .err
    grep -q '^a = ' .out
    ok 'gload --new -i "x: float64" -i "y: float64" --shared "w: float64 = 0" -e "p = print(y)" -e "q = 1.0" --outputs q --update "w = x" | grun --on-unused-input raise x=1 y=2 2>/dev/null' 'q = 1.0'
    # as the file says it, not as rewriting leaves it
    ok 'gload -i "x: float64" -i "y: float64" -e "x + y - y" | grun --on-unused-input raise x=1 y=2' 'out = 1.0'
    bad 3 E_UNUSED 'the input y: float64$' 'gload --on-unused-input raise --check -i "x: float64" -i "y: float64" -e "x + 1"'
    ok 'gload --check -i "x: float64" -i "y: float64" -e "x + 1"'
    bad 2 E_USAGE 'ignore.warn.raise' 'grun g.tlg --on-unused-input maybe x=[1]'
}

@test "a result's file is refused before the run, however long that would take" {
    gload --new -i 'x: float64[3]' -e 'y = exp(x)' -e 'z = x' --outputs y,z -o g.tlg
    bad 2 E_USAGE 'o.txt: the suffix of a file of arrays must be one of .npy' 'timeout 20 grun g.tlg x=[1,2,3] --steps 100000000000 -r y=o.txt'
    bad 2 E_USAGE 'o.npy holds one array, not 2' 'timeout 20 grun g.tlg x=[1,2,3] --steps 100000000000 -r y=o.npy -r z=o.npy'
    ok 'grun g.tlg x=[1,2,3] -r y=o.npz -r z=o.npz'
}

@test "rows of a printed array are aligned" {
    ok "gload --new -i 'x: float64[a, b]' -e 'z = x + 1' --outputs z | grun 'x=[[0, 1], [2, 3]]'" $'z = [[1.0, 2.0],\n     [3.0, 4.0]]'
    ok "gload -e 'reshape(arange(4), (2, 2, 1))' | grun" $'out = [[[0],\n        [1]],\n       [[2],\n        [3]]]'
}

@test "a reduction that is fused gives the bits of one that is not, by any number of threads" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: "float32[n, m]", y: "float32[m]", k: "int64[n]"}
let: |
  e = exp(x - max(x, axis=1, keepdims=True)) * y
  a = sum((x - y)**2)
  b = sum(e, axis=1)
  c = mean(tanh(x) * y, axis=0)
  d = max(k * 3 - 1)
outputs: [a, b, c, d, e]
Y
    gload g.yaml | grewrite -O yaml | grep -c 'fused: true' >groups
    assert_equal "$(cat groups)" 4
    for t in 1 2 5; do
        grun g.yaml --threads $t 'x=sin(reshape(arange(900 * 300), (900, 300)))' 'y=cos(arange(300))' 'k=arange(900)' -O json >$t.json
        grun g.yaml --exclude fusion --threads $t 'x=sin(reshape(arange(900 * 300), (900, 300)))' 'y=cos(arange(300))' 'k=arange(900)' -O json >apart.json
        cmp $t.json apart.json
    done
    cmp 1.json 5.json
}

@test "--each and --steps together, their ends, and values that can't be walked or appended" {
    gload -i 'a: float64' -i 'b: float64' -e 'a + b' -o p.tlg
    gload --shared 'w: float64 = 1' -i 'x: float64' -e 'y = x * w' --update 'w = w + x' -o w.tlg
    gload -i 'x: float64[n]' -e 'y = x[x > 1]' -o r.tlg
    ok 'grun p.tlg a=[1,2,3] b=1 --each a --steps 2 --every 1' $'out = 2.0\nout = 3.0'
    ok 'grun p.tlg a=[1,2,3] b=1 --each a --steps 5 --epochs 3 --every 1 -O tsv' $'call\tout\n1\t2.0\n2\t3.0\n3\t4.0\n4\t2.0\n5\t3.0'
    ok 'grun p.tlg a=[1,2,3] b=1 --each a --epochs 9223372036854775807 --steps 2' 'out = [2.0, 3.0]'
    bad 3 E_SHAPE '0 rows can.t fill a batch of 1' 'grun p.tlg a=[] b=1 --each a'
    bad 3 E_SHAPE '1 row can.t fill a batch of 2' 'grun r.tlg x=[1] --each x --batch 2 --drop-last'
    bad 3 E_SHAPE 'got a float64 scalar' 'grun p.tlg a=1 b=1 --each a'
    bad 2 E_MISSING 'missing input a' 'grun p.tlg b=1 --each a'
    bad 2 E_USAGE '--each takes inputs, but w is not one' 'grun w.tlg x=1 --each w'
    local o
    for o in --drop-last '--shuffle 3'; do
        bad 2 E_USAGE 'need --each' "grun p.tlg a=1 b=1 $o"
    done
    bad 5 E_RUN_SHAPE "y changes its shape from call to call and can't be appended" 'grun r.tlg "x=[[1,2],[2,3]]" --each x -r y=y.npy'
    bad 5 E_RUN_SHAPE 'y changes its shape' \
        'gload -i "x: float64[n]" -e "y = zeros((1, x.max().astype(\"int64\")))" | grun x=[1,2,3,1] --each x --batch 2 -r y=z.npy'
    assert_not_exists y.npy
    assert_not_exists z.npy
    bad 5 E_ARITHMETIC 'in call 2 of 2, 2 of epoch 1' 'gload -i "x: int64" -e "y = 1 // x" | grun x=[1,0] --each x'
}

@test "values of shared variables and texts of -r, --expect and -O npy: right or refused" {
    gload -i 'a: float64' -i 'b: float64' -e 'a + b' -o p.tlg
    gload --shared 'w: float64 = 1' -i 'x: float64' -e 'y = x * w' -o w.tlg
    ok 'grun w.tlg x=2 w=5' 'y = 10.0'
    bad 3 E_SHAPE 'w: expected float64' 'grun w.tlg x=2 "w=[1,2]"'
    bad 2 E_UNKNOWN 'did you mean x' 'grun w.tlg xx=2'
    bad 2 E_USAGE 'a is given twice' 'grun p.tlg a=1 a=2 b=1'
    local r
    for r in out out= =o.npy; do
        bad 2 E_USAGE '-r takes NAME=FILE' "grun p.tlg a=1 b=1 -r $r"
    done
    ok 'grun p.tlg a=1 b=1 -r a=o.npy' 'out = 2.0'
    bad 2 E_UNKNOWN 'called q' 'grun p.tlg a=1 b=1 -r q=o.npy'
    bad 2 E_USAGE '--expect takes NAME=VALUE' 'grun p.tlg a=1 b=1 --expect out'
    ok 'grun p.tlg a=1 b=1 --expect a=1' 'out = 2.0'
    bad 2 E_UNKNOWN 'called q' 'grun p.tlg a=1 b=1 --expect q=1'
    bad 3 E_SYNTAX 'the text ends' 'grun p.tlg a=1 b=1 --expect "out=foo("'
    bad 1 E_VERDICT 'out is not as expected' 'grun p.tlg a=1 b=1 --expect "out = 3"'
    ok 'grun p.tlg a=1 b=1 --expect "out = 2"' 'out = 2.0'
    bad 2 E_USAGE 'npy holds arrays, but out is slice' 'gload -e "slice(1, 2, 3)" | grun -O npy'
    bad 2 E_USAGE 'npy holds arrays, but out is list\(float64\)' 'gload -e "make_list(1., 2.)" | grun -O npy'
    bad 2 E_USAGE 'takes one output, not 2' 'gload -e a=1 -e b=2 | grun -O npy'
    bad 2 E_USAGE 'takes one output, not 0' 'grun p.tlg a=1 b=1 -r out=o.npy -O npy'
    bad 4 E_IO "can't write ./none/o.npy" 'grun p.tlg a=1 b=1 -O npy -o ./none/o.npy'
    ok 'gload -e a=1.5 -e b=2.5 | grun -r a=a.npy -O npy >b.npy && gload -i "v: float64" -e v -o v.tlg && grun v.tlg v=@a.npy && grun v.tlg v=@b.npy' \
        $'out = 1.5\nout = 2.5'
}

@test "--expect shows differences: all of a few, the worst of many, values that are no arrays" {
    bad 1 E_VERDICT 'note: got \[1.0, 2.0\], expected \[1.0, 3.0\]' 'gload -i "x: float64[n]" -e "y = x" | grun x=[1,2] --expect "y=[1,3]"'
    bad 1 E_VERDICT 'the worst difference is at flat index 7: got 7, expected 8' 'gload -e "y = arange(200)" | grun --expect "y=arange(200)+(arange(200)==7)"'
    bad 1 E_VERDICT 'got slice\(1, 2, 3\), expected slice\(1, 2, 4\)' 'gload -e "y = slice(1,2,3)" | grun --expect "y=slice(1,2,4)"'
    bad 1 E_VERDICT 'got \[1.0, 2.0\], expected \[1.0, 3.0\]' 'gload -e "y = make_list(1.,2.)" | grun --expect "y=[1,3]"'
    gload -i 'l: list(float64)' -e 'y = l' -o l.tlg
    bad 1 E_VERDICT 'y is not as expected' "grun l.tlg 'l=[$(seq -s, 500)]' --expect 'y=[$(seq -s, 499),0]'"
    [ "$(grep 'note: ' .err | wc -c)" -lt 1000 ]
}

@test "an error before a fused reduction names the element, one of the reduction the dim" {
    bad 5 E_ARITHMETIC 'floor_divide: integer division by zero at .1.' 'gload -i "x: int64[n]" -i "y: int64[n]" -e "sum(x // y + 1)" | grun x=[1,2,3] y=[1,0,1]'
    bad 5 E_RUN_SHAPE 'dim 0 is empty: no elements have no max' 'gload -i "x: float64[n, 3]" -e "max(x * 2, axis=0)" | grun "x=zeros((0, 3))"'
    ok 'gload -i "x: float64[n, 3]" -e "sum(x * 2, axis=0)" | grun "x=zeros((0, 3))"' 'out = [0.0, 0.0, 0.0]'
}

@test "batches in any order, of any rest; values of the second shared variable, of files with odd names" {
    gload --new -i 'x: float64[n]' -e 'y = sum(x)' -o b.tlg
    # 5 rows by 2: two batches of 2 and one of 1, whichever rows those are
    ok 'grun b.tlg --each x --batch 2 --shuffle 3 --every 1 x=[1,2,4,8,16] | awk "{ s += \$3 } END { print s }"' 31
    ok 'grun b.tlg --each x --batch 2 --steps 4 --every 1 x=[1,2,4,8,16]' $'y = 3.0\ny = 12.0\ny = 16.0\ny = 3.0'
    gload --new --shared 'a: float64 = 1' --shared 'b: float64 = 2' -i 'x: float64' -e 'r = a * 10 + b + x' --outputs r -o two.tlg
    ok 'grun two.tlg x=1 b=5' 'r = 16.0'
    ok 'grun two.tlg "x = 1" a=5' 'r = 53.0'
    bad 2 E_UNKNOWN 'no input c' 'grun two.tlg x=1 c=5'
    bad 3 E_SHAPE 'a: expected float64' 'grun two.tlg x=1 a=[1,2]'
    bad 4 E_IO 'there is no file none.npy$' 'grun two.tlg x=@none.npy'
    bad 4 E_IO 'there is no file none.npy$' 'grun two.tlg "x=@none.npy[0]"'
    grun b.tlg x=[2.5] -r "y=it's.npy"
    grun b.tlg x=[3.5] -r 'y=back\slash.npy'
    ok "grun two.tlg \"x=@it's.npy\"" 'r = 14.5'
    ok 'grun two.tlg "x= @back\\slash.npy"' 'r = 15.5'
    gload --new -i 'x: float64' -i 'v: float64[3]' -i 'l: list(float64[n])' -e 'm = make_list(v, v * x)' -o l.tlg
    bad 2 E_MISSING '\-\-each takes rows of u, but it has no value' 'gload --new -i "x: float64" -i "u: float64[n]" -e "y = x" --outputs y | grun --each u x=1 --on-unused-input ignore'
    bad 3 E_SHAPE "--each takes rows of tensors, but x is 0-d" 'gload --new -i "x: float64" -e "x * 2" | grun --each x --batch 2 x=3'
    bad 3 E_TYPE '--each takes rows of tensors, but l is list.float64' 'grun l.tlg --on-unused-input ignore x=2 v=[1,2,3] l=[[1],[2]] --each l'
    ok 'grun l.tlg --on-unused-input ignore x=2 v=[1,2,3] --expect "m=[[1,2,3],[2,4,6]]" >/dev/null'
    bad 1 E_VERDICT 'm is not as expected' 'grun l.tlg --on-unused-input ignore x=2 v=[1,2,3] --expect "m=[[1,2,3],[2,4,7]]"'
    bad 1 E_VERDICT 'm is not as expected' 'grun l.tlg --on-unused-input ignore x=2 v=[1,2,3] --expect "m=[[1,2,3]]"'
    shell 'grun l.tlg --on-unused-input warn x=2 v=[1,2,3]'
    [ "$status" = 0 ]
    grep -q 'warning\[E_UNUSED\]: nothing needs the input l' .err
    # a dim that only an input tells makes that input needed
    ok 'gload --new -i "x: float64[n]" -i "z: float64[m, 3, ?]" -e "n * m" --on-unused-input raise | grun --on-unused-input raise x=[1,2] z="ones((5,3,1))"' 'out = 10'
}

@test "results in files are not printed, in any format; files get a row or an element a call" {
    gload --new -i 'x: float64[n]' -e 'a = x * 2' -e 'b = sum(x)' --outputs a,b -o two.tlg
    ok 'grun two.tlg x=[1,2] -r a=a.npy' 'b = 3.0'
    ok 'grun two.tlg x=[1,2] -r a=a.npy -O json' '{"name": "b", "dtype": "float64", "shape": [], "data": 3.0}'
    ok 'grun two.tlg x=[1,2] -r a=a.npy -O tsv' $'b\n3.0'
    ok 'grun two.tlg x=[1,2] -r b=b.npy -O npy >rest.npy && cmp rest.npy a.npy'
    # one row a call, or a batch; numbers get one element a call
    gload --new -i 'x: float64[n]' -e 's = sum(x)' -e 'y = x * 1' --outputs s,y -o batch.tlg
    ok 'grun batch.tlg --each x --batch 2 x=[1,2,4] -r y=y.npy -r s=s.npy'
    ok "gload --new -e 'y = load(\"y.npy\")' -e 's = load(\"s.npy\")' | grun" $'y = [1.0, 2.0, 4.0]\ns = [3.0, 4.0]'
    gload --new -i 'x: float64' -e 'a = x * 2' -e 'l = make_list(x, x)' --outputs a,l -o list.tlg
    bad 2 E_USAGE 'only arrays can be appended, but l is not one' 'grun list.tlg --each x x=[1,2] -r l=l.json'
}
