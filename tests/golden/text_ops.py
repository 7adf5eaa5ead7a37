#!/usr/bin/python3
"""Writes tests/bats/text_ops.tsv: values of the ops that the library defines as text, worked out by
PyTorch (1.13), NumPy (1.24) and SciPy (1.10), to which tests/bats/text_ops.bats compares them. Tests don't need it: run it when an op is
added."""
import warnings, numpy as np
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats
import torch
import torch.nn.functional as F
from values import both, f4, f8, i4, i8, inf, nan, row

warnings.simplefilter("ignore")
np.seterr(all="ignore")
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

# ---- nn/normalisations ----
N = "nn/normalisations"
R = np.random.RandomState(7)
T = torch.tensor

def some(*shape):
    return R.uniform(-2, 2, shape).round(3)

A, B, C = some(3, 4), some(2, 4, 3), some(2, 4, 2, 3)
S4, B4, V4 = some(4), some(4), some(4) ** 2 + 0.1
both(N, "layer_norm({x})", lambda x: F.layer_norm(x, (4,)), A, grad=True)
both(N, "layer_norm({x}, {y}, {z}, eps=1e-3)", lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-3), A, S4, B4, grad=True)
both(N, "layer_norm({x}.T, axis=0).T", lambda x: F.layer_norm(x, (4,)), A)
both(N, "layer_norm({x}, {y}, axis=[-2, -1])", lambda x, w: F.layer_norm(x, (4, 3), w), B, some(4, 3))
both(N, "rms_norm({x})", lambda x: x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt(), A, grad=True)
both(N, "rms_norm({x}, {y}, eps=1e-3)", lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-3).rsqrt() * w, A, S4, grad=True)
for x in (A, B, C):
    both(N, "batch_norm({x}, {y}, {z})", lambda x, m, v: F.batch_norm(x, m, v), x, B4, V4)
both(N, "batch_norm({x}, {y}, {z}, {w}, {v})", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), B, B4, V4, S4, some(4), names="xyzwv")
both(N, "batch_norm({x}, {y}, {z}, eps=0.1, axis=-1)", lambda x, m, v: F.batch_norm(x, m, v, eps=0.1), A, B4, V4)
both(N, "batch_norm({x}, {y}, {z}, axis=0)", lambda x, m, v: F.batch_norm(x.transpose(0, 1), m, v).transpose(0, 1), A.T, B4, V4)
for x in (B, C):
    both(N, "instance_norm({x})", lambda x: F.instance_norm(x), x, grad=True)
    both(N, "instance_norm({x}, {y}, {z}, eps=0.01)", lambda x, w, b: F.instance_norm(x, None, None, w, b, eps=0.01), x, S4, B4)
    both(N, "group_norm({x}, groups=2)", lambda x: F.group_norm(x, 2), x, grad=True)
    both(N, "group_norm({x}, {y}, {z}, groups=4, eps=0.01)", lambda x, w, b: F.group_norm(x, 4, w, b, 0.01), x, S4, B4)
both(N, "group_norm({x}, groups=1)", lambda x: F.group_norm(x, 1), A)
both(N, "layer_norm({x})", lambda x: x, NONE)
row(N, "layer_norm({x})", F.layer_norm(T([[1.0, 2, 4]], dtype=torch.float64), (3,)).numpy(), x=np.array([[1, 2, 4]], i4))

