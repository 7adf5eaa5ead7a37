#!/bin/sh
# Builds the plugin, then uses its type and ops in all five tools.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make -s OUT="$dir"
own="--plugin $dir/double.so"

# a product; numbers given for doubles pass the type's filter
gload $own -i 'x: double' -i 'y: double' -e 'z = double_mul(x, y)' -o "$dir/mul.yaml"
grun $own "$dir/mul.yaml" x=5 y=6
grun $own "$dir/mul.yaml" x=5.6 y=6.7
# a number in the graph becomes a constant; anything else is refused
gload $own -i 'x: double' -e 'double_mul(x, 2)' | grun $own x=3.4
gload $own -i 'x: float64' -e 'double_mul(x, 2)' 2>&1 -O yaml | head -n 1 || true
# the graph file: gradients, rewriting, state, profile, a test
ggrad $own doubles.yaml --cost harmonic --wrt x | grewrite $own | grun $own x=1 y=3
grun $own doubles.yaml x=1 y=3 --steps 2 --save "$dir/saved.tlg" --expect mean=2.0001
gload $own "$dir/saved.tlg" --no-provenance -O yaml | grep 'last:'
gprof $own doubles.yaml --static | head -n 3
