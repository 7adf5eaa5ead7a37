"""Writes the models of this folder, with PyTorch 1.13 and onnx 1.12, and for each what it
makes of an input: NAME.npz has inputs, outputs (y), and the gradient of sum(y) by x (dx)."""
import subprocess
import numpy as np, onnx, torch
from onnx import TensorProto as T, helper as h, numpy_helper as nh

torch.manual_seed(0)
rng = np.random.default_rng(0)


def export(name, model, x, axes=None, opset=13):
    model.eval()
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
    x.requires_grad_()
    y = model(x)
    y = y[0] if isinstance(y, tuple) else y
    y.sum().backward()
    grads = {k.replace(".", "_"): p.grad.numpy() for k, p in model.named_parameters()}
    np.savez(f"{name}.npz", x=x.detach().numpy(), y=y.detach().numpy(), dx=x.grad.numpy(), **grads)
    torch.onnx.export(model, x.detach(), f"{name}.onnx", opset_version=opset, input_names=["x"], output_names=["y"],
                      dynamic_axes=axes, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = torch.nn.LayerNorm(8), torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(-1, -2) / (c // 2) ** 0.5, -1)
        return x + self.out((a @ v).transpose(1, 2).reshape(n, t, c))


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, bidirectional=True)

    def forward(self, x):
        return self.lstm(x)[0]


nn = torch.nn
export("cnn", nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                            nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                            nn.Linear(4, 3)), torch.randn(2, 1, 8, 8), {"x": {0: "n"}, "y": {0: "n"}})
export("conv1d", nn.Sequential(nn.Conv1d(2, 3, 3, padding=1), nn.ReLU(), nn.ConvTranspose1d(3, 2, 3, stride=2, padding=1),
                               nn.AvgPool1d(3, 2, 1)), torch.randn(2, 2, 7))
export("attention", Attention(), torch.randn(2, 5, 8), {"x": {0: "n", 1: "t"}})
export("lstm", Lstm(), torch.randn(5, 2, 3))


def model(name, nodes, inputs, outputs, init=(), functions=(), opset=15, save=True, **arrays):
    g = h.make_graph(nodes, name, inputs, outputs, [nh.from_array(v, k) for k, v in dict(init).items()])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", opset), h.make_opsetid("own", 1)], functions=list(functions), ir_version=8)
    if save:
        onnx.save(m, f"{name}.onnx")
    return m


value = h.make_tensor_value_info
# x doubled until its sum passes 100, at most M times; the sums on the way; both branches of an If
body = h.make_graph([h.make_node("Add", ["v", "v"], ["w"]), h.make_node("ReduceSum", ["w"], ["s"], keepdims=0),
                     h.make_node("Less", ["s", "most"], ["go"])], "body",
                    [value("i", T.INT64, []), value("c", T.BOOL, []), value("v", T.FLOAT, [2])],
                    [value("go", T.BOOL, []), value("w", T.FLOAT, [2]), value("s", T.FLOAT, [])])
yes = h.make_graph([h.make_node("Neg", ["last"], ["a"])], "yes", [], [value("a", T.FLOAT, [2])])
no = h.make_graph([h.make_node("Abs", ["last"], ["b"])], "no", [], [value("b", T.FLOAT, [2])])
model("control", [h.make_node("Loop", ["M", "begin", "x"], ["last", "sums"], body=body),
                  h.make_node("If", ["flag"], ["z"], then_branch=yes, else_branch=no)],
      [value("M", T.INT64, []), value("x", T.FLOAT, [2]), value("flag", T.BOOL, [])],
      [value("last", T.FLOAT, [2]), value("sums", T.FLOAT, [None]), value("z", T.FLOAT, [2])],
      {"most": np.float32(100), "begin": np.bool_(True)})
# a function of the model with an attribute of the call
scaled = h.make_function("own", "Scaled", ["a", "b"], ["r"],
                         [h.make_node("Sub", ["a", "b"], ["d"]), h.make_node("LeakyRelu", ["d"], ["r"])],
                         [h.make_opsetid("", 15)], ["slope"])
scaled.node[1].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
model("functions", [h.make_node("Scaled", ["x", "w"], ["layer/1/out:0"], domain="own", slope=0.5)],
      [value("x", T.FLOAT, [3])], [value("layer/1/out:0", T.FLOAT, [3])], {"w": np.float32([1, 2, 3])}, [scaled])
