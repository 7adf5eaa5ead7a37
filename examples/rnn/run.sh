#!/bin/sh
# Trains the network on the text of the licence by gradients through the loop, then lets it speak.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=${TMPDIR:-/tmp}/thunkline-rnn.$$
trap 'rm -f "$out".*' EXIT
od -An -v -w1 -tu1 ../../LICENSE >"$out.tsv" # a number a line
update() { printf '%s = %s - 0.5 * clip(d_loss_d_%s, -0.03, 0.03)' "$1" "$1" "$1"; }
text="text=int64(load('$out.tsv'))"

echo '# training: nats a character, each 100th step'
grewrite model.yaml --mode NONE --keep loss | ggrad --cost loss --wrt U,V,b,W,c |
    gload - --update "$(update U)" --update "$(update V)" --update "$(update b)" --update "$(update W)" --update "$(update c)" --outputs loss |
    grewrite | grun "$text" --steps 400 --every 100 -O tsv --save "$out.tlg"

echo '# speech'
set --
gload "$out.tlg" --outputs U,V,b,W,c | grun "$text" -r U="$out.U.npy" -r V="$out.V.npy" -r b="$out.b.npy" -r W="$out.W.npy" -r c="$out.c.npy"
for name in U V b W c; do set -- "$@" --set "$name=@$out.$name.npy"; done
gload model.yaml "$@" | grewrite --keep speech | grun "$text" --seed 1 -r speech="$out.csv"
awk '{ printf "%c", $1 } END { print "" }' "$out.csv"
