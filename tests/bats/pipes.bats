# Pipes, files and terminals: what goes where, and what is left when something fails.
load common

sq() { gload -e 'x ** 2' "$@"; }

# No temporary file is left in this folder.
clean() { [ -z "$(find . -name '.*.??????' -not -name '.out' -print)" ]; }

@test "a failure at the head ends every tool after it with the same status and one message" {
    local first want
    while IFS='|' read -r first want; do
        shell "$first | ggrad | grewrite | grun x=1; echo \${PIPESTATUS[@]}"
        [ "$(cat .out)" = "$want $want $want $want" ] || complain "$want" "$first"
        [ "$(grep -c 'error\[' .err)" = 1 ] || complain "one message" "$first"
    done <<'END'
gload none.yaml|4
gload -e 'sni(x)'|3
gload --nonsense|2
gload -e 'x ** 2' --new --outputs nope|2
END
    shell "gload -e 'x ** 2' | ggrad --wrt q | grewrite | grun x=1; echo \${PIPESTATUS[@]}"
    [ "$(cat .out)" = '0 2 2 2' ]
    shell "gload -e 'x ** 2' | ggrad | grewrite --exclude nope -z | grun x=1; echo \${PIPESTATUS[@]}"
    [ "$(cat .out)" = '0 0 2 2' ]
    [ "$(grep -c 'error\[' .err)" = 1 ]
}

@test "a failing tool leaves one readable line in a pipe, and nothing anywhere else" {
    local line='# thunkline: gload failed, status 3'
    ok "x=\$(gload -e 'sni(x)' 2>words); printf '%s\n' \"\$x\"" "$line"
    ok "x=\$(gload -e 'sni(x)' 2>words | ggrad); printf '%s\n' \"\$x\"" '# thunkline: ggrad failed, status 3'
    ok "x=\$(gload --nonsense 2>words); printf '%s\n' \"\$x\"" '# thunkline: gload failed, status 2'
    for words in "gload -e 'sni(x)' >f" "gload -e 'sni(x)' -O json | cat >f" "gload -e 'sni(x)' -O math | cat >f" "gload --check -e 'sni(x)' | cat >f" "gload -e 1 | grun --bogus | cat >f"; do
        shell "$words"
        [ ! -s f ] || complain 'should write nothing' "$words"
    done
    for words in '-O yaml' '-O tlg' '-z -O yaml'; do
        bad 3 E_NAME 'no function' "gload -e 'sni(x)' $words | ggrad $words | grun x=1"
        ok "x=\$(gload -e 'sni(x)' $words 2>words); printf '%s\n' \"\$x\"" "$line"
    done
    for tool in gload ggrad grewrite 'grun x=1' gprof; do
        shell "echo '$line' | cat - | $tool"
        [ "$status" = 3 ] && [ ! -s .err ] || complain 'should end in silence with status 3' "$tool"
    done
    echo "$line" >f
    bad 4 E_TRUNCATED 'f: the command that wrote it failed, with status 3' 'grun f'
    printf 'thunkline: 1\ninputs: {x: float64}\n# thunkline: gload failed, status 300\noutputs: [x]\n%s, or not\n' "$line" >f
    ok 'grun f x=1' 'x = 1.0'
}

@test "a tool whose reader has failed says nothing, also where SIGPIPE is ignored" {
    for ignore in '' '' "trap '' PIPE;" "trap '' PIPE;"; do
        bad 2 E_USAGE 'no option --bogus' "($ignore gload -e 'x * 2' | grun x=2 --bogus)"
        bad 3 E_NAME 'no function .sni' "($ignore gload -e 'sni(x)' | true)"
    done
    shell "(trap '' PIPE; gload --shared 'W: float64[500000] = normal(0, 1, 500000, seed=1)' -e W | grun | true; echo \${PIPESTATUS[1]})"
    [ "$(cat .out)" = 141 ] && [ ! -s .err ] || complain 'should end in silence with status 141' grun
}

