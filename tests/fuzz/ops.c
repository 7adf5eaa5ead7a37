/* Any text as a file of ops: they are added and each shown, or there is one error. */
#include "fuzz_file.h"
#include "tools/tools.h"

static const char *const texts[] = {
    "thunkline: 1\nops:\n  scaled:\n    inputs: 'x, y = 0.5'\n    props: "
    "{axis: 'int = 0', keep: 'bool = False'}\n    outputs: [a, b]\n"
    "    def: |\n      a = sum(x * y, axis=0)\n      b = x + y\n    version: 2\n    "
    "alias: sc\n",
    "thunkline: 1\nops:\n  double:\n    inputs: x\n    def: x + x\n    partials: {x: "
    "'2'}\n    shape: '[x.shape[0]]'\n    flops: '1'\n"
    "    commutative: false\n    fold: never\n    example: double(1.5) -> 3.0\n",
    "thunkline: 1\nops:\n  half:\n    inputs: x\n    promote: inexact\n    accepts: "
    "float\n    def: x / 2\n    adjoint: {x: g / 2}\n    math: 1\n",
    "{\"thunkline\": 1, \"ops\": {\"f\": {\"inputs\": \"a, b\", \"def\": \"a * b\", "
    "\"disconnected\": \"b\"}}}"};

static Seed seed(size_t i) {
    if (i < sizeof texts / sizeof *texts) return seed_text(texts[i]);
    return i == sizeof texts / sizeof *texts
               ? seed_file("examples/ops-text/own.ops.yaml")
               : (Seed){NULL, 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    MemoryFile f = memory_file(p, n);
    if (!io_read_ops(s, f.path) && !diag_first_error(s)) abort();
    for (size_t i = 0; i < op_count(s); i++) {
        Str out = STR(s);
        diag_clear(s);
        const Op *op = op_get(s, i);
        if (op->from && !gload_list_op(s, op->name, false, &out) &&
            !diag_first_error(s))
            abort();
        str_free(&out);
    }
    close(f.fd);
    session_free(s);
    return 0;
}
