# Values that are no arrays: lists, slices, None, random states, sparse matrices, as inputs, outputs, constants and state.
load common

A=$'csr([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3], (2, 3))'

@test "a list is read for its type and printed so that it reads back" {
    gload -i 'l: list(float32[?])' -e 'y = l' -e 'n = list_length(l)' -e 'z = l[-1]' >g.tlg
    ok "grun g.tlg 'l=[[1, 2], [3.5]]'" $'y = [[1.0, 2.0], [3.5]]\nn = 2\nz = [3.5]'
    ok "grun g.tlg 'l=make_list([1.], [2.])' | head -n 1" 'y = [[1.0], [2.0]]'
    ok "grun g.tlg -O json 'l=[[1]]' | head -n 1" \
        '{"name": "y", "type": "list", "items": [{"dtype": "float32", "shape": [1], "data": [1.0]}]}'
    bad 3 E_TYPE 'got a list|float32' "grun g.tlg 'l=[1]'"
    bad 3 E_TYPE 'expected list\(float32\[\?\]\), got' 'grun g.tlg l=3'
    bad 3 E_VALUE 'out of range|integer' "gload -i 'l: list(uint8)' -e 'y=l' | grun 'l=[300]'"
    bad 5 E_INDEX 'index -1 is out of range for a list of length 0' "grun g.tlg 'l=[]'"
    ok "gload -i 'l: list(list(int64))' -e 'y = l' | grun 'l=[[1, 2], []]'" 'y = [[1, 2], []]'
}

@test "lists of values of a dtype of their own go through the filter item by item" {
    gload -i 'l: list(float32)' -e 'y = l' >g.tlg
    bad 3 E_DTYPE 'precision' "grun g.tlg 'l=make_list(float64(1.5), float64(2.5))'"
    ok "grun g.tlg --allow-downcast 'l=make_list(float64(1.5), float64(2.5))'" 'y = [1.5, 2.5]'
    bad 3 E_DTYPE 'strict' "grun g.tlg --strict 'l=make_list(int8(1))'"
    ok "grun g.tlg 'l=make_list(int8(1))'" 'y = [1.0]'
}

@test "ops of lists" {
    ok "gload -e 'a = list_append(make_list(1, 2), 3)' -e 'b = a[::-1]' -e 'c = list_remove(a, 2)' -e 'd = list_insert(a, 1, 7)' \
        -e 'e = list_extend(a, [8, 9])' -e 'f = list_index(a, 3)' -e 'g = list_count([1, 2, 1], 1)' -e 'h = list_reverse(a)' -e 'i = a[1:]' | grun" \
        $'a = [1, 2, 3]\nb = [3, 2, 1]\nc = [1, 3]\nd = [1, 7, 2, 3]\ne = [1, 2, 3, 8, 9]\nf = 2\ng = 2\nh = [3, 2, 1]\ni = [2, 3]'
    bad 5 E_INDEX 'no item' "gload -e 'list_remove(make_list(1, 2), 3)' | grun"
    bad 3 E_TYPE 'the same kind, dtype and rank' "gload -e 'make_list(1, [2])'"
    bad 3 E_TYPE 'empty list needs' "gload -e 'make_list()'"
    bad 3 E_NULL 'do not pass through lists' "gload -i 'x: float64' -e 'make_list(x)[0]' | ggrad"
}

@test "a slice is a value and an index" {
    gload -i 's: slice' -i 'x: float64[?, 3]' -e 'y = x[s]' -e 'z = x[0, s]' >g.tlg
    ok "grun g.tlg 's=slice(None, None, -2)' 'x=[[1, 2, 3], [4, 5, 6]]'" $'y = [[4.0, 5.0, 6.0]]\nz = [3.0, 1.0]'
    ok "gload -i 's: slice' -e 'y = s' | grun -O json 's=slice(1, None)'" \
        '{"name": "y", "type": "slice", "start": 1, "stop": null, "step": null}'
    bad 5 E_INDEX 'step' "grun g.tlg 's=slice(None, None, 0)' 'x=[[1, 2, 3]]'"
    bad 3 E_TYPE 'expected slice, got' "grun g.tlg s=5 'x=[[1, 2, 3]]'"
    bad 3 E_TYPE 'integers or None' "gload -e 'slice(1.5, None)'"
}

