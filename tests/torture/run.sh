#!/bin/bash
# Campaigns against the tools, bounded in time. usage: run.sh BUILD_DIR SECONDS SEED [CAMPAIGN...]
# Each prints "torture NAME: N tries, N failed". What fails stays in BUILD_DIR/torture/NAME-SEED-N: the files and again.sh,
# which does it once more and says what was expected; of a graph also reduced.yaml, the smallest for which fails.sh fails alike.
cd "$(dirname "$0")/../.." || exit 1
B=$PWD/$1
seconds=$2
seed=$3
shift 3
PATH=$B/bin:$PATH
export FAILALLOC="$B/tests/torture/failalloc.so" FAILWRITE="$B/tests/torture/failwrite.so"
export LC_ALL=C TIMEFORMAT=
kept=$B/torture
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$kept"
[ $# -gt 0 ] || set -- graphs derivatives allocations writes signals bytes
RANDOM=$((seed % 32768))
failed_in_all=0
campaigns=$#

# Keeps the files and the line of a try that failed.
keep() { # why, line
    failed=$((failed + 1))
    local to=$kept/$campaign-$number-$failed
    mkdir -p "$to"
    cp -R "$work/case/." "$to/"
    printf '#!/bin/bash\n# %s\n' "${1//$'\n'/$'\n'# }" >"$to/again.sh"
    printf 'cd "$(dirname "$0")" || exit 1\nPATH=%q:$PATH\n' "$B/bin" >>"$to/again.sh"
    printf 'export FAILALLOC=%q FAILWRITE=%q near=%q\n' "$FAILALLOC" "$FAILWRITE" "$near" >>"$to/again.sh"
    printf 'mapfile -t values <values\n%s\n' "$2" >>"$to/again.sh"
    [ "$failed" -gt 5 ] || echo "  $to: ${1%%$'\n'*}"
    [ "$campaign" != graphs ] || [ "$failed" -gt 5 ] || reduce "$to" "$2"
}

# The smallest graph with which the line fails as it did: reduced.yaml beside the whole. fails.sh takes a graph on its
# standard input; one that doesn't run at all is none.
reduce() { # folder, line
    {
        printf '#!/bin/bash\nPATH=%q:$PATH\nexport near=%q\n' "$B/bin" "$near"
        printf 'd=$(mktemp -d)\ntrap '\''rm -rf "$d"'\'' EXIT\ncp values "$d" && cat >"$d/g.tlg" && cd "$d" || exit 0\n'
        printf 'mapfile -t values <values\ngload g.tlg -O yaml -o graph.yaml && cp graph.yaml a.yaml || exit 0\n'
        printf 'grun g.tlg "${values[@]}" --threads 1 -O json >ref 2>/dev/null || exit 0\nset -o pipefail\n%s\n' "$2"
    } >"$1/fails.sh"
    (
        cd "$1" && gload graph.yaml -o whole.tlg &&
            timeout 120 grewrite whole.tlg --reduce 'exec bash fails.sh' --cmd-timeout 20 -O yaml -o reduced.yaml
    ) >/dev/null 2>&1 || return 0
}

# line STATUSES LINE: a shell line in the folder of the case ends with one of the statuses.
line() {
    tries=$((tries + 1))
    (
        cd "$work/case" || exit 99
        mapfile -t values <values
        set -o pipefail
        eval "${limits:-}"
        timeout 60 bash -c 'set -o pipefail; line=$1; shift; values=("$@"); eval "$line"' line "$2" "${values[@]}"
    ) >"$work/out" 2>"$work/err" </dev/null
    status=$?
    case " $1 " in *" $status "*) return 0 ;; esac
    keep "status $status, expected $1: $(tail -c 1500 "$work/err")" "$2"
    return 1
}

near=$PWD/tests/torture/near.awk
export near

make_case() {
    rm -rf "$work/case"
    mkdir "$work/case"
    number=$((seed + made))
    made=$((made + 1))
    timeout 60 "$B/tests/torture/graph" "$number" "$work/case" >"$work/out" 2>"$work/err" && return
    tries=$((tries + 1))
    touch "$work/case/values"
    keep "no graph: $(tail -c 500 "$work/err")" "$B/tests/torture/graph $number ."
    return 1
}

