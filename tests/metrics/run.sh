#!/bin/sh
# Figures about the shape of the code in lib and cmd, to look at: none of them is a gate. usage: run.sh [-v]
# -v lists the functions behind the figures that count some.
cd "$(dirname "$0")/../.." || exit 1
command -v ctags >/dev/null || { echo "metrics: there is no ctags" >&2; exit 1; }
sources=$(find lib cmd -name '*.[ch]' | sort)
# shellcheck disable=SC2086
{
    ctags -f - --fields=+neSK --c-kinds=f --languages=C $sources 2>/dev/null | sed 's/^/T\t/'
    awk '{ print "L\t" FILENAME "\t" $0 }' $sources
} | awk -v list="$([ "$1" = -v ] && echo 1)" -f tests/metrics/metrics.awk
