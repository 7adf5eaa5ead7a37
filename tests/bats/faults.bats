#!/usr/bin/env bats
# What the tools do when memory, address space, stack or time runs short: one clear error and its status, never a crash or a wait.
load common

# The sanitizers' own memory is more than what these tests leave.
plain_build() {
    ! grep -q __asan_init "$(command -v grun)" || skip 'a build with sanitizers needs more'
}

@test "products and inverses in any address space: a result or status 6, in bounded time" {
    plain_build
    gload --new -i 'a: float64[n, m]' -e 'b = a @ a' --outputs b -o mm.tlg
    gload --new -i 'a: float64[n, m]' -e 'b = inv(a)' --outputs b -o inv.tlg
    for kb in 25000 50000 100000 150000 180000 250000 400000; do
        ok "(ulimit -v $kb; timeout 20 grun mm.tlg 'a=ones((64,64))')"
        ok "(ulimit -v $kb; timeout 20 grun mm.tlg 'a=ones((150,150))' --threads 3)"
        shell "(ulimit -v $kb; timeout 20 grun inv.tlg 'a=eye(64)')"
        [ "$status" = 0 ] || bad 6 E_MEM 'inv: there is no room for OpenBLAS' "(ulimit -v $kb; timeout 20 grun inv.tlg 'a=eye(64)')"
    done
    ok "(ulimit -v 1000000; timeout 20 grun inv.tlg 'a=eye(2)')"
}

# Makes the n-th allocation of the command after $FAILING fail, or all from the n-th on (tests/torture/failalloc.c).
failing() { # n once|on
    FAILING="env LD_PRELOAD=$BATS_FILE_TMPDIR/failalloc.so FAILALLOC_AT=$1 ${2/once/FAILALLOC_ONCE=1}"
    export FAILING=${FAILING% on}
}

setup_file() {
    local cc fault
    cc=$(command -v cc || command -v gcc) || return 0
    for fault in failalloc failwrite changemap; do
        "$cc" -shared -fPIC -O1 -o "$BATS_FILE_TMPDIR/$fault.so" "$BATS_TEST_DIRNAME/../torture/$fault.c"
    done
}

some_graph() {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: "float64[n, 4]", y: "float64[n]"}
shared: {W: "float64[4] = zeros(4)"}
functions:
  sq: {inputs: {u: "float64[m]"}, let: {v: "u * u"}, outputs: [v]}
let: |
  loss = mean(sq(x @ W - y))
  c = log(1 + exp(loss)) * 2
outputs: [loss, c]
updates: |
  W = W - 0.1 * grad(loss, W)
Y
    gload g.yaml -o g.tlg
    export XY='x=ones((3,4)) y=ones(3)'
}

need_preload() { # fault
    plain_build
    [ -e "$BATS_FILE_TMPDIR/$1.so" ] || skip 'no C compiler'
}

# short LINE: wherever an allocation fails in the command after $FAILING, the line ends with 0 in silence or with 6 and
# one message.
short() {
    local count n how
    export FAILING="env LD_PRELOAD=$BATS_FILE_TMPDIR/failalloc.so FAILALLOC_LOG=$PWD/count"
    ok "$1" || return
    count=$(od -An -tu8 count | tr -d ' ')
    [ "$count" -gt 100 ] || complain 'should allocate' "$1" || return
    for how in once on; do
        for ((n = 1; n <= count; n += 1 + count / 25)); do
            failing $n $how
            shell "$1"
            [ "$status" = 0 ] && [ ! -s .err ] && continue
            [ "$status" = 6 ] || complain "should end with status 6 (allocation $n, $how)" "$1" || return
            [ "$(grep -cE '(error\[E_MEM\]: |"code": "E_MEM", "exit": 6)' .err)" = 1 ] && [ "$(grep -c error .err)" = 1 ] ||
                complain "should say one error (allocation $n, $how)" "$1" || return
        done
    done
}

