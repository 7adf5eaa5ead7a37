"""Rows of the tables that tests/bats/values.bash reads.

A line: the family, a call, its inputs as declarations of shared variables, and the type and value of the result. What is said of
float32 is the value in float64 of the float32 inputs, rounded once."""
import numpy as np
import torch

f2, f4, f8, i4, i8 = np.float16, np.float32, np.float64, np.int32, np.int64
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
