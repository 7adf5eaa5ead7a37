#!/usr/bin/python3
"""Writes tests/bats/conv.tsv: convolutions and their gradients by PyTorch (1.13), to which tests/bats/conv.bats compares ours. Tests don't
need it: run it when a case is added.

A line: the op, the shapes of x and w, the props, and of the result and of the gradients of x and w (the cotangent is the pattern below,
too) a checksum each. All elements are small integers, so that the sums are exact in float32, in any order."""
import itertools
import torch
import torch.nn.functional as F


def pattern(shape, a, b, m):
    n = 1
    for k in shape:
        n *= k
    return ((torch.arange(n, dtype=torch.float64) * a + b) % m - m // 2).reshape(shape)


def checksum(t):
    weight = (torch.arange(t.numel(), dtype=torch.int64) * 101 + 7) % 1009
    return int((t.detach().reshape(-1).to(torch.int64) * weight).sum())


def same(x, w, stride, dilation, lower):
    """x with the zeros of 'same' around it, from the definition."""
    pads = []
    for k in range(x.dim() - 2):
        n, s, window = x.shape[2 + k], stride[k], dilation[k] * (w.shape[2 + k] - 1) + 1
        total = max((-(-n // s) - 1) * s + window - n, 0)
        first = total - total // 2 if lower else total // 2
        pads = [first, total - first] + pads
    return F.pad(x, pads)


def each(v, n):
    return list(v) if isinstance(v, (tuple, list)) else [v] * n


def case(op, xs, ws, **props):
    x, w = pattern(xs, 37, 11, 19).requires_grad_(), pattern(ws, 23, 5, 13).requires_grad_()
    n = len(xs) - 2
    f = [F.conv1d, F.conv2d, F.conv3d][n - 1] if op == "conv" else [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1]
    stride, dilation, pad = each(props.get("strides", 1), n), each(props.get("dilations", 1), n), props.get("padding", 0)
    args = dict(stride=stride, dilation=dilation, groups=props.get("groups", 1))
    if op == "conv" and isinstance(pad, str):
        y = f(same(x, w, stride, dilation, pad == "same_lower"), w, **args)
    elif op == "conv" and isinstance(pad, list):
        y = f(F.pad(x, [p for pair in reversed(pad) for p in pair]), w, **args)
    else:
        if op != "conv":
            args["output_padding"] = props.get("output_padding", 0)
        y = f(x, w, padding=pad, **args)
    g = pattern(y.shape, 29, 3, 17)
    gx, gw = torch.autograd.grad((y * g).sum(), (x, w))
    if isinstance(pad, list) and n == 1:
        props["padding"] = pad[0]
    text = "".join(", %s=%r" % (k, props[k]) for k in props)
    print("\t".join([op, str(list(xs)), str(list(ws)), text, str(list(y.shape)), str(checksum(y)), str(checksum(gx)), str(checksum(gw))]))


# networks' layers, small and in odd sizes
for o, width in zip([1, 2, 3, 5, 7, 8, 9, 13, 16, 20, 33], [50, 1, 3, 7, 14, 17, 31, 70, 28, 56, 9]):
    case("conv", (2, 3, 5, width), (o, 3, 3, 3), padding=1)
    case("conv", (1, 4, 6, width + 2), (o, 4, 3, 3), strides=2, padding=1)
    case("conv", (2, 6, 4, width), (o, 6, 1, 1))
case("conv", (1, 3, 33, 40), (16, 3, 7, 7), strides=2, padding=3)
case("conv", (1, 64, 14, 14), (24, 64, 3, 3), padding=1)
case("conv", (1, 40, 7, 7), (32, 40, 3, 3), padding=1)
case("conv", (2, 20, 9, 9), (12, 20, 1, 1), strides=2)
case("conv", (1, 300, 5, 6), (17, 300, 3, 3), padding=1)
case("conv", (1, 6, 4, 9), (8, 3, 1, 1), groups=2)
# depthwise, and other groups
for width, stride, multiplier in itertools.product([5, 16, 33, 112], [1, 2], [1, 2]):
    case("conv", (2, 6, 7, width), (6 * multiplier, 1, 3, 3), strides=stride, padding=1, groups=6)
case("conv", (1, 4, 9, 9), (4, 1, 5, 5), padding=2, groups=4)
case("conv", (2, 12, 6, 11), (9, 4, 3, 2), groups=3, padding=[[1, 0], [2, 1]])
# all else
case("conv", (2, 5, 41), (7, 5, 4))
case("conv", (2, 5, 41), (7, 5, 4), strides=3, padding=(2,), dilations=2)
case("conv", (1, 2, 23, 29), (6, 2, 3, 4), strides=(2, 3), padding=(4, 1), dilations=(3, 2))
case("conv", (1, 2, 23, 29), (6, 2, 3, 4), strides=(3, 1), padding="same", dilations=(1, 2))
case("conv", (1, 2, 23, 29), (6, 2, 4, 4), strides=(1, 4), padding="same_lower")
case("conv", (1, 2, 9, 8), (6, 2, 2, 1), strides=(3, 5), padding="same")
case("conv", (1, 4, 6, 7, 8), (5, 4, 3, 2, 3), padding=(1, 0, 2), strides=(1, 2, 1))
case("conv", (2, 4, 5, 4, 17), (6, 2, 2, 3, 2), groups=2, dilations=(1, 1, 3), padding=[[0, 1], [1, 1], [2, 0]])
case("conv", (1, 2, 8, 9), (3, 2, 3, 3), padding=[[-2, 1], [3, -1]])
case("conv_transpose", (2, 3, 5, 6), (3, 4, 3, 3))
case("conv_transpose", (2, 6, 5, 17), (6, 8, 4, 4), strides=2, padding=1)
case("conv_transpose", (2, 6, 5, 17), (6, 8, 3, 3), strides=2, padding=1, output_padding=1)
case("conv_transpose", (1, 6, 11), (6, 2, 5), strides=3, padding=2, dilations=2, groups=2, output_padding=2)
case("conv_transpose", (1, 6, 11), (6, 2, 5), padding=2, dilations=3, groups=3, output_padding=2)
case("conv_transpose", (1, 3, 4, 3, 5), (3, 2, 2, 3, 3), strides=(2, 1, 3), padding=(1, 0, 2), output_padding=(0, 0, 1))
