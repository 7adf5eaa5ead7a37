/* Any bytes as a file of arrays: npy, npz, safetensors, packed ones, and by their names
 * csv, tsv and JSON; the columns and members x. */
#include "fuzz.h"
#include "value/file/file.h"

static Seed seed(size_t i) {
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': "
                                 "(2, 3), }                                         \n";
    static const char json[] = "{\"name\": \"x\", \"dtype\": \"complex64\", "
                               "\"shape\": [1], \"data\": [[1, \"NaN\"]]}";
    static const char *const texts[] = {"1,2,3\n4,5,6.5\n", "a\tb\n1\tnan\n-inf\t2e3\n",
                                        "a;\"x \"\"y\"\"\";x\n1;NA;true\n\n2;;\"3\"\n",
                                        "{\"x\": [[1, 2], [null, -1e3]], \"y\": 1}\n",
                                        json};
    if (i > 5) return (Seed){NULL, 0};
    if (i > 0) return seed_text(texts[i - 1]);
    size_t n = 10 + sizeof header - 1 + 24;
    Seed x = {calloc(1, n), n};
    if (!x.p) return x;
    memcpy(x.p, "\x93NUMPY\x01\x00", 8);
    x.p[8] = (char)(sizeof header - 1);
    memcpy(x.p + 10, header, sizeof header - 1);
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const char *const names[] = {"a.npy",         "a.csv",  "a.tsv", "a.npz",
                                        "a.safetensors", "a.json", "a"};
    Session *s = session_new(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Tensor t;
        diag_clear(s);
        bool ok = array_read_mem(s, names[i], p, n, i % 2 ? "x" : NULL, NOWHERE, &t);
        if (ok == (diag_first_error(s) != NULL)) abort();
        if (ok) tensor_unref(&t);
    }
    session_free(s);
    return 0;
}
