// ort.js MODEL <inputs.json: what ONNX Runtime makes of inputs {name: [dtype, dims, data]}, as JSON of the same form. NODE_PATH has
// onnxruntime-node. Infinities and nan are texts.
const ort = require("onnxruntime-node"), fs = require("fs");
const wide = { int64: BigInt64Array, uint64: BigUint64Array };
const arrays = { float32: Float32Array, float64: Float64Array, int32: Int32Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array };
const tensor = ([type, dims, data]) =>
    new ort.Tensor(type, type in wide ? wide[type].from(data.map(BigInt)) : type == "bool" ? data : arrays[type].from(data.map(Number)), dims);
(async () => {
    const feeds = Object.fromEntries(Object.entries(JSON.parse(fs.readFileSync(0))).map(([k, v]) => [k, tensor(v)]));
    const session = await ort.InferenceSession.create(process.argv[2], { logSeverityLevel: 3 });
    const found = await session.run(feeds), out = {};
    for (const [k, t] of Object.entries(found))
        out[k] = [t.type, t.dims, Array.from(t.data, v => typeof v == "string" ? v : typeof v == "bigint" ? Number(v) : Number.isFinite(Number(v)) ? Number(v) : String(v))];
    console.log(JSON.stringify(out));
})().catch(e => { console.error(e.message); process.exit(1); });
