#!/usr/bin/python3
"""Writes tests/bats/windows.tsv: values and gradients of pooling, resampling and what belongs to them, worked out by PyTorch (1.13), and
ONNX's own cases from Debian's libonnx-testdata, to which tests/bats/windows.bats compares them. Tests don't need it: run it when an op is
added."""
import glob
import warnings
import numpy as np
import onnx
import onnx.numpy_helper
import torch
import torch.nn.functional as F
from values import both, f2, f4, f8, inf, nan, row

warnings.simplefilter("ignore")
rng = np.random.default_rng(7)


def values(*shape):
    return np.round(rng.normal(size=shape), 3)


# ---- pooling ----
N = "pool"
LINE, PLANE, CUBE = values(2, 2, 7), values(1, 2, 5, 6), values(1, 1, 4, 5, 4)
POOLS = {"max": (F.max_pool1d, F.max_pool2d, F.max_pool3d), "avg": (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)}
WINDOWS = [
    (LINE, 2, "", {}),
    (LINE, 3, "strides=2, padding=1, ceil=True", dict(stride=2, padding=1, ceil_mode=True)),
    (PLANE, 3, "strides=2, padding=1", dict(stride=2, padding=1)),
    (PLANE, (2, 3), "strides=(2, 1), padding=(0, 1), ceil=True", dict(stride=(2, 1), padding=(0, 1), ceil_mode=True)),
    (PLANE, (5, 6), "", {}),
    (PLANE, 2, "strides=4, padding=1, ceil=True", dict(stride=4, padding=1, ceil_mode=True)),
    (CUBE, 2, "", {}),
    (CUBE, (3, 2, 2), "strides=1, padding=1, ceil=True", dict(stride=1, padding=1, ceil_mode=True)),
    (np.zeros((0, 2, 4)), 2, "", {}),
]
for x, size, text, args in WINDOWS:
    for kind, fs in POOLS.items():
        f = fs[x.ndim - 3]
        more = [("", {})] if kind == "max" else [(", include_pad=True", dict(count_include_pad=True)), ("", dict(count_include_pad=False))]
        for extra, keys in more:
            both(N, "%s_pool({x}, %s%s%s)" % (kind, size, text and ", " + text, extra), lambda t: f(t, size, **args, **keys), x, grad=x.size > 0)
    if x.size:
        t = torch.tensor(x)
        got = POOLS["max"][x.ndim - 3](t, size, return_indices=True, **args)
        row(N, "max_pool_positions({x}, %s%s)" % (size, text and ", " + text), got[1].numpy(), x=x)
for dilation in (2, (1, 3)):
    both(N, "max_pool({x}, 2, strides=1, dilations=%s)" % (dilation,), lambda t: F.max_pool2d(t, 2, 1, 0, dilation), PLANE, grad=True)
    both(N, "max_pool({x}, 2, strides=2, dilations=%s, padding=1)" % (dilation,), lambda t: F.max_pool2d(t, 2, 2, 1, dilation), PLANE, grad=True)
