"""The networks of networks.c: yard_networks.py DIR writes DIR/NAME.onnx with random weights, where torchvision is
installed, and prints what a gradient of PyTorch takes: lines of name, tab, seconds. Statistics are constants."""
import sys
import warnings
import torch
import torchvision
from yard_torch import best

warnings.simplefilter("ignore")
torch.set_num_threads(1)
for name in ("resnet18", "mobilenet_v2"):
    torch.manual_seed(0)
    net = getattr(torchvision.models, name)().eval()
    for p in list(net.parameters()) + [b for b in net.buffers() if b.dtype.is_floating_point]:
        p.data += 0.01 * torch.rand_like(p)  # equal ones would become one in the model
    x = torch.randn(1, 3, 224, 224)
    torch.onnx.export(net, x, f"{sys.argv[1]}/{name}.onnx", opset_version=13, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=["x"], output_names=["y"])

    def gradient():
        net.zero_grad(set_to_none=True)
        y = net(x)
        (y * y).sum().backward()

    print(f"{name}-gradient-1", best(gradient, 1), sep="\t")
