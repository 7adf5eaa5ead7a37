# Numbers in texts: tables (csv, tsv, blanks) and JSON, from files and pipes, packed or not.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
    gload -i 'x: float64[n]' -e 'y = x' >v.tlg
    gload -i 'x: float64[n, ?]' -e 'y = x' >m.tlg
    gload -i 'x: int64[n]' -e 'y = x' >i.tlg
    printf 'id,name,"odd, ""name""",label\n1,ann,1.5,0\n2,"bob, jr",,1\n3,"c\nd",NA,2.0\n' >d.csv
}

@test "columns by name: one is a vector, several a matrix, others may hold anything" {
    ok 'grun v.tlg x=@d.csv:label' 'y = [0.0, 1.0, 2.0]'
    ok 'grun m.tlg x=@d.csv:label,id' $'y = [[0.0, 1.0],\n     [1.0, 2.0],\n     [2.0, 3.0]]'
    ok 'grun v.tlg x=@d.csv:label[1:]' 'y = [1.0, 2.0]'
    ok "grun v.tlg \"x=load('d.csv', 'odd, \\\"name\\\"')\"" 'y = [1.5, nan, nan]'
    ok "grun m.tlg 'x=@d.csv:\"odd, \"\"name\"\"\",id'" $'y = [[1.5, 1.0],\n     [nan, 2.0],\n     [nan, 3.0]]'
    bad 3 E_NAME "there is no column 'labels' in it; it holds id, name, odd, .name., label" 'grun v.tlg x=@d.csv:labels'
    bad 3 E_NAME 'did you mean label' 'grun v.tlg x=@d.csv:labels'
    bad 3 E_NAME "column 'id' is selected twice" 'grun m.tlg x=@d.csv:id,id'
    bad 3 E_FORMAT "line 2, column 2 \(name\): 'ann' is not a number" 'grun m.tlg x=@d.csv'
    bad 3 E_FORMAT 'choose the columns that are wanted, as d.csv:id,odd, .name.,label' 'grun m.tlg x=@d.csv'
    bad 3 E_FORMAT "line 3, column 2 \(name\): 'bob, jr' is not a number" 'tail -n +3 d.csv | sed "1i id,name,c,d" | sed 2p | sed 2s/.bob.*jr./7/ | grun v.tlg x=@-:name'
    printf 'a,b,a\n1,2,3\n' >two.csv
    ok 'grun v.tlg x=@two.csv:b' 'y = [2.0]'
    bad 3 E_NAME "2 columns are called 'a'" 'grun v.tlg x=@two.csv:a'
    # names that are numbers, where a word shows that the first line has names
    printf 'year,2019\n1,2\n' >n.csv
    ok 'grun v.tlg x=@n.csv:2019' 'y = [2.0]'
    # without names, columns are counted
    printf '5.1,7,setosa\n4.9,8,setosa\n' >iris.data
    ok 'grun m.tlg x=@iris.data:1,0' $'y = [[7.0, 5.1],\n     [8.0, 4.9]]'
    bad 3 E_FORMAT "line 1, column 3: 'setosa' is not a number" 'grun m.tlg x=@iris.data'
    bad 3 E_FORMAT 'choose the columns that are wanted, as iris.data:0,1$' 'grun m.tlg x=@iris.data'
    bad 3 E_NAME "no column '3' in it; it holds 0, 1, 2" 'grun v.tlg x=@iris.data:3'
}

