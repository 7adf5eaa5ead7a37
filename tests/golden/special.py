#!/usr/bin/python3
"""Writes tests/bats/special.tsv: special functions by mpmath (1.2), and by SciPy (1.10) where nothing is finite, to which
tests/bats/special.bats compares ours. Tests don't need it: run it when a function is added. values.py says what a line is.

Values are compared as quotients, which ought to be 1, because they are of all sizes."""
import mpmath as mp
import numpy as np
import scipy.special as S
from values import f4, f8, inf, nan, row

mp.mp.dps = 40
N = "special"
R = np.random.RandomState(21)
NAMES = "abc"


def exact(f, args):
    return float(mp.re(f(*[mp.mpf(float(v)) for v in args])))


def check(name, f, *arrays):
    """The function by mpmath at random points, for float64, and for the same points as float32."""
    for t in (f8, f4):
        a = [np.asarray(x).astype(t) for x in arrays]
        want = np.array([exact(f, v) for v in zip(*a)])
        good = np.isfinite(want) & (abs(want) > (1e-300 if t is f8 else 1e-30)) & (abs(want) < (1e300 if t is f8 else 1e30))
        inputs = {k: x[good] for k, x in zip(NAMES, a)}
        call = "%s(%s)" % (name, ", ".join("{%s}" % k for k in inputs))
        row(N, "float64(%s) / {w}" % call, np.ones(good.sum()), w=want[good], **inputs) if t is f8 else \
            row(N, "cast(float64(%s) / {w}, float32)" % call, np.ones(good.sum(), f4), w=want[good], **inputs)


def edges(name, f, *arrays):
    """What SciPy gives where arguments or results are not finite."""
    a = [np.asarray(x, f8) for x in arrays]
    row(N, "%s(%s)" % (name, ", ".join("{%s}" % k for k in NAMES[:len(a)])), np.asarray(f(*a)), **dict(zip(NAMES, a)))


def size(low, high, n=14):
    return (10 ** R.uniform(low, high, n)).round(6)


def uniform(low, high, n=14):
    return R.uniform(low, high, n).round(6)


P = lambda a, x: mp.gammainc(a, 0, x, regularized=True)
Q = lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True)
I = lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)
A, B = size(-2, 2.5), size(-2, 2.5)
X = (A * size(-0.5, 0.5)).round(6) + 1e-6
check("gammainc", P, A, X)
check("gammaincc", Q, A, X)
check("gammainc", P, A, size(-4, 2))
check("gammaincc", Q, A, size(-4, 2))
edges("gammainc", S.gammainc, [0, 2, 2, inf, 1, -1, 1, nan, 0.5], [1, 0, inf, 1, nan, 1, -1, 1, 1e300])
edges("gammaincc", S.gammaincc, [0, 2, 2, inf, 1, -1, 1, nan, 0.5], [1, 0, inf, 1, nan, 1, -1, 1, 1e300])
for name, f in (("gammainc", P), ("gammaincc", Q)):
    good = np.array([1e-250 < exact(f, v) < 0.9999 for v in zip(A, X)])
    for a, x in zip(A[good], X[good]):
        p = exact(f, (a, x))
        check(name + "inv", lambda a, p: mp.findroot(lambda x: f(a, x) - p, mp.mpf(x)), [a], [p]) if 1e-25 < p else None
edges("gammaincinv", S.gammaincinv, [2, 2, 2, -1, nan, 2], [0, 1, 1.5, 0.5, 0.5, nan])
edges("gammainccinv", S.gammainccinv, [2, 2, 2, -1, nan, 2], [0, 1, 1.5, 0.5, 0.5, nan])
check("beta", mp.beta, A, size(-2, 1.5))
check("beta", mp.beta, uniform(-3, 3), uniform(-3, 3))
check("betaln", lambda a, b: mp.log(abs(mp.beta(a, b))), size(-3, 9), size(-3, 9))
edges("beta", S.beta, [inf, nan, 1, 0.5], [1, 1, nan, 1e300])
check("betainc", I, size(-1, 2), size(-1, 2), uniform(0, 1))
check("betainc", I, size(1, 2.5), size(1, 2.5), uniform(0, 1))
for a, b, x in zip(size(-0.5, 1.5, 8), size(-0.5, 1.5, 8), uniform(0.05, 0.95, 8)):
    p = exact(I, (a, b, x))
    check("betaincinv", lambda a, b, p: mp.findroot(lambda x: I(a, b, x) - p, mp.mpf(x)), [a], [b], [p]) if 1e-20 < p < 0.999 else None
