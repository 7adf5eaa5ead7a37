#!/bin/sh
# Trains a transformer on the text of the licence and writes what can be looked at in any browser: run.html, the curve of the
# loss; step.html, a training step with its time, memory and roofline; rewriting.html, how the step became fast, step by
# step; before.html, the step beside what it was before. usage: run.sh [DIRECTORY OF THE TOOLS [DIRECTORY FOR THE PAGES]]
PATH=${1:+$(cd "$1" && pwd):}$PATH
pages=$(cd "${2:-.}" && pwd)
cd "$(dirname "$0")" || exit 1
set -e
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
[ -n "$2" ] || pages=$out
od -An -v -w1 -tu1 ../../LICENSE >"$out/text.tsv" # a number a line
letters="letters=reshape(int64(load('$out/text.tsv'))[:960], (20, 48))"
next="next=reshape(int64(load('$out/text.tsv'))[1:961], (20, 48))"

ggrad model.yaml --cost loss --optimizer 'adam(0.002)' -o "$out/plain.tlg"
grewrite "$out/plain.tlg" --explain -O html -o "$pages/rewriting.html" 2>"$out/steps.txt"
grewrite "$out/plain.tlg" -o "$out/step.tlg"
(cd "$out" && grewrite plain.tlg --diff step.tlg -O html -o "$pages/before.html" 2>differ.txt) || [ $? = 1 ] # they differ

echo '# training: nats a letter'
grun "$out/step.tlg" "$letters" "$next" --steps 60 --every 20 -O tsv --report "$pages/run.html"
gprof "$out/step.tlg" "$letters" "$next" -O html -o "$pages/step.html"
echo '# pages'
(cd "$pages" && printf '%s\n' ./*.html)
