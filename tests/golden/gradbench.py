#!/usr/bin/python3
"""Writes tests/bats/gradbench.tsv: what PyTorch (1.13) makes of the inputs of examples/gradbench/inputs.py, in their order. Tests
don't need it: run it when inputs are added.

A line: module, function, and the numbers of the output in the order in which they stand in its JSON, after sorting the keys.
Each value is computed from the definition of its eval; det by LU, the rotations of ba and ht by the exponential of a matrix."""
import math
import os
import sys
import torch
from torch.autograd.functional import jacobian

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "examples", "gradbench"))
import inputs  # noqa: E402

torch.set_default_dtype(torch.float64)
T = torch.tensor


def by_gradient(primal, wrt):
    """The functions of an eval whose second one is a gradient."""
    def of(function, given):
        x = T(given[wrt], requires_grad=True)
        y = primal(x, given)
        y.backward()
        return y.item() if function in ("primal", "square") else x.grad.tolist()
    return of


def polynomial(x, given):
    t = 2 * torch.arange(given["n"]) / (given["n"] - 1) - 1
    return ((torch.sign(t) - sum(c * t ** k for k, c in enumerate(x))) ** 2).sum() / 2


def kmeans(function, given):
    points, centroids = T(given["points"]), T(given["centroids"])
    near = torch.cdist(points, centroids).argmin(1)
    if function == "cost":
        return ((points - centroids[near]) ** 2).sum().item()
    return [(c - points[near == j].mean(0)).tolist() for j, c in enumerate(centroids)]


def gmm(function, given):
    names = ("alpha", "mu", "q", "l")
    p = {name: T(given[name], requires_grad=True) for name in names}
    d, k, m, gamma = given["d"], given["k"], given["m"], given["gamma"]
    weights = torch.distributions.Categorical(logits=p["alpha"])
    total = 0
    for x in T(given["x"]):
        terms = []
        for i in range(k):
            root = torch.diag(torch.exp(p["q"][i]))
            below = [(r, c) for c in range(d) for r in range(c + 1, d)]
            root = root + sum(p["l"][i, n] * torch.outer(torch.eye(d)[r], torch.eye(d)[c]) for n, (r, c) in enumerate(below))
            gauss = torch.distributions.MultivariateNormal(p["mu"][i], precision_matrix=root.T @ root)
            terms.append(weights.logits[i] + gauss.log_prob(x))
            if len(terms) == k:
                total = total + torch.logsumexp(torch.stack(terms), 0)
    # Wishart in the form that GradBench states, whose determinant enters with the power m / 2
    for i in range(k):
        n = d + m + 1
        square = torch.exp(2 * p["q"][i]).sum() + (p["l"][i] ** 2).sum()
        total = total + n * d * math.log(gamma / math.sqrt(2)) - torch.special.multigammaln(T(n / 2), d) \
            - gamma ** 2 / 2 * square + m * p["q"][i].sum()
    total.backward()
    return total.item() if function == "objective" else {name: p[name].grad.tolist() for name in names}


def lstm(function, given):
    main, extra = T(given["main_params"], requires_grad=True), T(given["extra_params"], requires_grad=True)
    b = extra.shape[1]
    state, text, total = list(T(given["state"])), T(given["sequence"]), 0
    for now, following in zip(text, text[1:]):
        x = now * extra[0]
        for k in range(0, len(state), 2):
            w, v = main[k].reshape(4, b), main[k + 1].reshape(4, b)
            gates = torch.stack([x, state[k], x, state[k]]) * w + v
            forget, come, go = torch.sigmoid(gates[:3])
            state[k + 1] = state[k + 1] * forget + come * torch.tanh(gates[3])
            state[k] = x = go * torch.tanh(state[k + 1])
        y = x * extra[1] + extra[2]
        total = total - (following * (y - torch.log(torch.exp(y).sum() + 2))).sum() / (b * (len(text) - 1))
    total.backward()
    return total.item() if function == "objective" else main.grad.flatten().tolist() + extra.grad.flatten().tolist()


def ode(function, given):
    x = T(given["x"], requires_grad=True)
    h = 2 / given["s"]

    def f(y):
        return x * torch.cat([torch.ones(1), y[:-1]])
    y = torch.zeros_like(x)
    for _ in range(given["s"]):
        a = f(y)
        b = f(y + h / 2 * a)
        c = f(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))
    y[-1].backward()
    return y.tolist() if function == "primal" else x.grad.tolist()