@test "None and random states" {
    ok "gload -i 'a: none' -e 'y = a' | grun a=None" 'y = None'
    bad 3 E_TYPE 'expected none, got' "gload -i 'a: none' -e 'y = a' | grun a=1"
    gload -i 'r: random' -e 'y = r' >g.tlg
    ok "grun g.tlg 'r=rng_state([1, 2, 3, 0])'" 'y = rng_state([1, 2, 3, 0])'
    ok "grun g.tlg 'r=array([1, 2, 3, 0], dtype=uint64)'" 'y = rng_state([1, 2, 3, 0])'
    bad 3 E_TYPE 'got a uint64 array' "grun g.tlg --strict 'r=array([1, 2, 3, 0], dtype=uint64)'"
    bad 3 E_ 'uint64' "grun g.tlg 'r=array([1, 2, 3], dtype=uint64)'"
}

@test "a sparse input takes a dense matrix, parts, triplets and a file" {
    gload -i "s: sparse('csr', float64[n, 3])" -e 'y = s' -e 'm = n' >g.tlg
    for v in '[[1, 0, 2], [0, 3, 0]]' "$A" 'sparse_from_triplets([1, 3, 2], [0, 1, 0], [0, 1, 2], (2, 3))' \
        'csc([1.0, 3.0, 2.0], [0, 1, 0], [0, 1, 2, 3], (2, 3))'; do
        ok "grun g.tlg 's=$v'" "y = $A"$'\nm = 2'
    done
    bad 3 E_SHAPE 'shape' "grun g.tlg 's=[[1, 2]]'"
    bad 3 E_SHAPE '2 dims' "grun g.tlg 's=[1, 2, 3]'"
    bad 3 E_DTYPE 'precision' "grun g.tlg 's=csr_from_dense(array([[1, 0, 2j]]))'"
    bad 3 E_VALUE 'rise' "grun g.tlg 's=csr([1, 2], [1, 0], [0, 2], (1, 3))'"
    bad 5 E_INDEX 'must be in' "grun g.tlg 's=csr([1, 2], [1, 3], [0, 2], (1, 3))'"
    ok "grun g.tlg -O json 's=[[0, 0, 0.5]]' | head -n 1" \
        '{"name": "y", "type": "sparse", "format": "csr", "dtype": "float64", "shape": [1, 3], "data": [0.5], "indices": [2], "indptr": [0, 1]}'
}