@test "numbers of a table are read straight into the dtype that takes them" {
    local t want text
    ok 'grun i.tlg x=@d.csv:label' 'y = [0, 1, 2]'
    ok 'grun i.tlg "x=@d.csv:label[::-1]"' 'y = [2, 1, 0]'
    ok "grun i.tlg \"x=load('d.csv', 'label') + 1\"" 'y = [1, 2, 3]'
    while IFS='|' read -r t text want; do
        gload -i "x: ${t}[n]" -e 'y = x' >t.tlg
        ok "printf 'x\n$text\n' | grun t.tlg x=@-" "y = [$want]" || return
    done <<'END'
int64|9007199254740993|9007199254740993
uint64|18446744073709551615|18446744073709551615
int8|-128|-128
uint16|1e3|1000
float32|0.1|0.1
float32|16777217|16777216.0
float16|65504|65500.0
float32|1.00000017881393432617187499|1.0000001
bool|True|True
bool|0|False
complex64|1.5|(1.5+0.0j)
END
    local code
    while IFS='|' read -r t code text want; do
        gload -i "x: ${t}[n]" -e 'y = x' >t.tlg
        bad 3 "$code" "$want" "printf 'a,x\n1,2\n5,$text\n' | grun t.tlg x=@-:x" || return
    done <<'END'
int64|E_FORMAT|2.5|line 3, column 2 \(x\): '2.5' is not a whole number, as int64 needs
int64|E_FORMAT||line 3, column 2 \(x\): the value is missing, and int64 has none
int64|E_FORMAT|NA|'NA' is missing, and int64
int64|E_FORMAT|nan|'nan' is missing, and int64
int64|E_FORMAT|inf|'inf' is not a whole number
int64|E_FORMAT|9223372036854775808|'9223372036854775808' is out of range of int64
int64|E_FORMAT|99999999999999999999999|is out of range of int64
int64|E_FORMAT|1e300|is out of range of int64
uint8|E_FORMAT|-1|'-1' is out of range of uint8
int8|E_FORMAT|x|'x' is not a number
bool|E_FORMAT|7|is out of range of bool
END
    # a dtype of its own in a graph's text, which the text that is written keeps
    printf 'thunkline: 1\nshared:\n  w: "float32[n] = load(\x27d.csv\x27, \x27id\x27)"\nlet: "y = w * 1"\noutputs: [y]\n' >g.yaml
    ok 'gload g.yaml -o h.yaml && gload h.yaml | grun' 'y = [1.0, 2.0, 3.0]'
    like 'gload h.yaml --info' 'w +float32\[n\]'
}

@test "tables: separators, line ends, quotes, blanks, missing values" {
    local want text
    while IFS='|' read -r want text; do
        printf '%b' "$text" >t
        ok 'grun m.tlg x=@t -O json | sed "s/.*data.: //"' "$want}" || return
        ok 'cat t | grun m.tlg x=@/dev/stdin -O json | sed "s/.*data.: //"' "$want}" || return
    done <<'END'
[[1.0, 2.0], [3.0, 4.0]]|1,2\n3,4\n
[[1.0, 2.0], [3.0, 4.0]]|1;2\r\n3;4\r\n
[[1.0, 2.0], [3.0, 4.0]]|1\t2\n3\t4
[[1.0, 2.0], [3.0, 4.0]]|  1   2\n\n 3\t4  \n
[[1.0, 2.0], [3.0, 4.0]]|1,2\r3,4\r
[[1.0, 2.0], [3.0, 4.0]]|\0357\0273\0277a,b\n1,2\n3,4\n
[[1.0, 2.0], [3.0, 4.0]]|a b\n1 2\n3 4\n
[[1.0, 2.0], [3.0, 4.0]]|"a;b";c\n1;2\n3;4\n
[[1.0, 2.0], [3.0, 4.0]]|"1" , "2"\n"3","4"\n
[[1.0, 2.0], [3.0, 4.0]]|"1","2"\r\n"3","4"\r
[[1.0, 2.0], [3.0, 4.0]]|"a\nb","c ""d"\n1,2\n3,4\n
[[1.0, "NaN"], ["NaN", "NaN"]]|1,\nNA,null\n
[["NaN", 1.0], ["NaN", "NaN"]]|\t1\n\t\n
[["NaN", "Infinity"], ["-Infinity", 0.5]]|N/A,inf\n-Infinity,.5\n
END
    printf 'only\n' >h.csv
    bad 3 E_FORMAT 'no numbers' 'printf "" >e.csv; echo >>e.csv; grun v.tlg x=@e.csv'
    ok 'grun v.tlg x=@h.csv' 'y = []'
    bad 3 E_FORMAT 'this is not a file of arrays' 'cat h.csv | grun v.tlg x=@-'
    bad 3 E_FORMAT 'x.yaml was read as a table' 'printf "a: 1\nb: [2]\n" >x.yaml; grun v.tlg x=@x.yaml'
    # a tsv has tabs, whatever else it may hold
    printf 'a;b\tc\n1\t2\n' >t.tsv
    ok 'grun v.tlg "x=@t.tsv:a;b"' 'y = [1.0]'
}

