/* Writes graph files of a given size: gen KIND N, N being about the number of Applies
 * without gradient. Everything to differentiate by is called x or w; the cost is loss.
 * - chain: ops one after the other, elementwise, over a vector
 * - tree: sums and products over a row of leaves
 * - rnn: steps of a recurrent network, written out, each with a row of x
 * - mlp: layers one after the other, with a weight and a bias each
 * - transformer: layers of attention and a perceptron, with norms and residuals */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void chain(long n) {
    static const char *const before[] = {"tanh(h", "h", "h", "sin(h"};
    static const char *const after[] = {")", " * 0.9", " + x", ")"};
    printf("inputs:\n  x: float64[16]\nlet: |\n  h0 = x * 0.5\n");
    for (long i = 1; i < n - 1; i++)
        printf("  h%ld = %s%ld%s\n", i, before[i % 4], i - 1, after[i % 4]);
    printf("  loss = sum(h%ld)\n", n - 2);
}

/* Nodes of a heap: i has children 2i and 2i + 1; the lower half are leaves. */
static void tree(long n) {
    printf("inputs:\n  x: float64[16]\nlet: |\n");
    for (long i = n - 2; i >= 1; i--)
        if (2 * i + 1 <= n - 2)
            printf("  h%ld = h%ld %c h%ld\n", i, 2 * i, "+*"[i % 2], 2 * i + 1);
        else
            printf("  h%ld = x * %ld.5\n", i, i);
    printf("  loss = sum(h1)\n");
}

static void rnn(long n) {
    long steps = n / 6;
    printf("inputs:\n  x: float64[%ld, 8, 16]\n  w: float64[32]\n"
           "shared:\n  U: float64[16, 32] = normal(0, 1, (16, 32), seed=1)\n"
           "  V: float64[32, 32] = normal(0, 0.1, (32, 32), seed=2)\nlet: |\n"
           "  h0 = x[0] @ U\n",
           steps);
    for (long i = 1; i < steps; i++)
        printf("  h%ld = tanh(x[%ld] @ U + h%ld @ V + w)\n", i, i, i - 1);
    printf("  loss = sum(h%ld ** 2)\n", steps - 1);
}

static void mlp(long n) {
    long layers = n / 3;
    printf("inputs:\n  x: float64[8, 16]\n");
    for (long i = 1; i < layers; i++)
        printf("  W%ld: float64[16, 16]\n  b%ld: float64[16]\n", i, i);
    printf("let: |\n  h0 = x\n");
    for (long i = 1; i < layers; i++)
        printf("  h%ld = relu(h%ld @ W%ld + b%ld)\n", i, i - 1, i, i);
    printf("  loss = mean(square(h%ld))\n", layers - 1);
}

/* Of 8 rows of 16 numbers; 4 heads. */
static void transformer(long n) {
    long layers = n < 100 ? 1 : n / 42;
    printf("floatX: float32\ninputs:\n  x: float32[8, 16]\n");
    for (long i = 1; i <= layers; i++)
        printf("  Q%ld: float32[16, 16]\n  K%ld: float32[16, 16]\n"
               "  V%ld: float32[16, 16]\n  O%ld: float32[16, 16]\n"
               "  A%ld: float32[16, 64]\n  B%ld: float32[64, 16]\n"
               "  a%ld: float32[64]\n  b%ld: float32[16]\n  g%ld: float32[16]\n"
               "  f%ld: float32[16]\n",
               i, i, i, i, i, i, i, i, i, i);
    printf("let: |\n"
           "  heads = lambda u: transpose(reshape(u, (8, 4, 4)), (1, 0, 2))\n"
           "  scaled = lambda u, g: (u - mean(u, axis=1, keepdims=True)) / "
           "sqrt(var(u, axis=1, keepdims=True) + 1e-5) * g\n  h0 = x\n");
    for (long i = 1; i <= layers; i++)
        printf("  n%ld = scaled(h%ld, g%ld)\n"
               "  s%ld = softmax(heads(n%ld @ Q%ld) @ transpose(heads(n%ld @ K%ld), "
               "(0, 2, 1)) / 2.0, axis=2)\n"
               "  t%ld = h%ld + reshape(transpose(s%ld @ heads(n%ld @ V%ld), (1, 0, "
               "2)), (8, 16)) @ O%ld\n"
               "  h%ld = t%ld + gelu(scaled(t%ld, f%ld) @ A%ld + a%ld) @ B%ld + b%ld\n",
               i, i - 1, i, i, i, i, i, i, i, i - 1, i, i, i, i, i, i, i, i, i, i, i,
               i);
    printf("  loss = mean(square(h%ld))\n", layers);
}

static const struct {
    const char *name;
    void (*write)(long n);
} kinds[] = {{"chain", chain},
             {"tree", tree},
             {"rnn", rnn},
             {"mlp", mlp},
             {"transformer", transformer}};

int main(int argc, char **argv) {
    long n = argc == 3 ? atol(argv[2]) : 0;
    for (size_t k = 0; n >= 12 && k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(argv[1], kinds[k].name) != 0) continue;
        printf("thunkline: 1\n");
        kinds[k].write(n);
        printf("outputs: [loss]\n");
        return 0;
    }
    fprintf(stderr, "usage: gen chain|tree|rnn|mlp|transformer N\n");
    return 2;
}
