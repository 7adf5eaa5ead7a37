# Array files that other programs write, odd or damaged: npy, npz, safetensors, tables.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
    gload -i 'x: float64[?]' -e 'y = x' >v.tlg
    gload -i "s: sparse('csr', float64[?, ?])" -e 'y = s' >s.tlg
}

# says CODE REGEX LINE: the one error, with the status that its class has.
says() {
    local status=3
    case $1 in
    E_TRUNCATED | E_CHECKSUM) status=4 ;;
    E_LIMIT) status=6 ;;
    esac
    bad $status "$@"
}

# A number in little-endian bytes.
le() { # bytes, number
    local i v=$2 byte out=
    for ((i = 0; i < $1; i++, v >>= 8)); do
        printf -v byte '\\x%02x' $((v & 255))
        out+=$byte
    done
    printf '%b' "$out"
}

# A safetensors file of this header and these bytes, as printf %b writes them.
st() { # header, bytes
    local h
    h=$(printf %b "$1")
    (
        LC_ALL=C
        le 8 ${#h}
        printf %s "$h"
        printf %b "${2-}"
    ) >t.safetensors
}

# An npy file of version 1 to standard output.
npy() { # header, bytes
    printf '\223NUMPY\1\0'
    le 2 ${#1}
    printf '%s%b' "$1" "${2-}"
}
array() { npy "{'descr': '$1', 'fortran_order': False, 'shape': $2}" "$3"; } # code, shape, bytes

crc() { gzip -c "$1" | tail -c 8 | od -An -tu4 -N4; } # a number

# A zip archive, stored; FLAGS, METHOD and CRC say otherwise for all its members.
# WIDE gives the sizes and places in 64 bits, as archives beyond 4 GB have them.
# In a shell without the trap that bats runs at each command.
zipped() ( # archive, member...
    trap - DEBUG
    local to=$1 at=0 f n x=0 crc full=4294967295
    shift
    : >data
    : >dir
    for f; do
        n=$(wc -c <"$f")
        crc=$(crc "$f")
        {
            printf 'PK\3\4'
            le 2 20; le 2 "${FLAGS-0}"; le 2 "${METHOD-0}"; le 4 0
            le 4 "$crc"; le 4 "$n"; le 4 "$n"; le 2 ${#f}; le 2 0
            printf %s "$f"
            cat "$f"
        } >>data
        {
            printf 'PK\1\2'
            le 2 20; le 2 20; le 2 "${FLAGS-0}"; le 2 "${METHOD-0}"; le 4 0
            le 4 "${CRC:-$crc}"
            if [ "${WIDE-}" ]; then
                le 4 $full; le 4 $full; le 2 ${#f}; le 2 $((28 + 5)); le 2 0; le 8 0; le 4 $full
                printf %s "$f"
                le 2 9; le 2 1; printf x
                le 2 1; le 2 "${EXTRA-24}"; le 8 "$n"; le 8 "$n"; le 8 "$at"
            else
                le 4 "$n"; le 4 "$n"; le 2 ${#f}; le 2 0; le 2 0; le 8 0; le 4 "$at"
                printf %s "$f"
            fi
        } >>dir
        at=$(wc -c <data)
    done
    n=$(wc -c <dir)
    {
        cat data dir
        if [ "${WIDE-}" ]; then
            printf 'PK\6\6'; le 8 44; le 2 45; le 2 45; le 8 0; le 8 $#; le 8 $#; le 8 "$n"; le 8 "$at"
            printf 'PK\6\7'; le 4 0; le 8 "${WHERE-$((at + n))}"; le 4 1
            x=65535
            n=$full
            at=$full
        fi
        printf 'PK\5\6'
        le 4 0; le 2 $((x ? x : $#)); le 2 $((x ? x : $#)); le 4 "$n"; le 4 "$at"; le 2 0
    } >"$to"
)

ONE='\0\0\0\0\0\0\0360\077' # 1.0 as float64

@test "safetensors: headers in all of JSON that they may have" {
    local f='"dtype":"F64","shape":[1],"data_offsets":[0,8]'
    st "{ \"__metadata__\" : {}\r, \"a\":\n{$f} } \n" "$ONE"
    ok 'grun v.tlg x=@t.safetensors' 'y = [1.0]'
    st "{\"__metadata__\":{\"k\":\"v\",\"l\":\"w\"},\"a\":{$f}}" "$ONE"
    ok 'grun v.tlg x=@t.safetensors' 'y = [1.0]'
    st '{"b":{"dtype":"F64","shape":[2,0],"data_offsets":[8,8]},"a":{'"$f"'}}' "$ONE"
    ok 'grun v.tlg x=@t.safetensors:a' 'y = [1.0]'
    st '{"\\u0061\\u00e9\\u20AC\\uD83D\\uDE00\\/\\t":{'"$f"'}}' "$ONE"
    ok "grun v.tlg 'x=@t.safetensors:$(printf 'a\303\251\342\202\254\360\237\230\200/\t')'" 'y = [1.0]'
    says E_NAME "it holds a.*/" 'grun v.tlg x=@t.safetensors:q'
    st '{}'
    says E_NAME "there is no array 'a' in it; it holds nothing" 'grun v.tlg x=@t.safetensors:a'
    says E_ARG 'it holds nothing' 'grun v.tlg x=@t.safetensors'
    # twelve names are shown, the rest is dots
    local i all=
    for i in {1..12}; do all+=",\"n$i\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}"; done
    st "{${all#,}}"
    says E_NAME 'n12?[^.]*$' 'grun v.tlg x=@t.safetensors:a'
    st "{${all#,},\"n13\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"
    says E_NAME 'n[0-9]+, \.\.\.' 'grun v.tlg x=@t.safetensors:a'
}

@test "safetensors: malformed headers are refused" {
    local o='"data_offsets":[0,8]' d='"dtype":"F64"' code want header
    while IFS='|' read -r code want header; do
        st "$header" "$ONE"
        says "$code" "$want" 'grun v.tlg x=@t.safetensors:a' || return
    done <<END
E_FORMAT|the object has no end|{"a":{$d,"shape":[1],$o}
E_FORMAT|expected an object|{"a":1}
E_FORMAT|expected a colon|{"a"}
E_FORMAT|expected a key in quotes|{a:1}
E_FORMAT|the string has no end|{"a
E_FORMAT|the string has no end|{"a\\\\
E_FORMAT|no such escape|{"\\\\q":1}
E_FORMAT|four hexadecimal digits|{"\\\\u00g0":1}
E_FORMAT|a zero character|{"\\\\u0000":1}
E_FORMAT|four hexadecimal digits|{"\\\\u1
E_FORMAT|half of a surrogate pair|{"\\\\uD83D":1}
E_FORMAT|half of a surrogate pair|{"\\\\uD83Dxxxxxx":1}
E_FORMAT|half of a surrogate pair|{"\\\\uD83D\\\\nxxxxx":1}
E_FORMAT|half of a surrogate pair|{"\\\\uD83D\\\\u0041":1}
E_FORMAT|half of a surrogate pair|{"\\\\uD83D\\\\uE000":1}
E_FORMAT|half of a surrogate pair|{"\\\\uDE00\\\\uDE00":1}
E_FORMAT|a control character|{"a\\001":1}
E_FORMAT|occurs twice|{"a":{$d,$d,"shape":[1],$o}}
E_FORMAT|field that is not known|{"a":{$d,"size":[1],$o}}
E_FORMAT|lacks dtype, shape or data_offsets|{"a":{$d,$o}}
E_FORMAT|not a size|{"a":{$d,"shape":[-1],$o}}
E_FORMAT|expected a value|{"a":{$d,"shape":[01],$o}}
E_FORMAT|expected a value|{"a":{$d,"shape":[
E_FORMAT|the list has no end|{"a":{$d,"shape":[1
E_FORMAT|too large|{"a":{$d,"shape":[9223372036854775808],$o}}
E_FORMAT|too large|{"a":{$d,"shape":[99999999999999999999],$o}}
E_LIMIT|a tensor has at most 32 dims|{"a":{$d,"shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],$o}}
E_FORMAT|a comma or the end|{"a":{$d,"shape":[1 1],$o}}
E_FORMAT|a list of two numbers|{"a":{$d,"shape":[1],"data_offsets":[0]}}
E_FORMAT|a list of two numbers|{"a":{$d,"shape":[1],"data_offsets":[0,8,9]}}
E_FORMAT|offsets don't fit|{"a":{$d,"shape":[2],$o}}
E_FORMAT|offsets don't fit|{"a":{$d,"shape":[1],"data_offsets":[8,0]}}
E_FORMAT|offsets don't fit|{"a":{$d,"shape":[4294967296,4294967296],$o}}
E_FORMAT|offsets don't fit|{"a":{$d,"shape":[4611686018427387904],$o}}
E_FORMAT|overlaps another|{"a":{$d,"shape":[1],$o},"b":{$d,"shape":[1],$o}}
E_FORMAT|after a hole|{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}
E_FORMAT|belong to no tensor|{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}
E_FORMAT|belong to no tensor|{}
E_FORMAT|__metadata__ occurs twice|{"__metadata__":{},"__metadata__":{}}
E_FORMAT|expected a text in quotes|{"__metadata__":{"a":1}}
E_FORMAT|a comma or the end|{"__metadata__":{"a":"b"]}
E_FORMAT|more text after it|{"a":{$d,"shape":[1],$o}} x
E_DUPLICATE|'a' occurs twice|{"a":{$d,"shape":[1],$o},"a":{$d,"shape":[1],"data_offsets":[8,16]}}
E_TRUNCATED|16 bytes of data are wanted, 8 are there|{"a":{$d,"shape":[2],"data_offsets":[0,16]}}
E_DTYPE|F77 is not known|{"a":{"dtype":"F77","shape":[1],$o}}
E_DTYPE|holds F8_E8M0|{"a":{"dtype":"F8_E8M0","shape":[8],$o}}
END
    { le 8 99 && printf '{}'; } >t.safetensors
    says E_TRUNCATED 'the header is cut off' 'grun v.tlg x=@t.safetensors'
    { le 8 200000000 && printf '{}'; } >t.safetensors
    says E_FORMAT 'header is over 100 MB' 'grun v.tlg x=@t.safetensors'
}

text() { le 8 ${#1} && printf %s "$1"; }
# A GGUF file of version 3 to t.gguf.
gguf() { # tensors, entries, the rest from standard input
    { printf 'GGUF' && le 4 3 && le 8 "$1" && le 8 "$2" && cat; } >t.gguf
}
# What says where a float32 vector called a lies.
place() { # size, type, offset
    text a && le 4 1 && le 8 "$1" && le 4 "$2" && le 8 "$3"
}

@test "GGUF: what a file may not be" {
    local i
    grun_it() { says "$1" "$2" 'grun v.tlg x=@t.gguf:a'; }
    { place 1 28 0 && le 7 0 && printf '\0\0\0\0\0\0\360\077'; } | gguf 1 0 # 24 + 33 + 7 = 64
    ok 'grun v.tlg x=@t.gguf' 'y = [1.0]'
    ok 'grun v.tlg x=@t.gguf:a' 'y = [1.0]'
    says E_NAME "there is no array 'b' in it; it holds a" 'grun v.tlg x=@t.gguf:b'
    printf 'GGUF' >t.gguf
    grun_it E_TRUNCATED 'the file ends within the GGUF header'
    { printf 'GGUF' && le 4 1 && le 16 0; } >t.gguf
    grun_it E_FORMAT 'GGUF of version 1 is not known, only 2 and 3'
    printf 'GGUF\0\0\0\3\0\0\0\0' >t.gguf
    grun_it E_FORMAT 'its numbers are big-endian'
    gguf 1152921504606846976 0 </dev/null
    grun_it E_TRUNCATED '1152921504606846976 tensors are wanted, 8 bytes are left'
    gguf 0 -1 </dev/null
    grun_it E_TRUNCATED '18446744073709551615 entries of metadata are wanted'
    le 8 -1 | cat - /dev/null | gguf 0 0
    grun_it E_NAME "it holds nothing"
    { le 8 -1 && le 8 0; } | gguf 0 1 # a key's length
    grun_it E_TRUNCATED 'ends within'
    { text k && le 4 13 && le 8 0; } | gguf 0 1
    grun_it E_FORMAT 'an entry of metadata has a type that is not known'
    { text k && le 4 9 && le 4 10 && le 8 2305843009213693952; } | gguf 0 1
    grun_it E_TRUNCATED '2305843009213693952 items of an array are wanted'
    { text k && le 4 9 && le 4 8 && le 8 1 && le 8 99; } | gguf 0 1
    grun_it E_TRUNCATED 'ends within'
    { text k && le 4 9 && for i in 1 2 3 4 5 6 7 8; do le 4 9 && le 8 1; done && le 4 0 && le 8 0; } | gguf 0 1
    grun_it E_FORMAT 'its arrays hold arrays that are too deep'
    { text general.alignment && le 4 4 && le 4 3 && place 1 28 0 && le 40 0; } | gguf 1 1
    grun_it E_FORMAT 'general.alignment must be a power of two'
    { text general.alignment && le 4 10 && le 8 32; } | gguf 0 1
    grun_it E_FORMAT 'general.alignment must be'
    { text general.alignment && le 4 4 && le 4 4294967295; } | gguf 0 1
    grun_it E_FORMAT 'general.alignment must be'
    { text general.alignment && le 4 4 && le 4 2147483648 && place 1 28 0; } | gguf 1 1
    grun_it E_TRUNCATED "tensor 'a' lies beyond the end of the file"
    { text general.alignment && le 4 4 && le 4 1 && place 1 28 0 && printf '\0\0\0\0\0\0\0\100'; } | gguf 1 1
    ok 'grun v.tlg x=@t.gguf' 'y = [2.0]' # not aligned, so copied
    { place 1 28 8 && le 7 0 && le 16 0; } | gguf 1 0
    grun_it E_FORMAT "tensor 'a' is not aligned"
    { place 1 28 32 && le 7 0 && le 16 0; } | gguf 1 0
    grun_it E_TRUNCATED "tensor 'a' lies beyond"
    { place 1 28 -32 && le 7 0 && le 16 0; } | gguf 1 0
    grun_it E_TRUNCATED "tensor 'a' lies beyond"
    { place -1 28 0 && le 7 0 && le 16 0; } | gguf 1 0
    grun_it E_FORMAT "tensor 'a' is too large"
    { place 2305843009213693952 28 0 && le 7 0 && le 16 0; } | gguf 1 0
    grun_it E_FORMAT "tensor 'a' is too large"
    { place 33 8 0 && le 7 0 && le 99 0; } | gguf 1 0
    grun_it E_FORMAT "has rows that don't fill its blocks"
    { place 256 19 0 && le 7 0 && le 50 0; } | gguf 1 0
    grun_it E_DTYPE "holds IQ1_S, which thunkline does not have"
    like 'gload --info t.gguf' ' a +IQ1_S.256., 50 bytes$'
    { place 5 77 0 && le 7 0; } | gguf 1 0
    grun_it E_DTYPE "holds type 77, which"
    like 'gload --info t.gguf' ' a +type 77.5.$'
    { text a && le 4 4294967295; le 99 0; } | gguf 1 0
    grun_it E_LIMIT 'at most'
    { place 1 28 0 && place 1 28 32 && le 64 0; } | gguf 2 0
    grun_it E_DUPLICATE "tensor 'a' occurs twice"
    { place 5 28 0 && text b && le 4 1 && le 8 1 && le 4 28 && le 8 32 && le 99 0; } | gguf 2 0
    grun_it E_FORMAT "tensor 'b' overlaps another"
    { le 8 1 && printf '\377' && le 4 0 && le 4 0 && le 8 0; } | gguf 1 0
    grun_it E_FORMAT "a tensor's name is not text"
    { place 0 28 0; } | gguf 1 0
    ok 'grun v.tlg x=@t.gguf' 'y = []'
}

@test "safetensors cannot hold every dtype, and says what can" {
    gload -e 'y = complex(1.0, 2.0)' >c.tlg
    says E_DTYPE "can't hold complex128; write .npz" 'grun c.tlg -r y=o.safetensors'
    [ ! -e o.safetensors ]
}

@test "npy: valid and malformed headers" {
    local h code want
    npy "{\"shape\": (1L,), 'fortran_order': False, 'descr': '=f8'}" "$ONE" >a.npy
    ok 'grun v.tlg x=@a.npy' 'y = [1.0]'
    array '>f8' '(1,)' '\077\0360\0\0\0\0\0\0' >a.npy
    ok 'grun v.tlg x=@a.npy' 'y = [1.0]'
    ok 'cat a.npy | grun v.tlg x=@-' 'y = [1.0]'
    array '<f8' '(0,)' '' >a.npy
    ok 'grun v.tlg x=@a.npy' 'y = []'
    while IFS='|' read -r code want h; do
        npy "$h" "$ONE" >a.npy
        says "$code" "$want" 'grun v.tlg x=@a.npy' || return
    done <<'END'
E_FORMAT|header|
E_FORMAT|header|{'descr' '<f8'}
E_FORMAT|header|{'descr
E_FORMAT|header|{'descr': f8}
E_FORMAT|header|{'descr': '<f8' 'shape': (1,)}
E_FORMAT|header|{'descr': '<f8', 'descr': '<f8', 'shape': (1,), 'fortran_order': False}
E_FORMAT|header|{'descr': '<f8', 'shape': (1,)}
E_FORMAT|header|{'descr': '<f8', 'shape': (1,), 'fortran_order': Maybe}
E_FORMAT|header|{'descr': '<f8', 'shape': (1,), 'fortran_order': Fal
E_FORMAT|header|{'descr': '<f8', 'fortran_order': False, 'shape': 1}
E_FORMAT|header|{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}
E_FORMAT|header|{'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}
E_FORMAT|header|{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}
E_FORMAT|header|{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x
E_FORMAT|too large|{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,)}
E_FORMAT|too large|{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}
E_LIMIT|a tensor has at most 32 dims|{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}
E_TRUNCATED|8|{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}
E_FORMAT|needs more than the 8|{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}
E_DTYPE|arrays of records|{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}
E_DTYPE|Python objects|{'descr': '|O', 'fortran_order': False, 'shape': (1,)}
E_DTYPE|bfloat16|{'descr': '|V2', 'fortran_order': False, 'shape': (4,)}
E_DTYPE|strings|{'descr': '|S8', 'fortran_order': False, 'shape': (1,)}
E_DTYPE|strings|{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}
E_DTYPE|dates|{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}
E_DTYPE|dates|{'descr': '<m8[s]', 'fortran_order': False, 'shape': (1,)}
E_DTYPE|does not have|{'descr': '<f4f', 'fortran_order': False, 'shape': (1,)}
E_DTYPE|does not have|{'descr': '', 'fortran_order': False, 'shape': (1,)}
END
    while IFS='|' read -r code want h; do
        printf %b "\\0223NUMPY$h" >a.npy
        says "$code" "$want" 'grun v.tlg x=@a.npy' || return
    done <<'END'
E_TRUNCATED|cut off|\01
E_TRUNCATED|cut off|\01\0\020\0{
E_TRUNCATED|cut off|\02\0\020\0
E_VERSION|npy version 4.1|\04\01\020\0{
E_VERSION|npy version 0.0|\0\0\020\0{
E_FORMAT|more than|\02\0\0\0\0\0377{}
END
    says E_TRUNCATED 'it is empty' 'grun v.tlg x=@- </dev/null'
}

@test "npz: archives of other programs, 32 and 64 bits wide" {
    local i all=()
    array '<f8' '(1,)' "$ONE" >a.npy
    array '<f8' '(1,)' '\0\0\0\0\0\0\0\0100' >b.npy
    zipped t.npz a.npy b.npy
    ok 'grun v.tlg x=@t.npz:b' 'y = [2.0]'
    ok 'grun v.tlg x=@t.npz:b.npy' 'y = [2.0]'
    says E_NAME "no array 'c' in it; it holds a, b" 'grun v.tlg x=@t.npz:c'
    says E_ARG 'choose an array, as FILE:NAME; it holds a, b' 'grun v.tlg x=@t.npz'
    says E_ARG 'one array without a name' 'grun v.tlg x=@a.npy:b'
    says E_NAME "no array 'c' in it" "gload -e \"y = load('t.npz', 'c')\""
    WIDE=1 zipped t.npz a.npy b.npy
    ok 'grun v.tlg x=@t.npz:b' 'y = [2.0]'
    zipped t.npz
    says E_NAME 'it holds nothing' 'grun v.tlg x=@t.npz:a'
    says E_ARG 'it holds nothing' 'grun v.tlg x=@t.npz'
    for i in {1..13}; do
        cp a.npy "n$i.npy"
        all+=("n$i.npy")
    done
    zipped t.npz "${all[@]}"
    says E_NAME 'n11, n12, \.\.\.' 'grun v.tlg x=@t.npz:a'
    # a member that is no array has no dtype
    echo hello >readme.txt
    npy '{' >bad.npy
    zipped t.npz readme.txt bad.npy a.npy
    like 'gload --info t.npz' 'readme.txt +unknown, 6 bytes$' '^ +bad +unknown, 11 bytes$' '^ +a +float64\[1\], 8 bytes$'
    says E_TRUNCATED 'the npy header is cut off' 'grun v.tlg x=@t.npz:readme.txt'
    says E_FORMAT 'the npy header' 'gload --info bad.npy'
}

@test "npz: damaged files and unknown kinds have different errors" {
    array '<f8' '(1,)' "$ONE" >a.npy
    FLAGS=1 zipped t.npz a.npy
    says E_FORMAT 'encrypted' 'grun v.tlg x=@t.npz'
    METHOD=12 zipped t.npz a.npy
    says E_FORMAT "compression method 12 is not known" 'grun v.tlg x=@t.npz'
    METHOD=8 zipped t.npz a.npy
    says E_FORMAT 'compressed data is damaged' 'grun v.tlg x=@t.npz'
    CRC=77 zipped t.npz a.npy
    says E_CHECKSUM "checksum is wrong" 'grun v.tlg x=@t.npz'
    EXTRA=23 WIDE=1 zipped t.npz a.npy
    says E_FORMAT 'directory is damaged' 'grun v.tlg x=@t.npz'
    EXTRA=99 WIDE=1 zipped t.npz a.npy
    says E_FORMAT 'directory is damaged' 'grun v.tlg x=@t.npz'
    WHERE=999999 WIDE=1 zipped t.npz a.npy
    says E_FORMAT 'directory is damaged' 'grun v.tlg x=@t.npz'
    WHERE=1 WIDE=1 zipped t.npz a.npy
    says E_FORMAT 'directory is damaged' 'grun v.tlg x=@t.npz'
    # one byte of the archive is another: in its end, its directory, the member's header
    local n at
    zipped good.npz a.npy
    n=$(wc -c <good.npz)
    for at in $((n - 3)) $((n - 7)) $((n - 6)) $((n - 10)) $((n - 22 - 51)) $((n - 22 - 51 + 23)) $((n - 22 - 51 + 29)) \
        $((n - 22 - 51 + 42)) $((n - 22 - 51 + 45)) 0 27; do
        cp good.npz t.npz
        printf '\177' | dd of=t.npz bs=1 seek="$at" conv=notrunc status=none
        bad 3 E_ 't.npz' 'grun v.tlg x=@t.npz:a' || return
    done
    for at in 4 30 $((n - 1)) $((n - 30)); do
        head -c "$at" good.npz >t.npz
        says E_TRUNCATED 'cut off' 'grun v.tlg x=@t.npz' || return
    done
}

# The members of a sparse matrix [[0, 1], [0, 0]].
matrix() {
    array '|S3' '()' 'csr' >format.npy
    array '<i8' '(2,)' '\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0' >shape.npy
    array '<f8' '(1,)' "$ONE" >data.npy
    array '<i4' '(1,)' '\1\0\0\0' >indices.npy
    array '<i4' '(3,)' '\0\0\0\0\1\0\0\0\1\0\0\0' >indptr.npy
    array '<i4' '(1,)' '\0\0\0\0' >row.npy
    cp indices.npy col.npy
}
store() { zipped t.npz format.npy shape.npy data.npy indices.npy indptr.npy row.npy col.npy; }

@test "npz: sparse matrices, their format as bytes or as a string of either order" {
    local want='y = csr([1.0], [1], [0, 1, 1], (2, 2))'
    matrix
    store
    ok 'grun s.tlg s=@t.npz' "$want"
    array '<U3' '()' 'c\0\0\0s\0\0\0r\0\0\0' >format.npy
    store
    ok 'grun s.tlg s=@t.npz' "$want"
    array '>U3' '()' '\0\0\0c\0\0\0s\0\0\0r' >format.npy
    store
    ok 'grun s.tlg s=@t.npz' "$want"
    array '|S3' '()' 'coo' >format.npy
    store
    ok 'grun s.tlg s=@t.npz' "$want"
}

@test "npz: sparse matrices that are none" {
    local member code want bytes
    matrix
    while IFS='|' read -r member code want type shape bytes; do
        mv "$member.npy" good
        array "$type" "$shape" "$bytes" >"$member.npy"
        store
        mv good "$member.npy"
        says "$code" "$want" 'grun s.tlg s=@t.npz' || return
    done <<'END'
format|E_FORMAT|in the format 'dia'|<S3|()|dia
format|E_FORMAT|in the format 'csa'|<S3|()|csa
format|E_FORMAT|a short text is expected|<f8|()|\0\0\0\0\0\0\0\0
format|E_FORMAT|a short text is expected|<S3|(1,)|csr
format|E_FORMAT|a short text is expected|<S4|()|csr
format|E_FORMAT|a short text is expected|<S99|()|csr
format|E_FORMAT|header|<S|()|csr
shape|E_FORMAT|is two sizes|<i4|(1,)|\2\0\0\0
shape|E_FORMAT|is two sizes|<i4|()|\2\0\0\0
shape|E_FORMAT|is two sizes|<f4|(2,)|\0\0\0\0\0\0\0\0
shape|E_SHAPE|-1 x 2|<i4|(2,)|\377\377\377\377\2\0\0\0
shape|E_SHAPE|2 x -1|<i4|(2,)|\2\0\0\0\377\377\377\377
data|E_DTYPE|can't be bool: write it as int8|<b1|(1,)|\1
data|E_DTYPE|can't be float16: write it as float32|<f2|(1,)|\0\0
data|E_SHAPE|data of a sparse matrix must be a vector|<f8|()|\0\0\0\0\0\0\0\0
indices|E_SHAPE|indices of this sparse matrix must be a vector of 1|<i4|(2,)|\0\0\0\0\1\0\0\0
indices|E_SHAPE|indices of this sparse matrix must be a vector of 1|<f4|(1,)|\0\0\0\0
indices|E_VALUE|indices\[0\] of a sparse matrix is 2: it must be in \[0, 2\)|<i4|(1,)|\2\0\0\0
indices|E_VALUE|is -1: it must be|<i4|(1,)|\377\377\377\377
indptr|E_SHAPE|indptr of this sparse matrix must be a vector of 3|<i4|(2,)|\0\0\0\0\1\0\0\0
indptr|E_VALUE|must rise from 0|<i4|(3,)|\0\0\0\0\1\0\0\0\0\0\0\0
indptr|E_VALUE|must rise from 0|<i4|(3,)|\1\0\0\0\1\0\0\0\1\0\0\0
indptr|E_VALUE|must rise from 0|<i4|(3,)|\0\0\0\0\0\0\0\0\0\0\0\0
END
    matrix
    zipped t.npz format.npy shape.npy data.npy indices.npy
    says E_NAME "no array 'indptr'" 'grun s.tlg s=@t.npz'
    zipped t.npz format.npy shape.npy data.npy indptr.npy
    says E_NAME "no array 'indices'" 'grun s.tlg s=@t.npz'
    matrix
    array '|S3' '()' 'coo' >format.npy
    zipped t.npz format.npy shape.npy data.npy row.npy
    says E_NAME "no array 'col'" 'grun s.tlg s=@t.npz'
    array '<i4' '(2,)' '\0\0\0\0\0\0\0\0' >row.npy
    store
    says E_SHAPE 'must be a vector of 1' 'grun s.tlg s=@t.npz'
    array '<i4' '(1,)' '\7\0\0\0' >row.npy
    store
    says E_VALUE 'row\[0\] of a sparse matrix is 7' 'grun s.tlg s=@t.npz'
}

@test "sparse inputs take dense matrices and other formats when no check is strict" {
    matrix
    store
    ok "gload -i \"s: sparse('csr', float64[2, 3])\" -e 'y = s' >n.tlg"
    says E_SHAPE 'the shape differs' 'grun n.tlg s=@t.npz'
    says E_SHAPE 'the shape differs' 'grun n.tlg "s=[[1, 2], [3, 4]]"'
    says E_SHAPE 'a matrix has 2 dims' 'grun s.tlg "s=[1, 2]"'
    ok "gload -i \"s: sparse('csr', float32[?, ?])\" -e 'y = s' >f.tlg"
    says E_DTYPE 'without risking loss' 'grun f.tlg s=@t.npz'
    like 'grun f.tlg s=@t.npz --allow-downcast' '^y'
    ok "gload -i \"s: sparse('csc', float64[?, ?])\" -e 'y = s' >c.tlg"
    like 'grun c.tlg s=@t.npz' '^y'
    says E_TYPE 'a strict check converts nothing' 'grun c.tlg s=@t.npz --strict'
    array '<f8' '(1, 1)' "$ONE" >d.npy
    ok 'grun s.tlg s=@d.npy' 'y = csr([1.0], [0], [0, 1], (1, 1))'
    printf '1,0\n0,2\n' >d.csv
    ok 'grun s.tlg s=@d.csv' 'y = csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))'
    says E_TYPE 'expected sparse.*got.*array' 'grun s.tlg s=@d.csv --strict'
    says E_TYPE 'expected sparse.*got.*array' 'grun s.tlg s=@d.npy --strict'
    ok 'grun s.tlg "s=[[1]]" --strict' 'y = csr([1.0], [0], [0, 1], (1, 1))'
}

@test "tables: blanks, quotes, a title; malformed tables are refused" {
    gload -i 'x: float64[?, ?]' -e 'y = x' >m.tlg
    printf 'a,b\r\n 1 ,"2"\t\r\n\r\n\n"3",4' >a.csv
    ok 'grun m.tlg x=@a.csv' $'y = [[1.0, 2.0],\n     [3.0, 4.0]]'
    printf 'a,b\n' >a.csv
    ok 'grun m.tlg x=@a.csv -r y=y.npy -o /dev/null'
    ok "head -c 80 y.npy | grep -ac '(0, 2)'" 1
    local code want text
    while IFS='|' read -r code want text; do
        printf %b "$text" >a.csv
        says "$code" "$want" 'grun m.tlg x=@a.csv' || return
    done <<'END'
E_FORMAT|no numbers|\n \n
E_FORMAT|line 2 has 1 column, not 2|1,2\n3\n
E_FORMAT|line 1, column 2: 'x' is not a number|1,x\n
E_FORMAT|line 2, column 1: the quote is not closed|1,2\n",3\n
E_FORMAT|line 2, column 2: the quote is not closed|1,2\n3,"4\n
E_FORMAT|line 2, column 1: there is more text behind the closing quote|1,2\n"3"4,5\n
E_FORMAT|line 2, column 2: '4"' is not a number|1,2\n3,4"\n
E_FORMAT|line 3, column 1 .a.: 'c' is not a number|a,b\n1,2\nc,d\n
E_FORMAT|line 2 has 3 columns, not 2|1,2\n3,4,5\n
E_FORMAT|this is UTF-16|\0377\0376a\0\n\0
E_FORMAT|this is UTF-16|\0376\0377\0a\0\n
E_FORMAT|line 2, column 2: there is more text behind the closing quote|1,2\n3,"4"\rx\n
E_FORMAT|line 2, column 2: .*is not a number|1,2\n3,4\rx\n
E_FORMAT|choose the columns that are wanted, as a.csv:a,b,c,d,e,f,g,h,\.\.\.$|a,b,c,d,e,f,g,h,i,j,k\n1,2,3,4,5,6,7,8,9,10,x\n
END
    printf '1,2\n3,4\n' >a.csv
    says E_FORMAT 'line 1, column 1: the quote is not closed' "grun v.tlg 'x=@a.csv:\"1'"
    printf 'a,b\n1,2,3\n3,4\n' >a.csv
    says E_FORMAT 'line 2 has 3 columns, not 2' 'gload --info a.csv'
    printf '\n\n' >none.csv
    says E_FORMAT 'there are no numbers in it' 'gload --info none.csv'
    printf 'a,b\n1,"2\n3\n' >a.csv
    says E_FORMAT 'line 2, column 2: the quote is not closed' 'gload --info a.csv'
    says E_FORMAT 'line 2, column 2: the quote is not closed' 'grun m.tlg x=@a.csv'
    gload -e 'y = zeros([2, 2, 2])' -e 'z = complex(1.0, 2.0)' -e 'b = eye(2) > 0.0' --outputs y,z,b >w.tlg
    says E_SHAPE 'at most 2 dims, and the array has 3' 'grun w.tlg -r y=o.csv'
    says E_DTYPE "can't hold complex" 'grun w.tlg -r z=o.csv'
    ok 'grun w.tlg -r b=b.csv -o /dev/null'
    ok 'cat b.csv' $'1,0\n0,1'
}

@test "--expect of sparse matrices: element by element, whatever is stored" {
    local how want value
    gload --new -e 's = csr_from_dense([[1.0, 0.0, 2.0], [0.0, inf, nan]])' -o e.tlg
    while IFS='|' read -r want how value; do
        shell "gload e.tlg --compare 's: $how' | grun --expect 's=$value' -o /dev/null"
        [ "$status" = "$want" ] || complain "should end with status $want: $how" "$value" || return
    done <<'END'
0||[[1, 0, 2], [0, inf, nan]]
0||[[1.0000001, 0, 2], [0, inf, nan]]
1||[[1.00001, 0, 2], [0, inf, nan]]
1||[[1, 0.1, 2], [0, inf, nan]]
1||[[1, 0, 0], [0, inf, nan]]
1||[[1, 0, 2], [0.1, inf, nan]]
1||[[1, 0, 2], [0, -inf, nan]]
1||[[1, 0, 2], [0, inf, 3]]
1||[[1, 0, 2], [0, 3, nan]]
0|rtol=0.1|[[1.05, 0, 2.1], [0, inf, nan]]
1|rtol=0.1|[[1.05, 0.01, 2.1], [0, inf, nan]]
0|atol=0.1|[[1.05, 0.05, 2.05], [0.05, inf, nan]]
1|atol=0.1|[[1.05, 0.2, 2.05], [0.05, inf, nan]]
0|remove_inf=True|[[1, 0, 2], [0, 3, nan]]
0|remove_nan=True|[[1, 0, 2], [0, inf, 3]]
1|remove_nan=True|[[1, 0, 2], [0, 3, nan]]
END
}
