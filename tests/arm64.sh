#!/bin/sh
# The unit programs, one of the property programs and a part of the bats tests on 64-bit Arm, emulated by QEMU. usage: arm64.sh BUILD CC
# Ends with "N passed, N failed". What can't be run here is skipped by name.
cd "$(dirname "$0")/.." || exit 1
build=$1 cc=$2
bats='selection rows derivatives gload_nodes'

skip() {
    echo "arm64: skipped: $1"
    exit 0
}
command -v "$cc" >/dev/null || skip "no $cc (Debian: gcc-aarch64-linux-gnu)"
command -v qemu-aarch64 >/dev/null || skip 'no qemu-aarch64 (Debian: qemu-user)'
for lib in yaml zstd; do
    [ "$("$cc" -print-file-name=lib$lib.a)" != lib$lib.a ] ||
        skip "no lib$lib for it (Debian: dpkg --add-architecture arm64, then lib$lib-dev:arm64)"
done
[ "$("$cc" -print-file-name=libz.so.1)" != libz.so.1 ] || skip 'no zlib for it (Debian: zlib1g:arm64), which tests of npz read by'

make --no-print-directory CC="$cc" ARCH=aarch64 B="$build" MPI_LIB= tools
programs=
for source in tests/unit/*.c tests/prop/reduced.c; do
    programs="$programs $build/${source%.c}"
done
# shellcheck disable=SC2086
make --no-print-directory CC="$cc" ARCH=aarch64 B="$build" MPI_LIB= $programs

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in $programs; do
    qemu-aarch64 "$program" >"$log.one" 2>&1 || echo "$program: 0 passed, 1 failed" >>"$log.one"
    tail -n 20 "$log.one"
    cat "$log.one" >>"$log"
    rm "$log.one"
done

# The tools as bats calls them.
mkdir -p "$build/qemu"
for tool in gload ggrad grewrite grun gprof; do
    printf '#!/bin/sh\nexec qemu-aarch64 %s "$@"\n' "$(realpath "$build/bin/$tool")" >"$build/qemu/$tool"
    chmod +x "$build/qemu/$tool"
done
if command -v bats >/dev/null; then
    for file in $bats; do
        TL_BIN=$(realpath "$build/qemu") bats --tap "tests/bats/$file.bats" >"$log.bats"
        grep -v '^ok ' "$log.bats"
        echo "$file: $(grep -c '^ok ' "$log.bats") passed, $(grep -c '^not ok ' "$log.bats") failed" | tee -a "$log"
        rm "$log.bats"
    done
else
    echo "arm64: skipped: $bats (no bats)"
fi
awk -F'[: ,]+' '/: [0-9]+ passed, [0-9]+ failed$/ { p += $(NF - 3); f += $(NF - 1) }
    END { print p + 0 " passed, " f + 0 " failed"; exit f > 0 || !p }' "$log"
