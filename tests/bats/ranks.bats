#!/usr/bin/env bats
# grun under mpirun: the same bits on 1, 2 and 4 ranks, and faults that one message names. Skipped where there is no mpirun,
# or no tl_mpi.so beside the tools.
load common

bats_require_minimum_version 1.5.0

setup_file() {
    open_mpi
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    command -v mpirun >/dev/null || skip 'there is no mpirun: make mpi installs it'
    [ -f "${TL_BIN:-$ROOT/build/bin}/../tl_mpi.so" ] || skip 'tl_mpi.so is not built: make mpi'
}

# ranks N LINE...: grun on N ranks
ranks() {
    local n=$1
    shift
    timeout 300 mpirun --oversubscribe -n "$n" grun "$@"
}

# What thunkline says; mpirun's own text aside.
ours() { grep '^grun: ' .err || true; }

# fault STATUS CODE REGEX RANK COMMAND...: one message of ours, which names the rank, within 10 s.
fault() {
    local want=$1 code=$2 regex=$3 rank=$4 begin=$SECONDS n
    shift 4
    run --separate-stderr timeout 30 "$@"
    printf '%s\n' "$stderr" >.err
    local wrong=
    [ "$status" = "$want" ] || wrong="status $status, not $want"
    [ $((SECONDS - begin)) -le 10 ] || wrong="it took $((SECONDS - begin)) s"
    n=$(ours | grep -c 'error\[') || true
    [ "$n" = 1 ] || wrong='not one message'
    ours | grep -Eq "error\[$code" || wrong="no $code"
    grep -Eq "$regex" .err || wrong="not: $regex"
    [ -z "$rank" ] || grep -Eq "rank $rank\b" .err || wrong="no rank $rank"
    [ -z "$wrong" ] || { echo "$wrong: $*" >&2; cat .err >&2; return 1; }
}

digits() {
    cp "$DIGITS/model.yaml" .
    ggrad model.yaml --cost loss --wrt W,b --optimizer 'sgd(0.5)' | grewrite --parallel x,y --shards "${1:-16}" -o step.tlg
    gload --new -e 'x = float32(load("'"$DIGITS"'/x.npy")) / 16' | grun -r x=x.npy
    cp "$DIGITS/y.npy" .
}

@test 'training gives one file on 1, 2 and 4 ranks, with 1 and 2 threads' {
    digits 64
    for n in 1 2 4; do
        for t in 1 2; do
            ranks "$n" step.tlg x=@x.npy[:1500] y=@y.npy[:1500] --steps 200 --threads "$t" --save "t$n.$t.tlg" >"out$n.$t"
        done
    done
    grun step.tlg x=@x.npy[:1500] y=@y.npy[:1500] --steps 200 --save t0.tlg >out0
    [ "$(md5sum t0.tlg t?.?.tlg | cut -d' ' -f1 | uniq | wc -l)" = 1 ]
    [ "$(md5sum out0 out?.? | cut -d' ' -f1 | uniq | wc -l)" = 1 ]
    ok 'grun t4.1.tlg --no-updates x=@x.npy[1500:] y=@y.npy[1500:] --expect accuracy="264 / 297" --rtol 1e-6 >/dev/null'
}

@test 'batches with a short last one, in random order, and results of each call' {
    digits 16
    for n in 1 2 4; do
        ranks "$n" step.tlg x=@x.npy y=@y.npy --each x,y --batch 500 --epochs 2 --shuffle 3 --every 1 -O tsv -r loss="l$n.npy" --save "t$n.tlg" >"out$n"
    done
    grun step.tlg x=@x.npy y=@y.npy --each x,y --batch 500 --epochs 2 --shuffle 3 --every 1 -O tsv -r loss=l0.npy --save t0.tlg >out0
    for f in t l out; do
        [ "$(md5sum "$f"[0-4]* | cut -d' ' -f1 | uniq | wc -l)" = 1 ]
    done
    [ "$(wc -l <out0)" = 9 ]
}

