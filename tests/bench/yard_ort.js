// yard_ort.js MODEL THREADS NAME: what ONNX Runtime takes for a model with one input x [1, 3, 224, 224]: a line of name, tab,
// seconds. NODE_PATH has onnxruntime-node.
const ort = require("onnxruntime-node");
(async () => {
    const [model, threads, name] = process.argv.slice(2);
    const session = await ort.InferenceSession.create(model, { intraOpNumThreads: Number(threads), logSeverityLevel: 3 });
    const x = Float32Array.from({ length: 3 * 224 * 224 }, () => 2 * Math.random() - 1);
    const feeds = { x: new ort.Tensor("float32", x, [1, 3, 224, 224]) };
    const used = () => { const u = process.cpuUsage(); return (u.user + u.system) * 1e-6; };
    const clock = threads == 1 ? used : () => performance.now() * 1e-3;
    const times = [], until = performance.now() + 2000;
    await session.run(feeds);
    while (times.length < 3 || performance.now() < until) {
        const start = clock();
        await session.run(feeds);
        times.push(clock() - start);
    }
    console.log(`${name}\t${times.sort((a, b) => a - b)[times.length >> 1]}`);
})().catch(e => { console.error(e.message); process.exit(1); });
