#!/usr/bin/python3
"""Writes tests/data/gguf: model.gguf, with a tensor of each type that thunkline reads and some metadata, and model.safetensors, its
values as the package gguf of llama.cpp widens them. Tests don't need it: run it when a type is added.

The file is written here, by the format's description; only the values come from the package."""
import json
import struct
import sys
from pathlib import Path
import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

R = np.random.RandomState(5)
TO = Path(__file__).parent.parent / "data" / "gguf"
# where the scales of a block lie, as float16
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def gguf(metadata, tensors, version=3, alignment=32):
    """metadata: entries; tensors: name, dims as the file has them, type's number, bytes."""
    head, data = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)) + b"".join(metadata), b""
    for name, dims, kind, p in tensors:
        data += bytes(-len(data) % alignment)
        head += text(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, kind, len(data))
        data += p
    return head + bytes(-len(head) % alignment) + data


def blocks(name, n):
    size = GGML_QUANT_SIZES[Type[name]][1]
    b = R.randint(0, 256, (n, size), np.uint8)
    for at in SCALES[name]:
        b[:, at:at + 2] = R.uniform(-1, 1, (n, 1)).astype("<f2").view(np.uint8)
    return b


def main():
    metadata = [entry("general.architecture", 8, text("none")), entry("none.block_count", 4, struct.pack("<I", 2)),
                entry("none.scale", 6, struct.pack("<f", 0.1)), entry("none.shift", 1, struct.pack("<b", -3)), entry("none.causal", 7, b"\1"),
                entry("tokenizer.tokens", 9, array(8, [text("a"), text("\u00e4\u00f6")])), entry("none.deep", 9, array(9, [array(0, [b"\1"])])),
                entry("general.description", 8, text("\u20ac" * 40)), entry("none.wide", 12, struct.pack("<d", -1e300)),
                entry("none.small", 11, struct.pack("<q", -2**63))]
    tensors, values = [], {}
    for name in SCALES:
        block = GGML_QUANT_SIZES[Type[name]][0]
        p = blocks(name, 2)
        tensors.append(("blk." + name, (block, 2), Type[name].value, p.tobytes()))
        values["blk." + name] = quants.dequantize(p.reshape(2, -1), Type[name]).astype("<f4")
    x = R.uniform(-2, 2, (2, 3))
    for kind, dtype in [("F32", "<f4"), ("F16", "<f2"), ("F64", "<f8"), ("I8", "i1"), ("I16", "<i2"), ("I32", "<i4"), ("I64", "<i8")]:
        v = (x * (1 if kind[0] == "F" else 50)).astype(dtype)
        tensors.append((kind, (3, 2), Type[kind].value, v.tobytes()))
        values[kind] = v
    bits = (x.astype("<f4").view("<u4") >> 16).astype("<u2")
    tensors.append(("BF16", (3, 2), Type["BF16"].value, bits.tobytes()))
    values["BF16"] = (bits.astype("<u4") << 16).view("<f4")
    TO.mkdir(exist_ok=True)
    (TO / "model.gguf").write_bytes(gguf(metadata, tensors))
    head, data = {}, b""
    for k, v in sorted(values.items(), key=lambda kv: -kv[1].itemsize):
        dtype = {"f": "F", "i": "I"}[v.dtype.kind] + str(8 * v.itemsize)
        head[k] = {"dtype": dtype, "shape": list(v.shape), "data_offsets": [len(data), len(data) + v.nbytes]}
        data += v.tobytes()
    head = json.dumps(head).encode()
    (TO / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)


if __name__ == "__main__":
    sys.exit(main())