# ---- nn/losses ----
N = "nn/losses"
A, B = some(3, 4), some(3, 4)
P, Q = R.uniform(0.05, 0.95, (3, 4)).round(3), R.uniform(0, 1, (3, 4)).round(3)
P1, Q1 = P / P.sum(1, keepdims=True), Q / Q.sum(1, keepdims=True)
for name, f, a, b in [
    ("mse_loss", F.mse_loss, A, B), ("l1_loss", F.l1_loss, A, B), ("huber_loss", F.huber_loss, A, B), ("smooth_l1_loss", F.smooth_l1_loss, A, B),
    ("binary_cross_entropy", F.binary_cross_entropy, P, Q), ("binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits, A, Q)]:
    both(N, name + "({x}, {y})", lambda x, y: f(x, y), a, b, grad=not name.startswith("binary_cross_entropy"))
    both(N, name + "({x}, {y}, mean=False)", lambda x, y: f(x, y, reduction="none"), a, b)
    both(N, "grad(%s({x}, {y}), {x})" % name, lambda x, y: torch.autograd.grad(f(x.requires_grad_(), y), x)[0], a, b)
    both(N, name + "({x}, {y}, mean=False)", lambda x, y: f(x, y, reduction="none"), NONE, NONE)
both(N, "mse_loss({x}, {y}, mean=False)", lambda x, y: (x - y) ** 2, A, B[0])
for d in (0.25, 3):
    both(N, "huber_loss({x}, {y}, delta=%s)" % d, lambda x, y: F.huber_loss(x, y, delta=d), A, B, grad=True)
    both(N, "smooth_l1_loss({x}, {y}, beta=%s)" % d, lambda x, y: F.smooth_l1_loss(x, y, beta=d), A, B, grad=True)
both(N, "smooth_l1_loss({x}, {y}, beta=0)", lambda x, y: F.l1_loss(x, y), A, B)
both(N, "grad(huber_loss({x}, {y}), {x})", lambda x, y: T([-0.5, 0.5]), [-inf, inf], [0.0, 0.0])
both(N, "binary_cross_entropy({x}, {y}, mean=False)", lambda x, y: T([0.0, 0.0, inf, inf]), [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0])
FAR2 = [-800.0, 800.0, -40.0, 40.0, -800.0]
both(N, "binary_cross_entropy_with_logits({x}, {y}, mean=False)", lambda x, y: T([0.0, 0.0, np.exp(-40), np.exp(-40), 800]), FAR2, [0.0, 1, 0, 1, 1])
both(N, "grad(sum(binary_cross_entropy_with_logits({x}, {y}, mean=False)), {x})",
     lambda x, y: torch.sigmoid(x) - y, [-800.0, 800.0, 0.0, 0.0, -800.0], [0.0, 1, 0, 1, 1])
LABEL, PLANE = np.array([3, 0, 2]), np.array([[3, 0, 2], [1, 1, 0]])
for t in (f8, f4):
    x, d = A.astype(t), T(A.astype(t).astype(f8), requires_grad=True)
    loss = F.cross_entropy(d, T(LABEL))
    row(N, "cross_entropy({x}, {label})", loss.detach().numpy().astype(t), x=x, label=LABEL)
    row(N, "grad(cross_entropy({x}, {label}), {x})", torch.autograd.grad(loss, d)[0].numpy().astype(t), x=x, label=LABEL)
    row(N, "nll_loss({x}, {label}, mean=False)", F.nll_loss(d, T(LABEL), reduction="none").detach().numpy().astype(t), x=x, label=LABEL)
    row(N, "cross_entropy({x}, {label}, mean=False)", F.cross_entropy(d * 1000, T(LABEL), reduction="none").detach().numpy().astype(t),
        x=(x * np.array(1000, t)), label=LABEL) if t is f8 else None
    x = C.transpose(0, 1, 3, 2)[:, :, :, 0].astype(t)
    value = F.cross_entropy(T(x.astype(f8)), T(PLANE), reduction="none").numpy().astype(t)
    row(N, "cross_entropy({x}, {label}, axis=1, mean=False)", value, x=x, label=PLANE.astype(i4))
    row(N, "cross_entropy(moveaxis({x}, 1, -1), {label})", np.mean(value.astype(f8)).astype(t), x=x, label=PLANE)
    row(N, "kl_divergence({x}, {y})", scipy.special.rel_entr(P1.astype(t).astype(f8), Q1.astype(t).astype(f8)).sum(1).astype(t), x=P1.astype(t), y=Q1.astype(t))
row(N, "kl_divergence({x}, {y}, axis=None)", np.array(scipy.special.rel_entr(P1, Q1).sum()), x=P1, y=Q1)
row(N, "kl_divergence({x}, {y})", np.array([np.log(2), inf, 0.0]), x=np.array([[0.0, 1], [0.5, 0.5], [1, 0]]), y=np.array([[0.5, 0.5], [1, 0], [1, 0]]))
row(N, "mse_loss({x}, {y})", np.array(2.0), x=np.array([1, 2], i4), y=np.array([3, 2], i4))

# ---- creation/windows ----
N = "creation/windows"
for name, f, scipys in [("bartlett", np.bartlett, "bartlett"), ("hanning", np.hanning, "hann"), ("hamming", np.hamming, "hamming"),
                        ("blackman", np.blackman, "blackman")]:
    for n in (0, 1, 2, 5, 8):
        row(N, "%s(%d)" % (name, n), f(n))
        row(N, "%s(%d, periodic=True)" % (name, n), scipy.signal.get_window(scipys, n) if n else np.zeros(0))
    row(N, name + "({x}.shape[0])", f(6), x=np.arange(6.0))

# ---- reduce/statistics ----
N = "reduce/statistics"

def numpys(family, call, f, *arrays, names="xyzw"):
    """The call for float64 and float32 inputs, as NumPy computes it in float64."""
    for t in (f8, f4):
        a = [np.asarray(x, t) for x in arrays]
        row(family, call, np.asarray(f(*[x.astype(f8) for x in a])).astype(t), **dict(zip(names, a)))

N = "elemwise/special"
for name in ("boxcox", "inv_boxcox"):
    numpys(N, name + "({x}, {y})", getattr(scipy.special, name), [0.5, 2.0, 7.0, 2.0, 1.0, nan], [1.5, -0.4, 0.3, 0.0, 1.0, 1.0])
numpys(N, "boxcox({x}, {y})", scipy.special.boxcox, [0.0, 0.0, -1.0, inf], [0.0, 1.0, 1.0, 2.0])
for name in ("huber", "pseudo_huber"):
    numpys(N, name + "({x}, {y})", getattr(scipy.special, name), [1.0, 1.0, 2.5, 0.0, -1.0, 1.0, nan], [0.5, -3.0, 2.0, 2.0, 1.0, nan, 1.0])
numpys(N, "pseudo_huber({x}, {y})", scipy.special.pseudo_huber, 2.0, [1e-9, 1e9])
for p in (1, 2, 5):
    numpys(N, "multigammaln({x}, %d)" % p, lambda x: np.vectorize(lambda a: scipy.special.multigammaln(a, p))(x), [2.5, 3.0, 40.25])

A, H = some(4, 5), some(2, 3, 4)
HOLES = H.copy()
HOLES[0, 1, 2] = HOLES[1, 0, 0] = HOLES[1, 2, 3] = HOLES[0, 0, 0] = nan
for name in ("median", "ptp"):
    f = getattr(np, name)
    for axis, keep in [(None, False), (0, False), (1, True), (-1, False), (None, True)]:
        g = (lambda x: np.median(x, axis=axis, keepdims=keep)) if f is np.median else lambda x: x.max(axis, keepdims=keep) - x.min(axis, keepdims=keep)
        numpys(N, "%s({x}, axis=%s, keepdims=%s)" % (name, axis, keep), g, H)
numpys(N, "median({x}[:, ::2], axis=1)", lambda x: np.median(x[:, ::2], axis=1), A)
numpys(N, "median({x}, axis=2)", lambda x: np.median(x, axis=2), HOLES)
numpys(N, "median({x})", np.median, 2.5)
numpys(N, "median({x})", np.median, [1.0, inf, inf])
numpys(N, "median({x})", np.median, np.zeros(0))
row(N, "median({x})", np.array(2.5), x=np.array([4, 1, 3, 2], i4))
for q in (0, 0.1, 0.5, 0.77, 1):
    numpys(N, "quantile({x}, %s)" % q, lambda x: np.quantile(x, q), A)
    numpys(N, "percentile({x}, %s)" % (100 * q), lambda x: np.percentile(x, 100 * q), A)
Q = np.array([0.0, 0.25, 0.6, 0.9, 1.0])
for axis, keep in [(None, False), (0, False), (1, True), (-1, False), (-1, True), (None, True)]:
    numpys(N, "quantile({x}, [0, 0.25, 0.6, 0.9, 1], axis=%s, keepdims=%s)" % (axis, keep), lambda x: np.quantile(x, Q, axis=axis, keepdims=keep), H)
    numpys(N, "percentile({x}, 30, axis=%s, keepdims=%s)" % (axis, keep), lambda x: np.percentile(x, 30, axis=axis, keepdims=keep), H)
    numpys(N, "{x} - median({x}, axis=%s, keepdims=True)" % axis, lambda x: x - np.median(x, axis=axis, keepdims=True), H)
numpys(N, "quantile({x}, 0.5, axis=2)", lambda x: np.quantile(x, 0.5, axis=2), HOLES)
row(N, "quantile({x}, 0.3)", np.array(np.quantile([4, 1, 3, 2], 0.3)), x=np.array([4, 1, 3, 2]))
W = np.abs(some(4, 5)) + 0.1
numpys(N, "average({x})", np.average, A)
numpys(N, "average({x}, {y})", lambda x, w: np.average(x, weights=w), A, W)
numpys(N, "average({x}, {y}, axis=0)", lambda x, w: np.average(x, axis=0, weights=w), A, W)
numpys(N, "average({x}, {y}, axis=0)", lambda x, w: np.average(x, axis=0, weights=w), A, W[:, 0])
numpys(N, "average({x}, {y}, axis=1, keepdims=True)", lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), A, W[0])
numpys(N, "average({x}, {y}, axis=0, keepdims=True)", lambda x, w: np.average(x, axis=0, weights=w, keepdims=True), A, W[:, 1])
row(N, "average({x}, {y})", np.array(2.25), x=np.array([1, 2, 3], i4), y=np.array([1, 1, 2], i8))
for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"):
    f = getattr(np, name)
    for axis, keep in [(None, False), (0, False), ((0, 2), True), (1, True), (-1, False)]:
        numpys(N, "%s({x}, axis=%s, keepdims=%s)" % (name, list(axis) if isinstance(axis, tuple) else axis, keep), lambda x: f(x, axis=axis, keepdims=keep), HOLES)
    numpys(N, name + "({x}, axis=1)", lambda x: f(x, axis=1), [[nan, nan], [1.0, nan], [inf, 2]])
    x = np.array([[1, 2], [3, 5]], i4)
    row(N, name + "({x}, axis=0)", f(x.astype(i8) if name[3] in "sp" else x, axis=0), x=x)
numpys(N, "nanvar({x}, axis=1, ddof=1)", lambda x: np.nanvar(x, axis=1, ddof=1), HOLES)
numpys(N, "nanstd({x}, axis=1, ddof=1)", lambda x: np.nanstd(x, axis=1, ddof=1), [[nan, 2.0], [3.0, 4.0]])
for call, f in [("cov({x})", np.cov), ("cov({x}, rowvar=False)", lambda x: np.cov(x, rowvar=False)), ("cov({x}, ddof=0)", lambda x: np.cov(x, ddof=0)),
                ("corrcoef({x})", np.corrcoef), ("corrcoef({x}, rowvar=False)", lambda x: np.corrcoef(x, rowvar=False))]:
    numpys(N, call, f, A)
    numpys(N, call, f, A[0])
row(N, "cov({x})", np.cov([[1, 2, 5], [2, 0, 1]]), x=np.array([[1, 2, 5], [2, 0, 1]]))

# ---- arithmetic, comparisons, shapes and ranges of NumPy ----
N = "numpy"
ODD = [-inf, -7.5, -1.0, -0.0, 0.0, 2.25, inf, nan]
Y = some(2, 8) + 0.001
numpys(N, "fmod({x}, {y})", np.fmod, some(3, 4) * 5, some(4) + 0.001)
numpys(N, "fmod({x}, {y})", np.fmod, ODD, 2.0)
numpys(N, "fmod({x}, {y})", np.fmod, [5.0, -5.0, 1e20, -0.3], [inf, -inf, 3.0, 0.1])
row(N, "fmod({x}, {y})", np.fmod([-7, 7, -7, 6], [3, -3, -3, 3]), x=np.array([-7, 7, -7, 6]), y=np.array([3, -3, -3, 3]))
for k in (0, 1):
    numpys(N, "divmod({x}, {y})[%d]" % k, lambda x, y: np.divmod(x, y)[k], [7.5, -7.5, 7.5, -7.5], [2.0, 2.0, -2.0, -2.0])
    row(N, "divmod({x}, 3)[%d]" % k, np.divmod(np.array([-7, 7], i4), np.int32(3))[k], x=np.array([-7, 7], i4))
row(N, "float_power({x}, {y})", np.float_power([2, 3], [-2, 0.5]), x=np.array([2, 3], i4), y=np.array([-2, 0.5], f4))
for name in ("isposinf", "isneginf"):
    row(N, name + "({x})", getattr(np, name)(ODD), x=np.array(ODD))
    row(N, name + "({x})", np.array([False, False]), x=np.array([1, 2]))
row(N, "allclose({x}, {y})", np.array(True), x=np.array([1.0, inf]), y=np.array([1 + 1e-6, inf]))
row(N, "allclose({x}, {y})", np.array(False), x=np.array([1.0, nan]), y=np.array([1.0, nan]))
row(N, "allclose({x}, {y}, equal_nan=True, rtol=0.1)", np.array(True), x=np.array([1.0, nan]), y=np.array([1.05, nan]))
row(N, "allclose({x}, {x})", np.array(True), x=np.zeros((0, 3)))
numpys(N, "heaviside({x}, 0.5)", lambda x: np.heaviside(x, 0.5), ODD)
numpys(N, "heaviside({x}, {y})", np.heaviside, [-1.0, 0.0, 2.0], [[0.25], [nan]])
for t in (f8, f4):
    x = np.array(ODD, t)
    row(N, "nan_to_num({x})", np.nan_to_num(x), x=x)
    row(N, "nan_to_num({x}, value=3)", np.nan_to_num(x, nan=3), x=x)
row(N, "nan_to_num({x})", np.array([1, 2]), x=np.array([1, 2]))
A = np.arange(24).reshape(2, 3, 4)
for name in ("fliplr", "flipud"):
    row(N, name + "({x})", getattr(np, name)(A), x=A)
for k in (-1, 0, 1, 2, 3, 5):
    row(N, "rot90({x}, k=%d)" % k, np.rot90(A, k), x=A)
numpys(N, "cross({x}, {y})", np.cross, some(2, 3), some(3))
numpys(N, "cross({x}, {y}.T[None])", lambda x, y: np.cross(x, y.T[None]), some(2, 4, 3), some(3, 4))
row(N, "cross({x}, {y})", np.array([-3, 6, -3]), x=np.array([1, 2, 3]), y=np.array([4, 5, 6]))
numpys(N, "logspace({x}, 2, 7)", lambda x: np.logspace(x, 2, 7), -1.5)
numpys(N, "logspace({x}, 2, 4, base=2)", lambda x: np.logspace(x, 2, 4, base=2), 0.5)
for a, b, n in [(1.5, 700.0, 6), (-3.0, -0.001, 5), (8.0, 0.25, 6), (2.0, 3.0, 1), (2.0, 3.0, 2)]:
    numpys(N, "geomspace({x}, {y}, %d)" % n, lambda x, y: np.geomspace(x, y, n), a, b)
numpys(N, "vander({x})", np.vander, [1.5, -2.0, 0.0])
numpys(N, "vander({x}, 2)", lambda x: np.vander(x, 2), [1.5, -2.0, 0.0])
numpys(N, "vander({x}, 4, increasing=True)", lambda x: np.vander(x, 4, increasing=True), [1.5, -2.0, 0.0])
row(N, "vander({x}, 4)", np.vander([1, 2, 5], 4), x=np.array([1, 2, 5]))
Y, X1 = some(3, 5), np.sort(some(5))
numpys(N, "trapezoid({x})", np.trapz, Y)
numpys(N, "trapezoid({x}, dx=0.5, axis=0)", lambda y: np.trapz(y, dx=0.5, axis=0), Y)
numpys(N, "trapezoid({x}, {y})", np.trapz, Y, X1)
numpys(N, "trapezoid({x}, {y}, axis=0)", lambda y, x: np.trapz(y, x, axis=0), Y, X1[:3])
numpys(N, "trapezoid({x}, {y}, axis=0)", lambda y, x: np.trapz(y, x, axis=0), Y, np.sort(Y, 0))
row(N, "trapezoid({x})", np.array(5.5), x=np.array([1, 2, 2, 2], i4))
numpys(N, "interp({x}, {y}, {z})", np.interp, some(3, 4), [-1.5, -0.5, 0.25, 1.25], [1.0, 3.0, -2.0, 0.5])
numpys(N, "interp({x}, {y}, {z})", np.interp, [-inf, -1.5, 1.25, inf, nan, 0.0], [-1.5, -0.5, 0.25, 1.25], [1.0, 3.0, -2.0, 0.5])
numpys(N, "interp({x}, {y}, {z})", np.interp, [0.0, 1.0, 2.0], [1.0], [7.0])
numpys(N, "interp({x}, {y}, {z})", np.interp, [0.5, 1.5], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 6.0])