tolerance() {
    if grep -q float16 "$work/case/graph.yaml"; then echo 5e-2
    elif grep -Eq 'float32|complex64' "$work/case/graph.yaml"; then echo 5e-3
    else echo 1e-6; fi
}

# Each graph: read, written and read as each form; run in each mode, by one and four threads, at once and through a pipe.
graphs_one() {
    make_case || return
    line 0 'gload graph.yaml -o g.tlg && ! gload --check g.tlg 2>&1 | grep .' || return
    for form in yaml json; do
        line 0 "gload --no-provenance g.tlg -o a.$form && gload --no-provenance a.$form -o b.$form && cmp a.$form b.$form &&
            grewrite --diff g.tlg a.$form"
    done
    line 0 'gload --no-provenance a.yaml -o a.tlg && gload --no-provenance a.tlg -O tlg -o b.tlg && cmp a.tlg b.tlg'
    line 0 'grun g.tlg "${values[@]}" --threads 1 -O json 2>/dev/null >ref' || return
    line 0 'grun g.tlg "${values[@]}" --threads 4 -O json 2>/dev/null | cmp - ref'
    line 0 'gload graph.yaml | grewrite | grun "${values[@]}" -O json 2>/dev/null | cmp - ref'
    line 0 'gload a.yaml | grewrite -O yaml | gload -O json | grun "${values[@]}" -O json 2>/dev/null | cmp - ref'
    line 0 "grun --mode FAST_COMPILE g.tlg \"\${values[@]}\" -O json 2>/dev/null >plain && awk -v t=$(tolerance) -f \"\$near\" ref plain"
    line 0 'grun --mode DEBUG --allow-nonfinite g.tlg "${values[@]}" >/dev/null'
    line '0 5' "grewrite --verify 1 g.tlg \"\${values[@]}\" >/dev/null"
    line 0 'gprof --static g.tlg >/dev/null'
    line 0 'gload --info g.tlg && gload -O tree g.tlg && gload -O math g.tlg && gload -O dot g.tlg'
    line '0 5' 'grun g.tlg "${values[@]}" --steps 2 --save s.tlg >/dev/null 2>&1 && grun g.tlg "${values[@]}" --save s1.tlg >/dev/null 2>&1 &&
        grun s1.tlg "${values[@]}" --save s2.yaml >/dev/null 2>&1 && grun s.tlg "${values[@]}" -O json >x 2>/dev/null &&
        grun s2.yaml "${values[@]}" -O json 2>/dev/null | cmp - x'
}

# Gradients of the sum of each float output against finite differences, written, rewritten, run in DEBUG mode.
# A saturated function of floats of 16 or 32 bits is a staircase: finite differences on one of its steps say nothing. Is the
# derivative right in float64?
right_in_doubles() { # output
    local wide='s/float(16|32)/float64/g; s/complex64/complex128/g'
    grep -Eq 'float(16|32)|complex64' "$work/case/graph.yaml" || return 1
    (
        cd "$work/case" || exit 1
        mapfile -t values < <(sed -E "$wide" values)
        sed -E "$wide" graph.yaml | gload - -e "cost_of = sum($1 * $1)" --outputs cost_of |
            timeout 60 ggrad --cost cost_of --disconnected ignore --check "${values[@]}"
    ) >/dev/null 2>&1
}

derivatives_one() {
    make_case || return
    line 0 'gload graph.yaml -o g.tlg' || return
    for y in $(cd "$work/case" && gload --info -O json g.tlg 2>/dev/null | jq -r '.[] | select(.section == "outputs" and (.name | test("/") | not) and (.text | test("^float(32|64)"))) | .name' 2>/dev/null | head -n 3); do
        line '0 3' "gload g.tlg -e 'cost_of = sum($y * $y)' --outputs cost_of -o c.tlg && ggrad c.tlg --cost cost_of -o d.tlg --disconnected ignore" || continue
        [ "$status" = 0 ] || continue
        # Some ops give another gradient than that of their values, as is their purpose; complex and sparse inputs aren't
        # checked. Every tied maximum gets the whole gradient, also where one element stands in several places; a rank that
        # rcond cut is taken for the matrix's own; 0 times infinity is nan, as at sqrt(0 * x).
        if ! (cd "$work/case" && gload -O math c.tlg) | grep -Eq 'grad_(clip|scale)|truncate_gradient|(zero|disconnected|undefined)_grad|pullback|bool\(|==|\<(max|min|ptp|norm)\(|rcond'; then
            local check='ggrad c.tlg --cost cost_of --disconnected ignore --check "${values[@]}" >/dev/null'
            line '0 1 2 5' "$check" && [ "$status" = 1 ] && ! grep -q 'the derivative is -\?nan' "$work/err" && ! right_in_doubles "$y" &&
                keep "status 1: $(tail -c 1500 "$work/err")" "$check"
        fi
        line '0 5' 'grun d.tlg "${values[@]}" -O json >d1 2>/dev/null && { grun --mode FAST_COMPILE d.tlg "${values[@]}" -O json 2>/dev/null >d2 &&
            '"awk -v t=$(tolerance)"' -f "$near" d1 d2; }'
        line '0 5' 'grun --mode DEBUG --allow-nonfinite d.tlg "${values[@]}" >/dev/null'
        line '0 3 5' 'grewrite --verify 1 d.tlg "${values[@]}" >/dev/null'
    done
}

