"""Writes the files of this folder with PyTorch, for tests/bats/torch.bats."""
import torch
from collections import OrderedDict

torch.manual_seed(0)
base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
model = torch.nn.Sequential(OrderedDict(fc=torch.nn.Linear(3, 2), bn=torch.nn.BatchNorm1d(2)))
with torch.no_grad():
    model.fc.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    model.fc.bias.copy_(torch.tensor([0.5, -0.5]))
torch.save(model.state_dict(), "state.pt")

optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
torch.save(
    {"epoch": 3, "loss": 0.25, "name": "tiny", "best": None, "model": model.state_dict(),
     "optimizer": optimizer.state_dict(), "list": [torch.tensor([1, 2]), (torch.tensor(3),)]},
    "checkpoint.pth")

torch.save(
    {"rows": base, "transposed": base.t(), "part": base[1:, ::2], "same": base, "expanded": base[0, :1].expand(3),
     "parameter": torch.nn.Parameter(base[2]), "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3),
     "size": base.shape, "device": torch.device("cpu"),
     **{str(d)[6:]: torch.tensor([0, 1, 2]).to(d)
        for d in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                  torch.bfloat16, torch.float64, torch.complex64, torch.complex128)}},
    "kinds.pt")
torch.save(torch.tensor([1.0, 2.0]), "one.pt")

# what is refused
torch.save({"w": base}, "old.pt", _use_new_zipfile_serialization=False)
torch.save(torch.nn.Linear(1, 1), "module.pt")
torch.jit.script(torch.nn.Linear(1, 1)).save("script.pt")