@test "truncated and damaged input" {
    sq -o g.tlg
    local size n
    size=$(stat -c %s g.tlg)
    for n in 1 3 10 40 100 $((size / 2)) $((size - 9)) $((size - 1)); do
        bad 4 E_TRUNCATED 'truncated|ends' "head -c $n g.tlg | grewrite >/dev/null"
    done
    bad 4 E_TRUNCATED 'did the command before' 'gload </dev/null >/dev/null'
    bad 4 E_TRUNCATED 'did the command before' 'grun x=1 </dev/null'
    for n in 20 100 150 200 $((size - 30)); do
        cp g.tlg d.tlg
        printf '\377' | dd of=d.tlg bs=1 seek="$n" conv=notrunc 2>/dev/null
        shell 'gload d.tlg -O yaml -o d.yaml'
        [ "$status" = 4 ] || [ "$status" = 3 ]
        [ "$(grep -c 'error\[' .err)" = 1 ]
        [ ! -e d.yaml ]
    done
    bad 4 E_TRUNCATED 'compressed' 'gload -e "x ** 2" -z | head -c 60 | gload >/dev/null'
    bad 4 E_ '.' 'cat g.tlg g.tlg | gload >/dev/null'
}

# BYTES after the key "abort"|STATUS|what is said, nothing if the tool before has said it
@test "abort records as other writers may make them" {
    local bytes want message
    while IFS='|' read -r bytes want message; do
        printf '\xd9\xd9\xf7\xa1\x65abort'"$bytes" >abort.tlg
        shell 'grun <abort.tlg'
        [ "$status" = "$want" ] || complain "should end with $want" "$bytes"
        grep -qE "^grun: error.*$message" .err || [ ! "$message" ] || complain "should say $message" "$bytes"
        [ "$message" ] || [ ! -s .err ] || complain 'should say nothing' "$bytes"
    done <<'END'
\xa2\x64exit\x05\x61x\x01|5|
\xa2\x61x\x01\x64exit\x05|5|
\xa1\x61x\x01|4|
\xa1\x64exit\x00|4|
\xa1\x64exit\x19\x01\x00|3|256 is out of range .at most 255
\xa1\x01\x02|3|expected text, got a number
\x01|3|expected a map, got a number
\xa1\x64exit\x61x|3|expected a number, got text
\xa1\x64exit|4|truncated input: it ends at byte 16
\xa1\x61x|4|truncated input
|4|truncated input
END
    printf '\xd9\xd9\xf7\xa2\x61a\x01\x61b\x02' >abort.tlg
    bad 3 E_FORMAT 'expected a section, a map with one key' 'grun abort.tlg'
    printf '\xd9\xd9\xf7\xa1\x63end\xa0' >abort.tlg
    bad 3 E_FORMAT 'the end record has no checksum' 'grun abort.tlg'
}

@test "what has no end is refused at its beginning, what is too large with its limit" {
    bad 3 E_FORMAT '/dev/zero begins with zeros' 'timeout 20 gload /dev/zero'
    bad 3 E_FORMAT '/dev/zero begins with zeros' 'timeout 20 grun x=@/dev/zero --max-time 10 < <(gload -e x)'
    gload -e 'sin(x)' -o g.tlg
    bad 6 E_LIMIT 'g.tlg is larger than the limit of 100 bytes' 'gload g.tlg --max-memory 100'
    bad 6 E_LIMIT 'max-memory raises the limit' 'gload g.tlg -z -O tlg | gload --max-memory 400'
}

@test "--no-provenance leaves neither paths nor lines of texts in a graph" {
    printf 'thunkline: 1\ninputs: {x: float64}\nlet: |\n  y = sin(x)  # a secret\noutputs: [y]\n' >secret.yaml
    ok "gload $PWD/secret.yaml -O tlg | grep -ac 'secret'" 1
    for command in gload 'gload - -e z=y --outputs z' ggrad grewrite 'grun x=0 --save s.tlg'; do
        gload --no-provenance "$PWD/secret.yaml" -O tlg | $command --no-provenance >o.tlg
        [ -s s.tlg ] || mv o.tlg s.tlg
        run ! grep -aq -e secret -e "$PWD" s.tlg
        ok 'grun s.tlg x=0 >/dev/null; rm s.tlg'
    done
}

