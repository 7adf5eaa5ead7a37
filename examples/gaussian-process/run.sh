#!/bin/sh
# Learns the length scale and the noise of a Gaussian process by gradient ascent on the evidence, through a pipe, then
# predicts where it has seen nothing.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-gp.$$.tlg
trap 'rm -f "$out"' EXIT
x='linspace(0., 6., 30)'
data() { grun "$@" x="$x" y="sin(1.5 * $x) + normal(0, 0.2, (30,), seed=7)" new='[1.05, 3.1, 6.5]'; }
ggrad model.yaml --cost evidence --wrt a,b |
    gload - --update 'a = a + 0.02 * d_evidence_d_a' --update 'b = b + 0.02 * d_evidence_d_b' --outputs evidence,scale,noise,mean |
    grewrite | data --steps 60 --every 20 -O tsv --save "$out"
grewrite "$out" --keep evidence,mean | data