# ---- random/logpdf ----
N = "random/logpdf"
S, TD = scipy.stats, torch.distributions
U = np.array([-1.5, -0.25, 0.0, 0.125, 0.5, 0.875, 1.0, 2.5, 40.0, nan])
K = np.array([-1.0, 0.0, 1.0, 2.5, 3.0, 7.0, 20.0, nan])

def density(call, f, *arrays, of=None, at=None):
    """Values by SciPy; the gradient at points of the support by PyTorch's distribution of these parameters, or by f if it takes tensors."""
    numpys(N, call, f, *arrays, names="xabcd")
    if of:
        both(N, call, lambda x, *p: of(*p).log_prob(x), at, *arrays[1:], grad=True, names="xabcd")

IN = [0.2, 0.7, 1.3, 3.1]
density("normal_logpdf({x})", S.norm.logpdf, U)
density("normal_logpdf({x}, {a}, {b})", S.norm.logpdf, U, 0.5, 2.0, of=TD.Normal, at=IN)
density("normal_logpdf({x}.T, {a})", lambda x, m: S.norm.logpdf(x.T, m), some(3, 2), some(3))
density("uniform_logpdf({x}, {a}, {b})", lambda x, a, b: S.uniform.logpdf(x, a, b - a), U, -0.5, 1.5)
density("lognormal_logpdf({x}, {a}, {b})", lambda x, m, s: S.lognorm.logpdf(x, s, scale=np.exp(m)), U, 0.5, 0.75, of=TD.LogNormal, at=IN)
density("exponential_logpdf({x}, {a})", lambda x, s: S.expon.logpdf(x, scale=s), U, 2.5, of=lambda s: TD.Exponential(1 / s), at=IN)
for shape in (0.5, 1.0, 2.25):
    density("gamma_logpdf({x}, {a}, {b})", lambda x, a, s: S.gamma.logpdf(x, a, scale=s), U, shape, 1.5, of=lambda a, s: TD.Gamma(a, 1 / s), at=IN)
    density("chisquare_logpdf({x}, {a})", S.chi2.logpdf, U, 2 * shape, of=TD.Chi2, at=IN)
    density("weibull_logpdf({x}, {a}, {b})", lambda x, a, s: S.weibull_min.logpdf(x, a, scale=s), U, shape, 1.5, of=lambda a, s: TD.Weibull(s, a), at=IN)
    density("beta_logpdf({x}, {a}, {b})", S.beta.logpdf, U, shape, 1.75, of=TD.Beta, at=[0.2, 0.5, 0.8])
    density("student_t_logpdf({x}, {a}, {b}, {c})", S.t.logpdf, U, shape, 0.25, 1.5, of=TD.StudentT, at=IN)
density("inverse_gamma_logpdf({x}, {a}, {b})", lambda x, a, s: S.invgamma.logpdf(x, a, scale=s), U, 2.25, 1.5)
density("laplace_logpdf({x}, {a}, {b})", S.laplace.logpdf, U, 0.5, 2.0, of=TD.Laplace, at=IN)
density("logistic_logpdf({x}, {a}, {b})", S.logistic.logpdf, np.append(U, [-800, 800]), 0.5, 2.0)
density("gumbel_logpdf({x}, {a}, {b})", S.gumbel_r.logpdf, U, 0.5, 2.0, of=TD.Gumbel, at=IN)
density("cauchy_logpdf({x}, {a}, {b})", S.cauchy.logpdf, U, 0.5, 2.0, of=TD.Cauchy, at=IN)
density("halfcauchy_logpdf({x}, {a})", lambda x, s: S.halfcauchy.logpdf(x, scale=s), U, 2.0, of=TD.HalfCauchy, at=IN)
density("halfnormal_logpdf({x}, {a})", lambda x, s: S.halfnorm.logpdf(x, scale=s), U, 2.0, of=TD.HalfNormal, at=IN)
density("pareto_logpdf({x}, {a})", S.lomax.logpdf, U, 2.5)
density("rayleigh_logpdf({x}, {a})", lambda x, s: S.rayleigh.logpdf(x, scale=s), U, 1.5)
density("wald_logpdf({x}, {a}, {b})", lambda x, m, s: S.invgauss.logpdf(x, m / s, scale=s), U, 1.5, 2.0)
density("bernoulli_logpmf({x}, {a})", S.bernoulli.logpmf, K, 0.3, of=TD.Bernoulli, at=[0.0, 1.0])
density("poisson_logpmf({x}, {a})", S.poisson.logpmf, K, 2.5, of=TD.Poisson, at=[0.0, 1.0, 4.0])
density("binomial_logpmf({x}, {a}, {b})", S.binom.logpmf, K, 7.0, 0.3)
density("geometric_logpmf({x}, {a})", S.geom.logpmf, K, 0.3)
density("negative_binomial_logpmf({x}, {a}, {b})", S.nbinom.logpmf, K, 2.5, 0.3)
row(N, "poisson_logpmf({x}, {y})", S.poisson.logpmf([0, 3], [0.5, 2.5]), x=np.array([0, 3]), y=np.array([0.5, 2.5]))
row(N, "bernoulli_logpmf({x}, 0.25)", np.log([0.25, 0.75]), x=np.array([True, False]))
# not even outside the support has a gradient nan
for call, x in [("gamma_logpdf({x}, 2.)", -1.0), ("lognormal_logpdf({x})", 0.0), ("beta_logpdf({x}, 0.5, 0.5)", 1.5), ("weibull_logpdf({x}, 0.5)", -1.0),
                ("poisson_logpmf({x}, 2.)", -1.0), ("wald_logpdf({x}, 1., 1.)", 0.0)]:
    row(N, "grad(sum(%s), {x})" % call, np.array([0.0]), x=np.array([x]))
D = np.array([[0.2, 0.3, 0.5], [0.1, 0.85, 0.05]])
density("dirichlet_logpdf({x}, {a})", lambda x, a: S.dirichlet.logpdf(x.T / x.T.sum(0), a), D, [0.5, 1.0, 2.5])
row(N, "dirichlet_logpdf({x}, {a})", np.array([-inf, -inf]), x=np.array([[-0.1, 0.6, 0.5], [0.3, 0.3, 0.3]]), a=np.array([1.0, 2.0, 3.0]))
V = np.array([[2.0, 0.5, 0.25], [0.5, 1.0, -0.125], [0.25, -0.125, 1.5]])
density("multivariate_normal_logpdf({x}, {a}, {b})", S.multivariate_normal.logpdf, some(4, 3), some(3), V)
density("multivariate_normal_logpdf({x}, {a}, ({b} + {b}.T) / 2)", S.multivariate_normal.logpdf, some(3), some(3), V,
        of=lambda m, v: TD.MultivariateNormal(m, scale_tril=torch.linalg.cholesky((v + v.T) / 2)), at=some(3))

