# State dicts of PyTorch, read without running anything (tests/data/torch/make.py wrote them).
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
    DATA=$ROOT/tests/data/torch
    export DATA
}

# A pickle of version 2 in an archive, with eight bytes as its storage 0, from text as printf %b reads it.
pickled() { # archive, text
    python_with zipfile
    printf '\200\02%b' "$2" >pickle
    "$PYTHON" -c 'import sys, zipfile
z = zipfile.ZipFile(sys.argv[1], "w")
z.writestr("a/data.pkl", open("pickle", "rb").read())
z.writestr("a/data/0", bytes(range(8)))' "$1"
}

# A file with one int8 tensor: the key and size of its storage, an offset, sizes, strides. The storage has eight bytes.
tensor() {
    python_with zipfile
    "$PYTHON" - "$@" <<'P'
import sys, zipfile, struct
key, n, offset, size, stride = sys.argv[1], *map(eval, sys.argv[2:])
text = lambda t: b"X" + struct.pack("<I", len(t)) + t.encode()
num = lambda v: b"\x8a\x08" + struct.pack("<q", v)
tup = lambda v: b"(" + b"".join(map(num, v)) + b"t"
p = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\nCharStorage\n" + text(key) + text("cpu") + num(n) +
     b"tQ" + num(offset) + tup(size) + tup(stride) + b"\x89NtR.")
z = zipfile.ZipFile("w.pt", "w")
z.writestr("a/data.pkl", p)
z.writestr("a/data/0", bytes(range(8)))
P
}

@test "a state dict's tensors have their names, dtypes and values" {
    ok 'gload --info $DATA/state.pt | grep -c torch' 1
    like 'gload --info $DATA/state.pt' 'fc.weight +float32\[2, 3\], 24 bytes' 'bn.num_batches_tracked +int64, 8 bytes'
    gload --new -i 'x: float32[n, 3]' --shared 'fc_weight: float32[2, 3]' --shared 'fc_bias: float32[2]' -e 'y = x @ fc_weight.T + fc_bias' -o fc.tlg
    shell 'gload fc.tlg --set @$DATA/state.pt | grun - x=[[1,0,0],[1,1,1]]'
    grep -q '^y = \[\[1.5, 3.5\],$' .out && grep -q '^     \[6.5, 14.5\]\]$' .out && grep -q 'no shared variable takes bn.weight' .err
    ok 'gload fc.tlg --set fc_weight=@$DATA/state.pt:fc.weight --set fc_bias=@$DATA/state.pt:fc.bias | grun - x=[[1,0,0]]' 'y = [[1.5, 3.5]]'
    bad 3 E_NAME "no array 'fc.weigth' in it; it holds fc.weight" 'gload fc.tlg --set fc_weight=@$DATA/state.pt:fc.weigth'
    ok "gload --new -e 'y = load(\"$DATA/one.pt\")' | grun" 'y = [1.0, 2.0]'
    ok 'cat $DATA/one.pt | gload --new -e "y = load(\"-\")" | grun' 'y = [1.0, 2.0]'
    ok 'zstd -q <$DATA/one.pt >one.zst; gload --new -e "y = load(\"one.zst\")" | grun' 'y = [1.0, 2.0]'
    bad 3 E_ARG 'choose an array, as FILE:NAME; it holds fc.weight, fc.bias' "gload --new -e 'y = load(\"$DATA/state.pt\")'"
}

@test "checkpoints: dicts in dicts and lists have dots; what is no tensor is left out" {
    local key want
    while IFS='|' read -r key want; do
        ok "gload --new -e 'y = load(\"$DATA/checkpoint.pth\", \"$key\")' | grun" "y = $want" || return
    done <<'END'
model.bn.num_batches_tracked|1
optimizer.state.0.step|1.0
list.0|[1, 2]
list.1.0|3
END
    ok 'gload --info $DATA/checkpoint.pth -O json | grep -c epoch || true' 0
}

