#!/bin/sh
# Looks into a trained network: reaps its hidden layers, and plants one of other digits to see what the rest makes of it.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$1:}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-probe.$$
trap 'rm -f "$out".*' EXIT
digits=../digits
step() { printf '%s = %s - 0.3 * d_loss_d_%s' "$1" "$1" "$1"; }
rows() { printf "x=float32(load('%s/x.npy')[%s]) / 16" "$digits" "$1"; }

echo '# training; gradients go through what is sown'
set -- W1 b1 W2 b2 W3 b3
wrt=$(echo "$*" | tr ' ' ,)
for name; do set -- "$@" --update "$(step "$name")"; shift; done
ggrad model.yaml --cost loss --wrt "$wrt" | gload - "$@" --outputs loss,accuracy | grewrite |
    grun "$(rows :1500)" y=@$digits/y.npy[:1500] --each x,y --batch 50 --epochs 12 --shuffle 7 --save "$out.tlg"
test="$digits/y.npy[1500:]"
trained() { grewrite "$out.tlg" --keep loss,accuracy "$@"; }

echo '# rows it has not seen, and its layers by the way'
trained --reap layers | grun "$(rows 1500:)" y=@"$test" -r layers/first="$out.first.npy" -r layers/second="$out.second.npy"
gload --new -i 'h: float32[n, k]' -e 'busy = mean(abs(h))' --outputs busy | grun h=@"$out.first.npy"

echo '# the second layer planted as it was: nothing changes; planted upside down: nothing is recognised'
trained --plant layers/second | grun second=@"$out.second.npy" y=@"$test"
trained --plant layers/second | grun second="load('$out.second.npy')[::-1]" y=@"$test"
