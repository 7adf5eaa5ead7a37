#!/usr/bin/env bats
# State on disk: a text and the arrays beside it change together, and nothing else does.
load common

# Two large shared variables that change at each call: W of ones, b of twos, ... (SIZE)
two() {
    gload --new --shared "W: float64[$1] = zeros($1)" --shared "b: float64[$1] = zeros($1)" -e 'w = W[0]' -e 'torn = any(W != W[0]) | any(b != W[0])' \
        --outputs w,torn --update 'W = W + 1' --update 'b = b + 1' -o "$2" --no-provenance
}

# What lies in this folder, without what the tests put there themselves.
files() { find . -mindepth 1 -not -name .out -not -name .err -not -name m.tlg | LC_ALL=C sort | tr "\n" " "; }
# The arrays that lie here are those that the texts name.
whole() { # TEXT...
    local want have t
    want=$(for t; do (zstdcat -f "$t" 2>/dev/null || cat "$t") | grep -o "load('[^']*')" | cut -d"'" -f2; done | sort -u)
    have=$(find . -name '*.np[yz]' | sed 's,^\./,,' | sort)
    [ "$want" = "$have" ] || { printf 'named:\n%s\nthere:\n%s\n' "$want" "$have" >&2; return 1; }
    [ -z "$(find . -name '.*thunkline*')" ] || { find . -name '.*thunkline*' >&2; return 1; }
}

@test "arrays beside a text have names that are nobody else's" {
    two 200 m.tlg
    ok 'grun m.tlg --save ckpt.100.yaml >/dev/null'
    ok 'grun m.tlg --steps 2 --save ckpt.200.yaml >/dev/null'
    ok 'grun m.tlg --steps 3 --save ckpt.json >/dev/null'
    ok 'grun m.tlg --steps 4 --save ckpt.yaml >/dev/null'
    ok 'grun m.tlg --steps 5 --save ckpt.yaml.zst >/dev/null'
    local n=0 f
    for f in ckpt.100.yaml ckpt.200.yaml ckpt.json ckpt.yaml ckpt.yaml.zst; do
        ok "grun $f" "w = $((n += 1)).0"$'\ntorn = False'
    done
    whole ckpt.100.yaml ckpt.200.yaml ckpt.json ckpt.yaml ckpt.yaml.zst
    [ "$(find . -name '*.npy' | wc -l)" = 10 ]
    [ "$(find . -name 'ckpt.100.[Wb].????????????????.npy' | wc -l)" = 2 ]
    # equal values in two texts are two files, so that none can lose its own
    ok 'gload ckpt.yaml -o copy.yaml && gload ckpt.yaml -o ckpt.yml'
    ok 'grun ckpt.yaml --save ckpt.yaml >/dev/null'
    ok 'grun copy.yaml && grun ckpt.yml' $'w = 4.0\ntorn = False\nw = 4.0\ntorn = False'
    whole ckpt.100.yaml ckpt.200.yaml ckpt.json ckpt.yaml ckpt.yaml.zst copy.yaml ckpt.yml
}

@test "files that only the old text named are removed, in every form and folder" {
    two 200 m.tlg
    local f
    for f in s.yaml s.json s.yml.zst 'an old'\''s "text".yaml' .hidden.yaml é.yaml "$(printf '%0200d' 1).yaml"; do
        mkdir d
        cd d
        grun ../m.tlg --save "$f" >/dev/null
        grun "$f" --save "$f" >/dev/null
        [ "$(grun "$f" --steps 2 --save "$f")" = $'w = 3.0\ntorn = False' ]
        [ "$(find . -type f | wc -l)" = 3 ] || complain 'a text and two arrays' "$f"
        cd ..
        rm -r d
    done
    ok 'gload m.tlg --set "W = ones(200)" --set "b = ones(200)" --refs d/e -o s.yaml 2>/dev/null || mkdir d && gload m.tlg --set "W = ones(200)" --set "b = ones(200)" --refs d/e -o s.yaml'
    ok 'grun s.yaml --save s.yaml' $'w = 1.0\ntorn = False'
    whole s.yaml
    [ -z "$(ls d/e)" ]
}

