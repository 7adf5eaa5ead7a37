/* A program that uses thunkline as a library, with a plugin and a file of ops:
 * arguments are the plugin, the ops and the graph. Prints y as text, then what is wrong
 * with it. */
#include <stdio.h>
#include <thunkline/thunkline.h>

static int wrong(TlSession *s) {
    int status = tl_status(s);
    fprintf(stderr, "%s\n", tl_error(s));
    tl_session_free(s);
    return status ? status : 70;
}

int main(int argc, char **argv) {
    TlSession *s = tl_session_new();
    if (argc != 4) return 2;
    if (!tl_plugin_load(s, argv[1]) || !tl_ops_load(s, argv[2])) return wrong(s);
    TlGraph *g = tl_graph_read(s, argv[3]);
    TlMachine *m = g ? tl_machine_new(g) : NULL;
    if (!m) {
        tl_graph_free(g);
        return wrong(s);
    }
    bool ok = tl_machine_set_text(m, "x", "'abc'") &&
              tl_machine_set_text(m, "v", "[1, 2, 3]") && tl_machine_run(m);
    for (int i = 0; ok && i < 2; i++) {
        const char *text = tl_machine_get_text(m, i ? "z" : "y");
        ok = text && printf("%s\n", text) > 0;
    }
    tl_machine_free(m);
    tl_graph_free(g);
    if (!ok) return wrong(s);
    tl_session_free(s);
    return 0;
}
