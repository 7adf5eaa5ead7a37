#!/bin/sh
# All evals with small inputs: messages in, answers out. Needs python3.
# usage: run.sh [DIRECTORY OF THE TOOLS [MODULE...]]
dir=${1:+$(cd "$1" && pwd)}
[ $# -eq 0 ] || shift
cd "$(dirname "$0")" || exit 1
set -e
python3 inputs.py "$@" | python3 tool.py "$dir"