edges("betainc", S.betainc, [1, 2, 2, -1, nan, 1, 1], [2, 3, 3, 1, 1, 1, 1], [0, 1, nan, 0.5, 0.5, 1.5, -0.5])
edges("betaincinv", S.betaincinv, [1, 2, 2, nan], [2, 3, 3, 1], [0, 1, nan, 0.5])
V = np.concatenate([uniform(-0.5, 0.5, 8), uniform(-6, 10, 10), R.randint(-4, 30, 8), size(1, 2, 6)])
BESSEL = {"jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "kv": mp.besselk,
          "ive": lambda v, x: mp.besseli(v, x) * mp.exp(-x), "kve": lambda v, x: mp.besselk(v, x) * mp.exp(x)}
for name, f in BESSEL.items():
    for low, high in ((-2, 0.3), (0.3, 1.7), (1.7, 2.8)):
        check(name, f, V, size(low, high, len(V)))
    whole = np.array([0, 1, 2, -3, 5.0])
    if name in ("jv", "iv", "ive"):
        edges(name, getattr(S, name), whole, -np.array([0.5, 1, 3, 5, 20]))
        edges(name, getattr(S, name), [0, 1, -2, 2.5, nan, 1, 0.5], [0, 0, 0, 0, 1, nan, -1])
    else:
        edges(name, getattr(S, name), [0, 1, 2.5, nan, 1, 1], [0, 0, 0, 1, nan, -1])
for name in ("j0", "j1", "y0", "y1", "i0", "i1", "i0e", "i1e", "k0", "k1"):
    g = BESSEL[name[0] + ("ve" if name.endswith("e") else "v")]
    check(name, lambda x: g(int(name[1]), x), np.append(size(-2, 2), 30.0))
