"""The workloads of workloads.c by PyTorch on one thread, as its users write them: lines of name, tab, seconds."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from yard_torch import best

torch.set_num_threads(1)
torch.manual_seed(0)


def step(model, loss):
    """A step of gradient descent."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    return run


def transformer_block():
    model = nn.TransformerEncoderLayer(128, 4, 512, dropout=0, activation=F.gelu, batch_first=True, norm_first=True)
    x, target = torch.randn(8, 64, 128), torch.randn(8, 64, 128)
    return step(model, lambda: F.mse_loss(model(x), target))


def mlp():
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    x, label = torch.randn(128, 784), torch.arange(128) % 10
    return step(model, lambda: F.cross_entropy(model(x), label))


def lstm():
    model, x = nn.LSTM(64, 64), torch.randn(50, 32, 64)

    def run():
        model.zero_grad(set_to_none=True)
        (model(x)[1][0] ** 2).mean().backward()

    return run


def jacobi():
    a, b = torch.rand(280, 280, dtype=torch.float64), torch.rand(280, 280, dtype=torch.float64)

    def sweep(to, a):
        to[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])

    def run():
        for _ in range(100):
            sweep(b, a)
            sweep(a, b)

    return run


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(288))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.scale


class Layer(nn.Module):
    """Of llama: turned keys and queries, and a network with a gate."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.mix = (nn.Linear(288, 288, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(288, 768, bias=False), nn.Linear(288, 768, bias=False), nn.Linear(768, 288, bias=False)
        self.attention_norm, self.network_norm = RMSNorm(), RMSNorm()
        angle = torch.outer(torch.arange(128.), 10000 ** (-torch.arange(24.) / 24))
        self.cos, self.sin = torch.cos(angle), torch.sin(angle)
        self.hidden = torch.full((128, 128), -torch.inf).triu(1)

    def turned(self, x):
        a, b = x.reshape(4, 6, 128, 24, 2).unbind(-1)
        return torch.stack([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1).flatten(3)

    def forward(self, x):
        h = self.attention_norm(x)
        q, k, v = (y.view(4, 128, 6, 48).transpose(1, 2) for y in (self.query(h), self.key(h), self.value(h)))
        score = self.turned(q) @ self.turned(k).transpose(2, 3) / 48 ** 0.5 + self.hidden
        seen = torch.softmax(score, -1) @ v
        x = x + self.mix(seen.transpose(1, 2).reshape(4, 128, 288))
        f = self.network_norm(x)
        return x + self.down(F.silu(self.gate(f)) * self.up(f))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32000, 288)
        nn.init.normal_(self.embed.weight, 0, 0.02)
        self.layers, self.norm = nn.Sequential(*(Layer() for _ in range(6))), RMSNorm()

    def forward(self, tokens):
        return F.linear(self.norm(self.layers(self.embed(tokens))), self.embed.weight)


def llama():
    model, tokens, following = Llama(), *torch.randint(0, 32000, (2, 4, 128))
    return step(model, lambda: F.cross_entropy(model(tokens).flatten(0, 1), following.flatten()))


for workload in (transformer_block, mlp, lstm, jacobi, llama):
    print(f"workload_{workload.__name__}", best(workload(), 2), sep="\t")