@test "a reader that leaves early is no error" {
    local line
    for line in 'gload -e "arange(1000000)" -O json' 'gload --list-ops "*"' 'gload --shared "W: float64[50000] = normal(0, 1, 50000, seed=1)" -e W | grun' \
        'gload --shared "W: float64[500000] = normal(0, 1, 500000, seed=1)" -e W | grun -O npy' 'grewrite --list' 'gload --help'; do
        shell "$line | head -c 1"
        [ ! -s .err ] || complain 'should be silent' "$line"
        [ "$(wc -c <.out)" = 1 ]
    done
    shell 'gload --shared "W: float64[500000] = normal(0, 1, 500000, seed=1)" -e W | grun | true; echo ${PIPESTATUS[1]}'
    [ "$(cat .out)" = 141 ]
    [ ! -s .err ]
}

@test "no partial output file, no leftover, old contents kept" {
    echo old >keep.tlg
    bad 3 E_ '.' 'gload -e "sni(x)" -o keep.tlg'
    bad 2 E_ '.' 'gload -e "x" | ggrad --wrt q -o keep.tlg'
    bad 5 E_ '.' 'gload -i "x: float64[n]" -e "x[4]" | grun x=[1] -r out=keep.npy -O text -o keep.tlg'
    bad 1 E_ '.' 'gload -e "x" | grun x=1 --expect out=2 -O text -o keep.tlg --save keep.tlg'
    bad 1 E_ '.' 'gload -e "x" | grun x=1 --expect out=2 -r out=keep.npy'
    [ "$(cat keep.tlg)" = old ]
    [ "$(ls)" = keep.tlg ]
    clean
    bad 4 E_IO 'none/a.tlg' 'gload -e x -o none/a.tlg'
    bad 4 E_IO '.' 'mkdir -p dir; gload -e x -o dir'
    bad 4 E_IO 'full|space' 'gload -e x -o /dev/full'
    bad 4 E_IO 'full|space' 'gload -e x >/dev/full'
    bad 4 E_IO 'full|space' 'gload -e x | grun x=1 >/dev/full'
    bad 4 E_IO 'full|space' 'gload -e x | grun x=1 -r out=/dev/full' || bad 2 E_USAGE '.' 'gload -e x | grun x=1 -r out=/dev/full'
    bad 4 E_IO 'too large|large' 'ulimit -f 1; gload --new --shared "W: float64[10000] = zeros(10000)" --set "W = arange(10000) * 0.1" -e "W" --outputs W -o big.tlg'
    [ ! -e big.tlg ]
    clean
}

@test "whatever is printed or written, a full disk is an error" {
    [ -c /dev/full ] || skip 'no /dev/full here'
    gload --new -i 'x: float64[n]' --shared 'w: float64 = 1.0' -e 'y = x * w * 1' -e 's = sum(y)' --update 'w = w + s' --outputs y,s -o g.yaml
    sed 's/x \* w/x + w/' g.yaml >h.yaml
    printf 'id,lower,upper,size\n1,0,2,3\n' >b.csv
    local f line
    for f in svg html npy npz; do ln -s /dev/full "full.$f"; done
    while IFS= read -r line; do
        bad 4 E_IO 'No space left' "$line >/dev/full" || return
    done <<'END'
gload g.yaml --info
gload g.yaml --info -O json
gload g.yaml --nodes -O json
gload --op add
gload --op add -O json
gload --list-ops
gload --list-types
gload --list-optimizers
gload g.yaml -O tree
gload g.yaml -O html
gload g.yaml -O svg
gload g.yaml -O onnx
ggrad g.yaml --cost s --wrt w
grewrite g.yaml
grewrite --list
grewrite g.yaml --why mul-one
grewrite g.yaml --diff h.yaml -O html
grewrite g.yaml --explain -O html
grewrite --prove mul-one
grewrite g.yaml --bisect true
grun g.yaml x=[1,2] -O json
grun g.yaml x=[1,2] --time
gprof g.yaml x=[1,2] -O json
gprof g.yaml x=[1,2] -O html
gprof g.yaml x=[1,2] --ulp
gprof g.yaml --static
gprof --pack b.csv
grun g.yaml x=[1,2] --receipt /dev/full -o /dev/null
grun g.yaml x=[1,2] --plot full.svg -o /dev/null
grun g.yaml x=[1,2] --report full.html -o /dev/null
grun g.yaml x=[1,2] --trace t --report full.html -o /dev/null
grun g.yaml x=[1,2] --trace /dev/full -o /dev/null
grun g.yaml x=[1,2] --save /dev/full -o /dev/null
grun g.yaml x=[1,2] -r s=full.npy -o /dev/null
grun g.yaml x=[1,2] --no-updates --part 1/2 -r s=full.npz -o /dev/null
grun g.yaml x=[1,2] --steps 3 --every 1 --until 's > 2'
END
}