@test "unchanged arrays stay where they are" {
    gload --new --shared 'W: float64[200] = zeros(200)' --shared 'n: float64 = 0' -e 'n' --outputs n --update 'n = n + 1' --set 'W = arange(200)' -o s.yaml
    whole s.yaml
    local before
    before=$(stat -c '%i %n' s.W.*.npy)
    ok 'grun s.yaml --save s.yaml >/dev/null && gload s.yaml -o s.yaml'
    [ "$(stat -c '%i %n' s.W.*.npy)" = "$before" ]
    whole s.yaml
    # damaged, it is written anew under another name and left alone
    printf x | dd of="${before#* }" bs=1 seek=300 conv=notrunc 2>/dev/null
    gload --new --shared 'W: float64[200] = zeros(200)' -e 'sum(W)' --set 'W = arange(200)' -o s.yaml
    ok 'grun s.yaml' 'out = 19900.0'
    [ "$(find . -name 's.W.*.npy' | wc -l)" = 2 ]
}

@test "no file of others is overwritten or removed" {
    two 200 m.tlg
    echo mine >q.W.npy
    ok 'grun m.tlg --save q.yaml >/dev/null'
    [ "$(cat q.W.npy)" = mine ]
    # links: neither their targets nor themselves
    local W
    W=$(ls q.W.????????????????.npy)
    mv "$W" target.npy
    ln -s target.npy "$W"
    cp target.npy before.npy
    ok 'grun m.tlg --save q.yaml >/dev/null && grun q.yaml' $'w = 1.0\ntorn = False'
    cmp target.npy before.npy
    [ -L "$W" ]
    rm target.npy before.npy q.*
    mkdir real && ln -s real link
    bad 4 E_IO 'link is a symbolic link' 'gload m.tlg --set "W = ones(200)" --refs link -o q.yaml'
    [ ! -e q.yaml ]
    # a text that a link leads to lies in its own folder, with its arrays
    ok 'grun m.tlg --save real/q.yaml >/dev/null && cp real/q.yaml was'
    ln -s real/q.yaml q.yaml
    bad 4 E_IO 'a symbolic link to real/q.yaml, in another folder' 'grun m.tlg --save q.yaml'
    cmp real/q.yaml was
    ln -s q.yaml real/r.yaml
    ok 'grun m.tlg --save real/r.yaml >/dev/null && grun real/q.yaml' $'w = 1.0\ntorn = False'
    rm q.yaml
    # a copy of the text names the same arrays, whatever it is called
    ok 'grun m.tlg --save q.yaml >/dev/null && cp q.yaml best.yaml && gload q.yaml -O yaml >kept && zstd -q q.yaml -o z.yaml.zst'
    ok 'grun q.yaml --save q.yaml >/dev/null && grun best.yaml && gload -O json kept | grun && grun z.yaml.zst' \
        $'w = 1.0\ntorn = False\nw = 1.0\ntorn = False\nw = 1.0\ntorn = False' || ok 'grun best.yaml && grun kept && grun z.yaml.zst' \
        $'w = 1.0\ntorn = False\nw = 1.0\ntorn = False\nw = 1.0\ntorn = False'
    rm best.yaml kept z.yaml.zst
    # a text that names what it has not written
    rm -f q.* && grun m.tlg --save q.yaml >/dev/null
    cp q.W.*.npy q.W.0123456789abcdef.npy
    sed "s/q\.W\.[0-9a-f]*\.npy/q.W.0123456789abcdef.npy/" q.yaml >t && mv t q.yaml
    ok 'grun q.yaml --save q.yaml >/dev/null && test -f q.W.0123456789abcdef.npy'
    # older texts: read, and left alone
    rm q.* && printf 'thunkline: 1\nshared: {W: "float64[100] = load('\''s.W.npy'\'')"}\nlet: {y: sum(W), n: W + 1}\noutputs: [y]\nupdates: {W: n}\n' >s.yaml
    gload -e 'ones(100)' | grun -r out=s.W.npy
    cp s.W.npy before.npy
    ok 'grun s.yaml --save s.yaml' 'y = 100.0'
    ok 'grun s.yaml' 'y = 200.0'
    cmp s.W.npy before.npy
}

@test "killed at any moment: the old state or the new one, and nothing left after the next" {
    two 150000 m.tlg
    grun m.tlg --save s.yaml >/dev/null
    local i end=$((SECONDS + 12)) out n=0
    for ((i = 0; SECONDS < end && i < 120; i++)); do
        grun s.yaml --save s.yaml >/dev/null 2>&1 &
        sleep "$(printf '0.%03d' $((RANDOM % 24 + 1)))"
        kill -KILL $! 2>/dev/null || n=$((n + 1))
        wait $! 2>/dev/null || :
        out=$(grun s.yaml) || complain 'a state' "after $i"
        [[ $out == *'torn = False' ]] || complain 'torn' "after $i: $out"
    done
    [ $((i - n)) -gt 10 ] # runs that were killed
    ok 'grun s.yaml --save s.yaml >/dev/null'
    whole s.yaml
    # a binary checkpoint leaves nothing behind either
    grun s.yaml --save s.tlg >/dev/null
    : >.s.tlg.thunkline.abc123
    : >.s.tlg.backup
    : >.other.tlg.thunkline.abc123
    ok 'grun s.tlg --save s.tlg >/dev/null; ls -A | grep "^[.][so].*tlg"' $'.other.tlg.thunkline.abc123\n.s.tlg.backup'
}

