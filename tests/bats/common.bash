# What every test file loads: the tools of this build first in PATH, an empty folder to work in, bats' libraries.
bats_require_minimum_version 1.5.0
bats_load_library bats-support
bats_load_library bats-assert
bats_load_library bats-file

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
PATH=${TL_BIN:-$ROOT/build/bin}:$PATH
export ROOT PATH
DIGITS=$ROOT/examples/digits
export DIGITS

setup() { cd "$BATS_TEST_TMPDIR" || exit 1; }

# Runs a shell line with pipefail; $status is the last failing command's.
pipe() { run --separate-stderr bash -o pipefail -c "$1"; }

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