@test "a signal leaves no temporary file" {
    gload --shared 'W: float64 = 0' -e 'W' -o w.tlg
    gload w.tlg --update 'W = W + sum(ones(100000))' -o w.tlg
    grun w.tlg --steps 100000000 -o out.txt --every 1 >/dev/null 2>&1 &
    local pid=$!
    sleep 0.3
    kill -HUP $pid
    wait $pid || status=$?
    [ "$status" = 129 ]
    [ ! -e out.txt ]
    clean
}

@test "files: links are followed, modes kept, names decide the format" {
    sq -o real.tlg
    chmod 640 real.tlg
    ln -s real.tlg link.tlg
    gload -e 'x ** 3' -o link.tlg
    [ -L link.tlg ]
    [ "$(stat -c %a real.tlg)" = 640 ]
    ok 'grun real.tlg x=2' 'out = 8.0'
    umask 027
    sq -o new.tlg
    [ "$(stat -c %a new.tlg)" = 640 ]
    sq -o a.yaml && head -n 1 a.yaml | grep -qx 'thunkline: 1'
    sq -o a.yml && cmp <(tail -n +3 a.yml) <(tail -n +3 a.yaml)
    sq -o a.json && head -c 1 a.json | grep -q '{'
    sq -o a.dot && head -n 1 a.dot | grep -q '^digraph'
    sq -O json -o json.yaml && head -c 1 json.yaml | grep -q '{'
    local f
    for f in a.yaml.zst a.json.zst a.tlg.zst; do
        sq -o $f
        [ "$(head -c 4 $f | od -An -tx1 | tr -d ' ')" = 28b52ffd ]
        ok "grun $f x=3" 'out = 9.0'
    done
    # content is sniffed, names are not believed
    cp a.json.zst liar.tlg
    ok 'grun liar.tlg x=3' 'out = 9.0'
    ok 'gload -e "x ** 2" -z3 | grun x=3' 'out = 9.0'
    ok 'gload -e "x ** 2" -z19 --no-provenance | gload --no-provenance | cmp - <(gload -e "x ** 2" --no-provenance)'
    ok 'gload -e "x ** 2" -O yaml --zstd=5 | zstd -dc | head -n 1' 'thunkline: 1'
}

@test "devices and FIFOs are written as they are" {
    ok 'gload -e "x ** 2" -o /dev/stdout | grun x=4' 'out = 16.0'
    ok 'gload -e "x ** 2" -o - | grun - x=4' 'out = 16.0'
    mkfifo ff
    ok 'gload -e "x ** 2" -o ff & grun ff x=3; wait' 'out = 9.0'
    [ -p ff ]
    ok 'grun <(gload -e "x ** 2") x=<(:) 2>/dev/null || grun <(gload -e "x ** 2") x=5' 'out = 25.0'
    ok 'gload -e "x ** 2" -o /dev/null' ''
    [ -c /dev/null ]
    ok 'gload -e "x ** 2" | grun x=3 -o /dev/stderr 2>&1' 'out = 9.0'
}

@test "terminals: YAML to them, binary refused, no waiting for input" {
    need_terminal
    command -v script >/dev/null || skip 'no script(1)'
    tty() { script -qec "$1" /dev/null </dev/null | tr -d '\r'; }
    tty 'gload -e x**2 --no-provenance' >t
    [ "$(head -n 1 t)" = 'thunkline: 1' ]
    tty 'gload -e x**2 -O tlg; echo $?' >t
    grep -q 'E_USAGE.*binary output is not written to a terminal' <(sed 's/\x1b\[[0-9;]*m//g' t)
    [ "$(tail -n 1 t)" = 2 ]
    tty 'gload -e x**2 -O tlg -f | wc -c; gload -e x**2 -O tlg -f >/dev/null; echo $?' >t
    [ "$(tail -n 1 t)" = 0 ]
    tty 'gload -e ones\(2\) | grun -O npy; echo $?' >t
    [ "$(tail -n 1 t)" = 2 ]
    tty 'gload -e x**2 -z; echo $?' >t
    [ "$(tail -n 1 t)" = 2 ]
    local tool
    for tool in gload ggrad grewrite grun; do
        tty "timeout 5 $tool; echo \$?" >t
        [ "$(tail -n 1 t)" = 2 ]
    done
}