@test "views, strides, shared storages and every dtype" {
    local key want
    while IFS='|' read -r key want; do
        ok "gload --new -e 'y = load(\"$DATA/kinds.pt\", \"$key\")' | grun -O json | sed 's/^.name.: .y., .dtype.: //; s/^{.name.: .y., .dtype.: //'" "$want}" || return
    done <<'END'
rows|"float32", "shape": [3, 4], "data": [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
same|"float32", "shape": [3, 4], "data": [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
transposed|"float32", "shape": [4, 3], "data": [[0.0, 4.0, 8.0], [1.0, 5.0, 9.0], [2.0, 6.0, 10.0], [3.0, 7.0, 11.0]]
part|"float32", "shape": [2, 2], "data": [[4.0, 6.0], [8.0, 10.0]]
expanded|"float32", "shape": [3], "data": [0.0, 0.0, 0.0]
parameter|"float32", "shape": [4], "data": [8.0, 9.0, 10.0, 11.0]
scalar|"float32", "shape": [], "data": 2.5
empty|"float32", "shape": [0, 3], "data": []
bool|"bool", "shape": [3], "data": [false, true, true]
uint8|"uint8", "shape": [3], "data": [0, 1, 2]
int8|"int8", "shape": [3], "data": [0, 1, 2]
int16|"int16", "shape": [3], "data": [0, 1, 2]
int32|"int32", "shape": [3], "data": [0, 1, 2]
int64|"int64", "shape": [3], "data": [0, 1, 2]
float16|"float16", "shape": [3], "data": [0.0, 1.0, 2.0]
bfloat16|"float32", "shape": [3], "data": [0.0, 1.0, 2.0]
float64|"float64", "shape": [3], "data": [0.0, 1.0, 2.0]
complex64|"complex64", "shape": [3], "data": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
complex128|"complex128", "shape": [3], "data": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
END
}

@test "other files of PyTorch and Python are refused by what they hold" {
    bad 3 E_FORMAT 'old.pt: this is the format of PyTorch before 1.6' 'gload --info $DATA/old.pt'
    bad 3 E_FORMAT 'torch.save\(torch.load\(FILE\), FILE\)' "gload --new -e 'y = load(\"$DATA/old.pt\")'"
    bad 3 E_FORMAT 'it holds torch.nn.modules.linear.Linear, which is no part of a state dict' 'gload --info $DATA/module.pt'
    bad 3 E_FORMAT 'save the tensors alone: torch.save\(model.state_dict\(\), FILE\)' 'gload --info $DATA/module.pt'
    bad 3 E_FORMAT 'it holds __torch__' 'gload --info $DATA/script.pt'
    printf '\200\04cos\nsystem\n(U\06touch xtR.' >evil.pkl
    bad 3 E_FORMAT 'a pickle of Python, which may run anything' 'gload --info evil.pkl'
    pickled evil.pt 'cos\nsystem\nU\07touch x\0205R.'
    bad 3 E_FORMAT 'it holds os.system, which is no part' 'gload --info evil.pt'
    pickled evil.pt 'U\02osU\06system\0223U\07touch x\0205R.'
    bad 3 E_FORMAT 'it holds os.system, which is no part' 'gload --info evil.pt'
    pickled evil.pt 'ctorch\n\033[31mred\n.'
    bad 3 E_FORMAT 'it holds torch..*red' 'gload --info evil.pt'
    [ "$(grep -c $'\033' .err || true)" = 0 ]
    [ ! -e x ]
}

@test "pickles that lie: every size is checked, and nothing is allocated on a promise" {
    local want text code
    while IFS='|' read -r code want text; do
        pickled h.pt "$text"
        bad "${code%,*}" "${code#*,}" "$want" 'gload --info h.pt --max-memory 100M' || return
    done <<'END'
4,E_TRUNCATED|the pickle is cut off|}
4,E_TRUNCATED|the pickle is cut off|X\377\377\377\377abc
4,E_TRUNCATED|the pickle is cut off|\0212\03ab
3,E_FORMAT|its stack is empty|.
3,E_FORMAT|its stack is empty|(.
3,E_FORMAT|a mark is missing|t.
3,E_FORMAT|a memo is missing|h\07.
3,E_FORMAT|its stack is empty|q\07.
3,E_FORMAT|a key has no value|}(U\01au.
3,E_FORMAT|an item for what holds none|NU\01aNs.
3,E_FORMAT|an item for what holds none|Na.
3,E_FORMAT|a call of what is no function|N)R.
3,E_FORMAT|a call of what is no function|ctorch\nFloatStorage\n)R.
3,E_FORMAT|a name has no end|cos
3,E_FORMAT|an integer does not fit|\0212\011\01\01\01\01\01\01\01\01\01.
3,E_FORMAT|the instruction 0x69|iposix\nsystem\n.
3,E_FORMAT|the instruction 0x81|ctorch\nSize\n)\0201.
3,E_FORMAT|a storage is a class, a key and a size|(U\07storageNNNNtQ.
3,E_FORMAT|a tensor is a storage, an offset|ctorch._utils\n_rebuild_tensor_v2\n)R.
3,E_FORMAT|a parameter is a tensor|ctorch._utils\n_rebuild_parameter\nN\0205R.
3,E_FORMAT|a dict is made empty|ccollections\nOrderedDict\nN\0205R.
6,E_LIMIT|nested too deeply|}q\01U\01ah\01s.
END
    # many names for one dict: 2^40 of them
    text='}U\01aNs'
    for n in {1..40}; do text+="q\\00$(printf %o "$n")}(U\\01ah\\00$(printf %o "$n")U\\01bh\\00$(printf %o "$n")u"; done 2>/dev/null
    pickled h.pt "${text//\\00/\\0}."
    bad 6 E_LIMIT 'holds too many things' 'gload --info h.pt'
    "$PYTHON" -c 'print("}" * 3000000 + ".", end="")' >big
    pickled h.pt "$(cat big)"
    bad 6 E_LIMIT 'more than 2097152 objects' 'gload --info h.pt'
}

