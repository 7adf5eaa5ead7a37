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

@test "pickles of every version, sizes as lists, no folder, and storages of either byte order" {
    python_with zipfile
    "$PYTHON" - <<'P'
import struct, zipfile
num = lambda v: b"K" + bytes([v])
text = lambda t: b"\x8c" + bytes([len(t)]) + t.encode() + b"\x94"          # a short text, remembered
name = lambda module, function: text(module) + text(function) + b"\x93"
size = lambda v, end: b"(" + b"".join(map(num, v)) + end                   # t: a tuple, l: a list
def tensor(offset, shape, stride, end, kind="ShortStorage"):
    storage = b"(" + text("storage") + name("torch", kind) + text("0") + text("cpu") + num(4) + b"tQ"
    return name("torch._utils", "_rebuild_tensor") + b"(" + storage + num(offset) + size(shape, end) + size(stride, end) + b"tR"
body = (b"(" + text("a") + tensor(1, [3], [1], b"l") +                      # a dict of all that is above the mark
        num(7) + tensor(0, [2, 2], [1, 2], b"t") +
        b"N" + tensor(0, [1], [1], b"t") +                                  # a key that names nothing
        text("size") + name("torch", "Size") + size([2, 2], b"t") + b"\x85R" +
        text("numbers") + b"(\x8a\0\x8a\x01\xff\x8a\x02\xff\x00G12345678\x88l" +
        text("list") + b"(" + tensor(3, [1], [1], b"t") + b"r\0\x02\0\0" + b"j\0\x02\0\0" + b"l" + b"d.")
p = b"\x80\x04\x95" + struct.pack("<Q", len(body)) + body
for path, folder, order, data in (("little.pt", "", b"little", "<4h"), ("big.pt", "archive/", b"big", ">4h"), ("none.pt", "a/b/", None, "<4h")):
    z = zipfile.ZipFile(path, "w")
    z.writestr(folder + "olddata.pkl", b"not this one")
    z.writestr(folder + "data.pkl", p)
    z.writestr(folder + "data/0", struct.pack(data, 10, 20, 30, 40))
    if order: z.writestr(folder + "byteorder", order)
P
    local f
    for f in little.pt big.pt none.pt; do
        ok "gload --info $f | grep -c int16" 4
        like "gload --info $f" ' a +int16\[3\], 6 bytes' '^ +7 +int16\[2, 2\]' '^ +list.0 +int16\[1\]' '^ +list.1 +int16\[1\]'
        ok "gload --new -e 'a = load(\"$f\", \"a\")' -e 't = load(\"$f\", \"7\")' -e 'l = load(\"$f\", \"list.1\")' | grun" $'a = [20, 30, 40]\nt = [[10, 30],\n     [20, 40]]\nl = [40]'
    done
    like 'gload --info $DATA/kinds.pt' ' bfloat16 +float32\[3\].*BF16'
    like 'gload --info $DATA/one.pt' 'float32\[2\], 8 bytes'
    bad 3 E_NAME "no array 'x' in it; it holds a tensor without a name" 'gload --new -e "y = load(\"$DATA/one.pt\", \"x\")"'
    tensor 0 8 0 '[-8]' '[1]'
    bad 3 E_FORMAT 'the sizes and strides of a tensor are wrong' 'gload --info w.pt'
}