@test "decimal commas are no numbers, and are recognised" {
    printf 'a;b;c\n1,5;2;x\n;-1.234,5e3;y\n' >de.csv
    like 'gload --info de.csv' 'a +text\[2\], 1 missing, with decimal commas' 'b +text\[2\], with decimal commas' 'c +text\[2\]$'
    printf '1,5;2,5\n3,5;4,25\n' >bare.csv
    printf 'a,b\n"1,5",2\n' >quoted.csv
    printf 'a;b\n1,2,3;4\n' >three.csv
    gload -i 'x: float64[n, 2]' -e 'y = x' --outputs y -o xy.tlg
    bad 3 E_FORMAT "line 1, column 1: '1,5' is not a number" 'grun xy.tlg x=@bare.csv'
    grep -qx '  note: numbers have a point, not a comma: `tr , .` changes all commas of a text' .err
    bad 3 E_FORMAT "line 2, column 1 .a.: '1,5' is not a number" 'grun xy.tlg x=@quoted.csv'
    grep -qx '  note: numbers have a point, not a comma' .err
    bad 3 E_FORMAT "'1,2,3' is not a number" 'grun xy.tlg x=@three.csv'
    grep -q 'note: choose the columns' .err
    ok 'tr , . <bare.csv | grun xy.tlg x=@-' $'y = [[1.5, 2.5],\n     [3.5, 4.25]]'
}

@test "standard input holds several arrays where they have names" {
    ok 'cut -d, -f1 d.csv | head -n 3 | grun v.tlg x=@-' 'y = [1.0, 2.0]'
    gload -i 'x: float64[n]' -i 'z: int64[n]' -e 'y = x * z' >xz.tlg
    ok 'cat d.csv | grun xz.tlg x=@-:id z=@/dev/stdin:label' 'y = [0.0, 2.0, 6.0]'
    ok 'grun xz.tlg x=@-:id z=@-:label <d.csv' 'y = [0.0, 2.0, 6.0]'
    ok 'grun xz.tlg x=@<(cut -d, -f1 d.csv | head -n 2) z=@<(echo 4)' 'y = [4.0]'
    ok 'grun v.tlg x=[1,2] -r y=a.npz && cat a.npz | grun v.tlg x=@-:y' 'y = [1.0, 2.0]'
    ok 'grun v.tlg x=[1,2] -r y=a.npy && cat a.npy | grun v.tlg x=@-' 'y = [1.0, 2.0]'
    gload -i 'x: float64[n]' -i 'z: float64[n]' -e 'y = x * z' >xz.tlg
    bad 2 E_USAGE 'it held one array, which another value has taken' 'cat a.npy | grun xz.tlg x=@- z=@-'
    bad 2 E_USAGE 'standard input is already the graph' 'grun x=@/dev/stdin <v.tlg'
    bad 2 E_USAGE 'standard input is already the graph' 'grun x=@-:a <v.tlg'
    bad 4 E_TRUNCATED 'it is empty: did the command before fail' 'grun v.tlg x=@-:a </dev/null'
}