@test "signals and errors of writing leave the old state and no files" {
    two 40000 m.tlg
    grun m.tlg --save s.yaml >/dev/null
    local i
    for ((i = 0; i < 15; i++)); do
        grun s.yaml --save s.yaml >/dev/null 2>&1 &
        sleep "0.0$((RANDOM % 30 + 10))"
        kill -TERM $! 2>/dev/null || :
        wait $! 2>/dev/null || :
        [[ "$(grun s.yaml)" == *'torn = False' ]]
    done
    grun s.yaml --save s.yaml >/dev/null
    whole s.yaml
    local before
    before=$(files)
    bad 4 E_IO 'large' 'ulimit -f 100; grun s.yaml --save s.yaml >/dev/null'
    bad 4 E_IO 'large' 'ulimit -f 100; gload s.yaml --update "W = W" --set "W = ones(40000)" -o s.yaml'
    [ "$(files)" = "$before" ]
    whole s.yaml
    [ "$(id -u)" = 0 ] && return 0
    chmod a-w .
    bad 4 E_IO 'ermission' 'grun s.yaml --save s.yaml >/dev/null'
    chmod u+w .
    whole s.yaml
}

@test "what is saved is on the disk before it gets its name" {
    strace -o calls true 2>/dev/null || skip 'no strace'
    local form
    two 20000 m.tlg
    for form in yaml tlg json yaml.zst; do
        ok "ASAN_OPTIONS=detect_leaks=0 strace -f -y -e trace=fsync,rename,renameat,renameat2 -o calls grun m.tlg --save s.$form >/dev/null"
        # each file that is renamed was synced before, as was its folder after
        awk -v form="$form" '
            /fsync\(/ { sub(/.*</, ""); sub(/>.*/, ""); sub(/.*\//, ""); synced[$0] = 1; last = "sync" }
            /rename/ { n++; split($0, name, "\""); sub(/.*\//, "", name[2]); last = "rename"
                if (!(name[2] in synced)) { print "not synced: " name[2]; bad = 1 } }
            END { exit bad || n != (form == "tlg" ? 1 : 3) || last != "sync" }' calls || fail "$(cat calls)"
        rm s.*
    done
}

@test "many writers of one text: one of their states, whole" {
    two 500 m.tlg
    local i
    for i in 1 2 3 4 5 6 7 8; do grun m.tlg --steps "$i" --save s.yaml >/dev/null & done
    wait
    [[ "$(grun s.yaml)" == *'torn = False' ]]
    whole s.yaml
}

@test "a mapped file that shrinks or changes while it is read: an error, status 4, no leftovers" {
    gload -e 'ones(4000000)' | grun -r out=x.npy
    gload -e 'ones(1)[0]' | grun -r out=one.npy
    gload -i 'x: float64[n]' -i 'one: float64' --shared 's: float64 = 0' -e 's' --outputs s \
        --update 's = s + one * sum(x)' -o g.tlg
    mkfifo one
    local how
    for how in 'truncate -s 4096 x.npy' 'printf x | dd of=x.npy bs=1 seek=100000 conv=notrunc'; do
        for json in '' '--errors=json'; do
            gload -e 'ones(4000000)' | grun -r out=x.npy
            # x is mapped by then, and no step begins before the other input is there
            exec 5<>one
            grun g.tlg x=@x.npy one=@one --steps 4 --threads 2 --save s.tlg $json >.out 2>.err 5>&- &
            until grep -q x.npy "/proc/$!/maps" || ! kill -0 $!; do sleep 0.01; done
            bash -c "$how" 2>/dev/null
            cat one.npy >&5
            exec 5>&-
            status=0
            wait $! || status=$?
            [ "$status" = 4 ] || complain 'status 4' "$how"
            grep -Eq 'E_IO.*x.npy was (cut short|changed) while it was read' .err || complain 'says which file' "$how"
            [ ! -e s.tlg ]
            [ -z "$(find . -name '.*thunkline*')" ]
        done
    done
}