@test 'exchanges beside other work: large gradients, each as soon as it is there' {
    cat >deep.yaml <<'Y'
thunkline: 1
inputs:
  x: float32[n, 1100]
  y: float32[n]
shared:
  A: float32[1100, 1100] = normal(0, 0.03, (1100, 1100), seed=1)
  b: float32[1100] = zeros(1100)
  B: float32[1100, 1100] = normal(0, 0.03, (1100, 1100), seed=2)
let: |
  loss = mean((sum(tanh(tanh(x @ A + b) @ B), axis=1) - y) ** 2)
outputs: [loss]
Y
    ggrad deep.yaml --cost loss --wrt A,b,B --optimizer 'momentum(0.001)' | grewrite --parallel x,y --shards 4 -o deep.tlg
    # A and B alone, the small ones together, and the number of rows
    ok 'gload deep.tlg -O yaml | grep -c "= all_sum("' 4
    gload --new -e 'x = float32(normal(0, 1, (9, 1100), seed=4))' -e 'y = float32(arange(9))' --outputs x,y | grun -r x=x.npy -r y=y.npy
    grun deep.tlg x=@x.npy y=@y.npy --steps 3 --save d0.tlg >out0
    for n in 1 2 4; do
        ranks "$n" deep.tlg x=@x.npy y=@y.npy --steps 3 --save "d$n.tlg" >"out$n"
        cmp d0.tlg "d$n.tlg" && cmp out0 "out$n"
    done
    # ranks that check each op exchange one after the other
    ranks 2 deep.tlg x=@x.npy y=@y.npy --mode NAN_GUARD >out.guard
    grun deep.tlg x=@x.npy y=@y.npy --mode NAN_GUARD | cmp - out.guard
    fault 6 E_MEM 'memory' '' mpirun --oversubscribe -n 2 grun deep.tlg x=@x.npy y=@y.npy --steps 3 --max-memory 40M
    fault 6 E_MEM 'memory' 1 mpirun --oversubscribe -n 1 grun deep.tlg x=@x.npy y=@y.npy --steps 3 : -n 1 grun deep.tlg x=@x.npy y=@y.npy --steps 3 --max-memory 40M
}

@test 'more ranks than rows, and rows that do not divide' {
    gload -i 'x: float64[n, 3]' -e 's = sum(x, axis=0)' -e 'y = x - mean(x, axis=0)' | grewrite --parallel x --shards 8 -o s.tlg
    grun s.tlg x='[[1, 2, 3], [5, 6, 7], [0, 0, 2]]' >out0
    for n in 1 2 4 8; do
        ranks "$n" s.tlg x='[[1, 2, 3], [5, 6, 7], [0, 0, 2]]' >"out$n"
        diff out0 "out$n"
    done
}

@test 'collectives of several ranks' {
    gload --new -i 'x: float64[k]' -e 'r = rank()' -e 'a, b = all_sum(x * cast(r + 1, "float64"), r)' -e 'c = all_max(x * cast(r, "float64"))' \
        -e 'd = all_gather([cast(r, "float64"), 0.5])' -e 'e = reduce_scatter([1., 2., 3., 4.] + cast(r, "float64"))' -e 'f = broadcast(r * 10, root=1)' \
        -e 'g = ranks()' -e 'h = grad(sum(all_sum(x) ** 2), x)' -e 'i = grad(sum(broadcast(x, root=1)), x)' --outputs a,b,c,d,e,f,g,h,i -o c.tlg
    ranks 2 c.tlg x='[1, 2]' >out
    printf '%s\n' 'a = [3.0, 6.0]' 'b = 1' 'c = [1.0, 2.0]' 'd = [0.0, 0.5, 1.0, 0.5]' 'e = [3.0, 5.0]' 'f = 10' 'g = 2' \
        'h = [8.0, 16.0]' 'i = [0.0, 0.0]' | diff - out
    ranks 2 c.tlg x='[1, 2]' --mode DEBUG >out.debug 2>err.debug
    diff out out.debug && ! grep 'warning\|error' err.debug
    ranks 2 c.tlg x='[1, 2]' --all-ranks -r e=e.npy -r i=i.npy >/dev/null
    ok "gload --new -e 'e = load(\"e.1.npy\")' -e 'i = load(\"i.1.npy\")' | grun" $'e = [7.0, 9.0]\ni = [2.0, 2.0]'
}

@test 'files of its own for each rank' {
    gload -i 'x: float64[n]' -e 's = sum(x * x)' | grewrite --parallel x --shards 4 -o s.tlg
    ok 'timeout 60 mpirun --oversubscribe -n 1 grun s.tlg x="[1, 2]" --own-rows : -n 1 grun s.tlg x="[3, 4, 5]" --own-rows' 's = 55.0'
    fault 5 E_RUN_SHAPE 'argument 1 has 4 rows here, but this rank.s share of 5 rows is 2' 0 \
        mpirun --oversubscribe -n 1 grun s.tlg x='[1, 2, 3, 4]' --own-rows : -n 1 grun s.tlg x='[5]' --own-rows
}