@test "out of memory is one message and status 6, whatever was being done" {
    need_preload failalloc
    some_graph
    short '$FAILING gload g.yaml | grun $XY'
    short '$FAILING gload g.yaml -z --errors json | grun $XY'
    short '$FAILING ggrad g.tlg --cost loss --wrt W | grewrite | grun $XY'
    short '$FAILING grewrite g.tlg | gload --check'
    short '$FAILING grun g.tlg $XY'
    short 'gload g.tlg -z | $FAILING grun $XY --errors json'
    short '$FAILING gprof --static g.tlg'
    short '$FAILING grun g.tlg $XY --mode DEBUG'
}

@test "no memory to unpack an array is no damage" {
    need_preload failalloc
    python_with zipfile
    "$PYTHON" - <<'P'
import struct, zipfile
h = "{'descr': '<f8', 'fortran_order': False, 'shape': (6000,), }".ljust(117) + chr(10)
npy = bytes([0x93]) + b'NUMPY' + bytes([1, 0]) + struct.pack('<H', 118) + h.encode() + struct.pack('<6000d', *range(6000))
with zipfile.ZipFile('d.npz', 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('x.npy', npy)
P
    gload --new -i 'x: float64[n]' -e 's = sum(x)' -o g.tlg
    local n seen=0
    for ((n = 1; n <= 12; n++)); do
        failing $n once
        shell 'FAILALLOC_LEAST=30000 $FAILING grun g.tlg x=@d.npz:x'
        [ "$status" = 0 ] || [ "$status" = 6 ] || complain "should end with status 6 (allocation $n)" "$FAILING"
        ! grep -q 'not enough memory to unpack' .err || seen=1
    done
    [ $seen = 1 ]
}

@test "a chain of lists takes the memory of its longest, not of all" {
    plain_build
    awk 'BEGIN {
        n = 2000
        print "thunkline: 1\ninputs: {x: float64}\nlet: |\n  l0 = make_list(x)"
        for (i = 1; i <= n; i++) print "  l" i " = list_append(l" i - 1 ", x + " i ")"
        print "  y = l" n "[-1]\n  z = list_reverse(l" n ")[0] + y\noutputs: [y, z]"
    }' >g.yaml
    for mode in FAST_RUN FAST_COMPILE NAN_GUARD; do # all of the lists have more than 1 GB
        ok "(ulimit -v 400000; grun g.yaml x=1 --mode $mode --threads 1)" $'y = 2001.0\nz = 4002.0'
    done
}

@test "no op is blamed by DEBUG for what --max-memory does not allow" {
    gload --new -i 'x: float64[n]' -e 'y = sort(x) + 1' --outputs y -o g.yaml
    bad 6 E_MEM 'a copy of each value' "grun g.yaml 'x=ones(50000)' --mode DEBUG --max-memory 2400K -r y=y.npy"
    shell "grun g.yaml 'x=ones(50000)' --max-memory 2400K -r y=y.npy"
    [ "$status" = 0 ]
    for kb in 400 1200 2000 4000; do
        shell "grun g.yaml 'x=ones(50000)' --mode DEBUG --max-memory ${kb}K -r y=y.npy"
        [ "$status" = 0 ] || bad 6 E_MEM '' "grun g.yaml 'x=ones(50000)' --mode DEBUG --max-memory ${kb}K -r y=y.npy"
    done
}

@test "an abort record after half a graph ends the pipe, too" {
    some_graph
    {
        head -c 300 g.tlg
        printf '\xd9\xd9\xf7\xa1\x65abort\xa1\x64exit\x05'
    } >half.tlg
    for tool in 'gload --check' 'grun x=1' grewrite 'ggrad --cost loss'; do
        shell "$tool <half.tlg"
        [ "$status" = 5 ]
        [ ! -s .err ]
    done
}

