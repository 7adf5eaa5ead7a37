"""Writes small models, byte by byte, in the current folder: what exporters hardly write, and what no model may be."""
import struct


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(no, v):
    """A number, a float, a text or a message; lists are repeated."""
    if isinstance(v, list):
        return b"".join(field(no, x) for x in v)
    if isinstance(v, float):
        return varint(no << 3 | 5) + struct.pack("<f", v)
    if isinstance(v, int):
        return varint(no << 3) + varint(v)
    v = v.encode() if isinstance(v, str) else v
    return varint(no << 3 | 2) + varint(len(v)) + v


class Graph(bytes):
    pass


def attribute(name, v):
    one = v[0] if isinstance(v, list) and v else v
    if isinstance(v, bytes) and not isinstance(v, Graph):
        return field(1, name) + v  # as it is
    no, kind = ((6, 5) if isinstance(v, Graph) else (2, 1) if isinstance(v, float) else (3, 2) if isinstance(v, int) else (4, 3) if isinstance(v, str)
                else (7, 6) if isinstance(one, float) else (9, 8) if isinstance(one, str) else (8, 7))
    return field(1, name) + field(no, v) + field(20, kind)


def node(op, ins, outs, domain="", **attributes):
    return (field(1, ins.split(",") if ins else []) + field(2, outs.split(",") if outs else []) + field(4, op) + field(7, domain)
            + field(5, [attribute(k, v) for k, v in attributes.items()]))


def tensor_type(elem, dims):
    shape = b"" if dims is None else field(2, field(1, [field(2, d) if isinstance(d, str) else field(1, d) if d is not None else b"" for d in dims]))
    return field(1, field(1, elem) + shape)


FLOAT, INT, BOOL = 1, 7, 9
tensor = lambda name, elem=FLOAT, *dims: field(1, name) + field(2, tensor_type(elem, dims))
sequence = lambda name, *dims: field(1, name) + field(2, field(4, field(1, tensor_type(FLOAT, dims if dims else None))))


def floats(name, dims, v):
    return field(1, list(dims)) + field(2, FLOAT) + field(4, [float(x) for x in v]) + field(8, name)


def ints(name, dims, v):
    return field(1, list(dims)) + field(2, INT) + field(7, list(v)) + field(8, name)


def graph(nodes, ins, outs, init=(), info=(), name="g", more=b""):
    return Graph(field(1, list(nodes)) + field(2, name) + field(5, list(init)) + field(11, list(ins)) + field(12, list(outs)) + field(13, list(info)) + more)


def model(name, nodes, ins, outs, init=(), info=(), opset=18, more=b"", own="", of_graph=b""):
    g = graph(nodes, ins, outs, init, info, more=of_graph)
    with open(name + ".onnx", "wb") as f:
        f.write(field(1, 8) + field(7, g) + field(8, field(1, own) + field(2, opset)) + more)


x, y, v2 = tensor("x", FLOAT, 2), tensor("y", FLOAT, 2), tensor("v", FLOAT, 2)
# ---- what can be read ----
step = graph([node("Add", "s,e", "t"), node("Add", "t,t", "o")], [tensor("s", FLOAT, 2), tensor("e", FLOAT, 2)], [tensor("t", FLOAT, 2), tensor("o", FLOAT, 2)])
rows, state = tensor("x", FLOAT, "n", 2), tensor("s0", FLOAT, 2)
both = [tensor("last", FLOAT, 2), tensor("all", FLOAT, "n", 2)]
model("scan", [node("Scan", "s0,x", "last,all", body=step, num_scan_inputs=1)], [state, rows], both)
model("scan_back", [node("Scan", "s0,x", "last,all", body=step, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1], scan_output_axes=[1])],
      [state, rows], [both[0], tensor("all", FLOAT, 2, "n")])
model("scan8", [node("Scan", ",s0,x", "last,all", body=step, num_scan_inputs=1)], [tensor("s0", FLOAT, 1, 2), tensor("x", FLOAT, 1, 3, 2)],
      [tensor("last", FLOAT, 1, 2), tensor("all", FLOAT, 1, 3, 2)], opset=8)
