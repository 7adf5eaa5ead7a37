#!/usr/bin/env bats
# Training loops of grun: what a call computes, rows that appear when they are made, curves, signals, progress, the end.
load common

# A straight line through points: pred, loss and a tree r of both.
line_model() {
    cat >line.yaml <<'END'
thunkline: 1
inputs: {X: 'float64[n, 2]', t: 'float64[n]'}
shared: {w: 'float64[2] = zeros(2)'}
let: |
  pred = X @ w
  loss = mean((pred - t) ** 2)
  r = {'p': pred, 'l': loss}
outputs: [loss]
updates: {w: 'w - 0.01 * grad(loss, w)'}
END
    data='X=[[1,2],[3,4],[5,7]] t=[1,2,3]'
}

@test "--outputs: variables, trees and shared variables, instead of the graph's outputs" {
    line_model
    like "grun line.yaml $data --outputs pred" '^pred = \[0.0, 0.0, 0.0\]$'
    ok "grun line.yaml $data --outputs r,X" $'r/p = [0.0, 0.0, 0.0]\nr/l = 4.666666666666667\nX = [[1.0, 2.0],\n     [3.0, 4.0],\n     [5.0, 7.0]]'
    ok "grun line.yaml $data --outputs r/l" 'r/l = 4.666666666666667'
    grun line.yaml $data --steps 3 --outputs loss,pred >both
    grep -q '^loss = ' both && grep -q '^pred = ' both
    # a shared variable has its value after the call, the one that is saved; an output of that name keeps its meaning
    ok "grun line.yaml $data --steps 3 --outputs w --save t.tlg >w; grun t.tlg --no-updates --outputs w | cmp - w"
    gload line.yaml --outputs w -o old.tlg
    ok "grun old.tlg $data" 'w = [0.0, 0.0]'
    ok "grun old.tlg $data --outputs w" 'w = [0.0, 0.0]'
    bad 2 E_UNKNOWN 'did you mean pred' "grun line.yaml $data --outputs prd"
    bad 3 E_DUPLICATE 'pred is listed twice' "grun line.yaml $data --outputs pred,loss,pred"
    bad 2 E_UNKNOWN 'was rewritten, which keeps outputs' "gload line.yaml | grewrite | grun $data --outputs predd"
    # what is chosen for a run is not what is saved
    ok "grun line.yaml $data --outputs pred --no-updates --save s.yaml >/dev/null; grep -c -e '^outputs: \[loss\]' -e '^  w = ' s.yaml" 2
    gload -i 'x: float64' -e "y = sow(x + 1, tag='t', name='a')" -e 'z = y * 2' -o sown.tlg
    ok 'grun sown.tlg x=1 --reap t --outputs z' $'z = 4.0\nt/a = 2.0'
}

@test "--no-updates: neither done nor asked for" {
    line_model
    grun line.yaml $data --steps 3 --save t.tlg >/dev/null
    ok 'grun t.tlg X=[[1,2]] w=[2,3] --outputs pred --no-updates' 'pred = [8.0]'
    ok 'grewrite t.tlg | grun --no-updates X=[[1,2]] t=[8] w=[2,3]' 'loss = 0.0'
    ok "grun t.tlg $data --no-updates --steps 5 --save u.tlg >/dev/null; cmp <(grun t.tlg --no-updates --outputs w) <(grun u.tlg --no-updates --outputs w)"
    ok 'grun t.tlg --no-updates --outputs w w=[1,2] --save v.tlg; grun v.tlg --no-updates --outputs w' $'w = [1.0, 2.0]\nw = [1.0, 2.0]'
    bad 2 E_MISSING 'only the updates need t: --no-updates' 'grun t.tlg --outputs pred'
    grep -q 'missing inputs X: float64\[n, 2\], t: float64\[n\]' .err
    bad 2 E_MISSING 'only the updates need them: --no-updates' 'gload t.tlg --outputs w | grun'
    shell 'grun t.tlg --no-updates'
    [ "$status" = 2 ] && grep -q 'missing inputs X' .err && ! grep -q 'only the updates' .err
    # effects run with or without updates
    gload -i 'x: float64' -i 'k: float64' -e "y = sow(x, tag='t', name='a')" -e 'z = k' --outputs z -o sown.tlg
    bad 2 E_MISSING 'missing input x' 'grun sown.tlg k=1 --no-updates'
}