@test "sparse matrices in npz files, as scipy writes them, too" {
    gload -i "s: sparse('csr', float64[?, ?])" -e 'y = s' >g.tlg
    ok "grun g.tlg 's=[[1, 0, 2], [0, 3, 0]]' -r y=y.npz"
    ok 'grun g.tlg s=@y.npz' "y = $A"
    ok "grun g.tlg s=@y.npz --expect 'y=[[1, 0, 2], [0, 3, 0]]'" "y = $A"
    bad 2 E_USAGE 'npz or .json' "grun g.tlg 's=[[1]]' -r y=y.npy"
    bad 3 E_TYPE 'sparse' "gload -i 'x: float64[?, ?]' -e 'z = x' | grun x=@y.npz"
    ok "gload -i 'x: float64[?]' -e 'z = x' | grun x=@y.npz:data" 'z = [1.0, 2.0, 3.0]'
    base64 -d >scipy.npz <<'END'
UEsDBBQAAAAIAAAAIQAPRIc1TAAAAIwAAAALABQAaW5kaWNlcy5ucHkBABAAjAAAAAAAAABMAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TaaKuo6
Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GsY6mjoKtQoUAC4GIGACYkYgBgBQSwMEFAAAAAgAAAAhAISMjp9MAAAAjAAAAAoAFABpbmRwdHIubnB5
AQAQAIwAAAAAAAAATAAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBuk2mirqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOpo6CrUKFAAuBi
BgAmJmIAYAUEsDBBQAAAAIAAAAIQCjw3SXRQAAAIMAAAAKABQAZm9ybWF0Lm5weQEAEACDAAAAAAAAAEUAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWg
XhNsrK6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkamjoKtQoUAa7k4iIAUEsDBBQAAAAIAAAAIQBgSH4MSgAAAJAAAAAJABQAc2hhcGUubnB5AQ
AQAJAAAAAAAAAASgAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBuk2mhrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOpo6CrUKFAAuJgYI
YIbSAFBLAwQUAAAACAAAACEAKsEdRFAAAACYAAAACAAUAGRhdGEubnB5AQAQAJgAAAAAAAAAUAAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBuk2ahrq
OgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOpo6CrUKFAAuBjD4YA+hGRwgFIcDAFBLAQIUAxQAAAAIAAAAIQAPRIc1TAAAAIwAAAALAAAAAAAA
AAAAAACAAQAAAABpbmRpY2VzLm5weVBLAQIUAxQAAAAIAAAAIQCEjI6fTAAAAIwAAAAKAAAAAAAAAAAAAACAAYkAAABpbmRwdHIubnB5UEsBAhQDFAAAAA
gAAAAhAKPDdJdFAAAAgwAAAAoAAAAAAAAAAAAAAIABEQEAAGZvcm1hdC5ucHlQSwECFAMUAAAACAAAACEAYEh+DEoAAACQAAAACQAAAAAAAAAAAAAAgAGS
AQAAc2hhcGUubnB5UEsBAhQDFAAAAAgAAAAhACrBHURQAAAAmAAAAAgAAAAAAAAAAAAAAIABFwIAAGRhdGEubnB5UEsFBgAAAAAFAAUAFgEAAKECAAAAAA
==
END
    ok 'grun g.tlg s=@scipy.npz' "y = $A"
}

@test "sparse arithmetic and its derivatives keep to the stored elements" {
    gload -i "s: sparse('csr', float64[2, 3])" -i 'x: float64[3]' -e 'y = s @ x' -e 't = (s * 2.0 + s.T.T).sum(axis=0)' \
        -e 'loss = (y * y).sum() + sum(t)' >g.tlg
    ok "grun g.tlg 's=[[1, 0, 2], [0, 3, 0]]' 'x=[1, 2, 3]'" $'y = [7.0, 6.0]\nt = [3.0, 9.0, 6.0]\nloss = 103.0'
    ok "ggrad g.tlg --cost loss --wrt s,x --only | grun 's=[[1, 0, 2], [0, 3, 0]]' 'x=[1, 2, 3]'" \
        $'d_loss_d_s = csr([17.0, 45.0, 27.0], [0, 2, 1], [0, 2, 3], (2, 3))\nd_loss_d_x = [14.0, 36.0, 28.0]'
    bad 3 E_TYPE 'sparse' "gload -i \"s: sparse('csr', float64[2, 3])\" -e 'exp(s)'"
    bad 3 E_DTYPE 'bool' "gload -i \"s: sparse('csr', bool[2, 3])\" -e 's'"
}