@test "gzip and zstd are undone, whatever they hold; bombs stop at the limit of memory" {
    gzip -k d.csv
    zstd -q d.csv
    ok 'grun i.tlg x=@d.csv.gz:label' 'y = [0, 1, 2]'
    ok 'grun i.tlg x=@d.csv.zst:label' 'y = [0, 1, 2]'
    ok 'cat d.csv.gz d.csv.gz | zcat | wc -l' 10
    ok '(gzip -c <(echo 1); gzip -c <(echo 2); head -c 9 /dev/zero) | grun v.tlg x=@-' 'y = [1.0, 2.0]'
    ok 'gzip -c d.csv | zstd -q | grun i.tlg x=@-:label' 'y = [0, 1, 2]'
    printf 'a;b\tc\n1\t2\n' | gzip >t.tsv.gz
    ok 'grun v.tlg "x=@t.tsv.gz:a;b"' 'y = [1.0]'
    ok 'grun v.tlg x=[1,2] -r y=a.npy && gzip a.npy && grun v.tlg x=@a.npy.gz' 'y = [1.0, 2.0]'
    ok 'gzip -c v.tlg | grun - x=[3]' 'y = [3.0]'
    head -c 40 d.csv.gz >cut.gz
    bad 4 E_TRUNCATED 'cut.gz: .*ends too early' 'grun v.tlg x=@cut.gz:id'
    (cat d.csv.gz; echo rest) >rest.gz
    bad 3 E_FORMAT 'rest.gz: the compressed data is damaged' 'grun v.tlg x=@rest.gz:id'
    (head -c 30 d.csv.gz; printf '\377\377\377\377'; tail -c +35 d.csv.gz) >bad.gz
    bad 3 E_FORMAT 'bad.gz: the compressed data is damaged' 'grun v.tlg x=@bad.gz:id'
    head -c 50000000 /dev/zero | gzip -1 >bomb.csv.gz
    bad 6 E_LIMIT 'bomb.csv.gz unpacks to more than the limit' 'grun v.tlg x=@bomb.csv.gz --max-memory 10M'
    head -c 50000000 /dev/zero | zstd -q >bomb.csv.zst
    bad 6 E_LIMIT 'bomb.csv.zst unpacks to more than the limit' 'grun v.tlg x=@bomb.csv.zst --max-memory 10M'
    cp d.csv.gz n.gz
    ok 'gzip n.gz -S .gz -f || true; cp d.csv n; for i in 1 2 3 4 5; do gzip -c n >n2; mv n2 n; done'
    bad 6 E_LIMIT 'compressed more than 4 times' 'grun v.tlg x=@n:id'
}

@test "what is packed is read beside a graph, too, and not without zlib" {
    CC=$(command -v cc || command -v gcc) || skip 'no C compiler'
    gload --new -e 'x = arange(4) * 1.5' | grun -r x=x.npy
    gzip -k x.npy
    head -c 60 x.npy.gz >cut.npy.gz
    ok 'grun v.tlg x=@x.npy.gz' 'y = [0.0, 1.5, 3.0, 4.5]'
    printf 'thunkline: 1\nlet: |\n  x = load("x.npy.gz")\noutputs: [x]\n' >packed.yaml
    ok 'grun packed.yaml' 'x = [0.0, 1.5, 3.0, 4.5]'
    sed 's/x.npy/cut.npy/' packed.yaml >cut.yaml
    bad 4 E_TRUNCATED 'cut.yaml:3:7: .*the compressed data ends too early' 'grun cut.yaml'
    mkdir none empty
    echo 'no library' >none/libz.so.1
    echo 'int nothing;' >empty.c
    "$CC" -shared -fPIC -o empty/libz.so.1 empty.c
    local f
    for f in none empty; do
        bad 4 E_IO 'x.npy.gz: it is compressed, but zlib \(libz.so.1\) is not installed' "LD_LIBRARY_PATH=$f grun v.tlg x=@x.npy.gz"
        bad 4 E_IO 'x.npy.gz: it is compressed, but zlib' "LD_LIBRARY_PATH=$f gload --info x.npy.gz"
    done
}

@test "columns and lines have bounds" {
    ok 'head -c 1100000 /dev/zero | tr "\0" , >wide.csv'
    bad 6 E_LIMIT 'more than 1048576 columns' 'grun m.tlg x=@wide.csv'
    ok '(echo a; head -c 70000000 /dev/zero | tr "\0" 1) >long.csv'
    bad 6 E_LIMIT 'line 2 has more than 64 MiB' 'grun v.tlg x=@long.csv'
    # rows that don't come reserve nothing for good
    ok '(echo a,b,c; head -c 3000000 /dev/zero | tr "\0" "\n"; echo 1,2,3) >gaps.csv'
    ok 'grun m.tlg x=@gaps.csv --max-memory 30M' 'y = [[1.0, 2.0, 3.0]]'
}