# ---- differences, integrals, structured matrices, stacks ----
N = "numpy2"
R = np.random.RandomState(11)
HOLES = np.where(R.uniform(size=(2, 3, 4)) < 0.3, nan, some(2, 3, 4))
A3, A2 = some(2, 3, 4), some(4, 5)
HOLES[0, 0, 1] = inf
for axes in (None, 1, (0, 2), (-1, 1), (2, 0, 1)):
    for keep in (False, True):
        text_axes = list(axes) if isinstance(axes, tuple) else axes
        said = "axis=%s, keepdims=%s" % (text_axes, keep)
        numpys(N, "median({x}, %s)" % said, lambda x: np.median(x, axis=axes, keepdims=keep), A3)
        numpys(N, "quantile({x}, 0.3, %s)" % said, lambda x: np.quantile(x, 0.3, axis=axes, keepdims=keep), A3)
        numpys(N, "percentile({x}, [10, 50], %s)" % said, lambda x: np.percentile(x, [10, 50], axis=axes, keepdims=keep), A3)
        numpys(N, "nanmedian({x}, %s)" % said, lambda x: np.nanmedian(x, axis=axes, keepdims=keep), HOLES)
        numpys(N, "nanquantile({x}, [0, 0.45, 1], %s)" % said, lambda x: np.nanquantile(x, [0, 0.45, 1], axis=axes, keepdims=keep), np.where(np.isinf(HOLES), 2.5, HOLES))
        numpys(N, "nanpercentile({x}, 77, %s)" % said, lambda x: np.nanpercentile(x, 77, axis=axes, keepdims=keep), np.where(np.isinf(HOLES), 2.5, HOLES))
numpys(N, "nanmedian({x}, axis=1)", lambda x: np.nanmedian(x, axis=1), [[nan, nan], [1.0, nan], [inf, 2], [-inf, -inf]])
numpys(N, "nanquantile({x}, 0.25, axis=1)", lambda x: np.nanquantile(x, 0.25, axis=1), [[nan, nan], [1.0, nan], [3.0, 2]])
row(N, "nanmedian({x})", np.array(2.5), x=np.array([4, 1, 3, 2], i4))
for name in ("nanargmax", "nanargmin", "nancumsum", "nancumprod"):
    f = getattr(np, name)
    for axis in (None, 0, 1):
        for t in (f8, f4):
            x = np.array([[nan, -inf, 2.0], [1.0, nan, nan], [0.5, 3.0, -1.0]], t)
            value = np.asarray(f(x.astype(f8), axis=axis))
            row(N, "%s({x}, axis=%s)" % (name, axis), value if "arg" in name else value.astype(t), x=x)
    row(N, name + "({x})", f(np.array([3, 1, 4])), x=np.array([3, 1, 4]))
LOW = np.array([[-900.0, 700.0, 0.5], [3.0, -inf, -2.0], [-1.5, 2.0, 800.0]])
for axis in (0, 1):
    both(N, "logcumsumexp({x}, axis=%d)" % axis, lambda x: torch.logcumsumexp(x, axis), A2, grad=True)
    both(N, "logcumsumexp({x}, axis=%d)" % axis, lambda x: torch.logcumsumexp(x, axis), LOW)
    both(N, "logcumsumexp({x}, axis=%d, reverse=True)" % axis, lambda x: torch.logcumsumexp(x.flip(axis), axis).flip(axis), A2, grad=True)
both(N, "logcumsumexp({x}) ** 2", lambda x: torch.logcumsumexp(x.ravel(), 0) ** 2, A2, grad=True)
both(N, "logcumsumexp({x}.T[::2])", lambda x: torch.logcumsumexp(x.T[::2].ravel(), 0), A2)
row(N, "logcumsumexp({x})", np.log([1.0, 2.0, 3.0]), x=np.zeros(3, i4))
row(N, "logcumsumexp({x})", np.array([-inf, 0.0, inf, nan, nan]), x=np.array([-inf, 0.0, inf, nan, 1.0]))
row(N, "logcumsumexp({x})", np.zeros(0), x=np.zeros((0, 3)))
for t in (f8, f4, i4):
    x = (A2 * 10).astype(t)
    for n, axis in [(1, -1), (2, 0), (0, 1), (4, -1), (3, -2)]:
        row(N, "diff({x}, n=%d, axis=%d)" % (n, axis), np.diff(x.astype(i8 if t is i4 else f8), n, axis).astype(t), x=x)
row(N, "diff({x})", np.diff([True, False, False]), x=np.array([True, False, False]))
row(N, "diff({x}, n=5)", np.zeros(0), x=np.array([1.0, 2.0, 4.0]))
row(N, "ediff1d({x})", np.ediff1d(A2), x=A2)
row(N, "ediff1d({x}, 7, [1, 2])", np.ediff1d(A2[0], 7, [1, 2]), x=A2[0])
P1 = np.array([-1.0, 0.5, 0.75, 2.0, 5.0])
for order in (1, 2):
    numpys(N, "gradient({x}, edge_order=%d)" % order, lambda x: np.gradient(x, axis=-1, edge_order=order), A2)
    numpys(N, "gradient({x}, 0.25, axis=0, edge_order=%d)" % order, lambda x: np.gradient(x, 0.25, axis=0, edge_order=order), A2)
    numpys(N, "gradient({x}, {y}, axis=1, edge_order=%d)" % order, lambda x, y: np.gradient(x, y, axis=1, edge_order=order), A2, P1)
numpys(N, "gradient({x})", np.gradient, [1.0, 4.0])
row(N, "gradient({x})", np.gradient([1, 4, 9, 16]), x=np.array([1, 4, 9, 16], i4))
for call, f in [("{x}, {y}", lambda y, x: scipy.integrate.cumulative_trapezoid(y, x)), ("{x}, dx=0.5, axis=0", lambda y, x: scipy.integrate.cumulative_trapezoid(y, dx=0.5, axis=0))]:
    row(N, "cumulative_trapezoid(%s)" % call, f(A2, P1), **(dict(x=A2, y=P1) if "{y}" in call else dict(x=A2)))
TURN = np.array([[0.0, 3.0, 6.5, -6.0, 3.2, 6.4, 2.0], [1.0, 8.0, 1.0, nan, 2.0, 9.0, 30.0]])
numpys(N, "unwrap({x})", np.unwrap, TURN)
numpys(N, "unwrap({x}, discont=5, axis=0)", lambda x: np.unwrap(x, discont=5, axis=0), TURN)
numpys(N, "unwrap({x}, period=4)", lambda x: np.unwrap(x, period=4), TURN)
for t in (f8, f4):
    x = np.array([1.5, -3, 0, inf, 1e30], t)
    row(N, "ldexp({x}, {y})", np.ldexp(x, np.array([2, -140, 9, 1, 20])), x=x, y=np.array([2, -140, 9, 1, 20]))
row(N, "ldexp({x}, {y})", np.ldexp(np.array([1.5, 5e-324]), [-1074, 2000]), x=np.array([1.5, 5e-324]), y=np.array([-1074, 2000]))
row(N, "ldexp({x}, {y})", np.array([6.0, -8.0]), x=np.array([3, -1], i4), y=np.array([1, 3], np.int8))
for k in (0, 1):
    numpys(N, "frexp({x})[%d]" % k, lambda x: np.frexp(x)[k], [-2.5, 3.75, 0.0, 4.0, inf, nan, 1e20, 2.0**-140]) if k == 0 else \
        row(N, "frexp({x})[1]", np.frexp(np.array([-2.5, 0, inf, 5e-324]))[1], x=np.array([-2.5, 0, inf, 5e-324]))
    numpys(N, "modf({x})[%d]" % k, lambda x: np.modf(x)[k], [-2.5, 3.75, 0.0, 4.0, inf, nan, 1e20])
numpys(N, "fmax({x}, {y})", np.fmax, [1.0, nan, nan, inf, -1.0], [2.0, 3.0, nan, 1.0, -inf])
numpys(N, "fmin({x}, {y})", np.fmin, [1.0, nan, nan, inf, -1.0], [2.0, 3.0, nan, 1.0, -inf])
row(N, "fmax({x}, 3)", np.array([3, 7], i4), x=np.array([1, 7], i4))
numpys(N, "logaddexp2({x}, {y})", np.logaddexp2, [1.0, 800.0, -inf, inf, -inf, 3.0, nan], [2.0, -800.0, -inf, inf, 2.0, 3.0, 1.0])
for a, b in [([1, 2], [1, 2]), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ([[1, 2]], [1, 2]), ([[1, 2]], [[1], [2]])]:
    row(N, "array_equal({x}, {y})", np.array(np.array_equal(a, b)), x=np.array(a), y=np.array(b))
row(N, "array_equal({x}, {x})", np.array(False), x=np.array([1.0, nan]))
row(N, "array_equal({x}, {x}, equal_nan=True)", np.array(True), x=np.array([1.0, nan]))
row(N, "array_equal({x}, {x})", np.array(True), x=np.zeros((0, 3)))
for axis in (0, 1, 2, -1):
    for start in (0, 1, 2, 3, -1):
        row(N, "rollaxis({x}, %d, start=%d)" % (axis, start), np.rollaxis(A3, axis, start), x=A3)
for name, parts in [("hstack", [A2, A2[:, :2]]), ("hstack", [A2[0], A2[1, :2]]), ("vstack", [A2, A2[0]]), ("vstack", [A2[0], A2[1]]), ("dstack", [A2, A2]),
                    ("dstack", [A2[0], A2[1]]), ("column_stack", [A2[:, 0], A2, A2[:, 1]])]:
    row(N, name + "([{x}, {y}])", getattr(np, name)(parts[:2]), x=parts[0], y=parts[1])
row(N, "hstack([{x}, 2, {y}])", np.hstack([1.5, 2, [3, 4]]), x=np.array(1.5), y=np.array([3, 4], i4))
for x in (A2, A2[0], A2[0, 0], A3):
    row(N, "atleast_3d({x})", np.atleast_3d(x), x=x)
for indexing in ("xy", "ij"):
    for k in range(3):
        row(N, "meshgrid({x}, {y}, {z}, indexing='%s')[%d]" % (indexing, k), np.meshgrid(P1[:2], A2[0, :3], P1[:4], indexing=indexing)[k], x=P1[:2], y=A2[0, :3], z=P1[:4])