# strides and odd layouts
both(N, "max_pool({x}.T[::2, :, ::-1], 2)", lambda t: F.max_pool1d(torch.flip(t.T[::2], [2]), 2), LINE, grad=True)
both(N, "avg_pool({x}.T[::2, :, ::-1], 2)", lambda t: F.avg_pool1d(torch.flip(t.T[::2], [2]), 2), LINE, grad=True)
both(N, "lp_pool({x}, 3, p=3, strides=2)", lambda t: F.avg_pool2d(t.abs() ** 3, 3, 2).mul(9) ** (1 / 3), PLANE, grad=True)
both(N, "lp_pool({x}, 2)", lambda t: F.lp_pool1d(t, 2, 2), LINE, grad=True)
# ties, nan, infinities; other dtypes
TIES = np.array([[[1.0, 1, 0, 2, 2, 2, -inf, -inf, inf]]])
both(N, "max_pool({x}, 3)", lambda t: F.max_pool1d(t, 3), TIES, grad=True)
both(N, "max_pool({x}, 2)", lambda t: F.max_pool1d(t, 2), [[[nan, 1.0, 2.0, nan, 3.0, 4.0]]])
row(N, "max_pool_positions({x}, 3)", np.array([[[0, 3, 6]]]), x=np.array([[[nan, 1.0, nan, 5, 5, 4, -inf, -inf, -inf]]]))
for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, f2):
    whole = rng.integers(0, 100, (1, 1, 4, 5)).astype(dtype) - dtype(50 if np.dtype(dtype).kind in "if" else 0)
    pooled = F.max_pool2d(torch.tensor(whole.astype(f8)), 3, 2, 1).numpy()
    row(N, "max_pool({x}, 3, strides=2, padding=1)", pooled.astype(dtype), x=whole)
    mean = F.avg_pool2d(torch.tensor(whole.astype(f8)), 2).numpy()
    row(N, "avg_pool({x}, 2)", mean.astype(f2 if dtype == f2 else f8), x=whole)
row(N, "max_pool({x}, 2)", np.array([[[2**63 + 1, 2**64 - 1]]], np.uint64), x=np.array([[[2**63, 2**63 + 1, 2**64 - 1, 5]]], np.uint64))
row(N, "max_pool({x}, 2)", np.array([[[True, False]]]), x=np.array([[[False, True, False, False]]]))
# a window without elements
row(N, "max_pool({x}, 2, dilations=3, padding=3, strides=1)", np.array([[[1, 2, -inf, 1, 2]]]), x=np.array([[[1.0, 2]]]))
row(N, "max_pool({x}, 2, dilations=3, padding=3, strides=1)", np.array([[[1, 2, -128, 1, 2]]], np.int8), x=np.array([[[1, 2]]], np.int8))
row(N, "avg_pool({x}, 2, dilations=3, padding=3, strides=1)", np.array([[[1, 2, nan, 1, 2]]]), x=np.array([[[1.0, 2]]]))
row(N, "max_pool_positions({x}, 2, dilations=3, padding=3, strides=1)", np.array([[[0, 1, -1, 0, 1]]]), x=np.array([[[1.0, 2]]]))
# back to the places
t, at = F.max_pool2d(torch.tensor(PLANE), 2, 2, return_indices=True)
put = F.max_unpool2d(t, at, 2, 2, output_size=(5, 6)).numpy()
row(N, "max_unpool({x}, {y}, (5, 6))", put, x=t.numpy(), y=at.numpy())

# ---- resampling ----
N = "resize"
MODES = {3: "linear", 4: "bilinear", 5: "trilinear"}
SIZES = [(LINE, (11,)), (LINE, (3,)), (PLANE, (9, 4)), (PLANE, (5, 13)), (PLANE, (1, 1)), (CUBE, (3, 7, 4))]
for x, sizes in SIZES:
    for corners in (False, True):
        both(N, "resize({x}, %s, 'linear', coordinates='%s')" % (sizes, "align_corners" if corners else "half_pixel"),
             lambda t: F.interpolate(t, sizes, mode=MODES[x.ndim], align_corners=corners), x, grad=True)
        if x.ndim == 4:
            both(N, "resize({x}, %s, mode='cubic', coordinates='%s')" % (sizes, "align_corners" if corners else "half_pixel"),
                 lambda t: F.interpolate(t, sizes, mode="bicubic", align_corners=corners), x, grad=True)
    both(N, "resize({x}, %s, coordinates='asymmetric', nearest='floor')" % (sizes,), lambda t: F.interpolate(t, sizes, mode="nearest"), x, grad=True)
    both(N, "resize({x}, %s, nearest='round_prefer_ceil')" % (sizes,), lambda t: F.interpolate(t, sizes, mode="nearest-exact"), x)