# One message, or none; `out of memory` where that is what happened.
one_message() { # line
    [ "$(grep -c 'error\[\|: out of memory\|internal error' "$work/err")" -le 1 ] && return
    keep "more than one message: $(tail -c 600 "$work/err")" "$1"
}

allocations_one() {
    make_case || return
    local commands=('gload graph.yaml -o a.tlg' 'gload graph.yaml -O yaml -o a.yaml' 'grewrite g.tlg -o a.tlg' 'grun g.tlg "${values[@]}" -O json -o a.json'
        'grun --mode DEBUG g.tlg "${values[@]}" -o a.txt' 'grun g.tlg "${values[@]}" --save a.yaml -o a.txt' 'gprof --static g.tlg -o a.txt'
        'ggrad g.tlg --cost "$(gload --info -O json g.tlg | jq -r "map(select(.section==\"outputs\"))[0].name")" -o a.tlg' 'gload -z g.tlg -o a.tlg.zst' 'grun --errors json --mode FAST_COMPILE g.tlg "${values[@]}" -o a.txt')
    line 0 "cd \"$PWD\" && TRIES=300 $B/tests/prop/allocations $((1 + RANDOM % 800))"
    line 0 'gload graph.yaml -o g.tlg' || return
    for command in "${commands[@]}"; do
        line '0 1 2 3 5' "FAILALLOC_LOG=\$PWD/count LD_PRELOAD=\$FAILALLOC $command 2>/dev/null"
        local usual=$status n
        n=$(od -An -t u8 "$work/case/count" | tr -d ' ')
        for _ in 1 2 3; do
            local at=$((1 + (RANDOM * 32768 + RANDOM) % n)) once='' text
            [ $((RANDOM % 2)) = 0 ] || once='FAILALLOC_ONCE=1 '
            text="rm -f a.*; FAILALLOC_AT=$at ${once}LD_PRELOAD=\$FAILALLOC $command"
            line "6 $usual" "$text" && one_message "$text"
        done
    done
}