def cross_matrix(v):
    o = torch.zeros(())
    return torch.stack([o, -v[2], v[1], v[2], o, -v[0], -v[1], v[0], o]).reshape(3, 3)


def ba(function, given):
    feat = T(given["feat"])

    def error(v):
        seen = torch.matrix_exp(cross_matrix(v[:3])) @ (v[11:14] - v[3:6])
        flat = seen[:2] / seen[2]
        r = (flat ** 2).sum()
        return v[14] * (flat * (1 + v[9] * r + v[10] * r * r) * v[6] + v[7:9] - feat)
    v = T(given["cam"] + given["x"] + [given["w"]])
    n, m, p = given["n"], given["m"], given["p"]
    if function == "objective":
        return {"reproj_error": {"elements": error(v).tolist(), "repeated": p},
                "w_err": {"element": 1 - given["w"] ** 2, "repeated": p}}
    columns = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    rows = [15 * k for k in range(2 * p)] + [30 * p + k for k in range(p + 1)]
    return {"rows": rows[:30] + rows[-1:], "cols": columns * 2 + [11 * n + 3 * m + p - 1],
            "vals": jacobian(error, v).flatten().tolist() + [-2 * given["w"]]}


def ht(function, given):
    data, theta, us = given["data"], T(given["theta"]), T(given["us"])
    model = data["model"]

    def about(axis, angle):
        return torch.block_diag(torch.matrix_exp(angle * cross_matrix(torch.eye(3)[axis])), torch.eye(1))

    def errors(theta, us):
        absolute, moved = [], 0
        for bone in range(22):
            finger, joint = divmod(bone - 2, 4)
            turn = torch.eye(4)
            if bone >= 2 and joint < 3:
                angles = theta[6 + 4 * finger:10 + 4 * finger]
                turn = about(0, angles[0 if joint == 0 else joint + 1])
                turn = about(2, angles[1]) @ turn if joint == 0 else turn
            own = T(model["base_relatives"][bone]) @ turn
            absolute.append(own if model["parents"][bone] < 0 else absolute[model["parents"][bone]] @ own)
            to = absolute[bone] @ T(model["inverse_base_absolutes"][bone])
            moved = moved + T(model["weights"])[:, bone, None] * (T(model["base_positions"]) @ to.T)
        surface = moved[:, :3] @ torch.matrix_exp(cross_matrix(theta[:3])).T + theta[3:6]
        found = T(data["correspondences"])
        if len(us):
            a, b, c = surface[T(model["triangles"])[found]].unbind(1)
            surface, found = us[:, :1] * a + us[:, 1:] * b + (1 - us.sum(1, keepdim=True)) * c, slice(None)
        return (T(data["points"]) - surface[found]).flatten()
    if function == "objective":
        return errors(theta, us).tolist()
    by_theta = jacobian(lambda t: errors(t, us), theta)
    if not len(us):
        return by_theta.tolist()
    by_us = jacobian(lambda u: errors(theta, u), us)
    own = torch.stack([by_us[k, k // 3] for k in range(len(by_us))])
    return torch.cat([own, by_theta], 1).tolist()


TRUTH = {
    "hello": by_gradient(lambda x, given: x * x, "x"),
    "lse": by_gradient(lambda x, given: torch.logsumexp(x, 0), "x"),
    "llsq": by_gradient(polynomial, "x"),
    "kmeans": kmeans, "gmm": gmm, "lstm": lstm, "ode": ode, "ba": ba, "ht": ht,
    "det": by_gradient(lambda a, given: torch.linalg.det(a.reshape(given["ell"], -1)), "A"),
    # what GradBench expects of them
    "particle": lambda function, given: 0.2071918746486116,
    "saddle": lambda function, given: [8.246324826140356e-06] * 4,
}


def numbers(value):
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in numbers(value[key])]
    return [x for item in value for x in numbers(item)] if isinstance(value, list) else [value]


with open(os.path.join(ROOT, "tests", "bats", "gradbench.tsv"), "w") as out:
    for module, function, given in inputs.CASES:
        given = given if isinstance(given, dict) else {"x": given}
        row = [module, function, *("%.12g" % x for x in numbers(TRUTH[module](function, given)))]
        out.write("\t".join(row) + "\n")