row(N, "meshgrid({x})[0]", P1, x=P1)
row(N, "meshgrid({x}, 3)[1]", np.meshgrid(P1, 3)[1], x=P1)
row(N, "block([[{x}, {y}], [{y}.T, {x}]])", np.block([[A2[:2, :2], A2[:2, 2:4]], [A2[:2, 2:4].T, A2[:2, :2]]]), x=A2[:2, :2], y=A2[:2, 2:4])
row(N, "block([[{x}], [{y}]])", np.block([[A2], [A2[0]]]), x=A2, y=A2[0])
row(N, "block([{x}, 2, {x}])", np.block([A2[0], 2, A2[0]]), x=A2[0])
row(N, "block([[[{x}]], [[{x}]]])", np.block([[[A2]], [[A2]]]), x=A2)
for mode in ("full", "same", "valid"):
    for x, y in [(A2[0], A2[1, :3]), (A2[0, :2], A2[1]), (A2[0, :4], A2[1, :4]), (A2[0, :1], A2[1]), (A2.ravel(), A2[0, :4])]:
        numpys(N, "convolve({x}, {y}, mode='%s')" % mode, lambda x, y: np.convolve(x, y, mode), x, y)
        numpys(N, "correlate({x}, {y}, mode='%s')" % mode, lambda x, y: np.correlate(x, y, mode), x, y)
    row(N, "convolve({x}[::-2], {y}, mode='%s')" % mode, np.convolve(A2[0, ::-2], [1, 2], mode), x=A2[0], y=np.array([1, 2]))
    row(N, "convolve({x}, {y}, mode='%s')" % mode, np.convolve(np.array([100, 3, -7], np.int8), np.array([3, 2], np.int8), mode), x=np.array([100, 3, -7], np.int8), y=np.array([3, 2], np.int8))
    z, w = A2[0] + 1j * A2[1], A2[2, :2] - 1j * A2[3, :2]
    row(N, "real(convolve(complex({x}, {y}), complex({z}, {w}), mode='%s'))" % mode, np.convolve(z, w, mode).real, x=z.real, y=z.imag, z=w.real, w=w.imag)
    row(N, "imag(correlate(complex({x}, {y}), complex({z}, {w}), mode='%s'))" % mode, np.correlate(z, w, mode).imag, x=z.real, y=z.imag, z=w.real, w=w.imag)
L = scipy.linalg
numpys(N, "toeplitz({x})", L.toeplitz, A2[0])
numpys(N, "toeplitz({x}, {y})", L.toeplitz, A2[0], A2[1, :3])
numpys(N, "hankel({x})", L.hankel, A2[0])
numpys(N, "hankel({x}, {y})", L.hankel, A2[0], A2[1, :3])
numpys(N, "circulant({x})", L.circulant, A2[0])
row(N, "imag(toeplitz(complex({x}, {y})))", L.toeplitz(z).imag, x=z.real, y=z.imag)
for n, k, m in [(3, 0, None), (3, 1, 5), (4, -2, 2), (2, 9, 3), (3, -9, 3), (0, 0, None)]:
    for name in ("tril_indices", "triu_indices"):
        for i in range(2):
            row(N, "%s(%d, %s, k=%d)[%d]" % (name, n, m, k, i) if m else "%s(%d, k=%d)[%d]" % (name, n, k, i), getattr(np, name)(n, k, m)[i])
numpys(N, "tensorsolve({x}, {y})", np.linalg.tensorsolve, some(2, 3, 6) + 3 * np.eye(6).reshape(2, 3, 6), some(2, 3))
numpys(N, "tensorsolve({x}, {y})", np.linalg.tensorsolve, some(6, 3, 2) + 3 * np.eye(6).reshape(6, 3, 2), some(6))
numpys(N, "tensorinv({x})", np.linalg.tensorinv, some(2, 3, 3, 2) + 3 * np.eye(6).reshape(2, 3, 3, 2))
numpys(N, "tensorinv({x}, ind=1)", lambda x: np.linalg.tensorinv(x, 1), some(6, 3, 2) + 3 * np.eye(6).reshape(6, 3, 2))
M3, M2 = some(3, 3) + 2 * np.eye(3), some(2, 2) + 2 * np.eye(2)
C32, S33 = some(3, 2), some(3, 3)
row(N, "solve_sylvester({x}, {y}, {z})", L.solve_sylvester(M3, M2, C32), x=M3, y=M2, z=C32)
row(N, "solve_continuous_lyapunov({x}, {y})", L.solve_continuous_lyapunov(M3, S33), x=M3, y=S33)
for bad in (M3 / 5, M3 * 2):
    row(N, "solve_discrete_lyapunov({x}, {y})", L.solve_discrete_lyapunov(bad, S33), x=bad, y=S33)
Q3, W2 = S33 @ S33.T + np.eye(3), M2 @ M2.T
row(N, "solve_discrete_are({x}, {y}, {z}, {w})", L.solve_discrete_are(M3, C32, Q3, W2), x=M3, y=C32, z=Q3, w=W2)
row(N, "abs(schur({x})[0])", abs(L.schur(M3)[0]), x=M3)
row(N, "schur({x})[1] @ schur({x})[0] @ schur({x})[1].T", M3, x=M3)
D4 = some(4)
for b in (some(4), some(4, 2)):
    full = np.diag(D4 + 4) + np.diag(D4[1:], -1) + np.diag(D4[::-1][:-1], 1)
    row(N, "solve_tridiagonal({x}, {x} + 4, {x}[::-1], {y})", np.linalg.solve(full, b), x=D4, y=b)
numpys(N, "cov({x}, {y})", np.cov, A2, A2[1:3] ** 2)
numpys(N, "cov({x}, {y})", np.cov, A2[0], A2[1])
numpys(N, "cov({x}, {y}, rowvar=False)", lambda x, y: np.cov(x, y, rowvar=False), A2, A2[:, :2] ** 2)
numpys(N, "corrcoef({x}, {y})", np.corrcoef, A2[0], A2[1])

# ---- parts put in and taken out, polynomials, methods of quantiles ----
N = "shape/edits"
G, K = np.array([[1.5, 2.0, 0.0], [4.0, 5.0, -6.0]]), np.array([[7.0, 8.0, 9.0]])
numpys(N, "append({x}, {y})", np.append, G, K)
numpys(N, "append({x}, {y}, axis=0)", lambda x, y: np.append(x, y, 0), G, K)
for at in ("1", "-1", "3", "[2]", "[1, 3, 1]", "[0, -2]"):
    numpys(N, "insert({x}, %s, {y})" % at, lambda x, y: np.insert(x, eval(at), y), G, 9.0)
    numpys(N, "insert({x}, %s, 5, axis=1)" % at, lambda x: np.insert(x, eval(at), 5, axis=1), G)
    numpys(N, "delete({x}, %s)" % at, lambda x: np.delete(x, eval(at)), G)
numpys(N, "insert({x}, [1, 3, 1], {y})", lambda x, y: np.insert(x, [1, 3, 1], y), G, K[0])
numpys(N, "insert({x}, 1, {y}, axis=1)", lambda x, y: np.insert(x, 1, y, axis=1), G, [7.0, 8.0])
numpys(N, "insert({x}, [1], {y}, axis=1)", lambda x, y: np.insert(x, [1], y, axis=1), G, [[7.0], [8.0]])
numpys(N, "insert({x}, [2, 0], {y}, axis=-2)", lambda x, y: np.insert(x, [2, 0], y, axis=-2), G, K)
numpys(N, "insert({x}, [2, 0], {y}, axis=0)", lambda x, y: np.insert(x, [2, 0], y, axis=0), H, H[0])
numpys(N, "delete({x}, [0, 2], axis=-1)", lambda x: np.delete(x, [0, 2], axis=-1), H)
numpys(N, "delete({x}, -1, axis=1)", lambda x: np.delete(x, -1, axis=1), H)
for v in ([0, 1, 0, 2, 0, 0], [0, 0], [3], []):
    for trim in ("fb", "f", "b"):
        numpys(N, "trim_zeros({x}, trim='%s')" % trim, lambda x: np.trim_zeros(x, trim), np.array(v, f8))
MASK = np.array([[True, False, True], [False, True, True]])

def written(f, *args):
    def g(x, *more):
        x = x.copy()
        f(x, *args, *more)
        return x
    return g

numpys(N, "put({x}, [0, -1, 2], {y})", written(np.put, [0, -1, 2]), G, [7.0, 8.0])
numpys(N, "place({x}, [[True, False, True], [False, True, True]], {y})", written(np.place, MASK), G, [7.0, 8.0, 9.0])
numpys(N, "putmask({x}, {x} > 1.8, {y})", lambda x, y: written(np.putmask, x > 1.8)(x, y), G, [7.0, 8.0, 9.0, 10.0])
numpys(N, "diagflat({x})", np.diagflat, G)
numpys(N, "diagflat({x}, k=-1)", lambda x: np.diagflat(x, -1), G[0])
N = "index/positions"
for shape in ((2, 3), (4,), (2, 1, 3), (0, 2)):
    row(N, "indices((%s,))" % ", ".join(map(str, shape)), np.indices(shape))
row(N, "diag_indices(3)[0]", np.diag_indices(3)[0])
N = "creation/windows"
for n, b in ((1, 5.0), (5, 14.0), (6, 0.0), (7, 700.0)):
    row(N, "kaiser(%d, %s)" % (n, b), np.kaiser(n, b))