@test "tensors that lie about their storage" {
    local code want key n offset size stride max=9223372036854775807
    gload -i 'x: int8[?]' -e 'y = x' >t.tlg
    tensor 0 8 2 '[3]' '[2]'
    ok 'grun t.tlg x=@w.pt' 'y = [2, 4, 6]'
    tensor 0 8 7 '[3]' '[0]'
    ok 'grun t.tlg x=@w.pt' 'y = [7, 7, 7]'
    tensor 0 8 100 '[0]' "[$max]"
    ok 'grun t.tlg x=@w.pt' 'y = []'
    tensor 0 8 3 '[1]' "[$max]"
    ok 'grun t.tlg x=@w.pt' 'y = [3]'
    while IFS='|' read -r code want key n offset size stride; do
        tensor "$key" "$n" "$offset" "$size" "$stride"
        bad "${code%,*}" "${code#*,}" "$want" 'grun t.tlg x=@w.pt --max-memory 100M' || return
    done <<END
3,E_FORMAT|no member data/1|1|8|0|[8]|[1]
3,E_FORMAT|no member data/../0|../0|8|0|[8]|[1]
4,E_TRUNCATED|needs more than the 8 bytes|0|9|0|[8]|[1]
4,E_TRUNCATED|needs more than the 8 bytes|0|$max|0|[8]|[1]
3,E_FORMAT|the size of a storage is negative|0|-1|0|[8]|[1]
3,E_FORMAT|don't fit its storage|0|8|0|[9]|[1]
3,E_FORMAT|don't fit its storage|0|8|1|[8]|[1]
3,E_FORMAT|don't fit its storage|0|8|-1|[8]|[1]
3,E_FORMAT|don't fit its storage|0|8|0|[-8]|[1]
3,E_FORMAT|don't fit its storage|0|8|7|[8]|[-1]
3,E_FORMAT|don't fit its storage|0|8|0|[2]|[$max]
3,E_FORMAT|don't fit its storage|0|8|0|[3]|[$max]
3,E_FORMAT|don't fit its storage|0|8|$max|[2]|[1]
3,E_FORMAT|don't fit its storage|0|8|0|[2**32, 2**32]|[0, 0]
6,E_MEM|of memory are needed|0|8|0|[2**40]|[0]
3,E_FORMAT|a tensor is a storage, an offset, sizes and strides|0|8|0|[2]|[1, 1]
6,E_LIMIT|a tensor has at most 32 dims|0|8|0|[1]*33|[1]*33
END
}