@test "constants and state of all kinds survive text, JSON, the binary form, rewriting and saving" {
    cat >m.yaml <<'END'
thunkline: 1
inputs:
  x: float64[?]
shared:
  L: list(float64[?]) = [[1.0], [2.0, 3.0]]
  S: sparse('csr', float64[2, 3]) = [[1, 0, 2], [0, 3, 0]]
  r: random = rng_state([1, 0, 0, 0])
  c: slice = slice(1, None)
  o: none = None
let: |
  k = make_list(array([1.5], dtype='float32'), array([2.0, 3.0], dtype='float32'))
  m = csc([1.0, 2.0], [0, 1], [0, 1, 2, 2], (2, 3))
  e = make_list(type='float32[2]')
  w = make_list(make_list(1j), make_list(type='complex128'))
  s = slice(None, 3, -1)
  n = None
  y = S @ x
outputs: [k, m, e, w, s, n, y, L, r, c, o]
updates: |
  L = list_append(L, x)
  S = S * 2.0
END
    gload m.yaml | gload --no-provenance -O yaml >a.yaml
    ok 'gload a.yaml --no-provenance -O yaml' "$(cat a.yaml)"
    ok 'gload m.yaml -O json | gload --no-provenance -O yaml' "$(cat a.yaml)"
    ok 'gload m.yaml | gload --no-provenance -O yaml' "$(cat a.yaml)"
    gload --no-provenance m.yaml >a.tlg
    ok 'gload --no-provenance a.tlg | cmp - a.tlg'
    want=$'k = [[1.5], [2.0, 3.0]]\nm = csc([1.0, 2.0], [0, 1], [0, 1, 2, 2], (2, 3))\ne = []\nw = [[(0.0+1.0j)], []]'
    want+=$'\ns = slice(None, 3, -1)\nn = None\ny = [7.0, 6.0]\nL = [[1.0], [2.0, 3.0]]\nr = rng_state([1, 0, 0, 0])\nc = slice(1, None, None)\no = None'
    ok "grun m.yaml 'x=[1, 2, 3]'" "$want"
    ok "gload m.yaml | grewrite | grun 'x=[1, 2, 3]' --save b.tlg" "$want"
    ok "grun b.tlg 'x=[1, 2, 3]' | grep -E '^(y|L)'" $'y = [14.0, 12.0]\nL = [[1.0], [2.0, 3.0], [1.0, 2.0, 3.0]]'
    ok 'gload b.tlg -O yaml -o b.yaml && gload b.yaml | cmp - <(gload b.yaml)'
    ok "grun b.yaml 'x=[1, 2, 3]' | grep '^[yo]'" $'y = [14.0, 12.0]\no = None'
    bad 3 E_TYPE 'which a .npy file' "grun b.yaml 'x=[1]' -r k=k.npy" || bad 2 E_USAGE 'which a .npy file' "grun b.yaml 'x=[1, 2, 3]' -r k=k.npy"
}

@test "large sparse constants lie beside the text" {
    gload --new -e 's = csr_from_dense(eye(100) * 2.0)' -e 'y = s' | grun --save /dev/null -r y=y.npz >/dev/null
    gload -i "s: sparse('csr', float64[100, 100]) " --shared "w: sparse('csr', float64[100, 100]) = load('y.npz')" -e 'y = w' >g.tlg
    gload g.tlg -o g.yaml
    like 'cat g.yaml' "^  w: sparse\('csr', float64\[100, 100\]\) = load\('g\.w\.[0-9a-f]{16}\.npz'\)$"
    ok 'gload g.yaml -e "z = sparse_sum(w)" --outputs z | grun' 'z = 200.0'
}

@test "a damaged binary constant is an error that says why" {
    gload --new -e 'y = make_list([1.0, 2.0], [3.0])' -e 's = csr([1.0], [0], [0, 1], (1, 1))' >g.tlg
    size=$(stat -c %s g.tlg)
    for at in $(seq 100 40 "$size"); do
        cp g.tlg h.tlg
        printf '\xff' | dd of=h.tlg bs=1 seek="$at" conv=notrunc status=none
        shell 'grun h.tlg'
        [ "$status" = 3 ] || [ "$status" = 4 ] || [ "$status" = 0 ] || complain "byte $at" 'grun h.tlg'
    done
}

