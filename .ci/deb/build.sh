#!/bin/sh
# Packages for Debian of what `make install` has put below TREE/root: thunkline, libthunkline0 and libthunkline-dev, beside TREE,
# which is gone then. The maintainer is DEBFULLNAME <DEBEMAIL>, the date SOURCE_DATE_EPOCH. Needs dpkg-dev, not root.
# usage: build.sh TREE VERSION PREFIX
set -e
umask 022
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
version=$2 prefix=$3
export LC_ALL=C

# ---- debian/: the texts here, with what is known now ----
mkdir debian
owner=$(sed -n 's/^Copyright (c) //p' "$here/../../LICENSE")
sed -e '1,/^Copyright/d' "$here/../../LICENSE" | sed -e '1{/^$/d}' -e 's/^$/./' -e 's/^/ /' >debian/licence
maintainer="${DEBFULLNAME:-$owner} <${DEBEMAIL:-thunkline@example.org}>"
maintainer=${maintainer#[0-9]* }
for f in control changelog copyright; do
    sed -e "s/@VERSION@/$version/; s/@PREFIX@/$prefix/g; s/@MAINTAINER@/$maintainer/; s/@COPYRIGHT@/$owner/" \
        -e "s/@DATE@/$(date -uRd "@$SOURCE_DATE_EPOCH")/" -e '/^@LICENSE@$/{r debian/licence' -e 'd}' "$here/$f" >"debian/$f"
done

# ---- where Debian has things; the tools under their own names are out of the way ----
mkdir -p root/usr/lib/thunkline/bin root/usr/lib/bats/thunkline
for tool in root/usr/bin/*; do
    name=${tool##*/}
    mv "$tool" "root/usr/lib/thunkline/bin/${name#"$prefix"}"
    ln -s "../lib/thunkline/bin/${name#"$prefix"}" "$tool"
done
mv root/usr/share/zsh/site-functions root/usr/share/zsh/vendor-completions
ln -s ../../../share/thunkline/bats/thunkline.bash root/usr/lib/bats/thunkline/load.bash
rm root/usr/share/thunkline/LICENSE
gzip -9n root/usr/share/man/man[137]/*

# ---- a tree for each package ----
lib=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
mkdir -p "libthunkline0/$lib" "libthunkline-dev/$lib"
mv root thunkline
mv "thunkline/$lib"/libthunkline.so.* "libthunkline0/$lib/"
chmod 644 "libthunkline0/$lib"/*
mv "thunkline/$lib"/* "libthunkline-dev/$lib/"
mv thunkline/usr/include libthunkline-dev/usr/
mkdir -p libthunkline-dev/usr/share/man
mv thunkline/usr/share/man/man3 libthunkline-dev/usr/share/man/
rmdir "thunkline/$lib"
small='strip --remove-section=.comment --remove-section=.note'
$small thunkline/usr/lib/thunkline/bin/*
$small --strip-unneeded "libthunkline0/$lib"/*
$small --strip-debug --enable-deterministic-archives "libthunkline-dev/$lib"/*.a
mkdir libthunkline0/DEBIAN
echo "libthunkline 0 libthunkline0 (>= $version)" >libthunkline0/DEBIAN/shlibs
dpkg-gensymbols -q -plibthunkline0 -Plibthunkline0 -v"$version"
sed -i '1a * Build-Depends-Package: libthunkline-dev' libthunkline0/DEBIAN/symbols
echo 'activate-noawait ldconfig' >libthunkline0/DEBIAN/triggers

# ---- the packages ----
package() { # name, ELF files
    name=$1
    shift
    mkdir -p "$name/DEBIAN" "$name/usr/share/doc/$name"
    cp debian/copyright "$name/usr/share/doc/$name/"
    gzip -9nc debian/changelog >"$name/usr/share/doc/$name/changelog.gz"
    [ $# = 0 ] || dpkg-shlibdeps -T"debian/$name.substvars" "$@"
    dpkg-gencontrol -p"$name" -P"$name" -T"debian/$name.substvars" -fdebian/files
    (cd "$name" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$name/DEBIAN/md5sums"
    chmod -R u+rwX,go=rX "$name"
    dpkg-deb --root-owner-group --build "$name" .. >/dev/null
}
package thunkline thunkline/usr/lib/thunkline/bin/*
package libthunkline0 "libthunkline0/$lib"/*.so.*
package libthunkline-dev
rm -r "$PWD"