@test "--max-time ends loops, readers and kernels with status 6, and nothing is written" {
    gload --new -i 'n: int64' --shared 'w: float64 = 0' -e 's = scan(lambda h: h * 0.5 + cos(h), outputs_info=[1.0], n_steps=n)[-1]' \
        --outputs s --update 'w = s' -o g.yaml
    local mode
    for mode in FAST_RUN DEBUG NAN_GUARD; do
        bad 6 E_LIMIT 'the time allowed is over' \
            "timeout 20 grun g.yaml n=1000000000000 --max-time 0.2 --mode $mode --save s.tlg -r s=s.npy -o out"
        [ ! -e s.tlg ] && [ ! -e s.npy ] && [ ! -e out ]
        [ -z "$(find . -name '.*.??????')" ]
    done
    bad 6 E_LIMIT 'in step [0-9]+ of 1000000000000' "timeout 20 grun g.yaml n=1000000000000 --max-time 200ms"
    [ -z "$(grep -E 'created it|is read by|is needed for' .err)" ]
    bad 6 E_LIMIT 'in step' "timeout 20 gprof g.yaml n=1000000000000 --max-time 200ms"
    bad 6 E_LIMIT 'while reading the graph' 'timeout 20 bash -c "yes | gload --max-time 50ms"'
    bad 6 E_LIMIT 'while reading the graph' 'mkfifo f; timeout 20 bash -c "exec 3<>f; gload --max-time 50ms <f | grewrite | grun"'
    shell "timeout 20 grun g.yaml n=1000000000000 --max-time 0.1 --errors json"
    [ "$status" = 6 ]
    jq -e '.code == "E_LIMIT" and .exit == 6 and .tool == "grun"' .err
    ok 'grun g.yaml n=100 --max-time 60'
    ok 'grun g.yaml n=100 --max-time 1.5h'
    for mode in 0 -1 x 1d '' inf; do
        bad 2 E_USAGE "--max-time takes" "grun g.yaml n=1 --max-time '$mode'"
    done
}

# chain N FIRST OTHERS: functions of u that each call the one before, G.
chain() {
    printf 'thunkline: 1\ninputs: {x: "float64[3]"}\nfunctions:\n'
    local i f="  f%d: {inputs: {u: 'float64[3]'}, let: {v: \"%s\"}, outputs: [v]}\n"
    printf "$f" 0 "$2"
    for ((i = 1; i < $1; i++)); do printf "$f" $i "${3//G/f$((i - 1))}"; done
    printf 'let: {c: "sum(f%d(x))"}\noutputs: [c]\n' $(($1 - 1))
}

@test "sows, loops and conditions in deep functions: an answer or a limit, also on a small stack" {
    plain_build
    local n of line
    for of in "sow(u + 1.0, tag='t', name='s')|G(u)" "u + 1.0|scan(lambda w: G(w), outputs_info=[u], n_steps=1)[-1]" \
        "u + 1.0|G(u)" "exp(-u * u)|ifelse(sum(u) > 0, G(u), u)"; do
        for n in 60 250 1000; do
            chain $n "${of%|*}" "${of#*|}" >g.yaml
            ok 'ulimit -s 1024; timeout 60 gload g.yaml -O tlg -o g.tlg'
            for line in 'gload g.tlg -O tree' 'grewrite g.tlg -O tlg' 'ggrad g.tlg --cost c --wrt x -O tlg' 'grewrite --reap t g.tlg -O tlg' \
                'grun g.tlg x=[1,2,3]' 'grun g.tlg x=[1,2,3] --mode DEBUG' 'grun g.tlg --reap t x=[1,2,3]' 'gprof --static g.tlg'; do
                shell "ulimit -s 1024; timeout 60 $line >out"
                case $status in
                0) [ ! -s .err ] || complain 'should say nothing' "$line" ;;
                2) grep -q 'nothing is sown as t' .err || complain 'should run' "$line" ;;
                *) [ $n -gt 200 ] && [ "$status" = 6 ] && grep -q 'more than 200 deep' .err || complain 'should answer or say the limit' "$line" ;;
                esac
            done
        done
    done
}