@test 'a rank with bad input, without its file, with another graph or other options' {
    digits
    gload -e 's = 1.5' -o other.tlg
    local x='x=@x.npy y=@y.npy --steps 50 --save old.tlg'
    echo old >old.tlg
    # shellcheck disable=SC2086
    {
        fault 4 E_IO 'none.npy' 1 mpirun --oversubscribe -n 1 grun step.tlg $x : -n 1 grun step.tlg x=@none.npy y=@y.npy --steps 50
        fault 3 E_ 'x' 2 mpirun --oversubscribe -n 2 grun step.tlg $x : -n 1 grun step.tlg x='[1, 2]' y=@y.npy --steps 50 : -n 1 grun step.tlg $x
        fault 2 E_USAGE 'rank 1 runs another graph than rank 0' 0 mpirun --oversubscribe -n 1 grun step.tlg $x : -n 1 grun other.tlg --steps 50
        fault 2 E_USAGE 'rank 1 runs it in another way' 0 mpirun --oversubscribe -n 1 grun step.tlg $x : -n 1 grun step.tlg x=@x.npy y=@y.npy --steps 51
        fault 4 E_IO 'gone.tlg' 1 mpirun --oversubscribe -n 1 grun step.tlg $x : -n 1 grun gone.tlg x=@x.npy y=@y.npy --steps 50
        fault 2 E_USAGE 'nonsense' 0 mpirun --oversubscribe -n 2 grun step.tlg --nonsense
        fault 6 E_MEM 'memory' 1 mpirun --oversubscribe -n 1 grun step.tlg $x : -n 1 grun step.tlg x=@x.npy y=@y.npy --steps 50 --max-memory 20K
        fault 2 E_USAGE 'power of two, not 3' 0 mpirun --oversubscribe -n 3 grun step.tlg $x
        fault 2 E_USAGE 'standard input' 0 mpirun --oversubscribe -n 2 grun - $x
    }
    [ "$(cat old.tlg)" = old ]
}

@test 'an op that fails on one rank, and a check that says no' {
    gload -i 'x: float64[n]' -e 'i = cast(x, "int64")' -e 's = sum(arange(3)[i])' | grewrite --parallel x --shards 4 -o s.tlg
    fault 5 E_INDEX 'in shard' 1 mpirun --oversubscribe -n 2 grun s.tlg x='[0, 1, 2, 7]'
    fault 1 E_VERDICT 's' 0 mpirun --oversubscribe -n 2 grun s.tlg x='[0, 1, 2, 2]' --expect s=4
    fault 5 E_RUN "4 shards can't be divided among 8 ranks" 0 mpirun --oversubscribe -n 8 grun s.tlg x='[0, 1, 2, 2]'
}

@test 'a rank is killed: the others end, old files are whole, and a rerun resumes' {
    digits
    ggrad model.yaml --cost loss --wrt W,b --optimizer 'adam(0.01)' | grewrite --parallel x,y --shards 4 -o step.tlg
    timeout 30 mpirun --oversubscribe -n 2 grun step.tlg x=@x.npy[:1500] y=@y.npy[:1500] --steps 100000000 --save part.tlg --save-every 5 >.out 2>.err &
    local mpi=$!
    while [ ! -s part.tlg ]; do sleep 0.05; done
    local pid begin=$SECONDS
    pid=$(pgrep -P "$(pgrep -P "$mpi" mpirun || echo "$mpi")" grun | tail -n 1)
    kill -KILL "$pid"
    wait "$mpi" || true
    [ $((SECONDS - begin)) -le 10 ]
    [ "$(grep -c '^grun: error\[E_RUN\]: rank [01] (process [0-9]*) is gone' .err)" = 1 ] || { cat .err >&2; false; }
    # The file has a number of whole steps, more than those of --save-every if mpirun's SIGTERM came before the news; from
    # there on the same bits as without the fault.
    local n
    n=$(gload part.tlg -e 'steps = step' --outputs steps | grun --no-updates | sed 's/steps = //')
    [ "$n" -ge 5 ] || { echo "$n steps" >&2; false; }
    ranks 2 part.tlg x=@x.npy[:1500] y=@y.npy[:1500] --steps 50 --save part.tlg >/dev/null
    grun step.tlg x=@x.npy[:1500] y=@y.npy[:1500] --steps $((n + 50)) --save whole.tlg >/dev/null
    cmp <(gload part.tlg --no-provenance -O tlg) <(gload whole.tlg --no-provenance -O tlg)
}

