#!/usr/bin/python3
"""Writes tests/bats/optimizers.tsv: trajectories of PyTorch's optimizers (1.13), to which tests/bats/optimizers.bats
compares those of the rows of lib/optim. Tests don't need it: run it when a row is added.

A line: the rules as ggrad --optimizer takes them, then, for the steps 10, 20, ... 100, the cost and all parameters (W, b, s)
before the step's update. Lion and Adafactor, which 1.13 lacks, are written out below from their definitions (Chen et al. 2023;
torch.optim.Adafactor of PyTorch 2.5). NAdam's other form has a factor too many in 1.13, which later versions mended."""
import math
import torch

torch.set_default_dtype(torch.float64)
X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-1.0, 1.0, 0.75], [0.1, -0.3, 0.9]])
Y = torch.tensor([[1.0, -0.5], [0.2, 0.7], [-0.6, 0.4], [0.9, -1.1]])
W0 = [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]]
B0 = [0.05, -0.05]
S0 = 1.5


def cost(w, b, s):
    return (((torch.tanh(X @ w) * s + b) - Y) ** 2).mean() + 0.01 * (w ** 4).sum()


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(torch.sign(b1 * m + (1 - b1) * p.grad), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


class Adafactor(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps2=1e-3, d=1.0, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps2=eps2, d=d, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state, g = self.state[p], p.grad
                eps1 = torch.finfo(p.dtype).eps
                state["step"] = step = state.get("step", 0) + 1
                new = step ** group["beta2_decay"]
                rho = min(group["lr"], 1 / math.sqrt(step))
                alpha = max(group["eps2"], p.norm(2).item() / math.sqrt(p.numel())) * rho
                p.mul_(1 - group["lr"] * group["weight_decay"])
                if g.dim() > 1:
                    row = state.setdefault("row", torch.zeros_like(g[..., :1]))
                    col = state.setdefault("col", torch.zeros_like(g[..., :1, :]))
                    row.lerp_(torch.norm(g, dim=-1, keepdim=True).square_().div_(g.size(-1)), new)
                    col.lerp_(torch.norm(g, dim=-2, keepdim=True).square_().div_(g.size(-2)), new)
                    v = row @ col / row.mean(dim=-2, keepdim=True).clamp_(min=eps1)
                else:
                    v = state.setdefault("v", torch.zeros_like(g))
                    v.lerp_(g.square(), new)
                    v = v.clone()
                update = v.clamp_(min=eps1 * eps1).rsqrt_().mul_(g)
                denom = max(1.0, update.norm(2).item() / (math.sqrt(update.numel()) * group["d"]))
                p.add_(update, alpha=-alpha / denom)


O = torch.optim
L = O.lr_scheduler


def norm(most):
    return lambda ps: torch.nn.utils.clip_grad_norm_(ps, most)


def value(most):
    return lambda ps: torch.nn.utils.clip_grad_value_(ps, most)


def warm(peak, steps, warmup, final):
    def at(t):
        if t < warmup:
            return (t + 1) / warmup
        part = min(max((t - warmup) / (steps - warmup), 0), 1)
        return (final + (peak - final) * (1 + math.cos(math.pi * part)) / 2) / peak
    return at


# rules; the optimizer; what is done to gradients first; the schedule
ROWS = [
    ("sgd(0.1)", lambda p: O.SGD(p, 0.1), None, None),
    ("sgd(0.1, decay=0.05)", lambda p: O.SGD(p, 0.1, weight_decay=0.05), None, None),
    ("momentum(0.05)", lambda p: O.SGD(p, 0.05, momentum=0.9), None, None),
    ("momentum(0.05, 0.8, dampening=0.3, decay=0.01)", lambda p: O.SGD(p, 0.05, momentum=0.8, dampening=0.3, weight_decay=0.01), None, None),
    ("momentum(0.05, nesterov=True)", lambda p: O.SGD(p, 0.05, momentum=0.9, nesterov=True), None, None),
    ("adagrad", lambda p: O.Adagrad(p), None, None),
    ("adagrad(0.1, rate_decay=0.02, decay=0.01, start=0.1)",
     lambda p: O.Adagrad(p, 0.1, lr_decay=0.02, weight_decay=0.01, initial_accumulator_value=0.1), None, None),
    ("rmsprop", lambda p: O.RMSprop(p), None, None),
    ("rmsprop(0.01, momentum=0.9, centered=True, decay=0.01)",
     lambda p: O.RMSprop(p, 0.01, momentum=0.9, centered=True, weight_decay=0.01), None, None),
    ("adadelta", lambda p: O.Adadelta(p), None, None),
    ("adadelta(0.5, rho=0.8, eps=1e-5, decay=0.02)", lambda p: O.Adadelta(p, 0.5, rho=0.8, eps=1e-5, weight_decay=0.02), None, None),
    ("adam", lambda p: O.Adam(p), None, None),
    ("adam(0.02, beta1=0.8, beta2=0.99, eps=1e-6, decay=0.05)",
     lambda p: O.Adam(p, 0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.05), None, None),
    ("adam(0.02, amsgrad=True)", lambda p: O.Adam(p, 0.02, amsgrad=True), None, None),
    ("adamw", lambda p: O.AdamW(p), None, None),
    ("adamw(0.02, decay=0.1, amsgrad=True)", lambda p: O.AdamW(p, 0.02, weight_decay=0.1, amsgrad=True), None, None),
    ("nadam", lambda p: O.NAdam(p, foreach=True), None, None),
    ("nadam(0.02, momentum_decay=0.01, decay=0.01)", lambda p: O.NAdam(p, 0.02, momentum_decay=0.01, weight_decay=0.01, foreach=True), None, None),
    ("lion(0.01)", lambda p: Lion(p, 0.01), None, None),
    ("lion(0.01, beta1=0.95, beta2=0.98, decay=0.1)", lambda p: Lion(p, 0.01, (0.95, 0.98), 0.1), None, None),
    ("adafactor", lambda p: Adafactor(p), None, None),
    ("adafactor(0.1, beta2_decay=-0.5, eps=1e-2, limit=0.7, decay=0.05)", lambda p: Adafactor(p, 0.1, -0.5, 1e-2, 0.7, 0.05), None, None),
    ("clip_norm(0.3), sgd(0.1)", lambda p: O.SGD(p, 0.1), norm(0.3), None),
    ("clip_value(0.1), adam(0.01)", lambda p: O.Adam(p, 0.01), value(0.1), None),
    ("weight_decay(0.05), momentum(0.05)", lambda p: O.SGD(p, 0.05, momentum=0.9, weight_decay=0.05), None, None),
    ("maximize, sgd(0.001)", lambda p: O.SGD(p, 0.001, maximize=True), None, None),
    ("sgd(step(0.2, every=30, factor=0.5))", lambda p: O.SGD(p, 0.2), None, lambda o: L.StepLR(o, 30, 0.5)),
    ("adam(exponential(0.05, 0.97))", lambda p: O.Adam(p, 0.05), None, lambda o: L.ExponentialLR(o, 0.97)),
    ("adam(cosine(0.05, steps=100, final=0.001))", lambda p: O.Adam(p, 0.05), None, lambda o: L.CosineAnnealingLR(o, 100, 0.001)),
    ("sgd(linear(0.1, steps=80, final=0.02))", lambda p: O.SGD(p, 0.1), None, lambda o: L.LinearLR(o, 1.0, 0.2, 80)),
    ("sgd(constant(0.1))", lambda p: O.SGD(p, 0.1), None, lambda o: L.ConstantLR(o, 1.0)),
    ("sgd(polynomial(0.1, steps=120, power=2))", lambda p: O.SGD(p, 0.1), None, lambda o: L.PolynomialLR(o, 120, 2)),
    ("adam(inverse_sqrt(0.05, warmup=20))", lambda p: O.Adam(p, 0.05), None,
     lambda o: L.LambdaLR(o, lambda t: min((t + 1) / 20, math.sqrt(20 / (t + 1))))),
    ("sgd(warmup(exponential(0.1, 0.99), steps=10))", lambda p: O.SGD(p, 0.1), None,
     lambda o: L.LambdaLR(o, lambda t: 0.99 ** t * min((t + 1) / 10, 1))),
    ("clip_norm(1.0), adamw(rate=cosine(0.02, steps=90, warmup=20, final=0.001), decay=0.01)", lambda p: O.AdamW(p, 0.02, weight_decay=0.01),
     norm(1.0), lambda o: L.LambdaLR(o, warm(0.02, 90, 20, 0.001))),
]

for rules, make, first, schedule in ROWS:
    ps = [torch.tensor(v, requires_grad=True) for v in (W0, B0, S0)]
    opt = make(ps)
    sched = schedule(opt) if schedule else None
    row = [rules]
    for t in range(1, 101):
        opt.zero_grad()
        loss = cost(*ps)
        if t % 10 == 0:
            row += ["%.12g" % v for v in [loss.item()] + [x.item() for p in ps for x in p.detach().reshape(-1)]]
        loss.backward()
        if first:
            first(ps)
        opt.step()
        if sched:
            sched.step()
    print("\t".join(row))
