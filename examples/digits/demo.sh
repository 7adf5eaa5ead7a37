#!/bin/sh
# Trains softmax regression on 1500 handwritten digits through pipes, then tests it on the other 297.
# usage: demo.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-digits.$$.tlg
trap 'rm -f "$out"' EXIT

echo "training: 200 steps of gradient descent on rows 0..1499"
gload model.yaml | ggrad --cost loss --wrt W,b --optimizer 'sgd(0.5)' | grewrite |
    grun x='float32(load("x.npy")[:1500]) / 16' y=@y.npy[:1500] --steps 200 --every 50 -O tsv --save "$out"

echo "held out: rows 1500..1796"
gload "$out" | grun x='float32(load("x.npy")[1500:]) / 16' y=@y.npy[1500:] --expect accuracy='264 / 297' --rtol 1e-6

echo "where a training step spends its time"
gload model.yaml | ggrad --cost loss --wrt W,b --only | grewrite |
    gprof x='float32(load("x.npy")[:1500]) / 16' y=@y.npy[:1500] --by op --top 5
