"""nodes.py FOLDER: reads and runs each of the node cases of onnx's backend tests (Debian's libonnx-testdata). Prints the names
of those that don't give what they should, with the reason. Inputs that must be known while a model is read are set;
draws are compared by shape and dtype alone."""
import json, os, re, subprocess, sys, tempfile
import numpy as np, onnx
from onnx import numpy_helper

CASES = sys.argv[1]
DRAWS = re.compile("bernoulli|training_dropout")


def run(*words, stdin=None):
    p = subprocess.run(words, input=stdin, capture_output=True, timeout=300)
    return p.returncode, p.stdout, (p.stderr.decode().splitlines() or [""])[0]


def dims(value):
    return value.type.tensor_type.shape.dim


def of_bits(p, value):
    """Some files have bfloat16 as uint16; a float32 has it as its upper half."""
    a = numpy_helper.to_array(p)
    bits = value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and a.dtype == np.uint16
    return (a.astype(np.uint32) << 16).view(np.float32) if bits else a


def read(path, value):
    """A list is one of arrays; an optional value is what it has, or None."""
    kinds = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    p = kinds.get(value.type.WhichOneof("value"), onnx.TensorProto)()
    p.ParseFromString(open(path, "rb").read())
    if isinstance(p, onnx.OptionalProto):
        p = p.tensor_value if p.elem_type == p.TENSOR else p.sequence_value if p.elem_type == p.SEQUENCE else None
    if isinstance(p, onnx.SequenceProto):
        return numpy_helper.to_list(p)
    return p if p is None else of_bits(p, value)


def given(path, value, work):
    """The value as grun and gload take it."""
    v = read(path, value)
    if isinstance(v, list):
        return json.dumps([x.tolist() for x in v])
    p = onnx.TensorProto()
    like = v.size == 1 and len(dims(value)) > v.ndim  # its dtype alone matters
    if value.type.WhichOneof("value") == "tensor_type" and not like and value.type.tensor_type.elem_type != onnx.TensorProto.BFLOAT16:
        return "@" + path
    array = f"{work}/{value.name}.npy"
    np.save(array, np.broadcast_to(v, [d.dim_value for d in dims(value)]) if like else v)
    return "@" + array


def agree(name, want, path):
    if isinstance(want, list):
        got = [np.array(t["data"], t["dtype"]).reshape(t["shape"]) for t in json.load(open(path))["items"]]
        return len(got) == len(want) and all(np.allclose(g, w, rtol=1e-3, atol=1e-7) for g, w in zip(got, want))
    got = np.load(path)
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return bool(DRAWS.search(name)) or np.allclose(got, want, rtol=1e-3, atol=1e-7, equal_nan=True)


def case(name, work):
    folder = f"{CASES}/{name}"
    path = f"{folder}/model.onnx"
    model = onnx.load(path).graph
    weights = {t.name for t in model.initializer}
    inputs = [v for v in model.input if v.name not in weights]
    file = lambda data, kind, k: f"{folder}/{data}/{kind}_{k}.pb"
    fixed = []
    status, graph, why = run("gload", path)
    if "must be known" in why:
        whole = re.search("range|window|mel|loop|sequence_map", name)
        fixed = [k for k, v in enumerate(inputs) if len(dims(v)) < 2 and (k or len(inputs) < 2 or whole)]
        sets = [w for k in fixed
                for w in ("--set", f"{inputs[k].name}={given(file('test_data_set_0', 'input', k), inputs[k], work)}")]
        status, graph, why = run("gload", *sets, path)
    if status:
        return why
    info = json.loads(run("gload", "--info", "-O", "json", stdin=graph)[1])
    names = lambda section: [r["name"] for r in info if r["section"] == section]
    for data in sorted(d for d in os.listdir(folder) if d.startswith("test_data")):
        words = []
        for own, k in zip(names("inputs"), (k for k in range(len(inputs)) if k not in fixed)):
            words.append(f"{own}=" + given(file(data, "input", k), inputs[k], work))
        want = [read(file(data, "output", k), v) for k, v in enumerate(model.output)]
        results = [f"{work}/{k}." + ("json" if isinstance(w, list) else "npy") for k, w in enumerate(want)]
        for own, result in zip(names("outputs"), results):
            words += ["-r", f"{own}={result}"]
        status, _, why = run("grun", *words, stdin=graph)
        if status:
            return why
        if not all(agree(name, w, r) for w, r in zip(want, results)):
            return "another result"
    return None


with tempfile.TemporaryDirectory() as work:
    for name in sorted(os.listdir(CASES)):
        try:
            why = case(name, work)
        except Exception as e:  # a kind that this script can't give
            why = repr(e)
        if why:
            print(name, why.replace(CASES + "/", "")[:160])
