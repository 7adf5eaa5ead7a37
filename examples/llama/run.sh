#!/bin/sh
# Trains a small language model of llama's architecture on the text of the licence, then lets it go on from its first words: a
# letter a call, with the keys and values of those before kept in place from call to call.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
od -An -v -w1 -tu1 ../../LICENSE >"$out/text.tsv" # a number a line
text="int64(load('$out/text.tsv'))"

echo '# training: nats a letter'
ggrad train.yaml --cost loss --optimizer 'adam(cosine(4e-3, steps=300))' | grewrite |
    grun text="$text" --steps 300 --every 100 -O tsv --save "$out/trained.tlg"
weights=embed,query,key,value,mix,gate,up,down,attention_scale,network_scale,scale
gload "$out/trained.tlg" --outputs $weights | grewrite --keep $weights | grun -r '*'="$out/weights.npz"

echo '# the first 24 letters, and 72 of its own'
head -c 24 ../../LICENSE
gload generate.yaml --set "@$out/weights.npz" 2>"$out/kept.txt" | grewrite |
    grun given="concatenate([${text}[:24], full(72, -1)])" --each given --every 1 -O tsv |
    awk 'NR > 24 { printf "%c", $2 } END { print "" }'
