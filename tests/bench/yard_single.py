"""The expressions of single.tsv by NumPy and PyTorch on one thread: lines of np_ or torch_ and the key of single.c, tab, seconds.
usage: yard_single.py SINGLE.TSV [WORD], only the lines that have the word."""
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import re
import sys
import time
import numpy as np
try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None

rng = np.random.default_rng(1)


def clock(code, names, rounds):
    """Seconds of one of `rounds` evaluations, without the loop's own."""
    loop = eval(compile("lambda turns: [None for turn in turns if (%s) is turn]" % code, code, "eval"), names)
    turns = range(rounds)
    start = time.process_time()
    loop(turns)
    return (time.process_time() - start) / rounds


def best(code, names, budget=0.04):
    once = clock(code, names, 1)
    rounds = max(1, int(5e-4 / max(min(once, clock(code, names, 1)), 1e-7)))
    times, until = [], time.process_time() + budget
    while len(times) < 3 or time.process_time() < until:
        times.append(clock(code, names, rounds))
    return sorted(times)[len(times) // 2]


def array(name, dtype, shape, below):
    if dtype == "bool":
        x = rng.uniform(size=shape) < 0.5
    elif dtype.startswith("complex"):
        x = (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(dtype)
    elif dtype.startswith("float"):
        x = rng.uniform(-1, 1, shape).astype(dtype)
    else:
        x = rng.integers(0, below, shape).astype(dtype)
    if name == "p":
        x = np.abs(x) + np.ones((), dtype)
    return np.sort(x) if name == "s" else x


def inputs(text, dtype):
    found, first = {}, None
    for name, kind, shape in re.findall(r"(\w): '(\w+)\[([\d, ]*)\]'", text):
        shape = tuple(int(n) for n in shape.split(","))
        first = first or shape[0]
        found[name] = array(name, dtype if kind == "T" else kind, shape, first)
    return found


def main():
    for line in open(sys.argv[1], encoding="utf-8"):
        if line.startswith("#") or (len(sys.argv) > 2 and sys.argv[2] not in line):
            continue
        name, large, small, _, by_numpy, by_torch = line.rstrip("\n").split("\t")
        for dtype in ("float32", "float64") if "'T[" in large else ("",):
            for size, text in (("large", large), ("small", small)):
                key = re.sub(r"[^A-Za-z0-9]", "_", "%s_%s_%s" % (name, dtype, size))
                have = inputs(text, dtype)
                if by_numpy:
                    print("np_" + key, min(best(code, dict(have, np=np, rng=rng)) for code in by_numpy.split(" | ")), sep="\t")
                if torch and by_torch:
                    tensors = {k: torch.from_numpy(v) for k, v in have.items()}
                    with torch.no_grad():
                        print("torch_" + key, min(best(code, dict(tensors, torch=torch)) for code in by_torch.split(" | ")), sep="\t")
                sys.stdout.flush()


main()
