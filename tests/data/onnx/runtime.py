"""What ONNX Runtime makes of a model: run(model, {name: array}) -> {name: array}, through ort.js."""
import json, os, subprocess, tempfile
import numpy as np, onnx

HERE = os.path.dirname(os.path.abspath(__file__))


def run(model, feeds):
    texts = lambda a: [str(v) if a.dtype.kind == "f" and not np.isfinite(v) else v.item() for v in a.ravel()]
    given = {k: [str(v.dtype), v.shape, texts(v)] for k, v in feeds.items()}
    with tempfile.NamedTemporaryFile(suffix=".onnx") as f:
        onnx.save(model, f.name)
        p = subprocess.run(["node", f"{HERE}/ort.js", f.name], input=json.dumps(given).replace('"inf"', '"Infinity"').replace('"-inf"', '"-Infinity"')
                           .replace('"nan"', '"NaN"'), capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip()[:300])
    read = {"Infinity": np.inf, "-Infinity": -np.inf, "NaN": np.nan}
    return {k: np.array([read.get(v, v) if isinstance(v, str) else v for v in data], None if t == "string" else t).reshape(dims)
            for k, (t, dims, data) in json.loads(p.stdout).items()}