for mode, torchs in (("linear", "bilinear"), ("cubic", "bicubic")):
    both(N, "resize({x}, (2, 3), '%s', antialias=True, exclude_outside=True, cubic_coeff=-0.5)" % mode,
         lambda t: F.interpolate(t, (2, 3), mode=torchs, antialias=True), PLANE, grad=True)
    both(N, "rescale({x}, (1.5, 0.7), '%s')" % mode, lambda t: F.interpolate(t, scale_factor=(1.5, 0.7), mode=torchs), PLANE, grad=True)
both(N, "resize({x}.T[::2, :, ::-1], (5, 3), 'linear')", lambda t: F.interpolate(torch.flip(t.T[::2], [2])[None], (5, 3), mode="bilinear")[0], LINE, grad=True)
both(N, "resize({x}, (0, 9))", lambda t: torch.zeros((1, 2, 0, 9), dtype=t.dtype), PLANE)
both(N, "resize({x}, (4, 5), 'linear')", lambda t: torch.zeros((0, 4, 5), dtype=t.dtype), np.zeros((0, 3, 2)))
both(N, "resize({x}, [4], 'linear')", lambda t: torch.tensor([1.0, nan, nan, nan], dtype=t.dtype), [1.0, nan])
for dtype in (np.bool_, np.int8, np.uint16, np.int64, f2):
    whole = rng.integers(0, 2 if dtype == np.bool_ else 100, (3, 4)).astype(dtype)
    row(N, "resize({x}, (5, 3), nearest='round_prefer_ceil')", F.interpolate(torch.tensor(whole.astype(f8))[None, None], (5, 3), mode="nearest-exact").numpy()[0, 0].astype(dtype), x=whole)
    less = F.interpolate(torch.tensor(whole.astype(f8))[None, None], (2, 3), mode="bilinear").numpy()[0, 0]
    row(N, "resize({x}, (2, 3), mode='linear')", less.astype(f2 if dtype == f2 else f8), x=whole)
    mean = F.interpolate(torch.tensor(whole.astype(f8))[None, None], (5, 3), mode="bilinear").numpy()[0, 0]
    row(N, "resize({x}, (5, 3), mode='linear')", mean.astype(f2 if dtype == f2 else f8), x=whole)
# ONNX's cases (PyTorch has no such modes)
row(N, "resize({x}, (3, 3), {y}, mode='linear', coordinates='tf_crop_and_resize')",
    np.array([[7.6000004, 7.9, 8.2], [8.8, 9.1, 9.400001], [10.0, 10.3, 10.6]], f4), x=np.arange(1, 17, dtype=f4).reshape(4, 4), y=np.array([0.4, 0.6, 0.6, 0.8], f4))
row(N, "resize({x}, (3, 3), {y}, mode='linear', coordinates='tf_crop_and_resize', extrapolation=10)",
    np.array([[7.6000004, 10.0, 10.0], [12.400001, 10.0, 10.0], [10.0, 10.0, 10.0]], f4), x=np.arange(1, 17, dtype=f4).reshape(4, 4), y=np.array([0.4, 0.6, 1.2, 1.7], f4))
row(N, "rescale({x}, (2.0, 3.0))", np.repeat(np.repeat([[1, 2], [3, 4]], 2, 0), 3, 1), x=np.array([[1, 2], [3, 4]]))
row(N, "rescale({x}, (0.8, 0.8), mode='cubic', exclude_outside=True, cubic_coeff=-0.5)",
    np.array([[1.36812675, 2.6695014, 4.0133367], [6.57362535, 7.875, 9.2188353], [11.94896657, 13.25034122, 14.59417652]], f4),
    x=np.arange(1, 17, dtype=f4).reshape(4, 4))
row(N, "resize({x}, (1, 3), mode='linear', coordinates='pytorch_half_pixel')", np.array([[1.1666666, 2.5, 3.8333333]], f4), x=np.arange(1, 17, dtype=f4).reshape(4, 4))
row(N, "resize({x}, (3, 1), coordinates='tf_half_pixel_for_nn')", np.array([[7.0], [11.0], [15.0]], f4), x=np.arange(1, 17, dtype=f4).reshape(4, 4))