@test "-r and --expect take variables that are no outputs, and don't print them" {
    line_model
    ok "grun line.yaml $data --steps 2 -r w=w.npy -r pred=p.npz -r loss=p.npz --save t.tlg" ''
    ok "gload --new -e 'load(\"w.npy\")' --outputs out | grun -r out=a.npy; grun t.tlg --no-updates --outputs w -O npy | cmp - a.npy"
    ok "gload --new -e \"load('p.npz', 'pred')\" | grun | wc -l" 1
    ok "grun line.yaml $data -r w=w.npy" 'loss = 4.666666666666667'
    ok "grun line.yaml $data --outputs pred -r loss=l.npy" 'pred = [0.0, 0.0, 0.0]'
    ok "grun line.yaml $data --expect pred=[0,0,0]" 'loss = 4.666666666666667'
    bad 1 E_VERDICT 'pred is not as expected' "grun line.yaml $data --expect pred=[0,0,1]"
    bad 2 E_UNKNOWN 'did you mean pred' "grun line.yaml $data -r prd=p.npy"
    # all values of a tree: of one that is defined, and of one whose values are outputs
    ok "grun line.yaml $data -r r=p.npz >/dev/null && gload --info p.npz | grep -c ' r/'" 2
    ok "gload line.yaml --outputs r | grun - $data -r r=q.npz && cmp p.npz q.npz"
    bad 2 E_USAGE 'p.npy holds one array, not 2' "grun line.yaml $data -r r=p.npy"
    ok "grun line.yaml $data -O npy --outputs pred --expect loss=4.666666666666667 | grun <(gload -i 'x: float64[3]' -e x) x=@-" 'out = [0.0, 0.0, 0.0]'
}

@test "gprof --outputs, --no-updates: only that is profiled" {
    line_model
    like "gprof line.yaml X=[[1,2]] --outputs pred --no-updates -O tsv --by op" '^(.*	)?matmul(	|$)'
    ok "gprof line.yaml --static --dim n=3 --outputs pred --no-updates --assert 'applies == 1' >/dev/null"
    ok "gprof line.yaml --static --dim n=3 --outputs pred --assert 'applies > 1' >/dev/null"
    bad 2 E_MISSING 'only the updates need it: --no-updates' 'gprof line.yaml X=[[1,2]] --outputs pred'
    bad 2 E_UNKNOWN 'did you mean pred' 'gprof line.yaml --static --outputs prd'
}

@test "--each without updates returns all rows, printed as -r writes them" {
    gload --new -i 'x: float64[n, 2]' -e 'y = x * 2' -e 's = sum(x)' -e 'm = mean(x, axis=0)' --outputs y,s,m -o g.tlg
    local rows='x=[[1,2],[3,4],[5,6]]'
    ok "grun g.tlg $rows --each x --batch 2" $'y = [[2.0, 4.0],\n     [6.0, 8.0],\n     [10.0, 12.0]]\ns = [10.0, 11.0]\nm = [[2.0, 3.0],\n     [5.0, 6.0]]'
    ok "grun g.tlg $rows --each x --batch 2 >printed; grun g.tlg $rows --each x --batch 2 -r y=a.npz -r s=a.npz -r m=a.npz
        gload --new -e \"y = load('a.npz', 'y')\" -e \"s = load('a.npz', 's')\" -e \"m = load('a.npz', 'm')\" --outputs y,s,m | grun | cmp - printed"
    ok "grun g.tlg $rows --each x --batch 3 --outputs y,s" $'y = [[2.0, 4.0],\n     [6.0, 8.0],\n     [10.0, 12.0]]\ns = [21.0]'
    ok "grun g.tlg $rows --each x --batch 2 --drop-last --epochs 2 --outputs s -O json | jq -c .shape" '[2]'
    ok "grun g.tlg $rows --each x --batch 2 --expect s=[10,11] --outputs s -O npy | grun <(gload -i 'x: float64[2]' -e x) x=@-" 'out = [10.0, 11.0]'
    bad 1 E_VERDICT 's is not as expected' "grun g.tlg $rows --each x --batch 2 --expect s=[10,12]"
    # an axis that the types don't know holds rows; rows that are no arrays make a list
    ok 'gload -i "x: float64[n]" -e "y = x[x > 1]" | grun x=[1,2,3,4,5,0] --each x --batch 2' 'y = [2.0, 3.0, 4.0, 5.0]'
    ok "gload -i 'x: float64' -e 'l = make_list(x, x)' | grun x=[1,2] --each x" 'l = [[1.0, 1.0], [2.0, 2.0]]'
    # a graph with updates trains: the last call counts
    line_model
    ok "grun line.yaml 'X=[[1,2],[3,4]]' t=[1,2] --each X,t --batch 1 --outputs pred --no-updates" 'pred = [0.0, 0.0]'
    shell "grun line.yaml 'X=[[1,2],[3,4]]' t=[1,2] --each X,t --batch 1 --outputs pred"
    grep -Eq '^pred = \[[^,]*\]$' .out
}

