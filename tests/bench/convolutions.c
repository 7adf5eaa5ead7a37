/* Convolutions and their gradients in the sizes of ResNet and MobileNet, float32, on
 * one thread, beside PyTorch's, where it is installed (yard_torch.py has the same
 * layers under the same names). */
#include "bench.h"

#include <stdio.h>
#include <string.h>

typedef struct Layer {
    const char *name;
    int channels, size, filters, kernel, stride, padding, groups;
} Layer;
static const Layer layers[] = {
    {"3x3_64_56", 64, 56, 64, 3, 1, 1, 1},
    {"3x3_128_28", 128, 28, 128, 3, 1, 1, 1},
    {"3x3_256_14", 256, 14, 256, 3, 1, 1, 1},
    {"3x3_512_7", 512, 7, 512, 3, 1, 1, 1},
    {"3x3s2_64_56", 64, 56, 128, 3, 2, 1, 1},
    {"3x3s2_256_14", 256, 14, 512, 3, 2, 1, 1},
    {"7x7s2_3_224", 3, 224, 64, 7, 2, 3, 1},
    {"1x1_64_56", 64, 56, 256, 1, 1, 0, 1},
    {"1x1_256_14", 256, 14, 1024, 1, 1, 0, 1},
    {"1x1s2_256_56", 256, 56, 512, 1, 2, 0, 1},
    {"each_32_112", 32, 112, 32, 3, 1, 1, 32},
    {"each_144_56", 144, 56, 144, 3, 1, 1, 144},
    {"each_s2_96_112", 96, 112, 96, 3, 2, 1, 96},
    {"each_512_14", 512, 14, 512, 3, 1, 1, 512},
};

/* One of conv, conv_input_grad, conv_weights_grad of a layer. */
static void write_graph(const Layer *l, int which, char text[600]) {
    int y = (l->size + 2 * l->padding - l->kernel) / l->stride + 1;
    char type[3][64], size[2][32];
    static const int in[][2] = {{0, 1}, {2, 1}, {0, 2}};
    static const char *const op[] = {"conv(a, b", "conv_input_grad(a, b, ",
                                     "conv_weights_grad(a, b, "};
    snprintf(type[0], 64, "float32[1, %d, %d, %d]", l->channels, l->size, l->size);
    snprintf(type[1], 64, "float32[%d, %d, %d, %d]", l->filters,
             l->channels / l->groups, l->kernel, l->kernel);
    snprintf(type[2], 64, "float32[1, %d, %d, %d]", l->filters, y, y);
    snprintf(size[0], 32, "(%d, %d)", l->size, l->size);
    snprintf(size[1], 32, "(%d, %d)", l->kernel, l->kernel);
    snprintf(
        text, 600,
        "thunkline: 1\ninputs: {a: '%s', b: '%s'}\nlet: |\n  r = %s%s, strides=%d, "
        "padding=%d, groups=%d)\noutputs: [r]\n",
        type[in[which][0]], type[in[which][1]], op[which], which ? size[which - 1] : "",
        l->stride, l->padding, l->groups);
}

/* The row, if its name contains `only`. */
static void time_layer(const Layer *l, int which, const char *only) {
    static const char *const part[] = {"", " dx", " dw"};
    char text[600], name[64], peer[64];
    double ours;
    Rig r;
    snprintf(name, sizeof name, "%s%s", l->name, part[which]);
    if (!strstr(name, only)) return;
    snprintf(peer, sizeof peer, "conv%d_%s", which, l->name);
    write_graph(l, which, text);
    rig_open(&r, text, true);
    bench_pair((Timed){rig_run, &r}, NULL, 0.2, &ours, NULL);
    rig_close(&r);
    double t = bench_peer_time(peer);
    bench_row(name, ours, t > 0 ? "PyTorch" : "PyTorch: not installed", t, 1.2, NULL);
}

/* With an argument only the rows whose names contain it. */
int main(int argc, char **argv) {
    tool_environment();
    bench_title("convolutions");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int which = 0; which < 3; which++)
            time_layer(&layers[i], which, argc < 2 ? "" : argv[1]);
    return 0;
}