@test "a type is narrowed where it is declared, or checked while running where it is computed" {
    gload -i 'x: float64[2, ?]' -e 'h = x + 1' -e 'k = h * 2' >g.tlg
    like 'gload g.tlg --narrow "h: float64[2, 1]" -O yaml' 'h = specify_shape\(_1, \[2, 1\]\)' 'k = h \* 2.0'
    ok 'gload g.tlg --narrow "h: float64[2, ?]" -O math | cmp - <(gload g.tlg -O math)'
    ok 'gload g.tlg --narrow "h: float64[2, 1]" | grun "x=[[1], [2]]"' $'h = [[2.0],\n     [3.0]]\nk = [[4.0],\n     [6.0]]'
    bad 5 E_RUN_SHAPE 'got shape \(2, 3\), expected \(2, 1\)' 'gload g.tlg --narrow "h: float64[2, 1]" | grun "x=[[1, 2, 3], [4, 5, 6]]"'
    bad 3 E_DTYPE 'float32' 'gload g.tlg --narrow "h: float32[2, 1]" >/dev/null'
    bad 3 E_SHAPE 'float64\[3, 1\]' 'gload g.tlg --narrow "h: float64[3, 1]" >/dev/null'
    gload -i 'x: float64[2, 1]' -i 'y: float64[2, ?]' -e 'k = x * 2' >g.tlg
    bad 5 E_RUN_SHAPE 'got shape \(2, 3\), expected \(2, 1\)' 'grewrite g.tlg --replace "x = y" --mode NONE | grun "y=[[1, 2, 3], [4, 5, 6]]"'
    gload -i "s: sparse('csr', float64[?, 3])" -e 'h = s * 2.0' -e 'k = dense_from_sparse(h)' >g.tlg
    bad 5 E_RUN_SHAPE 'got shape \(2, 3\), expected \(4, 3\)' "gload g.tlg --narrow \"h: sparse('csr', float64[4, 3])\" | grun 's=[[1, 2, 3], [4, 5, 6]]'"
}

@test "a variable may be compared otherwise than its type says" {
    gload -i 'x: float64' -e 'y = x * 2' -e 'z = y + 1' >g.tlg
    bad 1 E_VERDICT 'got 2.0, expected 2.01' 'grun g.tlg x=1 --expect y=2.01'
    gload g.tlg --compare 'y: rtol=0.1' --compare 'z: remove_nan=True, sloppy=2' >h.tlg
    ok 'grun h.tlg x=1 --expect y=2.01 --expect z=3.0003 >/dev/null'
    bad 1 E_VERDICT 'z is not' 'grun h.tlg x=1 --expect z=3.01'
    bad 1 E_VERDICT 'y is not' 'grun h.tlg x=1 --expect y=2.01 --rtol 0.001'
    like 'gload h.tlg -O yaml' '"y": rtol=0.1' 'z: sloppy=2, remove_nan=True'
    ok 'gload h.tlg -O yaml | grewrite | gload -O json | grun x=1 --expect y=2.01 >/dev/null'
    ok 'gload h.tlg --compare "y:" --no-provenance -O yaml | grep -c rtol || true' 0
    bad 3 E_SYNTAX 'unknown keyword' 'gload g.tlg --compare "y: tol=1" >/dev/null'
    bad 3 E_SYNTAX 'True or False' 'gload g.tlg --compare "y: remove_inf=1" >/dev/null'
    bad 3 E_SYNTAX 'sloppy must be' 'gload g.tlg --compare "y: sloppy=3" >/dev/null'
    bad 2 E_UNKNOWN 'q' 'gload g.tlg --compare "q: rtol=1" >/dev/null'
    printf 'thunkline: 1\ninputs: {x: float64}\nlet: "y = x * 2"\noutputs: [y]\ncompare: {y: atol=1}\n' >m.yaml
    ok 'grun m.yaml x=1 --expect y=2.9 >/dev/null'
}

@test "differences in inf and nan that a fast rewrite makes are allowed where it was applied" {
    gload -i 'x: float64' -e 'y = x * 0' >g.tlg
    like 'grewrite g.tlg --include fast -O yaml' '"y": remove_inf=True, remove_nan=True'
    ok 'grewrite g.tlg --include fast --verify 2 x=inf >/dev/null'
    ok 'grewrite g.tlg -O yaml | grep -c compare || true' 0
}