model("optional", [node("OptionalGetElement", "x", "v"), node("Add", "v,v", "y")], [field(1, "x") + field(2, field(9, field(1, tensor_type(FLOAT, [2]))))], [y])
model("insert", [node("Abs", "x", "v"), node("SequenceInsert", "l,v", "m"), node("SequenceLength", "m", "k")], [sequence("l"), x], [tensor("k", INT)], info=[v2])
model("documented", [node("Abs", "x", "y")], [x], [y], more=field(6, "What the model is for."))
model("documented_graph", [node("Abs", "x", "y")], [x], [y], of_graph=field(10, "What the graph is for."))
model("unreadable_doc", [node("Abs", "x", "y")], [x], [y], more=field(6, b"\xff\xfe"))
model("domain", [node("Abs", "x", "y", domain="ai.onnx")], [x], [y], own="ai.onnx")
rnn = dict(hidden_size=1, clip=1.5)
series, hidden = tensor("x", FLOAT, 1, 1, 1), tensor("y", FLOAT, 1, 1, 1)
weights = [floats("w", [1, 1, 1], [2]), floats("r", [1, 1, 1], [0])]
model("rnn", [node("RNN", "x,w,r", ",y", activations=["Affine"], activation_alpha=[2.0], activation_beta=[1.0], **rnn)], [series], [hidden], weights)
# ---- what can't ----
model("rnn_word", [node("RNN", "x,w,r", ",y", activations=["Nope"], **rnn)], [series], [hidden], weights)
model("sparse", [node("Abs", "x", "y")], [x], [y], of_graph=field(15, field(1, floats("w", [1], [1]))))
model("dims", [node("Abs", "x", "y")], [tensor("x", FLOAT, *[1] * 33)], [y])
model("untyped", [node("Abs", "x", "y")], [field(1, "x")], [y])
model("empty_type", [node("Abs", "x", "y")], [field(1, "x") + field(2, b"")], [y])
model("empty_optional", [node("Abs", "x", "y")], [field(1, "x") + field(2, field(9, b""))], [y])
model("no_elements", [node("Abs", "x", "y")], [tensor("x", 0, 2)], [y])
model("no_inputs", [node("Max", "", "y")], [x], [y])
model("quantised_float", [node("QuantizeLinear", "x,s,z", "y")], [x], [y], [floats("s", [], [1]), floats("z", [], [0])])
model("split_axis", [node("Split", "x", "y,z", axis=5)], [x], [y], opset=13)
model("split_open", [node("Split", "x", "y,z")], [tensor("x", FLOAT, "n")], [y], opset=13)
model("split_none", [node("Split", "x", "y", num_outputs=0)], [x], [y])
model("pad_axes", [node("Pad", "x,p,,a", "y")], [x], [y], [ints("p", [4], [1, 1, 1, 1]), ints("a", [1], [0])])
nothing = graph([node("Add", "s,e", "t")], [tensor("s", INT), tensor("e", BOOL)], [])
model("no_results", [node("Loop", "m,", "y", body=nothing)], [tensor("m", INT)], [y])
model("unknown_kind", [node("Cast", "x", "y", to=field(20, 99) + field(3, 1))], [x], [y])
model("no_tensor", [node("Cast", "x", "y", to=field(20, 4))], [x], [y])
model("no_body", [node("Loop", "m,", "y", body=field(20, 5))], [tensor("m", INT)], [y])
model("expand_open", [node("Expand", "x,to", "y")], [x, tensor("to", INT, None)], [y])
model("not_there", [node("Optional", "", "o", type=field(20, 13))], [x], [field(1, "o") + field(2, tensor_type(FLOAT, [2]))])
append = graph([node("SequenceInsert", "l,x", "m"), node("Identity", "c", "go")], [tensor("i", INT), tensor("c", BOOL), sequence("l", 2)], [tensor("go", BOOL), sequence("m", 2)])
model("many_lists", [node("SequenceEmpty", "", "none"), node("Loop", "n,,none", "all", body=append)], [x, tensor("n", INT)], [sequence("all", 2)])
model("while_lists", [node("SequenceEmpty", "", "none"), node("Loop", ",c,none", "all", body=append)], [x, tensor("c", BOOL)], [sequence("all", 2)])
add = graph([node("Add", "a,b", "d")], [tensor("a", FLOAT, 2), tensor("b", FLOAT, 2)], [tensor("d", FLOAT, 2)])
model("map_open", [node("SequenceMap", "l,x", "all", body=add)], [sequence("l", 2), x], [sequence("all", 2)])
model("map_beside", [node("SequenceConstruct", "x,x", "k"), node("SequenceMap", "k,l", "all", body=add)], [sequence("l", 2), x], [sequence("all", 2)])
model("map_lengths", [node("SequenceConstruct", "x,x", "k"), node("SequenceConstruct", "x", "j"), node("SequenceMap", "k,j", "all", body=add)], [x], [sequence("all", 2)])
with open("no_graph.onnx", "wb") as f:
    f.write(field(1, 8) + field(2, "forge") + field(8, field(2, 18)))
