#!/bin/sh
# shellcheck disable=SC2086
# All lints. Each ends with "lint NAME: N passed, N failed". usage: run.sh BUILD_DIR
cd "$(dirname "$0")/../.." || exit 1
B=${1:-build}
failed=0
mkdir -p "$B/lint"
sources=$(find lib cmd tests -name "*.[ch]" | sort)
verdict() { # name passed failed
    echo "lint $1: $2 passed, $3 failed"
    [ "$3" -eq 0 ] || failed=1
}

layers() {
    grep -rn --include='*.[ch]' '^#include "' lib cmd | sed 's/^\([^:]*\):[0-9]*:/\1:/' |
        awk -f tests/lint/layers.awk tests/lint/layers.tsv - || failed=1
}

# No mutable state in the library: .data and .bss of every object below cli are empty.
globals() {
    if nm "$B/gen/catalogue.o" | grep -q __asan; then
        echo "lint globals: skipped, the sanitizers add data of their own"
        return
    fi
    bad=0 n=0
    for o in $(find "$B/lib" "$B/gen" -name "*.o" | sort); do
        case $o in */cli/*) continue ;; esac
        n=$((n + 1))
        size -A "$o" | awk -v o="$o" '
            $1 ~ /^\.(data|bss|tdata|tbss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 { print o ": " $1 " has " $2 " bytes"; b = 1 }
            END { exit b }' || bad=$((bad + 1))
    done
    verdict globals $((n - bad)) $bad
}

# The tools and the library: addresses of their own each time, everything resolved and read-only before they begin, no
# stack that can be run; and how an optimising build compiles: guarded stacks, checked calls unless a sanitizer checks them.
hardening() {
    command -v readelf >/dev/null || { echo "lint hardening: skipped, there is no readelf"; return; }
    bad=0 n=0
    for f in "$B"/bin/g* "$B/libthunkline.so"; do
        [ -f "$f" ] || continue
        n=$((n + 1))
        elf=$(readelf -hldW "$f")
        for want in 'Type: *DYN' GNU_RELRO 'FLAGS_1.* NOW' 'GNU_STACK.* RW '; do
            echo "$elf" | grep -q "$want" || { echo "$f: readelf shows no $want"; bad=$((bad + 1)); break; }
        done
    done
    for how in 'OPT=-O2 SAN=: stack-protector-strong FORTIFY_SOURCE=[23]' 'OPT=-O1 SAN=address: stack-protector-strong'; do
        n=$((n + 1))
        line=$(make -n CFLAGS= ${how%%:*} B="$B/none" "$B/none/lib/base/mem.o")
        for want in ${how#*:}; do
            echo "$line" | grep -q "$want" || { echo "make ${how%%:*}: compiles without $want"; bad=$((bad + 1)); break; }
        done
    done
    verdict hardening $((n - bad)) $bad
}

# What a stranger is sent to exists: files that comments name, and a row of lib/README.md for each folder of lib.
pointers() {
    n=$(echo $sources | wc -w)
    find lib cmd tests examples schemas -type f | sed 's|.*/||' | awk -f tests/lint/pointers.awk - $sources lib/README.md
    bad=$?
    for d in lib/*/; do
        d=${d#lib/}
        n=$((n + 1))
        grep -q "^|.*| \`${d%/}\` |" lib/README.md || { echo "lib/README.md: no row for ${d%/}"; bad=$((bad + 1)); }
    done
    if grep -nE 'contract 00[0-9]|\(00[0-9]\)|\<row [0-9]' $sources; then bad=$((bad + 1)); fi
    verdict pointers $((n - bad)) $bad
}

# What a checkout has at its top, but for dotfiles of tools: a stray file would be sent to everyone.
top_level() {
    entries=$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u)
    [ -n "$entries" ] || { echo "lint top_level: skipped, this is no checkout"; return; }
    bad=0 n=0
    for f in $entries; do
        n=$((n + 1))
        case $f in
        Makefile | cmd | lib | schemas | tests | examples | completions | README.md | LICENSE | .*) ;;
        *) echo "$f: nothing belongs there"; bad=$((bad + 1)) ;;
        esac
    done
    verdict top_level $((n - bad)) $bad
}

# The library looks for its own ops by number (op/known.def), never by a name in the middle of code.
ops_by_name() {
    n=$(grep -l op_is $sources | wc -l)
    bad=$(grep -rnE --include='*.c' '(strcmp\([^,]*op->name, |op_find\([^,]*, )"' lib | tee -a /dev/stderr | wc -l)
    verdict ops_by_name "$n" "$bad"
}

# The library speaks to programs: words of the command line are for tools and cli, which say base/hint.def in their own.
words_of_options() {
    f=$(find lib -name '*.[ch]' -o -name '*.def' | grep -v '^lib/\(tools\|cli\|include\)/' | sort)
    bad=$(awk '/^ *(\*|\/\*)/ { next } /^#include/ { next } { sub(/\/\*.*/, "") }
        /"[^"]*(--[a-z]|gload|ggrad|grewrite|grun|gprof)[^"]*"/ { print FILENAME ":" FNR ":" $0 }' $f | tee -a /dev/stderr | wc -l)
    verdict words_of_options "$(echo "$f" | wc -l)" "$bad"
}