@test 'a signal ends the run after one call on all ranks' {
    digits
    timeout 30 mpirun --oversubscribe -n 2 grun step.tlg x=@x.npy[:1500] y=@y.npy[:1500] --steps 100000000 --save t.tlg >.out 2>.err &
    local mpi=$!
    sleep 2
    kill -TERM "$(pgrep -P "$mpi" mpirun || echo "$mpi")"
    wait "$mpi" || true
    [ "$(grep -c 'ended after [0-9]* of 100000000 calls; t.tlg has their values' .err)" = 1 ] || { cat .err >&2; false; }
    ok 'gload --check t.tlg'
}

@test 'a rank whose file is cut short while it runs, and all of them: one message' {
    digits
    gload --new -e 'x = float32(normal(0, 1, (4000, 64), seed=3))' -e 'y = arange(4000) % 10' --outputs x,y | grun -r x=x.npy -r y=y.npy
    cp x.npy own.npy
    # once there is a saved file, the calls have begun
    cut_short() { timeout 20 sh -c 'while [ ! -s s.tlg ]; do sleep 0.05; done' && truncate -s 100000 own.npy; }
    local args='y=@y.npy --steps 100000000'
    # shellcheck disable=SC2086
    {
        cut_short &
        fault 4 E_IO 'own.npy was (cut short|changed) while it was read' 1 \
            mpirun --oversubscribe -n 1 grun step.tlg x=@x.npy $args --save s.tlg --save-every 5 : -n 1 grun step.tlg x=@own.npy $args --save-every 5 --save s.tlg
        wait
        cp x.npy own.npy
        rm s.tlg
        cut_short &
        fault 4 E_IO 'own.npy was (cut short|changed) while it was read' '[0-3]' \
            mpirun --oversubscribe -n 4 grun step.tlg x=@own.npy $args --save s.tlg --save-every 5
        wait
    }
    ok 'gload --check s.tlg'
}

@test 'a receipt is that of a run without ranks' {
    digits
    local args='step.tlg y=@y.npy[:1500] --each x,y --batch 100 --shuffle 2'
    # shellcheck disable=SC2086
    {
        grun $args x=@x.npy[:1500] --receipt r.json >/dev/null
        ranks 2 $args x=@x.npy[:1500] --receipt r2.json >/dev/null
        cmp r.json r2.json
        ranks 2 step.tlg x=@x.npy[:1500] y=@y.npy[:1500] --verify-receipt r.json >/dev/null
        fault 1 E_VERDICT 'inputs/x is' 0 mpirun --oversubscribe -n 2 grun step.tlg x=@x.npy[1:1501] y=@y.npy[:1500] --verify-receipt r.json
        fault 1 E_VERDICT 'rank 1 was given other data than rank 0' 0 \
            mpirun --oversubscribe -n 1 grun $args x=@x.npy[:1500] --receipt n.json : -n 1 grun $args x=@x.npy[1:1501] --receipt n.json
        fault 2 E_USAGE 'own-rows' 0 mpirun --oversubscribe -n 2 grun step.tlg x=@x.npy[:2] y=@y.npy[:2] --own-rows --receipt n.json
    }
    [ ! -e n.json ]
}

@test 'a graph that is not split is run by all, with a warning' {
    gload -i 'x: float64[n]' -e 's = sum(x)' -o s.tlg
    run --separate-stderr ranks 2 s.tlg x='[1, 2]'
    [ "$status" = 0 ] && [ "$output" = 's = 3.0' ]
    [ "$(grep -c 'warning.*the graph is not split: each of 2 ranks' <<<"$stderr")" = 1 ]
}

@test 'without tl_mpi.so it says what to install' {
    mkdir -p bin && cp "$(command -v grun)" bin/grun
    gload -e 's = 1.5' -o s.tlg
    fault 4 E_IO 'make mpi' '' mpirun --oversubscribe -n 2 bin/grun s.tlg
    # alone it needs none
    ok 'bin/grun s.tlg' 's = 1.5'
    # a library of another version, or that anybody may write, is refused
    cp "${TL_BIN:-$ROOT/build/bin}/../tl_mpi.so" . && chmod o+w tl_mpi.so
    run --separate-stderr timeout 30 mpirun --oversubscribe -n 1 bin/grun s.tlg
    [ "$status" = 3 ] && [[ $stderr = *'anybody may write'* ]]
}
