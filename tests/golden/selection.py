#!/usr/bin/python3
"""Writes tests/bats/selection.tsv: values and gradients of ops that gather, scatter, order and select, and of what NumPy has for integers,
worked out by PyTorch (1.13), NumPy (1.24) and Python, to which tests/bats/selection.bats compares them. Tests don't need it: run it when
an op is added."""
import warnings
import numpy as np
import torch
from values import both, f4, f8, i4, i8, inf, nan, row

warnings.simplefilter("ignore")
np.seterr(all="ignore")
R = np.random.RandomState(7)
T = torch.tensor


def some(*shape):
    return R.uniform(-2, 2, shape).round(3)


# ---- index/along ----
N = "index/along"
DTYPES = [np.bool_, np.int8, np.int16, np.int32, i8, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, f4, f8, np.complex64, np.complex128]
FOLD = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
TORCH = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def along(x, i, u, axis, how):
    """ScatterElements of ONNX."""
    x, at = x.copy(), list(np.indices(i.shape))
    at[axis] = i
    if how == "none":
        x[tuple(at)] = u
    else:
        FOLD[how].at(x, tuple(at), u)
    return x


def nd(x, i, u, how):
    """ScatterND of ONNX."""
    x, at = x.copy(), tuple(np.moveaxis(i, -1, 0))
    if how == "none":
        x[at] = u
    else:
        FOLD[how].at(x, at, u)
    return x


I23, I4 = np.array([[2, 0, -1], [1, -3, 2]]), np.array([3, 0, 3, -1])
ND = np.array([[[1, 2], [0, -1]], [[-1, 0], [1, 2]]])
for t in DTYPES:
    x, u = (np.array([[1, 2, 0], [3, 100, 5]]).astype(t), np.array([[2, 3, 5], [50, 7, 4]]).astype(t))
    for how in ["none", *FOLD]:
        if how in ("max", "min") and np.issubdtype(t, np.complexfloating):
            continue
        row(N, "scatter_elements({x}, {i}, {u}, axis=1, reduction='%s')" % how, along(x, I23, u, 1, how), x=x, i=I23, u=u)
        row(N, "scatter_nd({x}, {i}, {u}, reduction='%s')" % how, nd(x, ND, u[:, :2], how), x=x, i=ND, u=u[:, :2])
        row(N, "scatter_nd({x}.T[::2], {i}, {u}[::-1, ::2], reduction='%s')" % how, nd(x.T[::2], ND[:, :, :1] % 2, u[0, 0], how),
            x=x, i=(ND[:, :, :1] % 2).astype(i4), u=np.full((2, 4), u[0, 0]))
    row(N, "gather_nd({x}, {i})", x[tuple(np.moveaxis(ND, -1, 0))], x=x, i=ND)
    row(N, "take_along_axis({x}, {i}, axis=1)", np.take_along_axis(x, I23, 1), x=x, i=I23)
for how in ("max", "min"):
    x, u = np.array([nan, 1.0, -0.0, inf]), np.array([3.0, nan, 0.0, -inf])
    row(N, "scatter_elements({x}, {i}, {u}, reduction='%s')" % how, along(x, np.arange(4), u, 0, how), x=x, i=np.arange(4), u=u)
for how in [*FOLD]:
    for x in (np.zeros((0, 3)), np.zeros((2, 3))):
        i = np.zeros((0, 3), i8)
        row(N, "scatter_elements({x}, {i}, {u}, reduction='%s')" % how, x, x=x, i=i, u=i.astype(f8))
x, u = some(4, 3), some(5, 3)
i = np.array([[0, 1, 3], [3, 3, 3], [0, 1, 0], [-1, 2, -4], [2, 0, 1]])
for how in FOLD:
    f = lambda x, u: x.scatter_reduce(0, T(i % 4), u, TORCH[how])
    both(N, "scatter_elements({x}, %s, {y}, reduction='%s')" % (i.tolist(), how), f, x, u, grad=True)
    both(N, "scatter_elements({x}, %s, {y}, reduction='%s')" % (i.tolist(), how), f, x * [0, 1, 0], u * [[0], [1], [0], [1], [1]],
         grad=how in ("add", "mul"))
