#!/bin/sh
# The benchmarks: one table, and BUILD/bench/figures.json. usage: run.sh BUILD
# With COMPARE=FILE, the figures of an earlier run, it ends with the ratios that moved by more than a tenth, and says so by
# its status.
# Every figure stands beside a yardstick that ran in the same minute; read the ratios, not the times.
set -e
build=$1 here=$(dirname "$0")
work=$build/bench
mkdir -p "$work"
export BENCH_ROWS="$work/rows.tsv"
rm -f "$BENCH_ROWS"
# With an argument it opens OpenBLAS, as a tool that multiplies does.
cat >"$work/empty.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv) {
    (void)argv;
    return argc > 1 && !dlopen("libopenblas.so.0", RTLD_NOW) && argc > 2;
}
END
${CC:-cc} -O2 -o "$work/empty" "$work/empty.c"
for kind in chain tree rnn mlp transformer; do
    for n in 1000 10000 100000 1000000; do
        "$build/tests/bench/gen" $kind $n >"$work/$kind-$n.yaml"
    done
done

# NumPy's column, where there is NumPy, and PyTorch's layers; OpenBLAS is told the CPU as our tools tell it.
export BENCH_NUMPY="$work/numpy.tsv"
rm -f "$BENCH_NUMPY"
python=$(command -v /usr/bin/python3 || command -v python3 || true)
case $(grep -m1 -o avx512vl /proc/cpuinfo 2>/dev/null) in
?*) core=SkylakeX ;;
*) core= ;;
esac
if [ -n "$python" ] && "$python" -c 'import numpy' 2>/dev/null; then
    env ${core:+OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-$core}"} "$python" "$here/yard_numpy.py" >"$BENCH_NUMPY"
fi

if [ -n "$python" ] && "$python" -c 'import numpy' 2>/dev/null; then
    env ${core:+OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-$core}"} OPENBLAS_NUM_THREADS=1 \
        "$python" "$here/yard_single.py" "$here/single.tsv" >>"$BENCH_NUMPY"
fi
if [ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null; then
    # PyTorch's own count of threads is not that of its OpenBLAS.
    OPENBLAS_NUM_THREADS=1 "$python" "$here/yard_torch.py" >>"$BENCH_NUMPY"
    OPENBLAS_NUM_THREADS=1 "$python" "$here/yard_workloads.py" >>"$BENCH_NUMPY"
fi

# Networks: models of torchvision, by ONNX Runtime where NODE_PATH has it.
if [ -n "$python" ] && "$python" -c 'import torchvision, onnx' 2>/dev/null; then
    OPENBLAS_NUM_THREADS=1 "$python" "$here/yard_networks.py" "$work" >>"$BENCH_NUMPY"
    for net in resnet18 mobilenet_v2; do
        "$build/bin/gload" --freeze '*' "$work/$net.onnx" -o "$work/$net-forward.tlg"
        "$build/bin/gload" -e 'cost = sum(y * y)' --outputs cost "$work/$net.onnx" |
            "$build/bin/ggrad" --only -o "$work/$net-gradient.tlg"
        node -e 'require("onnxruntime-node")' 2>/dev/null || continue
        for n in 1 2; do
            node "$here/yard_ort.js" "$work/$net.onnx" $n "$net-forward-$n" >>"$BENCH_NUMPY"
        done
    done
fi

# Evals: evals.c names each graph and its sizes.
sed -n 's/^    {"\([a-z]* [a-z].*\)", .*/\1/p' "$here/evals.c" | while read -r eval; do
    set --
    for size in ${eval#* }; do case $size in *=*) set -- "$@" --dim "$size" ;; esac; done
    "$build/bin/gload" "$@" "$here/../../examples/gradbench/${eval%% *}.yaml" -o "$work/$eval.tlg"
done

# Workloads: steps of gradient descent, a gradient, a call as it is.
for step in transformer mlp llama_step; do
    "$build/bin/ggrad" "$here/workloads/$step.yaml" --cost loss --optimizer 'sgd(0.01)' -o "$work/workload-$step.tlg"
done
"$build/bin/ggrad" "$here/workloads/lstm.yaml" --cost loss --wrt W,U,b -o "$work/workload-lstm.tlg"
"$build/bin/gload" "$here/workloads/jacobi.yaml" -o "$work/workload-jacobi.tlg"
"$build/bin/gload" "$here/workloads/llama_token.yaml" -o "$work/workload-llama_token.tlg"

"$build/tests/bench/start" "$build/bin" "$work/empty" "$here/../../examples/digits"
"$build/tests/bench/size" "$work"
"$build/tests/bench/overhead"
"$build/tests/bench/weights"
"$build/tests/bench/search"
"$build/tests/bench/kernels"
"$build/tests/bench/single" "$here/single.tsv"
"$build/tests/bench/threads" "$here/threads.tsv"
"$build/tests/bench/loops"
"$build/tests/bench/convolutions"
"$build/tests/bench/networks" "$work"
"$build/tests/bench/evals" "$work"
"$build/tests/bench/workloads" "$work"
"$build/tests/bench/ranks" "$build" "$work"

awk -f "$here/json.awk" "$BENCH_ROWS" >"$work/figures.json"
[ -z "$COMPARE" ] || awk -f "$here/compare.awk" "$COMPARE" "$work/figures.json"
