/* Whole networks, float32: ResNet-18 and MobileNet-v2, forward beside ONNX Runtime on
 * one thread and two, and the gradients with respect to all weights beside PyTorch; and
 * what else images and signals need: pooling and resizing beside PyTorch, transforms
 * beside NumPy. What a peer or a model is missing for is skipped by name.
 * usage: networks MODELS_DIR [PART_OF_A_NAME] */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* yard_networks.py writes the models, run.sh the graphs. */
static const char *const networks[] = {"resnet18", "mobilenet_v2"};
static const struct {
    const char *name, *type, *text, *peer;
    double goal;
} layers[] = {
    {"max_pool_3s2", "float32[1, 64, 112, 112]", "max_pool(a, 3, strides=2, padding=1)",
     "PyTorch", 1},
    {"max_pool_2s2", "float32[1, 64, 112, 112]", "max_pool(a, 2, strides=2)", "PyTorch",
     1},
    {"max_pool_3s2_dx", "float32[1, 64, 112, 112]",
     "grad(sum(max_pool(a, 3, strides=2, padding=1)), a)", "PyTorch", 1},
    {"avg_pool_3s1", "float32[8, 256, 28, 28]", "avg_pool(a, 3, strides=1, padding=1)",
     "PyTorch", 1},
    {"avg_pool_2s2", "float32[1, 64, 112, 112]", "avg_pool(a, 2, strides=2)", "PyTorch",
     1},
    {"resize_linear", "float32[1, 64, 112, 112]",
     "resize(a, (224, 224), mode='linear', axes=(2, 3))", "PyTorch", 1},
    {"resize_nearest", "float32[1, 64, 112, 112]",
     "resize(a, (224, 224), mode='nearest', nearest='floor', "
     "coordinates='asymmetric', axes=(2, 3))",
     "PyTorch", 1},
    {"resize_cubic", "float32[1, 64, 112, 112]",
     "resize(a, (224, 224), mode='cubic', axes=(2, 3))", "PyTorch", 1},
    {"rfft_1024", "float64[256, 1024]", "rfft(a)", "NumPy", 1.5},
    {"rfft_65536", "float64[65536]", "rfft(a)", "NumPy", 1.5},
    {"rfft_1000", "float64[256, 1000]", "rfft(a)", "NumPy", 1.5},
    {"fft_1009", "float64[64, 1009]", "fft(a)", "NumPy", 1.5},
    {"irfft_1024", "float64[256, 1024]", "irfft(rfft(a))", "NumPy", 1.5},
};

/* Beside the peer's line of that name. */
static void show(Rig *r, const char *name, const char *line, const char *peer,
                 double goal, double budget) {
    char missing[64];
    double ours, t = bench_peer_time(line);
    bench_pair((Timed){rig_run, r}, NULL, budget, &ours, NULL);
    rig_close(r);
    snprintf(missing, sizeof missing, "%s: not installed", peer);
    bench_row(name, ours, t > 0 ? peer : missing, t, goal, NULL);
}

static void show_network(const char *dir, const char *network, const char *what,
                         unsigned threads, const char *peer, double goal) {
    char path[4096], name[80], line[80];
    Rig r;
    snprintf(path, sizeof path, "%s/%s-%s.tlg", dir, network, what);
    snprintf(name, sizeof name, "%s %s, %u thread%s", network, what, threads,
             threads > 1 ? "s" : "");
    snprintf(line, sizeof line, "%s-%s-%u", network, what, threads);
    if (access(path, R_OK) != 0) {
        bench_figure(name, "skipped", "torchvision, onnx: not installed", 0, 0);
        return;
    }
    bench_wall = threads > 1;
    rig_open_file(&r, path, threads);
    show(&r, name, line, peer, goal, 2);
    bench_wall = false;
}

static void show_layer(size_t i) {
    char text[400], line[80];
    Rig r;
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {a: '%s'}\nlet: |\n  r = %s\noutputs: [r]\n",
             layers[i].type, layers[i].text);
    snprintf(line, sizeof line, "layer_%s", layers[i].name);
    rig_open(&r, text, true);
    show(&r, layers[i].name, line, layers[i].peer, layers[i].goal, 0.2);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    tool_environment();
    bench_title("networks, images, transforms");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if (argc > 2 && !strstr(networks[i], argv[2])) continue;
        for (unsigned threads = 1; threads <= 2; threads++)
            show_network(argv[1], networks[i], "forward", threads, "ONNX Runtime", 1.2);
        show_network(argv[1], networks[i], "gradient", 1, "PyTorch", 1.3);
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (argc < 3 || strstr(layers[i].name, argv[2])) show_layer(i);
    return 0;
}
