# Values of shared variables from and to files, what files hold, and what a suffix decides.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
    gload --new --shared 'W: float32[2, 3] = ones((2, 3))' --shared 'b: int64[3] = [1, 2, 3]' \
        --update 'W = W + 1' -e 'y = sum(W) + sum(b)' -o m.tlg
}

@test "weights go to npz and safetensors, from a graph and after a run, and back" {
    local f
    for f in w.npz w.safetensors; do
        ok "gload m.tlg -o $f" ''
        ok "gload m.tlg --set @$f | grun" 'y = 12.0' || return
        ok "grun m.tlg --steps 2 -o $f" 'y = 18.0' || return
        ok "gload m.tlg --set @$f | grun" 'y = 24.0' || return
        ok "grun m.tlg --steps 3 --save $f -o /dev/null"
        ok "gload m.tlg --set @$f -o t.tlg; gload --new -e 'W = load(\"$f\", \"W\")' | grun" \
            $'W = [[4.0, 4.0, 4.0],\n     [4.0, 4.0, 4.0]]' || return
    done
    # dtypes are those of the variables, and numbers in texts become them
    ok "gload --info w.npz" $'file       w.npz            npz\narrays     W                float32[2, 3], 24 bytes\n           b                int64[3], 24 bytes'
    printf '{"W": [[1, 2, 3], [4, 5, 6]], "b": [7, 8, 9.0]}' >w.json
    ok 'gload m.tlg --set @w.json | grun' 'y = 45.0'
    printf 'b\n4\n5\n6\n' >b.csv
    shell 'gload m.tlg --set @b.csv | grun'
    [ "$status" = 0 ] && grep -q 'warning.*no value for W: it keeps its own' .err && grep -q 'y = 21.0' .out
    ok 'cat w.json | gload m.tlg --set @- | grun' 'y = 45.0'
    # one array alone
    ok 'gload --new --shared "v: float64[2] = [1, 2]" -e "y = v" -o v.tlg; gload v.tlg -o v.csv; cat v.csv' $'1.0\n2.0'
    bad 2 E_USAGE 'w.npy holds one array, not 2; use .npz' 'gload m.tlg -o w.npy'
}

@test "names that differ: dots stand for underscores, what has no place is said" {
    gload --new -e 'x = 1' --shared 'l1_weight: float64[2] = [0, 0]' --shared 'l1_bias: float64 = 0' -e 'y = l1_weight + l1_bias' --outputs y -o p.tlg
    printf '{"l1.weight": [1, 2], "l1/bias": 3}' >p.json
    ok 'gload p.tlg --set @p.json | grun' 'y = [4.0, 5.0]'
    printf '{"l1.weight": [1, 2], "l1_weight": [5, 6], "step": 7}' >p.json
    shell 'gload p.tlg --set @p.json | grun'
    grep -q 'y = \[5.0, 6.0\]' .out && grep -q 'no value for l1_bias: it keeps its own' .err && grep -q 'no shared variable takes step' .err
    printf '{"w": [1, 2]}' >p.json
    bad 3 E_NAME 'no array with the name of a shared variable \(l1_weight, l1_bias\)' 'gload p.tlg --set @p.json'
    bad 3 E_NAME 'it holds w; a single one is set by NAME=@p.json:KEY' 'gload p.tlg --set @p.json'
    printf '{"l1_weight": [1, 2, 3]}' >p.json
    bad 3 E_SHAPE 'l1_weight' 'gload p.tlg --set @p.json'
    printf '{"l1_weight": [1, "x"]}' >p.json
    bad 3 E_FORMAT "'x' is not a number" 'gload p.tlg --set @p.json'
    bad 4 E_IO 'none.npz' 'gload p.tlg --set @none.npz'
}

@test "graphs without arrays to write, and states that arrays can't hold" {
    gload --new --shared 'r: random = rng(1)' --shared 's: float64 = 2' -e 'y = s' -o r.tlg
    shell 'gload r.tlg -o r.npz'
    [ "$status" = 0 ] && grep -q 'warning.*r is left out, since it is a random state' .err
    like 'gload r.npz --info' 's +float64, 8 bytes'
    ok 'gload r.tlg --set @r.npz | grun' 'y = 2.0'
    bad 2 E_USAGE 'there are none that are arrays' 'gload -e 1+1 -o w.npz'
    bad 2 E_USAGE 'there are none that are arrays' 'gload -e 1+1 | grun -o w.safetensors'
    [ ! -e w.npz ] && [ ! -e w.safetensors ]
    gload --new --shared 'c: complex128 = 1j' -e 'y = c' -o c.tlg
    bad 3 E_DTYPE "safetensors can't hold complex128" 'gload c.tlg -o w.safetensors'
    gload --new --shared 'c: float64[3]' -e 'y = c' -o n.tlg
    bad 2 E_MISSING 'the shared variable c has no value' 'gload n.tlg -o w.npz'
}