@test "functions that call each other 1000 deep: one limit, also on a small stack" {
    plain_build
    {
        printf 'thunkline: 1\ninputs: {x: "float64[n]"}\nfunctions:\n  f0: {inputs: {u: "float64[m]"}, let: {v: "sin(u)"}, outputs: [v]}\n'
        for ((i = 1; i < 1000; i++)); do
            printf '  f%d: {inputs: {u: "float64[m]"}, let: {w: "f%d(u)", v: "w * u"}, outputs: [v]}\n' $i $((i - 1))
        done
        printf 'let: {y: "f999(x)", c: "sum(y)"}\noutputs: [y, c]\n'
    } >g.yaml
    local line
    for line in 'ggrad g.yaml --cost c --wrt x' 'ggrad g.yaml --jvp y --wrt x' 'ggrad g.yaml --jacobian y --wrt x' \
        'ggrad g.yaml --hessian c --wrt x' 'grun g.yaml x=[1,2]' 'grun g.yaml x=[1,2] --mode FAST_COMPILE' \
        'grun g.yaml x=[1,2] --mode DEBUG' 'gprof g.yaml x=[1,2]' 'grewrite g.yaml --verify 2 -o /dev/null'; do
        bad 6 E_LIMIT 'functions call each other more than 200 deep' "ulimit -s 1024; timeout 60 $line"
    done
    for line in '--cost c --wrt x' '--jvp y --wrt x'; do
        bad 6 E_LIMIT '^ggrad: g.yaml:[0-9]+:[0-9]+: .*functions call each other' "ggrad g.yaml $line"
    done
    bad 6 E_LIMIT '^grun: g.yaml:[0-9]+:[0-9]+: .*functions call each other' 'grun g.yaml x=[1,2] --mode DEBUG'
    # of the way there: three calls, how many more, and the last; as JSON all of them
    bad 6 E_LIMIT '^  \.\.\. 196 more$' 'grun g.yaml x=[1,2] --mode FAST_COMPILE'
    [ "$(grep -c 'note: called here' .err)" = 4 ] || complain 'should show four calls' 'grun --mode FAST_COMPILE'
    grep -A1 'called here' .err | tail -n 1 | grep -q 'y: "f999(x)"' || complain 'should end with the first call' 'grun --mode FAST_COMPILE'
    ok 'grun g.yaml x=[1,2] --mode FAST_COMPILE --errors json 2>e.json; grep -o "called here" e.json | wc -l' 200
    ok 'ulimit -s 1024; timeout 60 gload g.yaml -O yaml >o.yaml'
}

# changes FILE LINE: a line that succeeds fails if FILE becomes another while it is read.
changes() {
    ok "$2" || return
    bad 4 E_IO "$1 was changed while it was read" "CHANGEMAP=$1 LD_PRELOAD=$BATS_FILE_TMPDIR/changemap.so $2"
}

@test "copying from a file that changes meanwhile is an error, too" {
    need_preload changemap
    mkdir sub
    printf 'thunkline: 1\nshared: {w: "float64[3] = load(\x27x.npy\x27)"}\nlet: {y: "w * 2"}\noutputs: [y]\n' >sub/g.yaml
    printf '1,2\n3,4' >x.csv
    printf 'twice @canonicalize: x + x => 2 * x # a' >x.rules
    gload -e 'float32([1., 2., 3.])' | grun -r out=x.safetensors
    gload -e 'arange(3.)' | grun -r out=sub/x.npy
    cp "$ROOT/tests/data/gguf/model.gguf" x.gguf
    gload --new -i 'x: float32[2, 3]' -e 'y = x + x' --outputs y -o f.tlg
    gload --new -i 'x: float64[3]' -e 'y = x + x' --outputs y -o x.tlg
    gload --new -i 'm: float64[2, 2]' -e 'y = m + m' --outputs y -o m.tlg
    changes sub/x.npy 'gload sub/g.yaml -o o.tlg'
    (cd sub && changes x.npy 'gload g.yaml -o o.tlg')
    changes sub/x.npy 'gload -e "y = load(\"sub/x.npy\")" -o o.tlg'
    changes sub/x.npy 'grun x.tlg x=@sub/x.npy'
    changes x.safetensors 'grun x.tlg x=@x.safetensors'
    changes x.gguf 'grun f.tlg x=@x.gguf:BF16'
    changes x.csv 'grun m.tlg m=@x.csv'
    changes x.rules 'grewrite x.tlg --rules x.rules -o o.tlg'
}