# Lines "digest  path" of the files that a lint has to look at: those that didn't pass before as they are now. What they
# are judged by comes first; if it is newer, all are looked at.
unseen() { # name, "what they are judged by", files
    seen=$B/lint/$1
    [ -z "$(find $2 -newer "$seen" 2>&1)" ] || rm -f "$seen"
    touch "$seen"
    shift 2
    sha1sum "$@" | grep -vxFf "$seen"
}

format() {
    command -v clang-format >/dev/null || { echo "lint format: skipped, there is no clang-format"; return; }
    case $(clang-format --version) in *"version 14."*) ;; *) echo "lint format: skipped, clang-format is not 14"; return ;; esac
    bad=0
    unseen format .clang-format $sources >"$B/lint/unseen"
    while read -r digest f; do
        if clang-format --dry-run -Werror "$f" 2>/dev/null; then echo "$digest  $f" >>"$B/lint/format"
        else echo "$f: run clang-format -i"; bad=$((bad + 1)); fi
    done <"$B/lint/unseen"
    verdict format $(($(echo "$sources" | wc -l) - bad)) $bad
}

scripts() {
    command -v shellcheck >/dev/null || { echo "lint scripts: skipped, there is no shellcheck"; return; }
    bad=0
    list=$(ls tests/*.sh tests/*/*.sh tests/*/*.bats examples/*/*.sh lib/bats/*.bash .ci/run .ci/*/*.sh 2>/dev/null)
    unseen scripts "tests/lint/run.sh $(ls tests/*/*.bash lib/bats/*.bash)" $list >"$B/lint/unseen"
    while read -r digest f; do
        if shellcheck -x -S warning -e SC2154 "$f"; then echo "$digest  $f" >>"$B/lint/scripts"
        else bad=$((bad + 1)); fi
    done <"$B/lint/unseen"
    verdict scripts $(($(echo "$list" | wc -l) - bad)) $bad
}

# What gcc built, clang accepts without a warning.
clang_too() {
    command -v clang >/dev/null || { echo "lint clang: skipped, there is no clang"; return; }
    make -n CC=clang CFLAGS= SAN= V=1 B="$B/none" tools test-programs 2>/dev/null |
        sed -n "s|^clang \(.*\) -MMD -MP \(.*\) -o [^ ]*$|clang -fsyntax-only -Werror \1 \2|; s|-I$B/none/gen|-I$B/gen|; /^clang -fsyntax-only.* [^ ]*\.c\( \|$\)/p" |
        grep -v " $B/none/" >"$B/lint/clang"
    n=$(wc -l <"$B/lint/clang")
    bad=$(tr '\n' '\0' <"$B/lint/clang" | xargs -0 -n 1 -P "$(nproc)" sh -c 'sh -c "$1" >&2 || echo bad' clang | wc -l)
    verdict clang $((n - bad)) "$bad"
}

# The page's modules: types by JSDoc, as TypeScript's compiler checks them.
page() {
    command -v tsc >/dev/null || { echo "lint page: skipped, there is no tsc (npm install -g typescript)"; return; }
    n=$(ls lib/page/*.js | wc -l)
    bad=$(tsc --noEmit -p lib/page | tee -a /dev/stderr | grep -c '^[^ ]')
    verdict page "$((n > bad ? n - bad : 0))" "$bad"
}

# Committed files that are generated are as the generator makes them now.
generated() {
    bad=0 n=0
    for f in completions/*; do
        [ -f "$f" ] || continue
        n=$((n + 1))
        cmp -s "$f" "$B/$f" || { echo "$f: stale, run make completions"; bad=$((bad + 1)); }
    done
    verdict generated $((n - bad)) $bad
}

layers
globals
hardening
pointers
top_level
ops_by_name
words_of_options
format
scripts
clang_too
page
generated
exit $failed
