#!/bin/sh
# Builds both programs against the library that pkg-config finds, trains, classifies, and tries the trained graph in a tool.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
libs=$(pkg-config --variable=libdir thunkline)
LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
make -s OUT="$dir"
"$dir/train" "$dir/trained.tlg"
"$dir/classify" "$dir/trained.tlg"
grun "$dir/trained.tlg" --no-updates --outputs accuracy x=@../digits/x.npy[1500:] y=@../digits/y.npy[1500:]
