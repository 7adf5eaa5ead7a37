#!/usr/bin/env bats
# What others get: the tarball, the packages for Debian, the container of the README. They are made of this build as it is.
load common

BUILD=$(dirname "${TL_BIN:-$ROOT/build/bin}")

# One tarball and one set of packages serve all tests: in $OUT, and in $DEB unpacked. Not of builds that sanitizers or gcov watch.
setup_file() {
    export OUT=$BATS_FILE_TMPDIR DEB=$BATS_FILE_TMPDIR/root
    export WHY_NOT=
    [ -e "$BUILD/libthunkline.so" ] && [ -e "$BUILD/man/grun.1" ] && [ -e "$BUILD/completions/grun.fish" ] || WHY_NOT='make all man generated first'
    if nm "$BUILD/lib/base/mem.o" | grep -qE '__asan|__ubsan|__gcov'; then WHY_NOT='sanitizers or gcov are in this build'; fi
    [ -z "$WHY_NOT" ] || return 0
    make_of "$ROOT" dist OUT="$OUT"
    command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || return 0
    # for speed
    export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
    make_of "$ROOT" B="${BUILD#"$ROOT"/}" AS_BUILT=1 deb OUT="$OUT" DEBFULLNAME='A. Packer' DEBEMAIL=packer@example.org
    for deb in "$OUT"/deb/*.deb; do dpkg-deb -x "$deb" "$DEB"; done
}
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
}
make_of() { # folder, make's arguments
    make -s -C "$@" >"$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log" >&2 && false; }
}
use_debs() {
    [ -e "$DEB" ] || skip 'no dpkg-deb and dpkg-shlibdeps'
    PATH=$DEB/usr/bin:$PATH
}

@test "make dist: the same bytes twice, the files that git has, and the same tarball from the tarball" {
    make_of "$ROOT" dist OUT="$PWD/b"
    tarball=$(cd b/dist && echo *)
    [[ $tarball =~ ^thunkline-[0-9.]+\.tar\.gz$ ]]
    cmp "$OUT/dist/$tarball" "b/dist/$tarball"
    tar -xf "b/dist/$tarball"
    tree=${tarball%.tar.gz}
    (cd "$tree" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) >files
    if [ -e "$ROOT/.git" ] && git -C "$ROOT" ls-files >listed 2>/dev/null; then LC_ALL=C sort listed | diff - files; fi
    for file in Makefile .ci/run .ci/deb/build.sh lib/README.md examples/digits/x.npy .clang-format; do grep -qxF "$file" files; done
    cmp "$ROOT/examples/digits/x.npy" "$tree/examples/digits/x.npy"
    [ "$(stat -c %A "$tree/.ci/run" "$tree/README.md" | tr '\n' ' ')" = '-rwxr-xr-x -rw-r--r-- ' ]
    # what was built in it does not go on, nor when a file was touched
    mkdir "$tree/build-x"
    touch "$tree/README.md"
    touch "$tree/build-x/junk" "$tree/lib/base/junk.o" "$tree/examples/plugin-double/double.so"
    make_of "$tree" dist OUT="$PWD/c"
    cmp "$OUT/dist/$tarball" "c/dist/$tarball"
}

@test "the tarball builds without git: a tool, with the library that is built already" {
    tar -xf "$OUT"/dist/*.tar.gz
    cd thunkline-*/
    # every source and every rule is there
    make -n all man generated test-programs >plan
    [ "$(grep -c -- ' -c lib/.*\.c ' plan)" -gt 300 ]
    mkdir b
    ln -s "$BUILD/libthunkline-all.a" b/
    make_of . B=b AS_BUILT=1 -o b/libthunkline-all.a b/bin/gload
    ok 'b/bin/gload -e "x ** 2" -O math' $'x: float64\nout = x ** 2.0'
}

