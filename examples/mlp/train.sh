#!/bin/sh
# Trains the perceptron in shuffled batches of 50, then tests it on rows it has not seen.
# usage: train.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-mlp.$$.tlg
trap 'rm -f "$out"' EXIT
digits=../digits
step() { printf '%s = %s - 0.3 * d_loss_d_%s' "$1" "$1" "$1"; }
ggrad model.yaml --cost loss --wrt W1,b1,W2,b2 |
    gload --update "$(step W1)" --update "$(step b1)" --update "$(step W2)" --update "$(step b2)" --outputs loss,accuracy |
    grewrite | grun x="float32(load('$digits/x.npy')[:1500]) / 16" y=@$digits/y.npy[:1500] \
    --each x,y --batch 50 --epochs 20 --shuffle 7 --every 150 -O tsv --save "$out"
grewrite "$out" --keep loss,accuracy | grun x="float32(load('$digits/x.npy')[1500:]) / 16" y=@$digits/y.npy[1500:]
