#!/usr/bin/python3
"""Writes tests/bats/text_ops.tsv: values of the ops that the library defines as text, worked out by PyTorch (1.13), NumPy (1.24) and
SciPy (1.10), to which tests/bats/text_ops.bats compares them. Tests don't need it: run it when an op is added.

A line: the family, a call, its inputs as declarations of shared variables, and the type and value of the result. What is said of
float32 is the value in float64 of the float32 inputs, rounded once."""
import warnings
import numpy as np
import scipy.special
import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
np.seterr(all="ignore")
f4, f8, i4, i8 = np.float32, np.float64, np.int32, np.int64
inf, nan = np.inf, np.nan
NAMES = {}


def number(v):
    if isinstance(v, (bool, np.bool_)):
        return str(bool(v))
    return repr(float("%.9g" % v) if isinstance(v, np.float32) else v.item())


def text(a):
    if a.size == 0:
        return "zeros(%s, dtype=%s)" % (list(a.shape), a.dtype)
    return number(a[()]) if a.ndim == 0 else "[" + ", ".join(text(x) for x in a) + "]"


def typed(a):
    return str(a.dtype) + (str(list(a.shape)) if a.ndim else "") + " = " + text(a)


def row(family, call, value, **inputs):
    """A call in which {x} stands for the input x."""
    names, lines = {}, []
    for k, v in inputs.items():
        line = typed(np.asarray(v))
        names[k] = NAMES.setdefault(line, "v%d" % len(NAMES))
        lines.append("%s: %s" % (names[k], line))
    print("\t".join([family, call.format(**names), "; ".join(lines), typed(np.asarray(value))]))


def both(family, call, f, *arrays, grad=False, names="xyzw"):
    """The call for float64 and float32 inputs; with grad=True, also the gradient of its sum by each of them, by PyTorch."""
    for t in (f8, f4):
        a = [np.asarray(x, t) for x in arrays]
        inputs = dict(zip(names, a))
        ts = [torch.tensor(x.astype(f8), requires_grad=grad) for x in a]
        r = f(*ts)
        row(family, call, r.detach().numpy().astype(t), **inputs)
        if grad:
            for k, g in zip(names, torch.autograd.grad(r.sum(), ts)):
                row(family, "grad(sum(%s), {%s})" % (call, k), g.numpy().astype(t), **inputs)


# ---- nn/activations ----
N = "nn/activations"
X = np.array([[-3.5, -2.25, -0.75, -0.125], [0.3, 0.625, 1.75, 4.5]])
FAR = [-1e30, -800.0, -90.0, 90.0, 800.0, 1e30]
NONE = np.zeros((0, 3))
EDGE = [nan, inf, 0.0, -0.0]
for call, f in [
    ("relu6({x})", F.relu6), ("leaky_relu({x})", F.leaky_relu), ("leaky_relu({x}, alpha=0.2)", lambda x: F.leaky_relu(x, 0.2)),
    ("thresholded_relu({x}, alpha=0.5)", lambda x: F.threshold(x, 0.5, 0.0)), ("elu({x})", F.elu), ("elu({x}, alpha=0.5)", lambda x: F.elu(x, 0.5)),
    ("selu({x})", F.selu), ("celu({x}, alpha=2)", lambda x: F.celu(x, 2.0)), ("silu({x})", F.silu), ("mish({x})", F.mish),
    ("hardtanh({x})", F.hardtanh), ("hardtanh({x}, min=-2, max=0.5)", lambda x: F.hardtanh(x, -2.0, 0.5)), ("hardsigmoid({x})", lambda x: torch.clamp(x + 3, 0, 6) / 6),
    ("hardswish({x})", F.hardswish), ("softsign({x})", F.softsign), ("softshrink({x})", F.softshrink), ("hardshrink({x})", F.hardshrink),
    ("softshrink({x}, threshold=1)", lambda x: F.softshrink(x, 1.0)), ("hardshrink({x}, threshold=1)", lambda x: F.hardshrink(x, 1.0)),
    ("log_sigmoid({x})", F.logsigmoid), ("gelu({x}, approximate=True)", lambda x: F.gelu(x, approximate="tanh")), ("tanhshrink({x})", F.tanhshrink),
]:
    both(N, call, f, X, grad=True)
    both(N, call, f, FAR, grad=True)
    both(N, call.replace("{x}", "{x}.T[::2, ::-1]"), lambda x: f(torch.flip(x.T[::2], [1])), X, grad=True)
    both(N, call, f, 0.3)
    both(N, call, f, NONE)
both(N, "gelu({x})", lambda x: x * torch.special.ndtr(x), X, grad=True)
for t in (f8, f4):
    x = np.array([-8.0, -5.0, -1e30, 40.0], t)
    row(N, "gelu({x})", (x * scipy.special.ndtr(x.astype(f8))).astype(t), x=x)
for call, f in [("relu6({x})", F.relu6), ("elu({x})", F.elu), ("selu({x})", F.selu), ("celu({x})", F.celu), ("hardtanh({x})", F.hardtanh),
                ("hardsigmoid({x})", F.hardsigmoid), ("hardshrink({x})", F.hardshrink), ("log_sigmoid({x})", F.logsigmoid), ("mish({x})", F.mish)]:
    both(N, call, f, EDGE)
row(N, "log_sigmoid({x})", np.array([-inf, -0.0]), x=np.array([-inf, inf]))
row(N, "softshrink({x})", np.array([nan, inf, -inf, 0.0]), x=np.array([nan, inf, -inf, -0.0]))
row(N, "relu6({x})", np.array([0, 0, 3, 6], i4), x=np.array([-3, 0, 3, 9], i4))
row(N, "elu({x})", np.array([np.expm1(-3), 0, 3]), x=np.array([-3, 0, 3], i4))
row(N, "hardsigmoid({x})", np.array([0, 0.5, 1]), x=np.array([-3, 0, 3], i8))
both(N, "prelu({x}, {y})", lambda x, y: torch.where(x > 0, x, y * x), X, [0.25, 0.0, 0.5, -1.0], grad=True)
both(N, "prelu({x}, {y})", lambda x, y: F.prelu(x, y), X, 0.25, grad=True)
row(N, "grad(sum(prelu({x}, {y})), {y})", np.array(-2.0), x=np.array([-2.0, 0.0, 3.0, inf]), y=np.array(0.0))
for axis in (0, 1, -1):
    both(N, "softmin({x}, axis=%d)" % axis, lambda x: F.softmin(x, axis), X)
    both(N, "glu({x}, axis=%d)" % axis, lambda x: F.glu(x, axis), X, grad=True)
    both(N, "grad(sum(softmin({x}, axis=%d) ** 2), {x})" % axis,
         lambda x: torch.autograd.grad((F.softmin(x.requires_grad_(), axis) ** 2).sum(), x)[0], X)
both(N, "softmin({x})", lambda x: F.softmin(x, 0), [800.0, 801.0, -900.0])