check("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), np.append(uniform(-8, 12), size(0, 5)))
edges("erfcx", S.erfcx, [inf, -inf, nan, -30, 0])
check("ndtr", lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, np.append(uniform(-36, 0), uniform(-3, 8)))
edges("ndtr", S.ndtr, [inf, -inf, nan, 0])
check("log_ndtr", lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), np.append(uniform(-50, 0), uniform(-3, 8)))
edges("log_ndtr", S.log_ndtr, [inf, -inf, nan])
check("ndtri", lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), np.append(uniform(0.001, 0.999), size(-12, -3)))
edges("ndtri", S.ndtri, [0, 1, -0.5, 1.5, nan, 0.5])
check("owens_t", lambda h, a: mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, a, 20)) / (2 * mp.pi), uniform(-5, 5), uniform(-3, 3))
edges("owens_t", S.owens_t, [0, 2, inf, 0, nan, 1, 1], [2, 0, 1, inf, 1, nan, inf])
check("zeta", mp.zeta, 1 + size(-1, 1.2), size(-1, 1.5))
check("zeta", mp.zeta, 1 + size(-1, 1.2))
edges("zeta", S.zeta, [1, 2, 2, 0.5, 2.5, nan, 2, 3], [1, 0, -1, 1, -0.5, 1, nan, inf])
check("expn", lambda n, x: mp.expint(int(n), x), R.randint(0, 30, 20), size(-3, 2, 20))
edges("expn", S.expn, [0, 1, 2, 5, 2, 2, 1], [0, 0, 0, 0, -1, nan, inf])
check("entr", lambda x: -x * mp.log(x), size(-3, 3))
edges("entr", S.entr, [0, -1, inf, nan, 1])
check("sinc", lambda x: mp.sin(mp.pi * x) / (mp.pi * x), uniform(-0.9, 0.9) + 1e-9)
edges("sinc", np.sinc, [0, inf, nan, 0.5])
NAMES = "abcd"
F = mp.hyp2f1
check("hyp2f1", F, uniform(-5, 5, 30), uniform(-5, 5, 30), uniform(-5, 5, 30), uniform(-1, 1, 30))
check("hyp2f1", F, uniform(-30, 30, 20), uniform(-30, 30, 20), uniform(0, 30, 20), uniform(-1, 1, 20))
check("hyp2f1", F, uniform(-3, 3), uniform(-3, 3), uniform(0, 5), -size(0, 8))
check("hyp2f1", F, uniform(-3, 3), uniform(-3, 3), uniform(-2, 5), 1 - size(-5, -1))
check("hyp2f1", F, R.randint(1, 6, 14), R.randint(1, 6, 14), R.randint(1, 9, 14), 1 - size(-5, -1)) # whole c - a - b
check("hyp2f1", F, R.randint(-40, 0, 14), uniform(0, 30), uniform(0, 20), uniform(-2, 2)) # polynomials
check("hyp2f1", F, uniform(1, 2), R.randint(-9, 0, 14), uniform(0, 3), uniform(-30, 30))
check("hyp2f1", F, uniform(-1, 1), uniform(-1, 1), uniform(2.1, 4), np.ones(14))
check("hyp2f1", lambda a, b, c, z: (1 - z) ** -b, [0.7, 2.0], [1.5, -0.3], [0.7, 2.0], [0.9, -7.0])
# large parameters: series of positive terms, by Euler's and Pfaff's transformations
check("hyp2f1", lambda *v: mp.hyp2f1(*v, maxterms=10**6), [1e5, 1e5, 300.0, 2e4, 0.5, 1e3, 250.0, 500.0], [2, 2, 0.25, 1e4, 1e5, 1e3, -0.5, 300.5],
      [3e5, 1e5 + 1, 1000.0, 1e5, 1e5 + 0.5, 2e3, 251.5, 1000.25], [0.5, 0.5, 0.875, 0.0625, 0.75, -0.25, 0.75, -1.5])
row(N, "hyp2f1({x}, 1, 2, 0.9999)", np.array([inf, inf]), x=np.array([1e5, 1e300]))
edges("hyp2f1", S.hyp2f1, [1, 1, 1, -2, -4, 1, nan, 1, 1, 1, -2, 0, inf, 1], [2, 2, 2, 1, 1, 2, 1, nan, 1, 1, 3, 1, 1, 2], [3, 3, -3, -3, -3, 3, 1, 1, nan, 1, 4, 5, 2, 3],
      [1.5, 1, 0.5, 0.5, 0.5, 0, 0.5, 0.5, 0.5, nan, 3, 0.7, 0.5, -inf])
