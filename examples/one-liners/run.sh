#!/bin/sh
# One-liners: each is a line a user would type; the comment says what comes out.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -ex

# a calculator with NumPy's functions
gload -e 'sqrt(2) * sin(pi / 4)' | grun

# a derivative, and the same one checked against finite differences
gload -e 'sin(x)**2' | ggrad | grun x=1.0
gload -e 'sin(x)**2' | ggrad --check x=1.0

# Newton's method for sqrt(a), as a graph with state
gload --new -i 'a: float64' --shared 'r: float64 = 1.0' -e 'r' --update 'r = (r + a / r) / 2' | grun a=2 --steps 6 --every 1 -O tsv

# what a rewrite does, and that it changes nothing
gload -e 'log(1 + exp(x))' -O tlg | grewrite --explain --verify 5 -O math
gload -e 'log(1 + exp(x))' | grewrite | grun x=-40

# the mean of each column of a file
gload -i 'x: float64[n, m]' -e 'mean(x, axis=0)' | grun x='float64(load("../digits/x.npy"))[:, 18:22]'

# a test in a script: exit status 1 when the numbers are off
gload -i 'a: float64[n, n]' -e 'a @ a' | grun a='[[0, 1], [1, 0]]' --expect out='eye(2)'

# the flops of a matrix product, without running it
gload -i 'a: float32[m, k]' -i 'b: float32[k, n]' -e 'a @ b' | gprof --static --dim m=100 --dim k=200 --dim n=300 --assert 'flops == 2 * 100 * 200 * 300' --by op