row(N, "kaiser(5, 3., periodic=True)", scipy.signal.get_window(("kaiser", 3.0), 5))
N = "linalg/polynomials"
P5, P3 = [1.0, -3.0, 2.5, 0.5, -1.25], [2.0, 0.0, -1.0]
numpys(N, "polyval({x}, {y})", np.polyval, P5, G)
numpys(N, "polyval({x}, 2.)", lambda x: np.polyval(x, 2.0), P5)
numpys(N, "polyval({x}, {y})", np.polyval, [], [1.0, 2.0])
row(N, "polyval({x}, {y})", np.array([7, -1]), x=np.array([1, 0, -2]), y=np.array([3, 1]))
row(N, "polyval({x}, {y})", np.polyval([1 + 2j, 3], [1j, 2]), x=np.array([1 + 2j, 3]), y=np.array([1j, 2]))
numpys(N, "polyder({x})", np.polyder, P5)
numpys(N, "polyint({x})", np.polyint, P5)
numpys(N, "polyint({x}, k=2.5)", lambda x: np.polyint(x, k=2.5), P5)
numpys(N, "poly({x})", np.poly, P3)
XS = np.array([-1.0, -0.25, 0.5, 1.0, 2.0, 3.5])
for deg in (0, 1, 3):
    row(N, "polyfit({x}, {y}, %d) + 1" % deg, np.polyfit(XS, np.exp(XS / 3), deg) + 1, x=XS, y=np.exp(XS / 3))
row(N, "polyfit({x}, {y}, 2, {z}) + 1", np.polyfit(XS, np.exp(XS / 3), 2, w=np.arange(1, 7.0)) + 1, x=XS, y=np.exp(XS / 3), z=np.arange(1, 7.0))
row(N, "polyfit({x}, {y}, 1) + 1", np.polyfit(XS, np.stack([XS**2, XS], 1), 1) + 1, x=XS, y=np.stack([XS**2, XS], 1))
row(N, "sort(real(roots({x})))", np.sort(np.roots([2.0, -3, -11, 6]).real), x=np.array([2.0, -3, -11, 6]))
N = "elemwise/arith"
for d in (0, 1, 3, -1):
    numpys(N, "around({x}, %d)" % d, lambda x: np.around(x, d), [2.5678, -0.07, 1250.0, inf, nan, -1e20])
    numpys(N, "round({x}, %d)" % d, lambda x: np.round(x, d), [[2.5678, -0.07, 1250.0], [inf, nan, -1e20]])
    numpys(N, "{x}.T[::-1].round(decimals=%d)" % d, lambda x: np.round(x.T[::-1], d), [[2.5678, -0.07, 1250.0], [inf, nan, -1e20]])
    numpys(N, "round({x}, decimals=%d)" % d, lambda x: np.round(x, d), np.zeros((0, 2)))
    for t in (i4, i8, np.uint8):
        x = np.array([[12, 15, 25], [149, 250, 3]], t)
        row(N, "round({x}, %d)" % d, np.round(x, d), x=x)
row(N, "around({x}, -2)", np.around(np.array([1250, 1350, -149]), -2), x=np.array([1250, 1350, -149]))
BITS = np.random.RandomState(3).randint(0, 3, (3, 11)) - 1
for order in ("big", "little"):
    for axis in (None, 0, 1, -2):
        how = "axis=%s, bitorder='%s'" % (axis, order)
        for t in (np.bool_, i8, i4, np.uint8):
            x = BITS.astype(t)
            row("elemwise/bits", "packbits({x}, %s)" % how, np.packbits(x, axis, order), x=x)
        row("elemwise/bits", "packbits({x}.T[::-1, ::2], %s)" % how, np.packbits(BITS.T[::-1, ::2], axis, order), x=BITS)
        for x in (BITS[:0], BITS[:, :0], BITS[:, :8], BITS[:1, :3]):
            row("elemwise/bits", "packbits({x}, %s)" % how, np.packbits(x, axis, order), x=x)
        for count in (None, 0, 5, 8, 19, 40, -1, -8):
            x = (BITS * 77).astype(np.uint8)[:, :3]
            row("elemwise/bits", "unpackbits({x}, %s, count=%s)" % (how, count), np.unpackbits(x, axis, count, order), x=x)
        row("elemwise/bits", "unpackbits({x}.T[::-1], %s)" % how, np.unpackbits(x.T[::-1], axis, bitorder=order), x=x)
        row("elemwise/bits", "unpackbits({x}, %s)" % how, np.unpackbits(x[:0], axis, bitorder=order), x=x[:0])
for call, f, v in (("packbits({x})", np.packbits, np.array(True)), ("unpackbits({x})", lambda v: np.unpackbits(v.reshape(1)), np.array(5, np.uint8))):
    row("elemwise/bits", call, f(v), x=v)
row("elemwise/bits", "vectorize(packbits)({x})", np.packbits(BITS, axis=1), x=BITS)
row("elemwise/bits", "vectorize(lambda r: unpackbits(r, count=10))({x})", np.unpackbits(x, 1, 10), x=x)
for lo, hi in ((0, None), (None, 1), (-1, None), (None, 0)):
    for t in (f8, f4, i4) if lo == -1 else (f8, f4, i4, np.uint8):
        x = (np.array([[-2, -1, 0], [1, 2, 3]]) if t is not np.uint8 else np.array([[0, 1, 2], [3, 4, 5]])).astype(t)
        want = np.clip(x, lo, hi).astype(t)
        row(N, "clip({x}, %s, %s)" % (lo, hi), want, x=x)
        row(N, "clip({x}.T, %s)" % ", ".join("%s=%s" % p for p in (("min", lo), ("max", hi)) if p[1] is not None), want.T, x=x)
        row(N, "{x}[::-1, ::2].clip(%s, %s)" % (lo, hi), want[::-1, ::2], x=x)
    numpys(N, "clip({x}, min=%s, max=%s)" % (lo, hi), lambda x: np.clip(x, lo, hi), [nan, inf, -inf, 0.5])
    numpys(N, "clip({x}, %s, %s)" % (lo, hi), lambda x: np.clip(x, lo, hi), np.zeros((0, 2)))
    numpys(N, "clip({x}, %s, %s)" % (lo, hi), lambda x: np.clip(x, lo, hi), 0.25)
    numpys(N, "grad(sum(clip({x}, %s, %s) ** 2), {x})" % (lo, hi), lambda x: np.clip(x, lo, hi) * 2 * (np.clip(x, lo, hi) == x), [-2.0, -0.5, 0.5, 3.0])
for call, f in (("clip({x}, min={y})", np.maximum), ("clip({x}, None, {y})", np.minimum)):
    numpys(N, call, f, [[0.5, 2.0], [-1.0, 7.0]], [1.0, 3.0])
row("sort/sets", "searchsorted({x}, {y}, right=True)", torch.searchsorted(T([1.0, 3, 3, 5]), T([3.0, 0, 5]), right=True).numpy(), x=np.array([1.0, 3, 3, 5]), y=np.array([3.0, 0, 5]))
row("sort/sets", "searchsorted({x}, {y}, right=False)", torch.searchsorted(T([1, 3, 3, 5]), T([3, 0, 5])).numpy(), x=np.array([1, 3, 3, 5]), y=np.array([3, 0, 5]))
N = "elemwise/compare"
for name in ("isreal", "iscomplex"):
    row(N, name + "({x})", getattr(np, name)([1, 2j, nan]), x=np.array([1, 2j, nan]))
    row(N, name + "({x})", getattr(np, name)([1.0, nan]), x=np.array([1.0, nan]))
N = "reduce/counts"
PX, PY = R.uniform(-2, 3, 20).round(2), R.uniform(0, 5, 20).round(2)
for k in range(3):
    row(N, "float64(histogram2d({x}, {y})[%d])" % k, np.histogram2d(PX, PY)[k], x=PX, y=PY)
    row(N, "float64(histogram2d({x}, {y}, [3, 4], range=[[-1, 2], [0, 4]])[%d])" % k, np.histogram2d(PX, PY, [3, 4], range=[[-1, 2], [0, 4]])[k], x=PX, y=PY)
row(N, "histogram2d({x}, {y}, 3, weights={y})[0]", np.histogram2d(PX, PY, 3, weights=PY)[0], x=PX, y=PY)
row(N, "histogram2d({x}, {y}, 3, density=True)[0]", np.histogram2d(PX, PY, 3, density=True)[0], x=PX, y=PY)
row(N, "float64(histogram2d({x}, {x}, 2)[0])", np.histogram2d([1.0, 1], [1.0, 1], 2)[0], x=np.array([1.0, 1]))
N = "reduce/statistics"
for method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear", "median_unbiased",
               "normal_unbiased", "lower", "higher", "midpoint", "nearest"):
    numpys(N, "quantile({x}, [0, 0.125, 0.3, 0.5, 0.75, 0.9, 1], axis=1, method='%s')" % method,
           lambda x: np.quantile(x, [0, 0.125, 0.3, 0.5, 0.75, 0.9, 1], axis=1, method=method), H[0].repeat(2, 1))
    numpys(N, "percentile({x}, 37.5, method='%s')" % method, lambda x: np.percentile(x, 37.5, method=method), G)
N = "linalg/qz"
for dtype in ("float64", "complex128"):
    a, b = (some(4, 4) + (1j * some(4, 4) if dtype == "complex128" else 0) for _ in "ab")
    for k, x in enumerate((a, b)):
        row(N, "qz({a}, {b})[2] @ qz({a}, {b})[%d] @ conj(qz({a}, {b})[3]).T" % k, x, a=a, b=b)
    row(N, "max(abs(tril(qz({a}, {b})[1], -1)))", 0.0, a=a, b=b)
    row(N, "conj(qz({a}, {b})[3]).T @ qz({a}, {b})[3] + 1", 1 + np.eye(4, dtype=dtype), a=a, b=b)
