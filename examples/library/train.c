/* Trains a model of handwritten digits: lists what the graph has, derives updates by
 * Adam, runs, and saves the graph with what it has learnt. */
#include <stdio.h>
#include <thunkline/thunkline.h>

static bool train(TlMachine *m, int steps) {
    double loss;
    TlArray a;
    if (!tl_machine_set_text(m, "x", "@../digits/x.npy[:1500]") ||
        !tl_machine_set_text(m, "y", "@../digits/y.npy[:1500]"))
        return false;
    for (int i = 1; i <= steps; i++) {
        if (!tl_machine_run(m) || !tl_machine_get(m, "loss", &a)) return false;
        loss = *(float *)a.data;
        if (i % 50 == 0) printf("loss after %d steps: %.2f\n", i, loss);
    }
    return true;
}

int main(int argc, char **argv) {
    TlSession *s = tl_session_new();
    TlGraph *g = tl_graph_read(s, "../digits/model.yaml"), *fast = NULL;
    TlMachine *m = NULL;
    TlVariable v = {.size = sizeof v};
    for (int role = TL_INPUT; g && role <= TL_OUTPUT; role++)
        for (size_t i = 0; tl_graph_variable(g, (TlRole)role, i, &v); i++)
            printf("%s %s: %s\n", (const char *[]){"input", "shared", "output"}[role],
                   v.name, v.type);
    TlGradOptions adam = {
        .size = sizeof adam, .cost = "loss", .optimizer = "adam(1e-2)"};
    bool ok = g && tl_graph_derive(g, &adam) && (fast = tl_graph_rewrite(g, NULL)) &&
              (m = tl_machine_new(fast)) && train(m, 200) && tl_machine_store(m, g) &&
              tl_graph_save(g, argc > 1 ? argv[1] : "trained.tlg");
    int status = tl_status(s);
    fputs(tl_error(s), stderr);
    tl_machine_free(m);
    tl_graph_free(fast);
    tl_graph_free(g);
    tl_session_free(s);
    return ok ? 0 : status;
}