@test "the suffix decides in every tool; one of no format is an error, unless -O says" {
    local tool
    for tool in gload ggrad 'grewrite --mode NONE' grun gprof; do
        bad 2 E_USAGE 'o.pkl: no format has the suffix .pkl' "$tool m.tlg -o o.pkl" || return
        [ ! -e o.pkl ] || complain 'should write nothing' "$tool" || return
    done 2>&1
    bad 2 E_USAGE 'to .yaml .yml .json .tlg .*\.dot .*, also with .zst; .*\.npz \.safetensors' 'gload m.tlg -o o.pkl'
    bad 2 E_USAGE 'use one of .txt .json .npy .tsv' 'grun m.tlg -o o.csv'
    bad 2 E_USAGE 'o.pkl: no format has the suffix' 'grun m.tlg --save o.pkl'
    bad 2 E_USAGE 'o.gz.zst: no format has the suffix .gz' 'gload m.tlg -o o.gz.zst'
    ok 'gload m.tlg -O tlg -o o.pkl && grun o.pkl' 'y = 12.0'
    ok 'gload m.tlg -o plain && gload m.tlg -o .hidden && cmp <(head -c 3 plain) <(head -c 3 m.tlg)'
    ok 'gload m.tlg -o a.d.yml; head -c 9 a.d.yml' thunkline
    ok 'grun m.tlg -o o.json; cat o.json' '{"name": "y", "dtype": "float64", "shape": [], "data": 12.0}'
    like 'gprof m.tlg --static -o p.json; cat p.json' '^\{'
    like 'gprof m.tlg --static -o p.svg; cat p.svg' '<svg'
    like 'gprof m.tlg --static -o p.json -O text; cat p.json' '^[a-z]'
    like 'gload m.tlg --info -o i.json; cat i.json' '"section": "shared"'
    ok 'mkdir a.b && gload m.tlg -o a.b/plain'
}

@test "gload --info: names, dtypes, shapes and bytes of what a file holds" {
    printf 'id,name,x,y\n1,a,1.5,\n2,b,2,NA\n' >d.csv
    gzip -k d.csv
    local f
    for f in d.csv d.csv.gz; do
        ok "gload --info $f" "$(printf '%-10s %-16s %s\n' file $f table arrays id 'int64[2], 16 bytes' '' name 'text[2]' '' x 'float64[2], 16 bytes' '' y 'float64[2], 16 bytes, 2 missing')" || return
    done
    ok 'gload --info d.csv -O json | head -n 2' $'[\n  {"section": "arrays", "name": "id", "dtype": "int64", "shape": [2], "bytes": 16},'
    ok 'grun m.tlg -r y=y.npy && gload --info y.npy' $'file       y.npy            npy\narrays     (one)            float64, 8 bytes'
    ok 'gload --info y.npy -O json | grep -c "\"name\": null"' 1
    printf '{"a": [[1, 2]], "about": "text"}' >j.json
    like 'gload --info j.json' 'a +int64\[1, 2\], 16 bytes' '^ +about +text$'
    printf '{"a": ["x", "y"], "b": ["NaN", 1], "c": [[1], [2, 3]]}' >j.json
    like 'gload --info j.json' ' a +text\[2\]$' ' b +float64\[2\], 16 bytes$' ' c +unknown$'
    printf '[1, 2]' >j.json
    ok 'gload --info j.json' $'file       j.json           json\narrays     (one)            int64[2], 16 bytes'
    # a graph is a graph, whatever its form
    gload m.tlg -o g.json
    gload m.tlg -o g.yaml.zst
    for f in m.tlg g.json g.yaml.zst; do
        like "gload --info $f" '^shared +W +float32\[2, 3\]' || return
    done
    # the other way round
    bad 3 E_FORMAT 'it holds arrays: gload --info y.npy lists them' 'gload y.npy'
    bad 3 E_FORMAT 'it holds arrays: gload --info d.csv lists them' 'grun d.csv'
    # definitions are neither
    printf '# a comment\n\ny = x * 2\n' >d.txt
    bad 3 E_FORMAT 'd.txt:3:1: error.*this is a definition$' 'gload d.txt'
    bad 3 E_FORMAT 'note: definitions stand in a block' 'gload d.txt'
    [ "$(grep -c 'it holds arrays' "$BATS_TEST_TMPDIR/.err")" = 0 ]
    bad 3 E_FORMAT 'note: definitions stand in a block' 'cat d.txt | gload'
    printf 'x: float64[3]\ny = x * 2\n' >d.txt
    bad 3 E_FORMAT 'lines of a block' 'gload d.txt'
    [ "$(grep -c 'it holds arrays' "$BATS_TEST_TMPDIR/.err")" = 0 ]
    bad 4 E_IO 'note: gload -e takes definitions' "gload 'y = x * 2'"
    printf '1,2\n3\n' >bad.csv
    bad 3 E_FORMAT 'bad.csv: line 2 has 1 column, not 2' 'gload --info bad.csv'
}

