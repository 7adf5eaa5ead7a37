#!/usr/bin/python3
"""Writes tests/bats/fft.tsv: Fourier and cosine transforms by NumPy (1.24), SciPy (1.10) and PyTorch (1.13), to which tests/bats/fft.bats
compares ours. Tests don't need it: run it when a case is added. values.py says what a line is."""
import warnings
import numpy as np
import scipy.fft
import torch
from values import f4, f8, i4, nan, row

warnings.simplefilter("ignore")
N = "fft"
R = np.random.RandomState(12)


def some(*shape):
    return R.uniform(-2, 2, shape).round(3)


def spectrum(call, f, *arrays, names="xyzw"):
    """The call for both widths, worked out in the wider one."""
    for wide in (True, False):
        a = [x if wide or x.dtype.kind not in "fc" else x.astype(f4 if x.dtype.kind == "f" else np.complex64) for x in arrays]
        value = np.asarray(f(*[x.astype(f8 if x.dtype.kind == "f" else np.complex128) for x in a]))
        to = value.dtype if wide else f4 if value.dtype.kind == "f" else np.complex64
        row(N, call, value.astype(to), **dict(zip(names, a)))


for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 24, 34, 53, 64):
    x, z = some(n), some(n) + 1j * some(n)
    spectrum("fft({x})", np.fft.fft, z)
    spectrum("ifft({x})", np.fft.ifft, z)
    spectrum("rfft({x})", np.fft.rfft, x)
    spectrum("irfft({x}[:%d], %d)" % (n // 2 + 1, n), lambda z: np.fft.irfft(z[:n // 2 + 1], n), z)
x, z = some(4, 6, 5), some(4, 6, 5) + 1j * some(4, 6, 5)
for norm in ("backward", "ortho", "forward"):
    for n in (None, 3, 8):
        for axis in (-1, 0, 1):
            for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
                spectrum("%s({x}%s, axis=%d, norm='%s')" % (name, ", %d" % n if n else "", axis, norm), lambda v: getattr(np.fft, name)(v, n, axis, norm),
                         z[0] if axis == -1 and "i" not in name[:1] and "r" not in name else x[0] if axis == -1 else x[:, :2, 0] if name in ("rfft", "ihfft") else z[:, :, 0]) \
                    if axis < 1 or n else None
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        f = getattr(np.fft, name)
        v = x if name.startswith("r") else z
        spectrum("%s({x}, norm='%s')" % (name, norm), lambda v: f(v, norm=norm), v[:2, :3, :4])
        spectrum("%s({x}, (3, 6), axes=[2, 0], norm='%s')" % (name, norm), lambda v: f(v, (3, 6), axes=(2, 0), norm=norm), v[:2, :2])
spectrum("fftn({x}, [4, 2])", lambda v: np.fft.fftn(v, (4, 2)), z[0, :3, :3])
row(N, "fft({x})", np.fft.fft([1, 2, 5]), x=np.array([1, 2, 5], i4))
row(N, "fft({x}.T[::2, ::-1], axis=0)", np.fft.fft(x[0].T[::2, ::-1], axis=0), x=x[0])
row(N, "rfft({x}.T[::2, ::-1], axis=0)", np.fft.rfft(x[0].T[::2, ::-1], axis=0), x=x[0])
row(N, "fft({x})", np.zeros((0, 3), np.complex128), x=np.zeros((0, 3)))
row(N, "real(fft({x}))", np.full(3, nan), x=np.array([1.0, nan, 2.0]))
for n in (1, 2, 5, 6):
    row(N, "fftfreq(%d, 0.1)" % n, np.fft.fftfreq(n, 0.1))
    row(N, "rfftfreq(%d, 0.1)" % n, np.fft.rfftfreq(n, 0.1))
for axes in (None, 0, (0, 2)):
    for name in ("fftshift", "ifftshift"):
        row(N, "%s({x}, axes=%s)" % (name, list(axes) if isinstance(axes, tuple) else axes), getattr(np.fft, name)(x[:3], axes), x=x[:3])
for kind in (2, 3):
    for norm in ("backward", "ortho"):
        for name in ("dct", "idct"):
            f = getattr(scipy.fft, name)
            for n in (1, 2, 5, 8):
                spectrum("%s({x}, type=%d, norm='%s')" % (name, kind, norm), lambda v: f(v, kind, norm=norm), some(n))
            spectrum("%s({x}, type=%d, axis=0, norm='%s')" % (name, kind, norm), lambda v: f(v, kind, axis=0, norm=norm), some(4, 3))
W = np.hanning(6)
for step in (1, 2, 5):
    value = torch.stft(torch.tensor(x[0, :2].ravel()[None]), 6, step, window=torch.tensor(W), center=False, return_complex=True).numpy().swapaxes(1, 2)
    row(N, "stft({x}, {w}, step=%d)" % step, value, x=x[0, :2].ravel()[None], w=W)