@test "-r with --every holds each call that is printed: a curve" {
    line_model
    ok "grun line.yaml $data --steps 7 --every 3 -r loss=c.npy --outputs loss,pred -O tsv >rows"
    grun line.yaml $data --steps 7 --every 3 -O tsv | tail -n +2 | cut -f 2 >want
    [ "$(wc -l <want)" = 3 ]
    ok "grun <(gload --new -e \"load('c.npy')\") -O json | jq -r '.data[]' | awk '{ printf \"%.9g\n\", \$1 }' | cmp - <(awk '{ printf \"%.9g\n\", \$1 }' want)"
    # what depends on the batch follows along its axis, arrays and scalars are stacked
    gload --new -i 'x: float64[n]' -e 'y = x * 2' -e 's = sum(x)' --outputs y,s -o g.tlg
    ok 'grun g.tlg x=[1,2,3,4,5] --each x --batch 2 --every 2 -r y=y.npy' $'s = 7.0\ns = 5.0'
    ok "grun <(gload --new -e \"load('y.npy')\")" 'out = [6.0, 8.0, 10.0]'
    ok "grun line.yaml $data --steps 2 --every 1 -r w=w.npy >/dev/null; grun <(gload --new -e \"load('w.npy').shape\")" $'out/0 = 2\nout/1 = 2'
    gload -i 'x: int64' -e 'y = zeros(x)' -o z.tlg
    bad 5 E_RUN_SHAPE 'y changes its shape' 'grun z.tlg x=[1,2] --each x'
    ok 'grun z.tlg x=[1,2] --each x --every 1' $'y = [0.0]\ny = [0.0, 0.0]'
}