# What is there after a failure is what was there before, and nothing beside it.
remember() {
    files=$(cd "$work/case" && ls -A | tr '\n' ' ')
    (cd "$work/case" && sha256sum ./* >../sums)
}
untouched() { # line
    local now
    if [ "$status" = 0 ]; then
        remember
        return
    fi
    now=$(cd "$work/case" && ls -A | tr '\n' ' ')
    if [ "$now" != "$files" ]; then keep "files: $now; before: $files" "$1"
    elif ! (cd "$work/case" && sha256sum --status -c ../sums); then keep "a file is another one" "$1"; fi
}

writes_one() {
    make_case || return
    line 0 'gload graph.yaml -o g.tlg && gload -O yaml g.tlg -o a.yaml && cp g.tlg s.tlg && grun g.tlg "${values[@]}" -o out.txt 2>/dev/null' || return
    remember
    local commands=('grun g.tlg "${values[@]}" --save s.tlg -o out.txt' 'gload g.tlg -O yaml -o a.yaml' 'grewrite g.tlg -z -o g.tlg' 'gload a.yaml -o s.tlg' 'grun g.tlg "${values[@]}"') text
    for command in "${commands[@]}"; do
        for errno in 5 28 122 27; do
            text="FAILWRITE_AT=$((1 + RANDOM % 3)) FAILWRITE_ERRNO=$errno LD_PRELOAD=\$FAILWRITE $command >/dev/null"
            line '0 4' "$text" && one_message "$text" && untouched "$text"
        done
        text="(ulimit -f 0; $command >full); s=\$?; rm -f full; exit \$s"
        line '0 4' "$text" && untouched "$text"
        line '0 4' "(ulimit -n $((4 + RANDOM % 4)); exec $command) >/dev/null 2>/dev/null"
        untouched "$command"
    done
    line 4 'gload -O yaml g.tlg >/dev/full'
    line 4 'grun g.tlg "${values[@]}" 2>/dev/null >/dev/full'
    line 4 'gload -O yaml g.tlg >&-'
    line 0 'gload g.tlg <&- | cmp - <(gload g.tlg)'
    line 0 'FAILWRITE_SHORT=1 LD_PRELOAD=$FAILWRITE gload --no-provenance g.tlg -o t.tlg && gload --no-provenance g.tlg -o u.tlg && cmp t.tlg u.tlg'
}

# The journal of a text's arrays may stay: the next save needs it to remove them.
beside() {
    find "$work/case" -type f ! -name '*.npy' ! -name '.s.yaml.thunkline.*' | wc -l
}

# A signal at any moment of saving leaves the old or the new state whole: both variables have the number of the same call.
signals_one() {
    local form=$1 name=$2 size=200
    rm -rf "$work/case"
    mkdir "$work/case"
    number=$((seed + made))
    made=$((made + 1))
    : >"$work/case/values"
    printf 'thunkline: 1\nshared:\n  W: "float64[%d, %d] = zeros((%d, %d))"\n  b: "float64[%d] = zeros(%d)"\n  c: "float64 = 0"\noutputs: [c]\nupdates: {W: W + 1, b: b + 1, c: c + 1}\n' \
        $size $size $size $size $size $size >"$work/case/start.yaml"
    line 0 "gload start.yaml -o s.$form && grun s.$form --save s.$form" || return
    local delay files before
    before=$(beside)
    for _ in 1 2 3 4; do
        delay=0.0$(printf '%03d' $((RANDOM % 30)))
        line "0 129 130 137 143 131" "timeout --foreground -s $name $delay bash -c 'exec grun s.$form --save s.$form' ; s=\$?; [ \$s = 124 ] || exit \$s"
        line 0 "grun s.$form --expect 'c=0' --atol 1e9 >/dev/null && gload s.$form -e 'whole = all(W == c) & all(b == c)' --outputs whole | grun --expect whole=True >/dev/null" || return
        files=$(beside)
        [ "$name" = KILL ] || [ "$files" = "$before" ] || keep "a temporary file is left: $(ls -A "$work/case" | tr '\n' ' ')" 'ls -A'
        before=$files
    done
    line 0 "grun s.$form --save s.$form >/dev/null && test \$(ls | grep -c 'npy\$') -le 2 && ! ls -A | grep -F .thunkline."
}

# A tlg with a bit turned over, or cut, is refused.
bytes_one() {
    make_case || return
    line 0 'gload graph.yaml -o g.tlg' || return
    local size at bit
    size=$(stat -c %s "$work/case/g.tlg")
    for _ in 1 2 3 4 5 6; do
        at=$((RANDOM * 32768 % size)) bit=$((RANDOM % 8))
        line '3 4' "head -c $at g.tlg >cut.tlg; gload --check cut.tlg" || return
        line '3 4' "cp g.tlg bit.tlg; byte=\$(od -An -t u1 -j $at -N 1 g.tlg); printf \"\$(printf '\\\\x%02x' \$((byte ^ 1 << $bit)))\" |
            dd of=bit.tlg bs=1 seek=$at conv=notrunc status=none; gload --check bit.tlg" || return
    done
}

for campaign; do
    tries=0 failed=0 made=0
    end=$((SECONDS + (seconds + campaigns - 1) / campaigns))
    while [ $SECONDS -lt $end ]; do
        case $campaign in
        signals)
            forms=(tlg yaml) names=(INT TERM HUP KILL)
            signals_one "${forms[made % 2]}" "${names[made / 2 % 4]}"
            ;;
        *) "${campaign}_one" ;;
        esac
    done
    echo "torture $campaign: $tries tries, $failed failed"
    failed_in_all=$((failed_in_all + failed))
done
[ $failed_in_all -eq 0 ]
