#!/bin/sh
# Samples by Metropolis' rule: the walk is a scan, and what it sows is reaped as one array.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$1:}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-metropolis.$$
trap 'rm -f "$out".*' EXIT
walk() { grewrite model.yaml --reap samples | grun --seed 1 start='[0., 0.]' steps="$1" -r samples/x="$out.npy"; }

echo '# the rate of accepted moves'
walk 50000
echo '# mean and deviation of each coordinate; they should come near 0, 2 and 2, 3'
gload --new -i 'x: float64[n, 2]' -e 'mean = mean(x, axis=0)' -e 'deviation = std(x, axis=0)' --outputs mean,deviation | grun x=@"$out.npy"
