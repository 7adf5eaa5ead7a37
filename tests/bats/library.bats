#!/usr/bin/env bats
# The library as it is installed: programs in C and C++ that pkg-config links to it, what it exports, its manual.
load common

BUILD=$(dirname "${TL_BIN:-$ROOT/build/bin}")
HEADER=$ROOT/lib/include/thunkline/thunkline.h

# One installation serves all tests; each works in a copy of the example.
setup_file() {
    export INSTALLED=$BATS_FILE_TMPDIR/installed WHY_NOT=
    [ -e "$BUILD/libthunkline.so" ] && [ -e "$BUILD/man/libthunkline.3" ] && [ -e "$BUILD/completions/grun.fish" ] || WHY_NOT='make all man generated first'
    [ -z "$WHY_NOT" ] || return 0
    make -s -C "$ROOT" B="${BUILD#"$ROOT"/}" AS_BUILT=1 install PREFIX="$INSTALLED" STRIP= >"$BATS_FILE_TMPDIR/log" 2>&1 ||
        { cat "$BATS_FILE_TMPDIR/log" >&2 && false; }
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
}

# A copy of the installed examples, and what finds the installed library.
use_library() {
    command -v pkg-config >/dev/null || skip 'no pkg-config'
    cp -r "$INSTALLED/share/thunkline/examples/library" "$INSTALLED/share/thunkline/examples/digits" .
    cd library || return
    export PKG_CONFIG_PATH=$INSTALLED/lib/pkgconfig LD_LIBRARY_PATH=$INSTALLED/lib
    CFLAGS="-Wall -Wextra -Wpedantic -Werror$(watched_by "$INSTALLED/lib/libthunkline.so")"
    export CFLAGS
    export CXXFLAGS=$CFLAGS CC=gcc CXX=g++
    command -v gcc >/dev/null || CC=cc
}

trains() { # the loss falls, and the graph that is saved classifies digits that it has not seen
    ok "$1 trained.tlg >out"
    sed -n 1,6p out >interface
    diff interface - <<'END'
input x: float32[n, 64]
input y: int64[n]
shared W: float32[64, 10]
shared b: float32[10]
output loss: float32
output accuracy: float64
END
    sed -n 's/^loss after .* steps: //p' out >losses
    sort -rn losses | diff losses -
    [ "$(wc -l <losses)" = 4 ]
    like "grun trained.tlg --no-updates --outputs accuracy x=@../digits/x.npy[1500:] y=@../digits/y.npy[1500:]" '^accuracy = 0\.[89]'
    # its state is there, so that training goes on
    like 'grun trained.tlg x=@../digits/x.npy[:1500] y=@../digits/y.npy[:1500] --outputs step' '^step = 201$'
}

@test "a program in C trains and saves, linked to the shared library and to the archive" {
    use_library
    ok 'make -s train'
    ldd ./train | grep -q "libthunkline.so.0 => $INSTALLED"
    trains ./train
    rm train trained.tlg
    ok 'make -s train STATIC=1'
    if ldd ./train | grep libthunkline; then false; fi
    LD_LIBRARY_PATH='' trains ./train
    # errors end it with the status of a tool
    shell './train /none/x.tlg'
    [ "$status" = 4 ]
    grep -qF "error[E_IO]: can't write /none/x.tlg" "$BATS_TEST_TMPDIR/.err"
    rm ../digits/x.npy
    shell './train'
    [ "$status" = 4 ]
    grep -qF 'x:1:1: error[E_IO]: there is no file ../digits/x.npy' "$BATS_TEST_TMPDIR/.err"
}

@test "a program in C++ classifies, linked to the shared library and to the archive" {
    command -v g++ >/dev/null || skip 'no g++'
    use_library
    ok 'make -s train && ./train trained.tlg >out'
    local how
    for how in '' STATIC=1; do
        ok "make -s classify $how"
        ok './classify trained.tlg' $'this is a 0\n1290 flops'
        rm classify
    done
}

@test "the README of the library's examples shows real output" {
    command -v g++ >/dev/null || skip 'no g++'
    use_library
    tour README.md 6
}

@test "the script of the library's examples" {
    command -v g++ >/dev/null || skip 'no g++'
    use_library
    like './run.sh' '^accuracy = 0\.[89]'
}

@test "the library exports what its headers declare, and nothing else" {
    local lib f
    sed -n 's/^TL_API .*[ *]\(tl_[a-z_]*\)(.*/\1/p' "$HEADER" | sort >declared
    [ "$(wc -l <declared)" -gt 30 ]
    for lib in "-D $INSTALLED/lib/libthunkline.so" "-g $INSTALLED/lib/libthunkline.a"; do
        # what sanitizers and gcov add has other names
        # shellcheck disable=SC2086
        nm --defined-only $lib | awk 'NF == 3 { print $3 }' | grep '^[tT]l' | sort | diff declared -
    done
    # in C++ too, alone and with the other header
    for f in '' '#include <thunkline/plugin.h>'; do
        printf '%s\n#include <thunkline/thunkline.h>\nint main() { return !tl_version(); }\n' "$f" >h.cpp
        ! command -v g++ >/dev/null || g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$INSTALLED/include" -fsyntax-only h.cpp
        cp h.cpp h.c
        sed -i 's/main()/main(void)/' h.c
        gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$INSTALLED/include" -fsyntax-only h.c
    done
}

@test "libthunkline(3) has every function, member and text of the header" {
    command -v mandoc >/dev/null || skip 'no mandoc'
    mandoc -T ascii "$INSTALLED/share/man/man3/libthunkline.3" | col -bx | tr -s ' \n' '  ' >page
    local text
    while IFS= read -r text; do
        grep -qF -- "$text" page || fail "libthunkline(3) has no '$text'"
    done < <(sed -n -e 's/^TL_API //p' -e 's/^    [a-z].*[ *]\([a-z_]*;\) .*/\1/p' "$HEADER" | sed -e 's/ *\/\*.*//' -e '/(.*[^;]$/d')
    grep -q 'SESSIONS .*GRAPHS .*MACHINES .*PROFILES .*EXAMPLES .*SEE ALSO' page
    grep -qF 'A session owns all state; only one thread may use it at a time' page
}
