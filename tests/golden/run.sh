#!/bin/bash
# Golden files: each NAME.sh here is a script whose output, errors and exit status stand in NAME.out.
# usage: run.sh [--update] TOOLS_DIRECTORY
update=
if [ "$1" = --update ]; then
    update=1
    shift
fi
PATH=$(cd "$1" && pwd):$PATH
cd "$(dirname "$0")" || exit 1
ROOT=$(cd ../.. && pwd)
export PATH ROOT
bad=0
for script in *.sh; do
    [ "$script" != run.sh ] || continue
    golden=${script%.sh}.out
    tmp=$(mktemp -d)
    out=$(cd "$tmp" && bash -o pipefail "$ROOT/tests/golden/$script" 2>&1; echo "exit $?")
    out=${out//"$ROOT"/ROOT}
    rm -rf "$tmp"
    if [ -n "$update" ]; then
        printf '%s\n' "$out" >"$golden"
    elif ! diff -u "$golden" <(printf '%s\n' "$out"); then
        bad=1
    fi
done
exit $bad
