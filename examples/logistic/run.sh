#!/bin/sh
# Logistic regression with its gradient written in the graph file: 300 steps, then the held-out rows.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-logistic.$$.tlg
trap 'rm -f "$out"' EXIT
digits=../digits
grun model.yaml x="load('$digits/x.npy')[:1500] / 16" digit=@$digits/y.npy[:1500] --steps 300 --every 100 -O tsv --save "$out"
# the graph that was saved still has its updates: --keep prunes them for the test
grewrite "$out" --keep loss,accuracy | grun x="load('$digits/x.npy')[1500:] / 16" digit=@$digits/y.npy[1500:]
