#!/bin/sh
# Looks into a trained network: reaps its hidden layers, and plants one of other digits to see what the rest makes of it.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
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

echo '# rows it has not seen, and its layers by the way; the share of their units that is nearly at an end of tanh'
trained --reap layers | grun "$(rows 1500:)" y=@"$test" -r layers/first="$out.first.npy" -r layers/second="$out.second.npy"
gload --new -i 'a: float32[n, k]' -i 'b: float32[n, m]' -e 'first = mean(abs(a) > 0.9)' -e 'second = mean(abs(b) > 0.9)' --outputs first,second |
    grun a=@"$out.first.npy" b=@"$out.second.npy"

echo '# the second layer planted as it was: nothing changes'
trained --plant layers/second | grun second=@"$out.second.npy" y=@"$test"
echo '# with three quarters of its units silenced: less is recognised'
trained --plant layers/second | grun second="load('$out.second.npy') * (arange(32) >= 24)" y=@"$test"
echo '# that of other digits: nothing is'
trained --plant layers/second | grun second="load('$out.second.npy')[::-1]" y=@"$test"
echo '# the second layer sees the first one planted by its average: all digits are one'
trained --plant layers/first --reap second | grun first="zeros((297, 48)) + mean(load('$out.first.npy'), axis=0)" y=@"$test" -r layers/second="$out.npy"
gload --new -i 'h: float32[n, k]' -e 'spread = max(abs(h - h[0]))' --outputs spread | grun h=@"$out.npy"