@test "a function and branches that take sparse matrices of any size take one of a known size" {
    cat >f.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {s: "sparse('csr', float64[?, ?])"}
    let: 'y = sparse_add(s, s)'
    outputs: [y]
inputs: {x: "sparse('csr', float64[2, 2])", z: "sparse('csr', float64[?, 2])", b: bool}
let: |
  y = f(x)
  i = ifelse(b, x, z)
outputs: [y, i]
END
    ok "grun f.yaml b=False 'x=[[1,0],[0,2]]' 'z=[[0,1]]'" $'y = csr([2.0, 4.0], [0, 1], [0, 1, 2], (2, 2))\ni = csr([1.0], [1], [0, 1], (1, 2))'
}

@test "how a variable is compared: the forms of --compare" {
    local how at want
    gload -i 'x: float64' -e 'y = x * 2' -o g.tlg
    while IFS='|' read -r how want; do
        ok "gload g.tlg --compare 'y:$how' --no-provenance -O yaml | sed -n '/^compare:/,\$p' | tail -n +2 | tr -d '\\n'" "$want"
    done <<'END'
rtol=1e-3|  "y": rtol=0.001
atol=0,|  "y": atol=0.0
 rtol = 1 , atol = 2 , sloppy = 2|  "y": rtol=1.0, atol=2.0, sloppy=2
sloppy=1|  "y": sloppy=1
sloppy=0|
remove_nan=False|
remove_inf=True|  "y": remove_inf=True
END
    while IFS='|' read -r how at want; do
        bad 3 E_SYNTAX "compare:1:$at: .*$want" "gload g.tlg --compare 'y:$how'"
    done <<'END'
rtol|7|no =
rtol=|8|a number that is not negative
rtol=-1|8|a number that is not negative
atol 1|8|no =
sloppy|9|no =
sloppy=x|10|a number that is not negative
remove_inf|13|no =
remove_nan|13|no =
remove_nan=x|14|True or False
,|3|unknown keyword
rtol=1 atol=1|10|unexpected character
rtol=1; |9|unexpected character
END
}

@test "sparse matrices: arguments that they can't be made of, converted to or indexed by are refused" {
    local line code want in
    in="-i 'd: float64[3]' -i 'c: complex128[3]' -i 'i: int64[3]' -i 's: int64[3]' -i 'x: float64[2, 2]' -i \"m: sparse('csr', float64[2, 2])\""
    while IFS='|' read -r line code want; do
        bad 3 "$code" "$want" "gload --new $in -e '$line'"
    done <<'END1'
csr(d, i, i, [2, 2, 2])|E_SHAPE|csr: a sparse matrix has 2 dims, not 3
csc(d, i, i, s)|E_SHAPE|csc: a sparse matrix has 2 dims, not 3
csr(c, i, i, [2, 2], dtype=float64)|E_DTYPE|complex128 data as float64 would drop the imaginary parts
sparse_from_triplets(c, i, i, [2, 2], dtype=float32)|E_DTYPE|complex128 data as float32 would drop the imaginary parts
sparse_from_triplets(d, i, i, [2, 2], format="coo")|E_ARG|the format must be 'csr' or 'csc', not 'coo'
sparse_format(m, "coo")|E_ARG|the format must be 'csr' or 'csc', not 'coo'
sparse_like(x, x)|E_TYPE|expected a sparse matrix, whose stored positions are taken, not float64\[2, 2\]
sparse_sampled_dot(x, x, x)|E_TYPE|expected a sparse matrix, whose stored positions are taken, not float64\[2, 2\]
transpose(m, [0, 1])|E_ARG|the axes of a matrix can only be \(1, 0\)
transpose(m, [1])|E_ARG|the axes of a matrix can only be \(1, 0\)
transpose(m, [1, 5])|E_VALUE|axis 5 is out of range for 2 dims
END1
    ok "gload --new $in -e 'dense_from_sparse(transpose(m, [1, 0]))' --outputs out | grun m=[[1,2],[0,3]]" $'out = [[1.0, 0.0],\n       [2.0, 3.0]]'
    ok "gload --new $in -e 'dense_from_sparse(sparse_transpose(m, axes=[1, -2]))' | grun m=[[1,2],[0,3]]" $'out = [[1.0, 0.0],\n       [2.0, 3.0]]'
}