# A state on disk of two arrays beside a text, s.yaml, or in one file, s.tlg: d/s.FORM.
new_state() { # FORM
    rm -rf d && mkdir d
    [ -e m.tlg ] || gload --new --shared 'W: float64[200] = zeros(200)' --shared 'b: float64[200] = zeros(200)' -e 'w = W[0]' \
        -e 'torn = any(W != W[0]) | any(b != W[0])' --outputs w,torn --update 'W = W + 1' --update 'b = b + 1' -o m.tlg
    grun m.tlg --save "d/s.$1" >/dev/null
}

@test "a write that fails while a state is saved: status 4, one message, the old state whole" {
    need_preload failwrite
    local n errno once line before failed synced=0
    for once in FAILWRITE_ONCE=1 ''; do
        for errno in 5 28; do
            for ((n = 1, failed = 0; n <= 20; n++)); do
                new_state yaml
                before=$(cat d/* | cksum)
                line="env FAILWRITE_AT=$n FAILWRITE_ERRNO=$errno $once LD_PRELOAD=$BATS_FILE_TMPDIR/failwrite.so grun d/s.yaml --save d/s.yaml -o out.txt"
                shell "$line"
                if grep -q "can't sync the folder of d/s.yaml" .err; then
                    # the new text has its name, but the old one may come back: the arrays of both stay
                    [ "$status" = 4 ] && [ "$(find d -type f | wc -l)" = 5 ] || complain "should leave a text and four arrays: $(ls -A d)" "$line"
                    ok 'grun d/s.yaml' $'w = 2.0\ntorn = False'
                    synced=$((synced + 1))
                    continue
                fi
                [ "$(find d -type f | wc -l)" = 3 ] || complain "should leave a text and two arrays: $(ls -A d)" "$line"
                if [ "$status" = 0 ]; then # not reached
                    [ ! -s .err ] && ok 'grun d/s.yaml' $'w = 2.0\ntorn = False'
                    continue
                fi
                failed=$((failed + 1))
                bad 4 E_IO '(Input/output error|No space left)' "$line"
                [ "$(cat d/* | cksum)" = "$before" ] || complain 'should leave the state as it was' "$line"
            done
            [ "$failed" -ge 12 ] || complain "should fail at each write, not only $failed times" "$line"
        done
    done
    [ "$synced" = 4 ] || complain "the text's folder should fail to sync 4 times, not $synced" "$line"
}

@test "a crash at any write of a state: the old or the new one, and no orphans after the next save" {
    need_preload failwrite
    local n form line left=0 now
    for form in yaml:3 tlg:1; do
        for ((n = 1; n <= 14; n++)); do
            new_state "${form%:*}"
            line="env FAILWRITE_AT=$n FAILWRITE_SIGNAL=11 LD_PRELOAD=$BATS_FILE_TMPDIR/failwrite.so grun d/s.${form%:*} --save d/s.${form%:*} >/dev/null"
            shell "$line"
            [ "$status" = 0 ] || [ "$status" = 139 ] || complain 'should crash' "$line"
            left=$((left + $(find d -name '.*thunkline*' | wc -l)))
            now=$(grun "d/s.${form%:*}") || complain 'should leave a state' "$line"
            [[ $now == *'torn = False' ]] || complain "should leave a whole state, not $now" "$line"
            ok "grun d/s.${form%:*} --save d/s.${form%:*} >/dev/null"
            [ "$(find d -type f | wc -l)" = "${form#*:}" ] || complain "should leave no orphans: $(ls -A d)" "$line"
        done
    done
    [ $left -gt 0 ]
}