# functions that call each other twice, and one that calls itself
twice = [h.make_function("own", f"F{i}", ["a"], ["r"], [h.make_node(f"F{i + 1}", ["a"], ["b"], domain="own"),
                                                        h.make_node(f"F{i + 1}", ["b"], ["r"], domain="own")],
                         [h.make_opsetid("", 15), h.make_opsetid("own", 1)]) for i in range(30)]
last = h.make_function("own", "F30", ["a"], ["r"], [h.make_node("Neg", ["a"], ["r"])], [h.make_opsetid("", 15)])
x, y = value("x", T.FLOAT, [3]), value("y", T.FLOAT, [3])
model("twice", [h.make_node("F0", ["x"], ["y"], domain="own")], [x], [y], functions=twice + [last])
own = h.make_function("own", "G", ["a"], ["r"], [h.make_node("G", ["a"], ["r"], domain="own")], [h.make_opsetid("own", 1)])
model("itself", [h.make_node("G", ["x"], ["y"], domain="own")], [x], [y], functions=[own])
# weights in another file, in float16 and bfloat16
m = model("outside", [h.make_node("MatMul", ["x", "w"], ["p"]), h.make_node("Add", ["p", "b"], ["y"])],
          [value("x", T.FLOAT, ["n", 2])], [value("y", T.FLOAT, ["n", 2])], {"w": np.float32([[1, 2], [3, 4]])}, save=False)
b = h.make_tensor("b", T.BFLOAT16, [2], [0.5, -1.5])
c = nh.from_array(np.float16([1.5, 2.5]), "half")
m.graph.initializer.append(b)
m.graph.initializer.append(c)
w = m.graph.initializer[0]
open("outside.bin", "wb").write(b"\0" * 16 + w.raw_data)
w.ClearField("raw_data")
w.data_location = T.EXTERNAL
for k, v in {"location": "outside.bin", "offset": "16", "length": "16"}.items():
    w.external_data.add(key=k, value=v)
onnx.save(m, "outside.onnx")
# ops that nobody has, twice; and one that is known
model("unknown", [h.make_node("Frobnicate", ["x"], ["a"], domain="own"), h.make_node("Frobnicate", ["a"], ["b"], domain="own"),
                  h.make_node("Relu", ["b"], ["y"])], [value("x", T.FLOAT, [3])], [value("y", T.FLOAT, [3])])
# quantised
model("quantised", [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])],
      [value("x", T.FLOAT, [4])], [value("q", T.UINT8, [4]), value("y", T.FLOAT, [4])],
      {"s": np.float32(0.5), "z": np.uint8(10)})
# Expand to what does not fit
for name, to in {"expand": [2, 1, 3], "misfit": [2, 4]}.items():
    model(name, [h.make_node("Expand", ["x", "to"], ["y"], name="wider")], [value("x", T.FLOAT, [1, 3])], [value("y", T.FLOAT, None)],
          {"to": np.int64(to)})
# normalised: its mean and variance are statistics; the zeros of two biases and of a mean are one array, as PyTorch writes them
model("norm", [h.make_node("Identity", ["bn.bias"], ["/zeros"]), h.make_node("Identity", ["bn.running_var"], ["/ones"]),
               h.make_node("BatchNormalization", ["x", "bn.weight", "bn.bias", "bn.running_mean", "/ones"], ["/bn/out"]),
               h.make_node("BatchNormalization", ["/bn/out", "2.weight", "/zeros", "/zeros", "bn.running_var"], ["y:0"])],
      [value("x", T.FLOAT, ["n", 2])], [value("y:0", T.FLOAT, ["n", 2])],
      {"bn.weight": np.float32([1, 2]), "bn.bias": np.float32([0, 0]), "bn.running_mean": np.float32([.5, -1]),
       "bn.running_var": np.float32([1, 4]), "2.weight": np.float32([3, 1])})
# lists: a Loop that appends to one that begins empty, SequenceMap, parts, an optional value
seq = lambda name, *dims: h.make_tensor_sequence_value_info(name, T.FLOAT, list(dims))
more = h.make_graph([h.make_node("Mul", ["x", "x"], ["s"]), h.make_node("SequenceInsert", ["l", "s"], ["m"]),
                     h.make_node("SequenceLength", ["l"], ["k"]), h.make_node("Identity", ["c"], ["go"])], "more",
                    [value("i", T.INT64, []), value("c", T.BOOL, []), seq("l", 2)],
                    [value("go", T.BOOL, []), seq("m", 2), value("k", T.INT64, [])])
