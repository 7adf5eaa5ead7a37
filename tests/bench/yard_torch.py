"""The layers of convolutions.c and networks.c by PyTorch on one thread: lines of name, tab, seconds."""
import time
import torch
import torch.nn.functional as F

torch.set_num_threads(1)


def best(f, budget=0.15):
    f()
    times, until = [], time.process_time() + budget
    while len(times) < 3 or time.process_time() < until:
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return sorted(times)[len(times) // 2]


def main():
    layers = {
        "3x3_64_56": (64, 56, 64, 3, 1, 1, 1), "3x3_128_28": (128, 28, 128, 3, 1, 1, 1), "3x3_256_14": (256, 14, 256, 3, 1, 1, 1),
        "3x3_512_7": (512, 7, 512, 3, 1, 1, 1), "3x3s2_64_56": (64, 56, 128, 3, 2, 1, 1), "3x3s2_256_14": (256, 14, 512, 3, 2, 1, 1),
        "7x7s2_3_224": (3, 224, 64, 7, 2, 3, 1), "1x1_64_56": (64, 56, 256, 1, 1, 0, 1), "1x1_256_14": (256, 14, 1024, 1, 1, 0, 1),
        "1x1s2_256_56": (256, 56, 512, 1, 2, 0, 1), "each_32_112": (32, 112, 32, 3, 1, 1, 32), "each_144_56": (144, 56, 144, 3, 1, 1, 144),
        "each_s2_96_112": (96, 112, 96, 3, 2, 1, 96), "each_512_14": (512, 14, 512, 3, 1, 1, 512),
    }
    with torch.no_grad():
        for name, (c, n, o, k, s, p, g) in layers.items():
            x, w = torch.randn(1, c, n, n), torch.randn(o, c // g, k, k)
            dy = torch.randn(F.conv2d(x, w, None, s, p, 1, g).shape)

            def grad(mask):
                return torch.ops.aten.convolution_backward(dy, x, w, [0], [s, s], [p, p], [1, 1], False, [0, 0], g, mask)

            for which, f in enumerate((lambda: F.conv2d(x, w, None, s, p, 1, g), lambda: grad([True, False, False]), lambda: grad([False, True, False]))):
                print(f"conv{which}_{name}", best(f), sep="\t")
        x, z = torch.randn(1, 64, 112, 112), torch.randn(8, 256, 28, 28)
        for name, f in {
                "max_pool_3s2": lambda: F.max_pool2d(x, 3, 2, 1), "max_pool_2s2": lambda: F.max_pool2d(x, 2),
                "avg_pool_3s1": lambda: F.avg_pool2d(z, 3, 1, 1), "avg_pool_2s2": lambda: F.avg_pool2d(x, 2),
                "resize_linear": lambda: F.interpolate(x, scale_factor=2, mode="bilinear"),
                "resize_nearest": lambda: F.interpolate(x, scale_factor=2, mode="nearest"),
                "resize_cubic": lambda: F.interpolate(x, scale_factor=2, mode="bicubic")}.items():
            print(f"layer_{name}", best(f), sep="\t")
    leaf = torch.randn(1, 64, 112, 112, requires_grad=True)
    print("layer_max_pool_3s2_dx", best(lambda: torch.autograd.grad(F.max_pool2d(leaf, 3, 2, 1).sum(), leaf)), sep="\t")


if __name__ == "__main__":
    main()