@test "long tables are the same on any number of threads, and so is what is wrong with them" {
    awk 'BEGIN { srand(3); print "a;b;c"
        for (i = 0; i < 60000; i++) {
            if (i % 7 == 3) printf " \r\n"
            printf "%d;%s;%.17g%s\n", i, i % 11 ? "word" : "", rand() * 1e9 - 5e8, i % 3 ? "" : "\r" } }' >long.csv
    sed 's/word//; s/;/\t/g; 1d; s/NA//' long.csv | head -n 50000 >long.tsv
    tr '\n' '\r' <long.tsv | tr -s '\r' >mac.tsv
    sed '59000s/[^;]*$/1.2.3/' long.csv >word.csv
    sed '59000s/$/;1/' long.csv >wide.csv
    for what in long.csv:a,c long.csv:c,a long.tsv mac.tsv; do
        for n in 1 2 3; do
            grun m.tlg "x=@$what" --threads $n -O npy >$n.npy
        done
        ok 'cmp 1.npy 2.npy && cmp 1.npy 3.npy && test "$(wc -c <1.npy)" -gt 400000'
    done
    for what in word.csv:a,c wide.csv:a,c long.csv; do
        for n in 1 3; do
            ! grun m.tlg "x=@$what" --threads $n 2>$n.txt
        done
        ok 'cmp 1.txt 3.txt && grep -c "line [0-9]*" 1.txt' 1
    done
}

@test "JSON: lists as others write them, by name or alone" {
    local t want text
    while IFS='|' read -r t text want; do
        gload -i "x: $t" -e 'y = x' >t.tlg
        printf '%s\n' "$text" >t.json
        ok "grun t.tlg x=@t.json" "$(printf %b "y = $want")" || return
        ok "cat t.json | grun t.tlg x=@-" "$(printf %b "y = $want")" || return
    done <<'END'
float64[?, ?]|[[1, 2], [3, 4.5]]|[[1.0, 2.0],\n     [3.0, 4.5]]
int64[?]|[1, 2.0, -3]|[1, 2, -3]
uint64[?]|[18446744073709551615]|[18446744073709551615]
float32[?]|[0.1, null, "NaN", "-Infinity"]|[0.1, nan, nan, -inf]
bool[?]|[true, false]|[True, False]
float64[?]|[]|[]
float64[?, ?]|[[], []]|[[],\n     []]
float64[?]|[18446744073709551615, -1]|[1.8446744073709552e+19, -1.0]
float64[?]|[1E2, 18446744073709551616]|[100.0, 1.8446744073709552e+19]
float64[?]|{"name": 5, "dtype": "float64", "shape": [2], "data": [1, 2]}|[1.0, 2.0]
END
    printf '\357\273\277[1, 3]' >bom.json
    ok 'grun v.tlg x=@bom.json' 'y = [1.0, 3.0]'
    # as a constant: whole numbers up to those of uint64, else floats
    printf '[18446744073709551615, 1]' >t.json
    ok "gload --new -e 'y = load(\"t.json\")' | grun" 'y = [18446744073709551615, 1]'
    printf '[18446744073709551616, 1]' >t.json
    ok "gload --new -e 'y = load(\"t.json\")' | grun" 'y = [1.8446744073709552e+19, 1.0]'
    printf '[18446744073709551615, -1]' >t.json
    ok "gload --new -e 'y = load(\"t.json\")' | grun" 'y = [1.8446744073709552e+19, -1.0]'
}

