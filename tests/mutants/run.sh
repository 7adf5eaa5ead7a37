#!/bin/bash
# Changes one place of lib and cmd at a time, and asks the tests. usage: run.sh SOURCE_TREE WORK_FOLDER N SEED
# Works in a copy; a change that doesn't compile is none. Tests come in the order in which they are likely to find it, and
# the first that fails ends it. Prints a line for each change: killed by what, or survived, and the share that was found.
# KEEP=1 takes the times of an earlier call in the same folder; TESTS="build/tests/unit/type tests/bats/ops.bats" asks these alone; set PLACE=FILE:LINE:COLUMN:LENGTH:TEXT to try one change.
source=$(cd "$1" && pwd)
work=$2
n=$3
seed=$4
mkdir -p "$work" || exit 1
work=$(cd "$work" && pwd)
tree=$work/tree
mkdir -p "$tree"
# Only what differs, as of now, so that make sees what an earlier call or a change left behind.
(cd "$source" && git ls-files --cached --others --exclude-standard) | while IFS= read -r f; do
    cmp -s "$source/$f" "$tree/$f" || { mkdir -p "$(dirname "$tree/$f")" && cp "$source/$f" "$tree/$f"; }
done
cd "$tree" || exit 1
here=$PWD/tests/mutants
B=build
export TL_BIN=$tree/$B/bin
compiler=gcc
command -v ccache >/dev/null && compiler='ccache gcc'
linker=
command -v mold >/dev/null && linker='-fuse-ld=mold'
build() {
    make -s -j"$(nproc)" CC="$compiler" OPT=-O0 SIMD_OPT=-O1 CFLAGS=-g0 LDFLAGS="$linker" "$@" >"$work/make.log" 2>&1
}
programs=()
for c in tests/unit/*.c tests/prop/*.c; do programs+=("$B/${c%.c}"); done
suites=(tests/bats/*.bats)
if [ -n "${TESTS:-}" ]; then
    read -ra programs <<<"$TESTS"
    suites=()
fi

# How long each test takes, and which ones hold without any change.
baseline() {
    local wanted=(test-programs)
    [ -z "${TESTS:-}" ] || mapfile -t wanted < <(printf '%s\n' "${programs[@]}" | grep -v bats)
    build tools "${wanted[@]}" || { tail -n 20 "$work/make.log"; exit 1; }
    [ -z "${KEEP:-}" ] || [ ! -s "$work/times" ] || return 0
    echo "how long each of ${#programs[@]} programs and ${#suites[@]} files takes" >&2
    : >"$work/times"
    local t begin
    for t in "${programs[@]}" "${suites[@]}"; do
        begin=$(date +%s%N)
        if one_test "$t" 300; then echo "$(((($(date +%s%N) - begin)) / 1000000)) $t" >>"$work/times"
        else echo "$t fails without any change; it is left out" >&2; fi
    done
}
one_test() ( # test, seconds
    ulimit -v 16000000
    case $1 in
    *.bats) ! timeout -k 5 "$2" bats --tap --jobs "$(nproc)" "$1" 2>/dev/null </dev/null | grep -m 1 '^not ok' >"$work/found" && [ "${PIPESTATUS[0]}" -eq 0 ] ;;
    *) timeout -k 5 "$2" "$1" >"$work/found" 2>&1 </dev/null ;;
    esac
)

# Tests by likelihood: those named after the file, then those named after its folder, then the quick ones.
order() { # file
    local stem folder
    stem=$(basename "$1" .c)
    folder=$(basename "$(dirname "$1")")
    awk -v stem="${stem%.simd}" -v folder="$folder" '{
        name = $2; sub(/.*\//, "", name); sub(/\.bats$/, "", name)
        rank = index(name, stem) || index(stem, name) ? 0 : index(name, folder) || index(folder, name) ? 1 : $2 ~ /bats$/ ? 3 : 2
        print rank, $1, $2 }' "$work/times" | sort -k1,1n -k2,2n
}

apply() { # file line column length text
    awk -v line="$2" -v at="$3" -v len="$4" -v text="$5" 'NR == line { $0 = substr($0, 1, at - 1) text substr($0, at + len) } { print }' "$1" >"$work/changed" &&
        cp "$work/changed" "$1"
}

# 0: a test failed, and `$by` is its name; 1: none did; 2: it doesn't compile.
try() { # file
    local ms t limit
    by='a warning'
    build "$B/libthunkline-all.a" || return 2
    while read -r _ ms t; do
        case $t in
        *.bats) target=tools ;;
        *) target=$t ;;
        esac
        [ "$target" = tools ] && [ -n "$tools_made" ] || build "$target" || return 2
        [ "$target" = tools ] && tools_made=1
        limit=$((10 + ms * 5 / 1000))
        by=$t
        one_test "$t" "$limit" || return 0
    done < <(order "$1")
    return 1
}

baseline
find lib cmd -name '*.c' | sort | xargs awk -f "$here/places.awk" >"$work/places"
# The same seed chooses the same places; more than N, since some don't compile.
if [ -n "${PLACE:-}" ]; then echo "$PLACE" >"$work/chosen"; n=1
else
    awk -v seed="$seed" 'function next_number() { x = (x * 16807) % 2147483647; return x }
        BEGIN { x = seed * 7919 % 2147483647 + 1; for (i = 0; i < 10; i++) next_number() }
        { print next_number() "\t" $0 }' "$work/places" | sort -n | cut -f2- | head -n $((n * 3)) >"$work/chosen"
fi
killed=0 survived=0
while IFS=: read -r file line column length text <&3 && [ $((killed + survived)) -lt "$n" ]; do
    cp -p "$file" "$work/original"
    before=$(sed -n "${line}p" "$file")
    apply "$file" "$line" "$column" "$length" "$text"
    tools_made=
    try "$file"
    case $? in
    0) killed=$((killed + 1)) verdict="killed by $by" ;;
    1) survived=$((survived + 1)) verdict=survived ;;
    2) verdict='' ;;
    esac
    [ -z "$verdict" ] || {
        echo "$verdict: $file:$line:$column:$length:$text"
        printf '    %s\n    %s\n' "$(echo "$before" | sed 's/^ *//')" "$(sed -n "${line}{s/^ *//;p}" "$file")"
    }
    cp "$work/original" "$file"
done 3<"$work/chosen"
build tools
all=$((killed + survived))
echo "mutants: $all tried, $killed killed, $survived survived"
[ $all -gt 0 ] && [ $((killed * 10)) -ge $((all * 9)) ]