# ---- images ----
N = "images"
DEEP = values(1, 8, 2, 3)
both(N, "depth_to_space({x}, 2, mode='CRD')", lambda t: F.pixel_shuffle(t, 2), DEEP, grad=True)
both(N, "space_to_depth({x}, 2, mode='CRD')", lambda t: F.pixel_unshuffle(t, 2), values(2, 1, 4, 6), grad=True)
row(N, "depth_to_space({x}, 2)", DEEP.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6), x=DEEP)
row(N, "space_to_depth(depth_to_space({x}, 2), 2)", DEEP, x=DEEP)
for size, args in ((3, {}), (2, dict(alpha=0.5, beta=0.6, k=2.0)), (5, dict(alpha=1.0))):
    text = ", ".join("%s=%s" % ({"k": "bias"}.get(k, k), v) for k, v in args.items())
    # of an even number of channels, PyTorch takes more before and ONNX more after
    flip = (lambda t: torch.flip(t, [1])) if size % 2 == 0 else (lambda t: t)
    both(N, "lrn({x}, %d%s)" % (size, text and ", " + text), lambda t: flip(F.local_response_norm(flip(t), size, **args)), DEEP, grad=True)
row(N, "hardmax({x}, axis=0)", np.array([[0, 1, 0], [1, 0, 1]], f4), x=np.array([[1, 5, 2], [3, 4, nan]], f4))
row(N, "hardmax({x})", np.array([[0, 1, 0]]), x=np.array([[2, 7, 7]]))
row(N, "one_hot({x}, 3, axis=1)", np.eye(3)[[[0, 2], [1, 1]]].transpose(0, 2, 1), x=np.array([[0, 2], [1, 1]]))
row(N, "where(one_hot({x}, 3, dtype=bool, axis=0), 5, 2)", np.array([[5, 2], [2, 2], [2, 5]]), x=np.array([0, 2]))
SERIES = np.arange(24).reshape(4, 3, 2)
LENGTHS = np.array([4, 0, 2])
REVERSED = SERIES.copy()
for i, n in enumerate(LENGTHS):
    REVERSED[:n, i] = SERIES[:n, i][::-1]
row(N, "reverse_sequence({x}, {y})", REVERSED, x=SERIES, y=LENGTHS)
row(N, "reverse_sequence({x}, {y}, time=-1, batch=0)", REVERSED.transpose(1, 2, 0), x=SERIES.transpose(1, 2, 0), y=LENGTHS)
row(N, "grad(sum(reverse_sequence({x}, {y}) * {z}), {x})", REVERSED.astype(f8), x=SERIES * 0.0, y=LENGTHS, z=SERIES.astype(f8))

N = "grid_sample"
GRID = np.round(rng.uniform(-1.6, 1.6, (2, 3, 1, 2)), 3)
IMAGE = values(2, 1, 3, 4)
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            # a place that is rounded has no derivative: the grid is part of the call
            fixed = mode == "nearest" and "[" + ", ".join("[" + ", ".join(str(r.tolist()) for r in p) + "]" for p in GRID) + "]"
            both(N, "grid_sample({x}, %s, mode='%s', padding='%s', align_corners=%s)" % (fixed or "{y}", mode, padding, corners),
                 lambda t, at=torch.tensor(GRID): F.grid_sample(t, at, mode=mode, padding_mode=padding, align_corners=corners),
                 *((IMAGE,) if fixed else (IMAGE, GRID)), grad=True)
both(N, "grid_sample({x}, {y})", lambda t, at: F.grid_sample(t, at, align_corners=False), IMAGE, np.zeros((2, 0, 3, 2)))
both(N, "grid_sample({x}, {y}, padding='reflection', align_corners=True)",
     lambda t, at: F.grid_sample(t, at, padding_mode="reflection", align_corners=True), values(2, 2, 1, 3), GRID)