@test "other files of PyTorch and Python are refused by what they hold" {
    bad 3 E_FORMAT 'old.pt: this is the format of PyTorch before 1.6' 'gload --info $DATA/old.pt'
    bad 3 E_FORMAT 'torch.save\(torch.load\(FILE\), FILE\)' "gload --new -e 'y = load(\"$DATA/old.pt\")'"
    bad 3 E_FORMAT 'it holds torch.nn.modules.linear.Linear, which is no part of a state dict' 'gload --info $DATA/module.pt'
    bad 3 E_FORMAT 'save the tensors alone: torch.save\(model.state_dict\(\), FILE\)' 'gload --info $DATA/module.pt'
    bad 3 E_FORMAT 'it holds __torch__' 'gload --info $DATA/script.pt'
    printf '\200\04cos\nsystem\n(U\06touch xtR.' >evil.pkl
    bad 3 E_FORMAT 'a pickle of Python, which may run anything' 'gload --info evil.pkl'
    printf '\200\02.' >short.pkl
    bad 3 E_FORMAT 'a pickle of Python, which may run anything' 'gload --info short.pkl'
    printf '\200\06N.' >later.pkl
    bad 3 E_FORMAT 'later.pkl' 'gload --info later.pkl'
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
4,E_TRUNCATED|the pickle is cut off|\0212
4,E_TRUNCATED|the pickle is cut off|U\03ab
4,E_TRUNCATED|the pickle is cut off|G1234567
4,E_TRUNCATED|the pickle is cut off|\0225abcd
4,E_TRUNCATED|the pickle is cut off|}r\0
3,E_FORMAT|its stack is empty|.
3,E_FORMAT|its stack is empty|(.
3,E_FORMAT|its stack is empty|Q.
3,E_FORMAT|its stack is empty|)R.
3,E_FORMAT|its stack is empty|U\01a\0223.
3,E_FORMAT|its stack is empty|\0224.
3,E_FORMAT|its stack is empty|Nb.
3,E_FORMAT|its stack is empty|N\0206.
3,E_FORMAT|a mark is missing|t.
3,E_FORMAT|a mark is missing|l.
3,E_FORMAT|a mark is missing|d.
3,E_FORMAT|a memo is missing|j\07\0\0\0.
3,E_FORMAT|a name is no text|U\01aN\0223.
3,E_FORMAT|a name is no text|NU\01a\0223.
3,E_FORMAT|a memo is missing|h\07.
3,E_FORMAT|its stack is empty|q\07.
3,E_FORMAT|a key has no value|}(U\01au.
3,E_FORMAT|an item for what holds none|NU\01aNs.
3,E_FORMAT|an item for what holds none|Na.
3,E_FORMAT|a call of what is no function|N)R.
3,E_FORMAT|a call of what is no function|ccollections\nOrderedDict\nNR.
3,E_FORMAT|a call of what is no function|(U\07storagectorch\nCharStorage\nU\01kU\03cpuK\01tQ)R.
3,E_FORMAT|a call of what is no function|ctorch\nFloatStorage\n)R.
3,E_FORMAT|a name has no end|cos
3,E_FORMAT|an integer does not fit|\0212\011\01\01\01\01\01\01\01\01\01.
3,E_FORMAT|the instruction 0x69|iposix\nsystem\n.
3,E_FORMAT|the instruction 0x81|ctorch\nSize\n)\0201.
3,E_FORMAT|a storage is a class, a key and a size|(U\07storageNNNNtQ.
3,E_FORMAT|a storage is a class, a key and a size|(U\07storagectorch\nSize\nU\01kU\03cpuK\01tQ.
3,E_FORMAT|a storage is a class, a key and a size|(U\07storagectorch\nCharStorage\nNU\03cpuK\01tQ.
3,E_FORMAT|a storage is a class, a key and a size|(U\07storagectorch\nCharStorage\nU\01kU\03cpuNtQ.
3,E_FORMAT|a torch.Size is a tuple of sizes|ctorch\nSize\n)R.
3,E_FORMAT|a torch.Size is a tuple of sizes|ctorch\nSize\nN\0205R.
3,E_FORMAT|a torch.Size is a tuple of sizes|ctorch\nSize\nN\0205\0205R.
3,E_FORMAT|a tensor is a storage, an offset|ctorch._utils\n_rebuild_tensor_v2\n(NK\0))tR.
3,E_FORMAT|a tensor is a storage, an offset|ctorch._utils\n_rebuild_tensor_v2\n((U\07storagectorch\nCharStorage\nU\01kU\03cpuK\01tQN))tR.
3,E_FORMAT|a tensor is a storage, an offset|ctorch._utils\n_rebuild_tensor_v2\n((U\07storagectorch\nCharStorage\nU\01kU\03cpuK\01tQK\0}}tR.
3,E_FORMAT|a tensor is a storage, an offset|ctorch._utils\n_rebuild_tensor_v2\n((U\07storagectorch\nCharStorage\nU\01kU\03cpuK\01tQK\0)NtR.
3,E_FORMAT|a parameter is a tensor|ctorch._utils\n_rebuild_parameter\n)R.
3,E_FORMAT|a tensor is a storage, an offset|ctorch._utils\n_rebuild_tensor_v2\n)R.
3,E_FORMAT|a parameter is a tensor|ctorch._utils\n_rebuild_parameter\nN\0205R.
3,E_FORMAT|a dict is made empty|ccollections\nOrderedDict\nN\0205R.
6,E_LIMIT|nested too deeply|]q\01h\01a.
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