i = np.array([[3, 1], [0, 1]])
f = lambda x, y: x.index_put((T([3, 0]), T([1, 1])), y)
both(N, "scatter_nd({x}, %s, {y})" % i.tolist(), f, x, [1.5, -2.5], grad=True)
both(N, "gather_nd({x}, %s)" % i.tolist(), lambda x: x[[3, 0], [1, 1]], x, grad=True)
row(N, "grad(sum(scatter_elements({x}, [1, 1, -1], {u}) * {w}), {u})", np.array([0.0, 20, 30]), x=np.zeros(3), u=np.ones(3), w=np.array([10.0, 20, 30]))
x = np.arange(24).reshape(2, 3, 4)
b1, b2 = np.array([[[1], [-1]], [[0], [0]]]), np.array([[[1, 3]], [[2, -4]]])
row(N, "gather_nd({x}, {i}, batch_dims=1)", np.stack([x[k][b1[k, :, 0]] for k in range(2)]), x=x, i=b1)
row(N, "gather_nd({x}, {i}, batch_dims=1)", np.array([[x[0, 1, 3]], [x[1, 2, -4]]]), x=x, i=b2)
row(N, "gather_nd({x}, {i}, batch_dims=2)", np.take_along_axis(x, np.array([[[1], [0], [3]], [[2], [-1], [2]]]), 2)[..., 0],
    x=x, i=np.array([[[1], [0], [3]], [[2], [-1], [2]]]))
y, i = x.astype(f4).copy(), np.array([[[0]], [[2]]]).transpose(1, 0, 2)[0][:, :, None]
np.put_along_axis(y, i, -1.5, 2)
row(N, "put_along_axis({x}, broadcast_to({i}, (2, 3, 1)), -1.5, axis=2)", y, x=x.astype(f4), i=i)

# ---- sort/topk ----
N = "sort/topk"


def ranks(line, down):
    """Positions in order, by Python's stable sort: nan above all."""
    return sorted(range(len(line)), key=lambda i: (not np.isnan(line[i]), -line[i].item()) if down else (np.isnan(line[i]), line[i].item()))


def along_axis(f, x, axis, k):
    """f's positions of each line along the axis."""
    shape = np.moveaxis(x, axis, -1).shape[:-1] + (k,)
    lines = np.moveaxis(x, axis, -1).reshape(int(np.prod(shape[:-1])), x.shape[axis])
    return np.moveaxis(np.array([f(v) for v in lines], i8).reshape(shape), -1, axis)


def topk(x, k, axis, down, order):
    i = along_axis(lambda v: ranks(v, down)[:k] if order else sorted(ranks(v, down)[:k]), x, axis, k)
    return np.take_along_axis(x, i, axis), i


def partition(x, k, axis):
    k %= x.shape[axis]

    def line(v):
        r = ranks(v, False)
        return sorted(r[:k]) + [r[k]] + sorted(r[k + 1:])

    return along_axis(line, x, axis, x.shape[axis])


for t in DTYPES[:-2]:
    for x in [np.array([[3, 1, 2, 1, 3], [0, 5, 1, 5, 5], [2, 2, 2, 0, 1]], t)]:
        for axis, k, down, order in [(-1, 2, True, True), (1, 3, False, True), (0, 2, True, False), (0, 1, False, False), (1, 5, True, True)]:
            for out, want in zip("01", topk(x, k, axis, down, order)):
                row(N, "topk({x}, %d, axis=%d, largest=%s, sorted=%s)[%s]" % (k, axis, down, order, out), want, x=x)
        for k, axis in [(1, 0), (2, -1), (-1, 1)]:
            row(N, "argpartition({x}, %d, axis=%d)" % (k, axis), partition(x, k, axis), x=x)
        row(N, "topk({x}.T[::-1], 2, axis=0)[1]", topk(x.T[::-1], 2, 0, True, True)[1], x=x)
        row(N, "topk({x}, {k}, axis=1)[0]", topk(x, 4, 1, True, True)[0], x=x, k=np.array(4))
        row(N, "sort({x}, axis=1, descending=True)", np.sort(x, 1)[:, ::-1], x=x)
        row(N, "argsort({x}, axis=0, descending=True)", along_axis(lambda v: ranks(v, True), x, 0, x.shape[0]), x=x)
        row(N, "partition({x}, 2, axis=None)", x.ravel()[partition(x.ravel(), 2, 0)], x=x)