N = "roi_align"
BOXES = np.array([[0.5, 1.0, 3.25, 4.0], [1.5, 0.75, 2.0, 5.5], [0.75, 0.75, 4.5, 2.5]])
PICTURES = values(2, 2, 6, 5)


def aligned(t, boxes, rows, height, width, samples, largest=False):
    """Parts of boxes inside the image, by grid_sample."""
    parts = []
    for box, r in zip(boxes - 0.5, rows):
        ny = samples or max(1, int(np.ceil((box[3] - box[1]) / height)))
        nx = samples or max(1, int(np.ceil((box[2] - box[0]) / width)))
        ys = box[1] + (box[3] - box[1]) * (torch.arange(height * ny, dtype=t.dtype) + 0.5) / (height * ny)
        xs = box[0] + (box[2] - box[0]) * (torch.arange(width * nx, dtype=t.dtype) + 0.5) / (width * nx)
        grid = torch.stack(torch.meshgrid(ys / (t.shape[2] - 1), xs / (t.shape[3] - 1), indexing="ij")[::-1], -1) * 2 - 1
        v = F.grid_sample(t[r : r + 1], grid[None], padding_mode="border", align_corners=True)
        v = v.reshape(t.shape[1], height, ny, width, nx)
        parts.append(v.amax((2, 4)) if largest else v.mean((2, 4)))
    return torch.stack(parts)


for args, call in (((2, 3, 2), "height=2, width=3, samples=2"), ((2, 2, 0), "height=2, width=2"), ((1, 2, 3, True), "width=2, samples=3, largest=True")):
    call = "roi_align({x}, {y}, [1, 0, 1], %s)" % call
    for dtype in (f8, f4):
        x = torch.tensor(PICTURES.astype(dtype).astype(f8), requires_grad=True)
        r = aligned(x, torch.tensor(BOXES), [1, 0, 1], *args)
        row(N, call, r.detach().numpy().astype(dtype), x=PICTURES.astype(dtype), y=BOXES.astype(dtype))
        g = torch.autograd.grad(r.sum(), x)[0].numpy().astype(dtype)
        row(N, "grad(sum(%s), {x})" % call, g, x=PICTURES.astype(dtype), y=BOXES.astype(dtype))
row(N, "roi_align({x}, {y}, [1, 0, 1], height=2, samples=2, scale=0.5)", aligned(torch.tensor(PICTURES), torch.tensor(BOXES), [1, 0, 1], 2, 1, 2).numpy(), x=PICTURES, y=BOXES * 2)
row(N, "roi_align({x}, {y}, zeros(0, dtype=int64), samples=2)", np.zeros((0, 2, 1, 1)), x=PICTURES, y=np.zeros((0, 4)))
row(N, "roi_align({x}, {y}, zeros(0, dtype=int64), largest=True)", np.zeros((0, 2, 1, 1)), x=PICTURES, y=np.zeros((0, 4)))
# beyond the edges are zeros, from one pixel away; up to there, the edge
row(N, "roi_align({x}, {y}, [0, 0], samples=1)", np.array([1.0, 0.0]).reshape(2, 1, 1, 1), x=np.ones((1, 1, 2, 2)), y=np.array([[-1.0, -0.5, 0.5, 0.5], [-3.0, 0, 0, 1]]))

N = "non_max_suppression"
CASES = "/usr/share/libonnx-testdata/data/node/test_nonmaxsuppression_"


def onnx_array(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return onnx.numpy_helper.to_array(t)


for case in sorted(glob.glob(CASES + "*")):
    arrays = [onnx_array(p) for p in sorted(glob.glob(case + "/test_data_set_0/input_*"))]
    names = dict(zip("xyzuv", arrays))
    more = "".join(", {%s}[0]" % k for k in "zuv"[: len(arrays) - 2])
    call = "non_max_suppression({x}, {y}%s%s)" % (more, ", centers=True" if "center" in case else "")
    row(N, call, onnx_array(case + "/test_data_set_0/output_0.pb"), **names)
