"""The same as kernels.c by NumPy on one thread: lines of name, tab, seconds."""
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import time
import numpy as np


def best(f, budget=0.15):
    f()
    times, until = [], time.process_time() + budget
    while len(times) < 3 or time.process_time() < until:
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return sorted(times)[len(times) // 2]


def show(name, f, budget=0.15):
    print(name, best(f, budget), sep="\t")


rng = np.random.default_rng(1)
for short, dtype in (("f32", np.float32), ("f64", np.float64)):
    for text, n in (("1e3", 1000), ("1e5", 100000), ("1e7", 10000000)):
        a, b, c = (rng.uniform(-1, 1, n).astype(dtype) for _ in range(3))
        show(f"fma_{short}_{text}", lambda: a * b + c)
        if n > 1000:
            show(f"chain_{short}_{text}",
                 lambda: np.tanh(np.log(np.exp(a) + 2)) * (1 / (1 + np.exp(-b))))
    for text, (m, k, n) in (("512", (512,) * 3), ("1024", (1024,) * 3), ("mlp", (128, 784, 256))):
        a, b = rng.uniform(-1, 1, (m, k)).astype(dtype), rng.uniform(-1, 1, (k, n)).astype(dtype)
        show(f"dot_{text}_{short}", lambda: a @ b)

for text, dtype, shape in (("1000_f32", np.float32, (1000, 1000)), ("100_f64", np.float64, (100, 1000))):
    a = rng.uniform(-1, 1, shape).astype(dtype)
    show(f"gram_{text}", lambda: a.T @ a)
p, q = (rng.uniform(-1, 1, 1000000) for _ in range(2))
show("dot_1e6", lambda: p @ q)
a, u, v = (rng.uniform(-1, 1, n).astype(np.float32) for n in ((32000, 288), 288, 32000))
show("gemv_rows", lambda: a @ u)
show("gevm_rows", lambda: v @ a)
a = rng.uniform(-1, 1, (4096, 4096)).astype(np.float32)
v = rng.uniform(-1, 1, 4096).astype(np.float32)
show("gemv_square", lambda: a @ v)
show("gevm_square", lambda: v @ a)
for text, axis in (("0", 0), ("1", 1), ("all", None)):
    show(f"sum_{text}", lambda: a.sum(axis))
    show(f"max_{text}", lambda: a.max(axis))
    show(f"argmax_{text}", lambda: a.argmax(axis), 0.05)
show("transpose", lambda: np.ascontiguousarray(a.T), 0.05)
show("add_transposed", lambda: a + a.T, 0.05)
u, v = a[:, :1].copy(), a[:1].copy()
show("broadcast", lambda: u + v)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


x = a[:, :1000].copy()
show("softmax", lambda: softmax(x))
x, at = rng.uniform(-1, 1, 1000000).astype(np.float32), rng.integers(0, 1000000, 1000000)
show("gather", lambda: x[at])
for text, n in (("1e3", 1000), ("1e5", 100000), ("1e7", 10000000)):
    p, q = (rng.uniform(-1, 1, n).astype(np.float32) for _ in range(2))
    show(f"distance_{text}", lambda: np.sum((p - q) ** 2))
p, q = (rng.uniform(-1, 1, (4096, 1000)).astype(np.float32) for _ in range(2))
show("distance_0", lambda: np.sum((p - q) ** 2, 0))
show("exp_rows", lambda: np.exp(p - q[:, :1]).sum(1))


def scatter():
    out = np.zeros_like(x)
    np.add.at(out, at, x)


show("scatter", scatter, 0.05)
for name, shape, f in (("rfft_1024", (256, 1024), np.fft.rfft), ("rfft_65536", (65536,), np.fft.rfft),
                       ("rfft_1000", (256, 1000), np.fft.rfft), ("fft_1009", (64, 1009), np.fft.fft),
                       ("irfft_1024", (256, 1024), lambda x: np.fft.irfft(np.fft.rfft(x)))):
    wave = rng.uniform(-1, 1, shape)
    show(f"layer_{name}", lambda: f(wave))
