#!/bin/sh
# Ops written as text: their contract, their derivatives checked, fused with their neighbours, used in training.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-ops-text.$$.tlg
trap 'rm -f "$out"' EXIT
digits=../digits
own='--ops own.ops.yaml'

gload $own --op swish
echo
# partials against finite differences, and forward against reverse mode
gload $own -i 'x: float64[3]' -e 'sum(swish(x, beta=0.5)**2)' | ggrad $own --check x='[0.3, -1.2, 2.0]'
# one fused group, in which the op keeps its name (and its derivative)
gload $own -i 'x: float32[n]' -e '2*swish(x) + 1' | grewrite $own -O math
echo
ggrad $own network.yaml --cost loss --wrt W1,b1,W2 --optimizer 'heavy_ball(0.1)' |
    grun $own x="float32(load('$digits/x.npy')[:1500]) / 16" digit=@$digits/y.npy[:1500] --steps 150 --every 50 -O tsv --save "$out"
grewrite $own "$out" --keep loss,accuracy | grun $own x="float32(load('$digits/x.npy')[1500:]) / 16" digit=@$digits/y.npy[1500:]