# waits WHAT...: until a command succeeds, at most 30 s.
waits() {
    local i
    for ((i = 0; i < 3000; i++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.01
    done
    return 1
}

@test "rows of --every appear when they are made" {
    gload --new --shared 'c: int64 = 0' -e 'y = c + 1' --outputs y --update 'c = c + 1' -o c.tlg
    mkfifo pipe
    grun c.tlg --steps 1000000000000 --every 100 -O tsv >rows 2>/dev/null &
    local file=$!
    grun c.tlg --steps 1000000000000 --every 100 -O tsv >pipe 2>/dev/null &
    local pipe=$!
    exec 7<pipe
    read -r -u 7 line && [ "$line" = $'call\ty' ]
    read -r -u 7 line && [ "$line" = $'100\t100' ]
    waits grep -q '^200' rows
    kill $file $pipe
    wait $file || [ $? = 143 ]
    exec 7<&-
    # whole lines
    [ -z "$(tail -c 1 rows)" ]
}

# A graph whose state shows at once whether it is of one call: all of W is c.
counting_model() {
    cat >count.yaml <<'END'
thunkline: 1
shared: {c: 'int64 = 0', W: 'float64[100, 100] = zeros((100, 100))'}
let: y = c + 1
outputs: [y]
updates: {c: c + 1, W: W + 1}
END
}

# calls_saved FILE: the number of whole calls that a state is of.
calls_saved() {
    gload "$1" -e 'whole = all(W == float64(c))' --outputs whole | grun --no-updates --expect whole=True >/dev/null || return
    grun "$1" --no-updates --outputs c | sed 's/c = //'
}

@test "SIGINT and SIGTERM end the run after its call: saved, said in a line, died of" {
    counting_model
    local name number pid status
    for name in INT TERM; do
        number=$(kill -l $name)
        rm -f rows s.tlg
        # env gives SIGINT back, which a shell takes from what it runs in the background
        env --default-signal=INT grun count.yaml --steps 1000000000 --every 100 -O tsv --save s.tlg >rows 2>err &
        pid=$!
        waits grep -q '^300' rows
        kill -$name $pid
        status=0
        wait $pid || status=$?
        [ $status = $((128 + number)) ]
        grep -Eq "^grun: SIG$name: ended after [0-9]+ of 1000000000 calls; s.tlg has their values\$" err
        [ "$(wc -l <err)" = 1 ]
        [ "$(calls_saved s.tlg)" = "$(sed 's/.*after \([0-9]*\) of.*/\1/' err)" ]
        [ "$(tail -n 1 rows | cut -f 2)" -le "$(calls_saved s.tlg)" ]
        run ! compgen -G '.*.thunkline.*'
    done
    # what --every reported is complete, too: a file by -o, a curve by -r
    grun count.yaml --steps 1000000000 --every 100 -o rows.txt -r c=c.npy --save-every 100 --save t.tlg --outputs y 2>err &
    pid=$!
    waits test -e t.tlg
    kill -TERM $pid
    wait $pid || [ $? = 143 ]
    [ "$(wc -l <rows.txt)" = "$(grun <(gload --new -e "load('c.npy').shape[0]") | sed 's/.* = //')" ]
    run ! compgen -G '.*.thunkline.*'
    # timeout sends its signal to the program and to its group: that is one request
    shell 'timeout -s TERM 0.5 grun count.yaml --steps 1000000000 --save u.tlg'
    [ "$status" = 124 ]
    [ "$(calls_saved u.tlg)" -gt 0 ]
    # nothing to keep: the run ends at once, in silence
    shell 'timeout -s TERM 0.2 grun count.yaml --steps 1000000000'
    [ "$status" = 124 ] && [ ! -s .err ] && [ ! -s .out ]
}

@test "a pipe that the same signal closes costs nothing" {
    counting_model
    mkfifo pipe
    grun count.yaml --steps 1000000000 --every 1 --save s.tlg >pipe 2>err &
    local pid=$!
    exec 7<pipe
    read -r -u 7 _
    kill -STOP $pid
    exec 7<&-
    kill -TERM $pid
    kill -CONT $pid
    wait $pid || [ $? = 143 ]
    grep -q 's.tlg has their values' err
    [ "$(wc -l <err)" = 1 ]
    calls_saved s.tlg
}

# catches_usr1 PID: the program has begun, and SIGUSR1 doesn't end it any more.
catches_usr1() { # no longer as a child of this shell, which does, but as the tool
    ! grep -q '^Name:.*bash' "/proc/$1/status" &&
        (($((16#$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status"))) & 16#200))
}

@test "a call that lasts longer is left: the last whole call is saved" {
    cat >long.yaml <<'END'
thunkline: 1
functions:
  f: {inputs: {s: float64}, let: r = s + 1, outputs: [r]}
inputs: {n: int64}
shared: {c: 'float64 = 0'}
let: y = scan(f, outputs_info=0.0, n_steps=n, keep=1)[-1] + c
outputs: [y]
updates: {c: c + 1}
END
    # deep in a library, where nothing can tell it to end
    cat >deep.yaml <<'END'
thunkline: 1
inputs: {n: int64}
shared: {c: 'float64 = 0'}
let: |
  A = normal(0, 1, (n, n), seed=1)
  y = sum(eigvalsh(A @ A.T))
outputs: [y]
updates: {c: c + 1}
END
    local graph n pid
    for graph in long:1000000000000 deep:20000; do
        n=${graph#*:}
        rm -f rows
        grun ${graph%:*}.yaml "n=[3,4,$n]" --each n --every 1 --save s.tlg >rows 2>err &
        pid=$!
        waits grep -q . rows
        waits eval '[ "$(wc -l <rows)" = 2 ]'
        kill -TERM $pid
        wait $pid || [ $? = 143 ]
        grep -q '^grun: SIGTERM: ended after 2 of 3 calls; s.tlg has their values$' err
        ok 'grun s.tlg --no-updates --outputs c' 'c = 2.0'
    done
    # no whole call: the old file stays
    cp s.tlg old.tlg
    grun long.yaml n=1000000000000 --steps 2 --save s.tlg 2>err &
    pid=$!
    waits catches_usr1 $pid
    waits eval 'kill -USR1 $pid; grep -q step err'
    kill -TERM $pid
    wait $pid || [ $? = 143 ]
    grep -q 'ended after 0 of 2 calls; s.tlg was not written' err
    cmp s.tlg old.tlg
    # a second signal doesn't wait
    grun long.yaml n=1000000000000 --steps 2 --save s.tlg 2>err &
    pid=$!
    waits catches_usr1 $pid
    waits eval 'kill -USR1 $pid; grep -q step err'
    kill -TERM $pid
    sleep 0.3
    kill -TERM $pid
    wait $pid || [ $? = 143 ]
    run ! grep -q SIGTERM err
    cmp s.tlg old.tlg
}

@test "--save-every, SIGUSR1" {
    counting_model
    bad 2 E_USAGE '--save-every needs --save' 'grun count.yaml --steps 5 --save-every 2'
    bad 2 E_USAGE '--save-every must be at least 1' 'grun count.yaml --steps 5 --save-every 0 --save s.tlg'
    ok 'grun count.yaml --steps 5 --save-every 2 --save s.tlg' 'y = 5'
    [ "$(calls_saved s.tlg)" = 5 ]
    # a call that fails leaves the state of the last multiple
    gload --new -i 'x: int64' --shared 'c: int64 = 0' -e 'y = 6 // x' --update 'c = c + 1' --outputs y -o f.tlg
    bad 5 E_ARITHMETIC 'in call 4 of 4' 'grun f.tlg x=[1,2,3,0] --each x --save-every 2 --save g.tlg'
    ok 'grun g.tlg --no-updates --outputs c' 'c = 2'
    # each saved state is whole while the run goes on, also after a kill
    grun count.yaml --steps 1000000000 --save-every 3 --save k.tlg 2>err &
    local pid=$! i
    waits test -e k.tlg
    for i in 1 2 3; do
        [ $(($(calls_saved k.tlg) % 3)) = 0 ]
    done
    waits catches_usr1 $pid
    waits eval 'kill -USR1 $pid; grep -q calls err'
    grep -Eq '^grun: 0% [0-9]+/1000000000 calls, [0-9.e+]+/s, [0-9.]+ (s|min|h) left, y = [0-9]' err
    kill -KILL $pid
    wait $pid || [ $? = 137 ]
    [ $(($(calls_saved k.tlg) % 3)) = 0 ]
}

@test "SIGUSR1 says how far a run is: in calls, or steps of one; and how long it still takes" {
    counting_model
    gload --new -i 'n: int64' -e 'y = scan(lambda s: s + 1, outputs_info=0.0, n_steps=n, keep=1)[-1]' --outputs y -o one.tlg
    local pid rate line
    # says LINE...: what it says when it is asked; the program is $pid, which may be asked
    # before its first steps are over
    says() {
        "$@" >/dev/null 2>err 3>&- &
        pid=$!
        waits catches_usr1 $pid
        waits eval 'kill -USR1 $pid; grep -q "/s, .* left" err'
        kill -TERM $pid
        wait $pid || [ $? = 143 ]
        line=$(grep -m 1 "/s, .* left" err)
    }
    says grun one.tlg n=1000000000000000
    grep -Eq '^grun: 0% [0-9]+/1000000000000000 steps, [0-9.e+]+/s, [0-9.]+ h left$' <<<"$line"
    says grun count.yaml --steps 1000000000000
    grep -Eq '^grun: 0% [0-9]+/1000000000000 calls, [0-9.e+]+/s, [0-9.]+ h left, y = [0-9.e+]+$' <<<"$line"
    rate=$(sed 's/.* calls, \(.*\)\/s.*/\1/' <<<"$line")
    says grun count.yaml --steps "$(awk -v r="$rate" 'BEGIN { printf "%d", r * 460 }')" --progress
    grep -Eq ' calls, [0-9.e+]+/s, [0-9]+ min left, y = ' <<<"$line"
    # of lines nobody knows how many there are
    mkfifo f
    grun one.tlg --lines <f >out 2>err 3>&- &
    pid=$!
    exec 4>f
    printf '{"n": 2}\n{"n": 3}\n' >&4
    waits eval '[ "$(wc -l <out)" = 2 ]'
    waits eval 'kill -USR1 $pid; grep -q "2 calls" err'
    exec 4>&-
    wait $pid
    grep -Eq '^grun: 2 calls, [0-9.e+]+/s, y = 3$' err
}

@test "a signal ends a run that keeps a curve, and no state" {
    counting_model
    grun count.yaml --steps 1000000000 --plot c.svg >/dev/null 2>err &
    local pid=$!
    waits catches_usr1 $pid
    waits eval 'kill -USR1 $pid; grep -q calls err'
    kill -TERM $pid
    wait $pid || [ $? = 143 ]
    grep -Eq '^grun: SIGTERM: ended after [0-9]+ of 1000000000 calls$' err
    grep -q '<svg' c.svg
}

@test "--until ends the run after the call for which it holds" {
    line_model
    counting_model
    ok 'grun count.yaml --steps 100 --until "y >= 7" --save s.tlg' 'y = 7'
    [ "$(calls_saved s.tlg)" = 7 ]
    ok 'grun count.yaml --steps 5 --until "y >= 7"' 'y = 5'
    ok 'grun count.yaml --steps 100 --every 3 --until "y >= 5" -O tsv' $'call\ty\n3\t3\n5\t5'
    shell 'grun count.yaml --steps 100 --until "y >= 7" -v'
    [ "$status" = 0 ] && grep -q 'until holds: ended after 7 of 100 calls' .err
    # any variable by name, printed or not; with data, too
    ok "grun line.yaml $data --steps 5000 --until 'max(abs(pred - t)) < 0.5' -O json | jq -e '.data < 0.25' >/dev/null"
    ok "grun line.yaml $data --steps 50 --until 'loss < 1' --outputs pred | wc -l" 1
    ok 'gload -i "x: int64" -e "x * 2" | grun x=[1,2,3,4] --each x --until "out >= 4"' 'out = [2, 4]'
    bad 3 E_TYPE 'takes a scalar bool, but this is float64' "grun line.yaml $data --until loss"
    bad 3 E_TYPE "'all\\(" "grun line.yaml $data --until 'pred < 1'"
    bad 3 E_NAME 'lossy' "grun line.yaml $data --until 'lossy < 1'"
    bad 3 E_SYNTAX '' "grun line.yaml $data --until 'loss <'"
}

@test "the progress line: on a terminal only, gone before anything else is printed" {
    command -v script >/dev/null || skip 'no script(1)'
    tty() { script -qec "$1" /dev/null </dev/null; }
    line_model
    counting_model
    local half
    for half in 10000 100000 1000000; do # until the run lasts long enough for a line
        tty "grun count.yaml --steps $((2 * half)) --every $half -O tsv --progress" >seen
        ! grep -aEq "[0-9]+% [0-9]+/$((2 * half)) calls, [0-9.e+]+/s, [0-9.]+ s left, y = [0-9]+" seen || break
    done
    grep -aEq ' s left, y = ' seen
    # what stays on the screen: each line's last state
    sed -e 's/\r$//' -e 's/.*\r\x1b\[K//' seen >screen
    [ "$(cat screen)" = $'call\ty\n'"$half"$'\t'"$half"$'\n'"$((2 * half))"$'\t'"$((2 * half))" ]
    tty 'gload -i "x: int64" -e "6 // x" | grun "x=concatenate([ones(20000, dtype=\"int64\"), [0]])" --each x --progress' >seen || [ $? = 5 ]
    sed -e 's/\r$//' -e 's/.*\r\x1b\[K//' seen | head -n 1 | grep -aq '^grun: .*error\[E_ARITHMETIC\]'
    # a line is never wider than the terminal
    tty "stty cols 30; grun count.yaml --steps $((2 * half)) --progress" >seen
    tr '\r' '\n' <seen | sed 's/\x1b\[K//' | awk 'length > 29 { exit 1 }'
    grep -aEq '[0-9]+% [0-9]+/' seen
    tty 'grun count.yaml --steps 20000 --no-progress --progress' >seen
    [ "$(tr -d '\r' <seen)" = 'y = 20000' ]
    ok 'grun count.yaml --steps 20000 --progress' 'y = 20000'
}

@test "a training run that ends in nan or inf says since when, and how to find the op" {
    cat >m.yaml <<'Y'
thunkline: 1
shared: {w: float64 = 3.0}
let: |
  loss = log(w)
outputs: [loss]
updates: {w: w - 1.0}
Y
    run --separate-stderr grun m.yaml --steps 10
    [ "$status" = 0 ] && [ "$output" = 'loss = nan' ]
    output=$stderr assert_output --partial 'grun: warning[E_NAN]: loss is nan from call 4 on'
    output=$stderr assert_output --partial '--mode NAN_GUARD stops at the first'
    # an end that is a number says nothing, nor does one call, or a run without updates
    ok 'grun m.yaml --steps 3' 'loss = 0.0'
    ok 'grun m.yaml | cut -c 1-20' 'loss = 1.09861228866'
    ok "gload -i 'x: float64' -e 'y = log(x)' --outputs y | grun x=[1,-1] --each x" 'y = [0.0, nan]'
}