@test "a claimed shape and gradients that are zero or scaled go through sparse matrices" {
    local m="gload --new -i \"m: sparse('csr', float64[?, ?])\""
    ok "$m -e 'specify_shape(m, [2, 2])' | grun --mode FAST_COMPILE m=[[1,2],[0,3]]" 'out = csr([1.0, 2.0, 3.0], [0, 1, 1], [0, 2, 3], (2, 2))'
    bad 5 E_RUN_SHAPE 'got shape \(2, 2\), expected \(2, 3\)' "$m -e 'specify_shape(m, [2, 3])' | grun m=[[1,2],[0,3]]"
    bad 5 E_RUN_SHAPE 'got shape \(2, 2\), expected \(\?, 3\)' "$m -e 'specify_shape(m, [-1, 3])' | grun m=[[1,2],[0,3]]"
    ok "$m -e 'sparse_sum(zero_grad(m)) + 2 * sparse_sum(m)' | ggrad --wrt m | grun --mode FAST_COMPILE m=[[1,2],[0,3]]" \
        $'out = 18.0\nd_out_d_m = csr([2.0, 2.0, 2.0], [0, 1, 1], [0, 2, 3], (2, 2))'
    ok "$m -e 'sparse_sum(grad_scale(m, 3.0))' | ggrad --wrt m | grun --mode FAST_COMPILE m=[[1,2],[0,3]]" \
        $'out = 6.0\nd_out_d_m = csr([3.0, 3.0, 3.0], [0, 1, 1], [0, 2, 3], (2, 2))'
    ok "$m -e '3 * sparse_sum(grad_clip(m, lower_bound=-1., upper_bound=2.))' | ggrad --wrt m --only | grun m=[[1,2],[0,3]]" \
        'd_out_d_m = csr([2.0, 2.0, 2.0], [0, 1, 1], [0, 2, 3], (2, 2))'
    ok "$m -e '3 * sparse_sum(grad_clip(m, lower_bound=-1., upper_bound=2.))' | ggrad --jvp out --wrt m --only | grun m=[[1,2],[0,3]] t_m=[[4,1],[0,-5]]" 'jvp_out = 6.0'
    bad 3 E_TYPE 'grad_clip takes a tensor' "gload --new -i 'l: list(float64)' -e 'grad_clip(l)'"
    bad 3 E_TYPE 'grad_scale takes a tensor' "gload --new -i 'l: list(float64)' -e 'grad_scale(l)'"
}

@test "each kind of input says what it takes" {
    local kind code want value
    ok "gload -i 'x: none' -e 'y = x' | grun x=None -O json" '{"name": "y", "type": "none", "value": null}'
    like "gload -i 'x: random' -e 'y = x' | grun 'x=rng(5)' -O json" '^\{"name": "y", "type": "random", "state": \[[0-9]+, [0-9]+, [0-9]+, [0-9]+\]\}$'
    while IFS='|' read -r kind code want value; do
        bad 3 "$code" "$want" "gload -i \"x: $kind\" -e 'y = x' | grun 'x=$value'" || return
    done <<'END'
random|E_DTYPE|expected uint64\[4\]|[1, 2, 3, 4]
random|E_TYPE|expected random, got None|None
slice|E_TYPE|expected slice, got an int64 scalar|3
slice|E_TYPE|expected slice, got None|None
empty|E_TYPE|expected empty, got None|None
null('the reason')|E_NULL|y is undefined: the reason|1
END
}
