#!/bin/sh
# Runs fuzz targets for some seconds each. usage: run.sh DIRECTORY SECONDS [TARGET...]
# The corpus starts from a target's own seeds, the examples and random graphs, and grows in DIRECTORY from run to run; an input
# that fails stays there as NAME-crash-...
set -eu
dir=$1 seconds=$2 root=$(dirname "$0")/../..
shift 2
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(for f in "$root"/tests/fuzz/*.c; do basename "$f" .c; done)
failed=0
for t; do
    corpus=$dir/$t.corpus
    mkdir -p "$corpus"
    "$dir/../tests/fuzz/$t" --corpus "$corpus"
    case $t in
    yaml | pipe | ops) find "$root/examples" -name '*.yaml' ;;
    npy) find "$root/examples" -name '*.npy' -size -64k ;;
    *) : ;;
    esac | while read -r f; do cp "$f" "$corpus/example-$(echo "$f" | cksum | cut -d' ' -f1)"; done
    case $t in
    yaml | pipe)
        made=$(mktemp -d)
        for n in $(seq 100); do
            "$dir/../tests/torture/graph" "$n" "$made" && cp "$made/graph.yaml" "$corpus/graph-$n"
        done
        rm -rf "$made"
        ;;
    esac
    echo "$t: $seconds s"
    "$dir/$t" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$dir/$t-" "$corpus" >"$dir/$t.log" 2>&1 || failed=1
    grep -E 'SUMMARY|number_of_executed_units|Test unit written' "$dir/$t.log" || true
done
exit $failed