@test "safetensors: bfloat16 is widened to float32" {
    st() { # header, bytes
        printf "\\x$(printf %02x ${#1})\\0\\0\\0\\0\\0\\0\\0%s" "$1"
        printf "$2"
    }
    st '{"w":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}' '\200\077\300\277\200\177\001\000' >b.safetensors
    gload -i 'x: float32[4]' -e 'y = x' -o f.tlg
    ok 'grun f.tlg x=@b.safetensors' 'y = [1.0, -1.5, inf, 9.1835e-41]'
    like 'gload --info b.safetensors' 'w +float32\[4\], 16 bytes, BF16'
    st '{"w":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4]}}' 'abcd' >e.safetensors
    bad 3 E_DTYPE "holds F8_E5M2, which thunkline does not have" 'grun f.tlg x=@e.safetensors'
    like 'gload --info e.safetensors' 'w +F8_E5M2\[4\], 4 bytes'
    st '{"w":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}' '\200\077' >t.safetensors
    bad 4 E_TRUNCATED '8 bytes of data are wanted, 2 are there' 'grun f.tlg x=@t.safetensors'
}

@test "GGUF: each type has the values that its own tools give, and metadata is listed" {
    local k data=$ROOT/tests/data/gguf/model
    for k in F32 F16 F64 BF16 I8 I16 I32 I64 blk.Q4_0 blk.Q4_1 blk.Q5_0 blk.Q5_1 blk.Q8_0 blk.Q2_K blk.Q3_K blk.Q4_K blk.Q5_K blk.Q6_K; do
        ok "gload -e \"x = load('$data.gguf', '$k')\" -e \"y = load('$data.safetensors', '$k')\" -e 'same = array_equal(x, y) & (x.dtype == y.dtype)' --outputs same | grun" \
            'same = True' || return
    done
    like "gload --info $data.gguf" '^file .*gguf, 10 entries of metadata$' '^metadata +general.architecture none$' ' none.scale +0.1$' ' none.shift +-3$' \
        ' none.causal +True$' ' tokenizer.tokens text.2.$' ' none.deep +array.1.$' ' none.wide +-1e.300$' ' none.small +-9223372036854775808$' \
        ' general.description €{20}...$' '^arrays +blk.Q4_0 +float32.2, 32., 256 bytes, Q4_0$' ' F16 +float16.2, 3., 12 bytes$' ' BF16 +float32.2, 3., 24 bytes, BF16$'
    ok "gload --info $data.gguf -O json | head -n 2" $'[\n  {"section": "metadata", "name": "general.architecture", "text": "none"},'
    # dots stand for underscores; float16 becomes what the variable has
    gload --new --shared 'blk_Q4_K: float32[2, 256]' --shared 'F16: float32[2, 3]' -e 'y = blk_Q4_K[0, 0] + F16[0, 0]' -o q.tlg
    ok "gload q.tlg --set @$data.gguf 2>/dev/null | grun -r y=y.npy && gload -e \"e = load('y.npy') - load('$data.safetensors', 'blk.Q4_K')[0, 0] - load('$data.safetensors', 'F16')[0, 0]\" | grun" 'e = 0.0'
    bad 3 E_FORMAT "it holds arrays: gload --info .*model.gguf lists them" "gload $data.gguf"
}