@test "one pipe trains the digits" {
    local x="float32(load('$DIGITS/x.npy')[:1500]) / 16" y="@$DIGITS/y.npy[:1500]"
    gload "$DIGITS/model.yaml" | ggrad --cost loss --wrt W,b |
        gload - --update 'W = W - 0.5*d_loss_d_W' --update 'b = b - 0.5*d_loss_d_b' --outputs loss,accuracy | grewrite >train.tlg
    grun train.tlg x="$x" y="$y" -o 0.txt --steps 50 --save 50.tlg
    gload "$DIGITS/model.yaml" | grun x="$x" y="$y" >first.txt
    close first.txt loss 2.30259
    grun 50.tlg x="$x" y="$y" --steps 150 --save 200.tlg -o t
    gload 50.tlg | grun x="$x" y="$y" >50.txt
    close 50.txt loss 0.60257
    grun 200.tlg x="$x" y="$y" >200.txt
    close 200.txt loss 0.24685
    grun 200.tlg x="float32(load('$DIGITS/x.npy')[1500:]) / 16" y="@$DIGITS/y.npy[1500:]" --expect accuracy='264 / 297' --rtol 1e-6 >/dev/null
    # the same in one go, on one thread, and without rewriting
    grun train.tlg x="$x" y="$y" --steps 201 -o one.txt --threads 1
    cmp one.txt 200.txt
}

@test "the examples' scripts run" {
    local s
    for s in "$ROOT"/examples/*/*.sh; do
        case $s in */library/*) continue ;; esac # needs an installed library: library.bats
        shell "$s '${TL_BIN:-$ROOT/build/bin}' >log 2>&1"
        [ "$status" = 0 ] || { cat log >&2 && complain 'should succeed' "$s"; }
    done
}

@test "what a graph says reaches no terminal raw: escapes, C1 controls, changes of direction" {
    printf 'thunkline: 1\ndoc: "a\\u009b31mb\\u202ec\\u061c"\ninputs: {x: "float64[2]"}\nlet: {y: '\''print(x, msg="\\x1b[31m\\u009b31m\\u202e")'\'', z: y + 1}\noutputs: [z]\n' >e.yaml
    local f
    for f in 'gload e.yaml -O yaml' 'gload e.yaml -O json' 'gload e.yaml -O tree' 'gload e.yaml -O math' 'grun e.yaml x=[1,2]'; do
        shell "$f"
        [ "$status" = 0 ]
        ! LC_ALL=C grep -q $'\x1b\|\xc2[\x80-\x9f]\|\xe2\x80[\xaa-\xae]\|\xd8\x9c' .out .err || complain 'raw' "$f"
    done
    ok 'gload e.yaml -o a.yaml && gload e.yaml -o a.json && cmp <(gload a.yaml -O json --no-provenance) <(gload a.json -O json --no-provenance)'
    bad 3 E_ 'sni' $'gload -e "sni(1, \'\u009b31m\u202e\')"'
    ! LC_ALL=C grep -q $'\xc2[\x80-\x9f]\|\xe2\x80[\xaa-\xae]' .err
}

@test "names that would deceive a reader are refused" {
    local word
    for word in '\u202e' '\u0085' '\e[31m' '\u061c' '\u2028'; do
        printf 'thunkline: 1\nname: "a%s"\ninputs: {x: float64}\noutputs: {y: x}\n' "$word" >m.yaml
        bad 3 E_NAME "name can't be empty or contain control characters" 'gload m.yaml'
        printf 'thunkline: 1\ninputs: {x: float64}\noutputs: {"a%s": sin(x)}\n' "$word" >m.yaml
        bad 3 E_NAME "a label can't contain control characters" 'gload m.yaml'
    done
    printf 'thunkline: 1\nname: "Zürich ∑"\ninputs: {x: float64}\noutputs: {"日本": sin(x)}\n' >m.yaml
    ok 'gload m.yaml | grun x=0' '日本 = 0.0'
}
