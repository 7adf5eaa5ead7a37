/* Writes graph files of a given size: gen chain|tree N. A chain is N ops one after the
 * other, a tree N ops over a row of leaves; constants come on top. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void chain(long n) {
    static const char *const before[] = {"tanh(h", "h", "h", "sin(h"};
    static const char *const after[] = {")", " * 0.9", " + x", ")"};
    printf("  h0 = x * 0.5\n");
    for (long i = 1; i < n - 1; i++)
        printf("  h%ld = %s%ld%s\n", i, before[i % 4], i - 1, after[i % 4]);
    printf("  loss = sum(h%ld)\n", n - 2);
}

/* Nodes of a heap: i has children 2i and 2i + 1; the lower half are leaves. */
static void tree(long n) {
    for (long i = n - 2; i >= 1; i--)
        if (2 * i + 1 <= n - 2)
            printf("  h%ld = h%ld %c h%ld\n", i, 2 * i, "+*"[i % 2], 2 * i + 1);
        else
            printf("  h%ld = x * %ld.5\n", i, i);
    printf("  loss = sum(h1)\n");
}

int main(int argc, char **argv) {
    long n = argc == 3 ? atol(argv[2]) : 0;
    if (n < 4 || (strcmp(argv[1], "chain") != 0 && strcmp(argv[1], "tree") != 0)) {
        fprintf(stderr, "usage: gen chain|tree N\n");
        return 2;
    }
    printf("thunkline: 1\ninputs:\n  x: float64[16]\nlet: |\n");
    if (argv[1][0] == 'c')
        chain(n);
    else
        tree(n);
    printf("outputs: [loss]\n");
    return 0;
}
