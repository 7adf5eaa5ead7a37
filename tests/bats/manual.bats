#!/usr/bin/env bats
# thunkline(7), thunkline-bats(7) and thunkline-parallel(7) are true: each of their examples runs as it is printed.
load common

# The statements of the manual in which its own names stand.
X32='x32: float32[3]' I8='i8: int8[3]'

# session FILE: runs each command, and compares what it prints with the lines below it.
session() {
    local line command='' want=''
    check() {
        [ -n "$command" ] || return 0
        shell "{ $command; } 2>&1"
        [ "$(cat .out)" = "${want%$'\n'}" ] || complain "should print: $want" "$command"
    }
    while IFS= read -r line; do
        case $line in
        '$ '*)
            check || return
            command=${line#'$ '} want=''
            ;;
        *) want+=$line$'\n' ;;
        esac
    done <"$1"
    check
}

# values FILE: all expressions in one graph.
values() {
    local exprs=() names='' n=0 line
    : >want
    while IFS= read -r line; do
        n=$((n + 1))
        exprs+=(-e "e$n = ${line%% -> *}")
        names+=,e$n
        echo "e$n = ${line##* -> }" >>want
    done <"$1"
    gload --new "${exprs[@]}" --outputs "${names#,}" -o values.tlg || return
    # rows of a matrix in one line
    grun values.tlg | awk '{ sub(/^ +/, " "); printf "%s%s", (NR > 1 && !/^ / ? "\n" : ""), $0 } END { print "" }' >got
    diff want got
}

types() {
    local line n=0
    while IFS= read -r line; do
        n=$((n + 1))
        gload --new -i "$X32" -i "$I8" -e "e = ${line%% : *}" --outputs e --info >info || return
        grep -Eq "^outputs +e +${line##* : }(\[|\$)" info || {
            echo "$line: but" "$(cat info)" >&2
            return 1
        }
    done <"$1"
}