@test "make deb: tools with a prefix, their own names out of the way, manuals, completions, and nothing that lintian minds" {
    use_debs
    [ "$(cd "$OUT/deb" && find . ! -name '*.deb')" = . ]
    (cd "$OUT/deb" && echo *) >names
    grep -qE '^libthunkline-dev_[^ ]+\.deb libthunkline0_[^ ]+\.deb thunkline_[^ ]+\.deb$' names
    [ "$(dpkg-deb -f "$OUT"/deb/thunkline_*.deb Maintainer)" = 'A. Packer <packer@example.org>' ]
    # whoever packs it
    [ "$(dpkg-deb -c "$OUT"/deb/thunkline_*.deb | awk '{ print $2 }' | sort -u)" = root/root ]
    # nothing of theirs has the name of a file of binutils
    [ "$(cd "$DEB/usr/bin" && echo *)" = 'tggrad tgload tgprof tgrewrite tgrun' ]
    [ "$(cd "$DEB/usr/share/man/man1" && echo *)" = 'tggrad.1.gz tgload.1.gz tgprof.1.gz tgrewrite.1.gz tgrun.1.gz' ]
    if dpkg -L binutils >theirs 2>/dev/null; then
        (cd "$DEB" && find . ! -type d | sed 's/^\.//') >ours
        if grep -xFf theirs ours; then false; fi
    fi
    ok 'tgload -e "x ** 2" | tggrad | tgrewrite | tgrun x=3' $'out = 9.0\nd_out_d_x = 6.0'
    bad 2 E_USAGE '^tgprof: ' 'tgprof --nonsense'
    ok "PATH=$DEB/usr/lib/thunkline/bin:/usr/bin:/bin; gload -e 'x ** 2' | grun x=3" 'out = 9.0'
    bad 2 E_USAGE '^gprof: ' "$DEB/usr/lib/thunkline/bin/gprof --nonsense"
    ok "$DEB/usr/share/thunkline/examples/logistic/run.sh >/dev/null"
    local t
    for t in tggrad tgload tgprof tgrewrite tgrun; do
        grep -q "complete.* $t\$" "$DEB/usr/share/bash-completion/completions/$t"
        grep -q "^#compdef $t" "$DEB/usr/share/zsh/vendor-completions/_$t"
        grep -q "^complete -c $t " "$DEB/usr/share/fish/vendor_completions.d/$t.fish"
        gzip -cd "$DEB/usr/share/man/man1/$t.1.gz" | grep -q "^\.Nm $t"
    done
    [ -s "$DEB/usr/share/doc/thunkline/copyright" ]
    gzip -cd "$DEB/usr/share/doc/thunkline/changelog.gz" | grep -q '^ -- A\. Packer <packer@example\.org>  ...,'
    # the files under the sums are the files that came
    dpkg-deb -e "$OUT"/deb/thunkline_*.deb control
    (cd "$DEB" && md5sum --quiet -c "$BATS_TEST_TMPDIR/control/md5sums")
    grep -qF "$(tail -n 1 "$ROOT/LICENSE")" "$DEB/usr/share/doc/thunkline/copyright"
    command -v lintian >/dev/null || return 0
    run -0 lintian --allow-root --fail-on error,warning "$OUT"/deb/*.deb
    [ -z "$output" ]
}

@test "make deb: PROGRAM_PREFIX is another prefix" {
    make -n -C "$ROOT" deb PROGRAM_PREFIX=tl- >plan
    grep -q '\.ci/deb/build\.sh .* tl-$' plan
    grep -q ' install .*PROGRAM_PREFIX=tl- ' plan
}

@test "make deb: bats finds the library by its name, and compilers the shared one" {
    use_debs
    # bats would take an @ here for a test of this file
    sed 's/^TEST/@test/' >test.bats <<'END'
bats_require_minimum_version 1.5.0
bats_load_library thunkline
TEST "a square" {
    tgload -e 'y = x ** 2' -o square.tlg
    assert_result square.tlg y=9 x=3
    assert_gradient square.tlg y x
    refute_cost square.tlg 'flops > 1'
}
END
    local bats
    bats=$(type -ap bats | grep -v libexec | head -n 1)
    run -0 env -i PATH="$DEB/usr/bin:${bats%/bats}:/usr/bin:/bin" BATS_LIB_PATH="$DEB/usr/lib/bats" TMPDIR="$PWD" bats --tap test.bats
    assert_line 'ok 1 a square'
    # the manual of the library goes with its headers
    dpkg-deb -c "$OUT"/deb/libthunkline-dev_*.deb >files
    grep -q ' ./usr/share/man/man3/libthunkline.3.gz$' files
    command -v pkg-config >/dev/null || skip 'no pkg-config'
    export PKG_CONFIG_SYSROOT_DIR=$DEB
    PKG_CONFIG_LIBDIR=$(echo "$DEB"/usr/lib/*/pkgconfig)
    export PKG_CONFIG_LIBDIR
    printf '#include <stdio.h>\n#include <thunkline/thunkline.h>\nint main(void) { return puts(tl_version()) < 0; }\n' >c.c
    local cc flags lib=${PKG_CONFIG_LIBDIR%/pkgconfig}
    read -ra cc <<<"${CC:-cc}"
    read -ra flags <<<"$(pkg-config --cflags --libs thunkline)"
    "${cc[@]}" c.c "${flags[@]}" "-L$lib" -o c
    version=$(dpkg-deb -f "$OUT"/deb/thunkline_*.deb Version)
    ok "LD_LIBRARY_PATH=$lib ./c" "$version"
    readelf -d c | grep -q 'NEEDED.*\[libthunkline\.so\.0\]'
    [ "$(dpkg-deb --ctrl-tarfile "$OUT"/deb/libthunkline0_*.deb | tar -xO ./shlibs)" = "libthunkline 0 libthunkline0 (>= $version)" ]
}

@test "the README's Containerfile names what make dist and make deb make" {
    # the command of the README that takes it out
    line=$(sed -n 's/^    \(sed .* README\.md\) | podman build .*/\1/p' "$ROOT/README.md")
    (cd "$ROOT" && sh -c "$line") >Containerfile
    head -n 1 Containerfile | grep -qx 'FROM debian:12 AS build'
    [ -f "$OUT/dist/$(sed -n 's,^ADD \(.*\) /$,\1,p' Containerfile)" ]
    tar -xf "$OUT"/dist/*.tar.gz
    read -ra words < <(sed -n 's/^RUN make //p' Containerfile)
    [ "${words[0]}" = -C ] && [ -d ".${words[1]}" ]
    make -n -C ".${words[1]}" "${words[@]:2}" >plan
    grep -q '\.ci/deb/build\.sh /out/deb' plan
    grep -q '^COPY --from=build /out/deb/thunkline_\*\.deb /tmp/$' Containerfile
}