@test "JSON: what a list may not be" {
    local code want text
    while IFS='|' read -r code want text; do
        printf '%b' "$text" >t.json
        local status=3
        [ "$code" = E_LIMIT ] && status=6
        bad $status "$code" "t.json: $want" 'grun m.tlg x=@t.json' || return
    done <<'END'
E_FORMAT|line 2: the list has another length|[[1, 2],\n[3]]
E_FORMAT|line 1: an element where the others are lists|[[1], 2]
E_FORMAT|line 1: a list where the others are elements|[1, [2]]
E_FORMAT|line 1: an element where|[[], 2]
E_FORMAT|line 2: 'x' is not a number|[1,\n"x"]
E_FORMAT|line 2: expected a value|[[1, 2]\n
E_FORMAT|line 1: expected a value|[1, nan]
E_FORMAT|line 1: expected a value|[{"a": 1}]
E_FORMAT|it holds 2 values one after the other|[1]\n[2]
E_ARG|choose an array, as FILE:NAME; it holds a, b|{"a": [1], "b": [2]}
E_DTYPE|line 1: the dtype float8 is not known|{"dtype": "float8", "data": [1]}
E_FORMAT|line 1: the data has another shape|{"dtype": "float64", "shape": [3], "data": [1]}
E_FORMAT|line 1: the data has another shape|{"dtype": "float64", "shape": [1000000000000], "data": []}
E_FORMAT|line 1: the shape must be a list|{"dtype": "float64", "shape": [-1], "data": [1]}
E_FORMAT|line 1: the shape must be a list|{"dtype": "float64", "shape": 2, "data": [1, 2]}
E_FORMAT|line 1: the shape must be a list|{"dtype": "float64", "shape": [2.5], "data": [1, 2]}
E_FORMAT|line 1: the shape must be a list|{"dtype": "float64", "shape": [18446744073709551615], "data": [1]}
E_FORMAT|line 1: the shape must be a list|{"dtype": "float64", "shape": [99999999999999999999], "data": [1]}
E_LIMIT|a tensor has at most 32 dims|{"dtype": "float64", "shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], "data": [1]}
E_FORMAT|line 1: there is no such escape|["a\\q", 3]
E_ARG|choose an array, as FILE:NAME; it holds dtype, shape, data|{"dtype": 5, "shape": [1], "data": [1]}
E_FORMAT|line 1: a complex number is a list of two|{"dtype": "complex64", "data": [1]}
E_FORMAT|line 1: '300' is out of range of uint8|{"dtype": "uint8", "data": [300]}
E_FORMAT|line 1: '0.5' is not a whole number|{"dtype": "uint8", "data": [0.5]}
E_FORMAT|line 1: the lists are nested too deeply|[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
END
    ok 'printf "{\"data\": [1, 2], \"target\": [3], \"about\": {\"x\": \"y\"}}" >s.json; grun v.tlg x=@s.json:data' 'y = [1.0, 2.0]'
    bad 3 E_NAME "no array 'targe' in it; it holds data, target, about" 'grun v.tlg x=@s.json:targe'
}

@test "JSON: results of every dtype come back as they were" {
    gload --new -e 'f = array([nan, inf, -inf, -0.0, 0.1, 5e-324])' -e 'h = float16(f)' -e 's = float32(0.1)' \
        -e 'c = array([complex(1.5, nan), complex(-0.0, inf)])' -e 'd = complex64(c)' \
        -e 'i = array([9223372036854775807, -9223372036854775807 - 1])' -e 'u = array([18446744073709551615], dtype=uint64)' \
        -e 'b = array([[True, False]])' -e 'e = zeros((3, 0, 2))' -e 'z = zeros((0,), dtype=int8)' -e 'w = zeros((0, 2), dtype=complex64)' -o all.tlg
    ok 'grun all.tlg -r f=o.json -r h=o.json -r s=o.json -r c=o.json -r d=o.json -r i=o.json -r u=o.json -r b=o.json -r e=o.json -r z=o.json -r w=o.json'
    local n
    for n in f h s c d i u b e z w; do
        ok "gload --new -e '$n = load(\"o.json\", \"$n\")' | grun -O json >back; grun all.tlg -O json | grep '\"name\": \"$n\"' | diff - back" || return
    done
    ok 'grun all.tlg -r c=c.json -o /dev/null; gload --new -e "c = load(\"c.json\")" | grun -O json' "$(grun all.tlg -O json | grep '"name": "c"')"
}