twice_ = h.make_graph([h.make_node("Add", ["a", "b"], ["d"]), h.make_node("Shape", ["a"], ["t"])], "map",
                      [value("a", T.FLOAT, None), value("b", T.FLOAT, [2])], [value("d", T.FLOAT, None), value("t", T.INT64, [1])])
model("lists", [h.make_node("SequenceEmpty", [], ["none"]), h.make_node("Loop", ["three", "", "none"], ["all", "counts"], body=more),
                h.make_node("SequenceErase", ["all", "one"], ["two"]), h.make_node("SequenceMap", ["two", "x"], ["sums", "sizes"], body=twice_),
                h.make_node("ConcatFromSequence", ["sums"], ["y"], axis=0, new_axis=1),
                h.make_node("SplitToSequence", ["y"], ["rows"], axis=1, keepdims=0), h.make_node("SequenceAt", ["rows", "last"], ["column"]),
                h.make_node("Optional", ["column"], ["there"]), h.make_node("OptionalHasElement", ["there"], ["has"]),
                h.make_node("OptionalGetElement", ["there"], ["got"])],
      [value("x", T.FLOAT, [2])], [value("counts", T.INT64, [3]), seq("sums", 2), value("got", T.FLOAT, [2]), value("has", T.BOOL, []), seq("none", 2)],
      {"three": np.int64(3), "one": np.int64(1), "last": np.int64(-1)}, opset=18)
# a list of any items, into which a matrix goes; long attributes
model("inserted", [h.make_node("SequenceInsert", ["l", "x"], ["more"]), h.make_node("SequenceAt", ["more", "last"], ["y"]),
                   h.make_node("SequenceLength", ["more"], ["n"])],
      [h.make_tensor_sequence_value_info("l", T.FLOAT, None), value("x", T.FLOAT, [2, 2])],
      [value("y", T.FLOAT, None), value("n", T.INT64, [])], {"last": np.int64(-1)})
model("long", [h.make_node("Constant", [], ["i"], value_ints=[k % 7 - 3 for k in range(5000)]),
               h.make_node("Constant", [], ["f"], value_floats=[k % 5 * 0.5 for k in range(5000)]),
               h.make_node("ReduceSum", ["i"], ["a"]), h.make_node("ReduceSum", ["f"], ["b"])],
      [], [value("a", T.INT64, [1]), value("b", T.FLOAT, [1])])
subprocess.run(["zstd", "-19", "--rm", "-qf", "long.onnx"], check=True)
# draws with a seed and without one
model("random", [h.make_node("RandomUniform", [], ["u"], shape=[1000], low=2.0, high=3.0, seed=7.0),
                 h.make_node("RandomNormalLike", ["x"], ["n"], mean=5.0, scale=0.1), h.make_node("Bernoulli", ["p"], ["b"], seed=3.5),
                 h.make_node("RandomNormalLike", ["x"], ["m"])],
      [value("x", T.FLOAT, [1000]), value("p", T.FLOAT, [1000])],
      [value("u", T.FLOAT, [1000]), value("n", T.FLOAT, [1000]), value("b", T.FLOAT, [1000]),
       value("m", T.FLOAT, [1000])])
# lists that can't be gone over
one = h.make_graph([h.make_node("Add", ["a", "b"], ["d"])], "map", [value("a", T.FLOAT, None), value("b", T.FLOAT, None)],
                   [value("d", T.FLOAT, None)])
model("uncounted", [h.make_node("SequenceMap", ["l", "x"], ["y"], body=one, name="each")], [seq("l", 2), value("x", T.FLOAT, [2])],
      [seq("y", 2)], opset=17)
model("uneven", [h.make_node("SequenceConstruct", ["x", "x"], ["two"]), h.make_node("SequenceConstruct", ["x", "x", "x"], ["three"]),
                 h.make_node("SequenceMap", ["two", "three"], ["y"], body=one, name="each")], [value("x", T.FLOAT, [2])],
      [seq("y", 2)], opset=17)
