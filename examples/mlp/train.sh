#!/bin/sh
# Trains the perceptron in shuffled batches of 50, by Adam with a rate that rises, then falls, and tests it on rows it has not
# seen. State of Adam is shared variables of the graph: W1_m, W1_v ..., and `step`, of which the rate is a function.
# usage: train.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-mlp.$$.tlg
trap 'rm -f "$out"' EXIT
digits=../digits
ggrad model.yaml --cost loss --optimizer 'clip_norm(1.0), adam(cosine(0.01, steps=600, warmup=30))' | grewrite |
    grun x="float32(load('$digits/x.npy')[:1500]) / 16" y=@$digits/y.npy[:1500] \
    --each x,y --batch 50 --epochs 20 --shuffle 7 --every 150 -O tsv --save "$out"
grewrite "$out" --keep loss,accuracy | grun x="float32(load('$digits/x.npy')[1500:]) / 16" y=@$digits/y.npy[1500:]