a = np.triu(some(3, 3)) + np.diag([3.0, 5, 7])
row(N, "sort(diag(qz({a}, {b})[0]) / diag(qz({a}, {b})[1]))", np.sort(L.eigvals(a, 2 * np.eye(3)).real), a=a, b=2 * np.eye(3))

# ---- masks and first values of reductions, neighbours beyond the ends, uneven parts ----
N = "reduce/where"
R = np.random.RandomState(23)
X, M = R.uniform(-2, 2, (2, 3, 4)).round(2), R.uniform(size=(2, 3, 4)) < 0.5
M[0, 1] = False
CASES = [(None, False), (0, False), (-1, True), ((0, 2), False), ((1, 2), True)]
MASKS = [M, M[:, :, :1], M[0, 0], np.array(True), np.array(False)]
for axis, keep in CASES:
    spelled = "axis=%s, keepdims=%s" % (list(axis) if isinstance(axis, tuple) else axis, keep)
    for m in MASKS:
        for t in (f8, f4, i4) if m is M else (f8,):
            x = (4 * X).astype(t)
            wide = x.astype(f8) if t is f4 else x
            for name, first in (("sum", -3), ("prod", 2), ("max", -1), ("min", 1)):
                value = getattr(np, name)(wide, axis, keepdims=keep, where=m, initial=first)
                row(N, "%s({x}, %s, where={m}, initial=%d)" % (name, spelled, first), value.astype(t) if t is f4 else value, x=x, m=m)
        row(N, "sum({x}, %s, where={m})" % spelled, np.sum(X, axis, keepdims=keep, where=m), x=X, m=m)
        row(N, "prod({x}, %s, where={m})" % spelled, np.prod(X, axis, keepdims=keep, where=m), x=X, m=m)
        for t in (f8, f4, i4) if m is M else (f8,):
            x = (4 * X).astype(t)
            value = np.mean(x.astype(f8), axis, keepdims=keep, where=m)
            row(N, "mean({x}, %s, where={m})" % spelled, value.astype(t if t is f4 else f8), x=x, m=m)
            for name, ddof in (("var", 0), ("var", 1), ("std", 0), ("std", 2)):
                value = getattr(np, name)(x.astype(f8), axis, ddof=ddof, keepdims=keep, where=m)
                row(N, "%s({x}, %s, ddof=%d, where={m})" % (name, spelled, ddof), value.astype(t if t is f4 else f8), x=x, m=m)
        for name in ("any", "all"):
            row(N, "%s({x}, %s, where={m})" % (name, spelled), getattr(np, name)((X > 0) * X, axis, keepdims=keep, where=m), x=(X > 0) * X, m=m)
for name, first in (("sum", 7), ("prod", 7), ("max", 7), ("min", 7)):
    f = getattr(np, name)
    for x in (np.zeros(0), np.zeros(0, i4), np.zeros((0, 3), f4), np.array(2.5), np.array([9, 4], np.uint8), np.array([nan, 1.0]), np.array([True, False])):
        value = f(x, initial=first if name in ("sum", "prod") else x.dtype.type(first))
        row(N, "%s({x}, initial=%d)" % (name, first), value.astype(bool) if x.dtype == bool and name in ("max", "min") else value, x=x)
    row(N, name + "({x}, axis=1, initial=7)", f(np.zeros((2, 0, 3)), 1, initial=7), x=np.zeros((2, 0, 3)))
    row(N, name + "({x}, axis=[0, 1], initial=7)", f(np.zeros((0, 0, 2)), (0, 1), initial=7), x=np.zeros((0, 0, 2)))
    row(N, name + "({x}, axis=0, where={m}, initial=7)", f(np.array([[nan, 1], [2, 3]]), 0, where=np.array([[False, True], [True, True]]), initial=7),
        x=np.array([[nan, 1], [2, 3]]), m=np.array([[False, True], [True, True]]))
row(N, "sum({x}, initial={y})", np.array(4), x=np.array([1, 2], i4), y=np.array(1.75))
row(N, "max({x}, initial={y})", np.array(3, i4), x=np.array([1, 2], i4), y=np.array(3.75))
row(N, "sum({z}, where={m}, initial=1)", np.sum(X[0] + 1j * X[1], where=M[0], initial=1), z=X[0] + 1j * X[1], m=M[0])
row(N, "mean({z}, axis=0, where={m})", np.mean(X[0] + 1j * X[1], 0, where=[[True], [False], [True]]), z=X[0] + 1j * X[1], m=np.array([[True], [False], [True]]))
row(N, "var({z}, axis=0, where={m})", np.var(X[0] + 1j * X[1], 0, where=[[True], [False], [True]]), z=X[0] + 1j * X[1], m=np.array([[True], [False], [True]]))
row(N, "mean({x}, where={m}, dtype='int64')", np.mean(np.array([1.5, 2.5, 4.5]), dtype=i8, where=[True, True, False]), x=np.array([1.5, 2.5, 4.5]), m=np.array([True, True, False]))
# what the mask leaves out, and a tie with the first value, have no part in the gradient
row(N, "grad(sum(max({x}, axis=1, where={m}, initial=0)), {x})", np.array([[0.0, 1.0], [0.0, 0.0]]), x=np.array([[5.0, 2.0], [-1.0, -2.0]]),
    m=np.array([[False, True], [True, True]]))
row(N, "grad(sum(max({x}, axis=1, where={m}, initial={y})), {y})", np.array(1.0), x=np.array([[5.0, 2.0], [-1.0, -2.0]]), m=np.array([[False, True], [True, True]]),
    y=np.array(0.0))
N = "reduce/diff"
for axis in (0, 1, -1):
    for t in (f8, f4, i4):
        x = (8 * X).astype(t)
        part = x.take([0], axis)
        for n in (0, 1, 2, 3):
            row(N, "diff({x}, n=%d, axis=%d, prepend={y})" % (n, axis), np.diff(x, n, axis, prepend=part), x=x, y=part)
            row(N, "diff({x}, n=%d, axis=%d, append={y})" % (n, axis), np.diff(x, n, axis, append=part), x=x, y=part)
            row(N, "diff({x}, %d, %d, prepend=1, append={y})" % (n, axis), np.diff(x, n, axis, prepend=t(1), append=part), x=x, y=part)
        both(N, "grad(sum(diff({x}, axis=%d, prepend=0., append={y}) ** 2), {y})" % axis,
             lambda x, y: 2 * (y - x.narrow(axis, -1, 1)), X, X.take([0], axis)) if t is f8 else None
row(N, "diff({x}, prepend={x}, append={x})", np.diff(np.array([True, False, False]), prepend=[True, False, False], append=[True, False, False]), x=np.array([True, False, False]))
row(N, "diff({x}, prepend={y})", np.diff(np.array([1, 2], i4), prepend=0.5), x=np.array([1, 2], i4), y=np.array(0.5))
row(N, "diff({x}, append=1)", np.zeros(0), x=np.zeros(0))
N = "shape/join"
for x, k, axis in ((np.arange(8), 3, 0), (np.arange(2), 4, 0), (np.arange(0), 2, 0), (np.arange(14).reshape(2, 7), 3, 1), (np.arange(14).reshape(2, 7), 3, -2), (np.arange(5), 5, 0)):
    for i, part in enumerate(np.array_split(x, k, axis)):
        row(N, "array_split({x}, %d, axis=%d)[%d]" % (k, axis, i), part, x=x)
for cuts in ([3, 5, 6, 10], [-3, 2], [2]):
    for i, part in enumerate(np.array_split(np.arange(8), cuts)):
        row(N, "array_split({x}, %s)[%d]" % (cuts, i), part, x=np.arange(8))
N = "linalg/kron"
A, B, C, D = (R.uniform(-1, 1, s).round(2) for s in ((5, 2), (2, 6), (6, 3), (3, 4)))
numpys(N, "multi_dot({a}, {b}, {c}, {d})", lambda *m: np.linalg.multi_dot(m), A, B, C, D, names="abcd")
numpys(N, "multi_dot([{a}, {b}])", lambda *m: np.linalg.multi_dot(m), A, B, names="abcd")
numpys(N, "multi_dot([{a}, {b}, {c}, {d}])", lambda *m: np.linalg.multi_dot(m), A[0], B, C, D[:, 0], names="abcd")
numpys(N, "multi_dot({a}, {b})", lambda *m: np.linalg.multi_dot(m), A[0], B[:, 0], names="abcd")
numpys(N, "multi_dot({a}, {b}, {c})", lambda *m: np.linalg.multi_dot(m), np.zeros((0, 2)), B, C, names="abcd")

# ---- nn/attention ----
N = "nn/attention"
R = np.random.default_rng(20)

def sdpa(q, k, v, mask=None, causal=False, scale=None):
    score = torch.einsum("...id,...jd->...ij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        score = score.masked_fill(~mask, -inf)
    if causal:
        n, m = score.shape[-2:]
        score = score.masked_fill(~torch.ones(n, m, dtype=torch.bool).tril(m - n), -inf)
    return torch.einsum("...ij,...je->...ie", torch.softmax(score, -1), v)

def turned(x, place, base=1e4, halves=False):
    half = x.shape[-1] // 2
    angle = place[..., None] * base ** (-torch.arange(half, dtype=torch.float64) / half)
    pairs = torch.complex(*((x[..., :half], x[..., half:]) if halves else (x[..., ::2], x[..., 1::2])))
    r = torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle))
    return torch.cat([r[..., 0], r[..., 1]], -1) if halves else r.flatten(-2)