examples() { # MANUAL, the kinds of examples that it has
    local f kinds='' kind bad=0 name
    mkdir blocks
    awk -v folder=blocks -f "$BATS_TEST_DIRNAME/manual.awk" "$1"
    for f in blocks/*; do
        case $f in
        *.file)
            name=$(head -n 1 "$f")
            tail -n +2 "$f" >"$name"
            grep -qE '^(ops|optimizers):' "$name" || ok "gload --check $name"
            ;;
        *.part)
            cp "$f" part.yaml
            ok 'gload --check part.yaml'
            ;;
        *.script)
            name=$(head -n 1 "$f")
            tail -n +2 "$f" >"$name"
            chmod +x "$name"
            ;;
        *.session) session "$f" ;;
        *.values) values "$f" ;;
        *.types) types "$f" ;;
        *.bats) cat "$f" >>recipes.bats && echo >>recipes.bats ;;
        *)
            echo "an example that no test runs:" >&2
            cat "$f" >&2
            false
            ;;
        esac || {
            echo "in the example $f:" >&2
            cat "$f" >&2
            bad=1
        }
        kinds+=${f##*.}' '
    done
    [ "$bad" = 0 ]
    for kind in $2; do [[ $kinds == *$kind* ]] || fail "no example is a $kind"; done
}

@test "every example of thunkline(7) runs and prints what the page says" {
    examples "$ROOT/lib/man/thunkline.md" 'file part session values types'
}

# The page with the names and paths of an installation, and the recipes in it with that installation's library and tools.
recipes() { # make's variables
    install_build "$@"
    PATH=$PWD/d/usr/bin:$PATH
    local prefix=${1#PROGRAM_PREFIX=}
    sed -E -e "s/\\<(gload|ggrad|grewrite|grun|gprof)\\>/$prefix\\1/g" -e "s,/usr/local/,$PWD/d/usr/," "$ROOT/lib/man/thunkline-bats.md" >page.md
    local library=$PWD/d/usr/share/thunkline/bats/thunkline.bash
    grep -qx "    load $library" page.md
    # the sessions of the page call assertions
    BASH_ENV=$library examples page.md 'bats file session'
    echo 'bats_require_minimum_version 1.5.0' | cat - recipes.bats >model.bats
    [ "$(grep -c '^@test ' model.bats)" -ge 12 ]
    # the tools that are installed, no others; and bats as a user starts it, not the part of it that runs this test
    local bats
    bats=$(type -ap bats | grep -v libexec | head -n 1)
    bats=$(printf '%q ' env -i HOME="$HOME" TMPDIR="$PWD" PATH="$PWD/d/usr/bin:${bats%/bats}:/usr/bin:/bin")
    # without its snapshots, the two tests that have some fail
    shell "$bats bats --tap model.bats"
    [ "$status" = 1 ] && [ "$(grep -c '^not ok' .out)" = 2 ] && grep -q "a snapshot $PWD/snapshots/ten-steps.txt" .out || complain 'should miss two snapshots' "$*"
    shell "$bats UPDATE_SNAPSHOTS=1 bats --tap model.bats && $bats bats --tap model.bats"
    [ "$status" = 0 ] || complain 'the recipes should hold' "$*"
    [ -s snapshots/model-the-derivative-as-a-formula.txt ]
}

@test "every recipe of thunkline-bats(7) holds with the library that is installed" { recipes PROGRAM_PREFIX=; }
@test "and with one that is installed with a prefix" { recipes PROGRAM_PREFIX=tl_; }

# A stand-in for Slurm's: runs a script's body at once, for each number of its array.
slurm() {
    mkdir bin
    cat >bin/sbatch <<'END'
#!/bin/bash -e
while [[ $1 == --* ]]; do
    case $1 in
    --parsable) ;;
    --dependency=afterok:*) grep -qx "${1#*:}" done.jobs ;; # nothing of it is still to come
    *) exit 2 ;;
    esac
    shift
done
option() { sed -n "s/^#SBATCH --$1=//p" "$script"; }
script=$1
export SLURM_CPUS_PER_TASK SLURM_NTASKS
SLURM_CPUS_PER_TASK=$(option cpus-per-task)
SLURM_NTASKS=$(option ntasks)
array=$(option array)
if [ -n "$array" ]; then
    export SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT=$((${array#*-} - ${array%-*} + 1))
    for SLURM_ARRAY_TASK_ID in $(seq "${array%-*}" "${array#*-}"); do ./"$script" >"slurm-$SLURM_ARRAY_TASK_ID.out"; done
else
    ./"$script" >slurm.out
fi
echo $$ | tee -a done.jobs
END
    chmod +x bin/sbatch
    PATH=$PWD/bin:$PATH
}

@test "every recipe of thunkline-parallel(7) does what the page says, with GNU parallel and as Slurm would run it" {
    command -v parallel >/dev/null || skip 'no GNU parallel'
    slurm
    sed '/^## Training/,$d' "$ROOT/lib/man/thunkline-parallel.md" >page.md
    examples page.md 'session script'
    assert_exist job.16.npz
    grun model.tlg x=@x.npy y=@y.npy -r '*=whole.npz'
    ok "grun --merge model.tlg job.*.npz --outputs loss --expect loss=@whole.npz:loss >/dev/null"
}

@test "and those of training, with the ranks of Open MPI" {
    command -v mpirun >/dev/null && [ -e "${TL_BIN:-$ROOT/build/bin}/../tl_mpi.so" ] || skip 'no Open MPI, or no make mpi'
    slurm
    open_mpi
    export OMPI_MCA_rmaps_base_oversubscribe=1
    # the graph and the data of the sections before
    awk '/^## The graph/ { on = 1 } /^## One machine, many/ { on = 0 } /^## (Training|How)/ { on = 1 } /^## See/ { on = 0 } on' "$ROOT/lib/man/thunkline-parallel.md" >page.md
    examples page.md 'session script'
}
