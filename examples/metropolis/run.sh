#!/bin/sh
# Samples by Metropolis' rule: 64 walkers in one scan, and what it sows in each step is reaped as one array [steps, walkers, 2].
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-metropolis.$$
trap 'rm -f "$out".*' EXIT

echo '# the rate of accepted moves in 10000 steps of 64 walkers'
grewrite model.yaml --reap samples | grun --seed 1 start='normal(0, 3, (64, 2), seed=2)' steps=10000 -r samples/x="$out.npy"

echo '# without the first 1000 steps: mean (0 and 2) and deviation (2 and 3) of the coordinates, and the error of the mean as the walkers differ'
gload --new -i 'x: float64[n, w, 2]' -e 'each = mean(x, axis=0)' -e 'mean = mean(each, axis=0)' -e 'deviation = std(x, axis=(0, 1))' \
    -e 'error = std(each, axis=0) / sqrt(float64(w))' --outputs mean,deviation,error | grun x=@"$out.npy[1000:]"

echo '# the share of the samples within the deviation of 1 around the parabola; it should come near 0.683'
gload --new -i 'x: float64[n, w, 2]' -e 'near = mean(abs(x[:, :, 1] - 0.5 * x[:, :, 0] ** 2) < 1)' --outputs near | grun x=@"$out.npy[1000:]"