some = lambda *shape: R.normal(0, 1, shape).round(3)
q, k, v = some(2, 3, 4), some(2, 5, 4), some(2, 5, 2)
both(N, "attention({x}, {y}, {z})", sdpa, q, k, v, grad=True)
both(N, "attention({x}, {y}, {z}, causal=True)", lambda q, k, v: sdpa(q, k, v, causal=True), q, k, v, grad=True)
both(N, "attention({x}, {y}, {z}, scale=0.25)", lambda q, k, v: sdpa(q, k, v, scale=0.25), q, k, v)
both(N, "attention({x}, {y}, {z})", sdpa, q[0], k[0], v[0])
both(N, "attention({x}, {y}, {z}, causal=True)", lambda q, k, v: sdpa(q, k, v, causal=True), q[:, None], k[None, :, ::-1], v[0])
both(N, "attention({x}, {y}, {z})", sdpa, 1e3 * q, k, v)
both(N, "attention({x}, {y}, {z})", sdpa, np.zeros((2, 0, 4)), k, v)
both(N, "attention({x}.T[::2, ::-1], {y}[..., :3], {z})", lambda x, k, v: sdpa(torch.flip(x.T[::2], [1]), k[..., :3], v), q[0], k, v)
seen = np.array([[True, False, True, True, False], [False, True, False, False, False], [True] * 5])
for t in (f8, f4):
    a = [x.astype(t) for x in (q, k, v)]
    T64 = [torch.tensor(x.astype(f8)) for x in a]
    row(N, "attention({x}, {y}, {z}, {w})", sdpa(*T64, mask=torch.tensor(seen)).numpy().astype(t), x=a[0], y=a[1], z=a[2], w=seen)
    row(N, "attention({x}, {y}, {z}, mask={w}, causal=True)", sdpa(*T64, mask=torch.tensor(seen), causal=True).numpy().astype(t), x=a[0], y=a[1], z=a[2], w=seen)
x, place = some(2, 3, 6), np.array([0.0, 1.0, 7.0])
for halves in (False, True):
    both(N, "rotary_embedding({x}, {y}, halves=%s)" % halves, lambda x, p: turned(x, p, halves=halves), x, place, grad=True)
    both(N, "rotary_embedding({x}, {y}, base=100, halves=%s)" % halves, lambda x, p: turned(x, p, 100.0, halves), x[0, :, :2], place)
    both(N, "rotary_embedding({x}, {y}, halves=%s)" % halves, lambda x, p: turned(x, p, halves=halves), x[0, 0], 2.0)
    both(N, "rotary_embedding({x}.T, {y}, halves=%s)" % halves, lambda x, p: turned(x.T, p, halves=halves), x[0, :, :2].T.copy(), place)
    both(N, "rotary_embedding({x}, {y}, halves=%s)" % halves, lambda x, p: turned(x, p, halves=halves), np.zeros((0, 4)), np.zeros(0))
row(N, "rotary_embedding({x}, {y})", turned(torch.tensor(x), torch.tensor(place)).numpy(), x=x, y=place.astype(i8))
N = "numpy"
for y in ([nan], [1.0, inf, 2.0], [inf, 1.0, 2.0], np.zeros((2, 0)), [2.0, -1.0]):
    numpys(N, "trapezoid({x})", np.trapz, y)
SQUARE = [[0.1, 0.5], [0.52, 0.9]]
numpys(N, "quantile({x}, %s, axis=1)" % SQUARE, lambda x: np.quantile(x, SQUARE, axis=1), A)
# ---- NumPy's order of arguments; cross along other axes ----
N = "numpy"
L = np.arange(12.0).reshape(3, 4) - 5.25
both(N, "cross({x}, {y}, axis=0)", lambda x, y: torch.cross(x, y, dim=0), L, L[::-1] * 1.5, grad=True)
both(N, "cross({x}.T, {y}[:, ::-1].T, axis=1)", lambda x, y: torch.cross(x.T, torch.flip(y, [1]).T, dim=1), L, L**2, grad=True)
numpys(N, "cross({x}, {y}, axis=-2)", lambda x, y: np.cross(x, y, axis=-2), L[None], np.stack([L**2, L[::-1]]))
numpys(N, "cross({x}, {y}, axis=0)", lambda x, y: np.cross(x, y, axis=0), np.zeros((3, 0)), np.zeros((3, 0)))
row(N, "cross({x}, {y}, axis=0)", np.array([[-3], [6], [-3]]), x=np.array([[1], [2], [3]]), y=np.array([[4], [5], [6]]))
numpys(N, "average({x}, 0)", lambda x: np.average(x, 0), L)
numpys(N, "average({x}.T, -1, {y})", lambda x, w: np.average(x.T, -1, w), L, [0.5, 1.0, 2.0])
numpys(N, "nan_to_num({x}, False, 7.0)", lambda x: np.nan_to_num(x, True, 7.0, posinf=np.nan, neginf=np.nan), [[nan, -0.0, 1.5]])
N = "linalg/polynomials"
row(N, "poly({x})", np.poly(np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])), x=np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]]))
row(N, "poly({x})", np.poly(np.array([[0, -2], [1, 0]])), x=np.array([[0, -2], [1, 0]]))
row(N, "poly({x})", np.poly(np.array([[1j, 2], [0, 3]])), x=np.array([[1j, 2], [0, 3]]))
for k in (0, 1):
    for u, v in ((P5, P3), (P5, [4.0]), (P3, P5), ([1.0, 3, 2], [1.0, 1]), ([7.0], [2.0])):
        numpys(N, "polydiv({x}, {y})[%d]" % k, lambda x, y: np.polydiv(x, y)[k], u, v)
    numpys(N, "polydiv({x}[::-2], {y})[%d]" % k, lambda x, y: np.polydiv(x[::-2], y)[k], P5, [2.0, 1.0])
    row(N, "polydiv({x}, {y})[%d]" % k, np.polydiv([1 + 2j, 3, 1j], [2, 1j])[k], x=np.array([1 + 2j, 3, 1j]), y=np.array([2, 1j]))
    row(N, "polydiv({x}, {y})[%d]" % k, np.polydiv([2, 3, 5], [2, 1])[k], x=np.array([2, 3, 5]), y=np.array([2, 1]))
    for u, v in (([1, nan, 3], [1, 2]), ([1, 2, 3], [1, nan]), ([nan, 2, 3], [1, 1]), ([1, 2, 3], [nan, 1]), ([1, 2, 3, 4, nan], [1, 1, 1]), ([1, nan], [1, 2, 3]), ([nan, 1], [2]), ([inf, 1, 2], [1, 1]), ([1, 2, 3], [1, inf]), ([1, 2], [3, nan, 1])):
        numpys(N, "polydiv({x}, {y})[%d]" % k, lambda x, y: np.polydiv(x, y)[k], np.float64(u), np.float64(v))
N = "linalg/structured"
IMAGE = np.arange(12.0).reshape(3, 4) ** 2 - 7.5
KERNELS = ([[1.0, 2], [3, 5]], [[1.0, 2, 3], [3, 5, 1]], [[1.0], [0], [-2]], [[2.5]])
for name in ("convolve2d", "correlate2d"):
    f = getattr(scipy.signal, name)
    for mode in ("full", "same", "valid"):
        call = name + "({x}, {y}, mode='%s')" % mode
        for k in KERNELS:
            numpys(N, call, lambda x, y: f(x, y, mode), IMAGE, k)
        numpys(N, name + "({x}[::-1, ::2], {y}.T, '%s')" % mode, lambda x, y: f(x[::-1, ::2], y.T, mode), IMAGE, [[1.0, 2, 4]])
        row(N, call, f(IMAGE * (1 + 2j), np.array([[1j, 2], [3, 1 - 1j]]), mode), x=IMAGE * (1 + 2j), y=np.array([[1j, 2], [3, 1 - 1j]]))
        row(N, call, f(np.arange(12).reshape(3, 4), np.array([[1, -2], [3, 4]]), mode), x=np.arange(12).reshape(3, 4), y=np.array([[1, -2], [3, 4]]))
    numpys(N, name + "({x}, {y}, 'same')", lambda x, y: f(x, y, "same"), [[1.0, nan, -0.0], [inf, 2.0, 1.0], [0.0, 0.0, 0.0]], [[0.0, 1.0], [2.0, 1.0]])
    numpys(N, name + "({x}, {y})", f, IMAGE[:2, :2], np.arange(20.0).reshape(4, 5))
N = "shape/edits"
numpys(N, "insert({x}, 1, {y})", lambda x, y: np.insert(x, 1, y), G, [7.0, nan, 9.0])
numpys(N, "insert({x}, -1, {y}[:0])", lambda x, y: np.insert(x, -1, y[:0]), G, [7.0])
numpys(N, "insert({x}, 0, {y}, axis=1)", lambda x, y: np.insert(x, 0, y, axis=1), G, np.arange(3.0 * len(G)).reshape(3, -1) ** 2)
numpys(N, "insert({x}, 1, {y}, axis=-1)", lambda x, y: np.insert(x, 1, y, axis=-1), H, np.full((2, 1, 1), -0.5))
numpys(N, "insert({x}[:0], 0, {y})", lambda x, y: np.insert(x[:0], 0, y), G, [7.0])
for at in (0, 1, -1):
    for axis in (0, 1, -1):
        numpys(N, "delete({x}, %d, axis=%d)" % (at, axis), lambda x: np.delete(x, at, axis=axis), H)
        numpys(N, "insert({x}, %d, 2.5, axis=%d)" % (at, axis), lambda x: np.insert(x, at, 2.5, axis=axis), H)
    row(N, "delete({x}, %d)" % at, np.delete(np.array([1, 2, 3], np.int32), at), x=np.array([1, 2, 3], np.int32))