low, high = np.iinfo(i8).min, np.iinfo(i8).max
for x in ([2.0, nan, -0.0, inf, 0.0, -inf, nan, 1.0], np.array([low, high, 0, high - 1, low + 1]), np.array([0, 2**64 - 1, 2**63], np.uint64), np.zeros(0)):
    for t in ((f8, f4, np.float16) if isinstance(x, list) else (x.dtype,)):
        v = np.array(x, t)
        for down in (True, False):
            for k in (0, len(v) // 2, len(v)):
                for order in (True, False):
                    row(N, "topk({x}, %d, largest=%s, sorted=%s)[1]" % (k, down, order), topk(v, k, 0, down, order)[1], x=v)
        row(N, "sort({x}, descending=True)", v[ranks(v, True)], x=v)
many = R.randint(0, 90, 350)
for t in (np.uint8, f4, i8):
    for k in (40, 300):
        for order in (True, False):
            row(N, "topk({x}, %d, sorted=%s)[1]" % (k, order), topk(many.astype(t), k, 0, True, order)[1], x=many.astype(t))
    row(N, "argpartition({x}, 200)", partition(many.astype(t), 200, 0), x=many.astype(t))
x = some(3, 5)
for k, axis, down in [(2, 1, True), (1, 0, False), (3, 1, False)]:
    both(N, "topk({x}, %d, axis=%d, largest=%s)[0] ** 2" % (k, axis, down), lambda x: torch.topk(x, k, axis, down)[0] ** 2, x, grad=True)
both(N, "sort({x}, descending=True) * [1, 2, 3, 4, 5]", lambda x: torch.sort(x, descending=True)[0] * T([1, 2, 3, 4, 5]), x, grad=True)
both(N, "partition({x}, 2, axis=1)[:, 2] ** 2", lambda x: torch.kthvalue(x, 3, 1)[0] ** 2, x, grad=True)

# ---- positions ----
N = "positions"
for t in DTYPES:
    x = np.array([[0, 2, 0, 1], [3, 0, 0, 7]]).astype(t)
    row(N, "nonzero({x})", np.array(np.nonzero(x)), x=x)
    row(N, "nonzero({x}.T[::-1])", np.array(np.nonzero(x.T[::-1])), x=x)
    row(N, "argwhere({x})", np.argwhere(x), x=x)
    row(N, "flatnonzero({x}[:, 1:])", np.flatnonzero(x[:, 1:]), x=x)
    row(N, "compress({c}, {x}, axis=1)", np.compress([1, 0, 1], x, 1), x=x, c=np.array([True, False, True]))
    row(N, "compress({c}, {x})", np.compress([1, 0, 1, 1, 0, 1], x), x=x, c=np.array([1, 0, 3, 1, 0, -1]))
    row(N, "extract({x} == 0, {x}[::-1])", np.extract(x == 0, x[::-1]), x=x)
for x in ([nan, 0.0, -0.0, inf], np.zeros((0, 3)), np.zeros((2, 0)), np.ones((2, 1, 3)), np.eye(700)[20:25]):
    row(N, "nonzero({x})", np.array(np.nonzero(x), i8), x=np.asarray(x))
row(N, "nonzero({x})", np.zeros((0, 1), i8), x=np.array(5.0))
row(N, "nonzero({x})", np.zeros((0, 0), i8), x=np.array(0))
both(N, "compress([True, False, True], {x}, axis=0) ** 2", lambda x: x[[0, 2]] ** 2, some(3, 2), grad=True)
both(N, "extract({x} > 0, {x}) ** 2", lambda x: x[x > 0] ** 2, some(3, 2), grad=True)
at = np.array([[[1, 0], [2, 1]], [[3, 2], [0, 0]], [[0, 0], [1, 1]]])
for mode in ("raise", "wrap", "clip"):
    i = at if mode == "raise" else at * 3 - 2
    for t in (i4, i8):
        row(N, "ravel_multi_index({i}, (3, 4, 2), mode='%s')" % mode, np.ravel_multi_index(i, (3, 4, 2), mode), i=i.astype(t))
        row(N, "ravel_multi_index({i}, {s}, '%s')" % mode, np.ravel_multi_index(i[:, 0, 0], (3, 4, 2), mode), i=i[:, 0, 0].astype(t), s=np.array([3, 4, 2]))
for x in (np.array([[0, 23], [5, 6], [7, 8]]), np.array(17), np.array([3], np.uint8), np.zeros((0, 2), i8)):
    row(N, "unravel_index({x}, (3, 4, 2))", np.array(np.unravel_index(x, (3, 4, 2)), i8), x=x)
x, y, z = some(2, 3), some(3), some(2, 1)
for t in (f8, f4, i4):
    a, b, c = (10 * x).astype(t), (10 * y).astype(t), (10 * z).astype(t)
    for default in (0, 7):
        row(N, "select([{a} > 3, {b} < 0], [{a}, {c}], default=%d)" % default, np.select([a > 3, np.broadcast_to(b < 0, a.shape)], [a, c], default).astype(t), a=a, b=b, c=c)
    i = np.array([2, 0, 1])
    row(N, "choose({i}, [{a}, {b}, {c}])", np.choose(i, [a, b, c]), i=i, a=a, b=b, c=c)
    for mode in ("wrap", "clip"):
        row(N, "choose({i}, [{a}, {b}, {c}], mode='%s')" % mode, np.choose(i * 5 - 3, [a, b, c], mode=mode), i=i * 5 - 3, a=a, b=b, c=c)
    for v in (t(5), np.array([1, 2], t)):
        f = a.T.copy()
        np.fill_diagonal(f, v)
        row(N, "fill_diagonal({a}.T, {v})", f, a=a, v=v)
    for shape in [(7, 2), (2, 5), (4, 1), (0, 3), (3, 3)]:
        f = np.zeros(shape, t)
        np.fill_diagonal(f, 4, wrap=True)
        row(N, "fill_diagonal({f}, 4, wrap=True)", f, f=np.zeros(shape, t))
    f = np.zeros((3, 3, 3), t)
    np.fill_diagonal(f, b)
    row(N, "fill_diagonal({f}, {b})", f, f=np.zeros((3, 3, 3), t), b=b)
row(N, "choose({i}, [[1, 2], [3, 4]])", np.array([[1, 4], [3, 2]]), i=np.array([[False, True], [True, False]]))
both(N, "select([{x} > 0, {y} > 0], [{x} ** 2, {y} ** 3], default=1)", lambda x, y: torch.where(x > 0, x**2, torch.where(y > 0, y**3, 1.0)), x, y, grad=True)
both(N, "fill_diagonal({x}, {y}[:2]) ** 2", lambda x, y: (x * (1 - torch.eye(2, 3)) + torch.eye(2, 3) * torch.cat([y[:2], y[:1]])) ** 2, x, y, grad=True)

# ---- sets and counts ----
N = "sets"
for t in DTYPES[:-2]:
    x, y = np.array([[3, 1, 0, 3], [1, 7, 1, 5]]).astype(t), np.array([7, 2, 3, 3]).astype(t)
    for ask in ("return_index", "return_inverse", "return_counts"):
        row(N, "unique({x}, %s=True)[1]" % ask, np.unique(x, **{ask: True})[1], x=x)
    row(N, "unique({x})", np.unique(x), x=x)
    row(N, "unique({x}.T, axis=0)", np.unique(x.T, axis=0), x=x)
    row(N, "unique({x}, axis=1, return_counts=True)[1]", np.unique(x, axis=1, return_counts=True)[1], x=x)
    row(N, "unique({x}, sorted=False)", np.array(list(dict.fromkeys(x.ravel().tolist())), t), x=x)
    for name in ("isin", "intersect1d", "union1d", "setdiff1d", "setxor1d"):
        row(N, name + "({x}, {y})", getattr(np, name)(x, y), x=x, y=y)
    row(N, "isin({x}, {y}, invert=True)", np.isin(x, y, invert=True), x=x, y=y)
    bins = np.array([0, 1, 3]).astype(t)
    for right in (False, True):
        row(N, "digitize({x}, {b}, right=%s)" % right, np.digitize(x, np.array([0, 1, 3]) if t == np.bool_ else bins, right) if t != np.bool_ else np.where(x, 2 - right, 1 - right), x=x, b=bins if t != np.bool_ else np.array([False, True]))
    if np.issubdtype(t, np.integer):
        row(N, "bincount({x}[1])", np.bincount(x[1].astype(i8)), x=x)
        row(N, "bincount({x}[1], minlength=10)", np.bincount(x[1].astype(i8), minlength=10), x=x)
        row(N, "bincount({x}[0], {w})", np.bincount(x[0].astype(i8), [0.5, 2, -1, 4]), x=x, w=np.array([0.5, 2, -1, 4]))
rows = np.array([[1.5, -2.0], [nan, 1.0], [-3.0, 2.0], [1.5, -2.0], [0.0, 1.0], [-0.0, 1.0]])
for t in (np.float16, f4, f8):
    v, order = rows.astype(t), [2, 4, 0, 1]
    row(N, "unique({x}, axis=0)", v[order], x=v)
    row(N, "unique({x}, axis=0, sorted=False, return_inverse=True)[1]", np.array([0, 1, 2, 0, 3, 3]), x=v)
    row(N, "unique({x}, return_counts=True)[1]", np.unique(v, return_counts=True)[1], x=v)
    row(N, "isin({x}, {y})", np.isin(v, [nan, 1.0, -0.0]), x=v, y=np.array([nan, 1.0, -0.0], t))
    for name in ("intersect1d", "setdiff1d"):
        row(N, name + "({x}, {y})", getattr(np, name)(v, np.array([1.5, 0.0], t)), x=v, y=np.array([1.5, 0.0], t))
for ask in ("return_index", "return_inverse", "return_counts"):
    for x in (np.zeros(0), np.zeros((2, 0), i4), np.array(5)):
        row(N, "unique({x}, %s=True)[1]" % ask, np.unique(x, **{ask: True})[1].astype(i8), x=x)
row(N, "unique({x}, axis=0)", np.zeros((1, 0)), x=np.zeros((3, 0)))
row(N, "unique({x}, axis=1)", np.zeros((3, 0)), x=np.zeros((3, 0)))
big = R.randint(-400, 400, (90, 2))
row(N, "unique({x}, axis=0, return_inverse=True)[1]", np.unique(big // 90, axis=0, return_inverse=True)[1], x=big // 90)
row(N, "unique({x}, return_index=True)[1]", np.unique(big, return_index=True)[1], x=big)
both(N, "unique({x}) ** 2", lambda x: torch.sort(x.ravel())[0] ** 2, some(2, 3), grad=True)
both(N, "unique({x}, axis=1)[0] ** 2", lambda x: torch.sort(x[0])[0] ** 2, some(1, 4), grad=True)
for bins in ([1.0, 2.0, 2.0, 4.5], [4.5, 2.0, 2.0, 1.0], [3.0], []):
    for right in (False, True):
        x = np.array([[0.5, 1.0, 2.0], [nan, 4.5, 9.0]])
        row(N, "digitize({x}, {b}, right=%s)" % right, np.digitize(x, bins, right), x=x, b=np.array(bins))
v = np.array([1.0, 2.5, 2.0, 9.0, 4.0, 2.5, 1.0, 9.0])
w = np.array([0.5, 1.0, -2.0, 3.0, 0.25, 1.0, 1.5, 2.0])
for t in (f8, f4, i4):
    for call, args in [("histogram({x})", {}), ("histogram({x}, 4)", {"bins": 4}), ("histogram({x}, 3, [2, 4])", {"bins": 3, "range": (2, 4)}),
                       ("histogram({x}, {e})", {"bins": np.array([1, 2, 5, 9])}), ("histogram({x}, 5, density=True)", {"bins": 5, "density": True}),
                       ("histogram({x}, 4, weights={w})", {"bins": 4, "weights": w})]:
        h, e = np.histogram(v.astype(t), **args)
        extra = {"e": np.array([1, 2, 5, 9])} if "{e}" in call else {"w": w} if "{w}" in call else {}
        row(N, call + "[0]", h, x=v.astype(t), **extra)
        if "e" not in extra:
            row(N, call + "[1]", e.astype(f4 if t == f4 else f8), x=v.astype(t), **extra)
for x in (np.zeros(0), np.full(3, 2.0)):
    for part in "01":
        row(N, "histogram({x}, 2)[%s]" % part, np.histogram(x, 2)[int(part)], x=x)
both(N, "histogram([1., 5., 2., 2.5], 2, weights={x})[0] ** 2", lambda w: torch.stack([w[0] + w[2] + w[3], w[1]]) ** 2, w[:4], grad=True)
k = np.array([[3, 1, 3, 1, 2], [1, 0, 1, 1, 0], [5.5, nan, -1, 7, 0]])
row(N, "lexsort({k})", np.lexsort(k), k=k)
row(N, "lexsort([{a}, {k}[1]])", np.lexsort([k[2], k[1]]), a=k[2], k=k)
row(N, "lexsort([{a}, {b}], axis=0)", np.lexsort([big[:6], big[:6, ::-1] // 200], axis=0), a=big[:6], b=big[:6, ::-1] // 200)

# ---- integers, signs ----
N = "integers"
for t in DTYPES[1:10] + [f4, f8]:
    info = np.iinfo(t) if np.issubdtype(t, np.integer) else None
    whole = [-7, 7, -7, 7, -128, 0, 5, 100] if not np.issubdtype(t, np.unsignedinteger) else [7, 250, 0, 5, 100, 6, 1, 128]
    x, y = np.array(whole, np.float64).astype(t), np.array([3, 3, -3, -3, -1, 5, 7, 9] if not np.issubdtype(t, np.unsignedinteger) else [3, 7, 5, 9, 10, 6, 2, 64], np.float64).astype(t)
    row(N, "fmod({x}, {y})", np.fmod(x, y) if info is None else (np.abs(x.astype(f8)) % np.abs(y.astype(f8)) * np.sign(x.astype(f8))).astype(t), x=x, y=y)
    row(N, "trunc_divide({x}, {y})", np.trunc(x.astype(f8) / y.astype(f8)).astype(i8).astype(t) if info else np.trunc(x / y), x=x, y=y)
    row(N, "signbit({x})", np.signbit(x.astype(f8)), x=x)
    if info:
        row(N, "gcd({x}, {y})", np.gcd(x, y), x=x, y=y)
        row(N, "lcm({x}, {y})", np.lcm(x.astype(i8), y.astype(i8)).astype(t), x=x, y=y)
        ends = np.array([info.min, info.max, 0, 1, 85, info.min + 1], t)
        row(N, "bit_count({x})", np.array([bin(abs(int(v))).count("1") for v in ends], t), x=ends)
        if info.min:
            low, one = np.array([info.min], t), np.array([-1], t)
            row(N, "trunc_divide({x}, {y})", low, x=low, y=one)
            row(N, "fmod({x}, {y})", np.zeros(1, t), x=low, y=one)
    else:
        e = np.array([nan, inf, -inf, 0.0, -0.0, 5.5, -5.5, 1.0], t)
        for v in (2.0, -0.0, inf, nan, -3.0):
            w = np.full(8, v, t)
            row(N, "fmod({x}, {y})", np.fmod(e, w), x=e, y=w)
            row(N, "trunc_divide({x}, {y})", np.trunc(e / w), x=e, y=w)
            row(N, "copysign({x}, {y})", np.copysign(e, w), x=e, y=w)
            row(N, "signbit(copysign({x}, {y}))", np.signbit(np.copysign(e, w)), x=e, y=w)
        row(N, "signbit({x})", np.signbit(e), x=e)
        row(N, "nan_to_num({x}, 2, posinf=5, neginf=-7)", np.nan_to_num(e, nan=2, posinf=5, neginf=-7), x=e)
        row(N, "nan_to_num({x}, posinf=1)", np.nan_to_num(e, posinf=1), x=e)
both(N, "fmod({x}, {y})", torch.fmod, some(2, 3) * 5, some(3) + 3, grad=True)
both(N, "copysign({x}, {y})", torch.copysign, some(2, 3), some(3), grad=True)
bits = R.randint(0, 2**32, 200, np.uint64).astype(np.uint32)
v = np.concatenate([bits.view(f4)[np.isfinite(bits.view(f4))], np.array([1.00390625, 1.01171875, 3.3895e38, 3.4e38, -inf, nan, -0.0, 1e-45, 9.2e-41], f4)])
row(N, "round_bfloat16({x})", T(v).bfloat16().float().numpy(), x=v)
row(N, "round_bfloat16({x})", T(v).bfloat16().double().numpy(), x=v.astype(f8))
row(N, "round_bfloat16({x})", np.array([1.0078125, 1.0, -1.0078125, inf]), x=np.array([1.00390625 + 1e-12, 1.00390625 - 1e-12, -1.00390625 - 1e-14, 1e300]))

# ---- a tuple as an index ----
N = "index/tuple"
x = some(3, 4, 2)
i, j, k = np.array([2, 0, 2]), np.array([[1, -1]])[0], np.array([1, 0], np.uint8)
rows, columns = np.array([True, False, True]), np.array([False, False, True, True])
for given in ((i,), (i, j), (i, j, k), (rows, j), (i, columns, k), (rows, columns), (i[:0], j)):
    at = np.ix_(*given)
    names = "abc"[: len(given)]
    call = "ix_(%s)" % ", ".join("{%s}" % n for n in names)
    row(N, "{x}[%s]" % call, x[at], x=x, **dict(zip(names, given)))
    y = x.copy()
    y[at] = 7
    row(N, "set_subtensor({x}[%s], 7)" % call, y, x=x, **dict(zip(names, given)))
row(N, "{x}[meshgrid({i}, {j}, indexing='ij')]", x[tuple(np.meshgrid(i, j, indexing="ij"))], x=x, i=i, j=j)
row(N, "(lambda t: {x}[t])(({i}, 1))", x[(i, 1)], x=x, i=i)
row(N, "(lambda t: {x}[t])((None, {i}))", x[(None, i)], x=x, i=i)
row(N, "(lambda t: {x}[t])([0, 2])", x[[0, 2]], x=x)
row(N, "{x}[((0, 2), 1)]", x[((0, 2), 1)], x=x)

# ---- index/along: dims that broadcast ----
N, x = "index/along", np.arange(24).reshape(2, 3, 4)
for s, axis in [((2, 2, 1), 1), ((1, 2, 4), 1), ((1, 2, 1), 1), ((2, 1, 3), 2), ((2, 1, 1), 0), ((1, 1, 2), 2)]:
    j = (np.arange(np.prod(s)).reshape(s) * 5 - 2) % x.shape[axis]
    z, v = x.astype(f4).copy(), np.arange(s[axis]).reshape([-1 if k == axis else 1 for k in range(3)]) + 0.5
    np.put_along_axis(z, j, v, axis)
    row(N, "take_along_axis({x}, {i}, axis=%d)" % axis, np.take_along_axis(x, j, axis), x=x, i=j)
    row(N, "put_along_axis({x}, {i}, {v}, axis=%d)" % axis, z, x=x.astype(f4), i=j, v=v)
    both(N, "take_along_axis({x}, %s, axis=%d)" % (j.tolist(), axis), lambda x: torch.take_along_dim(x, T(j), axis), x / 8 - 1, grad=True)
    row(N, "gather_elements({x}, {i}, axis=%d)" % axis, torch.gather(T(x), axis, T(j)).numpy(), x=x, i=j)
j = np.array([[[1, 2]], [[0, 2]], [[2, 2]]])
row(N, "take_along_axis({x}, {i}, axis=2)", np.take_along_axis(x[:1], j, 2), x=x[:1], i=j)

# ---- integers close together are counted: at the ends of their dtypes, and none ----
N = "sets"
for t in DTYPES:
    if not np.issubdtype(t, np.integer):
        continue
    ends = np.iinfo(t)
    for x in ([ends.max, ends.max - 2, ends.max, ends.max - 1], [ends.min + 1, ends.min, ends.min, ends.min + 3], [ends.max, ends.min, ends.max, ends.max, ends.min + 1]):
        x = np.array(x, t)
        for k in range(4):
            row(N, "unique({x}, return_index=True, return_inverse=True, return_counts=True)[%d]" % k, np.unique(x, True, True, True)[k], x=x)
            row(N, "unique({x}[::-1], return_index=True, return_inverse=True, return_counts=True)[%d]" % k, np.unique(x[::-1], True, True, True)[k], x=x)
        row(N, "unique({x}, sorted=False, return_counts=True)[1]", np.array([(x == v).sum() for v in dict.fromkeys(x.tolist())]), x=x)
x = np.array([2**63, 2**63 - 1, 2**63 + 1, 2**63 - 1], np.uint64)
row(N, "unique({x}, return_inverse=True)[0]", np.unique(x), x=x)
row(N, "unique({x}, return_inverse=True)[1]", np.unique(x, return_inverse=True)[1], x=x)
