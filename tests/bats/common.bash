# What every test file loads: the tools of this build first in PATH, an empty folder to work in, bats' libraries.
bats_require_minimum_version 1.5.0
bats_load_library bats-support
bats_load_library bats-assert
bats_load_library bats-file

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
export ROOT PATH
export LC_ALL=C.UTF-8 # patterns have characters that C's locale takes for two
unset MAKEFLAGS MFLAGS # of the make that runs the tests: its jobserver is not ours
DIGITS=$ROOT/examples/digits
export DIGITS

setup() { cd "$BATS_TEST_TMPDIR" || exit 1; }

# Runs a shell line with pipefail; $status is the last failing command's.
pipe() { run --separate-stderr bash -o pipefail -c "$1"; }

# Runs a shell line with pipefail, binary output and all: $status, files .out and .err.
shell() {
    status=0
    bash -o pipefail -c "$1" >"$BATS_TEST_TMPDIR/.out" 2>"$BATS_TEST_TMPDIR/.err" </dev/null || status=$?
}

# Says what a shell line did instead of what it should have done.
complain() { # expectation, line
    {
        printf -- '%s\n  line: %s\n  status: %s\n' "$1" "$2" "$status"
        sed 's/^/  stdout: /' "$BATS_TEST_TMPDIR/.out"
        sed 's/^/  stderr: /' "$BATS_TEST_TMPDIR/.err"
    } | tr -d '\0' >&2
    return 1
}

# ok LINE [STDOUT]: the line succeeds, says nothing on stderr and prints STDOUT.
ok() {
    shell "$1"
    [ "$status" = 0 ] || complain 'should succeed' "$1" || return
    [ ! -s "$BATS_TEST_TMPDIR/.err" ] || complain 'should be silent' "$1" || return
    [ $# -lt 2 ] && return
    [ "$(cat "$BATS_TEST_TMPDIR/.out")" = "$2" ] || complain "should print: $2" "$1"
}

# like LINE REGEX...: the line succeeds in silence and its output has each REGEX.
like() {
    local line=$1
    ok "$line" || return
    shift
    local r
    for r; do
        grep -Eq -- "$r" "$BATS_TEST_TMPDIR/.out" || complain "should have: $r" "$line" || return
    done
}

# bad STATUS CODE REGEX LINE: the line fails with STATUS and one diagnostic of class CODE that has
# REGEX somewhere in it.
bad() {
    shell "$4"
    [ "$status" = "$1" ] || complain "should end with status $1" "$4" || return
    [ "$(grep -c 'error\[' "$BATS_TEST_TMPDIR/.err")" = 1 ] || complain 'should say one error' "$4" || return
    grep -q "^[a-z]*: .*error\[$2[A-Z_]*\]: " "$BATS_TEST_TMPDIR/.err" || complain "should be $2" "$4" || return
    grep -Eq -- "$3" "$BATS_TEST_TMPDIR/.err" || complain "should say: $3" "$4"
}

# close FILE NAME VALUE [TOLERANCE]: a number that grun wrote with -O text.
close() {
    awk -v n="$2" -v v="$3" -v t="${4:-2e-5}" '
        $1 == n { d = $3 - v; if (d < 0) d = -d; found = 1; if (d > t) { print n " is " $3 ", not " v; bad = 1 } }
        END { exit bad || !found }' "$1" >&2
}

# Installs this build, as it is, below $PWD/d, with PREFIX=/usr and what else is given; skips the test if not all is built.
install_build() { # make's variables...
    local build
    build=$(dirname "${TL_BIN:-$ROOT/build/bin}")
    [ -e "$build/libthunkline.so" ] && [ -e "$build/man/grun.1" ] && [ -e "$build/completions/grun.fish" ] || skip 'make all man generated first'
    make -s -C "$ROOT" B="${build#"$ROOT"/}" AS_BUILT=1 install DESTDIR="$PWD/d" PREFIX=/usr "$@" >log 2>&1 || { cat log >&2 && false; }
}

# A Python that has a module, or the test is skipped.
python_with() {
    local p
    for p in python3 /usr/bin/python3; do
        if "$p" -c "import $1" 2>/dev/null; then
            PYTHON=$p
            return
        fi
    done
    skip "no python3 with $1"
}

# For tests that need a terminal: `script` must be able to make one.
need_terminal() {
    script -qec true /dev/null >/dev/null 2>&1 || skip 'no pseudo-terminals here'
}

# tour FILE LEAST: a text's indented blocks that begin with `$ `: command lines (going on after | or \) and what they
# print, LEAST of them at least. Numbers are compared to four decimals, as the last ones go by the CPU.
tour() {
    awk '
        function flush() { if (cmd != "") { n++; print cmd > ("cmd." n); printf "%s", out > ("want." n) } cmd = ""; out = "" }
        !/^    / && !/^$/ { flush(); next }
        /^    \$ / { flush(); cmd = substr($0, 7); more = cmd ~ /[|\\]$/; next }
        cmd != "" && more { cmd = cmd "\n" substr($0, 5); more = $0 ~ /[|\\]$/; next }
        cmd != "" { out = out substr($0, 5) "\n" }
        END { flush() }' "$1"
    [ -s "cmd.$2" ]
    local i cmd want f
    for ((i = 1; i <= $(find . -name 'cmd.*' | wc -l); i++)); do
        cmd=cmd.$i want=want.$i
        bash "$cmd" >got 2>&1 || true
        for f in got "$want"; do
            sed -E -e 's/([0-9]+\.[0-9]{4})[0-9]+/\1/g' -e '/^$/d' "$f" >"$f.n"
        done
        diff -u "$want.n" got.n
    done
}

# mpirun as tests call it: as root, on a busy machine.
open_mpi() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may forbid the faster one, and say so
    # Open MPI frees less than it allocates, in libraries that it unloads: no suppression can name them.
    export ASAN_OPTIONS=detect_leaks=0
}

# What a compiler needs to link to FILE, when it was built to be watched: by sanitizers, by gcov.
watched_by() { # FILE
    ! grep -q __asan_init "$1" || echo ' -fsanitize=address,undefined'
    ! grep -q __gcov_init "$1" || echo ' --coverage'
}
