#!/bin/sh
# Installs what is missing to build and test, through the system's package manager, and says so.
# usage: setup.sh [build|deb|test|mpi]
need() { # command-or-header-check, package
    eval "$1" >/dev/null 2>&1 || missing="$missing $2"
}
header() { printf '#include <%s>\n' "$1" | ${CC:-gcc} -E - >/dev/null 2>&1; }
missing=
need 'command -v ${CC:-gcc}' gcc
need 'header stdlib.h' libc6-dev
need 'command -v ld' binutils
need 'command -v pkg-config' pkg-config
need 'header yaml.h' libyaml-dev
need 'header zstd.h' libzstd-dev
need 'ldconfig -p | grep -q libopenblas.so.0 || ls /usr/lib/*/libopenblas.so.0' libopenblas0-pthread
if [ "$1" = deb ] || { [ "$1" = test ] && command -v dpkg-deb >/dev/null; }; then
    need 'command -v dpkg-shlibdeps' dpkg-dev
fi
if [ "$1" = test ]; then
    need 'command -v bats' bats
    need 'test -d /usr/lib/bats/bats-assert' bats-assert
    need 'test -d /usr/lib/bats/bats-support' bats-support
    need 'test -d /usr/lib/bats/bats-file' bats-file
    need 'parallel --version | grep -q GNU' parallel
    need 'command -v mandoc' mandoc
    need 'command -v shellcheck' shellcheck
    need 'command -v ctags' universal-ctags
    need 'command -v clang-format' clang-format
    need 'command -v dot' graphviz
    need 'command -v jq' jq
    need 'command -v zstd' zstd
    need 'python3 -c "import jsonschema" || /usr/bin/python3 -c "import jsonschema"' python3-jsonschema
    need 'command -v zsh' zsh
    need 'command -v fish' fish
fi
if [ "$1" = mpi ]; then
    need 'command -v mpirun' openmpi-bin
    need 'command -v mpicc' libopenmpi-dev
    need 'command -v bats' bats
    need 'test -d /usr/lib/bats/bats-assert' bats-assert
    need 'test -d /usr/lib/bats/bats-support' bats-support
    need 'test -d /usr/lib/bats/bats-file' bats-file
fi
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "setup: missing:$missing (Debian's names)." >&2
    echo "setup: install them with your package manager; README.md has the names for dnf, pacman and brew." >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: missing:$missing; run as root, or install sudo" >&2; exit 1; }
    as_root=sudo
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$as_root apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 && exit 0
$as_root apt-get update >/dev/null && $as_root apt-get install -y --no-install-recommends $missing >/dev/null || {
    echo "setup: apt-get could not install$missing" >&2
    exit 1
}