check("poch", mp.rf, uniform(-9, 9), uniform(-9, 9))
check("poch", mp.rf, size(-1, 3), size(-1, 1))
check("poch", mp.rf, uniform(-9, 9), R.randint(-9, 9, 14))
edges("poch", S.poch, [0, 0, -3, -3, -2, 2, nan, 1], [0, 2, 2, 4, -1, -2, 1, nan])
check("binom", mp.binomial, uniform(-9, 9), uniform(-9, 9))
check("binom", mp.binomial, size(0, 3), size(-1, 1))
check("binom", mp.binomial, R.randint(0, 60, 14), R.randint(0, 20, 14))
edges("binom", S.binom, [5, 5, -3, -3, nan, 5, 0, 60], [-1, 7, 2, 2.5, 1, nan, 0, 30])
check("ndtri_exp", lambda y: mp.findroot(lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) - y, S.ndtri_exp(float(y))), -size(-3, 2, 30))
edges("ndtri_exp", S.ndtri_exp, [-inf, 0, 1, nan])
check("factorial", mp.factorial, np.append(uniform(0, 20), [0, 1, 5, 170]))
edges("factorial", S.factorial, [-1, -0.5, 171, nan])
check("chi2sf", lambda x, k: Q(k / 2, x / 2), size(-1, 2), size(-1, 2))
check("rel_entr", lambda x, y: x * mp.log(x / y), size(-2, 2), size(-2, 2))
edges("rel_entr", S.rel_entr, [0, 1, 1, -1, 0, nan, 1, inf], [0, 0, -2, 1, -1, 1, nan, 1])
X = np.array([1, -1, 0, -0.0, 1.7e308, 1e-310, 3e7, -1e-5])
row(N, "spacing({a}) / {w}", np.append(np.ones(8), [nan] * 2), a=np.append(X, [inf, nan]), w=np.append(np.spacing(X), [1, 1]))
X = X[[0, 1, 2, 6, 7]].astype(f4)
row(N, "spacing({a}) / {w}", np.ones(5, f4), a=X, w=np.spacing(X))
# orders 0 and 1: both sides of where their polynomials begin and end, zeros, small and large numbers, and below 0
ENDS = np.array([1, 1.5, 3, 8, 700, 2.0**24])
X = np.concatenate([ENDS, np.nextafter(ENDS, 0), [2.0**24 + 2, 5e-324, 1e-300, 1e-30, 1e-9, 0.3, 2.2, 4.4, 6.5, 15.0, 300.25, 1e5, 1e10],
                    [2.4048, 3.8317, 5.5201, 7.0156, 8.6537, 0.8936, 2.1971, 3.9577, 5.4297, 708.9, 712.5, 741.0]])
BESSEL["ive"] = lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x))
for name, f in BESSEL.items():
    check(name, f, np.repeat([0.0, 1.0], len(X)), np.tile(X, 2))
    check(name, f, -np.ones(6), [0.01, 1.25, 2.5, 5.0, 20.0, 120.5])
    if name in ("jv", "iv", "ive"):
        check(name, f, np.repeat([0.0, 1.0, -1.0], 7), np.tile([-1e-9, -0.25, -1.5, -2.9, -6.0, -31.0, -650.0], 3))
# their limits, which SciPy's functions of one argument leave out
for name, at in {"j0": [1, 0, 0], "j1": [0, 0, 0], "y0": [-inf, 0], "y1": [-inf, 0], "i0": [1, inf, inf], "i1": [0, inf, -inf],
                 "i0e": [1, 0, 0], "i1e": [0, 0, 0], "k0": [inf, 0], "k1": [inf, 0]}.items():
    row(N, "%s({a})" % name, np.array([nan] + at), a=np.array([nan, 0, inf, -inf])[:len(at) + 1])
# where methods change, and values near 1
T = np.array([0.5, 1, 2.5, 9.5, 9.9999, 10, 10.0001, 30])
check("beta", mp.beta, np.repeat(T, 8), np.tile(T, 8))
check("betaln", lambda a, b: mp.log(abs(mp.beta(a, b))), [1, 1.0009765625, 0.5, 1.5, 2, 1e-300, 9.9999, 1e-3], [1.0625, 1, 1.75, 0.625, 0.5, 1e-300, 9.9999, 1e-3])
check("gammainc", P, np.repeat(T, 5), np.repeat(T, 5) * np.tile([0.1, 0.96875, 1, 1.125, 4], 8))
check("gammaincc", Q, np.repeat(T, 5), np.repeat(T, 5) * np.tile([0.1, 0.96875, 1, 1.125, 4], 8))
check("betainc", I, np.repeat(T, 8), np.tile(T, 8), np.tile([0.0625, 0.375, 0.5, 0.9375], 16))
check("expn", lambda n, x: mp.expint(int(n), x), [1, 2, 5, 49, 50, 51, 50, 10**6, 1, 3, 1], [1, 1.0009765625, 1, 0.5, 0.5, 1, 1e-300, 1e-3, 50, 300, 1e-300])
